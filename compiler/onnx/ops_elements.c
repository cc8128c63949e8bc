/* Ops that compute each element by itself, with broadcasting. */
#include <math.h>
#include <string.h>

#include "compiler/onnx/import.h"

/* --- one operand -------------------------------------------------------------------------------------------------- */

typedef struct plain_row {
    const char *op;
    firn_op_code code;
} plain_row;

/* Ops that are ops of the graph. */
static const plain_row plain_rows[] = {{"Abs", FIRN_OP_abs},
                                       {"Erf", FIRN_OP_erf},
                                       {"Exp", FIRN_OP_exp},
                                       {"Floor", FIRN_OP_floor},
                                       {"Log", FIRN_OP_log},
                                       {"Relu", FIRN_OP_relu},
                                       {"Reciprocal", FIRN_OP_reciprocal},
                                       {"Sigmoid", FIRN_OP_sigmoid},
                                       {"Sign", FIRN_OP_sign},
                                       {"Softplus", FIRN_OP_softplus},
                                       {"Sqrt", FIRN_OP_sqrt},
                                       {"Tanh", FIRN_OP_tanh}};

static firnc_value clip(firnc_onnx_importer *im, firnc_value x, float low, float high) {
    return im->failed ? FIRNC_NONE : firnc_onnx_made(im, firnc_clip(im->graph, x, low, high));
}

static firnc_value elu(firnc_onnx_importer *im, firnc_value x, float alpha) {
    return im->failed ? FIRNC_NONE : firnc_onnx_made(im, firnc_elu(im->graph, x, alpha));
}

static firnc_value gelu(firnc_onnx_importer *im, const firnc_onnx_node *node, firnc_value x) {
    const char *form = firnc_onnx_text(node, "approximate", "none");
    if (strcmp(form, "none") != 0 && strcmp(form, "tanh") != 0) {
        firnc_onnx_fail(im, "has approximate %s; none and tanh are known", form);
        return FIRNC_NONE;
    }
    return firnc_onnx_made(im, firnc_gelu(im->graph, x, form[0] == 'n' ? FIRNC_GELU_ERF : FIRNC_GELU_TANH));
}

/* x where it is above alpha, else 0 */
static firnc_value above(firnc_onnx_importer *im, firnc_value x, float alpha) {
    return firnc_onnx_select(im, firnc_onnx_binary(im, FIRN_OP_less, firnc_onnx_scalar(im, alpha), x), x,
                             firnc_onnx_scalar(im, 0));
}

static firnc_value hard_sigmoid(firnc_onnx_importer *im, firnc_value x, float alpha, float beta) {
    return clip(im, firnc_onnx_affine(im, x, alpha, beta), 0, 1);
}

static firnc_value unary(firnc_onnx_importer *im, const firnc_onnx_node *node, firnc_value x) {
    const char *op = node->op;
    for (size_t i = 0; i < sizeof plain_rows / sizeof plain_rows[0]; i++)
        if (strcmp(op, plain_rows[i].op) == 0)
            return firnc_onnx_unary(im, plain_rows[i].code, x);
    if (strcmp(op, "Neg") == 0)
        return firnc_onnx_affine(im, x, -1, -0.0F);
    if (strcmp(op, "Not") == 0)
        return firnc_onnx_affine(im, x, -1, 1);
    if (strcmp(op, "IsNaN") == 0)
        return firnc_onnx_affine(im, firnc_onnx_binary(im, FIRN_OP_equal, x, x), -1, 1);
    if (strcmp(op, "Ceil") == 0)
        return firnc_onnx_affine(im, firnc_onnx_unary(im, FIRN_OP_floor, firnc_onnx_affine(im, x, -1, -0.0F)), -1,
                                 -0.0F);
    if (strcmp(op, "Elu") == 0)
        return elu(im, x, firnc_onnx_float(node, "alpha", 1));
    if (strcmp(op, "LeakyRelu") == 0)
        return firnc_onnx_made(im, firnc_leaky_relu(im->graph, x, firnc_onnx_float(node, "alpha", 0.01F)));
    if (strcmp(op, "Gelu") == 0)
        return gelu(im, node, x);
    if (strcmp(op, "HardSigmoid") == 0)
        return hard_sigmoid(im, x, firnc_onnx_float(node, "alpha", 0.2F), firnc_onnx_float(node, "beta", 0.5F));
    if (strcmp(op, "HardSwish") == 0)
        return firnc_onnx_binary(im, FIRN_OP_multiply, x, hard_sigmoid(im, x, 1.0F / 6, 0.5F));
    if (strcmp(op, "Mish") == 0)
        return firnc_onnx_binary(im, FIRN_OP_multiply, x,
                                 firnc_onnx_unary(im, FIRN_OP_tanh, firnc_onnx_unary(im, FIRN_OP_softplus, x)));
    if (strcmp(op, "Selu") == 0)
        return firnc_onnx_affine(im, elu(im, x, firnc_onnx_float(node, "alpha", 1.67326319F)),
                                 firnc_onnx_float(node, "gamma", 1.05070102F), 0);
    if (strcmp(op, "Softsign") == 0)
        return firnc_onnx_binary(im, FIRN_OP_divide, x,
                                 firnc_onnx_affine(im, firnc_onnx_unary(im, FIRN_OP_abs, x), 1, 1));
    return above(im, x, firnc_onnx_float(node, "alpha", 1)); /* ThresholdedRelu */
}

bool firnc_onnx_import_unary(firnc_onnx_importer *im, const firnc_onnx_node *node) {
    firnc_onnx_value *x = node->inputs[0];
    firnc_value y = unary(im, node, firnc_onnx_real(im, firnc_onnx_raw(im, x)));
    firnc_onnx_set_ordered(im, node->outputs[0], y, strcmp(node->op, "IsNaN") == 0 ? FIRNC_ONNX_BOOL : x->type, x->rank,
                           x->order);
    return !im->failed;
}

/* --- two operands ------------------------------------------------------------------------------------------------- */

/* Two or three operands in one order of axes. */
typedef struct operands {
    firnc_value values[3];
    uint8_t rank, order[FIRN_RANK_MAX];
} operands;

/* The order in which most need not move: that of the largest operand of full rank which is in the graph. */
static void choose_order(firnc_onnx_value *const *inputs, uint32_t count, operands *to) {
    uint64_t most = 0;
    firnc_onnx_identity(to->order);
    to->rank = 0;
    for (uint32_t i = 0; i < count; i++)
        to->rank = inputs[i]->rank > to->rank ? inputs[i]->rank : to->rank;
    for (uint32_t i = 0; i < count; i++)
        if (inputs[i]->rank == to->rank && inputs[i]->value != FIRNC_NONE && firnc_onnx_count(inputs[i]) > most) {
            most = firnc_onnx_count(inputs[i]);
            memcpy(to->order, inputs[i]->order, to->rank);
        }
}

static bool gather_operands(firnc_onnx_importer *im, firnc_onnx_value *const *inputs, uint32_t count, operands *to) {
    choose_order(inputs, count, to);
    for (uint32_t i = 0; i < count; i++) {
        uint8_t identity[FIRN_RANK_MAX];
        firnc_onnx_identity(identity);
        /* without a transpose or extents of 1 in front where broadcasting needs none */
        const bool plain = memcmp(identity, to->order, to->rank) == 0;
        to->values[i] = firnc_onnx_real(im, plain ? firnc_onnx_plain(im, inputs[i])
                                                  : firnc_onnx_ordered(im, inputs[i], to->rank, to->order));
    }
    return !im->failed;
}

static const plain_row binary_rows[] = {{"Add", FIRN_OP_add},
                                        {"Sum", FIRN_OP_add},
                                        {"Mean", FIRN_OP_add},
                                        {"Sub", FIRN_OP_subtract},
                                        {"Mul", FIRN_OP_multiply},
                                        {"And", FIRN_OP_multiply},
                                        {"Div", FIRN_OP_divide},
                                        {"Pow", FIRN_OP_power},
                                        {"Max", FIRN_OP_maximum},
                                        {"Or", FIRN_OP_maximum},
                                        {"Min", FIRN_OP_minimum},
                                        {"Less", FIRN_OP_less},
                                        {"Greater", FIRN_OP_less},
                                        {"LessOrEqual", FIRN_OP_less_or_equal},
                                        {"GreaterOrEqual", FIRN_OP_less_or_equal},
                                        {"Equal", FIRN_OP_equal},
                                        {"Xor", FIRN_OP_subtract}};

static bool is_truth(const char *op) {
    static const char *const truths[] = {"And",  "Or", "Xor", "Less", "Greater", "LessOrEqual", "GreaterOrEqual",
                                         "Equal"};
    for (size_t i = 0; i < sizeof truths / sizeof truths[0]; i++)
        if (strcmp(op, truths[i]) == 0)
            return true;
    return false;
}

/* Division and power by a number, and sums with one, as one cheap op. FIRNC_NONE: it is none of them. */
static firnc_value with_number(firnc_onnx_importer *im, const firnc_onnx_node *node, uint8_t real) {
    firnc_onnx_value *const *in = node->inputs;
    double number;
    const uint32_t known = firnc_onnx_is_constant(in[1]) ? 1 : 0;
    firnc_onnx_value *x = in[1 - known];
    if (node->input_count != 2 || !real || !firnc_onnx_is_constant(in[known]) ||
        !firnc_onnx_single(in[known], &number) || in[known]->rank > x->rank || !isfinite(number))
        return FIRNC_NONE;
    const float value = (float)number;
    if (strcmp(node->op, "Mul") == 0)
        return firnc_onnx_affine(im, firnc_onnx_raw(im, x), value, -0.0F);
    if (strcmp(node->op, "Add") == 0)
        return firnc_onnx_affine(im, firnc_onnx_raw(im, x), 1, value);
    if (strcmp(node->op, "Sub") == 0)
        return known == 1 ? firnc_onnx_affine(im, firnc_onnx_raw(im, x), 1, -value)
                          : firnc_onnx_affine(im, firnc_onnx_raw(im, x), -1, value);
    /* exact: the reciprocal of a power of two */
    int exponent;
    if (strcmp(node->op, "Div") == 0 && known == 1 && fabs(frexp(number, &exponent)) == 0.5 && exponent > -100 &&
        exponent < 100)
        return firnc_onnx_affine(im, firnc_onnx_raw(im, x), 1 / value, -0.0F);
    if (strcmp(node->op, "Div") == 0 && known == 0 && number == 1)
        return firnc_onnx_unary(im, FIRN_OP_reciprocal, firnc_onnx_raw(im, x));
    return FIRNC_NONE;
}

static firnc_value fold_two(firnc_onnx_importer *im, const char *op, firn_op_code code, firnc_value a, firnc_value b) {
    if (strncmp(op, "Greater", 7) == 0)
        return firnc_onnx_binary(im, code, b, a);
    const firnc_value y = firnc_onnx_binary(im, code, a, b);
    return strcmp(op, "Xor") == 0 ? firnc_onnx_unary(im, FIRN_OP_abs, y) : y;
}

static bool is_whole_division(const firnc_onnx_node *node) {
    return strcmp(node->op, "Div") == 0 && !firnc_onnx_is_real(node->inputs[0]->type);
}

static bool binary(firnc_onnx_importer *im, const firnc_onnx_node *node, firn_op_code code) {
    firnc_onnx_value accumulated = *node->inputs[0];
    const uint8_t type = is_truth(node->op) ? FIRNC_ONNX_BOOL : node->inputs[0]->type;
    for (uint32_t i = 1; i < node->input_count; i++) {
        operands both;
        if (node->inputs[i] == NULL ||
            !gather_operands(im, (firnc_onnx_value *[]){&accumulated, node->inputs[i]}, 2, &both))
            return firnc_onnx_fail(im, "lacks an input");
        const firnc_value y = fold_two(im, node->op, code, both.values[0], both.values[1]);
        accumulated = *firnc_onnx_value_new("");
        firnc_onnx_set_ordered(im, &accumulated, y, type, both.rank, both.order);
    }
    firnc_value y = firnc_onnx_raw(im, &accumulated);
    if (strcmp(node->op, "Mean") == 0)
        y = firnc_onnx_affine(im, y, (float)(1.0 / node->input_count), 0);
    if (is_whole_division(node)) /* towards zero */
        y = firnc_onnx_real(im, firnc_onnx_whole(im, y));
    firnc_onnx_set_ordered(im, node->outputs[0], y, type, accumulated.rank, accumulated.order);
    return !im->failed;
}

bool firnc_onnx_import_binary(firnc_onnx_importer *im, const firnc_onnx_node *node) {
    bool found = false;
    if (strcmp(node->op, "Mul") == 0 && (!firnc_onnx_match_product(im, node, &found) || found))
        return !im->failed;
    if (strcmp(node->op, "Add") == 0 && (!firnc_onnx_match_sum(im, node, &found) || found))
        return !im->failed;
    const firnc_value quick = with_number(im, node, firnc_onnx_is_real(node->inputs[0]->type));
    if (quick != FIRNC_NONE) {
        const firnc_onnx_value *x = node->inputs[firnc_onnx_is_constant(node->inputs[1]) ? 0 : 1];
        firnc_onnx_set_ordered(im, node->outputs[0], quick, x->type, x->rank, x->order);
        return !im->failed;
    }
    for (size_t i = 0; i < sizeof binary_rows / sizeof binary_rows[0]; i++)
        if (strcmp(node->op, binary_rows[i].op) == 0)
            return binary(im, node, binary_rows[i].code);
    return firnc_onnx_fail(im, "is not known");
}

bool firnc_onnx_import_prelu(firnc_onnx_importer *im, const firnc_onnx_node *node) {
    operands both;
    if (!gather_operands(im, node->inputs, 2, &both))
        return false;
    /* x above 0, else slope * x; both factors keep their gradients */
    const firnc_value low = firnc_onnx_affine(
        im, firnc_onnx_unary(im, FIRN_OP_relu, firnc_onnx_affine(im, both.values[0], -1, -0.0F)), -1, -0.0F);
    const firnc_value y = firnc_onnx_binary(im, FIRN_OP_add, firnc_onnx_unary(im, FIRN_OP_relu, both.values[0]),
                                            firnc_onnx_binary(im, FIRN_OP_multiply, low, both.values[1]));
    firnc_onnx_set_ordered(im, node->outputs[0], y, node->inputs[0]->type, both.rank, both.order);
    return !im->failed;
}

bool firnc_onnx_import_where(firnc_onnx_importer *im, const firnc_onnx_node *node) {
    operands all;
    if (!gather_operands(im, node->inputs, 3, &all))
        return false;
    firnc_onnx_set_ordered(im, node->outputs[0], firnc_onnx_select(im, all.values[0], all.values[1], all.values[2]),
                           node->inputs[1]->type, all.rank, all.order);
    return !im->failed;
}

/* --- limits, types, dropout --------------------------------------------------------------------------------------- */

bool firnc_onnx_import_clip(firnc_onnx_importer *im, const firnc_onnx_node *node) {
    firnc_onnx_value *x = node->inputs[0];
    double bounds[2] = {-HUGE_VAL, HUGE_VAL};
    firnc_value y = firnc_onnx_real(im, firnc_onnx_raw(im, x));
    for (uint32_t i = 0; i < 2; i++) {
        firnc_onnx_value *bound = i + 1 < node->input_count ? node->inputs[i + 1] : NULL;
        if (bound != NULL && !firnc_onnx_single(bound, &bounds[i])) {
            y = firnc_onnx_binary(im, i == 0 ? FIRN_OP_maximum : FIRN_OP_minimum, y,
                                  firnc_onnx_real(im, firnc_onnx_raw(im, bound)));
            bounds[i] = i == 0 ? -HUGE_VAL : HUGE_VAL;
        }
    }
    for (uint32_t i = 0; i < 2; i++) /* the largest floats are what exporters write for no bound */
        bounds[i] = bounds[i] < -3.4028234e38 ? -3.4028234e38 : bounds[i] > 3.4028234e38 ? 3.4028234e38 : bounds[i];
    if (bounds[0] > bounds[1])
        bounds[0] = bounds[1];
    if (bounds[0] > -3.4028234e38 || bounds[1] < 3.4028234e38)
        y = clip(im, y, (float)bounds[0], (float)bounds[1]);
    firnc_onnx_set_ordered(im, node->outputs[0], y, x->type, x->rank, x->order);
    return !im->failed;
}

bool firnc_onnx_import_cast(firnc_onnx_importer *im, const firnc_onnx_node *node) {
    firnc_onnx_value *x = node->inputs[0], *y = node->outputs[0];
    const int64_t to = strcmp(node->op, "Cast") == 0 ? firnc_onnx_integer(node, "to", 0) : node->inputs[1]->type;
    if (to < 1 || to > FIRNC_ONNX_BFLOAT16 || to == 8 || to == 14 || to == 15)
        return firnc_onnx_fail(im, "has to %s, which Firn does not have; cast to float or int64",
                               firnc_onnx_type_word((int32_t)to));
    if (firnc_onnx_is_constant(x)) {
        firnc_onnx_set_known(y, firnc_onnx_tensor_cast(im, x->known, to));
        return !im->failed;
    }
    if (to == FIRNC_ONNX_BOOL && x->type != FIRNC_ONNX_BOOL) {
        const firnc_value zero =
            firnc_onnx_binary(im, FIRN_OP_equal, firnc_onnx_real(im, firnc_onnx_raw(im, x)), firnc_onnx_scalar(im, 0));
        firnc_onnx_set_ordered(im, y, firnc_onnx_affine(im, zero, -1, 1), FIRNC_ONNX_BOOL, x->rank, x->order);
        return !im->failed;
    }
    if (firnc_onnx_is_real(x->type) && !firnc_onnx_is_real((uint8_t)to)) {
        const firnc_value whole = firnc_onnx_whole(im, firnc_onnx_raw(im, x));
        firnc_onnx_set_ordered(im, y, whole, (uint8_t)to, x->rank, x->order);
        return !im->failed;
    }
    if (!firnc_onnx_is_real(x->type) && x->type != FIRNC_ONNX_BOOL && to != x->type &&
        (to == FIRNC_ONNX_UINT8 || to == FIRNC_ONNX_INT8 || to == FIRNC_ONNX_UINT16 || to == FIRNC_ONNX_INT16))
        return firnc_onnx_fail(im, "drops the high bits of whole numbers of the data, as %s; cast to int64",
                               firnc_onnx_type_word((int32_t)to));
    firnc_onnx_alias(y, x);
    if (y != NULL)
        y->type = (uint8_t)to;
    return true;
}

/* The mask of a dropout that drops nothing. Exporters name it for the others, too, though nobody reads it. */
static bool dropout_mask(firnc_onnx_importer *im, const firnc_onnx_node *node, bool drops) {
    const firnc_onnx_value *x = node->inputs[0];
    if (node->output_count < 2 || node->outputs[1] == NULL)
        return true;
    if (drops && firnc_onnx_is_read(im, node, node->outputs[1]->name))
        return firnc_onnx_fail(im, "gives its mask, which Firn does not have; leave it out");
    firnc_onnx_tensor *mask = firnc_onnx_tensor_new(im, FIRNC_ONNX_BOOL, x->rank, x->dims);
    for (uint64_t i = 0; mask != NULL && i < mask->count; i++)
        mask->wholes[i] = 1;
    firnc_onnx_set_known(node->outputs[1], mask);
    return !im->failed;
}

bool firnc_onnx_import_dropout(firnc_onnx_importer *im, const firnc_onnx_node *node) {
    firnc_onnx_value *x = node->inputs[0];
    double ratio = 0.5, training = 0;
    const bool known = node->input_count < 2 || node->inputs[1] == NULL || firnc_onnx_single(node->inputs[1], &ratio);
    if (node->input_count > 2 && node->inputs[2] != NULL && !firnc_onnx_single(node->inputs[2], &training))
        return firnc_onnx_fail(im, "its training_mode depends on the data; make it a constant");
    if (training != 0 && (!known || !(ratio >= 0 && ratio < 1)))
        return firnc_onnx_fail(im, "its ratio is no number from 0 to below 1");
    if (!dropout_mask(im, node, training != 0 && ratio != 0 && !im->graph->eval))
        return false;
    if (training == 0) {
        firnc_onnx_alias(node->outputs[0], x);
        return !im->failed;
    }
    const firnc_value y = firnc_onnx_made(im, firnc_dropout(im->graph, firnc_onnx_raw(im, x), (float)ratio));
    firnc_onnx_set_ordered(im, node->outputs[0], y, x->type, x->rank, x->order);
    return !im->failed;
}
