/* Losses by name (compiler/models/losses.h). */
#include "compiler/models/losses.h"

const firnc_choice firnc_loss_words[] = {{"cross_entropy", FIRNC_LOSS_CROSS_ENTROPY},
                                         {"mean_squared_error", FIRNC_LOSS_MEAN_SQUARED_ERROR},
                                         {"l1", FIRNC_LOSS_L1},
                                         {"huber", FIRNC_LOSS_HUBER},
                                         {"smooth_l1", FIRNC_LOSS_SMOOTH_L1},
                                         {"binary_cross_entropy_with_logits", FIRNC_LOSS_BINARY_CROSS_ENTROPY},
                                         {"nll", FIRNC_LOSS_NLL},
                                         {"kl_divergence", FIRNC_LOSS_KL_DIVERGENCE},
                                         {NULL, 0}};
const firnc_choice firnc_loss_reduction_words[] = {{"mean", 0}, {"batchmean", 1}, {NULL, 0}};

bool firnc_loss_has_classes(const firnc_losses *losses) {
    return losses->kind == FIRNC_LOSS_CROSS_ENTROPY || losses->kind == FIRNC_LOSS_NLL;
}

firnc_targets firnc_loss_targets(const firnc_losses *losses) {
    if (firnc_loss_has_classes(losses))
        return FIRNC_TARGETS_CLASSES;
    return losses->kind == FIRNC_LOSS_BINARY_CROSS_ENTROPY ? FIRNC_TARGETS_SHARES : FIRNC_TARGETS_NUMBERS;
}

/* Refuses keys that belong to another loss. */
static bool check_loss_keys(const firnc_tree *keys, firnc_loss_kind loss) {
    static const struct {
        const char *key;
        firnc_loss_kind loss;
    } owners[] = {{"loss_scaling", FIRNC_LOSS_CROSS_ENTROPY},
                  {"loss_weight", FIRNC_LOSS_CROSS_ENTROPY},
                  {"label_smoothing", FIRNC_LOSS_CROSS_ENTROPY},
                  {"ignore_index", FIRNC_LOSS_CROSS_ENTROPY},
                  {"sample_weights", FIRNC_LOSS_CROSS_ENTROPY},
                  {"delta", FIRNC_LOSS_HUBER},
                  {"beta", FIRNC_LOSS_SMOOTH_L1},
                  {"log_target", FIRNC_LOSS_KL_DIVERGENCE},
                  {"reduction", FIRNC_LOSS_KL_DIVERGENCE}};
    for (size_t i = 0; i < sizeof owners / sizeof owners[0]; i++) {
        const firnc_tree *key = firnc_tree_child(keys, owners[i].key);
        const firnc_choice *owner = firnc_loss_words;
        while (owner->value != (int)owners[i].loss)
            owner++;
        if (key != NULL && loss != owners[i].loss)
            return firnc_tree_fail(key, "belongs to loss: %s; remove it", owner->word);
    }
    return true;
}

bool firnc_loss_complete(const firnc_tree *keys, firnc_losses *losses, uint32_t classes) {
    return check_loss_keys(keys, losses->kind) &&
           firnc_complete_cross_entropy(keys, losses->scaling, classes, &losses->cross_entropy);
}

firnc_model_facts firnc_loss_facts(const firnc_losses *losses, uint32_t outputs) {
    const firnc_targets targets = firnc_loss_targets(losses);
    return (firnc_model_facts){.outputs = outputs,
                               .targets = targets,
                               .comparable =
                                   targets == FIRNC_TARGETS_NUMBERS && losses->kind != FIRNC_LOSS_KL_DIVERGENCE,
                               .sample_weights = losses->sample_weights,
                               .metric = FIRNC_METRIC_ACCURACY};
}

/* --- the graph ---------------------------------------------------------------------------------------------------- */

/* Adds a loss whose targets are class labels, one for each row. */
static void classify(firnc_graph *graph, const firnc_losses *losses, const firnc_elements *elements, firnc_value logits,
                     uint8_t rank, const uint32_t *dims, const firnc_input_options *next) {
    const firnc_input_options classes = {
        .stream = 1, .element = elements->label, .limit = firnc_label_limit(losses->cross_entropy, dims[rank - 1])};
    const firnc_input_options weight = {.stream = 2, .element = elements->weight};
    const uint8_t rows = (uint8_t)(rank - 1);
    firnc_value labels = firnc_input(graph, "labels", FIRN_INT32, rows, dims, next != NULL ? *next : classes);
    if (losses->kind == FIRNC_LOSS_NLL) {
        firnc_loss(graph, firnc_nll_loss(graph, firnc_log_softmax(graph, logits), labels));
        firnc_classification(graph, logits, labels);
        return;
    }
    firnc_value weights =
        losses->sample_weights ? firnc_input(graph, "weights", FIRN_FLOAT32, rows, dims, weight) : FIRNC_NONE;
    firnc_classify(graph, logits, labels, weights,
                   next != NULL ? firnc_options_of_text(losses->cross_entropy, dims[rank - 1]) : losses->cross_entropy);
}

/* Adds a loss whose targets are numbers. */
static void compare(firnc_graph *graph, const firnc_losses *losses, const firnc_elements *elements, firnc_value x,
                    uint8_t rank, const uint32_t *dims) {
    const firnc_input_options numbers = {.stream = 1, .element = elements->label};
    const firnc_value told = firnc_loss_told(graph, elements, x, rank, dims);
    const firnc_value measured = firnc_input(graph, "targets", FIRN_FLOAT32, rank, dims, numbers);
    const firnc_value target = elements->targets != NULL
                                   ? firnc_standardise(graph, "targets", measured, rank, dims, elements->targets)
                                   : measured;
    firnc_value loss;
    switch (losses->kind) {
    case FIRNC_LOSS_L1:
        loss = firnc_l1_loss(graph, x, target);
        break;
    case FIRNC_LOSS_HUBER:
        loss = firnc_huber_loss(graph, x, target, FIRNC_HUBER, losses->huber_threshold);
        break;
    case FIRNC_LOSS_SMOOTH_L1:
        loss = firnc_huber_loss(graph, x, target, FIRNC_HUBER_SMOOTH, losses->huber_threshold);
        break;
    case FIRNC_LOSS_BINARY_CROSS_ENTROPY:
        firnc_detection(graph, x, target);
        firnc_loss(graph, firnc_binary_cross_entropy(graph, x, target));
        return;
    case FIRNC_LOSS_KL_DIVERGENCE:
        firnc_loss(graph, firnc_kl_divergence(graph, firnc_log_softmax(graph, x), target, losses->log_target,
                                              losses->batch_mean == 1));
        return;
    default:
        loss = firnc_mean_squared_error(graph, x, target);
        break;
    }
    firnc_loss(graph, loss);
    firnc_regression(graph, told, measured);
}

firnc_value firnc_loss_told(firnc_graph *graph, const firnc_elements *elements, firnc_value scores, uint8_t rank,
                            const uint32_t *dims) {
    return elements->targets != NULL ? firnc_unstandardise(graph, "targets", scores, rank, dims, elements->targets)
                                     : scores;
}

void firnc_loss_build(firnc_graph *graph, const firnc_losses *losses, const firnc_elements *elements,
                      firnc_value scores, uint8_t rank, const uint32_t *dims, const firnc_input_options *next) {
    firnc_layer_begin(graph, "loss");
    if (firnc_loss_has_classes(losses))
        classify(graph, losses, elements, scores, rank, dims, next);
    else
        compare(graph, losses, elements, scores, rank, dims);
    firnc_layer_end(graph);
}
