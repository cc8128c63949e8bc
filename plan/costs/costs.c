/* Sizes and costs of single tensors and ops of a plan (plan/costs/costs.h). */
#include "plan/costs/costs.h"

firn_shape firn_tensor_shape(firn_fb_tensor tensor) {
    firn_shape shape = {.type = firn_fb_tensor_type(tensor), .rank = (uint8_t)firn_fb_tensor_dims_count(tensor)};
    for (uint8_t i = 0; i < shape.rank; i++)
        shape.dims[i] = firn_fb_tensor_dims_at(tensor, i);
    return shape;
}

uint64_t firn_tensor_bytes(firn_fb_tensor tensor) {
    firn_shape shape = firn_tensor_shape(tensor);
    uint64_t bytes = 0;
    return firn_shape_bytes(&shape, &bytes) ? bytes : 0;
}

uint64_t firn_tensor_elements(firn_fb_tensor tensor) {
    firn_shape shape = firn_tensor_shape(tensor);
    uint64_t elements = 0;
    return firn_shape_elements(&shape, &elements) ? elements : 0;
}

/* Cost of `products` attention products. Forward has two, the scores and the values; backward has five: the scores
 * again, dP, dQ, dK and dV. */
static uint64_t attention_cost(firn_fb_op op, firn_fb_tensor qkv, uint64_t products) {
    firn_shape shape = firn_tensor_shape(qkv);
    uint64_t heads = (uint64_t)firn_fb_op_integers_at(op, FIRN_ATTENTION_HEADS);
    uint64_t kv_heads = (uint64_t)firn_fb_op_integers_at(op, FIRN_ATTENTION_KV_HEADS);
    uint64_t steps = shape.dims[1], size = shape.dims[2] / (heads + 2 * kv_heads);
    uint64_t pairs = firn_fb_op_integers_at(op, FIRN_ATTENTION_CAUSAL) != 0 ? steps * (steps + 1) / 2 : steps * steps;
    return products * shape.dims[0] * heads * pairs * size;
}

static firn_fb_tensor input_of(firn_fb_plan plan, firn_fb_op op, uint32_t input) {
    return firn_fb_plan_tensors_at(plan, firn_fb_op_inputs_at(op, input));
}

static firn_fb_tensor result_of(firn_fb_plan plan, firn_fb_op op) {
    return firn_fb_plan_tensors_at(plan, firn_fb_op_outputs_at(op, 0));
}

/* Cost of a product: each element of the result sums `terms` products. */
static uint64_t product_cost(firn_fb_plan plan, firn_fb_op op, uint64_t terms) {
    return firn_tensor_elements(result_of(plan, op)) * terms;
}

static uint64_t last_extent(firn_fb_tensor tensor) {
    firn_shape shape = firn_tensor_shape(tensor);
    return shape.dims[shape.rank - 1];
}

/* The extent K that a matmul sums over: a is [...,M,K], or [...,K,M] with transpose_a. */
static uint64_t matmul_terms(firn_fb_plan plan, firn_fb_op op) {
    const firn_shape a = firn_tensor_shape(input_of(plan, op, FIRN_MATMUL_IN_A));
    return a.dims[a.rank - (firn_fb_op_integers_at(op, FIRN_MATMUL_TRANSPOSE_A) != 0 ? 2 : 1)];
}

/* Cost of a convolution: each element of y or dy has a term for each element of the weight of one output, those that
 * are absent at the border included. */
static uint64_t convolution_cost(firn_fb_tensor result, firn_fb_tensor weight) {
    const firn_shape shape = firn_tensor_shape(weight);
    uint64_t terms = 1;
    for (uint8_t i = 1; i < shape.rank; i++)
        terms *= shape.dims[i];
    return firn_tensor_elements(result) * terms;
}

/* The same for separate queries and keys: a product has an element of a head for each pair of the two that is seen. */
static uint64_t cross_attention_cost(firn_fb_plan plan, firn_fb_op op, uint8_t query, uint8_t key, uint64_t products) {
    const firn_shape q = firn_tensor_shape(input_of(plan, op, query)), k = firn_tensor_shape(input_of(plan, op, key));
    const uint64_t queries = q.dims[1], keys = k.dims[1], square = queries < keys ? queries : keys;
    uint64_t pairs = queries * keys;
    if (firn_fb_op_integers_at(op, FIRN_CROSS_ATTENTION_CAUSAL) != 0)
        pairs = square * (square + 1) / 2 + (queries - square) * keys;
    return products * q.dims[0] * pairs * q.dims[2];
}

/* The same for tokens whose keys are in a cache, once it is full. */
static uint64_t cached_attention_cost(firn_fb_plan plan, firn_fb_op op) {
    const firn_shape cache = firn_tensor_shape(input_of(plan, op, FIRN_CACHED_ATTENTION_IN_CACHE));
    const firn_fb_tensor y = firn_fb_plan_tensors_at(plan, firn_fb_op_outputs_at(op, FIRN_CACHED_ATTENTION_OUT_Y));
    return 2 * firn_tensor_elements(y) * cache.dims[1];
}

uint64_t firn_op_cost(firn_fb_plan plan, firn_fb_op op) {
    const firn_op_info *info = firn_op_find(firn_fb_op_code(op));
    switch ((firn_cost)info->cost) {
    case FIRN_COST_product:
        return product_cost(plan, op, last_extent(input_of(plan, op, 0)));
    case FIRN_COST_product_of_weight:
        return product_cost(plan, op, firn_tensor_elements(input_of(plan, op, 0)) / last_extent(input_of(plan, op, 0)));
    case FIRN_COST_products_of_loss: /* the logits and two gradients */
        return 3 *
               product_cost(plan, op, firn_tensor_elements(input_of(plan, op, 0)) / last_extent(input_of(plan, op, 0)));
    case FIRN_COST_matmul:
        return product_cost(plan, op, matmul_terms(plan, op));
    case FIRN_COST_convolution:
        return convolution_cost(result_of(plan, op), input_of(plan, op, FIRN_CONV_IN_WEIGHT));
    case FIRN_COST_convolution_of_input:
        return convolution_cost(input_of(plan, op, FIRN_CONV_BACKWARD_INPUT_IN_DY),
                                input_of(plan, op, FIRN_CONV_BACKWARD_INPUT_IN_WEIGHT));
    case FIRN_COST_convolution_of_weight:
        return convolution_cost(input_of(plan, op, FIRN_CONV_BACKWARD_WEIGHT_IN_DY), result_of(plan, op));
    case FIRN_COST_attention:
        return attention_cost(op, input_of(plan, op, info->reduced), 2);
    case FIRN_COST_attention_backward:
        return attention_cost(op, input_of(plan, op, info->reduced), 5);
    case FIRN_COST_cross_attention:
        return cross_attention_cost(plan, op, FIRN_CROSS_ATTENTION_IN_QUERY, FIRN_CROSS_ATTENTION_IN_KEY, 2);
    case FIRN_COST_cross_attention_backward:
        return cross_attention_cost(plan, op, FIRN_CROSS_ATTENTION_BACKWARD_IN_QUERY,
                                    FIRN_CROSS_ATTENTION_BACKWARD_IN_KEY, 5);
    case FIRN_COST_cached_attention:
        return cached_attention_cost(plan, op);
    case FIRN_COST_none:
        break;
    }
    return 0;
}
