/* The phases finalise and update of a plan with units: each rank runs the ops of its units, or of its part of one, and
 * all ranks run the others. Sums over all gradients are made of the totals of blocks of 4,096 elements, which the ranks
 * exchange; the parameters that a rank has updated it sends to all. */
#define FIRN_FB_INLINE /* plan/access.h */
#include <stdlib.h>
#include <string.h>

#include "runtime/ranks/internal.h"

/* --- parts of tensors --------------------------------------------------------------------------------------------- */

/* Changes the operands of an op to the rank's part of them. */
static void cut_operands(const firn_ranks *ranks, firn_prepared_op *op, uint32_t unit, firn_ranks_share part,
                         firn_tensor *operands, uint32_t *dims) {
    const uint64_t elements = ranks->gradients.tensors[unit].elements;
    const uint32_t count = (uint32_t)op->input_count + op->output_count;
    *dims = (uint32_t)(part.end - part.first);
    memcpy(operands, op->operands, count * sizeof *operands);
    for (uint32_t j = 0; j < count; j++) {
        firn_tensor *operand = &operands[j];
        if (operand->data == NULL || operand->elements != elements)
            continue;
        operand->data = (uint8_t *)operand->data + part.first * firn_type_bytes(operand->type);
        operand->elements = (size_t)(part.end - part.first);
        operand->dims = dims;
        operand->rank = 1;
    }
    op->operands = operands;
}

/* Copies the prepared ops, and cuts those of units that this rank has a part of. */
bool firn_ranks_prepare(firn_ranks *ranks) {
    static const uint8_t kinds[] = {FIRN_FB_PHASE_KIND_FINALISE, FIRN_FB_PHASE_KIND_UPDATE};
    const firn_instance *instance = ranks->instance;
    const uint64_t ops = instance->header.counts.ops;
    firn_prepared_op *copy = malloc((ops + 1) * sizeof *copy);
    ranks->operands = calloc(instance->header.counts.operands + UINT64_C(1), sizeof *ranks->operands);
    ranks->dims = calloc(ops + 1, sizeof *ranks->dims);
    ranks->prepared = copy;
    if (copy == NULL || ranks->operands == NULL || ranks->dims == NULL)
        return false;
    memcpy(copy, instance->prepared, ops * sizeof *copy);
    firn_tensor *next = ranks->operands;
    for (size_t p = 0; p < sizeof kinds; p++) {
        const firn_bound_phase *phase = &instance->bound.phases[kinds[p]];
        for (uint32_t i = 0; i < phase->count; i++) {
            firn_prepared_op *op = &copy[phase->first + i];
            const uint32_t unit = ranks->units[p][i];
            if (unit == FIRN_RANKS_ALL)
                continue;
            const firn_ranks_share part = firn_ranks_part_of(ranks, unit, ranks->transport->rank);
            const uint64_t elements = ranks->gradients.tensors[unit].elements;
            if (part.end - part.first != 0 && part.end - part.first != elements)
                cut_operands(ranks, op, unit, part, next, &ranks->dims[phase->first + i]);
            next += (uint32_t)op->input_count + op->output_count;
        }
    }
    return true;
}

/* --- totals of blocks --------------------------------------------------------------------------------------------- */

typedef struct summing {
    const firn_ranks *ranks;
    const firn_prepared_op *op; /* of the whole gradient */
    uint64_t first, elements;   /* of the rank's part; of the gradient */
    float *totals;              /* of the blocks of the part */
} summing;

/* Runs the op for one block at a time: its result is the block's total. */
static void sum_blocks(void *argument, size_t begin, size_t end) {
    const summing *s = argument;
    const firn_instance *instance = s->ranks->instance;
    firn_tensor operands[8];
    const int64_t integers[] = {[FIRN_SUM_OF_SQUARES_INDEX] = 0};
    const uint32_t one = 1, inputs = s->op->input_count;
    for (size_t block = begin; block < end; block++) {
        const uint64_t at = s->first + block * FIRN_SUM_BLOCK, left = s->elements - at;
        const uint32_t count = left < FIRN_SUM_BLOCK ? (uint32_t)left : FIRN_SUM_BLOCK;
        float scratch;
        memcpy(operands, s->op->operands, inputs * sizeof *operands);
        firn_tensor *gradient = &operands[FIRN_SUM_OF_SQUARES_IN_GRADIENT];
        gradient->data = (uint8_t *)gradient->data + at * firn_type_bytes(gradient->type);
        gradient->elements = count;
        gradient->dims = &count;
        gradient->rank = 1;
        operands[FIRN_SUM_OF_SQUARES_IN_PARTIAL] = (firn_tensor){&s->totals[block], 1, &one, FIRN_FLOAT32, 1};
        const firn_tensor outputs[] = {[FIRN_SUM_OF_SQUARES_OUT_PARTIAL] = operands[FIRN_SUM_OF_SQUARES_IN_PARTIAL],
                                       [FIRN_SUM_OF_SQUARES_OUT_SCRATCH] = {&scratch, 1, &one, FIRN_FLOAT32, 1}};
        const firn_kernel_call call = {.inputs = operands,
                                       .outputs = outputs,
                                       .input_count = (uint8_t)inputs,
                                       .output_count = 2,
                                       .integers = integers,
                                       .moment = &instance->moment,
                                       .kernels = instance->kernels};
        s->op->kernel(&call);
    }
}

#define AS_SQUARES(OP)                                                                                                 \
    ((int)FIRN_##OP##_INDEX == (int)FIRN_SUM_OF_SQUARES_INDEX &&                                                       \
     (int)FIRN_##OP##_IN_GRADIENT == (int)FIRN_SUM_OF_SQUARES_IN_GRADIENT &&                                           \
     (int)FIRN_##OP##_IN_PARTIAL == (int)FIRN_SUM_OF_SQUARES_IN_PARTIAL &&                                             \
     (int)FIRN_##OP##_OUT_PARTIAL == (int)FIRN_SUM_OF_SQUARES_OUT_PARTIAL &&                                           \
     (int)FIRN_##OP##_OUT_SCRATCH == (int)FIRN_SUM_OF_SQUARES_OUT_SCRATCH)
_Static_assert(AS_SQUARES(LARGEST_MAGNITUDE) && AS_SQUARES(SUM_OF_SCALED_SQUARES), "sum_blocks serves the three ops");

static uint64_t blocks_of(firn_ranks_share part) {
    return (part.end - part.first + FIRN_SUM_BLOCK - 1) / FIRN_SUM_BLOCK;
}

/* Puts the totals of this rank's part of a gradient behind those of the ops before it. */
static void sum_part(firn_ranks *ranks, const firn_bound_phase *phase, uint32_t i, uint32_t unit) {
    const firn_ranks_share part = firn_ranks_part_of(ranks, unit, ranks->transport->rank);
    summing s = {.ranks = ranks,
                 .op = &ranks->instance->prepared[phase->first + i],
                 .first = part.first,
                 .elements = ranks->gradients.tensors[unit].elements};
    s.totals = ranks->totals + ranks->total_count;
    if (blocks_of(part) != 0)
        firn_parallel_run(&ranks->instance->parallel, (size_t)blocks_of(part), UINT64_C(4) * FIRN_SUM_BLOCK, sum_blocks,
                          &s);
    ranks->total_count += blocks_of(part);
    ranks->pending[ranks->pending_count++] = i;
}

/* Adds the totals of all blocks in order, or finds the largest, as the op would. */
static float fold(const firn_ranks *ranks, uint16_t code, float *totals, uint64_t count) {
    const uint32_t dims = (uint32_t)count, one = 1;
    float result = 0;
    if (code != FIRN_OP_largest_magnitude) {
        for (uint64_t i = 0; i < count; i++)
            result += totals[i];
        return firn_canonical(result);
    }
    const firn_tensor partial = {&result, 1, &one, FIRN_FLOAT32, 1};
    const firn_tensor in[] = {[FIRN_LARGEST_MAGNITUDE_IN_GRADIENT] = {totals, (size_t)count, &dims, FIRN_FLOAT32, 1},
                              [FIRN_LARGEST_MAGNITUDE_IN_PARTIAL] = partial};
    const firn_tensor out[] = {
        [FIRN_LARGEST_MAGNITUDE_OUT_PARTIAL] = partial,
        [FIRN_LARGEST_MAGNITUDE_OUT_SCRATCH] = {ranks->packed, (size_t)count, &dims, FIRN_FLOAT32, 1}};
    const int64_t integers[] = {[FIRN_LARGEST_MAGNITUDE_INDEX] = 0};
    const firn_kernel_call call = {.inputs = in,
                                   .outputs = out,
                                   .input_count = 2,
                                   .output_count = 2,
                                   .integers = integers,
                                   .moment = &ranks->instance->moment,
                                   .kernels = ranks->instance->kernels};
    ranks->instance->kernels->find(code, NULL).run(&call);
    return result;
}

/* Collects the totals of a gradient from what each rank has sent. next: where the next ones of each rank are. */
static uint64_t collect(const firn_ranks *ranks, uint32_t unit, float *const *next, uint64_t *taken, float *totals) {
    uint64_t count = 0;
    for (uint32_t rank = 0; rank < ranks->transport->size; rank++) {
        const uint64_t blocks = blocks_of(firn_ranks_part_of(ranks, unit, rank));
        memcpy(totals + count, next[rank] + taken[rank], blocks * sizeof *totals);
        taken[rank] += blocks;
        count += blocks;
    }
    return count;
}

/* Gives every rank the results of the ops that are pending. */
static void exchange_totals(firn_ranks *ranks, const firn_bound_phase *phase, const uint32_t *units) {
    const uint32_t size = ranks->transport->size, own = ranks->transport->rank;
    uint64_t at = ranks->total_count;
    if (ranks->pending_count == 0)
        return;
    for (uint32_t rank = 0; rank < size; rank++) {
        uint64_t count = 0;
        for (uint32_t p = 0; p < ranks->pending_count; p++)
            count += blocks_of(firn_ranks_part_of(ranks, units[ranks->pending[p]], rank));
        ranks->taken[rank] = 0;
        ranks->from[rank] = rank == own ? ranks->totals : ranks->totals + at;
        if (rank == own)
            continue;
        at += count;
        firn_ranks_send(ranks, rank, ranks->totals, ranks->total_count * sizeof(float), FIRN_RANKS_NUMBERS);
        firn_ranks_receive(ranks, rank, ranks->from[rank], count * sizeof(float));
    }
    firn_ranks_exchange(ranks);
    for (uint32_t p = 0; p < ranks->pending_count; p++) {
        const uint32_t i = ranks->pending[p];
        const firn_prepared_op *op = &ranks->instance->prepared[phase->first + i];
        float *totals = ranks->totals + at;
        const uint64_t count = collect(ranks, units[i], ranks->from, ranks->taken, totals);
        float *partial = op->operands[op->input_count + FIRN_SUM_OF_SQUARES_OUT_PARTIAL].data;
        const firn_fb_op plan_op = {firn_fb_follow(phase->ops + sizeof(uint32_t) * i)};
        partial[op->integers[FIRN_SUM_OF_SQUARES_INDEX]] = fold(ranks, firn_fb_op_code(plan_op), totals, count);
    }
    ranks->pending_count = 0;
    ranks->total_count = 0;
}

/* --- a phase ------------------------------------------------------------------------------------------------------ */

/* Whether this rank has a part of a unit. */
static bool has_part(const firn_ranks *ranks, uint32_t unit) {
    const firn_ranks_share part = firn_ranks_part_of(ranks, unit, ranks->transport->rank);
    return part.end != part.first;
}

static void run_op(firn_ranks *ranks, uint8_t kind, const uint32_t *units, uint32_t i) {
    firn_instance *instance = ranks->instance;
    const firn_bound_phase *phase = &instance->bound.phases[kind];
    const firn_fb_op op = {firn_fb_follow(phase->ops + sizeof(uint32_t) * i)};
    const firn_op_info *info = firn_op_find(firn_fb_op_code(op));
    if (units[i] != FIRN_RANKS_ALL && info->begins == FIRN_BEGINS_partial) {
        sum_part(ranks, phase, i, units[i]);
        return;
    }
    if (info->gathers)
        exchange_totals(ranks, phase, units);
    if (units[i] != FIRN_RANKS_ALL && !has_part(ranks, units[i]))
        return;
    const firn_prepared_op *whole = instance->prepared;
    instance->prepared = ranks->prepared;
    firn_ranks_run_ops(instance, kind, i, 1);
    instance->prepared = whole;
}

void firn_ranks_run_phase(firn_ranks *ranks, uint8_t kind) {
    const uint32_t count = ranks->instance->bound.phases[kind].count;
    if (!ranks->has_units || (kind != FIRN_FB_PHASE_KIND_FINALISE && kind != FIRN_FB_PHASE_KIND_UPDATE)) {
        firn_execute_phase(ranks->instance, kind);
        return;
    }
    const uint32_t *units = ranks->units[kind == FIRN_FB_PHASE_KIND_UPDATE];
    for (uint32_t i = 0; i < count; i++)
        run_op(ranks, kind, units, i);
    if (kind == FIRN_FB_PHASE_KIND_UPDATE)
        firn_ranks_gather(ranks);
}

/* Allocates the totals: of the blocks of all gradients, as often as one phase may sum them, and once more to put the
 * blocks of one gradient in order. */
bool firn_ranks_make_totals(firn_ranks *ranks) {
    const uint64_t ops = ranks->instance->bound.phases[FIRN_FB_PHASE_KIND_FINALISE].count + UINT64_C(1);
    uint64_t blocks = 1, most = 0;
    for (uint32_t i = 0; i + 1 < ops; i++) {
        const uint32_t unit = ranks->units[0][i];
        if (unit == FIRN_RANKS_ALL)
            continue;
        const uint64_t of = (ranks->gradients.tensors[unit].elements + FIRN_SUM_BLOCK - 1) / FIRN_SUM_BLOCK;
        blocks += of;
        most = of > most ? of : most;
    }
    ranks->totals = calloc(blocks + most, sizeof *ranks->totals);
    ranks->pending = calloc(ops, sizeof *ranks->pending);
    ranks->taken = calloc(ranks->transport->size, sizeof *ranks->taken);
    ranks->from = calloc(ranks->transport->size, sizeof *ranks->from);
    return ranks->totals != NULL && ranks->pending != NULL && ranks->taken != NULL && ranks->from != NULL;
}
