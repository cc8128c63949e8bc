/* What an opened plan is and has: its hashes, its streams, its tensors and outputs. Nothing is decided or changed
 * here. */
#include <string.h>

#include "runtime/instance.h"
#include "runtime/parts.h"

int firn_describe(const firn *instance, firn_info *info) {
    const firn_instance *self = firn_instance_view(instance);
    if (info == NULL)
        return FIRN_ERROR_ARGUMENT;
    *info = (firn_info){0};
    if (self == NULL)
        return FIRN_ERROR_NOT_OPEN;
    firn_fb_sampler sampler = firn_fb_plan_sampler(self->plan);
    info->kernels = self->kernels->name;
    memcpy(info->plan_hash, self->plan_hash, FIRN_HASH_BYTES);
    memcpy(info->run_hash, self->header.run_hash, FIRN_HASH_BYTES);
    memcpy(info->model_hash, firn_instance_model_hash(self), FIRN_HASH_BYTES);
    info->eval = self->header.mode == FIRN_MODE_EVAL;
    info->metric = firn_fb_plan_metrics_count(self->plan) != 0;
    info->outputs = firn_fb_plan_outputs_count(self->plan);
    info->steps = firn_fb_plan_steps(self->plan);
    info->micro_batches = firn_fb_plan_micro_batches(self->plan);
    info->samples = firn_fb_sampler_samples(sampler);
    info->window = firn_fb_sampler_window(sampler);
    info->stride = firn_fb_sampler_stride(sampler);
    info->all_data = firn_fb_sampler_part(sampler) == FIRN_FB_DATA_PART_ALL;
    info->short_batch = firn_samples_may_be_short(self);
    for (uint32_t i = 0; i < self->bound.inputs; i++) {
        uint32_t stream = firn_fb_input_stream(firn_fb_plan_inputs_at(self->plan, i));
        info->streams = stream >= info->streams ? stream + 1 : info->streams;
    }
    if (self->bound.pushed != NULL)
        info->ring = firn_instance_tensor(self, firn_fb_input_ring(firn_fb_plan_inputs_at(self->plan, 0))).dims[0];
    info->plan_version = self->header.plan_version;
    info->image_id = self->header.image_id;
    info->security_counter = self->header.security_counter;
    for (uint32_t i = 0; i < firn_fb_plan_state_tensors(self->plan); i++) {
        firn_fb_tensor tensor = firn_fb_plan_tensors_at(self->plan, i);
        if (firn_fb_tensor_role(tensor) == FIRN_FB_ROLE_PARAMETER)
            info->parameters += firn_instance_elements(tensor);
    }
    return FIRN_OK;
}

int firn_stream_at(const firn *instance, uint32_t stream, firn_stream_info *info) {
    const firn_instance *self = firn_instance_view(instance);
    if (info == NULL)
        return FIRN_ERROR_ARGUMENT;
    *info = (firn_stream_info){0};
    if (self == NULL)
        return FIRN_ERROR_NOT_OPEN;
    for (uint32_t i = 0; i < self->bound.inputs; i++) {
        firn_bound_input room;
        const firn_bound_input *input = firn_bound_input_at(self, i, &room);
        if (input->stream != stream)
            continue;
        info->element = input->element;
        info->record_elements = (uint32_t)input->record;
        info->limit = input->limit;
        return FIRN_OK;
    }
    return FIRN_ERROR_ARGUMENT;
}

int firn_set_data_hash(firn *instance, const uint8_t hash[32]) {
    firn_instance *self = firn_instance_of(instance);
    if (self == NULL)
        return FIRN_ERROR_NOT_OPEN;
    if (hash == NULL)
        return FIRN_ERROR_ARGUMENT;
    memcpy(self->data_hash, hash, sizeof self->data_hash);
    return FIRN_OK;
}

int firn_count_samples(const firn *instance, const firn_source *source, firn_sample_counts *counts) {
    const firn_instance *self = firn_instance_view(instance);
    if (counts == NULL)
        return FIRN_ERROR_ARGUMENT;
    *counts = (firn_sample_counts){0};
    if (self == NULL)
        return FIRN_ERROR_NOT_OPEN;
    if (self->bound.pushed != NULL)
        return FIRN_ERROR_ARGUMENT;
    firn_samples samples;
    const int status = firn_samples_begin(self, source, &samples);
    if (status != FIRN_OK && status != FIRN_ERROR_DATA_TOO_SHORT)
        return status;
    counts->part = samples.count;
    counts->all = firn_samples_in(self, source, firn_all_data);
    counts->held_out = firn_samples_in(self, source, firn_held_out_data);
    return FIRN_OK;
}

static firn_tensor_info describe(const firn_instance *instance, uint32_t position) {
    firn_fb_tensor description = firn_fb_plan_tensors_at(instance->plan, position);
    firn_tensor tensor = firn_instance_tensor(instance, position);
    firn_tensor_info info = {.name = firn_fb_tensor_name(description),
                             .type = tensor.type,
                             .role = firn_fb_tensor_role(description),
                             .rank = tensor.rank,
                             .data = tensor.data,
                             .bytes = (uint64_t)tensor.elements * firn_type_bytes(tensor.type)};
    memcpy(info.dims, tensor.dims, tensor.rank * sizeof info.dims[0]);
    return info;
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
    *info = describe(self, position);
    return FIRN_OK;
}

static bool is_named(firn_fb_output output, const char *name) {
    uint32_t length = firn_fb_output_name_length(output), i = 0;
    while (i < length && name[i] == firn_fb_output_name(output)[i])
        i++;
    return i == length && name[i] == '\0';
}

int firn_output(const firn *instance, const char *name, firn_tensor_info *info) {
    const firn_instance *self = firn_instance_view(instance);
    if (name == NULL || info == NULL)
        return FIRN_ERROR_ARGUMENT;
    *info = (firn_tensor_info){0};
    if (self == NULL)
        return FIRN_ERROR_NOT_OPEN;
    for (uint32_t i = 0; i < firn_fb_plan_outputs_count(self->plan); i++) {
        firn_fb_output output = firn_fb_plan_outputs_at(self->plan, i);
        if (is_named(output, name))
            return firn_output_at(instance, i, info);
    }
    return FIRN_ERROR_ARGUMENT;
}

int firn_output_at(const firn *instance, uint32_t position, firn_tensor_info *info) {
    const firn_instance *self = firn_instance_view(instance);
    if (info == NULL)
        return FIRN_ERROR_ARGUMENT;
    *info = (firn_tensor_info){0};
    if (self == NULL)
        return FIRN_ERROR_NOT_OPEN;
    if (position >= firn_fb_plan_outputs_count(self->plan))
        return FIRN_ERROR_ARGUMENT;
    const firn_fb_output output = firn_fb_plan_outputs_at(self->plan, position);
    *info = describe(self, firn_fb_output_tensor(output));
    info->name = firn_fb_output_name(output);
    return FIRN_OK;
}
