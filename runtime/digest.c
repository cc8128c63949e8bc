/* The digest of the whole state: the descriptors and bytes of its tensors. Layout, padding and order in memory do not
 * affect it. */
#include "plan/identity.h"
#include "runtime/instance.h"

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

int firn_digest(const firn *instance, uint8_t digest[32]) {
    const firn_instance *self = firn_instance_view(instance);
    if (self == NULL)
        return FIRN_ERROR_NOT_OPEN;
    if (digest == NULL)
        return FIRN_ERROR_ARGUMENT;
    int status = firn_instance_condition(self);
    if (status != FIRN_OK)
        return status;
    firn_sha256 hash;
    status = firn_sha256_begin(&hash);
    for (uint32_t i = 0; status == FIRN_OK && i < firn_fb_plan_state_tensors(self->plan); i++) {
        status = firn_tensor_hash(&hash, firn_fb_plan_tensors_at(self->plan, i));
        if (status == FIRN_OK)
            status = add_contents(&hash, self, i);
    }
    return status == FIRN_OK ? firn_sha256_end(&hash, digest) : status;
}
