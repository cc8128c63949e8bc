/* Cuts a phase at the ops that cannot be shared as they are: those whose result depends on every micro-batch of a step,
 * in order, or on every batch of an evaluation. The ops between them run as the executor runs a phase; this file lends
 * it a part of the plan's list. */
#define FIRN_FB_INLINE /* plan/access.h */
#include <stdlib.h>
#include <string.h>

#include "runtime/ranks/internal.h"

enum { ALIGNMENT = 16 };

void firn_ranks_run_ops(firn_instance *instance, uint8_t kind, uint32_t first, uint32_t count) {
    firn_bound_phase *phase = &instance->bound.phases[kind];
    const firn_bound_phase whole = *phase;
    *phase = (firn_bound_phase){whole.ops + sizeof(uint32_t) * first, whole.first + first, count};
    firn_execute_phase(instance, kind);
    *phase = whole;
}

/* --- what becomes of each op -------------------------------------------------------------------------------------- */

static firn_fb_op op_at(const firn_bound_phase *phase, uint32_t i) {
    return (firn_fb_op){firn_fb_follow(phase->ops + sizeof(uint32_t) * i)};
}

static const firn_tensor *operands_of(const firn_instance *instance, const firn_bound_phase *phase, uint32_t i) {
    return instance->prepared[phase->first + i].operands;
}

/* Whether all that an op of a metric changes are integers. */
static bool adds_integers(const firn_instance *instance, const firn_bound_phase *phase, uint32_t i) {
    const firn_prepared_op *op = &instance->prepared[phase->first + i];
    bool integers = true;
    for (uint32_t j = 0; j < op->output_count; j++)
        integers = integers && op->operands[op->input_count + j].type == FIRN_INT64;
    return integers;
}

static firn_ranks_way way_of(const firn_instance *instance, const firn_bound_phase *phase, uint32_t i) {
    const firn_op_info *info = firn_op_find(firn_fb_op_code(op_at(phase, i)));
    if (info->metric)
        return adds_integers(instance, phase, i) ? FIRN_RANKS_ADD : FIRN_RANKS_KEEP;
    if (info->begins == FIRN_BEGINS_first)
        return FIRN_RANKS_KEEP;
    if (info->begins != FIRN_BEGINS_last)
        return FIRN_RANKS_RUN;
    const firn_tensor *total = &operands_of(instance, phase, i)[FIRN_ACCUMULATE_TREE_IN_TOTAL];
    return total->data == (const void *)instance->bound.loss ? FIRN_RANKS_KEEP : FIRN_RANKS_TREE;
}

/* Returns the tensor that an operand is, or lies in. */
static uint32_t base_of(const firn_instance *instance, uint32_t tensor) {
    const uint32_t base = firn_fb_tensor_base(firn_fb_plan_tensors_at(instance->plan, tensor));
    return base != FIRN_ABSENT ? base : tensor;
}

/* Marks what the ops of some ways write. */
static void mark_written(const firn_ranks_cut *cut, const firn_instance *instance, bool simply_run, uint8_t *written) {
    const firn_bound_phase *phase = &instance->bound.phases[cut->kind];
    for (uint32_t i = 0; i < phase->count; i++) {
        const firn_fb_op op = op_at(phase, i);
        for (uint32_t j = 0; j < firn_fb_op_outputs_count(op) && (cut->ways[i] == FIRN_RANKS_RUN) == simply_run; j++)
            written[base_of(instance, firn_fb_op_outputs_at(op, j))] = 1;
    }
}

/* Whether an op reads what is marked, other than what it changes. */
static bool reads(const firn_instance *instance, firn_fb_op op, const uint8_t *marked) {
    for (uint32_t j = 0; j < firn_fb_op_inputs_count(op); j++) {
        const uint32_t input = firn_fb_op_inputs_at(op, j);
        if (input != FIRN_ABSENT && marked[base_of(instance, input)])
            return true;
    }
    return false;
}

/* Whether an op of the phase that is simply run reads what others write, which is not there yet. */
static bool reads_too_early(const firn_ranks_cut *cut, const firn_instance *instance, const uint8_t *marked) {
    const firn_bound_phase *phase = &instance->bound.phases[cut->kind];
    bool early = false;
    for (uint32_t i = 0; i < phase->count; i++)
        early |= cut->ways[i] == FIRN_RANKS_RUN && reads(instance, op_at(phase, i), marked);
    return early;
}

/* Whether a later phase reads what an op of the phase has written that is simply run: only the rank that has the last
 * micro-batch would have it. */
static bool reads_later(const firn_instance *instance, const uint8_t *marked) {
    static const uint8_t later[] = {FIRN_FB_PHASE_KIND_FINALISE, FIRN_FB_PHASE_KIND_UPDATE,
                                    FIRN_FB_PHASE_KIND_BOOKKEEP};
    bool found = false;
    for (size_t p = 0; p < sizeof later; p++) {
        const firn_bound_phase *phase = &instance->bound.phases[later[p]];
        for (uint32_t i = 0; i < phase->count; i++)
            found |= reads(instance, op_at(phase, i), marked);
    }
    return found;
}

static const char *check(const firn_ranks_cut *cut, const firn_instance *instance) {
    static const char *const faults[] = {"no memory", "an op reads a sum over micro-batches before the last of them",
                                         "an op behind the micro-batches reads what only the last of them has"};
    uint8_t *marked = calloc(firn_fb_plan_tensors_count(instance->plan) + UINT64_C(1), 1);
    if (marked == NULL)
        return faults[0];
    mark_written(cut, instance, false, marked);
    const char *fault = reads_too_early(cut, instance, marked) ? faults[1] : NULL;
    memset(marked, 0, firn_fb_plan_tensors_count(instance->plan));
    mark_written(cut, instance, true, marked);
    if (fault == NULL && cut->kind == FIRN_FB_PHASE_KIND_MICRO_BATCH && reads_later(instance, marked))
        fault = faults[2];
    free(marked);
    return fault;
}

/* --- records ------------------------------------------------------------------------------------------------------ */

/* Whether a tensor has other contents for each micro-batch: it lies in an arena. */
static bool is_in_arena(const firn_instance *instance, uint32_t tensor) {
    const uint8_t region = firn_fb_tensor_region(firn_fb_plan_tensors_at(instance->plan, tensor));
    return firn_region_is_arena(instance->header.region_kinds[region]);
}

static bool is_changed(const firn_op_info *info, uint32_t outputs, uint32_t input) {
    for (uint32_t j = 0; j < outputs; j++)
        if (firn_op_changed(info, j) == input)
            return true;
    return false;
}

static void add_part(firn_ranks_cut *cut, const firn_tensor *tensor) {
    const size_t bytes = tensor->elements * firn_type_bytes(tensor->type);
    cut->parts[cut->part_count++] = (firn_ranks_part){tensor->data, bytes, cut->record};
    cut->record += (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

/* Adds an op with its parts: what it reads, or the integers that it changes. */
static void add_op(firn_ranks_cut *cut, const firn_instance *instance, const firn_bound_phase *phase, uint32_t i) {
    const firn_fb_op op = op_at(phase, i);
    const firn_op_info *info = firn_op_find(firn_fb_op_code(op));
    const firn_tensor *operands = operands_of(instance, phase, i);
    const uint32_t inputs = firn_fb_op_inputs_count(op), outputs = firn_fb_op_outputs_count(op);
    firn_ranks_op *added = &cut->ops[cut->op_count++];
    *added = (firn_ranks_op){.number = i, .first = cut->part_count, .way = cut->ways[i]};
    for (uint32_t j = 0; j < inputs && added->way == FIRN_RANKS_KEEP; j++)
        if (operands[j].data != NULL && !is_changed(info, outputs, j) &&
            is_in_arena(instance, firn_fb_op_inputs_at(op, j)))
            add_part(cut, &operands[j]);
    for (uint32_t j = 0; j < outputs && added->way == FIRN_RANKS_ADD; j++)
        add_part(cut, &operands[inputs + j]);
    added->count = cut->part_count - added->first;
}

const char *firn_ranks_cut_begin(firn_ranks_cut *cut, firn_instance *instance, uint8_t kind) {
    const firn_bound_phase *phase = &instance->bound.phases[kind];
    *cut = (firn_ranks_cut){.kind = kind};
    cut->ways = calloc(phase->count + UINT64_C(1), 1);
    cut->ops = calloc(phase->count + UINT64_C(1), sizeof *cut->ops);
    size_t operands = 1;
    for (uint32_t i = 0; i < phase->count; i++)
        operands += (size_t)instance->prepared[phase->first + i].input_count +
                    instance->prepared[phase->first + i].output_count;
    cut->parts = calloc(operands, sizeof *cut->parts);
    if (cut->ways == NULL || cut->ops == NULL || cut->parts == NULL)
        return "no memory";
    for (uint32_t i = 0; i < phase->count; i++) {
        cut->ways[i] = (uint8_t)way_of(instance, phase, i);
        if (cut->ways[i] >= FIRN_RANKS_KEEP)
            add_op(cut, instance, phase, i);
    }
    return check(cut, instance);
}

void firn_ranks_cut_end(firn_ranks_cut *cut) {
    free(cut->ways);
    free(cut->ops);
    free(cut->parts);
    *cut = (firn_ranks_cut){0};
}

/* --- running ------------------------------------------------------------------------------------------------------ */

static void keep(const firn_ranks_cut *cut, const firn_ranks_op *op, uint8_t *record) {
    for (uint32_t p = op->first; p < op->first + op->count; p++)
        memcpy(record + cut->parts[p].offset, cut->parts[p].data, cut->parts[p].bytes);
}

static void clear(const firn_ranks_cut *cut, const firn_ranks_op *op) {
    for (uint32_t p = op->first; p < op->first + op->count; p++)
        memset(cut->parts[p].data, 0, cut->parts[p].bytes);
}

static void run_alone(const firn_ranks_cut *cut, firn_instance *instance, const firn_ranks_op *op, bool adds,
                      uint8_t *record) {
    if (op->way == FIRN_RANKS_ADD) {
        if (!adds)
            clear(cut, op);
        firn_ranks_run_ops(instance, cut->kind, op->number, 1);
    }
    if (op->way == FIRN_RANKS_KEEP || !adds)
        keep(cut, op, record);
}

void firn_ranks_cut_run(const firn_ranks_cut *cut, firn_instance *instance, uint32_t local, bool adds,
                        uint8_t *record) {
    const uint32_t count = instance->bound.phases[cut->kind].count, micro_step = instance->moment.micro_step;
    uint32_t next;
    const firn_ranks_op *alone = cut->ops;
    for (uint32_t i = 0; i < count; i = next) {
        const uint8_t way = cut->ways[i];
        next = i + 1;
        if (way >= FIRN_RANKS_KEEP) {
            run_alone(cut, instance, alone++, adds, record);
            continue;
        }
        while (next < count && cut->ways[next] == way)
            next++;
        instance->moment.micro_step = way == FIRN_RANKS_TREE ? local : micro_step;
        firn_ranks_run_ops(instance, cut->kind, i, next - i);
        instance->moment.micro_step = micro_step;
    }
}

static void add_integers(const firn_ranks_part *part, const uint8_t *record) {
    uint64_t here, there;
    for (size_t at = 0; at < part->bytes; at += sizeof here) {
        memcpy(&here, (uint8_t *)part->data + at, sizeof here);
        memcpy(&there, record + part->offset + at, sizeof there);
        here += there;
        memcpy((uint8_t *)part->data + at, &here, sizeof here);
    }
}

/* What an op reads returns to where it was: at this time nothing else is there, because only tensors that persist from
 * one micro-batch to the next have contents, and these share no byte with what the op reads. */
void firn_ranks_cut_replay(const firn_ranks_cut *cut, firn_instance *instance, const uint8_t *record,
                           bool others_added) {
    for (uint32_t i = 0; i < cut->op_count; i++) {
        const firn_ranks_op *op = &cut->ops[i];
        for (uint32_t p = op->first; p < op->first + op->count; p++)
            if (op->way == FIRN_RANKS_KEEP)
                memcpy(cut->parts[p].data, record + cut->parts[p].offset, cut->parts[p].bytes);
            else if (others_added)
                add_integers(&cut->parts[p], record);
        if (op->way == FIRN_RANKS_KEEP)
            firn_ranks_run_ops(instance, cut->kind, op->number, 1);
    }
}
