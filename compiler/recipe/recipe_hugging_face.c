/* Reads a folder that Hugging Face's transformers have written. A table for each model_type says what each key of
 * config.json becomes in trainer.init.model. A key is used, or is known to change nothing that a training computes, or
 * is refused by name: nothing in the file is trusted. A key that the file leaves out has the default of transformers'
 * configuration class, which the row gives too. JSON is read as YAML, of which it is a part, so that messages have
 * lines. No graph is built here. */
#define _XOPEN_SOURCE 700

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "compiler/keys/tree_edit.h"
#include "compiler/recipe/recipe_parts.h"

#define COUNT(table) (sizeof(table) / sizeof *(table))
#define IN_ONNX      "export it with torch.onnx and use model.onnx"
#define OTHER_SUMS   "it changes what the model computes, which Firn's model cannot; " IN_ONNX

typedef enum row_kind {
    AS,     /* the value of the model's key `to` */
    WORD,   /* likewise, after `words` has replaced it */
    ONLY,   /* has to be `to`; any other value is refused, and `why` says why */
    IDLE,   /* changes nothing that a training computes */
    WHOLE,  /* likewise, as long as it is a whole number; what reads it is named beside it */
    PASSED, /* transformers passes it by and reads the key `why`: has to say what the model's key `to` says anyway */
    EQUAL,  /* idle if every entry of the list is `to`, else refused */
    REFUSED /* always refused unless it is null; `why` says why */
} row_kind;

typedef struct word {
    const char *theirs, *ours; /* a NULL ends the list */
} word;

typedef struct row {
    const char *key; /* of config.json; "a.b" is the key b in the mapping a. With a * at its end: all that begin so */
    row_kind kind;
    const char *to;
    const char *missing; /* AS, WORD: the value of a key that the file leaves out; NULL: another row or Firn has it */
    const word *words;
    const char *why;
    bool nullable; /* AS, WORD, WHOLE: the key may be null, as transformers' class has it; the others refuse null */
} row;

/* --- words -------------------------------------------------------------------------------------------------------- */

static const word activations[] = {{"gelu", "gelu"},          {"gelu_new", "gelu_new"},
                                   {"gelu_fast", "gelu_new"}, {"gelu_pytorch_tanh", "gelu_new"},
                                   {"relu", "relu"},          {"sigmoid", "sigmoid"},
                                   {"silu", "silu"},          {"swish", "silu"},
                                   {"tanh", "tanh"},          {NULL, NULL}};
static const word gated_activations[] = {
    {"silu", "swiglu"}, {"swish", "swiglu"}, {"gelu", "geglu"}, {"relu", "reglu"}, {NULL, NULL}};

/* --- rows of every model ------------------------------------------------------------------------------------------ */

static const row common[] = {
    {"vocab_size", .kind = AS, "vocab_size"}, /* its defaults differ, and no file leaves it out */
    {"initializer_range", .kind = AS, "initializer_range", "0.02"},
    {"model_type", .kind = IDLE},
    {"architectures", .kind = IDLE}, /* check_head reads it */
    {"transformers_version", .kind = IDLE},
    {"dtype", .kind = IDLE}, /* of the weights, which say it themselves */
    {"torch_dtype", .kind = IDLE},
    {"use_cache", .kind = IDLE},
    {"bos_token_id", .kind = IDLE},
    {"eos_token_id", .kind = IDLE},
    {"sep_token_id", .kind = IDLE},
    {"cls_token_id", .kind = IDLE},
    {"decoder_start_token_id", .kind = IDLE},
    {"unk_token_id", .kind = IDLE},
    {"id2label", .kind = IDLE},
    {"label2id", .kind = IDLE},
    {"problem_type", .kind = IDLE},
    {"return_dict", .kind = IDLE},
    {"output_attentions", .kind = IDLE},
    {"output_hidden_states", .kind = IDLE},
    {"chunk_size_feed_forward", .kind = IDLE},
    {"gradient_checkpointing", .kind = IDLE},
    {"tokenizer_class", .kind = IDLE},
    {"task_specific_params", .kind = IDLE},
    {"classifier_dropout", .kind = IDLE},
    {"pretraining_tp", .kind = IDLE},
    {"finetuning_task", .kind = IDLE},
    {"prefix", .kind = IDLE},
    {"torchscript", .kind = IDLE},
    {"_*", .kind = IDLE}, /* where the file was and how it was loaded */
    {"is_encoder_decoder", .kind = ONLY, "false", .why = "Firn has no model with an encoder and a decoder; " IN_ONNX},
    {"is_decoder", .kind = ONLY, "false", .why = OTHER_SUMS},
    {"add_cross_attention", .kind = ONLY, "false", .why = "Firn's model has no encoder to attend to; " IN_ONNX},
    {"cross_attention_hidden_size", .kind = REFUSED, .why = "Firn's model has no encoder to attend to; " IN_ONNX},
    {"pruned_heads", .kind = EQUAL, "", .why = "Firn's model has all its heads; " IN_ONNX},
    {"quantization_config", .kind = REFUSED,
     .why = "its weights are quantized; save the model in float32, float16 or bfloat16"},
    {"auto_map", .kind = REFUSED, .why = "the model has code of its own; " IN_ONNX},
};

/* What models with rotary positions share. */
static const row rotary[] = {
    {"rope_scaling.rope_theta", .kind = AS, "rope_theta"},
    {"rope_parameters.rope_theta", .kind = AS, "rope_theta", "10000"},
    {"rope_parameters.rope_type", .kind = ONLY, "default", .why = OTHER_SUMS},
    {"rope_parameters.type", .kind = ONLY, "default", .why = OTHER_SUMS},
    {"rope_scaling.rope_type", .kind = ONLY, "default", .why = OTHER_SUMS},
    {"rope_scaling.type", .kind = ONLY, "default", .why = OTHER_SUMS},
    {"attention_dropout", .kind = AS, "attention_dropout_rate", "0.0"},
    {"head_dim", .kind = WHOLE, .nullable = true}, /* check_head_size reads it */
};

/* What LlamaForCausalLM and its relatives share. */
static const row grouped[] = {
    {"hidden_size", .kind = AS, "hidden_size", "4096"},
    {"num_hidden_layers", .kind = AS, "num_hidden_layers", "32"},
    {"num_attention_heads", .kind = AS, "num_heads", "32"},
    {"rope_theta", .kind = AS, "rope_theta"},
    {"rotary_emb_base", .kind = PASSED, "rope_theta", .why = "rope_theta"},
    {"num_key_value_heads", .kind = WHOLE, .nullable = true}, /* add_groups reads it */
    {"hidden_act", .kind = WORD, "nonlinearity", "silu", gated_activations},
    {"tie_word_embeddings", .kind = AS, "share_embedding_weights", "false"},
};

/* --- gpt2 --------------------------------------------------------------------------------------------------------- */

static const row gpt2[] = {
    {"n_embd", .kind = AS, "hidden_size", "768"},
    {"n_layer", .kind = AS, "num_hidden_layers", "12"},
    {"n_head", .kind = AS, "num_heads", "12"},
    {"n_inner", .kind = AS, "filter_size", .nullable = true},
    {"n_positions", .kind = AS, "max_position_embeddings", "1024"},
    {"n_ctx", .kind = IDLE},
    {"activation_function", .kind = WORD, "nonlinearity", "gelu_new", activations},
    {"resid_pdrop", .kind = AS, "residual_dropout_rate", "0.1"},
    {"embd_pdrop", .kind = AS, "embedding_dropout_rate", "0.1"},
    {"attn_pdrop", .kind = AS, "attention_dropout_rate", "0.1"},
    {"layer_norm_epsilon", .kind = AS, "layer_norm_epsilon", "1e-5"},
    {"tie_word_embeddings", .kind = AS, "share_embedding_weights", "true"},
    {"scale_attn_weights", .kind = ONLY, "true", .why = OTHER_SUMS},
    {"scale_attn_by_inverse_layer_idx", .kind = ONLY, "false", .why = OTHER_SUMS},
    {"reorder_and_upcast_attn", .kind = IDLE},
    {"summary_*", .kind = IDLE},
};

/* --- gptj --------------------------------------------------------------------------------------------------------- */

static const row gptj[] = {
    {"n_embd", .kind = AS, "hidden_size", "4096"},
    {"n_layer", .kind = AS, "num_hidden_layers", "28"},
    {"n_head", .kind = AS, "num_heads", "16"},
    {"n_inner", .kind = AS, "filter_size", .nullable = true},
    {"n_positions", .kind = AS, "max_position_embeddings", "2048"},
    {"n_ctx", .kind = IDLE},
    {"rotary_dim", .kind = AS, "rotary_dim", "64"},
    {"activation_function", .kind = WORD, "nonlinearity", "gelu_new", activations},
    {"resid_pdrop", .kind = AS, "residual_dropout_rate", "0.0"},
    {"embd_pdrop", .kind = AS, "embedding_dropout_rate", "0.0"},
    {"attn_pdrop", .kind = AS, "attention_dropout_rate", "0.0"},
    {"layer_norm_epsilon", .kind = AS, "layer_norm_epsilon", "1e-5"},
    {"tie_word_embeddings", .kind = AS, "share_embedding_weights", "false"},
    {"scale_attn_weights", .kind = ONLY, "true", .why = OTHER_SUMS},
    {"rotary", .kind = ONLY, "true", .why = OTHER_SUMS},
    {"summary_*", .kind = IDLE},
};

/* --- gpt_neox ----------------------------------------------------------------------------------------------------- */

static const row gpt_neox[] = {
    {"rotary_emb_base", .kind = AS, "rope_theta"},
    {"rope_theta", .kind = PASSED, "rope_theta", .why = "rotary_emb_base"},
    {"rotary_pct", .kind = AS, "rotary_pct"},
    {"partial_rotary_factor", .kind = PASSED, "rotary_pct", .why = "rotary_pct"},
    {"rope_parameters.partial_rotary_factor", .kind = AS, "rotary_pct", "0.25"},
    {"hidden_size", .kind = AS, "hidden_size", "6144"},
    {"num_hidden_layers", .kind = AS, "num_hidden_layers", "44"},
    {"num_attention_heads", .kind = AS, "num_heads", "64"},
    {"intermediate_size", .kind = AS, "filter_size", "24576"},
    {"max_position_embeddings", .kind = AS, "max_position_embeddings", "2048"},
    {"hidden_act", .kind = WORD, "nonlinearity", "gelu", activations},
    {"hidden_dropout", .kind = AS, "dropout_rate", "0.0"},
    {"layer_norm_eps", .kind = AS, "layer_norm_epsilon", "1e-5"},
    {"attention_bias", .kind = AS, "use_projection_bias_in_attention", "true"},
    {"attention_bias", .kind = AS, "use_ffn_bias_in_attention", "true"},
    {"use_parallel_residual", .kind = AS, "use_parallel_residual", "true"},
    {"tie_word_embeddings", .kind = AS, "share_embedding_weights", "false"},
};

/* --- llama and its relatives -------------------------------------------------------------------------------------- */

static const row llama[] = {
    {"intermediate_size", .kind = AS, "filter_size", "11008"},
    {"max_position_embeddings", .kind = AS, "max_position_embeddings", "2048"},
    {"rms_norm_eps", .kind = AS, "layer_norm_epsilon", "1e-6"},
    {"attention_bias", .kind = AS, "use_projection_bias_in_attention", "false"},
    {"attention_bias", .kind = AS, "use_ffn_bias_in_attention", "false"},
    {"mlp_bias", .kind = AS, "use_ffn_bias", "false"},
};

/* A token sees the last sliding_window tokens, which are all tokens of a sequence of at most that length. */
static const row mistral[] = {
    {"intermediate_size", .kind = AS, "filter_size", "14336"},
    {"max_position_embeddings", .kind = AS, "max_position_embeddings", "131072"},
    {"sliding_window", .kind = WHOLE, .nullable = true}, /* limit_sequence reads it */
    {"num_key_value_heads", .kind = WHOLE},              /* never null */
    {"rms_norm_eps", .kind = AS, "layer_norm_epsilon", "1e-6"},
};

static const row qwen2[] = {
    {"intermediate_size", .kind = AS, "filter_size", "22016"},
    {"max_position_embeddings", .kind = AS, "max_position_embeddings", "32768"},
    {"rms_norm_eps", .kind = AS, "layer_norm_epsilon", "1e-6"},
    {"use_sliding_window", .kind = ONLY, "false", .why = OTHER_SUMS},
    {"sliding_window", .kind = WHOLE, .nullable = true}, /* without effect, as use_sliding_window is false */
    {"max_window_layers", .kind = WHOLE},                /* likewise */
    {"head_dim", .kind = WHOLE},                         /* never null */
    {"layer_types", .kind = EQUAL, "full_attention", .why = OTHER_SUMS},
    {"use_mrope", .kind = ONLY, "false", .why = OTHER_SUMS},
};

static const row stablelm[] = {
    {"partial_rotary_factor", .kind = AS, "rotary_pct"},
    {"rope_pct", .kind = PASSED, "rotary_pct", .why = "partial_rotary_factor"},
    {"rope_parameters.partial_rotary_factor", .kind = AS, "rotary_pct", "0.25"},
    {"hidden_size", .kind = AS, "hidden_size", "2560"},
    {"num_key_value_heads", .kind = WHOLE}, /* never null */
    {"intermediate_size", .kind = AS, "filter_size", "6912"},
    {"max_position_embeddings", .kind = AS, "max_position_embeddings", "4096"},
    {"layer_norm_eps", .kind = AS, "layer_norm_epsilon", "1e-5"},
    {"use_qkv_bias", .kind = AS, "use_projection_bias_in_attention", "false"},
    {"hidden_dropout", .kind = ONLY, "0.0", .why = "Firn's model drops behind attention, too; " IN_ONNX},
    {"qk_layernorm", .kind = ONLY, "false", .why = OTHER_SUMS},
    {"use_parallel_residual", .kind = ONLY, "false", .why = OTHER_SUMS},
};

/* --- padding ------------------------------------------------------------------------------------------------------ */

/* Of models whose embedding has a row for padding, and of those whose embedding has none. */
static const row padded[] = {{"pad_token_id", .kind = AS, "pad_token_id", .nullable = true}};
static const row unpadded[] = {{"pad_token_id", .kind = IDLE}};

/* --- bert --------------------------------------------------------------------------------------------------------- */

static const row bert[] = {
    {"hidden_size", .kind = AS, "hidden_size", "768"},
    {"num_hidden_layers", .kind = AS, "num_hidden_layers", "12"},
    {"num_attention_heads", .kind = AS, "num_heads", "12"},
    {"intermediate_size", .kind = AS, "filter_size", "3072"},
    {"max_position_embeddings", .kind = AS, "max_position_embeddings", "512"},
    {"hidden_act", .kind = WORD, "encoder_nonlinearity", "gelu", activations},
    {"hidden_act", .kind = WORD, "mlm_nonlinearity", "gelu", activations},
    {"hidden_dropout_prob", .kind = AS, "dropout_rate", "0.1"},
    {"attention_probs_dropout_prob", .kind = AS, "attention_dropout_rate", "0.1"},
    {"layer_norm_eps", .kind = AS, "layer_norm_epsilon", "1e-12"},
    {"type_vocab_size", .kind = AS, "num_segments", "2"},
    {"position_embedding_type", .kind = ONLY, "absolute", .why = OTHER_SUMS},
    {"tie_word_embeddings", .kind = AS, "share_embedding_weights", "true"},
    {"pad_token_id", .kind = AS, "pad_token_id", "0", .nullable = true},
    {"pooler_*", .kind = IDLE},
};

/* --- the table of types ------------------------------------------------------------------------------------------- */

typedef struct setting {
    const char *key, *value; /* a NULL ends the list */
} setting;

/* Rows that a type has; NULL ends the tables of a type. */
typedef struct rows {
    const row *first;
    size_t count;
} rows;

#define ROWS(table)                                                                                                    \
    { (table), sizeof(table) / sizeof *(table) }

typedef struct type {
    const char *model_type;
    const char *name;     /* of Firn's model */
    rows tables[5];       /* tried in this order */
    setting fixed[2];     /* keys of the model that follow from the type alone */
    const char *heads[4]; /* the ends of class names in `architectures` whose weights Firn's model has; NULL ends */
    const char *kv_heads; /* num_key_value_heads of a file without it; NULL: as many as num_attention_heads */
    const char *window;   /* sliding_window of a file without it, how far back every token sees; NULL: all the way */
} type;

#define CAUSAL                                                                                                         \
    { "ForCausalLM", "LMHeadModel", "Model" }

static const type types[] = {
    {"gpt2", "gpt2", {ROWS(gpt2), ROWS(unpadded), ROWS(common)}, .heads = CAUSAL},
    {"gptj", "gptj", {ROWS(gptj), ROWS(unpadded), ROWS(common)}, .heads = CAUSAL},
    {"gpt_neox", "gpt-neox", {ROWS(gpt_neox), ROWS(rotary), ROWS(unpadded), ROWS(common)}, .heads = CAUSAL},
    {"llama", "llama", {ROWS(llama), ROWS(grouped), ROWS(rotary), ROWS(padded), ROWS(common)}, .heads = CAUSAL},
    {"mistral",
     "llama",
     {ROWS(mistral), ROWS(grouped), ROWS(rotary), ROWS(padded), ROWS(common)},
     .heads = CAUSAL,
     .kv_heads = "8",
     .window = "4096"},
    {"qwen2",
     "llama",
     {ROWS(qwen2), ROWS(grouped), ROWS(rotary), ROWS(padded), ROWS(common)},
     .fixed = {{"use_projection_bias_in_attention", "true"}},
     .heads = CAUSAL,
     .kv_heads = "32"},
    {"stablelm",
     "llama",
     {ROWS(stablelm), ROWS(grouped), ROWS(rotary), ROWS(padded), ROWS(common)},
     .fixed = {{"norm_type", "layernorm"}},
     .heads = CAUSAL,
     .kv_heads = "32"},
    {"bert",
     "bert",
     {ROWS(bert), ROWS(common)},
     .fixed = {{"disable_nsp", "true"}},
     .heads = {"ForMaskedLM", "ForPreTraining", "Model"}},
};

/* The row after `previous`, or the first one for NULL; NULL after the last. */
static const row *next_row(const type *type, const row *previous) {
    bool passed = previous == NULL;
    for (size_t i = 0; i < COUNT(type->tables) && type->tables[i].first != NULL; i++)
        for (size_t j = 0; j < type->tables[i].count; j++) {
            if (passed)
                return &type->tables[i].first[j];
            passed = &type->tables[i].first[j] == previous;
        }
    return NULL;
}

static const char *type_names(void) {
    const char *text = types[0].model_type;
    for (size_t i = 1; i < COUNT(types); i++)
        text = firnc_format("%s, %s", text, types[i].model_type);
    return text;
}

static const type *find_type(const firnc_tree *config) {
    const firnc_tree *given = firnc_tree_child(config, "model_type");
    for (size_t i = 0; given != NULL && given->kind == FIRNC_SCALAR && i < COUNT(types); i++)
        if (strcmp(given->text, types[i].model_type) == 0)
            return &types[i];
    if (given == NULL)
        firnc_tree_fail(config, "model_type is missing; give a folder that save_pretrained has written");
    else
        firnc_tree_fail(given, "%s is none of the models that --hf reads, %s; " IN_ONNX,
                        given->kind == FIRNC_SCALAR ? firnc_printable(given->text) : "this", type_names());
    return NULL;
}

/* --- rows --------------------------------------------------------------------------------------------------------- */

static bool is_key(const row *row, const char *key) {
    const size_t length = strlen(row->key);
    return row->key[length - 1] == '*' ? strncmp(row->key, key, length - 1) == 0 : strcmp(row->key, key) == 0;
}

/* The value of a key; firnc_tree_child passes by a key that is null. NULL if the key is missing. */
static const firnc_tree *entry_of(const firnc_tree *mapping, const char *key) {
    const firnc_tree *child = mapping->first;
    while (child != NULL && strcmp(child->key, key) != 0)
        child = child->next;
    return child;
}

static bool is_written(const firnc_tree *node, const char *value) {
    if (node->kind != FIRNC_SCALAR)
        return false;
    char *end = NULL;
    const double number = strtod(node->text, &end), wanted = strtod(value, NULL);
    const bool numeric = node->plain && *end == '\0' && node->text[0] != '\0' && value[0] >= '0' && value[0] <= '9';
    return strcmp(node->text, value) == 0 || (numeric && number == wanted);
}

/* Whether a value is one that transformers takes for a whole number: 16.5, 16.0 and "16" are none. */
static bool is_whole(const firnc_tree *node) {
    return node->kind == FIRNC_SCALAR && node->plain && node->text[0] != '\0' &&
           node->text[strspn(node->text, "0123456789")] == '\0';
}

/* Whether a value is `wanted` and not a text that looks so: "false" in quotes is none of transformers' truth values. */
static bool is_only(const firnc_tree *node, const char *wanted) {
    const bool text =
        strcmp(wanted, "true") != 0 && strcmp(wanted, "false") != 0 && strtod(wanted, NULL) == 0 && wanted[0] != '0';
    return is_written(node, wanted) && (text || node->plain);
}

/* Puts a value at a key of the model, unless it is there and equal; another value is an error. */
static bool put(firnc_tree *model, const char *key, const firnc_tree *place, const char *text, bool plain) {
    firnc_tree *node = firnc_tree_make(FIRNC_SCALAR, place);
    node->text = text;
    node->plain = plain;
    const firnc_tree *there = firnc_tree_put(model, key, node);
    return there == node || is_written(there, text) ||
           firnc_tree_fail(place, "says %s, and %s says %s; remove one of the two", text, there->path, there->text);
}

/* A value for a message; a text that looks like a number or a truth value has its quotes. */
static const char *value_of(const firnc_tree *node) {
    if (node->kind != FIRNC_SCALAR)
        return "this";
    const bool quoted = !node->plain && (strcmp(node->text, "true") == 0 || strcmp(node->text, "false") == 0 ||
                                         (node->text[0] >= '0' && node->text[0] <= '9'));
    return firnc_format(quoted ? "\"%s\"" : "%s", firnc_printable(node->text));
}

static bool apply_word(firnc_tree *model, const row *row, const firnc_tree *node) {
    const char *known = "";
    for (const word *entry = row->words; entry->theirs != NULL; entry++) {
        if (is_written(node, entry->theirs))
            return put(model, row->to, node, entry->ours, true);
        known = firnc_format("%s%s%s", known, known[0] == '\0' ? "" : ", ", entry->theirs);
    }
    return firnc_tree_fail(node, "%s is none of %s, which Firn has here; " IN_ONNX, value_of(node), known);
}

static bool has_only(const firnc_tree *node, const char *value) {
    for (const firnc_tree *entry = node->first; entry != NULL; entry = entry->next)
        if (!is_written(entry, value))
            return false;
    return node->kind != FIRNC_SCALAR;
}

/* Applies a row to a value of config.json. */
static bool apply(firnc_tree *model, const row *row, const firnc_tree *node) {
    if (firnc_tree_is_null(node))
        return row->nullable || row->kind == IDLE || row->kind == EQUAL || row->kind == PASSED ||
               row->kind == REFUSED || firnc_tree_fail(node, "is null; write the value that the model has");
    switch (row->kind) {
    case AS:
        return node->kind == FIRNC_SCALAR ? put(model, row->to, node, node->text, node->plain)
                                          : firnc_tree_fail(node, "is no single value; give the file that "
                                                                  "save_pretrained wrote");
    case WORD:
        return apply_word(model, row, node);
    case ONLY:
        return is_only(node, row->to) ||
               firnc_tree_fail(node, "%s is refused, only %s is read: %s", value_of(node), row->to, row->why);
    case EQUAL:
        return has_only(node, row->to) ||
               firnc_tree_fail(node, "has other entries than %s: %s", row->to[0] == '\0' ? "none" : row->to, row->why);
    case REFUSED:
        return firnc_tree_fail(node, "is refused: %s", row->why);
    case WHOLE:
        return is_whole(node) ||
               firnc_tree_fail(node, "%s is no whole number; give the file that save_pretrained wrote", value_of(node));
    case IDLE:
    case PASSED: /* check_passed reads it, when the model has all its keys */
    default:
        return true;
    }
}

/* Applies every row for a key; false after one message, also if there is no row. */
static bool apply_rows(firnc_tree *model, const type *type, const char *key, const firnc_tree *node) {
    bool known = false;
    for (const row *row = next_row(type, NULL); row != NULL; row = next_row(type, row)) {
        if (!is_key(row, key))
            continue;
        known = true;
        if (!apply(model, row, node))
            return false;
    }
    return known || firnc_tree_fail(node,
                                    "is no key that firnc knows of model_type %s, and it may change what the model "
                                    "computes; remove it if it does not, or " IN_ONNX,
                                    type->model_type);
}

/* Whether a table has keys below this one. */
static bool is_nested(const type *type, const char *key) {
    const size_t length = strlen(key);
    for (const row *row = next_row(type, NULL); row != NULL; row = next_row(type, row))
        if (strncmp(row->key, key, length) == 0 && row->key[length] == '.')
            return true;
    return false;
}

static bool apply_file(firnc_tree *model, const type *type, const firnc_tree *config) {
    for (const firnc_tree *child = config->first; child != NULL; child = child->next) {
        const bool nested = is_nested(type, child->key);
        if (nested && firnc_tree_is_null(child))
            continue;
        if (nested && child->kind != FIRNC_MAPPING)
            return firnc_tree_fail(child, "is not a mapping; give the file that save_pretrained wrote");
        for (const firnc_tree *inner = nested ? child->first : NULL; inner != NULL; inner = inner->next)
            if (!apply_rows(model, type, firnc_format("%s.%s", child->key, inner->key), inner))
                return false;
        if (!nested && !apply_rows(model, type, child->key, child))
            return false;
    }
    return true;
}

/* Fills in what the file leaves out. */
static bool apply_defaults(firnc_tree *model, const type *type, const firnc_tree *config) {
    for (const row *row = next_row(type, NULL); row != NULL; row = next_row(type, row)) {
        if (row->missing == NULL || entry_of(config, row->key) != NULL || firnc_tree_child(model, row->to) != NULL)
            continue;
        firnc_tree *given = firnc_tree_make(FIRNC_SCALAR, config);
        given->text = row->missing;
        given->plain = true;
        if (!apply(model, row, given))
            return false;
    }
    for (size_t i = 0; i < COUNT(type->fixed) && type->fixed[i].key != NULL; i++)
        if (!put(model, type->fixed[i].key, config, type->fixed[i].value, true))
            return false;
    return true;
}

/* --- what depends on two keys ------------------------------------------------------------------------------------- */

/* Refuses a key that transformers passes by, unless the model has its value anyway: older releases wrote some beside
 * the key that counts. */
static bool check_passed(const firnc_tree *config, const type *type, const firnc_tree *model) {
    for (const row *row = next_row(type, NULL); row != NULL; row = next_row(type, row)) {
        const firnc_tree *given = row->kind == PASSED ? firnc_tree_child(config, row->key) : NULL;
        if (given == NULL)
            continue;
        const firnc_tree *used = firnc_tree_child(model, row->to);
        if (!given->plain || !is_written(given, used->text))
            return firnc_tree_fail(given,
                                   "says %s, and transformers passes this key of a %s by and computes with %s; remove "
                                   "it, or write %s in its place",
                                   value_of(given), type->model_type, used->text, row->why);
    }
    return true;
}

/* transformers reads rope_scaling, the older name, and nothing of rope_parameters where both have keys. */
static bool check_one_rope(const firnc_tree *config) {
    const firnc_tree *older = firnc_tree_child(config, "rope_scaling");
    const firnc_tree *newer = firnc_tree_child(config, "rope_parameters");
    return older == NULL || newer == NULL || older->first == NULL || newer->first == NULL ||
           firnc_tree_fail(newer, "transformers passes it by, as rope_scaling is there, too; remove one of the two");
}

static double number_at(const firnc_tree *mapping, const char *key) {
    const firnc_tree *node = firnc_tree_child(mapping, key);
    return node == NULL || node->kind != FIRNC_SCALAR ? 0 : strtod(node->text, NULL);
}

/* Refuses a head_dim that is not hidden_size / heads, the size of a head in Firn. */
static bool check_head_size(const firnc_tree *config, const firnc_tree *model) {
    const firnc_tree *given = firnc_tree_child(config, "head_dim");
    const double heads = number_at(model, "num_heads"), size = number_at(model, "hidden_size");
    return given == NULL || number_at(config, "head_dim") * heads == size ||
           firnc_tree_fail(given, "is %s, and hidden_size %.0f among %.0f heads is another number: %s", value_of(given),
                           size, heads, OTHER_SUMS);
}

/* Writes a share of a head that is no whole number of elements as the number that transformers rounds it down to. An
 * odd number is refused: transformers turns one element more, by angles that no even number has. */
static bool settle_share(firnc_tree *model) {
    const firnc_tree *share = firnc_tree_child(model, "rotary_pct");
    const double heads = number_at(model, "num_heads"), size = number_at(model, "hidden_size");
    if (share == NULL || heads < 1 || !share->plain)
        return true;
    const double head = floor(size / heads), exact = head * strtod(share->text, NULL);
    if (!(exact >= 0 && exact <= head)) /* the model's keys refuse it */
        return true;
    const unsigned turned = (unsigned)exact;
    if (turned % 2 != 0 || turned == 0)
        return firnc_tree_fail(
            share, "%s of a head of %.0f elements, %u, is no number of pairs, which Firn's model turns; " IN_ONNX,
            share->text, head, turned);
    if (exact == turned)
        return true;
    firnc_tree *elements = firnc_tree_make(FIRNC_SCALAR, share);
    elements->text = firnc_format("%u", turned);
    elements->plain = true;
    (void)firnc_tree_take(model, "rotary_pct");
    return firnc_tree_put(model, "rotary_dim", elements) == elements;
}

/* Fewer heads of keys and values than of queries are groups. */
static bool add_groups(const type *type, const firnc_tree *config, firnc_tree *model) {
    const firnc_tree *given = entry_of(config, "num_key_value_heads");
    const firnc_tree *place = given != NULL ? given : config;
    const double all = number_at(model, "num_heads");
    const char *heads = type->kv_heads;
    if (given != NULL)
        heads = firnc_tree_is_null(given) ? NULL : given->text;
    if (heads == NULL || strtod(heads, NULL) == all)
        return true;
    if (given == NULL && fmod(all, strtod(heads, NULL)) != 0)
        return firnc_tree_fail(config,
                               "num_key_value_heads is missing, and %s, which transformers takes then, does not divide "
                               "%.0f heads; write it",
                               heads, all);
    firnc_tree *more = firnc_tree_make(FIRNC_MAPPING, place);
    return put(model, "attention_module", place, "multiquery_attention", true) &&
           put(more, "num_kv_groups", place, heads, true) &&
           firnc_tree_put(model, "extra_attention_params", more) == more;
}

/* Without a size of its own the feed-forward part has four times that of the model, in transformers as in Firn. */
static bool fill_filter_size(firnc_tree *model) {
    return firnc_tree_child(model, "filter_size") != NULL ||
           put(model, "filter_size", firnc_tree_child(model, "hidden_size"),
               firnc_format("%.0f", 4 * number_at(model, "hidden_size")), true);
}

/* Limits sequences to the window, in which attention sees every token before. Longer sequences would need the window.
 */
static void limit_sequence(const type *type, const firnc_tree *config, firnc_tree *model) {
    const firnc_tree *given = entry_of(config, "sliding_window");
    const char *window = given != NULL ? given->text : type->window;
    if (window == NULL || (given != NULL && firnc_tree_is_null(given)) ||
        strtod(window, NULL) >= number_at(model, "max_position_embeddings"))
        return;
    firnc_tree *length = firnc_tree_make(FIRNC_SCALAR, given != NULL ? given : config);
    length->text = window;
    length->plain = true;
    (void)firnc_tree_take(model, "max_position_embeddings");
    (void)firnc_tree_put(model, "max_position_embeddings", length);
}

/* `architectures` names the class whose weights the folder has. */
static bool check_head(const type *type, const firnc_tree *config) {
    const firnc_tree *list = firnc_tree_child(config, "architectures");
    for (const firnc_tree *entry = list != NULL && list->kind == FIRNC_LIST ? list->first : NULL; entry != NULL;
         entry = entry->next) {
        bool known = false;
        for (size_t i = 0; i < COUNT(type->heads) && type->heads[i] != NULL; i++)
            known = known || (entry->kind == FIRNC_SCALAR && firnc_text_ends(entry->text, type->heads[i]));
        if (!known || strstr(entry->text, "DoubleHeads") != NULL)
            return firnc_tree_fail(entry, "%s has another head than Firn's %s, which is a language model; " IN_ONNX,
                                   value_of(entry), type->name);
    }
    return true;
}

/* Whether a folder has this name. A link that leads nowhere is there, and the message about it comes from reading it.
 */
static bool has_name(const char *name) {
    struct stat status;
    return lstat(name, &status) == 0;
}

firnc_tree *firnc_hugging_face_model(const char *folder) {
    const char *file = firnc_format("%s/config.json", folder);
    if (access(folder, F_OK) == 0 && !has_name(file)) {
        firnc_say("firnc: %s: has no config.json; give a folder that transformers' save_pretrained has written",
                  folder);
        return NULL;
    }
    firnc_tree *config = firnc_tree_read(file, "the configuration of a model", "save_pretrained writes one, in { }");
    const type *type = config == NULL ? NULL : find_type(config);
    if (type == NULL || !check_head(type, config))
        return NULL;
    firnc_tree *model = firnc_tree_make(FIRNC_MAPPING, config);
    if (!put(model, "name", config, type->name, true) || !apply_file(model, type, config) ||
        !apply_defaults(model, type, config) || !fill_filter_size(model) || !check_one_rope(config) ||
        !check_passed(config, type, model) || !check_head_size(config, model) || !settle_share(model) ||
        !add_groups(type, config, model))
        return NULL;
    if (type->window != NULL)
        limit_sequence(type, config, model);
    return model;
}

/* --- with a recipe ------------------------------------------------------------------------------------------------ */

/* Whether a key of config.json gives way to the recipe: rates of dropout and initial values say how a model is trained,
 * not what it is. */
static bool yields(const firnc_tree *recipe_model, const char *key) {
    const bool part = strcmp(key, "residual_dropout_rate") == 0 || strcmp(key, "embedding_dropout_rate") == 0;
    if (part && firnc_tree_child(recipe_model, "dropout_rate") != NULL)
        return true;
    return firnc_tree_child(recipe_model, key) != NULL &&
           (firnc_text_ends(key, "dropout_rate") || strcmp(key, "initializer_range") == 0);
}

/* Refuses the recipe's key for how much of a head is turned if config.json says it by the other. */
static bool check_share(const firnc_tree *recipe_model, const firnc_tree *config_model) {
    static const char *const keys[] = {"rotary_dim", "rotary_pct"};
    for (size_t i = 0; i < COUNT(keys); i++) {
        const firnc_tree *said = firnc_tree_child(recipe_model, keys[i]);
        const firnc_tree *there = firnc_tree_child(config_model, keys[1 - i]);
        if (said != NULL && there != NULL)
            return firnc_tree_fail(said,
                                   "%s:%u says how much of a head is rotated, and --hf takes the model from there; "
                                   "remove this key",
                                   there->file, (unsigned)there->line);
    }
    return true;
}

bool firnc_hugging_face_merge(firnc_tree *recipe_model, firnc_tree *config_model) {
    const firnc_tree *first = NULL, *first_source = NULL;
    const char *others = "";
    if (!check_share(recipe_model, config_model))
        return false;
    for (firnc_tree *child = config_model->first, *next; child != NULL; child = next) {
        next = child->next;
        child->next = NULL;
        if (yields(recipe_model, child->key))
            continue;
        const firnc_tree *said = firnc_tree_child(recipe_model, child->key);
        if (said == NULL)
            firnc_tree_take(recipe_model, child->key); /* it may be there as null */
        const firnc_tree *there = firnc_tree_put(recipe_model, child->key, child);
        if (there == child ||
            (child->kind == FIRNC_SCALAR ? is_written(there, child->text) : firnc_tree_same(there, child)))
            continue;
        if (first != NULL) {
            others = firnc_format("%s%s%s", others, others[0] == '\0' ? ", also of " : ", ", child->key);
            continue;
        }
        first = there;
        first_source = child;
    }
    config_model->first = NULL;
    return first == NULL ||
           firnc_tree_fail(first, "%s:%u says otherwise%s, and --hf takes the model from there; remove %s",
                           first_source->file, (unsigned)first_source->line, others,
                           others[0] == '\0' ? "this key" : "these keys, or the whole part model");
}

const char *firnc_hugging_face_weights(const char *folder, const char *instead) {
    static const char *const names[] = {"model.safetensors", "model.safetensors.index.json"};
    for (size_t i = 0; i < COUNT(names); i++) {
        const char *name = firnc_format("%s/%s", folder, names[i]);
        if (has_name(name))
            return name;
    }
    firnc_say("firnc: %s: has neither model.safetensors nor model.safetensors.index.json; save the model again with a "
              "release of transformers that writes them, or give the values with %s",
              folder, instead);
    return NULL;
}
