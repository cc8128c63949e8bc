/* Rule 17 of FORMAT.md, each op by itself. After this check, a kernel that is called with the op's operands accesses
 * only these operands. The relations between ops are checked in semantics_flow.c. */
#include <string.h>

#include "plan/checks/semantics_lookup.h"
#include "plan/checks/semantics_parts.h"
#include "plan/errors.h"
#include "plan/shapes/infer.h"

/* --- operands and attributes ------------------------------------------------------------------------------------ */

static uint8_t role_at(firn_fb_plan plan, uint32_t tensor) {
    return firn_fb_tensor_role(firn_fb_plan_tensors_at(plan, tensor));
}

/* An input is a tensor that ops may read, or it is absent; the shape rules say which ones may be. */
static bool are_inputs(firn_fb_plan plan, firn_fb_op op) {
    for (uint32_t i = 0; i < firn_fb_op_inputs_count(op); i++) {
        uint32_t tensor = firn_fb_op_inputs_at(op, i);
        if (tensor == FIRN_ABSENT)
            continue;
        if (tensor >= firn_fb_plan_tensors_count(plan) || role_at(plan, tensor) == FIRN_FB_ROLE_SCRATCH ||
            role_at(plan, tensor) == FIRN_FB_ROLE_RING)
            return false;
    }
    return true;
}

/* The outputs in which an op works without leaving a result, and no others, have the role scratch. */
static bool are_outputs(firn_fb_plan plan, firn_fb_op op, const firn_op_info *info) {
    for (uint32_t j = 0; j < firn_fb_op_outputs_count(op); j++) {
        uint32_t tensor = firn_fb_op_outputs_at(op, j);
        if (tensor >= firn_fb_plan_tensors_count(plan) ||
            (role_at(plan, tensor) == FIRN_FB_ROLE_SCRATCH) != firn_op_output(info, j)->scratch)
            return false;
    }
    return true;
}

static void set_shape(firn_fb_plan plan, uint32_t tensor, firn_shape *shape) {
    *shape = (firn_shape){0};
    if (tensor != FIRN_ABSENT)
        *shape = firn_semantics_shape(firn_fb_plan_tensors_at(plan, tensor));
}

/* Fills in the signature that the shape rules take, with one shape for each operand. The counts have been compared with
 * the op table. */
static void describe(firn_fb_plan plan, firn_fb_op op, firn_op_signature *s, firn_shape *shapes) {
    s->code = firn_fb_op_code(op);
    s->input_count = (uint8_t)firn_fb_op_inputs_count(op);
    s->output_count = (uint8_t)firn_fb_op_outputs_count(op);
    s->integer_count = (uint8_t)firn_fb_op_integers_count(op);
    s->real_count = (uint8_t)firn_fb_op_reals_count(op);
    s->inputs = shapes;
    s->outputs = shapes + s->input_count;
    for (uint8_t i = 0; i < s->input_count; i++)
        set_shape(plan, firn_fb_op_inputs_at(op, i), &shapes[i]);
    for (uint8_t i = 0; i < s->output_count; i++) {
        set_shape(plan, FIRN_ABSENT, &s->outputs[i]);
        s->outputs[i].type = firn_fb_tensor_type(firn_fb_plan_tensors_at(plan, firn_fb_op_outputs_at(op, i)));
    }
    for (uint8_t i = 0; i < s->integer_count; i++)
        s->integers[i] = firn_fb_op_integers_at(op, i);
    for (uint8_t i = 0; i < s->real_count; i++)
        s->reals[i] = firn_fb_op_reals_at(op, i);
}

/* Compares the output shapes that the rule infers with those of the plan, dimension by dimension. */
static bool outputs_agree(firn_fb_plan plan, firn_fb_op op, const firn_op_signature *s) {
    for (uint8_t i = 0; i < s->output_count; i++) {
        firn_shape declared;
        set_shape(plan, firn_fb_op_outputs_at(op, i), &declared);
        if (declared.rank != s->outputs[i].rank ||
            memcmp(declared.dims, s->outputs[i].dims, declared.rank * sizeof declared.dims[0]) != 0)
            return false;
    }
    return true;
}

/* --- reductions ------------------------------------------------------------------------------------------------- */

static bool is_reduction(firn_fb_reduction reduction, uint8_t operand, uint8_t output) {
    if (reduction.output != output || (reduction.reserved_byte | reduction.reserved_low | reduction.reserved_high) != 0)
        return false;
    switch (reduction.kind) {
    case FIRN_FB_REDUCTION_KIND_F32:
        return reduction.accumulator == FIRN_FLOAT32 && reduction.chunk == 0;
    case FIRN_FB_REDUCTION_KIND_CHUNKED:
        return reduction.accumulator == operand && firn_type_is_half(operand) && reduction.chunk >= 1;
    case FIRN_FB_REDUCTION_KIND_EVEN_ODD_BLOCKS:
    case FIRN_FB_REDUCTION_KIND_PAIRS:
        return reduction.accumulator == FIRN_FLOAT32 && operand == FIRN_BFLOAT16 &&
               reduction.chunk == (reduction.kind == FIRN_FB_REDUCTION_KIND_PAIRS ? 2 : 32);
    default:
        return false;
    }
}

/* The operands of a product have the same type, which the op's rule has checked. The values of inner reductions, such
 * as attention scores, are not tensors of the plan; an attribute chooses the operands' type or float32 for them. The
 * other reductions produce output 0. */
static int check_reductions(firn_fb_op op, const firn_op_info *info, const firn_op_signature *s) {
    if (firn_fb_op_reductions_count(op) != info->reductions)
        return FIRN_ERROR_OP_REDUCTION;
    for (uint32_t i = 0; i < info->reductions; i++) {
        uint8_t operand = s->inputs[info->reduced].type, output = s->outputs[0].type;
        if (i < info->inner)
            output = s->integers[info->inner_flag] == 1 ? operand : (uint8_t)FIRN_FLOAT32;
        if (!is_reduction(firn_fb_op_reductions_at(op, i), operand, output))
            return FIRN_ERROR_OP_REDUCTION;
    }
    return FIRN_OK;
}

/* --- operands that are indices ---------------------------------------------------------------------------------- */

/* Indices are data, which cannot be checked here. They must therefore come directly from an input, because the runtime
 * checks every element that it reads against the input's limit. */
static int check_indices(firn_fb_plan plan, firn_fb_op op, const firn_op_info *info, const firn_op_signature *s) {
    if (info->index_operand == FIRN_NONE_OF_THEM)
        return FIRN_OK;
    int64_t rows;
    if (info->index_attribute != FIRN_NONE_OF_THEM) {
        rows = s->integers[info->index_attribute];
    } else {
        const firn_shape *table = &s->inputs[info->index_table];
        rows = table->dims[table->rank - info->index_from_end];
    }
    uint32_t indices = firn_semantics_base(plan, firn_fb_op_inputs_at(op, info->index_operand));
    uint32_t input = firn_semantics_input_of(plan, indices);
    if (input == firn_fb_plan_inputs_count(plan) ||
        (int64_t)firn_fb_input_limit(firn_fb_plan_inputs_at(plan, input)) > rows)
        return FIRN_ERROR_OP_OPERANDS;
    return FIRN_OK;
}

/* --- one op, every op ------------------------------------------------------------------------------------------- */

static int check_op(firn_fb_plan plan, firn_fb_op op, firn_shape *shapes) {
    const firn_op_info *info = firn_op_find(firn_fb_op_code(op));
    if (info == NULL)
        return FIRN_ERROR_OP_UNKNOWN;
    /* There may be fewer, where a row grew; the shape rules know how many. */
    if (firn_fb_op_inputs_count(op) > info->inputs_max || firn_fb_op_outputs_count(op) > info->outputs ||
        !are_inputs(plan, op) || !are_outputs(plan, op, info))
        return FIRN_ERROR_OP_OPERANDS;
    if (firn_fb_op_integers_count(op) > info->integers || firn_fb_op_reals_count(op) > info->reals)
        return FIRN_ERROR_OP_ATTRIBUTE;
    firn_op_signature signature;
    describe(plan, op, &signature, shapes);
    int error = firn_op_infer(&signature);
    if (error != FIRN_OK)
        return error;
    if (!outputs_agree(plan, op, &signature))
        return FIRN_ERROR_OP_SHAPE;
    error = check_reductions(op, info, &signature);
    return error == FIRN_OK ? check_indices(plan, op, info, &signature) : error;
}

int firn_semantics_ops(firn_fb_plan plan, firn_shape *scratch) {
    int error = FIRN_OK;
    uint8_t phase;
    firn_fb_op op;
    for (uint32_t n = 0; error == FIRN_OK && firn_semantics_op(plan, n, &op, &phase); n++)
        error = check_op(plan, op, scratch);
    return error;
}
