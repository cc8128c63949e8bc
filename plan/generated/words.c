/* The names of the schema's enumerators.
 * Written by plan/generate from plan/plan.fbs; change that file instead. */
/* clang-format off */
#include "plan/generated/words.h"

const char *firn_fb_clipping_word(uint8_t value) {
    static const char *const words[] = {"none", "norm", "value"};
    return value < sizeof words / sizeof words[0] ? words[value] : "?";
}

const char *firn_fb_data_part_word(uint8_t value) {
    static const char *const words[] = {"all", "train", "held_out"};
    return value < sizeof words / sizeof words[0] ? words[value] : "?";
}

const char *firn_fb_element_type_word(uint8_t value) {
    static const char *const words[] = {"float32", "float16", "bfloat16", "cbfloat16", "int32", "int64", "uint8", "uint16", "int16", "int8", "bool"};
    return value < sizeof words / sizeof words[0] ? words[value] : "?";
}

const char *firn_fb_epoch_end_word(uint8_t value) {
    static const char *const words[] = {"wrap", "stop", "short"};
    return value < sizeof words / sizeof words[0] ? words[value] : "?";
}

const char *firn_fb_initialiser_rule_word(uint8_t value) {
    static const char *const words[] = {"constant", "normal", "uniform", "weights", "truncated_normal"};
    return value < sizeof words / sizeof words[0] ? words[value] : "?";
}

const char *firn_fb_metric_kind_word(uint8_t value) {
    static const char *const words[] = {"mean_loss", "perplexity", "accuracy", "weighted_accuracy", "mean_per_class_accuracy", "mean_iou", "dice", "f_beta_micro", "f_beta_macro", "auc", "mean_squared_error"};
    return value < sizeof words / sizeof words[0] ? words[value] : "?";
}

const char *firn_fb_micro_batch_order_word(uint8_t value) {
    static const char *const words[] = {"sequential", "tree"};
    return value < sizeof words / sizeof words[0] ? words[value] : "?";
}

const char *firn_fb_mode_word(uint8_t value) {
    static const char *const words[] = {"train", "eval"};
    return value < sizeof words / sizeof words[0] ? words[value] : "?";
}

const char *firn_fb_phase_kind_word(uint8_t value) {
    static const char *const words[] = {"derive", "micro_batch", "finalise", "update", "bookkeep", "evaluate", "count"};
    return value < sizeof words / sizeof words[0] ? words[value] : "?";
}

const char *firn_fb_reduction_kind_word(uint8_t value) {
    static const char *const words[] = {"f32", "chunked", "even_odd_blocks", "pairs"};
    return value < sizeof words / sizeof words[0] ? words[value] : "?";
}

const char *firn_fb_region_kind_word(uint8_t value) {
    static const char *const words[] = {"parameters", "optimizer", "session", "ring", "arena", "constant", "slow_parameters", "slow_optimizer", "slow_session", "slow_ring", "slow_arena", "slow_constant"};
    return value < sizeof words / sizeof words[0] ? words[value] : "?";
}

const char *firn_fb_role_word(uint8_t value) {
    static const char *const words[] = {"parameter", "buffer", "optimizer_state", "counter", "input", "activation", "gradient", "result", "scratch", "constant", "frozen", "ring", "cache"};
    return value < sizeof words / sizeof words[0] ? words[value] : "?";
}

const char *firn_fb_sample_unit_word(uint8_t value) {
    static const char *const words[] = {"window", "record"};
    return value < sizeof words / sizeof words[0] ? words[value] : "?";
}

const char *firn_fb_sampler_kind_word(uint8_t value) {
    static const char *const words[] = {"sequential", "permutation"};
    return value < sizeof words / sizeof words[0] ? words[value] : "?";
}

const char *firn_fb_schedule_kind_word(uint16_t value) {
    static const char *const words[] = {"constant", "linear", "cosine", "sequential", "polynomial", "exponential", "inverse_time", "inverse_square_root", "cosine_periodic", "multi_step", "piecewise", "table", "expression", "cyclic", "one_cycle", "product"};
    return value < sizeof words / sizeof words[0] ? words[value] : "?";
}

const char *firn_fb_schedule_operation_word(uint16_t value) {
    static const char *const words[] = {"number", "step", "add", "subtract", "multiply", "divide", "negate", "power", "minimum", "maximum", "less", "less_or_equal", "greater", "greater_or_equal", "where", "exp", "log", "square_root", "sine", "cosine", "floor"};
    return value < sizeof words / sizeof words[0] ? words[value] : "?";
}
