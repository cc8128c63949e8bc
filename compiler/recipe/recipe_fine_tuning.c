/* trainer.init.fine_tuning: which parameters are trained where the others keep the values of a weights file, and how
 * those are stored. What a form means for a graph is decided in compiler/passes/frozen.c and lora.c. */
#include "compiler/recipe/recipe_parts.h"

enum { HALF_OF_THE_RUN = -1 };

static const firnc_choice types[] = {{"float32", FIRN_FLOAT32},     {"half", HALF_OF_THE_RUN},
                                     {"float16", FIRN_FLOAT16},     {"bfloat16", FIRN_BFLOAT16},
                                     {"cbfloat16", FIRN_CBFLOAT16}, {NULL, 0}};

static const firnc_field fields[] = {
    {"bias_only", .kind = FIRNC_FIELD_FLAG, offsetof(firnc_fine_tuning, bias_only)},
    {"last_layers", .kind = FIRNC_FIELD_WHOLE, offsetof(firnc_fine_tuning, last_layers), 1, 65536},
    {"lora", .kind = FIRNC_FIELD_NESTED},
    {"train", .kind = FIRNC_FIELD_OTHER},
    {"frozen_type", .kind = FIRNC_FIELD_OTHER},
};

static const firnc_field lora_fields[] = {
    {"layers", .kind = FIRNC_FIELD_OTHER, .required = true},
    {"rank", .kind = FIRNC_FIELD_WHOLE, offsetof(firnc_fine_tuning, rank), 1, 65536, .required = true},
    {"alpha", .kind = FIRNC_FIELD_SINGLE, offsetof(firnc_fine_tuning, alpha), 0, 1e9, .above_low = true,
     .required = true},
    {"dropout", .kind = FIRNC_FIELD_SINGLE, offsetof(firnc_fine_tuning, dropout), 0, 1, .below_high = true},
};

bool firnc_recipe_patterns(const firnc_tree *node, const char *of, const firnc_job_pattern **patterns,
                           uint32_t *count) {
    const bool list = node->kind == FIRNC_LIST;
    const uint32_t more = list ? firnc_tree_count(node) : 1;
    firnc_job_pattern *all = firnc_allocate((UINT64_C(1) + *count + more) * sizeof *all);
    for (uint32_t i = 0; i < *count; i++)
        all[i] = (*patterns)[i];
    for (const firnc_tree *name = list ? node->first : node; name != NULL; name = list ? name->next : NULL) {
        if (name->kind != FIRNC_SCALAR || name->text[0] == '\0')
            return firnc_tree_fail(name, "is not a pattern of %s", of);
        all[(*count)++] = (firnc_job_pattern){name->text, firnc_tree_place(name)};
    }
    *patterns = all;
    return more > 0 || firnc_tree_fail(node, "is empty; write a pattern of %s", of);
}

static bool read_lora(const firnc_tree *mapping, firnc_fine_tuning *form) {
    return firnc_fields_read(mapping, lora_fields, sizeof lora_fields / sizeof lora_fields[0], form) &&
           firnc_recipe_patterns(firnc_tree_child(mapping, "layers"), FIRNC_RECIPE_LAYERS, &form->layers,
                                 &form->layer_count);
}

/* `half` is the half type of the run, and in a float32 run float32. */
static bool read_frozen_type(const firnc_tree *node, const firnc_precision *precision, firnc_fine_tuning *form) {
    int type;
    if (!firnc_field_choice(node, types, &type))
        return false;
    if (type == HALF_OF_THE_RUN)
        type = precision->mixed ? (int)precision->half : FIRN_FLOAT32;
    form->frozen_type = (firn_type)type;
    form->frozen_type_place = firnc_tree_place(node);
    return true;
}

bool firnc_recipe_fine_tuning(firnc_job *job, const firnc_tree *mapping) {
    static const firnc_idle_key stored = {"frozen_type", "float32"};
    firnc_fine_tuning *form = &job->fine_tuning;
    if (mapping == NULL)
        return true;
    form->place = firnc_tree_place(mapping);
    if (!firnc_fields_read(mapping, fields, sizeof fields / sizeof fields[0], form))
        return false;
    const firnc_tree *lora = firnc_tree_child(mapping, "lora"), *train = firnc_tree_child(mapping, "train");
    const firnc_tree *type = firnc_tree_child(mapping, "frozen_type");
    if ((lora != NULL && !read_lora(lora, form)) || (type != NULL && !read_frozen_type(type, &job->precision, form)) ||
        (train != NULL && !firnc_recipe_patterns(train, FIRNC_RECIPE_PARAMETERS, &form->trained, &form->trained_count)))
        return false;
    if (job->frozen_count == 0 && !form->bias_only && form->last_layers == 0 && lora == NULL && train == NULL)
        firnc_idle_note_keys(mapping, &stored, 1, NULL, "no parameter is frozen; choose a form, or remove this key");
    return true;
}
