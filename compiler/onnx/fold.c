/* Computes nodes whose inputs are all known: sizes, shapes, masks, tables of positions. Whole numbers are int64, reals
 * are computed in double and rounded to float. Only ops that occur in such computations are in the table below; the
 * graph computes the others. */
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

/* An op of two operands: a comparison, or arithmetic on whole and on real numbers, of which either may be missing. */
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
                {"Add", NULL, add_wholes, add},
                {"Sum", NULL, add_wholes, add},
                {"Sub", NULL, subtract_wholes, subtract},
                {"Mul", NULL, multiply_wholes, multiply},
                {"Div", NULL, divide_wholes, divide},
                {"Mod", NULL, rest_of_wholes, fmod},
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
            made->wholes[i] = p->wholes(a->wholes[x.position], b->wholes[y.position]);
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
static const firnc_onnx_tensor *join(firnc_onnx_importer *im, const firnc_onnx_node *node,
                                     const firnc_onnx_tensor *const *in) {
    const struct pairing *p = pairing_of(node->op);
    const firnc_onnx_tensor *made = in[0];
    if (strcmp(node->op, "Mod") == 0 && firnc_onnx_integer(node, "fmod", 0) != 0 && in[0]->wholes != NULL) {
        firnc_onnx_fail(im, "has fmod 1 for whole numbers, which Firn does not have; leave it out");
        return NULL;
    }
    if (node->input_count < 2)
        return NULL;
    for (uint32_t i = 1; i < node->input_count && made != NULL && in[i] != NULL; i++)
        made = two(im, p, made, in[i]);
    return made;
}

static const firnc_onnx_tensor *choose(firnc_onnx_importer *im, const firnc_onnx_node *node,
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

static const struct function {
    const char *op;
    double (*compute)(double x);
} functions[] = {{"Abs", fabs},     {"Ceil", ceil},   {"Cos", cos}, {"Erf", erf},
                 {"Exp", exp},      {"Floor", floor}, {"Log", log}, {"Neg", minus},
                 {"Not", not_true}, {"Sign", sign},   {"Sin", sin}, {"Reciprocal", reciprocal},
                 {"Sqrt", sqrt},    {"Tanh", tanh}};

static const struct function *function_of(const char *op) {
    for (size_t i = 0; i < sizeof functions / sizeof functions[0]; i++)
        if (strcmp(functions[i].op, op) == 0)
            return &functions[i];
    return NULL;
}

static const firnc_onnx_tensor *apply(firnc_onnx_importer *im, const firnc_onnx_node *node,
                                      const firnc_onnx_tensor *const *in) {
    const struct function *function = function_of(node->op);
    const firnc_onnx_tensor *x = in[0];
    firnc_onnx_tensor *made = firnc_onnx_tensor_new(im, x->type, x->rank, x->dims);
    for (uint64_t i = 0; made != NULL && i < made->count; i++)
        firnc_onnx_put(made, i, function->compute(firnc_onnx_number(x, i)));
    return made;
}

static const firnc_onnx_tensor *clip(firnc_onnx_importer *im, const firnc_onnx_node *node,
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

/* A whole number in a narrower type, which keeps its low bits. */
static int64_t narrowed(int64_t x, uint8_t type) {
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
            made->wholes[i] = narrowed(x->wholes[i], made->type);
        else
            firnc_onnx_put(made, i, firnc_onnx_number(x, i));
        if (made->wholes != NULL && x->wholes == NULL)
            made->wholes[i] = narrowed(made->wholes[i], made->type);
    }
    return made;
}

static const firnc_onnx_tensor *cast(firnc_onnx_importer *im, const firnc_onnx_node *node,
                                     const firnc_onnx_tensor *const *in) {
    return firnc_onnx_tensor_cast(im, in[0], in[1] != NULL ? in[1]->type : firnc_onnx_integer(node, "to", 0));
}

static const firnc_onnx_tensor *same(firnc_onnx_importer *im, const firnc_onnx_node *node,
                                     const firnc_onnx_tensor *const *in) {
    (void)im;
    (void)node;
    return in[0];
}

/* --- the table ---------------------------------------------------------------------------------------------------- */

/* Ops beside those of `pairings` and `functions`. */
static const struct row {
    const char *op;
    firnc_onnx_folding fold;
} rows[] = {
    {"Cast", cast},
    {"CastLike", cast},
    {"Clip", clip},
    {"Concat", firnc_onnx_fold_concat},
    {"ConstantOfShape", firnc_onnx_fold_constant_of_shape},
    {"CumSum", firnc_onnx_fold_cumsum},
    {"Expand", firnc_onnx_fold_expand},
    {"Flatten", firnc_onnx_fold_flatten},
    {"Gather", firnc_onnx_fold_gather},
    {"Identity", same},
    {"OneHot", firnc_onnx_fold_one_hot},
    {"Range", firnc_onnx_fold_range},
    {"ReduceMax", firnc_onnx_fold_reduce},
    {"ReduceMean", firnc_onnx_fold_reduce},
    {"ReduceMin", firnc_onnx_fold_reduce},
    {"ReduceProd", firnc_onnx_fold_reduce},
    {"ReduceSum", firnc_onnx_fold_reduce},
    {"Reshape", firnc_onnx_fold_reshape},
    {"Slice", firnc_onnx_fold_slice},
    {"Squeeze", firnc_onnx_fold_squeeze},
    {"Tile", firnc_onnx_fold_tile},
    {"Transpose", firnc_onnx_fold_transpose},
    {"Trilu", firnc_onnx_fold_trilu},
    {"Unsqueeze", firnc_onnx_fold_squeeze},
    {"Where", choose},
};

static firnc_onnx_folding folding_of(const char *op) {
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (strcmp(rows[i].op, op) == 0)
            return rows[i].fold;
    return pairing_of(op) != NULL ? join : function_of(op) != NULL ? apply : NULL;
}

bool firnc_onnx_fold(firnc_onnx_importer *im, const firnc_onnx_node *node, bool *done) {
    const firnc_onnx_folding fold = folding_of(node->op);
    const firnc_onnx_tensor *in[FIRNC_ONNX_OPERANDS_MAX] = {NULL};
    *done = false;
    if (node->input_count == 0)
        return true;
    if (strcmp(node->op, "Split") == 0) {
        *done = true;
        return firnc_onnx_fold_split(im, node);
    }
    if (fold == NULL)
        return true;
    for (uint32_t i = 0; i < node->input_count; i++)
        in[i] = node->inputs[i] == NULL ? NULL : node->inputs[i]->known;
    const firnc_onnx_tensor *made = fold(im, node, in);
    *done = made != NULL;
    firnc_onnx_set_known(node->outputs[0], made);
    return !im->failed;
}
