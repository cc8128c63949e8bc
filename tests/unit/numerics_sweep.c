/* Implements numerics_sweep.h. Freestanding, with integers and floats only, so that it also runs on a microcontroller.
 */
#include "tests/unit/numerics_sweep.h"

#include <stddef.h>

#include "plan/ops.h"
#include "runtime/numerics/numerics.h"

static void add_word(uint64_t *hash, uint32_t word) {
    for (uint32_t i = 0; i < 4; i++)
        *hash = (*hash ^ (word >> (8 * i) & 0xffu)) * 0x100000001b3u;
}

static void add_float(uint64_t *hash, float x) {
    add_word(hash, firn_bits(x));
}

/* Floats from the whole range: every exponent, both signs, sometimes NaN or infinity. */
static float any_float(uint32_t i) {
    return firn_from_bits(i * 2654435761u);
}

/* Floats of magnitude 2^-12 to 2^7, where most functions vary. */
static float middling_float(uint32_t i) {
    uint32_t bits = i * 2654435761u;
    return firn_from_bits((bits & 0x807fffffu) | (115u + (bits >> 24) % 19u) << 23);
}

static void sweep_functions(uint64_t *hash, uint32_t density) {
    static float (*const functions[])(float) = {firn_exp,       firn_log,        firn_tanh,        firn_erf,
                                                firn_gelu,      firn_gelu_slope, firn_gelu_tanh,   firn_gelu_tanh_slope,
                                                firn_sin_turns, firn_cos_turns,  firn_sin,         firn_cos,
                                                firn_rsqrt,     firn_sigmoid,    firn_silu,        firn_silu_slope,
                                                firn_softplus,  firn_atan,       firn_log_one_plus};
    for (size_t f = 0; f < sizeof functions / sizeof functions[0]; f++) {
        for (uint32_t i = 0; i < 500 * density; i++) {
            add_float(hash, functions[f](any_float(i)));
            add_float(hash, functions[f](middling_float(i)));
        }
    }
    for (uint32_t i = 0; i < 500 * density; i++) {
        add_float(hash, firn_sqrt(any_float(i)) > 0.0f ? firn_sqrt(any_float(i)) : 0.0f);
        add_float(hash, firn_canonical(firn_fma(any_float(i), middling_float(i), any_float(i + 7))));
        add_float(hash, firn_canonical(firn_maximum(any_float(i), any_float(i + 1))));
    }
}

static void sweep_halves(uint64_t *hash, uint32_t density) {
    for (uint8_t type = FIRN_FLOAT16; type <= FIRN_CBFLOAT16; type++) {
        for (uint32_t i = 0; i < 1000 * density; i++) {
            uint16_t halves[3] = {(uint16_t)(i * 40503u >> 3), (uint16_t)(i * 25173u >> 2),
                                  (uint16_t)(i * 13849u >> 1)};
            uint16_t narrow;
            float x[3];
            firn_widen(x, halves, type, 0, 3);
            firn_store(&narrow, type, 0, any_float(i));
            add_word(hash, narrow);
            add_float(hash, firn_round_to(type, middling_float(i)));
            add_float(hash, firn_half_fma(type, x[0], x[1], x[2]));
            add_float(hash, firn_half_fma(type, x[1], x[1], x[0]));
            add_float(hash, firn_load(halves, type, 1));
        }
    }
}

static void sweep_sums(uint64_t *hash, uint32_t density) {
    firn_sum sum;
    firn_sum_begin(&sum);
    for (uint32_t i = 0; i < 1000 * density; i++) {
        firn_sum_add(&sum, middling_float(i));
        if (i % 97 == 0)
            add_float(hash, firn_sum_end(&sum));
    }
    add_float(hash, firn_sum_end(&sum));
}

static void sweep_random(uint64_t *hash, uint32_t density) {
    for (uint32_t i = 0; i < 500 * density; i++) {
        firn_rng rng = {.seed = i * 0x9e3779b97f4a7c15u, .rng_id = i % 11, .global_step = i / 3, .micro_step = i % 4};
        add_word(hash, firn_random_bits(&rng, i));
        add_float(hash, firn_random_uniform(&rng, i * 5));
        add_float(hash, firn_random_normal(&rng, i * 7));
        uint64_t image = firn_permute(rng.seed, i % 5, i + 1, i / 2);
        add_word(hash, (uint32_t)image);
    }
}

uint64_t firn_numerics_sweep(uint32_t density) {
    uint64_t hash = 0xcbf29ce484222325u;
    sweep_functions(&hash, density);
    sweep_halves(&hash, density);
    sweep_sums(&hash, density);
    sweep_random(&hash, density);
    return hash;
}
