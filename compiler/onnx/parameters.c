/* Which tensors of a file become parameters, under which names, and how they lie in the files of PyTorch. */
#include <math.h>
#include <string.h>

#include "compiler/onnx/import.h"

/* --- tensors of the file ------------------------------------------------------------------------------------------ */

static const FirncOnnx__ValueInfo *value_info(const firnc_onnx_importer *im, const char *name) {
    const FirncOnnx__Graph *graph = im->model->graph;
    for (size_t i = 0; i < graph->n_value_info; i++)
        if (graph->value_info[i]->name != NULL && strcmp(graph->value_info[i]->name, name) == 0)
            return graph->value_info[i];
    return NULL;
}

bool firnc_onnx_is_never_trained(firnc_onnx_importer *im, const char *name) {
    bool any = false;
    for (uint32_t i = 0; i < im->options->constant_count; i++)
        if (firnc_name_matches(im->options->constants[i], name))
            any = im->matched[i] = true;
    return any;
}

/* Whether a tensor may be a parameter: it is of finite reals, and the exporter does not say otherwise. One without
 * dimensions is taken for a number in a formula, unless it is named like the parameter of a module. */
static bool may_be_parameter(const firnc_onnx_tensor *tensor, const char *name, const FirncOnnx__ValueInfo *info) {
    const char *kind = info == NULL ? NULL
                                    : firnc_onnx_property(info->metadata_props, info->n_metadata_props,
                                                          "pkg.torch.export.graph_signature.InputSpec.kind");
    if (tensor->reals == NULL || tensor->count == 0 || (kind != NULL && strcmp(kind, "PARAMETER") != 0) ||
        (kind == NULL && tensor->count == 1 && strchr(name, '.') == NULL) || name[0] == '/')
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
                                    : firnc_onnx_property(info->metadata_props, info->n_metadata_props,
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

/* The scope around all branches: tensors have different names, wherever they are. */
static firnc_onnx_scope *outermost(firnc_onnx_scope *scope) {
    while (scope->outer != NULL)
        scope = scope->outer;
    return scope;
}

bool firnc_onnx_add_initializer(firnc_onnx_importer *im, firnc_onnx_scope *scope, const FirncOnnx__Tensor *from) {
    const char *name = firnc_onnx_or_empty(from->name);
    firnc_onnx_value *value = firnc_onnx_value_new(name);
    const firnc_onnx_tensor *tensor = firnc_onnx_tensor_read(im, from, name);
    if (tensor == NULL)
        return false;
    firnc_onnx_set_known(value, tensor);
    const FirncOnnx__ValueInfo *info = value_info(im, name);
    const bool trained = !firnc_onnx_is_never_trained(im, name);
    if (trained && firnc_onnx_how_read(scope->reads, name) == FIRNC_ONNX_DIFFERENTIATED &&
        may_be_parameter(tensor, name, info)) {
        const char *folded = folded_name(info);
        firnc_onnx_parameter_new(im, value, folded != NULL && firnc_onnx_find(scope, folded) == NULL ? folded : name);
    }
    return firnc_onnx_define(im, outermost(scope), name, value);
}

void firnc_onnx_add_constant(firnc_onnx_importer *im, const firnc_onnx_node *node, firnc_onnx_value *value) {
    if (value == NULL || value->known == NULL)
        return;
    const bool trained = !firnc_onnx_is_never_trained(im, value->name);
    const bool pytorch = strcmp(firnc_onnx_or_empty(im->model->producer_name), "pytorch") == 0;
    if (trained && !pytorch && !im->options->bare && node->scope->depth == 0 && value->known->count > 1 &&
        firnc_onnx_how_read(node->scope->reads, value->name) == FIRNC_ONNX_DIFFERENTIATED &&
        may_be_parameter(value->known, value->name, value_info(im, value->name)))
        firnc_onnx_parameter_new(im, value, value->name);
}

firnc_onnx_value *firnc_onnx_own_parameter(firnc_onnx_importer *im, firnc_onnx_scope *scope, firnc_onnx_value *value,
                                           const char *layer) {
    const firnc_onnx_parameter *merged = value->parameter;
    const char *dot = strrchr(merged->name, '.');
    const size_t length = strlen(layer);
    if (dot == NULL || im->options->bare || length == 0 || !firnc_onnx_is_uniform(merged->tensor) ||
        merged->tensor->rank != 1 || (strncmp(layer, merged->name, length) == 0 && merged->name[length] == '.'))
        return value;
    const char *name = firnc_format("%s%s", layer, dot);
    firnc_onnx_value *own = firnc_onnx_find(scope, name);
    if (own != NULL)
        return own;
    own = firnc_onnx_value_new(name);
    firnc_onnx_set_known(own, merged->tensor);
    if (!firnc_onnx_is_never_trained(im, name))
        firnc_onnx_parameter_new(im, own, name);
    return firnc_onnx_define(im, outermost(scope), name, own) ? own : value;
}

/* --- the map of weights ------------------------------------------------------------------------------------------- */

static void add_rule(firnc_weight_rule *rules, uint32_t *count, const firnc_onnx_parameter *parameter) {
    const firnc_onnx_tensor *tensor = parameter->tensor;
    const bool laid = !firnc_onnx_is_identity(parameter->order, tensor->rank);
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

void firnc_onnx_map_weights(firnc_onnx_importer *im, firnc_onnx_model *model) {
    firnc_weight_rule *rules = firnc_allocate((im->parameter_count + UINT64_C(1)) * sizeof *rules);
    for (uint32_t i = 0; i < im->parameter_count; i++)
        if (im->parameters[i]->value != FIRNC_NONE) {
            model->parameter_count++;
            add_rule(rules, &model->names.count, im->parameters[i]);
        }
    model->names.rules = rules;
}
