/* Reads the checkpoint of an older run (compiler/weights/older_run.h): header, commit unit, SHA-256, directory
 * (plan/FORMAT.md, "Checkpoint"). */
#include "compiler/weights/older_run.h"

#include <string.h>

#include "compiler/base/text.h"
#include "plan/bytes.h"
#include "plan/errors.h"
#include "plan/signature.h"

#define RECORD_BYTES_MAX (UINT64_C(1) << 40)

/* Of a file that is no checkpoint only the head is read. */
static uint64_t extent(const uint8_t *head, uint64_t count) {
    const bool begins =
        count >= FIRN_RECORD_HEADER_BYTES && memcmp(head, FIRN_RECORD_MAGIC, FIRN_RECORD_MAGIC_BYTES) == 0;
    return begins ? UINT64_MAX : count;
}

static int check_digest(const firnc_older_run *run, const uint8_t *bytes, uint64_t end) {
    uint8_t header[FIRN_RECORD_HEADER_BYTES], digest[FIRN_HASH_BYTES];
    firn_record_encode_hashed(&run->header, header);
    firn_sha256 hash;
    if (firn_sha256_begin(&hash) != FIRN_OK || firn_sha256_update(&hash, header, sizeof header) != FIRN_OK ||
        firn_sha256_update(&hash, bytes + sizeof header, (size_t)(end - sizeof header)) != FIRN_OK ||
        firn_sha256_end(&hash, digest) != FIRN_OK)
        return FIRN_ERROR_HASH;
    return memcmp(digest, run->header.digest, sizeof digest) == 0 ? FIRN_OK : FIRN_ERROR_CHECKPOINT_DAMAGED;
}

/* Reads an entry of the directory, whose tensor lies in `state`. */
static bool read_tensor(firnc_older_tensor *tensor, const firn_record_entry *entry, const uint8_t *state,
                        uint64_t state_bytes) {
    uint64_t bytes;
    *tensor = (firnc_older_tensor){.name = firnc_format("%.*s", (int)entry->name_length, entry->name),
                                   .shape = {.type = entry->type, .rank = entry->rank},
                                   .role = entry->role};
    memcpy(tensor->shape.dims, entry->dims, sizeof entry->dims);
    if (strlen(tensor->name) != entry->name_length || (entry->type != FIRN_FLOAT32 && entry->type != FIRN_INT64) ||
        !firn_shape_bytes(&tensor->shape, &bytes) || entry->offset > state_bytes || state_bytes - entry->offset < bytes)
        return false;
    tensor->bytes = state + entry->offset;
    return true;
}

static int read_directory(firnc_older_run *run, const uint8_t *directory, const uint8_t *state) {
    const uint8_t *at = directory + 4;
    uint64_t left = run->header.directory_bytes - 4;
    const uint32_t count = firn_load32(directory);
    if (count == 0 || count > left / FIRN_RECORD_ENTRY_BYTES(1, 1))
        return FIRN_ERROR_CHECKPOINT_DAMAGED;
    firnc_older_tensor *tensors = firnc_allocate(count * sizeof *tensors);
    for (uint32_t i = 0; i < count; i++) {
        firn_record_entry entry;
        const uint32_t length = firn_record_entry_decode(&entry, at, left);
        if (length == 0 || !read_tensor(&tensors[i], &entry, state, run->header.state_bytes) ||
            (i > 0 && strcmp(tensors[i - 1].name, tensors[i].name) >= 0))
            return FIRN_ERROR_CHECKPOINT_DAMAGED;
        at += length;
        left -= length;
    }
    run->tensors = tensors;
    run->count = count;
    return left < 16 ? FIRN_OK : FIRN_ERROR_CHECKPOINT_DAMAGED;
}

int firnc_older_run_parse(firnc_older_run *run, const firnc_bytes *bytes) {
    if (bytes->count < FIRN_RECORD_HEADER_BYTES)
        return FIRN_ERROR_CHECKPOINT_DAMAGED;
    int error = firn_record_decode(&run->header, bytes->data);
    if (error != FIRN_OK)
        return error;
    const uint64_t left = bytes->count - FIRN_RECORD_HEADER_BYTES;
    if (run->header.directory_bytes < 16 || run->header.directory_bytes > left ||
        run->header.state_bytes > left - run->header.directory_bytes)
        return FIRN_ERROR_CHECKPOINT_DAMAGED;
    const uint64_t state_at = FIRN_RECORD_HEADER_BYTES + run->header.directory_bytes;
    const uint64_t end = state_at + run->header.state_bytes;
    uint64_t behind;
    error = firn_record_find_commit(bytes->data, bytes->count, end, &behind);
    if (error == FIRN_OK)
        error = check_digest(run, bytes->data, end);
    return error == FIRN_OK ? read_directory(run, bytes->data + FIRN_RECORD_HEADER_BYTES, bytes->data + state_at)
                            : error;
}

bool firnc_older_run_read(firnc_older_run *run, const char *file) {
    firnc_bytes bytes;
    *run = (firnc_older_run){.file = file};
    if (!firnc_file_read_part(file, RECORD_BYTES_MAX, extent, &bytes))
        return false;
    if (bytes.count < FIRN_RECORD_MAGIC_BYTES || memcmp(bytes.data, FIRN_RECORD_MAGIC, FIRN_RECORD_MAGIC_BYTES) != 0) {
        firnc_say("firnc: %s: begins like no checkpoint (%s); give the file that firn train --checkpoint wrote", file,
                  firn_error_name(FIRN_ERROR_CHECKPOINT_DAMAGED));
        return false;
    }
    const int error = firnc_older_run_parse(run, &bytes);
    if (error != FIRN_OK) {
        firnc_say("firnc: %s: %s (%s); %s", file, firn_error_text(error), firn_error_name(error),
                  error == FIRN_ERROR_CHECKPOINT_VERSION ? "use the firnc of the firn that wrote it"
                                                         : "use another copy, or go back to an older one");
        return false;
    }
    if (firn_record_authenticate(&run->header, NULL) != FIRN_OK)
        firnc_say("firnc: %s: note: was authenticated by a device key, which is not checked here; firn digest "
                  "--device-key checks it",
                  file);
    return true;
}

const firnc_older_tensor *firnc_older_run_find(const firnc_older_run *run, const char *name) {
    uint32_t low = 0, high = run->count;
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        const int order = strcmp(run->tensors[middle].name, name);
        if (order == 0)
            return &run->tensors[middle];
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}
