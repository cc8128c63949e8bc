/* Takes the state of an older run (compiler/emit/continue.h). In: the graph after all passes, with every tensor of the
 * state. Out: the same graph, whose state begins with the values of the checkpoint. Tensors are found by their names,
 * which are those of the parameters and of what the optimizer keeps for each. */
#include "compiler/emit/continue.h"

#include <math.h>
#include <string.h>

#include "compiler/base/words.h"
#include "plan/errors.h"
#include "plan/identity.h"
#include "plan/keys/text_origin.h"

#define COUNTERS        "counters."
#define SCALER          "scaler."
#define OPTIMIZER       "optimizer."
#define TOKENIZER_SHOWN 4                  /* bytes of its SHA-256 */
#define COUNTER_MOST    ((int64_t)1 << 62) /* as an initialiser may have it (plan.fbs) */

typedef struct continuing {
    const firnc_job *job;
    firnc_graph *graph;
    firnc_continued *to;
    firnc_value *weights; /* the graph's parameters, buffers and frozen weights, sorted by name */
    uint32_t weight_count;
    bool *used;        /* for each tensor of the older run: the new run has a place for it */
    firnc_names lacks; /* what the older run does not have: parameters, */
    firnc_names bare;  /* state of the optimizer, */
    firnc_names drawn; /* frozen weights, which a rule gives if nothing else does, */
    firnc_names anew;  /* state of the optimizer that follows from the recipe */
    firnc_names left;  /* what the new run does not have: parameters, */
    firnc_names spare; /* state of the optimizer */
} continuing;

static bool begins(const char *name, const char *prefix) {
    return strncmp(name, prefix, strlen(prefix)) == 0;
}

/* The parameter that a tensor of the optimizer is for, "optimizer.WHAT.PARAMETER"; NULL: it is for all. */
static const char *parameter_of(const char *name) {
    const char *end = strchr(name + strlen(OPTIMIZER), '.');
    return end != NULL ? end + 1 : NULL;
}

static bool refuse(const continuing *c, const char *text) {
    firnc_say("firnc: %s: %s", c->to->run.file, text);
    return false;
}

/* --- values ------------------------------------------------------------------------------------------------------- */

static bool is_wanted(const firnc_graph *graph, const firnc_value_info *value) {
    const bool of_model = firnc_is_of_model(value->role) || firnc_is_frozen(value->role);
    return value->base == FIRNC_NONE && (of_model || (!graph->eval && firnc_is_state(value->role)));
}

/* Whether this run trains a parameter of this name. */
static bool is_trained(const continuing *c, const char *name) {
    uint32_t low = 0, high = c->weight_count;
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        const firnc_value_info *value = &c->graph->values[c->weights[middle]];
        const int order = strcmp(value->name, name);
        if (order == 0)
            return !firnc_is_frozen(value->role);
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return false;
}

static bool take_integer(const continuing *c, firnc_value_info *value, const firnc_older_tensor *tensor) {
    int64_t integer;
    memcpy(&integer, tensor->bytes, sizeof integer);
    if (integer < 0 || integer > COUNTER_MOST)
        return refuse(c, firnc_format("tensor %s has no number that a run can have; use another copy", tensor->name));
    value->integer = integer;
    return true;
}

/* A rule has a single number as it is, unless it is one that the writer takes for +0. */
static bool is_rule(const float *values, uint64_t elements) {
    return elements == 1 && isfinite(values[0]) && !(values[0] == 0 && signbit(values[0]));
}

static bool take_floats(const continuing *c, firnc_value_info *value, const firnc_older_tensor *tensor) {
    uint64_t elements = 0;
    (void)firn_shape_elements(&tensor->shape, &elements);
    float *values = firnc_allocate(elements * sizeof *values);
    memcpy(values, tensor->bytes, elements * sizeof *values);
    if (value->role == FIRNC_ROLE_OPTIMIZER_STATE && is_rule(values, elements)) {
        value->init = (firnc_init){.rule = FIRNC_INIT_CONSTANT, .a = values[0]};
        return true;
    }
    for (uint64_t i = 0; i < elements && value->role != FIRNC_ROLE_OPTIMIZER_STATE; i++)
        if (!isfinite(values[i]))
            return refuse(c, firnc_format("tensor %s holds NaN or infinity: that run had failed; give an older "
                                          "checkpoint of it",
                                          tensor->name));
    value->initial = values;
    value->continued = true;
    return true;
}

/* What begins as the recipe says: counters by --restart-schedule or --restart-data, and a loss scale unless both runs
 * scale dynamically; only such a run counts the steps since its scale changed. */
static bool keeps_rule(const continuing *c, const firnc_value_info *value) {
    const bool both = c->job->precision.scaling == FIRNC_SCALING_DYNAMIC &&
                      firnc_older_run_find(&c->to->run, SCALER "steps_since_rescale") != NULL;
    const bool cursor = c->graph->cursor != FIRNC_NONE && value == &c->graph->values[c->graph->cursor];
    return (!both && begins(value->name, SCALER)) || (c->job->restart_schedule && begins(value->name, COUNTERS)) ||
           (c->job->restart_data && cursor);
}

static bool take(const continuing *c, firnc_value_info *value, const firnc_older_tensor *tensor) {
    firn_shape wanted = value->shape;
    if (firnc_is_frozen(value->role))
        wanted.type = FIRN_FLOAT32; /* it may be stored in another */
    const bool kind = firnc_is_weight(value->role) == firn_is_of_model(tensor->role);
    if (!kind || wanted.type != tensor->shape.type || wanted.rank != tensor->shape.rank ||
        memcmp(wanted.dims, tensor->shape.dims, wanted.rank * sizeof *wanted.dims) != 0)
        return refuse(c, firnc_format("tensor %s is %s%s, and the recipe wants %s; give the recipe the sizes of that "
                                      "run",
                                      tensor->name, firnc_shape_text(&tensor->shape), kind ? "" : " of another role",
                                      firnc_shape_text(&wanted)));
    if (keeps_rule(c, value))
        return true;
    return wanted.type == FIRN_INT64 ? take_integer(c, value, tensor) : take_floats(c, value, tensor);
}

/* Whether a parameter begins with a value without the older run: LoRA's matrices by their rule, others by --weights or
 * by the model's own file. */
static bool has_another_source(const continuing *c, const firnc_value_info *value) {
    return value->adapter || c->job->weights != NULL || value->initial != NULL;
}

/* Notes what the older run does not have. */
static void note_missing(continuing *c, const firnc_value_info *value) {
    if (firnc_is_weight(value->role)) {
        if (!has_another_source(c, value))
            firnc_names_add(firnc_is_frozen(value->role) ? &c->drawn : &c->lacks, value->name);
    } else if (begins(value->name, OPTIMIZER)) {
        const char *parameter = parameter_of(value->name);
        const firnc_older_tensor *older = parameter != NULL ? firnc_older_run_find(&c->to->run, parameter) : NULL;
        firnc_names_add(parameter != NULL && older == NULL ? &c->anew : &c->bare, value->name);
    } else if (begins(value->name, COUNTERS)) {
        firnc_names_add(&c->bare, value->name);
    }
}

/* Notes a tensor of the older run that has no place. */
static void note_left(continuing *c, const firnc_older_tensor *tensor) {
    if (firn_is_of_model(tensor->role)) {
        firnc_names_add(&c->left, tensor->name);
    } else if (!c->graph->eval && begins(tensor->name, OPTIMIZER)) {
        const char *parameter = parameter_of(tensor->name);
        if (parameter == NULL || is_trained(c, parameter))
            firnc_names_add(&c->spare, tensor->name);
    }
}

static bool take_all(continuing *c) {
    const firnc_older_run *run = &c->to->run;
    c->used = firnc_allocate(run->count);
    for (firnc_value i = 0; i < c->graph->value_count; i++) {
        firnc_value_info *value = &c->graph->values[i];
        if (!is_wanted(c->graph, value))
            continue;
        const firnc_older_tensor *tensor = firnc_older_run_find(run, value->name);
        if (tensor == NULL)
            note_missing(c, value);
        else if (!take(c, value, tensor))
            return false;
        else
            c->used[tensor - run->tensors] = true;
    }
    for (uint32_t i = 0; i < run->count; i++)
        if (!c->used[i])
            note_left(c, &run->tensors[i]);
    return true;
}

/* --- what does not fit -------------------------------------------------------------------------------------------- */

static bool trains_same_parameters(const continuing *c) {
    for (firnc_value i = 0; i < c->graph->value_count; i++) {
        const firnc_value_info *value = &c->graph->values[i];
        if (!is_wanted(c->graph, value) || !firnc_is_weight(value->role))
            continue;
        const bool frozen = firnc_is_frozen(value->role);
        if (frozen != (firnc_older_run_find(&c->to->run, value->name) == NULL))
            return false;
    }
    return c->left.count == 0;
}

/* "TEXT3 parameters are not in it: a, b, c; " */
static const char *listed(const char *text, const firnc_names *names, const char *what, const char *where) {
    if (names->count == 0)
        return text;
    return firnc_format("%s%u %s%s %s %s: %s; ", text, (unsigned)names->count, what, names->count == 1 ? "" : "s",
                        names->count == 1 ? "is" : "are", where, firnc_names_text(names));
}

static bool check_fit(const continuing *c) {
    const char *text = "";
    if (c->bare.count + c->spare.count > 0)
        text = "it is of another optimizer: ";
    text = listed(text, &c->bare, "tensor", "not in it");
    text = listed(text, &c->spare, "of its tensor", "none of the recipe's optimizer");
    text = listed(text, &c->lacks, "parameter", "not in it");
    if (!c->to->same_parameters) /* else firnc_continue_check compares them */
        text = listed(text, &c->drawn, "frozen parameter", "not in it");
    text = listed(text, &c->left, "of its parameter", "none of the recipe's model");
    if (*text != '\0' && !c->job->allow_unmatched)
        return refuse(c, firnc_format("%sgive the recipe the model and the optimizer of that run, by firnc compile "
                                      "--weights what it had frozen, or --allow-unmatched, which begins anew what is "
                                      "missing and leaves out the rest",
                                      text));
    if (*text != '\0')
        firnc_say("firnc: %s: warning: %swhat is missing begins anew", c->to->run.file, text);
    if (c->anew.count > 0)
        firnc_say("firnc: %s: note: state of the optimizer begins anew, for what it has not trained: %s; firnc inspect "
                  "--tensors of the new plan lists all state, and firn digest --per-tensor what the checkpoint has",
                  c->to->run.file, firnc_names_brief(&c->anew));
    return true;
}

/* A run of which no step is left would train nothing. */
static bool check_length(const continuing *c) {
    const firnc_job *job = c->job;
    const uint64_t done = c->to->run.header.global_step;
    if (c->graph->eval || job->endless || job->restart_schedule || job->steps > done)
        return true;
    return firnc_job_fail(job, &job->places.steps,
                          "the run has %llu steps, and %s has done %llu, which count; write more, or begin at "
                          "step 0 by firnc compile --restart-schedule",
                          (unsigned long long)job->steps, c->to->run.file, (unsigned long long)done);
}

bool firnc_continue(firnc_compilation *compilation) {
    const firnc_job *job = compilation->job;
    if (job->continues == NULL)
        return true;
    firnc_continued *to = firnc_allocate(sizeof *to);
    continuing c = {.job = job, .graph = compilation->graph, .to = to};
    c.weight_count = firnc_sorted_values(c.graph, firnc_is_weight, &c.weights);
    if (!firnc_older_run_read(&to->run, job->continues) || !take_all(&c))
        return false;
    to->same_parameters = trains_same_parameters(&c);
    if (!check_fit(&c) || !check_length(&c))
        return false;
    if (!c.graph->eval)
        to->cursor = c.graph->values[c.graph->cursor].integer;
    compilation->continued = to;
    return true;
}

/* --- the tokenizer ------------------------------------------------------------------------------------------------ */

/* Ids of another tokenizer mean nothing to the parameters that are taken. */
static bool check_tokenizer(const firnc_compilation *compilation, firn_fb_plan plan) {
    const firnc_older_run *run = &compilation->continued->run;
    const firn_text_origin origin = firn_text_origin_of(plan, run->header.preprocessing_hash);
    if (origin == FIRN_TEXT_NOT_COMPARED || origin == FIRN_TEXT_SAME)
        return true;
    const char *tokenizer = firnc_hex(firn_fb_plan_tokenizer_data(plan), TOKENIZER_SHOWN);
    if (origin == FIRN_TEXT_UNNAMED) {
        firnc_say("firnc: %s: note: that run names no tokenizer, so nothing says whether its tokens are those of %s...",
                  run->file, tokenizer);
        return true;
    }
    const bool allowed = compilation->job->allow_unmatched;
    firnc_say("firnc: %s: %swas not trained with tokens of the tokenizer %s..., or they had another type; %s",
              run->file, allowed ? "warning: " : "", tokenizer,
              allowed ? "the run goes on with those of this tokenizer"
                      : "give the tokenizer of that run by firnc compile --tokenizer, or add --allow-unmatched");
    return allowed;
}

/* --- the data ----------------------------------------------------------------------------------------------------- */

bool firnc_continue_data(firnc_compilation *compilation, const firnc_payload *payload, bool *changed) {
    firnc_graph *graph = compilation->graph;
    if (compilation->continued == NULL)
        return true;
    const firn_fb_plan plan = firn_fb_plan_root(payload->bytes);
    if (!check_tokenizer(compilation, plan))
        return false;
    if (compilation->continued->cursor == 0)
        return true;
    firnc_continued *to = firnc_allocate(sizeof *to);
    *to = *compilation->continued;
    uint8_t preprocessing[FIRN_HASH_BYTES], split[FIRN_HASH_BYTES];
    if (firn_preprocessing_hash(plan, preprocessing) != FIRN_OK || firn_split_hash(plan, split) != FIRN_OK)
        return firnc_fail(compilation, "a hash cannot be computed; this is a bug of firnc");
    if (memcmp(preprocessing, to->run.header.preprocessing_hash, sizeof preprocessing) == 0 &&
        memcmp(split, to->run.header.split_hash, sizeof split) == 0)
        return true;
    firnc_say("firnc: %s: note: the recipe makes other samples of the data than that run, so this one begins with the "
              "first",
              to->run.file);
    graph->values[graph->cursor].integer = 0;
    to->cursor = 0;
    compilation->continued = to;
    *changed = true;
    return true;
}

/* --- frozen weights ----------------------------------------------------------------------------------------------- */

bool firnc_continue_check(const firnc_compilation *compilation, const firnc_bytes *file,
                          const firnc_plan_file *checked) {
    static const firn_alive silent = {0};
    const firnc_continued *continued = compilation->continued;
    uint8_t hash[FIRN_HASH_BYTES];
    if (continued == NULL || !continued->same_parameters)
        return true;
    if (firn_model_hash(checked->plan, &checked->header, file->data, &silent, hash) != FIRN_OK)
        return firnc_fail(compilation, "the model hash cannot be computed; this is a bug of firnc");
    if (memcmp(hash, continued->run.header.model_hash, sizeof hash) == 0)
        return true;
    const bool allowed = compilation->job->allow_unmatched;
    firnc_say("firnc: %s: %swas trained beside other frozen weights; %s", continued->run.file,
              allowed ? "warning: " : "",
              allowed ? "the run goes on with those of this recipe"
                      : "give those of that run by firnc compile --weights, with its seed and frozen_type, or add "
                        "--allow-unmatched");
    return allowed;
}
