/* firnc compare: shows how POL and the half types affect a model. It trains the recipe in float32 and then with every
 * pair of a half type and a level, with the same seeds and data, and tabulates the results. By default every level is
 * emulated (pol_lowering: emulate), because under native a level changes nothing for a type that the target does not
 * multiply; --lowering chooses. */
#include <stdio.h>
#include <string.h>

#include "compiler/commands/commands.h"
#include "compiler/studies/compare_results.h"
#include "compiler/studies/study.h"

#define PRECISION "trainer.init.precision."

enum { LEVELS = 3, TYPES = 3 };
_Static_assert(FIRNC_VARIANTS_MAX == 1 + LEVELS * TYPES, "float32, and each pair");

static const char *const level_words[] = {"0", "1", "2", NULL};
static const char *const type_words[] = {"float16", "bfloat16", "cbfloat16", NULL};
static const firn_type half_types[TYPES] = {FIRN_FLOAT16, FIRN_BFLOAT16, FIRN_CBFLOAT16};

typedef struct comparison {
    firnc_study study;
    const char *levels, *types, *lowering;
    firnc_comparison results;
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

/* Trains a variant with each seed. */
static bool try(comparison *c, const char *name, const firnc_texts *settings) {
    firnc_comparison *results = &c->results;
    const uint32_t variant = results->count;
    results->names[variant] = name;
    for (uint32_t seed = 0; seed < results->seeds; seed++) {
        const firnc_texts seeded = firnc_study_seeded(&c->study, settings, seed);
        firnc_trial *trial = firnc_comparison_trial(results, variant, seed);
        trial->name = results->seeds == 1 ? name : firnc_format("%s-seed%llu", name, firnc_study_seed(&c->study, seed));
        if (!firnc_trial_freeze(&c->study, &seeded, trial) ||
            (variant == 0 && seed == 0 && !firnc_study_rehearse(&c->study, &seeded, trial)) ||
            !firnc_trial_run(&c->study, &seeded, trial))
            return false;
        firnc_trial_print(trial, firnc_comparison_trial(results, 0, seed));
    }
    results->count++;
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

/* --- the command -------------------------------------------------------------------------------------------------- */

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
    c->results = firnc_comparison_of(&c->study);
    c->study.measured = try_all(c, levels, types);
    return firnc_study_end(&c->study, c->study.measured && firnc_comparison_report(&c->results));
}

const firnc_command firnc_command_compare = {
    .words =
        {.name = "compare",
         .group = "Studies",
         .summary = "compare half types and POL with float32",
         .forms = {"RECIPE --data FILE -o FOLDER [options]"},
         .text = "train a recipe in float32 and in each half type at each POL, and compare losses and times",
         .more = "FOLDER then holds compare.csv, compare.svg (the curves, and their differences to float32), and the "
                 "log of each run as NAME.jsonl; with --seeds also differences.csv and differences.svg, the mean "
                 "difference to float32 of trials of one seed with its 95 % interval. The column `sums` counts the "
                 "reductions of the training plan by their kind. firn report FOLDER/*.jsonl -o FILE makes a page of "
                 "the runs, with their differences to the first one.",
         .examples = {{"firnc compare recipe.yaml --data text.txt --trial-steps 4 --types bfloat16 --pol 0,1 -o study",
                       "train four steps in float32, and in bfloat16 at two levels"},
                      {"firnc compare recipe.yaml --data text.txt --trial-steps 4 --types bfloat16 --pol 1 "
                       "--seeds 3 -o seeds",
                       "train each with three seeds, so that differences have an interval"}},
         .operand = {.value = "RECIPE",
                     .kind = FIRN_OPTION_TEXT,
                     .names = FIRN_NAMES_FILE,
                     .place = offsetof(comparison, study.recipe),
                     .least = 1},
         .tables = {{options, sizeof options / sizeof options[0]}, {firnc_study_options, FIRNC_STUDY_OPTIONS}}},
    .run = compare_command,
};
