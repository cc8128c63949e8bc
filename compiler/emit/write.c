/* Writes the payload of a plan. In: the graph after all passes, and the job. Out: the FlatBuffers part, then the
 * constants segment (constants, then initial weights) at the next multiple of 64. The same graph and job give the same
 * bytes. This file makes no decisions about the run; plan.fbs defines the fields. */
#include "compiler/emit/write.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/base/landing.h"
#include "compiler/base/words.h"
#include "compiler/emit/constants.h"
#include "compiler/emit/continue.h"
#include "compiler/firnc.h"
#include "plan/bytes.h"
#include "plan/container.h"
#include "plan/generated/writer.h"

typedef struct writing {
    const firnc_compilation *compilation;
    const firnc_job *job;
    const firnc_graph *graph;
    uint32_t *index_of;  /* for each value, the index of its tensor in the plan, or FIRNC_NONE */
    firnc_value *values; /* for each tensor, its value */
    uint32_t tensors, state_tensors;
    firnc_constants constants;
} writing;

static uint32_t tensor_of(const writing *w, firnc_value value) {
    return value == FIRNC_NONE ? FIRNC_NONE : w->index_of[value];
}

/* --- tensors and regions ------------------------------------------------------------------------------------------ */

/* Only state, frozen weights and statistics have their names in the plan; the names of all others are in the report. */
static bool has_name(const firnc_value_info *value) {
    return firnc_is_state_value(value) || firnc_is_kept(value->role);
}

/* Numbers the tensors of the plan: state sorted by name, frozen weights likewise, then every other tensor and every
 * view that an op uses. */
static void number_tensors(writing *w) {
    const firnc_graph *graph = w->graph;
    firnc_value *state, *frozen;
    w->state_tensors = firnc_sorted_values(graph, firnc_is_state, &state);
    const uint32_t frozen_tensors = firnc_sorted_values(graph, firnc_is_kept, &frozen);
    w->index_of = firnc_allocate(graph->value_count * sizeof *w->index_of);
    w->values = firnc_allocate(graph->value_count * sizeof *w->values);
    for (firnc_value i = 0; i < graph->value_count; i++)
        w->index_of[i] = FIRNC_NONE;
    for (uint32_t i = 0; i < w->state_tensors; i++)
        w->values[w->tensors++] = state[i];
    for (uint32_t i = 0; i < frozen_tensors; i++)
        w->values[w->tensors++] = frozen[i];
    for (firnc_value i = 0; i < graph->value_count; i++)
        if (!has_name(&graph->values[i]) && graph->values[i].first != FIRNC_NONE)
            w->values[w->tensors++] = i;
    for (uint32_t i = 0; i < w->tensors; i++)
        w->index_of[w->values[i]] = i;
}

/* Memory that an op works in and leaves without a result is scratch (plan/ops.def). */
static uint8_t role_of(const writing *w, firnc_value value) {
    const firnc_value_info *info = &w->graph->values[value];
    if (info->role == FIRNC_ROLE_STATISTIC)
        return FIRNC_ROLE_FROZEN;
    if (firnc_is_state(info->role) || info->producer == FIRNC_NONE)
        return info->role;
    const firnc_node *node = &w->graph->nodes[info->producer];
    for (uint8_t j = 0; j < node->output_count; j++)
        if (node->outputs[j] == value && firn_op_output(firn_op_find(node->code), j)->scratch)
            return FIRNC_ROLE_SCRATCH;
    return info->role;
}

/* The index in the header of a region of a kind: those that the plan has, by ascending kind. */
static uint8_t region_of(const writing *w, uint8_t kind) {
    uint8_t index = 0;
    for (uint8_t i = 0; i < kind; i++)
        index = (uint8_t)(index + (w->graph->region_bytes[i] != 0));
    return index;
}

static const firn_native_tensor *make_tensors(const writing *w) {
    firn_native_tensor *tensors = firnc_allocate(w->tensors * sizeof *tensors);
    for (uint32_t i = 0; i < w->tensors; i++) {
        const firnc_value_info *value = &w->graph->values[w->values[i]];
        tensors[i] = (firn_native_tensor){.name = has_name(value) ? value->name : NULL,
                                          .type = value->shape.type,
                                          .role = role_of(w, w->values[i]),
                                          .region = region_of(w, value->region),
                                          .offset = value->offset,
                                          .dims = value->shape.dims,
                                          .dims_count = value->shape.rank,
                                          .first = value->first,
                                          .last = value->last,
                                          .base = tensor_of(w, value->base)};
    }
    return tensors;
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
                            .inputs = tensors_of(w, node->inputs, node->input_count),
                            .inputs_count = node->input_count,
                            .outputs = tensors_of(w, node->outputs, node->output_count),
                            .outputs_count = node->output_count,
                            .integers = node->integers,
                            .integers_count = firn_op_given_integers(info, node->integers),
                            .reals = node->reals,
                            .reals_count = firn_op_given_reals(info, node->reals),
                            .reductions = make_reductions(node, info->reductions),
                            .reductions_count = info->reductions};
}

/* A phase without ops is absent from the plan. */
static void fill_phases(const writing *w, firn_native_plan *plan) {
    const firnc_graph *graph = w->graph;
    firn_native_op *ops = firnc_allocate(graph->node_count * sizeof *ops);
    /* the phase `count` is the kind with the largest number */
    firn_native_phase *phases = firnc_allocate((FIRNC_PHASE_COUNT + 1) * sizeof *phases);
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

/* Whether an input says what is right: the judge of the loss and the metric, not what the model sees. */
static bool is_label(const firnc_graph *graph, firnc_value input) {
    return input == graph->labels || input == graph->target || input == graph->row_weights ||
           input == graph->score_targets;
}

static uint32_t ring_of(const writing *w, uint8_t stream) {
    return stream < w->graph->ring_count ? tensor_of(w, w->graph->rings[stream]) : FIRN_ABSENT;
}

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
                                                           .shift = source->shift,
                                                           .label = is_label(graph, i),
                                                           .ring = ring_of(w, source->stream)};
    }
    plan->inputs = inputs;
}

static uint8_t epoch_end_of(const writing *w) {
    if (w->graph->counted != FIRNC_NONE)
        return FIRN_FB_EPOCH_END_SHORT;
    return w->job->data.wrap ? FIRN_FB_EPOCH_END_WRAP : FIRN_FB_EPOCH_END_STOP;
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
        .epoch_end = epoch_end_of(w),
        .window = data->window,
        .stride = data->stride,
        .samples = data->micro_batch_size,
        .held_out_per_mille = data->held_out_per_mille,
        .seed = data->shuffle ? data->shuffle_seed : 0,
        .cursor = tensor_of(w, w->graph->cursor),
        .pushed = tensor_of(w, w->graph->pushed),
        .counted = tensor_of(w, w->graph->counted)};
    plan->sampler = sampler;
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
            schedules[plan->schedules_count++] =
                (firn_native_schedule){.root = root->node, .tensor = tensor_of(w, w->graph->schedules[i])};
    }
    fill_schedule_lists(w, plan);
    plan->schedule_nodes = nodes;
    plan->schedule_nodes_count = count;
    plan->schedules = schedules;
}

/* --- initial values and weights ----------------------------------------------------------------------------------- */

/* The initial value that the graph gives to state. */
static firn_native_initialiser make_initialiser(const firnc_value_info *value) {
    static const uint8_t rules[] = {[FIRNC_INIT_CONSTANT] = FIRN_FB_INITIALISER_RULE_CONSTANT,
                                    [FIRNC_INIT_NORMAL] = FIRN_FB_INITIALISER_RULE_NORMAL,
                                    [FIRNC_INIT_UNIFORM] = FIRN_FB_INITIALISER_RULE_UNIFORM,
                                    [FIRNC_INIT_TRUNCATED_NORMAL] = FIRN_FB_INITIALISER_RULE_TRUNCATED_NORMAL};
    if (value->shape.type == FIRN_INT64)
        return (firn_native_initialiser){.integer = value->integer};
    return (firn_native_initialiser){.rule = rules[value->init.rule],
                                     .rng_id = value->rng_id,
                                     .a = value->init.a,
                                     .b = value->init.b,
                                     .low = value->init.low,
                                     .high = value->init.high};
}

static void fill_initialisers(const writing *w, firn_native_plan *plan) {
    firn_native_initialiser *initialisers = firnc_allocate(w->state_tensors * sizeof *initialisers);
    for (uint32_t i = 0; i < w->state_tensors; i++) {
        const firnc_value_info *value = &w->graph->values[w->values[i]];
        const uint64_t offset = w->constants.weights[w->values[i]];
        if (offset == FIRNC_NOT_THERE)
            initialisers[i] = make_initialiser(value);
        else
            initialisers[i] = (firn_native_initialiser){.rule = FIRN_FB_INITIALISER_RULE_WEIGHTS, .weights = offset};
    }
    plan->initialisers = initialisers;
    plan->initialisers_count = w->state_tensors;
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
    plan->metrics = metric;
    plan->metrics_count = 1;
}

static void fill_outputs(const writing *w, firn_native_plan *plan) {
    const firnc_graph *graph = w->graph;
    firn_native_output *outputs = firnc_allocate((graph->output_count + UINT64_C(1)) * sizeof *outputs);
    for (uint32_t i = 0; i < graph->output_count; i++)
        outputs[i] = (firn_native_output){.name = w->job->outputs[i].name, .tensor = tensor_of(w, graph->outputs[i])};
    plan->outputs = outputs;
    plan->outputs_count = graph->output_count;
}

static uint32_t micro_batches_of(const writing *w) {
    return w->graph->eval ? 1 : w->job->data.batch_size / w->job->data.micro_batch_size;
}

static void fill_plan(writing *w, firn_native_plan *plan) {
    const firnc_job *job = w->job;
    const firnc_graph *graph = w->graph;
    number_tensors(w);
    *plan = (firn_native_plan){.numerics_version = FIRN_NUMERICS_VERSION,
                               .micro_batch_order = job->tree && micro_batches_of(w) > 1
                                                        ? FIRN_FB_MICRO_BATCH_ORDER_TREE
                                                        : FIRN_FB_MICRO_BATCH_ORDER_SEQUENTIAL,
                               .check_loss = job->check_loss && graph->loss != FIRNC_NONE,
                               .micro_batches = micro_batches_of(w),
                               .seed = job->seed,
                               .steps = job->steps,
                               .tensors = make_tensors(w),
                               .tensors_count = w->tensors,
                               .state_tensors = w->state_tensors,
                               .loss = tensor_of(w, graph->loss),
                               .learning_rate = FIRN_ABSENT,
                               .loss_scale = tensor_of(w, graph->loss_scale),
                               .at_floor = tensor_of(w, graph->at_floor),
                               .global_step = tensor_of(w, graph->global_step),
                               .optimizer_step = tensor_of(w, graph->optimizer_step),
                               .finite = tensor_of(w, graph->finite),
                               .gradient_norm = tensor_of(w, graph->gradient_norm),
                               .losses_added = graph->losses_added};
    if (w->compilation->continued != NULL && !graph->eval) {
        plan->origin = w->compilation->continued->run.header.run_hash;
        plan->origin_count = FIRN_HASH_BYTES;
    }
    if (job->tokenizer != NULL) {
        plan->tokenizer = job->tokenizer;
        plan->tokenizer_count = FIRN_HASH_BYTES;
    }
    fill_phases(w, plan);
    fill_inputs(w, plan);
    fill_sampler(w, plan);
    fill_initialisers(w, plan);
    fill_outputs(w, plan);
    if (graph->eval && firnc_job_judges(job)) {
        fill_metric(w, plan);
    } else if (!graph->eval) {
        fill_schedules(w, plan);
        plan->learning_rate = tensor_of(w, graph->groups[0].learning_rate);
    }
}

bool firnc_write_payload_again(const firnc_compilation *compilation, firnc_payload *payload) {
    writing w = {.compilation = compilation,
                 .job = compilation->job,
                 .graph = compilation->graph,
                 .constants = payload->constants};
    firn_native_plan plan;
    fill_plan(&w, &plan);
    size_t bytes;
    errno = 0;
    uint8_t *flatbuffers = firn_native_write(&plan, &bytes);
    if (flatbuffers == NULL && errno == ENOMEM)
        firnc_out_of_memory(0);
    if (flatbuffers == NULL)
        return firnc_fail(compilation, "the model exceeds a limit of a plan: 65,536 tensors or ops, 64 inputs, names "
                                       "of 200 bytes, 2 GiB; use fewer or smaller layers");
    firnc_hold(free, flatbuffers);
    payload->flatbuffers_bytes = bytes;
    payload->tensors = w.values;
    payload->tensor_count = plan.tensors_count;
    payload->constants_offset = firn_round_up(bytes, FIRN_PAYLOAD_ALIGNMENT);
    payload->constants_bytes = w.constants.count;
    payload->total_bytes = payload->constants_offset + payload->constants_bytes;
    payload->bytes = firnc_allocate(payload->total_bytes);
    memcpy(payload->bytes, flatbuffers, bytes);
    if (w.constants.count > 0)
        memcpy(payload->bytes + payload->constants_offset, w.constants.bytes, (size_t)w.constants.count);
    firnc_let_go(free, flatbuffers);
    free(flatbuffers);
    return true;
}

bool firnc_write_payload(const firnc_compilation *compilation, firnc_payload *payload) {
    *payload = (firnc_payload){0};
    return firnc_make_constants(compilation, &payload->constants) && firnc_write_payload_again(compilation, payload);
}
