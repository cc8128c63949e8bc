/* A step of training that ranks share: each runs its micro-batches, and then all do what follows them. */
#define FIRN_FB_INLINE /* plan/access.h */
#include <string.h>

#include "runtime/ranks/internal.h"

/* A step, and who runs it. */
typedef struct shared_step {
    firn_step step; /* first: what run_phase is given */
    firn_ranks *ranks;
    uint32_t from; /* the rank that met an error */
} shared_step;

static uint8_t *record_of(const firn_ranks *ranks, const firn_ranks_cut *cut, uint64_t micro) {
    return ranks->records + micro * cut->record;
}

/* --- what all ranks must know ------------------------------------------------------------------------------------- */

/* Exchanges errors. Returns that of the earliest micro-batch, which is the one that one process would have met: the
 * micro-batches of a rank follow those of the ranks before it. */
static int agree(shared_step *shared, int status) {
    firn_ranks *ranks = shared->ranks;
    const uint32_t size = ranks->transport->size, own = ranks->transport->rank;
    int32_t mine = status, *all = (int32_t *)(void *)ranks->received;
    for (uint32_t i = 0; i < size; i++) {
        if (i == own)
            continue;
        firn_ranks_send(ranks, i, &mine, sizeof mine, FIRN_RANKS_NUMBERS);
        firn_ranks_receive(ranks, i, &all[i], sizeof mine);
    }
    firn_ranks_exchange(ranks);
    all[own] = mine;
    for (uint32_t i = 0; i < size; i++) {
        if (all[i] == FIRN_OK)
            continue;
        shared->from = i;
        return all[i];
    }
    return FIRN_OK;
}

/* Exchanges the records of all micro-batches, and runs what was kept for each of them, in order. */
static void replay(firn_ranks *ranks, const firn_ranks_cut *cut, uint64_t global_step) {
    const uint32_t size = ranks->transport->size;
    for (uint32_t i = 0; i < size; i++) {
        const firn_ranks_share share = firn_ranks_share_of(i, size, ranks->micro_batches);
        if (i == ranks->transport->rank)
            continue;
        firn_ranks_send(ranks, i, record_of(ranks, cut, ranks->own.first),
                        (ranks->own.end - ranks->own.first) * cut->record, FIRN_RANKS_NUMBERS);
        firn_ranks_receive(ranks, i, record_of(ranks, cut, share.first), (share.end - share.first) * cut->record);
    }
    firn_ranks_exchange(ranks);
    for (uint32_t micro = 0; micro < ranks->micro_batches; micro++) {
        ranks->instance->moment = (firn_moment){global_step, micro};
        firn_ranks_cut_replay(cut, ranks->instance, record_of(ranks, cut, micro), false);
    }
}

/* --- micro-batches ------------------------------------------------------------------------------------------------ */

/* Runs the phase of a cut for one micro-batch. */
static int run_one(shared_step *shared, const firn_ranks_cut *cut, uint64_t micro, uint32_t local) {
    firn_ranks *ranks = shared->ranks;
    firn_instance *instance = ranks->instance;
    const uint64_t cursor = shared->step.cursor + micro * firn_step_samples(instance);
    const int status = firn_samples_fill(instance, &shared->step.samples, cursor);
    if (status != FIRN_OK)
        return status;
    instance->moment = (firn_moment){shared->step.global_step, (uint32_t)micro};
    firn_ranks_cut_run(cut, instance, local, false, record_of(ranks, cut, micro));
    return FIRN_OK;
}

/* Finds the divisor of the whole batch. */
static int count_batch(shared_step *shared) {
    firn_ranks *ranks = shared->ranks;
    int status = FIRN_OK;
    ranks->instance->counting = true;
    for (uint64_t micro = ranks->own.first; micro < ranks->own.end && status == FIRN_OK; micro++)
        status = run_one(shared, &ranks->count, micro, 0);
    ranks->instance->counting = false;
    status = agree(shared, status);
    if (status == FIRN_OK)
        replay(ranks, &ranks->count, shared->step.global_step);
    return status;
}

/* Keeps the node that the op of the tree has left on a level. */
static void keep_node(firn_ranks *ranks, const firn_ranks_node *node) {
    const firn_ranks_node there = {NULL, node->level};
    for (uint32_t i = 0; i < ranks->gradients.count; i++) {
        const firn_ranks_tensor *tensor = &ranks->gradients.tensors[i];
        const float *sum = firn_ranks_row_view(&ranks->gradients, &there, tensor->first, (size_t)tensor->elements,
                                               sizeof(float), NULL);
        memcpy(node->kept + tensor->first, sum, (size_t)tensor->elements * sizeof *sum);
    }
}

static int run_segment(shared_step *shared, uint32_t s) {
    firn_ranks *ranks = shared->ranks;
    const firn_ranks_segment segment = ranks->segments[ranks->first_segment + s];
    int status = FIRN_OK;
    for (uint32_t local = 0; local >> segment.level == 0 && status == FIRN_OK; local++)
        status = run_one(shared, &ranks->batch, segment.first + local, local);
    if (status == FIRN_OK && ranks->nodes[s].kept != NULL)
        keep_node(ranks, &ranks->nodes[s]);
    return status;
}

static int run_micro_batches(shared_step *shared, float *batch_loss) {
    firn_ranks *ranks = shared->ranks;
    const firn_instance *instance = ranks->instance;
    const bool added = firn_step_adds_losses(instance);
    int status = added ? count_batch(shared) : FIRN_OK;
    if (status != FIRN_OK)
        return status;
    for (uint32_t s = 0; s < ranks->mine && status == FIRN_OK; s++)
        status = run_segment(shared, s);
    status = agree(shared, status);
    if (status != FIRN_OK)
        return status;
    replay(ranks, &ranks->batch, shared->step.global_step);
    shared->step.cursor += (uint64_t)ranks->micro_batches * firn_step_samples(instance);
    const float total = -0.0f + *instance->bound.loss;
    *batch_loss = firn_canonical(added ? total : total / (float)ranks->micro_batches);
    if (firn_fb_plan_check_loss(instance->plan) && !firn_step_is_finite(*instance->bound.loss))
        return FIRN_ERROR_LOSS_NOT_FINITE;
    firn_ranks_reduce(ranks);
    return FIRN_OK;
}

static void run_phase(firn_instance *instance, firn_step *step, uint8_t kind) {
    (void)instance;
    firn_ranks_run_phase(((shared_step *)(void *)step)->ranks, kind);
}

int firn_ranks_train_step(firn_ranks *ranks, const firn_source *source, firn_step_report *report, uint32_t *from) {
    firn_instance *self;
    shared_step shared = {.ranks = ranks};
    *from = ranks->transport->rank;
    if (ranks->transport->size == 1)
        return firn_train_step(ranks->firn, source, report);
    int status = firn_step_begin_training(ranks->firn, source, report, &self, &shared.step);
    if (status != FIRN_OK) /* for the same reason on all ranks */
        return status;
    uint32_t before = firn_float_begin();
    firn_step_derive(self);
    firn_step_prepare(self, report);
    status = run_micro_batches(&shared, &report->loss);
    if (status == FIRN_OK)
        status = firn_step_conclude(self, &shared.step, report, run_phase);
    firn_float_end(before);
    *from = shared.from;
    if (status == FIRN_OK)
        self->worked = true;
    ranks->volume.steps += status == FIRN_OK;
    return status;
}
