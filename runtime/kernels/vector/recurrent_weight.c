/* The gradient of a recurrent weight, by the linear layers of a kernel set; see recurrent_weight.h. */
#include "runtime/kernels/vector/recurrent_weight.h"

#include "runtime/kernels/blocks.h"
#include "runtime/kernels/recurrent/recurrent.h"

enum {
    LINE = 16,          /* floats of a cache line */
    ROWS_TOGETHER = 126 /* rows of a gradient that are computed at a time: whole tiles */
};

/* Some steps as the rows of a linear layer. */
typedef struct layer {
    const firn_weight_products *products;
    firn_kernel_call call;
    firn_tensor inputs[2], out;
    uint32_t dy[2], x[2], some[2];
    int64_t integers[3];
} layer;

static size_t element_bytes(uint8_t type) {
    return type == FIRN_FLOAT32 ? sizeof(float) : sizeof(uint16_t);
}

/* The rows of `steps` steps from a step on. A state of one step alone has two dimensions. */
static firn_tensor rows_of(const firn_tensor *sequence, size_t step, size_t steps, uint32_t dims[2]) {
    const uint32_t samples = sequence->dims[sequence->rank - 2], width = sequence->dims[sequence->rank - 1];
    dims[0] = (uint32_t)steps * samples;
    dims[1] = width;
    return (firn_tensor){.data = (uint8_t *)sequence->data + step * samples * width * element_bytes(sequence->type),
                         .elements = (size_t)dims[0] * width,
                         .dims = dims,
                         .type = sequence->type,
                         .rank = 2};
}

static void begin_layer(layer *l, const firn_weight_products *products, const firn_kernel_call *call) {
    l->products = products;
    l->call = *call;
    l->integers[FIRN_LINEAR_BACKWARD_WEIGHT_LAYOUT] = 0;
    l->call.inputs = l->inputs;
    l->call.input_count = 2;
    l->call.integers = l->integers;
}

/* All steps but the first. */
static void set_later(layer *l, const firn_weight_products *products, const firn_kernel_call *call) {
    const bool reverse = call->integers[FIRN_RECURRENT_BACKWARD_WEIGHT_REVERSE] != 0;
    const firn_tensor *y = &call->inputs[FIRN_RECURRENT_BACKWARD_WEIGHT_IN_Y];
    begin_layer(l, products, call);
    l->inputs[FIRN_LINEAR_BACKWARD_WEIGHT_IN_DY] =
        rows_of(&call->inputs[FIRN_RECURRENT_BACKWARD_WEIGHT_IN_DPRODUCTS], reverse ? 0 : 1, y->dims[0] - 1, l->dy);
    l->inputs[FIRN_LINEAR_BACKWARD_WEIGHT_IN_X] = rows_of(y, reverse ? 1 : 0, y->dims[0] - 1, l->x);
}

/* The first step, which reads h0. */
static void set_first(layer *l, const firn_weight_products *products, const firn_kernel_call *call) {
    const bool reverse = call->integers[FIRN_RECURRENT_BACKWARD_WEIGHT_REVERSE] != 0;
    const firn_tensor *dproducts = &call->inputs[FIRN_RECURRENT_BACKWARD_WEIGHT_IN_DPRODUCTS];
    begin_layer(l, products, call);
    l->inputs[FIRN_LINEAR_BACKWARD_WEIGHT_IN_DY] = rows_of(dproducts, reverse ? dproducts->dims[0] - 1 : 0, 1, l->dy);
    l->inputs[FIRN_LINEAR_BACKWARD_WEIGHT_IN_X] =
        rows_of(&call->inputs[FIRN_RECURRENT_BACKWARD_WEIGHT_IN_H0], 0, 1, l->x);
}

static bool has_h0(const firn_kernel_call *call) {
    return firn_call_input(call, FIRN_RECURRENT_BACKWARD_WEIGHT_IN_H0) != NULL;
}

static bool has_later(const firn_kernel_call *call) {
    return call->inputs[FIRN_RECURRENT_BACKWARD_WEIGHT_IN_Y].dims[0] > 1;
}

/* Whether the layer gives the sum of the later steps, to which that of the first can be added where it lies. */
static bool is_layer(const firn_kernel_call *call) {
    return has_later(call) && firn_call_input(call, FIRN_RECURRENT_BACKWARD_WEIGHT_IN_ACTIVATIONS) == NULL &&
           (!has_h0(call) || call->outputs[FIRN_RECURRENT_BACKWARD_WEIGHT_OUT_DWEIGHT].type == FIRN_FLOAT32);
}

/* Whether both sums are computed for some rows at a time, one beside the other: flushed sums, of which the portable
 * kernel would take longer for the first step than this one for all others. */
static bool is_in_rows(const firn_kernel_call *call) {
    return call->reductions[FIRN_RECURRENT_BACKWARD_WEIGHT_REDUCTION_PRODUCTS].kind != FIRN_REDUCTION_F32 &&
           firn_call_input(call, FIRN_RECURRENT_BACKWARD_WEIGHT_IN_ACTIVATIONS) == NULL && has_h0(call);
}

/* Makes the layer give some rows of the gradient in float32, where `out` is. */
static void set_rows(layer *l, size_t first, size_t rows, void *out) {
    l->some[0] = (uint32_t)rows;
    l->some[1] = l->x[1];
    l->out = (firn_tensor){.data = out, .elements = rows * l->x[1], .dims = l->some, .type = FIRN_FLOAT32, .rank = 2};
    l->call.outputs = &l->out;
    l->integers[FIRN_LINEAR_BACKWARD_WEIGHT_ROWS_FIRST] = (int64_t)first;
    l->integers[FIRN_LINEAR_BACKWARD_WEIGHT_ROWS_ROWS] = (int64_t)rows;
}

/* The largest scratch of a layer for `rows` rows, of which it takes some at a time; the last ones may be fewer. */
static uint64_t scratch_of_rows(layer *l, size_t rows) {
    uint64_t bytes[2] = {0};
    const size_t rest = rows % ROWS_TOGETHER;
    for (int i = 0; i < 2; i++) {
        const size_t some = i == 0 ? rest : rows - rest;
        if (some == 0)
            continue;
        set_rows(l, 0, firn_smaller(some, ROWS_TOGETHER), NULL);
        bytes[i] = l->products->scratch(FIRN_OP_linear_backward_weight_rows, &l->call);
    }
    return bytes[0] > bytes[1] ? bytes[0] : bytes[1];
}

/* Where the sums of some rows lie in the first slot: behind what the layers use of it. The slots of other threads have
 * that part, too, and do not use it. In bytes. */
static size_t sums_at(const firn_weight_products *products, const firn_kernel_call *call) {
    const size_t rows = call->outputs[FIRN_RECURRENT_BACKWARD_WEIGHT_OUT_DWEIGHT].dims[0];
    layer l;
    uint64_t bytes = 0;
    if (has_later(call)) {
        set_later(&l, products, call);
        bytes = scratch_of_rows(&l, rows);
    }
    set_first(&l, products, call);
    const uint64_t other = scratch_of_rows(&l, rows);
    return firn_round_up((size_t)(bytes > other ? bytes : other), LINE * sizeof(float));
}

static size_t sums_bytes(const firn_kernel_call *call) {
    const uint32_t *dims = call->outputs[FIRN_RECURRENT_BACKWARD_WEIGHT_OUT_DWEIGHT].dims;
    return firn_smaller(ROWS_TOGETHER, dims[0]) * dims[1] * sizeof(float);
}

static void multiply_rows(layer *l, size_t first, size_t rows, float *out) {
    set_rows(l, first, rows, out);
    l->products->backward_weight_rows(&l->call);
}

static void multiply_in_rows(const firn_weight_products *products, const firn_kernel_call *call) {
    const firn_tensor *out = &call->outputs[FIRN_RECURRENT_BACKWARD_WEIGHT_OUT_DWEIGHT];
    const size_t all = out->dims[0], units = out->dims[1];
    float *first_sums = (float *)(void *)((uint8_t *)call->workspace + sums_at(products, call));
    float *sums = first_sums + sums_bytes(call) / sizeof *sums;
    layer later = {.call = *call}, first;
    set_first(&first, products, call);
    if (has_later(call))
        set_later(&later, products, call);
    for (size_t row = 0; row < all; row += ROWS_TOGETHER) {
        const size_t rows = firn_smaller(ROWS_TOGETHER, all - row);
        multiply_rows(&first, row, rows, first_sums);
        if (has_later(call))
            multiply_rows(&later, row, rows, sums);
        for (size_t i = 0; i < rows * units && has_later(call); i++)
            first_sums[i] = sums[i] + first_sums[i];
        firn_narrow(out->data, out->type, row * units, first_sums, rows * units);
    }
}

uint64_t firn_recurrent_weight_scratch(const firn_weight_products *products, const firn_kernel_call *call) {
    layer l;
    if (is_in_rows(call))
        return sums_at(products, call) + 2 * sums_bytes(call);
    if (!is_layer(call))
        return 0;
    set_later(&l, products, call);
    return products->scratch(FIRN_OP_linear_backward_weight, &l.call);
}

void firn_recurrent_weight(const firn_weight_products *products, const firn_kernel_call *call) {
    layer l;
    if (is_in_rows(call)) {
        multiply_in_rows(products, call);
    } else if (is_layer(call)) {
        set_later(&l, products, call);
        products->backward_weight(&l.call);
        firn_recurrent_weight_add_first(call);
    } else {
        firn_kernel_recurrent_backward_weight(call);
    }
}
