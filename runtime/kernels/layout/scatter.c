/* Elements or slices that rows of ids name, replaced or added to, and the gradients. Freestanding. */
#include "runtime/kernels/layout/layout.h"

/* What the rows of ids:[...,K] name in a tensor: slices of `width` elements. */
typedef struct names {
    const firn_tensor *tensor;
    const int32_t *ids;
    size_t rows, parts, width; /* parts: K */
} names;

static names names_in(const firn_tensor *tensor, const firn_tensor *ids) {
    const size_t parts = firn_last_extent(ids);
    return (names){.tensor = tensor,
                   .ids = ids->data,
                   .rows = ids->elements / parts,
                   .parts = parts,
                   .width = firn_extents(tensor, parts, tensor->rank)};
}

/* Where the slice that a row names begins. */
static size_t place_of(const names *n, size_t row) {
    size_t place = 0;
    for (size_t d = 0; d < n->parts; d++)
        place = place * n->tensor->dims[d] + firn_named(n->ids[row * n->parts + d], n->tensor->dims[d]);
    return place * n->width;
}

/* Copies input 0 to output 0, unless they are the same bytes. */
static void begin_with(const firn_kernel_call *call) {
    if (call->inputs[0].data != call->outputs[0].data)
        firn_move(call, &call->inputs[0], firn_walk_over(&call->inputs[0]));
}

/* Runs body over blocks of the slices. Rows may name the same slice, so they are never divided among threads. */
static void split_slices(const firn_kernel_call *call, const names *n, firn_task_body body) {
    firn_split(call, firn_blocks(n->width), 4 * (n->rows * firn_smaller(FIRN_BLOCK, n->width)), body);
}

static void add_run(const firn_tensor *y, size_t to, const firn_tensor *updates, size_t from, size_t count) {
    float sum[FIRN_BLOCK], x[FIRN_BLOCK];
    firn_widen(sum, y->data, y->type, to, count);
    firn_widen(x, updates->data, updates->type, from, count);
    for (size_t i = 0; i < count; i++)
        sum[i] += x[i];
    firn_narrow(y->data, y->type, to, sum, count);
}

static void scatter_blocks(void *argument, size_t begin, size_t end) {
    const firn_kernel_call *call = argument;
    const firn_tensor *y = &call->outputs[FIRN_SCATTER_ND_OUT_Y];
    const firn_tensor *updates = &call->inputs[FIRN_SCATTER_ND_IN_UPDATES];
    const names n = names_in(y, &call->inputs[FIRN_SCATTER_ND_IN_IDS]);
    for (size_t block = begin; block < end; block++)
        for (size_t row = 0; row < n.rows; row++) {
            const size_t at = block * FIRN_BLOCK, count = firn_smaller(FIRN_BLOCK, n.width - at);
            if (call->integers[FIRN_SCATTER_ND_ADD] == 1)
                add_run(y, place_of(&n, row) + at, updates, row * n.width + at, count);
            else
                firn_copy_bits(y, place_of(&n, row) + at, updates, row * n.width + at, count);
        }
}

/* y = data; y[ids[n]] = updates[n], or += updates[n], n ascending. */
void firn_kernel_scatter_nd(const firn_kernel_call *call) {
    const names n = names_in(&call->outputs[FIRN_SCATTER_ND_OUT_Y], &call->inputs[FIRN_SCATTER_ND_IN_IDS]);
    begin_with(call);
    split_slices(call, &n, scatter_blocks);
}

static void take_blocks(void *argument, size_t begin, size_t end) {
    const firn_kernel_call *call = argument;
    const firn_tensor *ddata = &call->outputs[FIRN_SCATTER_ND_BACKWARD_OUT_DDATA];
    const firn_tensor *dupdates = &call->outputs[FIRN_SCATTER_ND_BACKWARD_OUT_DUPDATES];
    const names n = names_in(ddata, &call->inputs[FIRN_SCATTER_ND_BACKWARD_IN_IDS]);
    for (size_t block = begin; block < end; block++)
        for (size_t row = n.rows; row-- > 0;) {
            const size_t at = block * FIRN_BLOCK, count = firn_smaller(FIRN_BLOCK, n.width - at);
            const size_t place = place_of(&n, row) + at;
            firn_copy_bits(dupdates, row * n.width + at, ddata, place, count);
            firn_clear_bits(ddata, place, count);
        }
}

/* ddata = dy; n descending: dupdates[n] = ddata[ids[n]], ddata[ids[n]] = 0. So the last of the rows that name the same
 * has its gradient, as its update is what stayed. */
void firn_kernel_scatter_nd_backward(const firn_kernel_call *call) {
    const names n =
        names_in(&call->outputs[FIRN_SCATTER_ND_BACKWARD_OUT_DDATA], &call->inputs[FIRN_SCATTER_ND_BACKWARD_IN_IDS]);
    begin_with(call);
    split_slices(call, &n, take_blocks);
}

static void named_rows(void *argument, size_t begin, size_t end) {
    const firn_kernel_call *call = argument;
    const firn_tensor *dy = &call->inputs[FIRN_SCATTER_ND_BACKWARD_UPDATES_IN_DY];
    const firn_tensor *dupdates = &call->outputs[FIRN_SCATTER_ND_BACKWARD_UPDATES_OUT_DUPDATES];
    const names n = names_in(dy, &call->inputs[FIRN_SCATTER_ND_BACKWARD_UPDATES_IN_IDS]);
    for (size_t row = begin; row < end; row++)
        firn_copy_bits(dupdates, row * n.width, dy, place_of(&n, row), n.width);
}

/* dupdates[n] = dy[ids[n]] */
void firn_kernel_scatter_nd_backward_updates(const firn_kernel_call *call) {
    const names n = names_in(&call->inputs[FIRN_SCATTER_ND_BACKWARD_UPDATES_IN_DY],
                             &call->inputs[FIRN_SCATTER_ND_BACKWARD_UPDATES_IN_IDS]);
    firn_split(call, n.rows, 2 * n.width, named_rows);
}
