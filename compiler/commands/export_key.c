/* firnc export KEY --c: public keys as a C array, in the form that firn_config.public_key takes. */
#define _POSIX_C_SOURCE 200809L

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "compiler/base/files.h"
#include "compiler/base/text.h"
#include "compiler/commands/commands.h"
#include "compiler/commands/export.h"
#include "compiler/emit/sign.h"
#include "plan/checks/check.h"

bool firnc_export_is_key(const char *name) {
    static const char begin[] = "-----BEGIN";
    char text[sizeof begin - 1];
    uint64_t size;
    const int file = firnc_file_open(name, &size);
    const bool is_key =
        file >= 0 && read(file, text, sizeof text) == (ssize_t)sizeof text && memcmp(text, begin, sizeof text) == 0;
    if (file >= 0)
        close(file);
    return is_key;
}

static void add(firnc_growing_text *to, const char *text) {
    firnc_text_add(to, text, strlen(text));
}

/* Reads the keys. A key that is there twice would have two numbers, of which a revocation mask may hold one. */
static int read_keys(const char *const *names, uint32_t count, uint8_t keys[FIRN_KEYS_MAX][FIRN_PUBLIC_KEY_BYTES]) {
    if (count > FIRN_KEYS_MAX)
        return firnc_usage("export", "--with: %u keys, and a firmware has %u at most; leave some out", (unsigned)count,
                           (unsigned)FIRN_KEYS_MAX);
    for (uint32_t i = 0; i < count; i++) {
        if (!firnc_public_key_read(names[i], keys[i]))
            return FIRNC_EXIT_WRONG;
        for (uint32_t j = 0; j < i; j++)
            if (memcmp(keys[i], keys[j], FIRN_PUBLIC_KEY_BYTES) == 0) {
                firnc_say("firnc: %s: is the same key as %s; leave one out", names[i], names[j]);
                return FIRNC_EXIT_WRONG;
            }
    }
    return FIRNC_EXIT_OK;
}

firnc_bytes firnc_export_keys_text(const uint8_t keys[][FIRN_PUBLIC_KEY_BYTES], uint32_t count) {
    firnc_growing_text text = {0};
    const unsigned bytes = count * FIRN_PUBLIC_KEY_BYTES;
    add(&text, count == 1
                   ? "/* The public key that this device trusts, X then Y. Written by firnc export; do not change. */\n"
                   : "/* The public keys that this device trusts, X then Y of each. Written by firnc export; do not "
                     "change. */\n");
    add(&text, firnc_format("#include <stdint.h>\n\nextern const uint8_t firn_public_key[%u];\n"
                            "const uint8_t firn_public_key[%u] = {\n",
                            bytes, bytes));
    for (uint32_t i = 0; i < count; i++)
        firnc_export_add_bytes(&text, keys[i], FIRN_PUBLIC_KEY_BYTES);
    add(&text, "};\n");
    return (firnc_bytes){(uint8_t *)text.text, text.length};
}

int firnc_export_keys(const char *const *names, uint32_t count, const char *output) {
    uint8_t keys[FIRN_KEYS_MAX][FIRN_PUBLIC_KEY_BYTES];
    const int status = read_keys(names, count, keys);
    if (status != FIRNC_EXIT_OK)
        return status;
    const firnc_bytes text = firnc_export_keys_text((const uint8_t(*)[FIRN_PUBLIC_KEY_BYTES])keys, count);
    return firnc_export_write(output, text.data, text.count);
}
