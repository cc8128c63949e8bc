/* Where the file stores each parameter and running statistic of the graph, so that trained values can be put back into
 * it (write_back.c). A place is listed only if the values that the parameter begins with are found there, bit by bit.
 */
#include <string.h>

#include "compiler/onnx/import.h"
#include "runtime/numerics/numerics.h"

/* The position in the graph's value of each element of a tensor of the file. */
static uint64_t position_of(const firnc_onnx_stored *stored, const int64_t *dims, uint64_t element) {
    uint64_t at[FIRN_RANK_MAX] = {0}, position = 0;
    for (uint8_t i = stored->rank; i-- > 0;) {
        at[i] = element % (uint64_t)dims[i];
        element /= (uint64_t)dims[i];
    }
    for (uint8_t i = 0; i < stored->rank; i++)
        position = position * (uint64_t)dims[stored->order[i]] + at[stored->order[i]];
    return position;
}

void firnc_onnx_lay_out(const firnc_onnx_stored *stored, const int64_t *dims, uint64_t count, const float *values,
                        float *to) {
    for (uint64_t i = 0; i < count; i++)
        to[i] = values[position_of(stored, dims, i)];
}

/* Whether a tensor of the file has the values that the graph's parameter begins with. */
static bool is_there(const firnc_onnx_importer *im, const firnc_onnx_stored *stored, const firnc_onnx_tensor *tensor,
                     firnc_value value) {
    const firnc_value_info *info = &im->graph->values[value];
    uint64_t elements = 0;
    if (info->initial == NULL || tensor->reals == NULL || !firn_shape_elements(&info->shape, &elements) ||
        elements != tensor->count)
        return false;
    for (uint64_t i = 0; i < tensor->count; i++)
        if (firn_bits(tensor->reals[i]) != firn_bits(info->initial[position_of(stored, tensor->dims, i)]))
            return false;
    return true;
}

static firnc_value find_buffer(const firnc_onnx_importer *im, const char *name) {
    for (firnc_value i = 0; i < im->graph->value_count; i++)
        if (im->graph->values[i].role == FIRNC_ROLE_BUFFER && strcmp(im->graph->values[i].name, name) == 0)
            return i;
    return FIRNC_NONE;
}

static void add(const firnc_onnx_importer *im, firnc_onnx_model *model, const firnc_onnx_scope *scope,
                const char *name) {
    const firnc_onnx_value *value = firnc_onnx_find(scope, name);
    if (value == NULL || value->known == NULL)
        return;
    firnc_onnx_stored stored = {.tensor = name, .rank = value->known->rank};
    firnc_onnx_identity(stored.order);
    const firnc_onnx_parameter *parameter = value->parameter;
    const firnc_value found = parameter != NULL ? parameter->value : find_buffer(im, name);
    if (found == FIRNC_NONE)
        return;
    for (uint8_t i = 0; parameter != NULL && i < stored.rank; i++) /* until a node reads it, the order is the twin's */
        stored.order[i] = value->value != FIRNC_NONE ? value->order[i] : value->order[parameter->order[i]];
    stored.parameter = im->graph->values[found].name;
    if (!is_there(im, &stored, value->known, found))
        return;
    model->stored = firnc_grown(model->stored, model->stored_count, &model->stored_capacity, sizeof *model->stored);
    model->stored[model->stored_count++] = stored;
}

void firnc_onnx_list_stored(const firnc_onnx_importer *im, const firnc_onnx_scope *scope, firnc_onnx_model *model) {
    const FirncOnnx__Graph *graph = im->model->graph;
    for (size_t i = 0; i < graph->n_initializer; i++)
        add(im, model, scope, firnc_onnx_or_empty(graph->initializer[i]->name));
    for (size_t i = 0; i < graph->n_node; i++)
        if (strcmp(firnc_onnx_or_empty(graph->node[i]->op_type), "Constant") == 0 && graph->node[i]->n_output == 1)
            add(im, model, scope, firnc_onnx_or_empty(graph->node[i]->output[0]));
}
