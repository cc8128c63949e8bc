/* See support_builder.h. */
#include "tests/unit/support_builder.h"

#include <stdlib.h>
#include <string.h>

#define MBEDTLS_ALLOW_PRIVATE_ACCESS /* test keys are made from their parts */
#include <mbedtls/ecdsa.h>
#include <mbedtls/sha256.h>

#include "plan/checks/semantics.h"
#include "plan/errors.h"
#include "plan/needs.h"
#include "tests/unit/support_test.h"

/* --- regions and tensors --- */

static uint64_t round_up(uint64_t bytes, uint64_t unit) {
    return (bytes + unit - 1) / unit * unit;
}

int builder_region(builder *b, uint8_t kind) {
    assert_true(b->region_count < FIRN_REGIONS_MAX);
    b->kinds[b->region_count] = kind;
    return (int)b->region_count++;
}

void builder_begin(builder *b, uint8_t mode) {
    static const uint8_t kinds[] = {[BUILDER_PARAMETERS] = FIRN_FB_REGION_KIND_PARAMETERS,
                                    [BUILDER_OPTIMIZER] = FIRN_FB_REGION_KIND_OPTIMIZER,
                                    [BUILDER_SESSION] = FIRN_FB_REGION_KIND_SESSION,
                                    [BUILDER_ARENA] = FIRN_FB_REGION_KIND_ARENA};
    memset(b, 0, sizeof *b);
    for (uint32_t i = 0; i < BUILDER_REGIONS; i++)
        (void)builder_region(b, kinds[i]);
    b->header = (firn_header){
        .format_major = FIRN_FORMAT_MAJOR, .algorithm = FIRN_ALGORITHM_ECDSA_P256, .mode = mode, .plan_version = 1};
    memcpy(b->header.schema_hash, firn_schema_hash, sizeof b->header.schema_hash);
    b->plan = (firn_native_plan){.numerics_version = FIRN_NUMERICS_VERSION,
                                 .micro_batches = 1,
                                 .loss = FIRN_ABSENT,
                                 .learning_rate = FIRN_ABSENT,
                                 .loss_scale = FIRN_ABSENT,
                                 .global_step = FIRN_ABSENT,
                                 .optimizer_step = FIRN_ABSENT,
                                 .finite = FIRN_ABSENT,
                                 .at_floor = FIRN_ABSENT,
                                 .gradient_norm = FIRN_ABSENT};
    b->sampler.pushed = FIRN_ABSENT;
}

/* Copies dimensions ended by 0; returns the bytes of the tensor. */
static uint64_t set_dims(builder *b, uint32_t index, const uint32_t *dims) {
    firn_native_tensor *tensor = &b->tensors[index];
    uint64_t bytes = firn_type_bytes(tensor->type);
    tensor->dims = b->dims[index];
    for (; dims[tensor->dims_count] != 0; tensor->dims_count++) {
        assert_true(tensor->dims_count < sizeof b->dims[index] / sizeof b->dims[index][0]);
        b->dims[index][tensor->dims_count] = dims[tensor->dims_count];
        bytes *= dims[tensor->dims_count];
    }
    return bytes;
}

static uint32_t next_tensor(builder *b) {
    assert_true(b->plan.tensors_count < BUILDER_TENSORS);
    return b->plan.tensors_count++;
}

uint32_t builder_tensor(builder *b, int region, uint8_t type, uint8_t role, const uint32_t *dims) {
    uint32_t index = next_tensor(b);
    b->tensors[index] = (firn_native_tensor){.type = type,
                                             .role = role,
                                             .region = (uint8_t)region, /* until builder_finish */
                                             .offset = b->bytes[region],
                                             .first = 0,
                                             .last = UINT32_MAX,
                                             .base = FIRN_ABSENT};
    b->bytes[region] += round_up(set_dims(b, index, dims), 16);
    return index;
}

uint32_t builder_arena(builder *b, uint8_t type, uint8_t role, const uint32_t *dims) {
    return builder_tensor(b, BUILDER_ARENA, type, role, dims);
}

uint32_t builder_scalar(builder *b, uint8_t type, uint8_t role) {
    return builder_arena(b, type, role, (uint32_t[]){1, 0});
}

uint32_t builder_state(builder *b, int region, const char *name, uint8_t type, uint8_t role, const uint32_t *dims) {
    uint32_t index = builder_tensor(b, region, type, role, dims);
    b->tensors[index].name = name;
    b->plan.state_tensors = index + 1;
    return index;
}

uint32_t builder_counter(builder *b, int region, const char *name) {
    return builder_state(b, region, name, FIRN_INT64, FIRN_FB_ROLE_COUNTER, (uint32_t[]){1, 0});
}

uint32_t builder_constant(builder *b, int region, const char *name, uint8_t type, const uint32_t *dims,
                          const void *contents) {
    uint32_t index = builder_tensor(b, region, type, name != NULL ? FIRN_FB_ROLE_FROZEN : FIRN_FB_ROLE_CONSTANT, dims);
    uint64_t bytes = firn_type_bytes(type);
    for (uint32_t i = 0; dims[i] != 0; i++)
        bytes *= dims[i];
    assert_true(b->bytes[region] <= sizeof b->constants);
    b->tensors[index].name = name;
    memcpy(b->constants + b->tensors[index].offset, contents, (size_t)bytes);
    return index;
}

void builder_weights(builder *b, uint32_t tensor, uint8_t element, const void *weights, uint64_t bytes) {
    assert_true(b->weights_bytes + bytes <= sizeof b->weights);
    memcpy(b->weights + b->weights_bytes, weights, (size_t)bytes);
    b->initialisers[tensor] = (firn_native_initialiser){
        .rule = FIRN_FB_INITIALISER_RULE_WEIGHTS, .element = element, .weights = b->weights_bytes};
    b->weights_bytes = round_up(b->weights_bytes + bytes, 16);
}

uint32_t builder_view(builder *b, uint32_t base, uint64_t offset, const uint32_t *dims) {
    uint32_t index = next_tensor(b);
    b->tensors[index] = b->tensors[base];
    b->tensors[index].name = NULL;
    b->tensors[index].base = base;
    b->tensors[index].offset = offset;
    b->tensors[index].dims_count = 0;
    (void)set_dims(b, index, dims);
    return index;
}

/* --- ops and phases --- */

static uint32_t copy_list(uint32_t *to, const int *list) {
    uint32_t count = 0;
    for (; list[count] != BUILDER_END; count++) {
        assert_true(count < BUILDER_LIST);
        to[count] = list[count] == BUILDER_ABSENT ? FIRN_ABSENT : (uint32_t)list[count];
    }
    return count;
}

firn_native_op *builder_op(builder *b, uint16_t code, const int *inputs, const int *outputs) {
    assert_true(b->op_count < BUILDER_OPS);
    uint32_t i = b->op_count++;
    firn_native_op *op = &b->ops[i];
    *op = (firn_native_op){.code = code, .outputs = b->operands[i][1]};
    op->inputs_count = copy_list(b->operands[i][0], inputs);
    op->outputs_count = copy_list(b->operands[i][1], outputs);
    op->inputs = op->inputs_count > 0 ? b->operands[i][0] : NULL;
    return op;
}

void builder_integer(builder *b, firn_native_op *op, int64_t value) {
    int64_t *list = b->integers[op - b->ops];
    list[op->integers_count++] = value;
    op->integers = list;
}

void builder_real(builder *b, firn_native_op *op, float value) {
    float *list = b->reals[op - b->ops];
    list[op->reals_count++] = value;
    op->reals = list;
}

void builder_reduction(builder *b, firn_native_op *op, firn_fb_reduction reduction) {
    b->reductions[op - b->ops] = reduction;
    op->reductions = &b->reductions[op - b->ops];
    op->reductions_count = 1;
}

void builder_phase(builder *b, uint8_t kind) {
    uint32_t before = 0;
    for (uint32_t i = 0; i < b->plan.phases_count; i++)
        before += b->phases[i].ops_count;
    b->phases[b->plan.phases_count++] =
        (firn_native_phase){.kind = kind, .ops = b->ops + before, .ops_count = b->op_count - before};
}

void builder_output(builder *b, const char *name, int tensor) {
    b->outputs[b->plan.outputs_count++] = (firn_native_output){.name = name, .tensor = (uint32_t)tensor};
}

/* --- the file --- */

/* Gives the regions that are not empty their numbers in the header, by ascending kind, and their tensors the same. */
static void number_regions(builder *b) {
    uint8_t number[FIRN_REGIONS_MAX] = {0};
    for (uint8_t kind = 0; kind <= FIRN_FB_REGION_KIND_SLOW_CONSTANT; kind++) {
        for (uint32_t i = 0; i < b->region_count; i++) {
            if (b->kinds[i] != kind || b->bytes[i] == 0)
                continue;
            number[i] = (uint8_t)b->header.region_count;
            b->header.region_kinds[b->header.region_count] = kind;
            b->header.region_bytes[b->header.region_count++] = b->bytes[i];
        }
    }
    for (uint32_t i = 0; i < b->plan.tensors_count; i++)
        b->tensors[i].region = number[b->tensors[i].region];
}

/* Puts the weights behind the constant region. Returns the bytes of all constants. */
static uint64_t place_weights(builder *b) {
    uint64_t constants = 0;
    for (uint32_t i = 0; i < b->region_count; i++)
        constants += firn_region_is_constant(b->kinds[i]) ? round_up(b->bytes[i], 64) : 0;
    for (uint32_t i = 0; i < b->plan.state_tensors; i++) {
        if (b->initialisers[i].rule == FIRN_FB_INITIALISER_RULE_WEIGHTS)
            b->initialisers[i].weights += constants;
    }
    assert_true(constants + b->weights_bytes <= sizeof b->constants);
    memcpy(b->constants + constants, b->weights, (size_t)b->weights_bytes);
    return constants + b->weights_bytes;
}

/* Puts header, payload and report together and signs them. */
static void assemble(builder *b, const uint8_t *payload, signed_plan *plan) {
    firn_header *header = &b->header;
    header->constants_offset = round_up(FIRN_PAYLOAD_OFFSET + header->flatbuffers_bytes, 64);
    header->report_bytes = b->report != NULL ? strlen(b->report) : 0;
    header->total_bytes = header->constants_offset + header->constants_bytes + header->report_bytes;
    header->counts = firn_semantics_count(firn_fb_plan_root(payload));
    header->needs_minor = firn_needs_minor(payload);
    memset(plan, 0, sizeof *plan);
    plan->bytes = header->total_bytes;
    assert_true(plan->bytes <= sizeof plan->file);
    memcpy(plan->file + FIRN_PAYLOAD_OFFSET, payload, (size_t)header->flatbuffers_bytes);
    memcpy(plan->file + header->constants_offset, b->constants, (size_t)header->constants_bytes);
    if (b->report != NULL)
        memcpy(plan->file + firn_header_payload_end(header), b->report, (size_t)header->report_bytes);
    firn_header_encode(header, plan->file);
    support_sign(plan, false);
}

void builder_finish(builder *b, void (*change)(firn_native_plan *plan), signed_plan *plan) {
    number_regions(b);
    b->header.constants_bytes = place_weights(b);
    b->plan.tensors = b->tensors;
    b->plan.phases = b->phases;
    b->plan.inputs = b->inputs;
    b->plan.outputs = b->outputs;
    b->plan.sampler = &b->sampler;
    b->plan.initialisers = b->initialisers;
    b->plan.initialisers_count = b->plan.state_tensors;
    if (change != NULL)
        change(&b->plan);
    size_t bytes = 0;
    uint8_t *payload = firn_native_write(&b->plan, &bytes);
    assert_non_null(payload);
    b->header.flatbuffers_bytes = bytes;
    assemble(b, payload, plan);
    free(payload);
}

/* --- signing --- */

static int no_random(void *context, unsigned char *bytes, size_t count) {
    (void)context; /* the random numbers are used for blinding only: the nonce is deterministic (RFC 6979) */
    memset(bytes, 1, count);
    return 0;
}

static void sha256(const uint8_t *bytes, uint64_t count, uint8_t hash[32]) {
    assert_int_equal(mbedtls_sha256(bytes, (size_t)count, hash, 0), 0);
}

/* Makes a private key from a fixed number, and its public key. */
static void make_key(mbedtls_ecp_keypair *pair, int number, uint8_t public_key[64]) {
    uint8_t point[65];
    size_t length = 0;
    mbedtls_ecp_keypair_init(pair);
    assert_int_equal(mbedtls_ecp_group_load(&pair->grp, MBEDTLS_ECP_DP_SECP256R1), 0);
    assert_int_equal(mbedtls_mpi_lset(&pair->d, number), 0);
    assert_int_equal(mbedtls_ecp_mul(&pair->grp, &pair->Q, &pair->d, &pair->grp.G, no_random, NULL), 0);
    assert_int_equal(
        mbedtls_ecp_point_write_binary(&pair->grp, &pair->Q, MBEDTLS_ECP_PF_UNCOMPRESSED, &length, point, sizeof point),
        0);
    memcpy(public_key, point + 1, 64);
}

/* Updates what the header says about payload, report and key. */
static void update_hashes(signed_plan *plan, const uint8_t public_key[64]) {
    uint8_t point[65] = {4};
    memcpy(point + 1, public_key, 64);
    memcpy(plan->key, public_key, sizeof plan->key);
    firn_header header;
    assert_int_equal(firn_header_decode(&header, plan->file, plan->bytes), FIRN_OK);
    const uint64_t end = firn_header_payload_end(&header);
    sha256(point, sizeof point, header.key_hash);
    sha256(plan->file + FIRN_PAYLOAD_OFFSET, end - FIRN_PAYLOAD_OFFSET, header.run_hash);
    if (header.report_bytes != 0 && plan->bytes == header.total_bytes)
        sha256(plan->file + end, header.report_bytes, header.report_hash);
    firn_header_encode(&header, plan->file);
}

/* Signs the header. */
static void sign_with(signed_plan *plan, int number, bool hashes) {
    mbedtls_ecp_keypair pair;
    mbedtls_mpi r, s;
    uint8_t public_key[64], digest[32], *signature = plan->file + FIRN_HEADER_BYTES;
    make_key(&pair, number, public_key);
    if (hashes)
        update_hashes(plan, public_key);
    sha256(plan->file, FIRN_HEADER_BYTES, digest);
    mbedtls_mpi_init(&r);
    mbedtls_mpi_init(&s);
    assert_int_equal(mbedtls_ecdsa_sign_det_ext(&pair.grp, &r, &s, &pair.d, digest, sizeof digest, MBEDTLS_MD_SHA256,
                                                no_random, NULL),
                     0);
    assert_int_equal(mbedtls_mpi_write_binary(&r, signature, 32), 0);
    assert_int_equal(mbedtls_mpi_write_binary(&s, signature + 32, 32), 0);
    mbedtls_mpi_free(&r);
    mbedtls_mpi_free(&s);
    mbedtls_ecp_keypair_free(&pair);
}

void support_sign(signed_plan *plan, bool second) {
    sign_with(plan, second ? 54321 : 12345, true);
}

void support_sign_bytes(signed_plan *plan) {
    sign_with(plan, 12345, false);
}
