/* Writes text and numbers as JSON that may stand in a script of HTML (runtime/report/report.h). */
#include <math.h>
#include <string.h>

#include "runtime/report/report.h"

static void put_unit(FILE *to, uint32_t unit) {
    fprintf(to, "\\u%04lx", (unsigned long)unit);
}

static void put_code(FILE *to, uint32_t code) {
    if (code < 0x10000) {
        put_unit(to, code);
        return;
    }
    put_unit(to, 0xd800 + ((code - 0x10000) >> 10));
    put_unit(to, 0xdc00 + ((code - 0x10000) & 0x3ff));
}

/* Decodes the character of UTF-8 at the beginning of at most `count` bytes, at least one. Returns its bytes; 0 if it is
 * none. */
static size_t decode(const unsigned char *c, size_t count, uint32_t *code) {
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    const size_t bytes = *c < 0x80             ? 1
                         : (*c & 0xe0) == 0xc0 ? 2
                         : (*c & 0xf0) == 0xe0 ? 3
                         : (*c & 0xf8) == 0xf0 ? 4
                                               : 0;
    if (bytes == 0 || bytes > count)
        return 0;
    *code = bytes == 1 ? *c : *c & (0x7fU >> bytes);
    for (size_t i = 1; i < bytes; i++) {
        if ((c[i] & 0xc0) != 0x80)
            return 0;
        *code = *code << 6 | (c[i] & 0x3fU);
    }
    const bool good = *code >= least[bytes] && *code <= 0x10ffff && (*code < 0xd800 || *code > 0xdfff);
    return good ? bytes : 0;
}

/* Writes the inside of a string. */
static void put(FILE *to, const char *text) {
    const unsigned char *c = (const unsigned char *)text, *end = c + strlen(text);
    while (c < end) {
        uint32_t code = 0xfffd;
        const size_t bytes = decode(c, (size_t)(end - c), &code);
        const bool plain = bytes == 1 && code >= 0x20 && code < 0x7f && strchr("<>&\"'\\", (int)code) == NULL;
        if (plain)
            fputc((int)code, to);
        else
            put_code(to, bytes != 0 ? code : 0xfffd);
        c += bytes != 0 ? bytes : 1;
    }
}

void report_put_text(FILE *to, const char *text) {
    fputc('"', to);
    put(to, text);
    fputc('"', to);
}

void report_put_number(FILE *to, double value, int digits) {
    if (!isfinite(value))
        fputs("null", to);
    else
        fprintf(to, "%.*g", digits, value);
}

void report_put_member(FILE *to, const char *name, const char *text) {
    if (text == NULL)
        return;
    fprintf(to, ",\"%s\":", name);
    report_put_text(to, text);
}

void report_put_hash(FILE *to, const char *name, const uint8_t hash[FIRN_HASH_BYTES]) {
    char text[65];
    cli_hex(text, hash);
    report_put_member(to, name, text);
}
