/* Tests attention, forward and backward, bit by bit against the formula on whole matrices: causal or not, grouped
 * heads, dropout, half softmax, chunked reductions, sizes around the edges of a block, and special values behind the
 * mask. */
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "tests/unit/support_kernels.h"
#include "tests/unit/support_test.h"

/* The reductions of both ops. */
enum {
    SCORES = FIRN_ATTENTION_REDUCTION_SCORES,
    VALUES = FIRN_ATTENTION_REDUCTION_VALUES,
    QUERIES_AND_KEYS = FIRN_ATTENTION_BACKWARD_REDUCTION_QUERIES_AND_KEYS
};

typedef struct setting {
    uint32_t batch, steps, heads, kv_heads, size;
    uint32_t rows; /* queries of a block; 0: 16, as compiled plans have */
    bool causal, half_softmax;
    float dropout;
    uint8_t type;
    uint32_t score_chunk, value_chunk, key_chunk; /* chunk sizes; 0: float32 sum */
} setting;

typedef struct tensors {
    firn_tensor qkv, dy, y, maxima, sums, scratch, dqkv, backward_scratch;
} tensors;

static uint32_t rows_of(const setting *s) {
    return s->rows != 0 ? s->rows : 16;
}

static tensors tensors_new(const setting *s) {
    const uint32_t width = (s->heads + 2 * s->kv_heads) * s->size;
    tensors t = {.qkv = tensor_new(s->type, s->batch, s->steps, width, 0),
                 .dy = tensor_new(s->type, s->batch, s->steps, s->heads * s->size, 0),
                 .y = tensor_new(s->type, s->batch, s->steps, s->heads * s->size, 0),
                 .maxima = tensor_new(FIRN_FLOAT32, s->batch, s->heads, s->steps, 0),
                 .sums = tensor_new(FIRN_FLOAT32, s->batch, s->heads, s->steps, 0),
                 .scratch = tensor_new(FIRN_FLOAT32, s->batch, s->heads, rows_of(s), s->steps),
                 .dqkv = tensor_new(s->type, s->batch, s->steps, width, 0),
                 .backward_scratch = tensor_new(FIRN_FLOAT32, s->batch, s->heads, 2 * rows_of(s) + 1, s->steps)};
    tensor_fill(&t.qkv, s->steps + s->heads, 3.0f);
    tensor_fill(&t.dy, s->steps + 77, 1.0f);
    return t;
}

static void tensors_free(tensors *t) {
    tensor_free_each(&t->qkv, &t->dy, &t->y, &t->maxima, &t->sums, &t->scratch, &t->dqkv, &t->backward_scratch,
                     (firn_tensor *)NULL);
}

static firn_reduction reduction_of(const setting *s, uint32_t chunk) {
    if (chunk == 0)
        return (firn_reduction){FIRN_REDUCTION_F32, FIRN_FLOAT32, FIRN_FLOAT32, 0};
    return (firn_reduction){FIRN_REDUCTION_CHUNKED, s->type, FIRN_FLOAT32, chunk};
}

static test_call call_of(const setting *s) {
    static const firn_moment moment = {41, 2};
    return (test_call){
        .integers = {s->heads, s->kv_heads, s->causal, s->half_softmax, 9, rows_of(s)},
        .reals = {1.0f / sqrtf((float)s->size), s->dropout},
        .reductions = {reduction_of(s, s->score_chunk), reduction_of(s, s->value_chunk), reduction_of(s, s->key_chunk)},
        .seed = 0x123456789abcdefu,
        .moment = &moment};
}

/* --- the formula -------------------------------------------------------------------------------------------------- */

/* The index of an element. part 0: queries of query head h; 1, 2: keys, values of the key head that h reads. */
static size_t place(const setting *s, int part, uint32_t b, uint32_t h, uint32_t t, uint32_t d) {
    const uint32_t key = h / (s->heads / s->kv_heads);
    const uint32_t first = part == 0 ? h : s->heads + key + (part == 2 ? s->kv_heads : 0);
    return ((size_t)b * s->steps + t) * (s->heads + 2 * s->kv_heads) * s->size + (size_t)first * s->size + d;
}

static size_t place_out(const setting *s, uint32_t b, uint32_t h, uint32_t t, uint32_t d) {
    return (((size_t)b * s->steps + t) * s->heads + h) * s->size + d;
}

static bool sees(const setting *s, uint32_t query, uint32_t key) {
    return !s->causal || key <= query;
}

/* Rounds to the type in which softmax computes. */
static float soft(const setting *s, float x) {
    return s->half_softmax ? firn_round_to(s->type, x) : x;
}

/* The dropout factor of one probability; negative if it is dropped. */
static float kept(const setting *s, const test_call *call, uint32_t b, uint32_t h, uint32_t i, uint32_t j) {
    const firn_rng rng = {call->seed, (uint32_t)call->integers[FIRN_ATTENTION_RNG_ID], call->moment->global_step,
                          call->moment->micro_step};
    const uint64_t element = (((uint64_t)b * s->heads + h) * s->steps + i) * s->steps + j;
    if (firn_random_uniform(&rng, element) < s->dropout)
        return -1.0f;
    return 1.0f / (1.0f - s->dropout);
}

static float dropped(float x, float factor) {
    return factor < 0.0f ? 0.0f : x * factor;
}

/* All T x T matrices of one head. */
typedef struct head_matrices {
    float *p, *p_dropped, *factor, *dp, *ds;
} head_matrices;

static head_matrices matrices_new(const setting *s) {
    const size_t bytes = (size_t)s->steps * s->steps * sizeof(float);
    return (head_matrices){malloc(bytes), malloc(bytes), malloc(bytes), malloc(bytes), malloc(bytes)};
}

static void matrices_free(head_matrices *m) {
    free(m->p);
    free(m->p_dropped);
    free(m->factor);
    free(m->dp);
    free(m->ds);
}

static float dot_of(const setting *s, const firn_tensor *left, int left_part, uint32_t i, const firn_tensor *right,
                    int right_part, uint32_t j, uint32_t b, uint32_t h, firn_reduction reduction) {
    float x[64], y[64];
    for (uint32_t d = 0; d < s->size; d++) {
        x[d] = get(left, left_part < 0 ? place_out(s, b, h, i, d) : place(s, left_part, b, h, i, d));
        y[d] = get(right, place(s, right_part, b, h, j, d));
    }
    return reduce(reduction, x, y, s->size, 0);
}

static void probabilities(const setting *s, const test_call *call, const firn_tensor *qkv, uint32_t b, uint32_t h,
                          head_matrices *m, firn_tensor *maxima, firn_tensor *sums) {
    float e[256];
    for (uint32_t i = 0; i < s->steps; i++) {
        const size_t row = ((size_t)b * s->heads + h) * s->steps + i;
        const uint32_t count = s->causal ? i + 1 : s->steps;
        float top = -INFINITY;
        bool nan = false;
        for (uint32_t j = 0; j < count; j++) {
            e[j] = soft(s, call->reals[FIRN_ATTENTION_SCALE] *
                               dot_of(s, qkv, 0, i, qkv, 1, j, b, h, call->reductions[SCORES]));
            nan = nan || isnan(e[j]);
            top = e[j] > top ? e[j] : top;
        }
        top = nan ? firn_from_bits(FIRN_NAN_BITS) : top == 0.0f ? 0.0f : top;
        for (uint32_t j = 0; j < count; j++)
            e[j] = soft(s, firn_exp(e[j] - top));
        const float total = firn_canonical(other_sum(e, count));
        for (uint32_t j = 0; j < count; j++) {
            const size_t at = (size_t)i * s->steps + j;
            m->p[at] = firn_round_to(s->type, e[j] / total);
            m->factor[at] = kept(s, call, b, h, i, j);
            m->p_dropped[at] = firn_round_to(s->type, dropped(m->p[at], m->factor[at]));
        }
        set(maxima, row, top);
        set(sums, row, total);
    }
}

static void expect_values(const setting *s, const test_call *call, const firn_tensor *qkv, uint32_t b, uint32_t h,
                          const head_matrices *m, firn_tensor *y) {
    float v[256];
    for (uint32_t i = 0; i < s->steps; i++)
        for (uint32_t d = 0; d < s->size; d++) {
            const uint32_t count = s->causal ? i + 1 : s->steps;
            for (uint32_t j = 0; j < count; j++)
                v[j] = get(qkv, place(s, 2, b, h, j, d));
            set(y, place_out(s, b, h, i, d),
                reduce(call->reductions[VALUES], &m->p_dropped[(size_t)i * s->steps], v, count, 0));
        }
}

static void score_gradients(const setting *s, const test_call *call, const tensors *t, uint32_t b, uint32_t h,
                            head_matrices *m) {
    float products[256];
    for (uint32_t i = 0; i < s->steps; i++) {
        const uint32_t count = s->causal ? i + 1 : s->steps;
        for (uint32_t j = 0; j < count; j++) {
            const size_t at = (size_t)i * s->steps + j;
            float raw = dot_of(s, &t->dy, -1, i, &t->qkv, 2, j, b, h, call->reductions[VALUES]);
            m->dp[at] = dropped(raw, m->factor[at]);
            products[j] = m->p[at] * m->dp[at];
        }
        const float projection = other_sum(products, count);
        for (uint32_t j = 0; j < count; j++) {
            const size_t at = (size_t)i * s->steps + j;
            m->ds[at] = firn_round_to(s->type, m->p[at] * (m->dp[at] - projection));
        }
    }
}

/* The product of one column of a matrix, from the first query that sees the key, and a column of q or dy. */
static float sum_over_queries(const setting *s, const float *matrix, uint32_t j, const firn_tensor *right, int part,
                              uint32_t b, uint32_t h, uint32_t d, firn_reduction reduction) {
    float x[256], y[256];
    size_t count = 0;
    for (uint32_t i = 0; i < s->steps; i++)
        if (sees(s, i, j)) {
            x[count] = matrix[(size_t)i * s->steps + j];
            y[count++] = get(right, part < 0 ? place_out(s, b, h, i, d) : place(s, part, b, h, i, d));
        }
    return reduce(reduction, x, y, count, s->steps - count);
}

static void expect_gradients(const setting *s, const test_call *call, const tensors *t, uint32_t b, uint32_t key,
                             head_matrices *of_heads, firn_tensor *dqkv) {
    const uint32_t group = s->heads / s->kv_heads;
    float column[256];
    for (uint32_t g = 0; g < group; g++)
        for (uint32_t i = 0; i < s->steps; i++)
            for (uint32_t d = 0; d < s->size; d++) {
                const uint32_t h = key * group + g, count = s->causal ? i + 1 : s->steps;
                for (uint32_t j = 0; j < count; j++)
                    column[j] = get(&t->qkv, place(s, 1, b, h, j, d));
                float sum =
                    reduce(call->reductions[QUERIES_AND_KEYS], &of_heads[g].ds[(size_t)i * s->steps], column, count, 0);
                set(dqkv, place(s, 0, b, h, i, d), call->reals[FIRN_ATTENTION_SCALE] * sum);
            }
    for (uint32_t j = 0; j < s->steps; j++)
        for (uint32_t d = 0; d < s->size; d++) {
            float dk = 0.0f, dv = 0.0f;
            for (uint32_t g = 0; g < group; g++) {
                const uint32_t h = key * group + g;
                float k =
                    sum_over_queries(s, of_heads[g].ds, j, &t->qkv, 0, b, h, d, call->reductions[QUERIES_AND_KEYS]);
                float v = sum_over_queries(s, of_heads[g].p_dropped, j, &t->dy, -1, b, h, d, call->reductions[VALUES]);
                dk = g == 0 ? k : dk + k;
                dv = g == 0 ? v : dv + v;
            }
            set(dqkv, place(s, 1, b, key * group, j, d), call->reals[FIRN_ATTENTION_SCALE] * dk);
            set(dqkv, place(s, 2, b, key * group, j, d), dv);
        }
}

/* --- comparison --------------------------------------------------------------------------------------------------- */

static void check_tensors(const setting *s, tensors *t) {
    const uint32_t group = s->heads / s->kv_heads;
    test_call forward = call_of(s), backward = call_of(s);
    forward.input_count = 1;
    forward.inputs[FIRN_ATTENTION_IN_QKV] = t->qkv;
    forward.output_count = 4;
    forward.outputs[FIRN_ATTENTION_OUT_Y] = t->y;
    forward.outputs[FIRN_ATTENTION_OUT_ROW_MAX] = t->maxima;
    forward.outputs[FIRN_ATTENTION_OUT_ROW_SUM] = t->sums;
    forward.outputs[FIRN_ATTENTION_OUT_SCRATCH] = t->scratch;
    backward.input_count = 4;
    backward.inputs[FIRN_ATTENTION_BACKWARD_IN_DY] = t->dy;
    backward.inputs[FIRN_ATTENTION_BACKWARD_IN_QKV] = t->qkv;
    backward.inputs[FIRN_ATTENTION_BACKWARD_IN_ROW_MAX] = t->maxima;
    backward.inputs[FIRN_ATTENTION_BACKWARD_IN_ROW_SUM] = t->sums;
    backward.output_count = 2;
    backward.outputs[FIRN_ATTENTION_BACKWARD_OUT_DQKV] = t->dqkv;
    backward.outputs[FIRN_ATTENTION_BACKWARD_OUT_SCRATCH] = t->backward_scratch;
    tensors expected = tensors_new(s);
    head_matrices *of_heads = malloc(group * sizeof *of_heads);
    for (uint32_t g = 0; g < group; g++)
        of_heads[g] = matrices_new(s);
    for (uint32_t b = 0; b < s->batch; b++)
        for (uint32_t key = 0; key < s->kv_heads; key++) {
            for (uint32_t g = 0; g < group; g++) {
                const uint32_t h = key * group + g;
                probabilities(s, &forward, &t->qkv, b, h, &of_heads[g], &expected.maxima, &expected.sums);
                expect_values(s, &forward, &t->qkv, b, h, &of_heads[g], &expected.y);
                score_gradients(s, &backward, t, b, h, &of_heads[g]);
            }
            expect_gradients(s, &backward, t, b, key, of_heads, &expected.dqkv);
        }
    run_kernel(FIRN_OP_attention, &forward);
    assert_same(&expected.maxima, &t->maxima, "attention: row_max");
    assert_same(&expected.sums, &t->sums, "attention: row_sum");
    assert_same(&expected.y, &t->y, "attention");
    run_kernel(FIRN_OP_attention_backward, &backward);
    assert_same(&expected.dqkv, &t->dqkv, "attention_backward");
    for (uint32_t g = 0; g < group; g++)
        matrices_free(&of_heads[g]);
    free(of_heads);
    tensors_free(&expected);
}

static void check(setting s) {
    tensors t = tensors_new(&s);
    check_tensors(&s, &t);
    tensors_free(&t);
}

static const setting settings[] = {
    {.batch = 1, .steps = 1, .heads = 1, .kv_heads = 1, .size = 1},
    {.batch = 2, .steps = 5, .heads = 2, .kv_heads = 2, .size = 4},
    {.batch = 1, .steps = 16, .heads = 2, .kv_heads = 2, .size = 16},
    {.batch = 1, .steps = 17, .heads = 4, .kv_heads = 2, .size = 8},
    {.batch = 2, .steps = 15, .heads = 3, .kv_heads = 1, .size = 17},
    {.batch = 1, .steps = 31, .heads = 1, .kv_heads = 1, .size = 3},
    {.batch = 1, .steps = 33, .heads = 6, .kv_heads = 3, .size = 5},
    {.batch = 1, .steps = 70, .heads = 2, .kv_heads = 1, .size = 33},
};
enum { SETTINGS = sizeof settings / sizeof settings[0] };

/* Calls f with every setting, causal and not. */
static void for_each_setting(void (*f)(setting s)) {
    for (int i = 0; i < SETTINGS; i++)
        for (int causal = 0; causal < 2; causal++) {
            setting s = settings[i];
            s.causal = causal != 0;
            f(s);
        }
}

static void in_every_type(setting s) {
    for (s.type = FIRN_FLOAT32; s.type <= last_real_type; s.type++)
        check(s);
}

TEST(attention_in_float32) {
    for_each_setting(in_every_type);
}

static void with_dropout(setting s) {
    s.dropout = 0.25f;
    check(s);
    s.type = FIRN_BFLOAT16;
    check(s);
}

TEST(attention_with_dropout) {
    for_each_setting(with_dropout);
}

/* Blocks of one query, of sizes that do not divide a tile, of several tiles, and of more queries than there are. */
static void with_other_blocks(setting s) {
    static const uint32_t rows[] = {1, 3, 16, 17, 40};
    s.dropout = 0.25f;
    s.type = FIRN_FLOAT16;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        s.rows = rows[i];
        check(s);
    }
}

TEST(attention_in_blocks_of_other_sizes) {
    for_each_setting(with_other_blocks);
}

static void with_half_softmax(setting s) {
    s.half_softmax = true;
    for (s.type = FIRN_FLOAT16; s.type <= last_real_type; s.type++)
        check(s);
}

TEST(attention_with_half_softmax) {
    for_each_setting(with_half_softmax);
}

static void with_chunks(setting s) {
    s.half_softmax = true;
    s.dropout = 0.1f;
    for (s.type = FIRN_FLOAT16; s.type <= last_real_type; s.type++) {
        s.score_chunk = s.value_chunk = s.key_chunk = 128;
        check(s);
        s.score_chunk = 3;
        s.value_chunk = 5;
        s.key_chunk = 7;
        check(s);
        s.value_chunk = 0;
        s.key_chunk = 16;
        check(s);
    }
}

TEST(attention_in_chunks) {
    for_each_setting(with_chunks);
}

/* Steps hidden by the mask hold infinities and NaN, which must not affect the steps before them. */
TEST(special_values_stay_behind_the_mask) {
    setting s = {.batch = 1, .steps = 20, .heads = 2, .kv_heads = 1, .size = 4, .causal = true};
    const uint32_t width = 4 * 4;
    for (s.type = FIRN_FLOAT32; s.type <= last_real_type; s.type++) {
        tensors t = tensors_new(&s);
        for (uint32_t i = 18 * width; i < 20 * width; i++)
            set(&t.qkv, i, i % 3 == 0 ? INFINITY : i % 3 == 1 ? NAN : -INFINITY);
        check_tensors(&s, &t);
        for (uint32_t i = 0; i < 18 * 8; i++)
            assert_true(isfinite(get(&t.y, i)));
        tensors_free(&t);
    }
}

TEST(attention_with_special_values) {
    setting s = {.batch = 2, .steps = 35, .heads = 2, .kv_heads = 2, .size = 6};
    for (s.type = FIRN_FLOAT32; s.type <= last_real_type; s.type++)
        for (int causal = 0; causal < 2; causal++) {
            s.causal = causal != 0;
            tensors t = tensors_new(&s);
            tensor_sprinkle(&t.qkv, 5);
            tensor_sprinkle(&t.dy, 6);
            check_tensors(&s, &t);
            tensors_free(&t);
        }
}
