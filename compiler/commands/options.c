/* What the commands have in common of their command lines. The parser is runtime/manual/parse.c; the meaning of an
 * option belongs to the file of its command. */
#include "compiler/commands/options.h"

#include <stdarg.h>

#include "compiler/base/files.h"
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

void firnc_say_line(const char *line) {
    firnc_say("%s", line);
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

bool firnc_options_read(int argc, char **argv, const firnc_command *command, void *request) {
    static const firn_manual speaker = {.program = "firnc", .say = firnc_say_line};
    return firn_options_read(&speaker, &command->words, argc - 1, argv + 1, request);
}
