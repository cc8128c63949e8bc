/* Finds the minor version that a plan needs: visits everything in it, as firn_fb_verify does, and looks for marks. The
 * buffer has been verified, so there are no checks here. */
#include "plan/needs.h"

#include <stddef.h>

#include "plan/generated/reader.h"
#include "plan/generated/since.h"
#include "plan/generated/tables.h"

_Static_assert((int)FIRN_FB_DEPTH <= (int)FIRN_NEEDS_DEPTH, "room for the tables of a plan");

/* A table that is being visited. */
typedef struct visit {
    const uint8_t *table;
    const uint8_t *element; /* the next element of the current vector of tables */
    uint32_t waiting;       /* the elements of this vector that have not been visited */
    uint16_t field;         /* the next field */
    uint8_t type;           /* row of the schema's tables */
    uint8_t child;          /* the row of the vector's elements */
} visit;

typedef struct search {
    const firn_marked_schema *schema;
    uint32_t needs; /* the highest since so far */
    uint32_t depth;
    visit stack[FIRN_NEEDS_DEPTH];
} search;

/* What of a field is compared with the marks. */
typedef struct found {
    uint32_t row;          /* of the schema's fields */
    uint32_t length;       /* elements of a vector or bytes of a string; else 0 */
    const uint8_t *values; /* the scalar or struct, or the first of a vector; else NULL */
    uint32_t count, step;  /* their number, and the bytes from one to the next */
} found;

static bool any_value_above(const found *field, const firn_since_mark *mark) {
    for (uint32_t i = 0; i < field->count; i++) {
        const uint8_t *at = field->values + ((size_t)i * field->step + mark->offset);
        uint64_t value = 0;
        for (uint32_t byte = 0; byte < mark->bytes; byte++)
            value |= (uint64_t)at[byte] << (8 * byte);
        if (value > mark->above)
            return true;
    }
    return false;
}

static void compare(search *s, const found *field) {
    for (const firn_since_mark *mark = s->schema->marks; mark->since != 0; mark++)
        if (mark->field == field->row && mark->since > s->needs &&
            (mark->kind == FIRN_SINCE_FIELD || (mark->kind == FIRN_SINCE_LIMIT && field->length > mark->above) ||
             (mark->kind == FIRN_SINCE_VALUE && any_value_above(field, mark))))
            s->needs = mark->since;
}

/* Puts the table that an offset leads to on the stack. */
static void enter(search *s, const uint8_t *offset, uint8_t type) {
    s->stack[s->depth++] = (visit){.table = firn_fb_follow(offset), .type = type};
}

/* Describes a field that lies at `at` in the table on top of the stack, and notes the tables it leads to. */
static void read_field(search *s, const firn_fb_field_rule *rule, const uint8_t *at, found *field) {
    visit *top = &s->stack[s->depth - 1];
    switch (rule->kind) {
    case FIRN_FB_KIND_INLINE:
        field->values = at;
        field->count = 1;
        break;
    case FIRN_FB_KIND_TABLE:
        enter(s, at, rule->type);
        break;
    case FIRN_FB_KIND_STRING:
        field->length = firn_fb_load_uint32(firn_fb_follow(at));
        break;
    case FIRN_FB_KIND_INLINE_VECTOR:
        field->length = field->count = firn_fb_load_uint32(firn_fb_follow(at));
        field->values = firn_fb_follow(at) + 4;
        field->step = s->schema->inlines[rule->type].bytes;
        break;
    default: /* a vector of tables, which are visited one after the other before the next field */
        field->length = top->waiting = firn_fb_load_uint32(firn_fb_follow(at));
        top->element = firn_fb_follow(at) + 4;
        top->child = rule->type;
    }
}

/* Visits the next field of the table on top of the stack. A table that only has room for a field counts as having it,
 * because a runtime that does not know the field refuses the room. */
static void visit_field(search *s) {
    visit *top = &s->stack[s->depth - 1];
    const firn_fb_table_rule *table = &s->schema->tables[top->type];
    uint32_t slot = 4 + 2 * (uint32_t)top->field;
    if (slot >= firn_fb_load_uint16(top->table - firn_fb_load_int32(top->table))) {
        top->field = table->field_count; /* there is no room for the fields behind it either */
        return;
    }
    found field = {.row = table->first_field + (uint32_t)top->field++};
    const uint8_t *at = firn_fb_slot(top->table, slot);
    if (at != NULL)
        read_field(s, &s->schema->fields[field.row], at, &field);
    compare(s, &field);
}

uint32_t firn_schema_needs(const uint8_t *flatbuffers, const firn_marked_schema *schema) {
    search s = {.schema = schema};
    enter(&s, flatbuffers, schema->root);
    while (s.depth != 0) {
        visit *top = &s.stack[s.depth - 1];
        if (top->waiting != 0) {
            top->waiting--;
            top->element += 4;
            enter(&s, top->element - 4, top->child);
        } else if (top->field == schema->tables[top->type].field_count) {
            s.depth--;
        } else {
            visit_field(&s);
        }
    }
    return s.needs;
}

/* In minor version 1 the rule was relaxed that no op may write a view, flushed sums got their meaning, and products
 * learned to round a weight as they read it. In minor version 3 an ignored label need no longer be a class. */
enum {
    VIEWS_MAY_BE_WRITTEN = 1,
    SUMS_MAY_BE_FLUSHED = 1,
    WEIGHTS_MAY_BE_ROUNDED = 1,
    IGNORED_LABELS_MAY_BE_NO_CLASS = 3
};

static bool writes_view(firn_fb_plan plan, firn_fb_op op) {
    for (uint32_t j = 0; j < firn_fb_op_outputs_count(op); j++)
        if (firn_fb_tensor_base(firn_fb_plan_tensors_at(plan, firn_fb_op_outputs_at(op, j))) != FIRN_ABSENT)
            return true;
    return false;
}

static bool has_flushed_sum(firn_fb_op op) {
    for (uint32_t i = 0; i < firn_fb_op_reductions_count(op); i++)
        if (firn_reduction_is_flushed(firn_fb_op_reductions_at(op, i).kind))
            return true;
    return false;
}

/* An input may be absent where the op needs it, because the meaning of the plan has not been checked. */
static uint8_t type_of_input(firn_fb_plan plan, firn_fb_op op, uint32_t i) {
    const uint32_t tensor = firn_fb_op_inputs_at(op, i);
    return tensor < firn_fb_plan_tensors_count(plan) ? firn_fb_tensor_type(firn_fb_plan_tensors_at(plan, tensor))
                                                     : (uint8_t)FIRN_FLOAT32;
}

/* Whether an input is float32 in place of the type of another one. No input that may be so is optional, nor is the
 * other. */
static bool rounds_input(firn_fb_plan plan, firn_fb_op op, const firn_op_info *info) {
    for (uint32_t i = 0; i < info->inputs && i < firn_fb_op_inputs_count(op); i++) {
        const firn_operand *operand = firn_op_input(info, i);
        if (operand->rounded &&
            type_of_input(plan, op, i) != type_of_input(plan, op, (uint32_t)operand->type - FIRN_TYPE_OF_INPUT))
            return true;
    }
    return false;
}

uint8_t firn_op_ignore_index(uint16_t code) {
    switch (code) {
    case FIRN_OP_cross_entropy_weighted:
        return FIRN_CROSS_ENTROPY_WEIGHTED_IGNORE_INDEX;
    case FIRN_OP_cross_entropy_weighted_backward:
        return FIRN_CROSS_ENTROPY_WEIGHTED_BACKWARD_IGNORE_INDEX;
    case FIRN_OP_linear_cross_entropy:
        return FIRN_LINEAR_CROSS_ENTROPY_IGNORE_INDEX;
    case FIRN_OP_metric_weighted_accuracy:
        return FIRN_METRIC_WEIGHTED_ACCURACY_IGNORE_INDEX;
    case FIRN_OP_metric_confusion:
        return FIRN_METRIC_CONFUSION_IGNORE_INDEX;
    default:
        return FIRN_NONE_OF_THEM;
    }
}

/* The number of classes of such an op: an attribute, or an extent of its logits. UINT32_MAX if a plan whose meaning has
 * not been checked gives neither. */
static int64_t classes_of(firn_fb_plan plan, firn_fb_op op, const firn_op_info *info) {
    if (info->index_attribute != FIRN_NONE_OF_THEM)
        return info->index_attribute < firn_fb_op_integers_count(op) ? firn_fb_op_integers_at(op, info->index_attribute)
                                                                     : UINT32_MAX;
    const uint32_t tensor =
        info->index_table < firn_fb_op_inputs_count(op) ? firn_fb_op_inputs_at(op, info->index_table) : FIRN_ABSENT;
    if (tensor >= firn_fb_plan_tensors_count(plan))
        return UINT32_MAX;
    const firn_fb_tensor logits = firn_fb_plan_tensors_at(plan, tensor);
    const uint32_t rank = firn_fb_tensor_dims_count(logits);
    return rank < info->index_from_end ? UINT32_MAX : firn_fb_tensor_dims_at(logits, rank - info->index_from_end);
}

static bool ignores_no_class(firn_fb_plan plan, firn_fb_op op, const firn_op_info *info) {
    const uint8_t position = firn_op_ignore_index(firn_fb_op_code(op));
    return position < firn_fb_op_integers_count(op) &&
           firn_fb_op_integers_at(op, position) >= classes_of(plan, op, info);
}

/* The highest since of the ops. An op that ops.def does not have is refused elsewhere. */
static uint32_t ops_need(firn_fb_plan plan) {
    uint32_t needs = 0;
    for (uint32_t i = 0; i < firn_fb_plan_phases_count(plan); i++) {
        firn_fb_phase phase = firn_fb_plan_phases_at(plan, i);
        for (uint32_t j = 0; j < firn_fb_phase_ops_count(phase); j++) {
            firn_fb_op op = firn_fb_phase_ops_at(phase, j);
            const firn_op_info *info = firn_op_find(firn_fb_op_code(op));
            uint32_t since = info == NULL
                                 ? 0
                                 : firn_op_since(info, firn_fb_op_inputs_count(op), firn_fb_op_outputs_count(op),
                                                 firn_fb_op_integers_count(op), firn_fb_op_reals_count(op));
            needs = since > needs ? since : needs;
            if (needs < VIEWS_MAY_BE_WRITTEN && writes_view(plan, op))
                needs = VIEWS_MAY_BE_WRITTEN;
            if (needs < SUMS_MAY_BE_FLUSHED && has_flushed_sum(op))
                needs = SUMS_MAY_BE_FLUSHED;
            if (needs < WEIGHTS_MAY_BE_ROUNDED && info != NULL && rounds_input(plan, op, info))
                needs = WEIGHTS_MAY_BE_ROUNDED;
            if (needs < IGNORED_LABELS_MAY_BE_NO_CLASS && info != NULL && ignores_no_class(plan, op, info))
                needs = IGNORED_LABELS_MAY_BE_NO_CLASS;
        }
    }
    return needs;
}

uint32_t firn_needs_minor(const uint8_t *flatbuffers) {
    static const firn_marked_schema schema = {.tables = firn_fb_tables,
                                              .fields = firn_fb_fields,
                                              .inlines = firn_fb_inlines,
                                              .marks = firn_since_marks,
                                              .root = FIRN_FB_ROOT};
    uint32_t needs = firn_schema_needs(flatbuffers, &schema), ops = ops_need(firn_fb_plan_root(flatbuffers));
    return ops > needs ? ops : needs;
}
