/* The compiler's side of the schema: a plan as plain structs, and the function that writes one. Host only.
 * Members are values: a member is never taken for "not given" when the schema has a default. NULL and a count
 * of 0 leave a string, vector or table out.
 * Written by plan/generate from plan/plan.fbs; change that file instead. */
/* clang-format off */
#ifndef FIRN_PLAN_GENERATED_WRITER_H
#define FIRN_PLAN_GENERATED_WRITER_H

#include <stddef.h>

#include "plan/generated/reader.h"

typedef struct firn_native_initialiser firn_native_initialiser;
typedef struct firn_native_input firn_native_input;
typedef struct firn_native_loss_scaler firn_native_loss_scaler;
typedef struct firn_native_metric firn_native_metric;
typedef struct firn_native_op firn_native_op;
typedef struct firn_native_output firn_native_output;
typedef struct firn_native_parameter_group firn_native_parameter_group;
typedef struct firn_native_phase firn_native_phase;
typedef struct firn_native_plan firn_native_plan;
typedef struct firn_native_region firn_native_region;
typedef struct firn_native_sampler firn_native_sampler;
typedef struct firn_native_schedule firn_native_schedule;
typedef struct firn_native_tensor firn_native_tensor;

struct firn_native_initialiser {
    uint32_t tensor;
    uint8_t rule;
    uint32_t rng_id;
    float a;
    float b;
    uint64_t weights;
};

struct firn_native_input {
    const char *name;
    uint32_t tensor;
    uint8_t stream;
    uint8_t element;
    uint32_t advance;
    uint32_t limit;
    float scale;
    float shift;
};

struct firn_native_loss_scaler {
    uint8_t kind;
    uint32_t scale;
    uint32_t steps_since_rescale;
    uint32_t overflows_since_rescale;
    uint32_t skipped_steps;
    uint32_t at_floor;
};

struct firn_native_metric {
    uint8_t kind;
    uint32_t sum;
    uint32_t count;
    float beta;
    const uint32_t *ignore_classes;
    uint32_t ignore_classes_count;
};

struct firn_native_op {
    uint16_t code;
    const char *name;
    const uint32_t *inputs;
    uint32_t inputs_count;
    const uint32_t *outputs;
    uint32_t outputs_count;
    const int64_t *integers;
    uint32_t integers_count;
    const float *reals;
    uint32_t reals_count;
    const firn_fb_reduction *reductions;
    uint32_t reductions_count;
    bool pol_present;
    firn_fb_pol pol;
};

struct firn_native_output {
    const char *name;
    uint32_t tensor;
};

struct firn_native_parameter_group {
    const char *name;
    const char *optimizer;
    uint32_t schedule;
    float weight_decay;
    const uint32_t *parameters;
    uint32_t parameters_count;
    uint32_t decay_schedule;
};

struct firn_native_phase {
    uint8_t kind;
    const firn_native_op *ops;
    uint32_t ops_count;
};

struct firn_native_plan {
    uint32_t numerics_version;
    uint8_t mode;
    uint8_t pol_lowering;
    uint8_t micro_batch_order;
    bool check_loss;
    uint32_t micro_batches;
    uint64_t seed;
    uint64_t steps;
    const char *model;
    const char *compiler;
    const char *target;
    const firn_native_region *regions;
    uint32_t regions_count;
    const firn_native_tensor *tensors;
    uint32_t tensors_count;
    uint32_t state_tensors;
    const firn_native_phase *phases;
    uint32_t phases_count;
    const firn_native_input *inputs;
    uint32_t inputs_count;
    const firn_native_output *outputs;
    uint32_t outputs_count;
    const firn_native_sampler *sampler;
    const firn_fb_schedule_node *schedule_nodes;
    uint32_t schedule_nodes_count;
    const firn_native_schedule *schedules;
    uint32_t schedules_count;
    const firn_native_parameter_group *groups;
    uint32_t groups_count;
    const firn_native_loss_scaler *loss_scaler;
    uint8_t clipping;
    float clip_threshold;
    const firn_native_initialiser *initialisers;
    uint32_t initialisers_count;
    const firn_native_metric *metric;
    uint32_t global_step;
    uint32_t optimizer_step;
    uint32_t finite;
    uint32_t gradient_norm;
    const firn_fb_schedule_number *schedule_numbers;
    uint32_t schedule_numbers_count;
    const firn_fb_schedule_instruction *schedule_instructions;
    uint32_t schedule_instructions_count;
};

struct firn_native_region {
    uint8_t kind;
    uint64_t bytes;
    uint32_t alignment;
};

struct firn_native_sampler {
    uint8_t kind;
    uint8_t unit;
    uint8_t part;
    uint8_t epoch_end;
    uint32_t window;
    uint32_t stride;
    uint32_t samples;
    uint32_t held_out_per_mille;
    uint64_t seed;
    uint32_t cursor;
};

struct firn_native_schedule {
    const char *name;
    uint8_t key;
    uint32_t root;
    uint32_t tensor;
};

struct firn_native_tensor {
    const char *name;
    uint8_t type;
    uint8_t role;
    uint8_t region;
    uint64_t offset;
    const uint32_t *dims;
    uint32_t dims_count;
    uint32_t first;
    uint32_t last;
};

/* The FlatBuffers part of a plan, aligned to 64, to be freed with free(). The same values give the same bytes.
 * NULL when memory is short, a required field is missing, or something is longer than the schema allows. */
uint8_t *firn_native_write(const firn_native_plan *plan, size_t *bytes);

#endif
