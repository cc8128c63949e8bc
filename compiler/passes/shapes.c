/* The shapes pass. In: the graph as it was built; outputs have a type and no extents. Out: every value has its extents,
 * every op has passed the shape rule that the loader checks again (plan/shapes/shapes_*.c), and the loss is a scalar.
 * An add or multiply is the op that can repeat its operands. */
#include "compiler/base/words.h"
#include "compiler/passes/passes.h"
#include "plan/errors.h"
#include "plan/needs.h"
#include "plan/op_words.h"

/* "float32[32,784], float32[10,784]" */
static const char *operands_text(const firnc_graph *graph, const firnc_node *node) {
    const char *text = "";
    for (uint8_t i = 0; i < node->input_count; i++)
        text = firnc_format("%s%s%s", text, i == 0 ? "" : ", ",
                            node->inputs[i] == FIRNC_NONE ? "none"
                                                          : firnc_shape_text(&graph->values[node->inputs[i]].shape));
    return text;
}

/* What an op's indices must be below: the number of classes, or of rows of a table, or one more if the op ignores the
 * label behind the last class. */
static int64_t index_range(const firnc_graph *graph, const firnc_node *node, const firn_op_info *info) {
    const uint8_t ignored = firn_op_ignore_index(node->code);
    int64_t range;
    if (info->index_attribute != FIRN_NONE_OF_THEM) {
        range = node->integers[info->index_attribute];
    } else {
        const firn_shape *table = &graph->values[node->inputs[info->index_table]].shape;
        range = table->dims[table->rank - info->index_from_end];
    }
    return range + (ignored != FIRN_NONE_OF_THEM && node->integers[ignored] == range);
}

bool firnc_check_indices(const firnc_compilation *compilation, const firnc_node *node) {
    const firn_op_info *info = firn_op_find(node->code);
    if (info->index_operand == FIRN_NONE_OF_THEM)
        return true;
    const firnc_value_info *indices = &compilation->graph->values[node->inputs[info->index_operand]];
    const int64_t range = index_range(compilation->graph, node, info);
    if (indices->source == NULL)
        return firnc_fail(compilation, "layer %s: %s takes its indices or labels from %s; give it an input", node->name,
                          firn_op_name(info), indices->name);
    return (int64_t)indices->source->limit <= range ||
           firnc_fail(
               compilation,
               "input %s: its limit is %u, and %s of layer %s has %lld classes or rows to choose from; lower the "
               "limit, or enlarge the layer",
               indices->name, (unsigned)indices->source->limit, firn_op_name(info), node->name, (long long)range);
}

bool firnc_infer_node(const firnc_compilation *compilation, const firnc_node *node) {
    firnc_graph *graph = compilation->graph;
    uint8_t types[FIRN_OUTPUTS_MAX] = {0};
    for (uint8_t i = 0; i < node->output_count; i++)
        types[i] = graph->values[node->outputs[i]].shape.type;
    firn_shape shapes[FIRN_OUTPUTS_MAX];
    int error = firnc_infer_outputs(graph, node, types, shapes);
    if (error != FIRN_OK)
        return firnc_fail(compilation, "layer %s: %s(%s): %s; check the sizes that the model gives this layer",
                          node->name, firn_op_name(firn_op_find(node->code)), operands_text(graph, node),
                          firn_error_text(error));
    for (uint8_t i = 0; i < node->output_count; i++)
        graph->values[node->outputs[i]].shape = shapes[i];
    return firnc_check_indices(compilation, node);
}

/* Autocast gives no tensor of one dimension a half type, so a loss that is float32[1] here stays it. */
static bool check_loss(const firnc_compilation *compilation) {
    const firnc_graph *graph = compilation->graph;
    if (graph->loss == FIRNC_NONE)
        return true; /* the build pass requires one */
    const firn_shape *shape = &graph->values[graph->loss].shape;
    return (shape->type == FIRN_FLOAT32 && shape->rank == 1 && shape->dims[0] == 1) ||
           firnc_fail(compilation, "the loss %s is %s, not float32[1]; give firnc_loss the result of a loss",
                      graph->values[graph->loss].name, firnc_shape_text(shape));
}

bool firnc_infer_shapes(firnc_compilation *compilation) {
    const firnc_graph *graph = compilation->graph;
    for (uint32_t i = 0; i < graph->node_count; i++) {
        firnc_choose_general_op(graph, &graph->nodes[i]);
        if (!firnc_infer_node(compilation, &graph->nodes[i]))
            return false;
    }
    return check_loss(compilation);
}
