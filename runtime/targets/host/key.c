/* Reads public keys from files; plan/keys/key_text.h says in which form. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "plan/keys/key_text.h"
#include "runtime/targets/host/host.h"

bool firn_host_key_parse(uint8_t key[FIRN_PUBLIC_KEY_BYTES], const char *text, size_t length) {
    return firn_key_text_parse(key, text, length);
}

bool firn_host_key_load(uint8_t key[FIRN_PUBLIC_KEY_BYTES], const char *path) {
    char text[FIRN_KEY_FILE_MAX];
    FILE *file = fopen(path, "rb");
    if (file == NULL)
        return firn_host_fail(path, "cannot be read: %s", strerror(errno));
    size_t length = fread(text, 1, sizeof text, file);
    bool whole = !ferror(file) && feof(file);
    fclose(file);
    if (whole && firn_host_key_parse(key, text, length))
        return true;
    const firn_key_text found = firn_key_text_of(text, length, false);
    return firn_host_fail(path, "holds %s%s, and " FIRN_KEY_WANTED_PUBLIC "; %s", found.form, found.of, found.remedy);
}
