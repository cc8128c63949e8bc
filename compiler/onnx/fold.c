/* Computes elements of nodes whose inputs are all known, each by itself. Whole numbers are int64, reals are computed in
 * double and rounded to float. */
#include "compiler/onnx/fold.h"

#include <math.h>
#include <string.h>

/* --- two operands ------------------------------------------------------------------------------------------------- */

/* Arithmetic on whole numbers wraps, like that of the hardware. */

static int64_t add_wholes(int64_t a, int64_t b) {
    return (int64_t)((uint64_t)a + (uint64_t)b);
}

static int64_t subtract_wholes(int64_t a, int64_t b) {
    return (int64_t)((uint64_t)a - (uint64_t)b);
}

static int64_t multiply_wholes(int64_t a, int64_t b) {
    return (int64_t)((uint64_t)a * (uint64_t)b);
}

/* Towards zero. */
static int64_t divide_wholes(int64_t a, int64_t b) {
    return b == 0 ? 0 : b == -1 ? subtract_wholes(0, a) : a / b;
}

/* With the sign of b. */
static int64_t rest_of_wholes(int64_t a, int64_t b) {
    const int64_t rest = b == 0 || b == -1 ? 0 : a % b;
    return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

static int64_t larger_whole(int64_t a, int64_t b) {
    return a > b ? a : b;
}

static int64_t smaller_whole(int64_t a, int64_t b) {
    return a < b ? a : b;
}

static int64_t both_true(int64_t a, int64_t b) {
    return a != 0 && b != 0;
}

static int64_t any_true(int64_t a, int64_t b) {
    return a != 0 || b != 0;
}

static int64_t one_true(int64_t a, int64_t b) {
    return (a != 0) != (b != 0);
}

/* With the sign of a, as fmod. */
static int64_t c_rest_of_wholes(int64_t a, int64_t b) {
    return b == 0 || b == -1 ? 0 : a % b;
}

static int64_t bits_of_both(int64_t a, int64_t b) {
    return (int64_t)((uint64_t)a & (uint64_t)b);
}

static int64_t bits_of_any(int64_t a, int64_t b) {
    return (int64_t)((uint64_t)a | (uint64_t)b);
}

static int64_t bits_of_one(int64_t a, int64_t b) {
    return (int64_t)((uint64_t)a ^ (uint64_t)b);
}

/* Shifts by more bits than a number has, or by fewer than none, leave the bits that come in. */

static int64_t shifted_left(int64_t a, int64_t b) {
    return b < 0 || b > 63 ? 0 : (int64_t)((uint64_t)a << b);
}

static int64_t shifted_right(int64_t a, int64_t b) {
    const int64_t filled = a < 0 ? -1 : 0; /* the same shift of what a is without its sign, and back */
    return b < 0 || b > 63 ? filled : (int64_t)((uint64_t)(a ^ filled) >> b) ^ filled;
}

/* With the sign of b. */
static double rest(double a, double b) {
    const double left = fmod(a, b);
    return left != 0 && (left < 0) != (b < 0) ? left + b : left;
}

static double add(double a, double b) {
    return a + b;
}

static double subtract(double a, double b) {
    return a - b;
}

static double multiply(double a, double b) {
    return a * b;
}

static double divide(double a, double b) {
    return a / b;
}

static double larger(double a, double b) {
    return a > b ? a : b;
}

static double smaller(double a, double b) {
    return a < b ? a : b;
}

static bool is_equal(double a, double b) {
    return a == b;
}

static bool is_less(double a, double b) {
    return a < b;
}

static bool is_less_or_equal(double a, double b) {
    return a <= b;
}

static bool is_greater(double a, double b) {
    return a > b;
}

static bool is_greater_or_equal(double a, double b) {
    return a >= b;
}

/* An op of two operands, or the attribute that says which it is: a comparison, or arithmetic on whole and on real
 * numbers, of which either may be missing. */
static const struct pairing {
    const char *op;
    bool (*compare)(double a, double b);
    int64_t (*wholes)(int64_t a, int64_t b);
    double (*reals)(double a, double b);
} pairings[] = {{"Equal", is_equal, NULL, NULL},
                {"Less", is_less, NULL, NULL},
                {"LessOrEqual", is_less_or_equal, NULL, NULL},
                {"Greater", is_greater, NULL, NULL},
                {"GreaterOrEqual", is_greater_or_equal, NULL, NULL},
                {"And", NULL, both_true, NULL},
                {"Or", NULL, any_true, NULL},
                {"Xor", NULL, one_true, NULL},
                {"BitwiseAnd", NULL, bits_of_both, NULL},
                {"BitwiseOr", NULL, bits_of_any, NULL},
                {"BitwiseXor", NULL, bits_of_one, NULL},
                {"LEFT", NULL, shifted_left, NULL},
                {"RIGHT", NULL, shifted_right, NULL},
                {"fmod", NULL, c_rest_of_wholes, fmod},
                {"Add", NULL, add_wholes, add},
                {"Sum", NULL, add_wholes, add},
                {"Sub", NULL, subtract_wholes, subtract},
                {"Mul", NULL, multiply_wholes, multiply},
                {"Div", NULL, divide_wholes, divide},
                {"Mod", NULL, rest_of_wholes, rest},
                {"Max", NULL, larger_whole, larger},
                {"Min", NULL, smaller_whole, smaller},
                {"Pow", NULL, NULL, pow}};

static const struct pairing *pairing_of(const char *op) {
    for (size_t i = 0; i < sizeof pairings / sizeof pairings[0]; i++)
        if (strcmp(pairings[i].op, op) == 0)
            return &pairings[i];
    return NULL;
}

static const firnc_onnx_tensor *two(firnc_onnx_importer *im, const struct pairing *p, const firnc_onnx_tensor *a,
                                    const firnc_onnx_tensor *b) {
    const bool wholes = p->wholes != NULL && a->wholes != NULL && b->wholes != NULL;
    firnc_onnx_walk x, y;
    if (p->compare == NULL && p->reals == NULL && !wholes)
        return NULL;
    firnc_onnx_tensor *made = firnc_onnx_broadcast(im, p->compare != NULL ? FIRNC_ONNX_BOOL : a->type,
                                                   (const firnc_onnx_tensor *[]){a, b}, 2);
    if (made == NULL)
        return NULL;
    firnc_onnx_walk_begin(&x, a, made);
    firnc_onnx_walk_begin(&y, b, made);
    for (uint64_t i = 0; i < made->count; i++) {
        if (wholes)
            made->wholes[i] = firnc_onnx_narrowed(p->wholes(a->wholes[x.position], b->wholes[y.position]), made->type);
        else if (p->compare != NULL)
            made->wholes[i] = p->compare(firnc_onnx_number(a, x.position), firnc_onnx_number(b, y.position));
        else
            firnc_onnx_put(made, i, p->reals(firnc_onnx_number(a, x.position), firnc_onnx_number(b, y.position)));
        firnc_onnx_walk_on(&x, made);
        firnc_onnx_walk_on(&y, made);
    }
    return made;
}

/* The op over two operands, or over several from the first to the last. */
const firnc_onnx_tensor *firnc_onnx_fold_join(firnc_onnx_importer *im, const firnc_onnx_node *node,
                                              const firnc_onnx_tensor *const *in) {
    const bool shifts = strcmp(node->op, "BitShift") == 0;
    const struct pairing *p = pairing_of(shifts ? firnc_onnx_text(node, "direction", "")
                                         : firnc_onnx_integer(node, "fmod", 0) != 0 ? "fmod"
                                                                                    : node->op);
    const firnc_onnx_tensor *made = in[0];
    if (p == NULL && shifts)
        firnc_onnx_fail(im, "has the direction %s; LEFT and RIGHT are known",
                        firnc_onnx_text(node, "direction", "\"\""));
    if (p == NULL || node->input_count < 2)
        return NULL;
    for (uint32_t i = 1; i < node->input_count && made != NULL && in[i] != NULL; i++)
        made = two(im, p, made, in[i]);
    return made;
}

const firnc_onnx_tensor *firnc_onnx_fold_where(firnc_onnx_importer *im, const firnc_onnx_node *node,
                                               const firnc_onnx_tensor *const *in) {
    const firnc_onnx_tensor *condition = in[0], *a = in[1], *b = in[2];
    firnc_onnx_walk walks[3];
    (void)node;
    firnc_onnx_tensor *made = firnc_onnx_broadcast(im, a->type, in, 3);
    if (made == NULL || a->type != b->type)
        return NULL;
    for (int i = 0; i < 3; i++)
        firnc_onnx_walk_begin(&walks[i], in[i], made);
    for (uint64_t i = 0; i < made->count; i++) {
        const bool first = firnc_onnx_number(condition, walks[0].position) != 0;
        firnc_onnx_copy_element(made, i, first ? a : b, walks[first ? 1 : 2].position);
        for (int j = 0; j < 3; j++)
            firnc_onnx_walk_on(&walks[j], made);
    }
    return made;
}

/* --- one operand -------------------------------------------------------------------------------------------------- */

static double minus(double x) {
    return -x;
}

static double reciprocal(double x) {
    return 1 / x;
}

static double sign(double x) {
    return (x > 0) - (x < 0);
}

static double not_true(double x) {
    return x == 0;
}

static double is_nan(double x) {
    return isnan(x);
}

static double relu(double x) {
    return x < 0 ? 0 : x;
}

static double sigmoid(double x) {
    return 1 / (1 + exp(-x));
}

double firnc_onnx_nearest_even(double x) {
    const double below = floor(x), beyond = x - below;
    if (!isfinite(x))
        return x;
    const bool up = beyond > 0.5 || (beyond == 0.5 && fmod(below, 2) != 0);
    return copysign(below + up, x);
}

static int64_t minus_whole(int64_t x) {
    return subtract_wholes(0, x);
}

static int64_t absolute_whole(int64_t x) {
    return x < 0 ? minus_whole(x) : x;
}

static int64_t without_bits(int64_t x) {
    return ~x;
}

/* An op of one operand, on real and on whole numbers; without a function of their own, whole numbers are computed as
 * real ones. */
static const struct function {
    const char *op;
    double (*reals)(double x);
    int64_t (*wholes)(int64_t x);
    bool truth; /* the result is of the type bool */
} functions[] = {{.op = "Abs", .reals = fabs, .wholes = absolute_whole},
                 {.op = "Acos", .reals = acos},
                 {.op = "Acosh", .reals = acosh},
                 {.op = "Asin", .reals = asin},
                 {.op = "Asinh", .reals = asinh},
                 {.op = "Atan", .reals = atan},
                 {.op = "Atanh", .reals = atanh},
                 {.op = "BitwiseNot", .wholes = without_bits},
                 {.op = "Ceil", .reals = ceil},
                 {.op = "Cos", .reals = cos},
                 {.op = "Cosh", .reals = cosh},
                 {.op = "Erf", .reals = erf},
                 {.op = "Exp", .reals = exp},
                 {.op = "Floor", .reals = floor},
                 {.op = "IsNaN", .reals = is_nan, .truth = true},
                 {.op = "Log", .reals = log},
                 {.op = "Neg", .reals = minus, .wholes = minus_whole},
                 {.op = "Not", .reals = not_true, .truth = true},
                 {.op = "Reciprocal", .reals = reciprocal},
                 {.op = "Relu", .reals = relu},
                 {.op = "Round", .reals = firnc_onnx_nearest_even},
                 {.op = "Sigmoid", .reals = sigmoid},
                 {.op = "Sign", .reals = sign},
                 {.op = "Sin", .reals = sin},
                 {.op = "Sinh", .reals = sinh},
                 {.op = "Sqrt", .reals = sqrt},
                 {.op = "Tan", .reals = tan},
                 {.op = "Tanh", .reals = tanh}};

static const struct function *function_of(const char *op) {
    for (size_t i = 0; i < sizeof functions / sizeof functions[0]; i++)
        if (strcmp(functions[i].op, op) == 0)
            return &functions[i];
    return NULL;
}

const firnc_onnx_tensor *firnc_onnx_fold_apply(firnc_onnx_importer *im, const firnc_onnx_node *node,
                                               const firnc_onnx_tensor *const *in) {
    const struct function *function = function_of(node->op);
    const firnc_onnx_tensor *x = in[0];
    const bool whole = x->wholes != NULL && function != NULL && function->wholes != NULL;
    if (function == NULL || (function->reals == NULL && !whole))
        return NULL;
    firnc_onnx_tensor *made = firnc_onnx_tensor_new(im, function->truth ? FIRNC_ONNX_BOOL : x->type, x->rank, x->dims);
    for (uint64_t i = 0; made != NULL && i < made->count; i++)
        if (whole)
            made->wholes[i] = firnc_onnx_narrowed(function->wholes(x->wholes[i]), x->type);
        else
            firnc_onnx_put(made, i, function->reals(firnc_onnx_number(x, i)));
    return made;
}

const firnc_onnx_tensor *firnc_onnx_fold_is_inf(firnc_onnx_importer *im, const firnc_onnx_node *node,
                                                const firnc_onnx_tensor *const *in) {
    const firnc_onnx_tensor *x = in[0];
    const bool above = firnc_onnx_integer(node, "detect_positive", 1) != 0,
               below = firnc_onnx_integer(node, "detect_negative", 1) != 0;
    firnc_onnx_tensor *made = firnc_onnx_tensor_new(im, FIRNC_ONNX_BOOL, x->rank, x->dims);
    for (uint64_t i = 0; made != NULL && i < made->count; i++) {
        const double number = firnc_onnx_number(x, i);
        made->wholes[i] = isinf(number) && (number > 0 ? above : below);
    }
    return made;
}

const firnc_onnx_tensor *firnc_onnx_fold_clip(firnc_onnx_importer *im, const firnc_onnx_node *node,
                                              const firnc_onnx_tensor *const *in) {
    const firnc_onnx_tensor *x = in[0];
    double bounds[2] = {-HUGE_VAL, HUGE_VAL};
    for (uint32_t i = 0; i < 2; i++)
        (void)firnc_onnx_single(node->inputs[1 + i], &bounds[i]);
    firnc_onnx_tensor *made = firnc_onnx_tensor_new(im, x->type, x->rank, x->dims);
    for (uint64_t i = 0; made != NULL && i < made->count; i++) {
        double number = firnc_onnx_number(x, i);
        number = number < bounds[0] ? bounds[0] : number;
        firnc_onnx_put(made, i, number > bounds[1] ? bounds[1] : number);
    }
    return made;
}

/* --- types -------------------------------------------------------------------------------------------------------- */

int64_t firnc_onnx_narrowed(int64_t x, uint8_t type) {
    static const struct {
        uint8_t type, bits;
        bool sign;
    } rows[] = {{FIRNC_ONNX_UINT8, 8, false}, {FIRNC_ONNX_INT8, 8, true},   {FIRNC_ONNX_UINT16, 16, false},
                {FIRNC_ONNX_INT16, 16, true}, {FIRNC_ONNX_INT32, 32, true}, {FIRNC_ONNX_UINT32, 32, false}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (rows[i].type == type) {
            const int64_t low = (int64_t)((uint64_t)x & ((UINT64_C(1) << rows[i].bits) - 1));
            return rows[i].sign && (low >> (rows[i].bits - 1)) != 0 ? low - ((int64_t)1 << rows[i].bits) : low;
        }
    return x;
}

bool firnc_onnx_check_cast(firnc_onnx_importer *im, int64_t type) {
    return firnc_onnx_is_type(type) ||
           firnc_onnx_fail(im, "has to %s, which Firn does not have; cast to float or int64",
                           firnc_onnx_type_word(type));
}

const firnc_onnx_tensor *firnc_onnx_tensor_cast(firnc_onnx_importer *im, const firnc_onnx_tensor *x, int64_t type) {
    if (!firnc_onnx_check_cast(im, type))
        return NULL;
    firnc_onnx_tensor *made = firnc_onnx_tensor_new(im, (uint8_t)type, x->rank, x->dims);
    for (uint64_t i = 0; made != NULL && i < made->count; i++) {
        if (type == FIRNC_ONNX_BOOL)
            made->wholes[i] = firnc_onnx_number(x, i) != 0;
        else if (made->wholes != NULL && x->wholes != NULL)
            made->wholes[i] = firnc_onnx_narrowed(x->wholes[i], made->type);
        else
            firnc_onnx_put(made, i, firnc_onnx_number(x, i));
        if (made->wholes != NULL && x->wholes == NULL)
            made->wholes[i] = firnc_onnx_narrowed(made->wholes[i], made->type);
    }
    return made;
}

const firnc_onnx_tensor *firnc_onnx_fold_cast(firnc_onnx_importer *im, const firnc_onnx_node *node,
                                              const firnc_onnx_tensor *const *in) {
    return firnc_onnx_tensor_cast(im, in[0], in[1] != NULL ? in[1]->type : firnc_onnx_integer(node, "to", 0));
}

const firnc_onnx_tensor *firnc_onnx_fold_same(firnc_onnx_importer *im, const firnc_onnx_node *node,
                                              const firnc_onnx_tensor *const *in) {
    (void)im;
    (void)node;
    return in[0];
}
