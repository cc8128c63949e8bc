/* Rule 17 of FORMAT.md, tensors that ops fill element by element. Reached only through firn_semantics_parts: a firmware
 * without such ops leaves it out. */
#include "plan/checks/semantics_lookup.h"
#include "plan/parts.h"

/* Ops that begin `partial`: plan/generate has checked that output 0 has one dimension, and that this integer attribute
 * is there, which is the index of the element that the op fills. */
enum { PARTIAL_INDEX = FIRN_SUM_OF_SQUARES_INDEX };
_Static_assert((int)PARTIAL_INDEX == 0, "plan/ops.def: integer attribute 0 is the index");

/* Whether an op in [begin, end) fills the element at `index`. */
static bool has_partial(const firn_fb_plan_record *plan, uint32_t partial, uint32_t begin, uint32_t end,
                        int64_t index) {
    uint8_t phase;
    firn_fb_op_record op;
    for (uint32_t n = begin; n < end; n++) {
        if (firn_semantics_read_op(plan, n, &op, &phase) && firn_semantics_fills_partial(&op, partial) &&
            op.integers[PARTIAL_INDEX] == index)
            return true;
    }
    return false;
}

/* The tensor may be read only by gathering ops, and only after every element has been filled. */
bool firn_semantics_is_gathered(const firn_fb_plan_record *plan, uint32_t partial, uint32_t elements, uint32_t first) {
    uint8_t phase;
    firn_fb_op_record op;
    for (uint32_t n = first; firn_semantics_read_op(plan, n, &op, &phase); n++) {
        if (!firn_semantics_reads(plan, &op, partial) || firn_semantics_fills_partial(&op, partial))
            continue;
        if (!firn_op_find((uint16_t)op.code)->gathers || elements > n - first)
            return false;
        for (uint32_t i = 0; i < elements; i++) {
            if (!has_partial(plan, partial, first, n, i))
                return false;
        }
    }
    return true;
}
