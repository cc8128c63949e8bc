/* Ops that compute each element independently; see elementwise.h. Type and function are constants after inlining, so a
 * loop is compiled for each combination. */
#include "runtime/kernels/vector/elementwise.h"

#include "runtime/kernels/blocks.h"
#include "runtime/kernels/vector/convert.h"
#include "runtime/kernels/vector/elementary.h"

typedef firn_vector (*function)(firn_vector x);

/* The operands of y = f(x), which is gelu or tanh, and of dx = dy f(x), which is gelu_backward. */
enum { X = FIRN_GELU_IN_X, Y = FIRN_GELU_OUT_Y };
enum { SLOPE_DY = FIRN_GELU_BACKWARD_IN_DY, SLOPE_X = FIRN_GELU_BACKWARD_IN_X, SLOPE_DX = FIRN_GELU_BACKWARD_OUT_DX };
_Static_assert((int)X == (int)FIRN_TANH_IN_X && (int)Y == (int)FIRN_TANH_OUT_Y, "gelu and tanh share map_lanes");
_Static_assert((int)Y == (int)SLOPE_DX, "all ops of this file take their type and extent from the same output");

/* y = f(x) for the selected lanes, starting with element i. */
static inline __attribute__((always_inline)) void map_lanes(const firn_kernel_call *call, uint8_t type, size_t i,
                                                            firn_lanes lanes, function f) {
    const firn_vector result = f(firn_vector_widen(call->inputs[X].data, type, i, lanes));
    firn_vector_narrow(call->outputs[Y].data, type, i, lanes, firn_vector_canonical(result));
}

/* The blocks of a call that one thread computes. */
typedef struct range {
    const firn_kernel_call *call;
    size_t begin, end;
} range;

/* y = f(x) for blocks of elements of one type. Full registers are handled separately, because a store with a mask takes
 * much longer. */
static inline __attribute__((always_inline)) void map(uint8_t type, const void *arguments, function f) {
    const range *r = arguments;
    const size_t last = firn_smaller(r->end * FIRN_BLOCK, r->call->outputs[Y].elements);
    size_t i = r->begin * FIRN_BLOCK;
    for (; i + FIRN_VECTOR <= last; i += FIRN_VECTOR)
        map_lanes(r->call, type, i, firn_first_lanes(FIRN_VECTOR), f);
    if (i < last)
        map_lanes(r->call, type, i, firn_first_lanes(last - i), f);
}

/* dx = dy f(x), likewise. */
static inline __attribute__((always_inline)) void map_slope_lanes(const firn_kernel_call *call, uint8_t type, size_t i,
                                                                  firn_lanes lanes, function f) {
    const firn_vector slope = f(firn_vector_widen(call->inputs[SLOPE_X].data, type, i, lanes));
    const firn_vector dy = firn_vector_widen(call->inputs[SLOPE_DY].data, type, i, lanes);
    const firn_vector result = firn_vector_multiply(dy, slope);
    firn_vector_narrow(call->outputs[SLOPE_DX].data, type, i, lanes, firn_vector_canonical(result));
}

static inline __attribute__((always_inline)) void map_slope(uint8_t type, const void *arguments, function f) {
    const range *r = arguments;
    const size_t last = firn_smaller(r->end * FIRN_BLOCK, r->call->outputs[Y].elements);
    size_t i = r->begin * FIRN_BLOCK;
    for (; i + FIRN_VECTOR <= last; i += FIRN_VECTOR)
        map_slope_lanes(r->call, type, i, firn_first_lanes(FIRN_VECTOR), f);
    if (i < last)
        map_slope_lanes(r->call, type, i, firn_first_lanes(last - i), f);
}

static inline __attribute__((always_inline)) void map_blocks(const firn_kernel_call *call, size_t begin, size_t end,
                                                             firn_type_body body) {
    const range r = {call, begin, end};
    firn_for_type(call->outputs[Y].type, body, &r);
}

/* Returns true if every operand has the type of the output. */
static bool is_of_one_type(const firn_kernel_call *call) {
    for (uint8_t i = 0; i < call->input_count; i++)
        if (call->inputs[i].type != call->outputs[Y].type)
            return false;
    return true;
}

/* --- gelu --------------------------------------------------------------------------------------------------------- */

enum { WITH_TANH = 1 }; /* form of gelu */

static inline __attribute__((always_inline)) void gelu_tanh(uint8_t type, const void *arguments) {
    map(type, arguments, firn_vector_gelu_tanh);
}

static inline __attribute__((always_inline)) void gelu_erf(uint8_t type, const void *arguments) {
    map(type, arguments, firn_vector_gelu_erf);
}

static void gelu_blocks(void *argument, size_t begin, size_t end) {
    const firn_kernel_call *call = argument;
    if (call->integers[FIRN_GELU_FORM] == WITH_TANH)
        map_blocks(call, begin, end, gelu_tanh);
    else
        map_blocks(call, begin, end, gelu_erf);
}

void firn_vector_gelu(const firn_kernel_call *call) {
    if (is_of_one_type(call))
        firn_split_blocks(call, gelu_blocks);
    else
        firn_kernel_gelu(call);
}

static inline __attribute__((always_inline)) void gelu_tanh_slope(uint8_t type, const void *arguments) {
    map_slope(type, arguments, firn_vector_gelu_tanh_slope);
}

static inline __attribute__((always_inline)) void gelu_erf_slope(uint8_t type, const void *arguments) {
    map_slope(type, arguments, firn_vector_gelu_erf_slope);
}

static void gelu_backward_blocks(void *argument, size_t begin, size_t end) {
    const firn_kernel_call *call = argument;
    if (call->integers[FIRN_GELU_BACKWARD_FORM] == WITH_TANH)
        map_blocks(call, begin, end, gelu_tanh_slope);
    else
        map_blocks(call, begin, end, gelu_erf_slope);
}

void firn_vector_gelu_backward(const firn_kernel_call *call) {
    if (is_of_one_type(call))
        firn_split_blocks(call, gelu_backward_blocks);
    else
        firn_kernel_gelu_backward(call);
}

/* --- tanh --------------------------------------------------------------------------------------------------------- */

static inline __attribute__((always_inline)) void tanh_of(uint8_t type, const void *arguments) {
    map(type, arguments, firn_vector_tanh_of);
}

static void tanh_blocks(void *argument, size_t begin, size_t end) {
    map_blocks(argument, begin, end, tanh_of);
}

void firn_vector_tanh(const firn_kernel_call *call) {
    if (is_of_one_type(call))
        firn_split_blocks(call, tanh_blocks);
    else
        firn_kernel_tanh(call);
}
