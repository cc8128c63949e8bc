/* The lower pass. In: nodes with their POL levels. Out: what the runtime uses instead of levels: the reduction
 * descriptors of every op with dot products, the type of the softmax of attention, and the type in which the rotary
 * embedding is computed. pol_meaning.c decides the meaning of a level; this pass only stores it in the nodes. */
#include "compiler/job/targets.h"
#include "compiler/passes/passes.h"
#include "compiler/passes/pol_meaning.h"

typedef struct lowering {
    firnc_graph *graph;
    const firnc_target *target, *portable;
    bool emulate;
} lowering;

static uint8_t type_of(const lowering *l, firnc_value value) {
    return l->graph->values[value].shape.type;
}

static bool are_equal(const firnc_pol_meaning *a, const firnc_pol_meaning *b) {
    return a->reduction == b->reduction && a->accumulator == b->accumulator && a->chunk == b->chunk &&
           a->softmax == b->softmax;
}

/* The meaning of a level for a node; `type` is that of its operands, and the half type that it may use. Notes whether
 * the target has a part in it. */
static firnc_pol_meaning meaning_of(const lowering *l, const firnc_node *node, uint8_t level, uint8_t type) {
    firnc_pol_question question = {.pol = (firn_pol_class)firn_op_find(node->code)->pol,
                                   .level = level,
                                   .type = type,
                                   .half = type,
                                   .target = l->target,
                                   .emulate = l->emulate,
                                   .half_softmax_requested = node->half_softmax};
    const firnc_pol_meaning meaning = firnc_pol_meaning_of(&question);
    question.target = l->portable;
    const firnc_pol_meaning elsewhere = firnc_pol_meaning_of(&question);
    if (!are_equal(&meaning, &elsewhere))
        l->graph->has_target = true;
    return meaning;
}

static firn_reduction reduction(const firnc_pol_meaning *meaning, uint8_t output) {
    return (firn_reduction){
        .kind = meaning->reduction, .accumulator = meaning->accumulator, .output = output, .chunk = meaning->chunk};
}

/* Backward computes the first inner reduction, the scores of attention or the logits of a loss, exactly as forward
 * does. It and the softmax therefore have the forward level in backward nodes, too. Inner values have the type of the
 * softmax, or of the operands. */
static void lower_sums(const lowering *l, firnc_node *node, const firn_op_info *info) {
    uint8_t operand = type_of(l, node->inputs[info->reduced]);
    firnc_pol_meaning forward = meaning_of(l, node, node->backward ? node->forward_level : node->level, operand);
    firnc_pol_meaning own = meaning_of(l, node, node->level, operand);
    const uint8_t inner = info->pol == FIRN_POL_attention ? forward.softmax : operand;
    if (info->inner > 0)
        node->integers[info->inner_flag] = firn_type_is_half(inner);
    for (uint8_t i = 0; i < info->reductions; i++)
        node->reductions[i] = reduction(i == 0 && info->inner > 0 ? &forward : &own,
                                        i < info->inner ? inner : type_of(l, node->outputs[0]));
}

/* The half type is the type of the forward result, and so of the gradient that the backward node reads. */
static void lower_rotation(const lowering *l, firnc_node *node, const firn_op_info *info) {
    uint8_t type = type_of(l, node->backward ? node->inputs[0] : node->outputs[0]);
    node->integers[info->typed] = meaning_of(l, node, node->level, type).rotation;
}

bool firnc_lower(firnc_compilation *compilation) {
    lowering l = {.graph = compilation->graph,
                  .target = firnc_target_find(compilation->job->target),
                  .portable = firnc_target_at(0),
                  .emulate = compilation->job->precision.emulate};
    if (l.target == NULL)
        return firnc_fail(compilation, "target: \"%s\" is not known; see compiler/job/targets.c",
                          compilation->job->target);
    for (uint32_t i = 0; i < l.graph->node_count; i++) {
        firnc_node *node = &l.graph->nodes[i];
        const firn_op_info *info = firn_op_find(node->code);
        switch ((firn_pol_class)info->pol) {
        case FIRN_POL_product:
        case FIRN_POL_attention:
            lower_sums(&l, node, info);
            break;
        case FIRN_POL_rotation:
            lower_rotation(&l, node, info);
            break;
        case FIRN_POL_norm: /* autocast has set its types */
        case FIRN_POL_none:
            break;
        }
    }
    return true;
}
