/* GPT-2: learned positions or rotary ones, pre-norm blocks, causal attention, tied or untied output. Parameters have
 * the names of Hugging Face's GPT2LMHeadModel, whose linear weights lie in-out. */
#include "compiler/graph/ir.h"
#include "compiler/models/models.h"
#include "runtime/numerics/numerics.h"

/* What the pieces of the model have in common. */
typedef struct model {
    firnc_graph *graph;
    const firnc_gpt2 *settings;
    bool half_softmax;
} model;

static firnc_init normal(float deviation) {
    return (firnc_init){.rule = FIRNC_INIT_NORMAL, .a = 0, .b = deviation};
}

static firnc_init constant(float value) {
    return (firnc_init){.rule = FIRNC_INIT_CONSTANT, .a = value};
}

/* prefix.weight and, where wanted, prefix.bias; the op is in the layer `layer`. */
static firnc_value linear(model m, const char *prefix, const char *layer, firnc_value x, uint32_t in, uint32_t out,
                          float deviation, bool with_bias) {
    firnc_value weight = firnc_parameter(m.graph, firnc_format("%s.%s.weight", prefix, layer), 2, (uint32_t[]){in, out},
                                         normal(deviation), true);
    firnc_value bias = FIRNC_NONE;
    if (with_bias)
        bias = firnc_parameter(m.graph, firnc_format("%s.%s.bias", prefix, layer), 1, &out, constant(0), false);
    firnc_layer_begin(m.graph, layer);
    firnc_value y = firnc_linear(m.graph, x, weight, bias, FIRNC_IN_OUT);
    firnc_layer_end(m.graph);
    return y;
}

static firnc_value norm(model m, const char *prefix, const char *layer, firnc_value x) {
    uint32_t size = m.settings->hidden_size;
    firnc_value gain =
        firnc_parameter(m.graph, firnc_format("%s.%s.weight", prefix, layer), 1, &size, constant(1), false);
    firnc_value bias =
        firnc_parameter(m.graph, firnc_format("%s.%s.bias", prefix, layer), 1, &size, constant(0), false);
    firnc_layer_begin(m.graph, layer);
    firnc_value y = firnc_layer_norm(m.graph, x, gain, bias, m.settings->layer_norm_epsilon);
    firnc_layer_end(m.graph);
    return y;
}

static firnc_value activation(model m, firnc_value x) {
    firnc_layer_begin(m.graph, "act");
    firnc_value y = firnc_activate(m.graph, m.settings->nonlinearity, x);
    firnc_layer_end(m.graph);
    return y;
}

/* The deviation of the two projections that end a residual branch: smaller the deeper the model, as in GPT-2. */
static float residual_deviation(const firnc_gpt2 *settings) {
    return settings->initializer_range / firn_sqrt(2 * (float)settings->num_hidden_layers);
}

/* Turns queries and keys by their position; pairs are neighbours, as in the reference. */
static firnc_value rotate(model m, firnc_value qkv) {
    const firnc_gpt2 *settings = m.settings;
    firnc_layer_begin(m.graph, "rotary");
    firnc_value y = firnc_rotary_embedding(m.graph, qkv,
                                           (firnc_rotary_options){.heads = 3 * settings->num_heads,
                                                                  .rotated = 2 * settings->num_heads,
                                                                  .rotary_dim = settings->rotary_dim,
                                                                  .interleaved = true,
                                                                  .base = settings->rope_theta});
    firnc_layer_end(m.graph);
    return y;
}

static firnc_value attention_branch(model m, const char *block, firnc_value x) {
    const firnc_gpt2 *settings = m.settings;
    uint32_t size = settings->hidden_size, head_size = size / settings->num_heads;
    const char *prefix = firnc_format("%s.attn", block);
    firnc_layer_begin(m.graph, "attn");
    firnc_value qkv = linear(m, prefix, "c_attn", x, size, 3 * size, settings->initializer_range,
                             settings->use_projection_bias_in_attention);
    if (settings->position_embedding == FIRNC_POSITIONS_ROTARY)
        qkv = rotate(m, qkv);
    firnc_value mixed = firnc_attention(m.graph, qkv,
                                        (firnc_attention_options){.heads = settings->num_heads,
                                                                  .kv_heads = settings->num_heads,
                                                                  .causal = true,
                                                                  .half_softmax = m.half_softmax,
                                                                  .scale = 1 / firn_sqrt((float)head_size),
                                                                  .dropout_rate = settings->attention_dropout_rate});
    firnc_value y = linear(m, prefix, "c_proj", mixed, size, size, residual_deviation(settings),
                           settings->use_ffn_bias_in_attention);
    y = firnc_dropout(m.graph, y, settings->dropout_rate);
    firnc_layer_end(m.graph);
    return y;
}

static firnc_value feed_forward_branch(model m, const char *block, firnc_value x) {
    const firnc_gpt2 *settings = m.settings;
    const char *prefix = firnc_format("%s.mlp", block);
    firnc_layer_begin(m.graph, "mlp");
    firnc_value y = linear(m, prefix, "c_fc", x, settings->hidden_size, settings->filter_size,
                           settings->initializer_range, settings->use_ffn_bias);
    y = activation(m, y);
    y = linear(m, prefix, "c_proj", y, settings->filter_size, settings->hidden_size, residual_deviation(settings),
               settings->use_ffn_bias);
    y = firnc_dropout(m.graph, y, settings->dropout_rate);
    firnc_layer_end(m.graph);
    return y;
}

static firnc_value residual(model m, const char *layer, firnc_value x, firnc_value branch) {
    firnc_layer_begin(m.graph, layer);
    firnc_value y = firnc_add(m.graph, x, branch);
    firnc_layer_end(m.graph);
    return y;
}

static firnc_value block(model m, uint32_t index, firnc_value x) {
    const char *name = firnc_format("transformer.h.%u", (unsigned)index);
    firnc_layer_begin(m.graph, firnc_format("h.%u", (unsigned)index));
    x = residual(m, "add_1", x, attention_branch(m, name, norm(m, name, "ln_1", x)));
    x = residual(m, "add_2", x, feed_forward_branch(m, name, norm(m, name, "ln_2", x)));
    firnc_layer_end(m.graph);
    return x;
}

/* Adds the row of each position. */
static firnc_value add_positions(model m, firnc_value x, firnc_value table) {
    firnc_layer_begin(m.graph, "wpe");
    firnc_value rows = firnc_leading_rows(m.graph, table, m.settings->max_sequence_length);
    firnc_layer_end(m.graph);
    return firnc_add(m.graph, x, rows);
}

/* Token embeddings, and those of learned positions. *table is the token embedding, for a tied output. */
static firnc_value embed(model m, firnc_value ids, firnc_value *table) {
    const firnc_gpt2 *settings = m.settings;
    uint32_t size = settings->hidden_size;
    *table = firnc_parameter(m.graph, "transformer.wte.weight", 2, (uint32_t[]){settings->vocab_size, size},
                             normal(settings->initializer_range), true);
    firnc_value positions = FIRNC_NONE;
    if (settings->position_embedding == FIRNC_POSITIONS_LEARNED)
        positions =
            firnc_parameter(m.graph, "transformer.wpe.weight", 2, (uint32_t[]){settings->max_position_embeddings, size},
                            normal(settings->initializer_range), true);
    firnc_layer_begin(m.graph, "wte");
    firnc_value x = firnc_embedding(m.graph, ids, *table);
    firnc_layer_end(m.graph);
    if (positions != FIRNC_NONE)
        x = add_positions(m, x, positions);
    return firnc_dropout(m.graph, x, settings->embedding_dropout_rate);
}

/* The reference's rule: at global POL 1 the output layer goes backward at level 0. */
static void annotate_output(model m, const firnc_precision *precision) {
    if (precision->mixed && precision->level == 1)
        firnc_pol_rule(m.graph,
                       (firnc_pol){.level = FIRNC_UNSET, .bwd_level = 0, .enable_fwd = true, .enable_bwd = true});
}

static firnc_value output_layer(model m, const firnc_precision *precision, firnc_value x, firnc_value table) {
    const firnc_gpt2 *settings = m.settings;
    firnc_value weight = table;
    if (!settings->share_embedding_weights)
        weight =
            firnc_parameter(m.graph, "lm_head.weight", 2, (uint32_t[]){settings->vocab_size, settings->hidden_size},
                            normal(settings->initializer_range), true);
    firnc_value bias = FIRNC_NONE;
    if (settings->use_bias_in_output)
        bias = firnc_parameter(m.graph, "lm_head.bias", 1, &settings->vocab_size, constant(0), false);
    firnc_layer_begin(m.graph, "lm_head");
    annotate_output(m, precision);
    firnc_value logits = firnc_linear(m.graph, x, weight, bias, FIRNC_OUT_IN);
    firnc_layer_end(m.graph);
    return logits;
}

void firnc_build_gpt2(firnc_graph *graph, const firnc_recipe *recipe) {
    const firnc_gpt2 *settings = &recipe->gpt2;
    model m = {.graph = graph,
               .settings = settings,
               .half_softmax = recipe->precision.mixed && !settings->attention_softmax_fp32};
    const uint32_t dims[] = {recipe->data.micro_batch_size, settings->max_sequence_length};
    firnc_value ids = firnc_input(graph, "input_ids", FIRN_INT32, 2, dims);
    firnc_value labels = firnc_input(graph, "labels", FIRN_INT32, 2, dims);

    firnc_layer_begin(graph, "transformer");
    firnc_value table;
    firnc_value x = embed(m, ids, &table);
    for (uint32_t i = 0; i < settings->num_hidden_layers; i++)
        x = block(m, i, x);
    x = norm(m, "transformer", "ln_f", x);
    firnc_layer_end(graph);

    firnc_value logits = output_layer(m, &recipe->precision, x, table);
    firnc_layer_begin(graph, "loss");
    firnc_classify(graph, logits, labels, FIRNC_NONE, settings->loss);
    firnc_layer_end(graph);
}
