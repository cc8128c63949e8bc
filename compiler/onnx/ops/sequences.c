/* Sequences of tensors. SplitToSequence, SequenceConstruct and SequenceEmpty make a sequence, SequenceInsert and
 * SequenceErase make one of another; SequenceAt, SequenceLength and ConcatFromSequence read it. For example:
 *     a = SplitToSequence(x)         the source
 *     b = SequenceErase(a, 0)        a change
 *     c = SequenceInsert(b, y, 1)    a change
 *     z = SequenceAt(c, 1)           a reader
 * The graph has no sequences. Until a reader comes, the value of a, b or c is a tensor without elements, which no other
 * op takes. A reader walks back over the producers to the source and makes the parts that it reads. */
#include <math.h>
#include <string.h>

#include "compiler/onnx/fold.h"

#define SOURCES "SplitToSequence SequenceConstruct SequenceEmpty"
#define CHANGES "SequenceInsert SequenceErase"

bool firnc_onnx_import_sequence(firnc_onnx_importer *im, const firnc_onnx_node *node) {
    const uint8_t type = node->input_count == 0 ? FIRNC_ONNX_FLOAT : node->inputs[0]->type;
    firnc_onnx_set_known(node->outputs[0], firnc_onnx_tensor_new(im, type, 1, (int64_t[]){0}));
    return !im->failed;
}

static bool is_change(const firnc_onnx_node *node) {
    return firnc_onnx_is_listed(CHANGES, node->op);
}

static bool is_insertion(const firnc_onnx_node *change) {
    return strcmp(change->op, "SequenceInsert") == 0;
}

/* The node that made the sequence in input 0 of a node: a source or a change. NULL after one message. */
static const firnc_onnx_node *maker_of(firnc_onnx_importer *im, const firnc_onnx_node *node) {
    const firnc_onnx_node *maker = node->inputs[0]->producer;
    if (maker != NULL && (is_change(maker) || firnc_onnx_is_listed(SOURCES, maker->op)))
        return maker;
    firnc_onnx_fail(im, "reads a sequence that SplitToSequence or SequenceConstruct has not made; write Split");
    return NULL;
}

/* --- the parts of a source ---------------------------------------------------------------------------------------- */

/* How SplitToSequence cuts its input along an axis. */
typedef struct split {
    uint8_t axis;
    int64_t extent;       /* of the axis */
    int64_t parts;        /* their number */
    const int64_t *sizes; /* of each part; NULL: all have `step` elements, but the last may have fewer */
    int64_t step;
    bool drops_axis; /* each part has one element along the axis, and not the axis itself */
} split;

/* The input `split` is a list of sizes, the one size of all parts, or left out, which means a size of 1. */
static bool read_split(firnc_onnx_importer *im, const firnc_onnx_node *source, split *to) {
    const firnc_onnx_value *x = source->inputs[0];
    const int64_t *sizes;
    uint32_t count;
    *to = (split){.axis = firnc_onnx_axis(im, firnc_onnx_integer(source, "axis", 0), x->rank)};
    if (im->failed || !firnc_onnx_list(im, source, 1, "sizes", &sizes, &count))
        return false;
    to->extent = x->dims[to->axis];
    const bool left_out = count == FIRNC_NONE;
    if (!left_out && source->inputs[1]->rank == 1) {
        to->sizes = sizes;
        to->parts = count;
        return true;
    }
    to->step = left_out ? 1 : count > 0 ? sizes[0] : 0;
    to->drops_axis = left_out && firnc_onnx_integer(source, "keepdims", 1) == 0;
    if (to->step < 1)
        return firnc_onnx_fail(im, "takes a part of %lld elements", (long long)to->step);
    to->parts = (to->extent - 1) / to->step + 1;
    return true;
}

static bool count_source(firnc_onnx_importer *im, const firnc_onnx_node *source, int64_t *count) {
    split s = {.parts = 0};
    *count = source->input_count;
    if (strcmp(source->op, "SplitToSequence") != 0)
        return true;
    const bool good = read_split(im, source, &s);
    *count = s.parts;
    return good;
}

/* Sets *to to the elements of x from `first` on along an axis. */
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

static bool drop_axis(firnc_onnx_importer *im, firnc_onnx_value *x, uint8_t axis) {
    int64_t dims[FIRN_RANK_MAX];
    uint8_t rank = 0;
    for (uint8_t i = 0; i < x->rank; i++)
        if (i != axis)
            dims[rank++] = x->dims[i];
    return reshape(im, x, rank, dims);
}

/* Makes part `at` of what SplitToSequence cuts. */
static bool take_cut_part(firnc_onnx_importer *im, const firnc_onnx_node *source, int64_t at, firnc_onnx_value *to) {
    split s;
    if (!read_split(im, source, &s))
        return false;
    int64_t first = at * s.step, size = s.step < s.extent - first ? s.step : s.extent - first;
    if (s.sizes != NULL) {
        first = 0;
        for (int64_t i = 0; i < at; i++) {
            if (s.sizes[i] < 0 || s.sizes[i] > s.extent - first)
                return firnc_onnx_fail(im, "has parts of more elements than its axis");
            first += s.sizes[i];
        }
        size = s.sizes[at];
    }
    if (size < 1 || size > s.extent - first)
        return firnc_onnx_fail(im, "takes a part of %lld of %lld elements", (long long)size, (long long)s.extent);
    if (!cut(im, source->inputs[0], s.axis, first, size, to))
        return false;
    return s.drops_axis ? drop_axis(im, to, s.axis) : !im->failed;
}

/* Makes a part of a source by its number, which counts from the end if it is negative. */
static bool take_part(firnc_onnx_importer *im, const firnc_onnx_node *source, int64_t number, firnc_onnx_value *to) {
    int64_t parts;
    if (!count_source(im, source, &parts))
        return false;
    const int64_t at = number < 0 ? number + parts : number;
    if (at < 0 || at >= parts)
        return firnc_onnx_fail(im, "takes the part %lld of %lld", (long long)number, (long long)parts);
    if (strcmp(source->op, "SplitToSequence") == 0)
        return take_cut_part(im, source, at, to);
    if (source->inputs[at] == NULL)
        return firnc_onnx_fail(im, "takes a part that its sequence lacks");
    firnc_onnx_alias(to, source->inputs[at]);
    return true;
}

/* --- changed sequences -------------------------------------------------------------------------------------------- */

#define PARTS_MAX 65536

/* A sequence as the list of its parts. */
typedef struct sequence {
    firnc_onnx_value **parts;
    int64_t count;
} sequence;

/* The position of a change in a sequence of `count` parts. It is the last input, which counts from the end if it is
 * negative; if it is left out, a part is added behind the last one, or the last one erased. */
static bool read_position(firnc_onnx_importer *im, const firnc_onnx_node *change, int64_t count, int64_t *at) {
    const bool inserts = is_insertion(change);
    const firnc_onnx_value *position = change->inputs[inserts ? 2 : 1];
    double number = inserts ? (double)count : -1;
    if (position != NULL && !firnc_onnx_single(position, &number))
        return firnc_onnx_fail(
            im,
            "reads a sequence that is changed at a position which depends on the data; make the position a constant");
    number = number < 0 ? number + (double)count : number;
    if (!(number >= 0 && number < (double)count + inserts))
        return firnc_onnx_fail(im, "reads a sequence that is changed at the position %g of %lld", number,
                               (long long)count);
    *at = (int64_t)number;
    return true;
}

/* Inserts or erases a part; the list has room for one more. */
static bool apply_change(firnc_onnx_importer *im, const firnc_onnx_node *change, sequence *s) {
    int64_t at = 0;
    if (!read_position(im, change, s->count, &at))
        return false;
    firnc_onnx_value **here = s->parts + at;
    const size_t behind = (size_t)(s->count - at);
    if (is_insertion(change)) {
        memmove(here + 1, here, behind * sizeof *here);
        *here = change->inputs[1];
        s->count++;
    } else {
        memmove(here, here + 1, (behind - 1) * sizeof *here);
        s->count--;
    }
    return true;
}

/* The source of a sequence, and the changes since, from the first to the last. */
typedef struct history {
    const firnc_onnx_node *source, **changes;
    int64_t count;
} history;

static bool read_history(firnc_onnx_importer *im, const firnc_onnx_node *maker, history *to) {
    *to = (history){.source = maker};
    for (; to->source != NULL && is_change(to->source); to->count++)
        to->source = to->source->inputs[0]->producer;
    to->changes = firnc_allocate((uint64_t)(to->count + 1) * sizeof *to->changes);
    const firnc_onnx_node *change = maker;
    for (int64_t i = to->count; i-- > 0; change = change->inputs[0]->producer)
        to->changes[i] = change;
    if (to->source == NULL || (to->count > 0 && maker_of(im, to->changes[0]) == NULL))
        return firnc_onnx_fail(
            im, "reads a sequence that no node of the file makes; make it by SequenceConstruct or SplitToSequence");
    return true;
}

/* Makes all parts of a sequence. */
static bool list_parts(firnc_onnx_importer *im, const firnc_onnx_node *maker, sequence *to) {
    history h;
    if (!read_history(im, maker, &h) || !count_source(im, h.source, &to->count))
        return false;
    if (to->count > PARTS_MAX || h.count > PARTS_MAX) {
        firnc_onnx_fail(im, "reads a sequence of more than %d parts; make fewer", PARTS_MAX);
        return false;
    }
    to->parts = firnc_allocate((uint64_t)(to->count + h.count + 1) * sizeof *to->parts);
    for (int64_t i = 0; i < to->count; i++) {
        to->parts[i] = firnc_onnx_value_new("");
        if (!take_part(im, h.source, i, to->parts[i]))
            return false;
    }
    for (int64_t i = 0; i < h.count; i++)
        if (!apply_change(im, h.changes[i], to))
            return false;
    return true;
}

/* --- readers ------------------------------------------------------------------------------------------------------ */

/* Of a source only the part that is read is made. */
bool firnc_onnx_import_sequence_at(firnc_onnx_importer *im, const firnc_onnx_node *node) {
    const firnc_onnx_node *maker = maker_of(im, node);
    double number;
    sequence s;
    firnc_onnx_value *part = firnc_onnx_value_new("");
    if (maker == NULL)
        return false;
    if (!firnc_onnx_single(node->inputs[1], &number) || !(fabs(number) <= INT32_MAX))
        return firnc_onnx_fail(im, "its position is no constant number; make it one");
    if (is_change(maker)) {
        if (!list_parts(im, maker, &s))
            return false;
        const double at = number < 0 ? number + (double)s.count : number;
        if (!(at >= 0 && at < (double)s.count))
            return firnc_onnx_fail(im, "takes the part %g of %lld", number, (long long)s.count);
        part = s.parts[(int64_t)at];
    } else if (!take_part(im, maker, (int64_t)number, part)) {
        return false;
    }
    firnc_onnx_alias(node->outputs[0], part);
    return true;
}

bool firnc_onnx_import_sequence_length(firnc_onnx_importer *im, const firnc_onnx_node *node) {
    const firnc_onnx_node *maker = maker_of(im, node);
    sequence s;
    if (maker == NULL || !(is_change(maker) ? list_parts(im, maker, &s) : count_source(im, maker, &s.count)))
        return false;
    firnc_onnx_set_known(node->outputs[0], firnc_onnx_tensor_scalar(im, FIRNC_ONNX_INT64, (double)s.count));
    return !im->failed;
}

/* --- joins -------------------------------------------------------------------------------------------------------- */

/* A copy of a value with one more axis, of one element. */
static firnc_onnx_value *with_axis(firnc_onnx_importer *im, const firnc_onnx_value *part, int64_t axis) {
    firnc_onnx_value *made = firnc_onnx_value_new("");
    int64_t dims[FIRN_RANK_MAX];
    *made = *part;
    if (part->rank == FIRN_RANK_MAX) {
        firnc_onnx_fail(im, "makes more than %d dimensions; write the module with fewer", FIRN_RANK_MAX);
        return made;
    }
    const uint8_t rank = (uint8_t)(part->rank + 1), at = firnc_onnx_axis(im, axis, rank);
    for (uint8_t i = 0; i < rank; i++)
        dims[i] = i == at ? 1 : part->dims[i - (i > at)];
    if (!im->failed)
        (void)reshape(im, made, rank, dims);
    return made;
}

/* Imports a node that is not in the file: Concat of up to FIRNC_ONNX_OPERANDS_MAX values, in the place of `node`. */
static firnc_onnx_value *concat_of(firnc_onnx_importer *im, const firnc_onnx_node *node, firnc_onnx_value *const *parts,
                                   uint32_t count, int64_t axis) {
    const firnc_onnx_tensor *known[FIRNC_ONNX_OPERANDS_MAX];
    FirncOnnx__Attribute along = FIRNC_ONNX__ATTRIBUTE__INIT, *attributes[] = {&along};
    FirncOnnx__Node proto = *node->proto;
    firnc_onnx_value *made = firnc_onnx_value_new("");
    firnc_onnx_node concat = {
        .proto = &proto, .op = node->op, .layer = node->layer, .scope = node->scope, .input_count = count};
    bool all_known = true;
    along.name = (char *)(uintptr_t) "axis";
    along.has_i = true;
    along.i = axis;
    proto.attribute = attributes;
    proto.n_attribute = 1;
    for (uint32_t i = 0; i < count; i++) {
        concat.inputs[i] = parts[i];
        known[i] = parts[i]->known;
        all_known = all_known && firnc_onnx_is_constant(parts[i]);
    }
    concat.outputs[0] = made;
    concat.output_count = 1;
    if (all_known)
        firnc_onnx_set_known(made, firnc_onnx_fold_concat(im, &concat, known));
    else
        (void)firnc_onnx_import_concat(im, &concat);
    return made;
}

bool firnc_onnx_join(firnc_onnx_importer *im, const firnc_onnx_node *node, firnc_onnx_value *const *parts,
                     int64_t count, int64_t axis, bool stacks, firnc_onnx_value *to) {
    firnc_onnx_value **values = firnc_allocate((uint64_t)(count + 1) * sizeof *values);
    if (count == 0)
        return firnc_onnx_fail(im, "joins no tensors, and a plan has none without elements; leave the node out");
    for (int64_t i = 0; i < count; i++)
        values[i] = stacks ? with_axis(im, parts[i], axis) : parts[i];
    while (count > 1 && !im->failed) { /* groups, each as large as Concat takes, become one value each */
        int64_t joined = 0, size = 0;
        for (int64_t i = 0; i < count && !im->failed; i += size) {
            size = count - i < FIRNC_ONNX_OPERANDS_MAX ? count - i : FIRNC_ONNX_OPERANDS_MAX;
            values[joined++] = concat_of(im, node, values + i, (uint32_t)size, axis);
        }
        count = joined;
    }
    if (!im->failed)
        firnc_onnx_alias(to, values[0]);
    return !im->failed;
}

bool firnc_onnx_import_concat_from_sequence(firnc_onnx_importer *im, const firnc_onnx_node *node) {
    const firnc_onnx_node *maker = maker_of(im, node);
    sequence s;
    return maker != NULL && list_parts(im, maker, &s) &&
           firnc_onnx_join(im, node, s.parts, s.count, firnc_onnx_integer(node, "axis", 0),
                           firnc_onnx_integer(node, "new_axis", 0) != 0, node->outputs[0]);
}
