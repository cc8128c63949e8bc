/* The sum over the dimensions along which a tensor was repeated: the gradient of a repeated operand. Freestanding. */
#include "plan/ops.h"
#include "runtime/kernels/blocks.h"

/* The extents of x, the last dimension first; neighbours that are both kept, or both summed, are one dimension, so kept
 * and summed ones take turns. */
typedef struct sums {
    const firn_kernel_call *call;
    uint32_t rank;
    bool sums_first; /* dimension 0, the last of x, is summed */
    size_t extents[FIRN_RANK_MAX];
    size_t terms; /* of a sum */
} sums;

static bool is_summed(const sums *s, uint32_t dimension) {
    return (dimension % 2 == 0) == s->sums_first;
}

static void append(sums *s, size_t extent, bool summed) {
    if (s->rank == 0)
        s->sums_first = summed;
    if (s->rank > 0 && is_summed(s, s->rank - 1) == summed)
        s->extents[s->rank - 1] *= extent;
    else
        s->extents[s->rank++] = extent;
}

static void describe(sums *s) {
    const firn_tensor *x = &s->call->inputs[FIRN_SUM_TO_IN_X], *y = &s->call->outputs[FIRN_SUM_TO_OUT_Y];
    for (uint32_t i = 1; i <= x->rank; i++) {
        const uint32_t extent = x->dims[x->rank - i], kept = i <= y->rank ? y->dims[y->rank - i] : 1;
        if (extent > 1)
            append(s, extent, kept == 1);
    }
    if (s->rank == 0)
        append(s, 1, false);
    s->terms = x->elements / y->elements;
}

/* The place in x that a number has, counted along the kept or along the summed dimensions, from dimension `first` on.
 */
static size_t place_of(const sums *s, uint32_t first, bool summed, size_t number) {
    size_t place = 0, step = 1;
    for (uint32_t d = 0; d < s->rank; d++) {
        if (d >= first && is_summed(s, d) == summed) {
            place += number % s->extents[d] * step;
            number /= s->extents[d];
        }
        step *= s->extents[d];
    }
    return place;
}

/* Adds the terms that lie one behind the other to one sum. */
static float add_run(float sum, const firn_tensor *x, size_t from, size_t count) {
    float terms[FIRN_BLOCK];
    while (count > 0) {
        const size_t run = firn_smaller(FIRN_BLOCK, count);
        firn_widen_rows(terms, 0, x->data, x->type, from, 0, 1, run);
        for (size_t i = 0; i < run; i++)
            sum += terms[i];
        from += run;
        count -= run;
    }
    return sum;
}

/* Adds one term to each of `count` neighbouring sums. */
static void add_row(float *totals, const firn_tensor *x, size_t from, size_t count) {
    float terms[FIRN_BLOCK];
    firn_widen_rows(terms, 0, x->data, x->type, from, 0, 1, count);
    for (size_t i = 0; i < count; i++)
        totals[i] += terms[i];
}

/* Sums for neighbouring elements of y, from number `at` on; returns how many. */
static size_t sum_neighbours(const sums *s, float *totals, size_t at, size_t count) {
    const firn_tensor *x = &s->call->inputs[FIRN_SUM_TO_IN_X];
    const size_t from = place_of(s, 0, false, at), last = s->extents[0];
    if (s->sums_first) {
        for (size_t term = 0; term < s->terms; term += last)
            totals[0] = add_run(totals[0], x, from + place_of(s, 1, true, term / last), last);
        return 1;
    }
    count = firn_smaller(count, last - at % last);
    for (size_t term = 0; term < s->terms; term++)
        add_row(totals, x, from + place_of(s, 1, true, term), count);
    return count;
}

static void sum_to_blocks(void *argument, size_t begin, size_t end) {
    const sums *s = argument;
    const firn_tensor *y = &s->call->outputs[FIRN_SUM_TO_OUT_Y];
    float totals[FIRN_BLOCK];
    for (size_t block = begin; block < end; block++) {
        const size_t count = firn_block_elements(y->elements, block);
        for (size_t i = 0; i < count; i++)
            totals[i] = 0.0f;
        for (size_t i = 0; i < count;)
            i += sum_neighbours(s, totals + i, block * FIRN_BLOCK + i, count - i);
        firn_block_narrow(y, block, totals, count);
    }
}

void firn_kernel_sum_to(const firn_kernel_call *call) {
    sums s = {.call = call};
    describe(&s);
    firn_parallel_run(&call->parallel, firn_blocks(call->outputs[FIRN_SUM_TO_OUT_Y].elements),
                      2 * (uint64_t)s.terms * FIRN_BLOCK, sum_to_blocks, &s);
}
