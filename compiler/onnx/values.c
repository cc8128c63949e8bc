/* The values of a model while it is read, and how they come into the graph. The axes of a value may stand in another
 * order there, such as channels last: an op takes it in an order of its choice, and a transpose is recorded only if the
 * value does not stand in that order, once for each value. */
#include <math.h>
#include <string.h>

#include "compiler/onnx/import.h"
#include "runtime/numerics/numerics.h"

/* --- orders of axes ----------------------------------------------------------------------------------------------- */

void firnc_onnx_identity(uint8_t *order) {
    for (uint8_t i = 0; i < FIRN_RANK_MAX; i++)
        order[i] = i;
}

bool firnc_onnx_is_identity(const uint8_t *order, uint8_t rank) {
    uint8_t identity[FIRN_RANK_MAX];
    firnc_onnx_identity(identity);
    return memcmp(order, identity, rank) == 0;
}

void firnc_onnx_axis_last(uint8_t rank, uint8_t axis, uint8_t *order) {
    uint8_t to = 0;
    firnc_onnx_identity(order);
    for (uint8_t i = 0; i < rank; i++)
        if (i != axis)
            order[to++] = i;
    order[rank - 1] = axis;
}

void firnc_onnx_channels_last(uint8_t rank, uint8_t *order) {
    firnc_onnx_axis_last(rank, rank > 1 ? 1 : 0, order);
}

uint8_t firnc_onnx_place(const uint8_t *order, uint8_t rank, uint8_t axis) {
    uint8_t place = 0;
    while (place + 1 < rank && order[place] != axis)
        place++;
    return place;
}

uint8_t firnc_onnx_axes_without(const firnc_onnx_value *value, uint32_t dropped, uint8_t *order, int64_t *dims) {
    uint8_t at = 0;
    for (uint8_t i = 0; i < value->rank; i++) {
        const uint8_t axis = value->order[i];
        if ((dropped >> axis & 1) != 0)
            continue;
        dims[at] = value->dims[axis];
        order[at] = axis;
        for (uint8_t before = 0; before < axis; before++)
            order[at] = (uint8_t)(order[at] - (dropped >> before & 1));
        at++;
    }
    return at;
}

/* --- values ------------------------------------------------------------------------------------------------------- */

firnc_onnx_value *firnc_onnx_value_new(const char *name) {
    firnc_onnx_value *value = firnc_allocate(sizeof *value);
    value->name = name;
    value->value = value->plain = value->input = FIRNC_NONE;
    firnc_onnx_identity(value->order);
    return value;
}

uint64_t firnc_onnx_count(const firnc_onnx_value *value) {
    uint64_t count = 1;
    for (uint8_t i = 0; i < value->rank; i++)
        count *= (uint64_t)value->dims[i];
    return count;
}

void firnc_onnx_set_known(firnc_onnx_value *to, const firnc_onnx_tensor *tensor) {
    if (to == NULL || tensor == NULL)
        return;
    to->known = tensor;
    to->type = tensor->type;
    to->rank = tensor->rank;
    memcpy(to->dims, tensor->dims, sizeof to->dims);
}

void firnc_onnx_set_ordered(firnc_onnx_importer *im, firnc_onnx_value *to, firnc_value value, uint8_t type,
                            uint8_t rank, const uint8_t *order) {
    if (to == NULL || im->failed || value == FIRNC_NONE)
        return;
    const firn_shape *shape = firnc_onnx_shape(im, value);
    if (shape->rank != (rank == 0 ? 1 : rank)) {
        firnc_onnx_fail(im, "has operands that give it %u dimensions, and it has %u; export the model again",
                        (unsigned)shape->rank, (unsigned)rank);
        return;
    }
    to->value = value;
    to->type = type;
    to->rank = rank;
    firnc_onnx_identity(to->order);
    if (order != NULL)
        memcpy(to->order, order, rank);
    for (uint8_t i = 0; i < rank; i++)
        to->dims[to->order[i]] = shape->dims[i];
}

void firnc_onnx_set(firnc_onnx_importer *im, firnc_onnx_value *to, firnc_value value, uint8_t type, uint8_t rank) {
    firnc_onnx_set_ordered(im, to, value, type, rank, NULL);
}

bool firnc_onnx_set_like(firnc_onnx_importer *im, firnc_onnx_value *to, firnc_value value,
                         const firnc_onnx_value *like) {
    firnc_onnx_set_ordered(im, to, value, like->type, like->rank, like->order);
    return !im->failed;
}

void firnc_onnx_alias(firnc_onnx_value *to, const firnc_onnx_value *from) {
    if (to == NULL)
        return;
    const char *name = to->name;
    *to = *from;
    to->name = name;
}

bool firnc_onnx_is_constant(const firnc_onnx_value *value) {
    return value != NULL && value->known != NULL && value->parameter == NULL;
}

bool firnc_onnx_single(const firnc_onnx_value *value, double *number) {
    if (value == NULL || value->known == NULL || value->known->count != 1)
        return false;
    *number = firnc_onnx_number(value->known, 0);
    return true;
}

uint64_t firnc_onnx_sum_of(const firnc_onnx_tensor *tensor) {
    uint64_t sum = 0;
    for (uint64_t i = 0; i < tensor->count; i++) {
        const uint64_t mixed = (firn_bits(tensor->reals[i]) + UINT64_C(1)) * UINT64_C(0x9E3779B97F4A7C15);
        sum += mixed ^ mixed >> 29;
    }
    return sum;
}

void firnc_onnx_parameter_new(firnc_onnx_importer *im, firnc_onnx_value *value, const char *name) {
    value->parameter = firnc_allocate(sizeof *value->parameter);
    *value->parameter = (firnc_onnx_parameter){
        .name = name, .tensor = value->known, .sum = firnc_onnx_sum_of(value->known), .value = FIRNC_NONE};
    im->parameters = firnc_grown(im->parameters, im->parameter_count, &im->parameter_capacity, sizeof *im->parameters);
    im->parameters[im->parameter_count++] = value->parameter;
}

/* Whether all elements are equal: such parameters, the ones and zeros of new norms and biases, become one tensor in the
 * file though they are several in the model; others become one only if they are one. */
bool firnc_onnx_is_uniform(const firnc_onnx_tensor *tensor) {
    for (uint64_t i = 1; i < tensor->count; i++)
        if (firn_bits(tensor->reals[i]) != firn_bits(tensor->reals[0]))
            return false;
    return true;
}

/* --- into the graph ----------------------------------------------------------------------------------------------- */

firnc_value firnc_onnx_constant(firnc_onnx_importer *im, const firnc_onnx_tensor *tensor, firn_type type) {
    uint32_t dims[FIRN_RANK_MAX] = {1};
    if (tensor == NULL || im->failed)
        return FIRNC_NONE;
    if (tensor->count == 0) {
        firnc_onnx_fail(
            im, "reads a tensor without elements, which only Concat can drop; a plan has none, so leave it out");
        return FIRNC_NONE;
    }
    if (!firnc_onnx_take_room(im, tensor->count))
        return FIRNC_NONE;
    for (uint8_t i = 0; i < tensor->rank; i++)
        dims[i] = (uint32_t)tensor->dims[i];
    void *elements = firnc_allocate(tensor->count * 4);
    for (uint64_t i = 0; i < tensor->count; i++) {
        const double number = firnc_onnx_number(tensor, i);
        if (type == FIRN_INT32)
            ((int32_t *)elements)[i] = !(number > INT32_MIN) ? INT32_MIN
                                       : number > INT32_MAX  ? INT32_MAX
                                                             : (int32_t)number;
        else
            ((float *)elements)[i] = (float)number;
    }
    const char *name = firnc_format("constant.%u", (unsigned)im->constants++);
    return firnc_constant(im->graph, name, type, tensor->rank == 0 ? 1 : tensor->rank, dims, elements);
}

firnc_value firnc_onnx_scalar(firnc_onnx_importer *im, float number) {
    return firnc_onnx_constant(im, firnc_onnx_tensor_scalar(im, FIRNC_ONNX_FLOAT, (double)number), FIRN_FLOAT32);
}

/* Weight decay is usual for matrices and kernels, and not for biases and norms. */
static bool decays(const firnc_onnx_tensor *tensor) {
    uint8_t wide = 0;
    for (uint8_t i = 0; i < tensor->rank; i++)
        wide = (uint8_t)(wide + (tensor->dims[i] > 1));
    return tensor->rank > 1 && wide > 1;
}

firnc_value firnc_onnx_parameter_value(firnc_onnx_importer *im, firnc_onnx_parameter *parameter, const uint8_t *order) {
    if (im->failed || parameter->value != FIRNC_NONE)
        return im->failed ? FIRNC_NONE : parameter->value;
    const firnc_onnx_tensor *tensor = parameter->tensor;
    uint32_t dims[FIRN_RANK_MAX] = {1};
    firnc_onnx_identity(parameter->order);
    if (order != NULL)
        memcpy(parameter->order, order, tensor->rank);
    const firnc_onnx_tensor *laid = firnc_onnx_tensor_ordered(tensor, parameter->order);
    if (!firnc_is_name(parameter->name)) {
        firnc_onnx_fail(im, "tensor \"%s\" has a name that is not of 1 to %d printable ASCII characters; rename it",
                        parameter->name, FIRNC_NAME_MAX);
        return FIRNC_NONE;
    }
    for (uint8_t i = 0; i < laid->rank; i++)
        dims[i] = (uint32_t)laid->dims[i];
    parameter->value = firnc_parameter(im->graph, parameter->name, laid->rank == 0 ? 1 : laid->rank, dims,
                                       (firnc_init){.rule = FIRNC_INIT_CONSTANT}, decays(tensor));
    im->graph->values[parameter->value].initial = laid->reals;
    return parameter->value;
}

/* Brings a parameter into the graph, in this order of its own axes if it is not there yet. */
static void take_parameter(firnc_onnx_importer *im, firnc_onnx_value *value, const uint8_t *wanted) {
    firnc_onnx_parameter *parameter = value->parameter;
    uint8_t order[FIRN_RANK_MAX], stands[FIRN_RANK_MAX] = {0};
    firnc_onnx_identity(order);
    for (uint8_t i = 0; wanted != NULL && i < value->rank; i++)
        order[i] = firnc_onnx_place(value->order, value->rank, wanted[i]);
    value->value = firnc_onnx_parameter_value(im, parameter, order);
    for (uint8_t i = 0; i < value->rank; i++)
        stands[i] = value->order[parameter->order[i]];
    memcpy(value->order, stands, value->rank);
}

firnc_value firnc_onnx_raw(firnc_onnx_importer *im, firnc_onnx_value *value) {
    if (value == NULL || im->failed)
        return FIRNC_NONE;
    if (value->value != FIRNC_NONE)
        return value->value;
    if (value->parameter != NULL)
        take_parameter(im, value, NULL);
    else
        value->value = firnc_onnx_constant(im, value->known, FIRN_FLOAT32);
    return value->value;
}

/* A known tensor in another order, as a constant. */
static firnc_value ordered_constant(firnc_onnx_importer *im, const firnc_onnx_value *value, uint8_t rank,
                                    const uint8_t *order) {
    firnc_onnx_tensor wide = *value->known;
    const uint8_t front = (uint8_t)(rank - value->rank);
    wide.rank = rank;
    for (uint8_t i = 0; i < rank; i++)
        wide.dims[i] = i < front ? 1 : value->dims[i - front];
    return firnc_onnx_constant(im, firnc_onnx_tensor_ordered(&wide, order), FIRN_FLOAT32);
}

firnc_value firnc_onnx_ordered(firnc_onnx_importer *im, firnc_onnx_value *value, uint8_t rank, const uint8_t *order) {
    uint8_t stands[FIRN_RANK_MAX], permutation[FIRN_RANK_MAX];
    int64_t dims[FIRN_RANK_MAX];
    if (value == NULL || im->failed)
        return FIRNC_NONE;
    if (rank < value->rank) {
        firnc_onnx_fail(im, "has an operand of too many dimensions; reshape it to fewer");
        return FIRNC_NONE;
    }
    if (value->value == FIRNC_NONE && value->parameter != NULL && rank == value->rank)
        take_parameter(im, value, order);
    if (value->value == FIRNC_NONE && value->parameter == NULL && value->known != NULL)
        return ordered_constant(im, value, rank, order);
    firnc_value x = firnc_onnx_raw(im, value);
    if (x == FIRNC_NONE)
        return FIRNC_NONE;
    const uint8_t front = (uint8_t)(rank - value->rank);
    const bool plain = front == 0 && firnc_onnx_is_identity(order, rank);
    if (plain && value->plain != FIRNC_NONE)
        return value->plain;
    for (uint8_t i = 0; i < rank; i++) {
        stands[i] = i < front ? i : (uint8_t)(value->order[i - front] + front);
        dims[i] = i < front ? 1 : value->dims[stands[i] - front];
    }
    for (uint8_t i = 0; i < rank; i++)
        permutation[i] = firnc_onnx_place(stands, rank, order[i]);
    if (rank > 0 && front > 0)
        x = firnc_onnx_reshape(im, x, rank, dims);
    x = rank == 0 ? x : firnc_onnx_transpose(im, x, permutation);
    if (plain)
        value->plain = x;
    return x;
}

firnc_value firnc_onnx_plain(firnc_onnx_importer *im, firnc_onnx_value *value) {
    uint8_t identity[FIRN_RANK_MAX];
    if (value == NULL)
        return FIRNC_NONE;
    firnc_onnx_identity(identity);
    return firnc_onnx_ordered(im, value, value->rank, identity);
}

firnc_value firnc_onnx_raw_real(firnc_onnx_importer *im, firnc_onnx_value *value) {
    return value == NULL ? FIRNC_NONE : firnc_onnx_real(im, firnc_onnx_raw(im, value));
}

firnc_value firnc_onnx_plain_real(firnc_onnx_importer *im, firnc_onnx_value *value) {
    return value == NULL ? FIRNC_NONE : firnc_onnx_real(im, firnc_onnx_plain(im, value));
}

firnc_value firnc_onnx_indices(firnc_onnx_importer *im, firnc_onnx_value *value) {
    if (value == NULL || im->failed)
        return FIRNC_NONE;
    if (firnc_onnx_is_constant(value))
        return firnc_onnx_constant(im, value->known, FIRN_INT32);
    return firnc_onnx_whole(im, firnc_onnx_plain(im, value));
}
