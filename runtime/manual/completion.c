/* Prints the completion for shells from the table of a command line (runtime/manual/manual.h). */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "runtime/manual/parts.h"

/* Returns true if the value of an option must be one of the words that its row lists. */
static bool lists_values(const firn_option *option) {
    return option->value != NULL && islower((unsigned char)option->value[0]) && strchr(option->value, '|') != NULL;
}

static void print_listed(const firn_option *option) {
    for (const char *c = option->value; *c != '\0'; c++)
        putchar(*c == '|' ? ' ' : *c);
}

static void print_commands(const firn_manual *manual) {
    const firn_command *command;
    for (uint32_t i = 0; (command = firn_command_at(manual, i)) != NULL; i++)
        printf("%s%s", i == 0 ? "" : " ", command->name);
}

/* --- bash --------------------------------------------------------------------------------------------------------- */

/* Prints what bash completes after an option with a value: one of its words, a file, a folder or nothing. */
static void print_bash_value(const char *command, const firn_option *option) {
    if (option->value == NULL)
        return;
    printf("    %s:%s", command, option->name);
    if (option->brief != NULL)
        printf(" | %s:%s", command, option->brief);
    fputs(") ", stdout);
    if (lists_values(option)) {
        fputs("options= files= words='", stdout);
        print_listed(option);
        puts("' ;;");
    } else {
        puts(option->names == FIRN_NAMES_NOTHING  ? "options= files= ;;"
             : option->names == FIRN_NAMES_FOLDER ? "options= files=-d ;;"
                                                  : "options= ;;");
    }
}

static void print_bash_options(const firn_command *command) {
    const firn_option *option;
    printf("    %s) options='--help", command->name);
    for (uint32_t i = 0; (option = firn_option_at(command, i)) != NULL; i++)
        printf(" %s%s%s", option->name, option->brief != NULL ? " " : "", option->brief != NULL ? option->brief : "");
    puts("' ;;");
}

static void print_bash(const firn_manual *manual) {
    const firn_option *option;
    const firn_command *command;
    const char *program = manual->program;
    printf("# Completion of %s for bash, printed by `%s help --completion bash`.\n_%s() {\n", program, program,
           program);
    puts("    local word=${COMP_WORDS[COMP_CWORD]} options= words= files=-f");
    puts("    if [ \"$COMP_CWORD\" -eq 1 ]; then");
    fputs("        mapfile -t COMPREPLY < <(compgen -W '", stdout);
    print_commands(manual);
    puts(" --help --version' -- \"$word\")\n        return\n    fi");
    puts("    case ${COMP_WORDS[1]} in");
    for (uint32_t i = 0; (command = firn_command_at(manual, i)) != NULL; i++)
        print_bash_options(command);
    puts("    esac\n    case ${COMP_WORDS[1]}:${COMP_WORDS[COMP_CWORD - 1]} in");
    for (uint32_t i = 0; (command = firn_command_at(manual, i)) != NULL; i++)
        for (uint32_t j = 0; (option = firn_option_at(command, j)) != NULL; j++)
            print_bash_value(command->name, option);
    fputs("    help:help) files= words='", stdout);
    print_commands(manual);
    puts("' ;;\n    esac");
    puts("    case $word in -*) words=\"$words $options\" files= ;; esac");
    puts("    mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$word\"; [ -z \"$files\" ] || compgen \"$files\" -- "
         "\"$word\")");
    printf("}\ncomplete -o filenames -F _%s %s\n", program, program);
}

/* --- zsh ---------------------------------------------------------------------------------------------------------- */

/* Prints a text in single quotes, with the characters escaped that _arguments and _describe interpret. */
static void print_zsh_text(const char *text) {
    for (; *text != '\0'; text++) {
        if (*text == '\'')
            fputs("'\\'", stdout);
        else if (strchr(":[]\\", *text) != NULL)
            putchar('\\');
        putchar(*text);
    }
}

static void print_zsh_option(const firn_option *option) {
    const char *const names[] = {option->name, option->brief};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (names[i] == NULL)
            continue;
        printf(" \\\n            '*%s%s[", names[i], option->value != NULL && i == 0 ? "=" : "");
        print_zsh_text(option->text);
        putchar(']');
        if (option->value != NULL && lists_values(option)) {
            fputs(":value:(", stdout);
            print_listed(option);
            putchar(')');
        } else if (option->value != NULL) {
            putchar(':');
            print_zsh_text(option->value);
            fputs(option->names == FIRN_NAMES_NOTHING  ? ": "
                  : option->names == FIRN_NAMES_FOLDER ? ":_files -/"
                                                       : ":_files",
                  stdout);
        }
        putchar('\'');
    }
}

static void print_zsh(const firn_manual *manual) {
    const firn_command *command;
    const firn_option *option;
    const char *program = manual->program;
    printf("#compdef %s\n# Completion of %s for zsh, printed by `%s help --completion zsh`.\n_%s() {\n", program,
           program, program, program);
    puts("    local curcontext=$curcontext state line");
    puts("    local -a commands=(");
    for (uint32_t i = 0; (command = firn_command_at(manual, i)) != NULL; i++) {
        printf("        '%s:", command->name);
        print_zsh_text(command->summary);
        puts("'");
    }
    puts("    )\n    if (( CURRENT == 2 )); then");
    puts("        _describe command commands");
    puts("        _arguments '--help[show the commands]' '--version[show the version]'");
    puts("        return\n    fi\n    shift words\n    (( CURRENT-- ))\n    case $words[1] in");
    for (uint32_t i = 0; (command = firn_command_at(manual, i)) != NULL; i++) {
        printf("    %s)\n        _arguments", command->name);
        for (uint32_t j = 0; (option = firn_option_at(command, j)) != NULL; j++)
            print_zsh_option(option);
        fputs(" \\\n            '--help[say what the command does]'", stdout);
        if (command == &firn_help_command) {
            fputs(" '1:command:(", stdout);
            print_commands(manual);
            puts(")' ;;");
        } else {
            puts(" '*:file:_files' ;;");
        }
    }
    printf("    esac\n}\nif [ \"$funcstack[1]\" = _%s ]; then\n    _%s \"$@\"\nelse\n    compdef _%s %s\nfi\n", program,
           program, program, program);
}

/* --- fish --------------------------------------------------------------------------------------------------------- */

/* Prints a text in single quotes. */
static void print_fish_text(const char *text) {
    putchar('\'');
    for (; *text != '\0'; text++) {
        if (*text == '\'' || *text == '\\')
            putchar('\\');
        putchar(*text);
    }
    putchar('\'');
}

static void print_fish_option(const firn_manual *manual, const firn_command *command, const firn_option *option) {
    printf("complete -c %s -n '__fish_seen_subcommand_from %s' -l %s", manual->program, command->name,
           option->name + 2);
    if (option->brief != NULL)
        printf(" -s %s", option->brief + 1);
    if (option->value != NULL && lists_values(option)) {
        fputs(" -x -a '", stdout);
        print_listed(option);
        putchar('\'');
    } else if (option->value != NULL) {
        fputs(option->names == FIRN_NAMES_NOTHING  ? " -x"
              : option->names == FIRN_NAMES_FOLDER ? " -x -a '(__fish_complete_directories)'"
                                                   : " -r -F",
              stdout);
    }
    fputs(" -d ", stdout);
    print_fish_text(option->text);
    putchar('\n');
}

static void print_fish(const firn_manual *manual) {
    const firn_command *command;
    const firn_option *option;
    const char *program = manual->program;
    printf("# Completion of %s for fish, printed by `%s help --completion fish`.\n", program, program);
    printf("complete -c %s -n __fish_use_subcommand -f -l help -d 'show the commands'\n", program);
    printf("complete -c %s -n __fish_use_subcommand -f -l version -d 'show the version'\n", program);
    for (uint32_t i = 0; (command = firn_command_at(manual, i)) != NULL; i++) {
        printf("complete -c %s -n __fish_use_subcommand -f -a %s -d ", program, command->name);
        print_fish_text(command->summary);
        putchar('\n');
        printf("complete -c %s -n '__fish_seen_subcommand_from %s' -l help -d 'say what the command does'\n", program,
               command->name);
        for (uint32_t j = 0; (option = firn_option_at(command, j)) != NULL; j++)
            print_fish_option(manual, command, option);
    }
    printf("complete -c %s -n '__fish_seen_subcommand_from help' -f -a '", program);
    print_commands(manual);
    puts("'");
}

void firn_completion_print(const firn_manual *manual, const char *shell) {
    if (strcmp(shell, "bash") == 0)
        print_bash(manual);
    else if (strcmp(shell, "zsh") == 0)
        print_zsh(manual);
    else
        print_fish(manual);
}
