/* How commands print: texts in JSON and CSV, digests, and whether standard output has taken all of it. What is printed
 * is decided elsewhere. */
#include <string.h>

#include "runtime/cli/cli.h"
#include "runtime/text/utf8.h"

static void put_unit(FILE *to, uint32_t unit) {
    fprintf(to, "\\u%04lx", (unsigned long)unit);
}

void cli_put_json_code(FILE *to, uint32_t code) {
    if (code < 0x10000) {
        put_unit(to, code);
        return;
    }
    put_unit(to, 0xd800 + ((code - 0x10000) >> 10));
    put_unit(to, 0xdc00 + ((code - 0x10000) & 0x3ff));
}

void cli_print_json(FILE *to, const char *text) {
    const bool utf8 = firn_utf8_is(text);
    fputc('"', to);
    while (*text != 0) {
        uint32_t code = (unsigned char)*text;
        text += utf8 ? firn_utf8_decode(text, &code) : 1;
        if (code == '"' || code == '\\')
            fprintf(to, "\\%c", (int)code);
        else if (code < 0x20 || code > 0x7e)
            cli_put_json_code(to, code);
        else
            fputc((int)code, to);
    }
    fputc('"', to);
}

void cli_print_csv(FILE *to, const char *text) {
    if (strpbrk(text, ",\"\r\n") == NULL && *text != ' ' && *text != 0) {
        fputs(text, to);
        return;
    }
    putc('"', to);
    for (; *text != 0; text++) {
        if (*text == '"')
            putc('"', to);
        putc(*text, to);
    }
    putc('"', to);
}

int cli_flush(void) {
    if (fflush(stdout) == 0 && !ferror(stdout))
        return CLI_OK;
    firn_host_fail_to_write("stdout");
    return CLI_FILE;
}

int cli_print_digest(const uint8_t digest[32]) {
    char text[65];
    cli_hex(text, digest);
    printf("digest %s\n", text);
    return cli_flush();
}
