/* The self-test of the processor's arithmetic, which firn_open runs: fixed operands whose results differ if a fused
 * multiply-add rounds twice, a subnormal is flushed, as an operand or as a result, another rounding mode is set, or a
 * square root, a quotient, a conversion or a comparison is wrong. It finds a wrong core, library or setting, not a rare
 * fault. Under 2,000 instructions on a core with hardware floating point. Nothing here may depend on a plan. */
#include "runtime/self_test.h"

#include <stddef.h>
#include <stdint.h>

#include "runtime/firn.h"
#include "runtime/float_environment.h"
#include "runtime/numerics/numerics.h"

typedef enum operation { ADD, MULTIPLY, DIVIDE, FUSE, ROOT, TO_INTEGER, FROM_INTEGER } operation;

/* Operands, which an operation need not use all, and the expected result, as bits. */
typedef struct trial {
    uint32_t a, b, c, result;
} trial;

/* The trials of each operation, one after the other. Operands are read as volatile: the compiler must not compute the
 * results itself. */
static const trial trials[] = {
    {0x3f800000, 0x33800000, 0, 0x3f800000}, /* 1 + half of its last bit: to even, downwards */
    {0x3f800001, 0x33800000, 0, 0x3f800002}, /* to even, upwards */
    {0x00000001, 0x00000001, 0, 0x00000002}, /* subnormal operands */
    {0x00800000, 0x80000001, 0, 0x007fffff}, /* a subnormal result */

    {0x3f800001, 0x3f800001, 0, 0x3f800002}, /* just above a float */
    {0x00800001, 0x3f000000, 0, 0x00400000}, /* a subnormal result half-way, to even */
    {0x00800003, 0x3f000000, 0, 0x00400002},
    {0x00000001, 0x4b800000, 0, 0x01000000}, /* a subnormal operand */

    {0x3f800000, 0x40400000, 0, 0x3eaaaaab}, /* 1 / 3 */
    {0x00800000, 0x40400000, 0, 0x002aaaab}, /* a subnormal result */

    {0x4affe002, 0x4b001001, 0x62800000, 0x62800001}, /* 2^70 + 2^46 + 1: binary64 loses the 1 */
    {0xcaffe002, 0x4b001001, 0x62800002, 0x62800001}, /* and from the other side */
    {0x3f800001, 0x3fc00000, 0x80000001, 0x3fc00001}, /* half-way less the smallest subnormal */
    {0x3f800001, 0x3f800001, 0xbf800002, 0x28800000}, /* the error of a product; 0 if it is rounded before the sum */
    {0x7f000000, 0x40000000, 0xff000000, 0x7f000000}, /* the product alone overflows */
    {0x00800001, 0x3f000000, 0x00000001, 0x00400002}, /* subnormal, half-way, to even */

    {0x40400000, 0, 0, 0x3fddb3d7}, /* 3 */
    {0x3f7fffff, 0, 0, 0x3f7fffff}, /* almost half-way */
    {0x00000001, 0, 0, 0x1a3504f3}, /* subnormal */

    {0xbfffffff, 0, 0, 0xffffffff}, /* towards zero: -1 */
    {0x4effffff, 0, 0, 0x7fffff80},

    {0xfefffffd, 0, 0, 0xcb800002}, /* -(2^24 + 3) */
};

/* Where the trials of each operation end. */
static const uint8_t ends[] = {
    [ADD] = 4, [MULTIPLY] = 8, [DIVIDE] = 10, [FUSE] = 16, [ROOT] = 19, [TO_INTEGER] = 21, [FROM_INTEGER] = 22};

static uint32_t hidden(const uint32_t *word) {
    return *(const volatile uint32_t *)word;
}

static float operand(const uint32_t *word) {
    return firn_from_bits(hidden(word));
}

#define COUNT(table) (sizeof(table) / sizeof(table)[0])

_Static_assert(COUNT(trials) == 22 && COUNT(ends) == FROM_INTEGER + 1, "every trial belongs to an operation");

/* Returns the bits of the result of a trial. */
static uint32_t result_of(operation operation, const trial *trial) {
    const float a = operand(&trial->a), b = operand(&trial->b);
    switch (operation) {
    case ADD:
        return firn_bits(a + b);
    case MULTIPLY:
        return firn_bits(a * b);
    case DIVIDE:
        return firn_bits(a / b);
    case FUSE:
        return firn_bits(firn_fma(a, b, operand(&trial->c)));
    case ROOT:
        return firn_bits(firn_sqrt(a));
    case TO_INTEGER:
        return (uint32_t)(int32_t)a;
    default:
        return firn_bits((float)(int32_t)hidden(&trial->a));
    }
}

static bool trials_hold(void) {
    uint32_t wrong = 0;
    uint32_t i = 0;
    for (operation operation = ADD; operation <= FROM_INTEGER; operation++)
        for (; i < ends[operation]; i++)
            wrong |= result_of(operation, &trials[i]) ^ trials[i].result;
    return wrong == 0;
}

/* A subnormal is above zero, both zeros are equal, and a NaN is nothing. */
static bool comparisons_hold(void) {
    static const uint32_t words[] = {0x00000001, 0x80000000, 0x7fc00000};
    const float tiny = operand(&words[0]), zero = operand(&words[1]), nan = operand(&words[2]);
    return tiny > 0.0f && zero == 0.0f && !(nan == nan) && !(nan < zero) && !(nan > zero);
}

#if defined(__arm__) && defined(__ARM_FEATURE_FMA)

/* These cores convert float16 by instructions. Their format depends on the control word. */
static uint32_t narrowed_by_core(float x) {
    float bits;
    __asm__("vcvtb.f16.f32 %0, %1" : "=t"(bits) : "t"(x));
    return firn_bits(bits) & 0xffffu;
}

static float widened_by_core(float bits) {
    float x;
    __asm__("vcvtb.f32.f16 %0, %1" : "=t"(x) : "t"(bits));
    return x;
}

static bool halves_hold(void) {
    static const uint32_t narrowed[][2] = {
        {0x33000001, 0x0001}, {0x477fefff, 0x7bff}, {0x477ff000, 0x7c00}, {0x3f801000, 0x3c00}};
    static const uint32_t widened[][2] = {{0x0001, 0x33800000}, {0x7c00, 0x7f800000}};
    uint32_t wrong = 0;
    for (size_t i = 0; i < COUNT(narrowed); i++)
        wrong |= narrowed_by_core(operand(&narrowed[i][0])) ^ narrowed[i][1];
    for (size_t i = 0; i < COUNT(widened); i++)
        wrong |= firn_bits(widened_by_core(operand(&widened[i][0]))) ^ widened[i][1];
    return wrong == 0;
}

#else

/* Elsewhere these are operations on integers and floats, which are tested above. */
static bool halves_hold(void) {
    return true;
}

#endif

bool firn_arithmetic_holds(void) {
    return trials_hold() && comparisons_hold() && halves_hold();
}

int firn_self_test(void) {
    const uint32_t before = firn_float_begin();
    const bool holds = firn_arithmetic_holds();
    firn_float_end(before);
    return holds ? FIRN_OK : FIRN_ERROR_ARITHMETIC;
}
