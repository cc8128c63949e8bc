/* Writes text and numbers as JSON that may stand in a script of HTML (runtime/report/report.h). */
#include <math.h>
#include <string.h>

#include "runtime/report/report.h"
#include "runtime/text/utf8.h"

/* Writes the inside of a string. */
static void put(FILE *to, const char *text) {
    while (*text != 0) {
        uint32_t code = 0xfffd;
        const size_t bytes = firn_utf8_decode(text, &code);
        const bool plain = bytes == 1 && code >= 0x20 && code < 0x7f && strchr("<>&\"'\\", (int)code) == NULL;
        if (plain)
            fputc((int)code, to);
        else
            cli_put_json_code(to, bytes != 0 ? code : 0xfffd);
        text += bytes != 0 ? bytes : 1;
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
