/* A device with two slots of simulated flash, and the other end of its update line, for tests. */
#ifndef FIRN_TESTS_SUPPORT_SLOTS_H
#define FIRN_TESTS_SUPPORT_SLOTS_H

#include "plan/slots/frame.h"
#include "runtime/update.h"
#include "tests/unit/support_flash.h"
#include "tests/unit/support_signed_plans.h"

typedef struct slots_device {
    support_flash flash;
    support_flash_part parts[FIRN_SLOTS];
    firn_slots slots;
    uint32_t counter; /* the security counter, which shares the flash's power */
    firn_port port;
    firn_choice choice; /* of the last boot */
    uint32_t running;   /* its slot, or FIRN_SLOT_NONE */
    opened opened;
    firn_config config; /* keys, identity and port */
    firn_update update;
    uint8_t buffer[4096];
    uint32_t sequence;
    firn_frame_answer answer; /* the last */
    uint32_t answers;
    uint64_t sent; /* bytes of plans sent so far */
} slots_device;

/* Makes a device with erased flash. `slot_bytes` are those of each slot. */
void slots_device_make(slots_device *device, uint64_t slot_bytes, uint32_t program_unit, uint32_t erase_unit,
                       uint8_t erased_value, const uint8_t *public_key);
void slots_device_free(slots_device *device);

/* Writes a plan into a slot as a factory does: complete, and confirmed. */
void slots_device_put(slots_device *device, uint32_t slot, const signed_plan *plan);

/* Makes a plan of the bigram with this version and security counter. */
void slots_plan_make(signed_plan *plan, uint32_t version, uint32_t security_counter);

/* Boots: chooses and opens as plan_slots.h says, and makes one step. Returns FIRN_OK or why nothing runs. */
int slots_device_boot(slots_device *device);

/* Sends one frame and returns true if the device answered it; the answer is in device->answer. */
bool slots_device_ask(slots_device *device, uint8_t kind, const void *payload, uint32_t length);

/* Sends the header of a plan, and returns the status of the answer, or of the last good one if none came. */
int slots_device_offer(slots_device *device, const signed_plan *plan);

/* Transfers a plan as `firn flash` does. Returns the status of the last answer; STORAGE also if power went off. */
int slots_device_flash(slots_device *device, const signed_plan *plan);

/* Begins to listen, as after each boot. */
void slots_device_listen(slots_device *device);

#endif
