/* Studies of a recipe: trials that train it with different settings. Each trial is frozen into its own plan and run by
 * `firn` in its own process. compare.c and tune.c decide what a study compares. */
#ifndef FIRNC_STUDY_H
#define FIRNC_STUDY_H

#include "compiler/commands/options.h"
#include "compiler/firnc.h"
#include "compiler/recipe/recipe.h"

#define FIRNC_STUDY_SEEDS 64                         /* most seeds of a study */
#define FIRNC_STUDY_LAST  20                         /* number of last losses whose mean is the final loss of a trial */
#define FIRNC_STUDY_KINDS (FIRN_REDUCTION_PAIRS + 1) /* of reductions */

/* Keys of a model, in recipes of the older layout, that say what trainer.init.precision says. */
enum { FIRNC_STUDY_MODEL_KEYS = 3 };
extern const char *const firnc_study_model_keys[FIRNC_STUDY_MODEL_KEYS];

/* What all trials of a study share: the options of its command line, and the values read from them. */
typedef struct firnc_study {
    const char *recipe, *folder, *firn, *labels;
    const char *asked_target, *target; /* that of --target, NULL or "host" too; that of the next trial to freeze */
    const char *hugging_face;          /* the folder of --hf, or NULL */
    const char *statistics;            /* the file of --statistics, or NULL */
    const char *member, *target_column, *columns, *header; /* parts of the data files, as firn takes them */
    const char *weights, *sample_weights; /* files: initial values of the parameters; weights of the records */
    firnc_texts data, settings;
    uint64_t steps;
    uint32_t threads;                      /* 0: not given */
    uint32_t logit_rows_asked, logit_rows; /* as in the option, and as in firnc_job */
    bool logit_rows_given;
    uint64_t seeds, first_seed; /* of each trial, which has so many from first_seed on; 1: the recipe's alone */
    bool made;                  /* the folder has been created by this study */
    bool measured; /* all trials are done; what they have left is kept even if a result cannot be written */
    bool held_out; /* the recipe holds data out, and every trial is evaluated on it */
    firnc_key key; /* used for this study only */
} firnc_study;

typedef struct firnc_trial {
    const char *name; /* base name of its files in the folder */
    uint8_t run_hash[FIRN_HASH_BYTES];
    uint8_t computation[FIRN_HASH_BYTES]; /* equal for trials with the same ops, types and reductions */
    float *losses;                        /* one for each step */
    uint32_t steps, skipped;
    uint32_t sums[FIRNC_STUDY_KINDS]; /* reductions of the training plan of each kind */
    double loss;                      /* mean of the last FIRNC_STUDY_LAST steps */
    double held_out_loss;             /* NaN without held-out data, or if the run stopped */
    double seconds;                   /* median of the steps */
    bool divided_logits;              /* the training plan computes them by blocks of rows */
    bool stopped;                     /* a loss was not finite, or the loss scale would have gone below its minimum */
} firnc_trial;

/* The options that every study takes. The request they are stored in begins with a firnc_study. */
enum { FIRNC_STUDY_OPTIONS = 18 };
extern const firn_option firnc_study_options[FIRNC_STUDY_OPTIONS];

/* Checks the options, reads the recipe and creates the folder. `command` is the command's name, for messages. Returns
 * the exit code; writes one line to stderr if that is not FIRNC_EXIT_OK. */
int firnc_study_begin(firnc_study *study, const char *command);

/* Sets the target of the trials with a half type, as the command line asks; one line says it if the choice is firnc's,
 * and another one if the target changes nothing. Until then it is `portable`. */
void firnc_study_set_target(firnc_study *study, firn_type half, bool emulate);

/* Ends a study: wipes the key, and removes the folder if the study was interrupted, or failed before all trials
 * were done. Returns the exit code. */
int firnc_study_end(firnc_study *study, bool good);

/* Reads the recipe with the study's settings, followed by `more`. */
bool firnc_study_recipe(const firnc_study *study, const firnc_texts *more, firnc_mode mode, firnc_recipe *recipe);

/* Seed number `index` of the study, and the settings `more` with it; number 0 is that of the recipe. */
unsigned long long firnc_study_seed(const firnc_study *study, uint64_t index);
firnc_texts firnc_study_seeded(const firnc_study *study, const firnc_texts *more, uint64_t index);

/* Freezes the recipe with the settings `more` into FOLDER/NAME.plan, and fills in both hashes. */
bool firnc_trial_freeze(const firnc_study *study, const firnc_texts *more, firnc_trial *trial);

/* Runs before the first trial, whose plan has been frozen: checks that the runner starts, that the data fits and that
 * the held-out part has a batch. Otherwise such a fault would appear only after the first training. Returns false after
 * one line on stderr. If all is well but other programs use the machine, warns in one line. */
bool firnc_study_rehearse(const firnc_study *study, const firnc_texts *more, const firnc_trial *first);

/* Removes the plan of a trial that will not be run. */
void firnc_trial_forget(const firnc_study *study, const firnc_trial *trial);

/* Trains the frozen plan, evaluates it if data is held out, reads the results, and leaves FOLDER/NAME.jsonl. A run that
 * stopped because of its loss or loss scale is a valid result. Returns false after one line on stderr. */
bool firnc_trial_run(const firnc_study *study, const firnc_texts *more, firnc_trial *trial);

/* Removes FOLDER/NAME.jsonl, for a study that does not keep it. */
void firnc_trial_forget_log(const firnc_study *study, const firnc_trial *trial);

/* Measures the seconds of a step of the frozen plan by training at most `steps` steps; leaves no files. It serves to
 * compare two trials on a machine whose speed varies. Returns false after one line on stderr. */
bool firnc_trial_time(const firnc_study *study, const firnc_trial *trial, uint64_t steps, double *seconds);

/* The path of a file in the study's folder. */
const char *firnc_study_path(const firnc_study *study, const char *name);

/* Print the head of the table of results, and the row of a trial. */
void firnc_trial_print_head(void);
void firnc_trial_print(const firnc_trial *trial, const firnc_trial *reference);

/* The largest difference between the losses of two trials at the same step. */
double firnc_trial_deviation(const firnc_trial *trial, const firnc_trial *reference);

#endif
