/* Finds out what the slots of the port's block storage hold, for firn_save, and restores the state from the record that
 * fits. A record is accepted only after its lengths, its SHA-256, its authentication, its counter value, its identities
 * and its list of tensors have been checked; the bytes are hashed a second time while they are copied into the state.
 * Nothing here writes to storage. */
#include <string.h>

#include "plan/bytes.h"
#include "plan/checkpoint/record.h"
#include "plan/identity.h"
#include "runtime/instance.h"

/* Bytes read at a time while a record is checked. */
#define READ_BYTES 1024u

static bool power_of_two(uint32_t value) {
    return value != 0 && (value & (value - 1)) == 0;
}

void firn_checkpoint_configure(firn_instance *instance, const firn_config *config) {
    memcpy(instance->data_hash, config->data_hash, sizeof instance->data_hash);
    instance->device_key = config->device_key;
    instance->allow_other_preprocessing = config->allow_other_preprocessing;
    instance->allow_other_split = config->allow_other_split;
    instance->allow_other_data = config->allow_other_data;
}

const firn_storage *firn_survey_storage(const firn_instance *instance, int *status) {
    *status = FIRN_ERROR_NO_STORAGE;
    if (instance->port == NULL || instance->port->storage == NULL)
        return NULL;
    const firn_storage *storage = instance->port->storage;
    *status = FIRN_ERROR_ARGUMENT;
    if (!power_of_two(storage->program_unit) || storage->program_unit > FIRN_RECORD_UNIT_MAX ||
        storage->erase_unit == 0 || storage->erase_unit % storage->program_unit != 0 ||
        storage->capacity % storage->erase_unit != 0 || (storage->capacity == 0 && storage->stored == NULL) ||
        storage->slots > FIRN_RECORD_SLOTS_MAX || storage->capacity > UINT64_MAX / FIRN_RECORD_SLOTS_MAX ||
        (storage->slots > 1 && storage->stored != NULL))
        return NULL;
    *status = FIRN_OK;
    return storage;
}

firn_record_entry firn_survey_entry(const firn_instance *instance, const firn_record *record, firn_fb_tensor tensor) {
    const uint32_t region = firn_record_find_region(record, &instance->header, firn_fb_tensor_region(tensor));
    firn_record_entry entry = {.name = firn_fb_tensor_name(tensor),
                               .name_length = firn_fb_tensor_name_length(tensor),
                               .type = firn_fb_tensor_type(tensor),
                               .role = firn_fb_tensor_role(tensor),
                               .rank = (uint8_t)firn_fb_tensor_dims_count(tensor),
                               .offset = firn_record_region_offset(record, region) + firn_fb_tensor_offset(tensor)};
    for (uint32_t i = 0; i < entry.rank; i++)
        entry.dims[i] = firn_fb_tensor_dims_at(tensor, i);
    return entry;
}

/* --- one record --- */

typedef struct reader {
    const firn_instance *instance;
    const firn_storage *storage;
    uint32_t slot;
    uint64_t limit; /* bytes of the slot that can be read */
    firn_record record;
} reader;

/* Reads `count` bytes at `offset` of the slot. A read that crosses the limit is refused as a whole. One that fails is
 * made again: only what cannot be read twice counts as torn, and a slot that counts as torn may be erased. */
static int get(const reader *from, uint64_t offset, void *bytes, uint32_t count) {
    if (offset > from->limit || from->limit - offset < count)
        return FIRN_ERROR_CHECKPOINT_DAMAGED;
    firn_instance_alive(from->instance);
    const firn_storage *storage = from->storage;
    void *context = from->instance->port->context;
    offset += from->slot * storage->capacity;
    int failed = storage->read(context, offset, bytes, count);
    if (failed != 0)
        failed = storage->read(context, offset, bytes, count);
    return failed == 0 ? FIRN_OK : FIRN_ERROR_STORAGE;
}

static bool all_are(const uint8_t *bytes, uint32_t count, uint8_t value) {
    for (uint32_t i = 0; i < count; i++)
        if (bytes[i] != value)
            return false;
    return true;
}

static int read_header(reader *from) {
    const firn_storage *storage = from->storage;
    uint8_t header[FIRN_RECORD_HEADER_BYTES];
    from->limit = storage->stored != NULL ? storage->stored(from->instance->port->context) : storage->capacity;
    if (from->limit == 0)
        return FIRN_ERROR_CHECKPOINT_MISSING;
    int status = get(from, 0, header, sizeof header);
    if (status != FIRN_OK)
        return status;
    if (storage->stored == NULL && all_are(header, sizeof header, storage->erased_value))
        return FIRN_ERROR_CHECKPOINT_MISSING;
    /* Headers are written from front to back: this one is incomplete, and its version may be half a number. */
    if (all_are(header + sizeof header / 2, sizeof header / 2, storage->erased_value))
        return FIRN_ERROR_CHECKPOINT_DAMAGED;
    return firn_record_decode(&from->record, header);
}

/* Checks that header, directory and state fit into what is stored. After this check, sums of these lengths cannot
 * overflow. */
static int check_lengths(const reader *from) {
    uint64_t left = from->limit - FIRN_RECORD_HEADER_BYTES;
    if (from->record.directory_bytes < 16 || from->record.directory_bytes % 16 != 0 ||
        from->record.directory_bytes > left)
        return FIRN_ERROR_CHECKPOINT_DAMAGED;
    left -= from->record.directory_bytes;
    return from->record.state_bytes <= left ? FIRN_OK : FIRN_ERROR_CHECKPOINT_DAMAGED;
}

/* Checks the commit unit. In storage that grows, it must also be the last thing stored. */
static int check_commit(const reader *from) {
    uint8_t expected[FIRN_RECORD_UNIT_MAX], found[FIRN_RECORD_UNIT_MAX];
    uint32_t bytes = firn_record_commit_bytes(from->storage->program_unit);
    memset(expected, from->storage->erased_value, sizeof expected);
    firn_record_commit(expected);
    const uint64_t offset =
        firn_record_commit_offset(from->record.directory_bytes, from->record.state_bytes, from->storage->program_unit);
    int status = get(from, offset, found, bytes);
    if (status != FIRN_OK)
        return status;
    bool ends = from->storage->capacity != 0 || from->limit - offset == bytes;
    return ends && memcmp(found, expected, bytes) == 0 ? FIRN_OK : FIRN_ERROR_CHECKPOINT_DAMAGED;
}

/* Adds `count` stored bytes to a hash. If `kept` is not NULL, the bytes are read into it and hashed there, so the hash
 * covers exactly the bytes that were kept. */
static int hash_stored(const reader *from, firn_sha256 *hash, uint64_t offset, uint64_t count, uint8_t *kept) {
    uint8_t buffer[READ_BYTES];
    for (uint64_t at = 0; at < count;) {
        uint32_t most = kept != NULL ? FIRN_ALIVE_BYTES : READ_BYTES;
        uint32_t piece = count - at < most ? (uint32_t)(count - at) : most;
        uint8_t *bytes = kept != NULL ? kept + (size_t)at : buffer;
        int status = get(from, offset + at, bytes, piece);
        if (status == FIRN_OK)
            status = firn_sha256_update(hash, bytes, piece);
        if (status != FIRN_OK)
            return status;
        at += piece;
    }
    return FIRN_OK;
}

static bool is_train(const firn_instance *instance) {
    return instance->header.mode == FIRN_MODE_TRAIN;
}

/* Returns true if a region of the plan is read from a record: all of the state in training, else the model's part. */
static bool is_wanted(const firn_instance *instance, uint32_t region) {
    uint8_t kind = instance->header.region_kinds[region];
    return is_train(instance) ? firn_region_is_state(kind)
                              : firn_region_fast_kind(kind) == FIRN_FB_REGION_KIND_PARAMETERS;
}

/* Returns the block that a region of the record is copied to; NULL: it is not wanted. */
static uint8_t *destination(const reader *from, uint32_t region) {
    const firn_instance *instance = from->instance;
    for (uint32_t i = 0; i < instance->header.region_count; i++)
        if (is_wanted(instance, i) && firn_record_find_region(&from->record, &instance->header, i) == region)
            return (uint8_t *)(uintptr_t)instance->blocks[i];
    return NULL;
}

/* Reads a region of the record, whose block is `kept`, to where the pieces say, and hashes it there. */
static int hash_pieces(const reader *from, firn_sha256 *hash, uint64_t offset, uint64_t bytes, uint8_t *kept,
                       const firn_pieces *pieces) {
    uint64_t count;
    int status = FIRN_OK;
    for (uint64_t at = 0; status == FIRN_OK && at < bytes; at += count) {
        count = bytes - at;
        uint8_t *piece = pieces->place(pieces->context, kept + (size_t)at, &count);
        status = hash_stored(from, hash, offset + at, count, piece);
        if (status == FIRN_OK)
            pieces->placed(pieces->context);
    }
    return status;
}

/* Adds the header to a hash: the bytes that were read, because every byte of a valid header is a field or zero. Not
 * inlined, so that the bytes are off the stack when the state is read. */
__attribute__((noinline)) static int hash_header(const reader *from, firn_sha256 *hash) {
    uint8_t header[FIRN_RECORD_HEADER_BYTES];
    firn_record_encode_hashed(&from->record, header);
    return firn_sha256_update(hash, header, sizeof header);
}

/* Compares the SHA-256 of the record with the one in its header. With `keep`, the regions that the plan wants are also
 * copied into its blocks, or where `pieces` says. */
static int check_digest(const reader *from, bool keep, const firn_pieces *pieces) {
    uint64_t at = FIRN_RECORD_HEADER_BYTES + from->record.directory_bytes;
    uint8_t digest[FIRN_HASH_BYTES];
    firn_sha256 hash;
    int status = firn_sha256_begin(&hash);
    if (status == FIRN_OK)
        status = hash_header(from, &hash);
    if (status == FIRN_OK)
        status = hash_stored(from, &hash, FIRN_RECORD_HEADER_BYTES, from->record.directory_bytes, NULL);
    for (uint32_t i = 0; status == FIRN_OK && i < from->record.region_count; i++) {
        const uint64_t bytes = from->record.region_bytes[i], padded = firn_round_up(bytes, 16);
        uint8_t *kept = FIRN_PROCESSES && pieces != NULL && keep ? destination(from, i) : NULL;
        if (kept != NULL)
            status = hash_pieces(from, &hash, at, bytes, kept, pieces);
        else
            status = hash_stored(from, &hash, at, bytes, keep ? destination(from, i) : NULL);
        if (status == FIRN_OK)
            status = hash_stored(from, &hash, at + bytes, padded - bytes, NULL);
        at += padded;
    }
    if (status == FIRN_OK)
        status = firn_sha256_end(&hash, digest);
    if (status != FIRN_OK)
        return status;
    return memcmp(digest, from->record.digest, sizeof digest) == 0 ? FIRN_OK : FIRN_ERROR_CHECKPOINT_DAMAGED;
}

static int check_identity(const reader *from) {
    const firn_instance *instance = from->instance;
    if (is_train(instance))
        return memcmp(from->record.run_hash, instance->header.run_hash, FIRN_HASH_BYTES) == 0
                   ? FIRN_OK
                   : FIRN_ERROR_CHECKPOINT_OTHER_RUN;
    return memcmp(from->record.model_hash, firn_instance_model_hash(instance), FIRN_HASH_BYTES) == 0
               ? FIRN_OK
               : FIRN_ERROR_CHECKPOINT_OTHER_MODEL;
}

/* --- what the checkpoint was trained with --- */

static bool is_known(const uint8_t *hash) {
    return !all_are(hash, FIRN_HASH_BYTES, 0);
}

/* Compares two hashes; *result becomes a firn_comparison. Returns `error` if they differ and that is not allowed. */
static int compare(const uint8_t *recorded, const uint8_t *here, bool allowed, int error, uint8_t *result) {
    if (!is_known(recorded) || !is_known(here)) {
        *result = FIRN_UNKNOWN;
        return FIRN_OK;
    }
    *result = memcmp(recorded, here, FIRN_HASH_BYTES) == 0 ? FIRN_EQUAL : FIRN_OTHER;
    return *result == FIRN_EQUAL || allowed ? FIRN_OK : error;
}

/* Compares preprocessing, split and data of the record with those of the plan and the config, all three for the report;
 * returns the first error. In training the run hash covers the first two. An evaluation of all data may be one of other
 * data. */
static int check_origin(const reader *from, firn_restore_report *report) {
    const firn_instance *instance = from->instance;
    const bool part =
        is_train(instance) || firn_fb_sampler_part(firn_fb_plan_sampler(instance->plan)) != FIRN_FB_DATA_PART_ALL;
    uint8_t preprocessing_hash[FIRN_HASH_BYTES], split_hash[FIRN_HASH_BYTES];
    int status = firn_preprocessing_hash(instance->plan, preprocessing_hash);
    if (status == FIRN_OK)
        status = firn_split_hash(instance->plan, split_hash);
    if (status != FIRN_OK)
        return status;
    int preprocessing =
        compare(from->record.preprocessing_hash, preprocessing_hash, instance->allow_other_preprocessing,
                FIRN_ERROR_CHECKPOINT_OTHER_PREPROCESSING, &report->preprocessing);
    if (!part)
        return preprocessing;
    int split = compare(from->record.split_hash, split_hash, instance->allow_other_split,
                        FIRN_ERROR_CHECKPOINT_OTHER_SPLIT, &report->split);
    int data = compare(from->record.data_hash, instance->data_hash, instance->allow_other_data,
                       FIRN_ERROR_CHECKPOINT_OTHER_DATA, &report->data);
    if (preprocessing != FIRN_OK)
        return preprocessing;
    return split != FIRN_OK ? split : data;
}

/* --- the directory of a record --- */

static bool same_entry(const firn_record_entry *a, const firn_record_entry *b) {
    return a->name_length == b->name_length && memcmp(a->name, b->name, a->name_length) == 0 && a->type == b->type &&
           a->role == b->role && a->rank == b->rank && memcmp(a->dims, b->dims, sizeof a->dims) == 0 &&
           a->offset == b->offset;
}

/* Returns the first position at or after `position` of a tensor that the plan reads from a record. */
static uint32_t next_wanted(const firn_instance *instance, uint32_t position) {
    uint32_t count = firn_fb_plan_state_tensors(instance->plan);
    while (position < count && !is_train(instance) &&
           !firn_is_of_model(firn_fb_tensor_role(firn_fb_plan_tensors_at(instance->plan, position))))
        position++;
    return position;
}

/* Checks that the record has each region that the plan reads and, in training, no other. */
static int check_regions(const reader *from) {
    const firn_instance *instance = from->instance;
    uint32_t wanted = 0;
    for (uint32_t i = 0; i < instance->header.region_count; i++) {
        if (!is_wanted(instance, i))
            continue;
        wanted++;
        if (firn_record_find_region(&from->record, &instance->header, i) == FIRN_REGIONS_MAX)
            return FIRN_ERROR_CHECKPOINT_DAMAGED;
    }
    return !is_train(instance) || wanted == from->record.region_count ? FIRN_OK : FIRN_ERROR_CHECKPOINT_DAMAGED;
}

/* Compares the directory with the plan, entry by entry: names, types, shapes, roles and places. A train plan requires
 * an identical list; an eval plan requires the same parameters and buffers at the same places of its regions. */
static int check_directory(const reader *from) {
    const firn_instance *instance = from->instance;
    uint8_t bytes[FIRN_RECORD_ENTRY_MAX];
    uint64_t end = FIRN_RECORD_HEADER_BYTES + from->record.directory_bytes, at = FIRN_RECORD_HEADER_BYTES + 4;
    int status = get(from, FIRN_RECORD_HEADER_BYTES, bytes, 4);
    const uint32_t count = status == FIRN_OK ? firn_load32(bytes) : 0;
    uint32_t wanted = next_wanted(instance, 0);
    for (uint32_t i = 0; status == FIRN_OK && i < count; i++) {
        uint32_t available = end - at < sizeof bytes ? (uint32_t)(end - at) : (uint32_t)sizeof bytes;
        status = get(from, at, bytes, available);
        if (status != FIRN_OK)
            return status;
        firn_record_entry entry;
        uint32_t length = firn_record_entry_decode(&entry, bytes, available);
        if (length == 0)
            return FIRN_ERROR_CHECKPOINT_DAMAGED;
        at += length;
        if (!is_train(instance) && !firn_is_of_model(entry.role))
            continue;
        if (wanted >= firn_fb_plan_state_tensors(instance->plan))
            return FIRN_ERROR_CHECKPOINT_DAMAGED;
        firn_record_entry expected =
            firn_survey_entry(instance, &from->record, firn_fb_plan_tensors_at(instance->plan, wanted));
        if (!same_entry(&entry, &expected))
            return FIRN_ERROR_CHECKPOINT_DAMAGED;
        wanted = next_wanted(instance, wanted + 1);
    }
    if (status != FIRN_OK)
        return status;
    return wanted == firn_fb_plan_state_tensors(instance->plan) && end - at < 16 ? FIRN_OK
                                                                                 : FIRN_ERROR_CHECKPOINT_DAMAGED;
}

/* --- the slots --- */

/* Reads the header of the record in a slot and checks that the record has been committed. */
static int look_at(reader *from, uint32_t slot) {
    from->slot = slot;
    int status = read_header(from);
    if (status == FIRN_OK)
        status = check_lengths(from);
    return status == FIRN_OK ? check_commit(from) : status;
}

/* Notes what a record that is whole and authentic says of the storage. */
static void note_record(const firn_record *record, firn_survey *found) {
    if (!found->any || firn_record_is_newer(record->sequence, found->sequence))
        found->sequence = record->sequence;
    found->any = true;
    for (uint32_t i = 0; i < FIRN_RECORD_SLOTS_MAX; i++)
        if (record->erases[i] > found->erases[i])
            found->erases[i] = record->erases[i];
}

/* Compares a record with the checkpoint counter. One that is ahead by one was committed and not counted. */
static int check_counter(const reader *from, firn_survey *found) {
    if (from->instance->port->checkpoint_counter == NULL)
        return FIRN_OK;
    const uint32_t value = from->record.counter;
    if (value < found->device || value - found->device > 1)
        return FIRN_ERROR_CHECKPOINT_ROLLED_BACK;
    if (value > found->counter) {
        found->counter = value;
        found->counted = 0;
    }
    if (value == found->counter && from->record.counted > found->counted)
        found->counted = from->record.counted;
    return FIRN_OK;
}

/* Checks the whole record in a slot. */
static int check_record(reader *from, uint32_t slot, firn_survey *found) {
    int status = look_at(from, slot);
    if (status == FIRN_OK)
        status = check_digest(from, false, NULL);
    if (status == FIRN_OK)
        status = firn_record_authenticate(&from->record, from->instance->device_key);
    if (status != FIRN_OK)
        return status;
    note_record(&from->record, found);
    status = check_counter(from, found);
    if (status == FIRN_OK)
        status = check_identity(from);
    if (status == FIRN_OK)
        status = check_regions(from);
    return status == FIRN_OK ? check_directory(from) : status;
}

/* How much there is to be lost with a slot, by what was found in it. */
static uint32_t worth_of(int status) {
    static const int ascending[] = {FIRN_ERROR_CHECKPOINT_MISSING,     FIRN_ERROR_CHECKPOINT_DAMAGED,
                                    FIRN_ERROR_CHECKPOINT_VERSION,     FIRN_ERROR_CHECKPOINT_AUTHENTICATION,
                                    FIRN_ERROR_CHECKPOINT_ROLLED_BACK, FIRN_ERROR_STORAGE,
                                    FIRN_ERROR_CHECKPOINT_OTHER_MODEL, FIRN_ERROR_CHECKPOINT_OTHER_RUN};
    const uint32_t count = sizeof ascending / sizeof *ascending;
    uint32_t worth = 0;
    while (worth < count && ascending[worth] != status)
        worth++;
    return worth;
}

static bool is_of_other_plan(int status) {
    return status == FIRN_ERROR_CHECKPOINT_OTHER_RUN || status == FIRN_ERROR_CHECKPOINT_OTHER_MODEL;
}

/* Returns true if a whole record is not to be used. */
static bool is_refusal(int status) {
    return is_of_other_plan(status) || status == FIRN_ERROR_CHECKPOINT_AUTHENTICATION ||
           status == FIRN_ERROR_CHECKPOINT_ROLLED_BACK;
}

static uint32_t slots_of(const firn_storage *storage) {
    return storage->slots > 1 ? storage->slots : 1;
}

/* Advances the checkpoint counter to a record that was committed before the power failed. */
static int settle(const firn_instance *instance, firn_survey *found) {
    if (found->counter == found->device)
        return FIRN_OK;
    int status = instance->port->checkpoint_counter->advance(instance->port->context, found->counter);
    found->device = status == FIRN_OK ? found->counter : found->device;
    return status;
}

/* Checks the record in a slot that has a committed one. Returns FIRN_OK, also if it is refused, or HASH. */
static int check_slot(reader *from, uint32_t slot, firn_survey *found) {
    if (found->status[slot] == FIRN_OK)
        found->status[slot] = check_record(from, slot, found);
    return found->status[slot] == FIRN_ERROR_HASH ? FIRN_ERROR_HASH : FIRN_OK;
}

/* Examines the slots: every one, or until one has a record that fits, the newer one first. In both cases `from` has
 * this record in the end. */
static int survey(reader *from, bool every, firn_survey *found) {
    const firn_port *port = from->instance->port;
    const uint32_t slots = slots_of(from->storage);
    uint32_t sequence[FIRN_RECORD_SLOTS_MAX] = {0};
    *found = (firn_survey){.slots = slots};
    int status = FIRN_OK;
    if (port->checkpoint_counter != NULL)
        status = port->checkpoint_counter->read(port->context, &found->device);
    if (status != FIRN_OK)
        return status;
    found->counter = found->device;
    for (uint32_t i = 0; i < slots; i++) {
        found->status[i] = look_at(from, i);
        sequence[i] = from->record.sequence;
    }
    const bool has0 = found->status[0] == FIRN_OK, has1 = slots > 1 && found->status[1] == FIRN_OK;
    found->newest = slots > 1 && (!has0 || (has1 && firn_record_is_newer(sequence[1], sequence[0])));
    if (slots > 1 && every)
        status = check_slot(from, 1 - found->newest, found);
    if (status == FIRN_OK)
        status = check_slot(from, found->newest, found);
    /* If every slot was checked, this one is checked again, because `from` is to have it. */
    if (status == FIRN_OK && slots > 1 && found->status[found->newest] != FIRN_OK)
        status = check_slot(from, 1 - found->newest, found);
    if (status != FIRN_OK)
        return status;
    return settle(from->instance, found);
}

int firn_survey_slots(const firn_instance *instance, const firn_storage *storage, firn_survey *found) {
    reader from = {.instance = instance, .storage = storage};
    if (slots_of(storage) == 1 && instance->port->checkpoint_counter == NULL) {
        /* There is nothing to choose: the record is only numbered. */
        *found = (firn_survey){.slots = 1};
        if (look_at(&from, 0) == FIRN_OK)
            note_record(&from.record, found);
        return FIRN_OK;
    }
    int status = survey(&from, false, found);
    if (status != FIRN_OK)
        return status;
    const uint32_t newest = found->newest, older = found->slots > 1 ? 1 - newest : newest;
    /* A power cut tears one slot. If none can be read, either may have the newest record. */
    if (newest != older && found->status[newest] == FIRN_ERROR_STORAGE && found->status[older] == FIRN_ERROR_STORAGE)
        return FIRN_ERROR_STORAGE;
    found->target = worth_of(found->status[newest]) < worth_of(found->status[older]) ? newest : older;
    const int kept = found->status[found->slots > 1 ? 1 - found->target : 0];
    found->kept = kept == FIRN_OK ? FIRN_KEPT_THIS_RUN : is_of_other_plan(kept) ? FIRN_KEPT_OTHER_RUN : FIRN_KEPT_NONE;
    return FIRN_OK;
}

/* Returns the error of a survey that found no record that fits, or FIRN_OK. */
static int outcome_of(const firn_survey *found) {
    int outcome = FIRN_ERROR_CHECKPOINT_MISSING;
    for (uint32_t i = 0; i < found->slots; i++)
        if (worth_of(found->status[i]) > worth_of(outcome))
            outcome = found->status[i];
    if (outcome == FIRN_OK)
        return FIRN_OK;
    for (uint32_t i = 0; i < found->slots; i++)
        if (found->status[i] == FIRN_ERROR_STORAGE)
            return FIRN_ERROR_STORAGE;
    /* A device that has counted a record had one. */
    return outcome == FIRN_ERROR_CHECKPOINT_MISSING && found->device != 0 ? FIRN_ERROR_CHECKPOINT_ROLLED_BACK : outcome;
}

static void report_slots(const firn_survey *found, firn_restore_report *report) {
    for (uint32_t i = 0; i < found->slots; i++) {
        const int status = found->status[i];
        if (status == FIRN_ERROR_CHECKPOINT_MISSING)
            report->slots_missing++;
        else if (is_refusal(status))
            report->slots_refused++;
        else if (status != FIRN_OK)
            report->slots_damaged++;
    }
    memcpy(report->erases, found->erases, sizeof report->erases);
}

static void report_record(const reader *from, firn_restore_report *report) {
    report->global_step = from->record.global_step;
    memcpy(report->run_hash, from->record.run_hash, FIRN_HASH_BYTES);
    memcpy(report->origin_hash, from->record.origin_hash, FIRN_HASH_BYTES);
    report->slot = (uint8_t)from->slot;
    report->sequence = from->record.sequence;
}

/* Finds the record to restore and checks it before any byte of it is copied to the state. */
static int find_record(reader *from, firn_restore_report *report) {
    firn_survey found;
    int status = survey(from, true, &found);
    report_slots(&found, report);
    if (status == FIRN_OK)
        status = outcome_of(&found);
    if (status != FIRN_OK)
        return status;
    report_record(from, report);
    return check_origin(from, report);
}

/* A record may have been written without a device key, so its counters may hold any value. Values near the overflow of
 * a later addition are refused. */
static int check_counters(const firn_instance *instance) {
    for (uint32_t i = 0; i < firn_fb_plan_state_tensors(instance->plan); i++) {
        if (firn_fb_tensor_type(firn_fb_plan_tensors_at(instance->plan, i)) != FIRN_FB_ELEMENT_TYPE_INT64)
            continue;
        firn_tensor tensor = firn_instance_tensor(instance, i);
        for (size_t e = 0; e < tensor.elements; e++) {
            int64_t value;
            memcpy(&value, (const uint8_t *)tensor.data + 8 * e, sizeof value);
            if (value < 0 || value > (INT64_C(1) << 62))
                return FIRN_ERROR_CHECKPOINT_DAMAGED;
        }
    }
    return FIRN_OK;
}

static inline __attribute__((always_inline)) int restore_from_port(firn *instance, firn_restore_report *report,
                                                                   const firn_pieces *pieces) {
    firn_instance *self = firn_instance_of(instance);
    firn_restore_report unwanted;
    report = report != NULL ? report : &unwanted;
    *report = (firn_restore_report){0};
    if (self == NULL)
        return FIRN_ERROR_NOT_OPEN;
    if (self->owner != NULL)
        return FIRN_ERROR_SHARED;
    int status;
    reader from = {.instance = self, .storage = firn_survey_storage(self, &status)};
    if (from.storage == NULL)
        return status;
    status = find_record(&from, report);
    if (status != FIRN_OK)
        return status; /* the state is unchanged */
    self->condition = FIRN_CONDITION_EMPTY;
    if (!is_train(self)) /* the counters and the metric of an evaluation start again */
        firn_initialise_state(self, false);
    status = check_digest(&from, true, pieces);
    if (status == FIRN_OK)
        status = check_counters(self);
    if (status != FIRN_OK)
        return status;
    firn_instance_changed(self);
    self->condition = FIRN_CONDITION_READY;
    return FIRN_OK;
}

int firn_restore(firn *instance, firn_restore_report *report) {
    return restore_from_port(instance, report, NULL);
}

#if FIRN_PROCESSES
int firn_restore_pieces(firn *instance, firn_restore_report *report, const firn_pieces *pieces) {
    return restore_from_port(instance, report, pieces);
}
#endif
