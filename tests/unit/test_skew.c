/* Tests what firn_restore compares of a checkpoint with the plan and the data at hand, what it refuses, what a config
 * allows, and what it reports. Plans are compiled from small_mlp.yaml; skew.sh tests the same with files. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "plan/checkpoint/record.h"
#include "plan/signature.h"
#include "runtime/targets/host/host.h"
#include "tests/unit/support_compiled_plans.h"
#include "tests/unit/support_test.h"

#define RECIPE "compiler/recipes/small_mlp.yaml"
#define VAL    "trainer.validate.val_dataloader."

static char path[128];

BEFORE_ALL {
    snprintf(path, sizeof path, "%s/firn-skew-XXXXXX", P_tmpdir);
    int file = mkstemp(path);
    assert_true(file >= 0 && close(file) == 0);
}

AFTER_ALL {
    assert_int_equal(unlink(path), 0);
}

/* --- an instance -------------------------------------------------------------------------------------------------- */

typedef struct opened {
    compiled_plan plan;
    firn_host_port port;
    firn_host_blocks blocks;
    firn firn;
} opened;

/* What a config allows. */
enum { PREPROCESSING = 1, SPLIT = 2, DATA = 4 };

/* Opens a plan for data with the hash `data` 32 times; 0: not known. */
static void open_plan(opened *it, firnc_mode mode, const char *setting, uint8_t data, unsigned allowed) {
    firn_sizes sizes;
    *it = (opened){0};
    compiled_plan_make(&it->plan, RECIPE, mode, &setting, setting != NULL);
    firn_host_port_begin(&it->port, path, NULL, 1);
    assert_int_equal(firn_plan_sizes(it->plan.file, it->plan.bytes, &sizes), FIRN_OK);
    assert_true(firn_host_blocks_begin(&it->blocks, &sizes));
    firn_config config = {.plan = it->plan.file,
                          .plan_bytes = it->plan.bytes,
                          .public_key = compiled_key,
                          .blocks = it->blocks.list,
                          .block_count = it->blocks.count,
                          .port = &it->port.port,
                          .kernels = "plain",
                          .allow_other_preprocessing = (allowed & PREPROCESSING) != 0,
                          .allow_other_split = (allowed & SPLIT) != 0,
                          .allow_other_data = (allowed & DATA) != 0};
    uint8_t hash[sizeof config.data_hash];
    memset(hash, data, sizeof hash);
    if (data % 2 == 0) /* the hash may also be said later */
        memcpy(config.data_hash, hash, sizeof hash);
    assert_int_equal(firn_open(&it->firn, &config), FIRN_OK);
    if (data % 2 != 0)
        assert_int_equal(firn_set_data_hash(&it->firn, hash), FIRN_OK);
}

static void close_plan(opened *it) {
    firn_host_blocks_end(&it->blocks);
    firn_host_port_end(&it->port);
    compiled_plan_free(&it->plan);
}

/* Saves the state of a run that was trained with these data. */
static void save_run(uint8_t data) {
    opened run;
    open_plan(&run, FIRNC_TRAIN, NULL, data, 0);
    assert_int_equal(firn_initialise(&run.firn), FIRN_OK);
    assert_int_equal(firn_save(&run.firn), FIRN_OK);
    close_plan(&run);
}

/* --- the record --------------------------------------------------------------------------------------------------- */

static size_t read_record(uint8_t *bytes, size_t most) {
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    size_t count = fread(bytes, 1, most, file);
    assert_int_equal(fclose(file), 0);
    assert_true(count > FIRN_RECORD_HEADER_BYTES && count < most);
    return count;
}

static firn_record record_now(void) {
    static uint8_t bytes[1 << 18];
    firn_record record;
    read_record(bytes, sizeof bytes);
    assert_int_equal(firn_record_decode(&record, bytes), FIRN_OK);
    return record;
}

/* Replaces the header of the stored record, with the SHA-256 that belongs to it. */
static void write_header(firn_record record) {
    static uint8_t bytes[1 << 18];
    const size_t count = read_record(bytes, sizeof bytes);
    const uint64_t covered = FIRN_RECORD_HEADER_BYTES + record.directory_bytes + record.state_bytes;
    memset(record.digest, 0, sizeof record.digest);
    firn_record_encode(&record, bytes);
    assert_int_equal(firn_sha256_of(bytes, (size_t)covered, record.digest), FIRN_OK);
    firn_record_encode(&record, bytes);
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, count, file), count);
    assert_int_equal(fclose(file), 0);
}

/* --- the tests ---------------------------------------------------------------------------------------------------- */

static void expect_report(const firn_restore_report *report, uint8_t preprocessing, uint8_t split, uint8_t data) {
    assert_int_equal(report->preprocessing, preprocessing);
    assert_int_equal(report->split, split);
    assert_int_equal(report->data, data);
}

static const uint8_t nothing[32] = {0};

/* The report names the run that wrote the record. */
TEST(a_report_names_the_run) {
    opened run;
    firn_info info;
    firn_restore_report report;
    save_run(7);
    firn_record record = record_now();
    record.global_step = 12;
    memset(record.origin_hash, 3, sizeof record.origin_hash);
    write_header(record);
    open_plan(&run, FIRNC_TRAIN, NULL, 7, 0);
    assert_int_equal(firn_restore(&run.firn, &report), FIRN_OK);
    assert_int_equal(firn_describe(&run.firn, &info), FIRN_OK);
    expect_report(&report, FIRN_EQUAL, FIRN_EQUAL, FIRN_EQUAL);
    assert_int_equal(report.global_step, 12);
    assert_memory_equal(report.run_hash, info.run_hash, 32);
    assert_memory_equal(report.origin_hash, record.origin_hash, 32);
    close_plan(&run);
    save_run(7);
    assert_memory_equal(record_now().origin_hash, nothing, 32);
}

/* A train plan of another preprocessing or split is another run; the data are not in the plan. */
TEST(training_goes_on_with_the_same_data) {
    static const struct {
        uint8_t recorded, given;
        unsigned allowed;
        int status;
        uint8_t comparison;
    } cases[] = {
        {7, 7, 0, FIRN_OK, FIRN_EQUAL},
        {7, 8, 0, FIRN_ERROR_CHECKPOINT_OTHER_DATA, FIRN_OTHER},
        {7, 8, PREPROCESSING | SPLIT, FIRN_ERROR_CHECKPOINT_OTHER_DATA, FIRN_OTHER},
        {7, 8, DATA, FIRN_OK, FIRN_OTHER},
        {7, 7, DATA, FIRN_OK, FIRN_EQUAL},
        {7, 0, 0, FIRN_OK, FIRN_UNKNOWN},
        {0, 8, 0, FIRN_OK, FIRN_UNKNOWN},
        {0, 0, 0, FIRN_OK, FIRN_UNKNOWN},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        opened run;
        firn_restore_report report;
        uint64_t steps;
        save_run(cases[i].recorded);
        open_plan(&run, FIRNC_TRAIN, NULL, cases[i].given, cases[i].allowed);
        assert_int_equal(firn_restore(&run.firn, &report), cases[i].status);
        expect_report(&report, FIRN_EQUAL, FIRN_EQUAL, cases[i].comparison);
        assert_int_equal(firn_progress(&run.firn, &steps), cases[i].status == FIRN_OK ? FIRN_OK : FIRN_ERROR_NO_STATE);
        assert_int_equal(firn_restore(&run.firn, NULL), cases[i].status);
        if (cases[i].status == FIRN_OK) { /* the next record has the data of this run */
            assert_int_equal(firn_save(&run.firn), FIRN_OK);
            assert_int_equal(record_now().data_hash[31], cases[i].given);
        }
        close_plan(&run);
    }
    opened other;
    firn_restore_report report;
    save_run(7);
    open_plan(&other, FIRNC_TRAIN, "trainer.fit.train_dataloader.feature_scale=1", 7, PREPROCESSING | SPLIT | DATA);
    assert_int_equal(firn_restore(&other.firn, &report), FIRN_ERROR_CHECKPOINT_OTHER_RUN);
    expect_report(&report, FIRN_NOT_COMPARED, FIRN_NOT_COMPARED, FIRN_NOT_COMPARED);
    close_plan(&other);
}

/* What an evaluation sets; the record has the data 7, 200 of 1,000 held out, and a scale of its own. */
static const struct {
    const char *setting;
    uint8_t given;
    int status; /* unless `allows` is allowed */
    unsigned allows;
    uint8_t preprocessing, split, data; /* if it is allowed */
} evaluations[] = {
    {NULL, 7, FIRN_OK, 0, FIRN_EQUAL, FIRN_EQUAL, FIRN_EQUAL},
    {NULL, 0, FIRN_OK, 0, FIRN_EQUAL, FIRN_EQUAL, FIRN_UNKNOWN},
    {VAL "batch_size=6", 7, FIRN_OK, 0, FIRN_EQUAL, FIRN_EQUAL, FIRN_EQUAL},
    {VAL "label_type=int32", 7, FIRN_OK, 0, FIRN_EQUAL, FIRN_EQUAL, FIRN_EQUAL},
    {VAL "held_out=false", 7, FIRN_OK, 0, FIRN_EQUAL, FIRN_EQUAL, FIRN_EQUAL},
    {VAL "held_out_per_mille=0", 7, FIRN_OK, 0, FIRN_EQUAL, FIRN_NOT_COMPARED, FIRN_NOT_COMPARED},
    {VAL "held_out_per_mille=0", 8, FIRN_OK, 0, FIRN_EQUAL, FIRN_NOT_COMPARED, FIRN_NOT_COMPARED},
    {VAL "feature_scale=1", 7, FIRN_ERROR_CHECKPOINT_OTHER_PREPROCESSING, PREPROCESSING, FIRN_OTHER, FIRN_EQUAL,
     FIRN_EQUAL},
    {VAL "feature_shift=1", 7, FIRN_ERROR_CHECKPOINT_OTHER_PREPROCESSING, PREPROCESSING, FIRN_OTHER, FIRN_EQUAL,
     FIRN_EQUAL},
    {VAL "held_out_per_mille=100", 7, FIRN_ERROR_CHECKPOINT_OTHER_SPLIT, SPLIT, FIRN_EQUAL, FIRN_OTHER, FIRN_EQUAL},
    {NULL, 8, FIRN_ERROR_CHECKPOINT_OTHER_DATA, DATA, FIRN_EQUAL, FIRN_EQUAL, FIRN_OTHER},
    {VAL "held_out=false", 8, FIRN_ERROR_CHECKPOINT_OTHER_DATA, DATA, FIRN_EQUAL, FIRN_EQUAL, FIRN_OTHER},
};

TEST(an_evaluation_prepares_and_splits_its_data_alike) {
    save_run(7);
    for (size_t i = 0; i < sizeof evaluations / sizeof evaluations[0]; i++)
        for (unsigned allowed = 0; allowed <= (PREPROCESSING | SPLIT | DATA); allowed++) {
            opened eval;
            firn_restore_report report;
            open_plan(&eval, FIRNC_EVAL, evaluations[i].setting, evaluations[i].given, allowed);
            int status = (evaluations[i].allows & ~allowed) == 0 ? FIRN_OK : evaluations[i].status;
            assert_int_equal(firn_restore(&eval.firn, &report), status);
            if (status == FIRN_OK)
                expect_report(&report, evaluations[i].preprocessing, evaluations[i].split, evaluations[i].data);
            else /* the record is valid, and the report tells about it */
                assert_true(report.preprocessing == FIRN_OTHER || report.split == FIRN_OTHER ||
                            report.data == FIRN_OTHER);
            assert_int_equal(firn_restore(&eval.firn, NULL), status);
            close_plan(&eval);
        }
}

/* Hashes that a record does not have are reported, and nothing is refused for them. */
TEST(a_record_without_hashes_is_not_compared) {
    for (unsigned unknown = 0; unknown <= (PREPROCESSING | SPLIT | DATA); unknown++) {
        opened eval;
        firn_restore_report report;
        save_run(7);
        firn_record record = record_now();
        if ((unknown & PREPROCESSING) != 0)
            memset(record.preprocessing_hash, 0, sizeof record.preprocessing_hash);
        if ((unknown & SPLIT) != 0)
            memset(record.split_hash, 0, sizeof record.split_hash);
        if ((unknown & DATA) != 0)
            memset(record.data_hash, 0, sizeof record.data_hash);
        write_header(record);
        open_plan(&eval, FIRNC_EVAL, NULL, 7, 0);
        assert_int_equal(firn_restore(&eval.firn, &report), FIRN_OK);
        expect_report(&report, (unknown & PREPROCESSING) != 0 ? FIRN_UNKNOWN : FIRN_EQUAL,
                      (unknown & SPLIT) != 0 ? FIRN_UNKNOWN : FIRN_EQUAL,
                      (unknown & DATA) != 0 ? FIRN_UNKNOWN : FIRN_EQUAL);
        close_plan(&eval);
    }
}

/* Every bit of a hash counts. */
TEST(a_hash_that_differs_in_one_bit_differs) {
    opened eval;
    firn_restore_report report;
    open_plan(&eval, FIRNC_EVAL, NULL, 7, 0);
    for (unsigned bit = 0; bit < 256; bit++) {
        save_run(7);
        firn_record record = record_now();
        uint8_t *const hashes[] = {record.preprocessing_hash, record.split_hash, record.data_hash};
        static const int errors[] = {FIRN_ERROR_CHECKPOINT_OTHER_PREPROCESSING, FIRN_ERROR_CHECKPOINT_OTHER_SPLIT,
                                     FIRN_ERROR_CHECKPOINT_OTHER_DATA};
        hashes[bit % 3][bit / 8] ^= (uint8_t)(1u << bit % 8);
        write_header(record);
        assert_int_equal(firn_restore(&eval.firn, &report), errors[bit % 3]);
    }
    close_plan(&eval);
}

/* A damaged record says nothing, whatever its header has. */
TEST(a_damaged_record_gives_no_report) {
    opened eval;
    firn_restore_report report;
    save_run(7);
    assert_int_equal(truncate(path, 600), 0);
    open_plan(&eval, FIRNC_EVAL, NULL, 7, 0);
    memset(&report, 0xff, sizeof report);
    assert_int_equal(firn_restore(&eval.firn, &report), FIRN_ERROR_CHECKPOINT_DAMAGED);
    expect_report(&report, FIRN_NOT_COMPARED, FIRN_NOT_COMPARED, FIRN_NOT_COMPARED);
    assert_int_equal(report.global_step, 0);
    assert_memory_equal(report.run_hash, nothing, 32);
    close_plan(&eval);
}
