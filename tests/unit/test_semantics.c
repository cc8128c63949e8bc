/* Tests the semantic rules: two valid plans are accepted, and each of many ways to break one gives the error of the
 * broken rule. Every broken plan still passes the FlatBuffers rules, so that only plan/semantics*.c can refuse it. */
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

/* Sets one field of a support_plan to a value, or adds the value to it (modulo the field's range). */
typedef struct plan_edit {
    size_t at, bytes; /* bytes 0: no edit */
    uint64_t value;
    float real;
    enum { EDIT_SET, EDIT_REAL, EDIT_ADD } how;
} plan_edit;

/* These must be macros, because offsetof is one. */
#define AT(field) offsetof(support_plan, field), sizeof(((support_plan *)NULL)->field)
#define SET(field, natural)                                                                                            \
    { AT(field), (uint64_t)(natural), 0, EDIT_SET }
#define SET_REAL(field, real)                                                                                          \
    { AT(field), 0, (float)(real), EDIT_REAL }
#define ADD(field, difference)                                                                                         \
    { AT(field), (uint64_t)(difference), 0, EDIT_ADD }

/* One of the two plans and its changes: edits, then a function for changes that edits cannot express. */
typedef struct plan_case {
    const char *name;
    enum { TRAIN, EVAL } plan;
    plan_edit edits[3];
    void (*change)(support_plan *support); /* NULL: none */
} plan_case;

/* Copies the low bytes of the number first: every host that runs the tests is little-endian. */
static void apply(support_plan *support, const plan_edit *edit) {
    unsigned char *at = (unsigned char *)support + edit->at;
    uint64_t value = 0;
    if (edit->how == EDIT_ADD)
        memcpy(&value, at, edit->bytes);
    value += edit->value;
    memcpy(at, edit->how == EDIT_REAL ? (const void *)&edit->real : &value, edit->bytes);
}

/* Returns the result of the semantic check after a change. scratch_bytes: size of the scratch; -1: as much as the check
 * requires. */
static int check_in(const plan_case *c, int64_t scratch_bytes) {
    support_plan *support = calloc(1, sizeof *support);
    assert_non_null(support);
    (c->plan == TRAIN ? support_plan_train : support_plan_eval)(support);
    for (size_t i = 0; i < sizeof c->edits / sizeof c->edits[0]; i++)
        apply(support, &c->edits[i]);
    if (c->change != NULL)
        c->change(support);
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

static int check(const plan_case *c) {
    return check_in(c, -1);
}

/* --- changes that need more than a line ------------------------------------------------------------------------- */

/* Adds a region of constants with the given size. */
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

/* Appends a copy of tensor `model`, placed behind all other tensors of the arena. */
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

/* The gradient of the loss is initialised from a scale that is written only later. */
static void read_early(support_plan *s) {
    s->operands[TRAIN_OP_LOSS_SEED].inputs[0] = TRAIN_NORM;
}

/* The loss scale is updated in the op that should initialise the gradient of the loss. */
static void change_early(support_plan *s) {
    s->ops[TRAIN_OP_LOSS_SEED].code = FIRN_OP_advance_power;
    s->operands[TRAIN_OP_LOSS_SEED].outputs[0] = TRAIN_LOSS_SCALE;
    s->operands[TRAIN_OP_DLOGITS].inputs[0] = TRAIN_LOSS_SCALE;
}

/* Moves a gradient into the constants. */
static void change_constant(support_plan *s) {
    add_constants(s, 64);
    s->tensors[TRAIN_DBIAS] = (firn_native_tensor){.name = "constant",
                                                   .role = FIRN_FB_ROLE_CONSTANT,
                                                   .region = 2,
                                                   .dims = s->dims[TRAIN_DBIAS],
                                                   .dims_count = 1,
                                                   .last = UINT32_MAX};
}

/* Inserts an op with new operands at the end of phase 0; later ops move by one. */
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

/* Appends another op to the last phase. */
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

/* Makes the gradient of the weight a total to which the gradient of each micro-batch is added. */
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

/* Computes factors from a single partial sum, which has the shape of the norm, instead of the norm. */
static void read_partial(support_plan *s) {
    s->dims[TRAIN_PARTIAL][0] = 1;
    s->tensors[TRAIN_PARTIAL].last = TRAIN_OP_FACTORS;
    s->tensors[TRAIN_FACTORS].offset = 160;
    s->operands[TRAIN_OP_SQUARES_WEIGHT].integers[0] = 0;
    s->operands[TRAIN_OP_FACTORS].inputs[1] = TRAIN_PARTIAL;
}

/* The floor flag is computed in the update phase and read by an op of the bookkeep phase. */
static void depend_on_update(support_plan *s) {
    support_op *op = append_op(s, TRAIN_OP_LOSS_SCALE);
    op->inputs[0] = TRAIN_AT_FLOOR;
    op->outputs[4] = add_tensor(s, TRAIN_AT_FLOOR);
    s->phases[2].ops_count++;
    s->phases[3].ops++;
    s->phases[3].ops_count--;
}

/* Casts the output of the attention before the loss, to a new tensor, whose index is returned. */
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

/* Removes scaling and clipping, so that nothing is left to finalise. */
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

/* Moves the tensors that lie directly behind the logits. */
static void move_aside(support_plan *s) {
    s->tensors[TRAIN_ROW_MAX].offset = 288;
    s->tensors[TRAIN_ROW_SUM].offset = 304;
    s->tensors[TRAIN_DLOSS].offset = 320;
    s->tensors[TRAIN_DWEIGHT].offset = 336;
}

/* --- other valid plans -------------------------------------------------------------------------------------------- */

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

static void several_micro_batches(support_plan *s) {
    accumulate(s);
    s->plan.micro_batches = 4;
    s->operands[TRAIN_OP_LOSS_SEED].reals[0] = 0.25f;
}

static void cast_beside(support_plan *s) {
    (void)add_cast(s);
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

static const plan_case acceptances[] = {
    {"the train plan", TRAIN, .change = NULL},
    {"the eval plan", EVAL, .change = NULL},
    {"weights that end with the constants", TRAIN, .change = weights_at_the_end},
    {"a region of constants", TRAIN, .change = region_of_constants},
    {"a region of no constants", TRAIN, .change = region_of_no_constants},
    {"a pool larger than the arena", TRAIN, .edits = {SET(header.pool_bytes, 4096), SET(header.arena_bytes, 4096)}},
    {"a static scale of 1", TRAIN,
     .edits = {SET(loss_scaler.kind, FIRNC_SCALING_STATIC), SET(loss_scaler.scale, UINT32_MAX)}},
    {"gradients that are accumulated", TRAIN, .change = several_micro_batches},
    {"no finalise phase", TRAIN, .change = leave_out_finalise},
    {"a cast beside its input", EVAL, .change = cast_beside},
    {"features in float32", TRAIN,
     .edits = {SET(inputs[0].element, FIRN_FLOAT32), SET_REAL(inputs[0].scale, 1), SET_REAL(inputs[0].shift, 0)}},
    {"a loss scaler that does nothing", TRAIN, .edits = {SET(loss_scaler.kind, FIRNC_SCALING_NONE)}},
    {"a tensor among the constants", TRAIN, .change = tensor_of_constants},
    {"an evaluation of all the data", EVAL, .edits = {SET(plan.steps, 0)}},
    {"gradients clipped by norm and not scaled", TRAIN,
     .edits = {SET(operands[TRAIN_OP_FACTORS].inputs[0], FIRN_ABSENT)}},
};

static void test_valid_plans_are_accepted(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof acceptances / sizeof acceptances[0]; i++) {
        int error = check(&acceptances[i]);
        if (error != FIRN_OK)
            fail_msg("%s: %s", acceptances[i].name, firn_error_name(error));
    }
}

/* --- plans that are broken in one place ------------------------------------------------------------------------- */

static void constants_that_are_not_the_region(support_plan *s) {
    add_constants(s, 64);
    s->header.constants_bytes = 128;
}

static void two_arenas(support_plan *s) {
    s->regions[2] = s->regions[1];
    s->plan.regions_count = 3;
}

static void no_update_phase(support_plan *s) {
    s->phases[2] = s->phases[3];
    s->plan.phases_count = 3;
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

static void token_ids_that_are_no_input(support_plan *s) {
    s->inputs[0] = s->inputs[1];
    s->plan.inputs_count = 1;
}

static void tensor_filled_twice(support_plan *s) {
    s->inputs[0] = s->inputs[1];
    s->inputs[0].stream = 0;
}

static void input_of_a_type_that_no_data_fills(support_plan *s) {
    s->tensors[TRAIN_FEATURES].type = FIRN_FLOAT32;
    s->tensors[add_tensor(s, TRAIN_FEATURES)].type = FIRN_BFLOAT16;
    s->inputs[0].tensor = TRAIN_TENSORS;
}

static void two_schedules_for_one_tensor(support_plan *s) {
    s->schedules[1] = s->schedules[0];
    s->plan.schedules_count = 2;
}

static void output_without_a_tensor(support_plan *s) {
    s->outputs[1] = (firn_native_output){.name = "x", .tensor = TRAIN_TENSORS};
    s->plan.outputs_count = 2;
}

static void output_that_does_not_last(support_plan *s) {
    s->outputs[1] = (firn_native_output){.name = "x", .tensor = TRAIN_LOGITS};
    s->plan.outputs_count = 2;
}

static void finite_that_nothing_computes(support_plan *s) {
    s->plan.finite = add_tensor(s, TRAIN_FINITE);
}

static void ignored_classes_of_a_mean(support_plan *s) {
    static const uint32_t none = 0;
    s->metric.ignore_classes = &none;
    s->metric.ignore_classes_count = 1;
}

static void metric_in_a_train_plan(support_plan *s) {
    s->metric = (firn_native_metric){.count = TRAIN_STEPS};
    s->plan.metric = &s->metric;
}

static void eval_plan_without_a_metric(support_plan *s) {
    s->plan.metric = NULL;
}

static void eval_plan_with_a_loss_scaler(support_plan *s) {
    s->plan.loss_scaler = &s->loss_scaler;
}

static void initialiser_twice(support_plan *s) {
    s->initialisers[TRAIN_BIAS] = s->initialisers[TRAIN_WEIGHT];
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

static void tensor_that_nothing_writes(support_plan *s) {
    swap_ops(s, TRAIN_OP_DWEIGHT, TRAIN_OP_DBIAS);
}

static void parameter_changed_in_finalise(support_plan *s) {
    s->phases[1].ops_count++;
    s->phases[2].ops++;
    s->phases[2].ops_count--;
}

static void tensor_written_a_second_time(support_plan *s) {
    support_op *op = insert_op(s, &s->ops[TRAIN_OP_DBIAS]);
    *op = s->operands[TRAIN_OP_DBIAS];
    s->tensors[TRAIN_DLOGITS].last = TRAIN_OP_DBIAS + 1;
}

static void partial_sums_read_before_they_are_whole(support_plan *s) {
    swap_ops(s, TRAIN_OP_SQUARES_WEIGHT, TRAIN_OP_NORM);
}

static void accumulation_that_does_not_last(support_plan *s) {
    accumulate(s);
    s->tensors[TRAIN_DWEIGHT].first = TRAIN_OP_SQUARES_BIAS;
    s->tensors[TRAIN_DWEIGHT].last = TRAIN_OP_SGD_WEIGHT + 1;
}

static void two_tensors_in_the_same_bytes(support_plan *s) {
    s->tensors[TRAIN_ROW_SUM].offset = s->tensors[TRAIN_ROW_MAX].offset;
}

static void in_place_half_a_tensor_on(support_plan *s) {
    s->tensors[TRAIN_DLOGITS].offset = 192;
    s->regions[1].bytes = s->header.arena_bytes = 512;
    move_aside(s);
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

static const plan_case numerics_version_cases[] = {
    {"numerics of another version", TRAIN, .edits = {SET(plan.numerics_version, 2)}},
};

static const plan_case header_mismatch_cases[] = {
    {"header of the other mode", TRAIN, .edits = {SET(header.mode, FIRN_MODE_EVAL)}},
    {"header with more ops", TRAIN, .edits = {SET(header.ops, 1)}}, /* the plan's own ops are added to this number */
    {"header with fewer ops", TRAIN, .edits = {SET(header.ops, UINT32_MAX)}},
    {"header with other state bytes", TRAIN, .edits = {ADD(header.state_bytes, 16)}},
    {"header with a smaller arena", TRAIN, .edits = {ADD(header.arena_bytes, -16)}},
    {"header with an arena below the pool", TRAIN, .edits = {SET(header.pool_bytes, 4096)}},
    {"constants that are not the region", TRAIN, .change = constants_that_are_not_the_region},
};

static const plan_case region_cases[] = {
    {"region alignment no power of two", TRAIN, .edits = {SET(regions[0].alignment, 48)}},
    {"region alignment below a tensor's", TRAIN, .edits = {SET(regions[1].alignment, 8)}},
    {"region alignment above the block's", TRAIN, .edits = {SET(regions[1].alignment, 128)}},
    {"two arenas", TRAIN, .change = two_arenas},
    {"no arena", TRAIN, .edits = {SET(plan.regions_count, 1)}},
};

static const plan_case phase_cases[] = {
    {"no update phase", TRAIN, .change = no_update_phase},
    {"phases in another order", TRAIN,
     .edits = {SET(phases[2].kind, FIRN_FB_PHASE_KIND_BOOKKEEP), SET(phases[3].kind, FIRN_FB_PHASE_KIND_UPDATE)}},
    {"evaluate in a train plan", TRAIN, .edits = {SET(phases[1].kind, FIRN_FB_PHASE_KIND_EVALUATE)}},
    {"a phase twice", TRAIN, .change = a_phase_twice},
    {"bookkeep in an eval plan", EVAL, .change = bookkeep_in_an_eval_plan},
};

static const plan_case tensor_cases[] = {
    {"tensor in no region", TRAIN, .edits = {SET(tensors[TRAIN_LOGITS].region, 2)}},
    {"tensor off its alignment", TRAIN, .edits = {ADD(tensors[TRAIN_LOGITS].offset, 8)}},
    {"tensor that leaves its region", TRAIN, .edits = {SET(tensors[TRAIN_DWEIGHT].offset, 240)}},
    {"tensor behind its region", TRAIN, .edits = {SET(tensors[TRAIN_DWEIGHT].offset, 1024)}},
    {"tensor whose end wraps", TRAIN, .edits = {SET(tensors[TRAIN_DWEIGHT].offset, UINT64_MAX - 15)}},
    {"tensor with an extent of 0", TRAIN, .edits = {SET(dims[TRAIN_LOGITS][1], 0)}},
    {"tensor whose size wraps", TRAIN,
     .edits = {SET(dims[TRAIN_LOGITS][0], UINT32_MAX), SET(dims[TRAIN_LOGITS][1], UINT32_MAX)}},
    {"activation in the state", TRAIN, .edits = {SET(tensors[TRAIN_SKIPPED].role, FIRN_FB_ROLE_ACTIVATION)}},
    {"counter in the arena", TRAIN, .edits = {SET(tensors[TRAIN_DLOSS].role, FIRN_FB_ROLE_COUNTER)}},
    {"constant in the arena", TRAIN, .edits = {SET(tensors[TRAIN_DLOSS].role, FIRN_FB_ROLE_CONSTANT)}},
    {"parameter in a half type", TRAIN, .edits = {SET(tensors[TRAIN_BIAS].type, FIRN_BFLOAT16)}},
    {"parameter of int64", TRAIN, .edits = {SET(tensors[TRAIN_CURSOR].role, FIRN_FB_ROLE_PARAMETER)}},
    {"optimizer state in a half type", TRAIN, .edits = {SET(tensors[TRAIN_LOSS_SCALE].type, FIRN_FLOAT16)}},
    {"life that ends before it begins", TRAIN,
     .edits = {SET(tensors[TRAIN_LOGITS].first, 4), SET(tensors[TRAIN_LOGITS].last, 3)}},
    {"life beyond the last op", TRAIN, .edits = {SET(tensors[TRAIN_DBIAS].last, TRAIN_OPS)}},
    {"state that does not last", TRAIN, .edits = {SET(tensors[TRAIN_WEIGHT].last, 3)}},
    {"life for ever but from later", TRAIN, .edits = {SET(tensors[TRAIN_LOSS].first, 1)}},
};

static const plan_case state_order_cases[] = {
    {"state out of order", TRAIN, .change = state_out_of_order},
    {"state with a name twice", TRAIN, .change = state_with_a_name_twice},
    {"name before its own beginning", TRAIN, .change = name_before_its_own_beginning},
    {"fewer state tensors than there are", TRAIN, .edits = {ADD(plan.state_tensors, -1)}},
    {"more state tensors than there are", TRAIN, .edits = {ADD(plan.state_tensors, 1)}},
    {"more state tensors than tensors", TRAIN, .edits = {SET(plan.state_tensors, TRAIN_TENSORS + 1)}},
    {"parameter behind a counter", TRAIN,
     .edits = {SET(tensors[TRAIN_BIAS].offset, 96), SET(tensors[TRAIN_CURSOR].offset, 0)}},
    {"state with a gap", TRAIN,
     .edits = {SET(tensors[TRAIN_STEPS].offset, 208), SET(regions[0].bytes, 224), SET(header.state_bytes, 224)}},
    {"state that overlaps", TRAIN, .edits = {SET(tensors[TRAIN_STEPS].offset, 176)}},
    {"state region with room to spare", TRAIN, .edits = {SET(regions[0].bytes, 224), SET(header.state_bytes, 224)}},
};

static const plan_case op_unknown_cases[] = {
    {"op of an unknown code", TRAIN, .edits = {SET(ops[TRAIN_OP_LINEAR].code, 28)}},
    {"op of code 0", TRAIN, .edits = {SET(ops[TRAIN_OP_LINEAR].code, 0)}},
};

static const plan_case op_operands_cases[] = {
    {"op with too few inputs", TRAIN, .edits = {SET(ops[TRAIN_OP_LINEAR].inputs_count, 1)}},
    {"op with too many inputs", TRAIN, .edits = {SET(ops[TRAIN_OP_LINEAR].inputs_count, 4)}},
    {"op with too few outputs", TRAIN, .edits = {SET(ops[TRAIN_OP_CROSS_ENTROPY].outputs_count, 2)}},
    {"op with too many outputs", TRAIN, .edits = {SET(ops[TRAIN_OP_LINEAR].outputs_count, 2)}},
    {"op without an input that it needs", TRAIN, .edits = {SET(operands[TRAIN_OP_LINEAR].inputs[1], FIRN_ABSENT)}},
    {"list that ends with an absent input", TRAIN, .edits = {SET(operands[TRAIN_OP_FACTORS].inputs[1], FIRN_ABSENT)}},
    {"op that reads no tensor", TRAIN, .edits = {SET(operands[TRAIN_OP_LINEAR].inputs[1], TRAIN_TENSORS)}},
    {"op that writes no tensor", TRAIN, .edits = {SET(operands[TRAIN_OP_LINEAR].outputs[0], UINT32_MAX)}},
    {"token ids beyond the table", EVAL, .edits = {SET(inputs[0].limit, 8)}},
    {"labels beyond the classes", EVAL, .edits = {SET(inputs[1].limit, 7)}},
    {"labels beyond the classes in training", TRAIN, .edits = {SET(inputs[1].limit, 6)}},
    {"token ids that are no input", EVAL, .change = token_ids_that_are_no_input},
};

static const plan_case op_attribute_cases[] = {
    {"op with an attribute missing", TRAIN, .edits = {SET(ops[TRAIN_OP_LINEAR].integers_count, 0)}},
    {"op with an attribute too many", TRAIN, .edits = {SET(ops[TRAIN_OP_LINEAR].reals_count, 1)}},
    {"layout that is none", TRAIN, .edits = {SET(operands[TRAIN_OP_LINEAR].integers[0], 2)}},
    {"index beyond the partial sums", TRAIN, .edits = {SET(operands[TRAIN_OP_SQUARES_WEIGHT].integers[0], 2)}},
    {"dropout rate of 1", EVAL, .edits = {SET_REAL(operands[EVAL_OP_ATTENTION].reals[1], 1)}},
    {"POL 3", EVAL, .edits = {SET(ops[EVAL_OP_ATTENTION].pol.level, 3)}},
};

static const plan_case op_shape_cases[] = {
    {"output of another extent", TRAIN, .edits = {SET(dims[TRAIN_LOGITS][0], 2), SET(dims[TRAIN_DLOGITS][0], 2)}},
    {"output of another rank", TRAIN,
     .edits = {SET(tensors[TRAIN_ROW_MAX].dims_count, 2), SET(dims[TRAIN_ROW_MAX][1], 1)}},
    {"output of another type", TRAIN, .edits = {SET(tensors[TRAIN_LOSS].type, FIRN_INT32)}},
    {"features of another extent", TRAIN, .edits = {SET(dims[TRAIN_FEATURES][1], 2)}},
};

static const plan_case op_reduction_cases[] = {
    {"reduction missing", TRAIN, .edits = {SET(ops[TRAIN_OP_LINEAR].reductions_count, 0)}},
    {"reduction where there is none", TRAIN, .edits = {SET(ops[TRAIN_OP_DBIAS].reductions_count, 1)}},
    {"f32 with chunks", TRAIN, .edits = {SET(operands[TRAIN_OP_LINEAR].reductions[0].chunk, 64)}},
    {"f32 in a half accumulator", TRAIN,
     .edits = {SET(operands[TRAIN_OP_LINEAR].reductions[0].accumulator, FIRN_FLOAT16)}},
    {"chunks of float32 operands", TRAIN,
     .edits = {SET(operands[TRAIN_OP_LINEAR].reductions[0].kind, FIRN_FB_REDUCTION_KIND_CHUNKED),
               SET(operands[TRAIN_OP_LINEAR].reductions[0].chunk, 64)}},
    {"sum rounded to another type", TRAIN,
     .edits = {SET(operands[TRAIN_OP_LINEAR].reductions[0].output, FIRN_BFLOAT16)}},
    {"reserved byte used", TRAIN, .edits = {SET(operands[TRAIN_OP_LINEAR].reductions[0].reserved, 1)}},
    {"chunks that begin elsewhere", TRAIN, .edits = {SET(operands[TRAIN_OP_LINEAR].reductions[0].chunk_origin, 1)}},
    {"sum that begins at -0", TRAIN, .edits = {SET_REAL(operands[TRAIN_OP_LINEAR].reductions[0].initial, -0.0)}},
    {"chunks of no terms", EVAL, .edits = {SET(operands[EVAL_OP_ATTENTION].reductions[0].chunk, 0)}},
    {"chunks in another half type", EVAL,
     .edits = {SET(operands[EVAL_OP_ATTENTION].reductions[1].accumulator, FIRN_FLOAT16)}},
    {"scores in float32 under half softmax", EVAL,
     .edits = {SET(operands[EVAL_OP_ATTENTION].reductions[0].output, FIRN_FLOAT32)}},
    {"half scores under float32 softmax", EVAL, .edits = {SET(operands[EVAL_OP_ATTENTION].integers[3], 0)}},
};

static const plan_case sampler_cases[] = {
    {"no samples", TRAIN, .edits = {SET(sampler.samples, 0)}},
    {"samples that are not dimension 0", TRAIN, .edits = {SET(sampler.samples, 2)}},
    {"everything held out", TRAIN, .edits = {SET(sampler.held_out_per_mille, 1000)}},
    {"window of records", TRAIN, .edits = {SET(sampler.window, 3)}},
    {"stride of records", TRAIN, .edits = {SET(sampler.stride, 1)}},
    {"window of no elements", EVAL, .edits = {SET(sampler.window, 0)}},
    {"windows that do not move", EVAL, .edits = {SET(sampler.stride, 0)}},
    {"window too short for the shift", EVAL, .edits = {SET(sampler.window, 3)}},
    {"advance beyond the window", EVAL, .edits = {SET(inputs[1].advance, UINT32_MAX)}},
    {"window in stream 1", EVAL, .edits = {SET(inputs[1].stream, 1)}},
    {"cursor that is no counter", TRAIN, .edits = {SET(sampler.cursor, TRAIN_LOSS_SCALE)}},
    {"cursor that is no tensor", TRAIN, .edits = {SET(sampler.cursor, UINT32_MAX)}},
    {"streams with a gap", TRAIN, .edits = {SET(inputs[1].stream, 2)}},
    {"streams that begin at 1", TRAIN, .edits = {SET(inputs[0].stream, 1), SET(inputs[1].stream, 0)}},
    {"streams shared by unlike records", TRAIN, .edits = {SET(inputs[1].stream, 0)}},
    {"tensor filled twice", TRAIN, .change = tensor_filled_twice},
    {"input without a tensor", TRAIN, .edits = {SET(inputs[0].tensor, TRAIN_TENSORS)}},
    {"input of another role", TRAIN, .edits = {SET(tensors[TRAIN_FEATURES].role, FIRN_FB_ROLE_ACTIVATION)}},
    {"labels without a limit", TRAIN, .edits = {SET(inputs[1].limit, 0)}},
    {"features with a limit", TRAIN, .edits = {SET(inputs[0].limit, 256)}},
    {"labels from float32", TRAIN, .edits = {SET(inputs[1].element, FIRN_FLOAT32)}},
    {"features from int32", TRAIN, .edits = {SET(inputs[0].element, FIRN_INT32)}},
    {"float32 features that are scaled", TRAIN, .edits = {SET(inputs[0].element, FIRN_FLOAT32)}},
    {"labels that are scaled", TRAIN, .edits = {SET_REAL(inputs[1].scale, 2)}},
    {"input of a type that no data fills", TRAIN, .change = input_of_a_type_that_no_data_fills},
    {"records with an advance", TRAIN, .edits = {SET(inputs[0].advance, 1)}},
};

static const plan_case schedule_cases[] = {
    {"schedule of no steps", TRAIN, .edits = {SET(nodes[0].total, 0)}},
    {"schedule without a root", TRAIN, .edits = {SET(schedules[0].root, 1)}},
    {"schedule without a tensor", TRAIN, .edits = {SET(schedules[0].tensor, TRAIN_TENSORS)}},
    {"schedule into a result", TRAIN, .edits = {SET(schedules[0].tensor, TRAIN_LOSS)}},
    {"schedule that does not last", TRAIN, .edits = {SET(tensors[TRAIN_LEARNING_RATE].last, TRAIN_OP_SGD_WEIGHT)}},
    {"two schedules for one tensor", TRAIN, .change = two_schedules_for_one_tensor},
};

static const plan_case role_cases[] = {
    {"group without a schedule", TRAIN, .edits = {SET(groups[0].schedule, 1)}},
    {"group whose rate is a decay", TRAIN, .edits = {SET(schedules[0].key, FIRN_FB_SCHEDULE_KEY_WEIGHT_DECAY)}},
    {"group whose decay is a rate", TRAIN, .edits = {SET(groups[0].decay_schedule, 0)}},
    {"group without a decay schedule", TRAIN, .edits = {SET(groups[0].decay_schedule, 1)}},
    {"group with a counter", TRAIN, .edits = {SET(group_parameters[0], TRAIN_CURSOR)}},
    {"group with no tensor", TRAIN, .edits = {SET(group_parameters[0], TRAIN_TENSORS)}},
    {"loss that is no scalar", TRAIN, .edits = {SET(outputs[0].tensor, TRAIN_ROW_MAX)}},
    {"loss that does not last", TRAIN, .edits = {SET(tensors[TRAIN_LOSS].first, 1), SET(tensors[TRAIN_LOSS].last, 5)}},
    {"loss that comes too late", TRAIN, .edits = {SET(outputs[0].tensor, TRAIN_NORM)}},
    {"output without a tensor", TRAIN, .change = output_without_a_tensor},
    {"output that does not last", TRAIN, .change = output_that_does_not_last},
    {"loss scale that is a parameter", TRAIN, .edits = {SET(loss_scaler.scale, TRAIN_BIAS)}},
    {"static scale without a tensor", TRAIN,
     .edits = {SET(loss_scaler.kind, FIRNC_SCALING_STATIC), SET(loss_scaler.scale, TRAIN_TENSORS)}},
    {"steps since rescale in the arena", TRAIN, .edits = {SET(loss_scaler.steps_since_rescale, TRAIN_AT_FLOOR)}},
    {"overflows that are no counter", TRAIN, .edits = {SET(loss_scaler.overflows_since_rescale, TRAIN_LOSS_SCALE)}},
    {"skipped steps without a tensor", TRAIN, .edits = {SET(loss_scaler.skipped_steps, UINT32_MAX)}},
    {"floor in the state", TRAIN, .edits = {SET(loss_scaler.at_floor, TRAIN_STEPS)}},
    {"finite of float32", TRAIN, .edits = {SET(plan.finite, TRAIN_NORM)}},
    {"finite that nothing computes", TRAIN, .change = finite_that_nothing_computes},
    {"finite known too late", TRAIN, .edits = {SET(plan.finite, TRAIN_AT_FLOOR)}},
    {"gradient norm of int32", TRAIN, .edits = {SET(plan.gradient_norm, TRAIN_FINITE)}},
    {"clipping by a norm that is not there", TRAIN, .edits = {SET(plan.gradient_norm, UINT32_MAX)}},
    {"global step that is the cursor", TRAIN, .edits = {SET(plan.global_step, TRAIN_CURSOR)}},
    {"global step that nothing counts", TRAIN, .edits = {SET(plan.global_step, TRAIN_SKIPPED)}},
    {"global step counted by 2", TRAIN, .edits = {SET(operands[TRAIN_OP_COUNT_STEP].integers[0], 2)}},
    {"both counters in one", TRAIN, .edits = {SET(plan.optimizer_step, TRAIN_GLOBAL_STEP)}},
    {"metric without a sum", EVAL, .edits = {SET(metric.sum, EVAL_COUNT)}},
    {"metric whose sum is one number", EVAL, .edits = {SET(metric.kind, FIRN_FB_METRIC_KIND_ACCURACY)}},
    {"metric that another op keeps", EVAL, .edits = {SET(metric.kind, FIRN_FB_METRIC_KIND_WEIGHTED_ACCURACY)}},
    {"matrix that is none", EVAL, .edits = {SET(metric.kind, FIRN_FB_METRIC_KIND_MEAN_IOU)}},
    {"metric that counts with the cursor", EVAL, .edits = {SET(metric.count, EVAL_CURSOR)}},
    {"metric that no op computes", EVAL, .edits = {ADD(phases[0].ops_count, -1)}},
    {"metric op that changes the cursor", EVAL,
     .edits = {SET(operands[EVAL_OP_METRIC].inputs[2], EVAL_CURSOR),
               SET(operands[EVAL_OP_METRIC].outputs[1], EVAL_CURSOR)}},
};

static const plan_case field_cases[] = {
    {"beta of a mean", EVAL, .edits = {SET_REAL(metric.beta, 1)}},
    {"ignored classes of a mean", EVAL, .change = ignored_classes_of_a_mean},
    {"run of no steps", TRAIN, .edits = {SET(plan.steps, 0)}},
    {"run longer than a counter", TRAIN, .edits = {SET(plan.steps, (uint64_t)INT64_MAX + 1)}},
    {"no micro-batches", TRAIN, .edits = {SET(plan.micro_batches, 0)}},
    {"micro-batches that do not share alike", TRAIN, .edits = {SET(plan.micro_batches, 2)}},
    {"metric in a train plan", TRAIN, .change = metric_in_a_train_plan},
    {"clipping without a threshold", TRAIN, .edits = {SET_REAL(plan.clip_threshold, 0)}},
    {"threshold without clipping", TRAIN, .edits = {SET(plan.clipping, FIRN_FB_CLIPPING_NONE)}},
    {"eval plan without a metric", EVAL, .change = eval_plan_without_a_metric},
    {"eval plan with micro-batches", EVAL, .edits = {SET(plan.micro_batches, 2)}},
    {"eval plan with a loss scaler", EVAL, .change = eval_plan_with_a_loss_scaler},
    {"eval plan with a global step", EVAL, .edits = {SET(plan.global_step, EVAL_CURSOR)}},
    {"eval plan with an optimizer step", EVAL, .edits = {SET(plan.optimizer_step, 0)}},
    {"eval plan with finite", EVAL, .edits = {SET(plan.finite, 0)}},
    {"eval plan with a gradient norm", EVAL, .edits = {SET(plan.gradient_norm, 0)}},
    {"eval plan with clipping", EVAL,
     .edits = {SET(plan.clipping, FIRN_FB_CLIPPING_VALUE), SET_REAL(plan.clip_threshold, 1)}},
};

static const plan_case initialiser_cases[] = {
    {"initialiser missing", TRAIN, .edits = {ADD(plan.initialisers_count, -1)}},
    {"initialiser twice", TRAIN, .change = initialiser_twice},
    {"initialiser of an activation", TRAIN, .edits = {SET(initialisers[TRAIN_BIAS].tensor, TRAIN_LOGITS)}},
    {"counter that begins at a half", TRAIN, .edits = {SET_REAL(initialisers[TRAIN_CURSOR].a, 0.5)}},
    {"counter that begins too high", TRAIN, .edits = {SET_REAL(initialisers[TRAIN_CURSOR].a, 0x1p63)}},
    {"counter that begins at minus one", TRAIN, .edits = {SET_REAL(initialisers[TRAIN_CURSOR].a, -1)}},
    {"counter drawn at random", TRAIN,
     .edits = {SET(initialisers[TRAIN_CURSOR].rule, FIRN_FB_INITIALISER_RULE_UNIFORM)}},
    {"negative deviation", TRAIN,
     .edits = {SET(initialisers[TRAIN_WEIGHT].rule, FIRN_FB_INITIALISER_RULE_NORMAL),
               SET_REAL(initialisers[TRAIN_WEIGHT].b, -1)}},
    {"range upside down", TRAIN, .edits = {SET_REAL(initialisers[TRAIN_WEIGHT].b, -1)}},
    {"random numbers that NUMERICS.md keeps", TRAIN,
     .edits = {SET(initialisers[TRAIN_WEIGHT].rng_id, FIRN_RNG_ID_END)}},
    {"constant with an offset of weights", TRAIN, .edits = {SET(initialisers[TRAIN_BIAS].weights, 16)}},
    {"constant with a second number", TRAIN, .edits = {SET_REAL(initialisers[TRAIN_BIAS].b, 1)}},
    {"weights where there are none", TRAIN, .change = weights_where_there_are_none},
    {"weights that leave the constants", TRAIN, .change = weights_that_leave_the_constants},
    {"weights whose end wraps", TRAIN, .change = weights_whose_end_wraps},
    {"weights off their alignment", TRAIN, .change = weights_off_their_alignment},
};

static const plan_case op_order_cases[] = {
    {"op that writes before its output lives", TRAIN, .edits = {SET(tensors[TRAIN_DWEIGHT].first, TRAIN_OP_DBIAS)}},
    {"op that reads after its input died", TRAIN, .edits = {SET(tensors[TRAIN_DBIAS].last, TRAIN_OP_SQUARES_BIAS)}},
    {"tensor that nothing writes", TRAIN, .change = tensor_that_nothing_writes},
    {"input that does not live from op 0", TRAIN, .edits = {SET(tensors[TRAIN_LABELS].first, 1)}},
    {"tensor that begins later than it lives", TRAIN, .edits = {SET(tensors[TRAIN_ROW_SUM].first, 0)}},
    {"persistent tensor that nothing touches", TRAIN, .change = orphan},
    {"persistent tensor read first", TRAIN, .change = read_early},
    {"input overwritten", TRAIN, .edits = {SET(operands[TRAIN_OP_LOSS_SEED].outputs[0], TRAIN_LEARNING_RATE)}},
    {"state written anew", TRAIN,
     .edits = {SET(operands[TRAIN_OP_LOSS_SEED].outputs[0], TRAIN_LOSS_SCALE),
               SET(ops[TRAIN_OP_LOSS_SEED].inputs_count, 0)}},
    {"state changed among micro-batches", TRAIN, .change = change_early},
    {"parameter changed in finalise", TRAIN, .change = parameter_changed_in_finalise},
    {"constant changed", TRAIN, .change = change_constant},
    {"cursor counted by an op", TRAIN, .change = count_cursor},
    {"optimizer that changes its gradient", TRAIN, .edits = {SET(operands[TRAIN_OP_SGD_BIAS].outputs[0], TRAIN_DBIAS)}},
    {"in place with a second tensor", TRAIN, .edits = {SET(operands[TRAIN_OP_SGD_BIAS].inputs[0], TRAIN_DBIAS)}},
    {"operand that is changed and read", TRAIN, .edits = {SET(operands[TRAIN_OP_SGD_BIAS].inputs[1], TRAIN_BIAS)}},
    {"output that is twice the same", TRAIN,
     .edits = {SET(operands[TRAIN_OP_CROSS_ENTROPY].outputs[2], TRAIN_ROW_MAX)}},
    {"output that is also an input", TRAIN, .edits = {SET(operands[TRAIN_OP_DLOGITS].outputs[0], TRAIN_LOGITS)}},
    {"tensor written a second time", TRAIN, .change = tensor_written_a_second_time},
    {"partial sum missing", TRAIN, .edits = {SET(operands[TRAIN_OP_SQUARES_WEIGHT].integers[0], 0)}},
    {"partial sums read before they are whole", TRAIN, .change = partial_sums_read_before_they_are_whole},
    {"partial sums read by another op", TRAIN, .change = read_partial},
    {"accumulation that does not last", TRAIN, .change = accumulation_that_does_not_last},
    {"result of an update that may be skipped", TRAIN, .change = depend_on_update},
};

static const plan_case overlap_cases[] = {
    {"two tensors in the same bytes", TRAIN, .change = two_tensors_in_the_same_bytes},
    {"tensor inside another", TRAIN, .edits = {SET(tensors[TRAIN_ROW_SUM].offset, 208)}},
    {"tensor in the bytes of an input", TRAIN, .edits = {SET(tensors[TRAIN_ROW_MAX].offset, 0)}},
    {"persistent tensor in bytes of others", TRAIN, .edits = {SET(tensors[TRAIN_LOSS].offset, 144)}},
    {"in place, half a tensor on", TRAIN, .change = in_place_half_a_tensor_on},
    {"in place on an input that lives on", TRAIN, .edits = {SET(tensors[TRAIN_LOGITS].last, TRAIN_OP_DWEIGHT)}},
    {"in place where the op does not allow it", EVAL, .change = in_place_where_the_op_does_not_allow_it},
    {"in place of a tensor that the op does not read", TRAIN, .change = in_place_of_a_tensor_that_the_op_does_not_read},
    {"output 1 in place of an input", EVAL, .edits = {SET(tensors[EVAL_HEAD_MAX].offset, 80)}},
};

#define CASES(cases) cases, sizeof(cases) / sizeof(cases)[0]

static const struct {
    int error;
    const plan_case *cases;
    size_t count;
} refusals[] = {
    {FIRN_ERROR_NUMERICS_VERSION, CASES(numerics_version_cases)},
    {FIRN_ERROR_HEADER_MISMATCH, CASES(header_mismatch_cases)},
    {FIRN_ERROR_REGION, CASES(region_cases)},
    {FIRN_ERROR_PHASE, CASES(phase_cases)},
    {FIRN_ERROR_TENSOR, CASES(tensor_cases)},
    {FIRN_ERROR_STATE_ORDER, CASES(state_order_cases)},
    {FIRN_ERROR_OP_UNKNOWN, CASES(op_unknown_cases)},
    {FIRN_ERROR_OP_OPERANDS, CASES(op_operands_cases)},
    {FIRN_ERROR_OP_ATTRIBUTE, CASES(op_attribute_cases)},
    {FIRN_ERROR_OP_SHAPE, CASES(op_shape_cases)},
    {FIRN_ERROR_OP_REDUCTION, CASES(op_reduction_cases)},
    {FIRN_ERROR_SAMPLER, CASES(sampler_cases)},
    {FIRN_ERROR_SCHEDULE, CASES(schedule_cases)},
    {FIRN_ERROR_ROLE, CASES(role_cases)},
    {FIRN_ERROR_FIELD, CASES(field_cases)},
    {FIRN_ERROR_INITIALISER, CASES(initialiser_cases)},
    {FIRN_ERROR_OP_ORDER, CASES(op_order_cases)},
    {FIRN_ERROR_OVERLAP, CASES(overlap_cases)},
};

static void test_broken_plans_are_refused(void **state) {
    (void)state;
    int wrong = 0;
    for (size_t i = 0; i < sizeof refusals / sizeof refusals[0]; i++)
        for (size_t j = 0; j < refusals[i].count; j++) {
            int error = check(&refusals[i].cases[j]);
            if (error == refusals[i].error)
                continue;
            print_message("%s: %s, not %s\n", refusals[i].cases[j].name, firn_error_name(error),
                          firn_error_name(refusals[i].error));
            wrong++;
        }
    assert_int_equal(wrong, 0);
}

/* --- overlaps, compared with the rule in FORMAT.md ---------------------------------------------------------------- */

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

/* Compares every pair. */
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

/* Moves some tensors of the arena to the place of another one or to an arbitrary place. */
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
        const plan_case moved = {.plan = places_seed % 3 == 0 ? EVAL : TRAIN, .change = other_places};
        int error = check(&moved);
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
    const plan_case train = {.plan = TRAIN};
    assert_int_equal(check_in(&train, needed), FIRN_OK);
    for (int64_t less = 0; less < needed; less++)
        assert_int_equal(check_in(&train, less), FIRN_ERROR_POOL_TOO_SMALL);
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
