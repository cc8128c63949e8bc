/* Part of the autodiff pass: what rules of gradients do with the walk's state (gradients.h), and the rule of ops whose
 * backward op is named after them. No rule of a single op may stand here. */
#include "compiler/passes/gradients/gradients.h"

#include <string.h>

#include "compiler/base/words.h"
#include "plan/op_words.h"

void firnc_extents_of(const firnc_differentiation *d, uint8_t operand, int64_t *extents) {
    const firn_shape *shape = firnc_shape_of(d, d->node->inputs[operand]);
    for (uint8_t i = 0; i < FIRN_RANK_MAX; i++)
        extents[i] = i < shape->rank ? shape->dims[i] : 0;
}

bool firnc_wanted(const firnc_differentiation *d, uint8_t operand) {
    return operand < d->node->input_count && d->node->inputs[operand] != FIRNC_NONE &&
           d->wanted[d->node->inputs[operand]];
}

firnc_value firnc_emit(firnc_differentiation *d, uint16_t code, const firnc_value *inputs, uint8_t input_count,
                       const int64_t *integers, const float *reals, const uint8_t *types) {
    uint32_t index = firnc_node_new(d->graph, code, FIRNC_PHASE_MICRO_BATCH, d->node->name, inputs, input_count,
                                    integers, reals, types);
    firnc_node *made = &d->graph->nodes[index];
    made->backward = true;
    if (firn_op_find(code)->pol != FIRN_POL_none) {
        made->level = made->backward_level = d->node->backward_level;
        made->origin = made->backward_origin = d->node->backward_origin;
        made->forward_level = d->node->level;
        made->forward_origin = d->node->origin;
        made->half_softmax = d->node->half_softmax;
    }
    return made->outputs[0];
}

static firnc_value cast_to(firnc_differentiation *d, firnc_value value, uint8_t type) {
    if (firnc_shape_of(d, value)->type == type)
        return value;
    return firnc_emit(d, FIRN_OP_cast, &value, 1, NULL, NULL, &type);
}

/* True if a value is a copy of a parameter in the half type: a cast, or the leading rows of a table. */
static bool is_weight_copy(const firnc_differentiation *d, firnc_value value) {
    const firnc_value_info *info = &d->graph->values[value];
    if (info->producer == FIRNC_NONE || !firn_type_is_half(info->shape.type))
        return false;
    const firnc_node *producer = &d->graph->nodes[info->producer];
    return (producer->code == FIRN_OP_cast || producer->code == FIRN_OP_leading_rows) &&
           d->graph->values[producer->inputs[0]].role == FIRNC_ROLE_PARAMETER;
}

uint8_t firnc_type_of_half_parameter(const firnc_differentiation *d, firnc_value parameter) {
    if (!d->rounds_totals)
        return (uint8_t)d->compilation->job->precision.gradient_type;
    d->graph->values[parameter].total_rounded = true;
    return FIRN_FLOAT32;
}

uint8_t firnc_type_of_gradient(const firnc_differentiation *d, firnc_value value) {
    if (is_weight_copy(d, value))
        return firnc_type_of_half_parameter(d, d->graph->nodes[d->graph->values[value].producer].inputs[0]);
    return firnc_shape_of(d, value)->type;
}

static void insert(firnc_differentiation *d, uint8_t operand, firnc_value gradient, const firnc_node *embedding) {
    firnc_contribution *fresh = firnc_allocate(sizeof *fresh);
    fresh->position = (uint64_t)d->index * FIRN_INPUTS_MAX + operand;
    fresh->gradient = gradient;
    fresh->embedding = embedding;
    firnc_contribution **place = &d->contributions[d->node->inputs[operand]];
    while (*place != NULL && (*place)->position < fresh->position)
        place = &(*place)->next;
    fresh->next = *place;
    *place = fresh;
}

void firnc_contribute(firnc_differentiation *d, uint8_t operand, firnc_value gradient) {
    insert(d, operand, cast_to(d, gradient, firnc_type_of_gradient(d, d->node->inputs[operand])), NULL);
}

void firnc_contribute_rows(firnc_differentiation *d, uint8_t operand, firnc_value gradient) {
    insert(d, operand, gradient, d->node);
}

void firnc_contribute_repeated(firnc_differentiation *d, uint8_t operand, firnc_value gradient) {
    int64_t rank = firnc_shape_of(d, d->node->inputs[operand])->rank;
    if (rank < firnc_shape_of(d, gradient)->rank) {
        uint8_t type = firnc_type_of_gradient(d, d->node->inputs[operand]);
        gradient = firnc_emit(d, FIRN_OP_sum_leading, &gradient, 1, &rank, NULL, &type);
    }
    firnc_contribute(d, operand, gradient);
}

firnc_value firnc_gradient_of_rows(firnc_differentiation *d, firnc_value dy) {
    const firnc_value inputs[] = {[FIRN_SELECT_IN_CONDITION] = d->node->trained_rows, [FIRN_SELECT_IN_A] = dy};
    if (d->node->trained_rows == FIRNC_NONE)
        return dy;
    const uint8_t type = firnc_shape_of(d, dy)->type;
    return firnc_emit(d, FIRN_OP_select, inputs, 2, NULL, NULL, &type);
}

static bool is_repeated(const firnc_differentiation *d, uint8_t operand) {
    const firn_shape *x = firnc_shape_of(d, d->node->inputs[operand]), *y = firnc_shape_of(d, d->node->outputs[0]);
    if (x->rank != y->rank)
        return true;
    for (uint8_t i = 0; i < x->rank; i++)
        if (x->dims[i] != y->dims[i])
            return true;
    return false;
}

uint8_t firnc_type_of_terms(const firnc_differentiation *d, uint8_t operand) {
    return is_repeated(d, operand) ? (uint8_t)FIRN_FLOAT32 : firnc_type_of_gradient(d, d->node->inputs[operand]);
}

void firnc_contribute_sum(firnc_differentiation *d, uint8_t operand, firnc_value gradient) {
    if (is_repeated(d, operand)) {
        const uint8_t type = firnc_type_of_gradient(d, d->node->inputs[operand]);
        int64_t dims[FIRN_RANK_MAX];
        firnc_extents_of(d, operand, dims);
        gradient = firnc_emit(d, FIRN_OP_sum_to, &gradient, 1, dims, NULL, &type);
    }
    firnc_contribute(d, operand, gradient);
}

void firnc_contribute_bias(firnc_differentiation *d, uint8_t operand, firnc_value dy) {
    uint8_t type = firnc_type_of_gradient(d, d->node->inputs[operand]);
    firnc_contribute(d, operand, firnc_emit(d, FIRN_OP_sum_leading, &dy, 1, (int64_t[]){1}, NULL, &type));
}

/* --- gradients by name: most ops have a backward op whose operands are named after theirs ------------------------- */

/* The position of a name in a list of plan/op_words.h, or FIRN_NONE_OF_THEM. */
static uint8_t position_of(const char *names, const char *name) {
    uint8_t position = 0;
    for (const char *word = firnc_next_word(&names); *word != '\0'; word = firnc_next_word(&names), position++)
        if (strcmp(word, name) == 0)
            return position;
    return FIRN_NONE_OF_THEM;
}

/* The value of a backward op's input, found by its name: dy (dloss for a loss), or the forward op's input or output of
 * that name. FIRNC_NONE for an optional input that the forward node omits. */
static firnc_value remembered(const firnc_differentiation *d, const char *name, firnc_value dy) {
    const firn_op_words *words = firn_op_words_of(firn_op_find(d->node->code));
    uint8_t input = position_of(words->inputs, name), output = position_of(words->outputs, name);
    if (strcmp(name, "dy") == 0 || strcmp(name, "dloss") == 0)
        return dy;
    if (input != FIRN_NONE_OF_THEM)
        return input < d->node->input_count ? d->node->inputs[input] : FIRNC_NONE;
    if (output == FIRN_NONE_OF_THEM)
        firnc_graph_misuse(d->graph, firnc_format("the gradient of %s wants a value called %s", words->name, name));
    return d->node->outputs[output];
}

/* The forward input whose gradient an output is, by its name: "dx" is the gradient of "x". FIRN_NONE_OF_THEM for other
 * outputs, such as scratch. */
static uint8_t input_of_gradient(const firnc_differentiation *d, const char *name) {
    const char *inputs = firn_op_words_of(firn_op_find(d->node->code))->inputs;
    return name[0] == 'd' ? position_of(inputs, name + 1) : FIRN_NONE_OF_THEM;
}

static void copy_attributes(const firnc_differentiation *d, const firn_op_words *words, int64_t *integers,
                            float *reals) {
    const firn_op_words *forward = firn_op_words_of(firn_op_find(d->node->code));
    const char *names = words->integers;
    uint8_t i = 0;
    for (const char *name = firnc_next_word(&names); *name != '\0'; name = firnc_next_word(&names))
        integers[i++] = d->node->integers[position_of(forward->integers, name)];
    names = words->reals;
    i = 0;
    for (const char *name = firnc_next_word(&names); *name != '\0'; name = firnc_next_word(&names))
        reals[i++] = d->node->reals[position_of(forward->reals, name)];
}

void firnc_apply_backward(firnc_differentiation *d, uint16_t code, firnc_value dy, const uint8_t *type) {
    const firn_op_info *info = firn_op_find(code);
    const firn_op_words *words = firn_op_words_of(info);
    firnc_value inputs[FIRN_INPUTS_MAX];
    uint8_t types[FIRN_OUTPUTS_MAX], gradients[FIRN_OUTPUTS_MAX];
    int64_t integers[FIRN_ATTRIBUTES_MAX];
    float reals[FIRN_ATTRIBUTES_MAX];
    const char *names = words->inputs;
    for (uint8_t i = 0; i < info->inputs; i++)
        inputs[i] = remembered(d, firnc_next_word(&names), dy);
    names = words->outputs;
    for (uint8_t j = 0; j < info->outputs; j++) {
        gradients[j] = input_of_gradient(d, firnc_next_word(&names));
        types[j] = FIRN_FLOAT32;
        if (gradients[j] != FIRN_NONE_OF_THEM)
            types[j] = type != NULL ? *type : firnc_type_of_gradient(d, d->node->inputs[gradients[j]]);
    }
    copy_attributes(d, words, integers, reals);
    firnc_emit(d, code, inputs, info->inputs, integers, reals, types);
    const firnc_node made = d->graph->nodes[d->graph->node_count - 1]; /* a copy, because casts may be appended and move
                                                                        * the list */
    for (uint8_t j = 0; j < info->outputs; j++)
        if (gradients[j] != FIRN_NONE_OF_THEM && firnc_wanted(d, gradients[j]))
            firnc_contribute(d, gradients[j], made.outputs[j]);
}

static const firn_op_info *find_op(const char *name) {
    for (uint32_t i = 0; i < FIRN_OPS; i++)
        if (strcmp(firn_op_name(firn_op_at(i)), name) == 0)
            return firn_op_at(i);
    return NULL;
}

/* Applies the op called <op>_backward. Fails if a wanted gradient is not among its outputs, which would otherwise be
 * lost silently: for example, the target of a loss must not depend on a parameter. */
bool firnc_gradient_by_name(firnc_differentiation *d, firnc_value dy) {
    const firn_op_words *words = firn_op_words_of(firn_op_find(d->node->code));
    const firn_op_info *backward = find_op(firnc_format("%s_backward", words->name));
    if (backward == NULL)
        firnc_graph_misuse(d->graph, firnc_format("there is no op %s_backward", words->name));
    const char *given = firn_op_words_of(backward)->outputs, *names = words->inputs;
    for (uint8_t i = 0; i < d->node->input_count; i++) {
        const char *name = firnc_next_word(&names);
        if (firnc_wanted(d, i) && position_of(given, firnc_format("d%s", name)) == FIRN_NONE_OF_THEM)
            return firnc_fail(d->compilation,
                              "layer %s: %s has no gradient of its input %s, which depends on a parameter; give it an "
                              "input or a constant",
                              d->node->name, words->name, name);
    }
    firnc_apply_backward(d, backward->code, dy, NULL);
    return true;
}
