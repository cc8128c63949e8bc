/* Rule 17 of FORMAT.md, the fields around the ops: checks what the runtime fills, evaluates, reads and counts against
 * the tensors that the fields refer to. After this check the runtime uses every index of the plan unchecked. */
#include "plan/checks/semantics_lookup.h"
#include "plan/checks/semantics_parts.h"
#include "plan/errors.h"
#include "plan/schedule_list.h"

#define NO_TENSOR   UINT32_MAX /* the value of an optional field that refers to no tensor */
#define NO_SCHEDULE UINT32_MAX

/* --- tensors that fields name ----------------------------------------------------------------------------------- */

/* Whether a tensor has one dimension of this extent, this type, and a region of this kind. In the arena it must also be
 * persistent, because the runtime reads it between phases. */
static bool is_vector(firn_fb_plan plan, uint32_t index, uint8_t region, uint8_t type, uint32_t extent) {
    if (index >= firn_fb_plan_tensors_count(plan))
        return false;
    firn_fb_tensor tensor = firn_fb_plan_tensors_at(plan, index);
    return firn_semantics_region(plan, tensor) == region && firn_fb_tensor_type(tensor) == type &&
           firn_fb_tensor_dims_count(tensor) == 1 && firn_fb_tensor_dims_at(tensor, 0) == extent &&
           firn_semantics_is_persistent(tensor);
}

static bool is_arena_scalar(firn_fb_plan plan, uint32_t index, uint8_t type) {
    return is_vector(plan, index, FIRN_FB_REGION_KIND_ARENA, type, 1);
}

/* The same in the state region; a parameter is not allowed. */
static bool is_state_vector(firn_fb_plan plan, uint32_t index, uint8_t type, uint32_t extent) {
    return is_vector(plan, index, FIRN_FB_REGION_KIND_STATE, type, extent) &&
           firn_fb_tensor_role(firn_fb_plan_tensors_at(plan, index)) != FIRN_FB_ROLE_PARAMETER;
}

static bool is_counter(firn_fb_plan plan, uint32_t index) {
    return is_state_vector(plan, index, FIRN_INT64, 1) &&
           firn_fb_tensor_role(firn_fb_plan_tensors_at(plan, index)) == FIRN_FB_ROLE_COUNTER;
}

/* Whether the tensor is first used in this phase or an earlier one, so that it is computed before the runtime reads
 * it. */
static bool is_ready_after(firn_fb_plan plan, uint32_t index, uint8_t kind) {
    uint32_t first = firn_semantics_first_touch(plan, index);
    uint8_t phase;
    if (first >= firn_semantics_op_count(plan))
        return false;
    (void)firn_semantics_op(plan, first, &phase);
    return phase <= kind;
}

static bool is_positive(float x) {
    return x > 0.0f && x - x == 0.0f;
}

/* --- the mode --------------------------------------------------------------------------------------------------- */

/* The gradient of a step is the mean over its micro-batches, so every loss seed must be 1 / micro_batches. */
static bool shares_are_even(firn_fb_plan plan) {
    for (uint32_t n = 0; n < firn_semantics_op_count(plan); n++) {
        uint8_t phase;
        firn_fb_op op = firn_semantics_op(plan, n, &phase);
        if (firn_fb_op_code(op) == FIRN_OP_loss_seed &&
            firn_fb_op_reals_at(op, FIRN_LOSS_SEED_FACTOR) != 1.0f / (float)firn_fb_plan_micro_batches(plan))
            return false;
    }
    return true;
}

static int check_train(firn_fb_plan plan) {
    if (firn_fb_plan_steps(plan) < 1 || firn_fb_plan_steps(plan) > INT64_MAX || firn_fb_plan_micro_batches(plan) < 1 ||
        firn_fb_plan_metric_present(plan) || !shares_are_even(plan))
        return FIRN_ERROR_FIELD;
    bool clips = firn_fb_plan_clipping(plan) != FIRN_FB_CLIPPING_NONE;
    float threshold = firn_fb_plan_clip_threshold(plan);
    if (clips ? !is_positive(threshold) : threshold != 0.0f)
        return FIRN_ERROR_FIELD;
    if (firn_fb_plan_clipping(plan) == FIRN_FB_CLIPPING_NORM && firn_fb_plan_gradient_norm(plan) == NO_TENSOR)
        return FIRN_ERROR_ROLE;
    return FIRN_OK;
}

/* Checks that an eval plan has no field that only training uses. */
static int check_evaluate(firn_fb_plan plan) {
    if (firn_fb_plan_steps(plan) > INT64_MAX || firn_fb_plan_micro_batches(plan) != 1 ||
        !firn_fb_plan_metric_present(plan) || firn_fb_plan_schedules_count(plan) != 0 ||
        firn_fb_plan_groups_count(plan) != 0 || firn_fb_plan_loss_scaler_present(plan) ||
        firn_fb_plan_clipping(plan) != FIRN_FB_CLIPPING_NONE || firn_fb_plan_clip_threshold(plan) != 0.0f ||
        firn_fb_plan_global_step(plan) != NO_TENSOR || firn_fb_plan_optimizer_step(plan) != NO_TENSOR ||
        firn_fb_plan_finite(plan) != NO_TENSOR || firn_fb_plan_gradient_norm(plan) != NO_TENSOR)
        return FIRN_ERROR_FIELD;
    return FIRN_OK;
}

/* --- sampler and inputs ----------------------------------------------------------------------------------------- */

static bool is_sampler(firn_fb_plan plan, firn_fb_sampler sampler) {
    bool window = firn_fb_sampler_unit(sampler) == FIRN_FB_SAMPLE_UNIT_WINDOW;
    return (firn_fb_sampler_window(sampler) != 0) == window && (firn_fb_sampler_stride(sampler) != 0) == window &&
           firn_fb_sampler_samples(sampler) >= 1 && firn_fb_sampler_held_out_per_mille(sampler) <= 999 &&
           is_counter(plan, firn_fb_sampler_cursor(sampler));
}

/* int32 reads uint8 or int32 below the limit; float32 reads float32 unscaled, or uint8 with scale and shift. */
static bool element_fits(firn_fb_input input, uint8_t type) {
    uint8_t element = firn_fb_input_element(input);
    bool from_bytes = element == FIRN_UINT8;
    bool scaled = firn_fb_input_scale(input) != 1.0f || firn_fb_input_shift(input) != 0.0f;
    switch (type) {
    case FIRN_INT32:
        return (from_bytes || element == FIRN_INT32) && !scaled && firn_fb_input_limit(input) >= 1 &&
               firn_fb_input_limit(input) <= (uint32_t)INT32_MAX;
    case FIRN_FLOAT32:
        return (from_bytes || (element == FIRN_FLOAT32 && !scaled)) && firn_fb_input_limit(input) == 0;
    default:
        return false;
    }
}

/* A record is read as a whole. A window reads stream 0, starting `advance` elements after the window's start. */
static bool sample_fits(firn_fb_sampler sampler, firn_fb_input input, uint64_t elements) {
    uint32_t window = firn_fb_sampler_window(sampler), advance = firn_fb_input_advance(input);
    if (firn_fb_sampler_unit(sampler) == FIRN_FB_SAMPLE_UNIT_RECORD)
        return advance == 0 && elements <= UINT32_MAX;
    return firn_fb_input_stream(input) == 0 && advance <= window && elements <= window - advance;
}

/* Elements of one sample; dimension 0 is the number of samples. */
static uint64_t sample_elements(firn_fb_tensor tensor) {
    firn_shape shape = firn_semantics_shape(tensor);
    uint64_t elements = 0;
    return firn_shape_elements(&shape, &elements) ? elements / shape.dims[0] : 0;
}

static bool is_input(firn_fb_plan plan, firn_fb_sampler sampler, firn_fb_input input) {
    if (firn_fb_input_tensor(input) >= firn_fb_plan_tensors_count(plan))
        return false;
    firn_fb_tensor tensor = firn_fb_plan_tensors_at(plan, firn_fb_input_tensor(input));
    return firn_fb_tensor_role(tensor) == FIRN_FB_ROLE_INPUT &&
           firn_fb_tensor_dims_at(tensor, 0) == firn_fb_sampler_samples(sampler) &&
           element_fits(input, firn_fb_tensor_type(tensor)) && sample_fits(sampler, input, sample_elements(tensor));
}

/* Checks an input against the earlier ones: each has a different tensor, those of one stream read the same elements,
 * and streams are numbered in the order of their first use. */
static bool follows_inputs(firn_fb_plan plan, uint32_t i) {
    firn_fb_input input = firn_fb_plan_inputs_at(plan, i);
    uint32_t streams = 0;
    bool window = firn_fb_sampler_unit(firn_fb_plan_sampler(plan)) == FIRN_FB_SAMPLE_UNIT_WINDOW;
    uint64_t elements = sample_elements(firn_fb_plan_tensors_at(plan, firn_fb_input_tensor(input)));
    for (uint32_t j = 0; j < i; j++) {
        firn_fb_input other = firn_fb_plan_inputs_at(plan, j);
        if (firn_fb_input_tensor(other) == firn_fb_input_tensor(input))
            return false;
        if (firn_fb_input_stream(other) >= streams)
            streams = firn_fb_input_stream(other) + 1u;
        if (firn_fb_input_stream(other) != firn_fb_input_stream(input))
            continue;
        if (firn_fb_input_element(other) != firn_fb_input_element(input) ||
            (!window && sample_elements(firn_fb_plan_tensors_at(plan, firn_fb_input_tensor(other))) != elements))
            return false;
    }
    return firn_fb_input_stream(input) <= streams;
}

static int check_inputs(firn_fb_plan plan) {
    firn_fb_sampler sampler = firn_fb_plan_sampler(plan);
    if (!is_sampler(plan, sampler))
        return FIRN_ERROR_SAMPLER;
    for (uint32_t i = 0; i < firn_fb_plan_inputs_count(plan); i++) {
        if (!is_input(plan, sampler, firn_fb_plan_inputs_at(plan, i)) || !follows_inputs(plan, i))
            return FIRN_ERROR_SAMPLER;
    }
    return FIRN_OK;
}

/* --- schedules and groups --------------------------------------------------------------------------------------- */

static bool is_schedule(firn_fb_plan plan, uint32_t i) {
    firn_fb_schedule schedule = firn_fb_plan_schedules_at(plan, i);
    uint32_t tensor = firn_fb_schedule_tensor(schedule);
    if (firn_fb_schedule_root(schedule) >= firn_fb_plan_schedule_nodes_count(plan) ||
        !is_arena_scalar(plan, tensor, FIRN_FLOAT32) ||
        firn_fb_tensor_role(firn_fb_plan_tensors_at(plan, tensor)) != FIRN_FB_ROLE_INPUT ||
        firn_semantics_input_of(plan, tensor) < firn_fb_plan_inputs_count(plan))
        return false;
    for (uint32_t j = 0; j < i; j++) {
        if (firn_fb_schedule_tensor(firn_fb_plan_schedules_at(plan, j)) == tensor)
            return false;
    }
    return true;
}

static int check_schedules(firn_fb_plan plan) {
    firn_schedule_list list = firn_plan_schedule_list(plan);
    if (firn_schedule_check(&list) != 0)
        return FIRN_ERROR_SCHEDULE;
    for (uint32_t i = 0; i < firn_fb_plan_schedules_count(plan); i++) {
        if (!is_schedule(plan, i))
            return FIRN_ERROR_SCHEDULE;
    }
    return FIRN_OK;
}

static bool is_schedule_of(firn_fb_plan plan, uint32_t schedule, uint8_t key) {
    return schedule < firn_fb_plan_schedules_count(plan) &&
           firn_fb_schedule_key(firn_fb_plan_schedules_at(plan, schedule)) == key;
}

static bool is_group(firn_fb_plan plan, firn_fb_parameter_group group) {
    uint32_t decay = firn_fb_parameter_group_decay_schedule(group);
    if (!is_schedule_of(plan, firn_fb_parameter_group_schedule(group), FIRN_FB_SCHEDULE_KEY_LEARNING_RATE) ||
        (decay != NO_SCHEDULE && (!is_schedule_of(plan, decay, FIRN_FB_SCHEDULE_KEY_WEIGHT_DECAY) ||
                                  firn_fb_parameter_group_weight_decay(group) != 0.0f)))
        return false;
    for (uint32_t i = 0; i < firn_fb_parameter_group_parameters_count(group); i++) {
        uint32_t parameter = firn_fb_parameter_group_parameters_at(group, i);
        if (parameter >= firn_fb_plan_state_tensors(plan) ||
            firn_fb_tensor_role(firn_fb_plan_tensors_at(plan, parameter)) != FIRN_FB_ROLE_PARAMETER)
            return false;
    }
    return true;
}

static int check_groups(firn_fb_plan plan) {
    for (uint32_t i = 0; i < firn_fb_plan_groups_count(plan); i++) {
        if (!is_group(plan, firn_fb_plan_groups_at(plan, i)))
            return FIRN_ERROR_ROLE;
    }
    return FIRN_OK;
}

/* --- what the runtime reads between the phases ------------------------------------------------------------------ */

/* Output 0 is the loss of a micro-batch, which the runtime reads at the end of phase 0. */
static int check_outputs(firn_fb_plan plan) {
    uint32_t loss = firn_fb_output_tensor(firn_fb_plan_outputs_at(plan, 0));
    uint8_t kind = firn_fb_phase_kind(firn_fb_plan_phases_at(plan, 0));
    if (!is_arena_scalar(plan, loss, FIRN_FLOAT32) || !is_ready_after(plan, loss, kind))
        return FIRN_ERROR_ROLE;
    for (uint32_t i = 1; i < firn_fb_plan_outputs_count(plan); i++) {
        uint32_t output = firn_fb_output_tensor(firn_fb_plan_outputs_at(plan, i));
        if (output >= firn_fb_plan_tensors_count(plan) ||
            !firn_semantics_is_persistent(firn_fb_plan_tensors_at(plan, output)))
            return FIRN_ERROR_ROLE;
    }
    return FIRN_OK;
}

/* No tensor is needed for a static scale of 1. */
static int check_loss_scaler(firn_fb_plan plan) {
    if (!firn_fb_plan_loss_scaler_present(plan))
        return FIRN_OK;
    firn_fb_loss_scaler scaler = firn_fb_plan_loss_scaler(plan);
    uint8_t kind = firn_fb_loss_scaler_kind(scaler);
    uint32_t scale = firn_fb_loss_scaler_scale(scaler), floor = firn_fb_loss_scaler_at_floor(scaler);
    bool has_scale = is_state_vector(plan, scale, FIRN_FLOAT32, 1);
    if (kind == FIRN_FB_LOSS_SCALING_NONE)
        return FIRN_OK;
    if (kind == FIRN_FB_LOSS_SCALING_STATIC)
        return has_scale || scale == NO_TENSOR ? FIRN_OK : FIRN_ERROR_ROLE;
    uint32_t finite = firn_fb_plan_finite(plan);
    if (!has_scale || !is_counter(plan, firn_fb_loss_scaler_steps_since_rescale(scaler)) ||
        !is_counter(plan, firn_fb_loss_scaler_overflows_since_rescale(scaler)) ||
        !is_counter(plan, firn_fb_loss_scaler_skipped_steps(scaler)) || !is_arena_scalar(plan, floor, FIRN_INT32) ||
        !is_ready_after(plan, floor, FIRN_FB_PHASE_KIND_BOOKKEEP) || !is_arena_scalar(plan, finite, FIRN_INT32) ||
        !is_ready_after(plan, finite, FIRN_FB_PHASE_KIND_FINALISE))
        return FIRN_ERROR_ROLE;
    return FIRN_OK;
}

static int check_gradient_norm(firn_fb_plan plan) {
    uint32_t norm = firn_fb_plan_gradient_norm(plan);
    if (norm == NO_TENSOR)
        return FIRN_OK;
    return is_arena_scalar(plan, norm, FIRN_FLOAT32) && is_ready_after(plan, norm, FIRN_FB_PHASE_KIND_FINALISE)
               ? FIRN_OK
               : FIRN_ERROR_ROLE;
}

/* The one or two ops that may compute the state of a kind of metric; other is 0 if there is one. */
typedef struct metric_rule {
    uint16_t code, other;
    uint8_t type; /* type of `sum` */
    bool matrix, f_beta;
} metric_rule;

static const metric_rule metric_rules[] = {
    [FIRN_FB_METRIC_KIND_MEAN_LOSS] = {FIRN_OP_metric_mean, FIRN_OP_metric_weighted_mean, FIRN_FLOAT32, false, false},
    [FIRN_FB_METRIC_KIND_PERPLEXITY] = {FIRN_OP_metric_mean, FIRN_OP_metric_weighted_mean, FIRN_FLOAT32, false, false},
    [FIRN_FB_METRIC_KIND_ACCURACY] = {FIRN_OP_metric_accuracy, 0, FIRN_INT64, false, false},
    [FIRN_FB_METRIC_KIND_WEIGHTED_ACCURACY] = {FIRN_OP_metric_weighted_accuracy, 0, FIRN_FLOAT32, false, false},
    [FIRN_FB_METRIC_KIND_MEAN_PER_CLASS_ACCURACY] = {FIRN_OP_metric_confusion, 0, FIRN_INT64, true, false},
    [FIRN_FB_METRIC_KIND_MEAN_IOU] = {FIRN_OP_metric_confusion, 0, FIRN_INT64, true, false},
    [FIRN_FB_METRIC_KIND_DICE] = {FIRN_OP_metric_confusion, 0, FIRN_INT64, true, false},
    [FIRN_FB_METRIC_KIND_F_BETA_MICRO] = {FIRN_OP_metric_confusion, 0, FIRN_INT64, true, true},
    [FIRN_FB_METRIC_KIND_F_BETA_MACRO] = {FIRN_OP_metric_confusion, 0, FIRN_INT64, true, true},
    [FIRN_FB_METRIC_KIND_AUC] = {FIRN_OP_metric_auc, 0, FIRN_INT64, false, false},
    [FIRN_FB_METRIC_KIND_MEAN_SQUARED_ERROR] = {FIRN_OP_metric_mean, 0, FIRN_FLOAT32, false, false},
};

/* Checks that exactly one op writes sum or count. It must be an op of the rule and write both, which also determines
 * their shapes. */
static bool is_measured_once(firn_fb_plan plan, uint32_t sum, uint32_t count, const metric_rule *rule) {
    uint32_t writers = 0;
    for (uint32_t n = 0; n < firn_semantics_op_count(plan); n++) {
        uint8_t phase;
        firn_fb_op op = firn_semantics_op(plan, n, &phase);
        uint16_t code = firn_fb_op_code(op);
        if (!firn_semantics_writes(op, sum) && !firn_semantics_writes(op, count))
            continue;
        if ((code != rule->code && code != rule->other) || firn_fb_op_outputs_at(op, 0) != sum ||
            firn_fb_op_outputs_at(op, 1) != count)
            return false;
        writers++;
    }
    return writers == 1;
}

/* Whether a tensor is state of this type with any extents, and not a parameter. */
static bool is_state_of(firn_fb_plan plan, uint32_t index, uint8_t type) {
    if (index >= firn_fb_plan_tensors_count(plan))
        return false;
    firn_fb_tensor tensor = firn_fb_plan_tensors_at(plan, index);
    return firn_semantics_region(plan, tensor) == FIRN_FB_REGION_KIND_STATE && firn_fb_tensor_type(tensor) == type &&
           firn_fb_tensor_role(tensor) != FIRN_FB_ROLE_PARAMETER;
}

/* Checks the ignored classes of the confusion matrix `sum`: ascending, and at least one class must remain. */
static bool are_ignored_classes(firn_fb_plan plan, firn_fb_metric metric) {
    firn_fb_tensor matrix = firn_fb_plan_tensors_at(plan, firn_fb_metric_sum(metric));
    uint32_t count = firn_fb_metric_ignore_classes_count(metric), classes = firn_fb_tensor_dims_at(matrix, 0);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t class = firn_fb_metric_ignore_classes_at(metric, i);
        if (class >= classes || (i > 0 && class <= firn_fb_metric_ignore_classes_at(metric, i - 1)))
            return false;
    }
    return count < classes;
}

static int check_metric(firn_fb_plan plan) {
    firn_fb_metric metric = firn_fb_plan_metric(plan);
    const metric_rule *rule = &metric_rules[firn_fb_metric_kind(metric)];
    uint32_t sum = firn_fb_metric_sum(metric), count = firn_fb_metric_count(metric);
    uint32_t cursor = firn_fb_sampler_cursor(firn_fb_plan_sampler(plan));
    float beta = firn_fb_metric_beta(metric);
    if (!is_state_of(plan, sum, rule->type) || !is_counter(plan, count) || sum == count || sum == cursor ||
        count == cursor || !is_measured_once(plan, sum, count, rule))
        return FIRN_ERROR_ROLE;
    if (rule->f_beta ? !is_positive(beta) : beta != 0.0f)
        return FIRN_ERROR_FIELD;
    if (rule->matrix ? !are_ignored_classes(plan, metric) : firn_fb_metric_ignore_classes_count(metric) != 0)
        return FIRN_ERROR_FIELD;
    return FIRN_OK;
}

/* --- counters --------------------------------------------------------------------------------------------------- */

/* Checks that exactly one op writes the counter, and that it increments it by 1 in a phase of this kind. */
static bool is_counted_once(firn_fb_plan plan, uint32_t counter, uint8_t kind) {
    uint32_t writers = 0;
    for (uint32_t n = 0; n < firn_semantics_op_count(plan); n++) {
        uint8_t phase;
        firn_fb_op op = firn_semantics_op(plan, n, &phase);
        if (!firn_semantics_writes(op, counter))
            continue;
        if (phase != kind || firn_fb_op_code(op) != FIRN_OP_count || firn_fb_op_integers_at(op, FIRN_COUNT_STEP) != 1)
            return false;
        writers++;
    }
    return writers == 1;
}

static int check_counters(firn_fb_plan plan) {
    uint32_t global = firn_fb_plan_global_step(plan), optimizer = firn_fb_plan_optimizer_step(plan);
    uint32_t cursor = firn_fb_sampler_cursor(firn_fb_plan_sampler(plan));
    if (!is_counter(plan, global) || !is_counter(plan, optimizer) || global == cursor || optimizer == cursor ||
        !is_counted_once(plan, global, FIRN_FB_PHASE_KIND_BOOKKEEP) ||
        !is_counted_once(plan, optimizer, FIRN_FB_PHASE_KIND_UPDATE))
        return FIRN_ERROR_ROLE;
    return FIRN_OK;
}

/* --- initialisers ----------------------------------------------------------------------------------------------- */

/* Whether x is an integer in the range of int64. */
static bool is_int64(float x) {
    const float limit = 9223372036854775808.0f; /* 2^63 */
    return x >= -limit && x < limit && (float)(int64_t)x == x;
}

static bool weights_fit(firn_fb_initialiser initialiser, firn_fb_tensor tensor, uint64_t constants_bytes) {
    uint64_t offset = firn_fb_initialiser_weights(initialiser), bytes = firn_semantics_bytes(tensor);
    return offset % 16 == 0 && offset <= constants_bytes && bytes <= constants_bytes - offset;
}

/* Counters start at 0, regardless of seed and weights. Fields that a rule does not use must be zero. */
static bool is_initialiser(firn_fb_plan plan, firn_fb_initialiser initialiser, uint64_t constants_bytes) {
    firn_fb_tensor tensor = firn_fb_plan_tensors_at(plan, firn_fb_initialiser_tensor(initialiser));
    bool single = firn_fb_tensor_type(tensor) == FIRN_FLOAT32;
    float a = firn_fb_initialiser_a(initialiser), b = firn_fb_initialiser_b(initialiser);
    bool plain = firn_fb_initialiser_rng_id(initialiser) == 0 && b == 0.0f;
    bool drawn = firn_fb_initialiser_rng_id(initialiser) < FIRN_RNG_ID_END;
    uint8_t rule = firn_fb_initialiser_rule(initialiser);
    if (rule != FIRN_FB_INITIALISER_RULE_WEIGHTS && firn_fb_initialiser_weights(initialiser) != 0)
        return false;
    if (firn_fb_tensor_role(tensor) == FIRN_FB_ROLE_COUNTER && (rule != FIRN_FB_INITIALISER_RULE_CONSTANT || a != 0.0f))
        return false;
    switch (rule) {
    case FIRN_FB_INITIALISER_RULE_CONSTANT:
        return plain && (single || is_int64(a));
    case FIRN_FB_INITIALISER_RULE_NORMAL:
        return single && drawn && b >= 0.0f;
    case FIRN_FB_INITIALISER_RULE_UNIFORM:
        return single && drawn && b >= a;
    case FIRN_FB_INITIALISER_RULE_WEIGHTS:
        return plain && a == 0.0f && weights_fit(initialiser, tensor, constants_bytes);
    default:
        return false;
    }
}

/* Every state tensor has one initialiser, in the same order. */
static int check_initialisers(firn_fb_plan plan, uint64_t constants_bytes) {
    uint32_t count = firn_fb_plan_initialisers_count(plan);
    if (count != firn_fb_plan_state_tensors(plan))
        return FIRN_ERROR_INITIALISER;
    for (uint32_t i = 0; i < count; i++) {
        firn_fb_initialiser initialiser = firn_fb_plan_initialisers_at(plan, i);
        if (firn_fb_initialiser_tensor(initialiser) != i || !is_initialiser(plan, initialiser, constants_bytes))
            return FIRN_ERROR_INITIALISER;
    }
    return FIRN_OK;
}

/* --- all of them ------------------------------------------------------------------------------------------------ */

static int check_mode(firn_fb_plan plan) {
    bool train = firn_fb_plan_mode(plan) == FIRN_FB_MODE_TRAIN;
    int error = train ? check_train(plan) : check_evaluate(plan);
    if (error == FIRN_OK)
        error = train ? check_counters(plan) : check_metric(plan);
    if (error == FIRN_OK && train)
        error = check_loss_scaler(plan);
    if (error == FIRN_OK && train)
        error = check_gradient_norm(plan);
    return error;
}

int firn_semantics_fields(firn_fb_plan plan, const firn_header *header) {
    int error = check_inputs(plan);
    if (error == FIRN_OK)
        error = check_schedules(plan);
    if (error == FIRN_OK)
        error = check_groups(plan);
    if (error == FIRN_OK)
        error = check_outputs(plan);
    if (error == FIRN_OK)
        error = check_mode(plan);
    return error == FIRN_OK ? check_initialisers(plan, header->constants_bytes) : error;
}
