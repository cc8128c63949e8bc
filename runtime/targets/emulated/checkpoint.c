/* Stores checkpoints in files of the host. Not for a product, which keeps its slots in flash. */
#include "runtime/targets/emulated/checkpoint.h"

#include <string.h>

#include "runtime/targets/emulated/system.h"

/* --- one slot --- */

#define NAME     "checkpoint"
#define NEW_NAME "checkpoint.new"

static int read_stored(void *context, uint64_t offset, void *bytes, uint32_t count) {
    (void)context;
    int file = firn_system_open(NAME, false);
    if (file < 0)
        return FIRN_ERROR_STORAGE;
    bool complete = firn_system_read(file, offset, bytes, count);
    return firn_system_close(file) && complete ? FIRN_OK : FIRN_ERROR_STORAGE;
}

static int begin(void *context, uint64_t offset, uint64_t count) {
    firn_emulated_checkpoint *slot = context;
    (void)offset;
    (void)count;
    if (slot->writing >= 0) /* an unfinished record */
        (void)firn_system_close(slot->writing);
    slot->writing = firn_system_open(NEW_NAME, true);
    return slot->writing < 0 ? FIRN_ERROR_STORAGE : FIRN_OK;
}

static int program(void *context, uint64_t offset, const void *bytes, uint32_t count) {
    const firn_emulated_checkpoint *slot = context;
    return firn_system_write(slot->writing, offset, bytes, count) ? FIRN_OK : FIRN_ERROR_STORAGE_FULL;
}

static int finish(void *context) {
    firn_emulated_checkpoint *slot = context;
    bool closed = firn_system_close(slot->writing);
    slot->writing = -1;
    return closed && firn_system_rename(NEW_NAME, NAME) ? FIRN_OK : FIRN_ERROR_STORAGE;
}

static uint64_t stored(void *context) {
    (void)context;
    int file = firn_system_open(NAME, false);
    int64_t length = file < 0 ? 0 : firn_system_length(file);
    if (file >= 0)
        (void)firn_system_close(file);
    return length < 0 ? 0 : (uint64_t)length;
}

const firn_storage firn_emulated_storage = {
    .program_unit = 16,
    .erase_unit = 16,
    .capacity = 0,
    .erased_value = 0,
    .read = read_stored,
    .program = program,
    .erase = begin,
    .sync = finish,
    .stored = stored,
};

/* --- two slots --- */

#define ERASED 0xff

static const char *const slot_names[] = {"slot.0", "slot.1"};

static const char *name_at(uint64_t offset) {
    return slot_names[offset / FIRN_EMULATED_SLOT_BYTES];
}

/* What was never programmed, behind the end of the file, is erased. */
static int read_slot(void *context, uint64_t offset, void *bytes, uint32_t count) {
    (void)context;
    const uint64_t at = offset % FIRN_EMULATED_SLOT_BYTES;
    const int file = firn_system_open(name_at(offset), false);
    const int64_t length = file < 0 ? 0 : firn_system_length(file);
    uint64_t left = length > 0 && (uint64_t)length > at ? (uint64_t)length - at : 0;
    left = left < count ? left : count;
    memset(bytes, ERASED, count);
    const bool complete = left == 0 || firn_system_read(file, at, bytes, (uint32_t)left);
    if (file >= 0)
        (void)firn_system_close(file);
    return complete ? FIRN_OK : FIRN_ERROR_STORAGE;
}

static int close_slot(firn_emulated_checkpoint *slots) {
    const bool closed = slots->writing < 0 || firn_system_close(slots->writing);
    slots->writing = -1;
    return closed ? FIRN_OK : FIRN_ERROR_STORAGE;
}

static int erase_slot(void *context, uint64_t offset, uint64_t count) {
    firn_emulated_checkpoint *slots = context;
    (void)count;
    (void)close_slot(slots); /* an unfinished record */
    slots->writing = firn_system_open(name_at(offset), true);
    return slots->writing < 0 ? FIRN_ERROR_STORAGE : FIRN_OK;
}

static int program_slot(void *context, uint64_t offset, const void *bytes, uint32_t count) {
    return program(context, offset % FIRN_EMULATED_SLOT_BYTES, bytes, count);
}

static int sync_slot(void *context) {
    return close_slot(context);
}

const firn_storage firn_emulated_slots = {
    .program_unit = 16,
    .erase_unit = 4096,
    .capacity = FIRN_EMULATED_SLOT_BYTES,
    .erased_value = ERASED,
    .slots = 2,
    .read = read_slot,
    .program = program_slot,
    .erase = erase_slot,
    .sync = sync_slot,
};
