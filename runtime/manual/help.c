/* Prints the help from the table of a command line (runtime/manual/manual.h). */
#include <stdio.h>
#include <string.h>

#include "runtime/manual/parts.h"

enum { WIDTH = 100, OPTION_COLUMN = 36, NAME_WIDTH = 16, TERM_BYTES = 128 };

/* Prints the words of a text in lines of at most WIDTH, indented by `indent` spaces. The cursor is at `column` on
 * entry; returns where it is afterwards, without a newline. */
static int print_words(const char *text, int indent, int column) {
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
    return column;
}

static void print_wrapped(const char *text, int indent) {
    print_words(text, indent, 0);
    putchar('\n');
}

/* Prints a term and, in a column to its right, its text. A term too long for that has a line to itself. */
static void print_term(const char *term, const char *text, const char *old) {
    int column = printf("      %s", term);
    char note[TERM_BYTES];
    if (column >= OPTION_COLUMN) {
        putchar('\n');
        column = 0;
    }
    column += printf("%*s", OPTION_COLUMN - column, "");
    column = print_words(text, OPTION_COLUMN, column);
    if (old != NULL) {
        snprintf(note, sizeof note, "(old name: %s)", old);
        print_words(note, OPTION_COLUMN, column);
    }
    putchar('\n');
}

static void print_option(const firn_option *option) {
    char term[TERM_BYTES];
    snprintf(term, sizeof term, "%s%s%s%s%s", option->brief != NULL ? option->brief : "",
             option->brief != NULL ? ", " : "", option->name, option->value != NULL ? " " : "",
             option->value != NULL ? option->value : "");
    print_term(term, option->text, option->old);
}

/* Prints what a command line does, and the line, cut so that a shell reads it as one. */
static void print_example(const firn_example *example, bool first) {
    if (first)
        puts("  Examples");
    print_wrapped(example->text, 4);
    for (const char *rest = example->line; *rest != '\0';) {
        const size_t part = firn_example_part(rest);
        printf("%*s%.*s%s\n", rest == example->line ? 8 : 12, "", (int)part, rest, rest[part] != '\0' ? " \\" : "");
        rest += part + (rest[part] != '\0');
    }
}

void firn_help_print_command(const firn_manual *manual, const firn_command *command) {
    const firn_option *option;
    for (uint32_t i = 0; i < FIRN_MANUAL_FORMS && command->forms[i] != NULL; i++)
        printf("  %s %s %s\n", manual->program, command->name, command->forms[i]);
    print_wrapped(command->text, 4);
    if (command->more != NULL)
        print_wrapped(command->more, 4);
    for (uint32_t i = 0; (option = firn_option_at(command, i)) != NULL; i++)
        print_option(option);
    for (uint32_t i = 0; i < FIRN_MANUAL_EXAMPLES && command->examples[i].line != NULL; i++)
        print_example(&command->examples[i], i == 0);
}

void firn_help_print_all(const firn_manual *manual) {
    const firn_command *command;
    printf("%s %s: %s\n\n", manual->program, manual->version, manual->text);
    for (uint32_t i = 0; (command = firn_command_at(manual, i)) != NULL; i++) {
        firn_help_print_command(manual, command);
        putchar('\n');
    }
    print_wrapped(manual->more, 0);
    for (uint32_t i = 0; i < manual->section_count; i++) {
        const firn_manual_section *section = &manual->sections[i];
        printf("\n%s\n", section->title);
        for (uint32_t j = 0; j < section->count; j++)
            print_term(section->entries[j].term, section->entries[j].text, NULL);
    }
}

void firn_help_print_short(const firn_manual *manual) {
    const firn_command *command;
    const char *group = "";
    printf("%s %s: %s\n", manual->program, manual->version, manual->text);
    printf("`%s help COMMAND` shows its options and examples, `%s help --all` all.\n", manual->program,
           manual->program);
    for (uint32_t i = 0; (command = firn_command_at(manual, i)) != NULL; i++) {
        if (strcmp(command->group, group) != 0)
            printf("%s\n", command->group);
        group = command->group;
        printf("  %-*s %s\n", NAME_WIDTH, command->name, command->summary);
    }
}
