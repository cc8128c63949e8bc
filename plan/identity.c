/* The hashes of a tensor's descriptor, of the model, of the preprocessing and of the split. */
#include "plan/identity.h"

#include "plan/bytes.h"
#include "plan/errors.h"
#include "plan/ops.h"

static int add_number(firn_sha256 *hash, uint32_t value) {
    uint8_t bytes[4];
    firn_store32(bytes, value);
    return firn_sha256_update(hash, bytes, sizeof bytes);
}

int firn_descriptor_hash(firn_sha256 *hash, const char *name, uint32_t name_length, uint8_t type, uint8_t rank,
                         const uint32_t *dims) {
    const uint8_t type_and_rank[2] = {type, rank};
    int status = add_number(hash, name_length);
    if (status == FIRN_OK)
        status = firn_sha256_update(hash, name, name_length);
    if (status == FIRN_OK)
        status = firn_sha256_update(hash, type_and_rank, sizeof type_and_rank);
    for (uint8_t i = 0; status == FIRN_OK && i < rank; i++)
        status = add_number(hash, dims[i]);
    return status;
}

int firn_tensor_hash(firn_sha256 *hash, firn_fb_tensor tensor) {
    uint32_t dims[FIRN_RANK_MAX], rank = firn_fb_tensor_dims_count(tensor);
    for (uint32_t i = 0; i < rank; i++)
        dims[i] = firn_fb_tensor_dims_at(tensor, i);
    return firn_descriptor_hash(hash, firn_fb_tensor_name(tensor), firn_fb_tensor_name_length(tensor),
                                firn_fb_tensor_type(tensor), (uint8_t)rank, dims);
}

/* Adds the descriptor of a frozen weight and the SHA-256 of its bytes. */
static int add_frozen(firn_sha256 *hash, firn_fb_tensor tensor, const firn_header *header, const uint8_t *file,
                      const firn_alive *alive) {
    uint8_t content[FIRN_HASH_BYTES];
    uint64_t bytes = firn_type_bytes(firn_fb_tensor_type(tensor));
    for (uint32_t i = 0; i < firn_fb_tensor_dims_count(tensor); i++)
        bytes *= firn_fb_tensor_dims_at(tensor, i);
    const uint8_t *region =
        file + header->constants_offset + firn_header_constant_offset(header, firn_fb_tensor_region(tensor));
    int status = firn_sha256_of_many(region + firn_fb_tensor_offset(tensor), bytes, alive, content);
    if (status == FIRN_OK)
        status = firn_tensor_hash(hash, tensor);
    return status == FIRN_OK ? firn_sha256_update(hash, content, sizeof content) : status;
}

int firn_model_hash(firn_fb_plan plan, const firn_header *header, const uint8_t *file, const firn_alive *alive,
                    uint8_t digest[FIRN_HASH_BYTES]) {
    firn_sha256 hash;
    int status = firn_sha256_begin(&hash);
    for (uint32_t i = 0; status == FIRN_OK && i < firn_fb_plan_tensors_count(plan); i++) {
        firn_fb_tensor tensor = firn_fb_plan_tensors_at(plan, i);
        uint8_t role = firn_fb_tensor_role(tensor);
        if (firn_fb_tensor_base(tensor) != FIRN_ABSENT)
            continue;
        if (firn_is_of_model(role))
            status = firn_tensor_hash(&hash, tensor);
        else if (role == FIRN_FB_ROLE_FROZEN)
            status = add_frozen(&hash, tensor, header, file, alive);
    }
    return status == FIRN_OK ? firn_sha256_end(&hash, digest) : status;
}

static uint32_t bits_of(float x) {
    uint32_t bits;
    __builtin_memcpy(&bits, &x, sizeof bits);
    return bits;
}

int firn_preprocessing_hash(firn_fb_plan plan, uint8_t digest[FIRN_HASH_BYTES]) {
    firn_sha256 hash;
    int status = firn_sha256_begin(&hash);
    for (uint32_t i = 0; status == FIRN_OK && i < firn_fb_plan_inputs_count(plan); i++) {
        firn_fb_input input = firn_fb_plan_inputs_at(plan, i);
        firn_fb_tensor tensor = firn_fb_plan_tensors_at(plan, firn_fb_input_tensor(input));
        if (firn_fb_input_label(input))
            continue;
        const uint32_t numbers[] = {firn_fb_input_stream(input),         firn_fb_input_element(input),
                                    firn_fb_input_advance(input),        firn_fb_input_limit(input),
                                    bits_of(firn_fb_input_scale(input)), bits_of(firn_fb_input_shift(input)),
                                    firn_fb_tensor_type(tensor),         firn_fb_tensor_dims_count(tensor)};
        for (uint32_t n = 0; status == FIRN_OK && n < sizeof numbers / sizeof numbers[0]; n++)
            status = add_number(&hash, numbers[n]);
        /* the extents of a sample; the number of samples is no part of the preprocessing */
        for (uint32_t d = 1; status == FIRN_OK && d < firn_fb_tensor_dims_count(tensor); d++)
            status = add_number(&hash, firn_fb_tensor_dims_at(tensor, d));
    }
    const uint32_t bytes = firn_fb_plan_tokenizer_count(plan);
    if (status == FIRN_OK && bytes != 0)
        status = firn_sha256_update(&hash, firn_fb_plan_tokenizer_data(plan), bytes);
    return status == FIRN_OK ? firn_sha256_end(&hash, digest) : status;
}

int firn_split_hash(firn_fb_plan plan, uint8_t digest[FIRN_HASH_BYTES]) {
    firn_fb_sampler sampler = firn_fb_plan_sampler(plan);
    uint8_t bytes[8];
    firn_store32(bytes, firn_fb_sampler_unit(sampler));
    firn_store32(bytes + 4, firn_fb_sampler_held_out_per_mille(sampler));
    return firn_sha256_of(bytes, sizeof bytes, digest);
}
