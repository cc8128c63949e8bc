/* trainer.init.callbacks: a list of the model zoo's callbacks by name. Those that ask for something that a plan has are
 * taken, those that only observe a run are warned of, and all others, which may change the run, are refused. */
#include <string.h>

#include "compiler/recipe/recipe_parts.h"

#define FOR_THEIR_MACHINES "it is for the model zoo's machines; remove it"
#define NO_FILES           "a plan names no files; use firn train --checkpoint with --resume, or firnc compile --weights"
#define NO_TENSORS         "a plan has no callbacks; name what is to be read in trainer.fit.outputs"
#define ONE_METRIC         "an eval plan has one metric, trainer.validate.metric; remove it"
#define TIMES              "firn train --log has the time of each step; remove it"

/* Callbacks without effect, each with the reason and what to do instead. */
static const struct {
    const char *name, *instead;
} observers[] = {
    {"BigCodeEvalHarness", ONE_METRIC},
    {"CheckLoss", "trainer.init.loop.check_loss is false; remove one of the two"},
    {"CountParams", "firnc inspect has the number of parameters; remove it"},
    {"DebugArgsPath", FOR_THEIR_MACHINES},
    {"DumpActivations", NO_TENSORS},
    {"DumpAvailableTensorNames", "firnc compile --dump-after build prints the layers; remove it"},
    {"DurationProfiler", TIMES},
    {"EleutherEvalHarness", ONE_METRIC},
    {"EmailNotification", "a plan has no callbacks; remove it"},
    {"FlopUtilization", "firnc inspect has the multiply-adds of a step; remove it"},
    {"GlobalFlags", FOR_THEIR_MACHINES},
    {"HFCacheDir", FOR_THEIR_MACHINES},
    {"KeepNCheckpoints", "a run has one checkpoint, which firn train --checkpoint names; remove it"},
    {"LoadCheckpointStates", NO_FILES},
    {"LogInputSummaries", "a plan has no callbacks; remove it"},
    {"LogOptimizerParamGroup", "a plan has no callbacks; firnc schedule prints the learning rates"},
    {"LogSparsity", "Firn trains dense models; remove it"},
    {"ModelEvalMetrics", "trainer.validate.metric chooses the metric; remove it"},
    {"ModelZooParamsMetadata", FOR_THEIR_MACHINES},
    {"NaNChecker", "trainer.init.loop.check_loss looks at the loss; remove it"},
    {"NormTensorListener", NO_TENSORS},
    {"OpProfiler", "a plan has no callbacks; firnc inspect lists the ops"},
    {"Profiler", TIMES},
    {"RateProfiler", TIMES},
    {"SaveCheckpointState", "a run has one checkpoint, which firn train --checkpoint names; remove it"},
    {"SavePerformanceData", TIMES},
    {"ScopedTrainFlags", "it is for the model zoo's machines; use micro_batch_size of the data, or remove it"},
    {"ScopedEvalFlags", FOR_THEIR_MACHINES},
    {"ScopedValidateFlags", FOR_THEIR_MACHINES},
    {"SlackNotification", "a plan has no callbacks; remove it"},
    {"SummaryTensorListener", NO_TENSORS},
};

/* Why a callback has no effect; NULL if it is not known to have none. */
static const char *reason_of(const char *callback) {
    for (size_t i = 0; i < sizeof observers / sizeof observers[0]; i++)
        if (strcmp(callback, observers[i].name) == 0)
            return observers[i].instead;
    return NULL;
}

/* ComputeNorm asks for the norm of the gradients, which the plan computes then even if nothing else needs it. */
static bool read_compute_norm(firnc_job *job, const firnc_tree *callback) {
    if (callback->kind == FIRNC_MAPPING ? callback->first != NULL : !firnc_tree_is_null(callback))
        return firnc_tree_fail(callback->first != NULL ? callback->first : callback,
                               "ComputeNorm has no settings; remove them");
    job->gradient_norm = true;
    if (job->mode == FIRNC_TRAIN)
        firnc_idle_say(callback, "has effect in part",
                       "the log has the norm of all gradients together, and no norms of layers or of "
                       "parameters; firn export writes the parameters");
    return true;
}

/* FreezeParameters: a pattern of parameter names, or a list of them, also below the key params. */
static bool read_frozen(firnc_job *job, const firnc_tree *callback) {
    static const firnc_field fields[] = {{"params", .kind = FIRNC_FIELD_OTHER, .required = true}};
    const firnc_tree *names = callback;
    if (callback->kind == FIRNC_MAPPING) {
        if (!firnc_fields_read(callback, fields, 1, NULL))
            return false;
        names = firnc_tree_child(callback, "params");
    }
    return firnc_recipe_patterns(names, FIRNC_RECIPE_PARAMETERS, &job->frozen, &job->frozen_count);
}

static bool read_callback(firnc_job *job, const firnc_tree *entry, const firnc_tree *callback) {
    const char *name = callback == NULL ? NULL : callback->key;
    const char *reason = name == NULL ? NULL : reason_of(name);
    if (name != NULL && strcmp(name, "ComputeNorm") == 0)
        return read_compute_norm(job, callback);
    if (name != NULL && strcmp(name, "FreezeParameters") == 0)
        return read_frozen(job, callback);
    if (reason == NULL)
        return firnc_tree_fail(entry, "%s may change the run, and a plan cannot hold it; remove it",
                               name == NULL ? "a callback without a name" : name);
    if (!job->check_loss || strcmp(name, "CheckLoss") != 0)
        firnc_idle_note(callback, reason);
    return true;
}

bool firnc_recipe_callbacks(firnc_job *job, const firnc_tree *list) {
    for (const firnc_tree *entry = list == NULL ? NULL : list->first; entry != NULL; entry = entry->next) {
        const firnc_tree *callback = entry->kind == FIRNC_MAPPING ? entry->first : NULL;
        do {
            if (!read_callback(job, entry, callback))
                return false;
            callback = callback == NULL ? NULL : callback->next;
        } while (callback != NULL);
    }
    return true;
}
