/* The state of a run that is shared. Parameters, buffers, counters and the position in the data are the same on every
 * rank. A tensor of the optimizer that belongs to a unit has its contents where the unit is updated; elsewhere its
 * pages are never touched. */
#define FIRN_FB_INLINE /* plan/access.h */
#include <string.h>

#include "runtime/ranks/internal.h"

firn_ranks_share firn_ranks_state_part(const firn_ranks *ranks, const firn_ranks_state *state, uint32_t rank) {
    const firn_ranks_share part = firn_ranks_part_of(ranks, state->unit, rank);
    const bool same = state->tensor.elements == ranks->gradients.tensors[state->unit].elements;
    if (same && !ranks->whole[state->unit])
        return part;
    return (firn_ranks_share){0, part.first == 0 && part.end != 0 ? state->tensor.elements : 0};
}

uint8_t *firn_ranks_state_bytes(const firn_ranks_state *state, firn_ranks_share part, uint64_t *count) {
    const uint32_t each = firn_type_bytes(state->tensor.type);
    *count = (part.end - part.first) * each;
    return (uint8_t *)state->tensor.data + part.first * each;
}

const firn_ranks_state *firn_ranks_state_at(const firn_ranks *ranks, uint32_t index) {
    for (uint32_t i = 0; i < ranks->state_count && ranks->has_units; i++)
        if (ranks->states[i].index == index)
            return &ranks->states[i];
    return NULL;
}

static uint8_t kind_of_region(const firn_instance *instance, uint32_t region) {
    return firn_region_fast_kind(instance->header.region_kinds[region]);
}

bool firn_ranks_is_common(const firn_ranks *ranks, uint32_t region) {
    const firn_instance *instance = ranks->instance;
    return firn_region_is_state(instance->header.region_kinds[region]) &&
           !(ranks->has_units && kind_of_region(instance, region) == FIRN_FB_REGION_KIND_OPTIMIZER);
}

void firn_ranks_for_common_tensors(const firn_ranks *ranks, void (*use)(void *argument, uint32_t index),
                                   void *argument) {
    const firn_instance *instance = ranks->instance;
    for (uint32_t i = 0; i < firn_fb_plan_state_tensors(instance->plan) && ranks->has_units; i++) {
        const uint8_t region = firn_fb_tensor_region(firn_fb_plan_tensors_at(instance->plan, i));
        if (kind_of_region(instance, region) == FIRN_FB_REGION_KIND_OPTIMIZER && firn_ranks_state_at(ranks, i) == NULL)
            use(argument, i);
    }
}

/* --- initial values ----------------------------------------------------------------------------------------------- */

static firn_fb_initialiser_record initialiser_of(const firn_instance *instance, uint32_t index) {
    firn_fb_initialiser_record record;
    firn_fb_initialiser_read(firn_fb_plan_initialisers_at(instance->plan, index), &record);
    return record;
}

/* Whether a tensor begins with one value throughout. */
static bool begins_with_constant(const firn_instance *instance, uint32_t index) {
    const uint8_t type = firn_instance_tensor(instance, index).type;
    return initialiser_of(instance, index).rule == FIRN_FB_INITIALISER_RULE_CONSTANT &&
           (type == FIRN_INT64 || type == FIRN_FLOAT32);
}

/* Fills bytes of such a tensor. Zeros are there already, in pages that nothing has touched. */
static void fill_constant(const firn_instance *instance, uint32_t index, uint8_t *bytes, uint64_t count) {
    const firn_fb_initialiser_record record = initialiser_of(instance, index);
    const uint8_t type = firn_instance_tensor(instance, index).type;
    const void *value = type == FIRN_INT64 ? (const void *)&record.integer : (const void *)&record.a;
    const size_t each = firn_type_bytes(type);
    static const uint8_t zeros[sizeof(int64_t)];
    if (memcmp(value, zeros, each) == 0)
        return;
    for (uint64_t at = 0; at < count; at += each)
        memcpy(bytes + at, value, each);
}

static void look_at_common(void *argument, uint32_t index) {
    firn_ranks *ranks = argument;
    ranks->may_fill = ranks->may_fill && begins_with_constant(ranks->instance, index);
}

/* Fills a tensor that all ranks have, such as a counter. */
static void fill_common(void *argument, uint32_t index) {
    const firn_ranks *ranks = argument;
    const firn_tensor tensor = firn_instance_tensor(ranks->instance, index);
    fill_constant(ranks->instance, index, tensor.data, tensor.elements * firn_type_bytes(tensor.type));
}

/* Fills what this rank has of the tensors of units. */
static void fill_parts(const firn_ranks *ranks) {
    for (uint32_t i = 0; i < ranks->state_count; i++) {
        const firn_ranks_state *state = &ranks->states[i];
        uint64_t count;
        uint8_t *bytes =
            firn_ranks_state_bytes(state, firn_ranks_state_part(ranks, state, ranks->transport->rank), &count);
        fill_constant(ranks->instance, state->index, bytes, count);
    }
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
    ranks->may_fill = ranks->has_units && instance->condition == FIRN_CONDITION_EMPTY;
    for (uint32_t i = 0; i < ranks->state_count; i++)
        ranks->may_fill = ranks->may_fill && begins_with_constant(instance, ranks->states[i].index);
    firn_ranks_for_common_tensors(ranks, look_at_common, ranks);
    if (!ranks->may_fill)
        return firn_initialise(ranks->firn);
    firn_ranks_for_common_tensors(ranks, fill_common, ranks);
    fill_parts(ranks);
    fill_others(instance);
    firn_instance_changed(instance);
    instance->condition = FIRN_CONDITION_READY;
    return FIRN_OK;
}

/* --- from rank 0 -------------------------------------------------------------------------------------------------- */

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

void firn_ranks_share_state(firn_ranks *ranks) {
    firn_instance *instance = ranks->instance;
    for (uint32_t i = 0; i < instance->header.region_count; i++)
        if (firn_ranks_is_common(ranks, i))
            share_bytes(ranks, (void *)(uintptr_t)instance->blocks[i], instance->header.region_bytes[i]);
    firn_ranks_for_common_tensors(ranks, share_tensor, ranks);
    firn_ranks_exchange(ranks);
    if (ranks->transport->rank == 0)
        return;
    firn_instance_changed(instance);
    instance->condition = FIRN_CONDITION_READY;
}
