/* The autoencoder of MLPerf Tiny's anomaly detection: dense layers down to a short code and up again, each but the last
 * with a batch norm and a relu, and the mean squared error of its own input. Dense layers before a norm have no bias.
 * Names are those of two PyTorch ModuleLists: layers.N of Linear and norms.N of BatchNorm1d. */
#include "compiler/models/autoencoder.h"

#include "compiler/models/parts.h"
#include "runtime/numerics/numerics.h"

/* trainer.init.model with name: autoencoder */
typedef struct autoencoder {
    firnc_model_settings common;
    uint32_t input_size, hidden_size, code_size;
    uint32_t hidden_layers; /* on each side of the code */
    float norm_epsilon, norm_momentum;
} autoencoder;

enum { HIDDEN_LAYERS_MAX = 64 };

/* --- keys --------------------------------------------------------------------------------------------------------- */

#define AT(member) offsetof(autoencoder, member)

static const firnc_field fields[] = {
    {"input_size", .kind = FIRNC_FIELD_WHOLE, AT(input_size), 1, FIRNC_MODEL_SIZE_MAX},
    {"hidden_size", .kind = FIRNC_FIELD_WHOLE, AT(hidden_size), 1, FIRNC_MODEL_SIZE_MAX},
    {"code_size", .kind = FIRNC_FIELD_WHOLE, AT(code_size), 1, FIRNC_MODEL_SIZE_MAX},
    {"num_hidden_layers", .kind = FIRNC_FIELD_WHOLE, AT(hidden_layers), 0, HIDDEN_LAYERS_MAX},
    {"batch_norm_epsilon", .kind = FIRNC_FIELD_SINGLE, AT(norm_epsilon), 0, 1, .above_low = true},
    {"batch_norm_momentum", .kind = FIRNC_FIELD_SINGLE, AT(norm_momentum), 0, 1},
};

#undef AT

static const autoencoder defaults = {.input_size = 640,
                                     .hidden_size = 128,
                                     .code_size = 8,
                                     .hidden_layers = 4,
                                     .norm_epsilon = 1e-5f,
                                     .norm_momentum = 0.1f};

static bool complete(const firnc_tree *keys, void *settings) {
    (void)keys;
    (void)settings;
    return true;
}

static firnc_model_facts facts(const void *settings) {
    static const char *const sizes[] = {"input_size", "hidden_size", "code_size", NULL};
    const autoencoder *model = settings;
    return (firnc_model_facts){.outputs = model->input_size,
                               .targets = FIRNC_TARGETS_NUMBERS,
                               .comparable = true,
                               .own_targets = true,
                               .layers_key = "num_hidden_layers",
                               .sizes = sizes};
}

static firnc_weight_map weight_map(const void *settings) {
    static const firnc_weight_rule rules[] = {
        {.parameter = "*", .tensors = {"*"}},
        {.kind = FIRNC_WEIGHT_IGNORED, .tensors = {"*.num_batches_tracked"}},
    };
    (void)settings;
    return (firnc_weight_map){rules, sizeof rules / sizeof rules[0]};
}

/* --- the graph ---------------------------------------------------------------------------------------------------- */

static firnc_value add_hidden(firnc_graph *graph, const autoencoder *model, unsigned index, firnc_value x, uint32_t in,
                              uint32_t out) {
    const float bound = 1 / firn_sqrt((float)in);
    const firnc_init init = {.rule = FIRNC_INIT_UNIFORM, .a = -bound, .b = bound};
    const char *layer = firnc_format("layers.%u", index);
    firnc_value weight = firnc_parameter(graph, firnc_format("%s.weight", layer), 2, (uint32_t[]){out, in}, init, true);
    firnc_layer_begin(graph, layer);
    x = firnc_linear(graph, x, weight, FIRNC_NONE, FIRNC_OUT_IN);
    firnc_layer_end(graph);
    x = firnc_batch_norm_of(graph, firnc_format("norms.%u", index), x, out, model->norm_epsilon, model->norm_momentum);
    firnc_layer_begin(graph, firnc_format("activations.%u", index));
    x = firnc_relu(graph, x);
    firnc_layer_end(graph);
    return x;
}

static void build(firnc_graph *graph, const firnc_job *job, const void *settings, const firnc_elements *elements) {
    const autoencoder *model = settings;
    const firnc_input_options options = {.element = elements->feature,
                                         .scaled = true,
                                         .scale = elements->feature_scale,
                                         .shift = elements->feature_shift,
                                         .standard = elements->features};
    const firnc_value features = firnc_input(graph, "features", FIRN_FLOAT32, 2,
                                             (uint32_t[]){job->data.micro_batch_size, model->input_size}, options);
    const unsigned layers = 2 * model->hidden_layers + 1;
    firnc_value x = features;
    uint32_t in = model->input_size;
    for (unsigned i = 0; i < layers; i++) {
        const uint32_t out = i == model->hidden_layers ? model->code_size : model->hidden_size;
        x = add_hidden(graph, model, i, x, in, out);
        in = out;
    }
    x = firnc_dense(graph, firnc_format("layers.%u", layers), x, in, model->input_size);
    firnc_name_scores(graph, x, FIRNC_TARGETS_NUMBERS, job);
    if (!firnc_job_judges(job))
        return;

    firnc_layer_begin(graph, "loss");
    firnc_loss(graph, firnc_mean_squared_error(graph, x, features));
    firnc_regression(graph, x, features);
    firnc_layer_end(graph);
}

const firnc_model firnc_model_autoencoder = {.name = "autoencoder",
                                             .fields = fields,
                                             .field_count = sizeof fields / sizeof fields[0],
                                             .settings_bytes = sizeof(autoencoder),
                                             .defaults = &defaults,
                                             .complete = complete,
                                             .facts = facts,
                                             .build = build,
                                             .weight_map = weight_map};
