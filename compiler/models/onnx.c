/* A model in a file of the ONNX format. The file has the layers and the first values of the parameters; the recipe says
 * what the file does not: the loss, the sizes that are left open, and which of several outputs is judged. */
#include "compiler/models/onnx.h"

#include <string.h>

#include "compiler/base/nearest.h"
#include "compiler/graph/ir.h"
#include "compiler/keys/idle.h"

/* --- keys --------------------------------------------------------------------------------------------------------- */

#define AT(member) offsetof(firnc_onnx_settings, member)

static const firnc_field fields[] = {
    {"onnx", .kind = FIRNC_FIELD_OTHER, .required = true},
    {"output", .kind = FIRNC_FIELD_OTHER},
    {"dimensions", .kind = FIRNC_FIELD_NESTED},
    {"inputs", .kind = FIRNC_FIELD_NESTED},
    {"constants", .kind = FIRNC_FIELD_ENTRIES},
    {"padding_rows", .kind = FIRNC_FIELD_NESTED},
    {"batch_statistics", .kind = FIRNC_FIELD_FLAG, AT(options.batch_statistics)},
    {"next_token", .kind = FIRNC_FIELD_FLAG, AT(next_token)},
    {"classes_first", .kind = FIRNC_FIELD_FLAG, AT(classes_first)},
    FIRNC_LOSS_FIELDS(firnc_onnx_settings, losses),
};

#undef AT

static const firnc_onnx_settings defaults = {.losses = FIRNC_LOSSES_DEFAULT};

/* A file beside the recipe, unless its name is absolute. */
static bool read_path(const firnc_tree *node, const char **path) {
    if (node->kind != FIRNC_SCALAR || node->text[0] == '\0')
        return firnc_tree_fail(node, "is not the name of a file; write the name of an .onnx file");
    const char *slash = strrchr(node->file, '/');
    *path = node->text[0] == '/' || slash == NULL
                ? node->text
                : firnc_format("%.*s/%s", (int)(slash - node->file), node->file, node->text);
    return true;
}

static bool read_dimensions(const firnc_tree *mapping, firnc_onnx_options *options) {
    static const firnc_field size = {.kind = FIRNC_FIELD_WHOLE, .low = 0, .high = FIRNC_MODEL_SIZE_MAX};
    firnc_onnx_dimension *list = firnc_allocate((UINT64_C(1) + firnc_tree_count(mapping)) * sizeof *list);
    options->dimensions = list;
    for (const firnc_tree *entry = mapping->first; entry != NULL; entry = entry->next) {
        uint64_t value;
        if (!firnc_field_whole(entry, &size, &value))
            return false;
        list[options->dimension_count++] = (firnc_onnx_dimension){entry->key, (uint32_t)value};
    }
    return true;
}

#define WHOLE_MAX 9007199254740992.0 /* binary64 has every whole number up to it */

static bool read_inputs(const firnc_tree *mapping, firnc_onnx_options *options) {
    static const firnc_field number = {.kind = FIRNC_FIELD_DOUBLE, .low = -1e30, .high = 1e30};
    firnc_onnx_filled *list = firnc_allocate((UINT64_C(1) + firnc_tree_count(mapping)) * sizeof *list);
    options->filled = list;
    for (const firnc_tree *entry = mapping->first; entry != NULL; entry = entry->next) {
        double value;
        if (!firnc_field_number(entry, &number, &value))
            return false;
        if ((value > WHOLE_MAX || value < -WHOLE_MAX) && strpbrk(entry->text, ".eE") == NULL)
            return firnc_tree_fail(entry,
                                   "%s is a whole number beyond 2^53, which may become another; write one of at "
                                   "most 9007199254740992, or 1e30 for a large one",
                                   entry->text);
        list[options->filled_count++] = (firnc_onnx_filled){entry->key, value};
    }
    return true;
}

static bool read_constants(const firnc_tree *entries, firnc_onnx_options *options) {
    const char **list = firnc_allocate((UINT64_C(1) + firnc_tree_count(entries)) * sizeof *list);
    options->constants = list;
    for (const firnc_tree *entry = entries->first; entry != NULL; entry = entry->next) {
        if (entry->kind != FIRNC_SCALAR)
            return firnc_tree_fail(entry, "is not the name of a tensor; write names, with * for any characters");
        list[options->constant_count++] = entry->text;
    }
    return true;
}

static bool read_padding(const firnc_tree *mapping, firnc_onnx_options *options) {
    static const firnc_field row = {.kind = FIRNC_FIELD_WHOLE, .low = 0, .high = FIRNC_MODEL_SIZE_MAX};
    firnc_onnx_row *list = firnc_allocate((UINT64_C(1) + firnc_tree_count(mapping)) * sizeof *list);
    options->padding = list;
    for (const firnc_tree *entry = mapping->first; entry != NULL; entry = entry->next) {
        uint64_t value;
        if (!firnc_field_whole(entry, &row, &value))
            return false;
        list[options->padding_count++] = (firnc_onnx_row){entry->key, (uint32_t)value};
    }
    return true;
}

/* A name with another letter would change nothing. */
static bool check_padding(const firnc_tree *mapping, const firnc_onnx_model *model) {
    uint32_t number = 0;
    for (const firnc_tree *entry = mapping != NULL ? mapping->first : NULL; entry != NULL; entry = entry->next)
        if (!model->padded[number++])
            return firnc_tree_fail(entry, "is no parameter of which the file looks up rows; write the name that the "
                                          "embedding's weight has in PyTorch, as firnc inspect shows it");
    return true;
}

/* Every name of a mapping must be one that the file has: a word with another letter would change nothing. */
static bool check_inputs(const firnc_tree *mapping, const firnc_onnx_model *model) {
    const char *names[FIRNC_ONNX_IO_MAX + 1] = {NULL};
    for (uint32_t i = 0; i < model->input_count; i++)
        names[i] = model->inputs[i].name;
    for (const firnc_tree *entry = mapping != NULL ? mapping->first : NULL; entry != NULL; entry = entry->next) {
        bool known = false;
        for (uint32_t i = 0; i < model->input_count; i++)
            known = known || strcmp(names[i], entry->key) == 0;
        if (!known)
            return firnc_tree_fail(entry, "is no input of the file; %s",
                                   firnc_printable(firnc_nearest_text(entry->key, names)));
    }
    return true;
}

/* The entry of this number. */
static const firnc_tree *entry_at(const firnc_tree *mapping, uint32_t number) {
    const firnc_tree *entry = mapping->first;
    while (number-- > 0)
        entry = entry->next;
    return entry;
}

/* What the file has for the keys, and what it must have for any. */
static bool check_file(const firnc_tree *keys, const firnc_onnx_model *model) {
    const firnc_tree *file = firnc_tree_child(keys, "onnx"), *inputs = firnc_tree_child(keys, "inputs");
    if (model->unused_dimension != FIRNC_NONE)
        return firnc_tree_fail(entry_at(firnc_tree_child(keys, "dimensions"), model->unused_dimension),
                               "no extent of the file's inputs has this name; remove it");
    if (model->data == FIRNC_NONE)
        return firnc_tree_fail(inputs != NULL ? inputs : file,
                               "no input of the file is left for the data; give all but one of them a value");
    if (model->parameter_count == 0)
        return firnc_tree_fail(file, "no output of the file follows a tensor of floats by its gradient, so there is no "
                                     "parameter; export a model with some");
    return true;
}

static bool find_output(const firnc_tree *node, firnc_onnx_settings *settings) {
    const firnc_onnx_model *model = settings->model;
    const char *names[FIRNC_ONNX_IO_MAX + 1] = {NULL};
    for (uint32_t i = 0; i < model->output_count; i++)
        names[i] = model->outputs[i].name;
    if (node == NULL)
        return true;
    for (uint32_t i = 0; i < model->output_count; i++)
        if (node->kind == FIRNC_SCALAR && strcmp(names[i], node->text) == 0) {
            settings->output = i;
            return true;
        }
    return firnc_tree_fail(node, "is no output of the file; %s",
                           firnc_printable(firnc_nearest_text(node->kind == FIRNC_SCALAR ? node->text : "", names)));
}

static const firnc_onnx_port *judged(const firnc_onnx_settings *settings) {
    return &settings->model->outputs[settings->output];
}

/* The scores of a sample. An output [samples] has one. */
static uint32_t outputs_of(const firnc_onnx_settings *settings) {
    const firnc_onnx_port *output = judged(settings);
    return output->rank == 1 ? 1 : output->dims[settings->classes_first ? 1 : output->rank - 1];
}

static bool check_output(const firnc_tree *keys, const firnc_onnx_settings *settings) {
    const firnc_onnx_port *output = judged(settings), *data = &settings->model->inputs[settings->model->data];
    const firnc_tree *place = firnc_tree_child(keys, "output");
    if (place == NULL)
        place = firnc_tree_child(keys, "onnx");
    if (output->value == FIRNC_NONE || output->rank < 1)
        return firnc_tree_fail(place, "the output %s has no scores for each sample; name another in output",
                               firnc_printable(output->name));
    if (!output->real)
        return firnc_tree_fail(place,
                               "the output %s is of whole numbers, which have no gradient; name another in output",
                               firnc_printable(output->name));
    if (output->dims[0] != data->dims[0])
        return firnc_tree_fail(place,
                               "the output %s has %u rows for %u samples; export the model with a first extent that is "
                               "open, or name another in output",
                               firnc_printable(output->name), (unsigned)output->dims[0], (unsigned)data->dims[0]);
    if (firnc_loss_has_classes(&settings->losses) && outputs_of(settings) < 2)
        return firnc_tree_fail(place,
                               "one class is nothing to tell apart; write loss: binary_cross_entropy_with_logits "
                               "or mean_squared_error");
    if (settings->classes_first && (!firnc_loss_has_classes(&settings->losses) || output->rank == 1))
        return firnc_tree_fail(firnc_tree_child(keys, "classes_first"), "is for losses of classes; remove it");
    if (settings->next_token && (!settings->model->tokens || output->rank != 3))
        return firnc_tree_fail(
            firnc_tree_child(keys, "next_token"),
            "is for models of tokens [samples,length] with scores [samples,length,tokens]; remove it");
    return true;
}

/* Files of different exporters have different buffers, so a pattern may be for another file. */
static void note_idle_constants(const firnc_tree *entries, const firnc_onnx_model *model) {
    uint32_t number = 0;
    for (const firnc_tree *entry = entries != NULL ? entries->first : NULL; entry != NULL; entry = entry->next)
        if (!model->matched[number++])
            firnc_idle_note(entry, "no tensor of the file has such a name; remove it");
}

/* Reads the file once, so that what is wrong with it is said before the rest of the recipe. */
static bool complete(const firnc_tree *keys, void *model_settings) {
    firnc_onnx_settings *settings = model_settings;
    const firnc_tree *dimensions = firnc_tree_child(keys, "dimensions"), *inputs = firnc_tree_child(keys, "inputs");
    const firnc_tree *constants = firnc_tree_child(keys, "constants"),
                     *padding = firnc_tree_child(keys, "padding_rows");
    firnc_onnx_model *model = firnc_allocate(sizeof *model);
    settings->model = model;
    settings->options.features.element = FIRN_UINT8;
    if (!read_path(firnc_tree_child(keys, "onnx"), &settings->path) ||
        (dimensions != NULL && !read_dimensions(dimensions, &settings->options)) ||
        (inputs != NULL && !read_inputs(inputs, &settings->options)) ||
        (constants != NULL && !read_constants(constants, &settings->options)) ||
        (padding != NULL && !read_padding(padding, &settings->options)) ||
        !firnc_onnx_import(firnc_graph_create("onnx"), settings->path, &settings->options, model))
        return false;
    if (model->fixed_norms > 0 && firnc_tree_child(keys, "batch_statistics") == NULL)
        firnc_tree_warn(firnc_tree_child(keys, "onnx"),
                        "the file has batch norms with fixed statistics, as those of an evaluation; write "
                        "batch_statistics: true to train them by the micro-batch, or false to keep them");
    note_idle_constants(constants, model);
    for (uint32_t i = 0; i < model->note_count; i++)
        firnc_tree_warn(firnc_tree_child(keys, "onnx"), "%s", model->notes[i]);
    return check_inputs(inputs, model) && check_padding(padding, model) && check_file(keys, model) &&
           find_output(firnc_tree_child(keys, "output"), settings) && check_output(keys, settings) &&
           firnc_loss_complete(keys, &settings->losses, outputs_of(settings));
}

static firnc_model_facts facts(const void *model_settings) {
    static const char *const sizes[] = {"onnx", NULL};
    const firnc_onnx_settings *settings = model_settings;
    firnc_model_facts facts = firnc_loss_facts(&settings->losses, outputs_of(settings));
    facts.layers_key = "onnx";
    facts.sizes = sizes;
    facts.wide = true;
    facts.tokens = settings->model->tokens && !settings->next_token;
    if (settings->next_token) {
        facts.longest_sequence = judged(settings)->dims[1];
        facts.label_shift = 1;
        facts.metric = FIRNC_METRIC_PERPLEXITY;
    }
    return facts;
}

static firnc_weight_map weight_map(const void *model_settings) {
    return ((const firnc_onnx_settings *)model_settings)->model->names;
}

/* --- the graph ---------------------------------------------------------------------------------------------------- */

/* The scores with their classes last, and how many dimensions they have. */
static firnc_value scores_of(firnc_graph *graph, const firnc_onnx_settings *settings, const firnc_onnx_port *output,
                             uint32_t *dims, uint8_t *rank) {
    uint8_t order[FIRN_RANK_MAX] = {0};
    memcpy(dims, output->dims, sizeof output->dims);
    *rank = output->rank;
    if (output->rank == 1) {
        *rank = 2;
        dims[1] = 1;
        return firnc_reshape(graph, output->value, 2, dims);
    }
    if (!settings->classes_first || output->rank == 2)
        return output->value;
    for (uint8_t i = 1; i + 1 < output->rank; i++) {
        order[i] = (uint8_t)(i + 1);
        dims[i] = output->dims[i + 1];
    }
    order[output->rank - 1] = 1;
    dims[output->rank - 1] = output->dims[1];
    return firnc_transpose(graph, output->value, output->rank, order);
}

static void build(firnc_graph *graph, const firnc_job *job, const void *model_settings,
                  const firnc_elements *elements) {
    const firnc_onnx_settings *settings = model_settings;
    firnc_onnx_options options = settings->options;
    firnc_onnx_model *model = firnc_allocate(sizeof *model);
    options.samples = job->data.micro_batch_size;
    options.features = (firnc_input_options){.element = elements->feature,
                                             .scaled = true,
                                             .scale = elements->feature_scale,
                                             .shift = elements->feature_shift,
                                             .standard = elements->features};
    if (!firnc_onnx_import(graph, settings->path, &options, model)) {
        firnc_graph_refuse(graph);
        return;
    }
    const firnc_onnx_port *output = &model->outputs[settings->output];
    uint32_t dims[FIRN_RANK_MAX];
    uint8_t rank;
    const firnc_value scores = scores_of(graph, settings, output, dims, &rank);
    firnc_name_scores(graph, firnc_loss_told(graph, elements, scores, rank, dims),
                      firnc_loss_targets(&settings->losses), job);
    if (!firnc_job_judges(job))
        return;
    const firnc_input_options next = {.element = elements->feature, .advance = 1, .limit = dims[rank - 1]};
    firnc_loss_build(graph, &settings->losses, elements, scores, rank, dims, settings->next_token ? &next : NULL);
}

const firnc_model firnc_model_onnx = {.name = "onnx",
                                      .fields = fields,
                                      .field_count = sizeof fields / sizeof fields[0],
                                      .settings_bytes = sizeof(firnc_onnx_settings),
                                      .defaults = &defaults,
                                      .complete = complete,
                                      .facts = facts,
                                      .build = build,
                                      .weight_map = weight_map};
