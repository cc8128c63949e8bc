/* The serial lines of the boards that the emulator has: the CMSDK UART of the MPS2 boards and the 16550 of RISC-V's
 * virt. By polling, because the emulator keeps bytes until they are taken. */
#include "runtime/targets/emulated/serial.h"

#if defined(__arm__)

/* Cortex-M System Design Kit, "APB UART": the first of the MPS2 boards with a Cortex-M3, M4 or M7. */
typedef struct uart {
    volatile uint32_t data, state, control, interrupts, divider;
} uart;

enum { STATE_SENDING = 1, STATE_RECEIVED = 2, CONTROL_SEND_AND_RECEIVE = 3 };

static uart *line(void) {
    return (uart *)(uintptr_t)0x40004000u;
}

bool firn_serial_begin(void) {
    line()->divider = 16;
    line()->control = CONTROL_SEND_AND_RECEIVE;
    return true;
}

bool firn_serial_take(uint8_t *byte) {
    if ((line()->state & STATE_RECEIVED) == 0)
        return false;
    *byte = (uint8_t)line()->data;
    return true;
}

void firn_serial_send(const uint8_t *bytes, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        while ((line()->state & STATE_SENDING) != 0) {
        }
        line()->data = bytes[i];
    }
}

#elif defined(__riscv)

/* A 16550: the register of data, and that of the line's state, which is the sixth. */
enum { AT_DATA = 0, AT_STATE = 5, STATE_RECEIVED = 0x01, STATE_MAY_SEND = 0x20 };

static volatile uint8_t *line(void) {
    return (volatile uint8_t *)(uintptr_t)0x10000000u;
}

bool firn_serial_begin(void) {
    return true;
}

bool firn_serial_take(uint8_t *byte) {
    if ((line()[AT_STATE] & STATE_RECEIVED) == 0)
        return false;
    *byte = line()[AT_DATA];
    return true;
}

void firn_serial_send(const uint8_t *bytes, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        while ((line()[AT_STATE] & STATE_MAY_SEND) == 0) {
        }
        line()[AT_DATA] = bytes[i];
    }
}

#else

/* A process has no line; tests of the host use a pseudo terminal. */
bool firn_serial_begin(void) {
    return false;
}

bool firn_serial_take(uint8_t *byte) {
    *byte = 0;
    return false;
}

void firn_serial_send(const uint8_t *bytes, uint32_t count) {
    (void)bytes;
    (void)count;
}

#endif
