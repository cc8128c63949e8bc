/* The logits pass (train). In: the whole step, without dead ops. Out: the same step, in which logits that only the
 * cross-entropy and its gradient read are computed, used and given up by blocks of rows: one op, linear_cross_entropy,
 * stands for the product that gives them, the loss, its gradient, and the two products of that gradient. Or the step as
 * it was. No bit of any result may change: the sum of the weight's gradient continues from block to block, in float32,
 * and a block has whole chunks of it.
 *
 * Each block reads and writes the gradient of the weight once and packs the weight anew, so blocks have many rows, and
 * only large logits are divided, and only where the arena becomes smaller. The job may ask for other rows, or none. */
#include <string.h>

#include "compiler/passes/passes.h"
#include "compiler/passes/pol_meaning.h"

#define LOGITS_LEAST ((uint64_t)16 << 20) /* bytes: smaller logits stay whole unless the job says how many rows */
#define BLOCK_ROWS   512U                 /* with so many the step does not take longer (runtime/SPEED.md) */
#define UNIT_ROWS    32U                  /* a block of fewer rows, or of no multiple, is none that the op may have */

/* The nodes that one op replaces. */
typedef struct head {
    const firnc_node *linear, *loss, *gradient, *input, *weight;
} head;

typedef struct heads {
    firnc_graph *graph;
    firnc_node_list list; /* the step as it came */
    uint32_t *readers;    /* for each value: how many operands read it, and the plan, if it names it */
    bool *replaced;       /* for each node */
} heads;

static void survey(heads *h) {
    const firnc_graph *graph = h->graph;
    h->readers = firnc_allocate(graph->value_count * sizeof *h->readers);
    h->replaced = firnc_allocate(h->list.count * sizeof *h->replaced);
    for (uint32_t i = 0; i < graph->output_count; i++)
        h->readers[graph->outputs[i]]++;
    for (uint32_t i = 0; i < h->list.count; i++)
        for (uint8_t j = 0; j < h->list.nodes[i].input_count; j++)
            if (h->list.nodes[i].inputs[j] != FIRNC_NONE)
                h->readers[h->list.nodes[i].inputs[j]]++;
}

static bool is_weighted(const firnc_node *loss) {
    return loss->code == FIRN_OP_cross_entropy_weighted;
}

/* The node behind `from` that reads a value in this place and has this code; NULL if there is none. */
static const firnc_node *find_reader(const heads *h, const firnc_node *from, firnc_value value, uint8_t place,
                                     uint16_t code) {
    for (const firnc_node *node = from + 1; node < h->list.nodes + h->list.count; node++)
        if (node->code == code && node->phase == from->phase && node->inputs[place] == value)
            return node;
    return NULL;
}

_Static_assert(FIRN_CROSS_ENTROPY_IN_LOGITS == FIRN_CROSS_ENTROPY_WEIGHTED_IN_LOGITS &&
                   FIRN_CROSS_ENTROPY_IN_LABELS == FIRN_CROSS_ENTROPY_WEIGHTED_IN_LABELS &&
                   FIRN_CROSS_ENTROPY_OUT_LOSS == FIRN_CROSS_ENTROPY_WEIGHTED_OUT_LOSS &&
                   FIRN_CROSS_ENTROPY_BACKWARD_IN_LOGITS == FIRN_CROSS_ENTROPY_WEIGHTED_BACKWARD_IN_LOGITS &&
                   FIRN_CROSS_ENTROPY_BACKWARD_IN_DLOSS == FIRN_CROSS_ENTROPY_WEIGHTED_BACKWARD_IN_DLOSS,
               "both losses have these in the same places");

/* Whether the gradient alone reads what the loss leaves for it. A later reader of the loss may follow the gradient. */
static bool are_alone(const heads *h, const head *it) {
    const firnc_node *loss = it->loss;
    const uint32_t place = (uint32_t)(it->gradient - h->list.nodes);
    for (uint8_t j = 1; j < loss->output_count; j++)
        if (h->readers[loss->outputs[j]] > 1)
            return false;
    for (const firnc_node *node = loss; node < h->list.nodes + place; node++)
        for (uint8_t j = 0; j < node->input_count; j++)
            if (node->inputs[j] == loss->outputs[FIRN_CROSS_ENTROPY_OUT_LOSS])
                return false;
    return h->readers[loss->inputs[FIRN_CROSS_ENTROPY_IN_LOGITS]] == 2 && h->readers[it->gradient->outputs[0]] == 2;
}

/* Whether the factors of all products have one type, as the op needs them. */
static bool have_types(const firnc_graph *graph, const head *it) {
    const uint8_t type = graph->values[it->linear->inputs[FIRN_LINEAR_IN_X]].shape.type;
    return graph->values[it->linear->outputs[0]].shape.type == type &&
           graph->values[it->input->outputs[0]].shape.type == type;
}

/* Finds the nodes around a loss. False if they are not as the op needs them. */
static bool find_head(const heads *h, uint32_t index, head *it) {
    const firnc_graph *graph = h->graph;
    const firnc_node *loss = &h->list.nodes[index];
    if (loss->code != FIRN_OP_cross_entropy && !is_weighted(loss))
        return false;
    const firnc_value logits = loss->inputs[FIRN_CROSS_ENTROPY_IN_LOGITS];
    const uint32_t producer = graph->values[logits].producer;
    if (producer == FIRNC_NONE || loss->phase != FIRNC_PHASE_MICRO_BATCH)
        return false;
    const firnc_node *linear = &h->list.nodes[producer];
    if (linear->code != FIRN_OP_linear || linear->phase != loss->phase || linear->input_count != 2)
        return false;
    const uint16_t backward =
        is_weighted(loss) ? FIRN_OP_cross_entropy_weighted_backward : FIRN_OP_cross_entropy_backward;
    const firnc_node *gradient = find_reader(h, loss, logits, FIRN_CROSS_ENTROPY_BACKWARD_IN_LOGITS, backward);
    if (gradient == NULL)
        return false;
    const firnc_value dlogits = gradient->outputs[0];
    *it = (head){
        .linear = linear,
        .loss = loss,
        .gradient = gradient,
        .input = find_reader(h, gradient, dlogits, FIRN_LINEAR_BACKWARD_INPUT_IN_DY, FIRN_OP_linear_backward_input),
        .weight = find_reader(h, gradient, dlogits, FIRN_LINEAR_BACKWARD_WEIGHT_IN_DY, FIRN_OP_linear_backward_weight)};
    return it->input != NULL && it->weight != NULL && are_alone(h, it) && have_types(graph, it) &&
           it->input->inputs[FIRN_LINEAR_BACKWARD_INPUT_IN_WEIGHT] == linear->inputs[FIRN_LINEAR_IN_WEIGHT] &&
           it->weight->inputs[FIRN_LINEAR_BACKWARD_WEIGHT_IN_X] == linear->inputs[FIRN_LINEAR_IN_X] &&
           it->weight->level == it->input->level;
}

/* --- rows --------------------------------------------------------------------------------------------------------- */

/* The terms of a chunk of the weight's gradient, 0 if it has none. */
static uint32_t chunk_of(const firnc_compilation *compilation, const head *it) {
    const uint8_t type = compilation->graph->values[it->linear->inputs[FIRN_LINEAR_IN_X]].shape.type;
    const firnc_target *target = firnc_target_find(compilation->job->target);
    const firnc_pol_question question = {.pol = FIRN_POL_product,
                                         .level = it->weight->level,
                                         .type = type,
                                         .half = type,
                                         .target = target,
                                         .emulate = compilation->job->precision.emulate};
    return target == NULL ? 0 : firnc_pol_meaning_of(&question).chunk;
}

/* The rows of a block, whole chunks; 0: the logits stay whole. */
static uint32_t rows_of_block(const firnc_compilation *compilation, const head *it) {
    const firn_shape *logits = &compilation->graph->values[it->linear->outputs[0]].shape;
    const uint32_t asked = compilation->job->logit_rows, chunk = chunk_of(compilation, it);
    uint64_t bytes = 0, unit = UNIT_ROWS;
    while (chunk != 0 && unit % chunk != 0)
        unit += UNIT_ROWS;
    if (!firn_shape_bytes(logits, &bytes) || (asked == 0 && bytes < LOGITS_LEAST))
        return 0;
    const uint64_t all = bytes / firn_type_bytes(logits->type) / logits->dims[logits->rank - 1];
    const uint64_t wanted = asked != 0 ? asked : BLOCK_ROWS, rows = (wanted + unit - 1) / unit * unit;
    return rows < all ? (uint32_t)rows : 0;
}

/* --- the op ------------------------------------------------------------------------------------------------------- */

static firnc_value scratch(firnc_graph *graph, const head *it, const char *what, uint8_t type, uint32_t rows,
                           uint32_t columns) {
    const char *name = firnc_format("%s.%s", it->linear->name, what);
    return firnc_value_new(graph, name, FIRNC_ROLE_SCRATCH,
                           (firn_shape){.type = type, .rank = 2, .dims = {rows, columns}});
}

_Static_assert((int)FIRN_LINEAR_CROSS_ENTROPY_IN_WEIGHTS == (int)FIRN_LINEAR_CROSS_ENTROPY_IN_DLOSS + 1 &&
                   (int)FIRN_LINEAR_CROSS_ENTROPY_IN_BATCH_DIVISOR == (int)FIRN_LINEAR_CROSS_ENTROPY_IN_WEIGHTS + 1 &&
                   (int)FIRN_CROSS_ENTROPY_WEIGHTED_IN_BATCH_DIVISOR ==
                       (int)FIRN_CROSS_ENTROPY_WEIGHTED_IN_WEIGHTS + 1 &&
                   (int)FIRN_CROSS_ENTROPY_WEIGHTED_LABEL_SMOOTHING == (int)FIRN_LINEAR_CROSS_ENTROPY_LABEL_SMOOTHING &&
                   (int)FIRN_CROSS_ENTROPY_WEIGHTED_FACTOR == (int)FIRN_LINEAR_CROSS_ENTROPY_FACTOR,
               "the op has the numbers of the weighted loss");

static void set_loss(firnc_node *node, const firnc_node *loss) {
    node->integers[FIRN_LINEAR_CROSS_ENTROPY_IGNORE_INDEX] = -1;
    node->reals[FIRN_LINEAR_CROSS_ENTROPY_FACTOR] = 1.0f;
    if (!is_weighted(loss))
        return;
    node->integers[FIRN_LINEAR_CROSS_ENTROPY_WEIGHTED] = 1;
    node->integers[FIRN_LINEAR_CROSS_ENTROPY_IGNORE_INDEX] = loss->integers[FIRN_CROSS_ENTROPY_WEIGHTED_IGNORE_INDEX];
    node->integers[FIRN_LINEAR_CROSS_ENTROPY_SCALING] = loss->integers[FIRN_CROSS_ENTROPY_WEIGHTED_SCALING];
    memcpy(node->reals, loss->reals, 2 * sizeof node->reals[0]);
    for (uint8_t i = FIRN_CROSS_ENTROPY_WEIGHTED_IN_WEIGHTS; i < loss->input_count; i++)
        node->inputs[node->input_count++] = loss->inputs[i];
}

/* The gradient of the weight is float32, in which its sum continues from block to block; where it has another type, it
 * is rounded behind the op, as the product would have rounded it. */
static firnc_value sum_of_weight(firnc_graph *graph, const head *it) {
    const firnc_value gradient = it->weight->outputs[0];
    firn_shape shape = graph->values[gradient].shape;
    if (shape.type == FIRN_FLOAT32)
        return gradient;
    shape.type = FIRN_FLOAT32;
    return firnc_value_new(graph, firnc_format("%s.sum", graph->values[gradient].name), FIRNC_ROLE_GRADIENT, shape);
}

static firnc_node make_rounding(const head *it, firnc_value sum) {
    firnc_node cast = {.code = FIRN_OP_cast,
                       .phase = it->weight->phase,
                       .input_count = 1,
                       .output_count = 1,
                       .name = it->weight->name,
                       .backward = true};
    cast.inputs[FIRN_CAST_IN_X] = sum;
    cast.outputs[FIRN_CAST_OUT_Y] = it->weight->outputs[0];
    return cast;
}

static firnc_node make_node(firnc_graph *graph, const head *it, uint32_t rows) {
    const firn_shape logits = graph->values[it->linear->outputs[0]].shape;
    const uint32_t classes = logits.dims[logits.rank - 1];
    firnc_node node = {.code = FIRN_OP_linear_cross_entropy,
                       .phase = it->linear->phase,
                       .input_count = FIRN_LINEAR_CROSS_ENTROPY_IN_DLOSS + 1,
                       .output_count = FIRN_LINEAR_CROSS_ENTROPY_OUT_VALUES + 1,
                       .name = it->linear->name,
                       .backward = true,
                       .forward_level = it->linear->level,
                       .forward_origin = it->linear->origin,
                       .level = it->weight->level,
                       .origin = it->weight->origin};
    node.inputs[FIRN_LINEAR_CROSS_ENTROPY_IN_X] = it->linear->inputs[FIRN_LINEAR_IN_X];
    node.inputs[FIRN_LINEAR_CROSS_ENTROPY_IN_WEIGHT] = it->linear->inputs[FIRN_LINEAR_IN_WEIGHT];
    node.inputs[FIRN_LINEAR_CROSS_ENTROPY_IN_LABELS] = it->loss->inputs[FIRN_CROSS_ENTROPY_IN_LABELS];
    node.inputs[FIRN_LINEAR_CROSS_ENTROPY_IN_DLOSS] = it->gradient->inputs[FIRN_CROSS_ENTROPY_BACKWARD_IN_DLOSS];
    node.outputs[FIRN_LINEAR_CROSS_ENTROPY_OUT_DWEIGHT] = sum_of_weight(graph, it);
    node.outputs[FIRN_LINEAR_CROSS_ENTROPY_OUT_LOSS] = it->loss->outputs[FIRN_CROSS_ENTROPY_OUT_LOSS];
    node.outputs[FIRN_LINEAR_CROSS_ENTROPY_OUT_DX] = it->input->outputs[0];
    node.outputs[FIRN_LINEAR_CROSS_ENTROPY_OUT_LOGITS] = scratch(graph, it, "logits", logits.type, rows, classes);
    node.outputs[FIRN_LINEAR_CROSS_ENTROPY_OUT_VALUES] = scratch(graph, it, "row values", FIRN_FLOAT32, 3, rows);
    node.integers[FIRN_LINEAR_CROSS_ENTROPY_LAYOUT] = it->linear->integers[FIRN_LINEAR_LAYOUT];
    node.integers[FIRN_LINEAR_CROSS_ENTROPY_CLASSES] = classes;
    node.integers[FIRN_LINEAR_CROSS_ENTROPY_ROWS] = rows;
    node.integers[FIRN_LINEAR_CROSS_ENTROPY_HALF] = firn_type_is_half(logits.type);
    set_loss(&node, it->loss);
    return node;
}

/* --- the pass ----------------------------------------------------------------------------------------------------- */

/* Makes the list with the op in the place of the gradient, behind what it reads. */
static void put_blocks(heads *h, const head *it, uint32_t rows) {
    const firnc_node *const parts[] = {it->linear, it->loss, it->gradient, it->input, it->weight};
    memset(h->replaced, 0, h->list.count * sizeof *h->replaced);
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        h->replaced[parts[i] - h->list.nodes] = true;
    const firnc_node node = make_node(h->graph, it, rows);
    const firnc_value sum = node.outputs[FIRN_LINEAR_CROSS_ENTROPY_OUT_DWEIGHT];
    const firnc_node rounding = make_rounding(it, sum);
    firnc_take_nodes(h->graph);
    for (uint32_t i = 0; i < h->list.count; i++)
        if (&h->list.nodes[i] == it->gradient) {
            firnc_put_node(h->graph, &node);
            if (sum != it->weight->outputs[0])
                firnc_put_node(h->graph, &rounding);
        } else if (!h->replaced[i]) {
            firnc_put_node(h->graph, &h->list.nodes[i]);
        }
}

void firnc_put_list(firnc_graph *graph, const firnc_node_list *list) {
    firnc_take_nodes(graph);
    for (uint32_t i = 0; i < list->count; i++)
        firnc_put_node(graph, &list->nodes[i]);
}

uint64_t firnc_bytes_ahead(firnc_compilation *compilation) {
    firnc_graph *graph = compilation->graph;
    const firnc_node_list list = {.nodes = graph->nodes, .count = graph->node_count};
    const uint32_t count = graph->value_count;
    firnc_value_info *values = firnc_allocate(count * sizeof *values);
    memcpy(values, graph->values, count * sizeof *values);
    firnc_put_list(graph, &list);
    if (compilation->job->mode == FIRNC_TRAIN)
        (void)firnc_update_early(compilation);
    (void)firnc_order(compilation);
    const uint64_t bytes = firnc_live_bytes(graph);
    memcpy(graph->values, values, count * sizeof *values);
    graph->value_count = count;
    firnc_put_list(graph, &list);
    return bytes;
}

bool firnc_block_logits(firnc_compilation *compilation) {
    firnc_graph *graph = compilation->graph;
    heads h = {.graph = graph, .list = {.nodes = graph->nodes, .count = graph->node_count}};
    head it;
    uint32_t rows = 0;
    survey(&h);
    for (uint32_t i = 0; i < h.list.count && rows == 0; i++)
        rows = find_head(&h, i, &it) ? rows_of_block(compilation, &it) : 0;
    if (rows == 0)
        return true;
    const bool asked = compilation->job->logit_rows != 0;
    const uint64_t whole = asked ? UINT64_MAX : firnc_bytes_ahead(compilation);
    put_blocks(&h, &it, rows);
    if (!asked && firnc_bytes_ahead(compilation) >= whole)
        firnc_put_list(graph, &h.list);
    return true;
}
