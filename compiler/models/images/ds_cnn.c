/* The DS-CNN of MLPerf Tiny's keyword spotting, over a spectrogram: a convolution of 10 x 4, then four blocks that are
 * separable by channel, the mean over each channel and a dense layer. No dropout. Convolutions have no bias, because a
 * norm follows each: conv1, bn1, then blocks.N with the layers of firnc_add_separable_block, and fc. */
#include "compiler/models/images/images.h"

enum { BLOCKS = 4 };

static const firnc_images defaults = {.height = 49,
                                      .width = 10,
                                      .channels = 1,
                                      .filters = 64,
                                      .output_size = 12,
                                      .norm_epsilon = 1e-5f,
                                      .norm_momentum = 0.1f,
                                      .cross_entropy = {.loss_weight = 1}};

static firnc_value add_layers(firnc_graph *graph, firnc_image *image, const void *model_settings) {
    const firnc_images *settings = model_settings;
    const firnc_filter first = {.outputs = settings->filters, .rows = 10, .columns = 4, .stride = 2};
    firnc_add_convolution(graph, "conv1", image, first);
    firnc_add_norm(graph, "bn1", image, settings);
    firnc_add_relu(graph, "relu1", image);
    for (unsigned i = 0; i < BLOCKS; i++)
        firnc_add_separable_block(graph, firnc_format("blocks.%u", i), image, settings, settings->filters, 1);
    return firnc_classify_means(graph, image, settings);
}

static void build(firnc_graph *graph, const firnc_job *job, const void *settings, const firnc_elements *elements) {
    firnc_build_images(graph, job, settings, elements, add_layers);
}

const firnc_model firnc_model_ds_cnn = {.name = "ds_cnn",
                                        .fields = firnc_image_fields,
                                        .field_count = FIRNC_IMAGE_FIELDS,
                                        .settings_bytes = sizeof(firnc_images),
                                        .defaults = &defaults,
                                        .complete = firnc_complete_images,
                                        .facts = firnc_image_facts,
                                        .build = build,
                                        .weight_map = firnc_image_weights};
