/* See support_capture.h. */
#define _XOPEN_SOURCE 700 /* mkstemp, dup2 */
#include "tests/unit/support_capture.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "tests/unit/support_test.h"

/* The captured stream, a second descriptor of what it was, and the file in its place; NULL: no capture is open. */
static int captured, before;
static FILE *file;

enum { NAME_MOST = 4096 };

/* Makes an empty file in $TMPDIR or /tmp. Returns its descriptor, and its name in `name`. */
static int make_file(char *name, size_t most) {
    const char *folder = getenv("TMPDIR");
    const int length =
        snprintf(name, most, "%s/firn-captured-XXXXXX", folder != NULL && *folder != '\0' ? folder : "/tmp");
    assert_true(length > 0 && (size_t)length < most);
    const int descriptor = mkstemp(name);
    assert_true(descriptor >= 0);
    return descriptor;
}

static void restore(void) {
    fflush(NULL);
    dup2(before, captured);
    close(before);
    rewind(file);
}

/* Ends a capture that a failed assertion left open. */
static void give_up(void) {
    char text[4096];
    size_t count;
    if (file == NULL)
        return;
    restore();
    while ((count = fread(text, 1, sizeof text, file)) > 0 && write(captured, text, count) == (ssize_t)count)
        continue;
    fclose(file);
    file = NULL;
}

void support_capture_begin(int stream) {
    static int is_registered;
    give_up();
    if (!is_registered)
        assert_int_equal(atexit(give_up), 0);
    is_registered = 1;
    fflush(NULL);
    captured = stream;
    before = dup(stream);
    char name[NAME_MOST];
    FILE *to = fdopen(make_file(name, sizeof name), "w+");
    unlink(name);
    assert_true(before >= 0 && to != NULL && dup2(fileno(to), stream) == stream);
    file = to;
}

size_t support_capture_end(char *text, size_t most) {
    assert_non_null(file);
    restore();
    const size_t count = fread(text, 1, most - 1, file);
    text[count] = '\0';
    fclose(file);
    file = NULL;
    return count;
}

int support_capture_command(int (*command)(const char *file), const void *bytes, uint64_t count, int stream, char *text,
                            size_t most) {
    char name[NAME_MOST];
    const int descriptor = make_file(name, sizeof name);
    assert_int_equal(write(descriptor, bytes, (size_t)count), count);
    close(descriptor);
    support_capture_begin(stream);
    const int result = command(name);
    support_capture_end(text, most);
    unlink(name);
    return result;
}
