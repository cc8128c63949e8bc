/* The memory pass. In: the nodes in their final order. Out: the region and offset of every tensor, and the sizes
 * of the regions.
 *
 * Each region of the state holds its tensors by name, each at a multiple of 16, so that the parameters of a train and
 * an eval plan of one model have the same layout. Constants follow each other in the constants of the plan. In the
 * arena, tensors whose lifetimes intersect do not overlap, with one exception: if an op may work in place (the flag ~
 * of an input in plan/ops.def) and is the last use of its input, the output takes the input's bytes. Each tensor of a
 * large arena begins at a cache line, if it is no view. */

#include <stdlib.h>
#include <string.h>

#include "compiler/base/placement.h"
#include "compiler/passes/passes.h"
#include "plan/bytes.h"

#define ALIGNMENT 16

/* What follows a tensor of 16 bytes would lie across cache lines, and a register or a row of a matrix engine takes
 * twice as long to load from there. Where fewer bytes than LARGE live at once, as on a microcontroller, bytes matter
 * more. */
#define LINE  64
#define LARGE (UINT64_C(1) << 20)

static uint64_t bytes_of(const firnc_value_info *value) {
    uint64_t bytes = 0;
    if (!firn_shape_bytes(&value->shape, &bytes))
        return 0; /* cannot happen: every shape has been inferred */
    return bytes;
}

/* --- lifetimes ---------------------------------------------------------------------------------------------------- */

static void touch(firnc_value_info *value, uint32_t node) {
    if (value->last == FIRNC_NONE) {
        value->first = value->role == FIRNC_ROLE_INPUT ? 0 : node; /* the runtime fills inputs before the first op */
        value->last = node;
    } else if (node > value->last) {
        value->last = node;
    }
}

/* What reads a view reads its base. */
static void read_at(firnc_graph *graph, firnc_value value, uint32_t node) {
    touch(&graph->values[value], node);
    if (graph->values[value].base != FIRNC_NONE)
        touch(&graph->values[graph->values[value].base], node);
}

/* Sets first and last of every tensor; a view has those of its base. A value that no op uses keeps FIRNC_NONE in first.
 */
static void find_lifetimes(firnc_graph *graph) {
    for (firnc_value i = 0; i < graph->value_count; i++)
        graph->values[i].first = graph->values[i].last = FIRNC_NONE;
    for (uint32_t i = 0; i < graph->node_count; i++) {
        const firnc_node *node = &graph->nodes[i];
        for (uint8_t j = 0; j < node->input_count; j++)
            if (node->inputs[j] != FIRNC_NONE)
                read_at(graph, node->inputs[j], i);
        for (uint8_t j = 0; j < node->output_count; j++)
            touch(&graph->values[node->outputs[j]], i);
    }
    for (firnc_value i = 0; i < graph->value_count; i++) {
        firnc_value_info *value = &graph->values[i];
        if (value->first != FIRNC_NONE &&
            (value->persistent || firnc_is_state(value->role) || firnc_is_constant(value->role))) {
            value->first = 0;
            value->last = FIRNC_NONE;
        }
    }
    for (firnc_value i = 0; i < graph->value_count; i++) {
        firnc_value_info *view = &graph->values[i];
        if (view->base == FIRNC_NONE || view->first == FIRNC_NONE)
            continue;
        view->first = graph->values[view->base].first;
        view->last = graph->values[view->base].last;
    }
}

/* --- buffers ------------------------------------------------------------------------------------------------------ */

typedef struct buffers {
    firnc_block *list;
    uint32_t count;
    uint32_t *of_value; /* the buffer of each arena value, or FIRNC_NONE */
} buffers;

/* Whether a node reads a value through a view. */
static bool reads_view_of(const firnc_graph *graph, const firnc_node *node, firnc_value value) {
    for (uint8_t i = 0; i < node->input_count; i++)
        if (node->inputs[i] != FIRNC_NONE && graph->values[node->inputs[i]].base == value)
            return true;
    return false;
}

/* The input of node `index` whose bytes output 0 may reuse, or FIRNC_NONE. */
static firnc_value dying_input(const firnc_graph *graph, uint32_t index) {
    const firnc_node *node = &graph->nodes[index];
    const firnc_value_info *output = &graph->values[node->outputs[0]];
    if (firnc_output_is_input(node, 0) || firnc_is_state(output->role) || output->persistent)
        return FIRNC_NONE;
    for (uint8_t i = 0; i < node->input_count; i++) {
        if (node->inputs[i] == FIRNC_NONE)
            continue;
        const firnc_value_info *input = &graph->values[node->inputs[i]];
        if (firn_op_reuses(firn_op_find(node->code), i) && !firnc_is_state(input->role) && input->last == index &&
            input->base == FIRNC_NONE && input->shape.type == output->shape.type &&
            bytes_of(input) == bytes_of(output) && !reads_view_of(graph, node, node->inputs[i]))
            return node->inputs[i];
    }
    return FIRNC_NONE;
}

static bool is_in_arena(const firnc_value_info *value) {
    return !firnc_is_state(value->role) && !firnc_is_constant(value->role);
}

static void add_buffer(buffers *b, const firnc_graph *graph, firnc_value value) {
    const firnc_value_info *info = &graph->values[value];
    b->of_value[value] = b->count;
    b->list[b->count++] =
        (firnc_block){.bytes = firn_round_up(bytes_of(info), ALIGNMENT), .first = info->first, .last = info->last};
}

static void align_to_lines(buffers *b) {
    if (firnc_lower_bound(b->list, b->count) < LARGE)
        return;
    for (uint32_t i = 0; i < b->count; i++)
        b->list[i].bytes = firn_round_up(b->list[i].bytes, LINE);
}

/* Makes one buffer for each arena value, or for each chain of values that ops compute in place. */
static buffers make_buffers(const firnc_graph *graph) {
    buffers b = {.list = firnc_allocate(graph->value_count * sizeof *b.list),
                 .of_value = firnc_allocate(graph->value_count * sizeof *b.of_value)};
    for (firnc_value i = 0; i < graph->value_count; i++)
        b.of_value[i] = FIRNC_NONE;
    for (uint32_t i = 0; i < graph->node_count; i++) {
        const firnc_node *node = &graph->nodes[i];
        firnc_value source = dying_input(graph, i);
        if (source != FIRNC_NONE && b.of_value[source] != FIRNC_NONE) {
            b.of_value[node->outputs[0]] = b.of_value[source];
            b.list[b.of_value[source]].last = graph->values[node->outputs[0]].last;
        }
        for (uint8_t j = 0; j < node->input_count + node->output_count; j++) {
            firnc_value value = j < node->input_count ? node->inputs[j] : node->outputs[j - node->input_count];
            if (value != FIRNC_NONE && graph->values[value].base != FIRNC_NONE)
                value = graph->values[value].base;
            if (value != FIRNC_NONE && is_in_arena(&graph->values[value]) && b.of_value[value] == FIRNC_NONE)
                add_buffer(&b, graph, value);
        }
    }
    align_to_lines(&b);
    return b;
}

uint64_t firnc_live_bytes(firnc_graph *graph) {
    find_lifetimes(graph);
    buffers b = make_buffers(graph);
    return firnc_lower_bound(b.list, b.count);
}

/* --- the pass ----------------------------------------------------------------------------------------------------- */

/* The region of a state value: caches, the position in the data and the sums of a metric are the session's. */
static uint8_t state_region(const firnc_graph *graph, firnc_value value) {
    if (firnc_is_of_model(graph->values[value].role))
        return FIRNC_IN_PARAMETERS;
    const bool session = graph->values[value].role == FIRNC_ROLE_CACHE || value == graph->cursor ||
                         value == graph->metric_sum || value == graph->metric_count;
    return session ? FIRNC_IN_SESSION : FIRNC_IN_OPTIMIZER;
}

static void lay_out_state(firnc_graph *graph) {
    firnc_value *sorted;
    uint32_t count = firnc_sorted_values(graph, firnc_is_state, &sorted);
    for (uint32_t i = 0; i < count; i++) {
        firnc_value_info *value = &graph->values[sorted[i]];
        value->region = state_region(graph, sorted[i]);
        value->offset = graph->region_bytes[value->region];
        value->first = 0;
        value->last = FIRNC_NONE;
        graph->region_bytes[value->region] += firn_round_up(bytes_of(value), ALIGNMENT);
    }
    for (firnc_value i = 0; i < graph->value_count; i++)
        if (graph->values[i].base != FIRNC_NONE)
            graph->values[i].region = graph->values[graph->values[i].base].region;
}

static void put_constant(firnc_graph *graph, firnc_value constant) {
    firnc_value_info *value = &graph->values[constant];
    value->region = FIRNC_IN_CONSTANT;
    value->offset = graph->region_bytes[FIRNC_IN_CONSTANT];
    value->first = 0;
    value->last = FIRNC_NONE;
    graph->region_bytes[FIRNC_IN_CONSTANT] += firn_round_up(bytes_of(value), ALIGNMENT);
}

static bool is_read_constant(const firnc_value_info *value) {
    return value->elements != NULL && value->first != FIRNC_NONE && !firnc_is_kept(value->role);
}

/* The first of the constants that have the bytes of this one. */
static firnc_value first_of_equals(const firnc_graph *graph, firnc_value constant) {
    const firnc_value_info *value = &graph->values[constant];
    const uint64_t bytes = bytes_of(value);
    firnc_value i = 0;
    while (i < constant && !(is_read_constant(&graph->values[i]) && bytes_of(&graph->values[i]) == bytes &&
                             memcmp(graph->values[i].elements, value->elements, (size_t)bytes) == 0))
        i++;
    return i;
}

/* Every frozen weight and statistic by its name, since it is a part of the model, then the constants that some op
 * reads, in the order in which they were made; those with the same bytes are in one place. */
static void lay_out_constants(firnc_graph *graph) {
    firnc_value *sorted;
    const uint32_t count = firnc_sorted_values(graph, firnc_is_kept, &sorted);
    for (uint32_t i = 0; i < count; i++)
        put_constant(graph, sorted[i]);
    for (firnc_value i = 0; i < graph->value_count; i++) {
        if (!is_read_constant(&graph->values[i]))
            continue;
        const firnc_value equal = first_of_equals(graph, i);
        if (equal == i)
            put_constant(graph, i);
        graph->values[i].region = FIRNC_IN_CONSTANT;
        graph->values[i].offset = graph->values[equal].offset;
    }
}

bool firnc_plan_memory(firnc_compilation *compilation) {
    firnc_graph *graph = compilation->graph;
    find_lifetimes(graph);
    buffers b = make_buffers(graph);
    graph->live_bytes = firnc_lower_bound(b.list, b.count);
    graph->region_bytes[FIRNC_IN_ARENA] = firnc_place_buffers(b.list, b.count);
    for (firnc_value i = 0; i < graph->value_count; i++)
        if (b.of_value[i] != FIRNC_NONE) {
            graph->values[i].region = FIRNC_IN_ARENA;
            graph->values[i].offset = b.list[b.of_value[i]].offset;
        }
    lay_out_constants(graph);
    lay_out_state(graph);
    return true;
}
