/* Convolutional classifiers: their rows for the table of models, and what they share: settings and keys, layers, the
 * frame of their graphs. */
#ifndef FIRNC_IMAGES_H
#define FIRNC_IMAGES_H

#include "compiler/models/models.h"
#include "compiler/models/parts.h"

extern const firnc_model firnc_model_cct, firnc_model_ds_cnn, firnc_model_mobilenet, firnc_model_resnet8;

/* trainer.init.model of such a model */
typedef struct firnc_images {
    firnc_model_settings common;
    uint32_t height, width, channels; /* of an image */
    uint32_t filters;                 /* outputs of the first convolution */
    uint32_t output_size;
    float norm_epsilon, norm_momentum;
    int loss_scaling; /* as read from the recipe; sets cross_entropy.batch_size */
    firnc_cross_entropy_options cross_entropy;
    bool sample_weights; /* stream 2 has a weight for each record */
} firnc_images;

/* Of a row of the table of models. */
enum { FIRNC_IMAGE_FIELDS = 12 };
extern const firnc_field firnc_image_fields[FIRNC_IMAGE_FIELDS];
bool firnc_complete_images(const firnc_tree *keys, void *settings);
firnc_model_facts firnc_image_facts(const void *settings);
/* Files have the kernels of convolutions as PyTorch does: X.weight is [O,C,rows,columns], and X.kernel here
 * [O,rows,columns,C]. */
firnc_weight_map firnc_image_weights(const void *settings);

/* Images [samples,height,width,channels] on their way through the layers. */
typedef struct firnc_image {
    firnc_value x;
    uint32_t samples, height, width, channels;
} firnc_image;

typedef struct firnc_filter {
    uint32_t outputs, rows, columns, stride;
    bool by_channel; /* each output is of one channel */
    bool bias;
} firnc_filter;

/* Add a layer with its parameters. A convolution pads so that a stride of s leaves every s-th position, and where it
 * has to pad an odd number of rows or columns, one more behind than before. */
void firnc_add_convolution(firnc_graph *graph, const char *layer, firnc_image *image, firnc_filter filter);
void firnc_add_norm(firnc_graph *graph, const char *layer, firnc_image *image, const firnc_images *settings);
void firnc_add_relu(firnc_graph *graph, const char *layer, firnc_image *image);

/* A convolution by channel and one of 1 x 1, each with a norm and a relu: layer.depthwise, layer.bn1, layer.relu1,
 * layer.pointwise, layer.bn2, layer.relu2. */
void firnc_add_separable_block(firnc_graph *graph, const char *layer, firnc_image *image, const firnc_images *settings,
                               uint32_t outputs, uint32_t stride);

/* A dense layer `fc` over the mean of each channel; returns the logits, [N,1,1,outputs]. */
firnc_value firnc_classify_means(firnc_graph *graph, const firnc_image *image, const firnc_images *settings);

/* Builds the graph of a classifier: its input, its layers, which return the logits, and the loss. Settings of a model
 * begin with a firnc_images. */
typedef firnc_value (*firnc_image_layers)(firnc_graph *graph, firnc_image *image, const void *settings);
void firnc_build_images(firnc_graph *graph, const firnc_job *job, const void *settings, const firnc_elements *elements,
                        firnc_image_layers layers);

#endif
