/* Ops as both sides see them: element types, shapes, and the columns of plan/ops.def as a table. What an op accepts is
 * checked in plan/shapes. Freestanding. */
#ifndef FIRN_PLAN_OPS_H
#define FIRN_PLAN_OPS_H

#include <stdbool.h>
#include <stdint.h>

#include "plan/generated/operands.h"

#define FIRN_RANK_MAX       8
#define FIRN_INPUTS_MAX     8
#define FIRN_OUTPUTS_MAX    8
#define FIRN_ATTRIBUTES_MAX 8
#define FIRN_REDUCTIONS_MAX 4
#define FIRN_RNG_ID_END     0xffffff00u /* an rng_id is below; NUMERICS.md keeps the rest for itself */

/* Values of ElementType in plan.fbs. */
typedef enum firn_type {
    FIRN_FLOAT32 = 0,
    FIRN_FLOAT16 = 1,
    FIRN_BFLOAT16 = 2,
    FIRN_CBFLOAT16 = 3,
    FIRN_INT32 = 4,
    FIRN_INT64 = 5,
    FIRN_UINT8 = 6
} firn_type;

/* Values of ReductionKind in plan.fbs. */
enum { FIRN_REDUCTION_F32 = 0, FIRN_REDUCTION_CHUNKED = 1 };

/* Elements of the output of gradient_factors, and where each stands; decay_factors adds the weight decay. */
enum { FIRN_FACTOR_UNSCALE = 0, FIRN_FACTOR_CLIP = 1, FIRN_FACTOR_LIMIT = 2, FIRN_FACTORS = 3 };
enum { FIRN_FACTOR_DECAY = 3, FIRN_FACTORS_AND_DECAY = 4 };

/* Buckets of metric_auc: one less than the 200 thresholds that the reference has. */
enum { FIRN_AUC_BUCKETS = 199 };

/* How a sum of products is taken: what a plan may choose of struct Reduction in plan.fbs. */
typedef struct firn_reduction {
    uint8_t kind;
    uint8_t accumulator; /* firn_type */
    uint8_t output;      /* firn_type */
    uint32_t chunk;      /* terms; 0 for f32 */
} firn_reduction;

typedef enum firn_op_code {
#define FIRN_OP(name, code, ...) FIRN_OP_##name = (code),
#include "plan/ops.def"
#undef FIRN_OP
} firn_op_code;

/* The words of the columns, as plan/ops.def explains them. */
typedef enum firn_autocast {
    FIRN_AUTOCAST_half,
    FIRN_AUTOCAST_embedding,
    FIRN_AUTOCAST_norm,
    FIRN_AUTOCAST_single,
    FIRN_AUTOCAST_promote,
    FIRN_AUTOCAST_follow,
    FIRN_AUTOCAST_fixed
} firn_autocast;

typedef enum firn_pol_class {
    FIRN_POL_none,
    FIRN_POL_product,
    FIRN_POL_attention,
    FIRN_POL_norm,
    FIRN_POL_rotation
} firn_pol_class;

typedef enum firn_cost {
    FIRN_COST_none,
    FIRN_COST_product,
    FIRN_COST_product_of_weight,
    FIRN_COST_attention,
    FIRN_COST_attention_backward
} firn_cost;

typedef enum firn_begins { FIRN_BEGINS_nothing, FIRN_BEGINS_partial, FIRN_BEGINS_first } firn_begins;

/* Type and extent of one tensor. rank is 1 to FIRN_RANK_MAX, every extent at least 1; dims beyond rank are 0. */
typedef struct firn_shape {
    uint8_t type; /* firn_type */
    uint8_t rank;
    uint32_t dims[FIRN_RANK_MAX];
} firn_shape;

/* An op with the shapes of what it reads and the attributes it was given. */
typedef struct firn_op_signature {
    uint16_t code;
    uint8_t input_count, output_count, integer_count, real_count;
    firn_shape inputs[FIRN_INPUTS_MAX];
    firn_shape outputs[FIRN_OUTPUTS_MAX]; /* see firn_op_infer in plan/shapes/infer.h */
    int64_t integers[FIRN_ATTRIBUTES_MAX];
    float reals[FIRN_ATTRIBUTES_MAX];
} firn_op_signature;

/* No operand, no attribute; of an output that it is no input. */
#define FIRN_NONE_OF_THEM UINT8_MAX
#define FIRN_FRESH        UINT8_MAX

/* What the type of an operand must be: a firn_type, a half type or float32, or that of an input (the last constant and
 * its number). With TYPE_OWN and FORM_OWN the op's own rule says. */
enum { FIRN_TYPE_REAL = 0x10, FIRN_TYPE_OWN = 0x11, FIRN_TYPE_OF_INPUT = 0x20 };

/* What its extents must be. */
enum {
    FIRN_FORM_OWN,
    FIRN_FORM_ANY,
    FIRN_FORM_LIKE,       /* those of input a */
    FIRN_FORM_ROWS,       /* at least two: leading dimensions, then a */
    FIRN_FORM_ROW_VALUES, /* as many elements as there are leading dimensions; an output has these dimensions */
    FIRN_FORM_VECTOR,     /* one: a or b */
    FIRN_FORM_MATRIX,     /* two: a and b */
    FIRN_FORM_SUMS        /* scratch of a sum over input a */
};

/* An extent of the forms: a number, or this and a letter, which has one value in all operands of an op. */
enum { FIRN_EXTENT_LETTER = 0xf0, FIRN_LETTERS = 8 };

typedef struct firn_operand {
    uint8_t type, form, a, b;
    uint8_t changed; /* output: the input whose tensor it is, because the op changes it; else FIRN_FRESH */
} firn_operand;

/* Values that an attribute may have, as plan/ops.def explains them. */
typedef enum firn_range {
    FIRN_RANGE_OWN,
    FIRN_RANGE_FLAG,
    FIRN_RANGE_TYPE,
    FIRN_RANGE_EXTENT,
    FIRN_RANGE_COUNT,
    FIRN_RANGE_INT31,
    FIRN_RANGE_LABEL,
    FIRN_RANGE_RNG_ID,
    FIRN_RANGE_RATE,
    FIRN_RANGE_POSITIVE,
    FIRN_RANGE_NOT_NEGATIVE,
    FIRN_RANGE_FINITE,
    FIRN_RANGE_DECAY
} firn_range;

/* A row of plan/ops.def. Positions are FIRN_NONE_OF_THEM where the op has no such operand or attribute. */
typedef struct firn_op_info {
    uint16_t code;
    uint16_t operands; /* in firn_op_operands: the inputs, then the outputs */
    uint16_t ranges;   /* in firn_op_ranges: of the integers, then of the reals */
    uint8_t inputs_min, inputs_max, outputs, integers, reals, reductions;
    uint8_t in_place; /* bit i set: output 0 may occupy the very bytes of input i (same offset, same size) */
    uint8_t autocast; /* firn_autocast */
    uint8_t pol;      /* firn_pol_class */
    uint8_t cost;     /* firn_cost */
    uint8_t begins;   /* firn_begins: what the op does with output 0, which need not hold anything before */
    bool gathers, metric;
    uint8_t reduced; /* input whose type the reductions multiply */
    uint8_t inner;   /* so many reductions, the first ones, give values that are no tensor: of the type of `reduced` */
    uint8_t inner_flag; /* where this integer is 1, else float32 */
    uint8_t typed;      /* integer that names the element type in which the op works */
    uint8_t factors;    /* input that may bring the weight decay */
    /* The input that holds indices, and what they are below: an extent of an input, counted from its end, or an
     * integer. */
    uint8_t index_operand, index_table, index_from_end, index_attribute;
} firn_op_info;

extern const firn_op_info firn_op_table[FIRN_OPS];
extern const firn_operand firn_op_operands[];
extern const uint8_t firn_op_ranges[];

/* The row of an op, or NULL for a code that is not in plan/ops.def. */
const firn_op_info *firn_op_find(uint16_t code);

/* What output j must be; the input whose tensor it is, or FIRN_FRESH. */
static inline const firn_operand *firn_op_output(const firn_op_info *info, uint32_t j) {
    return &firn_op_operands[info->operands + info->inputs_max + j];
}
static inline uint8_t firn_op_changed(const firn_op_info *info, uint32_t j) {
    return firn_op_output(info, j)->changed;
}

/* Bytes of one element; 0 for a value that is not a firn_type. */
uint32_t firn_type_bytes(uint8_t type);
/* "float32" and so on; "?" for a value that is not a firn_type. */
const char *firn_type_name(uint8_t type);
/* float16, bfloat16 or cbfloat16. */
bool firn_type_is_half(uint8_t type);

/* Elements and bytes of a shape. False when the rank or an extent is out of range or the product exceeds 2^62. */
bool firn_shape_elements(const firn_shape *shape, uint64_t *elements);
bool firn_shape_bytes(const firn_shape *shape, uint64_t *bytes);

#endif
