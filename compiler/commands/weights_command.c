/* firnc weights: writes the parameters that firn export has taken from a checkpoint under the names and in the layouts
 * of the recipe's weight map, so that the programs of others can read them. Frozen weights, which no checkpoint has,
 * are taken from the plan, and what LoRA has trained is merged with the weights beside it. --onnx puts all of them back
 * into the ONNX file of the model. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/base/words.h"
#include "compiler/commands/commands.h"
#include "compiler/commands/options.h"
#include "compiler/emit/plan_file.h"
#include "compiler/models/onnx.h"
#include "compiler/recipe/recipe.h"
#include "compiler/weights/folder.h"
#include "compiler/weights/frozen_weights.h"
#include "compiler/weights/merge.h"
#include "compiler/weights/weights.h"
#include "plan/errors.h"
#include "plan/identity.h"

typedef struct request {
    const char *recipe, *hugging_face, *statistics, *weights, *plan, *original, *onnx, *output;
    firnc_texts settings;
} request;

static const firn_option options[] = {
    {.name = "--trained",
     .old = "--weights",
     .value = "FILE",
     .text = "the parameters, as firn export writes them (.safetensors)",
     .kind = FIRN_OPTION_TEXT,
     .names = FIRN_NAMES_FILE,
     .needed = FIRN_EVERY_COMMAND,
     .place = offsetof(request, weights),
     .what = "the weights that firn export wrote"},
    {.name = "--hf",
     .value = "FOLDER",
     .text = "take the model from this folder, as firnc compile --hf does; implies --original",
     .kind = FIRN_OPTION_TEXT,
     .names = FIRN_NAMES_FOLDER,
     .place = offsetof(request, hugging_face)},
    {.name = "--original",
     .value = "FILE",
     .text = "the weights file that the training began with: what the model does not have is copied from it",
     .kind = FIRN_OPTION_TEXT,
     .names = FIRN_NAMES_FILE,
     .place = offsetof(request, original)},
    {.name = "--statistics",
     .value = "FILE",
     .text = FIRNC_STATISTICS_TEXT,
     .kind = FIRN_OPTION_TEXT,
     .names = FIRN_NAMES_FILE,
     .place = offsetof(request, statistics)},
    {.name = "--onnx",
     .value = "FILE",
     .text = "write this ONNX file, which the recipe's model.onnx names, with the parameters in it (.onnx)",
     .kind = FIRN_OPTION_TEXT,
     .names = FIRN_NAMES_FILE,
     .place = offsetof(request, onnx)},
    {.name = "--plan",
     .value = "PLAN",
     .text = "the plan that trained them, which has the frozen weights",
     .kind = FIRN_OPTION_TEXT,
     .names = FIRN_NAMES_FILE,
     .place = offsetof(request, plan)},
    {.name = "--output",
     .brief = "-o",
     .value = "FILE",
     .text = "the file to write (.safetensors; with --onnx .onnx); with --hf also a folder, whose name ends in a slash "
             "or which is there: it gets the weights as model.safetensors, and config.json and the tokenizer of the "
             "folder of --hf",
     .kind = FIRN_OPTION_TEXT,
     .names = FIRN_NAMES_FILE,
     .needed = FIRN_EVERY_COMMAND,
     .place = offsetof(request, output),
     .what = "the file to write"},
    {.name = "--set",
     .value = "a.b=VALUE",
     .text = "change a key of the recipe; may be given again",
     .kind = FIRN_OPTION_LIST,
     .place = offsetof(request, settings.text),
     .count = offsetof(request, settings.count),
     .most = FIRNC_TEXTS_MAX,
     .mend = "put the values into the recipe"},
};

/* The tensors to be written. */
typedef struct written {
    firnc_safetensors_entry *entries;
    uint32_t count;
} written;

static int by_name(const void *a, const void *b) {
    return strcmp(((const firnc_safetensors_entry *)a)->name, ((const firnc_safetensors_entry *)b)->name);
}

/* The tensor of the original file whose first row was added to a parameter. NULL: there is none. */
static const firnc_safetensor *find_added(const firnc_weights *original, const char *parameter) {
    const firnc_weight_map *map = &original->job->model_weight_map;
    const firnc_safetensor *tensor = NULL;
    for (uint32_t i = 0; i < map->count && tensor == NULL; i++)
        if (map->rules[i].kind == FIRNC_WEIGHT_ADDED && strcmp(map->rules[i].parameter, parameter) == 0)
            tensor = firnc_safetensors_find(&original->file, map->rules[i].tensors[0]);
    return tensor;
}

/* Adds the tensor whose first row was added to a parameter when the training began: each row less the first row, which
 * stays in the parameter. Without the original file the rows are zeros. False after one message. */
static bool add_rows(written *to, const firnc_job *job, const firnc_weights *original,
                     const firnc_weight_parameter *parameter) {
    for (uint32_t i = 0; i < job->model_weight_map.count; i++) {
        const firnc_weight_rule *rule = &job->model_weight_map.rules[i];
        uint64_t rows = rule->sizes[0];
        const uint64_t columns = parameter->shape.dims[1];
        if (rule->kind != FIRNC_WEIGHT_ADDED || rows == 0 || strcmp(rule->parameter, parameter->name) != 0)
            continue;
        const firnc_safetensor *tensor = original != NULL ? find_added(original, parameter->name) : NULL;
        if (tensor != NULL && (!tensor->real || tensor->rank != 2 || tensor->dims[1] != columns))
            return firnc_weights_refuse(
                original->file.file,
                "tensor %s does not have rows of %llu numbers; give the file that the training began with",
                tensor->name, (unsigned long long)columns);
        rows = tensor != NULL ? tensor->dims[0] : rows;
        float *values = firnc_allocate(rows * columns * sizeof *values);
        if (tensor != NULL && !firnc_safetensors_values(&original->file, tensor, values))
            return false;
        for (uint64_t j = rows * columns; j-- > 0;) /* the first row last, because the others need it */
            values[j] -= values[j % columns];
        to->entries[to->count++] =
            (firnc_safetensors_entry){.name = rule->tensors[0], .rank = 2, .dims = {rows, columns}, .values = values};
    }
    return true;
}

/* Adds the tensors of the original file that the model does not have. A tensor that is not of floats is left out with a
 * warning that names it. False after one message. */
static bool add_left_over(written *to, const firnc_weights *original) {
    for (uint32_t i = 0; i < original->file.count; i++) {
        const firnc_safetensor *tensor = &original->file.tensors[i];
        if (!firnc_weights_leaves(original, i))
            continue;
        if (!tensor->real) {
            firnc_say("firnc: %s: warning: tensor %s is left out: its dtype is %s, and firnc weights writes floats",
                      original->file.file, tensor->name, tensor->dtype);
            continue;
        }
        float *values = firnc_allocate(tensor->elements * sizeof *values);
        if (!firnc_safetensors_values(&original->file, tensor, values))
            return false;
        firnc_safetensors_entry *entry = &to->entries[to->count++];
        *entry = (firnc_safetensors_entry){.name = tensor->name, .rank = tensor->rank, .values = values};
        memcpy(entry->dims, tensor->dims, sizeof entry->dims);
    }
    return true;
}

/* Adds the copies of a parameter, which have the values of its first tensor. */
static void add_copies(written *to, const firnc_job *job, const firnc_weight_parameter *parameter,
                       const firnc_safetensors_entry *first) {
    for (uint32_t i = 0; i < job->model_weight_map.count; i++) {
        const firnc_weight_rule *rule = &job->model_weight_map.rules[i];
        if (!rule->written || strcmp(rule->parameter, parameter->name) != 0)
            continue;
        to->entries[to->count] = *first;
        to->entries[to->count++].name = rule->tensors[0];
    }
}

/* Adds the model's constants, such as buffers of a PyTorch module. */
static void add_constants(written *to, const firnc_job *job) {
    for (uint32_t i = 0; i < job->model_weight_map.count; i++) {
        const firnc_weight_rule *rule = &job->model_weight_map.rules[i];
        if (rule->kind != FIRNC_WEIGHT_CONSTANT || firnc_weights_is_ignored(&job->weight_map, rule->tensors[0]))
            continue;
        firnc_safetensors_entry *entry = &to->entries[to->count++];
        *entry = (firnc_safetensors_entry){.name = rule->tensors[0],
                                           .rank = rule->constant->rank,
                                           .values = rule->constant->reals,
                                           .wholes = rule->constant->wholes};
        memcpy(entry->dims, rule->constant->dims, sizeof entry->dims);
    }
}

/* --- the values --------------------------------------------------------------------------------------------------- */

/* Where the values of a model come from. */
typedef struct sources {
    const char *plan_name;
    firnc_bytes plan;       /* count 0: there is none */
    firnc_plan_file opened; /* what it says */
    firnc_weights weights;  /* the trained parameters */
    float **values;         /* for each value of the graph: what has been read */
} sources;

static bool open_plan(sources *from, const char *name) {
    from->plan_name = name;
    if (name == NULL)
        return true;
    if (!firnc_plan_read(name, &from->plan))
        return false;
    const int error = firnc_plan_check(&from->plan, NULL, 0, &from->opened);
    if (error != FIRN_OK)
        firnc_plan_refuse(name, &from->plan, error);
    return error == FIRN_OK;
}

/* An export says of which model it is, and the contents of frozen weights belong to a model. False after one message.
 */
static bool check_model(const sources *from, const char *weights) {
    static const firn_alive silent = {0};
    const char *trained = from->weights.file.model_hash;
    uint8_t hash[FIRN_HASH_BYTES];
    if (from->plan_name == NULL || trained == NULL)
        return true;
    const firnc_plan_file *plan = &from->opened;
    const int error = firn_model_hash(plan->plan, &plan->header, from->plan.data, &silent, hash);
    if (error != FIRN_OK)
        firnc_plan_refuse(from->plan_name, &from->plan, error);
    else if (strcmp(trained, firnc_hex(hash, sizeof hash)) != 0)
        firnc_say("firnc: %s: did not train %s: it has another model, or other frozen weights; give the plan of the "
                  "training",
                  from->plan_name, weights);
    else
        return true;
    return false;
}

/* Takes a frozen weight from the plan. */
static bool read_frozen(const sources *from, const firnc_weight_parameter *parameter, float *values) {
    if (from->plan_name == NULL)
        firnc_say("firnc: parameter %s is frozen, and a checkpoint does not have it; give --plan, the plan of the "
                  "training",
                  parameter->name);
    else if (firnc_frozen_weight_read(&from->plan, &from->opened.header, parameter, values))
        return true;
    else
        firnc_say("firnc: %s: has no frozen weight %s of this shape; give the plan of this recipe", from->plan_name,
                  parameter->name);
    return false;
}

/* Reads every parameter: trained ones from the file under their own names, frozen ones from the plan. */
static bool read_values(sources *from, const firnc_graph *graph, const firnc_weight_parameter *parameters) {
    firnc_value *values;
    const uint32_t count = firnc_sorted_values(graph, firnc_is_weight, &values);
    from->values = firnc_allocate(graph->value_count * sizeof *from->values);
    for (uint32_t i = 0, trained = 0; i < count; i++) {
        float *to = firnc_allocate(firnc_weight_elements(&parameters[i]) * sizeof *to);
        from->values[values[i]] = to;
        const bool frozen = firnc_is_frozen(graph->values[values[i]].role);
        if (!(frozen ? read_frozen(from, &parameters[i], to) : firnc_weights_read(&from->weights, trained++, to)))
            return false;
    }
    for (uint32_t i = 0; i < graph->adapter_count; i++) {
        const firnc_adapter *adapter = &graph->adapters[i];
        firnc_weights_merge(graph, adapter, from->values[adapter->weight], from->values[adapter->first],
                            from->values[adapter->second]);
    }
    return true;
}

/* Adds the tensors of a parameter. False after one message. */
static bool add_parameter(written *to, const firnc_job *job, const firnc_weights *original,
                          const firnc_weight_parameter *parameter, const float *values) {
    firnc_weight_layout layout;
    if (!firnc_weight_layout_make(&layout, job, firnc_weights_name_rule(job, parameter->name), parameter))
        return false;
    const firnc_safetensors_entry *first = &to->entries[to->count];
    for (uint32_t i = 0; i < layout.count; i++) {
        float *tensor = firnc_allocate(firnc_weight_tensor_elements(&layout, i) * sizeof *tensor);
        firnc_weight_take(&layout, i, tensor, values);
        firnc_safetensors_entry *entry = &to->entries[to->count++];
        *entry = (firnc_safetensors_entry){.name = layout.names[i], .rank = layout.rank, .values = tensor};
        memcpy(entry->dims, layout.dims[i], sizeof entry->dims);
    }
    add_copies(to, job, parameter, first);
    return add_rows(to, job, original, parameter);
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

/* The graph with its adapters and with what is frozen. NULL after one message. */
static const firnc_graph *build(const firnc_recipe *recipe) {
    firnc_compilation compilation = {.job = &recipe->job, .graph = firnc_recipe_build(recipe)};
    const bool good = firnc_job_check(&recipe->job) && firnc_check_built(&compilation) &&
                      firnc_infer_shapes(&compilation) && firnc_add_adapters(&compilation) &&
                      firnc_freeze(&compilation);
    return good ? compilation.graph : NULL;
}

/* The parameters that are trained, in the order of all. */
static const firnc_weight_parameter *trained_of(const firnc_graph *graph, const firnc_weight_parameter *all,
                                                uint32_t *count) {
    firnc_value *values;
    const uint32_t all_count = firnc_sorted_values(graph, firnc_is_weight, &values);
    firnc_weight_parameter *trained = firnc_allocate((all_count + UINT64_C(1)) * sizeof *trained);
    *count = 0;
    for (uint32_t i = 0; i < all_count; i++)
        if (firnc_is_of_model(graph->values[values[i]].role)) {
            trained[*count] = all[i];
            trained[(*count)++].optional = false; /* an export has the matrices of LoRA, too */
        }
    return trained;
}

/* Opens the file with which the training began; NULL without one. False after one message. */
static bool open_original(const request *r, const firnc_recipe *recipe, const firnc_weight_parameter *parameters,
                          uint32_t count, const firnc_weights **original) {
    firnc_job *job = firnc_allocate(sizeof *job);
    firnc_weights *opened = firnc_allocate(sizeof *opened);
    *job = recipe->job;
    job->allow_unmatched = true;
    job->weights = r->original;
    if (r->original == NULL && r->hugging_face != NULL)
        job->weights = firnc_hugging_face_weights(r->hugging_face, "--original");
    *original = NULL;
    if (job->weights == NULL)
        return r->hugging_face == NULL;
    *original = opened;
    return firnc_weights_open(opened, job, parameters, count);
}

/* --- an ONNX file ------------------------------------------------------------------------------------------------- */

/* The values of a graph, for the places of an ONNX file. */
typedef struct onnx_values {
    const firnc_graph *graph;
    float *const *values;
} onnx_values;

static firnc_value find_weight(const firnc_graph *graph, const char *name) {
    for (firnc_value i = 0; i < graph->value_count; i++)
        if (firnc_is_weight(graph->values[i].role) && strcmp(graph->values[i].name, name) == 0)
            return i;
    return FIRNC_NONE;
}

static const float *value_of(void *context, const char *parameter) {
    const onnx_values *of = context;
    const firnc_value value = find_weight(of->graph, parameter);
    return value != FIRNC_NONE ? of->values[value] : NULL;
}

static bool is_stored(const firnc_onnx_model *model, const char *parameter) {
    for (uint32_t i = 0; i < model->stored_count; i++)
        if (strcmp(model->stored[i].parameter, parameter) == 0)
            return true;
    return false;
}

/* Refuses parameters that have learned something, and of which the file has no tensor of their own: an exporter's
 * optimizer has merged, left out or computed it. */
static bool check_stored(const request *r, const firnc_onnx_model *model, const firnc_graph *graph,
                         float *const *values) {
    firnc_names lost = {0};
    for (firnc_value i = 0; i < graph->value_count; i++) {
        const firnc_value_info *value = &graph->values[i];
        uint64_t elements = 0;
        if (!firnc_is_weight(value->role) || value->adapter || is_stored(model, value->name) ||
            !firn_shape_elements(&value->shape, &elements))
            continue;
        if (value->initial == NULL || memcmp(value->initial, values[i], (size_t)elements * sizeof *value->initial) != 0)
            firnc_names_add(&lost, value->name);
    }
    if (lost.count == 0)
        return true;
    firnc_say(
        "firnc: %s: has no tensor of its own for %s; export the model again by torch.onnx.export with dynamo=True "
        "and optimize=False, or leave out --onnx",
        r->onnx, firnc_names_text(&lost));
    return false;
}

/* Whether the file is that of the recipe's model, or has the same bytes. False after one message. */
static bool check_onnx(const request *r, const firnc_recipe *recipe) {
    const firnc_onnx_settings *settings = recipe->settings;
    firnc_bytes given, wanted;
    if (recipe->model == &firnc_model_onnx && firnc_same_file(r->onnx, settings->path))
        return true;
    if (!firnc_file_read(r->onnx, UINT32_MAX, &given))
        return false;
    if (recipe->model == &firnc_model_onnx) {
        if (!firnc_file_read(settings->path, UINT32_MAX, &wanted))
            return false;
        if (given.count == wanted.count && memcmp(given.data, wanted.data, (size_t)given.count) == 0)
            return true;
    }
    firnc_say("firnc: %s: is not the file of the recipe's model; give the one that its model.onnx names", r->onnx);
    return false;
}

/* Writes the ONNX file of the recipe with these values. */
static bool write_onnx(const request *r, const firnc_recipe *recipe, const firnc_graph *graph, float *const *values) {
    const firnc_onnx_settings *settings = recipe->settings;
    onnx_values of = {graph, values};
    firnc_bytes file;
    if (!check_onnx(r, recipe) || !check_stored(r, settings->model, graph, values) ||
        !firnc_onnx_write_back(r->onnx, settings->model, value_of, &of, &file) ||
        !firnc_file_write(r->output, file.data, file.count))
        return false;
    printf("%s: %u tensors, %llu bytes\n", firnc_printable(r->output), (unsigned)settings->model->stored_count,
           (unsigned long long)file.count);
    return true;
}

/* Reads the parameters under their own names and writes those of the map. */
static bool rename_weights(const request *r, const firnc_recipe *recipe) {
    sources from = {.plan_name = NULL};
    firnc_job *own = firnc_allocate(sizeof *own);
    uint32_t count, trained_count;
    *own = recipe->job;
    own->weights = r->weights;
    own->unmatched_mend = "give the file that firn export wrote, and the --set of the compilation";
    own->weight_map = own->model_weight_map = (firnc_weight_map){0};
    const firnc_graph *graph = build(recipe);
    if (graph == NULL)
        return false;
    const firnc_weight_parameter *parameters = firnc_weight_parameters(graph, &count);
    const firnc_weight_parameter *trained = trained_of(graph, parameters, &trained_count);
    if (!firnc_weights_check_rules(&recipe->job, parameters, count) ||
        !firnc_weights_open(&from.weights, own, trained, trained_count) || !open_plan(&from, r->plan) ||
        !check_model(&from, r->weights) || !read_values(&from, graph, parameters))
        return false;
    if (r->onnx != NULL)
        return write_onnx(r, recipe, graph, from.values);
    const firnc_weights *original;
    if (!open_original(r, recipe, parameters, count, &original))
        return false;
    const uint64_t room = count * (uint64_t)FIRNC_WEIGHT_TENSORS_MAX + recipe->job.model_weight_map.count + 1 +
                          (original != NULL ? original->file.count : 0);
    written tensors = {.entries = firnc_allocate(room * sizeof *tensors.entries)};
    firnc_value *values;
    (void)firnc_sorted_values(graph, firnc_is_weight, &values);
    for (uint32_t i = 0; i < count; i++)
        if (!graph->values[values[i]].adapter &&
            !add_parameter(&tensors, &recipe->job, original, &parameters[i], from.values[values[i]]))
            return false;
    add_constants(&tensors, &recipe->job);
    if (original != NULL && !add_left_over(&tensors, original))
        return false;
    qsort(tensors.entries, tensors.count, sizeof *tensors.entries, by_name);
    if (!check_names(&recipe->job, &tensors))
        return false;
    const firnc_bytes file = firnc_safetensors_make(tensors.entries, tensors.count);
    if (firnc_weights_is_folder(r->output))
        return firnc_weights_folder_write(r->output, r->hugging_face, &file);
    if (!firnc_file_write(r->output, file.data, file.count))
        return false;
    printf("%s: %u tensors, %llu bytes\n", firnc_printable(r->output), (unsigned)tensors.count,
           (unsigned long long)file.count);
    return true;
}

/* Refuses a name of the output that says the other form. Returns the exit code. */
static int check_output_name(const request *r) {
    if (r->onnx != NULL && firnc_text_ends(r->output, ".safetensors"))
        return firnc_usage("weights",
                           "-o: %s is named as safetensors, and --onnx writes an ONNX file; name it .onnx, "
                           "or leave out --onnx",
                           r->output);
    if (r->onnx == NULL && firnc_text_ends(r->output, ".onnx") && !firnc_weights_is_folder(r->output))
        return firnc_usage("weights",
                           "-o: %s is named as an ONNX file, and firnc weights writes safetensors; name it "
                           ".safetensors, or give the model's file by --onnx",
                           r->output);
    return FIRNC_EXIT_OK;
}

static int weights_command(int argc, char **argv) {
    request r = {0};
    if (!firnc_options_read(argc, argv, &firnc_command_weights, &r))
        return FIRNC_EXIT_USAGE;
    if (firnc_weights_is_folder(r.output) && r.hugging_face == NULL)
        return firnc_usage("weights", "-o: %s is a folder, which takes --hf too; give that, or the name of a file",
                           r.output);
    if (r.onnx != NULL && (r.original != NULL || r.hugging_face != NULL))
        return firnc_usage("weights", "--onnx: the file has a model and weights; leave out --hf and --original");
    const char *const inputs[] = {r.recipe, r.weights, r.plan, r.original, r.onnx, r.statistics};
    if (!firnc_output_is_free("weights", r.output, inputs, sizeof inputs / sizeof inputs[0]))
        return FIRNC_EXIT_USAGE;
    const int named = check_output_name(&r);
    if (named != FIRNC_EXIT_OK)
        return named;
    firnc_recipe *recipe = firnc_allocate(sizeof *recipe);
    recipe->hugging_face = r.hugging_face;
    recipe->statistics = r.statistics;
    firnc_idle_mute(); /* compiling the recipe has warned */
    const bool good = firnc_recipe_read(recipe, r.recipe, FIRNC_TRAIN, r.settings.text, r.settings.count) &&
                      rename_weights(&r, recipe);
    return good ? FIRNC_EXIT_OK : FIRNC_EXIT_WRONG;
}

const firnc_command firnc_command_weights = {
    .words = {.name = "weights",
              .group = "Weights and text",
              .summary = "write trained weights for other programs",
              .forms = {"RECIPE --trained FILE -o FILE [options]"},
              .text = "write exported parameters under the names and in the layouts that other programs know",
              .examples = {{"firnc weights recipe.yaml --trained run.safetensors -o others.safetensors",
                            "write what firn export wrote under the names that others know"}},
              .operand = {.value = "RECIPE",
                          .kind = FIRN_OPTION_TEXT,
                          .names = FIRN_NAMES_FILE,
                          .place = offsetof(request, recipe),
                          .least = 1},
              .tables = {{options, sizeof options / sizeof options[0]}}},
    .run = weights_command,
};
