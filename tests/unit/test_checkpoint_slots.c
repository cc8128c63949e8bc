/* Tests what two slots, a device key and a checkpoint counter promise against damage and against an attacker who can
 * write the storage: which record is restored, what is refused by which error, and what the report says. Power cuts are
 * swept in test_checkpoint_power.c. */
#include <stdlib.h>
#include <string.h>

#include <mbedtls/sha256.h>

#include "plan/checkpoint/hmac.h"
#include "plan/checkpoint/record.h"
#include "tests/unit/support_flash.h"
#include "tests/unit/support_signed_plans.h"
#include "tests/unit/support_test.h"

enum { UNIT = 16, ERASE = 512, SLOT = 1536, BOTH = 2 * SLOT };

static support_flash flash, put_aside;
static support_flash_part part;
static firn_storage storage;
static firn_port port;
static uint32_t device_counter;
static bool counter_reads, counter_advances;
enum { NO_SLOT_IS_READ = 2 };
static int unreadable;         /* the slot that cannot be read, or NO_SLOT_IS_READ; -1: none */
static uint32_t failing_reads; /* the read, counted from 1, that fails once; 0: none */

static signed_plan plan, other_plan, eval_plan;
static opened one, two;
static const uint8_t key[32] = {9, 8, 7}, other_key[32] = {9, 8, 6};

static int read_counter(void *context, uint32_t *value) {
    (void)context;
    *value = device_counter;
    return counter_reads ? 0 : FIRN_ERROR_COUNTER;
}

static int advance_counter(void *context, uint32_t value) {
    (void)context;
    assert_true(value > device_counter);
    if (!counter_advances)
        return FIRN_ERROR_COUNTER;
    device_counter = value;
    return 0;
}

static const firn_counter counter = {.read = read_counter, .advance = advance_counter};

static int read_slot(void *context, uint64_t offset, void *bytes, uint32_t count) {
    if ((int)(offset / SLOT) == unreadable || unreadable == NO_SLOT_IS_READ)
        return FIRN_ERROR_STORAGE;
    if (failing_reads != 0 && --failing_reads == 0)
        return FIRN_ERROR_STORAGE;
    return part.storage.read(context, offset, bytes, count);
}

BEFORE_EACH {
    support_flash_make(&flash, BOTH, UNIT, ERASE, 0xff);
    support_flash_make(&put_aside, BOTH, UNIT, ERASE, 0xff);
    support_flash_part_make(&part, &flash, 0, BOTH);
    storage = part.storage;
    storage.capacity = SLOT;
    storage.slots = 2;
    storage.read = read_slot;
    port = (firn_port){.struct_size = sizeof port, .context = &part, .storage = &storage};
    device_counter = 0;
    counter_reads = counter_advances = true;
    unreadable = -1;
    signed_plan_settings settings = support_settings;
    support_bigram(&plan, &settings);
    support_bigram_eval(&eval_plan, &settings);
    settings.seed++;
    support_bigram(&other_plan, &settings);
}

AFTER_EACH {
    support_flash_free(&flash);
    support_flash_free(&put_aside);
}

static void open_as(opened *opened, const signed_plan *of, const uint8_t *device_key) {
    firn_config config = support_config(opened, of);
    config.port = &port;
    config.device_key = device_key;
    memset(&opened->firn, 0, sizeof opened->firn);
    assert_int_equal(firn_open(&opened->firn, &config), FIRN_OK);
}

static void train_and_save(opened *opened, int saves) {
    static const uint8_t text[] = {0, 1, 2, 3, 4, 5, 6, 7, 0, 1, 2, 3, 4, 5, 6, 7, 0, 2, 4, 6, 0, 2, 4, 6, 1, 3, 5, 7};
    static const uint64_t whole[] = {sizeof text, 0};
    for (int i = 0; i < saves; i++) {
        bytes_source source;
        firn_step_report report;
        support_text(&source, text, whole);
        assert_int_equal(firn_train_step(&opened->firn, &source.source, &report), FIRN_OK);
        assert_int_equal(firn_save(&opened->firn), FIRN_OK);
    }
}

/* Begins a run in `one` and saves it after each of some steps. */
static void save_steps(const uint8_t *device_key, int saves) {
    open_as(&one, &plan, device_key);
    assert_int_equal(firn_initialise(&one.firn), FIRN_OK);
    train_and_save(&one, saves);
}

static firn_restore_report report;

/* Restores into `two`, which is opened by the test that calls this first. Returns the step, or the error. */
static int restored_step(void) {
    int status = firn_restore(&two.firn, &report);
    return status == FIRN_OK ? (int)report.global_step : status;
}

static int restore_with(const signed_plan *of, const uint8_t *device_key) {
    open_as(&two, of, device_key);
    return restored_step();
}

static uint8_t *slot_at(uint32_t slot) {
    return flash.bytes + (size_t)slot * SLOT;
}

static firn_record record_in(uint32_t slot) {
    firn_record record;
    assert_int_equal(firn_record_decode(&record, slot_at(slot)), FIRN_OK);
    return record;
}

static size_t hashed_bytes(const firn_record *record) {
    return (size_t)(FIRN_RECORD_HEADER_BYTES + record->directory_bytes + record->state_bytes);
}

/* Writes a changed header back, with a digest that fits; the code only with a key. */
static void reseal(uint32_t slot, firn_record record, const uint8_t *device_key) {
    firn_record_encode_hashed(&record, slot_at(slot));
    mbedtls_sha256(slot_at(slot), hashed_bytes(&record), record.digest, 0);
    if (device_key != NULL)
        assert_int_equal(firn_record_code(&record, device_key, record.code), FIRN_OK);
    firn_record_encode(&record, slot_at(slot));
}

static void erase_all(void) {
    memset(flash.bytes, 0xff, BOTH);
    memset(flash.programmed, 0, BOTH * sizeof *flash.programmed);
}

/* --- codes -------------------------------------------------------------------------------------------------------- */

/* The test cases 1 to 4 of RFC 4231, whose keys have at most 32 bytes: a shorter key is filled up with zeros, as HMAC
 * does. */
TEST(computes_the_codes_of_the_standard) {
    static uint8_t dd[50], cd[50], ascending[32];
    memset(dd, 0xdd, sizeof dd);
    memset(cd, 0xcd, sizeof cd);
    for (uint8_t i = 0; i < 25; i++)
        ascending[i] = (uint8_t)(i + 1);
    static uint8_t b[32], a[32];
    memset(b, 0x0b, 20);
    memset(a, 0xaa, 20);
    const struct {
        const uint8_t *key;
        const void *text;
        size_t bytes;
        uint8_t code[8];
    } cases[] = {
        {b, "Hi There", 8, {0xb0, 0x34, 0x4c, 0x61, 0xd8, 0xdb, 0x38, 0x53}},
        {(const uint8_t[32]){'J', 'e', 'f', 'e'},
         "what do ya want for nothing?",
         28,
         {0x5b, 0xdc, 0xc1, 0x46, 0xbf, 0x60, 0x75, 0x4e}},
        {a, dd, 50, {0x77, 0x3e, 0xa9, 0x1e, 0x36, 0x80, 0x0e, 0x46}},
        {ascending, cd, 50, {0x82, 0x55, 0x8a, 0x38, 0x9a, 0x44, 0x3c, 0x0e}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint8_t code[32];
        assert_int_equal(firn_hmac(cases[i].key, cases[i].text, cases[i].bytes, code), FIRN_OK);
        assert_memory_equal(code, cases[i].code, 8);
    }
    for (int i = 0; i < 256; i++) {
        uint8_t x[32] = {0}, y[32] = {0};
        assert_true(firn_hmac_equal(x, y));
        x[i / 8] = (uint8_t)(1u << i % 8);
        assert_false(firn_hmac_equal(x, y));
    }
}

TEST(only_the_device_key_makes_records) {
    save_steps(key, 2);
    assert_int_equal(restore_with(&plan, key), 2);
    assert_int_equal(restore_with(&eval_plan, key), 2);
    assert_int_equal(restore_with(&plan, other_key), FIRN_ERROR_CHECKPOINT_AUTHENTICATION);
    assert_int_equal(report.slots_refused, 2);
    assert_int_equal(restore_with(&plan, NULL), FIRN_ERROR_CHECKPOINT_AUTHENTICATION);
    /* A forger recomputes the hash of other weights. */
    const firn_record record = record_in(1);
    slot_at(1)[hashed_bytes(&record) - record.region_bytes[2] - 20] ^= 0x40;
    reseal(1, record, NULL);
    assert_int_equal(restore_with(&plan, key), 1);
    assert_int_equal(report.slots_refused, 1);
    assert_int_equal(report.slot, 0);
    reseal(1, record, other_key);
    assert_int_equal(restore_with(&plan, key), 1);
    reseal(1, record, key); /* what the forger would need */
    assert_int_equal(restore_with(&plan, key), 2);
    /* Records without a code are those of a device without a key. */
    erase_all();
    save_steps(NULL, 1);
    assert_int_equal(restore_with(&plan, NULL), 1);
    assert_int_equal(restore_with(&plan, key), FIRN_ERROR_CHECKPOINT_AUTHENTICATION);
}

/* The derived key is not the device key, so a code of the device key over the same bytes does not serve. */
TEST(the_key_is_separated) {
    save_steps(key, 1);
    firn_record record = record_in(0);
    uint8_t header[FIRN_RECORD_HEADER_BYTES];
    memset(record.code, 0, sizeof record.code);
    firn_record_encode(&record, header);
    assert_int_equal(firn_hmac(key, header, sizeof header, record.code), FIRN_OK);
    firn_record_encode(&record, slot_at(0));
    assert_int_equal(restore_with(&plan, key), FIRN_ERROR_CHECKPOINT_AUTHENTICATION);
}

/* --- damage ------------------------------------------------------------------------------------------------------- */

/* Any flipped bit of the newest record brings back the one before it, and the report says so. */
TEST(a_flipped_bit_falls_back) {
    for (int with_key = 0; with_key < 2; with_key++) {
        erase_all();
        save_steps(with_key != 0 ? key : NULL, 2);
        assert_int_equal(restore_with(&plan, with_key != 0 ? key : NULL), 2);
        assert_int_equal(report.slot, 1);
        assert_int_equal(report.slots_damaged + report.slots_missing + report.slots_refused, 0);
        const firn_record record = record_in(1);
        const uint32_t bits = 8 * ((uint32_t)hashed_bytes(&record) + 16);
        for (uint32_t bit = 0; bit < bits; bit++) {
            slot_at(1)[bit / 8] ^= (uint8_t)(1u << bit % 8);
            assert_int_equal(restored_step(), 1);
            assert_int_equal(report.slot, 0);
            const bool refused = bit / 8 >= 264 && bit / 8 < 296;
            assert_int_equal(report.slots_damaged, refused ? 0 : 1);
            assert_int_equal(report.slots_refused, refused ? 1 : 0);
            slot_at(1)[bit / 8] ^= (uint8_t)(1u << bit % 8);
        }
        assert_int_equal(restored_step(), 2);
    }
}

/* The record that is kept is checked in full: if the newest one is damaged, it is the one that is written over. */
TEST(a_save_keeps_what_is_valid) {
    save_steps(NULL, 2);
    slot_at(1)[FIRN_RECORD_HEADER_BYTES + 40] ^= 1;
    support_flash_copy(&put_aside, &flash);
    for (uint64_t at = 1;; at++) {
        support_flash_copy(&flash, &put_aside);
        support_flash_fail(&flash, at, SUPPORT_FLASH_CUT);
        const int status = firn_save(&one.firn);
        support_flash_power_on(&flash);
        if (status == FIRN_OK)
            break;
        assert_int_equal(restore_with(&plan, NULL), 1);
    }
    assert_int_equal(restore_with(&plan, NULL), 2);
    assert_int_equal(record_in(0).sequence, 1);
    assert_int_equal(record_in(1).sequence, 2);
}

TEST(an_unreadable_slot_is_a_damaged_one) {
    save_steps(NULL, 2);
    unreadable = 1;
    assert_int_equal(restore_with(&plan, NULL), 1);
    assert_int_equal(report.slots_damaged, 1);
    train_and_save(&one, 1); /* over the slot that cannot be read */
    assert_int_equal(record_in(0).global_step, 1);
    unreadable = -1;
    assert_int_equal(restore_with(&plan, NULL), 3);
    unreadable = 0;
    assert_int_equal(restore_with(&plan, NULL), 3);
    memset(slot_at(1), 0x55, 100);
    assert_int_equal(restore_with(&plan, NULL), FIRN_ERROR_STORAGE);
    assert_int_equal(restore_with(&other_plan, NULL), FIRN_ERROR_STORAGE);
    assert_int_equal(report.slots_damaged, 2);
}

TEST(a_storage_that_cannot_be_read_is_not_erased) {
    save_steps(NULL, 2);
    const uint64_t before = flash.operations;
    unreadable = NO_SLOT_IS_READ;
    assert_int_equal(firn_save(&one.firn), FIRN_ERROR_STORAGE);
    assert_int_equal(flash.operations, before);
    unreadable = -1;
    assert_int_equal(restore_with(&plan, NULL), 2);
}

/* One read that fails, whichever it is, does not make a slot the torn one: a save takes the older record. */
TEST(a_read_that_fails_once_is_made_again) {
    save_steps(NULL, 3);
    support_flash_copy(&put_aside, &flash);
    const uint32_t newest = record_in(1).sequence > record_in(0).sequence;
    const uint32_t kept = record_in(newest).sequence;
    uint32_t reads = 0;
    do {
        support_flash_copy(&flash, &put_aside);
        failing_reads = ++reads;
        assert_int_equal(firn_save(&one.firn), FIRN_OK);
        assert_int_equal(record_in(newest).sequence, kept);
    } while (failing_reads == 0);
    assert_true(reads > 5);
    failing_reads = 0;
}

/* Which error two slots give together, and which of them a save takes: the one where less is lost. */
TEST(the_lesser_loss) {
    save_steps(key, 2);
    support_flash_copy(&put_aside, &flash);
    unreadable = 1;
    reseal(0, record_in(0), other_key); /* forged beside one that cannot be read now */
    assert_int_equal(restore_with(&plan, key), FIRN_ERROR_STORAGE);
    train_and_save(&one, 1);
    unreadable = -1;
    assert_int_equal(record_in(0).global_step, 3);
    assert_int_equal(record_in(1).global_step, 2);

    support_flash_copy(&flash, &put_aside);
    reseal(1, record_in(1), other_key);
    slot_at(0)[600] ^= 1; /* damaged beside forged */
    assert_int_equal(restore_with(&plan, key), FIRN_ERROR_CHECKPOINT_AUTHENTICATION);
    train_and_save(&one, 1);
    assert_int_equal(record_in(0).global_step, 4);

    support_flash_copy(&flash, &put_aside);
    reseal(1, record_in(1), other_key);
    assert_int_equal(restore_with(&other_plan, key), FIRN_ERROR_CHECKPOINT_OTHER_RUN);
    slot_at(0)[8] = 3;
    assert_int_equal(restore_with(&plan, key), FIRN_ERROR_CHECKPOINT_AUTHENTICATION);
    memset(slot_at(1), 0xff, SLOT);
    assert_int_equal(restore_with(&plan, key), FIRN_ERROR_CHECKPOINT_VERSION);
    slot_at(1)[0] = 0;
    assert_int_equal(restore_with(&plan, key), FIRN_ERROR_CHECKPOINT_VERSION);
    memset(slot_at(0), 0xff, SLOT);
    assert_int_equal(restore_with(&plan, key), FIRN_ERROR_CHECKPOINT_DAMAGED);
}

/* --- the sequence ------------------------------------------------------------------------------------------------- */

/* The newest record wins after a reset, after firn_initialise, and in another run: the sequence goes on from what is
 * stored. */
TEST(the_sequence_goes_on) {
    save_steps(NULL, 3);
    assert_int_equal(record_in(0).sequence, 3);
    assert_int_equal(record_in(1).sequence, 2);
    save_steps(NULL, 1); /* opened and initialised again */
    assert_int_equal(record_in(1).sequence, 4);
    assert_int_equal(restore_with(&plan, NULL), 1);
    assert_int_equal(report.sequence, 4);
    open_as(&one, &other_plan, NULL);
    assert_int_equal(firn_initialise(&one.firn), FIRN_OK);
    train_and_save(&one, 1);
    assert_int_equal(record_in(0).sequence, 5);
    assert_int_equal(restore_with(&other_plan, NULL), 1);
    assert_int_equal(report.sequence, 5);
}

TEST(sequences_are_compared_serially) {
    static const uint32_t from[] = {0, 1, 77, UINT32_MAX, UINT32_C(1) << 31, (UINT32_C(1) << 31) - 1};
    for (size_t i = 0; i < sizeof from / sizeof *from; i++) {
        assert_false(firn_record_is_newer(from[i], from[i]));
        static const uint32_t ahead[] = {1, 2, 1000, (UINT32_C(1) << 31) - 1};
        for (size_t k = 0; k < sizeof ahead / sizeof *ahead; k++) {
            assert_true(firn_record_is_newer(from[i] + ahead[k], from[i]));
            assert_false(firn_record_is_newer(from[i], from[i] + ahead[k]));
        }
    }
    /* across the end */
    save_steps(NULL, 1);
    firn_record record = record_in(0);
    record.sequence = UINT32_MAX;
    reseal(0, record, NULL);
    train_and_save(&one, 1);
    assert_int_equal(record_in(1).sequence, 0);
    assert_int_equal(restore_with(&plan, NULL), 2);
    train_and_save(&one, 1);
    assert_int_equal(record_in(0).sequence, 1);
    assert_int_equal(restore_with(&plan, NULL), 3);
}

TEST(places_do_not_matter) {
    static uint8_t slot[SLOT];
    save_steps(NULL, 2);
    memcpy(slot, slot_at(0), SLOT); /* exchanged */
    memcpy(slot_at(0), slot_at(1), SLOT);
    memcpy(slot_at(1), slot, SLOT);
    assert_int_equal(restore_with(&plan, NULL), 2);
    assert_int_equal(report.slot, 0);
    memcpy(slot_at(1), slot_at(0), SLOT); /* the newer one in both */
    assert_int_equal(restore_with(&plan, NULL), 2);
    train_and_save(&one, 1);
    assert_int_equal(restore_with(&plan, NULL), 3);
    /* A save keeps one of them. */
    assert_int_equal(record_in(0).global_step + record_in(1).global_step, 5);
}

/* --- runs --------------------------------------------------------------------------------------------------------- */

/* A plan that was updated and withdrawn finds its own record beside the newer one, and goes on from it without losing
 * it. */
TEST(another_run_hides_nothing) {
    save_steps(NULL, 3);
    open_as(&one, &other_plan, NULL);
    assert_int_equal(firn_initialise(&one.firn), FIRN_OK);
    train_and_save(&one, 1);
    assert_int_equal(restore_with(&plan, NULL), 3);
    assert_int_equal(report.slots_refused, 1);
    assert_int_equal(restore_with(&eval_plan, NULL), 1); /* of both runs: the newest of the model */
    assert_int_equal(restore_with(&plan, NULL), 3);
    train_and_save(&two, 1);
    assert_int_equal(restore_with(&plan, NULL), 4);
    assert_int_equal(restore_with(&other_plan, NULL), FIRN_ERROR_CHECKPOINT_OTHER_RUN);
    assert_int_equal(record_in(0).sequence + record_in(1).sequence, 3 + 5);
    /* The other way round: the second save of the new run replaces the last record of the old one. */
    open_as(&one, &other_plan, NULL);
    assert_int_equal(firn_initialise(&one.firn), FIRN_OK);
    train_and_save(&one, 2);
    assert_int_equal(restore_with(&plan, NULL), FIRN_ERROR_CHECKPOINT_OTHER_RUN);
    assert_int_equal(restore_with(&other_plan, NULL), 2);
}

/* The newest record of a run is accepted or refused; an older one never takes its place silently. */
TEST(the_newest_of_a_run_is_the_one) {
    firn_config config = support_config(&one, &plan);
    config.port = &port;
    for (uint8_t data = 1; data < 3; data++) {
        memset(config.data_hash, data, sizeof config.data_hash);
        memset(&one.firn, 0, sizeof one.firn);
        assert_int_equal(firn_open(&one.firn, &config), FIRN_OK);
        assert_int_equal(firn_initialise(&one.firn), FIRN_OK);
        train_and_save(&one, 1);
    }
    memset(config.data_hash, 1, sizeof config.data_hash);
    memset(&one.firn, 0, sizeof one.firn);
    assert_int_equal(firn_open(&one.firn, &config), FIRN_OK);
    assert_int_equal(firn_restore(&one.firn, &report), FIRN_ERROR_CHECKPOINT_OTHER_DATA);
    assert_int_equal(report.sequence, 2);
}

/* --- the counter -------------------------------------------------------------------------------------------------- */

static void count_saves(uint32_t saves_per_advance) {
    port.checkpoint_counter = &counter;
    port.saves_per_advance = saves_per_advance;
}

TEST(old_records_are_not_put_back) {
    count_saves(0);
    save_steps(key, 2);
    assert_int_equal(device_counter, 2);
    support_flash_copy(&put_aside, &flash); /* an image of the whole storage */
    train_and_save(&one, 1);
    assert_int_equal(restore_with(&plan, key), 3);
    support_flash_copy(&flash, &put_aside);
    assert_int_equal(restore_with(&plan, key), FIRN_ERROR_CHECKPOINT_ROLLED_BACK);
    assert_int_equal(report.slots_refused, 2);
    assert_int_equal(restore_with(&eval_plan, key), FIRN_ERROR_CHECKPOINT_ROLLED_BACK);
    port.checkpoint_counter = NULL; /* which nothing but the counter would notice */
    assert_int_equal(restore_with(&plan, key), 2);
    count_saves(0);
    /* The run that was interrupted by the image goes on, above all that is stored. */
    train_and_save(&one, 1);
    assert_int_equal(device_counter, 4);
    assert_int_equal(restore_with(&plan, key), 4);
    /* The newest record destroyed: the one before it is an old record. */
    const firn_record newest = record_in(0);
    const uint32_t slot = newest.global_step == 4 ? 0 : 1;
    slot_at(slot)[600] ^= 1;
    assert_int_equal(restore_with(&plan, key), FIRN_ERROR_CHECKPOINT_ROLLED_BACK);
    erase_all();
    assert_int_equal(restore_with(&plan, key), FIRN_ERROR_CHECKPOINT_ROLLED_BACK);
    assert_int_equal(report.slots_missing, 2);
    memset(flash.bytes, 0x5a, BOTH);
    assert_int_equal(restore_with(&plan, key), FIRN_ERROR_CHECKPOINT_DAMAGED);
}

/* A record of another value: below, equal, one above, more above; the device's counter has the value 10. */
TEST(the_value_is_the_devices) {
    count_saves(0);
    for (uint32_t value = 8; value <= 13; value++) {
        erase_all();
        device_counter = value - 1;
        save_steps(key, 1);
        assert_int_equal(device_counter, value);
        device_counter = 10;
        const bool accepted = value == 10 || value == 11;
        assert_int_equal(restore_with(&plan, key), accepted ? 1 : FIRN_ERROR_CHECKPOINT_ROLLED_BACK);
        assert_int_equal(device_counter, accepted ? value : 10); /* advanced to the record that was committed */
    }
}

/* With N saves for an advance, the last records with one value are a window; those before it are refused. */
TEST(the_window_is_what_is_said) {
    count_saves(4);
    save_steps(key, 1);
    for (uint32_t saved = 1; saved <= 20; saved++) {
        assert_int_equal(device_counter, (saved + 3) / 4);
        assert_int_equal(record_in((saved - 1) % 2).counted, (saved - 1) % 4 + 1);
        train_and_save(&one, 1);
    }
    /* Saves 21 and 20 are stored. 20 is the last of its value: */
    slot_at(0)[600] ^= 1;
    assert_int_equal(restore_with(&plan, key), FIRN_ERROR_CHECKPOINT_ROLLED_BACK);
    slot_at(0)[600] ^= 1;
    train_and_save(&one, 1);
    slot_at(1)[600] ^= 1; /* 22, of the same value as 21 */
    assert_int_equal(restore_with(&plan, key), 21);
    assert_int_equal(report.slots_damaged, 1);
}

TEST(errors_of_the_counter_lose_nothing) {
    count_saves(0);
    save_steps(key, 2);
    counter_reads = false;
    support_flash_copy(&put_aside, &flash);
    assert_int_equal(firn_save(&one.firn), FIRN_ERROR_COUNTER);
    assert_memory_equal(flash.bytes, put_aside.bytes, BOTH);
    assert_int_equal(restore_with(&plan, key), FIRN_ERROR_COUNTER);
    counter_reads = true;
    counter_advances = false;
    assert_int_equal(firn_save(&one.firn), FIRN_ERROR_COUNTER); /* saved, and not counted */
    assert_int_equal(device_counter, 2);
    support_flash_copy(&put_aside, &flash);
    assert_int_equal(firn_save(&one.firn), FIRN_ERROR_COUNTER); /* not before the last one is counted */
    assert_memory_equal(flash.bytes, put_aside.bytes, BOTH);
    assert_int_equal(restore_with(&plan, key), FIRN_ERROR_COUNTER);
    uint8_t digest[32];
    assert_int_equal(firn_digest(&two.firn, digest), FIRN_ERROR_NO_STATE);
    counter_advances = true;
    assert_int_equal(restore_with(&plan, key), 2);
    assert_int_equal(report.sequence, 3);
    assert_int_equal(device_counter, 3);
    /* The end of the counter. */
    device_counter = UINT32_MAX;
    support_flash_copy(&put_aside, &flash);
    assert_int_equal(firn_save(&one.firn), FIRN_ERROR_COUNTER);
    assert_memory_equal(flash.bytes, put_aside.bytes, BOTH);
}

/* A device that gets its counter later keeps its records. */
TEST(a_counter_may_be_added) {
    save_steps(key, 3);
    count_saves(0);
    assert_int_equal(restore_with(&plan, key), 3);
    train_and_save(&two, 1);
    assert_int_equal(device_counter, 1);
    assert_int_equal(restore_with(&plan, key), 4);
}

/* --- wear --------------------------------------------------------------------------------------------------------- */

TEST(counts_erases) {
    save_steps(NULL, 1);
    for (int i = 0; i < 9; i++) {
        const int saved = restore_with(&plan, NULL);
        assert_int_equal(saved, i + 1);
        assert_int_equal(report.erases[0], flash.erases[0]);
        assert_int_equal(report.erases[1], flash.erases[SLOT / ERASE]);
        train_and_save(&two, 1); /* by another instance each time */
    }
    /* The count goes on in another run, and if the newest record is lost; it stays at its end. */
    save_steps(NULL, 1);
    restore_with(&plan, NULL);
    assert_int_equal(report.erases[0] + report.erases[1], 11);
    firn_record record = record_in(0);
    record.erases[0] = record.erases[1] = UINT32_MAX;
    reseal(0, record, NULL);
    memset(slot_at(1), 0, 16);
    train_and_save(&one, 1);
    restore_with(&plan, NULL);
    assert_true(report.erases[0] == UINT32_MAX && report.erases[1] == UINT32_MAX);
}

/* Records from before there were codes, counters and erases have zeros there. */
TEST(older_records_restore) {
    save_steps(NULL, 1);
    firn_record record = record_in(0);
    memset(record.erases, 0, sizeof record.erases);
    reseal(0, record, NULL);
    for (uint32_t i = 448; i < FIRN_RECORD_HEADER_BYTES; i++)
        assert_int_equal(slot_at(0)[i], 0);
    assert_int_equal(restore_with(&plan, NULL), 1);
    assert_int_equal(report.erases[0], 0);
    train_and_save(&two, 1);
    assert_int_equal(record_in(1).sequence, 2);
    assert_int_equal(record_in(1).erases[1], 1);
}

/* --- storage ------------------------------------------------------------------------------------------------------ */

TEST(refuses_slots_that_cannot_be) {
    save_steps(NULL, 1);
    const firn_storage good = storage;
    storage.slots = 3;
    assert_int_equal(firn_save(&one.firn), FIRN_ERROR_ARGUMENT);
    assert_int_equal(firn_restore(&one.firn, NULL), FIRN_ERROR_ARGUMENT);
    storage = good;
    storage.capacity = (uint64_t)1 << 63;
    assert_int_equal(firn_save(&one.firn), FIRN_ERROR_ARGUMENT);
    storage = good;
    storage.capacity = ERASE; /* of one slot */
    support_flash_copy(&put_aside, &flash);
    assert_int_equal(firn_save(&one.firn), FIRN_ERROR_STORAGE_FULL);
    assert_memory_equal(flash.bytes, put_aside.bytes, BOTH);
    storage = good;
    storage.slots = 1; /* the first slot alone */
    assert_int_equal(firn_save(&one.firn), FIRN_OK);
    assert_int_equal(record_in(0).sequence, 2);
    assert_true(slot_at(1)[0] == 0xff);
}
