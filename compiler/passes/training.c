/* The training pass; an eval graph goes to metric.c instead. In: the micro-batch phase with every parameter's gradient.
 * Out: the whole step:
 *
 * - count: the divisor of the whole batch, where rows of the loss may be absent (gradients/batch.c)
 * - micro_batch: the seed of the gradient takes 1/micro_batches, or 1 where losses are added, and the loss scale;
 *   gradients are accumulated, and losses where that is done as a tree; running statistics advance beside their buffers
 * - finalise: largest magnitude and squares of the unscaled gradients, norm and finiteness; the factors that unscale
 *   and clip
 * - update: powers of beta, the optimizer for each parameter, which applies the factors; the optimizer step
 * - bookkeep: running statistics, loss scale, global step
 *
 * and the state that these use. Semantics: NUMERICS.md, "Finalise", "Update" and "Bookkeep". */
#include <string.h>

#include "compiler/passes/passes.h"
#include "plan/generated/reader.h"

typedef struct training {
    firnc_graph *graph;
    const firnc_job *job;
    firnc_value *parameters; /* sorted by name */
    uint32_t count, micro_batches;
    firnc_value magnitude, root; /* of the gradients, once their norm has been found */
    firnc_value factors; /* output of gradient_factors; FIRNC_NONE: gradients are neither unscaled nor clipped */
} training;

/* --- values ------------------------------------------------------------------------------------------------------- */

/* Adds a scalar in the arena that the runtime reads or writes between phases. */
static firnc_value exchanged(firnc_graph *graph, const char *name, uint8_t role, firn_type type) {
    firnc_value value = firnc_value_new(graph, name, role, firnc_scalar(type));
    graph->values[value].persistent = true;
    return value;
}

static void name_result(firnc_graph *graph, firnc_value value, const char *name) {
    graph->values[value].name = name;
    graph->values[value].role = FIRNC_ROLE_RESULT;
    graph->values[value].persistent = true;
}

static bool is_dynamic(const training *t) {
    return t->job->precision.scaling == FIRNC_SCALING_DYNAMIC;
}

static bool is_scaled(const training *t) {
    return is_dynamic(t) ||
           (t->job->precision.scaling == FIRNC_SCALING_STATIC && t->job->precision.initial_loss_scale != 1);
}

static const char *name_of(const training *t, firnc_value value) {
    return t->graph->values[value].name;
}

/* --- micro_batch -------------------------------------------------------------------------------------------------- */

static void seed_loss(const training *t) {
    firnc_graph *graph = t->graph;
    for (uint32_t i = 0; i < graph->node_count; i++) {
        firnc_node *node = &graph->nodes[i];
        if (node->code != FIRN_OP_loss_seed)
            continue;
        node->reals[FIRN_LOSS_SEED_FACTOR] = graph->losses_added ? 1 : 1 / (float)t->micro_batches;
        if (is_scaled(t)) {
            node->inputs[FIRN_LOSS_SEED_IN_SCALE] = graph->loss_scale;
            node->input_count = 1;
        }
    }
}

/* Makes the narrow input of a widening cast the parameter's gradient: every op that reads gradients from here on
 * accepts any real type. The fuse pass removes the cast if it has no other reader. */
static void take_narrow_gradients(const training *t) {
    firnc_graph *graph = t->graph;
    for (uint32_t i = 0; i < t->count; i++) {
        firnc_value_info *parameter = &graph->values[t->parameters[i]];
        firnc_value_info *wide = &graph->values[parameter->gradient];
        const firnc_node *producer = &graph->nodes[wide->producer];
        if (producer->code != FIRN_OP_cast ||
            graph->values[producer->inputs[FIRN_CAST_IN_X]].role == FIRNC_ROLE_GRADIENT)
            continue;
        firnc_value_info *narrow = &graph->values[producer->inputs[FIRN_CAST_IN_X]];
        narrow->name = wide->name;
        wide->name = firnc_format("%s/wide", wide->name);
        narrow->role = FIRNC_ROLE_GRADIENT;
        wide->role = FIRNC_ROLE_ACTIVATION;
        parameter->gradient = producer->inputs[FIRN_CAST_IN_X];
    }
}

/* Adds a tensor in the arena that stays from one micro-batch to the next. */
static firnc_value kept(firnc_graph *graph, const char *name, uint8_t role, firn_shape shape) {
    const firnc_value value = firnc_value_new(graph, name, role, shape);
    graph->values[value].persistent = true;
    return value;
}

/* The levels of the tree of micro-batches below its top, for a value whose sum is `total`; FIRNC_NONE if there are
 * none: the top alone adds two micro-batches. */
static firnc_value levels_below(const training *t, const char *name, firnc_value total) {
    firnc_graph *graph = t->graph;
    firn_shape shape = graph->values[total].shape;
    uint32_t levels = 0;
    for (uint32_t last = t->micro_batches - 1; last > 1; last >>= 1)
        levels++;
    if (levels == 0)
        return FIRNC_NONE;
    shape.dims[0] *= levels;
    return kept(graph, firnc_format("lower.%s", name), graph->values[total].role, shape);
}

/* Adds a value of each micro-batch to `total`: one after the other, or as a tree. */
static void accumulate(const training *t, const char *layer, firnc_value value, firnc_value total) {
    const int64_t integers[] = {[FIRN_ACCUMULATE_TREE_MICRO_BATCHES] = t->micro_batches};
    firnc_value operands[] = {[FIRN_ACCUMULATE_TREE_IN_TOTAL] = total,
                              [FIRN_ACCUMULATE_TREE_IN_G] = value,
                              [FIRN_ACCUMULATE_TREE_IN_LOWER] = FIRNC_NONE};
    if (t->job->tree)
        operands[FIRN_ACCUMULATE_TREE_IN_LOWER] = levels_below(t, name_of(t, value), total);
    const firnc_value outputs[] = {[FIRN_ACCUMULATE_TREE_OUT_TOTAL] = total,
                                   [FIRN_ACCUMULATE_TREE_OUT_LOWER] = operands[FIRN_ACCUMULATE_TREE_IN_LOWER]};
    firnc_node_in_place(t->graph, t->job->tree ? FIRN_OP_accumulate_tree : FIRN_OP_accumulate, FIRNC_PHASE_MICRO_BATCH,
                        layer, operands, t->job->tree ? 3 : 2, t->job->tree ? integers : NULL, NULL, outputs);
}

_Static_assert((int)FIRN_ACCUMULATE_TREE_IN_TOTAL == (int)FIRN_ACCUMULATE_IN_TOTAL &&
                   (int)FIRN_ACCUMULATE_TREE_IN_G == (int)FIRN_ACCUMULATE_IN_G &&
                   (int)FIRN_ACCUMULATE_TREE_OUT_TOTAL == (int)FIRN_ACCUMULATE_OUT_TOTAL,
               "accumulate() serves both ops");

static void accumulate_gradients(const training *t) {
    firnc_graph *graph = t->graph;
    for (uint32_t i = 0; i < t->count; i++) {
        const firnc_value parameter = t->parameters[i], gradient = graph->values[parameter].gradient;
        graph->values[gradient].role = FIRNC_ROLE_ACTIVATION;
        const firnc_value total = kept(graph, firnc_format("total.%s", name_of(t, gradient)), FIRNC_ROLE_GRADIENT,
                                       graph->values[parameter].shape);
        accumulate(t, name_of(t, parameter), gradient, total);
        graph->values[parameter].gradient = total;
    }
}

/* The loss has its place in the tree: the one that the plan names is the sum. The runtime adds losses in order. */
static void accumulate_loss(const training *t) {
    firnc_graph *graph = t->graph;
    const firnc_value loss = graph->loss;
    graph->values[loss].name = "micro_batch.loss";
    graph->loss = kept(graph, "loss", FIRNC_ROLE_RESULT, graph->values[loss].shape);
    accumulate(t, "loss", loss, graph->loss);
}

/* The gradient of a parameter as a phase after the micro-batches reads it: the total, rounded if total_rounded says so.
 */
static firnc_value gradient_in(const training *t, uint8_t phase, firnc_value parameter) {
    firnc_graph *graph = t->graph;
    const firnc_value total = graph->values[parameter].gradient;
    const uint8_t type = (uint8_t)t->job->precision.gradient_type;
    if (!graph->values[parameter].total_rounded)
        return total;
    const uint32_t node =
        firnc_node_new(graph, FIRN_OP_cast, phase, name_of(t, parameter), &total, 1, NULL, NULL, &type);
    const firnc_value rounded = graph->nodes[node].outputs[FIRN_CAST_OUT_Y];
    graph->values[rounded].name = firnc_format("rounded.%s", name_of(t, total));
    graph->values[rounded].role = FIRNC_ROLE_GRADIENT;
    return rounded;
}

/* --- finalise ----------------------------------------------------------------------------------------------------- */

/* Adds a tensor with an element for each gradient, and the ops that fill it, in the order of the parameters' names.
 * inputs: the operands of the op that follow gradient and partial. */
static firnc_value add_partials(const training *t, uint16_t code, const char *name, const firnc_value *inputs,
                                uint8_t count) {
    firnc_graph *graph = t->graph;
    firn_shape shape = {.type = FIRN_FLOAT32, .rank = 1, .dims = {t->count}};
    firnc_value partial = firnc_value_new(graph, name, FIRNC_ROLE_ACTIVATION, shape);
    graph->values[partial].persistent = true; /* each op writes one element */
    for (uint32_t i = 0; i < t->count; i++) {
        int64_t index = i;
        const firnc_value gradient = gradient_in(t, FIRNC_PHASE_FINALISE, t->parameters[i]);
        firnc_value all[FIRN_SUM_OF_SCALED_SQUARES_IN_SCALE + 1] = {
            [FIRN_SUM_OF_SCALED_SQUARES_IN_GRADIENT] = gradient, [FIRN_SUM_OF_SCALED_SQUARES_IN_PARTIAL] = partial};
        memcpy(&all[FIRN_SUM_OF_SCALED_SQUARES_IN_MAGNITUDE], inputs, count * sizeof *inputs);
        firnc_node_in_place(graph, code, FIRNC_PHASE_FINALISE, name_of(t, t->parameters[i]), all,
                            (uint8_t)(FIRN_SUM_OF_SCALED_SQUARES_IN_MAGNITUDE + count), &index, NULL,
                            (firnc_value[]){partial, FIRNC_NONE});
    }
    return partial;
}

_Static_assert((int)FIRN_LARGEST_MAGNITUDE_IN_GRADIENT == (int)FIRN_SUM_OF_SCALED_SQUARES_IN_GRADIENT &&
                   (int)FIRN_LARGEST_MAGNITUDE_IN_PARTIAL == (int)FIRN_SUM_OF_SCALED_SQUARES_IN_PARTIAL,
               "add_partials serves both ops");

static void find_norm(training *t) {
    firnc_graph *graph = t->graph;
    firnc_value largest =
        add_partials(t, FIRN_OP_largest_magnitude, "gradient_magnitude.partial", (firnc_value[]){FIRNC_NONE}, 0);
    uint32_t node = firnc_node_new(graph, FIRN_OP_gradient_magnitude, FIRNC_PHASE_FINALISE, "gradient_magnitude",
                                   &largest, 1, NULL, NULL, (uint8_t[]){FIRN_FLOAT32});
    t->magnitude = graph->nodes[node].outputs[FIRN_GRADIENT_MAGNITUDE_OUT_MAGNITUDE];
    firnc_value partial = add_partials(t, FIRN_OP_sum_of_scaled_squares, "gradient_norm.partial",
                                       (firnc_value[]){t->magnitude, graph->loss_scale}, 2);
    const firnc_value inputs[] = {[FIRN_GRADIENT_NORM_IN_PARTIAL] = partial,
                                  [FIRN_GRADIENT_NORM_IN_MAGNITUDE] = t->magnitude,
                                  [FIRN_GRADIENT_NORM_IN_SCALE] = graph->loss_scale};
    node = firnc_node_new(graph, FIRN_OP_gradient_norm, FIRNC_PHASE_FINALISE, "gradient_norm", inputs, 3, NULL, NULL,
                          (uint8_t[]){FIRN_FLOAT32, FIRN_INT32, FIRN_FLOAT32});
    t->root = graph->nodes[node].outputs[FIRN_GRADIENT_NORM_OUT_ROOT];
    graph->gradient_norm = graph->nodes[node].outputs[FIRN_GRADIENT_NORM_OUT_NORM];
    name_result(graph, graph->gradient_norm, "gradient_norm");
    if (is_dynamic(t)) {
        graph->finite = graph->nodes[node].outputs[FIRN_GRADIENT_NORM_OUT_FINITE];
        name_result(graph, graph->finite, "finite");
    }
}

static void find_factors(training *t) {
    const firnc_precision *precision = &t->job->precision;
    firnc_graph *graph = t->graph;
    firnc_value inputs[] = {[FIRN_GRADIENT_FACTORS_IN_SCALE] = graph->loss_scale,
                            [FIRN_GRADIENT_FACTORS_IN_NORM] = FIRNC_NONE,
                            [FIRN_GRADIENT_FACTORS_IN_ROOT] = FIRNC_NONE,
                            [FIRN_GRADIENT_FACTORS_IN_MAGNITUDE] = FIRNC_NONE};
    if (precision->clipping == FIRN_FB_CLIPPING_NORM) {
        inputs[FIRN_GRADIENT_FACTORS_IN_NORM] = graph->gradient_norm;
        inputs[FIRN_GRADIENT_FACTORS_IN_ROOT] = t->root;
        inputs[FIRN_GRADIENT_FACTORS_IN_MAGNITUDE] = t->magnitude;
    }
    const int64_t integers[] = {[FIRN_GRADIENT_FACTORS_CLIPPING] = precision->clipping};
    uint8_t type = FIRN_FLOAT32;
    uint32_t node = firnc_node_new(graph, FIRN_OP_gradient_factors, FIRNC_PHASE_FINALISE, "gradient_factors", inputs, 4,
                                   integers, &precision->clip_threshold, &type);
    t->factors = graph->nodes[node].outputs[FIRN_GRADIENT_FACTORS_OUT_FACTORS];
}

static void finalise(training *t) {
    const firnc_precision *precision = &t->job->precision;
    if (is_dynamic(t) || precision->clipping == FIRN_FB_CLIPPING_NORM || t->job->gradient_norm)
        find_norm(t);
    if (is_scaled(t) || precision->clipping != FIRN_FB_CLIPPING_NONE)
        find_factors(t);
}

/* --- update ------------------------------------------------------------------------------------------------------- */

static void count_one(firnc_graph *graph, uint8_t phase, firnc_value counter) {
    const int64_t step = 1;
    firnc_node_in_place(graph, FIRN_OP_count, phase, "counters", &counter, 1, &step, NULL, &counter);
}

/* The scalar that receives the value of a schedule. Groups with the same schedule share it. */
static firnc_value scheduled(const training *t, uint32_t root) {
    firnc_value *value = &t->graph->schedules[root];
    if (*value == FIRNC_NONE)
        *value = exchanged(t->graph, t->job->schedule.roots[root].name, FIRNC_ROLE_INPUT, FIRN_FLOAT32);
    return *value;
}

/* The factors of a group: those common to all groups and, if its weight decay is scheduled, that decay as a further
 * element. Groups with the same decay schedule share them. */
static firnc_value factors_of(const training *t, const firnc_group *group) {
    if (group->decay_schedule == FIRNC_NONE)
        return t->factors;
    for (const firnc_group *other = t->graph->groups; other < group; other++)
        if (other->decay_schedule == group->decay_schedule)
            return other->factors;
    const firnc_value inputs[] = {scheduled(t, group->decay_schedule), t->factors};
    uint8_t type = FIRN_FLOAT32;
    uint32_t node = firnc_node_new(t->graph, FIRN_OP_decay_factors, FIRNC_PHASE_UPDATE, "decay_factors", inputs, 2,
                                   NULL, NULL, &type);
    return t->graph->nodes[node].outputs[FIRN_DECAY_FACTORS_OUT_ALL_FACTORS];
}

static void update(const training *t) {
    firnc_graph *graph = t->graph;
    for (uint32_t i = 0; i < graph->group_count; i++) {
        graph->groups[i].learning_rate = scheduled(t, graph->groups[i].rate_schedule);
        graph->groups[i].factors = factors_of(t, &graph->groups[i]);
        firnc_advance_powers(graph, &graph->groups[i]);
    }
    for (uint32_t i = 0; i < t->count; i++) {
        const firnc_value gradient = gradient_in(t, FIRNC_PHASE_UPDATE, t->parameters[i]);
        graph->values[t->parameters[i]].gradient = gradient;
        firnc_update_parameter(graph, &graph->groups[graph->values[t->parameters[i]].group], t->parameters[i]);
    }
    count_one(graph, FIRNC_PHASE_UPDATE, graph->optimizer_step);
}

/* --- bookkeep ----------------------------------------------------------------------------------------------------- */

static void update_loss_scale(const training *t) {
    const firnc_precision *precision = &t->job->precision;
    firnc_graph *graph = t->graph;
    graph->at_floor = exchanged(graph, "at_floor", FIRNC_ROLE_RESULT, FIRN_INT32);
    const firnc_value inputs[] = {[FIRN_LOSS_SCALE_UPDATE_IN_FINITE] = graph->finite,
                                  [FIRN_LOSS_SCALE_UPDATE_IN_SCALE] = graph->loss_scale,
                                  [FIRN_LOSS_SCALE_UPDATE_IN_STEPS] = graph->steps_since_rescale,
                                  [FIRN_LOSS_SCALE_UPDATE_IN_OVERFLOWS] = graph->overflows_since_rescale,
                                  [FIRN_LOSS_SCALE_UPDATE_IN_SKIPPED] = graph->skipped_steps};
    const firnc_value outputs[] = {[FIRN_LOSS_SCALE_UPDATE_OUT_SCALE] = graph->loss_scale,
                                   [FIRN_LOSS_SCALE_UPDATE_OUT_STEPS] = graph->steps_since_rescale,
                                   [FIRN_LOSS_SCALE_UPDATE_OUT_OVERFLOWS] = graph->overflows_since_rescale,
                                   [FIRN_LOSS_SCALE_UPDATE_OUT_SKIPPED] = graph->skipped_steps,
                                   [FIRN_LOSS_SCALE_UPDATE_OUT_AT_FLOOR] = graph->at_floor};
    const int64_t steps = (int64_t)precision->steps_per_increase;
    const float reals[] = {[FIRN_LOSS_SCALE_UPDATE_MINIMUM] = precision->min_loss_scale,
                           [FIRN_LOSS_SCALE_UPDATE_MAXIMUM] = precision->max_loss_scale,
                           [FIRN_LOSS_SCALE_UPDATE_OVERFLOW_TOLERANCE] = precision->overflow_tolerance};
    uint32_t node = firnc_node_in_place(graph, FIRN_OP_loss_scale_update, FIRNC_PHASE_BOOKKEEP, "scaler", inputs, 5,
                                        &steps, reals, outputs);
    graph->values[graph->at_floor].producer = node;
}

/* --- the pass ----------------------------------------------------------------------------------------------------- */

static void add_state(const training *t) {
    firnc_graph *graph = t->graph;
    graph->global_step = firnc_counter_new(graph, "counters.global_step");
    graph->optimizer_step = firnc_counter_new(graph, "counters.optimizer_step");
    graph->cursor = firnc_counter_new(graph, "counters.cursor");
    if (is_scaled(t))
        graph->loss_scale = firnc_state_new(graph, "scaler.loss_scale", FIRNC_ROLE_OPTIMIZER_STATE,
                                            firnc_scalar(FIRN_FLOAT32), t->job->precision.initial_loss_scale);
    if (is_dynamic(t)) {
        graph->steps_since_rescale = firnc_counter_new(graph, "scaler.steps_since_rescale");
        graph->overflows_since_rescale = firnc_counter_new(graph, "scaler.overflows_since_rescale");
        graph->skipped_steps = firnc_counter_new(graph, "scaler.num_skipped_steps");
    }
}

bool firnc_add_training(firnc_compilation *compilation) {
    firnc_graph *graph = compilation->graph;
    if (graph->eval)
        return firnc_add_metric(compilation);
    const firnc_data *data = &compilation->job->data;
    training t = {.graph = graph,
                  .job = compilation->job,
                  .micro_batches = data->batch_size / data->micro_batch_size,
                  .magnitude = FIRNC_NONE,
                  .root = FIRNC_NONE,
                  .factors = FIRNC_NONE};
    t.count = firnc_sorted_values(graph, firnc_is_parameter, &t.parameters);

    graph->schedules = firnc_allocate((t.job->schedule.root_count + UINT64_C(1)) * sizeof *graph->schedules);
    for (uint32_t i = 0; i < t.job->schedule.root_count; i++)
        graph->schedules[i] = FIRNC_NONE;
    add_state(&t);
    const bool tree = t.job->tree && t.micro_batches > 1;
    if (!tree)
        name_result(graph, graph->loss, "loss");
    if (!firnc_count_batch(compilation))
        return false;
    seed_loss(&t);
    if (tree)
        accumulate_loss(&t);
    take_narrow_gradients(&t);
    if (t.micro_batches > 1)
        accumulate_gradients(&t);
    if (!firnc_group_parameters(compilation, t.parameters, t.count))
        return false;
    firnc_value *next = firnc_allocate((graph->statistics_count + UINT64_C(1)) * sizeof *next);
    if (!firnc_advance_statistics(compilation, next))
        return false;
    finalise(&t);
    update(&t);
    firnc_store_statistics(graph, next);
    if (is_dynamic(&t))
        update_loss_scale(&t);
    count_one(graph, FIRNC_PHASE_BOOKKEEP, graph->global_step);
    return true;
}
