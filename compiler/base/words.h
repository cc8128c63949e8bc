/* Words and texts that several files print, so that they read the same everywhere. */
#ifndef FIRNC_WORDS_H
#define FIRNC_WORDS_H

#include <stdint.h>

#include "plan/ops.h"

/* "float32[2,3]", or "float32[?]" while there are no extents */
const char *firnc_shape_text(const firn_shape *shape);
/* The first of some words that are separated by spaces, "" where there is none; *words moves behind it. */
const char *firnc_next_word(const char **words);
/* Two hexadecimal digits for each byte. */
const char *firnc_hex(const uint8_t *bytes, uint32_t count);

#endif
