/* Norms: batch, layer, root mean square, group and instance, and those of a channel by its neighbours. */
#include <math.h>
#include <string.h>

#include "compiler/onnx/import.h"
#include "plan/shapes/windows.h"

/* --- batch norm --------------------------------------------------------------------------------------------------- */

/* A running statistic: a buffer that training changes. */
static firnc_value buffer_of(firnc_onnx_importer *im, const firnc_onnx_node *node, const firnc_onnx_value *value,
                             const char *what) {
    const char *name = value->parameter != NULL
                           ? value->parameter->name
                           : firnc_format("%s.%s", node->layer[0] != '\0' ? node->layer : "batch_norm", what);
    const uint32_t dims[] = {(uint32_t)value->dims[0]};
    if (im->failed)
        return FIRNC_NONE;
    if (!firnc_is_name(name)) {
        firnc_onnx_fail(im, "its %s has a name that is not of 1 to %d printable ASCII characters; rename the tensor",
                        what, FIRNC_NAME_MAX);
        return FIRNC_NONE;
    }
    for (firnc_value i = 0; i < im->graph->value_count; i++)
        if (im->graph->values[i].name != NULL && strcmp(im->graph->values[i].name, name) == 0) {
            firnc_onnx_fail(im, "shares its %s %s; give each batch norm statistics of its own", what, name);
            return FIRNC_NONE;
        }
    const firnc_value buffer = firnc_buffer(im->graph, name, 1, dims, strcmp(what, "running_var") == 0);
    im->graph->values[buffer].initial = value->known->reals;
    return buffer;
}

/* (x - mean) / sqrt(variance + epsilon) * gain + bias with known statistics. */
static firnc_value with_statistics(firnc_onnx_importer *im, const firnc_onnx_node *node, firnc_value x, float epsilon) {
    const firnc_onnx_tensor *mean = node->inputs[3]->known, *variance = node->inputs[4]->known;
    firnc_onnx_tensor *less = firnc_onnx_tensor_new(im, FIRNC_ONNX_FLOAT, 1, mean->dims),
                      *factor = firnc_onnx_tensor_new(im, FIRNC_ONNX_FLOAT, 1, mean->dims);
    if (less == NULL || factor == NULL)
        return FIRNC_NONE;
    for (uint64_t i = 0; i < less->count; i++) {
        less->reals[i] = mean->reals[i];
        factor->reals[i] = (float)(1 / sqrt((double)variance->reals[i] + (double)epsilon));
    }
    x = firnc_onnx_binary(im, FIRN_OP_subtract, x, firnc_onnx_constant(im, less, FIRN_FLOAT32));
    x = firnc_onnx_binary(im, FIRN_OP_multiply, x, firnc_onnx_constant(im, factor, FIRN_FLOAT32));
    x = firnc_onnx_binary(im, FIRN_OP_multiply, x, firnc_onnx_plain_real(im, node->inputs[1]));
    return firnc_onnx_binary(im, FIRN_OP_add, x, firnc_onnx_plain_real(im, node->inputs[2]));
}

/* The same with statistics that the data gives, as tests of single nodes have it. */
static firnc_value with_computed(firnc_onnx_importer *im, const firnc_onnx_node *node, firnc_value x, float epsilon) {
    const firnc_value mean = firnc_onnx_plain(im, node->inputs[3]), variance = firnc_onnx_plain(im, node->inputs[4]);
    const firnc_value factor = firnc_onnx_unary(
        im, FIRN_OP_reciprocal, firnc_onnx_unary(im, FIRN_OP_sqrt, firnc_onnx_affine(im, variance, 1, epsilon)));
    x = firnc_onnx_binary(im, FIRN_OP_multiply, firnc_onnx_binary(im, FIRN_OP_subtract, x, mean), factor);
    x = firnc_onnx_binary(im, FIRN_OP_multiply, x, firnc_onnx_plain(im, node->inputs[1]));
    return firnc_onnx_binary(im, FIRN_OP_add, x, firnc_onnx_plain(im, node->inputs[2]));
}

/* x with its mean 0 and its variance 1 over some axes. */
static firnc_value normalised(firnc_onnx_importer *im, firnc_value x, uint32_t axes, float epsilon) {
    const firnc_value centred = firnc_onnx_binary(im, FIRN_OP_subtract, x, firnc_onnx_mean(im, x, axes, true));
    const firnc_value variance =
        firnc_onnx_mean(im, firnc_onnx_binary(im, FIRN_OP_multiply, centred, centred), axes, true);
    const firnc_value factor = firnc_onnx_unary(
        im, FIRN_OP_reciprocal, firnc_onnx_unary(im, FIRN_OP_sqrt, firnc_onnx_affine(im, variance, 1, epsilon)));
    return firnc_onnx_binary(im, FIRN_OP_multiply, centred, factor);
}

/* Whether a value of the graph depends on the data. */
static bool depends_on_data(const firnc_onnx_importer *im, firnc_value value) {
    const firnc_graph *graph = im->graph;
    bool *seen = firnc_allocate(graph->value_count * sizeof *seen);
    firnc_value *open = firnc_allocate(graph->value_count * sizeof *open);
    uint32_t count = 0;
    seen[value] = true;
    open[count++] = value;
    while (count > 0) {
        const firnc_value_info *info = &graph->values[open[--count]];
        if (info->role == FIRNC_ROLE_INPUT)
            return true;
        const firnc_node *node = info->producer == FIRNC_NONE ? NULL : &graph->nodes[info->producer];
        for (uint8_t i = 0; node != NULL && i < node->input_count; i++)
            if (node->inputs[i] != FIRNC_NONE && !seen[node->inputs[i]]) {
                seen[node->inputs[i]] = true;
                open[count++] = node->inputs[i];
            }
    }
    return false;
}

/* Whether a batch norm that trains by the micro-batch keeps no running statistics: where exporters compute what ONNX
 * asks for in their place, as for functions without such statistics; and where a weight is normalised. */
static bool keeps_nothing(const firnc_onnx_importer *im, const firnc_onnx_node *node, firnc_value x) {
    const bool made = node->inputs[3]->producer != NULL && node->inputs[4]->producer != NULL;
    return (firnc_onnx_integer(node, "training_mode", 0) != 0 && made) || !depends_on_data(im, x);
}

/* The mean 0 and the variance 1 of each channel, which is the last axis, and gain and bias. */
static firnc_value without_statistics(firnc_onnx_importer *im, const firnc_onnx_node *node, firnc_value x,
                                      float epsilon) {
    const uint32_t channels = UINT32_C(1) << (node->inputs[0]->rank - 1);
    x = normalised(im, x, channels - 1, epsilon);
    x = firnc_onnx_binary(im, FIRN_OP_multiply, x, firnc_onnx_plain_real(im, node->inputs[1]));
    return firnc_onnx_binary(im, FIRN_OP_add, x, firnc_onnx_plain_real(im, node->inputs[2]));
}

bool firnc_onnx_import_batch_norm(firnc_onnx_importer *im, const firnc_onnx_node *node) {
    firnc_onnx_value *x = node->inputs[0];
    const float epsilon = firnc_onnx_float(node, "epsilon", 1e-5F), momentum = firnc_onnx_float(node, "momentum", 0.9F);
    uint8_t order[FIRN_RANK_MAX];
    if (x->rank < 2)
        return firnc_onnx_fail(im, "takes channels, and its operand has %u dimensions", (unsigned)x->rank);
    for (uint32_t i = 1; i < 5; i++)
        if (node->inputs[i]->rank != 1 || node->inputs[i]->dims[0] != x->dims[1])
            return firnc_onnx_fail(im, "takes %lld numbers for its channels", (long long)x->dims[1]);
    const bool known = node->inputs[3]->known != NULL && node->inputs[4]->known != NULL &&
                       node->inputs[3]->known->reals != NULL && node->inputs[4]->known->reals != NULL;
    /* statistics that are computed are those that the model wants */
    const bool training = firnc_onnx_integer(node, "training_mode", 0) != 0 || (im->options->batch_statistics && known);
    firnc_onnx_channels_last(x->rank, order);
    const firnc_value y = firnc_onnx_real(im, firnc_onnx_ordered(im, x, x->rank, order));
    firnc_value z;
    for (uint32_t i = 1; training && i < node->output_count; i++)
        if (node->outputs[i] != NULL && firnc_onnx_is_read(im, node, node->outputs[i]->name))
            return firnc_onnx_fail(im, "gives its running statistics, which are state of the plan; leave them out");
    if (im->failed)
        return false;
    if (training && keeps_nothing(im, node, y)) {
        z = without_statistics(im, node, y, epsilon);
        firnc_onnx_set_ordered(im, node->outputs[0], z, x->type, x->rank, order);
        firnc_onnx_alias(node->outputs[1], node->inputs[3]);
        firnc_onnx_alias(node->outputs[2], node->inputs[4]);
        return !im->failed;
    }
    if (training && !known)
        return firnc_onnx_fail(im, "its running statistics depend on the data; make them tensors of the file");
    if (training) {
        const firnc_value gain = firnc_onnx_plain(im, node->inputs[1]), bias = firnc_onnx_plain(im, node->inputs[2]);
        if (!(momentum >= 0 && momentum <= 1))
            return firnc_onnx_fail(im, "has momentum %g; write one from 0 to 1", (double)momentum);
        const firnc_value mean = buffer_of(im, node, node->inputs[3], "running_mean");
        const firnc_value variance = buffer_of(im, node, node->inputs[4], "running_var");
        if (im->failed)
            return false;
        z = firnc_onnx_made(im, firnc_batch_norm(im->graph, y, gain, bias, mean, variance, epsilon, 1 - momentum));
        firnc_onnx_alias(node->outputs[1], node->inputs[3]);
        firnc_onnx_alias(node->outputs[2], node->inputs[4]);
    } else {
        im->fixed_norms += known;
        z = known ? with_statistics(im, node, y, epsilon) : with_computed(im, node, y, epsilon);
    }
    firnc_onnx_set_ordered(im, node->outputs[0], z, x->type, x->rank, order);
    return !im->failed;
}

/* --- layer norm and root mean square ------------------------------------------------------------------------------ */

/* The rows that are normalised: all axes from one on, as one. */
typedef struct rows {
    firnc_value value;
    int64_t extent;
    uint8_t order[FIRN_RANK_MAX];
} rows;

static bool rows_of(firnc_onnx_importer *im, const firnc_onnx_node *node, rows *to) {
    firnc_onnx_value *x = node->inputs[0];
    const uint8_t axis = firnc_onnx_axis(im, firnc_onnx_integer(node, "axis", -1), x->rank);
    const firnc_value raw = firnc_onnx_raw(im, x);
    if (im->failed)
        return false;
    firnc_onnx_identity(to->order);
    to->extent = 1;
    for (uint8_t i = axis; i < x->rank; i++)
        to->extent *= x->dims[i];
    if (axis + 1 == x->rank && x->rank > 1 && x->order[x->rank - 1] == axis) {
        to->value = firnc_onnx_real(im, raw);
        memcpy(to->order, x->order, x->rank);
        return !im->failed;
    }
    to->value = firnc_onnx_reshape(im, firnc_onnx_plain_real(im, x), 2,
                                   (int64_t[]){(int64_t)firnc_onnx_count(x) / to->extent, to->extent});
    return !im->failed;
}

static bool set_rows(firnc_onnx_importer *im, const firnc_onnx_node *node, firnc_value y, const rows *from) {
    const firnc_onnx_value *x = node->inputs[0];
    int64_t dims[FIRN_RANK_MAX];
    for (uint8_t i = 0; i < x->rank; i++)
        dims[i] = x->dims[from->order[i]];
    firnc_onnx_set_ordered(im, node->outputs[0], firnc_onnx_reshape(im, y, x->rank, dims), x->type, x->rank,
                           from->order);
    return !im->failed;
}

/* A tensor of equal numbers. */
static firnc_value filled(firnc_onnx_importer *im, int64_t extent, float number) {
    firnc_onnx_tensor *tensor = firnc_onnx_tensor_new(im, FIRNC_ONNX_FLOAT, 1, &extent);
    for (uint64_t i = 0; tensor != NULL && i < tensor->count; i++)
        tensor->reals[i] = number;
    return firnc_onnx_constant(im, tensor, FIRN_FLOAT32);
}

/* Gain or bias, of all elements of a row. */
static firnc_value gain_or_bias(firnc_onnx_importer *im, const firnc_onnx_node *node, uint32_t input, int64_t extent,
                                float instead) {
    if (node->inputs[input] == NULL)
        return filled(im, extent, instead);
    firnc_value y = firnc_onnx_plain_real(im, node->inputs[input]);
    if (!im->failed && (int64_t)firnc_onnx_count(node->inputs[input]) != extent)
        y = firnc_onnx_expand(im, y, 1, &extent);
    return firnc_onnx_reshape(im, y, 1, &extent);
}

/* A number for each row, as an output in which the axes of the row have one element. */
static void set_row_numbers(firnc_onnx_importer *im, const firnc_onnx_node *node, uint32_t output, firnc_value numbers,
                            const rows *from) {
    const firnc_onnx_value *x = node->inputs[0];
    const uint8_t axis = firnc_onnx_axis(im, firnc_onnx_integer(node, "axis", -1), x->rank);
    int64_t dims[FIRN_RANK_MAX];
    if (node->outputs[output] == NULL)
        return;
    for (uint8_t i = 0; i < x->rank; i++)
        dims[i] = from->order[i] < axis ? x->dims[from->order[i]] : 1;
    firnc_onnx_set_ordered(im, node->outputs[output], firnc_onnx_reshape(im, numbers, x->rank, dims), x->type, x->rank,
                           from->order);
}

/* The mean of each row and the reciprocal of its deviation, where the file names them as outputs. */
static void set_statistics(firnc_onnx_importer *im, const firnc_onnx_node *node, const rows *from) {
    if (im->failed || node->output_count < 2)
        return;
    const uint32_t last = UINT32_C(1) << (firnc_onnx_shape(im, from->value)->rank - 1);
    const firnc_value mean = firnc_onnx_mean(im, from->value, last, true);
    const firnc_value centred = firnc_onnx_binary(im, FIRN_OP_subtract, from->value, mean);
    const firnc_value variance =
        firnc_onnx_mean(im, firnc_onnx_binary(im, FIRN_OP_multiply, centred, centred), last, true);
    const firnc_value deviation = firnc_onnx_unary(
        im, FIRN_OP_sqrt, firnc_onnx_affine(im, variance, 1, firnc_onnx_float(node, "epsilon", 1e-5F)));
    set_row_numbers(im, node, 1, mean, from);
    set_row_numbers(im, node, 2, firnc_onnx_unary(im, FIRN_OP_reciprocal, deviation), from);
}

bool firnc_onnx_import_layer_norm(firnc_onnx_importer *im, const firnc_onnx_node *node) {
    rows x;
    if (!rows_of(im, node, &x))
        return false;
    set_statistics(im, node, &x);
    const firnc_value gain = gain_or_bias(im, node, 1, x.extent, 1), bias = gain_or_bias(im, node, 2, x.extent, 0);
    if (im->failed)
        return false;
    return set_rows(
        im, node,
        firnc_onnx_made(im, firnc_layer_norm(im->graph, x.value, gain, bias, firnc_onnx_float(node, "epsilon", 1e-5F))),
        &x);
}

bool firnc_onnx_import_rms_norm(firnc_onnx_importer *im, const firnc_onnx_node *node) {
    rows x;
    if (!rows_of(im, node, &x))
        return false;
    const firnc_value gain = gain_or_bias(im, node, 1, x.extent, 1);
    if (im->failed)
        return false;
    return set_rows(
        im, node,
        firnc_onnx_made(im, firnc_rms_norm(im->graph, x.value, gain, firnc_onnx_float(node, "epsilon", 1e-5F))), &x);
}

/* --- groups of channels ------------------------------------------------------------------------------------------- */

/* Gain or bias of a channel: one for each channel, or with opset 18 to 20 for each group. */
static firnc_value by_channel(firnc_onnx_importer *im, firnc_onnx_value *value, int64_t groups, int64_t channels) {
    firnc_value y = firnc_onnx_plain_real(im, value);
    if (value->rank == 1 && value->dims[0] == groups && groups != channels) {
        y = firnc_onnx_reshape(im, y, 2, (int64_t[]){groups, 1});
        y = firnc_onnx_expand(im, y, 2, (int64_t[]){groups, channels / groups});
    }
    return firnc_onnx_reshape(im, y, 1, &channels);
}

/* GroupNormalization, and InstanceNormalization, in which each channel is a group: channels last. */
bool firnc_onnx_import_group_norm(firnc_onnx_importer *im, const firnc_onnx_node *node) {
    firnc_onnx_value *x = node->inputs[0];
    if (x->rank < 3)
        return firnc_onnx_fail(im, "takes images, and its operand has %u dimensions", (unsigned)x->rank);
    const int64_t channels = x->dims[1], groups = firnc_onnx_integer(node, "num_groups", channels);
    if (groups < 1 || channels % groups != 0)
        return firnc_onnx_fail(im, "has %lld groups for %lld channels", (long long)groups, (long long)channels);
    uint8_t order[FIRN_RANK_MAX];
    int64_t dims[FIRN_RANK_MAX], inner = 1;
    firnc_onnx_channels_last(x->rank, order);
    const firnc_value y = firnc_onnx_real(im, firnc_onnx_ordered(im, x, x->rank, order));
    for (uint8_t i = 0; i < x->rank; i++)
        dims[i] = x->dims[order[i]];
    for (uint8_t i = 2; i < x->rank; i++)
        inner *= x->dims[i];
    firnc_value z = firnc_onnx_reshape(im, y, 4, (int64_t[]){x->dims[0], inner, groups, channels / groups});
    z = normalised(im, z, 1u << 1 | 1u << 3, firnc_onnx_float(node, "epsilon", 1e-5F));
    z = firnc_onnx_reshape(im, z, x->rank, dims);
    z = firnc_onnx_binary(im, FIRN_OP_multiply, z, by_channel(im, node->inputs[1], groups, channels));
    z = firnc_onnx_binary(im, FIRN_OP_add, z, by_channel(im, node->inputs[2], groups, channels));
    firnc_onnx_set_ordered(im, node->outputs[0], z, x->type, x->rank, order);
    return !im->failed;
}

/* --- neighbours among the channels -------------------------------------------------------------------------------- */

/* x (bias + alpha / size * the sum of x^2 over `size` neighbouring channels)^-beta: the channels are the rows of an
 * image, whose pool counts zeros beyond the first and the last one. */
bool firnc_onnx_import_local_response(firnc_onnx_importer *im, const firnc_onnx_node *node) {
    firnc_onnx_value *x = node->inputs[0];
    const int64_t size = firnc_onnx_integer(node, "size", 0);
    int64_t inner = 1;
    if (x->rank < 3 || size < 1 || size > FIRN_PAIR_MAX)
        return firnc_onnx_fail(im, "takes images of 3 dimensions or more, and a size from 1 to %d; write those",
                               FIRN_PAIR_MAX);
    for (uint8_t i = 2; i < x->rank; i++)
        inner *= x->dims[i];
    firnc_value y = firnc_onnx_plain_real(im, x);
    y = firnc_onnx_reshape(im, y, 4, (int64_t[]){x->dims[0], x->dims[1], 1, inner});
    firnc_value sum = firnc_onnx_binary(im, FIRN_OP_multiply, y, y);
    if (im->failed)
        return false;
    const firnc_windows along = {.before = {(uint32_t)((size - 1) / 2), 0}, .after = {(uint32_t)(size / 2), 0}};
    sum = firnc_onnx_made(im, firnc_average_pool(im->graph, sum, (uint32_t[]){(uint32_t)size, 1}, along, true));
    sum = firnc_onnx_affine(im, sum, firnc_onnx_float(node, "alpha", 1e-4F), firnc_onnx_float(node, "bias", 1));
    sum = firnc_onnx_binary(im, FIRN_OP_power, sum, firnc_onnx_scalar(im, -firnc_onnx_float(node, "beta", 0.75F)));
    y = firnc_onnx_reshape(im, firnc_onnx_binary(im, FIRN_OP_multiply, y, sum), x->rank, x->dims);
    firnc_onnx_set(im, node->outputs[0], y, x->type, x->rank);
    return !im->failed;
}
