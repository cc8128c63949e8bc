/* The keys of the models of compiler/models/transformer.h, and what follows from them. No graph is built here. */
#include "compiler/models/transformer.h"

static const firnc_choice positions[] = {{"learned", FIRNC_POSITIONS_LEARNED},
                                         {"rotary", FIRNC_POSITIONS_ROTARY},
                                         {"alibi", FIRNC_POSITIONS_ALIBI},
                                         {NULL, 0}};
static const firnc_choice norms[] = {{"layernorm", FIRNC_LAYER_NORM}, {"rmsnorm", FIRNC_RMS_NORM}, {NULL, 0}};
static const firnc_choice attention_modules[] = {
    {"aiayn_attention", FIRNC_AIAYN_ATTENTION}, {"multiquery_attention", FIRNC_MULTIQUERY_ATTENTION}, {NULL, 0}};
static const firnc_choice nonlinearities[] = {{"gelu", FIRNC_GELU},
                                              {"gelu_new", FIRNC_GELU_NEW},
                                              {"relu", FIRNC_RELU},
                                              {"sigmoid", FIRNC_SIGMOID},
                                              {"silu", FIRNC_SILU},
                                              {"softplus", FIRNC_SOFTPLUS},
                                              {"tanh", FIRNC_TANH},
                                              {"swiglu", FIRNC_GATED + FIRNC_SILU},
                                              {"geglu", FIRNC_GATED + FIRNC_GELU},
                                              {"reglu", FIRNC_GATED + FIRNC_RELU},
                                              {NULL, 0}};

/* The words of loss_scaling, by which the number of tokens is that of the labels that count. */
static const firnc_choice masked_loss_scalings[] = {{"num_masked", 0}, {"batch_size", 1}, {NULL, 0}};

#define AT(member) offsetof(firnc_transformer, member)

const firnc_field firnc_transformer_fields[] = {
    {"encoder_nonlinearity", .kind = FIRNC_FIELD_CHOICE, AT(nonlinearity), .choices = nonlinearities},
    {"mlm_nonlinearity", .kind = FIRNC_FIELD_CHOICE, AT(mlm_nonlinearity), .choices = firnc_activation_words},
    {"disable_nsp", .kind = FIRNC_FIELD_FLAG, AT(disable_nsp)},
    {"mlm_loss_scaling", .kind = FIRNC_FIELD_CHOICE, AT(loss_scaling), .choices = masked_loss_scalings},
    {"mlm_loss_weight", .kind = FIRNC_FIELD_SINGLE, AT(loss.loss_weight), 0, 1e30, .above_low = true},
    {"num_segments", .kind = FIRNC_FIELD_WHOLE, AT(segments), 1, FIRNC_MODEL_SIZE_MAX},
    {"pooler_nonlinearity", .kind = FIRNC_FIELD_OTHER},
    {"vocab_size", .kind = FIRNC_FIELD_WHOLE, AT(vocab_size), 2, FIRNC_MODEL_SIZE_MAX, .required = true},
    {"hidden_size", .kind = FIRNC_FIELD_WHOLE, AT(hidden_size), 1, FIRNC_MODEL_SIZE_MAX, .required = true},
    {"num_hidden_layers", .kind = FIRNC_FIELD_WHOLE, AT(num_hidden_layers), 1, 1000, .required = true},
    {"num_heads", .kind = FIRNC_FIELD_WHOLE, AT(num_heads), 1, FIRNC_MODEL_SIZE_MAX, .required = true},
    {"filter_size", .kind = FIRNC_FIELD_WHOLE, AT(filter_size), 1, FIRNC_MODEL_SIZE_MAX},
    {"max_position_embeddings", .kind = FIRNC_FIELD_WHOLE, AT(max_position_embeddings), 1, FIRNC_MODEL_SIZE_MAX},
    {"nonlinearity", .kind = FIRNC_FIELD_CHOICE, AT(nonlinearity), .choices = nonlinearities},
    {"pad_token_id", .kind = FIRNC_FIELD_WHOLE, AT(pad_token_id), 0, FIRNC_MODEL_SIZE_MAX},
    {"share_embedding_weights", .kind = FIRNC_FIELD_FLAG, AT(share_embedding_weights)},
    {"use_projection_bias_in_attention", .kind = FIRNC_FIELD_FLAG, AT(use_projection_bias_in_attention)},
    {"use_ffn_bias_in_attention", .kind = FIRNC_FIELD_FLAG, AT(use_ffn_bias_in_attention)},
    {"use_ffn_bias", .kind = FIRNC_FIELD_FLAG, AT(use_ffn_bias)},
    {"use_bias_in_output", .kind = FIRNC_FIELD_FLAG, AT(use_bias_in_output)},
    {"attention_softmax_fp32", .kind = FIRNC_FIELD_FLAG, AT(attention_softmax_fp32)},
    {"dropout_rate", .kind = FIRNC_FIELD_SINGLE, AT(dropout_rate), 0, 1, .below_high = true},
    {"residual_dropout_rate", .kind = FIRNC_FIELD_SINGLE, AT(residual_dropout_rate), 0, 1, .below_high = true},
    {"attention_dropout_rate", .kind = FIRNC_FIELD_SINGLE, AT(attention_dropout_rate), 0, 1, .below_high = true},
    {"embedding_dropout_rate", .kind = FIRNC_FIELD_SINGLE, AT(embedding_dropout_rate), 0, 1, .below_high = true},
    {"layer_norm_epsilon", .kind = FIRNC_FIELD_SINGLE, AT(layer_norm_epsilon), 0, 1, .above_low = true},
    {"initializer_range", .kind = FIRNC_FIELD_SINGLE, AT(initializer_range), 0, 1000, .above_low = true},
    {"initializer", .kind = FIRNC_FIELD_OTHER},
    {"embedding_initializer", .kind = FIRNC_FIELD_OTHER},
    {"output_layer_initializer", .kind = FIRNC_FIELD_OTHER},
    {"position_embedding_type", .kind = FIRNC_FIELD_CHOICE, AT(position_embedding), .choices = positions},
    {"rotary_dim", .kind = FIRNC_FIELD_WHOLE, AT(rotary_dim), 2, FIRNC_MODEL_SIZE_MAX},
    {"rotary_pct", .kind = FIRNC_FIELD_DOUBLE, AT(rotary_pct), 0, 1, .above_low = true},
    {"rope_theta", .kind = FIRNC_FIELD_SINGLE, AT(rope_theta), 1, 1e30},
    {"attention_type", .kind = FIRNC_FIELD_FIXED, .only = "scaled_dot_product"},
    {"pos_scaling_factor", .kind = FIRNC_FIELD_FIXED, .only = "1.0"},
    {"embedding_layer_norm", .kind = FIRNC_FIELD_FIXED, .only = "false"},
    {"alibi_trainable_slopes", .kind = FIRNC_FIELD_FIXED, .only = "false"},
    {"attention_module", .kind = FIRNC_FIELD_CHOICE, AT(attention_module), .choices = attention_modules},
    {"extra_attention_params", .kind = FIRNC_FIELD_NESTED},
    {"norm_type", .kind = FIRNC_FIELD_CHOICE, AT(norm_type), .choices = norms},
    {"loss_scaling", .kind = FIRNC_FIELD_CHOICE, AT(loss_scaling), .choices = firnc_loss_scaling_words},
    {"loss_weight", .kind = FIRNC_FIELD_SINGLE, AT(loss.loss_weight), 0, 1e30, .above_low = true},
    {"label_smoothing", .kind = FIRNC_FIELD_SINGLE, AT(loss.label_smoothing), 0, 1, .below_high = true},
    {"ignore_index", .kind = FIRNC_FIELD_OTHER},
    {"initializers", .kind = FIRNC_FIELD_REFUSED,
     .only = "use initializer, embedding_initializer and output_layer_initializer, or give the values with firnc "
             "compile --weights"},
    {"use_untied_layer_norm", .kind = FIRNC_FIELD_FLAG, AT(use_untied_layer_norm)},
    {"use_parallel_residual", .kind = FIRNC_FIELD_FLAG, AT(use_parallel_residual)},
};

_Static_assert(sizeof firnc_transformer_fields / sizeof firnc_transformer_fields[0] ==
                   FIRNC_MASKED_KEYS + FIRNC_TRANSFORMER_KEYS + FIRNC_PARALLEL_KEYS + FIRNC_SEQUENTIAL_KEYS,
               "transformer.h counts the keys");

static const firnc_field attention_fields[] = {
    {"num_kv_groups", .kind = FIRNC_FIELD_WHOLE, AT(kv_heads), 1, FIRNC_MODEL_SIZE_MAX},
};

#undef AT

const firnc_idle_key firnc_transformer_mixed_keys[1] = {{"attention_softmax_fp32", "true"}};

/* The key, or if the recipe leaves it to its default, the whole mapping: the place for a message. */
static const firnc_tree *place_of(const firnc_tree *keys, const char *key) {
    const firnc_tree *given = firnc_tree_child(keys, key);
    return given != NULL ? given : keys;
}

/* Refuses keys that only rotary positions have. */
static bool check_not_rotary(const firnc_tree *keys) {
    static const char *const words[] = {"rotary_dim", "rotary_pct", "rope_theta"};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        const firnc_tree *key = firnc_tree_child(keys, words[i]);
        if (key != NULL)
            return firnc_tree_fail(key, "belongs to position_embedding_type: rotary; write that too, or remove this");
    }
    return true;
}

/* Notes a share of a head that is no whole number of elements; `share` is NULL if the recipe has none. */
static void note_rounded_share(const firnc_tree *share, const firnc_transformer *settings, uint32_t head_size) {
    const double lost = (double)head_size * settings->rotary_pct - (double)settings->rotary_dim;
    if (share != NULL && lost > 1e-6)
        firnc_idle_say(share,
                       firnc_format("%.20s becomes %s", share->text,
                                    firnc_number_text((double)settings->rotary_dim / (double)head_size)),
                       firnc_format("it is %.6g of the %u elements of a head; write rotary_dim: %u in its place",
                                    (double)head_size * settings->rotary_pct, (unsigned)head_size,
                                    (unsigned)settings->rotary_dim));
}

/* Reads rotary_dim; the default is the share rotary_pct of a head. */
static bool complete_rotary(const firnc_tree *keys, firnc_transformer *settings) {
    const firnc_tree *given = firnc_tree_child(keys, "rotary_dim"), *share = firnc_tree_child(keys, "rotary_pct");
    const uint32_t head_size = settings->hidden_size / settings->num_heads;
    if (given != NULL && share != NULL)
        return firnc_tree_fail(share, "rotary_dim says how much of a head is rotated; remove one of the two");
    if (given == NULL)
        settings->rotary_dim = (uint32_t)((double)head_size * settings->rotary_pct);
    if (head_size < 2)
        return firnc_tree_fail(firnc_tree_child(keys, "num_heads"),
                               "a head of 1 element has no pair that rotary positions could turn; choose fewer heads");
    if (settings->rotary_dim >= 2 && settings->rotary_dim % 2 == 0 && settings->rotary_dim <= head_size) {
        note_rounded_share(given == NULL ? share : NULL, settings, head_size);
        return true;
    }
    if (given == NULL)
        return firnc_tree_fail(share != NULL ? share : place_of(keys, "position_embedding_type"),
                               "%s of a head of %u elements, %u, is no number of pairs; %s rotary_dim, an even "
                               "number from 2 to %u",
                               firnc_number_text(settings->rotary_pct), (unsigned)head_size,
                               (unsigned)settings->rotary_dim, share != NULL ? "write in its place" : "add",
                               (unsigned)head_size);
    return firnc_tree_fail(given, "%u is no even number from 2 to %u, the elements of a head; choose one",
                           (unsigned)settings->rotary_dim, (unsigned)head_size);
}

/* Reads the heads of keys and values. A group of query heads reads each; the default is one group, as in the model
 * zoo. */
static bool complete_heads(const firnc_tree *keys, firnc_transformer *settings) {
    const firnc_tree *more = firnc_tree_child(keys, "extra_attention_params");
    const bool groups = settings->attention_module == FIRNC_MULTIQUERY_ATTENTION;
    settings->kv_heads = groups ? 1 : settings->num_heads;
    if (more == NULL)
        return true;
    const firnc_tree *given = firnc_tree_child(more, "num_kv_groups");
    if (!firnc_fields_read(more, attention_fields, 1, settings))
        return false;
    if (given != NULL && !groups)
        return firnc_tree_fail(given, "belongs to attention_module: multiquery_attention; write that too, or remove "
                                      "this");
    if (settings->num_heads % settings->kv_heads != 0)
        return firnc_tree_fail(given,
                               "%u heads cannot be divided among %u groups; choose a number that divides the "
                               "heads",
                               (unsigned)settings->num_heads, (unsigned)settings->kv_heads);
    return true;
}

static bool complete_initial_values(const firnc_tree *keys, firnc_transformer *settings) {
    return firnc_initializer_read(keys, "initializer", &settings->initializer) &&
           firnc_initializer_read(keys, "embedding_initializer", &settings->embedding_initializer) &&
           firnc_initializer_read(keys, "output_layer_initializer", &settings->output_layer_initializer);
}

static bool complete_padding(const firnc_tree *keys, firnc_transformer *settings) {
    const firnc_tree *given = firnc_tree_child(keys, "pad_token_id");
    settings->has_pad_token = given != NULL && !firnc_tree_is_null(given);
    return !settings->has_pad_token || settings->pad_token_id < settings->vocab_size ||
           firnc_tree_fail(given, "%u is no token of a vocabulary of %u; write one below that, or remove the key",
                           (unsigned)settings->pad_token_id, (unsigned)settings->vocab_size);
}

bool firnc_transformer_complete(const firnc_tree *keys, void *model_settings) {
    firnc_transformer *settings = model_settings;
    if (settings->hidden_size % settings->num_heads != 0)
        return firnc_tree_fail(firnc_tree_child(keys, "num_heads"),
                               "hidden_size %u is not divisible by %u heads; choose a number of heads that divides it",
                               (unsigned)settings->hidden_size, (unsigned)settings->num_heads);
    if (settings->filter_size == 0)
        settings->filter_size = 4 * settings->hidden_size;
    const bool rotary = settings->position_embedding == FIRNC_POSITIONS_ROTARY;
    if (!(rotary ? complete_rotary(keys, settings) : check_not_rotary(keys)))
        return false;
    if (settings->residual_dropout_rate < 0)
        settings->residual_dropout_rate = settings->dropout_rate;
    if (settings->embedding_dropout_rate < 0)
        settings->embedding_dropout_rate = settings->dropout_rate;
    return complete_padding(keys, settings) && complete_heads(keys, settings) &&
           complete_initial_values(keys, settings) &&
           firnc_complete_cross_entropy(keys, settings->loss_scaling, settings->vocab_size, &settings->loss);
}

firnc_model_facts firnc_transformer_facts(const void *model_settings) {
    static const char *const learned[] = {"vocab_size", "hidden_size", "filter_size", "max_position_embeddings", NULL};
    static const char *const others[] = {"vocab_size", "hidden_size", "filter_size", NULL}; /* no table */
    const firnc_transformer *settings = model_settings;
    return (firnc_model_facts){.longest_sequence = settings->max_position_embeddings,
                               .label_shift = FIRNC_LABEL_SHIFT,
                               .outputs = settings->vocab_size,
                               .targets = FIRNC_TARGETS_CLASSES,
                               .metric = FIRNC_METRIC_PERPLEXITY,
                               .layers_key = "num_hidden_layers",
                               .sizes = settings->position_embedding == FIRNC_POSITIONS_LEARNED ? learned : others};
}
