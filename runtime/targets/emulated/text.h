/* Builds a line of text without printf. For the emulated targets; no product uses it. */
#ifndef FIRN_EMULATED_TEXT_H
#define FIRN_EMULATED_TEXT_H

#include <stddef.h>
#include <stdint.h>

/* Zero it before use. Text that does not fit is dropped; bytes is always terminated. */
typedef struct firn_text {
    char bytes[256];
    size_t used;
} firn_text;

void firn_text_add(firn_text *line, const char *words);
void firn_text_add_unsigned(firn_text *line, uint64_t value);
void firn_text_add_hex(firn_text *line, uint64_t value, unsigned digits);
/* Adds a SHA-256 as 64 hexadecimal digits. */
void firn_text_add_hash(firn_text *line, const uint8_t hash[32]);
/* Adds a float exactly as printf's %.9g does: with enough digits to recover the same float. */
void firn_text_add_float(firn_text *line, float value);

#endif
