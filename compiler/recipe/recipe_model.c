/* trainer.init.model: finds the named model in the table of models, which defines its keys, and reads its settings. The
 * keys that all models share are defined here. */
#include <stdlib.h>
#include <string.h>

#include "compiler/base/text.h"
#include "compiler/models/onnx.h"
#include "compiler/models/parts.h"
#include "compiler/recipe/recipe_parts.h"

static const firnc_choice flags[] = {{"true", 1}, {"True", 1}, {"false", 0}, {"False", 0}, {NULL, 0}};
static const firnc_choice halves[] = {
    {"float16", FIRN_FLOAT16}, {"bfloat16", FIRN_BFLOAT16}, {"cbfloat16", FIRN_CBFLOAT16}, {NULL, 0}};
/* use_bfloat16, the key of the first releases that had bfloat16 */
static const firnc_choice half_flags[] = {
    {"true", FIRN_BFLOAT16}, {"True", FIRN_BFLOAT16}, {"false", FIRN_FLOAT16}, {"False", FIRN_FLOAT16}, {NULL, 0}};

static const firnc_field common_fields[] = {
    {"name", .kind = FIRNC_FIELD_OTHER},
    {"compute_eval_metrics", .kind = FIRNC_FIELD_FLAG, offsetof(firnc_model_settings, compute_eval_metrics)},
    {"mixed_precision", .kind = FIRNC_FIELD_CHOICE, offsetof(firnc_model_settings, mixed), .choices = flags},
    {"fp16_type", .kind = FIRNC_FIELD_CHOICE, offsetof(firnc_model_settings, half), .choices = halves},
    {"use_bfloat16", .kind = FIRNC_FIELD_CHOICE, offsetof(firnc_model_settings, half), .choices = half_flags},
};

enum { COMMON = sizeof common_fields / sizeof common_fields[0] };

/* The names of the model table, each with its index. */
static const firnc_choice *model_names(void) {
    uint32_t count = 0;
    while (firnc_model_at(count) != NULL)
        count++;
    firnc_choice *names = firnc_allocate((count + UINT64_C(1)) * sizeof *names);
    for (uint32_t i = 0; i < count; i++)
        names[i] = (firnc_choice){firnc_model_at(i)->name, (int)i};
    return names;
}

/* Reads the model's own keys and the shared ones into the model's settings. */
static bool read_settings(const firnc_tree *keys, const firnc_model *model, firnc_model_settings *settings) {
    firnc_field *fields = firnc_allocate((model->field_count + UINT64_C(1) * COMMON) * sizeof *fields);
    memcpy(fields, model->fields, model->field_count * sizeof *fields);
    memcpy(fields + model->field_count, common_fields, sizeof common_fields);
    return firnc_fields_read(keys, fields, model->field_count + COMMON, settings) && model->complete(keys, settings);
}

/* The node of the largest size; the model's mapping if no size is given. */
static const firnc_tree *largest_size(const firnc_tree *keys, const char *const *sizes) {
    const firnc_tree *largest = keys;
    double most = 0;
    for (const char *const *key = sizes; *key != NULL; key++) {
        const firnc_tree *node = firnc_tree_child(keys, *key);
        const firnc_tree *size = node != NULL && node->kind == FIRNC_LIST ? node->first : node;
        for (; size != NULL; size = size == node ? NULL : size->next)
            if (strtod(size->text, NULL) > most) {
                most = strtod(size->text, NULL);
                largest = size;
            }
    }
    return largest;
}

/* Whether a model has every key of a mapping, and the mapping every key that the model requires. */
static bool fits(const firnc_tree *keys, const firnc_model *model) {
    for (const firnc_tree *child = keys->first; child != NULL; child = child->next) {
        bool known = false;
        for (uint32_t i = 0; i < model->field_count; i++)
            known = known || strcmp(child->key, model->fields[i].key) == 0;
        for (uint32_t i = 0; i < COMMON; i++)
            known = known || strcmp(child->key, common_fields[i].key) == 0;
        if (!known)
            return false;
    }
    for (uint32_t i = 0; i < model->field_count; i++)
        if (model->fields[i].required && firnc_tree_child(keys, model->fields[i].key) == NULL)
            return false;
    return true;
}

/* In the model zoo's older releases the script says which model it is, and not the recipe: then it is the first of the
 * table that fits. */
static const firnc_model *guess_model(const firnc_tree *keys, const firnc_choice *names) {
    const firnc_model *first = NULL;
    const char *others = "";
    for (uint32_t i = 0; keys->kind == FIRNC_MAPPING && firnc_model_at(i) != NULL; i++) {
        if (!fits(keys, firnc_model_at(i)))
            continue;
        if (first == NULL)
            first = firnc_model_at(i);
        else
            others = firnc_format("%s, %s", others, firnc_model_at(i)->name);
    }
    if (first == NULL)
        firnc_tree_fail(keys, "name is missing; add one of %s", firnc_choices_text(names));
    else
        firnc_idle_say(keys, firnc_format("name is taken as %s", first->name),
                       firnc_format("its keys are those of %s%s; write name", first->name, others));
    return first;
}

/* Whether a name is that of a class of transformers, as LlamaForCausalLM, or of a model on its hub, as
 * EleutherAI/pythia-70m. */
static bool is_of_transformers(const firnc_tree *name) {
    static const char *const endings[] = {"LMHeadModel", "DoubleHeadsModel", "PreTrainedModel", "Config", "Model"};
    if (name->kind != FIRNC_SCALAR)
        return false;
    const char *text = name->text;
    const size_t length = strlen(text);
    for (size_t i = 0; i < sizeof endings / sizeof endings[0]; i++)
        if (length > strlen(endings[i]) && strcmp(text + length - strlen(endings[i]), endings[i]) == 0)
            return true;
    const char *head = strstr(text, "For"), *slash = strchr(text, '/');
    return (head != NULL && head > text && head[3] >= 'A' && head[3] <= 'Z') || (slash != NULL && slash > text);
}

static const firnc_model *find_model(const firnc_tree *keys) {
    const firnc_tree *name = firnc_tree_child(keys, "name");
    const firnc_choice *names = model_names();
    int position;
    if (name == NULL && firnc_tree_child(keys, firnc_model_onnx.fields[0].key) != NULL)
        return &firnc_model_onnx; /* a file is all that there is to say */
    if (name == NULL)
        return guess_model(keys, names);
    if (is_of_transformers(name)) {
        firnc_tree_fail(
            name,
            "%s is a name of transformers; remove trainer.init.model and give firnc compile --hf FOLDER, the "
            "folder that save_pretrained wrote",
            name->text);
        return NULL;
    }
    return firnc_field_choice(name, names, &position) ? firnc_model_at((uint32_t)position) : NULL;
}

bool firnc_recipe_model(firnc_recipe *recipe, const firnc_tree *keys, firnc_model_settings *said) {
    const firnc_model *model = find_model(keys);
    if (model == NULL)
        return false;
    firnc_model_settings *settings = firnc_allocate(model->settings_bytes);
    memcpy(settings, model->defaults, model->settings_bytes);
    *settings = (firnc_model_settings){.compute_eval_metrics = true, .mixed = FIRNC_UNSET, .half = FIRNC_UNSET};
    if (!read_settings(keys, model, settings))
        return false;
    const firnc_tree *old = firnc_tree_child(keys, "use_bfloat16");
    if (old != NULL && firnc_tree_child(keys, "fp16_type") != NULL)
        return firnc_tree_fail(old, "fp16_type says which half type; remove this key");
    recipe->model = model;
    recipe->settings = settings;
    recipe->facts = model->facts(settings);
    recipe->facts.unclassed = firnc_ignores_no_class(keys);
    if (recipe->facts.unclassed && recipe->facts.longest_sequence != 0)
        firnc_idle_note(firnc_tree_child(keys, "ignore_index"),
                        "the labels of a text are its tokens, and none of them is -100; remove it");
    if (firnc_tree_child(keys, recipe->facts.layers_key) != NULL)
        recipe->job.places.layers = firnc_tree_place(firnc_tree_child(keys, recipe->facts.layers_key));
    recipe->job.places.size = firnc_tree_place(largest_size(keys, recipe->facts.sizes));
    *said = *settings;
    return true;
}
