/* trainer.init.loop: the length of the run in steps or in epochs, and gradient accumulation. Runs after the data, whose
 * batch an epoch is counted in. */
#include <math.h>
#include <string.h>

#include "compiler/recipe/recipe_parts.h"

typedef struct loop {
    uint64_t eval_steps, num_epochs, steps_per_epoch; /* 0: not given */
    uint32_t grad_accum_steps;
    bool check_loss;
    int tree;
} loop;

static const firnc_choice orders[] = {{"sequential", false}, {"tree", true}, {NULL, 0}};

static const firnc_field fields[] = {
    {"num_steps", .kind = FIRNC_FIELD_OTHER},
    {"max_steps", .kind = FIRNC_FIELD_OTHER},
    {"num_epochs", .kind = FIRNC_FIELD_LONG, offsetof(loop, num_epochs), 1, FIRNC_STEPS_MAX},
    {"steps_per_epoch", .kind = FIRNC_FIELD_LONG, offsetof(loop, steps_per_epoch), 1, FIRNC_STEPS_MAX},
    {"eval_steps", .kind = FIRNC_FIELD_LONG, offsetof(loop, eval_steps), 0, FIRNC_STEPS_MAX},
    {"check_loss", .kind = FIRNC_FIELD_FLAG, offsetof(loop, check_loss)},
    {"grad_accum_steps", .kind = FIRNC_FIELD_WHOLE, offsetof(loop, grad_accum_steps), 1, FIRNC_SAMPLES_MAX},
    {"micro_batch_order", .kind = FIRNC_FIELD_CHOICE, offsetof(loop, tree), .choices = orders},
    {"eval_frequency", .kind = FIRNC_FIELD_OTHER},
    FIRNC_OPTIMIZER_KEYS_BELOW,
    FIRNC_PRECISION_KEYS_BELOW,
    FIRNC_DATA_KEYS_BELOW,
    FIRNC_INIT_KEYS_BELOW,
};

/* --- the length of the run ---------------------------------------------------------------------------------------- */

/* Reads a length in steps, or `unlimited`. */
static bool read_length(firnc_job *job, const firnc_tree *node) {
    static const firnc_field steps = {.kind = FIRNC_FIELD_LONG, .low = 1, .high = FIRNC_STEPS_MAX};
    if (node->kind == FIRNC_SCALAR && strcmp(node->text, "unlimited") == 0) {
        job->endless = job->mode == FIRNC_TRAIN;
        return true;
    }
    uint64_t value;
    if (node->kind == FIRNC_SCALAR && strpbrk(node->text, "0123456789") == NULL)
        return firnc_tree_fail(node, "%s is neither a number of steps nor unlimited; write one of the two", node->text);
    if (!firnc_field_whole(node, &steps, &value))
        return false;
    if (job->mode == FIRNC_TRAIN)
        job->steps = value;
    return true;
}

/* The steps of an epoch that the recipe gives, or the whole batches of the samples that the command line gives. 0 after
 * one message. */
static uint64_t epoch_steps(firnc_recipe *recipe, const firnc_tree *epochs, const loop *l) {
    const uint64_t batch = recipe->job.data.batch_size;
    if (l->steps_per_epoch != 0)
        return l->steps_per_epoch;
    recipe->reads_samples = true;
    if (recipe->samples == 0)
        firnc_tree_fail(epochs, "the length of an epoch is not known; add steps_per_epoch beside it, or give firnc "
                                "compile --samples, the samples that an epoch reads");
    else if (recipe->samples < batch)
        firnc_tree_fail(epochs, "an epoch of --samples %llu has no whole batch of %llu; make batch_size smaller",
                        (unsigned long long)recipe->samples, (unsigned long long)batch);
    return recipe->samples / batch;
}

/* num_epochs is a length of its own; beside max_steps, which only limits a run, the shorter of the two is taken. The
 * batches of --samples are read once in an epoch, also where a step accumulates several; steps_per_epoch counts steps.
 */
static bool read_epochs(firnc_recipe *recipe, const firnc_tree *mapping, const loop *l, uint32_t step_batches) {
    static const firnc_idle_key per_epoch = {"steps_per_epoch", NULL};
    const firnc_tree *epochs = firnc_tree_child(mapping, "num_epochs");
    firnc_job *job = &recipe->job;
    if (job->mode != FIRNC_TRAIN)
        return true;
    if (epochs == NULL) {
        firnc_idle_note_keys(mapping, &per_epoch, 1, NULL, "it is for num_epochs; write that, or remove this key");
        return true;
    }
    if (firnc_tree_child(mapping, "num_steps") != NULL)
        return firnc_tree_fail(epochs, "num_steps says how long the run is; remove one of the two");
    const uint64_t steps = epoch_steps(recipe, epochs, l);
    if (steps == 0)
        return false;
    if (l->num_epochs > (uint64_t)FIRNC_STEPS_MAX / steps)
        return firnc_tree_fail(epochs, "%llu epochs of %llu steps are too long; write fewer",
                               (unsigned long long)l->num_epochs, (unsigned long long)steps);
    const uint64_t batches = l->num_epochs * steps, length = batches / (l->steps_per_epoch != 0 ? 1 : step_batches);
    if (length == 0)
        return firnc_tree_fail(epochs, "%llu batches are no whole step of %u; lower grad_accum_steps",
                               (unsigned long long)batches, (unsigned)step_batches);
    if (job->endless || job->steps == 0 || job->steps > length)
        job->steps = length;
    job->endless = false;
    return true;
}

/* --- accumulation ------------------------------------------------------------------------------------------------- */

static bool is_for_csx(const firnc_tree *init) {
    const firnc_tree *type = firnc_tree_child(firnc_tree_child(init, "backend"), "backend_type");
    if (type == NULL)
        type = firnc_tree_child(init, "device");
    return type != NULL && type->kind == FIRNC_SCALAR && firnc_same_word(type->text, "CSX");
}

/* A batch of the data becomes a micro-batch, and so many of them a step; as in the reference, not with the backend CSX,
 * which divides a batch instead. */
static bool accumulate(firnc_recipe *recipe, bool csx, const firnc_tree *mapping, const loop *l) {
    static const firnc_idle_key key = {"grad_accum_steps", "1"};
    firnc_data *data = &recipe->job.data;
    if (csx) {
        firnc_idle_note_keys(mapping, &key, 1, NULL,
                             "the backend CSX does not accumulate; set micro_batch_size below batch_size, or remove "
                             "the backend");
        return true;
    }
    if (recipe->job.mode != FIRNC_TRAIN || l->grad_accum_steps <= 1)
        return true;
    if (data->batch_size > FIRNC_SAMPLES_MAX / l->grad_accum_steps)
        return firnc_tree_fail(firnc_tree_child(mapping, key.key), "a step would have more than %d samples; lower it",
                               FIRNC_SAMPLES_MAX);
    data->batch_size *= l->grad_accum_steps;
    return true;
}

/* The order in which the micro-batches of a step are added. */
static bool order(firnc_job *job, const firnc_tree *mapping, const loop *l) {
    static const firnc_idle_key usual = {"micro_batch_order", "sequential"};
    if (job->mode != FIRNC_TRAIN)
        return true;
    if (job->data.batch_size == job->data.micro_batch_size)
        firnc_idle_note_keys(mapping, &usual, 1, NULL,
                             "a step has one micro-batch; set micro_batch_size below batch_size, or remove this key");
    job->tree = l->tree;
    return true;
}

/* --- evaluations -------------------------------------------------------------------------------------------------- */

/* Reads how often the recipe wants the state evaluated, for the report of a training plan. A whole number counts steps,
 * any other is a share of the run, as in the reference: 0.25 is 4 times. 0 and null leave it to firn train. */
static bool read_eval_frequency(firnc_job *job, const firnc_tree *mapping) {
    static const firnc_field steps = {.kind = FIRNC_FIELD_LONG, .low = 0, .high = FIRNC_STEPS_MAX};
    static const firnc_field share = {.kind = FIRNC_FIELD_DOUBLE,
                                      .low = 0,
                                      .high = 1,
                                      .only = "write a number of steps, or a share of the run from 0.0 to 1.0"};
    const firnc_tree *node = firnc_tree_child(mapping, "eval_frequency");
    uint64_t number = 0;
    double part = 0;
    if (node == NULL || job->mode != FIRNC_TRAIN)
        return true;
    if (node->kind == FIRNC_SCALAR && strspn(node->text, "0123456789") == strlen(node->text)) {
        if (!firnc_field_whole(node, &steps, &number))
            return false;
        job->eval_frequency = number;
        return true;
    }
    if (!firnc_field_number(node, &share, &part))
        return false;
    if (part != 0 && job->endless)
        return firnc_tree_fail(node, "a run without an end has no share; write a number of steps");
    /* The product of 0.07 and 100 is a little above 7 in binary64. */
    job->eval_frequency = (uint64_t)ceil(nextafter(part * (double)job->steps, 0));
    return true;
}

/* --- the whole ---------------------------------------------------------------------------------------------------- */

bool firnc_recipe_loop(firnc_recipe *recipe, const firnc_tree *init) {
    const firnc_tree *mapping = firnc_tree_child(init, "loop");
    loop values = {.check_loss = true, .grad_accum_steps = 1};
    if (!firnc_fields_read(mapping, fields, sizeof fields / sizeof fields[0], &values))
        return false;
    const firnc_tree *num_steps = firnc_tree_child(mapping, "num_steps");
    const firnc_tree *max_steps = firnc_tree_child(mapping, "max_steps");
    const firnc_tree *length = num_steps != NULL ? num_steps : max_steps;
    firnc_job *job = &recipe->job;
    if (num_steps != NULL && max_steps != NULL)
        return firnc_tree_fail(max_steps, "is num_steps by another name, which is there too; remove one of them");
    if (job->mode == FIRNC_TRAIN && length == NULL && values.num_epochs == 0)
        return firnc_tree_fail(mapping, "num_steps is missing; add the length of the run in steps, or unlimited");
    job->steps = job->mode == FIRNC_TRAIN ? 0 : values.eval_steps;
    job->places.steps = firnc_tree_place(length != NULL ? length : firnc_tree_child(mapping, "num_epochs"));
    job->check_loss = values.check_loss;
    const bool csx = is_for_csx(init);
    return (length == NULL || read_length(job, length)) &&
           read_epochs(recipe, mapping, &values, csx ? 1 : values.grad_accum_steps) &&
           accumulate(recipe, csx, mapping, &values) && order(job, mapping, &values) &&
           read_eval_frequency(job, mapping);
}
