/* A line of text put together without printf. For the emulated targets; nothing of a product uses it. */
#ifndef FIRN_EMULATED_TEXT_H
#define FIRN_EMULATED_TEXT_H

#include <stddef.h>
#include <stdint.h>

/* Zero it before use. What does not fit is left out; bytes is always terminated. */
typedef struct text {
    char bytes[256];
    size_t used;
} text;

void text_add(text *line, const char *words);
void text_add_unsigned(text *line, uint64_t value);
void text_add_hex(text *line, uint64_t value, unsigned digits);
/* As printf's %.9g, to the character: enough digits to give the same float back. */
void text_add_float(text *line, float value);

#endif
