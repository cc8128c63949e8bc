/* What encoding a text needs of Unicode: UTF-8, the classes of characters that tokenizers' patterns ask for, and the
 * normal form NFC. The tables are made by unicode_table.py and have the version that firnc_unicode_version names. */
#ifndef FIRNC_TOKENS_UNICODE_H
#define FIRNC_TOKENS_UNICODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "compiler/base/text.h"

typedef struct firnc_unicode_range {
    uint32_t first, last, value;
} firnc_unicode_range;

typedef struct firnc_unicode_triple {
    uint32_t one, two, three;
} firnc_unicode_triple;

extern const char firnc_unicode_version[];
extern const firnc_unicode_range firnc_unicode_properties[], firnc_unicode_orders[];
extern const firnc_unicode_triple firnc_unicode_decompositions[], firnc_unicode_compositions[];
extern const uint32_t firnc_unicode_properties_count, firnc_unicode_orders_count, firnc_unicode_decompositions_count,
    firnc_unicode_compositions_count;

typedef enum firnc_unicode_property {
    FIRNC_LETTER = 1,  /* \p{L} */
    FIRNC_NUMBER = 2,  /* \p{N} */
    FIRNC_SPACE = 4,   /* \s */
    FIRNC_WORD = 8,    /* \w */
    FIRNC_JOINS = 16,  /* NFC may combine the character with those before it */
    FIRNC_CHANGES = 32 /* NFC replaces the character even where it stands alone */
} firnc_unicode_property;

enum {
    FIRNC_UNICODE_COUNT = 0x110000, /* code points */
    FIRNC_UTF8_MAX = 4              /* bytes of a character */
};

/* The bits of firnc_unicode_property for every code point, followed by 256 zeros for bytes that are no UTF-8. Made at
 * the first call. */
const uint8_t *firnc_unicode_table(void);

/* Decodes the character at the beginning of `count` > 0 bytes and sets its length, from 1 to 4. A byte that begins no
 * character of UTF-8 (also a surrogate, an overlong form, a character that is cut off) is returned as
 * FIRNC_UNICODE_COUNT plus the byte, with length 1. */
uint32_t firnc_utf8_read(const uint8_t *bytes, size_t count, uint32_t *length);

/* Decodes the character that ends at bytes + count, count > 0, likewise. */
uint32_t firnc_utf8_read_back(const uint8_t *bytes, size_t count, uint32_t *length);

/* How many of the last bytes, at most 3, are a beginning of a character whose end is missing. */
size_t firnc_utf8_unfinished(const uint8_t *bytes, size_t count);

/* Writes what firnc_utf8_read returned and returns the number of bytes, from 1 to 4. */
uint32_t firnc_utf8_write(uint32_t code, uint8_t *bytes);

/* Memory that normalising uses again. Initialise it to {0}. */
typedef struct firnc_nfc {
    uint64_t *items;
    uint32_t count, capacity;
} firnc_nfc;

/* Appends the NFC of a text. Bytes that are no UTF-8 stay as they are. */
void firnc_nfc_add(firnc_growing_text *to, const uint8_t *text, size_t count, firnc_nfc *scratch);

#endif
