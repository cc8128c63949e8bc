/* Attention: the op of opset 23, and what both it and the recognised pattern become: Firn's op where queries and keys
 * are equally many and nothing but what comes later is masked, else products and a softmax. */
#include <math.h>
#include <string.h>

#include "compiler/onnx/import.h"

/* [B,T,heads,D] of [B,heads,T,D], and the other way round. */
static const uint8_t heads_inside[] = {0, 2, 1, 3};

/* --- one op ------------------------------------------------------------------------------------------------------- */

/* [B,T,heads*D] of a value [B,heads,T,D]. */
static firnc_value joined_heads(firnc_onnx_importer *im, firnc_onnx_value *x) {
    return firnc_onnx_reshape(im, firnc_onnx_real(im, firnc_onnx_ordered(im, x, 4, heads_inside)), 3,
                              (int64_t[]){x->dims[0], x->dims[2], x->dims[1] * x->dims[3]});
}

/* The op that made a value, behind reshapes. */
static const firnc_node *maker(const firnc_onnx_importer *im, firnc_value value) {
    for (uint32_t steps = 0; steps < 4; steps++) {
        const uint32_t producer = im->graph->values[value].producer;
        if (producer == FIRNC_NONE)
            return NULL;
        const firnc_node *node = &im->graph->nodes[producer];
        if (node->code != FIRN_OP_reshape)
            return node;
        value = node->inputs[0];
    }
    return NULL;
}

/* The tensor [B,T,C] of which a value [B,T,D] has the elements from `first` on of each row; FIRNC_NONE if it has not.
 */
static firnc_value cut_from(const firnc_onnx_importer *im, firnc_value part, int64_t first) {
    const firnc_node *node = maker(im, part);
    if (node == NULL || node->code != FIRN_OP_slice || node->integers[FIRN_SLICE_STEP] != 1 ||
        node->integers[FIRN_SLICE_FIRST] != first || node->integers[FIRN_SLICE_AXIS] != 2)
        return FIRNC_NONE;
    /* a reshape behind the slice may have given the same elements other rows */
    const firn_shape *x = firnc_onnx_shape(im, node->inputs[0]), *y = firnc_onnx_shape(im, part);
    const bool rows = x->rank == 3 && x->dims[0] == y->dims[0] && x->dims[1] == y->dims[1] &&
                      node->integers[FIRN_SLICE_COUNT] == y->dims[2];
    return rows ? node->inputs[0] : FIRNC_NONE;
}

/* Queries, keys and values as the three parts of one tensor: that tensor, if they are all of one in this order; else
 * they are joined. */
static firnc_value joined(firnc_onnx_importer *im, const firnc_value parts[3]) {
    firnc_value whole = FIRNC_NONE;
    int64_t next = 0;
    if (im->failed)
        return FIRNC_NONE;
    for (uint32_t i = 0; i < 3; i++) {
        const firnc_value from = cut_from(im, parts[i], next);
        if (from == FIRNC_NONE || (i > 0 && from != whole))
            return firnc_onnx_concat(im, parts, 3, 2);
        whole = from;
        next += firnc_onnx_shape(im, parts[i])->dims[2];
    }
    return firnc_onnx_shape(im, whole)->dims[2] == next ? whole : firnc_onnx_concat(im, parts, 3, 2);
}

bool firnc_onnx_attend(firnc_onnx_importer *im, firnc_onnx_value *q, firnc_onnx_value *k, firnc_onnx_value *v,
                       const firnc_onnx_attention *attention, firnc_onnx_value *to) {
    const int64_t batch = q->dims[0], heads = q->dims[1], length = q->dims[2], size = q->dims[3];
    const firnc_value queries = joined_heads(im, q), keys = joined_heads(im, k), values = joined_heads(im, v);
    const firnc_value qkv = joined(im, (firnc_value[]){queries, keys, values});
    if (im->failed)
        return false;
    const firnc_attention_options options = {.heads = (uint32_t)heads,
                                             .kv_heads = (uint32_t)k->dims[1],
                                             .causal = attention->causal,
                                             .scale = attention->scale,
                                             .dropout_rate = attention->dropout_rate};
    firnc_value y = firnc_onnx_made(im, firnc_attention(im->graph, qkv, options));
    y = firnc_onnx_reshape(im, y, 4, (int64_t[]){batch, length, heads, size});
    firnc_onnx_set_ordered(im, to, y, q->type, 4, heads_inside);
    return !im->failed;
}

/* --- opset 23 ----------------------------------------------------------------------------------------------------- */

/* [B,heads,T,D] of an operand that may be [B,T,heads*D]. */
static firnc_onnx_value *by_heads(firnc_onnx_importer *im, firnc_onnx_value *x, int64_t heads) {
    if (x->rank == 4)
        return x;
    if (x->rank != 3 || heads < 1 || x->dims[2] % heads != 0) {
        firnc_onnx_fail(im, "has an operand that is neither of 4 dimensions nor of 3 with q_num_heads and "
                            "kv_num_heads; give it one of these");
        return x;
    }
    firnc_onnx_value *y = firnc_onnx_value_new(x->name);
    firnc_onnx_set_ordered(im, y,
                           firnc_onnx_reshape(im, firnc_onnx_plain(im, x), 4,
                                              (int64_t[]){x->dims[0], x->dims[1], heads, x->dims[2] / heads}),
                           x->type, 4, heads_inside);
    return y;
}

/* What was kept of earlier steps, then x. */
static firnc_onnx_value *with_past(firnc_onnx_importer *im, const firnc_onnx_node *node, uint32_t input,
                                   firnc_onnx_value *x) {
    if (node->inputs[input] == NULL || im->failed)
        return x;
    const firnc_value past = firnc_onnx_plain_real(im, node->inputs[input]),
                      parts[] = {past, firnc_onnx_plain_real(im, x)};
    firnc_onnx_value *y = firnc_onnx_value_new(x->name);
    firnc_onnx_set(im, y, firnc_onnx_concat(im, parts, 2, 2), x->type, 4);
    return y;
}

/* Each head of keys or values as often as queries share it. */
static firnc_value shared(firnc_onnx_importer *im, firnc_onnx_value *x, int64_t heads) {
    firnc_value y = firnc_onnx_plain_real(im, x);
    const int64_t b = x->dims[0], h = x->dims[1], t = x->dims[2], d = x->dims[3];
    if (h == heads || h < 1 || heads % h != 0)
        return y;
    y = firnc_onnx_reshape(im, y, 5, (int64_t[]){b, h, 1, t, d});
    y = firnc_onnx_expand(im, y, 5, (int64_t[]){b, h, heads / h, t, d});
    return firnc_onnx_reshape(im, y, 4, (int64_t[]){b, heads, t, d});
}

/* 0 where a query sees a key, else minus infinity. */
static firnc_value causal_mask(firnc_onnx_importer *im, int64_t queries, int64_t keys, int64_t past) {
    firnc_onnx_tensor *mask = firnc_onnx_tensor_new(im, FIRNC_ONNX_FLOAT, 2, (int64_t[]){queries, keys});
    for (uint64_t i = 0; mask != NULL && i < mask->count; i++)
        mask->reals[i] = (int64_t)i % keys <= (int64_t)i / keys + past ? 0 : -INFINITY;
    return firnc_onnx_constant(im, mask, FIRN_FLOAT32);
}

/* Adds the mask of the node: numbers, or which keys are seen. */
static firnc_value masked(firnc_onnx_importer *im, firnc_value scores, firnc_onnx_value *mask, int64_t keys) {
    firnc_value m = firnc_onnx_plain_real(im, mask);
    const int64_t extent = mask->rank == 0 ? 1 : mask->dims[mask->rank - 1];
    if (extent != 1 && extent < keys && mask->type != FIRNC_ONNX_BOOL) {
        firnc_onnx_fail(im, "has a mask of fewer numbers than keys; give it one for each key");
        return FIRNC_NONE;
    }
    if (extent != 1 && extent < keys)
        m = firnc_onnx_pad(im, m, (uint8_t)(mask->rank - 1), 0, keys - extent, 0);
    if (mask->type == FIRNC_ONNX_BOOL)
        return firnc_onnx_select(im, m, scores, firnc_onnx_scalar(im, -INFINITY));
    return firnc_onnx_binary(im, FIRN_OP_add, scores, m);
}

/* Where a row sees no key its probabilities are 0. */
static firnc_value probabilities(firnc_onnx_importer *im, firnc_value scores) {
    if (im->failed)
        return FIRNC_NONE;
    const firnc_value p = firnc_onnx_made(im, firnc_softmax(im->graph, scores));
    const firnc_value zero = firnc_onnx_scalar(im, 0);
    return firnc_onnx_select(im, firnc_onnx_binary(im, FIRN_OP_equal, p, p), p, zero);
}

static bool is_masked(const firnc_onnx_node *node) {
    return node->inputs[3] != NULL;
}

/* The scores behind each step that the node may give as its output 3. */
typedef struct stages {
    firnc_value raw, capped, biased, shares;
} stages;

static stages score(firnc_onnx_importer *im, const firnc_onnx_node *node, firnc_onnx_value *q, firnc_onnx_value *k,
                    float scale, int64_t past) {
    stages s;
    const float cap = firnc_onnx_float(node, "softcap", 0);
    const firnc_value keys = shared(im, k, q->dims[1]);
    s.raw = firnc_onnx_matmul(im, firnc_onnx_scaled(im, firnc_onnx_plain_real(im, q), scale), keys, false, true);
    s.capped = s.raw;
    if (cap != 0)
        s.capped =
            firnc_onnx_scaled(im, firnc_onnx_unary(im, FIRN_OP_tanh, firnc_onnx_scaled(im, s.raw, 1 / cap)), cap);
    s.biased = s.capped;
    if (is_masked(node))
        s.biased = masked(im, s.biased, node->inputs[3], k->dims[2]);
    if (firnc_onnx_integer(node, "is_causal", 0) != 0)
        s.biased = firnc_onnx_binary(im, FIRN_OP_add, s.biased, causal_mask(im, q->dims[2], k->dims[2], past));
    s.shares = probabilities(im, s.biased);
    return s;
}

/* Sets the output in the form of the operands. */
static void set_result(firnc_onnx_importer *im, const firnc_onnx_node *node, firnc_value y, const firnc_onnx_value *q,
                       const firnc_onnx_value *v) {
    const firnc_onnx_value *x = node->inputs[0];
    if (x->rank == 4) {
        firnc_onnx_set(im, node->outputs[0], y, x->type, 4);
        return;
    }
    y = firnc_onnx_reshape(im, firnc_onnx_transpose(im, y, heads_inside), 3,
                           (int64_t[]){q->dims[0], q->dims[2], q->dims[1] * v->dims[3]});
    firnc_onnx_set(im, node->outputs[0], y, x->type, 3);
}

bool firnc_onnx_import_attention(firnc_onnx_importer *im, const firnc_onnx_node *node) {
    firnc_onnx_value *q = by_heads(im, node->inputs[0], firnc_onnx_integer(node, "q_num_heads", 0));
    firnc_onnx_value *k = by_heads(im, node->inputs[1], firnc_onnx_integer(node, "kv_num_heads", 0));
    firnc_onnx_value *v = by_heads(im, node->inputs[2], firnc_onnx_integer(node, "kv_num_heads", 0));
    const int64_t past = node->inputs[4] != NULL ? node->inputs[4]->dims[2] : 0;
    k = with_past(im, node, 4, k);
    v = with_past(im, node, 5, v);
    if (im->failed)
        return false;
    if (k->dims[1] < 1 || q->dims[1] % k->dims[1] != 0 || v->dims[1] != k->dims[1])
        return firnc_onnx_fail(im,
                               "has %lld heads of queries for %lld of keys and %lld of values; give keys and values "
                               "equally many, which divide those of the queries",
                               (long long)q->dims[1], (long long)k->dims[1], (long long)v->dims[1]);
    const float scale = firnc_onnx_float(node, "scale", (float)(1 / sqrt((double)q->dims[3])));
    const bool causal = firnc_onnx_integer(node, "is_causal", 0) != 0;
    const bool whole = node->output_count <= 1;
    if (whole && past == 0 && !is_masked(node) && q->dims[2] == k->dims[2] && q->dims[3] == v->dims[3] && scale > 0 &&
        firnc_onnx_float(node, "softcap", 0) == 0) {
        const firnc_onnx_attention attention = {.causal = causal, .scale = scale};
        firnc_onnx_value *y = firnc_onnx_value_new("");
        if (!firnc_onnx_attend(im, q, k, v, &attention, y))
            return false;
        set_result(im, node, firnc_onnx_plain(im, y), q, v);
        return !im->failed;
    }
    const stages s = score(im, node, q, k, scale, past);
    const firnc_value y = firnc_onnx_matmul(im, s.shares, shared(im, v, q->dims[1]), false, false);
    set_result(im, node, y, q, v);
    if (node->outputs[1] != NULL)
        firnc_onnx_alias(node->outputs[1], k);
    if (node->outputs[2] != NULL)
        firnc_onnx_alias(node->outputs[2], v);
    if (node->outputs[3] != NULL) {
        const firnc_value outputs[] = {s.raw, s.capped, s.biased, s.shares};
        const int64_t mode = firnc_onnx_integer(node, "qk_matmul_output_mode", 0);
        if (mode < 0 || mode > 3)
            return firnc_onnx_fail(im, "has qk_matmul_output_mode %lld; 0 to 3 are known", (long long)mode);
        firnc_onnx_set(im, node->outputs[3], outputs[mode], q->type, 4);
    }
    return !im->failed;
}
