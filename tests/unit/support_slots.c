/* A device with two slots, and its update line in memory. The device is only what plan_slots.h and update.h tell a
 * firmware to do. */
#include "tests/unit/support_slots.h"

#include <string.h>

#include "plan/bytes.h"
#include "plan/signature.h"
#include "plan/slots/layout.h"
#include "tests/unit/support_test.h"

static const uint8_t text[64] = {1, 2, 3, 4, 5, 6, 7, 0, 7, 6, 5, 4, 3, 2, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7};
static const uint64_t whole[] = {sizeof text, 0};

static int counter_read(void *context, uint32_t *value) {
    const slots_device *device = context;
    *value = device->counter;
    return device->flash.off ? FIRN_ERROR_COUNTER : 0;
}

/* A counter that is cut in the middle has either value afterwards. */
static int counter_advance(void *context, uint32_t value) {
    slots_device *device = context;
    bool half;
    assert_true(value > device->counter);
    const bool done = support_flash_operation(&device->flash, &half);
    if (done || (half && device->flash.operations % 2 == 0))
        device->counter = value;
    return done ? 0 : FIRN_ERROR_COUNTER;
}

static const firn_counter counter = {counter_read, counter_advance};

void slots_device_make(slots_device *device, uint64_t slot_bytes, uint32_t program_unit, uint32_t erase_unit,
                       uint8_t erased_value, const uint8_t *public_key) {
    memset(device, 0, sizeof *device);
    support_flash_make(&device->flash, FIRN_SLOTS * slot_bytes, program_unit, erase_unit, erased_value);
    for (uint32_t i = 0; i < FIRN_SLOTS; i++) {
        support_flash_part_make(&device->parts[i], &device->flash, i * slot_bytes, slot_bytes);
        device->slots.slot[i] = (firn_slot){.storage = &device->parts[i].storage,
                                            .context = &device->parts[i],
                                            .mapped = support_flash_mapped(&device->parts[i])};
    }
    device->port = (firn_port){.struct_size = sizeof device->port, .context = device, .counter = &counter};
    device->config = (firn_config){.public_key = public_key, .port = &device->port};
    device->running = FIRN_SLOT_NONE;
}

void slots_device_free(slots_device *device) {
    support_flash_free(&device->flash);
}

void slots_plan_make(signed_plan *plan, uint32_t version, uint32_t security_counter) {
    signed_plan_settings settings = support_settings;
    settings.security_counter = security_counter;
    settings.seed += version; /* another payload */
    support_bigram(plan, &settings);
    firn_header header;
    assert_int_equal(firn_header_decode(&header, plan->file, plan->bytes), FIRN_OK);
    header.plan_version = version;
    firn_header_encode(&header, plan->file);
    support_sign(plan, false);
}

void slots_device_put(slots_device *device, uint32_t slot, const signed_plan *plan) {
    uint8_t hash[32];
    assert_int_equal(firn_sha256_of(plan->file, FIRN_HEADER_BYTES, hash), FIRN_OK);
    assert_int_equal(firn_slots_begin(&device->slots, slot, plan->bytes, hash, NULL), FIRN_OK);
    static uint8_t bytes[sizeof plan->file + FIRN_SLOT_UNIT_MAX];
    memcpy(bytes, plan->file, plan->bytes);
    assert_int_equal(firn_slots_write(&device->slots, slot, 0, bytes, (uint32_t)plan->bytes), FIRN_OK);
    assert_int_equal(firn_slots_commit(&device->slots, slot), FIRN_OK);
    firn_slot_layout layout;
    const firn_storage *storage = device->slots.slot[slot].storage;
    assert_true(firn_slot_lay_out(storage->capacity, storage->program_unit, storage->erase_unit, &layout));
    uint8_t mark[FIRN_SLOT_UNIT_MAX];
    memset(mark, (uint8_t)~storage->erased_value, sizeof mark);
    assert_int_equal(storage->program(&device->parts[slot], layout.confirmed, mark, layout.unit), FIRN_OK);
}

static int open_choice(slots_device *device) {
    firn_config config = device->config;
    config.kernels = "plain";
    config.plan = device->choice.plan;
    config.plan_bytes = device->choice.plan_bytes;
    firn_sizes sizes;
    int status = firn_plan_sizes(config.plan, config.plan_bytes, &sizes);
    if (status != FIRN_OK)
        return status;
    support_blocks(&device->opened, &sizes, &config);
    memset(&device->opened.firn, 0, sizeof device->opened.firn);
    return firn_open(&device->opened.firn, &config);
}

int slots_device_boot(slots_device *device) {
    uint32_t refused = 0;
    device->running = FIRN_SLOT_NONE;
    int status = firn_slots_choose(&device->slots, refused, &device->choice);
    while (status == FIRN_OK && device->running == FIRN_SLOT_NONE) {
        if (open_choice(device) == FIRN_OK) {
            device->running = device->choice.slot;
        } else {
            refused |= 1u << device->choice.slot;
            status = firn_slots_choose(&device->slots, refused, &device->choice);
        }
    }
    if (status != FIRN_OK)
        return status;
    bytes_source source;
    support_text(&source, text, whole);
    firn_step_report report;
    assert_int_equal(firn_initialise(&device->opened.firn), FIRN_OK);
    assert_int_equal(firn_train_step(&device->opened.firn, &source.source, &report), FIRN_OK);
    return FIRN_OK;
}

/* --- the line --- */

static void take_answer(void *context, const uint8_t *bytes, uint32_t count) {
    slots_device *device = context;
    firn_frame frame;
    if (device->flash.off)
        return; /* a device without power says nothing */
    assert_int_equal(firn_frame_find(bytes, count, count, &frame), FIRN_FRAME_GOOD);
    assert_int_equal(frame.length, FIRN_FRAME_ANSWER_BYTES);
    assert_int_equal(frame.sequence, device->sequence);
    firn_frame_answer_decode(&device->answer, bytes + FIRN_FRAME_HEADER_BYTES);
    device->answers++;
}

void slots_device_listen(slots_device *device) {
    const firn_update_settings settings = {.slots = &device->slots,
                                           .running = device->running,
                                           .config = &device->config,
                                           .buffer = device->buffer,
                                           .buffer_bytes = 1024,
                                           .send = take_answer,
                                           .context = device};
    assert_int_equal(firn_update_begin(&device->update, &settings), FIRN_OK);
}

bool slots_device_ask(slots_device *device, uint8_t kind, const void *payload, uint32_t length) {
    uint8_t bytes[4096];
    const firn_frame frame = {.kind = kind, .sequence = ++device->sequence, .length = (uint16_t)length};
    assert_true(firn_frame_bytes(&frame) <= sizeof bytes);
    if (length != 0)
        memcpy(bytes + FIRN_FRAME_HEADER_BYTES, payload, length);
    firn_frame_close(bytes, &frame);
    const uint32_t before = device->answers;
    firn_update_receive(&device->update, bytes, firn_frame_bytes(&frame));
    return device->answers != before;
}

int slots_device_offer(slots_device *device, const signed_plan *plan) {
    uint8_t payload[FIRN_FRAME_BEGIN_BYTES];
    firn_store64(payload, plan->bytes);
    memcpy(payload + FIRN_FRAME_DATA_HEADER, plan->file, FIRN_PAYLOAD_OFFSET);
    return slots_device_ask(device, FIRN_FRAME_BEGIN, payload, sizeof payload) ? device->answer.status
                                                                               : FIRN_ERROR_STORAGE;
}

int slots_device_flash(slots_device *device, const signed_plan *plan) {
    slots_device_listen(device);
    int status = slots_device_offer(device, plan);
    while (status == FIRN_OK && device->answer.offset < plan->bytes) {
        uint8_t payload[4096];
        const uint64_t offset = device->answer.offset, left = plan->bytes - offset;
        const uint32_t count = left < device->answer.part ? (uint32_t)left : device->answer.part;
        firn_store64(payload, offset);
        memcpy(payload + FIRN_FRAME_DATA_HEADER, plan->file + offset, count);
        device->sent += count;
        status = slots_device_ask(device, FIRN_FRAME_DATA, payload, FIRN_FRAME_DATA_HEADER + count)
                     ? device->answer.status
                     : FIRN_ERROR_STORAGE;
    }
    if (status == FIRN_OK)
        status = slots_device_ask(device, FIRN_FRAME_COMMIT, NULL, 0) ? device->answer.status : FIRN_ERROR_STORAGE;
    return status;
}
