/* Rule 17 of FORMAT.md, the fields around the ops: checks what the runtime fills, evaluates, reads and counts against
 * the tensors that the fields refer to. After this check the runtime uses every index of the plan unchecked. */
#include <float.h>
#include <stddef.h>
#include <string.h>

#include "plan/checks/semantics_lookup.h"
#include "plan/checks/semantics_parts.h"
#include "plan/divide.h"
#include "plan/errors.h"
#include "plan/parts.h"
#include "plan/schedule_list.h"

/* --- the mode --------------------------------------------------------------------------------------------------- */

/* The gradient of a step is the mean over its micro-batches, so every loss seed must be 1 / micro_batches; and the loss
 * scale that a step reports is the one that its loss seeds use. */
static bool are_loss_seeds(const firn_fb_plan_record *plan) {
    const float factor = 1.0f / (float)plan->micro_batches;
    uint8_t phase;
    firn_fb_op_record op;
    for (uint32_t n = 0; firn_semantics_read_op(plan, n, &op, &phase); n++) {
        if (op.code != FIRN_OP_loss_seed)
            continue;
        const uint32_t scale =
            op.inputs_count > FIRN_LOSS_SEED_IN_SCALE ? op.inputs[FIRN_LOSS_SEED_IN_SCALE] : FIRN_ABSENT;
        if (scale != plan->loss_scale || op.reals[FIRN_LOSS_SEED_FACTOR] != factor)
            return false;
    }
    return true;
}

static bool may_train(const firn_fb_plan_record *plan) {
    return plan->micro_batches >= 1 && plan->metrics_count == 0 && plan->loss != FIRN_ABSENT && are_loss_seeds(plan);
}

/* Whether an eval plan has no field that only training uses, and promises no check of a loss that it has not. An absent
 * tensor has all bits set. */
static bool may_evaluate(const firn_fb_plan_record *plan) {
    const uint32_t of_training = plan->learning_rate & plan->loss_scale & plan->at_floor & plan->global_step &
                                 plan->optimizer_step & plan->finite & plan->gradient_norm;
    return of_training == FIRN_ABSENT && plan->micro_batches == 1 && plan->schedules_count == 0 &&
           !(plan->check_loss && plan->loss == FIRN_ABSENT);
}

/* --- sampler and inputs ----------------------------------------------------------------------------------------- */

static bool reads_windows(const firn_fb_sampler_record *sampler) {
    return sampler->unit == FIRN_FB_SAMPLE_UNIT_WINDOW;
}

/* Pushed samples are counted, and none of them is held out. */
static bool is_pushed_or_read(const firn_fb_plan_record *plan, const firn_fb_sampler_record *sampler) {
    return sampler->pushed == FIRN_ABSENT ||
           (firn_semantics_is_scalar(plan, sampler->pushed, FIRN_IN_RING, FIRN_INT64) &&
            sampler->part == FIRN_FB_DATA_PART_ALL && sampler->held_out_per_mille == 0);
}

static bool is_sampler(const firn_fb_plan_record *plan, const firn_fb_sampler_record *sampler) {
    const bool window = reads_windows(sampler);
    return (sampler->window != 0) == window && (sampler->stride != 0) == window && sampler->samples >= 1 &&
           sampler->held_out_per_mille <= 999 && firn_semantics_is_counter(plan, sampler->cursor) &&
           is_pushed_or_read(plan, sampler);
}

/* int32 reads integers of up to 32 bits, which must be below the limit; float32 reads float32 unscaled, or integers of
 * up to 16 bits with scale and shift. */
static bool element_fits(const firn_fb_input_record *input, uint8_t type) {
    const uint8_t element = input->element;
    const bool small = element >= FIRN_UINT8 && element <= FIRN_BOOL;
    const bool scaled = input->scale != 1.0f || !firn_semantics_is_unused(input->shift);
    if (!small && (element != type || scaled))
        return false;
    if (type == FIRN_FLOAT32)
        return input->limit == 0;
    return type == FIRN_INT32 && !scaled && input->limit - 1 < (uint32_t)INT32_MAX;
}

/* A record is read as a whole. A window reads stream 0, starting `advance` elements after the window's start. */
static bool sample_fits(const firn_fb_sampler_record *sampler, const firn_fb_input_record *input, uint64_t elements) {
    if (!reads_windows(sampler))
        return input->advance == 0 && elements <= UINT32_MAX;
    return input->stream == 0 && input->advance <= sampler->window && elements <= sampler->window - input->advance;
}

/* Elements of one sample; dimension 0 is the number of samples. */
static uint64_t sample_elements(const firn_fb_tensor_record *tensor) {
    firn_shape shape;
    uint64_t elements = 0;
    firn_semantics_shape(tensor, &shape);
    return firn_shape_elements(&shape, &elements) ? firn_divide(elements, shape.dims[0], NULL) : 0;
}

/* The ring of an input holds elements as they were pushed: one after the other for windows, in records of a sample
 * each otherwise. */
static bool is_ring(const firn_fb_plan_record *plan, const firn_fb_sampler_record *sampler,
                    const firn_fb_input_record *input, uint64_t elements) {
    firn_fb_tensor_record ring;
    if (sampler->pushed == FIRN_ABSENT || input->ring == FIRN_ABSENT)
        return sampler->pushed == input->ring;
    if (input->ring >= plan->tensors_count || input->ring == sampler->pushed)
        return false;
    firn_semantics_tensor(plan, input->ring, &ring);
    return ring.role == FIRN_FB_ROLE_RING && ring.base == FIRN_ABSENT && ring.type == input->element &&
           (reads_windows(sampler) ? ring.dims_count == 1 : sample_elements(&ring) == elements);
}

static void read_input(const firn_fb_plan_record *plan, uint32_t i, firn_fb_input_record *input) {
    firn_fb_input_read(firn_fb_plan_inputs_at(plan->table, i), input);
}

static bool is_input(const firn_fb_plan_record *plan, const firn_fb_sampler_record *sampler,
                     const firn_fb_input_record *input) {
    firn_fb_tensor_record tensor;
    if (input->tensor >= plan->tensors_count)
        return false;
    firn_semantics_tensor(plan, input->tensor, &tensor);
    const uint64_t elements = sample_elements(&tensor);
    return tensor.role == FIRN_FB_ROLE_INPUT && tensor.base == FIRN_ABSENT && is_ring(plan, sampler, input, elements) &&
           tensor.dims[0] == sampler->samples && element_fits(input, tensor.type) &&
           sample_fits(sampler, input, elements);
}

/* Elements of one sample of an input that has been checked. */
static uint64_t input_elements(const firn_fb_plan_record *plan, const firn_fb_input_record *input) {
    firn_fb_tensor_record tensor;
    firn_semantics_tensor(plan, input->tensor, &tensor);
    return sample_elements(&tensor);
}

static uint32_t ring_length(const firn_fb_plan_record *plan, uint32_t ring) {
    return firn_fb_tensor_dims_at(firn_fb_plan_tensors_at(plan->table, ring), 0);
}

/* Checks an input against an earlier one: those of one stream read the same elements, from the same ring if they have
 * one, and all rings have room for as many, because `pushed` counts for all of them. */
static bool agree(const firn_fb_plan_record *plan, const firn_fb_sampler_record *sampler,
                  const firn_fb_input_record *input, const firn_fb_input_record *other) {
    const bool same = other->stream == input->stream;
    if (input->ring != FIRN_ABSENT &&
        ((other->ring == input->ring) != same || ring_length(plan, other->ring) != ring_length(plan, input->ring)))
        return false;
    return !same || (other->element == input->element &&
                     (reads_windows(sampler) || input_elements(plan, other) == input_elements(plan, input)));
}

/* Checks an input against all earlier ones: each has a different tensor, and streams are numbered in the order of their
 * first use. */
static bool follows_inputs(const firn_fb_plan_record *plan, const firn_fb_sampler_record *sampler,
                           const firn_fb_input_record *input, uint32_t i) {
    firn_fb_input_record other;
    bool follows = input->stream == 0;
    for (uint32_t j = 0; j < i; j++) {
        read_input(plan, j, &other);
        if (!agree(plan, sampler, input, &other))
            return false;
        follows |= other.stream + 1u >= input->stream;
    }
    return follows && firn_semantics_input_of(plan, input->tensor) == i;
}

static bool are_inputs(const firn_fb_plan_record *plan) {
    firn_fb_sampler_record sampler;
    firn_fb_input_record input;
    firn_fb_sampler_read(firn_fb_plan_sampler(plan->table), &sampler);
    if (!is_sampler(plan, &sampler))
        return false;
    for (uint32_t i = 0; i < plan->inputs_count; i++) {
        read_input(plan, i, &input);
        if (!is_input(plan, &sampler, &input) || !follows_inputs(plan, &sampler, &input, i))
            return false;
    }
    return true;
}

/* --- schedules ------------------------------------------------------------------------------------------------- */

/* No input and no earlier schedule fills the tensor. */
static bool is_schedule(const firn_fb_plan_record *plan, uint32_t i) {
    firn_fb_schedule_record schedule;
    firn_fb_schedule_read(firn_fb_plan_schedules_at(plan->table, i), &schedule);
    return schedule.root < plan->schedule_nodes_count &&
           firn_semantics_is_scalar(plan, schedule.tensor, FIRN_IN_ARENA, FIRN_FLOAT32) &&
           firn_fb_tensor_role(firn_fb_plan_tensors_at(plan->table, schedule.tensor)) == FIRN_FB_ROLE_INPUT &&
           firn_semantics_input_of(plan, schedule.tensor) == plan->inputs_count &&
           firn_semantics_schedule_of(plan, schedule.tensor) == i;
}

static int check_schedules(const firn_fb_plan_record *plan) {
    const firn_schedule_list list = {.nodes = (const firn_schedule_node *)(const void *)plan->schedule_nodes,
                                     .numbers = (const double *)(const void *)plan->schedule_numbers,
                                     .instructions =
                                         (const firn_schedule_instruction *)(const void *)plan->schedule_instructions,
                                     .node_count = plan->schedule_nodes_count,
                                     .number_count = plan->schedule_numbers_count,
                                     .instruction_count = plan->schedule_instructions_count};
    for (uint32_t i = 0; i < list.node_count; i++) {
        if (!firn_schedule_is_linked(list.nodes[i].kind))
            return FIRN_ERROR_KERNEL_MISSING;
    }
    bool good = firn_schedule_check(&list) == 0;
    for (uint32_t i = 0; good && i < plan->schedules_count; i++)
        good = is_schedule(plan, i);
    return good ? FIRN_OK : FIRN_ERROR_SCHEDULE;
}

/* --- what the runtime reads between the phases ------------------------------------------------------------------ */

/* The kind of the phase of op n; if there is no such op, update, where neither a loss nor an output may come from. */
static uint8_t phase_of(const firn_fb_plan_record *plan, uint32_t n) {
    uint8_t phase = FIRN_FB_PHASE_KIND_UPDATE;
    firn_fb_op op;
    (void)firn_semantics_op(plan->table, n, &op, &phase);
    return phase;
}

/* The runtime reads the loss at the end of the phase micro_batch or evaluate. */
static bool is_loss(const firn_fb_plan_record *plan, uint32_t loss) {
    const uint8_t phase = phase_of(plan, firn_semantics_first_use(plan, loss, true));
    return firn_semantics_is_scalar(plan, loss, FIRN_IN_ARENA, FIRN_FLOAT32) &&
           (phase == FIRN_FB_PHASE_KIND_MICRO_BATCH || phase == FIRN_FB_PHASE_KIND_EVALUATE);
}

static void read_output(const firn_fb_plan_record *plan, uint32_t i, firn_fb_output_record *output) {
    firn_fb_output_read(firn_fb_plan_outputs_at(plan->table, i), output);
}

/* Whether output i has the name of an earlier one. */
static bool repeats_name(const firn_fb_plan_record *plan, uint32_t i, const firn_fb_output_record *output) {
    firn_fb_output_record other;
    for (uint32_t j = 0; j < i; j++) {
        read_output(plan, j, &other);
        if (other.name_length == output->name_length && memcmp(other.name, output->name, other.name_length) == 0)
            return true;
    }
    return false;
}

/* An output is computed in each step and stays until the next; its name is its own. */
static bool is_output(const firn_fb_plan_record *plan, uint32_t i) {
    firn_fb_output_record output;
    firn_fb_tensor_record tensor;
    read_output(plan, i, &output);
    if (output.tensor >= plan->tensors_count)
        return false;
    const uint32_t index = firn_semantics_base(plan, output.tensor);
    firn_semantics_tensor(plan, index, &tensor);
    return firn_semantics_is_arena(&tensor) && firn_semantics_is_persistent(&tensor) &&
           tensor.role != FIRN_FB_ROLE_SCRATCH &&
           phase_of(plan, firn_semantics_first_use(plan, index, false)) != FIRN_FB_PHASE_KIND_UPDATE &&
           !repeats_name(plan, i, &output);
}

static bool are_outputs(const firn_fb_plan_record *plan) {
    bool good = plan->loss == FIRN_ABSENT || is_loss(plan, plan->loss);
    for (uint32_t i = 0; good && i < plan->outputs_count; i++)
        good = is_output(plan, i);
    return good;
}

/* What a step counts, reports and obeys is what one op has computed, and none other: the field of the plan that names
 * it, and the op's code, output and phase. */
typedef struct step_rule {
    uint16_t field; /* in firn_fb_plan_record */
    uint16_t code;
    uint8_t output, type, phase;
} step_rule;

static const step_rule step_rules[] = {
    {offsetof(firn_fb_plan_record, global_step), FIRN_OP_count, FIRN_COUNT_OUT_COUNTER, FIRN_INT64,
     FIRN_FB_PHASE_KIND_BOOKKEEP},
    {offsetof(firn_fb_plan_record, optimizer_step), FIRN_OP_count, FIRN_COUNT_OUT_COUNTER, FIRN_INT64,
     FIRN_FB_PHASE_KIND_UPDATE},
    {offsetof(firn_fb_plan_record, gradient_norm), FIRN_OP_gradient_norm, FIRN_GRADIENT_NORM_OUT_NORM, FIRN_FLOAT32,
     FIRN_FB_PHASE_KIND_FINALISE},
    {offsetof(firn_fb_plan_record, finite), FIRN_OP_gradient_norm, FIRN_GRADIENT_NORM_OUT_FINITE, FIRN_INT32,
     FIRN_FB_PHASE_KIND_FINALISE},
    {offsetof(firn_fb_plan_record, at_floor), FIRN_OP_loss_scale_update, FIRN_LOSS_SCALE_UPDATE_OUT_AT_FLOOR,
     FIRN_INT32, FIRN_FB_PHASE_KIND_BOOKKEEP},
};

/* A counter is there, and counts by one. The others may be absent. */
static bool is_computed(const firn_fb_plan_record *plan, const step_rule *rule) {
    const bool counts = rule->code == FIRN_OP_count;
    firn_fb_op_record writer;
    uint32_t tensor;
    memcpy(&tensor, (const uint8_t *)plan + rule->field, sizeof tensor);
    if (tensor == FIRN_ABSENT)
        return !counts;
    return (counts ? firn_semantics_is_counter(plan, tensor)
                   : firn_semantics_is_scalar(plan, tensor, FIRN_IN_ARENA, rule->type)) &&
           firn_semantics_has_one_writer(plan, tensor, rule->code, rule->output, rule->phase, &writer) &&
           (!counts || writer.integers[FIRN_COUNT_STEP] == 1);
}

static bool is_step(const firn_fb_plan_record *plan) {
    bool good = true;
    for (uint32_t i = 0; good && i < sizeof step_rules / sizeof step_rules[0]; i++)
        good = is_computed(plan, &step_rules[i]);
    return good &&
           (plan->learning_rate == FIRN_ABSENT ||
            firn_semantics_schedule_of(plan, plan->learning_rate) != plan->schedules_count) &&
           (plan->loss_scale == FIRN_ABSENT ||
            firn_semantics_is_scalar(plan, plan->loss_scale, FIRN_IN_STATE, FIRN_FLOAT32));
}

/* --- initialisers ----------------------------------------------------------------------------------------------- */

#define COUNTER_MAX (UINT64_C(1) << 62) /* no run counts as far, and sums with it do not overflow */

/* Whether the elements of a float32 tensor lie in the constants, in a type that float32 holds exactly. */
static bool weights_fit(const firn_fb_initialiser_record *initialiser, const firn_fb_tensor_record *tensor,
                        uint64_t constants_bytes) {
    uint64_t bytes = firn_semantics_bytes(tensor);
    if (firn_type_is_half(initialiser->element))
        bytes /= 2;
    else if (initialiser->element != FIRN_FLOAT32)
        return false;
    return firn_semantics_is_placed(initialiser->weights, bytes, constants_bytes);
}

/* The fields of an initialiser, a bit for each. */
enum { USES_A = 1, USES_B = 2, USES_RNG_ID = 4, USES_INTEGER = 8, USES_ELEMENT = 16, USES_WEIGHTS = 32 };

static const uint8_t rule_fields[] = {
    [FIRN_FB_INITIALISER_RULE_CONSTANT] = USES_A,
    [FIRN_FB_INITIALISER_RULE_NORMAL] = USES_A | USES_B | USES_RNG_ID,
    [FIRN_FB_INITIALISER_RULE_UNIFORM] = USES_A | USES_B | USES_RNG_ID,
    [FIRN_FB_INITIALISER_RULE_WEIGHTS] = USES_ELEMENT | USES_WEIGHTS,
};

/* The fields that are not 0. */
static uint32_t fields_of(const firn_fb_initialiser_record *initialiser) {
    uint32_t fields = firn_semantics_is_unused(initialiser->a) ? 0 : USES_A;
    if (!firn_semantics_is_unused(initialiser->b))
        fields |= USES_B;
    if (initialiser->rng_id != 0)
        fields |= USES_RNG_ID;
    if (initialiser->integer != 0)
        fields |= USES_INTEGER;
    if (initialiser->element != 0)
        fields |= USES_ELEMENT;
    if (initialiser->weights != 0)
        fields |= USES_WEIGHTS;
    return fields;
}

static bool is_in_range(const firn_fb_initialiser_record *initialiser, const firn_fb_tensor_record *tensor,
                        uint64_t constants_bytes) {
    const float a = initialiser->a, b = initialiser->b;
    if (initialiser->rng_id >= FIRN_RNG_ID_END || (uint64_t)initialiser->integer > COUNTER_MAX) /* nor negative */
        return false;
    switch (initialiser->rule) {
    case FIRN_FB_INITIALISER_RULE_NORMAL:
        return b >= 0.0f;
    case FIRN_FB_INITIALISER_RULE_UNIFORM:
        return b >= a && b - a <= FLT_MAX;
    case FIRN_FB_INITIALISER_RULE_WEIGHTS:
        return weights_fit(initialiser, tensor, constants_bytes);
    default:
        return true;
    }
}

/* Whether a tensor may begin so, with every field that is not used 0. Only float32 that is no counter is drawn or
 * copied. An int64 begins with an integer, and all else with zeros. */
static bool is_initialiser(const firn_fb_initialiser_record *initialiser, const firn_fb_tensor_record *tensor,
                           uint64_t constants_bytes) {
    const bool free = tensor->type == FIRN_FLOAT32 && tensor->role != FIRN_FB_ROLE_COUNTER;
    const uint32_t fields = free ? rule_fields[initialiser->rule] : tensor->type == FIRN_INT64 ? USES_INTEGER : 0;
    return (free || initialiser->rule == FIRN_FB_INITIALISER_RULE_CONSTANT) &&
           (fields_of(initialiser) & ~fields) == 0 && is_in_range(initialiser, tensor, constants_bytes);
}

/* Every state tensor has one initialiser, in the same order. */
static bool are_initialisers(const firn_fb_plan_record *plan, uint64_t constants_bytes) {
    firn_fb_initialiser_record initialiser;
    firn_fb_tensor_record tensor;
    bool good = plan->initialisers_count == plan->state_tensors;
    for (uint32_t i = 0; good && i < plan->initialisers_count; i++) {
        firn_semantics_tensor(plan, i, &tensor);
        firn_fb_initialiser_read(firn_fb_plan_initialisers_at(plan->table, i), &initialiser);
        good = is_initialiser(&initialiser, &tensor, constants_bytes);
    }
    return good;
}

/* --- all of them ------------------------------------------------------------------------------------------------ */

static bool fields_fit(const firn_fb_plan_record *plan, bool train) {
    return (train ? may_train(plan) : may_evaluate(plan)) && plan->steps <= INT64_MAX &&
           (plan->origin_count == 0 || plan->origin_count == FIRN_HASH_BYTES);
}

static int check_metrics(const firn_fb_plan_record *plan) {
    int error = FIRN_OK;
    for (uint32_t i = 0; error == FIRN_OK && i < plan->metrics_count; i++)
        error = firn_semantics_metric == NULL ? FIRN_ERROR_KERNEL_MISSING : firn_semantics_metric(plan, i);
    return error;
}

int firn_semantics_fields(const firn_fb_plan_record *plan, const firn_header *header) {
    const bool train = header->mode == FIRN_MODE_TRAIN;
    if (!are_inputs(plan))
        return FIRN_ERROR_SAMPLER;
    int error = check_schedules(plan);
    if (error != FIRN_OK)
        return error;
    if (!are_outputs(plan))
        return FIRN_ERROR_ROLE;
    if (!fields_fit(plan, train))
        return FIRN_ERROR_FIELD;
    if (train && !is_step(plan))
        return FIRN_ERROR_ROLE;
    error = check_metrics(plan);
    if (error == FIRN_OK && !are_initialisers(plan, header->constants_bytes))
        error = FIRN_ERROR_INITIALISER;
    return error;
}
