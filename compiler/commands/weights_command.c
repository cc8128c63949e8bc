/* firnc weights: writes the parameters that firn export has taken from a checkpoint under the names and in the layouts
 * of the recipe's weight map, so that the programs of others can read them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/commands/commands.h"
#include "compiler/commands/options.h"
#include "compiler/recipe/recipe.h"
#include "compiler/weights/weights.h"

typedef struct request {
    const char *recipe, *weights, *output;
    firnc_texts settings;
} request;

static const firnc_option options[] = {
    {{"--weights", NULL, "FILE", "the parameters, as firn export writes them (.safetensors)"},
     FIRNC_OPTION_TEXT,
     offsetof(request, weights)},
    {{"--output", "-o", "FILE", "the file to write (.safetensors)"}, FIRNC_OPTION_TEXT, offsetof(request, output)},
    {{"--set", NULL, "a.b=VALUE", "change a key of the recipe; may be given again"},
     FIRNC_OPTION_LIST,
     offsetof(request, settings)},
};

/* The tensors to be written. */
typedef struct written {
    firnc_safetensors_entry *entries;
    uint32_t count;
} written;

static int by_name(const void *a, const void *b) {
    return strcmp(((const firnc_safetensors_entry *)a)->name, ((const firnc_safetensors_entry *)b)->name);
}

/* Adds zeros for what was added to a parameter when it was read. */
static void add_zeros(written *to, const firnc_job *job, const firnc_weight_parameter *parameter) {
    for (uint32_t i = 0; i < job->model_weight_map.count; i++) {
        const firnc_weight_rule *rule = &job->model_weight_map.rules[i];
        const uint64_t rows = rule->sizes[0], columns = parameter->shape.dims[1];
        if (rule->kind != FIRNC_WEIGHT_ADDED || rows == 0 || strcmp(rule->parameter, parameter->name) != 0)
            continue;
        to->entries[to->count++] = (firnc_safetensors_entry){.name = rule->tensors[0],
                                                             .rank = 2,
                                                             .dims = {rows, columns},
                                                             .values = firnc_allocate(rows * columns * sizeof(float))};
    }
}

/* Adds the tensors of a parameter. False after one message. */
static bool add_parameter(written *to, const firnc_job *job, const firnc_weights *weights, uint32_t parameter) {
    const firnc_weight_parameter *from = &weights->parameters[parameter];
    float *values = firnc_allocate(firnc_weight_elements(from) * sizeof *values);
    firnc_weight_layout layout;
    if (!firnc_weights_read(weights, parameter, values) ||
        !firnc_weight_layout_make(&layout, job, firnc_weights_name_rule(job, from->name), from))
        return false;
    for (uint32_t i = 0; i < layout.count; i++) {
        float *tensor = firnc_allocate(firnc_weight_tensor_elements(&layout, i) * sizeof *tensor);
        firnc_weight_take(&layout, i, tensor, values);
        firnc_safetensors_entry *entry = &to->entries[to->count++];
        *entry = (firnc_safetensors_entry){.name = layout.names[i], .rank = layout.rank, .values = tensor};
        memcpy(entry->dims, layout.dims[i], sizeof entry->dims);
    }
    add_zeros(to, job, from);
    return true;
}

/* Two parameters may be read from one tensor, but not written to one. */
static bool check_names(const firnc_job *job, const written *tensors) {
    for (uint32_t i = 1; i < tensors->count; i++)
        if (strcmp(tensors->entries[i - 1].name, tensors->entries[i].name) == 0)
            return firnc_job_fail(job, NULL,
                                  "two parameters would be tensor %s; give each a name of its own in "
                                  "trainer.init.weight_map",
                                  tensors->entries[i].name);
    return true;
}

/* Reads the parameters under their own names and writes those of the map. */
static bool rename_weights(const request *r, const firnc_recipe *recipe) {
    firnc_weights weights;
    firnc_job *own = firnc_allocate(sizeof *own);
    uint32_t count;
    *own = recipe->job;
    own->weights = r->weights;
    own->weight_map = own->model_weight_map = (firnc_weight_map){0};
    const firnc_weight_parameter *parameters = firnc_weight_parameters(firnc_recipe_build(recipe), &count);
    if (!firnc_weights_check_rules(&recipe->job, parameters, count) ||
        !firnc_weights_open(&weights, own, parameters, count))
        return false;
    const uint64_t room = count * (uint64_t)FIRNC_WEIGHT_TENSORS_MAX + recipe->job.model_weight_map.count + 1;
    written tensors = {.entries = firnc_allocate(room * sizeof *tensors.entries)};
    for (uint32_t i = 0; i < count; i++)
        if (!add_parameter(&tensors, &recipe->job, &weights, i))
            return false;
    qsort(tensors.entries, tensors.count, sizeof *tensors.entries, by_name);
    if (!check_names(&recipe->job, &tensors))
        return false;
    const firnc_bytes file = firnc_safetensors_make(tensors.entries, tensors.count);
    if (!firnc_file_write(r->output, file.data, file.count))
        return false;
    printf("%s: %u tensors, %llu bytes\n", firnc_printable(r->output), (unsigned)tensors.count,
           (unsigned long long)file.count);
    return true;
}

static int weights_command(int argc, char **argv) {
    request r = {0};
    if (!firnc_options_read(argc, argv, &firnc_command_weights, &r, &r.recipe))
        return FIRNC_EXIT_USAGE;
    if (r.weights == NULL || r.output == NULL)
        return firnc_usage("weights", "--weights and -o are needed; add what is missing");
    const char *const inputs[] = {r.recipe, r.weights};
    if (!firnc_output_is_free("weights", r.output, inputs, sizeof inputs / sizeof inputs[0]))
        return FIRNC_EXIT_USAGE;
    firnc_recipe *recipe = firnc_allocate(sizeof *recipe);
    const bool good = firnc_recipe_read(recipe, r.recipe, FIRNC_TRAIN, r.settings.text, r.settings.count) &&
                      rename_weights(&r, recipe);
    return good ? FIRNC_EXIT_OK : FIRNC_EXIT_WRONG;
}

const firnc_command firnc_command_weights = {
    .words = {.name = "weights",
              .forms = {"RECIPE --weights FILE -o FILE [--set a.b=VALUE]"},
              .text = "write exported parameters under the names and in the layouts that other programs know"},
    .run = weights_command,
    .options = options,
    .option_count = sizeof options / sizeof options[0],
};
