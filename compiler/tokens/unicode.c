/* UTF-8 and the table of classes (compiler/tokens/unicode.h). NFC is in nfc.c. */
#include "compiler/tokens/unicode.h"

/* --- classes ------------------------------------------------------------------------------------------------------ */

enum { HANGUL_VOWELS = 0x1161, HANGUL_VOWELS_END = 0x1176, HANGUL_TAILS = 0x11A8, HANGUL_TAILS_END = 0x11C3 };

static void mark(uint8_t *table, uint32_t first, uint32_t last, uint32_t bits) {
    for (uint32_t code = first; code <= last; code++)
        table[code] |= (uint8_t)bits;
}

/* A decomposition of one step may begin with a character that has one itself, so the passes go on until nothing
 * changes.
 */
static void mark_decompositions(uint8_t *table) {
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t i = 0; i < firnc_unicode_decompositions_count; i++) {
            const firnc_unicode_triple *row = &firnc_unicode_decompositions[i];
            if ((table[row->two] & FIRNC_JOINS) != 0 && (table[row->one] & FIRNC_JOINS) == 0) {
                table[row->one] |= FIRNC_JOINS;
                changed = true;
            }
        }
    }
}

static void make_table(uint8_t *table) {
    for (uint32_t i = 0; i < firnc_unicode_properties_count; i++)
        mark(table, firnc_unicode_properties[i].first, firnc_unicode_properties[i].last,
             firnc_unicode_properties[i].value);
    for (uint32_t i = 0; i < firnc_unicode_orders_count; i++)
        mark(table, firnc_unicode_orders[i].first, firnc_unicode_orders[i].last, FIRNC_JOINS);
    mark(table, HANGUL_VOWELS, HANGUL_VOWELS_END - 1, FIRNC_JOINS);
    mark(table, HANGUL_TAILS, HANGUL_TAILS_END - 1, FIRNC_JOINS);
    for (uint32_t i = 0; i < firnc_unicode_decompositions_count; i++)
        table[firnc_unicode_decompositions[i].one] |= FIRNC_CHANGES;
    for (uint32_t i = 0; i < firnc_unicode_compositions_count; i++) {
        table[firnc_unicode_compositions[i].three] &= (uint8_t)~FIRNC_CHANGES;
        table[firnc_unicode_compositions[i].two] |= FIRNC_JOINS;
    }
    mark_decompositions(table);
}

const uint8_t *firnc_unicode_table(void) {
    static uint8_t table[FIRNC_UNICODE_COUNT + 256];
    if (table['a'] == 0)
        make_table(table);
    return table;
}

/* --- UTF-8 -------------------------------------------------------------------------------------------------------- */

/* The length that the first byte of a character announces; 0 if no character begins with it. */
static uint32_t announced(uint8_t first) {
    return first < 0x80 ? 1 : first < 0xC2 ? 0 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : first < 0xF5 ? 4 : 0;
}

uint32_t firnc_utf8_read(const uint8_t *bytes, size_t count, uint32_t *length) {
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    const uint32_t wanted = announced(bytes[0]);
    *length = 1;
    if (wanted == 1)
        return bytes[0];
    if (wanted == 0 || wanted > count)
        return FIRNC_UNICODE_COUNT + bytes[0];
    uint32_t code = bytes[0] & (0x7Fu >> wanted);
    for (uint32_t i = 1; i < wanted; i++) {
        if ((bytes[i] & 0xC0) != 0x80)
            return FIRNC_UNICODE_COUNT + bytes[0];
        code = code << 6 | (bytes[i] & 0x3Fu);
    }
    if (code < least[wanted] || code >= FIRNC_UNICODE_COUNT || (code >= 0xD800 && code < 0xE000))
        return FIRNC_UNICODE_COUNT + bytes[0];
    *length = wanted;
    return code;
}

uint32_t firnc_utf8_read_back(const uint8_t *bytes, size_t count, uint32_t *length) {
    const size_t most = count < FIRNC_UTF8_MAX ? count : FIRNC_UTF8_MAX;
    for (uint32_t i = 1; i <= most; i++) {
        const uint32_t code = firnc_utf8_read(bytes + count - i, i, length);
        if (*length == i && code < FIRNC_UNICODE_COUNT)
            return code;
    }
    *length = 1;
    return FIRNC_UNICODE_COUNT + bytes[count - 1];
}

size_t firnc_utf8_unfinished(const uint8_t *bytes, size_t count) {
    for (size_t i = 1; i < FIRNC_UTF8_MAX && i <= count; i++) {
        const uint8_t byte = bytes[count - i];
        if (announced(byte) > i)
            return i;
        if ((byte & 0xC0) != 0x80)
            return 0;
    }
    return 0;
}

uint32_t firnc_utf8_write(uint32_t code, uint8_t *bytes) {
    if (code < 0x80 || code >= FIRNC_UNICODE_COUNT) {
        bytes[0] = (uint8_t)(code < 0x80 ? code : code - FIRNC_UNICODE_COUNT);
        return 1;
    }
    const uint32_t length = code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    for (uint32_t i = length - 1; i > 0; i--, code >>= 6)
        bytes[i] = (uint8_t)(0x80 | (code & 0x3F));
    bytes[0] = (uint8_t)(0xF00u >> length | code);
    return length;
}
