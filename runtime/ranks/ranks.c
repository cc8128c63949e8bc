/* Begins and ends what a rank needs: the cut of the plan's phases, the gradients as one row, the segments of the tree,
 * and memory. */
#define FIRN_FB_INLINE /* plan/access.h */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plan/bytes.h"
#include "runtime/ranks/internal.h"

static const char no_memory[] = "needs memory for what ranks exchange, and there is not as much";

enum {
    CHUNK_MOST = 1 << 18, /* elements: chunks of one rank fit into its cache, and a message is long enough */
    CHUNK_LEAST = 1 << 12,
    CHUNKS_MOST = 1 << 21 /* elements of the chunks of all segments */
};

/* --- the gradients ------------------------------------------------------------------------------------------------ */

static firn_ranks_tensor gradient_of(const firn_prepared_op *op) {
    const firn_tensor *total = &op->operands[FIRN_ACCUMULATE_TREE_IN_TOTAL];
    const bool lower = op->input_count > FIRN_ACCUMULATE_TREE_IN_LOWER;
    return (firn_ranks_tensor){.data = total->data,
                               .lower = lower ? op->operands[FIRN_ACCUMULATE_TREE_IN_LOWER].data : NULL,
                               .elements = total->elements};
}

/* Lists the sums of gradients in the order of the plan. */
static bool list_gradients(firn_ranks *ranks) {
    const firn_instance *instance = ranks->instance;
    const firn_bound_phase *phase = &instance->bound.phases[FIRN_FB_PHASE_KIND_MICRO_BATCH];
    firn_ranks_row *row = &ranks->gradients;
    row->tensors = calloc(phase->count + UINT64_C(1), sizeof *row->tensors);
    for (uint32_t i = 0; i < phase->count && row->tensors != NULL; i++) {
        if (ranks->batch.ways[i] != FIRN_RANKS_TREE)
            continue;
        firn_ranks_tensor *tensor = &row->tensors[row->count++];
        *tensor = gradient_of(&instance->prepared[phase->first + i]);
        tensor->first = row->elements;
        row->elements += tensor->elements;
    }
    ranks->volume.gradient_bytes = row->elements * sizeof(float);
    return row->tensors != NULL;
}

/* --- the segments ------------------------------------------------------------------------------------------------- */

static uint32_t top_level(uint32_t micro_batches) {
    uint32_t top = 0;
    while ((micro_batches - 1) >> top > 1)
        top++;
    return top;
}

static void list_segments(firn_ranks *ranks) {
    for (uint32_t rank = 0; rank < ranks->transport->size; rank++) {
        const firn_ranks_share share = firn_ranks_share_of(rank, ranks->transport->size, ranks->micro_batches);
        if (rank == ranks->transport->rank)
            ranks->first_segment = ranks->segment_count;
        for (uint64_t at = share.first; at < share.end;) {
            const firn_ranks_segment segment = firn_ranks_segment_at((uint32_t)at, (uint32_t)share.end);
            ranks->segments[ranks->segment_count++] = segment;
            at += UINT64_C(1) << segment.level;
        }
    }
}

/* The node of the last segment stays where the op of the tree leaves it; the others are kept, because a later segment
 * may use their levels. */
static void place_nodes(firn_ranks *ranks) {
    for (uint32_t s = 0; s < ranks->mine; s++) {
        const uint32_t level = ranks->segments[ranks->first_segment + s].level;
        ranks->nodes[s].level = level == top_level(ranks->micro_batches) ? UINT32_MAX : level;
        if (s + 1 < ranks->mine)
            ranks->nodes[s].kept = ranks->kept + s * ranks->gradients.elements;
    }
}

static uint64_t chunk_of(const firn_ranks *ranks, uint32_t segments) {
    const uint64_t sent = (uint64_t)ranks->transport->size * ranks->mine, lists = segments > sent ? segments : sent;
    const uint64_t chunk = lists == 0 ? 0 : CHUNKS_MOST / lists / CHUNK_LEAST * CHUNK_LEAST;
    return chunk < CHUNK_LEAST ? CHUNK_LEAST : chunk > CHUNK_MOST ? CHUNK_MOST : chunk;
}

/* Allocates memory aligned to a cache line. */
static void *memory_for(uint64_t count, size_t bytes) {
    if (count > SIZE_MAX / 2 / bytes)
        return NULL;
    return aligned_alloc(64, (size_t)firn_round_up((count + 1) * bytes, 64));
}

/* Bytes of a record of either phase. */
static size_t record_bytes(const firn_ranks *ranks) {
    return ranks->batch.record > ranks->count.record ? ranks->batch.record : ranks->count.record;
}

/* All ranks choose the same chunk: `segments` and the most that a rank has do not depend on the rank. */
static bool make_room(firn_ranks *ranks) {
    const uint32_t size = ranks->transport->size;
    uint32_t segments = 0, most = 0;
    for (uint32_t rank = 0; rank < size; rank++) {
        const uint32_t count = firn_ranks_count_segments(firn_ranks_share_of(rank, size, ranks->micro_batches));
        segments += count;
        most = count > most ? count : most;
    }
    ranks->mine = most;
    ranks->chunk = chunk_of(ranks, segments);
    ranks->mine = firn_ranks_count_segments(ranks->own);
    ranks->segments = calloc(segments + UINT64_C(1), sizeof *ranks->segments);
    ranks->views = calloc((segments > size ? segments : size) + UINT64_C(1), sizeof *ranks->views);
    ranks->nodes = calloc(ranks->mine + UINT64_C(1), sizeof *ranks->nodes);
    ranks->received = memory_for(segments * ranks->chunk, sizeof(float));
    ranks->packed = memory_for((uint64_t)size * (ranks->mine > 0 ? ranks->mine : 1) * ranks->chunk, sizeof(float));
    const uint64_t kept = ranks->mine > 1 ? ranks->mine - 1 : 0;
    ranks->kept = memory_for(kept * ranks->gradients.elements, sizeof(float));
    ranks->records = memory_for(ranks->micro_batches, FIRN_RANKS_HEAD_BYTES + record_bytes(ranks));
    if (ranks->segments == NULL || ranks->views == NULL || ranks->nodes == NULL || ranks->received == NULL ||
        ranks->packed == NULL || ranks->kept == NULL || ranks->records == NULL)
        return false;
    list_segments(ranks);
    place_nodes(ranks);
    return true;
}

/* --- begin and end ------------------------------------------------------------------------------------------------ */

/* Returns why a plan cannot be shared, or NULL. */
static const char *check(const firn_ranks *ranks, char *room, size_t size) {
    const firn_instance *instance = ranks->instance;
    if (instance->bound.pushed != NULL)
        return "takes samples that are pushed into a ring, which one process has; run it by firn";
    if (instance->prepared == NULL)
        return "has no prepared ops";
    if (instance->header.mode != FIRN_MODE_TRAIN)
        return NULL;
    if (ranks->transport->size > ranks->micro_batches) {
        snprintf(room, size,
                 "has %lu micro-batch%s in a step, and there are %lu ranks; use at most as many ranks, or compile it "
                 "with a smaller micro_batch_size",
                 (unsigned long)ranks->micro_batches, ranks->micro_batches == 1 ? "" : "es",
                 (unsigned long)ranks->transport->size);
        return room;
    }
    if (firn_fb_plan_micro_batch_order(instance->plan) != FIRN_FB_MICRO_BATCH_ORDER_TREE)
        return "adds its micro-batches one after the other, which ranks cannot share; compile it with "
               "trainer.init.loop.micro_batch_order: tree";
    return NULL;
}

static const char *begin(firn_ranks *ranks, char *room, size_t size) {
    firn_instance *instance = ranks->instance;
    const bool trains = instance->header.mode == FIRN_MODE_TRAIN;
    const char *fault = check(ranks, room, size);
    if (fault != NULL)
        return fault;
    ranks->own = firn_ranks_share_of(ranks->transport->rank, ranks->transport->size, ranks->micro_batches);
    fault = firn_ranks_cut_begin(&ranks->batch, instance,
                                 trains ? FIRN_FB_PHASE_KIND_MICRO_BATCH : FIRN_FB_PHASE_KIND_EVALUATE);
    if (fault == NULL && trains)
        fault = firn_ranks_cut_begin(&ranks->count, instance, FIRN_FB_PHASE_KIND_COUNT);
    if (fault != NULL)
        return fault;
    if (trains && !(list_gradients(ranks) && firn_ranks_find_units(ranks) && firn_ranks_set_bounds(ranks) &&
                    firn_ranks_list_runs(ranks)))
        return no_memory;
    if (ranks->has_units && !(firn_ranks_prepare(ranks) && firn_ranks_make_totals(ranks)))
        return no_memory;
    return make_room(ranks) ? NULL : no_memory;
}

firn_ranks *firn_ranks_begin(firn *instance, const firn_ranks_transport *transport, char *fault, size_t size) {
    firn_instance *self = firn_instance_of(instance);
    firn_ranks *ranks = calloc(1, sizeof *ranks);
    const char *why = no_memory;
    char room[200];
    if (ranks != NULL && self != NULL) {
        *ranks = (firn_ranks){.instance = self, .firn = instance, .transport = transport};
        ranks->micro_batches =
            self->header.mode == FIRN_MODE_TRAIN ? firn_fb_plan_micro_batches(self->plan) : transport->size;
        why = begin(ranks, room, sizeof room);
    }
    if (why == NULL)
        return ranks;
    snprintf(fault, size, "%s", why);
    firn_ranks_end(ranks);
    return NULL;
}

void firn_ranks_end(firn_ranks *ranks) {
    if (ranks == NULL)
        return;
    firn_ranks_cut_end(&ranks->batch);
    firn_ranks_cut_end(&ranks->count);
    void *const rooms[] = {ranks->gradients.tensors,
                           ranks->segments,
                           ranks->views,
                           ranks->nodes,
                           ranks->received,
                           ranks->packed,
                           ranks->kept,
                           ranks->records,
                           ranks->out.list,
                           ranks->in.list,
                           ranks->bounds,
                           ranks->runs,
                           ranks->first_run,
                           ranks->whole,
                           ranks->parameters.tensors,
                           ranks->units[0],
                           ranks->units[1],
                           ranks->states,
                           ranks->prepared,
                           ranks->operands,
                           ranks->dims,
                           ranks->totals,
                           ranks->pending,
                           ranks->taken,
                           ranks->from};
    for (size_t i = 0; i < sizeof rooms / sizeof *rooms; i++)
        free(rooms[i]);
    free(ranks);
}

firn_ranks_volume firn_ranks_sent(const firn_ranks *ranks) {
    return ranks->volume;
}
