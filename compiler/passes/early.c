/* The early pass (train). In: the whole step, without dead ops. Out: the same ops, those of the backward pass in the
 * update phase, where each gradient is computed just before the op that uses it up; or the step as it was. No bit of
 * any result may change: ops only move to another place, or are computed in parts.
 *
 * A gradient then lives for two ops and not until the last weight has its own, and where that is still the largest
 * tensor, it is computed in pieces of some rows, each followed by the update of these rows. The pass tries the step as
 * it is, with moved ops, and with smaller and smaller pieces, and keeps what needs the smallest arena.
 *
 * It moves nothing where something reads all gradients before the first update (the norm, also for clipping; dynamic
 * loss scaling), where several micro-batches add to them, or where the job asks for it. An update then needs nothing
 * that a later op of the backward pass computes, and every op that reads a weight stands before the one that changes
 * it. The loss has been checked by then, because the forward pass stays where it is. */
#include <string.h>

#include "compiler/passes/passes.h"

/* Pieces cost ops and bytes of the plan. */
#define PIECES_ARENA   ((uint64_t)1 << 20) /* with a larger arena a plan is not for a device that must save each KiB */
#define PIECES_NODES   1024U               /* in a graph with more nodes no gradient is divided */
#define PIECES_MOST    32U                 /* of one gradient */
#define PIECE_LEAST    128U                /* bytes: smaller pieces are not tried */
#define WORTH          16U                 /* the last sixteenth of what can be saved is not worth more pieces */
#define VIEW_ALIGNMENT 16U                 /* bytes at which a view of a tensor may begin */
#define ROWS_TOGETHER  4U                  /* that a core without vectors computes at once (runtime/kernels/quads.c) */

typedef struct trial {
    firnc_graph *graph;
    firnc_node_list list; /* the step as it came */
    bool *moved;          /* for each node */
    uint32_t
        *gradient_of;  /* for each node: the node of update that alone uses its output 0, a gradient, or FIRNC_NONE */
    uint32_t *made_by; /* for each node of update: the other way round */
    uint32_t *rows;    /* for each node of update: the rows of a piece of its gradient; 0: not divided */
} trial;

/* --- what may move ------------------------------------------------------------------------------------------------ */

/* Why nothing moves; NULL if something may. */
static const char *reason_against(const firnc_compilation *compilation) {
    const firnc_graph *graph = compilation->graph;
    const firnc_data *data = &compilation->job->data;
    if (compilation->job->late_update)
        return "as asked for";
    if (data->batch_size != data->micro_batch_size)
        return "several micro-batches add to the gradients";
    if (graph->finite != FIRNC_NONE)
        return "dynamic loss scaling reads every gradient first";
    if (graph->gradient_norm != FIRNC_NONE)
        return "the norm is of every gradient";
    return NULL;
}

static bool stays(const firnc_graph *graph, const firnc_node *node) {
    if (node->phase != FIRNC_PHASE_MICRO_BATCH)
        return true;
    for (uint8_t j = 0; j < node->output_count; j++) {
        const firnc_value_info *output = &graph->values[node->outputs[j]];
        if (firnc_output_is_input(node, j) || output->persistent || firnc_is_state(output->role))
            return true;
    }
    return false;
}

/* Moves the nodes of the micro-batch whose results are used in the update only, directly or by others that move. */
static void find_moved(trial *t) {
    const firnc_graph *graph = t->graph;
    bool *needed = firnc_allocate(graph->value_count * sizeof *needed), *used = firnc_allocate(graph->value_count);
    for (uint32_t i = t->list.count; i > 0; i--) {
        const firnc_node *node = &t->list.nodes[i - 1];
        bool moves = !stays(graph, node), read = false;
        for (uint8_t j = 0; j < node->output_count; j++) {
            moves = moves && !needed[node->outputs[j]];
            read = read || used[node->outputs[j]];
        }
        t->moved[i - 1] = moves && read;
        for (uint8_t j = 0; j < node->input_count; j++) {
            if (node->inputs[j] == FIRNC_NONE)
                continue;
            used[node->inputs[j]] = true;
            needed[node->inputs[j]] =
                needed[node->inputs[j]] || (node->phase != FIRNC_PHASE_UPDATE && !t->moved[i - 1]);
        }
    }
}

/* Whether a node reads a weight. It may not stand behind the update of that weight, and so not in front of the node
 * that uses its result up, but with all others at the head of the update. */
static bool reads_state(const firnc_graph *graph, const firnc_node *node) {
    for (uint8_t j = 0; j < node->input_count; j++)
        if (node->inputs[j] != FIRNC_NONE && firnc_is_state(graph->values[node->inputs[j]].role))
            return true;
    return false;
}

/* Finds the moved nodes whose one result is a gradient that one node of the update uses. */
static void find_gradients(trial *t) {
    const firnc_graph *graph = t->graph;
    uint32_t *readers = firnc_allocate(graph->value_count * sizeof *readers);
    uint32_t *maker = firnc_allocate(graph->value_count * sizeof *maker);
    for (firnc_value i = 0; i < graph->value_count; i++)
        maker[i] = FIRNC_NONE;
    for (uint32_t i = 0; i < t->list.count; i++) {
        const firnc_node *node = &t->list.nodes[i];
        t->gradient_of[i] = t->made_by[i] = FIRNC_NONE;
        for (uint8_t j = 0; j < node->input_count; j++)
            if (node->inputs[j] != FIRNC_NONE)
                readers[node->inputs[j]]++;
        if (t->moved[i] && node->output_count == 1 && !reads_state(graph, node))
            maker[node->outputs[0]] = i;
    }
    for (uint32_t i = 0; i < t->list.count; i++) {
        const firnc_node *node = &t->list.nodes[i];
        for (uint8_t j = 0; node->phase == FIRNC_PHASE_UPDATE && !t->moved[i] && j < node->input_count; j++) {
            const firnc_value value = node->inputs[j];
            if (value == FIRNC_NONE || maker[value] == FIRNC_NONE || readers[value] != 1)
                continue;
            t->made_by[i] = maker[value];
            t->gradient_of[maker[value]] = i;
        }
    }
}

/* --- pieces ------------------------------------------------------------------------------------------------------- */

static bool same_dims(const firn_shape *a, const firn_shape *b) {
    return a->rank == b->rank && memcmp(a->dims, b->dims, sizeof a->dims) == 0;
}

/* Whether a node of update changes each element of the parameter by the elements of its operands that have the same
 * index, so that rows may be updated one after the other: whatever it changes has the parameter's shape. */
static bool is_elementwise(const trial *t, const firnc_node *update) {
    const firnc_value_info *values = t->graph->values;
    const firn_shape *shape = &values[update->inputs[0]].shape;
    for (uint8_t j = 0; j < update->output_count; j++)
        if (!firnc_output_is_input(update, j) || !same_dims(&values[update->outputs[j]].shape, shape))
            return false;
    return true;
}

static uint64_t row_bytes(const firnc_graph *graph, firnc_value value) {
    const firn_shape *shape = &graph->values[value].shape;
    return (uint64_t)shape->dims[1] * firn_type_bytes(shape->type);
}

/* The fewest rows that a piece may have, of which it has a multiple: pieces of the parameter begin at multiples of 16
 * bytes, and only the last one may leave a part of ROWS_TOGETHER unused. 0: there may be no pieces. */
static uint32_t least_rows(const trial *t, uint32_t update) {
    const firnc_node *node = &t->list.nodes[update];
    if (t->made_by[update] == FIRNC_NONE || t->list.nodes[t->made_by[update]].code != FIRN_OP_linear_backward_weight ||
        !is_elementwise(t, node))
        return 0;
    uint32_t rows = ROWS_TOGETHER;
    while (rows * row_bytes(t->graph, node->inputs[0]) % VIEW_ALIGNMENT != 0)
        rows += ROWS_TOGETHER;
    const uint32_t all = t->graph->values[node->inputs[0]].shape.dims[0];
    const uint32_t fewest = (all + PIECES_MOST - 1) / PIECES_MOST;
    rows *= (fewest + rows - 1) / rows;
    return rows < all ? rows : 0;
}

/* A view of some rows of a value of the state. */
static firnc_value view_of(firnc_graph *graph, firnc_value base, uint32_t first, uint32_t rows) {
    const char *name = firnc_format("%s[%u:%u]", graph->values[base].name, (unsigned)first, (unsigned)(first + rows));
    firn_shape shape = graph->values[base].shape;
    shape.dims[0] = rows;
    const firnc_value view = firnc_value_new(graph, name, graph->values[base].role, shape);
    graph->values[view].base = base;
    graph->values[view].offset = first * row_bytes(graph, base);
    return view;
}

/* The gradient of some rows. */
static firnc_value put_piece(const trial *t, const firnc_node *whole, uint32_t first, uint32_t rows) {
    firnc_graph *graph = t->graph;
    firnc_node node = *whole;
    const firnc_value all = whole->outputs[0];
    const char *name = firnc_format("%s[%u:%u]", graph->values[all].name, (unsigned)first, (unsigned)(first + rows));
    firn_shape shape = graph->values[all].shape;
    shape.dims[0] = rows;
    node.code = FIRN_OP_linear_backward_weight_rows;
    node.phase = FIRNC_PHASE_UPDATE;
    node.integers[FIRN_LINEAR_BACKWARD_WEIGHT_ROWS_FIRST] = first;
    node.integers[FIRN_LINEAR_BACKWARD_WEIGHT_ROWS_ROWS] = rows;
    node.outputs[0] = firnc_value_new(graph, name, FIRNC_ROLE_GRADIENT, shape);
    firnc_put_node(graph, &node);
    return node.outputs[0];
}

_Static_assert((int)FIRN_LINEAR_BACKWARD_WEIGHT_LAYOUT == (int)FIRN_LINEAR_BACKWARD_WEIGHT_ROWS_LAYOUT,
               "an op for some rows has the layout of the op for all");

/* Computes and uses up a gradient piece by piece. */
static void put_pieces(const trial *t, uint32_t update, const firnc_node *maker) {
    firnc_graph *graph = t->graph;
    const firnc_node *whole = &t->list.nodes[update];
    const firnc_value parameter = whole->inputs[0];
    const firn_shape shape = graph->values[parameter].shape;
    for (uint32_t first = 0; first < shape.dims[0]; first += t->rows[update]) {
        const uint32_t left = shape.dims[0] - first, rows = left < t->rows[update] ? left : t->rows[update];
        firnc_node node = *whole;
        for (uint8_t i = 0; i < node.input_count; i++) {
            const firnc_value input = whole->inputs[i];
            if (input == maker->outputs[0])
                node.inputs[i] = put_piece(t, maker, first, rows);
            else if (input != FIRNC_NONE && same_dims(&graph->values[input].shape, &shape))
                node.inputs[i] = view_of(graph, input, first, rows);
            for (uint8_t j = 0; j < node.output_count; j++)
                if (whole->outputs[j] == input)
                    node.outputs[j] = node.inputs[i];
            if (input == maker->outputs[0])
                graph->values[node.inputs[i]].gradient_of = parameter;
        }
        firnc_put_node(graph, &node);
    }
}

/* --- trials ------------------------------------------------------------------------------------------------------- */

static void put_update(const trial *t, uint32_t update) {
    if (t->made_by[update] == FIRNC_NONE) {
        firnc_put_node(t->graph, &t->list.nodes[update]);
        return;
    }
    firnc_node maker = t->list.nodes[t->made_by[update]];
    maker.phase = FIRNC_PHASE_UPDATE;
    if (t->rows[update] != 0) {
        put_pieces(t, update, &maker);
        return;
    }
    t->graph->values[maker.outputs[0]].gradient_of = t->list.nodes[update].inputs[0];
    firnc_put_node(t->graph, &maker);
    firnc_put_node(t->graph, &t->list.nodes[update]);
}

/* Makes the list of a trial: what stays, then, at the head of the update, what moves, and each gradient in front of the
 * op that uses it up. */
static void put_trial(const trial *t) {
    firnc_take_nodes(t->graph);
    bool in_update = false;
    for (uint32_t i = 0; i < t->list.count; i++) {
        firnc_node node = t->list.nodes[i];
        for (uint32_t m = 0; node.phase >= FIRNC_PHASE_UPDATE && !in_update && m < t->list.count; m++) {
            if (!t->moved[m] || t->gradient_of[m] != FIRNC_NONE)
                continue;
            firnc_node moved = t->list.nodes[m];
            moved.phase = FIRNC_PHASE_UPDATE;
            firnc_put_node(t->graph, &moved);
        }
        in_update = in_update || node.phase >= FIRNC_PHASE_UPDATE;
        if (node.phase == FIRNC_PHASE_UPDATE)
            put_update(t, i);
        else if (!t->moved[i])
            firnc_put_node(t->graph, &node);
    }
}

static void put_late(const trial *t) {
    firnc_take_nodes(t->graph);
    for (uint32_t i = 0; i < t->list.count; i++)
        firnc_put_node(t->graph, &t->list.nodes[i]);
}

/* The arena that the trial needs, in the order that the order pass gives it. */
static uint64_t bytes_of_trial(const trial *t, firnc_compilation *compilation) {
    put_trial(t);
    (void)firnc_order(compilation);
    return firnc_live_bytes(t->graph);
}

/* Sets the rows of all pieces, so that no piece has more bytes than a limit unless its rows cannot be divided. */
static void limit_pieces(trial *t, uint64_t limit) {
    for (uint32_t i = 0; i < t->list.count; i++) {
        const uint32_t least = least_rows(t, i);
        if (least == 0)
            continue;
        const firnc_value parameter = t->list.nodes[i].inputs[0];
        const uint64_t bytes = least * row_bytes(t->graph, parameter);
        const uint64_t rows = limit > bytes ? limit / bytes * least : least;
        t->rows[i] = rows < t->graph->values[parameter].shape.dims[0] ? (uint32_t)rows : 0;
    }
}

/* Finds the limit of pieces with the smallest arena. Returns this arena. */
static uint64_t find_limit(trial *t, firnc_compilation *compilation, uint64_t whole) {
    uint64_t best = whole, best_limit = UINT64_MAX;
    for (uint64_t limit = PIECES_ARENA; limit >= PIECE_LEAST; limit /= 2) {
        limit_pieces(t, limit);
        const uint64_t bytes = bytes_of_trial(t, compilation);
        if (bytes < best) {
            best = bytes;
            best_limit = limit;
        }
    }
    limit_pieces(t, best_limit);
    return best;
}

/* Makes the pieces of one gradient after the other larger, as long as the arena keeps to the limit. */
static void enlarge_pieces(trial *t, firnc_compilation *compilation, uint64_t limit) {
    for (uint32_t i = 0; i < t->list.count; i++) {
        const uint32_t least = t->rows[i] != 0 ? least_rows(t, i) : 0;
        while (t->rows[i] != 0) {
            const uint32_t before = t->rows[i], all = t->graph->values[t->list.nodes[i].inputs[0]].shape.dims[0];
            const uint32_t fewer = (all + before - 1) / before - 1; /* pieces, one less */
            const uint32_t wanted = ((all + fewer - 1) / fewer + least - 1) / least * least;
            t->rows[i] = wanted < all ? wanted : 0;
            if (bytes_of_trial(t, compilation) > limit) {
                t->rows[i] = before;
                break;
            }
        }
    }
}

/* --- the pass ----------------------------------------------------------------------------------------------------- */

static const char *describe(const trial *t) {
    uint32_t early = 0, updates = 0, divided = 0, pieces = 0;
    for (uint32_t i = 0; i < t->list.count; i++) {
        const firnc_node *node = &t->list.nodes[i];
        const bool is_update = node->phase == FIRNC_PHASE_UPDATE && !t->moved[i] &&
                               t->graph->values[node->outputs[0]].role == FIRNC_ROLE_PARAMETER;
        updates += is_update;
        early += is_update && t->made_by[i] != FIRNC_NONE;
        if (t->rows[i] == 0)
            continue;
        divided++;
        pieces += (t->graph->values[node->inputs[0]].shape.dims[0] + t->rows[i] - 1) / t->rows[i];
    }
    const char *text =
        firnc_format("%u of %u parameters, each as soon as its gradient is there", (unsigned)early, (unsigned)updates);
    return divided == 0 ? text
                        : firnc_format("%s; %u gradients in %u pieces", text, (unsigned)divided, (unsigned)pieces);
}

bool firnc_update_early(firnc_compilation *compilation) {
    firnc_graph *graph = compilation->graph;
    const char *reason = reason_against(compilation);
    if (reason != NULL) {
        graph->early_update = firnc_format("none: %s", reason);
        return true;
    }
    const uint32_t count = graph->node_count;
    trial t = {.graph = graph, .list = {.nodes = graph->nodes, .count = count}};
    t.moved = firnc_allocate(count * sizeof *t.moved);
    t.gradient_of = firnc_allocate(count * sizeof *t.gradient_of);
    t.made_by = firnc_allocate(count * sizeof *t.made_by);
    t.rows = firnc_allocate(count * sizeof *t.rows);
    find_moved(&t);
    find_gradients(&t);
    (void)firnc_order(compilation);
    const uint64_t late = firnc_live_bytes(graph);
    uint64_t early = bytes_of_trial(&t, compilation);
    if (early <= PIECES_ARENA && count <= PIECES_NODES) {
        early = find_limit(&t, compilation, early);
        enlarge_pieces(&t, compilation, early < late ? early + (late - early) / WORTH : early);
    }
    if (early >= late) {
        put_late(&t);
        graph->early_update = "none: the arena would not be smaller";
        return true;
    }
    put_trial(&t);
    graph->early_update = describe(&t);
    return true;
}
