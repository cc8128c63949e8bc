/* Writes what firnc export made: to a file, whole or not at all, or to standard output. */
#include <stdio.h>

#include "compiler/base/files.h"
#include "compiler/base/text.h"
#include "compiler/commands/commands.h"
#include "compiler/commands/export.h"

int firnc_export_write(const char *output, const void *bytes, uint64_t count) {
    if (output != NULL)
        return firnc_file_write(output, bytes, count) ? FIRNC_EXIT_OK : FIRNC_EXIT_WRONG;
    if (fwrite(bytes, 1, count, stdout) == count)
        return FIRNC_EXIT_OK;
    firnc_say("firnc: standard output: could not be written");
    return FIRNC_EXIT_WRONG;
}
