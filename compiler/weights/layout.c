/* Shapes and places of a parameter in a weights file (compiler/weights/layout.h). */
#include "compiler/weights/layout.h"

#include <string.h>

#include "compiler/weights/safetensors.h"

/* --- the axes ----------------------------------------------------------------------------------------------------- */

/* Whether each axis is there once. */
static bool is_order(const uint8_t *order, uint8_t count) {
    uint32_t seen = 0;
    for (uint8_t i = 0; i < count; i++)
        seen |= order[i] < count ? UINT32_C(1) << order[i] : 0;
    return seen == (UINT32_C(1) << count) - 1;
}

/* The shape that a rule gives, with the extent that is left; false if it does not have these elements. */
static bool view_shape(const firnc_weight_rule *rule, uint64_t elements, uint64_t dims[FIRN_RANK_MAX]) {
    uint64_t left = elements;
    uint64_t *rest = NULL;
    for (uint8_t i = 0; i < rule->shape_count; i++) {
        dims[i] = rule->shape[i];
        if (rule->shape[i] == FIRNC_WEIGHT_REST && rest == NULL)
            rest = &dims[i];
        else if (rule->shape[i] == 0 || left % rule->shape[i] != 0)
            return false;
        else
            left /= rule->shape[i];
    }
    if (rest != NULL)
        *rest = left;
    return rest != NULL || left == 1;
}

/* Sets the extents and strides of a view, whose axes are put in this order. */
static void set_view(firnc_weight_layout *layout, const uint64_t *dims, const uint8_t *order, uint8_t count) {
    uint64_t stride = 1;
    layout->view_rank = count;
    for (uint8_t i = count; i-- > 0;) {
        layout->extents[count - 1 - order[i]] = dims[order[i]];
        layout->strides[count - 1 - order[i]] = stride;
        stride *= dims[order[i]];
    }
}

/* Finds the shape of the whole and the order of its axes. Returns NULL, or what is wrong. */
static const char *arrange(firnc_weight_layout *layout, const firnc_weight_rule *rule,
                           const firnc_weight_parameter *parameter) {
    const uint8_t rank = parameter->shape.rank, count = rule->order_count;
    uint64_t view[FIRN_RANK_MAX];
    layout->rank = rank;
    layout->transposed = rule->transpose && rank == 2;
    for (uint8_t i = 0; i < rank; i++)
        layout->whole[i] = parameter->shape.dims[i];
    if (rule->transpose && rank > 2)
        return "transpose is for matrices; write the order of the axes, or give this one a rule of its own";
    if (!is_order(rule->order, count))
        return "the order does not have each axis once; list the axes from 0";
    if (rule->shape_count > 0 &&
        (count != rule->shape_count || !view_shape(rule, firnc_weight_elements(parameter), view)))
        return "the shape of the rule has other elements, or not as many extents as the order has axes; make them "
               "equal";
    if (rule->shape_count == 0 && count > 0 && count != rank)
        return "the order has another number of axes; list as many, or give this one a rule of its own";
    for (uint8_t i = 0; i < count && rule->shape_count == 0; i++)
        layout->whole[rule->order[i]] = view[rule->order[i]] = parameter->shape.dims[i];
    set_view(layout, view, rule->order, count);
    if (layout->transposed) {
        const uint64_t rows = layout->whole[1];
        layout->whole[1] = layout->whole[0];
        layout->whole[0] = rows;
    }
    if (rule->extents != FIRNC_WEIGHT_LIKE_PARAMETER) {
        layout->rank = rule->extents == FIRNC_WEIGHT_VECTOR ? 1 : 0;
        layout->whole[0] = firnc_weight_elements(parameter);
    }
    return NULL;
}

/* --- the tensors -------------------------------------------------------------------------------------------------- */

/* The extent of each tensor along the axis, which the rule gives or which are equal. Returns NULL, or what is wrong. */
static const char *cut(firnc_weight_layout *layout, const firnc_weight_rule *rule) {
    if (rule->axis >= layout->rank && rule->axis > 0)
        return "write an axis below its number of extents";
    const uint64_t extent = layout->whole[rule->axis];
    const bool equal = rule->sizes[0] == 0;
    uint64_t at = 0;
    layout->axis = rule->axis;
    for (uint32_t i = 0; i < layout->count; i++) {
        layout->first[i] = at;
        memcpy(layout->dims[i], layout->whole, sizeof layout->whole);
        layout->dims[i][rule->axis] = equal ? extent / layout->count : rule->sizes[i];
        at += layout->dims[i][rule->axis];
    }
    return at == extent
               ? NULL
               : firnc_format(
                     "the tensors do not have together its extent along axis %u; write sizes whose sum is %llu",
                     (unsigned)rule->axis, (unsigned long long)extent);
}

bool firnc_weight_layout_make(firnc_weight_layout *layout, const firnc_job *job, const firnc_weight_rule *rule,
                              const firnc_weight_parameter *parameter) {
    memset(layout, 0, sizeof *layout);
    layout->count = firnc_weight_names(rule, parameter->name, layout->names);
    const char *wrong = arrange(layout, rule, parameter);
    if (wrong == NULL)
        wrong = cut(layout, rule);
    if (wrong == NULL)
        return true;
    uint64_t dims[FIRN_RANK_MAX];
    for (uint8_t i = 0; i < parameter->shape.rank; i++)
        dims[i] = parameter->shape.dims[i];
    return firnc_job_fail(job, rule->place.file != NULL ? &rule->place : NULL, "parameter %s has shape %s; %s",
                          parameter->name, firnc_safetensors_shape(dims, parameter->shape.rank), wrong);
}

/* --- elements ----------------------------------------------------------------------------------------------------- */

/* What the place of an element depends on, of one tensor. */
typedef struct cutting {
    uint64_t elements, extent, inner; /* of the tensor; along the axis; in one step along the axis */
} cutting;

static cutting cutting_of(const firnc_weight_layout *layout, uint32_t tensor) {
    cutting c = {.elements = 1, .extent = layout->dims[tensor][layout->axis], .inner = 1};
    for (uint32_t i = 0; i < layout->rank; i++) {
        c.elements *= layout->dims[tensor][i];
        c.inner *= i > layout->axis ? layout->dims[tensor][i] : 1;
    }
    return c;
}

/* Where an element of a tensor is in the parameter. */
static uint64_t place_of(const firnc_weight_layout *layout, uint32_t tensor, const cutting *c, uint64_t element) {
    const uint64_t row = element / c->inner, along = layout->first[tensor] + row % c->extent;
    uint64_t rest = (row / c->extent * layout->whole[layout->axis] + along) * c->inner + element % c->inner;
    if (layout->transposed)
        rest = rest % layout->whole[1] * layout->whole[0] + rest / layout->whole[1];
    uint64_t place = layout->view_rank == 0 ? rest : 0;
    for (uint8_t i = 0; i < layout->view_rank; i++) {
        place += rest % layout->extents[i] * layout->strides[i];
        rest /= layout->extents[i];
    }
    return place;
}

uint64_t firnc_weight_tensor_elements(const firnc_weight_layout *layout, uint32_t tensor) {
    return cutting_of(layout, tensor).elements;
}

/* Whether a tensor is the parameter as it is. */
static bool is_plain(const firnc_weight_layout *layout) {
    return layout->count == 1 && !layout->transposed && layout->view_rank == 0;
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
