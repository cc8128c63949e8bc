/* Gradients of sums along dimensions and of products of batches (compiler/passes/gradients/gradients.h). */
#include "compiler/passes/gradients/gradients.h"

/* dy is repeated along the dimensions that were summed. */
bool firnc_gradient_reduce_sum(firnc_differentiation *d, firnc_value dy) {
    const uint8_t type = firnc_type_of_gradient(d, d->node->inputs[FIRN_REDUCE_SUM_IN_X]);
    int64_t extents[FIRN_RANK_MAX];
    firnc_extents_of(d, FIRN_REDUCE_SUM_IN_X, extents);
    for (uint8_t i = 0; i < FIRN_RANK_MAX; i++) /* the summed ones have a minus sign */
        extents[i] *= (d->node->integers[FIRN_REDUCE_SUM_AXES] >> i & 1) != 0 ? -1 : 1;
    firnc_contribute(d, FIRN_REDUCE_SUM_IN_X, firnc_emit(d, FIRN_OP_reduce_sum_backward, &dy, 1, extents, NULL, &type));
    return true;
}

/* One factor of a product, which is turned or not. */
typedef struct factor {
    firnc_value value;
    bool turned;
} factor;

/* Contributes left times right, or the same turned: right turned times left turned. */
static void contribute_product(firnc_differentiation *d, uint8_t operand, factor left, factor right, bool turned) {
    const uint8_t type = firnc_type_of_gradient(d, d->node->inputs[operand]);
    const firnc_value inputs[] = {
        [FIRN_MATMUL_IN_A] = turned ? right.value : left.value, [FIRN_MATMUL_IN_B] = turned ? left.value : right.value};
    const int64_t integers[] = {[FIRN_MATMUL_TRANSPOSE_A] = turned ? !right.turned : left.turned,
                                [FIRN_MATMUL_TRANSPOSE_B] = turned ? !left.turned : right.turned};
    firnc_contribute(d, operand, firnc_emit(d, FIRN_OP_matmul, inputs, 2, integers, NULL, &type));
}

/* For y = A B, where A and B are a and b, each turned or not: dA = dy B^T and dB = A^T dy, each turned like its input.
 */
bool firnc_gradient_matmul(firnc_differentiation *d, firnc_value dy) {
    const bool turned_a = d->node->integers[FIRN_MATMUL_TRANSPOSE_A] != 0;
    const bool turned_b = d->node->integers[FIRN_MATMUL_TRANSPOSE_B] != 0;
    const factor gradient = {dy, false};
    const factor a = {d->node->inputs[FIRN_MATMUL_IN_A], !turned_a}, b = {d->node->inputs[FIRN_MATMUL_IN_B], !turned_b};
    if (firnc_wanted(d, FIRN_MATMUL_IN_A))
        contribute_product(d, FIRN_MATMUL_IN_A, gradient, b, turned_a);
    if (firnc_wanted(d, FIRN_MATMUL_IN_B))
        contribute_product(d, FIRN_MATMUL_IN_B, a, gradient, turned_b);
    return true;
}
