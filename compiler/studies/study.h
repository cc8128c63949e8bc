/* Studies of a recipe: trials that train it with other settings, each frozen into a plan of its own and run by `firn`
 * in a process of its own. What a study compares is in compare.c and tune.c. */
#ifndef FIRNC_STUDY_H
#define FIRNC_STUDY_H

#include "compiler/commands/options.h"
#include "compiler/firnc.h"
#include "compiler/recipe/recipe.h"

#define FIRNC_STUDY_LAST 20 /* losses whose mean is the final loss of a trial */

/* What all trials of a study share: the words of its command line, and what was read because of them. */
typedef struct firnc_study {
    const char *recipe, *folder, *firn, *labels, *steps_text, *target, *threads;
    const char *weights, *sample_weights; /* initial values of the parameters; weights of the records */
    firnc_texts data, settings;
    uint64_t steps;
    bool made;     /* the folder is this study's own */
    bool held_out; /* the recipe holds data out: every trial is evaluated on it */
    firnc_key key; /* made for this study alone */
} firnc_study;

typedef struct firnc_trial {
    const char *name; /* of its files in the folder */
    uint8_t run_hash[FIRN_HASH_BYTES];
    uint8_t computation[FIRN_HASH_BYTES]; /* equal in trials whose ops, types and reductions are, whatever was asked */
    float *losses;                        /* of each step */
    uint32_t steps, skipped;
    double loss;          /* mean of the last steps */
    double held_out_loss; /* NaN without held-out data, and where the run stopped */
    double seconds;       /* of a step: the median */
    bool stopped;         /* by its numbers: a loss, held out or not, or a loss scale at its end */
} firnc_trial;

/* The options that every study takes. Their request begins with a firnc_study. */
enum { FIRNC_STUDY_OPTIONS = 10 };
extern const firnc_option firnc_study_options[FIRNC_STUDY_OPTIONS];

/* Checks the options, reads the recipe, makes the folder. Returns the exit code; what is not OK came with one line on
 * stderr. command: its name. */
int firnc_study_begin(firnc_study *study, const char *command);

/* Ends a study: the key is wiped, and only results are left, of one that failed nothing. Returns the exit code. */
int firnc_study_end(firnc_study *study, bool good);

/* Reads the recipe with the study's settings and more of them. */
bool firnc_study_recipe(const firnc_study *study, const firnc_texts *more, firnc_mode mode, firnc_recipe *recipe);

/* Freezes the recipe as a trial would train it, into FOLDER/NAME.plan, and fills in both hashes. */
bool firnc_trial_freeze(const firnc_study *study, const firnc_texts *more, firnc_trial *trial);

/* Before the first trial, which is frozen: whether runner and data are as they must be, and the held-out part has a
 * batch, all of which would else be found out by training first. False after one line on stderr. Where others use the
 * machine, that is one line too, once nothing was found wrong. */
bool firnc_study_rehearse(const firnc_study *study, const firnc_texts *more, const firnc_trial *first);

/* Removes the plan of a trial that is not run. */
void firnc_trial_forget(const firnc_study *study, const firnc_trial *trial);

/* Trains what was frozen, evaluates it where data is held out, reads the results, and leaves FOLDER/NAME.jsonl. A run
 * that its numbers stopped is a result. False after one line on stderr. */
bool firnc_trial_run(const firnc_study *study, const firnc_texts *more, firnc_trial *trial);

/* Removes that log, for a study whose results do not include it. */
void firnc_trial_forget_log(const firnc_study *study, const firnc_trial *trial);

/* Seconds of a step of what was frozen, by a training of at most `steps` that leaves nothing: to set two trials against
 * each other on a machine whose speed changes. False after one line on stderr. */
bool firnc_trial_time(const firnc_study *study, const firnc_trial *trial, uint64_t steps, double *seconds);

/* A file of the study's folder. */
const char *firnc_study_path(const firnc_study *study, const char *name);

/* The line of a trial in a table of results, and its head. */
void firnc_trial_print_head(void);
void firnc_trial_print(const firnc_trial *trial, const firnc_trial *reference);

/* Largest difference of the losses of two trials at the same step. */
double firnc_trial_deviation(const firnc_trial *trial, const firnc_trial *reference);

#endif
