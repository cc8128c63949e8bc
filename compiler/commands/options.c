/* Command lines. What an option means is in the file of its command. */
#include "compiler/commands/options.h"

#include <stdarg.h>
#include <string.h>

#include "compiler/base/files.h"
#include "compiler/base/nearest.h"
#include "compiler/commands/commands.h"
#include "compiler/graph/ir.h"

int firnc_usage(const char *command, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    firnc_say("firnc %s: %s", command, firnc_format_list(format, arguments));
    va_end(arguments);
    return FIRNC_EXIT_USAGE;
}

bool firnc_output_is_free(const char *command, const char *output, const char *const *inputs, uint32_t count) {
    for (uint32_t i = 0; i < count; i++)
        if (inputs[i] != NULL && firnc_same_file(output, inputs[i])) {
            firnc_usage(command, "-o: %s would replace %s, which is read; give another name", output, inputs[i]);
            return false;
        }
    return true;
}

bool firnc_number_read(const char *text, uint64_t most, uint64_t *value) {
    *value = 0;
    for (const char *c = text; *c != '\0'; c++) {
        if (*c < '0' || *c > '9' || *value > (most - (uint64_t)(*c - '0')) / 10)
            return false;
        *value = *value * 10 + (uint64_t)(*c - '0');
    }
    return *text != '\0';
}

/* The option that a word names, up to its '='. */
static const firnc_option *find(const char *word, const firnc_option *options, uint32_t count) {
    size_t length = strcspn(word, "=");
    for (uint32_t i = 0; i < count; i++)
        if (strlen(options[i].name) == length && memcmp(options[i].name, word, length) == 0)
            return &options[i];
    return NULL;
}

static bool fail_unknown(const char *command, const char *word, const firnc_option *options, uint32_t count) {
    if (count == 0) {
        firnc_usage(command, "%s: there are no options; see firnc help", word);
        return false;
    }
    const char **names = firnc_allocate((count + 1) * sizeof *names);
    for (uint32_t i = 0; i < count; i++)
        names[i] = options[i].name;
    firnc_usage(command, "%s: unknown option; the nearest known one is %s", word, firnc_nearest(word, names));
    return false;
}

/* Takes the option at argv[*at] with its value; *at moves to the last word that was taken. */
static bool take(int argc, char **argv, int *at, const firnc_option *option) {
    const char *word = argv[*at], *equals = strchr(word, '=');
    if (option->flag != NULL) {
        *option->flag = true;
        if (equals != NULL)
            firnc_usage(argv[0], "%s: takes no value; leave it out", option->name);
        return equals == NULL;
    }
    if (equals == NULL && *at + 1 == argc) {
        firnc_usage(argv[0], "%s: its value is missing; write it behind the option", word);
        return false;
    }
    const char *value = equals != NULL ? equals + 1 : argv[++*at];
    if (option->text != NULL) {
        if (*option->text != NULL)
            firnc_usage(argv[0], "%s: given twice; leave one out", option->name);
        bool once = *option->text == NULL;
        *option->text = value;
        return once;
    }
    if (option->texts->count == FIRNC_TEXTS_MAX) {
        firnc_usage(argv[0], "%s: given more than %d times; put the values into the recipe", option->name,
                    FIRNC_TEXTS_MAX);
        return false;
    }
    option->texts->text[option->texts->count++] = value;
    return true;
}

bool firnc_options_read(int argc, char **argv, const firnc_option *options, uint32_t option_count, const char **words,
                        uint32_t word_count) {
    uint32_t found = 0;
    for (int i = 1; i < argc; i++) {
        if (argv[i][0] == '-' && argv[i][1] != '\0') {
            const firnc_option *option = find(argv[i], options, option_count);
            if (option == NULL)
                return fail_unknown(argv[0], argv[i], options, option_count);
            if (!take(argc, argv, &i, option))
                return false;
        } else if (found < word_count) {
            words[found++] = argv[i];
        } else {
            firnc_usage(argv[0], "%s: one word too many; see firnc help", argv[i]);
            return false;
        }
    }
    if (found < word_count) {
        firnc_usage(argv[0], "a file name is missing; see firnc help");
        return false;
    }
    return true;
}
