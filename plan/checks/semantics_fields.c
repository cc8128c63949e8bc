/* Rule 17 of FORMAT.md, the fields around the ops: checks what the runtime fills, evaluates, reads and counts against
 * the tensors that the fields refer to. After this check the runtime uses every index of the plan unchecked. */
#include <float.h>
#include <stddef.h>
#include <string.h>

#include "plan/checks/semantics_lookup.h"
#include "plan/checks/semantics_parts.h"
#include "plan/errors.h"
#include "plan/parts.h"
#include "plan/schedule_list.h"

/* --- the mode --------------------------------------------------------------------------------------------------- */

/* The gradient of a step is the mean over its micro-batches, so every loss seed must be 1 / micro_batches, unless
 * losses are added; and the loss scale that a step reports is the one that its loss seeds use. Only a loss that is
 * added has the divisor of the whole batch. */
static bool are_loss_seeds(const firn_fb_plan_record *plan) {
    const float factor = plan->losses_added ? 1.0f : 1.0f / (float)plan->micro_batches;
    uint8_t phase;
    firn_fb_op_record op;
    for (uint32_t n = 0; firn_semantics_read_op(plan, n, &op, &phase); n++) {
        if (!plan->losses_added && firn_semantics_has_divisor(&op))
            return false;
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
    return plan->micro_batches >= 1 && plan->metrics_count == 0 && plan->loss != FIRN_ABSENT && are_loss_seeds(plan) &&
           (!plan->losses_added || (firn_semantics_parts.batch != NULL && firn_semantics_parts.batch(plan)));
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

/* Whether a tensor has a row for each sample, which the sampler fills. */
static bool has_row_of_each(const firn_fb_tensor_record *tensor, const firn_fb_sampler_record *sampler) {
    return tensor->role == FIRN_FB_ROLE_INPUT && tensor->base == FIRN_ABSENT && tensor->dims[0] == sampler->samples;
}

/* The epoch_end short, and no other, says which samples count, in a tensor that nothing else fills. It is for an eval
 * plan, which counts no steps, that reads a source. */
static bool counts_samples(const firn_fb_plan_record *plan, const firn_fb_sampler_record *sampler) {
    firn_fb_tensor_record tensor;
    if (sampler->epoch_end != FIRN_FB_EPOCH_END_SHORT)
        return sampler->counted == FIRN_ABSENT;
    if (sampler->counted >= plan->tensors_count || (sampler->pushed & plan->global_step) != FIRN_ABSENT)
        return false;
    firn_semantics_tensor(plan, sampler->counted, &tensor);
    return has_row_of_each(&tensor, sampler) && tensor.type == FIRN_INT32 && tensor.dims_count == 1 &&
           firn_semantics_is_persistent(&tensor) &&
           firn_semantics_input_of(plan, sampler->counted) == plan->inputs_count;
}

static bool is_sampler(const firn_fb_plan_record *plan, const firn_fb_sampler_record *sampler) {
    const bool window = reads_windows(sampler);
    return (sampler->window != 0) == window && (sampler->stride != 0) == window && sampler->samples >= 1 &&
           sampler->held_out_per_mille <= 999 && firn_semantics_is_counter(plan, sampler->cursor) &&
           counts_samples(plan, sampler);
}

/* int32 reads integers of up to 32 bits, which must be below the limit; float32 reads float32 unscaled, or integers of
 * up to 16 bits with scale and shift. */
static bool element_fits(const firn_fb_input_record *input, uint32_t type) {
    const uint32_t element = input->element;
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

static bool is_input(const firn_fb_plan_record *plan, const firn_fb_sampler_record *sampler,
                     const firn_fb_input_record *input) {
    firn_fb_tensor_record tensor;
    if (input->tensor >= plan->tensors_count)
        return false;
    firn_semantics_tensor(plan, input->tensor, &tensor);
    const uint64_t elements = firn_semantics_sample_elements(&tensor);
    return has_row_of_each(&tensor, sampler) && (input->ring == FIRN_ABSENT) == (sampler->pushed == FIRN_ABSENT) &&
           element_fits(input, tensor.type) && sample_fits(sampler, input, elements);
}

/* Elements of one sample of an input that has been checked. */
static uint64_t input_elements(const firn_fb_plan_record *plan, const firn_fb_input_record *input) {
    firn_fb_tensor_record tensor;
    firn_semantics_tensor(plan, input->tensor, &tensor);
    return firn_semantics_sample_elements(&tensor);
}

/* Whether two inputs of one stream read the same elements. */
static bool agree(const firn_fb_plan_record *plan, const firn_fb_sampler_record *sampler,
                  const firn_fb_input_record *input, const firn_fb_input_record *other) {
    return other->element == input->element &&
           (reads_windows(sampler) || input_elements(plan, other) == input_elements(plan, input));
}

/* Checks an input against all earlier ones: each has a different tensor, and streams are numbered in the order of their
 * first use. */
static bool follows_inputs(const firn_fb_plan_record *plan, const firn_fb_sampler_record *sampler,
                           const firn_fb_input_record *input, uint32_t i) {
    firn_fb_input_record other;
    bool follows = input->stream == 0;
    for (uint32_t j = 0; j < i; j++) {
        firn_fb_input_read_at(plan->inputs, j, &other);
        if (other.stream == input->stream && !agree(plan, sampler, input, &other))
            return false;
        follows |= other.stream + 1 >= input->stream;
    }
    return follows && firn_semantics_input_of(plan, input->tensor) == i;
}

/* Not inlined, like check_rings and are_initialisers: its records are off the stack when the next check runs. */
static __attribute__((noinline)) int check_inputs(const firn_fb_plan_record *plan) {
    firn_fb_sampler_record sampler;
    firn_fb_input_record input;
    firn_fb_sampler_read(firn_fb_plan_sampler(plan->table), &sampler);
    bool good = is_sampler(plan, &sampler);
    for (uint32_t i = 0; good && i < plan->inputs_count; i++) {
        firn_fb_input_read_at(plan->inputs, i, &input);
        good = is_input(plan, &sampler, &input) && follows_inputs(plan, &sampler, &input, i);
    }
    return good ? FIRN_OK : FIRN_ERROR_SAMPLER;
}

static __attribute__((noinline)) int check_rings(const firn_fb_plan_record *plan) {
    firn_fb_sampler_record sampler;
    firn_fb_sampler_read(firn_fb_plan_sampler(plan->table), &sampler);
    if (sampler.pushed == FIRN_ABSENT)
        return FIRN_OK;
    if (firn_semantics_parts.rings == NULL)
        return FIRN_ERROR_KERNEL_MISSING;
    return firn_semantics_parts.rings(plan, &sampler) ? FIRN_OK : FIRN_ERROR_SAMPLER;
}

/* --- schedules ------------------------------------------------------------------------------------------------- */

/* No input and no earlier schedule fills the tensor. */
static bool is_schedule(const firn_fb_plan_record *plan, uint32_t i) {
    firn_fb_schedule_record schedule;
    firn_fb_schedule_read_at(plan->schedules, i, &schedule);
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

/* The runtime reads the loss at the end of the phase micro_batch or evaluate. */
static bool is_loss(const firn_fb_plan_record *plan, uint32_t loss) {
    const uint8_t phase = firn_semantics_phase_of(plan, firn_semantics_first_use(plan, loss, true));
    return firn_semantics_is_scalar(plan, loss, FIRN_IN_ARENA, FIRN_FLOAT32) &&
           (phase == FIRN_FB_PHASE_KIND_MICRO_BATCH || phase == FIRN_FB_PHASE_KIND_EVALUATE);
}

static int check_outputs(const firn_fb_plan_record *plan) {
    bool good = plan->loss == FIRN_ABSENT || is_loss(plan, plan->loss);
    for (uint32_t i = 0; good && i < plan->outputs_count; i++) {
        if (firn_semantics_parts.output == NULL)
            return FIRN_ERROR_KERNEL_MISSING;
        good = firn_semantics_parts.output(plan, i);
    }
    return good ? FIRN_OK : FIRN_ERROR_ROLE;
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

/* The two counters, which alone are int64, must be there and count by one. The other fields may be absent. */
static bool is_computed(const firn_fb_plan_record *plan, const step_rule *rule) {
    const bool counts = rule->type == FIRN_INT64;
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
    if (firn_type_is_half((uint8_t)initialiser->element))
        bytes /= 2;
    else if (initialiser->element != FIRN_FLOAT32)
        return false;
    return firn_semantics_is_placed(initialiser->weights, bytes, constants_bytes);
}

/* The fields of an initialiser, a bit for each. */
enum {
    USES_A = 1,
    USES_B = 2,
    USES_RNG_ID = 4,
    USES_INTEGER = 8,
    USES_ELEMENT = 16,
    USES_WEIGHTS = 32,
    USES_BOUNDS = 64
};

static const uint8_t rule_fields[] = {
    [FIRN_FB_INITIALISER_RULE_CONSTANT] = USES_A,
    [FIRN_FB_INITIALISER_RULE_NORMAL] = USES_A | USES_B | USES_RNG_ID,
    [FIRN_FB_INITIALISER_RULE_UNIFORM] = USES_A | USES_B | USES_RNG_ID,
    [FIRN_FB_INITIALISER_RULE_WEIGHTS] = USES_ELEMENT | USES_WEIGHTS,
    [FIRN_FB_INITIALISER_RULE_TRUNCATED_NORMAL] = USES_A | USES_B | USES_RNG_ID | USES_BOUNDS,
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
    if (!firn_semantics_is_unused(initialiser->low) || !firn_semantics_is_unused(initialiser->high))
        fields |= USES_BOUNDS;
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
    case FIRN_FB_INITIALISER_RULE_TRUNCATED_NORMAL:
        return b >= 0.0f && initialiser->low < initialiser->high;
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
static __attribute__((noinline)) bool are_initialisers(const firn_fb_plan_record *plan, uint64_t constants_bytes) {
    firn_fb_initialiser_record initialiser;
    firn_fb_tensor_record tensor;
    bool good = plan->initialisers_count == plan->state_tensors;
    for (uint32_t i = 0; good && i < plan->initialisers_count; i++) {
        firn_semantics_tensor(plan, i, &tensor);
        firn_fb_initialiser_read_at(plan->initialisers, i, &initialiser);
        good = is_initialiser(&initialiser, &tensor, constants_bytes);
    }
    return good;
}

/* --- all of them ------------------------------------------------------------------------------------------------ */

static bool fields_fit(const firn_fb_plan_record *plan, bool train) {
    return (train ? may_train(plan) : may_evaluate(plan)) && plan->steps <= INT64_MAX &&
           (plan->origin_count == 0 || plan->origin_count == FIRN_HASH_BYTES) &&
           (plan->tokenizer_count == 0 || plan->tokenizer_count == FIRN_HASH_BYTES);
}

static int check_metrics(const firn_fb_plan_record *plan) {
    int error = FIRN_OK;
    for (uint32_t i = 0; error == FIRN_OK && i < plan->metrics_count; i++)
        error = firn_semantics_parts.metric == NULL ? FIRN_ERROR_KERNEL_MISSING : firn_semantics_parts.metric(plan, i);
    return error;
}

int firn_semantics_fields(const firn_fb_plan_record *plan, const firn_header *header) {
    const bool train = header->mode == FIRN_MODE_TRAIN;
    int error = check_inputs(plan);
    if (error == FIRN_OK)
        error = check_rings(plan);
    if (error == FIRN_OK)
        error = check_schedules(plan);
    if (error == FIRN_OK)
        error = check_outputs(plan);
    if (error == FIRN_OK && !fields_fit(plan, train))
        error = FIRN_ERROR_FIELD;
    if (error == FIRN_OK && train && !is_step(plan))
        error = FIRN_ERROR_ROLE;
    if (error == FIRN_OK)
        error = check_metrics(plan);
    if (error == FIRN_OK && !are_initialisers(plan, header->constants_bytes))
        error = FIRN_ERROR_INITIALISER;
    return error;
}
