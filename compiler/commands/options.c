/* Parses command lines. The meaning of an option belongs to the file of its command. */
#include "compiler/commands/options.h"

#include <stdarg.h>
#include <string.h>

#include "compiler/base/files.h"
#include "compiler/base/nearest.h"
#include "compiler/commands/commands.h"
#include "compiler/graph/ir.h"
#include "runtime/program/descriptors.h"

int firnc_usage(const char *command, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    firnc_say("firnc %s: %s", command, firnc_format_list(format, arguments));
    va_end(arguments);
    return FIRNC_EXIT_USAGE;
}

bool firnc_has_output(void) {
    if (!firn_program_has_output())
        firnc_say(
            "firnc: standard output cannot be written; it is closed, and the result goes there: open it, or give -o "
            "where the command has it");
    return firn_program_has_output();
}

bool firnc_output_is_free(const char *command, const char *output, const char *const *inputs, uint32_t count) {
    for (uint32_t i = 0; i < count; i++)
        if (inputs[i] != NULL && firnc_same_file(output, inputs[i])) {
            firnc_usage(command, "-o: %s would replace %s, which is read; give another name", output, inputs[i]);
            return false;
        }
    return true;
}

/* Reads digits of a base, 10 or 16. */
static bool read_digits(const char *text, uint32_t base, uint64_t most, uint64_t *value) {
    static const char digits[] = "0123456789abcdef0123456789ABCDEF";
    *value = 0;
    for (const char *c = text; *c != '\0'; c++) {
        const char *found = strchr(digits, *c);
        const uint64_t digit = found != NULL ? (uint64_t)(found - digits) % 16 : base;
        if (digit >= base || digit > most || *value > (most - digit) / base)
            return false;
        *value = *value * base + digit;
    }
    return *text != '\0';
}

bool firnc_decimal_read(const char *text, uint64_t most, uint64_t *value) {
    return read_digits(text, 10, most, value);
}

bool firnc_number_read(const char *text, uint64_t most, uint64_t *value) {
    return strncmp(text, "0x", 2) == 0 ? read_digits(text + 2, 16, most, value) : read_digits(text, 10, most, value);
}

const firnc_option *firnc_option_at(const firnc_command *command, uint32_t position) {
    if (position < command->option_count)
        return &command->options[position];
    position -= command->option_count;
    return position < command->shared_count ? &command->shared[position] : NULL;
}

/* The option that a word names, ignoring '=' and what follows it; NULL if there is none. */
static const firnc_option *find(const char *word, const firnc_command *command) {
    size_t length = strcspn(word, "=");
    const firnc_option *option;
    for (uint32_t i = 0; (option = firnc_option_at(command, i)) != NULL; i++) {
        const char *const names[] = {option->words.name, option->words.brief};
        for (uint32_t j = 0; j < 2; j++)
            if (names[j] != NULL && strlen(names[j]) == length && memcmp(names[j], word, length) == 0)
                return option;
    }
    return NULL;
}

static bool fail_unknown(const char *word, const firnc_command *command) {
    const uint32_t count = command->option_count + command->shared_count;
    if (count == 0) {
        firnc_usage(command->words.name, "%s: there are no options; see firnc help", word);
        return false;
    }
    const char **names = firnc_allocate((2 * (size_t)count + 1) * sizeof *names);
    uint32_t named = 0;
    for (uint32_t i = 0; i < count; i++) {
        const firn_manual_option *words = &firnc_option_at(command, i)->words;
        if (words->brief != NULL)
            names[named++] = words->brief;
        names[named++] = words->name;
    }
    firnc_usage(command->words.name, "%s: unknown option; %s", word,
                firnc_nearest_text(firnc_format("%.*s", (int)strcspn(word, "="), word), names));
    return false;
}

/* Stores the value of an option that takes one. `name` is the option as the user wrote it. */
static bool store(const char *command, const char *name, const char *value, const firnc_option *option, void *place) {
    if (option->kind == FIRNC_OPTION_TEXT) {
        const char **text = place;
        if (*text != NULL) {
            firnc_usage(command, "%s: given twice; leave one out", name);
            return false;
        }
        *text = value;
        return true;
    }
    firnc_texts *texts = place;
    if (texts->count == FIRNC_TEXTS_MAX) {
        firnc_usage(command, "%s: given more than %d times; put the values into the recipe", name, FIRNC_TEXTS_MAX);
        return false;
    }
    texts->text[texts->count++] = value;
    return true;
}

/* Reads the option at argv[*at] and its value; advances *at to the last word that was read. */
static bool take(int argc, char **argv, int *at, const firnc_option *option, void *request) {
    const char *word = argv[*at], *equals = strchr(word, '=');
    const char *name = firnc_format("%.*s", (int)strcspn(word, "="), word);
    void *place = (char *)request + option->place;
    if (option->kind == FIRNC_OPTION_FLAG) {
        if (equals != NULL) {
            firnc_usage(argv[0], "%s: takes no value; leave it out", name);
            return false;
        }
        *(bool *)place = true;
        return true;
    }
    if (equals == NULL && *at + 1 == argc) {
        firnc_usage(argv[0], "%s: its value is missing; write it behind the option", word);
        return false;
    }
    const char *value = equals != NULL ? equals + 1 : argv[++*at];
    if (*value == '\0') {
        firnc_usage(argv[0], "%s: its value is empty; write it behind the option, or leave out both", name);
        return false;
    }
    return store(argv[0], name, value, option, place);
}

/* Reads all words; `least` to `most` of them are no options. */
static bool read_words(int argc, char **argv, const firnc_command *command, void *request, const char **operands,
                       uint32_t least, uint32_t most, uint32_t *count) {
    *count = 0;
    for (int i = 1; i < argc; i++) {
        if (argv[i][0] == '-' && argv[i][1] != '\0') {
            const firnc_option *option = find(argv[i], command);
            if (option == NULL)
                return fail_unknown(argv[i], command);
            if (!take(argc, argv, &i, option, request))
                return false;
        } else if (argv[i][0] == '\0') {
            firnc_usage(argv[0], "an empty name; write the name of a file");
            return false;
        } else if (*count < most) {
            operands[(*count)++] = argv[i];
        } else {
            firnc_usage(argv[0], "%s: one word too many, the file is %s; leave it out, or see firnc help", argv[i],
                        operands[0]);
            return false;
        }
    }
    if (*count < least) {
        firnc_usage(argv[0], "a file name is missing; see firnc help");
        return false;
    }
    return true;
}

bool firnc_options_read(int argc, char **argv, const firnc_command *command, void *request, const char **operand) {
    uint32_t count;
    *operand = NULL;
    return read_words(argc, argv, command, request, operand, 1, 1, &count);
}

bool firnc_options_read_many(int argc, char **argv, const firnc_command *command, void *request, const char **operands,
                             uint32_t *count) {
    return read_words(argc, argv, command, request, operands, 0, UINT32_MAX, count);
}
