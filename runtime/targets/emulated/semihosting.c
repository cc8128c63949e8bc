/* Implements system.h by semihosting: a special breakpoint asks the emulator to perform an operation (Arm, "Semihosting
 * for AArch32 and AArch64", 2.0; RISC-V uses the same operations). For emulators only: on a board without a debugger
 * the first call faults. */
#include <string.h>

#include "runtime/targets/board.h"
#include "runtime/targets/emulated/system.h"

enum {
    SYS_OPEN = 0x01,
    SYS_CLOSE = 0x02,
    SYS_WRITE = 0x05,
    SYS_READ = 0x06,
    SYS_SEEK = 0x0a,
    SYS_FLEN = 0x0c,
    SYS_RENAME = 0x0f,
    SYS_GET_CMDLINE = 0x15,
    SYS_EXIT_EXTENDED = 0x20
};

/* Modes of SYS_OPEN, which correspond to those of fopen: "rb", "r+b", "w+b", and "w" and "a" of the console ":tt". */
enum { MODE_READ = 1, MODE_CREATE = 7, MODE_CONSOLE = 4, MODE_CONSOLE_ERROR = 8 };

#define EXIT_BY_APPLICATION 0x20026u

/* Defined by the linker script and by the build. */
extern uint8_t firn_blocks[], firn_blocks_end[];
extern const uint8_t firn_public_key[64];

int main(void);

/* Performs one operation with its block of arguments. */
static uintptr_t call(uintptr_t operation, const void *arguments) {
#if defined(__arm__)
    register uintptr_t r0 __asm__("r0") = operation;
    register const void *r1 __asm__("r1") = arguments;
    __asm__ volatile("bkpt 0xab" : "+r"(r0) : "r"(r1) : "memory");
    return r0;
#elif defined(__riscv)
    register uintptr_t a0 __asm__("a0") = operation;
    register const void *a1 __asm__("a1") = arguments;
    /* The emulator recognises exactly these three instructions, uncompressed and on one page. */
    __asm__ volatile(".option push\n"
                     ".option norvc\n"
                     ".balign 16\n"
                     "slli zero, zero, 0x1f\n"
                     "ebreak\n"
                     "srai zero, zero, 7\n"
                     ".option pop\n"
                     : "+r"(a0)
                     : "r"(a1)
                     : "memory");
    return a0;
#else
#    error "say here how this processor calls its debugger"
#endif
}

static int open_as(const char *name, uintptr_t mode) {
    const uintptr_t arguments[3] = {(uintptr_t)name, mode, strlen(name)};
    return (int)call(SYS_OPEN, arguments);
}

int firn_system_open(const char *name, bool writable) {
    return open_as(name, writable ? MODE_CREATE : MODE_READ);
}

int64_t firn_system_length(int file) {
    const uintptr_t arguments[1] = {(uintptr_t)file};
    return (int32_t)call(SYS_FLEN, arguments);
}

static bool seek(int file, uint64_t offset) {
    const uintptr_t arguments[2] = {(uintptr_t)file, (uintptr_t)offset};
    return offset <= INT32_MAX && call(SYS_SEEK, arguments) == 0;
}

/* SYS_READ and SYS_WRITE return the number of bytes not transferred. */
bool firn_system_read(int file, uint64_t offset, void *bytes, uint32_t count) {
    const uintptr_t arguments[3] = {(uintptr_t)file, (uintptr_t)bytes, count};
    return seek(file, offset) && call(SYS_READ, arguments) == 0;
}

bool firn_system_write(int file, uint64_t offset, const void *bytes, uint32_t count) {
    const uintptr_t arguments[3] = {(uintptr_t)file, (uintptr_t)bytes, count};
    return seek(file, offset) && call(SYS_WRITE, arguments) == 0;
}

bool firn_system_close(int file) {
    const uintptr_t arguments[1] = {(uintptr_t)file};
    return call(SYS_CLOSE, arguments) == 0;
}

bool firn_system_rename(const char *from, const char *to) {
    const uintptr_t arguments[4] = {(uintptr_t)from, strlen(from), (uintptr_t)to, strlen(to)};
    return call(SYS_RENAME, arguments) == 0;
}

static void print_to(int file, const char *text) {
    const uintptr_t arguments[3] = {(uintptr_t)file, (uintptr_t)text, strlen(text)};
    (void)call(SYS_WRITE, arguments);
}

void firn_system_print(const char *text) {
    int console = open_as(":tt", MODE_CONSOLE);
    print_to(console, text);
    (void)firn_system_close(console);
}

void firn_system_print_error(const char *text) {
    int console = open_as(":tt", MODE_CONSOLE_ERROR);
    print_to(console, text);
    (void)firn_system_close(console);
}

void firn_system_exit(int status) {
    const uintptr_t arguments[2] = {EXIT_BY_APPLICATION, (uintptr_t)status};
    for (;;) {
        (void)call(SYS_EXIT_EXTENDED, arguments);
    }
}

const char *firn_system_command_line(void) {
    static char line[512];
    const uintptr_t arguments[2] = {(uintptr_t)line, sizeof line};
    return call(SYS_GET_CMDLINE, arguments) == 0 ? line : "";
}

const uint8_t *firn_system_plan(uint64_t *bytes) {
    *bytes = (uint64_t)((uintptr_t)firn_plan_region_end - (uintptr_t)firn_plan_region);
    return firn_plan_region;
}

const uint8_t *firn_system_public_key(void) {
    return firn_public_key;
}

void *firn_system_blocks(uint64_t *bytes) {
    *bytes = (uint64_t)((uintptr_t)firn_blocks_end - (uintptr_t)firn_blocks);
    return firn_blocks;
}

void firn_board_fault(uintptr_t address) {
    firn_runner_fault(address);
}

int main(void) {
    firn_system_exit(firn_runner());
}

/* --- the stack --- */

/* The linker scripts reserve 32 KiB for the stack; the callers of the runner have used little of it. */
enum { PAINTED_BYTES = 24 * 1024, PAINT = 0xa5, OWN_FRAME = 128 };

/* A leaf without a frame, so its stack pointer is its caller's. */
__attribute__((noinline)) uintptr_t firn_system_stack_pointer(void) {
    uintptr_t pointer;
#if defined(__arm__)
    __asm__ volatile("mov %0, sp" : "=r"(pointer));
#else
    __asm__ volatile("mv %0, sp" : "=r"(pointer));
#endif
    return pointer;
}

__attribute__((noinline)) void firn_system_paint_stack(uintptr_t top) {
    volatile uint8_t *bytes = (volatile uint8_t *)(top - PAINTED_BYTES);
    for (size_t i = 0; i < PAINTED_BYTES - OWN_FRAME; i++)
        bytes[i] = PAINT;
}

uint32_t firn_system_painted_stack_used(uintptr_t top) {
    const volatile uint8_t *bytes = (const volatile uint8_t *)(top - PAINTED_BYTES);
    uint32_t free = 0;
    while (free < PAINTED_BYTES - OWN_FRAME && bytes[free] == PAINT)
        free++;
    return PAINTED_BYTES - free;
}
