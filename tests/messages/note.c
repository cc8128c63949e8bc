/* Notes every text that a program formats, with its format, for tests/messages/messages.py: a library that is loaded
 * before the C library (LD_PRELOAD), in whose place it stands for vsnprintf. Each message of firn and firnc passes
 * through that function. The notes are written to memory that is shared with the file $FIRN_NOTES, because programs
 * under test have limits for what they write. Test code. */
#define _GNU_SOURCE /* RTLD_NEXT, program_invocation_short_name */
#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { NOTES_BYTES = 1 << 26, FRAMES = 24, SEEN = 1 << 14 };

typedef int (*formatter)(char *text, size_t most, const char *format, va_list arguments);

/* The file in memory: how many bytes have been taken, then the notes. */
typedef struct notes {
    _Atomic uint64_t taken;
    char text[];
} notes;

static notes *to;
static formatter format_text;
static _Atomic uint64_t seen[SEEN];

static void __attribute__((constructor)) begin(void) {
    const char *file = getenv("FIRN_NOTES"), *program = program_invocation_short_name;
    *(void **)&format_text = dlsym(RTLD_NEXT, "vsnprintf");
    if (file == NULL || (strncmp(program, "firn", 4) != 0 && strncmp(program, "test_", 5) != 0))
        return;
    void *frames[1];
    backtrace(frames, 1); /* the first call loads a library */
    /* Another library may stand for these functions and count their calls. */
    const long opened = syscall(SYS_openat, AT_FDCWD, file, O_RDWR | O_CLOEXEC);
    if (opened < 0)
        return;
    const long memory = syscall(SYS_mmap, NULL, NOTES_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, opened, 0);
    syscall(SYS_close, opened);
    if (memory > 0 || memory < -4095)
        to = (notes *)memory;
}

/* True the first time for this format at this place. */
static int is_new(const char *format, void *const *frames, int count) {
    uint64_t hash = (uintptr_t)format * 0x9e3779b97f4a7c15u;
    for (int i = 0; i < count; i++)
        hash = (hash ^ (uintptr_t)frames[i]) * 0x100000001b3u;
    hash |= 1;
    for (uint64_t at = hash >> 20, tries = 0; tries < 64; at++, tries++) {
        uint64_t free_place = 0;
        if (atomic_compare_exchange_strong(&seen[at % SEEN], &free_place, hash))
            return 1;
        if (free_place == hash)
            return 0;
    }
    return 0;
}

static void put(char *out, size_t *length, size_t most, const char *text) {
    for (; *text != '\0' && *length + 2 < most; text++) {
        if (*text == '\n' || *text == '\\' || *text == '\t')
            out[(*length)++] = '\\';
        out[(*length)++] = *text == '\n' ? 'n' : *text == '\t' ? 't' : *text;
    }
}

/* A note: the format, the text and the places that called, as offsets in the program, with tabs between them. */
static void note(const char *format, const char *text) {
    void *frames[FRAMES];
    const int count = backtrace(frames, FRAMES);
    /* A format of whole messages, such as "firnc: %s:%u: %s", is used at one place for all. */
    if (strncmp(format, "firn", 4) != 0 && !is_new(format, frames, count))
        return;
    char line[8192];
    size_t length = 0;
    put(line, &length, 3000, format);
    line[length++] = '\t';
    put(line, &length, 6000, text);
    line[length++] = '\t';
    for (int i = 2; i < count; i++) {
        Dl_info of;
        if (dladdr(frames[i], &of) != 0)
            length +=
                (size_t)snprintf(line + length, 64, "%lx ", (unsigned long)((char *)frames[i] - (char *)of.dli_fbase));
    }
    line[length++] = '\t';
    put(line, &length, sizeof line - 2, program_invocation_name);
    line[length++] = '\n';
    const uint64_t at = atomic_fetch_add(&to->taken, length);
    if (at + length < NOTES_BYTES - sizeof *to)
        memcpy(to->text + at, line, length);
}

int vsnprintf(char *text, size_t most, const char *format, va_list arguments) {
    const int length = format_text(text, most, format, arguments), error = errno;
    if (to != NULL && text != NULL && length > 0)
        note(format, text);
    errno = error;
    return length;
}
