/* Tests what firn report makes of what it reads: lines of logs, values over the steps, and text for a page; and the
 * drawing that firn plot writes. */
#define _GNU_SOURCE
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cjson/cJSON.h>

#include "runtime/chart/chart.h"
#include "runtime/report/report.h"
#include "tests/unit/support_capture.h"
#include "tests/unit/support_signed_plans.h"
#include "tests/unit/support_test.h"

/* --- lines -------------------------------------------------------------------------------------------------------- */

static bool read_line(report_line *line, const char *text) {
    return report_line_read(line, text, strlen(text));
}

TEST(an_object_is_read_with_its_members) {
    report_line line;
    assert_true(read_line(
        &line, " { \"a\" : -1.5e+2 , \"b\":\"x\\\"\\u00e9\",\"c\":true,\"d\":false,\"e\":null,\"a\":7,\"f\":0} \r\n"));
    assert_int_equal(line.count, 7);
    assert_true(report_line_number(&line, "a") == -150); /* the first of two */
    assert_true(report_line_number(&line, "f") == 0);
    assert_true(isnan(report_line_number(&line, "b")) && isnan(report_line_number(&line, "e")));
    assert_true(isnan(report_line_number(&line, "none")) && report_line_find(&line, "none") == NULL);
    const report_field *b = report_line_find(&line, "b");
    assert_int_equal(b->kind, REPORT_TEXT);
    assert_int_equal(b->text_length, strlen("x\\\"\\u00e9"));
    assert_memory_equal(b->text, "x\\\"\\u00e9", b->text_length);
    assert_int_equal(report_line_find(&line, "c")->kind, REPORT_TRUE);
    assert_int_equal(report_line_find(&line, "d")->kind, REPORT_FALSE);
    assert_int_equal(report_line_find(&line, "e")->kind, REPORT_NULL);
    assert_true(read_line(&line, "{\"a\":1e999}"));
    assert_true(isinf(report_line_number(&line, "a")));
}

TEST(all_else_is_refused) {
    static const char *const texts[] = {"",
                                        "{",
                                        "}",
                                        "[]",
                                        "1",
                                        "{}",
                                        "{\"a\"}",
                                        "{\"a\":}",
                                        "{\"a\":1",
                                        "{\"a\":1,}",
                                        "{\"a\":1}x",
                                        "{\"a\":1}{\"b\":2}",
                                        "{a:1}",
                                        "{'a':1}",
                                        "{\"a\":[1]}",
                                        "{\"a\":{}}",
                                        "{\"a\":NaN}",
                                        "{\"a\":Infinity}",
                                        "{\"a\":-}",
                                        "{\"a\":01}",
                                        "{\"a\":1.}",
                                        "{\"a\":.5}",
                                        "{\"a\":1e}",
                                        "{\"a\":+1}",
                                        "{\"a\":0x10}",
                                        "{\"a\":truth}",
                                        "{\"a\":nul}",
                                        "{\"a\":\"x}",
                                        "{\"a\":\"\\x\"}",
                                        "{\"a\":\"\\u12g4\"}",
                                        "{\"a\":\"\\u12\"}",
                                        "{\"a\":\"\t\"}",
                                        "{\"a\":\"\\\"}",
                                        "{\"a\" 1}",
                                        "{\"a\":1 \"b\":2}",
                                        ",{\"a\":1}"};
    report_line line;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (read_line(&line, texts[i]))
            fail_msg("%s was read", texts[i]);
    assert_false(report_line_read(&line, "{\"a\":1}\0", 8));
    assert_false(report_line_read(&line, "{\"a\\\0\":1}", 9));
    char many[REPORT_FIELDS_MAX * 8 + 16] = "{\"a\":1"; /* one member too many */
    for (int i = 1; i < REPORT_FIELDS_MAX; i++)
        strcat(many, ",\"b\":2");
    const size_t length = strlen(many);
    strcpy(many + length, "}");
    assert_true(read_line(&line, many));
    strcpy(many + length, ",\"c\":3}");
    assert_false(read_line(&line, many));
}

TEST(texts_of_a_line_are_decoded) {
    static const struct {
        const char *inside, *wanted;
    } cases[] = {
        {"", ""},
        {"my \\\"best\\\" \\\\ \\/ run", "my \"best\" \\ / run"},
        {"\\b\\f\\n\\r\\t", "\b\f\n\r\t"},
        {"\\u0041\\u00e9\\u20AC", "A\xc3\xa9\xe2\x82\xac"},
        {"\\ud83d\\ude00.", "\xf0\x9f\x98\x80."},
        {"\\u0000", "\xef\xbf\xbd"},
        {"\\ud83d", "\xef\xbf\xbd"}, /* half of a pair at the end */
        {"\\ud83d\\u0041", "\xef\xbf\xbd"
                           "A"}, /* and before another character */
        {"\\ude00\\ud83d\\n", "\xef\xbf\xbd\xef\xbf\xbd\n"},
        {"\xc3\xa9\xff", "\xc3\xa9\xff"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char json[80], text[80];
        report_line line;
        snprintf(json, sizeof json, "{\"a\":\"%s\"}", cases[i].inside);
        assert_true(read_line(&line, json));
        memset(text, 'x', sizeof text);
        report_line_text(text, &line.fields[0]);
        assert_string_equal(text, cases[i].wanted);
        assert_int_equal(text[line.fields[0].text_length + 1], 'x');
    }
}

/* --- values over the steps ---------------------------------------------------------------------------------------- */

/* Writes what a series gives, as text that the caller frees. */
static char *written(const report_series *series) {
    char *text;
    size_t length;
    FILE *to = open_memstream(&text, &length);
    report_series_put(to, series, 9);
    fclose(to);
    return text;
}

static void expect_written(const report_series *series, const char *wanted) {
    char *text = written(series);
    assert_string_equal(text, wanted);
    free(text);
}

TEST(a_short_series_is_kept_whole) {
    report_series series;
    report_series_begin(&series, 8);
    expect_written(&series, "[[],[]]");
    report_series_add(&series, 5, 2);
    report_series_add(&series, 6, (double)NAN);
    report_series_add(&series, 7, -1.25);
    report_series_add(&series, 8, (double)INFINITY);
    report_series_add(&series, 12, 3);
    assert_int_equal(series.not_finite, 2);
    assert_int_equal(series.width, 1);
    expect_written(&series, "[[5,7,12],[2,-1.25,3]]");
    report_series_free(&series);
}

TEST(a_long_series_keeps_its_extremes) {
    report_series series;
    report_series_begin(&series, 4);
    for (uint64_t step = 1; step <= 13; step++) /* buckets of 4 steps: 1 to 4, 5 to 8, 9 to 12, 13 */
        report_series_add(&series, step, step == 6 ? -9 : step == 7 ? 9 : (double)step / 100);
    assert_int_equal(series.width, 4);
    assert_int_equal(series.count, 4);
    expect_written(&series, "[[1,4,6,7,9,12,13],[0.01,0.04,-9,9,0.09,0.12,0.13]]");
    assert_int_equal(series.list[1].count, 4);
    assert_true(fabs(series.list[1].sum - (0.05 - 9 + 9 + 0.08)) < 1e-12);
    report_series_free(&series);
}

TEST(the_last_value_is_kept) {
    report_series series;
    report_series_begin(&series, 2);
    for (uint64_t step = 0; step < 4; step++)
        report_series_add(&series, step, step == 2 ? 5 : step == 3 ? 4 : 0);
    report_series_add(&series, 6, 4.5);
    expect_written(&series, "[[0,2,6],[0,5,4.5]]");
    report_series_free(&series);
}

TEST(steps_may_be_any_distance_apart) {
    report_series series;
    report_series_begin(&series, 2);
    report_series_add(&series, 0, 1);
    report_series_add(&series, UINT64_MAX, 2);
    expect_written(&series, "[[0,18446744073709551615],[1,2]]");
    report_series_free(&series);
}

TEST(runs_that_begin_at_other_steps_have_the_same_buckets) {
    report_series early, late;
    report_series_begin(&early, 4);
    report_series_begin(&late, 4);
    for (uint64_t step = 1; step <= 16; step++) {
        report_series_add(&early, step, (double)step);
        if (step >= 4)
            report_series_add(&late, step, (double)step);
    }
    assert_true(early.width == 4 && late.width == 4 && early.count == 4 && late.count == 4);
    for (uint32_t i = 1; i < 4; i++)
        assert_true(early.list[i].index == late.list[i].index && early.list[i].sum == late.list[i].sum &&
                    early.list[i].last_at == late.list[i].last_at);
    char *text;
    size_t length;
    FILE *to = open_memstream(&text, &length);
    report_series_put_means(to, &late, 9);
    fclose(to);
    assert_string_equal(text, "[[4,8,12,16],[4,6.5,10.5,14.5],[1,4,4,4]]");
    free(text);
    report_series_free(&early);
    report_series_free(&late);
}

TEST(smoothing_is_a_mean_of_neighbours) {
    report_series series;
    report_series_begin(&series, 512);
    for (uint64_t step = 1; step <= 301; step++)
        report_series_add(&series, step, step % 2 == 0 ? 1 : 3);
    assert_true(fabs(report_series_smooth(&series, 0) - 2) < 1e-12);                       /* steps 1 to 4 */
    assert_true(fabs(report_series_smooth(&series, 100) - (4 * 1 + 3 * 3) / 7.0) < 1e-12); /* steps 98 to 104 */
    assert_true(fabs(report_series_smooth(&series, 300) - 2) < 1e-12);
    report_series_free(&series);
}

/* --- schedules ---------------------------------------------------------------------------------------------------- */

TEST(boundaries_of_schedules_stay_in_the_run) {
    static const struct {
        uint64_t edge, run;
        size_t count;
        uint64_t first;
    } cases[] = {{0, 10, 2, 0},
                 {1, 10, 3, 0},
                 {8, 10, 3, 7},
                 {9, 10, 2, 8},
                 {10, 10, 0, 0},
                 {0, 1, 1, 0},
                 {0, 0, 0, 0},
                 {UINT64_MAX - 1, 10, 0, 0}, /* its step behind would be beyond 64 bits */
                 {UINT64_MAX, UINT64_MAX, 0, 0},
                 {UINT64_MAX - 1, UINT64_MAX, 2, UINT64_MAX - 2}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint64_t steps[3];
        assert_int_equal(report_steps_around(steps, cases[i].edge, cases[i].run), cases[i].count);
        for (size_t k = 0; k < cases[i].count; k++)
            assert_true(steps[k] == cases[i].first + k && steps[k] < cases[i].run);
    }
}

/* --- units -------------------------------------------------------------------------------------------------------- */

/* Adds a second cross-entropy to the first phase. */
static void add_a_loss(firn_native_plan *native) {
    static firn_native_phase phases[16];
    static firn_native_op ops[64];
    memcpy(phases, native->phases, native->phases_count * sizeof *phases);
    for (uint32_t p = 0; p < native->phases_count; p++)
        for (uint32_t i = 0; i < phases[p].ops_count; i++)
            if (phases[p].ops[i].code == FIRN_OP_cross_entropy) {
                const uint32_t count = phases[p].ops_count;
                memcpy(ops, phases[p].ops, count * sizeof *ops);
                ops[count] = ops[i];
                phases[p].ops = ops;
                phases[p].ops_count = count + 1;
                native->phases = phases;
                return;
            }
}

static void expect_unit(void (*change)(firn_native_plan *plan), const char *loss, const char *unit, bool guess) {
    static signed_plan signed_plan;
    signed_plan_settings settings = support_settings;
    settings.change = change;
    support_bigram(&signed_plan, &settings);
    const firn_fb_plan plan = firn_fb_plan_root(signed_plan.file + FIRN_PAYLOAD_OFFSET);
    const report_unit found = report_unit_of(plan);
    assert_string_equal(found.loss, loss);
    assert_string_equal(found.unit, unit);
    assert_int_equal(!isnan(report_guess_of(plan)), guess);
}

TEST(several_losses_of_one_kind_have_no_unit) {
    expect_unit(NULL, "cross-entropy", "nats per token", true);
    expect_unit(add_a_loss, "sum of losses", "", false);
}

/* --- times of ops ------------------------------------------------------------------------------------------------- */

static int write_times(const char *path) {
    const cli_profile profile = {.path = path, .unmeasured = 3};
    return cli_profile_write(&profile);
}

TEST(times_that_could_not_be_measured_are_noted) {
    char said[300];
    support_capture_begin(STDERR_FILENO);
    assert_int_equal(write_times("none/times.json"), CLI_OK);
    support_capture_end(said, sizeof said);
    assert_non_null(strstr(said, "none/times.json was not written: none of the 3 steps"));
}

/* --- text --------------------------------------------------------------------------------------------------------- */

/* Writes a text as JSON, checks that it can stand in a script, and compares what a reader of JSON makes of it. */
static void expect_text(const char *text, const char *wanted) {
    char *json;
    size_t length;
    FILE *to = open_memstream(&json, &length);
    report_put_text(to, text);
    fclose(to);
    for (size_t i = 1; i + 1 < length; i++)
        assert_true(json[i] >= ' ' && json[i] <= '~' && strchr("<>&'\"", json[i]) == NULL);
    cJSON *parsed = cJSON_Parse(json);
    assert_non_null(parsed);
    assert_string_equal(parsed->valuestring, wanted);
    cJSON_Delete(parsed);
    free(json);
}

TEST(text_can_stand_in_a_script) {
    expect_text("plain", "plain");
    expect_text("</script><!-- & 'a' \"b\" \\ \n\x7f", "</script><!-- & 'a' \"b\" \\ \n\x7f");
    expect_text("\xc3\xa9 \xe2\x80\xa8 \xf0\x9f\x98\x80", "\xc3\xa9 \xe2\x80\xa8 \xf0\x9f\x98\x80");
    expect_text("\xff \xc0\xaf \xed\xa0\x80 \xe2\x80",
                "\xef\xbf\xbd \xef\xbf\xbd\xef\xbf\xbd \xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd \xef\xbf\xbd\xef\xbf\xbd");
    expect_text("\xf4\x90\x80\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd");
}

/* --- drawings ----------------------------------------------------------------------------------------------------- */

/* Draws one panel, as text that the caller frees. */
static char *drawn(const firn_chart_curve *curves, size_t count) {
    const firn_chart_panel panel = {.title = "<&>", .axis = "loss, \"nats\"", .curves = curves, .count = count};
    char *text;
    size_t length;
    FILE *to = open_memstream(&text, &length);
    firn_chart_write(to, "a \"b\" \x01\xff\xed\xa0\x80 \xf0\x9f\x98\x80\xc3\xa9", "step", &panel, 1);
    fclose(to);
    return text;
}

TEST(a_drawing_leaves_out_what_is_not_finite) {
    const double x[] = {0, 1, 2, 3, 4}, y[] = {0, (double)NAN, (double)INFINITY, 1e300, 10};
    const firn_chart_curve curve = {.name = "n", .x = x, .y = y, .count = 5};
    char *text = drawn(&curve, 1);
    assert_non_null(strstr(text, " points=\"84.0,356.0 744.0,56.0 \""));
    assert_non_null(strstr(text, "<title>a &#34;b&#34; ????? \xf0\x9f\x98\x80\xc3\xa9</title>"));
    assert_non_null(strstr(text, ">&#60;&#38;&#62;</text>"));
    assert_non_null(strstr(text, "<text x=\"16\" y=\"206\" text-anchor=\"middle\" transform=\"rotate(-90 16 206)\">"
                                 "loss, &#34;nats&#34;</text>\n"));
    assert_null(strstr(text, "nan"));
    free(text);
}

TEST(a_drawing_of_nothing_or_of_one_value_has_axes) {
    const double at = 5, value = -2;
    const firn_chart_curve one = {.name = "one", .x = &at, .y = &value, .count = 1}, none = {.name = "none"};
    char *text = drawn(&one, 1);
    assert_non_null(strstr(text, " points=\"414.0,206.0 \"")); /* in the middle */
    free(text);
    text = drawn(&none, 1);
    assert_non_null(strstr(text, " points=\"\""));
    assert_null(strstr(text, "inf"));
    free(text);
}

TEST(ticks_stand_at_whole_steps) {
    const double x[] = {1, 2, 3}, y[] = {3, 2, 1};
    const firn_chart_curve curve = {.name = "n", .x = x, .y = y, .count = 3};
    char *text = drawn(&curve, 1);
    assert_non_null(strstr(text, "<text x=\"84.0\" y=\"374\" text-anchor=\"middle\">1</text>\n"
                                 "<text x=\"414.0\" y=\"374\" text-anchor=\"middle\">2</text>\n"
                                 "<text x=\"744.0\" y=\"374\" text-anchor=\"middle\">3</text>\n"));
    free(text);
}

TEST(a_panel_has_room_for_its_legend) {
    const double x[] = {0, 1}, y[] = {0, 1};
    static const char name[] = "a name that is longer than twenty-eight characters.jsonl";
    firn_chart_curve curves[32];
    for (unsigned i = 0; i < 32; i++)
        curves[i] = (firn_chart_curve){.name = name, .x = x, .y = y, .count = 2, .style = i};
    const firn_chart_panel panels[] = {{.title = "first", .curves = curves, .count = 32},
                                       {.title = "second", .curves = curves, .count = 1}};
    char *text;
    size_t length;
    FILE *to = open_memstream(&text, &length);
    firn_chart_write(to, "title", "step", panels, 2);
    fclose(to);
    int width, height, top, last = 0, second = 0;
    double left;
    assert_int_equal(sscanf(strstr(text, "viewBox"), "viewBox=\"0 0 %d %d\"", &width, &height), 2);
    for (const char *at = text; (at = strstr(at, "<text x=")) != NULL; at++) {
        assert_int_equal(sscanf(at, "<text x=\"%lf\" y=\"%d\"", &left, &top), 2);
        const char *said = strchr(at, '>') + 1;
        second = strncmp(said, "second", 6) == 0 ? top : second;
        last = second == 0 && strncmp(said, name, 6) == 0 ? top : last;
        assert_true(top < height);
        if (strncmp(said, name, 6) == 0)
            assert_true(left + 7.0 * (double)strlen(name) < width);
    }
    assert_true(last != 0 && last < second);
    free(text);
}

TEST(curves_differ_without_colours) {
    const double x[] = {0, 1}, y[] = {0, 1};
    firn_chart_curve curves[16];
    for (unsigned i = 0; i < 16; i++)
        curves[i] = (firn_chart_curve){.x = x, .y = y, .count = 2, .style = i};
    char *text = drawn(curves, 16), *looks[16];
    uint32_t count = 0;
    for (char *at = text; (at = strstr(at, "<polyline")) != NULL; at++) {
        looks[count] = strndup(at, strcspn(at, ">"));
        for (uint32_t i = 0; i < count; i++)
            assert_string_not_equal(looks[i], looks[count]);
        count++;
    }
    assert_int_equal(count, 16);
    for (uint32_t i = 0; i < count; i++)
        free(looks[i]);
    free(text);
}
