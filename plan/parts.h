/* The parts of plan/ that a firmware may leave out, as tables. The library has files with the full tables
 * (plan/shapes/op_parts.c). A firmware that defines the same tables with less (firnc export PLAN --c) is linked with
 * what these name and nothing else; a plan that needs more is refused when it is opened. Freestanding. */
#ifndef FIRN_PLAN_PARTS_H
#define FIRN_PLAN_PARTS_H

#include "plan/generated/reader.h"
#include "plan/ops.h"

/* The row of each op of plan/ops.def (plan/generated/op_table.c), and the rule that checks what the columns cannot say
 * (plan/shapes). */
#define FIRN_OP(name, code, rule, ...)                                                                                 \
    extern const firn_op_info firn_op_row_##name;                                                                      \
    int firn_shape_##rule(firn_op_signature *signature);
#include "plan/ops.def"
#undef FIRN_OP

typedef struct firn_op_part {
    const firn_op_info *row;
    int (*rule)(firn_op_signature *signature);
} firn_op_part;

/* The ops that this build knows. A sealed build does not read this table. */
extern const firn_op_part firn_op_parts[];
extern const uint16_t firn_op_part_count;

/* The semantic rules that only some plans need (plan/checks). NULL: this build has none, and refuses plans that need
 * them. */
typedef struct firn_rule_parts {
    int (*metric)(const firn_fb_plan_record *plan, uint32_t i);
    bool (*output)(const firn_fb_plan_record *plan, uint32_t i);
    /* All rings of the inputs, whose other fields have been checked. */
    bool (*rings)(const firn_fb_plan_record *plan, const firn_fb_sampler_record *sampler);
    /* A tensor that ops fill element by element, starting with op `first`. */
    bool (*gathered)(const firn_fb_plan_record *plan, uint32_t partial, uint32_t elements, uint32_t first);
    /* The losses of a plan with the phase count: each divisor is found there, and the plan's loss has one. */
    bool (*batch)(const firn_fb_plan_record *plan);
    /* The ops of a plan whose micro-batches are added as a tree, and that no other plan has the op that adds them.
     * first_touches: the first op that uses each tensor which is not state. */
    bool (*tree)(const firn_fb_plan_record *plan, const uint32_t *first_touches);
} firn_rule_parts;
extern const firn_rule_parts firn_semantics_parts;

int firn_semantics_check_metric(const firn_fb_plan_record *plan, uint32_t i);
bool firn_semantics_is_output(const firn_fb_plan_record *plan, uint32_t i);
bool firn_semantics_are_rings(const firn_fb_plan_record *plan, const firn_fb_sampler_record *sampler);
bool firn_semantics_is_gathered(const firn_fb_plan_record *plan, uint32_t partial, uint32_t elements, uint32_t first);
bool firn_semantics_counts_batch(const firn_fb_plan_record *plan);
bool firn_semantics_is_tree(const firn_fb_plan_record *plan, const uint32_t *first_touches);

/* The part of an op, or NULL. */
const firn_op_part *firn_op_part_find(uint16_t code);

#endif
