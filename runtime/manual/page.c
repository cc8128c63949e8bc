/* Prints manual pages in roff from the table of a command line (runtime/manual/manual.h). */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "runtime/manual/parts.h"

enum { LINE = 72 };

/* Prints `length` characters of a text, with those escaped that roff would interpret. */
static void print_roff(const char *text, size_t length) {
    if (*text == '.' || *text == '\'')
        fputs("\\&", stdout);
    for (size_t i = 0; i < length; i++)
        switch (text[i]) {
        case '-':
            fputs("\\-", stdout);
            break;
        case '\\':
            fputs("\\e", stdout);
            break;
        default:
            putchar(text[i]);
        }
}

static void print_upper(const char *text) {
    for (; *text != '\0'; text++)
        putchar(toupper((unsigned char)*text));
}

/* Prints a text in lines of at most LINE characters, where it has spaces. */
static void print_roff_line(const char *before, const char *text) {
    fputs(before, stdout);
    while (*text != '\0') {
        size_t length = strlen(text);
        if (length > LINE) {
            for (length = LINE; length > 0 && text[length] != ' ';)
                length--;
            length = length > 0 ? length : strcspn(text, " ");
        }
        print_roff(text, length);
        putchar('\n');
        text += length;
        text += *text == ' ';
    }
}

static void print_option(const firn_option *option) {
    fputs(".TP\n\\fB", stdout);
    if (option->brief != NULL) {
        print_roff(option->brief, strlen(option->brief));
        fputs("\\fR, \\fB", stdout);
    }
    print_roff(option->name, strlen(option->name));
    fputs("\\fR", stdout);
    if (option->value != NULL) {
        fputs(" \\fI", stdout);
        print_roff(option->value, strlen(option->value));
        fputs("\\fR", stdout);
    }
    print_roff_line("\n", option->text);
    if (option->old != NULL) {
        fputs("(old name: ", stdout);
        print_roff(option->old, strlen(option->old));
        puts(")");
    }
}

static void print_forms(const firn_manual *manual, const firn_command *command) {
    for (uint32_t i = 0; i < FIRN_MANUAL_FORMS && command->forms[i] != NULL; i++) {
        printf("\\fB%s ", manual->program);
        print_roff(command->name, strlen(command->name));
        fputs("\\fR ", stdout);
        print_roff_line("", command->forms[i]);
    }
}

static void print_texts(const firn_command *command) {
    print_roff_line("", command->text);
    if (command->more != NULL)
        print_roff_line(".PP\n", command->more);
}

static void print_options(const firn_command *command) {
    const firn_option *option;
    for (uint32_t i = 0; (option = firn_option_at(command, i)) != NULL; i++)
        print_option(option);
}

/* Prints the examples of a command, the first of which may be the first text of its section. */
static void print_examples(const firn_command *command, bool first) {
    for (uint32_t i = 0; i < FIRN_MANUAL_EXAMPLES && command->examples[i].line != NULL; i++) {
        const firn_example *example = &command->examples[i];
        print_roff_line(first && i == 0 ? "" : ".PP\n", example->text);
        fputs(".RS 4\n.nf\n", stdout); /* the command, indented below what it does */
        for (const char *rest = example->line; *rest != '\0';) {
            const size_t part = firn_example_part(rest);
            print_roff(rest, part);
            puts(rest[part] != '\0' ? " \\e" : "");
            rest += part + (rest[part] != '\0');
        }
        fputs(".fi\n.RE\n", stdout);
    }
}

static void print_sections(const firn_manual *manual) {
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
}

/* The head of a page; command NULL: of the program. */
static void print_head(const firn_manual *manual, const firn_command *command, const char *text) {
    fputs(".TH ", stdout);
    print_upper(manual->program);
    if (command != NULL) {
        fputs("\\-", stdout);
        print_upper(command->name);
    }
    printf(" 1 \"\" \"Firn %s\" \"Firn\"\n.SH NAME\n%s", manual->version, manual->program);
    if (command != NULL) {
        putchar('-'); /* programs that list pages look for the bare name */
        fputs(command->name, stdout);
    }
    print_roff_line(" \\- ", text);
}

static void print_page_of_program(const firn_manual *manual) {
    const firn_command *command;
    print_head(manual, NULL, manual->text);
    fputs(".SH SYNOPSIS\n.nf\n", stdout);
    for (uint32_t i = 0; (command = firn_command_at(manual, i)) != NULL; i++)
        print_forms(manual, command);
    printf("\\fB%s \\-\\-version\\fR\n.fi\n", manual->program);
    print_roff_line(".SH DESCRIPTION\n", manual->more);
    fputs(".SH COMMANDS\n", stdout);
    for (uint32_t i = 0; (command = firn_command_at(manual, i)) != NULL; i++) {
        printf(".SS %s\n", command->name);
        print_texts(command);
        print_options(command);
    }
    print_sections(manual);
    fputs(".SH EXAMPLES\n", stdout);
    for (uint32_t i = 0; (command = firn_command_at(manual, i)) != NULL; i++)
        print_examples(command, i == 0);
    fputs(".SH SEE ALSO\n", stdout);
    for (uint32_t i = 0; (command = manual->command_at(i)) != NULL; i++) {
        printf("\\fB%s\\-", manual->program);
        print_roff(command->name, strlen(command->name));
        fputs("\\fR(1),\n", stdout);
    }
    printf("\\fB%s\\fR(1)\n", manual->see_also);
}

static void print_page_of_command(const firn_manual *manual, const firn_command *command) {
    print_head(manual, command, command->summary);
    fputs(".SH SYNOPSIS\n.nf\n", stdout);
    print_forms(manual, command);
    fputs(".fi\n.SH DESCRIPTION\n", stdout);
    print_texts(command);
    if (firn_option_at(command, 0) != NULL)
        fputs(".SH OPTIONS\n", stdout);
    print_options(command);
    print_sections(manual);
    if (command->examples[0].line != NULL)
        fputs(".SH EXAMPLES\n", stdout);
    print_examples(command, true);
    printf(".SH SEE ALSO\n\\fB%s\\fR(1)\n", manual->program);
}

void firn_page_print(const firn_manual *manual, const firn_command *command) {
    if (command != NULL)
        print_page_of_command(manual, command);
    else
        print_page_of_program(manual);
}
