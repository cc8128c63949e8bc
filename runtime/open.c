/* Opens a plan: runs the checks of plan/checks/check.c, checks what depends on the device (its blocks, its counter, its
 * kernels), and binds a plan that passed. No check of another file may be repeated here, and a refused plan leaves no
 * trace in the instance. */
#include <string.h>

#include "plan/bytes.h"
#include "plan/checks/check.h"
#include "runtime/float_environment.h"
#include "runtime/instance.h"
#include "runtime/parts.h"

/* --- checks of the configuration --- */

/* Returns true if the block is not NULL, is aligned, and does not extend past the end of the address space. */
static bool usable(const void *block, uint64_t bytes) {
    const uintptr_t begin = (uintptr_t)block;
    return begin != 0 && begin % FIRN_BLOCK_ALIGNMENT == 0 && bytes <= UINTPTR_MAX - begin;
}

/* Returns whether this build can use a port: one that is linked without threads needs one that has none. */
static bool port_is_linked(const firn_port *port) {
    return firn_has_threads || port == NULL || port->parallel_for == NULL || port->threads < 2;
}

/* Checks the fields of a config that do not depend on its plan, and takes the owner. */
static int check_config(const firn_config *config, firn_instance *opened) {
    if (config == NULL || config->public_key == NULL || config->more_keys >= FIRN_KEYS_MAX ||
        !usable(config->plan, config->plan_bytes))
        return FIRN_ERROR_ARGUMENT;
    if (config->port != NULL && config->port->struct_size < sizeof(firn_port))
        return FIRN_ERROR_ARGUMENT;
    if (config->owner != NULL) {
        if (firn_sharing == NULL)
            return FIRN_ERROR_KERNEL_MISSING;
        /* A chain of owners would have no end that this instance could watch. */
        opened->owner = firn_instance_view(config->owner);
        if (opened->owner == NULL || opened->owner->owner != NULL)
            return FIRN_ERROR_ARGUMENT;
    }
    const bool linked = port_is_linked(config->port) && (config->copy_plan == NULL || firn_plan_copier != NULL);
    return linked ? FIRN_OK : FIRN_ERROR_KERNEL_MISSING;
}

/* --- memory --- */

/* The memory that a config gives, no two of which overlap: the plan, its copy, the blocks, the workspace, and the block
 * for prepared ops. */
typedef struct given {
    const firn_instance *owner; /* whose memory they do not overlap either, except for the plan; NULL: none */
    uint32_t count;
    firn_extent extents[FIRN_REGIONS_MAX + 4];
} given;

/* Adds memory. Returns false if it is not usable or overlaps what was added before. */
static bool add(given *given, const void *memory, uint64_t bytes) {
    if (!usable(memory, bytes))
        return false;
    firn_extent *added = &given->extents[given->count];
    *added = firn_extent_of(memory, bytes);
    for (uint32_t i = 0; i < given->count; i++)
        if (!firn_extents_are_apart(added, &given->extents[i]))
            return false;
    given->count++;
    return firn_sharing == NULL || given->owner == NULL || firn_sharing->is_apart(given->owner, added);
}

/* Takes the block of each region that needs one, and the address of each that lies in the constants. Those that the
 * owner has are taken later. The first arena is lent to the checks as their pool, for which it must be large enough. */
static int take_blocks(const firn_config *config, firn_instance *opened, given *given, firn_check_request *request) {
    const firn_header *header = &opened->header;
    const uint8_t *constants = request->file + header->constants_offset; /* those that follow */
    if (config->blocks == NULL || config->block_count != header->region_count)
        return FIRN_ERROR_ARGUMENT;
    for (uint32_t i = 0; i < header->region_count; i++) {
        const firn_block *block = &config->blocks[i];
        const uint8_t kind = firn_region_fast_kind(header->region_kinds[i]);
        opened->blocks[i] = block->memory;
        if (kind == FIRN_FB_REGION_KIND_CONSTANT || (kind == FIRN_FB_REGION_KIND_PARAMETERS && given->owner != NULL)) {
            if (block->memory != NULL || block->bytes != 0)
                return FIRN_ERROR_ARGUMENT;
            if (kind == FIRN_FB_REGION_KIND_CONSTANT) {
                opened->blocks[i] = constants;
                constants += firn_round_up(header->region_bytes[i], FIRN_PAYLOAD_ALIGNMENT);
            }
            continue;
        }
        if (!add(given, block->memory, block->bytes))
            return FIRN_ERROR_ARGUMENT;
        if (block->bytes < header->region_bytes[i])
            return FIRN_ERROR_BLOCK_TOO_SMALL;
        if (kind != FIRN_FB_REGION_KIND_ARENA || request->pool != NULL)
            continue;
        request->pool = block->memory;
        request->pool_bytes = block->bytes;
        if (block->bytes < firn_check_pool_bytes(&header->counts))
            return FIRN_ERROR_BLOCK_TOO_SMALL;
    }
    return FIRN_OK;
}

/* Decodes the untrusted header and takes all memory of a config. The request gets the file, which is the copy if there
 * is a block for one, and the pool. Apart from examine, whose frame lies below that of all checks. */
static __attribute__((noinline)) int take_memory(const firn_config *config, firn_instance *opened,
                                                 firn_check_request *request) {
    given given = {.count = 0};
    (void)add(&given, config->plan, config->plan_bytes);
    given.owner = firn_instance_owner(opened);
    request->file = config->plan;
    request->file_bytes = config->plan_bytes;
    int status;
    if (config->copy_plan == NULL && config->copy_plan_bytes == 0)
        status = firn_header_decode(&opened->header, request->file, request->file_bytes);
    else if (firn_plan_copier != NULL && add(&given, config->copy_plan, config->copy_plan_bytes))
        status = firn_plan_copier(config, &opened->header, request);
    else
        status = FIRN_ERROR_ARGUMENT;
    if (status == FIRN_OK)
        status = take_blocks(config, opened, &given, request);
    if (status != FIRN_OK)
        return status;
    if (config->workspace_bytes != 0 && !add(&given, config->workspace, config->workspace_bytes))
        return FIRN_ERROR_ARGUMENT;
    if (config->prepared_bytes == 0)
        return config->prepared == NULL ? FIRN_OK : FIRN_ERROR_ARGUMENT;
    return add(&given, config->prepared, config->prepared_bytes) ? FIRN_OK : FIRN_ERROR_ARGUMENT;
}

/* --- the chain --- */

static uint64_t prepared_bytes(const firn_header *header) {
    return firn_execute_prepared_bytes(&header->counts);
}

/* Runs all checks of a plan, in the order of plan/FORMAT.md, with the runtime's floating-point control word: the checks
 * compare attributes with 0, which would give other results in a caller that flushes subnormals to zero. */
static int check_in_own_mode(const firn_check_request *request, firn_instance *opened, firn_trail *trail) {
    const uint32_t before = firn_float_begin();
    uint32_t counter;
    const int status = firn_check_into(request, &opened->header, &opened->plan, opened->plan_hash, &counter, trail);
    firn_float_end(before);
    return status;
}

/* Takes the port, and from it the settings by which kernels divide their work among threads. */
static void take_port(const firn_port *port, firn_instance *opened) {
    firn_parallel *parallel = &opened->parallel;
    opened->port = port;
    if (!firn_has_threads)
        return;
    parallel->grain = FIRN_GRAIN;
    if (port == NULL)
        return;
    parallel->context = port->context;
    parallel->run = port->parallel_for;
    parallel->threads = port->threads;
    if (port->grain != 0)
        parallel->grain = port->grain;
}

/* Makes all checks of a config and its plan, except for its ops and the workspace. The result is in *opened, the trail
 * of the checks in *trail. Writes nothing else outside the blocks. */
static __attribute__((noinline)) int examine(const firn_config *config, firn_instance *opened, firn_trail *trail) {
    *opened = (firn_instance){0};
    int status = check_config(config, opened);
    if (status == FIRN_OK)
        status = firn_self_test();
    if (status != FIRN_OK)
        return status;
    take_port(config->port, opened);
    opened->kernels = firn_kernel_set_choose(config->kernels);
    if (opened->kernels == NULL)
        return FIRN_ERROR_KERNELS_UNKNOWN;
    /* Untrusted until the chain of checks below has passed. It is kept in the instance, because a header is a large
     * part of the stack of a microcontroller. */
    firn_check_request request;
    firn_request_of(config, &request);
    status = take_memory(config, opened, &request);
    if (status != FIRN_OK)
        return status;
    opened->file = request.file;
    status = check_in_own_mode(&request, opened, trail);
    if (status == FIRN_OK && firn_instance_hash_model != NULL) /* a program that does not ask for it lacks it */
        status = firn_instance_hash_model(opened);
    if (status == FIRN_OK && firn_instance_owner(opened) != NULL)
        status = firn_sharing->take(opened);
    if (status == FIRN_OK && !firn_instance_is_linked(opened))
        status = FIRN_ERROR_KERNEL_MISSING;
    return status;
}

/* Checks that this build can run every op, and finds the scratch that they need. Apart from examine, whose frame would
 * add to the stack of this. */
static int check_ops(const firn_config *config, firn_instance *opened) {
    if (config->prepared != NULL && config->prepared_bytes < prepared_bytes(&opened->header))
        return FIRN_ERROR_PREPARED_TOO_SMALL;
    const int status = firn_execute_check(opened, config->prepared, &opened->slot_bytes);
    if (FIRN_KERNELS_HAVE_SCRATCH && opened->slot_bytes != 0)
        opened->workspace = config->workspace;
    return status;
}

/* Returns the size of the workspace: one slot for each thread. */
static uint64_t workspace_bytes(const firn_instance *instance) {
    return FIRN_KERNELS_HAVE_SCRATCH ? (uint64_t)instance->slot_bytes * firn_instance_threads(instance) : 0;
}

int firn_plan_sizes(const void *plan, uint64_t plan_bytes, firn_sizes *sizes) {
    if (plan == NULL || sizes == NULL)
        return FIRN_ERROR_ARGUMENT;
    *sizes = (firn_sizes){0};
    firn_header header;
    int status = firn_header_decode(&header, plan, plan_bytes);
    if (status != FIRN_OK)
        return status;
    sizes->block_count = header.region_count;
    sizes->prepared_bytes = prepared_bytes(&header);
    sizes->copy_plan_bytes = firn_header_payload_end(&header);
    uint64_t pool = firn_check_pool_bytes(&header.counts);
    for (uint32_t i = 0; i < header.region_count; i++) {
        firn_block_size *block = &sizes->blocks[i];
        block->kind = header.region_kinds[i];
        if (!firn_region_is_constant(block->kind))
            block->bytes = header.region_bytes[i];
        if (firn_region_is_arena(block->kind)) { /* the first lends the pool */
            block->bytes = block->bytes < pool ? pool : block->bytes;
            pool = 0;
        }
    }
    return FIRN_OK;
}

int firn_plan_needs(const void *plan, uint64_t plan_bytes, firn_version *needed) {
    if (plan == NULL || needed == NULL)
        return FIRN_ERROR_ARGUMENT;
    return firn_plan_version(plan, plan_bytes, &needed->major, &needed->minor);
}

firn_version firn_format_version(void) {
    return (firn_version){FIRN_FORMAT_MAJOR, FIRN_FORMAT_MINOR};
}

int firn_workspace_bytes(const firn_config *config, uint64_t *bytes) {
    if (config == NULL || bytes == NULL)
        return FIRN_ERROR_ARGUMENT;
    *bytes = 0;
    const firn_kernel_set *set = firn_kernel_set_choose(config->kernels);
    if (set == NULL)
        return FIRN_ERROR_KERNELS_UNKNOWN;
    if (!set->has_scratch)
        return FIRN_OK;
    firn_config without = *config;
    without.workspace = NULL;
    without.workspace_bytes = 0;
    firn_instance examined;
    firn_trail trail;
    int status = examine(&without, &examined, &trail);
    if (status == FIRN_OK)
        status = check_ops(&without, &examined);
    if (status == FIRN_OK)
        *bytes = workspace_bytes(&examined);
    return status;
}

/* Zeroes the arena, so that no result can depend on its previous contents, and the ring: nothing has been pushed yet.
 */
static void clear(const firn_instance *opened) {
    for (uint32_t i = 0; i < opened->header.region_count; i++) {
        const uint8_t kind = firn_region_fast_kind(opened->header.region_kinds[i]);
        if (kind == FIRN_FB_REGION_KIND_ARENA || kind == FIRN_FB_REGION_KIND_RING)
            memset((void *)(uintptr_t)opened->blocks[i], 0, (size_t)opened->header.region_bytes[i]);
    }
}

/* Binds a plan that passed all checks. */
static void bind(const firn_config *config, firn_instance *opened) {
    clear(opened);
    if (firn_checkpoint_configure != NULL)
        firn_checkpoint_configure(opened, config);
    opened->prepared = config->prepared;
    firn_bind(opened);
    if (FIRN_VECTORS)
        firn_samples_bind(opened);
}

int firn_open(firn *instance, const firn_config *config) {
    if (instance == NULL)
        return FIRN_ERROR_ARGUMENT;
    if (firn_instance_view(instance) != NULL)
        return FIRN_ERROR_ALREADY_PROGRAMMED;
    firn_instance *opened = (firn_instance *)(void *)instance; /* bound by its trail, the last that is written */
    firn_trail trail = {0};
    int status = examine(config, opened, &trail);
    if (status == FIRN_OK)
        status = check_ops(config, opened);
    if (status == FIRN_OK && config->workspace_bytes < workspace_bytes(opened))
        status = FIRN_ERROR_WORKSPACE_TOO_SMALL;
    if (status == FIRN_OK) {
        bind(config, opened);
        opened->trail.first = trail.first;
        opened->trail.second = trail.second;
        if (firn_trail_is_complete(&opened->trail))
            return FIRN_OK;
        status = FIRN_ERROR_DISTURBED;
    }
    memset(instance, 0, sizeof *instance);
    return status;
}

int firn_confirm(firn *instance) {
    const firn_instance *self = firn_instance_view(instance);
    if (self == NULL)
        return FIRN_ERROR_NOT_OPEN;
    if (!self->worked)
        return FIRN_ERROR_NOT_TRIED;
    if (self->port == NULL || self->port->counter == NULL)
        return FIRN_OK;
    uint32_t stored = 0;
    int status = self->port->counter->read(self->port->context, &stored);
    if (status != FIRN_OK || stored >= self->header.security_counter)
        return status;
    return self->port->counter->advance(self->port->context, self->header.security_counter);
}
