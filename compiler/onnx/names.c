/* The names of a graph or of the body of a function: which value each name is, and how each is read. */
#include <string.h>

#include "compiler/onnx/import.h"

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

firnc_onnx_value *firnc_onnx_find(const firnc_onnx_scope *scope, const char *name) {
    firnc_onnx_value *found = NULL;
    for (; scope != NULL && found == NULL; scope = scope->outer)
        found = scope->capacity == 0 ? NULL : entry_of(scope, name)->value;
    return found;
}

void firnc_onnx_open_scope(firnc_onnx_scope *scope, uint64_t names) {
    scope->capacity = 16;
    while (scope->capacity < 2 * names && scope->capacity < UINT32_C(1) << 30)
        scope->capacity *= 2;
    scope->entries = firnc_allocate(scope->capacity * sizeof *scope->entries);
}

bool firnc_onnx_define(firnc_onnx_importer *im, firnc_onnx_scope *scope, const char *name, firnc_onnx_value *value) {
    struct firnc_onnx_entry *entry = entry_of(scope, name);
    if (entry->name != NULL)
        return firnc_onnx_fail(im, "two values have the name %s; give each a name of its own", name);
    *entry = (struct firnc_onnx_entry){.name = name, .value = value};
    return true;
}

const char *firnc_onnx_property(FirncOnnx__Entry *const *entries, size_t count, const char *key) {
    for (size_t i = 0; i < count; i++)
        if (entries[i]->key != NULL && strcmp(entries[i]->key, key) == 0)
            return firnc_onnx_or_empty(entries[i]->value);
    return NULL;
}

/* --- who reads what ----------------------------------------------------------------------------------------------- */

/* Ops whose results do not change with small changes of their operands. */
static const char steps_only[] = "Equal Less LessOrEqual Greater GreaterOrEqual Not And Or Xor Shape Size ArgMax "
                                 "ArgMin IsNaN IsInf Floor Ceil Round Sign ConstantOfShape Range OneHot NonZero "
                                 "BitShift BitwiseAnd BitwiseNot BitwiseOr BitwiseXor If";

/* Whether the gradient of a node's results reaches this input. */
static bool passes_gradient(const FirncOnnx__Node *node, size_t input) {
    const char *op = firnc_onnx_or_empty(node->op_type);
    if (firnc_onnx_is_listed(steps_only, op) || (strcmp(op, "Where") == 0 && input == 0))
        return false;
    if (firnc_onnx_is_listed(
            "Reshape Expand Tile Gather GatherElements GatherND Slice Pad Unsqueeze Squeeze Split CumSum Resize Trilu "
            "DequantizeLinear QuantizeLinear TopK Compress ReverseSequence",
            op))
        return input == 0;
    for (size_t i = 0; strcmp(op, "Cast") == 0 && i < node->n_attribute; i++)
        if (strcmp(firnc_onnx_or_empty(node->attribute[i]->name), "to") == 0)
            return node->attribute[i]->i >= 0 && node->attribute[i]->i <= UINT8_MAX &&
                   firnc_onnx_is_real((uint8_t)node->attribute[i]->i);
    return true;
}

static void note_read(firnc_onnx_scope *reads, const char *name, uint8_t how) {
    struct firnc_onnx_entry *entry = entry_of(reads, name);
    entry->name = name;
    entry->how = entry->how > how ? entry->how : how;
}

uint8_t firnc_onnx_how_read(const firnc_onnx_scope *reads, const char *name) {
    return entry_of(reads, name)->how;
}

uint64_t firnc_onnx_count_names(FirncOnnx__Node *const *nodes, size_t count) {
    uint64_t names = 0;
    for (size_t i = 0; i < count; i++) {
        names += nodes[i]->n_input + nodes[i]->n_output;
        for (size_t j = 0; j < nodes[i]->n_attribute; j++) {
            const FirncOnnx__Graph *branch = nodes[i]->attribute[j]->g;
            names += branch == NULL ? 0
                                    : branch->n_initializer + branch->n_output +
                                          firnc_onnx_count_names(branch->node, branch->n_node);
        }
    }
    return names;
}

/* Notes what the branches of a node read. Which of them runs is not known yet. */
static void note_branches(firnc_onnx_scope *reads, const FirncOnnx__Node *node, uint8_t how) {
    for (size_t i = 0; i < node->n_attribute; i++) {
        const FirncOnnx__Graph *branch = node->attribute[i]->g;
        firnc_onnx_scope inner = {0};
        if (branch == NULL)
            continue;
        firnc_onnx_find_graph_reads(&inner, branch);
        for (uint32_t j = 0; j < inner.capacity; j++)
            if (inner.entries[j].name != NULL)
                note_read(reads, inner.entries[j].name, inner.entries[j].how < how ? inner.entries[j].how : how);
    }
}

void firnc_onnx_find_graph_reads(firnc_onnx_scope *reads, const FirncOnnx__Graph *graph) {
    const char **outputs = firnc_allocate((graph->n_output + UINT64_C(1)) * sizeof *outputs);
    for (size_t i = 0; i < graph->n_output; i++)
        outputs[i] = graph->output[i]->name;
    firnc_onnx_find_reads(reads, graph->node, graph->n_node, (char *const *)(uintptr_t)outputs, graph->n_output);
}

void firnc_onnx_find_reads(firnc_onnx_scope *reads, FirncOnnx__Node *const *nodes, size_t count, char *const *outputs,
                           size_t output_count) {
    firnc_onnx_open_scope(reads, output_count + 1 + firnc_onnx_count_names(nodes, count));
    for (size_t i = 0; i < output_count; i++)
        note_read(reads, firnc_onnx_or_empty(outputs[i]), FIRNC_ONNX_DIFFERENTIATED);
    for (size_t i = count; i-- > 0;) {
        uint8_t how = FIRNC_ONNX_UNREAD;
        for (size_t j = 0; j < nodes[i]->n_output; j++) {
            const uint8_t one = firnc_onnx_how_read(reads, firnc_onnx_or_empty(nodes[i]->output[j]));
            how = one > how ? one : how;
        }
        if (how != FIRNC_ONNX_UNREAD)
            note_branches(reads, nodes[i], how);
        for (size_t j = 0; j < nodes[i]->n_input && how != FIRNC_ONNX_UNREAD; j++)
            note_read(reads, firnc_onnx_or_empty(nodes[i]->input[j]),
                      passes_gradient(nodes[i], j) ? how : FIRNC_ONNX_READ);
    }
}
