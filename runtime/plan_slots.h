/* Two slots of flash for the plans of one image id, so that a device can take a new plan and keep the old one until the
 * new one has shown that it works. A part of the runtime core beside firn.h; FORMAT.md, "Slots", has every byte.
 *
 * At each boot:
 *
 *     uint32_t refused = 0;
 *     int status = firn_slots_choose(&slots, refused, &choice);
 *     while (status == FIRN_OK) {
 *         config.plan = choice.plan, config.plan_bytes = choice.plan_bytes;     and blocks for this plan
 *         status = firn_open(&firn, &config);
 *         if (status == FIRN_OK)
 *             break;
 *         refused |= 1u << choice.slot;
 *         status = firn_slots_choose(&slots, refused, &choice);
 *     }
 *     firn_initialise or firn_restore; firn_train_step or firn_eval_step
 *     firn_slots_confirm(&slots, choice.slot, &firn);      after the first step that worked, in every boot
 *
 * A new plan is on trial until it is confirmed. It gets a bounded number of boots; then the other slot's plan is chosen
 * again. Power may be cut at any operation: the next boot finds the old plan or the new one, never none.
 *
 * A device with several image ids has two slots, and a security counter, for each. Not to be called from an interrupt
 * or from two threads on the same slots at the same time. */
#ifndef FIRN_PLAN_SLOTS_H
#define FIRN_PLAN_SLOTS_H

#include "runtime/firn.h"

#ifdef __cplusplus
extern "C" {
#endif

#define FIRN_SLOTS 2u

/* No slot: nothing runs. */
#define FIRN_SLOT_NONE FIRN_SLOTS

typedef struct firn_slot {
    const firn_storage *storage; /* of this slot; its capacity is not 0, and `stored` is not used */
    void *context;               /* passed to the functions of the storage */
    const void *mapped;          /* the slot's first byte, as the processor reads it; aligned to 64 */
} firn_slot;

typedef struct firn_slots {
    firn_slot slot[FIRN_SLOTS];
    uint32_t trials; /* boots in which a new plan may be confirmed; 1 to 8, 0: 3 */
} firn_slots;

typedef enum firn_slot_state {
    FIRN_SLOT_EMPTY = 0,     /* no plan */
    FIRN_SLOT_RECEIVING = 1, /* a part of a plan, which can be continued */
    FIRN_SLOT_SPENT = 2,     /* a plan that was not confirmed in its trial boots */
    FIRN_SLOT_TRIAL = 3,     /* a plan that is not confirmed yet */
    FIRN_SLOT_CONFIRMED = 4
} firn_slot_state;

/* What the trailer of a slot says. The plan itself is not verified. */
typedef struct firn_slot_contents {
    uint8_t state;  /* firn_slot_state */
    uint32_t boots; /* trial boots so far */
    uint64_t plan_bytes;
    uint8_t plan_hash[32];
    uint32_t plan_version; /* from the plan's header; 0 without a plan */
} firn_slot_contents;

typedef struct firn_choice {
    uint32_t slot;
    const void *plan;
    uint64_t plan_bytes;
    uint32_t plan_version; /* not verified before firn_open */
    uint32_t trial;        /* number of this trial boot, from 1; 0: the plan is confirmed */
    bool spent;            /* its trial boots are spent, and there is no other plan */
} firn_choice;

/* Reads the trailer of a slot. Returns ARGUMENT or STORAGE. */
int firn_slots_read(const firn_slots *slots, uint32_t slot, firn_slot_contents *contents) FIRN_CHECK_RESULT;

/* Chooses the plan to boot: of those that are confirmed or on trial the one with the highest plan version (of equal
 * ones a confirmed one, then slot 0); without any, one whose trial boots are spent. `refused` has bit i set where
 * firn_open has refused slot i in this boot. A trial boot is recorded before this returns; a slot where it cannot be
 * recorded is passed over. Returns NO_PLAN if no slot is left, ARGUMENT, or STORAGE if no slot is left because storage
 * failed. */
int firn_slots_choose(const firn_slots *slots, uint32_t refused, firn_choice *choice) FIRN_CHECK_RESULT;

/* Says that the plan in this slot works: records it, then calls firn_confirm, which advances the counter. In this
 * order, so that a power cut between them leaves a confirmed plan that the next call confirms again, never a counter
 * that forbids the plan to fall back to. Writes nothing that is written already. The instance has the plan of this slot
 * (else ARGUMENT) and has made a step (else NOT_TRIED). */
int firn_slots_confirm(const firn_slots *slots, uint32_t slot, firn *instance) FIRN_CHECK_RESULT;

/* Finds the slot that a new plan may be written to: the one that does not run. `running` is the slot of the last
 * choice, or FIRN_SLOT_NONE if nothing runs; then it is the one that is worth less. Returns UNCONFIRMED where that slot
 * has the only confirmed plan, because the running one is still on trial. */
int firn_slots_target(const firn_slots *slots, uint32_t running, uint32_t *target) FIRN_CHECK_RESULT;

/* Returns the bytes that a plan in this slot may have. ARGUMENT if the storage has units that it may not have. */
int firn_slots_capacity(const firn_slots *slots, uint32_t slot, uint64_t *bytes) FIRN_CHECK_RESULT;

/* --- writing, in this order --------------------------------------------------------------------------------------- */

/* Empties a slot for a plan of this size and hash, and writes the receipt. The trailer is erased first: from then on
 * the slot holds no plan. `port`, which may be NULL, has the function `alive`. STORAGE_FULL if the plan is too large.
 */
int firn_slots_begin(const firn_slots *slots, uint32_t slot, uint64_t plan_bytes, const uint8_t plan_hash[32],
                     const firn_port *port) FIRN_CHECK_RESULT;

/* Finds how much of the plan that a slot is receiving is in it, after a power cut: everything before *offset. Erases
 * the unit that may have been torn. */
int firn_slots_continue(const firn_slots *slots, uint32_t slot, uint64_t *offset) FIRN_CHECK_RESULT;

/* Writes a part of the plan. `offset` is a multiple of the program unit; so is `count`, or the part ends with the plan,
 * and erased bytes fill its last unit. Units that consist of erased bytes are not programmed. */
int firn_slots_write(const firn_slots *slots, uint32_t slot, uint64_t offset, const uint8_t *bytes,
                     uint32_t count) FIRN_CHECK_RESULT;

/* Makes the slot's plan the new one, on trial. The caller has verified it as it lies in the slot. */
int firn_slots_commit(const firn_slots *slots, uint32_t slot) FIRN_CHECK_RESULT;

#ifdef __cplusplus
}
#endif
#endif
