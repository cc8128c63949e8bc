/* trainer.init.model: the keys of the built-in architectures, with the model zoo's names and defaults. */
#include "compiler/recipe/recipe_parts.h"

/* Sizes are far above what a model has and far below what overflows a product of two. */
#define SIZE_MAX_OF_MODEL (1 << 24)

static const firnc_choice architectures[] = {{"gpt2", FIRNC_GPT2}, {"mlp", FIRNC_MLP}, {NULL, 0}};
static const firnc_choice activations[] = {
    {"gelu", FIRNC_GELU}, {"gelu_new", FIRNC_GELU_NEW}, {"relu", FIRNC_RELU}, {"sigmoid", FIRNC_SIGMOID},
    {"silu", FIRNC_SILU}, {"softplus", FIRNC_SOFTPLUS}, {"tanh", FIRNC_TANH}, {NULL, 0}};
static const firnc_choice positions[] = {
    {"learned", FIRNC_POSITIONS_LEARNED}, {"rotary", FIRNC_POSITIONS_ROTARY}, {NULL, 0}};
static const firnc_choice losses[] = {{"cross_entropy", FIRNC_LOSS_CROSS_ENTROPY},
                                      {"mean_squared_error", FIRNC_LOSS_MEAN_SQUARED_ERROR},
                                      {"l1", FIRNC_LOSS_L1},
                                      {"huber", FIRNC_LOSS_HUBER},
                                      {"smooth_l1", FIRNC_LOSS_SMOOTH_L1},
                                      {"binary_cross_entropy_with_logits", FIRNC_LOSS_BINARY_CROSS_ENTROPY},
                                      {"nll", FIRNC_LOSS_NLL},
                                      {"kl_divergence", FIRNC_LOSS_KL_DIVERGENCE},
                                      {NULL, 0}};
static const firnc_choice scalings[] = {{"num_tokens", 0}, {"batch_size", 1}, {NULL, 0}};
static const firnc_choice reductions[] = {{"mean", 0}, {"batchmean", 1}, {NULL, 0}};
static const firnc_choice flags[] = {{"true", 1}, {"True", 1}, {"false", 0}, {"False", 0}, {NULL, 0}};
static const firnc_choice halves[] = {
    {"float16", FIRN_FLOAT16}, {"bfloat16", FIRN_BFLOAT16}, {"cbfloat16", FIRN_CBFLOAT16}, {NULL, 0}};
/* use_bfloat16, as the first releases with bfloat16 had it */
static const firnc_choice half_flags[] = {
    {"true", FIRN_BFLOAT16}, {"True", FIRN_BFLOAT16}, {"false", FIRN_FLOAT16}, {"False", FIRN_FLOAT16}, {NULL, 0}};

/* A model as it stands in the recipe: what the recipe keeps, and what is only needed while it is read. */
typedef struct settings {
    int architecture;
    firnc_gpt2 gpt2;
    firnc_mlp mlp;
    int loss, loss_scaling, reduction;
    firnc_cross_entropy_options cross_entropy;
    bool compute_eval_metrics;
    firnc_model_precision said;
} settings;

#define GPT2(member)  offsetof(settings, gpt2.member)
#define MLP(member)   offsetof(settings, mlp.member)
#define OTHER(member) offsetof(settings, member)

static const firnc_field gpt2_fields[] = {
    {"name", .kind = FIRNC_FIELD_CHOICE, OTHER(architecture), .choices = architectures, .required = true},
    {"vocab_size", .kind = FIRNC_FIELD_WHOLE, GPT2(vocab_size), 2, SIZE_MAX_OF_MODEL, .required = true},
    {"hidden_size", .kind = FIRNC_FIELD_WHOLE, GPT2(hidden_size), 1, SIZE_MAX_OF_MODEL, .required = true},
    {"num_hidden_layers", .kind = FIRNC_FIELD_WHOLE, GPT2(num_hidden_layers), 1, 1000, .required = true},
    {"num_heads", .kind = FIRNC_FIELD_WHOLE, GPT2(num_heads), 1, SIZE_MAX_OF_MODEL, .required = true},
    {"filter_size", .kind = FIRNC_FIELD_WHOLE, GPT2(filter_size), 1, SIZE_MAX_OF_MODEL},
    {"max_position_embeddings", .kind = FIRNC_FIELD_WHOLE, GPT2(max_position_embeddings), 1, SIZE_MAX_OF_MODEL},
    {"nonlinearity", .kind = FIRNC_FIELD_CHOICE, GPT2(nonlinearity), .choices = activations},
    {"share_embedding_weights", .kind = FIRNC_FIELD_FLAG, GPT2(share_embedding_weights)},
    {"use_projection_bias_in_attention", .kind = FIRNC_FIELD_FLAG, GPT2(use_projection_bias_in_attention)},
    {"use_ffn_bias_in_attention", .kind = FIRNC_FIELD_FLAG, GPT2(use_ffn_bias_in_attention)},
    {"use_ffn_bias", .kind = FIRNC_FIELD_FLAG, GPT2(use_ffn_bias)},
    {"use_bias_in_output", .kind = FIRNC_FIELD_FLAG, GPT2(use_bias_in_output)},
    {"attention_softmax_fp32", .kind = FIRNC_FIELD_FLAG, GPT2(attention_softmax_fp32)},
    {"dropout_rate", .kind = FIRNC_FIELD_SINGLE, GPT2(dropout_rate), 0, 1, .below_high = true},
    {"attention_dropout_rate", .kind = FIRNC_FIELD_SINGLE, GPT2(attention_dropout_rate), 0, 1, .below_high = true},
    {"embedding_dropout_rate", .kind = FIRNC_FIELD_SINGLE, GPT2(embedding_dropout_rate), 0, 1, .below_high = true},
    {"layer_norm_epsilon", .kind = FIRNC_FIELD_SINGLE, GPT2(layer_norm_epsilon), 0, 1, .above_low = true},
    {"initializer_range", .kind = FIRNC_FIELD_SINGLE, GPT2(initializer_range), 0, 1000, .above_low = true},
    {"compute_eval_metrics", .kind = FIRNC_FIELD_FLAG, OTHER(compute_eval_metrics)},
    {"mixed_precision", .kind = FIRNC_FIELD_CHOICE, OTHER(said.mixed), .choices = flags},
    {"fp16_type", .kind = FIRNC_FIELD_CHOICE, OTHER(said.half), .choices = halves},
    {"use_bfloat16", .kind = FIRNC_FIELD_CHOICE, OTHER(said.half), .choices = half_flags},
    {"position_embedding_type", .kind = FIRNC_FIELD_CHOICE, GPT2(position_embedding), .choices = positions},
    {"rotary_dim", .kind = FIRNC_FIELD_WHOLE, GPT2(rotary_dim), 2, SIZE_MAX_OF_MODEL},
    {"rope_theta", .kind = FIRNC_FIELD_SINGLE, GPT2(rope_theta), 1, 1e30},
    {"attention_type", .kind = FIRNC_FIELD_FIXED, .only = "scaled_dot_product"},
    {"norm_type", .kind = FIRNC_FIELD_FIXED, .only = "layernorm"},
    {"loss_scaling", .kind = FIRNC_FIELD_CHOICE, OTHER(loss_scaling), .choices = scalings},
    {"loss_weight", .kind = FIRNC_FIELD_SINGLE, OTHER(cross_entropy.loss_weight), 0, 1e30, .above_low = true},
    {"label_smoothing", .kind = FIRNC_FIELD_SINGLE, OTHER(cross_entropy.label_smoothing), 0, 1, .below_high = true},
    {"ignore_index", .kind = FIRNC_FIELD_WHOLE, OTHER(cross_entropy.ignore_index), 0, SIZE_MAX_OF_MODEL},
    {"initializers", .kind = FIRNC_FIELD_REFUSED, .only = "use initializer_range, or give the values with --weights"},
};

static const firnc_field mlp_fields[] = {
    {"name", .kind = FIRNC_FIELD_CHOICE, OTHER(architecture), .choices = architectures, .required = true},
    {"input_size", .kind = FIRNC_FIELD_WHOLE, MLP(input_size), 1, SIZE_MAX_OF_MODEL, .required = true},
    {"hidden_sizes", .kind = FIRNC_FIELD_ENTRIES},
    {"output_size", .kind = FIRNC_FIELD_WHOLE, MLP(output_size), 1, SIZE_MAX_OF_MODEL, .required = true},
    {"nonlinearity", .kind = FIRNC_FIELD_CHOICE, MLP(activation), .choices = activations},
    {"dropout_rate", .kind = FIRNC_FIELD_SINGLE, MLP(dropout_rate), 0, 1, .below_high = true},
    {"loss", .kind = FIRNC_FIELD_CHOICE, OTHER(loss), .choices = losses},
    {"loss_scaling", .kind = FIRNC_FIELD_CHOICE, OTHER(loss_scaling), .choices = scalings},
    {"loss_weight", .kind = FIRNC_FIELD_SINGLE, OTHER(cross_entropy.loss_weight), 0, 1e30, .above_low = true},
    {"label_smoothing", .kind = FIRNC_FIELD_SINGLE, OTHER(cross_entropy.label_smoothing), 0, 1, .below_high = true},
    {"ignore_index", .kind = FIRNC_FIELD_WHOLE, OTHER(cross_entropy.ignore_index), 0, SIZE_MAX_OF_MODEL},
    {"sample_weights", .kind = FIRNC_FIELD_FLAG, MLP(sample_weights)},
    {"delta", .kind = FIRNC_FIELD_SINGLE, MLP(huber_threshold), 0, 1e30, .above_low = true},
    {"beta", .kind = FIRNC_FIELD_SINGLE, MLP(huber_threshold), 0, 1e30, .above_low = true},
    {"log_target", .kind = FIRNC_FIELD_FLAG, MLP(log_target)},
    {"reduction", .kind = FIRNC_FIELD_CHOICE, OTHER(reduction), .choices = reductions},
    {"compute_eval_metrics", .kind = FIRNC_FIELD_FLAG, OTHER(compute_eval_metrics)},
    {"mixed_precision", .kind = FIRNC_FIELD_CHOICE, OTHER(said.mixed), .choices = flags},
    {"fp16_type", .kind = FIRNC_FIELD_CHOICE, OTHER(said.half), .choices = halves},
    {"use_bfloat16", .kind = FIRNC_FIELD_CHOICE, OTHER(said.half), .choices = half_flags},
};

#undef GPT2
#undef MLP
#undef OTHER

static const firnc_gpt2 gpt2_defaults = {
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
};

/* What cross-entropy takes beside logits and labels. */
static bool read_cross_entropy(const firnc_tree *model, settings *s, uint32_t classes) {
    const firnc_tree *ignored = firnc_tree_child(model, "ignore_index");
    const firnc_tree *weight = firnc_tree_child(model, "loss_weight");
    s->cross_entropy.batch_size = s->loss_scaling == 1;
    s->cross_entropy.ignores = ignored != NULL;
    if (ignored != NULL && s->cross_entropy.ignore_index >= classes)
        return firnc_tree_fail(ignored,
                               "%u is not below the %u classes, and data with such a label is refused when it is read; "
                               "give the rows to be ignored a class of their own",
                               (unsigned)s->cross_entropy.ignore_index, (unsigned)classes);
    if (weight != NULL && !s->cross_entropy.batch_size && s->cross_entropy.loss_weight != 1)
        return firnc_tree_fail(weight, "has a meaning with loss_scaling: batch_size only; write 1.0 or remove it");
    return true;
}

/* A key that is given and that another loss has. */
static bool check_loss_keys(const firnc_tree *model, int loss) {
    static const struct {
        const char *key;
        int loss;
    } owners[] = {{"loss_scaling", FIRNC_LOSS_CROSS_ENTROPY},
                  {"loss_weight", FIRNC_LOSS_CROSS_ENTROPY},
                  {"label_smoothing", FIRNC_LOSS_CROSS_ENTROPY},
                  {"ignore_index", FIRNC_LOSS_CROSS_ENTROPY},
                  {"sample_weights", FIRNC_LOSS_CROSS_ENTROPY},
                  {"delta", FIRNC_LOSS_HUBER},
                  {"beta", FIRNC_LOSS_SMOOTH_L1},
                  {"log_target", FIRNC_LOSS_KL_DIVERGENCE},
                  {"reduction", FIRNC_LOSS_KL_DIVERGENCE}};
    for (size_t i = 0; i < sizeof owners / sizeof owners[0]; i++) {
        const firnc_tree *key = firnc_tree_child(model, owners[i].key);
        const firnc_choice *owner = losses;
        while (owner->value != owners[i].loss)
            owner++;
        if (key != NULL && loss != owners[i].loss)
            return firnc_tree_fail(key, "belongs to loss: %s; remove it", owner->word);
    }
    return true;
}

bool firnc_loss_has_classes(firnc_loss_kind loss) {
    return loss == FIRNC_LOSS_CROSS_ENTROPY || loss == FIRNC_LOSS_NLL;
}

/* Keys that rotary positions have and learned ones do not. */
static bool check_learned(const firnc_tree *model) {
    static const char *const keys[] = {"rotary_dim", "rope_theta"};
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        const firnc_tree *key = firnc_tree_child(model, keys[i]);
        if (key != NULL)
            return firnc_tree_fail(key, "belongs to position_embedding_type: rotary; write that too, or remove this");
    }
    return true;
}

/* rotary_dim: by default a quarter of a head, as in the model zoo. */
static bool read_rotary(const firnc_tree *model, firnc_gpt2 *gpt2) {
    const firnc_tree *given = firnc_tree_child(model, "rotary_dim");
    const uint32_t head_size = gpt2->hidden_size / gpt2->num_heads;
    if (given == NULL)
        gpt2->rotary_dim = head_size / 4;
    if (head_size < 2)
        return firnc_tree_fail(firnc_tree_child(model, "num_heads"),
                               "a head of 1 element has no pair that rotary positions could turn; choose fewer heads");
    if (gpt2->rotary_dim >= 2 && gpt2->rotary_dim % 2 == 0 && gpt2->rotary_dim <= head_size)
        return true;
    if (given == NULL)
        return firnc_tree_fail(firnc_tree_child(model, "position_embedding_type"),
                               "a quarter of a head of %u elements, %u, is no number of pairs; add rotary_dim, an even "
                               "number from 2 to %u",
                               (unsigned)head_size, (unsigned)gpt2->rotary_dim, (unsigned)head_size);
    return firnc_tree_fail(given, "%u is no even number from 2 to %u, the elements of a head; choose one",
                           (unsigned)gpt2->rotary_dim, (unsigned)head_size);
}

static bool read_gpt2(const firnc_tree *model, settings *s) {
    s->gpt2 = gpt2_defaults;
    if (!firnc_fields_read(model, gpt2_fields, sizeof gpt2_fields / sizeof gpt2_fields[0], s))
        return false;
    firnc_gpt2 *gpt2 = &s->gpt2;
    if (gpt2->hidden_size % gpt2->num_heads != 0)
        return firnc_tree_fail(firnc_tree_child(model, "num_heads"),
                               "hidden_size %u is not divisible by %u heads; choose a number of heads that divides it",
                               (unsigned)gpt2->hidden_size, (unsigned)gpt2->num_heads);
    if (gpt2->filter_size == 0)
        gpt2->filter_size = 4 * gpt2->hidden_size;
    if (!(gpt2->position_embedding == FIRNC_POSITIONS_ROTARY ? read_rotary(model, gpt2) : check_learned(model)))
        return false;
    if (gpt2->embedding_dropout_rate < 0)
        gpt2->embedding_dropout_rate = gpt2->dropout_rate;
    if (!read_cross_entropy(model, s, gpt2->vocab_size))
        return false;
    gpt2->loss = s->cross_entropy;
    return true;
}

static bool read_hidden_sizes(const firnc_tree *list, firnc_mlp *mlp) {
    static const firnc_field size = {.kind = FIRNC_FIELD_WHOLE, .low = 1, .high = SIZE_MAX_OF_MODEL};
    if (list == NULL)
        return true;
    for (const firnc_tree *entry = list->first; entry != NULL; entry = entry->next) {
        uint64_t value;
        if (mlp->hidden_count == FIRNC_LAYERS_MAX)
            return firnc_tree_fail(entry, "more than %d hidden layers; leave some out", FIRNC_LAYERS_MAX);
        if (!firnc_field_whole(entry, &size, &value))
            return false;
        mlp->hidden_sizes[mlp->hidden_count++] = (uint32_t)value;
    }
    return true;
}

static bool read_mlp(const firnc_tree *model, settings *s) {
    s->mlp.activation = FIRNC_RELU;
    s->mlp.huber_threshold = 1;
    if (!firnc_fields_read(model, mlp_fields, sizeof mlp_fields / sizeof mlp_fields[0], s))
        return false;
    s->mlp.loss = (firnc_loss_kind)s->loss;
    if (firnc_loss_has_classes(s->mlp.loss) && s->mlp.output_size < 2)
        return firnc_tree_fail(firnc_tree_child(model, "output_size"),
                               "one class is nothing to tell apart; write at least 2, or loss: "
                               "binary_cross_entropy_with_logits or mean_squared_error");
    if (!check_loss_keys(model, s->loss) || !read_cross_entropy(model, s, s->mlp.output_size))
        return false;
    s->mlp.cross_entropy = s->cross_entropy;
    s->mlp.batch_mean = s->reduction == 1;
    return read_hidden_sizes(firnc_tree_child(model, "hidden_sizes"), &s->mlp);
}

bool firnc_recipe_model(firnc_recipe *recipe, const firnc_tree *model, firnc_model_precision *said,
                        bool *compute_metrics) {
    const firnc_tree *name = firnc_tree_child(model, "name");
    if (name == NULL)
        return firnc_tree_fail(model, "name is missing; add one of %s", firnc_choices_text(architectures));
    int architecture;
    if (!firnc_field_choice(name, architectures, &architecture))
        return false;

    settings s = {.said = {.mixed = FIRNC_UNSET, .half = FIRNC_UNSET},
                  .cross_entropy = {.loss_weight = 1},
                  .compute_eval_metrics = true};
    if (!(architecture == FIRNC_GPT2 ? read_gpt2(model, &s) : read_mlp(model, &s)))
        return false;
    const firnc_tree *old = firnc_tree_child(model, "use_bfloat16");
    if (old != NULL && firnc_tree_child(model, "fp16_type") != NULL)
        return firnc_tree_fail(old, "fp16_type says which half type; remove this key");
    recipe->architecture = (firnc_architecture)architecture;
    recipe->model = model;
    recipe->gpt2 = s.gpt2;
    recipe->mlp = s.mlp;
    *said = s.said;
    *compute_metrics = s.compute_eval_metrics;
    return true;
}
