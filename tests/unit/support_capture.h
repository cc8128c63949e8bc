/* What a function writes to a standard stream, as text. Test code. */
#ifndef FIRN_TESTS_SUPPORT_CAPTURE_H
#define FIRN_TESTS_SUPPORT_CAPTURE_H

#include <stddef.h>
#include <stdint.h>

/* Sends what is written to a standard stream, STDOUT_FILENO or STDERR_FILENO, to a temporary file instead. Child
 * processes inherit that. There is one capture at a time. An assertion that fails during a capture leaves it open: the
 * next capture, or the end of the program, restores the stream and writes the captured bytes to it. */
void support_capture_begin(int stream);

/* Restores the stream and stores the first most - 1 of the captured bytes, and a 0, in `text`. Returns their number. */
size_t support_capture_end(char *text, size_t most);

/* Runs a command on a new file with these bytes. Returns its exit code, and what it wrote to the stream as above. */
int support_capture_command(int (*command)(const char *file), const void *bytes, uint64_t count, int stream, char *text,
                            size_t most);

#endif
