/* Ops with indices, which may come from the data, and masks: Gather, GatherND, ScatterND, Trilu, OneHot. */
#include <stdlib.h>
#include <string.h>

#include "compiler/onnx/import.h"

/* --- indices ------------------------------------------------------------------------------------------------------ */

firnc_value firnc_onnx_pick(firnc_onnx_importer *im, firnc_value x, uint8_t axis, const int64_t *list, int64_t count) {
    firnc_onnx_tensor *ids = firnc_onnx_tensor_new(im, FIRNC_ONNX_INT64, 1, &count);
    if (ids == NULL)
        return FIRNC_NONE;
    memcpy(ids->wholes, list, (size_t)count * sizeof *list);
    return firnc_onnx_gather(im, x, firnc_onnx_constant(im, ids, FIRN_INT32), axis);
}

/* Tokens are below the rows of every table that they select from. */
static void lower_limit(firnc_onnx_importer *im, firnc_value input, int64_t rows) {
    firnc_value_info *info = &im->graph->values[input];
    if (rows >= info->source->limit)
        return;
    firnc_input_options *source = firnc_allocate(sizeof *source);
    *source = *info->source;
    source->limit = (uint32_t)rows;
    info->source = source;
}

/* Indices into an axis: of whole numbers, and those that are known within it. What the data gives is checked or brought
 * into it when the plan runs. */
static bool check_indices(firnc_onnx_importer *im, const firnc_onnx_value *ids, int64_t extent) {
    if (firnc_onnx_is_real(ids->type))
        return firnc_onnx_fail(im, "its indices are of the type %s; cast them to int64",
                               firnc_onnx_type_word(ids->type));
    for (uint64_t i = 0; ids->known != NULL && i < ids->known->count; i++)
        if (ids->known->wholes[i] < -extent || ids->known->wholes[i] >= extent)
            return firnc_onnx_fail(im, "takes element %lld of %lld", (long long)ids->known->wholes[i],
                                   (long long)extent);
    return true;
}

/* --- rows of padding ---------------------------------------------------------------------------------------------- */

/* Marks the row of padding_idx, which torch.export's exporter notes in the call that became the node:
 * "...aten.embedding.default](args = (%p_e_weight, %x, 0), ...". */
static void mark_noted(const firnc_onnx_node *node, firnc_onnx_tensor *trained) {
    static const char call[] = "aten.embedding.default](args = (";
    const char *text =
        firnc_onnx_property(node->proto->metadata_props, node->proto->n_metadata_props, "pkg.torch.onnx.fx_node");
    text = text == NULL ? NULL : strstr(text, call);
    text = text == NULL ? NULL : strchr(text, ',');
    text = text == NULL ? NULL : strchr(text + 1, ',');
    if (text == NULL || text[1] != ' ' || text[2] < '0' || text[2] > '9')
        return;
    const unsigned long long row = strtoull(text + 2, NULL, 10);
    if (row < trained->count)
        trained->reals[row] = 0;
}

/* Marks the rows of the recipe. The table is called as the parameter or, if that is tied, as the weight of the layer.
 */
static bool mark_wanted(firnc_onnx_importer *im, const firnc_onnx_node *node, firnc_onnx_tensor *trained) {
    const char *name = node->inputs[0]->parameter->name, *dot = strrchr(name, '.');
    const char *tied = dot == NULL ? name : firnc_format("%s%s", node->layer, dot);
    for (uint32_t i = 0; i < im->options->padding_count; i++) {
        const firnc_onnx_row *row = &im->options->padding[i];
        if (strcmp(row->table, name) != 0 && strcmp(row->table, tied) != 0)
            continue;
        if (row->row >= trained->count)
            return firnc_onnx_fail(im, "looks up %llu rows of %s, and padding_rows has row %u; write one of 0 to %llu",
                                   (unsigned long long)trained->count, row->table, (unsigned)row->row,
                                   (unsigned long long)trained->count - 1);
        trained->reals[row->row] = 0;
        im->padded[i] = true;
    }
    return true;
}

/* For each index 1, or 0 where its row of a parameter gets no gradient; FIRNC_NONE if every row gets one. */
static firnc_value trained_rows(firnc_onnx_importer *im, const firnc_onnx_node *node, firnc_value ids, uint8_t axis) {
    const firnc_onnx_value *x = node->inputs[0];
    if (im->failed || x->parameter == NULL || axis != 0)
        return FIRNC_NONE;
    int64_t dims[FIRN_RANK_MAX];
    for (uint8_t i = 0; i < x->rank; i++)
        dims[i] = i == 0 ? x->dims[0] : 1;
    firnc_onnx_tensor *trained = firnc_onnx_tensor_new(im, FIRNC_ONNX_FLOAT, x->rank, dims);
    if (trained == NULL)
        return FIRNC_NONE;
    for (uint64_t i = 0; i < trained->count; i++)
        trained->reals[i] = 1;
    mark_noted(node, trained);
    if (!mark_wanted(im, node, trained) || firnc_onnx_is_uniform(trained))
        return FIRNC_NONE;
    return firnc_onnx_gather(im, firnc_onnx_constant(im, trained, FIRN_FLOAT32), ids, 0);
}

/* The rows of a table by an op of the graph, embedding or gather. */
static firnc_value looked_up(firnc_onnx_importer *im, const firnc_onnx_node *node, firnc_value ids, uint8_t axis,
                             bool embedding) {
    const firnc_value trained = trained_rows(im, node, ids, axis), x = firnc_onnx_plain(im, node->inputs[0]);
    if (im->failed)
        return FIRNC_NONE;
    const firnc_value y =
        embedding ? firnc_onnx_made(im, firnc_embedding(im->graph, ids, x)) : firnc_onnx_gather(im, x, ids, axis);
    if (!im->failed && trained != FIRNC_NONE)
        firnc_train_rows(im->graph, y, trained);
    return y;
}

bool firnc_onnx_import_gather(firnc_onnx_importer *im, const firnc_onnx_node *node) {
    firnc_onnx_value *x = node->inputs[0], *ids = node->inputs[1];
    uint8_t axis, rank;
    int64_t dims[FIRN_RANK_MAX];
    double number;
    if (!firnc_onnx_gathered(im, node, &axis, &rank, dims) || !check_indices(im, ids, x->dims[axis]))
        return false;
    if (ids->input != FIRNC_NONE && x->rank == 2 && axis == 0 && x->parameter != NULL && ids->rank > 0) {
        lower_limit(im, ids->input, x->dims[0]);
        firnc_onnx_set(im, node->outputs[0], looked_up(im, node, ids->input, 0, true), x->type, rank);
        return !im->failed;
    }
    if (firnc_onnx_is_empty(ids)) {
        firnc_onnx_set_known(node->outputs[0], firnc_onnx_tensor_new(im, x->type, rank, dims));
        return !im->failed;
    }
    firnc_value y;
    if (ids->rank == 0 && firnc_onnx_single(ids, &number)) {
        const int64_t at = firnc_onnx_truncated(number) < 0 ? firnc_onnx_truncated(number) + x->dims[axis]
                                                            : firnc_onnx_truncated(number);
        y = firnc_onnx_slice(im, firnc_onnx_plain(im, x), axis, at, 1, 1);
    } else {
        y = looked_up(im, node, firnc_onnx_indices(im, ids), axis, false);
    }
    firnc_onnx_set(im, node->outputs[0], firnc_onnx_reshape(im, y, rank, dims), x->type, rank);
    return !im->failed;
}

bool firnc_onnx_import_gather_elements(firnc_onnx_importer *im, const firnc_onnx_node *node) {
    firnc_onnx_value *x = node->inputs[0], *ids = node->inputs[1];
    const uint8_t axis = firnc_onnx_axis(im, firnc_onnx_integer(node, "axis", 0), x->rank);
    const firnc_value data = firnc_onnx_plain(im, x), indices = firnc_onnx_indices(im, ids);
    if (im->failed || !check_indices(im, ids, x->dims[axis]))
        return false;
    firnc_onnx_set(im, node->outputs[0], firnc_onnx_made(im, firnc_gather_elements(im->graph, data, indices, axis)),
                   x->type, x->rank);
    return !im->failed;
}

/* For each row of known indices the number of the slice that it names, counted over the axes that are shared and those
 * that are named. */
static firnc_onnx_tensor *known_numbers(firnc_onnx_importer *im, const firnc_onnx_value *x, const firnc_onnx_value *ids,
                                        uint8_t shared, uint8_t named) {
    uint64_t in_batch = 1, at = 0;
    for (uint8_t i = shared; i + 1 < ids->rank; i++)
        in_batch *= (uint64_t)ids->dims[i];
    firnc_onnx_tensor *made = firnc_onnx_tensor_new(im, FIRNC_ONNX_INT64, (uint8_t)(ids->rank - 1), ids->dims);
    for (uint64_t r = 0; made != NULL && r < made->count; r++) {
        int64_t number = (int64_t)(r / in_batch);
        for (uint8_t i = 0; i < named; i++) {
            const int64_t extent = x->dims[shared + i], index = ids->known->wholes[at++];
            if (index < -extent || index >= extent) {
                firnc_onnx_fail(im, "takes element %lld of %lld", (long long)index, (long long)extent);
                return NULL;
            }
            number = number * extent + (index < 0 ? index + extent : index);
        }
        made->wholes[r] = number;
    }
    return made;
}

/* The same for indices that the data gives: each is brought into its axis first. */
static firnc_value computed_numbers(firnc_onnx_importer *im, firnc_onnx_value *x, firnc_onnx_value *ids, uint8_t shared,
                                    uint8_t named) {
    const uint8_t last = (uint8_t)(ids->rank - 1);
    int64_t ones[FIRN_RANK_MAX];
    const firnc_value all = firnc_onnx_plain_real(im, ids);
    firnc_value number = FIRNC_NONE;
    for (uint8_t i = 0; i < last; i++)
        ones[i] = i < shared ? ids->dims[i] : 1;
    if (shared > 0) {
        firnc_onnx_tensor *count = firnc_onnx_tensor_new(im, FIRNC_ONNX_FLOAT, last, ones);
        for (uint64_t i = 0; count != NULL && i < count->count; i++)
            count->reals[i] = (float)i;
        number = firnc_onnx_constant(im, count, FIRN_FLOAT32);
    }
    for (uint8_t i = 0; i < named && !im->failed; i++) {
        const float extent = (float)x->dims[shared + i];
        firnc_value index = firnc_onnx_slice(im, all, last, i, 1, 1);
        index = firnc_onnx_reshape(im, index, last, ids->dims);
        index = firnc_onnx_clip(im, index, -extent, extent - 1);
        const firnc_value below = firnc_onnx_binary(im, FIRN_OP_less, index, firnc_onnx_scalar(im, 0));
        index = firnc_onnx_binary(im, FIRN_OP_add, index, firnc_onnx_scaled(im, below, extent));
        number = number == FIRNC_NONE
                     ? index
                     : firnc_onnx_binary(im, FIRN_OP_add, index, firnc_onnx_scaled(im, number, extent));
    }
    return firnc_onnx_whole(im, number);
}

/* The rows of indices become numbers of slices, and the axes that they name become one, which Gather takes from. */
bool firnc_onnx_import_gather_nd(firnc_onnx_importer *im, const firnc_onnx_node *node) {
    firnc_onnx_value *x = node->inputs[0], *ids = node->inputs[1];
    uint8_t shared, named, rank, wide = 1;
    int64_t dims[FIRN_RANK_MAX], flat[FIRN_RANK_MAX] = {1};
    if (!firnc_onnx_gathered_nd(im, node, &shared, &named, &rank, dims))
        return false;
    for (uint8_t i = 0; i < x->rank; i++)
        if (i < shared + named)
            flat[0] *= x->dims[i];
        else
            flat[wide++] = x->dims[i];
    const firnc_value data = firnc_onnx_reshape(im, firnc_onnx_plain(im, x), wide, flat);
    if (!firnc_onnx_is_constant(ids) && flat[0] > FIRNC_ONNX_EXACT_MAX)
        return firnc_onnx_fail(im,
                               "its indices depend on the data and name one of %lld slices, and at most %d are "
                               "possible; gather along one axis after the other",
                               (long long)flat[0], FIRNC_ONNX_EXACT_MAX);
    const firnc_value numbers = firnc_onnx_is_constant(ids)
                                    ? firnc_onnx_constant(im, known_numbers(im, x, ids, shared, named), FIRN_INT32)
                                    : computed_numbers(im, x, ids, shared, named);
    firnc_onnx_set(im, node->outputs[0], firnc_onnx_reshape(im, firnc_onnx_gather(im, data, numbers, 0), rank, dims),
                   x->type, rank);
    return !im->failed;
}

/* The last axis of the indices has a place in each of the first axes of the data. */
static bool check_places(firnc_onnx_importer *im, const firnc_onnx_value *x, const firnc_onnx_value *ids) {
    const int64_t each = ids->rank == 0 ? 0 : ids->dims[ids->rank - 1];
    if (firnc_onnx_is_real(ids->type) || each < 1 || each > x->rank)
        return firnc_onnx_fail(im, "its indices are no whole numbers, one for each of the first axes");
    for (uint64_t i = 0; ids->known != NULL && i < ids->known->count; i++) {
        const int64_t extent = x->dims[i % (uint64_t)each], at = ids->known->wholes[i];
        if (at < -extent || at >= extent)
            return firnc_onnx_fail(im, "changes element %lld of %lld", (long long)at, (long long)extent);
    }
    return true;
}

bool firnc_onnx_import_scatter_nd(firnc_onnx_importer *im, const firnc_onnx_node *node) {
    firnc_onnx_value *x = node->inputs[0];
    const char *reduction = firnc_onnx_text(node, "reduction", "none");
    if (strcmp(reduction, "none") != 0 && strcmp(reduction, "add") != 0)
        return firnc_onnx_fail(im, "has reduction %s; none and add are known", reduction);
    const firnc_value data = firnc_onnx_plain_real(im, x), ids = firnc_onnx_indices(im, node->inputs[1]);
    const firnc_value updates = firnc_onnx_plain_real(im, node->inputs[2]);
    if (im->failed || !check_places(im, x, node->inputs[1]))
        return false;
    firnc_onnx_set(im, node->outputs[0],
                   firnc_onnx_made(im, firnc_scatter_nd(im->graph, data, ids, updates, reduction[0] == 'a')), x->type,
                   x->rank);
    return !im->failed;
}

/* The places of the elements that an axis of indices names, as rows for ScatterND: one number for each axis. */
static firnc_value rows_of_places(firnc_onnx_importer *im, firnc_onnx_value *ids, uint8_t axis) {
    const uint8_t rank = ids->rank;
    firnc_value columns[FIRN_RANK_MAX];
    int64_t dims[FIRN_RANK_MAX] = {0};
    memcpy(dims, ids->dims, sizeof dims);
    dims[rank] = 1;
    for (uint8_t i = 0; i < rank && !im->failed; i++) {
        if (i == axis) {
            columns[i] = firnc_onnx_reshape(im, firnc_onnx_indices(im, ids), (uint8_t)(rank + 1), dims);
            continue;
        }
        firnc_onnx_tensor *places = firnc_onnx_tensor_new(im, FIRNC_ONNX_INT64, (uint8_t)(rank + 1), dims);
        uint64_t inner = 1;
        for (uint8_t j = (uint8_t)(i + 1); j < rank; j++)
            inner *= (uint64_t)dims[j];
        for (uint64_t j = 0; places != NULL && j < places->count; j++)
            places->wholes[j] = (int64_t)(j / inner % (uint64_t)dims[i]);
        columns[i] = firnc_onnx_constant(im, places, FIRN_INT32);
    }
    return im->failed ? FIRNC_NONE : firnc_onnx_concat(im, columns, rank, rank);
}

bool firnc_onnx_import_scatter_elements(firnc_onnx_importer *im, const firnc_onnx_node *node) {
    firnc_onnx_value *x = node->inputs[0], *ids = node->inputs[1], *updates = node->inputs[2];
    const uint8_t axis = firnc_onnx_axis(im, firnc_onnx_integer(node, "axis", 0), x->rank);
    const char *reduction = firnc_onnx_text(node, "reduction", "none");
    if (im->failed)
        return false;
    if (strcmp(reduction, "none") != 0 && strcmp(reduction, "add") != 0)
        return firnc_onnx_fail(im, "has reduction %s; none and add are known", reduction);
    if (ids->rank != x->rank || updates->rank != x->rank || x->rank == FIRN_RANK_MAX)
        return firnc_onnx_fail(
            im, "takes indices and updates of as many dimensions as its operand, of at most %d; reshape them",
            FIRN_RANK_MAX - 1);
    for (uint8_t i = 0; i < x->rank; i++)
        if (ids->dims[i] != updates->dims[i] || (i != axis && ids->dims[i] > x->dims[i]))
            return firnc_onnx_fail(im, "has indices or updates of other extents than its operand");
    if (!check_indices(im, ids, x->dims[axis]))
        return false;
    const firnc_value data = firnc_onnx_plain_real(im, x), rows = rows_of_places(im, ids, axis);
    const firnc_value new = firnc_onnx_plain_real(im, updates);
    if (im->failed)
        return false;
    firnc_onnx_set(im, node->outputs[0],
                   firnc_onnx_made(im, firnc_scatter_nd(im->graph, data, rows, new, reduction[0] == 'a')), x->type,
                   x->rank);
    return !im->failed;
}

/* --- masks -------------------------------------------------------------------------------------------------------- */

bool firnc_onnx_import_trilu(firnc_onnx_importer *im, const firnc_onnx_node *node) {
    firnc_onnx_value *x = node->inputs[0];
    double diagonal = 0;
    const bool upper = firnc_onnx_integer(node, "upper", 1) != 0;
    if (x->rank < 2)
        return firnc_onnx_fail(im, "takes matrices");
    if (node->inputs[1] != NULL && !firnc_onnx_single(node->inputs[1], &diagonal))
        return firnc_onnx_fail(im, "its diagonal depends on the data; make it a constant");
    const int64_t rows = x->dims[x->rank - 2], columns = x->dims[x->rank - 1];
    firnc_onnx_tensor *mask = firnc_onnx_tensor_new(im, FIRNC_ONNX_FLOAT, 2, (int64_t[]){rows, columns});
    for (uint64_t i = 0; mask != NULL && i < mask->count; i++) {
        const int64_t row = (int64_t)i / columns, column = (int64_t)i % columns;
        const double beyond = (double)(column - row) - diagonal;
        mask->reals[i] = upper ? beyond >= 0 : beyond <= 0;
    }
    const firnc_value zero = firnc_onnx_scalar(im, 0), plain = firnc_onnx_plain_real(im, x);
    const firnc_value y = firnc_onnx_select(im, firnc_onnx_constant(im, mask, FIRN_FLOAT32), plain, zero);
    firnc_onnx_set(im, node->outputs[0], y, x->type, x->rank);
    return !im->failed;
}

bool firnc_onnx_import_one_hot(firnc_onnx_importer *im, const firnc_onnx_node *node) {
    firnc_onnx_value *ids = node->inputs[0];
    const firnc_onnx_value *values = node->inputs[2];
    double depth;
    if (!firnc_onnx_single(node->inputs[1], &depth) || !(depth >= 1 && depth < 16777216) ||
        !firnc_onnx_is_constant(values) || values->known->count != 2)
        return firnc_onnx_fail(im, "its depth and its two values depend on the data; make them constants");
    if (ids->rank + 1 > FIRN_RANK_MAX)
        return firnc_onnx_fail(im, "makes more than %d dimensions; write the module with fewer", FIRN_RANK_MAX);
    const uint8_t rank = (uint8_t)(ids->rank + 1),
                  axis = firnc_onnx_axis(im, firnc_onnx_integer(node, "axis", -1), rank);
    int64_t dims[FIRN_RANK_MAX];
    uint8_t order[FIRN_RANK_MAX];
    firnc_onnx_tensor *classes = firnc_onnx_tensor_new(im, FIRNC_ONNX_FLOAT, 1, (int64_t[]){(int64_t)depth});
    for (uint64_t i = 0; classes != NULL && i < classes->count; i++)
        classes->reals[i] = (float)i;
    memcpy(dims, ids->dims, sizeof dims);
    dims[rank - 1] = 1;
    firnc_value x = firnc_onnx_reshape(im, firnc_onnx_plain_real(im, ids), rank, dims);
    /* from -depth on they count from the end */
    x = firnc_onnx_binary(
        im, FIRN_OP_add, x,
        firnc_onnx_affine(im, firnc_onnx_binary(im, FIRN_OP_less, x, firnc_onnx_scalar(im, 0)), (float)depth, 0));
    const float off = (float)firnc_onnx_number(values->known, 0), on = (float)firnc_onnx_number(values->known, 1);
    const firnc_value hot = firnc_onnx_binary(im, FIRN_OP_equal, x, firnc_onnx_constant(im, classes, FIRN_FLOAT32));
    firnc_onnx_axis_last(rank, axis, order);
    const firnc_value cold = firnc_onnx_scalar(im, off);
    firnc_onnx_set_ordered(im, node->outputs[0], firnc_onnx_select(im, hot, firnc_onnx_scalar(im, on), cold),
                           values->type, rank, order);
    return !im->failed;
}
