/* Rule 17 of FORMAT.md: checks the frame of a plan (numerics, header, regions, tensors, state, phases), then calls the
 * parts in semantics_parts.h. The FlatBuffers rules have passed, so counts are within the schema's limits, enumerations
 * have known values and required fields are present; everything else is checked here and nowhere else. Bounds are
 * checked by subtraction. Recursion is not allowed. */
#include "plan/checks/semantics.h"

#include <string.h>

#include "plan/checks/semantics_lookup.h"
#include "plan/checks/semantics_parts.h"
#include "plan/errors.h"

#define TENSOR_ALIGNMENT     16u
#define REGION_ALIGNMENT_MAX 64u

/* --- regions and header ----------------------------------------------------------------------------------------- */

/* The runtime receives one block of each kind, so there is at most one region of each kind. */
typedef struct regions {
    uint32_t count[3];
    uint64_t bytes[3];
} regions;

static bool is_alignment(uint32_t alignment) {
    return alignment >= TENSOR_ALIGNMENT && alignment <= REGION_ALIGNMENT_MAX && (alignment & (alignment - 1)) == 0;
}

static int check_regions(firn_fb_plan plan, regions *found) {
    *found = (regions){0};
    for (uint32_t i = 0; i < firn_fb_plan_regions_count(plan); i++) {
        firn_fb_region region = firn_fb_plan_regions_at(plan, i);
        uint8_t kind = firn_fb_region_kind(region);
        if (!is_alignment(firn_fb_region_alignment(region)) || found->count[kind] != 0)
            return FIRN_ERROR_REGION;
        found->count[kind]++;
        found->bytes[kind] = firn_fb_region_bytes(region);
    }
    if (found->count[FIRN_FB_REGION_KIND_STATE] == 0 || found->count[FIRN_FB_REGION_KIND_ARENA] == 0)
        return FIRN_ERROR_REGION;
    return FIRN_OK;
}

/* The arena block also provides the verification pool. A plan without a region of constants may still have constants,
 * which its initialisers read. */
static int check_header(firn_fb_plan plan, const firn_header *header, const regions *found) {
    uint64_t arena = found->bytes[FIRN_FB_REGION_KIND_ARENA];
    if (firn_fb_plan_mode(plan) != header->mode || firn_semantics_op_count(plan) != header->ops)
        return FIRN_ERROR_HEADER_MISMATCH;
    if (found->bytes[FIRN_FB_REGION_KIND_STATE] != header->state_bytes ||
        (arena > header->pool_bytes ? arena : header->pool_bytes) != header->arena_bytes)
        return FIRN_ERROR_HEADER_MISMATCH;
    if (found->count[FIRN_FB_REGION_KIND_CONSTANT] != 0 &&
        found->bytes[FIRN_FB_REGION_KIND_CONSTANT] != header->constants_bytes)
        return FIRN_ERROR_HEADER_MISMATCH;
    return FIRN_OK;
}

/* --- tensors ---------------------------------------------------------------------------------------------------- */

static bool role_fits(uint8_t role, uint8_t region) {
    switch (role) {
    case FIRN_FB_ROLE_PARAMETER:
    case FIRN_FB_ROLE_OPTIMIZER_STATE:
    case FIRN_FB_ROLE_COUNTER:
        return region == FIRN_FB_REGION_KIND_STATE;
    case FIRN_FB_ROLE_CONSTANT:
        return region == FIRN_FB_REGION_KIND_CONSTANT;
    default:
        return region == FIRN_FB_REGION_KIND_ARENA;
    }
}

/* State is float32 or int64; parameters are float32. */
static bool type_fits(uint8_t type, uint8_t role, uint8_t region) {
    if (region != FIRN_FB_REGION_KIND_STATE)
        return true;
    return type == FIRN_FLOAT32 || (type == FIRN_INT64 && role != FIRN_FB_ROLE_PARAMETER);
}

static bool lifetime_fits(firn_fb_tensor tensor, uint8_t region, uint32_t ops) {
    if (firn_semantics_is_persistent(tensor))
        return true;
    return region == FIRN_FB_REGION_KIND_ARENA && firn_fb_tensor_first(tensor) <= firn_fb_tensor_last(tensor) &&
           firn_fb_tensor_last(tensor) < ops;
}

static bool is_tensor(firn_fb_plan plan, firn_fb_tensor tensor, uint32_t ops) {
    if (firn_fb_tensor_region(tensor) >= firn_fb_plan_regions_count(plan))
        return false;
    firn_fb_region region = firn_fb_plan_regions_at(plan, firn_fb_tensor_region(tensor));
    uint8_t kind = firn_fb_region_kind(region), role = firn_fb_tensor_role(tensor);
    uint64_t room = firn_fb_region_bytes(region), offset = firn_fb_tensor_offset(tensor), bytes;
    firn_shape shape = firn_semantics_shape(tensor);
    return firn_shape_bytes(&shape, &bytes) && offset % TENSOR_ALIGNMENT == 0 && offset <= room &&
           bytes <= room - offset && role_fits(role, kind) && type_fits(shape.type, role, kind) &&
           lifetime_fits(tensor, kind, ops);
}

static int check_tensors(firn_fb_plan plan) {
    uint32_t ops = firn_semantics_op_count(plan);
    for (uint32_t i = 0; i < firn_fb_plan_tensors_count(plan); i++) {
        if (!is_tensor(plan, firn_fb_plan_tensors_at(plan, i), ops))
            return FIRN_ERROR_TENSOR;
    }
    return FIRN_OK;
}

/* --- the state block -------------------------------------------------------------------------------------------- */

/* Whether a's name sorts strictly before b's, compared byte by byte. */
static bool name_is_before(firn_fb_tensor a, firn_fb_tensor b) {
    uint32_t a_length = firn_fb_tensor_name_length(a), b_length = firn_fb_tensor_name_length(b);
    uint32_t common = a_length < b_length ? a_length : b_length;
    int order = memcmp(firn_fb_tensor_name(a), firn_fb_tensor_name(b), common);
    return order < 0 || (order == 0 && a_length < b_length);
}

/* Checks that the parameters, or the other state tensors, each start at the next multiple of 16 from *end, in the order
 * of the list. Offsets and sizes are within the region, so *end cannot overflow. */
static bool follow_each_other(firn_fb_plan plan, bool parameters, uint64_t *end) {
    for (uint32_t i = 0; i < firn_fb_plan_state_tensors(plan); i++) {
        firn_fb_tensor tensor = firn_fb_plan_tensors_at(plan, i);
        if ((firn_fb_tensor_role(tensor) == FIRN_FB_ROLE_PARAMETER) != parameters)
            continue;
        uint64_t padding = (TENSOR_ALIGNMENT - *end % TENSOR_ALIGNMENT) % TENSOR_ALIGNMENT;
        if (firn_fb_tensor_offset(tensor) < *end || firn_fb_tensor_offset(tensor) - *end != padding)
            return false;
        *end = firn_fb_tensor_offset(tensor) + firn_semantics_bytes(tensor);
    }
    return true;
}

/* State tensors come first in the list of tensors, sorted by name. In memory, parameters come first and the others
 * follow, without gaps between or after them. */
static int check_state(firn_fb_plan plan, uint64_t state_bytes) {
    uint32_t count = firn_fb_plan_state_tensors(plan);
    if (count > firn_fb_plan_tensors_count(plan))
        return FIRN_ERROR_STATE_ORDER;
    for (uint32_t i = 0; i < firn_fb_plan_tensors_count(plan); i++) {
        firn_fb_tensor tensor = firn_fb_plan_tensors_at(plan, i);
        if ((firn_semantics_region(plan, tensor) == FIRN_FB_REGION_KIND_STATE) != (i < count))
            return FIRN_ERROR_STATE_ORDER;
        if (i > 0 && i < count && !name_is_before(firn_fb_plan_tensors_at(plan, i - 1), tensor))
            return FIRN_ERROR_STATE_ORDER;
    }
    uint64_t end = 0;
    if (!follow_each_other(plan, true, &end) || !follow_each_other(plan, false, &end) ||
        state_bytes - end >= TENSOR_ALIGNMENT)
        return FIRN_ERROR_STATE_ORDER;
    return FIRN_OK;
}

/* --- phases ----------------------------------------------------------------------------------------------------- */

/* Training has the phases micro_batch, finalise, update, bookkeep, of which finalise is omitted if it has no ops.
 * Evaluation has the phase evaluate. */
static int check_phases(firn_fb_plan plan) {
    static const uint8_t train[] = {FIRN_FB_PHASE_KIND_MICRO_BATCH, FIRN_FB_PHASE_KIND_FINALISE,
                                    FIRN_FB_PHASE_KIND_UPDATE, FIRN_FB_PHASE_KIND_BOOKKEEP};
    static const uint8_t evaluate[] = {FIRN_FB_PHASE_KIND_EVALUATE};
    bool is_train = firn_fb_plan_mode(plan) == FIRN_FB_MODE_TRAIN;
    const uint8_t *kinds = is_train ? train : evaluate;
    uint32_t expected = is_train ? sizeof train : sizeof evaluate, count = firn_fb_plan_phases_count(plan), at = 0;
    for (uint32_t i = 0; i < expected; i++) {
        if (at < count && firn_fb_phase_kind(firn_fb_plan_phases_at(plan, at)) == kinds[i])
            at++;
        else if (kinds[i] != FIRN_FB_PHASE_KIND_FINALISE)
            return FIRN_ERROR_PHASE;
    }
    return at == count ? FIRN_OK : FIRN_ERROR_PHASE;
}

/* --- the whole -------------------------------------------------------------------------------------------------- */

uint64_t firn_semantics_scratch_bytes(uint32_t tensors, uint32_t state_tensors) {
    return sizeof(uint32_t) * (uint64_t)(tensors - state_tensors);
}

int firn_semantics_check(firn_fb_plan plan, const firn_header *header, void *scratch, uint64_t scratch_bytes) {
    if (firn_fb_plan_numerics_version(plan) != FIRN_NUMERICS_VERSION)
        return FIRN_ERROR_NUMERICS_VERSION;
    regions found;
    int error = check_regions(plan, &found);
    if (error == FIRN_OK)
        error = check_header(plan, header, &found);
    if (error == FIRN_OK)
        error = check_phases(plan);
    if (error == FIRN_OK)
        error = check_tensors(plan);
    if (error == FIRN_OK)
        error = check_state(plan, header->state_bytes);
    if (error == FIRN_OK)
        error = firn_semantics_ops(plan);
    if (error == FIRN_OK)
        error = firn_semantics_fields(plan, header);
    if (error == FIRN_OK)
        error = scratch_bytes >=
                        firn_semantics_scratch_bytes(firn_fb_plan_tensors_count(plan), firn_fb_plan_state_tensors(plan))
                    ? FIRN_OK
                    : FIRN_ERROR_POOL_TOO_SMALL;
    if (error == FIRN_OK)
        error = firn_semantics_flow(plan, scratch);
    return error;
}
