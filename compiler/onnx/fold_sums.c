/* Computes nodes over whole axes of elements which are all known: reductions, running sums, products of matrices, and
 * where an extreme element is (compiler/onnx/fold.h). */
#include <math.h>
#include <string.h>

#include "compiler/onnx/fold.h"

static double sum_of(double a, double b) {
    return a + b;
}

static double product_of(double a, double b) {
    return a * b;
}

static double larger_of(double a, double b) {
    return a > b ? a : b;
}

static double smaller_of(double a, double b) {
    return a < b ? a : b;
}

/* How a reduction joins two elements, and its results for no elements: of numbers, and of truth values. */
typedef struct reduction {
    const char *op;
    double (*join)(double a, double b);
    double of_none, of_no_truths;
} reduction;

static const reduction reductions[] = {{"ReduceSum", sum_of, 0, 0},
                                       {"ReduceMean", sum_of, 0, 0},
                                       {"ReduceProd", product_of, 1, 1},
                                       {"ReduceMax", larger_of, -HUGE_VAL, 0},
                                       {"ReduceMin", smaller_of, HUGE_VAL, 1}};

static const reduction *reduction_of(const char *op) {
    uint32_t i = 0;
    while (strcmp(reductions[i].op, op) != 0)
        i++;
    return &reductions[i];
}

const firnc_onnx_tensor *firnc_onnx_fold_reduce(firnc_onnx_importer *im, const firnc_onnx_node *node,
                                                const firnc_onnx_tensor *const *in) {
    const firnc_onnx_tensor *x = in[0];
    const reduction *how = reduction_of(node->op);
    uint32_t mask;
    bool whole;
    int64_t dims[FIRN_RANK_MAX], kept[FIRN_RANK_MAX];
    uint8_t rank = 0;
    double terms = 1;
    if (!firnc_onnx_reduced(im, node, &mask, &whole))
        return NULL;
    if (whole)
        return x;
    for (uint8_t i = 0; i < x->rank; i++) {
        const bool gone = (mask >> i & 1) != 0;
        dims[i] = gone ? 1 : x->dims[i];
        terms *= gone ? (double)x->dims[i] : 1;
        if (!gone || firnc_onnx_integer(node, "keepdims", 1) != 0)
            kept[rank++] = dims[i];
    }
    firnc_onnx_tensor *made = firnc_onnx_tensor_new(im, x->type, x->rank, dims);
    if (made == NULL)
        return NULL;
    double *sums = firnc_allocate(made->count * sizeof *sums + 1);
    bool *begun = firnc_allocate(made->count + 1);
    firnc_onnx_walk to;
    firnc_onnx_walk_begin(&to, made, x);
    for (uint64_t i = 0; i < x->count; i++) {
        const double element = firnc_onnx_number(x, i);
        sums[to.position] = begun[to.position] ? how->join(sums[to.position], element) : element;
        begun[to.position] = true;
        firnc_onnx_walk_on(&to, x);
    }
    for (uint64_t i = 0; i < made->count; i++) {
        const double none = x->type == FIRNC_ONNX_BOOL ? how->of_no_truths : how->of_none;
        const double number = begun[i] ? sums[i] : none;
        if (!isfinite(number) && made->reals == NULL) {
            firnc_onnx_fail(im, "takes the largest or the smallest of no elements; give it one");
            return NULL;
        }
        firnc_onnx_put(made, i, strcmp(node->op, "ReduceMean") == 0 ? number / terms : number);
    }
    return firnc_onnx_tensor_shaped(made, rank, kept);
}

const firnc_onnx_tensor *firnc_onnx_fold_cumsum(firnc_onnx_importer *im, const firnc_onnx_node *node,
                                                const firnc_onnx_tensor *const *in) {
    const firnc_onnx_tensor *x = in[0];
    double number;
    if (!firnc_onnx_single(node->inputs[1], &number) || x->rank == 0) {
        firnc_onnx_fail(im, "takes an axis");
        return NULL;
    }
    const uint8_t axis = firnc_onnx_axis(im, firnc_onnx_truncated(number), x->rank);
    const bool exclusive = firnc_onnx_integer(node, "exclusive", 0) != 0,
               reverse = firnc_onnx_integer(node, "reverse", 0) != 0;
    firnc_onnx_tensor *made = im->failed ? NULL : firnc_onnx_tensor_new(im, x->type, x->rank, x->dims);
    const uint64_t inner = firnc_onnx_elements_from(x, axis + 1u), extent = (uint64_t)x->dims[axis];
    for (uint64_t row = 0; made != NULL && x->count > 0 && row < x->count / extent; row++) {
        const uint64_t base = row / inner * extent * inner + row % inner;
        double sum = 0;
        for (uint64_t i = 0; i < extent; i++) {
            const uint64_t at = base + (reverse ? extent - 1 - i : i) * inner;
            const double element = firnc_onnx_number(x, at);
            firnc_onnx_put(made, at, exclusive ? sum : sum + element);
            sum += element;
        }
    }
    return made;
}

/* ArgMax and ArgMin. */
const firnc_onnx_tensor *firnc_onnx_fold_arg(firnc_onnx_importer *im, const firnc_onnx_node *node,
                                             const firnc_onnx_tensor *const *in) {
    const firnc_onnx_tensor *x = in[0];
    const uint8_t axis = firnc_onnx_axis(im, firnc_onnx_integer(node, "axis", 0), x->rank);
    const bool largest = strcmp(node->op, "ArgMax") == 0, keep = firnc_onnx_integer(node, "keepdims", 1) != 0,
               last = firnc_onnx_integer(node, "select_last_index", 0) != 0;
    int64_t dims[FIRN_RANK_MAX];
    uint8_t rank = 0;
    if (im->failed)
        return NULL;
    if (x->dims[axis] == 0) {
        firnc_onnx_fail(im, "finds the place of an element in an axis without elements; give it one");
        return NULL;
    }
    for (uint8_t i = 0; i < x->rank; i++)
        if (i != axis || keep)
            dims[rank++] = i == axis ? 1 : x->dims[i];
    const uint64_t inner = firnc_onnx_elements_from(x, axis + 1u);
    firnc_onnx_tensor *made = firnc_onnx_tensor_new(im, FIRNC_ONNX_INT64, rank, dims);
    for (uint64_t i = 0; made != NULL && i < made->count; i++) {
        const uint64_t first = i / inner * (uint64_t)x->dims[axis] * inner + i % inner;
        double best = firnc_onnx_number(x, first);
        for (int64_t j = 1; j < x->dims[axis]; j++) {
            const double element = firnc_onnx_number(x, first + (uint64_t)j * inner);
            if ((largest ? element > best : element < best) || (last && element == best)) {
                best = element;
                made->wholes[i] = j;
            }
        }
    }
    return made;
}

#define PRODUCT_TERMS_MAX ((uint64_t)1 << 26) /* of products that are computed here */

const firnc_onnx_tensor *firnc_onnx_fold_matmul(firnc_onnx_importer *im, const firnc_onnx_node *node,
                                                const firnc_onnx_tensor *const *in) {
    const firnc_onnx_tensor *a = in[0], *b = in[1];
    (void)node;
    if (a->rank == 0 || b->rank == 0 || a->reals == NULL || b->reals == NULL)
        return NULL;
    /* a vector is a matrix of one row or of one column */
    const firnc_onnx_tensor *x = a->rank > 1 ? a : firnc_onnx_tensor_shaped(a, 2, (int64_t[]){1, a->dims[0]});
    const firnc_onnx_tensor *y = b->rank > 1 ? b : firnc_onnx_tensor_shaped(b, 2, (int64_t[]){b->dims[0], 1});
    const int64_t rows = x->dims[x->rank - 2], terms = x->dims[x->rank - 1], columns = y->dims[y->rank - 1];
    int64_t dims[FIRN_RANK_MAX];
    uint8_t rank = (uint8_t)(x->rank - 2);
    memcpy(dims, x->dims, sizeof dims);
    if (terms != y->dims[y->rank - 2] || !firnc_onnx_join_extents(&rank, dims, (uint8_t)(y->rank - 2), y->dims))
        return NULL;
    dims[rank] = rows;
    dims[rank + 1] = columns;
    firnc_onnx_tensor *made = firnc_onnx_tensor_new(im, a->type, (uint8_t)(rank + 2), dims);
    if (made == NULL || made->count == 0)
        return made;
    if ((uint64_t)terms > PRODUCT_TERMS_MAX / made->count)
        return NULL;
    /* `matrices` has only the leading axes, so the walks step from matrix to matrix */
    firnc_onnx_walk of_x, of_y;
    firnc_onnx_walk_begin(&of_x, x, made);
    firnc_onnx_walk_begin(&of_y, y, made);
    firnc_onnx_tensor matrices = *made;
    matrices.rank = rank;
    const uint64_t each = (uint64_t)(rows * columns);
    for (uint64_t m = 0; m < made->count / each; m++) {
        for (uint64_t i = 0; i < each; i++) {
            const float *row = x->reals + of_x.position + i / (uint64_t)columns * (uint64_t)terms;
            const float *column = y->reals + of_y.position + i % (uint64_t)columns;
            double sum = 0;
            for (int64_t k = 0; k < terms; k++)
                sum += (double)row[k] * (double)column[k * columns];
            made->reals[m * each + i] = (float)sum;
        }
        firnc_onnx_walk_on(&of_x, &matrices);
        firnc_onnx_walk_on(&of_y, &matrices);
    }
    uint8_t left = 0;
    for (uint8_t i = 0; i < rank + 2; i++)
        if (!(a->rank == 1 && i == rank) && !(b->rank == 1 && i == rank + 1))
            dims[left++] = made->dims[i];
    return firnc_onnx_tensor_shaped(made, left, dims);
}
