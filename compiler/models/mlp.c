/* A multi-layer perceptron: dense layers with one activation between them, then the loss that the recipe names.
 * Parameters have the names and initial distributions of a PyTorch ModuleList `layers` of Linear. */
#include "compiler/models/mlp.h"

/* --- keys --------------------------------------------------------------------------------------------------------- */

#define AT(member) offsetof(firnc_mlp, member)

static const firnc_field fields[] = {
    {"input_size", .kind = FIRNC_FIELD_WHOLE, AT(input_size), 1, FIRNC_MODEL_SIZE_MAX, .required = true},
    {"hidden_sizes", .kind = FIRNC_FIELD_ENTRIES},
    {"output_size", .kind = FIRNC_FIELD_WHOLE, AT(output_size), 1, FIRNC_MODEL_SIZE_MAX, .required = true},
    {"nonlinearity", .kind = FIRNC_FIELD_CHOICE, AT(activation), .choices = firnc_activation_words},
    {"dropout_rate", .kind = FIRNC_FIELD_SINGLE, AT(dropout_rate), 0, 1, .below_high = true},
    FIRNC_LOSS_FIELDS(firnc_mlp, losses),
};

#undef AT

static const firnc_mlp defaults = {.activation = FIRNC_RELU, .losses = FIRNC_LOSSES_DEFAULT};

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
    if (firnc_loss_has_classes(&mlp->losses) && mlp->output_size < 2)
        return firnc_tree_fail(firnc_tree_child(keys, "output_size"),
                               "one class is nothing to tell apart; write at least 2, or loss: "
                               "binary_cross_entropy_with_logits or mean_squared_error");
    if (!firnc_loss_complete(keys, &mlp->losses, mlp->output_size) ||
        !read_hidden_sizes(firnc_tree_child(keys, "hidden_sizes"), mlp))
        return false;
    note_idle_keys(keys, mlp);
    return true;
}

static firnc_model_facts facts(const void *model_settings) {
    static const char *const sizes[] = {"input_size", "output_size", "hidden_sizes", NULL};
    const firnc_mlp *settings = model_settings;
    firnc_model_facts facts = firnc_loss_facts(&settings->losses, settings->output_size);
    facts.layers_key = "hidden_sizes";
    facts.sizes = sizes;
    return facts;
}

/* --- the graph ---------------------------------------------------------------------------------------------------- */

static void build(firnc_graph *graph, const firnc_job *job, const void *model_settings,
                  const firnc_elements *elements) {
    const firnc_mlp *settings = model_settings;
    uint32_t samples = job->data.micro_batch_size;
    const firnc_input_options features = {.element = elements->feature,
                                          .scaled = true,
                                          .scale = elements->feature_scale,
                                          .shift = elements->feature_shift,
                                          .standard = elements->features};
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
    const uint32_t scores[] = {samples, settings->output_size};
    firnc_name_scores(graph, firnc_loss_told(graph, elements, x, 2, scores), firnc_loss_targets(&settings->losses),
                      job);
    if (firnc_job_judges(job))
        firnc_loss_build(graph, &settings->losses, elements, x, 2, scores, NULL);
}

const firnc_model firnc_model_mlp = {.name = "mlp",
                                     .fields = fields,
                                     .field_count = sizeof fields / sizeof fields[0],
                                     .settings_bytes = sizeof(firnc_mlp),
                                     .defaults = &defaults,
                                     .complete = complete,
                                     .facts = facts,
                                     .build = build};
