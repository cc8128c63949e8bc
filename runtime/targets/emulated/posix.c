/* Implements system.h in a process, with the files plan, key (64 bytes) and so on in the current folder. With it, every
 * compiler, optimisation level and word size can build the runner of the emulated targets without any library. */
#define _POSIX_C_SOURCE 200809L
#define _DEFAULT_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "runtime/targets/emulated/system.h"

#define BLOCKS_BYTES ((size_t)512 * 1024 * 1024)

static char command_line[512];

const char *firn_system_command_line(void) {
    return command_line;
}

void firn_system_print(const char *text) {
    fputs(text, stdout);
    fflush(stdout); /* keeps the order relative to stderr */
}

void firn_system_print_error(const char *text) {
    fputs(text, stderr);
}

void firn_system_exit(int status) {
    exit(status);
}

int firn_system_open(const char *name, bool writable) {
    return writable ? open(name, O_RDWR | O_CREAT | O_TRUNC, 0666) : open(name, O_RDONLY);
}

int64_t firn_system_length(int file) {
    return lseek(file, 0, SEEK_END);
}

bool firn_system_read(int file, uint64_t offset, void *bytes, uint32_t count) {
    return pread(file, bytes, count, (off_t)offset) == (ssize_t)count;
}

bool firn_system_write(int file, uint64_t offset, const void *bytes, uint32_t count) {
    return pwrite(file, bytes, count, (off_t)offset) == (ssize_t)count;
}

bool firn_system_close(int file) {
    return close(file) == 0;
}

bool firn_system_rename(const char *from, const char *to) {
    return rename(from, to) == 0;
}

const uint8_t *firn_system_plan(uint64_t *bytes) {
    static const uint8_t *plan;
    static uint64_t length;
    int file = plan == NULL ? firn_system_open("plan", false) : -1;
    if (file >= 0) {
        length = (uint64_t)firn_system_length(file);
        void *mapped = mmap(NULL, (size_t)length, PROT_READ, MAP_SHARED, file, 0);
        plan = mapped == MAP_FAILED ? NULL : mapped;
    }
    *bytes = length;
    return plan;
}

const uint8_t *firn_system_public_key(void) {
    static uint8_t key[64];
    int file = firn_system_open("key", false);
    if (file < 0 || !firn_system_read(file, 0, key, sizeof key)) {
        firn_system_print_error("runner: cannot read the file key\n");
        firn_system_exit(2);
    }
    return key;
}

void *firn_system_blocks(uint64_t *bytes) {
    void *blocks = mmap(NULL, BLOCKS_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    *bytes = blocks == MAP_FAILED ? 0 : BLOCKS_BYTES;
    return blocks;
}

static void refused(int signal_number, siginfo_t *information, void *context) {
    (void)signal_number;
    (void)context;
    firn_runner_fault((uintptr_t)information->si_addr);
}

int main(int argument_count, char **arguments) {
    size_t used = 0;
    for (int i = 1; i < argument_count; i++) {
        int written = snprintf(command_line + used, sizeof command_line - used, "%s ", arguments[i]);
        if (written < 0 || (size_t)written >= sizeof command_line - used) {
            firn_system_print_error("runner: the command line is too long\n");
            return 2;
        }
        used += (size_t)written;
    }
    struct sigaction action = {.sa_sigaction = refused, .sa_flags = SA_SIGINFO};
    sigaction(SIGSEGV, &action, NULL);
    return firn_runner();
}

uintptr_t firn_system_stack_pointer(void) {
    return 0;
}

void firn_system_paint_stack(uintptr_t top) {
    (void)top;
}

uint32_t firn_system_painted_stack_used(uintptr_t top) {
    (void)top;
    return 0;
}
