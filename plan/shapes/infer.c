/* Checks an op against its row of plan/ops.def: counts, ranges of attributes, types and extents of operands. Single ops
 * may not be treated specially here; what the columns cannot express belongs in the rule that the row names.
 * Freestanding. */
#include "plan/shapes/infer.h"

#include <stddef.h>

#include "plan/shapes/shape_rules.h"

/* --- attributes ------------------------------------------------------------------------------------------------- */

static bool integer_is_in_range(int64_t value, uint8_t range) {
    switch ((firn_range)range) {
    case FIRN_RANGE_FLAG:
        return value == 0 || value == 1;
    case FIRN_RANGE_TYPE:
        return value == FIRN_FLOAT32 || value == FIRN_FLOAT16 || value == FIRN_BFLOAT16 || value == FIRN_CBFLOAT16;
    case FIRN_RANGE_EXTENT:
        return is_word(value, 1);
    case FIRN_RANGE_COUNT:
        return value >= 1;
    case FIRN_RANGE_INT31:
        return value >= 1 && value <= INT32_MAX;
    case FIRN_RANGE_LABEL:
        return value >= -1 && value <= INT32_MAX;
    case FIRN_RANGE_RNG_ID:
        return value >= 0 && value < (int64_t)FIRN_RNG_ID_END;
    default: /* checked by the op's own rule, as both parts of a pair are */
        return true;
    }
}

/* brought: the inputs include factors that hold the weight decay of the step. */
static bool real_is_in_range(float value, uint8_t range, bool brought) {
    switch ((firn_range)range) {
    case FIRN_RANGE_RATE: /* a dropout rate or a beta of Adam; NaN fails */
        return value >= 0.0f && value < 1.0f;
    case FIRN_RANGE_POSITIVE:
        return is_positive(value);
    case FIRN_RANGE_NOT_NEGATIVE:
        return is_not_negative(value);
    case FIRN_RANGE_FINITE:
        return is_finite(value);
    case FIRN_RANGE_DECAY:
        return brought ? value == 0.0f : is_not_negative(value);
    default:
        return true;
    }
}

static bool attributes_are_in_range(const firn_op_signature *s, const firn_op_info *info) {
    const uint8_t *ranges = info->ranges;
    const bool brought =
        has_input(s, info->factors) && is_vector(&s->inputs[info->factors], FIRN_FLOAT32, FIRN_FACTORS_AND_DECAY);
    for (uint8_t i = 0; i < info->integers; i++) {
        if (!integer_is_in_range(s->integers[i], ranges[i]))
            return false;
    }
    for (uint8_t i = 0; i < info->reals; i++) {
        if (!real_is_in_range(s->reals[i], ranges[info->integers + i], brought))
            return false;
    }
    return true;
}

/* --- types and extents ------------------------------------------------------------------------------------------ */

static bool type_fits(uint8_t type, const firn_operand *operand, const firn_op_signature *s) {
    if (operand->type >= FIRN_TYPE_OF_INPUT)
        return type == s->inputs[operand->type - FIRN_TYPE_OF_INPUT].type || (operand->rounded && type == FIRN_FLOAT32);
    if (operand->type == FIRN_TYPE_REAL)
        return type == FIRN_FLOAT32 || firn_type_is_half(type);
    return operand->type == FIRN_TYPE_OWN || type == operand->type;
}

/* The values of a row's letters, taken from the extents of the inputs; 0 for a letter that has no value yet. */
typedef struct letters {
    uint64_t leading;
    uint32_t values[FIRN_LETTERS];
    const firn_shape *rows; /* the first input of this form that is always there */
} letters;

static bool agrees(uint64_t *value, uint64_t elements) {
    if (*value == 0)
        *value = elements;
    return *value == elements;
}

static bool extent_fits(letters *l, uint8_t wanted, uint32_t extent) {
    if (wanted < FIRN_EXTENT_LETTER)
        return extent == wanted;
    uint32_t *value = &l->values[wanted - FIRN_EXTENT_LETTER];
    if (*value == 0)
        *value = extent;
    return *value == extent;
}

static bool input_fits(const firn_op_signature *s, const firn_shape *input, const firn_operand *operand, letters *l) {
    const uint32_t last = input->rank - 1u;
    switch (operand->form) {
    case FIRN_FORM_LIKE:
        return same_extents(input, &s->inputs[operand->a]);
    case FIRN_FORM_ROWS:
        if (l->rows == NULL && !operand->optional)
            l->rows = input;
        return last != 0 && agrees(&l->leading, leading_elements(input)) &&
               extent_fits(l, operand->a, input->dims[last]);
    case FIRN_FORM_ROW_VALUES:
        return agrees(&l->leading, all_elements(input));
    case FIRN_FORM_VECTOR:
        return last == 0 &&
               (extent_fits(l, operand->a, input->dims[0]) || (operand->b != 0 && input->dims[0] == operand->b));
    case FIRN_FORM_MATRIX:
        return last == 1 && extent_fits(l, operand->a, input->dims[0]) && extent_fits(l, operand->b, input->dims[1]);
    default: /* any extents, or checked by the op's own rule */
        return true;
    }
}

static bool inputs_fit(const firn_op_signature *s, const firn_op_info *info, letters *l) {
    for (uint8_t i = 0; i < s->input_count; i++) {
        const firn_operand *operand = firn_op_input(info, i);
        if (s->inputs[i].rank == 0)
            continue;
        if (!type_fits(s->inputs[i].type, operand, s) || !input_fits(s, &s->inputs[i], operand, l))
            return false;
    }
    return true;
}

static uint32_t extent_of(const letters *l, uint8_t wanted) {
    return wanted < FIRN_EXTENT_LETTER ? wanted : l->values[wanted - FIRN_EXTENT_LETTER];
}

static void set_output(firn_op_signature *s, firn_shape *output, const firn_operand *operand, const letters *l) {
    const uint32_t extents[] = {extent_of(l, operand->a), extent_of(l, operand->b)};
    switch (operand->form) {
    case FIRN_FORM_LIKE:
        set_like(output, &s->inputs[operand->a]);
        break;
    case FIRN_FORM_ROWS:
        set_last(output, l->rows, extents[0]);
        break;
    case FIRN_FORM_ROW_VALUES:
        set_leading(output, l->rows);
        break;
    case FIRN_FORM_VECTOR:
        firn_shape_set(output, 1, extents);
        break;
    case FIRN_FORM_MATRIX:
        firn_shape_set(output, 2, extents);
        break;
    case FIRN_FORM_SUMS:
        set_sums(output, &s->inputs[operand->a]);
        break;
    default: /* filled by the op's own rule */
        break;
    }
}

static bool set_outputs(firn_op_signature *s, const firn_op_info *info, const letters *l) {
    for (uint8_t i = 0; i < s->output_count; i++) {
        const firn_operand *operand = firn_op_output(info, i);
        if (!type_fits(s->outputs[i].type, operand, s))
            return false;
        set_output(s, &s->outputs[i], operand, l);
    }
    return true;
}

/* Whether shapes are valid: a known type, extents in range, and a size that does not overflow. `absent`: one may be of
 * rank 0. */
static bool are_whole(const firn_shape *shapes, uint32_t count, bool absent) {
    uint64_t bytes;
    for (uint32_t i = 0; i < count; i++) {
        if (!(absent && shapes[i].rank == 0) && !firn_shape_bytes(&shapes[i], &bytes))
            return false;
    }
    return true;
}

/* Whether every input that is absent may be, and the list does not end with one, so that the same op has one form. */
static bool absent_inputs_may_be(const firn_op_signature *s, const firn_op_info *info) {
    for (uint8_t i = 0; i < s->input_count; i++) {
        if (s->inputs[i].rank == 0 && (!firn_op_input(info, i)->optional || i + 1 == s->input_count))
            return false;
    }
    return true;
}

/* Whether the counts of attributes are those of a plan, which leaves out the last ones while they have their defaults.
 * Fills in what is left out. */
static bool attributes_are_given(firn_op_signature *s, const firn_op_info *info) {
    const uint32_t integers = s->integer_count, reals = s->real_count;
    if (integers < info->integers_min || integers > info->integers || reals < info->reals_min || reals > info->reals ||
        (integers > info->integers_min &&
         firn_op_integer_is_default(s->code, integers - 1, s->integers[integers - 1])) ||
        (reals > info->reals_min && firn_op_real_is_default(s->code, reals - 1, s->reals[reals - 1])))
        return false;
    return firn_op_fill_integers(s->code, integers, s->integers) == info->integers &&
           firn_op_fill_reals(s->code, reals, s->reals) == info->reals;
}

int firn_op_infer(firn_op_signature *signature) {
    const firn_op_part *part = firn_op_part_find(signature->code);
    letters found = {0};
    signature->ignored_labels = 0;
    if (part == NULL)
        return FIRN_ERROR_OP_UNKNOWN;
    const firn_op_info *info = part->row;
    if (signature->input_count < info->inputs_min || signature->input_count > info->inputs_max ||
        signature->output_count < info->outputs_min || signature->output_count > info->outputs ||
        !absent_inputs_may_be(signature, info))
        return FIRN_ERROR_OP_OPERANDS;
    if (!attributes_are_given(signature, info))
        return FIRN_ERROR_OP_ATTRIBUTE;
    if (!are_whole(signature->inputs, signature->input_count, true))
        return FIRN_ERROR_OP_SHAPE;
    if (!attributes_are_in_range(signature, info))
        return FIRN_ERROR_OP_ATTRIBUTE;
    if (!inputs_fit(signature, info, &found) || !set_outputs(signature, info, &found))
        return FIRN_ERROR_OP_SHAPE;
    int error = part->rule(signature);
    if (error != FIRN_OK)
        return error;
    return are_whole(signature->outputs, signature->output_count, false) ? FIRN_OK : FIRN_ERROR_OP_SHAPE;
}
