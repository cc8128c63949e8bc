/* Decodes and encodes characters of UTF-8 (utf8.h). */
#include "runtime/text/utf8.h"

size_t firn_utf8_decode(const char *text, uint32_t *code) {
    static const uint32_t least[FIRN_UTF8_MOST + 1] = {0, 1, 0x80, 0x800, 0x10000};
    const unsigned char *c = (const unsigned char *)text;
    const size_t bytes = *c < 0x80             ? 1
                         : (*c & 0xe0) == 0xc0 ? 2
                         : (*c & 0xf0) == 0xe0 ? 3
                         : (*c & 0xf8) == 0xf0 ? 4
                                               : 0;
    if (bytes == 0)
        return 0;
    uint32_t number = bytes == 1 ? *c : *c & (0x7fU >> bytes);
    for (size_t i = 1; i < bytes; i++) {
        if ((c[i] & 0xc0) != 0x80) /* the zero at the end, too */
            return 0;
        number = number << 6 | (c[i] & 0x3fU);
    }
    if (number < least[bytes] || number > 0x10ffff || (number >= 0xd800 && number <= 0xdfff))
        return 0;
    *code = number;
    return bytes;
}

bool firn_utf8_is(const char *text) {
    uint32_t code;
    size_t bytes;
    while ((bytes = firn_utf8_decode(text, &code)) != 0)
        text += bytes;
    return *text == 0;
}

size_t firn_utf8_encode(char to[FIRN_UTF8_MOST], uint32_t code) {
    static const uint8_t begins[] = {0, 0xc0, 0xe0, 0xf0};
    const uint32_t more = code < 0x80 ? 0 : code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
    to[0] = (char)(begins[more] | code >> 6 * more);
    for (uint32_t i = 1; i <= more; i++)
        to[i] = (char)(0x80 | (code >> 6 * (more - i) & 0x3f));
    return more + 1;
}
