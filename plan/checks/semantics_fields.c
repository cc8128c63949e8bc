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

/* --- tensors that fields name ----------------------------------------------------------------------------------- */

static bool is_arena_scalar(firn_fb_plan plan, uint32_t index, uint8_t type) {
    return firn_semantics_is_vector(plan, index, FIRN_MEMORY_ARENA, type, 1);
}

/* --- the mode --------------------------------------------------------------------------------------------------- */

/* The gradient of a step is the mean over its micro-batches, so every loss seed must be 1 / micro_batches; and the loss
 * scale that a step reports is the one that its loss seeds use. */
static bool are_loss_seeds(firn_fb_plan plan) {
    uint8_t phase;
    firn_fb_op op;
    for (uint32_t n = 0; firn_semantics_op(plan, n, &op, &phase); n++) {
        if (firn_fb_op_code(op) != FIRN_OP_loss_seed)
            continue;
        uint32_t scale = firn_fb_op_inputs_count(op) > FIRN_LOSS_SEED_IN_SCALE
                             ? firn_fb_op_inputs_at(op, FIRN_LOSS_SEED_IN_SCALE)
                             : FIRN_ABSENT;
        if (scale != firn_fb_plan_loss_scale(plan) ||
            firn_fb_op_reals_at(op, FIRN_LOSS_SEED_FACTOR) != 1.0f / (float)firn_fb_plan_micro_batches(plan))
            return false;
    }
    return true;
}

static int check_train(firn_fb_plan plan) {
    if (firn_fb_plan_micro_batches(plan) < 1 || firn_fb_plan_metrics_count(plan) != 0 ||
        firn_fb_plan_loss(plan) == FIRN_ABSENT || !are_loss_seeds(plan))
        return FIRN_ERROR_FIELD;
    return FIRN_OK;
}

/* Checks that an eval plan has no field that only training uses, and promises no check of a loss that it has not. An
 * absent tensor has all bits set. */
static int check_evaluate(firn_fb_plan plan) {
    uint32_t of_training = firn_fb_plan_learning_rate(plan) & firn_fb_plan_loss_scale(plan) &
                           firn_fb_plan_at_floor(plan) & firn_fb_plan_global_step(plan) &
                           firn_fb_plan_optimizer_step(plan) & firn_fb_plan_finite(plan) &
                           firn_fb_plan_gradient_norm(plan);
    if (of_training != FIRN_ABSENT || firn_fb_plan_micro_batches(plan) != 1 ||
        firn_fb_plan_schedules_count(plan) != 0 ||
        (firn_fb_plan_check_loss(plan) && firn_fb_plan_loss(plan) == FIRN_ABSENT))
        return FIRN_ERROR_FIELD;
    return FIRN_OK;
}

/* --- sampler and inputs ----------------------------------------------------------------------------------------- */

/* Pushed samples are counted, and none of them is held out. */
static bool is_pushed_or_read(firn_fb_plan plan, firn_fb_sampler sampler) {
    uint32_t pushed = firn_fb_sampler_pushed(sampler);
    return pushed == FIRN_ABSENT ||
           (firn_semantics_is_vector(plan, pushed, FIRN_MEMORY_RING, FIRN_INT64, 1) &&
            firn_fb_sampler_part(sampler) == FIRN_FB_DATA_PART_ALL && firn_fb_sampler_held_out_per_mille(sampler) == 0);
}

static bool is_sampler(firn_fb_plan plan, firn_fb_sampler sampler) {
    bool window = firn_fb_sampler_unit(sampler) == FIRN_FB_SAMPLE_UNIT_WINDOW;
    return (firn_fb_sampler_window(sampler) != 0) == window && (firn_fb_sampler_stride(sampler) != 0) == window &&
           firn_fb_sampler_samples(sampler) >= 1 && firn_fb_sampler_held_out_per_mille(sampler) <= 999 &&
           firn_semantics_is_counter(plan, firn_fb_sampler_cursor(sampler)) && is_pushed_or_read(plan, sampler);
}

/* int32 reads integers of up to 32 bits, which must be below the limit; float32 reads float32 unscaled, or integers of
 * up to 16 bits with scale and shift. */
static bool element_fits(firn_fb_input input, uint8_t type) {
    uint8_t element = firn_fb_input_element(input);
    uint32_t limit = firn_fb_input_limit(input);
    bool small = element == FIRN_UINT8 || (element >= FIRN_UINT16 && element <= FIRN_BOOL);
    bool scaled = firn_fb_input_scale(input) != 1.0f || !firn_semantics_is_unused(firn_fb_input_shift(input));
    switch (type) {
    case FIRN_INT32:
        return (small || element == FIRN_INT32) && !scaled && limit != 0 && limit <= (uint32_t)INT32_MAX;
    case FIRN_FLOAT32:
        return (small || (element == FIRN_FLOAT32 && !scaled)) && limit == 0;
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
    return firn_shape_elements(&shape, &elements) ? firn_divide(elements, shape.dims[0], NULL) : 0;
}

/* The ring of an input holds elements as they were pushed: one after the other for windows, in records of a sample
 * each otherwise. */
static bool is_ring(firn_fb_plan plan, firn_fb_sampler sampler, firn_fb_input input, uint64_t elements) {
    uint32_t index = firn_fb_input_ring(input);
    if ((index == FIRN_ABSENT) != (firn_fb_sampler_pushed(sampler) == FIRN_ABSENT))
        return false;
    if (index == FIRN_ABSENT)
        return true;
    if (index >= firn_fb_plan_tensors_count(plan) || index == firn_fb_sampler_pushed(sampler))
        return false;
    firn_fb_tensor ring = firn_fb_plan_tensors_at(plan, index);
    bool window = firn_fb_sampler_unit(sampler) == FIRN_FB_SAMPLE_UNIT_WINDOW;
    return firn_fb_tensor_role(ring) == FIRN_FB_ROLE_RING && firn_fb_tensor_base(ring) == FIRN_ABSENT &&
           firn_fb_tensor_type(ring) == firn_fb_input_element(input) &&
           (window ? firn_fb_tensor_dims_count(ring) == 1 : sample_elements(ring) == elements);
}

static bool is_input(firn_fb_plan plan, firn_fb_sampler sampler, firn_fb_input input) {
    if (firn_fb_input_tensor(input) >= firn_fb_plan_tensors_count(plan))
        return false;
    firn_fb_tensor tensor = firn_fb_plan_tensors_at(plan, firn_fb_input_tensor(input));
    return firn_fb_tensor_role(tensor) == FIRN_FB_ROLE_INPUT && firn_fb_tensor_base(tensor) == FIRN_ABSENT &&
           is_ring(plan, sampler, input, sample_elements(tensor)) &&
           firn_fb_tensor_dims_at(tensor, 0) == firn_fb_sampler_samples(sampler) &&
           element_fits(input, firn_fb_tensor_type(tensor)) && sample_fits(sampler, input, sample_elements(tensor));
}

/* Checks an input against the earlier ones: each has a different tensor, those of one stream read the same elements,
 * from the same ring if they have one, all rings have room for as many, because `pushed` counts for all of them, and
 * streams are numbered in the order of their first use. */
static bool follows_inputs(firn_fb_plan plan, uint32_t i) {
    firn_fb_input input = firn_fb_plan_inputs_at(plan, i);
    bool window = firn_fb_sampler_unit(firn_fb_plan_sampler(plan)) == FIRN_FB_SAMPLE_UNIT_WINDOW;
    uint32_t tensor = firn_fb_input_tensor(input), stream = firn_fb_input_stream(input);
    uint32_t ring = firn_fb_input_ring(input);
    uint64_t elements = sample_elements(firn_fb_plan_tensors_at(plan, tensor));
    bool follows = stream == 0;
    for (uint32_t j = 0; j < i; j++) {
        firn_fb_input other = firn_fb_plan_inputs_at(plan, j);
        bool same = firn_fb_input_stream(other) == stream;
        follows |= firn_fb_input_stream(other) + 1u >= stream;
        if (ring != FIRN_ABSENT &&
            ((firn_fb_input_ring(other) == ring) != same ||
             firn_fb_tensor_dims_at(firn_fb_plan_tensors_at(plan, firn_fb_input_ring(other)), 0) !=
                 firn_fb_tensor_dims_at(firn_fb_plan_tensors_at(plan, ring), 0)))
            return false;
        if (same &&
            (firn_fb_input_element(other) != firn_fb_input_element(input) ||
             (!window && sample_elements(firn_fb_plan_tensors_at(plan, firn_fb_input_tensor(other))) != elements)))
            return false;
    }
    return follows && firn_semantics_input_of(plan, tensor) == i;
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

/* --- schedules ------------------------------------------------------------------------------------------------- */

/* No input and no earlier schedule fills the tensor. */
static bool is_schedule(firn_fb_plan plan, uint32_t i) {
    firn_fb_schedule schedule = firn_fb_plan_schedules_at(plan, i);
    uint32_t tensor = firn_fb_schedule_tensor(schedule);
    return firn_fb_schedule_root(schedule) < firn_fb_plan_schedule_nodes_count(plan) &&
           is_arena_scalar(plan, tensor, FIRN_FLOAT32) &&
           firn_fb_tensor_role(firn_fb_plan_tensors_at(plan, tensor)) == FIRN_FB_ROLE_INPUT &&
           firn_semantics_input_of(plan, tensor) == firn_fb_plan_inputs_count(plan) &&
           firn_semantics_schedule_of(plan, tensor) == i;
}

static int check_schedules(firn_fb_plan plan) {
    firn_schedule_list list = firn_plan_schedule_list(plan);
    for (uint32_t i = 0; i < list.node_count; i++) {
        if (!firn_schedule_is_linked(list.nodes[i].kind))
            return FIRN_ERROR_KERNEL_MISSING;
    }
    if (firn_schedule_check(&list) != 0)
        return FIRN_ERROR_SCHEDULE;
    for (uint32_t i = 0; i < firn_fb_plan_schedules_count(plan); i++) {
        if (!is_schedule(plan, i))
            return FIRN_ERROR_SCHEDULE;
    }
    return FIRN_OK;
}

/* --- what the runtime reads between the phases ------------------------------------------------------------------ */

/* The kind of the phase of op n; if there is no such op, update, where neither a loss nor an output may come from. */
static uint8_t phase_of(firn_fb_plan plan, uint32_t n) {
    uint8_t phase = FIRN_FB_PHASE_KIND_UPDATE;
    firn_fb_op op;
    (void)firn_semantics_op(plan, n, &op, &phase);
    return phase;
}

/* The runtime reads the loss at the end of the phase micro_batch or evaluate. */
static bool is_loss(firn_fb_plan plan, uint32_t loss) {
    uint8_t phase = phase_of(plan, firn_semantics_first_touch(plan, loss));
    return is_arena_scalar(plan, loss, FIRN_FLOAT32) &&
           (phase == FIRN_FB_PHASE_KIND_MICRO_BATCH || phase == FIRN_FB_PHASE_KIND_EVALUATE);
}

static bool same_name(firn_fb_output a, firn_fb_output b) {
    uint32_t length = firn_fb_output_name_length(a);
    return length == firn_fb_output_name_length(b) &&
           memcmp(firn_fb_output_name(a), firn_fb_output_name(b), length) == 0;
}

/* An output is computed in each step and stays until the next; its name is its own. */
static bool is_output(firn_fb_plan plan, uint32_t i) {
    firn_fb_output output = firn_fb_plan_outputs_at(plan, i);
    if (firn_fb_output_tensor(output) >= firn_fb_plan_tensors_count(plan))
        return false;
    uint32_t index = firn_semantics_base(plan, firn_fb_output_tensor(output));
    firn_fb_tensor tensor = firn_fb_plan_tensors_at(plan, index);
    if (firn_semantics_memory(tensor) != FIRN_MEMORY_ARENA || !firn_semantics_is_persistent(tensor) ||
        firn_fb_tensor_role(tensor) == FIRN_FB_ROLE_SCRATCH ||
        phase_of(plan, firn_semantics_first_writer(plan, index)) == FIRN_FB_PHASE_KIND_UPDATE)
        return false;
    for (uint32_t j = 0; j < i; j++) {
        if (same_name(firn_fb_plan_outputs_at(plan, j), output))
            return false;
    }
    return true;
}

static int check_outputs(firn_fb_plan plan) {
    if (firn_fb_plan_loss(plan) != FIRN_ABSENT && !is_loss(plan, firn_fb_plan_loss(plan)))
        return FIRN_ERROR_ROLE;
    for (uint32_t i = 0; i < firn_fb_plan_outputs_count(plan); i++) {
        if (!is_output(plan, i))
            return FIRN_ERROR_ROLE;
    }
    return FIRN_OK;
}

/* What a step reports and obeys is what the op of that name has computed. */
typedef struct step_rule {
    uint16_t code;
    uint8_t output, type, phase;
} step_rule;

static const step_rule norm_rule = {FIRN_OP_gradient_norm, FIRN_GRADIENT_NORM_OUT_NORM, FIRN_FLOAT32,
                                    FIRN_FB_PHASE_KIND_FINALISE};
static const step_rule finite_rule = {FIRN_OP_gradient_norm, FIRN_GRADIENT_NORM_OUT_FINITE, FIRN_INT32,
                                      FIRN_FB_PHASE_KIND_FINALISE};
static const step_rule floor_rule = {FIRN_OP_loss_scale_update, FIRN_LOSS_SCALE_UPDATE_OUT_AT_FLOOR, FIRN_INT32,
                                     FIRN_FB_PHASE_KIND_BOOKKEEP};

static bool is_computed(firn_fb_plan plan, uint32_t tensor, const step_rule *rule) {
    firn_fb_op writer;
    return tensor == FIRN_ABSENT ||
           (is_arena_scalar(plan, tensor, rule->type) &&
            firn_semantics_has_one_writer(plan, tensor, rule->code, rule->output, rule->phase, &writer));
}

static int check_step(firn_fb_plan plan) {
    uint32_t scale = firn_fb_plan_loss_scale(plan), rate = firn_fb_plan_learning_rate(plan);
    if (!is_computed(plan, firn_fb_plan_gradient_norm(plan), &norm_rule) ||
        !is_computed(plan, firn_fb_plan_finite(plan), &finite_rule) ||
        !is_computed(plan, firn_fb_plan_at_floor(plan), &floor_rule))
        return FIRN_ERROR_ROLE;
    if (rate != FIRN_ABSENT && firn_semantics_schedule_of(plan, rate) == firn_fb_plan_schedules_count(plan))
        return FIRN_ERROR_ROLE;
    if (scale != FIRN_ABSENT && !firn_semantics_is_vector(plan, scale, FIRN_MEMORY_STATE, FIRN_FLOAT32, 1))
        return FIRN_ERROR_ROLE;
    return FIRN_OK;
}

/* --- counters --------------------------------------------------------------------------------------------------- */

/* Whether exactly one op writes the counter, and it adds 1 in a phase of this kind. */
static bool is_counted_once(firn_fb_plan plan, uint32_t counter, uint8_t kind) {
    firn_fb_op writer;
    return firn_semantics_has_one_writer(plan, counter, FIRN_OP_count, FIRN_COUNT_OUT_COUNTER, kind, &writer) &&
           firn_fb_op_integers_at(writer, FIRN_COUNT_STEP) == 1;
}

static int check_counters(firn_fb_plan plan) {
    uint32_t global = firn_fb_plan_global_step(plan), optimizer = firn_fb_plan_optimizer_step(plan);
    return firn_semantics_is_counter(plan, global) && firn_semantics_is_counter(plan, optimizer) &&
                   is_counted_once(plan, global, FIRN_FB_PHASE_KIND_BOOKKEEP) &&
                   is_counted_once(plan, optimizer, FIRN_FB_PHASE_KIND_UPDATE)
               ? FIRN_OK
               : FIRN_ERROR_ROLE;
}

/* --- initialisers ----------------------------------------------------------------------------------------------- */

#define COUNTER_MAX (UINT64_C(1) << 62) /* no run counts as far, and sums with it do not overflow */

/* Whether the elements of a float32 tensor lie in the constants, in a type that float32 holds exactly. */
static bool weights_fit(firn_fb_initialiser initialiser, firn_fb_tensor tensor, uint64_t constants_bytes) {
    uint8_t element = firn_fb_initialiser_element(initialiser);
    uint64_t bytes = firn_semantics_bytes(tensor);
    if (firn_type_is_half(element))
        bytes /= 2;
    else if (element != FIRN_FLOAT32)
        return false;
    return firn_semantics_is_placed(firn_fb_initialiser_weights(initialiser), bytes, constants_bytes);
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
static uint32_t fields_of(firn_fb_initialiser initialiser) {
    uint32_t fields = firn_semantics_is_unused(firn_fb_initialiser_a(initialiser)) ? 0 : USES_A;
    if (!firn_semantics_is_unused(firn_fb_initialiser_b(initialiser)))
        fields |= USES_B;
    if (firn_fb_initialiser_rng_id(initialiser) != 0)
        fields |= USES_RNG_ID;
    if (firn_fb_initialiser_integer(initialiser) != 0)
        fields |= USES_INTEGER;
    if (firn_fb_initialiser_element(initialiser) != 0)
        fields |= USES_ELEMENT;
    if (firn_fb_initialiser_weights(initialiser) != 0)
        fields |= USES_WEIGHTS;
    return fields;
}

static bool is_in_range(firn_fb_initialiser initialiser, firn_fb_tensor tensor, uint64_t constants_bytes) {
    float a = firn_fb_initialiser_a(initialiser), b = firn_fb_initialiser_b(initialiser);
    uint64_t integer = (uint64_t)firn_fb_initialiser_integer(initialiser);
    if (firn_fb_initialiser_rng_id(initialiser) >= FIRN_RNG_ID_END || integer > COUNTER_MAX) /* nor is it negative */
        return false;
    switch (firn_fb_initialiser_rule(initialiser)) {
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
static bool is_initialiser(firn_fb_initialiser initialiser, firn_fb_tensor tensor, uint64_t constants_bytes) {
    uint8_t rule = firn_fb_initialiser_rule(initialiser), type = firn_fb_tensor_type(tensor);
    bool free = type == FIRN_FLOAT32 && firn_fb_tensor_role(tensor) != FIRN_FB_ROLE_COUNTER;
    uint32_t fields = free ? rule_fields[rule] : type == FIRN_INT64 ? USES_INTEGER : 0;
    return (free || rule == FIRN_FB_INITIALISER_RULE_CONSTANT) && (fields_of(initialiser) & ~fields) == 0 &&
           is_in_range(initialiser, tensor, constants_bytes);
}

/* Every state tensor has one initialiser, in the same order. */
static int check_initialisers(firn_fb_plan plan, uint64_t constants_bytes) {
    uint32_t count = firn_fb_plan_initialisers_count(plan);
    if (count != firn_fb_plan_state_tensors(plan))
        return FIRN_ERROR_INITIALISER;
    for (uint32_t i = 0; i < count; i++) {
        if (!is_initialiser(firn_fb_plan_initialisers_at(plan, i), firn_fb_plan_tensors_at(plan, i), constants_bytes))
            return FIRN_ERROR_INITIALISER;
    }
    return FIRN_OK;
}

/* --- all of them ------------------------------------------------------------------------------------------------ */

static int check_mode(firn_fb_plan plan, bool train) {
    int error = train ? check_train(plan) : check_evaluate(plan);
    uint32_t origin = firn_fb_plan_origin_count(plan);
    if (error == FIRN_OK && (firn_fb_plan_steps(plan) > INT64_MAX || (origin != 0 && origin != FIRN_HASH_BYTES)))
        error = FIRN_ERROR_FIELD;
    if (error == FIRN_OK && train)
        error = check_counters(plan);
    if (error == FIRN_OK && train)
        error = check_step(plan);
    for (uint32_t i = 0; error == FIRN_OK && i < firn_fb_plan_metrics_count(plan); i++)
        error = firn_semantics_metric == NULL ? FIRN_ERROR_KERNEL_MISSING
                                              : firn_semantics_metric(plan, firn_fb_plan_metrics_at(plan, i));
    return error;
}

int firn_semantics_fields(firn_fb_plan plan, const firn_header *header) {
    int error = check_inputs(plan);
    if (error == FIRN_OK)
        error = check_schedules(plan);
    if (error == FIRN_OK)
        error = check_outputs(plan);
    if (error == FIRN_OK)
        error = check_mode(plan, header->mode == FIRN_MODE_TRAIN);
    return error == FIRN_OK ? check_initialisers(plan, header->constants_bytes) : error;
}
