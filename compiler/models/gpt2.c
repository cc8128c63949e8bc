/* GPT-2: learned or rotary positions, pre-norm blocks, causal attention, tied or untied output. Parameters have the
 * names of Hugging Face's GPT2LMHeadModel, whose linear weights have the layout in-out. */
#include "compiler/models/gpt2.h"

#include "runtime/numerics/numerics.h"

#define LABEL_SHIFT 1 /* the label of an element is the next element of the window */

/* --- keys --------------------------------------------------------------------------------------------------------- */

static const firnc_choice positions[] = {
    {"learned", FIRNC_POSITIONS_LEARNED}, {"rotary", FIRNC_POSITIONS_ROTARY}, {NULL, 0}};

#define AT(member) offsetof(firnc_gpt2, member)

static const firnc_field fields[] = {
    {"vocab_size", .kind = FIRNC_FIELD_WHOLE, AT(vocab_size), 2, FIRNC_MODEL_SIZE_MAX, .required = true},
    {"hidden_size", .kind = FIRNC_FIELD_WHOLE, AT(hidden_size), 1, FIRNC_MODEL_SIZE_MAX, .required = true},
    {"num_hidden_layers", .kind = FIRNC_FIELD_WHOLE, AT(num_hidden_layers), 1, 1000, .required = true},
    {"num_heads", .kind = FIRNC_FIELD_WHOLE, AT(num_heads), 1, FIRNC_MODEL_SIZE_MAX, .required = true},
    {"filter_size", .kind = FIRNC_FIELD_WHOLE, AT(filter_size), 1, FIRNC_MODEL_SIZE_MAX},
    {"max_position_embeddings", .kind = FIRNC_FIELD_WHOLE, AT(max_position_embeddings), 1, FIRNC_MODEL_SIZE_MAX},
    {"nonlinearity", .kind = FIRNC_FIELD_CHOICE, AT(nonlinearity), .choices = firnc_activation_words},
    {"share_embedding_weights", .kind = FIRNC_FIELD_FLAG, AT(share_embedding_weights)},
    {"use_projection_bias_in_attention", .kind = FIRNC_FIELD_FLAG, AT(use_projection_bias_in_attention)},
    {"use_ffn_bias_in_attention", .kind = FIRNC_FIELD_FLAG, AT(use_ffn_bias_in_attention)},
    {"use_ffn_bias", .kind = FIRNC_FIELD_FLAG, AT(use_ffn_bias)},
    {"use_bias_in_output", .kind = FIRNC_FIELD_FLAG, AT(use_bias_in_output)},
    {"attention_softmax_fp32", .kind = FIRNC_FIELD_FLAG, AT(attention_softmax_fp32)},
    {"dropout_rate", .kind = FIRNC_FIELD_SINGLE, AT(dropout_rate), 0, 1, .below_high = true},
    {"attention_dropout_rate", .kind = FIRNC_FIELD_SINGLE, AT(attention_dropout_rate), 0, 1, .below_high = true},
    {"embedding_dropout_rate", .kind = FIRNC_FIELD_SINGLE, AT(embedding_dropout_rate), 0, 1, .below_high = true},
    {"layer_norm_epsilon", .kind = FIRNC_FIELD_SINGLE, AT(layer_norm_epsilon), 0, 1, .above_low = true},
    {"initializer_range", .kind = FIRNC_FIELD_SINGLE, AT(initializer_range), 0, 1000, .above_low = true},
    {"position_embedding_type", .kind = FIRNC_FIELD_CHOICE, AT(position_embedding), .choices = positions},
    {"rotary_dim", .kind = FIRNC_FIELD_WHOLE, AT(rotary_dim), 2, FIRNC_MODEL_SIZE_MAX},
    {"rope_theta", .kind = FIRNC_FIELD_SINGLE, AT(rope_theta), 1, 1e30},
    {"attention_type", .kind = FIRNC_FIELD_FIXED, .only = "scaled_dot_product"},
    {"norm_type", .kind = FIRNC_FIELD_FIXED, .only = "layernorm"},
    {"loss_scaling", .kind = FIRNC_FIELD_CHOICE, AT(loss_scaling), .choices = firnc_loss_scaling_words},
    {"loss_weight", .kind = FIRNC_FIELD_SINGLE, AT(loss.loss_weight), 0, 1e30, .above_low = true},
    {"label_smoothing", .kind = FIRNC_FIELD_SINGLE, AT(loss.label_smoothing), 0, 1, .below_high = true},
    {"ignore_index", .kind = FIRNC_FIELD_WHOLE, AT(loss.ignore_index), 0, FIRNC_MODEL_SIZE_MAX},
    {"initializers", .kind = FIRNC_FIELD_REFUSED, .only = "use initializer_range, or give the values with --weights"},
};

#undef AT

static const firnc_idle_key mixed_keys[] = {{"attention_softmax_fp32", "true"}};

static const firnc_gpt2 defaults = {
    .max_position_embeddings = 1024,
    .position_embedding = FIRNC_POSITIONS_LEARNED,
    .rope_theta = 10000,
    .nonlinearity = FIRNC_GELU,
    .share_embedding_weights = true,
    .use_projection_bias_in_attention = true,
    .use_ffn_bias_in_attention = true,
    .use_ffn_bias = true,
    .use_bias_in_output = false,
    .attention_softmax_fp32 = true,
    .dropout_rate = 0.1F,
    .attention_dropout_rate = 0.1F,
    .embedding_dropout_rate = FIRNC_UNSET, /* as dropout_rate */
    .layer_norm_epsilon = 1e-5F,
    .initializer_range = 0.02F,
    .loss = {.loss_weight = 1},
};

/* Refuses keys that only rotary positions have. */
static bool check_learned(const firnc_tree *keys) {
    static const char *const words[] = {"rotary_dim", "rope_theta"};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        const firnc_tree *key = firnc_tree_child(keys, words[i]);
        if (key != NULL)
            return firnc_tree_fail(key, "belongs to position_embedding_type: rotary; write that too, or remove this");
    }
    return true;
}

/* Reads rotary_dim; the default is a quarter of a head, as in the model zoo. */
static bool read_rotary(const firnc_tree *keys, firnc_gpt2 *gpt2) {
    const firnc_tree *given = firnc_tree_child(keys, "rotary_dim");
    const uint32_t head_size = gpt2->hidden_size / gpt2->num_heads;
    if (given == NULL)
        gpt2->rotary_dim = head_size / 4;
    if (head_size < 2)
        return firnc_tree_fail(firnc_tree_child(keys, "num_heads"),
                               "a head of 1 element has no pair that rotary positions could turn; choose fewer heads");
    if (gpt2->rotary_dim >= 2 && gpt2->rotary_dim % 2 == 0 && gpt2->rotary_dim <= head_size)
        return true;
    if (given == NULL)
        return firnc_tree_fail(firnc_tree_child(keys, "position_embedding_type"),
                               "a quarter of a head of %u elements, %u, is no number of pairs; add rotary_dim, an even "
                               "number from 2 to %u",
                               (unsigned)head_size, (unsigned)gpt2->rotary_dim, (unsigned)head_size);
    return firnc_tree_fail(given, "%u is no even number from 2 to %u, the elements of a head; choose one",
                           (unsigned)gpt2->rotary_dim, (unsigned)head_size);
}

static bool complete(const firnc_tree *keys, void *settings) {
    firnc_gpt2 *gpt2 = settings;
    if (gpt2->hidden_size % gpt2->num_heads != 0)
        return firnc_tree_fail(firnc_tree_child(keys, "num_heads"),
                               "hidden_size %u is not divisible by %u heads; choose a number of heads that divides it",
                               (unsigned)gpt2->hidden_size, (unsigned)gpt2->num_heads);
    if (gpt2->filter_size == 0)
        gpt2->filter_size = 4 * gpt2->hidden_size;
    if (!(gpt2->position_embedding == FIRNC_POSITIONS_ROTARY ? read_rotary(keys, gpt2) : check_learned(keys)))
        return false;
    if (gpt2->embedding_dropout_rate < 0)
        gpt2->embedding_dropout_rate = gpt2->dropout_rate;
    return firnc_complete_cross_entropy(keys, gpt2->loss_scaling, gpt2->vocab_size, &gpt2->loss);
}

static firnc_model_facts facts(const void *model_settings) {
    static const char *const learned[] = {"vocab_size", "hidden_size", "filter_size", "max_position_embeddings", NULL};
    static const char *const rotary[] = {"vocab_size", "hidden_size", "filter_size", NULL}; /* no table */
    const firnc_gpt2 *settings = model_settings;
    return (firnc_model_facts){.longest_sequence = settings->max_position_embeddings,
                               .label_shift = LABEL_SHIFT,
                               .outputs = settings->vocab_size,
                               .targets = FIRNC_TARGETS_CLASSES,
                               .metric = FIRNC_METRIC_PERPLEXITY,
                               .layers_key = "num_hidden_layers",
                               .sizes = settings->position_embedding == FIRNC_POSITIONS_LEARNED ? learned : rotary};
}

/* --- the graph ---------------------------------------------------------------------------------------------------- */

/* What every part of the model uses. */
typedef struct model {
    firnc_graph *graph;
    const firnc_gpt2 *settings;
    uint32_t sequence; /* length of a sequence, in tokens */
    bool half_softmax;
} model;

static firnc_init normal(float deviation) {
    return (firnc_init){.rule = FIRNC_INIT_NORMAL, .a = 0, .b = deviation};
}

static firnc_init constant(float value) {
    return (firnc_init){.rule = FIRNC_INIT_CONSTANT, .a = value};
}

/* Adds a linear op in the layer `layer` with the parameters prefix.layer.weight and, if with_bias,
 * prefix.layer.bias. */
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

/* Standard deviation of the initial weights of the two projections that end a residual branch. It decreases with the
 * number of layers, as in GPT-2. */
static float residual_deviation(const firnc_gpt2 *settings) {
    return settings->initializer_range / firn_sqrt(2 * (float)settings->num_hidden_layers);
}

/* Rotates queries and keys by their position. Pairs are adjacent elements, as in the reference. */
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

/* Adds to each position its row of the table. */
static firnc_value add_positions(model m, firnc_value x, firnc_value table) {
    firnc_layer_begin(m.graph, "wpe");
    firnc_value rows = firnc_leading_rows(m.graph, table, m.sequence);
    firnc_layer_end(m.graph);
    return firnc_add(m.graph, x, rows);
}

/* Embeds the tokens and, if learned, the positions. Sets *table to the token embedding, for a tied output. */
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

/* The reference's rule: at global POL 1 the backward level of the output layer is 0. */
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

static void build(firnc_graph *graph, const firnc_job *job, const void *model_settings,
                  const firnc_elements *elements) {
    const firnc_gpt2 *settings = model_settings;
    (void)elements; /* for records only */
    model m = {.graph = graph,
               .settings = settings,
               .sequence = job->data.window - (firnc_job_judges(job) ? LABEL_SHIFT : 0),
               .half_softmax = job->precision.mixed && !settings->attention_softmax_fp32};
    const uint32_t dims[] = {job->data.micro_batch_size, m.sequence};
    firnc_input_options bytes = {.element = FIRN_UINT8, .limit = settings->vocab_size};
    firnc_value ids = firnc_input(graph, "input_ids", FIRN_INT32, 2, dims, bytes);
    bytes.advance = LABEL_SHIFT;
    firnc_value labels = firnc_job_judges(job) ? firnc_input(graph, "labels", FIRN_INT32, 2, dims, bytes) : FIRNC_NONE;

    firnc_layer_begin(graph, "transformer");
    firnc_value table;
    firnc_value x = embed(m, ids, &table);
    for (uint32_t i = 0; i < settings->num_hidden_layers; i++)
        x = block(m, i, x);
    x = norm(m, "transformer", "ln_f", x);
    firnc_layer_end(graph);

    firnc_value logits = output_layer(m, &job->precision, x, table);
    firnc_name_scores(graph, logits, FIRNC_TARGETS_CLASSES, job);
    if (!firnc_job_judges(job))
        return;
    firnc_layer_begin(graph, "loss");
    firnc_classify(graph, logits, labels, FIRNC_NONE, settings->loss);
    firnc_layer_end(graph);
}

const firnc_model firnc_model_gpt2 = {.name = "gpt2",
                                      .fields = fields,
                                      .field_count = sizeof fields / sizeof fields[0],
                                      .mixed_keys = mixed_keys,
                                      .mixed_key_count = sizeof mixed_keys / sizeof mixed_keys[0],
                                      .settings_bytes = sizeof(firnc_gpt2),
                                      .defaults = &defaults,
                                      .complete = complete,
                                      .facts = facts,
                                      .build = build,
                                      .weight_map = firnc_gpt2_weight_map};
