/* Rule 17 of FORMAT.md, the data flow between the ops: every tensor is written before it is read, is used only within
 * its lifetime, shares no bytes with a tensor that is live at the same time, and is changed only by an op that may
 * change it. Ops are numbered through all phases. The ops of derive run before those of a step, and not in every step;
 * those of micro_batch run again for each micro-batch; those of update may be skipped. A view counts as its base. */
#include <string.h>

#include "plan/checks/semantics_lookup.h"
#include "plan/checks/semantics_parts.h"
#include "plan/errors.h"

/* --- reads and writes of one op --------------------------------------------------------------------------------- */

static bool is_alive(firn_fb_tensor tensor, uint32_t n) {
    return firn_fb_tensor_first(tensor) <= n && n <= firn_fb_tensor_last(tensor);
}

static const firn_op_info *info_of(firn_fb_op op) {
    return firn_op_find(firn_fb_op_code(op));
}

/* State may change only after the micro-batches, parameters and buffers only in an update, which a skipped step leaves
 * out. An evaluation may change only caches and the state of its metric. */
static bool may_change_state(firn_fb_op op, uint8_t phase, firn_fb_tensor tensor) {
    if (firn_semantics_is_of_model(tensor))
        return phase == FIRN_FB_PHASE_KIND_UPDATE;
    switch (phase) {
    case FIRN_FB_PHASE_KIND_FINALISE:
    case FIRN_FB_PHASE_KIND_UPDATE:
    case FIRN_FB_PHASE_KIND_BOOKKEEP:
        return true;
    case FIRN_FB_PHASE_KIND_EVALUATE:
        return info_of(op)->metric || firn_fb_tensor_role(tensor) == FIRN_FB_ROLE_CACHE;
    default:
        return false;
    }
}

/* Checks that output j is the same tensor as the input that it changes, if any, and that no other input and no earlier
 * output has its bytes, or is another view of its base. */
static bool operands_are_apart(firn_fb_plan plan, firn_fb_op op, uint32_t j) {
    uint32_t tensor = firn_fb_op_outputs_at(op, j), base = firn_semantics_base(plan, tensor);
    uint8_t changed = firn_op_changed(info_of(op), j);
    for (uint32_t i = 0; i < firn_fb_op_inputs_count(op); i++) {
        uint32_t input = firn_fb_op_inputs_at(op, i);
        if (i == changed ? input != tensor : firn_semantics_base(plan, input) == base)
            return false;
    }
    for (uint32_t i = 0; i < j; i++) {
        if (firn_semantics_base(plan, firn_fb_op_outputs_at(op, i)) == base)
            return false;
    }
    return true;
}

/* Whether an op in a phase of this kind reads or writes a tensor that is not a view. */
static bool phase_touches(firn_fb_plan plan, uint8_t kind, uint32_t tensor) {
    uint8_t phase;
    firn_fb_op op;
    for (uint32_t n = 0; firn_semantics_op(plan, n, &op, &phase); n++) {
        if (phase == kind && (firn_semantics_reads(plan, op, tensor) || firn_semantics_writes(plan, op, tensor)))
            return true;
    }
    return false;
}

/* What derive has computed stays until derive runs again, and so depends on nothing that a step changes. */
static bool may_derive(firn_fb_plan plan, uint32_t index) {
    uint8_t phase;
    firn_fb_op writer;
    firn_fb_tensor tensor = firn_fb_plan_tensors_at(plan, index);
    switch (firn_semantics_memory(tensor)) {
    case FIRN_MEMORY_CONSTANT:
        return true;
    case FIRN_MEMORY_STATE:
        return firn_semantics_is_of_model(tensor) &&
               !firn_semantics_op(plan, firn_semantics_first_writer(plan, index), &writer, &phase);
    case FIRN_MEMORY_ARENA:
        return !firn_semantics_is_filled(plan, index);
    default:
        return false;
    }
}

static bool may_read(firn_fb_plan plan, uint32_t index, uint32_t n, uint8_t phase) {
    return is_alive(firn_fb_plan_tensors_at(plan, index), n) &&
           (phase != FIRN_FB_PHASE_KIND_DERIVE || may_derive(plan, index));
}

/* Of views only those of state may be written: state has contents before the first op, so a part of it may change
 * alone. */
static bool may_write(firn_fb_plan plan, firn_fb_op op, uint32_t n, uint8_t phase, uint32_t j) {
    uint32_t index = firn_semantics_base(plan, firn_fb_op_outputs_at(op, j));
    firn_fb_tensor tensor = firn_fb_plan_tensors_at(plan, index);
    bool fresh = firn_op_changed(info_of(op), j) == FIRN_FRESH;
    bool part = index != firn_fb_op_outputs_at(op, j);
    if (!is_alive(tensor, n) || (part && firn_semantics_memory(tensor) != FIRN_MEMORY_STATE) ||
        !operands_are_apart(plan, op, j) || firn_semantics_is_filled(plan, index) ||
        index == firn_fb_sampler_cursor(firn_fb_plan_sampler(plan)))
        return false;
    switch (firn_semantics_memory(tensor)) {
    case FIRN_MEMORY_STATE:
        return !fresh && may_change_state(op, phase, tensor);
    case FIRN_MEMORY_ARENA:
        if (phase != FIRN_FB_PHASE_KIND_DERIVE && phase_touches(plan, FIRN_FB_PHASE_KIND_DERIVE, index))
            return false;
        return !fresh || firn_semantics_is_persistent(tensor) || n == firn_fb_tensor_first(tensor);
    default:
        return false;
    }
}

/* An op that fills one element of a tensor may not stand in an update, because a skipped step would leave out this
 * element alone. */
static bool op_is_legal(firn_fb_plan plan, firn_fb_op op, uint32_t n, uint8_t phase) {
    if (info_of(op)->begins == FIRN_BEGINS_partial && phase == FIRN_FB_PHASE_KIND_UPDATE)
        return false;
    for (uint32_t i = 0; i < firn_fb_op_inputs_count(op); i++) {
        uint32_t input = firn_semantics_base(plan, firn_fb_op_inputs_at(op, i));
        if (input != FIRN_ABSENT && !may_read(plan, input, n, phase))
            return false;
    }
    for (uint32_t j = 0; j < firn_fb_op_outputs_count(op); j++) {
        if (!may_write(plan, op, n, phase, j))
            return false;
    }
    return true;
}

static int check_accesses(firn_fb_plan plan) {
    uint8_t phase;
    firn_fb_op op;
    for (uint32_t n = 0; firn_semantics_op(plan, n, &op, &phase); n++) {
        if (!op_is_legal(plan, op, n, phase))
            return FIRN_ERROR_OP_ORDER;
    }
    return FIRN_OK;
}

/* --- written before read ---------------------------------------------------------------------------------------- */

/* Ops that begin `partial`: plan/generate has checked that output 0 has one dimension, and that this integer attribute
 * is there, which is the index of the element that the op fills. */
enum { PARTIAL_INDEX = FIRN_SUM_OF_SQUARES_INDEX };
_Static_assert((int)PARTIAL_INDEX == 0, "plan/ops.def: integer attribute 0 is the index");

static bool fills_partial(firn_fb_op op, uint32_t tensor) {
    return info_of(op)->begins == FIRN_BEGINS_partial && firn_fb_op_outputs_at(op, 0) == tensor;
}

/* Whether an op in [begin, end) fills the element at `index`. */
static bool has_partial(firn_fb_plan plan, uint32_t partial, uint32_t begin, uint32_t end, int64_t index) {
    for (uint32_t n = begin; n < end; n++) {
        uint8_t phase;
        firn_fb_op op;
        if (firn_semantics_op(plan, n, &op, &phase) && fills_partial(op, partial) &&
            firn_fb_op_integers_at(op, PARTIAL_INDEX) == index)
            return true;
    }
    return false;
}

/* A tensor that ops fill element by element, starting with op `first`, may be read only by gathering ops, and only
 * after every element has been filled. */
static bool partial_is_whole(firn_fb_plan plan, uint32_t partial, uint32_t first) {
    uint32_t elements = firn_fb_tensor_dims_at(firn_fb_plan_tensors_at(plan, partial), 0);
    uint8_t phase;
    firn_fb_op op;
    for (uint32_t n = first; firn_semantics_op(plan, n, &op, &phase); n++) {
        if (!firn_semantics_reads(plan, op, partial) || fills_partial(op, partial))
            continue;
        if (!info_of(op)->gathers || elements > n - first)
            return false;
        for (uint32_t i = 0; i < elements; i++) {
            if (!has_partial(plan, partial, first, n, i))
                return false;
        }
    }
    return true;
}

/* Whether a tensor is used after the first phase. */
static bool outlives_phase(firn_fb_plan plan, firn_fb_tensor tensor) {
    return firn_fb_tensor_last(tensor) >= firn_fb_phase_ops_count(firn_fb_plan_phases_at(plan, 0));
}

/* Checks how an arena tensor that the runtime does not fill gets its contents: it is undefined before its first op,
 * which must therefore write all of it. Two kinds of ops may begin a tensor that they also read: ops that fill one
 * element (see above), and ops that overwrite it at micro-step 0, for which it must persist from one micro-batch to the
 * next. */
static bool is_born(firn_fb_plan plan, uint32_t index, uint32_t first_touch) {
    firn_fb_tensor tensor = firn_fb_plan_tensors_at(plan, index);
    bool persistent = firn_semantics_is_persistent(tensor);
    uint32_t first = persistent ? first_touch : firn_fb_tensor_first(tensor);
    uint8_t phase;
    firn_fb_op op;
    if (!firn_semantics_op(plan, first, &op, &phase) || !firn_semantics_writes(plan, op, index))
        return false;
    /* An update may be skipped, so bookkeep, which always runs, may not use a tensor that begins there. */
    if (phase == FIRN_FB_PHASE_KIND_UPDATE && phase_touches(plan, FIRN_FB_PHASE_KIND_BOOKKEEP, index))
        return false;
    /* What derive leaves to the steps has to outlive them. */
    if (phase == FIRN_FB_PHASE_KIND_DERIVE && !persistent && outlives_phase(plan, tensor))
        return false;
    if (!firn_semantics_reads(plan, op, index))
        return true;
    if (fills_partial(op, index))
        return partial_is_whole(plan, index, first);
    return info_of(op)->begins == FIRN_BEGINS_first && persistent && phase == FIRN_FB_PHASE_KIND_MICRO_BATCH;
}

/* Inputs are filled before op 0, so their lifetime must start there. Values of schedules are filled once a step, so
 * they must persist. */
static bool is_filled_in_time(firn_fb_plan plan, uint32_t index) {
    firn_fb_tensor tensor = firn_fb_plan_tensors_at(plan, index);
    if (firn_semantics_input_of(plan, index) < firn_fb_plan_inputs_count(plan))
        return firn_fb_tensor_first(tensor) == 0;
    return firn_semantics_is_persistent(tensor);
}

static void note_touch(uint32_t *first, uint32_t state_tensors, uint32_t tensor, uint32_t n) {
    if (tensor >= state_tensors && tensor != FIRN_ABSENT && first[tensor - state_tensors] > n)
        first[tensor - state_tensors] = n;
}

/* Finds the first op that uses each tensor that is not state, in one pass; UINT32_MAX if there is none. */
static void find_first_touches(firn_fb_plan plan, uint32_t *first) {
    uint32_t state_tensors = firn_fb_plan_state_tensors(plan);
    for (uint32_t i = 0; i < firn_fb_plan_tensors_count(plan) - state_tensors; i++)
        first[i] = UINT32_MAX;
    uint8_t phase;
    firn_fb_op op;
    for (uint32_t n = 0; firn_semantics_op(plan, n, &op, &phase); n++) {
        for (uint32_t j = 0; j < firn_fb_op_inputs_count(op); j++)
            note_touch(first, state_tensors, firn_semantics_base(plan, firn_fb_op_inputs_at(op, j)), n);
        for (uint32_t j = 0; j < firn_fb_op_outputs_count(op); j++)
            note_touch(first, state_tensors, firn_fb_op_outputs_at(op, j), n);
    }
}

/* Whether a tensor has bytes of an arena to itself. */
static bool is_in_arena(firn_fb_tensor tensor) {
    return firn_semantics_memory(tensor) == FIRN_MEMORY_ARENA && firn_fb_tensor_base(tensor) == FIRN_ABSENT;
}

static int check_contents(firn_fb_plan plan, uint32_t *first_touches) {
    uint32_t state_tensors = firn_fb_plan_state_tensors(plan);
    find_first_touches(plan, first_touches);
    for (uint32_t i = state_tensors; i < firn_fb_plan_tensors_count(plan); i++) {
        if (!is_in_arena(firn_fb_plan_tensors_at(plan, i)))
            continue;
        if (!(firn_semantics_is_filled(plan, i) ? is_filled_in_time(plan, i)
                                                : is_born(plan, i, first_touches[i - state_tensors])))
            return FIRN_ERROR_OP_ORDER;
    }
    return FIRN_OK;
}

/* --- bytes that two tensors share ------------------------------------------------------------------------------- */

/* Whether the op that uses a last and b first works in place. b must be its output 0 and have the offset, size and
 * element type of a, so that no operand is read after its bytes were overwritten; and the op table must allow it for
 * every input that is a. */
static bool succeeds_in_place(firn_fb_plan plan, uint32_t a_index, uint32_t b_index) {
    firn_fb_tensor a = firn_fb_plan_tensors_at(plan, a_index), b = firn_fb_plan_tensors_at(plan, b_index);
    uint32_t n = firn_fb_tensor_last(a);
    uint8_t phase;
    firn_fb_op op;
    if (n != firn_fb_tensor_first(b) || !firn_semantics_op(plan, n, &op, &phase) ||
        firn_fb_tensor_type(a) != firn_fb_tensor_type(b) || firn_fb_tensor_offset(a) != firn_fb_tensor_offset(b) ||
        firn_semantics_bytes(a) != firn_semantics_bytes(b))
        return false;
    const firn_op_info *info = info_of(op);
    if (firn_fb_op_outputs_at(op, 0) != b_index)
        return false;
    bool reads = false;
    for (uint32_t i = 0; i < firn_fb_op_inputs_count(op); i++) {
        uint32_t input = firn_fb_op_inputs_at(op, i);
        if (firn_semantics_base(plan, input) != a_index)
            continue;
        if (input != a_index || !firn_op_reuses(info, i))
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

static uint64_t holder_begin(firn_fb_plan plan, const holders *h, uint32_t at) {
    return firn_fb_tensor_offset(firn_fb_plan_tensors_at(plan, h->tensors[at]));
}

static uint64_t holder_end(firn_fb_plan plan, const holders *h, uint32_t at) {
    firn_fb_tensor tensor = firn_fb_plan_tensors_at(plan, h->tensors[at]);
    return firn_fb_tensor_offset(tensor) + firn_semantics_bytes(tensor);
}

/* The first holder that ends after an offset; h->count if there is none. */
static uint32_t first_behind(firn_fb_plan plan, const holders *h, uint64_t offset) {
    uint32_t low = 0, high = h->count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (holder_begin(plan, h, middle) < offset)
            low = middle + 1;
        else
            high = middle;
    }
    return low > 0 && holder_end(plan, h, low - 1) > offset ? low - 1 : low;
}

/* Assigns a tensor its bytes at its first use. They may belong only to tensors whose last use has passed, or to the one
 * that its op replaces in place. Tensors are added in the order of their first use, so a tensor whose lifetime has
 * ended stays unused for all later ones. */
static bool takes_its_bytes(firn_fb_plan plan, holders *h, uint32_t index) {
    firn_fb_tensor tensor = firn_fb_plan_tensors_at(plan, index);
    uint64_t offset = firn_fb_tensor_offset(tensor), end = offset + firn_semantics_bytes(tensor);
    uint32_t first = first_behind(plan, h, offset), behind = first;
    for (; behind < h->count && holder_begin(plan, h, behind) < end; behind++) {
        uint32_t last = firn_fb_tensor_last(firn_fb_plan_tensors_at(plan, h->tensors[behind]));
        if (last >= firn_fb_tensor_first(tensor) && !succeeds_in_place(plan, h->tensors[behind], index))
            return false;
    }
    memmove(&h->tensors[first + 1], &h->tensors[behind], (h->count - behind) * sizeof *h->tensors);
    h->tensors[first] = index;
    h->count += 1 - (behind - first);
    return true;
}

static bool is_in_region(firn_fb_tensor tensor, uint32_t region) {
    return firn_fb_tensor_region(tensor) == region && firn_fb_tensor_base(tensor) == FIRN_ABSENT;
}

/* Whether a tensor of an arena exists before op 0, because the runtime fills it or because it is persistent. */
static bool is_there_at_first(firn_fb_plan plan, uint32_t index) {
    return firn_semantics_is_persistent(firn_fb_plan_tensors_at(plan, index)) || firn_semantics_is_filled(plan, index);
}

/* Whether op n is the first use of a tensor of an arena. check_contents has checked that this op writes it as one of
 * its outputs. */
static bool is_born_in(firn_fb_tensor tensor, uint32_t n) {
    return firn_fb_tensor_first(tensor) == n && !firn_semantics_is_persistent(tensor);
}

static bool outputs_take_their_bytes(firn_fb_plan plan, holders *h, firn_fb_op op, uint32_t n) {
    for (uint32_t j = 0; j < firn_fb_op_outputs_count(op); j++) {
        uint32_t index = firn_fb_op_outputs_at(op, j);
        firn_fb_tensor tensor = firn_fb_plan_tensors_at(plan, index);
        if (is_in_region(tensor, h->region) && is_born_in(tensor, n) && !takes_its_bytes(plan, h, index))
            return false;
    }
    return true;
}

/* Visits each tensor of an arena once, in the order of first use. `room` has an element for each tensor that is not
 * state. */
static int check_overlaps(firn_fb_plan plan, uint32_t region, uint32_t *room) {
    holders h = {.tensors = room, .region = region};
    for (uint32_t i = firn_fb_plan_state_tensors(plan); i < firn_fb_plan_tensors_count(plan); i++) {
        if (is_in_region(firn_fb_plan_tensors_at(plan, i), region) && is_there_at_first(plan, i) &&
            !takes_its_bytes(plan, &h, i))
            return FIRN_ERROR_OVERLAP;
    }
    uint8_t phase;
    firn_fb_op op;
    for (uint32_t n = 0; firn_semantics_op(plan, n, &op, &phase); n++) {
        if (!outputs_take_their_bytes(plan, &h, op, n))
            return FIRN_ERROR_OVERLAP;
    }
    return FIRN_OK;
}

int firn_semantics_flow(firn_fb_plan plan, const firn_header *header, uint32_t *scratch) {
    int error = check_accesses(plan);
    if (error == FIRN_OK)
        error = check_contents(plan, scratch);
    for (uint32_t r = 0; error == FIRN_OK && r < header->region_count; r++) {
        if (firn_region_is_arena(header->region_kinds[r]))
            error = check_overlaps(plan, r, scratch);
    }
    return error;
}
