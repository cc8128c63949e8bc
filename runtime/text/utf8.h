/* UTF-8, for all that writes names of users into JSON, SVG and pages. Nothing here allocates or prints. */
#ifndef FIRN_TEXT_UTF8_H
#define FIRN_TEXT_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { FIRN_UTF8_MOST = 4 }; /* bytes of a character */

/* Decodes the character at the beginning of a text that a zero ends. Returns its bytes and stores its number; returns 0
 * if there is none: a long form, half of a surrogate pair, a number above 0x10ffff, bytes that are missing, or the end
 * of the text. */
size_t firn_utf8_decode(const char *text, uint32_t *code);

/* Whether all of a text that a zero ends is UTF-8. */
bool firn_utf8_is(const char *text);

/* Writes the character of a number up to 0x10ffff, without a zero behind it. Returns its bytes. */
size_t firn_utf8_encode(char to[FIRN_UTF8_MOST], uint32_t code);

#endif
