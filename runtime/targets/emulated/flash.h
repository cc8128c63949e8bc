/* The flash of the emulated device (device.c): two slots for plans and two counters in memory, whose contents outlive
 * the power as files, and the two slots of its checkpoints. The power can be made to fail in the middle of an
 * operation. */
#ifndef FIRN_EMULATED_FLASH_H
#define FIRN_EMULATED_FLASH_H

#include "runtime/plan_slots.h"
#include "runtime/targets/emulated/pool.h"

/* Makes the contents of the file `flash` those of the flash, in memory of the pool, and sets the slots. From then on
 * the file `flash.after` has what the flash has. */
int firn_emulated_flash_begin(firn_pool *left, firn_slots *slots) FIRN_CHECK_RESULT;

/* The counters of plans and of checkpoints, which lie behind the slots. */
extern const firn_counter firn_emulated_plan_counter, firn_emulated_save_counter;

/* The slots of the checkpoints: firn_emulated_slots, in which the power can fail. */
extern const firn_storage firn_emulated_checkpoints;

/* What the power may fail in. */
typedef enum firn_emulated_work {
    FIRN_EMULATED_SAVING,
    FIRN_EMULATED_RECEIVING,
    FIRN_EMULATED_WORKS
} firn_emulated_work;

/* Lets the power fail in the operation with this number, from 1 and from now on, of this work; 0: never. Half of it is
 * done; the device then says so and waits for the emulator to be stopped. */
void firn_emulated_flash_fail(firn_emulated_work work, uint64_t operation);

#endif
