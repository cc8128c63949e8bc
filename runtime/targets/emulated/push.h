/* Pushes the data to a plan whose samples are pushed, as `firn train` does: one more batch before each step. */
#ifndef FIRN_EMULATED_PUSH_H
#define FIRN_EMULATED_PUSH_H

#include "runtime/targets/emulated/pool.h"

/* Fills the ring with what was pushed before so many steps. Other plans: does nothing. */
int firn_emulated_push_begin(firn_pool *left, firn *instance, const firn_source *source,
                             uint64_t steps) FIRN_CHECK_RESULT;

/* Pushes the batch of the step after so many. Other plans: does nothing. */
int firn_emulated_push_batch(firn *instance, const firn_source *source, uint64_t steps) FIRN_CHECK_RESULT;

#endif
