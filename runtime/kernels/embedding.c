/* Tables looked up by id or by position, and their gradients. Freestanding. */
#include "runtime/kernels/blocks.h"

static void clear(float *x, size_t count) {
    for (size_t i = 0; i < count; i++)
        x[i] = 0.0f;
}

/* --- embedding ---------------------------------------------------------------------------------------------------- */

static void embedding_rows(void *argument, size_t begin, size_t end) {
    const firn_kernel_call *call = argument;
    const int32_t *ids = call->inputs[FIRN_EMBEDDING_IN_IDS].data;
    const firn_tensor *table = &call->inputs[FIRN_EMBEDDING_IN_TABLE], *y = &call->outputs[FIRN_EMBEDDING_OUT_Y];
    const size_t width = firn_last_extent(table);
    for (size_t row = begin; row < end; row++)
        firn_copy(y, row * width, table, (size_t)ids[row] * width, width);
}

/* y[n] = table[ids[n]] */
void firn_kernel_embedding(const firn_kernel_call *call) {
    const firn_tensor *ids = &call->inputs[FIRN_EMBEDDING_IN_IDS], *table = &call->inputs[FIRN_EMBEDDING_IN_TABLE];
    firn_split(call, ids->elements, 2 * firn_last_extent(table), embedding_rows);
}

/* dtable[ids[n]] += dy[n], n ascending. Rows may repeat, so positions are never divided among threads. */
void firn_kernel_embedding_backward(const firn_kernel_call *call) {
    const firn_tensor *dy = &call->inputs[FIRN_EMBEDDING_BACKWARD_IN_DY];
    const firn_tensor *start = firn_call_input(call, FIRN_EMBEDDING_BACKWARD_IN_START);
    const firn_tensor *dtable = &call->outputs[FIRN_EMBEDDING_BACKWARD_OUT_DTABLE];
    const int32_t *ids = call->inputs[FIRN_EMBEDDING_BACKWARD_IN_IDS].data;
    const size_t width = firn_last_extent(dtable);
    float *sums = dtable->data;
    float x[FIRN_BLOCK];
    if (start == NULL)
        clear(sums, dtable->elements);
    else if (start->data != dtable->data)
        firn_copy(dtable, 0, start, 0, dtable->elements);
    for (size_t row = 0; row < firn_rows(dy); row++) {
        float *sum = &sums[(size_t)ids[row] * width];
        for (size_t at = 0; at < width; at += FIRN_BLOCK) {
            size_t count = firn_smaller(FIRN_BLOCK, width - at);
            firn_widen(x, dy->data, dy->type, row * width + at, count);
            for (size_t i = 0; i < count; i++)
                sum[at + i] = firn_canonical(sum[at + i] + x[i]);
        }
    }
}

/* --- leading rows ------------------------------------------------------------------------------------------------- */

void firn_kernel_leading_rows(const firn_kernel_call *call) {
    const firn_tensor *table = &call->inputs[FIRN_LEADING_ROWS_IN_TABLE], *y = &call->outputs[FIRN_LEADING_ROWS_OUT_Y];
    const size_t first = firn_position(firn_call_input(call, FIRN_LEADING_ROWS_IN_LENGTH)), width = firn_last_extent(y);
    if (first == 0) {
        firn_copy(y, 0, table, 0, y->elements);
        return;
    }
    for (size_t row = 0; row < y->dims[0]; row++)
        firn_copy(y, row * width, table, firn_smaller(first + row, (size_t)table->dims[0] - 1) * width, width);
}

void firn_kernel_leading_rows_backward(const firn_kernel_call *call) {
    const firn_tensor *dy = &call->inputs[FIRN_LEADING_ROWS_BACKWARD_IN_DY];
    const firn_tensor *dtable = &call->outputs[FIRN_LEADING_ROWS_BACKWARD_OUT_DTABLE];
    float *rest = dtable->data;
    firn_copy(dtable, 0, dy, 0, dy->elements);
    clear(rest + dy->elements, dtable->elements - dy->elements);
}
