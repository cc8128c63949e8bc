/* Reads public keys from files, in the form that plan/keys/key_text.h describes. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "plan/keys/key_text.h"
#include "runtime/targets/host/host.h"

bool firn_host_key_load(uint8_t key[FIRN_PUBLIC_KEY_BYTES], const char *path) {
    char text[FIRN_KEY_FILE_MAX];
    uint64_t bytes;
    int file = firn_host_open(path, true, &bytes);
    if (file < 0)
        return false;
    int64_t length = firn_host_read(file, text, sizeof text);
    int error = errno;
    close(file);
    if (length < 0)
        return firn_host_fail(path, "cannot be read: %s", strerror(error));
    if (bytes <= sizeof text && firn_key_text_parse(key, text, (size_t)length))
        return true;
    const firn_key_text found = firn_key_text_of(text, (size_t)length, false);
    return firn_host_fail(path, "holds %s%s, and " FIRN_KEY_WANTED_PUBLIC "; %s", found.form, found.of, found.remedy);
}
