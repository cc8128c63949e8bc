/* Running totals of an evaluation. Freestanding. */
#include "runtime/kernels/row_weights.h"

/* in, out: position of the counter among the op's inputs and outputs. */
static void add_to_count(const firn_kernel_call *call, uint8_t in, uint8_t out, uint64_t step) {
    const uint64_t *before = call->inputs[in].data;
    uint64_t *after = call->outputs[out].data;
    *after = *before + step;
}

/* Adds to a float32 total with a carry. */
static void add_to_sum(const firn_kernel_call *call, uint8_t in, uint8_t out, float value) {
    firn_carried_sum_add(call->inputs[in].data, call->outputs[out].data, value);
}

void firn_kernel_metric_mean(const firn_kernel_call *call) {
    add_to_sum(call, FIRN_METRIC_MEAN_IN_SUM, FIRN_METRIC_MEAN_OUT_SUM,
               firn_scalar(&call->inputs[FIRN_METRIC_MEAN_IN_VALUE]));
    add_to_count(call, FIRN_METRIC_MEAN_IN_COUNT, FIRN_METRIC_MEAN_OUT_COUNT, 1);
}

/* Multiplies the mean loss by its divisor, which restores the sum before the division. A batch in which no row counts
 * adds nothing to the sum or the count. */
void firn_kernel_metric_weighted_mean(const firn_kernel_call *call) {
    const firn_row_weights weights =
        firn_row_weights_of(call, FIRN_METRIC_WEIGHTED_MEAN_IN_LABELS, FIRN_METRIC_WEIGHTED_MEAN_IN_WEIGHTS,
                            call->integers[FIRN_METRIC_WEIGHTED_MEAN_IGNORE_INDEX]);
    const float share = firn_scalar(&call->inputs[FIRN_METRIC_WEIGHTED_MEAN_IN_DIVISOR]) /
                        call->reals[FIRN_METRIC_WEIGHTED_MEAN_FACTOR];
    const float loss = firn_scalar(&call->inputs[FIRN_METRIC_WEIGHTED_MEAN_IN_LOSS]);
    uint64_t present = 0;
    for (size_t row = 0; row < call->inputs[FIRN_METRIC_WEIGHTED_MEAN_IN_LABELS].elements; row++)
        present += firn_row_weight(&weights, row) != 0.0f;
    add_to_sum(call, FIRN_METRIC_WEIGHTED_MEAN_IN_SUM, FIRN_METRIC_WEIGHTED_MEAN_OUT_SUM, loss * share);
    add_to_count(call, FIRN_METRIC_WEIGHTED_MEAN_IN_COUNT, FIRN_METRIC_WEIGHTED_MEAN_OUT_COUNT, present);
}

/* Returns true if the label is the index of the row's first maximum. A comparison with NaN is false, so a row that
 * contains NaN is never right. */
static bool is_right(const firn_tensor *logits, size_t row, size_t label) {
    const float best = firn_row_load(logits, row, label);
    bool right = true;
    float x[FIRN_BLOCK];
    for (size_t at = 0; at < firn_last_extent(logits); at += FIRN_BLOCK) {
        const size_t count = firn_row_widen(x, logits, row, at);
        for (size_t i = 0; i < count; i++)
            right = right && (at + i < label ? x[i] < best : x[i] <= best);
    }
    return right;
}

/* The rows of a batch whose samples count. */
typedef struct counted_rows {
    const int32_t *samples; /* 1 for each sample that counts, else 0; NULL: all rows count */
    size_t rows_of_sample;
} counted_rows;

/* Reads the rows from the operand `counted`, a position that the call may not have. */
static counted_rows counted_rows_of(const firn_kernel_call *call, uint8_t counted, size_t rows) {
    const firn_tensor *samples = firn_call_input(call, counted);
    return samples == NULL ? (counted_rows){NULL, 1} : (counted_rows){samples->data, rows / samples->elements};
}

static bool row_counts(const counted_rows *counted, size_t row) {
    return counted->samples == NULL || counted->samples[row / counted->rows_of_sample] != 0;
}

void firn_kernel_metric_accuracy(const firn_kernel_call *call) {
    const firn_tensor *logits = &call->inputs[FIRN_METRIC_ACCURACY_IN_LOGITS];
    const int32_t *labels = call->inputs[FIRN_METRIC_ACCURACY_IN_LABELS].data;
    const counted_rows counted = counted_rows_of(call, FIRN_METRIC_ACCURACY_IN_COUNTED, firn_rows(logits));
    uint64_t correct = 0, count = 0;
    for (size_t row = 0; row < firn_rows(logits); row++) {
        if (!row_counts(&counted, row))
            continue;
        correct += is_right(logits, row, (size_t)labels[row]);
        count++;
    }
    add_to_count(call, FIRN_METRIC_ACCURACY_IN_CORRECT, FIRN_METRIC_ACCURACY_OUT_CORRECT, correct);
    add_to_count(call, FIRN_METRIC_ACCURACY_IN_COUNT, FIRN_METRIC_ACCURACY_OUT_COUNT, count);
}

/* Adds the losses of the rows one after the other, so that the total does not depend on where a batch ends. */
void firn_kernel_metric_row_mean(const firn_kernel_call *call) {
    const firn_tensor *losses = &call->inputs[FIRN_METRIC_ROW_MEAN_IN_ROW_LOSS];
    const firn_tensor *labels = firn_call_input(call, FIRN_METRIC_ROW_MEAN_IN_LABELS);
    const firn_tensor *weights = firn_call_input(call, FIRN_METRIC_ROW_MEAN_IN_WEIGHTS);
    const counted_rows counted = counted_rows_of(call, FIRN_METRIC_ROW_MEAN_IN_COUNTED, losses->elements);
    const int64_t ignored = call->integers[FIRN_METRIC_ROW_MEAN_IGNORE_INDEX];
    float *sum = call->outputs[FIRN_METRIC_ROW_MEAN_OUT_SUM].data;
    uint64_t present = 0;
    for (size_t row = 0; row < losses->elements; row++) {
        const bool ignores = labels != NULL && ((const int32_t *)labels->data)[row] == ignored;
        const float weight = ignores ? 0.0f : weights == NULL ? 1.0f : ((const float *)weights->data)[row];
        if (!row_counts(&counted, row) || weight == 0.0f)
            continue;
        firn_carried_sum_add(sum, sum, weight * ((const float *)losses->data)[row]);
        present++;
    }
    add_to_count(call, FIRN_METRIC_ROW_MEAN_IN_COUNT, FIRN_METRIC_ROW_MEAN_OUT_COUNT, present);
}

/* Sums the weights of the rows predicted correctly, in row order, so that the result does not depend on how the work is
 * divided. Where the call says which samples count, each weight is added to the total by itself, so that it does not
 * depend on where a batch ends either. */
void firn_kernel_metric_weighted_accuracy(const firn_kernel_call *call) {
    const firn_tensor *logits = &call->inputs[FIRN_METRIC_WEIGHTED_ACCURACY_IN_LOGITS];
    const firn_row_weights weights =
        firn_row_weights_of(call, FIRN_METRIC_WEIGHTED_ACCURACY_IN_LABELS, FIRN_METRIC_WEIGHTED_ACCURACY_IN_WEIGHTS,
                            call->integers[FIRN_METRIC_WEIGHTED_ACCURACY_IGNORE_INDEX]);
    const counted_rows counted = counted_rows_of(call, FIRN_METRIC_WEIGHTED_ACCURACY_IN_COUNTED, firn_rows(logits));
    float *sum = call->outputs[FIRN_METRIC_WEIGHTED_ACCURACY_OUT_SUM].data;
    uint64_t present = 0;
    firn_sum right;
    firn_sum_begin(&right);
    for (size_t row = 0; row < firn_rows(logits); row++) {
        if (!row_counts(&counted, row))
            continue;
        const float weight = firn_row_weight(&weights, row);
        const float term = weight != 0.0f && is_right(logits, row, (size_t)weights.labels[row]) ? weight : 0.0f;
        present += weight != 0.0f;
        if (counted.samples != NULL)
            firn_carried_sum_add(sum, sum, term);
        else
            firn_sum_add(&right, term);
    }
    if (counted.samples == NULL)
        add_to_sum(call, FIRN_METRIC_WEIGHTED_ACCURACY_IN_SUM, FIRN_METRIC_WEIGHTED_ACCURACY_OUT_SUM,
                   firn_sum_end(&right));
    add_to_count(call, FIRN_METRIC_WEIGHTED_ACCURACY_IN_COUNT, FIRN_METRIC_WEIGHTED_ACCURACY_OUT_COUNT, present);
}

/* Returns the index of the row's first maximum, or the row's length if it contains a NaN. */
static size_t prediction_of(const firn_tensor *logits, size_t row) {
    const size_t width = firn_last_extent(logits);
    size_t best_at = 0;
    float x[FIRN_BLOCK], best = firn_row_load(logits, row, 0);
    for (size_t at = 0; at < width; at += FIRN_BLOCK) {
        const size_t count = firn_row_widen(x, logits, row, at);
        for (size_t i = 0; i < count; i++) {
            if (x[i] != x[i])
                return width;
            if (x[i] > best) {
                best = x[i];
                best_at = at + i;
            }
        }
    }
    return best_at;
}

void firn_kernel_metric_confusion(const firn_kernel_call *call) {
    const firn_tensor *logits = &call->inputs[FIRN_METRIC_CONFUSION_IN_LOGITS];
    const size_t columns = firn_last_extent(logits) + 1;
    const firn_row_weights weights =
        firn_row_weights_of(call, FIRN_METRIC_CONFUSION_IN_LABELS, FIRN_METRIC_CONFUSION_IN_WEIGHTS,
                            call->integers[FIRN_METRIC_CONFUSION_IGNORE_INDEX]);
    const counted_rows counted = counted_rows_of(call, FIRN_METRIC_CONFUSION_IN_COUNTED, firn_rows(logits));
    uint64_t *confusion = call->outputs[FIRN_METRIC_CONFUSION_OUT_CONFUSION].data, present = 0;
    for (size_t row = 0; row < firn_rows(logits); row++) {
        if (!row_counts(&counted, row) || firn_row_weight(&weights, row) == 0.0f)
            continue;
        confusion[(size_t)weights.labels[row] * columns + prediction_of(logits, row)]++;
        present++;
    }
    add_to_count(call, FIRN_METRIC_CONFUSION_IN_COUNT, FIRN_METRIC_CONFUSION_OUT_COUNT, present);
}

/* Returns how many of the thresholds 1/199 ... 198/199 are less than the score. For NaN the result is 0. */
static size_t bucket_of(float score) {
    const float scaled = score * (float)FIRN_AUC_BUCKETS;
    if (!(scaled > 1.0f))
        return 0;
    const size_t whole = (size_t)scaled; /* at most 199 */
    return (float)whole == scaled ? whole - 1 : whole;
}

/* Returns the probability that sample i is positive, computed from its one logit or its two. */
static float score_of(const firn_tensor *logits, bool of_two, size_t i) {
    if (!of_two)
        return firn_sigmoid(firn_load(logits->data, logits->type, i));
    return firn_sigmoid(firn_load(logits->data, logits->type, 2 * i + 1) -
                        firn_load(logits->data, logits->type, 2 * i));
}

void firn_kernel_metric_auc(const firn_kernel_call *call) {
    const firn_tensor *target = &call->inputs[FIRN_METRIC_AUC_IN_TARGET];
    const firn_tensor *logits = &call->inputs[FIRN_METRIC_AUC_IN_LOGITS];
    const bool of_two = target->type == FIRN_INT32;
    const counted_rows counted = counted_rows_of(call, FIRN_METRIC_AUC_IN_COUNTED, target->elements);
    uint64_t *histogram = call->outputs[FIRN_METRIC_AUC_OUT_HISTOGRAM].data, count = 0;
    for (size_t i = 0; i < target->elements; i++) {
        if (!row_counts(&counted, i))
            continue;
        count++;
        bool positive = of_two ? ((const int32_t *)target->data)[i] != 0 : ((const float *)target->data)[i] > 0.5f;
        histogram[(positive ? FIRN_AUC_BUCKETS : 0) + bucket_of(score_of(logits, of_two, i))]++;
    }
    add_to_count(call, FIRN_METRIC_AUC_IN_COUNT, FIRN_METRIC_AUC_OUT_COUNT, count);
}
