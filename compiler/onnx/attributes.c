/* The attributes of a node. In the body of a function one may stand for an attribute of the node that calls it. */
#include <string.h>

#include "compiler/onnx/import.h"

static const FirncOnnx__Attribute *find(FirncOnnx__Attribute *const *list, size_t count, const char *name) {
    for (size_t i = 0; i < count; i++)
        if (list[i]->name != NULL && strcmp(list[i]->name, name) == 0)
            return list[i];
    return NULL;
}

const FirncOnnx__Attribute *firnc_onnx_attribute(const firnc_onnx_node *node, const char *name) {
    for (uint32_t depth = 0; node != NULL && depth <= FIRNC_ONNX_DEPTH_MAX; depth++) {
        const FirncOnnx__Attribute *found = find(node->proto->attribute, node->proto->n_attribute, name);
        const FirncOnnx__Function *function = depth > 0 || found != NULL ? node->scope->function : NULL;
        if (found == NULL || found->ref_attr_name == NULL || found->ref_attr_name[0] == '\0')
            return found;
        name = found->ref_attr_name;
        if (function == NULL || node->scope->caller == NULL)
            return NULL;
        if (find(node->scope->caller->proto->attribute, node->scope->caller->proto->n_attribute, name) == NULL)
            return find(function->attribute_proto, function->n_attribute_proto, name);
        node = node->scope->caller;
    }
    return NULL;
}

/* The kinds of attributes, by their numbers in the file. */
enum { REAL = 1, WHOLE = 2, TEXT = 3, TENSOR = 4, GRAPH = 5, REALS = 6, WHOLES = 7, TEXTS = 8, SPARSE = 11 };

/* Which attributes are of which kind; all others are whole numbers. */
static const struct {
    uint8_t kind;
    const char *word, *names;
} kinds[] = {
    {REAL, "real number",
     "alpha beta bias cubic_coeff_a epsilon extrapolation_value gamma high lambd low mean momentum scale softcap "
     "value_float"},
    {TEXT, "text",
     "approximate auto_pad coordinate_transformation_mode direction equation keep_aspect_ratio_policy mode "
     "nearest_mode padding_mode "
     "reduction round_mode"},
    {TENSOR, "tensor", "value"},
    {GRAPH, "graph", "body else_branch then_branch"},
    {REALS, "list of real numbers", "activation_alpha activation_beta value_floats"},
    {WHOLES, "list of whole numbers",
     "axes dilations kernel_shape output_padding output_shape pads perm shape strides value_ints"},
    {TEXTS, "list of texts", "activations"},
    {SPARSE, "sparse tensor", "sparse_value"},
};

/* Whether the value of this kind is there; a list may be empty. */
static bool is_of_kind(const FirncOnnx__Attribute *attribute, uint8_t kind) {
    if (attribute->has_type && attribute->type != 0 && attribute->type != kind)
        return false;
    return kind == REAL     ? attribute->has_f
           : kind == WHOLE  ? attribute->has_i
           : kind == TEXT   ? attribute->has_s
           : kind == TENSOR ? attribute->t != NULL
           : kind == GRAPH  ? attribute->g != NULL
           : kind == SPARSE ? attribute->sparse_tensor != NULL
                            : true;
}

bool firnc_onnx_check_attribute(firnc_onnx_importer *im, const firnc_onnx_node *node, uint32_t number) {
    const FirncOnnx__Attribute *own = node->proto->attribute[number];
    const char *word = "whole number";
    uint8_t kind = WHOLE;
    if (find(node->proto->attribute, number, own->name) != NULL)
        return firnc_onnx_fail(im, "has the attribute %s twice; leave one out", own->name);
    const FirncOnnx__Attribute *attribute = firnc_onnx_attribute(node, own->name);
    if (attribute == NULL && node->scope->function == NULL)
        return firnc_onnx_fail(im, "its attribute %s stands for one of a function, and it is in none", own->name);
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        if (firnc_onnx_is_listed(kinds[i].names, own->name)) {
            kind = kinds[i].kind;
            word = kinds[i].word;
        }
    if (attribute != NULL && !is_of_kind(attribute, kind))
        return firnc_onnx_fail(im, "its attribute %s is no %s", own->name, word);
    return attribute == NULL || attribute->n_ints <= UINT16_MAX || strcmp(own->name, "value_ints") == 0 ||
           firnc_onnx_fail(im, "its attribute %s has more than %d numbers; write the node with fewer", own->name,
                           UINT16_MAX);
}

const FirncOnnx__Graph *firnc_onnx_graph(const firnc_onnx_node *node, const char *name) {
    const FirncOnnx__Attribute *attribute = firnc_onnx_attribute(node, name);
    return attribute != NULL ? attribute->g : NULL;
}

bool firnc_onnx_has(const firnc_onnx_node *node, const char *name) {
    return firnc_onnx_attribute(node, name) != NULL;
}

int64_t firnc_onnx_integer(const firnc_onnx_node *node, const char *name, int64_t usual) {
    const FirncOnnx__Attribute *attribute = firnc_onnx_attribute(node, name);
    return attribute != NULL && attribute->has_i ? attribute->i : usual;
}

float firnc_onnx_float(const firnc_onnx_node *node, const char *name, float usual) {
    const FirncOnnx__Attribute *attribute = firnc_onnx_attribute(node, name);
    return attribute != NULL && attribute->has_f ? attribute->f : usual;
}

/* What the text of an attribute cannot hold becomes this, which is in no word and no equation, so that whoever asked
 * refuses it. */
#define NO_TEXT   '?'
#define TEXT_MOST 1024u

const char *firnc_onnx_text(const firnc_onnx_node *node, const char *name, const char *usual) {
    const FirncOnnx__Attribute *attribute = firnc_onnx_attribute(node, name);
    if (attribute == NULL || !attribute->has_s)
        return usual;
    const size_t length = attribute->s.len < TEXT_MOST ? attribute->s.len : TEXT_MOST;
    char *text = firnc_allocate(length + 2);
    for (size_t i = 0; i < length; i++)
        text[i] = attribute->s.data[i] != 0 ? (char)attribute->s.data[i] : NO_TEXT;
    if (length < attribute->s.len)
        text[length] = NO_TEXT;
    return text;
}

uint32_t firnc_onnx_integers(const firnc_onnx_node *node, const char *name, const int64_t **list) {
    const FirncOnnx__Attribute *attribute = firnc_onnx_attribute(node, name);
    *list = attribute != NULL ? attribute->ints : NULL;
    return attribute != NULL && attribute->n_ints <= UINT16_MAX ? (uint32_t)attribute->n_ints : 0;
}

uint8_t firnc_onnx_axis(firnc_onnx_importer *im, int64_t axis, uint8_t rank) {
    if (axis < -(int64_t)rank || axis >= rank) {
        firnc_onnx_fail(im, "has the axis %lld, and its operand has %u", (long long)axis, (unsigned)rank);
        return 0;
    }
    return (uint8_t)(axis < 0 ? axis + rank : axis);
}

bool firnc_onnx_list(firnc_onnx_importer *im, const firnc_onnx_node *node, uint32_t input, const char *what,
                     const int64_t **list, uint32_t *count) {
    *list = NULL;
    *count = FIRNC_NONE;
    if (node->inputs[input] == NULL)
        return true;
    const firnc_onnx_value *value = node->inputs[input];
    if (value->known == NULL)
        return firnc_onnx_fail(im, "its %s depend on the data; Firn freezes every shape, so make them constants", what);
    if (value->known->wholes == NULL || value->rank > 1 || value->known->count > UINT16_MAX)
        return firnc_onnx_fail(im, "its %s are no list of whole numbers; make them a constant of int64", what);
    *list = value->known->wholes;
    *count = (uint32_t)value->known->count;
    return true;
}

bool firnc_onnx_is_read(const firnc_onnx_importer *im, const firnc_onnx_node *node, const char *name) {
    const FirncOnnx__Graph *graph = im->model->graph;
    for (size_t i = 0; i < graph->n_node; i++)
        for (size_t j = 0; j < graph->node[i]->n_input; j++)
            if (graph->node[i]->input[j] != NULL && strcmp(graph->node[i]->input[j], name) == 0)
                return true;
    for (size_t i = 0; i < graph->n_output; i++)
        if (graph->output[i]->name != NULL && strcmp(graph->output[i]->name, name) == 0)
            return true;
    return node->scope->function != NULL || node->scope->outer != NULL;
}
