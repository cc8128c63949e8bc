/* The formats of data files: raw bytes, a NumPy array (.npy) or an IDX file, recognised by their first bytes. Works on
 * any target through a read function; it opens no file and allocates no memory, and it checks what a header says
 * against the size of the file. Freestanding. */
#ifndef FIRN_DATASET_H
#define FIRN_DATASET_H

#include <stdbool.h>
#include <stdint.h>

#include "runtime/firn.h"

/* A file, accessed through a function. read copies count bytes from an offset and returns 0 or FIRN_ERROR_SOURCE; it is
 * never called for bytes beyond `bytes`. */
typedef struct firn_data_file {
    void *context;
    uint64_t bytes;
    int (*read)(void *context, uint64_t offset, void *bytes, uint32_t count);
} firn_data_file;

typedef enum firn_data_format { FIRN_DATA_RAW, FIRN_DATA_NPY, FIRN_DATA_IDX } firn_data_format;

/* Why an array is refused; of a raw file that begins like IDX: why it is no IDX file. */
typedef enum firn_data_fault {
    FIRN_DATA_GOOD,
    FIRN_DATA_VERSION, /* .npy: the version of the format is not 1 to 3 */
    FIRN_DATA_HEADER,  /* .npy: the header is no dictionary of descr, fortran_order and shape */
    FIRN_DATA_TYPE,    /* the element type is not supported; `type` names it */
    FIRN_DATA_ORDER,   /* .npy: Fortran order, of more than one extent above 1 */
    FIRN_DATA_RANK,    /* no dimension, or more than 8 */
    FIRN_DATA_EMPTY,   /* an extent is 0 */
    FIRN_DATA_CUT,     /* the file is shorter than its header says */
    FIRN_DATA_LONGER   /* bytes follow the array */
} firn_data_fault;

/* The contents of a file according to its header. Raw bytes are uint8 with one dimension. */
typedef struct firn_data_layout {
    firn_data_format format;
    firn_data_fault fault;
    char type[8];    /* .npy: the element type as the header writes it, cut to 7 bytes; IDX: 0x and the code; with the
                        fault VERSION: the version, or "?" for one above 9 */
    uint8_t element; /* firn_type: float32, int32 or a narrower integer */
    bool big_endian; /* the byte order of elements is reversed when they are read (IDX) */
    bool fortran;    /* .npy: the header says Fortran order; also where the fault is another */
    uint8_t rank;    /* 1 to 8 */
    uint64_t dims[8];
    uint64_t offset;   /* of the first element */
    uint64_t elements; /* UINT64_MAX: the extents' product is larger than any file */
} firn_data_layout;

/* Recognises a file and reads its header. A .npy file must hold u1, i1, b1, or little-endian u2, i2, i4 or f4, in C
 * order, in version 1 to 3; an IDX file must hold ubyte, byte, short, int or float. Both must have exactly the length
 * that follows from the header. A file that begins like neither is raw; so is a file that begins like IDX but has
 * another length. Returns FIRN_OK, SOURCE, or DATA_TYPE for an array that is not supported. Then `fault` says why;
 * rank, dims, type and offset are what the header says, as far as it was understood. */
int firn_data_look(const firn_data_file *file, firn_data_layout *layout) FIRN_CHECK_RESULT;

/* Reads the header of a file of which only the beginning is there, such as one that is being unpacked. No length is
 * compared, and a file that begins like IDX is IDX. If the header is longer than the beginning, the fault is CUT, and
 * `offset` is the number of bytes that the header takes. */
int firn_data_look_at_begin(const firn_data_file *begin, firn_data_layout *layout) FIRN_CHECK_RESULT;

/* Copies `count` elements, starting with element `first`, little-endian. Returns FIRN_OK or SOURCE. */
int firn_data_read(const firn_data_file *file, const firn_data_layout *layout, uint64_t first, uint32_t count,
                   void *elements) FIRN_CHECK_RESULT;

/* Returns the product of all extents, or UINT64_MAX if it is larger than the elements of any file. */
uint64_t firn_data_elements(const firn_data_layout *layout);

/* Returns the number of elements of one record: the product of all extents but the first. */
uint32_t firn_data_record_elements(const firn_data_layout *layout);

#endif
