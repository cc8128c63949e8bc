/* The file format safetensors: eight bytes with the length of a JSON header, the header (name -> dtype, shape,
 * data_offsets), the data. A file is untrusted: everything in it is checked here, before another file uses any of it.
 */
#ifndef FIRNC_SAFETENSORS_H
#define FIRNC_SAFETENSORS_H

#include "compiler/base/files.h"
#include "plan/ops.h"

typedef struct firnc_safetensor {
    const char *name;
    const char *dtype; /* "F32" */
    uint8_t type;      /* firn_type, if `real` */
    bool real;         /* F32, F16 or BF16: firnc_safetensors_values reads it */
    uint8_t rank;      /* 0 for a single number */
    uint64_t dims[FIRN_RANK_MAX];
    uint64_t elements;
    uint64_t begin, end;  /* in the data of its file */
    const uint8_t *bytes; /* its elements */
} firnc_safetensor;

typedef struct firnc_safetensors {
    const char *file;                /* the file's name, for messages */
    const char *model_hash;          /* of the plan that trained an export of firn, in hexadecimal; NULL: not said */
    const firnc_safetensor *tensors; /* sorted by the bytes of their names */
    uint32_t count;
} firnc_safetensors;

/* How many bytes of a file to read (firnc_file_read_part): of a file in another format only those that show it. */
uint64_t firnc_safetensors_extent(const uint8_t *head, uint64_t count);

/* Checks a whole file and lists its tensors. Refuses what the format refuses: a header that is cut or is not the JSON
 * that it must be, a name that is there twice, a shape that does not fit its bytes, and bytes that belong to no tensor
 * or to two. The bytes must stay where they are. False after one message that names the file. */
bool firnc_safetensors_parse(firnc_safetensors *parsed, const char *file, const firnc_bytes *bytes);

/* Sorts tensors as firnc_safetensors has them. */
void firnc_safetensors_sort(firnc_safetensor *tensors, uint32_t count);

/* NULL if no tensor has this name. */
const firnc_safetensor *firnc_safetensors_find(const firnc_safetensors *parsed, const char *name);

/* The values of a real tensor as floats; F16 and BF16 are widened exactly. False after one message if one is not
 * finite. */
bool firnc_safetensors_values(const firnc_safetensors *parsed, const firnc_safetensor *tensor, float *values);

/* Whether a tensor of reals, whole numbers or booleans has these elements; `wholes` NULL: reals. */
bool firnc_safetensors_equals(const firnc_safetensor *tensor, const float *reals, const int64_t *wholes);

/* "[2, 3]" */
const char *firnc_safetensors_shape(const uint64_t *dims, uint8_t rank);

/* A tensor to be written, F32 or I64; rank and extents as in a firn_shape, or rank 0. */
typedef struct firnc_safetensors_entry {
    const char *name;
    uint8_t rank;
    uint64_t dims[FIRN_RANK_MAX];
    const float *values;
    const int64_t *wholes; /* the elements in place of `values`; NULL: float32 */
} firnc_safetensors_entry;

/* Makes the bytes of a file with these tensors in this order (safetensors_write.c). No name is there twice. */
firnc_bytes firnc_safetensors_make(const firnc_safetensors_entry *entries, uint32_t count);

/* Prints "firnc: FILE: text". Returns false. */
bool firnc_weights_refuse(const char *file, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
