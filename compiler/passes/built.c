/* The build pass. In: the graph as a front end built it, and the job. Out: the same graph, checked: it is complete, it
 * agrees with the job, and a plan can represent its inputs. An error here is the fault of the front end. */
#include <math.h>
#include <string.h>

#include "compiler/passes/passes.h"

#define PLAN_INPUTS_MAX 64 /* as (max: 64) of Plan.inputs in plan.fbs */

/* Elements of one sample of an input; UINT64_MAX on overflow. */
static uint64_t sample_elements(const firn_shape *shape) {
    uint64_t elements = 1;
    for (uint8_t i = 1; i < shape->rank; i++)
        elements =
            shape->dims[i] != 0 && elements > UINT64_MAX / shape->dims[i] ? UINT64_MAX : elements * shape->dims[i];
    return elements;
}

static bool refuse(const firnc_compilation *compilation, const firnc_value_info *input, const char *what) {
    return firnc_fail(compilation, "input %s: %s", input->name, what);
}

/* Integers of up to 16 bits, and bool. */
static bool is_small(firn_type element) {
    return element == FIRN_UINT8 || (element >= FIRN_UINT16 && element <= FIRN_BOOL);
}

static bool check_elements(const firnc_compilation *compilation, const firnc_value_info *input) {
    const firnc_input_options *source = input->source;
    const bool scaled = source->scale != 1 || source->shift != 0;
    const bool small = is_small(source->element);
    if (!(source->scale - source->scale == 0 && source->shift - source->shift == 0))
        return refuse(compilation, input, "scale or shift is not finite");
    if (input->shape.type == FIRN_INT32) {
        if (!small && source->element != FIRN_INT32)
            return refuse(compilation, input, "an int32 input takes elements of int32 or a narrower integer type");
        if (source->limit == 0 || source->limit > INT32_MAX || scaled)
            return refuse(compilation, input, "an int32 input has a limit of 1 to 2147483647, no scale and no shift");
        return true;
    }
    if (input->shape.type != FIRN_FLOAT32)
        return refuse(compilation, input, "is neither int32 nor float32");
    if (!small && (source->element != FIRN_FLOAT32 || scaled))
        return refuse(compilation, input,
                      "a float32 input takes integers of up to 16 bits, or elements of float32 as they are");
    return source->limit == 0 || refuse(compilation, input, "a float32 input has no limit");
}

/* Checks the position of the elements within a sample. */
static bool check_sample(const firnc_compilation *compilation, const firnc_value_info *input) {
    const firnc_data *data = &compilation->job->data;
    const uint64_t elements = sample_elements(&input->shape);
    if (input->shape.dims[0] != data->micro_batch_size)
        return refuse(compilation, input,
                      firnc_format("has %u samples, and the job's data.micro_batch_size is %u",
                                   (unsigned)input->shape.dims[0], (unsigned)data->micro_batch_size));
    if (data->window == 0)
        return input->source->advance == 0 || refuse(compilation, input, "a record has no advance; it is for windows");
    if (input->source->stream != 0)
        return refuse(compilation, input, "windows are of stream 0, and of no other");
    return (input->source->advance <= data->window && elements <= data->window - input->source->advance) ||
           refuse(compilation, input,
                  firnc_format("takes %llu elements from element %u on, more than a window of %u has",
                               (unsigned long long)elements, (unsigned)input->source->advance, (unsigned)data->window));
}

/* Checks that inputs of one stream agree on its element type and, for records, on the elements of a sample. */
static bool agrees_with_others(const firnc_compilation *compilation, firnc_value value) {
    const firnc_value_info *input = &compilation->graph->values[value];
    for (firnc_value i = 0; i < value; i++) {
        const firnc_value_info *other = &compilation->graph->values[i];
        if (other->source == NULL || other->source->stream != input->source->stream)
            continue;
        if (other->source->element != input->source->element ||
            (compilation->job->data.window == 0 && sample_elements(&other->shape) != sample_elements(&input->shape)))
            return refuse(compilation, input,
                          firnc_format("has other elements than the input %s of the same stream", other->name));
    }
    return true;
}

static bool check_inputs(const firnc_compilation *compilation) {
    const firnc_graph *graph = compilation->graph;
    uint32_t streams = 0, inputs = 0;
    for (firnc_value i = 0; i < graph->value_count; i++) {
        const firnc_value_info *input = &graph->values[i];
        if (input->source == NULL)
            continue;
        if (++inputs > PLAN_INPUTS_MAX)
            return refuse(compilation, input,
                          firnc_format("is one more than the %d that a plan can have", PLAN_INPUTS_MAX));
        if (!check_elements(compilation, input) || !check_sample(compilation, input) ||
            !agrees_with_others(compilation, i))
            return false;
        if (input->source->stream > streams)
            return refuse(compilation, input,
                          firnc_format("is of stream %u, and none before it of stream %u; number them in order",
                                       (unsigned)input->source->stream, (unsigned)streams));
        streams += input->source->stream == streams;
    }
    return inputs > 0 || firnc_fail(compilation, "the graph has no input; call firnc_input");
}

/* Checks the rule and the numbers of an initial value, even if weights replace it. */
static bool check_initial_values(const firnc_compilation *compilation) {
    const firnc_graph *graph = compilation->graph;
    for (firnc_value i = 0; i < graph->value_count; i++) {
        const firnc_value_info *value = &graph->values[i];
        const float a = value->init.a, b = value->init.b, low = value->init.low, high = value->init.high;
        bool good = !value->initialised;
        switch (value->init.rule) {
        case FIRNC_INIT_CONSTANT:
            good = good || isfinite(a);
            break;
        case FIRNC_INIT_NORMAL:
            good = good || (isfinite(a) && isfinite(b) && b >= 0);
            break;
        case FIRNC_INIT_TRUNCATED_NORMAL:
            good = good || (isfinite(a) && isfinite(b) && b >= 0 && isfinite(low) && isfinite(high) && low < high);
            break;
        case FIRNC_INIT_UNIFORM:
            good = good || (a <= b && isfinite(b - a));
            break;
        }
        if (!good)
            return firnc_fail(compilation,
                              "parameter %s: its firnc_init needs a known rule and finite numbers, b >= 0 for normal "
                              "and truncated_normal, a <= b for uniform, low < high for truncated_normal",
                              value->name);
    }
    return true;
}

/* Parameters and buffers are tensors of the state, where these names begin those of the tensors that the passes add. */
static bool is_reserved(const char *name) {
    static const char *const beginnings[] = {"optimizer.", "counters.", "scaler.", "metric."};
    for (size_t i = 0; i < sizeof beginnings / sizeof beginnings[0]; i++)
        if (strncmp(name, beginnings[i], strlen(beginnings[i])) == 0)
            return true;
    return false;
}

static bool check_parameter_names(const firnc_compilation *compilation) {
    const firnc_graph *graph = compilation->graph;
    firnc_value *sorted;
    const uint32_t count = firnc_sorted_values(graph, firnc_is_of_model, &sorted);
    for (uint32_t i = 0; i < count; i++) {
        const char *name = graph->values[sorted[i]].name;
        if (is_reserved(name))
            return firnc_fail(compilation,
                              "parameter %s: names that begin with optimizer., counters., scaler. or metric. are "
                              "those of Firn's own state; choose another name",
                              name);
        if (i > 0 && strcmp(graph->values[sorted[i - 1]].name, name) == 0)
            return firnc_fail(compilation, "two parameters have the name %s; give each a name of its own", name);
        for (firnc_value j = 0; j < graph->value_count; j++)
            if (graph->values[j].role == FIRNC_ROLE_STATISTIC && strcmp(graph->values[j].name, name) == 0)
                return firnc_fail(compilation,
                                  "parameter %s: what standardises the data has this name; choose another one", name);
    }
    return true;
}

static bool has_parameter(const firnc_graph *graph) {
    for (firnc_value i = 0; i < graph->value_count; i++)
        if (graph->values[i].role == FIRNC_ROLE_PARAMETER)
            return true;
    return false;
}

bool firnc_check_built(firnc_compilation *compilation) {
    firnc_graph *graph = compilation->graph;
    if (graph->refused)
        return false;
    if (graph->passed)
        return firnc_fail(compilation, "the graph has been frozen already; build it again");
    if (graph->scopes != NULL || graph->next_annotated)
        return firnc_fail(compilation, "the graph %s leaves a layer, an annotation or a scope open; end what was begun",
                          graph->model);
    if (graph->loss == FIRNC_NONE && firnc_job_judges(compilation->job))
        return firnc_fail(compilation, "the graph %s has no loss; call firnc_loss", graph->model);
    if (graph->eval != (compilation->job->mode == FIRNC_EVAL))
        return firnc_fail(compilation,
                          "the graph is for %s and the job is not; call firnc_graph_evaluate for a job of "
                          "mode FIRNC_EVAL, and only then",
                          graph->eval ? "evaluation" : "training");
    if (!has_parameter(graph))
        return firnc_fail(compilation, "the graph %s has no parameter; call firnc_parameter", graph->model);
    graph->passed = true;
    return check_parameter_names(compilation) && check_initial_values(compilation) && check_inputs(compilation) &&
           firnc_find_outputs(compilation);
}
