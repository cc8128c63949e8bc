/* Fuzzes checkpoints: arbitrary bytes as what storage holds. The header's SHA-256 is made to fit half of the inputs, so
 * that what lies behind it is reached. A record that is accepted gives a state that can be digested and saved. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plan/checkpoint/record.h"
#include "plan/container.h"
#include "plan/signature.h"
#include "tests/fuzz/fuzz.h"

enum { STORED_MAX = 1 << 16 };

/* What the storage holds. */
static uint8_t stored[STORED_MAX];
static uint64_t stored_bytes;

static int read_stored(void *context, uint64_t offset, void *bytes, uint32_t count) {
    (void)context;
    FUZZ_HOLDS(offset <= stored_bytes && count <= stored_bytes - offset);
    memcpy(bytes, stored + offset, count);
    return FIRN_OK;
}

static int program_stored(void *context, uint64_t offset, const void *bytes, uint32_t count) {
    (void)context;
    FUZZ_HOLDS(offset <= STORED_MAX && count <= STORED_MAX - offset);
    memcpy(stored + offset, bytes, count);
    stored_bytes = offset + count;
    return FIRN_OK;
}

static int erase_stored(void *context, uint64_t offset, uint64_t count) {
    (void)context, (void)offset, (void)count;
    stored_bytes = 0;
    return FIRN_OK;
}

static int sync_stored(void *context) {
    (void)context;
    return FIRN_OK;
}

static uint64_t size_stored(void *context) {
    (void)context;
    return stored_bytes;
}

static const firn_storage storage = {.program_unit = 1,
                                     .erase_unit = 1,
                                     .erased_value = 0xff,
                                     .read = read_stored,
                                     .program = program_stored,
                                     .erase = erase_stored,
                                     .sync = sync_stored,
                                     .stored = size_stored};
static const firn_port port = {.struct_size = sizeof port, .storage = &storage};

/* Offsets of a record's header (plan/FORMAT.md). */
enum { AT_DIRECTORY_BYTES = 16, AT_STATE_BYTES = 24, AT_DIGEST = 104 };

static void mend_digest(void) {
    uint64_t directory, state;
    memcpy(&directory, stored + AT_DIRECTORY_BYTES, sizeof directory);
    memcpy(&state, stored + AT_STATE_BYTES, sizeof state);
    const uint64_t left = stored_bytes - FIRN_RECORD_HEADER_BYTES;
    if (directory > left || state > left - directory)
        return;
    memset(stored + AT_DIGEST, 0, FIRN_HASH_BYTES);
    FUZZ_HOLDS(firn_sha256_of(stored, (size_t)(FIRN_RECORD_HEADER_BYTES + directory + state), stored + AT_DIGEST) ==
               FIRN_OK);
}

/* A plan to restore into, opened once: the one whose checkpoint is kept beside it. */
static uint8_t *plan;
static uint64_t plan_bytes;
static fuzz_instance instance;

static void open_plan(void) {
    FILE *file = fopen("tests/golden/plans/frozen_train.plan", "rb");
    static uint8_t bytes[1 << 16];
    FUZZ_HOLDS(file != NULL);
    const size_t size = fread(bytes, 1, sizeof bytes, file);
    fclose(file);
    plan = fuzz_seal(bytes, size, &plan_bytes);
    FUZZ_HOLDS(plan != NULL);
    FUZZ_HOLDS(fuzz_open(&instance, plan, plan_bytes, &port) == FIRN_OK);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (plan == NULL)
        open_plan();
    if (size < FIRN_RECORD_HEADER_BYTES + 1 || size > STORED_MAX)
        return 0;
    const bool mend = (data[size - 1] & 1) != 0;
    stored_bytes = size - 1;
    memcpy(stored, data, size - 1);
    if (mend)
        mend_digest();
    firn_restore_report report;
    if (firn_restore(&instance.firn, &report) == FIRN_OK) {
        uint8_t digest[32];
        FUZZ_HOLDS(firn_digest(&instance.firn, digest) == FIRN_OK);
        FUZZ_HOLDS(firn_save(&instance.firn) == FIRN_OK);
        fuzz_step(&instance, plan);
    }
    return 0;
}
