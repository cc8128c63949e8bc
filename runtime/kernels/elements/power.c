/* Powers of repeated operands: plan/NUMERICS.md, "Elementwise ops". Freestanding. */
#include "runtime/kernels/elements/broadcast.h"
#include "runtime/kernels/elements/functions.h"

/* The natural logarithm of a finite number above 0 as the sum of two floats. */
typedef struct logarithm {
    float high, low;
} logarithm;

/* The polynomial of firn_log_inline, whose first coefficient is -1/2: log(1 + f) = f - f^2/2 + f^3 q. The sums of the
 * first two terms and of k ln 2 keep their rounding errors. */
static inline logarithm log_of(float x) {
    static const float coefficients[] = {FIRN_LOG_9, FIRN_LOG_8, FIRN_LOG_7, FIRN_LOG_6, FIRN_LOG_5,
                                         FIRN_LOG_4, FIRN_LOG_3, FIRN_LOG_2, FIRN_LOG_1};
    const uint32_t subnormal = x < 0x1p-126f;
    const uint32_t shifted = firn_bits(subnormal != 0 ? x * 0x1p23f : x) + (0x3f800000u - 0x3f3504f3u);
    const float k = (float)(int32_t)((shifted >> 23) - 127u - 23u * subnormal);
    const float f = firn_from_bits((shifted & 0x7fffffu) + 0x3f3504f3u) - 1.0f;
    float q = coefficients[0];
    for (uint32_t i = 1; i < sizeof coefficients / sizeof coefficients[0]; i++)
        q = firn_fma(q, f, coefficients[i]);
    const float square = f * f, square_rest = firn_fma(f, f, -square);
    const float large = k * 0x1.62e4p-1f;
    const float first = large + f;
    const float second = first - 0.5f * square;
    const float error = ((large - first) + f) + ((first - second) - 0.5f * square);
    const float small = firn_fma(square * f, q, firn_fma(k, 0x1.7f7d1cp-20f, error - 0.5f * square_rest));
    const float high = second + small;
    return (logarithm){high, (second - high) + small};
}

/* e^(b log a) for a finite a above 0 and a finite b. */
static inline float positive_power(float a, float b) {
    const float infinity = firn_from_bits(FIRN_INFINITY_BITS);
    const logarithm l = log_of(a);
    const float exponent = b * l.high;
    const float rest = firn_fma(b, l.low, firn_fma(b, l.high, -exponent));
    const float y = firn_exp_inline(exponent);
    return y > 0.0f && y < infinity ? firn_fma(y, rest, y) : y;
}

/* a^n for n of at most 4. */
static inline float small_power(float a, uint32_t n) {
    const float square = a * a;
    const float products[] = {1.0f, a, square, square * a, square * square};
    return products[n];
}

/* The magnitude of a^b, for a of at least 0 (infinity too) and a b that is no small whole number, or -1/2 or 1/2. */
static inline float power_of_magnitude(float a, float b) {
    const float infinity = firn_from_bits(FIRN_INFINITY_BITS);
    if (a > 0.0f && a < infinity && firn_absolute(b) < infinity)
        return positive_power(a, b);
    if (a == 1.0f) /* and b is infinite */
        return 1.0f;
    return (a > 1.0f) == (b > 0.0f) ? infinity : 0.0f;
}

static inline bool is_whole(float x) {
    return firn_floor(x) == x;
}

static inline bool is_odd(float whole) {
    const float half = 0.5f * whole;
    return firn_absolute(whole) < 2.0f * FIRN_WHOLE && !is_whole(half);
}

static float power(float a, float b) {
    const float infinity = firn_from_bits(FIRN_INFINITY_BITS), size = firn_absolute(b);
    const bool whole = is_whole(b);
    if (whole && size <= 4.0f) {
        const float y = small_power(a, (uint32_t)size);
        return b < 0.0f ? 1.0f / y : y;
    }
    if (a == 1.0f)
        return 1.0f;
    if (a != a || b != b || (!whole && a < 0.0f && a > -infinity))
        return firn_from_bits(FIRN_NAN_BITS);
    if (size == 0.5f && a > 0.0f && a < infinity)
        return b > 0.0f ? firn_sqrt(a) : firn_rsqrt_inline(a);
    const float y = power_of_magnitude(firn_absolute(a), b);
    return firn_bits(a) >> 31 != 0 && whole && is_odd(b) ? -y : y;
}

/* The slope of a^b at a; 0 where b is 0. */
static float slope(float a, float b) {
    return b == 0.0f ? 0.0f : b * power(a, b - 1.0f);
}

static void power_blocks(void *argument, size_t begin, size_t end) {
    const firn_broadcast_pair *o = argument;
    const firn_tensor *y = &o->call->outputs[FIRN_POWER_OUT_Y];
    float values[FIRN_BLOCK], others[FIRN_BLOCK];
    for (size_t block = begin; block < end; block++) {
        const size_t count = firn_block_elements(y->elements, block);
        const float *as = firn_broadcast_floats(&o->a, values, block, count);
        const float *bs = firn_broadcast_floats(&o->b, others, block, count);
        for (size_t i = 0; i < count; i++)
            values[i] = power(as[i], bs[i]);
        firn_block_narrow(y, block, values, count);
    }
}

void firn_kernel_power(const firn_kernel_call *call) {
    firn_broadcast_pair o =
        firn_broadcast_pair_of(call, FIRN_POWER_IN_A, FIRN_POWER_IN_B, &call->outputs[FIRN_POWER_OUT_Y]);
    firn_run_blocks(call, power_blocks, &o);
}

static void power_backward_blocks(void *argument, size_t begin, size_t end) {
    const firn_broadcast_pair *o = argument;
    float gradients[FIRN_BLOCK], values[FIRN_BLOCK], others[FIRN_BLOCK];
    for (size_t block = begin; block < end; block++) {
        size_t count;
        const float *dys = firn_block_floats(gradients, &o->call->inputs[FIRN_POWER_BACKWARD_IN_DY], block, &count);
        const float *as = firn_broadcast_floats(&o->a, values, block, count);
        const float *bs = firn_broadcast_floats(&o->b, others, block, count);
        for (size_t i = 0; i < count; i++)
            gradients[i] = dys[i] * slope(as[i], bs[i]);
        firn_block_narrow(&o->call->outputs[FIRN_POWER_BACKWARD_OUT_DA], block, gradients, count);
    }
}

void firn_kernel_power_backward(const firn_kernel_call *call) {
    const firn_tensor *dy = &call->inputs[FIRN_POWER_BACKWARD_IN_DY];
    firn_broadcast_pair o = firn_broadcast_pair_of(call, FIRN_POWER_BACKWARD_IN_A, FIRN_POWER_BACKWARD_IN_B, dy);
    firn_run_blocks(call, power_backward_blocks, &o);
}
