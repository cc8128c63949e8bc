/* Weights in one file, or in several that an index lists. */
#ifndef FIRNC_WEIGHTS_SHARDS_H
#define FIRNC_WEIGHTS_SHARDS_H

#include "compiler/weights/safetensors.h"

/* Reads a safetensors file or, if its name ends in .index.json, the files that it lists, as if they were one. False
 * after one message that names a file. */
bool firnc_safetensors_read(firnc_safetensors *parsed, const char *file);

#endif
