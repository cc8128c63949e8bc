/* firnc tune: finds a mixed precision recipe by measurement. It starts in float32 and walks through the model twice:
 * first it tries the half type for each unit, then a higher POL for each unit in the half type. It keeps a change if it
 * saves time, and more than chance explains, and the loss stays within the tolerance of float32's. The result is a
 * recipe with the changes that were kept, and a report of all that were tried. A unit is a layer that autocast would
 * run in the half type, with the layers that follow it up to the next such one (its activation, the next norm), so that
 * casts occur only between units. */
#define _XOPEN_SOURCE 700 /* realpath */
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/commands/commands.h"
#include "compiler/graph/ir.h"
#include "compiler/keys/tree.h"
#include "compiler/keys/tree_edit.h"
#include "compiler/studies/paired.h"
#include "compiler/studies/study.h"

#ifndef PATH_MAX
#    define PATH_MAX 4096
#endif

#define PRECISION   "trainer.init.precision."
#define RECIPE_NAME "recipe.yaml"
#define REPORT_NAME "report.md"
#define TOLERANCE   0.01 /* as a share of float32's loss */
#define LEAST_GAIN  0.01 /* as a share of a step's time; a smaller gain counts as noise */
#define HIGHEST_POL 2
#define UNCHANGED   "computes the same"
#define REJECTED    "computes the same as one that was rejected"
#define NO_TIME     "no time gained"
#define TOO_MUCH    "costs more than the tolerance"
#define NOISY       "too noisy to decide: its time"
#define FEW_SEEDS   "too noisy to decide: its cost"
#define KEPT        "kept"

/* Timing of one choice against another: pairs of rounds, of which each has both orders, so that a machine which slows
 * down steadily favours neither. After 2, 4 and 8 pairs the interval of the gain is looked at, and timing ends as soon
 * as that leaves no doubt. ROUND_STEPS are enough for a median. */
enum { FIRST_LOOK = 2, PAIRS_MOST = 8, ROUND_STEPS = 16 };

typedef struct unit {
    const char *name;    /* name of its first layer */
    const char **layers; /* names of all its layers */
    uint32_t layer_count, layer_capacity;
} unit;

/* A choice of precision: for each unit, whether it runs in the half type, and its POL. */
typedef struct choice {
    bool *half;
    uint8_t *level;
} choice;

typedef struct attempt {
    const char *unit, *what, *outcome;
    double seconds, gain, loss, cost;  /* gain: share of the previous time; cost: share of float32's loss */
    double gain_noise, cost_noise;     /* half the width of their 95 % intervals; 0: not measured */
    uint8_t rejected[FIRN_HASH_BYTES]; /* what it computed, if that was rejected; otherwise zeros */
} attempt;

typedef struct tuning {
    firnc_study study;
    const char *tolerance_text, *gain_text;
    double tolerance, least_gain;
    unit *units;
    uint32_t unit_count, unit_capacity;
    choice kept;
    firnc_trial float32, best; /* best: the trial of `kept` */
    double *float32_losses;    /* of each seed */
    double gain, gain_noise;   /* of `best`, as a share of float32's time */
    attempt *attempts;
    uint32_t attempt_count, attempt_capacity;
    const char *half; /* name of the half type */
    const firnc_model *model;
    uint32_t runs;
} tuning;

/* --- the command line --------------------------------------------------------------------------------------------- */

_Static_assert(offsetof(tuning, study) == 0, "the options of every study are placed in the first field");

static const firn_option options[] = {
    {.name = "--tolerance",
     .value = "SHARE",
     .text = "how much the loss may exceed that of float32; default: 0.01",
     .kind = FIRN_OPTION_TEXT,
     .place = offsetof(tuning, tolerance_text)},
    {.name = "--least-gain",
     .value = "SHARE",
     .text = "time of a step that a change must save to be kept; default: 0.01",
     .kind = FIRN_OPTION_TEXT,
     .place = offsetof(tuning, gain_text)},
};

static bool read_share(const char *text, double usual, double *share) {
    *share = usual;
    if (text == NULL)
        return true;
    char *end;
    *share = strtod(text, &end);
    return end != text && *end == '\0' && *share >= 0 && *share < 1;
}

/* --- units -------------------------------------------------------------------------------------------------------- */

static bool is_in(const unit *u, const char *layer) {
    for (uint32_t i = 0; i < u->layer_count; i++)
        if (strcmp(u->layers[i], layer) == 0)
            return true;
    return false;
}

static bool is_known(const tuning *t, const char *layer) {
    for (uint32_t i = 0; i < t->unit_count; i++)
        if (is_in(&t->units[i], layer))
            return true;
    return false;
}

static void begin_unit(tuning *t, const char *layer) {
    t->units = firnc_grown(t->units, t->unit_count, &t->unit_capacity, sizeof *t->units);
    t->units[t->unit_count++] = (unit){.name = layer};
}

static void add_layer(unit *u, const char *layer) {
    u->layers = firnc_grown(u->layers, u->layer_count, &u->layer_capacity, sizeof *u->layers);
    u->layers[u->layer_count++] = layer;
}

/* Divides the layers of the model into units, in the order of the forward pass. */
static bool find_units(tuning *t) {
    const firnc_texts none = {0};
    firnc_recipe *recipe = firnc_allocate(sizeof *recipe);
    if (!firnc_study_recipe(&t->study, &none, FIRNC_TRAIN, recipe))
        return false;
    const firnc_graph *graph = firnc_recipe_build(recipe);
    t->half = firn_type_name((uint8_t)recipe->job.precision.half);
    t->model = recipe->model;
    firnc_study_set_target(&t->study, recipe->job.precision.half, recipe->job.precision.emulate);
    for (uint32_t i = 0; i < graph->node_count; i++) {
        const firnc_node *node = &graph->nodes[i];
        if (node->code == FIRN_OP_dropout || is_known(t, node->name))
            continue; /* an eval plan has no dropout, and dropout takes its input's type */
        if (t->unit_count == 0 || firn_op_find(node->code)->autocast == FIRN_AUTOCAST_half)
            begin_unit(t, node->name);
        add_layer(&t->units[t->unit_count - 1], node->name);
    }
    t->kept.half = firnc_allocate(t->unit_count * sizeof *t->kept.half);
    t->kept.level = firnc_allocate(t->unit_count * sizeof *t->kept.level);
    return true;
}

/* --- a choice as settings of the recipe --------------------------------------------------------------------------- */

static bool is_mixed(const tuning *t, const choice *c) {
    bool mixed = false;
    for (uint32_t i = 0; i < t->unit_count; i++)
        mixed = mixed || c->half[i];
    return mixed;
}

static const char *float32_layers(const tuning *t, const choice *c) {
    const char *text = "";
    for (uint32_t i = 0; i < t->unit_count; i++)
        for (uint32_t j = 0; j < t->units[i].layer_count && !c->half[i]; j++)
            text = firnc_format("%s%s\"%s\"", text, text[0] == '\0' ? "" : ", ", t->units[i].layers[j]);
    return text;
}

static const char *annotations(const tuning *t, const choice *c) {
    const char *text = "";
    for (uint32_t i = 0; i < t->unit_count; i++)
        for (uint32_t j = 0; j < t->units[i].layer_count && c->half[i] && c->level[i] > 0; j++)
            text = firnc_format("%s%s{pattern: \"%s\", level: %u}", text, text[0] == '\0' ? "" : ", ",
                                t->units[i].layers[j], (unsigned)c->level[i]);
    return text;
}

static firnc_texts settings_of(const tuning *t, const choice *c) {
    firnc_texts settings = {0};
    const bool mixed = is_mixed(t, c);
    settings.text[settings.count++] = firnc_format(PRECISION "enabled=%s", mixed ? "true" : "false");
    settings.text[settings.count++] = firnc_format(PRECISION "fp16_type=%s", t->half);
    settings.text[settings.count++] = PRECISION "precision_opt_level=0";
    settings.text[settings.count++] = firnc_format(PRECISION "float32_layers=[%s]", mixed ? float32_layers(t, c) : "");
    settings.text[settings.count++] = firnc_format(PRECISION "pol=[%s]", mixed ? annotations(t, c) : "");
    return settings;
}

/* --- trying ------------------------------------------------------------------------------------------------------- */

/* Half the width of an interval, or 0 without one. */
static double noise_of(const firnc_interval *interval) {
    return interval->count < 2 ? 0 : (interval->high - interval->low) / 2;
}

static double loss_of(const firnc_trial *trial) {
    if (trial->stopped)
        return (double)NAN;
    return isnan(trial->held_out_loss) ? trial->loss : trial->held_out_loss;
}

static bool freeze(tuning *t, const choice *c, firnc_trial *trial) {
    const firnc_texts settings = settings_of(t, c);
    trial->name = firnc_format("trial-%u", (unsigned)t->runs++);
    return firnc_trial_freeze(&t->study, &settings, trial);
}

/* Runs the trial that was frozen for this choice, and then the same with further seeds. losses: those of each seed. */
static bool run(const tuning *t, const choice *c, firnc_trial *trial, double *losses) {
    const firnc_texts settings = settings_of(t, c);
    bool good = firnc_trial_run(&t->study, &settings, trial);
    firnc_trial_forget_log(&t->study, trial); /* the report contains its results */
    losses[0] = loss_of(trial);
    for (uint64_t seed = 1; good && seed < t->study.seeds; seed++) {
        const firnc_texts seeded = firnc_study_seeded(&t->study, &settings, seed);
        firnc_trial other = {.name = firnc_format("%s-seed%llu", trial->name, (unsigned long long)seed)};
        good = firnc_trial_freeze(&t->study, &seeded, &other) && firnc_trial_run(&t->study, &seeded, &other);
        firnc_trial_forget_log(&t->study, &other);
        losses[seed] = loss_of(&other);
    }
    return good;
}

/* What timing two choices in turns gave: seconds of a step of each, and the share of the second one's time that the
 * first one saves. */
typedef struct timing {
    double seconds[2];
    firnc_interval gain;
} timing;

/* The share of a time that is saved, from the logarithm of how many times shorter another one is. */
static double share_of(double logarithm) {
    return 1 - exp(-logarithm);
}

/* Returns true if the interval of the gain lies on one side of the least gain. */
static bool is_decided(const tuning *t, const firnc_interval *gain) {
    return gain->low >= t->least_gain || gain->high < t->least_gain;
}

/* Times one pair of rounds: each choice first once. seconds: sums over the rounds. */
static bool time_pair(const tuning *t, const firnc_trial trials[2], double seconds[2], double *logarithm) {
    *logarithm = 0;
    for (int round = 0; round < 2; round++) {
        double taken[2];
        const int first = round, second = 1 - round;
        if (!firnc_trial_time(&t->study, &trials[first], ROUND_STEPS, &taken[first]) ||
            !firnc_trial_time(&t->study, &trials[second], ROUND_STEPS, &taken[second]))
            return false;
        *logarithm += log(taken[1] / taken[0]) / 2;
        seconds[0] += taken[0];
        seconds[1] += taken[1];
    }
    return true;
}

static bool time_in_turns(const tuning *t, const choice *const choices[2], timing *result) {
    firnc_trial trials[2] = {{.name = "first"}, {.name = "second"}};
    double logarithms[PAIRS_MOST], seconds[2] = {0};
    uint32_t pairs = 0, look = FIRST_LOOK;
    for (int i = 0; i < 2; i++) {
        const firnc_texts settings = settings_of(t, choices[i]);
        if (!firnc_trial_freeze(&t->study, &settings, &trials[i]))
            return false;
    }
    for (bool decided = false; !decided && pairs < PAIRS_MOST; look *= 2) {
        for (; pairs < look; pairs++)
            if (!time_pair(t, trials, seconds, &logarithms[pairs]))
                return false;
        const firnc_interval i = firnc_interval_of(logarithms, pairs);
        result->gain = (firnc_interval){i.count, share_of(i.mean), share_of(i.low), share_of(i.high)};
        decided = is_decided(t, &result->gain);
    }
    for (int i = 0; i < 2; i++) {
        firnc_trial_forget(&t->study, &trials[i]);
        result->seconds[i] = seconds[i] / (2 * pairs);
    }
    return true;
}

static void note(tuning *t, attempt a) {
    t->attempts = firnc_grown(t->attempts, t->attempt_count, &t->attempt_capacity, sizeof *t->attempts);
    t->attempts[t->attempt_count++] = a;
    printf("%-36s %-10s %12.6f %9.2f %% %7.2f %10.5f %8.3f %% %7.3f  %s\n", a.unit, a.what, a.seconds, 100 * a.gain,
           100 * a.gain_noise, a.loss, 100 * a.cost, 100 * a.cost_noise, a.outcome);
    fflush(stdout);
}

static double cost_of(const tuning *t, double loss) {
    const double float32 = loss_of(&t->float32);
    return (loss - float32) / fabs(float32);
}

/* The cost of each seed against float32 with the same seed. */
static firnc_interval cost_of_seeds(const tuning *t, const double *losses) {
    double costs[FIRNC_STUDY_SEEDS];
    const uint32_t seeds = (uint32_t)t->study.seeds;
    for (uint32_t seed = 0; seed < seeds; seed++)
        costs[seed] = (losses[seed] - t->float32_losses[seed]) / fabs(t->float32_losses[seed]);
    firnc_interval cost = firnc_interval_of(costs, seeds);
    if (cost.count < seeds) /* a run that stopped is no good choice, whatever the others are */
        cost.mean = (double)NAN;
    return cost;
}

/* Decides by the loss, which is exact for each seed. Returns NULL if that is within the tolerance, also at the upper
 * end of its interval. */
static const char *judge_loss(const tuning *t, const double *losses, attempt *a) {
    const firnc_interval cost = cost_of_seeds(t, losses);
    a->cost = cost.mean;
    a->cost_noise = noise_of(&cost);
    if (!(cost.mean <= t->tolerance))
        return TOO_MUCH;
    return cost.count > 1 && cost.high > t->tolerance ? FEW_SEEDS : NULL;
}

/* Decides on a trial. The loss comes first; only if it is good is the time measured, against that of the choice kept so
 * far. */
static bool judge(tuning *t, const choice *c, firnc_trial *trial, const double *losses, attempt *a) {
    a->loss = loss_of(trial);
    a->outcome = judge_loss(t, losses, a);
    a->seconds = trial->seconds;
    a->gain = 1 - trial->seconds / t->best.seconds;
    if (a->outcome != NULL)
        return true;
    timing timed;
    if (!time_in_turns(t, (const choice *const[]){c, &t->kept}, &timed))
        return false;
    a->seconds = trial->seconds = timed.seconds[0];
    t->best.seconds = timed.seconds[1];
    a->gain = timed.gain.mean;
    a->gain_noise = noise_of(&timed.gain);
    a->outcome = timed.gain.mean >= t->least_gain && timed.gain.low > 0 ? KEPT
                 : timed.gain.high < t->least_gain                      ? NO_TIME
                                                                        : NOISY;
    return true;
}

static void keep(tuning *t, const choice *c, const firnc_trial *trial) {
    memcpy(t->kept.half, c->half, t->unit_count * sizeof *c->half);
    memcpy(t->kept.level, c->level, t->unit_count * sizeof *c->level);
    t->best = *trial;
}

/* Returns the attempt that computed the same and was rejected; NULL: none. To measure it again could only give noise
 * another chance. */
static const attempt *rejected_before(const tuning *t, const firnc_trial *trial) {
    for (uint32_t i = 0; i < t->attempt_count; i++)
        if (memcmp(t->attempts[i].rejected, trial->computation, sizeof trial->computation) == 0)
            return &t->attempts[i];
    return NULL;
}

/* Gives up a trial that was frozen and not run. */
static void drop(tuning *t, const firnc_trial *trial) {
    firnc_trial_forget(&t->study, trial);
    t->runs--; /* the name can be used again */
}

/* Tries a choice, and keeps it if it gains time. */
static bool try(tuning *t, const choice *c, const char *unit, const char *what, bool *kept) {
    firnc_trial trial = {0};
    *kept = false;
    if (!freeze(t, c, &trial))
        return false;
    if (memcmp(trial.computation, t->best.computation, sizeof trial.computation) == 0) {
        drop(t, &trial);
        note(t, (attempt){.unit = unit,
                          .what = what,
                          .seconds = t->best.seconds,
                          .loss = loss_of(&t->best),
                          .cost = cost_of(t, loss_of(&t->best)),
                          .outcome = UNCHANGED});
        return true;
    }
    const attempt *before = rejected_before(t, &trial);
    if (before != NULL) {
        drop(t, &trial);
        attempt again = *before;
        again.unit = unit, again.what = what, again.outcome = REJECTED;
        note(t, again);
        return true;
    }
    attempt a = {.unit = unit, .what = what};
    double losses[FIRNC_STUDY_SEEDS];
    if (!run(t, c, &trial, losses) || !judge(t, c, &trial, losses, &a))
        return false;
    *kept = strcmp(a.outcome, KEPT) == 0;
    if (!*kept)
        memcpy(a.rejected, trial.computation, sizeof a.rejected);
    note(t, a);
    if (*kept)
        keep(t, c, &trial);
    return true;
}

static choice copy_of(const tuning *t, const choice *c) {
    choice copy = {.half = firnc_allocate(t->unit_count * sizeof *copy.half),
                   .level = firnc_allocate(t->unit_count * sizeof *copy.level)};
    memcpy(copy.half, c->half, t->unit_count * sizeof *copy.half);
    memcpy(copy.level, c->level, t->unit_count * sizeof *copy.level);
    return copy;
}

/* --- the walk ----------------------------------------------------------------------------------------------------- */

static bool begin_in_float32(tuning *t) {
    const firnc_texts settings = settings_of(t, &t->kept);
    t->float32_losses = firnc_allocate((size_t)t->study.seeds * sizeof *t->float32_losses);
    if (!freeze(t, &t->kept, &t->float32) || !firnc_study_rehearse(&t->study, &settings, &t->float32) ||
        !run(t, &t->kept, &t->float32, t->float32_losses))
        return false;
    for (uint64_t seed = 0; seed < t->study.seeds; seed++)
        if (!isfinite(t->float32_losses[seed])) {
            firnc_say("firnc: %s: does not train in float32: its loss is not finite%s; mend the recipe first",
                      t->study.recipe,
                      t->study.seeds == 1 ? "" : firnc_format(" with seed %llu", firnc_study_seed(&t->study, seed)));
            return false;
        }
    t->best = t->float32;
    note(t, (attempt){.unit = "(all)",
                      .what = "float32",
                      .seconds = t->best.seconds,
                      .loss = loss_of(&t->best),
                      .outcome = "the reference"});
    return true;
}

static bool walk_casts(tuning *t) {
    bool kept;
    for (uint32_t i = 0; i < t->unit_count; i++) {
        const choice c = copy_of(t, &t->kept);
        c.half[i] = true;
        if (!try(t, &c, t->units[i].name, t->half, &kept))
            return false;
    }
    const choice all = copy_of(t, &t->kept); /* the casts at its borders may cost one unit alone more than it gains */
    for (uint32_t i = 0; i < t->unit_count; i++)
        all.half[i] = true;
    return try(t, &all, "(all)", t->half, &kept);
}

static bool walk_levels(tuning *t) {
    for (uint32_t i = 0; i < t->unit_count; i++) {
        bool kept;
        for (uint8_t level = 1; level <= HIGHEST_POL && t->kept.half[i]; level++) {
            const choice c = copy_of(t, &t->kept);
            c.level[i] = level;
            if (!try(t, &c, t->units[i].name, firnc_format("POL %u", (unsigned)level), &kept))
                return false;
        }
    }
    return true;
}

/* Measures the total gain directly, because the kept choice and float32 were timed at different moments. */
static bool measure_gain(tuning *t) {
    if (memcmp(t->best.run_hash, t->float32.run_hash, sizeof t->best.run_hash) == 0)
        return true;
    timing timed;
    const choice float32 = copy_of(t, &t->kept);
    memset(float32.half, 0, t->unit_count * sizeof *float32.half);
    if (!time_in_turns(t, (const choice *const[]){&t->kept, &float32}, &timed))
        return false;
    t->best.seconds = timed.seconds[0];
    t->float32.seconds = timed.seconds[1];
    t->gain = timed.gain.mean;
    t->gain_noise = noise_of(&timed.gain);
    return true;
}

/* --- the results -------------------------------------------------------------------------------------------------- */

/* A file that a recipe names by `key` of a mapping is beside the recipe that was tuned, and not beside the one that is
 * written: it gets its whole path. Does nothing if the mapping or the key is not there. False after one message. */
static bool name_file(const firnc_tree *mapping, const char *key) {
    const firnc_tree *there = mapping != NULL && mapping->kind == FIRNC_MAPPING ? firnc_tree_child(mapping, key) : NULL;
    if (there == NULL)
        return true;
    firnc_tree *from = (firnc_tree *)(uintptr_t)mapping, *file = firnc_tree_take(from, key);
    const char *slash = strrchr(file->file, '/');
    const char *folder = slash == NULL ? "." : firnc_format("%.*s", (int)(slash - file->file + 1), file->file);
    char whole[PATH_MAX];
    if (file->text[0] != '/' && realpath(folder, whole) == NULL)
        return firnc_tree_fail(file, "is in a folder that cannot be found");
    if (file->text[0] != '/')
        file->text = firnc_format("%s/%s", whole, file->text);
    file->plain = false;
    (void)firnc_tree_put(from, key, file);
    return true;
}

/* The same of each file that a recipe can name. */
static bool name_files(const firnc_tree *root) {
    const firnc_tree *trainer = firnc_tree_child(root, "trainer");
    const firnc_tree *fit = firnc_tree_child(trainer, "fit"), *validate = firnc_tree_child(trainer, "validate");
    return name_file(firnc_tree_child(firnc_tree_child(trainer, "init"), "model"), "onnx") &&
           name_file(firnc_tree_child(fit, "train_dataloader"), "statistics") &&
           name_file(firnc_tree_child(validate, "val_dataloader"), "statistics");
}

/* Writes the recipe, and checks that freezing it gives the run that was measured. */
static bool write_recipe(tuning *t) {
    const firnc_texts none = {0}, settings = settings_of(t, &t->kept);
    const char *name = firnc_study_path(&t->study, RECIPE_NAME);
    const char *rows =
        t->study.logit_rows_given ? firnc_format(" --logit-rows %u", (unsigned)t->study.logit_rows_asked) : "";
    firnc_tree *root =
        firnc_recipe_tree(t->study.recipe, t->study.hugging_face, t->study.settings.text, t->study.settings.count);
    for (uint32_t i = 0; root != NULL && i < settings.count; i++)
        root = firnc_tree_set(root, settings.text[i]) ? root : NULL;
    const firnc_tree *model = firnc_tree_child(firnc_tree_child(firnc_tree_child(root, "trainer"), "init"), "model");
    for (uint32_t i = 0; root != NULL && i < FIRNC_STUDY_MODEL_KEYS; i++)
        if (firnc_tree_child(model, firnc_study_model_keys[i]) != NULL) /* trainer.init.precision replaces it */
            root = firnc_tree_set(root, firnc_format("trainer.init.model.%s=null", firnc_study_model_keys[i])) ? root
                                                                                                               : NULL;
    if (root != NULL && !is_mixed(t, &t->kept)) {
        const firnc_tree *init = firnc_tree_child(firnc_tree_child(root, "trainer"), "init");
        firnc_recipe_take_mixed_keys(t->model, (firnc_tree *)(uintptr_t)firnc_tree_child(init, "model"),
                                     (firnc_tree *)(uintptr_t)firnc_tree_child(init, "precision"));
    }
    if (root == NULL || !name_files(root) ||
        !firnc_tree_write(
            root,
            firnc_format("# Written by firnc tune for --target %s%s; report.md beside this file says what "
                         "was tried.\n",
                         t->study.target, rows),
            name))
        return false;
    firnc_study check = t->study;
    firnc_trial trial = {.name = "check"};
    check.recipe = name;
    check.settings = none;
    bool frozen = firnc_trial_freeze(&check, &none, &trial);
    firnc_wipe(&check.key, sizeof check.key);
    if (!frozen)
        return false;
    firnc_trial_forget(&check, &trial);
    if (memcmp(trial.run_hash, t->best.run_hash, sizeof trial.run_hash) == 0)
        return true;
    firnc_say("firnc: %s: does not freeze the run that was measured; this is a bug of firnc", name);
    return false;
}

static int by_size(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The number of attempts with an outcome. */
static uint32_t count_of(const tuning *t, const char *outcome) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < t->attempt_count; i++)
        count += strcmp(t->attempts[i].outcome, outcome) == 0;
    return count;
}

/* The median noise of the attempts whose time was measured; 0: none was. */
static double usual_noise(const tuning *t) {
    double *noise = firnc_allocate((t->attempt_count + 1) * sizeof *noise);
    uint32_t count = 0;
    for (uint32_t i = 0; i < t->attempt_count; i++)
        if (t->attempts[i].gain_noise > 0)
            noise[count++] = t->attempts[i].gain_noise;
    qsort(noise, count, sizeof *noise, by_size);
    return count == 0 ? 0 : noise[count / 2];
}

/* What could not be decided, as sentences for the report and for a message; "": all could. */
static const char *undecided(const tuning *t) {
    const uint32_t times = count_of(t, NOISY), costs = count_of(t, FEW_SEEDS);
    const char *text = "";
    if (times != 0)
        text = firnc_format(
            "this machine is too noisy to decide on the time of %u change%s: the 95 %% interval of a gain is "
            "mostly +- %.2f %%, after up to %d pairs of rounds; end other programs, or raise --trial-steps or "
            "--least-gain",
            (unsigned)times, times == 1 ? "" : "s", 100 * usual_noise(t), PAIRS_MOST);
    if (costs != 0)
        text = firnc_format("%s%sthe cost of %u change%s may lie above the tolerance, and %llu seeds are too few to "
                            "decide; raise --seeds, --trial-steps or --tolerance",
                            text, times != 0 ? "; " : "", (unsigned)costs, costs == 1 ? "" : "s",
                            (unsigned long long)t->study.seeds);
    return text;
}

/* A share in percent, with its noise if that was measured. */
static const char *share_text(double share, double noise, int digits) {
    return noise > 0 ? firnc_format("%.*f +- %.*f %%", digits, 100 * share, digits, 100 * noise)
                     : firnc_format("%.*f %%", digits, 100 * share);
}

static bool write_report(const tuning *t) {
    const char *text = firnc_format(
        "# What firnc tune tried\n\n"
        "Each trial trained %llu steps of `%s` for target %s%s. A change was kept when a step took at least %g %% less "
        "time, the 95 %% interval of that gain lay above 0, and the %s stayed within %g %% of float32's%s. Times are "
        "medians on the machine that ran this, of a change in turns with what was kept before it; losses are the same "
        "on any. Behind +- stands half the width of a 95 %% interval (Student's).\n\n"
        "| unit | tried | s/step | gain | loss | cost | outcome |\n| --- | --- | --- | --- | --- | --- | --- |\n",
        (unsigned long long)t->study.steps, t->study.recipe, t->study.target,
        t->study.seeds == 1 ? ""
                            : firnc_format(", with %llu seeds from %llu on", (unsigned long long)t->study.seeds,
                                           (unsigned long long)t->study.first_seed),
        100 * t->least_gain, t->study.held_out ? "held-out loss" : "mean of the last losses", 100 * t->tolerance,
        t->study.seeds == 1 ? "" : " with the same seed, at the upper end of the interval of all seeds");
    for (uint32_t i = 0; i < t->attempt_count; i++) {
        const attempt *a = &t->attempts[i];
        text = firnc_format("%s| %s | %s | %.6f | %s | %.5f | %s | %s |\n", text, a->unit, a->what, a->seconds,
                            share_text(a->gain, a->gain_noise, 2), a->loss, share_text(a->cost, a->cost_noise, 3),
                            a->outcome);
    }
    if (*undecided(t) != '\0')
        text = firnc_format("%s\nNot all could be decided: %s.\n", text, undecided(t));
    if (memcmp(t->best.run_hash, t->float32.run_hash, sizeof t->best.run_hash) == 0)
        text = firnc_format("%s\nNothing was kept: float32 takes %.6f s for a step, at a loss of %.5f.", text,
                            t->best.seconds, loss_of(&t->best));
    else
        text =
            firnc_format("%s\nKept: a step in %.6f s where float32 takes %.6f s (%s less in rounds that timed both in "
                         "turns), at a loss of %.5f where float32 has %.5f.",
                         text, t->best.seconds, t->float32.seconds, share_text(t->gain, t->gain_noise, 2),
                         loss_of(&t->best), loss_of(&t->float32));
    text = firnc_format("%s\n\nUnits, and the layers in each:\n\n", text);
    for (uint32_t i = 0; i < t->unit_count; i++) {
        text = firnc_format("%s- %s, POL %u:", text, t->kept.half[i] ? t->half : "float32", (unsigned)t->kept.level[i]);
        for (uint32_t j = 0; j < t->units[i].layer_count; j++)
            text = firnc_format("%s %s", text, t->units[i].layers[j]);
        text = firnc_format("%s\n", text);
    }
    return firnc_file_write(firnc_study_path(&t->study, REPORT_NAME), text, strlen(text));
}

static bool tune(tuning *t) {
    if (!find_units(t))
        return false;
    printf("%-36s %-10s %12s %11s %7s %10s %10s %7s\n", "unit", "tried", "s/step", "gain", "+-", "loss", "cost", "+-");
    if (!begin_in_float32(t) || !walk_casts(t) || !walk_levels(t) || !measure_gain(t))
        return false;
    t->study.measured = true;
    if (*undecided(t) != '\0')
        firnc_say("firnc: %s: warning: %s", t->study.recipe, undecided(t));
    return write_recipe(t) && write_report(t);
}

static int tune_command(int argc, char **argv) {
    tuning *t = firnc_allocate(sizeof *t);
    if (!firnc_options_read(argc, argv, &firnc_command_tune, t))
        return FIRNC_EXIT_USAGE;
    if (!read_share(t->tolerance_text, TOLERANCE, &t->tolerance))
        return firnc_usage("tune", "--tolerance: %s is not a share; write 0.01 for one percent", t->tolerance_text);
    if (!read_share(t->gain_text, LEAST_GAIN, &t->least_gain))
        return firnc_usage("tune", "--least-gain: %s is not a share; write 0.01 for one percent", t->gain_text);
    int status = firnc_study_begin(&t->study, "tune");
    if (status != FIRNC_EXIT_OK)
        return status;
    bool good = tune(t);
    if (good)
        printf("%s, %s\n", firnc_printable(firnc_study_path(&t->study, RECIPE_NAME)),
               firnc_printable(firnc_study_path(&t->study, REPORT_NAME)));
    return firnc_study_end(&t->study, good);
}

const firnc_command firnc_command_tune = {
    .words =
        {.name = "tune",
         .group = "Studies",
         .summary = "keep each cast and POL that saves time",
         .forms = {"RECIPE --data FILE -o FOLDER [options]"},
         .text = "starting from float32, keep each cast and each POL that saves time at little loss",
         .more = "FOLDER then holds recipe.yaml, with what was kept, and report.md, which says what was tried.",
         .examples = {{"firnc tune flowers.yaml --data flowers.csv --target-column species --trial-steps 8 -o tuned",
                       "find the casts that save time, and write tuned/recipe.yaml"}},
         .operand = {.value = "RECIPE",
                     .kind = FIRN_OPTION_TEXT,
                     .names = FIRN_NAMES_FILE,
                     .place = offsetof(tuning, study.recipe),
                     .least = 1},
         .tables = {{options, sizeof options / sizeof options[0]}, {firnc_study_options, FIRNC_STUDY_OPTIONS}}},
    .run = tune_command,
};
