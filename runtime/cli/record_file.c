/* Reads a checkpoint file, or a dump of slots of flash, without its plan. Everything that can be checked without the
 * plan is checked first, in the same way as the library does. */
#define _GNU_SOURCE
#define _FILE_OFFSET_BITS 64
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "plan/bytes.h"
#include "plan/checkpoint/hmac.h"
#include "runtime/cli/cli.h"

static int damaged(const char *path, int error) {
    const char *mend = error == FIRN_ERROR_CHECKPOINT_VERSION ? "use the firn that wrote it"
                       : error == FIRN_ERROR_CHECKPOINT_AUTHENTICATION
                           ? "give the key of the device that wrote it by --device-key, or leave that out"
                           : "use another copy, or go back to an older one";
    firn_host_fail(path, "%s (%s); %s", firn_error_text(error), firn_error_name(error), mend);
    return CLI_REFUSED;
}

/* Whether the eight bytes at an offset begin a record, or are erased flash. */
static bool begins_slot(int file, uint64_t offset) {
    static const uint8_t erased[FIRN_RECORD_MAGIC_BYTES] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff};
    uint8_t head[FIRN_RECORD_MAGIC_BYTES];
    if (pread(file, head, sizeof head, (off_t)offset) != (ssize_t)sizeof head)
        return false;
    return memcmp(head, FIRN_RECORD_MAGIC, sizeof head) == 0 || memcmp(head, erased, sizeof head) == 0;
}

/* Whether a file begins like a record, or like slots of which one may hold one. */
static bool begins_like_record(int file, uint64_t count) {
    return begins_slot(file, 0) || begins_slot(file, count / 2);
}

/* Refuses a file that begins like no checkpoint. */
static int refuse_other(const char *path, int file) {
    uint8_t head[FIRN_FILE_KIND_BYTES];
    const ssize_t count = pread(file, head, sizeof head, 0);
    const firn_file_kind *kind = count > 0 ? firn_file_kind_of(head, (size_t)count) : NULL;
    firn_host_fail(path, "begins like %s%s (%s); give the file that firn train --checkpoint wrote",
                   kind != NULL ? kind->name : "no checkpoint", kind != NULL ? ", and not like a checkpoint" : "",
                   firn_error_name(FIRN_ERROR_CHECKPOINT_DAMAGED));
    return CLI_REFUSED;
}

int cli_record_refuse(const char *path) {
    uint64_t count;
    int file = firn_host_open(path, true, &count);
    if (file < 0)
        return CLI_FILE;
    const bool other = count != 0 && !begins_like_record(file, count);
    const int status = other ? refuse_other(path, file) : CLI_OK;
    close(file);
    return status;
}

static int read_file(const char *path, uint8_t **contents, uint64_t *count) {
    int file = firn_host_open(path, true, count);
    if (file < 0)
        return CLI_FILE;
    if (*count != (size_t)*count) { /* only possible with 32-bit addresses */
        close(file);
        firn_host_fail(path, "has more bytes than there can be memory for; read it on a 64-bit machine");
        return CLI_FILE;
    }
    if (*count != 0 && !begins_like_record(file, *count)) {
        const int status = refuse_other(path, file);
        close(file);
        return status;
    }
    *contents = firn_host_allocate((size_t)*count);
    bool whole = firn_host_read(file, *contents, (size_t)*count) == (int64_t)*count;
    close(file);
    if (whole)
        return CLI_OK;
    firn_host_fail(path, "cannot be read to its end; run again where nobody changes it, or look at the disk");
    return CLI_FILE;
}

static int refuse_behind(const char *path, uint64_t end) {
    firn_host_fail(path,
                   "more than erased flash (0xff) lies behind the record (%s); use another copy, give --slot if it is "
                   "a dump of two "
                   "slots, or cut it to its first %llu bytes",
                   firn_error_name(FIRN_ERROR_CHECKPOINT_DAMAGED), (unsigned long long)end);
    return CLI_REFUSED;
}

/* Returns true if all bytes are equal to an erased byte, and also if there are none. */
static bool is_erased(const uint8_t *bytes, uint64_t count) {
    for (uint64_t i = 0; i < count; i++)
        if (bytes[i] != 0xff)
            return false;
    return true;
}

static int check_digest(const cli_record *record, uint64_t end) {
    uint8_t header[FIRN_RECORD_HEADER_BYTES], digest[FIRN_HASH_BYTES];
    firn_record_encode_hashed(&record->header, header);
    firn_sha256 hash;
    if (firn_sha256_begin(&hash) != FIRN_OK || firn_sha256_update(&hash, header, sizeof header) != FIRN_OK ||
        firn_sha256_update(&hash, record->bytes + sizeof header, (size_t)(end - sizeof header)) != FIRN_OK ||
        firn_sha256_end(&hash, digest) != FIRN_OK)
        return FIRN_ERROR_HASH;
    return memcmp(digest, record->header.digest, sizeof digest) == 0 ? FIRN_OK : FIRN_ERROR_CHECKPOINT_DAMAGED;
}

/* Computes the number of bytes of a tensor and checks that it lies inside the state. */
static bool measure(cli_record_entry *entry, uint64_t state_bytes) {
    firn_shape shape = {.type = entry->entry.type, .rank = entry->entry.rank};
    memcpy(shape.dims, entry->entry.dims, sizeof shape.dims);
    return firn_shape_bytes(&shape, &entry->bytes) && entry->entry.offset <= state_bytes &&
           state_bytes - entry->entry.offset >= entry->bytes;
}

static int read_directory(cli_record *record) {
    const uint8_t *at = record->bytes + FIRN_RECORD_HEADER_BYTES;
    uint64_t left = record->header.directory_bytes - 4;
    uint32_t count = firn_load32(at);
    if (count == 0 || count > left / 20) /* an entry has at least 20 bytes */
        return FIRN_ERROR_CHECKPOINT_DAMAGED;
    record->entries = firn_host_allocate(count * sizeof *record->entries);
    at += 4;
    for (uint32_t i = 0; i < count; i++) {
        cli_record_entry *entry = &record->entries[i];
        uint32_t length = firn_record_entry_decode(&entry->entry, at, left);
        if (length == 0 || !measure(entry, record->header.state_bytes))
            return FIRN_ERROR_CHECKPOINT_DAMAGED;
        memcpy(entry->name, entry->entry.name, entry->entry.name_length);
        at += length;
        left -= length;
    }
    record->count = count;
    return left < 16 ? FIRN_OK : FIRN_ERROR_CHECKPOINT_DAMAGED;
}

/* The bytes of a file that may hold a record, and the key that it may need. */
typedef struct window {
    const uint8_t *bytes;
    uint64_t count;
    const uint8_t *device_key; /* NULL: codes are not checked */
} window;

static int check(cli_record *record, const window *in) {
    record->bytes = in->bytes;
    if (in->count < FIRN_RECORD_HEADER_BYTES)
        return FIRN_ERROR_CHECKPOINT_DAMAGED;
    if (is_erased(in->bytes, FIRN_RECORD_HEADER_BYTES))
        return FIRN_ERROR_CHECKPOINT_MISSING;
    int error = firn_record_decode(&record->header, record->bytes);
    if (error != FIRN_OK)
        return error;
    uint64_t left = in->count - FIRN_RECORD_HEADER_BYTES;
    if (record->header.directory_bytes < 16 || record->header.directory_bytes > left ||
        record->header.state_bytes > left - record->header.directory_bytes)
        return FIRN_ERROR_CHECKPOINT_DAMAGED;
    uint64_t state_at = FIRN_RECORD_HEADER_BYTES + record->header.directory_bytes;
    record->state = record->bytes + state_at;
    error = firn_record_find_commit(record->bytes, in->count, state_at + record->header.state_bytes, &record->end);
    if (error == FIRN_OK)
        error = check_digest(record, state_at + record->header.state_bytes);
    if (error == FIRN_OK && in->device_key != NULL)
        error = firn_record_authenticate(&record->header, in->device_key);
    return error == FIRN_OK ? read_directory(record) : error;
}

/* Prepares a record to be read from the same file again. */
static void restart(cli_record *record) {
    free(record->entries);
    record->entries = NULL;
    record->count = 0;
    record->end = 0;
}

/* --- slots --- */

enum { SLOTS = 2 };

/* Returns the part of a dump that is one of two slots. */
static window slot_of(const window *dump, uint64_t slot) {
    return (window){dump->bytes + slot * (dump->count / SLOTS), dump->count / SLOTS, dump->device_key};
}

/* Returns true if the second half of a file begins like a record, as a dump of two slots does. */
static bool is_of_two_slots(const window *file) {
    return file->count % SLOTS == 0 && file->count / SLOTS >= FIRN_RECORD_HEADER_BYTES &&
           memcmp(slot_of(file, 1).bytes, FIRN_RECORD_MAGIC, FIRN_RECORD_MAGIC_BYTES) == 0;
}

/* Reads the newer valid record of two slots, and notes which one that is. */
static int check_two(cli_record *record, const window *dump) {
    int errors[SLOTS];
    uint32_t sequences[SLOTS];
    for (uint64_t i = 0; i < SLOTS; i++) {
        const window slot = slot_of(dump, i);
        restart(record);
        errors[i] = check(record, &slot);
        sequences[i] = record->header.sequence;
    }
    const bool newer =
        errors[1] == FIRN_OK && (errors[0] != FIRN_OK || firn_record_is_newer(sequences[1], sequences[0]));
    const uint64_t chosen = newer ? 1 : 0;
    restart(record);
    if (errors[chosen] != FIRN_OK)
        return errors[0] == FIRN_ERROR_CHECKPOINT_MISSING ? errors[1] : errors[0];
    const window slot = slot_of(dump, chosen);
    const int error = check(record, &slot);
    const int other = errors[1 - chosen];
    firn_host_note("slot %u of two, sequence %lu, step %llu; %s", (unsigned)chosen,
                   (unsigned long)record->header.sequence, (unsigned long long)record->header.global_step,
                   other == FIRN_OK                         ? "the other one is older"
                   : other == FIRN_ERROR_CHECKPOINT_MISSING ? "the other one is erased"
                                                            : "the other one is damaged or was refused");
    return error;
}

/* Returns true if the file is one record that reaches beyond its half, and so no dump of two slots. */
static bool is_one_record(cli_record *record, const window *file) {
    const bool good = check(record, file) == FIRN_OK;
    const bool reaches =
        good && (uint64_t)(record->state - record->bytes) + record->header.state_bytes > file->count / SLOTS;
    restart(record);
    return reaches;
}

static int check_file(cli_record *record, const cli_options *options, const window *file) {
    if (options->slot_given) {
        const window slot = slot_of(file, options->slot);
        return file->count % SLOTS == 0 ? check(record, &slot) : FIRN_ERROR_CHECKPOINT_DAMAGED;
    }
    return is_of_two_slots(file) ? check_two(record, file) : check(record, file);
}

int cli_record_load(cli_record *record, const cli_options *options) {
    uint8_t key[CLI_DEVICE_KEY_BYTES];
    window file = {0};
    *record = (cli_record){0};
    int status = options->device_key != NULL ? cli_device_key_read(key, options->device_key) : CLI_OK;
    if (status == CLI_OK)
        status = read_file(options->file, &record->contents, &file.count);
    if (status != CLI_OK)
        return status;
    file.bytes = record->contents;
    file.device_key = options->device_key != NULL ? key : NULL;
    if (options->slot_given && is_one_record(record, &file)) {
        firn_hmac_forget(key, sizeof key);
        firn_host_fail(options->file, "is one record, and no dump of two slots; leave out --slot");
        return CLI_USAGE;
    }
    int error = check_file(record, options, &file);
    firn_hmac_forget(key, sizeof key);
    if (error != FIRN_OK && record->end != 0)
        return refuse_behind(options->file, record->end);
    if (error != FIRN_OK)
        return damaged(options->file, error);
    if (file.device_key == NULL && firn_record_authenticate(&record->header, NULL) != FIRN_OK)
        firn_host_note("%s was authenticated by a device key, which was not checked; give --device-key", options->file);
    return CLI_OK;
}

int cli_record_read(cli_record *record, const char *path, const uint8_t *device_key, int *error) {
    window file = {.device_key = device_key};
    *record = (cli_record){0};
    *error = FIRN_OK;
    const int status = read_file(path, &record->contents, &file.count);
    if (status != CLI_OK)
        return status;
    file.bytes = record->contents;
    *error = check(record, &file);
    if (*error == FIRN_OK && device_key == NULL) /* one that needs a key is refused, too */
        *error = firn_record_authenticate(&record->header, NULL);
    return CLI_OK;
}

void cli_record_unload(cli_record *record) {
    free(record->entries);
    free(record->contents);
    *record = (cli_record){0};
}
