/* The decode pass, of an eval job for a decode plan. In: the graph of an evaluation over a chunk of tokens, with the
 * types and levels of every op. Out: the same graph for tokens that follow others: attention reads a cache of the
 * session, positions count from the tokens that the session has taken, and a last op adds the tokens of the chunk. All
 * other ops compute a token by itself and stay as they are, so what they give has the bits of the evaluation. */
#include <string.h>

#include "compiler/passes/passes.h"

typedef struct decoding {
    const firnc_compilation *compilation;
    firnc_graph *graph;
    firnc_value length;
    uint32_t caches;
} decoding;

/* --- the session -------------------------------------------------------------------------------------------------- */

/* The keys and values of one attention, for each token of the context. */
static firnc_value add_cache(decoding *d, const firnc_node *attention) {
    const firn_shape *qkv = &d->graph->values[attention->inputs[FIRN_ATTENTION_IN_QKV]].shape;
    const uint32_t heads = (uint32_t)attention->integers[FIRN_ATTENTION_HEADS];
    const uint32_t kv_heads = (uint32_t)attention->integers[FIRN_ATTENTION_KV_HEADS];
    const uint32_t size = qkv->dims[2] / (heads + 2 * kv_heads);
    const firn_shape shape = {
        .type = qkv->type, .rank = 3, .dims = {1, d->compilation->job->decode.context, 2 * kv_heads * size}};
    d->caches++;
    return firnc_state_new(d->graph, firnc_format("cache.%s", attention->name), FIRNC_ROLE_CACHE, shape, 0);
}

/* How many tokens of a chunk count: stream 1, beside the tokens. */
static firnc_value add_count(firnc_graph *graph, uint32_t chunk) {
    const firn_shape shape = {.type = FIRN_INT32, .rank = 2, .dims = {1, 1}};
    const firnc_value count = firnc_value_new(graph, "count", FIRNC_ROLE_INPUT, shape);
    firnc_input_options *source = firnc_allocate(sizeof *source);
    *source = (firnc_input_options){.stream = 1, .element = FIRN_INT32, .limit = chunk + 1, .scale = 1};
    graph->values[count].source = source;
    return count;
}

/* --- nodes -------------------------------------------------------------------------------------------------------- */

/* Puts the cached form in the place of an attention, whose result it computes. */
static bool put_cached(decoding *d, const firnc_node *node) {
    firnc_graph *graph = d->graph;
    if (node->integers[FIRN_ATTENTION_CAUSAL] == 0)
        return firnc_fail(
            d->compilation,
            "layer %s: firnc compile --decode takes one token after the other, and this attention sees later "
            "ones; leave the option out",
            node->name);
    const firnc_value cache = add_cache(d, node), y = node->outputs[FIRN_ATTENTION_OUT_Y];
    const firnc_value inputs[] = {[FIRN_CACHED_ATTENTION_IN_QKV] = node->inputs[FIRN_ATTENTION_IN_QKV],
                                  [FIRN_CACHED_ATTENTION_IN_CACHE] = cache,
                                  [FIRN_CACHED_ATTENTION_IN_LENGTH] = d->length,
                                  [FIRN_CACHED_ATTENTION_IN_SLOPES] = node->input_count > FIRN_ATTENTION_IN_SLOPES
                                                                          ? node->inputs[FIRN_ATTENTION_IN_SLOPES]
                                                                          : FIRNC_NONE};
    const firnc_value outputs[] = {[FIRN_CACHED_ATTENTION_OUT_Y] = y,
                                   [FIRN_CACHED_ATTENTION_OUT_CACHE] = cache,
                                   [FIRN_CACHED_ATTENTION_OUT_SCRATCH] = FIRNC_NONE};
    const int64_t integers[] = {[FIRN_CACHED_ATTENTION_HEADS] = node->integers[FIRN_ATTENTION_HEADS],
                                [FIRN_CACHED_ATTENTION_KV_HEADS] = node->integers[FIRN_ATTENTION_KV_HEADS],
                                [FIRN_CACHED_ATTENTION_HALF_SOFTMAX] = 0}; /* the lower pass sets it */
    const float reals[] = {[FIRN_CACHED_ATTENTION_SCALE] = node->reals[FIRN_ATTENTION_SCALE]};
    for (uint8_t i = 0; i < node->output_count; i++)
        graph->values[node->outputs[i]].producer = FIRNC_NONE;
    const uint32_t index = firnc_node_in_place(graph, FIRN_OP_cached_attention, node->phase, node->name, inputs,
                                               sizeof inputs / sizeof inputs[0], integers, reals, outputs);
    firnc_node *cached = &graph->nodes[index];
    graph->values[y].producer = index;
    cached->annotated = node->annotated;
    cached->pol = node->pol;
    cached->pol_origin = node->pol_origin;
    cached->half_softmax = node->half_softmax;
    cached->level = node->level;
    cached->origin = node->origin;
    cached->backward_level = node->backward_level;
    cached->backward_origin = node->backward_origin;
    return true;
}

/* Puts a node whose positions count from the length of the session. */
static void put_positioned(decoding *d, const firnc_node *node, uint8_t input) {
    firnc_node positioned = *node;
    positioned.inputs[input] = d->length;
    positioned.input_count = (uint8_t)(input + 1);
    firnc_put_node(d->graph, &positioned);
}

static bool put(decoding *d, const firnc_node *node) {
    switch (node->code) {
    case FIRN_OP_attention:
        return put_cached(d, node);
    case FIRN_OP_rotary_embedding:
        put_positioned(d, node, FIRN_ROTARY_EMBEDDING_IN_LENGTH);
        return true;
    case FIRN_OP_leading_rows:
        put_positioned(d, node, FIRN_LEADING_ROWS_IN_LENGTH);
        return true;
    default:
        firnc_put_node(d->graph, node);
        return true;
    }
}

bool firnc_decode_tokens(firnc_compilation *compilation) {
    firnc_graph *graph = compilation->graph;
    const firnc_decode *decode = &compilation->job->decode;
    if (decode->context == 0)
        return true;
    decoding d = {.compilation = compilation, .graph = graph};
    d.length = firnc_state_new(graph, FIRNC_DECODE_LENGTH, FIRNC_ROLE_CACHE, firnc_scalar(FIRN_INT64), 0);
    const firnc_value count = add_count(graph, decode->chunk);
    const firnc_node_list list = firnc_take_nodes(graph);
    for (uint32_t i = 0; i < list.count; i++)
        if (!put(&d, &list.nodes[i]))
            return false;
    if (d.caches == 0)
        return firnc_fail(compilation,
                          "firnc compile --decode needs attention, which the model lacks; leave the option out");
    /* The count is an input of two dimensions, and a counter has one. */
    const int64_t one[FIRN_ATTRIBUTES_MAX] = {1};
    const uint8_t type = FIRN_INT32;
    const uint32_t flat =
        firnc_node_new(graph, FIRN_OP_reshape, FIRNC_PHASE_EVALUATE, "count", &count, 1, one, NULL, &type);
    const firnc_value inputs[] = {
        [FIRN_ADVANCE_IN_LENGTH] = d.length, [FIRN_ADVANCE_IN_COUNT] = graph->nodes[flat].outputs[FIRN_RESHAPE_OUT_Y]};
    const int64_t integers[] = {[FIRN_ADVANCE_LIMIT] = decode->context};
    firnc_node_in_place(graph, FIRN_OP_advance, FIRNC_PHASE_EVALUATE, "count", inputs, 2, integers, NULL, &d.length);
    return true;
}
