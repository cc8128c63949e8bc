/* Rule 17 of FORMAT.md, tensors that ops fill element by element. Reached only through firn_semantics_parts: a firmware
 * without such ops leaves it out. */
#include "plan/checks/semantics_lookup.h"
#include "plan/parts.h"

/* Ops that begin `partial`: plan/generate has checked that output 0 has one dimension, and that this integer attribute
 * is there, which is the index of the element that the op fills. */
enum { PARTIAL_INDEX = FIRN_SUM_OF_SQUARES_INDEX };
_Static_assert((int)PARTIAL_INDEX == 0, "plan/ops.def: integer attribute 0 is the index");

/* Ops in [begin, end), of which `at` is the next one to look at. */
typedef struct fillers {
    uint32_t begin, end, at;
} fillers;

/* Whether an op fills the element at `index`. The search begins behind the op that filled the element before, and so is
 * short where ops fill their elements in order. */
static bool has_partial(const firn_fb_plan_record *plan, fillers *f, uint32_t partial, int64_t index) {
    uint8_t phase;
    firn_fb_op_record op;
    for (uint32_t tried = f->begin; tried < f->end; tried++) {
        const uint32_t n = f->at;
        f->at = n + 1 < f->end ? n + 1 : f->begin;
        if (firn_semantics_read_op(plan, n, &op, &phase) && firn_semantics_fills_partial(&op, partial) &&
            op.integers[PARTIAL_INDEX] == index)
            return true;
    }
    return false;
}

/* Whether ops from `first` to before `end` fill every element. */
static bool is_filled(const firn_fb_plan_record *plan, uint32_t partial, uint32_t elements, uint32_t first,
                      uint32_t end) {
    fillers f = {.begin = first, .end = end, .at = first};
    bool filled = elements <= end - first;
    for (uint32_t i = 0; filled && i < elements; i++)
        filled = has_partial(plan, &f, partial, i);
    return filled;
}

/* The tensor may be read only by gathering ops, and only after every element has been filled. */
bool firn_semantics_is_gathered(const firn_fb_plan_record *plan, uint32_t partial, uint32_t elements, uint32_t first) {
    uint8_t phase;
    firn_fb_op_record op;
    for (uint32_t n = first; firn_semantics_read_op(plan, n, &op, &phase); n++) {
        if (!firn_semantics_reads(plan, &op, partial) || firn_semantics_fills_partial(&op, partial))
            continue;
        if (!firn_op_find((uint16_t)op.code)->gathers || !is_filled(plan, partial, elements, first, n))
            return false;
    }
    return true;
}
