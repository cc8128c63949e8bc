/* A checksum for each arithmetic operation over pseudo-random operands: special values, subnormals, sums that cancel,
 * results that are half-way, overflow and underflow. On a core with soft floating point this tests the compiler's
 * support library, doubles included, which schedules use. Nothing of a plan may be needed here. */
#include "runtime/targets/emulated/arithmetic.h"

#include "runtime/numerics/numerics.h"
#include "runtime/targets/emulated/system.h"
#include "runtime/targets/emulated/text.h"

enum { CASES = 5000 };

typedef struct operands {
    uint32_t a, b, c;
    uint64_t wide_a, wide_b;
} operands;

/* xorshift64* (Vigna). */
static uint64_t next(uint64_t *state) {
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    return *state * 0x2545f4914f6cdd1du;
}

/* Keeps some bits of a mantissa at one of its ends, or fills it with ones: operands of results that are half-way. */
static uint64_t shaped(uint64_t mantissa, uint32_t width, uint64_t how) {
    const uint64_t all = ((uint64_t)1 << width) - 1;
    const uint32_t shift = (uint32_t)(how >> 2) % width;
    switch (how & 3u) {
    case 0:
        return mantissa & all;
    case 1:
        return (mantissa & all) >> shift;
    case 2:
        return mantissa << shift & all;
    default:
        return ~((mantissa & all) >> shift) & all;
    }
}

/* An exponent field near `near`, inside [0, last]. */
static uint64_t exponent_near(uint64_t near, uint64_t random, uint64_t last) {
    const uint64_t moved = near + random % 65u;
    return moved < 32 ? 0 : moved - 32 > last ? last : moved - 32;
}

static uint32_t random_float(uint64_t *state, uint32_t near) {
    const uint64_t r = next(state);
    const uint64_t exponent = exponent_near(near, r >> 40, 255);
    return (uint32_t)(r >> 32 & 0x80000000u) | (uint32_t)exponent << 23 | (uint32_t)shaped(r, 23, r >> 24);
}

static uint64_t random_double(uint64_t *state, uint32_t near) {
    const uint64_t r = next(state), how = next(state);
    return (how & (uint64_t)1 << 63) | exponent_near(near, how, 2047) << 52 | shaped(r, 52, how >> 20);
}

/* The exponents of a and b are near each other, and that of c is near the product's. */
static operands random_operands(uint64_t *state) {
    operands x;
    const uint32_t near = (uint32_t)(next(state) >> 32) % 256u;
    x.a = random_float(state, near);
    x.b = random_float(state, (next(state) & 1u) != 0 ? near : 127u);
    const uint32_t product = (x.a >> 23 & 0xffu) + (x.b >> 23 & 0xffu);
    x.c = random_float(state, product < 127 ? 0 : product - 127);
    const uint32_t wide = (next(state) & 1u) != 0 ? (uint32_t)(next(state) >> 32) % 2048u : 1023u;
    x.wide_a = random_double(state, wide);
    x.wide_b = random_double(state, (next(state) & 1u) != 0 ? wide : 1023u);
    return x;
}

/* --- the operations --- */

static uint64_t narrow(float x) {
    return firn_bits(firn_canonical(x));
}

static double wide(uint64_t bits) {
    double x;
    __builtin_memcpy(&x, &bits, sizeof x);
    return x;
}

static uint64_t wide_bits(double x) {
    uint64_t bits;
    __builtin_memcpy(&bits, &x, sizeof bits);
    return x == x ? bits : 0x7ff8000000000000u;
}

/* x as an integer, or 0 if it has no place there: C does not define the result. */
static int32_t whole(float x) {
    return x > -2147483648.0f && x < 2147483648.0f ? (int32_t)x : 0;
}

static uint64_t wide_whole(double x) {
    return x > -1.0 && x < 18446744073709551616.0 ? (uint64_t)x : 0;
}

static uint64_t add(const operands *x) {
    return narrow(firn_from_bits(x->a) + firn_from_bits(x->b));
}

static uint64_t subtract(const operands *x) {
    return narrow(firn_from_bits(x->a) - firn_from_bits(x->b));
}

static uint64_t multiply(const operands *x) {
    return narrow(firn_from_bits(x->a) * firn_from_bits(x->b));
}

static uint64_t divide(const operands *x) {
    return narrow(firn_from_bits(x->a) / firn_from_bits(x->b));
}

static uint64_t fused(const operands *x) {
    return narrow(firn_fma(firn_from_bits(x->a), firn_from_bits(x->b), firn_from_bits(x->c)));
}

static uint64_t root(const operands *x) {
    return narrow(firn_sqrt(firn_from_bits(x->a)));
}

static uint64_t compare(const operands *x) {
    const float a = firn_from_bits(x->a), b = firn_from_bits(x->b);
    return (uint64_t)(a < b) | (uint64_t)(a <= b) << 1 | (uint64_t)(a == b) << 2 | (uint64_t)(a >= b) << 3 |
           (uint64_t)(a > b) << 4;
}

static uint64_t to_integer(const operands *x) {
    const float a = firn_from_bits(x->a);
    return (uint32_t)whole(a) ^ (uint32_t)whole(a * 0x1p-8f) ^ (uint32_t)whole(firn_from_bits(x->c));
}

static uint64_t from_integer(const operands *x) {
    return narrow((float)x->a) ^ narrow((float)(int32_t)x->b) << 32 ^ narrow((float)x->wide_a) ^
           narrow((float)(int64_t)x->wide_b);
}

static uint64_t add_double(const operands *x) {
    return wide_bits(wide(x->wide_a) + wide(x->wide_b)) ^ wide_bits(wide(x->wide_a) - wide(x->wide_b)) << 1;
}

static uint64_t multiply_double(const operands *x) {
    return wide_bits(wide(x->wide_a) * wide(x->wide_b));
}

static uint64_t divide_double(const operands *x) {
    return wide_bits(wide(x->wide_a) / wide(x->wide_b));
}

static uint64_t compare_double(const operands *x) {
    const double a = wide(x->wide_a), b = wide(x->wide_b);
    return (uint64_t)(a < b) | (uint64_t)(a <= b) << 1 | (uint64_t)(a == b) << 2 | (uint64_t)(a >= b) << 3 |
           (uint64_t)(a > b) << 4;
}

/* To the other formats and back. */
static uint64_t convert_double(const operands *x) {
    return narrow((float)wide(x->wide_a)) ^ wide_bits((double)firn_from_bits(x->a)) ^ wide_whole(wide(x->wide_b)) ^
           wide_bits((double)x->wide_a) ^ wide_bits((double)(int32_t)x->b);
}

static const struct {
    const char *name;
    uint64_t (*result)(const operands *x);
} operations[] = {{"add", add},
                  {"subtract", subtract},
                  {"multiply", multiply},
                  {"divide", divide},
                  {"fma", fused},
                  {"sqrt", root},
                  {"compare", compare},
                  {"float to integer", to_integer},
                  {"integer to float", from_integer},
                  {"double add", add_double},
                  {"double multiply", multiply_double},
                  {"double divide", divide_double},
                  {"double compare", compare_double},
                  {"double convert", convert_double}};
enum { OPERATIONS = sizeof operations / sizeof operations[0] };

/* FNV-1a, by words. */
static uint64_t mixed(uint64_t hash, uint64_t word) {
    return (hash ^ word) * 0x100000001b3u ^ (hash >> 29);
}

void firn_emulated_arithmetic(void) {
    uint64_t hashes[OPERATIONS] = {0}, state = 0x9e3779b97f4a7c15u;
    for (uint32_t i = 0; i < CASES; i++) {
        const operands x = random_operands(&state);
        for (uint32_t k = 0; k < OPERATIONS; k++)
            hashes[k] = mixed(hashes[k], operations[k].result(&x));
    }
    for (uint32_t k = 0; k < OPERATIONS; k++) {
        firn_text line = {0};
        firn_text_add(&line, operations[k].name);
        firn_text_add(&line, " ");
        firn_text_add_hex(&line, hashes[k], 16);
        firn_text_add(&line, "\n");
        firn_system_print(line.bytes);
    }
}
