/* Makes the constants segment (compiler/emit/constants.h). What the memory pass has placed in the region of constants
 * is filled in: the constants of the graph, and frozen weights with the values that a run would give them at its
 * beginning, from an older run, from the weights file, from the graph or by their rule. Initial weights of trained
 * parameters follow in the order of their names, then the optimizer's state of an older run likewise, each at a
 * multiple of 64. Nothing is decided here. */
#include "compiler/emit/constants.h"

#include <string.h>

#include "compiler/weights/weights.h"
#include "plan/bytes.h"
#include "plan/container.h"
#include "runtime/numerics/numerics.h"

typedef struct making {
    const firnc_job *job;
    const firnc_graph *graph;
    firnc_constants *constants;
    const firnc_weight_parameter *parameters;
    firnc_value *values; /* of each parameter */
    uint32_t count;
    firnc_value *state; /* of the optimizer */
    uint32_t state_count;
    firnc_weights weights; /* if the job has a file */
} making;

static bool is_continued(const making *m, uint32_t parameter) {
    return m->graph->values[m->values[parameter]].continued;
}

/* Whether the values of a parameter are read from the weights file. */
static bool has_weights(const making *m, uint32_t parameter) {
    return m->job->weights != NULL && !is_continued(m, parameter) && firnc_weights_has(&m->weights, parameter);
}

/* Whether the values that a parameter begins with are in the segment: those of the file, else those of the graph or of
 * an older run. */
static bool has_values(const making *m, uint32_t parameter) {
    return has_weights(m, parameter) || m->graph->values[m->values[parameter]].initial != NULL;
}

static uint64_t bytes_of(const firnc_value_info *value) {
    uint64_t bytes = 0;
    (void)firn_shape_bytes(&value->shape, &bytes);
    return bytes;
}

static void place(making *m, firnc_value value) {
    m->constants->weights[value] = m->constants->count;
    m->constants->count += firn_round_up(bytes_of(&m->graph->values[value]), FIRN_PAYLOAD_ALIGNMENT);
}

/* Finds the place of the initial values of each parameter and of the optimizer's state, and the size of the segment. */
static void lay_out(making *m) {
    firnc_constants *constants = m->constants;
    constants->count = firn_round_up(m->graph->region_bytes[FIRNC_IN_CONSTANT], FIRN_PAYLOAD_ALIGNMENT);
    constants->weights = firnc_allocate(m->graph->value_count * sizeof *constants->weights);
    for (firnc_value i = 0; i < m->graph->value_count; i++)
        constants->weights[i] = FIRNC_NOT_THERE;
    for (uint32_t i = 0; i < m->count; i++) {
        const firnc_value_info *value = &m->graph->values[m->values[i]];
        if (firnc_is_of_model(value->role) && has_values(m, i))
            place(m, m->values[i]);
    }
    for (uint32_t i = 0; i < m->state_count; i++)
        if (m->graph->values[m->state[i]].initial != NULL)
            place(m, m->state[i]);
    constants->bytes = firnc_allocate(constants->count);
}

/* Reads the values of a parameter that has_values. */
static bool read_values(const making *m, uint32_t parameter, void *values) {
    const float *initial = m->graph->values[m->values[parameter]].initial;
    if (has_weights(m, parameter))
        return firnc_weights_read(&m->weights, parameter, values);
    memcpy(values, initial, (size_t)firnc_weight_elements(&m->parameters[parameter]) * sizeof *initial);
    return true;
}

/* What the runtime computes for state (NUMERICS.md, "Around the ops"). */
static void draw(const making *m, const firnc_value_info *value, float *values, size_t count) {
    const firn_rng rng = {.seed = m->job->seed, .rng_id = value->rng_id};
    const float a = value->init.a, b = value->init.b;
    switch (value->init.rule) {
    case FIRNC_INIT_CONSTANT:
        for (size_t i = 0; i < count; i++)
            values[i] = a;
        break;
    case FIRNC_INIT_NORMAL:
        firn_random_normal_many(values, &rng, 0, count);
        for (size_t i = 0; i < count; i++)
            values[i] = firn_fma(b, values[i], a);
        break;
    case FIRNC_INIT_TRUNCATED_NORMAL:
        firn_random_truncated_many(values, &rng, 0, count, (firn_truncation){a, b, value->init.low, value->init.high});
        break;
    case FIRNC_INIT_UNIFORM:
        firn_random_uniform_many(values, &rng, 0, count);
        for (size_t i = 0; i < count; i++)
            values[i] = firn_fma(b - a, values[i], a);
        break;
    }
}

static bool fill_frozen(const making *m, uint32_t parameter) {
    const firnc_value_info *value = &m->graph->values[m->values[parameter]];
    const size_t count = (size_t)firnc_weight_elements(&m->parameters[parameter]);
    uint8_t *place = m->constants->bytes + value->offset;
    const firnc_mark mark = firnc_memory_mark();
    float *values = firnc_allocate(count * sizeof *values);
    const bool good = !has_values(m, parameter) || read_values(m, parameter, values);
    if (!has_values(m, parameter))
        draw(m, value, values, count);
    firn_narrow(place, value->shape.type, 0, values, count);
    firnc_memory_release(mark);
    return good;
}

static bool fill(const making *m) {
    for (firnc_value i = 0; i < m->graph->value_count; i++) {
        const firnc_value_info *value = &m->graph->values[i];
        if (value->elements != NULL && value->first != FIRNC_NONE)
            memcpy(m->constants->bytes + value->offset, value->elements, (size_t)bytes_of(value));
    }
    for (uint32_t i = 0; i < m->count; i++) {
        const uint64_t place = m->constants->weights[m->values[i]];
        if (firnc_is_frozen(m->graph->values[m->values[i]].role) && !fill_frozen(m, i))
            return false;
        if (place != FIRNC_NOT_THERE && !read_values(m, i, m->constants->bytes + place))
            return false;
    }
    for (uint32_t i = 0; i < m->state_count; i++) {
        const firnc_value_info *value = &m->graph->values[m->state[i]];
        if (value->initial != NULL)
            memcpy(m->constants->bytes + m->constants->weights[m->state[i]], value->initial, (size_t)bytes_of(value));
    }
    return true;
}

static bool is_of_optimizer(uint8_t role) {
    return role == FIRNC_ROLE_OPTIMIZER_STATE;
}

/* Opens the weights file, which need not have what an older run has. */
static bool open_weights(making *m) {
    firnc_weight_parameter *wanted = firnc_allocate((m->count + UINT64_C(1)) * sizeof *wanted);
    for (uint32_t i = 0; i < m->count; i++) {
        wanted[i] = m->parameters[i];
        wanted[i].optional = wanted[i].optional || is_continued(m, i);
    }
    return firnc_weights_open(&m->weights, m->job, wanted, m->count);
}

bool firnc_make_constants(const firnc_compilation *compilation, firnc_constants *constants) {
    making m = {.job = compilation->job, .graph = compilation->graph, .constants = constants};
    m.parameters = firnc_weight_parameters(m.graph, &m.count);
    (void)firnc_sorted_values(m.graph, firnc_is_weight, &m.values);
    m.state_count = firnc_sorted_values(m.graph, is_of_optimizer, &m.state);
    if (m.job->weights != NULL && !open_weights(&m))
        return false;
    lay_out(&m);
    return fill(&m);
}
