/* Part of the training pass: adds the ops that update a parameter, for each class of optimizer. The groups, their
 * learning rates and the factors exist already. The rows of plan/ops.def name the operands and attributes of an
 * optimizer's op; this file maps each name to a value of the graph or a setting. State is named
 * optimizer.<name>.<parameter>, with PyTorch's names. Semantics: NUMERICS.md, "Update"; OPTIMIZERS.md compares the
 * classes. */
#include <stddef.h>
#include <string.h>

#include "compiler/base/words.h"
#include "compiler/passes/passes.h"
#include "plan/op_words.h"

/* The parameter that is updated, and what its update uses. */
typedef struct update {
    firnc_graph *graph;
    const firnc_group *group;
    const firnc_optimizer_settings *settings;
    firnc_value parameter, gradient;
    const char *name;
} update;

/* --- settings by the names of attributes -------------------------------------------------------------------------- */

typedef struct setting {
    const char *name;
    size_t offset; /* in firnc_optimizer_settings */
} setting;

#define AT(member) offsetof(firnc_optimizer_settings, member)

static const setting real_settings[] = {
    {"beta1", AT(beta1)},
    {"beta2", AT(beta2)},
    {"epsilon", AT(epsilon)},
    {"epsilon1", AT(epsilon)},
    {"epsilon2", AT(epsilon2)},
    {"weight_decay", AT(weight_decay)},
    {"momentum", AT(momentum)},
    {"momentum_decay", AT(momentum_decay)},
    {"dampening", AT(dampening)},
    {"alpha", AT(alpha)},
    {"rho", AT(rho)},
    {"eta_minus", AT(eta_minus)},
    {"eta_plus", AT(eta_plus)},
    {"smallest", AT(smallest_step)},
    {"largest", AT(largest_step)},
    {"lr_decay", AT(lr_decay)},
    {"lambd", AT(lambd)},
    {"t0", AT(t0)},
    {"clip", AT(clip_threshold)},
    {"decay_rate", AT(decay_rate)},
};

static const setting flag_settings[] = {
    {"correct_bias", AT(correct_bias)},
    {"nesterov", AT(nesterov)},
    {"maximize", AT(maximize)},
    {"adam", AT(adam)},
    {"scale_parameter", AT(scale_parameter)},
};

#undef AT

static const void *find_setting(const update *u, const setting *settings, size_t count, const char *name) {
    for (size_t i = 0; i < count; i++)
        if (strcmp(settings[i].name, name) == 0)
            return (const uint8_t *)u->settings + settings[i].offset;
    firnc_graph_misuse(u->graph, firnc_format("no setting of an optimizer is called %s", name));
}

static bool flag_of(const update *u, const char *name) {
    if (strcmp(name, "decoupled") == 0) /* attribute of AMSGrad, which Adam and AdamW share */
        return u->settings->kind == FIRNC_ADAMW;
    return *(const bool *)find_setting(u, flag_settings, sizeof flag_settings / sizeof flag_settings[0], name);
}

static void fill_attributes(const update *u, const firn_op_info *info, int64_t *integers, float *reals) {
    const char *names = firn_op_words_of(info)->integers;
    for (uint8_t i = 0; i < info->integers; i++)
        integers[i] = flag_of(u, firnc_next_word(&names));
    names = firn_op_words_of(info)->reals;
    for (uint8_t i = 0; i < info->reals; i++)
        reals[i] = *(const float *)find_setting(u, real_settings, sizeof real_settings / sizeof real_settings[0],
                                                firnc_next_word(&names));
}

/* --- operands by their names -------------------------------------------------------------------------------------- */

/* A shape without one of its dimensions. */
static firn_shape without_extent(firn_shape shape, uint8_t place) {
    for (uint8_t i = place; i + 1 < FIRN_RANK_MAX; i++)
        shape.dims[i] = shape.dims[i + 1];
    shape.dims[FIRN_RANK_MAX - 1] = 0;
    shape.rank--;
    return shape;
}

/* Adds a state tensor of the optimizer. It has the shape of the parameter except for the names listed here. */
static firnc_value add_state(const update *u, const char *name) {
    firn_shape shape = u->graph->values[u->parameter].shape;
    float initial = 0;
    if (strcmp(name, "mu_product") == 0) {
        shape = firnc_scalar(FIRN_FLOAT32);
        initial = 1;
    } else if (strcmp(name, "sum") == 0) {
        initial = u->settings->initial_accumulator_value;
    } else if (strcmp(name, "exp_avg_sq_row") == 0) {
        shape = without_extent(shape, (uint8_t)(shape.rank - 1));
    } else if (strcmp(name, "exp_avg_sq_col") == 0) {
        shape = without_extent(shape, (uint8_t)(shape.rank - 2));
    }
    return firnc_state_new(u->graph, firnc_format("optimizer.%s.%s", name, u->name), FIRNC_ROLE_OPTIMIZER_STATE, shape,
                           initial);
}

/* True if the op changes this input in place. */
static bool is_changed(const firn_op_info *info, uint8_t input) {
    for (uint8_t j = 0; j < info->outputs; j++)
        if (firn_op_changed(info, j) == input)
            return true;
    return false;
}

/* The value of an input, by its name. Another name is new state if the op changes it; a name that it only reads must be
 * one of those known here. */
static firnc_value operand(const update *u, const firn_op_info *info, uint8_t input, const char *name) {
    const struct {
        const char *name;
        firnc_value value;
    } known[] = {{"parameter", u->parameter},
                 {"gradient", u->gradient},
                 {"learning_rate", u->group->learning_rate},
                 {"steps", u->graph->optimizer_step},
                 {"beta1_power", u->group->beta1_power},
                 {"beta2_power", u->group->beta2_power},
                 {"factors", u->group->factors}};
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (strcmp(name, known[i].name) == 0)
            return known[i].value;
    if (!is_changed(info, input))
        firnc_graph_misuse(u->graph, firnc_format("%s reads %s, which no update has", firn_op_name(info), name));
    return add_state(u, name);
}

/* Adds the op with its operands and attributes; returns its node. */
static const firnc_node *add_op(const update *u, uint16_t code) {
    const firn_op_info *info = firn_op_find(code);
    const char *names = firn_op_words_of(info)->inputs;
    firnc_value inputs[FIRN_INPUTS_MAX] = {0}, outputs[FIRN_OUTPUTS_MAX];
    int64_t integers[FIRN_ATTRIBUTES_MAX];
    float reals[FIRN_ATTRIBUTES_MAX];
    for (uint8_t i = 0; i < info->inputs; i++)
        inputs[i] = operand(u, info, i, firnc_next_word(&names));
    for (uint8_t j = 0; j < info->outputs; j++) {
        uint8_t changed = firn_op_changed(info, j);
        outputs[j] = changed == FIRN_FRESH ? FIRNC_NONE : inputs[changed];
    }
    fill_attributes(u, info, integers, reals);
    uint32_t node = firnc_node_in_place(u->graph, code, FIRNC_PHASE_UPDATE, u->name, inputs, info->inputs, integers,
                                        reals, outputs);
    return &u->graph->nodes[node];
}

/* --- the op of a class and its settings --------------------------------------------------------------------------- */

static uint16_t code_of(const update *u) {
    static const uint16_t rmsprop[2][2] = {{FIRN_OP_rmsprop, FIRN_OP_rmsprop_momentum},
                                           {FIRN_OP_rmsprop_centered, FIRN_OP_rmsprop_centered_momentum}};
    const firnc_optimizer_settings *s = u->settings;
    switch (s->kind) {
    case FIRNC_SGD:
        return s->momentum == 0 ? FIRN_OP_sgd : FIRN_OP_sgd_momentum;
    case FIRNC_ADAM:
        return s->amsgrad ? FIRN_OP_adam_amsgrad : FIRN_OP_adam;
    case FIRNC_ADAMW:
        return s->amsgrad ? FIRN_OP_adam_amsgrad : FIRN_OP_adamw;
    case FIRNC_ADAFACTOR:
        return u->graph->values[u->parameter].shape.rank < 2 ? FIRN_OP_adafactor : FIRN_OP_adafactor_factored;
    case FIRNC_LAMB:
        return FIRN_OP_lamb;
    case FIRNC_LION:
        return FIRN_OP_lion;
    case FIRNC_RMSPROP:
        return rmsprop[s->centered][s->momentum != 0];
    case FIRNC_RADAM:
        return FIRN_OP_radam;
    case FIRNC_NADAM:
        return FIRN_OP_nadam;
    case FIRNC_ADAMAX:
        return FIRN_OP_adamax;
    case FIRNC_RPROP:
        return FIRN_OP_rprop;
    case FIRNC_ADAGRAD:
        return FIRN_OP_adagrad;
    case FIRNC_ADADELTA:
        return FIRN_OP_adadelta;
    case FIRNC_ASGD:
        return FIRN_OP_asgd;
    case FIRNC_MUON:
        return FIRN_OP_muon_direction;
    }
    firnc_graph_misuse(u->graph, "an optimizer is of no class");
}

/* --- muon --------------------------------------------------------------------------------------------------------- */

/* Adds a node of the update phase and returns its first output, a new float32 tensor. b may be FIRNC_NONE. integer: the
 * op's integer attribute, if it has one. */
static firnc_value add_node(const update *u, uint16_t code, firnc_value a, firnc_value b, int64_t integer,
                            const float *reals) {
    const uint8_t types[FIRN_OUTPUTS_MAX] = {FIRN_FLOAT32, FIRN_FLOAT32};
    uint32_t node =
        firnc_node_new(u->graph, code, FIRNC_PHASE_UPDATE, u->name, (firnc_value[]){a, b}, 2, &integer, reals, types);
    return u->graph->nodes[node].outputs[0];
}

/* Adds ops that approximate the orthogonal matrix nearest to x: divide x by its norm, then ns_steps times x = a x + (b
 * G + c G G) x with G = x x^T. A tall x is multiplied by x^T x from the right instead. */
static firnc_value add_newton_schulz(const update *u, firnc_value x) {
    static const float to_square[] = {[FIRN_WEIGHTED_SUM_A] = -4.775F, [FIRN_WEIGHTED_SUM_B] = 2.0315F};
    static const float to_x[] = {[FIRN_WEIGHTED_SUM_A] = 3.4445F, [FIRN_WEIGHTED_SUM_B] = 1};
    static const float epsilon = 1e-7F;
    const firn_shape shape = u->graph->values[x].shape;
    const bool wide = shape.dims[0] <= shape.dims[1];
    x = add_node(u, FIRN_OP_scaled_unit_norm, x, FIRNC_NONE, 0, &epsilon);
    for (uint32_t i = 0; i < u->settings->ns_steps; i++) {
        firnc_value gram = wide ? add_node(u, FIRN_OP_linear, x, x, FIRNC_OUT_IN, NULL)
                                : add_node(u, FIRN_OP_linear_backward_weight, x, x, FIRNC_OUT_IN, NULL);
        firnc_value square = add_node(u, FIRN_OP_linear, gram, gram, FIRNC_OUT_IN, NULL); /* G is symmetric */
        firnc_value factor = add_node(u, FIRN_OP_weighted_sum, gram, square, 0, to_square);
        firnc_value turned = wide ? add_node(u, FIRN_OP_linear, factor, x, FIRNC_IN_OUT, NULL)
                                  : add_node(u, FIRN_OP_linear, x, factor, FIRNC_OUT_IN, NULL);
        x = add_node(u, FIRN_OP_weighted_sum, x, turned, 0, to_x);
    }
    return x;
}

/* Adds the step of Muon that follows muon_direction. A matrix uses the orthogonalised direction, scaled by sqrt(rows /
 * columns) if it is tall; other parameters use the direction itself. */
static void add_muon_step(const update *u, firnc_value direction) {
    const firn_shape shape = u->graph->values[u->parameter].shape;
    float reals[] = {[FIRN_MUON_STEP_SCALE] = 1, [FIRN_MUON_STEP_WEIGHT_DECAY] = u->settings->weight_decay};
    if (shape.rank == 2) {
        direction = add_newton_schulz(u, direction);
        if (shape.dims[0] > shape.dims[1])
            reals[FIRN_MUON_STEP_SCALE] = __builtin_sqrtf((float)shape.dims[0] / (float)shape.dims[1]);
    }
    const bool scheduled =
        u->group->factors != FIRNC_NONE && u->graph->values[u->group->factors].shape.dims[0] > FIRN_FACTOR_DECAY;
    const firnc_value inputs[] = {[FIRN_MUON_STEP_IN_PARAMETER] = u->parameter,
                                  [FIRN_MUON_STEP_IN_DIRECTION] = direction,
                                  [FIRN_MUON_STEP_IN_LEARNING_RATE] = u->group->learning_rate,
                                  [FIRN_MUON_STEP_IN_FACTORS] = scheduled ? u->group->factors : FIRNC_NONE};
    firnc_node_in_place(u->graph, FIRN_OP_muon_step, FIRNC_PHASE_UPDATE, u->name, inputs, FIRN_MUON_STEP_IN_FACTORS + 1,
                        NULL, reals, &u->parameter);
}

/* --- powers, and the entry function ------------------------------------------------------------------------------- */

static firnc_value advance_power(firnc_graph *graph, const char *name, float beta) {
    firnc_value power = firnc_state_new(graph, name, FIRNC_ROLE_OPTIMIZER_STATE, firnc_scalar(FIRN_FLOAT32), 1);
    firnc_node_in_place(graph, FIRN_OP_advance_power, FIRNC_PHASE_UPDATE, "optimizer", &power, 1, NULL, &beta, &power);
    return power;
}

/* Groups with the same betas share their powers. The powers of the first group have no suffix in their names. */
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
    const update u = {.graph = graph,
                      .group = group,
                      .settings = &group->settings,
                      .parameter = parameter,
                      .gradient = graph->values[parameter].gradient,
                      .name = graph->values[parameter].name};
    const firnc_node *node = add_op(&u, code_of(&u));
    if (node->code == FIRN_OP_muon_direction)
        add_muon_step(&u, node->outputs[FIRN_MUON_DIRECTION_OUT_DIRECTION]);
}
