/* Finds the tensors of each parameter in a weights file and reads them (compiler/weights/weights.h). */
#include "compiler/weights/weights.h"

#include <stdarg.h>
#include <string.h>

#include "compiler/base/words.h"

#include "compiler/graph/ir.h"
#include "compiler/weights/shards.h"

/* Prints a message that names the weights file instead of the job. Returns false. */
static bool refuse(const firnc_weights *weights, const char *format, ...) __attribute__((format(printf, 2, 3)));
static bool refuse(const firnc_weights *weights, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    firnc_say("firnc: %s: %s", weights->file.file, firnc_format_list(format, arguments));
    va_end(arguments);
    return false;
}

/* --- which tensors a parameter is --------------------------------------------------------------------------------- */

/* The rule for a parameter whose name is the same in the file. */
static const firnc_weight_rule equal_names = {.parameter = "*", .tensors = {"*"}};

static bool has_all(const firnc_weights *weights, const firnc_weight_rule *rule, const char *parameter) {
    const char *names[FIRNC_WEIGHT_TENSORS_MAX];
    const uint32_t count = firnc_weight_names(rule, parameter, names);
    for (uint32_t i = 0; i < count; i++)
        if (firnc_safetensors_find(&weights->file, names[i]) == NULL)
            return false;
    return count > 0;
}

/* The user's first rule for this parameter; NULL if there is none. */
static const firnc_weight_rule *rule_of_user(const firnc_job *job, const char *parameter) {
    const char *names[FIRNC_WEIGHT_TENSORS_MAX];
    for (uint32_t i = 0; i < job->weight_map.count; i++)
        if (firnc_weight_names(&job->weight_map.rules[i], parameter, names) > 0)
            return &job->weight_map.rules[i];
    return NULL;
}

/* The rule whose tensors the file has; NULL if it has none. */
static const firnc_weight_rule *find_rule(const firnc_weights *weights, const char *parameter) {
    const firnc_weight_map *map = &weights->job->model_weight_map;
    const firnc_weight_rule *rule = rule_of_user(weights->job, parameter);
    if (rule != NULL)
        return has_all(weights, rule, parameter) ? rule : NULL;
    for (uint32_t i = 0; i < map->count; i++)
        if (has_all(weights, &map->rules[i], parameter))
            return &map->rules[i];
    return has_all(weights, &equal_names, parameter) ? &equal_names : NULL;
}

const firnc_weight_rule *firnc_weights_name_rule(const firnc_job *job, const char *parameter) {
    const firnc_weight_rule *rule = rule_of_user(job, parameter);
    const char *names[FIRNC_WEIGHT_TENSORS_MAX];
    for (uint32_t i = 0; rule == NULL && i < job->model_weight_map.count; i++)
        if (firnc_weight_names(&job->model_weight_map.rules[i], parameter, names) > 0)
            rule = &job->model_weight_map.rules[i];
    return rule != NULL ? rule : &equal_names;
}

/* Whether a rule is for a parameter, and whether it decides about one, because none before it does. */
static bool is_for_any(const firnc_job *job, const firnc_weight_rule *rule, const firnc_weight_parameter *parameters,
                       uint32_t count, bool *decides) {
    const char *names[FIRNC_WEIGHT_TENSORS_MAX];
    bool any = false;
    *decides = false;
    for (uint32_t i = 0; i < count; i++) {
        any = any || firnc_weight_names(rule, parameters[i].name, names) > 0;
        *decides = *decides || rule_of_user(job, parameters[i].name) == rule;
    }
    return any;
}

bool firnc_weights_check_rules(const firnc_job *job, const firnc_weight_parameter *parameters, uint32_t count) {
    for (uint32_t i = 0; i < job->weight_map.count; i++) {
        const firnc_weight_rule *rule = &job->weight_map.rules[i];
        const firnc_place *place = rule->place.file != NULL ? &rule->place : NULL;
        bool decides;
        if (rule->kind != FIRNC_WEIGHT_TAKEN)
            continue;
        if (!is_for_any(job, rule, parameters, count, &decides))
            return firnc_job_fail(job, place, "no parameter matches \"%s\"; firnc inspect lists them", rule->parameter);
        if (!decides)
            firnc_job_warn(
                job, place,
                "every parameter that matches \"%s\" has a rule before this one, which decides; remove it or "
                "put it in front",
                rule->parameter);
    }
    return true;
}

/* --- types and shapes --------------------------------------------------------------------------------------------- */

static bool is_reversed(const firnc_safetensor *tensor, const uint64_t *dims) {
    return tensor->rank == 2 && tensor->dims[0] == dims[1] && tensor->dims[1] == dims[0];
}

/* Checks the tensors of a layout, which the file has. */
static bool check_tensors(const firnc_weights *weights, const firnc_weight_layout *layout, const char *parameter) {
    for (uint32_t i = 0; i < layout->count; i++) {
        const firnc_safetensor *tensor = firnc_safetensors_find(&weights->file, layout->names[i]);
        if (!tensor->real)
            return refuse(weights, "tensor %s: its dtype is %s, and not F32, F16 or BF16; convert it to one of them",
                          tensor->name, tensor->dtype);
        if (tensor->rank != layout->rank ||
            memcmp(tensor->dims, layout->dims[i], layout->rank * sizeof *tensor->dims) != 0)
            return refuse(weights,
                          "tensor %s has shape %s, and the model wants %s for its parameter %s; give the file of this "
                          "model, %s",
                          tensor->name, firnc_safetensors_shape(tensor->dims, tensor->rank),
                          firnc_safetensors_shape(layout->dims[i], layout->rank), parameter,
                          layout->rank == 2 && is_reversed(tensor, layout->dims[i])
                              ? "or change transpose in trainer.init.weight_map"
                              : "or change the model");
    }
    return true;
}

static bool find_tensors(firnc_weights *weights) {
    for (uint32_t i = 0; i < weights->parameter_count; i++) {
        const firnc_weight_parameter *parameter = &weights->parameters[i];
        const firnc_weight_rule *rule = find_rule(weights, parameter->name);
        if (rule != NULL && (!firnc_weight_layout_make(&weights->layouts[i], weights->job, rule, parameter) ||
                             !check_tensors(weights, &weights->layouts[i], parameter->name)))
            return false;
    }
    return true;
}

/* --- what is left over -------------------------------------------------------------------------------------------- */

/* The name of a parameter, and what the user's rule says that it is in the file. */
static const char *wanted_name(const firnc_weights *weights, const char *parameter) {
    const char *names[FIRNC_WEIGHT_TENSORS_MAX];
    const firnc_weight_rule *rule = rule_of_user(weights->job, parameter);
    const uint32_t count = rule != NULL ? firnc_weight_names(rule, parameter, names) : 0;
    for (uint32_t i = 0; i < count; i++)
        if (firnc_safetensors_find(&weights->file, names[i]) == NULL)
            return firnc_format("%s (%s)", parameter, names[i]);
    return parameter;
}

bool firnc_weights_is_ignored(const firnc_weight_map *map, const char *tensor) {
    for (uint32_t i = 0; i < map->count; i++)
        if (map->rules[i].kind != FIRNC_WEIGHT_TAKEN && firnc_name_matches(map->rules[i].tensors[0], tensor))
            return true;
    return false;
}

/* Marks the tensors that parameters are made from, by their positions in the file. */
static const bool *mark_used(const firnc_weights *weights) {
    bool *used = firnc_allocate(weights->file.count + UINT64_C(1));
    for (uint32_t i = 0; i < weights->parameter_count; i++)
        for (uint32_t j = 0; j < weights->layouts[i].count; j++)
            used[firnc_safetensors_find(&weights->file, weights->layouts[i].names[j]) - weights->file.tensors] = true;
    return used;
}

/* Lists what has no counterpart, on both sides, in one message. */
static bool check_unmatched(const firnc_weights *weights) {
    firnc_names parameters = {0}, tensors = {0};
    const bool *used = mark_used(weights);
    for (uint32_t i = 0; i < weights->parameter_count; i++)
        if (weights->layouts[i].count == 0 && !weights->parameters[i].optional)
            firnc_names_add(&parameters, wanted_name(weights, weights->parameters[i].name));
    for (uint32_t i = 0; i < weights->file.count; i++)
        if (!used[i] && !firnc_weights_is_ignored(&weights->job->weight_map, weights->file.tensors[i].name) &&
            !firnc_weights_is_ignored(&weights->job->model_weight_map, weights->file.tensors[i].name))
            firnc_names_add(&tensors, weights->file.tensors[i].name);
    if (parameters.count + tensors.count == 0)
        return true;
    const char *text = "";
    if (parameters.count > 0)
        text = firnc_format("%u of the parameters %s no tensor: %s; ", (unsigned)parameters.count,
                            parameters.count == 1 ? "has" : "have", firnc_names_text(&parameters));
    if (tensors.count > 0)
        text = firnc_format("%s%u of the tensors %s no parameter: %s; ", text, (unsigned)tensors.count,
                            tensors.count == 1 ? "is" : "are", firnc_names_text(&tensors));
    if (!weights->job->allow_unmatched)
        return refuse(weights, "%s%s", text,
                      weights->job->unmatched_mend != NULL
                          ? weights->job->unmatched_mend
                          : "give the file of this model, or name them in trainer.init.weight_map");
    firnc_say("firnc: %s: warning: %scheck that it is the file of this model", weights->file.file, text);
    return true;
}

static bool is_other_use(const firnc_weight_map *map, const char *tensor) {
    for (uint32_t i = 0; i < map->count; i++)
        if ((map->rules[i].kind == FIRNC_WEIGHT_COPY || map->rules[i].kind == FIRNC_WEIGHT_ADDED) &&
            strcmp(map->rules[i].tensors[0], tensor) == 0)
            return true;
    return false;
}

bool firnc_weights_leaves(const firnc_weights *weights, uint32_t tensor) {
    const firnc_mark mark = firnc_memory_mark();
    const bool leaves = !mark_used(weights)[tensor] &&
                        !is_other_use(&weights->job->model_weight_map, weights->file.tensors[tensor].name);
    firnc_memory_release(mark);
    return leaves;
}

/* --- the file ----------------------------------------------------------------------------------------------------- */

/* Refuses a file whose constants differ from those of the model, which the plan has: it is of another model. */
static bool check_constants(const firnc_weights *weights) {
    const firnc_weight_map *map = &weights->job->model_weight_map;
    for (uint32_t i = 0; i < map->count; i++) {
        const firnc_weight_constant *constant = map->rules[i].constant;
        const firnc_safetensor *tensor = constant == NULL || !constant->read
                                             ? NULL
                                             : firnc_safetensors_find(&weights->file, map->rules[i].tensors[0]);
        if (tensor == NULL || firnc_weights_is_ignored(&weights->job->weight_map, tensor->name) ||
            (tensor->elements == constant->count &&
             firnc_safetensors_equals(tensor, constant->reals, constant->wholes)))
            continue;
        return refuse(weights,
                      "tensor %s has other elements than the model's file, from which the plan has them; export the "
                      "model with these, or ignore the tensor in trainer.init.weight_map",
                      tensor->name);
    }
    return true;
}

bool firnc_weights_open(firnc_weights *weights, const firnc_job *job, const firnc_weight_parameter *parameters,
                        uint32_t parameter_count) {
    *weights = (firnc_weights){.job = job, .parameters = parameters, .parameter_count = parameter_count};
    weights->layouts = firnc_allocate((parameter_count + UINT64_C(1)) * sizeof *weights->layouts);
    return firnc_safetensors_read(&weights->file, job->weights) &&
           firnc_weights_check_rules(job, parameters, parameter_count) && find_tensors(weights) &&
           check_constants(weights) && check_unmatched(weights);
}

/* Warns if rows behind the first differ from it: the model does not have what they are for, such as BERT's second
 * segment. */
static void warn_of_other_rows(const firnc_weights *weights, const firnc_safetensor *tensor, const float *rows) {
    const uint64_t width = tensor->dims[1];
    for (uint64_t i = 1; i < tensor->dims[0]; i++)
        if (memcmp(rows, rows + i * width, (size_t)width * sizeof *rows) != 0) {
            firnc_say(
                "firnc: %s: warning: tensor %s has %llu rows that differ, and the model takes the first: no plan has "
                "the others; firnc weights --original puts them back into what it writes",
                weights->file.file, tensor->name, (unsigned long long)tensor->dims[0]);
            return;
        }
}

/* Adds to each row of a parameter the first row of the tensors that are added to it. */
static bool add_rows(const firnc_weights *weights, uint32_t parameter, float *values) {
    const firnc_weight_map *map = &weights->job->model_weight_map;
    const firnc_weight_parameter *to = &weights->parameters[parameter];
    const uint64_t elements = firnc_weight_elements(to);
    for (uint32_t i = 0; i < map->count; i++) {
        const firnc_weight_rule *rule = &map->rules[i];
        if (rule->kind != FIRNC_WEIGHT_ADDED || strcmp(rule->parameter, to->name) != 0)
            continue;
        const firnc_safetensor *tensor = firnc_safetensors_find(&weights->file, rule->tensors[0]);
        if (tensor == NULL)
            continue;
        if (!tensor->real || tensor->rank != 2 || to->shape.rank != 2 || tensor->dims[0] == 0 ||
            tensor->dims[1] != to->shape.dims[1])
            return refuse(weights,
                          "tensor %s is %s%s, and the rows of parameter %s, to which it is added, have %u elements; "
                          "give the file of this model, or change the model",
                          tensor->name, tensor->dtype, firnc_safetensors_shape(tensor->dims, tensor->rank), to->name,
                          (unsigned)to->shape.dims[to->shape.rank - 1]);
        float *rows = firnc_allocate(tensor->elements * sizeof *rows);
        if (!firnc_safetensors_values(&weights->file, tensor, rows))
            return false;
        warn_of_other_rows(weights, tensor, rows);
        bool finite = true;
        for (uint64_t j = 0; j < elements; j++) {
            values[j] += rows[j % tensor->dims[1]];
            finite = finite && values[j] - values[j] == 0;
        }
        if (!finite)
            return refuse(weights, "tensor %s, added to parameter %s, gives infinity; give a file with smaller numbers",
                          tensor->name, to->name);
    }
    return true;
}

/* Compares copies of a parameter, such as that of a tied output layer, with what was read. */
static bool check_copies(const firnc_weights *weights, uint32_t parameter, const float *values) {
    const firnc_weight_map *map = &weights->job->model_weight_map;
    const char *name = weights->parameters[parameter].name;
    const uint64_t elements = firnc_weight_elements(&weights->parameters[parameter]);
    for (uint32_t i = 0; i < map->count; i++) {
        const firnc_weight_rule *rule = &map->rules[i];
        if (rule->kind != FIRNC_WEIGHT_COPY || strcmp(rule->parameter, name) != 0)
            continue;
        const firnc_safetensor *tensor = firnc_safetensors_find(&weights->file, rule->tensors[0]);
        if (tensor == NULL || firnc_weights_is_ignored(&weights->job->weight_map, tensor->name))
            continue;
        const firnc_weight_layout *layout = &weights->layouts[parameter];
        float *copy = firnc_allocate(elements * sizeof *copy), *placed = firnc_allocate(elements * sizeof *placed);
        if (tensor->real && tensor->elements == elements && !firnc_safetensors_values(&weights->file, tensor, copy))
            return false;
        if (layout->count == 1)
            firnc_weight_put(layout, 0, copy, placed);
        else
            memcpy(placed, copy, (size_t)elements * sizeof *copy);
        if (!tensor->real || tensor->elements != elements ||
            memcmp(placed, values, (size_t)elements * sizeof *placed) != 0)
            return refuse(weights,
                          "tensor %s is not equal to parameter %s, and the model has one for both; give it one of "
                          "its own, or ignore the tensor in trainer.init.weight_map",
                          tensor->name, name);
    }
    return true;
}

bool firnc_weights_has(const firnc_weights *weights, uint32_t parameter) {
    return weights->layouts[parameter].count > 0;
}

bool firnc_weights_read(const firnc_weights *weights, uint32_t parameter, void *values) {
    const firnc_weight_layout *layout = &weights->layouts[parameter];
    const firnc_mark mark = firnc_memory_mark();
    bool good = true;
    for (uint32_t i = 0; i < layout->count && good; i++) {
        const firnc_safetensor *tensor = firnc_safetensors_find(&weights->file, layout->names[i]);
        float *read = firnc_allocate(tensor->elements * sizeof *read);
        good = firnc_safetensors_values(&weights->file, tensor, read);
        if (good)
            firnc_weight_put(layout, i, read, values);
    }
    good = good && add_rows(weights, parameter, values) && check_copies(weights, parameter, values);
    firnc_memory_release(mark);
    return good;
}
