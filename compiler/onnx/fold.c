/* Computes nodes whose inputs are all known: sizes, shapes, masks, tables of positions. Whole numbers are int64, reals
 * are computed in double and rounded to float. Only ops that occur in such computations are here; the graph computes
 * the others. */
#include <math.h>
#include <string.h>

#include "compiler/onnx/import.h"

/* --- elements ----------------------------------------------------------------------------------------------------- */

/* The position in an operand for each element of a result, by broadcasting. */
typedef struct walk {
    int64_t steps[FIRN_RANK_MAX], at[FIRN_RANK_MAX];
    uint64_t position;
} walk;

static void walk_begin(walk *w, const firnc_onnx_tensor *from, const firnc_onnx_tensor *to) {
    int64_t step = 1;
    memset(w, 0, sizeof *w);
    for (uint8_t i = 0; i < from->rank; i++) {
        const uint8_t axis = (uint8_t)(from->rank - 1 - i);
        w->steps[to->rank - 1 - i] = from->dims[axis] == 1 ? 0 : step;
        step *= from->dims[axis];
    }
}

static void walk_on(walk *w, const firnc_onnx_tensor *to) {
    for (uint8_t axis = to->rank; axis-- > 0;) {
        w->position = (uint64_t)((int64_t)w->position + w->steps[axis]);
        if (++w->at[axis] < to->dims[axis])
            return;
        w->position = (uint64_t)((int64_t)w->position - w->steps[axis] * to->dims[axis]);
        w->at[axis] = 0;
    }
}

/* A tensor with the extents of several by broadcasting. */
static firnc_onnx_tensor *broadcast(firnc_onnx_importer *im, uint8_t type, const firnc_onnx_tensor *const *from,
                                    uint32_t count) {
    int64_t dims[FIRN_RANK_MAX] = {0};
    uint8_t rank = 0;
    for (uint32_t i = 0; i < count; i++)
        rank = from[i]->rank > rank ? from[i]->rank : rank;
    for (uint8_t axis = 0; axis < rank; axis++) {
        dims[axis] = 1;
        for (uint32_t i = 0; i < count; i++) {
            const int64_t extent = axis < rank - from[i]->rank ? 1 : from[i]->dims[axis - (rank - from[i]->rank)];
            if (extent != 1 && dims[axis] != 1 && extent != dims[axis]) {
                firnc_onnx_fail(im, "cannot bring extents of %lld and %lld together", (long long)extent,
                                (long long)dims[axis]);
                return NULL;
            }
            dims[axis] = extent == 1 ? dims[axis] : extent;
        }
    }
    return firnc_onnx_tensor_new(im, type, rank, dims);
}

/* Arithmetic on whole numbers wraps, like that of the hardware. */
static int64_t of_wholes(const char *op, int64_t a, int64_t b) {
    const uint64_t x = (uint64_t)a, y = (uint64_t)b;
    switch (op[0]) {
    case 'A': /* Add, And */
        return op[1] == 'd' ? (int64_t)(x + y) : (a != 0 && b != 0);
    case 'S': /* Sub, Sum */
        return op[2] == 'b' ? (int64_t)(x - y) : (int64_t)(x + y);
    case 'D':
        return b == 0 ? 0 : b == -1 ? (int64_t)(0 - x) : a / b;
    case 'O':
        return a != 0 || b != 0;
    case 'X':
        return (a != 0) != (b != 0);
    default:              /* Max, Min, Mod, Mul */
        if (op[1] == 'o') /* with the sign of b */
            return b == 0 || b == -1 ? 0 : a % b != 0 && (a % b < 0) != (b < 0) ? a % b + b : a % b;
        if (op[1] == 'u')
            return (int64_t)(x * y);
        return op[1] == 'a' ? (a > b ? a : b) : (a < b ? a : b);
    }
}

static double of_reals(const char *op, double a, double b) {
    switch (op[0]) {
    case 'A':
        return a + b;
    case 'S':
        return op[2] == 'b' ? a - b : a + b;
    case 'D':
        return a / b;
    case 'P':
        return pow(a, b);
    default:
        if (op[1] == 'u')
            return a * b;
        if (op[1] == 'o')
            return fmod(a, b);
        return op[1] == 'a' ? (a > b ? a : b) : (a < b ? a : b);
    }
}

static bool of_order(const char *op, double a, double b) {
    if (strcmp(op, "Equal") == 0)
        return a == b;
    const bool less = op[0] == 'L', equal = strstr(op, "OrEqual") != NULL;
    return less ? (equal ? a <= b : a < b) : (equal ? a >= b : a > b);
}

static const char *const comparisons = "Equal Less LessOrEqual Greater GreaterOrEqual";
static const char *const arithmetic = "Add Sub Mul Div Pow Max Min Sum And Or Xor Mod";

static const firnc_onnx_tensor *two(firnc_onnx_importer *im, const char *op, const firnc_onnx_tensor *a,
                                    const firnc_onnx_tensor *b) {
    const bool compares = firnc_onnx_is_listed(comparisons, op);
    const firnc_onnx_tensor *both[] = {a, b};
    firnc_onnx_tensor *made = broadcast(im, compares ? FIRNC_ONNX_BOOL : a->type, both, 2);
    walk x, y;
    if (made == NULL)
        return NULL;
    walk_begin(&x, a, made);
    walk_begin(&y, b, made);
    for (uint64_t i = 0; i < made->count; i++) {
        if (compares)
            made->wholes[i] = of_order(op, firnc_onnx_number(a, x.position), firnc_onnx_number(b, y.position));
        else if (made->wholes != NULL && b->wholes != NULL && op[0] != 'P')
            made->wholes[i] = of_wholes(op, a->wholes[x.position], b->wholes[y.position]);
        else
            firnc_onnx_put(made, i, of_reals(op, firnc_onnx_number(a, x.position), firnc_onnx_number(b, y.position)));
        walk_on(&x, made);
        walk_on(&y, made);
    }
    return made;
}

static const firnc_onnx_tensor *select_known(firnc_onnx_importer *im, const firnc_onnx_tensor *condition,
                                             const firnc_onnx_tensor *a, const firnc_onnx_tensor *b) {
    const firnc_onnx_tensor *all[] = {condition, a, b};
    firnc_onnx_tensor *made = broadcast(im, a->type, all, 3);
    walk walks[3];
    if (made == NULL || a->type != b->type)
        return NULL;
    for (int i = 0; i < 3; i++)
        walk_begin(&walks[i], all[i], made);
    for (uint64_t i = 0; i < made->count; i++) {
        const firnc_onnx_tensor *from = firnc_onnx_number(condition, walks[0].position) != 0 ? a : b;
        const uint64_t at = from == a ? walks[1].position : walks[2].position;
        if (made->reals != NULL)
            made->reals[i] = from->reals[at];
        else
            made->wholes[i] = from->wholes[at];
        for (int j = 0; j < 3; j++)
            walk_on(&walks[j], made);
    }
    return made;
}

static bool one_known(const char *op, double x, double *y) {
    static const struct {
        const char *op;
        double (*compute)(double);
    } rows[] = {{"Sqrt", sqrt},   {"Exp", exp}, {"Log", log}, {"Abs", fabs}, {"Ceil", ceil},
                {"Floor", floor}, {"Sin", sin}, {"Cos", cos}, {"Erf", erf},  {"Tanh", tanh}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (strcmp(op, rows[i].op) == 0) {
            *y = rows[i].compute(x);
            return true;
        }
    *y = strcmp(op, "Neg") == 0          ? -x
         : strcmp(op, "Reciprocal") == 0 ? 1 / x
         : strcmp(op, "Sign") == 0       ? (x > 0) - (x < 0)
                                         : x == 0;
    return strcmp(op, "Neg") == 0 || strcmp(op, "Reciprocal") == 0 || strcmp(op, "Sign") == 0 || strcmp(op, "Not") == 0;
}

static const firnc_onnx_tensor *one(firnc_onnx_importer *im, const char *op, const firnc_onnx_tensor *x, bool *known) {
    double y;
    *known = one_known(op, 0, &y);
    if (!*known)
        return NULL;
    firnc_onnx_tensor *made = firnc_onnx_tensor_new(im, x->type, x->rank, x->dims);
    for (uint64_t i = 0; made != NULL && i < made->count; i++) {
        (void)one_known(op, firnc_onnx_number(x, i), &y);
        firnc_onnx_put(made, i, y);
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

const firnc_onnx_tensor *firnc_onnx_tensor_cast(firnc_onnx_importer *im, const firnc_onnx_tensor *x, int64_t type) {
    if (type < 1 || type > FIRNC_ONNX_BFLOAT16 || type == 8 || type == 14 || type == 15) {
        firnc_onnx_fail(im, "has to %s, which Firn does not have; cast to float or int64",
                        firnc_onnx_type_word((int32_t)type));
        return NULL;
    }
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

/* --- layout ------------------------------------------------------------------------------------------------------- */

/* The same elements in another shape. */
static const firnc_onnx_tensor *shaped(firnc_onnx_importer *im, const firnc_onnx_tensor *x, uint8_t rank,
                                       const int64_t *dims) {
    uint64_t count = 1;
    bool fits = true;
    for (uint8_t i = 0; i < rank; i++) {
        fits = fits && dims[i] >= 0 && dims[i] <= (int64_t)FIRNC_ONNX_ELEMENTS_MAX;
        count *= (uint64_t)dims[i];
    }
    if (!fits || count != x->count) {
        firnc_onnx_fail(im, "has other extents than its operand has elements for");
        return NULL;
    }
    firnc_onnx_tensor *made = firnc_allocate(sizeof *made);
    *made = *x;
    made->rank = rank;
    memcpy(made->dims, dims, rank * sizeof *dims);
    return made;
}

static const firnc_onnx_tensor *reshape(firnc_onnx_importer *im, const firnc_onnx_node *node,
                                        const firnc_onnx_tensor *x) {
    const int64_t *list;
    uint32_t count;
    int64_t dims[FIRN_RANK_MAX], rest = -1, product = 1;
    if (!firnc_onnx_list(im, node, 1, "extents", &list, &count))
        return NULL;
    if (count > FIRN_RANK_MAX) {
        firnc_onnx_fail(im, "makes more than %d dimensions", FIRN_RANK_MAX);
        return NULL;
    }
    for (uint8_t i = 0; i < count; i++) {
        dims[i] = list[i] == 0 && firnc_onnx_integer(node, "allowzero", 0) == 0 && i < x->rank ? x->dims[i] : list[i];
        if (dims[i] == -1 && rest < 0)
            rest = i;
        else if (dims[i] < 0 || (dims[i] > 0 && product > (int64_t)FIRNC_ONNX_ELEMENTS_MAX / dims[i])) {
            firnc_onnx_fail(im, "has an extent of %lld", (long long)dims[i]);
            return NULL;
        } else
            product *= dims[i];
    }
    if (rest >= 0)
        dims[rest] = product == 0 ? 0 : (int64_t)x->count / product;
    return shaped(im, x, (uint8_t)count, dims);
}

static const firnc_onnx_tensor *flatten(firnc_onnx_importer *im, const firnc_onnx_node *node,
                                        const firnc_onnx_tensor *x) {
    const int64_t axis = firnc_onnx_integer(node, "axis", 1);
    const uint8_t cut = axis == x->rank ? x->rank : firnc_onnx_axis(im, axis, x->rank);
    int64_t dims[2] = {1, 1};
    for (uint8_t i = 0; i < x->rank; i++)
        dims[i >= cut] *= x->dims[i];
    return shaped(im, x, 2, dims);
}

static const firnc_onnx_tensor *squeeze(firnc_onnx_importer *im, const firnc_onnx_node *node,
                                        const firnc_onnx_tensor *x) {
    const int64_t *list;
    uint32_t count, mask = 0;
    int64_t dims[FIRN_RANK_MAX];
    uint8_t rank = 0;
    const bool drop = node->op[0] == 'S';
    if (!firnc_onnx_list(im, node, 1, "axes", &list, &count))
        return NULL;
    const uint32_t wide = drop ? x->rank : x->rank + (count == FIRNC_NONE ? 0 : count);
    if (wide > FIRN_RANK_MAX) {
        firnc_onnx_fail(im, "makes more than %d dimensions", FIRN_RANK_MAX);
        return NULL;
    }
    for (uint32_t i = 0; count != FIRNC_NONE && i < count; i++)
        mask |= UINT32_C(1) << firnc_onnx_axis(im, list[i], (uint8_t)wide);
    if (drop)
        for (uint8_t i = 0; i < x->rank; i++) {
            if ((mask >> i & 1) == 0 && !(count == FIRNC_NONE && x->dims[i] == 1))
                dims[rank++] = x->dims[i];
        }
    else
        for (uint8_t i = 0, at = 0; i < wide; i++)
            dims[rank++] = (mask >> i & 1) != 0 || at >= x->rank ? 1 : x->dims[at++];
    return im->failed ? NULL : shaped(im, x, rank, dims);
}

static const firnc_onnx_tensor *transpose(firnc_onnx_importer *im, const firnc_onnx_node *node,
                                          const firnc_onnx_tensor *x) {
    const int64_t *list;
    uint8_t order[FIRN_RANK_MAX];
    uint32_t seen = 0;
    const uint32_t count = firnc_onnx_integers(node, "perm", &list);
    for (uint8_t i = 0; i < x->rank && (count == 0 || count == x->rank); i++) {
        order[i] = count == 0 ? (uint8_t)(x->rank - 1 - i) : firnc_onnx_axis(im, list[i], x->rank);
        seen |= UINT32_C(1) << order[i];
    }
    if (im->failed || seen != (UINT32_C(1) << x->rank) - 1) {
        firnc_onnx_fail(im, "its perm does not have each axis once");
        return NULL;
    }
    return firnc_onnx_tensor_ordered(x, order);
}

static void copy_element(firnc_onnx_tensor *to, uint64_t at, const firnc_onnx_tensor *from, uint64_t element) {
    if (to->reals != NULL)
        to->reals[at] = from->reals[element];
    else
        to->wholes[at] = from->wholes[element];
}

static const firnc_onnx_tensor *concat(firnc_onnx_importer *im, const firnc_onnx_node *node) {
    const firnc_onnx_tensor *first = node->inputs[0]->known;
    const uint8_t axis = firnc_onnx_axis(im, firnc_onnx_integer(node, "axis", 0), first->rank);
    int64_t dims[FIRN_RANK_MAX];
    uint64_t outer = 1, at = 0;
    memcpy(dims, first->dims, sizeof dims);
    if (im->failed)
        return NULL;
    dims[axis] = 0;
    for (uint32_t i = 0; i < node->input_count; i++) {
        const firnc_onnx_tensor *x = node->inputs[i] == NULL ? NULL : node->inputs[i]->known;
        if (x == NULL || x->rank != first->rank || x->type != first->type) {
            firnc_onnx_fail(im, "joins tensors of different kinds");
            return NULL;
        }
        for (uint8_t j = 0; j < x->rank; j++)
            if (j != axis && x->dims[j] != first->dims[j]) {
                firnc_onnx_fail(im, "joins tensors of different extents");
                return NULL;
            }
        dims[axis] += x->dims[axis];
    }
    for (uint8_t i = 0; i < axis; i++)
        outer *= (uint64_t)dims[i];
    firnc_onnx_tensor *made = firnc_onnx_tensor_new(im, first->type, first->rank, dims);
    for (uint64_t o = 0; made != NULL && made->count > 0 && o < outer; o++)
        for (uint32_t i = 0; i < node->input_count; i++) {
            const firnc_onnx_tensor *x = node->inputs[i]->known;
            const uint64_t inner = x->count / outer;
            for (uint64_t e = 0; e < inner; e++)
                copy_element(made, at++, x, o * inner + e);
        }
    return made;
}

static const firnc_onnx_tensor *gather(firnc_onnx_importer *im, const firnc_onnx_node *node, const firnc_onnx_tensor *x,
                                       const firnc_onnx_tensor *ids) {
    const uint8_t axis = firnc_onnx_axis(im, firnc_onnx_integer(node, "axis", 0), x->rank);
    int64_t dims[2 * FIRN_RANK_MAX];
    uint64_t outer = 1, inner = 1, at = 0;
    if (im->failed || ids->wholes == NULL || x->rank == 0 || x->rank + ids->rank - 1 > FIRN_RANK_MAX) {
        firnc_onnx_fail(im, "takes whole numbers and makes at most %d dimensions", FIRN_RANK_MAX);
        return NULL;
    }
    const uint8_t rank = (uint8_t)(x->rank + ids->rank - 1);
    for (uint8_t i = 0; i < rank; i++)
        dims[i] = i < axis ? x->dims[i] : i < axis + ids->rank ? ids->dims[i - axis] : x->dims[i - ids->rank + 1];
    for (uint8_t i = 0; i < x->rank; i++)
        *(i < axis ? &outer : &inner) *= i == axis ? 1 : (uint64_t)x->dims[i];
    firnc_onnx_tensor *made = firnc_onnx_tensor_new(im, x->type, rank, dims);
    for (uint64_t o = 0; made != NULL && made->count > 0 && o < outer; o++)
        for (uint64_t j = 0; j < ids->count; j++) {
            const int64_t id = ids->wholes[j] < 0 ? ids->wholes[j] + x->dims[axis] : ids->wholes[j];
            if (id < 0 || id >= x->dims[axis]) {
                firnc_onnx_fail(im, "takes element %lld of %lld", (long long)ids->wholes[j], (long long)x->dims[axis]);
                return NULL;
            }
            for (uint64_t e = 0; e < inner; e++)
                copy_element(made, at++, x, (o * (uint64_t)x->dims[axis] + (uint64_t)id) * inner + e);
        }
    return made;
}

static const firnc_onnx_tensor *slice(firnc_onnx_importer *im, const firnc_onnx_node *node,
                                      const firnc_onnx_tensor *x) {
    int64_t first[FIRN_RANK_MAX], step[FIRN_RANK_MAX], counts[FIRN_RANK_MAX], strides[FIRN_RANK_MAX], stride = 1;
    if (!firnc_onnx_slice_bounds(im, node, first, step, counts))
        return NULL;
    for (uint8_t i = x->rank; i-- > 0; stride *= x->dims[i])
        strides[i] = stride;
    firnc_onnx_tensor *made = firnc_onnx_tensor_new(im, x->type, x->rank, counts);
    int64_t at[FIRN_RANK_MAX] = {0};
    for (uint64_t i = 0; made != NULL && i < made->count; i++) {
        int64_t from = 0;
        for (uint8_t axis = 0; axis < x->rank; axis++)
            from += (first[axis] + at[axis] * step[axis]) * strides[axis];
        copy_element(made, i, x, (uint64_t)from);
        for (uint8_t axis = x->rank; axis-- > 0;) {
            if (++at[axis] < counts[axis])
                break;
            at[axis] = 0;
        }
    }
    return made;
}

static bool split(firnc_onnx_importer *im, const firnc_onnx_node *node, const firnc_onnx_tensor *x) {
    const uint8_t axis = firnc_onnx_axis(im, firnc_onnx_integer(node, "axis", 0), x->rank);
    const int64_t *list;
    uint32_t count;
    int64_t first = 0;
    uint64_t inner = 1, outer = 1;
    if (!firnc_onnx_list(im, node, 1, "sizes", &list, &count) || im->failed)
        return false;
    const int64_t parts = count != FIRNC_NONE ? count : firnc_onnx_integer(node, "num_outputs", node->output_count);
    if (parts < 1 || parts < node->output_count)
        return firnc_onnx_fail(im, "makes %lld parts", (long long)parts);
    for (uint8_t i = 0; i < x->rank; i++)
        *(i < axis ? &outer : &inner) *= i == axis ? 1 : (uint64_t)x->dims[i];
    for (uint32_t p = 0; p < node->output_count; p++) {
        int64_t dims[FIRN_RANK_MAX], size = count != FIRNC_NONE ? list[p] : (x->dims[axis] + parts - 1) / parts;
        if (count == FIRNC_NONE && size > x->dims[axis] - first)
            size = x->dims[axis] - first;
        if (size < 0 || size > x->dims[axis] - first)
            return firnc_onnx_fail(im, "has a part of %lld of the %lld elements", (long long)size,
                                   (long long)x->dims[axis]);
        memcpy(dims, x->dims, sizeof dims);
        dims[axis] = size;
        firnc_onnx_tensor *made = firnc_onnx_tensor_new(im, x->type, x->rank, dims);
        uint64_t at = 0;
        for (uint64_t o = 0; made != NULL && made->count > 0 && o < outer; o++)
            for (uint64_t e = 0; e < (uint64_t)size * inner; e++)
                copy_element(made, at++, x, (o * (uint64_t)x->dims[axis] + (uint64_t)first) * inner + e);
        firnc_onnx_set_known(node->outputs[p], made);
        first += size;
    }
    return firnc_onnx_check_parts(im, node, x->dims[axis]);
}

/* Copies with other extents, which repeat the elements. */
static const firnc_onnx_tensor *expand(firnc_onnx_importer *im, const firnc_onnx_node *node,
                                       const firnc_onnx_tensor *x) {
    const int64_t *list;
    uint32_t count;
    firnc_onnx_tensor shape = {.type = x->type};
    if (!firnc_onnx_list(im, node, 1, "extents", &list, &count))
        return NULL;
    if (count > FIRN_RANK_MAX) {
        firnc_onnx_fail(im, "makes more than %d dimensions", FIRN_RANK_MAX);
        return NULL;
    }
    shape.rank = (uint8_t)count;
    memcpy(shape.dims, list, count * sizeof *list);
    const firnc_onnx_tensor *both[] = {x, &shape};
    firnc_onnx_tensor *made = broadcast(im, x->type, both, 2);
    walk from;
    if (made == NULL)
        return NULL;
    walk_begin(&from, x, made);
    for (uint64_t i = 0; i < made->count; i++) {
        copy_element(made, i, x, from.position);
        walk_on(&from, made);
    }
    return made;
}

static const firnc_onnx_tensor *tile(firnc_onnx_importer *im, const firnc_onnx_node *node, const firnc_onnx_tensor *x) {
    const int64_t *list;
    uint32_t count;
    int64_t dims[FIRN_RANK_MAX], at[FIRN_RANK_MAX] = {0};
    if (!firnc_onnx_list(im, node, 1, "repeats", &list, &count))
        return NULL;
    for (uint8_t i = 0; i < x->rank; i++) {
        if (count != x->rank || list[i] < 0 ||
            (x->dims[i] > 0 && list[i] > (int64_t)FIRNC_ONNX_ELEMENTS_MAX / x->dims[i])) {
            firnc_onnx_fail(im, "has repeats that are not one for each axis");
            return NULL;
        }
        dims[i] = x->dims[i] * list[i];
    }
    firnc_onnx_tensor *made = firnc_onnx_tensor_new(im, x->type, x->rank, dims);
    for (uint64_t i = 0; made != NULL && i < made->count; i++) {
        uint64_t from = 0;
        for (uint8_t axis = 0; axis < x->rank; axis++)
            from = from * (uint64_t)x->dims[axis] + (uint64_t)(at[axis] % x->dims[axis]);
        copy_element(made, i, x, from);
        for (uint8_t axis = x->rank; axis-- > 0;) {
            if (++at[axis] < dims[axis])
                break;
            at[axis] = 0;
        }
    }
    return made;
}

/* --- made from numbers -------------------------------------------------------------------------------------------- */

static const firnc_onnx_tensor *range(firnc_onnx_importer *im, const firnc_onnx_tensor *start,
                                      const firnc_onnx_tensor *limit, const firnc_onnx_tensor *delta) {
    if (start->count != 1 || limit->count != 1 || delta->count != 1 || firnc_onnx_number(delta, 0) == 0) {
        firnc_onnx_fail(im, "takes three numbers, the last of which is not 0");
        return NULL;
    }
    const double first = firnc_onnx_number(start, 0), step = firnc_onnx_number(delta, 0);
    const double wanted = ceil((firnc_onnx_number(limit, 0) - first) / step);
    if (!(wanted <= (double)FIRNC_ONNX_ELEMENTS_MAX)) {
        firnc_onnx_fail(im, "makes more than %llu elements", (unsigned long long)FIRNC_ONNX_ELEMENTS_MAX);
        return NULL;
    }
    firnc_onnx_tensor *made = firnc_onnx_tensor_new(im, start->type, 1, (int64_t[]){wanted > 0 ? (int64_t)wanted : 0});
    for (uint64_t i = 0; made != NULL && i < made->count; i++)
        firnc_onnx_put(made, i, first + (double)i * step);
    return made;
}

static const firnc_onnx_tensor *constant_of_shape(firnc_onnx_importer *im, const firnc_onnx_node *node) {
    const FirncOnnx__Attribute *a = firnc_onnx_attribute(node, "value");
    const firnc_onnx_tensor *value = a != NULL && a->t != NULL ? firnc_onnx_tensor_read(im, a->t, "of its value")
                                                               : firnc_onnx_tensor_scalar(im, FIRNC_ONNX_FLOAT, 0);
    const int64_t *list;
    uint32_t count;
    if (value == NULL || !firnc_onnx_list(im, node, 0, "extents", &list, &count))
        return NULL;
    if (count > FIRN_RANK_MAX || value->count != 1) {
        firnc_onnx_fail(im, "makes more than %d dimensions, or of more than one value", FIRN_RANK_MAX);
        return NULL;
    }
    firnc_onnx_tensor *made = firnc_onnx_tensor_new(im, value->type, (uint8_t)count, list);
    for (uint64_t i = 0; made != NULL && i < made->count; i++)
        copy_element(made, i, value, 0);
    return made;
}

static const firnc_onnx_tensor *triangle(firnc_onnx_importer *im, const firnc_onnx_node *node,
                                         const firnc_onnx_tensor *x) {
    double diagonal = 0;
    const bool upper = firnc_onnx_integer(node, "upper", 1) != 0;
    if (x->rank < 2 ||
        (node->input_count > 1 && node->inputs[1] != NULL && !firnc_onnx_single(node->inputs[1], &diagonal))) {
        firnc_onnx_fail(im, "takes matrices and a number");
        return NULL;
    }
    firnc_onnx_tensor *made = firnc_onnx_tensor_new(im, x->type, x->rank, x->dims);
    const int64_t columns = x->dims[x->rank - 1], rows = x->dims[x->rank - 2];
    for (uint64_t i = 0; made != NULL && i < made->count; i++) {
        const double beyond = (double)((int64_t)i % columns - (int64_t)i / columns % rows) - diagonal;
        if (upper ? beyond >= 0 : beyond <= 0)
            copy_element(made, i, x, i);
    }
    return made;
}

static const firnc_onnx_tensor *one_hot(firnc_onnx_importer *im, const firnc_onnx_node *node) {
    const firnc_onnx_tensor *ids = node->inputs[0]->known, *values = node->inputs[2]->known;
    const double depth = node->inputs[1]->known->count == 1 ? firnc_onnx_number(node->inputs[1]->known, 0) : 0;
    int64_t dims[FIRN_RANK_MAX] = {0};
    uint64_t inner = 1;
    if (!(depth >= 1 && depth < 1e9) || values->count != 2 || ids->rank + 1 > FIRN_RANK_MAX) {
        firnc_onnx_fail(im, "takes a depth and two values");
        return NULL;
    }
    const uint8_t rank = (uint8_t)(ids->rank + 1),
                  axis = firnc_onnx_axis(im, firnc_onnx_integer(node, "axis", -1), rank);
    for (uint8_t i = 0; i < rank; i++) {
        dims[i] = i < axis ? ids->dims[i] : i == axis ? (int64_t)depth : ids->dims[i - 1];
        inner *= i > axis ? (uint64_t)dims[i] : 1;
    }
    firnc_onnx_tensor *made = im->failed ? NULL : firnc_onnx_tensor_new(im, values->type, rank, dims);
    for (uint64_t i = 0; made != NULL && i < made->count; i++) {
        const uint64_t outer = i / inner / (uint64_t)depth;
        const double class = (double)(i / inner % (uint64_t)depth),
                     id = firnc_onnx_number(ids, outer * inner + i % inner);
        copy_element(made, i, values, (id < 0 ? id + depth : id) == class);
    }
    return made;
}

/* --- whole axes --------------------------------------------------------------------------------------------------- */

static double reduce_two(const char *op, double a, double b) {
    if (strcmp(op, "ReduceMax") == 0)
        return a > b ? a : b;
    if (strcmp(op, "ReduceMin") == 0)
        return a < b ? a : b;
    return strcmp(op, "ReduceProd") == 0 ? a * b : a + b;
}

/* The result for no elements. */
static double of_nothing(const char *op, uint8_t type) {
    if (strcmp(op, "ReduceMax") == 0)
        return type == FIRNC_ONNX_BOOL ? 0 : -HUGE_VAL;
    if (strcmp(op, "ReduceMin") == 0)
        return type == FIRNC_ONNX_BOOL ? 1 : HUGE_VAL;
    return strcmp(op, "ReduceProd") == 0 ? 1 : 0;
}

static const firnc_onnx_tensor *reduce(firnc_onnx_importer *im, const firnc_onnx_node *node,
                                       const firnc_onnx_tensor *x) {
    const int64_t *list;
    uint32_t count = firnc_onnx_integers(node, "axes", &list), mask = 0;
    int64_t dims[FIRN_RANK_MAX], kept[FIRN_RANK_MAX];
    uint8_t rank = 0;
    double terms = 1;
    if (count == 0 && !firnc_onnx_list(im, node, 1, "axes", &list, &count))
        return NULL;
    count = count == FIRNC_NONE ? 0 : count;
    if (count == 0 && firnc_onnx_integer(node, "noop_with_empty_axes", 0) != 0)
        return x;
    for (uint32_t i = 0; i < (count == 0 ? x->rank : count); i++)
        mask |= UINT32_C(1) << firnc_onnx_axis(im, count == 0 ? i : list[i], x->rank);
    for (uint8_t i = 0; i < x->rank; i++) {
        const bool gone = (mask >> i & 1) != 0;
        dims[i] = gone ? 1 : x->dims[i];
        terms *= gone ? (double)x->dims[i] : 1;
        if (!gone || firnc_onnx_integer(node, "keepdims", 1) != 0)
            kept[rank++] = dims[i];
    }
    firnc_onnx_tensor *made = im->failed ? NULL : firnc_onnx_tensor_new(im, x->type, x->rank, dims);
    if (made == NULL)
        return NULL;
    double *sums = firnc_allocate(made->count * sizeof *sums + 1);
    bool *begun = firnc_allocate(made->count + 1);
    walk to;
    walk_begin(&to, made, x);
    for (uint64_t i = 0; i < x->count; i++) {
        const double element = firnc_onnx_number(x, i);
        sums[to.position] = begun[to.position] ? reduce_two(node->op, sums[to.position], element) : element;
        begun[to.position] = true;
        walk_on(&to, x);
    }
    for (uint64_t i = 0; i < made->count; i++) {
        const double number = begun[i] ? sums[i] : of_nothing(node->op, x->type);
        if (!isfinite(number) && made->reals == NULL) {
            firnc_onnx_fail(im, "has no largest or smallest of no whole numbers");
            return NULL;
        }
        firnc_onnx_put(made, i, strcmp(node->op, "ReduceMean") == 0 ? number / terms : number);
    }
    return shaped(im, made, rank, kept);
}

static const firnc_onnx_tensor *running_sum(firnc_onnx_importer *im, const firnc_onnx_node *node,
                                            const firnc_onnx_tensor *x) {
    double number;
    if (!firnc_onnx_single(node->inputs[1], &number) || x->rank == 0) {
        firnc_onnx_fail(im, "takes an axis");
        return NULL;
    }
    const uint8_t axis = firnc_onnx_axis(im, firnc_onnx_truncated(number), x->rank);
    const bool exclusive = firnc_onnx_integer(node, "exclusive", 0) != 0,
               reverse = firnc_onnx_integer(node, "reverse", 0) != 0;
    firnc_onnx_tensor *made = im->failed ? NULL : firnc_onnx_tensor_new(im, x->type, x->rank, x->dims);
    uint64_t inner = 1;
    for (uint8_t i = (uint8_t)(axis + 1); i < x->rank; i++)
        inner *= (uint64_t)x->dims[i];
    const uint64_t extent = (uint64_t)x->dims[axis];
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

/* --- the table ---------------------------------------------------------------------------------------------------- */

static const firnc_onnx_tensor *clip(firnc_onnx_importer *im, const firnc_onnx_node *node, const firnc_onnx_tensor *x) {
    double bounds[2] = {-HUGE_VAL, HUGE_VAL};
    for (uint32_t i = 1; i < node->input_count && i < 3; i++)
        if (node->inputs[i] != NULL)
            (void)firnc_onnx_single(node->inputs[i], &bounds[i - 1]);
    firnc_onnx_tensor *made = firnc_onnx_tensor_new(im, x->type, x->rank, x->dims);
    for (uint64_t i = 0; made != NULL && i < made->count; i++) {
        double number = firnc_onnx_number(x, i);
        number = number < bounds[0] ? bounds[0] : number;
        firnc_onnx_put(made, i, number > bounds[1] ? bounds[1] : number);
    }
    return made;
}

/* The result of a node with one output; *known says whether the op is here. */
static const firnc_onnx_tensor *compute(firnc_onnx_importer *im, const firnc_onnx_node *node, bool *known) {
    const char *op = node->op;
    const firnc_onnx_tensor *in[FIRNC_ONNX_OPERANDS_MAX] = {NULL};
    for (uint32_t i = 0; i < node->input_count; i++)
        in[i] = node->inputs[i] == NULL ? NULL : node->inputs[i]->known;
    *known = true;
    if (strcmp(op, "Mod") == 0 && firnc_onnx_integer(node, "fmod", 0) != 0 && in[0]->wholes != NULL) {
        firnc_onnx_fail(im, "has fmod 1 for whole numbers, which Firn does not have; leave it out");
        return NULL;
    }
    if (firnc_onnx_is_listed(comparisons, op) || (firnc_onnx_is_listed(arithmetic, op) && node->input_count >= 2)) {
        const firnc_onnx_tensor *made = in[0];
        for (uint32_t i = 1; i < node->input_count && made != NULL && in[i] != NULL; i++)
            made = two(im, op, made, in[i]);
        return made;
    }
    if (strcmp(op, "Where") == 0)
        return select_known(im, in[0], in[1], in[2]);
    if (strcmp(op, "Cast") == 0)
        return firnc_onnx_tensor_cast(im, in[0], firnc_onnx_integer(node, "to", 0));
    if (strcmp(op, "CastLike") == 0)
        return firnc_onnx_tensor_cast(im, in[0], in[1]->type);
    if (strcmp(op, "Identity") == 0)
        return in[0];
    if (strcmp(op, "Reshape") == 0)
        return reshape(im, node, in[0]);
    if (strcmp(op, "Flatten") == 0)
        return flatten(im, node, in[0]);
    if (strcmp(op, "Squeeze") == 0 || strcmp(op, "Unsqueeze") == 0)
        return squeeze(im, node, in[0]);
    if (strcmp(op, "Transpose") == 0)
        return transpose(im, node, in[0]);
    if (strcmp(op, "Concat") == 0)
        return concat(im, node);
    if (strcmp(op, "Gather") == 0)
        return gather(im, node, in[0], in[1]);
    if (strcmp(op, "Slice") == 0)
        return slice(im, node, in[0]);
    if (strcmp(op, "Expand") == 0)
        return expand(im, node, in[0]);
    if (strcmp(op, "Tile") == 0)
        return tile(im, node, in[0]);
    if (strcmp(op, "Range") == 0)
        return range(im, in[0], in[1], in[2]);
    if (strcmp(op, "ConstantOfShape") == 0)
        return constant_of_shape(im, node);
    if (strcmp(op, "Trilu") == 0)
        return triangle(im, node, in[0]);
    if (strcmp(op, "OneHot") == 0)
        return one_hot(im, node);
    if (strcmp(op, "Clip") == 0)
        return clip(im, node, in[0]);
    if (strcmp(op, "CumSum") == 0)
        return running_sum(im, node, in[0]);
    if (firnc_onnx_is_listed("ReduceProd ReduceSum ReduceMax ReduceMin ReduceMean", op))
        return reduce(im, node, in[0]);
    if (node->input_count != 1) {
        *known = false;
        return NULL;
    }
    return one(im, op, in[0], known);
}

bool firnc_onnx_fold(firnc_onnx_importer *im, const firnc_onnx_node *node, bool *done) {
    bool known;
    *done = false;
    if (node->input_count == 0)
        return true;
    if (strcmp(node->op, "Split") == 0) {
        *done = true;
        return split(im, node, node->inputs[0]->known);
    }
    const firnc_onnx_tensor *made = compute(im, node, &known);
    if (im->failed)
        return false;
    *done = known && made != NULL;
    if (*done)
        firnc_onnx_set_known(node->outputs[0], made);
    return true;
}
