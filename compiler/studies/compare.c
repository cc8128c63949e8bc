/* firnc compare: shows how POL and the half types affect a model. It trains the recipe in float32 and then with every
 * pair of a half type and a level, with the same seed and data, and tabulates the results. By default every level is
 * emulated (pol_lowering: emulate), because under native a level changes nothing for a type that the target does not
 * multiply; --lowering chooses. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "compiler/commands/commands.h"
#include "compiler/studies/chart.h"
#include "compiler/studies/study.h"
#include "plan/generated/words.h"

#define PRECISION "trainer.init.precision."

enum { LEVELS = 3, TYPES = 3, TRIALS_MAX = 1 + LEVELS * TYPES };

static const char *const level_words[] = {"0", "1", "2", NULL};
static const char *const type_words[] = {"float16", "bfloat16", "cbfloat16", NULL};
static const firn_type half_types[TYPES] = {FIRN_FLOAT16, FIRN_BFLOAT16, FIRN_CBFLOAT16};

typedef struct comparison {
    firnc_study study;
    const char *levels, *types, *lowering;
    firnc_trial trials[TRIALS_MAX]; /* trials[0] is the float32 trial */
    uint32_t count;
} comparison;

/* --- the command line --------------------------------------------------------------------------------------------- */

_Static_assert(offsetof(comparison, study) == 0, "the options of every study are placed in the first field");

static const firn_option options[] = {
    {.name = "--types",
     .value = "LIST",
     .text = "half types; default: float16,bfloat16,cbfloat16",
     .kind = FIRN_OPTION_TEXT,
     .place = offsetof(comparison, types)},
    {.name = "--pol",
     .value = "LIST",
     .text = "precision optimization levels; default: 0,1,2",
     .kind = FIRN_OPTION_TEXT,
     .place = offsetof(comparison, levels)},
    {.name = "--lowering",
     .value = "emulate|native",
     .text = "whether POL is taken literally, or as --target multiplies; default: emulate",
     .kind = FIRN_OPTION_TEXT,
     .place = offsetof(comparison, lowering)},
};

/* Parses "a,b" into flags, one for each known word. Returns false if a word is unknown or repeated. */
static bool read_list(const char *text, const char *const *known, bool *wanted) {
    while (true) {
        const char *comma = strchr(text, ',');
        const size_t length = comma != NULL ? (size_t)(comma - text) : strlen(text);
        uint32_t i = 0;
        while (known[i] != NULL && (strlen(known[i]) != length || strncmp(known[i], text, length) != 0))
            i++;
        if (known[i] == NULL || wanted[i])
            return false;
        wanted[i] = true;
        if (comma == NULL)
            return true;
        text = comma + 1;
    }
}

static bool is_set(const firnc_study *study, const char *key) {
    for (uint32_t i = 0; i < study->settings.count; i++)
        if (strncmp(study->settings.text[i], key, strlen(key)) == 0)
            return true;
    return false;
}

/* --- the trials --------------------------------------------------------------------------------------------------- */

/* float16 and cbfloat16 use dynamic loss scaling because of their range, unless --set gives another factor. */
static firnc_texts settings_of(const comparison *c, const char *type, const char *level) {
    firnc_texts settings = {0};
    settings.text[settings.count++] = PRECISION "enabled=true";
    settings.text[settings.count++] = firnc_format(PRECISION "fp16_type=%s", type);
    settings.text[settings.count++] = firnc_format(PRECISION "precision_opt_level=%s", level);
    settings.text[settings.count++] = firnc_format(PRECISION "pol_lowering=%s", c->lowering);
    /* Without the recipe's own annotations, which would override the level of every row. */
    if (!is_set(&c->study, PRECISION "pol="))
        settings.text[settings.count++] = PRECISION "pol=[]";
    if (strcmp(type, "bfloat16") != 0 && !is_set(&c->study, PRECISION "loss_scaling_factor="))
        settings.text[settings.count++] = PRECISION "loss_scaling_factor=dynamic";
    return settings;
}

static bool try(comparison *c, const char *name, const firnc_texts *settings) {
    firnc_trial *trial = &c->trials[c->count];
    trial->name = name;
    if (!firnc_trial_freeze(&c->study, settings, trial) ||
        (c->count == 0 && !firnc_study_rehearse(&c->study, settings, trial)) ||
        !firnc_trial_run(&c->study, settings, trial))
        return false;
    c->count++;
    firnc_trial_print(trial, &c->trials[0]);
    return true;
}

/* Under emulate all targets compute the same, whatever the half type. */
static void warn_of_idle_target(const comparison *c) {
    if (c->study.asked_target != NULL)
        firnc_say(
            "firnc: %s: warning: --target: %s changes nothing: --lowering is emulate, which is the same for every "
            "target; add --lowering native, or leave it out",
            c->study.recipe, c->study.asked_target);
}

static bool try_all(comparison *c, const bool *levels, const bool *types) {
    const firnc_texts float32 = {.text = {PRECISION "enabled=false"}, .count = 1};
    const bool emulate = strcmp(c->lowering, "emulate") == 0;
    if (emulate)
        warn_of_idle_target(c);
    firnc_trial_print_head();
    if (!try(c, "float32", &float32))
        return false;
    for (uint32_t type = 0; type < TYPES; type++) {
        if (types[type] && !emulate)
            firnc_study_set_target(&c->study, half_types[type], false);
        for (uint32_t level = 0; level < LEVELS; level++) {
            if (!types[type] || !levels[level])
                continue;
            const firnc_texts settings = settings_of(c, type_words[type], level_words[level]);
            if (!try(c, firnc_format("%s-pol%s", type_words[type], level_words[level]), &settings))
                return false;
        }
    }
    return true;
}

/* --- the results -------------------------------------------------------------------------------------------------- */

static const char *csv_number(double x) {
    return isfinite(x) ? firnc_format("%.9g", x) : "";
}

static bool write_csv(const comparison *c) {
    const char *text = "what,steps,loss,held_out_loss,max_deviation,skipped,seconds_per_step,stopped";
    for (uint32_t kind = 0; kind < FIRNC_STUDY_KINDS; kind++)
        text = firnc_format("%s,%s", text, firn_fb_reduction_kind_word((uint8_t)kind));
    text = firnc_format("%s\n", text);
    for (uint32_t i = 0; i < c->count; i++) {
        const firnc_trial *t = &c->trials[i];
        text = firnc_format("%s%s,%u,%s,%s,%s,%u,%.6f,%s", text, t->name, (unsigned)t->steps, csv_number(t->loss),
                            csv_number(t->held_out_loss), csv_number(firnc_trial_deviation(t, &c->trials[0])),
                            (unsigned)t->skipped, t->seconds, t->stopped ? "yes" : "no");
        for (uint32_t kind = 0; kind < FIRNC_STUDY_KINDS; kind++)
            text = firnc_format("%s,%u", text, (unsigned)t->sums[kind]);
        text = firnc_format("%s\n", text);
    }
    return firnc_file_write(firnc_study_path(&c->study, "compare.csv"), text, strlen(text));
}

static bool write_chart(const comparison *c) {
    firn_chart_curve curves[TRIALS_MAX];
    for (uint32_t i = 0; i < c->count; i++) {
        const firnc_trial *trial = &c->trials[i];
        double *steps = firnc_allocate(trial->steps * sizeof *steps),
               *losses = firnc_allocate(trial->steps * sizeof *losses);
        for (uint32_t step = 0; step < trial->steps; step++) {
            steps[step] = step + 1;
            losses[step] = (double)trial->losses[step];
        }
        curves[i] = (firn_chart_curve){
            .name = trial->name, .x = steps, .y = losses, .count = trial->steps, .form = FIRN_CHART_LINE, .style = i};
    }
    const firn_chart_panel panel = {.title = "training loss", .curves = curves, .count = c->count};
    return firnc_chart_write(firnc_study_path(&c->study, "compare.svg"), "training loss of each global step",
                             "global step", &panel, 1);
}

static int compare_command(int argc, char **argv) {
    comparison *c = firnc_allocate(sizeof *c);
    bool levels[LEVELS] = {false}, types[TYPES] = {false};
    if (!firnc_options_read(argc, argv, &firnc_command_compare, c))
        return FIRNC_EXIT_USAGE;
    if (!read_list(c->levels != NULL ? c->levels : "0,1,2", level_words, levels))
        return firnc_usage("compare", "--pol: %s is not a list of levels; write some of 0,1,2", c->levels);
    if (!read_list(c->types != NULL ? c->types : "float16,bfloat16,cbfloat16", type_words, types))
        return firnc_usage(
            "compare", "--types: %s is not a list of half types; write some of float16,bfloat16,cbfloat16", c->types);
    if (c->lowering == NULL)
        c->lowering = "emulate";
    if (strcmp(c->lowering, "emulate") != 0 && strcmp(c->lowering, "native") != 0)
        return firnc_usage("compare", "--lowering: %s is not known; write emulate or native", c->lowering);
    int status = firnc_study_begin(&c->study, "compare");
    if (status != FIRNC_EXIT_OK)
        return status;
    c->study.measured = try_all(c, levels, types);
    bool good = c->study.measured && write_csv(c) && write_chart(c);
    if (good)
        printf("%s, %s\n", firnc_printable(firnc_study_path(&c->study, "compare.csv")),
               firnc_printable(firnc_study_path(&c->study, "compare.svg")));
    return firnc_study_end(&c->study, good);
}

const firnc_command firnc_command_compare = {
    .words = {.name = "compare",
              .group = "Studies",
              .summary = "compare half types and POL with float32",
              .forms = {"RECIPE --data FILE -o FOLDER [options]"},
              .text = "train a recipe in float32 and in each half type at each POL, and compare losses and times",
              .more = "FOLDER then holds compare.csv, compare.svg (the curves), and the log of each run as NAME.jsonl. "
                      "The column `sums` counts the reductions of the training plan by their kind. firn report "
                      "FOLDER/*.jsonl -o FILE makes a page of the runs, with their differences to the first one.",
              .operand = {.value = "RECIPE",
                          .kind = FIRN_OPTION_TEXT,
                          .names = FIRN_NAMES_FILE,
                          .place = offsetof(comparison, study.recipe),
                          .least = 1},
              .tables = {{options, sizeof options / sizeof options[0]}, {firnc_study_options, FIRNC_STUDY_OPTIONS}}},
    .run = compare_command,
};
