/* See support_sealed_runs.h. */
#define _POSIX_C_SOURCE 200809L
#include "tests/unit/support_sealed_runs.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "plan/checks/check.h"
#include "plan/checks/verifier.h"

/* --- sealing ------------------------------------------------------------------------------------------------------ */

firn_fb_plan sealed_payload(const compiled_plan *plan) {
    return firn_fb_plan_root(plan->file + FIRN_HEADER_BYTES);
}

bool sealed_plan_make(compiled_plan *plan, const compiled_plan *from, const native_plan *native) {
    size_t bytes = 0;
    uint8_t *flatbuffers = firn_native_write(native->plan, &bytes);
    if (flatbuffers == NULL)
        return false;
    int status = firn_fb_verify(flatbuffers, bytes);
    if (status == FIRN_OK) {
        compiled_plan_copy(plan, from);
        compiled_plan_replace(plan, flatbuffers, (uint32_t)bytes);
        compiled_plan_fit_header(plan);
        compiled_plan_sign(plan);
    }
    free(flatbuffers);
    return status == FIRN_OK;
}

int sealed_plan_check(const compiled_plan *plan) {
    static _Alignas(64) uint8_t pool[1 << 18];
    const firn_check_request request = {.file = plan->file,
                                        .file_bytes = plan->bytes,
                                        .state_bytes = UINT64_MAX,
                                        .arena_bytes = UINT64_MAX,
                                        .pool = pool,
                                        .pool_bytes = sizeof pool};
    firn_checked checked;
    return firn_check_untrusted(&request, &checked);
}

/* --- signatures --------------------------------------------------------------------------------------------------- */

bool sealed_signatures_are_checked = true;

/* The names are those that the linker gives (ld --wrap). They are weak, because most tests do not wrap this function.
 */
int __real_firn_signature_check(const uint8_t *public_key, const uint8_t *digest, const uint8_t *signature, void *pool,
                                size_t pool_bytes, const firn_alive *alive) __attribute__((weak));
int __wrap_firn_signature_check(const uint8_t *public_key, const uint8_t *digest, const uint8_t *signature, void *pool,
                                size_t pool_bytes, const firn_alive *alive);

int __wrap_firn_signature_check(const uint8_t *public_key, const uint8_t *digest, const uint8_t *signature, void *pool,
                                size_t pool_bytes, const firn_alive *alive) {
    if (!sealed_signatures_are_checked)
        return FIRN_OK;
    return __real_firn_signature_check(public_key, digest, signature, pool, pool_bytes, alive);
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

static int read_data(void *context, uint32_t stream, uint64_t first, uint32_t count, void *elements) {
    const data *d = context;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t random = scramble((first + i) * STREAMS_MAX + stream), limit = d->limits[stream];
        int32_t whole = (int32_t)(limit != 0 ? random % limit : random % 256);
        float real = (float)(random % 4096) / 4096;
        switch (d->streams[stream].element) {
        case FIRN_UINT8:
            ((uint8_t *)elements)[i] = (uint8_t)whole;
            break;
        case FIRN_INT32:
            memcpy((uint8_t *)elements + 4 * (size_t)i, &whole, sizeof whole);
            break;
        default:
            memcpy((uint8_t *)elements + 4 * (size_t)i, &real, sizeof real);
        }
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
    memory state, arena, workspace, prepared;
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

static int open_run(run *r, const compiled_plan *plan, const sealed_way *way) {
    firn_sizes sizes;
    int status = firn_plan_sizes(plan->file, plan->bytes, &sizes);
    if (status != FIRN_OK)
        return status;
    if (sizes.state_bytes > COMPILED_BLOCK_MAX || sizes.arena_bytes > COMPILED_BLOCK_MAX)
        return FIRN_ERROR_ARENA_TOO_SMALL;
    r->threads = way->threads;
    r->port = (firn_port){.struct_size = sizeof r->port,
                          .context = &r->threads,
                          .parallel_for = run_backwards,
                          .threads = way->threads,
                          .grain = 1};
    r->state = allocate(sizes.state_bytes);
    r->arena = allocate(sizes.arena_bytes);
    r->prepared = allocate(way->prepared ? sizes.prepared_bytes : 0);
    firn_config config = {.plan = plan->file,
                          .plan_bytes = plan->bytes,
                          .public_key = compiled_key,
                          .state = r->state.block,
                          .state_bytes = r->state.bytes,
                          .arena = r->arena.block,
                          .arena_bytes = r->arena.bytes,
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
    memset(r->arena.block, byte, (size_t)r->arena.bytes);
    memset(r->workspace.block, byte, (size_t)r->workspace.bytes);
}

static int take_step(run *r, bool eval) {
    firn_step_report report = {0};
    int status = eval ? firn_eval_step(&r->firn, &r->data.source) : firn_train_step(&r->firn, &r->data.source, &report);
    note(r, "step %d loss %08x rate %08x scale %08x norm %08x skipped %d at %llu %llu\n", status, bits_of(report.loss),
         bits_of(report.learning_rate), bits_of(report.loss_scale), bits_of(report.gradient_norm), report.skipped,
         (unsigned long long)report.global_step, (unsigned long long)report.optimizer_step);
    return status;
}

/* Only state lasts from one step to the next, because only state is in a checkpoint: the arena may hold anything. */
static void take_steps(run *r, const sealed_way *way) {
    firn_info info;
    float value = 0;
    assert_int_equal(firn_describe(&r->firn, &info), FIRN_OK);
    poison(r, way->poison);
    assert_int_equal(firn_initialise(&r->firn), FIRN_OK);
    note_digest(r);
    int status = FIRN_OK;
    for (int i = 0; i < SEALED_STEPS && (status == FIRN_OK || status == FIRN_ERROR_LOSS_SCALE_FLOOR); i++) {
        poison(r, way->poison == 0 ? 0 : way->poison + i);
        status = take_step(r, info.eval);
        note_digest(r);
    }
    if (info.eval) {
        status = firn_eval_result(&r->firn, &value);
        note(r, "metric %d %08x\n", status, bits_of(value));
    }
}

int sealed_plan_run(const compiled_plan *plan, const sealed_way *way, sealed_outcome *outcome) {
    run r = {.outcome = outcome};
    outcome->text[0] = '\0';
    int status = open_run(&r, plan, way);
    if (status == FIRN_OK) {
        make_data(&r.data, sealed_payload(plan));
        take_steps(&r, way);
    }
    free(r.state.block);
    free(r.arena.block);
    free(r.workspace.block);
    free(r.prepared.block);
    return status;
}
