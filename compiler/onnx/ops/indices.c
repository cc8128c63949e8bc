/* Ops with indices, which may come from the data, and masks: Gather, ScatterND, Trilu, OneHot. */
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
            return firnc_onnx_fail(im, "looks up %llu rows of %s, and padding_rows has row %u; the first one is 0",
                                   (unsigned long long)trained->count, row->table, (unsigned)row->row);
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
        im->graph->nodes[im->graph->values[y].producer].trained_rows = trained;
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
        const double beyond = (double)((int64_t)i % columns - (int64_t)i / columns) - diagonal;
        mask->reals[i] = upper ? beyond >= 0 : beyond <= 0;
    }
    const firnc_value y = firnc_onnx_select(im, firnc_onnx_constant(im, mask, FIRN_FLOAT32),
                                            firnc_onnx_plain_real(im, x), firnc_onnx_scalar(im, 0));
    firnc_onnx_set(im, node->outputs[0], y, x->type, x->rank);
    return !im->failed;
}

bool firnc_onnx_import_one_hot(firnc_onnx_importer *im, const firnc_onnx_node *node) {
    firnc_onnx_value *ids = node->inputs[0];
    const firnc_onnx_value *values = node->inputs[2];
    double depth;
    if (!firnc_onnx_single(node->inputs[1], &depth) || !(depth >= 1 && depth < 16777216) ||
        !firnc_onnx_is_constant(values) || values->known->count != 2)
        return firnc_onnx_fail(im, "its depth and its two values are no constants");
    if (ids->rank + 1 > FIRN_RANK_MAX)
        return firnc_onnx_fail(im, "makes more than %d dimensions", FIRN_RANK_MAX);
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
    firnc_onnx_set_ordered(im, node->outputs[0],
                           firnc_onnx_select(im, hot, firnc_onnx_scalar(im, on), firnc_onnx_scalar(im, off)),
                           values->type, rank, order);
    return !im->failed;
}
