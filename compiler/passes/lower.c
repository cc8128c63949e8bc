/* The lower pass. In: nodes with the POL that was asked for. Out: every op that has dot products with the descriptors
 * of its reductions, which is all that the runtime looks at, and attention with its softmax in float32 or half.
 *
 *     level            products    attention            softmax
 *     0                f32         f32                  float32
 *     1                chunked 64  f32                  float32; of cbfloat16: half type, as in the reference
 *     2                chunked 128 chunked 128          half type
 *
 * POL is a licence: under pol_lowering native the chunked form and the half softmax are taken only for half types that
 * the target multiplies natively, under emulate always. Operands in float32 are summed in f32 whatever the level. A
 * half softmax that the recipe itself asks for (attention_softmax_fp32: false) is no matter of the licence: it is taken
 * at every level and for every target, and the table only adds to it. */
#include "compiler/graph/ir.h"
#include "compiler/job/targets.h"

typedef struct lowering {
    firnc_graph *graph;
    const firnc_target *target;
    bool emulate;
} lowering;

static uint8_t type_of(const lowering *l, firnc_value value) {
    return l->graph->values[value].shape.type;
}

/* Whether the machine may go lower than float32 for operands of that type. */
static bool may_go_lower(const lowering *l, uint8_t type) {
    return firn_type_is_half(type) && (l->emulate || firnc_target_multiplies(l->target, type));
}

static firn_reduction reduction(const lowering *l, uint8_t operand, uint8_t output, uint8_t level, uint8_t threshold) {
    if (level < threshold || !may_go_lower(l, operand))
        return (firn_reduction){.kind = FIRN_REDUCTION_F32, .accumulator = FIRN_FLOAT32, .output = output};
    return (firn_reduction){
        .kind = FIRN_REDUCTION_CHUNKED, .accumulator = operand, .output = output, .chunk = level >= 2 ? 128 : 64};
}

/* Whether scores and probabilities are in the half type. */
static bool has_half_softmax(const lowering *l, uint8_t operand, uint8_t level) {
    return may_go_lower(l, operand) && level >= (operand == FIRN_CBFLOAT16 ? 1 : 2);
}

/* reductions: scores and values; backward: scores as forward computed them, values, and queries and keys. What is not
 * a tensor of the graph (scores, the gradient of probabilities) is half where the softmax is, else float32. */
static void lower_attention(const lowering *l, firnc_node *node) {
    bool backward = node->code == FIRN_OP_attention_backward;
    uint8_t operand = type_of(l, node->inputs[backward ? 1 : 0]);
    uint8_t output = type_of(l, node->outputs[0]);
    uint8_t forward_level = backward ? node->forward_level : node->level;
    if (has_half_softmax(l, operand, forward_level))
        node->integers[FIRN_ATTENTION_HALF_SOFTMAX] = 1; /* backward computes forward's probabilities again */
    uint8_t inside = node->integers[FIRN_ATTENTION_HALF_SOFTMAX] == 1 ? operand : (uint8_t)FIRN_FLOAT32;
    node->reductions[0] = reduction(l, operand, inside, forward_level, 2);
    node->reductions[1] = reduction(l, operand, output, node->level, 2);
    if (backward)
        node->reductions[2] = reduction(l, operand, output, node->level, 2);
}

bool firnc_lower(firnc_compilation *compilation) {
    lowering l = {.graph = compilation->graph,
                  .target = firnc_target_find(compilation->target),
                  .emulate = compilation->recipe->precision.emulate};
    if (l.target == NULL)
        return firnc_fail(compilation, "no target is called \"%s\"; --target takes portable, avx512fp16 or armv8.1m",
                          compilation->target);
    for (uint32_t i = 0; i < l.graph->node_count; i++) {
        firnc_node *node = &l.graph->nodes[i];
        const firn_op_info *info = firn_op_find(node->code);
        if (info->pol == FIRN_POL_product)
            node->reductions[0] =
                reduction(&l, type_of(&l, node->inputs[0]), type_of(&l, node->outputs[0]), node->level, 1);
        else if (info->pol == FIRN_POL_attention)
            lower_attention(&l, node);
    }
    return true;
}
