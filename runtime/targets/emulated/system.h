/* What the emulated runner needs from outside: a few files, lines of text, the plan and memory. semihosting.c supplies
 * it inside an emulator, posix.c in a process, so that one runner serves every target and every compiler. This is for
 * emulators and tests: a product has none of it. */
#ifndef FIRN_EMULATED_SYSTEM_H
#define FIRN_EMULATED_SYSTEM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The words after the program's name, separated by spaces; "" when there are none. */
const char *firn_system_command_line(void);

void firn_system_print(const char *text);
void firn_system_print_error(const char *text);
void firn_system_exit(int status) __attribute__((noreturn));

/* Files, by name in the folder where the emulator was started. A negative number when there is none, or it fails. */
int firn_system_open(const char *name, bool writable);
int64_t firn_system_length(int file);
/* All of the bytes, or a false. */
bool firn_system_read(int file, uint64_t offset, void *bytes, uint32_t count);
bool firn_system_write(int file, uint64_t offset, const void *bytes, uint32_t count);
bool firn_system_close(int file);
bool firn_system_rename(const char *from, const char *to);

/* The plan, memory-mapped, and the bytes that are there (on a board: of its region). NULL when there is none. */
const uint8_t *firn_system_plan(uint64_t *bytes);
/* X and Y of the key that plans are signed with. */
const uint8_t *firn_system_public_key(void);
/* All the memory for state and arena, aligned to 64. */
void *firn_system_blocks(uint64_t *bytes);

/* The program's own: what to do when a write or a fetch was refused. */
void firn_runner_fault(uintptr_t address) __attribute__((noreturn));
int firn_runner(void);

#endif
