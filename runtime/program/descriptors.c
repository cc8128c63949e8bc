/* Opens closed standard descriptors, and says what the others are (descriptors.h). */
#define _POSIX_C_SOURCE 200809L
#include "runtime/program/descriptors.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool output_was_closed;

bool firn_program_has_terminal(void) {
    const char *terminal = getenv("TERM");
    return isatty(STDERR_FILENO) == 1 && (terminal == NULL || strcmp(terminal, "dumb") != 0);
}

bool firn_program_has_output(void) {
    return !output_was_closed;
}

void firn_program_open_descriptors(void) {
    for (int file = STDIN_FILENO; file <= STDERR_FILENO; file++) {
        if (fcntl(file, F_GETFD) >= 0 || errno != EBADF)
            continue;
        output_was_closed = output_was_closed || file == STDOUT_FILENO;
        /* open() returns the lowest number that is free, which is `file`. Without a null device the root folder takes
         * the number: reading it and writing to it fail. */
        if (open("/dev/null", file == STDIN_FILENO ? O_RDONLY : O_WRONLY) < 0)
            (void)!open("/", O_RDONLY | O_DIRECTORY);
    }
}
