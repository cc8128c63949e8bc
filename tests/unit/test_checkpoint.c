/* Tests checkpoints on simulated flash that enforces the rules of flash, fails at any operation, and loses power at any
 * operation or in the middle of it. After every fault, a restore must give exactly a state that was saved, or an error.
 */
#include <stdlib.h>
#include <string.h>

#include <mbedtls/sha256.h>

#include "plan/checkpoint/record.h"
#include "tests/unit/support_signed_plans.h"
#include "tests/unit/support_test.h"

enum { FLASH_BYTES = 4096, ERASE_BYTES = 512 };

typedef enum fault {
    NO_FAULT,
    REFUSED, /* the operation does nothing and reports failure; power stays on */
    CUT,     /* power fails before the operation */
    TORN,    /* power fails during the operation */
    GARBAGE, /* power fails during the operation, and the unit being written holds arbitrary bytes */
    FAULTS
} fault;

typedef struct flash {
    uint8_t bytes[FLASH_BYTES];
    bool written[FLASH_BYTES]; /* since the last erase */
    uint32_t unit;
    uint32_t operations; /* count of operations so far */
    uint32_t fault_at;   /* number of the operation that fails, counted from 1 */
    fault fault;
    bool dead;                 /* power is off */
    uint32_t reads, change_at; /* starting with read number change_at, the first byte of each read is changed; 0: never
                                */
    firn_storage storage;
    firn_port port;
} flash;

/* Returns true if the operation must be executed completely. If not, *partial tells whether a part of it is executed.
 */
static bool goes_well(flash *flash, bool *partial) {
    *partial = false;
    if (flash->dead)
        return false;
    if (++flash->operations != flash->fault_at || flash->fault == NO_FAULT)
        return true;
    flash->dead = flash->fault != REFUSED;
    *partial = flash->fault == TORN || flash->fault == GARBAGE;
    return false;
}

static int flash_read(void *context, uint64_t offset, void *bytes, uint32_t count) {
    flash *self = context;
    assert_true(offset <= FLASH_BYTES && FLASH_BYTES - offset >= count);
    if (self->dead)
        return FIRN_ERROR_STORAGE;
    memcpy(bytes, self->bytes + offset, count);
    if (++self->reads >= self->change_at && self->change_at != 0)
        ((uint8_t *)bytes)[0] ^= 1;
    return 0;
}

static void program(flash *flash, uint64_t offset, const uint8_t *bytes, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        assert_false(flash->written[offset + i]);
        flash->written[offset + i] = true;
        flash->bytes[offset + i] = bytes[i];
    }
}

static int flash_program(void *context, uint64_t offset, const void *bytes, uint32_t count) {
    flash *self = context;
    bool partial;
    assert_true(offset % self->unit == 0 && count % self->unit == 0 && count > 0);
    assert_true(offset <= FLASH_BYTES && FLASH_BYTES - offset >= count);
    if (goes_well(self, &partial)) {
        program(self, offset, bytes, count);
        return 0;
    }
    if (partial) {
        uint32_t done = count / 2 / self->unit * self->unit;
        program(self, offset, bytes, done);
        for (uint32_t i = 0; self->fault == GARBAGE && i < self->unit && done + i < count; i++)
            self->bytes[offset + done + i] = (uint8_t)(((const uint8_t *)bytes)[done + i] ^ (i % 3 == 0 ? 0x5a : 0));
    }
    return FIRN_ERROR_STORAGE;
}

static int flash_erase(void *context, uint64_t offset, uint64_t count) {
    flash *self = context;
    bool partial;
    assert_true(offset % ERASE_BYTES == 0 && count % ERASE_BYTES == 0 && count <= FLASH_BYTES - offset);
    bool whole = goes_well(self, &partial);
    if (whole || partial) {
        uint64_t done = whole ? count : count / 2 + 3;
        memset(self->bytes + offset, 0xff, done);
        memset(self->written + offset, 0, done);
        if (partial && self->fault == GARBAGE)
            memset(self->bytes + offset + done, 0xa5, 7);
    }
    return whole ? 0 : FIRN_ERROR_STORAGE;
}

static int flash_sync(void *context) {
    bool partial;
    return goes_well(context, &partial) ? 0 : FIRN_ERROR_STORAGE;
}

static void flash_begin(flash *flash, uint32_t unit) {
    memset(flash, 0, sizeof *flash);
    memset(flash->bytes, 0xff, sizeof flash->bytes);
    flash->unit = unit;
    flash->storage = (firn_storage){.program_unit = unit,
                                    .erase_unit = ERASE_BYTES,
                                    .capacity = FLASH_BYTES,
                                    .erased_value = 0xff,
                                    .read = flash_read,
                                    .program = flash_program,
                                    .erase = flash_erase,
                                    .sync = flash_sync};
    flash->port = (firn_port){.struct_size = sizeof flash->port, .context = flash, .storage = &flash->storage};
}

/* Turns the power on again. */
static void flash_restart(flash *flash) {
    flash->dead = false;
    flash->fault = NO_FAULT;
    flash->operations = 0;
}

/* --- instances --- */

static const uint8_t text[] = {0, 1, 2, 3, 4, 5, 6, 7, 0, 1, 2, 3, 4, 5, 6, 7, 0, 2, 4, 6, 0, 2, 4, 6, 1, 3, 5, 7};
static const uint64_t whole[] = {sizeof text, 0};
static signed_plan plan, other_plan;
static opened one, two;
static flash memory;

static void train(opened *opened, int steps) {
    bytes_source source;
    firn_step_report report;
    support_text(&source, text, whole);
    for (int i = 0; i < steps; i++)
        assert_int_equal(firn_train_step(&opened->firn, &source.source, &report), FIRN_OK);
}

static void begin(opened *opened) {
    assert_int_equal(support_open(opened, &plan, &memory.port), FIRN_OK);
    assert_int_equal(firn_initialise(&opened->firn), FIRN_OK);
}

static void digest_of(const opened *opened, uint8_t digest[32]) {
    assert_int_equal(firn_digest(&opened->firn, digest), FIRN_OK);
}

/* Saves a run of 3 steps and returns its digest. */
static void save_three(uint32_t unit, uint8_t digest[32]) {
    flash_begin(&memory, unit);
    support_bigram(&plan, &support_settings);
    begin(&one);
    train(&one, 3);
    assert_int_equal(firn_save(&one.firn), FIRN_OK);
    digest_of(&one, digest);
}

/* --- tests --- */

TEST(resumes_with_the_same_bits) {
    static const uint32_t units[] = {1, 4, 16, 64, 256};
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        uint8_t saved[32], restored[32], straight[32];
        save_three(units[i], saved);
        assert_int_equal(support_open(&two, &plan, &memory.port), FIRN_OK);
        assert_int_equal(firn_restore(&two.firn, NULL), FIRN_OK);
        digest_of(&two, restored);
        assert_memory_equal(saved, restored, 32);
        uint64_t steps;
        assert_int_equal(firn_progress(&two.firn, &steps), FIRN_OK);
        assert_int_equal(steps, 3);
        train(&one, 7);
        train(&two, 7);
        digest_of(&one, straight);
        digest_of(&two, restored);
        assert_memory_equal(straight, restored, 32);
    }
}

TEST(counts_records) {
    uint8_t digest[32];
    firn_record record;
    save_three(16, digest);
    assert_int_equal(firn_record_decode(&record, memory.bytes), FIRN_OK);
    assert_int_equal(record.sequence, 1);
    assert_int_equal(record.global_step, 3);
    assert_int_equal(support_open(&two, &plan, &memory.port), FIRN_OK);
    assert_int_equal(firn_restore(&two.firn, NULL), FIRN_OK);
    assert_int_equal(firn_save(&two.firn), FIRN_OK);
    assert_int_equal(firn_record_decode(&record, memory.bytes), FIRN_OK);
    assert_int_equal(record.sequence, 2);
}

TEST(nothing_is_missing_not_damaged) {
    flash_begin(&memory, 16);
    support_bigram(&plan, &support_settings);
    begin(&one);
    assert_int_equal(firn_restore(&one.firn, NULL), FIRN_ERROR_CHECKPOINT_MISSING);
}

/* If a restore finds no valid record, a running instance keeps its state. If it fails halfway, the state is lost. */
TEST(keeps_a_good_state) {
    uint8_t saved[32], later[32], after[32];
    save_three(16, saved);
    train(&one, 2);
    digest_of(&one, later);
    const flash good = memory;
    memory.storage.erase_unit = 0;
    assert_int_equal(firn_restore(&one.firn, NULL), FIRN_ERROR_ARGUMENT);
    memory.storage = good.storage;
    memory.port.storage = NULL;
    assert_int_equal(firn_restore(&one.firn, NULL), FIRN_ERROR_NO_STORAGE);
    memory.port.storage = &memory.storage;
    memory.bytes[FIRN_RECORD_HEADER_BYTES + 40] ^= 1;
    assert_int_equal(firn_restore(&one.firn, NULL), FIRN_ERROR_CHECKPOINT_DAMAGED);
    memset(memory.bytes, 0xff, sizeof memory.bytes);
    assert_int_equal(firn_restore(&one.firn, NULL), FIRN_ERROR_CHECKPOINT_MISSING);
    memory.dead = true;
    assert_int_equal(firn_restore(&one.firn, NULL), FIRN_ERROR_STORAGE);
    digest_of(&one, after);
    assert_memory_equal(later, after, 32);

    memory = good;
    train(&one, 1); /* the run continues */
    memory.reads = 0;
    assert_int_equal(firn_restore(&one.firn, NULL), FIRN_OK);
    memory.change_at = memory.reads; /* the last read is the one that copies */
    memory.reads = 0;
    train(&one, 1);
    assert_int_equal(firn_restore(&one.firn, NULL), FIRN_ERROR_CHECKPOINT_DAMAGED);
    assert_int_equal(firn_digest(&one.firn, after), FIRN_ERROR_NO_STATE);
    memory.change_at = 0;
    assert_int_equal(firn_restore(&one.firn, NULL), FIRN_OK);
    digest_of(&one, after);
    assert_memory_equal(saved, after, 32);
}

TEST(says_when_it_does_not_fit) {
    flash_begin(&memory, 16);
    memory.storage.capacity = ERASE_BYTES;
    support_bigram(&plan, &support_settings);
    begin(&one);
    assert_int_equal(firn_save(&one.firn), FIRN_ERROR_STORAGE_FULL);
    assert_int_equal(memory.operations, 0);
    train(&one, 1); /* the run continues */
}

/* Fails each operation of a save in every way, with an older record in the flash. */
TEST(survives_faults) {
    static const uint32_t units[] = {1, 16, 256};
    uint8_t older[32], newer[32], restored[32];
    uint32_t old_seen = 0, new_seen = 0, refused = 0;
    for (size_t u = 0; u < sizeof units / sizeof *units; u++) {
        save_three(units[u], older);
        const flash before = memory;
        const opened trained = one;
        memory.operations = 0;
        begin(&one);
        train(&one, 5);
        digest_of(&one, newer);
        assert_int_equal(firn_save(&one.firn), FIRN_OK);
        const uint32_t operations = memory.operations;
        assert_true(operations > 4);
        for (uint32_t at = 1; at <= operations; at++) {
            for (fault kind = REFUSED; kind < FAULTS; kind++) {
                memory = before;
                memory.port.context = &memory;
                memory.port.storage = &memory.storage;
                memory.operations = 0;
                memory.fault_at = at;
                memory.fault = kind;
                one = trained;
                begin(&one);
                train(&one, 5);
                assert_int_equal(firn_save(&one.firn), FIRN_ERROR_STORAGE);
                train(&one, 1); /* a failed save does not stop the run */
                flash_restart(&memory);
                assert_int_equal(support_open(&two, &plan, &memory.port), FIRN_OK);
                int status = firn_restore(&two.firn, NULL);
                if (status == FIRN_OK) {
                    digest_of(&two, restored);
                    bool is_old = memcmp(restored, older, 32) == 0, is_new = memcmp(restored, newer, 32) == 0;
                    assert_true(is_old || is_new);
                    old_seen += is_old;
                    new_seen += is_new;
                } else {
                    assert_true(status == FIRN_ERROR_CHECKPOINT_DAMAGED || status == FIRN_ERROR_CHECKPOINT_MISSING);
                    uint8_t digest[32];
                    assert_int_equal(firn_digest(&two.firn, digest), FIRN_ERROR_NO_STATE);
                    refused++;
                }
            }
        }
    }
    assert_true(old_seen > 0 && new_seen > 0 && refused > 0);
}

static int restore_error(void) {
    assert_int_equal(support_open(&two, &plan, &memory.port), FIRN_OK);
    return firn_restore(&two.firn, NULL);
}

/* Size of the stored record with its commit unit. */
static uint32_t record_bytes(void) {
    firn_record record;
    assert_int_equal(firn_record_decode(&record, memory.bytes), FIRN_OK);
    return (uint32_t)(FIRN_RECORD_HEADER_BYTES + record.directory_bytes + record.state_bytes) + 16;
}

/* Fields of the header that have an error of their own: the version, and the code of a record that a device key
 * authenticates. */
enum { VERSION_AT = 8, CODE_AT = 264 };

TEST(finds_every_flipped_bit) {
    uint8_t digest[32];
    save_three(16, digest);
    const uint32_t bits = 8 * record_bytes();
    assert_int_equal(support_open(&two, &plan, &memory.port), FIRN_OK);
    for (uint32_t bit = 0; bit < bits; bit++) {
        memory.bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
        int error = FIRN_ERROR_CHECKPOINT_DAMAGED;
        if (bit >= 8 * VERSION_AT && bit < 8 * (VERSION_AT + 4))
            error = FIRN_ERROR_CHECKPOINT_VERSION;
        else if (bit >= 8 * CODE_AT && bit < 8 * (CODE_AT + 32))
            error = FIRN_ERROR_CHECKPOINT_AUTHENTICATION;
        assert_int_equal(firn_restore(&two.firn, NULL), error);
        memory.bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
    assert_int_equal(firn_restore(&two.firn, NULL), FIRN_OK);
}

static uint64_t stored_bytes;

static uint64_t stored(void *context) {
    (void)context;
    return stored_bytes;
}

TEST(finds_every_truncation) {
    uint8_t digest[32];
    save_three(16, digest);
    const uint32_t bytes = record_bytes();
    memory.storage.stored = stored;
    assert_int_equal(support_open(&two, &plan, &memory.port), FIRN_OK);
    stored_bytes = 0;
    assert_int_equal(firn_restore(&two.firn, NULL), FIRN_ERROR_CHECKPOINT_MISSING);
    for (stored_bytes = 1; stored_bytes < bytes; stored_bytes++)
        assert_int_equal(firn_restore(&two.firn, NULL), FIRN_ERROR_CHECKPOINT_DAMAGED);
    assert_int_equal(firn_restore(&two.firn, NULL), FIRN_OK);
}

/* Bytes that are valid when the hash is computed and differ when they are copied are refused. */
TEST(believes_only_what_it_copies) {
    uint8_t digest[32];
    save_three(16, digest);
    memory.reads = 0;
    assert_int_equal(restore_error(), FIRN_OK);
    const uint32_t reads = memory.reads;
    for (uint32_t at = 1; at <= reads; at++) {
        memory.reads = 0;
        memory.change_at = at;
        assert_int_equal(restore_error(), FIRN_ERROR_CHECKPOINT_DAMAGED);
        assert_int_equal(firn_digest(&two.firn, digest), FIRN_ERROR_NO_STATE);
    }
}

/* --- valid records of other plans --- */

TEST(belongs_to_one_run) {
    uint8_t digest[32];
    save_three(16, digest);
    signed_plan_settings settings = support_settings;
    settings.seed++;
    support_bigram(&other_plan, &settings);
    assert_int_equal(support_open(&two, &other_plan, &memory.port), FIRN_OK);
    assert_int_equal(firn_restore(&two.firn, NULL), FIRN_ERROR_CHECKPOINT_OTHER_RUN);
    /* the same run signed with another key */
    support_bigram(&other_plan, &support_settings);
    support_sign(&other_plan, true);
    assert_int_equal(support_open(&two, &other_plan, &memory.port), FIRN_OK);
    assert_int_equal(firn_restore(&two.firn, NULL), FIRN_OK);
}

TEST(evaluation_takes_the_parameters) {
    uint8_t digest[32];
    save_three(16, digest);
    support_bigram_eval(&other_plan, &support_settings);
    assert_int_equal(support_open(&two, &other_plan, &memory.port), FIRN_OK);
    assert_int_equal(firn_restore(&two.firn, NULL), FIRN_OK);
    firn_tensor_info trained = support_tensor(&one.firn, "table"), evaluated = support_tensor(&two.firn, "table");
    assert_int_equal(trained.bytes, evaluated.bytes);
    assert_memory_equal(trained.data, evaluated.data, (size_t)trained.bytes);
    static const uint8_t zero[8] = {0};
    assert_memory_equal(support_tensor(&two.firn, "counters.cursor").data, zero, 8);
    assert_memory_equal(support_tensor(&two.firn, "metric.count").data, zero, 8);
    support_classifier(&other_plan, &support_settings);
    assert_int_equal(support_open(&two, &other_plan, &memory.port), FIRN_OK);
    assert_int_equal(firn_restore(&two.firn, NULL), FIRN_ERROR_CHECKPOINT_OTHER_MODEL);
}

static uint8_t initial_table[16];
static bool table_was_drawn;

static void look_at_table(void *context) {
    (void)context;
    table_was_drawn = table_was_drawn || memcmp(two.parameters, initial_table, sizeof initial_table) == 0;
}

/* Parameters are taken from the record. Drawing initial values first would waste the time to initialise a large model.
 */
TEST(evaluation_draws_no_parameters) {
    uint8_t digest[32];
    save_three(16, digest);
    support_bigram_eval(&other_plan, &support_settings);
    memory.port.alive = look_at_table;
    assert_int_equal(support_open(&two, &other_plan, &memory.port), FIRN_OK);
    assert_int_equal(firn_initialise(&two.firn), FIRN_OK);
    memcpy(initial_table, two.parameters, sizeof initial_table); /* the table is the only parameter */
    assert_memory_not_equal(initial_table, support_tensor(&one.firn, "table").data, sizeof initial_table);
    memset(two.parameters, 0, sizeof two.parameters);
    table_was_drawn = false;
    assert_int_equal(firn_restore(&two.firn, NULL), FIRN_OK);
    assert_false(table_was_drawn);
    assert_int_equal(firn_initialise(&two.firn), FIRN_OK);
    assert_true(table_was_drawn); /* the table would contain the drawn values */
}

/* --- what the checkpoint was trained with --- */

/* Opens a plan with the hash of some data (0: not known) and with what differences are allowed. */
static void open_with(opened *opened, const signed_plan *plan, uint8_t data, bool allow) {
    firn_config config = support_config(opened, plan);
    config.port = &memory.port;
    memset(config.data_hash, data, sizeof config.data_hash);
    config.allow_other_preprocessing = config.allow_other_split = config.allow_other_data = allow;
    memset(&opened->firn, 0, sizeof opened->firn);
    assert_int_equal(firn_open(&opened->firn, &config), FIRN_OK);
}

/* Restores into a plan. Whatever differs must be the reason of a refusal, which leaves the instance without a state, or
 * be allowed; the report says so in both cases. */
static void expect_restore(const signed_plan *plan, uint8_t data, int error, firn_restore_report wanted) {
    for (int allow = 0; allow < 2; allow++) {
        firn_restore_report report;
        uint8_t digest[32];
        open_with(&two, plan, data, allow != 0);
        const int status = allow != 0 ? FIRN_OK : error;
        assert_int_equal(firn_restore(&two.firn, &report), status);
        assert_int_equal(firn_digest(&two.firn, digest), status == FIRN_OK ? FIRN_OK : FIRN_ERROR_NO_STATE);
        assert_int_equal(report.global_step, 3);
        assert_int_equal(report.preprocessing, wanted.preprocessing);
        if (status == FIRN_OK || error != FIRN_ERROR_CHECKPOINT_OTHER_PREPROCESSING)
            assert_int_equal(report.split, wanted.split);
        if (status == FIRN_OK || error == FIRN_ERROR_CHECKPOINT_OTHER_DATA)
            assert_int_equal(report.data, wanted.data);
    }
}

/* Trains 3 steps on the train part of data with this hash, and saves them. */
static void save_part(uint8_t data) {
    flash_begin(&memory, 16);
    signed_plan_settings settings = support_settings;
    settings.part = FIRN_FB_DATA_PART_TRAIN;
    settings.held_out_per_mille = 300;
    support_bigram(&plan, &settings);
    open_with(&one, &plan, data, false);
    assert_int_equal(firn_initialise(&one.firn), FIRN_OK);
    train(&one, 3);
    assert_int_equal(firn_save(&one.firn), FIRN_OK);
}

TEST(resuming_needs_the_same_data) {
    const firn_restore_report same = {.preprocessing = FIRN_EQUAL, .split = FIRN_EQUAL, .data = FIRN_EQUAL};
    firn_restore_report unknown = same, other = same;
    unknown.data = FIRN_UNKNOWN;
    other.data = FIRN_OTHER;
    save_part(1);
    expect_restore(&plan, 1, FIRN_OK, same);
    expect_restore(&plan, 0, FIRN_OK, unknown);
    expect_restore(&plan, 2, FIRN_ERROR_CHECKPOINT_OTHER_DATA, other);
    save_part(0);
    expect_restore(&plan, 2, FIRN_OK, unknown);
}

static void read_the_next_token(firn_native_plan *native) {
    static firn_native_input inputs[2];
    memcpy(inputs, native->inputs, sizeof inputs);
    inputs[0].advance = 1;
    native->inputs = inputs;
}

static void relabel(firn_native_plan *native) {
    static firn_native_input inputs[2];
    memcpy(inputs, native->inputs, sizeof inputs);
    inputs[1].advance = 0;
    native->inputs = inputs;
}

/* An evaluation of a part of the data must be of the same part of the same data, so that training has not seen it. One
 * of all data may be of other data. What the model reads must be made in the same way; its labels need not. */
TEST(evaluation_compares_what_matters) {
    signed_plan_settings settings = support_settings;
    save_part(1);
    support_bigram_eval(&other_plan, &settings);
    expect_restore(&other_plan, 2, FIRN_OK, (firn_restore_report){.preprocessing = FIRN_EQUAL});
    settings.change = relabel;
    support_bigram_eval(&other_plan, &settings);
    expect_restore(&other_plan, 2, FIRN_OK, (firn_restore_report){.preprocessing = FIRN_EQUAL});
    settings.change = read_the_next_token;
    support_bigram_eval(&other_plan, &settings);
    expect_restore(&other_plan, 2, FIRN_ERROR_CHECKPOINT_OTHER_PREPROCESSING,
                   (firn_restore_report){.preprocessing = FIRN_OTHER});
    settings.change = NULL;
    for (int part = 0; part < 2; part++) {
        settings.part = part == 0 ? FIRN_FB_DATA_PART_HELD_OUT : FIRN_FB_DATA_PART_TRAIN;
        settings.held_out_per_mille = 300;
        support_bigram_eval(&other_plan, &settings);
        expect_restore(&other_plan, 1, FIRN_OK,
                       (firn_restore_report){.preprocessing = FIRN_EQUAL, .split = FIRN_EQUAL, .data = FIRN_EQUAL});
        expect_restore(&other_plan, 2, FIRN_ERROR_CHECKPOINT_OTHER_DATA,
                       (firn_restore_report){.preprocessing = FIRN_EQUAL, .split = FIRN_EQUAL, .data = FIRN_OTHER});
        settings.held_out_per_mille = 301;
        support_bigram_eval(&other_plan, &settings);
        expect_restore(&other_plan, 1, FIRN_ERROR_CHECKPOINT_OTHER_SPLIT,
                       (firn_restore_report){.preprocessing = FIRN_EQUAL, .split = FIRN_OTHER, .data = FIRN_EQUAL});
    }
}

/* A refusal leaves a state that is there as it is. */
TEST(a_refusal_costs_nothing) {
    uint8_t before[32], after[32];
    save_part(1);
    open_with(&two, &plan, 2, false);
    assert_int_equal(firn_initialise(&two.firn), FIRN_OK);
    train(&two, 1);
    digest_of(&two, before);
    assert_int_equal(firn_restore(&two.firn, NULL), FIRN_ERROR_CHECKPOINT_OTHER_DATA);
    digest_of(&two, after);
    assert_memory_equal(before, after, 32);
    train(&two, 1);
}

static uint8_t origin[32];

static void set_origin(firn_native_plan *native) {
    native->origin = origin;
    native->origin_count = sizeof origin;
}

/* The report names the run that wrote the checkpoint, and the run that this one continued. */
TEST(the_report_says_where_a_checkpoint_comes_from) {
    static const uint8_t none[32];
    firn_info info;
    firn_restore_report report;
    signed_plan_settings settings = support_settings;
    memset(origin, 0x3c, sizeof origin);
    for (int continued = 0; continued < 2; continued++) {
        settings.change = continued != 0 ? set_origin : NULL;
        flash_begin(&memory, 16);
        support_bigram(&plan, &settings);
        begin(&one);
        train(&one, 2);
        assert_int_equal(firn_save(&one.firn), FIRN_OK);
        assert_int_equal(firn_describe(&one.firn, &info), FIRN_OK);
        support_bigram_eval(&other_plan, &support_settings);
        for (int eval = 0; eval < 2; eval++) {
            assert_int_equal(support_open(&two, eval != 0 ? &other_plan : &plan, &memory.port), FIRN_OK);
            assert_int_equal(firn_restore(&two.firn, &report), FIRN_OK);
            assert_int_equal(report.global_step, 2);
            assert_memory_equal(report.run_hash, info.run_hash, 32);
            assert_memory_equal(report.origin_hash, continued != 0 ? origin : none, 32);
        }
    }
    memset(memory.bytes, 0xff, sizeof memory.bytes);
    assert_int_equal(firn_restore(&two.firn, &report), FIRN_ERROR_CHECKPOINT_MISSING);
    assert_int_equal(report.global_step, 0); /* nothing is left of the report before */
    assert_memory_equal(report.run_hash, none, 32);
}

/* --- records that were made to deceive --- */

/* Recomputes the hash of the stored record after a change of its contents. */
static void seal(void) {
    firn_record record;
    assert_int_equal(firn_record_decode(&record, memory.bytes), FIRN_OK);
    memset(record.digest, 0, sizeof record.digest);
    firn_record_encode(&record, memory.bytes);
    mbedtls_sha256(memory.bytes, record_bytes() - 16, record.digest, 0);
    firn_record_encode(&record, memory.bytes);
}

/* The offset of a name in the directory of the stored record. */
static uint32_t place_of(const char *name) {
    for (uint32_t at = FIRN_RECORD_HEADER_BYTES; at < record_bytes(); at++)
        if (memcmp(memory.bytes + at, name, strlen(name)) == 0)
            return at;
    fail_msg("%s is not in the record", name);
    return 0;
}

/* A record has no signature, so its contents may come from anyone who can write to the storage. */
TEST(checks_what_a_hash_cannot) {
    uint8_t digest[32];
    save_three(16, digest);
    const flash good = memory;
    seal();
    assert_int_equal(restore_error(), FIRN_OK);       /* seal() computes the same hash as the library */
    memory.bytes[place_of("scaler.loss_scale")] ^= 1; /* another name */
    seal();
    assert_int_equal(restore_error(), FIRN_ERROR_CHECKPOINT_DAMAGED);
    memcpy(memory.bytes, good.bytes, sizeof memory.bytes);
    memory.bytes[place_of("table") + 5 + 1] ^= 1; /* another role */
    seal();
    assert_int_equal(restore_error(), FIRN_ERROR_CHECKPOINT_DAMAGED);
    memcpy(memory.bytes, good.bytes, sizeof memory.bytes);
    memory.bytes[FIRN_RECORD_HEADER_BYTES]--; /* one tensor fewer */
    seal();
    assert_int_equal(restore_error(), FIRN_ERROR_CHECKPOINT_DAMAGED);
    memcpy(memory.bytes, good.bytes, sizeof memory.bytes);
    memory.bytes[FIRN_RECORD_HEADER_BYTES]++;
    seal();
    assert_int_equal(restore_error(), FIRN_ERROR_CHECKPOINT_DAMAGED);
    memcpy(memory.bytes, good.bytes, sizeof memory.bytes);
    firn_record record;
    assert_int_equal(firn_record_decode(&record, memory.bytes), FIRN_OK);
    const uint64_t session = firn_record_region_offset(&record, record.region_count - 1);
    memory.bytes[FIRN_RECORD_HEADER_BYTES + record.directory_bytes + session + 7] = 0x80; /* a negative cursor */
    seal();
    assert_int_equal(restore_error(), FIRN_ERROR_CHECKPOINT_DAMAGED);
    assert_int_equal(firn_digest(&two.firn, digest), FIRN_ERROR_NO_STATE);
    memcpy(memory.bytes, good.bytes, sizeof memory.bytes);
    for (uint8_t version = 1; version <= 3; version++) {
        memory.bytes[8] = version;
        assert_int_equal(restore_error(), version == FIRN_RECORD_VERSION ? FIRN_OK : FIRN_ERROR_CHECKPOINT_VERSION);
    }
}

/* A record lists its regions. Other regions than those of the plan are refused, although the bytes are there. */
TEST(regions_must_be_those_of_the_plan) {
    uint8_t digest[32];
    save_three(16, digest);
    const flash good = memory;
    firn_record record, changed;
    assert_int_equal(firn_record_decode(&record, memory.bytes), FIRN_OK);
    assert_int_equal(record.region_count, 3); /* parameters, optimizer, session */
    for (int i = 0; i < 4; i++) {
        memcpy(memory.bytes, good.bytes, sizeof memory.bytes);
        changed = record;
        if (i == 0) { /* another kind */
            changed.region_kinds[2] = FIRN_FB_REGION_KIND_SLOW_SESSION;
        } else if (i == 1) { /* other sizes, with the same sum */
            changed.region_bytes[0] += 16;
            changed.region_bytes[1] -= 16;
        } else if (i == 2) { /* one region for two */
            changed.region_count = 2;
            changed.region_bytes[1] += record.region_bytes[2];
            changed.region_kinds[2] = 0;
            changed.region_bytes[2] = 0;
        } else { /* one region more, which takes a part of the last */
            changed.region_count = 4;
            changed.region_kinds[3] = FIRN_FB_REGION_KIND_SESSION;
            changed.region_bytes[2] = changed.region_bytes[3] = 16;
            changed.region_bytes[1] -= 32 - record.region_bytes[2];
        }
        firn_record_encode(&changed, memory.bytes);
        seal();
        assert_int_equal(restore_error(), FIRN_ERROR_CHECKPOINT_DAMAGED);
    }
}

/* Random damage with a recomputed hash: the record is refused, or the run that continues from it makes a step or stops
 * with an error that values or counters can cause. */
TEST(runs_or_refuses) {
    uint8_t digest[32];
    uint32_t refused = 0, ran = 0;
    save_three(16, digest);
    const flash good = memory;
    uint32_t random = 1;
    for (int i = 0; i < 2000; i++) {
        memcpy(memory.bytes, good.bytes, sizeof memory.bytes);
        const uint32_t bytes = record_bytes();
        random = random * 1664525u + 1013904223u;
        memory.bytes[FIRN_RECORD_HEADER_BYTES + (random >> 8) % (bytes - 16 - FIRN_RECORD_HEADER_BYTES)] ^=
            (uint8_t)(1u << random % 8);
        seal();
        if (i == 0)
            assert_int_equal(support_open(&two, &plan, &memory.port), FIRN_OK);
        int status = firn_restore(&two.firn, NULL);
        if (status != FIRN_OK) {
            assert_int_equal(status, FIRN_ERROR_CHECKPOINT_DAMAGED);
            refused++;
            continue;
        }
        bytes_source source;
        firn_step_report report;
        support_text(&source, text, whole);
        status = firn_train_step(&two.firn, &source.source, &report);
        ran += status == FIRN_OK;
        assert_true(status == FIRN_OK || status == FIRN_ERROR_RUN_COMPLETE || status == FIRN_ERROR_LOSS_NOT_FINITE ||
                    status == FIRN_ERROR_LOSS_SCALE_FLOOR);
    }
    assert_true(refused > 100 && ran > 100);
}

TEST(refuses_storage_that_cannot_be) {
    uint8_t digest[32];
    save_three(16, digest);
    const firn_storage good = memory.storage;
    memory.storage.program_unit = 24;
    assert_int_equal(firn_save(&one.firn), FIRN_ERROR_ARGUMENT);
    memory.storage = good;
    memory.storage.program_unit = 512;
    assert_int_equal(firn_save(&one.firn), FIRN_ERROR_ARGUMENT);
    memory.storage = good;
    memory.storage.erase_unit = 0;
    assert_int_equal(firn_save(&one.firn), FIRN_ERROR_ARGUMENT);
    memory.storage = good;
    memory.storage.capacity = 100;
    assert_int_equal(firn_save(&one.firn), FIRN_ERROR_ARGUMENT);
    memory.storage = good;
    memory.storage.capacity = 0; /* the storage does not report how much is stored */
    assert_int_equal(firn_save(&one.firn), FIRN_ERROR_ARGUMENT);
    assert_int_equal(firn_restore(&one.firn, NULL), FIRN_ERROR_ARGUMENT);
    memory.storage.stored = stored;
    stored_bytes = record_bytes();
    assert_int_equal(firn_restore(&one.firn, NULL), FIRN_OK);
}
