/* Tests what firnc makes of the report of a plan: it may be missing, of any form, and say anything; what the plan does
 * is printed all the same, and no byte of the report reaches a terminal as it is. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "compiler/commands/commands.h"
#include "compiler/commands/inspect/inspect.h"
#include "tests/unit/support_capture.h"
#include "tests/unit/support_signed_plans.h"
#include "tests/unit/support_test.h"
#include <cjson/cJSON.h>

static signed_plan plan;
static char output[1 << 20];

/* --- running a command on the plan -------------------------------------------------------------------------------- */

static int run_inspect_text(const char *file) {
    return firnc_inspect(file, FIRNC_INSPECT_TABLE);
}

static int run_inspect_screen(const char *file) {
    return firnc_inspect(file, FIRNC_INSPECT_SCREEN);
}

static int run_inspect_parts(const char *file) {
    return firnc_inspect(file,
                         FIRNC_INSPECT_SCHEDULE | FIRNC_INSPECT_MEMORY | FIRNC_INSPECT_TENSORS | FIRNC_INSPECT_OPS);
}

static int run_inspect_json(const char *file) {
    return firnc_inspect(file, FIRNC_INSPECT_JSON);
}

static int run_schedule(const char *file) {
    char *arguments[] = {"schedule", (char *)(uintptr_t)file, "--range", "0:3"};
    return firnc_command_schedule.run(4, arguments);
}

static int run_whole_schedule(const char *file) {
    char *arguments[] = {"schedule", (char *)(uintptr_t)file};
    return firnc_command_schedule.run(2, arguments);
}

/* Runs a command on a file with the plan, and returns what it printed to one of the standard streams; asserts its exit
 * code. */
static const char *printed(int (*command)(const char *file), int stream, int expected) {
    assert_int_equal(support_capture_command(command, plan.file, plan.bytes, stream, output, sizeof output), expected);
    return output;
}

static void assert_contains(const char *text, const char *part) {
    if (strstr(text, part) == NULL)
        fail_msg("\"%s\" is not in the output:\n%s", part, text);
}

/* Asserts that a terminal shows every byte. */
static void assert_printable(const char *text) {
    for (; *text != '\0'; text++)
        if (*text != '\n' && (*text < ' ' || *text > '~'))
            fail_msg("byte %02x in the output: %s", (unsigned)(unsigned char)*text, text);
}

/* Asserts that a text has at most 40 lines of 100 characters. */
static void assert_one_screen(const char *text) {
    unsigned lines = 0;
    for (const char *line = text; *line != '\0'; line += strcspn(line, "\n") + 1, lines++)
        assert_true(strcspn(line, "\n") <= 100);
    assert_true(lines <= 40);
}

static void make_plan(const char *report) {
    signed_plan_settings settings = support_settings;
    settings.report = report;
    support_bigram(&plan, &settings);
}

/* --- reports ------------------------------------------------------------------------------------------------------ */

/* Names for the first tensors and ops only; the other lists are whole. */
static const char good[] =
    "{\"report\":1,\"compiler\":\"somebody 1.0\",\"model\":\"two letters\",\"target\":\"nowhere\","
    "\"pol_lowering\":\"native\",\"schedules\":[\"the rate\"],"
    "\"groups\":[{\"name\":\"all\",\"optimizer\":\"SGD\",\"schedule\":0,\"weight_decay\":0.5,\"parameters\":1}],"
    "\"tensors\":[\"ids\",\"classes\"],\"ops\":[[\"lookup\"],[\"entropy\",1,\"scope\"]]}";

TEST(a_report_is_shown_and_marked) {
    make_plan(good);
    const char *text = printed(run_inspect_text, STDOUT_FILENO, 0);
    assert_contains(text, "said: model          two letters\n");
    assert_contains(text, "said: frozen by      somebody 1.0 for target nowhere, POL lowering native\n");
    assert_contains(text, "said: group          all: SGD, 1 tensors, weight decay 0.5\n");
    assert_contains(text, "entropy  POL 1 (scope)");
    assert_contains(text, "the rate is node 0\n");
    cJSON *root = cJSON_Parse(printed(run_inspect_json, STDOUT_FILENO, 0));
    const cJSON *said = cJSON_GetObjectItemCaseSensitive(root, "said");
    assert_string_equal(cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(said, "model")), "two letters");
    assert_null(cJSON_GetObjectItemCaseSensitive(root, "model")); /* a fact would stand there */
    const cJSON *tensors = cJSON_GetObjectItemCaseSensitive(root, "tensors");
    uint32_t named = 0, ids = 0;
    const cJSON *tensor;
    cJSON_ArrayForEach(tensor, tensors) {
        const char *name = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(tensor, "name"));
        named += name[0] != '\0';
        ids += strcmp(name, "ids") == 0;
    }
    firn_header header;
    assert_int_equal(firn_header_decode(&header, plan.file, plan.bytes), FIRN_OK);
    assert_int_equal(named, header.counts.state_tensors + 2);
    assert_int_equal(ids, 1);
    cJSON_Delete(root);
    assert_contains(printed(run_schedule, STDOUT_FILENO, 0), "optimizer_step,the rate\n0,");
}

/* The facts of a plan, without those of the file and without all that is said, as JSON text. */
static char *facts(void) {
    static const char *const of_the_file[] = {"file", "plan_hash", "said", "totals"};
    cJSON *root = cJSON_Parse(printed(run_inspect_json, STDOUT_FILENO, 0));
    cJSON *item, *op;
    assert_non_null(root);
    for (size_t i = 0; i < sizeof of_the_file / sizeof of_the_file[0]; i++)
        cJSON_DeleteItemFromObjectCaseSensitive(root, of_the_file[i]);
    firn_header header;
    assert_int_equal(firn_header_decode(&header, plan.file, plan.bytes), FIRN_OK);
    uint32_t position = 0;
    cJSON_ArrayForEach(item, cJSON_GetObjectItemCaseSensitive(root, "tensors")) {
        if (position++ >= header.counts.state_tensors)
            cJSON_DeleteItemFromObjectCaseSensitive(item, "name");
    }
    cJSON_ArrayForEach(item, cJSON_GetObjectItemCaseSensitive(root, "phases")) {
        cJSON_ArrayForEach(op, cJSON_GetObjectItemCaseSensitive(item, "ops")) {
            cJSON_DeleteItemFromObjectCaseSensitive(op, "layer");
            cJSON_DeleteItemFromObjectCaseSensitive(op, "pol");
        }
    }
    char *text = cJSON_PrintUnformatted(root);
    cJSON_Delete(root);
    return text;
}

/* Reports that are no JSON, or JSON of another form. */
static const char *const strange[] = {
    "",
    "no JSON at all",
    "{\"model\":\"cut",
    "[]",
    "null",
    "17",
    "{}",
    "{\"model\":5,\"compiler\":[],\"target\":null,\"pol_lowering\":{}}",
    "{\"schedules\":{\"a\":1},\"groups\":\"none\",\"tensors\":3,\"ops\":false}",
    "{\"schedules\":[1,null],\"groups\":[1,[],{}],\"tensors\":[null,{}],\"ops\":[[],{},[1],[\"a\",\"b\"],[\"a\",1,2]]}",
    "{\"groups\":[{\"name\":\"a\"},{\"name\":\"a\",\"optimizer\":\"b\",\"parameters\":1},"
    "{\"name\":1,\"optimizer\":2,\"parameters\":\"3\",\"weight_decay\":\"4\"}]}",
    "{\"groups\":[{\"name\":\"a\",\"optimizer\":\"b\",\"parameters\":-1e300,\"decay_schedule\":1e300}]}",
    "{\"groups\":[{\"name\":\"a\",\"optimizer\":\"b\",\"parameters\":1e300,\"weight_decay\":-1e300}],"
    "\"ops\":[[\"a\",-1e300,\"b\"],[\"a\",1e300,\"b\"]]}",
    "{\"groups\":[{\"name\":\"a\",\"optimizer\":\"b\",\"parameters\":0.5,\"decay_schedule\":99}]}",
    "{\"model\":\"\\u001b[2J\\u0007\\u0000x\\u009b\",\"compiler\":\"\x1b]0;title\x07\",\"target\":\"\xff\xfe\","
    "\"pol_lowering\":\"\\n\\nsignature  checked\",\"schedules\":[\"\\u001b[31m\"],\"tensors\":[\"\\u001b[31m\"],"
    "\"groups\":[{\"name\":\"\\u001b[31m\",\"optimizer\":\"\\u001b[31m\",\"parameters\":1,\"decay_schedule\":0}],"
    "\"ops\":[[\"\\u001b[31m\",1,\"\\u001b[31m\"]]}",
};

TEST(facts_do_not_depend_on_the_report) {
    make_plan(NULL);
    char *wanted = facts();
    make_plan(good);
    char *got = facts();
    assert_string_equal(got, wanted);
    cJSON_free(got);
    for (size_t i = 0; i < sizeof strange / sizeof strange[0]; i++) {
        make_plan(strange[i]);
        got = facts();
        assert_string_equal(got, wanted);
        cJSON_free(got);
    }
    cJSON_free(wanted);
}

TEST(nothing_reaches_the_terminal_as_it_is) {
    for (size_t i = 0; i < sizeof strange / sizeof strange[0]; i++) {
        make_plan(strange[i]);
        const char *text = printed(run_inspect_text, STDOUT_FILENO, 0);
        assert_printable(text);
        assert_contains(text, "said: model ");
        assert_contains(text, "\nsignature            ECDSA P-256, not checked here");
        assert_null(strstr(text, "99999")); /* numbers that are no counts are left out */
        text = printed(run_inspect_screen, STDOUT_FILENO, 0);
        assert_printable(text);
        assert_one_screen(text);
        assert_contains(text, "\nsigned      by the key ");
        assert_null(strstr(text, "99999"));
        text = printed(run_inspect_parts, STDOUT_FILENO, 0);
        assert_printable(text);
        assert_null(strstr(text, "99999"));
        text = printed(run_schedule, STDOUT_FILENO, 0);
        assert_printable(text);
        assert_contains(text, "optimizer_step,");
        assert_contains(text, "\n0,0.25\n");
    }
}

/* Long texts of a report do not make the screen longer. */
TEST(long_texts_do_not_fill_the_screen) {
    static char word[1001], report[5000];
    memset(word, 'w', sizeof word - 1);
    snprintf(report, sizeof report,
             "{\"model\":\"%s\",\"compiler\":\"%s\",\"target\":\"a b\",\"ops\":[[\"%s\",1,\"%s\"]]}", word, word, word,
             word);
    make_plan(report);
    assert_one_screen(printed(run_inspect_screen, STDOUT_FILENO, 0));
}

/* Lists that nest deeper than any program should follow. */
TEST(depth_does_not_matter) {
    static char deep[4000];
    memset(deep, '[', sizeof deep - 1);
    make_plan(deep);
    assert_contains(printed(run_inspect_text, STDOUT_FILENO, 0), "said: model          not said\n");
    const int depth = 900;
    int length = snprintf(deep, sizeof deep, "{\"groups\":");
    memset(deep + length, '[', (size_t)depth);
    memset(deep + length + depth, ']', (size_t)depth);
    memcpy(deep + length + 2 * depth, "}", 2);
    make_plan(deep);
    cJSON_Delete(cJSON_Parse(printed(run_inspect_json, STDOUT_FILENO, 0)));
    assert_contains(printed(run_inspect_text, STDOUT_FILENO, 0), "totals");
}

/* A device needs no report, so a plan may be without: made so, or cut off where it begins. */
TEST(a_plan_without_a_report_is_shown) {
    for (int cut = 0; cut < 2; cut++) {
        make_plan(cut != 0 ? good : NULL);
        firn_header header;
        assert_int_equal(firn_header_decode(&header, plan.file, plan.bytes), FIRN_OK);
        plan.bytes = firn_header_payload_end(&header);
        const char *text = printed(run_inspect_text, STDOUT_FILENO, 0);
        assert_contains(text, "said: model          not said\n");
        assert_contains(text, "embedding");
        cJSON *root = cJSON_Parse(printed(run_inspect_json, STDOUT_FILENO, 0));
        assert_non_null(root);
        assert_int_equal(cJSON_GetArraySize(cJSON_GetObjectItemCaseSensitive(root, "said")), 0);
        cJSON_Delete(root);
        assert_contains(printed(run_schedule, STDOUT_FILENO, 0), "optimizer_step,schedule_0\n0,0.25\n1,0.25\n2,");
    }
}

/* A report that is there must be the one that was signed, even for commands that check no signature. */
TEST(another_report_is_refused) {
    make_plan(good);
    plan.file[plan.bytes - 2] ^= 1;
    assert_contains(printed(run_inspect_text, STDERR_FILENO, FIRNC_EXIT_REFUSED), "(REPORT)");
    assert_contains(printed(run_schedule, STDERR_FILENO, FIRNC_EXIT_REFUSED), "(REPORT)");
    plan.bytes--;
    assert_contains(printed(run_inspect_text, STDERR_FILENO, FIRNC_EXIT_REFUSED), "(TRUNCATED)");
}

/* A run without an end has no last step that the range could end at. */
TEST(an_endless_run_needs_a_range) {
    signed_plan_settings settings = support_settings;
    support_bigram(&plan, &settings);
    assert_contains(printed(run_whole_schedule, STDOUT_FILENO, 0), "\n29,");
    settings.steps = 0;
    support_bigram(&plan, &settings);
    assert_contains(printed(run_whole_schedule, STDERR_FILENO, FIRNC_EXIT_USAGE), "the run has no end; write 0:100");
    assert_contains(printed(run_schedule, STDOUT_FILENO, 0), "\n2,");
    assert_contains(printed(run_inspect_text, STDOUT_FILENO, 0), "\nsteps                no end\n");
}
