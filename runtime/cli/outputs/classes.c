/* The names of classes, of --classes: a text file with one name a line, the first for class 0. A byte order mark and
 * carriage returns at the ends of lines are not part of a name. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/cli/cli.h"
#include "runtime/text/utf8.h"

enum { FILE_BYTES_MAX = 1 << 20 };

/* Reads the file into text that a zero ends. */
static int read_text(char **text, size_t *length, const char *path) {
    uint64_t bytes;
    const int file = firn_host_open(path, true, &bytes);
    if (file < 0)
        return CLI_FILE;
    if (bytes > FILE_BYTES_MAX) {
        close(file);
        firn_host_fail(path, "has %llu bytes, and names of classes have at most %d; give a text with one name a line",
                       (unsigned long long)bytes, FILE_BYTES_MAX);
        return CLI_FILE;
    }
    *text = firn_host_allocate((size_t)bytes + 1);
    const bool whole = firn_host_read(file, *text, (size_t)bytes) == (int64_t)bytes;
    close(file);
    *length = (size_t)bytes;
    if (whole)
        return CLI_OK;
    firn_host_fail(path, "cannot be read to its end; run again where nobody changes it, or look at the disk");
    return CLI_FILE;
}

static int refuse_line(const char *path, uint32_t line, const char *why) {
    firn_host_fail(path, "line %lu %s; write one name a line, the first for class 0, in UTF-8", (unsigned long)line,
                   why);
    return CLI_FILE;
}

static bool is_known(const cli_classes *classes, const char *name) {
    for (uint32_t i = 0; i < classes->count; i++)
        if (strcmp(classes->names[i], name) == 0)
            return true;
    return false;
}

static bool has_control(const char *name) {
    for (; *name != 0; name++)
        if ((unsigned char)*name < 0x20 || *name == 0x7f)
            return true;
    return false;
}

/* Returns what is wrong with a name, or NULL. */
static const char *fault_of(const char *name) {
    if (*name == 0)
        return "is empty";
    if (has_control(name))
        return "has a control character, such as a tab";
    return firn_utf8_is(name) ? NULL : "is no UTF-8";
}

/* Takes one line, without its end, as the next name. */
static int add_name(cli_classes *classes, const char *path, char *name) {
    const uint32_t line = classes->count + 1;
    if (classes->count == CLI_CLASSES_MAX)
        return refuse_line(path, line, "is one of more than 4096 classes");
    const size_t length = strlen(name);
    if (length > 0 && name[length - 1] == '\r')
        name[length - 1] = 0;
    const char *fault = fault_of(name);
    if (fault != NULL)
        return refuse_line(path, line, fault);
    if (is_known(classes, name))
        return refuse_line(path, line, "has the name of a class before it");
    classes->names[classes->count++] = name;
    return CLI_OK;
}

_Static_assert(CLI_CLASSES_MAX == 4096, "the message has the same number");

/* Reads a file of names; path NULL: there is none. Returns CLI_OK or, after a message, CLI_FILE. The classes are to be
 * freed in any case. */
static int read_classes(cli_classes *classes, const char *path) {
    static const char mark[] = "\xef\xbb\xbf";
    *classes = (cli_classes){.path = path};
    size_t length = 0;
    if (path == NULL)
        return CLI_OK;
    int status = read_text(&classes->text, &length, path);
    if (status != CLI_OK)
        return status;
    classes->names = firn_host_allocate(CLI_CLASSES_MAX * sizeof *classes->names);
    char *at = classes->text, *end = classes->text + length;
    if (memchr(at, 0, length) != NULL) {
        firn_host_fail(path, "is no text: it has a byte 0; give a text with one name a line");
        return CLI_FILE;
    }
    if (strncmp(at, mark, sizeof mark - 1) == 0)
        at += sizeof mark - 1;
    while (status == CLI_OK && at < end) {
        char *stop = memchr(at, '\n', (size_t)(end - at));
        stop = stop != NULL ? stop : end;
        *stop = 0;
        status = add_name(classes, path, at);
        at = stop + 1;
    }
    if (status == CLI_OK && classes->count == 0) {
        firn_host_fail(path, "is empty; write one name a line, the first for class 0");
        return CLI_FILE;
    }
    return status;
}

static bool is_one_of(const char *name, const char *const *others) {
    for (; *others != NULL; others++)
        if (strcmp(name, *others) == 0)
            return true;
    return false;
}

/* Refuses names of --classes that are not those of the training. One that the table needs for a column may have been
 * changed. */
static int compare(const cli_classes *classes, const cli_session *session, const char *const *others) {
    const firn_host_names *trained = &session->classes;
    for (uint32_t i = 0; i < classes->count && i < trained->count; i++)
        if (strcmp(classes->names[i], trained->list[i]) != 0 && !is_one_of(trained->list[i], others)) {
            firn_host_fail(classes->path,
                           "line %lu is %.60s, and class %lu of the checkpoint is %.60s (%.300s" CLI_COLUMNS_ENDING
                           "); leave out --classes, or give the names of the training in their order",
                           (unsigned long)i + 1, classes->names[i], (unsigned long)i, trained->list[i],
                           session->options->checkpoint);
            return CLI_FILE;
        }
    return CLI_OK;
}

/* Takes the names of the training. */
static void take(cli_classes *classes, const firn_host_names *trained) {
    classes->names = firn_host_allocate(trained->count * sizeof *classes->names);
    memcpy(classes->names, trained->list, trained->count * sizeof *classes->names);
    classes->count = trained->count;
}

int cli_classes_find(cli_classes *classes, const cli_session *session, uint64_t count, const char *const *others) {
    const firn_host_names *trained = &session->classes;
    const int status = read_classes(classes, session->options->classes);
    if (status != CLI_OK || classes->path != NULL)
        return status == CLI_OK ? compare(classes, session, others) : status;
    if (trained->count == 0 || trained->count != count)
        return CLI_OK;
    for (uint32_t i = 0; i < trained->count; i++)
        if (is_one_of(trained->list[i], others)) {
            if (!session->options->quiet)
                firn_host_note("the names of the classes are left out, because %s is the name of another column; "
                               "--classes FILE gives it another name",
                               trained->list[i]);
            return CLI_OK;
        }
    take(classes, trained);
    return CLI_OK;
}

int cli_classes_check(const cli_classes *classes, uint64_t count, const char *of) {
    if (classes->path == NULL || classes->count == count)
        return CLI_OK;
    firn_host_fail(classes->path, "has %lu name%s, and %s has %llu class%s; write one name a line for each",
                   (unsigned long)classes->count, cli_s(classes->count), of, (unsigned long long)count,
                   count == 1 ? "" : "es");
    return CLI_FILE;
}

int cli_classes_check_columns(const cli_classes *classes, const char *const *columns) {
    for (uint32_t i = 0; i < classes->count; i++)
        for (const char *const *column = columns; *column != NULL; column++)
            if (strcmp(classes->names[i], *column) == 0) {
                firn_host_fail(classes->path,
                               "line %lu is %s, which is the name of another column of the table; name the class "
                               "otherwise, as in %s_%lu",
                               (unsigned long)i + 1, *column, *column, (unsigned long)i);
                return CLI_FILE;
            }
    return CLI_OK;
}

/* Refuses names that read_classes would refuse. */
static int check_names(const char *path, char *const *names, uint32_t count) {
    if (count > CLI_CLASSES_MAX) {
        firn_host_fail(path, "would have %lu names of classes, and at most %d are read; leave out --classes-output",
                       (unsigned long)count, CLI_CLASSES_MAX);
        return CLI_FILE;
    }
    for (uint32_t i = 0; i < count; i++) {
        const char *fault = fault_of(names[i]);
        if (fault == NULL)
            continue;
        firn_host_fail(names[i], "the name of this class %s; rename its folder, or write the table in UTF-8", fault);
        return CLI_FILE;
    }
    return CLI_OK;
}

int cli_classes_write(const char *path, char *const *names, uint32_t count) {
    firn_host_replacement file = {.file = -1};
    uint64_t at = 0;
    const int status = check_names(path, names, count);
    if (status != CLI_OK || !firn_host_replaceable(path))
        return status != CLI_OK ? status : CLI_FILE;
    bool written = firn_host_replace_begin(&file, path);
    for (uint32_t i = 0; written && i < count; i++) {
        const size_t length = strlen(names[i]);
        written = firn_host_replace_write(&file, at, names[i], length) &&
                  firn_host_replace_write(&file, at + length, "\n", 1);
        at += length + 1;
    }
    if (written && firn_host_replace_end(&file))
        return CLI_OK;
    firn_host_replace_fail(&file, path);
    return CLI_FILE;
}

void cli_classes_free(cli_classes *classes) {
    free(classes->names);
    free(classes->text);
    *classes = (cli_classes){0};
}
