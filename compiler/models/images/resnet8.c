/* The ResNet-8 of MLPerf Tiny's image classification: a convolution, three stages of two convolutions around which the
 * image is added again, the mean over each channel and a dense layer. The second and the third stage halve the image
 * and double the filters; a convolution of 1 x 1 with bias, shortcut, does so with what is added. The other
 * convolutions have no bias, because a norm follows each: conv1, bn1, then stageN.conv1, .bn1, .conv2, .bn2, and fc. */
#include "compiler/models/images/images.h"

enum { STAGES = 3 };

static const firnc_images defaults = {.height = 32,
                                      .width = 32,
                                      .channels = 3,
                                      .filters = 16,
                                      .output_size = 10,
                                      .norm_epsilon = 1e-5f,
                                      .norm_momentum = 0.1f,
                                      .cross_entropy = {.loss_weight = 1}};

static firnc_filter square(uint32_t outputs, uint32_t stride) {
    return (firnc_filter){.outputs = outputs, .rows = 3, .columns = 3, .stride = stride};
}

static void add_stage(firnc_graph *graph, const char *layer, firnc_image *image, const firnc_images *settings,
                      uint32_t outputs, uint32_t stride) {
    firnc_image shortcut = *image;
    firnc_add_convolution(graph, firnc_format("%s.conv1", layer), image, square(outputs, stride));
    firnc_add_norm(graph, firnc_format("%s.bn1", layer), image, settings);
    firnc_add_relu(graph, firnc_format("%s.relu1", layer), image);
    firnc_add_convolution(graph, firnc_format("%s.conv2", layer), image, square(outputs, 1));
    firnc_add_norm(graph, firnc_format("%s.bn2", layer), image, settings);
    if (stride != 1)
        firnc_add_convolution(
            graph, firnc_format("%s.shortcut", layer), &shortcut,
            (firnc_filter){.outputs = outputs, .rows = 1, .columns = 1, .stride = stride, .bias = true});
    firnc_layer_begin(graph, firnc_format("%s.add", layer));
    image->x = firnc_add(graph, image->x, shortcut.x);
    firnc_layer_end(graph);
    firnc_add_relu(graph, firnc_format("%s.relu2", layer), image);
}

static firnc_value add_layers(firnc_graph *graph, firnc_image *image, const void *model_settings) {
    const firnc_images *settings = model_settings;
    firnc_add_convolution(graph, "conv1", image, square(settings->filters, 1));
    firnc_add_norm(graph, "bn1", image, settings);
    firnc_add_relu(graph, "relu1", image);
    for (unsigned i = 0; i < STAGES; i++)
        add_stage(graph, firnc_format("stage%u", i + 1), image, settings, settings->filters << i, i == 0 ? 1 : 2);
    return firnc_classify_means(graph, image, settings);
}

static void build(firnc_graph *graph, const firnc_job *job, const void *settings, const firnc_elements *elements) {
    firnc_build_images(graph, job, settings, elements, add_layers);
}

const firnc_model firnc_model_resnet8 = {.name = "resnet8",
                                         .fields = firnc_image_fields,
                                         .field_count = FIRNC_IMAGE_FIELDS,
                                         .settings_bytes = sizeof(firnc_images),
                                         .defaults = &defaults,
                                         .complete = firnc_complete_images,
                                         .facts = firnc_image_facts,
                                         .build = build,
                                         .weight_map = firnc_image_weights};
