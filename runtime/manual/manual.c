/* Prints the help, the manual page (roff) and the completion of bash from the table of a command line
 * (runtime/manual/manual.h). */
#include "runtime/manual/manual.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { WIDTH = 100, OPTION_COLUMN = 36 };

/* --- the table, with the rows that every program has -------------------------------------------------------------- */

static const firn_manual_command help_command = {
    .name = "help",
    .forms = {"[COMMAND]", "--man", "--completion bash"},
    .text = "print this text, or that of one command, which COMMAND --help does too",
};

static const firn_manual_option help_options[] = {
    {"--man", NULL, NULL, "print the manual page, for man -l -"},
    {"--completion", NULL, "bash", "print the completion of a shell, to be sourced by it"},
};

enum { HELP_OPTIONS = sizeof help_options / sizeof help_options[0] };

static const firn_manual_command *command_at(const firn_manual *manual, uint32_t command) {
    if (command > 0 && manual->command_at(command - 1) == NULL)
        return NULL;
    const firn_manual_command *found = manual->command_at(command);
    return found != NULL ? found : &help_command;
}

static const firn_manual_option *option_at(const firn_manual *manual, uint32_t command, uint32_t position) {
    if (manual->command_at(command) != NULL)
        return manual->option_at(command, position);
    return position < HELP_OPTIONS ? &help_options[position] : NULL;
}

/* --- plain text --------------------------------------------------------------------------------------------------- */

/* Prints the words of a text in lines of at most WIDTH, indented by `indent` spaces. The cursor is at `column` on
 * entry. */
static void print_wrapped(const char *text, int indent, int column) {
    while (*text != '\0') {
        int length = (int)strcspn(text, " ");
        if (column > indent && column + 1 + length > WIDTH) {
            putchar('\n');
            column = 0;
        }
        if (column < indent)
            column += printf("%*s", indent - column, "");
        else if (column > indent)
            column += printf(" ");
        column += printf("%.*s", length, text);
        text += length;
        text += strspn(text, " ");
    }
    putchar('\n');
}

/* Prints a term and, in a column to its right, its text. A term too long for that has a line to itself. */
static void print_term(const char *term, const char *text) {
    int column = printf("      %s", term);
    if (column >= OPTION_COLUMN) {
        putchar('\n');
        column = 0;
    }
    column += printf("%*s", OPTION_COLUMN - column, "");
    print_wrapped(text, OPTION_COLUMN, column);
}

static void print_option(const firn_manual_option *option) {
    char term[128];
    snprintf(term, sizeof term, "%s%s%s%s%s", option->brief != NULL ? option->brief : "",
             option->brief != NULL ? ", " : "", option->name, option->argument != NULL ? " " : "",
             option->argument != NULL ? option->argument : "");
    print_term(term, option->text);
}

static void print_command(const firn_manual *manual, uint32_t position) {
    const firn_manual_command *command = command_at(manual, position);
    const firn_manual_option *option;
    for (uint32_t i = 0; i < FIRN_MANUAL_FORMS && command->forms[i] != NULL; i++)
        printf("  %s %s %s\n", manual->program, command->name, command->forms[i]);
    print_wrapped(command->text, 4, 0);
    if (command->more != NULL)
        print_wrapped(command->more, 4, 0);
    for (uint32_t i = 0; (option = option_at(manual, position, i)) != NULL; i++)
        print_option(option);
}

static void print_help(const firn_manual *manual) {
    printf("%s %s: %s\n\n", manual->program, manual->version, manual->text);
    for (uint32_t i = 0; command_at(manual, i) != NULL; i++) {
        print_command(manual, i);
        putchar('\n');
    }
    print_wrapped(manual->more, 0, 0);
    for (uint32_t i = 0; i < manual->section_count; i++) {
        const firn_manual_section *section = &manual->sections[i];
        printf("\n%s\n", section->title);
        for (uint32_t j = 0; j < section->count; j++)
            print_term(section->entries[j].term, section->entries[j].text);
    }
}

/* --- the manual page ---------------------------------------------------------------------------------------------- */

/* Prints text with the characters escaped that roff would interpret. */
static void print_roff(const char *text) {
    if (*text == '.' || *text == '\'')
        fputs("\\&", stdout);
    for (; *text != '\0'; text++)
        switch (*text) {
        case '-':
            fputs("\\-", stdout);
            break;
        case '\\':
            fputs("\\e", stdout);
            break;
        default:
            putchar(*text);
        }
}

static void print_upper(const char *text) {
    for (; *text != '\0'; text++)
        putchar(toupper((unsigned char)*text));
}

static void print_roff_line(const char *before, const char *text) {
    fputs(before, stdout);
    print_roff(text);
    putchar('\n');
}

static void print_page_option(const firn_manual_option *option) {
    fputs(".TP\n\\fB", stdout);
    if (option->brief != NULL) {
        print_roff(option->brief);
        fputs("\\fR, \\fB", stdout);
    }
    print_roff(option->name);
    fputs("\\fR", stdout);
    if (option->argument != NULL) {
        fputs(" \\fI", stdout);
        print_roff(option->argument);
        fputs("\\fR", stdout);
    }
    print_roff_line("\n", option->text);
}

static void print_page_command(const firn_manual *manual, uint32_t position) {
    const firn_manual_command *command = command_at(manual, position);
    const firn_manual_option *option;
    printf(".SS %s\n", command->name);
    print_roff_line("", command->text);
    if (command->more != NULL)
        print_roff_line(".PP\n", command->more);
    for (uint32_t i = 0; (option = option_at(manual, position, i)) != NULL; i++)
        print_page_option(option);
}

static void print_synopsis(const firn_manual *manual) {
    const firn_manual_command *command;
    fputs(".SH SYNOPSIS\n.nf\n", stdout);
    for (uint32_t i = 0; (command = command_at(manual, i)) != NULL; i++)
        for (uint32_t j = 0; j < FIRN_MANUAL_FORMS && command->forms[j] != NULL; j++) {
            printf("\\fB%s %s\\fR ", manual->program, command->name);
            print_roff_line("", command->forms[j]);
        }
    printf("\\fB%s \\-\\-version\\fR\n.fi\n", manual->program);
}

static void print_page(const firn_manual *manual) {
    fputs(".TH ", stdout);
    print_upper(manual->program);
    printf(" 1 \"\" \"Firn %s\" \"Firn\"\n.SH NAME\n%s \\- ", manual->version, manual->program);
    print_roff_line("", manual->text);
    print_synopsis(manual);
    print_roff_line(".SH DESCRIPTION\n", manual->more);
    fputs(".SH COMMANDS\n", stdout);
    for (uint32_t i = 0; command_at(manual, i) != NULL; i++)
        print_page_command(manual, i);
    for (uint32_t i = 0; i < manual->section_count; i++) {
        const firn_manual_section *section = &manual->sections[i];
        fputs(".SH ", stdout);
        print_upper(section->title);
        putchar('\n');
        for (uint32_t j = 0; j < section->count; j++) {
            print_roff_line(".TP\n", section->entries[j].term);
            print_roff_line("", section->entries[j].text);
        }
    }
    printf(".SH SEE ALSO\n\\fB%s\\fR(1)\n", manual->see_also);
}

/* --- the completion of bash --------------------------------------------------------------------------------------- */

/* Returns true if the value of an option must be one of the words that its argument lists. */
static bool lists_values(const firn_manual_option *option) {
    return option->argument != NULL && islower((unsigned char)option->argument[0]);
}

static void print_pattern(const char *command, const firn_manual_option *option) {
    printf("    %s:%s", command, option->name);
    if (option->brief != NULL)
        printf(" | %s:%s", command, option->brief);
    fputs(") ", stdout);
}

/* Prints what bash completes after an option with a value: one of its words, or a file. */
static void print_bash_value(const char *command, const firn_manual_option *option) {
    if (option->argument == NULL)
        return;
    print_pattern(command, option);
    if (!lists_values(option)) {
        puts("options= ;;");
        return;
    }
    fputs("options= files= words='", stdout);
    for (const char *c = option->argument; *c != '\0'; c++)
        putchar(*c == '|' ? ' ' : *c);
    puts("' ;;");
}

static void print_bash_options(const firn_manual *manual, uint32_t position) {
    const firn_manual_option *option;
    printf("    %s) options='--help", command_at(manual, position)->name);
    for (uint32_t i = 0; (option = option_at(manual, position, i)) != NULL; i++)
        printf(" %s%s%s", option->name, option->brief != NULL ? " " : "", option->brief != NULL ? option->brief : "");
    puts("' ;;");
}

static void print_bash_commands(const firn_manual *manual) {
    const firn_manual_command *command;
    for (uint32_t i = 0; (command = command_at(manual, i)) != NULL; i++)
        printf("%s ", command->name);
}

static void print_bash(const firn_manual *manual) {
    const firn_manual_option *option;
    const char *program = manual->program;
    printf("# Completion of %s for bash, printed by `%s help --completion bash`.\n_%s() {\n", program, program,
           program);
    puts("    local word=${COMP_WORDS[COMP_CWORD]} options= words= files=yes");
    puts("    if [ \"$COMP_CWORD\" -eq 1 ]; then");
    fputs("        mapfile -t COMPREPLY < <(compgen -W '", stdout);
    print_bash_commands(manual);
    puts("--help --version' -- \"$word\")\n        return\n    fi");
    puts("    case ${COMP_WORDS[1]} in");
    for (uint32_t i = 0; command_at(manual, i) != NULL; i++)
        print_bash_options(manual, i);
    puts("    esac\n    case ${COMP_WORDS[1]}:${COMP_WORDS[COMP_CWORD - 1]} in");
    for (uint32_t i = 0; command_at(manual, i) != NULL; i++)
        for (uint32_t j = 0; (option = option_at(manual, i, j)) != NULL; j++)
            print_bash_value(command_at(manual, i)->name, option);
    fputs("    help:help) files= words='", stdout);
    print_bash_commands(manual);
    puts("' ;;\n    esac");
    puts("    case $word in -*) words=\"$words $options\" files= ;; esac");
    puts("    mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$word\"; [ -z \"$files\" ] || compgen -f -- "
         "\"$word\")");
    printf("}\ncomplete -o filenames -F _%s %s\n", program, program);
}

/* --- help --------------------------------------------------------------------------------------------------------- */

const char *firn_manual_help(const firn_manual *manual, int count, char *const *words) {
    const firn_manual_command *command;
    if (count == 0) {
        print_help(manual);
    } else if (count == 1 && strcmp(words[0], "--man") == 0) {
        print_page(manual);
    } else if (count == 2 && strcmp(words[0], "--completion") == 0 && strcmp(words[1], "bash") == 0) {
        print_bash(manual);
    } else {
        for (uint32_t i = 0; count == 1 && (command = command_at(manual, i)) != NULL; i++)
            if (strcmp(words[0], command->name) == 0) {
                print_command(manual, i);
                return NULL;
            }
        return words[count - 1];
    }
    return NULL;
}
