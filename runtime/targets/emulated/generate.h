/* Text from a decode plan, on an emulated board. */
#ifndef FIRN_EMULATED_GENERATE_H
#define FIRN_EMULATED_GENERATE_H

#include "runtime/targets/emulated/pool.h"

/* Takes the bytes of the source as a prompt and prints them with the tokens that follow, as `firn generate --seed 1`
 * does: at most so many, and as many as the context holds. The plan is one of bytes. */
int firn_emulated_generate(firn_pool *left, firn *instance, const firn_source *source,
                           uint64_t tokens) FIRN_CHECK_RESULT;

#endif
