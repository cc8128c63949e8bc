/* Reads targets.mk and linker scripts, which are of this version of Firn and no user's files (board.h). Only the forms
 * that they have are understood: NAME := VALUE, and NAME (ATTRIBUTES) : ORIGIN = N, LENGTH = N with K or M. */
#include "compiler/firmware/board.h"

#include <stdlib.h>
#include <string.h>

#include "compiler/base/text.h"

static const char targets_file[] = "runtime/targets/targets.mk";

/* The value of a variable of targets.mk; "" if it has none. */
static const char *value_of(const char *text, const char *name) {
    const size_t length = strlen(name);
    for (const char *line = text; line != NULL; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (strncmp(line, name, length) == 0 && strncmp(line + length, " := ", 4) == 0)
            return firnc_format("%.*s", (int)strcspn(line + length + 4, "\n"), line + length + 4);
    }
    return "";
}

static firnc_memory find_memory(const char *script, const char *name) {
    firnc_memory memory = {.name = name};
    const char *line = strstr(script, firnc_format("\n    %s (", name));
    const char *length = line != NULL ? strstr(line, "LENGTH = ") : NULL;
    if (length == NULL)
        return memory;
    char *unit;
    memory.bytes = strtoull(length + strlen("LENGTH = "), &unit, 10);
    memory.bytes <<= *unit == 'M' ? 20 : *unit == 'K' ? 10 : 0;
    return memory;
}

const char *firnc_board_targets(const firnc_archive *archive) {
    return value_of(firnc_archive_text(archive, targets_file), "TARGETS");
}

/* Whether a word is one of a list with spaces. */
static bool is_in(const char *list, const char *word) {
    const size_t length = strlen(word);
    for (; *list != '\0'; list += strspn(list, " ")) {
        const size_t next = strcspn(list, " ");
        if (next == length && memcmp(list, word, length) == 0)
            return true;
        list += next;
    }
    return false;
}

bool firnc_board_find(const firnc_archive *archive, const char *target, firnc_board *board) {
    const char *text = firnc_archive_text(archive, targets_file);
    const struct {
        const char *name;
        const char **value;
    } variables[] = {{"CROSS", &board->cross},   {"MACHINE", &board->machine},
                     {"LIBC", &board->libc},     {"LIBC_SOURCE", &board->libc_source},
                     {"START", &board->start},   {"START_FLAGS", &board->start_flags},
                     {"SCRIPT", &board->script}, {"EMULATOR", &board->emulator}};
    *board = (firnc_board){.target = target};
    if (!is_in(firnc_board_targets(archive), target))
        return false;
    for (size_t i = 0; i < sizeof variables / sizeof variables[0]; i++)
        *variables[i].value = value_of(text, firnc_format("%s_%s", target, variables[i].name));
    const char *script = firnc_archive_text(archive, board->script);
    board->plan = find_memory(script, "plan");
    board->blocks = find_memory(script, "blocks");
    return true;
}
