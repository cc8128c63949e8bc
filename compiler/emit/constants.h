/* The constants segment of a plan: the region that ops read in place, then initial weights. */
#ifndef FIRNC_EMIT_CONSTANTS_H
#define FIRNC_EMIT_CONSTANTS_H

#include "compiler/passes/passes.h"

#define FIRNC_NOT_THERE UINT64_MAX /* as the offset of a parameter's initial values: they are made, not read */

typedef struct firnc_constants {
    uint8_t *bytes;
    uint64_t count;
    uint64_t *weights; /* for each value: where its initial values begin, or FIRNC_NOT_THERE */
} firnc_constants;

/* Makes the segment after all passes; reads the job's weights file. False after one message. */
bool firnc_make_constants(const firnc_compilation *compilation, firnc_constants *constants);

#endif
