/* trainer.init.precision: the keys of the model zoo's MixedPrecision, and Firn's own keys pol_lowering, gradient_type,
 * overflow_tolerance, pol and float32_layers. */
#include <string.h>

#include "compiler/base/text.h"
#include "compiler/job/precision.h"
#include "compiler/keys/tree_edit.h"
#include "compiler/recipe/recipe_parts.h"
#include "plan/generated/reader.h"

static const firnc_choice halves[] = {
    {"float16", FIRN_FLOAT16}, {"bfloat16", FIRN_BFLOAT16}, {"cbfloat16", FIRN_CBFLOAT16}, {NULL, 0}};
static const firnc_choice lowerings[] = {{"native", 0}, {"emulate", 1}, {NULL, 0}};
static const firnc_choice gradient_types[] = {{"half", 0}, {"float32", 1}, {NULL, 0}};

/* The values as they are written; precision.c gives them their meaning. */
typedef struct settings {
    firnc_mixed_precision keys;
    int half, emulate, float32_gradients;
    uint32_t level;
} settings;

#define KEY(name) offsetof(settings, keys.name)

static const firnc_field fields[] = {
    {"enabled", .kind = FIRNC_FIELD_FLAG, KEY(enabled)},
    {"fp16_type", .kind = FIRNC_FIELD_CHOICE, offsetof(settings, half), .choices = halves},
    {"precision_opt_level", .kind = FIRNC_FIELD_WHOLE, offsetof(settings, level), 0, 2},
    {"loss_scaling_factor", .kind = FIRNC_FIELD_OTHER},
    {"initial_loss_scale", .kind = FIRNC_FIELD_SINGLE, KEY(initial_loss_scale), 0, 0, .above_low = true},
    {"steps_per_increase", .kind = FIRNC_FIELD_LONG, KEY(steps_per_increase), 1, 1e15},
    {"min_loss_scale", .kind = FIRNC_FIELD_SINGLE, KEY(min_loss_scale), (double)FIRNC_LEAST_LOSS_SCALE, 0},
    {"max_loss_scale", .kind = FIRNC_FIELD_SINGLE, KEY(max_loss_scale), (double)FIRNC_LEAST_LOSS_SCALE, 0},
    {"overflow_tolerance", .kind = FIRNC_FIELD_SINGLE, KEY(overflow_tolerance), 0, 1},
    {"max_gradient_norm", .kind = FIRNC_FIELD_SINGLE, KEY(max_gradient_norm), 0, 0, .above_low = true},
    {"max_gradient_value", .kind = FIRNC_FIELD_SINGLE, KEY(max_gradient_value), 0, 0, .above_low = true},
    {"log_loss_scale", .kind = FIRNC_FIELD_IGNORED, .usual = "true",
     .only = "firn train --log always has the scale; remove it"},
    {"pol_lowering", .kind = FIRNC_FIELD_CHOICE, offsetof(settings, emulate), .choices = lowerings},
    {"gradient_type", .kind = FIRNC_FIELD_CHOICE, offsetof(settings, float32_gradients), .choices = gradient_types},
    {"pol", .kind = FIRNC_FIELD_ENTRIES},
    {"float32_layers", .kind = FIRNC_FIELD_ENTRIES},
    FIRNC_OPTIMIZER_KEYS_BELOW,
    FIRNC_LOOP_KEYS_BELOW,
    FIRNC_DATA_KEYS_BELOW,
    FIRNC_INIT_KEYS_BELOW,
};

/* --- loss scaling ------------------------------------------------------------------------------------------------- */

/* Absent, null and 1.0 mean no loss scaling; any other number is the static factor. */
static bool read_factor(const firnc_tree *node, float *scaling) {
    static const firnc_field factor = {.kind = FIRNC_FIELD_SINGLE, .low = FIRNC_LEAST_STATIC_SCALE};
    if (node == NULL)
        return true;
    if (node->kind == FIRNC_SCALAR && strcmp(node->text, "dynamic") == 0) {
        *scaling = FIRNC_DYNAMIC;
        return true;
    }
    if (node->kind != FIRNC_SCALAR || !node->plain || strpbrk(node->text, "0123456789") == NULL)
        return firnc_tree_fail(node, "is neither a number nor dynamic; write dynamic, or a number such as 128");
    return firnc_field_single(node, &factor, scaling);
}

/* --- POL patterns ------------------------------------------------------------------------------------------------- */

typedef struct annotation {
    uint32_t level, bwd_level;
    bool enable_fwd, enable_bwd;
} annotation;

static const firnc_field annotation_fields[] = {
    {"pattern", .kind = FIRNC_FIELD_OTHER, .required = true},
    {"level", .kind = FIRNC_FIELD_WHOLE, offsetof(annotation, level), 0, 2},
    {"bwd_level", .kind = FIRNC_FIELD_WHOLE, offsetof(annotation, bwd_level), 0, 2},
    {"enable_fwd", .kind = FIRNC_FIELD_FLAG, offsetof(annotation, enable_fwd)},
    {"enable_bwd", .kind = FIRNC_FIELD_FLAG, offsetof(annotation, enable_bwd)},
};

static bool is_name(const firnc_tree *text) {
    return text->kind == FIRNC_SCALAR ||
           firnc_tree_fail(text, "is not a text; write the name of a layer, with * and ? where it may vary");
}

/* bwd_level is for the backward pass; level is for the forward pass, and for both without bwd_level. */
static void note_idle_levels(const firnc_tree *entry, const annotation *a) {
    static const firnc_idle_key level = {"level", NULL}, bwd_level = {"bwd_level", NULL};
    const bool level_is_backward = a->enable_bwd && firnc_tree_child(entry, bwd_level.key) == NULL;
    if (!a->enable_bwd)
        firnc_idle_note_keys(entry, &bwd_level, 1, firnc_tree_child(entry, "enable_bwd"),
                             "enable_bwd is false; remove one of the two");
    if (!a->enable_fwd && !level_is_backward)
        firnc_idle_note_keys(entry, &level, 1, firnc_tree_child(entry, "enable_fwd"),
                             "enable_fwd is false; remove one of the two");
}

static bool read_pattern(const firnc_tree *entry, firnc_pol_pattern *pattern) {
    annotation a = {.enable_fwd = true, .enable_bwd = true};
    if (!firnc_fields_read(entry, annotation_fields, sizeof annotation_fields / sizeof annotation_fields[0], &a))
        return false;
    const firnc_tree *text = firnc_tree_child(entry, "pattern");
    if (!is_name(text))
        return false;
    note_idle_levels(entry, &a);
    bool level = firnc_tree_child(entry, "level") != NULL, bwd_level = firnc_tree_child(entry, "bwd_level") != NULL;
    *pattern = (firnc_pol_pattern){.pattern = text->text,
                                   .pol = {.level = level ? (int)a.level : FIRNC_UNSET,
                                           .bwd_level = bwd_level ? (int)a.bwd_level : FIRNC_UNSET,
                                           .enable_fwd = a.enable_fwd,
                                           .enable_bwd = a.enable_bwd},
                                   .place = firnc_tree_place(text)};
    return true;
}

static bool read_patterns(const firnc_tree *list, firnc_precision *precision) {
    if (list == NULL || list->first == NULL)
        return true;
    firnc_pol_pattern *patterns = firnc_allocate(firnc_tree_count(list) * sizeof *patterns);
    for (const firnc_tree *entry = list->first; entry != NULL; entry = entry->next)
        if (!read_pattern(entry, &patterns[precision->pattern_count++]))
            return false;
    precision->patterns = patterns;
    return true;
}

static bool read_float32_layers(const firnc_tree *list, firnc_precision *precision) {
    if (list == NULL || list->first == NULL)
        return true;
    firnc_layer_pattern *patterns = firnc_allocate(firnc_tree_count(list) * sizeof *patterns);
    for (const firnc_tree *entry = list->first; entry != NULL; entry = entry->next) {
        if (!is_name(entry))
            return false;
        patterns[precision->float32_layer_count++] =
            (firnc_layer_pattern){.pattern = entry->text, .place = firnc_tree_place(entry)};
    }
    precision->float32_layers = patterns;
    return true;
}

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

/* --- keys without effect ------------------------------------------------------------------------------------------ */

/* Keys of dynamic loss scaling. */
static const firnc_idle_key dynamic_keys[] = {{"initial_loss_scale", NULL},
                                              {"steps_per_increase", "2000"},
                                              {"min_loss_scale", NULL},
                                              {"max_loss_scale", NULL},
                                              {"overflow_tolerance", "0"}};

/* Keys of the model that say the half type. */
static const firnc_idle_key half_keys[] = {{"fp16_type", "bfloat16"}, {"use_bfloat16", "true"}};

/* Keys that need mixed precision. gradient_type is not among them: one of its values is the default, and the other is
 * so in float32 anyway. */
static const firnc_idle_key mixed_keys[] = {{"fp16_type", "bfloat16"},
                                            {"precision_opt_level", "1"},
                                            {"pol_lowering", "native"},
                                            {"pol", NULL},
                                            {"float32_layers", NULL}};

static const firnc_idle_key factor = {"loss_scaling_factor", "1"};

static void take_all(firnc_tree *mapping, const firnc_idle_key *keys, size_t count) {
    for (size_t i = 0; i < count; i++)
        (void)firnc_tree_take(mapping, keys[i].key);
}

void firnc_recipe_take_mixed_keys(const firnc_model *model, firnc_tree *keys, firnc_tree *precision) {
    take_all(keys, model->mixed_keys, model->mixed_key_count);
    take_all(keys, half_keys, COUNT(half_keys));
    take_all(precision, mixed_keys, COUNT(mixed_keys));
    take_all(precision, &factor, 1);
    take_all(precision, dynamic_keys, COUNT(dynamic_keys));
}

const firnc_tree *firnc_recipe_precision_switch(const firnc_tree *init) {
    const firnc_tree *enabled = firnc_tree_child(firnc_tree_child(init, "precision"), "enabled");
    return enabled != NULL ? enabled : firnc_tree_child(firnc_tree_child(init, "model"), "mixed_precision");
}

/* Notes an initial scale that max_loss_scale lowers; without that key it is the largest that suits the half type. */
static void note_lowered_scale(const firnc_precision *precision, const firnc_tree *node, float initial_loss_scale) {
    if (node == NULL || initial_loss_scale <= precision->max_loss_scale)
        return;
    const char *lowered = firnc_single_text(precision->max_loss_scale);
    firnc_idle_say(node, firnc_format("%.60s becomes %s", node->text, lowered),
                   firnc_format("the scale is never above max_loss_scale, %s; write %s, or raise max_loss_scale",
                                lowered, lowered));
}

#define LARGEST_FLOAT16 65504.0F

/* Notes a static factor at which a gradient of 1 is no float16. */
static void note_large_factor(const firnc_precision *precision, const firnc_tree *factor) {
    if (precision->half == FIRN_FLOAT16 && precision->scaling == FIRNC_SCALING_STATIC &&
        precision->initial_loss_scale > LARGEST_FLOAT16)
        firnc_idle_say(factor, "is more than float16 holds",
                       "gradients times the factor overflow from 65504 on, and every such step is skipped; write a "
                       "smaller factor, or dynamic");
}

/* Notes a loss scale at which gradients of usual size are 0 in the half type. A gradient times the scale becomes 0
 * below the least number of the type, so gradients below that number divided by the scale are lost: those below 2^-14,
 * 0.00006, if the scale is below 2^-10 with float16. Most gradients of a mean loss are smaller. */
static void note_small_scale(const firnc_precision *precision, const firnc_tree *key) {
    const double least = precision->half == FIRN_FLOAT16    ? 0x1p-24
                         : precision->half == FIRN_BFLOAT16 ? 0x1p-133
                                                            : 0x1p-39;
    const double lost = least / (double)precision->initial_loss_scale;
    if (key != NULL && lost > 0x1p-14)
        firnc_idle_say(key, "makes gradients 0",
                       firnc_format("those below %.3g are 0 in the half type when the loss is scaled by %s; write 1 or "
                                    "more, or leave the scale to dynamic",
                                    lost, firnc_single_text(precision->initial_loss_scale)));
}

/* Loss scaling is for training only. */
static void note_idle_keys(const firnc_job *job, const firnc_tree *init, const firnc_tree *mapping,
                           float initial_loss_scale) {
    const firnc_tree *off = firnc_recipe_precision_switch(init);
    const bool train = job->mode == FIRNC_TRAIN;
    if (!job->precision.mixed) {
        firnc_idle_note_keys(firnc_tree_child(init, "model"), half_keys, COUNT(half_keys), off,
                             FIRNC_RECIPE_IN_FLOAT32);
        firnc_idle_note_keys(mapping, mixed_keys, COUNT(mixed_keys), off, FIRNC_RECIPE_IN_FLOAT32);
        firnc_idle_note_keys(mapping, &factor, train ? 1 : 0, off, FIRNC_RECIPE_IN_FLOAT32);
        firnc_idle_note_keys(mapping, dynamic_keys, train ? COUNT(dynamic_keys) : 0, off, FIRNC_RECIPE_IN_FLOAT32);
    } else if (train && job->precision.scaling == FIRNC_SCALING_DYNAMIC) {
        const firnc_tree *first = firnc_tree_child(mapping, "initial_loss_scale");
        const firnc_tree *most = firnc_tree_child(mapping, "max_loss_scale");
        note_lowered_scale(&job->precision, first, initial_loss_scale);
        note_small_scale(&job->precision,
                         first != NULL && initial_loss_scale <= job->precision.max_loss_scale ? first : most);
    } else if (train) {
        note_large_factor(&job->precision, firnc_tree_child(mapping, factor.key));
        note_small_scale(&job->precision, firnc_tree_child(mapping, factor.key));
        firnc_idle_note_keys(mapping, dynamic_keys, COUNT(dynamic_keys), firnc_tree_child(mapping, factor.key),
                             "the loss scale is fixed; write loss_scaling_factor: dynamic, or remove this key");
    }
}

/* --- the whole ---------------------------------------------------------------------------------------------------- */

/* The model's mapping may repeat a precision setting but may not contradict it. */
static bool agrees(const settings *s, const firnc_model_settings *said, const firnc_tree *init) {
    const firnc_tree *model = firnc_tree_child(init, "model");
    if (said->mixed != FIRNC_UNSET && (said->mixed == 1) != s->keys.enabled)
        return firnc_tree_fail(firnc_tree_child(model, "mixed_precision"),
                               "trainer.init.precision.enabled says otherwise; remove this key");
    const firnc_tree *half = firnc_tree_child(model, "fp16_type");
    if (said->half != FIRNC_UNSET && said->half != s->half)
        return firnc_tree_fail(half != NULL ? half : firnc_tree_child(model, "use_bfloat16"),
                               "trainer.init.precision.fp16_type says otherwise; remove this key");
    return true;
}

/* If both clip keys are given, the message points at the one lower in the file. */
static bool tell_fault(const firnc_tree *mapping, const firnc_precision_fault *fault) {
    const firnc_tree *key = firnc_tree_child(mapping, fault->key);
    const firnc_tree *norm = firnc_tree_child(mapping, "max_gradient_norm");
    if (strcmp(fault->key, "max_gradient_value") == 0 && norm != NULL && norm->line > key->line)
        key = norm;
    return firnc_tree_fail(key != NULL ? key : mapping, "%s", fault->reason);
}

bool firnc_recipe_precision(firnc_job *job, const firnc_tree *init, const firnc_model_settings *said) {
    firnc_precision *precision = &job->precision;
    const firnc_tree *mapping = firnc_tree_child(init, "precision");
    settings s = {.keys = firnc_mixed_precision_defaults(), .level = 1};
    s.keys.enabled = said->mixed != 0;
    s.half = said->half != FIRNC_UNSET ? said->half : (int)s.keys.fp16_type;
    const firnc_tree nothing = {.kind = FIRNC_MAPPING, .file = init->file, .line = init->line, .path = init->path};
    if (mapping == NULL)
        mapping = &nothing;
    const firnc_tree *factor = firnc_tree_child(mapping, "loss_scaling_factor");
    if (!firnc_fields_read(mapping, fields, sizeof fields / sizeof fields[0], &s) || !agrees(&s, said, init) ||
        !read_factor(factor, &s.keys.loss_scaling_factor))
        return false;

    firnc_precision_fault fault;
    s.keys.fp16_type = (firn_type)s.half;
    s.keys.precision_opt_level = (int)s.level;
    s.keys.emulate = s.emulate == 1;
    s.keys.float32_gradients = s.float32_gradients == 1;
    if (!firnc_mixed_precision_complete(&s.keys, precision, &fault))
        return tell_fault(mapping, &fault);
    if (!read_patterns(firnc_tree_child(mapping, "pol"), precision) ||
        !read_float32_layers(firnc_tree_child(mapping, "float32_layers"), precision))
        return false;
    const char *warning = firnc_mixed_precision_warning(precision);
    if (warning != NULL)
        firnc_tree_warn(factor != NULL ? factor : mapping, "%s", warning);
    note_idle_keys(job, init, mapping, s.keys.initial_loss_scale);
    return true;
}
