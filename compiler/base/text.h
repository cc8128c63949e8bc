/* What every file of firnc uses: memory that nobody frees piece by piece, texts made by a format, one line that says
 * what is wrong. */
#ifndef FIRNC_TEXT_H
#define FIRNC_TEXT_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FIRNC_ALIGNMENT 64 /* where the verifier wants a plan to lie */

void *firnc_allocate(uint64_t bytes);            /* zeroed; does not return when memory is out */
uint8_t *firnc_allocate_aligned(uint64_t bytes); /* the same at a multiple of FIRNC_ALIGNMENT */

/* Frees what was allocated since a mark was taken: for work that is done many times in one run of firnc, by those who
 * know that nothing points there any more. */
typedef struct firnc_mark {
    void *last;
} firnc_mark;
firnc_mark firnc_memory_mark(void);
void firnc_memory_release(firnc_mark mark);

/* What is called when memory is out, after one message, in place of exit(1). It must not return; it may longjmp, and
 * release what was allocated since a mark. NULL: exit(1) again. */
void firnc_out_of_memory_to(void (*function)(void *context), void *context);

/* Room for one more: doubles an array, in fresh memory. Pointers into the old one keep reading the old elements. */
void *firnc_grown(void *elements, uint32_t count, uint32_t *capacity, size_t size);

const char *firnc_format(const char *format, ...) __attribute__((format(printf, 1, 2)));
const char *firnc_format_list(const char *format, va_list arguments) __attribute__((format(printf, 1, 0)));

/* A text that grows. It begins as {0} and ends with a zero byte that is not counted. */
typedef struct firnc_growing_text {
    char *text;
    uint64_t length, capacity;
} firnc_growing_text;

void firnc_text_add(firnc_growing_text *to, const void *bytes, uint64_t count);

/* The text with each byte that is not printable ASCII as \xNN. A recipe and the names of files are foreign text, which
 * may neither end a line nor steer a terminal. */
const char *firnc_printable(const char *text);

/* One line, printable: every message of firnc goes through here, to stderr or to whoever asked for it. */
void firnc_say(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Takes the messages from now on, in place of stderr: a line of ASCII without its end, which the function may read
 * until it returns. NULL: stderr again. */
typedef void (*firnc_message)(void *context, const char *line);
void firnc_messages_to(firnc_message message, void *context);

/* Where in a file something is said: what a message begins with. */
typedef struct firnc_place {
    const char *file; /* NULL: there is no place */
    uint32_t line;    /* 0: it came from --set */
    const char *path; /* of the key, "trainer.init.seed"; "" for the whole file */
} firnc_place;

/* "firnc: FILE:LINE: PATH: text" */
void firnc_say_at(const firnc_place *place, const char *text);

#endif
