/* The numbers that a step has for tables and charts (csv.c, events.c): those of its report, and the values of the
 * schedules that the report leaves out, such as the learning rates of further groups of parameters. */
#include <stdlib.h>
#include <string.h>

#include "plan/schedule_list.h"
#include "runtime/cli/cli.h"

static const char *const fixed_names[CLI_SERIES_FIXED] = {"loss", "learning_rate", "loss_scale", "gradient_norm",
                                                          "skipped"};

/* A report that a plan does not carry names no schedule. */
static char *name_of(const cli_session *session, uint32_t schedule) {
    const firn_host_names *said = &session->report.schedules;
    char text[32];
    snprintf(text, sizeof text, "schedule_%lu", (unsigned long)schedule + 1);
    const char *name = schedule < said->count ? said->list[schedule] : text;
    char *given = firn_host_path(name, "");
    for (char *c = given; *c != 0; c++)
        *c = (unsigned char)*c < ' ' ? '_' : *c; /* a header is one line */
    return given;
}

void cli_series_begin(cli_series *series, const cli_session *session) {
    *series = (cli_series){.session = session};
    for (uint32_t i = 0; i < CLI_SERIES_FIXED; i++)
        series->names[series->count++] = firn_host_path(fixed_names[i], "");
    if (session->plan.bytes == NULL)
        return;
    const firn_fb_plan plan = cli_plan(session);
    for (uint32_t i = 0; i < firn_fb_plan_schedules_count(plan); i++) {
        if (firn_fb_schedule_tensor(firn_fb_plan_schedules_at(plan, i)) == firn_fb_plan_learning_rate(plan))
            continue;
        series->schedules[series->count] = i;
        series->names[series->count++] = name_of(session, i);
    }
}

void cli_series_end(cli_series *series) {
    for (uint32_t i = 0; i < series->count; i++)
        free(series->names[i]);
    series->count = 0;
}

void cli_series_take(cli_series *series, const firn_step_report *report) {
    const float fixed[CLI_SERIES_FIXED] = {report->loss, report->learning_rate, report->loss_scale,
                                           report->gradient_norm, report->skipped ? 1 : 0};
    memcpy(series->values, fixed, sizeof fixed);
    if (series->count == CLI_SERIES_FIXED)
        return;
    const firn_fb_plan plan = cli_plan(series->session);
    const firn_schedule_list list = firn_plan_schedule_list(plan);
    /* A step that was skipped has not counted, and its schedules had the values of this number of updates. */
    const bool counted = report->optimizer_step != 0 && !report->skipped;
    const uint64_t update = report->optimizer_step - (counted ? 1 : 0);
    for (uint32_t i = CLI_SERIES_FIXED; i < series->count; i++)
        series->values[i] = firn_schedule_value(
            &list, firn_fb_schedule_root(firn_fb_plan_schedules_at(plan, series->schedules[i])), update);
}
