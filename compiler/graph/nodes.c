/* Helpers that several passes share: rebuilding the node list, values sorted by name, new state, name patterns.
 * Decisions about a run belong in the passes. */
#include <stdlib.h>
#include <string.h>

#include "compiler/graph/ir.h"

firnc_node_list firnc_take_nodes(firnc_graph *graph) {
    firnc_node_list list = {.nodes = graph->nodes, .count = graph->node_count};
    graph->nodes = NULL;
    graph->node_count = 0;
    graph->node_capacity = 0;
    return list;
}

/* True if the node changes this output in place: it is also one of its inputs. */
bool firnc_output_is_input(const firnc_node *node, uint8_t output) {
    for (uint8_t i = 0; i < node->input_count; i++)
        if (node->inputs[i] == node->outputs[output])
            return true;
    return false;
}

void firnc_put_node(firnc_graph *graph, const firnc_node *node) {
    graph->nodes = firnc_grown(graph->nodes, graph->node_count, &graph->node_capacity, sizeof *graph->nodes);
    uint32_t index = graph->node_count++;
    graph->nodes[index] = *node;
    for (uint8_t i = 0; i < node->output_count; i++)
        if (!firnc_output_is_input(node, i))
            graph->values[node->outputs[i]].producer = index;
}

bool firnc_is_state(uint8_t role) {
    return firnc_is_of_model(role) || role == FIRNC_ROLE_OPTIMIZER_STATE || role == FIRNC_ROLE_COUNTER ||
           role == FIRNC_ROLE_CACHE;
}

bool firnc_is_constant(uint8_t role) {
    return role == FIRNC_ROLE_CONSTANT || firnc_is_kept(role);
}

bool firnc_is_state_value(const firnc_value_info *value) {
    return firnc_is_state(value->role) && value->base == FIRNC_NONE;
}

/* A value with its name, because qsort passes no context to the comparison. */
typedef struct named_value {
    const char *name;
    firnc_value value;
} named_value;

static int by_name(const void *a, const void *b) {
    return strcmp(((const named_value *)a)->name, ((const named_value *)b)->name);
}

uint32_t firnc_sorted_values(const firnc_graph *graph, bool (*wanted)(uint8_t role), firnc_value **sorted) {
    named_value *named = firnc_allocate(graph->value_count * sizeof *named);
    uint32_t count = 0;
    for (firnc_value i = 0; i < graph->value_count; i++)
        if (wanted(graph->values[i].role) && graph->values[i].base == FIRNC_NONE)
            named[count++] = (named_value){.name = graph->values[i].name, .value = i};
    qsort(named, count, sizeof *named, by_name);
    *sorted = firnc_allocate((uint64_t)count * sizeof **sorted);
    for (uint32_t i = 0; i < count; i++)
        (*sorted)[i] = named[i].value;
    return count;
}

bool firnc_is_parameter(uint8_t role) {
    return role == FIRNC_ROLE_PARAMETER;
}

bool firnc_is_of_model(uint8_t role) {
    return role == FIRNC_ROLE_PARAMETER || role == FIRNC_ROLE_BUFFER;
}

bool firnc_is_frozen(uint8_t role) {
    return role == FIRNC_ROLE_FROZEN;
}

bool firnc_is_kept(uint8_t role) {
    return firnc_is_frozen(role) || role == FIRNC_ROLE_STATISTIC;
}

bool firnc_is_weight(uint8_t role) {
    return firnc_is_of_model(role) || firnc_is_frozen(role);
}

bool firnc_ends_with(const firn_shape *a, const firn_shape *b) {
    if (b->rank > a->rank)
        return false;
    for (uint8_t i = 0; i < b->rank; i++)
        if (a->dims[a->rank - b->rank + i] != b->dims[i])
            return false;
    return true;
}

void firnc_choose_general_op(const firnc_graph *graph, firnc_node *node) {
    if (node->code != FIRN_OP_add && node->code != FIRN_OP_multiply)
        return;
    const firnc_value a = node->inputs[0], b = node->inputs[1];
    const firn_shape *first = &graph->values[a].shape, *second = &graph->values[b].shape;
    if (firnc_ends_with(first, second))
        return;
    if (firnc_ends_with(second, first)) {
        node->inputs[0] = b;
        node->inputs[1] = a;
    } else {
        node->code = node->code == FIRN_OP_add ? FIRN_OP_broadcast_add : FIRN_OP_broadcast_multiply;
    }
}

firn_shape firnc_scalar(firn_type type) {
    return (firn_shape){.type = (uint8_t)type, .rank = 1, .dims = {1}};
}

firnc_value firnc_state_new(firnc_graph *graph, const char *name, uint8_t role, firn_shape shape, float initial) {
    firnc_value value = firnc_value_new(graph, name, role, shape);
    graph->values[value].initialised = true;
    graph->values[value].init = (firnc_init){.rule = FIRNC_INIT_CONSTANT, .a = initial};
    return value;
}

firnc_value firnc_counter_new(firnc_graph *graph, const char *name) {
    return firnc_state_new(graph, name, FIRNC_ROLE_COUNTER, firnc_scalar(FIRN_INT64), 0);
}

/* Matches without recursion: after a mismatch the last '*' takes one more character. */
bool firnc_name_matches(const char *pattern, const char *name) {
    const char *star = NULL, *resume = NULL;
    while (*name != '\0') {
        if (*pattern == '*') {
            star = ++pattern;
            resume = name;
        } else if (*pattern == '?' || *pattern == *name) {
            pattern++;
            name++;
        } else if (star != NULL) {
            pattern = star;
            name = ++resume;
        } else {
            return false;
        }
    }
    while (*pattern == '*')
        pattern++;
    return *pattern == '\0';
}

bool firnc_layer_exists(const firnc_graph *graph, const char *pattern) {
    for (uint32_t i = 0; i < graph->node_count; i++)
        if (firnc_name_matches(pattern, graph->nodes[i].name))
            return true;
    return false;
}

const char *firnc_pol_origin_word(uint8_t origin) {
    static const char *const words[] = {
        [FIRNC_ORIGIN_NONE] = "none",   [FIRNC_ORIGIN_GLOBAL] = "global", [FIRNC_ORIGIN_PATTERN] = "pattern",
        [FIRNC_ORIGIN_SCOPE] = "scope", [FIRNC_ORIGIN_CALL] = "call",     [FIRNC_ORIGIN_RULE] = "rule"};
    return words[origin];
}

uint64_t firnc_state_bytes(const firnc_graph *graph) {
    return graph->region_bytes[FIRNC_IN_PARAMETERS] + graph->region_bytes[FIRNC_IN_OPTIMIZER] +
           graph->region_bytes[FIRNC_IN_SESSION];
}
