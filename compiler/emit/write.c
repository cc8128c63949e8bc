/* Writes the payload of a plan. In: the graph after all passes, and the job. Out: the FlatBuffers part, then the
 * constants segment (weights) at the next multiple of 64. The same graph and job give the same bytes. This file makes
 * no decisions about the run; plan.fbs defines the fields. */
#include "compiler/emit/write.h"

#include <stdlib.h>
#include <string.h>

#include "compiler/base/words.h"
#include "compiler/emit/weights.h"
#include "compiler/firnc.h"
#include "plan/container.h"
#include "plan/generated/writer.h"

#define REGION_ALIGNMENT 64

typedef struct writing {
    const firnc_compilation *compilation;
    const firnc_job *job;
    const firnc_graph *graph;
    uint32_t *index_of;  /* for each value, the index of its tensor in the plan, or FIRNC_NONE */
    firnc_value *values; /* for each tensor, its value */
    uint32_t tensors, state_tensors;
    uint8_t *constants;
    uint64_t constants_bytes;
} writing;

static uint32_t tensor_of(const writing *w, firnc_value value) {
    return value == FIRNC_NONE ? FIRNC_NONE : w->index_of[value];
}

static uint64_t rounded_up(uint64_t bytes, uint64_t alignment) {
    return (bytes + (alignment - 1)) / alignment * alignment;
}

/* --- tensors and regions ------------------------------------------------------------------------------------------ */

/* Numbers the tensors of the plan: state sorted by name, then every arena tensor that an op uses. */
static void number_tensors(writing *w) {
    const firnc_graph *graph = w->graph;
    firnc_value *state;
    w->state_tensors = firnc_sorted_values(graph, firnc_is_state, &state);
    w->index_of = firnc_allocate(graph->value_count * sizeof *w->index_of);
    w->values = firnc_allocate(graph->value_count * sizeof *w->values);
    for (firnc_value i = 0; i < graph->value_count; i++)
        w->index_of[i] = FIRNC_NONE;
    for (uint32_t i = 0; i < w->state_tensors; i++)
        w->values[w->tensors++] = state[i];
    for (firnc_value i = 0; i < graph->value_count; i++)
        if (!firnc_is_state(graph->values[i].role) && graph->values[i].first != FIRNC_NONE)
            w->values[w->tensors++] = i;
    for (uint32_t i = 0; i < w->tensors; i++)
        w->index_of[w->values[i]] = i;
}

static const firn_native_tensor *make_tensors(const writing *w) {
    firn_native_tensor *tensors = firnc_allocate(w->tensors * sizeof *tensors);
    for (uint32_t i = 0; i < w->tensors; i++) {
        const firnc_value_info *value = &w->graph->values[w->values[i]];
        tensors[i] = (firn_native_tensor){.name = value->name,
                                          .type = value->shape.type,
                                          .role = value->role,
                                          .region = value->region,
                                          .offset = value->offset,
                                          .dims = value->shape.dims,
                                          .dims_count = value->shape.rank,
                                          .first = value->first,
                                          .last = value->last};
    }
    return tensors;
}

/* Region i has RegionKind i. Without constants their region is absent. */
static void fill_regions(const writing *w, firn_native_plan *plan) {
    firn_native_region *regions = firnc_allocate(3 * sizeof *regions);
    const uint64_t bytes[] = {w->graph->state_bytes, w->graph->arena_bytes, w->constants_bytes};
    plan->regions_count = w->constants_bytes > 0 ? 3 : 2;
    for (uint32_t i = 0; i < plan->regions_count; i++)
        regions[i] = (firn_native_region){.kind = (uint8_t)i, .bytes = bytes[i], .alignment = REGION_ALIGNMENT};
    plan->regions = regions;
}

/* --- ops ---------------------------------------------------------------------------------------------------------- */

static const uint32_t *tensors_of(const writing *w, const firnc_value *values, uint8_t count) {
    uint32_t *tensors = firnc_allocate(count * sizeof *tensors);
    for (uint8_t i = 0; i < count; i++)
        tensors[i] = tensor_of(w, values[i]);
    return tensors;
}

static const firn_fb_reduction *make_reductions(const firnc_node *node, uint8_t count) {
    firn_fb_reduction *reductions = firnc_allocate(count * sizeof *reductions);
    for (uint8_t i = 0; i < count; i++)
        reductions[i] = (firn_fb_reduction){.kind = node->reductions[i].kind,
                                            .accumulator = node->reductions[i].accumulator,
                                            .output = node->reductions[i].output,
                                            .chunk = node->reductions[i].chunk};
    return reductions;
}

static firn_native_op make_op(const writing *w, const firnc_node *node) {
    const firn_op_info *info = firn_op_find(node->code);
    return (firn_native_op){.code = node->code,
                            .name = node->name,
                            .inputs = tensors_of(w, node->inputs, node->input_count),
                            .inputs_count = node->input_count,
                            .outputs = tensors_of(w, node->outputs, node->output_count),
                            .outputs_count = node->output_count,
                            .integers = node->integers,
                            .integers_count = firn_op_given_integers(info, node->integers),
                            .reals = node->reals,
                            .reals_count = firn_op_given_reals(info, node->reals),
                            .reductions = make_reductions(node, info->reductions),
                            .reductions_count = info->reductions,
                            .pol_present = info->pol != FIRN_POL_none,
                            .pol = {.level = node->level, .origin = node->origin}};
}

/* A phase without ops is absent from the plan. */
static void fill_phases(const writing *w, firn_native_plan *plan) {
    const firnc_graph *graph = w->graph;
    firn_native_op *ops = firnc_allocate(graph->node_count * sizeof *ops);
    firn_native_phase *phases = firnc_allocate((FIRNC_PHASE_EVALUATE + 1) * sizeof *phases);
    for (uint32_t i = 0; i < graph->node_count; i++) {
        ops[i] = make_op(w, &graph->nodes[i]);
        uint8_t kind = graph->nodes[i].phase;
        if (plan->phases_count == 0 || phases[plan->phases_count - 1].kind != kind)
            phases[plan->phases_count++] = (firn_native_phase){.kind = kind, .ops = &ops[i]};
        phases[plan->phases_count - 1].ops_count++;
    }
    plan->phases = phases;
}

/* --- data --------------------------------------------------------------------------------------------------------- */

/* Inputs are in build order. Each is read by an op (fuse.c). */
static void fill_inputs(const writing *w, firn_native_plan *plan) {
    const firnc_graph *graph = w->graph;
    firn_native_input *inputs = firnc_allocate(graph->value_count * sizeof *inputs);
    for (firnc_value i = 0; i < graph->value_count; i++) {
        const firnc_input_options *source = graph->values[i].source;
        if (source == NULL)
            continue;
        inputs[plan->inputs_count++] = (firn_native_input){.name = graph->values[i].name,
                                                           .tensor = tensor_of(w, i),
                                                           .stream = source->stream,
                                                           .element = (uint8_t)source->element,
                                                           .advance = source->advance,
                                                           .limit = source->limit,
                                                           .scale = source->scale,
                                                           .shift = source->shift};
    }
    plan->inputs = inputs;
}

static void fill_sampler(const writing *w, firn_native_plan *plan) {
    const firnc_data *data = &w->job->data;
    uint8_t part = FIRN_FB_DATA_PART_ALL;
    if (data->held_out_per_mille > 0)
        part = data->held_out ? FIRN_FB_DATA_PART_HELD_OUT : FIRN_FB_DATA_PART_TRAIN;
    firn_native_sampler *sampler = firnc_allocate(sizeof *sampler);
    *sampler = (firn_native_sampler){
        .kind = data->shuffle ? FIRN_FB_SAMPLER_KIND_PERMUTATION : FIRN_FB_SAMPLER_KIND_SEQUENTIAL,
        .unit = data->window != 0 ? FIRN_FB_SAMPLE_UNIT_WINDOW : FIRN_FB_SAMPLE_UNIT_RECORD,
        .part = part,
        .epoch_end = data->wrap ? FIRN_FB_EPOCH_END_WRAP : FIRN_FB_EPOCH_END_STOP,
        .window = data->window,
        .stride = data->stride,
        .samples = data->micro_batch_size,
        .held_out_per_mille = data->held_out_per_mille,
        .seed = data->shuffle ? data->shuffle_seed : 0,
        .cursor = tensor_of(w, w->graph->cursor)};
    plan->sampler = sampler;
}

static void fill_outputs(const writing *w, firn_native_plan *plan) {
    firn_native_output *outputs = firnc_allocate(sizeof *outputs);
    outputs[0] = (firn_native_output){.name = "loss", .tensor = tensor_of(w, w->graph->loss)};
    plan->outputs = outputs;
    plan->outputs_count = 1;
}

/* --- optimizer ---------------------------------------------------------------------------------------------------- */

/* The numbers and instructions that schedule nodes refer to by index. */
static void fill_schedule_lists(const writing *w, firn_native_plan *plan) {
    firn_schedule_list list = firnc_job_schedules(w->job);
    firn_fb_schedule_number *numbers = firnc_allocate((list.number_count + 1) * sizeof *numbers);
    firn_fb_schedule_instruction *instructions = firnc_allocate((list.instruction_count + 1) * sizeof *instructions);
    for (uint32_t i = 0; i < list.number_count; i++)
        numbers[i].value = list.numbers[i];
    for (uint32_t i = 0; i < list.instruction_count; i++)
        instructions[i] = (firn_fb_schedule_instruction){.operation = list.instructions[i].operation,
                                                         .value = list.instructions[i].value};
    plan->schedule_numbers = numbers;
    plan->schedule_numbers_count = list.number_count;
    plan->schedule_instructions = instructions;
    plan->schedule_instructions_count = list.instruction_count;
}

static void fill_schedules(const writing *w, firn_native_plan *plan) {
    uint32_t count = w->job->schedule.count;
    firn_fb_schedule_node *nodes = firnc_allocate(count * sizeof *nodes);
    for (uint32_t i = 0; i < count; i++) {
        const firn_schedule_node *node = &w->job->schedule.nodes[i];
        nodes[i] = (firn_fb_schedule_node){.kind = node->kind,
                                           .mode = node->mode,
                                           .first_child = node->first_child,
                                           .child_count = node->child_count,
                                           .total = node->total,
                                           .start = node->start,
                                           .auxiliary = node->auxiliary,
                                           .initial = node->initial,
                                           .final = node->final,
                                           .rate = node->rate,
                                           .power = node->power};
    }
    firn_native_schedule *schedules = firnc_allocate(w->job->schedule.root_count * sizeof *schedules);
    for (uint32_t i = 0; i < w->job->schedule.root_count; i++) {
        const firnc_schedule_root *root = &w->job->schedule.roots[i];
        if (w->graph->schedules[i] != FIRNC_NONE)
            schedules[plan->schedules_count++] = (firn_native_schedule){
                .name = root->name,
                .key = root->weight_decay ? FIRN_FB_SCHEDULE_KEY_WEIGHT_DECAY : FIRN_FB_SCHEDULE_KEY_LEARNING_RATE,
                .root = root->node,
                .tensor = tensor_of(w, w->graph->schedules[i])};
    }
    fill_schedule_lists(w, plan);
    plan->schedule_nodes = nodes;
    plan->schedule_nodes_count = count;
    plan->schedules = schedules;
}

/* The index in the plan of a schedule root of the job. Roots that no group uses are absent from the plan. */
static uint32_t schedule_of(const writing *w, uint32_t root) {
    uint32_t place = 0;
    if (root == FIRNC_NONE)
        return FIRNC_NONE;
    for (uint32_t i = 0; i < root; i++)
        place += w->graph->schedules[i] != FIRNC_NONE;
    return place;
}

static void fill_groups(const writing *w, firn_native_plan *plan) {
    const firnc_graph *graph = w->graph;
    firn_native_parameter_group *groups = firnc_allocate(graph->group_count * sizeof *groups);
    for (uint32_t i = 0; i < graph->group_count; i++) {
        const firnc_group *group = &graph->groups[i];
        uint32_t *parameters = firnc_allocate(group->parameter_count * sizeof *parameters);
        for (uint32_t p = 0; p < group->parameter_count; p++)
            parameters[p] = tensor_of(w, group->parameters[p]);
        groups[i] = (firn_native_parameter_group){.name = group->name,
                                                  .optimizer = firnc_optimizer_word(group->settings.kind),
                                                  .schedule = schedule_of(w, group->rate_schedule),
                                                  .weight_decay = group->settings.weight_decay,
                                                  .decay_schedule = schedule_of(w, group->decay_schedule),
                                                  .parameters = parameters,
                                                  .parameters_count = group->parameter_count};
    }
    plan->groups = groups;
    plan->groups_count = graph->group_count;
}

static void fill_scaling(const writing *w, firn_native_plan *plan) {
    const firnc_graph *graph = w->graph;
    const firnc_precision *precision = &w->job->precision;
    plan->clipping = precision->clipping;
    plan->clip_threshold = precision->clip_threshold;
    if (graph->loss_scale == FIRNC_NONE)
        return;
    firn_native_loss_scaler *scaler = firnc_allocate(sizeof *scaler);
    *scaler = (firn_native_loss_scaler){.kind = precision->scaling,
                                        .scale = tensor_of(w, graph->loss_scale),
                                        .steps_since_rescale = tensor_of(w, graph->steps_since_rescale),
                                        .overflows_since_rescale = tensor_of(w, graph->overflows_since_rescale),
                                        .skipped_steps = tensor_of(w, graph->skipped_steps),
                                        .at_floor = tensor_of(w, graph->at_floor)};
    plan->loss_scaler = scaler;
}

/* --- initial values and weights ----------------------------------------------------------------------------------- */

/* Copies every parameter from the file to the constants segment. */
static bool copy_weights(const writing *w, const firnc_weights *weights, const uint64_t *offsets) {
    const char **names = firnc_allocate(w->state_tensors * sizeof *names);
    uint32_t count = 0;
    for (uint32_t i = 0; i < w->state_tensors; i++) {
        const firnc_value_info *value = &w->graph->values[w->values[i]];
        if (value->role != FIRNC_ROLE_PARAMETER)
            continue;
        names[count++] = value->name;
        if (!firnc_weights_read(w->compilation, weights, value->name, &value->shape, w->constants + offsets[i]))
            return false;
    }
    firnc_weights_warn_extra(w->compilation, weights, names, count);
    return true;
}

/* Lays out the constants segment, the parameters in the order of their names, each at a multiple of 64, and fills
 * it. */
static bool read_weights(writing *w, uint64_t *offsets) {
    for (uint32_t i = 0; i < w->state_tensors; i++) {
        const firnc_value_info *value = &w->graph->values[w->values[i]];
        uint64_t bytes;
        if (value->role != FIRNC_ROLE_PARAMETER || !firn_shape_bytes(&value->shape, &bytes))
            continue;
        offsets[i] = w->constants_bytes;
        w->constants_bytes += rounded_up(bytes, FIRN_PAYLOAD_ALIGNMENT);
    }
    w->constants = firnc_allocate(w->constants_bytes);
    firnc_weights *weights = firnc_weights_open(w->compilation);
    const bool good = weights != NULL && copy_weights(w, weights, offsets);
    firnc_weights_close(weights);
    return good;
}

static bool fill_initialisers(writing *w, firn_native_plan *plan) {
    static const uint8_t rules[] = {[FIRNC_INIT_CONSTANT] = FIRN_FB_INITIALISER_RULE_CONSTANT,
                                    [FIRNC_INIT_NORMAL] = FIRN_FB_INITIALISER_RULE_NORMAL,
                                    [FIRNC_INIT_UNIFORM] = FIRN_FB_INITIALISER_RULE_UNIFORM};
    bool with_weights = w->job->weights != NULL;
    uint64_t *offsets = firnc_allocate(w->state_tensors * sizeof *offsets);
    if (with_weights && !read_weights(w, offsets))
        return false;
    firn_native_initialiser *initialisers = firnc_allocate(w->state_tensors * sizeof *initialisers);
    for (uint32_t i = 0; i < w->state_tensors; i++) {
        const firnc_value_info *value = &w->graph->values[w->values[i]];
        if (with_weights && value->role == FIRNC_ROLE_PARAMETER)
            initialisers[i] =
                (firn_native_initialiser){.tensor = i, .rule = FIRN_FB_INITIALISER_RULE_WEIGHTS, .weights = offsets[i]};
        else
            initialisers[i] = (firn_native_initialiser){.tensor = i,
                                                        .rule = rules[value->init.rule],
                                                        .rng_id = value->rng_id,
                                                        .a = value->init.a,
                                                        .b = value->init.b};
    }
    plan->initialisers = initialisers;
    plan->initialisers_count = w->state_tensors;
    return true;
}

/* --- the plan ----------------------------------------------------------------------------------------------------- */

static void fill_metric(const writing *w, firn_native_plan *plan) {
    const firnc_job *job = w->job;
    firn_native_metric *metric = firnc_allocate(sizeof *metric);
    *metric = (firn_native_metric){.kind = w->graph->metric_kind,
                                   .sum = tensor_of(w, w->graph->metric_sum),
                                   .count = tensor_of(w, w->graph->metric_count),
                                   .beta = job->metric_beta,
                                   .ignore_classes = job->metric_ignored,
                                   .ignore_classes_count = job->metric_ignored_count};
    plan->metric = metric;
}

static bool fill_plan(writing *w, firn_native_plan *plan) {
    const firnc_job *job = w->job;
    const firnc_graph *graph = w->graph;
    number_tensors(w);
    *plan = (firn_native_plan){.numerics_version = FIRN_NUMERICS_VERSION,
                               .mode = graph->eval ? FIRN_FB_MODE_EVAL : FIRN_FB_MODE_TRAIN,
                               .pol_lowering =
                                   job->precision.emulate ? FIRN_FB_POL_LOWERING_EMULATE : FIRN_FB_POL_LOWERING_NATIVE,
                               .micro_batch_order = FIRN_FB_MICRO_BATCH_ORDER_SEQUENTIAL,
                               .check_loss = job->check_loss,
                               .micro_batches = graph->eval ? 1 : job->data.batch_size / job->data.micro_batch_size,
                               .seed = job->seed,
                               .steps = job->steps,
                               .model = graph->model,
                               .compiler = "firnc " FIRNC_VERSION,
                               .target = w->job->target,
                               .tensors = make_tensors(w),
                               .tensors_count = w->tensors,
                               .state_tensors = w->state_tensors,
                               .global_step = tensor_of(w, graph->global_step),
                               .optimizer_step = tensor_of(w, graph->optimizer_step),
                               .finite = tensor_of(w, graph->finite),
                               .gradient_norm = tensor_of(w, graph->gradient_norm)};
    fill_phases(w, plan);
    fill_inputs(w, plan);
    fill_outputs(w, plan);
    fill_sampler(w, plan);
    if (!fill_initialisers(w, plan))
        return false;
    fill_regions(w, plan);
    if (graph->eval) {
        fill_metric(w, plan);
    } else {
        fill_schedules(w, plan);
        fill_groups(w, plan);
        fill_scaling(w, plan);
    }
    return true;
}

bool firnc_write_payload(const firnc_compilation *compilation, firnc_payload *payload) {
    writing w = {.compilation = compilation, .job = compilation->job, .graph = compilation->graph};
    firn_native_plan plan;
    if (!fill_plan(&w, &plan))
        return false;
    size_t bytes;
    uint8_t *flatbuffers = firn_native_write(&plan, &bytes);
    if (flatbuffers == NULL)
        return firnc_fail(
            compilation,
            "the model exceeds a limit of a plan: 65,536 tensors or ops, 8 inputs, names of 200 bytes, 2 GiB");
    payload->flatbuffers_bytes = bytes;
    payload->ops = w.graph->node_count;
    payload->tensors = plan.tensors_count;
    payload->state_tensors = plan.state_tensors;
    payload->constants_offset = rounded_up(bytes, FIRN_PAYLOAD_ALIGNMENT);
    payload->constants_bytes = w.constants_bytes;
    payload->total_bytes = payload->constants_offset + payload->constants_bytes;
    payload->bytes = firnc_allocate(payload->total_bytes);
    memcpy(payload->bytes, flatbuffers, bytes);
    if (w.constants_bytes > 0)
        memcpy(payload->bytes + payload->constants_offset, w.constants, (size_t)w.constants_bytes);
    free(flatbuffers);
    return true;
}
