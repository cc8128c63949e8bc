/* The inputs and outputs of a model: the sizes that the file leaves open, the data, and what the graph gives back. */
#include <string.h>

#include "compiler/onnx/import.h"

/* --- inputs ------------------------------------------------------------------------------------------------------- */

/* The value that the user gives an input which is no data; NULL: none. */
static const firnc_onnx_filled *filled_value(const firnc_onnx_importer *im, const char *input) {
    for (uint32_t i = 0; i < im->options->filled_count; i++)
        if (strcmp(im->options->filled[i].name, input) == 0)
            return &im->options->filled[i];
    return NULL;
}

bool firnc_onnx_is_open(const FirncOnnx__Extent *extent) {
    return !extent->has_dim_value || extent->dim_value == -1;
}

bool firnc_onnx_is_extent(const FirncOnnx__ValueInfo *input, uint32_t axis, const char *name) {
    const FirncOnnx__Extent *extent = input->type->tensor_type->shape->dim[axis];
    return firnc_onnx_is_open(extent) &&
           (strcmp(firnc_onnx_or_empty(extent->dim_param), name) == 0 ||
            strcmp(firnc_format("%s.%u", firnc_onnx_or_empty(input->name), (unsigned)axis), name) == 0);
}

/* The name of an extent; "" if it has none. "?" and "-1" are what some exporters write of every open extent. */
static const char *extent_name(const FirncOnnx__Extent *extent) {
    const char *name = firnc_onnx_or_empty(extent->dim_param);
    for (const char *c = name; *c != '\0'; c++)
        if ((*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z'))
            return name;
    return "";
}

/* The name of the first extent of the data, which is the samples of a micro-batch; "" if it has none. */
static const char *batch_name(const firnc_onnx_importer *im, const firnc_onnx_scope *scope) {
    const FirncOnnx__Graph *graph = im->model->graph;
    for (size_t i = 0; i < graph->n_input; i++) {
        const FirncOnnx__ValueInfo *input = graph->input[i];
        const char *name = firnc_onnx_or_empty(input->name);
        const FirncOnnx__TensorType *type = input->type == NULL ? NULL : input->type->tensor_type;
        if (firnc_onnx_find(scope, name) != NULL || filled_value(im, name) != NULL)
            continue;
        if (type == NULL || type->shape == NULL || type->shape->n_dim == 0 || type->shape->dim[0]->has_dim_value)
            return "";
        return extent_name(type->shape->dim[0]);
    }
    return "";
}

/* The size of an extent that the file leaves open. False after one message. */
static bool open_extent(firnc_onnx_importer *im, const FirncOnnx__ValueInfo *info, uint8_t axis, const char *batch,
                        int64_t *size) {
    const char *input = firnc_onnx_or_empty(info->name), *name = extent_name(info->type->tensor_type->shape->dim[axis]);
    for (uint32_t i = 0; i < im->options->dimension_count; i++)
        if (firnc_onnx_is_extent(info, axis, im->options->dimensions[i].name)) {
            *size = im->options->dimensions[i].size;
            return true;
        }
    if (!im->options->bare && (axis == 0 || (name[0] != '\0' && strcmp(name, batch) == 0))) {
        *size = im->options->samples > 0 ? im->options->samples : 2;
        return true;
    }
    const bool named = name[0] != '\0';
    return firnc_onnx_fail(im,
                           "input %s: the size of its extent %u (%s) is open; write it into model.dimensions, as "
                           "{\"%s\": 64}",
                           input, (unsigned)axis, named ? name : "without a name",
                           named ? name : firnc_format("%s.%u", input, (unsigned)axis));
}

/* The shape of an input. The first extent of data is the samples, whatever the file says. `batch` is the name of that
 * extent. Inputs that are no data may have an extent of 0. */
static bool input_shape(firnc_onnx_importer *im, const FirncOnnx__ValueInfo *info, const char *batch,
                        firnc_onnx_port *port) {
    const FirncOnnx__TensorType *type = info->type == NULL ? NULL : info->type->tensor_type;
    const int64_t least = filled_value(im, port->name) != NULL ? 0 : 1;
    if (type == NULL || type->shape == NULL)
        return firnc_onnx_fail(im,
                               "input %s is no tensor with a shape; export it again, or write the shape by "
                               "onnx.helper.make_tensor_value_info",
                               port->name);
    if (type->shape->n_dim > FIRN_RANK_MAX)
        return firnc_onnx_fail(im, "input %s has more than %d dimensions; give it fewer, and reshape it in the module",
                               port->name, FIRN_RANK_MAX);
    port->rank = (uint8_t)type->shape->n_dim;
    for (uint8_t i = 0; i < port->rank; i++) {
        const FirncOnnx__Extent *extent = type->shape->dim[i];
        int64_t size = extent->dim_value;
        if (firnc_onnx_is_open(extent) && !open_extent(im, info, i, batch, &size))
            return false;
        if (size < least || size > INT32_MAX)
            return firnc_onnx_fail(im, "input %s has an extent of %lld; every extent is %d to 2147483647", port->name,
                                   (long long)size, (int)least);
        port->dims[i] = (uint32_t)size;
    }
    if (!firnc_onnx_is_type(type->elem_type))
        return firnc_onnx_fail(im, "input %s is of the type %s, which Firn does not have; use float or int64",
                               port->name, firnc_onnx_type_word(type->elem_type));
    port->type = (uint8_t)type->elem_type;
    return true;
}

/* An input that is not data. */
static bool fill(firnc_onnx_importer *im, const firnc_onnx_port *port, double number, firnc_onnx_value *value) {
    int64_t dims[FIRN_RANK_MAX] = {0};
    const firnc_onnx_tensor *one =
        firnc_onnx_tensor_cast(im, firnc_onnx_tensor_scalar(im, FIRNC_ONNX_DOUBLE, number), port->type);
    if (!firnc_onnx_is_real(port->type) && one != NULL && firnc_onnx_number(one, 0) != number)
        return firnc_onnx_fail(
            im, "input %s is of the type %s, which does not have %g; write a whole number into model.inputs",
            port->name, firnc_onnx_type_word(port->type), number);
    for (uint8_t i = 0; i < port->rank; i++)
        dims[i] = port->dims[i];
    firnc_onnx_tensor *tensor = firnc_onnx_tensor_new(im, port->type, port->rank, dims);
    for (uint64_t i = 0; tensor != NULL && i < tensor->count; i++)
        firnc_onnx_put(tensor, i, number);
    firnc_onnx_set_known(value, tensor);
    return tensor != NULL;
}

/* A row with all elements as the input of a bare import. */
static bool add_bare_input(firnc_onnx_importer *im, uint32_t stream, firnc_onnx_port *port, firnc_onnx_value *value) {
    int64_t dims[FIRN_RANK_MAX] = {0};
    uint64_t count = 1;
    for (uint8_t i = 0; i < port->rank; i++) {
        dims[i] = port->dims[i];
        if (port->dims[i] > FIRNC_ONNX_ELEMENTS_MAX / count)
            return firnc_onnx_fail(
                im, "input %s has more elements than a plan holds; write smaller extents into model.dimensions",
                port->name);
        count *= port->dims[i];
    }
    const firnc_input_options options = {.stream = (uint8_t)stream, .element = FIRN_FLOAT32};
    if (!firnc_is_name(port->name))
        return firnc_onnx_fail(im,
                               "an input has a name that is not of 1 to %d printable ASCII characters; name it by "
                               "input_names of torch.onnx.export",
                               FIRNC_NAME_MAX);
    port->value = firnc_input(im->graph, port->name, FIRN_FLOAT32, 2, (uint32_t[]){1, (uint32_t)count}, options);
    firnc_onnx_set(im, value, firnc_onnx_reshape(im, port->value, port->rank, dims), port->type, port->rank);
    return !im->failed;
}

/* The data: stream 0. */
static bool add_data_input(firnc_onnx_importer *im, firnc_onnx_model *model, firnc_onnx_port *port,
                           firnc_onnx_value *value) {
    firnc_input_options options = im->options->features;
    const bool whole = !firnc_onnx_is_real(port->type);
    if (port->rank == 0)
        return firnc_onnx_fail(im,
                               "input %s is one number, and data have a dimension for the samples; export it with one, "
                               "or write its value in inputs",
                               port->name);
    if (im->options->samples > 0 && port->dims[0] != im->options->samples)
        return firnc_onnx_fail(
            im,
            "input %s has the first extent %u, and a micro-batch has %u samples; export it with a first extent that "
            "is open, or write that micro_batch_size",
            port->name, (unsigned)port->dims[0], (unsigned)im->options->samples);
    if (whole) {
        options.limit = INT32_MAX;
        options.scaled = false;
        options.scale = options.shift = 0;
        options.standard = NULL;
    }
    port->value = firnc_input(im->graph, whole ? "input_ids" : "features", whole ? FIRN_INT32 : FIRN_FLOAT32,
                              port->rank, port->dims, options);
    firnc_onnx_set(im, value, port->value, port->type, port->rank);
    if (whole)
        value->input = port->value;
    model->tokens = whole;
    model->data = (uint32_t)(port - model->inputs);
    return true;
}

bool firnc_onnx_add_inputs(firnc_onnx_importer *im, firnc_onnx_scope *scope, firnc_onnx_model *model) {
    const FirncOnnx__Graph *graph = im->model->graph;
    const char *batch = batch_name(im, scope);
    uint32_t data = 0;
    for (size_t i = 0; i < graph->n_input; i++) {
        const char *name = firnc_onnx_or_empty(graph->input[i]->name);
        for (size_t j = 0; j < i && j < FIRNC_ONNX_IO_MAX; j++)
            if (strcmp(firnc_onnx_or_empty(graph->input[j]->name), name) == 0 && firnc_onnx_find(scope, name) != NULL)
                return firnc_onnx_fail(
                    im, "has two inputs with the name %s; name them by input_names of torch.onnx.export", name);
        if (firnc_onnx_find(scope, name) != NULL)
            continue; /* a tensor of the file that is listed among the inputs */
        if (model->input_count == FIRNC_ONNX_IO_MAX)
            return firnc_onnx_fail(im, "has more than %d inputs; join some of them", FIRNC_ONNX_IO_MAX);
        firnc_onnx_port *port = &model->inputs[model->input_count++];
        firnc_onnx_value *value = firnc_onnx_value_new(name);
        *port = (firnc_onnx_port){.name = name, .value = FIRNC_NONE};
        if (!input_shape(im, graph->input[i], batch, port))
            return false;
        const firnc_onnx_filled *filled = filled_value(im, name);
        if (filled == NULL && ++data > 1 && !im->options->bare)
            return firnc_onnx_fail(
                im, "input %s is one more than the one that the data gives; write its value into model.inputs", name);
        if (!(filled != NULL      ? fill(im, port, filled->value, value)
              : im->options->bare ? add_bare_input(im, data - 1, port, value)
                                  : add_data_input(im, model, port, value)) ||
            !firnc_onnx_define(im, scope, name, value))
            return false;
    }
    return true;
}

/* --- outputs ------------------------------------------------------------------------------------------------------ */

/* The elements of an output that is known without data. */
static const double *numbers_of(const firnc_onnx_tensor *tensor) {
    double *numbers = firnc_allocate(tensor->count * sizeof *numbers + 1);
    for (uint64_t i = 0; i < tensor->count; i++)
        numbers[i] = firnc_onnx_number(tensor, i);
    return numbers;
}

/* The output of a bare import: a row of float32 with a name, which an input cannot be. */
static firnc_value named_row(firnc_onnx_importer *im, firnc_value y, const char *name, uint64_t elements) {
    y = firnc_onnx_reshape(im, firnc_onnx_real(im, y), 2, (int64_t[]){1, (int64_t)elements});
    if (im->failed)
        return FIRNC_NONE;
    if (im->graph->values[y].producer == FIRNC_NONE)
        y = firnc_onnx_made(im, firnc_affine(im->graph, y, 1, -0.0F));
    if (!firnc_is_name(name)) {
        firnc_onnx_fail(im,
                        "an output has a name that is not of 1 to %d printable ASCII characters; name it by "
                        "output_names of torch.onnx.export",
                        FIRNC_NAME_MAX);
        return FIRNC_NONE;
    }
    firnc_name_value(im->graph, name, y);
    return y;
}

static bool add_output(firnc_onnx_importer *im, firnc_onnx_value *value, firnc_onnx_port *port) {
    port->type = value->type;
    port->real = firnc_onnx_is_real(value->type);
    port->rank = value->rank;
    for (uint8_t i = 0; i < value->rank; i++)
        port->dims[i] = (uint32_t)value->dims[i];
    if (firnc_onnx_is_constant(value)) {
        port->known = numbers_of(value->known);
        return true;
    }
    port->value = firnc_onnx_plain(im, value);
    if (!im->failed && !im->options->bare && im->graph->values[port->value].producer == FIRNC_NONE)
        port->value = FIRNC_NONE;
    if (im->options->bare)
        port->value = named_row(im, port->value, port->name, firnc_onnx_count(value));
    return !im->failed;
}

bool firnc_onnx_add_outputs(firnc_onnx_importer *im, const firnc_onnx_scope *scope, firnc_onnx_model *model) {
    const FirncOnnx__Graph *graph = im->model->graph;
    if (graph->n_output == 0 || graph->n_output > FIRNC_ONNX_IO_MAX)
        return firnc_onnx_fail(im, "has %llu outputs; 1 to %d are read", (unsigned long long)graph->n_output,
                               FIRNC_ONNX_IO_MAX);
    for (size_t i = 0; i < graph->n_output; i++) {
        firnc_onnx_port *port = &model->outputs[model->output_count++];
        firnc_onnx_value *value = firnc_onnx_find(scope, firnc_onnx_or_empty(graph->output[i]->name));
        *port = (firnc_onnx_port){.name = firnc_onnx_or_empty(graph->output[i]->name), .value = FIRNC_NONE};
        if (value == NULL)
            return firnc_onnx_fail(im, "no node makes the output %s", port->name);
        if (!add_output(im, value, port))
            return false;
    }
    return true;
}
