/* The order pass. In: nodes in topological order. Out: a topological order with a smaller maximum of live memory, or
 * the same order. Nodes must stay in their phase. Every dependence is an operand, those of sums included, so the order
 * changes no bit of a result.
 *
 * Method: list scheduling. Of the nodes that are ready, the next is the one that adds least to the live bytes; the
 * earlier one among equals. */
#include <string.h>

#include "compiler/passes/passes.h"

/* An entry of a linked list of nodes; next is an index, or FIRNC_NONE. */
typedef struct link {
    uint32_t node, next;
} link;

typedef struct scheduler {
    const firnc_graph *graph;
    const firnc_node *nodes;
    uint32_t count;
    firnc_value *wholes; /* for each value: itself, or the base of a view that no node writes, which stands for it */
    uint32_t *waits;     /* for each node, the number of dependences not yet scheduled */
    uint32_t *heads;     /* for each node, the first entry in links of the nodes that depend on it, or FIRNC_NONE */
    uint32_t *uses;      /* for each value, the number of operands not yet scheduled that read it */
    int64_t *bytes;      /* for each value, the bytes that its last use frees; 0 for state and persistent values */
    int64_t *costs;      /* for each node that is ready, the live bytes that it adds */
    uint32_t *ready;     /* the nodes that are ready, as a heap: none comes before its parent, at (place - 1) / 2 */
    uint32_t *places;    /* for each node, its place in the heap, or FIRNC_NONE */
    uint32_t ready_count;
    uint32_t *readers; /* for each value, the first of its readers in read_links, or FIRNC_NONE */
    link *links, *read_links;
    uint32_t link_count, read_link_count;
} scheduler;

static void depend(scheduler *s, uint32_t node, uint32_t on) {
    s->links[s->link_count].node = node;
    s->links[s->link_count].next = s->heads[on];
    s->heads[on] = s->link_count++;
    s->waits[node]++;
}

/* Makes a node depend on the earlier readers of a value. */
static void depend_on_readers(scheduler *s, uint32_t node, const link *readers, uint32_t first) {
    for (uint32_t r = first; r != FIRNC_NONE; r = readers[r].next)
        if (readers[r].node != node)
            depend(s, node, readers[r].node);
}

/* Finds what stands for each value. A view that some node writes is by itself, so that parts of one value may change
 * independently. */
static void find_wholes(scheduler *s) {
    const firnc_graph *graph = s->graph;
    bool *written = firnc_allocate(graph->value_count * sizeof *written);
    for (uint32_t i = 0; i < s->count; i++)
        for (uint8_t j = 0; j < s->nodes[i].output_count; j++)
            written[s->nodes[i].outputs[j]] = true;
    for (firnc_value i = 0; i < graph->value_count; i++)
        s->wholes[i] = graph->values[i].base != FIRNC_NONE && !written[i] ? graph->values[i].base : i;
}

/* What an input of a node reads, or FIRNC_NONE. */
static firnc_value read_by(const scheduler *s, const firnc_node *node, uint8_t input) {
    return node->inputs[input] == FIRNC_NONE ? FIRNC_NONE : s->wholes[node->inputs[input]];
}

/* A node depends on the node that created or last changed each value it reads. A node that changes a value in place, or
 * a view of it, also depends on the earlier readers of that value. So does, though its result does not need it, a node
 * that computes a gradient that is used up at once: where its update has to wait, it would hold its bytes. */
static void find_dependences(scheduler *s) {
    uint32_t values = s->graph->value_count;
    uint32_t *writer = firnc_allocate(values * sizeof *writer);
    link *readers = firnc_allocate((uint64_t)s->count * FIRN_INPUTS_MAX * sizeof *readers);
    uint32_t *first_reader = firnc_allocate(values * sizeof *first_reader), reader_count = 0;
    for (firnc_value i = 0; i < values; i++)
        writer[i] = first_reader[i] = FIRNC_NONE;
    for (uint32_t i = 0; i < s->count; i++) {
        const firnc_node *node = &s->nodes[i];
        for (uint8_t j = 0; j < node->input_count; j++) {
            firnc_value value = read_by(s, node, j);
            if (value == FIRNC_NONE)
                continue;
            if (writer[value] != FIRNC_NONE)
                depend(s, i, writer[value]);
            readers[reader_count].node = i;
            readers[reader_count].next = first_reader[value];
            first_reader[value] = reader_count++;
        }
        for (uint8_t j = 0; j < node->output_count; j++) {
            firnc_value value = node->outputs[j];
            const firnc_value_info *info = &s->graph->values[value];
            depend_on_readers(s, i, readers, first_reader[value]);
            if (info->base != FIRNC_NONE)
                depend_on_readers(s, i, readers, first_reader[info->base]);
            if (info->gradient_of != FIRNC_NONE)
                depend_on_readers(s, i, readers, first_reader[info->gradient_of]);
            writer[value] = i;
            first_reader[value] = FIRNC_NONE;
        }
    }
}

static void count_uses(scheduler *s) {
    const firnc_graph *graph = s->graph;
    for (firnc_value i = 0; i < graph->value_count; i++) {
        const firnc_value_info *value = &graph->values[i];
        uint64_t bytes = 0;
        if (!firnc_is_state(value->role) && !firnc_is_constant(value->role) && !value->persistent &&
            firn_shape_bytes(&value->shape, &bytes))
            s->bytes[i] = (int64_t)bytes;
    }
    for (uint32_t i = 0; i < graph->node_count; i++) /* in every phase: a value that a later phase reads stays live */
        for (uint8_t j = 0; j < graph->nodes[i].input_count; j++) {
            firnc_value value = read_by(s, &graph->nodes[i], j);
            if (value == FIRNC_NONE)
                continue;
            s->uses[value]++;
            s->read_links[s->read_link_count] = (link){.node = i, .next = s->readers[value]};
            s->readers[value] = s->read_link_count++;
        }
}

/* Whether a node uses up a gradient that lives only for it. */
static bool uses_gradient_up(const scheduler *s, const firnc_node *node) {
    for (uint8_t i = 0; i < node->input_count; i++)
        if (node->inputs[i] != FIRNC_NONE && s->graph->values[node->inputs[i]].gradient_of != FIRNC_NONE)
            return true;
    return false;
}

/* Bytes that become live at a node minus those that it frees. A node that uses up a gradient comes next, whatever
 * others free: these may need the bytes that it frees. */
static int64_t cost(const scheduler *s, const firnc_node *node) {
    int64_t bytes = uses_gradient_up(s, node) ? INT64_MIN / 2 : 0;
    for (uint8_t i = 0; i < node->output_count; i++)
        if (!firnc_output_is_input(node, i) && s->uses[node->outputs[i]] > 0)
            bytes += s->bytes[node->outputs[i]];
    for (uint8_t i = 0; i < node->input_count; i++) {
        uint32_t here = 0;
        const firnc_value value = read_by(s, node, i);
        bool counted = value == FIRNC_NONE;
        for (uint8_t j = 0; j < node->input_count; j++) {
            const bool same = read_by(s, node, j) == value;
            here += same;
            counted = counted || (j < i && same);
        }
        if (!counted && s->uses[value] == here)
            bytes -= s->bytes[value];
    }
    return bytes;
}

/* Whether a node is to be scheduled before another: it costs less, or is the earlier one of two with the same cost. */
static bool comes_first(const scheduler *s, uint32_t a, uint32_t b) {
    return s->costs[a] != s->costs[b] ? s->costs[a] < s->costs[b] : a < b;
}

static void put_at(scheduler *s, uint32_t node, uint32_t place) {
    s->ready[place] = node;
    s->places[node] = place;
}

/* Puts a node of the heap where it belongs, from a place on whose node is gone, or is the node itself. */
static void settle(scheduler *s, uint32_t node, uint32_t place) {
    while (place > 0 && comes_first(s, node, s->ready[(place - 1) / 2])) {
        put_at(s, s->ready[(place - 1) / 2], place);
        place = (place - 1) / 2;
    }
    for (uint32_t child = 2 * place + 1; child < s->ready_count; child = 2 * place + 1) {
        child += child + 1 < s->ready_count && comes_first(s, s->ready[child + 1], s->ready[child]);
        if (!comes_first(s, s->ready[child], node))
            break;
        put_at(s, s->ready[child], place);
        place = child;
    }
    put_at(s, node, place);
}

static void add_ready(scheduler *s, uint32_t node) {
    s->costs[node] = cost(s, &s->nodes[node]);
    settle(s, node, s->ready_count++);
}

/* Removes and returns the ready node with the least cost, the earliest among equals. */
static uint32_t take_cheapest(scheduler *s) {
    const uint32_t node = s->ready[0], moved = s->ready[--s->ready_count];
    s->places[node] = FIRNC_NONE;
    if (s->ready_count > 0)
        settle(s, moved, 0);
    return node;
}

/* Counts one use of a value as scheduled. The cost of its other readers changes only when few uses are left, because
 * only the last one frees the value. */
static void use(scheduler *s, firnc_value value) {
    if (--s->uses[value] > FIRN_INPUTS_MAX || s->bytes[value] == 0)
        return;
    for (uint32_t i = s->readers[value]; i != FIRNC_NONE; i = s->read_links[i].next) {
        uint32_t node = s->read_links[i].node;
        s->costs[node] = cost(s, &s->nodes[node]);
        if (s->places[node] != FIRNC_NONE)
            settle(s, node, s->places[node]);
    }
}

/* Writes the nodes of one phase in their new order to order[*made] and following. */
static void schedule_phase(scheduler *s, uint32_t begin, uint32_t end, uint32_t *order, uint32_t *made) {
    for (uint32_t i = begin; i < end; i++)
        if (s->waits[i] == 0)
            add_ready(s, i);
    while (s->ready_count > 0) {
        uint32_t node = take_cheapest(s);
        order[(*made)++] = node;
        for (uint8_t j = 0; j < s->nodes[node].input_count; j++)
            if (s->nodes[node].inputs[j] != FIRNC_NONE)
                use(s, read_by(s, &s->nodes[node], j));
        for (uint32_t i = s->heads[node]; i != FIRNC_NONE; i = s->links[i].next) {
            uint32_t follower = s->links[i].node;
            s->waits[follower]--;
            if (follower < end && s->waits[follower] == 0)
                add_ready(s, follower);
        }
    }
}

static uint32_t *schedule(const firnc_graph *graph) {
    scheduler s = {.graph = graph, .nodes = graph->nodes, .count = graph->node_count};
    s.wholes = firnc_allocate(graph->value_count * sizeof *s.wholes);
    s.waits = firnc_allocate(s.count * sizeof *s.waits);
    s.heads = firnc_allocate(s.count * sizeof *s.heads);
    s.uses = firnc_allocate(graph->value_count * sizeof *s.uses);
    s.bytes = firnc_allocate(graph->value_count * sizeof *s.bytes);
    s.costs = firnc_allocate(s.count * sizeof *s.costs);
    s.ready = firnc_allocate(s.count * sizeof *s.ready);
    s.places = firnc_allocate(s.count * sizeof *s.places);
    s.readers = firnc_allocate(graph->value_count * sizeof *s.readers);
    s.links = firnc_allocate((uint64_t)s.count * 2 * FIRN_INPUTS_MAX * sizeof *s.links);
    s.read_links = firnc_allocate((uint64_t)s.count * FIRN_INPUTS_MAX * sizeof *s.read_links);
    for (uint32_t i = 0; i < s.count; i++)
        s.heads[i] = s.places[i] = FIRNC_NONE;
    for (firnc_value i = 0; i < graph->value_count; i++)
        s.readers[i] = FIRNC_NONE;
    find_wholes(&s);
    find_dependences(&s);
    count_uses(&s);
    uint32_t *order = firnc_allocate(s.count * sizeof *order), made = 0;
    for (uint32_t begin = 0, end; begin < s.count; begin = end) {
        for (end = begin; end < s.count && s.nodes[end].phase == s.nodes[begin].phase; end++)
            ;
        schedule_phase(&s, begin, end, order, &made);
    }
    return order;
}

static void put_in_order(firnc_graph *graph, const firnc_node_list *list, const uint32_t *order) {
    firnc_take_nodes(graph);
    for (uint32_t i = 0; i < list->count; i++)
        firnc_put_node(graph, &list->nodes[order == NULL ? i : order[i]]);
}

bool firnc_order(firnc_compilation *compilation) {
    firnc_graph *graph = compilation->graph;
    uint64_t before = firnc_live_bytes(graph);
    const uint32_t *order = schedule(graph);
    firnc_node_list list = {.nodes = graph->nodes, .count = graph->node_count};
    put_in_order(graph, &list, order);
    if (firnc_live_bytes(graph) >= before)
        put_in_order(graph, &list, NULL);
    return true;
}
