/* Reads the confusion matrix that firn eval --confusion wrote: CSV with the names of the predictions in its first row
 * and of the labels in its first column (runtime/report/report.h). */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/report/report.h"

enum { FILE_BYTES_MAX = 1 << 20, CLASSES_MAX = 256 };

#define COUNT_MOST UINT64_C(9007199254740992)

static bool refuse(const char *path, uint32_t row, const char *what) {
    return firn_host_fail(path, "row %lu %s; give the file that firn eval --confusion wrote", (unsigned long)row, what);
}

/* Reads one cell in place, and ends it with a zero. *at is behind its comma or its end of line, and *last says which.
 * Returns NULL if its quotes are wrong. */
static char *take_cell(char **at, bool *last) {
    char *begin = *at, *to = *at, *from = *at;
    if (*from == '"') {
        for (from++; *from != 0 && (*from != '"' || from[1] == '"'); from++) {
            from += *from == '"';
            *to++ = *from;
        }
        if (*from++ != '"')
            return NULL;
    } else {
        while (*from != 0 && *from != ',' && *from != '\n' && *from != '\r')
            *to++ = *from++;
    }
    from += *from == '\r' && from[1] == '\n';
    if (*from != 0 && *from != ',' && *from != '\n')
        return NULL;
    *last = *from != ',';
    *at = *from != 0 ? from + 1 : from;
    *to = 0;
    return begin;
}

/* Reads the names of the classes. */
static bool take_head(report_matrix *matrix, const char *path, char **at) {
    bool last = false;
    const char *corner = take_cell(at, &last);
    if (corner == NULL || strcmp(corner, "label") != 0 || last)
        return refuse(path, 1, "does not begin with the cell `label` and names of classes");
    while (!last) {
        char *name = take_cell(at, &last);
        if (name == NULL)
            return refuse(path, 1, "has a cell whose quotes are wrong");
        if (matrix->classes == CLASSES_MAX)
            return firn_host_fail(path, "has more than %d classes, and a page shows at most as many; leave it out",
                                  CLASSES_MAX);
        matrix->names[matrix->classes++] = name;
    }
    return true;
}

static bool take_count(const char *cell, uint64_t *count) {
    char *end;
    errno = 0;
    *count = strtoull(cell, &end, 10);
    return cell[0] >= '0' && cell[0] <= '9' && *end == 0 && errno == 0 && *count <= COUNT_MOST;
}

static bool take_row(report_matrix *matrix, const char *path, char **at, uint32_t row) {
    bool last = false;
    const char *name = take_cell(at, &last);
    if (name == NULL || strcmp(name, matrix->names[row]) != 0)
        return refuse(path, row + 2, "does not begin with the name of its class");
    for (uint32_t i = 0; i < matrix->classes; i++) {
        const char *cell = last ? NULL : take_cell(at, &last);
        if (cell == NULL || !take_count(cell, &matrix->counts[(size_t)row * matrix->classes + i]))
            return refuse(path, row + 2, "has a cell that is no count");
    }
    return last || refuse(path, row + 2, "has more cells than classes");
}

static bool read_file(report_matrix *matrix, const char *path) {
    size_t length;
    matrix->text = report_file_read(path, FILE_BYTES_MAX, "give the file that firn eval --confusion wrote", &length);
    return matrix->text != NULL && (memchr(matrix->text, 0, length) == NULL || refuse(path, 1, "holds bytes of 0"));
}

int report_matrix_read(report_matrix *matrix, const char *path) {
    matrix->path = path;
    if (!read_file(matrix, path))
        return CLI_FILE;
    char *at = matrix->text;
    matrix->names = firn_host_allocate(CLASSES_MAX * sizeof *matrix->names);
    bool good = take_head(matrix, path, &at);
    matrix->counts = firn_host_allocate((size_t)matrix->classes * matrix->classes * sizeof *matrix->counts);
    for (uint32_t row = 0; good && row < matrix->classes; row++)
        good = take_row(matrix, path, &at, row);
    if (good && *at != 0)
        good = refuse(path, matrix->classes + 2, "is one too many");
    return good ? CLI_OK : CLI_FILE;
}

void report_matrix_free(report_matrix *matrix) {
    free(matrix->text);
    free(matrix->names);
    free(matrix->counts);
    *matrix = (report_matrix){0};
}

void report_matrix_put(FILE *to, const report_matrix *matrix) {
    fputs("{\"path\":", to);
    report_put_text(to, matrix->path);
    fputs(",\"classes\":[", to);
    for (uint32_t i = 0; i < matrix->classes; i++) {
        fputs(i == 0 ? "" : ",", to);
        report_put_text(to, matrix->names[i]);
    }
    fputs("],\"counts\":[", to);
    for (uint32_t i = 0; i < matrix->classes * matrix->classes; i++)
        fprintf(to, "%s%llu", i == 0 ? "" : ",", (unsigned long long)matrix->counts[i]);
    fputs("]}", to);
}
