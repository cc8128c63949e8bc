/* Tests what firn train makes of the values of evaluations: which is the best, when --patience ends a run, and what a
 * log gives back of them. */
#define _GNU_SOURCE
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cjson/cJSON.h>

#include "runtime/cli/cli.h"
#include "runtime/numerics/numerics.h"
#include "tests/unit/support_test.h"

/* --- the best ----------------------------------------------------------------------------------------------------- */

enum { VALUES = 9 };

/* Values of evaluations after steps 10, 20, ...; INFINITY and NAN are not finite. */
typedef struct sequence {
    bool higher;
    float values[VALUES];
    uint64_t best;         /* the step of the best */
    uint64_t over[VALUES]; /* the step at which a patience of 1, 2, ... ends the run; 0: never */
} sequence;

static const sequence sequences[] = {
    {false, {5, 4, 3, 2, 1, 0, -1, -2, -3}, 90, {0, 0, 0, 0, 0, 0, 0, 0, 0}},
    {true, {5, 4, 3, 2, 1, 0, -1, -2, -3}, 10, {20, 30, 40, 50, 60, 70, 80, 90, 0}},
    {false, {2, 1, 1, 1, 3, 0.5F, 0.5F, 7, 8}, 60, {30, 40, 50, 0, 0, 0, 0, 0, 0}},
    {true, {0.5F, 0.5F, 0.75F, 0.5F, 0.75F, 0, 0, 0, 0.875F}, 90, {20, 50, 60, 70, 80, 0, 0, 0, 0}},
    {false, {NAN, NAN, 9, NAN, 10, -INFINITY, 8, NAN, INFINITY}, 70, {10, 20, 60, 0, 0, 0, 0, 0, 0}},
    {true, {NAN, INFINITY, 9, INFINITY, 9, -INFINITY, 8, NAN, 9}, 30, {10, 20, 60, 70, 80, 90, 0, 0, 0}},
    {false, {NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN}, 0, {10, 20, 30, 40, 50, 60, 70, 80, 90}},
    {false, {0, -0.0F, 0, -0.0F, 1, 1, 1, 1, 1}, 10, {20, 30, 40, 50, 60, 70, 80, 90, 0}},
};

/* Takes the values from number `first` on, and returns the step at which patience ends the run, or 0. */
static uint64_t take(cli_best *best, cli_metric *metric, const sequence *sequence, size_t first) {
    for (size_t i = first; i < VALUES; i++) {
        if (cli_best_is_over(best))
            return 10 * i;
        metric->value = sequence->values[i];
        assert_int_equal(cli_best_take(best, 10 * (i + 1)), CLI_OK);
    }
    return cli_best_is_over(best) ? 10 * VALUES : 0;
}

TEST(the_best_and_the_end_follow_from_the_values) {
    for (size_t s = 0; s < sizeof sequences / sizeof *sequences; s++)
        for (uint64_t patience = 0; patience <= VALUES; patience++) {
            const sequence *sequence = &sequences[s];
            cli_options options = {.patience = patience, .quiet = true};
            cli_metric metric = {.name = "loss", .higher = sequence->higher};
            const cli_history nothing = {0};
            cli_best best = {.options = &options};
            assert_int_equal(cli_best_go_on(&best, &metric, &nothing, 0), CLI_OK);
            assert_int_equal(take(&best, &metric, sequence, 0), patience != 0 ? sequence->over[patience - 1] : 0);
            if (patience == 0)
                assert_int_equal(best.best.step, sequence->best);
        }
}

/* A run that goes on from the log after any evaluation ends as one that was not interrupted. */
TEST(a_log_gives_back_the_best_and_the_count) {
    for (size_t s = 0; s < sizeof sequences / sizeof *sequences; s++)
        for (uint64_t patience = 1; patience <= VALUES; patience++)
            for (size_t before = 0; before <= VALUES; before++) {
                const sequence *sequence = &sequences[s];
                const uint64_t end = sequence->over[patience - 1];
                if (end != 0 && 10 * before > end)
                    continue; /* the run had ended */
                cli_score list[VALUES];
                for (size_t i = 0; i < before; i++) {
                    const float value = sequence->values[i];
                    list[i] = (cli_score){10 * (i + 1), isfinite(value) ? value : NAN};
                }
                cli_options options = {.patience = patience, .quiet = true};
                cli_metric metric = {.name = "loss", .higher = sequence->higher};
                const cli_history history = {.list = list, .count = before};
                cli_best best = {.options = &options};
                assert_int_equal(cli_best_go_on(&best, &metric, &history, 10 * before), CLI_OK);
                assert_int_equal(best.evaluations, before);
                assert_int_equal(take(&best, &metric, sequence, before), end);
            }
}

/* --- the log ------------------------------------------------------------------------------------------------------ */

static char path[128];

BEFORE_ALL {
    snprintf(path, sizeof path, "%s/firn-best-XXXXXX", P_tmpdir);
    int file = mkstemp(path);
    assert_true(file >= 0 && close(file) == 0);
}

AFTER_ALL {
    assert_int_equal(unlink(path), 0);
}

static const uint8_t plan_hash[32] = {1}, data_hash[32] = {2}, other_hash[32] = {3};
static cli_session session;
static cli_options options;

/* Opens the log of a run with evaluations of a plan and of data. Returns the exit code. */
static int open_log(cli_log *log, cli_history *history, uint64_t steps, bool resume) {
    options = (cli_options){.log = path, .resume = resume};
    session = (cli_session){.options = &options, .info = {.kernels = "portable"}};
    return cli_log_begin(log, &session, history, steps);
}

static const float awkward[] = {1.0F, 0.1F, -0.0F, 0x1p-149F, 0x1.fffffep127F, 16777217.0F, NAN, 2.5e-30F};
enum { AWKWARD = sizeof awkward / sizeof *awkward };

static void write_log(void) {
    cli_log log;
    cli_history history = {.run_hash = plan_hash, .data_sha256 = data_hash, .name = "loss"};
    assert_int_equal(truncate(path, 0), 0);
    assert_int_equal(open_log(&log, &history, 0, false), CLI_OK);
    for (size_t i = 0; i < AWKWARD; i++) {
        const firn_step_report report = {.global_step = i + 1, .loss = 7};
        const cli_metric metrics[] = {{.name = "loss", .value = awkward[i]}, {.name = "loss_2", .value = 8}};
        assert_true(cli_log_step(&log, &report, FIRN_OK, 0.5, 1.5));
        assert_true(cli_log_evaluation(&log, i + 1, metrics, 2, 0.5, 1.5));
    }
    cli_log_end(&log, false);
}

/* The values are numbers of JSON, and come back with all their bits. */
TEST(evaluations_come_back_from_the_log) {
    write_log();
    for (uint64_t steps = AWKWARD; steps > 0; steps--) {
        cli_log log;
        cli_history history = {.run_hash = plan_hash, .data_sha256 = data_hash, .name = "loss"};
        assert_int_equal(open_log(&log, &history, steps, true), CLI_OK);
        assert_int_equal(history.count, steps);
        for (size_t i = 0; i < steps; i++) {
            assert_int_equal(history.list[i].step, i + 1);
            assert_int_equal(firn_bits(firn_canonical(history.list[i].value)), firn_bits(firn_canonical(awkward[i])));
        }
        free(history.list);
        cli_log_end(&log, false);
    }
    write_log();
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    char line[CLI_LOG_LINE_BYTES];
    for (size_t i = 0; fgets(line, sizeof line, file) != NULL; i++) {
        cJSON *object = cJSON_Parse(line);
        assert_non_null(object);
        const cJSON *value = cJSON_GetObjectItemCaseSensitive(object, "eval_loss");
        assert_true(i == 0 || i % 2 == 1 || value != NULL);
        assert_true(value == NULL || isnan(awkward[i / 2 - 1]) == cJSON_IsNull(value));
        cJSON_Delete(object);
    }
    fclose(file);
}

/* Evaluations ahead of the checkpoint are found before their lines are cut, and the lines stay until then. */
TEST(evaluations_ahead_of_the_checkpoint_are_found) {
    for (int cut = 0; cut < 2; cut++) {
        cli_log log;
        cli_history history = {.run_hash = plan_hash, .data_sha256 = data_hash, .name = "loss"};
        write_log();
        assert_int_equal(open_log(&log, &history, 3, true), CLI_OK);
        assert_int_equal(history.count, 3);
        assert_int_equal(history.ahead, AWKWARD - 3);
        assert_int_equal(history.list[AWKWARD - 1].step, AWKWARD);
        if (cut == 1)
            assert_int_equal(cli_log_cut_ahead(&log), CLI_OK);
        free(history.list);
        cli_log_end(&log, cut == 0);
        history = (cli_history){.run_hash = plan_hash, .data_sha256 = data_hash, .name = "loss"};
        assert_int_equal(open_log(&log, &history, 3, true), CLI_OK);
        assert_int_equal(history.count, 3);
        assert_int_equal(history.ahead, cut == 1 ? 0 : AWKWARD - 3);
        free(history.list);
        cli_log_end(&log, false);
    }
}

/* The longest line has its place. */
TEST(a_line_has_all_metrics) {
    cli_log log;
    cli_metric metrics[CLI_METRICS_MAX];
    for (size_t i = 0; i < CLI_METRICS_MAX; i++) {
        metrics[i] = (cli_metric){.value = -0x1.fffffep127F};
        snprintf(metrics[i].name, sizeof metrics[i].name, "mean_per_class_accuracy_%zu", i);
    }
    cli_history history = {.run_hash = plan_hash, .data_sha256 = data_hash, .name = "mean_per_class_accuracy_15"};
    assert_int_equal(truncate(path, 0), 0);
    assert_int_equal(open_log(&log, &history, 0, false), CLI_OK);
    assert_true(cli_log_evaluation(&log, UINT64_C(1000000000000000), metrics, CLI_METRICS_MAX, 1e6, 1e9));
    cli_log_end(&log, false);
    assert_int_equal(open_log(&log, &history, UINT64_C(1000000000000000), true), CLI_OK);
    assert_int_equal(history.count, 1);
    assert_true(history.list[0].value == -0x1.fffffep127F);
    free(history.list);
    cli_log_end(&log, false);
}

TEST(a_log_of_other_evaluations_is_refused) {
    write_log();
    for (int other = 0; other < 2; other++) {
        cli_log log;
        cli_history history = {.run_hash = other == 0 ? other_hash : plan_hash,
                               .data_sha256 = other == 1 ? other_hash : data_hash,
                               .name = "loss"};
        assert_int_equal(open_log(&log, &history, AWKWARD, true), CLI_FILE);
        assert_int_equal(history.count, 0);
        cli_log_end(&log, true);
        assert_int_equal(open_log(&log, NULL, AWKWARD, true), CLI_OK); /* a run without evaluations may go on */
        cli_log_end(&log, false);
    }
}

/* Whatever a line holds, only a finite number is a value. */
TEST(damaged_values_are_none) {
    static const char *const values[] = {"null", "", "nan", "inf", "1e999", "x", "\"", "{}", "-", "1e39"};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        cli_log log;
        cli_history history = {.run_hash = plan_hash, .data_sha256 = data_hash, .name = "loss"};
        assert_int_equal(truncate(path, 0), 0);
        assert_int_equal(open_log(&log, &history, 0, false), CLI_OK);
        fprintf(log.to.file, "{\"step\":1,\"eval_loss\":%s\n", values[i]);
        cli_log_end(&log, false);
        assert_int_equal(open_log(&log, &history, 1, true), CLI_OK);
        assert_int_equal(history.count, 1);
        assert_true(isnan(history.list[0].value));
        free(history.list);
        cli_log_end(&log, false);
    }
}
