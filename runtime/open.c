/* Opens a plan: runs the checks of plan/checks/check.c, checks what depends on the device (its blocks, its counter, its
 * kernels), and binds a plan that passed. No check of another file may be repeated here, and a refused plan leaves no
 * trace in the instance. */
#include <string.h>

#include "plan/checks/check.h"
#include "plan/identity.h"
#include "runtime/float_environment.h"
#include "runtime/instance.h"

/* --- checks of the configuration --- */

static bool aligned(const void *block) {
    return (uintptr_t)block % FIRN_BLOCK_ALIGNMENT == 0;
}

/* Returns true if the block is not NULL, is aligned, and does not extend past the end of the address space. */
static bool usable(const void *block, uint64_t bytes) {
    return block != NULL && aligned(block) && bytes <= UINTPTR_MAX - (uintptr_t)block;
}

static bool apart(const void *a, uint64_t a_bytes, const void *b, uint64_t b_bytes) {
    uintptr_t first = (uintptr_t)a, second = (uintptr_t)b;
    return first < second ? a_bytes <= second - first : b_bytes <= first - second;
}

/* Returns true if a block is usable and does not overlap the blocks that every plan needs. */
static bool apart_from_others(const firn_config *config, const void *block, uint64_t bytes) {
    return usable(block, bytes) && apart(block, bytes, config->plan, config->plan_bytes) &&
           apart(block, bytes, config->state, config->state_bytes) &&
           apart(block, bytes, config->arena, config->arena_bytes);
}

/* Checks the workspace and the block for prepared ops, each only if it was given. */
static bool optional_blocks_are_usable(const firn_config *config) {
    bool workspace = config->workspace_bytes != 0, prepared = config->prepared_bytes != 0;
    if (workspace && !apart_from_others(config, config->workspace, config->workspace_bytes))
        return false;
    if (!prepared)
        return config->prepared == NULL;
    return apart_from_others(config, config->prepared, config->prepared_bytes) &&
           (!workspace || apart(config->prepared, config->prepared_bytes, config->workspace, config->workspace_bytes));
}

static int check_config(const firn_config *config) {
    if (config == NULL || config->public_key == NULL || !usable(config->plan, config->plan_bytes) ||
        !usable(config->state, config->state_bytes) || !usable(config->arena, config->arena_bytes))
        return FIRN_ERROR_ARGUMENT;
    if (!apart(config->plan, config->plan_bytes, config->state, config->state_bytes) ||
        !apart(config->plan, config->plan_bytes, config->arena, config->arena_bytes) ||
        !apart(config->state, config->state_bytes, config->arena, config->arena_bytes) ||
        !optional_blocks_are_usable(config))
        return FIRN_ERROR_ARGUMENT;
    if (config->port != NULL && config->port->struct_size < sizeof(firn_port))
        return FIRN_ERROR_ARGUMENT;
    if (config->port != NULL && (config->port->lock == NULL) != (config->port->unlock == NULL))
        return FIRN_ERROR_ARGUMENT;
    return FIRN_OK;
}

/* --- the chain --- */

static firn_check_request request_of(const firn_config *config) {
    firn_check_request request = {.file = config->plan,
                                  .file_bytes = config->plan_bytes,
                                  .public_key = config->public_key,
                                  .state_bytes = config->state_bytes,
                                  .arena_bytes = config->arena_bytes,
                                  .pool = config->arena,
                                  .pool_bytes = config->arena_bytes};
    const firn_port *port = config->port;
    if (port != NULL) {
        request.context = port->context;
        request.alive = port->alive;
        request.lock = port->lock;
        request.unlock = port->unlock;
        request.counter = port->counter != NULL ? port->counter->read : NULL;
    }
    return request;
}

static int advance_counter(const firn_instance *instance, uint32_t stored) {
    if (instance->port == NULL || instance->port->counter == NULL || instance->header.security_counter == stored)
        return FIRN_OK;
    return instance->port->counter->advance(instance->port->context, instance->header.security_counter);
}

/* PROVISIONAL: until the header counts operands and attributes itself, these are the most that so many ops can have. */
static firn_op_counts op_counts(const firn_header *header) {
    const uint64_t ops = header->ops;
    return (firn_op_counts){
        .ops = ops, .operands = 16 * ops, .integers = 8 * ops, .reals = 8 * ops, .reductions = 4 * ops};
}

static uint64_t prepared_bytes(const firn_header *header) {
    const firn_op_counts counts = op_counts(header);
    return firn_execute_prepared_bytes(&counts);
}

/* Runs all checks of a plan, in the order of plan/FORMAT.md, with the runtime's floating-point control word: the checks
 * compare attributes with 0, which would give other results in a caller that flushes subnormals to zero. */
static int check_in_own_mode(const firn_check_request *request, firn_checked *checked) {
    const uint32_t before = firn_float_begin();
    const int status = firn_check(request, checked);
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

/* Makes all checks of a config and its plan, except for the workspace. The result is in *opened, the device's counter
 * in *counter. Writes nothing else outside the blocks. */
static int examine(const firn_config *config, firn_instance *opened, uint32_t *counter) {
    *opened = (firn_instance){0};
    int status = check_config(config);
    if (status != FIRN_OK)
        return status;
    opened->file = config->plan;
    opened->state = config->state;
    opened->arena = config->arena;
    opened->port = config->port;
    opened->parallel = parallel_of(config->port);
    opened->kernels = firn_kernel_set_choose(config->kernels);
    if (opened->kernels == NULL)
        return FIRN_ERROR_KERNELS_UNKNOWN;
    const firn_check_request request = request_of(config);
    firn_checked checked;
    status = check_in_own_mode(&request, &checked);
    if (status != FIRN_OK)
        return status;
    opened->header = checked.header;
    opened->plan = checked.plan;
    memcpy(opened->plan_hash, checked.plan_hash, sizeof opened->plan_hash);
    *counter = checked.device_counter;
    if (config->prepared != NULL && config->prepared_bytes < prepared_bytes(&opened->header))
        return FIRN_ERROR_PREPARED_TOO_SMALL;
    const firn_op_counts counts = op_counts(&opened->header);
    status = firn_execute_check(opened, config->prepared, &counts, &opened->slot_bytes);
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
    *sizes = (firn_sizes){.state_bytes = header.state_bytes,
                          .arena_bytes = header.arena_bytes,
                          .prepared_bytes = prepared_bytes(&header)};
    return FIRN_OK;
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
    uint32_t counter;
    const int status = examine(&without, &examined, &counter);
    if (status == FIRN_OK)
        *bytes = workspace_bytes(&examined);
    return status;
}

int firn_open(firn *instance, const firn_config *config) {
    if (instance == NULL)
        return FIRN_ERROR_ARGUMENT;
    if (firn_instance_view(instance) != NULL)
        return FIRN_ERROR_ALREADY_PROGRAMMED;
    firn_instance opened;
    uint32_t counter;
    int status = examine(config, &opened, &counter);
    if (status == FIRN_OK && config->workspace_bytes < workspace_bytes(&opened))
        status = FIRN_ERROR_WORKSPACE_TOO_SMALL;
    if (status == FIRN_OK)
        status = firn_model_hash(opened.plan, opened.model_hash);
    if (status == FIRN_OK)
        status = advance_counter(&opened, counter);
    if (status != FIRN_OK)
        return status;
    /* The arena is zeroed so that no result can depend on its previous contents. */
    memset(opened.arena, 0, (size_t)opened.header.arena_bytes);
    opened.condition = FIRN_CONDITION_EMPTY;
    opened.mark = FIRN_INSTANCE_MARK;
    opened.prepared = config->prepared;
    opened.bound = firn_bind(&opened);
    memset(instance, 0, sizeof *instance);
    memcpy(instance, &opened, sizeof opened);
    if (config->prepared != NULL) {
        const firn_op_counts counts = op_counts(&opened.header);
        firn_execute_prepare(firn_instance_view(instance), config->prepared, &counts);
    }
    return FIRN_OK;
}

/* --- what was opened --- */

int firn_describe(const firn *instance, firn_info *info) {
    const firn_instance *self = firn_instance_view(instance);
    if (info == NULL)
        return FIRN_ERROR_ARGUMENT;
    *info = (firn_info){0};
    if (self == NULL)
        return FIRN_ERROR_NOT_OPEN;
    firn_fb_sampler sampler = firn_fb_plan_sampler(self->plan);
    info->model = firn_fb_plan_model(self->plan);
    info->target = firn_fb_plan_target(self->plan);
    info->kernels = self->kernels->name;
    memcpy(info->plan_hash, self->plan_hash, FIRN_HASH_BYTES);
    memcpy(info->run_hash, self->header.run_hash, FIRN_HASH_BYTES);
    memcpy(info->model_hash, self->model_hash, FIRN_HASH_BYTES);
    info->eval = self->header.mode == FIRN_MODE_EVAL;
    info->steps = firn_fb_plan_steps(self->plan);
    info->micro_batches = firn_fb_plan_micro_batches(self->plan);
    info->samples = firn_fb_sampler_samples(sampler);
    info->window = firn_fb_sampler_window(sampler);
    for (uint32_t i = 0; i < firn_fb_plan_inputs_count(self->plan); i++) {
        uint32_t stream = firn_fb_input_stream(firn_fb_plan_inputs_at(self->plan, i));
        info->streams = stream >= info->streams ? stream + 1 : info->streams;
    }
    info->plan_version = self->header.plan_version;
    info->security_counter = self->header.security_counter;
    for (uint32_t i = 0; i < firn_fb_plan_state_tensors(self->plan); i++) {
        firn_fb_tensor tensor = firn_fb_plan_tensors_at(self->plan, i);
        if (firn_fb_tensor_role(tensor) == FIRN_FB_ROLE_PARAMETER)
            info->parameters += firn_instance_elements(tensor);
    }
    return FIRN_OK;
}

int firn_tensor_at(const firn *instance, uint32_t position, firn_tensor_info *info) {
    const firn_instance *self = firn_instance_view(instance);
    if (info == NULL)
        return FIRN_ERROR_ARGUMENT;
    *info = (firn_tensor_info){0};
    if (self == NULL)
        return FIRN_ERROR_NOT_OPEN;
    if (position >= firn_fb_plan_tensors_count(self->plan))
        return FIRN_ERROR_ARGUMENT;
    firn_fb_tensor description = firn_fb_plan_tensors_at(self->plan, position);
    firn_tensor tensor = firn_instance_tensor(self, position);
    info->name = firn_fb_tensor_name(description);
    info->type = tensor.type;
    info->role = firn_fb_tensor_role(description);
    info->rank = tensor.rank;
    memcpy(info->dims, tensor.dims, tensor.rank * sizeof tensor.dims[0]);
    info->data = tensor.data;
    info->bytes = (uint64_t)tensor.elements * firn_type_bytes(tensor.type);
    return FIRN_OK;
}
