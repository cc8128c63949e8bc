/* A device as plan_slots.h and update.h tell a firmware to be one, on an emulated board. Its flash is memory that is
 * also written to the file `flash.after`, so that what was programmed before the power was cut is there in the next
 * start, as the file `flash`: two slots, then four bytes of a counter. Words of the command line:
 *
 *     device            boot, make one step, print what runs, and receive updates
 *     device confirm    the same, and confirm the plan after the step */
#include "runtime/targets/emulated/device.h"

#include <string.h>

#include "plan/bytes.h"
#include "runtime/targets/emulated/data.h"
#include "runtime/targets/emulated/serial.h"
#include "runtime/targets/emulated/system.h"
#include "runtime/targets/emulated/text.h"
#include "runtime/update.h"

enum {
    SLOT_BYTES = 128 * 1024,
    COUNTER_AT = FIRN_SLOTS * SLOT_BYTES,
    FLASH_BYTES = COUNTER_AT + 4,
    PROGRAM_UNIT = 8,
    ERASE_UNIT = 4096,
    ERASED = 0xff
};

static struct {
    uint8_t *bytes;
    int file; /* flash.after */
} flash;

static firn instance;

/* --- lines --- */

static void say(const char *words, uint64_t number, const char *more) {
    firn_text line = {0};
    firn_text_add(&line, words);
    firn_text_add_unsigned(&line, number);
    firn_text_add(&line, more);
    firn_text_add(&line, "\n");
    firn_system_print(line.bytes);
}

static int fail(int error) {
    firn_text line = {0};
    firn_text_add(&line, "device: ");
    firn_text_add(&line, firn_error_name(error));
    firn_text_add(&line, "\n");
    firn_system_print_error(line.bytes);
    return 1;
}

/* --- flash --- */

static uint64_t slot_at(const void *context) {
    return *(const uint32_t *)context * (uint64_t)SLOT_BYTES;
}

static int write_through(uint64_t offset, uint32_t count) {
    return firn_system_write(flash.file, offset, flash.bytes + offset, count) ? 0 : FIRN_ERROR_STORAGE;
}

static int slot_read(void *context, uint64_t offset, void *bytes, uint32_t count) {
    memcpy(bytes, flash.bytes + slot_at(context) + offset, count);
    return 0;
}

static int slot_program(void *context, uint64_t offset, const void *bytes, uint32_t count) {
    const uint64_t at = slot_at(context) + offset;
    memcpy(flash.bytes + at, bytes, count);
    return write_through(at, count);
}

static int slot_erase(void *context, uint64_t offset, uint64_t count) {
    const uint64_t at = slot_at(context) + offset;
    memset(flash.bytes + at, ERASED, (size_t)count);
    return write_through(at, (uint32_t)count);
}

static int slot_sync(void *context) {
    (void)context;
    return 0;
}

static int counter_read(void *context, uint32_t *value) {
    (void)context;
    *value = firn_load32(flash.bytes + COUNTER_AT);
    return 0;
}

static int counter_advance(void *context, uint32_t value) {
    (void)context;
    firn_store32(flash.bytes + COUNTER_AT, value);
    return write_through(COUNTER_AT, 4) == 0 ? 0 : FIRN_ERROR_COUNTER;
}

static int flash_begin(uint8_t *memory) {
    const int before = firn_system_open("flash", false);
    flash.bytes = memory;
    if (before < 0 || !firn_system_read(before, 0, flash.bytes, FLASH_BYTES) || !firn_system_close(before))
        return FIRN_ERROR_STORAGE;
    flash.file = firn_system_open("flash.after", true);
    return flash.file < 0 ? FIRN_ERROR_STORAGE : write_through(0, FLASH_BYTES);
}

/* --- booting --- */

static uint64_t rounded(uint64_t bytes) {
    return (bytes + FIRN_BLOCK_ALIGNMENT - 1) / FIRN_BLOCK_ALIGNMENT * FIRN_BLOCK_ALIGNMENT;
}

/* Opens a plan with blocks from the memory behind the flash. */
static int open_plan(const firn_choice *choice, firn_config config, uint8_t *memory, uint64_t bytes) {
    firn_sizes sizes;
    firn_block blocks[FIRN_BLOCKS_MAX] = {{0}};
    config.plan = choice->plan;
    config.plan_bytes = choice->plan_bytes;
    int status = firn_plan_sizes(config.plan, config.plan_bytes, &sizes);
    for (uint32_t i = 0; status == FIRN_OK && i < sizes.block_count; i++) {
        if (sizes.blocks[i].bytes > bytes || rounded(sizes.blocks[i].bytes) > bytes)
            return FIRN_ERROR_BLOCK_TOO_SMALL;
        if (sizes.blocks[i].bytes != 0)
            blocks[i] = (firn_block){.memory = memory, .bytes = sizes.blocks[i].bytes};
        memory += rounded(sizes.blocks[i].bytes);
        bytes -= rounded(sizes.blocks[i].bytes);
    }
    if (status != FIRN_OK)
        return status;
    config.blocks = blocks;
    config.block_count = sizes.block_count;
    return firn_open(&instance, &config);
}

/* Makes one step with the file `data`. */
static int work(void) {
    static firn_emulated_data opened;
    firn_info info;
    firn_step_report report;
    int status = firn_describe(&instance, &info);
    if (status == FIRN_OK)
        status = firn_emulated_data_open(&opened, info.window == 0);
    if (status == FIRN_OK)
        status = firn_initialise(&instance);
    return status == FIRN_OK ? firn_train_step(&instance, &opened.source, &report) : status;
}

static int boot(const firn_slots *slots, const firn_config *config, uint8_t *memory, uint64_t bytes,
                firn_choice *choice) {
    uint32_t refused = 0;
    int status = firn_slots_choose(slots, refused, choice);
    while (status == FIRN_OK && open_plan(choice, *config, memory, bytes) != FIRN_OK) {
        say("refused slot ", choice->slot, "");
        refused |= 1u << choice->slot;
        status = firn_slots_choose(slots, refused, choice);
    }
    return status == FIRN_OK ? work() : status;
}

static void send(void *context, const uint8_t *bytes, uint32_t count) {
    (void)context;
    firn_serial_send(bytes, count);
}

int firn_device(const char *words) {
    static const firn_storage storage = {.program_unit = PROGRAM_UNIT,
                                         .erase_unit = ERASE_UNIT,
                                         .capacity = SLOT_BYTES,
                                         .erased_value = ERASED,
                                         .read = slot_read,
                                         .program = slot_program,
                                         .erase = slot_erase,
                                         .sync = slot_sync};
    static const firn_counter counter = {counter_read, counter_advance};
    static const firn_port port = {.struct_size = sizeof port, .counter = &counter};
    static uint32_t numbers[FIRN_SLOTS] = {0, 1};
    static uint8_t buffer[2048];
    static firn_slots slots;
    static firn_update update;
    uint64_t bytes;
    uint8_t *memory = firn_system_blocks(&bytes);
    int status = flash_begin(memory);
    if (status != FIRN_OK)
        return fail(status);
    for (uint32_t i = 0; i < FIRN_SLOTS; i++)
        slots.slot[i] =
            (firn_slot){.storage = &storage, .context = &numbers[i], .mapped = flash.bytes + (size_t)i * SLOT_BYTES};
    const firn_config config = {.public_key = firn_system_public_key(), .port = &port};
    firn_choice choice;
    status = boot(&slots, &config, memory + rounded(FLASH_BYTES), bytes - rounded(FLASH_BYTES), &choice);
    if (status != FIRN_OK)
        return fail(status);
    if (strcmp(words, "confirm") == 0)
        status = firn_slots_confirm(&slots, choice.slot, &instance);
    if (status != FIRN_OK)
        return fail(status);
    const firn_update_settings settings = {.slots = &slots,
                                           .running = choice.slot,
                                           .config = &config,
                                           .buffer = buffer,
                                           .buffer_bytes = sizeof buffer,
                                           .send = send};
    status = firn_update_begin(&update, &settings);
    if (status != FIRN_OK || !firn_serial_begin())
        return fail(status != FIRN_OK ? status : FIRN_ERROR_ARGUMENT);
    say("runs version ", choice.plan_version, choice.trial != 0 ? " on trial" : "");
    say("counter ", firn_load32(flash.bytes + COUNTER_AT), "");
    for (;;) {
        uint8_t byte;
        if (firn_serial_take(&byte))
            firn_update_receive(&update, &byte, 1);
    }
}
