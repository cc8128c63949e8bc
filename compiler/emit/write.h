/* Writes a graph, after all passes, as the payload of a plan. */
#ifndef FIRNC_WRITE_H
#define FIRNC_WRITE_H

#include "compiler/passes/passes.h"

/* The payload of a plan: the FlatBuffers part, then constants. The compiler's memory owns the bytes. */
typedef struct firnc_payload {
    uint8_t *bytes;
    uint64_t flatbuffers_bytes, constants_offset, constants_bytes, total_bytes; /* offsets from the payload's start */
    uint32_t ops, tensors, state_tensors;
} firnc_payload;

/* Writes the payload of a graph after all passes. False after one message. */
bool firnc_write_payload(const firnc_compilation *compilation, firnc_payload *payload);

#endif
