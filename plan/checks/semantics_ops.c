/* Rule 17 of FORMAT.md, each op by itself. After this check, a kernel that is called with the op's operands accesses
 * only these operands. The relations between ops are checked in semantics_flow.c. */
#include "plan/checks/semantics_lookup.h"
#include "plan/checks/semantics_parts.h"
#include "plan/errors.h"
#include "plan/shapes/infer.h"

/* --- operands and attributes ------------------------------------------------------------------------------------ */

static bool operands_exist(firn_fb_plan plan, firn_fb_op op) {
    uint32_t tensors = firn_fb_plan_tensors_count(plan);
    for (uint32_t i = 0; i < firn_fb_op_inputs_count(op); i++) {
        uint32_t tensor = firn_fb_op_inputs_at(op, i);
        if (tensor >= tensors && tensor != FIRN_ABSENT)
            return false;
    }
    for (uint32_t i = 0; i < firn_fb_op_outputs_count(op); i++) {
        if (firn_fb_op_outputs_at(op, i) >= tensors)
            return false;
    }
    return true;
}

static firn_shape shape_at(firn_fb_plan plan, uint32_t tensor) {
    return firn_semantics_shape(firn_fb_plan_tensors_at(plan, tensor));
}

/* The shape of an input; of rank 0 if the op does not have it. */
static firn_shape input_shape(firn_fb_plan plan, uint32_t tensor) {
    return tensor == FIRN_ABSENT ? (firn_shape){0} : shape_at(plan, tensor);
}

/* Fills in the signature that the shape rules take. The counts have been compared with the op table. */
static void describe(firn_fb_plan plan, firn_fb_op op, firn_op_signature *s, firn_shape *inputs, firn_shape *outputs) {
    *s = (firn_op_signature){.code = firn_fb_op_code(op),
                             .input_count = (uint8_t)firn_fb_op_inputs_count(op),
                             .output_count = (uint8_t)firn_fb_op_outputs_count(op),
                             .integer_count = (uint8_t)firn_fb_op_integers_count(op),
                             .real_count = (uint8_t)firn_fb_op_reals_count(op),
                             .inputs = inputs,
                             .outputs = outputs};
    for (uint8_t i = 0; i < s->input_count; i++)
        inputs[i] = input_shape(plan, firn_fb_op_inputs_at(op, i));
    for (uint8_t i = 0; i < s->output_count; i++)
        s->outputs[i].type = firn_fb_tensor_type(firn_fb_plan_tensors_at(plan, firn_fb_op_outputs_at(op, i)));
    for (uint8_t i = 0; i < s->integer_count; i++)
        s->integers[i] = firn_fb_op_integers_at(op, i);
    for (uint8_t i = 0; i < s->real_count; i++)
        s->reals[i] = firn_fb_op_reals_at(op, i);
}

/* Compares the output shapes that the rule infers with those of the plan, dimension by dimension. */
static bool outputs_agree(firn_fb_plan plan, firn_fb_op op, const firn_op_signature *s) {
    for (uint8_t i = 0; i < s->output_count; i++) {
        firn_shape declared = shape_at(plan, firn_fb_op_outputs_at(op, i));
        if (declared.rank != s->outputs[i].rank)
            return false;
        for (uint8_t d = 0; d < declared.rank; d++) {
            if (declared.dims[d] != s->outputs[i].dims[d])
                return false;
        }
    }
    return true;
}

/* --- reductions ------------------------------------------------------------------------------------------------- */

static bool is_positive_zero(float x) {
    uint32_t bits;
    __builtin_memcpy(&bits, &x, sizeof bits);
    return bits == 0;
}

static bool is_reduction(firn_fb_reduction reduction, uint8_t operand, uint8_t output) {
    if (reduction.output != output || reduction.reserved != 0 || reduction.chunk_origin != 0 ||
        !is_positive_zero(reduction.initial))
        return false;
    switch (reduction.kind) {
    case FIRN_FB_REDUCTION_KIND_F32:
        return reduction.accumulator == FIRN_FLOAT32 && reduction.chunk == 0;
    case FIRN_FB_REDUCTION_KIND_CHUNKED:
        return reduction.accumulator == operand && firn_type_is_half(operand) && reduction.chunk >= 1;
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
    uint32_t input = firn_semantics_input_of(plan, firn_fb_op_inputs_at(op, info->index_operand));
    if (input == firn_fb_plan_inputs_count(plan) ||
        (int64_t)firn_fb_input_limit(firn_fb_plan_inputs_at(plan, input)) > rows)
        return FIRN_ERROR_OP_OPERANDS;
    return FIRN_OK;
}

/* --- one op, every op ------------------------------------------------------------------------------------------- */

static int check_op(firn_fb_plan plan, firn_fb_op op) {
    const firn_op_info *info = firn_op_find(firn_fb_op_code(op));
    if (info == NULL)
        return FIRN_ERROR_OP_UNKNOWN;
    if (firn_fb_op_inputs_count(op) > info->inputs_max || firn_fb_op_outputs_count(op) > info->outputs ||
        !operands_exist(plan, op))
        return FIRN_ERROR_OP_OPERANDS;
    if (firn_fb_op_integers_count(op) > info->integers || firn_fb_op_reals_count(op) > info->reals ||
        (firn_fb_op_pol_present(op) && firn_fb_op_pol(op).level > 2))
        return FIRN_ERROR_OP_ATTRIBUTE;
    firn_shape inputs[FIRN_INPUTS_MAX], outputs[FIRN_OUTPUTS_MAX];
    firn_op_signature signature;
    describe(plan, op, &signature, inputs, outputs);
    int error = firn_op_infer(&signature);
    if (error != FIRN_OK)
        return error;
    if (!outputs_agree(plan, op, &signature))
        return FIRN_ERROR_OP_SHAPE;
    error = check_reductions(op, info, &signature);
    return error == FIRN_OK ? check_indices(plan, op, info, &signature) : error;
}

int firn_semantics_ops(firn_fb_plan plan) {
    for (uint32_t p = 0; p < firn_fb_plan_phases_count(plan); p++) {
        firn_fb_phase phase = firn_fb_plan_phases_at(plan, p);
        for (uint32_t i = 0; i < firn_fb_phase_ops_count(phase); i++) {
            int error = check_op(plan, firn_fb_phase_ops_at(phase, i));
            if (error != FIRN_OK)
                return error;
        }
    }
    return FIRN_OK;
}
