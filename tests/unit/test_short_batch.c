/* Tests which graphs may end an evaluation with a short batch: those of which no sample depends on another one of its
 * batch, nor on its place there. Each case is a layer between the input and the logits; firnc names the op that mixes
 * samples, refuses the graph if the job asks for a short batch, and else leaves the last samples out. */
#include <stdio.h>
#include <string.h>

#include "compiler/base/text.h"
#include "compiler/firnc.h"
#include "plan/container.h"
#include "plan/generated/reader.h"
#include "tests/unit/support_test.h"

enum { BATCH = 4, WIDTH = 6, CLASSES = 3 };

static firnc_key key;
static char message[2048];

static void keep_message(void *context, const char *line) {
    (void)context;
    snprintf(message, sizeof message, "%s", line);
}

BEFORE_ALL {
    assert_true(firnc_key_generate(&key));
}

/* --- layers: each gives a tensor of the extents of x, [BATCH,WIDTH] -------------------------------------------------
 */

static const uint8_t turned[] = {1, 0};

static firnc_value weights(firnc_graph *graph, uint8_t rank, const uint32_t *dims) {
    return firnc_parameter(graph, firnc_format("weight%u", (unsigned)dims[0]), rank, dims, (firnc_init){.a = 0.5F},
                           true);
}

static firnc_value nothing(firnc_graph *graph, firnc_value x) {
    return firnc_relu(graph, x);
}

static firnc_value transposed_twice(firnc_graph *graph, firnc_value x) {
    const firnc_value y = firnc_tanh(graph, firnc_transpose(graph, x, 2, turned));
    return firnc_transpose(graph, y, 2, turned);
}

static firnc_value reshaped(firnc_graph *graph, firnc_value x) {
    const firnc_value y = firnc_reshape(graph, x, 3, (uint32_t[]){2 * BATCH, 1, WIDTH / 2});
    return firnc_reshape(graph, firnc_softmax(graph, y), 2, (uint32_t[]){BATCH, WIDTH});
}

static firnc_value along_columns(firnc_graph *graph, firnc_value x) {
    const firnc_value y = firnc_cumulative_sum(graph, x, 1, false, false);
    return firnc_subtract(graph, y, firnc_reduce_sum(graph, x, 2, true));
}

static firnc_value multiplied_by_itself(firnc_graph *graph, firnc_value x) {
    const firnc_value column = firnc_reshape(graph, x, 3, (uint32_t[]){BATCH, WIDTH, 1});
    const firnc_value square = firnc_matmul(graph, column, column, false, true);
    return firnc_reduce_sum(graph, square, 4, false);
}

static firnc_value expanded(firnc_graph *graph, firnc_value x) {
    const firnc_value row = weights(graph, 2, (uint32_t[]){1, 2});
    const firnc_value rows = firnc_expand(graph, row, 2, (uint32_t[]){BATCH, 2});
    const firnc_value both = firnc_concat(graph, (firnc_value[]){x, rows}, 2, 1);
    return firnc_slice(graph, both, 1, 2, 1, WIDTH);
}

static firnc_value recurrent(firnc_graph *graph, firnc_value x) {
    const firnc_value steps =
        firnc_transpose(graph, firnc_reshape(graph, x, 3, (uint32_t[]){BATCH, 2, 3}), 3, (uint8_t[]){1, 0, 2});
    const firnc_value weight = weights(graph, 2, (uint32_t[]){3, 3});
    const firnc_value y = firnc_rnn(graph, steps, weight, FIRNC_NONE, (firnc_recurrent_options){0}, NULL);
    return firnc_reshape(graph, firnc_transpose(graph, y, 3, (uint8_t[]){1, 0, 2}), 2, (uint32_t[]){BATCH, WIDTH});
}

static firnc_value centred(firnc_graph *graph, firnc_value x) {
    return firnc_subtract(graph, x, firnc_reduce_sum(graph, x, 1, true));
}

static firnc_value softmax_of_columns(firnc_graph *graph, firnc_value x) {
    return firnc_transpose(graph, firnc_softmax(graph, firnc_transpose(graph, x, 2, turned)), 2, turned);
}

static firnc_value other_rows(firnc_graph *graph, firnc_value x) {
    const firnc_value y = firnc_reshape(graph, x, 2, (uint32_t[]){BATCH / 2, 2 * WIDTH});
    return firnc_reshape(graph, firnc_softmax(graph, y), 2, (uint32_t[]){BATCH, WIDTH});
}

static firnc_value normalised(firnc_graph *graph, firnc_value x) {
    const firnc_value gain = weights(graph, 1, (uint32_t[]){WIDTH});
    const float epsilon = 1e-5F;
    return firnc_op(graph, FIRN_OP_batch_norm, (firnc_value[]){x, gain, gain}, 3, NULL, &epsilon);
}

static firnc_value summed_up(firnc_graph *graph, firnc_value x) {
    return firnc_cumulative_sum(graph, x, 0, false, false);
}

static firnc_value with_noise(firnc_graph *graph, firnc_value x) {
    return firnc_add(graph, x, firnc_random_normal(graph, x));
}

static firnc_value similar(firnc_graph *graph, firnc_value x) {
    return firnc_matmul(graph, firnc_matmul(graph, x, x, false, true), x, false, false);
}

static firnc_value by_place(firnc_graph *graph, firnc_value x) {
    static const float places[BATCH * WIDTH] = {1, 2, 3};
    return firnc_multiply(graph, x,
                          firnc_constant(graph, "places", FIRN_FLOAT32, 2, (uint32_t[]){BATCH, WIDTH}, places));
}

static firnc_value other_samples(firnc_graph *graph, firnc_value x) {
    static const int32_t others[BATCH] = {1, 2, 3, 0};
    return firnc_gather(graph, x, firnc_constant(graph, "others", FIRN_INT32, 1, (uint32_t[]){BATCH}, others), 0);
}

static firnc_value recurrent_over_samples(firnc_graph *graph, firnc_value x) {
    const firnc_value steps = firnc_reshape(graph, x, 3, (uint32_t[]){BATCH, 2, 3});
    const firnc_value weight = weights(graph, 2, (uint32_t[]){3, 3});
    const firnc_value y = firnc_rnn(graph, steps, weight, FIRNC_NONE, (firnc_recurrent_options){0}, NULL);
    return firnc_reshape(graph, y, 2, (uint32_t[]){BATCH, WIDTH});
}

static firnc_value behind_one_that_mixes(firnc_graph *graph, firnc_value x) {
    return firnc_relu(graph, firnc_tanh(graph, summed_up(graph, x)));
}

/* --- layers whose samples do not lie along dimension 0, and ops that have a rule of their own --------------------- */

static firnc_value constant(firnc_graph *graph, uint8_t rank, const uint32_t *dims) {
    static const float numbers[BATCH * WIDTH * WIDTH] = {1, 2, 3};
    return firnc_constant(graph, "numbers", FIRN_FLOAT32, rank, dims, numbers);
}

static firnc_value indices(firnc_graph *graph, uint8_t rank, const uint32_t *dims) {
    static const int32_t numbers[BATCH * WIDTH] = {1, 0, 2, 1, 0, 2};
    return firnc_constant(graph, "indices", FIRN_INT32, rank, dims, numbers);
}

/* [BATCH] as a column for each element. */
static firnc_value spread(firnc_graph *graph, firnc_value of_samples) {
    const firnc_value column = firnc_reshape(graph, of_samples, 2, (uint32_t[]){BATCH, 1});
    return firnc_expand(graph, column, 2, (uint32_t[]){BATCH, WIDTH});
}

static firnc_value turn(firnc_graph *graph, firnc_value x) {
    return firnc_transpose(graph, x, 2, turned);
}

static firnc_value largest_of_rows(firnc_graph *graph, firnc_value x) {
    return spread(graph, firnc_to_float32(graph, firnc_arg_max(graph, x, 1, false)));
}

static firnc_value largest_before_the_samples(firnc_graph *graph, firnc_value x) {
    return spread(graph, firnc_to_float32(graph, firnc_arg_max(graph, turn(graph, x), 0, false)));
}

static firnc_value largest_of_samples(firnc_graph *graph, firnc_value x) {
    const firnc_value largest = firnc_to_float32(graph, firnc_arg_max(graph, x, 0, false));
    return firnc_expand(graph, largest, 2, (uint32_t[]){BATCH, WIDTH});
}

static firnc_value rows_of_a_table(firnc_graph *graph, firnc_value x) {
    const firnc_value ids = firnc_to_int32(graph, firnc_reduce_sum(graph, x, 2, false));
    return firnc_gather(graph, weights(graph, 2, (uint32_t[]){5, WIDTH}), ids, 0);
}

static firnc_value columns_of_a_table(firnc_graph *graph, firnc_value x) {
    const firnc_value ids = firnc_to_int32(graph, firnc_reduce_sum(graph, x, 2, false));
    return turn(graph, firnc_gather(graph, weights(graph, 2, (uint32_t[]){WIDTH, 5}), ids, 1));
}

static firnc_value other_columns(firnc_graph *graph, firnc_value x) {
    return firnc_gather(graph, x, indices(graph, 1, (uint32_t[]){WIDTH}), 1);
}

static firnc_value gathered_before_the_samples(firnc_graph *graph, firnc_value x) {
    const firnc_value y = firnc_gather(graph, turn(graph, x), indices(graph, 2, (uint32_t[]){2, 3}), 0);
    return firnc_reshape(graph, firnc_transpose(graph, y, 3, (uint8_t[]){2, 0, 1}), 2, (uint32_t[]){BATCH, WIDTH});
}

static firnc_value gathered_by_themselves(firnc_graph *graph, firnc_value x) {
    const firnc_value ids = firnc_to_int32(graph, firnc_reduce_sum(graph, x, 2, false));
    return firnc_expand(
        graph,
        firnc_reshape(graph, firnc_reduce_sum(graph, firnc_gather(graph, x, ids, 1), 3, false), 2, (uint32_t[]){1, 1}),
        2, (uint32_t[]){BATCH, WIDTH});
}

static firnc_value elements_of_rows(firnc_graph *graph, firnc_value x) {
    return firnc_gather_elements(graph, x, firnc_to_int32(graph, x), 1);
}

static firnc_value elements_of_columns(firnc_graph *graph, firnc_value x) {
    return firnc_gather_elements(graph, x, firnc_to_int32(graph, x), 0);
}

static firnc_value elements_by_place(firnc_graph *graph, firnc_value x) {
    return firnc_gather_elements(graph, x, indices(graph, 2, (uint32_t[]){BATCH, WIDTH}), 1);
}

static firnc_value sums_before_the_samples(firnc_graph *graph, firnc_value x) {
    return spread(graph, firnc_reduce_sum(graph, turn(graph, x), 1, false));
}

static firnc_value kept_sums_before_the_samples(firnc_graph *graph, firnc_value x) {
    return turn(graph, firnc_subtract(graph, turn(graph, x), firnc_reduce_sum(graph, turn(graph, x), 1, true)));
}

static firnc_value maxima_of_samples(firnc_graph *graph, firnc_value x) {
    return firnc_subtract(graph, x, firnc_reduce_max(graph, x, 1, true));
}

static firnc_value padded_rows(firnc_graph *graph, firnc_value x) {
    return firnc_slice(graph, firnc_pad(graph, x, 1, 1, 0, 0), 1, 0, 1, WIDTH);
}

static firnc_value padded_samples(firnc_graph *graph, firnc_value x) {
    return firnc_slice(graph, firnc_pad(graph, x, 0, 1, 0, 0), 0, 0, 1, BATCH);
}

static firnc_value sliced_samples(firnc_graph *graph, firnc_value x) {
    return firnc_slice(graph, x, 0, BATCH - 1, -1, BATCH);
}

static firnc_value joined_samples(firnc_graph *graph, firnc_value x) {
    const firnc_value both = firnc_concat(graph, (firnc_value[]){x, x}, 2, 0);
    return firnc_slice(graph, both, 0, 0, 1, BATCH);
}

static firnc_value selected(firnc_graph *graph, firnc_value x) {
    const firnc_value least = constant(graph, 2, (uint32_t[]){1, WIDTH});
    return firnc_select(graph, firnc_less(graph, x, least), x, FIRNC_NONE);
}

static firnc_value added_across(firnc_graph *graph, firnc_value x) {
    const firnc_value square = firnc_slice(graph, x, 1, 0, 1, BATCH);
    return firnc_pad(graph, firnc_add(graph, square, turn(graph, square)), 1, 0, WIDTH - BATCH, 0);
}

static firnc_value normalised_rows(firnc_graph *graph, firnc_value x) {
    const firnc_value gain = weights(graph, 1, (uint32_t[]){WIDTH});
    return firnc_layer_norm(graph, x, gain, gain, 1e-5F);
}

static firnc_value normalised_columns(firnc_graph *graph, firnc_value x) {
    const firnc_value gain = weights(graph, 1, (uint32_t[]){BATCH});
    return turn(graph, firnc_layer_norm(graph, turn(graph, x), gain, gain, 1e-5F));
}

static firnc_value turned_positions(firnc_graph *graph, firnc_value x) {
    const firnc_rotary_options options = {.heads = 1, .rotated = 1, .rotary_dim = 2, .base = 10};
    const firnc_value y = firnc_reshape(graph, x, 3, (uint32_t[]){BATCH, 3, 2});
    return firnc_reshape(graph, firnc_rotary_embedding(graph, y, options), 2, (uint32_t[]){BATCH, WIDTH});
}

static firnc_value samples_as_positions(firnc_graph *graph, firnc_value x) {
    const firnc_rotary_options options = {.heads = 1, .rotated = 1, .rotary_dim = 2, .base = 10};
    return firnc_rotary_embedding(graph, x, options);
}

static firnc_value convolved(firnc_graph *graph, firnc_value x) {
    const firnc_value kernel = weights(graph, 4, (uint32_t[]){1, 1, 3, 1});
    const firnc_value y = firnc_reshape(graph, x, 4, (uint32_t[]){BATCH, 1, WIDTH, 1});
    const firnc_windows windows = {.before = {0, 1}, .after = {0, 1}};
    return firnc_reshape(graph, firnc_conv(graph, y, kernel, FIRNC_NONE, 1, windows), 2, (uint32_t[]){BATCH, WIDTH});
}

static firnc_value convolved_samples(firnc_graph *graph, firnc_value x) {
    const firnc_value kernel = weights(graph, 4, (uint32_t[]){1, 1, 1, 1});
    const firnc_value y = firnc_reshape(graph, x, 4, (uint32_t[]){1, BATCH, WIDTH, 1});
    return firnc_reshape(graph, firnc_conv(graph, y, kernel, FIRNC_NONE, 1, (firnc_windows){0}), 2,
                         (uint32_t[]){BATCH, WIDTH});
}

/* --- attention: two positions of three elements ------------------------------------------------------------------- */

static firnc_value sequence(firnc_graph *graph, firnc_value x) {
    return firnc_reshape(graph, x, 3, (uint32_t[]){BATCH, 2, 3});
}

static firnc_value attended(firnc_graph *graph, firnc_value x) {
    const firnc_value y = sequence(graph, x), qkv = firnc_concat(graph, (firnc_value[]){y, y, y}, 3, 2);
    return firnc_reshape(graph,
                         firnc_attention(graph, qkv, (firnc_attention_options){.heads = 1, .kv_heads = 1, .scale = 1}),
                         2, (uint32_t[]){BATCH, WIDTH});
}

static firnc_value attended_samples(firnc_graph *graph, firnc_value x) {
    const firnc_value y = firnc_transpose(graph, sequence(graph, x), 3, (uint8_t[]){1, 0, 2});
    const firnc_value qkv = firnc_concat(graph, (firnc_value[]){y, y, y}, 3, 2);
    const firnc_value z = firnc_attention(graph, qkv, (firnc_attention_options){.heads = 1, .kv_heads = 1, .scale = 1});
    return firnc_reshape(graph, firnc_transpose(graph, z, 3, (uint8_t[]){1, 0, 2}), 2, (uint32_t[]){BATCH, WIDTH});
}

static firnc_value crossed(firnc_graph *graph, firnc_value x, firnc_value key_or_none, firnc_value mask) {
    const firnc_value y = sequence(graph, x), keys = key_or_none == FIRNC_NONE ? y : key_or_none;
    const firnc_value z = firnc_cross_attention(graph, y, keys, keys, mask,
                                                (firnc_attention_options){.heads = 1, .kv_heads = 1, .scale = 1});
    return firnc_reshape(graph, z, 2, (uint32_t[]){BATCH, WIDTH});
}

static firnc_value crossed_alone(firnc_graph *graph, firnc_value x) {
    return crossed(graph, x, FIRNC_NONE, FIRNC_NONE);
}

static firnc_value crossed_with_one_mask(firnc_graph *graph, firnc_value x) {
    return crossed(graph, x, FIRNC_NONE, constant(graph, 4, (uint32_t[]){1, 1, 2, 2}));
}

static firnc_value crossed_with_an_equal_mask(firnc_graph *graph, firnc_value x) {
    const firnc_value mask =
        firnc_expand(graph, constant(graph, 4, (uint32_t[]){1, 1, 2, 2}), 4, (uint32_t[]){BATCH, 1, 2, 2});
    return crossed(graph, x, FIRNC_NONE, mask);
}

static firnc_value crossed_with_masks_by_place(firnc_graph *graph, firnc_value x) {
    return crossed(graph, x, FIRNC_NONE, constant(graph, 4, (uint32_t[]){BATCH, 1, 2, 2}));
}

static firnc_value crossed_with_keys_by_place(firnc_graph *graph, firnc_value x) {
    return crossed(graph, x, constant(graph, 3, (uint32_t[]){BATCH, 2, 3}), FIRNC_NONE);
}

/* --- recurrent layers: two steps of three elements, with states --------------------------------------------------- */

static firnc_value steps_of(firnc_graph *graph, firnc_value x) {
    return firnc_transpose(graph, sequence(graph, x), 3, (uint8_t[]){1, 0, 2});
}

static firnc_value begun(firnc_graph *graph, firnc_value x, firnc_value h0) {
    const firnc_value weight = weights(graph, 2, (uint32_t[]){3, 3});
    const firnc_value y = firnc_rnn(graph, steps_of(graph, x), weight, h0, (firnc_recurrent_options){0}, NULL);
    return firnc_reshape(graph, firnc_transpose(graph, y, 3, (uint8_t[]){1, 0, 2}), 2, (uint32_t[]){BATCH, WIDTH});
}

static firnc_value begun_by_samples(firnc_graph *graph, firnc_value x) {
    return begun(graph, x, firnc_slice(graph, x, 1, 0, 1, 3));
}

static firnc_value begun_equally(firnc_graph *graph, firnc_value x) {
    const firnc_value one = weights(graph, 2, (uint32_t[]){1, 3});
    return begun(graph, x, firnc_expand(graph, one, 2, (uint32_t[]){BATCH, 3}));
}

static firnc_value begun_by_place(firnc_graph *graph, firnc_value x) {
    return begun(graph, x, constant(graph, 2, (uint32_t[]){BATCH, 3}));
}

static firnc_value last_states(firnc_graph *graph, firnc_value x) {
    firnc_value last = FIRNC_NONE;
    const firnc_value weight = weights(graph, 2, (uint32_t[]){3, 3});
    (void)firnc_rnn(graph, steps_of(graph, x), weight, FIRNC_NONE, (firnc_recurrent_options){0}, &last);
    return firnc_concat(graph, (firnc_value[]){last, last}, 2, 1);
}

/* --- products ----------------------------------------------------------------------------------------------------- */

static firnc_value product_of_rows(firnc_graph *graph, firnc_value x) {
    return firnc_matmul(graph, x, weights(graph, 2, (uint32_t[]){WIDTH, WIDTH}), false, true);
}

static firnc_value product_of_columns(firnc_graph *graph, firnc_value x) {
    return turn(graph, firnc_matmul(graph, weights(graph, 2, (uint32_t[]){WIDTH, WIDTH}), x, true, true));
}

static firnc_value product_over_samples(firnc_graph *graph, firnc_value x) {
    return firnc_slice(graph, firnc_matmul(graph, x, x, true, false), 0, 0, 1, BATCH);
}

static firnc_value product_by_place(firnc_graph *graph, firnc_value x) {
    const firnc_value y = firnc_reshape(graph, x, 3, (uint32_t[]){BATCH, 1, WIDTH});
    const firnc_value places = constant(graph, 3, (uint32_t[]){BATCH, WIDTH, WIDTH});
    return firnc_reshape(graph, firnc_matmul(graph, y, places, false, false), 2, (uint32_t[]){BATCH, WIDTH});
}

/* --- the cases ------------------------------------------------------------------------------------------------------
 */

static const struct {
    firnc_value (*layer)(firnc_graph *graph, firnc_value x);
    const char *mixing; /* the op that the message names; NULL: samples are apart */
} cases[] = {
    {nothing, NULL},
    {transposed_twice, NULL},
    {reshaped, NULL},
    {along_columns, NULL},
    {multiplied_by_itself, NULL},
    {expanded, NULL},
    {recurrent, NULL},
    {centred, "reduce_sum"},
    {softmax_of_columns, "softmax"},
    {other_rows, "reshape"},
    {normalised, "batch_norm"},
    {summed_up, "cumulative_sum"},
    {with_noise, "random_normal"},
    {similar, "matmul"},
    {by_place, "multiply"},
    {other_samples, "gather"},
    {recurrent_over_samples, "rnn"},
    {behind_one_that_mixes, "cumulative_sum"},
    {largest_of_rows, NULL},
    {largest_before_the_samples, NULL},
    {largest_of_samples, "arg_max"},
    {rows_of_a_table, NULL},
    {columns_of_a_table, NULL},
    {other_columns, NULL},
    {gathered_before_the_samples, NULL},
    {gathered_by_themselves, "gather"},
    {elements_of_rows, NULL},
    {elements_of_columns, "gather_elements"},
    {elements_by_place, "gather_elements"},
    {sums_before_the_samples, NULL},
    {kept_sums_before_the_samples, NULL},
    {maxima_of_samples, "reduce_max"},
    {padded_rows, NULL},
    {padded_samples, "pad"},
    {sliced_samples, "slice"},
    {joined_samples, "concat"},
    {selected, NULL},
    {added_across, "add"},
    {normalised_rows, NULL},
    {normalised_columns, "layer_norm"},
    {turned_positions, NULL},
    {samples_as_positions, "rotary_embedding"},
    {convolved, NULL},
    {convolved_samples, "conv"},
    {attended, NULL},
    {attended_samples, "attention"},
    {crossed_alone, NULL},
    {crossed_with_one_mask, NULL},
    {crossed_with_an_equal_mask, NULL},
    {crossed_with_masks_by_place, "cross_attention"},
    {crossed_with_keys_by_place, "cross_attention"},
    {begun_by_samples, NULL},
    {begun_equally, NULL},
    {begun_by_place, "rnn"},
    {last_states, NULL},
    {product_of_rows, NULL},
    {product_of_columns, NULL},
    {product_over_samples, "matmul"},
    {product_by_place, "matmul"},
};

/* Freezes an evaluation. Stores how the plan ends, and returns false if it is refused. */
static bool freeze_graph(firnc_graph *graph, firnc_metric metric, firnc_short_batch wanted, uint8_t *end) {
    static firnc_job job;
    firnc_job_defaults(&job, FIRNC_EVAL);
    job.data.batch_size = job.data.micro_batch_size = BATCH;
    job.metric = metric;
    job.data.short_batch = wanted;
    firnc_frozen plan;
    message[0] = '\0';
    firnc_messages_to(keep_message, NULL);
    const bool good = firnc_freeze_plan(graph, &job, &key, NULL, &plan);
    firnc_messages_to(NULL, NULL);
    if (good) {
        const firn_fb_plan root = firn_fb_plan_root((const uint8_t *)plan.file.data + FIRN_PAYLOAD_OFFSET);
        *end = firn_fb_sampler_epoch_end(firn_fb_plan_sampler(root));
    }
    return good;
}

/* Freezes an evaluation with a layer; as above. */
static bool freeze(size_t i, firnc_short_batch wanted, uint8_t *end) {
    firnc_graph *graph = firnc_graph_create("one_layer");
    firnc_graph_evaluate(graph);
    const firnc_value x = firnc_input(graph, "x", FIRN_FLOAT32, 2, (uint32_t[]){BATCH, WIDTH},
                                      (firnc_input_options){.element = FIRN_FLOAT32});
    const firnc_value labels = firnc_input(graph, "labels", FIRN_INT32, 1, (uint32_t[]){BATCH},
                                           (firnc_input_options){.stream = 1, .element = FIRN_UINT8, .limit = CLASSES});
    firnc_layer_begin(graph, "between");
    const firnc_value y = cases[i].layer(graph, x);
    firnc_layer_end(graph);
    const firnc_value head = firnc_parameter(graph, "head", 2, (uint32_t[]){CLASSES, WIDTH},
                                             (firnc_init){.rule = FIRNC_INIT_NORMAL, .b = 1}, true);
    const firnc_value logits = firnc_linear(graph, y, head, FIRNC_NONE, FIRNC_OUT_IN);
    firnc_loss(graph, firnc_cross_entropy(graph, logits, labels));
    firnc_classification(graph, logits, labels);
    return freeze_graph(graph, i % 2 == 0 ? FIRNC_METRIC_ACCURACY : FIRNC_METRIC_PERPLEXITY, wanted, end);
}

/* Expects a message that names the op, or none. */
static void expect_reason(size_t i, const char *words) {
    char wanted[120];
    snprintf(wanted, sizeof wanted, "layer between: the samples of a batch depend on one another in its op %s",
             cases[i].mixing != NULL ? cases[i].mixing : "");
    if (cases[i].mixing == NULL ? message[0] != '\0' : strstr(message, wanted) == NULL || !strstr(message, words))
        fail_msg("case %zu: \"%s\", not \"%s\"", i, message, wanted);
}

TEST(samples_that_are_apart_may_end_short) {
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        uint8_t end = UINT8_MAX;
        if (!freeze(i, FIRNC_SHORT_IF_POSSIBLE, &end))
            fail_msg("case %zu: %s", i, message);
        assert_int_equal(end, cases[i].mixing == NULL ? FIRN_FB_EPOCH_END_SHORT : FIRN_FB_EPOCH_END_STOP);
        expect_reason(i, "warning: samples at the end of the data that are fewer than a batch are left out");
        assert_int_equal(freeze(i, FIRNC_SHORT_ALWAYS, &end), cases[i].mixing == NULL);
        expect_reason(i, "the last samples cannot be counted");
        assert_true(freeze(i, FIRNC_SHORT_NEVER, &end));
        assert_int_equal(end, FIRN_FB_EPOCH_END_STOP);
        assert_string_equal(message, "");
    }
}

/* Freezes an evaluation whose rows have weights that are constants, one for each place in the batch. */
static bool freeze_weighted(firnc_metric metric, bool copied, firnc_short_batch wanted, uint8_t *end) {
    static const float weights_of_places[BATCH] = {1, 2, 3, 4};
    firnc_graph *graph = firnc_graph_create("weighted");
    firnc_graph_evaluate(graph);
    const firnc_value x = firnc_input(graph, "x", FIRN_FLOAT32, 2, (uint32_t[]){BATCH, WIDTH},
                                      (firnc_input_options){.element = FIRN_FLOAT32});
    const firnc_value labels = firnc_input(graph, "labels", FIRN_INT32, 1, (uint32_t[]){BATCH},
                                           (firnc_input_options){.stream = 1, .element = FIRN_UINT8, .limit = CLASSES});
    firnc_value by_row = firnc_constant(graph, "weights", FIRN_FLOAT32, 1, (uint32_t[]){BATCH}, weights_of_places);
    if (copied)
        by_row = firnc_relu(graph, by_row);
    const firnc_value head = firnc_parameter(graph, "head", 2, (uint32_t[]){CLASSES, WIDTH},
                                             (firnc_init){.rule = FIRNC_INIT_NORMAL, .b = 1}, true);
    const firnc_value logits = firnc_linear(graph, x, head, FIRNC_NONE, FIRNC_OUT_IN);
    firnc_loss(graph, firnc_cross_entropy_weighted(graph, logits, labels, by_row,
                                                   (firnc_cross_entropy_options){.loss_weight = 1}));
    firnc_classification(graph, logits, labels);
    firnc_row_weights(graph, by_row, -1);
    return freeze_graph(graph, metric, wanted, end);
}

/* Such a weight is no sample's: a metric would depend on where in a batch a sample is. */
TEST(row_weights_that_are_constants_may_not_end_short) {
    static const firnc_metric metrics[] = {FIRNC_METRIC_MEAN, FIRNC_METRIC_ACCURACY};
    for (size_t i = 0; i < 4; i++) {
        const bool copied = i >= 2;
        const char *why = copied ? "in its op relu" : "the metric reads weights, which is no input, and has an element";
        uint8_t end = UINT8_MAX;
        assert_true(freeze_weighted(metrics[i % 2], copied, FIRNC_SHORT_IF_POSSIBLE, &end));
        assert_int_equal(end, FIRN_FB_EPOCH_END_STOP);
        assert_non_null(
            strstr(message, "warning: samples at the end of the data that are fewer than a batch are left out"));
        assert_non_null(strstr(message, why));
        assert_false(freeze_weighted(metrics[i % 2], copied, FIRNC_SHORT_ALWAYS, &end));
        assert_non_null(strstr(message, "the last samples cannot be counted"));
        assert_non_null(strstr(message, why));
    }
}
