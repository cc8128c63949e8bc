/* Tests that every kernel set that this CPU can run gives the bits of the plain one: convolutions and their gradients
 * with windows, strides, dilations, paddings and groups drawn at random, the gradient of max pool likewise, all types,
 * flushed and chunked sums, special values, one thread and several. Unavailable sets are named and skipped. The sets
 * amx and avx512bf16 take part in any case, with plain C in place of their instructions: they have the flushed sum of
 * their engine, and no others. */
#include <stdbool.h>
#include <stdio.h>

#include "plan/shapes/windows.h"
#include "runtime/numerics/half.h"
#include "tests/unit/support_sets.h"
#include "tests/unit/support_test.h"

BEFORE_ALL {
    support_find_sets("fma avx2 avx512 amx avx512bf16 neon");
    support_add_models(SUPPORT_ENGINES);
}

/* --- comparison --------------------------------------------------------------------------------------------------- */

/* Compares output 0, computed by each set with one and with three threads, with that of the plain set. */
static void compare(uint16_t code, test_call *call, const char *what) {
    static const firn_parallel ways[] = {{.threads = 1}, {.run = support_run_backwards, .threads = 3}};
    firn_tensor expected[FIRN_OUTPUTS_MAX];
    support_run_plain(code, call, expected);
    support_compare(
        code, call, expected,
        &(support_comparison){.what = what, .ways = ways, .way_count = sizeof ways / sizeof ways[0], .outputs = 1});
    support_free_outputs(call, expected);
}

/* --- convolutions ------------------------------------------------------------------------------------------------- */

typedef struct setting {
    uint32_t samples, extent[2], groups, inputs, outputs; /* inputs, outputs: of a group */
    uint32_t kernel[2], stride[2], dilation[2], before[2], after[2];
    bool bias, special, tiny; /* tiny: products near the smallest normal value */
    uint8_t type, out_type;
    uint8_t kind;   /* of the reduction */
    uint32_t chunk; /* of chunked sums */
} setting;

/* The number of windows along an axis, 0 if none fits. */
static uint32_t windows(const setting *s, int axis) {
    const uint32_t padded = s->extent[axis] + s->before[axis] + s->after[axis];
    const uint32_t span = (s->kernel[axis] - 1) * s->dilation[axis] + 1;
    return padded < span ? 0 : (padded - span) / s->stride[axis] + 1;
}

static int64_t pair(const uint32_t of[2]) {
    return firn_pair(of[0], of[1]);
}

static firn_tensor filled(const setting *s, const uint32_t dims[4], uint32_t seed) {
    firn_tensor tensor = tensor_new(s->type, dims[0], dims[1], dims[2], dims[3]);
    tensor_fill(&tensor, seed, 1.0f);
    for (size_t i = 0; i < tensor.elements && s->tiny; i++) {
        const float scale = firn_power_of_two(-62) * (draw(&seed, 16) == 0 ? firn_power_of_two(-66) : 1.0f);
        set(&tensor, i, get(&tensor, i) * scale);
    }
    if (s->special)
        tensor_sprinkle(&tensor, seed);
    return tensor;
}

static void check(const setting *s) {
    static const uint32_t terms[] = {[FIRN_REDUCTION_EVEN_ODD_BLOCKS] = 32, [FIRN_REDUCTION_PAIRS] = 2};
    if (!support_takes_next())
        return;
    char what[192];
    const uint32_t positions[2] = {windows(s, 0), windows(s, 1)};
    const uint32_t image[4] = {s->samples, s->extent[0], s->extent[1], s->groups * s->inputs};
    const uint32_t result[4] = {s->samples, positions[0], positions[1], s->groups * s->outputs};
    const uint32_t kernel[4] = {s->groups * s->outputs, s->kernel[0], s->kernel[1], s->inputs};
    firn_tensor x = filled(s, image, 1), dy = filled(s, result, 2);
    firn_tensor weight = filled(s, kernel, 3), bias = tensor_new(s->type, result[3], 0, 0, 0);
    firn_tensor y = tensor_new(s->out_type, result[0], result[1], result[2], result[3]);
    firn_tensor dx = tensor_new(s->out_type, image[0], image[1], image[2], image[3]);
    firn_tensor dweight = tensor_new(s->out_type, kernel[0], kernel[1], kernel[2], kernel[3]);
    tensor_fill(&bias, 4, 1.0f);
    snprintf(what, sizeof what,
             "x %u,%u,%u,%ux%u kernel %u,%u stride %u,%u dilation %u,%u before %u,%u outputs %u type %u kind "
             "%u",
             s->samples, s->extent[0], s->extent[1], s->groups, s->inputs, s->kernel[0], s->kernel[1], s->stride[0],
             s->stride[1], s->dilation[0], s->dilation[1], s->before[0], s->before[1], s->outputs, s->type, s->kind);
    test_call call = {.output_count = 1,
                      .integers = {s->groups, pair(s->stride), pair(s->dilation), pair(s->before), pair(s->after)},
                      .reductions = {{s->kind, FIRN_FLOAT32, s->out_type, terms[s->kind]}}};
    if (s->kind == FIRN_REDUCTION_CHUNKED)
        call.reductions[0] = (firn_reduction){s->kind, s->type, s->out_type, s->chunk};
    call.input_count = s->bias ? 3 : 2;
    call.inputs[FIRN_CONV_IN_X] = x, call.inputs[FIRN_CONV_IN_WEIGHT] = weight;
    call.inputs[FIRN_CONV_IN_BIAS] = bias, call.outputs[0] = y;
    compare(FIRN_OP_conv, &call, what);
    call.input_count = 2;
    call.inputs[FIRN_CONV_BACKWARD_INPUT_IN_DY] = dy, call.inputs[FIRN_CONV_BACKWARD_INPUT_IN_WEIGHT] = weight;
    call.integers[FIRN_CONV_BACKWARD_INPUT_HEIGHT] = s->extent[0];
    call.integers[FIRN_CONV_BACKWARD_INPUT_WIDTH] = s->extent[1];
    call.outputs[0] = dx;
    compare(FIRN_OP_conv_backward_input, &call, what);
    call.inputs[FIRN_CONV_BACKWARD_WEIGHT_IN_X] = x;
    call.integers[FIRN_CONV_BACKWARD_WEIGHT_KERNEL] = pair(s->kernel);
    call.outputs[0] = dweight;
    compare(FIRN_OP_conv_backward_weight, &call, what);
    firn_tensor *const all[] = {&x, &dy, &weight, &bias, &y, &dx, &dweight};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        tensor_free(all[i]);
}

/* Groups, their inputs and outputs: one group, several, and one channel of each; sizes around the edges of registers.
 */
static const uint32_t channels[][3] = {{1, 1, 1},  {1, 3, 16}, {1, 16, 3},  {1, 8, 40},  {2, 5, 3},   {3, 1, 1},
                                       {17, 1, 1}, {32, 1, 1}, {2, 16, 17}, {1, 33, 9},  {5, 1, 2},   {4, 2, 1},
                                       {1, 2, 64}, {1, 64, 2}, {70, 1, 1},  {1, 24, 26}, {1, 1, 100}, {8, 9, 8}};
enum { CHANNELS = sizeof channels / sizeof channels[0], CHANNELS_BEYOND = 1 << 15 };

static setting draw_channels(uint32_t *random, const uint32_t own[3]) {
    setting s = {.samples = 1 + draw(random, 9), .groups = own[0], .inputs = own[1], .outputs = own[2]};
    s.bias = draw(random, 2) == 0;
    return s;
}

/* Checks the setting if it has a window, and returns whether it has. */
static bool check_drawn(const setting *s) {
    const bool has_windows = windows(s, 0) != 0 && windows(s, 1) != 0;
    if (has_windows)
        check(s);
    return has_windows;
}

/* Extents up to `extents`, and windows of up to `kernel` by `kernel` elements. */
static void draw_windows(setting *s, uint32_t *random, uint32_t extents, uint32_t kernel) {
    for (int axis = 0; axis < 2; axis++) {
        s->extent[axis] = 1 + draw(random, extents);
        s->kernel[axis] = 1 + draw(random, kernel);
        s->stride[axis] = 1 + draw(random, 3);
        s->dilation[axis] = 1 + draw(random, 3) / 2;
        s->before[axis] = draw(random, 4);
        s->after[axis] = draw(random, 4);
    }
}

TEST(convolutions) {
    enum { DRAWS = 600 };
    static const uint8_t kinds[3] = {FIRN_REDUCTION_F32, FIRN_REDUCTION_EVEN_ODD_BLOCKS, FIRN_REDUCTION_PAIRS};
    support_skip_without_sets();
    uint32_t random = 11, checked = 0;
    for (uint32_t i = 0; i < DRAWS; i++) {
        setting s = draw_channels(&random, channels[i % CHANNELS]);
        s.special = draw(&random, 5) == 0;
        s.type = (uint8_t)draw(&random, 2u + last_real_type);
        s.type = s.type > last_real_type ? (uint8_t)FIRN_FLOAT32 : s.type;
        s.out_type = draw(&random, 4) == 0 ? (uint8_t)FIRN_FLOAT32 : s.type;
        if (s.type == FIRN_BFLOAT16)
            s.kind = kinds[i / CHANNELS % 3];
        draw_windows(&s, &random, 19, 5);
        checked += check_drawn(&s);
    }
    assert_true(checked > DRAWS / 2);
}

/* Windows of flushed sums: so much beside the image that whole blocks of terms are absent, terms that end blocks and
 * that do not, more terms of a gradient than are copied at a time, and products that become zeros. */
TEST(flushed_convolutions) {
    enum { DRAWS = 240 };
    static const uint32_t some[][3] = {{1, 32, 17}, {1, 3, 16}, {37, 1, 1}, {1, 16, 16}, {2, 7, 5},
                                       {6, 1, 1},   {1, 40, 8}, {1, 5, 33}, {1, 64, 3},  {16, 1, 1}};
    enum { CASES = sizeof some / sizeof some[0] };
    static const uint32_t before[] = {0, 1, 2, 6};
    support_skip_without_sets();
    uint32_t random = 23, checked = 0;
    for (uint32_t i = 0; i < DRAWS; i++) {
        setting s = draw_channels(&random, some[i % CASES]);
        s.special = draw(&random, 4) == 0;
        s.tiny = draw(&random, 3) == 0;
        s.type = FIRN_BFLOAT16;
        s.out_type = draw(&random, 3) == 0 ? (uint8_t)FIRN_FLOAT32 : s.type;
        s.kind = i / CASES % 2 == 0 ? FIRN_REDUCTION_EVEN_ODD_BLOCKS : FIRN_REDUCTION_PAIRS;
        draw_windows(&s, &random, 13, 4);
        for (int axis = 0; axis < 2; axis++) {
            s.before[axis] = before[draw(&random, 4)];
            s.after[axis] = before[draw(&random, 4)];
            s.dilation[axis] = 1 + draw(&random, 3);
        }
        checked += check_drawn(&s);
    }
    assert_true(checked > DRAWS / 2);
}

/* Gradients of weights in several pieces, lines that begin within some terms and end within the next ones, and images
 * of more lines than are copied at a time. */
TEST(large_flushed_convolutions) {
    static const setting some[] = {
        {.samples = 2, .extent = {12, 13}, .groups = 1, .inputs = 64, .outputs = 44, .kernel = {5, 5}},
        {.samples = 5, .extent = {9, 7}, .groups = 2, .inputs = 33, .outputs = 14, .kernel = {3, 6}},
        {.samples = 2, .extent = {6, 300}, .groups = 1, .inputs = 3, .outputs = 40, .kernel = {3, 7}},
        {.samples = 1, .extent = {300, 3}, .groups = 40, .inputs = 1, .outputs = 1, .kernel = {5, 3}},
        {.samples = 70, .extent = {2, 2}, .groups = 1, .inputs = 40, .outputs = 7, .kernel = {2, 2}},
        {.samples = 1, .extent = {5, 200}, .groups = 3, .inputs = 2, .outputs = 12, .kernel = {2, 40}}};
    support_skip_without_sets();
    for (size_t i = 0; i < sizeof some / sizeof *some; i++)
        for (uint8_t stride = 1; stride < 3; stride++) {
            setting s = some[i];
            s.type = s.out_type = FIRN_BFLOAT16;
            s.kind = (i + stride) % 2 == 0 ? FIRN_REDUCTION_EVEN_ODD_BLOCKS : FIRN_REDUCTION_PAIRS;
            for (int axis = 0; axis < 2; axis++) {
                s.stride[axis] = stride;
                s.dilation[axis] = 1;
                s.before[axis] = s.after[axis] = s.kernel[axis] / 2;
            }
            check(&s);
        }
}

/* Windows of 3 x 3 over square images, of as many places; `own`: samples, extent, groups, inputs, outputs. */
static setting three_by_three(const uint32_t own[5]) {
    return (setting){.samples = own[0],
                     .extent = {own[1], own[1]},
                     .groups = own[2],
                     .inputs = own[3],
                     .outputs = own[4],
                     .kernel = {3, 3},
                     .stride = {1, 1},
                     .dilation = {1, 1},
                     .before = {1, 1},
                     .after = {1, 1},
                     .bias = true};
}

/* Flushed sums of more terms than a block that a matrix engine packs has, of more rows than may wait, and of more
 * columns than a piece has, in each of the products. */
TEST(flushed_convolutions_of_many_terms) {
    static const uint32_t large[][5] = {/* samples, extent, groups, inputs, outputs */
                                        {9, 8, 1, 64, 24},
                                        {1, 3, 1, 520, 18},
                                        {1, 3, 1, 18, 520},
                                        {3, 15, 2, 12, 30}};
    support_skip_without_sets();
    for (size_t i = 0; i < 2 * sizeof large / sizeof *large; i++) {
        setting s = three_by_three(large[i / 2]);
        s.special = i / 2 == 0;
        s.type = FIRN_BFLOAT16;
        s.out_type = FIRN_FLOAT32;
        s.kind = i % 2 == 0 ? FIRN_REDUCTION_EVEN_ODD_BLOCKS : FIRN_REDUCTION_PAIRS;
        check(&s);
    }
}

/* Flushed sums of images whose padding has more places than a copy of them could name, on each axis. */
TEST(padding_beyond_copies) {
    support_skip_without_sets();
    for (int axis = 0; axis < 2; axis++)
        for (int by_channel = 0; by_channel < 2; by_channel++) {
            setting s = {.samples = 1,
                         .extent = {1, 1},
                         .groups = by_channel ? CHANNELS_BEYOND : 1,
                         .inputs = by_channel ? 1 : CHANNELS_BEYOND,
                         .outputs = 1,
                         .kernel = {1, 1},
                         .stride = {1, 1},
                         .dilation = {1, 1},
                         .type = FIRN_BFLOAT16,
                         .out_type = FIRN_FLOAT32,
                         .kind = axis == 0 ? FIRN_REDUCTION_PAIRS : FIRN_REDUCTION_EVEN_ODD_BLOCKS};
            s.kernel[axis] = 2;
            s.stride[axis] = s.dilation[axis] = s.before[axis] = s.after[axis] = UINT16_MAX;
            check(&s);
        }
}

/* Sums in chunks that begin or end at borders of images, of which whole chunks are absent, or which have more terms
 * than wait; with infinite factors, which absent terms must not meet. */
TEST(chunked_convolutions) {
    enum { DRAWS = 400 };
    static const uint32_t chunks[] = {1, 2, 5, 16, 64, 100};
    static const uint32_t before[] = {0, 1, 2, 6};
    support_skip_without_sets();
    uint32_t random = 29, checked = 0;
    for (uint32_t i = 0; i < DRAWS; i++) {
        setting s = draw_channels(&random, channels[i % CHANNELS]);
        s.special = draw(&random, 4) == 0;
        s.tiny = draw(&random, 4) == 0;
        s.type = (uint8_t)(FIRN_FLOAT16 + draw(&random, last_real_type));
        s.kind = FIRN_REDUCTION_CHUNKED;
        s.chunk = chunks[draw(&random, sizeof chunks / sizeof *chunks)];
        s.out_type = draw(&random, 3) == 0 ? (uint8_t)FIRN_FLOAT32 : s.type;
        draw_windows(&s, &random, 13, 4);
        s.before[i % 2] = before[draw(&random, 4)];
        checked += check_drawn(&s);
    }
    assert_true(checked > DRAWS / 2);
}

/* More terms than wait, more rows and columns than a piece has, and more outputs of a kind than a rectangle has. */
TEST(large_chunked_convolutions) {
    static const uint32_t large[][5] = {/* samples, extent, groups, inputs, outputs */
                                        {9, 8, 1, 64, 24},
                                        {1, 3, 1, 520, 18},
                                        {1, 3, 1, 18, 520},
                                        {3, 15, 2, 12, 70}};
    support_skip_without_sets();
    for (uint8_t type = FIRN_FLOAT16; type <= last_real_type; type++)
        for (size_t i = 0; i < sizeof large / sizeof *large; i++) {
            setting s = three_by_three(large[i]);
            s.special = i == 0;
            s.type = type;
            s.out_type = i % 2 == 0 ? (uint8_t)FIRN_FLOAT32 : type;
            s.kind = FIRN_REDUCTION_CHUNKED;
            s.chunk = i % 2 == 0 ? 64 : 300;
            check(&s);
        }
}

/* Windows of one element, which are linear layers. */
TEST(pointwise) {
    support_skip_without_sets();
    for (uint8_t type = FIRN_FLOAT32; type <= last_real_type; type++)
        for (size_t i = 0; i < CHANNELS; i++)
            for (uint32_t stride = 1; stride < 3; stride++) {
                static const uint8_t kinds[] = {FIRN_REDUCTION_F32, FIRN_REDUCTION_EVEN_ODD_BLOCKS,
                                                FIRN_REDUCTION_PAIRS};
                setting s = {.samples = 3,
                             .extent = {5, 7},
                             .groups = channels[i][0],
                             .inputs = channels[i][1],
                             .outputs = channels[i][2],
                             .kernel = {1, 1},
                             .stride = {stride, 1},
                             .dilation = {1, 1},
                             .bias = true,
                             .type = type,
                             .out_type = type};
                for (size_t k = 0; k < (type == FIRN_BFLOAT16 ? sizeof kinds : 1); k++) {
                    s.kind = kinds[k];
                    check(&s);
                }
            }
}

/* A whole image in one window, as LeNet's first dense layer. */
TEST(whole_images) {
    support_skip_without_sets();
    const setting s = {.samples = 33,
                       .extent = {5, 5},
                       .groups = 1,
                       .inputs = 16,
                       .outputs = 120,
                       .kernel = {5, 5},
                       .stride = {1, 1},
                       .dilation = {1, 1},
                       .type = FIRN_FLOAT32,
                       .out_type = FIRN_FLOAT32};
    check(&s);
}

/* --- pools -------------------------------------------------------------------------------------------------------- */

static void check_pool(const setting *s, bool special) {
    const uint32_t positions[] = {windows(s, 0), windows(s, 1)};
    firn_tensor x = tensor_new(s->type, s->samples, s->extent[0], s->extent[1], s->inputs);
    firn_tensor dy = tensor_new(s->type, s->samples, positions[0], positions[1], s->inputs), dx = tensor_copy(&x);
    test_call call = {.input_count = 2, .output_count = 1, .inputs = {dy, x}, .outputs = {dx}};
    call.integers[FIRN_MAX_POOL_BACKWARD_KERNEL] = firn_pair(s->kernel[0], s->kernel[1]);
    call.integers[FIRN_MAX_POOL_BACKWARD_STRIDE] = firn_pair(s->stride[0], s->stride[1]);
    call.integers[FIRN_MAX_POOL_BACKWARD_DILATION] = firn_pair(s->dilation[0], s->dilation[1]);
    call.integers[FIRN_MAX_POOL_BACKWARD_BEFORE] = firn_pair(s->before[0], s->before[1]);
    call.integers[FIRN_MAX_POOL_BACKWARD_AFTER] = firn_pair(s->after[0], s->after[1]);
    tensor_fill(&x, s->inputs, 2.0F);
    tensor_fill(&dy, 3, 1.0F);
    if (special) {
        tensor_sprinkle(&x, 1);
        tensor_sprinkle(&dy, 2);
    } else { /* equal elements, of which the first takes part */
        for (size_t i = 0; i < x.elements; i++)
            set(&x, i, (float)(int)get(&x, i));
    }
    compare(FIRN_OP_max_pool_backward, &call, "max_pool_backward");
    tensor_free_each(&x, &dy, &dx, (firn_tensor *)NULL);
}

TEST(max_pools) {
    support_skip_without_sets();
    static const uint32_t inputs[] = {1, 7, 8, 9, 16, 33};
    uint32_t random = 5, checked = 0;
    for (uint32_t i = 0; i < 120; i++) {
        setting s = {.samples = 1 + draw(&random, 4), .inputs = inputs[draw(&random, sizeof inputs / sizeof *inputs)]};
        s.type = draw(&random, 2) == 0 ? (uint8_t)draw(&random, 1u + last_real_type) : (uint8_t)FIRN_FLOAT32;
        draw_windows(&s, &random, 12, 4);
        if (windows(&s, 0) == 0 || windows(&s, 1) == 0)
            continue;
        check_pool(&s, i % 2 == 0);
        checked++;
    }
    assert_true(checked > 60);
}
