/* Tests the semantic rules: two valid plans are accepted, and each of many ways to break one gives the error of the
 * broken rule. Every broken plan still passes the FlatBuffers rules, so that only plan/semantics*.c can refuse it. */
#include <float.h>
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
#include "plan/needs.h"
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
    plan_edit edits[4];
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

/* Adds what the plan has to the counts of the header, so that an edit of them is a difference. */
static void add_counts(support_plan *support) {
    const firn_counts has = support_plan_counts(support);
    firn_counts *counts = &support->header.counts;
    counts->tensors += has.tensors;
    counts->state_tensors += has.state_tensors;
    counts->ops += has.ops;
    counts->operands += has.operands;
    counts->integers += has.integers;
    counts->reals += has.reals;
    counts->reductions += has.reductions;
    counts->widest += has.widest;
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
    add_counts(support);
    size_t bytes;
    uint8_t *payload = support_plan_write(support, &bytes);
    assert_non_null(payload);
    assert_int_equal(firn_fb_verify(payload, bytes), FIRN_OK);
    if (scratch_bytes < 0)
        scratch_bytes = (int64_t)firn_semantics_scratch_bytes(&support->header.counts);
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

/* Returns the region of the arena. */
static uint8_t arena_of(const support_plan *s) {
    return s->header.mode == FIRN_MODE_TRAIN ? TRAIN_ARENA : EVAL_ARENA;
}

static uint64_t *arena_bytes(support_plan *s) {
    return &s->header.region_bytes[arena_of(s)];
}

/* Adds a region behind the others; the order by kind is a rule of the header. */
static uint8_t add_region(support_plan *s, uint8_t kind, uint64_t bytes) {
    const uint8_t index = (uint8_t)s->header.region_count++;
    s->header.region_kinds[index] = kind;
    s->header.region_bytes[index] = bytes;
    return index;
}

/* Adds a region of constants, which are all the constants. */
static uint8_t add_constants(support_plan *s, uint64_t bytes) {
    s->header.constants_bytes = bytes;
    return add_region(s, FIRN_FB_REGION_KIND_CONSTANT, bytes);
}

static void use_weights(support_plan *s, uint8_t element, uint64_t offset) {
    s->initialisers[TRAIN_WEIGHT] =
        (firn_native_initialiser){.rule = FIRN_FB_INITIALISER_RULE_WEIGHTS, .element = element, .weights = offset};
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
    s->tensors[index].offset = *arena_bytes(s);
    *arena_bytes(s) += 128;
    return index;
}

static void set_dims(support_plan *s, uint32_t slot, uint32_t index, uint32_t rank, const uint32_t *dims) {
    memcpy(s->dims[slot], dims, rank * sizeof *dims);
    s->tensors[index].dims = s->dims[slot];
    s->tensors[index].dims_count = rank;
}

/* Appends a tensor with other dimensions that lasts. */
static uint32_t add_lasting(support_plan *s, uint32_t model, uint32_t rank, const uint32_t *dims) {
    uint32_t index = add_tensor(s, model);
    set_dims(s, index, index, rank, dims);
    s->tensors[index].first = 0;
    s->tensors[index].last = UINT32_MAX;
    return index;
}

/* Appends a view. */
static uint32_t add_view(support_plan *s, uint32_t base, uint64_t offset, uint32_t rank, const uint32_t *dims) {
    uint32_t index = s->plan.tensors_count++;
    s->tensors[index] = s->tensors[base];
    s->tensors[index].name = NULL;
    s->tensors[index].base = base;
    s->tensors[index].offset = offset;
    set_dims(s, index, index, rank, dims);
    return index;
}

static uint32_t add_whole_view(support_plan *s, uint32_t base) {
    return add_view(s, base, 0, s->tensors[base].dims_count, s->tensors[base].dims);
}

/* --- tensors inside the list --- */

static void shift(uint32_t *index, uint32_t at, uint32_t by) {
    if (*index >= at && *index != FIRN_ABSENT)
        *index += by;
}

/* Moves every reference to a tensor at or behind `at`. */
static void shift_references(support_plan *s, uint32_t at, uint32_t by) {
    for (uint32_t n = 0; n < SUPPORT_OPS; n++) {
        for (uint32_t i = 0; i < FIRN_INPUTS_MAX; i++)
            shift(&s->operands[n].inputs[i], at, by);
        for (uint32_t i = 0; i < FIRN_OUTPUTS_MAX; i++)
            shift(&s->operands[n].outputs[i], at, by);
    }
    uint32_t *const fields[] = {
        &s->inputs[0].tensor,    &s->inputs[0].ring,      &s->inputs[1].tensor, &s->inputs[1].ring,
        &s->outputs[0].tensor,   &s->outputs[1].tensor,   &s->sampler.cursor,   &s->sampler.pushed,
        &s->schedules[0].tensor, &s->schedules[1].tensor, &s->metric.sum,       &s->metric.count,
        &s->plan.loss,           &s->plan.learning_rate,  &s->plan.loss_scale,  &s->plan.global_step,
        &s->plan.optimizer_step, &s->plan.finite,         &s->plan.at_floor,    &s->plan.gradient_norm};
    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++)
        shift(fields[i], at, by);
    for (uint32_t i = 0; i < s->plan.tensors_count; i++)
        shift(&s->tensors[i].base, at, by);
}

/* Inserts a tensor of one dimension. */
static void insert_tensor(support_plan *s, uint32_t at, const firn_native_tensor *tensor, uint32_t extent) {
    const uint32_t slot = s->plan.tensors_count;
    shift_references(s, at, 1);
    memmove(&s->tensors[at + 1], &s->tensors[at], (s->plan.tensors_count++ - at) * sizeof s->tensors[0]);
    s->tensors[at] = *tensor;
    set_dims(s, slot, at, 1, &extent);
}

static void remove_tensor(support_plan *s, uint32_t at) {
    shift_references(s, at + 1, UINT32_MAX);
    memmove(&s->tensors[at], &s->tensors[at + 1], (--s->plan.tensors_count - at) * sizeof s->tensors[0]);
}

/* Adds a region with a frozen weight behind the state, or behind the frozen weight there, which linear takes as its
 * bias. Returns its index. */
static uint32_t add_frozen(support_plan *s, const char *name) {
    const uint32_t at = s->plan.state_tensors + (s->header.constants_bytes != 0);
    const firn_native_tensor frozen = {.name = name,
                                       .role = FIRN_FB_ROLE_FROZEN,
                                       .region = s->header.constants_bytes != 0 ? (uint8_t)(s->header.region_count - 1)
                                                                                : add_constants(s, 64),
                                       .offset = at == s->plan.state_tensors ? 0 : 32,
                                       .last = UINT32_MAX,
                                       .base = FIRN_ABSENT};
    insert_tensor(s, at, &frozen, 5);
    s->operands[TRAIN_OP_LINEAR].inputs[2] = at;
    return at;
}

/* --- ops --- */

static void orphan(support_plan *s) {
    (void)add_tensor(s, TRAIN_LOSS);
}

/* The gradient of the logits begins with a number that is computed only later. */
static void read_early(support_plan *s) {
    s->operands[TRAIN_OP_DLOGITS].inputs[0] = TRAIN_NORM;
}

/* The loss scale is updated in the op that should initialise the gradient of the loss. */
static void change_early(support_plan *s) {
    s->ops[TRAIN_OP_LOSS_SEED].code = FIRN_OP_advance_power;
    s->operands[TRAIN_OP_LOSS_SEED].outputs[0] = TRAIN_LOSS_SCALE;
    s->operands[TRAIN_OP_DLOGITS].inputs[0] = TRAIN_LOSS_SCALE;
}

/* Moves a gradient into the constants. */
static void change_constant(support_plan *s) {
    s->tensors[TRAIN_DBIAS] = (firn_native_tensor){.role = FIRN_FB_ROLE_CONSTANT,
                                                   .region = add_constants(s, 64),
                                                   .dims = s->dims[TRAIN_DBIAS],
                                                   .dims_count = 1,
                                                   .last = UINT32_MAX,
                                                   .base = FIRN_ABSENT};
}

/* Inserts op n into a phase, with new operands, which the caller fills in; later ops move by one. Only the counts of
 * the model are used. */
static support_op *insert_op_at(support_plan *s, uint32_t phase, uint32_t n, const firn_native_op *model) {
    const uint32_t total = support_plan_counts(s).ops;
    assert_true(total < SUPPORT_OPS);
    memmove(&s->ops[n + 1], &s->ops[n], (total - n) * sizeof s->ops[0]);
    support_op *op = &s->operands[total];
    s->ops[n] = *model;
    s->ops[n].inputs = op->inputs;
    s->ops[n].outputs = op->outputs;
    s->ops[n].integers = op->integers;
    s->ops[n].reals = op->reals;
    s->phases[phase].ops_count++;
    for (uint32_t i = phase + 1; i < s->plan.phases_count; i++)
        s->phases[i].ops++;
    for (uint32_t i = s->plan.state_tensors; i < s->plan.tensors_count; i++) {
        firn_native_tensor *tensor = &s->tensors[i];
        if (tensor->last == UINT32_MAX)
            continue;
        tensor->first += tensor->first >= n && tensor->role != FIRN_FB_ROLE_INPUT; /* inputs live from op 0 */
        tensor->last += tensor->last >= n;
    }
    return op;
}

/* The same at the end of a phase. */
static support_op *insert_op(support_plan *s, uint32_t phase, const firn_native_op *model) {
    uint32_t n = 0;
    for (uint32_t i = 0; i <= phase; i++)
        n += s->phases[i].ops_count;
    return insert_op_at(s, phase, n, model);
}

/* Inserts an op of one input and one output, without attributes. */
static void insert_simple_op(support_plan *s, uint32_t phase, uint16_t code, uint32_t input, uint32_t output) {
    const firn_native_op model = {.code = code, .inputs_count = 1, .outputs_count = 1};
    support_op *op = insert_op(s, phase, &model);
    op->inputs[0] = input;
    op->outputs[0] = output;
}

/* Appends another op to the last phase. */
static support_op *append_op(support_plan *s, uint32_t model) {
    support_op *op = insert_op(s, s->plan.phases_count - 1, &s->ops[model]);
    *op = s->operands[model];
    return op;
}

static void count_cursor(support_plan *s) {
    support_op *op = append_op(s, TRAIN_OP_COUNT_STEP);
    op->inputs[0] = op->outputs[0] = TRAIN_CURSOR;
}

/* Makes the gradient of the weight a total to which the gradient of each micro-batch is added. */
static void accumulate(support_plan *s) {
    uint32_t gradient = add_tensor(s, TRAIN_DWEIGHT);
    support_op *op =
        insert_op(s, 0, &(firn_native_op){.code = FIRN_OP_accumulate, .inputs_count = 2, .outputs_count = 1});
    op->inputs[0] = op->outputs[0] = TRAIN_DWEIGHT;
    op->inputs[1] = gradient;
    s->operands[TRAIN_OP_DWEIGHT].outputs[0] = gradient;
    s->tensors[gradient].last = TRAIN_OP_SQUARES_BIAS;
    s->tensors[TRAIN_DWEIGHT].offset = *arena_bytes(s);
    s->tensors[TRAIN_DWEIGHT].first = 0;
    s->tensors[TRAIN_DWEIGHT].last = UINT32_MAX;
    *arena_bytes(s) += 64;
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
    s->plan.at_floor = FIRN_ABSENT;
}

/* Casts the output of the attention before the loss, to a new tensor, whose index is returned. */
static uint32_t add_cast(support_plan *s) {
    uint32_t index = add_tensor(s, EVAL_Y);
    support_op *op = insert_op_at(s, 0, EVAL_OP_CROSS_ENTROPY,
                                  &(firn_native_op){.code = FIRN_OP_cast, .inputs_count = 1, .outputs_count = 1});
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
    s->plan.loss_scale = s->plan.finite = s->plan.at_floor = s->plan.gradient_norm = FIRN_ABSENT;
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
    use_weights(s, FIRN_FLOAT32, 64);
    s->header.constants_bytes = 64 + 60;
}

/* Half the bytes are enough. */
static void half_weights_at_the_end(support_plan *s) {
    use_weights(s, FIRN_BFLOAT16, 64);
    s->header.constants_bytes = 64 + 30;
}

static void half_weights_of_other_types(support_plan *s) {
    half_weights_at_the_end(s);
    s->initialisers[TRAIN_WEIGHT].element = FIRN_FLOAT16;
    s->initialisers[TRAIN_BIAS] =
        (firn_native_initialiser){.rule = FIRN_FB_INITIALISER_RULE_WEIGHTS, .element = FIRN_CBFLOAT16};
    s->initialisers[TRAIN_LOSS_SCALE] = (firn_native_initialiser){.rule = FIRN_FB_INITIALISER_RULE_WEIGHTS};
}

static void region_of_constants(support_plan *s) {
    (void)add_constants(s, 64);
}

static void several_micro_batches(support_plan *s) {
    accumulate(s);
    s->plan.micro_batches = 4;
    s->operands[TRAIN_OP_LOSS_SEED].reals[0] = 0.25f;
}

static void cast_beside(support_plan *s) {
    (void)add_cast(s);
}

/* Appends a tensor of 64 bytes with the role constant. */
static uint32_t add_constant(support_plan *s) {
    const uint32_t index = s->plan.tensors_count, extent = 16;
    insert_tensor(s, index,
                  &(firn_native_tensor){.role = FIRN_FB_ROLE_CONSTANT, .last = UINT32_MAX, .base = FIRN_ABSENT},
                  extent);
    s->tensors[index].region = add_constants(s, 64);
    return index;
}

static void tensor_of_constants(support_plan *s) {
    (void)add_constant(s);
}

/* --- regions --- */

static void weights_in_a_slow_region(support_plan *s) {
    s->tensors[TRAIN_WEIGHT].region = add_region(s, FIRN_FB_REGION_KIND_SLOW_PARAMETERS, 64);
    s->tensors[TRAIN_WEIGHT].offset = 0;
    s->header.region_bytes[TRAIN_PARAMETERS] = 32;
}

static void counters_in_slow_regions(support_plan *s) {
    s->tensors[TRAIN_STEPS].region = add_region(s, FIRN_FB_REGION_KIND_SLOW_OPTIMIZER, 8);
    s->tensors[TRAIN_STEPS].offset = 0;
    s->header.region_bytes[TRAIN_OPTIMIZER] = 80;
    s->header.region_kinds[TRAIN_SESSION] = FIRN_FB_REGION_KIND_SLOW_SESSION;
}

static void everything_in_a_slow_arena(support_plan *s) {
    s->header.region_kinds[TRAIN_ARENA] = FIRN_FB_REGION_KIND_SLOW_ARENA;
}

/* The same bytes of two arenas are not the same. */
static void same_place_in_two_arenas(support_plan *s) {
    s->tensors[TRAIN_ROW_SUM].region = add_region(s, FIRN_FB_REGION_KIND_ARENA, 288);
    s->tensors[TRAIN_ROW_SUM].offset = s->tensors[TRAIN_ROW_MAX].offset;
}

/* An arena of its own for what stays, and for what is filled. */
static void persistent_tensors_in_another_arena(support_plan *s) {
    const uint8_t arena = add_region(s, FIRN_FB_REGION_KIND_SLOW_ARENA, 144);
    for (uint32_t i = TRAIN_FEATURES; i < TRAIN_TENSORS; i++) {
        if (s->tensors[i].first == 0 && i != TRAIN_LOGITS)
            s->tensors[i].region = arena;
    }
}

/* --- views --- */

static void view_of_a_parameter(support_plan *s) {
    s->operands[TRAIN_OP_LINEAR].inputs[1] = add_whole_view(s, TRAIN_WEIGHT);
}

/* Five of the fifteen weights, from the fifth on. */
static void view_of_a_parameter_written(support_plan *s) {
    const uint32_t view = add_whole_view(s, TRAIN_BIAS);
    s->operands[TRAIN_OP_SGD_BIAS].inputs[0] = s->operands[TRAIN_OP_SGD_BIAS].outputs[0] = view;
}

static void view_behind_the_beginning(support_plan *s) {
    s->operands[TRAIN_OP_LINEAR].inputs[2] = add_view(s, TRAIN_WEIGHT, 16, 1, (const uint32_t[]){5});
}

static void view_of_an_input_as_an_index(support_plan *s) {
    s->operands[TRAIN_OP_CROSS_ENTROPY].inputs[1] = add_whole_view(s, TRAIN_LABELS);
}

static void view_of_a_gradient(support_plan *s) {
    s->operands[TRAIN_OP_SQUARES_WEIGHT].inputs[0] = add_view(s, TRAIN_DWEIGHT, 0, 1, (const uint32_t[]){15});
}

static void view_of_a_constant(support_plan *s) {
    s->operands[TRAIN_OP_LINEAR].inputs[2] = add_view(s, add_constant(s), 32, 1, (const uint32_t[]){5});
}

static void view_that_nothing_reads(support_plan *s) {
    (void)add_whole_view(s, TRAIN_LOGITS);
}

static void output_that_is_a_view(support_plan *s) {
    s->outputs[1] = (firn_native_output){.name = "again", .tensor = add_whole_view(s, TRAIN_LOSS)};
    s->plan.outputs_count = 2;
}

/* The output of an op beside an input that it reads through a view. */
static void output_beside_a_view(support_plan *s) {
    s->operands[TRAIN_OP_DLOGITS].inputs[1] = add_whole_view(s, TRAIN_LOGITS);
    s->tensors[TRAIN_DLOGITS].offset = *arena_bytes(s);
    *arena_bytes(s) += 80;
}

/* The last four of the twenty logits in place of the largest ones. */
static void view_to_the_end_of_its_base(support_plan *s) {
    output_beside_a_view(s);
    s->operands[TRAIN_OP_DLOGITS].inputs[3] = add_view(s, TRAIN_LOGITS, 64, 1, (const uint32_t[]){4});
}

/* --- the model: buffers, frozen weights --- */

static void buffer_among_the_parameters(support_plan *s) {
    s->tensors[TRAIN_BIAS].role = FIRN_FB_ROLE_BUFFER;
}

/* The running statistics of a batch norm, which has the gradient of the bias for mean and variance. */
enum { RUNNING_MEAN = TRAIN_WEIGHT, RUNNING_VAR, RUNNING_BUFFERS = 2 };

static void insert_buffer(support_plan *s, uint32_t at, const char *name, uint64_t offset) {
    const firn_native_tensor buffer = {.name = name,
                                       .role = FIRN_FB_ROLE_BUFFER,
                                       .region = TRAIN_PARAMETERS,
                                       .offset = offset,
                                       .last = UINT32_MAX,
                                       .base = FIRN_ABSENT};
    insert_tensor(s, at, &buffer, 5);
    memmove(&s->initialisers[at + 1], &s->initialisers[at],
            (s->plan.initialisers_count++ - at) * sizeof s->initialisers[0]);
    s->initialisers[at] = (firn_native_initialiser){0};
    s->plan.state_tensors++;
    s->header.region_bytes[TRAIN_PARAMETERS] += 32;
}

/* Adds the op that changes the buffers, in a phase. */
static support_op *store_statistics(support_plan *s, uint32_t phase, uint32_t next) {
    support_op *op = insert_op(
        s, phase,
        &(firn_native_op){.code = FIRN_OP_store_statistics, .inputs_count = 3, .outputs_count = RUNNING_BUFFERS});
    op->inputs[0] = op->outputs[0] = RUNNING_MEAN;
    op->inputs[1] = op->outputs[1] = RUNNING_VAR;
    op->inputs[2] = next;
    return op;
}

/* Adds the buffers and the op that computes their next values, which the index stands for. */
static uint32_t add_running_statistics(support_plan *s) {
    insert_buffer(s, RUNNING_MEAN, "fc.mean", 32);
    insert_buffer(s, RUNNING_VAR, "fc.variance", 64);
    s->tensors[TRAIN_WEIGHT + RUNNING_BUFFERS].offset = 96;
    const uint32_t next = add_lasting(s, TRAIN_DBIAS + RUNNING_BUFFERS, 2, (const uint32_t[]){2, 5});
    support_op *op = insert_op(s, 0,
                               &(firn_native_op){.code = FIRN_OP_running_statistics,
                                                 .inputs_count = 5,
                                                 .outputs_count = 1,
                                                 .integers_count = 1,
                                                 .reals_count = 1});
    const uint32_t inputs[] = {next, TRAIN_DBIAS + RUNNING_BUFFERS, TRAIN_DBIAS + RUNNING_BUFFERS, RUNNING_MEAN,
                               RUNNING_VAR};
    memcpy(op->inputs, inputs, sizeof inputs);
    op->outputs[0] = next;
    op->integers[0] = 4;
    op->reals[0] = 0.1f;
    return next;
}

static void running_statistics(support_plan *s) {
    store_statistics(s, 3, add_running_statistics(s));
}

/* The optimizer step among the buffers, as the number of batches that a batch norm has seen. */
static void buffer_of_int64(support_plan *s) {
    s->tensors[TRAIN_OVERFLOWS].role = FIRN_FB_ROLE_BUFFER;
    s->tensors[TRAIN_OVERFLOWS].region = TRAIN_PARAMETERS;
    s->tensors[TRAIN_OVERFLOWS].offset = 96;
    s->header.region_bytes[TRAIN_PARAMETERS] = 112;
    s->tensors[TRAIN_STEPS].offset = 64;
    s->header.region_bytes[TRAIN_OPTIMIZER] = 80;
    s->phases[2].ops_count++; /* only an update changes a buffer */
    s->phases[3].ops++;
    s->phases[3].ops_count--;
    s->plan.at_floor = FIRN_ABSENT;
}

static void frozen_weight(support_plan *s) {
    (void)add_frozen(s, "frozen");
}

static void frozen_weights_in_order(support_plan *s) {
    (void)add_frozen(s, "aa");
    (void)add_frozen(s, "ab");
}

static void frozen_weight_in_a_slow_region(support_plan *s) {
    s->header.region_kinds[s->tensors[add_frozen(s, "frozen")].region] = FIRN_FB_REGION_KIND_SLOW_CONSTANT;
}

/* Before the state by its name, but not in the list. */
static void frozen_weight_of_an_early_name(support_plan *s) {
    (void)add_frozen(s, "a");
}

/* --- caches --- */

/* Appends a tensor of the session to the state, of one element; the edits of the state come before. */
static uint32_t add_cache(support_plan *s, uint8_t type) {
    const uint32_t cache = s->plan.state_tensors++;
    insert_tensor(s, cache,
                  &(firn_native_tensor){.name = "zz",
                                        .type = type,
                                        .role = FIRN_FB_ROLE_CACHE,
                                        .region = EVAL_SESSION,
                                        .offset = 48,
                                        .last = UINT32_MAX,
                                        .base = FIRN_ABSENT},
                  1);
    s->header.region_bytes[EVAL_SESSION] = 64;
    s->initialisers[cache] = (firn_native_initialiser){.rule = FIRN_FB_INITIALISER_RULE_CONSTANT};
    s->plan.initialisers_count++;
    return cache;
}

/* A cache of one number that each step multiplies by 0. */
static uint32_t change_cache(support_plan *s) {
    const uint32_t cache = add_cache(s, FIRN_FLOAT32);
    const firn_native_op multiply = {
        .code = FIRN_OP_advance_power, .inputs_count = 1, .outputs_count = 1, .reals_count = 1};
    support_op *op = insert_op(s, 0, &multiply);
    op->inputs[0] = op->outputs[0] = cache;
    return cache;
}

static void cache_that_an_evaluation_changes(support_plan *s) {
    (void)change_cache(s);
}

static void cache_of_int8(support_plan *s) {
    (void)add_cache(s, FIRN_INT8);
}

static void cache_of_bfloat16(support_plan *s) {
    (void)add_cache(s, FIRN_BFLOAT16);
}

static void cache_that_begins_with_a_number(support_plan *s) {
    s->initialisers[change_cache(s)].a = 0.5f;
}

/* --- partial sums --- */

/* Adds another partial sum at the end of a phase, which nothing reads. */
static void add_partial_sum(support_plan *s, uint32_t phase) {
    const uint32_t partial = add_lasting(s, TRAIN_NORM, 1, (const uint32_t[]){1}),
                   scratch = add_lasting(s, TRAIN_SCRATCH_BIAS, 2, (const uint32_t[]){1, 1});
    support_op *op = insert_op(s, phase, &s->ops[TRAIN_OP_SQUARES_BIAS]);
    op->inputs[0] = TRAIN_WEIGHT;
    op->inputs[1] = op->outputs[0] = partial;
    op->inputs[2] = TRAIN_LOSS_SCALE;
    op->outputs[1] = scratch;
}

static void partial_sum_in_finalise(support_plan *s) {
    add_partial_sum(s, 1);
}

/* --- derive --- */

/* Puts a phase derive, still without ops, before the others. */
static void add_derive(support_plan *s) {
    memmove(&s->phases[1], &s->phases[0], s->plan.phases_count++ * sizeof s->phases[0]);
    s->phases[0] = (firn_native_phase){.kind = FIRN_FB_PHASE_KIND_DERIVE, .ops = s->ops};
}

/* Derives a tensor from another one, and returns its index. */
static uint32_t derive(support_plan *s, uint32_t from) {
    add_derive(s);
    const uint32_t made = add_lasting(s, from, s->tensors[from].dims_count, s->tensors[from].dims);
    s->tensors[made] = (firn_native_tensor){.role = FIRN_FB_ROLE_ACTIVATION,
                                            .region = arena_of(s),
                                            .offset = *arena_bytes(s),
                                            .dims = s->dims[made],
                                            .dims_count = s->tensors[from].dims_count,
                                            .last = UINT32_MAX,
                                            .base = FIRN_ABSENT};
    *arena_bytes(s) += 512;
    insert_simple_op(s, 0, FIRN_OP_relu, from, made);
    return made;
}

/* An embedding in a table that was computed once. */
static uint32_t derived_table(support_plan *s) {
    return s->operands[EVAL_OP_EMBEDDING].inputs[1] = derive(s, EVAL_TABLE);
}

static void table_that_is_derived(support_plan *s) {
    (void)derived_table(s);
}

/* In two ops, with a tensor that only lives between them. */
static void table_that_is_derived_in_two_ops(support_plan *s) {
    const uint32_t table = derived_table(s), between = add_tensor(s, table);
    *arena_bytes(s) += 512;
    s->operands[EVAL_OPS].outputs[0] = between;
    insert_simple_op(s, 0, FIRN_OP_relu, between, table);
    s->tensors[between].first = 0;
    s->tensors[between].last = 1;
}

static void bias_derived_from_a_frozen_weight(support_plan *s) {
    const uint32_t frozen = add_frozen(s, "frozen"), bias = derive(s, frozen);
    s->operands[TRAIN_OP_LINEAR].inputs[2] = bias;
}

static void output_that_is_derived(support_plan *s) {
    s->outputs[1] = (firn_native_output){.name = "table", .tensor = derived_table(s)};
    s->plan.outputs_count = 2;
}

/* --- evaluations --- */

/* Removes the loss and the metric, and the labels with them. */
static void leave_out_labels(support_plan *s) {
    s->phases[0].ops_count = EVAL_OP_CROSS_ENTROPY;
    s->plan.tensors_count = EVAL_LOSS;
    s->tensors[EVAL_Y].first = 0;
    s->tensors[EVAL_Y].last = UINT32_MAX;
    s->outputs[0] = (firn_native_output){.name = "y", .tensor = EVAL_Y};
    s->plan.inputs_count = 1;
    s->plan.metrics_count = 0;
    s->plan.loss = FIRN_ABSENT;
    s->plan.check_loss = false;
    remove_tensor(s, EVAL_LABELS);
}

static void metric_without_a_loss(support_plan *s) {
    s->plan.loss = FIRN_ABSENT;
    s->plan.check_loss = false;
}

static void loss_without_a_metric(support_plan *s) {
    s->plan.metrics_count = 0;
}

/* Measures another thing over the same sum, or what the caller changes. */
static firn_native_metric *add_metric(support_plan *s, uint8_t kind) {
    static firn_native_metric both[2];
    both[0] = both[1] = s->metric;
    both[1].kind = kind;
    s->plan.metrics = both;
    s->plan.metrics_count = 2;
    return &both[1];
}

static void two_metrics(support_plan *s) {
    (void)add_metric(s, FIRN_FB_METRIC_KIND_PERPLEXITY);
}

/* --- steps --- */

/* The scale is updated with the parameters, so that no step reports that it would be too low. */
static void scale_updated_with_the_parameters(support_plan *s) {
    s->phases[2].ops_count++;
    s->phases[3].ops++;
    s->phases[3].ops_count--;
    s->plan.at_floor = FIRN_ABSENT;
}

/* --- pushed samples --- */

/* Appends a tensor of a ring region. */
static uint32_t add_ring_tensor(support_plan *s, uint8_t type, uint64_t offset, uint32_t rank, const uint32_t *dims) {
    const uint32_t index = add_lasting(s, s->plan.state_tensors, rank, dims);
    s->tensors[index].type = type;
    s->tensors[index].role = FIRN_FB_ROLE_RING;
    s->tensors[index].region = (uint8_t)(s->header.region_count - 1);
    s->tensors[index].offset = offset;
    return index;
}

enum { TRAIN_RING_FEATURES = TRAIN_TENSORS, TRAIN_RING_LABELS, TRAIN_PUSHED };
enum { EVAL_RING = EVAL_TENSORS, EVAL_PUSHED };

/* The last 64 samples that were pushed. */
static void push_records(support_plan *s) {
    (void)add_region(s, FIRN_FB_REGION_KIND_SLOW_RING, 272);
    s->inputs[0].ring = add_ring_tensor(s, FIRN_UINT8, 0, 2, (const uint32_t[]){64, 3});
    s->inputs[1].ring = add_ring_tensor(s, FIRN_UINT8, 192, 1, (const uint32_t[]){64});
    s->sampler.pushed = add_ring_tensor(s, FIRN_INT64, 256, 1, (const uint32_t[]){1});
}

static void push_windows(support_plan *s) {
    (void)add_region(s, FIRN_FB_REGION_KIND_SLOW_RING, 32);
    s->inputs[0].ring = s->inputs[1].ring = add_ring_tensor(s, FIRN_UINT8, 0, 1, (const uint32_t[]){16});
    s->sampler.pushed = add_ring_tensor(s, FIRN_INT64, 16, 1, (const uint32_t[]){1});
    s->sampler.part = FIRN_FB_DATA_PART_ALL;
    s->sampler.held_out_per_mille = 0;
}

/* Features of one byte, like the labels. */
static void push_single_bytes(support_plan *s) {
    s->dims[TRAIN_FEATURES][1] = s->dims[TRAIN_WEIGHT][1] = s->dims[TRAIN_DWEIGHT][1] = 1;
    s->header.region_bytes[TRAIN_PARAMETERS] = 64;
    push_records(s);
    set_dims(s, TRAIN_RING_FEATURES, TRAIN_RING_FEATURES, 1, (const uint32_t[]){64});
    s->tensors[TRAIN_RING_LABELS].offset = 64;
    s->tensors[TRAIN_PUSHED].offset = 128;
    s->header.region_bytes[s->tensors[TRAIN_PUSHED].region] = 144;
}

#define ATTENTION_REDUCTION(i, field) operands[EVAL_OP_ATTENTION].reductions[i].field

/* Lets both reductions of the attention accumulate in float32, in blocks of this many terms. */
static void use_blocks(support_plan *s, uint8_t kind, uint32_t chunk) {
    for (int i = 0; i < 2; i++)
        s->operands[EVAL_OP_ATTENTION].reductions[i] =
            (firn_fb_reduction){.kind = kind, .accumulator = FIRN_FLOAT32, .output = FIRN_BFLOAT16, .chunk = chunk};
}

static void even_odd_blocks(support_plan *s) {
    use_blocks(s, FIRN_FB_REDUCTION_KIND_EVEN_ODD_BLOCKS, 32);
}

static void pairs(support_plan *s) {
    use_blocks(s, FIRN_FB_REDUCTION_KIND_PAIRS, 2);
}

static void plain_sums(support_plan *s) {
    use_blocks(s, FIRN_FB_REDUCTION_KIND_F32, 0);
}

/* Chunks of the other half type, which the accumulator has then, too. */
static void chunks_of_float16(support_plan *s) {
    s->tensors[EVAL_QKV].type = s->tensors[EVAL_Y].type = FIRN_FLOAT16;
    for (int i = 0; i < 2; i++)
        s->ATTENTION_REDUCTION(i, output) = s->ATTENTION_REDUCTION(i, accumulator) = FIRN_FLOAT16;
}

static void truncate_weight(support_plan *s, float deviation, float low, float high) {
    s->initialisers[TRAIN_WEIGHT] = (firn_native_initialiser){.rule = FIRN_FB_INITIALISER_RULE_TRUNCATED_NORMAL,
                                                              .rng_id = 1,
                                                              .a = 7,
                                                              .b = deviation,
                                                              .low = low,
                                                              .high = high};
}

static void truncated_normal(support_plan *s) {
    truncate_weight(s, 0.5f, -2, 2);
}

static void truncated_between_neighbours(support_plan *s) {
    truncate_weight(s, 0.5f, 0x1p-149f, 0x1p-148f);
}

static void truncated_without_deviation(support_plan *s) {
    truncate_weight(s, 0, -FLT_MAX, FLT_MAX);
}

static void truncated_by_less_than_nothing(support_plan *s) {
    truncate_weight(s, -0x1p-149f, -2, 2);
}

static void truncated_upside_down(support_plan *s) {
    truncate_weight(s, 0.5f, 2, -2);
}

static void truncated_to_a_point(support_plan *s) {
    truncate_weight(s, 0.5f, 2, 2);
}

static void truncated_to_zeros(support_plan *s) {
    truncate_weight(s, 0.5f, -0.0f, 0);
}

static void truncated_with_an_integer(support_plan *s) {
    truncated_normal(s);
    s->initialisers[TRAIN_WEIGHT].integer = 1;
}

static void truncated_of_an_element_type(support_plan *s) {
    truncated_normal(s);
    s->initialisers[TRAIN_WEIGHT].element = FIRN_FLOAT16;
}

static void truncated_with_weights(support_plan *s) {
    truncated_normal(s);
    s->initialisers[TRAIN_WEIGHT].weights = 16;
    s->header.constants_bytes = 128;
}

static void truncated_with_numbers_that_are_kept(support_plan *s) {
    truncated_normal(s);
    s->initialisers[TRAIN_WEIGHT].rng_id = FIRN_RNG_ID_END;
}

static const plan_case acceptances[] = {
    {"the train plan", TRAIN, .change = NULL},
    {"the eval plan", EVAL, .change = NULL},
    {"weights that end with the constants", TRAIN, .change = weights_at_the_end},
    {"bfloat16 weights that end with the constants", TRAIN, .change = half_weights_at_the_end},
    {"weights of every real type", TRAIN, .change = half_weights_of_other_types},
    {"counter that begins at 2^62", TRAIN, .edits = {SET(initialisers[TRAIN_STEPS].integer, INT64_C(1) << 62)}},
    {"the widest range", TRAIN,
     .edits = {SET_REAL(initialisers[TRAIN_WEIGHT].a, -FLT_MAX / 2),
               SET_REAL(initialisers[TRAIN_WEIGHT].b, FLT_MAX / 2)}},
    {"numbers of a truncated normal distribution", TRAIN, .change = truncated_normal},
    {"a truncated normal distribution between neighbours", TRAIN, .change = truncated_between_neighbours},
    {"a truncated normal distribution without a deviation", TRAIN, .change = truncated_without_deviation},
    {"a region of constants", TRAIN, .change = region_of_constants},
    {"gradients that are accumulated", TRAIN, .change = several_micro_batches},
    {"no finalise phase", TRAIN, .change = leave_out_finalise},
    {"a cast beside its input", EVAL, .change = cast_beside},
    {"features in float32", TRAIN,
     .edits = {SET(inputs[0].element, FIRN_FLOAT32), SET_REAL(inputs[0].scale, 1), SET_REAL(inputs[0].shift, 0)}},
    {"a tensor among the constants", TRAIN, .change = tensor_of_constants},
    {"an evaluation of all the data", EVAL, .edits = {SET(plan.steps, 0)}},
    {"gradients clipped by norm and not scaled", TRAIN,
     .edits = {SET(operands[TRAIN_OP_FACTORS].inputs[0], FIRN_ABSENT)}},
    {"a run without an end", TRAIN, .edits = {SET(plan.steps, 0)}},
    {"the longest run", TRAIN, .edits = {SET(plan.steps, INT64_MAX)}},
    {"a run that continues another", TRAIN, .edits = {SET(plan.origin_count, FIRN_HASH_BYTES)}},
    {"an evaluation of a run that continues another", EVAL, .edits = {SET(plan.origin_count, FIRN_HASH_BYTES)}},
    {"weights in a slow region", TRAIN, .change = weights_in_a_slow_region},
    {"counters in slow regions", TRAIN, .change = counters_in_slow_regions},
    {"a slow arena", TRAIN, .change = everything_in_a_slow_arena},
    {"counter in the session", TRAIN,
     .edits = {SET(header.region_kinds[TRAIN_OPTIMIZER], FIRN_FB_REGION_KIND_SLOW_SESSION),
               SET(tensors[TRAIN_LOSS_SCALE].role, FIRN_FB_ROLE_COUNTER),
               SET_REAL(initialisers[TRAIN_LOSS_SCALE].a, 0)}},
    {"region up to 15 bytes longer than its tensors", TRAIN,
     .edits = {SET(header.region_bytes[TRAIN_OPTIMIZER], 88 + 15)}},
    {"arena with room to spare", TRAIN, .edits = {SET(header.region_bytes[TRAIN_ARENA], 4096)}},
    {"same place in two arenas", TRAIN, .change = same_place_in_two_arenas},
    {"persistent tensors in another arena", TRAIN, .change = persistent_tensors_in_another_arena},
    {"view of a parameter", TRAIN, .change = view_of_a_parameter},
    {"view of a parameter written", TRAIN, .change = view_of_a_parameter_written},
    {"view behind the beginning", TRAIN, .change = view_behind_the_beginning},
    {"view to the end of its base", TRAIN, .change = view_to_the_end_of_its_base},
    {"view of an input as an index", TRAIN, .change = view_of_an_input_as_an_index},
    {"view of a gradient", TRAIN, .change = view_of_a_gradient},
    {"view of a constant", TRAIN, .change = view_of_a_constant},
    {"view that nothing reads", TRAIN, .change = view_that_nothing_reads},
    {"output that is a view", TRAIN, .change = output_that_is_a_view},
    {"output beside a view", TRAIN, .change = output_beside_a_view},
    {"buffer among the parameters", TRAIN, .change = buffer_among_the_parameters},
    {"buffer of int64", TRAIN, .change = buffer_of_int64},
    {"running statistics", TRAIN, .change = running_statistics},
    {"frozen weight", TRAIN, .change = frozen_weight},
    {"frozen weights in order", TRAIN, .change = frozen_weights_in_order},
    {"frozen weight in a slow region", TRAIN, .change = frozen_weight_in_a_slow_region},
    {"frozen weight of an early name", TRAIN, .change = frozen_weight_of_an_early_name},
    {"table that is derived", EVAL, .change = table_that_is_derived},
    {"table that is derived in two ops", EVAL, .change = table_that_is_derived_in_two_ops},
    {"bias derived from a frozen weight", TRAIN, .change = bias_derived_from_a_frozen_weight},
    {"output that is derived", EVAL, .change = output_that_is_derived},
    {"no outputs", TRAIN, .edits = {SET(plan.outputs_count, 0)}},
    {"evaluation without labels", EVAL, .change = leave_out_labels},
    {"metric without a loss", EVAL, .change = metric_without_a_loss},
    {"two metrics", EVAL, .change = two_metrics},
    {"loss without a metric", EVAL, .change = loss_without_a_metric},
    {"loss that is not checked", EVAL, .edits = {SET(plan.check_loss, false)}},
    {"no learning rate reported", TRAIN, .edits = {SET(plan.learning_rate, UINT32_MAX)}},
    {"no norm reported", TRAIN, .edits = {SET(plan.gradient_norm, UINT32_MAX)}},
    {"updates that are never skipped", TRAIN, .edits = {SET(plan.finite, UINT32_MAX)}},
    {"no floor reported", TRAIN, .edits = {SET(plan.at_floor, UINT32_MAX)}},
    {"no scale", TRAIN, .edits = {SET(plan.loss_scale, UINT32_MAX), SET(ops[TRAIN_OP_LOSS_SEED].inputs_count, 0)}},
    {"scale updated with the parameters", TRAIN, .change = scale_updated_with_the_parameters},
    {"factors without a scale", TRAIN, .edits = {SET(operands[TRAIN_OP_FACTORS].inputs[0], UINT32_MAX)}},
    {"features of bool", TRAIN, .edits = {SET(inputs[0].element, FIRN_BOOL)}},
    {"features of int8", TRAIN, .edits = {SET(inputs[0].element, FIRN_INT8)}},
    {"features of int16", TRAIN, .edits = {SET(inputs[0].element, FIRN_INT16)}},
    {"features of uint16", TRAIN, .edits = {SET(inputs[0].element, FIRN_UINT16)}},
    {"labels of bool", TRAIN, .edits = {SET(inputs[1].element, FIRN_BOOL)}},
    {"labels of int8", TRAIN, .edits = {SET(inputs[1].element, FIRN_INT8)}},
    {"labels of int16", TRAIN, .edits = {SET(inputs[1].element, FIRN_INT16)}},
    {"labels of uint16", TRAIN, .edits = {SET(inputs[1].element, FIRN_UINT16)}},
    {"labels of int32", TRAIN, .edits = {SET(inputs[1].element, FIRN_INT32)}},
    {"cache that an evaluation changes", EVAL, .change = cache_that_an_evaluation_changes},
    {"cache of int8", EVAL, .change = cache_of_int8},
    {"cache of bfloat16", EVAL, .change = cache_of_bfloat16},
    {"cache that begins with a number", EVAL, .change = cache_that_begins_with_a_number},
    {"partial sum in finalise", TRAIN, .change = partial_sum_in_finalise},
    {"records that are pushed", TRAIN, .change = push_records},
    {"single bytes that are pushed", TRAIN, .change = push_single_bytes},
    {"windows that are pushed", EVAL, .change = push_windows},
    {"even and odd blocks", EVAL, .change = even_odd_blocks},
    {"pairs", EVAL, .change = pairs},
    {"plain sums", EVAL, .change = plain_sums},
    {"chunks of float16", EVAL, .change = chunks_of_float16},
};

static void test_valid_plans_are_accepted(void **state) {
    (void)state;
    int wrong = 0;
    for (size_t i = 0; i < sizeof acceptances / sizeof acceptances[0]; i++) {
        int error = check(&acceptances[i]);
        if (error == FIRN_OK)
            continue;
        print_message("%s: %s\n", acceptances[i].name, firn_error_name(error));
        wrong++;
    }
    assert_int_equal(wrong, 0);
}

/* --- plans that are broken in one place ------------------------------------------------------------------------- */

static void no_update_phase(support_plan *s) {
    s->phases[2] = s->phases[3];
    s->plan.phases_count = 3;
}

static void a_phase_twice(support_plan *s) {
    s->phases[4] = s->phases[3];
    s->plan.phases_count = 5;
}

static void derive_behind_a_step(support_plan *s) {
    (void)derived_table(s);
    const firn_native_phase first = s->phases[0];
    s->phases[0] = s->phases[1];
    s->phases[1] = first;
}

static void derive_twice(support_plan *s) {
    (void)derived_table(s);
    s->phases[2] = s->phases[1];
    s->phases[1] = s->phases[0];
    s->plan.phases_count = 3;
}

static void derive_alone(support_plan *s) {
    (void)derived_table(s);
    s->plan.phases_count = 1;
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

static void input_into_a_view(support_plan *s) {
    s->inputs[0].tensor = add_whole_view(s, TRAIN_FEATURES);
}

static void cursor_that_is_a_view(support_plan *s) {
    s->sampler.cursor = add_whole_view(s, TRAIN_CURSOR);
}

static void two_schedules_for_one_tensor(support_plan *s) {
    s->schedules[1] = s->schedules[0];
    s->plan.schedules_count = 2;
}

/* The samples fill a tensor of one element, too. */
static void schedule_into_an_input(support_plan *s) {
    static const uint32_t rows[] = {TRAIN_FEATURES, TRAIN_LABELS,  TRAIN_LOGITS,
                                    TRAIN_DLOGITS,  TRAIN_ROW_MAX, TRAIN_ROW_SUM};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        s->dims[rows[i]][0] = 1;
    s->sampler.samples = 1;
    s->inputs[0] = (firn_native_input){
        .name = "rate", .tensor = TRAIN_LEARNING_RATE, .element = FIRN_FLOAT32, .scale = 1, .ring = FIRN_ABSENT};
}

static void schedule_into_a_view(support_plan *s) {
    s->schedules[0].tensor = add_whole_view(s, TRAIN_LEARNING_RATE);
}

static void output_without_a_tensor(support_plan *s) {
    s->outputs[1] = (firn_native_output){.name = "x", .tensor = TRAIN_TENSORS};
    s->plan.outputs_count = 2;
}

static void output_that_does_not_last(support_plan *s) {
    s->outputs[1] = (firn_native_output){.name = "x", .tensor = TRAIN_LOGITS};
    s->plan.outputs_count = 2;
}

static void add_output(support_plan *s, const char *name, uint32_t tensor) {
    s->outputs[s->plan.outputs_count++] = (firn_native_output){.name = name, .tensor = tensor};
}

static void output_that_views_what_does_not_last(support_plan *s) {
    add_output(s, "x", add_whole_view(s, TRAIN_LOGITS));
}

static void output_of_a_constant(support_plan *s) {
    add_output(s, "x", add_constant(s));
}

static void output_of_a_ring(support_plan *s) {
    push_records(s);
    add_output(s, "x", TRAIN_PUSHED);
}

static void make_scratch_last(support_plan *s) {
    s->tensors[TRAIN_SCRATCH_BIAS].first = 0;
    s->tensors[TRAIN_SCRATCH_BIAS].last = UINT32_MAX;
    s->tensors[TRAIN_SCRATCH_BIAS].offset = *arena_bytes(s);
    *arena_bytes(s) += 16;
}

static void output_that_is_scratch(support_plan *s) {
    make_scratch_last(s);
    add_output(s, "x", TRAIN_SCRATCH_BIAS);
}

static void output_that_views_scratch(support_plan *s) {
    make_scratch_last(s);
    add_output(s, "x", add_whole_view(s, TRAIN_SCRATCH_BIAS));
}

static void loss_that_is_scratch(support_plan *s) {
    make_scratch_last(s);
    s->plan.loss = TRAIN_SCRATCH_BIAS;
}

static void loss_that_is_a_view(support_plan *s) {
    s->plan.loss = add_whole_view(s, TRAIN_LOSS);
}

/* A number that was computed once is no loss of this step. */
static void loss_that_is_derived(support_plan *s) {
    (void)derived_table(s);
    const uint32_t loss = add_lasting(s, EVAL_LOSS, 1, (const uint32_t[]){1});
    support_op *op =
        insert_op(s, 0, &(firn_native_op){.code = FIRN_OP_loss_seed, .outputs_count = 1, .reals_count = 1});
    op->outputs[0] = s->plan.loss = loss;
    op->reals[0] = 1;
}

static void output_that_an_update_writes(support_plan *s) {
    scale_updated_with_the_parameters(s);
    add_output(s, "x", TRAIN_AT_FLOOR);
}

static void two_outputs_of_one_name(support_plan *s) {
    add_output(s, "loss", TRAIN_NORM);
}

/* Computes norm and finite again, at the end of a phase; one of them into another tensor. */
static void compute_again(support_plan *s, uint32_t phase, uint32_t output, uint32_t model) {
    const uint32_t other = add_lasting(s, model, 1, (const uint32_t[]){1});
    s->tensors[TRAIN_PARTIAL].first = 0;
    s->tensors[TRAIN_PARTIAL].last = UINT32_MAX;
    s->tensors[TRAIN_PARTIAL].offset = *arena_bytes(s);
    *arena_bytes(s) += 16;
    support_op *op = insert_op(s, phase, &s->ops[TRAIN_OP_NORM]);
    *op = s->operands[TRAIN_OP_NORM];
    op->outputs[output] = other;
}

static void finite_that_two_ops_compute(support_plan *s) {
    compute_again(s, 1, 0, TRAIN_NORM);
    s->plan.gradient_norm = FIRN_ABSENT;
}

static void norm_that_two_ops_compute(support_plan *s) {
    compute_again(s, 1, 1, TRAIN_FINITE);
    s->plan.finite = FIRN_ABSENT;
}

static void norm_computed_too_late(support_plan *s) {
    compute_again(s, 3, 1, TRAIN_FINITE);
    s->plan.gradient_norm = s->operands[TRAIN_OPS].outputs[0] = add_lasting(s, TRAIN_NORM, 1, (const uint32_t[]){1});
}

static void finite_that_nothing_computes(support_plan *s) {
    s->plan.finite = add_tensor(s, TRAIN_FINITE);
}

static void finite_that_is_a_view(support_plan *s) {
    s->plan.finite = add_whole_view(s, TRAIN_FINITE);
}

static void metric_of_a_view(support_plan *s) {
    s->metric.sum = add_whole_view(s, EVAL_SUM);
}

static void global_step_that_is_a_view(support_plan *s) {
    s->plan.global_step = add_whole_view(s, TRAIN_GLOBAL_STEP);
}

static void ignored_classes_of_a_mean(support_plan *s) {
    static const uint32_t none = 0;
    s->metric.ignore_classes = &none;
    s->metric.ignore_classes_count = 1;
}

static void metric_in_a_train_plan(support_plan *s) {
    s->metric = (firn_native_metric){.count = TRAIN_STEPS};
    s->plan.metrics = &s->metric;
    s->plan.metrics_count = 1;
}

static void second_metric_of_another_kind(support_plan *s) {
    (void)add_metric(s, FIRN_FB_METRIC_KIND_ACCURACY);
}

static void second_metric_without_a_count(support_plan *s) {
    add_metric(s, FIRN_FB_METRIC_KIND_MEAN_LOSS)->count = EVAL_CURSOR;
}

static void second_metric_with_a_beta(support_plan *s) {
    add_metric(s, FIRN_FB_METRIC_KIND_MEAN_LOSS)->beta = 1;
}

/* A second loss whose gradient has another share. */
static void second_loss_seed(support_plan *s) {
    support_op *op = insert_op(s, 0, &s->ops[TRAIN_OP_LOSS_SEED]);
    op->inputs[0] = TRAIN_LOSS_SCALE;
    op->outputs[0] = add_lasting(s, TRAIN_LOSS, 1, (const uint32_t[]){1});
    op->reals[0] = 0.5f;
}

static void eval_plan_that_checks_no_loss(support_plan *s) {
    leave_out_labels(s);
    s->plan.check_loss = true;
}

static void eval_plan_with_a_schedule(support_plan *s) {
    const uint32_t rate = add_lasting(s, EVAL_LOSS, 1, (const uint32_t[]){1});
    s->tensors[rate].role = FIRN_FB_ROLE_INPUT;
    s->nodes[0] = (firn_fb_schedule_node){.kind = FIRN_FB_SCHEDULE_KIND_CONSTANT, .initial = 0.5};
    s->schedules[0] = (firn_native_schedule){.tensor = rate};
    s->plan.schedule_nodes = s->nodes;
    s->plan.schedules = s->schedules;
    s->plan.schedule_nodes_count = s->plan.schedules_count = 1;
}

static void weights_where_there_are_none(support_plan *s) {
    use_weights(s, FIRN_FLOAT32, 0);
}

static void weights_that_leave_the_constants(support_plan *s) {
    use_weights(s, FIRN_FLOAT32, 16);
    s->header.constants_bytes = 64;
}

static void half_weights_that_leave_the_constants(support_plan *s) {
    use_weights(s, FIRN_FLOAT16, 64);
    s->header.constants_bytes = 64 + 29;
}

static void weights_behind_the_constants(support_plan *s) {
    use_weights(s, FIRN_FLOAT32, 128);
    s->header.constants_bytes = 64;
}

static void weights_whose_end_wraps(support_plan *s) {
    use_weights(s, FIRN_FLOAT32, UINT64_MAX - 15);
    s->header.constants_bytes = 64;
}

static void weights_off_their_alignment(support_plan *s) {
    use_weights(s, FIRN_FLOAT32, 4);
    s->header.constants_bytes = 128;
}

static void weights_of_integers(support_plan *s) {
    use_weights(s, FIRN_INT32, 0);
    s->header.constants_bytes = 128;
}

static void weights_of_bytes(support_plan *s) {
    use_weights(s, FIRN_UINT8, 0);
    s->header.constants_bytes = 128;
}

/* Weights with a field that only another rule uses; the edit sets it. */
static void weights_with_more(support_plan *s) {
    firn_native_initialiser *initialiser = &s->initialisers[TRAIN_WEIGHT];
    initialiser->rule = FIRN_FB_INITIALISER_RULE_WEIGHTS;
    s->header.constants_bytes = 128;
}

static void counter_from_weights(support_plan *s) {
    s->initialisers[TRAIN_STEPS].rule = FIRN_FB_INITIALISER_RULE_WEIGHTS;
    s->header.constants_bytes = 128;
}

static void sum_from_weights(support_plan *s) {
    s->initialisers[EVAL_SUM].rule = FIRN_FB_INITIALISER_RULE_WEIGHTS;
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
    support_op *op = insert_op(s, 0, &s->ops[TRAIN_OP_DBIAS]);
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

/* --- views --- */

static void view_written(support_plan *s) {
    s->operands[TRAIN_OP_DBIAS].outputs[0] = add_whole_view(s, TRAIN_DBIAS);
}

/* An op may change a view of a parameter, but its base is not another operand. */
static void view_written_beside_its_base(support_plan *s) {
    view_of_a_parameter_written(s);
    s->operands[TRAIN_OP_SGD_BIAS].inputs[1] = TRAIN_BIAS;
}

static void view_written_beside_another(support_plan *s) {
    view_of_a_parameter_written(s);
    s->operands[TRAIN_OP_SGD_BIAS].inputs[1] = add_whole_view(s, TRAIN_BIAS);
}

/* Another view than the one that is changed. */
static void view_written_for_another(support_plan *s) {
    view_of_a_parameter_written(s);
    s->operands[TRAIN_OP_SGD_BIAS].outputs[0] = add_whole_view(s, TRAIN_BIAS);
}

static void derived_from_a_parameter_trained_by_a_view(support_plan *s) {
    view_of_a_parameter_written(s);
    (void)derive(s, TRAIN_BIAS);
}

/* The gradient is a part of the parameter. */
static void view_of_an_output_read(support_plan *s) {
    s->operands[TRAIN_OP_SGD_BIAS].inputs[1] = add_whole_view(s, TRAIN_BIAS);
}

static void view_read_too_late(support_plan *s) {
    s->operands[TRAIN_OP_SGD_BIAS].inputs[1] = add_view(s, TRAIN_LOGITS, 0, 1, (const uint32_t[]){5});
}

static void view_read_early(support_plan *s) {
    s->operands[TRAIN_OP_DLOGITS].inputs[0] = add_whole_view(s, TRAIN_NORM);
}

/* --- the model --- */

static void buffer_changed_in_finalise(support_plan *s) {
    s->tensors[TRAIN_BIAS].role = FIRN_FB_ROLE_BUFFER;
    parameter_changed_in_finalise(s);
}

static void statistics_stored_among_micro_batches(support_plan *s) {
    store_statistics(s, 0, add_running_statistics(s));
}

static void statistics_stored_in_finalise(support_plan *s) {
    store_statistics(s, 1, add_running_statistics(s));
}

/* A skipped step would not change them. */
static void statistics_stored_in_an_update(support_plan *s) {
    store_statistics(s, 2, add_running_statistics(s));
}

static void statistics_stored_twice(support_plan *s) {
    const uint32_t next = add_running_statistics(s);
    store_statistics(s, 3, next);
    store_statistics(s, 3, next);
}

/* The optimizer trains a buffer, too. */
static void statistics_trained(support_plan *s) {
    running_statistics(s);
    for (uint32_t n = 0; n < support_plan_counts(s).ops; n++)
        if (s->operands[n].outputs[0] == TRAIN_BIAS)
            s->operands[n].inputs[0] = s->operands[n].outputs[0] = RUNNING_MEAN;
}

static void statistics_in_a_parameter(support_plan *s) {
    running_statistics(s);
    s->tensors[RUNNING_VAR].role = FIRN_FB_ROLE_PARAMETER;
}

static void statistics_in_a_view(support_plan *s) {
    support_op *op = store_statistics(s, 3, add_running_statistics(s));
    op->inputs[0] = op->outputs[0] = add_whole_view(s, RUNNING_MEAN);
}

static void statistics_in_the_arena(support_plan *s) {
    support_op *op = store_statistics(s, 3, add_running_statistics(s));
    op->inputs[1] = op->outputs[1] = TRAIN_DBIAS + RUNNING_BUFFERS;
    s->tensors[TRAIN_DBIAS + RUNNING_BUFFERS].last = support_plan_counts(s).ops - 1;
}

/* Adds to the table what is computed from it. */
static void parameter_changed_in_an_evaluation(support_plan *s) {
    const uint32_t made = add_lasting(s, EVAL_HEAD_MAX, 2, s->dims[EVAL_TABLE]);
    *arena_bytes(s) += 512;
    insert_simple_op(s, 0, FIRN_OP_relu, EVAL_TABLE, made);
    support_op *op =
        insert_op(s, 0, &(firn_native_op){.code = FIRN_OP_accumulate, .inputs_count = 2, .outputs_count = 1});
    op->inputs[0] = op->outputs[0] = EVAL_TABLE;
    op->inputs[1] = made;
}

static void buffer_changed_in_an_evaluation(support_plan *s) {
    s->tensors[EVAL_TABLE].role = FIRN_FB_ROLE_BUFFER;
    parameter_changed_in_an_evaluation(s);
}

/* The norm of the gradients into the loss scale, which nothing reads before. */
static void state_written_anew(support_plan *s) {
    compute_again(s, 1, 0, TRAIN_NORM);
    s->operands[TRAIN_OPS].outputs[0] = TRAIN_LOSS_SCALE;
    s->plan.tensors_count--;
    s->plan.finite = FIRN_ABSENT;
}

static void counter_changed_in_an_evaluation(support_plan *s) {
    s->tensors[change_cache(s)].role = FIRN_FB_ROLE_COUNTER;
}

static void cache_written_anew(support_plan *s) {
    const uint32_t cache = add_cache(s, FIRN_FLOAT32);
    insert_simple_op(s, 0, FIRN_OP_relu, EVAL_LOSS + 1, cache);
}

static void cache_changed_in_derive(support_plan *s) {
    (void)change_cache(s);
    (void)derived_table(s);
    s->phases[0].ops_count++; /* with what was the first op of a step */
    s->phases[1].ops++;
    s->phases[1].ops_count--;
    swap_ops(s, 1, EVAL_OPS + 1);
}

static void derived_from_a_cache(support_plan *s) {
    (void)derive(s, add_cache(s, FIRN_FLOAT32));
}

static void partial_sum_in_an_update(support_plan *s) {
    add_partial_sum(s, 2);
}

static void frozen_weight_changed(support_plan *s) {
    const uint32_t frozen = add_frozen(s, "frozen");
    s->operands[TRAIN_OP_DBIAS].outputs[0] = s->operands[TRAIN_OP_SQUARES_BIAS].inputs[0] = frozen;
    s->operands[TRAIN_OP_SGD_BIAS].inputs[1] = frozen;
}

static void ring_written(support_plan *s) {
    push_records(s);
    const uint32_t ring = add_ring_tensor(s, FIRN_FLOAT32, 272, 2, (const uint32_t[]){4, 3});
    s->header.region_bytes[s->tensors[ring].region] = 272 + 48;
    insert_simple_op(s, 0, FIRN_OP_relu, TRAIN_FEATURES, ring);
    s->tensors[TRAIN_FEATURES].last = TRAIN_OP_DBIAS + 1;
    s->tensors[TRAIN_DBIAS].offset = *arena_bytes(s);
    *arena_bytes(s) += 32;
}

/* --- derive --- */

static void derived_from_a_trained_parameter(support_plan *s) {
    (void)derive(s, TRAIN_WEIGHT);
}

static void derived_from_a_view_of_a_trained_parameter(support_plan *s) {
    (void)derive(s, add_whole_view(s, TRAIN_BIAS));
}

static void derived_from_an_input(support_plan *s) {
    (void)derive(s, TRAIN_FEATURES);
}

static void derived_from_a_scheduled_number(support_plan *s) {
    (void)derive(s, TRAIN_LEARNING_RATE);
}

static void derived_from_the_scale(support_plan *s) {
    (void)derive(s, TRAIN_LOSS_SCALE);
}

static void derived_from_a_sum(support_plan *s) {
    (void)derive(s, EVAL_SUM);
}

static void derived_from_the_norm(support_plan *s) {
    (void)derive(s, TRAIN_NORM);
}

static void derived_into_a_parameter(support_plan *s) {
    const uint32_t table = derived_table(s);
    s->operands[EVAL_OPS].inputs[0] = table;
    s->operands[EVAL_OPS].outputs[0] = EVAL_TABLE;
    s->operands[EVAL_OP_EMBEDDING].inputs[1] = EVAL_TABLE;
}

static void derived_tensor_that_does_not_last(support_plan *s) {
    s->tensors[derived_table(s)].last = 1;
}

static void derived_tensor_that_a_step_writes(support_plan *s) {
    insert_simple_op(s, 1, FIRN_OP_relu, EVAL_TABLE, derived_table(s));
}

static void derived_tensor_that_a_step_changes(support_plan *s) {
    const uint32_t bias = derive(s, add_frozen(s, "frozen"));
    support_op *op =
        insert_op(s, 1, &(firn_native_op){.code = FIRN_OP_accumulate, .inputs_count = 2, .outputs_count = 1});
    op->inputs[0] = op->outputs[0] = bias;
    op->inputs[1] = TRAIN_BIAS;
}

/* The second op would need a tensor that lives on. */
static void derived_twice(support_plan *s) {
    table_that_is_derived_in_two_ops(s);
    s->operands[EVAL_OPS + 1].outputs[0] = s->plan.tensors_count - 1;
}

static void two_tensors_in_the_same_bytes(support_plan *s) {
    s->tensors[TRAIN_ROW_SUM].offset = s->tensors[TRAIN_ROW_MAX].offset;
}

static void in_place_half_a_tensor_on(support_plan *s) {
    s->tensors[TRAIN_DLOGITS].offset = 192;
    *arena_bytes(s) = 512;
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
    *arena_bytes(s) = 512;
}

/* --- views --- */

static void view_of_no_tensor(support_plan *s) {
    s->tensors[add_whole_view(s, TRAIN_WEIGHT)].base = s->plan.tensors_count;
}

static void view_of_itself(support_plan *s) {
    const uint32_t view = add_whole_view(s, TRAIN_WEIGHT);
    s->tensors[view].base = view;
}

static void view_of_a_view(support_plan *s) {
    (void)add_whole_view(s, add_whole_view(s, TRAIN_WEIGHT));
}

static void state_that_is_a_view(support_plan *s) {
    s->tensors[TRAIN_BIAS].base = TRAIN_WEIGHT;
}

static void view_longer_than_its_base(support_plan *s) {
    (void)add_view(s, TRAIN_WEIGHT, 0, 1, (const uint32_t[]){16});
}

static void view_that_leaves_its_base(support_plan *s) {
    (void)add_view(s, TRAIN_WEIGHT, 48, 1, (const uint32_t[]){4});
}

static void view_behind_its_base(support_plan *s) {
    (void)add_view(s, TRAIN_WEIGHT, 64, 1, (const uint32_t[]){1});
}

static void view_whose_end_wraps(support_plan *s) {
    (void)add_view(s, TRAIN_WEIGHT, UINT64_MAX - 15, 1, (const uint32_t[]){4});
}

static void view_off_its_alignment(support_plan *s) {
    (void)add_view(s, TRAIN_WEIGHT, 8, 1, (const uint32_t[]){4});
}

static void view_with_an_extent_of_0(support_plan *s) {
    (void)add_view(s, TRAIN_WEIGHT, 0, 1, (const uint32_t[]){0});
}

static void view_whose_size_wraps(support_plan *s) {
    (void)add_view(s, TRAIN_WEIGHT, 0, 3, (const uint32_t[]){1u << 31, 1u << 31, 1});
}

static void view_with_a_name(support_plan *s) {
    s->tensors[add_whole_view(s, TRAIN_WEIGHT)].name = "view";
}

static void view_of_another_type(support_plan *s) {
    s->tensors[add_whole_view(s, TRAIN_LOGITS)].type = FIRN_INT32;
}

static void view_of_another_role(support_plan *s) {
    s->tensors[add_whole_view(s, TRAIN_LOGITS)].role = FIRN_FB_ROLE_GRADIENT;
}

static void view_in_another_region(support_plan *s) {
    s->tensors[add_whole_view(s, TRAIN_LOGITS)].region = add_region(s, FIRN_FB_REGION_KIND_ARENA, 288);
}

static void view_born_later(support_plan *s) {
    s->tensors[add_whole_view(s, TRAIN_LOGITS)].first++;
}

static void view_that_lives_on(support_plan *s) {
    s->tensors[add_whole_view(s, TRAIN_LOGITS)].last++;
}

/* --- names --- */

static void state_without_a_name(support_plan *s) {
    s->tensors[TRAIN_BIAS].name = NULL;
}

static void activation_with_a_name(support_plan *s) {
    s->tensors[TRAIN_LOGITS].name = "logits";
}

static void input_with_a_name(support_plan *s) {
    s->tensors[TRAIN_LABELS].name = "labels";
}

static void frozen_weight_without_a_name(support_plan *s) {
    s->tensors[add_frozen(s, "frozen")].name = NULL;
}

static void constant_with_a_name(support_plan *s) {
    s->tensors[add_constant(s)].name = "constant";
}

static void cache_without_a_name(support_plan *s) {
    s->tensors[add_cache(s, FIRN_FLOAT32)].name = NULL;
}

static void cache_in_the_arena(support_plan *s) {
    s->tensors[add_cache(s, FIRN_FLOAT32)].region = EVAL_ARENA;
}

static void cache_that_does_not_last(support_plan *s) {
    s->tensors[add_cache(s, FIRN_FLOAT32)].last = 2;
}

/* --- how caches begin --- */

static void cache_of_int8_that_begins_at_1(support_plan *s) {
    s->initialisers[add_cache(s, FIRN_INT8)].integer = 1;
}

static void cache_of_bfloat16_that_begins_at_1(support_plan *s) {
    s->initialisers[add_cache(s, FIRN_BFLOAT16)].a = 1;
}

static void cache_of_bfloat16_drawn_at_random(support_plan *s) {
    s->initialisers[add_cache(s, FIRN_BFLOAT16)].rule = FIRN_FB_INITIALISER_RULE_NORMAL;
}

/* --- regions --- */

static void frozen_weight_in_the_arena(support_plan *s) {
    s->tensors[add_frozen(s, "frozen")].region = TRAIN_ARENA;
}

static void frozen_weight_that_does_not_last(support_plan *s) {
    s->tensors[add_frozen(s, "frozen")].last = 3;
}

static void frozen_weight_that_leaves_its_region(support_plan *s) {
    s->tensors[add_frozen(s, "frozen")].offset = 48;
}

static void ring_in_the_arena(support_plan *s) {
    push_records(s);
    s->tensors[TRAIN_PUSHED].region = TRAIN_ARENA;
}

static void activation_in_a_ring_region(support_plan *s) {
    push_records(s);
    s->tensors[TRAIN_LOGITS].region = s->tensors[TRAIN_PUSHED].region;
}

static void ring_with_a_name(support_plan *s) {
    push_records(s);
    s->tensors[TRAIN_PUSHED].name = "ring";
}

static void ring_that_does_not_last(support_plan *s) {
    push_records(s);
    s->tensors[TRAIN_PUSHED].last = 3;
}

static void parameter_in_the_region_of_another_kind(support_plan *s) {
    s->tensors[TRAIN_BIAS].region = add_region(s, FIRN_FB_REGION_KIND_SLOW_OPTIMIZER, 32);
    s->tensors[TRAIN_BIAS].offset = 0;
}

/* --- the order of tensors, the layout of regions --- */

static void frozen_weights_out_of_order(support_plan *s) {
    (void)add_frozen(s, "ab");
    (void)add_frozen(s, "aa");
}

static void frozen_weights_of_one_name(support_plan *s) {
    (void)add_frozen(s, "ab");
    (void)add_frozen(s, "ab");
}

/* Exchanges a tensor with the next in the list. */
static void exchange_with_the_next(support_plan *s, uint32_t index) {
    const firn_native_tensor tensor = s->tensors[index];
    s->tensors[index] = s->tensors[index + 1];
    s->tensors[index + 1] = tensor;
}

static void frozen_weight_before_the_end_of_the_state(support_plan *s) {
    exchange_with_the_next(s, add_frozen(s, "zz") - 1);
}

static void frozen_weight_behind_an_activation(support_plan *s) {
    exchange_with_the_next(s, add_frozen(s, "frozen"));
}

static void view_before_the_state(support_plan *s) {
    const firn_native_tensor view = s->tensors[add_whole_view(s, TRAIN_WEIGHT)];
    s->plan.tensors_count--;
    insert_tensor(s, 0, &view, 15);
    s->tensors[0].base = TRAIN_WEIGHT + 1;
}

static void view_before_a_frozen_weight(support_plan *s) {
    const uint32_t frozen = add_frozen(s, "frozen");
    insert_tensor(s, frozen, &s->tensors[frozen], 5);
    s->tensors[frozen].name = NULL;
    s->tensors[frozen].base = frozen + 1;
}

static void optimizer_region_without_tensors(support_plan *s) {
    (void)add_region(s, FIRN_FB_REGION_KIND_SLOW_OPTIMIZER, 16);
}

static void ring_region_with_a_gap(support_plan *s) {
    push_records(s);
    s->tensors[TRAIN_PUSHED].offset = 272;
    s->header.region_bytes[s->tensors[TRAIN_PUSHED].region] = 288;
}

static void ring_region_with_room_to_spare(support_plan *s) {
    push_records(s);
    s->header.region_bytes[s->tensors[TRAIN_PUSHED].region] = 280;
}

/* --- pushed samples --- */

static void rings_without_a_count(support_plan *s) {
    push_records(s);
    s->sampler.pushed = FIRN_ABSENT;
}

static void count_without_rings(support_plan *s) {
    push_records(s);
    s->inputs[0].ring = s->inputs[1].ring = FIRN_ABSENT;
}

static void one_ring_missing(support_plan *s) {
    push_records(s);
    s->inputs[1].ring = FIRN_ABSENT;
}

static void two_rings_of_one_stream(support_plan *s) {
    push_windows(s);
    s->inputs[1].ring = add_ring_tensor(s, FIRN_UINT8, 32, 1, (const uint32_t[]){16});
    s->header.region_bytes[s->header.region_count - 1] = 48;
}

/* The bytes stay where they are: the shorter ring leaves a gap that its padding covers. */
static void rings_of_two_lengths(support_plan *s) {
    push_records(s);
    static const uint32_t shorter = 63;
    s->tensors[s->inputs[1].ring].dims = &shorter;
}

static void one_ring_of_two_streams(support_plan *s) {
    push_single_bytes(s);
    s->inputs[1].ring = s->inputs[0].ring;
}

static void count_that_is_a_counter(support_plan *s) {
    push_records(s);
    s->sampler.pushed = TRAIN_STEPS;
}

static void count_that_is_a_ring(support_plan *s) {
    push_records(s);
    s->sampler.pushed = TRAIN_RING_LABELS;
}

static void count_of_two_numbers(support_plan *s) {
    push_records(s);
    s->dims[TRAIN_PUSHED][0] = 2;
}

static void count_that_is_no_tensor(support_plan *s) {
    push_records(s);
    s->sampler.pushed = s->plan.tensors_count;
}

static void ring_that_is_the_count(support_plan *s) {
    push_records(s);
    s->inputs[1].ring = TRAIN_PUSHED;
}

static void ring_that_is_no_tensor(support_plan *s) {
    push_records(s);
    s->inputs[0].ring = s->plan.tensors_count;
}

static void ring_that_is_an_input(support_plan *s) {
    push_records(s);
    s->inputs[1].ring = TRAIN_LABELS;
}

static void ring_that_is_a_view(support_plan *s) {
    push_records(s);
    s->inputs[0].ring = add_whole_view(s, TRAIN_RING_FEATURES);
}

static void ring_of_another_type(support_plan *s) {
    push_records(s);
    s->tensors[TRAIN_RING_LABELS].type = FIRN_INT8;
}

static void ring_of_other_records(support_plan *s) {
    push_records(s);
    s->dims[TRAIN_RING_FEATURES][0] = 48;
    s->dims[TRAIN_RING_FEATURES][1] = 4;
}

static void ring_of_windows_in_two_dimensions(support_plan *s) {
    push_windows(s);
    set_dims(s, EVAL_RING, EVAL_RING, 2, (const uint32_t[]){4, 4});
}

static void pushed_samples_that_are_held_out(support_plan *s) {
    push_records(s);
    s->sampler.held_out_per_mille = 1;
}

static void pushed_samples_for_training_alone(support_plan *s) {
    push_records(s);
    s->sampler.part = FIRN_FB_DATA_PART_TRAIN;
}

static void pushed_samples_of_the_held_out_part(support_plan *s) {
    push_windows(s);
    s->sampler.part = FIRN_FB_DATA_PART_HELD_OUT;
}

/* --- overlaps --- */

static void in_place_of_what_is_read_through_a_view(support_plan *s) {
    s->operands[TRAIN_OP_DLOGITS].inputs[1] = add_whole_view(s, TRAIN_LOGITS);
}

static void in_place_beside_a_view(support_plan *s) {
    s->operands[TRAIN_OP_DLOGITS].inputs[3] = add_view(s, TRAIN_LOGITS, 0, 1, (const uint32_t[]){4});
}

static void same_place_in_the_second_arena(support_plan *s) {
    same_place_in_two_arenas(s);
    s->tensors[TRAIN_ROW_MAX].region = s->tensors[TRAIN_ROW_SUM].region;
}

static void derived_tensor_in_the_bytes_of_a_step(support_plan *s) {
    s->tensors[derived_table(s)].offset = s->tensors[EVAL_SCRATCH].offset;
}

static const plan_case numerics_version_cases[] = {
    {"numerics of another version", TRAIN, .edits = {SET(plan.numerics_version, 2)}},
};

/* The plan's own counts are added to these numbers. */
static const plan_case header_mismatch_cases[] = {
    {"header with more tensors", TRAIN, .edits = {SET(header.counts.tensors, 1)}},
    {"header with fewer tensors", TRAIN, .edits = {SET(header.counts.tensors, UINT32_MAX)}},
    {"header with more state tensors", TRAIN, .edits = {SET(header.counts.state_tensors, 1)}},
    {"header with fewer state tensors", TRAIN, .edits = {SET(header.counts.state_tensors, UINT32_MAX)}},
    {"plan with more state tensors than tensors", TRAIN,
     .edits = {SET(plan.state_tensors, TRAIN_TENSORS + 1), SET(header.counts.state_tensors, UINT32_MAX)}},
    {"header with more ops", TRAIN, .edits = {SET(header.counts.ops, 1)}},
    {"header with fewer ops", TRAIN, .edits = {SET(header.counts.ops, UINT32_MAX)}},
    {"header with more operands", TRAIN, .edits = {SET(header.counts.operands, 1)}},
    {"header with fewer operands", TRAIN, .edits = {SET(header.counts.operands, UINT32_MAX)}},
    {"header with more integers", TRAIN, .edits = {SET(header.counts.integers, 1)}},
    {"header with fewer integers", EVAL, .edits = {SET(header.counts.integers, UINT32_MAX)}},
    {"header with more reals", TRAIN, .edits = {SET(header.counts.reals, 1)}},
    {"header with fewer reals", EVAL, .edits = {SET(header.counts.reals, UINT32_MAX)}},
    {"header with more reductions", TRAIN, .edits = {SET(header.counts.reductions, 1)}},
    {"header with fewer reductions", EVAL, .edits = {SET(header.counts.reductions, UINT32_MAX)}},
    {"header with a wider op", TRAIN, .edits = {SET(header.counts.widest, 1)}},
    {"header with a narrower op", EVAL, .edits = {SET(header.counts.widest, UINT32_MAX)}},
};

static const plan_case phase_cases[] = {
    {"header of the other mode", TRAIN, .edits = {SET(header.mode, FIRN_MODE_EVAL)}},
    {"header of the other mode, too", EVAL, .edits = {SET(header.mode, FIRN_MODE_TRAIN)}},
    {"no update phase", TRAIN, .change = no_update_phase},
    {"phases in another order", TRAIN,
     .edits = {SET(phases[2].kind, FIRN_FB_PHASE_KIND_BOOKKEEP), SET(phases[3].kind, FIRN_FB_PHASE_KIND_UPDATE)}},
    {"evaluate in a train plan", TRAIN, .edits = {SET(phases[1].kind, FIRN_FB_PHASE_KIND_EVALUATE)}},
    {"a phase twice", TRAIN, .change = a_phase_twice},
    {"bookkeep in an eval plan", EVAL, .change = bookkeep_in_an_eval_plan},
    {"derive behind a step", EVAL, .change = derive_behind_a_step},
    {"derive twice", EVAL, .change = derive_twice},
    {"derive alone", EVAL, .change = derive_alone},
    {"derive in place of micro-batches", TRAIN, .edits = {SET(phases[0].kind, FIRN_FB_PHASE_KIND_DERIVE)}},
    {"derive behind micro-batches", TRAIN, .edits = {SET(phases[1].kind, FIRN_FB_PHASE_KIND_DERIVE)}},
};

static const plan_case tensor_cases[] = {
    {"tensor in no region", TRAIN, .edits = {SET(tensors[TRAIN_LOGITS].region, TRAIN_REGIONS)}},
    {"tensor in no region that may be", TRAIN, .edits = {SET(tensors[TRAIN_LOGITS].region, 255)}},
    {"tensor off its alignment", TRAIN, .edits = {ADD(tensors[TRAIN_LOGITS].offset, 8)}},
    {"tensor that leaves its region", TRAIN, .edits = {SET(tensors[TRAIN_DWEIGHT].offset, 240)}},
    {"tensor behind its region", TRAIN, .edits = {SET(tensors[TRAIN_DWEIGHT].offset, 1024)}},
    {"tensor whose end wraps", TRAIN, .edits = {SET(tensors[TRAIN_DWEIGHT].offset, UINT64_MAX - 15)}},
    {"tensor with an extent of 0", TRAIN, .edits = {SET(dims[TRAIN_LOGITS][1], 0)}},
    {"tensor whose size wraps", TRAIN,
     .edits = {SET(dims[TRAIN_LOGITS][0], UINT32_MAX), SET(dims[TRAIN_LOGITS][1], UINT32_MAX)}},
    {"activation in the state", TRAIN,
     .edits = {SET(header.region_bytes[TRAIN_SESSION], 96), SET(tensors[TRAIN_LOGITS].region, TRAIN_SESSION),
               SET(tensors[TRAIN_LOGITS].offset, 0)}},
    {"counter in the arena", TRAIN, .edits = {SET(tensors[TRAIN_CURSOR].region, TRAIN_ARENA)}},
    {"constant in the arena", TRAIN, .edits = {SET(tensors[TRAIN_DLOSS].role, FIRN_FB_ROLE_CONSTANT)}},
    {"counter among the parameters", TRAIN, .edits = {SET(tensors[TRAIN_CURSOR].region, TRAIN_PARAMETERS)}},
    {"optimizer state in the session", TRAIN,
     .edits = {SET(header.region_kinds[TRAIN_OPTIMIZER], FIRN_FB_REGION_KIND_SESSION)}},
    {"parameter in the session", TRAIN,
     .edits = {SET(header.region_kinds[TRAIN_PARAMETERS], FIRN_FB_REGION_KIND_SLOW_SESSION)}},
    {"buffer in the region of the optimizer", TRAIN,
     .edits = {SET(tensors[TRAIN_LOSS_SCALE].role, FIRN_FB_ROLE_BUFFER)}},
    {"parameter in the region of another kind", TRAIN, .change = parameter_in_the_region_of_another_kind},
    {"frozen weight in the arena", TRAIN, .change = frozen_weight_in_the_arena},
    {"frozen weight that does not last", TRAIN, .change = frozen_weight_that_does_not_last},
    {"frozen weight that leaves its region", TRAIN, .change = frozen_weight_that_leaves_its_region},
    {"ring in the arena", TRAIN, .change = ring_in_the_arena},
    {"activation in a ring region", TRAIN, .change = activation_in_a_ring_region},
    {"ring that does not last", TRAIN, .change = ring_that_does_not_last},
    {"cache in the region of the optimizer", TRAIN, .edits = {SET(tensors[TRAIN_STEPS].role, FIRN_FB_ROLE_CACHE)}},
    {"cache among the parameters", TRAIN, .edits = {SET(tensors[TRAIN_BIAS].role, FIRN_FB_ROLE_CACHE)}},
    {"cache in the arena", EVAL, .change = cache_in_the_arena},
    {"cache without a name", EVAL, .change = cache_without_a_name},
    {"cache that does not last", EVAL, .change = cache_that_does_not_last},
    {"parameter in a half type", TRAIN, .edits = {SET(tensors[TRAIN_BIAS].type, FIRN_BFLOAT16)}},
    {"parameter of int64", TRAIN,
     .edits = {SET(tensors[TRAIN_CURSOR].role, FIRN_FB_ROLE_PARAMETER), SET(tensors[TRAIN_CURSOR].region, 0)}},
    {"buffer of int32", TRAIN,
     .edits = {SET(tensors[TRAIN_BIAS].role, FIRN_FB_ROLE_BUFFER), SET(tensors[TRAIN_BIAS].type, FIRN_INT32)}},
    {"optimizer state in a half type", TRAIN, .edits = {SET(tensors[TRAIN_LOSS_SCALE].type, FIRN_FLOAT16)}},
    {"life that ends before it begins", TRAIN,
     .edits = {SET(tensors[TRAIN_LOGITS].first, 4), SET(tensors[TRAIN_LOGITS].last, 3)}},
    {"life beyond the last op", TRAIN, .edits = {SET(tensors[TRAIN_DBIAS].last, TRAIN_OPS)}},
    {"state that does not last", TRAIN, .edits = {SET(tensors[TRAIN_WEIGHT].last, 3)}},
    {"life for ever but from later", TRAIN, .edits = {SET(tensors[TRAIN_LOSS].first, 1)}},
    {"state without a name", TRAIN, .change = state_without_a_name},
    {"activation with a name", TRAIN, .change = activation_with_a_name},
    {"input with a name", TRAIN, .change = input_with_a_name},
    {"frozen weight without a name", TRAIN, .change = frozen_weight_without_a_name},
    {"constant with a name", TRAIN, .change = constant_with_a_name},
    {"ring with a name", TRAIN, .change = ring_with_a_name},
    {"view of no tensor", TRAIN, .change = view_of_no_tensor},
    {"view of itself", TRAIN, .change = view_of_itself},
    {"view of a view", TRAIN, .change = view_of_a_view},
    {"state that is a view", TRAIN, .change = state_that_is_a_view},
    {"view longer than its base", TRAIN, .change = view_longer_than_its_base},
    {"view that leaves its base", TRAIN, .change = view_that_leaves_its_base},
    {"view behind its base", TRAIN, .change = view_behind_its_base},
    {"view whose end wraps", TRAIN, .change = view_whose_end_wraps},
    {"view off its alignment", TRAIN, .change = view_off_its_alignment},
    {"view with an extent of 0", TRAIN, .change = view_with_an_extent_of_0},
    {"view whose size wraps", TRAIN, .change = view_whose_size_wraps},
    {"view with a name", TRAIN, .change = view_with_a_name},
    {"view of another type", TRAIN, .change = view_of_another_type},
    {"view of another role", TRAIN, .change = view_of_another_role},
    {"view in another region", TRAIN, .change = view_in_another_region},
    {"view born later", TRAIN, .change = view_born_later},
    {"view that lives on", TRAIN, .change = view_that_lives_on},
};

static const plan_case state_order_cases[] = {
    {"state out of order", TRAIN, .change = state_out_of_order},
    {"state with a name twice", TRAIN, .change = state_with_a_name_twice},
    {"name before its own beginning", TRAIN, .change = name_before_its_own_beginning},
    {"fewer state tensors than there are", TRAIN, .edits = {ADD(plan.state_tensors, -1)}},
    {"more state tensors than there are", TRAIN, .edits = {ADD(plan.state_tensors, 1)}},
    {"frozen weights out of order", TRAIN, .change = frozen_weights_out_of_order},
    {"frozen weights of one name", TRAIN, .change = frozen_weights_of_one_name},
    {"frozen weight before the end of the state", TRAIN, .change = frozen_weight_before_the_end_of_the_state},
    {"frozen weight behind an activation", TRAIN, .change = frozen_weight_behind_an_activation},
    {"view before the state", TRAIN, .change = view_before_the_state},
    {"view before a frozen weight", TRAIN, .change = view_before_a_frozen_weight},
    {"parameters in another order than the list", TRAIN,
     .edits = {SET(tensors[TRAIN_BIAS].offset, 64), SET(tensors[TRAIN_WEIGHT].offset, 0)}},
    {"parameters with a gap", TRAIN,
     .edits = {SET(tensors[TRAIN_WEIGHT].offset, 48), SET(header.region_bytes[TRAIN_PARAMETERS], 112)}},
    {"parameters that begin later", TRAIN,
     .edits = {SET(tensors[TRAIN_BIAS].offset, 16), SET(tensors[TRAIN_WEIGHT].offset, 48),
               SET(header.region_bytes[TRAIN_PARAMETERS], 112)}},
    {"parameters that overlap", TRAIN, .edits = {SET(tensors[TRAIN_WEIGHT].offset, 16)}},
    {"parameters with room to spare", TRAIN, .edits = {SET(header.region_bytes[TRAIN_PARAMETERS], 92 + 16)}},
    {"optimizer with a gap", TRAIN,
     .edits = {SET(tensors[TRAIN_STEPS].offset, 96), SET(header.region_bytes[TRAIN_OPTIMIZER], 112)}},
    {"optimizer that overlaps", TRAIN, .edits = {SET(tensors[TRAIN_STEPS].offset, 64)}},
    {"optimizer region without tensors", TRAIN, .change = optimizer_region_without_tensors},
    {"session with room to spare", TRAIN, .edits = {SET(header.region_bytes[TRAIN_SESSION], 8 + 16)}},
    {"session that overlaps", EVAL, .edits = {SET(tensors[EVAL_SUM].offset, 16)}},
    {"ring region with a gap", TRAIN, .change = ring_region_with_a_gap},
    {"ring region with room to spare", TRAIN, .change = ring_region_with_room_to_spare},
};

/* --- operands --- */

static void index_that_is_a_view_of_no_input(support_plan *s) {
    s->inputs[0] = s->inputs[1];
    s->plan.inputs_count = 1;
    s->tensors[EVAL_IDS].role = FIRN_FB_ROLE_ACTIVATION;
    s->operands[EVAL_OP_EMBEDDING].inputs[0] = add_whole_view(s, EVAL_IDS);
}

static void index_view_beyond_the_table(support_plan *s) {
    s->inputs[0].limit = 8;
    s->operands[EVAL_OP_EMBEDDING].inputs[0] = add_whole_view(s, EVAL_IDS);
}

static void view_of_another_extent(support_plan *s) {
    s->operands[TRAIN_OP_LINEAR].inputs[1] = add_view(s, TRAIN_WEIGHT, 0, 2, (const uint32_t[]){3, 5});
}

static void view_of_scratch_read(support_plan *s) {
    s->operands[TRAIN_OP_SQUARES_WEIGHT].inputs[0] = add_whole_view(s, TRAIN_SCRATCH_BIAS);
}

static void ring_read(support_plan *s) {
    push_records(s);
    s->operands[TRAIN_OP_COUNT_STEP].inputs[0] = TRAIN_PUSHED;
}

static void ring_read_through_a_view(support_plan *s) {
    push_records(s);
    s->operands[TRAIN_OP_COUNT_STEP].inputs[0] = add_whole_view(s, TRAIN_PUSHED);
}

/* --- reductions --- */

/* Makes the operands of the attention float16. */
static void use_float16(support_plan *s) {
    s->tensors[EVAL_QKV].type = s->tensors[EVAL_Y].type = FIRN_FLOAT16;
    s->ATTENTION_REDUCTION(0, output) = s->ATTENTION_REDUCTION(1, output) = FIRN_FLOAT16;
}

static void blocks_of_31(support_plan *s) {
    use_blocks(s, FIRN_FB_REDUCTION_KIND_EVEN_ODD_BLOCKS, 31);
}

static void blocks_of_33(support_plan *s) {
    use_blocks(s, FIRN_FB_REDUCTION_KIND_EVEN_ODD_BLOCKS, 33);
}

static void blocks_of_64(support_plan *s) {
    use_blocks(s, FIRN_FB_REDUCTION_KIND_EVEN_ODD_BLOCKS, 64);
}

static void blocks_of_none(support_plan *s) {
    use_blocks(s, FIRN_FB_REDUCTION_KIND_EVEN_ODD_BLOCKS, 0);
}

static void pairs_of_1(support_plan *s) {
    use_blocks(s, FIRN_FB_REDUCTION_KIND_PAIRS, 1);
}

static void pairs_of_3(support_plan *s) {
    use_blocks(s, FIRN_FB_REDUCTION_KIND_PAIRS, 3);
}

static void pairs_of_32(support_plan *s) {
    use_blocks(s, FIRN_FB_REDUCTION_KIND_PAIRS, 32);
}

static void blocks_in_a_half_accumulator(support_plan *s) {
    even_odd_blocks(s);
    s->ATTENTION_REDUCTION(1, accumulator) = FIRN_BFLOAT16;
}

static void pairs_in_a_half_accumulator(support_plan *s) {
    pairs(s);
    s->ATTENTION_REDUCTION(0, accumulator) = FIRN_BFLOAT16;
}

static void blocks_that_write_float32(support_plan *s) {
    even_odd_blocks(s);
    s->ATTENTION_REDUCTION(1, output) = FIRN_FLOAT32;
}

static void blocks_of_float16(support_plan *s) {
    even_odd_blocks(s);
    use_float16(s);
}

static void pairs_of_float16(support_plan *s) {
    pairs(s);
    use_float16(s);
}

static void blocks_of_float32(support_plan *s) {
    s->operands[TRAIN_OP_LINEAR].reductions[0] =
        (firn_fb_reduction){.kind = FIRN_FB_REDUCTION_KIND_EVEN_ODD_BLOCKS, .chunk = 32};
}

static void pairs_of_float32(support_plan *s) {
    s->operands[TRAIN_OP_LINEAR].reductions[0] = (firn_fb_reduction){.kind = FIRN_FB_REDUCTION_KIND_PAIRS, .chunk = 2};
}

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
    {"last input that is absent", TRAIN, .edits = {SET(operands[TRAIN_OP_LINEAR].inputs[2], UINT32_MAX)}},
    {"only input that is absent", TRAIN, .edits = {SET(operands[TRAIN_OP_LOSS_SEED].inputs[0], UINT32_MAX)}},
    {"absent input that is not optional", TRAIN, .edits = {SET(operands[TRAIN_OP_LINEAR].inputs[1], UINT32_MAX)}},
    {"absent first input", EVAL, .edits = {SET(operands[EVAL_OP_EMBEDDING].inputs[0], UINT32_MAX)}},
    {"absent input that is changed", TRAIN, .edits = {SET(operands[TRAIN_OP_SGD_BIAS].inputs[0], UINT32_MAX)}},
    {"absent norm at the end", TRAIN, .edits = {SET(operands[TRAIN_OP_FACTORS].inputs[1], UINT32_MAX)}},
    {"scratch read", TRAIN, .edits = {SET(operands[TRAIN_OP_SQUARES_WEIGHT].inputs[0], TRAIN_SCRATCH_BIAS)}},
    {"scratch of the op itself read", TRAIN,
     .edits = {SET(operands[TRAIN_OP_SQUARES_WEIGHT].inputs[0], TRAIN_SCRATCH_WEIGHT)}},
    {"view of scratch read", TRAIN, .change = view_of_scratch_read},
    {"scratch that is not marked", TRAIN, .edits = {SET(tensors[TRAIN_SCRATCH_BIAS].role, FIRN_FB_ROLE_ACTIVATION)}},
    {"scratch of attention that is not marked", EVAL, .edits = {SET(tensors[EVAL_SCRATCH].role, FIRN_FB_ROLE_RESULT)}},
    {"result marked as scratch", TRAIN, .edits = {SET(tensors[TRAIN_ROW_MAX].role, FIRN_FB_ROLE_SCRATCH)}},
    {"loss marked as scratch", EVAL, .edits = {SET(tensors[EVAL_LOSS].role, FIRN_FB_ROLE_SCRATCH)}},
    {"norm marked as scratch", TRAIN, .edits = {SET(tensors[TRAIN_NORM].role, FIRN_FB_ROLE_SCRATCH)}},
    {"ring read", TRAIN, .change = ring_read},
    {"ring read through a view", TRAIN, .change = ring_read_through_a_view},
    {"index that is a view of no input", EVAL, .change = index_that_is_a_view_of_no_input},
    {"index view beyond the table", EVAL, .change = index_view_beyond_the_table},
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
};

static const plan_case op_shape_cases[] = {
    {"output of another extent", TRAIN, .edits = {SET(dims[TRAIN_LOGITS][0], 2), SET(dims[TRAIN_DLOGITS][0], 2)}},
    {"output of another rank", TRAIN,
     .edits = {SET(tensors[TRAIN_ROW_MAX].dims_count, 2), SET(dims[TRAIN_ROW_MAX][1], 1)}},
    {"output of another type", TRAIN, .edits = {SET(tensors[TRAIN_LOSS].type, FIRN_INT32)}},
    {"view of another extent", TRAIN, .change = view_of_another_extent},
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
    {"reserved byte used", TRAIN, .edits = {SET(operands[TRAIN_OP_LINEAR].reductions[0].reserved_byte, 1)}},
    {"reserved low used", TRAIN, .edits = {SET(operands[TRAIN_OP_LINEAR].reductions[0].reserved_low, 1)}},
    {"reserved high used", TRAIN, .edits = {SET(operands[TRAIN_OP_LINEAR].reductions[0].reserved_high, 1u << 31)}},
    {"reserved used under chunks", EVAL, .edits = {SET(ATTENTION_REDUCTION(1, reserved_low), 1)}},
    {"blocks of 31", EVAL, .change = blocks_of_31},
    {"blocks of 33", EVAL, .change = blocks_of_33},
    {"blocks of 64", EVAL, .change = blocks_of_64},
    {"blocks of no terms", EVAL, .change = blocks_of_none},
    {"pairs of 1", EVAL, .change = pairs_of_1},
    {"pairs of 3", EVAL, .change = pairs_of_3},
    {"pairs of 32", EVAL, .change = pairs_of_32},
    {"blocks in a half accumulator", EVAL, .change = blocks_in_a_half_accumulator},
    {"pairs in a half accumulator", EVAL, .change = pairs_in_a_half_accumulator},
    {"blocks that write float32", EVAL, .change = blocks_that_write_float32},
    {"blocks of float16", EVAL, .change = blocks_of_float16},
    {"pairs of float16", EVAL, .change = pairs_of_float16},
    {"blocks of float32", TRAIN, .change = blocks_of_float32},
    {"pairs of float32", TRAIN, .change = pairs_of_float32},
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
    {"labels of int64", TRAIN, .edits = {SET(inputs[1].element, FIRN_INT64)}},
    {"labels of bfloat16", TRAIN, .edits = {SET(inputs[1].element, FIRN_BFLOAT16)}},
    {"features of int64", TRAIN, .edits = {SET(inputs[0].element, FIRN_INT64)}},
    {"features of float16", TRAIN, .edits = {SET(inputs[0].element, FIRN_FLOAT16)}},
    {"features of cbfloat16", TRAIN, .edits = {SET(inputs[0].element, FIRN_CBFLOAT16)}},
    {"labels from float32", TRAIN, .edits = {SET(inputs[1].element, FIRN_FLOAT32)}},
    {"features from int32", TRAIN, .edits = {SET(inputs[0].element, FIRN_INT32)}},
    {"float32 features that are scaled", TRAIN, .edits = {SET(inputs[0].element, FIRN_FLOAT32)}},
    {"labels shifted by minus zero", TRAIN, .edits = {SET_REAL(inputs[1].shift, -0.0f)}},
    {"labels that are scaled", TRAIN, .edits = {SET_REAL(inputs[1].scale, 2)}},
    {"input of a type that no data fills", TRAIN, .change = input_of_a_type_that_no_data_fills},
    {"records with an advance", TRAIN, .edits = {SET(inputs[0].advance, 1)}},
    {"input into a view", TRAIN, .change = input_into_a_view},
    {"cursor that is a view", TRAIN, .change = cursor_that_is_a_view},
    {"rings without a count", TRAIN, .change = rings_without_a_count},
    {"count without rings", TRAIN, .change = count_without_rings},
    {"two rings of one stream", EVAL, .change = two_rings_of_one_stream},
    {"one ring of two streams", TRAIN, .change = one_ring_of_two_streams},
    {"rings of two lengths", TRAIN, .change = rings_of_two_lengths},
    {"one ring missing", TRAIN, .change = one_ring_missing},
    {"count that is a counter", TRAIN, .change = count_that_is_a_counter},
    {"count that is a ring", TRAIN, .change = count_that_is_a_ring},
    {"count of two numbers", TRAIN, .change = count_of_two_numbers},
    {"count that is no tensor", TRAIN, .change = count_that_is_no_tensor},
    {"ring that is the count", TRAIN, .change = ring_that_is_the_count},
    {"ring that is no tensor", TRAIN, .change = ring_that_is_no_tensor},
    {"ring that is an input", TRAIN, .change = ring_that_is_an_input},
    {"ring that is a view", TRAIN, .change = ring_that_is_a_view},
    {"ring of another type", TRAIN, .change = ring_of_another_type},
    {"ring of other records", TRAIN, .change = ring_of_other_records},
    {"ring of windows in two dimensions", EVAL, .change = ring_of_windows_in_two_dimensions},
    {"pushed samples that are held out", TRAIN, .change = pushed_samples_that_are_held_out},
    {"pushed samples for training alone", TRAIN, .change = pushed_samples_for_training_alone},
    {"pushed samples of the held-out part", EVAL, .change = pushed_samples_of_the_held_out_part},
};

static const plan_case schedule_cases[] = {
    {"schedule of no steps", TRAIN, .edits = {SET(nodes[0].total, 0)}},
    {"schedule with a reserved bit", TRAIN, .edits = {SET(nodes[0].reserved, UINT64_C(1) << 63)}},
    {"schedule with a low reserved bit", TRAIN, .edits = {SET(nodes[0].reserved, 1)}},
    {"schedule without a root", TRAIN, .edits = {SET(schedules[0].root, 1)}},
    {"schedule without a tensor", TRAIN, .edits = {SET(schedules[0].tensor, TRAIN_TENSORS)}},
    {"schedule into a result", TRAIN, .edits = {SET(schedules[0].tensor, TRAIN_LOSS)}},
    {"schedule that does not last", TRAIN, .edits = {SET(tensors[TRAIN_LEARNING_RATE].last, TRAIN_OP_SGD_WEIGHT)}},
    {"two schedules for one tensor", TRAIN, .change = two_schedules_for_one_tensor},
    {"schedule into an input", TRAIN, .change = schedule_into_an_input},
    {"schedule into a view", TRAIN, .change = schedule_into_a_view},
};

static const plan_case role_cases[] = {
    {"loss that is no scalar", TRAIN, .edits = {SET(plan.loss, TRAIN_ROW_MAX)}},
    {"loss that is no tensor", TRAIN, .edits = {SET(plan.loss, TRAIN_TENSORS)}},
    {"loss of int32", TRAIN, .edits = {SET(plan.loss, TRAIN_FINITE)}},
    {"loss in the state", TRAIN, .edits = {SET(plan.loss, TRAIN_LOSS_SCALE)}},
    {"loss that does not last", TRAIN, .edits = {SET(tensors[TRAIN_LOSS].first, 1), SET(tensors[TRAIN_LOSS].last, 5)}},
    {"loss that comes too late", TRAIN, .edits = {SET(plan.loss, TRAIN_NORM)}},
    {"loss that is a view", TRAIN, .change = loss_that_is_a_view},
    {"loss that is scratch", TRAIN, .change = loss_that_is_scratch},
    {"loss that is derived", EVAL, .change = loss_that_is_derived},
    {"output without a tensor", TRAIN, .change = output_without_a_tensor},
    {"output that is absent", TRAIN, .edits = {SET(outputs[0].tensor, UINT32_MAX)}},
    {"output that does not last", TRAIN, .change = output_that_does_not_last},
    {"output that is a view of what does not last", TRAIN, .change = output_that_views_what_does_not_last},
    {"output of the state", TRAIN, .edits = {SET(outputs[0].tensor, TRAIN_WEIGHT)}},
    {"output of an input", TRAIN, .edits = {SET(outputs[0].tensor, TRAIN_LEARNING_RATE)}},
    {"output of a constant", TRAIN, .change = output_of_a_constant},
    {"output of a ring", TRAIN, .change = output_of_a_ring},
    {"output that is scratch", TRAIN, .change = output_that_is_scratch},
    {"output that is a view of scratch", TRAIN, .change = output_that_views_scratch},
    {"output that an update writes", TRAIN, .change = output_that_an_update_writes},
    {"two outputs of one name", TRAIN, .change = two_outputs_of_one_name},
    {"learning rate without a schedule", TRAIN, .edits = {SET(plan.learning_rate, TRAIN_LOSS)}},
    {"learning rate that is no tensor", TRAIN, .edits = {SET(plan.learning_rate, TRAIN_TENSORS)}},
    {"scale that no checkpoint holds", TRAIN,
     .edits = {SET(plan.loss_scale, TRAIN_LEARNING_RATE),
               SET(operands[TRAIN_OP_LOSS_SEED].inputs[0], TRAIN_LEARNING_RATE)}},
    {"floor in the state", TRAIN, .edits = {SET(plan.at_floor, TRAIN_STEPS)}},
    {"floor that is finite", TRAIN, .edits = {SET(plan.at_floor, TRAIN_FINITE)}},
    {"floor that is no tensor", TRAIN, .edits = {SET(plan.at_floor, TRAIN_TENSORS)}},
    {"finite of float32", TRAIN, .edits = {SET(plan.finite, TRAIN_NORM)}},
    {"finite that nothing computes", TRAIN, .change = finite_that_nothing_computes},
    {"finite known too late", TRAIN, .edits = {SET(plan.finite, TRAIN_AT_FLOOR)}},
    {"finite that two ops compute", TRAIN, .change = finite_that_two_ops_compute},
    {"finite that is a view", TRAIN, .change = finite_that_is_a_view},
    {"gradient norm of int32", TRAIN, .edits = {SET(plan.gradient_norm, TRAIN_FINITE)}},
    {"gradient norm that is the loss", TRAIN, .edits = {SET(plan.gradient_norm, TRAIN_LOSS)}},
    {"gradient norm that is no tensor", TRAIN, .edits = {SET(plan.gradient_norm, TRAIN_TENSORS)}},
    {"gradient norm computed too late", TRAIN, .change = norm_computed_too_late},
    {"gradient norm that two ops compute", TRAIN, .change = norm_that_two_ops_compute},
    {"metric of a view", EVAL, .change = metric_of_a_view},
    {"global step that is a view", TRAIN, .change = global_step_that_is_a_view},
    {"global step that is the cursor", TRAIN, .edits = {SET(plan.global_step, TRAIN_CURSOR)}},
    {"global step that nothing counts", TRAIN, .edits = {SET(plan.global_step, TRAIN_SKIPPED)}},
    {"global step counted by 2", TRAIN, .edits = {SET(operands[TRAIN_OP_COUNT_STEP].integers[0], 2)}},
    {"both counters in one", TRAIN, .edits = {SET(plan.optimizer_step, TRAIN_GLOBAL_STEP)}},
    {"metric without a sum", EVAL, .edits = {SET(metric.sum, EVAL_COUNT)}},
    {"metric whose sum is one number", EVAL, .edits = {SET(metric.kind, FIRN_FB_METRIC_KIND_ACCURACY)}},
    {"metric that another op keeps", EVAL, .edits = {SET(metric.kind, FIRN_FB_METRIC_KIND_WEIGHTED_ACCURACY)}},
    {"matrix that is none", EVAL, .edits = {SET(metric.kind, FIRN_FB_METRIC_KIND_MEAN_IOU)}},
    {"metric that counts with the cursor", EVAL, .edits = {SET(metric.count, EVAL_CURSOR)}},
    {"second metric of another kind", EVAL, .change = second_metric_of_another_kind},
    {"second metric without a count", EVAL, .change = second_metric_without_a_count},
    {"metric that no op computes", EVAL, .edits = {ADD(phases[0].ops_count, -1)}},
    {"metric op that changes the cursor", EVAL,
     .edits = {SET(operands[EVAL_OP_METRIC].inputs[2], EVAL_CURSOR),
               SET(operands[EVAL_OP_METRIC].outputs[1], EVAL_CURSOR)}},
};

static const plan_case field_cases[] = {
    {"beta of a mean", EVAL, .edits = {SET_REAL(metric.beta, 1)}},
    {"beta of a second mean", EVAL, .change = second_metric_with_a_beta},
    {"beta of minus zero", EVAL, .edits = {SET_REAL(metric.beta, -0.0f)}},
    {"ignored classes of a mean", EVAL, .change = ignored_classes_of_a_mean},
    {"run longer than a counter", TRAIN, .edits = {SET(plan.steps, (uint64_t)INT64_MAX + 1)}},
    {"no micro-batches", TRAIN, .edits = {SET(plan.micro_batches, 0)}},
    {"micro-batches that do not share alike", TRAIN, .edits = {SET(plan.micro_batches, 2)}},
    {"metric in a train plan", TRAIN, .change = metric_in_a_train_plan},
    {"train plan without a loss", TRAIN, .edits = {SET(plan.loss, UINT32_MAX)}},
    {"scale that its loss seeds do not use", TRAIN, .edits = {SET(plan.loss_scale, TRAIN_LEARNING_RATE)}},
    {"scale that is not reported", TRAIN, .edits = {SET(plan.loss_scale, UINT32_MAX)}},
    {"scale without loss seeds that use it", TRAIN, .edits = {SET(ops[TRAIN_OP_LOSS_SEED].inputs_count, 0)}},
    {"loss seed with another scale", TRAIN,
     .edits = {SET(operands[TRAIN_OP_LOSS_SEED].inputs[0], TRAIN_LEARNING_RATE)}},
    {"second loss seed with another factor", TRAIN, .change = second_loss_seed},
    {"origin of one byte", TRAIN, .edits = {SET(plan.origin_count, 1)}},
    {"origin of 31 bytes", TRAIN, .edits = {SET(plan.origin_count, 31)}},
    {"origin of 16 bytes in an eval plan", EVAL, .edits = {SET(plan.origin_count, 16)}},
    {"evaluation longer than a counter", EVAL, .edits = {SET(plan.steps, UINT64_MAX)}},
    {"eval plan that checks no loss", EVAL, .change = eval_plan_that_checks_no_loss},
    {"eval plan with micro-batches", EVAL, .edits = {SET(plan.micro_batches, 2)}},
    {"eval plan with a schedule", EVAL, .change = eval_plan_with_a_schedule},
    {"eval plan with a learning rate", EVAL, .edits = {SET(plan.learning_rate, EVAL_LOSS)}},
    {"eval plan with a scale", EVAL, .edits = {SET(plan.loss_scale, 0)}},
    {"eval plan with a floor", EVAL, .edits = {SET(plan.at_floor, 0)}},
    {"eval plan with a global step", EVAL, .edits = {SET(plan.global_step, EVAL_CURSOR)}},
    {"eval plan with an optimizer step", EVAL, .edits = {SET(plan.optimizer_step, 0)}},
    {"eval plan with finite", EVAL, .edits = {SET(plan.finite, 0)}},
    {"eval plan with a gradient norm", EVAL, .edits = {SET(plan.gradient_norm, 0)}},
};

static const plan_case initialiser_cases[] = {
    {"initialiser missing", TRAIN, .edits = {ADD(plan.initialisers_count, -1)}},
    {"initialiser too many", TRAIN, .edits = {ADD(plan.initialisers_count, 1)}},
    {"counter that begins at a half", TRAIN, .edits = {SET_REAL(initialisers[TRAIN_CURSOR].a, 0.5)}},
    {"counter that begins above 2^62", TRAIN,
     .edits = {SET(initialisers[TRAIN_CURSOR].integer, (INT64_C(1) << 62) + 1)}},
    {"counter that begins at 2^63 - 1", TRAIN, .edits = {SET(initialisers[TRAIN_CURSOR].integer, INT64_MAX)}},
    {"counter that begins at minus one", TRAIN, .edits = {SET(initialisers[TRAIN_CURSOR].integer, -1)}},
    {"counter that begins at the least integer", TRAIN, .edits = {SET(initialisers[TRAIN_CURSOR].integer, INT64_MIN)}},
    {"counter drawn at random", TRAIN,
     .edits = {SET(initialisers[TRAIN_CURSOR].rule, FIRN_FB_INITIALISER_RULE_UNIFORM)}},
    {"counter that begins at minus zero", TRAIN, .edits = {SET_REAL(initialisers[TRAIN_CURSOR].a, -0.0f)}},
    {"sum that begins at minus zero", EVAL, .edits = {SET_REAL(initialisers[EVAL_SUM].a, -0.0f)}},
    {"constant with a deviation of minus zero", TRAIN, .edits = {SET_REAL(initialisers[TRAIN_BIAS].b, -0.0f)}},
    {"counter with a deviation", TRAIN, .edits = {SET_REAL(initialisers[TRAIN_CURSOR].b, 1)}},
    {"counter with random numbers", TRAIN, .edits = {SET(initialisers[TRAIN_CURSOR].rng_id, 1)}},
    {"counter with an offset of weights", TRAIN, .edits = {SET(initialisers[TRAIN_CURSOR].weights, 16)}},
    {"counter with an element type", TRAIN, .edits = {SET(initialisers[TRAIN_CURSOR].element, FIRN_INT64)}},
    {"counter from weights", TRAIN, .change = counter_from_weights},
    {"sum that begins at one", EVAL, .edits = {SET_REAL(initialisers[EVAL_SUM].a, 1)}},
    {"sum drawn at random", EVAL, .edits = {SET(initialisers[EVAL_SUM].rule, FIRN_FB_INITIALISER_RULE_NORMAL)}},
    {"sum drawn from a range", EVAL, .edits = {SET(initialisers[EVAL_SUM].rule, FIRN_FB_INITIALISER_RULE_UNIFORM)}},
    {"sum from weights", EVAL, .change = sum_from_weights},
    {"float32 with an integer", TRAIN, .edits = {SET(initialisers[TRAIN_BIAS].integer, 1)}},
    {"drawn float32 with an integer", TRAIN, .edits = {SET(initialisers[TRAIN_WEIGHT].integer, 1)}},
    {"negative deviation", TRAIN,
     .edits = {SET(initialisers[TRAIN_WEIGHT].rule, FIRN_FB_INITIALISER_RULE_NORMAL),
               SET_REAL(initialisers[TRAIN_WEIGHT].b, -1)}},
    {"negative deviation of a truncated normal distribution", TRAIN, .change = truncated_by_less_than_nothing},
    {"bounds upside down", TRAIN, .change = truncated_upside_down},
    {"bounds that are equal", TRAIN, .change = truncated_to_a_point},
    {"zeros as bounds", TRAIN, .change = truncated_to_zeros},
    {"a truncated normal distribution with an integer", TRAIN, .change = truncated_with_an_integer},
    {"a truncated normal distribution of an element type", TRAIN, .change = truncated_of_an_element_type},
    {"a truncated normal distribution with an offset of weights", TRAIN, .change = truncated_with_weights},
    {"a truncated normal distribution with numbers that NUMERICS.md keeps", TRAIN,
     .change = truncated_with_numbers_that_are_kept},
    {"counter of a truncated normal distribution", TRAIN,
     .edits = {SET(initialisers[TRAIN_CURSOR].rule, FIRN_FB_INITIALISER_RULE_TRUNCATED_NORMAL),
               SET_REAL(initialisers[TRAIN_CURSOR].high, 1)}},
    {"uniform numbers with a lower bound", TRAIN, .edits = {SET_REAL(initialisers[TRAIN_WEIGHT].low, -1)}},
    {"uniform numbers with an upper bound", TRAIN, .edits = {SET_REAL(initialisers[TRAIN_WEIGHT].high, 1)}},
    {"constant with a lower bound of minus zero", TRAIN, .edits = {SET_REAL(initialisers[TRAIN_BIAS].low, -0.0f)}},
    {"constant with an upper bound", TRAIN, .edits = {SET_REAL(initialisers[TRAIN_BIAS].high, 1)}},
    {"counter with a bound", TRAIN, .edits = {SET_REAL(initialisers[TRAIN_CURSOR].high, 1)}},
    {"range upside down", TRAIN, .edits = {SET_REAL(initialisers[TRAIN_WEIGHT].b, -1)}},
    {"range that overflows", TRAIN,
     .edits = {SET_REAL(initialisers[TRAIN_WEIGHT].a, -FLT_MAX), SET_REAL(initialisers[TRAIN_WEIGHT].b, FLT_MAX)}},
    {"range that barely overflows", TRAIN,
     .edits = {SET_REAL(initialisers[TRAIN_WEIGHT].a, -FLT_MAX), SET_REAL(initialisers[TRAIN_WEIGHT].b, 0x1p103)}},
    {"random numbers that NUMERICS.md keeps", TRAIN,
     .edits = {SET(initialisers[TRAIN_WEIGHT].rng_id, FIRN_RNG_ID_END)}},
    {"drawn numbers of an element type", TRAIN, .edits = {SET(initialisers[TRAIN_WEIGHT].element, FIRN_FLOAT16)}},
    {"drawn numbers with an offset of weights", TRAIN, .edits = {SET(initialisers[TRAIN_WEIGHT].weights, 16)}},
    {"constant with an offset of weights", TRAIN, .edits = {SET(initialisers[TRAIN_BIAS].weights, 16)}},
    {"constant with an element type", TRAIN, .edits = {SET(initialisers[TRAIN_BIAS].element, FIRN_BFLOAT16)}},
    {"constant with a second number", TRAIN, .edits = {SET_REAL(initialisers[TRAIN_BIAS].b, 1)}},
    {"constant with random numbers", TRAIN, .edits = {SET(initialisers[TRAIN_BIAS].rng_id, 1)}},
    {"cache of int8 that begins at 1", EVAL, .change = cache_of_int8_that_begins_at_1},
    {"cache of bfloat16 that begins at 1", EVAL, .change = cache_of_bfloat16_that_begins_at_1},
    {"cache of bfloat16 drawn at random", EVAL, .change = cache_of_bfloat16_drawn_at_random},
    {"weights with a number", TRAIN, .edits = {SET_REAL(initialisers[TRAIN_WEIGHT].b, 0)}, .change = weights_with_more},
    {"weights with a second number", TRAIN, .edits = {SET_REAL(initialisers[TRAIN_WEIGHT].a, 0)},
     .change = weights_with_more},
    {"weights with random numbers", TRAIN,
     .edits = {SET_REAL(initialisers[TRAIN_WEIGHT].a, 0), SET_REAL(initialisers[TRAIN_WEIGHT].b, 0),
               SET(initialisers[TRAIN_WEIGHT].rng_id, 1)},
     .change = weights_with_more},
    {"weights with an integer", TRAIN,
     .edits = {SET_REAL(initialisers[TRAIN_WEIGHT].a, 0), SET_REAL(initialisers[TRAIN_WEIGHT].b, 0),
               SET(initialisers[TRAIN_WEIGHT].integer, 1)},
     .change = weights_with_more},
    {"weights where there are none", TRAIN, .change = weights_where_there_are_none},
    {"weights that leave the constants", TRAIN, .change = weights_that_leave_the_constants},
    {"half weights that leave the constants", TRAIN, .change = half_weights_that_leave_the_constants},
    {"weights behind the constants", TRAIN, .change = weights_behind_the_constants},
    {"weights whose end wraps", TRAIN, .change = weights_whose_end_wraps},
    {"weights off their alignment", TRAIN, .change = weights_off_their_alignment},
    {"weights of integers", TRAIN, .change = weights_of_integers},
    {"weights of bytes", TRAIN, .change = weights_of_bytes},
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
    {"state written anew", TRAIN, .change = state_written_anew},
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
    {"view written", TRAIN, .change = view_written},
    {"view written beside its base", TRAIN, .change = view_written_beside_its_base},
    {"view written beside another of its base", TRAIN, .change = view_written_beside_another},
    {"view written in place of another", TRAIN, .change = view_written_for_another},
    {"derived from a parameter that is trained by a view", TRAIN, .change = derived_from_a_parameter_trained_by_a_view},
    {"op that reads a view of what it writes", TRAIN, .change = view_of_an_output_read},
    {"view read too late", TRAIN, .change = view_read_too_late},
    {"view read before its base is written", TRAIN, .change = view_read_early},
    {"buffer changed in finalise", TRAIN, .change = buffer_changed_in_finalise},
    {"statistics stored among micro-batches", TRAIN, .change = statistics_stored_among_micro_batches},
    {"statistics stored in finalise", TRAIN, .change = statistics_stored_in_finalise},
    {"statistics stored in an update", TRAIN, .change = statistics_stored_in_an_update},
    {"statistics stored twice", TRAIN, .change = statistics_stored_twice},
    {"statistics that the optimizer trains", TRAIN, .change = statistics_trained},
    {"statistics in a parameter", TRAIN, .change = statistics_in_a_parameter},
    {"statistics in a view of a buffer", TRAIN, .change = statistics_in_a_view},
    {"statistics in the arena", TRAIN, .change = statistics_in_the_arena},
    {"buffer changed in an evaluation", EVAL, .change = buffer_changed_in_an_evaluation},
    {"parameter changed in an evaluation", EVAL, .change = parameter_changed_in_an_evaluation},
    {"counter changed in an evaluation", EVAL, .change = counter_changed_in_an_evaluation},
    {"cache written anew", EVAL, .change = cache_written_anew},
    {"cache changed in derive", EVAL, .change = cache_changed_in_derive},
    {"derived from a cache", EVAL, .change = derived_from_a_cache},
    {"partial sum in an update", TRAIN, .change = partial_sum_in_an_update},
    {"frozen weight changed", TRAIN, .change = frozen_weight_changed},
    {"ring written", TRAIN, .change = ring_written},
    {"derived from a trained parameter", TRAIN, .change = derived_from_a_trained_parameter},
    {"derived from a view of a trained parameter", TRAIN, .change = derived_from_a_view_of_a_trained_parameter},
    {"derived from an input", TRAIN, .change = derived_from_an_input},
    {"derived from a scheduled number", TRAIN, .change = derived_from_a_scheduled_number},
    {"derived from the state of the optimizer", TRAIN, .change = derived_from_the_scale},
    {"derived from a sum of the metric", EVAL, .change = derived_from_a_sum},
    {"derived from what a step computes", TRAIN, .change = derived_from_the_norm},
    {"derived into a parameter", EVAL, .change = derived_into_a_parameter},
    {"derived tensor that does not last", EVAL, .change = derived_tensor_that_does_not_last},
    {"derived tensor that a step writes, too", EVAL, .change = derived_tensor_that_a_step_writes},
    {"derived tensor that a step changes", TRAIN, .change = derived_tensor_that_a_step_changes},
    {"derived twice into one tensor that does not last", EVAL, .change = derived_twice},
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
    {"in place of what is read through a view", TRAIN, .change = in_place_of_what_is_read_through_a_view},
    {"in place of what is read itself and through a view", TRAIN, .change = in_place_beside_a_view},
    {"same place in the second arena", TRAIN, .change = same_place_in_the_second_arena},
    {"derived tensor in the bytes of a step", EVAL, .change = derived_tensor_in_the_bytes_of_a_step},
    {"persistent tensors in the same bytes", TRAIN, .edits = {SET(tensors[TRAIN_NORM].offset, 80)}},
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
    *arena_bytes(s) = 65536;
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

/* Four bytes for each tensor that is not state, or a shape for each operand of the widest op. */
static void scratch_is_held_to_its_size(void **state) {
    (void)state;
    const firn_counts many = {.tensors = 100, .state_tensors = 10, .widest = 3}, wide = {.tensors = 9, .widest = 60};
    assert_int_equal(firn_semantics_scratch_bytes(&many), 4 * 90);
    assert_int_equal(firn_semantics_scratch_bytes(&wide), 60 * sizeof(firn_shape));
    support_plan *s = calloc(1, sizeof *s);
    assert_non_null(s);
    support_plan_train(s);
    const firn_counts counts = support_plan_counts(s);
    const int64_t needed = (int64_t)firn_semantics_scratch_bytes(&counts);
    free(s);
    const plan_case train = {.plan = TRAIN};
    assert_int_equal(check_in(&train, needed), FIRN_OK);
    for (int64_t less = 0; less < needed; less++)
        assert_int_equal(check_in(&train, less), FIRN_ERROR_POOL_TOO_SMALL);
}

/* That an op may change a view came with minor version 1, whatever else the plan has. */
static void a_view_that_is_written_needs_minor_1(void **state) {
    (void)state;
    support_plan *s = calloc(1, sizeof *s);
    assert_non_null(s);
    support_plan_train(s);
    for (uint32_t needs = 0; needs < 2; needs++) {
        size_t bytes;
        uint8_t *payload = support_plan_write(s, &bytes);
        assert_non_null(payload);
        assert_int_equal(firn_needs_minor(payload), needs);
        free(payload);
        view_of_a_parameter_written(s);
    }
    free(s);
}

/* So did truncated normal distributions. */
static void a_truncated_initialiser_needs_minor_1(void **state) {
    (void)state;
    support_plan *s = calloc(1, sizeof *s);
    assert_non_null(s);
    support_plan_train(s);
    truncated_normal(s);
    size_t bytes;
    uint8_t *payload = support_plan_write(s, &bytes);
    assert_non_null(payload);
    assert_int_equal(firn_needs_minor(payload), 1);
    free(payload);
    free(s);
}

/* So did the meaning of flushed sums. */
static void flushed_sums_need_minor_1(void **state) {
    (void)state;
    static void (*const changes[])(support_plan *) = {plain_sums, even_odd_blocks, pairs};
    support_plan *s = calloc(1, sizeof *s);
    assert_non_null(s);
    for (uint32_t i = 0; i < 3; i++) {
        size_t bytes;
        support_plan_eval(s);
        changes[i](s);
        uint8_t *payload = support_plan_write(s, &bytes);
        assert_non_null(payload);
        assert_int_equal(firn_needs_minor(payload), i == 0 ? 0 : 1);
        free(payload);
    }
    free(s);
}

/* So did weights that a product rounds as it reads them. */
static void a_rounded_weight_needs_minor_1(void **state) {
    (void)state;
    support_plan *s = calloc(1, sizeof *s);
    assert_non_null(s);
    support_plan_train(s);
    for (uint32_t needs = 0; needs < 2; needs++) {
        size_t bytes;
        uint8_t *payload = support_plan_write(s, &bytes);
        assert_non_null(payload);
        assert_int_equal(firn_needs_minor(payload), needs);
        free(payload);
        s->tensors[TRAIN_FEATURES].type = FIRN_BFLOAT16;
    }
    free(s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_valid_plans_are_accepted),         cmocka_unit_test(test_broken_plans_are_refused),
        cmocka_unit_test(overlaps_are_what_the_rule_says),       cmocka_unit_test(scratch_is_held_to_its_size),
        cmocka_unit_test(a_view_that_is_written_needs_minor_1),  cmocka_unit_test(flushed_sums_need_minor_1),
        cmocka_unit_test(a_truncated_initialiser_needs_minor_1), cmocka_unit_test(a_rounded_weight_needs_minor_1),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
