/* ByteLevel's characters (compiler/tokens/bytes.h). */
#include "compiler/tokens/bytes.h"

#include <stdbool.h>
#include <string.h>

#define FIRST_MOVED 0x100u

static bool stands_for_itself(uint32_t code) {
    return (code >= '!' && code <= '~') || (code >= 0xA1 && code <= 0xAC) || (code >= 0xAE && code <= 0xFF);
}

uint32_t firnc_byte_character(uint8_t byte) {
    if (stands_for_itself(byte))
        return byte;
    uint32_t moved = FIRST_MOVED;
    for (uint32_t other = 0; other < byte; other++)
        moved += !stands_for_itself(other);
    return moved;
}

void firnc_bytes_of_characters(uint16_t bytes[FIRNC_BYTE_CHARACTERS]) {
    memset(bytes, 0xFF, FIRNC_BYTE_CHARACTERS * sizeof *bytes);
    for (uint32_t byte = 0; byte < 256; byte++)
        bytes[firnc_byte_character((uint8_t)byte)] = (uint16_t)byte;
}
