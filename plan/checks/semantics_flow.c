/* Rule 17 of FORMAT.md, the data flow between the ops: every tensor is written before it is read, is used only within
 * its lifetime, shares no bytes with a tensor that is live at the same time, and is changed only by an op that may
 * change it. Ops are numbered through all phases. The ops of derive run before those of a step, and not in every step;
 * those of count run for each micro-batch, and only then those of micro_batch, again for each; those of update may be
 * skipped. A view counts as its base. */
#include <string.h>

#include "plan/checks/semantics_lookup.h"
#include "plan/checks/semantics_parts.h"
#include "plan/errors.h"
#include "plan/parts.h"

/* --- reads and writes of one op --------------------------------------------------------------------------------- */

static const firn_op_info *info_of(const firn_fb_op_record *op) {
    return firn_op_find((uint16_t)op->code);
}

static bool is_alive(const firn_fb_tensor_record *tensor, uint32_t n) {
    return tensor->first <= n && n <= tensor->last;
}

/* State may change only after the micro-batches, so a step that fails before can be run again; what belongs to the
 * model only in an update, which a skipped step leaves out. An evaluation may change only caches and the state of its
 * metric. */
static bool may_change_state(const firn_op_info *info, uint8_t phase, const firn_fb_tensor_record *tensor) {
    if (firn_semantics_is_of_model(tensor))
        return phase == FIRN_FB_PHASE_KIND_UPDATE;
    if (phase == FIRN_FB_PHASE_KIND_EVALUATE)
        return info->metric || tensor->role == FIRN_FB_ROLE_CACHE;
    return phase == FIRN_FB_PHASE_KIND_FINALISE || phase == FIRN_FB_PHASE_KIND_UPDATE ||
           phase == FIRN_FB_PHASE_KIND_BOOKKEEP;
}

/* Not inlined, so that what is checked otherwise has no stack for it. */
static __attribute__((noinline)) bool is_only_writer(const firn_fb_plan_record *plan, const firn_fb_op_record *op,
                                                     uint8_t phase, uint32_t j) {
    firn_fb_op_record writer;
    return firn_semantics_has_one_writer(plan, op->outputs[j], (uint16_t)op->code, j, phase, &writer);
}

/* Checks that output j is the same tensor as the input that it changes, if any, and that no other input and no earlier
 * output has its bytes, or is another view of its base. */
static bool operands_are_apart(const firn_fb_plan_record *plan, const firn_fb_op_record *op, uint32_t j,
                               uint8_t changed) {
    const uint32_t tensor = op->outputs[j], base = firn_semantics_base(plan, tensor);
    for (uint32_t i = 0; i < op->inputs_count; i++) {
        const uint32_t input = op->inputs[i];
        if (i == changed ? input != tensor : firn_semantics_base(plan, input) == base)
            return false;
    }
    for (uint32_t i = 0; i < j; i++) {
        if (firn_semantics_base(plan, op->outputs[i]) == base)
            return false;
    }
    return true;
}

static bool is_written(const firn_fb_plan_record *plan, uint32_t tensor) {
    uint8_t phase;
    firn_fb_op op;
    return firn_semantics_op(plan->table, firn_semantics_first_use(plan, tensor, false), &op, &phase);
}

/* What derive has computed stays until derive runs again, and so depends on nothing that a step changes. */
static bool may_derive(const firn_fb_plan_record *plan, const firn_fb_tensor_record *tensor, uint32_t index) {
    if (firn_semantics_is_state(tensor))
        return firn_semantics_is_of_model(tensor) && !is_written(plan, index);
    return firn_semantics_is_arena(tensor) ? !firn_semantics_is_filled(plan, index)
                                           : firn_semantics_regions[tensor->role] == FIRN_IN_CONSTANT;
}

/* What counts in a batch follows from data and constants: the phase count reads no state. */
static bool may_read(const firn_fb_plan_record *plan, uint32_t index, uint32_t n, uint8_t phase) {
    firn_fb_tensor_record tensor;
    firn_semantics_tensor(plan, index, &tensor);
    if (!is_alive(&tensor, n) || (phase == FIRN_FB_PHASE_KIND_COUNT && firn_semantics_is_state(&tensor)))
        return false;
    return phase != FIRN_FB_PHASE_KIND_DERIVE || may_derive(plan, &tensor, index);
}

/* Of views only those of state may be written: state has contents before the first op, so a part of it may change
 * alone. */
static bool may_write(const firn_fb_plan_record *plan, const firn_fb_op_record *op, const firn_op_info *info,
                      uint32_t n, uint8_t phase, uint32_t j) {
    const uint32_t index = firn_semantics_base(plan, op->outputs[j]);
    const uint8_t changed = firn_op_changed(info, j);
    firn_fb_tensor_record tensor;
    firn_semantics_tensor(plan, index, &tensor);
    if (!is_alive(&tensor, n) || !operands_are_apart(plan, op, j, changed) || firn_semantics_is_filled(plan, index) ||
        index == firn_fb_sampler_cursor(firn_fb_plan_sampler(plan->table)))
        return false;
    /* Statistics of what a step has seen advance in every step, also in one whose update is skipped: an op of the
     * column .buffers runs in bookkeep and changes whole buffers, each of which no other op changes. */
    if (info->buffers)
        return phase == FIRN_FB_PHASE_KIND_BOOKKEEP && tensor.role == FIRN_FB_ROLE_BUFFER && index == op->outputs[j] &&
               is_only_writer(plan, op, phase, j);
    if (firn_semantics_is_state(&tensor))
        return changed != FIRN_FRESH && may_change_state(info, phase, &tensor);
    if (!firn_semantics_is_arena(&tensor) || index != op->outputs[j])
        return false;
    return changed != FIRN_FRESH || firn_semantics_is_persistent(&tensor) || n == tensor.first;
}

/* An op that fills one element of a tensor may not stand in an update, because a skipped step would leave out this
 * element alone. */
static bool op_is_legal(const firn_fb_plan_record *plan, const firn_fb_op_record *op, uint32_t n, uint8_t phase) {
    const firn_op_info *info = info_of(op);
    if (info->begins == FIRN_BEGINS_partial && phase == FIRN_FB_PHASE_KIND_UPDATE)
        return false;
    for (uint32_t i = 0; i < op->inputs_count; i++) {
        const uint32_t input = firn_semantics_base(plan, op->inputs[i]);
        if (input != FIRN_ABSENT && !may_read(plan, input, n, phase))
            return false;
    }
    for (uint32_t j = 0; j < op->outputs_count; j++) {
        if (!may_write(plan, op, info, n, phase, j))
            return false;
    }
    return true;
}

static bool accesses_are_legal(const firn_fb_plan_record *plan) {
    bool legal = true;
    uint8_t phase;
    firn_fb_op_record op;
    for (uint32_t n = 0; legal && firn_semantics_read_op(plan, n, &op, &phase); n++)
        legal = op_is_legal(plan, &op, n, phase);
    return legal;
}

/* --- written before read ---------------------------------------------------------------------------------------- */

/* Whether ops use a tensor that is not a view: inside phases of a kind read or write it, or outside them write it.
 * Other ops are not even decoded, because this is asked of each tensor of an update. */
static __attribute__((noinline)) bool is_used(const firn_fb_plan_record *plan, uint32_t tensor, uint8_t kind,
                                              bool inside) {
    uint8_t phase;
    firn_fb_op table;
    firn_fb_op_record op;
    for (uint32_t n = 0; firn_semantics_op(plan->table, n, &table, &phase); n++) {
        if ((phase == kind) != inside)
            continue;
        firn_fb_op_read(table, &op);
        if (firn_semantics_writes(plan, &op, tensor) || (inside && firn_semantics_reads(plan, &op, tensor)))
            return true;
    }
    return false;
}

/* Checks how an arena tensor that the runtime does not fill gets its contents: it is undefined before its first op,
 * which must therefore write all of it. Three kinds of ops may begin a tensor that they also read: ops that fill one
 * element (semantics_gather.c), ops that overwrite it at micro-step 0, and ops that have written all of it behind the
 * last micro-step (semantics_tree.c). For the last two it must persist from one micro-batch to the next. */
static bool is_born(const firn_fb_plan_record *plan, const firn_fb_tensor_record *tensor, uint32_t index,
                    uint32_t first_touch) {
    const bool persistent = firn_semantics_is_persistent(tensor);
    const uint32_t first = persistent ? first_touch : tensor->first;
    uint8_t phase;
    firn_fb_op_record op;
    if (!firn_semantics_read_op(plan, first, &op, &phase) || !firn_semantics_writes(plan, &op, index))
        return false;
    /* An update may be skipped, so bookkeep, which always runs, may not use a tensor that begins there. */
    if (phase == FIRN_FB_PHASE_KIND_UPDATE && is_used(plan, index, FIRN_FB_PHASE_KIND_BOOKKEEP, true))
        return false;
    /* What derive leaves to the steps, or count to the micro-batches, has to outlive them, and no other phase writes
     * it. */
    if ((phase == FIRN_FB_PHASE_KIND_DERIVE || phase == FIRN_FB_PHASE_KIND_COUNT) &&
        ((!persistent && firn_semantics_phase_of(plan, tensor->last) != phase) || is_used(plan, index, phase, false)))
        return false;
    if (!firn_semantics_reads(plan, &op, index))
        return true;
    if (firn_semantics_fills_partial(&op, index))
        return firn_semantics_parts.gathered != NULL &&
               firn_semantics_parts.gathered(plan, index, tensor->dims[0], first);
    return info_of(&op)->begins >= FIRN_BEGINS_first && persistent &&
           (phase == FIRN_FB_PHASE_KIND_MICRO_BATCH || phase == FIRN_FB_PHASE_KIND_COUNT);
}

/* Inputs are filled before op 0, so their lifetime must start there. Values of schedules, and which samples count, are
 * filled once a step, so they must persist. */
static bool is_filled_in_time(const firn_fb_plan_record *plan, const firn_fb_tensor_record *tensor, uint32_t index) {
    return firn_semantics_input_of(plan, index) < plan->inputs_count ? tensor->first == 0
                                                                     : firn_semantics_is_persistent(tensor);
}

/* Notes op n for each tensor that has no earlier op. `first` begins with the tensors behind the state. */
static void note_touches(const firn_fb_plan_record *plan, const uint32_t *operands, uint32_t count, uint32_t n,
                         uint32_t *first) {
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t tensor = firn_semantics_base(plan, operands[i]);
        if (tensor >= plan->state_tensors && tensor != FIRN_ABSENT && first[tensor - plan->state_tensors] > n)
            first[tensor - plan->state_tensors] = n;
    }
}

/* Finds the first op that uses each tensor that is not state, in one pass; UINT32_MAX if there is none. */
static void find_first_touches(const firn_fb_plan_record *plan, uint32_t *first) {
    uint8_t phase;
    firn_fb_op_record op;
    memset(first, 0xff, (plan->tensors_count - plan->state_tensors) * sizeof *first);
    for (uint32_t n = 0; firn_semantics_read_op(plan, n, &op, &phase); n++) {
        note_touches(plan, op.inputs, op.inputs_count, n, first);
        note_touches(plan, op.outputs, op.outputs_count, n, first);
    }
}

static bool has_contents(const firn_fb_plan_record *plan, uint32_t index, uint32_t first_touch) {
    firn_fb_tensor_record tensor;
    firn_semantics_tensor(plan, index, &tensor);
    if (!firn_semantics_is_arena(&tensor) || tensor.base != FIRN_ABSENT)
        return true;
    return firn_semantics_is_filled(plan, index) ? is_filled_in_time(plan, &tensor, index)
                                                 : is_born(plan, &tensor, index, first_touch);
}

static bool contents_are_written(const firn_fb_plan_record *plan, uint32_t *first_touches) {
    const uint32_t state_tensors = plan->state_tensors;
    bool written = true;
    find_first_touches(plan, first_touches);
    for (uint32_t i = state_tensors; written && i < plan->tensors_count; i++)
        written = has_contents(plan, i, first_touches[i - state_tensors]);
    if (firn_semantics_parts.tree == NULL)
        return written && !firn_semantics_adds_tree(plan);
    return written && firn_semantics_parts.tree(plan, first_touches);
}

/* --- bytes that two tensors share ------------------------------------------------------------------------------- */

/* Whether the op that uses a last and b first works in place. b must be its output 0 and have the offset, size and
 * element type of a, so that no operand is read after its bytes were overwritten; and the op table must allow it for
 * every input that is a. */
static bool succeeds_in_place(const firn_fb_plan_record *plan, const firn_fb_tensor_record *a, uint32_t a_index,
                              const firn_fb_tensor_record *b, uint32_t b_index) {
    uint8_t phase;
    firn_fb_op_record op;
    if (a->last != b->first || !firn_semantics_read_op(plan, a->last, &op, &phase) || op.outputs[0] != b_index ||
        a->type != b->type || a->offset != b->offset || firn_semantics_bytes(a) != firn_semantics_bytes(b))
        return false;
    const firn_op_info *info = info_of(&op);
    bool reads = false;
    for (uint32_t i = 0; i < op.inputs_count; i++) {
        if (firn_semantics_base(plan, op.inputs[i]) != a_index)
            continue;
        if (op.inputs[i] != a_index || !firn_op_reuses(info, i))
            return false;
        reads = true;
    }
    return reads;
}

/* The tensors that occupy bytes of one arena, by ascending offset. No two of them share a byte. A tensor stays in the
 * list after its last use, until its bytes are reused. */
typedef struct holders {
    uint32_t *tensors;
    uint32_t count;
    uint32_t region; /* the arena */
} holders;

/* Reads the holder at a place of the list, and returns where its bytes begin. */
static uint64_t holder_at(const firn_fb_plan_record *plan, const holders *h, uint32_t at,
                          firn_fb_tensor_record *tensor) {
    firn_semantics_tensor(plan, h->tensors[at], tensor);
    return tensor->offset;
}

/* The first holder that ends after an offset; h->count if there is none. */
static uint32_t first_behind(const firn_fb_plan_record *plan, const holders *h, uint64_t offset) {
    firn_fb_tensor_record tensor;
    uint32_t low = 0, high = h->count;
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        if (holder_at(plan, h, middle, &tensor) < offset)
            low = middle + 1;
        else
            high = middle;
    }
    return low > 0 && holder_at(plan, h, low - 1, &tensor) + firn_semantics_bytes(&tensor) > offset ? low - 1 : low;
}

/* Assigns a tensor its bytes at its first use. They may belong only to tensors whose last use has passed, or to the one
 * that its op replaces in place. Tensors are added in the order of their first use, so a tensor whose lifetime has
 * ended stays unused for all later ones. */
static bool takes_its_bytes(const firn_fb_plan_record *plan, holders *h, const firn_fb_tensor_record *tensor,
                            uint32_t index) {
    const uint64_t end = tensor->offset + firn_semantics_bytes(tensor);
    const uint32_t first = first_behind(plan, h, tensor->offset);
    firn_fb_tensor_record holder;
    uint32_t behind = first;
    for (; behind < h->count && holder_at(plan, h, behind, &holder) < end; behind++) {
        if (holder.last >= tensor->first && !succeeds_in_place(plan, &holder, h->tensors[behind], tensor, index))
            return false;
    }
    memmove(&h->tensors[first + 1], &h->tensors[behind], (h->count - behind) * sizeof *h->tensors);
    h->tensors[first] = index;
    h->count += 1 - (behind - first);
    return true;
}

static bool is_in_region(const firn_fb_tensor_record *tensor, uint32_t region) {
    return tensor->region == region && tensor->base == FIRN_ABSENT;
}

/* A tensor of the arena that exists before op 0, because it is persistent or because the runtime fills it, takes its
 * bytes before the first op. */
static bool takes_its_bytes_at_first(const firn_fb_plan_record *plan, holders *h, uint32_t index) {
    firn_fb_tensor_record tensor;
    firn_semantics_tensor(plan, index, &tensor);
    if (!is_in_region(&tensor, h->region) ||
        !(firn_semantics_is_persistent(&tensor) || firn_semantics_is_filled(plan, index)))
        return true;
    return takes_its_bytes(plan, h, &tensor, index);
}

/* Any other takes them at its first use, op n: has_contents has checked that this op writes it as one of its
 * outputs. */
static bool takes_its_bytes_in(const firn_fb_plan_record *plan, holders *h, uint32_t index, uint32_t n) {
    firn_fb_tensor_record tensor;
    firn_semantics_tensor(plan, index, &tensor);
    if (!is_in_region(&tensor, h->region) || tensor.first != n || firn_semantics_is_persistent(&tensor))
        return true;
    return takes_its_bytes(plan, h, &tensor, index);
}

/* Visits each tensor of an arena once, in the order of first use. `room` has an element for each tensor that is not
 * state. */
static bool is_shared_in_turn(const firn_fb_plan_record *plan, uint32_t region, uint32_t *room) {
    holders h = {.region = region};
    uint8_t phase;
    firn_fb_op_record op;
    bool good = true;
    h.tensors = room;
    for (uint32_t i = plan->state_tensors; good && i < plan->tensors_count; i++)
        good = takes_its_bytes_at_first(plan, &h, i);
    for (uint32_t n = 0; good && firn_semantics_read_op(plan, n, &op, &phase); n++) {
        for (uint32_t j = 0; good && j < op.outputs_count; j++)
            good = takes_its_bytes_in(plan, &h, op.outputs[j], n);
    }
    return good;
}

int firn_semantics_flow(const firn_fb_plan_record *plan, const firn_header *header, uint32_t *scratch) {
    if (!accesses_are_legal(plan) || !contents_are_written(plan, scratch))
        return FIRN_ERROR_OP_ORDER;
    for (uint32_t r = 0; r < header->region_count; r++) {
        if (firn_region_is_arena(header->region_kinds[r]) && !is_shared_in_turn(plan, r, scratch))
            return FIRN_ERROR_OVERLAP;
    }
    return FIRN_OK;
}
