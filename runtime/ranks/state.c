/* The state of a run that is shared. Parameters, buffers, counters and the position in the data are the same on every
 * rank. A tensor of the optimizer that belongs to a unit has its contents where the unit is updated; elsewhere its
 * pages are never touched. */
#define FIRN_FB_INLINE /* plan/access.h */
#include <stdlib.h>
#include <string.h>

#include "runtime/ranks/internal.h"

/* Returns what a rank has of a tensor of a unit: the same part as of the gradient or, of what is there for all
 * elements, all of it where the first element is. */
static firn_ranks_share part_of(const firn_ranks *ranks, const firn_ranks_state *state, uint32_t rank) {
    const firn_ranks_share part = firn_ranks_part_of(ranks, state->unit, rank);
    const bool same = state->tensor.elements == ranks->gradients.tensors[state->unit].elements;
    if (same && !ranks->whole[state->unit])
        return part;
    return (firn_ranks_share){0, part.first == 0 && part.end != 0 ? state->tensor.elements : 0};
}

static void *bytes_of(const firn_ranks_state *state, firn_ranks_share part, uint64_t *count) {
    const uint32_t each = firn_type_bytes(state->tensor.type);
    *count = (part.end - part.first) * each;
    return (uint8_t *)state->tensor.data + part.first * each;
}

/* Returns the tensor of a unit at an index of the plan, or NULL. */
static const firn_ranks_state *state_at(const firn_ranks *ranks, uint32_t index) {
    for (uint32_t i = 0; i < ranks->state_count && ranks->has_units; i++)
        if (ranks->states[i].index == index)
            return &ranks->states[i];
    return NULL;
}

static uint8_t kind_of_region(const firn_instance *instance, uint32_t region) {
    return firn_region_fast_kind(instance->header.region_kinds[region]);
}

/* Whether a region is the same on all ranks as a whole. */
static bool is_common(const firn_ranks *ranks, uint32_t region) {
    const firn_instance *instance = ranks->instance;
    return firn_region_is_state(instance->header.region_kinds[region]) &&
           !(ranks->has_units && kind_of_region(instance, region) == FIRN_FB_REGION_KIND_OPTIMIZER);
}

/* Calls use(argument, index) for each tensor of the optimizer's state that all ranks have, of a plan with units. */
static void for_common_tensors(const firn_ranks *ranks, void (*use)(void *argument, uint32_t index), void *argument) {
    const firn_instance *instance = ranks->instance;
    for (uint32_t i = 0; i < firn_fb_plan_state_tensors(instance->plan) && ranks->has_units; i++) {
        const uint8_t region = firn_fb_tensor_region(firn_fb_plan_tensors_at(instance->plan, i));
        if (kind_of_region(instance, region) == FIRN_FB_REGION_KIND_OPTIMIZER && state_at(ranks, i) == NULL)
            use(argument, i);
    }
}

/* --- initial values ----------------------------------------------------------------------------------------------- */

static firn_fb_initialiser_record initialiser_of(const firn_instance *instance, uint32_t index) {
    firn_fb_initialiser_record record;
    firn_fb_initialiser_read(firn_fb_plan_initialisers_at(instance->plan, index), &record);
    return record;
}

/* Memory that was never touched holds zeros, so that a unit whose state begins with others is filled as a whole. */
static bool begins_with_zeros(const firn_instance *instance, uint32_t index) {
    const firn_fb_initialiser_record record = initialiser_of(instance, index);
    return record.rule == FIRN_FB_INITIALISER_RULE_CONSTANT && record.integer == 0 && firn_bits(record.a) == 0;
}

/* Fills a tensor that all ranks have, such as a counter, with a constant; clears may_fill if it begins otherwise. */
static void fill_common(void *argument, uint32_t index) {
    firn_ranks *ranks = argument;
    const firn_fb_initialiser_record record = initialiser_of(ranks->instance, index);
    const firn_tensor tensor = firn_instance_tensor(ranks->instance, index);
    const size_t bytes = firn_type_bytes(tensor.type);
    const void *value = tensor.type == FIRN_INT64 ? (const void *)&record.integer : (const void *)&record.a;
    ranks->may_fill = ranks->may_fill && record.rule == FIRN_FB_INITIALISER_RULE_CONSTANT &&
                      (tensor.type == FIRN_INT64 || tensor.type == FIRN_FLOAT32);
    for (size_t i = 0; i < tensor.elements && ranks->may_fill; i++)
        memcpy((uint8_t *)tensor.data + i * bytes, value, bytes);
}

/* Fills all but the optimizer's state, whose regions pass for arenas meanwhile. */
static void fill_others(const firn_instance *instance) {
    firn_instance other = *instance;
    for (uint32_t i = 0; i < other.header.region_count; i++)
        if (kind_of_region(instance, i) == FIRN_FB_REGION_KIND_OPTIMIZER)
            other.header.region_kinds[i] = FIRN_FB_REGION_KIND_ARENA;
    firn_initialise_state(&other, true);
}

int firn_ranks_initialise(firn_ranks *ranks) {
    firn_instance *instance = ranks->instance;
    ranks->may_fill = ranks->has_units && ranks->transport->rank != 0 && instance->condition == FIRN_CONDITION_EMPTY;
    for (uint32_t i = 0; i < ranks->state_count; i++)
        ranks->may_fill = ranks->may_fill && begins_with_zeros(instance, ranks->states[i].index);
    if (ranks->may_fill)
        for_common_tensors(ranks, fill_common, ranks);
    if (!ranks->may_fill)
        return firn_initialise(ranks->firn);
    fill_others(instance);
    firn_instance_changed(instance);
    instance->condition = FIRN_CONDITION_READY;
    return FIRN_OK;
}

/* --- from rank 0, and to it --------------------------------------------------------------------------------------- */

static void share_bytes(firn_ranks *ranks, void *bytes, uint64_t count) {
    for (uint32_t peer = 1; peer < ranks->transport->size && ranks->transport->rank == 0; peer++)
        firn_ranks_send(ranks, peer, bytes, count, FIRN_RANKS_STATE);
    if (ranks->transport->rank != 0)
        firn_ranks_receive(ranks, 0, bytes, count);
}

static void share_tensor(void *argument, uint32_t index) {
    firn_ranks *ranks = argument;
    const firn_tensor tensor = firn_instance_tensor(ranks->instance, index);
    share_bytes(ranks, tensor.data, tensor.elements * firn_type_bytes(tensor.type));
}

/* Passes the parts of the units between rank 0 and their owners. */
static void pass_parts(firn_ranks *ranks, bool to_owners) {
    const uint32_t own = ranks->transport->rank;
    for (uint32_t i = 0; i < ranks->state_count && ranks->has_units; i++)
        for (uint32_t rank = 1; rank < ranks->transport->size; rank++) {
            uint64_t count;
            void *bytes = bytes_of(&ranks->states[i], part_of(ranks, &ranks->states[i], rank), &count);
            if (own == (to_owners ? 0 : rank))
                firn_ranks_send(ranks, to_owners ? rank : 0, bytes, count, FIRN_RANKS_STATE);
            else if (own == (to_owners ? rank : 0))
                firn_ranks_receive(ranks, to_owners ? 0 : rank, bytes, count);
        }
}

void firn_ranks_share_state(firn_ranks *ranks) {
    firn_instance *instance = ranks->instance;
    for (uint32_t i = 0; i < instance->header.region_count; i++)
        if (is_common(ranks, i))
            share_bytes(ranks, (void *)(uintptr_t)instance->blocks[i], instance->header.region_bytes[i]);
    for_common_tensors(ranks, share_tensor, ranks);
    pass_parts(ranks, true);
    firn_ranks_exchange(ranks);
    if (ranks->transport->rank == 0)
        return;
    firn_instance_changed(instance);
    instance->condition = FIRN_CONDITION_READY;
}

void firn_ranks_gather_state(firn_ranks *ranks) {
    pass_parts(ranks, false);
    firn_ranks_exchange(ranks);
}

/* --- comparing ---------------------------------------------------------------------------------------------------- */

/* A hash, and whether everything so far could be hashed. */
typedef struct hashing {
    const firn_ranks *ranks;
    firn_sha256 hash;
    bool good;
} hashing;

static void hash_tensor(void *argument, uint32_t index) {
    hashing *h = argument;
    const firn_tensor tensor = firn_instance_tensor(h->ranks->instance, index);
    h->good =
        h->good && firn_sha256_update(&h->hash, tensor.data, tensor.elements * firn_type_bytes(tensor.type)) == FIRN_OK;
}

/* Hashes what this rank has in common with the others. */
static int hash_common(const firn_ranks *ranks, uint8_t digest[FIRN_HASH_BYTES]) {
    const firn_instance *instance = ranks->instance;
    hashing h = {.ranks = ranks};
    if (!ranks->has_units)
        return firn_digest(ranks->firn, digest);
    h.good = firn_sha256_begin(&h.hash) == FIRN_OK;
    for (uint32_t i = 0; i < instance->header.region_count; i++)
        if (is_common(ranks, i))
            h.good = h.good && firn_sha256_update(&h.hash, instance->blocks[i],
                                                  (size_t)instance->header.region_bytes[i]) == FIRN_OK;
    for_common_tensors(ranks, hash_tensor, &h);
    return h.good ? firn_sha256_end(&h.hash, digest) : FIRN_ERROR_HASH;
}

int firn_ranks_verify(firn_ranks *ranks, uint32_t *rank) {
    const uint32_t size = ranks->transport->size, own = ranks->transport->rank;
    uint8_t digest[FIRN_HASH_BYTES] = {0}, *digests = (uint8_t *)ranks->received;
    *rank = UINT32_MAX;
    const int error = hash_common(ranks, digest);
    for (uint32_t i = 0; i < size; i++) {
        if (i == own)
            continue;
        firn_ranks_send(ranks, i, digest, sizeof digest, FIRN_RANKS_NUMBERS);
        firn_ranks_receive(ranks, i, digests + i * sizeof digest, sizeof digest);
    }
    firn_ranks_exchange(ranks);
    memcpy(digests + own * sizeof digest, digest, sizeof digest);
    for (uint32_t i = size; i-- > 1;)
        if (memcmp(digests, digests + i * sizeof digest, sizeof digest) != 0)
            *rank = i;
    return error;
}
