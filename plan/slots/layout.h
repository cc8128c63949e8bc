/* A slot of flash that holds one plan, byte by byte (FORMAT.md, "Slots"): where its parts lie, and the records in its
 * trailer. For the device, which reads and writes slots, and for firnc, which makes images of them. Freestanding. */
#ifndef FIRN_PLAN_SLOTS_LAYOUT_H
#define FIRN_PLAN_SLOTS_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "plan/container.h"

#define FIRN_SLOT_RECORD_BYTES 64u
#define FIRN_SLOT_TRIALS       8u /* marks of trial boots in a trailer */
#define FIRN_SLOT_UNIT_MAX     256u

/* Offsets in a slot. The plan begins at 0 and has at most `trailer` bytes. Each record begins at a multiple of the
 * program unit and is filled up to one; each mark is one program unit. */
typedef struct firn_slot_layout {
    uint64_t trailer, receipt, commit, trials, confirmed;
    uint32_t unit;         /* the program unit */
    uint32_t record_bytes; /* of a record with its filling */
} firn_slot_layout;

/* Lays out a slot. Returns false if the units are not those of firn_storage or if nothing is left for a plan. */
bool firn_slot_lay_out(uint64_t capacity, uint32_t program_unit, uint32_t erase_unit, firn_slot_layout *layout);

/* The receipt says which plan is being written to the slot, the commit record which plan is complete in it. */
typedef enum firn_slot_record_kind { FIRN_SLOT_RECEIPT, FIRN_SLOT_COMMIT } firn_slot_record_kind;

typedef struct firn_slot_record {
    uint64_t plan_bytes; /* of the file in the slot, with its report or without it */
    uint8_t plan_hash[FIRN_HASH_BYTES];
} firn_slot_record;

void firn_slot_record_encode(firn_slot_record_kind kind, const firn_slot_record *record,
                             uint8_t bytes[FIRN_SLOT_RECORD_BYTES]);

/* Returns false if the bytes are not a record of this kind, or are damaged. */
bool firn_slot_record_decode(firn_slot_record_kind kind, const uint8_t bytes[FIRN_SLOT_RECORD_BYTES],
                             firn_slot_record *record);

/* CRC-32 of IEEE 802.3 (polynomial 0x04c11db7, reflected, inverted at both ends). It detects what was torn or lost on a
 * line; it protects from nobody. `before` is the CRC of the bytes before these, 0 if there are none. */
uint32_t firn_crc32(uint32_t before, const uint8_t *bytes, size_t count);

#endif
