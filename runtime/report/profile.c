/* Reads the times that firn train --profile wrote (runtime/report/report.h). */
#include <cjson/cJSON.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/report/report.h"

enum { FILE_BYTES_MAX = 1 << 24 };

static int refuse(const char *path, const char *what, const char *mend) {
    firn_host_fail(path, "%s; %s", what, mend);
    return CLI_FILE;
}

/* Reads the file as JSON; NULL after a message. */
static cJSON *parse(const char *path) {
    static const char mend[] = "give the file that firn train --profile wrote";
    size_t length;
    char *text = report_file_read(path, FILE_BYTES_MAX, mend, &length);
    if (text == NULL)
        return NULL;
    cJSON *root = cJSON_ParseWithLength(text, length);
    free(text);
    if (root == NULL)
        (void)refuse(path, "is no profile", mend);
    return root;
}

/* Returns a number from 0; NaN if it is anything else. */
static double number_of(const cJSON *root, const char *name) {
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(root, name);
    return cJSON_IsNumber(item) && item->valuedouble >= 0 && isfinite(item->valuedouble) ? item->valuedouble
                                                                                         : (double)NAN;
}

static bool is_whole(const report_profile *profile) {
    const cJSON *item, *ops = cJSON_GetObjectItemCaseSensitive(profile->root, "op_seconds");
    if (!cJSON_IsArray(ops) || !(number_of(profile->root, "steps") >= 1) ||
        isnan(number_of(profile->root, "seconds")) || isnan(number_of(profile->root, "data_seconds")) ||
        isnan(number_of(profile->root, "threads")) ||
        cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(profile->root, "run_hash")) == NULL)
        return false;
    cJSON_ArrayForEach(item, ops) {
        if (!cJSON_IsNumber(item) || !(item->valuedouble >= 0) || !isfinite(item->valuedouble))
            return false;
    }
    return true;
}

int report_profile_read(report_profile *profile, const char *path, const report_plan *plan) {
    char hash[65];
    *profile = (report_profile){.path = path, .root = parse(path)};
    if (profile->root == NULL)
        return CLI_FILE;
    if (!is_whole(profile))
        return refuse(path, "is no profile, or a damaged one", "give the file that firn train --profile wrote");
    if (plan == NULL)
        return CLI_OK;
    cli_hex(hash, plan->info.run_hash);
    const char *said = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(profile->root, "run_hash"));
    const cJSON *ops = cJSON_GetObjectItemCaseSensitive(profile->root, "op_seconds");
    if (strcmp(hash, said) != 0 || cJSON_GetArraySize(ops) != (int)plan->header.counts.ops)
        return refuse(path, "is the profile of another plan than that of --plan", "give the two that belong together");
    return CLI_OK;
}

void report_profile_free(report_profile *profile) {
    cJSON_Delete(profile->root);
    *profile = (report_profile){0};
}

void report_profile_put(FILE *to, const report_profile *profile) {
    static const char *const numbers[] = {"steps", "unmeasured", "seconds", "data_seconds", "threads"};
    const cJSON *item, *ops = cJSON_GetObjectItemCaseSensitive(profile->root, "op_seconds");
    const char *separator = "";
    fputs("{\"path\":", to);
    report_put_text(to, profile->path);
    report_put_member(to, "kernels", cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(profile->root, "kernels")));
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        fprintf(to, ",\"%s\":", numbers[i]);
        report_put_number(to, number_of(profile->root, numbers[i]), 7);
    }
    fputs(",\"ops\":[", to);
    cJSON_ArrayForEach(item, ops) {
        fputs(separator, to);
        report_put_number(to, item->valuedouble, 4);
        separator = ",";
    }
    fputs("]}", to);
}
