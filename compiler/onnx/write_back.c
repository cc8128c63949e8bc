/* Puts values of parameters into the tensors of an ONNX file from which they came (firnc weights --onnx). Everything
 * else of the file stays as it is, fields that firnc does not read included; tensors whose elements are in files beside
 * it get them into the new file. */
#include <math.h>
#include <string.h>

#include "compiler/onnx/import.h"
#include "runtime/numerics/numerics.h"

#define FILE_BYTES_MAX (((uint64_t)1 << 31) - 1) /* of a message of protobuf */

enum { IN_ANOTHER_FILE = 1 }; /* as data_location */

/* The types of tensors that are narrower than the values. */
static const struct {
    int32_t in_file;
    uint8_t element;
    const char *name;
} narrow[] = {
    {FIRNC_ONNX_FLOAT16, FIRN_FLOAT16, "float16"},
    {FIRNC_ONNX_BFLOAT16, FIRN_BFLOAT16, "bfloat16"},
};
enum { NARROW_TYPES = sizeof narrow / sizeof *narrow };

/* What the types of the file have changed, for each row of `narrow`. */
typedef struct rounding {
    uint64_t values[NARROW_TYPES];
    uint32_t tensors[NARROW_TYPES]; /* that have such a value */
} rounding;

/* --- tensors in other files --------------------------------------------------------------------------------------- */

static bool is_outside(const FirncOnnx__Tensor *tensor) {
    return tensor != NULL && tensor->has_data_location && tensor->data_location == IN_ANOTHER_FILE;
}

/* Whether a tensor of a node is in another file; graphs of branches hold at most FIRNC_ONNX_DEPTH_MAX of each other
 * (scan.c). */
static bool has_outside(FirncOnnx__Node *const *nodes, size_t count) {
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < nodes[i]->n_attribute; j++) {
            const FirncOnnx__Attribute *attribute = nodes[i]->attribute[j];
            const FirncOnnx__Graph *graph = attribute->g;
            bool outside = is_outside(attribute->t);
            for (size_t k = 0; graph != NULL && k < graph->n_initializer; k++)
                outside = outside || is_outside(graph->initializer[k]);
            if (outside || (graph != NULL && has_outside(graph->node, graph->n_node)))
                return true;
        }
    return false;
}

static void set_bytes(FirncOnnx__Tensor *tensor, uint8_t *bytes, uint64_t count) {
    tensor->raw_data.data = bytes;
    tensor->raw_data.len = (size_t)count;
    tensor->has_raw_data = 1;
    tensor->n_float_data = tensor->n_int32_data = tensor->n_int64_data = 0;
    tensor->n_double_data = tensor->n_uint64_data = 0;
    tensor->n_external_data = 0;
    tensor->has_data_location = 0;
}

static uint64_t elements_of(const FirncOnnx__Tensor *tensor) {
    uint64_t count = 1;
    for (size_t i = 0; i < tensor->n_dims; i++)
        count *= (uint64_t)tensor->dims[i];
    return count;
}

/* Brings the elements of a tensor into the file. */
static bool embed(firnc_onnx_importer *im, FirncOnnx__Tensor *tensor) {
    const char *name = firnc_onnx_or_empty(tensor->name);
    firnc_onnx_bytes bytes;
    if (firnc_onnx_tensor_read(im, tensor, name) == NULL || /* checks type and extents */
        !firnc_onnx_read_external(im, tensor, name, elements_of(tensor) * firnc_onnx_type_bytes(tensor->data_type),
                                  &bytes))
        return false;
    uint8_t *copy = firnc_allocate(bytes.count + 1);
    memcpy(copy, bytes.bytes, (size_t)bytes.count);
    set_bytes(tensor, copy, bytes.count);
    return true;
}

/* --- values ------------------------------------------------------------------------------------------------------- */

/* Returns the row of `narrow` of a tensor, or NARROW_TYPES if its type has every float32. */
static size_t narrow_type_of(const FirncOnnx__Tensor *tensor) {
    size_t row = 0;
    while (row < NARROW_TYPES && narrow[row].in_file != tensor->data_type)
        row++;
    return row;
}

/* Stores the values in a narrower type, and counts those that it changes. Returns false after one message if a finite
 * value would become infinite. */
static bool store_narrow(firnc_onnx_importer *im, const firnc_onnx_stored *stored, size_t row, const float *values,
                         uint64_t count, uint8_t *bytes, rounding *rounded) {
    const uint8_t element = narrow[row].element;
    uint64_t changed = 0;
    firn_narrow(bytes, element, 0, values, (size_t)count);
    for (uint64_t i = 0; i < count; i++) {
        const float back = firn_load(bytes, element, (size_t)i);
        if (isinf(back) && isfinite(values[i]))
            return firnc_onnx_fail(im,
                                   "parameter %s has the value %.9g, which would be infinity in the %s of tensor %s; "
                                   "export the model with float32 parameters, or use firnc weights without --onnx",
                                   stored->parameter, (double)values[i], narrow[row].name, stored->tensor);
        changed += back != values[i] && !isnan(values[i]);
    }
    rounded->values[row] += changed;
    rounded->tensors[row] += changed != 0;
    return true;
}

/* Stores the values in the type of the tensor. Returns false after one message. */
static bool set_values(firnc_onnx_importer *im, const firnc_onnx_stored *stored, FirncOnnx__Tensor *tensor,
                       const float *values, uint64_t count, rounding *rounded) {
    uint8_t *bytes = firnc_allocate(count * firnc_onnx_type_bytes(tensor->data_type) + 1);
    const size_t row = narrow_type_of(tensor);
    for (uint64_t i = 0; i < count; i++) {
        const double wide = (double)values[i];
        if (tensor->data_type == FIRNC_ONNX_DOUBLE)
            memcpy(bytes + i * sizeof wide, &wide, sizeof wide);
    }
    if (tensor->data_type == FIRNC_ONNX_FLOAT)
        memcpy(bytes, values, (size_t)count * sizeof *values);
    else if (row < NARROW_TYPES && !store_narrow(im, stored, row, values, count, bytes, rounded))
        return false;
    set_bytes(tensor, bytes, count * firnc_onnx_type_bytes(tensor->data_type));
    return true;
}

static bool put(firnc_onnx_importer *im, const firnc_onnx_stored *stored, FirncOnnx__Tensor *tensor,
                const float *values, rounding *rounded) {
    const firnc_onnx_tensor *before = firnc_onnx_tensor_read(im, tensor, stored->tensor);
    if (before == NULL)
        return false;
    float *laid = firnc_allocate((before->count + 1) * sizeof *laid);
    firnc_onnx_lay_out(stored, before->dims, before->count, values, laid);
    return set_values(im, stored, tensor, laid, before->count, rounded);
}

/* Notes in one line how many values the types of the file have changed. */
static void note_rounding(const char *path, const rounding *rounded) {
    const char *text = "";
    for (size_t i = 0; i < NARROW_TYPES; i++)
        if (rounded->values[i] != 0)
            text = firnc_format("%s%s%llu value%s of %u tensor%s to %s", text, *text == '\0' ? "" : ", ",
                                (unsigned long long)rounded->values[i], rounded->values[i] == 1 ? "" : "s",
                                (unsigned)rounded->tensors[i], rounded->tensors[i] == 1 ? "" : "s", narrow[i].name);
    if (*text != '\0')
        firnc_say("firnc: %s: note: trained float32 values are rounded to the types of the file: %s", path, text);
}

/* The tensor of a Constant node with this output; NULL: it has none. */
static FirncOnnx__Tensor *tensor_of_node(const FirncOnnx__Graph *graph, const char *output) {
    for (size_t i = 0; i < graph->n_node; i++) {
        const FirncOnnx__Node *node = graph->node[i];
        if (strcmp(firnc_onnx_or_empty(node->op_type), "Constant") != 0 || node->n_output != 1 ||
            strcmp(node->output[0], output) != 0)
            continue;
        for (size_t j = 0; j < node->n_attribute; j++)
            if (strcmp(firnc_onnx_or_empty(node->attribute[j]->name), "value") == 0)
                return node->attribute[j]->t;
    }
    return NULL;
}

static FirncOnnx__Tensor *find_tensor(const FirncOnnx__Graph *graph, const char *name) {
    for (size_t i = 0; i < graph->n_initializer; i++)
        if (strcmp(firnc_onnx_or_empty(graph->initializer[i]->name), name) == 0)
            return graph->initializer[i];
    return tensor_of_node(graph, name);
}

static bool pack(firnc_onnx_importer *im, firnc_bytes *file) {
    const uint64_t bytes = firnc_onnx__model__get_packed_size(im->model);
    if (bytes > FILE_BYTES_MAX)
        return firnc_onnx_fail(im,
                               "would have %llu bytes with its weights, and a file in the ONNX format has at most "
                               "2 GiB; hand over the file of firnc weights without --onnx",
                               (unsigned long long)bytes);
    *file = (firnc_bytes){.data = firnc_allocate_aligned(bytes + 1), .count = bytes};
    (void)firnc_onnx__model__pack(im->model, file->data);
    return true;
}

bool firnc_onnx_write_back(const char *path, const firnc_onnx_model *model, firnc_onnx_values values, void *context,
                           firnc_bytes *file) {
    const firnc_onnx_options options = {.any_opset = true};
    firnc_onnx_importer im = {.file = path, .options = &options};
    if (!firnc_onnx_read(&im))
        return false;
    FirncOnnx__Graph *graph = im.model->graph;
    rounding rounded = {0};
    bool outside = has_outside(graph->node, graph->n_node);
    for (size_t i = 0; i < im.model->n_functions; i++)
        outside = outside || has_outside(im.model->functions[i]->node, im.model->functions[i]->n_node);
    if (outside)
        return firnc_onnx_fail(&im, "a node has a tensor in another file; export the model with all tensors in one");
    for (size_t i = 0; i < graph->n_initializer; i++)
        if (is_outside(graph->initializer[i]) && !embed(&im, graph->initializer[i]))
            return false;
    for (uint32_t i = 0; i < model->stored_count; i++) {
        const firnc_onnx_stored *stored = &model->stored[i];
        FirncOnnx__Tensor *tensor = find_tensor(graph, stored->tensor);
        const float *trained = values(context, stored->parameter);
        if (tensor == NULL)
            return firnc_onnx_fail(&im, "parameter %s is in a node that has no tensor; store it as an initializer",
                                   stored->parameter);
        if (trained != NULL && !put(&im, stored, tensor, trained, &rounded))
            return false;
    }
    if (!pack(&im, file))
        return false;
    note_rounding(path, &rounded);
    return true;
}
