/* Prints the graph as text, for --dump-after: the values, then the nodes in order. Each line is complete, so that diff
 * can compare two dumps. */
#include <stdio.h>
#include <string.h>

#include "compiler/base/words.h"
#include "compiler/graph/ir.h"
#include "plan/generated/words.h"
#include "plan/op_words.h"

static void print_init(const firnc_value_info *value) {
    switch (value->init.rule) {
    case FIRNC_INIT_CONSTANT:
        printf(" = %.9g", (double)value->init.a);
        break;
    case FIRNC_INIT_NORMAL:
        printf(" = normal(%.9g, %.9g) rng %u", (double)value->init.a, (double)value->init.b, (unsigned)value->rng_id);
        break;
    case FIRNC_INIT_TRUNCATED_NORMAL:
        printf(" = truncated_normal(%.9g, %.9g, %.9g, %.9g) rng %u", (double)value->init.a, (double)value->init.b,
               (double)value->init.low, (double)value->init.high, (unsigned)value->rng_id);
        break;
    case FIRNC_INIT_UNIFORM:
        printf(" = uniform(%.9g, %.9g) rng %u", (double)value->init.a, (double)value->init.b, (unsigned)value->rng_id);
        break;
    }
}

/* The region and offset of a value. Before the memory pass there are no regions, and this prints nothing. */
static void print_place(const firnc_graph *graph, const firnc_value_info *value) {
    if (firnc_state_bytes(graph) == 0)
        return;
    printf(" @%s+%llu", firn_fb_region_kind_word(value->region), (unsigned long long)value->offset);
    if (value->region == FIRNC_IN_ARENA)
        printf(" live %u..%u", (unsigned)value->first, (unsigned)value->last);
}

static void print_value(const firnc_graph *graph, firnc_value index) {
    const firnc_value_info *value = &graph->values[index];
    printf("  %%%u %s %s \"%s\"", (unsigned)index, firn_fb_role_word(value->role), firnc_shape_text(&value->shape),
           value->name);
    if (value->initialised)
        print_init(value);
    if (value->decay)
        printf(" decay");
    if (value->persistent)
        printf(" persistent");
    print_place(graph, value);
    printf("\n");
}

static void print_attributes(const firnc_node *node, const firn_op_info *info) {
    const char *names = firn_op_words_of(info)->integers;
    for (uint8_t i = 0; i < info->integers; i++)
        printf(" %s=%lld", firnc_next_word(&names), (long long)node->integers[i]);
    names = firn_op_words_of(info)->reals;
    for (uint8_t i = 0; i < info->reals; i++)
        printf(" %s=%.9g", firnc_next_word(&names), (double)node->reals[i]);
}

static void print_level(int level) {
    if (level == FIRNC_UNSET)
        printf("-");
    else
        printf("%d", level);
}

/* The annotation of the op by the builder, and the levels that the pol pass derived from it. */
static void print_pol(const firnc_node *node) {
    if (node->annotated) {
        printf(" asked ");
        print_level(node->pol.enable_fwd ? node->pol.level : FIRNC_UNSET);
        printf("/");
        print_level(node->pol.enable_bwd ? (node->pol.bwd_level != FIRNC_UNSET ? node->pol.bwd_level : node->pol.level)
                                         : FIRNC_UNSET);
        printf(" by %s", firnc_pol_origin_word(node->pol_origin));
    }
    if (node->origin != FIRNC_ORIGIN_NONE)
        printf(" pol %u by %s", (unsigned)node->level, firnc_pol_origin_word(node->origin));
    if (node->backward_origin != FIRNC_ORIGIN_NONE)
        printf(" backward %u by %s", (unsigned)node->backward_level, firnc_pol_origin_word(node->backward_origin));
}

/* Prints the reductions. Until the lower pass sets them, every field of every descriptor is zero. */
static void print_reductions(const firnc_node *node, const firn_op_info *info) {
    for (uint8_t i = 0; i < info->reductions; i++) {
        const firn_reduction *reduction = &node->reductions[i];
        printf(" %s", firn_fb_reduction_kind_word(reduction->kind));
        if (reduction->kind != FIRN_REDUCTION_F32)
            printf("(%s,%u)", firn_type_name(reduction->accumulator), (unsigned)reduction->chunk);
        printf(">%s", firn_type_name(reduction->output));
    }
}

static void print_node(const firnc_graph *graph, const firnc_node *node) {
    const firn_op_info *info = firn_op_find(node->code);
    printf("  ");
    for (uint8_t i = 0; i < node->output_count; i++) {
        const firn_shape *shape = &graph->values[node->outputs[i]].shape;
        printf("%s%%%u:%s", i == 0 ? "" : ", ", (unsigned)node->outputs[i], firnc_shape_text(shape));
    }
    printf(" = %s(", firn_op_name(info));
    for (uint8_t i = 0; i < node->input_count; i++)
        printf("%s%s", i == 0 ? "" : ", ",
               node->inputs[i] == FIRNC_NONE ? "none" : firnc_format("%%%u", (unsigned)node->inputs[i]));
    printf(")");
    print_attributes(node, info);
    printf(" \"%s\"", node->name);
    if (node->half_softmax)
        printf(" asked half softmax");
    print_pol(node);
    print_reductions(node, info);
    printf("\n");
}

void firnc_dump(const firnc_graph *graph) {
    printf("graph %s, %s: %u values, %u nodes\n", graph->model, graph->eval ? "eval" : "train",
           (unsigned)graph->value_count, (unsigned)graph->node_count);
    printf("values\n");
    for (firnc_value i = 0; i < graph->value_count; i++)
        print_value(graph, i);
    for (uint32_t i = 0; i < graph->node_count; i++) {
        const firnc_node *node = &graph->nodes[i];
        if (i == 0 || graph->nodes[i - 1].phase != node->phase)
            printf("phase %s\n", firn_fb_phase_kind_word(node->phase));
        print_node(graph, node);
    }
    if (graph->loss != FIRNC_NONE)
        printf("loss %%%u\n", (unsigned)graph->loss);
    if (firnc_state_bytes(graph) != 0)
        printf("state %llu bytes, arena %llu bytes, live at once %llu bytes\n",
               (unsigned long long)firnc_state_bytes(graph), (unsigned long long)graph->region_bytes[FIRNC_IN_ARENA],
               (unsigned long long)graph->live_bytes);
}
