/* Sums of products: MatMul, Gemm and Einsum. A product with a matrix is a linear layer, whatever made the matrix;
 * others are products of equally many matrices. */
#include <string.h>

#include "compiler/onnx/import.h"

/* --- MatMul ------------------------------------------------------------------------------------------------------- */

/* x times a matrix: the layout follows from how the matrix stands. */
static firnc_value linear(firnc_onnx_importer *im, firnc_value x, firnc_onnx_value *weight, firnc_value bias) {
    const firnc_value w = firnc_onnx_raw_real(im, weight);
    if (im->failed)
        return FIRNC_NONE;
    const int layout = weight->order[0] == 0 ? FIRNC_IN_OUT : FIRNC_OUT_IN;
    return firnc_onnx_made(im, firnc_linear(im->graph, x, w, bias, layout));
}

/* An operand of a product as it stands, if only its last two axes may be exchanged; else in the order of the file. */
static firnc_value matrices(firnc_onnx_importer *im, firnc_onnx_value *x, bool *transposed) {
    const uint8_t rank = x->rank;
    uint8_t swapped[FIRN_RANK_MAX];
    firnc_onnx_identity(swapped);
    swapped[rank - 1] = (uint8_t)(rank - 2);
    swapped[rank - 2] = (uint8_t)(rank - 1);
    (void)firnc_onnx_raw(im, x);
    *transposed = memcmp(x->order, swapped, rank) == 0;
    return firnc_onnx_real(im, *transposed ? x->value : firnc_onnx_plain(im, x));
}

/* Repeats leading extents, so that both operands have the same. */
static firnc_value lead(firnc_onnx_importer *im, firnc_value x, uint8_t rank, const int64_t *leading) {
    int64_t dims[FIRN_RANK_MAX];
    if (im->failed)
        return FIRNC_NONE;
    const firn_shape *shape = firnc_onnx_shape(im, x);
    for (uint8_t i = 0; i < rank; i++)
        dims[i] = i + 2 < rank ? leading[i] : shape->dims[shape->rank - (rank - i)];
    return firnc_onnx_expand(im, x, rank, dims);
}

/* A vector as a matrix of one row or one column. */
static firnc_onnx_value *as_matrix(firnc_onnx_importer *im, firnc_onnx_value *x, bool row) {
    if (x->rank != 1)
        return x;
    firnc_onnx_value *matrix = firnc_onnx_value_new(x->name);
    const int64_t dims[] = {row ? 1 : x->dims[0], row ? x->dims[0] : 1};
    firnc_onnx_set(im, matrix, firnc_onnx_reshape(im, firnc_onnx_plain(im, x), 2, dims), x->type, 2);
    return matrix;
}

static firnc_value product(firnc_onnx_importer *im, firnc_onnx_value *a, firnc_onnx_value *b, uint8_t *rank) {
    int64_t leading[FIRN_RANK_MAX];
    bool transpose_a, transpose_b;
    *rank = a->rank > b->rank ? a->rank : b->rank;
    if (a->dims[a->rank - 1] != b->dims[b->rank - 2]) {
        firnc_onnx_fail(im, "multiplies rows of %lld elements with columns of %lld", (long long)a->dims[a->rank - 1],
                        (long long)b->dims[b->rank - 2]);
        return FIRNC_NONE;
    }
    if (b->rank == 2)
        return linear(im, firnc_onnx_plain_real(im, a), b, FIRNC_NONE);
    /* the extents in front of the matrices */
    uint8_t front = (uint8_t)(a->rank - 2);
    memcpy(leading, a->dims, front * sizeof *leading);
    if (!firnc_onnx_join_extents(&front, leading, (uint8_t)(b->rank - 2), b->dims)) {
        firnc_onnx_fail(im, "has operands whose numbers of matrices do not fit together");
        return FIRNC_NONE;
    }
    firnc_value x = matrices(im, a, &transpose_a), y = matrices(im, b, &transpose_b);
    x = lead(im, x, *rank, leading);
    y = lead(im, y, *rank, leading);
    return firnc_onnx_matmul(im, x, y, transpose_a, transpose_b);
}

/* The name of a weight whose bias the next node adds: "a.in_proj_weight" of "a.in_proj_bias"; NULL if there is none of
 * the module. */
static const char *name_beside_bias(const firnc_onnx_node *node) {
    const FirncOnnx__Node *next = node->next;
    const size_t length = strlen(node->layer);
    if (next == NULL || next->op_type == NULL || strcmp(next->op_type, "Add") != 0 || next->n_input != 2 ||
        node->proto->n_output != 1)
        return NULL;
    for (size_t i = 0; i < 2; i++) {
        const char *name = next->input[i], *end = name + strlen(name);
        if (strcmp(next->input[1 - i], node->proto->output[0]) == 0 && strncmp(name, node->layer, length) == 0 &&
            name[length] == '.' && end - name > (ptrdiff_t)length + 4 && strcmp(end - 4, "bias") == 0)
            return firnc_format("%.*sweight", (int)(end - 4 - name), name);
    }
    return NULL;
}

/* Whether the next node adds a tensor that the exporter has computed. */
static bool adds_computed(const firnc_onnx_node *node) {
    const FirncOnnx__Node *next = node->next;
    for (size_t i = 0; next != NULL && strcmp(firnc_onnx_or_empty(next->op_type), "Add") == 0 && i < next->n_input; i++)
        if (strncmp(next->input[i], "onnx::", 6) == 0)
            return true;
    return false;
}

/* The name that the weight of a product has in PyTorch where TorchScript's exporter has stored what it computed from
 * it, its transpose, under a name of its own: that of its bias or of the module. The second weight of a module keeps
 * the exporter's, from which nothing leads to PyTorch's. */
static void name_weight(const firnc_onnx_importer *im, const firnc_onnx_node *node, firnc_onnx_value *weight,
                        bool outputs_first) {
    firnc_onnx_parameter *p = weight->parameter;
    if (p == NULL || p->value != FIRNC_NONE || weight->rank != 2 || node->layer[0] == '\0' ||
        (strncmp(p->name, "onnx::", 6) != 0 && !(im->torchscript && p->unnamed)))
        return;
    const char *beside = name_beside_bias(node);
    if (beside == NULL && (adds_computed(node) || node->unsure))
        return; /* attention's, with a part of one bias for all; or of a layer whose containers are not known */
    const char *name = beside != NULL ? beside : firnc_format("%s.weight", node->layer);
    p->form = outputs_first ? FIRNC_ONNX_AS_IS : FIRNC_ONNX_TRANSPOSED;
    firnc_onnx_parameter *first = firnc_onnx_parameter_find(im, name);
    if (first != NULL) { /* a layer with two weights: neither name is sure, as of attention without a bias */
        first->unnamed = first->unnamed || first->of_layer;
        return;
    }
    p->name = name;
    p->of_layer = beside == NULL;
    p->unnamed = false;
}

bool firnc_onnx_import_matmul(firnc_onnx_importer *im, const firnc_onnx_node *node) {
    firnc_onnx_value *a = node->inputs[0], *b = node->inputs[1];
    bool found = false;
    uint8_t rank;
    if (a->rank == 0 || b->rank == 0)
        return firnc_onnx_fail(im, "takes matrices");
    if (!firnc_onnx_match_attention(im, node, &found) || found)
        return !im->failed;
    name_weight(im, node, b, false);
    const bool row = a->rank == 1, column = b->rank == 1;
    firnc_value y = product(im, as_matrix(im, a, true), as_matrix(im, b, false), &rank);
    if (im->failed)
        return false;
    if (row || column) {
        const firn_shape shape = *firnc_onnx_shape(im, y);
        int64_t dims[FIRN_RANK_MAX];
        uint8_t left = 0;
        for (uint8_t i = 0; i < rank; i++)
            if (!(row && i == rank - 2) && !(column && i == rank - 1))
                dims[left++] = shape.dims[i];
        y = firnc_onnx_reshape(im, y, left, dims);
        rank = left;
    }
    firnc_onnx_set(im, node->outputs[0], y, a->type, rank);
    return !im->failed;
}

/* --- Gemm --------------------------------------------------------------------------------------------------------- */

/* The matrix with its axes exchanged, without moving an element. */
static firnc_onnx_value *turned(firnc_onnx_value *x, bool turn) {
    if (!turn)
        return x;
    firnc_onnx_value *y = firnc_onnx_value_new(x->name);
    firnc_onnx_alias(y, x);
    if (x->known != NULL)
        y->known = firnc_onnx_tensor_ordered(x->known, (const uint8_t[]){1, 0});
    y->plain = FIRNC_NONE;
    y->dims[0] = x->dims[1];
    y->dims[1] = x->dims[0];
    if (x->value == FIRNC_NONE && x->parameter == NULL)
        return y; /* a constant that comes into the graph as it is known: exchanged */
    y->order[0] = 1 - x->order[0];
    y->order[1] = 1 - x->order[1];
    return y;
}

/* A bias that a linear layer adds by itself: one number for each output. */
static bool is_bias(const firnc_onnx_value *c, int64_t outputs) {
    if (c == NULL || c->rank == 0 || c->rank > 2 || !firnc_onnx_is_real(c->type))
        return false;
    return c->dims[c->rank - 1] == outputs && (c->rank == 1 || c->dims[0] == 1);
}

bool firnc_onnx_import_gemm(firnc_onnx_importer *im, const firnc_onnx_node *node) {
    firnc_onnx_value *c = node->inputs[2];
    const float alpha = firnc_onnx_float(node, "alpha", 1), beta = firnc_onnx_float(node, "beta", 1);
    if (node->inputs[0]->rank != 2 || node->inputs[1]->rank != 2)
        return firnc_onnx_fail(im, "takes matrices");
    name_weight(im, node, node->inputs[1], firnc_onnx_integer(node, "transB", 0) != 0);
    firnc_onnx_value *a = turned(node->inputs[0], firnc_onnx_integer(node, "transA", 0) != 0);
    firnc_onnx_value *b = turned(node->inputs[1], firnc_onnx_integer(node, "transB", 0) != 0);
    if (a->dims[1] != b->dims[0])
        return firnc_onnx_fail(im, "multiplies rows of %lld elements with columns of %lld", (long long)a->dims[1],
                               (long long)b->dims[0]);
    const bool inside = alpha == 1 && beta == 1 && is_bias(c, b->dims[1]);
    firnc_value bias = FIRNC_NONE;
    if (inside)
        bias = firnc_onnx_reshape(im, firnc_onnx_plain(im, c), 1, &b->dims[1]);
    firnc_value y = firnc_onnx_affine(im, linear(im, firnc_onnx_plain_real(im, a), b, bias), alpha, 0);
    if (c != NULL && !inside)
        y = firnc_onnx_binary(im, FIRN_OP_add, y, firnc_onnx_affine(im, firnc_onnx_plain_real(im, c), beta, 0));
    firnc_onnx_set(im, node->outputs[0], y, a->type, 2);
    if (!im->failed && (node->outputs[0]->dims[0] != a->dims[0] || node->outputs[0]->dims[1] != b->dims[1]))
        return firnc_onnx_fail(im, "adds an operand that is larger than the product of %lld rows of %lld numbers",
                               (long long)a->dims[0], (long long)b->dims[1]);
    return !im->failed;
}

/* --- Einsum ------------------------------------------------------------------------------------------------------- */

#define LABELS_MAX 16
#define TERMS_MAX  8 /* as many operands as the table of ops allows */

/* An equation such as "bhqd,bhkd->bhqk". */
typedef struct equation {
    char inputs[TERMS_MAX][LABELS_MAX + 1], output[LABELS_MAX + 1];
    uint32_t operands;
} equation;

/* Reads a term; "..." becomes labels that no letter is, from 1 to FIRN_RANK_MAX, one for each dimension that the
 * letters leave; the last of them are the same in each term. */
static const char *read_term(const char *text, char *term, int leave) {
    size_t count = 0;
    for (; *text != '\0' && *text != ',' && *text != '-' && count < LABELS_MAX; text++) {
        if (strncmp(text, "...", 3) == 0) {
            for (int i = 0; i < leave && count < LABELS_MAX; i++)
                term[count++] = (char)(1 + (FIRN_RANK_MAX - leave) + i);
            text += 2;
        } else if ((*text >= 'a' && *text <= 'z') || (*text >= 'A' && *text <= 'Z')) {
            term[count++] = *text;
        } else if (*text != ' ') {
            return NULL;
        }
    }
    term[count] = '\0';
    return text;
}

static int letters(const char *text) {
    int count = 0;
    for (; *text != '\0' && *text != ',' && *text != '-'; text++)
        count += (*text >= 'a' && *text <= 'z') || (*text >= 'A' && *text <= 'Z');
    return count;
}

static bool parse(firnc_onnx_importer *im, const firnc_onnx_node *node, const char *text, equation *e) {
    int dots = 0;
    e->operands = 0;
    const char *at = text;
    while (e->operands < node->input_count && e->operands < TERMS_MAX && at != NULL) {
        const firnc_onnx_value *x = node->inputs[e->operands];
        const int leave = x->rank - letters(at);
        dots = leave > dots ? leave : dots;
        at = leave < 0 ? NULL : read_term(at, e->inputs[e->operands], leave);
        if (at != NULL && strlen(e->inputs[e->operands]) != x->rank)
            at = NULL;
        e->operands++;
        if (at != NULL && *at == ',')
            at++;
    }
    if (at == NULL || e->operands != node->input_count)
        return firnc_onnx_fail(im, "its equation %s does not fit its operands", text);
    if (strncmp(at, "->", 2) == 0) {
        at = read_term(at + 2, e->output, dots);
        return (at != NULL && *at == '\0') || firnc_onnx_fail(im, "its equation %s ends in something else", text);
    }
    /* without an output: the labels that are there once, in the order of the alphabet, behind the dots */
    size_t count = 0;
    for (int label = 1; label < 127 && count < LABELS_MAX; label++) {
        uint32_t times = 0;
        for (uint32_t i = 0; i < e->operands; i++)
            for (const char *c = e->inputs[i]; *c != '\0'; c++)
                times += *c == label;
        if (times == 1 || (times > 1 && label <= FIRN_RANK_MAX)) /* once, or of the dots */
            e->output[count++] = (char)label;
    }
    e->output[count] = '\0';
    return *at == '\0' || firnc_onnx_fail(im, "its equation %s ends in something else", text);
}

/* What an operand is while it is rearranged. */
typedef struct term {
    firnc_value value;
    char labels[LABELS_MAX + 1];
} term;

/* Keeps of two axes with one label, i and j, the elements where both indices are equal, as the last axis. */
static bool take_diagonal(firnc_onnx_importer *im, term *t, size_t i, size_t j) {
    uint8_t order[FIRN_RANK_MAX], count = 0;
    int64_t dims[FIRN_RANK_MAX];
    const char label = t->labels[i];
    if (im->failed)
        return false;
    const firn_shape shape = *firnc_onnx_shape(im, t->value);
    const int64_t extent = shape.dims[i];
    if (shape.dims[j] != extent || extent > FIRNC_ONNX_LIST_MAX)
        return firnc_onnx_fail(im, "takes a diagonal of %lld by %lld elements", (long long)extent,
                               (long long)shape.dims[j]);
    for (uint8_t d = 0; d < shape.rank; d++)
        if (d != i && d != j) {
            t->labels[count] = t->labels[d];
            dims[count] = shape.dims[d];
            order[count++] = d;
        }
    order[count] = (uint8_t)i;
    order[count + 1] = (uint8_t)j;
    t->labels[count] = label;
    t->labels[count + 1] = '\0';
    dims[count] = extent * extent;
    int64_t *list = firnc_allocate((uint64_t)extent * sizeof *list);
    for (int64_t k = 0; k < extent; k++)
        list[k] = k * (extent + 1);
    const firnc_value y = firnc_onnx_reshape(im, firnc_onnx_transpose(im, t->value, order), (uint8_t)(count + 1), dims);
    t->value = firnc_onnx_pick(im, y, count, list, extent);
    return !im->failed;
}

/* Sums over the labels that are not wanted: those that neither another operand nor the output has. */
static bool drop_sums(firnc_onnx_importer *im, term *t, const char *wanted) {
    uint32_t axes = 0;
    size_t kept = 0;
    char labels[LABELS_MAX + 1];
    for (size_t i = 0; t->labels[i] != '\0';) {
        const char *twin = strchr(t->labels + i + 1, t->labels[i]);
        if (twin != NULL && !take_diagonal(im, t, i, (size_t)(twin - t->labels)))
            return false;
        i = twin != NULL ? 0 : i + 1;
    }
    for (size_t i = 0; t->labels[i] != '\0'; i++) {
        if (strchr(wanted, t->labels[i]) == NULL)
            axes |= UINT32_C(1) << i;
        else
            labels[kept++] = t->labels[i];
    }
    labels[kept] = '\0';
    if (axes != 0)
        t->value = firnc_onnx_sum(im, t->value, axes, false);
    memcpy(t->labels, labels, sizeof labels);
    return !im->failed;
}

static int64_t extent_of(const firnc_onnx_importer *im, const term *t, char label) {
    const char *at = label == '\0' ? NULL : strchr(t->labels, label);
    return at == NULL ? 1 : firnc_onnx_shape(im, t->value)->dims[at - t->labels];
}

/* Adds the labels of a that are (or are not) in b and in c to a list. */
static void choose(const char *a, const char *b, bool in_b, const char *c, bool in_c, char *to) {
    size_t count = strlen(to);
    for (; *a != '\0'; a++)
        if ((strchr(b, *a) != NULL) == in_b && (strchr(c, *a) != NULL) == in_c && count < LABELS_MAX)
            to[count++] = *a;
    to[count] = '\0';
}

/* Puts the axes of an operand in the order of three groups, each of which becomes one extent. */
static firnc_value grouped(firnc_onnx_importer *im, const term *t, const char *first, const char *second,
                           const char *third) {
    uint8_t order[FIRN_RANK_MAX], count = 0;
    const char *const groups[] = {first, second, third};
    int64_t dims[3] = {1, 1, 1};
    if (im->failed)
        return FIRNC_NONE;
    for (int g = 0; g < 3; g++)
        for (const char *c = groups[g]; *c != '\0' && count < FIRN_RANK_MAX; c++) {
            order[count++] = (uint8_t)(strchr(t->labels, *c) - t->labels);
            dims[g] *= extent_of(im, t, *c);
        }
    return firnc_onnx_reshape(im, count == 0 ? t->value : firnc_onnx_transpose(im, t->value, order), 3, dims);
}

/* Sets the output of an equation from a value whose axes have these labels. */
static bool finish(firnc_onnx_importer *im, const firnc_onnx_node *node, firnc_value value, const char *labels,
                   const char *output) {
    uint8_t order[FIRN_RANK_MAX];
    const uint8_t rank = (uint8_t)strlen(output);
    for (uint8_t i = 0; i < rank; i++) {
        const char *at = strchr(output, labels[i]);
        if (labels[i] == '\0' || at == NULL)
            return firnc_onnx_fail(im, "has a label in its output that no operand has");
        order[i] = (uint8_t)(at - output);
    }
    firnc_onnx_set_ordered(im, node->outputs[0], value, node->inputs[0]->type, rank, order);
    return !im->failed;
}

/* Replaces a by the products of a and b, summed over the labels that are not wanted. */
static bool contract(firnc_onnx_importer *im, term *a, const term *b, const char *wanted) {
    for (const char *c = a->labels; *c != '\0'; c++)
        if (strchr(b->labels, *c) != NULL && extent_of(im, a, *c) != extent_of(im, b, *c))
            return firnc_onnx_fail(im, "has operands of %lld and %lld elements for one label",
                                   (long long)extent_of(im, a, *c), (long long)extent_of(im, b, *c));
    char both[LABELS_MAX + 1] = "", summed[LABELS_MAX + 1] = "", of_a[LABELS_MAX + 1] = "", of_b[LABELS_MAX + 1] = "";
    choose(a->labels, b->labels, true, wanted, true, both);
    choose(a->labels, b->labels, true, wanted, false, summed);
    choose(a->labels, b->labels, false, wanted, true, of_a);
    choose(b->labels, a->labels, false, wanted, true, of_b);
    const firnc_value x = grouped(im, a, both, of_a, summed), y = grouped(im, b, both, summed, of_b);
    const firnc_value z = firnc_onnx_matmul(im, x, y, false, false);
    const char *const groups[] = {both, of_a, of_b};
    char labels[3 * LABELS_MAX + 1] = "";
    int64_t dims[FIRN_RANK_MAX];
    uint8_t rank = 0;
    for (int g = 0; g < 3; g++)
        for (const char *c = groups[g]; *c != '\0'; c++) {
            if (rank == FIRN_RANK_MAX)
                return firnc_onnx_fail(im, "makes more than %d dimensions; write the module with fewer", FIRN_RANK_MAX);
            labels[rank] = *c;
            if (!im->failed)
                dims[rank] = strchr(a->labels, *c) != NULL ? extent_of(im, a, *c) : extent_of(im, b, *c);
            rank++;
        }
    labels[rank] = '\0';
    a->value = firnc_onnx_reshape(im, z, rank, dims);
    memcpy(a->labels, labels, (size_t)rank + 1);
    return !im->failed;
}

/* Collects the labels of the output and of the terms from `first` on, but for one. */
static const char *labels_of(const equation *e, const term *terms, uint32_t first, uint32_t but) {
    const char *text = e->output;
    for (uint32_t i = first; i < e->operands; i++)
        if (i != but)
            text = firnc_format("%s%s", text, terms[i].labels);
    return text;
}

bool firnc_onnx_import_einsum(firnc_onnx_importer *im, const firnc_onnx_node *node) {
    equation e = {0};
    const char *text = firnc_onnx_text(node, "equation", "");
    if (!parse(im, node, text, &e))
        return false;
    if (strlen(e.output) > FIRN_RANK_MAX)
        return firnc_onnx_fail(im, "makes more than %d dimensions; write the module with fewer", FIRN_RANK_MAX);
    term terms[TERMS_MAX] = {0};
    for (uint32_t i = 0; i < e.operands; i++) {
        terms[i].value = firnc_onnx_plain_real(im, node->inputs[i]);
        memcpy(terms[i].labels, e.inputs[i], sizeof terms[i].labels);
    }
    for (uint32_t i = 0; i < e.operands; i++)
        if (im->failed || !drop_sums(im, &terms[i], labels_of(&e, terms, 0, i)))
            return false;
    for (uint32_t i = 1; i < e.operands; i++) /* from the left */
        if (!contract(im, &terms[0], &terms[i], labels_of(&e, terms, i + 1, e.operands)))
            return false;
    return finish(im, node, terms[0].value, terms[0].labels, e.output);
}
