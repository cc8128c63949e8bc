/* The rules that draw initial values (runtime/kernels/parts.h): plan/NUMERICS.md, "Random numbers". Freestanding. */
#include "runtime/kernels/parts.h"

void firn_initialise_normal(float *out, const firn_rng *rng, uint64_t first, size_t count, float a, float b) {
    firn_random_normal_many(out, rng, first, count);
    for (size_t i = 0; i < count; i++)
        out[i] = firn_fma(b, out[i], a);
}

void firn_initialise_uniform(float *out, const firn_rng *rng, uint64_t first, size_t count, float a, float b) {
    firn_random_uniform_many(out, rng, first, count);
    for (size_t i = 0; i < count; i++)
        out[i] = firn_fma(b - a, out[i], a);
}
