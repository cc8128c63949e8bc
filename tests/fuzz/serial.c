/* Fuzzes the update protocol (runtime/UPDATE.md): arbitrary bytes on the line of a device with two slots, whose
 * signature check accepts everything (ld --wrap), so that whole transfers are reached. Whatever comes, only the slot
 * that does not run is written, flash is used as flash, answers are frames of at most 48 bytes, and a slot that says it
 * has a plan has the plan that its hash names.
 *
 * An input begins with a byte of settings and one of the piece in which bytes come. Then follows the stream; or, by a
 * setting, a list of frames without fixed bytes, sequence and CRC, each of a kind, a length of two bytes and a payload,
 * because hardly any input would have the right CRC. Two kinds that the protocol does not have restart the device and
 * let an operation of flash fail. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plan/bytes.h"
#include "plan/container.h"
#include "plan/signature.h"
#include "plan/slots/frame.h"
#include "plan/slots/layout.h"
#include "runtime/update.h"
#include "tests/fuzz/fuzz.h"

enum { SLOT_BYTES = 12288, ERASE_UNIT = 1024, ANSWER_MAX = 48, LONGER_BUFFER = 1500 };

/* Settings, and kinds of frames that are orders to this file. */
enum { FRAMES = 1, NOTHING_RUNS = 2, UNCONFIRMED = 4, LONG_BUFFER = 8, LARGE_UNITS = 16, ERASED_IS_ZERO = 32 };
enum { KIND_RESTART = 0xfe, KIND_FAULT = 0xfd };

static struct {
    uint8_t *flash[FIRN_SLOTS], erased[SLOT_BYTES];
    uint32_t numbers[FIRN_SLOTS];
    firn_storage storage;
    firn_slots slots;
    uint32_t running;
    bool fixed[FIRN_SLOTS]; /* slots that may not be written */
    uint32_t fault;         /* operations up to the one that fails; 0: none fails */
    uint8_t *buffer;
    uint32_t buffer_bytes, piece, frames;
    firn_update update;
} device;

/* --- flash -------------------------------------------------------------------------------------------------------- */

static uint32_t slot_of(const void *context) {
    return *(const uint32_t *)context;
}

static int flash_read(void *context, uint64_t offset, void *bytes, uint32_t count) {
    FUZZ_HOLDS(offset <= SLOT_BYTES && count <= SLOT_BYTES - offset);
    memcpy(bytes, device.flash[slot_of(context)] + offset, count);
    return FIRN_OK;
}

/* Counts an operation. Returns true if it fails. */
static bool fails(void) {
    return device.fault != 0 && --device.fault == 0;
}

static int flash_program(void *context, uint64_t offset, const void *bytes, uint32_t count) {
    const uint32_t slot = slot_of(context), unit = device.storage.program_unit;
    FUZZ_HOLDS(!device.fixed[slot]);
    FUZZ_HOLDS(offset <= SLOT_BYTES && count <= SLOT_BYTES - offset && offset % unit == 0 && count % unit == 0);
    FUZZ_HOLDS(memcmp(device.flash[slot] + offset, device.erased, count) == 0);
    const bool failing = fails();
    memcpy(device.flash[slot] + offset, bytes, failing ? count / 2 : count);
    return failing ? FIRN_ERROR_STORAGE : FIRN_OK;
}

static int flash_erase(void *context, uint64_t offset, uint64_t count) {
    const uint32_t slot = slot_of(context);
    FUZZ_HOLDS(!device.fixed[slot]);
    FUZZ_HOLDS(offset <= SLOT_BYTES && count <= SLOT_BYTES - offset && offset % ERASE_UNIT == 0 &&
               count % ERASE_UNIT == 0);
    const bool failing = fails();
    memset(device.flash[slot] + offset, device.storage.erased_value, (size_t)(failing ? count / 2 : count));
    return failing ? FIRN_ERROR_STORAGE : FIRN_OK;
}

static int flash_sync(void *context) {
    (void)context;
    return fails() ? FIRN_ERROR_STORAGE : FIRN_OK;
}

/* --- the device --------------------------------------------------------------------------------------------------- */

static int counter_read(void *context, uint32_t *value) {
    (void)context;
    *value = 1;
    return FIRN_OK;
}

static void send(void *context, const uint8_t *bytes, uint32_t count) {
    firn_frame frame;
    (void)context;
    FUZZ_HOLDS(count <= ANSWER_MAX);
    FUZZ_HOLDS(firn_frame_find(bytes, count, ANSWER_MAX, &frame) == FIRN_FRAME_GOOD);
}

static void boot(void) {
    static const uint8_t key[FIRN_PUBLIC_KEY_BYTES];
    static const firn_counter counter = {.read = counter_read};
    static const firn_port port = {.struct_size = sizeof port, .counter = &counter};
    static const firn_config config = {.public_key = key, .port = &port};
    const firn_update_settings settings = {.slots = &device.slots,
                                           .running = device.running,
                                           .config = &config,
                                           .buffer = device.buffer,
                                           .buffer_bytes = device.buffer_bytes,
                                           .send = send};
    device.update = (firn_update){0};
    FUZZ_HOLDS(firn_update_begin(&device.update, &settings) == FIRN_OK);
}

/* Writes the smallest plan, of version 1, to a slot, as one that was received. */
static void put_plan(uint32_t slot, bool confirmed) {
    uint8_t file[FIRN_PAYLOAD_OFFSET + FIRN_PAYLOAD_ALIGNMENT + FIRN_SLOT_UNIT_MAX] = {0};
    static const uint8_t key[FIRN_PUBLIC_KEY_BYTES];
    uint8_t hash[FIRN_HASH_BYTES];
    const uint64_t bytes = FIRN_PAYLOAD_OFFSET + FIRN_PAYLOAD_ALIGNMENT;
    firn_header header = {.format_major = FIRN_FORMAT_MAJOR,
                          .algorithm = FIRN_ALGORITHM_ECDSA_P256,
                          .plan_version = 1,
                          .security_counter = 1,
                          .flatbuffers_bytes = FIRN_PAYLOAD_ALIGNMENT,
                          .constants_offset = bytes,
                          .total_bytes = bytes,
                          .counts = {.ops = 1},
                          .region_count = 2,
                          .region_kinds = {FIRN_REGION_PARAMETERS, FIRN_REGION_ARENA},
                          .region_bytes = {FIRN_PAYLOAD_ALIGNMENT, FIRN_PAYLOAD_ALIGNMENT}};
    FUZZ_HOLDS(firn_key_hash(key, header.key_hash) == FIRN_OK);
    FUZZ_HOLDS(firn_sha256_of(file + FIRN_PAYLOAD_OFFSET, FIRN_PAYLOAD_ALIGNMENT, header.run_hash) == FIRN_OK);
    firn_header_encode(&header, file);
    FUZZ_HOLDS(firn_sha256_of(file, FIRN_HEADER_BYTES, hash) == FIRN_OK);
    FUZZ_HOLDS(firn_slots_begin(&device.slots, slot, bytes, hash, NULL) == FIRN_OK);
    FUZZ_HOLDS(firn_slots_write(&device.slots, slot, 0, file, (uint32_t)bytes) == FIRN_OK);
    FUZZ_HOLDS(firn_slots_commit(&device.slots, slot) == FIRN_OK);
    firn_slot_layout layout;
    FUZZ_HOLDS(firn_slot_lay_out(SLOT_BYTES, device.storage.program_unit, ERASE_UNIT, &layout));
    if (confirmed)
        memset(device.flash[slot] + layout.confirmed, ~device.storage.erased_value, layout.unit);
}

static void make_device(uint8_t settings, uint8_t piece) {
    device.storage = (firn_storage){.program_unit = (settings & LARGE_UNITS) != 0 ? FIRN_SLOT_UNIT_MAX : 8,
                                    .erase_unit = ERASE_UNIT,
                                    .capacity = SLOT_BYTES,
                                    .erased_value = (settings & ERASED_IS_ZERO) != 0 ? 0 : 0xff,
                                    .read = flash_read,
                                    .program = flash_program,
                                    .erase = flash_erase,
                                    .sync = flash_sync};
    memset(device.erased, device.storage.erased_value, sizeof device.erased);
    for (uint32_t i = 0; i < FIRN_SLOTS; i++) {
        device.flash[i] = fuzz_copy(device.erased, sizeof device.erased);
        device.numbers[i] = i;
        device.slots.slot[i] = (firn_slot){&device.storage, &device.numbers[i], device.flash[i]};
    }
    device.buffer_bytes = (settings & LONG_BUFFER) != 0 ? LONGER_BUFFER : FIRN_UPDATE_BUFFER_MIN;
    device.buffer = fuzz_copy(device.erased, device.buffer_bytes);
    device.piece = piece == 0 ? UINT32_MAX : piece;
    device.frames = device.fault = 0;
    device.running = (settings & NOTHING_RUNS) != 0 ? FIRN_SLOT_NONE : 0;
    device.fixed[0] = device.fixed[1] = false;
    if (device.running == 0) {
        const bool unconfirmed = (settings & UNCONFIRMED) != 0;
        put_plan(0, !unconfirmed);
        if (unconfirmed)
            put_plan(1, true); /* the only plan that is known to work */
        device.fixed[0] = true;
        device.fixed[1] = unconfirmed;
    }
    boot();
}

static void free_device(void) {
    for (uint32_t i = 0; i < FIRN_SLOTS; i++)
        free(device.flash[i]);
    free(device.buffer);
}

/* Returns true if a slot has a complete plan, after having looked at it. */
static bool has_plan(uint32_t slot) {
    firn_slot_contents contents;
    firn_header header;
    uint8_t hash[FIRN_HASH_BYTES];
    FUZZ_HOLDS(firn_slots_read(&device.slots, slot, &contents) == FIRN_OK);
    if (contents.state < FIRN_SLOT_SPENT)
        return false;
    const uint8_t *file = device.flash[slot];
    FUZZ_HOLDS(firn_sha256_of(file, FIRN_HEADER_BYTES, hash) == FIRN_OK);
    FUZZ_HOLDS(memcmp(hash, contents.plan_hash, sizeof hash) == 0);
    FUZZ_HOLDS(firn_header_decode(&header, file, contents.plan_bytes) == FIRN_OK);
    const size_t payload = (size_t)(firn_header_payload_end(&header) - FIRN_PAYLOAD_OFFSET);
    FUZZ_HOLDS(firn_sha256_of(file + FIRN_PAYLOAD_OFFSET, payload, hash) == FIRN_OK);
    FUZZ_HOLDS(memcmp(hash, header.run_hash, sizeof hash) == 0);
    return true;
}

/* --- what comes over the line ------------------------------------------------------------------------------------- */

static void receive(const uint8_t *bytes, size_t count) {
    while (count != 0) {
        const uint32_t piece = count < device.piece ? (uint32_t)count : device.piece;
        uint8_t *copy = fuzz_copy(bytes, piece);
        firn_update_receive(&device.update, copy, piece);
        free(copy);
        bytes += piece;
        count -= piece;
    }
}

static void receive_frame(uint8_t kind, const uint8_t *payload, uint16_t length) {
    const firn_frame frame = {.kind = kind, .sequence = device.frames++, .length = length};
    uint8_t *bytes = malloc(firn_frame_bytes(&frame));
    FUZZ_HOLDS(bytes != NULL);
    memcpy(bytes + FIRN_FRAME_HEADER_BYTES, payload, length);
    firn_frame_close(bytes, &frame);
    receive(bytes, firn_frame_bytes(&frame));
    free(bytes);
}

static void receive_frames(const uint8_t *data, size_t size) {
    while (size >= 3) {
        const uint8_t kind = data[0];
        uint16_t length = (uint16_t)firn_load16(data + 1);
        data += 3;
        size -= 3;
        if (kind == KIND_RESTART) {
            boot();
        } else if (kind == KIND_FAULT) {
            device.fault = length;
        } else {
            length = length < size ? length : (uint16_t)size;
            receive_frame(kind, data, length);
            data += length;
            size -= length;
        }
    }
}

/* Returns true if the plan that came is complete. */
static bool run(const uint8_t *data, size_t size) {
    make_device(data[0], data[1]);
    uint8_t *before[FIRN_SLOTS];
    for (uint32_t i = 0; i < FIRN_SLOTS; i++)
        before[i] = fuzz_copy(device.flash[i], SLOT_BYTES);
    if ((data[0] & FRAMES) != 0)
        receive_frames(data + 2, size - 2);
    else
        receive(data + 2, size - 2);
    for (uint32_t i = 0; i < FIRN_SLOTS; i++) {
        (void)has_plan(i);
        FUZZ_HOLDS(!device.fixed[i] || memcmp(before[i], device.flash[i], SLOT_BYTES) == 0);
        free(before[i]);
    }
    const bool complete = firn_update_is_complete(&device.update);
    FUZZ_HOLDS(!complete || has_plan(device.update.target));
    free_device();
    return complete;
}

/* The inputs of the corpus are transfers that succeed; otherwise changes of them would find nothing. */
static void try_corpus(void) {
    static const char *const names[] = {"tests/fuzz/corpus/serial/stream", "tests/fuzz/corpus/serial/frames"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        static uint8_t bytes[1 << 16];
        FILE *file = fopen(names[i], "rb");
        FUZZ_HOLDS(file != NULL);
        const size_t size = fread(bytes, 1, sizeof bytes, file);
        fclose(file);
        FUZZ_HOLDS(size > 2 && run(bytes, size));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static bool tried;
    if (!tried)
        try_corpus();
    tried = true;
    if (size >= 2)
        (void)run(data, size);
    return 0;
}
