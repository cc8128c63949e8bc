/* The two slots for plans. A slot's state is what its trailer says and is read again each time: nothing is kept in
 * memory, so a power cut loses nothing. Marks only ever go from erased to written. Nothing here verifies a plan, and
 * nothing here may erase the slot that runs. */
#include "runtime/plan_slots.h"

#include <string.h>

#include "plan/bytes.h"
#include "plan/slots/layout.h"
#include "runtime/instance.h"

#define TRIALS_DEFAULT 3u

/* Offset of the plan version in a plan. */
#define AT_PLAN_VERSION 36u

/* --- access to one slot --- */

/* An argument that has been checked: the slot and its layout. */
typedef struct place {
    const firn_slot *slot;
    firn_slot_layout layout;
} place;

static bool find(const firn_slots *slots, uint32_t slot, place *found) {
    if (slots == NULL || slot >= FIRN_SLOTS || slots->trials > FIRN_SLOT_TRIALS)
        return false;
    found->slot = &slots->slot[slot];
    const firn_storage *storage = found->slot->storage;
    return storage != NULL && found->slot->mapped != NULL &&
           (uintptr_t)found->slot->mapped % FIRN_BLOCK_ALIGNMENT == 0 &&
           firn_slot_lay_out(storage->capacity, storage->program_unit, storage->erase_unit, &found->layout);
}

static int read_bytes(const place *at, uint64_t offset, void *bytes, uint32_t count) {
    return at->slot->storage->read(at->slot->context, offset, bytes, count);
}

static int synced(const place *at, int status) {
    return status == FIRN_OK ? at->slot->storage->sync(at->slot->context) : status;
}

static bool is_erased(const place *at, const uint8_t *bytes, uint32_t count) {
    uint32_t i = 0;
    while (i < count && bytes[i] == at->slot->storage->erased_value)
        i++;
    return i == count;
}

/* Returns true if a mark is set: if its unit is not erased, so that a mark that was torn counts as set, also where
 * error correction then makes reading it fail. */
static bool read_mark(const place *at, uint64_t offset) {
    uint8_t unit[FIRN_SLOT_UNIT_MAX];
    return read_bytes(at, offset, unit, at->layout.unit) != FIRN_OK || !is_erased(at, unit, at->layout.unit);
}

static int write_mark(const place *at, uint64_t offset) {
    uint8_t unit[FIRN_SLOT_UNIT_MAX];
    memset(unit, (uint8_t)~at->slot->storage->erased_value, at->layout.unit);
    return synced(at, at->slot->storage->program(at->slot->context, offset, unit, at->layout.unit));
}

static int read_record(const place *at, firn_slot_record_kind kind, firn_slot_record *record, bool *there) {
    uint8_t bytes[FIRN_SLOT_RECORD_BYTES];
    const uint64_t offset = kind == FIRN_SLOT_RECEIPT ? at->layout.receipt : at->layout.commit;
    int status = read_bytes(at, offset, bytes, sizeof bytes);
    *there = status == FIRN_OK && firn_slot_record_decode(kind, bytes, record) &&
             record->plan_bytes >= FIRN_PAYLOAD_OFFSET && record->plan_bytes <= at->layout.trailer;
    return status;
}

static int write_record(const place *at, firn_slot_record_kind kind, const firn_slot_record *record) {
    uint8_t bytes[FIRN_SLOT_UNIT_MAX];
    const uint64_t offset = kind == FIRN_SLOT_RECEIPT ? at->layout.receipt : at->layout.commit;
    memset(bytes, at->slot->storage->erased_value, at->layout.record_bytes);
    firn_slot_record_encode(kind, record, bytes);
    return synced(at, at->slot->storage->program(at->slot->context, offset, bytes, at->layout.record_bytes));
}

/* Reads the receipt of a slot without a complete plan. A commit record that was torn cannot be written again, so then
 * there is nothing to continue. */
static int read_receipt(const place *at, firn_slot_record *record, bool *receiving) {
    uint8_t bytes[FIRN_SLOT_UNIT_MAX];
    *receiving = false;
    int status = read_bytes(at, at->layout.commit, bytes, at->layout.record_bytes);
    if (status != FIRN_OK || !is_erased(at, bytes, at->layout.record_bytes))
        return status;
    return read_record(at, FIRN_SLOT_RECEIPT, record, receiving);
}

/* --- the state of a slot --- */

static uint32_t trials_of(const firn_slots *slots) {
    return slots->trials != 0 ? slots->trials : TRIALS_DEFAULT;
}

/* Counts the marks of trial boots: up to the last that is set. */
static uint32_t read_boots(const place *at) {
    uint32_t boots = 0;
    for (uint32_t i = 0; i < FIRN_SLOT_TRIALS; i++)
        if (read_mark(at, at->layout.trials + (uint64_t)i * at->layout.unit))
            boots = i + 1;
    return boots;
}

/* Adds to *contents what the marks say of a complete plan. */
static void read_marks(const firn_slots *slots, const place *at, firn_slot_contents *contents) {
    contents->boots = read_boots(at);
    if (read_mark(at, at->layout.confirmed))
        contents->state = FIRN_SLOT_CONFIRMED;
    else
        contents->state = contents->boots < trials_of(slots) ? FIRN_SLOT_TRIAL : FIRN_SLOT_SPENT;
}

static int read_contents(const firn_slots *slots, const place *at, firn_slot_contents *contents) {
    *contents = (firn_slot_contents){0};
    firn_slot_record record;
    bool complete, receiving = false;
    int status = read_record(at, FIRN_SLOT_COMMIT, &record, &complete);
    if (status == FIRN_OK && !complete)
        status = read_receipt(at, &record, &receiving);
    if (status != FIRN_OK || (!complete && !receiving))
        return status;
    contents->plan_bytes = record.plan_bytes;
    memcpy(contents->plan_hash, record.plan_hash, sizeof contents->plan_hash);
    contents->state = FIRN_SLOT_RECEIVING;
    if (!complete)
        return FIRN_OK;
    contents->plan_version = firn_load32((const uint8_t *)at->slot->mapped + AT_PLAN_VERSION);
    read_marks(slots, at, contents);
    return FIRN_OK;
}

int firn_slots_read(const firn_slots *slots, uint32_t slot, firn_slot_contents *contents) {
    place at;
    if (contents == NULL || !find(slots, slot, &at))
        return FIRN_ERROR_ARGUMENT;
    return read_contents(slots, &at, contents);
}

int firn_slots_capacity(const firn_slots *slots, uint32_t slot, uint64_t *bytes) {
    place at;
    if (bytes == NULL || !find(slots, slot, &at))
        return FIRN_ERROR_ARGUMENT;
    *bytes = at.layout.trailer;
    return FIRN_OK;
}

/* --- choosing --- */

/* Returns true if a slot with a plan is to be booted rather than another: spent ones last, then by plan version, then
 * confirmed ones. */
static bool is_better(const firn_slot_contents *a, const firn_slot_contents *b) {
    const bool a_spent = a->state == FIRN_SLOT_SPENT, b_spent = b->state == FIRN_SLOT_SPENT;
    if (a_spent != b_spent)
        return b_spent;
    if (a->plan_version != b->plan_version)
        return a->plan_version > b->plan_version;
    return a->state > b->state;
}

/* Records a trial boot of a plan that is on trial. */
static int begin_trial(const place *at, const firn_slot_contents *contents) {
    if (contents->state != FIRN_SLOT_TRIAL)
        return FIRN_OK;
    return write_mark(at, at->layout.trials + (uint64_t)contents->boots * at->layout.unit);
}

static firn_choice choice_of(const place *at, uint32_t slot, const firn_slot_contents *contents) {
    return (firn_choice){.slot = slot,
                         .plan = at->slot->mapped,
                         .plan_bytes = contents->plan_bytes,
                         .plan_version = contents->plan_version,
                         .trial = contents->state == FIRN_SLOT_TRIAL ? contents->boots + 1 : 0,
                         .spent = contents->state == FIRN_SLOT_SPENT};
}

int firn_slots_choose(const firn_slots *slots, uint32_t refused, firn_choice *choice) {
    place at[FIRN_SLOTS];
    firn_slot_contents contents[FIRN_SLOTS];
    if (choice == NULL || !find(slots, 0, &at[0]) || !find(slots, 1, &at[1]))
        return FIRN_ERROR_ARGUMENT;
    *choice = (firn_choice){0};
    int fault = FIRN_ERROR_NO_PLAN;
    bool left[FIRN_SLOTS];
    for (uint32_t i = 0; i < FIRN_SLOTS; i++) {
        const int status = read_contents(slots, &at[i], &contents[i]);
        left[i] = status == FIRN_OK && (refused >> i & 1) == 0 && contents[i].state >= FIRN_SLOT_SPENT;
        fault = status != FIRN_OK ? status : fault;
    }
    while (left[0] || left[1]) {
        const uint32_t best = !left[0] || (left[1] && is_better(&contents[1], &contents[0])) ? 1 : 0;
        const int status = begin_trial(&at[best], &contents[best]);
        if (status == FIRN_OK) {
            *choice = choice_of(&at[best], best, &contents[best]);
            return FIRN_OK;
        }
        left[best] = false;
        fault = status;
    }
    return fault;
}

/* --- confirming --- */

int firn_slots_confirm(const firn_slots *slots, uint32_t slot, firn *instance) {
    const firn_instance *self = firn_instance_view(instance);
    place at;
    if (!find(slots, slot, &at))
        return FIRN_ERROR_ARGUMENT;
    if (self == NULL)
        return FIRN_ERROR_NOT_OPEN;
    if (!self->worked)
        return FIRN_ERROR_NOT_TRIED;
    firn_slot_contents contents;
    int status = read_contents(slots, &at, &contents);
    if (status != FIRN_OK)
        return status;
    if (contents.state < FIRN_SLOT_SPENT || memcmp(contents.plan_hash, self->plan_hash, sizeof self->plan_hash) != 0)
        return FIRN_ERROR_ARGUMENT;
    if (contents.state != FIRN_SLOT_CONFIRMED)
        status = write_mark(&at, at.layout.confirmed);
    return status == FIRN_OK ? firn_confirm(instance) : status;
}

/* --- writing a plan --- */

int firn_slots_target(const firn_slots *slots, uint32_t running, uint32_t *target) {
    firn_slot_contents contents[FIRN_SLOTS] = {0};
    if (target == NULL || running > FIRN_SLOT_NONE)
        return FIRN_ERROR_ARGUMENT;
    *target = FIRN_SLOT_NONE;
    int status[FIRN_SLOTS];
    for (uint32_t i = 0; i < FIRN_SLOTS; i++)
        status[i] = firn_slots_read(slots, i, &contents[i]);
    /* What lies in the other slot does not matter beside a confirmed plan that runs: a power cut may have left a unit
     * that cannot be read before it is erased. */
    if (running != FIRN_SLOT_NONE && status[running] == FIRN_OK && contents[running].state == FIRN_SLOT_CONFIRMED &&
        status[1 - running] == FIRN_ERROR_STORAGE) {
        *target = 1 - running;
        return FIRN_OK;
    }
    for (uint32_t i = 0; i < FIRN_SLOTS; i++)
        if (status[i] != FIRN_OK)
            return status[i];
    if (running == FIRN_SLOT_NONE)
        running = contents[1].state >= FIRN_SLOT_SPENT &&
                          (contents[0].state < FIRN_SLOT_SPENT || is_better(&contents[1], &contents[0]))
                      ? 1
                      : 0;
    else if (contents[running].state != FIRN_SLOT_CONFIRMED && contents[1 - running].state == FIRN_SLOT_CONFIRMED)
        return FIRN_ERROR_UNCONFIRMED;
    *target = 1 - running;
    return FIRN_OK;
}

static int erase(const place *at, uint64_t begin, uint64_t end, const firn_port *port) {
    const firn_storage *storage = at->slot->storage;
    int status = FIRN_OK;
    for (uint64_t offset = begin; status == FIRN_OK && offset < end; offset += storage->erase_unit) {
        status = storage->erase(at->slot->context, offset, storage->erase_unit);
        if (port != NULL && port->alive != NULL)
            port->alive(port->context);
    }
    return status;
}

int firn_slots_begin(const firn_slots *slots, uint32_t slot, uint64_t plan_bytes, const uint8_t plan_hash[32],
                     const firn_port *port) {
    place at;
    if (plan_hash == NULL || !find(slots, slot, &at) || plan_bytes < FIRN_PAYLOAD_OFFSET)
        return FIRN_ERROR_ARGUMENT;
    if (plan_bytes > at.layout.trailer)
        return FIRN_ERROR_STORAGE_FULL;
    firn_slot_record record = {.plan_bytes = plan_bytes};
    memcpy(record.plan_hash, plan_hash, sizeof record.plan_hash);
    int status = synced(&at, erase(&at, at.layout.trailer, at.slot->storage->capacity, port));
    if (status == FIRN_OK)
        status = synced(&at, erase(&at, 0, plan_bytes, port));
    return status == FIRN_OK ? write_record(&at, FIRN_SLOT_RECEIPT, &record) : status;
}

int firn_slots_continue(const firn_slots *slots, uint32_t slot, uint64_t *offset) {
    place at;
    firn_slot_contents contents;
    if (offset == NULL || !find(slots, slot, &at))
        return FIRN_ERROR_ARGUMENT;
    *offset = 0;
    int status = read_contents(slots, &at, &contents);
    if (status != FIRN_OK)
        return status;
    if (contents.state != FIRN_SLOT_RECEIVING)
        return FIRN_ERROR_ARGUMENT;
    /* What is not erased was programmed, because units of erased bytes are not. The last unit that was may be torn. */
    const uint32_t unit = at.layout.unit, erase_unit = at.slot->storage->erase_unit;
    uint64_t end = firn_round_up(contents.plan_bytes, unit);
    uint8_t bytes[FIRN_SLOT_UNIT_MAX];
    bool erased = true;
    while (end != 0 && erased) {
        erased = read_bytes(&at, end - unit, bytes, unit) == FIRN_OK && is_erased(&at, bytes, unit);
        end -= erased ? unit : 0;
    }
    if (end == 0)
        return FIRN_OK;
    *offset = (end - 1) / erase_unit * erase_unit;
    return synced(&at, erase(&at, *offset, *offset + erase_unit, NULL));
}

/* Programs whole units, except those that consist of erased bytes. */
static int program_units(const place *at, uint64_t offset, const uint8_t *bytes, uint32_t count) {
    const uint32_t unit = at->layout.unit;
    int status = FIRN_OK;
    uint32_t first = 0;
    while (status == FIRN_OK && first < count) {
        uint32_t end = first;
        while (end < count && !is_erased(at, bytes + end, unit))
            end += unit;
        if (end != first)
            status = at->slot->storage->program(at->slot->context, offset + first, bytes + first, end - first);
        first = end == first ? end + unit : end;
    }
    return status;
}

int firn_slots_write(const firn_slots *slots, uint32_t slot, uint64_t offset, const uint8_t *bytes, uint32_t count) {
    place at;
    firn_slot_contents contents;
    if (bytes == NULL || !find(slots, slot, &at))
        return FIRN_ERROR_ARGUMENT;
    int status = read_contents(slots, &at, &contents);
    if (status != FIRN_OK)
        return status;
    const uint32_t unit = at.layout.unit, over = count % unit;
    if (contents.state != FIRN_SLOT_RECEIVING || offset % unit != 0 || offset > contents.plan_bytes ||
        count > contents.plan_bytes - offset || (over != 0 && offset + count != contents.plan_bytes))
        return FIRN_ERROR_ARGUMENT;
    status = program_units(&at, offset, bytes, count - over);
    if (status != FIRN_OK || over == 0)
        return status;
    uint8_t last[FIRN_SLOT_UNIT_MAX];
    memset(last, at.slot->storage->erased_value, unit);
    memcpy(last, bytes + count - over, over);
    return program_units(&at, offset + count - over, last, unit);
}

int firn_slots_commit(const firn_slots *slots, uint32_t slot) {
    place at;
    firn_slot_record record;
    bool receiving;
    if (!find(slots, slot, &at))
        return FIRN_ERROR_ARGUMENT;
    int status = read_receipt(&at, &record, &receiving);
    if (status == FIRN_OK && !receiving)
        status = FIRN_ERROR_ARGUMENT;
    if (status != FIRN_OK)
        return status;
    status = at.slot->storage->sync(at.slot->context);
    return status == FIRN_OK ? write_record(&at, FIRN_SLOT_COMMIT, &record) : status;
}
