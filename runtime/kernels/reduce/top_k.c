/* The places of the largest or smallest elements of each row. Freestanding. */
#include "runtime/kernels/blocks.h"

/* A row, and the places found in it so far: a heap whose root would be the last of them in the result. */
typedef struct row {
    const firn_tensor *x;
    size_t first; /* element of x */
    bool smallest;
    int32_t *places;
} row;

/* Whether the element at place a stands before that at b in the result: an order of all places, as no two are equal. */
static bool precedes(const row *r, int32_t a, int32_t b) {
    const float x = firn_load(r->x->data, r->x->type, r->first + (size_t)a);
    const float y = firn_load(r->x->data, r->x->type, r->first + (size_t)b);
    const bool x_is_nan = x != x, y_is_nan = y != y;
    if (x == y || (x_is_nan && y_is_nan))
        return a < b;
    if (x_is_nan || y_is_nan)
        return x_is_nan != r->smallest;
    return r->smallest ? x < y : x > y;
}

static void exchange(int32_t *places, size_t a, size_t b) {
    const int32_t place = places[a];
    places[a] = places[b];
    places[b] = place;
}

/* Restores the heap of `count` places below one that may stand before those under it. */
static void sift(const row *r, size_t at, size_t count) {
    for (size_t child = 2 * at + 1; child < count; child = 2 * at + 1) {
        if (child + 1 < count && precedes(r, r->places[child], r->places[child + 1]))
            child++;
        if (!precedes(r, r->places[at], r->places[child]))
            return;
        exchange(r->places, at, child);
        at = child;
    }
}

static void find_in_row(const row *r, size_t columns, size_t count) {
    for (size_t i = 0; i < count; i++)
        r->places[i] = (int32_t)i;
    for (size_t i = count / 2; i-- > 0;)
        sift(r, i, count);
    for (size_t i = count; i < columns; i++) {
        if (!precedes(r, (int32_t)i, r->places[0]))
            continue;
        r->places[0] = (int32_t)i;
        sift(r, 0, count);
    }
    for (size_t left = count; left-- > 1;) {
        exchange(r->places, 0, left);
        sift(r, 0, left);
    }
}

static void top_k_rows(void *argument, size_t begin, size_t end) {
    const firn_kernel_call *call = argument;
    const firn_tensor *x = &call->inputs[FIRN_TOP_K_IN_X];
    const size_t columns = x->dims[x->rank - 1], count = (size_t)call->integers[FIRN_TOP_K_COUNT];
    int32_t *places = call->outputs[FIRN_TOP_K_OUT_Y].data;
    for (size_t i = begin; i < end; i++) {
        const row r = {x, i * columns, call->integers[FIRN_TOP_K_SMALLEST] != 0, places + i * count};
        find_in_row(&r, columns, count);
    }
}

void firn_kernel_top_k(const firn_kernel_call *call) {
    const firn_tensor *x = &call->inputs[FIRN_TOP_K_IN_X];
    const size_t columns = x->dims[x->rank - 1];
    firn_split(call, x->elements / columns, 16 * (uint64_t)columns, top_k_rows);
}
