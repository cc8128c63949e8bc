/* Ops that compute each element by itself, with broadcasting. */
#include <math.h>
#include <string.h>

#include "compiler/onnx/import.h"

/* --- one operand -------------------------------------------------------------------------------------------------- */

static firnc_value expand_elu(firnc_onnx_importer *im, firnc_value x, float alpha) {
    return im->failed ? FIRNC_NONE : firnc_onnx_made(im, firnc_elu(im->graph, x, alpha));
}

static firnc_value limited_line(firnc_onnx_importer *im, firnc_value x, float alpha, float beta) {
    return firnc_onnx_clip(im, firnc_onnx_affine(im, x, alpha, beta), 0, 1);
}

static firnc_value negative(firnc_onnx_importer *im, const firnc_onnx_node *node, firnc_value x) {
    (void)node;
    return firnc_onnx_negative(im, x);
}

/* Of 0 and 1. */
static firnc_value not_true(firnc_onnx_importer *im, const firnc_onnx_node *node, firnc_value x) {
    (void)node;
    return firnc_onnx_affine(im, x, -1, 1);
}

static firnc_value is_nan(firnc_onnx_importer *im, const firnc_onnx_node *node, firnc_value x) {
    return not_true(im, node, firnc_onnx_binary(im, FIRN_OP_equal, x, x));
}

static firnc_value ceiling(firnc_onnx_importer *im, const firnc_onnx_node *node, firnc_value x) {
    (void)node;
    return firnc_onnx_negative(im, firnc_onnx_unary(im, FIRN_OP_floor, firnc_onnx_negative(im, x)));
}

static firnc_value elu(firnc_onnx_importer *im, const firnc_onnx_node *node, firnc_value x) {
    return expand_elu(im, x, firnc_onnx_float(node, "alpha", 1));
}

static firnc_value selu(firnc_onnx_importer *im, const firnc_onnx_node *node, firnc_value x) {
    return firnc_onnx_affine(im, expand_elu(im, x, firnc_onnx_float(node, "alpha", 1.67326319F)),
                             firnc_onnx_float(node, "gamma", 1.05070102F), 0);
}

static firnc_value leaky_relu(firnc_onnx_importer *im, const firnc_onnx_node *node, firnc_value x) {
    return firnc_onnx_made(im, firnc_leaky_relu(im->graph, x, firnc_onnx_float(node, "alpha", 0.01F)));
}

static firnc_value gelu(firnc_onnx_importer *im, const firnc_onnx_node *node, firnc_value x) {
    const char *form = firnc_onnx_text(node, "approximate", "none");
    if (strcmp(form, "none") != 0 && strcmp(form, "tanh") != 0) {
        firnc_onnx_fail(im, "has approximate %s; none and tanh are known", form);
        return FIRNC_NONE;
    }
    return firnc_onnx_made(im, firnc_gelu(im->graph, x, form[0] == 'n' ? FIRNC_GELU_ERF : FIRNC_GELU_TANH));
}

static firnc_value hard_sigmoid(firnc_onnx_importer *im, const firnc_onnx_node *node, firnc_value x) {
    return limited_line(im, x, firnc_onnx_float(node, "alpha", 0.2F), firnc_onnx_float(node, "beta", 0.5F));
}

static firnc_value hard_swish(firnc_onnx_importer *im, const firnc_onnx_node *node, firnc_value x) {
    (void)node;
    return firnc_onnx_binary(im, FIRN_OP_multiply, x, limited_line(im, x, 1.0F / 6, 0.5F));
}

static firnc_value mish(firnc_onnx_importer *im, const firnc_onnx_node *node, firnc_value x) {
    (void)node;
    return firnc_onnx_binary(im, FIRN_OP_multiply, x,
                             firnc_onnx_unary(im, FIRN_OP_tanh, firnc_onnx_unary(im, FIRN_OP_softplus, x)));
}

static firnc_value softsign(firnc_onnx_importer *im, const firnc_onnx_node *node, firnc_value x) {
    (void)node;
    return firnc_onnx_binary(im, FIRN_OP_divide, x, firnc_onnx_affine(im, firnc_onnx_unary(im, FIRN_OP_abs, x), 1, 1));
}

/* x where it is above alpha, else 0 */
static firnc_value thresholded_relu(firnc_onnx_importer *im, const firnc_onnx_node *node, firnc_value x) {
    const float alpha = firnc_onnx_float(node, "alpha", 1);
    const firnc_value zero = firnc_onnx_scalar(im, 0);
    return firnc_onnx_select(im, firnc_onnx_binary(im, FIRN_OP_less, firnc_onnx_scalar(im, alpha), x), x, zero);
}

/* sin / cos */
static firnc_value tangent(firnc_onnx_importer *im, const firnc_onnx_node *node, firnc_value x) {
    (void)node;
    const firnc_value cosine = firnc_onnx_unary(im, FIRN_OP_cos, x);
    return firnc_onnx_binary(im, FIRN_OP_divide, firnc_onnx_unary(im, FIRN_OP_sin, x), cosine);
}

/* 2 atan(x) */
static firnc_value twice_the_angle(firnc_onnx_importer *im, firnc_value x) {
    return firnc_onnx_affine(im, firnc_onnx_unary(im, FIRN_OP_atan, x), 2, 0);
}

/* 2 atan(x / (1 + sqrt((1 - x) (1 + x)))) */
static firnc_value arc_sine(firnc_onnx_importer *im, const firnc_onnx_node *node, firnc_value x) {
    (void)node;
    const firnc_value above = firnc_onnx_affine(im, x, 1, 1), below = firnc_onnx_affine(im, x, -1, 1);
    const firnc_value square = firnc_onnx_binary(im, FIRN_OP_multiply, below, above);
    const firnc_value divisor = firnc_onnx_affine(im, firnc_onnx_unary(im, FIRN_OP_sqrt, square), 1, 1);
    return twice_the_angle(im, firnc_onnx_binary(im, FIRN_OP_divide, x, divisor));
}

/* 2 atan(sqrt((1 - x) / (1 + x))) */
static firnc_value arc_cosine(firnc_onnx_importer *im, const firnc_onnx_node *node, firnc_value x) {
    (void)node;
    const firnc_value above = firnc_onnx_affine(im, x, 1, 1), below = firnc_onnx_affine(im, x, -1, 1);
    const firnc_value ratio = firnc_onnx_binary(im, FIRN_OP_divide, below, above);
    return twice_the_angle(im, firnc_onnx_unary(im, FIRN_OP_sqrt, ratio));
}

/* (e^x + e^-x) / 2 */
static firnc_value hyperbolic_cosine(firnc_onnx_importer *im, const firnc_onnx_node *node, firnc_value x) {
    (void)node;
    const firnc_value falling = firnc_onnx_unary(im, FIRN_OP_exp, firnc_onnx_negative(im, x));
    const firnc_value sum = firnc_onnx_binary(im, FIRN_OP_add, firnc_onnx_unary(im, FIRN_OP_exp, x), falling);
    return firnc_onnx_affine(im, sum, 0.5F, 0);
}

/* tanh(x) cosh(x), where nothing cancels near 0 */
static firnc_value hyperbolic_sine(firnc_onnx_importer *im, const firnc_onnx_node *node, firnc_value x) {
    const firnc_value cosine = hyperbolic_cosine(im, node, x);
    return firnc_onnx_binary(im, FIRN_OP_multiply, firnc_onnx_unary(im, FIRN_OP_tanh, x), cosine);
}

/* log(1 + x) - log(1 - x), which is 2 atanh(x): the two terms have one sign */
static firnc_value twice_inverse_tanh(firnc_onnx_importer *im, firnc_value x) {
    const firnc_value below = firnc_onnx_unary(im, FIRN_OP_log_one_plus, firnc_onnx_negative(im, x));
    return firnc_onnx_binary(im, FIRN_OP_subtract, firnc_onnx_unary(im, FIRN_OP_log_one_plus, x), below);
}

static firnc_value inverse_tanh(firnc_onnx_importer *im, const firnc_onnx_node *node, firnc_value x) {
    (void)node;
    return firnc_onnx_affine(im, twice_inverse_tanh(im, x), 0.5F, 0);
}

/* log(x + sqrt(x^2 - 1)), where the terms that are small near 1 are computed from x - 1 */
static firnc_value inverse_cosh(firnc_onnx_importer *im, const firnc_onnx_node *node, firnc_value x) {
    (void)node;
    const firnc_value less = firnc_onnx_affine(im, x, 1, -1);
    const firnc_value square = firnc_onnx_binary(im, FIRN_OP_multiply, less, firnc_onnx_affine(im, x, 1, 1));
    return firnc_onnx_unary(im, FIRN_OP_log_one_plus,
                            firnc_onnx_binary(im, FIRN_OP_add, less, firnc_onnx_unary(im, FIRN_OP_sqrt, square)));
}

/* sqrt(1 + x^2) */
static firnc_value length_with_one(firnc_onnx_importer *im, firnc_value x) {
    return firnc_onnx_unary(im, FIRN_OP_sqrt,
                            firnc_onnx_affine(im, firnc_onnx_binary(im, FIRN_OP_multiply, x, x), 1, 1));
}

/* With a = |x|: up to 1 it is 2 atanh(x / (1 + sqrt(1 + x^2))); above, log(a) + log(1 + sqrt(1 + 1/a^2)) with the sign
 * of x. Where the other form is chosen, a is limited to at least 1, so that its gradient is finite. */
static firnc_value inverse_sinh(firnc_onnx_importer *im, const firnc_onnx_node *node, firnc_value x) {
    (void)node;
    const firnc_value a = firnc_onnx_unary(im, FIRN_OP_abs, x);
    const firnc_value near = twice_inverse_tanh(
        im, firnc_onnx_binary(im, FIRN_OP_divide, x, firnc_onnx_affine(im, length_with_one(im, x), 1, 1)));
    const firnc_value large = firnc_onnx_clip(im, a, 1, 3.4028234e38F);
    const firnc_value rest = firnc_onnx_unary(im, FIRN_OP_log_one_plus,
                                              length_with_one(im, firnc_onnx_unary(im, FIRN_OP_reciprocal, large)));
    const firnc_value sign = firnc_onnx_unary(im, FIRN_OP_sign, x);
    const firnc_value far = firnc_onnx_binary(
        im, FIRN_OP_multiply, firnc_onnx_binary(im, FIRN_OP_add, firnc_onnx_unary(im, FIRN_OP_log, large), rest), sign);
    return firnc_onnx_select(im, firnc_onnx_binary(im, FIRN_OP_less_or_equal, a, firnc_onnx_scalar(im, 1)), near, far);
}

/* alpha (e^(x / alpha) - 1) below 0 */
static firnc_value celu(firnc_onnx_importer *im, const firnc_onnx_node *node, firnc_value x) {
    const float alpha = firnc_onnx_float(node, "alpha", 1);
    if (alpha == 0) {
        firnc_onnx_fail(im, "has alpha 0, by which it divides; write another alpha");
        return FIRNC_NONE;
    }
    return firnc_onnx_affine(im, expand_elu(im, firnc_onnx_affine(im, x, 1 / alpha, 0), 1), alpha, 0);
}

/* x + bias below -lambd, x - bias above lambd, else 0 */
static firnc_value shrink(firnc_onnx_importer *im, const firnc_onnx_node *node, firnc_value x) {
    const float bias = firnc_onnx_float(node, "bias", 0), limit = firnc_onnx_float(node, "lambd", 0.5F);
    const firnc_value below = firnc_onnx_binary(im, FIRN_OP_less, x, firnc_onnx_scalar(im, -limit));
    const firnc_value above = firnc_onnx_binary(im, FIRN_OP_less, firnc_onnx_scalar(im, limit), x);
    const firnc_value zero = firnc_onnx_scalar(im, 0);
    const firnc_value upper = firnc_onnx_select(im, above, firnc_onnx_affine(im, x, 1, -bias), zero);
    return firnc_onnx_select(im, below, firnc_onnx_affine(im, x, 1, bias), upper);
}

static firnc_value is_infinite(firnc_onnx_importer *im, const firnc_onnx_node *node, firnc_value x) {
    const bool above = firnc_onnx_integer(node, "detect_positive", 1) != 0;
    const bool below = firnc_onnx_integer(node, "detect_negative", 1) != 0;
    if (above && below)
        x = firnc_onnx_unary(im, FIRN_OP_abs, x);
    else if (!above)
        x = below ? firnc_onnx_negative(im, x) : firnc_onnx_clip(im, x, 0, 0);
    return firnc_onnx_binary(im, FIRN_OP_less, firnc_onnx_scalar(im, 3.4028234e38F), x);
}

/* What an operator becomes: `code`, an op of the graph, or what `make` makes of several. */
static const struct unary_row {
    const char *op;
    firn_op_code code;
    firnc_value (*make)(firnc_onnx_importer *im, const firnc_onnx_node *node, firnc_value x);
} unary_rows[] = {{.op = "Abs", .code = FIRN_OP_abs},
                  {.op = "Acos", .make = arc_cosine},
                  {.op = "Acosh", .make = inverse_cosh},
                  {.op = "Asin", .make = arc_sine},
                  {.op = "Asinh", .make = inverse_sinh},
                  {.op = "Atan", .code = FIRN_OP_atan},
                  {.op = "Atanh", .make = inverse_tanh},
                  {.op = "Ceil", .make = ceiling},
                  {.op = "Celu", .make = celu},
                  {.op = "Cos", .code = FIRN_OP_cos},
                  {.op = "Cosh", .make = hyperbolic_cosine},
                  {.op = "Elu", .make = elu},
                  {.op = "Erf", .code = FIRN_OP_erf},
                  {.op = "Exp", .code = FIRN_OP_exp},
                  {.op = "Floor", .code = FIRN_OP_floor},
                  {.op = "Gelu", .make = gelu},
                  {.op = "HardSigmoid", .make = hard_sigmoid},
                  {.op = "HardSwish", .make = hard_swish},
                  {.op = "IsInf", .make = is_infinite},
                  {.op = "IsNaN", .make = is_nan},
                  {.op = "LeakyRelu", .make = leaky_relu},
                  {.op = "Log", .code = FIRN_OP_log},
                  {.op = "Mish", .make = mish},
                  {.op = "Neg", .make = negative},
                  {.op = "Not", .make = not_true},
                  {.op = "Reciprocal", .code = FIRN_OP_reciprocal},
                  {.op = "Relu", .code = FIRN_OP_relu},
                  {.op = "Round", .code = FIRN_OP_round},
                  {.op = "Selu", .make = selu},
                  {.op = "Shrink", .make = shrink},
                  {.op = "Sigmoid", .code = FIRN_OP_sigmoid},
                  {.op = "Sign", .code = FIRN_OP_sign},
                  {.op = "Sin", .code = FIRN_OP_sin},
                  {.op = "Sinh", .make = hyperbolic_sine},
                  {.op = "Softplus", .code = FIRN_OP_softplus},
                  {.op = "Softsign", .make = softsign},
                  {.op = "Sqrt", .code = FIRN_OP_sqrt},
                  {.op = "Tan", .make = tangent},
                  {.op = "Tanh", .code = FIRN_OP_tanh},
                  {.op = "ThresholdedRelu", .make = thresholded_relu}};

static firnc_value unary(firnc_onnx_importer *im, const firnc_onnx_node *node, firnc_value x) {
    for (size_t i = 0; i < sizeof unary_rows / sizeof unary_rows[0] && !im->failed; i++)
        if (strcmp(node->op, unary_rows[i].op) == 0)
            return unary_rows[i].make != NULL ? unary_rows[i].make(im, node, x)
                                              : firnc_onnx_unary(im, unary_rows[i].code, x);
    firnc_onnx_fail(im, "is not known");
    return FIRNC_NONE;
}

bool firnc_onnx_import_unary(firnc_onnx_importer *im, const firnc_onnx_node *node) {
    firnc_onnx_value *x = node->inputs[0];
    firnc_value y = unary(im, node, firnc_onnx_raw_real(im, x));
    const bool truth = strncmp(node->op, "Is", 2) == 0; /* IsInf, IsNaN */
    firnc_onnx_set_ordered(im, node->outputs[0], y, truth ? FIRNC_ONNX_BOOL : x->type, x->rank, x->order);
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
        /* without a transpose or extents of 1 in front where broadcasting needs none */
        const bool plain = firnc_onnx_is_identity(to->order, to->rank);
        to->values[i] = firnc_onnx_real(im, plain ? firnc_onnx_plain(im, inputs[i])
                                                  : firnc_onnx_ordered(im, inputs[i], to->rank, to->order));
    }
    return !im->failed;
}

static const struct binary_row {
    const char *op;
    firn_op_code code;
    bool truth;    /* the result is 0 or 1 */
    bool turned;   /* the op takes the second operand first */
    bool absolute; /* the result is without its sign */
} binary_rows[] = {{.op = "Add", .code = FIRN_OP_add},
                   {.op = "And", .code = FIRN_OP_multiply, .truth = true},
                   {.op = "Div", .code = FIRN_OP_divide},
                   {.op = "Equal", .code = FIRN_OP_equal, .truth = true},
                   {.op = "Greater", .code = FIRN_OP_less, .truth = true, .turned = true},
                   {.op = "GreaterOrEqual", .code = FIRN_OP_less_or_equal, .truth = true, .turned = true},
                   {.op = "Less", .code = FIRN_OP_less, .truth = true},
                   {.op = "LessOrEqual", .code = FIRN_OP_less_or_equal, .truth = true},
                   {.op = "Max", .code = FIRN_OP_maximum},
                   {.op = "Mean", .code = FIRN_OP_add},
                   {.op = "Min", .code = FIRN_OP_minimum},
                   {.op = "Mul", .code = FIRN_OP_multiply},
                   {.op = "Or", .code = FIRN_OP_maximum, .truth = true},
                   {.op = "Pow", .code = FIRN_OP_power},
                   {.op = "Sub", .code = FIRN_OP_subtract},
                   {.op = "Sum", .code = FIRN_OP_add},
                   {.op = "Xor", .code = FIRN_OP_subtract, .truth = true, .absolute = true}};

/* Sums and products with a number, and divisions by a power of two or of 1, as one cheap op. number_last: the number is
 * the second operand. FIRNC_NONE: it is none of them. */
static firnc_value with_number(firnc_onnx_importer *im, const firnc_onnx_node *node, firnc_value x, float number,
                               bool number_last) {
    int exponent;
    if (strcmp(node->op, "Mul") == 0)
        return firnc_onnx_scaled(im, x, number);
    if (strcmp(node->op, "Add") == 0)
        return firnc_onnx_affine(im, x, 1, number);
    if (strcmp(node->op, "Sub") == 0)
        return number_last ? firnc_onnx_affine(im, x, 1, -number) : firnc_onnx_affine(im, x, -1, number);
    if (strcmp(node->op, "Div") != 0)
        return FIRNC_NONE;
    if (!number_last)
        return number == 1 ? firnc_onnx_unary(im, FIRN_OP_reciprocal, x) : FIRNC_NONE;
    const bool exact = fabsf(frexpf(number, &exponent)) == 0.5F && exponent > -100 && exponent < 100;
    return exact ? firnc_onnx_scaled(im, x, 1 / number) : FIRNC_NONE;
}

/* Sets the output of a node of which one operand is a number, if there is a cheap op for it; *found says whether. */
static bool import_with_number(firnc_onnx_importer *im, const firnc_onnx_node *node, bool *found) {
    double number;
    if (node->input_count != 2 || node->inputs[0] == NULL || !firnc_onnx_is_real(node->inputs[0]->type))
        return true;
    const bool last = firnc_onnx_is_constant(node->inputs[1]);
    const firnc_onnx_value *constant = node->inputs[last ? 1 : 0];
    firnc_onnx_value *x = node->inputs[last ? 0 : 1];
    if (!firnc_onnx_is_constant(constant) || !firnc_onnx_single(constant, &number) || constant->rank > x->rank ||
        !isfinite(number))
        return true;
    const firnc_value y = with_number(im, node, firnc_onnx_raw(im, x), (float)number, last);
    *found = y != FIRNC_NONE;
    return *found ? firnc_onnx_set_like(im, node->outputs[0], y, x) : !im->failed;
}

static bool is_whole_division(const firnc_onnx_node *node) {
    return strcmp(node->op, "Div") == 0 && !firnc_onnx_is_real(node->inputs[0]->type);
}

/* The op over two operands, or over several from the first to the last. */
static bool join(firnc_onnx_importer *im, const firnc_onnx_node *node, const struct binary_row *row) {
    firnc_onnx_value joined = *node->inputs[0];
    const uint8_t type = row->truth ? FIRNC_ONNX_BOOL : node->inputs[0]->type;
    for (uint32_t i = 1; i < node->input_count; i++) {
        operands both;
        if (node->inputs[i] == NULL)
            return firnc_onnx_fail(im, "lacks an input");
        if (!gather_operands(im, (firnc_onnx_value *[]){&joined, node->inputs[i]}, 2, &both))
            return false;
        firnc_value y =
            firnc_onnx_binary(im, row->code, both.values[row->turned ? 1 : 0], both.values[row->turned ? 0 : 1]);
        if (row->absolute)
            y = firnc_onnx_unary(im, FIRN_OP_abs, y);
        joined = *firnc_onnx_value_new("");
        firnc_onnx_set_ordered(im, &joined, y, type, both.rank, both.order);
    }
    firnc_value y = firnc_onnx_raw(im, &joined);
    if (strcmp(node->op, "Mean") == 0)
        y = firnc_onnx_affine(im, y, (float)(1.0 / node->input_count), 0);
    if (is_whole_division(node)) /* towards zero */
        y = firnc_onnx_real(im, firnc_onnx_whole(im, y));
    joined.type = type;
    return firnc_onnx_set_like(im, node->outputs[0], y, &joined);
}

bool firnc_onnx_import_binary(firnc_onnx_importer *im, const firnc_onnx_node *node) {
    bool found = false;
    if (strcmp(node->op, "Mul") == 0 && (!firnc_onnx_match_product(im, node, &found) || found))
        return !im->failed;
    if (strcmp(node->op, "Add") == 0 && (!firnc_onnx_match_sum(im, node, &found) || found))
        return !im->failed;
    if (!import_with_number(im, node, &found) || found)
        return !im->failed;
    for (size_t i = 0; i < sizeof binary_rows / sizeof binary_rows[0]; i++)
        if (strcmp(node->op, binary_rows[i].op) == 0)
            return join(im, node, &binary_rows[i]);
    return firnc_onnx_fail(im, "is not known");
}

/* a - q b, where q is a / b rounded down, or with fmod rounded towards 0. The result is exact for the whole numbers
 * that Firn has. */
bool firnc_onnx_import_mod(firnc_onnx_importer *im, const firnc_onnx_node *node) {
    operands both;
    if (firnc_onnx_integer(node, "fmod", 0) == 0 && firnc_onnx_is_real(node->inputs[0]->type))
        return firnc_onnx_fail(im, "divides real numbers without fmod; write a - b * floor(a / b)");
    if (!gather_operands(im, node->inputs, 2, &both))
        return false;
    firnc_value q = firnc_onnx_binary(im, FIRN_OP_divide, both.values[0], both.values[1]);
    if (firnc_onnx_integer(node, "fmod", 0) != 0) {
        const firnc_value sign = firnc_onnx_unary(im, FIRN_OP_sign, q);
        q = firnc_onnx_binary(im, FIRN_OP_multiply,
                              firnc_onnx_unary(im, FIRN_OP_floor, firnc_onnx_unary(im, FIRN_OP_abs, q)), sign);
    } else {
        q = firnc_onnx_unary(im, FIRN_OP_floor, q);
    }
    const firnc_value y = firnc_onnx_binary(im, FIRN_OP_subtract, both.values[0],
                                            firnc_onnx_binary(im, FIRN_OP_multiply, q, both.values[1]));
    firnc_onnx_set_ordered(im, node->outputs[0], y, node->inputs[0]->type, both.rank, both.order);
    return !im->failed;
}

bool firnc_onnx_import_prelu(firnc_onnx_importer *im, const firnc_onnx_node *node) {
    operands both;
    if (!gather_operands(im, node->inputs, 2, &both))
        return false;
    /* x above 0, else slope * x; both factors keep their gradients */
    const firnc_value low =
        firnc_onnx_negative(im, firnc_onnx_unary(im, FIRN_OP_relu, firnc_onnx_negative(im, both.values[0])));
    const firnc_value below = firnc_onnx_binary(im, FIRN_OP_multiply, low, both.values[1]);
    const firnc_value y = firnc_onnx_binary(im, FIRN_OP_add, firnc_onnx_unary(im, FIRN_OP_relu, both.values[0]), below);
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
    firnc_value y = firnc_onnx_raw_real(im, x);
    for (uint32_t i = 0; i < 2; i++) {
        firnc_onnx_value *bound = node->inputs[i + 1];
        if (bound != NULL && !firnc_onnx_single(bound, &bounds[i])) {
            y = firnc_onnx_binary(im, i == 0 ? FIRN_OP_maximum : FIRN_OP_minimum, y, firnc_onnx_raw_real(im, bound));
            bounds[i] = i == 0 ? -HUGE_VAL : HUGE_VAL;
        }
    }
    for (uint32_t i = 0; i < 2; i++) /* the largest floats are what exporters write for no bound */
        bounds[i] = bounds[i] < -3.4028234e38 ? -3.4028234e38 : bounds[i] > 3.4028234e38 ? 3.4028234e38 : bounds[i];
    if (bounds[0] > bounds[1])
        bounds[0] = bounds[1];
    if (bounds[0] > -3.4028234e38 || bounds[1] < 3.4028234e38)
        y = firnc_onnx_clip(im, y, (float)bounds[0], (float)bounds[1]);
    return firnc_onnx_set_like(im, node->outputs[0], y, x);
}

bool firnc_onnx_import_cast(firnc_onnx_importer *im, const firnc_onnx_node *node) {
    firnc_onnx_value *x = node->inputs[0], *y = node->outputs[0];
    const int64_t to = strcmp(node->op, "Cast") == 0 ? firnc_onnx_integer(node, "to", 0) : node->inputs[1]->type;
    if (!firnc_onnx_check_cast(im, to))
        return false;
    if (firnc_onnx_is_constant(x)) {
        firnc_onnx_set_known(y, firnc_onnx_tensor_cast(im, x->known, to));
        return !im->failed;
    }
    if (to == FIRNC_ONNX_BOOL && x->type != FIRNC_ONNX_BOOL) {
        const firnc_value zero = firnc_onnx_scalar(im, 0);
        const firnc_value is_zero = firnc_onnx_binary(im, FIRN_OP_equal, firnc_onnx_raw_real(im, x), zero);
        firnc_onnx_set_ordered(im, y, firnc_onnx_affine(im, is_zero, -1, 1), FIRNC_ONNX_BOOL, x->rank, x->order);
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
    if (node->outputs[1] == NULL)
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
    if (node->inputs[2] != NULL && !firnc_onnx_single(node->inputs[2], &training))
        return firnc_onnx_fail(im, "its training_mode depends on the data; make it a constant");
    if (training != 0 && (!known || !(ratio >= 0 && ratio < 1)))
        return firnc_onnx_fail(im, "its ratio is no number from 0 to below 1; make it a constant");
    if (!dropout_mask(im, node, training != 0 && ratio != 0 && !im->graph->eval))
        return false;
    if (training == 0) {
        firnc_onnx_alias(node->outputs[0], x);
        return !im->failed;
    }
    const firnc_value y = firnc_onnx_made(im, firnc_dropout(im->graph, firnc_onnx_raw(im, x), (float)ratio));
    return firnc_onnx_set_like(im, node->outputs[0], y, x);
}
