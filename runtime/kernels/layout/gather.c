/* Elements that ids name along a dimension, and the gradients of what they were taken from. Freestanding. */
#include "runtime/kernels/layout/layout.h"

/* --- gather ------------------------------------------------------------------------------------------------------- */

/* Positions in the dimensions before the axis, and elements behind it: those of y or dy are [outer,ids,inner]. */
static size_t gather_outer(const firn_kernel_call *call, const firn_tensor *y) {
    return firn_extents(y, 0, (size_t)call->integers[FIRN_GATHER_AXIS]);
}

static void gather_rows(void *argument, size_t begin, size_t end) {
    const firn_kernel_call *call = argument;
    const firn_tensor *x = &call->inputs[FIRN_GATHER_IN_X], *ids = &call->inputs[FIRN_GATHER_IN_IDS];
    const firn_tensor *y = &call->outputs[FIRN_GATHER_OUT_Y];
    const int32_t *names = ids->data;
    const size_t axis = (size_t)call->integers[FIRN_GATHER_AXIS], inner = firn_extents(x, axis + 1, x->rank);
    const uint32_t extent = x->dims[axis];
    for (size_t row = begin; row < end; row++) {
        const size_t outer = row / ids->elements, id = row % ids->elements;
        firn_copy_bits(y, row * inner, x, (outer * extent + firn_named(names[id], extent)) * inner, inner);
    }
}

/* y[outer,n] = x[outer,ids[n]] */
void firn_kernel_gather(const firn_kernel_call *call) {
    const firn_tensor *y = &call->outputs[FIRN_GATHER_OUT_Y];
    const size_t rows = gather_outer(call, y) * call->inputs[FIRN_GATHER_IN_IDS].elements;
    firn_split(call, rows, 2 * (y->elements / rows), gather_rows);
}

/* Adds the elements of a run of dy to those of dx, which is float32. */
static void add_run(float *sum, const firn_tensor *dy, size_t first, size_t count) {
    float x[FIRN_BLOCK];
    firn_widen(x, dy->data, dy->type, first, count);
    for (size_t i = 0; i < count; i++)
        sum[i] = firn_canonical(sum[i] + x[i]);
}

/* A task is a block of elements behind the axis, at one position before it. */
static void gather_backward_blocks(void *argument, size_t begin, size_t end) {
    const firn_kernel_call *call = argument;
    const firn_tensor *dy = &call->inputs[FIRN_GATHER_BACKWARD_IN_DY];
    const firn_tensor *ids = &call->inputs[FIRN_GATHER_BACKWARD_IN_IDS];
    const firn_tensor *dx = &call->outputs[FIRN_GATHER_BACKWARD_OUT_DX];
    const int32_t *names = ids->data;
    const size_t axis = (size_t)call->integers[FIRN_GATHER_BACKWARD_AXIS], inner = firn_extents(dx, axis + 1, dx->rank);
    const uint32_t extent = dx->dims[axis];
    for (size_t task = begin; task < end; task++) {
        const size_t outer = task / firn_blocks(inner), done = task % firn_blocks(inner) * FIRN_BLOCK;
        const size_t count = firn_smaller(FIRN_BLOCK, inner - done);
        float *sums = (float *)dx->data + (outer * extent * inner + done);
        for (size_t row = 0; row < extent; row++)
            firn_clear_bits(dx, (outer * extent + row) * inner + done, count);
        for (size_t id = 0; id < ids->elements; id++)
            add_run(sums + firn_named(names[id], extent) * inner, dy, (outer * ids->elements + id) * inner + done,
                    count);
    }
}

/* dx[outer,ids[n]] += dy[outer,n], n ascending. */
void firn_kernel_gather_backward(const firn_kernel_call *call) {
    const firn_tensor *dx = &call->outputs[FIRN_GATHER_BACKWARD_OUT_DX];
    const size_t axis = (size_t)call->integers[FIRN_GATHER_BACKWARD_AXIS];
    const size_t outer = firn_extents(dx, 0, axis), inner = firn_extents(dx, axis + 1, dx->rank);
    const size_t tasks = outer * firn_blocks(inner);
    firn_split(call, tasks, 2 * ((dx->elements + call->inputs[FIRN_GATHER_BACKWARD_IN_DY].elements) / tasks),
               gather_backward_blocks);
}

/* --- gather_elements ---------------------------------------------------------------------------------------------- */

static void gather_elements_positions(void *argument, size_t begin, size_t end) {
    const firn_kernel_call *call = argument;
    const firn_tensor *x = &call->inputs[FIRN_GATHER_ELEMENTS_IN_X];
    const firn_tensor *ids = &call->inputs[FIRN_GATHER_ELEMENTS_IN_IDS];
    const firn_tensor *y = &call->outputs[FIRN_GATHER_ELEMENTS_OUT_Y];
    const int32_t *names = ids->data;
    const size_t axis = (size_t)call->integers[FIRN_GATHER_ELEMENTS_AXIS], inner = firn_extents(x, axis + 1, x->rank);
    const size_t taken = ids->dims[axis] * inner;
    const uint32_t extent = x->dims[axis];
    for (size_t outer = begin; outer < end; outer++)
        for (size_t at = 0; at < taken; at++) {
            const size_t to = outer * taken + at;
            const size_t from = (outer * extent + firn_named(names[to], extent)) * inner + at % inner;
            firn_copy_bits(y, to, x, from, 1);
        }
}

/* y[outer,n,inner] = x[outer,ids[outer,n,inner],inner] */
void firn_kernel_gather_elements(const firn_kernel_call *call) {
    const firn_tensor *y = &call->outputs[FIRN_GATHER_ELEMENTS_OUT_Y];
    const size_t outer = firn_extents(y, 0, (size_t)call->integers[FIRN_GATHER_ELEMENTS_AXIS]);
    firn_split(call, outer, 4 * (y->elements / outer), gather_elements_positions);
}

static void gather_elements_backward_positions(void *argument, size_t begin, size_t end) {
    const firn_kernel_call *call = argument;
    const firn_tensor *dy = &call->inputs[FIRN_GATHER_ELEMENTS_BACKWARD_IN_DY];
    const firn_tensor *dx = &call->outputs[FIRN_GATHER_ELEMENTS_BACKWARD_OUT_DX];
    const int32_t *names = call->inputs[FIRN_GATHER_ELEMENTS_BACKWARD_IN_IDS].data;
    const size_t axis = (size_t)call->integers[FIRN_GATHER_ELEMENTS_BACKWARD_AXIS];
    const size_t inner = firn_extents(dx, axis + 1, dx->rank), taken = dy->dims[axis] * inner;
    const uint32_t extent = dx->dims[axis];
    for (size_t outer = begin; outer < end; outer++) {
        float *sums = (float *)dx->data + outer * extent * inner;
        firn_clear_bits(dx, outer * extent * inner, extent * inner);
        for (size_t at = 0; at < taken; at++) {
            const size_t from = outer * taken + at;
            add_run(&sums[firn_named(names[from], extent) * inner + at % inner], dy, from, 1);
        }
    }
}

/* dx[outer,ids[outer,n,inner],inner] += dy[outer,n,inner], n ascending. */
void firn_kernel_gather_elements_backward(const firn_kernel_call *call) {
    const firn_tensor *dx = &call->outputs[FIRN_GATHER_ELEMENTS_BACKWARD_OUT_DX];
    const size_t outer = firn_extents(dx, 0, (size_t)call->integers[FIRN_GATHER_ELEMENTS_BACKWARD_AXIS]);
    const firn_tensor *dy = &call->inputs[FIRN_GATHER_ELEMENTS_BACKWARD_IN_DY];
    firn_split(call, outer, 4 * ((dx->elements + dy->elements) / outer), gather_elements_backward_positions);
}
