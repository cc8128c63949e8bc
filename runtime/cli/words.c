/* Words of notes that depend on a number, hashes as text, and the word for a standard stream. */
#include <string.h>

#include "runtime/cli/cli.h"

bool cli_is_stream(const char *path) {
    return path != NULL && strcmp(path, "-") == 0;
}

const char *cli_s(uint64_t count) {
    return count == 1 ? "" : "s";
}

void cli_hex(char text[65], const uint8_t hash[32]) {
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < 32; i++) {
        text[2 * i] = digits[hash[i] >> 4];
        text[2 * i + 1] = digits[hash[i] & 15];
    }
    text[64] = 0;
}
