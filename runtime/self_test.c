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

/* Operands as bits. Every operation is applied to every row; beside a row stands what it is for. `a` is not negative,
 * for its root, and `b` fits into an integer. They are read as volatile: the compiler must not compute the results
 * itself. */
typedef struct operands {
    uint32_t a, b, c;
} operands;

static const operands rows[] = {
    {0x3f800000, 0x33800000, 0x80000000}, /* a + b: half of the last bit, to even, downwards; c: the zero with a sign */
    {0x3f800001, 0x33800000, 0x7fc00001}, /* a + b: to even, upwards; c: a NaN */
    {0x00000001, 0x00000001, 0x33000001}, /* a + b and the root: subnormal operands; c: the smallest float16 */
    {0x00800000, 0x80000001, 0x477fefff}, /* a + b: a subnormal result; c: the largest float16 */
    {0x3f800001, 0x3f800001, 0xbf800002}, /* a b + c: the error of a product; 0 if it is rounded before the sum */
    {0x00800001, 0x3f000000, 0x00000001}, /* a b: a subnormal result half-way, to even; with c, too, and upwards */
    {0x00800003, 0x3f000000, 0x477ff000}, /* a b: the same, upwards; c: beyond float16 */
    {0x00000001, 0x4b800000, 0x3f801000}, /* a b: a subnormal operand; c: half-way between two of float16 */
    {0x3f800000, 0x40400000, 0xfefffffd}, /* a / b: 1 / 3; c as an integer: -(2^24 + 3) */
    {0x00800000, 0x40400000, 0x00007c00}, /* a / b: a subnormal result; c: an infinity of float16 */
    {0x4affe002, 0x4b001001, 0x62800000}, /* a b + c: 2^70 + 2^46 + 1: binary64 loses the 1 */
    {0x4b001001, 0xcaffe002, 0x62800002}, /* and from the other side */
    {0x3f800001, 0x3fc00000, 0x80000001}, /* a b + c: half-way less the smallest subnormal */
    {0x7f000000, 0x40000000, 0xff000000}, /* a b + c: the product alone overflows */
    {0x40400000, 0xbfffffff, 0x00000000}, /* the root of 3; b as an integer: towards zero, -1 */
    {0x3f7fffff, 0x4effffff, 0x3f800000}, /* the root: almost half-way; b as an integer: 2^31 - 128 */
};

#define COUNT(table) (sizeof(table) / sizeof(table)[0])

/* Adds a result to a checksum. From one sum, different results lead to different sums, so one wrong result is always
 * seen; several make up for each other once in 2^32 ways. */
static uint32_t with(uint32_t sum, uint32_t result) {
    return (sum ^ result) * 0x9e3779b1u;
}

#if defined(__arm__) && defined(__ARM_FEATURE_FMA)

/* The sum of right results. When a row changes, the sums here and below are those that an emulated core and a host
 * compute. */
#    define CHECKSUM 0x29270b63u

/* These cores convert float16 by instructions, whose format depends on the control word: c to float16, and its lower
 * half from float16. */
static uint32_t with_halves(uint32_t sum, float c) {
    float narrowed, widened;
    __asm__("vcvtb.f16.f32 %0, %1" : "=t"(narrowed) : "t"(c));
    __asm__("vcvtb.f32.f16 %0, %1" : "=t"(widened) : "t"(c));
    return with(with(sum, firn_bits(narrowed) & 0xffffu), firn_bits(widened));
}

#else

#    define CHECKSUM 0x00a0af9du

/* Elsewhere these are operations on integers and floats. */
static uint32_t with_halves(uint32_t sum, float c) {
    (void)c;
    return sum;
}

#endif

static uint32_t word(const uint32_t *at) {
    return *(const volatile uint32_t *)at;
}

bool firn_arithmetic_holds(void) {
    uint32_t sum = 0;
    for (size_t i = 0; i < COUNT(rows); i++) {
        const float a = firn_from_bits(word(&rows[i].a)), b = firn_from_bits(word(&rows[i].b));
        const uint32_t bits = word(&rows[i].c);
        const float c = firn_from_bits(bits);
        sum = with(sum, firn_bits(a + b));
        sum = with(sum, firn_bits(a * b));
        sum = with(sum, firn_bits(a / b));
        sum = with(sum, firn_bits(firn_canonical(firn_fma(a, b, c))));
        sum = with(sum, firn_bits(firn_sqrt(a)));
        sum = with(sum, firn_bits((float)(int32_t)bits));
        sum = with(sum, (uint32_t)(int32_t)b);
        sum = with(sum, (uint32_t)(c > 0.0f) + 2u * (c == 0.0f) + 4u * (c < 0.0f));
        sum = with_halves(sum, c);
    }
    return sum == CHECKSUM;
}

int firn_self_test(void) {
    const uint32_t before = firn_float_begin();
    const bool holds = firn_arithmetic_holds();
    firn_float_end(before);
    return holds ? FIRN_OK : FIRN_ERROR_ARITHMETIC;
}
