/* The autodiff pass (train). In: the forward graph in its final types. Out: the backward nodes after the forward ones,
 * and a float32 gradient for every parameter.
 *
 * The pass walks the nodes backwards. Each op's rule (the gradient column of plan/ops.def) contributes to the gradients
 * of its inputs. Once the walk has passed the first consumer of a value, it adds up the value's contributions in
 * ascending order of their consumers. The one exception is an embedding table: its rows are added last, in place, to
 * the contributions of other consumers (NUMERICS.md).
 *
 * The gradient of a value has the value's type. Half copies of parameters are the exception: their gradients have the
 * job's gradient_type. Only gradients on a path to a parameter are computed. */
#include <string.h>

#include "compiler/base/words.h"
#include "compiler/passes/passes.h"
#include "plan/op_words.h"
#include "plan/shapes/windows.h"

/* The contribution of one consumer to the gradient of a value. */
typedef struct contribution {
    uint64_t position; /* consumer and operand in the forward graph, which define the order */
    firnc_value gradient;
    const firnc_node *embedding; /* not NULL: an embedding, whose ids select the rows to which `gradient` is added */
    struct contribution *next;   /* of a higher position */
} contribution;

typedef struct differentiation {
    firnc_compilation *compilation;
    firnc_graph *graph;
    const firnc_node *forward;    /* the nodes of the forward graph; they stay readable when the list grows */
    uint32_t value_count;         /* values of the forward graph; the length of the next four arrays */
    bool *wanted;                 /* depends on a parameter */
    uint32_t *first_consumer;     /* index of a node, or FIRNC_NONE */
    contribution **contributions; /* by ascending position */
    firnc_value *gradients;       /* FIRNC_NONE until complete */
    const firnc_node *node;       /* the forward node that the walk has reached, and its index */
    uint32_t index;
} differentiation;

static const firn_shape *shape_of(const differentiation *d, firnc_value value) {
    return &d->graph->values[value].shape;
}

/* Adds a backward node for the current forward node; returns its first output. */
static firnc_value emit(differentiation *d, uint16_t code, const firnc_value *inputs, uint8_t input_count,
                        const int64_t *integers, const float *reals, const uint8_t *types) {
    uint32_t index = firnc_node_new(d->graph, code, FIRNC_PHASE_MICRO_BATCH, d->node->name, inputs, input_count,
                                    integers, reals, types);
    firnc_node *made = &d->graph->nodes[index];
    made->backward = true;
    if (firn_op_find(code)->pol != FIRN_POL_none) {
        made->level = made->backward_level = d->node->backward_level;
        made->origin = made->backward_origin = d->node->backward_origin;
        made->forward_level = d->node->level;
        made->half_softmax = d->node->half_softmax;
    }
    return made->outputs[0];
}

static firnc_value cast_to(differentiation *d, firnc_value value, uint8_t type) {
    if (shape_of(d, value)->type == type)
        return value;
    return emit(d, FIRN_OP_cast, &value, 1, NULL, NULL, &type);
}

/* True if a value is a copy of a parameter in the half type: a cast, or the leading rows of a table. */
static bool is_weight_copy(const differentiation *d, firnc_value value) {
    const firnc_value_info *info = &d->graph->values[value];
    if (info->producer == FIRNC_NONE || !firn_type_is_half(info->shape.type))
        return false;
    const firnc_node *producer = &d->graph->nodes[info->producer];
    return (producer->code == FIRN_OP_cast || producer->code == FIRN_OP_leading_rows) &&
           d->graph->values[producer->inputs[0]].role == FIRNC_ROLE_PARAMETER;
}

static uint8_t gradient_type(const differentiation *d, firnc_value value) {
    if (is_weight_copy(d, value))
        return (uint8_t)d->compilation->job->precision.gradient_type;
    return shape_of(d, value)->type;
}

static void insert(differentiation *d, uint8_t operand, firnc_value gradient, const firnc_node *embedding) {
    contribution *fresh = firnc_allocate(sizeof *fresh);
    fresh->position = (uint64_t)d->index * FIRN_INPUTS_MAX + operand;
    fresh->gradient = gradient;
    fresh->embedding = embedding;
    contribution **place = &d->contributions[d->node->inputs[operand]];
    while (*place != NULL && (*place)->position < fresh->position)
        place = &(*place)->next;
    fresh->next = *place;
    *place = fresh;
}

static void contribute(differentiation *d, uint8_t operand, firnc_value gradient) {
    insert(d, operand, cast_to(d, gradient, gradient_type(d, d->node->inputs[operand])), NULL);
}

static bool wanted(const differentiation *d, uint8_t operand) {
    return operand < d->node->input_count && d->node->inputs[operand] != FIRNC_NONE &&
           d->wanted[d->node->inputs[operand]];
}

/* --- the rules: dy is the gradient of output 0 of the current node ------------------------------------------------ */

typedef bool (*gradient_rule)(differentiation *d, firnc_value dy);

static bool firnc_gradient_none(differentiation *d, firnc_value dy) {
    (void)dy;
    return firnc_fail(d->compilation, "layer %s: %s has no gradient; it cannot stand between a parameter and the loss",
                      d->node->name, firn_op_name(firn_op_find(d->node->code)));
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
static firnc_value remembered(const differentiation *d, const char *name, firnc_value dy) {
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
static uint8_t input_of_gradient(const differentiation *d, const char *name) {
    const char *inputs = firn_op_words_of(firn_op_find(d->node->code))->inputs;
    return name[0] == 'd' ? position_of(inputs, name + 1) : FIRN_NONE_OF_THEM;
}

static void copy_attributes(const differentiation *d, const firn_op_words *words, int64_t *integers, float *reals) {
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

/* Adds the backward op and contributes each output d<input> whose input is wanted. type is the type of these outputs;
 * NULL: the gradient type of each input. */
static void apply(differentiation *d, uint16_t code, firnc_value dy, const uint8_t *type) {
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
            types[j] = type != NULL ? *type : gradient_type(d, d->node->inputs[gradients[j]]);
    }
    copy_attributes(d, words, integers, reals);
    emit(d, code, inputs, info->inputs, integers, reals, types);
    const firnc_node made = d->graph->nodes[d->graph->node_count - 1]; /* a copy, because casts may be appended and move
                                                                        * the list */
    for (uint8_t j = 0; j < info->outputs; j++)
        if (gradients[j] != FIRN_NONE_OF_THEM && wanted(d, gradients[j]))
            contribute(d, gradients[j], made.outputs[j]);
}

static const firn_op_info *find_op(const char *name) {
    for (uint32_t i = 0; i < FIRN_OPS; i++)
        if (strcmp(firn_op_name(firn_op_at(i)), name) == 0)
            return firn_op_at(i);
    return NULL;
}

/* Applies the op called <op>_backward. Fails if a wanted gradient is not among its outputs, which would otherwise be
 * lost silently: for example, the target of a loss must not depend on a parameter. */
static bool firnc_gradient_by_name(differentiation *d, firnc_value dy) {
    const firn_op_words *words = firn_op_words_of(firn_op_find(d->node->code));
    const firn_op_info *backward = find_op(firnc_format("%s_backward", words->name));
    if (backward == NULL)
        firnc_graph_misuse(d->graph, firnc_format("there is no op %s_backward", words->name));
    const char *given = firn_op_words_of(backward)->outputs, *names = words->inputs;
    for (uint8_t i = 0; i < d->node->input_count; i++) {
        const char *name = firnc_next_word(&names);
        if (wanted(d, i) && position_of(given, firnc_format("d%s", name)) == FIRN_NONE_OF_THEM)
            return firnc_fail(d->compilation,
                              "layer %s: %s has no gradient of its input %s, which depends on a parameter; give it an "
                              "input or a constant",
                              d->node->name, words->name, name);
    }
    apply(d, backward->code, dy, NULL);
    return true;
}

/* --- other gradients ---------------------------------------------------------------------------------------------- */

static bool firnc_gradient_cast(differentiation *d, firnc_value dy) {
    contribute(d, FIRN_CAST_IN_X, dy);
    return true;
}

/* Contributes to a bias, which was added to every row. */
static void contribute_bias(differentiation *d, uint8_t operand, firnc_value dy) {
    uint8_t type = gradient_type(d, d->node->inputs[operand]);
    contribute(d, operand, emit(d, FIRN_OP_sum_leading, &dy, 1, (int64_t[]){1}, NULL, &type));
}

static bool firnc_gradient_linear(differentiation *d, firnc_value dy) {
    if (wanted(d, FIRN_LINEAR_IN_WEIGHT))
        apply(d, FIRN_OP_linear_backward_weight, dy, NULL);
    if (wanted(d, FIRN_LINEAR_IN_BIAS))
        contribute_bias(d, FIRN_LINEAR_IN_BIAS, dy);
    if (wanted(d, FIRN_LINEAR_IN_X))
        apply(d, FIRN_OP_linear_backward_input, dy, NULL);
    return true;
}

/* Height and width of an image [N,H,W,C]. */
static const uint32_t *extents_of(const differentiation *d, firnc_value image) {
    return &shape_of(d, image)->dims[1];
}

/* Adds an op whose attributes are those of the forward op, then two extents, and contributes its result. */
static void contribute_of_window(differentiation *d, uint8_t operand, uint16_t code, const firnc_value *inputs,
                                 uint8_t input_count, const uint32_t extents[2]) {
    const uint8_t given = firn_op_find(d->node->code)->integers, type = gradient_type(d, d->node->inputs[operand]);
    int64_t integers[FIRN_ATTRIBUTES_MAX];
    memcpy(integers, d->node->integers, given * sizeof integers[0]);
    integers[given] = extents[0];
    integers[given + 1] = extents[1];
    contribute(d, operand, emit(d, code, inputs, input_count, integers, NULL, &type));
}

static bool firnc_gradient_conv(differentiation *d, firnc_value dy) {
    const firnc_value x = d->node->inputs[FIRN_CONV_IN_X], weight = d->node->inputs[FIRN_CONV_IN_WEIGHT];
    if (wanted(d, FIRN_CONV_IN_WEIGHT)) {
        const uint32_t *kernel = extents_of(d, weight);
        const uint8_t type = gradient_type(d, weight);
        const int64_t *given = d->node->integers;
        const int64_t integers[] = {[FIRN_CONV_BACKWARD_WEIGHT_GROUPS] = given[FIRN_CONV_GROUPS],
                                    [FIRN_CONV_BACKWARD_WEIGHT_STRIDE] = given[FIRN_CONV_STRIDE],
                                    [FIRN_CONV_BACKWARD_WEIGHT_DILATION] = given[FIRN_CONV_DILATION],
                                    [FIRN_CONV_BACKWARD_WEIGHT_BEFORE] = given[FIRN_CONV_BEFORE],
                                    [FIRN_CONV_BACKWARD_WEIGHT_AFTER] = given[FIRN_CONV_AFTER],
                                    [FIRN_CONV_BACKWARD_WEIGHT_KERNEL] = firn_pair(kernel[0], kernel[1])};
        contribute(d, FIRN_CONV_IN_WEIGHT,
                   emit(d, FIRN_OP_conv_backward_weight, (firnc_value[]){dy, x}, 2, integers, NULL, &type));
    }
    if (wanted(d, FIRN_CONV_IN_BIAS))
        contribute_bias(d, FIRN_CONV_IN_BIAS, dy);
    if (wanted(d, FIRN_CONV_IN_X))
        contribute_of_window(d, FIRN_CONV_IN_X, FIRN_OP_conv_backward_input, (firnc_value[]){dy, weight}, 2,
                             extents_of(d, x));
    return true;
}

static bool firnc_gradient_average_pool(differentiation *d, firnc_value dy) {
    contribute_of_window(d, FIRN_AVERAGE_POOL_IN_X, FIRN_OP_average_pool_backward, &dy, 1,
                         extents_of(d, d->node->inputs[FIRN_AVERAGE_POOL_IN_X]));
    return true;
}

static bool firnc_gradient_embedding(differentiation *d, firnc_value dy) {
    insert(d, FIRN_EMBEDDING_IN_TABLE, dy, d->node);
    return true;
}

static bool firnc_gradient_leading_rows(differentiation *d, firnc_value dy) {
    int64_t rows = shape_of(d, d->node->inputs[FIRN_LEADING_ROWS_IN_TABLE])->dims[0];
    uint8_t type = FIRN_FLOAT32;
    contribute(d, FIRN_LEADING_ROWS_IN_TABLE, emit(d, FIRN_OP_leading_rows_backward, &dy, 1, &rows, NULL, &type));
    return true;
}

/* Contributes to an input that was broadcast over the leading dimensions: the sum over them. */
static void contribute_repeated(differentiation *d, uint8_t operand, firnc_value gradient) {
    int64_t rank = shape_of(d, d->node->inputs[operand])->rank;
    if (rank < shape_of(d, gradient)->rank) {
        uint8_t type = gradient_type(d, d->node->inputs[operand]);
        gradient = emit(d, FIRN_OP_sum_leading, &gradient, 1, &rank, NULL, &type);
    }
    contribute(d, operand, gradient);
}

static bool firnc_gradient_add(differentiation *d, firnc_value dy) {
    if (wanted(d, FIRN_ADD_IN_A))
        contribute(d, FIRN_ADD_IN_A, dy);
    if (wanted(d, FIRN_ADD_IN_B))
        contribute_repeated(d, FIRN_ADD_IN_B, dy);
    return true;
}

/* da = dy b, db = the sum of dy a over the dimensions that b is repeated over, which rounds once, behind the sum. */
static bool firnc_gradient_multiply(differentiation *d, firnc_value dy) {
    const firnc_value a = d->node->inputs[FIRN_MULTIPLY_IN_A], b = d->node->inputs[FIRN_MULTIPLY_IN_B];
    if (wanted(d, FIRN_MULTIPLY_IN_A)) {
        uint8_t type = gradient_type(d, a);
        contribute(d, FIRN_MULTIPLY_IN_A, emit(d, FIRN_OP_multiply, (firnc_value[]){dy, b}, 2, NULL, NULL, &type));
    }
    if (wanted(d, FIRN_MULTIPLY_IN_B)) {
        bool repeated = shape_of(d, b)->rank < shape_of(d, a)->rank;
        uint8_t type = repeated ? (uint8_t)FIRN_FLOAT32 : gradient_type(d, b);
        contribute_repeated(d, FIRN_MULTIPLY_IN_B,
                            emit(d, FIRN_OP_multiply, (firnc_value[]){dy, a}, 2, NULL, NULL, &type));
    }
    return true;
}

/* Gain and bias are float32 tables that the affine part reads in its own type: their gradients are those of half
 * copies. */
static uint8_t type_of_affine_gradient(const differentiation *d, int64_t affine) {
    return firn_type_is_half((uint8_t)affine) ? (uint8_t)d->compilation->job->precision.gradient_type
                                              : (uint8_t)FIRN_FLOAT32;
}

static bool firnc_gradient_layer_norm(differentiation *d, firnc_value dy) {
    const uint8_t type = type_of_affine_gradient(d, d->node->integers[FIRN_LAYER_NORM_AFFINE]);
    if (wanted(d, FIRN_LAYER_NORM_IN_GAIN) || wanted(d, FIRN_LAYER_NORM_IN_BIAS))
        apply(d, FIRN_OP_layer_norm_backward_affine, dy, &type);
    if (wanted(d, FIRN_LAYER_NORM_IN_X))
        apply(d, FIRN_OP_layer_norm_backward, dy, NULL);
    return true;
}

static bool firnc_gradient_rms_norm(differentiation *d, firnc_value dy) {
    const uint8_t type = type_of_affine_gradient(d, d->node->integers[FIRN_RMS_NORM_AFFINE]);
    if (wanted(d, FIRN_RMS_NORM_IN_GAIN))
        apply(d, FIRN_OP_rms_norm_backward_gain, dy, &type);
    if (wanted(d, FIRN_RMS_NORM_IN_X))
        apply(d, FIRN_OP_rms_norm_backward, dy, NULL);
    return true;
}

static bool firnc_gradient_dropout(differentiation *d, firnc_value dy) {
    uint8_t type = shape_of(d, dy)->type;
    contribute(d, FIRN_DROPOUT_IN_X, emit(d, FIRN_OP_dropout, &dy, 1, d->node->integers, d->node->reals, &type));
    return true;
}

/* --- gradients of ops that move elements -------------------------------------------------------------------------- */

/* Adds an op whose result has the type of dy, and contributes it. */
static void contribute_of(differentiation *d, uint8_t operand, uint16_t code, const firnc_value *inputs,
                          uint8_t input_count, const int64_t *integers) {
    const uint8_t type = shape_of(d, inputs[0])->type;
    contribute(d, operand, emit(d, code, inputs, input_count, integers, NULL, &type));
}

/* The extents of an input as eight attributes. */
static void extents_as_attributes(const differentiation *d, uint8_t operand, int64_t *integers) {
    for (uint8_t i = 0; i < FIRN_RANK_MAX; i++)
        integers[i] = shape_of(d, d->node->inputs[operand])->dims[i];
}

static bool firnc_gradient_reshape(differentiation *d, firnc_value dy) {
    int64_t integers[FIRN_RANK_MAX];
    extents_as_attributes(d, FIRN_RESHAPE_IN_X, integers);
    contribute_of(d, FIRN_RESHAPE_IN_X, FIRN_OP_reshape, &dy, 1, integers);
    return true;
}

static bool firnc_gradient_transpose(differentiation *d, firnc_value dy) {
    int64_t back = 0;
    for (uint8_t i = 0; i < shape_of(d, dy)->rank; i++)
        back |= (int64_t)i << 4 * (d->node->integers[FIRN_TRANSPOSE_ORDER] >> 4 * i & 15);
    contribute_of(d, FIRN_TRANSPOSE_IN_X, FIRN_OP_transpose, &dy, 1, &back);
    return true;
}

static bool firnc_gradient_slice(differentiation *d, firnc_value dy) {
    const int64_t *given = d->node->integers, axis = given[FIRN_SLICE_AXIS];
    const int64_t integers[] = {[FIRN_SLICE_BACKWARD_AXIS] = axis,
                                [FIRN_SLICE_BACKWARD_FIRST] = given[FIRN_SLICE_FIRST],
                                [FIRN_SLICE_BACKWARD_STEP] = given[FIRN_SLICE_STEP],
                                [FIRN_SLICE_BACKWARD_EXTENT] =
                                    shape_of(d, d->node->inputs[FIRN_SLICE_IN_X])->dims[axis]};
    contribute_of(d, FIRN_SLICE_IN_X, FIRN_OP_slice_backward, &dy, 1, integers);
    return true;
}

/* Contributes the part of dy along an axis that has the extent of the input. */
static void contribute_part(differentiation *d, uint8_t operand, firnc_value dy, int64_t axis, int64_t first) {
    const int64_t integers[] = {[FIRN_SLICE_AXIS] = axis,
                                [FIRN_SLICE_FIRST] = first,
                                [FIRN_SLICE_STEP] = 1,
                                [FIRN_SLICE_COUNT] = shape_of(d, d->node->inputs[operand])->dims[axis]};
    contribute_of(d, operand, FIRN_OP_slice, &dy, 1, integers);
}

static bool firnc_gradient_pad(differentiation *d, firnc_value dy) {
    contribute_part(d, FIRN_PAD_IN_X, dy, d->node->integers[FIRN_PAD_AXIS], d->node->integers[FIRN_PAD_BEFORE]);
    return true;
}

static bool firnc_gradient_concat(differentiation *d, firnc_value dy) {
    const int64_t axis = d->node->integers[FIRN_CONCAT_AXIS];
    int64_t first = 0;
    for (uint8_t i = 0; i < d->node->input_count; i++) {
        if (wanted(d, i))
            contribute_part(d, i, dy, axis, first);
        first += shape_of(d, d->node->inputs[i])->dims[axis];
    }
    return true;
}

static bool firnc_gradient_expand(differentiation *d, firnc_value dy) {
    int64_t integers[FIRN_RANK_MAX];
    const uint8_t type = gradient_type(d, d->node->inputs[FIRN_EXPAND_IN_X]);
    extents_as_attributes(d, FIRN_EXPAND_IN_X, integers);
    contribute(d, FIRN_EXPAND_IN_X, emit(d, FIRN_OP_expand_backward, &dy, 1, integers, NULL, &type));
    return true;
}

/* Contributes what a gather adds up in float32, for x. */
static void contribute_gathered(differentiation *d, uint16_t code, firnc_value dy) {
    const int64_t axis = d->node->integers[FIRN_GATHER_AXIS];
    const int64_t integers[] = {[FIRN_GATHER_BACKWARD_AXIS] = axis,
                                [FIRN_GATHER_BACKWARD_EXTENT] =
                                    shape_of(d, d->node->inputs[FIRN_GATHER_IN_X])->dims[axis]};
    const firnc_value inputs[] = {
        [FIRN_GATHER_BACKWARD_IN_DY] = dy, [FIRN_GATHER_BACKWARD_IN_IDS] = d->node->inputs[FIRN_GATHER_IN_IDS]};
    const uint8_t type = FIRN_FLOAT32;
    contribute(d, FIRN_GATHER_IN_X, emit(d, code, inputs, 2, integers, NULL, &type));
}

static bool firnc_gradient_gather(differentiation *d, firnc_value dy) {
    contribute_gathered(d, FIRN_OP_gather_backward, dy);
    return true;
}

_Static_assert((int)FIRN_GATHER_AXIS == (int)FIRN_GATHER_ELEMENTS_AXIS &&
                   (int)FIRN_GATHER_IN_X == (int)FIRN_GATHER_ELEMENTS_IN_X &&
                   (int)FIRN_GATHER_IN_IDS == (int)FIRN_GATHER_ELEMENTS_IN_IDS &&
                   (int)FIRN_GATHER_BACKWARD_AXIS == (int)FIRN_GATHER_ELEMENTS_BACKWARD_AXIS &&
                   (int)FIRN_GATHER_BACKWARD_EXTENT == (int)FIRN_GATHER_ELEMENTS_BACKWARD_EXTENT &&
                   (int)FIRN_GATHER_BACKWARD_IN_DY == (int)FIRN_GATHER_ELEMENTS_BACKWARD_IN_DY &&
                   (int)FIRN_GATHER_BACKWARD_IN_IDS == (int)FIRN_GATHER_ELEMENTS_BACKWARD_IN_IDS,
               "one rule for both");

static bool firnc_gradient_gather_elements(differentiation *d, firnc_value dy) {
    contribute_gathered(d, FIRN_OP_gather_elements_backward, dy);
    return true;
}

static bool firnc_gradient_scatter_nd(differentiation *d, firnc_value dy) {
    const firnc_value inputs[] = {dy, d->node->inputs[FIRN_SCATTER_ND_IN_IDS]};
    const bool add = d->node->integers[FIRN_SCATTER_ND_ADD] == 1;
    const uint8_t type = shape_of(d, dy)->type;
    if (add && wanted(d, FIRN_SCATTER_ND_IN_DATA))
        contribute(d, FIRN_SCATTER_ND_IN_DATA, dy);
    if (add && wanted(d, FIRN_SCATTER_ND_IN_UPDATES))
        contribute_of(d, FIRN_SCATTER_ND_IN_UPDATES, FIRN_OP_scatter_nd_backward_updates, inputs, 2, NULL);
    if (!add)
        apply(d, FIRN_OP_scatter_nd_backward, dy, &type);
    return true;
}

/* Each element counts in the sums behind it, so its gradient is the sum from the other end. */
static bool firnc_gradient_cumulative_sum(differentiation *d, firnc_value dy) {
    const int64_t *given = d->node->integers;
    const int64_t integers[] = {[FIRN_CUMULATIVE_SUM_AXIS] = given[FIRN_CUMULATIVE_SUM_AXIS],
                                [FIRN_CUMULATIVE_SUM_EXCLUSIVE] = given[FIRN_CUMULATIVE_SUM_EXCLUSIVE],
                                [FIRN_CUMULATIVE_SUM_REVERSE] = given[FIRN_CUMULATIVE_SUM_REVERSE] == 0};
    contribute_of(d, FIRN_CUMULATIVE_SUM_IN_X, FIRN_OP_cumulative_sum, &dy, 1, integers);
    return true;
}

static gradient_rule find_rule(uint16_t code) {
    static const struct {
        uint16_t code;
        gradient_rule rule;
    } rules[] = {
#define FIRN_OP(name, code, rule, gradient, ...) {(code), firnc_gradient_##gradient},
#include "plan/ops.def"
#undef FIRN_OP
    };
    for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++)
        if (rules[i].code == code)
            return rules[i].rule;
    return firnc_gradient_none;
}

/* --- the walk ----------------------------------------------------------------------------------------------------- */

/* Adds up the contributions to a value. */
static void complete(differentiation *d, firnc_value value) {
    firnc_value total = FIRNC_NONE;
    for (const contribution *c = d->contributions[value]; c != NULL; c = c->next) {
        if (c->embedding != NULL)
            continue;
        if (total == FIRNC_NONE) {
            total = c->gradient;
            continue;
        }
        uint8_t type = shape_of(d, total)->type;
        total = emit(d, FIRN_OP_add, (firnc_value[]){total, c->gradient}, 2, NULL, NULL, &type);
    }
    for (const contribution *c = d->contributions[value]; c != NULL; c = c->next) {
        if (c->embedding == NULL)
            continue;
        int64_t rows = shape_of(d, value)->dims[0];
        uint8_t type = FIRN_FLOAT32;
        const firnc_value inputs[] = {[FIRN_EMBEDDING_BACKWARD_IN_IDS] = c->embedding->inputs[FIRN_EMBEDDING_IN_IDS],
                                      [FIRN_EMBEDDING_BACKWARD_IN_DY] = c->gradient,
                                      [FIRN_EMBEDDING_BACKWARD_IN_START] = total};
        total = emit(d, FIRN_OP_embedding_backward, inputs, FIRN_EMBEDDING_BACKWARD_IN_START + 1, &rows, NULL, &type);
    }
    d->gradients[value] = total;
}

/* Marks the values that depend on a parameter, and finds the first consumer of each value. */
static void survey(differentiation *d) {
    const firnc_graph *graph = d->graph;
    d->value_count = graph->value_count;
    d->wanted = firnc_allocate(d->value_count * sizeof *d->wanted);
    d->first_consumer = firnc_allocate(d->value_count * sizeof *d->first_consumer);
    d->contributions = firnc_allocate(d->value_count * sizeof(contribution *));
    d->gradients = firnc_allocate(d->value_count * sizeof *d->gradients);
    for (firnc_value i = 0; i < d->value_count; i++) {
        d->wanted[i] = firnc_is_trained(&graph->values[i]);
        d->first_consumer[i] = FIRNC_NONE;
        d->gradients[i] = FIRNC_NONE;
    }
    for (uint32_t i = 0; i < graph->node_count; i++) {
        const firnc_node *node = &graph->nodes[i];
        for (uint8_t j = 0; j < node->input_count; j++) {
            if (node->inputs[j] == FIRNC_NONE)
                continue;
            if (d->first_consumer[node->inputs[j]] == FIRNC_NONE)
                d->first_consumer[node->inputs[j]] = i;
            if (d->wanted[node->inputs[j]])
                d->wanted[node->outputs[0]] = true;
        }
    }
}

static bool walk(differentiation *d, uint32_t index) {
    const firnc_node *node = &d->forward[index];
    d->node = node;
    d->index = index;
    firnc_value dy = d->gradients[node->outputs[0]];
    if (dy != FIRNC_NONE && d->wanted[node->outputs[0]] && !find_rule(node->code)(d, dy))
        return false;
    for (uint8_t i = 0; i < node->input_count; i++)
        if (node->inputs[i] != FIRNC_NONE && d->first_consumer[node->inputs[i]] == index &&
            d->gradients[node->inputs[i]] == FIRNC_NONE)
            complete(d, node->inputs[i]);
    return true;
}

/* Names the gradient of each parameter after it. Fails if a parameter has no gradient, or if two share one. */
static bool name_gradients(differentiation *d) {
    firnc_graph *graph = d->graph;
    for (firnc_value i = 0; i < d->value_count; i++) {
        firnc_value_info *parameter = &graph->values[i];
        if (!firnc_is_trained(parameter))
            continue;
        if (d->gradients[i] == FIRNC_NONE)
            return firnc_fail(d->compilation, "parameter %s does not reach the loss; leave it out of the model",
                              parameter->name);
        firnc_value_info *gradient = &graph->values[d->gradients[i]];
        if (gradient->role == FIRNC_ROLE_GRADIENT)
            return firnc_fail(d->compilation, "parameters share one gradient (%s); this is a limit of firnc",
                              gradient->name);
        gradient->role = FIRNC_ROLE_GRADIENT;
        gradient->name = firnc_format("gradient.%s", parameter->name);
        parameter->gradient = d->gradients[i];
    }
    return true;
}

bool firnc_differentiate(firnc_compilation *compilation) {
    firnc_graph *graph = compilation->graph;
    differentiation d = {.compilation = compilation, .graph = graph};
    if (!firnc_mark_frozen(compilation))
        return false;
    survey(&d);

    uint32_t forward_nodes = graph->node_count;
    uint32_t loss_producer = graph->values[graph->loss].producer;
    d.forward = graph->nodes;
    d.node = &d.forward[loss_producer];
    uint8_t type = FIRN_FLOAT32;
    const float factor = 1; /* the training pass sets the factor and the scale */
    d.gradients[graph->loss] = emit(&d, FIRN_OP_loss_seed, NULL, 0, NULL, &factor, &type);
    for (uint32_t i = forward_nodes; i > 0; i--)
        if (!walk(&d, i - 1))
            return false;
    return name_gradients(&d);
}
