/* Rule 17 of FORMAT.md, each op by itself. After this check, a kernel that is called with the op's operands accesses
 * only these operands. The relations between ops are checked in semantics_flow.c. */
#include <string.h>

#include "plan/checks/semantics_lookup.h"
#include "plan/checks/semantics_parts.h"
#include "plan/errors.h"
#include "plan/shapes/infer.h"

/* --- operands and attributes ------------------------------------------------------------------------------------ */

static uint8_t role_at(const firn_fb_plan_record *plan, uint32_t tensor) {
    return firn_fb_tensor_role(firn_fb_plan_tensors_at(plan->table, tensor));
}

/* An input is a tensor that ops may read, or it is absent; the shape rules say which ones may be. The outputs in which
 * an op works without leaving a result, and no others, have the role scratch. */
static bool are_operands(const firn_fb_plan_record *plan, const firn_fb_op_record *op, const firn_op_info *info) {
    for (uint32_t i = 0; i < op->inputs_count; i++) {
        const uint32_t tensor = op->inputs[i];
        if (tensor == FIRN_ABSENT)
            continue;
        if (tensor >= plan->tensors_count || role_at(plan, tensor) == FIRN_FB_ROLE_SCRATCH ||
            role_at(plan, tensor) == FIRN_FB_ROLE_RING)
            return false;
    }
    for (uint32_t j = 0; j < op->outputs_count; j++) {
        const uint32_t tensor = op->outputs[j];
        if (tensor >= plan->tensors_count ||
            (role_at(plan, tensor) == FIRN_FB_ROLE_SCRATCH) != firn_op_output(info, j)->scratch)
            return false;
    }
    return true;
}

/* Not inlined: its record is off the stack when a shape rule runs. */
static __attribute__((noinline)) void set_shape(const firn_fb_plan_record *plan, uint32_t index, firn_shape *shape) {
    firn_fb_tensor_record tensor;
    firn_semantics_tensor(plan, index, &tensor);
    firn_semantics_shape(&tensor, shape);
}

/* Fills in the signature that the shape rules take, with one shape for each operand. The counts have been compared with
 * the op table. */
static void describe(const firn_fb_plan_record *plan, const firn_fb_op_record *op, firn_op_signature *s,
                     firn_shape *shapes) {
    s->code = (uint16_t)op->code;
    s->input_count = (uint8_t)op->inputs_count;
    s->output_count = (uint8_t)op->outputs_count;
    s->integer_count = (uint8_t)op->integers_count;
    s->real_count = (uint8_t)op->reals_count;
    s->inputs = shapes;
    s->outputs = shapes + s->input_count;
    for (uint32_t i = 0; i < op->inputs_count; i++) {
        if (op->inputs[i] == FIRN_ABSENT)
            memset(&shapes[i], 0, sizeof shapes[i]);
        else
            set_shape(plan, op->inputs[i], &shapes[i]);
    }
    for (uint32_t j = 0; j < op->outputs_count; j++) {
        memset(&s->outputs[j], 0, sizeof s->outputs[j]);
        s->outputs[j].type = firn_fb_tensor_type(firn_fb_plan_tensors_at(plan->table, op->outputs[j]));
    }
    if (op->integers_count != 0)
        memcpy(s->integers, op->integers, op->integers_count * sizeof s->integers[0]);
    if (op->reals_count != 0)
        memcpy(s->reals, op->reals, op->reals_count * sizeof s->reals[0]);
}

/* Compares the output shapes that the rule infers with those of the plan, dimension by dimension. */
static bool outputs_agree(const firn_fb_plan_record *plan, const firn_fb_op_record *op, const firn_op_signature *s) {
    firn_shape declared;
    for (uint32_t j = 0; j < op->outputs_count; j++) {
        set_shape(plan, op->outputs[j], &declared);
        if (declared.rank != s->outputs[j].rank ||
            memcmp(declared.dims, s->outputs[j].dims, declared.rank * sizeof declared.dims[0]) != 0)
            return false;
    }
    return true;
}

/* --- reductions ------------------------------------------------------------------------------------------------- */

static bool is_reduction(const firn_fb_reduction *reduction, uint8_t operand, uint8_t output) {
    if (reduction->output != output ||
        (reduction->reserved_byte | reduction->reserved_low | reduction->reserved_high) != 0)
        return false;
    switch (reduction->kind) {
    case FIRN_FB_REDUCTION_KIND_F32:
        return reduction->accumulator == FIRN_FLOAT32 && reduction->chunk == 0;
    case FIRN_FB_REDUCTION_KIND_CHUNKED:
        return reduction->accumulator == operand && firn_type_is_half(operand) && reduction->chunk >= 1;
    case FIRN_FB_REDUCTION_KIND_EVEN_ODD_BLOCKS:
    case FIRN_FB_REDUCTION_KIND_PAIRS:
        return reduction->accumulator == FIRN_FLOAT32 && operand == FIRN_BFLOAT16 &&
               reduction->chunk == (reduction->kind == FIRN_FB_REDUCTION_KIND_PAIRS ? 2 : 32);
    default:
        return false;
    }
}

/* The operands of a product have the same type, which the op's rule has checked. The values of inner reductions, such
 * as attention scores, are not output 0; an attribute chooses the operands' type or float32 for them. The
 * other reductions produce output 0. */
static bool are_reductions(const firn_fb_op_record *op, const firn_op_info *info, const firn_op_signature *s) {
    bool good = op->reductions_count == info->reductions;
    for (uint32_t i = 0; good && i < info->reductions; i++) {
        const uint8_t operand = s->inputs[info->reduced].type;
        uint8_t output = s->outputs[0].type;
        if (i < info->inner)
            output = s->integers[info->inner_flag] == 1 ? operand : (uint8_t)FIRN_FLOAT32;
        good = is_reduction(&op->reductions[i], operand, output);
    }
    return good;
}

/* --- operands that are indices ---------------------------------------------------------------------------------- */

/* Indices are data, which cannot be checked here. They must therefore come directly from an input, because the runtime
 * checks every element that it reads against the input's limit. A kernel reads nothing at a label that it ignores, so
 * the label behind the last class may occur if the op ignores it. */
static bool are_indices(const firn_fb_plan_record *plan, const firn_fb_op_record *op, const firn_op_info *info,
                        const firn_op_signature *s) {
    if (info->index_operand == FIRN_NONE_OF_THEM)
        return true;
    int64_t rows;
    if (info->index_attribute != FIRN_NONE_OF_THEM) {
        rows = s->integers[info->index_attribute];
    } else {
        const firn_shape *table = &s->inputs[info->index_table];
        rows = table->dims[table->rank - info->index_from_end];
    }
    const uint32_t indices = firn_semantics_base(plan, op->inputs[info->index_operand]);
    const uint32_t input = firn_semantics_input_of(plan, indices);
    return input < plan->inputs_count &&
           (int64_t)(firn_fb_input_limit(firn_fb_plan_inputs_at(plan->table, input)) - s->ignored_labels) <= rows;
}

/* --- one op, every op ------------------------------------------------------------------------------------------- */

static int check_op(const firn_fb_plan_record *plan, const firn_fb_op_record *op, firn_shape *shapes) {
    const firn_op_info *info = firn_op_find((uint16_t)op->code);
    if (info == NULL)
        return FIRN_ERROR_OP_UNKNOWN;
    /* There may be fewer, where a row grew; the shape rules know how many. */
    if (op->inputs_count > info->inputs_max || op->outputs_count > info->outputs || !are_operands(plan, op, info))
        return FIRN_ERROR_OP_OPERANDS;
    if (op->integers_count > info->integers || op->reals_count > info->reals)
        return FIRN_ERROR_OP_ATTRIBUTE;
    firn_op_signature signature;
    describe(plan, op, &signature, shapes);
    int error = firn_op_infer(&signature);
    if (error != FIRN_OK)
        return error;
    if (!outputs_agree(plan, op, &signature))
        return FIRN_ERROR_OP_SHAPE;
    if (!are_reductions(op, info, &signature))
        return FIRN_ERROR_OP_REDUCTION;
    return are_indices(plan, op, info, &signature) ? FIRN_OK : FIRN_ERROR_OP_OPERANDS;
}

int firn_semantics_ops(const firn_fb_plan_record *plan, firn_shape *scratch) {
    int error = FIRN_OK;
    uint8_t phase;
    firn_fb_op_record op;
    for (uint32_t n = 0; error == FIRN_OK && firn_semantics_read_op(plan, n, &op, &phase); n++)
        error = check_op(plan, &op, scratch);
    return error;
}
