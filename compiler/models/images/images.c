/* What convolutional classifiers share (compiler/models/images/images.h). Parameters have the names and initial
 * distributions of a PyTorch module, but for kernels. */
#include "compiler/models/images/images.h"

#include "plan/shapes/windows.h"
#include "runtime/numerics/numerics.h"

/* --- keys --------------------------------------------------------------------------------------------------------- */

#define AT(member) offsetof(firnc_images, member)

const firnc_field firnc_image_fields[FIRNC_IMAGE_FIELDS] = {
    {"image_height", .kind = FIRNC_FIELD_WHOLE, AT(height), 1, FIRN_PAIR_MAX},
    {"image_width", .kind = FIRNC_FIELD_WHOLE, AT(width), 1, FIRN_PAIR_MAX},
    {"image_channels", .kind = FIRNC_FIELD_WHOLE, AT(channels), 1, FIRN_PAIR_MAX},
    {"filters", .kind = FIRNC_FIELD_WHOLE, AT(filters), 1, FIRN_PAIR_MAX},
    {"output_size", .kind = FIRNC_FIELD_WHOLE, AT(output_size), 2, FIRNC_MODEL_SIZE_MAX},
    {"batch_norm_epsilon", .kind = FIRNC_FIELD_SINGLE, AT(norm_epsilon), 0, 1, .above_low = true},
    {"batch_norm_momentum", .kind = FIRNC_FIELD_SINGLE, AT(norm_momentum), 0, 1},
    {"loss_scaling", .kind = FIRNC_FIELD_CHOICE, AT(loss_scaling), .choices = firnc_loss_scaling_words},
    {"loss_weight", .kind = FIRNC_FIELD_SINGLE, AT(cross_entropy.loss_weight), 0, 1e30, .above_low = true},
    {"label_smoothing", .kind = FIRNC_FIELD_SINGLE, AT(cross_entropy.label_smoothing), 0, 1, .below_high = true},
    {"ignore_index", .kind = FIRNC_FIELD_OTHER},
    {"sample_weights", .kind = FIRNC_FIELD_FLAG, AT(sample_weights)},
};

#undef AT

bool firnc_complete_images(const firnc_tree *keys, void *settings) {
    firnc_images *images = settings;
    return firnc_complete_cross_entropy(keys, images->loss_scaling, images->output_size, &images->cross_entropy);
}

firnc_model_facts firnc_image_facts(const void *settings) {
    static const char *const sizes[] = {"image_height", "image_width", "image_channels",
                                        "filters",      "output_size", NULL};
    const firnc_images *images = settings;
    return (firnc_model_facts){.outputs = images->output_size,
                               .targets = FIRNC_TARGETS_CLASSES,
                               .sample_weights = images->sample_weights,
                               .metric = FIRNC_METRIC_ACCURACY,
                               .layers_key = "filters",
                               .sizes = sizes};
}

firnc_weight_map firnc_image_weights(const void *settings) {
    static const firnc_weight_rule rules[] = {
        {.parameter = "*.kernel", .tensors = {"*.weight"}, .order = {0, 2, 3, 1}, .order_count = 4},
        {.parameter = "*", .tensors = {"*"}},
        {.kind = FIRNC_WEIGHT_IGNORED, .tensors = {"*.num_batches_tracked"}},
    };
    (void)settings;
    return (firnc_weight_map){rules, sizeof rules / sizeof rules[0]};
}

/* --- layers ------------------------------------------------------------------------------------------------------- */

/* Sets the padding of one axis, and returns its positions. */
static uint32_t pad(firnc_windows *windows, int axis, uint32_t extent, uint32_t kernel, uint32_t stride) {
    const uint32_t positions = (extent + stride - 1) / stride, reach = (positions - 1) * stride + kernel;
    const uint32_t padding = reach > extent ? reach - extent : 0;
    windows->stride[axis] = stride;
    windows->before[axis] = padding / 2;
    windows->after[axis] = padding - padding / 2;
    return positions;
}

void firnc_add_convolution(firnc_graph *graph, const char *layer, firnc_image *image, firnc_filter filter) {
    const uint32_t depth = filter.by_channel ? 1 : image->channels;
    const uint32_t dims[] = {filter.outputs, filter.rows, filter.columns, depth};
    const float bound = 1 / firn_sqrt((float)((uint64_t)filter.rows * filter.columns * depth));
    const firnc_init init = {.rule = FIRNC_INIT_UNIFORM, .a = -bound, .b = bound};
    firnc_windows windows = {0};
    image->height = pad(&windows, FIRN_ROWS, image->height, filter.rows, filter.stride);
    image->width = pad(&windows, FIRN_COLUMNS, image->width, filter.columns, filter.stride);
    firnc_value kernel = firnc_parameter(graph, firnc_format("%s.kernel", layer), 4, dims, init, true);
    firnc_value bias =
        filter.bias ? firnc_parameter(graph, firnc_format("%s.bias", layer), 1, dims, init, false) : FIRNC_NONE;
    firnc_layer_begin(graph, layer);
    image->x = firnc_conv(graph, image->x, kernel, bias, filter.by_channel ? image->channels : 1, windows);
    firnc_layer_end(graph);
    image->channels = filter.outputs;
}

void firnc_add_norm(firnc_graph *graph, const char *layer, firnc_image *image, const firnc_images *settings) {
    image->x =
        firnc_batch_norm_of(graph, layer, image->x, image->channels, settings->norm_epsilon, settings->norm_momentum);
}

void firnc_add_relu(firnc_graph *graph, const char *layer, firnc_image *image) {
    firnc_layer_begin(graph, layer);
    image->x = firnc_relu(graph, image->x);
    firnc_layer_end(graph);
}

void firnc_add_separable_block(firnc_graph *graph, const char *layer, firnc_image *image, const firnc_images *settings,
                               uint32_t outputs, uint32_t stride) {
    const firnc_filter depthwise = {
        .outputs = image->channels, .rows = 3, .columns = 3, .stride = stride, .by_channel = true};
    const firnc_filter pointwise = {.outputs = outputs, .rows = 1, .columns = 1, .stride = 1};
    firnc_add_convolution(graph, firnc_format("%s.depthwise", layer), image, depthwise);
    firnc_add_norm(graph, firnc_format("%s.bn1", layer), image, settings);
    firnc_add_relu(graph, firnc_format("%s.relu1", layer), image);
    firnc_add_convolution(graph, firnc_format("%s.pointwise", layer), image, pointwise);
    firnc_add_norm(graph, firnc_format("%s.bn2", layer), image, settings);
    firnc_add_relu(graph, firnc_format("%s.relu2", layer), image);
}

/* --- the graph ---------------------------------------------------------------------------------------------------- */

firnc_value firnc_classify_means(firnc_graph *graph, const firnc_image *image, const firnc_images *settings) {
    firnc_layer_begin(graph, "pool");
    firnc_value means =
        firnc_average_pool(graph, image->x, (uint32_t[]){image->height, image->width}, (firnc_windows){0}, false);
    firnc_layer_end(graph);
    return firnc_dense(graph, "fc", means, image->channels, settings->output_size);
}

void firnc_build_images(firnc_graph *graph, const firnc_job *job, const void *model_settings,
                        const firnc_elements *elements, firnc_image_layers layers) {
    const firnc_images *settings = model_settings;
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
    const uint32_t dims[] = {samples, settings->height, settings->width, settings->channels};
    firnc_image image = {.x = firnc_input(graph, "features", FIRN_FLOAT32, 4, dims, features),
                         .samples = samples,
                         .height = settings->height,
                         .width = settings->width,
                         .channels = settings->channels};
    firnc_value logits = layers(graph, &image, settings);
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
