/* See support_sealed_runs.h. */
#define _POSIX_C_SOURCE 200809L
#include "tests/unit/support_sealed_runs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plan/checks/check.h"
#include "plan/checks/semantics.h"
#include "plan/checks/verifier.h"
#include "tests/unit/support_test.h"

/* --- sealing ------------------------------------------------------------------------------------------------------ */

firn_fb_plan sealed_payload(const compiled_plan *plan) {
    return firn_fb_plan_root(plan->file + FIRN_PAYLOAD_OFFSET);
}

static void hash(const uint8_t *bytes, uint64_t count, uint8_t digest[FIRN_HASH_BYTES]) {
    assert_int_equal(firn_sha256_of(bytes, (size_t)count, digest), FIRN_OK);
}

/* Puts the parts of a file together; constants and report are those of `from`. Nothing says that the header is one that
 * a runtime accepts. */
static void assemble(compiled_plan *plan, const compiled_plan *from, firn_header header, const uint8_t *flatbuffers,
                     size_t bytes) {
    const firn_header before = compiled_plan_header(from);
    const uint64_t begin = FIRN_PAYLOAD_OFFSET + bytes;
    header.flatbuffers_bytes = bytes;
    header.constants_offset = (begin + FIRN_PAYLOAD_ALIGNMENT - 1) / FIRN_PAYLOAD_ALIGNMENT * FIRN_PAYLOAD_ALIGNMENT;
    header.constants_bytes = before.constants_bytes;
    header.total_bytes = header.constants_offset + before.constants_bytes + before.report_bytes;
    header.counts = firn_semantics_count(firn_fb_plan_root(flatbuffers));
    *plan = *from;
    plan->bytes = header.total_bytes;
    void *block = NULL;
    assert_int_equal(posix_memalign(&block, FIRN_BLOCK_ALIGNMENT, (size_t)plan->bytes), 0);
    plan->file = memset(block, 0, (size_t)plan->bytes);
    memcpy(plan->file + FIRN_PAYLOAD_OFFSET, flatbuffers, bytes);
    memcpy(plan->file + header.constants_offset, from->file + before.constants_offset,
           (size_t)(before.constants_bytes + before.report_bytes));
    hash(plan->file + FIRN_PAYLOAD_OFFSET, firn_header_payload_end(&header) - FIRN_PAYLOAD_OFFSET, header.run_hash);
    firn_header_encode(&header, plan->file);
    compiled_plan_sign_bytes(plan, false);
}

bool sealed_plan_make(compiled_plan *plan, const compiled_plan *from, const native_plan *native,
                      const firn_header *header) {
    size_t bytes = 0;
    uint8_t *flatbuffers = firn_native_write(native->plan, &bytes);
    if (flatbuffers == NULL)
        return false;
    int status = firn_fb_verify(flatbuffers, bytes);
    if (status == FIRN_OK)
        assemble(plan, from, *header, flatbuffers, bytes);
    free(flatbuffers);
    return status == FIRN_OK;
}

int sealed_plan_check(const compiled_plan *plan) {
    static _Alignas(64) uint8_t pool[1 << 18];
    const firn_check_request request = {
        .file = plan->file, .file_bytes = plan->bytes, .pool = pool, .pool_bytes = sizeof pool};
    firn_checked checked;
    return firn_check_untrusted(&request, &checked);
}

/* --- signatures --------------------------------------------------------------------------------------------------- */

bool sealed_signatures_are_checked = true;

/* The names are those that the linker gives (ld --wrap). They are weak, because most tests do not wrap this function.
 */
int __real_firn_signature_check(const uint8_t *public_key, const uint8_t *digest, const uint8_t *signature,
                                const firn_alive *alive, firn_trail *trail) __attribute__((weak));
int __wrap_firn_signature_check(const uint8_t *public_key, const uint8_t *digest, const uint8_t *signature,
                                const firn_alive *alive, firn_trail *trail);

int __wrap_firn_signature_check(const uint8_t *public_key, const uint8_t *digest, const uint8_t *signature,
                                const firn_alive *alive, firn_trail *trail) {
    if (sealed_signatures_are_checked)
        return __real_firn_signature_check(public_key, digest, signature, alive, trail);
    firn_trail_add(trail, FIRN_TRAIL_SIGNATURE, 0, 0);
    return FIRN_OK;
}

/* --- data that suits a plan --------------------------------------------------------------------------------------- */

enum { STREAMS_MAX = 8, SAMPLES = 200 };

typedef struct data {
    firn_source source;
    firn_stream streams[STREAMS_MAX];
    firn_segment segments[STREAMS_MAX][2];
    uint32_t limits[STREAMS_MAX];
} data;

static uint32_t scramble(uint64_t x) {
    x = (x ^ x >> 31) * UINT64_C(0x9e3779b97f4a7c15);
    return (uint32_t)((x ^ x >> 29) * UINT64_C(0xbf58476d1ce4e5b9) >> 40);
}

/* An integer that the element type holds, not below 0 and below the limit if there is one. */
static int32_t whole_of(uint32_t random, uint8_t element, uint32_t limit) {
    const int32_t value = (int32_t)(limit != 0 ? random % limit : random % 65536);
    switch (element) {
    case FIRN_BOOL:
        return value % 2;
    case FIRN_INT8:
        return limit != 0 ? value % 128 : (int8_t)value;
    case FIRN_INT16:
        return limit != 0 ? value % 32768 : (int16_t)value;
    default:
        return element == FIRN_UINT8 ? value % 256 : value;
    }
}

static int read_data(void *context, uint32_t stream, uint64_t first, uint32_t count, void *elements) {
    const data *d = context;
    const uint8_t element = d->streams[stream].element;
    const uint32_t bytes = firn_type_bytes(element);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t random = scramble((first + i) * STREAMS_MAX + stream);
        int32_t whole = whole_of(random, element, d->limits[stream]); /* the first bytes of it are a narrower integer */
        float real = (float)(random % 4096) / 4096;
        memcpy((uint8_t *)elements + (size_t)i * bytes, element == FIRN_FLOAT32 ? (const void *)&real : &whole, bytes);
    }
    return 0;
}

static uint32_t sample_elements(firn_fb_plan plan, firn_fb_input input) {
    firn_fb_tensor tensor = firn_fb_plan_tensors_at(plan, firn_fb_input_tensor(input));
    uint32_t elements = 1;
    for (uint32_t i = 1; i < firn_fb_tensor_dims_count(tensor); i++)
        elements *= firn_fb_tensor_dims_at(tensor, i);
    return elements;
}

/* Gives every stream that the inputs of an accepted plan read as many samples, with elements below every limit. */
static void make_data(data *d, firn_fb_plan plan) {
    firn_fb_sampler sampler = firn_fb_plan_sampler(plan);
    bool records = firn_fb_sampler_unit(sampler) == FIRN_FB_SAMPLE_UNIT_RECORD;
    uint64_t window = (uint64_t)firn_fb_sampler_window(sampler) + SAMPLES * (uint64_t)firn_fb_sampler_stride(sampler);
    *d = (data){.source = {.streams = d->streams, .read = read_data, .context = d}};
    for (uint32_t i = 0; i < firn_fb_plan_inputs_count(plan); i++) {
        firn_fb_input input = firn_fb_plan_inputs_at(plan, i);
        uint32_t stream = firn_fb_input_stream(input), elements = records ? sample_elements(plan, input) : 1;
        assert_true(stream < STREAMS_MAX);
        uint64_t length = records ? SAMPLES / 2 * (uint64_t)elements : window;
        d->segments[stream][0].elements = d->segments[stream][1].elements = length;
        d->streams[stream] = (firn_stream){.element = firn_fb_input_element(input),
                                           .record_elements = elements,
                                           .segments = d->segments[stream],
                                           .segment_count = 2};
        uint32_t limit = firn_fb_input_limit(input);
        if (limit != 0 && (d->limits[stream] == 0 || limit < d->limits[stream]))
            d->limits[stream] = limit;
        if (stream >= d->source.stream_count)
            d->source.stream_count = stream + 1;
    }
}

/* --- running ------------------------------------------------------------------------------------------------------ */

/* A block of exactly its size, so that the sanitizers detect an access one byte beyond it. */
typedef struct memory {
    void *block;
    uint64_t bytes;
} memory;

static memory allocate(uint64_t bytes) {
    memory m = {.bytes = bytes};
    assert_int_equal(posix_memalign(&m.block, FIRN_BLOCK_ALIGNMENT, bytes == 0 ? 1 : (size_t)bytes), 0);
    return m;
}

/* Divides the tasks among as many ranges as there are threads, and runs the last range first, one after the other. */
static void run_backwards(void *context, size_t tasks, void (*body)(void *argument, size_t begin, size_t end),
                          void *argument) {
    size_t ranges = *(const uint32_t *)context < tasks ? *(const uint32_t *)context : tasks;
    for (size_t i = ranges; i > 0; i--)
        body(argument, tasks * (i - 1) / ranges, tasks * i / ranges);
}

typedef struct run {
    firn firn;
    firn_port port;
    uint32_t threads;
    firn_sizes sizes;
    firn_block blocks[FIRN_BLOCKS_MAX];
    memory workspace, prepared;
    data data;
    sealed_outcome *outcome;
} run;

__attribute__((format(printf, 2, 3))) static void note(run *r, const char *format, ...) {
    va_list arguments;
    size_t length = strlen(r->outcome->text);
    va_start(arguments, format);
    vsnprintf(r->outcome->text + length, sizeof r->outcome->text - length, format, arguments);
    va_end(arguments);
}

static uint32_t bits_of(float x) {
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static void note_digest(run *r) {
    uint8_t digest[32];
    int status = firn_digest(&r->firn, digest);
    note(r, "digest %d ", status);
    for (size_t i = 0; status == FIRN_OK && i < sizeof digest; i++)
        note(r, "%02x", digest[i]);
    note(r, "\n");
}

/* False if a block were too large. */
static bool allocate_blocks(run *r) {
    for (uint32_t i = 0; i < r->sizes.block_count; i++)
        if (r->sizes.blocks[i].bytes > COMPILED_BLOCK_MAX)
            return false;
    for (uint32_t i = 0; i < r->sizes.block_count; i++) {
        const memory m = r->sizes.blocks[i].bytes != 0 ? allocate(r->sizes.blocks[i].bytes) : (memory){0};
        r->blocks[i] = (firn_block){.memory = m.block, .bytes = m.bytes};
    }
    return true;
}

static int open_run(run *r, const compiled_plan *plan, const sealed_way *way) {
    int status = firn_plan_sizes(plan->file, plan->bytes, &r->sizes);
    if (status != FIRN_OK)
        return status;
    if (!allocate_blocks(r))
        return FIRN_ERROR_BLOCK_TOO_SMALL;
    r->threads = way->threads;
    r->port = (firn_port){.struct_size = sizeof r->port,
                          .context = &r->threads,
                          .parallel_for = run_backwards,
                          .threads = way->threads,
                          .grain = 1};
    r->prepared = allocate(way->prepared ? r->sizes.prepared_bytes : 0);
    firn_config config = {.plan = plan->file,
                          .plan_bytes = plan->bytes,
                          .public_key = compiled_key,
                          .blocks = r->blocks,
                          .block_count = r->sizes.block_count,
                          .prepared = way->prepared ? r->prepared.block : NULL,
                          .prepared_bytes = r->prepared.bytes,
                          .port = &r->port,
                          .kernels = way->kernels};
    status = firn_workspace_bytes(&config, &config.workspace_bytes);
    if (status != FIRN_OK)
        return status;
    r->workspace = allocate(config.workspace_bytes);
    config.workspace = config.workspace_bytes != 0 ? r->workspace.block : NULL;
    return firn_open(&r->firn, &config);
}

static void poison(run *r, int byte) {
    for (uint32_t i = 0; i < r->sizes.block_count; i++)
        if (firn_region_is_arena(r->sizes.blocks[i].kind))
            memset(r->blocks[i].memory, byte, (size_t)r->blocks[i].bytes);
    memset(r->workspace.block, byte, (size_t)r->workspace.bytes);
}

/* Notes what an application may read after a step. */
static void note_outputs(run *r, firn_fb_plan plan) {
    for (uint32_t i = 0; i < firn_fb_plan_outputs_count(plan); i++) {
        firn_tensor_info info;
        uint8_t digest[32];
        const char *name = firn_fb_output_name(firn_fb_plan_outputs_at(plan, i));
        assert_int_equal(firn_output(&r->firn, name, &info), FIRN_OK);
        hash(info.data, info.bytes, digest);
        note(r, "output %.40s %02x%02x%02x%02x\n", name, digest[0], digest[1], digest[2], digest[3]);
    }
}

/* Pushes some of the data, from blocks of exactly their size: records, or elements of windows. */
static void push(run *r, const firn_info *info, uint32_t step) {
    const uint32_t count = info->window == 0 ? 7 : 300;
    void *records[STREAMS_MAX] = {NULL};
    for (uint32_t i = 0; i < info->streams; i++) {
        const firn_stream *stream = &r->data.streams[i];
        const uint64_t elements = (uint64_t)count * stream->record_elements;
        records[i] = malloc((size_t)(elements * firn_type_bytes(stream->element)));
        assert_non_null(records[i]);
        assert_int_equal(read_data(&r->data, i, step * elements, (uint32_t)elements, records[i]), 0);
    }
    note(r, "push %d\n", firn_push(&r->firn, (const void *const *)records, info->streams, count));
    for (uint32_t i = 0; i < info->streams; i++)
        free(records[i]);
}

static int take_step(run *r, const firn_info *info, uint32_t step) {
    firn_step_report report = {0};
    const firn_source *source = info->ring == 0 ? &r->data.source : NULL;
    if (info->ring != 0)
        push(r, info, step);
    int status = info->eval ? firn_eval_step(&r->firn, source) : firn_train_step(&r->firn, source, &report);
    note(r, "step %d loss %08x rate %08x scale %08x norm %08x skipped %d at %llu %llu\n", status, bits_of(report.loss),
         bits_of(report.learning_rate), bits_of(report.loss_scale), bits_of(report.gradient_norm), report.skipped,
         (unsigned long long)report.global_step, (unsigned long long)report.optimizer_step);
    return status;
}

/* Only state lasts from one step to the next, because only state is in a checkpoint: the arena may hold anything, as
 * long as its derived tensors are computed again. */
static void take_steps(run *r, const sealed_way *way, firn_fb_plan plan) {
    firn_info info;
    float value = 0;
    assert_int_equal(firn_describe(&r->firn, &info), FIRN_OK);
    poison(r, way->poison);
    assert_int_equal(firn_initialise(&r->firn), FIRN_OK);
    note_digest(r);
    int status = FIRN_OK;
    for (int i = 0; i < SEALED_STEPS && (status == FIRN_OK || status == FIRN_ERROR_LOSS_SCALE_FLOOR); i++) {
        if (way->poison != 0) {
            poison(r, way->poison + i);
            assert_int_equal(firn_parameters_changed(&r->firn), FIRN_OK);
        }
        status = take_step(r, &info, (uint32_t)i);
        note_digest(r);
        if (status == FIRN_OK || status == FIRN_ERROR_LOSS_SCALE_FLOOR)
            note_outputs(r, plan);
    }
    status = info.eval ? FIRN_OK : FIRN_ERROR_NO_METRIC;
    for (uint32_t i = 0; status != FIRN_ERROR_NO_METRIC; i++) {
        status = firn_eval_metric(&r->firn, i, &value);
        note(r, "metric %d %08x\n", status, bits_of(value));
    }
}

int sealed_plan_run(const compiled_plan *plan, const sealed_way *way, sealed_outcome *outcome) {
    run r = {.outcome = outcome};
    outcome->text[0] = '\0';
    int status = open_run(&r, plan, way);
    if (status == FIRN_OK) {
        make_data(&r.data, sealed_payload(plan));
        take_steps(&r, way, sealed_payload(plan));
    }
    for (uint32_t i = 0; i < FIRN_BLOCKS_MAX; i++)
        free(r.blocks[i].memory);
    free(r.workspace.block);
    free(r.prepared.block);
    return status;
}
