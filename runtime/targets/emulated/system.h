/* What the emulated runner needs from its environment: a few files, lines of text, the plan and memory. semihosting.c
 * implements it in an emulator, posix.c in a process, so that one runner serves every target and compiler. Only for
 * emulators and tests: a product does not contain it. */
#ifndef FIRN_EMULATED_SYSTEM_H
#define FIRN_EMULATED_SYSTEM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Returns the words after the program's name, separated by spaces; "" if there are none. */
const char *firn_system_command_line(void);

void firn_system_print(const char *text);
void firn_system_print_error(const char *text);
void firn_system_exit(int status) __attribute__((noreturn));

/* Files are opened by name in the folder where the emulator was started. Returns a handle, or a negative number on
 * failure. */
int firn_system_open(const char *name, bool writable);
int64_t firn_system_length(int file);
/* Transfer all `count` bytes, or return false. */
bool firn_system_read(int file, uint64_t offset, void *bytes, uint32_t count);
bool firn_system_write(int file, uint64_t offset, const void *bytes, uint32_t count);
bool firn_system_close(int file);
bool firn_system_rename(const char *from, const char *to);

/* Returns the memory-mapped plan, and in *bytes the size of the file or of the board's region. NULL if there is
 * none. */
const uint8_t *firn_system_plan(uint64_t *bytes);
/* X and Y of the public key that signed the plans. */
const uint8_t *firn_system_public_key(void);
/* Returns the memory for the blocks of the plan and the workspace, aligned to 64. */
void *firn_system_blocks(uint64_t *bytes);

/* The deepest stack of a call, measured: firn_system_stack_pointer before it gives where its stack begins, painting
 * overwrites what lies below with a pattern, and afterwards the bytes of the stack are counted down to the lowest that
 * has changed. In a process nothing is painted, and the count is 0. */
uintptr_t firn_system_stack_pointer(void);
void firn_system_paint_stack(uintptr_t top);
uint32_t firn_system_painted_stack_used(uintptr_t top);

/* Defined by the program; called when a write or a fetch was refused. */
void firn_runner_fault(uintptr_t address) __attribute__((noreturn));
int firn_runner(void);

#endif
