/* Reads the key of --device-key, which authenticates checkpoints. The file holds the secret itself, so no message shows
 * a byte of it. */
#include <unistd.h>

#include "runtime/cli/cli.h"

int cli_device_key_read(uint8_t key[CLI_DEVICE_KEY_BYTES], const char *path) {
    uint64_t bytes;
    const int file = firn_host_open(path, true, &bytes);
    if (file < 0)
        return CLI_FILE;
    const bool whole =
        bytes == CLI_DEVICE_KEY_BYTES && firn_host_read(file, key, CLI_DEVICE_KEY_BYTES) == CLI_DEVICE_KEY_BYTES;
    close(file);
    if (whole)
        return CLI_OK;
    firn_host_fail(path, "is no device key; give a file of exactly %d bytes", CLI_DEVICE_KEY_BYTES);
    return CLI_FILE;
}
