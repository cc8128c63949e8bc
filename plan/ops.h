/* Ops as both sides see them: codes, the information of plan/ops.def as a table, and the shape rules. Freestanding.
 * The compiler infers the outputs of an op with its shape rule; the loader recomputes them and compares, which is the
 * only place where operands are checked: kernels run blind. */
#ifndef FIRN_PLAN_OPS_H
#define FIRN_PLAN_OPS_H

#include <stdbool.h>
#include <stdint.h>

#include "plan/attributes.h"

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

/* Values of Clipping in plan.fbs. */
enum { FIRN_CLIPPING_NONE = 0, FIRN_CLIPPING_NORM = 1, FIRN_CLIPPING_VALUE = 2 };

/* Elements of the output of gradient_factors, and where each stands; decay_factors adds the weight decay. */
enum { FIRN_FACTOR_UNSCALE = 0, FIRN_FACTOR_CLIP = 1, FIRN_FACTOR_LIMIT = 2, FIRN_FACTORS = 3 };
enum { FIRN_FACTOR_DECAY = 3, FIRN_FACTORS_AND_DECAY = 4 };

/* How a sum of products is taken: what a plan may choose of struct Reduction in plan.fbs. */
typedef struct firn_reduction {
    uint8_t kind;
    uint8_t accumulator; /* firn_type */
    uint8_t output;      /* firn_type */
    uint32_t chunk;      /* terms; 0 for f32 */
} firn_reduction;

typedef enum firn_op_code {
#define FIRN_OP(name, code, inputs_min, inputs_max, outputs, integers, reals, reductions, in_place, changes, indices,  \
                autocast, pol, gradient)                                                                               \
    FIRN_OP_##name = (code),
#include "plan/ops.def"
#undef FIRN_OP
} firn_op_code;

typedef enum firn_autocast {
    FIRN_AUTOCAST_half,
    FIRN_AUTOCAST_embedding,
    FIRN_AUTOCAST_norm,
    FIRN_AUTOCAST_single,
    FIRN_AUTOCAST_promote,
    FIRN_AUTOCAST_follow,
    FIRN_AUTOCAST_fixed
} firn_autocast;

/* Which input holds indices, and of what. */
typedef enum firn_indices {
    FIRN_INDICES_none,
    FIRN_INDICES_ids,
    FIRN_INDICES_rows,
    FIRN_INDICES_classes,
    FIRN_INDICES_saved_classes
} firn_indices;

typedef enum firn_pol_class {
    FIRN_POL_none,
    FIRN_POL_product,
    FIRN_POL_attention,
    FIRN_POL_norm,
    FIRN_POL_rotation
} firn_pol_class;

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
    firn_shape outputs[FIRN_OUTPUTS_MAX]; /* see firn_op_infer */
    int64_t integers[FIRN_ATTRIBUTES_MAX];
    float reals[FIRN_ATTRIBUTES_MAX];
} firn_op_signature;

typedef int (*firn_shape_rule)(firn_op_signature *signature);

typedef struct firn_op_info {
    const char *name;
    uint16_t code;
    uint8_t inputs_min, inputs_max, outputs, integers, reals, reductions, in_place;
    uint8_t autocast; /* firn_autocast */
    uint8_t pol;      /* firn_pol_class */
    uint8_t indices;  /* firn_indices */
    const char *integer_names, *real_names;
    const char *changes; /* see firn_op_changed */
    firn_shape_rule shape;
} firn_op_info;

/* The entry of an op, or NULL for a code that is not in plan/ops.def. */
const firn_op_info *firn_op_find(uint16_t code);

/* The input whose tensor output j is, because the op changes it; FIRN_FRESH for an output that is no input. */
#define FIRN_FRESH UINT8_MAX
uint8_t firn_op_changed(const firn_op_info *info, uint32_t j);

/* Number of ops, and the entry at a position of the table (0 to count - 1), for reports and generated lists. */
uint32_t firn_op_count(void);
const firn_op_info *firn_op_at(uint32_t position);

/* Bytes of one element; 0 for a value that is not a firn_type. */
uint32_t firn_type_bytes(uint8_t type);
/* "float32" and so on; "?" for a value that is not a firn_type. */
const char *firn_type_name(uint8_t type);
/* float16, bfloat16 or cbfloat16. */
bool firn_type_is_half(uint8_t type);

/* Elements and bytes of a shape. False when the rank or an extent is out of range or the product exceeds 2^62. */
bool firn_shape_elements(const firn_shape *shape, uint64_t *elements);
bool firn_shape_bytes(const firn_shape *shape, uint64_t *bytes);

/* Checks counts, attributes, input shapes and types, and fills rank and dims of every output.
 * In: code, counts, inputs, integers, reals, and outputs[i].type = the type that the caller wants for each output (the
 * rule refuses a type it cannot give).
 * Returns FIRN_OK or FIRN_ERROR_OP_UNKNOWN, _OP_OPERANDS, _OP_ATTRIBUTE or _OP_SHAPE. */
int firn_op_infer(firn_op_signature *signature) __attribute__((warn_unused_result));

#endif
