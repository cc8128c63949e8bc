/* Read access to the FlatBuffers part of a plan, in place, after firn_fb_verify and never before: there are
 * no checks here. An absent scalar reads as its default, an absent string as "", an absent vector as one of no
 * elements, an absent struct as zeros; an absent table must not be asked for. An index must be below its count.
 * A record has all fields of a table; its members for vectors of tables are the first of their offsets.
 * Freestanding.
 * Written by plan/generate from plan/plan.fbs; change that file instead. */
/* clang-format off */
#ifndef FIRN_PLAN_GENERATED_READER_H
#define FIRN_PLAN_GENERATED_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "plan/access.h"

/* The schema hash: SHA-256 of plan/generated/schema.txt. */
extern const uint8_t firn_schema_hash[32];

enum {
    FIRN_FB_CLIPPING_NONE = 0,
    FIRN_FB_CLIPPING_NORM = 1,
    FIRN_FB_CLIPPING_VALUE = 2
};

enum {
    FIRN_FB_DATA_PART_ALL = 0,
    FIRN_FB_DATA_PART_TRAIN = 1,
    FIRN_FB_DATA_PART_HELD_OUT = 2
};

enum {
    FIRN_FB_ELEMENT_TYPE_FLOAT32 = 0,
    FIRN_FB_ELEMENT_TYPE_FLOAT16 = 1,
    FIRN_FB_ELEMENT_TYPE_BFLOAT16 = 2,
    FIRN_FB_ELEMENT_TYPE_CBFLOAT16 = 3,
    FIRN_FB_ELEMENT_TYPE_INT32 = 4,
    FIRN_FB_ELEMENT_TYPE_INT64 = 5,
    FIRN_FB_ELEMENT_TYPE_UINT8 = 6,
    FIRN_FB_ELEMENT_TYPE_UINT16 = 7,
    FIRN_FB_ELEMENT_TYPE_INT16 = 8,
    FIRN_FB_ELEMENT_TYPE_INT8 = 9,
    FIRN_FB_ELEMENT_TYPE_BOOL = 10
};

enum {
    FIRN_FB_EPOCH_END_WRAP = 0,
    FIRN_FB_EPOCH_END_STOP = 1,
    FIRN_FB_EPOCH_END_SHORT = 2
};

enum {
    FIRN_FB_INITIALISER_RULE_CONSTANT = 0,
    FIRN_FB_INITIALISER_RULE_NORMAL = 1,
    FIRN_FB_INITIALISER_RULE_UNIFORM = 2,
    FIRN_FB_INITIALISER_RULE_WEIGHTS = 3,
    FIRN_FB_INITIALISER_RULE_TRUNCATED_NORMAL = 4
};

enum {
    FIRN_FB_METRIC_KIND_MEAN_LOSS = 0,
    FIRN_FB_METRIC_KIND_PERPLEXITY = 1,
    FIRN_FB_METRIC_KIND_ACCURACY = 2,
    FIRN_FB_METRIC_KIND_WEIGHTED_ACCURACY = 3,
    FIRN_FB_METRIC_KIND_MEAN_PER_CLASS_ACCURACY = 4,
    FIRN_FB_METRIC_KIND_MEAN_IOU = 5,
    FIRN_FB_METRIC_KIND_DICE = 6,
    FIRN_FB_METRIC_KIND_F_BETA_MICRO = 7,
    FIRN_FB_METRIC_KIND_F_BETA_MACRO = 8,
    FIRN_FB_METRIC_KIND_AUC = 9,
    FIRN_FB_METRIC_KIND_MEAN_SQUARED_ERROR = 10
};

enum {
    FIRN_FB_MICRO_BATCH_ORDER_SEQUENTIAL = 0,
    FIRN_FB_MICRO_BATCH_ORDER_TREE = 1
};

enum {
    FIRN_FB_MODE_TRAIN = 0,
    FIRN_FB_MODE_EVAL = 1
};

enum {
    FIRN_FB_PHASE_KIND_DERIVE = 0,
    FIRN_FB_PHASE_KIND_MICRO_BATCH = 1,
    FIRN_FB_PHASE_KIND_FINALISE = 2,
    FIRN_FB_PHASE_KIND_UPDATE = 3,
    FIRN_FB_PHASE_KIND_BOOKKEEP = 4,
    FIRN_FB_PHASE_KIND_EVALUATE = 5,
    FIRN_FB_PHASE_KIND_COUNT = 6
};

enum {
    FIRN_FB_REDUCTION_KIND_F32 = 0,
    FIRN_FB_REDUCTION_KIND_CHUNKED = 1,
    FIRN_FB_REDUCTION_KIND_EVEN_ODD_BLOCKS = 2,
    FIRN_FB_REDUCTION_KIND_PAIRS = 3
};

enum {
    FIRN_FB_REGION_KIND_PARAMETERS = 0,
    FIRN_FB_REGION_KIND_OPTIMIZER = 1,
    FIRN_FB_REGION_KIND_SESSION = 2,
    FIRN_FB_REGION_KIND_RING = 3,
    FIRN_FB_REGION_KIND_ARENA = 4,
    FIRN_FB_REGION_KIND_CONSTANT = 5,
    FIRN_FB_REGION_KIND_SLOW_PARAMETERS = 6,
    FIRN_FB_REGION_KIND_SLOW_OPTIMIZER = 7,
    FIRN_FB_REGION_KIND_SLOW_SESSION = 8,
    FIRN_FB_REGION_KIND_SLOW_RING = 9,
    FIRN_FB_REGION_KIND_SLOW_ARENA = 10,
    FIRN_FB_REGION_KIND_SLOW_CONSTANT = 11
};

enum {
    FIRN_FB_ROLE_PARAMETER = 0,
    FIRN_FB_ROLE_BUFFER = 1,
    FIRN_FB_ROLE_OPTIMIZER_STATE = 2,
    FIRN_FB_ROLE_COUNTER = 3,
    FIRN_FB_ROLE_INPUT = 4,
    FIRN_FB_ROLE_ACTIVATION = 5,
    FIRN_FB_ROLE_GRADIENT = 6,
    FIRN_FB_ROLE_RESULT = 7,
    FIRN_FB_ROLE_SCRATCH = 8,
    FIRN_FB_ROLE_CONSTANT = 9,
    FIRN_FB_ROLE_FROZEN = 10,
    FIRN_FB_ROLE_RING = 11,
    FIRN_FB_ROLE_CACHE = 12
};

enum {
    FIRN_FB_SAMPLE_UNIT_WINDOW = 0,
    FIRN_FB_SAMPLE_UNIT_RECORD = 1
};

enum {
    FIRN_FB_SAMPLER_KIND_SEQUENTIAL = 0,
    FIRN_FB_SAMPLER_KIND_PERMUTATION = 1
};

enum {
    FIRN_FB_SCHEDULE_KIND_CONSTANT = 0,
    FIRN_FB_SCHEDULE_KIND_LINEAR = 1,
    FIRN_FB_SCHEDULE_KIND_COSINE = 2,
    FIRN_FB_SCHEDULE_KIND_SEQUENTIAL = 3,
    FIRN_FB_SCHEDULE_KIND_POLYNOMIAL = 4,
    FIRN_FB_SCHEDULE_KIND_EXPONENTIAL = 5,
    FIRN_FB_SCHEDULE_KIND_INVERSE_TIME = 6,
    FIRN_FB_SCHEDULE_KIND_INVERSE_SQUARE_ROOT = 7,
    FIRN_FB_SCHEDULE_KIND_COSINE_PERIODIC = 8,
    FIRN_FB_SCHEDULE_KIND_MULTI_STEP = 9,
    FIRN_FB_SCHEDULE_KIND_PIECEWISE = 10,
    FIRN_FB_SCHEDULE_KIND_TABLE = 11,
    FIRN_FB_SCHEDULE_KIND_EXPRESSION = 12,
    FIRN_FB_SCHEDULE_KIND_CYCLIC = 13,
    FIRN_FB_SCHEDULE_KIND_ONE_CYCLE = 14,
    FIRN_FB_SCHEDULE_KIND_PRODUCT = 15
};

enum {
    FIRN_FB_SCHEDULE_OPERATION_NUMBER = 0,
    FIRN_FB_SCHEDULE_OPERATION_STEP = 1,
    FIRN_FB_SCHEDULE_OPERATION_ADD = 2,
    FIRN_FB_SCHEDULE_OPERATION_SUBTRACT = 3,
    FIRN_FB_SCHEDULE_OPERATION_MULTIPLY = 4,
    FIRN_FB_SCHEDULE_OPERATION_DIVIDE = 5,
    FIRN_FB_SCHEDULE_OPERATION_NEGATE = 6,
    FIRN_FB_SCHEDULE_OPERATION_POWER = 7,
    FIRN_FB_SCHEDULE_OPERATION_MINIMUM = 8,
    FIRN_FB_SCHEDULE_OPERATION_MAXIMUM = 9,
    FIRN_FB_SCHEDULE_OPERATION_LESS = 10,
    FIRN_FB_SCHEDULE_OPERATION_LESS_OR_EQUAL = 11,
    FIRN_FB_SCHEDULE_OPERATION_GREATER = 12,
    FIRN_FB_SCHEDULE_OPERATION_GREATER_OR_EQUAL = 13,
    FIRN_FB_SCHEDULE_OPERATION_WHERE = 14,
    FIRN_FB_SCHEDULE_OPERATION_EXP = 15,
    FIRN_FB_SCHEDULE_OPERATION_LOG = 16,
    FIRN_FB_SCHEDULE_OPERATION_SQUARE_ROOT = 17,
    FIRN_FB_SCHEDULE_OPERATION_SINE = 18,
    FIRN_FB_SCHEDULE_OPERATION_COSINE = 19,
    FIRN_FB_SCHEDULE_OPERATION_FLOOR = 20
};

typedef struct firn_fb_reduction {
    uint8_t kind;
    uint8_t accumulator;
    uint8_t output;
    uint8_t reserved_byte;
    uint32_t chunk;
    uint32_t reserved_low;
    uint32_t reserved_high;
} firn_fb_reduction;
_Static_assert(sizeof(firn_fb_reduction) == 16, "no padding");

typedef struct firn_fb_schedule_instruction {
    uint16_t operation;
    uint16_t reserved_low;
    uint32_t reserved_high;
    double value;
} firn_fb_schedule_instruction;
_Static_assert(sizeof(firn_fb_schedule_instruction) == 16, "no padding");

typedef struct firn_fb_schedule_node {
    uint16_t kind;
    uint16_t mode;
    uint16_t first_child;
    uint16_t child_count;
    uint64_t total;
    uint64_t start;
    uint64_t auxiliary;
    double initial;
    double final;
    double rate;
    double power;
    uint64_t reserved;
} firn_fb_schedule_node;
_Static_assert(sizeof(firn_fb_schedule_node) == 72, "no padding");

typedef struct firn_fb_schedule_number {
    double value;
} firn_fb_schedule_number;
_Static_assert(sizeof(firn_fb_schedule_number) == 8, "no padding");

typedef struct firn_fb_initialiser { const uint8_t *at; } firn_fb_initialiser;
typedef struct firn_fb_input { const uint8_t *at; } firn_fb_input;
typedef struct firn_fb_metric { const uint8_t *at; } firn_fb_metric;
typedef struct firn_fb_op { const uint8_t *at; } firn_fb_op;
typedef struct firn_fb_output { const uint8_t *at; } firn_fb_output;
typedef struct firn_fb_phase { const uint8_t *at; } firn_fb_phase;
typedef struct firn_fb_plan { const uint8_t *at; } firn_fb_plan;
typedef struct firn_fb_sampler { const uint8_t *at; } firn_fb_sampler;
typedef struct firn_fb_schedule { const uint8_t *at; } firn_fb_schedule;
typedef struct firn_fb_tensor { const uint8_t *at; } firn_fb_tensor;

enum {
    FIRN_FB_TABLE_INITIALISER = 0,
    FIRN_FB_TABLE_INPUT = 1,
    FIRN_FB_TABLE_METRIC = 2,
    FIRN_FB_TABLE_OP = 3,
    FIRN_FB_TABLE_OUTPUT = 4,
    FIRN_FB_TABLE_PHASE = 5,
    FIRN_FB_TABLE_PLAN = 6,
    FIRN_FB_TABLE_SAMPLER = 7,
    FIRN_FB_TABLE_SCHEDULE = 8,
    FIRN_FB_TABLE_TENSOR = 9,
};

/* --- Initialiser */
static inline uint8_t firn_fb_initialiser_rule(firn_fb_initialiser table) { return firn_fb_scalar_uint8(table.at, 4, 0u); }
static inline uint8_t firn_fb_initialiser_element(firn_fb_initialiser table) { return firn_fb_scalar_uint8(table.at, 6, 0u); }
static inline uint32_t firn_fb_initialiser_rng_id(firn_fb_initialiser table) { return firn_fb_scalar_uint32(table.at, 8, 0u); }
static inline float firn_fb_initialiser_a(firn_fb_initialiser table) { return firn_fb_scalar_float(table.at, 10, 0x0p+0f); }
static inline float firn_fb_initialiser_b(firn_fb_initialiser table) { return firn_fb_scalar_float(table.at, 12, 0x0p+0f); }
static inline int64_t firn_fb_initialiser_integer(firn_fb_initialiser table) { return firn_fb_scalar_int64(table.at, 14, 0); }
static inline uint64_t firn_fb_initialiser_weights(firn_fb_initialiser table) { return firn_fb_scalar_uint64(table.at, 16, 0u); }
static inline float firn_fb_initialiser_low(firn_fb_initialiser table) { return firn_fb_scalar_float(table.at, 18, 0x0p+0f); }
static inline float firn_fb_initialiser_high(firn_fb_initialiser table) { return firn_fb_scalar_float(table.at, 20, 0x0p+0f); }

typedef struct firn_fb_initialiser_record {
    firn_fb_initialiser table;
    uint32_t rule;
    uint32_t element;
    uint32_t rng_id;
    float a;
    float b;
    int64_t integer;
    uint64_t weights;
    float low;
    float high;
} firn_fb_initialiser_record;
static inline void firn_fb_initialiser_read(firn_fb_initialiser table, firn_fb_initialiser_record *record) { firn_fb_read(table.at, 0, record); }
static inline void firn_fb_initialiser_read_at(const uint8_t *offsets, uint32_t index, firn_fb_initialiser_record *record) { firn_fb_read_at(offsets, index, 0, record); }

/* --- Input */
static inline const char *firn_fb_input_name(firn_fb_input table) { return firn_fb_text(table.at, 4); }
static inline uint32_t firn_fb_input_name_length(firn_fb_input table) { return firn_fb_count(table.at, 4); }
static inline uint32_t firn_fb_input_tensor(firn_fb_input table) { return firn_fb_scalar_uint32(table.at, 6, 0u); }
static inline uint8_t firn_fb_input_stream(firn_fb_input table) { return firn_fb_scalar_uint8(table.at, 8, 0u); }
static inline uint8_t firn_fb_input_element(firn_fb_input table) { return firn_fb_scalar_uint8(table.at, 10, 0u); }
static inline uint32_t firn_fb_input_advance(firn_fb_input table) { return firn_fb_scalar_uint32(table.at, 12, 0u); }
static inline uint32_t firn_fb_input_limit(firn_fb_input table) { return firn_fb_scalar_uint32(table.at, 14, 0u); }
static inline float firn_fb_input_scale(firn_fb_input table) { return firn_fb_scalar_float(table.at, 16, 0x1p+0f); }
static inline float firn_fb_input_shift(firn_fb_input table) { return firn_fb_scalar_float(table.at, 18, 0x0p+0f); }
static inline bool firn_fb_input_label(firn_fb_input table) { return firn_fb_scalar_uint8(table.at, 20, false) != 0; }
static inline uint32_t firn_fb_input_ring(firn_fb_input table) { return firn_fb_scalar_uint32(table.at, 22, 4294967295u); }

typedef struct firn_fb_input_record {
    firn_fb_input table;
    const char *name;
    uint32_t name_length;
    uint32_t tensor;
    uint32_t stream;
    uint32_t element;
    uint32_t advance;
    uint32_t limit;
    float scale;
    float shift;
    uint32_t label;
    uint32_t ring;
} firn_fb_input_record;
static inline void firn_fb_input_read(firn_fb_input table, firn_fb_input_record *record) { firn_fb_read(table.at, 1, record); }
static inline void firn_fb_input_read_at(const uint8_t *offsets, uint32_t index, firn_fb_input_record *record) { firn_fb_read_at(offsets, index, 1, record); }

/* --- Metric */
static inline uint8_t firn_fb_metric_kind(firn_fb_metric table) { return firn_fb_scalar_uint8(table.at, 4, 0u); }
static inline uint32_t firn_fb_metric_sum(firn_fb_metric table) { return firn_fb_scalar_uint32(table.at, 6, 0u); }
static inline uint32_t firn_fb_metric_count(firn_fb_metric table) { return firn_fb_scalar_uint32(table.at, 8, 0u); }
static inline float firn_fb_metric_beta(firn_fb_metric table) { return firn_fb_scalar_float(table.at, 10, 0x0p+0f); }
static inline uint32_t firn_fb_metric_ignore_classes_count(firn_fb_metric table) { return firn_fb_count(table.at, 12); }
static inline const uint8_t *firn_fb_metric_ignore_classes_data(firn_fb_metric table) { return firn_fb_elements(table.at, 12); }
static inline uint32_t firn_fb_metric_ignore_classes_at(firn_fb_metric table, uint32_t index) { return firn_fb_index_at(table.at, 12, index); }

typedef struct firn_fb_metric_record {
    firn_fb_metric table;
    uint32_t kind;
    uint32_t sum;
    uint32_t count;
    float beta;
    const uint32_t *ignore_classes;
    uint32_t ignore_classes_count;
} firn_fb_metric_record;
static inline void firn_fb_metric_read(firn_fb_metric table, firn_fb_metric_record *record) { firn_fb_read(table.at, 2, record); }
static inline void firn_fb_metric_read_at(const uint8_t *offsets, uint32_t index, firn_fb_metric_record *record) { firn_fb_read_at(offsets, index, 2, record); }

/* --- Op */
static inline uint16_t firn_fb_op_code(firn_fb_op table) { return firn_fb_scalar_uint16(table.at, 4, 0u); }
static inline uint32_t firn_fb_op_inputs_count(firn_fb_op table) { return firn_fb_count(table.at, 6); }
static inline const uint8_t *firn_fb_op_inputs_data(firn_fb_op table) { return firn_fb_elements(table.at, 6); }
static inline uint32_t firn_fb_op_inputs_at(firn_fb_op table, uint32_t index) { return firn_fb_index_at(table.at, 6, index); }
static inline uint32_t firn_fb_op_outputs_count(firn_fb_op table) { return firn_fb_count(table.at, 8); }
static inline const uint8_t *firn_fb_op_outputs_data(firn_fb_op table) { return firn_fb_elements(table.at, 8); }
static inline uint32_t firn_fb_op_outputs_at(firn_fb_op table, uint32_t index) { return firn_fb_index_at(table.at, 8, index); }
static inline uint32_t firn_fb_op_integers_count(firn_fb_op table) { return firn_fb_count(table.at, 10); }
static inline const uint8_t *firn_fb_op_integers_data(firn_fb_op table) { return firn_fb_elements(table.at, 10); }
static inline int64_t firn_fb_op_integers_at(firn_fb_op table, uint32_t index) { return firn_fb_load_int64(firn_fb_element(table.at, 10, 8, index)); }
static inline uint32_t firn_fb_op_reals_count(firn_fb_op table) { return firn_fb_count(table.at, 12); }
static inline const uint8_t *firn_fb_op_reals_data(firn_fb_op table) { return firn_fb_elements(table.at, 12); }
static inline float firn_fb_op_reals_at(firn_fb_op table, uint32_t index) { return firn_fb_load_float(firn_fb_element(table.at, 12, 4, index)); }
static inline uint32_t firn_fb_op_reductions_count(firn_fb_op table) { return firn_fb_count(table.at, 14); }
static inline const uint8_t *firn_fb_op_reductions_data(firn_fb_op table) { return firn_fb_elements(table.at, 14); }
static inline firn_fb_reduction firn_fb_op_reductions_at(firn_fb_op table, uint32_t index) {
    firn_fb_reduction value;
    memcpy(&value, __builtin_assume_aligned(firn_fb_element(table.at, 14, 16, index), 4), sizeof value);
    return value;
}

typedef struct firn_fb_op_record {
    firn_fb_op table;
    uint32_t code;
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
} firn_fb_op_record;
static inline void firn_fb_op_read(firn_fb_op table, firn_fb_op_record *record) { firn_fb_read(table.at, 3, record); }
static inline void firn_fb_op_read_at(const uint8_t *offsets, uint32_t index, firn_fb_op_record *record) { firn_fb_read_at(offsets, index, 3, record); }

/* --- Output */
static inline const char *firn_fb_output_name(firn_fb_output table) { return firn_fb_text(table.at, 4); }
static inline uint32_t firn_fb_output_name_length(firn_fb_output table) { return firn_fb_count(table.at, 4); }
static inline uint32_t firn_fb_output_tensor(firn_fb_output table) { return firn_fb_scalar_uint32(table.at, 6, 0u); }

typedef struct firn_fb_output_record {
    firn_fb_output table;
    const char *name;
    uint32_t name_length;
    uint32_t tensor;
} firn_fb_output_record;
static inline void firn_fb_output_read(firn_fb_output table, firn_fb_output_record *record) { firn_fb_read(table.at, 4, record); }
static inline void firn_fb_output_read_at(const uint8_t *offsets, uint32_t index, firn_fb_output_record *record) { firn_fb_read_at(offsets, index, 4, record); }

/* --- Phase */
static inline uint8_t firn_fb_phase_kind(firn_fb_phase table) { return firn_fb_scalar_uint8(table.at, 4, 0u); }
static inline uint32_t firn_fb_phase_ops_count(firn_fb_phase table) { return firn_fb_count(table.at, 6); }
static inline const uint8_t *firn_fb_phase_ops_data(firn_fb_phase table) { return firn_fb_elements(table.at, 6); }
static inline firn_fb_op firn_fb_phase_ops_at(firn_fb_phase table, uint32_t index) { return (firn_fb_op){firn_fb_table_at(table.at, 6, index)}; }

typedef struct firn_fb_phase_record {
    firn_fb_phase table;
    uint32_t kind;
    const uint8_t *ops;
    uint32_t ops_count;
} firn_fb_phase_record;
static inline void firn_fb_phase_read(firn_fb_phase table, firn_fb_phase_record *record) { firn_fb_read(table.at, 5, record); }
static inline void firn_fb_phase_read_at(const uint8_t *offsets, uint32_t index, firn_fb_phase_record *record) { firn_fb_read_at(offsets, index, 5, record); }

/* --- Plan */
enum {
    FIRN_FB_SLOT_PLAN_LOSS = 36,
    FIRN_FB_SLOT_PLAN_LEARNING_RATE = 38,
    FIRN_FB_SLOT_PLAN_LOSS_SCALE = 40,
    FIRN_FB_SLOT_PLAN_GLOBAL_STEP = 42,
    FIRN_FB_SLOT_PLAN_OPTIMIZER_STEP = 44,
    FIRN_FB_SLOT_PLAN_FINITE = 46,
    FIRN_FB_SLOT_PLAN_AT_FLOOR = 48,
    FIRN_FB_SLOT_PLAN_GRADIENT_NORM = 50,
};
static inline uint32_t firn_fb_plan_numerics_version(firn_fb_plan table) { return firn_fb_scalar_uint32(table.at, 4, 0u); }
static inline uint8_t firn_fb_plan_micro_batch_order(firn_fb_plan table) { return firn_fb_scalar_uint8(table.at, 6, 0u); }
static inline bool firn_fb_plan_check_loss(firn_fb_plan table) { return firn_fb_scalar_uint8(table.at, 8, true) != 0; }
static inline uint32_t firn_fb_plan_micro_batches(firn_fb_plan table) { return firn_fb_scalar_uint32(table.at, 10, 1u); }
static inline uint64_t firn_fb_plan_seed(firn_fb_plan table) { return firn_fb_scalar_uint64(table.at, 12, 0u); }
static inline uint64_t firn_fb_plan_steps(firn_fb_plan table) { return firn_fb_scalar_uint64(table.at, 14, 0u); }
static inline uint32_t firn_fb_plan_tensors_count(firn_fb_plan table) { return firn_fb_count(table.at, 16); }
static inline const uint8_t *firn_fb_plan_tensors_data(firn_fb_plan table) { return firn_fb_elements(table.at, 16); }
static inline firn_fb_tensor firn_fb_plan_tensors_at(firn_fb_plan table, uint32_t index) { return (firn_fb_tensor){firn_fb_table_at(table.at, 16, index)}; }
static inline uint32_t firn_fb_plan_state_tensors(firn_fb_plan table) { return firn_fb_scalar_uint32(table.at, 18, 0u); }
static inline uint32_t firn_fb_plan_phases_count(firn_fb_plan table) { return firn_fb_count(table.at, 20); }
static inline const uint8_t *firn_fb_plan_phases_data(firn_fb_plan table) { return firn_fb_elements(table.at, 20); }
static inline firn_fb_phase firn_fb_plan_phases_at(firn_fb_plan table, uint32_t index) { return (firn_fb_phase){firn_fb_table_at(table.at, 20, index)}; }
static inline uint32_t firn_fb_plan_inputs_count(firn_fb_plan table) { return firn_fb_count(table.at, 22); }
static inline const uint8_t *firn_fb_plan_inputs_data(firn_fb_plan table) { return firn_fb_elements(table.at, 22); }
static inline firn_fb_input firn_fb_plan_inputs_at(firn_fb_plan table, uint32_t index) { return (firn_fb_input){firn_fb_table_at(table.at, 22, index)}; }
static inline uint32_t firn_fb_plan_outputs_count(firn_fb_plan table) { return firn_fb_count(table.at, 24); }
static inline const uint8_t *firn_fb_plan_outputs_data(firn_fb_plan table) { return firn_fb_elements(table.at, 24); }
static inline firn_fb_output firn_fb_plan_outputs_at(firn_fb_plan table, uint32_t index) { return (firn_fb_output){firn_fb_table_at(table.at, 24, index)}; }
static inline bool firn_fb_plan_sampler_present(firn_fb_plan table) { return firn_fb_slot(table.at, 26) != NULL; }
static inline firn_fb_sampler firn_fb_plan_sampler(firn_fb_plan table) { return (firn_fb_sampler){firn_fb_follow(firn_fb_slot(table.at, 26))}; }
static inline uint32_t firn_fb_plan_schedule_nodes_count(firn_fb_plan table) { return firn_fb_count(table.at, 28); }
static inline const uint8_t *firn_fb_plan_schedule_nodes_data(firn_fb_plan table) { return firn_fb_elements(table.at, 28); }
static inline firn_fb_schedule_node firn_fb_plan_schedule_nodes_at(firn_fb_plan table, uint32_t index) {
    firn_fb_schedule_node value;
    memcpy(&value, __builtin_assume_aligned(firn_fb_element(table.at, 28, 72, index), 8), sizeof value);
    return value;
}
static inline uint32_t firn_fb_plan_schedules_count(firn_fb_plan table) { return firn_fb_count(table.at, 30); }
static inline const uint8_t *firn_fb_plan_schedules_data(firn_fb_plan table) { return firn_fb_elements(table.at, 30); }
static inline firn_fb_schedule firn_fb_plan_schedules_at(firn_fb_plan table, uint32_t index) { return (firn_fb_schedule){firn_fb_table_at(table.at, 30, index)}; }
static inline uint32_t firn_fb_plan_initialisers_count(firn_fb_plan table) { return firn_fb_count(table.at, 32); }
static inline const uint8_t *firn_fb_plan_initialisers_data(firn_fb_plan table) { return firn_fb_elements(table.at, 32); }
static inline firn_fb_initialiser firn_fb_plan_initialisers_at(firn_fb_plan table, uint32_t index) { return (firn_fb_initialiser){firn_fb_table_at(table.at, 32, index)}; }
static inline uint32_t firn_fb_plan_metrics_count(firn_fb_plan table) { return firn_fb_count(table.at, 34); }
static inline const uint8_t *firn_fb_plan_metrics_data(firn_fb_plan table) { return firn_fb_elements(table.at, 34); }
static inline firn_fb_metric firn_fb_plan_metrics_at(firn_fb_plan table, uint32_t index) { return (firn_fb_metric){firn_fb_table_at(table.at, 34, index)}; }
static inline uint32_t firn_fb_plan_loss(firn_fb_plan table) { return firn_fb_scalar_uint32(table.at, 36, 4294967295u); }
static inline uint32_t firn_fb_plan_learning_rate(firn_fb_plan table) { return firn_fb_scalar_uint32(table.at, 38, 4294967295u); }
static inline uint32_t firn_fb_plan_loss_scale(firn_fb_plan table) { return firn_fb_scalar_uint32(table.at, 40, 4294967295u); }
static inline uint32_t firn_fb_plan_global_step(firn_fb_plan table) { return firn_fb_scalar_uint32(table.at, 42, 4294967295u); }
static inline uint32_t firn_fb_plan_optimizer_step(firn_fb_plan table) { return firn_fb_scalar_uint32(table.at, 44, 4294967295u); }
static inline uint32_t firn_fb_plan_finite(firn_fb_plan table) { return firn_fb_scalar_uint32(table.at, 46, 4294967295u); }
static inline uint32_t firn_fb_plan_at_floor(firn_fb_plan table) { return firn_fb_scalar_uint32(table.at, 48, 4294967295u); }
static inline uint32_t firn_fb_plan_gradient_norm(firn_fb_plan table) { return firn_fb_scalar_uint32(table.at, 50, 4294967295u); }
static inline uint32_t firn_fb_plan_schedule_numbers_count(firn_fb_plan table) { return firn_fb_count(table.at, 52); }
static inline const uint8_t *firn_fb_plan_schedule_numbers_data(firn_fb_plan table) { return firn_fb_elements(table.at, 52); }
static inline firn_fb_schedule_number firn_fb_plan_schedule_numbers_at(firn_fb_plan table, uint32_t index) {
    firn_fb_schedule_number value;
    memcpy(&value, __builtin_assume_aligned(firn_fb_element(table.at, 52, 8, index), 8), sizeof value);
    return value;
}
static inline uint32_t firn_fb_plan_schedule_instructions_count(firn_fb_plan table) { return firn_fb_count(table.at, 54); }
static inline const uint8_t *firn_fb_plan_schedule_instructions_data(firn_fb_plan table) { return firn_fb_elements(table.at, 54); }
static inline firn_fb_schedule_instruction firn_fb_plan_schedule_instructions_at(firn_fb_plan table, uint32_t index) {
    firn_fb_schedule_instruction value;
    memcpy(&value, __builtin_assume_aligned(firn_fb_element(table.at, 54, 16, index), 8), sizeof value);
    return value;
}
static inline uint32_t firn_fb_plan_origin_count(firn_fb_plan table) { return firn_fb_count(table.at, 56); }
static inline const uint8_t *firn_fb_plan_origin_data(firn_fb_plan table) { return firn_fb_elements(table.at, 56); }
static inline uint8_t firn_fb_plan_origin_at(firn_fb_plan table, uint32_t index) { return firn_fb_load_uint8(firn_fb_element(table.at, 56, 1, index)); }
static inline bool firn_fb_plan_losses_added(firn_fb_plan table) { return firn_fb_scalar_uint8(table.at, 58, false) != 0; }
static inline uint32_t firn_fb_plan_tokenizer_count(firn_fb_plan table) { return firn_fb_count(table.at, 60); }
static inline const uint8_t *firn_fb_plan_tokenizer_data(firn_fb_plan table) { return firn_fb_elements(table.at, 60); }
static inline uint8_t firn_fb_plan_tokenizer_at(firn_fb_plan table, uint32_t index) { return firn_fb_load_uint8(firn_fb_element(table.at, 60, 1, index)); }

typedef struct firn_fb_plan_record {
    firn_fb_plan table;
    uint32_t numerics_version;
    uint32_t micro_batch_order;
    uint32_t check_loss;
    uint32_t micro_batches;
    uint64_t seed;
    uint64_t steps;
    const uint8_t *tensors;
    uint32_t tensors_count;
    uint32_t state_tensors;
    const uint8_t *phases;
    uint32_t phases_count;
    const uint8_t *inputs;
    uint32_t inputs_count;
    const uint8_t *outputs;
    uint32_t outputs_count;
    const firn_fb_schedule_node *schedule_nodes;
    uint32_t schedule_nodes_count;
    const uint8_t *schedules;
    uint32_t schedules_count;
    const uint8_t *initialisers;
    uint32_t initialisers_count;
    const uint8_t *metrics;
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
    uint32_t losses_added;
    const uint8_t *tokenizer;
    uint32_t tokenizer_count;
} firn_fb_plan_record;
static inline void firn_fb_plan_read(firn_fb_plan table, firn_fb_plan_record *record) { firn_fb_read(table.at, 6, record); }
static inline void firn_fb_plan_read_at(const uint8_t *offsets, uint32_t index, firn_fb_plan_record *record) { firn_fb_read_at(offsets, index, 6, record); }

/* --- Sampler */
static inline uint8_t firn_fb_sampler_kind(firn_fb_sampler table) { return firn_fb_scalar_uint8(table.at, 4, 0u); }
static inline uint8_t firn_fb_sampler_unit(firn_fb_sampler table) { return firn_fb_scalar_uint8(table.at, 6, 0u); }
static inline uint8_t firn_fb_sampler_part(firn_fb_sampler table) { return firn_fb_scalar_uint8(table.at, 8, 0u); }
static inline uint8_t firn_fb_sampler_epoch_end(firn_fb_sampler table) { return firn_fb_scalar_uint8(table.at, 10, 0u); }
static inline uint32_t firn_fb_sampler_window(firn_fb_sampler table) { return firn_fb_scalar_uint32(table.at, 12, 0u); }
static inline uint32_t firn_fb_sampler_stride(firn_fb_sampler table) { return firn_fb_scalar_uint32(table.at, 14, 0u); }
static inline uint32_t firn_fb_sampler_samples(firn_fb_sampler table) { return firn_fb_scalar_uint32(table.at, 16, 0u); }
static inline uint32_t firn_fb_sampler_held_out_per_mille(firn_fb_sampler table) { return firn_fb_scalar_uint32(table.at, 18, 0u); }
static inline uint64_t firn_fb_sampler_seed(firn_fb_sampler table) { return firn_fb_scalar_uint64(table.at, 20, 0u); }
static inline uint32_t firn_fb_sampler_cursor(firn_fb_sampler table) { return firn_fb_scalar_uint32(table.at, 22, 0u); }
static inline uint32_t firn_fb_sampler_pushed(firn_fb_sampler table) { return firn_fb_scalar_uint32(table.at, 24, 4294967295u); }
static inline uint32_t firn_fb_sampler_counted(firn_fb_sampler table) { return firn_fb_scalar_uint32(table.at, 26, 4294967295u); }

typedef struct firn_fb_sampler_record {
    firn_fb_sampler table;
    uint32_t kind;
    uint32_t unit;
    uint32_t part;
    uint32_t epoch_end;
    uint32_t window;
    uint32_t stride;
    uint32_t samples;
    uint32_t held_out_per_mille;
    uint64_t seed;
    uint32_t cursor;
    uint32_t pushed;
    uint32_t counted;
} firn_fb_sampler_record;
static inline void firn_fb_sampler_read(firn_fb_sampler table, firn_fb_sampler_record *record) { firn_fb_read(table.at, 7, record); }
static inline void firn_fb_sampler_read_at(const uint8_t *offsets, uint32_t index, firn_fb_sampler_record *record) { firn_fb_read_at(offsets, index, 7, record); }

/* --- Schedule */
static inline uint32_t firn_fb_schedule_root(firn_fb_schedule table) { return firn_fb_scalar_uint32(table.at, 4, 0u); }
static inline uint32_t firn_fb_schedule_tensor(firn_fb_schedule table) { return firn_fb_scalar_uint32(table.at, 6, 0u); }

typedef struct firn_fb_schedule_record {
    firn_fb_schedule table;
    uint32_t root;
    uint32_t tensor;
} firn_fb_schedule_record;
static inline void firn_fb_schedule_read(firn_fb_schedule table, firn_fb_schedule_record *record) { firn_fb_read(table.at, 8, record); }
static inline void firn_fb_schedule_read_at(const uint8_t *offsets, uint32_t index, firn_fb_schedule_record *record) { firn_fb_read_at(offsets, index, 8, record); }

/* --- Tensor */
static inline uint8_t firn_fb_tensor_type(firn_fb_tensor table) { return firn_fb_scalar_uint8(table.at, 4, 0u); }
static inline uint8_t firn_fb_tensor_role(firn_fb_tensor table) { return firn_fb_scalar_uint8(table.at, 6, 0u); }
static inline uint8_t firn_fb_tensor_region(firn_fb_tensor table) { return firn_fb_scalar_uint8(table.at, 8, 0u); }
static inline uint64_t firn_fb_tensor_offset(firn_fb_tensor table) { return firn_fb_scalar_uint64(table.at, 10, 0u); }
static inline uint32_t firn_fb_tensor_dims_count(firn_fb_tensor table) { return firn_fb_count(table.at, 12); }
static inline const uint8_t *firn_fb_tensor_dims_data(firn_fb_tensor table) { return firn_fb_elements(table.at, 12); }
static inline uint32_t firn_fb_tensor_dims_at(firn_fb_tensor table, uint32_t index) { return firn_fb_index_at(table.at, 12, index); }
static inline uint32_t firn_fb_tensor_first(firn_fb_tensor table) { return firn_fb_scalar_uint32(table.at, 14, 0u); }
static inline uint32_t firn_fb_tensor_last(firn_fb_tensor table) { return firn_fb_scalar_uint32(table.at, 16, 0u); }
static inline const char *firn_fb_tensor_name(firn_fb_tensor table) { return firn_fb_text(table.at, 18); }
static inline uint32_t firn_fb_tensor_name_length(firn_fb_tensor table) { return firn_fb_count(table.at, 18); }
static inline uint32_t firn_fb_tensor_base(firn_fb_tensor table) { return firn_fb_scalar_uint32(table.at, 20, 4294967295u); }

typedef struct firn_fb_tensor_record {
    firn_fb_tensor table;
    uint32_t type;
    uint32_t role;
    uint32_t region;
    uint64_t offset;
    const uint32_t *dims;
    uint32_t dims_count;
    uint32_t first;
    uint32_t last;
    const char *name;
    uint32_t name_length;
    uint32_t base;
} firn_fb_tensor_record;
static inline void firn_fb_tensor_read(firn_fb_tensor table, firn_fb_tensor_record *record) { firn_fb_read(table.at, 9, record); }
static inline void firn_fb_tensor_read_at(const uint8_t *offsets, uint32_t index, firn_fb_tensor_record *record) { firn_fb_read_at(offsets, index, 9, record); }

static inline firn_fb_plan firn_fb_plan_root(const uint8_t *buffer) {
    return (firn_fb_plan){firn_fb_follow(buffer)};
}

#endif
