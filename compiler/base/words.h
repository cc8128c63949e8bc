/* Text that several files print, so that its form is the same everywhere. */
#ifndef FIRNC_WORDS_H
#define FIRNC_WORDS_H

#include <stdint.h>

#include "plan/ops.h"

/* "float32[2,3]", or "float32[?]" for a shape without extents */
const char *firnc_shape_text(const firn_shape *shape);
/* Returns the first word of a list separated by spaces, "" at its end, and moves *words behind that word. */
const char *firnc_next_word(const char **words);
/* Two lower-case hexadecimal digits for each byte. */
const char *firnc_hex(const uint8_t *bytes, uint32_t count);

#endif
