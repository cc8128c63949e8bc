/* Sequences of tensors: SplitToSequence, SequenceConstruct and SequenceEmpty make them, SequenceInsert and
 * SequenceErase make them of others; SequenceAt, SequenceLength and ConcatFromSequence read them. A sequence is not
 * there by itself: each part is made where a node reads it. Until then the sequence is a tensor without elements, which
 * no other op takes, and its producer says what the parts are. */
#include <math.h>
#include <string.h>

#include "compiler/onnx/fold.h"

static bool set_sequence(firnc_onnx_importer *im, const firnc_onnx_node *node, uint8_t type) {
    firnc_onnx_set_known(node->outputs[0], firnc_onnx_tensor_new(im, type, 1, (int64_t[]){0}));
    return !im->failed;
}

bool firnc_onnx_import_split_to_sequence(firnc_onnx_importer *im, const firnc_onnx_node *node) {
    return set_sequence(im, node, node->inputs[0]->type);
}

bool firnc_onnx_import_sequence_construct(firnc_onnx_importer *im, const firnc_onnx_node *node) {
    return set_sequence(im, node, node->inputs[0]->type);
}

bool firnc_onnx_import_sequence_empty(firnc_onnx_importer *im, const firnc_onnx_node *node) {
    return set_sequence(im, node, FIRNC_ONNX_FLOAT);
}

bool firnc_onnx_import_sequence_change(firnc_onnx_importer *im, const firnc_onnx_node *node) {
    return set_sequence(im, node, node->inputs[0]->type);
}

static bool changes(const firnc_onnx_node *maker) {
    return firnc_onnx_is_listed("SequenceInsert SequenceErase", maker->op);
}

/* The node that made the sequence which a node reads. NULL after one message. */
static const firnc_onnx_node *maker_of(firnc_onnx_importer *im, const firnc_onnx_node *node) {
    const firnc_onnx_node *maker = node->inputs[0]->producer;
    if (maker != NULL &&
        (changes(maker) || firnc_onnx_is_listed("SplitToSequence SequenceConstruct SequenceEmpty", maker->op)))
        return maker;
    firnc_onnx_fail(im, "reads a sequence that SplitToSequence or SequenceConstruct has not made; write Split");
    return NULL;
}

/* The parts that SplitToSequence makes. sizes: of each part; NULL: all parts but the last have `step` elements. */
typedef struct split {
    const int64_t *sizes;
    int64_t step, parts, extent;
    uint8_t axis;
    bool drops; /* the axis, of which each part has one element */
} split;

static bool read_split(firnc_onnx_importer *im, const firnc_onnx_node *maker, split *to) {
    const firnc_onnx_value *x = maker->inputs[0];
    const int64_t *sizes;
    uint32_t count;
    *to = (split){.axis = firnc_onnx_axis(im, firnc_onnx_integer(maker, "axis", 0), x->rank)};
    if (im->failed || !firnc_onnx_list(im, maker, 1, "sizes", &sizes, &count))
        return false;
    const bool listed = count != FIRNC_NONE && maker->inputs[1]->rank == 1;
    to->extent = x->dims[to->axis];
    to->sizes = listed ? sizes : NULL;
    to->step = count == FIRNC_NONE ? 1 : count > 0 ? sizes[0] : 0;
    to->drops = count == FIRNC_NONE && firnc_onnx_integer(maker, "keepdims", 1) == 0;
    if (!listed && to->step < 1)
        return firnc_onnx_fail(im, "takes a part of %lld elements", (long long)to->step);
    to->parts = listed ? count : (to->extent - 1) / to->step + 1;
    return true;
}

/* The parts of a sequence that was not changed. */
static bool count_made(firnc_onnx_importer *im, const firnc_onnx_node *maker, int64_t *count) {
    split s = {.parts = 0};
    *count = maker->input_count;
    if (strcmp(maker->op, "SplitToSequence") != 0)
        return true;
    const bool good = read_split(im, maker, &s);
    *count = s.parts;
    return good;
}

/* The elements of x from `first` on along an axis, as a value. */
static bool cut(firnc_onnx_importer *im, firnc_onnx_value *x, uint8_t axis, int64_t first, int64_t size,
                firnc_onnx_value *to) {
    if (!firnc_onnx_is_constant(x)) {
        const firnc_value y =
            firnc_onnx_slice(im, firnc_onnx_raw(im, x), firnc_onnx_place(x->order, x->rank, axis), first, 1, size);
        return firnc_onnx_set_like(im, to, y, x);
    }
    int64_t dims[FIRN_RANK_MAX];
    memcpy(dims, x->dims, sizeof dims);
    dims[axis] = size;
    firnc_onnx_tensor *made = firnc_onnx_tensor_new(im, x->type, x->rank, dims);
    firnc_onnx_walk from;
    firnc_onnx_walk_begin(&from, x->known, x->known);
    from.position += (uint64_t)(first * from.steps[axis]);
    for (uint64_t i = 0; made != NULL && i < made->count; i++) {
        firnc_onnx_copy_element(made, i, x->known, from.position);
        firnc_onnx_walk_on(&from, made);
    }
    firnc_onnx_set_known(to, made);
    return made != NULL;
}

/* Gives a value other extents of as many elements. */
static bool reshape(firnc_onnx_importer *im, firnc_onnx_value *x, uint8_t rank, const int64_t *dims) {
    firnc_onnx_value *made = firnc_onnx_value_new("");
    if (firnc_onnx_is_constant(x))
        firnc_onnx_set_known(made, firnc_onnx_tensor_shaped(x->known, rank, dims));
    else
        firnc_onnx_set(im, made, firnc_onnx_reshape(im, firnc_onnx_plain(im, x), rank, dims), x->type, rank);
    *x = *made;
    return !im->failed;
}

/* A part of a sequence that was not changed, by its number, which counts from the end if it is negative. */
static bool take_part(firnc_onnx_importer *im, const firnc_onnx_node *maker, int64_t number, firnc_onnx_value *to) {
    int64_t parts, first = 0, dims[FIRN_RANK_MAX];
    if (!count_made(im, maker, &parts))
        return false;
    const int64_t at = number < 0 ? number + parts : number;
    if (at < 0 || at >= parts)
        return firnc_onnx_fail(im, "takes the part %lld of %lld", (long long)number, (long long)parts);
    if (strcmp(maker->op, "SequenceConstruct") == 0) {
        if (maker->inputs[at] == NULL)
            return firnc_onnx_fail(im, "takes a part that its sequence lacks");
        firnc_onnx_alias(to, maker->inputs[at]);
        return true;
    }
    split s;
    if (!read_split(im, maker, &s))
        return false;
    for (int64_t i = 0; s.sizes != NULL && i < at; i++)
        if (s.sizes[i] < 0 || s.sizes[i] > s.extent - first)
            return firnc_onnx_fail(im, "has parts of more elements than its axis");
        else
            first += s.sizes[i];
    first = s.sizes != NULL ? first : at * s.step;
    const int64_t size = s.sizes != NULL ? s.sizes[at] : s.step < s.extent - first ? s.step : s.extent - first;
    if (size < 1 || size > s.extent - first)
        return firnc_onnx_fail(im, "takes a part of %lld of %lld elements", (long long)size, (long long)s.extent);
    if (!cut(im, maker->inputs[0], s.axis, first, size, to) || !s.drops)
        return !im->failed;
    uint8_t rank = 0;
    for (uint8_t i = 0; i < to->rank; i++)
        if (i != s.axis)
            dims[rank++] = to->dims[i];
    return reshape(im, to, rank, dims);
}

/* The position at which SequenceInsert or SequenceErase changes a sequence of `count` parts: the end, or that of the
 * last input. False after one message. */
static bool read_position(firnc_onnx_importer *im, const firnc_onnx_node *change, int64_t count, int64_t *at) {
    const bool inserts = strcmp(change->op, "SequenceInsert") == 0;
    const firnc_onnx_value *position = change->inputs[inserts ? 2 : 1];
    double number = inserts ? (double)count : -1;
    if (position != NULL && !firnc_onnx_single(position, &number))
        return firnc_onnx_fail(im, "reads a sequence that is changed at a position which depends on the data");
    number = number < 0 ? number + (double)count : number;
    if (!(number >= 0 && number < (double)count + inserts))
        return firnc_onnx_fail(im, "reads a sequence that is changed at the position %g of %lld", number,
                               (long long)count);
    *at = (int64_t)number;
    return true;
}

#define PARTS_MAX 65536

/* All parts of a sequence. */
static bool list_parts(firnc_onnx_importer *im, const firnc_onnx_node *maker, firnc_onnx_value ***parts,
                       int64_t *count) {
    const firnc_onnx_node *first = maker;
    int64_t changed = 0;
    for (; first != NULL && changes(first); changed++)
        first = first->inputs[0]->producer;
    const firnc_onnx_node **list = firnc_allocate((uint64_t)(changed + 1) * sizeof *list);
    const firnc_onnx_node *change = maker;
    for (int64_t i = changed; i-- > 0; change = change->inputs[0]->producer)
        list[i] = change;
    if (first == NULL || (changed > 0 && maker_of(im, list[0]) == NULL))
        return firnc_onnx_fail(im, "reads a sequence that no node has made");
    if (!count_made(im, first, count))
        return false;
    if (*count > PARTS_MAX || changed > PARTS_MAX)
        return firnc_onnx_fail(im, "reads a sequence of more than %d parts", PARTS_MAX);
    *parts = firnc_allocate((uint64_t)(*count + changed + 1) * sizeof **parts);
    for (int64_t i = 0; i < *count; i++) {
        (*parts)[i] = firnc_onnx_value_new("");
        if (!take_part(im, first, i, (*parts)[i]))
            return false;
    }
    for (int64_t i = 0; i < changed; i++) {
        const bool inserts = strcmp(list[i]->op, "SequenceInsert") == 0;
        int64_t at = 0;
        if (!read_position(im, list[i], *count, &at))
            return false;
        firnc_onnx_value **here = *parts + at;
        memmove(here + inserts, here + !inserts, (size_t)(*count - at - !inserts) * sizeof *here);
        if (inserts)
            *here = list[i]->inputs[1];
        *count += inserts ? 1 : -1;
    }
    return true;
}

bool firnc_onnx_import_sequence_at(firnc_onnx_importer *im, const firnc_onnx_node *node) {
    const firnc_onnx_node *maker = maker_of(im, node);
    double number;
    int64_t count;
    firnc_onnx_value **parts, *part = firnc_onnx_value_new("");
    if (maker == NULL)
        return false;
    if (!firnc_onnx_single(node->inputs[1], &number) || !(fabs(number) <= INT32_MAX))
        return firnc_onnx_fail(im, "its position is no constant number; make it one");
    if (changes(maker)) {
        if (!list_parts(im, maker, &parts, &count))
            return false;
        const double at = number < 0 ? number + (double)count : number;
        if (!(at >= 0 && at < (double)count))
            return firnc_onnx_fail(im, "takes the part %g of %lld", number, (long long)count);
        part = parts[(int64_t)at];
    } else if (!take_part(im, maker, (int64_t)number, part)) {
        return false;
    }
    firnc_onnx_alias(node->outputs[0], part);
    return true;
}

bool firnc_onnx_import_sequence_length(firnc_onnx_importer *im, const firnc_onnx_node *node) {
    const firnc_onnx_node *maker = maker_of(im, node);
    firnc_onnx_value **parts;
    int64_t count;
    if (maker == NULL || !(changes(maker) ? list_parts(im, maker, &parts, &count) : count_made(im, maker, &count)))
        return false;
    firnc_onnx_set_known(node->outputs[0], firnc_onnx_tensor_scalar(im, FIRNC_ONNX_INT64, (double)count));
    return !im->failed;
}

/* --- joined ------------------------------------------------------------------------------------------------------- */

/* A value with one more axis, of one element. */
static firnc_onnx_value *widened(firnc_onnx_importer *im, const firnc_onnx_value *part, int64_t axis) {
    firnc_onnx_value *wide = firnc_onnx_value_new("");
    int64_t dims[FIRN_RANK_MAX];
    *wide = *part;
    if (part->rank == FIRN_RANK_MAX) {
        firnc_onnx_fail(im, "makes more than %d dimensions", FIRN_RANK_MAX);
        return wide;
    }
    const uint8_t rank = (uint8_t)(part->rank + 1), at = firnc_onnx_axis(im, axis, rank);
    for (uint8_t i = 0; i < rank; i++)
        dims[i] = i == at ? 1 : part->dims[i - (i > at)];
    if (!im->failed)
        (void)reshape(im, wide, rank, dims);
    return wide;
}

/* Concat of up to FIRNC_ONNX_OPERANDS_MAX values. */
static firnc_onnx_value *concat_of(firnc_onnx_importer *im, const firnc_onnx_node *node, firnc_onnx_value *const *parts,
                                   uint32_t count, int64_t axis) {
    const firnc_onnx_tensor *known[FIRNC_ONNX_OPERANDS_MAX];
    FirncOnnx__Attribute along = FIRNC_ONNX__ATTRIBUTE__INIT, *attributes[] = {&along};
    FirncOnnx__Node proto = *node->proto;
    firnc_onnx_value *made = firnc_onnx_value_new("");
    firnc_onnx_node concat = {
        .proto = &proto, .op = node->op, .layer = node->layer, .scope = node->scope, .input_count = count};
    bool all = true;
    along.name = (char *)(uintptr_t) "axis";
    along.has_i = true;
    along.i = axis;
    proto.attribute = attributes;
    proto.n_attribute = 1;
    for (uint32_t i = 0; i < count; i++) {
        concat.inputs[i] = parts[i];
        known[i] = parts[i]->known;
        all = all && firnc_onnx_is_constant(parts[i]);
    }
    concat.outputs[0] = made;
    concat.output_count = 1;
    if (all)
        firnc_onnx_set_known(made, firnc_onnx_fold_concat(im, &concat, known));
    else
        (void)firnc_onnx_import_concat(im, &concat);
    return made;
}

bool firnc_onnx_join(firnc_onnx_importer *im, const firnc_onnx_node *node, firnc_onnx_value *const *parts,
                     int64_t count, int64_t axis, bool stacks, firnc_onnx_value *to) {
    firnc_onnx_value **left = firnc_allocate((uint64_t)(count + 1) * sizeof *left);
    if (count == 0)
        return firnc_onnx_fail(im, "joins no tensors");
    for (int64_t i = 0; i < count; i++)
        left[i] = stacks ? widened(im, parts[i], axis) : parts[i];
    while (count > 1 && !im->failed) { /* as many at a time as Concat takes */
        int64_t joined = 0, size = 0;
        for (int64_t i = 0; i < count && !im->failed; i += size) {
            size = count - i < FIRNC_ONNX_OPERANDS_MAX ? count - i : FIRNC_ONNX_OPERANDS_MAX;
            left[joined++] = concat_of(im, node, left + i, (uint32_t)size, axis);
        }
        count = joined;
    }
    if (!im->failed)
        firnc_onnx_alias(to, left[0]);
    return !im->failed;
}

bool firnc_onnx_import_concat_from_sequence(firnc_onnx_importer *im, const firnc_onnx_node *node) {
    const firnc_onnx_node *maker = maker_of(im, node);
    firnc_onnx_value **parts;
    int64_t count;
    return maker != NULL && list_parts(im, maker, &parts, &count) &&
           firnc_onnx_join(im, node, parts, count, firnc_onnx_integer(node, "axis", 0),
                           firnc_onnx_integer(node, "new_axis", 0) != 0, node->outputs[0]);
}
