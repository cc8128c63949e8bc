/* What runs are called on a page and in a drawing (runtime/report/report.h): the names of their files, and as many of
 * the folders above as tell those of one name apart. */
#include <string.h>

#include "runtime/report/report.h"

/* The name with one more folder before it; the whole path has none. */
static const char *lengthened(const char *path, const char *name) {
    while (name > path && name[-1] == '/')
        name--;
    while (name > path && name[-1] != '/')
        name--;
    return name;
}

/* Whether a log of another path has the name of log i. */
static bool is_shared(const report_log *logs, uint32_t count, uint32_t i) {
    for (uint32_t k = 0; k < count; k++)
        if (strcmp(logs[k].name, logs[i].name) == 0 && strcmp(logs[k].path, logs[i].path) != 0)
            return true;
    return false;
}

void report_logs_name(report_log *logs, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        const char *slash = strrchr(logs[i].path, '/');
        logs[i].name = slash != NULL ? slash + 1 : logs[i].path;
    }
    for (bool longer = true; longer;) {
        bool shared[REPORT_RUNS_MAX];
        longer = false;
        for (uint32_t i = 0; i < count; i++)
            shared[i] = is_shared(logs, count, i);
        for (uint32_t i = 0; i < count; i++) {
            longer = longer || (shared[i] && logs[i].name > logs[i].path);
            logs[i].name = shared[i] ? lengthened(logs[i].path, logs[i].name) : logs[i].name;
        }
    }
}
