/* Cuts the power at every operation of a save on simulated flash: before it, in the middle with a part of the unit
 * changed, in the middle with garbage; and lets every operation fail with the power on. It does so for many
 * geometries, with and without a device key and a checkpoint counter, for records of one run and of two, for sequences
 * that wrap around, and cuts again while the next save recovers. Afterwards a restore must give exactly the state that
 * was committed last, by its digest. Prints the number of cut points. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <mbedtls/sha256.h>

#include "plan/checkpoint/record.h"
#include "tests/unit/support_flash.h"
#include "tests/unit/support_share.h"
#include "tests/unit/support_signed_plans.h"
#include "tests/unit/support_test.h"

/* --- the device --- */

/* A file in place of flash: what is written becomes its contents with the sync. */
enum { FILE_BYTES = 4096 };

typedef struct device {
    support_flash flash;
    support_flash_part part;
    uint32_t counter;
    uint8_t file[FILE_BYTES], written[FILE_BYTES];
    uint64_t file_bytes, written_bytes;
} device;

static device now, image, second_image; /* the running device, and two states to go back to */
static firn_storage storage;
static firn_port port;
static bool is_file;

static void device_copy(device *to, const device *from) {
    support_flash_copy(&to->flash, &from->flash);
    to->counter = from->counter;
    if (is_file) {
        memcpy(to->file, from->file, from->file_bytes);
        to->file_bytes = from->file_bytes;
    }
}

static int read_counter(void *context, uint32_t *value) {
    (void)context;
    *value = now.counter;
    return now.flash.off ? FIRN_ERROR_COUNTER : 0;
}

static int advance_counter(void *context, uint32_t value) {
    (void)context;
    bool half;
    assert_int_equal(value, now.counter + 1); /* never more than one step */
    const bool whole = support_flash_operation(&now.flash, &half);
    if (whole || (half && now.flash.operations % 2 == 0))
        now.counter = value;
    return whole ? 0 : FIRN_ERROR_COUNTER;
}

static const firn_counter counter = {.read = read_counter, .advance = advance_counter};

static int file_read(void *context, uint64_t offset, void *bytes, uint32_t count) {
    (void)context;
    assert_true(offset <= now.file_bytes && count <= now.file_bytes - offset);
    memcpy(bytes, now.file + offset, count);
    return now.flash.off ? FIRN_ERROR_STORAGE : 0;
}

static int file_erase(void *context, uint64_t offset, uint64_t count) {
    bool half;
    (void)context, (void)count;
    assert_int_equal(offset, 0);
    now.written_bytes = 0;
    return support_flash_operation(&now.flash, &half) ? 0 : FIRN_ERROR_STORAGE;
}

static int file_program(void *context, uint64_t offset, const void *bytes, uint32_t count) {
    bool half;
    (void)context;
    assert_true(offset + count <= FILE_BYTES);
    if (!support_flash_operation(&now.flash, &half))
        return FIRN_ERROR_STORAGE;
    memcpy(now.written + offset, bytes, count);
    now.written_bytes = offset + count;
    return 0;
}

/* The replacement is atomic: a cut in the middle leaves one or the other. */
static int file_sync(void *context) {
    bool half;
    (void)context;
    const bool whole = support_flash_operation(&now.flash, &half);
    if (whole || (half && now.flash.operations % 2 == 0)) {
        memcpy(now.file, now.written, now.written_bytes);
        now.file_bytes = now.written_bytes;
    }
    return whole ? 0 : FIRN_ERROR_STORAGE;
}

static uint64_t file_stored(void *context) {
    (void)context;
    return now.file_bytes;
}

typedef struct geometry {
    uint32_t program_unit, erase_unit;
    uint8_t erased_value, slots; /* slots 1: the file */
} geometry;

/* The record of the plan takes 1 KB and less. */
enum { SLOT_BYTES = 1536 };

static void device_make(const geometry *has) {
    const uint32_t slot = (SLOT_BYTES + has->erase_unit - 1) / has->erase_unit * has->erase_unit;
    device *const all[] = {&now, &image, &second_image};
    is_file = has->slots == 1;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        memset(all[i], 0, sizeof *all[i]);
        support_flash_make(&all[i]->flash, 2 * (uint64_t)slot, has->program_unit, has->erase_unit, has->erased_value);
        support_flash_part_make(&all[i]->part, &all[i]->flash, 0, 2 * (uint64_t)slot);
    }
    storage = now.part.storage;
    storage.capacity = slot;
    storage.slots = 2;
    if (is_file)
        storage = (firn_storage){.program_unit = has->program_unit,
                                 .erase_unit = has->erase_unit,
                                 .erased_value = has->erased_value,
                                 .read = file_read,
                                 .program = file_program,
                                 .erase = file_erase,
                                 .sync = file_sync,
                                 .stored = file_stored};
}

static void device_free(void) {
    support_flash_free(&now.flash);
    support_flash_free(&image.flash);
    support_flash_free(&second_image.flash);
}

/* --- instances --- */

static const uint8_t text[] = {0, 1, 2, 3, 4, 5, 6, 7, 0, 1, 2, 3, 4, 5, 6, 7, 0, 2, 4, 6, 0, 2, 4, 6, 1, 3, 5, 7};
static const uint64_t whole_text[] = {sizeof text, 0};
static const uint8_t key[32] = {1, 2, 3};
static signed_plan plan, other_plan;

/* An instance, and what it was when it had just been opened, as after a reset. */
typedef struct runner {
    opened opened;
    struct {
        firn firn;
        uint8_t parameters[512], optimizer[512], session[512];
    } at_reset, kept;
} runner;

static runner saver, reader, other;

#define TAKE(runner, place)                                                                                            \
    (memcpy(&(runner)->place.firn, &(runner)->opened.firn, sizeof(firn)),                                              \
     memcpy((runner)->place.parameters, (runner)->opened.parameters, 512),                                             \
     memcpy((runner)->place.optimizer, (runner)->opened.optimizer, 512),                                               \
     memcpy((runner)->place.session, (runner)->opened.session, 512))

#define GIVE(runner, place)                                                                                            \
    (memcpy(&(runner)->opened.firn, &(runner)->place.firn, sizeof(firn)),                                              \
     memcpy((runner)->opened.parameters, (runner)->place.parameters, 512),                                             \
     memcpy((runner)->opened.optimizer, (runner)->place.optimizer, 512),                                               \
     memcpy((runner)->opened.session, (runner)->place.session, 512))

static void open_runner(runner *runner, const signed_plan *of, const uint8_t *device_key) {
    firn_config config = support_config(&runner->opened, of);
    config.port = &port;
    config.device_key = device_key;
    memset(&runner->opened.firn, 0, sizeof runner->opened.firn);
    assert_int_equal(firn_open(&runner->opened.firn, &config), FIRN_OK);
    TAKE(runner, at_reset);
}

static void train(runner *runner) {
    bytes_source source;
    firn_step_report report;
    support_text(&source, text, whole_text);
    assert_int_equal(firn_train_step(&runner->opened.firn, &source.source, &report), FIRN_OK);
}

typedef struct digest {
    uint8_t bytes[32];
} digest;

static digest digest_of(const runner *runner) {
    digest digest;
    assert_int_equal(firn_digest(&runner->opened.firn, digest.bytes), FIRN_OK);
    return digest;
}

static bool same(digest a, digest b) {
    return memcmp(a.bytes, b.bytes, 32) == 0;
}

/* Resets the device and restores. */
static int reset_and_restore(runner *runner, firn_restore_report *report) {
    support_flash_power_on(&now.flash);
    GIVE(runner, at_reset);
    return firn_restore(&runner->opened.firn, report);
}

/* Gives the newest record of the running device another sequence. */
static void renumber(uint32_t sequence) {
    uint8_t *bytes = is_file ? now.file : now.flash.bytes;
    firn_record record;
    if (!is_file && firn_record_decode(&record, bytes) != FIRN_OK)
        bytes += storage.capacity;
    assert_int_equal(firn_record_decode(&record, bytes), FIRN_OK);
    const uint64_t hashed = FIRN_RECORD_HEADER_BYTES + record.directory_bytes + record.state_bytes;
    record.sequence = sequence;
    const bool has_code = record.code[0] != 0 || record.code[1] != 0;
    firn_record_encode_hashed(&record, bytes);
    mbedtls_sha256(bytes, (size_t)hashed, record.digest, 0);
    if (has_code)
        assert_int_equal(firn_record_code(&record, key, record.code), FIRN_OK);
    firn_record_encode(&record, bytes);
}

/* --- the sweeps --- */

static struct { unsigned long long cuts, second_cuts, kept, landed, none; } seen;

/* Where in a save the record becomes valid. */
typedef struct schedule {
    uint64_t operations;           /* of the whole save */
    uint64_t first_commit, commit; /* the operations that write the commit unit, from 1; of a file its sync */
} schedule;

static schedule schedule_of(uint64_t operations, uint32_t advances) {
    const uint32_t commit_bytes = firn_record_commit_bytes(storage.program_unit);
    const uint64_t commit = operations - advances;
    return (schedule){operations, is_file ? commit : commit - commit_bytes / storage.program_unit + 1, commit};
}

/* Checks what a restore after a cut at operation `at` gives: the state before the save, unless the record was
 * committed. Returns true if it is the new one. */
static bool expect_outcome(const schedule *has, uint64_t at, bool any_before, digest before, digest after) {
    firn_restore_report report;
    int status = reset_and_restore(&reader, &report);
    const bool must_be_old = at<has->first_commit, must_be_new = at> has->commit;
    if (!any_before && status != FIRN_OK) {
        assert_true(status == FIRN_ERROR_CHECKPOINT_MISSING || status == FIRN_ERROR_CHECKPOINT_DAMAGED ||
                    status == FIRN_ERROR_STORAGE);
        assert_false(must_be_new);
        seen.none++;
        return false;
    }
    assert_int_equal(status, FIRN_OK);
    const digest found = digest_of(&reader);
    const bool is_new = same(found, after);
    assert_true(is_new || (any_before && same(found, before)));
    assert_true(!(must_be_old && is_new) && (is_new || !must_be_new));
    seen.landed += is_new;
    seen.kept += !is_new;
    /* The same again: nothing depends on what the first restore found. */
    assert_int_equal(reset_and_restore(&reader, NULL), FIRN_OK);
    assert_true(same(digest_of(&reader), found));
    return is_new;
}

/* Recovers after a cut: trains one step and saves, with another cut, whose place is drawn. */
static void cut_again(uint64_t draw) {
    const digest before = digest_of(&reader);
    train(&reader);
    const digest after = digest_of(&reader);
    TAKE(&reader, kept);
    device_copy(&second_image, &now);
    device_copy(&now, &second_image); /* counts operations from here */
    assert_int_equal(firn_save(&reader.opened.firn), FIRN_OK);
    const schedule has = schedule_of(now.flash.operations, now.counter != second_image.counter);
    const uint64_t at = 1 + draw % has.operations;
    const support_flash_fault fault = (support_flash_fault)(draw / 7 % SUPPORT_FLASH_FAULTS);
    device_copy(&now, &second_image);
    GIVE(&reader, kept);
    support_flash_fail(&now.flash, at, fault);
    const int status = firn_save(&reader.opened.firn);
    assert_true(status == FIRN_ERROR_STORAGE || status == FIRN_ERROR_COUNTER);
    expect_outcome(&has, at, true, before, after);
    seen.second_cuts++;
}

/* Cuts one more save of `saver` at each operation in each way. The device is what `image` holds, and `before` what a
 * restore would give. */
static void cut_everywhere(bool any_before, digest before) {
    train(&saver);
    const digest after = digest_of(&saver);
    TAKE(&saver, kept);
    device_copy(&now, &image);
    assert_int_equal(firn_save(&saver.opened.firn), FIRN_OK);
    const schedule has = schedule_of(now.flash.operations, now.counter != image.counter);
    uint64_t draw = 12345;
    for (uint64_t at = 1; at <= has.operations; at++) {
        for (support_flash_fault fault = SUPPORT_FLASH_REFUSED; fault < SUPPORT_FLASH_FAULTS; fault++) {
            if (!support_takes_next())
                continue;
            device_copy(&now, &image);
            GIVE(&saver, kept);
            now.flash.garbage = (uint32_t)(at * 977 + fault);
            support_flash_fail(&now.flash, at, fault);
            const int status = firn_save(&saver.opened.firn);
            assert_true(status == FIRN_ERROR_STORAGE || (status == FIRN_ERROR_COUNTER && at > has.commit));
            seen.cuts++;
            if (fault == SUPPORT_FLASH_REFUSED && at % 3 == 0) { /* the run goes on, and saves again */
                assert_int_equal(firn_save(&saver.opened.firn), FIRN_OK);
                assert_int_equal(reset_and_restore(&reader, NULL), FIRN_OK);
                assert_true(same(digest_of(&reader), after));
                continue;
            }
            const bool is_new = expect_outcome(&has, at, any_before, before, after);
            draw = draw * 6364136223846793005u + 1442695040888963407u;
            if (any_before || is_new)
                cut_again(draw >> 33);
        }
    }
    device_copy(&now, &image);
    GIVE(&saver, kept);
    assert_int_equal(firn_save(&saver.opened.firn), FIRN_OK);
}

/* Cuts the first four saves of a run, so that each slot is the one that is written, blank and not. With a sequence, the
 * first record gets it. */
static void cut_a_run(uint32_t sequence) {
    digest before = {{0}};
    GIVE(&saver, at_reset);
    assert_int_equal(firn_initialise(&saver.opened.firn), FIRN_OK);
    for (uint32_t saves = 0; saves < 4; saves++) {
        if (saves == 1 && sequence != 0)
            renumber(sequence);
        device_copy(&image, &now);
        cut_everywhere(saves > 0, before);
        before = digest_of(&saver);
    }
}

/* The first save of another run, cut at each operation: the record of the first run is still there, whether the new one
 * landed or not, and can be continued. */
static void cut_another_run(void) {
    GIVE(&saver, at_reset);
    assert_int_equal(firn_initialise(&saver.opened.firn), FIRN_OK);
    for (int i = 0; i < 2; i++) {
        train(&saver);
        assert_int_equal(firn_save(&saver.opened.firn), FIRN_OK);
    }
    const digest first = digest_of(&saver);
    GIVE(&other, at_reset);
    assert_int_equal(firn_initialise(&other.opened.firn), FIRN_OK);
    train(&other);
    const digest second = digest_of(&other);
    TAKE(&other, kept);
    device_copy(&image, &now);
    device_copy(&now, &image);
    assert_int_equal(firn_save(&other.opened.firn), FIRN_OK);
    const schedule has = schedule_of(now.flash.operations, now.counter != image.counter);
    for (uint64_t at = 1; at <= has.operations; at++) {
        for (support_flash_fault fault = SUPPORT_FLASH_REFUSED; fault < SUPPORT_FLASH_FAULTS; fault++) {
            if (!support_takes_next())
                continue;
            device_copy(&now, &image);
            GIVE(&other, kept);
            now.flash.garbage = (uint32_t)(at * 31 + fault);
            support_flash_fail(&now.flash, at, fault);
            assert_int_equal(firn_save(&other.opened.firn), FIRN_ERROR_STORAGE);
            seen.cuts++;
            const int status = reset_and_restore(&other, NULL);
            if (status == FIRN_OK)
                assert_true(same(digest_of(&other), second));
            else
                assert_true(status == FIRN_ERROR_CHECKPOINT_OTHER_RUN || status == FIRN_ERROR_STORAGE);
            assert_true(at >= has.first_commit || status != FIRN_OK);
            assert_int_equal(reset_and_restore(&reader, NULL), FIRN_OK);
            assert_true(same(digest_of(&reader), first));
            cut_again(at * 13 + fault);
        }
    }
    /* The plan is withdrawn after its first save: the run before goes on where it was, above both records. */
    device_copy(&now, &image);
    GIVE(&other, kept);
    assert_int_equal(firn_save(&other.opened.firn), FIRN_OK);
    assert_int_equal(reset_and_restore(&saver, NULL), FIRN_OK);
    assert_true(same(digest_of(&saver), first));
    device_copy(&image, &now);
    cut_everywhere(true, first);
}

static const geometry geometries[] = {
    {1, 512, 0xff, 2},   {1, 1, 0xff, 1},     {2, 256, 0xff, 2},  {4, 2048, 0x00, 2},  {8, 512, 0xff, 2},
    {16, 128, 0xff, 2},  {16, 16, 0x00, 1},   {32, 64, 0xff, 2},  {64, 1536, 0xff, 2}, {128, 512, 0x00, 2},
    {256, 256, 0xff, 2}, {256, 512, 0xff, 1}, {16, 4096, 0xff, 2}};

/* Without a counter; with one that advances with each save; with every third. */
enum { NO_COUNTER, EVERY, THIRD, COUNTERS };

/* Returns true if a save has few enough operations to sweep several of them in a row. */
static bool is_small(const geometry *has) {
    return has->program_unit >= 4 || has->slots == 1;
}

static void sweep(bool with_key) {
    memset(&seen, 0, sizeof seen);
    port = (firn_port){.struct_size = sizeof port, .context = &now.part, .storage = &storage};
    support_bigram(&plan, &support_settings);
    signed_plan_settings settings = support_settings;
    settings.seed++;
    support_bigram(&other_plan, &settings);
    open_runner(&saver, &plan, with_key ? key : NULL);
    open_runner(&reader, &plan, with_key ? key : NULL);
    open_runner(&other, &other_plan, with_key ? key : NULL);
    for (size_t g = 0; g < sizeof geometries / sizeof *geometries; g++) {
        const bool fine = geometries[g].program_unit < 16; /* has many operations */
        for (int counted = NO_COUNTER; counted < COUNTERS; counted++) {
            if (fine && (with_key || counted != (int)(g % COUNTERS)))
                continue;
            port.checkpoint_counter = counted != NO_COUNTER ? &counter : NULL;
            port.saves_per_advance = counted == THIRD ? 3 : 0;
            if (is_small(&geometries[g])) {
                device_make(&geometries[g]);
                cut_a_run(counted == EVERY ? 0 : UINT32_MAX - (uint32_t)(g % 3));
                device_free();
            }
            if (geometries[g].slots == 1)
                continue;
            device_make(&geometries[g]);
            cut_another_run();
            device_free();
        }
    }
    printf(
        "%s a device key: %llu cut points, %llu of them with a second cut; %llu restored the record before, %llu the "
        "new one, %llu of a first save none\n",
        with_key ? "with" : "without", seen.cuts + seen.second_cuts, seen.second_cuts, seen.kept, seen.landed,
        seen.none);
    assert_true(seen.cuts + seen.second_cuts > 10000 / support_every() && seen.kept > 0 && seen.landed > 0 &&
                seen.none > 0);
}

TEST(every_cut_recovers) {
    sweep(false);
}

TEST(every_cut_recovers_with_a_key) {
    sweep(true);
}
