/* What a data file is: raw bytes, a NumPy array (.npy) or an IDX file, told from its first bytes. Works on any target
 * through a read function; opens nothing, allocates nothing, and believes nothing that the file says about itself
 * beyond the bytes that are there. Freestanding. */
#ifndef FIRN_DATASET_H
#define FIRN_DATASET_H

#include <stdbool.h>
#include <stdint.h>

#include "runtime/firn.h"

/* A file, however it is reached. read copies count bytes from an offset and returns 0, or FIRN_ERROR_SOURCE; it is
 * never asked for bytes beyond `bytes`. */
typedef struct firn_data_file {
    void *context;
    uint64_t bytes;
    int (*read)(void *context, uint64_t offset, void *bytes, uint32_t count);
} firn_data_file;

typedef enum firn_data_format { FIRN_DATA_RAW, FIRN_DATA_NPY, FIRN_DATA_IDX } firn_data_format;

/* What the beginning of a file says. Raw bytes are uint8 of one dimension. */
typedef struct firn_data_layout {
    firn_data_format format;
    uint8_t element; /* firn_type: uint8, int32 or float32 */
    bool big_endian; /* elements are turned round as they are read (IDX) */
    uint8_t rank;    /* 1 to 8 */
    uint32_t dims[8];
    uint64_t offset; /* of the first element */
    uint64_t elements;
} firn_data_layout;

/* Looks at a file. A .npy file must hold u1, little-endian i4 or f4, in C order, of version 1 to 3; an IDX file ubyte,
 * int or float; and each exactly the bytes that its header promises. A file that begins like neither is raw, and so is
 * one that begins like IDX but has another length. FIRN_OK, SOURCE, or DATA_TYPE for an array that is not one of these.
 */
int firn_data_look(const firn_data_file *file, firn_data_layout *layout) FIRN_CHECK_RESULT;

/* Copies `count` elements from element `first` on, little-endian. FIRN_OK or SOURCE. */
int firn_data_read(const firn_data_file *file, const firn_data_layout *layout, uint64_t first, uint32_t count,
                   void *elements) FIRN_CHECK_RESULT;

/* Elements of one record: everything but the first dimension. */
uint32_t firn_data_record_elements(const firn_data_layout *layout);

#endif
