/* The targets of runtime/targets/targets.mk and the memory maps of their boards, read from the archive. */
#ifndef FIRNC_BOARD_H
#define FIRNC_BOARD_H

#include <stdbool.h>
#include <stdint.h>

#include "compiler/firmware/archive.h"

/* A memory of a linker script. */
typedef struct firnc_memory {
    const char *name;
    uint64_t bytes;
} firnc_memory;

/* The values of a target, as targets.mk has them; "" where it has none. Paths are those of the source tree. */
typedef struct firnc_board {
    const char *target;
    const char *cross, *machine, *libc, *libc_source, *start, *start_flags, *script, *emulator;
    firnc_memory plan;   /* flash for the plans and the records */
    firnc_memory blocks; /* RAM for the blocks of the plans */
} firnc_board;

/* Finds a target. Returns false if there is none of that name. */
bool firnc_board_find(const firnc_archive *archive, const char *target, firnc_board *board);

/* The names of all targets, with a space between two. */
const char *firnc_board_targets(const firnc_archive *archive);

#endif
