/* The hash of a tensor's descriptor, and the model hash. */
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

int firn_model_hash(firn_fb_plan plan, uint8_t digest[FIRN_HASH_BYTES]) {
    firn_sha256 hash;
    int status = firn_sha256_begin(&hash);
    for (uint32_t i = 0; status == FIRN_OK && i < firn_fb_plan_state_tensors(plan); i++) {
        firn_fb_tensor tensor = firn_fb_plan_tensors_at(plan, i);
        if (firn_fb_tensor_role(tensor) == FIRN_FB_ROLE_PARAMETER)
            status = firn_tensor_hash(&hash, tensor);
    }
    return status == FIRN_OK ? firn_sha256_end(&hash, digest) : status;
}
