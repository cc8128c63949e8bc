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

static void walk_begin(walk *w, const ox_tensor *from, const ox_tensor *to) {
    int64_t step = 1;
    memset(w, 0, sizeof *w);
    for (uint8_t i = 0; i < from->rank; i++) {
        const uint8_t axis = (uint8_t)(from->rank - 1 - i);
        w->steps[to->rank - 1 - i] = from->dims[axis] == 1 ? 0 : step;
        step *= from->dims[axis];
    }
}

static void walk_on(walk *w, const ox_tensor *to) {
    for (uint8_t axis = to->rank; axis-- > 0;) {
        w->position = (uint64_t)((int64_t)w->position + w->steps[axis]);
        if (++w->at[axis] < to->dims[axis])
            return;
        w->position = (uint64_t)((int64_t)w->position - w->steps[axis] * to->dims[axis]);
        w->at[axis] = 0;
    }
}

/* A tensor with the extents of several by broadcasting. */
static ox_tensor *broadcast(ox_importer *im, uint8_t type, const ox_tensor *const *from, uint32_t count) {
    int64_t dims[FIRN_RANK_MAX] = {0};
    uint8_t rank = 0;
    for (uint32_t i = 0; i < count; i++)
        rank = from[i]->rank > rank ? from[i]->rank : rank;
    for (uint8_t axis = 0; axis < rank; axis++) {
        dims[axis] = 1;
        for (uint32_t i = 0; i < count; i++) {
            const int64_t extent = axis < rank - from[i]->rank ? 1 : from[i]->dims[axis - (rank - from[i]->rank)];
            if (extent != 1 && dims[axis] != 1 && extent != dims[axis]) {
                ox_fail(im, "cannot bring extents of %lld and %lld together", (long long)extent,
                        (long long)dims[axis]);
                return NULL;
            }
            dims[axis] = extent == 1 ? dims[axis] : extent;
        }
    }
    return ox_tensor_new(im, type, rank, dims);
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
    default: /* Max, Min, Mod, Mul */
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

static bool is_word_of(const char *list, const char *word) {
    const size_t length = strlen(word);
    for (const char *at = list; (at = strstr(at, word)) != NULL; at += length)
        if ((at == list || at[-1] == ' ') && (at[length] == ' ' || at[length] == '\0'))
            return true;
    return false;
}

static const ox_tensor *two(ox_importer *im, const char *op, const ox_tensor *a, const ox_tensor *b) {
    const bool compares = is_word_of(comparisons, op);
    const ox_tensor *both[] = {a, b};
    ox_tensor *made = broadcast(im, compares ? OX_BOOL : a->type, both, 2);
    walk x, y;
    if (made == NULL)
        return NULL;
    walk_begin(&x, a, made);
    walk_begin(&y, b, made);
    for (uint64_t i = 0; i < made->count; i++) {
        if (compares)
            made->wholes[i] = of_order(op, ox_number(a, x.position), ox_number(b, y.position));
        else if (made->wholes != NULL && b->wholes != NULL && op[0] != 'P')
            made->wholes[i] = of_wholes(op, a->wholes[x.position], b->wholes[y.position]);
        else
            ox_put(made, i, of_reals(op, ox_number(a, x.position), ox_number(b, y.position)));
        walk_on(&x, made);
        walk_on(&y, made);
    }
    return made;
}

static const ox_tensor *select_known(ox_importer *im, const ox_tensor *condition, const ox_tensor *a,
                                     const ox_tensor *b) {
    const ox_tensor *all[] = {condition, a, b};
    ox_tensor *made = broadcast(im, a->type, all, 3);
    walk walks[3];
    if (made == NULL || a->type != b->type)
        return NULL;
    for (int i = 0; i < 3; i++)
        walk_begin(&walks[i], all[i], made);
    for (uint64_t i = 0; i < made->count; i++) {
        const ox_tensor *from = ox_number(condition, walks[0].position) != 0 ? a : b;
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
    } rows[] = {{"Sqrt", sqrt}, {"Exp", exp}, {"Log", log}, {"Abs", fabs}, {"Ceil", ceil}, {"Floor", floor},
                {"Sin", sin},   {"Cos", cos}, {"Erf", erf}, {"Tanh", tanh}};
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

static const ox_tensor *one(ox_importer *im, const char *op, const ox_tensor *x, bool *known) {
    double y;
    *known = one_known(op, 0, &y);
    if (!*known)
        return NULL;
    ox_tensor *made = ox_tensor_new(im, x->type, x->rank, x->dims);
    for (uint64_t i = 0; made != NULL && i < made->count; i++) {
        (void)one_known(op, ox_number(x, i), &y);
        ox_put(made, i, y);
    }
    return made;
}

/* --- types -------------------------------------------------------------------------------------------------------- */

/* A whole number in a narrower type, which keeps its low bits. */
static int64_t narrowed(int64_t x, uint8_t type) {
    static const struct {
        uint8_t type, bits;
        bool sign;
    } rows[] = {{OX_UINT8, 8, false}, {OX_INT8, 8, true},    {OX_UINT16, 16, false},
                {OX_INT16, 16, true}, {OX_INT32, 32, true}, {OX_UINT32, 32, false}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (rows[i].type == type) {
            const int64_t low = (int64_t)((uint64_t)x & ((UINT64_C(1) << rows[i].bits) - 1));
            return rows[i].sign && (low >> (rows[i].bits - 1)) != 0 ? low - ((int64_t)1 << rows[i].bits) : low;
        }
    return x;
}

const ox_tensor *ox_tensor_cast(ox_importer *im, const ox_tensor *x, int64_t type) {
    if (type < 1 || type > OX_BFLOAT16 || type == 8 || type == 14 || type == 15) {
        ox_fail(im, "has to %s, which Firn does not have; cast to float or int64", ox_type_word((int32_t)type));
        return NULL;
    }
    ox_tensor *made = ox_tensor_new(im, (uint8_t)type, x->rank, x->dims);
    for (uint64_t i = 0; made != NULL && i < made->count; i++) {
        if (type == OX_BOOL)
            made->wholes[i] = ox_number(x, i) != 0;
        else if (made->wholes != NULL && x->wholes != NULL)
            made->wholes[i] = narrowed(x->wholes[i], made->type);
        else
            ox_put(made, i, ox_number(x, i));
        if (made->wholes != NULL && x->wholes == NULL)
            made->wholes[i] = narrowed(made->wholes[i], made->type);
    }
    return made;
}

/* --- layout ------------------------------------------------------------------------------------------------------- */

/* The same elements in another shape. */
static const ox_tensor *shaped(ox_importer *im, const ox_tensor *x, uint8_t rank, const int64_t *dims) {
    uint64_t count = 1;
    bool fits = true;
    for (uint8_t i = 0; i < rank; i++) {
        fits = fits && dims[i] >= 0 && dims[i] <= (int64_t)OX_ELEMENTS_MAX;
        count *= (uint64_t)dims[i];
    }
    if (!fits || count != x->count) {
        ox_fail(im, "has other extents than its operand has elements for");
        return NULL;
    }
    ox_tensor *made = firnc_allocate(sizeof *made);
    *made = *x;
    made->rank = rank;
    memcpy(made->dims, dims, rank * sizeof *dims);
    return made;
}

static const ox_tensor *reshape(ox_importer *im, const ox_node *node, const ox_tensor *x) {
    const int64_t *list;
    uint32_t count;
    int64_t dims[FIRN_RANK_MAX], rest = -1, product = 1;
    if (!ox_list(im, node, 1, "extents", &list, &count))
        return NULL;
    if (count > FIRN_RANK_MAX) {
        ox_fail(im, "makes more than %d dimensions", FIRN_RANK_MAX);
        return NULL;
    }
    for (uint8_t i = 0; i < count; i++) {
        dims[i] = list[i] == 0 && ox_integer(node, "allowzero", 0) == 0 && i < x->rank ? x->dims[i] : list[i];
        if (dims[i] == -1 && rest < 0)
            rest = i;
        else if (dims[i] < 0 || (dims[i] > 0 && product > (int64_t)OX_ELEMENTS_MAX / dims[i])) {
            ox_fail(im, "has an extent of %lld", (long long)dims[i]);
            return NULL;
        } else
            product *= dims[i];
    }
    if (rest >= 0)
        dims[rest] = product == 0 ? 0 : (int64_t)x->count / product;
    return shaped(im, x, (uint8_t)count, dims);
}

static const ox_tensor *flatten(ox_importer *im, const ox_node *node, const ox_tensor *x) {
    const int64_t axis = ox_integer(node, "axis", 1);
    const uint8_t cut = axis == x->rank ? x->rank : ox_axis(im, axis, x->rank);
    int64_t dims[2] = {1, 1};
    for (uint8_t i = 0; i < x->rank; i++)
        dims[i >= cut] *= x->dims[i];
    return shaped(im, x, 2, dims);
}

static const ox_tensor *squeeze(ox_importer *im, const ox_node *node, const ox_tensor *x) {
    const int64_t *list;
    uint32_t count, mask = 0;
    int64_t dims[FIRN_RANK_MAX];
    uint8_t rank = 0;
    const bool drop = node->op[0] == 'S';
    if (!ox_list(im, node, 1, "axes", &list, &count))
        return NULL;
    const uint32_t wide = drop ? x->rank : x->rank + (count == FIRNC_NONE ? 0 : count);
    if (wide > FIRN_RANK_MAX) {
        ox_fail(im, "makes more than %d dimensions", FIRN_RANK_MAX);
        return NULL;
    }
    for (uint32_t i = 0; count != FIRNC_NONE && i < count; i++)
        mask |= UINT32_C(1) << ox_axis(im, list[i], (uint8_t)wide);
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

static const ox_tensor *transpose(ox_importer *im, const ox_node *node, const ox_tensor *x) {
    const int64_t *list;
    uint8_t order[FIRN_RANK_MAX];
    uint32_t seen = 0;
    const uint32_t count = ox_integers(node, "perm", &list);
    for (uint8_t i = 0; i < x->rank && (count == 0 || count == x->rank); i++) {
        order[i] = count == 0 ? (uint8_t)(x->rank - 1 - i) : ox_axis(im, list[i], x->rank);
        seen |= UINT32_C(1) << order[i];
    }
    if (im->failed || seen != (UINT32_C(1) << x->rank) - 1) {
        ox_fail(im, "its perm does not have each axis once");
        return NULL;
    }
    return ox_tensor_ordered(x, order);
}

static void copy_element(ox_tensor *to, uint64_t at, const ox_tensor *from, uint64_t element) {
    if (to->reals != NULL)
        to->reals[at] = from->reals[element];
    else
        to->wholes[at] = from->wholes[element];
}

static const ox_tensor *concat(ox_importer *im, const ox_node *node) {
    const ox_tensor *first = node->inputs[0]->known;
    const uint8_t axis = ox_axis(im, ox_integer(node, "axis", 0), first->rank);
    int64_t dims[FIRN_RANK_MAX];
    uint64_t outer = 1, at = 0;
    memcpy(dims, first->dims, sizeof dims);
    if (im->failed)
        return NULL;
    dims[axis] = 0;
    for (uint32_t i = 0; i < node->input_count; i++) {
        const ox_tensor *x = node->inputs[i] == NULL ? NULL : node->inputs[i]->known;
        if (x == NULL || x->rank != first->rank || x->type != first->type) {
            ox_fail(im, "joins tensors of different kinds");
            return NULL;
        }
        for (uint8_t j = 0; j < x->rank; j++)
            if (j != axis && x->dims[j] != first->dims[j]) {
                ox_fail(im, "joins tensors of different extents");
                return NULL;
            }
        dims[axis] += x->dims[axis];
    }
    for (uint8_t i = 0; i < axis; i++)
        outer *= (uint64_t)dims[i];
    ox_tensor *made = ox_tensor_new(im, first->type, first->rank, dims);
    for (uint64_t o = 0; made != NULL && made->count > 0 && o < outer; o++)
        for (uint32_t i = 0; i < node->input_count; i++) {
            const ox_tensor *x = node->inputs[i]->known;
            const uint64_t inner = x->count / outer;
            for (uint64_t e = 0; e < inner; e++)
                copy_element(made, at++, x, o * inner + e);
        }
    return made;
}

static const ox_tensor *gather(ox_importer *im, const ox_node *node, const ox_tensor *x, const ox_tensor *ids) {
    const uint8_t axis = ox_axis(im, ox_integer(node, "axis", 0), x->rank);
    int64_t dims[2 * FIRN_RANK_MAX];
    uint64_t outer = 1, inner = 1, at = 0;
    if (im->failed || ids->wholes == NULL || x->rank == 0 || x->rank + ids->rank - 1 > FIRN_RANK_MAX) {
        ox_fail(im, "takes whole numbers and makes at most %d dimensions", FIRN_RANK_MAX);
        return NULL;
    }
    const uint8_t rank = (uint8_t)(x->rank + ids->rank - 1);
    for (uint8_t i = 0; i < rank; i++)
        dims[i] = i < axis               ? x->dims[i]
                  : i < axis + ids->rank ? ids->dims[i - axis]
                                         : x->dims[i - ids->rank + 1];
    for (uint8_t i = 0; i < x->rank; i++)
        *(i < axis ? &outer : &inner) *= i == axis ? 1 : (uint64_t)x->dims[i];
    ox_tensor *made = ox_tensor_new(im, x->type, rank, dims);
    for (uint64_t o = 0; made != NULL && made->count > 0 && o < outer; o++)
        for (uint64_t j = 0; j < ids->count; j++) {
            const int64_t id = ids->wholes[j] < 0 ? ids->wholes[j] + x->dims[axis] : ids->wholes[j];
            if (id < 0 || id >= x->dims[axis]) {
                ox_fail(im, "takes element %lld of %lld", (long long)ids->wholes[j], (long long)x->dims[axis]);
                return NULL;
            }
            for (uint64_t e = 0; e < inner; e++)
                copy_element(made, at++, x, (o * (uint64_t)x->dims[axis] + (uint64_t)id) * inner + e);
        }
    return made;
}

static const ox_tensor *slice(ox_importer *im, const ox_node *node, const ox_tensor *x) {
    int64_t first[FIRN_RANK_MAX], step[FIRN_RANK_MAX], counts[FIRN_RANK_MAX], strides[FIRN_RANK_MAX], stride = 1;
    if (!ox_slice_bounds(im, node, first, step, counts))
        return NULL;
    for (uint8_t i = x->rank; i-- > 0; stride *= x->dims[i])
        strides[i] = stride;
    ox_tensor *made = ox_tensor_new(im, x->type, x->rank, counts);
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

static bool split(ox_importer *im, const ox_node *node, const ox_tensor *x) {
    const uint8_t axis = ox_axis(im, ox_integer(node, "axis", 0), x->rank);
    const int64_t *list;
    uint32_t count;
    int64_t first = 0;
    uint64_t inner = 1, outer = 1;
    if (!ox_list(im, node, 1, "sizes", &list, &count) || im->failed)
        return false;
    const int64_t parts = count != FIRNC_NONE ? count : ox_integer(node, "num_outputs", node->output_count);
    if (parts < 1 || parts < node->output_count)
        return ox_fail(im, "makes %lld parts", (long long)parts);
    for (uint8_t i = 0; i < x->rank; i++)
        *(i < axis ? &outer : &inner) *= i == axis ? 1 : (uint64_t)x->dims[i];
    for (uint32_t p = 0; p < node->output_count; p++) {
        int64_t dims[FIRN_RANK_MAX], size = count != FIRNC_NONE ? list[p] : (x->dims[axis] + parts - 1) / parts;
        if (count == FIRNC_NONE && size > x->dims[axis] - first)
            size = x->dims[axis] - first;
        if (size < 0 || size > x->dims[axis] - first)
            return ox_fail(im, "has a part of %lld of the %lld elements", (long long)size, (long long)x->dims[axis]);
        memcpy(dims, x->dims, sizeof dims);
        dims[axis] = size;
        ox_tensor *made = ox_tensor_new(im, x->type, x->rank, dims);
        uint64_t at = 0;
        for (uint64_t o = 0; made != NULL && made->count > 0 && o < outer; o++)
            for (uint64_t e = 0; e < (uint64_t)size * inner; e++)
                copy_element(made, at++, x, (o * (uint64_t)x->dims[axis] + (uint64_t)first) * inner + e);
        ox_set_known(node->outputs[p], made);
        first += size;
    }
    return !im->failed;
}

/* Copies with other extents, which repeat the elements. */
static const ox_tensor *expand(ox_importer *im, const ox_node *node, const ox_tensor *x) {
    const int64_t *list;
    uint32_t count;
    ox_tensor shape = {.type = x->type};
    if (!ox_list(im, node, 1, "extents", &list, &count))
        return NULL;
    if (count > FIRN_RANK_MAX) {
        ox_fail(im, "makes more than %d dimensions", FIRN_RANK_MAX);
        return NULL;
    }
    shape.rank = (uint8_t)count;
    memcpy(shape.dims, list, count * sizeof *list);
    const ox_tensor *both[] = {x, &shape};
    ox_tensor *made = broadcast(im, x->type, both, 2);
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

static const ox_tensor *tile(ox_importer *im, const ox_node *node, const ox_tensor *x) {
    const int64_t *list;
    uint32_t count;
    int64_t dims[FIRN_RANK_MAX], at[FIRN_RANK_MAX] = {0};
    if (!ox_list(im, node, 1, "repeats", &list, &count))
        return NULL;
    for (uint8_t i = 0; i < x->rank; i++) {
        if (count != x->rank || list[i] < 0 || (x->dims[i] > 0 && list[i] > (int64_t)OX_ELEMENTS_MAX / x->dims[i])) {
            ox_fail(im, "has repeats that are not one for each axis");
            return NULL;
        }
        dims[i] = x->dims[i] * list[i];
    }
    ox_tensor *made = ox_tensor_new(im, x->type, x->rank, dims);
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

static const ox_tensor *range(ox_importer *im, const ox_tensor *start, const ox_tensor *limit, const ox_tensor *delta) {
    if (start->count != 1 || limit->count != 1 || delta->count != 1 || ox_number(delta, 0) == 0) {
        ox_fail(im, "takes three numbers, the last of which is not 0");
        return NULL;
    }
    const double first = ox_number(start, 0), step = ox_number(delta, 0);
    const double wanted = ceil((ox_number(limit, 0) - first) / step);
    if (!(wanted <= (double)OX_ELEMENTS_MAX)) {
        ox_fail(im, "makes more than %llu elements", (unsigned long long)OX_ELEMENTS_MAX);
        return NULL;
    }
    ox_tensor *made = ox_tensor_new(im, start->type, 1, (int64_t[]){wanted > 0 ? (int64_t)wanted : 0});
    for (uint64_t i = 0; made != NULL && i < made->count; i++)
        ox_put(made, i, first + (double)i * step);
    return made;
}

static const ox_tensor *constant_of_shape(ox_importer *im, const ox_node *node) {
    const FirncOnnx__Attribute *a = ox_attribute(node, "value");
    const ox_tensor *value = a != NULL && a->t != NULL ? ox_tensor_read(im, a->t, "of its value") : ox_tensor_scalar(im, OX_FLOAT, 0);
    const int64_t *list;
    uint32_t count;
    if (value == NULL || !ox_list(im, node, 0, "extents", &list, &count))
        return NULL;
    if (count > FIRN_RANK_MAX || value->count != 1) {
        ox_fail(im, "makes more than %d dimensions, or of more than one value", FIRN_RANK_MAX);
        return NULL;
    }
    ox_tensor *made = ox_tensor_new(im, value->type, (uint8_t)count, list);
    for (uint64_t i = 0; made != NULL && i < made->count; i++)
        copy_element(made, i, value, 0);
    return made;
}

static const ox_tensor *triangle(ox_importer *im, const ox_node *node, const ox_tensor *x) {
    double diagonal = 0;
    const bool upper = ox_integer(node, "upper", 1) != 0;
    if (x->rank < 2 || (node->input_count > 1 && node->inputs[1] != NULL && !ox_single(node->inputs[1], &diagonal))) {
        ox_fail(im, "takes matrices and a number");
        return NULL;
    }
    ox_tensor *made = ox_tensor_new(im, x->type, x->rank, x->dims);
    const int64_t columns = x->dims[x->rank - 1], rows = x->dims[x->rank - 2];
    for (uint64_t i = 0; made != NULL && i < made->count; i++) {
        const double beyond = (double)((int64_t)i % columns - (int64_t)i / columns % rows) - diagonal;
        if (upper ? beyond >= 0 : beyond <= 0)
            copy_element(made, i, x, i);
    }
    return made;
}

static const ox_tensor *one_hot(ox_importer *im, const ox_node *node) {
    const ox_tensor *ids = node->inputs[0]->known, *values = node->inputs[2]->known;
    const double depth = node->inputs[1]->known->count == 1 ? ox_number(node->inputs[1]->known, 0) : 0;
    int64_t dims[FIRN_RANK_MAX] = {0};
    uint64_t inner = 1;
    if (!(depth >= 1 && depth < 1e9) || values->count != 2 || ids->rank + 1 > FIRN_RANK_MAX) {
        ox_fail(im, "takes a depth and two values");
        return NULL;
    }
    const uint8_t rank = (uint8_t)(ids->rank + 1), axis = ox_axis(im, ox_integer(node, "axis", -1), rank);
    for (uint8_t i = 0; i < rank; i++) {
        dims[i] = i < axis ? ids->dims[i] : i == axis ? (int64_t)depth : ids->dims[i - 1];
        inner *= i > axis ? (uint64_t)dims[i] : 1;
    }
    ox_tensor *made = im->failed ? NULL : ox_tensor_new(im, values->type, rank, dims);
    for (uint64_t i = 0; made != NULL && i < made->count; i++) {
        const uint64_t outer = i / inner / (uint64_t)depth;
        const double class = (double)(i / inner % (uint64_t)depth), id = ox_number(ids, outer * inner + i % inner);
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
        return type == OX_BOOL ? 0 : -INFINITY;
    if (strcmp(op, "ReduceMin") == 0)
        return type == OX_BOOL ? 1 : INFINITY;
    return strcmp(op, "ReduceProd") == 0 ? 1 : 0;
}

static const ox_tensor *reduce(ox_importer *im, const ox_node *node, const ox_tensor *x) {
    const int64_t *list;
    uint32_t count = ox_integers(node, "axes", &list), mask = 0;
    int64_t dims[FIRN_RANK_MAX], kept[FIRN_RANK_MAX];
    uint8_t rank = 0;
    double terms = 1;
    if (count == 0 && !ox_list(im, node, 1, "axes", &list, &count))
        return NULL;
    count = count == FIRNC_NONE ? 0 : count;
    if (count == 0 && ox_integer(node, "noop_with_empty_axes", 0) != 0)
        return x;
    for (uint32_t i = 0; i < (count == 0 ? x->rank : count); i++)
        mask |= UINT32_C(1) << ox_axis(im, count == 0 ? i : list[i], x->rank);
    for (uint8_t i = 0; i < x->rank; i++) {
        const bool gone = (mask >> i & 1) != 0;
        dims[i] = gone ? 1 : x->dims[i];
        terms *= gone ? (double)x->dims[i] : 1;
        if (!gone || ox_integer(node, "keepdims", 1) != 0)
            kept[rank++] = dims[i];
    }
    ox_tensor *made = im->failed ? NULL : ox_tensor_new(im, x->type, x->rank, dims);
    if (made == NULL)
        return NULL;
    double *sums = firnc_allocate(made->count * sizeof *sums + 1);
    bool *begun = firnc_allocate(made->count + 1);
    walk to;
    walk_begin(&to, made, x);
    for (uint64_t i = 0; i < x->count; i++) {
        const double element = ox_number(x, i);
        sums[to.position] = begun[to.position] ? reduce_two(node->op, sums[to.position], element) : element;
        begun[to.position] = true;
        walk_on(&to, x);
    }
    for (uint64_t i = 0; i < made->count; i++) {
        const double number = begun[i] ? sums[i] : of_nothing(node->op, x->type);
        if (!isfinite(number) && made->reals == NULL) {
            ox_fail(im, "has no largest or smallest of no whole numbers");
            return NULL;
        }
        ox_put(made, i, strcmp(node->op, "ReduceMean") == 0 ? number / terms : number);
    }
    return shaped(im, made, rank, kept);
}

static const ox_tensor *running_sum(ox_importer *im, const ox_node *node, const ox_tensor *x) {
    double number;
    if (!ox_single(node->inputs[1], &number) || x->rank == 0) {
        ox_fail(im, "takes an axis");
        return NULL;
    }
    const uint8_t axis = ox_axis(im, ox_truncated(number), x->rank);
    const bool exclusive = ox_integer(node, "exclusive", 0) != 0, reverse = ox_integer(node, "reverse", 0) != 0;
    ox_tensor *made = im->failed ? NULL : ox_tensor_new(im, x->type, x->rank, x->dims);
    uint64_t inner = 1;
    for (uint8_t i = (uint8_t)(axis + 1); i < x->rank; i++)
        inner *= (uint64_t)x->dims[i];
    const uint64_t extent = (uint64_t)x->dims[axis];
    for (uint64_t row = 0; made != NULL && x->count > 0 && row < x->count / extent; row++) {
        const uint64_t base = row / inner * extent * inner + row % inner;
        double sum = 0;
        for (uint64_t i = 0; i < extent; i++) {
            const uint64_t at = base + (reverse ? extent - 1 - i : i) * inner;
            const double element = ox_number(x, at);
            ox_put(made, at, exclusive ? sum : sum + element);
            sum += element;
        }
    }
    return made;
}

/* --- the table ---------------------------------------------------------------------------------------------------- */

static const ox_tensor *clip(ox_importer *im, const ox_node *node, const ox_tensor *x) {
    double bounds[2] = {-INFINITY, INFINITY};
    for (uint32_t i = 1; i < node->input_count && i < 3; i++)
        if (node->inputs[i] != NULL)
            (void)ox_single(node->inputs[i], &bounds[i - 1]);
    ox_tensor *made = ox_tensor_new(im, x->type, x->rank, x->dims);
    for (uint64_t i = 0; made != NULL && i < made->count; i++) {
        double number = ox_number(x, i);
        number = number < bounds[0] ? bounds[0] : number;
        ox_put(made, i, number > bounds[1] ? bounds[1] : number);
    }
    return made;
}

/* The result of a node with one output; *known says whether the op is here. */
static const ox_tensor *compute(ox_importer *im, const ox_node *node, bool *known) {
    const char *op = node->op;
    const ox_tensor *in[OX_OPERANDS_MAX] = {NULL};
    for (uint32_t i = 0; i < node->input_count; i++)
        in[i] = node->inputs[i] == NULL ? NULL : node->inputs[i]->known;
    *known = true;
    if (strcmp(op, "Mod") == 0 && ox_integer(node, "fmod", 0) != 0 && in[0]->wholes != NULL) {
        ox_fail(im, "has fmod 1 for whole numbers, which Firn does not have; leave it out");
        return NULL;
    }
    if (is_word_of(comparisons, op) || (is_word_of(arithmetic, op) && node->input_count >= 2)) {
        const ox_tensor *made = in[0];
        for (uint32_t i = 1; i < node->input_count && made != NULL && in[i] != NULL; i++)
            made = two(im, op, made, in[i]);
        return made;
    }
    if (strcmp(op, "Where") == 0)
        return select_known(im, in[0], in[1], in[2]);
    if (strcmp(op, "Cast") == 0)
        return ox_tensor_cast(im, in[0], ox_integer(node, "to", 0));
    if (strcmp(op, "CastLike") == 0)
        return ox_tensor_cast(im, in[0], in[1]->type);
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
    if (is_word_of("ReduceProd ReduceSum ReduceMax ReduceMin ReduceMean", op))
        return reduce(im, node, in[0]);
    if (node->input_count != 1) {
        *known = false;
        return NULL;
    }
    return one(im, op, in[0], known);
}

bool ox_fold(ox_importer *im, const ox_node *node, bool *done) {
    bool known;
    *done = false;
    if (node->input_count == 0)
        return true;
    if (strcmp(node->op, "Split") == 0) {
        *done = true;
        return split(im, node, node->inputs[0]->known);
    }
    const ox_tensor *made = compute(im, node, &known);
    if (im->failed)
        return false;
    *done = known && made != NULL;
    if (*done)
        ox_set_known(node->outputs[0], made);
    return true;
}
