/* Builds the graph of a transformer (compiler/models/transformer.h): learned or rotary positions or ALiBi, blocks in
 * one of three forms, attention that is causal or sees all positions, a feed-forward part with or without a gate, tied
 * or untied output. Names come from the architecture, and no architecture is known here by name. */
#include "compiler/models/transformer.h"

#include "runtime/numerics/numerics.h"
#include "schedules/schedule_elementary.h"

/* What every part of the model uses. */
typedef struct model {
    firnc_graph *graph;
    const firnc_transformer *settings;
    const firnc_architecture *names;
    uint32_t samples;   /* of a micro-batch */
    uint32_t sequence;  /* length of a sequence, in tokens */
    firnc_value slopes; /* ALiBi: one for each head */
    bool half_softmax;
} model;

static firnc_init constant(float value) {
    return (firnc_init){.rule = FIRNC_INIT_CONSTANT, .a = value};
}

/* Initial weights of a linear layer, and of the two that end a residual branch. By default the deviation of the latter
 * decreases with the number of layers, as in GPT-2. */
static firnc_init inner_weights(model m) {
    return firnc_initializer_or_normal(&m.settings->initializer, m.settings->initializer_range);
}

static firnc_init last_weights(model m) {
    const float deviation = m.settings->initializer_range / firn_sqrt(2 * (float)m.settings->num_hidden_layers);
    return firnc_initializer_or_normal(&m.settings->output_layer_initializer, deviation);
}

static firnc_init table_rows(model m) {
    return firnc_initializer_or_normal(&m.settings->embedding_initializer, m.settings->initializer_range);
}

/* Adds a linear op in the layer `layer` with the parameters prefix.layer.weight and, if with_bias,
 * prefix.layer.bias. */
static firnc_value linear(model m, const char *prefix, const char *layer, firnc_value x, uint32_t in, uint32_t out,
                          firnc_init init, bool with_bias) {
    const int layout = m.names->layout;
    const uint32_t dims[] = {layout == FIRNC_IN_OUT ? in : out, layout == FIRNC_IN_OUT ? out : in};
    firnc_value weight = firnc_parameter(m.graph, firnc_format("%s.%s.weight", prefix, layer), 2, dims, init, true);
    firnc_value bias = FIRNC_NONE;
    if (with_bias)
        bias = firnc_parameter(m.graph, firnc_format("%s.%s.bias", prefix, layer), 1, &out, constant(0), false);
    firnc_layer_begin(m.graph, layer);
    firnc_value y = firnc_linear(m.graph, x, weight, bias, layout);
    firnc_layer_end(m.graph);
    return y;
}

/* An RMS norm has no bias. */
static firnc_value norm(model m, const char *prefix, const char *layer, firnc_value x) {
    const uint32_t size = m.settings->hidden_size;
    const float epsilon = m.settings->layer_norm_epsilon;
    firnc_value bias = FIRNC_NONE;
    firnc_value gain =
        firnc_parameter(m.graph, firnc_format("%s.%s.weight", prefix, layer), 1, &size, constant(1), false);
    if (m.settings->norm_type == FIRNC_LAYER_NORM)
        bias = firnc_parameter(m.graph, firnc_format("%s.%s.bias", prefix, layer), 1, &size, constant(0), false);
    firnc_layer_begin(m.graph, layer);
    firnc_value y = bias == FIRNC_NONE ? firnc_rms_norm(m.graph, x, gain, epsilon)
                                       : firnc_layer_norm(m.graph, x, gain, bias, epsilon);
    firnc_layer_end(m.graph);
    return y;
}

static firnc_value activation(model m, firnc_activation kind, firnc_value x) {
    firnc_layer_begin(m.graph, "act");
    firnc_value y = firnc_activate(m.graph, kind, x);
    firnc_layer_end(m.graph);
    return y;
}

/* Rotates queries and keys by their position. */
static firnc_value rotate(model m, firnc_value qkv) {
    const firnc_transformer *settings = m.settings;
    firnc_layer_begin(m.graph, "rotary");
    firnc_value y = firnc_rotary_embedding(m.graph, qkv,
                                           (firnc_rotary_options){.heads = settings->num_heads + 2 * settings->kv_heads,
                                                                  .rotated = settings->num_heads + settings->kv_heads,
                                                                  .rotary_dim = settings->rotary_dim,
                                                                  .interleaved = m.names->interleaved,
                                                                  .base = settings->rope_theta});
    firnc_layer_end(m.graph);
    return y;
}

/* The slopes of ALiBi: 2^(-8/n), its square and so on for the largest power of two n that is not above the number of
 * heads; then, for the other heads, every second slope of 2n heads. */
static firnc_value alibi_slopes(firnc_graph *graph, uint32_t heads) {
    float *slopes = firnc_allocate(heads * sizeof *slopes);
    uint32_t power = 1;
    while (power <= heads / 2)
        power *= 2;
    for (uint32_t i = 0; i < heads; i++) {
        const double exponent = i < power ? -8.0 * (i + 1) / power : -4.0 * (2 * (i - power) + 1) / power;
        slopes[i] = (float)firn_schedule_power(2, exponent);
    }
    return firnc_constant(graph, "alibi.slopes", FIRN_FLOAT32, 1, &heads, slopes);
}

/* One linear layer gives the queries, then the keys, then the values of all heads; so the outputs of its weight are
 * those of separate query, key and value layers joined in this order. */
static firnc_value attention_branch(model m, const char *block, firnc_value x) {
    const firnc_transformer *settings = m.settings;
    const firnc_architecture *names = m.names;
    const uint32_t size = settings->hidden_size, head_size = size / settings->num_heads;
    const uint32_t projected = size + 2 * settings->kv_heads * head_size;
    const char *prefix = firnc_format("%s.%s", block, names->attention);
    firnc_layer_begin(m.graph, names->attention);
    firnc_value qkv =
        linear(m, prefix, names->qkv, x, size, projected, inner_weights(m), settings->use_projection_bias_in_attention);
    if (settings->position_embedding == FIRNC_POSITIONS_ROTARY)
        qkv = rotate(m, qkv);
    firnc_value mixed = firnc_attention(m.graph, qkv,
                                        (firnc_attention_options){.heads = settings->num_heads,
                                                                  .kv_heads = settings->kv_heads,
                                                                  .causal = !names->masked,
                                                                  .half_softmax = m.half_softmax,
                                                                  .scale = 1 / firn_sqrt((float)head_size),
                                                                  .dropout_rate = settings->attention_dropout_rate,
                                                                  .alibi = m.slopes != FIRNC_NONE,
                                                                  .slopes = m.slopes});
    firnc_value y = linear(m, prefix, names->attention_output, mixed, size, size, last_weights(m),
                           settings->use_ffn_bias_in_attention);
    y = firnc_dropout(m.graph, y, settings->residual_dropout_rate);
    firnc_layer_end(m.graph);
    return y;
}

/* activation(up(x)), or with a gate activation(gate(x)) * up(x) */
static firnc_value expand(model m, const char *prefix, firnc_value x) {
    const firnc_transformer *settings = m.settings;
    const uint32_t in = settings->hidden_size, out = settings->filter_size;
    const firnc_activation kind = (firnc_activation)(settings->nonlinearity % FIRNC_GATED);
    if (settings->nonlinearity < FIRNC_GATED)
        return activation(m, kind,
                          linear(m, prefix, m.names->up, x, in, out, inner_weights(m), settings->use_ffn_bias));
    firnc_value gate = linear(m, prefix, m.names->gate, x, in, out, inner_weights(m), settings->use_ffn_bias);
    gate = activation(m, kind, gate);
    firnc_value up = linear(m, prefix, m.names->up, x, in, out, inner_weights(m), settings->use_ffn_bias);
    return firnc_op(m.graph, FIRN_OP_multiply, (firnc_value[]){gate, up}, 2, NULL, NULL);
}

static firnc_value feed_forward_branch(model m, const char *block, firnc_value x) {
    const firnc_transformer *settings = m.settings;
    const char *layer = m.names->feed_forward;
    const char *prefix = layer == NULL ? block : firnc_format("%s.%s", block, layer);
    if (layer != NULL)
        firnc_layer_begin(m.graph, layer);
    firnc_value y = expand(m, prefix, x);
    y = linear(m, prefix, m.names->down, y, settings->filter_size, settings->hidden_size, last_weights(m),
               settings->use_ffn_bias);
    y = firnc_dropout(m.graph, y, settings->residual_dropout_rate);
    if (layer != NULL)
        firnc_layer_end(m.graph);
    return y;
}

static firnc_value sum(model m, const char *layer, firnc_value a, firnc_value b) {
    firnc_layer_begin(m.graph, layer);
    firnc_value y = firnc_add(m.graph, a, b);
    firnc_layer_end(m.graph);
    return y;
}

static firnc_value norm_first_block(model m, const char *name, firnc_value x) {
    x = sum(m, "add_1", x, attention_branch(m, name, norm(m, name, m.names->attention_norm, x)));
    return sum(m, "add_2", x, feed_forward_branch(m, name, norm(m, name, m.names->feed_forward_norm, x)));
}

/* Both branches begin with the same norm, unless norms are untied. */
static firnc_value parallel_block(model m, const char *name, firnc_value x) {
    firnc_value normal = norm(m, name, m.names->attention_norm, x);
    firnc_value attention = attention_branch(m, name, normal);
    if (m.settings->use_untied_layer_norm)
        normal = norm(m, name, m.names->feed_forward_norm, x);
    return sum(m, "add_2", x, sum(m, "add_1", attention, feed_forward_branch(m, name, normal)));
}

static firnc_value norm_last_block(model m, const char *name, firnc_value x) {
    x = norm(m, name, m.names->attention_norm, sum(m, "add_1", x, attention_branch(m, name, x)));
    return norm(m, name, m.names->feed_forward_norm, sum(m, "add_2", x, feed_forward_branch(m, name, x)));
}

static firnc_value block(model m, uint32_t index, firnc_value x) {
    static firnc_value (*const forms[])(model m, const char *name, firnc_value x) = {
        [FIRNC_NORM_FIRST] = norm_first_block, [FIRNC_PARALLEL] = parallel_block, [FIRNC_NORM_LAST] = norm_last_block};
    const char *layer = firnc_format("%s.%u", m.names->block, (unsigned)index);
    const char *name = firnc_format("%s.%s", m.names->body, layer);
    firnc_layer_begin(m.graph, layer);
    const bool sequential = m.names->block_form == FIRNC_PARALLEL && !m.settings->use_parallel_residual;
    x = forms[sequential ? FIRNC_NORM_FIRST : m.names->block_form](m, name, x);
    firnc_layer_end(m.graph);
    return x;
}

static firnc_value new_table(model m, const char *layer, uint32_t rows) {
    return firnc_parameter(m.graph, firnc_format("%s.%s.weight", m.names->body, layer), 2,
                           (uint32_t[]){rows, m.settings->hidden_size}, table_rows(m), true);
}

/* Adds to each position its row of the table. */
static firnc_value add_positions(model m, firnc_value x, firnc_value table) {
    firnc_layer_begin(m.graph, m.names->positions);
    firnc_value rows = firnc_leading_rows(m.graph, table, m.sequence);
    firnc_layer_end(m.graph);
    return firnc_add(m.graph, x, rows);
}

/* Adds to each token the first row of the table of segments. */
static firnc_value add_segment(model m, firnc_value x) {
    firnc_value table = new_table(m, m.names->segments, m.settings->segments);
    firnc_layer_begin(m.graph, m.names->segments);
    firnc_value row = firnc_reshape(m.graph, firnc_leading_rows(m.graph, table, 1), 1, &m.settings->hidden_size);
    firnc_layer_end(m.graph);
    return firnc_add(m.graph, x, row);
}

/* For each token 1, or 0 for the token of padding. */
static firnc_value tokens_that_train(model m, firnc_value ids) {
    const float padding = (float)m.settings->pad_token_id; /* exact: vocabularies have less than 2^24 tokens */
    const uint32_t one = 1, dims[] = {m.samples, m.sequence, 1};
    firnc_value token = firnc_constant(m.graph, "pad_token", FIRN_FLOAT32, 1, &one, &padding);
    firnc_value is_padding = firnc_equal(m.graph, firnc_to_float32(m.graph, ids), token);
    return firnc_reshape(m.graph, firnc_affine(m.graph, is_padding, -1, 1), 3, dims);
}

/* Embeds the tokens and, if learned, the positions. Sets *table to the token embedding, for a tied output. */
static firnc_value embed(model m, firnc_value ids, firnc_value *table) {
    const firnc_transformer *settings = m.settings;
    *table = new_table(m, m.names->tokens, settings->vocab_size);
    firnc_value positions = FIRNC_NONE;
    if (settings->position_embedding == FIRNC_POSITIONS_LEARNED)
        positions = new_table(m, m.names->positions, settings->max_position_embeddings);
    firnc_layer_begin(m.graph, m.names->tokens);
    firnc_value x = firnc_embedding(m.graph, ids, *table);
    if (settings->has_pad_token)
        firnc_train_rows(m.graph, x, tokens_that_train(m, ids));
    firnc_layer_end(m.graph);
    if (settings->segments > 0)
        x = add_segment(m, x);
    if (positions != FIRNC_NONE)
        x = add_positions(m, x, positions);
    if (m.names->embedding_norm != NULL)
        x = norm(m, m.names->body, m.names->embedding_norm, x);
    return firnc_dropout(m.graph, x, settings->embedding_dropout_rate);
}

/* What a masked language model computes between body and output. */
static firnc_value head(model m, firnc_value x) {
    const uint32_t size = m.settings->hidden_size;
    firnc_layer_begin(m.graph, m.names->head);
    x = linear(m, m.names->head, m.names->head_dense, x, size, size, inner_weights(m), m.settings->use_ffn_bias);
    x = norm(m, m.names->head, m.names->head_norm, activation(m, m.settings->mlm_nonlinearity, x));
    firnc_layer_end(m.graph);
    return x;
}

/* The reference's rule: at global POL 1 the backward level of the output layer is 0. */
static void annotate_output(model m, const firnc_precision *precision) {
    if (precision->mixed && precision->level == 1)
        firnc_pol_rule(m.graph,
                       (firnc_pol){.level = FIRNC_UNSET, .bwd_level = 0, .enable_fwd = true, .enable_bwd = true});
}

/* The weight of the output layer has the layout out-in, also of its own, as the table that it may share has. */
static firnc_value output_layer(model m, const firnc_precision *precision, firnc_value x, firnc_value table) {
    const firnc_transformer *settings = m.settings;
    const char *layer = m.names->output;
    firnc_value weight = table, bias = FIRNC_NONE;
    if (!settings->share_embedding_weights)
        weight = firnc_parameter(m.graph, firnc_format("%s.weight", layer), 2,
                                 (uint32_t[]){settings->vocab_size, settings->hidden_size},
                                 (firnc_init){.rule = FIRNC_INIT_NORMAL, .b = settings->initializer_range}, true);
    if (settings->use_bias_in_output)
        bias = firnc_parameter(m.graph, firnc_format("%s.bias", layer), 1, &settings->vocab_size, constant(0), false);
    firnc_layer_begin(m.graph, layer);
    annotate_output(m, precision);
    firnc_value logits = firnc_linear(m.graph, x, weight, bias, FIRNC_OUT_IN);
    firnc_layer_end(m.graph);
    return logits;
}

/* Adds the inputs. Labels of a window are its next elements; those of a record are a stream of their own. */
static firnc_value add_inputs(model m, const firnc_job *job, const firnc_elements *elements, firnc_value *labels) {
    const uint32_t dims[] = {m.samples, m.sequence}, limit = m.settings->vocab_size;
    firnc_input_options tokens = {.element = elements->feature, .limit = limit};
    firnc_input_options next = {.element = elements->feature, .advance = FIRNC_LABEL_SHIFT, .limit = limit};
    if (m.names->masked)
        next = (firnc_input_options){
            .stream = 1, .element = elements->label, .limit = firnc_label_limit(m.settings->loss, limit)};
    firnc_value ids = firnc_input(m.graph, "input_ids", FIRN_INT32, 2, dims, tokens);
    *labels = firnc_job_judges(job) ? firnc_input(m.graph, "labels", FIRN_INT32, 2, dims, next) : FIRNC_NONE;
    return ids;
}

void firnc_transformer_build(firnc_graph *graph, const firnc_job *job, const firnc_transformer *settings,
                             const firnc_elements *elements, const firnc_architecture *architecture) {
    const uint32_t shift = firnc_job_judges(job) ? FIRNC_LABEL_SHIFT : 0;
    model m = {.graph = graph,
               .settings = settings,
               .names = architecture,
               .samples = job->data.micro_batch_size,
               .sequence = architecture->masked       ? settings->max_position_embeddings
                           : job->decode.context != 0 ? job->decode.chunk
                                                      : job->data.window - shift,
               .slopes = FIRNC_NONE,
               .half_softmax = job->precision.mixed && !settings->attention_softmax_fp32};
    if (settings->position_embedding == FIRNC_POSITIONS_ALIBI)
        m.slopes = alibi_slopes(graph, settings->num_heads);
    firnc_value labels, table;
    firnc_value ids = add_inputs(m, job, elements, &labels);

    firnc_layer_begin(graph, architecture->body);
    firnc_value x = embed(m, ids, &table);
    for (uint32_t i = 0; i < settings->num_hidden_layers; i++)
        x = block(m, i, x);
    if (architecture->last_norm != NULL)
        x = norm(m, architecture->body, architecture->last_norm, x);
    firnc_layer_end(graph);

    if (architecture->head != NULL)
        x = head(m, x);
    firnc_value logits = output_layer(m, &job->precision, x, table);
    firnc_name_scores(graph, logits, FIRNC_TARGETS_CLASSES, job);
    if (!firnc_job_judges(job))
        return;
    firnc_layer_begin(graph, "loss");
    firnc_classify(graph, logits, labels, FIRNC_NONE,
                   architecture->masked ? settings->loss : firnc_options_of_text(settings->loss, settings->vocab_size));
    firnc_layer_end(graph);
}
