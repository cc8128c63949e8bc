/* Reads the report behind the payload of a plan: JSON that says where the plan comes from, how often its recipe
 * wants the state saved and evaluated, and with which data an older run was trained that it continues. It changes
 * nothing that is computed, and a plan without it runs too; but a report that is there must be the one that was signed.
 */
#include <cjson/cJSON.h>
#include <stdlib.h>

#include "plan/checks/check.h"
#include "runtime/cli/cli.h"

/* Returns an allocated copy of the text under a name, or NULL if the report has none. */
static char *text_of(const cJSON *report, const char *name) {
    const char *text = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(report, name));
    return text != NULL ? firn_host_path(text, "") : NULL;
}

/* Returns the number of steps under a name, or 0 if the report has none. */
static uint64_t steps_of(const cJSON *report, const char *name) {
    const double steps = cJSON_GetNumberValue(cJSON_GetObjectItemCaseSensitive(report, name));
    return steps >= 1 && steps <= 1e15 ? (uint64_t)steps : 0; /* NaN without it */
}

int cli_report_read(cli_report *report, const firn_host_plan *plan) {
    *report = (cli_report){0};
    const firn_check_request request = {.file = plan->bytes, .file_bytes = plan->count};
    firn_header header;
    int error = firn_header_decode(&header, request.file, request.file_bytes);
    const uint64_t begin = error == FIRN_OK ? firn_header_payload_end(&header) : 0;
    if (error != FIRN_OK || plan->count == begin) /* cut off, or the plan was made without a report */
        return error;
    error = firn_check_report(&request, &header);
    if (error != FIRN_OK)
        return error;
    /* A text that is no JSON or has other names says nothing here, as a later firnc may write another report. */
    cJSON *parsed = cJSON_ParseWithLength((const char *)request.file + begin, (size_t)header.report_bytes);
    report->model = text_of(parsed, "model");
    report->target = text_of(parsed, "target");
    report->checkpoint_steps = steps_of(parsed, "checkpoint_steps");
    report->save_initial = cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(parsed, "save_initial_checkpoint"));
    report->eval_frequency = steps_of(parsed, "eval_frequency");
    (void)cli_columns_parse(&report->schedules, cJSON_GetObjectItemCaseSensitive(parsed, "schedules"));
    const cJSON *statistics = cJSON_GetObjectItemCaseSensitive(parsed, "statistics");
    report->statistics_data = text_of(statistics, "data");
    report->statistics_targets = text_of(statistics, "targets_data");
    (void)cli_columns_parse(&report->columns, cJSON_GetObjectItemCaseSensitive(statistics, "columns"));
    (void)cli_columns_parse(&report->targets, cJSON_GetObjectItemCaseSensitive(statistics, "targets"));
    const cJSON *origin = cJSON_GetObjectItemCaseSensitive(parsed, "origin");
    report->origin_data = text_of(origin, "data");
    const double cursor = cJSON_GetNumberValue(cJSON_GetObjectItemCaseSensitive(origin, "cursor"));
    report->origin_cursor = cursor >= 1 && cursor <= 1e15 ? (uint64_t)cursor : 0;
    cJSON_Delete(parsed);
    return FIRN_OK;
}

void cli_report_free(cli_report *report) {
    free(report->model);
    free(report->target);
    free(report->origin_data);
    free(report->statistics_data);
    free(report->statistics_targets);
    firn_host_names_free(&report->schedules);
    firn_host_names_free(&report->columns);
    firn_host_names_free(&report->targets);
    *report = (cli_report){0};
}
