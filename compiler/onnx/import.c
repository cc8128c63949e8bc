/* Reads a model node by node, in the order of the file, and gives each value its extents, its elements where they are
 * known, or its place in the graph (compiler/onnx/onnx.h). What an op means is in the table of ops; this file has
 * names, layers, inputs, outputs and which tensors may be parameters. */
#include "compiler/onnx/onnx.h"

#include <math.h>
#include <string.h>

#include "compiler/onnx/import.h"

/* --- messages ----------------------------------------------------------------------------------------------------- */

static const char *or_empty(const char *text) {
    return text == NULL ? "" : text;
}

/* --- names -------------------------------------------------------------------------------------------------------- */

struct firnc_onnx_entry {
    const char *name;
    firnc_onnx_value *value;
    uint8_t how; /* of names that are read */
};

static uint32_t hash_of(const char *name) {
    uint32_t hash = 2166136261u;
    for (; *name != '\0'; name++)
        hash = (hash ^ (uint8_t)*name) * 16777619u;
    return hash;
}

/* The entry of a name, or the empty one where it belongs. */
static struct firnc_onnx_entry *entry_of(const firnc_onnx_scope *scope, const char *name) {
    uint32_t at = hash_of(name) & (scope->capacity - 1);
    while (scope->entries[at].name != NULL && strcmp(scope->entries[at].name, name) != 0)
        at = (at + 1) & (scope->capacity - 1);
    return &scope->entries[at];
}

static firnc_onnx_value *find(const firnc_onnx_scope *scope, const char *name) {
    return scope->capacity == 0 ? NULL : entry_of(scope, name)->value;
}

/* Room for so many names. */
static void scope_open(firnc_onnx_scope *scope, uint64_t names) {
    scope->capacity = 16;
    while (scope->capacity < 2 * names && scope->capacity < UINT32_C(1) << 30)
        scope->capacity *= 2;
    scope->entries = firnc_allocate(scope->capacity * sizeof *scope->entries);
}

/* Adds a name that is not there yet. */
static bool define(firnc_onnx_importer *im, firnc_onnx_scope *scope, const char *name, firnc_onnx_value *value) {
    struct firnc_onnx_entry *entry = entry_of(scope, name);
    if (entry->name != NULL)
        return firnc_onnx_fail(im, "two values have the name %s; each is made once", name);
    *entry = (struct firnc_onnx_entry){.name = name, .value = value};
    scope->count++;
    return true;
}

static const char *entry_value(FirncOnnx__Entry *const *entries, size_t count, const char *key) {
    for (size_t i = 0; i < count; i++)
        if (entries[i]->key != NULL && strcmp(entries[i]->key, key) == 0)
            return or_empty(entries[i]->value);
    return NULL;
}

/* --- layers ------------------------------------------------------------------------------------------------------- */

/* The last but one of a list "['', 'h.0', 'h.0.ln1', 'layer_norm']", in which the torch.export exporter notes the
 * modules around an op and the op itself; NULL if it has no such one. */
static const char *module_of_scopes(const char *list) {
    const char *last = NULL, *before = NULL;
    size_t last_length = 0, before_length = 0;
    while ((list = strchr(list, '\'')) != NULL) {
        const char *end = strchr(list + 1, '\'');
        if (end == NULL)
            break;
        before = last;
        before_length = last_length;
        last = list + 1;
        last_length = (size_t)(end - list) - 1;
        list = end + 1;
    }
    return before == NULL ? NULL : firnc_format("%.*s", (int)before_length, before);
}

/* "h.0.ln1" of "/h.0/ln1/LayerNormalization", as the TorchScript exporter names nodes; NULL of other names. */
static const char *module_of_name(const char *name) {
    if (name[0] != '/')
        return NULL;
    const char *last = strrchr(name, '/');
    char *module = (char *)(uintptr_t)firnc_format("%.*s", last == name ? 0 : (int)(last - name - 1), name + 1);
    for (char *c = module; *c != '\0'; c++)
        if (*c == '/')
            *c = '.';
    return module;
}

/* The module of a node, as the exporter has noted it; that of the node before where it has not. */
static const char *layer_of(const FirncOnnx__Node *node, const char *before) {
    const char *scopes = entry_value(node->metadata_props, node->n_metadata_props, "pkg.torch.onnx.name_scopes");
    const char *layer = scopes != NULL ? module_of_scopes(scopes) : module_of_name(or_empty(node->name));
    return layer == NULL ? before : layer;
}

/* --- who reads what ----------------------------------------------------------------------------------------------- */

/* How a value is read: not at all, only where a change of its elements has no gradient, or otherwise. */
enum { UNREAD, READ, DIFFERENTIATED };

/* Ops whose results do not change with small changes of their operands. */
static const char steps_only[] = "Equal Less LessOrEqual Greater GreaterOrEqual Not And Or Xor Shape Size ArgMax "
                                 "ArgMin IsNaN Floor Ceil Sign ConstantOfShape Range OneHot";

/* Whether the gradient of a node's results reaches this input. */
static bool passes_gradient(const FirncOnnx__Node *node, size_t input) {
    const char *op = or_empty(node->op_type);
    if (firnc_onnx_is_listed(steps_only, op) || (strcmp(op, "Where") == 0 && input == 0))
        return false;
    if (firnc_onnx_is_listed(
            "Reshape Expand Tile Gather GatherElements Slice Pad Unsqueeze Squeeze Split CumSum Resize Trilu", op))
        return input == 0;
    for (size_t i = 0; strcmp(op, "Cast") == 0 && i < node->n_attribute; i++)
        if (strcmp(or_empty(node->attribute[i]->name), "to") == 0)
            return node->attribute[i]->i >= 0 && node->attribute[i]->i <= UINT8_MAX &&
                   firnc_onnx_is_real((uint8_t)node->attribute[i]->i);
    return true;
}

static void note_read(firnc_onnx_scope *reads, const char *name, uint8_t how) {
    struct firnc_onnx_entry *entry = entry_of(reads, name);
    if (entry->name == NULL)
        reads->count++;
    entry->name = name;
    entry->how = entry->how > how ? entry->how : how;
}

static uint8_t how_read(const firnc_onnx_scope *reads, const char *name) {
    return entry_of(reads, name)->how;
}

/* Notes for each name how it is read, from the outputs to the inputs. */
static void find_reads(firnc_onnx_scope *reads, FirncOnnx__Node *const *nodes, size_t count, char *const *outputs,
                       size_t output_count) {
    uint64_t names = output_count + 1;
    for (size_t i = 0; i < count; i++)
        names += nodes[i]->n_input + nodes[i]->n_output;
    scope_open(reads, names);
    for (size_t i = 0; i < output_count; i++)
        note_read(reads, or_empty(outputs[i]), DIFFERENTIATED);
    for (size_t i = count; i-- > 0;) {
        uint8_t how = UNREAD;
        for (size_t j = 0; j < nodes[i]->n_output; j++) {
            const uint8_t one = how_read(reads, or_empty(nodes[i]->output[j]));
            how = one > how ? one : how;
        }
        for (size_t j = 0; j < nodes[i]->n_input && how != UNREAD; j++)
            note_read(reads, or_empty(nodes[i]->input[j]), passes_gradient(nodes[i], j) ? how : READ);
    }
}

/* --- tensors of the file ------------------------------------------------------------------------------------------ */

static const FirncOnnx__ValueInfo *value_info(const firnc_onnx_importer *im, const char *name) {
    const FirncOnnx__Graph *graph = im->model->graph;
    for (size_t i = 0; i < graph->n_value_info; i++)
        if (graph->value_info[i]->name != NULL && strcmp(graph->value_info[i]->name, name) == 0)
            return graph->value_info[i];
    return NULL;
}

static bool matches_any(const char *const *patterns, uint32_t count, const char *name) {
    for (uint32_t i = 0; i < count; i++)
        if (firnc_name_matches(patterns[i], name))
            return true;
    return false;
}

/* Whether a tensor may be a parameter: it is of finite reals, and neither exporter nor user says otherwise. One without
 * dimensions is taken for a number in a formula, unless it is named like the parameter of a module. */
static bool may_be_parameter(const firnc_onnx_importer *im, const firnc_onnx_tensor *tensor, const char *name,
                             const FirncOnnx__ValueInfo *info) {
    const char *kind = info == NULL ? NULL
                                    : entry_value(info->metadata_props, info->n_metadata_props,
                                                  "pkg.torch.export.graph_signature.InputSpec.kind");
    if (tensor->reals == NULL || tensor->count == 0 || (kind != NULL && strcmp(kind, "PARAMETER") != 0) ||
        (kind == NULL && tensor->count == 1 && strchr(name, '.') == NULL) || name[0] == '/' ||
        matches_any(im->options->constants, im->options->constant_count, name))
        return false;
    for (uint64_t i = 0; i < tensor->count; i++)
        if (!isfinite(tensor->reals[i]))
            return false;
    return true;
}

/* The module's name of a tensor that an exporter has computed from one parameter: the only name with a dot in the list
 * of what it was folded from; NULL if there is none. */
static const char *folded_name(const FirncOnnx__ValueInfo *info) {
    const char *list = info == NULL ? NULL
                                    : entry_value(info->metadata_props, info->n_metadata_props,
                                                  "pkg.onnxscript.optimizer.folded_from");
    const char *found = NULL;
    while (list != NULL && (list = strchr(list, '\'')) != NULL) {
        const char *end = strchr(list + 1, '\'');
        if (end == NULL)
            break;
        const char *name = firnc_format("%.*s", (int)(end - list - 1), list + 1);
        if (strchr(name, '.') != NULL && found != NULL)
            return NULL;
        if (strchr(name, '.') != NULL)
            found = name;
        list = end + 1;
    }
    return found;
}

static bool add_initializer(firnc_onnx_importer *im, firnc_onnx_scope *scope, const FirncOnnx__Tensor *from) {
    const char *name = or_empty(from->name);
    firnc_onnx_value *value = firnc_onnx_value_new(name);
    const firnc_onnx_tensor *tensor = firnc_onnx_tensor_read(im, from, name);
    if (tensor == NULL)
        return false;
    firnc_onnx_set_known(value, tensor);
    const FirncOnnx__ValueInfo *info = value_info(im, name);
    if (how_read(scope->reads, name) == DIFFERENTIATED && may_be_parameter(im, tensor, name, info)) {
        const char *folded = folded_name(info);
        firnc_onnx_parameter_new(im, value, folded != NULL && find(scope, folded) == NULL ? folded : name);
    }
    return define(im, scope, name, value);
}

/* --- parameters that exporters have merged ------------------------------------------------------------------------ */

/* Gives a node of another module than that of the parameter, or one around it, a parameter of its own. */
static firnc_onnx_value *own_parameter(firnc_onnx_importer *im, firnc_onnx_scope *scope, firnc_onnx_value *value,
                                       const char *layer) {
    const firnc_onnx_parameter *merged = value->parameter;
    const char *dot = strrchr(merged->name, '.');
    const size_t length = strlen(layer);
    if (dot == NULL || im->options->bare || length == 0 || !firnc_onnx_is_uniform(merged->tensor) ||
        merged->tensor->rank != 1 || (strncmp(layer, merged->name, length) == 0 && merged->name[length] == '.'))
        return value;
    const char *name = firnc_format("%s%s", layer, dot);
    firnc_onnx_value *own = find(scope, name);
    if (own != NULL)
        return own;
    own = firnc_onnx_value_new(name);
    firnc_onnx_set_known(own, merged->tensor);
    firnc_onnx_parameter_new(im, own, name);
    return define(im, scope, name, own) ? own : value;
}

/* --- nodes -------------------------------------------------------------------------------------------------------- */

static bool run(firnc_onnx_importer *im, firnc_onnx_scope *scope, FirncOnnx__Node *const *nodes, size_t count);

static bool check_node(firnc_onnx_importer *im, const firnc_onnx_node *node, const firnc_onnx_op *op) {
    for (size_t i = 0; i < node->proto->n_attribute; i++) {
        const char *name = or_empty(node->proto->attribute[i]->name);
        if (!firnc_onnx_is_listed(op->attributes, name))
            return firnc_onnx_fail(im, "has the attribute %s, which Firn does not have; it has %s", name,
                                   op->attributes[0] == '\0' ? "none" : op->attributes);
        if (!firnc_onnx_check_attribute(im, node, (uint32_t)i))
            return false;
    }
    if (node->input_count < op->inputs_min || node->input_count > op->inputs_max)
        return firnc_onnx_fail(im, "has %u inputs, and takes %u to %u", (unsigned)node->input_count,
                               (unsigned)op->inputs_min, (unsigned)op->inputs_max);
    for (uint32_t i = 0; i < op->inputs_min; i++)
        if (node->inputs[i] == NULL)
            return firnc_onnx_fail(im, "lacks its input %u", (unsigned)i);
    for (uint32_t i = op->outputs_max; i < node->output_count; i++)
        if (node->outputs[i] != NULL)
            return firnc_onnx_fail(im, "gives its output %u, which Firn does not have; leave it out", (unsigned)i);
    if (im->opset < op->since && !im->options->any_opset)
        return firnc_onnx_fail(im, "came with opset %u, and the file is of opset %lld", (unsigned)op->since,
                               (long long)im->opset);
    return true;
}

static const FirncOnnx__Function *function_of(const firnc_onnx_importer *im, const FirncOnnx__Node *node) {
    for (size_t i = 0; i < im->model->n_functions; i++) {
        const FirncOnnx__Function *function = im->model->functions[i];
        if (strcmp(or_empty(function->name), or_empty(node->op_type)) == 0 &&
            strcmp(or_empty(function->domain), or_empty(node->domain)) == 0)
            return function;
    }
    return NULL;
}

/* Reads the body of a function in the place of a node. */
static bool run_function(firnc_onnx_importer *im, const firnc_onnx_node *node, const FirncOnnx__Function *function) {
    firnc_onnx_scope reads = {0};
    firnc_onnx_scope scope = {.reads = &reads, .function = function, .caller = node, .depth = node->scope->depth + 1};
    if (scope.depth > FIRNC_ONNX_DEPTH_MAX)
        return firnc_onnx_fail(im, "calls functions %d deep or itself", FIRNC_ONNX_DEPTH_MAX);
    if (node->input_count > function->n_input || node->output_count > function->n_output)
        return firnc_onnx_fail(im, "has more inputs or outputs than its function");
    uint64_t names = function->n_input + 1;
    for (size_t i = 0; i < function->n_node; i++)
        names += function->node[i]->n_output;
    scope_open(&scope, names);
    find_reads(&reads, function->node, function->n_node, function->output, function->n_output);
    for (uint32_t i = 0; i < node->input_count; i++)
        if (node->inputs[i] != NULL && !define(im, &scope, function->input[i], node->inputs[i]))
            return false;
    if (!run(im, &scope, function->node, function->n_node))
        return false;
    im->node = node;
    for (uint32_t i = 0; i < node->output_count; i++) {
        const firnc_onnx_value *made = find(&scope, function->output[i]);
        if (made == NULL)
            return firnc_onnx_fail(im, "its function does not make %s", function->output[i]);
        firnc_onnx_alias(node->outputs[i], made);
    }
    return true;
}

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

static bool run_op(firnc_onnx_importer *im, const firnc_onnx_node *node) {
    const char *domain = or_empty(node->proto->domain);
    const FirncOnnx__Function *function = function_of(im, node->proto);
    bool done = false;
    if (function != NULL)
        return run_function(im, node, function);
    const firnc_onnx_op *op = domain[0] == '\0' || strcmp(domain, "ai.onnx") == 0 ? firnc_onnx_op_find(node->op) : NULL;
    if (op == NULL)
        return firnc_onnx_fail(im, "is no op that Firn reads%s%s; the nearest one is %s",
                               domain[0] == '\0' ? "" : ", of the domain ", domain, firnc_onnx_op_nearest(node->op));
    if (!check_node(im, node, op))
        return false;
    if (all_known(node) && !firnc_onnx_fold(im, node, &done))
        return false;
    return done || (op->import(im, node) && (is_made(node) || firnc_onnx_fail(im, "has no result")));
}

/* Finds the inputs of a node and makes its outputs. */
static bool bind(firnc_onnx_importer *im, firnc_onnx_scope *scope, firnc_onnx_node *node) {
    const FirncOnnx__Node *proto = node->proto;
    if (proto->n_input > FIRNC_ONNX_OPERANDS_MAX || proto->n_output > FIRNC_ONNX_OPERANDS_MAX)
        return firnc_onnx_fail(im, "has more than %d inputs or outputs", FIRNC_ONNX_OPERANDS_MAX);
    for (size_t i = 0; i < proto->n_input; i++) {
        const char *name = or_empty(proto->input[i]);
        if (name[0] == '\0')
            continue;
        firnc_onnx_value *value = find(scope, name);
        if (value == NULL && scope->function != NULL)
            continue; /* an input of the function that its caller leaves out */
        if (value == NULL)
            return firnc_onnx_fail(im, "reads %s, which no node before it makes; nodes are in order and without cycles",
                                   name);
        node->inputs[i] = value->parameter != NULL ? own_parameter(im, scope, value, node->layer) : value;
    }
    node->input_count = (uint32_t)proto->n_input;
    while (node->input_count > 0 && node->inputs[node->input_count - 1] == NULL)
        node->input_count--;
    for (size_t i = 0; i < proto->n_output; i++)
        if (or_empty(proto->output[i])[0] != '\0' && how_read(scope->reads, proto->output[i]) != UNREAD) {
            node->outputs[i] = firnc_onnx_value_new(proto->output[i]);
            node->outputs[i]->producer = node;
        }
    node->output_count = (uint32_t)proto->n_output;
    return true;
}

/* Whether anything depends on a node. */
static bool is_read(const firnc_onnx_scope *scope, const FirncOnnx__Node *node) {
    for (size_t i = 0; i < node->n_output; i++)
        if (or_empty(node->output[i])[0] != '\0' && how_read(scope->reads, node->output[i]) != UNREAD)
            return true;
    return false;
}

/* A node on which nothing depends is left out, and so is what only such nodes read. */
static bool run_node(firnc_onnx_importer *im, firnc_onnx_scope *scope, firnc_onnx_node *node) {
    if (!is_read(scope, node->proto))
        return true;
    im->node = node;
    if (!bind(im, scope, node))
        return false;
    const bool layer = node->layer[0] != '\0' && scope->depth == 0;
    if (layer && !firnc_is_name(node->layer))
        return firnc_onnx_fail(im, "is in a module whose name is not of 1 to %d printable characters", FIRNC_NAME_MAX);
    if (layer)
        firnc_layer_begin(im->graph, node->layer);
    const bool good = run_op(im, node);
    if (layer)
        firnc_layer_end(im->graph);
    im->node = node;
    for (uint32_t i = 0; good && i < node->output_count; i++)
        if (node->outputs[i] != NULL && !define(im, scope, node->outputs[i]->name, node->outputs[i]))
            return false;
    im->node = NULL;
    return good && !im->failed;
}

static bool run(firnc_onnx_importer *im, firnc_onnx_scope *scope, FirncOnnx__Node *const *nodes, size_t count) {
    const char *layer = scope->caller != NULL ? scope->caller->layer : "";
    for (size_t i = 0; i < count; i++) {
        firnc_onnx_node *node = firnc_allocate(sizeof *node);
        layer = scope->depth == 0 ? layer_of(nodes[i], layer) : layer;
        *node = (firnc_onnx_node){.proto = nodes[i],
                                  .next = i + 1 < count ? nodes[i + 1] : NULL,
                                  .op = or_empty(nodes[i]->op_type),
                                  .layer = layer,
                                  .scope = scope};
        if (!run_node(im, scope, node))
            return false;
    }
    return true;
}

/* --- inputs ------------------------------------------------------------------------------------------------------- */

/* The size of an extent that is only named. False after one message. */
static bool named_extent(firnc_onnx_importer *im, const char *input, const FirncOnnx__Extent *extent, uint8_t axis,
                         int64_t *size) {
    const char *name = or_empty(extent->dim_param);
    for (uint32_t i = 0; i < im->options->dimension_count; i++)
        if (strcmp(im->options->dimensions[i].name, name) == 0) {
            *size = im->options->dimensions[i].size;
            return true;
        }
    if (axis == 0 && !im->options->bare) {
        *size = im->options->samples > 0 ? im->options->samples : 2;
        return true;
    }
    return firnc_onnx_fail(im, "input %s: the size of its extent %u (%s) is open; write it into model.dimensions",
                           input, (unsigned)axis, name[0] == '\0' ? "without a name" : name);
}

/* The shape of an input. The first extent of data is the samples, whatever the file says. */
static bool input_shape(firnc_onnx_importer *im, const FirncOnnx__ValueInfo *info, firnc_onnx_port *port) {
    const FirncOnnx__TensorType *type = info->type == NULL ? NULL : info->type->tensor_type;
    if (type == NULL || type->shape == NULL)
        return firnc_onnx_fail(im, "input %s is no tensor with a shape", port->name);
    if (type->shape->n_dim > FIRN_RANK_MAX)
        return firnc_onnx_fail(im, "input %s has more than %d dimensions", port->name, FIRN_RANK_MAX);
    port->rank = (uint8_t)type->shape->n_dim;
    for (uint8_t i = 0; i < port->rank; i++) {
        const FirncOnnx__Extent *extent = type->shape->dim[i];
        int64_t size = extent->has_dim_value ? extent->dim_value : 0;
        if (!extent->has_dim_value && !named_extent(im, port->name, extent, i, &size))
            return false;
        if (size < 1 || size > INT32_MAX)
            return firnc_onnx_fail(im, "input %s has an extent of %lld; every extent is 1 to 2147483647", port->name,
                                   (long long)size);
        port->dims[i] = (uint32_t)size;
    }
    port->type = (uint8_t)(type->elem_type >= 0 && type->elem_type <= FIRNC_ONNX_BFLOAT16 ? type->elem_type : 0);
    if (port->type == 0 || port->type == 8 || port->type == 14 || port->type == 15)
        return firnc_onnx_fail(im, "input %s is of the type %s, which Firn does not have; use float or int64",
                               port->name, firnc_onnx_type_word(type->elem_type));
    return true;
}

/* An input that is not data. */
static bool fill(firnc_onnx_importer *im, const firnc_onnx_port *port, double number, firnc_onnx_value *value) {
    int64_t dims[FIRN_RANK_MAX] = {0};
    const firnc_onnx_tensor *one =
        firnc_onnx_tensor_cast(im, firnc_onnx_tensor_scalar(im, FIRNC_ONNX_DOUBLE, number), port->type);
    if (!firnc_onnx_is_real(port->type) && one != NULL && firnc_onnx_number(one, 0) != number)
        return firnc_onnx_fail(im, "input %s is of the type %s, which does not have %g", port->name,
                               firnc_onnx_type_word(port->type), number);
    for (uint8_t i = 0; i < port->rank; i++)
        dims[i] = port->dims[i];
    firnc_onnx_tensor *tensor = firnc_onnx_tensor_new(im, port->type, port->rank, dims);
    for (uint64_t i = 0; tensor != NULL && i < tensor->count; i++)
        firnc_onnx_put(tensor, i, number);
    firnc_onnx_set_known(value, tensor);
    return tensor != NULL;
}

/* A row with all elements as the input of a bare import. */
static bool add_bare_input(firnc_onnx_importer *im, uint32_t stream, firnc_onnx_port *port, firnc_onnx_value *value) {
    int64_t dims[FIRN_RANK_MAX] = {0};
    uint64_t count = 1;
    for (uint8_t i = 0; i < port->rank; i++) {
        dims[i] = port->dims[i];
        if (port->dims[i] > FIRNC_ONNX_ELEMENTS_MAX / count)
            return firnc_onnx_fail(im, "input %s has too many elements", port->name);
        count *= port->dims[i];
    }
    const firnc_input_options options = {.stream = (uint8_t)stream, .element = FIRN_FLOAT32};
    if (!firnc_is_name(port->name))
        return firnc_onnx_fail(im, "an input has a name that is not of 1 to %d printable characters", FIRNC_NAME_MAX);
    port->value = firnc_input(im->graph, port->name, FIRN_FLOAT32, 2, (uint32_t[]){1, (uint32_t)count}, options);
    firnc_onnx_set(im, value, firnc_onnx_reshape(im, port->value, port->rank, dims), port->type, port->rank);
    return !im->failed;
}

/* The data: stream 0. */
static bool add_data_input(firnc_onnx_importer *im, firnc_onnx_model *model, firnc_onnx_port *port,
                           firnc_onnx_value *value) {
    firnc_input_options options = im->options->features;
    const bool whole = !firnc_onnx_is_real(port->type);
    if (port->rank == 0 || (im->options->samples > 0 && port->dims[0] != im->options->samples))
        return firnc_onnx_fail(
            im,
            "input %s has the first extent %u, and a micro-batch has %u samples; export it with a first extent that "
            "is open, or write that micro_batch_size",
            port->name, (unsigned)(port->rank == 0 ? 1 : port->dims[0]), (unsigned)im->options->samples);
    if (whole) {
        options.limit = INT32_MAX;
        options.scaled = false;
        options.scale = options.shift = 0;
    }
    port->value = firnc_input(im->graph, whole ? "input_ids" : "features", whole ? FIRN_INT32 : FIRN_FLOAT32,
                              port->rank, port->dims, options);
    firnc_onnx_set(im, value, port->value, port->type, port->rank);
    if (whole)
        value->input = port->value;
    model->tokens = whole;
    model->data = (uint32_t)(port - model->inputs);
    return true;
}

static bool add_inputs(firnc_onnx_importer *im, firnc_onnx_scope *scope, firnc_onnx_model *model) {
    const FirncOnnx__Graph *graph = im->model->graph;
    uint32_t data = 0;
    for (size_t i = 0; i < graph->n_input; i++) {
        const char *name = or_empty(graph->input[i]->name);
        for (size_t j = 0; j < i && j < FIRNC_ONNX_IO_MAX; j++)
            if (strcmp(or_empty(graph->input[j]->name), name) == 0 && find(scope, name) != NULL)
                return firnc_onnx_fail(im, "has two inputs with the name %s", name);
        if (find(scope, name) != NULL)
            continue; /* a tensor of the file that is listed among the inputs */
        if (model->input_count == FIRNC_ONNX_IO_MAX)
            return firnc_onnx_fail(im, "has more than %d inputs", FIRNC_ONNX_IO_MAX);
        firnc_onnx_port *port = &model->inputs[model->input_count++];
        firnc_onnx_value *value = firnc_onnx_value_new(name);
        *port = (firnc_onnx_port){.name = name, .value = FIRNC_NONE};
        if (!input_shape(im, graph->input[i], port))
            return false;
        const firnc_onnx_filled *filled = NULL;
        for (uint32_t j = 0; j < im->options->filled_count; j++)
            if (strcmp(im->options->filled[j].name, name) == 0)
                filled = &im->options->filled[j];
        if (filled == NULL && ++data > 1 && !im->options->bare)
            return firnc_onnx_fail(
                im, "input %s is one more than the one that the data gives; write its value into model.inputs", name);
        if (!(filled != NULL      ? fill(im, port, filled->value, value)
              : im->options->bare ? add_bare_input(im, data - 1, port, value)
                                  : add_data_input(im, model, port, value)) ||
            !define(im, scope, name, value))
            return false;
    }
    return true;
}

/* --- outputs ------------------------------------------------------------------------------------------------------ */

static bool add_output(firnc_onnx_importer *im, firnc_onnx_value *value, firnc_onnx_port *port) {
    port->type = value->type;
    port->real = firnc_onnx_is_real(value->type);
    port->rank = value->rank;
    for (uint8_t i = 0; i < value->rank; i++)
        port->dims[i] = (uint32_t)value->dims[i];
    if (firnc_onnx_is_constant(value)) {
        double *known = firnc_allocate(value->known->count * sizeof *known + 1);
        for (uint64_t i = 0; i < value->known->count; i++)
            known[i] = firnc_onnx_number(value->known, i);
        port->known = known;
        return true;
    }
    port->value = firnc_onnx_plain(im, value);
    if (!im->failed && !im->options->bare && im->graph->values[port->value].producer == FIRNC_NONE)
        port->value = FIRNC_NONE;
    if (im->options->bare) {
        port->value = firnc_onnx_real(im, port->value);
        port->value = firnc_onnx_reshape(im, port->value, 2, (int64_t[]){1, (int64_t)firnc_onnx_count(value)});
        if (!im->failed && im->graph->values[port->value].producer == FIRNC_NONE)
            port->value = firnc_onnx_affine(im, port->value, 1, -0.0F);
        if (!im->failed && !firnc_is_name(port->name))
            return firnc_onnx_fail(im, "an output has a name that is not of 1 to %d printable characters",
                                   FIRNC_NAME_MAX);
        if (!im->failed)
            firnc_name_value(im->graph, port->name, port->value);
    }
    return !im->failed;
}

static bool add_outputs(firnc_onnx_importer *im, const firnc_onnx_scope *scope, firnc_onnx_model *model) {
    const FirncOnnx__Graph *graph = im->model->graph;
    if (graph->n_output == 0 || graph->n_output > FIRNC_ONNX_IO_MAX)
        return firnc_onnx_fail(im, "has %llu outputs; 1 to %d are read", (unsigned long long)graph->n_output,
                               FIRNC_ONNX_IO_MAX);
    for (size_t i = 0; i < graph->n_output; i++) {
        firnc_onnx_port *port = &model->outputs[model->output_count++];
        firnc_onnx_value *value = find(scope, or_empty(graph->output[i]->name));
        *port = (firnc_onnx_port){.name = or_empty(graph->output[i]->name), .value = FIRNC_NONE};
        if (value == NULL)
            return firnc_onnx_fail(im, "no node makes the output %s", port->name);
        if (!add_output(im, value, port))
            return false;
    }
    return true;
}

/* --- options without effect --------------------------------------------------------------------------------------- */

static bool has_extent(const FirncOnnx__ValueInfo *input, const char *name) {
    const FirncOnnx__TensorType *type = input->type == NULL ? NULL : input->type->tensor_type;
    for (size_t i = 0; type != NULL && type->shape != NULL && i < type->shape->n_dim; i++)
        if (!type->shape->dim[i]->has_dim_value && strcmp(or_empty(type->shape->dim[i]->dim_param), name) == 0)
            return true;
    return false;
}

/* Notes dimensions and patterns with which nothing was found. */
static void find_unused(const firnc_onnx_importer *im, firnc_onnx_model *model) {
    const FirncOnnx__Graph *graph = im->model->graph;
    const firnc_onnx_options *options = im->options;
    model->unused_dimension = model->unused_constant = FIRNC_NONE;
    for (uint32_t i = options->dimension_count; i-- > 0;) {
        bool used = false;
        for (size_t j = 0; j < graph->n_input && !used; j++)
            used = has_extent(graph->input[j], options->dimensions[i].name);
        if (!used)
            model->unused_dimension = i;
    }
    for (uint32_t i = options->constant_count; i-- > 0;) {
        bool used = false;
        for (size_t j = 0; j < graph->n_initializer && !used; j++)
            used = firnc_name_matches(options->constants[i], or_empty(graph->initializer[j]->name));
        if (!used)
            model->unused_constant = i;
    }
}

/* --- the map of weights ------------------------------------------------------------------------------------------- */

static void add_rule(firnc_onnx_importer *im, firnc_weight_rule *rules, uint32_t *count,
                     const firnc_onnx_parameter *parameter) {
    const firnc_onnx_tensor *tensor = parameter->tensor;
    uint8_t identity[FIRN_RANK_MAX];
    (void)im;
    firnc_onnx_identity(identity);
    const bool laid = memcmp(parameter->order, identity, tensor->rank) != 0;
    if (!laid && parameter->outside == NULL)
        return;
    firnc_weight_rule rule = {.parameter = parameter->name, .tensors = {parameter->name}};
    if (parameter->outside != NULL)
        rule.transpose = true;
    if (laid) {
        rule.order_count = tensor->rank;
        memcpy(rule.order, parameter->order, tensor->rank);
    }
    rules[(*count)++] = rule;
}

/* Lists how the parameters lie in PyTorch's files. */
static void map_weights(firnc_onnx_importer *im, firnc_onnx_model *model) {
    firnc_weight_rule *rules = firnc_allocate((im->parameter_count + UINT64_C(1)) * sizeof *rules);
    for (uint32_t i = 0; i < im->parameter_count; i++)
        if (im->parameters[i]->value != FIRNC_NONE) {
            model->parameter_count++;
            add_rule(im, rules, &model->names.count, im->parameters[i]);
        }
    model->names.rules = rules;
}

/* A table of tokens tells how many there are. */
static void find_limit(const firnc_onnx_importer *im, firnc_onnx_model *model) {
    for (uint32_t i = 0; i < model->input_count; i++)
        if (model->tokens && model->inputs[i].value != FIRNC_NONE)
            model->token_limit = im->graph->values[model->inputs[i].value].source->limit;
}

/* A plan has a parameter; a model may have none. */
static void add_parameter(firnc_graph *graph) {
    for (firnc_value i = 0; i < graph->value_count; i++)
        if (graph->values[i].role == FIRNC_ROLE_PARAMETER)
            return;
    const firnc_init zero = {.rule = FIRNC_INIT_CONSTANT};
    (void)firnc_parameter(graph, "none", 1, (uint32_t[]){1}, zero, false);
}

bool firnc_onnx_import(firnc_graph *graph, const char *path, const firnc_onnx_options *options,
                       firnc_onnx_model *model) {
    firnc_onnx_importer im = {.file = path, .graph = graph, .options = options};
    firnc_onnx_scope reads = {0}, scope = {.reads = &reads};
    memset(model, 0, sizeof *model);
    model->data = FIRNC_NONE;
    if (!firnc_onnx_read(&im))
        return false;
    const FirncOnnx__Graph *from = im.model->graph;
    uint64_t names = from->n_initializer + from->n_input;
    for (size_t i = 0; i < from->n_node; i++)
        names += from->node[i]->n_output + from->node[i]->n_input;
    scope_open(&scope, names);
    char **outputs = firnc_allocate((from->n_output + UINT64_C(1)) * sizeof *outputs);
    for (size_t i = 0; i < from->n_output; i++)
        outputs[i] = from->output[i]->name;
    find_reads(&reads, from->node, from->n_node, outputs, from->n_output);
    for (size_t i = 0; i < from->n_initializer; i++)
        if (!add_initializer(&im, &scope, from->initializer[i]))
            return false;
    if (!add_inputs(&im, &scope, model) || !run(&im, &scope, from->node, from->n_node) ||
        !add_outputs(&im, &scope, model))
        return false;
    if (options->bare)
        add_parameter(graph);
    map_weights(&im, model);
    find_limit(&im, model);
    find_unused(&im, model);
    model->fixed_norms = im.fixed_norms;
    return true;
}
