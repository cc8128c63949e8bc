/* Tests that every kernel set that this CPU can run gives the bits of the plain one: activations over floats of all
 * magnitudes and all values of the half types, the rotary embedding, casts, softmax cross-entropy, RMS norm, layer
 * norm, batch norm and sums over rows, over awkward widths and special values. Unavailable sets are named and skipped.
 */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "plan/bytes.h"
#include "plan/shapes/scratch.h"
#include "tests/unit/support_sets.h"
#include "tests/unit/support_test.h"
#include "tests/unit/support_workspace.h"

BEFORE_ALL {
    support_find_sets("fma avx2 avx512 neon");
}

/* Runs two ranges of the tasks, the last first. */
static void run_backwards(void *context, size_t tasks, firn_task_body body, void *argument) {
    (void)context;
    body(argument, tasks / 2, tasks);
    body(argument, 0, tasks / 2);
}

static const firn_parallel ways[] = {{0}, {.run = run_backwards, .threads = 2}};
enum { WAYS = sizeof ways / sizeof ways[0] };

/* Compares the first `compared` outputs of the op, of which the others are scratch, in every set, with its tasks
 * divided and not. Output 0 shares the memory of input `in_place` (UINT8_MAX: of none). */
static void compare_first(uint8_t compared, uint16_t code, const test_call *call, uint8_t in_place, const char *what) {
    firn_tensor expected[FIRN_OUTPUTS_MAX];
    support_run_plain(code, call, expected);
    support_compare(code, call, expected,
                    &(support_comparison){.what = what,
                                          .ways = ways,
                                          .way_count = WAYS,
                                          .in_place = in_place != UINT8_MAX,
                                          .input = in_place,
                                          .outputs = compared});
    support_free_outputs(call, expected);
}

static void compare(uint16_t code, const test_call *call, uint8_t in_place, const char *what) {
    compare_first(call->output_count, code, call, in_place, what);
}

/* --- activations -------------------------------------------------------------------------------------------------- */

/* All values of a half type; for float32, every sign and exponent and every 16,411th float. Their number does not fill
 * the last register. */
static firn_tensor all_values(uint8_t type) {
    const uint64_t step = 16411;
    const uint32_t count = type == FIRN_FLOAT32 ? (uint32_t)(((uint64_t)1 << 32) / step) : 1 << 16;
    firn_tensor tensor = tensor_new(type, count, 0, 0, 0);
    for (uint32_t i = 0; i < count; i++) {
        if (type == FIRN_FLOAT32)
            set(&tensor, i, firn_from_bits((uint32_t)(i * step)));
        else
            ((uint16_t *)tensor.data)[i] = (uint16_t)i;
    }
    tensor_sprinkle(&tensor, 3);
    return tensor;
}

TEST(activations) {
    support_skip_without_sets();
    for (uint8_t type = FIRN_FLOAT32; type <= last_real_type; type++) {
        firn_tensor x = all_values(type), dy = tensor_copy(&x), y = tensor_copy(&x);
        tensor_fill(&dy, 7, 3.0f);
        tensor_sprinkle(&dy, 11);
        test_call forward = {.input_count = 1, .output_count = 1, .inputs = {x}, .outputs = {y}};
        test_call backward = {.input_count = 2, .output_count = 1, .inputs = {dy, x}, .outputs = {y}};
        compare(FIRN_OP_tanh, &forward, UINT8_MAX, "tanh");
        compare(FIRN_OP_tanh, &forward, 0, "tanh in place");
        compare(FIRN_OP_relu, &forward, UINT8_MAX, "relu");
        compare(FIRN_OP_relu, &forward, 0, "relu in place");
        compare(FIRN_OP_relu_backward, &backward, UINT8_MAX, "relu_backward");
        compare(FIRN_OP_relu_backward, &backward, 0, "relu_backward in the place of dy");
        compare(FIRN_OP_relu_backward, &backward, 1, "relu_backward in the place of y");
        compare(FIRN_OP_add, &backward, UINT8_MAX, "add");
        compare(FIRN_OP_add, &backward, 0, "add in the place of a");
        for (int64_t form = 0; form < 2; form++) {
            forward.integers[FIRN_GELU_FORM] = backward.integers[FIRN_GELU_BACKWARD_FORM] = form;
            compare(FIRN_OP_gelu, &forward, UINT8_MAX, "gelu");
            compare(FIRN_OP_gelu_backward, &backward, UINT8_MAX, "gelu_backward");
            compare(FIRN_OP_gelu_backward, &backward, 0, "gelu_backward in the place of dy");
            compare(FIRN_OP_gelu_backward, &backward, 1, "gelu_backward in the place of x");
        }
        tensor_free_each(&x, &dy, &y, (firn_tensor *)NULL);
    }
}

/* Counts around a register and a group of registers. */
TEST(activations_of_a_few) {
    support_skip_without_sets();
    for (uint8_t type = FIRN_FLOAT32; type <= last_real_type; type++)
        for (uint32_t count = 1; count < 140; count++) {
            firn_tensor x = tensor_new(type, count, 0, 0, 0), y = tensor_copy(&x);
            tensor_fill(&x, count, 4.0f);
            test_call forward = {.input_count = 1, .output_count = 1, .inputs = {x}, .outputs = {y}};
            test_call backward = {.input_count = 2, .output_count = 1, .inputs = {x, x}, .outputs = {y}};
            compare(FIRN_OP_relu, &forward, UINT8_MAX, "relu of a few");
            compare(FIRN_OP_relu_backward, &backward, UINT8_MAX, "relu_backward of a few");
            compare(FIRN_OP_gelu, &forward, UINT8_MAX, "gelu of a few");
            compare(FIRN_OP_gelu_backward, &backward, UINT8_MAX, "gelu_backward of a few");
            tensor_free_each(&x, &y, (firn_tensor *)NULL);
        }
}

/* dy, x and dx have different types. */
TEST(activations_of_mixed_types) {
    support_skip_without_sets();
    for (uint8_t type = FIRN_FLOAT32; type <= last_real_type; type++) {
        const uint8_t next = type == last_real_type ? (uint8_t)FIRN_FLOAT32 : (uint8_t)(type + 1);
        firn_tensor x = tensor_new(type, 333, 0, 0, 0), dy = tensor_new(next, 333, 0, 0, 0);
        tensor_fill(&x, 1, 4.0f);
        tensor_fill(&dy, 2, 1.0f);
        firn_tensor y = tensor_copy(&dy);
        test_call forward = {.input_count = 1, .output_count = 1, .inputs = {x}, .outputs = {y}};
        test_call backward = {.input_count = 2, .output_count = 1, .inputs = {dy, x}, .outputs = {y}};
        compare(FIRN_OP_tanh, &forward, UINT8_MAX, "tanh");
        compare(FIRN_OP_relu, &forward, UINT8_MAX, "relu");
        compare(FIRN_OP_relu_backward, &backward, UINT8_MAX, "relu_backward");
        compare(FIRN_OP_gelu, &forward, UINT8_MAX, "gelu");
        compare(FIRN_OP_gelu_backward, &backward, UINT8_MAX, "gelu_backward");
        tensor_free_each(&x, &dy, &y, (firn_tensor *)NULL);
    }
}

/* --- rotary embedding --------------------------------------------------------------------------------------------- */

/* Both layouts of pairs, fewer and more pairs than a kernel processes at once, every rotation type, out of place and in
 * place. */
TEST(rotary_embedding) {
    support_skip_without_sets();
    static const uint32_t dims[] = {2, 6, 30, 64, 258, 300};
    for (uint8_t type = FIRN_FLOAT32; type <= last_real_type; type++)
        for (size_t i = 0; i < sizeof dims / sizeof dims[0]; i++)
            for (int64_t interleaved = 0; interleaved < 2; interleaved++) {
                firn_tensor x = tensor_new(type, 2, 7, 3 * (dims[i] + 5), 0), y = tensor_copy(&x);
                tensor_fill(&x, dims[i], 2.0f);
                tensor_sprinkle(&x, 37);
                test_call call = {.input_count = 1,
                                  .output_count = 1,
                                  .inputs = {x},
                                  .outputs = {y},
                                  .integers = {i % 2 == 0 ? type : (int64_t)FIRN_FLOAT32, 3, 2, dims[i], interleaved},
                                  .reals = {10000}};
                compare(FIRN_OP_rotary_embedding, &call, UINT8_MAX, "rotary_embedding");
                compare(FIRN_OP_rotary_embedding, &call, 0, "rotary_embedding in place");
                compare(FIRN_OP_rotary_embedding_backward, &call, UINT8_MAX, "rotary_embedding_backward");
                compare(FIRN_OP_rotary_embedding_backward, &call, 0, "rotary_embedding_backward in place");
                tensor_free_each(&x, &y, (firn_tensor *)NULL);
            }
}

/* --- conversions -------------------------------------------------------------------------------------------------- */

/* Casts between all pairs of types, over all values and for short tensors. */
TEST(casts) {
    support_skip_without_sets();
    for (uint8_t type = FIRN_FLOAT32; type <= last_real_type; type++) {
        firn_tensor x = all_values(type);
        for (uint8_t to = FIRN_FLOAT32; to <= last_real_type; to++) {
            firn_tensor y = tensor_new(to, (uint32_t)x.elements, 0, 0, 0);
            test_call call = {.input_count = 1, .output_count = 1, .inputs = {x}, .outputs = {y}};
            compare(FIRN_OP_cast, &call, UINT8_MAX, "cast");
            for (uint32_t count = 1; count < 40; count++) {
                call.inputs[0].elements = call.outputs[0].elements = count;
                call.inputs[0].dims = call.outputs[0].dims = &count;
                compare(FIRN_OP_cast, &call, UINT8_MAX, "cast of a few");
            }
            tensor_free(&y);
        }
        tensor_free(&x);
    }
}

/* So many elements that they are stored past the caches, which takes whole registers at multiples of their size. */
enum { LARGE = (1 << 23) + 1001, LINE = 64 };

/* Casts x to y, whose data lie `shift` bytes behind a line, and compares with *expected in every set. */
static void check_large_cast(const firn_tensor *x, const firn_tensor *expected, size_t shift) {
    static const uint8_t guard[LINE] = {1, 2, 3};
    const size_t bytes = LARGE * sizeof(float);
    uint8_t *memory = aligned_alloc(LINE, (size_t)firn_round_up(shift + bytes + LINE, LINE)), *data = memory + shift;
    assert_non_null(memory);
    for (int i = 0; i < WAYS * support_compared.count; i++) {
        test_call call = {.input_count = 1, .output_count = 1, .inputs = {*x}, .outputs = {*expected}};
        call.outputs[0].data = data;
        call.parallel = ways[i % WAYS];
        memset(data, 0xa5, bytes);
        memcpy(data + bytes, guard, sizeof guard);
        test_call_run(support_kernel(support_compared.found[i / WAYS].set, FIRN_OP_cast, &call), &call);
        assert_same(expected, &call.outputs[0], "large cast");
        assert_memory_equal(data + bytes, guard, sizeof guard);
    }
    free(memory);
}

TEST(large_casts) {
    support_skip_without_sets();
    for (uint8_t type = FIRN_FLOAT16; type <= last_real_type; type++) {
        firn_tensor x = tensor_new(type, LARGE, 0, 0, 0), y = tensor_new(FIRN_FLOAT32, LARGE, 0, 0, 0);
        for (size_t i = 0; i < x.elements; i++)
            ((uint16_t *)x.data)[i] = (uint16_t)i;
        test_call call = {.input_count = 1, .output_count = 1, .inputs = {x}, .outputs = {y}};
        test_call_run(support_kernel(firn_kernel_set_choose("plain"), FIRN_OP_cast, &call), &call);
        check_large_cast(&x, &y, 0);
        check_large_cast(&x, &y, (size_t)type * 16); /* tensors lie at multiples of 16, not of a line */
        tensor_free(&y);
        tensor_free(&x);
    }
}

/* --- cross-entropy ------------------------------------------------------------------------------------------------ */

static void check_cross_entropy(uint8_t type, uint32_t rows, uint32_t width, float spread, bool special) {
    firn_tensor logits = tensor_new(type, rows, width, 0, 0), labels = tensor_new(FIRN_INT32, rows, 0, 0, 0);
    firn_tensor loss = tensor_new(FIRN_FLOAT32, 1, 0, 0, 0), maxima = tensor_new(FIRN_FLOAT32, rows, 0, 0, 0);
    firn_tensor sums = tensor_copy(&maxima), seed = tensor_copy(&loss), dlogits = tensor_copy(&logits);
    tensor_fill(&logits, width, spread);
    set(&seed, 0, 0.7f);
    for (uint32_t i = 0; i < rows; i++)
        ((int32_t *)labels.data)[i] = (int32_t)((i * 7919u + width - 1) % width);
    for (uint32_t i = 0; special && i < rows; i++)
        set(&logits, (size_t)i * width + i * 31u % width,
            firn_from_bits((const uint32_t[]){0x7fc00000, 0x7f800000, 0xff800000, 0x80000000}[i % 4]));
    test_call forward = {
        .input_count = 2, .output_count = 3, .inputs = {logits, labels}, .outputs = {loss, maxima, sums}};
    compare(FIRN_OP_cross_entropy, &forward, UINT8_MAX, "cross_entropy");
    test_call_run(support_kernel(firn_kernel_set_choose("plain"), FIRN_OP_cross_entropy, &forward), &forward);
    test_call backward = {
        .input_count = 5, .output_count = 1, .inputs = {seed, logits, labels, maxima, sums}, .outputs = {dlogits}};
    compare(FIRN_OP_cross_entropy_backward, &backward, UINT8_MAX, "cross_entropy_backward");
    compare(FIRN_OP_cross_entropy_backward, &backward, 1, "cross_entropy_backward in the place of the logits");
    tensor_free_each(&logits, &labels, &loss, &maxima, &sums, &seed, &dlogits, (firn_tensor *)NULL);
}

TEST(cross_entropy) {
    support_skip_without_sets();
    static const uint32_t widths[] = {1, 2, 7, 8, 9, 10, 15, 16, 17, 63, 64, 65, 100, 255, 257, 4095, 4096, 4097, 9001};
    for (size_t i = 0; i < sizeof widths / sizeof widths[0]; i++)
        for (uint8_t type = FIRN_FLOAT32; type <= last_real_type; type++) {
            check_cross_entropy(type, 5, widths[i], 3.0f, false);
            check_cross_entropy(type, 3, widths[i], 120.0f, false);
            check_cross_entropy(type, 9, widths[i], 3.0f, true);
        }
}

/* --- RMS norm ----------------------------------------------------------------------------------------------------- */

static void check_rms_norm(uint8_t type, uint32_t width, int special) {
    enum { ROWS = 5 };
    firn_tensor x = tensor_new(type, ROWS, width, 0, 0), dy = tensor_new(type, ROWS, width, 0, 0);
    firn_tensor gain = tensor_new(FIRN_FLOAT32, width, 0, 0, 0), y = tensor_new(type, ROWS, width, 0, 0);
    firn_tensor reciprocal = tensor_new(FIRN_FLOAT32, ROWS, 0, 0, 0), dx = tensor_new(type, ROWS, width, 0, 0);
    firn_tensor dgain = tensor_new(FIRN_FLOAT32, width, 0, 0, 0);
    tensor_fill(&x, width, 3.0F);
    tensor_fill(&dy, 2, 1.0F);
    tensor_fill(&gain, 3, 2.0F);
    tensor_fill(&reciprocal, 4, 1.0F);
    if (special != 0) {
        tensor_sprinkle(&x, 1);
        tensor_sprinkle(&dy, 2);
        tensor_sprinkle(&gain, 3);
    }
    test_call call = {.input_count = 2,
                      .output_count = 2,
                      .inputs = {x, gain},
                      .outputs = {y, reciprocal},
                      .integers = {type},
                      .reals = {1e-6F}};
    compare(FIRN_OP_rms_norm, &call, UINT8_MAX, "rms_norm");
    test_call of_x = {
        .input_count = 4, .output_count = 1, .inputs = {dy, x, gain, reciprocal}, .outputs = {dx}, .integers = {type}};
    compare(FIRN_OP_rms_norm_backward, &of_x, UINT8_MAX, "rms_norm_backward");
    test_call of_gain = {
        .input_count = 3, .output_count = 1, .inputs = {dy, x, reciprocal}, .outputs = {dgain}, .integers = {type}};
    compare(FIRN_OP_rms_norm_backward_gain, &of_gain, UINT8_MAX, "rms_norm_backward_gain");
    tensor_free_each(&x, &dy, &gain, &y, &reciprocal, &dx, &dgain, (firn_tensor *)NULL);
}

TEST(rms_norm) {
    static const uint32_t widths[] = {1, 2, 63, 65, 257, 4100};
    support_skip_without_sets();
    for (size_t i = 0; i < sizeof widths / sizeof widths[0]; i++)
        for (int special = 0; special < 2; special++)
            for (uint8_t type = FIRN_FLOAT32; type <= last_real_type; type++)
                check_rms_norm(type, widths[i], special);
}

/* --- layer norm --------------------------------------------------------------------------------------------------- */

typedef struct layer {
    uint8_t x, dy, affine; /* types */
    uint32_t rows, width;
    bool special;
} layer;

static void check_layer_norm(const layer *it) {
    if (!support_takes_next())
        return;
    firn_tensor x = tensor_new(it->x, it->rows, it->width, 0, 0), dy = tensor_new(it->dy, it->rows, it->width, 0, 0);
    firn_tensor gain = tensor_new(FIRN_FLOAT32, it->width, 0, 0, 0), bias = tensor_copy(&gain), y = tensor_copy(&x);
    firn_tensor mean = tensor_new(FIRN_FLOAT32, it->rows, 0, 0, 0), reciprocal = tensor_copy(&mean);
    firn_tensor dgain = tensor_copy(&gain), dbias = tensor_copy(&gain);
    tensor_fill(&x, it->width, 3.0F);
    tensor_fill(&dy, 2, 1.0F);
    tensor_fill(&gain, 3, 2.0F);
    tensor_fill(&bias, 5, 2.0F);
    if (it->special) {
        tensor_sprinkle(&x, 1);
        tensor_sprinkle(&dy, 2);
        tensor_sprinkle(&gain, 3);
    }
    test_call call = {.input_count = 3,
                      .output_count = 3,
                      .inputs = {x, gain, bias},
                      .outputs = {y, mean, reciprocal},
                      .integers = {it->affine},
                      .reals = {1e-5F}};
    compare(FIRN_OP_layer_norm, &call, UINT8_MAX, "layer_norm");
    compare(FIRN_OP_layer_norm, &call, 0, "layer_norm in place");
    tensor_fill(&mean, 4, 1.0F);
    tensor_fill(&reciprocal, 6, 1.0F);
    test_call of_x = {.input_count = 5,
                      .output_count = 1,
                      .inputs = {dy, x, gain, mean, reciprocal},
                      .outputs = {y},
                      .integers = {it->affine}};
    compare(FIRN_OP_layer_norm_backward, &of_x, UINT8_MAX, "layer_norm_backward");
    compare(FIRN_OP_layer_norm_backward, &of_x, 1, "layer_norm_backward in the place of x");
    test_call of_affine = {.input_count = 4,
                           .output_count = 2,
                           .inputs = {dy, x, mean, reciprocal},
                           .outputs = {dgain, dbias},
                           .integers = {it->affine}};
    compare(FIRN_OP_layer_norm_backward_affine, &of_affine, UINT8_MAX, "layer_norm_backward_affine");
    tensor_free_each(&x, &dy, &gain, &bias, &y, &mean, &reciprocal, &dgain, &dbias, (firn_tensor *)NULL);
}

/* Widths around a register, the lanes and the blocks of a sum, the columns that a thread sums at a time; an affine part
 * in float32 and in a half type, and rows of dy of another type. */
TEST(layer_norm) {
    static const uint32_t widths[] = {1, 2, 7, 8, 9, 33, 63, 64, 65, 130, 257, 511, 513, 4095, 4096, 4100, 8200};
    support_skip_without_sets();
    for (size_t i = 0; i < sizeof widths / sizeof widths[0]; i++)
        for (int special = 0; special < 2; special++)
            for (uint8_t type = FIRN_FLOAT32; type <= last_real_type; type++) {
                const uint32_t rows = i % 3 == 0 ? 67 : 5;
                const layer same = {type, type, FIRN_FLOAT32, rows, widths[i], special != 0};
                const layer half = {type, type, type, rows, widths[i], special != 0};
                const layer mixed = {type, FIRN_FLOAT32, type, 5, widths[i], special != 0};
                check_layer_norm(&same);
                check_layer_norm(&half);
                check_layer_norm(&mixed);
            }
}

/* --- batch norm --------------------------------------------------------------------------------------------------- */

static void check_batch_norm(uint8_t type, uint8_t dy_type, uint32_t rows, uint32_t width, bool special) {
    if (!support_takes_next())
        return;
    const uint32_t runs = (rows - 1) / FIRN_SCRATCH_RUN_ROWS + 1;
    firn_tensor x = tensor_new(type, rows, width, 0, 0), dy = tensor_new(dy_type, rows, width, 0, 0);
    firn_tensor gain = tensor_new(FIRN_FLOAT32, width, 0, 0, 0), bias = tensor_copy(&gain), y = tensor_copy(&x);
    firn_tensor mean = tensor_copy(&gain), reciprocal = tensor_copy(&gain), variance = tensor_copy(&gain);
    firn_tensor sums = tensor_new(FIRN_FLOAT32, runs, width, 0, 0), pairs = tensor_new(FIRN_FLOAT32, runs, 2, width, 0);
    tensor_fill(&x, width, 3.0F);
    tensor_fill(&dy, 2, 1.0F);
    tensor_fill(&gain, 3, 2.0F);
    tensor_fill(&bias, 5, 2.0F);
    if (special) {
        tensor_sprinkle(&x, 1);
        tensor_sprinkle(&dy, 2);
        tensor_sprinkle(&gain, 3);
    }
    test_call call = {.input_count = 3,
                      .output_count = 5,
                      .inputs = {x, gain, bias},
                      .outputs = {y, mean, reciprocal, variance, sums},
                      .reals = {1e-5F}};
    compare_first(4, FIRN_OP_batch_norm, &call, UINT8_MAX, "batch_norm");
    compare_first(4, FIRN_OP_batch_norm, &call, 0, "batch_norm in place");
    tensor_fill(&mean, 4, 1.0F);
    tensor_fill(&reciprocal, 6, 1.0F);
    test_call backward = {.input_count = 5,
                          .output_count = 4,
                          .inputs = {dy, x, gain, mean, reciprocal},
                          .outputs = {y, variance, bias, pairs}};
    compare_first(3, FIRN_OP_batch_norm_backward, &backward, UINT8_MAX, "batch_norm_backward");
    compare_first(3, FIRN_OP_batch_norm_backward, &backward, 1, "batch_norm_backward in the place of x");
    tensor_free_each(&x, &dy, &gain, &bias, &y, &mean, &reciprocal, &variance, &sums, &pairs, (firn_tensor *)NULL);
}

/* Columns around one, two and four registers, and rows around a run of them. */
TEST(batch_norm) {
    static const uint32_t widths[] = {1, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 300};
    static const uint32_t rows[] = {1, 5, 128, 129, 300};
    support_skip_without_sets();
    for (size_t w = 0; w < sizeof widths / sizeof widths[0]; w++)
        for (size_t r = 0; r < sizeof rows / sizeof rows[0]; r++)
            for (uint8_t type = FIRN_FLOAT32; type <= last_real_type; type++) {
                check_batch_norm(type, type, rows[r], widths[w], false);
                check_batch_norm(type, type, rows[r], widths[w], true);
                check_batch_norm(type, FIRN_FLOAT32, rows[r], widths[w], false);
            }
}

/* --- sums over rows ----------------------------------------------------------------------------------------------- */

static void check_sum_leading(uint8_t type, uint8_t out_type, uint32_t rows, uint32_t width) {
    if (!support_takes_next())
        return;
    firn_tensor x = tensor_new(type, rows, width, 0, 0), y = tensor_new(out_type, width, 0, 0, 0);
    for (int special = 0; special < 2; special++) {
        tensor_fill(&x, width, 3.0F);
        if (special != 0)
            tensor_sprinkle(&x, 1);
        test_call call = {.input_count = 1, .output_count = 1, .inputs = {x}, .outputs = {y}};
        compare(FIRN_OP_sum_leading, &call, UINT8_MAX, "sum_leading");
    }
    tensor_free_each(&x, &y, (firn_tensor *)NULL);
}

TEST(sums_over_rows) {
    static const uint32_t widths[] = {1, 7, 8, 31, 32, 33, 63, 64, 65, 127, 300, 511, 512, 513, 1100};
    static const uint32_t rows[] = {1, 3, 64, 65, 130};
    support_skip_without_sets();
    for (size_t w = 0; w < sizeof widths / sizeof widths[0]; w++)
        for (size_t r = 0; r < sizeof rows / sizeof rows[0]; r++)
            for (uint8_t type = FIRN_FLOAT32; type <= last_real_type; type++) {
                check_sum_leading(type, type, rows[r], widths[w]);
                check_sum_leading(type, FIRN_FLOAT32, rows[r], widths[w]);
            }
}
