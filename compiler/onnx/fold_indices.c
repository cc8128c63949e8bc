/* Computes nodes that take, place, choose or sort elements which are all known (compiler/onnx/fold.h). */
#include <stdlib.h>
#include <string.h>

#include "compiler/onnx/fold.h"

/* --- places ------------------------------------------------------------------------------------------------------- */

/* An index that may count from the end. False after one message if the axis does not have it. */
static bool within(firnc_onnx_importer *im, int64_t index, int64_t extent, int64_t *at) {
    *at = index < 0 ? index + extent : index;
    return (*at >= 0 && *at < extent) ||
           firnc_onnx_fail(im, "takes element %lld of %lld", (long long)index, (long long)extent);
}

static bool are_whole(firnc_onnx_importer *im, const firnc_onnx_tensor *ids) {
    return ids->wholes != NULL || firnc_onnx_fail(im, "takes whole numbers as indices; cast them to int64");
}

/* A copy that may be changed. */
static firnc_onnx_tensor *copy_of(firnc_onnx_importer *im, const firnc_onnx_tensor *x) {
    firnc_onnx_tensor *made = firnc_onnx_tensor_new(im, x->type, x->rank, x->dims);
    for (uint64_t i = 0; made != NULL && i < made->count; i++)
        firnc_onnx_copy_element(made, i, x, i);
    return made;
}

/* The position in x of the element that an element of ids names along an axis; their other extents may be smaller than
 * those of x. `at` is the position in ids. False after one message. */
static bool named_element(firnc_onnx_importer *im, const firnc_onnx_tensor *x, const firnc_onnx_tensor *ids,
                          uint8_t axis, uint64_t at, uint64_t *position) {
    uint64_t step = 1, left = at;
    int64_t along;
    *position = 0;
    if (!within(im, ids->wholes[at], x->dims[axis], &along))
        return false;
    for (uint8_t i = x->rank; i-- > 0;) {
        const uint64_t own = left % (uint64_t)ids->dims[i];
        *position += (i == axis ? (uint64_t)along : own) * step;
        left /= (uint64_t)ids->dims[i];
        step *= (uint64_t)x->dims[i];
    }
    return true;
}

/* Whether ids can name elements of x along an axis. */
static bool check_elements(firnc_onnx_importer *im, const firnc_onnx_tensor *x, const firnc_onnx_tensor *ids,
                           uint8_t axis) {
    if (im->failed || !are_whole(im, ids))
        return false;
    bool fits = x->rank == ids->rank;
    for (uint8_t i = 0; fits && i < x->rank; i++)
        fits = i == axis || ids->dims[i] <= x->dims[i];
    return fits || firnc_onnx_fail(im, "has indices of other extents than its operand");
}

const firnc_onnx_tensor *firnc_onnx_fold_gather_elements(firnc_onnx_importer *im, const firnc_onnx_node *node,
                                                         const firnc_onnx_tensor *const *in) {
    const firnc_onnx_tensor *x = in[0], *ids = in[1];
    const uint8_t axis = firnc_onnx_axis(im, firnc_onnx_integer(node, "axis", 0), x->rank);
    if (!check_elements(im, x, ids, axis))
        return NULL;
    firnc_onnx_tensor *made = firnc_onnx_tensor_new(im, x->type, ids->rank, ids->dims);
    for (uint64_t i = 0; made != NULL && i < made->count; i++) {
        uint64_t from;
        if (!named_element(im, x, ids, axis, i, &from))
            return NULL;
        firnc_onnx_copy_element(made, i, x, from);
    }
    return made;
}

/* --- updates ------------------------------------------------------------------------------------------------------ */

static const char *const reductions[] = {"none", "add", "mul", "min", "max", NULL};

/* The number of a reduction; -1 after one message. */
static int reduction_of(firnc_onnx_importer *im, const firnc_onnx_node *node) {
    const char *word = firnc_onnx_text(node, "reduction", "none");
    for (int i = 0; reductions[i] != NULL; i++)
        if (strcmp(word, reductions[i]) == 0)
            return i;
    firnc_onnx_fail(im, "has reduction %s; none, add, mul, min and max are known", word);
    return -1;
}

static void update(firnc_onnx_tensor *to, uint64_t at, const firnc_onnx_tensor *from, uint64_t element, int reduction) {
    const double a = firnc_onnx_number(to, at), b = firnc_onnx_number(from, element);
    if (reduction == 0)
        firnc_onnx_copy_element(to, at, from, element);
    else
        firnc_onnx_put(to, at,
                       reduction == 1   ? a + b
                       : reduction == 2 ? a * b
                       : reduction == 3 ? (b < a ? b : a)
                                        : (b > a ? b : a));
}

const firnc_onnx_tensor *firnc_onnx_fold_scatter_elements(firnc_onnx_importer *im, const firnc_onnx_node *node,
                                                          const firnc_onnx_tensor *const *in) {
    const firnc_onnx_tensor *x = in[0], *ids = in[1], *updates = in[2];
    const uint8_t axis = firnc_onnx_axis(im, firnc_onnx_integer(node, "axis", 0), x->rank);
    const int reduction = reduction_of(im, node);
    if (!check_elements(im, x, ids, axis))
        return NULL;
    if (updates->count != ids->count || updates->type != x->type) {
        firnc_onnx_fail(im, "has updates of another type or number than its operand and its indices");
        return NULL;
    }
    firnc_onnx_tensor *made = copy_of(im, x);
    for (uint64_t i = 0; made != NULL && i < ids->count; i++) {
        uint64_t to;
        if (!named_element(im, x, ids, axis, i, &to))
            return NULL;
        update(made, to, updates, i, reduction);
    }
    return made;
}

/* The first element of the slice of x that a row of indices names behind `skip` axes. False after one message. */
static bool named_slice(firnc_onnx_importer *im, const firnc_onnx_tensor *x, uint32_t skip, const int64_t *row,
                        uint32_t named, uint64_t *position) {
    for (uint32_t i = 0; i < named; i++) {
        int64_t at;
        if (!within(im, row[i], x->dims[skip + i], &at))
            return false;
        *position += (uint64_t)at * firnc_onnx_elements_from(x, skip + i + 1);
    }
    return true;
}

const firnc_onnx_tensor *firnc_onnx_fold_scatter_nd(firnc_onnx_importer *im, const firnc_onnx_node *node,
                                                    const firnc_onnx_tensor *const *in) {
    const firnc_onnx_tensor *x = in[0], *ids = in[1], *updates = in[2];
    const int reduction = reduction_of(im, node);
    const int64_t named = ids->rank == 0 ? 0 : ids->dims[ids->rank - 1];
    if (im->failed || !are_whole(im, ids))
        return NULL;
    const uint64_t each = named >= 1 && named <= x->rank ? firnc_onnx_elements_from(x, (uint32_t)named) : 0;
    const uint64_t rows = named >= 1 ? ids->count / (uint64_t)named : 0;
    if (named < 1 || named > x->rank || updates->type != x->type || updates->count != rows * each) {
        firnc_onnx_fail(im, "has indices or updates that do not fit its operand");
        return NULL;
    }
    firnc_onnx_tensor *made = copy_of(im, x);
    for (uint64_t r = 0; made != NULL && r < rows; r++) {
        uint64_t to = 0;
        if (!named_slice(im, x, 0, ids->wholes + r * (uint64_t)named, (uint32_t)named, &to))
            return NULL;
        for (uint64_t e = 0; e < each; e++)
            update(made, to + e, updates, r * each + e, reduction);
    }
    return made;
}

const firnc_onnx_tensor *firnc_onnx_fold_gather_nd(firnc_onnx_importer *im, const firnc_onnx_node *node,
                                                   const firnc_onnx_tensor *const *in) {
    const firnc_onnx_tensor *x = in[0], *ids = in[1];
    uint8_t shared, named, rank;
    int64_t dims[FIRN_RANK_MAX];
    if (!firnc_onnx_gathered_nd(im, node, &shared, &named, &rank, dims))
        return NULL;
    const uint64_t each = firnc_onnx_elements_from(x, (uint32_t)shared + named),
                   batch = firnc_onnx_elements_from(x, shared);
    const uint64_t rows = ids->count / named, in_batch = firnc_onnx_elements_from(ids, shared) / named;
    firnc_onnx_tensor *made = firnc_onnx_tensor_new(im, x->type, rank, dims);
    for (uint64_t r = 0; made != NULL && made->count > 0 && r < rows; r++) {
        uint64_t from = r / in_batch * batch;
        if (!named_slice(im, x, shared, ids->wholes + r * named, named, &from))
            return NULL;
        for (uint64_t e = 0; e < each; e++)
            firnc_onnx_copy_element(made, r * each + e, x, from + e);
    }
    return made;
}

const firnc_onnx_tensor *firnc_onnx_fold_reverse_sequence(firnc_onnx_importer *im, const firnc_onnx_node *node,
                                                          const firnc_onnx_tensor *const *in) {
    const firnc_onnx_tensor *x = in[0], *lengths = in[1];
    const int64_t time = firnc_onnx_integer(node, "time_axis", 0), batch = firnc_onnx_integer(node, "batch_axis", 1);
    if (x->rank < 2 || time == batch || time < 0 || time > 1 || batch < 0 || batch > 1 || lengths->wholes == NULL ||
        lengths->count != (uint64_t)x->dims[batch]) {
        firnc_onnx_fail(im, "takes the axes 0 and 1, and a length for each sequence");
        return NULL;
    }
    firnc_onnx_tensor *made = copy_of(im, x);
    const uint64_t each = firnc_onnx_elements_from(x, 2), wide = (uint64_t)x->dims[1];
    for (uint64_t i = 0; made != NULL && i < made->count; i++) {
        uint64_t place[2] = {i / each / wide, i / each % wide};
        const int64_t length = lengths->wholes[place[batch]];
        if (length < 0 || length > x->dims[time]) {
            firnc_onnx_fail(im, "has a sequence of %lld of %lld elements", (long long)length, (long long)x->dims[time]);
            return NULL;
        }
        if (place[time] < (uint64_t)length)
            place[time] = (uint64_t)length - 1 - place[time];
        firnc_onnx_copy_element(made, i, x, (place[0] * wide + place[1]) * each + i % each);
    }
    return made;
}

/* --- choices ------------------------------------------------------------------------------------------------------ */

const firnc_onnx_tensor *firnc_onnx_fold_non_zero(firnc_onnx_importer *im, const firnc_onnx_node *node,
                                                  const firnc_onnx_tensor *const *in) {
    const firnc_onnx_tensor *x = in[0];
    const uint8_t rank = x->rank == 0 ? 1 : x->rank;
    int64_t count = 0, at = 0;
    (void)node;
    for (uint64_t i = 0; i < x->count; i++)
        count += firnc_onnx_number(x, i) != 0;
    firnc_onnx_tensor *made = firnc_onnx_tensor_new(im, FIRNC_ONNX_INT64, 2, (int64_t[]){rank, count});
    for (uint64_t i = 0; made != NULL && i < x->count; i++) {
        uint64_t left = i;
        if (firnc_onnx_number(x, i) == 0)
            continue;
        for (uint8_t axis = x->rank; axis-- > 0;) {
            made->wholes[axis * count + at] = (int64_t)(left % (uint64_t)x->dims[axis]);
            left /= (uint64_t)x->dims[axis];
        }
        at++;
    }
    return made;
}

const firnc_onnx_tensor *firnc_onnx_fold_compress(firnc_onnx_importer *im, const firnc_onnx_node *node,
                                                  const firnc_onnx_tensor *const *in) {
    const firnc_onnx_tensor *x = in[0], *condition = in[1];
    const bool flat = !firnc_onnx_has(node, "axis");
    const uint8_t axis = flat ? 0 : firnc_onnx_axis(im, firnc_onnx_integer(node, "axis", 0), x->rank);
    int64_t dims[FIRN_RANK_MAX] = {0}, kept = 0;
    if (im->failed)
        return NULL;
    const uint64_t extent = flat ? x->count : (uint64_t)x->dims[axis],
                   inner = flat ? 1 : firnc_onnx_elements_from(x, axis + 1u);
    for (uint64_t i = 0; i < condition->count && i < extent; i++)
        kept += firnc_onnx_number(condition, i) != 0;
    memcpy(dims, x->dims, sizeof dims);
    dims[axis] = kept;
    firnc_onnx_tensor *made = firnc_onnx_tensor_new(im, x->type, flat ? 1 : x->rank, dims);
    uint64_t to = 0;
    for (uint64_t i = 0; made != NULL && extent > 0 && i < x->count; i++) {
        const uint64_t place = i / inner % extent;
        if (place < condition->count && firnc_onnx_number(condition, place) != 0)
            firnc_onnx_copy_element(made, to++, x, i);
    }
    return made;
}

/* --- order -------------------------------------------------------------------------------------------------------- */

/* An element and its place. */
typedef struct placed {
    double number;
    int64_t place;
} placed;

static int by_place(const placed *a, const placed *b) {
    return (a->place > b->place) - (a->place < b->place);
}

static int ascending(const void *a, const void *b) {
    const placed *x = a, *y = b;
    return x->number < y->number ? -1 : x->number > y->number ? 1 : by_place(x, y);
}

static int descending(const void *a, const void *b) {
    const placed *x = a, *y = b;
    return x->number > y->number ? -1 : x->number < y->number ? 1 : by_place(x, y);
}

/* Of equal elements the first one comes first. */
const firnc_onnx_tensor *firnc_onnx_fold_top_k(firnc_onnx_importer *im, const firnc_onnx_node *node,
                                               const firnc_onnx_tensor *const *in) {
    const firnc_onnx_tensor *x = in[0];
    const uint8_t axis = firnc_onnx_axis(im, firnc_onnx_integer(node, "axis", -1), x->rank);
    const bool largest = firnc_onnx_integer(node, "largest", 1) != 0;
    int64_t dims[FIRN_RANK_MAX];
    if (im->failed)
        return NULL;
    const int64_t extent = x->dims[axis], k = in[1]->count == 1 && in[1]->wholes != NULL ? in[1]->wholes[0] : -1;
    if (k < 0 || k > extent) {
        firnc_onnx_fail(im, "takes %lld of %lld elements", (long long)k, (long long)extent);
        return NULL;
    }
    memcpy(dims, x->dims, sizeof dims);
    dims[axis] = k;
    firnc_onnx_tensor *made = firnc_onnx_tensor_new(im, x->type, x->rank, dims),
                      *places = firnc_onnx_tensor_new(im, FIRNC_ONNX_INT64, x->rank, dims);
    if (made == NULL || places == NULL)
        return NULL;
    placed *row = firnc_allocate((uint64_t)extent * sizeof *row + 1);
    const uint64_t inner = firnc_onnx_elements_from(x, axis + 1u),
                   rows = made->count == 0 ? 0 : made->count / (uint64_t)k;
    for (uint64_t r = 0; r < rows; r++) {
        const uint64_t outer = r / inner;
        for (int64_t i = 0; i < extent; i++)
            row[i] = (placed){firnc_onnx_number(x, (outer * (uint64_t)extent + (uint64_t)i) * inner + r % inner), i};
        qsort(row, (size_t)extent, sizeof *row, largest ? descending : ascending);
        for (int64_t i = 0; i < k; i++) {
            const uint64_t to = (outer * (uint64_t)k + (uint64_t)i) * inner + r % inner;
            firnc_onnx_copy_element(made, to, x,
                                    (outer * (uint64_t)extent + (uint64_t)row[i].place) * inner + r % inner);
            places->wholes[to] = row[i].place;
        }
    }
    firnc_onnx_set_known(node->outputs[1], places);
    return made;
}

/* The different elements of a tensor, which are numbered: the place of each one's first occurrence, and the number of
 * each element of the tensor. */
typedef struct classes {
    uint64_t count;
    int64_t *firsts;
    uint64_t *which;
} classes;

/* Numbers the different elements in ascending order. */
static classes classes_of(const firnc_onnx_tensor *x) {
    classes c = {.firsts = firnc_allocate(x->count * sizeof *c.firsts + 1),
                 .which = firnc_allocate(x->count * sizeof *c.which + 1)};
    placed *all = firnc_allocate(x->count * sizeof *all + 1);
    for (uint64_t i = 0; i < x->count; i++)
        all[i] = (placed){firnc_onnx_number(x, i), (int64_t)i};
    qsort(all, (size_t)x->count, sizeof *all, ascending);
    for (uint64_t i = 0; i < x->count; i++) {
        if (i == 0 || all[i].number != all[i - 1].number)
            c.firsts[c.count++] = all[i].place;
        c.which[all[i].place] = c.count - 1;
    }
    return c;
}

/* Numbers the different elements anew, in the order of their first occurrences. */
static void order_by_first(classes *c, uint64_t elements) {
    placed *order = firnc_allocate(c->count * sizeof *order + 1);
    uint64_t *number = firnc_allocate(c->count * sizeof *number + 1);
    for (uint64_t i = 0; i < c->count; i++)
        order[i] = (placed){(double)c->firsts[i], (int64_t)i};
    qsort(order, (size_t)c->count, sizeof *order, ascending);
    for (uint64_t i = 0; i < c->count; i++) {
        number[order[i].place] = i;
        c->firsts[i] = (int64_t)order[i].number;
    }
    for (uint64_t i = 0; i < elements; i++)
        c->which[i] = number[c->which[i]];
}

/* Outputs: the different elements, ascending or by their first occurrences; the places of these; for each element of
 * the tensor the number of its value; how often each value occurs. */
const firnc_onnx_tensor *firnc_onnx_fold_unique(firnc_onnx_importer *im, const firnc_onnx_node *node,
                                                const firnc_onnx_tensor *const *in) {
    const firnc_onnx_tensor *x = in[0];
    if (firnc_onnx_has(node, "axis") && x->rank != 1) {
        firnc_onnx_fail(im, "compares slices of an axis, which Firn does not have; leave axis out");
        return NULL;
    }
    classes c = classes_of(x);
    if (firnc_onnx_integer(node, "sorted", 1) == 0)
        order_by_first(&c, x->count);
    const int64_t count = (int64_t)c.count;
    firnc_onnx_tensor *made = firnc_onnx_tensor_new(im, x->type, 1, &count),
                      *places = firnc_onnx_tensor_new(im, FIRNC_ONNX_INT64, 1, &count),
                      *numbers = firnc_onnx_tensor_new(im, FIRNC_ONNX_INT64, 1, (int64_t[]){(int64_t)x->count}),
                      *counts = firnc_onnx_tensor_new(im, FIRNC_ONNX_INT64, 1, &count);
    if (im->failed)
        return NULL;
    for (uint64_t i = 0; i < c.count; i++) {
        firnc_onnx_copy_element(made, i, x, (uint64_t)c.firsts[i]);
        places->wholes[i] = c.firsts[i];
    }
    for (uint64_t i = 0; i < x->count; i++) {
        numbers->wholes[i] = (int64_t)c.which[i];
        counts->wholes[c.which[i]]++;
    }
    firnc_onnx_set_known(node->outputs[1], places);
    firnc_onnx_set_known(node->outputs[2], numbers);
    firnc_onnx_set_known(node->outputs[3], counts);
    return made;
}
