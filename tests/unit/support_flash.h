/* Simulated NOR flash that enforces the rules of flash, fails at any operation, and loses power before any operation or
 * in the middle of it. An operation is the erase of one erase unit, the program of one program unit, or one call of
 * support_flash_operation; reads and syncs are not counted. What runs on it keeps nothing of its own here. */
#ifndef FIRN_TESTS_SUPPORT_FLASH_H
#define FIRN_TESTS_SUPPORT_FLASH_H

#include <stdbool.h>
#include <stdint.h>

#include "runtime/firn.h"

typedef enum support_flash_fault {
    SUPPORT_FLASH_REFUSED, /* the operation does nothing and reports failure; power stays on */
    SUPPORT_FLASH_CUT,     /* power fails before the operation */
    SUPPORT_FLASH_PREFIX,  /* power fails in the middle: the first bytes of the unit have been changed, at least one */
    SUPPORT_FLASH_GARBAGE, /* power fails in the middle: the unit holds arbitrary bytes */
    SUPPORT_FLASH_UNREADABLE, /* the same, and reading the unit fails until it is erased, as error correction does */
    SUPPORT_FLASH_FAULTS
} support_flash_fault;

typedef struct support_flash {
    uint8_t *bytes;   /* at a multiple of 64, so that a plan in it can be opened in place */
    bool *programmed; /* for each byte: since the last erase */
    bool *unreadable; /* for each byte */
    uint32_t *erases; /* for each erase unit: completed or torn */
    uint64_t capacity;
    uint32_t program_unit, erase_unit;
    uint8_t erased_value;
    uint64_t operations; /* operations so far, refused and torn ones included */
    uint64_t fault_at;   /* number of the operation that fails, counted from 1; 0: none */
    support_flash_fault fault;
    bool off;         /* power is off: everything fails until support_flash_power_on */
    uint64_t syncs;   /* calls of sync */
    uint32_t garbage; /* state of the generator of garbage; a test sets it to get other garbage */
} support_flash;

/* A part of a flash as block storage: `context` of a port or a slot is the address of this struct. */
typedef struct support_flash_part {
    support_flash *flash;
    uint64_t first;       /* a multiple of the erase unit */
    firn_storage storage; /* its capacity is the part's */
} support_flash_part;

/* Makes an erased flash with its power on. Capacity is a multiple of erase_unit, erase_unit one of program_unit. */
void support_flash_make(support_flash *flash, uint64_t capacity, uint32_t program_unit, uint32_t erase_unit,
                        uint8_t erased_value);
void support_flash_free(support_flash *flash);

/* Makes `copy`, which was made with the same sizes, hold what `flash` holds: bytes and erase counts. Its operations are
 * counted from 0, its power is on, and no fault is set. */
void support_flash_copy(support_flash *copy, const support_flash *flash);

/* Lets operation number `at` from now on fail, counted from 1. */
void support_flash_fail(support_flash *flash, uint64_t at, support_flash_fault fault);

/* Switches the power on again, and removes the fault. */
void support_flash_power_on(support_flash *flash);

void support_flash_part_make(support_flash_part *part, support_flash *flash, uint64_t first, uint64_t bytes);

/* Where the part begins, as the device sees it mapped into memory. */
const uint8_t *support_flash_mapped(const support_flash_part *part);

/* Counts an operation of something else that the same power feeds, a counter for example. Returns true if it is to be
 * done; if not, *half tells whether it was cut in the middle, and may have been done or not. */
bool support_flash_operation(support_flash *flash, bool *half);

/* The largest erase count of all units. */
uint32_t support_flash_most_erases(const support_flash *flash);

#endif
