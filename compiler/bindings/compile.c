/* Compiles a recipe by one call (compiler/bindings/compile.h). The command line has more options and its own file,
 * compiler/commands/compile.c; what both do is in the folders that both include. */
#include "compiler/bindings/compile.h"

#include <stdlib.h>
#include <string.h>

#include "compiler/firnc.h"
#include "compiler/job/host.h"
#include "compiler/recipe/recipe.h"

typedef struct work {
    const firnc_request *request;
    firnc_compiled *compiled;
} work;

static bool fail(const firnc_request *request, const char *what) {
    firnc_say("firnc: %s: %s", request->recipe, what);
    return false;
}

/* What a mode of a request asks for. */
typedef struct form {
    const char *word;
    firnc_mode mode;
    uint32_t image_id;
    bool predicts, decodes;
} form;

static const form forms[] = {
    {.word = "train", .mode = FIRNC_TRAIN, .image_id = 0},
    {.word = "eval", .mode = FIRNC_EVAL, .image_id = 1},
    {.word = "predict", .mode = FIRNC_EVAL, .image_id = 2, .predicts = true},
    {.word = "decode", .mode = FIRNC_EVAL, .image_id = FIRNC_DECODE_IMAGE_ID, .decodes = true}};

static const form *find_form(const firnc_request *request) {
    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++)
        if (strcmp(forms[i].word, request->mode) == 0)
            return &forms[i];
    fail(request, firnc_format("%s is not a mode; write train, eval, predict or decode", request->mode));
    return NULL;
}

static bool check(const firnc_request *request) {
    if (request->setting_count > FIRNC_SETTINGS_MAX)
        return fail(request, "has more than 64 settings; write them into the recipe");
    for (uint32_t i = 0; i < request->setting_count; i++)
        if (strchr(request->settings[i], '=') == NULL)
            return fail(request, firnc_format("the setting %s has no value; write key=value", request->settings[i]));
    if (request->target != NULL && !firnc_target_known(request->target))
        return fail(request, firnc_format("target: " FIRNC_TARGET_UNKNOWN, request->target, firnc_target_names()));
    return true;
}

/* more: settings behind those of the request, three at most */
static firnc_recipe *read_with(const firnc_request *request, const form *form, const char *const *more,
                               uint32_t count) {
    const char *settings[FIRNC_SETTINGS_MAX + 4];
    uint32_t total = 0;
    for (uint32_t i = 0; i < request->setting_count; i++)
        settings[total++] = request->settings[i];
    if (form->predicts)
        settings[total++] = "trainer.validate.metric=none";
    for (uint32_t i = 0; i < count; i++)
        settings[total++] = more[i];
    firnc_recipe *recipe = firnc_allocate(sizeof *recipe);
    recipe->samples = request->samples;
    recipe->hugging_face = request->hugging_face;
    recipe->statistics = request->statistics;
    return firnc_recipe_read(recipe, request->recipe, form->mode, settings, total) ? recipe : NULL;
}

/* Reads the recipe once more, with a ring of the batch that it had, of which nothing is held out. */
static firnc_recipe *read_pushed(const firnc_request *request, const form *form, const firnc_recipe *first) {
    if (first->facts.longest_sequence != 0) {
        fail(request, "its samples are windows of text; write source: push and ring, the number of bytes, into its "
                      "data loader");
        return NULL;
    }
    const char *loader = form->mode == FIRNC_TRAIN ? "trainer.fit.train_dataloader" : "trainer.validate.val_dataloader";
    const char *const more[] = {firnc_format("%s.source=push", loader),
                                firnc_format("%s.ring=%u", loader, (unsigned)first->job.data.batch_size),
                                firnc_format("%s.held_out_per_mille=0", loader)};
    return read_with(request, form, more, 3);
}

/* A prediction has outputs, and is for all data: eval_steps is for the metric. */
static void add_outputs(firnc_recipe *recipe) {
    firnc_job *job = &recipe->job;
    if (job->output_count > 0)
        return;
    const bool numbers = recipe->facts.targets == FIRNC_TARGETS_NUMBERS;
    job->outputs[job->output_count++] = (firnc_job_output){.name = numbers ? "prediction" : "logits"};
    job->steps = 0;
}

static firnc_recipe *read_recipe(const firnc_request *request, const form *form) {
    firnc_recipe *recipe = read_with(request, form, NULL, 0);
    if (recipe != NULL && request->push)
        recipe = read_pushed(request, form, recipe);
    if (recipe == NULL || (form->decodes && !firnc_recipe_decode(recipe, 1)))
        return NULL;
    recipe->job.image_id = form->image_id;
    if (form->predicts)
        add_outputs(recipe);
    return recipe;
}

static bool complete_job(const firnc_request *request, firnc_job *job) {
    const char *why;
    const firnc_cpu cpu = firnc_cpu_read();
    if (request->target != NULL)
        job->target = strcmp(request->target, FIRNC_HOST) == 0 ? firnc_host_target(&cpu, &job->precision, &why)->name
                                                               : request->target;
    job->weights = request->weights;
    if (request->hugging_face != NULL && request->weights == NULL)
        job->weights = firnc_hugging_face_weights(request->hugging_face, "weights");
    job->allow_unmatched = request->allow_unmatched;
    job->unmatched_mend = "give the file of this model, name them in trainer.init.weight_map, or allow unmatched ones";
    return request->hugging_face == NULL || job->weights != NULL;
}

static void wipe(void *key) {
    firnc_wipe(key, sizeof(firnc_key));
}

/* Signs with the key of the request, which is wiped however the call ends. */
static bool freeze(const firnc_request *request, firnc_recipe *recipe, firnc_compiled *compiled) {
    firnc_key key;
    firnc_frozen frozen;
    firnc_hold(wipe, &key);
    const bool good = (request->key != NULL ? firnc_key_read(request->key, &key) : firnc_key_generate(&key)) &&
                      firnc_freeze_plan(firnc_recipe_build(recipe), &recipe->job, &key, NULL, &frozen);
    if (good)
        memcpy(compiled->public_key, key.public_key, sizeof compiled->public_key);
    firnc_let_go(wipe, &key);
    wipe(&key);
    if (!good)
        return false;
    compiled->plan = malloc((size_t)frozen.file.count);
    if (compiled->plan == NULL)
        firnc_out_of_memory(frozen.file.count);
    memcpy(compiled->plan, frozen.file.data, (size_t)frozen.file.count);
    compiled->bytes = frozen.file.count;
    return true;
}

static bool compile(void *argument) {
    const work *w = argument;
    const form *form = find_form(w->request);
    if (form == NULL || !check(w->request))
        return false;
    firnc_recipe *recipe = read_recipe(w->request, form);
    return recipe != NULL && complete_job(w->request, &recipe->job) && freeze(w->request, recipe, w->compiled);
}

firnc_outcome firnc_compile(const firnc_request *request, firnc_compiled *compiled, firnc_message message,
                            void *context) {
    work w = {.request = request, .compiled = compiled};
    *compiled = (firnc_compiled){0};
    return firnc_perform(compile, &w, message, context);
}

void firnc_compiled_free(firnc_compiled *compiled) {
    free(compiled->plan);
    *compiled = (firnc_compiled){0};
}
