/* Recognises what exporters write as several nodes and Firn has as one op: activations, norms, attention and the bias
 * of a linear layer. A pattern looks back from its last node; what was recorded for the others stays in the graph
 * without a reader, and is left out of the plan. A pattern that does not match exactly changes nothing. */
#include <math.h>
#include <string.h>

#include "compiler/onnx/import.h"

/* --- looking back ------------------------------------------------------------------------------------------------- */

/* The node that made a value, if it is of this op; else NULL. */
static const firnc_onnx_node *made_by(const firnc_onnx_value *value, const char *op) {
    return value != NULL && value->producer != NULL && value->known == NULL && strcmp(value->producer->op, op) == 0
               ? value->producer
               : NULL;
}

static bool same(const firnc_onnx_value *a, const firnc_onnx_value *b) {
    return a == b || (a != NULL && b != NULL && a->value != FIRNC_NONE && a->value == b->value && a->rank == b->rank &&
                      memcmp(a->order, b->order, a->rank) == 0);
}

/* The same number but for the rounding of a few factors to float. */
static bool near(double a, double b) {
    return fabs(a - b) <= 5e-7 * fabs(b);
}

static bool number_of(const firnc_onnx_value *value, double *number) {
    return firnc_onnx_is_constant(value) && firnc_onnx_single(value, number);
}

/* The operand of a node that is no number, and the number of the other one; NULL if there is none. */
static firnc_onnx_value *beside_number(const firnc_onnx_node *node, double *number) {
    if (node == NULL || node->input_count != 2)
        return NULL;
    if (number_of(node->inputs[1], number))
        return node->inputs[0];
    return number_of(node->inputs[0], number) ? node->inputs[1] : NULL;
}

/* What ReduceMean took over the last axis; NULL if the value is something else. */
static firnc_onnx_value *mean_of(const firnc_onnx_value *value) {
    const firnc_onnx_node *node = made_by(value, "ReduceMean");
    const int64_t *list;
    if (node == NULL || firnc_onnx_integer(node, "keepdims", 1) == 0)
        return NULL;
    uint32_t count = firnc_onnx_integers(node, "axes", &list);
    if (count == 0 && node->inputs[1] != NULL && firnc_onnx_is_constant(node->inputs[1]) &&
        node->inputs[1]->known->wholes != NULL) {
        list = node->inputs[1]->known->wholes;
        count = (uint32_t)node->inputs[1]->known->count;
    }
    firnc_onnx_value *x = node->inputs[0];
    return count == 1 && (list[0] == -1 || list[0] == x->rank - 1) ? x : NULL;
}

/* What a value is the square of. */
static firnc_onnx_value *square_of(const firnc_onnx_value *value) {
    const firnc_onnx_node *node = made_by(value, "Pow");
    double number;
    if (node != NULL && number_of(node->inputs[1], &number) && number == 2)
        return node->inputs[0];
    node = made_by(value, "Mul");
    return node != NULL && same(node->inputs[0], node->inputs[1]) ? node->inputs[0] : NULL;
}

/* x of a root of (mean(x^2) + epsilon). */
static firnc_onnx_value *root_mean_square_of(const firnc_onnx_value *value, double *epsilon) {
    const firnc_onnx_node *root = made_by(value, "Sqrt");
    const firnc_onnx_node *sum = root == NULL ? NULL : made_by(root->inputs[0], "Add");
    const firnc_onnx_value *mean = beside_number(sum, epsilon);
    firnc_onnx_value *squares = mean == NULL ? NULL : mean_of(mean);
    return squares == NULL || !(*epsilon > 0) ? NULL : square_of(squares);
}

/* The root of which a value is the reciprocal. */
static const firnc_onnx_value *reciprocal_of(const firnc_onnx_value *value) {
    const firnc_onnx_node *node = made_by(value, "Reciprocal");
    double number;
    if (node != NULL)
        return node->inputs[0];
    node = made_by(value, "Div");
    return node != NULL && number_of(node->inputs[0], &number) && number == 1 ? node->inputs[1] : NULL;
}

/* --- products ----------------------------------------------------------------------------------------------------- */

#define FACTORS_MAX 4

/* A product: numbers, values, and values that divide it. */
typedef struct factors {
    firnc_onnx_value *terms[FACTORS_MAX];
    bool divides[FACTORS_MAX];
    uint32_t count;
    double scale;
} factors;

/* Takes a product apart; false if it has too many factors. */
static bool take_apart(firnc_onnx_value *value, factors *to) {
    firnc_onnx_value *open[FACTORS_MAX + 1] = {value};
    uint32_t left = 1;
    for (uint32_t steps = 0; left > 0 && steps < 4 * FACTORS_MAX; steps++) {
        firnc_onnx_value *at = open[--left];
        const firnc_onnx_node *product = made_by(at, "Mul"), *quotient = made_by(at, "Div");
        double number;
        if (number_of(at, &number)) {
            to->scale *= number;
        } else if (product != NULL && left + 2 <= FACTORS_MAX) {
            open[left++] = product->inputs[0];
            open[left++] = product->inputs[1];
        } else if (quotient != NULL && number_of(quotient->inputs[1], &number) && left + 1 <= FACTORS_MAX) {
            to->scale /= number;
            open[left++] = quotient->inputs[0];
        } else if (quotient != NULL && made_by(quotient->inputs[1], "Sqrt") != NULL && left + 1 <= FACTORS_MAX &&
                   to->count < FACTORS_MAX) {
            to->divides[to->count] = true;
            to->terms[to->count++] = quotient->inputs[1];
            open[left++] = quotient->inputs[0];
        } else if (to->count < FACTORS_MAX) {
            to->terms[to->count++] = at;
        } else {
            return false;
        }
    }
    return left == 0;
}

/* The factors of a node that is not recorded yet. */
static bool factors_of(const firnc_onnx_node *node, factors *to) {
    *to = (factors){.scale = 1};
    for (uint32_t i = 0; i < 2; i++)
        if (!take_apart(node->inputs[i], to))
            return false;
    return true;
}

/* x of erf(x / sqrt(2)). */
static bool is_erf_of(const firnc_onnx_value *value, const firnc_onnx_value *x) {
    const firnc_onnx_node *erf = made_by(value, "Erf");
    factors f = {.scale = 1};
    return erf != NULL && take_apart(erf->inputs[0], &f) && f.count == 1 && !f.divides[0] && same(f.terms[0], x) &&
           near(f.scale, 0.70710678118654752);
}

/* Whether a value is x^3 times a number. */
static bool is_cube_of(firnc_onnx_value *value, const firnc_onnx_value *x, double *scale) {
    factors f = {.scale = 1};
    double number;
    if (!take_apart(value, &f))
        return false;
    *scale = f.scale;
    const firnc_onnx_node *power = f.count == 1 ? made_by(f.terms[0], "Pow") : NULL;
    if (power != NULL)
        return number_of(power->inputs[1], &number) && number == 3 && same(power->inputs[0], x);
    uint32_t degree = 0;
    for (uint32_t i = 0; i < f.count; i++) {
        const firnc_onnx_value *root = square_of(f.terms[i]);
        if (f.divides[i] || !(same(f.terms[i], x) || (root != NULL && same(root, x))))
            return false;
        degree += same(f.terms[i], x) ? 1 : 2;
    }
    return degree == 3;
}

/* tanh(sqrt(2 / pi) (x + 0.044715 x^3)). */
static bool is_tanh_of(const firnc_onnx_value *value, const firnc_onnx_value *x) {
    const firnc_onnx_node *tanh_node = made_by(value, "Tanh");
    factors f = {.scale = 1};
    double cube;
    if (tanh_node == NULL || !take_apart(tanh_node->inputs[0], &f) || f.count != 1 || f.divides[0] ||
        !near(f.scale, 0.79788456080286536))
        return false;
    const firnc_onnx_node *sum = made_by(f.terms[0], "Add");
    for (uint32_t i = 0; sum != NULL && i < 2; i++)
        if (same(sum->inputs[i], x) && is_cube_of(sum->inputs[1 - i], x, &cube) && near(cube, 0.044715))
            return true;
    return false;
}

/* x (1 + erf(x / sqrt(2))) and x (1 + tanh(...)), with the factor 1/2: gelu. */
static bool match_gelu(const factors *f, firnc_onnx_value **x, int *form) {
    for (uint32_t i = 0; f->count == 2 && i < 2; i++) {
        double one;
        *x = f->terms[i];
        const firnc_onnx_value *inner = beside_number(made_by(f->terms[1 - i], "Add"), &one);
        if (f->divides[i] || inner == NULL || one != 1 || !near(f->scale, 0.5))
            continue;
        *form = is_erf_of(inner, *x) ? FIRNC_GELU_ERF : FIRNC_GELU_TANH;
        if (*form == FIRNC_GELU_ERF || is_tanh_of(inner, *x))
            return true;
    }
    return false;
}

static bool match_silu(const factors *f, firnc_onnx_value **x) {
    for (uint32_t i = 0; f->count == 2 && f->scale == 1 && i < 2; i++) {
        const firnc_onnx_node *sigmoid = made_by(f->terms[1 - i], "Sigmoid");
        *x = f->terms[i];
        if (sigmoid != NULL && !f->divides[i] && same(sigmoid->inputs[0], *x))
            return true;
    }
    return false;
}

/* A gain or bias of the last axis. */
static bool is_of_rows(const firnc_onnx_value *value, const firnc_onnx_value *x) {
    return value->rank == 1 && value->dims[0] == x->dims[x->rank - 1] && x->order[x->rank - 1] == x->rank - 1;
}

/* x / root mean square * gain */
static bool match_rms_norm(const factors *f, firnc_onnx_value **x, firnc_onnx_value **gain, double *epsilon) {
    for (uint32_t i = 0; f->count == 3 && f->scale == 1 && i < 3; i++) {
        const firnc_onnx_value *root = f->divides[i] ? f->terms[i] : reciprocal_of(f->terms[i]);
        firnc_onnx_value *from = root == NULL ? NULL : root_mean_square_of(root, epsilon);
        for (uint32_t j = 0; from != NULL && j < 3; j++) {
            const uint32_t other = 3 - i - j;
            if (j == i || other == i || !same(f->terms[j], from) || !is_of_rows(f->terms[other], from))
                continue;
            *x = f->terms[j];
            *gain = f->terms[other];
            return true;
        }
    }
    return false;
}

bool firnc_onnx_match_product(firnc_onnx_importer *im, const firnc_onnx_node *node, bool *found) {
    factors f;
    firnc_onnx_value *x = NULL, *gain = NULL;
    double epsilon;
    int form;
    firnc_value y = FIRNC_NONE;
    if (!firnc_onnx_is_real(node->inputs[0]->type))
        return true;
    const factors both = {.terms = {node->inputs[0], node->inputs[1]}, .count = 2, .scale = 1};
    const bool plain = match_silu(&both, &x);
    if (!plain && !factors_of(node, &f))
        return true;
    if (!plain && match_gelu(&f, &x, &form))
        y = firnc_onnx_made(im, firnc_gelu(im->graph, firnc_onnx_raw(im, x), form));
    else if (plain || match_silu(&f, &x))
        y = firnc_onnx_made(im, firnc_silu(im->graph, firnc_onnx_raw(im, x)));
    else if (match_rms_norm(&f, &x, &gain, &epsilon)) {
        const firnc_value g = firnc_onnx_plain(im, gain), raw = firnc_onnx_raw(im, x);
        y = im->failed ? FIRNC_NONE : firnc_onnx_made(im, firnc_rms_norm(im->graph, raw, g, (float)epsilon));
    }
    *found = y != FIRNC_NONE;
    if (*found)
        (void)firnc_onnx_set_like(im, node->outputs[0], y, x);
    return !im->failed;
}

/* --- sums --------------------------------------------------------------------------------------------------------- */

/* The product of a linear layer without a bias, and a bias for it. */
static bool match_bias(firnc_onnx_importer *im, const firnc_onnx_node *node, bool *found) {
    firnc_graph *graph = im->graph;
    for (uint32_t i = 0; i < 2; i++) {
        const firnc_onnx_value *y = node->inputs[i];
        firnc_onnx_value *bias = node->inputs[1 - i];
        const uint32_t producer = y->value == FIRNC_NONE ? FIRNC_NONE : graph->values[y->value].producer;
        if (producer == FIRNC_NONE || made_by(y, "MatMul") == NULL || bias->known == NULL ||
            !firnc_onnx_is_real(bias->type) || graph->nodes[producer].code != FIRN_OP_linear ||
            graph->nodes[producer].input_count != 2 || !is_of_rows(bias, y))
            continue;
        const firnc_node linear = graph->nodes[producer];
        const firnc_value b = firnc_onnx_plain(im, bias);
        if (im->failed)
            return false;
        const firnc_value sum =
            firnc_linear(graph, linear.inputs[FIRN_LINEAR_IN_X], linear.inputs[FIRN_LINEAR_IN_WEIGHT], b,
                         (int)linear.integers[FIRN_LINEAR_LAYOUT]);
        firnc_onnx_set_ordered(im, node->outputs[0], firnc_onnx_made(im, sum), y->type, y->rank, y->order);
        *found = true;
        return !im->failed;
    }
    return true;
}

/* x of (x - mean) / root of (mean of (x - mean)^2 + epsilon). */
static firnc_onnx_value *normalised_of(const firnc_onnx_value *value, double *epsilon) {
    const firnc_onnx_node *quotient = made_by(value, "Div");
    const firnc_onnx_value *centred = quotient == NULL ? NULL : quotient->inputs[0];
    const firnc_onnx_node *difference = made_by(centred, "Sub");
    if (difference == NULL || !same(root_mean_square_of(quotient->inputs[1], epsilon), centred))
        return NULL;
    const firnc_onnx_value *mean = mean_of(difference->inputs[1]);
    return mean != NULL && same(mean, difference->inputs[0]) ? difference->inputs[0] : NULL;
}

static bool match_layer_norm(firnc_onnx_importer *im, const firnc_onnx_node *node, bool *found) {
    for (uint32_t i = 0; i < 4; i++) {
        firnc_onnx_value *bias = node->inputs[i & 1];
        const firnc_onnx_node *scaled = made_by(node->inputs[1 - (i & 1)], "Mul");
        double epsilon;
        if (scaled == NULL)
            continue;
        firnc_onnx_value *gain = scaled->inputs[i >> 1];
        firnc_onnx_value *x = normalised_of(scaled->inputs[1 - (i >> 1)], &epsilon);
        if (x == NULL || !is_of_rows(gain, x) || !is_of_rows(bias, x))
            continue;
        const firnc_value raw = firnc_onnx_raw(im, x), g = firnc_onnx_plain(im, gain), b = firnc_onnx_plain(im, bias);
        if (im->failed)
            return false;
        *found = true;
        return firnc_onnx_set_like(im, node->outputs[0],
                                   firnc_onnx_made(im, firnc_layer_norm(im->graph, raw, g, b, (float)epsilon)), x);
    }
    return true;
}

bool firnc_onnx_match_sum(firnc_onnx_importer *im, const firnc_onnx_node *node, bool *found) {
    return match_bias(im, node, found) && (*found || match_layer_norm(im, node, found));
}

/* --- attention ---------------------------------------------------------------------------------------------------- */

/* Which elements a score keeps: row i sees column j. False if neither all nor those up to its own. */
static bool is_causal(const firnc_onnx_tensor *mask, int64_t length, bool (*keeps)(double number), bool *causal) {
    bool all = true, lower = true;
    if (mask->rank < 2 || mask->dims[mask->rank - 1] != length || mask->dims[mask->rank - 2] != length ||
        mask->count != (uint64_t)(length * length))
        return false;
    for (int64_t i = 0; i < length; i++)
        for (int64_t j = 0; j < length; j++) {
            const bool kept = keeps(firnc_onnx_number(mask, (uint64_t)(i * length + j)));
            all = all && kept;
            lower = lower && kept == (j <= i);
        }
    *causal = lower && !all;
    return all || lower;
}

static bool is_not_zero(double number) {
    return number != 0;
}

static bool is_zero(double number) {
    return number == 0;
}

static bool is_lowest(double number) {
    return number < -3e38;
}

/* Whether a mask that is added either keeps a score, by adding 0, or drops it. */
static bool only_drops(const firnc_onnx_tensor *mask) {
    for (uint64_t i = 0; i < mask->count; i++)
        if (firnc_onnx_number(mask, i) != 0 && !is_lowest(firnc_onnx_number(mask, i)))
            return false;
    return true;
}

/* Takes a mask off the scores; NULL if it is another than a causal one. */
static firnc_onnx_value *without_mask(firnc_onnx_value *scores, int64_t length, bool *causal) {
    const firnc_onnx_node *where = made_by(scores, "Where"), *sum = made_by(scores, "Add");
    double number;
    *causal = false;
    for (uint32_t i = 0; where != NULL && i < 2; i++)
        if (number_of(where->inputs[1 + i], &number) && is_lowest(number))
            return firnc_onnx_is_constant(where->inputs[0]) &&
                           is_causal(where->inputs[0]->known, length, i == 0 ? is_zero : is_not_zero, causal)
                       ? where->inputs[2 - i]
                       : NULL;
    for (uint32_t i = 0; sum != NULL && i < 2; i++)
        if (firnc_onnx_is_constant(sum->inputs[i]))
            return only_drops(sum->inputs[i]->known) && is_causal(sum->inputs[i]->known, length, is_zero, causal)
                       ? sum->inputs[1 - i]
                       : NULL;
    return scores;
}

/* Takes numbers off a product. */
static firnc_onnx_value *without_scale(firnc_onnx_value *value, double *scale) {
    for (uint32_t steps = 0; steps < FACTORS_MAX; steps++) {
        const firnc_onnx_node *product = made_by(value, "Mul"), *quotient = made_by(value, "Div");
        double number;
        firnc_onnx_value *inner = beside_number(product, &number);
        if (inner != NULL) {
            *scale *= number;
            value = inner;
        } else if (quotient != NULL && number_of(quotient->inputs[1], &number)) {
            *scale /= number;
            value = quotient->inputs[0];
        } else {
            break;
        }
    }
    return value;
}

/* Takes a dropout off the probabilities, and the guard of exporters against rows without any key, which a causal mask
 * does not have. */
static firnc_onnx_value *without_dropout(firnc_onnx_value *p, double *rate) {
    const firnc_onnx_node *guard = made_by(p, "Where"), *dropout;
    double number;
    if (guard != NULL && made_by(guard->inputs[0], "IsNaN") != NULL && number_of(guard->inputs[1], &number) &&
        number == 0 && same(made_by(guard->inputs[0], "IsNaN")->inputs[0], guard->inputs[2]))
        p = guard->inputs[2];
    *rate = 0;
    dropout = made_by(p, "Dropout");
    if (dropout == NULL)
        return p;
    *rate = 0.5;
    if (dropout->input_count > 1 && dropout->inputs[1] != NULL && !firnc_onnx_single(dropout->inputs[1], rate))
        return NULL;
    return dropout->inputs[0];
}

/* A value with its last two axes exchanged, without moving an element. */
static firnc_onnx_value *exchanged(const firnc_onnx_value *value) {
    firnc_onnx_value *to = firnc_onnx_value_new(value->name);
    firnc_onnx_alias(to, value);
    to->plain = FIRNC_NONE;
    to->known = NULL;
    to->dims[2] = value->dims[3];
    to->dims[3] = value->dims[2];
    for (uint8_t i = 0; i < 4; i++)
        to->order[i] = value->order[i] == 2 ? 3 : value->order[i] == 3 ? 2 : value->order[i];
    return to;
}

bool firnc_onnx_match_attention(firnc_onnx_importer *im, const firnc_onnx_node *node, bool *found) {
    firnc_onnx_value *v = node->inputs[1];
    double rate, scale = 1;
    bool causal;
    firnc_onnx_value *p = without_dropout(node->inputs[0], &rate);
    const firnc_onnx_node *softmax = p == NULL ? NULL : made_by(p, "Softmax");
    if (softmax == NULL || v->rank != 4 || p->rank != 4 || v->value == FIRNC_NONE)
        return true;
    const int64_t axis = firnc_onnx_integer(softmax, "axis", -1);
    if (axis != -1 && axis != 3)
        return true;
    firnc_onnx_value *scores = without_mask(softmax->inputs[0], v->dims[2], &causal);
    const firnc_onnx_node *product = scores == NULL ? NULL : made_by(without_scale(scores, &scale), "MatMul");
    if (product == NULL)
        return true;
    firnc_onnx_value *q = without_scale(product->inputs[0], &scale), *k = without_scale(product->inputs[1], &scale);
    if (q->rank != 4 || k->rank != 4 || q->value == FIRNC_NONE || k->value == FIRNC_NONE)
        return true;
    k = exchanged(k);
    for (uint8_t i = 0; i < 4; i++)
        if (q->dims[i] != v->dims[i] || k->dims[i] != v->dims[i])
            return true;
    if (!(scale > 0 && isfinite(scale)))
        return true;
    const firnc_onnx_attention attention = {.causal = causal, .scale = (float)scale, .dropout_rate = (float)rate};
    *found = true;
    return firnc_onnx_attend(im, q, k, v, &attention, node->outputs[0]);
}
