/* Element types, shapes, and lookup in the table of ops. Code here may not treat single ops specially. Freestanding. */
#include "plan/ops.h"

#include <stddef.h>

#include "plan/generated/reader.h"

_Static_assert((int)FIRN_FLOAT32 == (int)FIRN_FB_ELEMENT_TYPE_FLOAT32, "as in plan.fbs");
_Static_assert((int)FIRN_FLOAT16 == (int)FIRN_FB_ELEMENT_TYPE_FLOAT16, "as in plan.fbs");
_Static_assert((int)FIRN_BFLOAT16 == (int)FIRN_FB_ELEMENT_TYPE_BFLOAT16, "as in plan.fbs");
_Static_assert((int)FIRN_CBFLOAT16 == (int)FIRN_FB_ELEMENT_TYPE_CBFLOAT16, "as in plan.fbs");
_Static_assert((int)FIRN_INT32 == (int)FIRN_FB_ELEMENT_TYPE_INT32, "as in plan.fbs");
_Static_assert((int)FIRN_INT64 == (int)FIRN_FB_ELEMENT_TYPE_INT64, "as in plan.fbs");
_Static_assert((int)FIRN_UINT8 == (int)FIRN_FB_ELEMENT_TYPE_UINT8, "as in plan.fbs");
_Static_assert((int)FIRN_REDUCTION_F32 == (int)FIRN_FB_REDUCTION_KIND_F32, "as in plan.fbs");
_Static_assert((int)FIRN_REDUCTION_CHUNKED == (int)FIRN_FB_REDUCTION_KIND_CHUNKED, "as in plan.fbs");

/* The build fails if a row has no documentation, or if plan/generated does not have the row yet. */
#define FIRN_OP(name, code, rule, gradient, cost, documentation, ...)                                                  \
    _Static_assert(sizeof(documentation) > 1, "op " #name " has no documentation in plan/ops.def");
#include "plan/ops.def"
#undef FIRN_OP

enum {
    ROWS = 0
#define FIRN_OP(...) +1
#include "plan/ops.def"
#undef FIRN_OP
};
_Static_assert(ROWS == (int)FIRN_OPS, "plan/ops.def has changed; run make generate");

/* The bytes of an element, by type. */
static const uint8_t type_bytes[] = {
    [FIRN_FLOAT32] = 4, [FIRN_FLOAT16] = 2, [FIRN_BFLOAT16] = 2, [FIRN_CBFLOAT16] = 2,
    [FIRN_INT32] = 4,   [FIRN_INT64] = 8,   [FIRN_UINT8] = 1,    [FIRN_UINT16] = 2,
    [FIRN_INT16] = 2,   [FIRN_INT8] = 1,    [FIRN_BOOL] = 1,
};

/* The largest number of elements of a tensor: the sum of a few such products cannot overflow 64 bits. */
#define ELEMENTS_MAX ((uint64_t)1 << 62)

/* --- attributes with defaults ------------------------------------------------------------------------------------- */

/* The default of an integer or real of an op, or NULL. */
static const firn_op_default *default_of(uint16_t code, bool is_real, uint32_t position) {
    for (const firn_op_default *d = firn_op_defaults; d->code != 0; d++) {
        if (d->code == code && d->is_real == is_real && d->position == position)
            return d;
    }
    return NULL;
}

uint32_t firn_op_fill_integers(uint16_t code, uint32_t count, int64_t *integers) {
    const firn_op_default *d;
    for (; (d = default_of(code, false, count)) != NULL; count++)
        integers[count] = d->integer;
    return count;
}

uint32_t firn_op_fill_reals(uint16_t code, uint32_t count, float *reals) {
    const firn_op_default *d;
    for (; (d = default_of(code, true, count)) != NULL; count++)
        reals[count] = d->real;
    return count;
}

bool firn_op_integer_is_default(uint16_t code, uint32_t position, int64_t value) {
    const firn_op_default *d = default_of(code, false, position);
    return d != NULL && d->integer == value;
}

/* Compares bits: 0 and -0 are two values of an attribute. */
bool firn_op_real_is_default(uint16_t code, uint32_t position, float value) {
    const firn_op_default *d = default_of(code, true, position);
    return d != NULL && __builtin_memcmp(&d->real, &value, sizeof value) == 0;
}

uint8_t firn_op_given_integers(const firn_op_info *info, const int64_t *integers) {
    uint8_t count = info->integers;
    while (count > info->integers_min && firn_op_integer_is_default(info->code, count - 1u, integers[count - 1]))
        count--;
    return count;
}

uint8_t firn_op_given_reals(const firn_op_info *info, const float *reals) {
    uint8_t count = info->reals;
    while (count > info->reals_min && firn_op_real_is_default(info->code, count - 1u, reals[count - 1]))
        count--;
    return count;
}

/* --- types and shapes --------------------------------------------------------------------------------------------- */

uint32_t firn_type_bytes(uint8_t type) {
    return type < sizeof type_bytes ? type_bytes[type] : 0;
}

const char *firn_type_name(uint8_t type) {
    static const char *const names[] = {
        [FIRN_FLOAT32] = "float32",     [FIRN_FLOAT16] = "float16", [FIRN_BFLOAT16] = "bfloat16",
        [FIRN_CBFLOAT16] = "cbfloat16", [FIRN_INT32] = "int32",     [FIRN_INT64] = "int64",
        [FIRN_UINT8] = "uint8",         [FIRN_UINT16] = "uint16",   [FIRN_INT16] = "int16",
        [FIRN_INT8] = "int8",           [FIRN_BOOL] = "bool",
    };
    return type < sizeof names / sizeof names[0] ? names[type] : "?";
}

bool firn_type_is_half(uint8_t type) {
    return type == FIRN_FLOAT16 || type == FIRN_BFLOAT16 || type == FIRN_CBFLOAT16;
}

/* Multiplies a product of at most ELEMENTS_MAX by a factor. False if the result would be larger. */
static bool multiply(uint64_t *product, uint32_t factor) {
    const uint64_t low = (uint64_t)(uint32_t)*product * factor, high = (*product >> 32) * factor + (low >> 32);
    *product *= factor;
    return high < ELEMENTS_MAX >> 32 || (high == ELEMENTS_MAX >> 32 && (uint32_t)low == 0);
}

bool firn_shape_elements(const firn_shape *shape, uint64_t *elements) {
    if (shape->rank < 1 || shape->rank > FIRN_RANK_MAX)
        return false;
    uint64_t product = 1;
    for (uint8_t i = 0; i < shape->rank; i++) {
        if (shape->dims[i] == 0 || !multiply(&product, shape->dims[i]))
            return false;
    }
    *elements = product;
    return true;
}

bool firn_shape_bytes(const firn_shape *shape, uint64_t *bytes) {
    const uint32_t size = firn_type_bytes(shape->type);
    return size != 0 && firn_shape_elements(shape, bytes) && multiply(bytes, size);
}
