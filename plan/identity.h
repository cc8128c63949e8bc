/* Identities computed from descriptors of tensors (plan/FORMAT.md, "Signature and identities"). They cover names, types
 * and extents and the contents of frozen weights, never the memory layout. Identities of what a plan does with the
 * data. Freestanding. */
#ifndef FIRN_PLAN_IDENTITY_H
#define FIRN_PLAN_IDENTITY_H

#include "plan/container.h"
#include "plan/generated/reader.h"
#include "plan/signature.h"

/* Whether a role is that of the model's own state: parameters and buffers. */
static inline bool firn_is_of_model(uint8_t role) {
    return role == FIRN_FB_ROLE_PARAMETER || role == FIRN_FB_ROLE_BUFFER;
}

/* Adds a descriptor to a hash: u32 name length, name, u8 type, u8 rank, u32 dims. Returns FIRN_OK or
 * FIRN_ERROR_HASH. */
int firn_descriptor_hash(firn_sha256 *hash, const char *name, uint32_t name_length, uint8_t type, uint8_t rank,
                         const uint32_t *dims) __attribute__((warn_unused_result));

/* The same for a tensor of a plan that has been checked. */
int firn_tensor_hash(firn_sha256 *hash, firn_fb_tensor tensor) __attribute__((warn_unused_result));

/* The model hash: the descriptors of the parameters and buffers, which a plan holds in the order of their names; then,
 * in the same order, the descriptor of each frozen weight with the SHA-256 of its bytes, which lie in `file` and may be
 * many: `alive` is called while they are hashed. */
int firn_model_hash(firn_fb_plan plan, const firn_header *header, const uint8_t *file, const firn_alive *alive,
                    uint8_t digest[FIRN_HASH_BYTES]) __attribute__((warn_unused_result));

/* The hash of the preprocessing: for each input that is not a label, where its elements come from and how they are
 * converted. The hash of the split: the unit that is held out, and how much. */
int firn_preprocessing_hash(firn_fb_plan plan, uint8_t digest[FIRN_HASH_BYTES]) __attribute__((warn_unused_result));
int firn_split_hash(firn_fb_plan plan, uint8_t digest[FIRN_HASH_BYTES]) __attribute__((warn_unused_result));

#endif
