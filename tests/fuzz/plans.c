/* See fuzz.h: plans that need no signature, and running them. */
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plan/checks/semantics.h"
#include "plan/checks/verifier.h"
#include "plan/container.h"
#include "plan/ops.h"
#include "plan/signature.h"
#include "runtime/kernels/kernels.h"
#include "tests/fuzz/fuzz.h"

enum { BLOCK_MAX = 1 << 16, WORK_MAX = 1 << 22, RECORDS = 64 };

void fuzz_holds(bool holds, const char *what, const char *file, int line) {
    if (holds)
        return;
    fprintf(stderr, "%s:%d: does not hold: %s\n", file, line, what);
    abort();
}

uint8_t *fuzz_copy(const uint8_t *data, size_t size) {
    void *copy = NULL;
    FUZZ_HOLDS(posix_memalign(&copy, FIRN_BLOCK_ALIGNMENT, size == 0 ? 1 : size) == 0);
    if (size > 0)
        memcpy(copy, data, size);
    return copy;
}

/* Replaces the signature check of the library. */
int __wrap_firn_signature_check(const uint8_t *public_key, const uint8_t *digest, const uint8_t *signature,
                                const firn_alive *alive, firn_trail *trail);
int __wrap_firn_signature_check(const uint8_t *public_key, const uint8_t *digest, const uint8_t *signature,
                                const firn_alive *alive, firn_trail *trail) {
    (void)public_key, (void)digest, (void)signature, (void)alive;
    firn_trail_add(trail, FIRN_TRAIL_SIGNATURE, 0, 0);
    return FIRN_OK;
}

static const uint8_t key[FIRN_PUBLIC_KEY_BYTES];

/* --- sealing ------------------------------------------------------------------------------------------------------ */

/* Offsets of the header (plan/FORMAT.md) that an input chooses. */
enum { AT_MODE = 28, AT_FLATBUFFERS_BYTES = 216, AT_REGION_COUNT = 280, AT_REGION_KINDS = 284, AT_REGION_BYTES = 304 };

static uint64_t number_at(const uint8_t *bytes) {
    uint64_t number;
    memcpy(&number, bytes, sizeof number);
    return number;
}

static void take_regions(firn_header *header, const uint8_t *data) {
    header->region_count = data[AT_REGION_COUNT] % (FIRN_REGIONS_MAX + 1);
    for (uint32_t i = 0; i < header->region_count; i++) {
        header->region_kinds[i] = data[AT_REGION_KINDS + i];
        header->region_bytes[i] = number_at(data + AT_REGION_BYTES + 8 * (size_t)i);
    }
}

uint8_t *fuzz_seal(const uint8_t *data, size_t size, uint64_t *bytes) {
    if (size < FIRN_PAYLOAD_OFFSET + 8)
        return NULL;
    const size_t room = size - FIRN_PAYLOAD_OFFSET;
    uint64_t flatbuffers = number_at(data + AT_FLATBUFFERS_BYTES);
    if (flatbuffers < 8 || flatbuffers > room)
        flatbuffers = room;
    uint8_t *payload = fuzz_copy(data + FIRN_PAYLOAD_OFFSET, (size_t)flatbuffers);
    const bool readable = firn_fb_verify(payload, flatbuffers) == FIRN_OK;
    firn_header header = {.format_major = FIRN_FORMAT_MAJOR,
                          .needs_minor = FIRN_FORMAT_MINOR,
                          .algorithm = FIRN_ALGORITHM_ECDSA_P256,
                          .mode = data[AT_MODE] & 1,
                          .flatbuffers_bytes = flatbuffers};
    if (readable)
        header.counts = firn_semantics_count(firn_fb_plan_root(payload));
    free(payload);
    if (!readable)
        return NULL;
    const uint64_t end = FIRN_PAYLOAD_OFFSET + flatbuffers;
    header.constants_offset = (end + FIRN_PAYLOAD_ALIGNMENT - 1) / FIRN_PAYLOAD_ALIGNMENT * FIRN_PAYLOAD_ALIGNMENT;
    header.constants_bytes = size > header.constants_offset ? size - header.constants_offset : 0;
    header.total_bytes = header.constants_offset + header.constants_bytes;
    take_regions(&header, data);
    void *memory = NULL;
    FUZZ_HOLDS(posix_memalign(&memory, FIRN_BLOCK_ALIGNMENT, (size_t)header.total_bytes) == 0);
    uint8_t *file = memset(memory, 0, (size_t)header.total_bytes);
    memcpy(file, data, size);
    memset(file + end, 0, (size_t)(header.constants_offset - end));
    memset(file, 0, FIRN_PAYLOAD_OFFSET);
    FUZZ_HOLDS(firn_key_hash(key, header.key_hash) == FIRN_OK);
    FUZZ_HOLDS(firn_sha256_of(file + FIRN_PAYLOAD_OFFSET, (size_t)(header.total_bytes - FIRN_PAYLOAD_OFFSET),
                              header.run_hash) == FIRN_OK);
    firn_header_encode(&header, file);
    *bytes = header.total_bytes;
    return file;
}

/* --- opening and running ------------------------------------------------------------------------------------------ */

int fuzz_open(fuzz_instance *instance, const uint8_t *file, uint64_t bytes, const firn_port *port) {
    firn_sizes sizes;
    *instance = (fuzz_instance){0};
    int status = firn_plan_sizes(file, bytes, &sizes);
    if (status != FIRN_OK)
        return status;
    for (uint32_t i = 0; i < sizes.block_count; i++)
        if (sizes.blocks[i].bytes > BLOCK_MAX)
            return FIRN_ERROR_BLOCK_TOO_SMALL;
    instance->block_count = sizes.block_count;
    for (uint32_t i = 0; i < sizes.block_count; i++) {
        if (sizes.blocks[i].bytes == 0)
            continue;
        void *memory = NULL;
        FUZZ_HOLDS(posix_memalign(&memory, FIRN_BLOCK_ALIGNMENT, (size_t)sizes.blocks[i].bytes) == 0);
        instance->blocks[i] = (firn_block){memset(memory, 0xfc, (size_t)sizes.blocks[i].bytes), sizes.blocks[i].bytes};
    }
    const firn_config config = {.plan = file,
                                .plan_bytes = bytes,
                                .public_key = key,
                                .blocks = instance->blocks,
                                .block_count = instance->block_count,
                                .port = port,
                                .kernels = "plain"};
    return firn_open(&instance->firn, &config);
}

void fuzz_close(fuzz_instance *instance) {
    for (uint32_t i = 0; i < instance->block_count; i++)
        free(instance->blocks[i].memory);
}

static int read_elements(void *context, uint32_t stream, uint64_t first, uint32_t count, void *elements) {
    const firn_stream *streams = context;
    static const uint8_t bytes_of[] = {
        [FIRN_FLOAT32] = 4, [FIRN_INT32] = 4, [FIRN_UINT8] = 1, [FIRN_UINT16] = 2,
        [FIRN_INT16] = 2,   [FIRN_INT8] = 1,  [FIRN_BOOL] = 1,
    };
    (void)first;
    memset(elements, 0, (size_t)count * bytes_of[streams[stream].element]);
    return 0;
}

/* Products of the extents of tensors of a plan that ops read bound the time of a step; a plan within BLOCK_MAX may
 * still take seconds. Returns false for such a plan. */
static bool is_quick(const fuzz_instance *instance) {
    uint64_t work = 0;
    firn_tensor_info tensor;
    for (uint32_t i = 0; firn_tensor_at(&instance->firn, i, &tensor) == FIRN_OK; i++)
        work += tensor.bytes * (tensor.rank == 0 ? 1 : tensor.dims[tensor.rank - 1]);
    return work < WORK_MAX;
}

enum { STREAMS = 8 };

/* Streams that suit the inputs of a plan that was accepted. */
typedef struct streams {
    firn_stream list[STREAMS];
    firn_segment segments[STREAMS];
    uint32_t count;
} streams;

static uint32_t sample_elements(firn_fb_tensor tensor) {
    uint32_t elements = 1;
    for (uint32_t i = 1; i < firn_fb_tensor_dims_count(tensor); i++)
        elements *= firn_fb_tensor_dims_at(tensor, i);
    return elements;
}

/* Returns false if the plan has more streams than there is room for. */
static bool make_streams(streams *to, firn_fb_plan plan) {
    const firn_fb_sampler sampler = firn_fb_plan_sampler(plan);
    const bool records = firn_fb_sampler_unit(sampler) == FIRN_FB_SAMPLE_UNIT_RECORD;
    *to = (streams){0};
    for (uint32_t i = 0; i < firn_fb_plan_inputs_count(plan); i++) {
        const firn_fb_input input = firn_fb_plan_inputs_at(plan, i);
        const uint32_t stream = firn_fb_input_stream(input);
        const uint32_t elements =
            records ? sample_elements(firn_fb_plan_tensors_at(plan, firn_fb_input_tensor(input))) : 1;
        if (stream >= STREAMS)
            return false;
        to->segments[stream].elements = records ? RECORDS * (uint64_t)elements : UINT64_C(1) << 20;
        to->list[stream] = (firn_stream){firn_fb_input_element(input), elements, &to->segments[stream], 1};
        to->count = stream >= to->count ? stream + 1 : to->count;
    }
    return true;
}

void fuzz_run(fuzz_instance *instance, const uint8_t *file) {
    FUZZ_HOLDS(firn_initialise(&instance->firn) == FIRN_OK);
    fuzz_step(instance, file);
}

void fuzz_step(fuzz_instance *instance, const uint8_t *file) {
    streams suitable;
    firn_info info;
    FUZZ_HOLDS(firn_describe(&instance->firn, &info) == FIRN_OK);
    if (!make_streams(&suitable, firn_fb_plan_root(file + FIRN_PAYLOAD_OFFSET)) || !is_quick(instance))
        return;
    const firn_source source = {suitable.list, suitable.list, suitable.count, read_elements};
    for (int step = 0; step < 2; step++) {
        firn_step_report report;
        const int status =
            info.eval ? firn_eval_step(&instance->firn, &source) : firn_train_step(&instance->firn, &source, &report);
        if (status != FIRN_OK)
            break;
    }
    uint8_t digest[32];
    (void)!firn_digest(&instance->firn, digest);
    float value;
    if (info.eval)
        (void)!firn_eval_result(&instance->firn, &value);
}
