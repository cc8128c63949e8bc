/* Tests the log of firn with a JSON parser, for unusual numbers and names, the exit codes, which files a command may
 * write, and which outputs it predicts; and of firn and firnc, by their tables, every option that is repeated. */
#define _GNU_SOURCE
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cjson/cJSON.h>
#include <mbedtls/base64.h>

#include "compiler/base/text.h"
#include "compiler/commands/commands.h"
#include "runtime/cli/cli.h"
#include "runtime/numerics/numerics.h"
#include "tests/unit/support_capture.h"
#include "tests/unit/support_signed_plans.h"
#include "tests/unit/support_test.h"

static char path[128];

BEFORE_ALL {
    snprintf(path, sizeof path, "%s/firn-log-XXXXXX", P_tmpdir);
    int file = mkstemp(path);
    assert_true(file >= 0 && close(file) == 0);
}

AFTER_ALL {
    assert_int_equal(unlink(path), 0);
}

static char model[] = "a \"model\" \\ \n\xff name";

/* Returns the log of these reports as text. */
static char *log_of(const firn_step_report *reports, size_t count, int error) {
    static cli_session session;
    cli_options options = {.log = path};
    session = (cli_session){.options = &options, .report = {.model = model}};
    session.info = (firn_info){.kernels = "portable", .steps = 9};
    cli_log log;
    assert_int_equal(truncate(path, 0), 0);
    assert_int_equal(cli_log_begin(&log, &session, NULL, 0), CLI_OK);
    for (size_t i = 0; i < count; i++)
        assert_true(cli_log_step(&log, &reports[i], i + 1 == count ? error : FIRN_OK, 0.5, 1.5));
    assert_true(cli_appended_sync(&log.to));
    cli_log_end(&log, false);
    static char text[8192];
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    size_t length = fread(text, 1, sizeof text - 1, file);
    fclose(file);
    text[length] = 0;
    return text;
}

/* Parses the line as an object and moves *text to the next line. */
static cJSON *line_of(char **text) {
    char *stop = strchr(*text, '\n');
    assert_non_null(stop);
    *stop = 0;
    cJSON *line = cJSON_ParseWithOpts(*text, NULL, 1);
    assert_non_null(line);
    *text = stop + 1;
    return line;
}

static double number(const cJSON *line, const char *name) {
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(line, name);
    assert_true(cJSON_IsNumber(item));
    return item->valuedouble;
}

TEST(the_log_is_json) {
    const float awkward[] = {1.0f, 0.1f, -0.0f, 0x1p-149f, 0x1.fffffep127f, 16777217.0f, 1e-7f, 3.14159274f, 2.5e-30f};
    enum { COUNT = sizeof awkward / sizeof *awkward };
    firn_step_report reports[COUNT];
    for (uint64_t i = 0; i < COUNT; i++)
        reports[i] = (firn_step_report){.global_step = i + 1,
                                        .loss = awkward[i],
                                        .learning_rate = awkward[i],
                                        .loss_scale = 1,
                                        .gradient_norm = firn_from_bits(FIRN_NAN_BITS),
                                        .skipped = i == 2};
    char *text = log_of(reports, COUNT, FIRN_OK);
    cJSON *head = line_of(&text);
    assert_string_equal(cJSON_GetObjectItem(head, "firn")->valuestring, FIRN_VERSION);
    assert_string_equal(cJSON_GetObjectItem(head, "model")->valuestring, "a \"model\" \\ \n\xc3\xbf name"); /* UTF-8 */
    assert_null(cJSON_GetObjectItem(head, "target")); /* the plan does not say it */
    assert_int_equal(strlen(cJSON_GetObjectItem(head, "data_sha256")->valuestring), 64);
    cJSON_Delete(head);
    for (int i = 0; i < COUNT; i++) {
        cJSON *line = line_of(&text);
        assert_int_equal((int)number(line, "step"), i + 1);
        assert_int_equal(firn_bits((float)number(line, "loss")), firn_bits(awkward[i])); /* %.9g round-trips a float */
        assert_int_equal(strtoul(cJSON_GetObjectItem(line, "loss_bits")->valuestring, NULL, 16), firn_bits(awkward[i]));
        assert_true(cJSON_IsNull(cJSON_GetObjectItem(line, "gradient_norm")));
        assert_int_equal(cJSON_IsTrue(cJSON_GetObjectItem(line, "skipped")), i == 2);
        assert_true(number(line, "seconds") > 0 && number(line, "elapsed") > 0);
        assert_null(cJSON_GetObjectItem(line, "error"));
        cJSON_Delete(line);
    }
    assert_int_equal(*text, 0);
}

TEST(a_stop_is_in_the_log) {
    firn_step_report report = {.global_step = 4, .loss = firn_from_bits(FIRN_NAN_BITS)};
    char *text = log_of(&report, 1, FIRN_ERROR_LOSS_NOT_FINITE);
    cJSON_Delete(line_of(&text));
    cJSON *line = line_of(&text);
    assert_int_equal((int)number(line, "step"), 5); /* the step that did not finish */
    assert_true(cJSON_IsNull(cJSON_GetObjectItem(line, "loss")));
    assert_string_equal(cJSON_GetObjectItem(line, "loss_bits")->valuestring, "7fc00000");
    assert_string_equal(cJSON_GetObjectItem(line, "error")->valuestring, "LOSS_NOT_FINITE");
    cJSON_Delete(line);
}

TEST(exit_codes_follow_the_range) {
    static const struct {
        int error, code;
    } expected[] = {
        {FIRN_OK, 0},
        {FIRN_ERROR_WRONG_MODE, 3},
        {FIRN_ERROR_TRUNCATED, 3},
        {FIRN_ERROR_SIGNATURE, 3},
        {FIRN_ERROR_SCHEMA_BOUNDS, 3},
        {FIRN_ERROR_OP_SHAPE, 3},
        {FIRN_ERROR_CHECKPOINT_OTHER_RUN, 3},
        {FIRN_ERROR_CHECKPOINT_OTHER_DATA, 3},
        {FIRN_ERROR_NO_METRIC, 3},
        {FIRN_ERROR_FORMAT_VERSION, 3},
        {FIRN_ERROR_REPORT, 3},
        {FIRN_ERROR_STORAGE_FULL, 1},
        {FIRN_ERROR_COUNTER, 1},
        {FIRN_ERROR_DATA_TOO_SHORT, 1},
        {FIRN_ERROR_LOSS_NOT_FINITE, 4},
        {FIRN_ERROR_LOSS_SCALE_FLOOR, 4},
    };
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++)
        assert_int_equal(cli_exit_code(expected[i].error), expected[i].code);
}

/* Whatever a file is, it is closed again. */
TEST(a_file_that_is_no_record_is_closed) {
    static const char *const texts[] = {"", "no checkpoint of firn, and longer than the first of its bytes"};
    static const int statuses[] = {CLI_OK, CLI_REFUSED};
    for (size_t i = 0; i < 2; i++) {
        cli_record record;
        int error = FIRN_OK;
        char said[1000];
        FILE *file = fopen(path, "wb");
        assert_non_null(file);
        fputs(texts[i], file);
        assert_int_equal(fclose(file), 0);
        support_capture_begin(STDERR_FILENO);
        const int before = dup(STDOUT_FILENO);
        close(before);
        const int read = cli_record_read(&record, path, NULL, &error), refused = cli_record_refuse(path);
        const int after = dup(STDOUT_FILENO);
        close(after);
        (void)support_capture_end(said, sizeof said);
        assert_true(read == statuses[i] && refused == statuses[i]);
        assert_int_equal(error, i == 0 ? FIRN_ERROR_CHECKPOINT_DAMAGED : FIRN_OK);
        assert_int_equal(after, before);
        cli_record_unload(&record);
    }
}

/* Writes 5000 records of two numbers, all 1 but for two of them. */
static void write_numbers(float first, float last) {
    enum { NUMBERS = 10000, LAST = 9001 };
    static float numbers[NUMBERS];
    static const char head[] = "\x93NUMPY\1\0\x3d\0{'descr': '<f4', 'fortran_order': False, 'shape': (5000, 2)}\n";
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    for (size_t i = 0; i < NUMBERS; i++)
        numbers[i] = i == 0 ? first : i == LAST ? last : 1;
    assert_int_equal(fwrite(head, 1, sizeof head - 1, file), sizeof head - 1);
    assert_int_equal(fwrite(numbers, sizeof *numbers, NUMBERS, file), NUMBERS);
    assert_int_equal(fclose(file), 0);
}

/* A step is searched as far as its reads go, and neither what an earlier step has read nor what none has. */
TEST(the_reads_of_a_step_are_searched) {
    static const struct {
        float first, last;
        const char *said;
    } rows[] = {
        {NAN, NAN, "step 7 reads record 4500, counted from 0, whose element 1 is NaN; saved: "},
        {INFINITY, -INFINITY, "step 7 reads record 4500, counted from 0, whose element 1 is infinity; saved: "},
        {NAN, 20000,
         "in step 7; saved; the data of this step hold no NaN or infinity; the largest value of its data is 2e+04, in "
         "record 4500 of "},
        {30000, -20000,
         "in step 7; saved; the data of this step hold no NaN or infinity; the largest value of its data is 2e+04, in "
         "record 4500 of "},
        {30000, 10000, "in step 7; saved; the data of this step hold no NaN or infinity: try a lower learning rate"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        static cli_session session;
        const cli_options options = {.file = path};
        const firn_host_wanted wanted = {
            .records = true, .stream_count = 1, .streams = {{.element = FIRN_FLOAT32, .record_elements = 2}}};
        const char *paths[] = {path};
        cli_read list[] = {{0, 2, 9998}, {0, 0, 2}}; /* the second is of an earlier step */
        char text[1000];
        write_numbers(rows[i].first, rows[i].last);
        session = (cli_session){.options = &options, .numbers = {.now = {list, 1, 2}, .step = 7}};
        assert_true(firn_host_data_open(&session.data, &wanted, paths, 1, NULL, NULL));
        const char *file = cli_say_not_finite(&session, "; saved", text, sizeof text);
        if (strncmp(text, rows[i].said, strlen(rows[i].said)) != 0)
            fail_msg("row %u: %s", (unsigned)i, text);
        assert_string_equal(file, path);
        firn_host_data_close(&session.data);
    }
}

/* The last step in the log must be that of the checkpoint or a later one. */
TEST(a_log_with_a_gap_is_refused) {
    const firn_step_report reports[] = {{.global_step = 1}, {.global_step = 2}};
    log_of(reports, 2, FIRN_OK);
    static cli_session session;
    cli_options options = {.log = path, .resume = true};
    session = (cli_session){.options = &options, .info = {.kernels = ""}};
    static const struct {
        uint64_t done;
        int status;
    } cases[] = {{4, CLI_FILE}, {3, CLI_FILE}, {2, CLI_OK}, {1, CLI_OK}, {0, CLI_OK}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        cli_log log;
        assert_int_equal(cli_log_begin(&log, &session, NULL, cases[i].done), cases[i].status);
        cli_log_end(&log, cases[i].status != CLI_OK);
        assert_int_equal(access(path, F_OK), 0);
    }
    cli_log log;
    options.resume = false;
    assert_int_equal(cli_log_begin(&log, &session, NULL, 0), CLI_FILE);
    cli_log_end(&log, true);
    assert_int_equal(access(path, F_OK), 0);
}

TEST(outputs_are_neither_inputs_nor_each_other) {
    static const struct {
        const char *command, *file, *key, *data, *labels, *checkpoint, *log, *counter, *output;
        int status;
    } cases[] = {
        {"train", "none.p", "none.k", "none.d", "none.l", "none.c", "none.log", "none.n", NULL, CLI_OK},
        {"train", "none.p", "none.k", "none.d", NULL, "none.c", "./none.c", NULL, NULL, CLI_USAGE},
        {"train", "none.p", "none.k", "none.d", NULL, "none.c", "none.c.tmp", NULL, NULL, CLI_USAGE},
        {"train", "none.p", "none.k", "none.d", NULL, "none.c", "none.c.lock", NULL, NULL, CLI_USAGE},
        {"train", "none.p", "none.k", "none.d", NULL, NULL, "./none.d", NULL, NULL, CLI_USAGE},
        {"train", "none.p", "none.k", "none.d", "none.l", NULL, "./none.l", NULL, NULL, CLI_USAGE},
        {"train", "none.p", "none.k", "none.d", NULL, "none.p", NULL, NULL, NULL, CLI_USAGE},
        {"train", "none.p", "none.k", "none.d", NULL, "none.c", NULL, "none.c", NULL, CLI_USAGE},
        {"train", "none.p", "none.k", "none.d", NULL, NULL, NULL, "none.k", NULL, CLI_USAGE},
        {"train", "none.p", "none.k", ".", NULL, "none.c", NULL, NULL, NULL, CLI_USAGE},
        {"train", "none.p", "none.k", "none.log.tmp", NULL, NULL, "none.log", NULL, NULL, CLI_OK},
        {"eval", "none.p", "none.k", "none.d", NULL, "none.c", NULL, "none.n", NULL, CLI_OK},
        {"eval", "none.p", "none.k", "none.d", NULL, "none.c", NULL, "none.c", NULL, CLI_USAGE},
        {"train", "none.p", "none.k", "none.d", NULL, "none.c", NULL, "none/none.n", NULL, CLI_FILE},
        {"eval", "none.p", "none.k", "none.d", NULL, "none.c", NULL, "none/none.n", NULL, CLI_FILE},
        {"train", "none.p", "none.k", "none.d", NULL, "none.c", NULL, "./none.n", NULL, CLI_OK},
        {"export", "none.c", NULL, NULL, NULL, NULL, NULL, NULL, "none.s", CLI_OK},
        {"export", "none.c", NULL, NULL, NULL, NULL, NULL, NULL, "./none.c", CLI_USAGE},
        {"digest", "none.c", NULL, NULL, NULL, NULL, NULL, NULL, NULL, CLI_OK},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        static cli_options options;
        options = (cli_options){.command = cases[i].command,
                                .file = cases[i].file,
                                .keys = {cases[i].key},
                                .key_count = cases[i].key != NULL,
                                .labels = cases[i].labels,
                                .checkpoint = cases[i].checkpoint,
                                .log = cases[i].log,
                                .counter = cases[i].counter,
                                .output = cases[i].output,
                                .data = {cases[i].data},
                                .data_count = cases[i].data != NULL ? 1 : 0};
        assert_int_equal(cli_paths_check(&options), cases[i].status);
    }
}

/* --- options that are repeated ------------------------------------------------------------------------------------ */

enum { WORDS_MAX = 4096 };

/* Parses a command line of firn. Returns the exit code, and what was printed. */
static int read_words(int count, char *const *words, const char **printed) {
    char *more[WORDS_MAX]; /* the parser may reorder them */
    static char text[1024];
    static cli_options options;
    support_capture_begin(STDERR_FILENO);
    memcpy(more, words + 1, (size_t)(count - 1) * sizeof *more);
    const int status =
        cli_options_read(&options, &cli_manual, firn_command_named(&cli_manual, words[0]), count - 1, more);
    support_capture_end(text, sizeof text);
    cli_options_free(&options);
    *printed = text;
    return status;
}

/* Values that each option takes. */
static const char *const *values_of(const firn_option *option) {
    static const char *const files[] = {"a", "b"}, *const numbers[] = {"1", "0"}, *const speeds[] = {"9600", "19200"};
    static const char *const answers[] = {"yes", "no"}, *const formats[] = {"csv", "npy"};
    static const char *const sizes[] = {"8x8", "9x9"}, *const axes[] = {"last", "first"};
    static const char *const of_numbers[] = {"N", "SECONDS", "T", "K", "P", "S"};
    if (strcmp(option->name, "--format") == 0)
        return formats;
    if (strcmp(option->name, "--baud") == 0)
        return speeds;
    if (strcmp(option->name, "--header") == 0)
        return answers;
    if (strcmp(option->name, "--resize") == 0)
        return sizes;
    if (strcmp(option->name, "--axis") == 0)
        return axes;
    for (size_t i = 0; i < sizeof of_numbers / sizeof of_numbers[0]; i++)
        if (strcmp(option->value, of_numbers[i]) == 0)
            return numbers;
    return files;
}

/* So many times an option is accepted; 0: a second one is refused. */
static uint32_t most_of(const firn_option *option) {
    const char *name = option->name;
    const bool files = strcmp(name, "--data") == 0 || strcmp(name, "--eval-data") == 0;
    return strcmp(name, "--pub") == 0 ? CLI_KEYS_MAX : files ? CLI_DATA_MAX : 0;
}

static void expect_repeated(const char *command, const firn_option *option, const char *name) {
    const uint32_t most = most_of(option) != 0 ? most_of(option) : 1;
    char *words[WORDS_MAX] = {(char *)(uintptr_t)command};
    const char *printed;
    int count = 1;
    for (uint32_t i = 0; i <= most; i++) {
        words[count++] = (char *)(uintptr_t)name;
        if (option->value != NULL)
            words[count++] = (char *)(uintptr_t)values_of(option)[i % 2];
    }
    const int each = option->value != NULL ? 2 : 1;
    assert_int_equal(read_words(count - each, words, &printed),
                     CLI_USAGE); /* for want of a file, or of the other option, only */
    const bool wants_other = strstr(printed, "needs --") != NULL;
    if (strstr(printed, "needs a ") == NULL && !wants_other)
        fail_msg("%s %s: %s", command, name, printed);
    const int status = read_words(count, words, &printed);
    const char *expected = option->value == NULL ? "needs a "
                           : most > 1            ? "is given more than "
                                                 : "is given twice; leave one out";
    if (status != CLI_USAGE || strstr(printed, expected) == NULL || strchr(printed, '\n')[1] != '\0')
        fail_msg("%s %s: exit %d, %s", command, name, status, printed);
    if (option->value != NULL && strstr(printed, name) == NULL)
        fail_msg("%s is not named: %s", name, printed);
}

/* By the table of firn: every option of every command, under both its names. */
TEST(no_option_of_firn_is_given_twice) {
    const firn_command *command;
    const firn_option *option;
    uint32_t options = 0;
    for (uint32_t c = 0; (command = cli_manual.command_at(c)) != NULL; c++)
        for (uint32_t o = 0; (option = firn_option_at(command, o)) != NULL; o++, options++) {
            expect_repeated(command->name, option, option->name);
            if (option->brief != NULL)
                expect_repeated(command->name, option, option->brief);
        }
    assert_true(options > 50);
}

static char message[1024];
static int messages;

static void keep_message(void *context, const char *line) {
    (void)context;
    messages++;
    snprintf(message, sizeof message, "%s", line);
}

/* Runs a command of firnc whose line is wrong. */
static void expect_usage(const firnc_command *command, int count, char **words, const char *expected) {
    messages = 0;
    message[0] = '\0';
    const int status = command->run(count, words);
    if (status != FIRNC_EXIT_USAGE || messages != 1 || strstr(message, expected) == NULL)
        fail_msg("%s %s: exit %d, not \"%s\": %s", command->words.name, words[1], status, expected, message);
}

static bool is_among(const firn_option *option, char *const *words, int count) {
    for (int i = 0; i < count; i++)
        if (strcmp(words[i], option->name) == 0 || (option->brief != NULL && strcmp(words[i], option->brief) == 0))
            return true;
    return false;
}

/* Parses the words into a request of the command; asserts that they are accepted. */
static void expect_accepted(const firnc_command *command, int count, char **words) {
    static _Alignas(16) uint8_t request[1 << 16];
    const firn_option *option;
    memset(request, 0, sizeof request);
    words[count++] = (char *)(uintptr_t) "file";
    for (uint32_t i = 0; (option = firn_option_at(&command->words, i)) != NULL; i++)
        if (option->needed != 0 && !is_among(option, words, count)) {
            words[count++] = (char *)(uintptr_t)option->name;
            words[count++] = (char *)(uintptr_t) "1";
        }
    messages = 0;
    if (!firnc_options_read(count, words, command, request) || messages != 0)
        fail_msg("%s %s: %s", command->words.name, words[1], message);
}

static const char *value_of_firnc(const firn_option *option, bool first) {
    if (option->kind == FIRN_OPTION_NUMBER || option->kind == FIRN_OPTION_NUMBER32)
        return first ? "1" : "2";
    if (option->kind == FIRN_OPTION_WORD)
        return firnc_format("%.*s", (int)strcspn(option->value, "|"), option->value);
    return first ? "a" : "b";
}

static void repeat_option_of_firnc(const firnc_command *command, const firn_option *option, const char *name) {
    char *words[WORDS_MAX] = {(char *)(uintptr_t)command->words.name};
    const int most = option->kind == FIRN_OPTION_LIST ? FIRNC_TEXTS_MAX : 1;
    int count = 1, before = 1;
    for (int i = 0; i <= most; i++) {
        before = count;
        words[count++] = (char *)(uintptr_t)name;
        if (option->kind != FIRN_OPTION_FLAG)
            words[count++] = (char *)(uintptr_t)value_of_firnc(option, i % 2 == 0);
    }
    if (option->kind == FIRN_OPTION_FLAG) {
        expect_accepted(command, count, words);
        return;
    }
    expect_usage(command, count, words,
                 option->kind == FIRN_OPTION_LIST ? firnc_format("%s: is given more than 64 times", name)
                                                  : firnc_format("%s: is given twice; leave one out", name));
    words[before] = NULL;
    expect_accepted(command, before, words);
}

TEST(no_option_of_firnc_is_given_twice) {
    static const firnc_command *const commands[] = {
        &firnc_command_keygen,  &firnc_command_compile,  &firnc_command_sign,   &firnc_command_attach,
        &firnc_command_inspect, &firnc_command_schedule, &firnc_command_verify, &firnc_command_image,
        &firnc_command_compare, &firnc_command_tune,     &firnc_command_export, &firnc_command_weights,
        &firnc_command_key,     &firnc_command_check};
    const firn_option *option;
    uint32_t options = 0;
    firnc_messages_to(keep_message, NULL);
    for (size_t c = 0; c < sizeof commands / sizeof commands[0]; c++)
        for (uint32_t o = 0; (option = firn_option_at(&commands[c]->words, o)) != NULL; o++, options++) {
            repeat_option_of_firnc(commands[c], option, option->name);
            if (option->brief != NULL)
                repeat_option_of_firnc(commands[c], option, option->brief);
        }
    firnc_messages_to(NULL, NULL);
    assert_true(options > 40);
}

static void write_file(const char *name, const void *bytes, size_t count) {
    FILE *file = fopen(name, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, count, file), count);
    assert_int_equal(fclose(file), 0);
}

static void write_key(const char *name, const uint8_t key[64]) {
    uint8_t der[91] = {0x30, 0x59, 0x30, 0x13, 0x06, 0x07, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01, 0x06,
                       0x08, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x03, 0x01, 0x07, 0x03, 0x42, 0x00, 0x04};
    unsigned char text[256];
    size_t length;
    memcpy(der + 27, key, 64);
    assert_int_equal(mbedtls_base64_encode(text, sizeof text, &length, der, sizeof der), 0);
    char pem[512];
    const int count =
        snprintf(pem, sizeof pem, "-----BEGIN PUBLIC KEY-----\n%s\n-----END PUBLIC KEY-----\n", (const char *)text);
    write_file(name, pem, (size_t)count);
}

/* The compiler makes no such plan, but the format allows it. */
TEST(an_output_without_a_row_for_each_sample_is_refused) {
    static signed_plan plan;
    static const uint8_t text[256] = {1, 2, 3};
    char folder[64], names[5][96];
    static const char *const endings[] = {"plan", "key", "text", "rows.csv", "checkpoint"};
    snprintf(folder, sizeof folder, "%s/firn-predict-XXXXXX", P_tmpdir);
    assert_non_null(mkdtemp(folder));
    for (size_t i = 0; i < 5; i++)
        snprintf(names[i], sizeof names[i], "%s/%s", folder, endings[i]);
    support_bigram_eval(&plan, &support_settings);
    write_file(names[0], plan.file, plan.bytes);
    write_key(names[1], plan.key);
    write_file(names[2], text, sizeof text);
    cli_options options = {.command = "predict",
                           .file = names[0],
                           .keys = {names[1]},
                           .key_count = 1,
                           .data = {names[2]},
                           .data_count = 1,
                           .output = names[3],
                           .checkpoint = names[4],
                           .name = "loss"};
    assert_int_equal(cli_predict(&options), CLI_REFUSED);
    options.name = "logits"; /* goes on to the checkpoint, which is not there */
    assert_int_equal(cli_predict(&options), cli_exit_code(FIRN_ERROR_CHECKPOINT_MISSING));
    assert_int_not_equal(access(names[3], F_OK), 0);
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(unlink(names[i]), 0);
    assert_int_equal(rmdir(folder), 0);
}

/* A manual whose texts have what roff would interpret. */
static const firn_command *roff_command(uint32_t position) {
    static const firn_option option = {.name = "--all-of-it", .brief = "-a", .value = "N", .text = "x - y"};
    static const firn_command command = {.name = "do",
                                         .forms = {"FILE --all"},
                                         .text = ".begins like a macro",
                                         .more = "'so does this, with a \\ in it",
                                         .tables = {{&option, 1}}};
    return position == 0 ? &command : NULL;
}

TEST(the_manual_page_escapes_what_roff_interprets) {
    static const firn_manual manual = {.program = "prog",
                                       .version = "1.2",
                                       .text = "does things",
                                       .more = "More.",
                                       .see_also = "other",
                                       .command_at = roff_command};
    static const char *const wanted[] = {".TH PROG 1 \"\" \"Firn 1.2\" \"Firn\"\n", "\n\\&.begins like a macro\n",
                                         "\n\\&'so does this, with a \\e in it\n",
                                         "\\fB\\-a\\fR, \\fB\\-\\-all\\-of\\-it\\fR \\fIN\\fR\nx \\- y\n",
                                         "FILE \\-\\-all\n"};
    char page[4096];
    support_capture_begin(STDOUT_FILENO);
    firn_page_print(&manual, NULL);
    fflush(stdout);
    support_capture_end(page, sizeof page);
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
        if (strstr(page, wanted[i]) == NULL)
            fail_msg("the page has no %s:\n%s", wanted[i], page);
}
