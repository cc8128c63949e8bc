/* The table of ops from plan/ops.def, element types, and the one door to the shape rules. What a single op accepts is
 * in plan/shapes/shapes_*.c; nothing here may know one op from another. Freestanding. */
#include "plan/ops.h"

#include <stddef.h>

#include "plan/errors.h"
#include "plan/generated/reader.h"
#include "plan/shapes/shapes.h"

_Static_assert((int)FIRN_FLOAT32 == (int)FIRN_FB_ELEMENT_TYPE_FLOAT32, "as in plan.fbs");
_Static_assert((int)FIRN_FLOAT16 == (int)FIRN_FB_ELEMENT_TYPE_FLOAT16, "as in plan.fbs");
_Static_assert((int)FIRN_BFLOAT16 == (int)FIRN_FB_ELEMENT_TYPE_BFLOAT16, "as in plan.fbs");
_Static_assert((int)FIRN_CBFLOAT16 == (int)FIRN_FB_ELEMENT_TYPE_CBFLOAT16, "as in plan.fbs");
_Static_assert((int)FIRN_INT32 == (int)FIRN_FB_ELEMENT_TYPE_INT32, "as in plan.fbs");
_Static_assert((int)FIRN_INT64 == (int)FIRN_FB_ELEMENT_TYPE_INT64, "as in plan.fbs");
_Static_assert((int)FIRN_UINT8 == (int)FIRN_FB_ELEMENT_TYPE_UINT8, "as in plan.fbs");
_Static_assert((int)FIRN_REDUCTION_F32 == (int)FIRN_FB_REDUCTION_KIND_F32, "as in plan.fbs");
_Static_assert((int)FIRN_REDUCTION_CHUNKED == (int)FIRN_FB_REDUCTION_KIND_CHUNKED, "as in plan.fbs");

/* Words of a string literal as a constant expression (so macros, not a function): plan/ops.def lists the names of
 * attributes, the table wants their number as well. The literal is made longer, so that 48 bytes can be looked at. */
#define ZEROS_OF_8        "\0\0\0\0\0\0\0\0"
#define ZEROS_OF_48       ZEROS_OF_8 ZEROS_OF_8 ZEROS_OF_8 ZEROS_OF_8 ZEROS_OF_8 ZEROS_OF_8
#define SPACE_AT(text, i) ((text ZEROS_OF_48)[i] == ' ')
#define SPACES_OF_8(text, i)                                                                                           \
    (SPACE_AT(text, (i)) + SPACE_AT(text, (i) + 1) + SPACE_AT(text, (i) + 2) + SPACE_AT(text, (i) + 3) +               \
     SPACE_AT(text, (i) + 4) + SPACE_AT(text, (i) + 5) + SPACE_AT(text, (i) + 6) + SPACE_AT(text, (i) + 7))
#define WORDS(text)                                                                                                    \
    (((text)[0] != '\0') + SPACES_OF_8(text, 0) + SPACES_OF_8(text, 8) + SPACES_OF_8(text, 16) +                       \
     SPACES_OF_8(text, 24) + SPACES_OF_8(text, 32) + SPACES_OF_8(text, 40))

#define FIRN_OP(name, code, inputs_min, inputs_max, outputs, integers, reals, reductions, in_place, changes, indices,  \
                autocast, pol, gradient)                                                                               \
    _Static_assert(sizeof(integers) <= sizeof(ZEROS_OF_48) && sizeof(reals) <= sizeof(ZEROS_OF_48), #name);
#include "plan/ops.def"
#undef FIRN_OP

static const firn_op_info ops[] = {
#define FIRN_OP(name, code, inputs_min, inputs_max, outputs, integers, reals, reductions, in_place, changes, indices,  \
                autocast, pol, gradient)                                                                               \
    {#name,          (code),                                                                                           \
     (inputs_min),   (inputs_max),                                                                                     \
     (outputs),      WORDS(integers),                                                                                  \
     WORDS(reals),   (reductions),                                                                                     \
     (in_place),     FIRN_AUTOCAST_##autocast,                                                                         \
     FIRN_POL_##pol, FIRN_INDICES_##indices,                                                                           \
     (integers),     (reals),                                                                                          \
     (changes),      firn_shape_##name},
#include "plan/ops.def"
#undef FIRN_OP
};

static const struct {
    const char *name;
    uint32_t bytes;
} types[] = {
    [FIRN_FLOAT32] = {"float32", 4},     [FIRN_FLOAT16] = {"float16", 2}, [FIRN_BFLOAT16] = {"bfloat16", 2},
    [FIRN_CBFLOAT16] = {"cbfloat16", 2}, [FIRN_INT32] = {"int32", 4},     [FIRN_INT64] = {"int64", 8},
    [FIRN_UINT8] = {"uint8", 1},
};

#define TYPE_COUNT (sizeof types / sizeof types[0])

/* No tensor is larger: the sum of a few such products cannot overflow 64 bits. */
#define ELEMENTS_MAX ((uint64_t)1 << 62)

uint32_t firn_op_count(void) {
    return sizeof ops / sizeof ops[0];
}

const firn_op_info *firn_op_at(uint32_t position) {
    return position < firn_op_count() ? &ops[position] : NULL;
}

const firn_op_info *firn_op_find(uint16_t code) {
    for (uint32_t i = 0; i < firn_op_count(); i++) {
        if (ops[i].code == code)
            return &ops[i];
    }
    return NULL;
}

uint8_t firn_op_changed(const firn_op_info *info, uint32_t j) {
    for (uint32_t i = 0; info->changes[i] != '\0'; i++) {
        if (i == j)
            return (uint8_t)(info->changes[i] - '0');
    }
    return FIRN_FRESH;
}

uint32_t firn_type_bytes(uint8_t type) {
    return type < TYPE_COUNT ? types[type].bytes : 0;
}

const char *firn_type_name(uint8_t type) {
    return type < TYPE_COUNT ? types[type].name : "?";
}

bool firn_type_is_half(uint8_t type) {
    return type == FIRN_FLOAT16 || type == FIRN_BFLOAT16 || type == FIRN_CBFLOAT16;
}

bool firn_shape_elements(const firn_shape *shape, uint64_t *elements) {
    if (shape->rank < 1 || shape->rank > FIRN_RANK_MAX)
        return false;
    uint64_t product = 1;
    for (uint8_t i = 0; i < shape->rank; i++) {
        if (shape->dims[i] == 0 || product > ELEMENTS_MAX / shape->dims[i])
            return false;
        product *= shape->dims[i];
    }
    *elements = product;
    return true;
}

bool firn_shape_bytes(const firn_shape *shape, uint64_t *bytes) {
    uint64_t elements;
    uint32_t size = firn_type_bytes(shape->type);
    if (size == 0 || !firn_shape_elements(shape, &elements) || elements > ELEMENTS_MAX / size)
        return false;
    *bytes = elements * size;
    return true;
}

/* Every shape is whole: a known type, extents in range, a size that can be counted. */
static bool all_whole(const firn_shape *shapes, uint8_t count) {
    for (uint8_t i = 0; i < count; i++) {
        uint64_t bytes;
        if (!firn_shape_bytes(&shapes[i], &bytes))
            return false;
    }
    return true;
}

int firn_op_infer(firn_op_signature *signature) {
    const firn_op_info *info = firn_op_find(signature->code);
    if (info == NULL)
        return FIRN_ERROR_OP_UNKNOWN;
    if (signature->input_count < info->inputs_min || signature->input_count > info->inputs_max ||
        signature->output_count != info->outputs)
        return FIRN_ERROR_OP_OPERANDS;
    if (signature->integer_count != info->integers || signature->real_count != info->reals)
        return FIRN_ERROR_OP_ATTRIBUTE;
    if (!all_whole(signature->inputs, signature->input_count))
        return FIRN_ERROR_OP_SHAPE;
    int error = info->shape(signature);
    if (error != FIRN_OK)
        return error;
    return all_whole(signature->outputs, signature->output_count) ? FIRN_OK : FIRN_ERROR_OP_SHAPE;
}
