/* Tests the self-test of the arithmetic: it passes on this machine whatever control word the caller has set, and it
 * fails with each wrong operation and each wrong setting that it is meant to find. firn_open returns its error. */
#include <stdbool.h>

#include "runtime/firn.h"
#include "runtime/numerics/numerics.h"
#include "runtime/self_test.h"

/* --- the self-test with operations that can be made wrong --- */

static float injected_fma(float a, float b, float c);
static float injected_sqrt(float x);
bool injected_arithmetic_holds(void);
int injected_self_test(void);

#define firn_fma              injected_fma
#define firn_sqrt             injected_sqrt
#define firn_arithmetic_holds injected_arithmetic_holds
#define firn_self_test        injected_self_test
#include "runtime/self_test.c"
#include "tests/unit/support_control_word.h"
#include "tests/unit/support_test.h"
#undef firn_fma
#undef firn_sqrt
#undef firn_arithmetic_holds
#undef firn_self_test

typedef enum fault {
    NONE,
    BINARY64,
    PRODUCT_ROUNDED,
    RESULT_FLUSHED,
    ADDEND_FLUSHED,
    ROOT_TOO_HIGH,
    ROOT_FLUSHED
} fault;

static fault injected;

static float flushed(float x) {
    const bool subnormal = (firn_bits(x) & 0x7f800000u) == 0;
    return subnormal ? firn_from_bits(firn_bits(x) & 0x80000000u) : x;
}

static float injected_fma(float a, float b, float c) {
    switch (injected) {
    case BINARY64: /* as in picolibc */
        return (float)((double)a * (double)b + (double)c);
    case PRODUCT_ROUNDED:
        return a * b + c;
    case RESULT_FLUSHED:
        return flushed(firn_fma(a, b, c));
    case ADDEND_FLUSHED:
        return firn_fma(a, b, flushed(c));
    default:
        return firn_fma(a, b, c);
    }
}

static float injected_sqrt(float x) {
    const float root = firn_sqrt(x);
    if (injected == ROOT_TOO_HIGH)
        return firn_from_bits(firn_bits(root) + (x == 3.0f ? 1u : 0u));
    return injected == ROOT_FLUSHED ? firn_sqrt(flushed(x)) : root;
}

TEST(test_wrong_operations_are_found) {
    for (fault f = NONE; f <= ROOT_FLUSHED; f++) {
        injected = f;
        assert_int_equal(injected_self_test(), f == NONE ? FIRN_OK : FIRN_ERROR_ARITHMETIC);
    }
    injected = NONE;
}

/* --- this machine --- */

TEST(test_this_machine_passes) {
    assert_true(firn_arithmetic_holds());
    assert_int_equal(firn_self_test(), FIRN_OK);
}

#if FIRN_TESTS_CONTROL_WORD

/* Subnormal operands as zero, subnormal results to zero, downwards, upwards, towards zero. */
TEST(test_wrong_control_words_are_found) {
    static const uint32_t bits[] = {CONTROL_SUBNORMAL_OPERANDS_ARE_ZERO, CONTROL_SUBNORMAL_RESULTS_ARE_ZERO,
                                    CONTROL_DOWNWARD, CONTROL_UPWARD, CONTROL_TOWARDS_ZERO};
    const uint32_t before = control_word();
    for (size_t i = 0; i < sizeof bits / sizeof bits[0]; i++) {
        set_control_word(before | bits[i]);
        const bool holds = firn_arithmetic_holds();
        const int in_own_mode = firn_self_test();
        const uint32_t after = control_word();
        set_control_word(before);
        assert_false(holds);
        assert_int_equal(in_own_mode, FIRN_OK);
        assert_int_equal(after & CONTROL_MODES, (before | bits[i]) & CONTROL_MODES);
    }
}

#else

TEST(test_wrong_control_words_are_found) {
    skip();
}

#endif

/* --- firn_open --- */

/* The linker puts this in the place of firn_self_test in the library. */
int __wrap_firn_self_test(void);
int __real_firn_self_test(void);
static bool broken;

int __wrap_firn_self_test(void) {
    return broken ? FIRN_ERROR_ARITHMETIC : __real_firn_self_test();
}

/* The bytes are no plan, so that a sound processor gets the next error. */
static int open_nothing(void) {
    static _Alignas(FIRN_BLOCK_ALIGNMENT) const uint8_t plan[1024];
    static const uint8_t key[64];
    static firn instance;
    const firn_config config = {.plan = plan, .plan_bytes = sizeof plan, .public_key = key, .kernels = "plain"};
    const int error = firn_open(&instance, &config);
    for (size_t i = 0; i < sizeof instance.opaque / sizeof instance.opaque[0]; i++)
        assert_true(instance.opaque[i] == 0);
    return error;
}

TEST(test_open_refuses_before_it_reads_the_plan) {
    assert_int_equal(open_nothing(), FIRN_ERROR_MAGIC);
    broken = true;
    assert_int_equal(open_nothing(), FIRN_ERROR_ARITHMETIC);
    broken = false;
}
