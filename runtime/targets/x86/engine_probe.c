/* The probe of a matrix engine; see engine_probe.h. No kernel may be written here. */
#include "runtime/targets/x86/engine_probe.h"

#include <string.h>

#include "plan/ops.h"
#include "runtime/float_environment.h"

enum { ROWS = 17, TERMS = 70, COLUMNS = 33, SCRATCH = 64 * 1024, PRODUCTS = 3 };
enum { X = ROWS * TERMS, WEIGHT = COLUMNS * TERMS, Y = ROWS * COLUMNS }; /* elements */

/* Factors of bfloat16 with exponents from `exponent` to exponent + 7, of which one in sixteen is subnormal or zero. */
typedef struct factors {
    uint32_t seed, exponent;
} factors;

static uint32_t draw(factors *f) {
    f->seed = f->seed * 1664525u + 1013904223u;
    return f->seed >> 16;
}

static void fill(uint16_t *out, size_t count, factors *f) {
    for (size_t i = 0; i < count; i++) {
        const uint32_t exponent = draw(f) % 16 == 0 ? 0 : f->exponent + draw(f) % 8, rest = draw(f);
        out[i] = (uint16_t)((rest & 0x8000u) | exponent << 7 | (rest & 0x7fu));
    }
}

static bool run(firn_find_kernel find, firn_kernel_call *call) {
    const firn_kernel_choice choice = find(FIRN_OP_linear, call->reductions);
    if (choice.run == NULL || (choice.scratch != NULL && choice.scratch(FIRN_OP_linear, call) > call->slot_bytes))
        return false;
    choice.run(call);
    return true;
}

static bool agrees(firn_find_kernel engine, firn_find_kernel portable, uint8_t kind) {
    /* Sums of common numbers; sums that cancel near the smallest normal number; sums that overflow. */
    static const uint32_t exponents[PRODUCTS] = {123, 60, 188};
    static const uint32_t x_dims[] = {ROWS, TERMS}, weight_dims[] = {COLUMNS, TERMS}, y_dims[] = {ROWS, COLUMNS};
    _Alignas(64) uint8_t scratch[SCRATCH];
    _Alignas(16) uint16_t x[X], weight[WEIGHT];
    _Alignas(16) float sums[2][Y];
    const firn_reduction reduction = {.kind = kind,
                                      .accumulator = FIRN_FLOAT32,
                                      .output = FIRN_FLOAT32,
                                      .chunk = kind == FIRN_REDUCTION_PAIRS ? 2 : 32};
    const firn_tensor inputs[] = {{x, X, x_dims, FIRN_BFLOAT16, 2}, {weight, WEIGHT, weight_dims, FIRN_BFLOAT16, 2}};
    const int64_t layout = 0;
    bool equal = true;
    for (uint32_t i = 0; i < PRODUCTS && equal; i++) {
        factors f = {.seed = i, .exponent = exponents[i]};
        fill(x, X, &f);
        fill(weight, WEIGHT, &f);
        for (uint32_t s = 0; s < 2 && equal; s++) {
            const firn_tensor y = {sums[s], Y, y_dims, FIRN_FLOAT32, 2};
            firn_kernel_call call = {.inputs = inputs,
                                     .outputs = &y,
                                     .integers = &layout,
                                     .reductions = &reduction,
                                     .input_count = 2,
                                     .output_count = 1,
                                     .workspace = scratch,
                                     .slot_bytes = SCRATCH};
            equal = run(s == 0 ? engine : portable, &call);
        }
        const void *first = sums[0], *second = sums[1]; /* as bytes: NaNs are equal, and zeros of two signs are not */
        equal = equal && memcmp(first, second, sizeof sums[0]) == 0;
    }
    return equal;
}

/* A set is chosen before the runtime sets the control word for a plan. */
bool firn_engine_agrees(firn_find_kernel engine, firn_find_kernel portable, uint8_t kind) {
    const uint32_t before = firn_float_begin();
    const bool result = agrees(engine, portable, kind);
    firn_float_end(before);
    return result;
}
