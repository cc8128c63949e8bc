/* Plans for benchmarks and open sessions of them; see session.h. */
#define _POSIX_C_SOURCE 200809L
#include "tests/bench/session.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plan/container.h"
#include "plan/generated/reader.h"

#define DATA_BYTES (8u << 20)

/* --- making plans ----------------------------------------------------------------------------------------------- */

void session_path(char *path, size_t size, const char *name) {
    bench_format(path, size, "%s/%s", bench_settings.out, name);
}

const char *session_key(void) {
    static char path[512];
    session_path(path, sizeof path, "bench.pub.pem");
    return path;
}

static bool command(const char *text) {
    if (system(text) == 0)
        return true;
    bench_fail("failed: %s", text);
    return false;
}

/* Makes the key once. */
static bool make_key(void) {
    static bool tried, made;
    char text[1024];
    if (tried)
        return made;
    bench_format(text, sizeof text,
                 "rm -f '%s/bench.key.pem' '%s/bench.pub.pem' && '%s' keygen '%s/bench' >'%s/keygen.log'",
                 bench_settings.out, bench_settings.out, bench_settings.firnc, bench_settings.out, bench_settings.out);
    tried = true;
    made = command(text);
    return made;
}

bool session_compile(const char *plan, const char *recipe, const char *options) {
    char text[2048];
    bench_format(text, sizeof text, "'%s' compile '%s' --key '%s/bench.key.pem' -o '%s' %s >'%s/compile.log'",
                 bench_settings.firnc, recipe, bench_settings.out, plan, options, bench_settings.out);
    return make_key() && command(text);
}

/* --- data ------------------------------------------------------------------------------------------------------- */

static int read_data(void *context, uint32_t stream, uint64_t first, uint32_t count, void *elements) {
    const session_data *it = context;
    if (stream == 0)
        memcpy(elements, it->bytes + first, count);
    else if (it->streams[1].element == FIRN_UINT8)
        memcpy(elements, it->classes + first, count);
    else
        memcpy(elements, it->targets + first, count * sizeof(float));
    return FIRN_OK;
}

/* record: bytes of a record's features; 1 for text, which has no labels. */
static void data_begin(session_data *it, uint32_t record, uint8_t label) {
    uint32_t state = 1;
    const uint32_t records = DATA_BYTES / record;
    it->bytes = bench_allocate(DATA_BYTES);
    it->classes = bench_allocate(records);
    it->targets = bench_allocate(records * sizeof(float));
    for (uint32_t i = 0; i < DATA_BYTES; i++) {
        state = state * 1664525u + 1013904223u;
        it->bytes[i] = (uint8_t)(state >> 24);
        if (i < records)
            it->classes[i] = (uint8_t)((state >> 24) % 10);
    }
    it->segments[0].elements = (uint64_t)records * record;
    it->segments[1].elements = records;
    it->streams[0] = (firn_stream){FIRN_UINT8, record, &it->segments[0], 1};
    it->streams[1] = (firn_stream){label, 1, &it->segments[1], 1};
    it->source = (firn_source){it, it->streams, record == 1 && label == FIRN_UINT8 ? 1 : 2, read_data};
}

static void data_end(session_data *it) {
    free(it->bytes);
    free(it->classes);
    free(it->targets);
}

/* --- an open plan ----------------------------------------------------------------------------------------------- */

uint64_t session_bytes(const session *it) {
    uint64_t bytes = it->plan.count + it->sizes.prepared_bytes + it->config.workspace_bytes;
    for (uint32_t i = 0; i < it->sizes.block_count; i++)
        bytes += it->sizes.blocks[i].bytes;
    return bytes;
}

static bool fail(const char *what, int error) {
    bench_fail("%s: %s", what, firn_error_text(error));
    return false;
}

void session_end(session *it) {
    data_end(&it->data);
    firn_host_port_end(&it->port);
    firn_host_plan_unload(&it->plan);
    firn_host_blocks_end(&it->blocks);
    firn_host_block_free(it->config.prepared, it->config.prepared_bytes);
    firn_host_block_free(it->config.workspace, it->config.workspace_bytes);
}

bool session_load(session *it, const char *plan, unsigned threads, const char *kernels, const char *key) {
    *it = (session){0};
    if (!firn_host_key_load(it->key, key) || !firn_host_plan_load(&it->plan, plan)) {
        bench_fail("%s: cannot be loaded", plan);
        return false;
    }
    it->error = firn_plan_sizes(it->plan.bytes, it->plan.count, &it->sizes);
    if (it->error != FIRN_OK) {
        firn_host_plan_unload(&it->plan);
        return fail(plan, it->error);
    }
    firn_host_port_begin(&it->port, NULL, NULL, threads != 0 ? threads : bench_settings.threads);
    if (!firn_host_blocks_begin(&it->blocks, &it->sizes)) {
        session_end(it);
        bench_fail("%s: there is not enough memory", plan);
        return false;
    }
    it->config = (firn_config){.plan = it->plan.bytes,
                               .plan_bytes = it->plan.count,
                               .public_key = it->key,
                               .blocks = it->blocks.list,
                               .block_count = it->blocks.count,
                               .prepared = firn_host_block(it->sizes.prepared_bytes),
                               .prepared_bytes = it->sizes.prepared_bytes,
                               .port = &it->port.port,
                               .kernels = kernels};
    it->error = firn_workspace_bytes(&it->config, &it->config.workspace_bytes);
    if (it->error != FIRN_OK) {
        session_end(it);
        return fail(plan, it->error);
    }
    it->config.workspace = firn_host_block(it->config.workspace_bytes);
    return true;
}

void session_open(void *context) {
    session *it = context;
    it->firn = (firn){0};
    const int error = firn_open(&it->firn, &it->config);
    if (error != FIRN_OK)
        it->error = error;
}

/* Reads the elements of a record and the type of its label from the inputs of an open plan. A window of text has no
 * records. */
static void look_at_inputs(const session *it, uint32_t *record, uint8_t *label) {
    firn_fb_plan plan = firn_fb_plan_root((const uint8_t *)it->plan.bytes + FIRN_PAYLOAD_OFFSET);
    *record = 1;
    *label = FIRN_UINT8;
    for (uint32_t i = 0; it->info.window == 0 && i < firn_fb_plan_inputs_count(plan); i++) {
        firn_fb_input input = firn_fb_plan_inputs_at(plan, i);
        if (firn_fb_input_stream(input) == 1)
            *label = firn_fb_input_element(input);
        firn_fb_tensor tensor = firn_fb_plan_tensors_at(plan, firn_fb_input_tensor(input));
        for (uint32_t d = 1; firn_fb_input_stream(input) == 0 && d < firn_fb_tensor_dims_count(tensor); d++)
            *record *= firn_fb_tensor_dims_at(tensor, d);
    }
}

bool session_start(session *it, const char *plan, unsigned threads, const char *kernels, const char *key) {
    if (!session_load(it, plan, threads, kernels, key))
        return false;
    session_open(it);
    if (it->error == FIRN_OK)
        it->error = firn_describe(&it->firn, &it->info);
    if (it->error == FIRN_OK)
        it->error = firn_initialise(&it->firn);
    if (it->error == FIRN_OK)
        return true;
    session_end(it);
    return fail(plan, it->error);
}

bool session_begin(session *it, const char *plan, unsigned threads, const char *kernels, const char *key) {
    uint32_t record;
    uint8_t label;
    if (!session_start(it, plan, threads, kernels, key))
        return false;
    look_at_inputs(it, &record, &label);
    data_begin(&it->data, record, label);
    return true;
}

uint64_t session_data_bytes(const session *it) {
    return DATA_BYTES + it->data.segments[1].elements * (1 + sizeof(float));
}
