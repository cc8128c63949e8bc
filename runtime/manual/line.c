/* What a command line asks for: a command, help, the version or the completion of a shell. */
#include <stdio.h>
#include <string.h>

#include "runtime/manual/parts.h"

static bool asks_for_help(const char *word) {
    return strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0;
}

/* Refuses a word that is no command. */
static firn_line refuse_command(const firn_manual *manual, const char *word) {
    const char *names[FIRN_OPTIONS_MAX + 1], *near;
    uint32_t count = 0;
    const firn_command *command;
    for (uint32_t i = 0; (command = firn_command_at(manual, i)) != NULL && count < FIRN_OPTIONS_MAX; i++)
        names[count++] = command->name;
    names[count] = NULL;
    for (uint32_t i = 0; manual->other[i] != NULL; i++)
        if (strcmp(word, manual->other[i]) == 0) {
            firn_say(manual, NULL, "%s: is a command of %s; write %s %s", word, manual->see_also, manual->see_also,
                     word);
            return FIRN_LINE_WRONG;
        }
    near = firn_meant(word, names);
    if (firn_is_option(word) && near == NULL)
        firn_say(manual, NULL, "%s: there is no command in front of it; `%s help` lists the commands", word,
                 manual->program);
    else if (near != NULL)
        firn_say(manual, NULL, "%s: unknown command; did you mean %s?", word, near);
    else
        firn_say(manual, NULL, "%s: unknown command; `%s help` lists the commands", word, manual->program);
    return FIRN_LINE_WRONG;
}

/* Refuses words of which one would be ignored. */
static bool is_one_request(const firn_manual *manual, const firn_help_request *r) {
    const char *whole = r->completion != NULL ? "--completion" : "--all";
    const char *more = r->command != NULL                ? r->command
                       : r->man                          ? "--man"
                       : r->completion != NULL && r->all ? "--all"
                                                         : NULL;
    return more == NULL || (r->completion == NULL && !r->all) ||
           firn_say(manual, "help", "%s: is about all commands, and alone; leave out %s", whole, more);
}

static firn_line print_help(const firn_manual *manual, int count, char **words) {
    firn_help_request r = {0};
    if (!firn_options_read(manual, &firn_help_command, count, words, &r) || !is_one_request(manual, &r))
        return FIRN_LINE_WRONG;
    const firn_command *command = r.command != NULL ? firn_command_named(manual, r.command) : NULL;
    if (r.command != NULL && command == NULL)
        return refuse_command(manual, r.command);
    if (manual->say == NULL)
        return FIRN_LINE_DONE;
    if (r.completion != NULL)
        firn_completion_print(manual, r.completion);
    else if (r.man)
        firn_page_print(manual, command);
    else if (command != NULL)
        firn_help_print_command(manual, command);
    else if (r.all)
        firn_help_print_all(manual);
    else
        firn_help_print_short(manual);
    return FIRN_LINE_DONE;
}

/* Whether --help or -h is among the words of a command, and not the value of an option. */
static bool has_help(const firn_command *command, int count, char **words) {
    const char *value;
    bool old;
    for (int i = 0; i < count && strcmp(words[i], "--") != 0; i++) {
        if (asks_for_help(words[i]))
            return true;
        const uint32_t position =
            firn_is_option(words[i]) ? firn_option_find(command, words[i], &value, &old) : FIRN_OPTIONS_MAX;
        if (position != FIRN_OPTIONS_MAX && value == NULL &&
            firn_option_at(command, position)->kind != FIRN_OPTION_FLAG)
            i++;
    }
    return false;
}

/* Prints help that is asked for by --help. */
static firn_line print_asked(const firn_manual *manual, const firn_command *command) {
    if (manual->say != NULL && command != NULL)
        firn_help_print_command(manual, command);
    else if (manual->say != NULL)
        firn_help_print_short(manual);
    return FIRN_LINE_DONE;
}

firn_line firn_line_open(const firn_manual *manual, int count, char **words, const firn_command **command) {
    *command = count > 0 ? firn_command_named(manual, words[0]) : NULL;
    if (count == 0) {
        print_asked(manual, NULL);
        firn_say(manual, NULL, "the command is missing; `%s help COMMAND` shows what each takes", manual->program);
        return FIRN_LINE_WRONG;
    }
    if (asks_for_help(words[0]))
        return print_asked(manual, NULL);
    if (strcmp(words[0], "--version") == 0) {
        if (manual->say != NULL)
            printf("%s %s\n", manual->program, manual->version);
        return FIRN_LINE_DONE;
    }
    if (*command == NULL)
        return refuse_command(manual, words[0]);
    if (has_help(*command, count - 1, words + 1))
        return print_asked(manual, *command);
    return *command == &firn_help_command ? print_help(manual, count - 1, words + 1) : FIRN_LINE_COMMAND;
}
