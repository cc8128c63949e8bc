/* Rule 17 of FORMAT.md: checks the frame of a plan (numerics, header, phases, tensors, their order and layout), then
 * calls the parts in semantics_parts.h. The FlatBuffers rules have passed, so counts are within the schema's limits,
 * enumerations have known values and required fields are present; everything else is checked here and nowhere else.
 * Bounds are checked by subtraction. Recursion is not allowed. */
#include "plan/checks/semantics.h"

#include <string.h>

#include "plan/bytes.h"
#include "plan/checks/semantics_lookup.h"
#include "plan/checks/semantics_parts.h"
#include "plan/errors.h"

/* --- header ----------------------------------------------------------------------------------------------------- */

static int check_header(firn_fb_plan plan, const firn_header *header) {
    const firn_counts counts = firn_semantics_count(plan);
    return memcmp(&counts, &header->counts, sizeof counts) == 0 ? FIRN_OK : FIRN_ERROR_HEADER_MISMATCH;
}

/* --- tensors ---------------------------------------------------------------------------------------------------- */

static bool role_fits(uint32_t role, uint8_t kind) {
    return (firn_semantics_regions[role] >> firn_region_fast_kind(kind) & 1) != 0;
}

/* State is float32 or int64; parameters are float32. A cache may be of any type. */
static bool type_fits(const firn_fb_tensor_record *tensor) {
    return !firn_semantics_is_state(tensor) || tensor->role == FIRN_FB_ROLE_CACHE || tensor->type == FIRN_FLOAT32 ||
           (tensor->type == FIRN_INT64 && tensor->role != FIRN_FB_ROLE_PARAMETER);
}

/* The digest, the checkpoint and the model hash use the names of these tensors. No other tensor has a name. */
static bool name_fits(const firn_fb_tensor_record *tensor) {
    const bool named = firn_semantics_is_state(tensor) || tensor->role == FIRN_FB_ROLE_FROZEN;
    return named == (tensor->name_length != 0);
}

static bool lifetime_fits(const firn_fb_tensor_record *tensor, uint32_t ops) {
    return firn_semantics_is_persistent(tensor) ||
           (firn_semantics_is_arena(tensor) && tensor->first <= tensor->last && tensor->last < ops);
}

/* A view lies in a tensor that is not a view and whose list position may be any; it has everything but name, shape and
 * offset from it. Its size has been checked to be less than 2^62, and the size of its base is checked on its own. */
static bool is_view(const firn_fb_plan_record *plan, const firn_fb_tensor_record *view, uint64_t bytes) {
    firn_fb_tensor_record base;
    if (view->base >= plan->tensors_count || view->name_length != 0)
        return false;
    firn_semantics_tensor(plan, view->base, &base);
    return base.base == FIRN_ABSENT && firn_semantics_is_placed(view->offset, bytes, firn_semantics_bytes(&base)) &&
           view->type == base.type && view->role == base.role && view->region == base.region &&
           view->first == base.first && view->last == base.last;
}

static bool is_tensor(const firn_fb_plan_record *plan, const firn_fb_tensor_record *tensor, const firn_header *header) {
    const uint64_t bytes = firn_semantics_bytes(tensor);
    const uint32_t region = tensor->region;
    if (bytes == 0)
        return false;
    if (tensor->base != FIRN_ABSENT)
        return is_view(plan, tensor, bytes);
    return region < header->region_count &&
           firn_semantics_is_placed(tensor->offset, bytes, header->region_bytes[region]) &&
           role_fits(tensor->role, header->region_kinds[region]) && type_fits(tensor) && name_fits(tensor) &&
           lifetime_fits(tensor, header->counts.ops);
}

/* Not inlined, like check_order: its records are off the stack when the next pass runs. */
static __attribute__((noinline)) int check_tensors(const firn_fb_plan_record *plan, const firn_header *header) {
    firn_fb_tensor_record tensor;
    for (uint32_t i = 0; i < plan->tensors_count; i++) {
        firn_semantics_tensor(plan, i, &tensor);
        if (!is_tensor(plan, &tensor, header))
            return FIRN_ERROR_TENSOR;
    }
    return FIRN_OK;
}

/* --- the order of tensors, and the layout of state and rings ---------------------------------------------------- */

/* Whether a's name sorts strictly before b's, compared byte by byte. */
static bool name_is_before(const firn_fb_tensor_record *a, const firn_fb_tensor_record *b) {
    const int order = memcmp(a->name, b->name, a->name_length < b->name_length ? a->name_length : b->name_length);
    return order < 0 || (order == 0 && a->name_length < b->name_length);
}

/* The place of a tensor in the list: state, then frozen weights, then all others, among them the views. */
enum { RANK_STATE, RANK_FROZEN, RANK_OTHER };

static uint32_t rank_of(const firn_fb_tensor_record *tensor) {
    if (tensor->base != FIRN_ABSENT)
        return RANK_OTHER;
    if (firn_semantics_is_state(tensor))
        return RANK_STATE;
    return tensor->role == FIRN_FB_ROLE_FROZEN ? RANK_FROZEN : RANK_OTHER;
}

static bool follows(const firn_fb_tensor_record *tensor, const firn_fb_tensor_record *before) {
    const uint32_t rank = rank_of(tensor), rank_before = rank_of(before);
    return rank > rank_before || (rank == rank_before && (rank == RANK_OTHER || name_is_before(before, tensor)));
}

/* Whether the tensors of a region of this kind follow each other without gaps. */
static bool is_filled_in_order(uint8_t kind) {
    return !firn_region_is_arena(kind) && !firn_region_is_constant(kind);
}

/* Adds a tensor behind those of its region that end at `end`. Offsets and sizes are within the region, so `end` cannot
 * overflow. */
static bool extends(const firn_fb_tensor_record *tensor, uint64_t *end) {
    const bool behind = tensor->offset == firn_round_up(*end, FIRN_TENSOR_ALIGNMENT);
    *end = tensor->offset + firn_semantics_bytes(tensor);
    return behind;
}

/* Checks the order of the list, and that the tensors of state and rings each start at the next multiple of 16, in this
 * order, and fill their regions. */
static __attribute__((noinline)) int check_order(const firn_fb_plan_record *plan, const firn_header *header) {
    uint64_t ends[FIRN_REGIONS_MAX] = {0};
    firn_fb_tensor_record pair[2]; /* a tensor and the one before */
    uint32_t state = 0;
    for (uint32_t i = 0; i < plan->tensors_count; i++) {
        firn_fb_tensor_record *tensor = &pair[i % 2];
        firn_semantics_tensor(plan, i, tensor);
        if (i > 0 && !follows(tensor, &pair[1 - i % 2]))
            return FIRN_ERROR_STATE_ORDER;
        if (tensor->base == FIRN_ABSENT && is_filled_in_order(header->region_kinds[tensor->region]) &&
            !extends(tensor, &ends[tensor->region]))
            return FIRN_ERROR_STATE_ORDER;
        state += rank_of(tensor) == RANK_STATE;
    }
    bool filled = state == plan->state_tensors;
    for (uint32_t r = 0; r < header->region_count; r++)
        filled &=
            !is_filled_in_order(header->region_kinds[r]) || header->region_bytes[r] - ends[r] < FIRN_TENSOR_ALIGNMENT;
    return filled ? FIRN_OK : FIRN_ERROR_STATE_ORDER;
}

/* --- phases ----------------------------------------------------------------------------------------------------- */

/* The place in a step of a phase of this kind. Kinds are numbered in the order in which the format got them. */
static uint32_t place_of(uint32_t kind) {
    if (kind == FIRN_FB_PHASE_KIND_COUNT)
        return 1;
    return kind == FIRN_FB_PHASE_KIND_DERIVE ? 0 : kind + 1;
}

/* A bit for each kind of phase, by its place. */
enum {
    MAY_DERIVE = 1 << 0,
    MAY_COUNT = 1 << 1,
    MAY_FINALISE = 1 << (FIRN_FB_PHASE_KIND_FINALISE + 1),
    TRAINS = 1 << (FIRN_FB_PHASE_KIND_MICRO_BATCH + 1) | 1 << (FIRN_FB_PHASE_KIND_UPDATE + 1) |
             1 << (FIRN_FB_PHASE_KIND_BOOKKEEP + 1),
    EVALUATES = 1 << (FIRN_FB_PHASE_KIND_EVALUATE + 1)
};

/* Training has the phases derive, count, micro_batch, finalise, update, bookkeep in this order, of which derive, count
 * and finalise are omitted if they have no ops. Evaluation has the phases derive, if it has ops, and evaluate. Losses
 * are added if and only if the phase count finds what they are divided by. */
static int check_phases(firn_fb_plan plan, bool train) {
    uint32_t seen = 0;
    for (uint32_t i = 0; i < firn_fb_plan_phases_count(plan); i++) {
        const uint32_t place = place_of(firn_fb_phase_kind(firn_fb_plan_phases_at(plan, i)));
        if (seen >> place != 0)
            return FIRN_ERROR_PHASE;
        seen |= 1u << place;
    }
    const uint32_t wanted = (train ? TRAINS : EVALUATES) | (firn_fb_plan_losses_added(plan) ? MAY_COUNT : 0);
    seen &= ~(uint32_t)(train ? MAY_DERIVE | MAY_FINALISE : MAY_DERIVE);
    return seen == wanted ? FIRN_OK : FIRN_ERROR_PHASE;
}

/* --- the whole -------------------------------------------------------------------------------------------------- */

uint64_t firn_semantics_scratch_bytes(const firn_counts *counts) {
    uint64_t flow = sizeof(uint32_t) * (uint64_t)(counts->tensors - counts->state_tensors);
    uint64_t ops = sizeof(firn_shape) * (uint64_t)counts->widest;
    return flow > ops ? flow : ops;
}

int firn_semantics_check(firn_fb_plan table, const firn_header *header, void *scratch, uint64_t scratch_bytes) {
    firn_fb_plan_record plan;
    firn_fb_plan_read(table, &plan);
    if (plan.numerics_version != FIRN_NUMERICS_VERSION)
        return FIRN_ERROR_NUMERICS_VERSION;
    int error = check_header(table, header);
    if (error == FIRN_OK && scratch_bytes < firn_semantics_scratch_bytes(&header->counts))
        error = FIRN_ERROR_POOL_TOO_SMALL;
    if (error == FIRN_OK)
        error = check_phases(table, header->mode == FIRN_MODE_TRAIN);
    if (error == FIRN_OK)
        error = check_tensors(&plan, header);
    if (error == FIRN_OK)
        error = check_order(&plan, header);
    if (error == FIRN_OK)
        error = firn_semantics_ops(&plan, scratch);
    if (error == FIRN_OK)
        error = firn_semantics_fields(&plan, header);
    return error == FIRN_OK ? firn_semantics_flow(&plan, header, scratch) : error;
}
