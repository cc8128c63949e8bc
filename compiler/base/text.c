/* Memory, text and messages (compiler/base/text.h). */
#include "compiler/base/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/base/landing.h"

/* --- memory ------------------------------------------------------------------------------------------------------- */

/* Header of an allocation. Blocks form a chain, which firnc_memory_release walks and which keeps them reachable for a
 * leak checker. */
typedef struct block {
    struct block *previous;
    uint64_t padding; /* aligns the caller's bytes to 16 */
} block;

static block *last;

void *firnc_allocate(uint64_t bytes) {
    block *fresh = NULL;
    if (bytes <= SIZE_MAX - sizeof(block))
        fresh = calloc(1, sizeof(block) + (size_t)bytes);
    if (fresh == NULL)
        firnc_out_of_memory(bytes);
    fresh->previous = last;
    last = fresh;
    return fresh + 1;
}

firnc_mark firnc_memory_mark(void) {
    return (firnc_mark){last};
}

void firnc_memory_release(firnc_mark mark) {
    while (last != mark.last) {
        block *previous = last->previous;
        free(last);
        last = previous;
    }
}

uint8_t *firnc_allocate_aligned(uint64_t bytes) {
    uint8_t *memory = firnc_allocate(bytes + FIRNC_ALIGNMENT);
    return memory + (FIRNC_ALIGNMENT - (uintptr_t)memory % FIRNC_ALIGNMENT) % FIRNC_ALIGNMENT;
}

void *firnc_grown(void *elements, uint32_t count, uint32_t *capacity, size_t size) {
    if (count < *capacity)
        return elements;
    uint32_t larger = *capacity == 0 ? 64 : *capacity * 2;
    void *fresh = firnc_allocate((uint64_t)larger * size);
    if (count > 0)
        memcpy(fresh, elements, count * size);
    *capacity = larger;
    return fresh;
}

/* --- text --------------------------------------------------------------------------------------------------------- */

const char *firnc_format_list(const char *format, va_list arguments) {
    va_list again;
    va_copy(again, arguments);
    int length = vsnprintf(NULL, 0, format, arguments);
    if (length < 0)
        firnc_out_of_memory(0);
    char *text = firnc_allocate((uint64_t)length + 1);
    vsnprintf(text, (size_t)length + 1, format, again);
    va_end(again);
    return text;
}

const char *firnc_format(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    const char *text = firnc_format_list(format, arguments);
    va_end(arguments);
    return text;
}

void firnc_text_add(firnc_growing_text *to, const void *bytes, uint64_t count) {
    if (to->length + count + 1 > to->capacity) {
        const uint64_t capacity = 2 * (to->capacity + count + 1);
        char *larger = firnc_allocate(capacity);
        if (to->length > 0)
            memcpy(larger, to->text, to->length);
        to->text = larger;
        to->capacity = capacity;
    }
    memcpy(to->text + to->length, bytes, count);
    to->length += count;
    to->text[to->length] = '\0';
}

static bool is_printable(char byte) {
    return byte >= ' ' && byte <= '~';
}

bool firnc_is_name(const char *text) {
    size_t length = 0;
    while (text != NULL && length <= FIRNC_NAME_MAX && is_printable(text[length]))
        length++;
    return length > 0 && length <= FIRNC_NAME_MAX && text[length] == '\0';
}

bool firnc_text_ends(const char *text, const char *end) {
    const size_t length = strlen(text), tail = strlen(end);
    return length >= tail && strcmp(text + length - tail, end) == 0;
}

const char *firnc_printable(const char *text) {
    firnc_growing_text printable = {0};
    firnc_text_add(&printable, "", 0);
    for (; *text != '\0'; text++)
        if (is_printable(*text))
            firnc_text_add(&printable, text, 1);
        else
            firnc_text_add(&printable, firnc_format("\\x%02x", (unsigned)(unsigned char)*text), strlen("\\xNN"));
    return printable.text;
}

/* --- messages ----------------------------------------------------------------------------------------------------- */

static firnc_message receiver, usual;
static void *receiver_context;

enum { SHORT_BYTES = 2048, ESCAPED_BYTES = 4 /* of a byte that is not printable */ };

void firnc_say_to(firnc_message message, void *context, const char *line) {
    if (message != NULL)
        message(context, line);
    else if (usual != NULL)
        usual(NULL, line);
}

/* Passes a line on, escaped. A line that is too long for `room` is cut. */
static void deliver(const char *text, char *room, size_t size) {
    size_t length = 0;
    for (; *text != '\0' && length + ESCAPED_BYTES < size; text++)
        length += (size_t)snprintf(room + length, size - length, is_printable(*text) ? "%c" : "\\x%02x",
                                   (unsigned)(unsigned char)*text);
    room[length] = '\0';
    firnc_say_to(receiver, receiver_context, room);
}

/* Uses no memory of the compiler, and cuts a long message if there is no other: a message must be possible wherever a
 * call could not end early, such as between the names of a set of files. */
void firnc_say(const char *format, ...) {
    char text[SHORT_BYTES], room[ESCAPED_BYTES * SHORT_BYTES + 1];
    va_list arguments, again;
    va_start(arguments, format);
    va_copy(again, arguments);
    const int length = vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    char *longer = NULL, *longer_room = NULL;
    const size_t bytes = length < 0 ? 0 : (size_t)length + 1;
    if (bytes > sizeof text) {
        longer = malloc(bytes);
        longer_room = malloc(ESCAPED_BYTES * bytes + 1);
    }
    if (longer != NULL && longer_room != NULL) {
        vsnprintf(longer, bytes, format, again);
        deliver(longer, longer_room, ESCAPED_BYTES * bytes + 1);
    } else if (length >= 0) {
        deliver(text, room, sizeof room);
    }
    va_end(again);
    free(longer);
    free(longer_room);
}

void firnc_messages_to(firnc_message message, void *context) {
    receiver = message;
    receiver_context = context;
}

void firnc_messages_by_default(firnc_message message) {
    usual = message;
}

void firnc_say_at(const firnc_place *place, const char *text) {
    if (place->line == 0)
        firnc_say("firnc: %s: --set %s: %s", place->file, place->path, text);
    else if (place->path[0] == '\0')
        firnc_say("firnc: %s:%u: %s", place->file, (unsigned)place->line, text);
    else
        firnc_say("firnc: %s:%u: %s: %s", place->file, (unsigned)place->line, place->path, text);
}
