/* The losses that a recipe may name for a model whose output is one tensor, their keys, and the ops for them. */
#ifndef FIRNC_LOSSES_H
#define FIRNC_LOSSES_H

#include "compiler/models/parts.h"

typedef enum firnc_loss_kind {
    FIRNC_LOSS_CROSS_ENTROPY,
    FIRNC_LOSS_MEAN_SQUARED_ERROR,
    FIRNC_LOSS_L1,
    FIRNC_LOSS_HUBER,
    FIRNC_LOSS_SMOOTH_L1,
    FIRNC_LOSS_BINARY_CROSS_ENTROPY,
    FIRNC_LOSS_NLL,
    FIRNC_LOSS_KL_DIVERGENCE
} firnc_loss_kind;

typedef struct firnc_losses {
    firnc_loss_kind kind;
    int scaling; /* as read from the recipe; sets cross_entropy.batch_size */
    firnc_cross_entropy_options cross_entropy;
    bool sample_weights;   /* cross_entropy: stream 2 has a weight for each record */
    float huber_threshold; /* huber, smooth_l1 */
    bool log_target;       /* kl_divergence: targets are logarithms */
    int batch_mean;        /* kl_divergence: 1: mean over rows, 0: over elements */
} firnc_losses;

extern const firnc_choice firnc_loss_words[], firnc_loss_reduction_words[];

#define FIRNC_LOSSES_DEFAULT                                                                                           \
    {                                                                                                                  \
        .huber_threshold = 1, .cross_entropy = {.loss_weight = 1 }                                                     \
    }

/* The rows of the keys in a table of fields; `losses` is the member of the settings that has them. */
#define FIRNC_LOSS_FIELDS(settings, losses)                                                                             \
    {"loss", .kind = FIRNC_FIELD_CHOICE, offsetof(settings, losses.kind), .choices = firnc_loss_words},                 \
        {"loss_scaling", .kind = FIRNC_FIELD_CHOICE, offsetof(settings, losses.scaling),                                \
         .choices = firnc_loss_scaling_words},                                                                          \
        {"loss_weight", .kind = FIRNC_FIELD_SINGLE, offsetof(settings, losses.cross_entropy.loss_weight), 0,            \
         1e30,          .above_low = true},                                                                             \
        {"label_smoothing", .kind = FIRNC_FIELD_SINGLE, offsetof(settings, losses.cross_entropy.label_smoothing), 0, 1, \
         .below_high = true},                                                                                           \
        {"ignore_index", .kind = FIRNC_FIELD_OTHER},                                                                    \
        {"sample_weights", .kind = FIRNC_FIELD_FLAG, offsetof(settings, losses.sample_weights)},                        \
        {"delta", .kind = FIRNC_FIELD_SINGLE, offsetof(settings, losses.huber_threshold), 0, 1e30, .above_low = true},  \
        {"beta", .kind = FIRNC_FIELD_SINGLE, offsetof(settings, losses.huber_threshold), 0, 1e30, .above_low = true},   \
        {"log_target", .kind = FIRNC_FIELD_FLAG, offsetof(settings, losses.log_target)}, {                              \
        "reduction", .kind = FIRNC_FIELD_CHOICE, offsetof(settings, losses.batch_mean),                                 \
                     .choices = firnc_loss_reduction_words                                                              \
    }

/* True if the targets of the loss are class labels, false if they are numbers. */
bool firnc_loss_has_classes(const firnc_losses *losses);
firnc_targets firnc_loss_targets(const firnc_losses *losses);

/* Refuses keys that belong to another loss, and completes the options. False after one message. */
bool firnc_loss_complete(const firnc_tree *keys, firnc_losses *losses, uint32_t classes);

/* What the recipe reader asks of a model with these losses; the rest is 0. */
firnc_model_facts firnc_loss_facts(const firnc_losses *losses, uint32_t outputs);

/* What a model with these scores tells: the scores, or where targets are standardised what they stand for. */
firnc_value firnc_loss_told(firnc_graph *graph, const firnc_elements *elements, firnc_value scores, uint8_t rank,
                            const uint32_t *dims);

/* Adds labels or targets, which are stream 1 unless `next` says otherwise, and the loss of scores [..., classes] of
 * this rank; names what metrics read. next: the options of labels that are of stream 0, or NULL. */
void firnc_loss_build(firnc_graph *graph, const firnc_losses *losses, const firnc_elements *elements,
                      firnc_value scores, uint8_t rank, const uint32_t *dims, const firnc_input_options *next);

#endif
