/* Adds up the sums of all ranks along the tree of micro-batches. Each rank owns a range of the row of gradients: the
 * others send it their nodes of the range, and it adds them by the kernel that adds micro-batches in one process.
 * Ranges are cut into chunks, which bounds the memory. */
#include <string.h>

#include "runtime/ranks/internal.h"

enum { ALIGNMENT = 64 };

/* The chunk of a rank's range in a round; count 0: there is none. */
typedef struct piece {
    uint64_t first;
    size_t count;
} piece;

static piece piece_of(const firn_ranks *ranks, uint32_t rank, uint64_t round) {
    const uint64_t first = ranks->bounds[rank] + round * ranks->chunk, end = ranks->bounds[rank + 1];
    if (first >= end)
        return (piece){end, 0};
    return (piece){first, (size_t)(end - first < ranks->chunk ? end - first : ranks->chunk)};
}

static uint32_t rank_of_segment(const firn_ranks *ranks, uint32_t segment) {
    uint32_t rank = 0;
    while (firn_ranks_share_of(rank, ranks->transport->size, ranks->micro_batches).end <=
           ranks->segments[segment].first)
        rank++;
    return rank;
}

/* The chunks of one round. */
typedef struct adding {
    firn_ranks *ranks;
    piece own;
    float **nodes; /* of all segments: the chunk of this rank */
} adding;

static void add(void *argument, uint32_t left, uint32_t right) {
    const adding *a = argument;
    const firn_instance *instance = a->ranks->instance;
    const uint32_t dims[] = {(uint32_t)a->own.count};
    const firn_tensor in[] = {[FIRN_ACCUMULATE_TREE_IN_TOTAL] = {a->nodes[left], a->own.count, dims, FIRN_FLOAT32, 1},
                              [FIRN_ACCUMULATE_TREE_IN_G] = {a->nodes[right], a->own.count, dims, FIRN_FLOAT32, 1}};
    const int64_t integers[] = {[FIRN_ACCUMULATE_TREE_MICRO_BATCHES] = 2};
    const firn_moment second = {.micro_step = 1};
    const firn_kernel_call call = {.inputs = in,
                                   .outputs = in,
                                   .input_count = 2,
                                   .output_count = 1,
                                   .integers = integers,
                                   .moment = &second,
                                   .parallel = instance->parallel,
                                   .kernels = instance->kernels};
    instance->kernels->find(FIRN_OP_accumulate_tree, NULL).run(&call);
}

/* Sends each owner this rank's nodes of its chunk, and receives those of the own one. */
static void scatter(firn_ranks *ranks, uint64_t round, float **nodes) {
    const piece own = piece_of(ranks, ranks->transport->rank, round);
    float *room = ranks->packed;
    for (uint32_t i = 0; i < ranks->transport->size; i++) {
        const piece of = piece_of(ranks, i, round);
        for (uint32_t s = 0; s < ranks->mine && of.count != 0; s++, room += ranks->chunk) {
            const bool mine = i == ranks->transport->rank;
            float *view = firn_ranks_row_view(&ranks->gradients, &ranks->nodes[s], of.first, of.count,
                                              mine ? ALIGNMENT : sizeof(float), room);
            if (mine)
                nodes[ranks->first_segment + s] = view;
            else
                firn_ranks_send(ranks, i, view, of.count * sizeof *view, FIRN_RANKS_GRADIENTS);
        }
    }
    for (uint32_t s = 0; s < ranks->segment_count; s++) {
        if (s >= ranks->first_segment && s < ranks->first_segment + ranks->mine)
            continue;
        nodes[s] = ranks->received + s * ranks->chunk;
        firn_ranks_receive(ranks, rank_of_segment(ranks, s), nodes[s], own.count * sizeof **nodes);
    }
    firn_ranks_exchange(ranks);
}

static uint64_t rounds_of(const firn_ranks *ranks) {
    uint64_t most = 0;
    for (uint32_t i = 0; i < ranks->transport->size; i++) {
        const uint64_t elements = ranks->bounds[i + 1] - ranks->bounds[i];
        most = elements > most ? elements : most;
    }
    return (most + ranks->chunk - 1) / ranks->chunk;
}

void firn_ranks_reduce(firn_ranks *ranks) {
    for (uint64_t round = 0; round < rounds_of(ranks); round++) {
        adding a = {ranks, piece_of(ranks, ranks->transport->rank, round), ranks->views};
        scatter(ranks, round, ranks->views);
        if (a.own.count == 0)
            continue;
        firn_ranks_add_tree(ranks->segments, ranks->segment_count, add, &a);
        firn_ranks_row_store(&ranks->gradients, a.own.first, a.own.count, ranks->views[0]);
    }
    if (!ranks->has_units)
        firn_ranks_gather(ranks);
}
