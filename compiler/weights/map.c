/* Names and places of a parameter in a weights file (compiler/weights/map.h). */
#include "compiler/weights/map.h"

#include <string.h>

#define STARS_MAX   FIRNC_NAME_MAX
#define HEADS_PARTS 3u /* query, key, value */

const firnc_weight_parameter *firnc_weight_parameters(const firnc_graph *graph, uint32_t *count) {
    firnc_value *values;
    *count = firnc_sorted_values(graph, firnc_is_parameter, &values);
    firnc_weight_parameter *parameters = firnc_allocate((*count + UINT64_C(1)) * sizeof *parameters);
    for (uint32_t i = 0; i < *count; i++)
        parameters[i] = (firnc_weight_parameter){graph->values[values[i]].name, graph->values[values[i]].shape};
    return parameters;
}

uint64_t firnc_weight_elements(const firnc_weight_parameter *parameter) {
    uint64_t elements = 0;
    (void)firn_shape_elements(&parameter->shape, &elements);
    return elements;
}

/* --- names -------------------------------------------------------------------------------------------------------- */

/* What a '*' of a pattern stands for. */
typedef struct part {
    const char *text;
    size_t bytes;
} part;

/* Matches a name with a pattern; sets what each '*' stands for, and their number. Each takes as little as it can, but
 * for the last. */
static bool match(const char *pattern, const char *name, part *parts, uint32_t *count) {
    const char *resume = NULL;
    *count = 0;
    while (*name != '\0' || *pattern != '\0') {
        if (*pattern == '*' && *count < STARS_MAX) {
            pattern++;
            parts[(*count)++] = (part){name, 0};
            resume = pattern;
        } else if (*pattern == *name) {
            pattern++;
            name++;
        } else if (resume != NULL && parts[*count - 1].text[parts[*count - 1].bytes] != '\0') {
            part *last = &parts[*count - 1];
            last->bytes++;
            pattern = resume;
            name = last->text + last->bytes;
        } else {
            return false;
        }
    }
    return true;
}

/* A name with each '*' replaced. */
static const char *filled(const char *name, const part *parts, uint32_t count) {
    firnc_growing_text text = {0};
    firnc_text_add(&text, "", 0);
    for (uint32_t star = 0; *name != '\0'; name++)
        if (*name == '*' && star < count) {
            firnc_text_add(&text, parts[star].text, parts[star].bytes);
            star++;
        } else {
            firnc_text_add(&text, name, 1);
        }
    return text.text;
}

uint32_t firnc_weight_names(const firnc_weight_rule *rule, const char *parameter,
                            const char *names[FIRNC_WEIGHT_TENSORS_MAX]) {
    part parts[STARS_MAX];
    uint32_t stars, count = 0;
    if (rule->kind != FIRNC_WEIGHT_TAKEN || !match(rule->parameter, parameter, parts, &stars))
        return 0;
    for (; count < FIRNC_WEIGHT_TENSORS_MAX && rule->tensors[count] != NULL; count++)
        names[count] = filled(rule->tensors[count], parts, stars);
    return count;
}

/* --- shapes ------------------------------------------------------------------------------------------------------- */

/* Prints a message about a rule that does not fit a parameter. */
static bool misfit(const firnc_job *job, const firnc_weight_rule *rule, const firnc_weight_parameter *parameter,
                   const char *what) {
    uint64_t dims[FIRN_RANK_MAX];
    for (uint8_t i = 0; i < parameter->shape.rank; i++)
        dims[i] = parameter->shape.dims[i];
    return firnc_job_fail(job, rule->place.file != NULL ? &rule->place : NULL, "parameter %s has shape %s; %s",
                          parameter->name, firnc_safetensors_shape(dims, parameter->shape.rank), what);
}

/* The extent of each tensor along the axis, which the rule gives or which are equal. */
static bool cut(firnc_weight_layout *layout, const firnc_weight_rule *rule) {
    const uint64_t whole = layout->joined[rule->axis];
    uint64_t at = 0;
    if (layout->count == 0 || (rule->sizes[0] == 0 && whole % layout->count != 0))
        return false;
    for (uint32_t i = 0; i < layout->count; i++) {
        const uint64_t extent = rule->sizes[0] != 0 ? rule->sizes[i] : whole / layout->count;
        layout->first[i] = at;
        memcpy(layout->dims[i], layout->joined, sizeof layout->joined);
        layout->dims[i][rule->axis] = extent;
        at += extent;
    }
    return at == whole;
}

bool firnc_weight_layout_make(firnc_weight_layout *layout, const firnc_job *job, const firnc_weight_rule *rule,
                              const firnc_weight_parameter *parameter) {
    const firn_shape *shape = &parameter->shape;
    *layout = (firnc_weight_layout){.rule = rule, .rank = shape->rank};
    layout->count = firnc_weight_names(rule, parameter->name, layout->names);
    for (uint8_t i = 0; i < shape->rank; i++)
        layout->joined[i] = shape->dims[i];
    if (rule->transpose && shape->rank > 2)
        return misfit(job, rule, parameter, "transpose is for matrices; remove it, or give this one a rule of its own");
    if (rule->transpose && shape->rank == 2) {
        layout->joined[0] = shape->dims[1];
        layout->joined[1] = shape->dims[0];
    }
    if (rule->axis >= shape->rank)
        return misfit(job, rule, parameter, "write an axis below its number of extents");
    if (rule->heads != 0 && layout->joined[rule->axis] % (HEADS_PARTS * (uint64_t)rule->heads) != 0)
        return misfit(job, rule, parameter,
                      firnc_format("its axis %u is not query, key and value of %u heads; write another number of heads",
                                   (unsigned)rule->axis, (unsigned)rule->heads));
    return cut(layout, rule) ||
           misfit(job, rule, parameter,
                  firnc_format("its axis %u is not the sum of the tensors; write sizes whose sum is %llu",
                               (unsigned)rule->axis, (unsigned long long)layout->joined[rule->axis]));
}

/* --- elements ----------------------------------------------------------------------------------------------------- */

/* Where a place along the axis of all joined tensors is in the parameter. */
static uint64_t reordered(const firnc_weight_layout *layout, uint64_t place) {
    const uint64_t heads = layout->rule->heads;
    if (heads == 0)
        return place;
    const uint64_t size = layout->joined[layout->rule->axis] / (HEADS_PARTS * heads);
    const uint64_t head = place / (HEADS_PARTS * size), part = place / size % HEADS_PARTS;
    return (part * heads + head) * size + place % size;
}

/* Where an element of all joined tensors is in the parameter. */
static uint64_t transposed(const firnc_weight_layout *layout, uint64_t element) {
    if (!layout->rule->transpose || layout->rank != 2)
        return element;
    return element % layout->joined[1] * layout->joined[0] + element / layout->joined[1];
}

/* What an element's place depends on, of one tensor. */
typedef struct cutting {
    uint64_t elements, extent, inner; /* of the tensor; along the axis; in one step along the axis */
} cutting;

static cutting cutting_of(const firnc_weight_layout *layout, uint32_t tensor) {
    const uint32_t axis = layout->rule->axis;
    cutting c = {.elements = 1, .extent = layout->dims[tensor][axis], .inner = 1};
    for (uint32_t i = 0; i < layout->rank; i++) {
        c.elements *= layout->dims[tensor][i];
        c.inner *= i > axis ? layout->dims[tensor][i] : 1;
    }
    return c;
}

/* Where an element of a tensor is in the parameter. */
static uint64_t place_of(const firnc_weight_layout *layout, uint32_t tensor, const cutting *c, uint64_t element) {
    const uint64_t row = element / c->inner, along = layout->first[tensor] + row % c->extent;
    const uint64_t joined = row / c->extent * layout->joined[layout->rule->axis] + reordered(layout, along);
    return transposed(layout, joined * c->inner + element % c->inner);
}

uint64_t firnc_weight_tensor_elements(const firnc_weight_layout *layout, uint32_t tensor) {
    return cutting_of(layout, tensor).elements;
}

/* Whether a tensor is the parameter as it is. */
static bool is_plain(const firnc_weight_layout *layout) {
    return layout->count == 1 && !layout->rule->transpose && layout->rule->heads == 0;
}

void firnc_weight_put(const firnc_weight_layout *layout, uint32_t tensor, const float *values, float *parameter) {
    const cutting c = cutting_of(layout, tensor);
    if (is_plain(layout))
        memcpy(parameter, values, (size_t)c.elements * sizeof *values);
    else
        for (uint64_t i = 0; i < c.elements; i++)
            parameter[place_of(layout, tensor, &c, i)] = values[i];
}

void firnc_weight_take(const firnc_weight_layout *layout, uint32_t tensor, float *values, const float *parameter) {
    const cutting c = cutting_of(layout, tensor);
    if (is_plain(layout))
        memcpy(values, parameter, (size_t)c.elements * sizeof *values);
    else
        for (uint64_t i = 0; i < c.elements; i++)
            values[i] = parameter[place_of(layout, tensor, &c, i)];
}
