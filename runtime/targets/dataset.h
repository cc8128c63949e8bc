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

/* The contents of a file according to its header. Raw bytes are uint8 with one dimension. */
typedef struct firn_data_layout {
    firn_data_format format;
    uint8_t element; /* firn_type: float32, int32 or a narrower integer */
    bool big_endian; /* the byte order of elements is reversed when they are read (IDX) */
    uint8_t rank;    /* 1 to 8 */
    uint32_t dims[8];
    uint64_t offset; /* of the first element */
    uint64_t elements;
} firn_data_layout;

/* Recognises a file and reads its header. A .npy file must hold u1, i1, b1, or little-endian u2, i2, i4 or f4, in C
 * order, in version 1 to 3; an IDX file must hold ubyte, byte, short, int or float. Both must have exactly the length
 * that follows from the header. A file that begins like neither is raw; so is a file that begins like IDX but has
 * another length. Returns FIRN_OK, SOURCE, or DATA_TYPE for an array that is not supported. Then offset is where the
 * elements would begin, and rank is 0 unless the header has been understood and only the length of the file is wrong.
 */
int firn_data_look(const firn_data_file *file, firn_data_layout *layout) FIRN_CHECK_RESULT;

/* Copies `count` elements, starting with element `first`, little-endian. Returns FIRN_OK or SOURCE. */
int firn_data_read(const firn_data_file *file, const firn_data_layout *layout, uint64_t first, uint32_t count,
                   void *elements) FIRN_CHECK_RESULT;

/* Returns the number of elements of one record: the product of all extents but the first. */
uint32_t firn_data_record_elements(const firn_data_layout *layout);

#endif
