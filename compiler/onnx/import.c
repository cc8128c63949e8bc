/* Reads a model node by node, in the order of the file, and gives each value its extents, its elements where they are
 * known, or its place in the graph (compiler/onnx/onnx.h). What an op means is in the table of ops (ops/ops.c). */
#include "compiler/onnx/onnx.h"

#include <string.h>

#include "compiler/onnx/import.h"

/* --- nodes -------------------------------------------------------------------------------------------------------- */

static bool run(firnc_onnx_importer *im, firnc_onnx_scope *scope, FirncOnnx__Node *const *nodes, size_t count);

static bool check_node(firnc_onnx_importer *im, const firnc_onnx_node *node, const firnc_onnx_op *op) {
    for (size_t i = 0; i < node->proto->n_attribute; i++) {
        const char *name = firnc_onnx_or_empty(node->proto->attribute[i]->name);
        if (!firnc_onnx_is_listed(op->attributes, name))
            return firnc_onnx_fail(im, "has the attribute %s, which Firn does not have; it has %s", name,
                                   op->attributes[0] == '\0' ? "none" : op->attributes);
        if (!firnc_onnx_check_attribute(im, node, (uint32_t)i))
            return false;
    }
    if (node->input_count < op->inputs_min || node->input_count > op->inputs_max)
        return firnc_onnx_fail(im, "has %u inputs, and takes %u to %u; export the model again",
                               (unsigned)node->input_count, (unsigned)op->inputs_min, (unsigned)op->inputs_max);
    for (uint32_t i = 0; i < op->inputs_min; i++)
        if (node->inputs[i] == NULL)
            return firnc_onnx_fail(im, "lacks its input %u", (unsigned)i);
    for (uint32_t i = op->outputs_max; i < node->output_count; i++)
        if (node->outputs[i] != NULL)
            return firnc_onnx_fail(im, "gives its output %u, which Firn does not have; leave it out", (unsigned)i);
    if (im->opset < op->since && !im->options->any_opset)
        return firnc_onnx_fail(
            im, "came with opset %u, and the file is of opset %lld; export the model with opset_version=%u",
            (unsigned)op->since, (long long)im->opset, (unsigned)op->since);
    return true;
}

static const FirncOnnx__Function *function_of(const firnc_onnx_importer *im, const FirncOnnx__Node *node) {
    for (size_t i = 0; i < im->model->n_functions; i++) {
        const FirncOnnx__Function *function = im->model->functions[i];
        if (strcmp(firnc_onnx_or_empty(function->name), firnc_onnx_or_empty(node->op_type)) == 0 &&
            strcmp(firnc_onnx_or_empty(function->domain), firnc_onnx_or_empty(node->domain)) == 0)
            return function;
    }
    return NULL;
}

/* Makes the outputs of a node other names of what a function or a branch has made for it. */
static bool take_outputs(firnc_onnx_importer *im, const firnc_onnx_node *node, const firnc_onnx_scope *scope,
                         const char *const *names) {
    im->node = node;
    for (uint32_t i = 0; i < node->output_count; i++) {
        const firnc_onnx_value *made =
            node->outputs[i] == NULL ? NULL : firnc_onnx_find(scope, firnc_onnx_or_empty(names[i]));
        if (node->outputs[i] == NULL)
            continue;
        if (made == NULL)
            return firnc_onnx_fail(im, "no node of its body makes %s", firnc_onnx_or_empty(names[i]));
        firnc_onnx_alias(node->outputs[i], made);
    }
    return true;
}

/* Reads the body of a function in the place of a node. */
static bool run_function(firnc_onnx_importer *im, const firnc_onnx_node *node, const FirncOnnx__Function *function) {
    firnc_onnx_scope *reads = firnc_allocate(sizeof *reads), *scope = firnc_allocate(sizeof *scope);
    *scope = (firnc_onnx_scope){.reads = reads, .function = function, .caller = node, .depth = node->scope->depth + 1};
    if (scope->depth > FIRNC_ONNX_DEPTH_MAX)
        return firnc_onnx_fail(im,
                               "calls functions %d deep or itself; inline them by onnx.inliner.inline_local_functions",
                               FIRNC_ONNX_DEPTH_MAX);
    if (node->input_count > function->n_input || node->output_count > function->n_output)
        return firnc_onnx_fail(im, "has more inputs or outputs than its function");
    firnc_onnx_open_scope(scope, function->n_input + firnc_onnx_count_names(function->node, function->n_node));
    firnc_onnx_find_reads(reads, function->node, function->n_node, function->output, function->n_output);
    for (uint32_t i = 0; i < node->input_count; i++)
        if (node->inputs[i] != NULL && !firnc_onnx_define(im, scope, function->input[i], node->inputs[i]))
            return false;
    return run(im, scope, function->node, function->n_node) &&
           take_outputs(im, node, scope, (const char *const *)function->output);
}

#define NODES_MAX 400000 /* nodes that are read; those of a loop count in each step */

/* Counts nodes that get room. False after one message. */
static bool count_nodes(firnc_onnx_importer *im, uint64_t count) {
    im->nodes_read += count < NODES_MAX ? (uint32_t)count : NODES_MAX;
    return im->nodes_read <= NODES_MAX || firnc_onnx_fail(im,
                                                          "is more than the %d nodes that Firn reads, with those of "
                                                          "all steps of loops; export fewer layers, or fewer steps",
                                                          NODES_MAX);
}

/* --- branches and loops ------------------------------------------------------------------------------------------- */

/* Opens a scope for a graph that is an attribute of a node. Its names count as nodes (count_nodes), so that a small
 * file with loops within loops cannot take much memory. NULL after one message. */
static firnc_onnx_scope *open_inner(firnc_onnx_importer *im, const firnc_onnx_node *node,
                                    const FirncOnnx__Graph *graph) {
    if (!count_nodes(im, firnc_onnx_count_names(graph->node, graph->n_node)))
        return NULL;
    firnc_onnx_scope *outer = node->scope, *scope = firnc_allocate(sizeof *scope);
    firnc_onnx_scope *reads = firnc_allocate(sizeof *reads);
    *scope = (firnc_onnx_scope){.outer = outer,
                                .reads = reads,
                                .function = outer->function,
                                .caller = outer->caller,
                                .depth = outer->depth,
                                .repeats = outer->repeats};
    firnc_onnx_open_scope(scope,
                          graph->n_input + graph->n_initializer + firnc_onnx_count_names(graph->node, graph->n_node));
    firnc_onnx_find_graph_reads(reads, graph);
    return scope;
}

/* Reads a branch in the place of its node. */
static bool run_branch(firnc_onnx_importer *im, const firnc_onnx_node *node, const FirncOnnx__Graph *branch) {
    const char **outputs = firnc_allocate((branch->n_output + UINT64_C(1)) * sizeof *outputs);
    if (node->output_count > branch->n_output)
        return firnc_onnx_fail(im, "has %u outputs, and its branch has %u", (unsigned)node->output_count,
                               (unsigned)branch->n_output);
    firnc_onnx_scope *scope = open_inner(im, node, branch);
    for (size_t i = 0; i < branch->n_output; i++)
        outputs[i] = branch->output[i]->name;
    return scope != NULL && firnc_onnx_add_initializers(im, scope, branch) &&
           run(im, scope, branch->node, branch->n_node) && take_outputs(im, node, scope, outputs);
}

/* A condition that must be known. False after one message. */
static bool read_condition(firnc_onnx_importer *im, const firnc_onnx_value *value, const char *instead,
                           bool *condition) {
    double number;
    if (!firnc_onnx_is_constant(value) || !firnc_onnx_single(value, &number))
        return firnc_onnx_fail(
            im, "its condition depends on the data, and a plan runs the same ops for every sample; %s", instead);
    *condition = number != 0;
    return true;
}

static bool run_if(firnc_onnx_importer *im, const firnc_onnx_node *node) {
    bool condition = false;
    if (!read_condition(im, node->inputs[0],
                        "export the model with a constant condition, or compute both branches and write Where",
                        &condition))
        return false;
    const char *name = condition ? "then_branch" : "else_branch";
    const FirncOnnx__Graph *branch = firnc_onnx_graph(node, name);
    if (branch == NULL)
        return firnc_onnx_fail(im, "lacks its %s", name);
    const bool once = node->scope->function == NULL && !node->scope->repeats;
    for (size_t i = 0; i < node->proto->n_attribute && im->chooses && once; i++)
        node->proto->attribute[i]->g = (FirncOnnx__Graph *)(uintptr_t)branch;
    return run_branch(im, node, branch);
}

#define LOOP_MAX 4096

/* The state of a Loop while its steps are read: the values that each step gives the next, and the scan outputs. */
typedef struct loop {
    const FirncOnnx__Graph *body;
    firnc_onnx_value **carried, ***given; /* given[i]: scan output i of each step */
    uint32_t carried_count, given_count, capacities[FIRNC_ONNX_OPERANDS_MAX];
    int64_t step;
    bool goes_on;
} loop;

/* Reads the body once. */
static bool run_step(firnc_onnx_importer *im, const firnc_onnx_node *node, loop *l) {
    const FirncOnnx__Graph *body = l->body;
    firnc_onnx_scope *scope = open_inner(im, node, body);
    if (scope == NULL)
        return false;
    firnc_onnx_value *step = firnc_onnx_value_new(""), *condition = firnc_onnx_value_new("");
    scope->repeats = true;
    firnc_onnx_set_known(step, firnc_onnx_tensor_scalar(im, FIRNC_ONNX_INT64, (double)l->step));
    firnc_onnx_set_known(condition, firnc_onnx_tensor_scalar(im, FIRNC_ONNX_BOOL, 1));
    if (im->failed || (l->step == 0 && !firnc_onnx_add_initializers(im, scope, body)))
        return false;
    for (uint32_t i = 0; i < body->n_input; i++)
        if (!firnc_onnx_define(im, scope, firnc_onnx_or_empty(body->input[i]->name),
                               i == 0   ? step
                               : i == 1 ? condition
                                        : l->carried[i - 2]))
            return false;
    if (!run(im, scope, body->node, body->n_node))
        return false;
    im->node = node;
    for (uint32_t i = 0; i < body->n_output; i++) {
        firnc_onnx_value *made = firnc_onnx_find(scope, firnc_onnx_or_empty(body->output[i]->name));
        if (made == NULL)
            return firnc_onnx_fail(im, "no node of its body makes %s", firnc_onnx_or_empty(body->output[i]->name));
        if (i == 0 && !read_condition(im, made, "export the model with a fixed number of steps", &l->goes_on))
            return false;
        if (i > 0 && i <= l->carried_count)
            l->carried[i - 1] = made;
        else if (i > 0) {
            const uint32_t number = i - 1 - l->carried_count;
            l->given[number] =
                firnc_grown(l->given[number], (uint32_t)l->step, &l->capacities[number], sizeof **l->given);
            l->given[number][l->step] = made;
        }
    }
    return true;
}

/* Loop, of which the number of steps must be known: its body is read once for each step. */
static bool run_loop(firnc_onnx_importer *im, const firnc_onnx_node *node) {
    loop l = {.body = firnc_onnx_graph(node, "body"), .goes_on = true};
    double most = 1e18; /* without a number, the condition ends it */
    if (l.body == NULL)
        return firnc_onnx_fail(im, "lacks its body");
    l.carried_count = node->input_count > 2 ? node->input_count - 2 : 0;
    if (l.body->n_input != l.carried_count + 2 || l.body->n_output < l.carried_count + 1 ||
        node->output_count > l.body->n_output - 1 || l.body->n_output > FIRNC_ONNX_OPERANDS_MAX)
        return firnc_onnx_fail(im, "has another number of inputs or outputs than its body");
    if (node->inputs[0] != NULL &&
        (!firnc_onnx_is_constant(node->inputs[0]) || !firnc_onnx_single(node->inputs[0], &most)))
        return firnc_onnx_fail(im, "its number of steps depends on the data; export the model with a fixed number");
    if (node->inputs[1] != NULL &&
        !read_condition(im, node->inputs[1], "export the model with a fixed number of steps", &l.goes_on))
        return false;
    l.given_count = (uint32_t)l.body->n_output - 1 - l.carried_count;
    l.carried = firnc_allocate((l.carried_count + UINT64_C(1)) * sizeof *l.carried);
    l.given = firnc_allocate((l.given_count + UINT64_C(1)) * sizeof *l.given);
    for (uint32_t i = 0; i < l.carried_count; i++) {
        l.carried[i] = node->inputs[i + 2];
        if (l.carried[i] == NULL)
            return firnc_onnx_fail(im, "lacks its input %u", (unsigned)i + 2);
    }
    for (; l.goes_on && (double)l.step < most; l.step++) {
        if (l.step == LOOP_MAX)
            return firnc_onnx_fail(im, "takes more than %d steps; export the model with fewer", LOOP_MAX);
        if (!run_step(im, node, &l))
            return false;
    }
    for (uint32_t i = 0; i < node->output_count; i++)
        if (i < l.carried_count)
            firnc_onnx_alias(node->outputs[i], l.carried[i]);
        else if (node->outputs[i] != NULL &&
                 !firnc_onnx_join(im, node, l.given[i - l.carried_count], l.step, 0, true, node->outputs[i]))
            return false;
    return true;
}

/* If and Loop. */
static bool run_control(firnc_onnx_importer *im, const firnc_onnx_node *node) {
    return strcmp(node->op, "If") == 0 ? run_if(im, node) : run_loop(im, node);
}

/* --- ops ---------------------------------------------------------------------------------------------------------- */

static bool all_known(const firnc_onnx_node *node) {
    for (uint32_t i = 0; i < node->input_count; i++)
        if (node->inputs[i] != NULL && !firnc_onnx_is_constant(node->inputs[i]))
            return false;
    return true;
}

static bool is_made(const firnc_onnx_node *node) {
    for (uint32_t i = 0; i < node->output_count; i++)
        if (node->outputs[i] != NULL && node->outputs[i]->known == NULL && node->outputs[i]->value == FIRNC_NONE)
            return false;
    return true;
}

/* Computes a node whose inputs are all known; *done says whether it has set the outputs. False after one message. */
static bool fold(firnc_onnx_importer *im, const firnc_onnx_node *node, const firnc_onnx_op *op, bool *done) {
    const firnc_onnx_tensor *in[FIRNC_ONNX_OPERANDS_MAX] = {NULL};
    *done = false;
    if (op->fold == NULL || node->input_count == 0)
        return true;
    for (uint32_t i = 0; i < node->input_count; i++)
        in[i] = node->inputs[i] == NULL ? NULL : node->inputs[i]->known;
    const firnc_onnx_tensor *made = op->fold(im, node, in);
    *done = made != NULL;
    firnc_onnx_set_known(node->outputs[0], made);
    return !im->failed;
}

static bool run_op(firnc_onnx_importer *im, const firnc_onnx_node *node) {
    const char *domain = firnc_onnx_or_empty(node->proto->domain);
    const FirncOnnx__Function *function = function_of(im, node->proto);
    bool done = false;
    if (function != NULL)
        return run_function(im, node, function);
    const firnc_onnx_op *op = domain[0] == '\0' || strcmp(domain, "ai.onnx") == 0 ? firnc_onnx_op_find(node->op) : NULL;
    if (op == NULL)
        return firnc_onnx_fail(im, "is no op that Firn reads%s%s; %s", domain[0] == '\0' ? "" : ", of the domain ",
                               domain, firnc_onnx_instead(node->op, domain));
    if (!check_node(im, node, op))
        return false;
    if (all_known(node) && !fold(im, node, op, &done))
        return false;
    for (uint32_t i = 0; i < node->input_count && !done; i++)
        if (firnc_onnx_is_empty(node->inputs[i]) && !firnc_onnx_import_empty(im, node, &done))
            return false;
    return done || ((op->import != NULL ? op->import(im, node) : run_control(im, node)) &&
                    (is_made(node) || firnc_onnx_fail(im, "has no result")));
}

/* The ops of a model that a pass may take out of the plan: views, and casts that are merged. */
static bool may_vanish(uint16_t code) {
    return code == FIRN_OP_reshape || code == FIRN_OP_transpose || code == FIRN_OP_slice || code == FIRN_OP_expand ||
           code == FIRN_OP_cast;
}

/* Refuses a model that is too large for any plan as soon as this is known. */
static bool fits_a_plan(firnc_onnx_importer *im) {
    enum { OPS_MOST = 65536 }; /* as (max: 65536) of ops in plan.fbs */
    for (; im->counted < im->graph->node_count; im->counted++)
        im->ops += !may_vanish(im->graph->nodes[im->counted].code);
    return im->ops <= OPS_MOST ||
           firnc_onnx_fail(im, "is op number %u of the model, and a plan holds at most %d; export fewer layers",
                           (unsigned)im->ops, OPS_MOST);
}

/* Finds the inputs of a node and makes its outputs. */
static bool bind(firnc_onnx_importer *im, firnc_onnx_scope *scope, firnc_onnx_node *node) {
    const FirncOnnx__Node *proto = node->proto;
    if (proto->n_input > FIRNC_ONNX_OPERANDS_MAX || proto->n_output > FIRNC_ONNX_OPERANDS_MAX)
        return firnc_onnx_fail(im, "has more than %d inputs or outputs; divide it into several nodes",
                               FIRNC_ONNX_OPERANDS_MAX);
    for (size_t i = 0; i < proto->n_input; i++) {
        const char *name = firnc_onnx_or_empty(proto->input[i]);
        if (name[0] == '\0')
            continue;
        firnc_onnx_value *value = firnc_onnx_find(scope, name);
        if (value == NULL && scope->function != NULL)
            continue; /* an input of the function that its caller leaves out */
        if (value == NULL)
            return firnc_onnx_fail(im, "reads %s, which no node before it makes; nodes are in order and without cycles",
                                   name);
        node->inputs[i] = value->parameter != NULL ? firnc_onnx_own_parameter(im, scope, value, node->layer) : value;
        firnc_onnx_name_by_use(im, node, node->inputs[i]);
        if (node->inputs[i]->parameter != NULL)
            firnc_onnx_note_copy(im, scope, node, node->inputs[i]);
    }
    node->input_count = (uint32_t)proto->n_input;
    if (node->input_count == 2 && (node->inputs[2] = firnc_onnx_left_out_bias(im, scope, node)) != NULL)
        node->input_count++;
    while (node->input_count > 0 && node->inputs[node->input_count - 1] == NULL)
        node->input_count--;
    for (size_t i = 0; i < proto->n_output; i++)
        if (firnc_onnx_or_empty(proto->output[i])[0] != '\0' &&
            firnc_onnx_how_read(scope->reads, proto->output[i]) != FIRNC_ONNX_UNREAD) {
            node->outputs[i] = firnc_onnx_value_new(proto->output[i]);
            node->outputs[i]->producer = node;
        }
    node->output_count = (uint32_t)proto->n_output;
    return true;
}

/* Whether anything depends on a node. */
static bool is_read(const firnc_onnx_scope *scope, const FirncOnnx__Node *node) {
    for (size_t i = 0; i < node->n_output; i++)
        if (firnc_onnx_or_empty(node->output[i])[0] != '\0' &&
            firnc_onnx_how_read(scope->reads, node->output[i]) != FIRNC_ONNX_UNREAD)
            return true;
    return false;
}

/* A node on which nothing depends is left out, and so is what only such nodes read. */
static bool run_node(firnc_onnx_importer *im, firnc_onnx_scope *scope, firnc_onnx_node *node) {
    if (!is_read(scope, node->proto))
        return true;
    im->node = node;
    if (!count_nodes(im, 1) || !bind(im, scope, node))
        return false;
    /* the nodes of a branch or a loop have layers of their own */
    const bool layer = node->layer[0] != '\0' && scope->depth == 0 && !firnc_onnx_is_listed("If Loop", node->op);
    if (layer && !firnc_is_name(node->layer))
        return firnc_onnx_fail(im,
                               "is in a module whose path is not of 1 to %d printable ASCII characters; rename the "
                               "module, or nest it less deeply",
                               FIRNC_NAME_MAX);
    if (layer)
        firnc_layer_begin(im->graph, node->layer);
    const bool good = run_op(im, node) && fits_a_plan(im);
    if (layer)
        firnc_layer_end(im->graph);
    im->node = node;
    for (uint32_t i = 0; good && i < node->output_count; i++)
        if (node->outputs[i] != NULL && !firnc_onnx_define(im, scope, node->outputs[i]->name, node->outputs[i]))
            return false;
    im->node = NULL;
    return good && !im->failed;
}

static bool run(firnc_onnx_importer *im, firnc_onnx_scope *scope, FirncOnnx__Node *const *nodes, size_t count) {
    const firnc_onnx_node *around = scope->caller != NULL ? scope->caller : im->node;
    firnc_onnx_layer layer = {.path = "", .module = ""};
    if (around != NULL)
        layer = (firnc_onnx_layer){around->path, around->layer, around->guessed, around->unsure};
    for (size_t i = 0; i < count; i++) {
        firnc_onnx_node *node = firnc_allocate(sizeof *node);
        const char *path = scope->depth == 0 ? firnc_onnx_path_of(nodes[i], layer.path) : layer.path;
        if (path != layer.path && strcmp(path, layer.path) != 0)
            layer = firnc_onnx_layer_of(im, path);
        *node = (firnc_onnx_node){.proto = nodes[i],
                                  .next = i + 1 < count ? nodes[i + 1] : NULL,
                                  .op = firnc_onnx_or_empty(nodes[i]->op_type),
                                  .path = layer.path,
                                  .layer = layer.module,
                                  .guessed = layer.guessed,
                                  .unsure = layer.unsure,
                                  .scope = scope};
        if (!run_node(im, scope, node))
            return false;
    }
    return true;
}

/* --- the model ---------------------------------------------------------------------------------------------------- */

/* A table of tokens tells how many there are. */
static void find_limit(const firnc_onnx_importer *im, firnc_onnx_model *model) {
    for (uint32_t i = 0; i < model->input_count; i++)
        if (model->tokens && model->inputs[i].value != FIRNC_NONE)
            model->token_limit = im->graph->values[model->inputs[i].value].source->limit;
}

static bool has_extent(const FirncOnnx__ValueInfo *input, const char *name) {
    const FirncOnnx__TensorType *type = input->type == NULL ? NULL : input->type->tensor_type;
    for (uint32_t i = 0; type != NULL && type->shape != NULL && i < type->shape->n_dim; i++)
        if (firnc_onnx_is_extent(input, i, name))
            return true;
    return false;
}

/* Notes a dimension that no input has. */
static void find_unused(const firnc_onnx_importer *im, firnc_onnx_model *model) {
    const FirncOnnx__Graph *graph = im->model->graph;
    const firnc_onnx_options *options = im->options;
    model->unused_dimension = FIRNC_NONE;
    for (uint32_t i = options->dimension_count; i-- > 0;) {
        bool used = false;
        for (size_t j = 0; j < graph->n_input && !used; j++)
            used = has_extent(graph->input[j], options->dimensions[i].name);
        if (!used)
            model->unused_dimension = i;
    }
}

/* A plan has a parameter; a model may have none. */
static void add_parameter(firnc_graph *graph) {
    for (firnc_value i = 0; i < graph->value_count; i++)
        if (graph->values[i].role == FIRNC_ROLE_PARAMETER)
            return;
    const firnc_init zero = {.rule = FIRNC_INIT_CONSTANT};
    (void)firnc_parameter(graph, "none", 1, (uint32_t[]){1}, zero, false);
}

static bool read_graph(firnc_onnx_importer *im, firnc_onnx_model *model) {
    firnc_onnx_scope *reads = firnc_allocate(sizeof *reads), *scope = firnc_allocate(sizeof *scope);
    const FirncOnnx__Graph *from = im->model->graph;
    memset(model, 0, sizeof *model);
    model->data = FIRNC_NONE;
    scope->reads = reads;
    firnc_onnx_open_scope(scope,
                          from->n_initializer + from->n_input + firnc_onnx_count_names(from->node, from->n_node));
    firnc_onnx_find_graph_reads(reads, from);
    if (!firnc_onnx_add_initializers(im, scope, from))
        return false;
    firnc_onnx_find_layers(im, scope, from);
    if (!firnc_onnx_add_inputs(im, scope, model) || !run(im, scope, from->node, from->n_node) ||
        !firnc_onnx_add_outputs(im, scope, model))
        return false;
    firnc_onnx_list_stored(im, scope, model);
    return true;
}

static bool has_branches(const firnc_onnx_importer *im) {
    const FirncOnnx__Graph *graph = im->model->graph;
    for (size_t i = 0; i < graph->n_node; i++)
        for (size_t j = 0; j < graph->node[i]->n_attribute; j++)
            if (graph->node[i]->attribute[j]->g != NULL)
                return true;
    return false;
}

/* Reads the model into a graph that is thrown away, to put each chosen branch in the place of the other branch. In the
 * second reading nothing reads what only the other branch reads. */
static bool choose_branches(firnc_onnx_importer *im, firnc_onnx_model *model) {
    firnc_onnx_importer trial = *im;
    trial.graph = firnc_graph_create("trial");
    trial.graph->eval = im->graph->eval;
    trial.chooses = true;
    const bool good = read_graph(&trial, model);
    im->failed = trial.failed;
    return good;
}

bool firnc_onnx_import(firnc_graph *graph, const char *path, const firnc_onnx_options *options,
                       firnc_onnx_model *model) {
    firnc_onnx_importer im = {.file = path, .graph = graph, .options = options};
    im.matched = firnc_allocate((options->constant_count + UINT64_C(1)) * sizeof *im.matched);
    im.padded = firnc_allocate((options->padding_count + UINT64_C(1)) * sizeof *im.padded);
    if (!firnc_onnx_read(&im))
        return false;
    firnc_onnx_read_origins(&im);
    if ((has_branches(&im) && !choose_branches(&im, model)) || !read_graph(&im, model))
        return false;
    if (options->bare)
        add_parameter(graph);
    firnc_onnx_map_weights(&im, model);
    find_limit(&im, model);
    find_unused(&im, model);
    model->fixed_norms = im.fixed_norms;
    model->matched = im.matched;
    model->padded = im.padded;
    return true;
}
