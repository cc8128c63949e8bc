/* What every file of firnc uses: memory that is released as a whole instead of block by block, formatted text, and
 * messages of one line. Texts that these functions return belong to that memory. */
#ifndef FIRNC_TEXT_H
#define FIRNC_TEXT_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FIRNC_ALIGNMENT 64 /* alignment of a plan in memory that the verifier requires */

/* Zeroed memory, the second at a multiple of FIRNC_ALIGNMENT. If memory is exhausted, they do not return: the call of
 * the compiler ends early (compiler/base/landing.h). */
void *firnc_allocate(uint64_t bytes) __attribute__((returns_nonnull));
uint8_t *firnc_allocate_aligned(uint64_t bytes) __attribute__((returns_nonnull));

/* A release frees everything that was allocated since the mark was taken, for work that one run of firnc repeats many
 * times. The caller makes sure that no pointer into that memory is used afterwards. */
typedef struct firnc_mark {
    void *last;
} firnc_mark;
firnc_mark firnc_memory_mark(void);
void firnc_memory_release(firnc_mark mark);

/* Returns an array with room for one more element. If count has reached *capacity, this is a new array of twice the
 * capacity with the elements copied; the old array stays allocated, so pointers into it still read the old elements. */
void *firnc_grown(void *elements, uint32_t count, uint32_t *capacity, size_t size);

const char *firnc_format(const char *format, ...) __attribute__((format(printf, 1, 2), returns_nonnull));
const char *firnc_format_list(const char *format, va_list arguments)
    __attribute__((format(printf, 1, 0), returns_nonnull));

/* A text that grows. Initialise it to {0}. A zero byte, which length excludes, ends the text. */
typedef struct firnc_growing_text {
    char *text;
    uint64_t length, capacity;
} firnc_growing_text;

void firnc_text_add(firnc_growing_text *to, const void *bytes, uint64_t count);

/* A name that a program or a recipe gives: of a model, a layer, an input, a parameter, a group or a schedule. The limit
 * leaves room for what the passes add to a name, because a name in a plan has at most 200 bytes (plan.fbs). */
#define FIRNC_NAME_MAX 160

/* True for 1 to FIRNC_NAME_MAX bytes of printable ASCII; false for NULL. */
bool firnc_is_name(const char *text);

/* True if the text ends with `end`, or equals it. */
bool firnc_text_ends(const char *text, const char *end);

/* A copy of the text with each byte that is not printable ASCII written as \xNN. Recipes and file names are untrusted
 * text, which must not break a line or send control codes to a terminal. */
const char *firnc_printable(const char *text);

/* Passes one message on, as a line of printable text, to the function that receives messages. Every message of firnc
 * goes through this function. It never ends the call, and uses no memory of the compiler. */
void firnc_say(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Sets the function that receives later messages. Each is one line of ASCII without a line end, valid until the
 * function returns. NULL: the default receives them again. */
typedef void (*firnc_message)(void *context, const char *line);
void firnc_messages_to(firnc_message message, void *context);

/* Sets the default, which is called with NULL as its context. There is none at first: messages are lost. A program
 * sets one that prints to stderr. */
void firnc_messages_by_default(firnc_message message);

/* Passes a line on to a receiver, or to the default if it is NULL; the receiver that is set stays. For a message of
 * no work, in any thread. */
void firnc_say_to(firnc_message message, void *context, const char *line);

/* A place in a recipe, with which a message begins. */
typedef struct firnc_place {
    const char *file; /* NULL: no place is known */
    uint32_t line;    /* 0: set by --set */
    const char *path; /* of the key, such as "trainer.init.seed"; "" for the whole file */
} firnc_place;

/* Says "firnc: FILE:LINE: PATH: text". The file must not be NULL. */
void firnc_say_at(const firnc_place *place, const char *text);

#endif
