/* The compact convolutional transformer of Hassani and others (2021): convolutions with a relu and a pool cut an image
 * into tokens, which learned positions are added to; an encoder; and a mean over the tokens whose weights are learned,
 * before the dense layer. As theirs, a block has a norm before its attention, and another one behind it instead of
 * before the feed-forward part. No stochastic depth.
 *
 * Parameters have the names of their module, and qkv has the rows of the queries, then of the keys, then of the values,
 * as there. They begin normal, with the deviations of the original, whose bounds, -2 and 2 for linear layers and
 * positions, no draw reaches. */
#include "compiler/models/images/images.h"
#include "plan/shapes/windows.h"
#include "runtime/numerics/numerics.h"

/* trainer.init.model with name: cct; of images the filters are those of all convolutions but the last */
typedef struct cct {
    firnc_images images;
    uint32_t convolutions, kernel_size, hidden_size, filter_size, layers, heads;
    float layer_norm_epsilon, dropout_rate, attention_dropout_rate;
} cct;

enum { LAYERS_MAX = 256, CONVOLUTIONS_MAX = 8, POOL = 3, POOL_STRIDE = 2 };

/* --- keys --------------------------------------------------------------------------------------------------------- */

#define AT(member) offsetof(cct, member)

static const firnc_field fields[] = {
    {"image_height", .kind = FIRNC_FIELD_WHOLE, AT(images.height), 1, FIRN_PAIR_MAX},
    {"image_width", .kind = FIRNC_FIELD_WHOLE, AT(images.width), 1, FIRN_PAIR_MAX},
    {"image_channels", .kind = FIRNC_FIELD_WHOLE, AT(images.channels), 1, FIRN_PAIR_MAX},
    {"num_conv_layers", .kind = FIRNC_FIELD_WHOLE, AT(convolutions), 1, CONVOLUTIONS_MAX},
    {"kernel_size", .kind = FIRNC_FIELD_WHOLE, AT(kernel_size), 1, 255},
    {"filters", .kind = FIRNC_FIELD_WHOLE, AT(images.filters), 1, FIRN_PAIR_MAX},
    {"hidden_size", .kind = FIRNC_FIELD_WHOLE, AT(hidden_size), 1, FIRN_PAIR_MAX},
    {"num_hidden_layers", .kind = FIRNC_FIELD_WHOLE, AT(layers), 1, LAYERS_MAX},
    {"num_heads", .kind = FIRNC_FIELD_WHOLE, AT(heads), 1, FIRN_PAIR_MAX},
    {"filter_size", .kind = FIRNC_FIELD_WHOLE, AT(filter_size), 1, FIRNC_MODEL_SIZE_MAX},
    {"output_size", .kind = FIRNC_FIELD_WHOLE, AT(images.output_size), 2, FIRNC_MODEL_SIZE_MAX},
    {"layer_norm_epsilon", .kind = FIRNC_FIELD_SINGLE, AT(layer_norm_epsilon), 0, 1, .above_low = true},
    {"dropout_rate", .kind = FIRNC_FIELD_SINGLE, AT(dropout_rate), 0, 1, .below_high = true},
    {"attention_dropout_rate", .kind = FIRNC_FIELD_SINGLE, AT(attention_dropout_rate), 0, 1, .below_high = true},
    {"loss_scaling", .kind = FIRNC_FIELD_CHOICE, AT(images.loss_scaling), .choices = firnc_loss_scaling_words},
    {"loss_weight", .kind = FIRNC_FIELD_SINGLE, AT(images.cross_entropy.loss_weight), 0, 1e30, .above_low = true},
    {"label_smoothing", .kind = FIRNC_FIELD_SINGLE, AT(images.cross_entropy.label_smoothing), 0, 1, .below_high = true},
    {"ignore_index", .kind = FIRNC_FIELD_OTHER},
    {"sample_weights", .kind = FIRNC_FIELD_FLAG, AT(images.sample_weights)},
};

#undef AT

static const cct defaults = {.images = {.height = 32,
                                        .width = 32,
                                        .channels = 3,
                                        .filters = 64,
                                        .output_size = 10,
                                        .cross_entropy = {.loss_weight = 1}},
                             .convolutions = 1,
                             .kernel_size = 3,
                             .hidden_size = 256,
                             .filter_size = 512,
                             .layers = 7,
                             .heads = 4,
                             .layer_norm_epsilon = 1e-5f};

static bool complete(const firnc_tree *keys, void *settings) {
    const cct *model = settings;
    static const firnc_idle_key filters = {"filters", NULL};
    if (model->hidden_size % model->heads != 0)
        return firnc_tree_fail(
            firnc_tree_child(keys, firnc_tree_child(keys, "num_heads") != NULL ? "num_heads" : "hidden_size"),
            "a hidden_size of %u is not divisible by %u heads; change one of the two", (unsigned)model->hidden_size,
            (unsigned)model->heads);
    if (model->convolutions == 1)
        firnc_idle_note_keys(keys, &filters, 1, firnc_tree_child(keys, "num_conv_layers"),
                             "the last convolution has hidden_size outputs, and there is no other; remove it");
    return firnc_complete_images(keys, settings);
}

static firnc_model_facts facts(const void *settings) {
    static const char *const sizes[] = {"image_height", "image_width", "hidden_size",
                                        "filter_size",  "output_size", NULL};
    firnc_model_facts result = firnc_image_facts(settings);
    result.layers_key = "num_hidden_layers";
    result.sizes = sizes;
    return result;
}

static firnc_weight_map weight_map(const void *settings) {
    static const firnc_weight_rule rules[] = {
        {.parameter = "*.kernel", .tensors = {"*.weight"}, .order = {0, 2, 3, 1}, .order_count = 4},
        {.parameter = "*", .tensors = {"*"}},
    };
    (void)settings;
    return (firnc_weight_map){rules, sizeof rules / sizeof rules[0]};
}

/* --- the graph ---------------------------------------------------------------------------------------------------- */

static firnc_init normal(float deviation) {
    return (firnc_init){.rule = FIRNC_INIT_NORMAL, .b = deviation};
}

static firnc_value linear(firnc_graph *graph, const char *layer, firnc_value x, uint32_t in, uint32_t out, bool bias) {
    firnc_value weight =
        firnc_parameter(graph, firnc_format("%s.weight", layer), 2, (uint32_t[]){out, in}, normal(0.02f), true);
    firnc_value zeros =
        bias ? firnc_parameter(graph, firnc_format("%s.bias", layer), 1, &out, (firnc_init){.a = 0}, false)
             : FIRNC_NONE;
    firnc_layer_begin(graph, layer);
    firnc_value y = firnc_linear(graph, x, weight, zeros, FIRNC_OUT_IN);
    firnc_layer_end(graph);
    return y;
}

static firnc_value norm(firnc_graph *graph, const char *layer, firnc_value x, const cct *model) {
    const uint32_t *width = &model->hidden_size;
    firnc_value gain = firnc_parameter(graph, firnc_format("%s.weight", layer), 1, width, (firnc_init){.a = 1}, false);
    firnc_value bias = firnc_parameter(graph, firnc_format("%s.bias", layer), 1, width, (firnc_init){.a = 0}, false);
    firnc_layer_begin(graph, layer);
    x = firnc_layer_norm(graph, x, gain, bias, model->layer_norm_epsilon);
    firnc_layer_end(graph);
    return x;
}

static firnc_value drop(firnc_graph *graph, const char *layer, firnc_value x, const cct *model) {
    firnc_layer_begin(graph, layer);
    x = firnc_dropout(graph, x, model->dropout_rate);
    firnc_layer_end(graph);
    return x;
}

static uint32_t pooled(uint32_t extent) {
    return (extent + 2 - POOL) / POOL_STRIDE + 1;
}

/* Convolutions with stride 1, each with a relu and a pool that halves the image. */
static void cut(firnc_graph *graph, firnc_image *image, const cct *model) {
    static const firnc_windows halves = {.stride = {POOL_STRIDE, POOL_STRIDE}, .before = {1, 1}, .after = {1, 1}};
    for (unsigned i = 0; i < model->convolutions; i++) {
        const char *layer = firnc_format("tokenizer.conv_layers.%u", i);
        const firnc_filter filter = {.outputs =
                                         i + 1 == model->convolutions ? model->hidden_size : model->images.filters,
                                     .rows = model->kernel_size,
                                     .columns = model->kernel_size,
                                     .stride = 1};
        firnc_add_convolution(graph, firnc_format("%s.0", layer), image, filter);
        firnc_add_relu(graph, firnc_format("%s.1", layer), image);
        firnc_layer_begin(graph, firnc_format("%s.2", layer));
        image->x = firnc_max_pool(graph, image->x, (uint32_t[]){POOL, POOL}, halves);
        firnc_layer_end(graph);
        image->height = pooled(image->height);
        image->width = pooled(image->width);
    }
}

static firnc_value attend(firnc_graph *graph, const char *layer, firnc_value x, const cct *model) {
    const uint32_t size = model->hidden_size, head_size = size / model->heads;
    x = linear(graph, firnc_format("%s.qkv", layer), x, size, 3 * size, false);
    firnc_layer_begin(graph, layer);
    x = firnc_attention(graph, x,
                        (firnc_attention_options){.heads = model->heads,
                                                  .kv_heads = model->heads,
                                                  .scale = 1 / firn_sqrt((float)head_size),
                                                  .dropout_rate = model->attention_dropout_rate});
    firnc_layer_end(graph);
    x = linear(graph, firnc_format("%s.proj", layer), x, size, size, true);
    return drop(graph, firnc_format("%s.proj_drop", layer), x, model);
}

static firnc_value add_to(firnc_graph *graph, const char *layer, firnc_value x, firnc_value branch) {
    firnc_layer_begin(graph, layer);
    x = firnc_add(graph, x, branch);
    firnc_layer_end(graph);
    return x;
}

static firnc_value add_block(firnc_graph *graph, const char *block, firnc_value x, const cct *model) {
    firnc_value branch = norm(graph, firnc_format("%s.pre_norm", block), x, model);
    branch = attend(graph, firnc_format("%s.self_attn", block), branch, model);
    x = add_to(graph, firnc_format("%s.add_1", block), x, branch);
    x = norm(graph, firnc_format("%s.norm1", block), x, model);
    branch = linear(graph, firnc_format("%s.linear1", block), x, model->hidden_size, model->filter_size, true);
    firnc_layer_begin(graph, firnc_format("%s.activation", block));
    branch = firnc_gelu(graph, branch, FIRNC_GELU_ERF);
    firnc_layer_end(graph);
    branch = drop(graph, firnc_format("%s.dropout1", block), branch, model);
    branch = linear(graph, firnc_format("%s.linear2", block), branch, model->filter_size, model->hidden_size, true);
    branch = drop(graph, firnc_format("%s.dropout2", block), branch, model);
    return add_to(graph, firnc_format("%s.add_2", block), x, branch);
}

/* The mean of the tokens [N,T,C], each with its share of a softmax over them; returns [N,1,C]. */
static firnc_value pool(firnc_graph *graph, firnc_value x, uint32_t samples, uint32_t tokens, const cct *model) {
    firnc_value scores = linear(graph, "classifier.attention_pool", x, model->hidden_size, 1, true);
    firnc_layer_begin(graph, "classifier.sequence_pool");
    scores = firnc_softmax(graph, firnc_reshape(graph, scores, 3, (uint32_t[]){samples, 1, tokens}));
    x = firnc_matmul(graph, scores, x, false, false);
    firnc_layer_end(graph);
    return x;
}

static firnc_value add_layers(firnc_graph *graph, firnc_image *image, const void *settings) {
    const cct *model = settings;
    const uint32_t samples = image->samples, size = model->hidden_size;
    cut(graph, image, model);
    const uint32_t tokens = image->height * image->width;
    firnc_layer_begin(graph, "tokenizer.flatten");
    firnc_value x = firnc_reshape(graph, image->x, 3, (uint32_t[]){samples, tokens, size});
    firnc_layer_end(graph);
    const uint32_t rows[] = {1, tokens, size};
    firnc_value table = firnc_parameter(graph, "classifier.positional_emb", 3, rows, normal(0.2f), true);
    firnc_layer_begin(graph, "classifier.positional_emb");
    table = firnc_leading_rows(graph, firnc_reshape(graph, table, 2, &rows[1]), tokens);
    x = firnc_add(graph, x, table);
    firnc_layer_end(graph);
    x = drop(graph, "classifier.dropout", x, model);
    for (unsigned i = 0; i < model->layers; i++)
        x = add_block(graph, firnc_format("classifier.blocks.%u", i), x, model);
    x = pool(graph, norm(graph, "classifier.norm", x, model), samples, tokens, model);
    return linear(graph, "classifier.fc", x, size, model->images.output_size, true);
}

static void build(firnc_graph *graph, const firnc_job *job, const void *settings, const firnc_elements *elements) {
    firnc_build_images(graph, job, settings, elements, add_layers);
}

const firnc_model firnc_model_cct = {.name = "cct",
                                     .fields = fields,
                                     .field_count = sizeof fields / sizeof fields[0],
                                     .settings_bytes = sizeof(cct),
                                     .defaults = &defaults,
                                     .complete = complete,
                                     .facts = facts,
                                     .build = build,
                                     .weight_map = weight_map};
