/* The largest magnitude of a tensor, and powers of two (magnitude.h). Freestanding. */
#include "runtime/kernels/optimizers/magnitude.h"

/* --- powers of two ------------------------------------------------------------------------------------------------ */

enum { EXPONENT_BIAS = 127, MANTISSA_BITS = 23, POWER_LEAST = -149, POWER_MOST = 127 };

float firn_power(int32_t n) {
    return firn_from_bits(n >= FIRN_EXPONENT_LEAST ? (uint32_t)(n + EXPONENT_BIAS) << MANTISSA_BITS
                                                   : 1u << (n - POWER_LEAST));
}

/* Where n takes several factors, every product but the last is exact, or the result is 0 or infinite. */
float firn_times_power(float x, int32_t n) {
    for (; n > POWER_MOST; n -= POWER_MOST)
        x *= firn_power(POWER_MOST);
    if (n >= POWER_LEAST)
        return x * firn_power(n);
    n = n < 2 * POWER_LEAST ? POWER_LEAST : n - POWER_LEAST;
    return x * firn_power(n) * firn_power(POWER_LEAST);
}

float firn_mantissa(float x, int32_t *exponent) {
    const uint32_t magnitude = firn_bits(x) & 0x7fffffffu;
    *exponent = 0;
    if (magnitude == 0 || magnitude >= FIRN_INFINITY_BITS)
        return x;
    const bool subnormal = magnitude < 1u << MANTISSA_BITS;
    const uint32_t bits = firn_bits(subnormal ? x * firn_power(MANTISSA_BITS) : x);
    *exponent = (int32_t)(bits >> MANTISSA_BITS & 255) - EXPONENT_BIAS - (subnormal ? MANTISSA_BITS : 0);
    return firn_from_bits((bits & 0x807fffffu) | (uint32_t)EXPONENT_BIAS << MANTISSA_BITS);
}

int32_t firn_unit_exponent(float magnitude) {
    int32_t exponent;
    if (!(magnitude < firn_from_bits(FIRN_INFINITY_BITS)))
        return FIRN_EXPONENT_MOST;
    if (firn_mantissa(magnitude, &exponent) > 1.0f)
        exponent++;
    return magnitude == 0.0f || exponent < FIRN_EXPONENT_LEAST ? FIRN_EXPONENT_LEAST : exponent;
}

/* --- the largest magnitude ---------------------------------------------------------------------------------------- */

uint32_t firn_larger_magnitude(uint32_t most, const float *x, size_t count) {
    for (size_t i = 0; i < count; i++) {
        const uint32_t magnitude = firn_bits(x[i]) & 0x7fffffffu;
        most = magnitude > most ? magnitude : most;
    }
    return most;
}

float firn_float_of_magnitude(uint32_t magnitude) {
    return firn_canonical(firn_from_bits(magnitude));
}

typedef struct search {
    const firn_tensor *x;
    float *largest; /* of each block of FIRN_SUM_BLOCK elements */
} search;

static void search_blocks(void *argument, size_t begin, size_t end) {
    const search *s = argument;
    float x[FIRN_BLOCK];
    for (size_t task = begin; task < end; task++) {
        const size_t first = task * FIRN_SUM_BLOCK;
        const size_t last = first + firn_smaller(FIRN_SUM_BLOCK, s->x->elements - first);
        uint32_t most = 0;
        if (!firn_has_half_part(s->x->type)) {
            most = firn_larger_magnitude(0, (const float *)s->x->data + first, last - first);
        } else {
            for (size_t at = first; at < last; at += FIRN_BLOCK) {
                const size_t count = firn_smaller(FIRN_BLOCK, last - at);
                firn_widen_rows(x, 0, s->x->data, s->x->type, at, 0, 1, count);
                most = firn_larger_magnitude(most, x, count);
            }
        }
        s->largest[task] = firn_float_of_magnitude(most);
    }
}

float firn_largest_magnitude(const firn_kernel_call *call, const firn_tensor *x, float *scratch) {
    search s = {.x = x};
    s.largest = scratch; /* assigned here because clang-tidy would ask for const in an initialiser */
    const size_t blocks = firn_ceiling(x->elements, FIRN_SUM_BLOCK);
    firn_parallel_run(&call->parallel, blocks, FIRN_SUM_BLOCK, search_blocks, &s);
    return firn_float_of_magnitude(firn_larger_magnitude(0, scratch, blocks));
}
