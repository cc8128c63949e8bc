/* The semantic rules: two valid plans are accepted, and each of many ways to break one of them gives the error of its
 * rule. Every broken plan still passes the FlatBuffers rules, so that nothing but plan/semantics*.c can refuse it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "plan/checks/semantics.h"
#include "plan/checks/verifier.h"
#include "plan/errors.h"
#include "tests/unit/support_plan.h"

typedef void (*plan_change)(support_plan *support);

/* What the rules say of a plan after a change; -1: as much scratch as they ask for. */
static int check_in(plan_change make, plan_change change, int64_t scratch_bytes) {
    support_plan *support = calloc(1, sizeof *support);
    assert_non_null(support);
    make(support);
    if (change != NULL)
        change(support);
    for (uint32_t i = 0; i < support->plan.phases_count; i++)
        support->header.ops += support->phases[i].ops_count;
    size_t bytes;
    uint8_t *payload = support_plan_write(support, &bytes);
    assert_non_null(payload);
    assert_int_equal(firn_fb_verify(payload, bytes), FIRN_OK);
    const uint32_t tensors = support->plan.tensors_count, state = support->plan.state_tensors;
    if (scratch_bytes < 0)
        scratch_bytes = state < tensors ? (int64_t)firn_semantics_scratch_bytes(tensors, state) : 0;
    void *scratch = malloc((size_t)scratch_bytes + 1);
    assert_non_null(scratch);
    int error = firn_semantics_check(firn_fb_plan_root(payload), &support->header, scratch, (uint64_t)scratch_bytes);
    free(scratch);
    free(payload);
    free(support);
    return error;
}

static int check(plan_change make, plan_change change) {
    return check_in(make, change, -1);
}

/* --- changes that need more than a line ------------------------------------------------------------------------- */

/* A region of constants, of that size. */
static void add_constants(support_plan *s, uint64_t bytes) {
    s->regions[2] = (firn_native_region){.kind = FIRN_FB_REGION_KIND_CONSTANT, .bytes = bytes, .alignment = 64};
    s->plan.regions_count = 3;
    s->header.constants_bytes = bytes;
}

static void use_weights(support_plan *s, uint64_t offset) {
    s->initialisers[TRAIN_WEIGHT] =
        (firn_native_initialiser){.tensor = TRAIN_WEIGHT, .rule = FIRN_FB_INITIALISER_RULE_WEIGHTS, .weights = offset};
}

static void swap_ops(support_plan *s, uint32_t a, uint32_t b) {
    firn_native_op op = s->ops[a];
    s->ops[a] = s->ops[b];
    s->ops[b] = op;
}

/* Appends a tensor like `model`, behind all others of the arena. */
static uint32_t add_tensor(support_plan *s, uint32_t model) {
    uint32_t index = s->plan.tensors_count++;
    s->tensors[index] = s->tensors[model];
    s->tensors[index].offset = s->regions[1].bytes;
    s->regions[1].bytes += 128;
    s->header.arena_bytes += 128;
    return index;
}

static void orphan(support_plan *s) {
    (void)add_tensor(s, TRAIN_LOSS);
}

/* The seed of the gradient takes a scale that is written only later. */
static void read_early(support_plan *s) {
    s->operands[TRAIN_OP_LOSS_SEED].inputs[0] = TRAIN_NORM;
}

/* The loss scale is advanced where the gradient of the loss begins. */
static void change_early(support_plan *s) {
    s->ops[TRAIN_OP_LOSS_SEED].code = FIRN_OP_advance_power;
    s->operands[TRAIN_OP_LOSS_SEED].outputs[0] = TRAIN_LOSS_SCALE;
    s->operands[TRAIN_OP_DLOGITS].inputs[0] = TRAIN_LOSS_SCALE;
}

/* A gradient lies among the constants. */
static void change_constant(support_plan *s) {
    add_constants(s, 64);
    s->tensors[TRAIN_DBIAS] = (firn_native_tensor){.name = "constant",
                                                   .role = FIRN_FB_ROLE_CONSTANT,
                                                   .region = 2,
                                                   .dims = s->dims[TRAIN_DBIAS],
                                                   .dims_count = 1,
                                                   .last = UINT32_MAX};
}

/* Opens a gap for an op at the end of phase 0, with operands of its own; what comes later moves by one. */
static support_op *insert_op(support_plan *s, const firn_native_op *model) {
    uint32_t n = s->phases[0].ops_count;
    memmove(&s->ops[n + 1], &s->ops[n], (SUPPORT_OPS - n - 1) * sizeof s->ops[0]);
    support_op *op = &s->operands[SUPPORT_OPS - 1];
    s->ops[n] = *model;
    s->ops[n].inputs = op->inputs;
    s->ops[n].outputs = op->outputs;
    s->ops[n].integers = op->integers;
    s->ops[n].reals = op->reals;
    s->phases[0].ops_count++;
    for (uint32_t i = 1; i < s->plan.phases_count; i++)
        s->phases[i].ops++;
    for (uint32_t i = s->plan.state_tensors; i < s->plan.tensors_count; i++) {
        firn_native_tensor *tensor = &s->tensors[i];
        tensor->first += tensor->first >= n;
        tensor->last += tensor->last >= n && tensor->last != UINT32_MAX;
    }
    return op;
}

/* Another op at the end of the last phase. */
static support_op *append_op(support_plan *s, uint32_t model) {
    support_op *op = &s->operands[SUPPORT_OPS - 1];
    *op = s->operands[model];
    s->ops[TRAIN_OPS] = s->ops[model];
    s->ops[TRAIN_OPS].inputs = op->inputs;
    s->ops[TRAIN_OPS].outputs = op->outputs;
    s->phases[s->plan.phases_count - 1].ops_count++;
    return op;
}

static void count_cursor(support_plan *s) {
    support_op *op = append_op(s, TRAIN_OP_COUNT_STEP);
    op->inputs[0] = op->outputs[0] = TRAIN_CURSOR;
}

/* The gradient of the weight becomes a total, to which the gradient of each micro-batch is added. */
static void accumulate(support_plan *s) {
    uint32_t gradient = add_tensor(s, TRAIN_DWEIGHT);
    support_op *op = insert_op(
        s, &(firn_native_op){.code = FIRN_OP_accumulate, .name = "total", .inputs_count = 2, .outputs_count = 1});
    op->inputs[0] = op->outputs[0] = TRAIN_DWEIGHT;
    op->inputs[1] = gradient;
    s->operands[TRAIN_OP_DWEIGHT].outputs[0] = gradient;
    s->tensors[gradient].last = TRAIN_OP_SQUARES_BIAS;
    s->tensors[TRAIN_DWEIGHT].offset = s->regions[1].bytes;
    s->tensors[TRAIN_DWEIGHT].first = 0;
    s->tensors[TRAIN_DWEIGHT].last = UINT32_MAX;
    s->regions[1].bytes += 64;
    s->header.arena_bytes += 64;
}

/* Of a single partial sum, which has the shape of a norm, factors are made without the norm. */
static void read_partial(support_plan *s) {
    s->dims[TRAIN_PARTIAL][0] = 1;
    s->tensors[TRAIN_PARTIAL].last = TRAIN_OP_FACTORS;
    s->tensors[TRAIN_FACTORS].offset = 160;
    s->operands[TRAIN_OP_SQUARES_WEIGHT].integers[0] = 0;
    s->operands[TRAIN_OP_FACTORS].inputs[1] = TRAIN_PARTIAL;
}

/* The floor is found in the update, and an op of bookkeep wants to know it. */
static void depend_on_update(support_plan *s) {
    support_op *op = append_op(s, TRAIN_OP_LOSS_SCALE);
    op->inputs[0] = TRAIN_AT_FLOOR;
    op->outputs[4] = add_tensor(s, TRAIN_AT_FLOOR);
    s->phases[2].ops_count++;
    s->phases[3].ops++;
    s->phases[3].ops_count--;
}

/* The output of the attention is cast before the loss, to a tensor of its own, whose index is returned. */
static uint32_t add_cast(support_plan *s) {
    s->phases[0].ops_count = EVAL_OP_CROSS_ENTROPY;
    uint32_t index = add_tensor(s, EVAL_Y);
    support_op *op =
        insert_op(s, &(firn_native_op){.code = FIRN_OP_cast, .name = "cast", .inputs_count = 1, .outputs_count = 1});
    s->phases[0].ops_count = EVAL_OPS + 1;
    op->inputs[0] = EVAL_Y;
    op->outputs[0] = s->operands[EVAL_OP_CROSS_ENTROPY].inputs[0] = index;
    s->tensors[EVAL_Y].last = s->tensors[index].first = EVAL_OP_CROSS_ENTROPY;
    s->tensors[index].last = EVAL_OP_CROSS_ENTROPY + 1;
    s->tensors[index].type = FIRN_FLOAT16;
    return index;
}

/* No scaling and no clipping: there is nothing to finalise. */
static void leave_out_finalise(support_plan *s) {
    s->ops[TRAIN_OP_LOSS_SEED].inputs_count = 0;
    s->phases[1] = s->phases[2];
    s->phases[2] = s->phases[3];
    s->phases[2].ops++;
    s->phases[2].ops_count--;
    s->plan.phases_count = 3;
    s->plan.tensors_count = TRAIN_PARTIAL;
    s->tensors[TRAIN_DBIAS].last = TRAIN_OP_SQUARES_BIAS;
    s->tensors[TRAIN_DWEIGHT].last = TRAIN_OP_SQUARES_BIAS + 1;
    s->ops[TRAIN_OP_SGD_BIAS].inputs_count = s->ops[TRAIN_OP_SGD_WEIGHT].inputs_count = 3;
    s->plan.loss_scaler = NULL;
    s->plan.clipping = FIRN_FB_CLIPPING_NONE;
    s->plan.clip_threshold = 0;
    s->plan.gradient_norm = UINT32_MAX;
}

/* Everything that would be in the way behind the logits. */
static void move_aside(support_plan *s) {
    s->tensors[TRAIN_ROW_MAX].offset = 288;
    s->tensors[TRAIN_ROW_SUM].offset = 304;
    s->tensors[TRAIN_DLOSS].offset = 320;
    s->tensors[TRAIN_DWEIGHT].offset = 336;
}

/* --- plans that are as good ------------------------------------------------------------------------------------- */

static void weights_at_the_end(support_plan *s) {
    use_weights(s, 64);
    s->header.constants_bytes = 64 + 60;
}

static void region_of_constants(support_plan *s) {
    add_constants(s, 64);
}

static void region_of_no_constants(support_plan *s) {
    add_constants(s, 0);
}

static void pool_above_the_arena(support_plan *s) {
    s->header.pool_bytes = s->header.arena_bytes = 4096;
}

static void static_scale_of_one(support_plan *s) {
    s->loss_scaler.kind = FIRN_FB_LOSS_SCALING_STATIC;
    s->loss_scaler.scale = UINT32_MAX;
}

static void several_micro_batches(support_plan *s) {
    accumulate(s);
    s->plan.micro_batches = 4;
    s->operands[TRAIN_OP_LOSS_SEED].reals[0] = 0.25f;
}

static void cast_beside(support_plan *s) {
    (void)add_cast(s);
}

static void float_features(support_plan *s) {
    s->inputs[0].element = FIRN_FLOAT32;
    s->inputs[0].scale = 1;
    s->inputs[0].shift = 0;
}

static void no_loss_scaling(support_plan *s) {
    s->loss_scaler.kind = FIRN_FB_LOSS_SCALING_NONE;
}

static void tensor_of_constants(support_plan *s) {
    add_constants(s, 64);
    s->dims[TRAIN_TENSORS][0] = 16;
    s->tensors[s->plan.tensors_count++] = (firn_native_tensor){.name = "constant",
                                                               .role = FIRN_FB_ROLE_CONSTANT,
                                                               .region = 2,
                                                               .dims = s->dims[TRAIN_TENSORS],
                                                               .dims_count = 1,
                                                               .last = UINT32_MAX};
}

static void all_the_data(support_plan *s) {
    s->plan.steps = 0;
}

static const struct {
    const char *name;
    plan_change make, change;
} acceptances[] = {
    {"the train plan", support_plan_train, NULL},
    {"the eval plan", support_plan_eval, NULL},
    {"weights that end with the constants", support_plan_train, weights_at_the_end},
    {"a region of constants", support_plan_train, region_of_constants},
    {"a region of no constants", support_plan_train, region_of_no_constants},
    {"a pool larger than the arena", support_plan_train, pool_above_the_arena},
    {"a static scale of 1", support_plan_train, static_scale_of_one},
    {"gradients that are accumulated", support_plan_train, several_micro_batches},
    {"no finalise phase", support_plan_train, leave_out_finalise},
    {"a cast beside its input", support_plan_eval, cast_beside},
    {"features in float32", support_plan_train, float_features},
    {"a loss scaler that does nothing", support_plan_train, no_loss_scaling},
    {"a tensor among the constants", support_plan_train, tensor_of_constants},
    {"an evaluation of all the data", support_plan_eval, all_the_data},
};

static void test_valid_plans_are_accepted(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof acceptances / sizeof acceptances[0]; i++) {
        int error = check(acceptances[i].make, acceptances[i].change);
        if (error != FIRN_OK)
            fail_msg("%s: %s", acceptances[i].name, firn_error_name(error));
    }
}

/* --- plans that are broken in one place ------------------------------------------------------------------------- */

static void numerics_of_another_version(support_plan *s) {
    s->plan.numerics_version = 2;
}

static void header_of_the_other_mode(support_plan *s) {
    s->header.mode = FIRN_MODE_EVAL;
}

static void header_with_more_ops(support_plan *s) {
    s->header.ops = 1; /* to which the plan's are added */
}

static void header_with_fewer_ops(support_plan *s) {
    s->header.ops = UINT32_MAX;
}

static void header_with_other_state_bytes(support_plan *s) {
    s->header.state_bytes += 16;
}

static void header_with_a_smaller_arena(support_plan *s) {
    s->header.arena_bytes -= 16;
}

static void header_with_an_arena_below_the_pool(support_plan *s) {
    s->header.pool_bytes = 4096;
}

static void constants_that_are_not_the_region(support_plan *s) {
    add_constants(s, 64);
    s->header.constants_bytes = 128;
}

static void region_alignment_no_power_of_two(support_plan *s) {
    s->regions[0].alignment = 48;
}

static void region_alignment_below_a_tensor_s(support_plan *s) {
    s->regions[1].alignment = 8;
}

static void region_alignment_above_the_block_s(support_plan *s) {
    s->regions[1].alignment = 128;
}

static void two_arenas(support_plan *s) {
    s->regions[2] = s->regions[1];
    s->plan.regions_count = 3;
}

static void no_arena(support_plan *s) {
    s->plan.regions_count = 1;
}

static void no_update_phase(support_plan *s) {
    s->phases[2] = s->phases[3];
    s->plan.phases_count = 3;
}

static void phases_in_another_order(support_plan *s) {
    s->phases[2].kind = FIRN_FB_PHASE_KIND_BOOKKEEP;
    s->phases[3].kind = FIRN_FB_PHASE_KIND_UPDATE;
}

static void evaluate_in_a_train_plan(support_plan *s) {
    s->phases[1].kind = FIRN_FB_PHASE_KIND_EVALUATE;
}

static void a_phase_twice(support_plan *s) {
    s->phases[4] = s->phases[3];
    s->plan.phases_count = 5;
}

static void bookkeep_in_an_eval_plan(support_plan *s) {
    s->phases[1] =
        (firn_native_phase){.kind = FIRN_FB_PHASE_KIND_BOOKKEEP, .ops = &s->ops[EVAL_OP_METRIC], .ops_count = 1};
    s->plan.phases_count = 2;
}

static void tensor_in_no_region(support_plan *s) {
    s->tensors[TRAIN_LOGITS].region = 2;
}

static void tensor_off_its_alignment(support_plan *s) {
    s->tensors[TRAIN_LOGITS].offset += 8;
}

static void tensor_that_leaves_its_region(support_plan *s) {
    s->tensors[TRAIN_DWEIGHT].offset = 240;
}

static void tensor_behind_its_region(support_plan *s) {
    s->tensors[TRAIN_DWEIGHT].offset = 1024;
}

static void tensor_whose_end_wraps(support_plan *s) {
    s->tensors[TRAIN_DWEIGHT].offset = UINT64_MAX - 15;
}

static void tensor_with_an_extent_of_0(support_plan *s) {
    s->dims[TRAIN_LOGITS][1] = 0;
}

static void tensor_whose_size_wraps(support_plan *s) {
    s->dims[TRAIN_LOGITS][0] = s->dims[TRAIN_LOGITS][1] = UINT32_MAX;
}

static void activation_in_the_state(support_plan *s) {
    s->tensors[TRAIN_SKIPPED].role = FIRN_FB_ROLE_ACTIVATION;
}

static void counter_in_the_arena(support_plan *s) {
    s->tensors[TRAIN_DLOSS].role = FIRN_FB_ROLE_COUNTER;
}

static void constant_in_the_arena(support_plan *s) {
    s->tensors[TRAIN_DLOSS].role = FIRN_FB_ROLE_CONSTANT;
}

static void parameter_in_a_half_type(support_plan *s) {
    s->tensors[TRAIN_BIAS].type = FIRN_BFLOAT16;
}

static void parameter_of_int64(support_plan *s) {
    s->tensors[TRAIN_CURSOR].role = FIRN_FB_ROLE_PARAMETER;
}

static void optimizer_state_in_a_half_type(support_plan *s) {
    s->tensors[TRAIN_LOSS_SCALE].type = FIRN_FLOAT16;
}

static void life_that_ends_before_it_begins(support_plan *s) {
    s->tensors[TRAIN_LOGITS].first = 4;
    s->tensors[TRAIN_LOGITS].last = 3;
}

static void life_beyond_the_last_op(support_plan *s) {
    s->tensors[TRAIN_DBIAS].last = TRAIN_OPS;
}

static void state_that_does_not_last(support_plan *s) {
    s->tensors[TRAIN_WEIGHT].last = 3;
}

static void life_for_ever_but_from_later(support_plan *s) {
    s->tensors[TRAIN_LOSS].first = 1;
}

static void state_out_of_order(support_plan *s) {
    s->tensors[TRAIN_BIAS].name = "fd";
}

static void state_with_a_name_twice(support_plan *s) {
    s->tensors[TRAIN_BIAS].name = "fc.weight";
}

static void name_before_its_own_beginning(support_plan *s) {
    s->tensors[TRAIN_GLOBAL_STEP].name = "counters.cursor.x";
    s->tensors[TRAIN_CURSOR].name = "counters.cursor.x.y";
}

static void fewer_state_tensors_than_there_are(support_plan *s) {
    s->plan.state_tensors--;
}

static void more_state_tensors_than_there_are(support_plan *s) {
    s->plan.state_tensors++;
}

static void more_state_tensors_than_tensors(support_plan *s) {
    s->plan.state_tensors = TRAIN_TENSORS + 1;
}

static void parameter_behind_a_counter(support_plan *s) {
    s->tensors[TRAIN_BIAS].offset = 96;
    s->tensors[TRAIN_CURSOR].offset = 0;
}

static void state_with_a_gap(support_plan *s) {
    s->tensors[TRAIN_STEPS].offset = 208;
    s->regions[0].bytes = s->header.state_bytes = 224;
}

static void state_that_overlaps(support_plan *s) {
    s->tensors[TRAIN_STEPS].offset = 176;
}

static void state_region_with_room_to_spare(support_plan *s) {
    s->regions[0].bytes = s->header.state_bytes = 224;
}

static void op_of_an_unknown_code(support_plan *s) {
    s->ops[TRAIN_OP_LINEAR].code = 28;
}

static void op_of_code_0(support_plan *s) {
    s->ops[TRAIN_OP_LINEAR].code = 0;
}

static void op_with_too_few_inputs(support_plan *s) {
    s->ops[TRAIN_OP_LINEAR].inputs_count = 1;
}

static void op_with_too_many_inputs(support_plan *s) {
    s->ops[TRAIN_OP_LINEAR].inputs_count = 4;
}

static void op_with_too_few_outputs(support_plan *s) {
    s->ops[TRAIN_OP_CROSS_ENTROPY].outputs_count = 2;
}

static void op_with_too_many_outputs(support_plan *s) {
    s->ops[TRAIN_OP_LINEAR].outputs_count = 2;
}

static void op_that_reads_no_tensor(support_plan *s) {
    s->operands[TRAIN_OP_LINEAR].inputs[1] = TRAIN_TENSORS;
}

static void op_that_writes_no_tensor(support_plan *s) {
    s->operands[TRAIN_OP_LINEAR].outputs[0] = UINT32_MAX;
}

static void op_with_an_attribute_missing(support_plan *s) {
    s->ops[TRAIN_OP_LINEAR].integers_count = 0;
}

static void op_with_an_attribute_too_many(support_plan *s) {
    s->ops[TRAIN_OP_LINEAR].reals_count = 1;
}

static void layout_that_is_none(support_plan *s) {
    s->operands[TRAIN_OP_LINEAR].integers[0] = 2;
}

static void index_beyond_the_partial_sums(support_plan *s) {
    s->operands[TRAIN_OP_SQUARES_WEIGHT].integers[0] = 2;
}

static void dropout_rate_of_1(support_plan *s) {
    s->operands[EVAL_OP_ATTENTION].reals[1] = 1;
}

static void pol_3(support_plan *s) {
    s->ops[EVAL_OP_ATTENTION].pol.level = 3;
}

static void output_of_another_extent(support_plan *s) {
    s->dims[TRAIN_LOGITS][0] = 2;
    s->dims[TRAIN_DLOGITS][0] = 2;
}

static void output_of_another_rank(support_plan *s) {
    s->tensors[TRAIN_ROW_MAX].dims_count = 2;
    s->dims[TRAIN_ROW_MAX][1] = 1;
}

static void output_of_another_type(support_plan *s) {
    s->tensors[TRAIN_LOSS].type = FIRN_INT32;
}

static void features_of_another_extent(support_plan *s) {
    s->dims[TRAIN_FEATURES][1] = 2;
}

static void reduction_missing(support_plan *s) {
    s->ops[TRAIN_OP_LINEAR].reductions_count = 0;
}

static void reduction_where_there_is_none(support_plan *s) {
    s->ops[TRAIN_OP_DBIAS].reductions_count = 1;
}

static void f32_with_chunks(support_plan *s) {
    s->operands[TRAIN_OP_LINEAR].reductions[0].chunk = 64;
}

static void f32_in_a_half_accumulator(support_plan *s) {
    s->operands[TRAIN_OP_LINEAR].reductions[0].accumulator = FIRN_FLOAT16;
}

static void chunks_of_float32_operands(support_plan *s) {
    s->operands[TRAIN_OP_LINEAR].reductions[0].kind = FIRN_FB_REDUCTION_KIND_CHUNKED;
    s->operands[TRAIN_OP_LINEAR].reductions[0].chunk = 64;
}

static void sum_rounded_to_another_type(support_plan *s) {
    s->operands[TRAIN_OP_LINEAR].reductions[0].output = FIRN_BFLOAT16;
}

static void reserved_byte_used(support_plan *s) {
    s->operands[TRAIN_OP_LINEAR].reductions[0].reserved = 1;
}

static void chunks_that_begin_elsewhere(support_plan *s) {
    s->operands[TRAIN_OP_LINEAR].reductions[0].chunk_origin = 1;
}

static void sum_that_begins_at_0(support_plan *s) {
    s->operands[TRAIN_OP_LINEAR].reductions[0].initial = -0.0f;
}

static void chunks_of_no_terms(support_plan *s) {
    s->operands[EVAL_OP_ATTENTION].reductions[0].chunk = 0;
}

static void chunks_in_another_half_type(support_plan *s) {
    s->operands[EVAL_OP_ATTENTION].reductions[1].accumulator = FIRN_FLOAT16;
}

static void scores_in_float32_under_half_softmax(support_plan *s) {
    s->operands[EVAL_OP_ATTENTION].reductions[0].output = FIRN_FLOAT32;
}

static void half_scores_under_float32_softmax(support_plan *s) {
    s->operands[EVAL_OP_ATTENTION].integers[3] = 0;
}

static void token_ids_beyond_the_table(support_plan *s) {
    s->inputs[0].limit = 8;
}

static void labels_beyond_the_classes(support_plan *s) {
    s->inputs[1].limit = 7;
}

static void labels_beyond_the_classes_in_training(support_plan *s) {
    s->inputs[1].limit = 6;
}

static void token_ids_that_are_no_input(support_plan *s) {
    s->inputs[0] = s->inputs[1];
    s->plan.inputs_count = 1;
}

static void no_samples(support_plan *s) {
    s->sampler.samples = 0;
}

static void samples_that_are_not_dimension_0(support_plan *s) {
    s->sampler.samples = 2;
}

static void everything_held_out(support_plan *s) {
    s->sampler.held_out_per_mille = 1000;
}

static void window_of_records(support_plan *s) {
    s->sampler.window = 3;
}

static void stride_of_records(support_plan *s) {
    s->sampler.stride = 1;
}

static void window_of_no_elements(support_plan *s) {
    s->sampler.window = 0;
}

static void windows_that_do_not_move(support_plan *s) {
    s->sampler.stride = 0;
}

static void window_too_short_for_the_shift(support_plan *s) {
    s->sampler.window = 3;
}

static void advance_beyond_the_window(support_plan *s) {
    s->inputs[1].advance = UINT32_MAX;
}

static void window_in_stream_1(support_plan *s) {
    s->inputs[1].stream = 1;
}

static void cursor_that_is_no_counter(support_plan *s) {
    s->sampler.cursor = TRAIN_LOSS_SCALE;
}

static void cursor_that_is_no_tensor(support_plan *s) {
    s->sampler.cursor = UINT32_MAX;
}

static void streams_with_a_gap(support_plan *s) {
    s->inputs[1].stream = 2;
}

static void streams_that_begin_at_1(support_plan *s) {
    s->inputs[0].stream = 1;
    s->inputs[1].stream = 0;
}

static void streams_shared_by_unlike_records(support_plan *s) {
    s->inputs[1].stream = 0;
}

static void tensor_filled_twice(support_plan *s) {
    s->inputs[0] = s->inputs[1];
    s->inputs[0].stream = 0;
}

static void input_without_a_tensor(support_plan *s) {
    s->inputs[0].tensor = TRAIN_TENSORS;
}

static void input_of_another_role(support_plan *s) {
    s->tensors[TRAIN_FEATURES].role = FIRN_FB_ROLE_ACTIVATION;
}

static void labels_without_a_limit(support_plan *s) {
    s->inputs[1].limit = 0;
}

static void features_with_a_limit(support_plan *s) {
    s->inputs[0].limit = 256;
}

static void labels_from_float32(support_plan *s) {
    s->inputs[1].element = FIRN_FLOAT32;
}

static void features_from_int32(support_plan *s) {
    s->inputs[0].element = FIRN_INT32;
}

static void float32_features_that_are_scaled(support_plan *s) {
    s->inputs[0].element = FIRN_FLOAT32;
}

static void labels_that_are_scaled(support_plan *s) {
    s->inputs[1].scale = 2;
}

static void input_of_a_type_that_no_data_fills(support_plan *s) {
    s->tensors[TRAIN_FEATURES].type = FIRN_FLOAT32;
    s->tensors[add_tensor(s, TRAIN_FEATURES)].type = FIRN_BFLOAT16;
    s->inputs[0].tensor = TRAIN_TENSORS;
}

static void records_with_an_advance(support_plan *s) {
    s->inputs[0].advance = 1;
}

static void schedule_of_no_steps(support_plan *s) {
    s->nodes[0].total = 0;
}

static void schedule_without_a_root(support_plan *s) {
    s->schedules[0].root = 1;
}

static void schedule_without_a_tensor(support_plan *s) {
    s->schedules[0].tensor = TRAIN_TENSORS;
}

static void schedule_into_a_result(support_plan *s) {
    s->schedules[0].tensor = TRAIN_LOSS;
}

static void schedule_that_does_not_last(support_plan *s) {
    s->tensors[TRAIN_LEARNING_RATE].last = TRAIN_OP_SGD_WEIGHT;
}

static void two_schedules_for_one_tensor(support_plan *s) {
    s->schedules[1] = s->schedules[0];
    s->plan.schedules_count = 2;
}

static void group_without_a_schedule(support_plan *s) {
    s->groups[0].schedule = 1;
}

static void group_whose_rate_is_a_decay(support_plan *s) {
    s->schedules[0].key = FIRN_FB_SCHEDULE_KEY_WEIGHT_DECAY;
}

static void group_whose_decay_is_a_rate(support_plan *s) {
    s->groups[0].decay_schedule = 0;
}

static void group_without_a_decay_schedule(support_plan *s) {
    s->groups[0].decay_schedule = 1;
}

static void group_with_a_counter(support_plan *s) {
    s->group_parameters[0] = TRAIN_CURSOR;
}

static void group_with_no_tensor(support_plan *s) {
    s->group_parameters[0] = TRAIN_TENSORS;
}

static void loss_that_is_no_scalar(support_plan *s) {
    s->outputs[0].tensor = TRAIN_ROW_MAX;
}

static void loss_that_does_not_last(support_plan *s) {
    s->tensors[TRAIN_LOSS].first = 1;
    s->tensors[TRAIN_LOSS].last = 5;
}

static void loss_that_comes_too_late(support_plan *s) {
    s->outputs[0].tensor = TRAIN_NORM;
}

static void output_without_a_tensor(support_plan *s) {
    s->outputs[1] = (firn_native_output){.name = "x", .tensor = TRAIN_TENSORS};
    s->plan.outputs_count = 2;
}

static void output_that_does_not_last(support_plan *s) {
    s->outputs[1] = (firn_native_output){.name = "x", .tensor = TRAIN_LOGITS};
    s->plan.outputs_count = 2;
}

static void loss_scale_that_is_a_parameter(support_plan *s) {
    s->loss_scaler.scale = TRAIN_BIAS;
}

static void static_scale_without_a_tensor(support_plan *s) {
    s->loss_scaler.kind = FIRN_FB_LOSS_SCALING_STATIC;
    s->loss_scaler.scale = TRAIN_TENSORS;
}

static void steps_since_rescale_in_the_arena(support_plan *s) {
    s->loss_scaler.steps_since_rescale = TRAIN_AT_FLOOR;
}

static void overflows_that_are_no_counter(support_plan *s) {
    s->loss_scaler.overflows_since_rescale = TRAIN_LOSS_SCALE;
}

static void skipped_steps_without_a_tensor(support_plan *s) {
    s->loss_scaler.skipped_steps = UINT32_MAX;
}

static void floor_in_the_state(support_plan *s) {
    s->loss_scaler.at_floor = TRAIN_STEPS;
}

static void finite_of_float32(support_plan *s) {
    s->plan.finite = TRAIN_NORM;
}

static void finite_that_nothing_computes(support_plan *s) {
    s->plan.finite = add_tensor(s, TRAIN_FINITE);
}

static void finite_known_too_late(support_plan *s) {
    s->plan.finite = TRAIN_AT_FLOOR;
}

static void gradient_norm_of_int32(support_plan *s) {
    s->plan.gradient_norm = TRAIN_FINITE;
}

static void clipping_by_a_norm_that_is_not_there(support_plan *s) {
    s->plan.gradient_norm = UINT32_MAX;
}

static void global_step_that_is_the_cursor(support_plan *s) {
    s->plan.global_step = TRAIN_CURSOR;
}

static void global_step_that_nothing_counts(support_plan *s) {
    s->plan.global_step = TRAIN_SKIPPED;
}

static void global_step_counted_by_2(support_plan *s) {
    s->operands[TRAIN_OP_COUNT_STEP].integers[0] = 2;
}

static void both_counters_in_one(support_plan *s) {
    s->plan.optimizer_step = TRAIN_GLOBAL_STEP;
}

static void metric_without_a_sum(support_plan *s) {
    s->metric.sum = EVAL_COUNT;
}

static void metric_whose_sum_is_one_number(support_plan *s) {
    s->metric.kind = FIRN_FB_METRIC_KIND_ACCURACY;
}

static void metric_that_counts_with_the_cursor(support_plan *s) {
    s->metric.count = EVAL_CURSOR;
}

static void metric_that_another_op_keeps(support_plan *s) {
    s->metric.kind = FIRN_FB_METRIC_KIND_WEIGHTED_ACCURACY;
}

static void matrix_that_is_none(support_plan *s) {
    s->metric.kind = FIRN_FB_METRIC_KIND_MEAN_IOU;
}

static void beta_of_a_mean(support_plan *s) {
    s->metric.beta = 1;
}

static void ignored_classes_of_a_mean(support_plan *s) {
    static const uint32_t none = 0;
    s->metric.ignore_classes = &none;
    s->metric.ignore_classes_count = 1;
}

static void run_of_no_steps(support_plan *s) {
    s->plan.steps = 0;
}

static void run_longer_than_a_counter(support_plan *s) {
    s->plan.steps = (uint64_t)INT64_MAX + 1;
}

static void no_micro_batches(support_plan *s) {
    s->plan.micro_batches = 0;
}

static void micro_batches_that_do_not_share_alike(support_plan *s) {
    s->plan.micro_batches = 2;
}

static void metric_that_no_op_computes(support_plan *s) {
    s->phases[0].ops_count--;
}

static void metric_in_a_train_plan(support_plan *s) {
    s->metric = (firn_native_metric){.count = TRAIN_STEPS};
    s->plan.metric = &s->metric;
}

static void clipping_without_a_threshold(support_plan *s) {
    s->plan.clip_threshold = 0;
}

static void threshold_without_clipping(support_plan *s) {
    s->plan.clipping = FIRN_FB_CLIPPING_NONE;
}

static void eval_plan_without_a_metric(support_plan *s) {
    s->plan.metric = NULL;
}

static void eval_plan_with_micro_batches(support_plan *s) {
    s->plan.micro_batches = 2;
}

static void eval_plan_with_a_loss_scaler(support_plan *s) {
    s->plan.loss_scaler = &s->loss_scaler;
}

static void eval_plan_with_a_global_step(support_plan *s) {
    s->plan.global_step = EVAL_CURSOR;
}

static void eval_plan_with_an_optimizer_step(support_plan *s) {
    s->plan.optimizer_step = 0;
}

static void eval_plan_with_finite(support_plan *s) {
    s->plan.finite = 0;
}

static void eval_plan_with_a_gradient_norm(support_plan *s) {
    s->plan.gradient_norm = 0;
}

static void eval_plan_with_clipping(support_plan *s) {
    s->plan.clipping = FIRN_FB_CLIPPING_VALUE;
    s->plan.clip_threshold = 1;
}

static void initialiser_missing(support_plan *s) {
    s->plan.initialisers_count--;
}

static void initialiser_twice(support_plan *s) {
    s->initialisers[TRAIN_BIAS] = s->initialisers[TRAIN_WEIGHT];
}

static void initialiser_of_an_activation(support_plan *s) {
    s->initialisers[TRAIN_BIAS].tensor = TRAIN_LOGITS;
}

static void counter_that_begins_at_a_half(support_plan *s) {
    s->initialisers[TRAIN_CURSOR].a = 0.5f;
}

static void counter_that_begins_too_high(support_plan *s) {
    s->initialisers[TRAIN_CURSOR].a = 0x1p63f;
}

static void counter_that_begins_at_minus_one(support_plan *s) {
    s->initialisers[TRAIN_CURSOR].a = -1;
}

static void counter_drawn_at_random(support_plan *s) {
    s->initialisers[TRAIN_CURSOR].rule = FIRN_FB_INITIALISER_RULE_UNIFORM;
}

static void negative_deviation(support_plan *s) {
    s->initialisers[TRAIN_WEIGHT].rule = FIRN_FB_INITIALISER_RULE_NORMAL;
    s->initialisers[TRAIN_WEIGHT].b = -1;
}

static void range_upside_down(support_plan *s) {
    s->initialisers[TRAIN_WEIGHT].b = -1;
}

static void random_numbers_that_numerics_md_keeps(support_plan *s) {
    s->initialisers[TRAIN_WEIGHT].rng_id = FIRN_RNG_ID_END;
}

static void constant_with_an_offset_of_weights(support_plan *s) {
    s->initialisers[TRAIN_BIAS].weights = 16;
}

static void constant_with_a_second_number(support_plan *s) {
    s->initialisers[TRAIN_BIAS].b = 1;
}

static void weights_where_there_are_none(support_plan *s) {
    use_weights(s, 0);
}

static void weights_that_leave_the_constants(support_plan *s) {
    use_weights(s, 16);
    s->header.constants_bytes = 64;
}

static void weights_whose_end_wraps(support_plan *s) {
    use_weights(s, UINT64_MAX - 15);
    s->header.constants_bytes = 64;
}

static void weights_off_their_alignment(support_plan *s) {
    use_weights(s, 4);
    s->header.constants_bytes = 128;
}

static void op_that_writes_before_its_output_lives(support_plan *s) {
    s->tensors[TRAIN_DWEIGHT].first = TRAIN_OP_DBIAS;
}

static void op_that_reads_after_its_input_died(support_plan *s) {
    s->tensors[TRAIN_DBIAS].last = TRAIN_OP_SQUARES_BIAS;
}

static void tensor_that_nothing_writes(support_plan *s) {
    swap_ops(s, TRAIN_OP_DWEIGHT, TRAIN_OP_DBIAS);
}

static void input_that_does_not_live_from_op_0(support_plan *s) {
    s->tensors[TRAIN_LABELS].first = 1;
}

static void tensor_that_begins_later_than_it_lives(support_plan *s) {
    s->tensors[TRAIN_ROW_SUM].first = 0;
}

static void persistent_tensor_that_nothing_touches(support_plan *s) {
    orphan(s);
}

static void persistent_tensor_read_first(support_plan *s) {
    read_early(s);
}

static void input_overwritten(support_plan *s) {
    s->operands[TRAIN_OP_LOSS_SEED].outputs[0] = TRAIN_LEARNING_RATE;
}

static void state_written_anew(support_plan *s) {
    s->operands[TRAIN_OP_LOSS_SEED].outputs[0] = TRAIN_LOSS_SCALE;
    s->ops[TRAIN_OP_LOSS_SEED].inputs_count = 0;
}

static void state_changed_among_micro_batches(support_plan *s) {
    change_early(s);
}

static void parameter_changed_in_finalise(support_plan *s) {
    s->phases[1].ops_count++;
    s->phases[2].ops++;
    s->phases[2].ops_count--;
}

static void constant_changed(support_plan *s) {
    change_constant(s);
}

static void cursor_counted_by_an_op(support_plan *s) {
    count_cursor(s);
}

static void optimizer_that_changes_its_gradient(support_plan *s) {
    s->operands[TRAIN_OP_SGD_BIAS].outputs[0] = TRAIN_DBIAS;
}

static void in_place_with_a_second_tensor(support_plan *s) {
    s->operands[TRAIN_OP_SGD_BIAS].inputs[0] = TRAIN_DBIAS;
}

static void operand_that_is_changed_and_read(support_plan *s) {
    s->operands[TRAIN_OP_SGD_BIAS].inputs[1] = TRAIN_BIAS;
}

static void output_that_is_twice_the_same(support_plan *s) {
    s->operands[TRAIN_OP_CROSS_ENTROPY].outputs[2] = TRAIN_ROW_MAX;
}

static void output_that_is_also_an_input(support_plan *s) {
    s->operands[TRAIN_OP_DLOGITS].outputs[0] = TRAIN_LOGITS;
}

static void tensor_written_a_second_time(support_plan *s) {
    support_op *op = insert_op(s, &s->ops[TRAIN_OP_DBIAS]);
    *op = s->operands[TRAIN_OP_DBIAS];
    s->tensors[TRAIN_DLOGITS].last = TRAIN_OP_DBIAS + 1;
}

static void partial_sum_missing(support_plan *s) {
    s->operands[TRAIN_OP_SQUARES_WEIGHT].integers[0] = 0;
}

static void partial_sums_read_before_they_are_whole(support_plan *s) {
    swap_ops(s, TRAIN_OP_SQUARES_WEIGHT, TRAIN_OP_NORM);
}

static void partial_sums_read_by_another_op(support_plan *s) {
    read_partial(s);
}

static void accumulation_that_does_not_last(support_plan *s) {
    accumulate(s);
    s->tensors[TRAIN_DWEIGHT].first = TRAIN_OP_SQUARES_BIAS;
    s->tensors[TRAIN_DWEIGHT].last = TRAIN_OP_SGD_WEIGHT + 1;
}

static void result_of_an_update_that_may_be_skipped(support_plan *s) {
    depend_on_update(s);
}

static void metric_op_that_changes_the_cursor(support_plan *s) {
    s->operands[EVAL_OP_METRIC].inputs[2] = s->operands[EVAL_OP_METRIC].outputs[1] = EVAL_CURSOR;
}

static void two_tensors_in_the_same_bytes(support_plan *s) {
    s->tensors[TRAIN_ROW_SUM].offset = s->tensors[TRAIN_ROW_MAX].offset;
}

static void tensor_inside_another(support_plan *s) {
    s->tensors[TRAIN_ROW_SUM].offset = 208;
}

static void tensor_in_the_bytes_of_an_input(support_plan *s) {
    s->tensors[TRAIN_ROW_MAX].offset = 0;
}

static void persistent_tensor_in_bytes_of_others(support_plan *s) {
    s->tensors[TRAIN_LOSS].offset = 144;
}

static void in_place_half_a_tensor_on(support_plan *s) {
    s->tensors[TRAIN_DLOGITS].offset = 192;
    s->regions[1].bytes = s->header.arena_bytes = 512;
    move_aside(s);
}

static void in_place_on_an_input_that_lives_on(support_plan *s) {
    s->tensors[TRAIN_LOGITS].last = TRAIN_OP_DWEIGHT;
}

static void in_place_where_the_op_does_not_allow_it(support_plan *s) {
    s->tensors[add_cast(s)].offset = s->tensors[EVAL_Y].offset;
}

static void in_place_of_a_tensor_that_the_op_does_not_read(support_plan *s) {
    s->tensors[TRAIN_DWEIGHT].offset = 288;
    s->tensors[TRAIN_DBIAS].offset = 144;
    s->tensors[TRAIN_DLOSS].last = TRAIN_OP_DBIAS;
    s->tensors[TRAIN_DLOSS].offset = 0;
    s->regions[1].bytes = s->header.arena_bytes = 512;
}

static void output_1_in_place_of_an_input(support_plan *s) {
    s->tensors[EVAL_HEAD_MAX].offset = 80;
}

static const struct {
    const char *name;
    plan_change make, change;
    int error;
} refusals[] = {
    {"numerics of another version", support_plan_train, numerics_of_another_version, FIRN_ERROR_NUMERICS_VERSION},
    {"header of the other mode", support_plan_train, header_of_the_other_mode, FIRN_ERROR_HEADER_MISMATCH},
    {"header with more ops", support_plan_train, header_with_more_ops, FIRN_ERROR_HEADER_MISMATCH},
    {"header with fewer ops", support_plan_train, header_with_fewer_ops, FIRN_ERROR_HEADER_MISMATCH},
    {"header with other state bytes", support_plan_train, header_with_other_state_bytes, FIRN_ERROR_HEADER_MISMATCH},
    {"header with a smaller arena", support_plan_train, header_with_a_smaller_arena, FIRN_ERROR_HEADER_MISMATCH},
    {"header with an arena below the pool", support_plan_train, header_with_an_arena_below_the_pool,
     FIRN_ERROR_HEADER_MISMATCH},
    {"constants that are not the region", support_plan_train, constants_that_are_not_the_region,
     FIRN_ERROR_HEADER_MISMATCH},
    {"region alignment no power of two", support_plan_train, region_alignment_no_power_of_two, FIRN_ERROR_REGION},
    {"region alignment below a tensor's", support_plan_train, region_alignment_below_a_tensor_s, FIRN_ERROR_REGION},
    {"region alignment above the block's", support_plan_train, region_alignment_above_the_block_s, FIRN_ERROR_REGION},
    {"two arenas", support_plan_train, two_arenas, FIRN_ERROR_REGION},
    {"no arena", support_plan_train, no_arena, FIRN_ERROR_REGION},
    {"no update phase", support_plan_train, no_update_phase, FIRN_ERROR_PHASE},
    {"phases in another order", support_plan_train, phases_in_another_order, FIRN_ERROR_PHASE},
    {"evaluate in a train plan", support_plan_train, evaluate_in_a_train_plan, FIRN_ERROR_PHASE},
    {"a phase twice", support_plan_train, a_phase_twice, FIRN_ERROR_PHASE},
    {"bookkeep in an eval plan", support_plan_eval, bookkeep_in_an_eval_plan, FIRN_ERROR_PHASE},
    {"tensor in no region", support_plan_train, tensor_in_no_region, FIRN_ERROR_TENSOR},
    {"tensor off its alignment", support_plan_train, tensor_off_its_alignment, FIRN_ERROR_TENSOR},
    {"tensor that leaves its region", support_plan_train, tensor_that_leaves_its_region, FIRN_ERROR_TENSOR},
    {"tensor behind its region", support_plan_train, tensor_behind_its_region, FIRN_ERROR_TENSOR},
    {"tensor whose end wraps", support_plan_train, tensor_whose_end_wraps, FIRN_ERROR_TENSOR},
    {"tensor with an extent of 0", support_plan_train, tensor_with_an_extent_of_0, FIRN_ERROR_TENSOR},
    {"tensor whose size wraps", support_plan_train, tensor_whose_size_wraps, FIRN_ERROR_TENSOR},
    {"activation in the state", support_plan_train, activation_in_the_state, FIRN_ERROR_TENSOR},
    {"counter in the arena", support_plan_train, counter_in_the_arena, FIRN_ERROR_TENSOR},
    {"constant in the arena", support_plan_train, constant_in_the_arena, FIRN_ERROR_TENSOR},
    {"parameter in a half type", support_plan_train, parameter_in_a_half_type, FIRN_ERROR_TENSOR},
    {"parameter of int64", support_plan_train, parameter_of_int64, FIRN_ERROR_TENSOR},
    {"optimizer state in a half type", support_plan_train, optimizer_state_in_a_half_type, FIRN_ERROR_TENSOR},
    {"life that ends before it begins", support_plan_train, life_that_ends_before_it_begins, FIRN_ERROR_TENSOR},
    {"life beyond the last op", support_plan_train, life_beyond_the_last_op, FIRN_ERROR_TENSOR},
    {"state that does not last", support_plan_train, state_that_does_not_last, FIRN_ERROR_TENSOR},
    {"life for ever but from later", support_plan_train, life_for_ever_but_from_later, FIRN_ERROR_TENSOR},
    {"state out of order", support_plan_train, state_out_of_order, FIRN_ERROR_STATE_ORDER},
    {"state with a name twice", support_plan_train, state_with_a_name_twice, FIRN_ERROR_STATE_ORDER},
    {"name before its own beginning", support_plan_train, name_before_its_own_beginning, FIRN_ERROR_STATE_ORDER},
    {"fewer state tensors than there are", support_plan_train, fewer_state_tensors_than_there_are,
     FIRN_ERROR_STATE_ORDER},
    {"more state tensors than there are", support_plan_train, more_state_tensors_than_there_are,
     FIRN_ERROR_STATE_ORDER},
    {"more state tensors than tensors", support_plan_train, more_state_tensors_than_tensors, FIRN_ERROR_STATE_ORDER},
    {"parameter behind a counter", support_plan_train, parameter_behind_a_counter, FIRN_ERROR_STATE_ORDER},
    {"state with a gap", support_plan_train, state_with_a_gap, FIRN_ERROR_STATE_ORDER},
    {"state that overlaps", support_plan_train, state_that_overlaps, FIRN_ERROR_STATE_ORDER},
    {"state region with room to spare", support_plan_train, state_region_with_room_to_spare, FIRN_ERROR_STATE_ORDER},
    {"op of an unknown code", support_plan_train, op_of_an_unknown_code, FIRN_ERROR_OP_UNKNOWN},
    {"op of code 0", support_plan_train, op_of_code_0, FIRN_ERROR_OP_UNKNOWN},
    {"op with too few inputs", support_plan_train, op_with_too_few_inputs, FIRN_ERROR_OP_OPERANDS},
    {"op with too many inputs", support_plan_train, op_with_too_many_inputs, FIRN_ERROR_OP_OPERANDS},
    {"op with too few outputs", support_plan_train, op_with_too_few_outputs, FIRN_ERROR_OP_OPERANDS},
    {"op with too many outputs", support_plan_train, op_with_too_many_outputs, FIRN_ERROR_OP_OPERANDS},
    {"op that reads no tensor", support_plan_train, op_that_reads_no_tensor, FIRN_ERROR_OP_OPERANDS},
    {"op that writes no tensor", support_plan_train, op_that_writes_no_tensor, FIRN_ERROR_OP_OPERANDS},
    {"op with an attribute missing", support_plan_train, op_with_an_attribute_missing, FIRN_ERROR_OP_ATTRIBUTE},
    {"op with an attribute too many", support_plan_train, op_with_an_attribute_too_many, FIRN_ERROR_OP_ATTRIBUTE},
    {"layout that is none", support_plan_train, layout_that_is_none, FIRN_ERROR_OP_ATTRIBUTE},
    {"index beyond the partial sums", support_plan_train, index_beyond_the_partial_sums, FIRN_ERROR_OP_ATTRIBUTE},
    {"dropout rate of 1", support_plan_eval, dropout_rate_of_1, FIRN_ERROR_OP_ATTRIBUTE},
    {"POL 3", support_plan_eval, pol_3, FIRN_ERROR_OP_ATTRIBUTE},
    {"output of another extent", support_plan_train, output_of_another_extent, FIRN_ERROR_OP_SHAPE},
    {"output of another rank", support_plan_train, output_of_another_rank, FIRN_ERROR_OP_SHAPE},
    {"output of another type", support_plan_train, output_of_another_type, FIRN_ERROR_OP_SHAPE},
    {"features of another extent", support_plan_train, features_of_another_extent, FIRN_ERROR_OP_SHAPE},
    {"reduction missing", support_plan_train, reduction_missing, FIRN_ERROR_OP_REDUCTION},
    {"reduction where there is none", support_plan_train, reduction_where_there_is_none, FIRN_ERROR_OP_REDUCTION},
    {"f32 with chunks", support_plan_train, f32_with_chunks, FIRN_ERROR_OP_REDUCTION},
    {"f32 in a half accumulator", support_plan_train, f32_in_a_half_accumulator, FIRN_ERROR_OP_REDUCTION},
    {"chunks of float32 operands", support_plan_train, chunks_of_float32_operands, FIRN_ERROR_OP_REDUCTION},
    {"sum rounded to another type", support_plan_train, sum_rounded_to_another_type, FIRN_ERROR_OP_REDUCTION},
    {"reserved byte used", support_plan_train, reserved_byte_used, FIRN_ERROR_OP_REDUCTION},
    {"chunks that begin elsewhere", support_plan_train, chunks_that_begin_elsewhere, FIRN_ERROR_OP_REDUCTION},
    {"sum that begins at -0", support_plan_train, sum_that_begins_at_0, FIRN_ERROR_OP_REDUCTION},
    {"chunks of no terms", support_plan_eval, chunks_of_no_terms, FIRN_ERROR_OP_REDUCTION},
    {"chunks in another half type", support_plan_eval, chunks_in_another_half_type, FIRN_ERROR_OP_REDUCTION},
    {"scores in float32 under half softmax", support_plan_eval, scores_in_float32_under_half_softmax,
     FIRN_ERROR_OP_REDUCTION},
    {"half scores under float32 softmax", support_plan_eval, half_scores_under_float32_softmax,
     FIRN_ERROR_OP_REDUCTION},
    {"token ids beyond the table", support_plan_eval, token_ids_beyond_the_table, FIRN_ERROR_OP_OPERANDS},
    {"labels beyond the classes", support_plan_eval, labels_beyond_the_classes, FIRN_ERROR_OP_OPERANDS},
    {"labels beyond the classes in training", support_plan_train, labels_beyond_the_classes_in_training,
     FIRN_ERROR_OP_OPERANDS},
    {"token ids that are no input", support_plan_eval, token_ids_that_are_no_input, FIRN_ERROR_OP_OPERANDS},
    {"no samples", support_plan_train, no_samples, FIRN_ERROR_SAMPLER},
    {"samples that are not dimension 0", support_plan_train, samples_that_are_not_dimension_0, FIRN_ERROR_SAMPLER},
    {"everything held out", support_plan_train, everything_held_out, FIRN_ERROR_SAMPLER},
    {"window of records", support_plan_train, window_of_records, FIRN_ERROR_SAMPLER},
    {"stride of records", support_plan_train, stride_of_records, FIRN_ERROR_SAMPLER},
    {"window of no elements", support_plan_eval, window_of_no_elements, FIRN_ERROR_SAMPLER},
    {"windows that do not move", support_plan_eval, windows_that_do_not_move, FIRN_ERROR_SAMPLER},
    {"window too short for the shift", support_plan_eval, window_too_short_for_the_shift, FIRN_ERROR_SAMPLER},
    {"advance beyond the window", support_plan_eval, advance_beyond_the_window, FIRN_ERROR_SAMPLER},
    {"window in stream 1", support_plan_eval, window_in_stream_1, FIRN_ERROR_SAMPLER},
    {"cursor that is no counter", support_plan_train, cursor_that_is_no_counter, FIRN_ERROR_SAMPLER},
    {"cursor that is no tensor", support_plan_train, cursor_that_is_no_tensor, FIRN_ERROR_SAMPLER},
    {"streams with a gap", support_plan_train, streams_with_a_gap, FIRN_ERROR_SAMPLER},
    {"streams that begin at 1", support_plan_train, streams_that_begin_at_1, FIRN_ERROR_SAMPLER},
    {"streams shared by unlike records", support_plan_train, streams_shared_by_unlike_records, FIRN_ERROR_SAMPLER},
    {"tensor filled twice", support_plan_train, tensor_filled_twice, FIRN_ERROR_SAMPLER},
    {"input without a tensor", support_plan_train, input_without_a_tensor, FIRN_ERROR_SAMPLER},
    {"input of another role", support_plan_train, input_of_another_role, FIRN_ERROR_SAMPLER},
    {"labels without a limit", support_plan_train, labels_without_a_limit, FIRN_ERROR_SAMPLER},
    {"features with a limit", support_plan_train, features_with_a_limit, FIRN_ERROR_SAMPLER},
    {"labels from float32", support_plan_train, labels_from_float32, FIRN_ERROR_SAMPLER},
    {"features from int32", support_plan_train, features_from_int32, FIRN_ERROR_SAMPLER},
    {"float32 features that are scaled", support_plan_train, float32_features_that_are_scaled, FIRN_ERROR_SAMPLER},
    {"labels that are scaled", support_plan_train, labels_that_are_scaled, FIRN_ERROR_SAMPLER},
    {"input of a type that no data fills", support_plan_train, input_of_a_type_that_no_data_fills, FIRN_ERROR_SAMPLER},
    {"records with an advance", support_plan_train, records_with_an_advance, FIRN_ERROR_SAMPLER},
    {"schedule of no steps", support_plan_train, schedule_of_no_steps, FIRN_ERROR_SCHEDULE},
    {"schedule without a root", support_plan_train, schedule_without_a_root, FIRN_ERROR_SCHEDULE},
    {"schedule without a tensor", support_plan_train, schedule_without_a_tensor, FIRN_ERROR_SCHEDULE},
    {"schedule into a result", support_plan_train, schedule_into_a_result, FIRN_ERROR_SCHEDULE},
    {"schedule that does not last", support_plan_train, schedule_that_does_not_last, FIRN_ERROR_SCHEDULE},
    {"two schedules for one tensor", support_plan_train, two_schedules_for_one_tensor, FIRN_ERROR_SCHEDULE},
    {"group without a schedule", support_plan_train, group_without_a_schedule, FIRN_ERROR_ROLE},
    {"group whose rate is a decay", support_plan_train, group_whose_rate_is_a_decay, FIRN_ERROR_ROLE},
    {"group whose decay is a rate", support_plan_train, group_whose_decay_is_a_rate, FIRN_ERROR_ROLE},
    {"group without a decay schedule", support_plan_train, group_without_a_decay_schedule, FIRN_ERROR_ROLE},
    {"group with a counter", support_plan_train, group_with_a_counter, FIRN_ERROR_ROLE},
    {"group with no tensor", support_plan_train, group_with_no_tensor, FIRN_ERROR_ROLE},
    {"loss that is no scalar", support_plan_train, loss_that_is_no_scalar, FIRN_ERROR_ROLE},
    {"loss that does not last", support_plan_train, loss_that_does_not_last, FIRN_ERROR_ROLE},
    {"loss that comes too late", support_plan_train, loss_that_comes_too_late, FIRN_ERROR_ROLE},
    {"output without a tensor", support_plan_train, output_without_a_tensor, FIRN_ERROR_ROLE},
    {"output that does not last", support_plan_train, output_that_does_not_last, FIRN_ERROR_ROLE},
    {"loss scale that is a parameter", support_plan_train, loss_scale_that_is_a_parameter, FIRN_ERROR_ROLE},
    {"static scale without a tensor", support_plan_train, static_scale_without_a_tensor, FIRN_ERROR_ROLE},
    {"steps since rescale in the arena", support_plan_train, steps_since_rescale_in_the_arena, FIRN_ERROR_ROLE},
    {"overflows that are no counter", support_plan_train, overflows_that_are_no_counter, FIRN_ERROR_ROLE},
    {"skipped steps without a tensor", support_plan_train, skipped_steps_without_a_tensor, FIRN_ERROR_ROLE},
    {"floor in the state", support_plan_train, floor_in_the_state, FIRN_ERROR_ROLE},
    {"finite of float32", support_plan_train, finite_of_float32, FIRN_ERROR_ROLE},
    {"finite that nothing computes", support_plan_train, finite_that_nothing_computes, FIRN_ERROR_ROLE},
    {"finite known too late", support_plan_train, finite_known_too_late, FIRN_ERROR_ROLE},
    {"gradient norm of int32", support_plan_train, gradient_norm_of_int32, FIRN_ERROR_ROLE},
    {"clipping by a norm that is not there", support_plan_train, clipping_by_a_norm_that_is_not_there, FIRN_ERROR_ROLE},
    {"global step that is the cursor", support_plan_train, global_step_that_is_the_cursor, FIRN_ERROR_ROLE},
    {"global step that nothing counts", support_plan_train, global_step_that_nothing_counts, FIRN_ERROR_ROLE},
    {"global step counted by 2", support_plan_train, global_step_counted_by_2, FIRN_ERROR_ROLE},
    {"both counters in one", support_plan_train, both_counters_in_one, FIRN_ERROR_ROLE},
    {"metric without a sum", support_plan_eval, metric_without_a_sum, FIRN_ERROR_ROLE},
    {"metric whose sum is one number", support_plan_eval, metric_whose_sum_is_one_number, FIRN_ERROR_ROLE},
    {"metric that another op keeps", support_plan_eval, metric_that_another_op_keeps, FIRN_ERROR_ROLE},
    {"matrix that is none", support_plan_eval, matrix_that_is_none, FIRN_ERROR_ROLE},
    {"beta of a mean", support_plan_eval, beta_of_a_mean, FIRN_ERROR_FIELD},
    {"ignored classes of a mean", support_plan_eval, ignored_classes_of_a_mean, FIRN_ERROR_FIELD},
    {"metric that counts with the cursor", support_plan_eval, metric_that_counts_with_the_cursor, FIRN_ERROR_ROLE},
    {"run of no steps", support_plan_train, run_of_no_steps, FIRN_ERROR_FIELD},
    {"run longer than a counter", support_plan_train, run_longer_than_a_counter, FIRN_ERROR_FIELD},
    {"no micro-batches", support_plan_train, no_micro_batches, FIRN_ERROR_FIELD},
    {"micro-batches that do not share alike", support_plan_train, micro_batches_that_do_not_share_alike,
     FIRN_ERROR_FIELD},
    {"metric that no op computes", support_plan_eval, metric_that_no_op_computes, FIRN_ERROR_ROLE},
    {"metric in a train plan", support_plan_train, metric_in_a_train_plan, FIRN_ERROR_FIELD},
    {"clipping without a threshold", support_plan_train, clipping_without_a_threshold, FIRN_ERROR_FIELD},
    {"threshold without clipping", support_plan_train, threshold_without_clipping, FIRN_ERROR_FIELD},
    {"eval plan without a metric", support_plan_eval, eval_plan_without_a_metric, FIRN_ERROR_FIELD},
    {"eval plan with micro-batches", support_plan_eval, eval_plan_with_micro_batches, FIRN_ERROR_FIELD},
    {"eval plan with a loss scaler", support_plan_eval, eval_plan_with_a_loss_scaler, FIRN_ERROR_FIELD},
    {"eval plan with a global step", support_plan_eval, eval_plan_with_a_global_step, FIRN_ERROR_FIELD},
    {"eval plan with an optimizer step", support_plan_eval, eval_plan_with_an_optimizer_step, FIRN_ERROR_FIELD},
    {"eval plan with finite", support_plan_eval, eval_plan_with_finite, FIRN_ERROR_FIELD},
    {"eval plan with a gradient norm", support_plan_eval, eval_plan_with_a_gradient_norm, FIRN_ERROR_FIELD},
    {"eval plan with clipping", support_plan_eval, eval_plan_with_clipping, FIRN_ERROR_FIELD},
    {"initialiser missing", support_plan_train, initialiser_missing, FIRN_ERROR_INITIALISER},
    {"initialiser twice", support_plan_train, initialiser_twice, FIRN_ERROR_INITIALISER},
    {"initialiser of an activation", support_plan_train, initialiser_of_an_activation, FIRN_ERROR_INITIALISER},
    {"counter that begins at a half", support_plan_train, counter_that_begins_at_a_half, FIRN_ERROR_INITIALISER},
    {"counter that begins too high", support_plan_train, counter_that_begins_too_high, FIRN_ERROR_INITIALISER},
    {"counter that begins at minus one", support_plan_train, counter_that_begins_at_minus_one, FIRN_ERROR_INITIALISER},
    {"counter drawn at random", support_plan_train, counter_drawn_at_random, FIRN_ERROR_INITIALISER},
    {"negative deviation", support_plan_train, negative_deviation, FIRN_ERROR_INITIALISER},
    {"range upside down", support_plan_train, range_upside_down, FIRN_ERROR_INITIALISER},
    {"random numbers that NUMERICS.md keeps", support_plan_train, random_numbers_that_numerics_md_keeps,
     FIRN_ERROR_INITIALISER},
    {"constant with an offset of weights", support_plan_train, constant_with_an_offset_of_weights,
     FIRN_ERROR_INITIALISER},
    {"constant with a second number", support_plan_train, constant_with_a_second_number, FIRN_ERROR_INITIALISER},
    {"weights where there are none", support_plan_train, weights_where_there_are_none, FIRN_ERROR_INITIALISER},
    {"weights that leave the constants", support_plan_train, weights_that_leave_the_constants, FIRN_ERROR_INITIALISER},
    {"weights whose end wraps", support_plan_train, weights_whose_end_wraps, FIRN_ERROR_INITIALISER},
    {"weights off their alignment", support_plan_train, weights_off_their_alignment, FIRN_ERROR_INITIALISER},
    {"op that writes before its output lives", support_plan_train, op_that_writes_before_its_output_lives,
     FIRN_ERROR_OP_ORDER},
    {"op that reads after its input died", support_plan_train, op_that_reads_after_its_input_died, FIRN_ERROR_OP_ORDER},
    {"tensor that nothing writes", support_plan_train, tensor_that_nothing_writes, FIRN_ERROR_OP_ORDER},
    {"input that does not live from op 0", support_plan_train, input_that_does_not_live_from_op_0, FIRN_ERROR_OP_ORDER},
    {"tensor that begins later than it lives", support_plan_train, tensor_that_begins_later_than_it_lives,
     FIRN_ERROR_OP_ORDER},
    {"persistent tensor that nothing touches", support_plan_train, persistent_tensor_that_nothing_touches,
     FIRN_ERROR_OP_ORDER},
    {"persistent tensor read first", support_plan_train, persistent_tensor_read_first, FIRN_ERROR_OP_ORDER},
    {"input overwritten", support_plan_train, input_overwritten, FIRN_ERROR_OP_ORDER},
    {"state written anew", support_plan_train, state_written_anew, FIRN_ERROR_OP_ORDER},
    {"state changed among micro-batches", support_plan_train, state_changed_among_micro_batches, FIRN_ERROR_OP_ORDER},
    {"parameter changed in finalise", support_plan_train, parameter_changed_in_finalise, FIRN_ERROR_OP_ORDER},
    {"constant changed", support_plan_train, constant_changed, FIRN_ERROR_OP_ORDER},
    {"cursor counted by an op", support_plan_train, cursor_counted_by_an_op, FIRN_ERROR_OP_ORDER},
    {"optimizer that changes its gradient", support_plan_train, optimizer_that_changes_its_gradient,
     FIRN_ERROR_OP_ORDER},
    {"in place with a second tensor", support_plan_train, in_place_with_a_second_tensor, FIRN_ERROR_OP_ORDER},
    {"operand that is changed and read", support_plan_train, operand_that_is_changed_and_read, FIRN_ERROR_OP_ORDER},
    {"output that is twice the same", support_plan_train, output_that_is_twice_the_same, FIRN_ERROR_OP_ORDER},
    {"output that is also an input", support_plan_train, output_that_is_also_an_input, FIRN_ERROR_OP_ORDER},
    {"tensor written a second time", support_plan_train, tensor_written_a_second_time, FIRN_ERROR_OP_ORDER},
    {"partial sum missing", support_plan_train, partial_sum_missing, FIRN_ERROR_OP_ORDER},
    {"partial sums read before they are whole", support_plan_train, partial_sums_read_before_they_are_whole,
     FIRN_ERROR_OP_ORDER},
    {"partial sums read by another op", support_plan_train, partial_sums_read_by_another_op, FIRN_ERROR_OP_ORDER},
    {"accumulation that does not last", support_plan_train, accumulation_that_does_not_last, FIRN_ERROR_OP_ORDER},
    {"result of an update that may be skipped", support_plan_train, result_of_an_update_that_may_be_skipped,
     FIRN_ERROR_OP_ORDER},
    {"metric op that changes the cursor", support_plan_eval, metric_op_that_changes_the_cursor, FIRN_ERROR_ROLE},
    {"two tensors in the same bytes", support_plan_train, two_tensors_in_the_same_bytes, FIRN_ERROR_OVERLAP},
    {"tensor inside another", support_plan_train, tensor_inside_another, FIRN_ERROR_OVERLAP},
    {"tensor in the bytes of an input", support_plan_train, tensor_in_the_bytes_of_an_input, FIRN_ERROR_OVERLAP},
    {"persistent tensor in bytes of others", support_plan_train, persistent_tensor_in_bytes_of_others,
     FIRN_ERROR_OVERLAP},
    {"in place, half a tensor on", support_plan_train, in_place_half_a_tensor_on, FIRN_ERROR_OVERLAP},
    {"in place on an input that lives on", support_plan_train, in_place_on_an_input_that_lives_on, FIRN_ERROR_OVERLAP},
    {"in place where the op does not allow it", support_plan_eval, in_place_where_the_op_does_not_allow_it,
     FIRN_ERROR_OVERLAP},
    {"in place of a tensor that the op does not read", support_plan_train,
     in_place_of_a_tensor_that_the_op_does_not_read, FIRN_ERROR_OVERLAP},
    {"output 1 in place of an input", support_plan_eval, output_1_in_place_of_an_input, FIRN_ERROR_OVERLAP},
};

static void test_broken_plans_are_refused(void **state) {
    (void)state;
    int wrong = 0;
    for (size_t i = 0; i < sizeof refusals / sizeof refusals[0]; i++) {
        int error = check(refusals[i].make, refusals[i].change);
        if (error == refusals[i].error)
            continue;
        print_message("%s: %s, not %s\n", refusals[i].name, firn_error_name(error), firn_error_name(refusals[i].error));
        wrong++;
    }
    assert_int_equal(wrong, 0);
}

/* --- overlaps, against the rule as it stands in FORMAT.md --------------------------------------------------------- */

static bool works_in_place(const support_plan *s, uint32_t a, uint32_t b) {
    const firn_native_tensor *dies = &s->tensors[a], *born = &s->tensors[b];
    if (dies->last != born->first || dies->last == UINT32_MAX || dies->type != born->type)
        return false;
    const firn_native_op *op = &s->ops[dies->last];
    if (dies->offset != born->offset || op->outputs[0] != b)
        return false;
    bool reads = false;
    for (uint32_t i = 0; i < op->inputs_count; i++)
        if (op->inputs[i] == a) {
            reads = true;
            if ((firn_op_find(op->code)->in_place >> i & 1) == 0)
                return false;
        }
    return reads;
}

static uint64_t bytes_of(const firn_native_tensor *tensor) {
    uint64_t bytes = firn_type_bytes(tensor->type);
    for (uint32_t i = 0; i < tensor->dims_count; i++)
        bytes *= tensor->dims[i];
    return bytes;
}

/* Every pair. */
static bool has_overlap(const support_plan *s) {
    for (uint32_t a = s->plan.state_tensors; a < s->plan.tensors_count; a++)
        for (uint32_t b = s->plan.state_tensors; b < s->plan.tensors_count; b++) {
            const firn_native_tensor *left = &s->tensors[a], *right = &s->tensors[b];
            if (a == b || left->first > right->last || right->first > left->last || left->offset > right->offset ||
                right->offset - left->offset >= bytes_of(left))
                continue;
            bool same = left->offset == right->offset && bytes_of(left) == bytes_of(right);
            if (!same || (!works_in_place(s, a, b) && !works_in_place(s, b, a)))
                return true;
        }
    return false;
}

static uint32_t places_seed;
static bool places_overlap;

/* Some tensors of the arena go where another one is, or anywhere. */
static void other_places(support_plan *s) {
    const uint32_t state = s->plan.state_tensors, count = s->plan.tensors_count - state;
    uint32_t random = places_seed;
    s->regions[1].bytes = s->header.arena_bytes = 65536;
    for (uint32_t moved = 0; moved <= places_seed % 4; moved++) {
        random = random * 1664525u + 1013904223u;
        firn_native_tensor *tensor = &s->tensors[state + (random >> 8) % count];
        random = random * 1664525u + 1013904223u;
        tensor->offset = random >> 31 != 0 ? s->tensors[state + (random >> 8) % count].offset : (random >> 8) % 80 * 16;
    }
    places_overlap = has_overlap(s);
}

static void overlaps_are_what_the_rule_says(void **state) {
    (void)state;
    unsigned found = 0, tried = 20000;
    for (places_seed = 1; places_seed <= tried; places_seed++) {
        int error = check(places_seed % 3 == 0 ? support_plan_eval : support_plan_train, other_places);
        if (error != (places_overlap ? FIRN_ERROR_OVERLAP : FIRN_OK))
            fail_msg("seed %u: %s, but overlap is %d", places_seed, firn_error_name(error), places_overlap);
        found += places_overlap;
    }
    print_message("%u of %u plans overlap\n", found, tried);
    assert_true(found > tried / 100 && found < tried - tried / 100);
}

static void scratch_is_held_to_its_size(void **state) {
    (void)state;
    support_plan *s = calloc(1, sizeof *s);
    assert_non_null(s);
    support_plan_train(s);
    int64_t needed = (int64_t)firn_semantics_scratch_bytes(s->plan.tensors_count, s->plan.state_tensors);
    assert_int_equal(needed, 4 * (s->plan.tensors_count - s->plan.state_tensors));
    free(s);
    assert_int_equal(check_in(support_plan_train, NULL, needed), FIRN_OK);
    for (int64_t less = 0; less < needed; less++)
        assert_int_equal(check_in(support_plan_train, NULL, less), FIRN_ERROR_POOL_TOO_SMALL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_valid_plans_are_accepted),
        cmocka_unit_test(test_broken_plans_are_refused),
        cmocka_unit_test(overlaps_are_what_the_rule_says),
        cmocka_unit_test(scratch_is_held_to_its_size),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
