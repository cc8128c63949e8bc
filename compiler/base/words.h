/* Text that several files print, so that its form is the same everywhere. */
#ifndef FIRNC_WORDS_H
#define FIRNC_WORDS_H

#include <stdint.h>

#include "compiler/base/text.h"
#include "plan/ops.h"

/* "float32[2,3]", or "float32[?]" for a shape without extents */
const char *firnc_shape_text(const firn_shape *shape);
/* Returns the first word of a list separated by spaces, "" at its end, and moves *words behind that word. */
const char *firnc_next_word(const char **words);
/* An integer with grouped digits, as in "1,234,567". */
const char *firnc_grouped(uint64_t number);
/* Two lower-case hexadecimal digits for each byte. */
const char *firnc_hex(const uint8_t *bytes, uint32_t count);

/* Names for a message: the first 20, and how many others. Initialise it to {0}. */
typedef struct firnc_names {
    firnc_growing_text text;
    uint32_t count;
} firnc_names;
void firnc_names_add(firnc_names *names, const char *name);
/* "a, b and 3 more" */
const char *firnc_names_text(const firnc_names *names);
/* "48 (a, b, c and 45 more)": the first three, where a user is to know how many there are. */
const char *firnc_names_brief(const firnc_names *names);

#endif
