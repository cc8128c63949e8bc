/* What every form of firnc export does with its bytes: writes them as C, and writes the result to a file, whole or not
 * at all, or to standard output. */
#include <stdio.h>

#include "compiler/base/files.h"
#include "compiler/base/text.h"
#include "compiler/commands/commands.h"
#include "compiler/commands/export.h"

void firnc_export_add_bytes(firnc_growing_text *to, const uint8_t *bytes, uint64_t count) {
    for (uint64_t i = 0; i < count; i++) {
        char text[16];
        const bool ends = i % 16 == 15 || i + 1 == count;
        const int length = snprintf(text, sizeof text, "%s0x%02x,%s", i % 16 == 0 ? "    " : "", (unsigned)bytes[i],
                                    ends ? "\n" : " ");
        firnc_text_add(to, text, (uint64_t)length);
    }
}

int firnc_export_write(const char *output, const void *bytes, uint64_t count) {
    if (output != NULL && !firnc_file_write(output, bytes, count))
        return FIRNC_EXIT_WRONG;
    if (output != NULL) {
        printf("%s: %llu bytes\n", firnc_printable(output), (unsigned long long)count);
        return FIRNC_EXIT_OK;
    }
    if (!firnc_has_output())
        return FIRNC_EXIT_WRONG;
    fwrite(bytes, 1, count, stdout); /* whether this worked is looked at once, at the end of main */
    return FIRNC_EXIT_OK;
}
