/* Tests attention of every kernel set that this CPU can run: it must give the bits of the portable kernel with 1, 2, 3
 * and 8 threads. Covers step counts around the edges of blocks and runs, all types, head sizes, grouped heads, causal
 * or not, dropout, all kinds of sums, special values, and calls too large for a slot. The portable kernel itself is
 * tested in test_kernels_attention.c. The sets amx and avx512bf16 take part in any case, with plain C in place of their
 * instructions: they have the flushed sum of their engine, and no others. So does avx512fp16, where all sums are of
 * float16 in chunks; it inherits all others. */
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "runtime/targets/host/host.h"
#include "tests/unit/support_sets.h"
#include "tests/unit/support_test.h"
#include "tests/unit/support_workspace.h"

typedef enum filling { NUMBERS, SPECIALS, SUBNORMALS, TINY, LARGE, WIDE, EARLY } filling;

typedef struct setting {
    uint32_t batch, steps, heads, kv_heads, size;
    bool causal, half_softmax, slopes;
    float dropout;
    uint8_t type;
    uint8_t out_type; /* if other_type is set; else the type of qkv */
    bool other_type;
    uint8_t only_type; /* of qkv where shapes cycle through types; FIRN_FLOAT32: every type */
    uint8_t kind;      /* of the reductions; if they are mixed, of the first */
    bool mixed;        /* the reductions have kinds that follow each other */
    uint32_t chunk;    /* of a chunked sum */
    filling filling;
} setting;

/* --- sets and threads --------------------------------------------------------------------------------------------- */

static const uint32_t thread_counts[] = {1, 2, 3, 8};
enum { COUNTS = sizeof thread_counts / sizeof thread_counts[0] };

static firn_host_threads *pools[COUNTS];
static firn_parallel ways[COUNTS];

static void run_in_pool(void *context, size_t tasks, firn_task_body body, void *argument) {
    firn_host_threads_run(context, tasks, body, argument);
}

/* The portable kernels, on x86 compiled with fused multiply-add if it has that, because the plain compilation of the
 * same source is far slower there. */
static const firn_kernel_set *portable;

BEFORE_ALL {
    portable = firn_kernel_set_choose("fma");
    if (portable == NULL)
        portable = firn_kernel_set_choose("plain");
    support_find_sets("avx2 avx512 amx avx512bf16 neon avx512fp16 neonfp16");
    support_add_models(SUPPORT_MODELS);
    for (int i = 0; i < COUNTS; i++) {
        pools[i] = firn_host_threads_start(thread_counts[i]);
        ways[i] = pools[i] == NULL
                      ? (firn_parallel){.threads = 1}
                      : (firn_parallel){.context = pools[i], .run = run_in_pool, .threads = thread_counts[i]};
    }
}

AFTER_ALL {
    for (int i = 0; i < COUNTS; i++)
        firn_host_threads_stop(pools[i]);
}

/* --- calls -------------------------------------------------------------------------------------------------------- */

static void fill(const setting *s, firn_tensor *tensor, uint32_t seed) {
    static const float spreads[] = {[NUMBERS] = 3.0f,  [SPECIALS] = 3.0f, [SUBNORMALS] = 0x1p-70f, [TINY] = 0x1p-80f,
                                    [LARGE] = 0x1p15f, [WIDE] = 7.0f,     [EARLY] = 3.0f};
    tensor_fill(tensor, seed, spreads[s->filling]);
    if (s->filling == SPECIALS)
        tensor_sprinkle(tensor, seed);
    if (s->filling == EARLY && s->steps > 1)
        set(tensor, tensor->dims[2], INFINITY);
}

static firn_reduction reduction_of(const setting *s, int number) {
    enum { KINDS = FIRN_REDUCTION_PAIRS + 1, MIXED_CHUNK = 24 };
    static const uint32_t blocks[] = {[FIRN_REDUCTION_EVEN_ODD_BLOCKS] = 32, [FIRN_REDUCTION_PAIRS] = 2};
    const uint8_t kind = s->mixed ? (uint8_t)((s->kind + number) % KINDS) : s->kind;
    if (s->chunk != 0 || kind == FIRN_REDUCTION_CHUNKED)
        return (firn_reduction){FIRN_REDUCTION_CHUNKED, s->type, FIRN_FLOAT32, s->mixed ? MIXED_CHUNK : s->chunk};
    return (firn_reduction){kind, FIRN_FLOAT32, FIRN_FLOAT32, blocks[kind]};
}

/* The portable kernels work in blocks of so many queries; the other sets have blocks of their own. */
static uint32_t rows_of(const setting *s) {
    static const uint32_t rows[] = {16, 1, 3};
    return rows[(s->steps + s->size) % (sizeof rows / sizeof rows[0])];
}

static test_call call_of(const setting *s) {
    static const firn_moment moment = {41, 2};
    test_call call = {.integers = {s->heads, s->kv_heads, s->causal, s->half_softmax, 9, rows_of(s)},
                      .reals = {1.0f / sqrtf((float)s->size), s->dropout},
                      .seed = 0x123456789abcdefu,
                      .moment = &moment};
    for (int i = 0; i < 3; i++)
        call.reductions[i] = reduction_of(s, i);
    return call;
}

_Static_assert(FIRN_ATTENTION_IN_SLOPES == 1 && FIRN_ATTENTION_BACKWARD_IN_SLOPES == 4, "slopes are the last input");

/* One for each query head, of either sign. */
static firn_tensor slopes_of(const setting *s) {
    firn_tensor slopes = tensor_new(FIRN_FLOAT32, s->heads, 0, 0, 0);
    for (uint32_t i = 0; i < s->heads; i++)
        set(&slopes, i, i == 2 ? -0.0625f : 1.0f / (float)(i + 3));
    return slopes;
}

static test_call forward_call(const setting *s) {
    test_call call = call_of(s);
    call.input_count = 1;
    call.inputs[FIRN_ATTENTION_IN_QKV] =
        tensor_new(s->type, s->batch, s->steps, (s->heads + 2 * s->kv_heads) * s->size, 0);
    if (s->slopes)
        call.inputs[call.input_count++] = slopes_of(s);
    call.output_count = 4;
    call.outputs[FIRN_ATTENTION_OUT_Y] = tensor_new(s->out_type, s->batch, s->steps, s->heads * s->size, 0);
    call.outputs[FIRN_ATTENTION_OUT_ROW_MAX] = tensor_new(FIRN_FLOAT32, s->batch, s->heads, s->steps, 0);
    call.outputs[FIRN_ATTENTION_OUT_ROW_SUM] = tensor_new(FIRN_FLOAT32, s->batch, s->heads, s->steps, 0);
    call.outputs[FIRN_ATTENTION_OUT_SCRATCH] = tensor_new(FIRN_FLOAT32, s->batch, s->heads, rows_of(s), s->steps);
    fill(s, &call.inputs[FIRN_ATTENTION_IN_QKV], s->steps + s->heads);
    return call;
}

/* Makes the backward call; it shares qkv and the saved tensors with the forward call. */
static test_call backward_call(const setting *s, const test_call *forward) {
    test_call call = call_of(s);
    call.input_count = 4;
    call.inputs[FIRN_ATTENTION_BACKWARD_IN_DY] = tensor_new(s->type, s->batch, s->steps, s->heads * s->size, 0);
    call.inputs[FIRN_ATTENTION_BACKWARD_IN_QKV] = forward->inputs[FIRN_ATTENTION_IN_QKV];
    call.inputs[FIRN_ATTENTION_BACKWARD_IN_ROW_MAX] = forward->outputs[FIRN_ATTENTION_OUT_ROW_MAX];
    call.inputs[FIRN_ATTENTION_BACKWARD_IN_ROW_SUM] = forward->outputs[FIRN_ATTENTION_OUT_ROW_SUM];
    if (s->slopes)
        call.inputs[call.input_count++] = forward->inputs[FIRN_ATTENTION_IN_SLOPES];
    call.output_count = 2;
    call.outputs[FIRN_ATTENTION_BACKWARD_OUT_DQKV] =
        tensor_new(s->out_type, s->batch, s->steps, (s->heads + 2 * s->kv_heads) * s->size, 0);
    call.outputs[FIRN_ATTENTION_BACKWARD_OUT_SCRATCH] =
        tensor_new(FIRN_FLOAT32, s->batch, s->heads, 2 * rows_of(s) + 1, s->steps);
    fill(s, &call.inputs[FIRN_ATTENTION_BACKWARD_IN_DY], s->steps + 77);
    return call;
}

static void run_portable(uint16_t code, test_call *call) {
    call->parallel = (firn_parallel){.threads = 1};
    test_call_run(support_kernel(portable, code, call), call);
}

/* A set of float16 inherits everything but attention whose sums are all of float16 in chunks. */
static bool takes_part(int i, uint16_t code, const test_call *call) {
    const firn_kernel_set *set = support_compared.found[i].set;
    const bool is_of_float16 = strstr(support_compared.found[i].name, "fp16") != NULL;
    for (uint8_t r = 0; r < firn_op_find(code)->reductions && is_of_float16; r++)
        if (call->reductions[r].kind != FIRN_REDUCTION_CHUNKED || call->reductions[r].accumulator != FIRN_FLOAT16)
            return false;
    return set->find(code, call->reductions).run != NULL;
}

/* Compares the first `outputs` outputs of a call, computed by each set with each number of threads, with those
 * expected. */
static void compare_call(uint16_t code, const test_call *call, const firn_tensor *expected, uint8_t outputs,
                         const setting *s) {
    char what[160];
    snprintf(what, sizeof what, "kind %u, %s B%u T%u H%u/%u D%u%s dropout %g filling %d", s->kind,
             firn_type_name(s->type), s->batch, s->steps, s->heads, s->kv_heads, s->size, s->causal ? " causal" : "",
             (double)s->dropout, s->filling);
    support_compare(code, call, expected,
                    &(support_comparison){.what = what,
                                          .ways = ways,
                                          .way_count = COUNTS,
                                          .models_in_every_second = true,
                                          .outputs = outputs,
                                          .takes_part = takes_part});
}

/* The same for a call that was run; nothing of its outputs is left to the sets. */
static void compare(uint16_t code, const test_call *expected, uint8_t outputs, const setting *s) {
    test_call call = *expected;
    for (int o = 0; o < call.output_count; o++) {
        const firn_tensor *out = &expected->outputs[o];
        call.outputs[o] = tensor_copy(out);
        memset(call.outputs[o].data, 0xa5, out->elements * firn_type_bytes(out->type));
    }
    compare_call(code, &call, expected->outputs, outputs, s);
    support_free_outputs(&call, call.outputs);
}

_Static_assert(FIRN_ATTENTION_BACKWARD_IN_DY == 0 && FIRN_CROSS_ATTENTION_BACKWARD_IN_DY == 0, "dy is the first input");

/* Of the inputs of the backward call, dy alone is its own. */
static void free_calls(test_call *forward, test_call *backward) {
    tensor_free(&backward->inputs[0]);
    support_free_outputs(backward, backward->outputs);
    for (int i = 0; i < forward->input_count; i++)
        tensor_free(&forward->inputs[i]);
    support_free_outputs(forward, forward->outputs);
}

static void check(setting s) {
    support_skip_without_sets();
    if (!support_takes_next())
        return;
    if (!s.other_type)
        s.out_type = s.type;
    test_call forward = forward_call(&s);
    run_portable(FIRN_OP_attention, &forward);
    compare(FIRN_OP_attention, &forward, 3, &s);
    test_call backward = backward_call(&s, &forward);
    run_portable(FIRN_OP_attention_backward, &backward);
    compare(FIRN_OP_attention_backward, &backward, 1, &s);
    free_calls(&forward, &backward);
}

/* --- separate queries, keys and values ---------------------------------------------------------------------------- */

/* Heads of a tensor of s->steps queries, or of so many keys. */
static firn_tensor part_of(const setting *s, uint32_t steps, uint32_t heads, uint32_t seed) {
    firn_tensor part = tensor_new(s->type, s->batch, steps, heads * s->size, 0);
    fill(s, &part, seed);
    return part;
}

static test_call cross_call(const setting *s, uint32_t keys, bool masked) {
    test_call call = call_of(s);
    call.input_count = FIRN_CROSS_ATTENTION_IN_MASK + (masked ? 1 : 0);
    call.inputs[FIRN_CROSS_ATTENTION_IN_QUERY] = part_of(s, s->steps, s->heads, keys);
    call.inputs[FIRN_CROSS_ATTENTION_IN_KEY] = part_of(s, keys, s->kv_heads, s->size);
    call.inputs[FIRN_CROSS_ATTENTION_IN_VALUE] = part_of(s, keys, s->kv_heads, s->steps + 5);
    if (masked) {
        firn_tensor mask = tensor_new(FIRN_FLOAT32, 1, s->heads, s->steps, keys);
        tensor_fill(&mask, 11, 4.0f);
        call.inputs[FIRN_CROSS_ATTENTION_IN_MASK] = mask;
    }
    call.output_count = 4;
    call.outputs[FIRN_CROSS_ATTENTION_OUT_Y] = tensor_new(s->type, s->batch, s->steps, s->heads * s->size, 0);
    call.outputs[FIRN_CROSS_ATTENTION_OUT_ROW_MAX] = tensor_new(FIRN_FLOAT32, s->batch, s->heads, s->steps, 0);
    call.outputs[FIRN_CROSS_ATTENTION_OUT_ROW_SUM] = tensor_new(FIRN_FLOAT32, s->batch, s->heads, s->steps, 0);
    call.outputs[FIRN_CROSS_ATTENTION_OUT_SCRATCH] = tensor_new(FIRN_FLOAT32, s->batch, s->heads, rows_of(s), keys);
    return call;
}

/* Shares inputs and the saved tensors with the forward call. */
static test_call cross_backward_call(const setting *s, uint32_t keys, bool masked, const test_call *forward) {
    const firn_tensor *in = forward->inputs, *saved = forward->outputs;
    const uint32_t longer = keys > s->steps ? keys : s->steps;
    test_call call = call_of(s);
    call.input_count = FIRN_CROSS_ATTENTION_BACKWARD_IN_MASK + (masked ? 1 : 0);
    call.inputs[FIRN_CROSS_ATTENTION_BACKWARD_IN_DY] = part_of(s, s->steps, s->heads, s->steps + 77);
    call.inputs[FIRN_CROSS_ATTENTION_BACKWARD_IN_QUERY] = in[FIRN_CROSS_ATTENTION_IN_QUERY];
    call.inputs[FIRN_CROSS_ATTENTION_BACKWARD_IN_KEY] = in[FIRN_CROSS_ATTENTION_IN_KEY];
    call.inputs[FIRN_CROSS_ATTENTION_BACKWARD_IN_VALUE] = in[FIRN_CROSS_ATTENTION_IN_VALUE];
    call.inputs[FIRN_CROSS_ATTENTION_BACKWARD_IN_ROW_MAX] = saved[FIRN_CROSS_ATTENTION_OUT_ROW_MAX];
    call.inputs[FIRN_CROSS_ATTENTION_BACKWARD_IN_ROW_SUM] = saved[FIRN_CROSS_ATTENTION_OUT_ROW_SUM];
    if (masked)
        call.inputs[FIRN_CROSS_ATTENTION_BACKWARD_IN_MASK] = in[FIRN_CROSS_ATTENTION_IN_MASK];
    call.output_count = 4;
    call.outputs[FIRN_CROSS_ATTENTION_BACKWARD_OUT_DQUERY] = part_of(s, s->steps, s->heads, 0);
    call.outputs[FIRN_CROSS_ATTENTION_BACKWARD_OUT_DKEY] = part_of(s, keys, s->kv_heads, 0);
    call.outputs[FIRN_CROSS_ATTENTION_BACKWARD_OUT_DVALUE] = part_of(s, keys, s->kv_heads, 0);
    call.outputs[FIRN_CROSS_ATTENTION_BACKWARD_OUT_SCRATCH] =
        tensor_new(FIRN_FLOAT32, s->batch, s->heads, 2 * rows_of(s) + 1, longer);
    return call;
}

static void check_cross(setting s, uint32_t keys, bool masked) {
    support_skip_without_sets();
    if (!support_takes_next())
        return;
    test_call forward = cross_call(&s, keys, masked);
    run_portable(FIRN_OP_cross_attention, &forward);
    compare(FIRN_OP_cross_attention, &forward, 3, &s);
    test_call backward = cross_backward_call(&s, keys, masked, &forward);
    run_portable(FIRN_OP_cross_attention_backward, &backward);
    compare(FIRN_OP_cross_attention_backward, &backward, 3, &s);
    free_calls(&forward, &backward);
}

/* --- over a cache ------------------------------------------------------------------------------------------------- */

/* The session has taken `length` tokens, and its cache holds `rows`. */
static test_call cached_call(const setting *s, uint32_t rows, int64_t length) {
    test_call call = {.integers = {s->heads, s->kv_heads, s->half_softmax},
                      .reals = {1.0f / sqrtf((float)s->size)},
                      .reductions = {reduction_of(s, 0), reduction_of(s, 1)}};
    firn_tensor cache = tensor_new(s->type, 1, rows, 2 * s->kv_heads * s->size, 0);
    firn_tensor taken = tensor_new(FIRN_INT64, 1, 0, 0, 0);
    fill(s, &cache, rows);
    memcpy(taken.data, &length, sizeof length);
    call.input_count = FIRN_CACHED_ATTENTION_IN_SLOPES + (s->slopes ? 1 : 0);
    call.inputs[FIRN_CACHED_ATTENTION_IN_QKV] =
        tensor_new(s->type, 1, s->steps, (s->heads + 2 * s->kv_heads) * s->size, 0);
    fill(s, &call.inputs[FIRN_CACHED_ATTENTION_IN_QKV], s->steps + s->heads);
    call.inputs[FIRN_CACHED_ATTENTION_IN_CACHE] = cache;
    call.inputs[FIRN_CACHED_ATTENTION_IN_LENGTH] = taken;
    if (s->slopes)
        call.inputs[FIRN_CACHED_ATTENTION_IN_SLOPES] = slopes_of(s);
    call.output_count = 3;
    call.outputs[FIRN_CACHED_ATTENTION_OUT_CACHE] = tensor_copy(&cache);
    call.outputs[FIRN_CACHED_ATTENTION_OUT_Y] = tensor_new(s->type, 1, s->steps, s->heads * s->size, 0);
    call.outputs[FIRN_CACHED_ATTENTION_OUT_SCRATCH] = tensor_new(FIRN_FLOAT32, rows + 2, s->heads, 0, 0);
    return call;
}

static void check_cached(setting s, uint32_t rows, int64_t length) {
    support_skip_without_sets();
    if (!support_takes_next())
        return;
    s.batch = 1;
    test_call call = cached_call(&s, rows, length), expected = call;
    for (int o = 0; o < call.output_count; o++)
        expected.outputs[o] = tensor_copy(&call.outputs[o]);
    run_portable(FIRN_OP_cached_attention, &expected);
    compare_call(FIRN_OP_cached_attention, &call, expected.outputs, 2, &s);
    support_free_outputs(&expected, expected.outputs);
    support_free_outputs(&call, call.outputs);
    for (int i = 0; i < call.input_count; i++)
        tensor_free(&call.inputs[i]);
}

/* --- tests -------------------------------------------------------------------------------------------------------- */

static const uint32_t steps[] = {1, 2, 15, 16, 17, 31, 32, 33, 47, 48, 49, 63, 64, 65, 100, 127, 128, 129};
static const uint32_t sizes[] = {1, 3, 8, 16, 17, 64, 80};
static const struct { uint32_t batch, heads, kv_heads; } head_counts[] = {{1, 1, 1}, {2, 3, 3}, {1, 4, 2}, {1, 3, 1}};
enum {
    STEPS = sizeof steps / sizeof steps[0],
    SIZES = sizeof sizes / sizeof sizes[0],
    HEAD_COUNTS = sizeof head_counts / sizeof head_counts[0]
};

/* Runs every number of steps with every stride-th head size, cycling through types and head counts. */
static void for_each_shape(setting s, uint8_t first_type, unsigned stride) {
    for (unsigned i = 0; i < STEPS; i++)
        for (unsigned j = i % stride; j < SIZES; j += stride)
            for (int causal = 0; causal < 2; causal++) {
                const unsigned turn = i + j;
                s.steps = steps[i];
                s.size = sizes[j];
                s.batch = head_counts[turn % HEAD_COUNTS].batch;
                s.heads = head_counts[turn % HEAD_COUNTS].heads;
                s.kv_heads = head_counts[turn % HEAD_COUNTS].kv_heads;
                s.type = (uint8_t)(first_type + turn / HEAD_COUNTS % (last_real_type + 1u - first_type));
                s.type = s.only_type != FIRN_FLOAT32 ? s.only_type : s.type;
                s.causal = causal != 0;
                check(s);
            }
}

TEST(every_shape) {
    for_each_shape((setting){0}, FIRN_FLOAT32, 1);
}

TEST(with_dropout) {
    for_each_shape((setting){.dropout = 0.3f}, FIRN_FLOAT32, 3);
}

TEST(with_slopes) {
    for_each_shape((setting){.slopes = true}, FIRN_FLOAT32, 3);
    for_each_shape((setting){.slopes = true, .half_softmax = true, .dropout = 0.1f}, FIRN_FLOAT16, 7);
}

TEST(with_half_softmax) {
    for_each_shape((setting){.dropout = 0.1f, .half_softmax = true}, FIRN_FLOAT16, 3);
}

/* Scores that are NaN, infinite, large enough to overflow, subnormal, or zeros of both signs from underflow. */
TEST(with_special_values) {
    for (uint8_t type = FIRN_FLOAT32; type <= last_real_type; type++)
        for (int causal = 0; causal < 2; causal++)
            for (filling filling = SPECIALS; filling <= LARGE; filling++) {
                setting s = {.batch = 2, .steps = 77, .heads = 2, .kv_heads = 1, .size = 20};
                s.type = type;
                s.causal = causal != 0;
                s.filling = filling;
                s.half_softmax = type != FIRN_FLOAT32 && filling == LARGE;
                check(s);
                s.dropout = 0.5f;
                check(s);
            }
}

/* dqkv and y may have another type than qkv. */
TEST(other_output_types) {
    setting s = {.batch = 1, .steps = 70, .heads = 2, .kv_heads = 2, .size = 24, .causal = true, .other_type = true};
    for (s.type = FIRN_FLOAT32; s.type <= last_real_type; s.type++)
        for (s.out_type = FIRN_FLOAT32; s.out_type <= last_real_type; s.out_type++)
            check(s);
}

/* Chunks that end inside a block, at its edge and beyond it. Of float16, also more keys than are halves at a time, and
 * more than fit into a slot. */
TEST(chunked_sums) {
    setting s = {.batch = 1, .steps = 300, .heads = 2, .kv_heads = 1, .size = 33, .type = FIRN_FLOAT16, .chunk = 100};
    check(s);
    s.causal = true;
    check(s);
    s.steps = 99;
    s.size = 2900;
    s.chunk = 128;
    check(s);
    static const uint32_t chunks[] = {1, 5, 32, 64, 128};
    for (unsigned i = 0; i < sizeof chunks / sizeof chunks[0]; i++)
        for_each_shape((setting){.half_softmax = i % 2 == 0, .dropout = 0.1f * (float)(i % 3), .chunk = chunks[i]},
                       FIRN_FLOAT16, 5);
}

TEST(chunked_special_values) {
    setting s = {.batch = 1, .steps = 77, .heads = 2, .kv_heads = 1, .size = 20, .chunk = 16, .half_softmax = true};
    for (s.type = FIRN_FLOAT16; s.type <= last_real_type; s.type++)
        for (int causal = 0; causal < 2; causal++)
            for (s.filling = SPECIALS; s.filling <= LARGE; s.filling++) {
                s.causal = causal != 0;
                check(s);
            }
}

/* Factors of flushed sums are bfloat16. */
TEST(flushed_sums) {
    for (uint8_t kind = FIRN_REDUCTION_EVEN_ODD_BLOCKS; kind <= FIRN_REDUCTION_PAIRS; kind++) {
        for_each_shape((setting){.kind = kind, .only_type = FIRN_BFLOAT16}, FIRN_FLOAT16, 2);
        for_each_shape((setting){.kind = kind, .only_type = FIRN_BFLOAT16, .dropout = 0.3f, .half_softmax = true},
                       FIRN_FLOAT16, 5);
    }
}

/* Also an infinity at the second step, of which the gradients of keys behind its pair must know nothing; so few steps
 * that the maximum of one may be far below 0, which the queries that a block lacks must not show; and heads that do not
 * fit into a slot, whose keys are packed in several spans. */
TEST(flushed_special_values) {
    for (uint8_t kind = FIRN_REDUCTION_EVEN_ODD_BLOCKS; kind <= FIRN_REDUCTION_PAIRS; kind++) {
        setting s = {.batch = 1, .steps = 77, .heads = 2, .kv_heads = 1, .size = 20, .type = FIRN_BFLOAT16};
        s.kind = kind;
        for (int causal = 0; causal < 2; causal++)
            for (s.filling = SPECIALS; s.filling <= LARGE; s.filling++) {
                s.causal = causal != 0;
                check(s);
            }
        s.causal = true;
        s.filling = EARLY;
        check(s);
        s.filling = LARGE;
        for (s.steps = 1; s.steps < 4; s.steps++)
            check(s);
        s.filling = NUMBERS;
        s.steps = 99;
        s.size = 3000;
        check(s);
    }
}

/* A plan may give each product of attention a kind of its own. */
TEST(mixed_sums) {
    for (uint8_t kind = FIRN_REDUCTION_F32; kind <= FIRN_REDUCTION_PAIRS; kind++) {
        setting s = {.kind = kind, .mixed = true, .only_type = FIRN_BFLOAT16, .dropout = 0.1f};
        for_each_shape(s, FIRN_FLOAT16, 11);
        s = (setting){.kind = kind, .mixed = true, .batch = 1, .steps = 77, .heads = 2, .kv_heads = 1, .size = 20};
        s.type = FIRN_BFLOAT16;
        for (s.filling = SPECIALS; s.filling <= LARGE; s.filling++) {
            s.causal = s.filling % 2 != 0;
            check(s);
        }
    }
}

static bool is_model_of_engine(const firn_kernel_set *set) {
    return set == &support_models[SUPPORT_MODEL_AMX] || set == &support_models[SUPPORT_MODEL_AVX512BF16];
}

static uint8_t kind_of_engine(const firn_kernel_set *set) {
    return set == &support_models[SUPPORT_MODEL_AMX] ? FIRN_REDUCTION_EVEN_ODD_BLOCKS : FIRN_REDUCTION_PAIRS;
}

/* Whatever kinds the descriptors mix, the kernel is that of the vectors, which alone asks for scratch. An engine has
 * only its own kind. */
TEST(no_kind_is_left_to_the_portable_kernel) {
    static const uint16_t ops[] = {FIRN_OP_attention, FIRN_OP_attention_backward, FIRN_OP_cross_attention,
                                   FIRN_OP_cross_attention_backward};
    enum { KINDS = FIRN_REDUCTION_PAIRS + 1 };
    for (int i = 0; i < support_compared.count; i++) {
        const firn_kernel_set *set = support_compared.found[i].set;
        for (size_t op = 0; op < sizeof ops / sizeof ops[0]; op++)
            for (unsigned mix = 0; mix < KINDS * KINDS * KINDS; mix++) {
                const firn_reduction reductions[FIRN_REDUCTIONS_MAX] = {
                    {.kind = (uint8_t)(mix % KINDS)},
                    {.kind = (uint8_t)(mix / KINDS % KINDS)},
                    {.kind = (uint8_t)(mix / KINDS / KINDS)},
                };
                const unsigned used = ops[op] == FIRN_OP_attention || ops[op] == FIRN_OP_cross_attention ? 2 : 3;
                bool is_there = true;
                for (unsigned r = 0; r < used && is_model_of_engine(set); r++)
                    is_there &= reductions[r].kind == kind_of_engine(set);
                assert_int_equal(is_there, set->find(ops[op], reductions).scratch != NULL);
            }
    }
}

/* More keys than fit into a slot: they are packed again for each block, and the gradients of queries and keys are
 * computed separately. */
TEST(heads_larger_than_a_slot) {
    setting s = {.batch = 1, .steps = 99, .heads = 2, .kv_heads = 1, .size = 3000, .causal = true};
    check(s);
    s.causal = false;
    s.type = FIRN_BFLOAT16;
    check(s);
    s.chunk = 40;
    s.kv_heads = 2;
    check(s);
    s.size = 1500; /* a slot holds some blocks of keys and their gradients */
    check(s);
    s.chunk = 0;
    s.causal = true;
    check(s);
}

/* More keys than queries and fewer, with a mask or without, of every kind; a causal one is a square, or is left to the
 * portable kernel. */
TEST(separate_keys) {
    static const uint32_t lengths[][2] = {{1, 1}, {1, 37}, {70, 3}, {31, 33}, {64, 130}, {77, 77}, {129, 64}};
    for (uint8_t kind = FIRN_REDUCTION_F32; kind <= FIRN_REDUCTION_PAIRS; kind++)
        for (unsigned i = 0; i < sizeof lengths / sizeof lengths[0]; i++)
            for (unsigned masked = 0; masked < 2; masked++) {
                setting s = {.batch = 2, .steps = lengths[i][0], .type = FIRN_BFLOAT16, .kind = kind};
                s.chunk = kind == FIRN_REDUCTION_CHUNKED ? 24 : 0;
                s.heads = head_counts[i % HEAD_COUNTS].heads;
                s.kv_heads = head_counts[i % HEAD_COUNTS].kv_heads;
                s.size = sizes[(i + kind + masked) % SIZES];
                s.causal = i > 3 && masked == 0;
                s.dropout = i % 2 == 0 ? 0.0f : 0.2f;
                check_cross(s, lengths[i][1], masked != 0);
            }
}

/* A few tokens and a chunk of a prompt, from every place of a block of queries and of a run of keys on; at the end of
 * the cache, and tokens that it has no room for, which only a length that was made up leads to. */
TEST(cached_tokens) {
    static const uint32_t tokens[] = {1, 2, 4, 5, 33, 70};
    static const int64_t lengths[] = {0, 1, 15, 31, 32, 33, 63, 64, 90, 129, INT64_C(1) << 40, -1};
    enum { TOKENS = sizeof tokens / sizeof tokens[0], LENGTHS = sizeof lengths / sizeof lengths[0], ROWS = 160 };
    for (uint8_t kind = FIRN_REDUCTION_F32; kind <= FIRN_REDUCTION_PAIRS; kind++)
        for (unsigned i = 0; i < LENGTHS; i++)
            for (unsigned j = 0; j < TOKENS; j++) {
                const unsigned turn = i + j;
                setting s = {.steps = tokens[j], .size = sizes[turn % SIZES], .kind = kind, .slopes = turn % 3 == 2};
                s.heads = head_counts[turn % HEAD_COUNTS].heads;
                s.kv_heads = head_counts[turn % HEAD_COUNTS].kv_heads;
                s.type = (uint8_t)(FIRN_FLOAT32 + turn % (last_real_type + 1u - FIRN_FLOAT32));
                if (firn_reduction_is_flushed(kind))
                    s.type = FIRN_BFLOAT16;
                else if (kind == FIRN_REDUCTION_CHUNKED && s.type == FIRN_FLOAT32)
                    s.type = FIRN_FLOAT16;
                s.chunk = kind == FIRN_REDUCTION_CHUNKED ? 24 : 0;
                s.half_softmax = s.type != FIRN_FLOAT32 && j % 2 == 1;
                check_cached(s, ROWS, lengths[i]);
            }
}

/* One token: keys and rows of the cache that fill no block, one block, and more; all heads or a few of them in a piece;
 * head sizes that are no multiple of a register; the last row of the cache. */
TEST(cached_heads) {
    static const struct {
        uint32_t heads, kv_heads, size;
    } shapes[] = {{12, 12, 64}, {8, 2, 7}, {6, 3, 24}, {5, 1, 33}, {16, 8, 12}, {1, 1, 100}, {3, 3, 1}};
    static const int64_t lengths[] = {0, 1, 2, 6, 7, 8, 14, 15, 16, 17, 23, 31, 47, 98};
    enum { SHAPES = sizeof shapes / sizeof shapes[0], LENGTHS = sizeof lengths / sizeof lengths[0], ROWS = 99 };
    for (unsigned i = 0; i < SHAPES; i++)
        for (unsigned j = 0; j < LENGTHS; j++)
            for (uint8_t type = FIRN_FLOAT32; type <= last_real_type; type++) {
                setting s = {.steps = 1, .heads = shapes[i].heads, .kv_heads = shapes[i].kv_heads};
                s.size = shapes[i].size;
                s.type = type;
                s.slopes = (i + j) % 4 == 3;
                s.half_softmax = type != FIRN_FLOAT32 && j % 2 == 1;
                check_cached(s, ROWS, lengths[j]);
            }
}

/* Scores and probabilities may have sums of two kinds. The keys that a query does not see hold infinities and NaNs. */
TEST(cached_mixed_sums) {
    static const uint32_t tokens[] = {1, 2, 7};
    static const int64_t lengths[] = {0, 1, 2, 30, 31, 32, 62, 70, 76, 80};
    enum { TOKENS = sizeof tokens / sizeof tokens[0], LENGTHS = sizeof lengths / sizeof lengths[0] };
    for (uint8_t kind = FIRN_REDUCTION_F32; kind <= FIRN_REDUCTION_PAIRS; kind++)
        for (unsigned i = 0; i < LENGTHS; i++)
            for (unsigned j = 0; j < 2 * TOKENS; j++) {
                setting s = {.steps = tokens[j % TOKENS], .heads = 4, .kv_heads = 2, .size = 18, .kind = kind};
                s.type = FIRN_BFLOAT16;
                s.mixed = j >= TOKENS;
                s.chunk = 0;
                s.filling = i % 2 == 0 ? NUMBERS : SPECIALS;
                if (s.mixed || firn_reduction_is_flushed(kind))
                    check_cached(s, 77, lengths[i]);
            }
}

TEST(cached_special_values) {
    static const uint32_t tokens[] = {1, 6};
    for (uint8_t type = FIRN_FLOAT32; type <= last_real_type; type++)
        for (unsigned i = 0; i < 2; i++)
            for (filling filling = SPECIALS; filling <= LARGE; filling++) {
                setting s = {.steps = tokens[i], .heads = 4, .kv_heads = 2, .size = 20, .filling = filling};
                s.type = type;
                check_cached(s, 77, 37);
                s.mixed = type == FIRN_BFLOAT16;
                s.chunk = s.mixed || type == FIRN_FLOAT32 ? 0 : 16;
                check_cached(s, 77, 61);
            }
}

/* Exponentials of more than one block of a sum; heads and caches that do not fit into a slot. */
TEST(large_caches) {
    for (uint32_t tokens = 1; tokens < 9; tokens += 4) {
        check_cached((setting){.steps = tokens, .heads = 1, .kv_heads = 1, .size = 3, .filling = WIDE}, 4200, 4150);
        check_cached((setting){.steps = tokens, .heads = 2, .kv_heads = 1, .size = 3000}, 99, 50);
        check_cached((setting){.steps = tokens, .heads = 1, .kv_heads = 1, .size = 20000}, 6, 1);
    }
}

/* If not even one block of keys fits, the portable kernel is used. */
TEST(blocks_larger_than_a_slot) {
    for (uint8_t kind = FIRN_REDUCTION_EVEN_ODD_BLOCKS; kind <= FIRN_REDUCTION_PAIRS; kind++)
        check((setting){
            .batch = 1, .steps = 3, .heads = 1, .kv_heads = 1, .size = 20000, .type = FIRN_BFLOAT16, .kind = kind});
    check((setting){.batch = 1, .steps = 5, .heads = 1, .kv_heads = 1, .size = 5000});
    check((setting){.batch = 1, .steps = 3, .heads = 1, .kv_heads = 1, .size = 20000});
}

/* Sums over more than one block of 4,096 elements, of exponentials that may be subnormal. */
TEST(rows_of_several_blocks) {
    check((setting){.batch = 1, .steps = 4131, .heads = 1, .kv_heads = 1, .size = 1, .causal = true, .filling = WIDE});
}
