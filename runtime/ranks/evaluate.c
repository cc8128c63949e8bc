/* A step of an evaluation that ranks share: as many batches as there are ranks, one for each. Rank 0 has the metric. */
#define FIRN_FB_INLINE /* plan/access.h */
#include <string.h>

#include "runtime/ranks/internal.h"

/* What a rank says of its batch, in front of its record. */
typedef struct head {
    int32_t status;
    float loss;
} head;

_Static_assert(sizeof(head) <= FIRN_RANKS_HEAD_BYTES, "there is room for the head");

static uint8_t *block_of(const firn_ranks *ranks, uint32_t rank) {
    return ranks->records + rank * (FIRN_RANKS_HEAD_BYTES + ranks->batch.record);
}

static int run_batch(firn_ranks *ranks, const firn_step *step, float *loss, uint8_t *record) {
    firn_instance *instance = ranks->instance;
    if (firn_step_evaluation_is_over(instance, step))
        return FIRN_ERROR_DATA_END;
    const int status = firn_samples_fill(instance, &step->samples, step->cursor);
    if (status != FIRN_OK)
        return status;
    (void)firn_step_count_samples(instance, step);
    instance->moment = (firn_moment){step->global_step, 0};
    firn_ranks_cut_run(&ranks->batch, instance, 0, ranks->transport->rank == 0, record);
    *loss = firn_fb_plan_check_loss(instance->plan) ? *instance->bound.loss : 0;
    return FIRN_OK;
}

/* Takes the batch of a rank into the metric, and moves on to the next batch. */
static int take_batch(firn_ranks *ranks, firn_step *step, uint32_t rank) {
    firn_instance *instance = ranks->instance;
    head said;
    memcpy(&said, block_of(ranks, rank), sizeof said);
    if (said.status != FIRN_OK)
        return said.status;
    instance->moment = (firn_moment){step->global_step, 0};
    firn_ranks_cut_replay(&ranks->batch, instance, block_of(ranks, rank) + FIRN_RANKS_HEAD_BYTES, rank != 0);
    step->cursor += firn_step_count_samples(instance, step);
    step->global_step++;
    *instance->bound.cursor = (int64_t)step->cursor;
    return firn_step_is_finite(said.loss) ? FIRN_OK : FIRN_ERROR_LOSS_NOT_FINITE;
}

static void exchange(firn_ranks *ranks) {
    const uint32_t own = ranks->transport->rank;
    const uint64_t bytes = FIRN_RANKS_HEAD_BYTES + ranks->batch.record;
    for (uint32_t peer = 1; peer < ranks->transport->size && own == 0; peer++)
        firn_ranks_receive(ranks, peer, block_of(ranks, peer), bytes);
    if (own != 0)
        firn_ranks_send(ranks, 0, block_of(ranks, own), bytes, FIRN_RANKS_NUMBERS);
    firn_ranks_exchange(ranks);
}

/* Runs the batch of this rank, and on rank 0 takes all of them. */
static int evaluate(firn_ranks *ranks, firn_step *step, uint32_t *from) {
    firn_instance *instance = ranks->instance;
    const uint32_t own = ranks->transport->rank;
    firn_step mine = *step;
    head said = {0};
    mine.global_step += own;
    mine.cursor += (uint64_t)own * firn_step_samples(instance);
    instance->condition = FIRN_CONDITION_POISONED;
    memset(block_of(ranks, own), 0, FIRN_RANKS_HEAD_BYTES);
    said.status = run_batch(ranks, &mine, &said.loss, block_of(ranks, own) + FIRN_RANKS_HEAD_BYTES);
    memcpy(block_of(ranks, own), &said, sizeof said);
    exchange(ranks);
    int status = FIRN_OK;
    for (uint32_t i = 0; i < ranks->transport->size && own == 0 && status == FIRN_OK; i++) {
        status = take_batch(ranks, step, i);
        *from = i;
    }
    instance->condition = FIRN_CONDITION_READY;
    return status == FIRN_ERROR_DATA_END ? FIRN_OK : status; /* the next step says so */
}

bool firn_ranks_eval_is_over(firn_ranks *ranks, const firn_source *source) {
    firn_instance *self;
    firn_step step;
    return firn_step_begin_evaluation(ranks->firn, source, &self, &step) == FIRN_ERROR_DATA_END;
}

int firn_ranks_eval_step(firn_ranks *ranks, const firn_source *source, uint32_t *from) {
    firn_instance *self;
    firn_step step;
    int64_t cursor = *ranks->instance->bound.cursor;
    *from = ranks->transport->rank;
    if (ranks->transport->size == 1)
        return firn_eval_step(ranks->firn, source);
    for (uint32_t peer = 1; peer < ranks->transport->size && ranks->transport->rank == 0; peer++)
        firn_ranks_send(ranks, peer, &cursor, sizeof cursor, FIRN_RANKS_NUMBERS);
    if (ranks->transport->rank != 0)
        firn_ranks_receive(ranks, 0, &cursor, sizeof cursor);
    firn_ranks_exchange(ranks);
    *ranks->instance->bound.cursor = cursor;
    int status = firn_step_begin_evaluation(ranks->firn, source, &self, &step);
    if (status != FIRN_OK) /* for the same reason on all ranks */
        return status;
    uint32_t before = firn_float_begin();
    firn_step_derive(self);
    status = evaluate(ranks, &step, from);
    firn_float_end(before);
    if (status == FIRN_OK)
        self->worked = true;
    return status;
}
