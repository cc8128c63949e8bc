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
typedef struct firn_native_metric firn_native_metric;
typedef struct firn_native_op firn_native_op;
typedef struct firn_native_output firn_native_output;
typedef struct firn_native_phase firn_native_phase;
typedef struct firn_native_plan firn_native_plan;
typedef struct firn_native_sampler firn_native_sampler;
typedef struct firn_native_schedule firn_native_schedule;
typedef struct firn_native_tensor firn_native_tensor;

struct firn_native_initialiser {
    uint8_t rule;
    uint8_t element;
    uint32_t rng_id;
    float a;
    float b;
    int64_t integer;
    uint64_t weights;
    float low;
    float high;
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
    bool label;
    uint32_t ring;
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
};

struct firn_native_output {
    const char *name;
    uint32_t tensor;
};

struct firn_native_phase {
    uint8_t kind;
    const firn_native_op *ops;
    uint32_t ops_count;
};

struct firn_native_plan {
    uint32_t numerics_version;
    uint8_t micro_batch_order;
    bool check_loss;
    uint32_t micro_batches;
    uint64_t seed;
    uint64_t steps;
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
    const firn_native_initialiser *initialisers;
    uint32_t initialisers_count;
    const firn_native_metric *metrics;
    uint32_t metrics_count;
    uint32_t loss;
    uint32_t learning_rate;
    uint32_t loss_scale;
    uint32_t global_step;
    uint32_t optimizer_step;
    uint32_t finite;
    uint32_t at_floor;
    uint32_t gradient_norm;
    const firn_fb_schedule_number *schedule_numbers;
    uint32_t schedule_numbers_count;
    const firn_fb_schedule_instruction *schedule_instructions;
    uint32_t schedule_instructions_count;
    const uint8_t *origin;
    uint32_t origin_count;
    bool losses_added;
    const uint8_t *tokenizer;
    uint32_t tokenizer_count;
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
    uint32_t pushed;
    uint32_t counted;
};

struct firn_native_schedule {
    uint32_t root;
    uint32_t tensor;
};

struct firn_native_tensor {
    uint8_t type;
    uint8_t role;
    uint8_t region;
    uint64_t offset;
    const uint32_t *dims;
    uint32_t dims_count;
    uint32_t first;
    uint32_t last;
    const char *name;
    uint32_t base;
};

/* The FlatBuffers part of a plan, aligned to 64, to be freed with free(). The same values give the same bytes.
 * NULL when memory is short, a required field is missing, or something is longer than the schema allows. */
uint8_t *firn_native_write(const firn_native_plan *plan, size_t *bytes);

#endif
