/* Flash in memory and in files (flash.h). Erasing, programming and the advance of the checkpoints' counter are the
 * operations in which the power can fail; what a slot or a record means is not known here. */
#include "runtime/targets/emulated/flash.h"

#include <string.h>

#include "plan/bytes.h"
#include "runtime/targets/emulated/checkpoint.h"
#include "runtime/targets/emulated/system.h"

enum {
    SLOT_BYTES = 128 * 1024,
    PLAN_COUNTER_AT = FIRN_SLOTS * SLOT_BYTES,
    SAVE_COUNTER_AT = PLAN_COUNTER_AT + 4,
    FLASH_BYTES = SAVE_COUNTER_AT + 4,
    PROGRAM_UNIT = 8,
    ERASE_UNIT = 4096,
    ERASED = 0xff
};

static struct {
    uint8_t *bytes;
    int file;                           /* flash.after */
    uint64_t left[FIRN_EMULATED_WORKS]; /* operations up to the one that fails; 0: none fails */
} flash;

/* --- the power --- */

void firn_emulated_flash_fail(firn_emulated_work work, uint64_t operation) {
    flash.left[work] = operation;
}

/* Counts an operation. Returns true if the power fails in it. */
static bool fails(firn_emulated_work work) {
    return flash.left[work] != 0 && --flash.left[work] == 0;
}

static void be_without_power(void) {
    firn_system_print("the power fails\n");
    for (;;) {
    }
}

/* --- slots for plans --- */

static uint64_t slot_at(const void *context) {
    return *(const uint32_t *)context * (uint64_t)SLOT_BYTES;
}

static int write_through(uint64_t offset, uint32_t count) {
    return firn_system_write(flash.file, offset, flash.bytes + offset, count) ? FIRN_OK : FIRN_ERROR_STORAGE;
}

static int slot_read(void *context, uint64_t offset, void *bytes, uint32_t count) {
    memcpy(bytes, flash.bytes + slot_at(context) + offset, count);
    return FIRN_OK;
}

static int program_at(uint64_t at, const void *bytes, uint32_t count) {
    memcpy(flash.bytes + at, bytes, count);
    return write_through(at, count);
}

static int slot_program(void *context, uint64_t offset, const void *bytes, uint32_t count) {
    const uint64_t at = slot_at(context) + offset;
    if (fails(FIRN_EMULATED_RECEIVING)) {
        (void)program_at(at, bytes, count / 2);
        be_without_power();
    }
    return program_at(at, bytes, count);
}

static int erase_at(uint64_t at, uint64_t count) {
    memset(flash.bytes + at, ERASED, (size_t)count);
    return write_through(at, (uint32_t)count);
}

static int slot_erase(void *context, uint64_t offset, uint64_t count) {
    const uint64_t at = slot_at(context) + offset;
    if (fails(FIRN_EMULATED_RECEIVING)) {
        (void)erase_at(at, count / 2);
        be_without_power();
    }
    return erase_at(at, count);
}

static int slot_sync(void *context) {
    (void)context;
    return FIRN_OK;
}

static const firn_storage slot_storage = {.program_unit = PROGRAM_UNIT,
                                          .erase_unit = ERASE_UNIT,
                                          .capacity = SLOT_BYTES,
                                          .erased_value = ERASED,
                                          .read = slot_read,
                                          .program = slot_program,
                                          .erase = slot_erase,
                                          .sync = slot_sync};

/* --- counters --- */

static int plan_counter_read(void *context, uint32_t *value) {
    (void)context;
    *value = firn_load32(flash.bytes + PLAN_COUNTER_AT);
    return FIRN_OK;
}

static int save_counter_read(void *context, uint32_t *value) {
    (void)context;
    *value = firn_load32(flash.bytes + SAVE_COUNTER_AT);
    return FIRN_OK;
}

static int advance_at(uint64_t at, uint32_t value) {
    firn_store32(flash.bytes + at, value);
    return write_through(at, 4) == FIRN_OK ? FIRN_OK : FIRN_ERROR_COUNTER;
}

static int plan_counter_advance(void *context, uint32_t value) {
    (void)context;
    return advance_at(PLAN_COUNTER_AT, value);
}

static int save_counter_advance(void *context, uint32_t value) {
    (void)context;
    if (fails(FIRN_EMULATED_SAVING))
        be_without_power();
    return advance_at(SAVE_COUNTER_AT, value);
}

const firn_counter firn_emulated_plan_counter = {plan_counter_read, plan_counter_advance};
const firn_counter firn_emulated_save_counter = {save_counter_read, save_counter_advance};

/* --- checkpoints --- */

static firn_emulated_checkpoint checkpoints = {.writing = -1};

static int checkpoint_read(void *context, uint64_t offset, void *bytes, uint32_t count) {
    (void)context;
    return firn_emulated_slots.read(&checkpoints, offset, bytes, count);
}

static int checkpoint_program(void *context, uint64_t offset, const void *bytes, uint32_t count) {
    (void)context;
    if (fails(FIRN_EMULATED_SAVING)) {
        (void)firn_emulated_slots.program(&checkpoints, offset, bytes, count / 2);
        be_without_power();
    }
    return firn_emulated_slots.program(&checkpoints, offset, bytes, count);
}

static int checkpoint_erase(void *context, uint64_t offset, uint64_t count) {
    (void)context;
    const bool failing = fails(FIRN_EMULATED_SAVING);
    const int status = firn_emulated_slots.erase(&checkpoints, offset, count);
    if (failing)
        be_without_power();
    return status;
}

static int checkpoint_sync(void *context) {
    (void)context;
    return firn_emulated_slots.sync(&checkpoints);
}

const firn_storage firn_emulated_checkpoints = {.program_unit = 16,
                                                .erase_unit = 4096,
                                                .capacity = FIRN_EMULATED_SLOT_BYTES,
                                                .erased_value = ERASED,
                                                .slots = 2,
                                                .read = checkpoint_read,
                                                .program = checkpoint_program,
                                                .erase = checkpoint_erase,
                                                .sync = checkpoint_sync};

/* --- beginning --- */

int firn_emulated_flash_begin(firn_pool *left, firn_slots *slots) {
    static uint32_t numbers[FIRN_SLOTS] = {0, 1};
    const int before = firn_system_open("flash", false);
    flash.bytes = firn_pool_take(left, FLASH_BYTES);
    if (before < 0 || flash.bytes == NULL || !firn_system_read(before, 0, flash.bytes, FLASH_BYTES) ||
        !firn_system_close(before))
        return FIRN_ERROR_STORAGE;
    for (uint32_t i = 0; i < FIRN_SLOTS; i++)
        slots->slot[i] = (firn_slot){
            .storage = &slot_storage, .context = &numbers[i], .mapped = flash.bytes + (size_t)i * SLOT_BYTES};
    flash.file = firn_system_open("flash.after", true);
    return flash.file < 0 ? FIRN_ERROR_STORAGE : write_through(0, FLASH_BYTES);
}
