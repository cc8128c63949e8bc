/* --weights: parameters from a safetensors file, for the constants segment of the plan. */
#ifndef FIRNC_WEIGHTS_H
#define FIRNC_WEIGHTS_H

#include "compiler/passes/passes.h"

/* Reads the parameter of that name and shape from the file, widened exactly to float32 where it is kept as F16 or BF16.
 * Opened once for a compilation; NULL after one line on stderr. */
typedef struct firnc_weights firnc_weights;
firnc_weights *firnc_weights_open(const firnc_compilation *compilation);

/* Frees what the compiler's memory does not hold; weights may be NULL. */
void firnc_weights_close(firnc_weights *weights);

/* Fills elements floats, little-endian. False after one line on stderr when the file has no such tensor, or one of
 * another shape or type. */
bool firnc_weights_read(const firnc_compilation *compilation, const firnc_weights *weights, const char *name,
                        const firn_shape *shape, uint8_t *bytes);

/* One line on stderr when the file has tensors that are none of these parameters; they are left out. */
void firnc_weights_warn_extra(const firnc_compilation *compilation, const firnc_weights *weights,
                              const char *const *names, uint32_t count);

#endif
