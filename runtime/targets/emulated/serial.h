/* The serial line of an emulated board. Only for emulators and tests. */
#ifndef FIRN_EMULATED_SERIAL_H
#define FIRN_EMULATED_SERIAL_H

#include <stdbool.h>
#include <stdint.h>

/* Switches the line on. Returns false on a machine that has none here. */
bool firn_serial_begin(void);

/* Takes a byte that has come, without waiting. Returns false if there is none. */
bool firn_serial_take(uint8_t *byte);

void firn_serial_send(const uint8_t *bytes, uint32_t count);

#endif
