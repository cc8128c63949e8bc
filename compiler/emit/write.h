/* Writes a graph, after all passes, as the payload of a plan. */
#ifndef FIRNC_WRITE_H
#define FIRNC_WRITE_H

#include "compiler/emit/constants.h"
#include "compiler/passes/passes.h"

/* The payload of a plan: the FlatBuffers part, then constants. The compiler's memory owns the bytes. */
typedef struct firnc_payload {
    uint8_t *bytes;
    uint64_t flatbuffers_bytes, constants_offset, constants_bytes, total_bytes; /* offsets from the payload's start */
    const firnc_value *tensors; /* the value of each tensor of the plan */
    uint32_t tensor_count;
    firnc_constants constants;
} firnc_payload;

/* Writes the payload of a graph after all passes. False after one message. */
bool firnc_write_payload(const firnc_compilation *compilation, firnc_payload *payload);

/* Writes a payload again after initial integers of the graph have changed. The constants stay, so that weights are
 * read, and warned of, once. False after one message. */
bool firnc_write_payload_again(const firnc_compilation *compilation, firnc_payload *payload);

#endif
