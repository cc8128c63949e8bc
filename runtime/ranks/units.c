/* Finds out what of the phases finalise and update belongs to one gradient, so that the rank which has its sum runs it
 * alone: a unit is a gradient, the ops that read it or what they made of it, the parameter and the state of the
 * optimizer. A plan whose gradients are not so apart has no units; then every rank updates all. */
#define FIRN_FB_INLINE /* plan/access.h */
#include <stdlib.h>
#include <string.h>

#include "runtime/ranks/internal.h"

/* Ops whose elements are independent: a rank may run them for a part of a tensor. */
static const uint16_t elementwise[] = {FIRN_OP_cast,
                                       FIRN_OP_adamw,
                                       FIRN_OP_sgd,
                                       FIRN_OP_sgd_momentum,
                                       FIRN_OP_adam,
                                       FIRN_OP_adam_amsgrad,
                                       FIRN_OP_radam,
                                       FIRN_OP_nadam,
                                       FIRN_OP_adamax,
                                       FIRN_OP_lion,
                                       FIRN_OP_rmsprop,
                                       FIRN_OP_rmsprop_momentum,
                                       FIRN_OP_rmsprop_centered,
                                       FIRN_OP_rmsprop_centered_momentum,
                                       FIRN_OP_rprop,
                                       FIRN_OP_adagrad,
                                       FIRN_OP_adadelta,
                                       FIRN_OP_asgd};

enum { ALIGNMENT = 16 }; /* elements of a cache line */

static bool is_elementwise(uint16_t code) {
    for (size_t i = 0; i < sizeof elementwise / sizeof *elementwise; i++)
        if (elementwise[i] == code)
            return true;
    return false;
}

/* What is known while the plan is searched. */
typedef struct search {
    firn_ranks *ranks;
    uint32_t *unit_of; /* of each tensor of the plan: a unit, or FIRN_RANKS_ALL */
} search;

static firn_fb_op op_at(const firn_bound_phase *phase, uint32_t i) {
    return (firn_fb_op){firn_fb_follow(phase->ops + sizeof(uint32_t) * i)};
}

static uint32_t *unit_of(const search *s, uint32_t tensor) {
    const uint32_t base = firn_fb_tensor_base(firn_fb_plan_tensors_at(s->ranks->instance->plan, tensor));
    return &s->unit_of[base != FIRN_ABSENT ? base : tensor];
}

static uint8_t region_kind(const search *s, uint32_t tensor) {
    const firn_instance *instance = s->ranks->instance;
    const uint8_t region = firn_fb_tensor_region(firn_fb_plan_tensors_at(instance->plan, tensor));
    return firn_region_fast_kind(instance->header.region_kinds[region]);
}

/* Finds the one unit whose tensors an op reads; FIRN_RANKS_ALL: it reads none. Returns false if there are several. */
static bool find_unit(const search *s, firn_fb_op op, uint32_t *unit) {
    *unit = FIRN_RANKS_ALL;
    for (uint32_t j = 0; j < firn_fb_op_inputs_count(op); j++) {
        const uint32_t input = firn_fb_op_inputs_at(op, j);
        const uint32_t found = input != FIRN_ABSENT ? *unit_of(s, input) : FIRN_RANKS_ALL;
        if (found == FIRN_RANKS_ALL)
            continue;
        if (*unit != FIRN_RANKS_ALL && *unit != found)
            return false;
        *unit = found;
    }
    return true;
}

/* Adds a tensor that an op writes to its unit. */
static bool take_output(search *s, uint32_t unit, uint32_t tensor) {
    firn_ranks *ranks = s->ranks;
    const firn_tensor data = firn_instance_tensor(ranks->instance, tensor);
    const uint8_t kind = region_kind(s, tensor);
    uint32_t *of = unit_of(s, tensor);
    if (*of == unit)
        return true;
    if (*of != FIRN_RANKS_ALL)
        return false;
    *of = unit;
    if (kind == FIRN_FB_REGION_KIND_ARENA)
        return true;
    if (kind == FIRN_FB_REGION_KIND_OPTIMIZER) {
        ranks->states[ranks->state_count++] = (firn_ranks_state){data, tensor, unit};
        return true;
    }
    firn_ranks_tensor *parameter = &ranks->parameters.tensors[unit];
    if (kind != FIRN_FB_REGION_KIND_PARAMETERS || parameter->data != NULL || data.type != FIRN_FLOAT32 ||
        data.elements != parameter->elements)
        return false;
    parameter->data = data.data;
    return true;
}

static bool adds_totals(uint16_t code) {
    return code == FIRN_OP_sum_of_squares || code == FIRN_OP_sum_of_scaled_squares || code == FIRN_OP_largest_magnitude;
}

/* Whether operands of a call are the unit's elements, or are there for all elements. */
static bool may_be_cut(const search *s, const firn_prepared_op *op, uint32_t unit) {
    const uint64_t elements = s->ranks->parameters.tensors[unit].elements;
    for (uint32_t j = 0; j < (uint32_t)op->input_count + op->output_count; j++)
        if (op->operands[j].data != NULL && op->operands[j].elements != elements &&
            op->operands[j].elements > FIRN_FACTORS_AND_DECAY)
            return false;
    return true;
}

static bool take_op(search *s, const firn_bound_phase *phase, uint32_t i, uint32_t *units) {
    const firn_fb_op op = op_at(phase, i);
    const uint16_t code = firn_fb_op_code(op);
    if (!find_unit(s, op, &units[i]))
        return false;
    if (units[i] == FIRN_RANKS_ALL)
        return true;
    s->ranks->has_totals |= firn_op_find(code)->begins != FIRN_BEGINS_nothing;
    if (firn_op_find(code)->begins != FIRN_BEGINS_nothing)
        return adds_totals(code) && s->ranks->instance->kernels->find(code, NULL).scratch == NULL;
    if (!is_elementwise(code) || !may_be_cut(s, &s->ranks->instance->prepared[phase->first + i], units[i]))
        s->ranks->whole[units[i]] = 1;
    for (uint32_t j = 0; j < firn_fb_op_outputs_count(op); j++)
        if (!take_output(s, units[i], firn_fb_op_outputs_at(op, j)))
            return false;
    return true;
}

/* Whether an op of a phase that all ranks run reads what only one has; parameters they have again behind the update. */
static bool reads_unit(const search *s, uint8_t kind) {
    const firn_bound_phase *phase = &s->ranks->instance->bound.phases[kind];
    for (uint32_t i = 0; i < phase->count; i++) {
        const firn_fb_op op = op_at(phase, i);
        for (uint32_t j = 0; j < firn_fb_op_inputs_count(op); j++) {
            const uint32_t input = firn_fb_op_inputs_at(op, j);
            if (input == FIRN_ABSENT || *unit_of(s, input) == FIRN_RANKS_ALL ||
                region_kind(s, input) == FIRN_FB_REGION_KIND_PARAMETERS)
                continue;
            /* the sums of gradients themselves are made before the update */
            if (kind == FIRN_FB_PHASE_KIND_BOOKKEEP || region_kind(s, input) != FIRN_FB_REGION_KIND_ARENA)
                return true;
        }
    }
    return false;
}

static bool search_plan(search *s) {
    static const uint8_t shared[] = {FIRN_FB_PHASE_KIND_FINALISE, FIRN_FB_PHASE_KIND_UPDATE};
    static const uint8_t others[] = {FIRN_FB_PHASE_KIND_DERIVE, FIRN_FB_PHASE_KIND_COUNT,
                                     FIRN_FB_PHASE_KIND_MICRO_BATCH, FIRN_FB_PHASE_KIND_BOOKKEEP};
    firn_ranks *ranks = s->ranks;
    for (size_t p = 0; p < sizeof shared; p++) {
        const firn_bound_phase *phase = &ranks->instance->bound.phases[shared[p]];
        for (uint32_t i = 0; i < phase->count; i++)
            if (!take_op(s, phase, i, ranks->units[p]))
                return false;
    }
    for (uint32_t u = 0; u < ranks->parameters.count; u++)
        if (ranks->parameters.tensors[u].data == NULL)
            return false;
    for (size_t p = 0; p < sizeof others; p++)
        if (reads_unit(s, others[p]))
            return false;
    return true;
}

/* Marks the sums of gradients, in the order of the row. */
static void mark_gradients(search *s) {
    const firn_ranks *ranks = s->ranks;
    const firn_bound_phase *phase = &ranks->instance->bound.phases[FIRN_FB_PHASE_KIND_MICRO_BATCH];
    uint32_t unit = 0;
    for (uint32_t i = 0; i < phase->count; i++)
        if (ranks->batch.ways[i] == FIRN_RANKS_TREE)
            *unit_of(s, firn_fb_op_outputs_at(op_at(phase, i), FIRN_ACCUMULATE_TREE_OUT_TOTAL)) = unit++;
}

/* Allocates what a plan may need. */
static bool make_room(search *s) {
    firn_ranks *ranks = s->ranks;
    const firn_instance *instance = ranks->instance;
    const uint64_t tensors = firn_fb_plan_tensors_count(instance->plan) + UINT64_C(1);
    const uint32_t count = ranks->gradients.count;
    s->unit_of = malloc(tensors * sizeof *s->unit_of);
    ranks->states = calloc(tensors, sizeof *ranks->states);
    ranks->whole = calloc(count + UINT64_C(1), 1);
    ranks->parameters.tensors = calloc(count + UINT64_C(1), sizeof *ranks->parameters.tensors);
    ranks->units[0] =
        calloc(instance->bound.phases[FIRN_FB_PHASE_KIND_FINALISE].count + UINT64_C(1), sizeof *ranks->units[0]);
    ranks->units[1] =
        calloc(instance->bound.phases[FIRN_FB_PHASE_KIND_UPDATE].count + UINT64_C(1), sizeof *ranks->units[1]);
    if (s->unit_of == NULL || ranks->states == NULL || ranks->whole == NULL || ranks->parameters.tensors == NULL ||
        ranks->units[0] == NULL || ranks->units[1] == NULL)
        return false;
    for (uint64_t i = 0; i < tensors; i++)
        s->unit_of[i] = FIRN_RANKS_ALL;
    ranks->parameters.count = count;
    ranks->parameters.elements = ranks->gradients.elements;
    for (uint32_t u = 0; u < count; u++) {
        ranks->parameters.tensors[u] = ranks->gradients.tensors[u];
        ranks->parameters.tensors[u].data = ranks->parameters.tensors[u].lower = NULL;
    }
    return true;
}

bool firn_ranks_find_units(firn_ranks *ranks) {
    search s = {.ranks = ranks};
    if (!make_room(&s)) {
        free(s.unit_of);
        return false;
    }
    mark_gradients(&s);
    ranks->has_units = ranks->volume.updates_share = search_plan(&s);
    free(s.unit_of);
    return true;
}

/* --- the ranges of ranks ------------------------------------------------------------------------------------------ */

/* Moves a bound to the nearest place where the work of two ranks may part: in a tensor whose elements are independent
 * at a multiple of the blocks that norms are made of, or of a cache line where there is no norm; else at one of its
 * ends. */
static uint64_t move_bound(const firn_ranks *ranks, uint64_t bound) {
    uint32_t u = 0;
    while (u + 1 < ranks->gradients.count && ranks->gradients.tensors[u + 1].first <= bound)
        u++;
    const firn_ranks_tensor *tensor = &ranks->gradients.tensors[u];
    const uint64_t skip = bound - tensor->first;
    if (ranks->whole[u])
        return tensor->first + (2 * skip < tensor->elements ? 0 : tensor->elements);
    const uint64_t block = ranks->has_totals ? FIRN_SUM_BLOCK : ALIGNMENT, cut = (skip + block / 2) / block * block;
    return tensor->first + (cut < tensor->elements ? cut : tensor->elements);
}

bool firn_ranks_set_bounds(firn_ranks *ranks) {
    const uint64_t elements = ranks->gradients.elements, size = ranks->transport->size;
    ranks->bounds = calloc(size + 1, sizeof *ranks->bounds);
    for (uint64_t rank = 1; ranks->bounds != NULL && rank < size; rank++) {
        const uint64_t bound = elements / size * rank + elements % size * rank / size;
        ranks->bounds[rank] = ranks->has_units ? move_bound(ranks, bound) : bound / ALIGNMENT * ALIGNMENT;
    }
    if (ranks->bounds != NULL)
        ranks->bounds[size] = elements;
    return ranks->bounds != NULL;
}

firn_ranks_share firn_ranks_part_of(const firn_ranks *ranks, uint32_t unit, uint32_t rank) {
    const firn_ranks_tensor *tensor = &ranks->gradients.tensors[unit];
    const uint64_t end = tensor->first + tensor->elements;
    uint64_t from = ranks->bounds[rank], to = ranks->bounds[rank + 1];
    from = from < tensor->first ? tensor->first : from > end ? end : from;
    to = to < from ? from : to > end ? end : to;
    return (firn_ranks_share){from - tensor->first, to - tensor->first};
}
