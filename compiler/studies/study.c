/* Trials (compiler/studies/study.h): freezes a variant of a recipe, runs `firn` and reads its log. What is varied is
 * decided in compare.c and tune.c. Training never happens in this process: the runner does it, as it would for a
 * user. */
#define _GNU_SOURCE

#include "compiler/studies/study.h"

#include <cjson/cJSON.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "compiler/commands/commands.h"
#include "compiler/commands/logit_rows.h"
#include "compiler/graph/ir.h"
#include "compiler/job/host.h"
#include "plan/errors.h"
#include "plan/generated/words.h"
#include "plan/signature.h"

enum { FIRN_STOPPED = 4 }; /* exit code of firn, by a loss or a loss scale */
#define PUBLIC_KEY "study.pub.pem"

enum { THREADS_MAX = 256 };

/* A signal is passed on to the runner. The study ends after the runner has ended. */
static volatile sig_atomic_t interrupted;
static volatile sig_atomic_t runner;

static void pass_on(int number) {
    interrupted = number;
    if (runner != 0)
        kill((pid_t)runner, number);
}

/* A signal that the caller ignores stays ignored, as under nohup and in background jobs of a shell. */
static void pass_on_unless_ignored(int number) {
    if (signal(number, pass_on) == SIG_IGN)
        signal(number, SIG_IGN);
}

/* --- the command line --------------------------------------------------------------------------------------------- */

const firn_option firnc_study_options[FIRNC_STUDY_OPTIONS] = {
    {.name = "--data",
     .value = "FILE",
     .text = "what to train on, a file or a folder; may be given again",
     .kind = FIRN_OPTION_LIST,
     .names = FIRN_NAMES_FILE,
     .place = offsetof(firnc_study, data.text),
     .count = offsetof(firnc_study, data.count),
     .most = FIRNC_TEXTS_MAX,
     .mend = "put the files into a folder"},
    {.name = "--output",
     .brief = "-o",
     .value = "FOLDER",
     .text = "where the results go; must not be there yet",
     .kind = FIRN_OPTION_TEXT,
     .names = FIRN_NAMES_FOLDER,
     .place = offsetof(firnc_study, folder)},
    {.name = "--labels",
     .value = "FILE",
     .text = "labels or targets of the records in --data",
     .kind = FIRN_OPTION_TEXT,
     .names = FIRN_NAMES_FILE,
     .place = offsetof(firnc_study, labels)},
    {.name = "--sample-weights",
     .value = "FILE",
     .text = "weights of the records, as firn takes them",
     .kind = FIRN_OPTION_TEXT,
     .names = FIRN_NAMES_FILE,
     .place = offsetof(firnc_study, sample_weights)},
    {.name = "--member",
     .value = "NAMES",
     .text = "the arrays to read of .npz files, as firn takes them",
     .kind = FIRN_OPTION_TEXT,
     .place = offsetof(firnc_study, member)},
    {.name = "--target-column",
     .value = "COLUMN",
     .text = "the labels in a .csv table, as firn takes them",
     .kind = FIRN_OPTION_TEXT,
     .place = offsetof(firnc_study, target_column)},
    {.name = "--columns",
     .value = "COLUMNS",
     .text = "the features in a .csv table, as firn takes them",
     .kind = FIRN_OPTION_TEXT,
     .place = offsetof(firnc_study, columns)},
    {.name = "--header",
     .value = "yes|no",
     .text = "whether .csv tables have names of columns",
     .kind = FIRN_OPTION_TEXT,
     .place = offsetof(firnc_study, header)},
    {.name = "--trial-steps",
     .old = "--steps",
     .value = "N",
     .text = "steps of each trial; default: all of the run",
     .kind = FIRN_OPTION_NUMBER,
     .place = offsetof(firnc_study, steps),
     .least = 1,
     .most = UINT32_MAX,
     .what = "a number of steps"},
    {.name = "--seeds",
     .value = "N",
     .text = "train each trial with N seeds, that of the recipe and those after it, and compare trials of one seed, so "
             "that differences have an interval; default: 1",
     .kind = FIRN_OPTION_NUMBER,
     .place = offsetof(firnc_study, seeds),
     .least = 1,
     .most = FIRNC_STUDY_SEEDS,
     .what = "a number of seeds"},
    {.name = "--target",
     .value = FIRNC_TARGET_WORDS,
     .text = "what the reductions are chosen for; host: for this machine; default: portable",
     .kind = FIRN_OPTION_TEXT,
     .place = offsetof(firnc_study, asked_target)},
    {.name = "--logit-rows",
     .value = "N",
     .text = FIRNC_LOGIT_ROWS_TEXT,
     .kind = FIRN_OPTION_NUMBER32,
     .place = offsetof(firnc_study, logit_rows_asked),
     .given = offsetof(firnc_study, logit_rows_given),
     .most = UINT32_MAX - 1,
     .what = "a number of rows",
     .mend = "write one, or 0 for all"},
    {.name = "--hf",
     .value = "FOLDER",
     .text = "the model and its weights, as firnc compile takes them",
     .kind = FIRN_OPTION_TEXT,
     .names = FIRN_NAMES_FOLDER,
     .place = offsetof(firnc_study, hugging_face)},
    {.name = "--statistics",
     .value = "FILE",
     .text = FIRNC_STATISTICS_TEXT,
     .kind = FIRN_OPTION_TEXT,
     .names = FIRN_NAMES_FILE,
     .place = offsetof(firnc_study, statistics)},
    {.name = "--weights",
     .value = "FILE",
     .text = "initial values of the parameters (.safetensors, or .index.json)",
     .kind = FIRN_OPTION_TEXT,
     .names = FIRN_NAMES_FILE,
     .place = offsetof(firnc_study, weights)},
    {.name = "--set",
     .value = "a.b=VALUE",
     .text = "change a key of the recipe; may be given again",
     .kind = FIRN_OPTION_LIST,
     .place = offsetof(firnc_study, settings.text),
     .count = offsetof(firnc_study, settings.count),
     .most = FIRNC_TEXTS_MAX,
     .mend = "put the values into the recipe"},
    {.name = "--threads",
     .value = "N",
     .text = "of the runner; default: one for each CPU",
     .kind = FIRN_OPTION_NUMBER32,
     .place = offsetof(firnc_study, threads),
     .least = 1,
     .most = THREADS_MAX,
     .what = "a number of threads"},
    {.name = "--firn",
     .value = "RUNNER",
     .text = "the firn that trains; default: the one beside firnc, else that of PATH",
     .kind = FIRN_OPTION_TEXT,
     .names = FIRN_NAMES_FILE,
     .place = offsetof(firnc_study, firn)},
};

/* The runner in the same folder as this program, if there is one; otherwise `firn`, which is searched in PATH. */
static const char *runner_beside(void) {
    char path[4096];
    ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
    if (length <= 0)
        return "firn";
    path[length] = '\0';
    *strrchr(path, '/') = '\0';
    const char *runner = firnc_format("%s/firn", path);
    return access(runner, X_OK) == 0 ? runner : "firn";
}

static int check_words(firnc_study *study, const char *command) {
    if (study->data.count == 0)
        return firnc_usage(command, "--data: what to train on is missing; write --data and a file or a folder");
    if (study->folder == NULL)
        return firnc_usage(command, "-o: where the results go is missing; write -o and a folder to be made");
    if (study->asked_target != NULL && !firnc_target_known(study->asked_target))
        return firnc_usage(command, "--target: " FIRNC_TARGET_UNKNOWN, study->asked_target, firnc_target_names());
    study->target = "portable";
    study->seeds = study->seeds != 0 ? study->seeds : 1;
    study->logit_rows = firnc_logit_rows_of(study->logit_rows_given, study->logit_rows_asked);
    if (study->firn == NULL)
        study->firn = runner_beside();
    if (study->hugging_face != NULL && study->weights == NULL &&
        (study->weights = firnc_hugging_face_weights(study->hugging_face, "--weights")) == NULL)
        return FIRNC_EXIT_WRONG;
    return FIRNC_EXIT_OK;
}

/* Sample weights must be given if the model uses them, and only then. */
static bool check_sample_weights(const firnc_study *study, const firnc_recipe *recipe) {
    bool taken = recipe->facts.sample_weights;
    if (taken == (study->sample_weights != NULL))
        return true;
    firnc_say(taken
                  ? "firnc: %s: the model has sample_weights; give the file of them by --sample-weights"
                  : "firnc: %s: the model has no sample_weights; leave out --sample-weights, or set them in the model",
              study->recipe);
    return false;
}

static bool read_lengths(firnc_study *study) {
    const firnc_texts none = {0};
    firnc_recipe *recipe = firnc_allocate(sizeof *recipe);
    if (!firnc_study_recipe(study, &none, FIRNC_TRAIN, recipe))
        return false;
    firnc_recipe_warn_of_statistics(recipe, study->recipe);
    firnc_idle_mute(); /* the trials turn much off on purpose, and once is enough */
    if (!check_sample_weights(study, recipe))
        return false;
    if (study->steps == 0 && recipe->job.endless) {
        firnc_say("firnc: %s: the run has no end; give --trial-steps, the steps of each trial", study->recipe);
        return false;
    }
    if (study->steps == 0)
        study->steps = recipe->job.steps;
    study->first_seed = recipe->job.seed;
    if (study->seeds - 1 > UINT64_MAX - study->first_seed) {
        firnc_say("firnc: %s: trainer.init.seed: there are no %llu seeds from %llu on; write a smaller one",
                  study->recipe, (unsigned long long)study->seeds, (unsigned long long)study->first_seed);
        return false;
    }
    if (study->steps > recipe->job.steps && !recipe->job.endless) {
        firnc_say("firnc: %s: the run has %llu steps, fewer than --trial-steps %llu; raise trainer.init.loop.num_steps",
                  study->recipe, (unsigned long long)recipe->job.steps, (unsigned long long)study->steps);
        return false;
    }
    if (recipe->job.data.held_out_per_mille == 0)
        return true;
    if (!firnc_study_recipe(study, &none, FIRNC_EVAL, recipe))
        return false;
    study->held_out = recipe->job.data.held_out;
    return true;
}

/* Makes a key for this study only. Its secret half is never written to a file. */
static bool make_key(firnc_study *study) {
    firnc_bytes private_pem, public_pem;
    bool good = firnc_key_generate(&study->key) && firnc_key_encode(&study->key, &private_pem, &public_pem);
    if (good) {
        firnc_wipe(private_pem.data, private_pem.count);
        good = firnc_file_write(firnc_study_path(study, PUBLIC_KEY), public_pem.data, public_pem.count);
    }
    if (!good)
        firnc_wipe(&study->key, sizeof study->key);
    return good;
}

int firnc_study_begin(firnc_study *study, const char *command) {
    int status = check_words(study, command);
    if (status != FIRNC_EXIT_OK)
        return status;
    if (!read_lengths(study))
        return FIRNC_EXIT_WRONG;
    if (mkdir(study->folder, 0777) != 0) {
        firnc_say("firnc: %s: cannot be made: %s; give the name of a folder that is not there yet", study->folder,
                  strerror(errno));
        return FIRNC_EXIT_WRONG;
    }
    study->made = true;
    pass_on_unless_ignored(SIGINT);
    pass_on_unless_ignored(SIGTERM);
    pass_on_unless_ignored(SIGHUP);
    return make_key(study) ? FIRNC_EXIT_OK : firnc_study_end(study, false);
}

/* Removes every file in the folder and then the folder. */
static void remove_folder(const char *folder) {
    DIR *directory = opendir(folder);
    for (const struct dirent *entry; directory != NULL && (entry = readdir(directory)) != NULL;)
        unlinkat(dirfd(directory), entry->d_name, 0);
    if (directory != NULL)
        closedir(directory);
    rmdir(folder);
}

/* Keeps what hours of trials have left, although not all of the results could be written. */
static void keep_measured(const firnc_study *study) {
    unlink(firnc_study_path(study, PUBLIC_KEY));
    if (rmdir(study->folder) != 0) /* it is not empty */
        firnc_say("firnc: %s: note: the trials are done, and what they have left is kept there", study->folder);
}

int firnc_study_end(firnc_study *study, bool good) {
    firnc_wipe(&study->key, sizeof study->key);
    if (good && interrupted == 0) {
        unlink(firnc_study_path(study, PUBLIC_KEY)); /* the plans that it verifies are removed already */
        return FIRNC_EXIT_OK;
    }
    if (study->measured && interrupted == 0)
        keep_measured(study);
    else if (study->made)
        remove_folder(study->folder);
    if (interrupted == 0)
        return FIRNC_EXIT_WRONG;
    firnc_say("firnc: %s: interrupted; nothing was kept", study->recipe);
    return FIRNC_EXIT_INTERRUPTED;
}

const char *firnc_study_path(const firnc_study *study, const char *name) {
    return firnc_format("%s/%s", study->folder, name);
}

static const char *path_of(const firnc_study *study, const firnc_trial *trial, const char *ending) {
    return firnc_format("%s/%s.%s", study->folder, trial->name, ending);
}

void firnc_study_set_target(firnc_study *study, firn_type half, bool emulate) {
    /* The levels of the trials differ, and 2 is the highest. */
    const char *asked = study->asked_target, *half_name = firn_type_name((uint8_t)half);
    const firnc_precision precision = {.mixed = true, .half = half, .level = 2, .emulate = emulate};
    if (asked == NULL)
        return;
    if (strcmp(asked, FIRNC_HOST) == 0) {
        const firnc_cpu cpu = firnc_cpu_read();
        const char *why;
        study->target = firnc_host_target(&cpu, &precision, &why)->name;
        printf("target for %s: %s: %s\n", half_name, study->target, why);
        return;
    }
    study->target = asked;
    const char *idle = firnc_target_idle(firnc_target_find(asked), &precision);
    if (idle != NULL)
        firnc_say("firnc: %s: warning: --target: %s changes nothing for %s: %s; leave it out", study->recipe, asked,
                  half_name, idle);
}

/* --- freezing ----------------------------------------------------------------------------------------------------- */

const char *const firnc_study_model_keys[FIRNC_STUDY_MODEL_KEYS] = {"mixed_precision", "fp16_type", "use_bfloat16"};

bool firnc_study_recipe(const firnc_study *study, const firnc_texts *more, firnc_mode mode, firnc_recipe *recipe) {
    const char *settings[2 * FIRNC_TEXTS_MAX + FIRNC_STUDY_MODEL_KEYS];
    uint32_t count = 0;
    for (uint32_t i = 0; i < study->settings.count; i++)
        settings[count++] = study->settings.text[i];
    for (uint32_t i = 0; i < more->count; i++)
        settings[count++] = more->text[i];
    if (more->count > 0) /* a trial sets the precision, which recipes in the older layout set in the model */
        for (uint32_t i = 0; i < FIRNC_STUDY_MODEL_KEYS; i++)
            settings[count++] = firnc_format("trainer.init.model.%s=null", firnc_study_model_keys[i]);
    recipe->hugging_face = study->hugging_face;
    recipe->statistics = study->statistics;
    return firnc_recipe_read(recipe, study->recipe, mode, settings, count);
}

unsigned long long firnc_study_seed(const firnc_study *study, uint64_t index) {
    return study->first_seed + index;
}

firnc_texts firnc_study_seeded(const firnc_study *study, const firnc_texts *more, uint64_t index) {
    firnc_texts settings = *more;
    if (index != 0)
        settings.text[settings.count++] = firnc_format("trainer.init.seed=%llu", firnc_study_seed(study, index));
    return settings;
}

static bool freeze(const firnc_study *study, const firnc_texts *more, firnc_mode mode, const char *output,
                   firnc_graph **graph, firnc_frozen *frozen) {
    firnc_recipe *recipe = firnc_allocate(sizeof *recipe);
    if (!firnc_study_recipe(study, more, mode, recipe))
        return false;
    recipe->job.target = study->target;
    recipe->job.weights = study->weights;
    recipe->job.logit_rows = study->logit_rows;
    *graph = firnc_recipe_build(recipe);
    return firnc_freeze_plan(*graph, &recipe->job, &study->key, NULL, frozen) &&
           firnc_file_write(output, frozen->file.data, frozen->file.count);
}

/* SHA-256 of what the ops compute, without the annotations that led to it. */
static bool hash_computation(const firnc_graph *graph, uint8_t hash[FIRN_HASH_BYTES]) {
    firnc_node *nodes = firnc_allocate(graph->node_count * sizeof *nodes);
    uint8_t *types = firnc_allocate(graph->value_count);
    for (uint32_t i = 0; i < graph->node_count; i++) {
        const firnc_node *node = &graph->nodes[i];
        nodes[i].code = node->code;
        nodes[i].phase = node->phase;
        nodes[i].input_count = node->input_count;
        memcpy(nodes[i].inputs, node->inputs, sizeof node->inputs);
        memcpy(nodes[i].outputs, node->outputs, sizeof node->outputs);
        memcpy(nodes[i].integers, node->integers, sizeof node->integers);
        memcpy(nodes[i].reals, node->reals, sizeof node->reals);
        memcpy(nodes[i].reductions, node->reductions, sizeof node->reductions);
    }
    for (firnc_value i = 0; i < graph->value_count; i++)
        types[i] = graph->values[i].shape.type;
    uint8_t both[2 * FIRN_HASH_BYTES];
    return firn_sha256_of((const uint8_t *)nodes, graph->node_count * sizeof *nodes, both) == FIRN_OK &&
           firn_sha256_of(types, graph->value_count, both + FIRN_HASH_BYTES) == FIRN_OK &&
           firn_sha256_of(both, sizeof both, hash) == FIRN_OK;
}

static void count_sums(const firnc_graph *graph, uint32_t sums[FIRNC_STUDY_KINDS]) {
    memset(sums, 0, FIRNC_STUDY_KINDS * sizeof *sums);
    for (uint32_t i = 0; i < graph->node_count; i++)
        for (uint8_t j = 0; j < firn_op_find(graph->nodes[i].code)->reductions; j++)
            sums[graph->nodes[i].reductions[j].kind]++;
}

bool firnc_trial_freeze(const firnc_study *study, const firnc_texts *more, firnc_trial *trial) {
    const firnc_mark mark = firnc_memory_mark(); /* only the hashes outlive the graph */
    firnc_graph *graph;
    firnc_frozen frozen;
    bool good = freeze(study, more, FIRNC_TRAIN, path_of(study, trial, "plan"), &graph, &frozen) &&
                hash_computation(graph, trial->computation);
    if (good) {
        memcpy(trial->run_hash, frozen.run_hash, sizeof trial->run_hash);
        count_sums(graph, trial->sums);
        trial->divided_logits = firnc_logits_are_divided(graph);
    }
    firnc_memory_release(mark);
    return good;
}

void firnc_trial_forget(const firnc_study *study, const firnc_trial *trial) {
    unlink(path_of(study, trial, "plan"));
}

/* --- running ------------------------------------------------------------------------------------------------------ */

typedef struct words {
    const char *word[3 * FIRNC_TEXTS_MAX];
    uint32_t count;
} words;

static void add(words *w, const char *word) {
    w->word[w->count++] = word;
}

static void add_option(words *w, const char *option, const char *value) {
    if (value == NULL)
        return;
    add(w, option);
    add(w, value);
}

static words runner_words(const firnc_study *study, const char *command, const char *plan) {
    words w = {0};
    add(&w, study->firn);
    add(&w, command);
    add(&w, plan);
    add(&w, "--quiet");
    add_option(&w, "--pub", firnc_study_path(study, PUBLIC_KEY));
    for (uint32_t i = 0; i < study->data.count; i++)
        add_option(&w, "--data", study->data.text[i]);
    add_option(&w, "--labels", study->labels);
    add_option(&w, "--sample-weights", study->sample_weights);
    add_option(&w, "--member", study->member);
    add_option(&w, "--target-column", study->target_column);
    add_option(&w, "--columns", study->columns);
    add_option(&w, "--header", study->header);
    add_option(&w, "--threads", study->threads != 0 ? firnc_format("%u", (unsigned)study->threads) : NULL);
    return w;
}

enum { MESSAGES_BYTES = 4096 };

/* Reads until end of file, and keeps the last part of the text. */
static void read_messages(int from, char text[MESSAGES_BYTES]) {
    size_t count = 0;
    for (;;) {
        if (count == MESSAGES_BYTES - 1) {
            memmove(text, text + count / 2, count - count / 2);
            count -= count / 2;
        }
        ssize_t got = read(from, text + count, MESSAGES_BYTES - 1 - count);
        if (got <= 0 && !(got < 0 && errno == EINTR))
            break;
        count += got > 0 ? (size_t)got : 0;
    }
    text[count] = '\0';
}

/* The last line of the runner's messages, or a text that says there is none. */
static const char *last_line(char *text) {
    size_t length = strlen(text);
    if (length == 0)
        return "it left no message";
    if (text[length - 1] == '\n')
        text[length - 1] = '\0';
    const char *newline = strrchr(text, '\n');
    return newline != NULL ? newline + 1 : text;
}

/* Runs a command with its output in a file. Its messages come through a pipe, because a file for them could not be
 * written if the disk is full, which may be what they report. Returns the exit code of the command, or -1 after one
 * line on stderr. */
static int run(const words *w, const char *output, char messages[MESSAGES_BYTES]) {
    posix_spawn_file_actions_t actions;
    char **arguments = firnc_allocate((w->count + 1) * sizeof *arguments);
    for (uint32_t i = 0; i < w->count; i++)
        arguments[i] = (char *)(uintptr_t)w->word[i];
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) {
        firnc_say("firnc: %s: cannot be run: %s; close some programs", w->word[0], strerror(errno));
        return -1;
    }
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, output, O_WRONLY | O_CREAT | O_TRUNC, 0666);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDERR_FILENO);
    pid_t child;
    int error = posix_spawnp(&child, w->word[0], &actions, NULL, arguments, environ);
    posix_spawn_file_actions_destroy(&actions);
    int status = 0;
    runner = error == 0 ? child : 0;
    if (interrupted != 0 && runner != 0)
        kill(child, interrupted); /* a signal that arrived before there was a runner */
    close(ends[1]);
    read_messages(ends[0], messages);
    close(ends[0]);
    while (error == 0 && waitpid(child, &status, 0) < 0)
        error = errno == EINTR ? 0 : errno;
    runner = 0;
    if (interrupted != 0)
        return -1;
    if (error != 0) {
        firnc_say("firnc: %s: cannot be run: %s; name the runner with --firn", w->word[0], strerror(error));
        return -1;
    }
    if (WIFEXITED(status))
        return WEXITSTATUS(status);
    firnc_say("firnc: %s: ended by signal %d; try it alone", w->word[0], WTERMSIG(status));
    return -1;
}

/* --- reading the results ------------------------------------------------------------------------------------------ */

static int by_size(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The median without the first step, which also loads the run's memory, if there are others. Sorts `seconds`. */
static double median(double *seconds, uint32_t count) {
    if (count > 1) {
        seconds++;
        count--;
    }
    qsort(seconds, count, sizeof *seconds, by_size);
    return count == 0 ? 0 : seconds[count / 2];
}

static double number(const cJSON *line, const char *key) {
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(line, key);
    return cJSON_IsNumber(item) ? item->valuedouble : (double)NAN;
}

/* Reads the step lines of the log and ignores its other lines. */
static bool read_log(const firnc_study *study, firnc_trial *trial) {
    firnc_bytes log;
    if (!firnc_file_read(path_of(study, trial, "jsonl"), UINT32_MAX, &log))
        return false;
    double *seconds = firnc_allocate((study->steps + 1) * sizeof *seconds), last = 0;
    trial->steps = trial->skipped = 0;
    for (char *at = (char *)log.data, *end; (end = strchr(at, '\n')) != NULL; at = end + 1) {
        *end = '\0';
        cJSON *line = cJSON_Parse(at);
        if (line != NULL && cJSON_HasObjectItem(line, "step") && trial->steps < study->steps) {
            seconds[trial->steps] = number(line, "seconds");
            trial->losses[trial->steps++] = (float)number(line, "loss");
            trial->skipped += cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(line, "skipped")) ? 1 : 0;
        }
        cJSON_Delete(line);
    }
    const uint32_t mean_of = trial->steps < FIRNC_STUDY_LAST ? trial->steps : FIRNC_STUDY_LAST;
    for (uint32_t i = trial->steps - mean_of; i < trial->steps; i++)
        last += (double)trial->losses[i];
    trial->loss = mean_of == 0 ? (double)NAN : last / mean_of;
    trial->seconds = median(seconds, trial->steps);
    return true;
}

/* Trains the frozen plan. `checkpoint` and `log` are file names and may be NULL. Returns the exit code of the runner or
 * -1; writes one line to stderr if that is neither 0 nor FIRN_STOPPED. */
static int train(const firnc_study *study, const firnc_trial *trial, uint64_t steps, const char *checkpoint,
                 const char *log) {
    char messages[MESSAGES_BYTES];
    words w = runner_words(study, "train", path_of(study, trial, "plan"));
    add_option(&w, "--steps", firnc_format("%llu", (unsigned long long)steps));
    add_option(&w, "--checkpoint", checkpoint);
    add_option(&w, "--log", log);
    int status = run(&w, "/dev/null", messages);
    if (status > 0 && status != FIRN_STOPPED)
        firnc_say("firnc: %s: training %s failed: %s", study->recipe, trial->name, last_line(messages));
    return status;
}

/* Computes the loss over `batches` batches of the held-out part (0: all of them) with a separate eval plan, and writes
 * it to the trial's value file. Returns the exit code of the runner or -1; writes one line to stderr if that is neither
 * 0 nor FIRN_STOPPED. */
static int evaluate(const firnc_study *study, const firnc_texts *more, const firnc_trial *trial, unsigned batches) {
    firnc_texts settings = *more;
    firnc_graph *graph;
    firnc_frozen frozen;
    char messages[MESSAGES_BYTES];
    const char *plan = path_of(study, trial, "eval.plan");
    settings.text[settings.count++] = "trainer.validate.metric=loss";
    if (batches > 0)
        settings.text[settings.count++] = firnc_format("trainer.init.loop.eval_steps=%u", batches);
    if (!freeze(study, &settings, FIRNC_EVAL, plan, &graph, &frozen))
        return -1;
    words w = runner_words(study, "eval", plan);
    add_option(&w, "--checkpoint", path_of(study, trial, "checkpoint"));
    int status = run(&w, path_of(study, trial, "value"), messages);
    if (status > 0 && status != FIRN_STOPPED) {
        const char *said = last_line(messages);
        firnc_say("firnc: %s: evaluating %s on the held-out part failed: %s%s", study->recipe, trial->name, said,
                  strstr(said, "(DATA_TOO_SHORT)") != NULL ? "; held_out_per_mille says how much is held out" : "");
    }
    return status;
}

static bool read_held_out_loss(const firnc_study *study, const firnc_texts *more, firnc_trial *trial) {
    int status = evaluate(study, more, trial, 0);
    firnc_bytes value;
    trial->stopped = status == FIRN_STOPPED; /* the last update made the loss not finite */
    if (trial->stopped)
        return true;
    if (status != 0 || !firnc_file_read(path_of(study, trial, "value"), 100, &value))
        return false;
    trial->held_out_loss = strtod((const char *)value.data, NULL);
    trial->stopped = !isfinite(trial->held_out_loss); /* the same, if the plan does not check the loss */
    return true;
}

/* Removes the files of a run that nothing reads later: one state for each trial could fill the disk. */
static void tidy(const firnc_study *study, const firnc_trial *trial) {
    unlink(path_of(study, trial, "checkpoint"));
    unlink(path_of(study, trial, "checkpoint.columns"));
    unlink(path_of(study, trial, "eval.plan"));
    unlink(path_of(study, trial, "value"));
}

/* Warns if other programs use the machine, with the threshold of the benchmarks: times are then not reliable. Losses
 * are not affected. */
static void say_load(const firnc_study *study, double load) {
    if (load > 0.3)
        firnc_say(
            "firnc: %s: the load of this machine is %.1f already: others are computing, so do not trust the times",
            study->recipe, load);
}

bool firnc_study_rehearse(const firnc_study *study, const firnc_texts *more, const firnc_trial *first) {
    const firnc_mark mark = firnc_memory_mark();
    double load = 0;
    if (!first->divided_logits)
        firnc_logit_rows_warn(study->recipe, study->logit_rows, false);
    if (getloadavg(&load, 1) != 1) /* measured before this study adds to it */
        load = 0;
    int status = train(study, first, 0, path_of(study, first, "checkpoint"), NULL);
    if (status == 0 && study->held_out)
        status = evaluate(study, more, first, 1);
    tidy(study, first);
    firnc_memory_release(mark);
    bool good = status == 0 || status == FIRN_STOPPED;
    if (good)
        say_load(study, load);
    return good;
}

void firnc_trial_forget_log(const firnc_study *study, const firnc_trial *trial) {
    unlink(path_of(study, trial, "jsonl"));
}

static bool run_trial(const firnc_study *study, const firnc_texts *more, firnc_trial *trial) {
    trial->held_out_loss = (double)NAN;
    int status = train(study, trial, study->steps, path_of(study, trial, "checkpoint"), path_of(study, trial, "jsonl"));
    if (status != 0 && status != FIRN_STOPPED)
        return false;
    trial->stopped = status == FIRN_STOPPED;
    bool good =
        read_log(study, trial) && (trial->stopped || !study->held_out || read_held_out_loss(study, more, trial));
    tidy(study, trial);
    firnc_trial_forget(study, trial);
    return good;
}

bool firnc_trial_run(const firnc_study *study, const firnc_texts *more, firnc_trial *trial) {
    trial->losses = firnc_allocate((study->steps + 1) * sizeof *trial->losses);
    const firnc_mark mark = firnc_memory_mark(); /* the log and the eval graph are not needed later */
    bool good = run_trial(study, more, trial);
    firnc_memory_release(mark);
    return good;
}

bool firnc_trial_time(const firnc_study *study, const firnc_trial *trial, uint64_t steps, double *seconds) {
    const firnc_mark mark = firnc_memory_mark();
    firnc_trial timed = *trial;
    timed.losses = firnc_allocate((study->steps + 1) * sizeof *timed.losses);
    int status = train(study, trial, steps < study->steps ? steps : study->steps, NULL, path_of(study, trial, "jsonl"));
    bool good = (status == 0 || status == FIRN_STOPPED) && read_log(study, &timed);
    firnc_trial_forget_log(study, trial);
    firnc_memory_release(mark);
    *seconds = timed.seconds;
    return good;
}

/* --- reporting ---------------------------------------------------------------------------------------------------- */

double firnc_trial_deviation(const firnc_trial *trial, const firnc_trial *reference) {
    double largest = 0;
    for (uint32_t i = 0; i < trial->steps && i < reference->steps; i++) {
        const double difference = fabs((double)trial->losses[i] - (double)reference->losses[i]);
        if (isnan(difference))
            return difference;
        largest = difference > largest ? difference : largest;
    }
    return largest;
}

void firnc_trial_print_head(void) {
    printf("%-28s %10s %10s %10s %8s %12s  %s\n", "what", "loss", "held out", "deviation", "skipped", "s/step", "sums");
}

/* A loss that has grown beyond the column is written with its power of ten. */
static void print_loss(double loss) {
    if (fabs(loss) < 1e4 || !isfinite(loss))
        printf("%10.5f ", loss);
    else
        printf("%10.3e ", loss);
}

void firnc_trial_print(const firnc_trial *trial, const firnc_trial *reference) {
    printf("%-28s ", trial->name);
    print_loss(trial->loss);
    if (isnan(trial->held_out_loss))
        printf("%10s ", "-");
    else
        print_loss(trial->held_out_loss);
    printf("%10.3g %8u %12.6f ", firnc_trial_deviation(trial, reference), (unsigned)trial->skipped, trial->seconds);
    const char *separator = "";
    for (uint32_t kind = 0; kind < FIRNC_STUDY_KINDS; kind++)
        if (trial->sums[kind] > 0) {
            printf("%s %u %s", separator, (unsigned)trial->sums[kind], firn_fb_reduction_kind_word((uint8_t)kind));
            separator = ",";
        }
    if (trial->stopped)
        printf("  stopped by its numbers after %u steps", (unsigned)trial->steps);
    putchar('\n');
    fflush(stdout);
}
