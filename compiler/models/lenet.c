/* LeNet-5 for images of any size: two convolutions of 5 x 5, each with an activation and a pool of 2 x 2, then three
 * dense layers and cross-entropy. Parameters have the names and initial distributions of a PyTorch module with conv1,
 * conv2, fc1, fc2 and fc3. Images are [N,H,W,C], so the weights of conv1 and conv2 are [O,5,5,C]; fc1 is a convolution
 * of the whole image, with PyTorch's [O,C*H*W] as [O,H,W,C]. */
#include "compiler/models/lenet.h"

#include "plan/shapes/windows.h"

enum { KERNEL = 5, HALF_KERNEL = 2, POOL = 2 };

/* The smallest image of which something is left for fc1. */
enum { SMALLEST = 2 * (POOL + KERNEL - 1) };

/* --- keys --------------------------------------------------------------------------------------------------------- */

static const firnc_choice pools[] = {{"max", 0}, {"average", 1}, {NULL, 0}};

#define AT(member) offsetof(firnc_lenet, member)

static const firnc_field fields[] = {
    {"image_height", .kind = FIRNC_FIELD_WHOLE, AT(height), SMALLEST, FIRN_PAIR_MAX, .required = true},
    {"image_width", .kind = FIRNC_FIELD_WHOLE, AT(width), SMALLEST, FIRN_PAIR_MAX, .required = true},
    {"image_channels", .kind = FIRNC_FIELD_WHOLE, AT(channels), 1, FIRN_PAIR_MAX},
    {"filters", .kind = FIRNC_FIELD_ENTRIES},
    {"hidden_sizes", .kind = FIRNC_FIELD_ENTRIES},
    {"output_size", .kind = FIRNC_FIELD_WHOLE, AT(output_size), 2, FIRNC_MODEL_SIZE_MAX, .required = true},
    {"nonlinearity", .kind = FIRNC_FIELD_CHOICE, AT(activation), .choices = firnc_activation_words},
    {"pooling", .kind = FIRNC_FIELD_CHOICE, AT(average), .choices = pools},
    {"loss_scaling", .kind = FIRNC_FIELD_CHOICE, AT(loss_scaling), .choices = firnc_loss_scaling_words},
    {"loss_weight", .kind = FIRNC_FIELD_SINGLE, AT(cross_entropy.loss_weight), 0, 1e30, .above_low = true},
    {"label_smoothing", .kind = FIRNC_FIELD_SINGLE, AT(cross_entropy.label_smoothing), 0, 1, .below_high = true},
    {"ignore_index", .kind = FIRNC_FIELD_OTHER},
    {"sample_weights", .kind = FIRNC_FIELD_FLAG, AT(sample_weights)},
};

#undef AT

static const firnc_lenet defaults = {.channels = 1,
                                     .filters = {6, 16},
                                     .hidden_sizes = {120, 84},
                                     .activation = FIRNC_RELU,
                                     .cross_entropy = {.loss_weight = 1}};

/* Reads two sizes; without the key they stay. */
static bool read_two(const firnc_tree *keys, const char *key, uint32_t sizes[2]) {
    static const firnc_field size = {.kind = FIRNC_FIELD_WHOLE, .low = 1, .high = FIRNC_MODEL_SIZE_MAX};
    const firnc_tree *list = firnc_tree_child(keys, key);
    if (list == NULL)
        return true;
    uint32_t count = 0;
    for (const firnc_tree *entry = list->first; entry != NULL; entry = entry->next, count++) {
        uint64_t value;
        if (!firnc_field_whole(entry, &size, &value))
            return false;
        if (count < 2)
            sizes[count] = (uint32_t)value;
    }
    return count == 2 || firnc_tree_fail(list, "has %u sizes; write two, one for each layer", (unsigned)count);
}

static bool complete(const firnc_tree *keys, void *settings) {
    firnc_lenet *lenet = settings;
    return read_two(keys, "filters", lenet->filters) && read_two(keys, "hidden_sizes", lenet->hidden_sizes) &&
           firnc_complete_cross_entropy(keys, lenet->loss_scaling, lenet->output_size, &lenet->cross_entropy);
}

static firnc_model_facts facts(const void *model_settings) {
    static const char *const sizes[] = {"image_height", "image_width", "image_channels", "filters", "output_size",
                                        "hidden_sizes", NULL};
    const firnc_lenet *settings = model_settings;
    return (firnc_model_facts){.outputs = settings->output_size,
                               .targets = FIRNC_TARGETS_CLASSES,
                               .sample_weights = settings->sample_weights,
                               .metric = FIRNC_METRIC_ACCURACY,
                               .layers_key = "hidden_sizes",
                               .sizes = sizes};
}

/* --- the graph ---------------------------------------------------------------------------------------------------- */

static firnc_value convolve(firnc_graph *graph, const char *layer, firnc_value x, const uint32_t dims[4],
                            uint32_t padding) {
    const firnc_windows windows = {.before = {padding, padding}, .after = {padding, padding}};
    const firnc_layer_parameters p =
        firnc_uniform_parameters(graph, layer, 4, dims, (uint64_t)dims[1] * dims[2] * dims[3]);
    firnc_layer_begin(graph, layer);
    firnc_value y = firnc_conv(graph, x, p.weight, p.bias, 1, windows);
    firnc_layer_end(graph);
    return y;
}

static firnc_value activate(firnc_graph *graph, const firnc_lenet *settings, const char *layer, firnc_value x) {
    firnc_layer_begin(graph, layer);
    x = firnc_activate(graph, settings->activation, x);
    firnc_layer_end(graph);
    return x;
}

static firnc_value pool(firnc_graph *graph, const firnc_lenet *settings, const char *layer, firnc_value x) {
    static const uint32_t kernel[] = {POOL, POOL};
    const firnc_windows windows = {.stride = {POOL, POOL}};
    firnc_layer_begin(graph, layer);
    x = settings->average == 1 ? firnc_average_pool(graph, x, kernel, windows, false)
                               : firnc_max_pool(graph, x, kernel, windows);
    firnc_layer_end(graph);
    return x;
}

/* The extent of an image behind both convolutions and pools. */
static uint32_t left_of(uint32_t extent) {
    return (extent / POOL - (KERNEL - 1)) / POOL;
}

static firnc_value logits_of(firnc_graph *graph, const firnc_lenet *settings, firnc_value x) {
    const uint32_t *filters = settings->filters, *hidden = settings->hidden_sizes;
    x = convolve(graph, "conv1", x, (uint32_t[]){filters[0], KERNEL, KERNEL, settings->channels}, HALF_KERNEL);
    x = pool(graph, settings, "pool1", activate(graph, settings, "activation1", x));
    x = convolve(graph, "conv2", x, (uint32_t[]){filters[1], KERNEL, KERNEL, filters[0]}, 0);
    x = pool(graph, settings, "pool2", activate(graph, settings, "activation2", x));
    x = convolve(graph, "fc1", x,
                 (uint32_t[]){hidden[0], left_of(settings->height), left_of(settings->width), filters[1]}, 0);
    x = activate(graph, settings, "activation3", x);
    x = activate(graph, settings, "activation4", firnc_dense(graph, "fc2", x, hidden[0], hidden[1]));
    return firnc_dense(graph, "fc3", x, hidden[1], settings->output_size);
}

static void build(firnc_graph *graph, const firnc_job *job, const void *model_settings,
                  const firnc_elements *elements) {
    const firnc_lenet *settings = model_settings;
    const uint32_t samples = job->data.micro_batch_size;
    const firnc_input_options features = {.element = elements->feature,
                                          .scaled = true,
                                          .scale = elements->feature_scale,
                                          .shift = elements->feature_shift,
                                          .standard = elements->features};
    const firnc_input_options classes = {.stream = 1,
                                         .element = elements->label,
                                         .limit = firnc_label_limit(settings->cross_entropy, settings->output_size)};
    const firnc_input_options weight = {.stream = 2, .element = elements->weight};
    const uint32_t image[] = {samples, settings->height, settings->width, settings->channels};
    firnc_value logits = logits_of(graph, settings, firnc_input(graph, "features", FIRN_FLOAT32, 4, image, features));
    firnc_name_scores(graph, logits, FIRNC_TARGETS_CLASSES, job);
    if (!firnc_job_judges(job))
        return;

    firnc_layer_begin(graph, "loss");
    firnc_value labels = firnc_input(graph, "labels", FIRN_INT32, 1, &samples, classes);
    firnc_value weights =
        settings->sample_weights ? firnc_input(graph, "weights", FIRN_FLOAT32, 1, &samples, weight) : FIRNC_NONE;
    firnc_classify(graph, logits, labels, weights, settings->cross_entropy);
    firnc_layer_end(graph);
}

const firnc_model firnc_model_lenet = {.name = "lenet",
                                       .fields = fields,
                                       .field_count = sizeof fields / sizeof fields[0],
                                       .settings_bytes = sizeof(firnc_lenet),
                                       .defaults = &defaults,
                                       .complete = complete,
                                       .facts = facts,
                                       .build = build};
