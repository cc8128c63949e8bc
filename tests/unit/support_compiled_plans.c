/* See support_compiled_plans.h. */
#define _POSIX_C_SOURCE 200809L
#include "tests/unit/support_compiled_plans.h"

#include <stdlib.h>
#include <string.h>

#define MBEDTLS_ALLOW_PRIVATE_ACCESS /* test keys are made from their parts */
#include <mbedtls/ecp.h>

#include "compiler/emit/plan_file.h"
#include "compiler/emit/sign.h"
#include "compiler/passes/driver.h"
#include "plan/checks/semantics.h"
#include "plan/generated/reader.h"
#include "plan/signature.h"
#include "tests/unit/support_recipes.h"
#include "tests/unit/support_test.h"

/* --- making ------------------------------------------------------------------------------------------------------- */

const uint8_t compiled_key[64] = {0x60, 0xfe, 0xd4, 0xba, 0x25, 0x5a, 0x9d, 0x31, 0xc9, 0x61, 0xeb, 0x74, 0xc6,
                                  0x35, 0x6d, 0x68, 0xc0, 0x49, 0xb8, 0x92, 0x3b, 0x61, 0xfa, 0x6c, 0xe6, 0x69,
                                  0x62, 0x2e, 0x60, 0xf2, 0x9f, 0xb6, 0x79, 0x03, 0xfe, 0x10, 0x08, 0xb8, 0xbc,
                                  0x99, 0xa4, 0x1a, 0xe9, 0xe9, 0x56, 0x28, 0xbc, 0x64, 0xf2, 0xf1, 0xb2, 0x0c,
                                  0x2d, 0x7e, 0x9f, 0x51, 0x77, 0xa3, 0xc2, 0x94, 0xd4, 0x46, 0x22, 0x99};

static const char secret[] = "C9AFA9D845BA75166B5C215767B1D6934E50C3DB36E89B127B8A622B120F6721";
static const char second_secret[] = "0123456789ABCDEF0123456789ABCDEF0123456789ABCDEF0123456789ABCDEF";

firnc_bytes compiled_key_pem(void) {
    firnc_key key;
    firnc_bytes private_pem, public_pem;
    memcpy(key.public_key, compiled_key, sizeof compiled_key);
    mbedtls_mpi d;
    mbedtls_mpi_init(&d);
    assert_int_equal(mbedtls_mpi_read_string(&d, 16, secret) | mbedtls_mpi_write_binary(&d, key.secret, 32), 0);
    mbedtls_mpi_free(&d);
    assert_true(firnc_key_encode(&key, &private_pem, &public_pem));
    return public_pem;
}

static uint8_t *aligned_block(uint64_t bytes) {
    void *block = NULL;
    assert_int_equal(posix_memalign(&block, FIRN_BLOCK_ALIGNMENT, bytes == 0 ? 1 : (size_t)bytes), 0);
    return block;
}

void compiled_plan_freeze(compiled_plan *plan, const char *name, firnc_compilation *compilation) {
    uint8_t digest[32];
    assert_true(firnc_run_passes(compilation, NULL));
    firnc_bytes file = test_seal(compilation, compiled_key);
    assert_true(firnc_plan_prepare(name, &file, digest));
    *plan = (compiled_plan){.name = name, .file = aligned_block(file.count), .bytes = file.count};
    memcpy(plan->file, file.data, (size_t)file.count);
    compiled_plan_sign(plan);
}

void compiled_plan_make(compiled_plan *plan, const char *recipe, firnc_mode mode, const char *const *settings,
                        uint32_t settings_count) {
    firnc_recipe *read = firnc_allocate(sizeof *read);
    assert_true(firnc_recipe_read(read, recipe, mode, settings, settings_count));
    read->job.security_counter = 5;
    firnc_compilation compilation = {.job = &read->job, .graph = firnc_recipe_build(read)};
    compiled_plan_freeze(plan, recipe, &compilation);
}

void compiled_plan_copy(compiled_plan *copy, const compiled_plan *plan) {
    *copy = *plan;
    copy->file = aligned_block(plan->bytes);
    memcpy(copy->file, plan->file, (size_t)plan->bytes);
}

void compiled_plan_free(compiled_plan *plan) {
    free(plan->file);
    plan->file = NULL;
}

firn_header compiled_plan_header(const compiled_plan *plan) {
    firn_header header;
    assert_int_equal(firn_header_decode(&header, plan->file, plan->bytes), FIRN_OK);
    return header;
}

void compiled_plan_set_header(compiled_plan *plan, const firn_header *header) {
    firn_header_encode(header, plan->file);
}

void compiled_plan_replace(compiled_plan *plan, const uint8_t *flatbuffers, uint32_t bytes) {
    firn_header header = compiled_plan_header(plan);
    assert_true(header.constants_bytes == 0);
    header.flatbuffers_bytes = bytes;
    header.constants_offset =
        (FIRN_PAYLOAD_OFFSET + bytes + FIRN_PAYLOAD_ALIGNMENT - 1) / FIRN_PAYLOAD_ALIGNMENT * FIRN_PAYLOAD_ALIGNMENT;
    header.total_bytes = header.constants_offset;
    header.report_bytes = 0;
    memset(header.report_hash, 0, sizeof header.report_hash);
    compiled_plan_free(plan);
    plan->bytes = header.total_bytes;
    plan->file = aligned_block(plan->bytes);
    memset(plan->file, 0, (size_t)plan->bytes);
    memcpy(plan->file + FIRN_PAYLOAD_OFFSET, flatbuffers, bytes);
    compiled_plan_set_header(plan, &header);
}

static bool evaluates(firn_fb_plan plan) {
    for (uint32_t i = 0; i < firn_fb_plan_phases_count(plan); i++)
        if (firn_fb_phase_kind(firn_fb_plan_phases_at(plan, i)) == FIRN_FB_PHASE_KIND_EVALUATE)
            return true;
    return false;
}

void compiled_plan_fit_header(compiled_plan *plan) {
    const firn_header before = compiled_plan_header(plan);
    firn_header header = before;
    const firn_fb_plan payload = firn_fb_plan_root(plan->file + FIRN_PAYLOAD_OFFSET);
    header.counts = firn_semantics_count(payload);
    header.mode = evaluates(payload) ? FIRN_MODE_EVAL : FIRN_MODE_TRAIN;
    compiled_plan_set_header(plan, &header);
    if (firn_header_decode(&header, plan->file, plan->bytes) != FIRN_OK)
        compiled_plan_set_header(plan, &before);
}

void compiled_plan_cut_report(compiled_plan *plan) {
    const firn_header header = compiled_plan_header(plan);
    plan->bytes = firn_header_payload_end(&header);
    compiled_plan cut;
    compiled_plan_copy(&cut, plan); /* a block of just these bytes */
    compiled_plan_free(plan);
    *plan = cut;
}

/* --- signing ------------------------------------------------------------------------------------------------------ */

/* Signs with nonce 1, so r is the x coordinate of the base point and s = digest + r * secret. This reveals the secrets,
 * which are public test keys, and makes a signature cost two multiplications instead of a point multiplication.
 * Verification is not affected. */
static void sign_digest(const char *by, const uint8_t digest[32], uint8_t signature[64]) {
    mbedtls_ecp_group group;
    mbedtls_mpi d, s;
    mbedtls_ecp_group_init(&group);
    mbedtls_mpi_init(&d);
    mbedtls_mpi_init(&s);
    int failed = mbedtls_ecp_group_load(&group, MBEDTLS_ECP_DP_SECP256R1);
    failed |= mbedtls_mpi_read_string(&d, 16, by) | mbedtls_mpi_mul_mpi(&d, &d, &group.G.X);
    failed |= mbedtls_mpi_read_binary(&s, digest, 32) | mbedtls_mpi_add_mpi(&s, &s, &d);
    failed |= mbedtls_mpi_mod_mpi(&s, &s, &group.N) | mbedtls_mpi_write_binary(&group.G.X, signature, 32);
    failed |= mbedtls_mpi_write_binary(&s, signature + 32, 32);
    assert_int_equal(failed, 0);
    mbedtls_mpi_free(&s);
    mbedtls_mpi_free(&d);
    mbedtls_ecp_group_free(&group);
}

void compiled_plan_sign_bytes(compiled_plan *plan, bool second) {
    uint8_t digest[32];
    assert_int_equal(firn_sha256_of(plan->file, FIRN_HEADER_BYTES, digest), FIRN_OK);
    sign_digest(second ? second_secret : secret, digest, plan->file + FIRN_HEADER_BYTES);
}

static void hash_range(const compiled_plan *plan, uint64_t begin, uint64_t end, uint8_t digest[32]) {
    assert_int_equal(firn_sha256_of(plan->file + begin, (size_t)(end - begin), digest), FIRN_OK);
}

void compiled_plan_sign(compiled_plan *plan) {
    firn_header header = compiled_plan_header(plan);
    const uint64_t end = firn_header_payload_end(&header);
    hash_range(plan, FIRN_PAYLOAD_OFFSET, end, header.run_hash);
    if (plan->bytes != end)
        hash_range(plan, end, plan->bytes, header.report_hash);
    compiled_plan_set_header(plan, &header);
    compiled_plan_sign_bytes(plan, false);
}

/* --- the port ----------------------------------------------------------------------------------------------------- */

static int read_record(void *context, uint64_t offset, void *bytes, uint32_t count) {
    compiled_port *port = context;
    assert_true(offset <= port->stored && count <= port->stored - offset);
    memcpy(bytes, port->record + offset, count);
    return 0;
}

static int program_record(void *context, uint64_t offset, const void *bytes, uint32_t count) {
    compiled_port *port = context;
    if (offset + count > port->capacity) {
        port->capacity = 2 * (offset + count);
        port->record = realloc(port->record, (size_t)port->capacity);
        assert_non_null(port->record);
    }
    memcpy(port->record + offset, bytes, count);
    port->stored = offset + count;
    return 0;
}

static int erase_record(void *context, uint64_t offset, uint64_t count) {
    (void)offset;
    (void)count;
    ((compiled_port *)context)->stored = 0;
    return 0;
}

static int sync_record(void *context) {
    (void)context;
    return 0;
}

static uint64_t record_bytes(void *context) {
    return ((compiled_port *)context)->stored;
}

static int read_counter(void *context, uint32_t *value) {
    *value = ((compiled_port *)context)->counter;
    return 0;
}

static int advance_counter(void *context, uint32_t value) {
    ((compiled_port *)context)->counter = value;
    return 0;
}

static void begin_port(compiled_port *port, uint32_t stored_counter) {
    static const firn_storage storage = {.program_unit = 1,
                                         .erase_unit = 1,
                                         .erased_value = 0xff,
                                         .read = read_record,
                                         .program = program_record,
                                         .erase = erase_record,
                                         .sync = sync_record,
                                         .stored = record_bytes};
    static const firn_counter counter = {read_counter, advance_counter};
    *port = (compiled_port){.counter = stored_counter};
    port->port =
        (firn_port){.struct_size = sizeof port->port, .context = port, .storage = &storage, .counter = &counter};
}

/* --- the data ----------------------------------------------------------------------------------------------------- */

#define TEXT_BYTES  2400u
#define IMAGES      100u
#define IMAGE_BYTES 784u

static uint8_t text[TEXT_BYTES], images[IMAGES * IMAGE_BYTES], labels[IMAGES];

static void fill_data(void) {
    for (uint32_t i = 0; i < TEXT_BYTES; i++)
        text[i] = (uint8_t)("what is frozen does not move, "[i % 30] + (i % 7 == 0));
    for (uint32_t i = 0; i < IMAGES * IMAGE_BYTES; i++)
        images[i] = (uint8_t)(i * 2654435761u >> 24);
    for (uint32_t i = 0; i < IMAGES; i++)
        labels[i] = (uint8_t)(i % 10);
}

/* The source reports how much it has, so a read beyond that is an error of the runtime. */
static int copy_elements(const uint8_t *bytes, uint64_t have, uint64_t first, uint32_t count, void *elements) {
    assert_true(first <= have && count <= have - first);
    memcpy(elements, bytes + first, count);
    return 0;
}

static int read_text(void *context, uint32_t stream, uint64_t first, uint32_t count, void *elements) {
    (void)context;
    assert_int_equal(stream, 0);
    return copy_elements(text, TEXT_BYTES, first, count, elements);
}

static int read_images(void *context, uint32_t stream, uint64_t first, uint32_t count, void *elements) {
    (void)context;
    assert_true(stream < 2);
    return stream == 0 ? copy_elements(images, sizeof images, first, count, elements)
                       : copy_elements(labels, sizeof labels, first, count, elements);
}

const firn_source *compiled_source(const compiled_run *run) {
    enum { BYTE = 6 };
    static const firn_segment text_segments[] = {{TEXT_BYTES / 2}, {TEXT_BYTES / 2}};
    static const firn_segment image_segments[] = {{sizeof images}}, label_segments[] = {{sizeof labels}};
    static const firn_stream text_streams[] = {{BYTE, 1, text_segments, 2}};
    static const firn_stream image_streams[] = {{BYTE, IMAGE_BYTES, image_segments, 1}, {BYTE, 1, label_segments, 1}};
    static const firn_source windows = {.streams = text_streams, .stream_count = 1, .read = read_text};
    static const firn_source records = {.streams = image_streams, .stream_count = 2, .read = read_images};
    fill_data();
    firn_info info;
    assert_int_equal(firn_describe(&run->firn, &info), FIRN_OK);
    return info.window != 0 ? &windows : &records;
}

/* --- opening and running ------------------------------------------------------------------------------------------ */

static uint64_t limited(uint64_t bytes) {
    return bytes < COMPILED_BLOCK_MAX ? bytes : COMPILED_BLOCK_MAX;
}

void compiled_run_blocks(compiled_run *run, firn_config *config) {
    firn_sizes sizes;
    memset(run, 0, sizeof *run);
    /* A file without sizes is refused before its blocks are compared with them. */
    if (firn_plan_sizes(config->plan, config->plan_bytes, &sizes) != FIRN_OK)
        return;
    config->blocks = run->blocks;
    config->block_count = sizes.block_count;
    for (uint32_t i = 0; i < sizes.block_count; i++) {
        const bool owned =
            config->owner != NULL && firn_region_fast_kind(sizes.blocks[i].kind) == FIRN_REGION_PARAMETERS;
        const uint64_t bytes = owned ? 0 : limited(sizes.blocks[i].bytes);
        run->blocks[i] = (firn_block){.memory = bytes > 0 ? aligned_block(bytes) : NULL, .bytes = bytes};
    }
}

static int open_config(compiled_run *run, firn_config config, uint32_t stored_counter) {
    firn_sizes sizes;
    config.public_key = compiled_key;
    compiled_run_blocks(run, &config);
    begin_port(&run->port, stored_counter);
    config.port = &run->port.port;
    if (firn_plan_sizes(config.plan, config.plan_bytes, &sizes) == FIRN_OK) {
        config.prepared_bytes = limited(sizes.prepared_bytes);
        config.prepared = run->prepared = aligned_block(config.prepared_bytes);
    }
    int status = firn_open(&run->firn, &config);
    if (status == FIRN_ERROR_WORKSPACE_TOO_SMALL) {
        assert_int_equal(firn_workspace_bytes(&config, &config.workspace_bytes), FIRN_OK);
        config.workspace = run->workspace = aligned_block(config.workspace_bytes);
        status = firn_open(&run->firn, &config);
    }
    firn_info info;
    assert_int_equal(firn_describe(&run->firn, &info), status == FIRN_OK ? FIRN_OK : FIRN_ERROR_NOT_OPEN);
    if (status != FIRN_OK) /* a refused plan must not advance the counter */
        assert_int_equal(run->port.counter, stored_counter);
    return status;
}

int compiled_run_open(compiled_run *run, const compiled_plan *plan, uint32_t stored_counter) {
    return open_config(run, (firn_config){.plan = plan->file, .plan_bytes = plan->bytes}, stored_counter);
}

int compiled_run_open_bytes(compiled_run *run, const uint8_t *file, uint64_t bytes) {
    return open_config(run, (firn_config){.plan = file, .plan_bytes = bytes}, 0);
}

int compiled_run_open_shared(compiled_run *run, const compiled_plan *plan, const compiled_run *owner) {
    return open_config(run, (firn_config){.plan = plan->file, .plan_bytes = plan->bytes, .owner = &owner->firn}, 0);
}

void compiled_run_close(compiled_run *run) {
    for (uint32_t i = 0; i < FIRN_BLOCKS_MAX; i++)
        free(run->blocks[i].memory);
    free(run->workspace);
    free(run->prepared);
    free(run->port.record);
    memset(run, 0, sizeof *run);
}

static int one_step(compiled_run *run, bool eval) {
    firn_step_report report;
    return eval ? firn_eval_step(&run->firn, compiled_source(run))
                : firn_train_step(&run->firn, compiled_source(run), &report);
}

int compiled_run_steps(compiled_run *run) {
    firn_info info;
    uint8_t before[32], after[32];
    float value;
    int status = FIRN_OK;
    assert_int_equal(firn_describe(&run->firn, &info), FIRN_OK);
    assert_int_equal(firn_initialise(&run->firn), FIRN_OK);
    for (int i = 0; i < 2 && status == FIRN_OK; i++)
        status = one_step(run, info.eval);
    if (info.metric && status == FIRN_OK)
        status = firn_eval_result(&run->firn, &value);
    assert_int_equal(firn_digest(&run->firn, before), FIRN_OK);
    assert_int_equal(firn_save(&run->firn), FIRN_OK);
    assert_int_equal(firn_restore(&run->firn, NULL), FIRN_OK);
    assert_int_equal(firn_digest(&run->firn, after), FIRN_OK);
    if (!info.eval) /* an evaluation restores only the model */
        assert_memory_equal(before, after, sizeof before);
    return status;
}
