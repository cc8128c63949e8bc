/* Tests evaluations in a training by a plan that has several metrics, which firnc does not write: how they are named,
 * and which of them the best is chosen by. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cjson/cJSON.h>
#include <mbedtls/base64.h>

#include "plan/ops.h"
#include "runtime/cli/cli.h"
#include "tests/unit/support_capture.h"
#include "tests/unit/support_network.h"
#include "tests/unit/support_test.h"

enum { RECORDS = 32, NUMBERS = RECORDS * NETWORK_WIDTH, STEPS = 24, EVERY = 2 };

/* --- files -------------------------------------------------------------------------------------------------------- */

enum { TRAIN_PLAN, EVAL_PLAN, LOSSLESS_PLAN, KEY, FEATURES, LABELS, RUN_LOG, BEST, FILES };
static char folder[64], names[FILES][96];

static void write_file(int file, const void *bytes, size_t count) {
    FILE *to = fopen(names[file], "wb");
    assert_non_null(to);
    assert_int_equal(fwrite(bytes, 1, count, to), count);
    assert_int_equal(fclose(to), 0);
}

static void write_key(const uint8_t key[64]) {
    uint8_t der[91] = {0x30, 0x59, 0x30, 0x13, 0x06, 0x07, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01, 0x06,
                       0x08, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x03, 0x01, 0x07, 0x03, 0x42, 0x00, 0x04};
    unsigned char text[256];
    char pem[512];
    size_t length;
    memcpy(der + 27, key, 64);
    assert_int_equal(mbedtls_base64_encode(text, sizeof text, &length, der, sizeof der), 0);
    const int count =
        snprintf(pem, sizeof pem, "-----BEGIN PUBLIC KEY-----\n%s\n-----END PUBLIC KEY-----\n", (const char *)text);
    write_file(KEY, pem, (size_t)count);
}

/* Writes an array of version 1.0 of the .npy format. */
static void write_array(int file, const char *type, const char *shape, const void *elements, size_t bytes) {
    static uint8_t array[128 + 4 * (size_t)NUMBERS];
    static const uint8_t magic[] = {0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0, 118, 0};
    memset(array, ' ', 128);
    memcpy(array, magic, sizeof magic);
    const int length =
        snprintf((char *)array + 10, 118, "{'descr': '%s', 'fortran_order': False, 'shape': %s, }", type, shape);
    array[10 + length] = ' ';
    array[127] = '\n';
    memcpy(array + 128, elements, bytes);
    write_file(file, array, 128 + bytes);
}

static void write_data(void) {
    float features[NUMBERS];
    uint8_t labels[RECORDS];
    uint32_t noise = 1;
    for (size_t i = 0; i < NUMBERS; i++) {
        noise = noise * 1664525u + 1013904223u;
        features[i] = (float)(noise >> 16) / 32768.0f - 1.0f;
    }
    for (size_t i = 0; i < RECORDS; i++)
        labels[i] = (uint8_t)((features[i * NETWORK_WIDTH] > 0) + 2 * (features[i * NETWORK_WIDTH + 1] > 0));
    write_array(FEATURES, "<f4", "(32, 8)", features, sizeof features);
    write_array(LABELS, "|u1", "(32,)", labels, sizeof labels);
}

/* --- plans -------------------------------------------------------------------------------------------------------- */

static void add_accuracy(const char *right_name, const char *rows_name, int counters[2]) {
    counters[0] = (int)builder_counter(&network, BUILDER_SESSION, right_name);
    counters[1] = (int)builder_counter(&network, BUILDER_SESSION, rows_name);
}

static void count_accuracy(const int counters[2]) {
    (void)builder_op(&network, FIRN_OP_metric_accuracy,
                     (int[]){network_at.logits, network_at.labels, counters[0], counters[1], BUILDER_END},
                     (int[]){counters[0], counters[1], BUILDER_END});
}

/* An eval plan with the accuracy, the loss unless it is left out, and the accuracy again. */
static void write_eval_plan(int file, bool lossless) {
    static signed_plan plan;
    network_form form = network_evaluated(network_plain);
    int first[2], second[2];
    builder_begin(&network, FIRN_MODE_EVAL);
    network_at = (network_tensors){0};
    add_accuracy("accuracy.correct", "accuracy.count", first);
    add_accuracy("again.correct", "again.count", second);
    network_add_state(&form);
    network_add_inputs(&form);
    network_add_forward(&form);
    count_accuracy(first);
    count_accuracy(second);
    network_add_evaluation(&form);
    const firn_native_metric accuracies[] = {
        {.kind = FIRN_FB_METRIC_KIND_ACCURACY, .sum = (uint32_t)first[0], .count = (uint32_t)first[1]},
        {.kind = FIRN_FB_METRIC_KIND_ACCURACY, .sum = (uint32_t)second[0], .count = (uint32_t)second[1]}};
    const firn_native_metric with[] = {accuracies[0], network.metric, accuracies[1]};
    network.plan.metrics = lossless ? accuracies : with;
    network.plan.metrics_count = lossless ? 2 : 3;
    builder_finish(&network, NULL, &plan);
    write_file(file, plan.file, plan.bytes);
    write_key(plan.key);
}

BEFORE_ALL {
    static const char *const endings[] = {"train", "eval", "lossless", "key", "x", "y", "log", "best"};
    static signed_plan plan;
    network_form form = network_plain;
    snprintf(folder, sizeof folder, "%s/firn-validation-XXXXXX", P_tmpdir);
    assert_non_null(mkdtemp(folder));
    for (size_t i = 0; i < FILES; i++)
        snprintf(names[i], sizeof names[i], "%s/%s", folder, endings[i]);
    network_make_weights(FIRN_BFLOAT16);
    form.steps = STEPS;
    network_describe(&form);
    builder_finish(&network, NULL, &plan);
    write_file(TRAIN_PLAN, plan.file, plan.bytes);
    write_eval_plan(EVAL_PLAN, false);
    write_eval_plan(LOSSLESS_PLAN, true);
    write_data();
}

static void remove_outputs(void) {
    (void)unlink(names[RUN_LOG]);
    (void)unlink(names[BEST]);
}

AFTER_ALL {
    remove_outputs();
    for (int i = 0; i < RUN_LOG; i++)
        assert_int_equal(unlink(names[i]), 0);
    assert_int_equal(rmdir(folder), 0);
}

/* --- runs --------------------------------------------------------------------------------------------------------- */

static char printed[4096];

/* Runs the training in a process of its own. Returns its exit code. */
static int train(int eval, const char *by) {
    const cli_options options = {.command = "train",
                                 .file = names[TRAIN_PLAN],
                                 .keys = {names[KEY]},
                                 .key_count = 1,
                                 .data = {names[FEATURES]},
                                 .data_count = 1,
                                 .labels = names[LABELS],
                                 .log = names[RUN_LOG],
                                 .eval = names[eval],
                                 .eval_every = EVERY,
                                 .keep_best = names[BEST],
                                 .by = by,
                                 .threads = 1};
    remove_outputs();
    support_capture_begin(STDERR_FILENO);
    const pid_t child = fork();
    if (child == 0) {
        (void)!freopen("/dev/null", "w", stdout);
        _exit(cli_train(&options));
    }
    int status = 0;
    assert_true(child > 0 && waitpid(child, &status, 0) == child);
    support_capture_end(printed, sizeof printed);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* Reads a value of each evaluation from the log. Returns their number. */
static size_t read_values(const char *name, double *values, size_t most) {
    char line[CLI_LOG_LINE_BYTES];
    size_t count = 0;
    FILE *log = fopen(names[RUN_LOG], "r");
    assert_non_null(log);
    while (fgets(line, sizeof line, log) != NULL) {
        cJSON *object = cJSON_Parse(line);
        const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, name);
        assert_non_null(object);
        assert_true(item == NULL || (cJSON_IsNumber(item) && count < most));
        if (item != NULL)
            values[count++] = item->valuedouble;
        cJSON_Delete(object);
    }
    fclose(log);
    return count;
}

/* The step of the first of the best values. */
static uint64_t best_of(const double *values, size_t count, bool higher) {
    size_t best = 0;
    for (size_t i = 1; i < count; i++)
        best = higher ? (values[i] > values[best] ? i : best) : (values[i] < values[best] ? i : best);
    return EVERY * (best + 1);
}

/* Returns the step of the checkpoint of the best state. */
static uint64_t step_of_best(void) {
    uint8_t bytes[FIRN_RECORD_HEADER_BYTES];
    firn_record record;
    FILE *file = fopen(names[BEST], "rb");
    assert_non_null(file);
    assert_int_equal(fread(bytes, 1, sizeof bytes, file), sizeof bytes);
    fclose(file);
    assert_int_equal(firn_record_decode(&record, bytes), FIRN_OK);
    return record.global_step;
}

TEST(each_metric_has_a_name_and_a_direction) {
    static const struct {
        int eval;
        const char *by, *name; /* of the log */
        bool higher;
    } cases[] = {
        {EVAL_PLAN, NULL, "eval_loss", false},          {EVAL_PLAN, "loss", "eval_loss", false},
        {EVAL_PLAN, "accuracy", "eval_accuracy", true}, {EVAL_PLAN, "accuracy_2", "eval_accuracy_2", true},
        {LOSSLESS_PLAN, NULL, "eval_accuracy", true},   {LOSSLESS_PLAN, "accuracy_2", "eval_accuracy_2", true}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        double values[STEPS] = {0}, first[STEPS] = {0}, second[STEPS] = {0};
        if (train(cases[i].eval, cases[i].by) != CLI_OK)
            fail_msg("%s: %s", cases[i].name, printed);
        assert_int_equal(read_values(cases[i].name, values, STEPS), STEPS / EVERY);
        assert_int_equal(step_of_best(), best_of(values, STEPS / EVERY, cases[i].higher));
        assert_int_equal(read_values("eval_accuracy", first, STEPS), STEPS / EVERY);
        assert_int_equal(read_values("eval_accuracy_2", second, STEPS), STEPS / EVERY);
        assert_memory_equal(first, second, STEPS / EVERY * sizeof *first);
        assert_int_equal(read_values("eval_loss", values, STEPS), cases[i].eval == EVAL_PLAN ? STEPS / EVERY : 0);
    }
}

TEST(an_unknown_metric_lists_those_there_are) {
    static const char *const unknown[] = {"perplexity", "accuracy_3", "accuracy_1", "Loss", "loss "};
    for (size_t i = 0; i < sizeof unknown / sizeof *unknown; i++) {
        assert_int_equal(train(EVAL_PLAN, unknown[i]), CLI_USAGE);
        assert_non_null(strstr(printed, "one of: accuracy, loss, accuracy_2\n"));
        assert_int_not_equal(access(names[RUN_LOG], F_OK), 0);
    }
    assert_int_equal(train(LOSSLESS_PLAN, "loss"), CLI_USAGE);
    assert_non_null(strstr(printed, "has no metric loss; write --by and one of: accuracy, accuracy_2\n"));
}
