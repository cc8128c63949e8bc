/* What a table of commands holds (runtime/manual/manual.h), and the rows of `help`, which every program has. */
#include <string.h>

#include "runtime/manual/parts.h"

bool firn_is_of(uint32_t commands, const firn_command *command) {
    return commands == FIRN_EVERY_COMMAND || (commands & command->bit) != 0;
}

const firn_option *firn_option_at(const firn_command *command, uint32_t position) {
    for (uint32_t i = 0; i < FIRN_MANUAL_TABLES; i++)
        for (uint32_t j = 0; j < command->tables[i].count; j++) {
            const firn_option *option = &command->tables[i].options[j];
            if ((option->commands == 0 || firn_is_of(option->commands, command)) && position-- == 0)
                return option;
        }
    return NULL;
}

static bool is_name(const char *name, const char *word, size_t length) {
    return name != NULL && strlen(name) == length && memcmp(name, word, length) == 0;
}

uint32_t firn_option_find(const firn_command *command, const char *word, const char **value, bool *old) {
    const size_t length = strcspn(word, "=");
    const firn_option *option;
    *value = word[length] == '=' ? word + length + 1 : NULL;
    *old = false;
    for (uint32_t i = 0; (option = firn_option_at(command, i)) != NULL; i++) {
        if (is_name(option->name, word, length) || is_name(option->brief, word, length))
            return i;
    }
    for (uint32_t i = 0; (option = firn_option_at(command, i)) != NULL; i++)
        if (is_name(option->old, word, length)) {
            *old = true;
            return i;
        }
    return FIRN_OPTIONS_MAX;
}

bool firn_is_option(const char *word) {
    return word[0] == '-' && word[1] != '\0';
}

size_t firn_example_part(const char *line) {
    size_t part = 0;
    bool quoted = false;
    for (size_t i = 0; i < FIRN_EXAMPLE_WIDTH; i++) {
        if (line[i] == '\0')
            return i;
        quoted = quoted != (line[i] == '\'');
        if (line[i] == ' ' && !quoted && (line[i + 1] == '-' || line[i + 1] == '|'))
            part = i;
    }
    return part > 0 ? part : strlen(line);
}

static const firn_option help_options[] = {
    {.name = "--all",
     .text = "print the help of all commands, exit status, environment and files",
     .kind = FIRN_OPTION_FLAG,
     .place = offsetof(firn_help_request, all)},
    {.name = "--man",
     .text = "print the manual page, of the program or of a command, for man -l -",
     .kind = FIRN_OPTION_FLAG,
     .place = offsetof(firn_help_request, man)},
    {.name = "--completion",
     .value = "bash|zsh|fish",
     .text = "print the completion of a shell, to be sourced by it",
     .kind = FIRN_OPTION_WORD,
     .place = offsetof(firn_help_request, completion)},
};

const firn_command firn_help_command = {
    .name = "help",
    .group = "More",
    .summary = "say more of a command, with examples",
    .forms = {"[COMMAND]", "--all", "--man [COMMAND]", "--completion bash|zsh|fish"},
    .text = "say what a command does, its options and examples, which COMMAND --help does too",
    .operand = {.value = "COMMAND", .kind = FIRN_OPTION_TEXT, .place = offsetof(firn_help_request, command)},
    .tables = {{help_options, sizeof help_options / sizeof help_options[0]}},
};

const firn_command *firn_command_at(const firn_manual *manual, uint32_t position) {
    if (position > 0 && manual->command_at(position - 1) == NULL)
        return NULL;
    const firn_command *found = manual->command_at(position);
    return found != NULL ? found : &firn_help_command;
}

const firn_command *firn_command_named(const firn_manual *manual, const char *name) {
    const firn_command *command;
    for (uint32_t i = 0; (command = firn_command_at(manual, i)) != NULL; i++)
        if (strcmp(name, command->name) == 0)
            return command;
    return NULL;
}
