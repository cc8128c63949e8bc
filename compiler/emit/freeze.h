/* From a graph that has gone through the passes to a plan in a file. */
#ifndef FIRNC_FREEZE_H
#define FIRNC_FREEZE_H

#include "compiler/emit/sign.h"
#include "compiler/graph/ir.h"
#include "plan/container.h"

/* What was written. */
typedef struct firnc_frozen {
    uint64_t bytes;
    uint8_t plan_hash[FIRN_HASH_BYTES]; /* of a signed plan; else zero */
    uint8_t run_hash[FIRN_HASH_BYTES];
} firnc_frozen;

/* Writes the plan, signed with the secret of the key or, without a signature, only for its public half. The plan has
 * passed every check of a device before a byte is written. False after one line on stderr. */
bool firnc_freeze(const firnc_compilation *compilation, const firnc_key *key, bool with_signature, const char *output,
                  firnc_frozen *frozen);

#endif
