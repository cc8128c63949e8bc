/* Words and texts that several files print (compiler/base/words.h). */
#include "compiler/base/words.h"

#include <stddef.h>
#include <stdio.h>

#include "compiler/base/text.h"
#include "compiler/recipe/recipe.h"

/* --- enumerations ------------------------------------------------------------------------------------------------- */

static const char *word(const char *const *words, size_t count, uint8_t value) {
    return value < count ? words[value] : "?";
}

#define WORD(words, value) word(words, sizeof(words) / sizeof *(words), value)

const char *firnc_phase_word(uint8_t kind) {
    static const char *const words[] = {"micro_batch", "finalise", "update", "bookkeep", "evaluate"};
    return WORD(words, kind);
}

const char *firnc_role_word(uint8_t role) {
    static const char *const words[] = {"parameter",  "optimizer_state", "counter", "input",
                                        "activation", "gradient",        "result",  "constant"};
    return WORD(words, role);
}

const char *firnc_region_word(uint8_t kind) {
    static const char *const words[] = {"state", "arena", "constant"};
    return WORD(words, kind);
}

const char *firnc_origin_word(uint8_t origin) {
    static const char *const words[] = {"none", "global", "pattern", "scope", "call", "rule"};
    return WORD(words, origin);
}

const char *firnc_scaling_word(uint8_t kind) {
    static const char *const words[] = {"none", "static", "dynamic"};
    return WORD(words, kind);
}

const char *firnc_clipping_word(uint8_t kind) {
    static const char *const words[] = {"none", "norm", "value"};
    return WORD(words, kind);
}

const char *firnc_metric_word(uint8_t kind) {
    static const char *const words[] = {
        "mean_loss",    "perplexity",   "accuracy", "weighted_accuracy", "mean_per_class_accuracy", "mean_iou", "dice",
        "f_beta_micro", "f_beta_macro", "auc",      "mean_squared_error"};
    return WORD(words, kind);
}

const char *firnc_part_word(uint8_t part) {
    static const char *const words[] = {"all", "train", "held_out"};
    return WORD(words, part);
}

/* --- texts -------------------------------------------------------------------------------------------------------- */

const char *firnc_shape_text(const firn_shape *shape) {
    const char *text = firnc_format("%s[", firn_type_name(shape->type));
    for (uint8_t i = 0; i < shape->rank; i++)
        text = firnc_format("%s%s%u", text, i == 0 ? "" : ",", (unsigned)shape->dims[i]);
    return firnc_format("%s%s]", text, shape->rank == 0 ? "?" : "");
}

const char *firnc_hex(const uint8_t *bytes, uint32_t count) {
    char *text = firnc_allocate(2 * (uint64_t)count + 1);
    for (uint32_t i = 0; i < count; i++)
        snprintf(text + 2 * (size_t)i, 3, "%02x", (unsigned)bytes[i]);
    return text;
}

const char *firnc_optimizer_word(uint8_t optimizer) {
    static const char *const words[] = {[FIRNC_SGD] = "SGD",           [FIRNC_ADAM] = "Adam",
                                        [FIRNC_ADAMW] = "AdamW",       [FIRNC_ADAFACTOR] = "Adafactor",
                                        [FIRNC_LAMB] = "Lamb",         [FIRNC_LION] = "Lion",
                                        [FIRNC_RMSPROP] = "RMSprop",   [FIRNC_RADAM] = "RAdam",
                                        [FIRNC_NADAM] = "NAdam",       [FIRNC_ADAMAX] = "Adamax",
                                        [FIRNC_RPROP] = "Rprop",       [FIRNC_ADAGRAD] = "Adagrad",
                                        [FIRNC_ADADELTA] = "Adadelta", [FIRNC_ASGD] = "ASGD",
                                        [FIRNC_MUON] = "Muon"};
    return WORD(words, optimizer);
}
