/* Opens a plan: runs the checks of plan/checks/check.c, checks what depends on the device (its blocks, its counter, its
 * kernels), and binds a plan that passed. No check of another file may be repeated here, and a refused plan leaves no
 * trace in the instance. */
#include <string.h>

#include "plan/checks/check.h"
#include "runtime/float_environment.h"
#include "runtime/instance.h"
#include "runtime/parts.h"

/* --- checks of the configuration --- */

static bool aligned(const void *block) {
    return (uintptr_t)block % FIRN_BLOCK_ALIGNMENT == 0;
}

/* Returns true if the block is not NULL, is aligned, and does not extend past the end of the address space. */
static bool usable(const void *block, uint64_t bytes) {
    return block != NULL && aligned(block) && bytes <= UINTPTR_MAX - (uintptr_t)block;
}

/* Returns the first region of the arena, from which the verification pool is borrowed; a header has one. */
static uint32_t lending_region(const firn_header *header) {
    uint32_t i = 0;
    while (i + 1 < header->region_count && !firn_region_is_arena(header->region_kinds[i]))
        i++;
    return i;
}

/* Returns the bytes that the block of a region must have. */
static uint64_t block_bytes(const firn_header *header, uint32_t region) {
    uint64_t bytes = header->region_bytes[region], pool = firn_check_pool_bytes(&header->counts);
    return region == lending_region(header) && bytes < pool ? pool : bytes;
}

/* Returns true if a block does not overlap what the owner writes. */
static bool apart_from_owner(const firn_config *config, const void *block, uint64_t bytes) {
    const firn_instance *owner = firn_instance_view(config->owner);
    return owner == NULL || firn_sharing->is_apart(owner, block, bytes);
}

/* Returns true if a block is usable and overlaps neither the plan, nor a block of the owner, nor any of the first
 * `count` blocks. */
static bool apart_from_others(const firn_config *config, uint32_t count, const void *block, uint64_t bytes) {
    if (!usable(block, bytes) || !firn_blocks_are_apart(block, bytes, config->plan, config->plan_bytes) ||
        !firn_blocks_are_apart(block, bytes, config->copy_plan, config->copy_plan_bytes) ||
        !apart_from_owner(config, block, bytes))
        return false;
    for (uint32_t i = 0; i < count; i++)
        if (config->blocks[i].memory != NULL &&
            !firn_blocks_are_apart(block, bytes, config->blocks[i].memory, config->blocks[i].bytes))
            return false;
    return true;
}

static int check_blocks(const firn_config *config, const firn_header *header) {
    const firn_instance *owner = firn_instance_view(config->owner);
    if (config->blocks == NULL || config->block_count != header->region_count)
        return FIRN_ERROR_ARGUMENT;
    for (uint32_t i = 0; i < header->region_count; i++) {
        const firn_block *block = &config->blocks[i];
        if (!firn_instance_needs_block(header, owner, i)) {
            if (block->memory != NULL || block->bytes != 0)
                return FIRN_ERROR_ARGUMENT;
            continue;
        }
        if (!apart_from_others(config, i, block->memory, block->bytes))
            return FIRN_ERROR_ARGUMENT;
        if (block->bytes < block_bytes(header, i))
            return FIRN_ERROR_BLOCK_TOO_SMALL;
    }
    return FIRN_OK;
}

/* Checks the workspace and the block for prepared ops, each only if it was given. */
static bool optional_blocks_are_usable(const firn_config *config) {
    bool workspace = config->workspace_bytes != 0, prepared = config->prepared_bytes != 0;
    if (workspace && !apart_from_others(config, config->block_count, config->workspace, config->workspace_bytes))
        return false;
    if (!prepared)
        return config->prepared == NULL;
    return apart_from_others(config, config->block_count, config->prepared, config->prepared_bytes) &&
           (!workspace || firn_blocks_are_apart(config->prepared, config->prepared_bytes, config->workspace,
                                                config->workspace_bytes));
}

static int check_config(const firn_config *config) {
    if (config == NULL || config->public_key == NULL || config->more_keys >= FIRN_KEYS_MAX ||
        !usable(config->plan, config->plan_bytes))
        return FIRN_ERROR_ARGUMENT;
    if (config->port != NULL && config->port->struct_size < sizeof(firn_port))
        return FIRN_ERROR_ARGUMENT;
    /* A chain of owners would have no end that this instance could watch. */
    if (config->owner != NULL &&
        (firn_instance_view(config->owner) == NULL || firn_instance_view(config->owner)->owner != NULL))
        return FIRN_ERROR_ARGUMENT;
    return config->owner != NULL && firn_sharing == NULL ? FIRN_ERROR_KERNEL_MISSING : FIRN_OK;
}

/* --- memory --- */

/* Takes the addresses of all regions: from the config, the owner and the plan. The constant ones are never written. */
static int take_blocks(const firn_config *config, firn_instance *opened) {
    const firn_header *header = &opened->header;
    const firn_instance *owner = firn_instance_view(config->owner);
    const int status = owner != NULL ? firn_sharing->check(opened, owner) : FIRN_OK;
    if (status != FIRN_OK)
        return status;
    for (uint32_t i = 0; i < header->region_count; i++) {
        if (firn_instance_needs_block(header, owner, i)) {
            opened->blocks[i] = config->blocks[i].memory;
        } else if (firn_region_is_constant(header->region_kinds[i])) {
            opened->blocks[i] = opened->file + header->constants_offset + firn_header_constant_offset(header, i);
        } else {
            /* Only a region of parameters needs no block here, and only with an owner. */
            opened->blocks[i] = owner != NULL ? firn_sharing->block(opened, owner, i) : NULL;
            if (opened->blocks[i] == NULL)
                return FIRN_ERROR_OTHER_OWNER;
        }
    }
    opened->owner = owner;
    return FIRN_OK;
}

/* --- the copy of a plan --- */

static void copy_bytes(const firn_port *port, uint8_t *to, const uint8_t *from, uint64_t count) {
    while (count != 0) {
        const size_t part = count < FIRN_ALIVE_BYTES ? (size_t)count : FIRN_ALIVE_BYTES;
        memcpy(to, from, part);
        to += part, from += part, count -= part;
        if (port != NULL && port->alive != NULL)
            port->alive(port->context);
    }
}

/* Decodes the untrusted header and sets the file of the instance, which is the copy if there is a block for one: no
 * byte of the original is read twice. *bytes becomes the file's. */
static int take_file(const firn_config *config, firn_instance *opened, uint64_t *bytes) {
    uint8_t *copy = config->copy_plan;
    opened->file = config->plan;
    *bytes = config->plan_bytes;
    if (copy == NULL)
        return config->copy_plan_bytes == 0 ? firn_header_decode(&opened->header, opened->file, *bytes)
                                            : FIRN_ERROR_ARGUMENT;
    if (!usable(copy, config->copy_plan_bytes) ||
        !firn_blocks_are_apart(copy, config->copy_plan_bytes, opened->file, *bytes) ||
        !apart_from_owner(config, copy, config->copy_plan_bytes))
        return FIRN_ERROR_ARGUMENT;
    if (config->copy_plan_bytes < FIRN_PAYLOAD_OFFSET)
        return FIRN_ERROR_BLOCK_TOO_SMALL;
    copy_bytes(config->port, copy, opened->file, *bytes < FIRN_PAYLOAD_OFFSET ? *bytes : FIRN_PAYLOAD_OFFSET);
    int status = firn_header_decode(&opened->header, copy, *bytes);
    if (status != FIRN_OK)
        return status;
    *bytes = firn_header_payload_end(&opened->header);
    if (config->copy_plan_bytes < *bytes)
        return FIRN_ERROR_BLOCK_TOO_SMALL;
    copy_bytes(config->port, copy + FIRN_PAYLOAD_OFFSET, opened->file + FIRN_PAYLOAD_OFFSET,
               *bytes - FIRN_PAYLOAD_OFFSET);
    opened->file = copy;
    return FIRN_OK;
}

/* --- the chain --- */

static firn_check_request request_of(const firn_config *config, const firn_header *header, const uint8_t *file,
                                     uint64_t file_bytes) {
    const firn_block *lender = &config->blocks[lending_region(header)];
    firn_check_request request = {
        .file = file,
        .file_bytes = file_bytes,
        .keys = {.list = config->public_key, .count = 1 + config->more_keys, .revoked = config->revoked_keys},
        .identity = config->identity,
        .pool = lender->memory,
        .pool_bytes = lender->bytes};
    const firn_port *port = config->port;
    if (port != NULL) {
        request.context = port->context;
        request.alive = port->alive;
        request.revoked_keys = port->revoked_keys;
        request.counter = port->counter != NULL ? port->counter->read : NULL;
    }
    return request;
}

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

/* Returns the settings by which kernels divide their work among threads. */
static firn_parallel parallel_of(const firn_port *port) {
    firn_parallel parallel = {.grain = FIRN_GRAIN};
    if (port != NULL) {
        parallel.context = port->context;
        parallel.run = port->parallel_for;
        parallel.threads = port->threads;
        if (port->grain != 0)
            parallel.grain = port->grain;
    }
    return parallel;
}

/* A program that never pushes a sample is linked without the ring, and can run no plan that has one. */
static int check_sampler(firn_fb_plan plan) {
    const bool pushed = firn_fb_sampler_pushed(firn_fb_plan_sampler(plan)) != FIRN_ABSENT;
    return pushed && firn_ring_begin == NULL ? FIRN_ERROR_KERNEL_MISSING : FIRN_OK;
}

/* No sample has been pushed yet. */
static void empty_rings(const firn_instance *instance) {
    for (uint32_t i = 0; i < instance->header.region_count; i++)
        if (firn_region_fast_kind(instance->header.region_kinds[i]) == FIRN_FB_REGION_KIND_RING)
            memset((void *)(uintptr_t)instance->blocks[i], 0, (size_t)instance->header.region_bytes[i]);
}

/* Makes all checks of a config and its plan, except for its ops and the workspace. The result is in *opened, the trail
 * of the checks in *trail. Writes nothing else outside the blocks. */
static __attribute__((noinline)) int examine(const firn_config *config, firn_instance *opened, firn_trail *trail) {
    *opened = (firn_instance){0};
    int status = check_config(config);
    if (status == FIRN_OK)
        status = firn_self_test();
    if (status != FIRN_OK)
        return status;
    opened->port = config->port;
    opened->parallel = parallel_of(config->port);
    opened->kernels = firn_kernel_set_choose(config->kernels);
    if (opened->kernels == NULL)
        return FIRN_ERROR_KERNELS_UNKNOWN;
    /* Untrusted until the chain of checks below has passed. It is kept in the instance, because a header is a large
     * part of the stack of a microcontroller. */
    uint64_t file_bytes;
    status = take_file(config, opened, &file_bytes);
    if (status == FIRN_OK)
        status = check_blocks(config, &opened->header);
    if (status == FIRN_OK && !optional_blocks_are_usable(config))
        status = FIRN_ERROR_ARGUMENT;
    if (status != FIRN_OK)
        return status;
    const firn_check_request request = request_of(config, &opened->header, opened->file, file_bytes);
    status = check_in_own_mode(&request, opened, trail);
    if (status != FIRN_OK)
        return status;
    if (firn_instance_hash_model != NULL) /* a program that does not ask for the hash is linked without it */
        status = firn_instance_hash_model(opened);
    if (status == FIRN_OK)
        status = take_blocks(config, opened);
    if (status == FIRN_OK)
        status = check_sampler(opened->plan);
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
    if (opened->slot_bytes != 0)
        opened->workspace = config->workspace;
    return status;
}

/* Returns the size of the workspace: one slot for each thread. */
static uint64_t workspace_bytes(const firn_instance *instance) {
    return (uint64_t)instance->slot_bytes * firn_instance_threads(instance);
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
    for (uint32_t i = 0; i < header.region_count; i++)
        sizes->blocks[i] =
            (firn_block_size){.kind = header.region_kinds[i],
                              .bytes = firn_instance_needs_block(&header, NULL, i) ? block_bytes(&header, i) : 0};
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
    if (status != FIRN_OK) {
        memset(instance, 0, sizeof *instance);
        return status;
    }
    /* The arena is zeroed so that no result can depend on its previous contents. */
    for (uint32_t i = 0; i < opened->header.region_count; i++)
        if (firn_region_is_arena(opened->header.region_kinds[i]))
            memset(config->blocks[i].memory, 0, (size_t)block_bytes(&opened->header, i));
    memcpy(opened->data_hash, config->data_hash, sizeof opened->data_hash);
    opened->device_key = config->device_key;
    opened->allow_other_preprocessing = config->allow_other_preprocessing;
    opened->allow_other_split = config->allow_other_split;
    opened->allow_other_data = config->allow_other_data;
    opened->condition = FIRN_CONDITION_EMPTY;
    opened->prepared = config->prepared;
    firn_bind(opened);
    empty_rings(opened);
    opened->trail.first = trail.first;
    opened->trail.second = trail.second;
    if (firn_trail_is_complete(&opened->trail))
        return FIRN_OK;
    memset(instance, 0, sizeof *instance);
    return FIRN_ERROR_DISTURBED;
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
