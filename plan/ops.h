/* Ops as compiler and runtime see them: element types, shapes, and the columns of plan/ops.def as a table. What an op
 * accepts is checked in plan/shapes. Freestanding. */
#ifndef FIRN_PLAN_OPS_H
#define FIRN_PLAN_OPS_H

#include <stdbool.h>
#include <stdint.h>

#include "plan/generated/operands.h"

#define FIRN_RANK_MAX       8
#define FIRN_INPUTS_MAX     64
#define FIRN_OUTPUTS_MAX    64
#define FIRN_ATTRIBUTES_MAX 8
#define FIRN_REDUCTIONS_MAX 4
#define FIRN_ABSENT         UINT32_MAX  /* in a plan: no tensor, such as an input that an op does not have */
#define FIRN_RNG_ID_END     0xffffff00u /* an rng_id is below this; NUMERICS.md reserves the others */

/* Values of ElementType in plan.fbs. */
typedef enum firn_type {
    FIRN_FLOAT32 = 0,
    FIRN_FLOAT16 = 1,
    FIRN_BFLOAT16 = 2,
    FIRN_CBFLOAT16 = 3,
    FIRN_INT32 = 4,
    FIRN_INT64 = 5,
    FIRN_UINT8 = 6,
    FIRN_UINT16 = 7,
    FIRN_INT16 = 8,
    FIRN_INT8 = 9,
    FIRN_BOOL = 10 /* one byte, 0 or 1 */
} firn_type;

/* Values of ReductionKind in plan.fbs. */
enum {
    FIRN_REDUCTION_F32 = 0,
    FIRN_REDUCTION_CHUNKED = 1,
    FIRN_REDUCTION_EVEN_ODD_BLOCKS = 2,
    FIRN_REDUCTION_PAIRS = 3
};

/* Whether a kind of reduction flushes results that are tiny (NUMERICS.md, "Reductions"). */
static inline bool firn_reduction_is_flushed(uint8_t kind) {
    return kind >= FIRN_REDUCTION_EVEN_ODD_BLOCKS;
}

/* Indices of the elements of the output of gradient_factors, and their number; decay_factors appends the weight
 * decay. */
enum { FIRN_FACTOR_UNSCALE = 0, FIRN_FACTOR_CLIP = 1, FIRN_FACTOR_LIMIT = 2, FIRN_FACTORS = 3 };
enum { FIRN_FACTOR_DECAY = 3, FIRN_FACTORS_AND_DECAY = 4 };

/* Buckets of metric_auc: one less than the 200 thresholds of the reference. */
enum { FIRN_AUC_BUCKETS = 199 };

/* How a sum of products is computed: the fields of struct Reduction in plan.fbs that a plan may choose. */
typedef struct firn_reduction {
    uint8_t kind;
    uint8_t accumulator; /* element type, a firn_type */
    uint8_t output;      /* element type, a firn_type */
    uint32_t chunk;      /* terms in a chunk or block; 0 for f32 */
} firn_reduction;

typedef enum firn_op_code {
#define FIRN_OP(name, code, ...) FIRN_OP_##name = (code),
#include "plan/ops.def"
#undef FIRN_OP
} firn_op_code;

/* The values of the columns; plan/ops.def explains them. */
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
    FIRN_COST_products_of_loss,
    FIRN_COST_matmul,
    FIRN_COST_convolution,
    FIRN_COST_convolution_of_input,
    FIRN_COST_convolution_of_weight,
    FIRN_COST_attention,
    FIRN_COST_attention_backward,
    FIRN_COST_cross_attention,
    FIRN_COST_cross_attention_backward,
    FIRN_COST_cached_attention
} firn_cost;

typedef enum firn_begins { FIRN_BEGINS_nothing, FIRN_BEGINS_partial, FIRN_BEGINS_first, FIRN_BEGINS_last } firn_begins;

/* Type and extents of one tensor. rank is 1 to FIRN_RANK_MAX, every extent is at least 1, and dims beyond rank are
 * 0. */
typedef struct firn_shape {
    uint8_t type; /* firn_type */
    uint8_t rank;
    uint32_t dims[FIRN_RANK_MAX];
} firn_shape;

/* An op with the shapes of its operands and the values of its attributes. The shapes stay where the caller has them,
 * because room for as many as an op may have would be a large part of a small stack. */
typedef struct firn_op_signature {
    uint16_t code;
    uint8_t input_count, output_count, integer_count, real_count;
    const firn_shape *inputs;
    firn_shape *outputs; /* output_count of them; see firn_op_infer in plan/shapes/infer.h */
    int64_t integers[FIRN_ATTRIBUTES_MAX];
    float reals[FIRN_ATTRIBUTES_MAX];
    uint32_t ignored_labels; /* set by firn_op_infer: 1 if the label behind the last class may occur, because the op
                              * ignores rows with it; else 0 */
} firn_op_signature;

/* FIRN_NONE_OF_THEM: no operand or no attribute. FIRN_FRESH: this output is none of the inputs. */
#define FIRN_NONE_OF_THEM UINT8_MAX
#define FIRN_FRESH        UINT8_MAX

/* What the type of an operand must be: a firn_type; TYPE_REAL, a half type or float32; or TYPE_OF_INPUT + i, the type
 * of input i. For TYPE_OWN and FORM_OWN the op's own rule decides. */
enum { FIRN_TYPE_REAL = 0x10, FIRN_TYPE_OWN = 0x11, FIRN_TYPE_OF_INPUT = 0x20 };

/* What the extents of an operand must be. */
enum {
    FIRN_FORM_OWN,
    FIRN_FORM_ANY,
    FIRN_FORM_LIKE,       /* the extents of input a */
    FIRN_FORM_ROWS,       /* at least two dimensions, the last of which is a */
    FIRN_FORM_ROW_VALUES, /* one element for each row of the ROWS inputs; an output has their leading dimensions */
    FIRN_FORM_VECTOR,     /* one dimension: a or b */
    FIRN_FORM_MATRIX,     /* two dimensions: a and b */
    FIRN_FORM_SUMS        /* scratch of a sum over input a */
};

/* An extent in a form: a number, or EXTENT_LETTER + i. A letter has the same value in all operands of an op. */
enum { FIRN_EXTENT_LETTER = 0xf0, FIRN_LETTERS = 8 };

typedef struct firn_operand {
    uint8_t type, form, a, b;
    uint8_t changed;   /* outputs: the input that the op changes in place; otherwise FIRN_FRESH */
    bool optional : 1; /* inputs */
    bool scratch : 1;  /* outputs: what the kernel leaves is unspecified, and nothing may read it */
    bool rounded : 1;  /* inputs of TYPE_OF_INPUT: also float32, which the op rounds to that type as it reads it */
} firn_operand;

/* The permitted values of an attribute; plan/ops.def explains them. */
typedef enum firn_range {
    FIRN_RANGE_OWN,
    FIRN_RANGE_FLAG,
    FIRN_RANGE_TYPE,
    FIRN_RANGE_EXTENT,
    FIRN_RANGE_COUNT,
    FIRN_RANGE_INT31,
    FIRN_RANGE_LABEL,
    FIRN_RANGE_RNG_ID,
    FIRN_RANGE_PAIR,
    FIRN_RANGE_RATE,
    FIRN_RANGE_POSITIVE,
    FIRN_RANGE_NOT_NEGATIVE,
    FIRN_RANGE_FINITE,
    FIRN_RANGE_DECAY
} firn_range;

/* A row of plan/ops.def. A position is FIRN_NONE_OF_THEM if the op has no such operand or attribute. */
typedef struct firn_op_info {
    const firn_operand *operands; /* the inputs, then the outputs */
    const uint8_t *ranges;        /* of the integers, then of the reals; NULL if the op has neither */
    uint16_t code;
    uint8_t inputs; /* in the row; inputs_max is larger if the last one repeats */
    uint8_t inputs_min, inputs_max, outputs, integers, reals, reductions;
    uint8_t outputs_min, integers_min, reals_min; /* what a plan always gives; the rest came in later versions */
    uint8_t in_place; /* bit i set: output 0 may use the bytes of input i (same offset, same size) */
    uint8_t autocast; /* firn_autocast */
    uint8_t pol;      /* firn_pol_class */
    uint8_t cost;     /* firn_cost */
    uint8_t begins;   /* firn_begins: how the op writes output 0, which may be undefined before */
    bool gathers : 1, metric : 1, buffers : 1;
    uint8_t reduced;    /* input whose type the reductions multiply */
    uint8_t inner;      /* the first `inner` reductions give other values than output 0 */
    uint8_t inner_flag; /* integer attribute; 1: these values have the type of `reduced`, otherwise float32 */
    uint8_t typed;      /* integer attribute that gives the element type in which the op works */
    uint8_t factors;    /* optional input that may hold the weight decay */
    /* The input that holds indices, and their upper limit: an extent of an input, counted from its end, or an integer
     * attribute. */
    uint8_t index_operand, index_table, index_from_end, index_attribute;
} firn_op_info;

/* The value of an attribute that a plan leaves out. */
typedef struct firn_op_default {
    uint16_t code; /* 0: the end of the list */
    uint8_t position;
    bool is_real;
    int64_t integer;
    float real;
} firn_op_default;

extern const firn_op_default firn_op_defaults[];

/* The row of an op, or NULL for a code that this build does not have; a firmware may have fewer than plan/ops.def. */
const firn_op_info *firn_op_find(uint16_t code);

/* Row i of plan/ops.def, below FIRN_OPS, in a build that has all of them. */
const firn_op_info *firn_op_at(uint32_t i);

/* The operand row of input i, below inputs_max. */
static inline const firn_operand *firn_op_input(const firn_op_info *info, uint32_t i) {
    return &info->operands[i < info->inputs ? i : info->inputs - 1U];
}

/* Whether output 0 may use the bytes of input i. */
static inline bool firn_op_reuses(const firn_op_info *info, uint32_t i) {
    return i < 8 && (info->in_place >> i & 1) != 0;
}

/* The operand row of output j; and the input that output j changes in place, or FIRN_FRESH. */
static inline const firn_operand *firn_op_output(const firn_op_info *info, uint32_t j) {
    return &info->operands[info->inputs + j];
}
static inline uint8_t firn_op_changed(const firn_op_info *info, uint32_t j) {
    return firn_op_output(info, j)->changed;
}

/* Fill in the attributes of an op behind the `count` that a plan gives, which must include all that have no default;
 * return the number with them. */
uint32_t firn_op_fill_integers(uint16_t code, uint32_t count, int64_t *integers);
uint32_t firn_op_fill_reals(uint16_t code, uint32_t count, float *reals);

/* Whether a value is the default of an integer or real of an op, bit by bit. */
bool firn_op_integer_is_default(uint16_t code, uint32_t position, int64_t value);
bool firn_op_real_is_default(uint16_t code, uint32_t position, float value);

/* The number of attributes that a plan gives, of all of them: the last ones are left out while they have their
 * defaults. */
uint8_t firn_op_given_integers(const firn_op_info *info, const int64_t *integers);
uint8_t firn_op_given_reals(const firn_op_info *info, const float *reals);

/* Bytes of one element; 0 for a value that is not a firn_type. */
uint32_t firn_type_bytes(uint8_t type);
/* "float32" and so on; "?" for a value that is not a firn_type. */
const char *firn_type_name(uint8_t type);
/* float16, bfloat16 or cbfloat16. */
bool firn_type_is_half(uint8_t type);

/* Number of elements and bytes of a shape. False if the rank or an extent is out of range or the product exceeds
 * 2^62. */
bool firn_shape_elements(const firn_shape *shape, uint64_t *elements);
bool firn_shape_bytes(const firn_shape *shape, uint64_t *bytes);

#endif
