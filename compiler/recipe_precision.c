/* trainer.init.precision: the keys of the model zoo's MixedPrecision, and Firn's own pol_lowering, gradient_type,
 * overflow_tolerance, pol and float32_layers. */
#include <string.h>

#include "compiler/ir.h"
#include "compiler/recipe_parts.h"

#define LEAST_MINIMUM 6.103515625e-05 /* 2^-14 */

static const firnc_choice halves[] = {
    {"float16", FIRN_FLOAT16}, {"bfloat16", FIRN_BFLOAT16}, {"cbfloat16", FIRN_CBFLOAT16}, {NULL, 0}};
static const firnc_choice lowerings[] = {{"native", 0}, {"emulate", 1}, {NULL, 0}};
static const firnc_choice gradient_types[] = {{"half", 0}, {"float32", 1}, {NULL, 0}};

typedef struct settings {
    bool enabled;
    int half, emulate, float32_gradients;
    uint32_t level;
    uint64_t steps_per_increase;
    float initial, minimum, maximum, tolerance, norm, value; /* 0: not given */
} settings;

static const firnc_field fields[] = {
    {"enabled", .kind = FIRNC_FIELD_FLAG, offsetof(settings, enabled)},
    {"fp16_type", .kind = FIRNC_FIELD_CHOICE, offsetof(settings, half), .choices = halves},
    {"precision_opt_level", .kind = FIRNC_FIELD_WHOLE, offsetof(settings, level), 0, 2},
    {"loss_scaling_factor", .kind = FIRNC_FIELD_OTHER},
    {"initial_loss_scale", .kind = FIRNC_FIELD_SINGLE, offsetof(settings, initial), 0, 0, .above_low = true},
    {"steps_per_increase", .kind = FIRNC_FIELD_LONG, offsetof(settings, steps_per_increase), 1, 1e15},
    {"min_loss_scale", .kind = FIRNC_FIELD_SINGLE, offsetof(settings, minimum), LEAST_MINIMUM, 0},
    {"max_loss_scale", .kind = FIRNC_FIELD_SINGLE, offsetof(settings, maximum), LEAST_MINIMUM, 0},
    {"overflow_tolerance", .kind = FIRNC_FIELD_SINGLE, offsetof(settings, tolerance), 0, 1},
    {"max_gradient_norm", .kind = FIRNC_FIELD_SINGLE, offsetof(settings, norm), 0, 0, .above_low = true},
    {"max_gradient_value", .kind = FIRNC_FIELD_SINGLE, offsetof(settings, value), 0, 0, .above_low = true},
    {"log_loss_scale", .kind = FIRNC_FIELD_IGNORED}, /* the log has it always */
    {"pol_lowering", .kind = FIRNC_FIELD_CHOICE, offsetof(settings, emulate), .choices = lowerings},
    {"gradient_type", .kind = FIRNC_FIELD_CHOICE, offsetof(settings, float32_gradients), .choices = gradient_types},
    {"pol", .kind = FIRNC_FIELD_ENTRIES},
    {"float32_layers", .kind = FIRNC_FIELD_ENTRIES},
};

/* --- loss scaling ------------------------------------------------------------------------------------------------- */

/* Absent, null and 1.0 mean none; another number is the static factor. */
static bool read_factor(const firnc_tree *node, firnc_precision *precision) {
    static const firnc_field factor = {.kind = FIRNC_FIELD_SINGLE, .low = 0, .above_low = true};
    float value = 1;
    if (node == NULL)
        return true;
    if (node->kind == FIRNC_SCALAR && strcmp(node->text, "dynamic") == 0) {
        precision->scaling = FIRNC_SCALING_DYNAMIC;
        return true;
    }
    if (node->kind != FIRNC_SCALAR || !node->plain || strpbrk(node->text, "0123456789") == NULL)
        return firnc_tree_fail(node, "is neither a number nor dynamic; write dynamic, or a number above 0");
    if (!firnc_field_single(node, &factor, &value))
        return false;
    if (value != 1) {
        precision->scaling = FIRNC_SCALING_STATIC;
        precision->initial_loss_scale = value;
    }
    return true;
}

static bool complete_scaling(firnc_precision *precision, const settings *s, const firnc_tree *mapping) {
    float usual = precision->half == FIRN_CBFLOAT16 ? 0x1p31F : 0x1p15F;
    precision->steps_per_increase = s->steps_per_increase;
    precision->overflow_tolerance = s->tolerance;
    precision->min_loss_scale = s->minimum != 0 ? s->minimum : (float)LEAST_MINIMUM;
    precision->max_loss_scale = s->maximum != 0 ? s->maximum : usual;
    if (!(precision->min_loss_scale <= precision->max_loss_scale))
        return firnc_tree_fail(firnc_tree_child(mapping, s->minimum != 0 ? "min_loss_scale" : "max_loss_scale"),
                               "min_loss_scale %.9g is above max_loss_scale %.9g; change one of them",
                               (double)precision->min_loss_scale, (double)precision->max_loss_scale);
    if (precision->scaling == FIRNC_SCALING_DYNAMIC) {
        float initial = s->initial != 0 ? s->initial : usual;
        if (initial < precision->min_loss_scale) /* which the reference would not raise */
            return firnc_tree_fail(firnc_tree_child(mapping, s->initial != 0 ? "initial_loss_scale" : "min_loss_scale"),
                                   "initial_loss_scale %.9g is below min_loss_scale %.9g; change one of them",
                                   (double)initial, (double)precision->min_loss_scale);
        precision->initial_loss_scale = initial < precision->max_loss_scale ? initial : precision->max_loss_scale;
    }
    return true;
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

static bool read_pattern(const firnc_tree *entry, firnc_pol_pattern *pattern) {
    annotation a = {.enable_fwd = true, .enable_bwd = true};
    if (!firnc_fields_read(entry, annotation_fields, sizeof annotation_fields / sizeof annotation_fields[0], &a))
        return false;
    const firnc_tree *text = firnc_tree_child(entry, "pattern");
    if (!is_name(text))
        return false;
    bool level = firnc_tree_child(entry, "level") != NULL, bwd_level = firnc_tree_child(entry, "bwd_level") != NULL;
    *pattern = (firnc_pol_pattern){.pattern = text->text,
                                   .pol = {.level = level ? (int)a.level : FIRNC_UNSET,
                                           .bwd_level = bwd_level ? (int)a.bwd_level : FIRNC_UNSET,
                                           .enable_fwd = a.enable_fwd,
                                           .enable_bwd = a.enable_bwd},
                                   .line = text->line,
                                   .path = text->path};
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
            (firnc_layer_pattern){.pattern = entry->text, .line = entry->line, .path = entry->path};
    }
    precision->float32_layers = patterns;
    return true;
}

/* --- the whole ---------------------------------------------------------------------------------------------------- */

/* The model may say the same, never something else. */
static bool agrees(const settings *s, const firnc_model_precision *said, const firnc_tree *init) {
    const firnc_tree *model = firnc_tree_child(init, "model");
    if (said->mixed != FIRNC_UNSET && (said->mixed == 1) != s->enabled)
        return firnc_tree_fail(firnc_tree_child(model, "mixed_precision"),
                               "trainer.init.precision.enabled says otherwise; remove this key");
    if (said->half != FIRNC_UNSET && said->half != s->half)
        return firnc_tree_fail(firnc_tree_child(model, "fp16_type"),
                               "trainer.init.precision.fp16_type says otherwise; remove this key");
    return true;
}

static bool read_clipping(const firnc_tree *mapping, const settings *s, firnc_precision *precision) {
    const firnc_tree *norm = firnc_tree_child(mapping, "max_gradient_norm");
    const firnc_tree *value = firnc_tree_child(mapping, "max_gradient_value");
    if (norm != NULL && value != NULL)
        return firnc_tree_fail(norm->line > value->line ? norm : value,
                               "max_gradient_norm and max_gradient_value exclude each other; remove one of them");
    precision->clipping = norm != NULL ? FIRNC_CLIP_NORM : value != NULL ? FIRNC_CLIP_VALUE : FIRNC_CLIP_NONE;
    precision->clip_threshold = norm != NULL ? s->norm : s->value;
    return true;
}

/* The reference's rule for GPT-2, whatever its own key says. Like all that POL allows, it holds where POL is taken
 * literally; under native lowering the lower pass decides for each op. */
static void half_softmax_rule(firnc_recipe *recipe) {
    const firnc_precision *precision = &recipe->precision;
    bool low = precision->level == 2 || (precision->level == 1 && precision->half == FIRN_CBFLOAT16);
    if (precision->emulate && low)
        recipe->gpt2.attention_softmax_fp32 = false;
}

bool firnc_recipe_precision(firnc_recipe *recipe, const firnc_tree *init, const firnc_model_precision *said) {
    firnc_precision *precision = &recipe->precision;
    const firnc_tree *mapping = firnc_tree_child(init, "precision");
    settings s = {.enabled = said->mixed != 0,
                  .half = said->half != FIRNC_UNSET ? said->half : FIRN_BFLOAT16,
                  .level = 1,
                  .steps_per_increase = 2000};
    const firnc_tree nothing = {.kind = FIRNC_MAPPING, .file = init->file, .line = init->line, .path = init->path};
    if (mapping == NULL)
        mapping = &nothing;
    if (!firnc_fields_read(mapping, fields, sizeof fields / sizeof fields[0], &s) || !agrees(&s, said, init))
        return false;

    precision->mixed = s.enabled;
    precision->half = (firn_type)s.half;
    precision->level = (int)s.level;
    precision->emulate = s.emulate == 1;
    precision->gradient_type = s.enabled && s.float32_gradients == 0 ? precision->half : FIRN_FLOAT32;
    precision->initial_loss_scale = 1;
    const firnc_tree *factor = firnc_tree_child(mapping, "loss_scaling_factor");
    if (!read_factor(factor, precision) || !complete_scaling(precision, &s, mapping) ||
        !read_clipping(mapping, &s, precision) || !read_patterns(firnc_tree_child(mapping, "pol"), precision) ||
        !read_float32_layers(firnc_tree_child(mapping, "float32_layers"), precision))
        return false;
    if (!precision->mixed) {
        precision->scaling = FIRNC_SCALING_NONE; /* float32 has the range that scaling would give */
        precision->initial_loss_scale = 1;
        return true;
    }
    if (precision->half == FIRN_CBFLOAT16 && precision->scaling != FIRNC_SCALING_DYNAMIC)
        firnc_tree_warn(factor != NULL ? factor : mapping,
                        "cbfloat16 without dynamic loss scaling may lose small gradients; the model zoo refuses it; "
                        "loss_scaling_factor: dynamic is safer");
    half_softmax_rule(recipe);
    return true;
}
