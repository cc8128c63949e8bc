/* Stores a checkpoint in a file of the host. Not for a product, which keeps its slots in flash. */
#include "runtime/targets/emulated/checkpoint.h"

#include "runtime/targets/emulated/system.h"

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
