/* Saves the state through the port's block storage: writes a record into the slot that holds nothing to be kept. A
 * record becomes valid with its last write, the commit unit. The layout of a record is defined in record.c; what the
 * slots hold is found out in restore.c; nothing here depends on the kind of storage. */
#include <string.h>

#include "plan/bytes.h"
#include "plan/checkpoint/record.h"
#include "plan/identity.h"
#include "runtime/instance.h"

/* The destination of a record's bytes: a hash, or storage, through a buffer of the largest program unit. The first
 * error is kept and stops further writes. */
typedef struct writer {
    const firn_instance *instance;
    firn_sha256 *hash;           /* NULL: the bytes are programmed */
    const firn_storage *storage; /* NULL: they are hashed */
    uint64_t offset;             /* of the buffer's first byte */
    uint32_t filled;
    int status;
    uint8_t buffer[FIRN_RECORD_UNIT_MAX];
} writer;

static void program(writer *to, const void *bytes, uint32_t count) {
    if (to->status == FIRN_OK)
        to->status = to->storage->program(to->instance->port->context, to->offset, bytes, count);
    to->offset += count;
    firn_instance_alive(to->instance);
}

/* Programs whole multiples of the buffer directly; the remaining bytes stay in the buffer. */
static void write_through(writer *to, const uint8_t *bytes, uint64_t count) {
    while (count > 0) {
        if (to->filled == 0 && count >= FIRN_RECORD_UNIT_MAX) {
            uint64_t whole = count - count % FIRN_RECORD_UNIT_MAX;
            uint32_t piece = whole < FIRN_ALIVE_BYTES ? (uint32_t)whole : FIRN_ALIVE_BYTES;
            program(to, bytes, piece);
            bytes += piece;
            count -= piece;
            continue;
        }
        uint32_t space = FIRN_RECORD_UNIT_MAX - to->filled;
        uint32_t piece = count < space ? (uint32_t)count : space;
        memcpy(to->buffer + to->filled, bytes, piece);
        to->filled += piece;
        bytes += piece;
        count -= piece;
        if (to->filled == FIRN_RECORD_UNIT_MAX) {
            program(to, to->buffer, FIRN_RECORD_UNIT_MAX);
            to->filled = 0;
        }
    }
}

static void hash_through(writer *to, const uint8_t *bytes, uint64_t count) {
    while (to->status == FIRN_OK && count > 0) {
        uint32_t piece = count < FIRN_ALIVE_BYTES ? (uint32_t)count : FIRN_ALIVE_BYTES;
        to->status = firn_sha256_update(to->hash, bytes, piece);
        bytes += piece;
        count -= piece;
        firn_instance_alive(to->instance);
    }
}

static void put(writer *to, const void *bytes, uint64_t count) {
    if (to->hash != NULL)
        hash_through(to, bytes, count);
    else
        write_through(to, bytes, count);
}

static void put_zeros(writer *to, uint64_t count) {
    static const uint8_t zeros[FIRN_RECORD_UNIT_MAX] = {0};
    put(to, zeros, count); /* always less than one unit */
}

static void put_directory(writer *to, const firn_record *record) {
    firn_fb_plan plan = to->instance->plan;
    uint32_t count = firn_fb_plan_state_tensors(plan);
    uint8_t bytes[FIRN_RECORD_ENTRY_MAX];
    uint64_t written = 4;
    firn_store32(bytes, count);
    put(to, bytes, 4);
    for (uint32_t i = 0; i < count; i++) {
        firn_record_entry entry = firn_survey_entry(to->instance, record, firn_fb_plan_tensors_at(plan, i));
        uint32_t length = firn_record_entry_encode(&entry, bytes);
        put(to, bytes, length);
        written += length;
    }
    put_zeros(to, firn_round_up(written, 16) - written);
}

static void put_pieces(writer *to, const uint8_t *block, uint64_t bytes, const firn_pieces *pieces) {
    uint64_t count;
    for (uint64_t at = 0; at < bytes; at += count) {
        count = bytes - at;
        const uint8_t *piece = pieces->read(pieces->context, block + (size_t)at, &count);
        put(to, piece, count);
    }
}

static void put_regions(writer *to, const firn_pieces *pieces) {
    const firn_instance *instance = to->instance;
    for (uint32_t i = 0; i < instance->header.region_count; i++) {
        if (!firn_region_is_state(instance->header.region_kinds[i]))
            continue;
        if (FIRN_PROCESSES && pieces != NULL)
            put_pieces(to, instance->blocks[i], instance->header.region_bytes[i], pieces);
        else
            put(to, instance->blocks[i], instance->header.region_bytes[i]);
        put_zeros(to, firn_round_up(instance->header.region_bytes[i], 16) - instance->header.region_bytes[i]);
    }
}

/* Not inlined, so that the bytes are off the stack when the state is written. */
__attribute__((noinline)) static void put_header(writer *to, const firn_record *record) {
    uint8_t header[FIRN_RECORD_HEADER_BYTES];
    if (to->hash != NULL)
        firn_record_encode_hashed(record, header);
    else
        firn_record_encode(record, header);
    put(to, header, sizeof header);
}

static void put_record(writer *to, const firn_record *record, const firn_pieces *pieces) {
    put_header(to, record);
    put_directory(to, record);
    put_regions(to, pieces);
}

/* The commit unit, padded with the erased value. */
static void put_commit(writer *to) {
    memset(to->buffer, to->storage->erased_value, sizeof to->buffer);
    firn_record_commit(to->buffer);
    program(to, to->buffer, firn_record_commit_bytes(to->storage->program_unit));
}

static uint64_t commit_offset(const firn_record *record, const firn_storage *storage) {
    return firn_record_commit_offset(record->directory_bytes, record->state_bytes, storage->program_unit);
}

/* Writes a record into a slot. */
static int write_record(const firn_instance *instance, const firn_storage *storage, uint32_t slot,
                        const firn_record *record, const firn_pieces *pieces) {
    const uint64_t base = slot * storage->capacity;
    uint64_t committed_at = commit_offset(record, storage);
    uint64_t erase = firn_round_up(committed_at + firn_record_commit_bytes(storage->program_unit), storage->erase_unit);
    if (storage->capacity != 0 && erase > storage->capacity)
        return FIRN_ERROR_STORAGE_FULL;
    int status = storage->erase(instance->port->context, base, erase);
    if (status != FIRN_OK)
        return status;
    writer to = {.instance = instance, .storage = storage, .offset = base};
    put_record(&to, record, pieces);
    if (to.filled > 0) {
        uint32_t padded = (uint32_t)firn_round_up(to.filled, storage->program_unit);
        memset(to.buffer + to.filled, 0, padded - to.filled);
        program(&to, to.buffer, padded);
    }
    put_commit(&to);
    return to.status == FIRN_OK ? storage->sync(instance->port->context) : to.status;
}

/* Fills in what the header of a record says about the plan and its state. */
static int describe_state(const firn *instance, const firn_instance *self, firn_record *record) {
    record->version = FIRN_RECORD_VERSION;
    record->directory_bytes = firn_record_directory_bytes(self->plan);
    firn_record_set_regions(record, &self->header);
    memcpy(record->run_hash, self->header.run_hash, FIRN_HASH_BYTES);
    memcpy(record->model_hash, firn_instance_model_hash(self), FIRN_HASH_BYTES);
    memcpy(record->data_hash, self->data_hash, FIRN_HASH_BYTES);
    for (uint32_t i = 0; i < firn_fb_plan_origin_count(self->plan); i++) /* 32 bytes or none */
        record->origin_hash[i] = firn_fb_plan_origin_at(self->plan, i);
    int status = firn_preprocessing_hash(self->plan, record->preprocessing_hash);
    if (status == FIRN_OK)
        status = firn_split_hash(self->plan, record->split_hash);
    return status == FIRN_OK ? firn_progress(instance, &record->global_step) : status;
}

/* Fills in what the header says about the storage: its place among the records, the wear, and the value that the
 * checkpoint counter has once the record is saved. A run that keeps the record of another one does not make it too old:
 * the plan may be withdrawn. */
static int describe_place(const firn_instance *self, const firn_storage *storage, const firn_survey *found,
                          firn_record *record) {
    record->sequence = found->any ? found->sequence + 1 : 1;
    memcpy(record->erases, found->erases, sizeof record->erases);
    if (storage->capacity != 0 && record->erases[found->target] != UINT32_MAX)
        record->erases[found->target]++;
    if (self->port->checkpoint_counter == NULL)
        return FIRN_OK;
    const bool shares = found->counted != 0 && found->counted < self->port->saves_per_advance;
    const bool stays = found->kept == FIRN_KEPT_OTHER_RUN || (found->kept == FIRN_KEPT_THIS_RUN && shares);
    if (!stays && found->counter == UINT32_MAX)
        return FIRN_ERROR_COUNTER;
    record->counter = stays ? found->counter : found->counter + 1;
    record->counted = !stays ? 1 : found->counted != UINT32_MAX ? found->counted + 1 : UINT32_MAX;
    return FIRN_OK;
}

/* Computes the SHA-256 of a record and, with a device key, the code that authenticates it. */
static int seal(const firn_instance *self, firn_record *record, const firn_pieces *pieces) {
    firn_sha256 hash;
    int status = firn_sha256_begin(&hash);
    if (status != FIRN_OK)
        return status;
    writer to = {.instance = self, .hash = &hash};
    put_record(&to, record, pieces);
    status = to.status == FIRN_OK ? firn_sha256_end(&hash, record->digest) : to.status;
    return status == FIRN_OK && self->device_key != NULL ? firn_record_code(record, self->device_key, record->code)
                                                         : status;
}

static int save(const firn *instance, const firn_instance *self, const firn_storage *storage,
                const firn_pieces *pieces) {
    firn_survey found;
    firn_record record = {0};
    int status = firn_survey_slots(self, storage, &found);
    if (status == FIRN_OK)
        status = describe_state(instance, self, &record);
    if (status == FIRN_OK)
        status = describe_place(self, storage, &found, &record);
    if (status == FIRN_OK)
        status = seal(self, &record, pieces);
    if (status == FIRN_OK)
        status = write_record(self, storage, found.target, &record, pieces);
    if (status != FIRN_OK || record.counter == found.counter)
        return status;
    return self->port->checkpoint_counter->advance(self->port->context, record.counter);
}

static int save_to_port(firn *instance, const firn_pieces *pieces) {
    firn_instance *self = firn_instance_of(instance);
    if (self == NULL)
        return FIRN_ERROR_NOT_OPEN;
    int status;
    const firn_storage *storage = firn_survey_storage(self, &status);
    return storage != NULL ? save(instance, self, storage, pieces) : status;
}

int firn_save(firn *instance) {
    return save_to_port(instance, NULL);
}

#if FIRN_PROCESSES
int firn_save_pieces(firn *instance, const firn_pieces *pieces) {
    return save_to_port(instance, pieces);
}
#endif
