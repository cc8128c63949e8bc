/* Saves and restores the state through the port's block storage. A record becomes valid with its last write, the commit
 * unit. A record is accepted only after its lengths, its SHA-256, its identities and its list of tensors have been
 * checked; the bytes are hashed a second time while they are copied into the state. The layout of a record is defined
 * in record.c; nothing here depends on the kind of storage. */
#include <string.h>

#include "plan/bytes.h"
#include "plan/identity.h"
#include "plan/record.h"
#include "runtime/instance.h"

/* Bytes read at a time while a record is checked. */
#define READ_BYTES 1024u

static uint64_t round_up(uint64_t value, uint64_t unit) {
    return (value + (unit - 1)) / unit * unit;
}

static bool power_of_two(uint32_t value) {
    return value != 0 && (value & (value - 1)) == 0;
}

/* Returns the storage of an instance, or NULL with the reason in *status. */
static const firn_storage *storage_of(const firn_instance *instance, int *status) {
    *status = FIRN_ERROR_NO_STORAGE;
    if (instance->port == NULL || instance->port->storage == NULL)
        return NULL;
    const firn_storage *storage = instance->port->storage;
    *status = FIRN_ERROR_ARGUMENT;
    if (!power_of_two(storage->program_unit) || storage->program_unit > FIRN_RECORD_UNIT_MAX ||
        storage->erase_unit == 0 || storage->erase_unit % storage->program_unit != 0 ||
        storage->capacity % storage->erase_unit != 0 || (storage->capacity == 0 && storage->stored == NULL))
        return NULL;
    *status = FIRN_OK;
    return storage;
}

/* --- the directory of a plan --- */

/* Returns the directory entry of a tensor of the state, whose region is in the record. */
static firn_record_entry entry_of(const firn_instance *instance, const firn_record *record, firn_fb_tensor tensor) {
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

/* --- writing --- */

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
        firn_record_entry entry = entry_of(to->instance, record, firn_fb_plan_tensors_at(plan, i));
        uint32_t length = firn_record_entry_encode(&entry, bytes);
        put(to, bytes, length);
        written += length;
    }
    put_zeros(to, round_up(written, 16) - written);
}

static void put_regions(writer *to) {
    const firn_instance *instance = to->instance;
    for (uint32_t i = 0; i < instance->header.region_count; i++) {
        if (!firn_region_is_state(instance->header.region_kinds[i]))
            continue;
        put(to, instance->blocks[i], instance->header.region_bytes[i]);
        put_zeros(to, round_up(instance->header.region_bytes[i], 16) - instance->header.region_bytes[i]);
    }
}

static void put_record(writer *to, const firn_record *record) {
    uint8_t header[FIRN_RECORD_HEADER_BYTES];
    firn_record_encode(record, header);
    put(to, header, sizeof header);
    put_directory(to, record);
    put_regions(to);
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

static int write_record(const firn_instance *instance, const firn_storage *storage, const firn_record *record) {
    uint64_t committed_at = commit_offset(record, storage);
    uint64_t erase = round_up(committed_at + firn_record_commit_bytes(storage->program_unit), storage->erase_unit);
    if (storage->capacity != 0 && erase > storage->capacity)
        return FIRN_ERROR_STORAGE_FULL;
    int status = storage->erase(instance->port->context, 0, erase);
    if (status != FIRN_OK)
        return status;
    writer to = {.instance = instance, .storage = storage};
    put_record(&to, record);
    if (to.filled > 0) {
        uint32_t padded = (uint32_t)round_up(to.filled, storage->program_unit);
        memset(to.buffer + to.filled, 0, padded - to.filled);
        program(&to, to.buffer, padded);
    }
    put_commit(&to);
    return to.status == FIRN_OK ? storage->sync(instance->port->context) : to.status;
}

/* Fills in the header of a record, with the number of steps the state has completed and the SHA-256 of the record. */
static int record_of(const firn *instance, const firn_instance *self, firn_record *record) {
    *record = (firn_record){.version = FIRN_RECORD_VERSION,
                            .sequence = self->sequence + 1,
                            .directory_bytes = firn_record_directory_bytes(self->plan)};
    firn_record_set_regions(record, &self->header);
    memcpy(record->run_hash, self->header.run_hash, FIRN_HASH_BYTES);
    memcpy(record->model_hash, self->model_hash, FIRN_HASH_BYTES);
    memcpy(record->data_hash, self->data_hash, FIRN_HASH_BYTES);
    for (uint32_t i = 0; i < firn_fb_plan_origin_count(self->plan); i++) /* 32 bytes or none */
        record->origin_hash[i] = firn_fb_plan_origin_at(self->plan, i);
    int status = firn_preprocessing_hash(self->plan, record->preprocessing_hash);
    if (status == FIRN_OK)
        status = firn_split_hash(self->plan, record->split_hash);
    if (status == FIRN_OK)
        status = firn_progress(instance, &record->global_step);
    if (status != FIRN_OK)
        return status;
    firn_sha256 hash;
    status = firn_sha256_begin(&hash);
    if (status != FIRN_OK)
        return status;
    writer to = {.instance = self, .hash = &hash};
    put_record(&to, record);
    return to.status == FIRN_OK ? firn_sha256_end(&hash, record->digest) : to.status;
}

int firn_save(firn *instance) {
    firn_instance *self = firn_instance_of(instance);
    if (self == NULL)
        return FIRN_ERROR_NOT_OPEN;
    int status;
    const firn_storage *storage = storage_of(self, &status);
    if (storage == NULL)
        return status;
    firn_record record;
    status = record_of(instance, self, &record);
    if (status == FIRN_OK)
        status = write_record(self, storage, &record);
    if (status == FIRN_OK)
        self->sequence = record.sequence;
    return status;
}

/* --- reading --- */

typedef struct reader {
    const firn_instance *instance;
    const firn_storage *storage;
    uint64_t limit; /* bytes that can be read */
    firn_record record;
    uint8_t header[FIRN_RECORD_HEADER_BYTES]; /* as stored, except that the digest is zeroed */
} reader;

/* Reads `count` bytes at `offset`. A read that crosses the limit is refused as a whole. */
static int get(const reader *from, uint64_t offset, void *bytes, uint32_t count) {
    if (offset > from->limit || from->limit - offset < count)
        return FIRN_ERROR_CHECKPOINT_DAMAGED;
    firn_instance_alive(from->instance);
    return from->storage->read(from->instance->port->context, offset, bytes, count) == 0 ? FIRN_OK : FIRN_ERROR_STORAGE;
}

static bool all_are(const uint8_t *bytes, uint32_t count, uint8_t value) {
    for (uint32_t i = 0; i < count; i++)
        if (bytes[i] != value)
            return false;
    return true;
}

static int read_header(reader *from) {
    const firn_storage *storage = from->storage;
    from->limit = storage->stored != NULL ? storage->stored(from->instance->port->context) : storage->capacity;
    if (from->limit == 0)
        return FIRN_ERROR_CHECKPOINT_MISSING;
    int status = get(from, 0, from->header, sizeof from->header);
    if (status != FIRN_OK)
        return status;
    if (storage->stored == NULL && all_are(from->header, sizeof from->header, storage->erased_value))
        return FIRN_ERROR_CHECKPOINT_MISSING;
    status = firn_record_decode(&from->record, from->header);
    if (status != FIRN_OK)
        return status;
    firn_record undigested = from->record;
    memset(undigested.digest, 0, sizeof undigested.digest);
    firn_record_encode(&undigested, from->header);
    return FIRN_OK;
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
    const uint64_t offset = commit_offset(&from->record, from->storage);
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

/* Compares the SHA-256 of the record with the one in its header. With `keep`, the regions that the plan wants are also
 * copied into its blocks. */
static int check_digest(const reader *from, bool keep) {
    uint64_t at = FIRN_RECORD_HEADER_BYTES + from->record.directory_bytes;
    uint8_t digest[FIRN_HASH_BYTES];
    firn_sha256 hash;
    int status = firn_sha256_begin(&hash);
    if (status == FIRN_OK)
        status = firn_sha256_update(&hash, from->header, sizeof from->header);
    if (status == FIRN_OK)
        status = hash_stored(from, &hash, FIRN_RECORD_HEADER_BYTES, from->record.directory_bytes, NULL);
    for (uint32_t i = 0; status == FIRN_OK && i < from->record.region_count; i++) {
        const uint64_t bytes = from->record.region_bytes[i], padded = round_up(bytes, 16);
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
    return memcmp(from->record.model_hash, instance->model_hash, FIRN_HASH_BYTES) == 0
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
    const bool part = is_train(instance) ||
                      firn_fb_sampler_part(firn_fb_plan_sampler(instance->plan)) != FIRN_FB_DATA_PART_ALL;
    uint8_t preprocessing_hash[FIRN_HASH_BYTES], split_hash[FIRN_HASH_BYTES];
    int status = firn_preprocessing_hash(instance->plan, preprocessing_hash);
    if (status == FIRN_OK)
        status = firn_split_hash(instance->plan, split_hash);
    if (status != FIRN_OK)
        return status;
    int preprocessing = compare(from->record.preprocessing_hash, preprocessing_hash, instance->allow_other_preprocessing,
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
        firn_record_entry expected = entry_of(instance, &from->record, firn_fb_plan_tensors_at(instance->plan, wanted));
        if (!same_entry(&entry, &expected))
            return FIRN_ERROR_CHECKPOINT_DAMAGED;
        wanted = next_wanted(instance, wanted + 1);
    }
    if (status != FIRN_OK)
        return status;
    return wanted == firn_fb_plan_state_tensors(instance->plan) && end - at < 16 ? FIRN_OK
                                                                                 : FIRN_ERROR_CHECKPOINT_DAMAGED;
}

/* Checks the whole record before any byte of it is copied to the state. */
static int check_record(reader *from, firn_restore_report *report) {
    int status = read_header(from);
    if (status == FIRN_OK)
        status = check_lengths(from);
    if (status == FIRN_OK)
        status = check_commit(from);
    if (status == FIRN_OK)
        status = check_digest(from, false);
    if (status == FIRN_OK)
        status = check_identity(from);
    if (status == FIRN_OK)
        status = check_regions(from);
    if (status == FIRN_OK)
        status = check_directory(from);
    if (status != FIRN_OK)
        return status;
    report->global_step = from->record.global_step;
    memcpy(report->run_hash, from->record.run_hash, FIRN_HASH_BYTES);
    memcpy(report->origin_hash, from->record.origin_hash, FIRN_HASH_BYTES);
    return check_origin(from, report);
}

/* A record is not signed, so its counters may hold any value. Values near the overflow of a later addition are
 * refused. */
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

int firn_restore(firn *instance, firn_restore_report *report) {
    firn_instance *self = firn_instance_of(instance);
    firn_restore_report unwanted;
    report = report != NULL ? report : &unwanted;
    *report = (firn_restore_report){0};
    if (self == NULL)
        return FIRN_ERROR_NOT_OPEN;
    if (self->owner != NULL)
        return FIRN_ERROR_SHARED;
    int status;
    reader from = {.instance = self, .storage = storage_of(self, &status)};
    if (from.storage == NULL)
        return status;
    status = check_record(&from, report);
    if (status != FIRN_OK)
        return status; /* the state is unchanged */
    self->condition = FIRN_CONDITION_EMPTY;
    if (!is_train(self)) /* the counters and the metric of an evaluation start again */
        firn_initialise_state(self, false);
    status = check_digest(&from, true);
    if (status == FIRN_OK)
        status = check_counters(self);
    if (status != FIRN_OK)
        return status;
    self->sequence = from.record.sequence;
    firn_instance_changed(self);
    self->condition = FIRN_CONDITION_READY;
    return FIRN_OK;
}
