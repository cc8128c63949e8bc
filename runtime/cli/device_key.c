/* Reads the key of --device-key, which authenticates checkpoints. The file holds the secret itself, so no message shows
 * a byte of it. */
#include <errno.h>
#include <string.h>

#include "runtime/cli/cli.h"

int cli_device_key_read(uint8_t key[CLI_DEVICE_KEY_BYTES], const char *path) {
    FILE *file = fopen(path, "rb");
    if (file == NULL) {
        firn_host_fail(path, "cannot be read: %s", strerror(errno));
        return CLI_FILE;
    }
    const size_t count = fread(key, 1, CLI_DEVICE_KEY_BYTES, file);
    const bool whole = count == CLI_DEVICE_KEY_BYTES && fgetc(file) == EOF && !ferror(file);
    fclose(file);
    if (whole)
        return CLI_OK;
    firn_host_fail(path, "is no device key; give a file of exactly %d bytes", CLI_DEVICE_KEY_BYTES);
    return CLI_FILE;
}
