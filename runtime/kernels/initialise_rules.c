/* The rules that draw initial values (runtime/kernels/parts.h): plan/NUMERICS.md, "Random numbers". Freestanding. */
#include "runtime/kernels/parts.h"

void firn_initialise_normal(float *out, const firn_rng *rng, uint64_t first, size_t count, const float *reals) {
    const float a = reals[FIRN_INITIALISE_A], b = reals[FIRN_INITIALISE_B];
    firn_random_normal_many(out, rng, first, count);
    for (size_t i = 0; i < count; i++)
        out[i] = firn_fma(b, out[i], a);
}

void firn_initialise_uniform(float *out, const firn_rng *rng, uint64_t first, size_t count, const float *reals) {
    const float a = reals[FIRN_INITIALISE_A], b = reals[FIRN_INITIALISE_B];
    firn_random_uniform_many(out, rng, first, count);
    for (size_t i = 0; i < count; i++)
        out[i] = firn_fma(b - a, out[i], a);
}

void firn_initialise_truncated_normal(float *out, const firn_rng *rng, uint64_t first, size_t count,
                                      const float *reals) {
    const firn_truncation from = {.mean = reals[FIRN_INITIALISE_A],
                                  .deviation = reals[FIRN_INITIALISE_B],
                                  .low = reals[FIRN_INITIALISE_LOW],
                                  .high = reals[FIRN_INITIALISE_HIGH]};
    firn_random_truncated_many(out, rng, first, count, from);
}
