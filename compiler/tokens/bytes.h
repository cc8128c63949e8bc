/* The characters by which ByteLevel writes the 256 bytes: those of Latin-1 that can be seen stand for themselves, the
 * others for U+0100 onwards in ascending order. */
#ifndef FIRNC_TOKENS_BYTES_H
#define FIRNC_TOKENS_BYTES_H

#include <stdint.h>

enum { FIRNC_BYTE_CHARACTERS = 0x100 + 68 }; /* every such character is below */

/* The character of a byte. */
uint32_t firnc_byte_character(uint8_t byte);

/* Fills bytes[c] with the byte whose character is c, and with UINT16_MAX where c is the character of no byte. */
void firnc_bytes_of_characters(uint16_t bytes[FIRNC_BYTE_CHARACTERS]);

#endif
