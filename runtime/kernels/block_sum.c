/* Sums over the elements of a tensor, whose terms the caller computes a block at a time: plan/NUMERICS.md,
 * "Other sums". Threads share whole sum blocks, of FIRN_SUM_BLOCK elements; their totals are added in order.
 * Freestanding. */
#include "runtime/kernels/blocks.h"

typedef struct summing {
    firn_term_maker terms;
    const void *settings;
    size_t elements;
    float *totals;
} summing;

/* runtime/targets/stack.awk recognises this function by its name and assumes that it calls any function whose name ends
 * in _terms. */
static void sum_blocks(void *argument, size_t begin, size_t end) {
    enum { BLOCKS_OF_SUM = FIRN_SUM_BLOCK / FIRN_BLOCK };
    const summing *s = argument;
    const size_t all = firn_blocks(s->elements);
    float terms[FIRN_BLOCK];
    for (size_t total = begin; total < end; total++) {
        const size_t first = total * BLOCKS_OF_SUM;
        firn_sum sum;
        firn_sum_begin(&sum);
        for (size_t block = first; block < firn_smaller(first + BLOCKS_OF_SUM, all); block++) {
            const size_t count = firn_block_elements(s->elements, block);
            s->terms(s->settings, block, terms, count);
            firn_sum_add_many(&sum, terms, count);
        }
        s->totals[total] = firn_sum_end(&sum);
    }
}

float firn_sum_terms(const firn_kernel_call *call, size_t elements, float *totals, firn_term_maker terms,
                     const void *settings) {
    summing s = {.terms = terms, .settings = settings, .elements = elements};
    s.totals = totals; /* assigned here because clang-tidy would ask for const in an initialiser */
    const size_t total_count = firn_ceiling(elements, FIRN_SUM_BLOCK);
    firn_parallel_run(&call->parallel, total_count, UINT64_C(4) * FIRN_SUM_BLOCK, sum_blocks, &s);
    float total = 0.0f;
    for (size_t i = 0; i < total_count; i++)
        total += totals[i];
    return firn_canonical(total);
}
