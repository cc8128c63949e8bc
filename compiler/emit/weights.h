/* Reads parameters from a safetensors file (--weights) for the constants segment of a plan. */
#ifndef FIRNC_WEIGHTS_H
#define FIRNC_WEIGHTS_H

#include "compiler/passes/passes.h"

/* An open weights file. A compilation opens the file once; NULL after one message. */
typedef struct firnc_weights firnc_weights;
firnc_weights *firnc_weights_open(const firnc_compilation *compilation);

/* Frees the JSON header, which is not in the compiler's memory. weights may be NULL. */
void firnc_weights_close(firnc_weights *weights);

/* Reads the parameter with this name and shape into little-endian floats; F16 and BF16 are widened exactly to float32.
 * False after one message if the tensor is missing, has another shape or type, or is not finite. */
bool firnc_weights_read(const firnc_compilation *compilation, const firnc_weights *weights, const char *name,
                        const firn_shape *shape, uint8_t *bytes);

/* Prints one warning if the file has tensors that are not among these parameters; they are ignored. */
void firnc_weights_warn_extra(const firnc_compilation *compilation, const firnc_weights *weights,
                              const char *const *names, uint32_t count);

#endif
