/* Files, lines of text and the exit of system.h by semihosting: a special breakpoint asks the emulator to perform an
 * operation (Arm, "Semihosting for AArch32 and AArch64", 2.0; RISC-V uses the same operations). For emulators only: on
 * a board without a debugger the first call faults. The runner's own functions are in runner_board.c, so that the
 * programs of `firnc export --firmware` can use these without them. */
#include <string.h>

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
