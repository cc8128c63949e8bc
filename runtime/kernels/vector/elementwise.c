/* Ops that compute each element independently; see elementwise.h. Type and function are constants after inlining, so a
 * loop is compiled for each combination. */
#include "runtime/kernels/vector/elementwise.h"

#include "runtime/kernels/blocks.h"
#include "runtime/kernels/vector/convert.h"
#include "runtime/kernels/vector/elementary.h"

/* Replaces each x of a group of registers. */
typedef void (*function)(firn_vector *x, size_t count);

enum { GROUP = FIRN_VECTOR_GROUP * FIRN_VECTOR }; /* elements */

/* The operands of y = f(x), which is gelu or tanh, and of dx = dy f(x), which is gelu_backward. */
enum { X = FIRN_GELU_IN_X, Y = FIRN_GELU_OUT_Y };
enum { SLOPE_DY = FIRN_GELU_BACKWARD_IN_DY, SLOPE_X = FIRN_GELU_BACKWARD_IN_X, SLOPE_DX = FIRN_GELU_BACKWARD_OUT_DX };
_Static_assert((int)X == (int)FIRN_TANH_IN_X && (int)Y == (int)FIRN_TANH_OUT_Y, "gelu and tanh share map_group");
_Static_assert((int)Y == (int)SLOPE_DX && (int)Y == (int)FIRN_ADD_OUT_Y && (int)Y == (int)FIRN_CAST_OUT_Y,
               "all ops of this file take their type and extent from the same output");

/* Some elements of an op, at most GROUP: as many from element i on as the lanes select. */
typedef struct group {
    const firn_kernel_call *call;
    size_t i;
    bool whole; /* there are GROUP; a constant after inlining */
    firn_lanes lanes[FIRN_VECTOR_GROUP];
} group;

typedef void (*group_body)(uint8_t type, const group *g);

static inline __attribute__((always_inline)) void load_in_order(uint8_t type, const group *g, const firn_tensor *from,
                                                                firn_vector *x) {
    FIRN_EACH(v, FIRN_VECTOR_GROUP)
    x[v] = firn_vector_widen(from->data, type, g->i + v * FIRN_VECTOR, g->lanes[v]);
}

static inline __attribute__((always_inline)) void store_in_order(uint8_t type, const group *g, const firn_tensor *to,
                                                                 const firn_vector *x) {
    FIRN_EACH(v, FIRN_VECTOR_GROUP)
    firn_vector_narrow(to->data, type, g->i + v * FIRN_VECTOR, g->lanes[v], firn_vector_canonical(x[v]));
}

/* Operands of one type may lie in the registers in any order, the same for all of them. */

static inline bool is_in_pairs(uint8_t type, const group *g) {
    return type == FIRN_BFLOAT16 && g->whole;
}

static inline __attribute__((always_inline)) void load(uint8_t type, const group *g, const firn_tensor *from,
                                                       firn_vector *x) {
    if (!is_in_pairs(type, g)) {
        load_in_order(type, g, from, x);
        return;
    }
    FIRN_EACH(v, FIRN_VECTOR_GROUP / 2)
    firn_pairs_widen((const uint16_t *)from->data + g->i + 2 * v * FIRN_VECTOR, x + 2 * v);
}

/* exact: each x is a value of the type. */
static inline __attribute__((always_inline)) void store_in_pairs(bool exact, const group *g, const firn_tensor *to,
                                                                 const firn_vector *x) {
    firn_vector y[FIRN_VECTOR_GROUP];
    FIRN_EACH(v, FIRN_VECTOR_GROUP) y[v] = firn_vector_canonical(x[v]);
    FIRN_EACH(v, FIRN_VECTOR_GROUP / 2) {
        uint16_t *out = (uint16_t *)to->data + g->i + 2 * v * FIRN_VECTOR;
        if (exact)
            firn_pairs_narrow_exact(out, y + 2 * v);
        else
            firn_pairs_narrow(out, y + 2 * v);
    }
}

static inline __attribute__((always_inline)) void store(uint8_t type, const group *g, const firn_tensor *to,
                                                        const firn_vector *x) {
    if (is_in_pairs(type, g))
        store_in_pairs(false, g, to, x);
    else
        store_in_order(type, g, to, x);
}

/* Stores values of the type. */
static inline __attribute__((always_inline)) void store_exact(uint8_t type, const group *g, const firn_tensor *to,
                                                              const firn_vector *x) {
    if (is_in_pairs(type, g))
        store_in_pairs(true, g, to, x);
    else
        store_in_order(type, g, to, x);
}

/* y = f(x) */
static inline __attribute__((always_inline)) void map_group(uint8_t type, const group *g, function f) {
    firn_vector x[FIRN_VECTOR_GROUP];
    load(type, g, &g->call->inputs[X], x);
    f(x, FIRN_VECTOR_GROUP);
    store(type, g, &g->call->outputs[Y], x);
}

/* dx = dy f(x) */
static inline __attribute__((always_inline)) void map_slope_group(uint8_t type, const group *g, function f) {
    firn_vector x[FIRN_VECTOR_GROUP], dy[FIRN_VECTOR_GROUP];
    load(type, g, &g->call->inputs[SLOPE_X], x);
    f(x, FIRN_VECTOR_GROUP);
    load(type, g, &g->call->inputs[SLOPE_DY], dy);
    FIRN_EACH(v, FIRN_VECTOR_GROUP) x[v] = firn_vector_multiply(dy[v], x[v]);
    store(type, g, &g->call->outputs[SLOPE_DX], x);
}

/* The blocks of a call that one thread computes. */
typedef struct range {
    const firn_kernel_call *call;
    size_t begin, end;
} range;

/* Runs body for the elements [first, last) of one type. Whole groups are handled separately, because a store with a
 * mask takes much longer. */
static inline __attribute__((always_inline)) void map_elements(uint8_t type, const firn_kernel_call *call, size_t first,
                                                               size_t last, group_body body) {
    group g = {.call = call, .i = first, .whole = true};
    FIRN_EACH(v, FIRN_VECTOR_GROUP) g.lanes[v] = firn_first_lanes(FIRN_VECTOR);
    for (; g.i + GROUP <= last; g.i += GROUP)
        body(type, &g);
    if (g.i == last)
        return;
    g.whole = false;
    for (size_t v = 0; v < FIRN_VECTOR_GROUP; v++) {
        const size_t from = firn_smaller(g.i + v * FIRN_VECTOR, last);
        g.lanes[v] = firn_first_lanes(last - from);
    }
    body(type, &g);
}

static inline size_t first_of(const range *r) {
    return r->begin * FIRN_BLOCK;
}

static inline size_t last_of(const range *r) {
    return firn_smaller(r->end * FIRN_BLOCK, r->call->outputs[Y].elements);
}

/* Runs body for blocks. */
static inline __attribute__((always_inline)) void map(uint8_t type, const void *arguments, group_body body) {
    const range *r = arguments;
    map_elements(type, r->call, first_of(r), last_of(r), body);
}

static inline __attribute__((always_inline)) void map_blocks(const firn_kernel_call *call, size_t begin, size_t end,
                                                             firn_type_body body) {
    const range r = {call, begin, end};
    firn_for_type(call->outputs[Y].type, body, &r);
}

/* Divides blocks of an op that only moves and adds: in a register an element costs a fraction of an operation. */
static void split_light_blocks(const firn_kernel_call *call, firn_task_body body) {
    firn_split(call, firn_blocks(call->outputs[Y].elements), FIRN_BLOCK, body);
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

static inline __attribute__((always_inline)) void gelu_tanh_group(uint8_t type, const group *g) {
    map_group(type, g, firn_vector_gelu_tanh);
}

static inline __attribute__((always_inline)) void gelu_tanh(uint8_t type, const void *arguments) {
    map(type, arguments, gelu_tanh_group);
}

static inline __attribute__((always_inline)) void gelu_erf_group(uint8_t type, const group *g) {
    map_group(type, g, firn_vector_gelu_erf);
}

static inline __attribute__((always_inline)) void gelu_erf(uint8_t type, const void *arguments) {
    map(type, arguments, gelu_erf_group);
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

static inline __attribute__((always_inline)) void gelu_tanh_slope_group(uint8_t type, const group *g) {
    map_slope_group(type, g, firn_vector_gelu_tanh_slope);
}

static inline __attribute__((always_inline)) void gelu_tanh_slope(uint8_t type, const void *arguments) {
    map(type, arguments, gelu_tanh_slope_group);
}

static inline __attribute__((always_inline)) void gelu_erf_slope_group(uint8_t type, const group *g) {
    map_slope_group(type, g, firn_vector_gelu_erf_slope);
}

static inline __attribute__((always_inline)) void gelu_erf_slope(uint8_t type, const void *arguments) {
    map(type, arguments, gelu_erf_slope_group);
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

static inline __attribute__((always_inline)) void tanh_group(uint8_t type, const group *g) {
    map_group(type, g, firn_vector_tanh_group);
}

static inline __attribute__((always_inline)) void tanh_of(uint8_t type, const void *arguments) {
    map(type, arguments, tanh_group);
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

/* --- relu --------------------------------------------------------------------------------------------------------- */

/* The operands of y = max(x, 0), and of dx = dy where y is positive or a NaN, else 0. */
_Static_assert((int)FIRN_RELU_IN_X == (int)X && (int)FIRN_RELU_OUT_Y == (int)Y, "relu has the operands of gelu");
_Static_assert((int)FIRN_RELU_BACKWARD_OUT_DX == (int)Y, "relu_backward has the output of gelu");

static inline __attribute__((always_inline)) void relu_group(uint8_t type, const group *g) {
    const firn_vector zero = firn_vector_zero();
    firn_vector x[FIRN_VECTOR_GROUP];
    load(type, g, &g->call->inputs[X], x);
    FIRN_EACH(v, FIRN_VECTOR_GROUP) x[v] = firn_vector_select(firn_vector_is_at_least(zero, x[v]), zero, x[v]);
    store_exact(type, g, &g->call->outputs[Y], x);
}

static inline __attribute__((always_inline)) void relu_of(uint8_t type, const void *arguments) {
    map(type, arguments, relu_group);
}

static void relu_blocks(void *argument, size_t begin, size_t end) {
    map_blocks(argument, begin, end, relu_of);
}

void firn_vector_relu(const firn_kernel_call *call) {
    if (is_of_one_type(call))
        split_light_blocks(call, relu_blocks);
    else
        firn_kernel_relu(call);
}

static inline __attribute__((always_inline)) void relu_slope_group(uint8_t type, const group *g) {
    const firn_vector zero = firn_vector_zero();
    firn_vector y[FIRN_VECTOR_GROUP], dy[FIRN_VECTOR_GROUP];
    load(type, g, &g->call->inputs[FIRN_RELU_BACKWARD_IN_Y], y);
    load(type, g, &g->call->inputs[FIRN_RELU_BACKWARD_IN_DY], dy);
    FIRN_EACH(v, FIRN_VECTOR_GROUP)
    dy[v] = firn_vector_select(firn_vector_is_at_least(zero, y[v]), zero, dy[v]);
    store_exact(type, g, &g->call->outputs[FIRN_RELU_BACKWARD_OUT_DX], dy);
}

static inline __attribute__((always_inline)) void relu_slope_of(uint8_t type, const void *arguments) {
    map(type, arguments, relu_slope_group);
}

static void relu_backward_blocks(void *argument, size_t begin, size_t end) {
    map_blocks(argument, begin, end, relu_slope_of);
}

void firn_vector_relu_backward(const firn_kernel_call *call) {
    if (is_of_one_type(call))
        split_light_blocks(call, relu_backward_blocks);
    else
        firn_kernel_relu_backward(call);
}

/* --- add and cast ------------------------------------------------------------------------------------------------- */

/* y = a + b, of one type and as many elements. */
static inline __attribute__((always_inline)) void add_group(uint8_t type, const group *g) {
    firn_vector a[FIRN_VECTOR_GROUP], b[FIRN_VECTOR_GROUP];
    load(type, g, &g->call->inputs[FIRN_ADD_IN_A], a);
    load(type, g, &g->call->inputs[FIRN_ADD_IN_B], b);
    FIRN_EACH(v, FIRN_VECTOR_GROUP) a[v] = firn_vector_add(a[v], b[v]);
    store(type, g, &g->call->outputs[FIRN_ADD_OUT_Y], a);
}

static inline __attribute__((always_inline)) void add_of(uint8_t type, const void *arguments) {
    map(type, arguments, add_group);
}

static void add_blocks(void *argument, size_t begin, size_t end) {
    map_blocks(argument, begin, end, add_of);
}

void firn_vector_add_elements(const firn_kernel_call *call) {
    if (is_of_one_type(call) && call->inputs[FIRN_ADD_IN_B].elements == call->inputs[FIRN_ADD_IN_A].elements)
        split_light_blocks(call, add_blocks);
    else
        firn_kernel_add(call);
}

/* The half type, the other one being float32. */
static inline __attribute__((always_inline)) void widen_group(uint8_t type, const group *g) {
    firn_vector x[FIRN_VECTOR_GROUP];
    load_in_order(type, g, &g->call->inputs[FIRN_CAST_IN_X], x);
    store_in_order(FIRN_FLOAT32, g, &g->call->outputs[FIRN_CAST_OUT_Y], x);
}

/* The same, past the caches if the group is whole. It must begin at a multiple of a register's bytes. */
static inline __attribute__((always_inline)) void widen_group_past_caches(uint8_t type, const group *g) {
    float *out = (float *)g->call->outputs[FIRN_CAST_OUT_Y].data + g->i;
    firn_vector x[FIRN_VECTOR_GROUP];
    if (!g->whole) {
        widen_group(type, g);
        return;
    }
    load_in_order(type, g, &g->call->inputs[FIRN_CAST_IN_X], x);
    FIRN_EACH(v, FIRN_VECTOR_GROUP) firn_vector_stream(out + v * FIRN_VECTOR, firn_vector_canonical(x[v]));
}

static inline __attribute__((always_inline)) void narrow_group(uint8_t type, const group *g) {
    firn_vector x[FIRN_VECTOR_GROUP];
    load_in_order(FIRN_FLOAT32, g, &g->call->inputs[FIRN_CAST_IN_X], x);
    store_in_order(type, g, &g->call->outputs[FIRN_CAST_OUT_Y], x);
}

static inline __attribute__((always_inline)) void widen_of(uint8_t type, const void *arguments) {
    map(type, arguments, widen_group);
}

static inline __attribute__((always_inline)) void widen_past_caches(uint8_t type, const void *arguments) {
    const range *r = arguments;
    const size_t first = first_of(r), last = last_of(r);
    const uintptr_t begin = (uintptr_t)((const float *)r->call->outputs[FIRN_CAST_OUT_Y].data + first);
    const size_t lead = (0 - begin) % sizeof(firn_vector) / sizeof(float), whole = firn_smaller(first + lead, last);
    map_elements(type, r->call, first, whole, widen_group);
    map_elements(type, r->call, whole, last, widen_group_past_caches);
    firn_streams_end();
}

static inline __attribute__((always_inline)) void narrow_of(uint8_t type, const void *arguments) {
    map(type, arguments, narrow_group);
}

/* Whether a float32 output is so much larger than a core's caches that what reads it finds it in memory anyway. */
static bool is_streamed(const firn_tensor *y) {
    enum { STREAMED = 1 << 23 };
    return y->elements >= STREAMED;
}

static void cast_blocks(void *argument, size_t begin, size_t end) {
    const range r = {argument, begin, end};
    const uint8_t from = r.call->inputs[FIRN_CAST_IN_X].type, to = r.call->outputs[FIRN_CAST_OUT_Y].type;
    if (to == FIRN_FLOAT32 && is_streamed(&r.call->outputs[FIRN_CAST_OUT_Y]))
        firn_for_type(from, widen_past_caches, &r);
    else if (to == FIRN_FLOAT32)
        firn_for_type(from, widen_of, &r);
    else
        firn_for_type(to, narrow_of, &r);
}

void firn_vector_cast(const firn_kernel_call *call) {
    if (call->inputs[FIRN_CAST_IN_X].type == FIRN_FLOAT32 || call->outputs[FIRN_CAST_OUT_Y].type == FIRN_FLOAT32)
        split_light_blocks(call, cast_blocks);
    else
        firn_kernel_cast(call);
}
