/* MobileNetV1, as MLPerf Tiny has it for visual wake words with a quarter of the filters (8): a convolution of 3 x 3,
 * 13 blocks that are separable by channel, the mean over each channel and a dense layer. Convolutions have no bias,
 * because a norm follows each: conv1, bn1, then blocks.N with the layers of firnc_add_separable_block, and fc. */
#include "compiler/models/images/images.h"

/* Of each block: its outputs, in multiples of the filters of the first convolution, and its stride. */
static const struct {
    uint8_t factor, stride;
} blocks[] = {{2, 1},  {4, 2},  {4, 1},  {8, 2},  {8, 1},  {16, 2}, {16, 1},
              {16, 1}, {16, 1}, {16, 1}, {16, 1}, {32, 2}, {32, 1}};

static const firnc_images defaults = {.height = 96,
                                      .width = 96,
                                      .channels = 3,
                                      .filters = 8,
                                      .output_size = 2,
                                      .norm_epsilon = 1e-5f,
                                      .norm_momentum = 0.1f,
                                      .cross_entropy = {.loss_weight = 1}};

static firnc_value add_layers(firnc_graph *graph, firnc_image *image, const void *model_settings) {
    const firnc_images *settings = model_settings;
    const firnc_filter first = {.outputs = settings->filters, .rows = 3, .columns = 3, .stride = 2};
    firnc_add_convolution(graph, "conv1", image, first);
    firnc_add_norm(graph, "bn1", image, settings);
    firnc_add_relu(graph, "relu1", image);
    for (unsigned i = 0; i < sizeof blocks / sizeof blocks[0]; i++)
        firnc_add_separable_block(graph, firnc_format("blocks.%u", i), image, settings,
                                  blocks[i].factor * settings->filters, blocks[i].stride);
    return firnc_classify_means(graph, image, settings);
}

static void build(firnc_graph *graph, const firnc_job *job, const void *settings, const firnc_elements *elements) {
    firnc_build_images(graph, job, settings, elements, add_layers);
}

const firnc_model firnc_model_mobilenet = {.name = "mobilenet",
                                           .fields = firnc_image_fields,
                                           .field_count = FIRNC_IMAGE_FIELDS,
                                           .settings_bytes = sizeof(firnc_images),
                                           .defaults = &defaults,
                                           .complete = firnc_complete_images,
                                           .facts = firnc_image_facts,
                                           .build = build,
                                           .weight_map = firnc_image_weights};
