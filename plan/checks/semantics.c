/* Rule 17 of FORMAT.md: checks the frame of a plan (numerics, header, phases, tensors, their order and layout), then
 * calls the parts in semantics_parts.h. The FlatBuffers rules have passed, so counts are within the schema's limits,
 * enumerations have known values and required fields are present; everything else is checked here and nowhere else.
 * Bounds are checked by subtraction. Recursion is not allowed. */
#include "plan/checks/semantics.h"

#include <string.h>

#include "plan/checks/semantics_lookup.h"
#include "plan/checks/semantics_parts.h"
#include "plan/errors.h"

/* --- header ----------------------------------------------------------------------------------------------------- */

static int check_header(firn_fb_plan plan, const firn_header *header) {
    const firn_counts counts = firn_semantics_count(plan);
    return memcmp(&counts, &header->counts, sizeof counts) == 0 ? FIRN_OK : FIRN_ERROR_HEADER_MISMATCH;
}

/* --- tensors ---------------------------------------------------------------------------------------------------- */

/* The kinds of regions in which a role may lie, a bit for each; a slow kind counts as the kind that it is. */
enum {
    IN_PARAMETERS = 1 << FIRN_FB_REGION_KIND_PARAMETERS,
    IN_OPTIMIZER = 1 << FIRN_FB_REGION_KIND_OPTIMIZER,
    IN_SESSION = 1 << FIRN_FB_REGION_KIND_SESSION,
    IN_RING = 1 << FIRN_FB_REGION_KIND_RING,
    IN_ARENA = 1 << FIRN_FB_REGION_KIND_ARENA,
    IN_CONSTANT = 1 << FIRN_FB_REGION_KIND_CONSTANT
};

static const uint8_t role_regions[] = {[FIRN_FB_ROLE_PARAMETER] = IN_PARAMETERS,
                                       [FIRN_FB_ROLE_BUFFER] = IN_PARAMETERS,
                                       [FIRN_FB_ROLE_OPTIMIZER_STATE] = IN_OPTIMIZER,
                                       [FIRN_FB_ROLE_COUNTER] = IN_OPTIMIZER | IN_SESSION,
                                       [FIRN_FB_ROLE_INPUT] = IN_ARENA,
                                       [FIRN_FB_ROLE_ACTIVATION] = IN_ARENA,
                                       [FIRN_FB_ROLE_GRADIENT] = IN_ARENA,
                                       [FIRN_FB_ROLE_RESULT] = IN_ARENA,
                                       [FIRN_FB_ROLE_SCRATCH] = IN_ARENA,
                                       [FIRN_FB_ROLE_CONSTANT] = IN_CONSTANT,
                                       [FIRN_FB_ROLE_FROZEN] = IN_CONSTANT,
                                       [FIRN_FB_ROLE_RING] = IN_RING,
                                       [FIRN_FB_ROLE_CACHE] = IN_SESSION};

static bool role_fits(uint8_t role, uint8_t kind) {
    return (role_regions[role] >> firn_region_fast_kind(kind) & 1) != 0;
}

/* State is float32 or int64; parameters are float32. A cache may be of any type. */
static bool type_fits(firn_fb_tensor tensor) {
    uint8_t type = firn_fb_tensor_type(tensor);
    if (firn_semantics_memory(tensor) != FIRN_MEMORY_STATE || firn_fb_tensor_role(tensor) == FIRN_FB_ROLE_CACHE)
        return true;
    return type == FIRN_FLOAT32 || (type == FIRN_INT64 && firn_fb_tensor_role(tensor) != FIRN_FB_ROLE_PARAMETER);
}

/* The digest, the checkpoint and the model hash use the names of these tensors. No other tensor has a name. */
static bool name_fits(firn_fb_tensor tensor) {
    bool named =
        firn_semantics_memory(tensor) == FIRN_MEMORY_STATE || firn_fb_tensor_role(tensor) == FIRN_FB_ROLE_FROZEN;
    return named == (firn_fb_tensor_name_length(tensor) != 0 && firn_fb_tensor_base(tensor) == FIRN_ABSENT);
}

static bool lifetime_fits(firn_fb_tensor tensor, uint32_t ops) {
    if (firn_semantics_is_persistent(tensor))
        return true;
    return firn_semantics_memory(tensor) == FIRN_MEMORY_ARENA &&
           firn_fb_tensor_first(tensor) <= firn_fb_tensor_last(tensor) && firn_fb_tensor_last(tensor) < ops;
}

static bool is_placed(firn_fb_tensor tensor, uint64_t bytes, uint64_t room) {
    return firn_semantics_is_placed(firn_fb_tensor_offset(tensor), bytes, room);
}

/* Type, role and region in one number. */
static uint32_t kind_of(firn_fb_tensor tensor) {
    return firn_fb_tensor_type(tensor) | (uint32_t)firn_fb_tensor_role(tensor) << 8 |
           (uint32_t)firn_fb_tensor_region(tensor) << 16;
}

/* A view lies in a tensor that is not a view and whose list position may be any; it has everything but name, shape and
 * offset from it. Its size has been checked to be less than 2^62, and the size of its base is checked on its own. */
static bool is_view(firn_fb_plan plan, firn_fb_tensor view, uint64_t bytes) {
    uint32_t index = firn_fb_tensor_base(view);
    if (index >= firn_fb_plan_tensors_count(plan) || firn_fb_tensor_name_length(view) != 0)
        return false;
    firn_fb_tensor base = firn_fb_plan_tensors_at(plan, index);
    return firn_fb_tensor_base(base) == FIRN_ABSENT && is_placed(view, bytes, firn_semantics_bytes(base)) &&
           kind_of(view) == kind_of(base) && firn_fb_tensor_first(view) == firn_fb_tensor_first(base) &&
           firn_fb_tensor_last(view) == firn_fb_tensor_last(base);
}

static bool is_tensor(firn_fb_plan plan, firn_fb_tensor tensor, const firn_header *header) {
    firn_shape shape = firn_semantics_shape(tensor);
    uint64_t bytes;
    if (!firn_shape_bytes(&shape, &bytes))
        return false;
    if (firn_fb_tensor_base(tensor) != FIRN_ABSENT)
        return is_view(plan, tensor, bytes);
    if (firn_fb_tensor_region(tensor) >= header->region_count)
        return false;
    uint8_t region = firn_fb_tensor_region(tensor);
    return is_placed(tensor, bytes, header->region_bytes[region]) &&
           role_fits(firn_fb_tensor_role(tensor), header->region_kinds[region]) && type_fits(tensor) &&
           name_fits(tensor) && lifetime_fits(tensor, header->counts.ops);
}

static int check_tensors(firn_fb_plan plan, const firn_header *header) {
    for (uint32_t i = 0; i < firn_fb_plan_tensors_count(plan); i++) {
        if (!is_tensor(plan, firn_fb_plan_tensors_at(plan, i), header))
            return FIRN_ERROR_TENSOR;
    }
    return FIRN_OK;
}

/* --- the order of tensors, and the layout of state and rings ---------------------------------------------------- */

/* Whether a's name sorts strictly before b's, compared byte by byte. */
static bool name_is_before(firn_fb_tensor a, firn_fb_tensor b) {
    uint32_t a_length = firn_fb_tensor_name_length(a), b_length = firn_fb_tensor_name_length(b);
    uint32_t common = a_length < b_length ? a_length : b_length;
    int order = memcmp(firn_fb_tensor_name(a), firn_fb_tensor_name(b), common);
    return order < 0 || (order == 0 && a_length < b_length);
}

/* The place of a tensor in the list: state, then frozen weights, then all others, among them the views. */
static uint32_t rank_of(firn_fb_tensor tensor) {
    if (firn_fb_tensor_base(tensor) != FIRN_ABSENT)
        return 2;
    if (firn_semantics_memory(tensor) == FIRN_MEMORY_STATE)
        return 0;
    return firn_fb_tensor_role(tensor) == FIRN_FB_ROLE_FROZEN ? 1 : 2;
}

static int check_order(firn_fb_plan plan) {
    uint32_t before = 0, state = 0;
    for (uint32_t i = 0; i < firn_fb_plan_tensors_count(plan); i++) {
        firn_fb_tensor tensor = firn_fb_plan_tensors_at(plan, i);
        uint32_t rank = rank_of(tensor);
        if (rank < before)
            return FIRN_ERROR_STATE_ORDER;
        if (i > 0 && rank == before && rank < 2 && !name_is_before(firn_fb_plan_tensors_at(plan, i - 1), tensor))
            return FIRN_ERROR_STATE_ORDER;
        before = rank;
        state += rank == 0;
    }
    return state == firn_fb_plan_state_tensors(plan) ? FIRN_OK : FIRN_ERROR_STATE_ORDER;
}

/* Checks that the tensors of a region each start at the next multiple of 16, in the order of the list, and fill the
 * region. Offsets and sizes are within the region, so `end` cannot overflow. */
static bool is_filled_in_order(firn_fb_plan plan, uint32_t region, uint64_t bytes) {
    uint64_t end = 0;
    for (uint32_t i = 0; i < firn_fb_plan_tensors_count(plan); i++) {
        firn_fb_tensor tensor = firn_fb_plan_tensors_at(plan, i);
        if (firn_fb_tensor_region(tensor) != region || firn_fb_tensor_base(tensor) != FIRN_ABSENT)
            continue;
        if (firn_fb_tensor_offset(tensor) !=
            (end + (FIRN_TENSOR_ALIGNMENT - 1)) / FIRN_TENSOR_ALIGNMENT * FIRN_TENSOR_ALIGNMENT)
            return false;
        end = firn_fb_tensor_offset(tensor) + firn_semantics_bytes(tensor);
    }
    return bytes - end < FIRN_TENSOR_ALIGNMENT;
}

static int check_layout(firn_fb_plan plan, const firn_header *header) {
    for (uint32_t r = 0; r < header->region_count; r++) {
        uint8_t kind = header->region_kinds[r];
        if (firn_region_is_arena(kind) || firn_region_is_constant(kind))
            continue;
        if (!is_filled_in_order(plan, r, header->region_bytes[r]))
            return FIRN_ERROR_STATE_ORDER;
    }
    return FIRN_OK;
}

/* --- phases ----------------------------------------------------------------------------------------------------- */

/* A bit for each kind of phase. */
enum {
    MAY_DERIVE = 1 << FIRN_FB_PHASE_KIND_DERIVE,
    MAY_FINALISE = 1 << FIRN_FB_PHASE_KIND_FINALISE,
    TRAINS = 1 << FIRN_FB_PHASE_KIND_MICRO_BATCH | 1 << FIRN_FB_PHASE_KIND_UPDATE | 1 << FIRN_FB_PHASE_KIND_BOOKKEEP,
    EVALUATES = 1 << FIRN_FB_PHASE_KIND_EVALUATE
};

/* Training has the phases derive, micro_batch, finalise, update, bookkeep in this order, of which derive and finalise
 * are omitted if they have no ops. Evaluation has the phases derive, if it has ops, and evaluate. */
static int check_phases(firn_fb_plan plan, bool train) {
    uint32_t seen = 0;
    for (uint32_t i = 0; i < firn_fb_plan_phases_count(plan); i++) {
        uint8_t kind = firn_fb_phase_kind(firn_fb_plan_phases_at(plan, i));
        if (seen >> kind != 0)
            return FIRN_ERROR_PHASE;
        seen |= 1u << kind;
    }
    seen &= ~(uint32_t)(train ? MAY_DERIVE | MAY_FINALISE : MAY_DERIVE);
    return seen == (train ? TRAINS : EVALUATES) ? FIRN_OK : FIRN_ERROR_PHASE;
}

/* --- the whole -------------------------------------------------------------------------------------------------- */

int firn_semantics_check(firn_fb_plan plan, const firn_header *header, void *scratch, uint64_t scratch_bytes) {
    if (firn_fb_plan_numerics_version(plan) != FIRN_NUMERICS_VERSION)
        return FIRN_ERROR_NUMERICS_VERSION;
    int error = check_header(plan, header);
    if (error == FIRN_OK && scratch_bytes < firn_semantics_scratch_bytes(&header->counts))
        error = FIRN_ERROR_POOL_TOO_SMALL;
    if (error == FIRN_OK)
        error = check_phases(plan, header->mode == FIRN_MODE_TRAIN);
    if (error == FIRN_OK)
        error = check_tensors(plan, header);
    if (error == FIRN_OK)
        error = check_order(plan);
    if (error == FIRN_OK)
        error = check_layout(plan, header);
    if (error == FIRN_OK)
        error = firn_semantics_ops(plan, scratch);
    if (error == FIRN_OK)
        error = firn_semantics_fields(plan, header);
    return error == FIRN_OK ? firn_semantics_flow(plan, header, scratch) : error;
}
