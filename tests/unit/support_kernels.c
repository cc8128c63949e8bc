/* See support_kernels.h. */
#define _POSIX_C_SOURCE 200112L
#include "tests/unit/support_kernels.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/numerics/flushed.h"
#include "tests/unit/support_test.h"
#include "tests/unit/support_workspace.h"

const firn_moment support_beginning = {0, 0};

static void *memory(size_t bytes) {
    void *block = NULL;
    if (posix_memalign(&block, 64, bytes) != 0)
        abort();
    return block;
}

static void *copy_of(const void *from, size_t bytes) {
    void *block = memory(bytes);
    memcpy(block, from, bytes);
    return block;
}

static size_t bytes_of(const firn_tensor *tensor) {
    return tensor->elements * firn_type_bytes(tensor->type);
}

firn_tensor tensor_new(uint8_t type, uint32_t a, uint32_t b, uint32_t c, uint32_t d) {
    const uint32_t dims[] = {a, b, c, d};
    firn_tensor tensor = {.type = type, .elements = 1};
    while (tensor.rank < 4 && dims[tensor.rank] != 0)
        tensor.elements *= dims[tensor.rank++];
    tensor.dims = copy_of(dims, tensor.rank * sizeof dims[0]);
    tensor.data = memory(bytes_of(&tensor));
    memset(tensor.data, 0xc1, bytes_of(&tensor)); /* -24.2, which a sum that begins with it does not absorb */
    return tensor;
}

firn_tensor tensor_copy(const firn_tensor *from) {
    firn_tensor tensor = *from;
    if (from->data != NULL) {
        tensor.dims = copy_of(from->dims, from->rank * sizeof from->dims[0]);
        tensor.data = copy_of(from->data, bytes_of(from));
    }
    return tensor;
}

void tensor_free(firn_tensor *tensor) {
    free((void *)(uintptr_t)tensor->dims);
    free(tensor->data);
    *tensor = (firn_tensor){0};
}

void tensor_free_each(firn_tensor *first, ...) {
    va_list others;
    va_start(others, first);
    for (firn_tensor *tensor = first; tensor != NULL; tensor = va_arg(others, firn_tensor *))
        tensor_free(tensor);
    va_end(others);
}

uint32_t draw(uint32_t *state, uint32_t limit) {
    *state ^= *state << 13;
    *state ^= *state >> 17;
    *state ^= *state << 5;
    return (uint32_t)((uint64_t)*state * limit >> 32);
}

void tensor_fill(firn_tensor *tensor, uint32_t seed, float spread) {
    uint32_t state = seed * 2654435761u + 88172645u;
    for (size_t i = 0; i < tensor->elements; i++)
        set(tensor, i, spread * ((float)draw(&state, 2000001) / 1000000.0f - 1.0f));
}

void tensor_sprinkle(firn_tensor *tensor, uint32_t seed) {
    static const uint32_t special[] = {0x7fc00000, 0x7f800000, 0xff800000, 0x00000000, 0x80000000, 0x00000001,
                                       0x80400000, 0x7f7fffff, 0x33800000, 0x00800000, 0x477fe000, 0xb3000001};
    uint32_t state = seed * 2654435761u + 12345u;
    for (size_t i = 0; i < sizeof special / sizeof special[0]; i++)
        set(tensor, draw(&state, (uint32_t)tensor->elements), firn_from_bits(special[i]));
}

/* The bits of a float that may round to x; half_unit: of the last bit that stays. */
static uint32_t draw_near(float x, uint32_t half_unit, uint32_t *seed) {
    const uint32_t bits = firn_bits(x), magnitude = bits & FIRN_MAGNITUDE_BITS, sign = bits & FIRN_SIGN_BIT;
    const uint32_t step = draw(seed, 4) == 0 ? half_unit : draw(seed, half_unit);
    if (magnitude > FIRN_INFINITY_BITS)
        return draw(seed, 2) << 31 | FIRN_INFINITY_BITS | (draw(seed, 2) != 0 ? 0x7fffffu : 1 + draw(seed, 1u << 22));
    if (magnitude == FIRN_INFINITY_BITS)
        return bits - step - 1;
    return sign | (draw(seed, 2) != 0 || magnitude < step ? magnitude + step : magnitude - step);
}

firn_tensor tensor_before_rounding(const firn_tensor *half, uint32_t seed) {
    static const uint32_t half_units[] = {
        [FIRN_FLOAT16] = 1u << 12, [FIRN_BFLOAT16] = 1u << 15, [FIRN_CBFLOAT16] = 1u << 13};
    firn_tensor out = tensor_new(FIRN_FLOAT32, half->dims[0], half->dims[1], 0, 0);
    for (size_t i = 0; i < half->elements; i++) {
        const float x = get(half, i);
        uint32_t bits = draw_near(x, half_units[half->type], &seed);
        if (firn_bits(firn_round_to(half->type, firn_from_bits(bits))) != firn_bits(x))
            bits = firn_bits(x);
        memcpy((uint8_t *)out.data + i * sizeof bits, &bits, sizeof bits);
    }
    return out;
}

float get(const firn_tensor *tensor, size_t i) {
    return firn_load(tensor->data, tensor->type, i);
}

void set(firn_tensor *tensor, size_t i, float x) {
    firn_store(tensor->data, tensor->type, i, x);
}

static uint32_t canonical_nan(uint8_t type) {
    switch (type) {
    case FIRN_FLOAT16:
        return 0x7e00;
    case FIRN_BFLOAT16:
        return 0x7fc0;
    case FIRN_CBFLOAT16:
        return 0x7f00;
    default:
        return FIRN_NAN_BITS;
    }
}

void assert_same(const firn_tensor *expected, const firn_tensor *actual, const char *what) {
    const uint32_t width = firn_type_bytes(expected->type);
    assert_int_equal(expected->type, actual->type);
    assert_int_equal(expected->elements, actual->elements);
    for (size_t i = 0; i < expected->elements; i++) {
        const uint8_t *e = (const uint8_t *)expected->data + i * width, *a = (const uint8_t *)actual->data + i * width;
        uint64_t expected_bits = 0, actual_bits = 0;
        memcpy(&expected_bits, e, width);
        memcpy(&actual_bits, a, width);
        bool number = expected->type > FIRN_CBFLOAT16 || !isnan(get(actual, i));
        if (expected_bits != actual_bits || (!number && actual_bits != canonical_nan(expected->type)))
            fail_msg("%s: %s element %zu of %zu: expected %llx, got %llx", what, firn_type_name(expected->type), i,
                     expected->elements, (unsigned long long)expected_bits, (unsigned long long)actual_bits);
    }
}

void support_run_split(void *context, size_t tasks, firn_task_body body, void *argument) {
    (void)context;
    const size_t first = tasks / 3, second = tasks - tasks / 5;
    body(argument, second, tasks);
    body(argument, first, second);
    body(argument, 0, first);
}

/* Deep copy; tensors that share memory share it in the copy too. */
static test_call copy_call(const test_call *call) {
    test_call copy = *call;
    for (uint8_t i = 0; i < call->input_count; i++)
        copy.inputs[i] = tensor_copy(&call->inputs[i]);
    for (uint8_t o = 0; o < call->output_count; o++) {
        bool shared = false;
        for (uint8_t i = 0; i < call->input_count; i++)
            if (call->inputs[i].data == call->outputs[o].data) {
                copy.outputs[o].data = copy.inputs[i].data;
                shared = true;
            }
        if (!shared)
            copy.outputs[o] = tensor_copy(&call->outputs[o]);
    }
    return copy;
}

static void free_call(test_call *call) {
    for (uint8_t o = 0; o < call->output_count; o++) {
        bool shared = false;
        for (uint8_t i = 0; i < call->input_count; i++)
            shared = shared || call->inputs[i].data == call->outputs[o].data;
        if (!shared)
            tensor_free(&call->outputs[o]);
    }
    for (uint8_t i = 0; i < call->input_count; i++)
        tensor_free(&call->inputs[i]);
}

/* Names the inputs that the call leaves out at the end: an empty place for each. */
static void add_empty_places(uint16_t code, test_call *call) {
    while (call->input_count < firn_op_find(code)->inputs)
        call->inputs[call->input_count++] = (firn_tensor){0};
}

void run_kernel(uint16_t code, test_call *call) {
    const firn_kernel_set *set = firn_kernel_set_choose(NULL);
    if (call->moment == NULL)
        call->moment = &support_beginning;
    test_call split = copy_call(call);
    split.parallel = (firn_parallel){.run = support_run_split, .threads = 3};
    add_empty_places(code, &split);
    firn_kernel kernel = support_kernel(set, code, call);
    assert_non_null(kernel);
    test_call_run(kernel, call);
    kernel = support_kernel(set, code, &split);
    test_call_run(kernel, &split);
    support_check_workspace();
    for (uint8_t o = 0; o < call->output_count; o++)
        if (memcmp(call->outputs[o].data, split.outputs[o].data, bytes_of(&call->outputs[o])) != 0)
            fail_msg("op %u: output %u depends on how tasks are split or inputs left out", code, o);
    free_call(&split);
}

/* Returns whether a list of words separated by spaces contains the word. */
static bool lists(const char *list, const char *word) {
    const size_t length = strlen(word);
    for (const char *at = list; at != NULL && *at != '\0'; at += strspn(at, " ")) {
        const size_t here = strcspn(at, " ");
        if (here == length && memcmp(at, word, length) == 0)
            return true;
        at += here;
    }
    return false;
}

/* Returns whether a set is for processors of this kind. */
static bool is_set_of_this_processor(const char *name) {
    const bool is_neon = strncmp(name, "neon", 4) == 0;
#ifdef __aarch64__
    return is_neon || strcmp(name, "plain") == 0;
#else
    return !is_neon;
#endif
}

const firn_kernel_set *support_set(const char *name) {
    const firn_kernel_set *set = firn_kernel_set_choose(name);
    if (set == NULL && lists(getenv("FIRN_TEST_SETS"), name))
        fail_msg("this CPU or build has no set '%s', which FIRN_TEST_SETS asks for", name);
    if (set == NULL && is_set_of_this_processor(name))
        print_message("skipped for want of a CPU feature: set '%s'\n", name);
    return set;
}

/* Returns factor k, or what takes its place behind the last one. */
static float factor_of(const float *x, size_t k, size_t count) {
    return k < count ? firn_flushed(x[k]) : 0.0f;
}

/* Returns the sum of the even or of the odd terms of a block. */
static float every_second(const float *a, const float *b, size_t count, size_t k) {
    float sum = 0.0f;
    for (size_t end = k / 32 * 32 + 32; k < end; k += 2)
        sum = firn_flushed_fma(factor_of(a, k, count), factor_of(b, k, count), sum);
    return sum;
}

static float flushed_sum(uint8_t kind, const float *a, const float *b, size_t count) {
    float sum = 0.0f;
    if (kind == FIRN_REDUCTION_PAIRS)
        for (size_t k = 0; k < count; k += 2) {
            sum = firn_flushed_fma(factor_of(a, k + 1, count), factor_of(b, k + 1, count), sum);
            sum = firn_flushed_fma(factor_of(a, k, count), factor_of(b, k, count), sum);
        }
    else
        for (size_t k = 0; k < count; k += 32)
            sum =
                firn_flushed_sum(sum, firn_flushed_sum(every_second(a, b, count, k), every_second(a, b, count, k + 1)));
    return sum;
}

float reduce(firn_reduction reduction, const float *a, const float *b, size_t count, size_t first) {
    float total = 0.0f, sum = 0.0f;
    if (firn_reduction_is_flushed(reduction.kind))
        return flushed_sum(reduction.kind, a, b, count);
    if (reduction.kind == FIRN_REDUCTION_F32) {
        for (size_t k = 0; k < count; k++)
            total = fmaf(a[k], b[k], total);
        return total;
    }
    for (size_t k = 0; k < count; k++) {
        sum = firn_half_fma(reduction.accumulator, a[k], b[k], sum);
        if ((first + k + 1) % reduction.chunk == 0 || k + 1 == count) {
            total += sum;
            sum = 0.0f;
        }
    }
    return total;
}

float other_sum(const float *x, size_t count) {
    float total = 0.0f;
    for (size_t block = 0; block < count; block += 4096) {
        float lane[64] = {0};
        for (size_t i = block; i < count && i < block + 4096; i++)
            lane[(i - block) % 64] += x[i];
        for (size_t half = 32; half > 0; half /= 2)
            for (size_t i = 0; i < half; i++)
                lane[i] += lane[i + half];
        total += lane[0];
    }
    return total;
}
