/* Receives a plan into a slot. The stream is not trusted: a frame is looked at only when its CRC is right, nothing is
 * erased before the signature of the header is known to be valid, and nothing is committed that does not have the
 * hashes in that header. What a slot means is decided in plan_slots.c. */
#include "runtime/update.h"

#include <string.h>

#include "plan/bytes.h"
#include "plan/checks/check.h"
#include "plan/slots/frame.h"
#include "runtime/instance.h"

_Static_assert(FIRN_UPDATE_BUFFER_MIN >= FIRN_FRAME_HEADER_BYTES + FIRN_FRAME_BEGIN_BYTES + FIRN_FRAME_CRC_BYTES,
               "the longest frame without data fits");

/* Where the payload of the frame in the buffer lies. */
static uint8_t *payload_of(const firn_update *update) {
    return update->settings.buffer + FIRN_FRAME_HEADER_BYTES;
}

static const firn_port *port_of(const firn_update *update) {
    return update->settings.config->port;
}

static const uint8_t *mapped(const firn_update *update) {
    return update->settings.slots->slot[update->target].mapped;
}

/* Returns the largest part of a plan that a frame in this buffer has, a multiple of every slot's program unit; 0 if
 * there is none. */
static uint32_t largest_part(const firn_update_settings *settings) {
    uint32_t unit = 1;
    for (uint32_t i = 0; i < FIRN_SLOTS; i++)
        if (settings->slots->slot[i].storage->program_unit > unit)
            unit = settings->slots->slot[i].storage->program_unit;
    const uint32_t around = FIRN_FRAME_HEADER_BYTES + FIRN_FRAME_DATA_HEADER + FIRN_FRAME_CRC_BYTES;
    const uint32_t room = settings->buffer_bytes < 0xf000u ? settings->buffer_bytes : 0xf000u;
    return (room - around) / unit * unit;
}

int firn_update_begin(firn_update *update, const firn_update_settings *settings) {
    uint64_t capacity;
    if (update == NULL || settings == NULL || settings->slots == NULL || settings->config == NULL ||
        settings->config->public_key == NULL || settings->config->more_keys >= FIRN_KEYS_MAX ||
        settings->running > FIRN_SLOT_NONE || settings->buffer == NULL ||
        settings->buffer_bytes < FIRN_UPDATE_BUFFER_MIN || settings->send == NULL)
        return FIRN_ERROR_ARGUMENT;
    for (uint32_t i = 0; i < FIRN_SLOTS; i++)
        if (firn_slots_capacity(settings->slots, i, &capacity) != FIRN_OK)
            return FIRN_ERROR_ARGUMENT;
    *update = (firn_update){.settings = *settings, .target = FIRN_SLOT_NONE, .part = largest_part(settings)};
    return FIRN_OK;
}

/* --- beginning --- */

/* The checks of the header and signature at `file`, with what the device opens plans with. The plan hash is written,
 * also if they fail. */
static int check_header(firn_update *update, const uint8_t *file, firn_header *header) {
    firn_check_request request;
    firn_request_of(update->settings.config, &request);
    request.file = file;
    request.file_bytes = update->bytes;
    uint32_t device_counter;
    firn_trail trail;
    const int status = firn_check_header(&request, header, update->plan_hash, &trail);
    return status == FIRN_OK ? firn_check_counter(&request, &device_counter, &trail) : status;
}

/* A plan that would not be chosen over the one that runs is refused here, not after it has been sent. */
static int check_version(const firn_update *update, const firn_header *header) {
    if (update->settings.running == FIRN_SLOT_NONE)
        return FIRN_OK;
    firn_slot_contents running;
    int status = firn_slots_read(update->settings.slots, update->settings.running, &running);
    if (status != FIRN_OK || memcmp(running.plan_hash, update->plan_hash, FIRN_HASH_BYTES) == 0)
        return status;
    return header->plan_version > running.plan_version ? FIRN_OK : FIRN_ERROR_OLDER_PLAN;
}

/* Finds what the device has of a plan already: it runs, is complete in the other slot, or is there in part. If there is
 * nothing, begins anew. */
static int find_or_begin(firn_update *update) {
    const firn_slots *slots = update->settings.slots;
    firn_slot_contents contents;
    const uint32_t running = update->settings.running;
    int status = FIRN_OK;
    if (running != FIRN_SLOT_NONE) {
        status = firn_slots_read(slots, running, &contents);
        if (status != FIRN_OK)
            return status;
        if (memcmp(contents.plan_hash, update->plan_hash, FIRN_HASH_BYTES) == 0) {
            update->target = running;
            update->committed = true;
            update->offset = update->bytes;
            return FIRN_OK;
        }
    }
    uint32_t target;
    status = firn_slots_target(slots, running, &target);
    if (status != FIRN_OK)
        return status;
    if (firn_slots_read(slots, target, &contents) != FIRN_OK) /* torn: to be erased */
        contents = (firn_slot_contents){0};
    const bool same_plan = memcmp(contents.plan_hash, update->plan_hash, FIRN_HASH_BYTES) == 0;
    const bool same = same_plan && contents.plan_bytes == update->bytes;
    update->committed = same_plan && contents.state >= FIRN_SLOT_TRIAL;
    if (update->committed)
        update->offset = update->bytes;
    else if (same && contents.state == FIRN_SLOT_RECEIVING)
        status = firn_slots_continue(slots, target, &update->offset);
    else
        status = firn_slots_begin(slots, target, update->bytes, update->plan_hash, port_of(update));
    if (status == FIRN_OK)
        update->target = target;
    return status;
}

static int begin(firn_update *update, uint32_t length) {
    uint8_t *payload = payload_of(update);
    update->target = FIRN_SLOT_NONE;
    update->committed = false;
    update->offset = 0;
    if (length != FIRN_FRAME_BEGIN_BYTES)
        return FIRN_ERROR_ARGUMENT;
    update->bytes = firn_load64(payload);
    memcpy(update->signature, payload + FIRN_FRAME_DATA_HEADER + FIRN_HEADER_BYTES, sizeof update->signature);
    firn_header header;
    int status = check_header(update, payload + FIRN_FRAME_DATA_HEADER, &header);
    if (status == FIRN_OK)
        status = check_version(update, &header);
    return status == FIRN_OK ? find_or_begin(update) : status;
}

/* --- data --- */

/* A part that was sent before, because its answer was lost, is not written again; neither is one that comes too early.
 * The answer says from where to go on. */
static int take_data(firn_update *update, uint32_t length) {
    if (update->target == FIRN_SLOT_NONE)
        return FIRN_ERROR_NO_UPDATE;
    if (length < FIRN_FRAME_DATA_HEADER)
        return FIRN_ERROR_ARGUMENT;
    const uint32_t count = length - FIRN_FRAME_DATA_HEADER;
    if (firn_load64(payload_of(update)) != update->offset || update->committed)
        return FIRN_OK;
    if (count == 0 || count > update->part)
        return FIRN_ERROR_ARGUMENT;
    int status = firn_slots_write(update->settings.slots, update->target, update->offset,
                                  payload_of(update) + FIRN_FRAME_DATA_HEADER, count);
    if (status == FIRN_OK)
        update->offset += count;
    else if (status != FIRN_ERROR_ARGUMENT)
        update->target = FIRN_SLOT_NONE; /* the unit may be half written: begin again and continue */
    return status;
}

/* --- committing --- */

static int check_hash(const firn_update *update, uint64_t begin, uint64_t end, const uint8_t *expected, int mismatch) {
    const firn_port *port = port_of(update);
    const firn_alive alive = {.context = port != NULL ? port->context : NULL,
                              .alive = port != NULL ? port->alive : NULL};
    uint8_t hash[FIRN_HASH_BYTES];
    int status = firn_sha256_of_many(mapped(update) + begin, end - begin, &alive, hash);
    if (status != FIRN_OK)
        return status;
    return memcmp(hash, expected, sizeof hash) == 0 ? FIRN_OK : mismatch;
}

/* Checks that the slot holds the header and the signature that were verified, and what that header says of the rest. */
static int check_slot(const firn_update *update) {
    int status = check_hash(update, 0, FIRN_HEADER_BYTES, update->plan_hash, FIRN_ERROR_SIGNATURE);
    if (status == FIRN_OK &&
        memcmp(mapped(update) + FIRN_HEADER_BYTES, update->signature, sizeof update->signature) != 0)
        status = FIRN_ERROR_SIGNATURE;
    if (status != FIRN_OK)
        return status;
    firn_header header;
    status = firn_header_decode(&header, mapped(update), update->bytes);
    if (status != FIRN_OK)
        return status;
    const uint64_t end = firn_header_payload_end(&header);
    status = check_hash(update, FIRN_PAYLOAD_OFFSET, end, header.run_hash, FIRN_ERROR_RUN_HASH);
    if (status == FIRN_OK && update->bytes != end)
        status = check_hash(update, end, update->bytes, header.report_hash, FIRN_ERROR_REPORT);
    return status;
}

static int commit(firn_update *update) {
    if (update->target == FIRN_SLOT_NONE)
        return FIRN_ERROR_NO_UPDATE;
    if (update->committed)
        return FIRN_OK;
    if (update->offset != update->bytes)
        return FIRN_ERROR_TRUNCATED;
    int status = check_slot(update);
    if (status != FIRN_OK) {
        /* What was received cannot become this plan: the next transfer begins with an empty slot. */
        const int emptied =
            firn_slots_begin(update->settings.slots, update->target, update->bytes, update->plan_hash, port_of(update));
        update->target = FIRN_SLOT_NONE;
        return emptied == FIRN_OK ? status : emptied;
    }
    status = firn_slots_commit(update->settings.slots, update->target);
    update->committed = status == FIRN_OK;
    if (!update->committed)
        update->target = FIRN_SLOT_NONE;
    return status;
}

bool firn_update_is_complete(const firn_update *update) {
    return update->committed && update->target != update->settings.running;
}

/* --- frames --- */

static uint64_t capacity_of(const firn_update *update) {
    uint64_t least = UINT64_MAX, capacity = 0;
    for (uint32_t i = 0; i < FIRN_SLOTS; i++)
        if (firn_slots_capacity(update->settings.slots, i, &capacity) == FIRN_OK && capacity < least)
            least = capacity;
    return least;
}

static void answer(const firn_update *update, const firn_frame *asked, int status) {
    uint8_t bytes[FIRN_FRAME_HEADER_BYTES + FIRN_FRAME_ANSWER_BYTES + FIRN_FRAME_CRC_BYTES];
    const firn_frame frame = {.kind = (uint8_t)(asked->kind | FIRN_FRAME_ANSWER),
                              .sequence = asked->sequence,
                              .length = FIRN_FRAME_ANSWER_BYTES};
    const firn_frame_answer said = {.status = status,
                                    .committed = update->committed,
                                    .offset = update->target != FIRN_SLOT_NONE ? update->offset : 0,
                                    .capacity = capacity_of(update),
                                    .part = update->part};
    firn_frame_answer_encode(&said, bytes + FIRN_FRAME_HEADER_BYTES);
    firn_frame_close(bytes, &frame);
    update->settings.send(update->settings.context, bytes, sizeof bytes);
}

/* Returns false for a kind that this end does not know, which is not answered: it may be an answer of this device that
 * a line sends back. */
static bool act(firn_update *update, const firn_frame *frame, int *status) {
    switch (frame->kind) {
    case FIRN_FRAME_HELLO:
        *status = FIRN_OK;
        return true;
    case FIRN_FRAME_BEGIN:
        *status = begin(update, frame->length);
        return true;
    case FIRN_FRAME_DATA:
        *status = take_data(update, frame->length);
        return true;
    case FIRN_FRAME_COMMIT:
        *status = commit(update);
        return true;
    default:
        return false;
    }
}

/* Removes bytes from the beginning of the buffer. */
static void drop(firn_update *update, uint32_t count) {
    update->filled -= count;
    memmove(update->settings.buffer, update->settings.buffer + count, update->filled);
}

/* Acts on the frames in the buffer. Returns when more bytes are needed. What is no frame is removed at once, because
 * moving the rest for each byte would take the square of the buffer. */
static void look(firn_update *update) {
    uint32_t noise = 0;
    for (;;) {
        firn_frame frame;
        const firn_frame_found found = firn_frame_find(update->settings.buffer + noise, update->filled - noise,
                                                       update->settings.buffer_bytes, &frame);
        if (found == FIRN_FRAME_BAD) {
            noise++;
            continue;
        }
        drop(update, noise);
        noise = 0;
        if (found == FIRN_FRAME_WANTING)
            return;
        int status;
        if (act(update, &frame, &status))
            answer(update, &frame, status);
        drop(update, firn_frame_bytes(&frame));
    }
}

void firn_update_receive(firn_update *update, const uint8_t *bytes, uint32_t count) {
    while (count != 0) {
        const uint32_t room = update->settings.buffer_bytes - update->filled;
        const uint32_t part = count < room ? count : room;
        memcpy(update->settings.buffer + update->filled, bytes, part);
        update->filled += part;
        bytes += part;
        count -= part;
        look(update);
    }
}
