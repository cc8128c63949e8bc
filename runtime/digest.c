/* The two identities that are computed from tensors: the model hash (descriptors of the parameters) and the digest
 * (descriptors and bytes of the whole state). Layout, padding and order in memory play no part in either. */
#include "runtime/instance.h"

static int add_number(firn_sha256 *hash, uint32_t value) {
    uint8_t bytes[4] = {(uint8_t)value, (uint8_t)(value >> 8), (uint8_t)(value >> 16), (uint8_t)(value >> 24)};
    return firn_sha256_update(hash, bytes, sizeof bytes);
}

/* u32 name length, name, u8 type, u8 rank, u32 dims. */
static int add_descriptor(firn_sha256 *hash, firn_fb_tensor tensor) {
    uint32_t rank = firn_fb_tensor_dims_count(tensor);
    uint8_t type_and_rank[2] = {firn_fb_tensor_type(tensor), (uint8_t)rank};
    int status = add_number(hash, firn_fb_tensor_name_length(tensor));
    if (status == FIRN_OK)
        status = firn_sha256_update(hash, firn_fb_tensor_name(tensor), firn_fb_tensor_name_length(tensor));
    if (status == FIRN_OK)
        status = firn_sha256_update(hash, type_and_rank, sizeof type_and_rank);
    for (uint32_t i = 0; status == FIRN_OK && i < rank; i++)
        status = add_number(hash, firn_fb_tensor_dims_at(tensor, i));
    return status;
}

static int add_contents(firn_sha256 *hash, const firn_instance *instance, uint32_t index) {
    firn_tensor tensor = firn_instance_tensor(instance, index);
    const uint8_t *bytes = tensor.data;
    size_t left = tensor.elements * firn_type_bytes(tensor.type);
    int status = FIRN_OK;
    while (status == FIRN_OK && left > 0) {
        size_t piece = left < FIRN_ALIVE_BYTES ? left : FIRN_ALIVE_BYTES;
        status = firn_sha256_update(hash, bytes, piece);
        bytes += piece;
        left -= piece;
        firn_instance_alive(instance);
    }
    return status;
}

int firn_model_hash(firn_fb_plan plan, uint8_t digest[FIRN_HASH_BYTES]) {
    firn_sha256 hash;
    int status = firn_sha256_begin(&hash);
    for (uint32_t i = 0; status == FIRN_OK && i < firn_fb_plan_state_tensors(plan); i++) {
        firn_fb_tensor tensor = firn_fb_plan_tensors_at(plan, i);
        if (firn_fb_tensor_role(tensor) == FIRN_FB_ROLE_PARAMETER)
            status = add_descriptor(&hash, tensor);
    }
    return status == FIRN_OK ? firn_sha256_end(&hash, digest) : status;
}

int firn_digest(const firn *instance, uint8_t digest[32]) {
    const firn_instance *self = firn_instance_view(instance);
    if (self == NULL)
        return FIRN_ERROR_NOT_OPEN;
    if (digest == NULL)
        return FIRN_ERROR_ARGUMENT;
    if (self->condition != FIRN_CONDITION_READY)
        return self->condition == FIRN_CONDITION_EMPTY ? FIRN_ERROR_NO_STATE : FIRN_ERROR_POISONED;
    firn_sha256 hash;
    int status = firn_sha256_begin(&hash);
    for (uint32_t i = 0; status == FIRN_OK && i < firn_fb_plan_state_tensors(self->plan); i++) {
        status = add_descriptor(&hash, firn_fb_plan_tensors_at(self->plan, i));
        if (status == FIRN_OK)
            status = add_contents(&hash, self, i);
    }
    return status == FIRN_OK ? firn_sha256_end(&hash, digest) : status;
}
