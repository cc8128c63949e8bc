/* The ops that update a parameter, for each class of optimizer: a part of the training pass, which has made the groups,
 * their learning rates and the factors. State is named optimizer.<kind>.<parameter>, in PyTorch's words. Semantics:
 * NUMERICS.md, "Update"; OPTIMIZERS.md compares the classes. */
#include <string.h>

#include "compiler/passes/passes.h"

enum { STATES_MAX = 4 };

/* One parameter that is updated. */
typedef struct update {
    firnc_graph *graph;
    const firnc_group *group;
    const firnc_optimizer_settings *settings;
    firnc_value parameter, gradient;
    const char *name;
} update;

static firnc_value add_state(const update *u, const char *kind, firn_shape shape, float initial) {
    return firnc_state_new(u->graph, firnc_format("optimizer.%s.%s", kind, u->name), FIRNC_ROLE_OPTIMIZER_STATE, shape,
                           initial);
}

/* State with the extents of the parameter that begins with zeros. */
static firnc_value add_zeros(const update *u, const char *kind) {
    return add_state(u, kind, u->graph->values[u->parameter].shape, 0);
}

/* An optimizer's op: its inputs with the factors behind them, where there are any. */
static void add_op(const update *u, uint16_t code, const firnc_value *inputs, uint8_t input_count,
                   const int64_t *integers, const float *reals, const firnc_value *outputs) {
    firnc_value all[FIRN_INPUTS_MAX];
    memcpy(all, inputs, input_count * sizeof *inputs);
    if (u->group->factors != FIRNC_NONE)
        all[input_count++] = u->group->factors;
    firnc_node_in_place(u->graph, code, FIRNC_PHASE_UPDATE, u->name, all, input_count, integers, reals, outputs);
}

/* The common form: parameter, gradient, states, learning rate, and where it is counted the steps before this one. The
 * states are the outputs too, behind the parameter; what more the op gives is scratch. */
static void add_update(const update *u, uint16_t code, const firnc_value *states, uint8_t count, bool counted,
                       const int64_t *integers, const float *reals) {
    firnc_value inputs[FIRN_INPUTS_MAX] = {u->parameter, u->gradient}, outputs[FIRN_OUTPUTS_MAX];
    for (uint8_t i = 0; i < count; i++)
        inputs[2 + i] = states[i];
    inputs[2 + count] = u->group->learning_rate;
    inputs[3 + count] = u->graph->optimizer_step;
    for (uint8_t i = 0; i < FIRN_OUTPUTS_MAX; i++)
        outputs[i] = FIRNC_NONE;
    outputs[0] = u->parameter;
    for (uint8_t i = 0; i < count; i++)
        outputs[1 + i] = states[i];
    add_op(u, code, inputs, (uint8_t)(3 + count + counted), integers, reals, outputs);
}

/* The same with states like the parameter that begin with zeros, whose kinds end with NULL. */
static void add_plain(const update *u, uint16_t code, const char *const kinds[], bool counted, const int64_t *integers,
                      const float *reals) {
    firnc_value states[STATES_MAX];
    uint8_t count = 0;
    for (; kinds[count] != NULL; count++)
        states[count] = add_zeros(u, kinds[count]);
    add_update(u, code, states, count, counted, integers, reals);
}

/* --- sgd ---------------------------------------------------------------------------------------------------------- */

static void add_sgd(const update *u) {
    const firnc_optimizer_settings *s = u->settings;
    if (s->momentum == 0) {
        const int64_t maximize = s->maximize;
        add_update(u, FIRN_OP_sgd, NULL, 0, false, &maximize, &s->weight_decay);
        return;
    }
    firnc_value buffer = add_zeros(u, "momentum_buffer");
    const int64_t integers[] = {[FIRN_SGD_MOMENTUM_NESTEROV] = s->nesterov, [FIRN_SGD_MOMENTUM_MAXIMIZE] = s->maximize};
    const float reals[] = {[FIRN_SGD_MOMENTUM_MOMENTUM] = s->momentum,
                           [FIRN_SGD_MOMENTUM_DAMPENING] = s->dampening,
                           [FIRN_SGD_MOMENTUM_WEIGHT_DECAY] = s->weight_decay};
    add_op(u, FIRN_OP_sgd_momentum, (firnc_value[]){u->parameter, u->gradient, u->group->learning_rate, buffer}, 4,
           integers, reals, (firnc_value[]){u->parameter, buffer});
}

/* --- adam and its relatives --------------------------------------------------------------------------------------- */

static void add_adamw(const update *u) {
    const firnc_optimizer_settings *s = u->settings;
    firnc_value mean = add_zeros(u, "exp_avg"), square = add_zeros(u, "exp_avg_sq");
    const firnc_value inputs[] = {u->parameter,          u->gradient,          mean, square, u->group->learning_rate,
                                  u->group->beta1_power, u->group->beta2_power};
    const int64_t correct_bias = s->correct_bias;
    const float reals[] = {[FIRN_ADAMW_BETA1] = s->beta1,
                           [FIRN_ADAMW_BETA2] = s->beta2,
                           [FIRN_ADAMW_EPSILON] = s->epsilon,
                           [FIRN_ADAMW_WEIGHT_DECAY] = s->weight_decay};
    add_op(u, FIRN_OP_adamw, inputs, 7, &correct_bias, reals, (firnc_value[]){u->parameter, mean, square});
}

static void add_nadam(const update *u, const float *reals) {
    const firnc_value states[] = {add_zeros(u, "exp_avg"), add_zeros(u, "exp_avg_sq"),
                                  add_state(u, "mu_product", firnc_scalar(FIRN_FLOAT32), 1)};
    add_update(u, FIRN_OP_nadam, states, 3, true, NULL, reals);
}

/* Adam, AdamW, Lamb, RAdam, NAdam, Adamax */
static void add_adam(const update *u) {
    static const char *const two[] = {"exp_avg", "exp_avg_sq", NULL};
    static const char *const three[] = {"exp_avg", "exp_avg_sq", "max_exp_avg_sq", NULL};
    static const char *const infinite[] = {"exp_avg", "exp_inf", NULL};
    const firnc_optimizer_settings *s = u->settings;
    const float reals[] = {[FIRN_ADAM_BETA1] = s->beta1,
                           [FIRN_ADAM_BETA2] = s->beta2,
                           [FIRN_ADAM_EPSILON] = s->epsilon,
                           [FIRN_ADAM_WEIGHT_DECAY] = s->weight_decay,
                           [FIRN_NADAM_MOMENTUM_DECAY] = s->momentum_decay};
    const int64_t amsgrad[] = {
        [FIRN_ADAM_AMSGRAD_DECOUPLED] = s->kind == FIRNC_ADAMW, [FIRN_ADAM_AMSGRAD_CORRECT_BIAS] = s->correct_bias};
    const int64_t maximize = s->maximize, adam = s->adam;
    if (s->amsgrad)
        add_plain(u, FIRN_OP_adam_amsgrad, three, true, amsgrad, reals);
    else if (s->kind == FIRNC_ADAMW)
        add_adamw(u);
    else if (s->kind == FIRNC_LAMB)
        add_plain(u, FIRN_OP_lamb, two, false, &adam, reals);
    else if (s->kind == FIRNC_RADAM)
        add_plain(u, FIRN_OP_radam, two, true, NULL, reals);
    else if (s->kind == FIRNC_NADAM)
        add_nadam(u, reals);
    else if (s->kind == FIRNC_ADAMAX)
        add_plain(u, FIRN_OP_adamax, infinite, true, &maximize, reals);
    else
        add_plain(u, FIRN_OP_adam, two, true, NULL, reals);
}

static void add_lion(const update *u) {
    static const char *const states[] = {"exp_avg", NULL};
    const float reals[] = {[FIRN_LION_BETA1] = u->settings->beta1,
                           [FIRN_LION_BETA2] = u->settings->beta2,
                           [FIRN_LION_WEIGHT_DECAY] = u->settings->weight_decay};
    add_plain(u, FIRN_OP_lion, states, false, NULL, reals);
}

/* --- steps of each element's own size ----------------------------------------------------------------------------- */

static void add_rmsprop(const update *u) {
    static const struct {
        uint16_t code;
        const char *states[STATES_MAX];
    } forms[2][2] = {{{FIRN_OP_rmsprop, {"square_avg"}}, {FIRN_OP_rmsprop_momentum, {"square_avg", "momentum_buffer"}}},
                     {{FIRN_OP_rmsprop_centered, {"square_avg", "grad_avg"}},
                      {FIRN_OP_rmsprop_centered_momentum, {"square_avg", "grad_avg", "momentum_buffer"}}}};
    const firnc_optimizer_settings *s = u->settings;
    const float reals[] = {[FIRN_RMSPROP_ALPHA] = s->alpha,
                           [FIRN_RMSPROP_EPSILON] = s->epsilon,
                           [FIRN_RMSPROP_WEIGHT_DECAY] = s->weight_decay,
                           [FIRN_RMSPROP_MOMENTUM_MOMENTUM] = s->momentum};
    const bool centered = s->centered, momentum = s->momentum != 0;
    add_plain(u, forms[centered][momentum].code, forms[centered][momentum].states, false, NULL, reals);
}

static void add_rprop(const update *u) {
    static const char *const states[] = {"prev", "step_size", NULL};
    const firnc_optimizer_settings *s = u->settings;
    const float reals[] = {[FIRN_RPROP_ETA_MINUS] = s->eta_minus,
                           [FIRN_RPROP_ETA_PLUS] = s->eta_plus,
                           [FIRN_RPROP_SMALLEST] = s->smallest_step,
                           [FIRN_RPROP_LARGEST] = s->largest_step};
    add_plain(u, FIRN_OP_rprop, states, true, NULL, reals);
}

static void add_adagrad(const update *u) {
    const firnc_optimizer_settings *s = u->settings;
    const firnc_value sum = add_state(u, "sum", u->graph->values[u->parameter].shape, s->initial_accumulator_value);
    const int64_t maximize = s->maximize;
    const float reals[] = {[FIRN_ADAGRAD_LR_DECAY] = s->lr_decay,
                           [FIRN_ADAGRAD_EPSILON] = s->epsilon,
                           [FIRN_ADAGRAD_WEIGHT_DECAY] = s->weight_decay};
    add_update(u, FIRN_OP_adagrad, &sum, 1, true, &maximize, reals);
}

static void add_adadelta(const update *u) {
    static const char *const states[] = {"square_avg", "acc_delta", NULL};
    const firnc_optimizer_settings *s = u->settings;
    const int64_t maximize = s->maximize;
    const float reals[] = {[FIRN_ADADELTA_RHO] = s->rho,
                           [FIRN_ADADELTA_EPSILON] = s->epsilon,
                           [FIRN_ADADELTA_WEIGHT_DECAY] = s->weight_decay};
    add_plain(u, FIRN_OP_adadelta, states, false, &maximize, reals);
}

static void add_asgd(const update *u) {
    static const char *const states[] = {"ax", NULL};
    const firnc_optimizer_settings *s = u->settings;
    const int64_t maximize = s->maximize;
    const float reals[] = {[FIRN_ASGD_LAMBD] = s->lambd,
                           [FIRN_ASGD_ALPHA] = s->alpha,
                           [FIRN_ASGD_T0] = s->t0,
                           [FIRN_ASGD_WEIGHT_DECAY] = s->weight_decay};
    add_plain(u, FIRN_OP_asgd, states, true, &maximize, reals);
}

/* --- adafactor ---------------------------------------------------------------------------------------------------- */

/* The extents of a parameter without the one of that place. */
static firn_shape without_extent(firn_shape shape, uint8_t place) {
    for (uint8_t i = place; i + 1 < FIRN_RANK_MAX; i++)
        shape.dims[i] = shape.dims[i + 1];
    shape.dims[FIRN_RANK_MAX - 1] = 0;
    shape.rank--;
    return shape;
}

static void add_adafactor(const update *u) {
    const firnc_optimizer_settings *s = u->settings;
    const firn_shape shape = u->graph->values[u->parameter].shape;
    const int64_t scale_parameter = s->scale_parameter;
    const float reals[] = {[FIRN_ADAFACTOR_EPSILON1] = s->epsilon,
                           [FIRN_ADAFACTOR_EPSILON2] = s->epsilon2,
                           [FIRN_ADAFACTOR_CLIP] = s->clip_threshold,
                           [FIRN_ADAFACTOR_DECAY_RATE] = s->decay_rate,
                           [FIRN_ADAFACTOR_WEIGHT_DECAY] = s->weight_decay};
    if (shape.rank < 2) {
        const firnc_value square = add_zeros(u, "exp_avg_sq");
        add_update(u, FIRN_OP_adafactor, &square, 1, true, &scale_parameter, reals);
        return;
    }
    const firnc_value states[] = {add_state(u, "exp_avg_sq_row", without_extent(shape, (uint8_t)(shape.rank - 1)), 0),
                                  add_state(u, "exp_avg_sq_col", without_extent(shape, (uint8_t)(shape.rank - 2)), 0)};
    add_update(u, FIRN_OP_adafactor_factored, states, 2, true, &scale_parameter, reals);
}

/* --- muon --------------------------------------------------------------------------------------------------------- */

/* A node of the update phase with inputs, float32 attributes and one output of its own, beside scratch. */
static firnc_value add_node(const update *u, uint16_t code, firnc_value a, firnc_value b, int64_t layout,
                            const float *reals) {
    const uint8_t types[FIRN_OUTPUTS_MAX] = {FIRN_FLOAT32, FIRN_FLOAT32};
    uint32_t node = firnc_node_new(u->graph, code, FIRNC_PHASE_UPDATE, u->name, (firnc_value[]){a, b},
                                   b == FIRNC_NONE ? 1 : 2, &layout, reals, types);
    return u->graph->nodes[node].outputs[0];
}

/* The matrix nearest to x with all singular values alike, roughly: x over its norm, then ns_steps times
 * x = a x + (b G + c G G) x with G = x x^T; or, where x is tall, x^T x from the right. */
static firnc_value add_newton_schulz(const update *u, firnc_value x) {
    static const float to_square[] = {[FIRN_WEIGHTED_SUM_A] = -4.775F, [FIRN_WEIGHTED_SUM_B] = 2.0315F};
    static const float to_x[] = {[FIRN_WEIGHTED_SUM_A] = 3.4445F, [FIRN_WEIGHTED_SUM_B] = 1};
    static const float epsilon = 1e-7F;
    const firn_shape shape = u->graph->values[x].shape;
    const bool wide = shape.dims[0] <= shape.dims[1];
    x = add_node(u, FIRN_OP_unit_norm, x, FIRNC_NONE, 0, &epsilon);
    for (uint32_t i = 0; i < u->settings->ns_steps; i++) {
        firnc_value gram = wide ? add_node(u, FIRN_OP_linear, x, x, FIRNC_OUT_IN, NULL)
                                : add_node(u, FIRN_OP_linear_backward_weight, x, x, FIRNC_OUT_IN, NULL);
        firnc_value square = add_node(u, FIRN_OP_linear, gram, gram, FIRNC_OUT_IN, NULL); /* symmetric */
        firnc_value factor = add_node(u, FIRN_OP_weighted_sum, gram, square, 0, to_square);
        firnc_value turned = wide ? add_node(u, FIRN_OP_linear, factor, x, FIRNC_IN_OUT, NULL)
                                  : add_node(u, FIRN_OP_linear, x, factor, FIRNC_OUT_IN, NULL);
        x = add_node(u, FIRN_OP_weighted_sum, x, turned, 0, to_x);
    }
    return x;
}

/* Matrices take the orthogonal direction, longer the taller they are; other parameters the direction as it is. */
static void add_muon(const update *u) {
    const firnc_optimizer_settings *s = u->settings;
    const firn_shape shape = u->graph->values[u->parameter].shape;
    const firnc_value buffer = add_zeros(u, "momentum_buffer");
    const int64_t nesterov = s->nesterov;
    firnc_value inputs[] = {buffer, u->gradient}, outputs[] = {buffer, FIRNC_NONE};
    add_op(u, FIRN_OP_muon_direction, inputs, 2, &nesterov, &s->momentum, outputs);
    firnc_value x = u->graph->nodes[u->graph->node_count - 1].outputs[1];
    float reals[] = {[FIRN_MUON_STEP_SCALE] = 1, [FIRN_MUON_STEP_WEIGHT_DECAY] = s->weight_decay};
    if (shape.rank == 2) {
        x = add_newton_schulz(u, x);
        if (shape.dims[0] > shape.dims[1])
            reals[FIRN_MUON_STEP_SCALE] = __builtin_sqrtf((float)shape.dims[0] / (float)shape.dims[1]);
    }
    const firnc_value step[] = {u->parameter, x, u->group->learning_rate, u->group->factors};
    const bool scheduled =
        u->group->factors != FIRNC_NONE && u->graph->values[u->group->factors].shape.dims[0] > FIRN_FACTOR_DECAY;
    firnc_node_in_place(u->graph, FIRN_OP_muon_step, FIRNC_PHASE_UPDATE, u->name, step, scheduled ? 4 : 3, NULL, reals,
                        &u->parameter);
}

/* --- powers, and the door ----------------------------------------------------------------------------------------- */

static firnc_value advance_power(firnc_graph *graph, const char *name, float beta) {
    firnc_value power = firnc_state_new(graph, name, FIRNC_ROLE_OPTIMIZER_STATE, firnc_scalar(FIRN_FLOAT32), 1);
    firnc_node_in_place(graph, FIRN_OP_advance_power, FIRNC_PHASE_UPDATE, "optimizer", &power, 1, NULL, &beta, &power);
    return power;
}

/* Groups with the same betas share their powers; those of the first group bear no name but their own. */
void firnc_advance_powers(firnc_graph *graph, firnc_group *group) {
    if (group->settings.kind != FIRNC_ADAMW || group->settings.amsgrad)
        return;
    for (const firnc_group *other = graph->groups; other < group; other++)
        if (other->beta1_power != FIRNC_NONE && other->settings.beta1 == group->settings.beta1 &&
            other->settings.beta2 == group->settings.beta2) {
            group->beta1_power = other->beta1_power;
            group->beta2_power = other->beta2_power;
            return;
        }
    const char *suffix = group == graph->groups ? "" : firnc_format(".%s", group->name);
    group->beta1_power = advance_power(graph, firnc_format("optimizer.beta1_power%s", suffix), group->settings.beta1);
    group->beta2_power = advance_power(graph, firnc_format("optimizer.beta2_power%s", suffix), group->settings.beta2);
}

void firnc_update_parameter(firnc_graph *graph, const firnc_group *group, firnc_value parameter) {
    static void (*const adders[])(const update *) = {[FIRNC_SGD] = add_sgd,           [FIRNC_ADAM] = add_adam,
                                                     [FIRNC_ADAMW] = add_adam,        [FIRNC_ADAFACTOR] = add_adafactor,
                                                     [FIRNC_LAMB] = add_adam,         [FIRNC_LION] = add_lion,
                                                     [FIRNC_RMSPROP] = add_rmsprop,   [FIRNC_RADAM] = add_adam,
                                                     [FIRNC_NADAM] = add_adam,        [FIRNC_ADAMAX] = add_adam,
                                                     [FIRNC_RPROP] = add_rprop,       [FIRNC_ADAGRAD] = add_adagrad,
                                                     [FIRNC_ADADELTA] = add_adadelta, [FIRNC_ASGD] = add_asgd,
                                                     [FIRNC_MUON] = add_muon};
    const update u = {.graph = graph,
                      .group = group,
                      .settings = &group->settings,
                      .parameter = parameter,
                      .gradient = graph->values[parameter].gradient,
                      .name = graph->values[parameter].name};
    adders[group->settings.kind](&u);
}
