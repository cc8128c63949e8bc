/* The serial lines of the boards that the emulator has: the CMSDK UART of the MPS2 and MPS3 boards and the 16550 of
 * RISC-V's virt. By polling, because the emulator keeps bytes until they are taken. Where a line lies is in one table.
 */
#include "runtime/targets/emulated/serial.h"

#include <stddef.h>

#if defined(__arm__)

/* Cortex-M System Design Kit, "APB UART". */
typedef struct uart {
    volatile uint32_t data, state, control, interrupts, divider;
} uart;

enum { STATE_SENDING = 1, STATE_RECEIVED = 2, CONTROL_SEND_AND_RECEIVE = 3 };

/* The first UART of each board, by the part number of the core that it has; of a board with TrustZone the secure alias,
 * because the processor stays in the secure state. */
static const struct {
    uint32_t part, address;
} lines[] = {
    {0xc23, 0x40004000}, /* Cortex-M3: MPS2 AN385 */
    {0xc24, 0x40004000}, /* Cortex-M4: MPS2 AN386 */
    {0xc27, 0x40004000}, /* Cortex-M7: MPS2 AN500 */
    {0xd21, 0x50200000}, /* Cortex-M33: MPS2 AN505 */
    {0xd22, 0x59303000}, /* Cortex-M55: MPS3 AN547 */
};

static uart *found;

/* The register CPUID says which core this is: code for a small core may run on the board of a larger one. */
static uart *find_line(void) {
    const uint32_t part = *(const volatile uint32_t *)(uintptr_t)0xe000ed00u >> 4 & 0xfffu;
    for (uint32_t i = 0; i < sizeof lines / sizeof lines[0]; i++)
        if (lines[i].part == part)
            return (uart *)(uintptr_t)lines[i].address;
    return NULL;
}

bool firn_serial_begin(void) {
    found = find_line();
    if (found == NULL)
        return false;
    found->divider = 16;
    found->control = CONTROL_SEND_AND_RECEIVE;
    return true;
}

bool firn_serial_take(uint8_t *byte) {
    if ((found->state & STATE_RECEIVED) == 0)
        return false;
    *byte = (uint8_t)found->data;
    return true;
}

void firn_serial_send(const uint8_t *bytes, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        while ((found->state & STATE_SENDING) != 0) {
        }
        found->data = bytes[i];
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
