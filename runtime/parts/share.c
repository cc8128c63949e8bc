/* The parameters of one instance in another (firn_config.owner): whether both plans have them at the same places, and
 * where. A firmware whose plans do not evaluate is linked without this file. */
#include <string.h>

#include "plan/identity.h"
#include "runtime/instance.h"
#include "runtime/parts.h"

/* Returns the region of the owner that corresponds to a region of parameters; FIRN_REGIONS_MAX if there is none of this
 * size. */
static uint32_t owner_region(const firn_header *header, uint32_t region, const firn_header *owner) {
    return firn_region_find(header, region, owner->region_kinds, owner->region_bytes, owner->region_count);
}

/* Returns true if the parameters and buffers of two plans with the same model hash, which has their names, lie at the
 * same places. */
static bool lie_alike(const firn_instance *instance, const firn_instance *owner) {
    uint32_t other = 0;
    for (uint32_t i = 0; i < firn_fb_plan_state_tensors(instance->plan); i++) {
        firn_fb_tensor tensor = firn_fb_plan_tensors_at(instance->plan, i);
        if (!firn_is_of_model(firn_fb_tensor_role(tensor)))
            continue;
        while (other < firn_fb_plan_state_tensors(owner->plan) &&
               !firn_is_of_model(firn_fb_tensor_role(firn_fb_plan_tensors_at(owner->plan, other))))
            other++;
        if (other == firn_fb_plan_state_tensors(owner->plan))
            return false;
        firn_fb_tensor theirs = firn_fb_plan_tensors_at(owner->plan, other++);
        if (owner_region(&instance->header, firn_fb_tensor_region(tensor), &owner->header) !=
                firn_fb_tensor_region(theirs) ||
            firn_fb_tensor_offset(tensor) != firn_fb_tensor_offset(theirs))
            return false;
    }
    return true;
}

static bool is_apart_from(const firn_extent *memory, const void *of_owner, uint64_t bytes) {
    const firn_extent extent = firn_extent_of(of_owner, bytes);
    return bytes == 0 || firn_extents_are_apart(memory, &extent);
}

static bool is_apart(const firn_instance *owner, const firn_extent *memory) {
    const firn_header *header = &owner->header;
    const uint64_t prepared = owner->prepared != NULL ? firn_execute_prepared_bytes(&header->counts) : 0;
    const uint64_t workspace = (uint64_t)owner->slot_bytes * firn_instance_threads(owner);
    bool apart = is_apart_from(memory, owner->file, firn_header_payload_end(header)) &&
                 is_apart_from(memory, owner->prepared, prepared) && is_apart_from(memory, owner->workspace, workspace);
    for (uint32_t i = 0; i < header->region_count; i++)
        apart = apart && is_apart_from(memory, owner->blocks[i], header->region_bytes[i]);
    return apart;
}

static int take(firn_instance *instance) {
    const firn_instance *owner = instance->owner;
    /* A training would write what is the owner's. */
    if (instance->header.mode == FIRN_MODE_TRAIN)
        return FIRN_ERROR_WRONG_MODE;
    if (memcmp(firn_instance_model_hash(instance), firn_instance_model_hash(owner), FIRN_HASH_BYTES) != 0 ||
        !lie_alike(instance, owner))
        return FIRN_ERROR_OTHER_OWNER;
    for (uint32_t i = 0; i < instance->header.region_count; i++) {
        if (instance->blocks[i] != NULL)
            continue;
        const uint32_t theirs = owner_region(&instance->header, i, &owner->header);
        if (theirs == FIRN_REGIONS_MAX)
            return FIRN_ERROR_OTHER_OWNER;
        instance->blocks[i] = owner->blocks[theirs];
    }
    return FIRN_OK;
}

const firn_sharing_part firn_sharing_parameters = {is_apart, take};
