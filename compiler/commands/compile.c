/* firnc compile: reads its command line, builds a graph and a job from a recipe, freezes them (compiler/firnc.h) and
 * writes the plan; with --all, the plan of each mode that the recipe has. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "compiler/commands/check.h"
#include "compiler/commands/commands.h"
#include "compiler/commands/logit_rows.h"
#include "compiler/commands/options.h"
#include "compiler/emit/plan_file.h"
#include "compiler/firnc.h"
#include "compiler/job/host.h"
#include "compiler/job/tokenizer.h"
#include "compiler/passes/driver.h"
#include "compiler/recipe/recipe.h"
#include "compiler/tokens/tokenizer.h"
#include "plan/device.h"

typedef struct request {
    const char *recipe, *mode, *key, *pub, *output, *target, *hugging_face, *weights, *tokenizer, *continues,
        *dump_after, *statistics;
    const char *weight_copies;
    uint8_t vendor[16], class_id[16];
    uint64_t samples; /* 0: not given */
    uint32_t security_counter, plan_version, image_id, logit_rows, decode_chunk;
    bool image_id_given, logit_rows_given, decode_chunk_given;
    bool all, restart_schedule, restart_data, without_signature, late_update, allow_unmatched, decode;
    bool json; /* firnc check */
    firnc_texts settings;
    firnc_check *check; /* firnc check: says what would be made, and nothing is written; NULL: firnc compile */
} request;

/* A plan of --all. */
typedef struct plan_form {
    const char *word; /* the file is called so, with .plan */
    firnc_mode mode;
    uint32_t image_id;
    bool predicts; /* it has outputs and judges nothing */
    bool decodes;  /* it takes one token after the other; of a model that can */
} plan_form;

static const plan_form plans[] = {
    {.word = "train", .mode = FIRNC_TRAIN, .image_id = 0},
    {.word = "eval", .mode = FIRNC_EVAL, .image_id = 1},
    {.word = "predict", .mode = FIRNC_EVAL, .image_id = 2, .predicts = true},
    {.word = "decode", .mode = FIRNC_EVAL, .image_id = FIRNC_DECODE_IMAGE_ID, .decodes = true}};

enum { PLANS = sizeof plans / sizeof plans[0] };

/* The file of a plan; NULL: firnc check writes none. */
static const char *output_of(const request *r, const plan_form *form) {
    return r->output != NULL ? firnc_format("%s/%s.plan", r->output, form->word) : NULL;
}

/* --- the command line --------------------------------------------------------------------------------------------- */

static const char *read_id(uint8_t id[16], const char *value) {
    return firn_device_id_read(value, strlen(value), id)
               ? NULL
               : "is no identity; write a UUID, or at most 16 characters without spaces";
}

static const char *read_vendor(void *into, const char *value) {
    return read_id(((request *)into)->vendor, value);
}

static const char *read_class(void *into, const char *value) {
    return read_id(((request *)into)->class_id, value);
}

static const firn_option options[] = {
    {.name = "--mode",
     .value = "train|eval",
     .text = "what the plan is for; a plan has one mode",
     .kind = FIRN_OPTION_TEXT,
     .place = offsetof(request, mode)},
    {.name = "--all",
     .text = "in place of --mode: a plan for each mode that the recipe has, as train.plan, eval.plan, predict.plan "
             "and, of a model that generates, decode.plan in the folder of -o; all are written or none",
     .kind = FIRN_OPTION_FLAG,
     .place = offsetof(request, all)},
    {.name = "--key",
     .value = "KEY",
     .text = "the secret key that signs the plan, as keygen writes it",
     .kind = FIRN_OPTION_TEXT,
     .names = FIRN_NAMES_FILE,
     .place = offsetof(request, key)},
    {.name = "--decode",
     .text = "with --mode eval, for a language model: a plan for firn generate, which takes tokens one after the other "
             "and keeps what attention needs of the earlier ones",
     .kind = FIRN_OPTION_FLAG,
     .place = offsetof(request, decode)},
    {.name = "--decode-chunk",
     .value = "N",
     .text = "with --decode or --all: tokens that a step takes at most. More are faster for a long prompt, and slower "
             "for each token that follows; no bit changes; default: 1",
     .kind = FIRN_OPTION_NUMBER32,
     .place = offsetof(request, decode_chunk),
     .given = offsetof(request, decode_chunk_given),
     .least = 1,
     .most = INT32_MAX - 1,
     .what = "a number of tokens"},
    {.name = "--output",
     .brief = "-o",
     .value = "PLAN",
     .text = "the file to write; with --all a folder, which is made if it is not there",
     .kind = FIRN_OPTION_TEXT,
     .names = FIRN_NAMES_FILE,
     .place = offsetof(request, output)},
    {.name = "--set",
     .value = "a.b=VALUE",
     .text = "change a key of the recipe; may be given again",
     .kind = FIRN_OPTION_LIST,
     .place = offsetof(request, settings.text),
     .count = offsetof(request, settings.count),
     .most = FIRNC_TEXTS_MAX,
     .mend = "put the values into the recipe"},
    {.name = "--hf",
     .value = "FOLDER",
     .text = "the model and its weights, as transformers' save_pretrained writes them, in place of the recipe's model "
             "and of --weights",
     .kind = FIRN_OPTION_TEXT,
     .names = FIRN_NAMES_FOLDER,
     .place = offsetof(request, hugging_face)},
    {.name = "--statistics",
     .value = "FILE",
     .text = FIRNC_STATISTICS_TEXT,
     .kind = FIRN_OPTION_TEXT,
     .names = FIRN_NAMES_FILE,
     .place = offsetof(request, statistics)},
    {.name = "--weights",
     .value = "FILE",
     .text = "initial values of the parameters (.safetensors, or .index.json)",
     .kind = FIRN_OPTION_TEXT,
     .names = FIRN_NAMES_FILE,
     .place = offsetof(request, weights)},
    {.name = "--tokenizer",
     .value = "FILE",
     .text = "the tokenizer of the data: its tokenizer.json, or the .tokenizer that firnc tokens wrote; data that is "
             "known to have another is then refused",
     .kind = FIRN_OPTION_TEXT,
     .names = FIRN_NAMES_FILE,
     .place = offsetof(request, tokenizer)},
    {.name = "--continue",
     .value = "CKPT",
     .text = "begin with the state of an older run: parameters, optimizer, loss scale and counters of its checkpoint; "
             "num_steps counts its steps, too",
     .kind = FIRN_OPTION_TEXT,
     .names = FIRN_NAMES_FILE,
     .place = offsetof(request, continues)},
    {.name = "--restart-schedule",
     .text = "with --continue: the counters of steps and samples, and so the schedules, begin at 0",
     .kind = FIRN_OPTION_FLAG,
     .place = offsetof(request, restart_schedule)},
    {.name = "--restart-data",
     .text = "with --continue: the data begin with the first sample",
     .kind = FIRN_OPTION_FLAG,
     .place = offsetof(request, restart_data)},
    {.name = "--allow-unmatched",
     .text = "with --weights or --continue: initialise what the file lacks, leave out tensors that the recipe lacks; "
             "with --continue also: go on with another tokenizer",
     .kind = FIRN_OPTION_FLAG,
     .place = offsetof(request, allow_unmatched)},
    {.name = "--samples",
     .value = "N",
     .text = "samples that an epoch reads, records or windows of text; for num_epochs of a recipe",
     .kind = FIRN_OPTION_NUMBER,
     .place = offsetof(request, samples),
     .least = 1,
     .most = UINT64_MAX,
     .what = "a number of samples"},
    {.name = "--target",
     .value = FIRNC_TARGET_WORDS,
     .text = "what the reductions are chosen for; host: for this machine; default: portable",
     .kind = FIRN_OPTION_TEXT,
     .place = offsetof(request, target)},
    {.name = "--late-update",
     .text = "compute every gradient before the first update, in a larger arena; no bit changes",
     .kind = FIRN_OPTION_FLAG,
     .place = offsetof(request, late_update)},
    {.name = "--logit-rows",
     .value = "N",
     .text = FIRNC_LOGIT_ROWS_TEXT,
     .kind = FIRN_OPTION_NUMBER32,
     .place = offsetof(request, logit_rows),
     .given = offsetof(request, logit_rows_given),
     .most = UINT32_MAX - 1,
     .what = "a number of rows",
     .mend = "write one, or 0 for all"},
    {.name = "--weight-copies",
     .value = "auto|always|never",
     .text = "copy float32 weights to the half type, or let products round them as they read them; no bit changes; "
             "default: auto, which leaves out large copies that make the arena larger",
     .kind = FIRN_OPTION_WORD,
     .place = offsetof(request, weight_copies)},
    {.name = "--dump-after",
     .value = "PASS",
     .text = "print the graph after a pass; a wrong name lists the passes",
     .kind = FIRN_OPTION_TEXT,
     .place = offsetof(request, dump_after)},
    {.name = "--security-counter",
     .value = "N",
     .text = "devices that have seen a larger one refuse the plan; default: 0",
     .kind = FIRN_OPTION_NUMBER32,
     .place = offsetof(request, security_counter),
     .most = UINT32_MAX},
    {.name = "--plan-version",
     .value = "N",
     .text = "a number that the plan carries for its users; default: 0",
     .kind = FIRN_OPTION_NUMBER32,
     .place = offsetof(request, plan_version),
     .most = UINT32_MAX},
    {.name = "--image-id",
     .value = "N",
     .text = "a number that tells the plans of a device apart; default: 0 for train, 1 for eval, 3 with --decode; with "
             "--all 2 for predict",
     .kind = FIRN_OPTION_NUMBER32,
     .place = offsetof(request, image_id),
     .given = offsetof(request, image_id_given),
     .most = UINT32_MAX},
    {.name = "--vendor",
     .value = "ID",
     .text = "the vendor in the header: a UUID, or at most 16 characters",
     .kind = FIRN_OPTION_READ,
     .read = read_vendor},
    {.name = "--class",
     .value = "ID",
     .text = "the device class in the header, likewise",
     .kind = FIRN_OPTION_READ,
     .read = read_class},
    {.name = "--unsigned",
     .text = "leave the signature open, for firnc sign and firnc attach",
     .kind = FIRN_OPTION_FLAG,
     .place = offsetof(request, without_signature)},
    {.name = "--pub",
     .value = "PUB",
     .text = "with --unsigned: the public key of the signature to come",
     .kind = FIRN_OPTION_TEXT,
     .names = FIRN_NAMES_FILE,
     .place = offsetof(request, pub)},
};

/* Checks --mode, or --all in its place. Returns the exit code. */
static int check_mode(const request *r) {
    if (r->all && r->mode != NULL)
        return firnc_usage("compile", "--all: stands in place of --mode; leave one of the two out");
    if (r->all && r->dump_after != NULL)
        return firnc_usage("compile", "--dump-after: prints one graph; write --mode train or --mode eval, not --all");
    if (r->all && r->image_id_given)
        return firnc_usage("compile", "--image-id: tells the plans of a device apart, and --all makes several; leave "
                                      "it out, or compile each by --mode");
    if (r->all && r->decode)
        return firnc_usage("compile", "--decode: --all makes this plan, too, of a model that generates; leave it out");
    if (r->all)
        return FIRNC_EXIT_OK;
    if (r->mode == NULL)
        return firnc_usage("compile", "--mode: it is missing; write --mode train or --mode eval, or --all for both");
    if (strcmp(r->mode, "train_and_eval") == 0) {
        firnc_say("firnc: %s: --mode train_and_eval: " FIRNC_ONE_MODE "", r->recipe);
        return FIRNC_EXIT_WRONG;
    }
    if (strcmp(r->mode, "train") != 0 && strcmp(r->mode, "eval") != 0)
        return firnc_usage("compile", "--mode: %s is not a mode; write --mode train or --mode eval", r->mode);
    if (r->decode && strcmp(r->mode, "eval") != 0)
        return firnc_usage("compile", "--decode: a plan that generates does not train; write --mode eval");
    if (r->decode_chunk_given && !r->decode)
        return firnc_usage("compile", "--decode-chunk: only with --decode or --all; write one of them too");
    return FIRNC_EXIT_OK;
}

/* Whether what is written would replace a file that is read. */
static bool replaces_input(const request *r) {
    const char *const inputs[] = {r->recipe, r->key, r->pub, r->weights, r->tokenizer, r->continues, r->statistics};
    const uint32_t count = sizeof inputs / sizeof inputs[0];
    if (!r->all)
        return !firnc_output_is_free("compile", r->output, inputs, count);
    for (size_t i = 0; i < PLANS; i++)
        if (!firnc_output_is_free("compile", output_of(r, &plans[i]), inputs, count))
            return true;
    return false;
}

/* Checks the options that say where a run with --continue begins. Returns the exit code. */
static int check_restarts(const request *r) {
    const bool evaluates = !r->all && strcmp(r->mode, "eval") == 0;
    if (r->restart_schedule && r->continues == NULL)
        return firnc_usage("compile", "--restart-schedule: only with --continue; leave it out");
    if (r->restart_data && r->continues == NULL)
        return firnc_usage("compile", "--restart-data: only with --continue; leave it out");
    if (r->restart_schedule && evaluates)
        return firnc_usage("compile", "--restart-schedule: an evaluation has no schedule; leave it out");
    if (r->restart_data && evaluates)
        return firnc_usage("compile", "--restart-data: an evaluation begins with the first sample; leave it out");
    return FIRNC_EXIT_OK;
}

/* Whether a key must be given. A check needs none, but takes those of firnc compile. */
static bool needs_key(const request *r) {
    return r->check == NULL || r->key != NULL || r->pub != NULL || r->without_signature;
}

/* Checks which options are required together and which exclude each other. Returns the exit code. */
static int check_request(const request *r) {
    const int status = check_mode(r);
    if (status != FIRNC_EXIT_OK)
        return status;
    if (r->target != NULL && !firnc_target_known(r->target))
        return firnc_usage("compile", "--target: " FIRNC_TARGET_UNKNOWN, r->target, firnc_target_names());
    if (r->dump_after != NULL && !firnc_pass_exists(r->dump_after))
        return firnc_usage("compile", "--dump-after: %s is not a pass; write one of %s", r->dump_after,
                           firnc_pass_names());
    if (r->check != NULL && r->dump_after != NULL)
        return firnc_usage("compile", "--dump-after: prints a graph, and no plan is checked; write firnc compile");
    if (r->check == NULL && r->output == NULL && r->all)
        return firnc_usage("compile", "-o: the folder of the plans is missing; write -o and the name of a folder");
    if (r->check == NULL && r->output == NULL && r->dump_after == NULL)
        return firnc_usage("compile", "-o: the name of the plan is missing; write -o and a file name");
    if (r->check == NULL && r->output == NULL)
        return FIRNC_EXIT_OK; /* --dump-after without -o writes no plan */
    if (needs_key(r) && (r->without_signature ? r->pub == NULL || r->key != NULL : r->key == NULL || r->pub != NULL))
        return firnc_usage("compile", "give --key to sign the plan, or --unsigned and --pub to sign it elsewhere");
    for (uint32_t i = 0; i < r->settings.count; i++)
        if (strchr(r->settings.text[i], '=') == NULL)
            return firnc_usage("compile", "--set: %s has no value; write --set key=value", r->settings.text[i]);
    if (r->allow_unmatched && r->weights == NULL && r->hugging_face == NULL && r->continues == NULL)
        return firnc_usage("compile", "--allow-unmatched: only with --weights, --hf or --continue; leave it out");
    if (check_restarts(r) != FIRNC_EXIT_OK)
        return FIRNC_EXIT_USAGE;
    if (r->continues != NULL && r->dump_after != NULL)
        return firnc_usage("compile", "--dump-after: prints a graph, which --continue does not change; leave one out");
    return r->output != NULL && replaces_input(r) ? FIRNC_EXIT_USAGE : FIRNC_EXIT_OK;
}

/* Whether a product of half types rounds a float32 weight as it reads it. */
static bool rounds_weights(const firnc_graph *graph) {
    for (uint32_t i = 0; i < graph->node_count; i++) {
        const firnc_node *node = &graph->nodes[i];
        for (uint8_t j = 1; j < node->input_count; j++)
            if (node->inputs[j] != FIRNC_NONE && firn_op_input(firn_op_find(node->code), j)->rounded &&
                graph->values[node->inputs[j]].shape.type == FIRN_FLOAT32 &&
                firn_type_is_half(graph->values[node->inputs[0]].shape.type))
                return true;
    }
    return false;
}

/* --- the work ----------------------------------------------------------------------------------------------------- */

/* Sets the target that the command line names. For the host it is chosen: returns why; otherwise NULL. */
static const char *set_target(const request *r, firnc_job *job) {
    if (r->target == NULL)
        return NULL;
    if (strcmp(r->target, FIRNC_HOST) != 0) {
        job->target = r->target;
        return NULL;
    }
    const firnc_cpu cpu = firnc_cpu_read();
    const char *why;
    job->target = firnc_host_target(&cpu, &job->precision, &why)->name;
    return why;
}

/* Says which target was chosen for the host. A graph that is printed has stdout to itself, and so has a check. */
static void say_host_target(const request *r, const firnc_job *job, const char *why, const char *more) {
    fprintf(r->dump_after != NULL || r->check != NULL ? stderr : stdout, "target: %s: %s%s\n", job->target, why, more);
}

/* Says which target was chosen for the host, or warns of one that was named and has no effect on the plan. */
static void say_target(const request *r, const firnc_graph *graph, const firnc_job *job, const char *why) {
    const firnc_target *target = firnc_target_find(job->target);
    const bool is_idle = target != firnc_target_at(0) && !graph->has_target;
    if (why != NULL) {
        say_host_target(r, job, why, is_idle ? "; but no sum of this plan differs from those for portable" : "");
    } else if (is_idle) {
        const char *reason = firnc_target_idle(target, &job->precision);
        firnc_say("firnc: %s: warning: --target: %s changes nothing: %s; leave it out", r->recipe, r->target,
                  reason != NULL ? reason : "no sum of this plan differs from those for portable");
    }
}

/* Warns of frozen weights that nothing has trained: no file has them, and an ONNX file has values of its own. */
static void warn_of_frozen(const request *r, const firnc_graph *graph, const firnc_job *job) {
    uint32_t count = 0;
    for (firnc_value i = 0; i < graph->value_count; i++) {
        const firnc_value_info *value = &graph->values[i];
        const bool random = value->init.rule != FIRNC_INIT_CONSTANT;
        count += firnc_is_frozen(value->role) && value->initial == NULL && random;
    }
    if (count > 0 && job->weights == NULL && job->continues == NULL)
        firnc_say("firnc: %s: warning: %u frozen parameter%s random values: give --weights", r->recipe, (unsigned)count,
                  count == 1 ? " keeps" : "s keep");
}

static void warn_of_idle(const request *r, const char *option, const char *why) {
    firnc_say("firnc: %s: warning: %s changes nothing: %s; leave it out", r->recipe, option, why);
}

/* Warns of options that had no part in the plan. */
static void warn_of_idle_options(const request *r, const firnc_graph *graph, const firnc_job *job) {
    const bool is_eval = job->mode == FIRNC_EVAL;
    if (!firnc_logits_are_divided(graph))
        firnc_logit_rows_warn(r->recipe, job->logit_rows, is_eval);
    if (job->weight_copies == FIRNC_COPIES_NEVER && !rounds_weights(graph))
        warn_of_idle(r, "--weight-copies: never", "no product of half types reads a float32 weight");
    if (job->weight_copies == FIRNC_COPIES_ALWAYS && !job->precision.mixed)
        warn_of_idle(r, "--weight-copies: always", "the recipe computes in float32");
    if (job->late_update && is_eval)
        warn_of_idle(r, "--late-update", "an evaluation updates nothing");
}

/* A plan that is made. */
typedef struct making {
    firnc_recipe *recipe;
    firnc_graph *graph;
    const char *output; /* the file to write */
    const char *form;   /* what the plan is for, in a word */
    const char *why;    /* why the target was chosen for the host; NULL: the command line names it */
    firnc_frozen plan;
} making;

static bool freeze(const request *r, const firnc_key *key, making *m) {
    const firnc_freeze_options options = {.without_signature = r->without_signature || r->check != NULL,
                                          .dump_after = r->dump_after};
    return firnc_freeze_plan(m->graph, &m->recipe->job, key, &options, &m->plan);
}

/* Warns that --set makes a run so short that its schedules do not reach their end. Of a length in the file the recipe's
 * reader warns. */
static void warn_of_cut_schedule(const request *r, const firnc_job *job) {
    const uint64_t end = job->mode == FIRNC_TRAIN && !job->endless ? firnc_job_schedule_end(job) : 0;
    if (end > job->steps && job->places.steps.file != NULL && job->places.steps.line == 0)
        firnc_say(
            "firnc: %s: warning: the run ends after step %llu, by --set, and its schedules reach their end at step "
            "%llu: the last rate is not the one that the recipe ends with; make them as short as the run if that "
            "is meant",
            r->recipe, (unsigned long long)job->steps, (unsigned long long)end);
}

/* Says what was written, and what had no part in it. */
static bool say_written(const request *r, making *m) {
    const firnc_job *job = &m->recipe->job;
    say_target(r, m->graph, job, m->why);
    if (!r->all || job->mode == FIRNC_TRAIN)
        warn_of_idle_options(r, m->graph, job);
    warn_of_frozen(r, m->graph, job);
    warn_of_cut_schedule(r, job);
    if (r->check != NULL)
        return firnc_check_add(r->check, m->form, job, &m->plan.file);
    printf("%s: %llu bytes\n", firnc_printable(m->output), (unsigned long long)m->plan.file.count);
    if (r->without_signature && !firnc_plan_prepare(m->output, &m->plan.file, m->plan.plan_hash))
        return false;
    firnc_print_hash("plan hash", m->plan.plan_hash); /* without a signature what is to be signed */
    return true;
}

/* Runs the passes up to the one to dump; no plan is made. */
static bool dump(const request *r, const making *m) {
    firnc_compilation compilation = {.job = &m->recipe->job, .graph = m->graph};
    if (!firnc_run_passes(&compilation, r->dump_after))
        return false;
    if (m->why != NULL)
        say_host_target(r, &m->recipe->job, m->why, "");
    return true;
}

/* firnc_job.weight_copies for the word of the option, which may be NULL. */
static firnc_weight_copies weight_copies_of(const char *word) {
    if (word == NULL || strcmp(word, "auto") == 0)
        return FIRNC_COPIES_AUTO;
    return strcmp(word, "always") == 0 ? FIRNC_COPIES_ALWAYS : FIRNC_COPIES_NEVER;
}

static bool read_key(const request *r, firnc_key *key) {
    return (r->output == NULL && r->check == NULL) || !needs_key(r) ||
           (r->without_signature ? firnc_public_key_read(r->pub, key->public_key) : firnc_key_read(r->key, key));
}

/* Reads the tokenizer of a model's tokens, which must not have more of them than the model. */
static bool read_tokenizer(const request *r, const firnc_recipe *recipe, firnc_job *job) {
    uint8_t *identity = firnc_allocate(FIRNC_IDENTITY_BYTES);
    if (r->tokenizer == NULL)
        return true;
    if (recipe->facts.longest_sequence == 0 && !recipe->facts.tokens) {
        firnc_say("firnc: %s: --tokenizer: the model %s reads no tokens; leave it out", r->recipe, recipe->model->name);
        return false;
    }
    job->tokenizer = identity;
    if (firnc_tokenizer_is_note(r->tokenizer))
        return firnc_tokenizer_note_read(r->tokenizer, identity);
    firnc_tokenizer *tokenizer = firnc_allocate(sizeof *tokenizer);
    if (!firnc_tokenizer_read(tokenizer, r->tokenizer) || !firnc_tokenizer_identity(r->tokenizer, NULL, identity))
        return false;
    const uint32_t tokens = tokenizer->bpe.vocabulary.count;
    if (tokens > recipe->facts.outputs)
        firnc_say("firnc: %s: has %u tokens, and the model of %s %u; enlarge vocab_size", r->tokenizer,
                  (unsigned)tokens, r->recipe, (unsigned)recipe->facts.outputs);
    return tokens <= recipe->facts.outputs;
}

/* Fills in what the command line says of the job. */
static bool complete_job(const request *r, firnc_job *job) {
    job->weights = r->weights;
    if (r->hugging_face != NULL && r->weights == NULL &&
        (job->weights = firnc_hugging_face_weights(r->hugging_face, "--weights")) == NULL)
        return false;
    job->continues = r->continues;
    job->restart_schedule = r->restart_schedule;
    job->restart_data = r->restart_data;
    job->allow_unmatched = r->allow_unmatched;
    job->unmatched_mend = "give the file of this model, name them in trainer.init.weight_map, or add --allow-unmatched";
    job->late_update = r->late_update;
    job->logit_rows = firnc_logit_rows_of(r->logit_rows_given, r->logit_rows);
    job->weight_copies = weight_copies_of(r->weight_copies);
    job->security_counter = r->security_counter;
    job->plan_version = r->plan_version;
    if (r->image_id_given)
        job->image_id = r->image_id;
    memcpy(job->vendor, r->vendor, sizeof job->vendor);
    memcpy(job->class_id, r->class_id, sizeof job->class_id);
    return true;
}

/* Reads the recipe for a form of plan, and the key. */
static bool read_recipe(const request *r, const plan_form *form, firnc_key *key, making *m) {
    const char *texts[FIRNC_TEXTS_MAX + 1];
    uint32_t count = r->settings.count;
    memcpy(texts, r->settings.text, count * sizeof *texts);
    if (form->predicts)
        texts[count++] = "trainer.validate.metric=none";
    m->recipe = firnc_allocate(sizeof *m->recipe);
    m->recipe->samples = r->samples;
    m->recipe->hugging_face = r->hugging_face;
    m->recipe->statistics = r->statistics;
    m->recipe->has_tokenizer = r->tokenizer != NULL;
    if (!firnc_recipe_read(m->recipe, r->recipe, form->mode, texts, count) || !read_key(r, key))
        return false;
    if (form->decodes && (!r->all || m->recipe->model->decodes) && !firnc_recipe_decode(m->recipe, r->decode_chunk))
        return false;
    if (r->samples != 0 && (!r->all || form->mode == FIRNC_TRAIN) && !m->recipe->reads_samples)
        warn_of_idle(r, "--samples", "the length of this run does not depend on it");
    firnc_recipe_warn_of_statistics(m->recipe, r->recipe);
    m->why = set_target(r, &m->recipe->job);
    return read_tokenizer(r, m->recipe, &m->recipe->job) && complete_job(r, &m->recipe->job);
}

/* Writes the plan; a check only asks whether its name, if there is one, could be written. */
static bool write_plan(const request *r, const making *m) {
    if (r->check != NULL)
        return r->output == NULL || firnc_output_look(r->output);
    return firnc_file_write(r->output, m->plan.file.data, m->plan.file.count);
}

static bool compile_one(const request *r, firnc_key *key) {
    const plan_form form = {.mode = strcmp(r->mode, "train") == 0 ? FIRNC_TRAIN : FIRNC_EVAL, .decodes = r->decode};
    making m = {.output = r->output, .form = r->decode ? "decode" : r->mode};
    if (!read_recipe(r, &form, key, &m))
        return false;
    m.graph = firnc_recipe_build(m.recipe);
    if (r->check == NULL && r->output == NULL)
        return dump(r, &m);
    return freeze(r, key, &m) && write_plan(r, &m) && say_written(r, &m);
}

/* --- a plan for each mode ----------------------------------------------------------------------------------------- */

/* Messages that were said, because the plans of one recipe give rise to the same ones. */
typedef struct said {
    const char **lines;
    uint32_t count, capacity;
} said;

static void say_once(void *context, const char *line) {
    said *before = context;
    for (uint32_t i = 0; i < before->count; i++)
        if (strcmp(before->lines[i], line) == 0)
            return;
    before->lines = firnc_grown(before->lines, before->count, &before->capacity, sizeof *before->lines);
    before->lines[before->count++] = firnc_format("%s", line);
    fprintf(stderr, "%s\n", line);
}

/* Whether a recipe that was read for a form has it. */
static bool has_form(const firnc_recipe *recipe, const plan_form *form) {
    if (form->decodes)
        return recipe->model->decodes;
    return form->predicts || firnc_job_judges(&recipe->job); /* outputs alone make a recipe that only predicts */
}

/* Makes the plan of a form; *had becomes false if the recipe does not have it. */
static bool make_form(const request *r, const plan_form *form, firnc_key *key, making *m, bool *had) {
    *m = (making){.output = output_of(r, form), .form = form->word};
    if (!read_recipe(r, form, key, m))
        return false;
    firnc_job *job = &m->recipe->job;
    job->image_id = form->image_id;
    *had = has_form(m->recipe, form);
    if (form->decodes && !*had && r->decode_chunk_given)
        warn_of_idle(r, "--decode-chunk", "this model does not say one token after the other");
    if (!*had)
        return true;
    if (form->predicts && job->output_count == 0) {
        const bool numbers = m->recipe->facts.targets == FIRNC_TARGETS_NUMBERS;
        job->outputs[job->output_count++] = (firnc_job_output){.name = numbers ? "prediction" : "logits"};
        job->steps = 0; /* eval_steps is for the metric; a prediction is for all data */
    }
    m->graph = firnc_recipe_build(m->recipe);
    return freeze(r, key, m);
}

/* Asks, for a check, whether the folder, if there is one, and the plans in it could be written. */
static bool look_at_set(const request *r, const making *set, uint32_t count) {
    bool there = false, good = r->output == NULL || firnc_folder_look(r->output, &there);
    for (uint32_t i = 0; good && there && i < count; i++)
        good = firnc_output_look(set[i].output);
    return good;
}

/* Writes the plans of a set into the folder, which is removed again if it was made for nothing. */
static bool write_set(const request *r, const making *set, uint32_t count) {
    firnc_file files[PLANS];
    bool made;
    for (uint32_t i = 0; i < count; i++)
        files[i] = (firnc_file){.name = set[i].output, .bytes = set[i].plan.file};
    if (!firnc_folder_make(r->output, &made))
        return false;
    const bool good = firnc_files_write(files, count);
    if (!good && made)
        rmdir(r->output);
    return good;
}

/* Warns of plans in the folder that have the names of this set and are of an older call. They stay: somebody may use
 * them. */
static void warn_of_older(const request *r, const making *set, uint32_t count) {
    for (size_t i = 0; i < PLANS; i++) {
        const char *path = output_of(r, &plans[i]);
        bool written = false;
        for (uint32_t j = 0; j < count; j++)
            written = written || strcmp(set[j].output, path) == 0;
        if (!written && access(path, F_OK) == 0)
            firnc_say("firnc: %s: warning: is of another call, because %s has no such plan; remove it if it is not of "
                      "this model",
                      path, r->recipe);
    }
}

static bool compile_all(const request *r, firnc_key *key) {
    bool has[] = {[FIRNC_TRAIN] = true, [FIRNC_EVAL] = true};
    making set[PLANS];
    uint32_t count = 0;
    bool good = firnc_recipe_modes(r->recipe, r->hugging_face, r->settings.text, r->settings.count, has);
    for (size_t i = 0; i < PLANS && good; i++) {
        bool had = false;
        good = !has[plans[i].mode] || make_form(r, &plans[i], key, &set[count], &had);
        count += had;
    }
    good = good && (r->check != NULL ? look_at_set(r, set, count) : write_set(r, set, count));
    if (good && r->check == NULL)
        warn_of_older(r, set, count);
    for (uint32_t i = 0; i < count && good; i++)
        good = say_written(r, &set[i]);
    return good;
}

static bool compile(const request *r, firnc_key *key) {
    said before = {0};
    if (!r->all)
        return compile_one(r, key);
    if (r->check != NULL) /* which says each message once by itself */
        return compile_all(r, key);
    firnc_messages_to(say_once, &before);
    const bool good = compile_all(r, key);
    firnc_messages_to(NULL, NULL);
    return good;
}

/* Does what the options ask for. Returns the exit code. */
static int run(const request *r) {
    const int status = check_request(r);
    if (status != FIRNC_EXIT_OK)
        return status;
    firnc_key key = {0};
    const bool good = compile(r, &key);
    firnc_wipe(&key, sizeof key);
    return good ? FIRNC_EXIT_OK : FIRNC_EXIT_WRONG;
}

static int compile_command(int argc, char **argv) {
    request r = {.decode_chunk = 1};
    return firnc_options_read(argc, argv, &firnc_command_compile, &r) ? run(&r) : FIRNC_EXIT_USAGE;
}

static int check_command(int argc, char **argv) {
    request r = {.decode_chunk = 1};
    if (!firnc_has_output())
        return FIRNC_EXIT_WRONG;
    if (!firnc_options_read(argc, argv, &firnc_command_check, &r))
        return FIRNC_EXIT_USAGE;
    if (r.mode == NULL && !r.all)
        r.mode = "train";
    r.check = firnc_check_begin(r.recipe);
    return firnc_check_end(r.check, run(&r), r.json);
}

const firnc_command firnc_command_compile = {
    .words = {.name = "compile",
              .group = "Plans",
              .summary = "freeze a recipe into a signed plan",
              .forms = {"RECIPE --mode train|eval --key KEY -o PLAN [options]",
                        "RECIPE --all --key KEY -o FOLDER [options]",
                        "RECIPE --mode train|eval --unsigned --pub PUB -o PLAN [options]",
                        "RECIPE --mode train|eval --dump-after PASS [options]"},
              .text = "freeze a recipe into a plan; --dump-after without -o writes no plan and needs no key",
              .examples = {{"firnc compile recipe.yaml --mode train --key me.key.pem -o train.plan",
                            "freeze the training run of a recipe"},
                           {"firnc compile recipe.yaml --mode train --plan-version 2 --key me.key.pem -o next.plan",
                            "freeze a newer version, for devices that run an older one"},
                           {"firnc compile recipe.yaml --all --key me.key.pem -o plans",
                            "freeze the plans to train, evaluate, predict and generate"},
                           {"firnc compile flowers.yaml --all --key me.key.pem -o flowers --set trainer.init.seed=3",
                            "change a key of the recipe"},
                           {"firnc compile recipe.yaml --mode train --unsigned --pub me.pub.pem -o unsigned.plan",
                            "leave the signature to firnc sign and firnc attach"}},
              .operand = {.value = "RECIPE",
                          .kind = FIRN_OPTION_TEXT,
                          .names = FIRN_NAMES_FILE,
                          .place = offsetof(request, recipe),
                          .least = 1},
              .tables = {{options, sizeof options / sizeof options[0]}}},
    .run = compile_command,
};

static const firn_option check_options[] = {
    {.name = "--json",
     .text = "what is said as JSON, with the warnings",
     .kind = FIRN_OPTION_FLAG,
     .place = offsetof(request, json)},
};

const firnc_command firnc_command_check = {
    .words = {.name = "check",
              .group = "Plans",
              .summary = "say what compile would make of a recipe",
              .forms = {"RECIPE [--mode train|eval | --all] [--json] [options of firnc compile]"},
              .text = "compile a recipe and say what would be made; nothing is written, and no key is needed. Without "
                      "--mode and --all for training",
              .examples = {{"firnc check recipe.yaml", "say what its training would be, without a key"},
                           {"firnc check recipe.yaml --all --json", "the same of all its plans, for programs"}},
              .operand = {.value = "RECIPE",
                          .kind = FIRN_OPTION_TEXT,
                          .names = FIRN_NAMES_FILE,
                          .place = offsetof(request, recipe),
                          .least = 1},
              .tables = {{check_options, sizeof check_options / sizeof check_options[0]},
                         {options, sizeof options / sizeof options[0]}}},
    .run = check_command,
};
