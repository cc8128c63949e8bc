/* A multi-layer perceptron: dense layers with one activation between them, then the loss that the recipe names.
 * Parameters have the names and initial distributions of a PyTorch ModuleList `layers` of Linear. */
#include "compiler/models/mlp.h"

/* --- keys --------------------------------------------------------------------------------------------------------- */

static const firnc_choice losses[] = {{"cross_entropy", FIRNC_LOSS_CROSS_ENTROPY},
                                      {"mean_squared_error", FIRNC_LOSS_MEAN_SQUARED_ERROR},
                                      {"l1", FIRNC_LOSS_L1},
                                      {"huber", FIRNC_LOSS_HUBER},
                                      {"smooth_l1", FIRNC_LOSS_SMOOTH_L1},
                                      {"binary_cross_entropy_with_logits", FIRNC_LOSS_BINARY_CROSS_ENTROPY},
                                      {"nll", FIRNC_LOSS_NLL},
                                      {"kl_divergence", FIRNC_LOSS_KL_DIVERGENCE},
                                      {NULL, 0}};
static const firnc_choice reductions[] = {{"mean", 0}, {"batchmean", 1}, {NULL, 0}};

#define AT(member) offsetof(firnc_mlp, member)

static const firnc_field fields[] = {
    {"input_size", .kind = FIRNC_FIELD_WHOLE, AT(input_size), 1, FIRNC_MODEL_SIZE_MAX, .required = true},
    {"hidden_sizes", .kind = FIRNC_FIELD_ENTRIES},
    {"output_size", .kind = FIRNC_FIELD_WHOLE, AT(output_size), 1, FIRNC_MODEL_SIZE_MAX, .required = true},
    {"nonlinearity", .kind = FIRNC_FIELD_CHOICE, AT(activation), .choices = firnc_activation_words},
    {"dropout_rate", .kind = FIRNC_FIELD_SINGLE, AT(dropout_rate), 0, 1, .below_high = true},
    {"loss", .kind = FIRNC_FIELD_CHOICE, AT(loss), .choices = losses},
    {"loss_scaling", .kind = FIRNC_FIELD_CHOICE, AT(loss_scaling), .choices = firnc_loss_scaling_words},
    {"loss_weight", .kind = FIRNC_FIELD_SINGLE, AT(cross_entropy.loss_weight), 0, 1e30, .above_low = true},
    {"label_smoothing", .kind = FIRNC_FIELD_SINGLE, AT(cross_entropy.label_smoothing), 0, 1, .below_high = true},
    {"ignore_index", .kind = FIRNC_FIELD_WHOLE, AT(cross_entropy.ignore_index), 0, FIRNC_MODEL_SIZE_MAX},
    {"sample_weights", .kind = FIRNC_FIELD_FLAG, AT(sample_weights)},
    {"delta", .kind = FIRNC_FIELD_SINGLE, AT(huber_threshold), 0, 1e30, .above_low = true},
    {"beta", .kind = FIRNC_FIELD_SINGLE, AT(huber_threshold), 0, 1e30, .above_low = true},
    {"log_target", .kind = FIRNC_FIELD_FLAG, AT(log_target)},
    {"reduction", .kind = FIRNC_FIELD_CHOICE, AT(batch_mean), .choices = reductions},
};

#undef AT

static const firnc_mlp defaults = {.activation = FIRNC_RELU, .huber_threshold = 1, .cross_entropy = {.loss_weight = 1}};

/* True if the targets of a loss are class labels, false if they are numbers. */
static bool has_classes(firnc_loss_kind loss) {
    return loss == FIRNC_LOSS_CROSS_ENTROPY || loss == FIRNC_LOSS_NLL;
}

/* Refuses keys that belong to another loss. */
static bool check_loss_keys(const firnc_tree *keys, firnc_loss_kind loss) {
    static const struct {
        const char *key;
        firnc_loss_kind loss;
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
        const firnc_tree *key = firnc_tree_child(keys, owners[i].key);
        const firnc_choice *owner = losses;
        while (owner->value != (int)owners[i].loss)
            owner++;
        if (key != NULL && loss != owners[i].loss)
            return firnc_tree_fail(key, "belongs to loss: %s; remove it", owner->word);
    }
    return true;
}

static bool read_hidden_sizes(const firnc_tree *list, firnc_mlp *mlp) {
    static const firnc_field size = {.kind = FIRNC_FIELD_WHOLE, .low = 1, .high = FIRNC_MODEL_SIZE_MAX};
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

/* Notes the keys of hidden layers if there are none. */
static void note_idle_keys(const firnc_tree *keys, const firnc_mlp *mlp) {
    static const firnc_idle_key of_hidden_layers[] = {{"nonlinearity", "relu"}, {"dropout_rate", "0"}};
    if (mlp->hidden_count == 0)
        firnc_idle_note_keys(keys, of_hidden_layers, sizeof of_hidden_layers / sizeof of_hidden_layers[0],
                             firnc_tree_child(keys, "hidden_sizes"),
                             "there is no hidden layer; write hidden_sizes, or remove this key");
}

static bool complete(const firnc_tree *keys, void *settings) {
    firnc_mlp *mlp = settings;
    if (has_classes(mlp->loss) && mlp->output_size < 2)
        return firnc_tree_fail(firnc_tree_child(keys, "output_size"),
                               "one class is nothing to tell apart; write at least 2, or loss: "
                               "binary_cross_entropy_with_logits or mean_squared_error");
    if (!check_loss_keys(keys, mlp->loss) ||
        !firnc_complete_cross_entropy(keys, mlp->loss_scaling, mlp->output_size, &mlp->cross_entropy) ||
        !read_hidden_sizes(firnc_tree_child(keys, "hidden_sizes"), mlp))
        return false;
    note_idle_keys(keys, mlp);
    return true;
}

static firnc_targets targets_of(firnc_loss_kind loss) {
    if (has_classes(loss))
        return FIRNC_TARGETS_CLASSES;
    return loss == FIRNC_LOSS_BINARY_CROSS_ENTROPY ? FIRNC_TARGETS_SHARES : FIRNC_TARGETS_NUMBERS;
}

static firnc_model_facts facts(const void *model_settings) {
    static const char *const sizes[] = {"input_size", "output_size", "hidden_sizes", NULL};
    const firnc_mlp *settings = model_settings;
    const firnc_targets targets = targets_of(settings->loss);
    return (firnc_model_facts){.outputs = settings->output_size,
                               .targets = targets,
                               .comparable =
                                   targets == FIRNC_TARGETS_NUMBERS && settings->loss != FIRNC_LOSS_KL_DIVERGENCE,
                               .sample_weights = settings->sample_weights,
                               .metric = FIRNC_METRIC_ACCURACY,
                               .layers_key = "hidden_sizes",
                               .sizes = sizes};
}

/* --- the graph ---------------------------------------------------------------------------------------------------- */

/* Adds a loss whose targets are class labels. */
static void classify(firnc_graph *graph, const firnc_mlp *settings, const firnc_elements *elements, uint32_t samples,
                     firnc_value logits) {
    const firnc_input_options classes = {.stream = 1, .element = elements->label, .limit = settings->output_size};
    const firnc_input_options weight = {.stream = 2, .element = elements->weight};
    firnc_value labels = firnc_input(graph, "labels", FIRN_INT32, 1, &samples, classes);
    if (settings->loss == FIRNC_LOSS_NLL) {
        firnc_loss(graph, firnc_nll_loss(graph, firnc_log_softmax(graph, logits), labels));
        firnc_classification(graph, logits, labels);
        return;
    }
    firnc_value weights =
        settings->sample_weights ? firnc_input(graph, "weights", FIRN_FLOAT32, 1, &samples, weight) : FIRNC_NONE;
    firnc_classify(graph, logits, labels, weights, settings->cross_entropy);
}

/* Adds a loss whose targets are numbers. */
static void compare(firnc_graph *graph, const firnc_mlp *settings, const firnc_elements *elements, uint32_t samples,
                    firnc_value x) {
    const firnc_input_options numbers = {.stream = 1, .element = elements->label};
    firnc_value target =
        firnc_input(graph, "targets", FIRN_FLOAT32, 2, (uint32_t[]){samples, settings->output_size}, numbers);
    firnc_value loss;
    switch (settings->loss) {
    case FIRNC_LOSS_L1:
        loss = firnc_l1_loss(graph, x, target);
        break;
    case FIRNC_LOSS_HUBER:
        loss = firnc_huber_loss(graph, x, target, FIRNC_HUBER, settings->huber_threshold);
        break;
    case FIRNC_LOSS_SMOOTH_L1:
        loss = firnc_huber_loss(graph, x, target, FIRNC_HUBER_SMOOTH, settings->huber_threshold);
        break;
    case FIRNC_LOSS_BINARY_CROSS_ENTROPY:
        firnc_detection(graph, x, target);
        firnc_loss(graph, firnc_binary_cross_entropy(graph, x, target));
        return;
    case FIRNC_LOSS_KL_DIVERGENCE:
        firnc_loss(graph, firnc_kl_divergence(graph, firnc_log_softmax(graph, x), target, settings->log_target,
                                              settings->batch_mean == 1));
        return;
    default:
        loss = firnc_mean_squared_error(graph, x, target);
        break;
    }
    firnc_loss(graph, loss);
    firnc_regression(graph, x, target);
}

static void build(firnc_graph *graph, const firnc_job *job, const void *model_settings,
                  const firnc_elements *elements) {
    const firnc_mlp *settings = model_settings;
    uint32_t samples = job->data.micro_batch_size;
    const firnc_input_options features = {.element = elements->feature,
                                          .scaled = true,
                                          .scale = elements->feature_scale,
                                          .shift = elements->feature_shift};
    firnc_value x =
        firnc_input(graph, "features", FIRN_FLOAT32, 2, (uint32_t[]){samples, settings->input_size}, features);

    uint32_t in = settings->input_size;
    for (uint32_t i = 0; i < settings->hidden_count; i++) {
        x = firnc_dense(graph, firnc_format("layers.%u", (unsigned)i), x, in, settings->hidden_sizes[i]);
        firnc_layer_begin(graph, firnc_format("activations.%u", (unsigned)i));
        x = firnc_activate(graph, settings->activation, x);
        x = firnc_dropout(graph, x, settings->dropout_rate);
        firnc_layer_end(graph);
        in = settings->hidden_sizes[i];
    }
    x = firnc_dense(graph, firnc_format("layers.%u", (unsigned)settings->hidden_count), x, in, settings->output_size);
    firnc_name_scores(graph, x, targets_of(settings->loss), job);
    if (!firnc_job_judges(job))
        return;

    firnc_layer_begin(graph, "loss");
    if (has_classes(settings->loss))
        classify(graph, settings, elements, samples, x);
    else
        compare(graph, settings, elements, samples, x);
    firnc_layer_end(graph);
}

const firnc_model firnc_model_mlp = {.name = "mlp",
                                     .fields = fields,
                                     .field_count = sizeof fields / sizeof fields[0],
                                     .settings_bytes = sizeof(firnc_mlp),
                                     .defaults = &defaults,
                                     .complete = complete,
                                     .facts = facts,
                                     .build = build};
