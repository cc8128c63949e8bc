/* Losses that compare each element of a prediction with its target: mean squared error, l1, huber and smooth L1, binary
 * cross-entropy, Kullback-Leibler divergence. The term that an element adds to the sum is written next to its
 * derivative; the macro generates the loops, as in activations.c. Freestanding. */
#include "runtime/kernels/blocks.h"
#include "runtime/numerics/elementary.h"

/* The parameters that a formula may use besides x, an element of the prediction, and its target. */
typedef struct settings {
    float divisor;                     /* the sum is divided by it */
    float threshold, steepness, scale; /* huber_loss only */
    bool log_target;                   /* kl_divergence only */
} settings;

static settings mean_of(const firn_tensor *prediction) {
    return (settings){.divisor = (float)prediction->elements};
}

/* Defines the kernels firn_kernel_name, loss = sum of the terms / divisor, and firn_kernel_name_backward, dprediction =
 * slope * (constant * dloss / divisor). set is an expression of `call` and `prediction` that yields the settings; OP is
 * the op as spelled in plan/generated/operands.h. */
#define LOSS(name, OP, set, term, constant, slope)                                                                     \
    void firn_kernel_##name(const firn_kernel_call *call) {                                                            \
        const firn_tensor *prediction = &call->inputs[FIRN_##OP##_IN_PREDICTION];                                      \
        const settings s = set;                                                                                        \
        float values[FIRN_BLOCK], targets[FIRN_BLOCK];                                                                 \
        firn_sum loss;                                                                                                 \
        firn_sum_begin(&loss);                                                                                         \
        for (size_t block = 0; block < firn_blocks(prediction->elements); block++) {                                   \
            const size_t count = firn_block_widen(values, prediction, block);                                          \
            firn_block_widen(targets, &call->inputs[FIRN_##OP##_IN_TARGET], block);                                    \
            for (size_t i = 0; i < count; i++) {                                                                       \
                const float x = values[i], target = targets[i];                                                        \
                values[i] = (term);                                                                                    \
            }                                                                                                          \
            firn_sum_add_many(&loss, values, count);                                                                   \
        }                                                                                                              \
        firn_set_scalar(&call->outputs[FIRN_##OP##_OUT_LOSS], firn_sum_end(&loss) / s.divisor);                        \
    }                                                                                                                  \
                                                                                                                       \
    static void name##_backward_blocks(void *argument, size_t begin, size_t end) {                                     \
        const firn_kernel_call *call = argument;                                                                       \
        const firn_tensor *prediction = &call->inputs[FIRN_##OP##_BACKWARD_IN_PREDICTION];                             \
        const settings s = set;                                                                                        \
        const float dloss = firn_scalar(&call->inputs[FIRN_##OP##_BACKWARD_IN_DLOSS]);                                 \
        const float factor = (constant)*dloss / s.divisor;                                                             \
        float values[FIRN_BLOCK], targets[FIRN_BLOCK];                                                                 \
        for (size_t block = begin; block < end; block++) {                                                             \
            const size_t count = firn_block_widen(values, prediction, block);                                          \
            firn_block_widen(targets, &call->inputs[FIRN_##OP##_BACKWARD_IN_TARGET], block);                           \
            for (size_t i = 0; i < count; i++) {                                                                       \
                const float x = values[i], target = targets[i];                                                        \
                values[i] = (slope)*factor;                                                                            \
            }                                                                                                          \
            firn_block_narrow(&call->outputs[FIRN_##OP##_BACKWARD_OUT_DPREDICTION], block, values, count);             \
        }                                                                                                              \
    }                                                                                                                  \
                                                                                                                       \
    void firn_kernel_##name##_backward(const firn_kernel_call *call) {                                                 \
        firn_split_blocks(call, name##_backward_blocks);                                                               \
    }

LOSS(mean_squared_error, MEAN_SQUARED_ERROR, mean_of(prediction), (x - target) * (x - target), 2.0f, x - target)

/* --- l1 ----------------------------------------------------------------------------------------------------------- */

/* Returns the sign of a difference: 0 for 0, NaN for NaN. */
static inline float sign(float d) {
    const float s = (float)((int32_t)(d > 0.0f) - (int32_t)(d < 0.0f));
    return firn_select_float(d == d, s, d);
}

LOSS(l1_loss, L1_LOSS, mean_of(prediction), firn_absolute(x - target), 1.0f, sign(x - target))

/* --- huber and smooth L1 ------------------------------------------------------------------------------------------ */

enum { SMOOTH = 1 }; /* form of huber_loss */
_Static_assert(FIRN_HUBER_LOSS_BACKWARD_FORM == FIRN_HUBER_LOSS_FORM &&
                   FIRN_HUBER_LOSS_BACKWARD_THRESHOLD == FIRN_HUBER_LOSS_THRESHOLD,
               "huber_of reads the attributes of both ops");

static settings huber_of(const firn_kernel_call *call, const firn_tensor *prediction) {
    const float threshold = call->reals[FIRN_HUBER_LOSS_THRESHOLD];
    const bool smooth = call->integers[FIRN_HUBER_LOSS_FORM] == SMOOTH;
    return (settings){.divisor = (float)prediction->elements,
                      .threshold = threshold,
                      .steepness = smooth ? 1.0f : threshold,
                      .scale = smooth ? threshold : 1.0f};
}

/* Quadratic up to the threshold, linear beyond it. */
static inline float huber_term(settings s, float d) {
    const float a = firn_absolute(d);
    const float near = 0.5f * a * a / s.scale;
    const float far = s.steepness * (a - 0.5f * s.threshold);
    return firn_select_float(a < s.threshold, near, far);
}

LOSS(huber_loss, HUBER_LOSS, huber_of(call, prediction), huber_term(s, x - target), 1.0f,
     firn_limit(x - target, -s.threshold, s.threshold) / s.scale)

/* --- binary cross-entropy ----------------------------------------------------------------------------------------- */

/* softplus(x) - x target, ordered to limit rounding error: the large terms are subtracted first. */
static inline float binary_term(float x, float target) {
    const float positive = firn_select_float(x > 0.0f, x, 0.0f);
    return firn_fma(-x, target, positive) + firn_log_one_exp(x);
}

LOSS(binary_cross_entropy, BINARY_CROSS_ENTROPY, mean_of(prediction), binary_term(x, target), 1.0f,
     firn_sigmoid_inline(x) - target)

/* --- Kullback-Leibler divergence ---------------------------------------------------------------------------------- */

_Static_assert(FIRN_KL_DIVERGENCE_BACKWARD_LOG_TARGET == FIRN_KL_DIVERGENCE_LOG_TARGET &&
                   FIRN_KL_DIVERGENCE_BACKWARD_BATCH_MEAN == FIRN_KL_DIVERGENCE_BATCH_MEAN,
               "divergence_of reads the attributes of both ops");

static settings divergence_of(const firn_kernel_call *call, const firn_tensor *prediction) {
    const bool batch_mean = call->integers[FIRN_KL_DIVERGENCE_BATCH_MEAN] != 0;
    return (settings){.divisor = (float)(batch_mean ? prediction->dims[0] : prediction->elements),
                      .log_target = call->integers[FIRN_KL_DIVERGENCE_LOG_TARGET] != 0};
}

/* Returns the probability of the target. */
static inline float probability(settings s, float target) {
    return s.log_target ? firn_exp_inline(target) : target;
}

/* p (log p - x), where p is the probability of the target. A probability of 0 adds 0, even if x is infinite or NaN. */
static inline float divergence_term(settings s, float x, float target) {
    const float p = probability(s, target), log_p = s.log_target ? target : firn_log_inline(target);
    return firn_select_float(p == 0.0f, 0.0f, p * (log_p - x));
}

/* The term is linear in x, so its derivative does not contain x. */
static inline float divergence_slope(settings s, float x, float target) {
    (void)x;
    return -probability(s, target);
}

LOSS(kl_divergence, KL_DIVERGENCE, divergence_of(call, prediction), divergence_term(s, x, target), 1.0f,
     divergence_slope(s, x, target))

/* --- the loss of each sample -------------------------------------------------------------------------------------- */

_Static_assert(FIRN_HUBER_LOSS_FORM == 0 && FIRN_HUBER_LOSS_THRESHOLD == FIRN_SAMPLE_LOSS_THRESHOLD &&
                   FIRN_KL_DIVERGENCE_LOG_TARGET == 0 && FIRN_KL_DIVERGENCE_BATCH_MEAN == 1 &&
                   FIRN_SAMPLE_LOSS_BATCH_MEAN == FIRN_SAMPLE_LOSS_LOG_TARGET + 1,
               "the attributes of huber_loss and kl_divergence stand in those of sample_loss in the same order");

static firn_kernel kernel_of(int64_t loss) {
    switch (loss) {
    case FIRN_OP_l1_loss:
        return firn_kernel_l1_loss;
    case FIRN_OP_huber_loss:
        return firn_kernel_huber_loss;
    case FIRN_OP_binary_cross_entropy:
        return firn_kernel_binary_cross_entropy;
    case FIRN_OP_kl_divergence:
        return firn_kernel_kl_divergence;
    default:
        return firn_kernel_mean_squared_error;
    }
}

/* Returns the part of a tensor that belongs to one of so many samples. `leading` holds its first extent; no loss reads
 * another. */
static firn_tensor part_of_sample(const firn_tensor *tensor, size_t samples, size_t sample, const uint32_t *leading) {
    firn_tensor part = *tensor;
    part.elements = tensor->elements / samples;
    part.data = (uint8_t *)tensor->data + sample * part.elements * firn_type_bytes(tensor->type);
    part.dims = leading;
    part.rank = 1;
    return part;
}

void firn_kernel_sample_loss(const firn_kernel_call *call) {
    const firn_tensor *losses = &call->outputs[FIRN_SAMPLE_LOSS_OUT_LOSSES];
    const size_t samples = losses->elements;
    const uint32_t leading = call->inputs[FIRN_SAMPLE_LOSS_IN_PREDICTION].dims[0] / (uint32_t)samples;
    const int64_t loss = call->integers[FIRN_SAMPLE_LOSS_LOSS];
    for (size_t sample = 0; sample < samples; sample++) {
        const firn_tensor inputs[] = {
            part_of_sample(&call->inputs[FIRN_SAMPLE_LOSS_IN_PREDICTION], samples, sample, &leading),
            part_of_sample(&call->inputs[FIRN_SAMPLE_LOSS_IN_TARGET], samples, sample, &leading)};
        const firn_tensor output = {.data = (float *)losses->data + sample, .elements = 1, .type = FIRN_FLOAT32};
        const firn_kernel_call part = {
            .inputs = inputs,
            .outputs = &output,
            .input_count = 2,
            .output_count = 1,
            .integers =
                &call->integers[loss == FIRN_OP_huber_loss ? FIRN_SAMPLE_LOSS_FORM : FIRN_SAMPLE_LOSS_LOG_TARGET],
            .reals = call->reals};
        kernel_of(loss)(&part);
    }
}
