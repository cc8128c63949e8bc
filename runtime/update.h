/* The device's end of an update over a stream of bytes (a serial line, a radio, a socket): receives a signed plan and
 * writes it into the slot that does not run. A part of the runtime core beside plan_slots.h; UPDATE.md has the
 * protocol, byte by byte. `firn flash` is the other end.
 *
 *     firn_update_begin(&update, &settings)              checks the settings; nothing is written
 *     firn_update_receive(&update, bytes, count)         whenever bytes have come; answers through settings.send
 *
 * The header of the plan and its signature come first, and are verified before anything is erased: who cannot sign
 * cannot disturb either slot. The payload is compared with the hash in that header, as it lies in the slot, before the
 * slot is committed. A transfer that breaks off leaves the old plan as it was, and goes on where it was, also after a
 * power cut. After a commit the caller decides when to boot the new plan: see firn_slots_choose. */
#ifndef FIRN_UPDATE_H
#define FIRN_UPDATE_H

#include "runtime/plan_slots.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A buffer of this size holds every frame and one program unit of at most 256 bytes. A larger one takes larger parts of
 * a plan, and is faster. */
#define FIRN_UPDATE_BUFFER_MIN 640u

typedef struct firn_update_settings {
    const firn_slots *slots;
    uint32_t running; /* the slot of the plan that runs, or FIRN_SLOT_NONE */
    /* Keys, revoked keys, identity and port are those that plans are opened with; nothing else is used. */
    const firn_config *config;
    uint8_t *buffer; /* FIRN_UPDATE_BUFFER_MIN bytes or more; holds a frame until the next call */
    uint32_t buffer_bytes;
    /* Sends an answer, at most 48 bytes. What is lost is asked for again. */
    void (*send)(void *context, const uint8_t *bytes, uint32_t count);
    void *context;
} firn_update_settings;

/* The state of an update; firn_update_begin fills it. */
typedef struct firn_update {
    firn_update_settings settings;
    uint32_t filled; /* bytes in the buffer */
    uint32_t part;   /* the largest part of a plan in one frame */
    uint32_t target; /* slot that is being written; FIRN_SLOT_NONE: no update has begun */
    bool committed;  /* the slot has the plan, complete */
    uint64_t bytes;  /* of the plan */
    uint64_t offset; /* everything before it is in the slot */
    uint8_t plan_hash[32];
    uint8_t signature[64];
} firn_update;

/* Returns ARGUMENT if a setting is missing or too small. */
int firn_update_begin(firn_update *update, const firn_update_settings *settings) FIRN_CHECK_RESULT;

/* Takes bytes of the stream, in pieces of any size; `bytes` may be NULL where count is 0. Frames that are damaged are
 * dropped; every other one is answered. `update` is one that firn_update_begin has accepted, here and below: it is not
 * checked, and neither is NULL. */
void firn_update_receive(firn_update *update, const uint8_t *bytes, uint32_t count);

/* Returns true once a plan other than the one that runs has been committed; boot to try it. */
bool firn_update_is_complete(const firn_update *update);

#ifdef __cplusplus
}
#endif
#endif
