/* firnc export KEY --c: public keys as a C array, in the form that firn_config.public_key takes. */
#include <stdio.h>
#include <string.h>

#include "compiler/base/text.h"
#include "compiler/commands/commands.h"
#include "compiler/commands/export.h"
#include "compiler/emit/sign.h"

bool firnc_export_is_key(const char *name) {
    static const char begin[] = "-----BEGIN";
    char text[sizeof begin - 1];
    FILE *file = fopen(name, "rb");
    const bool is_key = file != NULL && fseek(file, 0, SEEK_SET) == 0 &&
                        fread(text, 1, sizeof text, file) == sizeof text && memcmp(text, begin, sizeof text) == 0;
    if (file != NULL)
        fclose(file);
    return is_key;
}

static void add(firnc_growing_text *to, const char *text) {
    firnc_text_add(to, text, strlen(text));
}

int firnc_export_keys(const char *const *keys, uint32_t count, const char *output) {
    firnc_growing_text text = {0};
    const unsigned bytes = count * FIRN_PUBLIC_KEY_BYTES;
    add(&text, count == 1
                   ? "/* The public key that this device trusts, X then Y. Written by firnc export; do not change. */\n"
                   : "/* The public keys that this device trusts, X then Y of each. Written by firnc export; do not "
                     "change. */\n");
    add(&text, firnc_format("#include <stdint.h>\n\nextern const uint8_t firn_public_key[%u];\n"
                            "const uint8_t firn_public_key[%u] = {\n",
                            bytes, bytes));
    for (uint32_t i = 0; i < count; i++) {
        uint8_t key[FIRN_PUBLIC_KEY_BYTES];
        if (!firnc_public_key_read(keys[i], key))
            return FIRNC_EXIT_WRONG;
        firnc_export_add_bytes(&text, key, sizeof key);
    }
    add(&text, "};\n");
    return firnc_export_write(output, text.text, text.length);
}
