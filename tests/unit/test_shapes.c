/* Tests the op table and the shape rules. Shapes are written as text, such as "f32[2,3]", so that a case is one line:
 * the inputs, and the expected outputs or error. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "plan/errors.h"
#include "plan/op_words.h"
#include "plan/shapes/infer.h"

/* --- shapes as text --------------------------------------------------------------------------------------------- */

static const struct {
    const char *text;
    uint8_t type;
} type_texts[] = {
    {"f32", FIRN_FLOAT32}, {"f16", FIRN_FLOAT16}, {"b16", FIRN_BFLOAT16}, {"c16", FIRN_CBFLOAT16},
    {"i32", FIRN_INT32},   {"i64", FIRN_INT64},   {"u08", FIRN_UINT8},
};

static uint8_t type_of(const char *text) {
    for (size_t i = 0; i < sizeof type_texts / sizeof type_texts[0]; i++) {
        if (strncmp(text, type_texts[i].text, 3) == 0)
            return type_texts[i].type;
    }
    fail_msg("no type: %s", text);
    return 0;
}

/* One operand more than an op may have. */
enum { ROOM = FIRN_INPUTS_MAX + 1 };
_Static_assert(FIRN_OUTPUTS_MAX <= FIRN_INPUTS_MAX, "there is room for as many outputs");

/* Parses "f32[2,3] i32[2]" into shapes; a type alone leaves the rank 0, as does "-", an absent input. Returns the
 * number of shapes. */
static uint8_t read_shapes(const char *text, firn_shape *shapes) {
    uint8_t count = 0;
    while (*text != '\0') {
        assert_true(count < ROOM);
        firn_shape *shape = &shapes[count++];
        *shape = (firn_shape){.type = *text == '-' ? 0 : type_of(text)};
        text += *text == '-' ? 1 : 3;
        while (*text == '[' || *text == ',') {
            char *end;
            unsigned long extent = strtoul(text + 1, &end, 10);
            assert_true(end > text + 1);
            if (shape->rank < FIRN_RANK_MAX)
                shape->dims[shape->rank] = (uint32_t)extent;
            shape->rank++;
            text = end;
        }
        text += *text == ']';
        text += *text == ' ';
    }
    return count;
}

/* --- one op, one case ------------------------------------------------------------------------------------------- */

typedef struct shape_case {
    uint16_t code;
    const char *inputs;
    const char *outputs; /* expected shapes; if the case is refused, types are enough */
    int64_t integers[FIRN_ATTRIBUTES_MAX];
    float reals[5];
    int error;
} shape_case;

static bool same_shape(const firn_shape *a, const firn_shape *b) {
    return a->type == b->type && a->rank == b->rank && memcmp(a->dims, b->dims, sizeof a->dims) == 0;
}

/* Returns whether the case has the expected result; prints a message if not. */
static bool case_holds(const shape_case *c, size_t number) {
    const firn_op_info *info = firn_op_find(c->code);
    firn_shape inputs[ROOM], outputs[ROOM], expected[ROOM];
    firn_op_signature signature = {.code = c->code,
                                   .integer_count = info->integers,
                                   .real_count = info->reals,
                                   .inputs = inputs,
                                   .outputs = outputs};
    signature.input_count = read_shapes(c->inputs, inputs);
    signature.output_count = read_shapes(c->outputs, expected);
    for (uint8_t i = 0; i < signature.output_count; i++)
        outputs[i] = (firn_shape){.type = expected[i].type};
    memcpy(signature.integers, c->integers, sizeof c->integers);
    memcpy(signature.reals, c->reals, sizeof c->reals);
    int error = firn_op_infer(&signature);
    bool holds = error == c->error;
    for (uint8_t i = 0; holds && error == FIRN_OK && i < signature.output_count; i++)
        holds = same_shape(&outputs[i], &expected[i]);
    if (!holds)
        print_message("case %zu, %s(%s): %s\n", number, firn_op_name(info), c->inputs, firn_error_name(error));
    return holds;
}

#define ACCEPTED  .error = FIRN_OK
#define SHAPE     .error = FIRN_ERROR_OP_SHAPE
#define ATTRIBUTE .error = FIRN_ERROR_OP_ATTRIBUTE
#define OPERANDS  .error = FIRN_ERROR_OP_OPERANDS

/* An attribute of windows: of rows and of columns. */
#define PAIR(rows, columns) ((int64_t)(rows) << 16 | (columns))

#define EIGHT      "f32[1] f32[1] f32[1] f32[1] f32[1] f32[1] f32[1] f32[1]"
#define SIXTY_FOUR EIGHT " " EIGHT " " EIGHT " " EIGHT " " EIGHT " " EIGHT " " EIGHT " " EIGHT

static const shape_case cases[] = {
    {FIRN_OP_cast, "f32[2,3]", "b16[2,3]", ACCEPTED},
    {FIRN_OP_cast, "c16[7]", "f16[7]", ACCEPTED},
    {FIRN_OP_cast, "f32[2,3]", "f32", SHAPE},
    {FIRN_OP_cast, "i32[2,3]", "f32", SHAPE},
    {FIRN_OP_cast, "f32[2,3]", "i32", SHAPE},
    {FIRN_OP_cast, "f32[2,3] f32[2,3]", "b16", OPERANDS},
    {FIRN_OP_cast, "f32[2,3]", "b16 b16", OPERANDS},
    {FIRN_OP_cast, "f32[2,0]", "b16", SHAPE},
    {FIRN_OP_cast, "f32", "b16", OPERANDS},
    {FIRN_OP_cast, "f32[1,1,1,1,1,1,1,2]", "b16[1,1,1,1,1,1,1,2]", ACCEPTED},
    {FIRN_OP_cast, "f32[1,1,1,1,1,1,1,1,1]", "b16", SHAPE},
    {FIRN_OP_cast, "f32[4294967295,4294967295]", "b16", SHAPE},

    {FIRN_OP_linear, "f32[4,3] f32[5,3]", "f32[4,5]", ACCEPTED},
    {FIRN_OP_linear, "f32[4,3] f32[3,5] f32[5]", "f32[4,5]", .integers = {1}, ACCEPTED},
    {FIRN_OP_linear, "b16[2,4,3] b16[5,3] f32[5]", "b16[2,4,5]", ACCEPTED},
    {FIRN_OP_linear, "b16[2,4,3] b16[5,3] b16[5]", "f32[2,4,5]", ACCEPTED},
    {FIRN_OP_linear, "f32[4,3] f32[3,5]", "f32", SHAPE},
    {FIRN_OP_linear, "f32[4,3] f32[5,3]", "f32", .integers = {1}, SHAPE},
    {FIRN_OP_linear, "f32[4,3] f32[5,3]", "f32", .integers = {2}, ATTRIBUTE},
    {FIRN_OP_linear, "f32[4,3] f32[5,3]", "f32", .integers = {-1}, ATTRIBUTE},
    {FIRN_OP_linear, "b16[4,3] f32[5,3]", "b16", SHAPE},
    {FIRN_OP_linear, "b16[4,3] f16[5,3]", "b16", SHAPE},
    {FIRN_OP_linear, "i32[4,3] i32[5,3]", "f32", SHAPE},
    {FIRN_OP_linear, "f32[3] f32[5,3]", "f32", SHAPE},
    {FIRN_OP_linear, "f32[4,3] f32[1,5,3]", "f32", SHAPE},
    {FIRN_OP_linear, "f32[4,3] f32[5,3] f32[3]", "f32", SHAPE},
    {FIRN_OP_linear, "f32[4,3] f32[5,3] f32[1,5]", "f32", SHAPE},
    {FIRN_OP_linear, "f32[4,3] f32[5,3] i32[5]", "f32", SHAPE},
    {FIRN_OP_linear, "f32[4,3] f32[5,3]", "i64", SHAPE},
    {FIRN_OP_linear, "f32[4,3]", "f32", OPERANDS},
    {FIRN_OP_linear, "f32[2147483648,65536,1] f32[2147483648,1]", "f32", SHAPE},

    {FIRN_OP_linear_backward_input, "b16[2,4,5] b16[5,3]", "b16[2,4,3]", ACCEPTED},
    {FIRN_OP_linear_backward_input, "f32[4,5] f32[3,5]", "f32[4,3]", .integers = {1}, ACCEPTED},
    {FIRN_OP_linear_backward_input, "f32[4,3] f32[5,3]", "f32", SHAPE},
    {FIRN_OP_linear_backward_input, "f32[4,5] b16[5,3]", "f32", SHAPE},
    {FIRN_OP_linear_backward_input, "f32[4,5] f32[5,3]", "f32", .integers = {3}, ATTRIBUTE},
    {FIRN_OP_linear_backward_weight, "f32[2,4,5] f32[2,4,3]", "f32[5,3]", ACCEPTED},
    {FIRN_OP_linear_backward_weight, "b16[8,5] b16[2,4,3]", "f32[3,5]", .integers = {1}, ACCEPTED},
    {FIRN_OP_linear_backward_weight, "f32[4,5] f32[3,3]", "f32", SHAPE},
    {FIRN_OP_linear_backward_weight, "f32[4,5] b16[4,3]", "f32", SHAPE},
    {FIRN_OP_linear_backward_weight, "f32[4,5] f32[3]", "f32", SHAPE},
    {FIRN_OP_linear_backward_weight_rows, "f32[2,4,5] f32[2,4,3]", "f32[2,3]", .integers = {0, 3, 2}, ACCEPTED},
    {FIRN_OP_linear_backward_weight_rows, "f32[2,4,5] f32[2,4,3]", "f32[5,3]", .integers = {0, 0, 5}, ACCEPTED},
    {FIRN_OP_linear_backward_weight_rows, "b16[8,5] b16[2,4,3]", "f32[1,5]", .integers = {1, 2, 1}, ACCEPTED},
    {FIRN_OP_linear_backward_weight_rows, "f32[4,5] f32[4,3]", "f32", .integers = {0, 3, 3}, ATTRIBUTE},
    {FIRN_OP_linear_backward_weight_rows, "f32[4,5] f32[4,3]", "f32", .integers = {1, 0, 4}, ATTRIBUTE},
    {FIRN_OP_linear_backward_weight_rows, "f32[4,5] f32[4,3]", "f32", .integers = {0, 5, 1}, ATTRIBUTE},
    {FIRN_OP_linear_backward_weight_rows, "f32[4,5] f32[4,3]", "f32", .integers = {0, -1, 1}, ATTRIBUTE},
    {FIRN_OP_linear_backward_weight_rows, "f32[4,5] f32[4,3]", "f32", .integers = {0, 0, 0}, ATTRIBUTE},
    {FIRN_OP_linear_backward_weight_rows, "f32[4,5] f32[4,3]", "f32", .integers = {0, 1, INT64_MAX}, ATTRIBUTE},
    {FIRN_OP_linear_backward_weight_rows, "f32[4,5] f32[4,3]", "f32", .integers = {2, 0, 1}, ATTRIBUTE},
    {FIRN_OP_linear_backward_weight_rows, "f32[4,5] f32[3,3]", "f32", .integers = {0, 0, 1}, SHAPE},
    {FIRN_OP_linear_backward_weight, "f32[4,5] f32[4,3]", "f32", .integers = {2}, ATTRIBUTE},

    {FIRN_OP_sum_leading, "f32[2,4,5]", "f32[5]", .integers = {1}, ACCEPTED},
    {FIRN_OP_sum_leading, "b16[2,4,5]", "f32[4,5]", .integers = {2}, ACCEPTED},
    {FIRN_OP_sum_leading, "f32[2,4,5]", "f32[2,4,5]", .integers = {3}, ACCEPTED},
    {FIRN_OP_sum_leading, "f32[2,4,5]", "f32", .integers = {0}, ATTRIBUTE},
    {FIRN_OP_sum_leading, "f32[2,4,5]", "f32", .integers = {4}, ATTRIBUTE},
    {FIRN_OP_sum_leading, "i32[2,4,5]", "f32", .integers = {1}, SHAPE},

    {FIRN_OP_embedding, "i32[2,3] f32[7,4]", "b16[2,3,4]", ACCEPTED},
    {FIRN_OP_embedding, "i32[6] f32[7,4]", "f32[6,4]", ACCEPTED},
    {FIRN_OP_embedding, "i32[1,1,1,1,1,1,1,1] f32[7,4]", "f32", SHAPE},
    {FIRN_OP_embedding, "i64[2,3] f32[7,4]", "f32", SHAPE},
    {FIRN_OP_embedding, "i32[2,3] b16[7,4]", "b16", SHAPE},
    {FIRN_OP_embedding, "i32[2,3] f32[7]", "f32", SHAPE},
    {FIRN_OP_embedding, "i32[2,3] f32[7,4]", "i32", SHAPE},
    {FIRN_OP_embedding_backward, "i32[2,3] b16[2,3,4]", "f32[7,4]", .integers = {7}, ACCEPTED},
    {FIRN_OP_embedding_backward, "i32[2,3] b16[2,3,4] f32[7,4]", "f32[7,4]", .integers = {7}, ACCEPTED},
    {FIRN_OP_embedding_backward, "i32[2,3] b16[2,2,4]", "f32", .integers = {7}, SHAPE},
    {FIRN_OP_embedding_backward, "i32[2,3] b16[2,3,4] f32[6,4]", "f32", .integers = {7}, SHAPE},
    {FIRN_OP_embedding_backward, "i32[2,3] b16[2,3,4] b16[7,4]", "f32", .integers = {7}, SHAPE},
    {FIRN_OP_embedding_backward, "i32[2,3] b16[2,3,4]", "b16", .integers = {7}, SHAPE},
    {FIRN_OP_embedding_backward, "i32[2,3] b16[2,3,4]", "f32", .integers = {0}, ATTRIBUTE},
    {FIRN_OP_embedding_backward, "i32[2,3] b16[2,3,4]", "f32", .integers = {INT64_C(1) << 32}, ATTRIBUTE},

    {FIRN_OP_leading_rows, "f32[9,4]", "b16[5,4]", .integers = {5}, ACCEPTED},
    {FIRN_OP_leading_rows, "f32[9,4]", "f32[9,4]", .integers = {9}, ACCEPTED},
    {FIRN_OP_leading_rows, "f32[9,4]", "f32", .integers = {10}, ATTRIBUTE},
    {FIRN_OP_leading_rows, "f32[9,4]", "f32", .integers = {0}, ATTRIBUTE},
    {FIRN_OP_leading_rows, "b16[9,4]", "f32", .integers = {5}, SHAPE},
    {FIRN_OP_leading_rows_backward, "b16[5,4]", "f32[9,4]", .integers = {9}, ACCEPTED},
    {FIRN_OP_leading_rows_backward, "b16[5,4]", "f32", .integers = {4}, ATTRIBUTE},
    {FIRN_OP_leading_rows_backward, "b16[5,4]", "b16", .integers = {9}, SHAPE},

    {FIRN_OP_add, "f32[2,3,4] f32[2,3,4]", "f32[2,3,4]", ACCEPTED},
    {FIRN_OP_add, "b16[2,3,4] f32[4]", "f32[2,3,4]", ACCEPTED},
    {FIRN_OP_add, "f32[2,3,4] b16[3,4]", "f32[2,3,4]", ACCEPTED},
    {FIRN_OP_add, "f32[2,3,4] f32[2,3]", "f32", SHAPE},
    {FIRN_OP_add, "f32[4] f32[3,4]", "f32", SHAPE},
    {FIRN_OP_add, "f32[4] i32[4]", "f32", SHAPE},

    {FIRN_OP_multiply, "f32[2,3,4] f32[2,3,4]", "f32[2,3,4]", ACCEPTED},
    {FIRN_OP_multiply, "b16[2,3,4] f32[4]", "f32[2,3,4]", ACCEPTED},
    {FIRN_OP_multiply, "f32[2,3,4] b16[3,4]", "f32[2,3,4]", ACCEPTED},
    {FIRN_OP_multiply, "f32[2,3,4] f32[2,3]", "f32", SHAPE},
    {FIRN_OP_multiply, "f32[4] f32[3,4]", "f32", SHAPE},
    {FIRN_OP_multiply, "f32[4] i32[4]", "f32", SHAPE},

    {FIRN_OP_layer_norm, "b16[2,3,4] f32[4] f32[4]", "b16[2,3,4] f32[2,3] f32[2,3]", .reals = {1e-5f}, ACCEPTED},
    {FIRN_OP_layer_norm, "f32[3,4] f32[4] f32[4]", "b16[3,4] f32[3] f32[3]", .integers = {2}, .reals = {1e-5f},
     ACCEPTED},
    {FIRN_OP_layer_norm, "f32[3,4] f32[4] f32[4]", "f32 f32 f32", .integers = {4}, .reals = {1e-5f}, ATTRIBUTE},
    {FIRN_OP_layer_norm, "f32[3,4] f32[4] f32[4]", "f32 f32 f32", .reals = {0}, ATTRIBUTE},
    {FIRN_OP_layer_norm, "f32[3,4] f32[4] f32[4]", "f32 f32 f32", .reals = {NAN}, ATTRIBUTE},
    {FIRN_OP_layer_norm, "f32[3,4] f32[4] f32[4]", "f32 f32 f32", .reals = {INFINITY}, ATTRIBUTE},
    {FIRN_OP_layer_norm, "f32[3,4] b16[4] f32[4]", "f32 f32 f32", .reals = {1e-5f}, SHAPE},
    {FIRN_OP_layer_norm, "f32[3,4] f32[4] f32[3]", "f32 f32 f32", .reals = {1e-5f}, SHAPE},
    {FIRN_OP_layer_norm, "f32[3,4] f32[4] f32[4]", "f32 b16 f32", .reals = {1e-5f}, SHAPE},
    {FIRN_OP_layer_norm, "f32[4] f32[4] f32[4]", "f32 f32 f32", .reals = {1e-5f}, SHAPE},
    {FIRN_OP_layer_norm_backward, "b16[2,3,4] f32[2,3,4] f32[4] f32[2,3] f32[2,3]", "b16[2,3,4]", ACCEPTED},
    {FIRN_OP_batch_norm, "b16[2,3,4] f32[4] f32[4]", "b16[2,3,4] f32[4] f32[4] f32[4] f32[1,4]", .reals = {1e-5f},
     ACCEPTED},
    {FIRN_OP_batch_norm, "f32[129,4] f32[4] f32[4]", "b16[129,4] f32[4] f32[4] f32[4] f32[2,4]", .reals = {1e-5f},
     ACCEPTED},
    {FIRN_OP_batch_norm, "f32[4294967295,128,1] f32[1] f32[1]",
     "f32[4294967295,128,1] f32[1] f32[1] f32[1] f32[4294967295,1]", .reals = {1e-5f}, ACCEPTED},
    {FIRN_OP_batch_norm, "f32[4294967295,129,1] f32[1] f32[1]", "f32 f32 f32 f32 f32", .reals = {1e-5f}, SHAPE},
    {FIRN_OP_batch_norm, "f32[3,4] f32[4] f32[4]", "f32 f32 f32 f32 f32", .reals = {0}, ATTRIBUTE},
    {FIRN_OP_batch_norm, "f32[3,4] f32[4] f32[3]", "f32 f32 f32 f32 f32", .reals = {1e-5f}, SHAPE},
    {FIRN_OP_batch_norm, "f32[3,4] b16[4] f32[4]", "f32 f32 f32 f32 f32", .reals = {1e-5f}, SHAPE},
    {FIRN_OP_batch_norm, "f32[4] f32[4] f32[4]", "f32 f32 f32 f32 f32", .reals = {1e-5f}, SHAPE},
    {FIRN_OP_batch_norm_backward, "b16[130,4] f32[130,4] f32[4] f32[4] f32[4]", "b16[130,4] f32[4] f32[4] f32[2,2,4]",
     ACCEPTED},
    {FIRN_OP_batch_norm_backward, "b16[130,4] f32[129,4] f32[4] f32[4] f32[4]", "f32 f32 f32 f32", SHAPE},
    {FIRN_OP_batch_norm_backward, "f32[3,4] f32[3,4] f32[4] f32[3] f32[4]", "f32 f32 f32 f32", SHAPE},
    {FIRN_OP_batch_norm_fixed, "b16[3,4] f32[4] f32[4] f32[4] f32[4]", "f32[3,4]", .reals = {1e-5f}, ACCEPTED},
    {FIRN_OP_batch_norm_fixed, "b16[3,4] f32[4] f32[4] f32[4] f32[1]", "f32", .reals = {1e-5f}, SHAPE},
    {FIRN_OP_batch_norm_fixed_backward, "f32[3,4] b16[3,4] f32[4] f32[4] f32[4]", "b16[3,4] f32[4] f32[4] f32[1,2,4]",
     .reals = {1e-5f}, ACCEPTED},
    {FIRN_OP_batch_norm_fixed_backward, "f32[4294967295,129,1] b16[4294967295,129,1] f32[1] f32[1] f32[1]",
     "f32 f32 f32 f32", .reals = {1e-5f}, SHAPE},
    {FIRN_OP_running_statistics, "f32[2,4] f32[4] f32[4] f32[4] f32[4]", "f32[2,4]", .integers = {2}, .reals = {0.1f},
     ACCEPTED},
    {FIRN_OP_running_statistics, "f32[2,4] f32[4] f32[4] f32[4] f32[4]", "f32", .integers = {1}, .reals = {0.1f},
     ATTRIBUTE},
    {FIRN_OP_running_statistics, "f32[2,4] f32[4] f32[4] f32[4] f32[4]", "f32", .integers = {2}, .reals = {-0.1f},
     ATTRIBUTE},
    {FIRN_OP_running_statistics, "f32[2,4] f32[4] f32[3] f32[4] f32[4]", "f32", .integers = {2}, .reals = {0.1f},
     SHAPE},
    {FIRN_OP_running_statistics, "f32[3,4] f32[4] f32[4] f32[4] f32[4]", "f32", .integers = {2}, .reals = {0.1f},
     SHAPE},
    {FIRN_OP_store_statistics, "f32[4] f32[4] f32[2,4]", "f32[4] f32[4]", ACCEPTED},
    {FIRN_OP_store_statistics, "f32[4] f32[4] f32[2,5]", "f32 f32", SHAPE},
    {FIRN_OP_store_statistics, "f32[4] f32[2,2] f32[2,4]", "f32 f32", SHAPE},
    {FIRN_OP_layer_norm_backward, "f32[2,3,4] f32[2,3,4] f32[4] f32[6] f32[2,3]", "f32[2,3,4]", ACCEPTED},
    {FIRN_OP_layer_norm_backward, "f32[2,3,4] f32[2,3,4] f32[4] f32[5] f32[2,3]", "f32", SHAPE},
    {FIRN_OP_layer_norm_backward, "f32[3,4] f32[2,4] f32[4] f32[2] f32[2]", "f32", SHAPE},
    {FIRN_OP_layer_norm_backward, "f32[3,4] f32[3,4] f32[3] f32[3] f32[3]", "f32", SHAPE},
    {FIRN_OP_layer_norm_backward, "f32[3,4] f32[3,4] f32[4] f32[3] f32[3]", "f32", .integers = {-1}, ATTRIBUTE},
    {FIRN_OP_layer_norm_backward_affine, "b16[2,3,4] f32[2,3,4] f32[2,3] f32[2,3]", "f32[4] b16[4]", ACCEPTED},
    {FIRN_OP_layer_norm_backward_affine, "b16[2,3,4] f32[2,3,4] f32[2,3] b16[2,3]", "f32 f32", SHAPE},
    {FIRN_OP_layer_norm_backward_affine, "b16[2,3,4] f32[2,3,4] f32[2,3] f32[2,3]", "f32 i32", SHAPE},
    {FIRN_OP_layer_norm_backward_affine, "b16[3,4] f32[3,4] f32[3] f32[3]", "f32 f32", .integers = {6}, ATTRIBUTE},
    {FIRN_OP_rms_norm, "b16[2,3,4] f32[4]", "b16[2,3,4] f32[2,3]", .reals = {1e-5f}, ACCEPTED},
    {FIRN_OP_rms_norm, "f32[3,4] f32[4]", "b16[3,4] f32[3]", .integers = {2}, .reals = {1e-5f}, ACCEPTED},
    {FIRN_OP_rms_norm, "f32[3,4] f32[4]", "f32 f32", .integers = {4}, .reals = {1e-5f}, ATTRIBUTE},
    {FIRN_OP_rms_norm, "f32[3,4] f32[4]", "f32 f32", .reals = {0}, ATTRIBUTE},
    {FIRN_OP_rms_norm, "f32[3,4] f32[4]", "f32 f32", .reals = {NAN}, ATTRIBUTE},
    {FIRN_OP_rms_norm, "f32[3,4] b16[4]", "f32 f32", .reals = {1e-5f}, SHAPE},
    {FIRN_OP_rms_norm, "f32[3,4] f32[3]", "f32 f32", .reals = {1e-5f}, SHAPE},
    {FIRN_OP_rms_norm, "f32[3,4] f32[4]", "f32 b16", .reals = {1e-5f}, SHAPE},
    {FIRN_OP_rms_norm, "f32[4] f32[4]", "f32 f32", .reals = {1e-5f}, SHAPE},
    {FIRN_OP_rms_norm_backward, "b16[2,3,4] f32[2,3,4] f32[4] f32[2,3]", "b16[2,3,4]", ACCEPTED},
    {FIRN_OP_rms_norm_backward, "f32[2,3,4] f32[2,3,4] f32[4] f32[5]", "f32", SHAPE},
    {FIRN_OP_rms_norm_backward, "f32[3,4] f32[2,4] f32[4] f32[2]", "f32", SHAPE},
    {FIRN_OP_rms_norm_backward, "f32[3,4] f32[3,4] f32[3] f32[3]", "f32", SHAPE},
    {FIRN_OP_rms_norm_backward, "f32[3,4] f32[3,4] f32[4] f32[3]", "f32", .integers = {-1}, ATTRIBUTE},
    {FIRN_OP_rms_norm_backward_gain, "b16[2,3,4] f32[2,3,4] f32[2,3]", "f32[4]", ACCEPTED},
    {FIRN_OP_rms_norm_backward_gain, "b16[2,3,4] f32[2,3,4] b16[2,3]", "f32", SHAPE},
    {FIRN_OP_rms_norm_backward_gain, "b16[2,3,4] f32[2,3,4] f32[2,3]", "i32", SHAPE},
    {FIRN_OP_rms_norm_backward_gain, "b16[3,4] f32[3,4] f32[3]", "f32", .integers = {6}, ATTRIBUTE},

    {FIRN_OP_broadcast_add, "f32[2,3,4] b16[2,3,4]", "f32[2,3,4]", ACCEPTED},
    {FIRN_OP_broadcast_add, "b16[2,3,1] b16[5,1,1,4]", "b16[5,2,3,4]", ACCEPTED},
    {FIRN_OP_broadcast_add, "f32[4] f32[1]", "f32[4]", ACCEPTED},
    {FIRN_OP_broadcast_add, "f32[1] f32[1,1,1,1,1,1,1,2]", "f32[1,1,1,1,1,1,1,2]", ACCEPTED},
    {FIRN_OP_broadcast_add, "f32[4] f32[3]", "f32", SHAPE},
    {FIRN_OP_broadcast_add, "f32[4,3] f32[4]", "f32", SHAPE},
    {FIRN_OP_broadcast_add, "f32[4] i32[4]", "f32", SHAPE},
    {FIRN_OP_broadcast_add, "f32[4] f32[4]", "i32", SHAPE},
    {FIRN_OP_broadcast_multiply, "f32[2,3,4] b16[2,3,4]", "f32[2,3,4]", ACCEPTED},
    {FIRN_OP_broadcast_multiply, "b16[2,3,1] b16[5,1,1,4]", "b16[5,2,3,4]", ACCEPTED},
    {FIRN_OP_broadcast_multiply, "f32[4] f32[1]", "f32[4]", ACCEPTED},
    {FIRN_OP_broadcast_multiply, "f32[1] f32[1,1,1,1,1,1,1,2]", "f32[1,1,1,1,1,1,1,2]", ACCEPTED},
    {FIRN_OP_broadcast_multiply, "f32[4] f32[3]", "f32", SHAPE},
    {FIRN_OP_broadcast_multiply, "f32[4,3] f32[4]", "f32", SHAPE},
    {FIRN_OP_broadcast_multiply, "f32[4] i32[4]", "f32", SHAPE},
    {FIRN_OP_broadcast_multiply, "f32[4] f32[4]", "i32", SHAPE},
    {FIRN_OP_subtract, "f32[2,3,4] b16[2,3,4]", "f32[2,3,4]", ACCEPTED},
    {FIRN_OP_subtract, "b16[2,3,1] b16[5,1,1,4]", "b16[5,2,3,4]", ACCEPTED},
    {FIRN_OP_subtract, "f32[4] f32[1]", "f32[4]", ACCEPTED},
    {FIRN_OP_subtract, "f32[1] f32[1,1,1,1,1,1,1,2]", "f32[1,1,1,1,1,1,1,2]", ACCEPTED},
    {FIRN_OP_subtract, "f32[4] f32[3]", "f32", SHAPE},
    {FIRN_OP_subtract, "f32[4,3] f32[4]", "f32", SHAPE},
    {FIRN_OP_subtract, "f32[4] i32[4]", "f32", SHAPE},
    {FIRN_OP_subtract, "f32[4] f32[4]", "i32", SHAPE},
    {FIRN_OP_divide, "f32[2,3,4] b16[2,3,4]", "f32[2,3,4]", ACCEPTED},
    {FIRN_OP_divide, "b16[2,3,1] b16[5,1,1,4]", "b16[5,2,3,4]", ACCEPTED},
    {FIRN_OP_divide, "f32[4] f32[1]", "f32[4]", ACCEPTED},
    {FIRN_OP_divide, "f32[1] f32[1,1,1,1,1,1,1,2]", "f32[1,1,1,1,1,1,1,2]", ACCEPTED},
    {FIRN_OP_divide, "f32[4] f32[3]", "f32", SHAPE},
    {FIRN_OP_divide, "f32[4,3] f32[4]", "f32", SHAPE},
    {FIRN_OP_divide, "f32[4] i32[4]", "f32", SHAPE},
    {FIRN_OP_divide, "f32[4] f32[4]", "i32", SHAPE},
    {FIRN_OP_minimum, "f32[2,3,4] b16[2,3,4]", "f32[2,3,4]", ACCEPTED},
    {FIRN_OP_minimum, "b16[2,3,1] b16[5,1,1,4]", "b16[5,2,3,4]", ACCEPTED},
    {FIRN_OP_minimum, "f32[4] f32[1]", "f32[4]", ACCEPTED},
    {FIRN_OP_minimum, "f32[1] f32[1,1,1,1,1,1,1,2]", "f32[1,1,1,1,1,1,1,2]", ACCEPTED},
    {FIRN_OP_minimum, "f32[4] f32[3]", "f32", SHAPE},
    {FIRN_OP_minimum, "f32[4,3] f32[4]", "f32", SHAPE},
    {FIRN_OP_minimum, "f32[4] i32[4]", "f32", SHAPE},
    {FIRN_OP_minimum, "f32[4] f32[4]", "i32", SHAPE},
    {FIRN_OP_maximum, "f32[2,3,4] b16[2,3,4]", "f32[2,3,4]", ACCEPTED},
    {FIRN_OP_maximum, "b16[2,3,1] b16[5,1,1,4]", "b16[5,2,3,4]", ACCEPTED},
    {FIRN_OP_maximum, "f32[4] f32[1]", "f32[4]", ACCEPTED},
    {FIRN_OP_maximum, "f32[1] f32[1,1,1,1,1,1,1,2]", "f32[1,1,1,1,1,1,1,2]", ACCEPTED},
    {FIRN_OP_maximum, "f32[4] f32[3]", "f32", SHAPE},
    {FIRN_OP_maximum, "f32[4,3] f32[4]", "f32", SHAPE},
    {FIRN_OP_maximum, "f32[4] i32[4]", "f32", SHAPE},
    {FIRN_OP_maximum, "f32[4] f32[4]", "i32", SHAPE},
    {FIRN_OP_power, "f32[2,3,4] b16[2,3,4]", "f32[2,3,4]", ACCEPTED},
    {FIRN_OP_power, "b16[2,3,1] b16[5,1,1,4]", "b16[5,2,3,4]", ACCEPTED},
    {FIRN_OP_power, "f32[4] f32[1]", "f32[4]", ACCEPTED},
    {FIRN_OP_power, "f32[1] f32[1,1,1,1,1,1,1,2]", "f32[1,1,1,1,1,1,1,2]", ACCEPTED},
    {FIRN_OP_power, "f32[4] f32[3]", "f32", SHAPE},
    {FIRN_OP_power, "f32[4,3] f32[4]", "f32", SHAPE},
    {FIRN_OP_power, "f32[4] i32[4]", "f32", SHAPE},
    {FIRN_OP_power, "f32[4] f32[4]", "i32", SHAPE},
    {FIRN_OP_less, "b16[2,3] f32[3]", "f32[2,3]", ACCEPTED},
    {FIRN_OP_less, "b16[2,1] b16[3]", "f32[2,3]", ACCEPTED},
    {FIRN_OP_less, "b16[2,3] b16[3]", "b16", SHAPE},
    {FIRN_OP_less, "i32[3] i32[3]", "f32", SHAPE},
    {FIRN_OP_less_or_equal, "b16[2,3] f32[3]", "f32[2,3]", ACCEPTED},
    {FIRN_OP_less_or_equal, "b16[2,1] b16[3]", "f32[2,3]", ACCEPTED},
    {FIRN_OP_less_or_equal, "b16[2,3] b16[3]", "b16", SHAPE},
    {FIRN_OP_less_or_equal, "i32[3] i32[3]", "f32", SHAPE},
    {FIRN_OP_equal, "b16[2,3] f32[3]", "f32[2,3]", ACCEPTED},
    {FIRN_OP_equal, "b16[2,1] b16[3]", "f32[2,3]", ACCEPTED},
    {FIRN_OP_equal, "b16[2,3] b16[3]", "b16", SHAPE},
    {FIRN_OP_equal, "i32[3] i32[3]", "f32", SHAPE},
    {FIRN_OP_select, "f32[2,1] b16[3] f32[4,1,1]", "f32[4,2,3]", ACCEPTED},
    {FIRN_OP_select, "f32[2,1] f32[3]", "f32[2,3]", ACCEPTED},
    {FIRN_OP_select, "f32[2,1] - b16[3]", "b16[2,3]", ACCEPTED},
    {FIRN_OP_select, "f32[2] f32[3] f32[1]", "f32", SHAPE},
    {FIRN_OP_select, "i32[2] f32[2] f32[2]", "f32", SHAPE},
    {FIRN_OP_select, "f32[2] f32[2] i32[2]", "f32", SHAPE},
    {FIRN_OP_select, "f32[2]", "f32", OPERANDS},
    {FIRN_OP_select, "f32[2] f32[2] -", "f32", OPERANDS},
    {FIRN_OP_select, "f32[2] - -", "f32", OPERANDS},
    {FIRN_OP_larger_share, "f32[2,3] b16[3] f32[2,1]", "f32[2,3]", ACCEPTED},
    {FIRN_OP_larger_share, "b16[2,3] f32[1] f32[2,3]", "f32[2,3]", ACCEPTED},
    {FIRN_OP_larger_share, "f32[1,3] f32[2,3] f32[1]", "f32", SHAPE},
    {FIRN_OP_larger_share, "f32[3] f32[3] f32[1,3]", "f32", SHAPE},
    {FIRN_OP_larger_share, "f32[2,3] f32[3] f32[2]", "f32", SHAPE},
    {FIRN_OP_power_backward, "f32[2,3] b16[3] f32[2,1]", "f32[2,3]", ACCEPTED},
    {FIRN_OP_power_backward, "b16[2,3] f32[1] f32[2,3]", "f32[2,3]", ACCEPTED},
    {FIRN_OP_power_backward, "f32[1,3] f32[2,3] f32[1]", "f32", SHAPE},
    {FIRN_OP_power_backward, "f32[3] f32[3] f32[1,3]", "f32", SHAPE},
    {FIRN_OP_power_backward, "f32[2,3] f32[3] f32[2]", "f32", SHAPE},
    {FIRN_OP_sum_to, "f32[2,3,4]", "f32[4]", .integers = {4}, ACCEPTED},
    {FIRN_OP_sum_to, "b16[2,3,4]", "f32[3,1]", .integers = {3, 1}, ACCEPTED},
    {FIRN_OP_sum_to, "f32[2,3,4]", "b16[2,1,4]", .integers = {2, 1, 4}, ACCEPTED},
    {FIRN_OP_sum_to, "f32[2,1,1,1,1,1,1,4]", "f32[1,1,1,1,1,1,1,4]", .integers = {1, 1, 1, 1, 1, 1, 1, 4}, ACCEPTED},
    {FIRN_OP_sum_to, "f32[2,3,4]", "f32", .integers = {3}, SHAPE},
    {FIRN_OP_sum_to, "f32[3,4]", "f32", .integers = {1, 3, 4}, SHAPE},
    {FIRN_OP_sum_to, "f32[3,4]", "f32", .integers = {0}, ATTRIBUTE},
    {FIRN_OP_sum_to, "f32[3,4]", "f32", .integers = {1, 0, 4}, ATTRIBUTE},
    {FIRN_OP_sum_to, "f32[3,4]", "f32", .integers = {3, -4}, ATTRIBUTE},
    {FIRN_OP_sum_to, "f32[3,4]", "f32", .integers = {3, 4294967296}, ATTRIBUTE},
    {FIRN_OP_sum_to, "i32[3,4]", "f32", .integers = {4}, SHAPE},
    {FIRN_OP_exp, "b16[2,3]", "f32[2,3]", ACCEPTED},
    {FIRN_OP_exp, "f32[2,3]", "i32", SHAPE},
    {FIRN_OP_exp, "i32[2,3]", "f32", SHAPE},
    {FIRN_OP_log, "b16[2,3]", "f32[2,3]", ACCEPTED},
    {FIRN_OP_log, "f32[2,3]", "i32", SHAPE},
    {FIRN_OP_log, "i32[2,3]", "f32", SHAPE},
    {FIRN_OP_sqrt, "b16[2,3]", "f32[2,3]", ACCEPTED},
    {FIRN_OP_sqrt, "f32[2,3]", "i32", SHAPE},
    {FIRN_OP_sqrt, "i32[2,3]", "f32", SHAPE},
    {FIRN_OP_reciprocal, "b16[2,3]", "f32[2,3]", ACCEPTED},
    {FIRN_OP_reciprocal, "f32[2,3]", "i32", SHAPE},
    {FIRN_OP_reciprocal, "i32[2,3]", "f32", SHAPE},
    {FIRN_OP_erf, "b16[2,3]", "f32[2,3]", ACCEPTED},
    {FIRN_OP_erf, "f32[2,3]", "i32", SHAPE},
    {FIRN_OP_erf, "i32[2,3]", "f32", SHAPE},
    {FIRN_OP_abs, "b16[2,3]", "f32[2,3]", ACCEPTED},
    {FIRN_OP_abs, "f32[2,3]", "i32", SHAPE},
    {FIRN_OP_abs, "i32[2,3]", "f32", SHAPE},
    {FIRN_OP_sign, "b16[2,3]", "f32[2,3]", ACCEPTED},
    {FIRN_OP_sign, "f32[2,3]", "i32", SHAPE},
    {FIRN_OP_sign, "i32[2,3]", "f32", SHAPE},
    {FIRN_OP_floor, "b16[2,3]", "f32[2,3]", ACCEPTED},
    {FIRN_OP_floor, "f32[2,3]", "i32", SHAPE},
    {FIRN_OP_floor, "i32[2,3]", "f32", SHAPE},
    {FIRN_OP_clip, "b16[2,3]", "b16[2,3]", .reals = {-1, 2}, ACCEPTED},
    {FIRN_OP_clip, "b16[2,3]", "b16", .reals = {NAN}, ATTRIBUTE},
    {FIRN_OP_clip, "b16[2,3]", "b16", .reals = {INFINITY}, ATTRIBUTE},
    {FIRN_OP_clip, "b16[2,3]", "b16", .reals = {0, -INFINITY}, ATTRIBUTE},
    {FIRN_OP_clip, "i32[2,3]", "f32", .reals = {-1, 2}, SHAPE},
    {FIRN_OP_affine, "b16[2,3]", "b16[2,3]", .reals = {-1, 2}, ACCEPTED},
    {FIRN_OP_affine, "b16[2,3]", "b16", .reals = {NAN}, ATTRIBUTE},
    {FIRN_OP_affine, "b16[2,3]", "b16", .reals = {INFINITY}, ATTRIBUTE},
    {FIRN_OP_affine, "b16[2,3]", "b16", .reals = {0, -INFINITY}, ATTRIBUTE},
    {FIRN_OP_affine, "i32[2,3]", "f32", .reals = {-1, 2}, SHAPE},
    {FIRN_OP_leaky_relu, "b16[2,3]", "b16[2,3]", .reals = {-1}, ACCEPTED},
    {FIRN_OP_leaky_relu, "b16[2,3]", "b16", .reals = {NAN}, ATTRIBUTE},
    {FIRN_OP_leaky_relu, "b16[2,3]", "b16", .reals = {INFINITY}, ATTRIBUTE},
    {FIRN_OP_leaky_relu, "i32[2,3]", "f32", .reals = {-1}, SHAPE},
    {FIRN_OP_elu, "b16[2,3]", "b16[2,3]", .reals = {-1}, ACCEPTED},
    {FIRN_OP_elu, "b16[2,3]", "b16", .reals = {NAN}, ATTRIBUTE},
    {FIRN_OP_elu, "b16[2,3]", "b16", .reals = {INFINITY}, ATTRIBUTE},
    {FIRN_OP_elu, "i32[2,3]", "f32", .reals = {-1}, SHAPE},
    {FIRN_OP_erf_backward, "b16[2,3] f32[2,3]", "f32[2,3]", ACCEPTED},
    {FIRN_OP_erf_backward, "f32[2,3] f32[3]", "f32", SHAPE},
    {FIRN_OP_clip_backward, "b16[2,3] f32[2,3]", "f32[2,3]", .reals = {-1, 2}, ACCEPTED},
    {FIRN_OP_clip_backward, "f32[2,3] f32[3]", "f32", .reals = {-1, 2}, SHAPE},
    {FIRN_OP_clip_backward, "f32[3] f32[3]", "f32", .reals = {INFINITY}, ATTRIBUTE},
    {FIRN_OP_leaky_relu_backward, "b16[2,3] f32[2,3]", "f32[2,3]", .reals = {-1}, ACCEPTED},
    {FIRN_OP_leaky_relu_backward, "f32[2,3] f32[3]", "f32", .reals = {-1}, SHAPE},
    {FIRN_OP_leaky_relu_backward, "f32[3] f32[3]", "f32", .reals = {INFINITY}, ATTRIBUTE},
    {FIRN_OP_elu_backward, "b16[2,3] f32[2,3]", "f32[2,3]", .reals = {-1}, ACCEPTED},
    {FIRN_OP_elu_backward, "f32[2,3] f32[3]", "f32", .reals = {-1}, SHAPE},
    {FIRN_OP_elu_backward, "f32[3] f32[3]", "f32", .reals = {INFINITY}, ATTRIBUTE},
    {FIRN_OP_to_int32, "b16[2,3]", "i32[2,3]", ACCEPTED},
    {FIRN_OP_to_int32, "f32[2,3]", "f32", SHAPE},
    {FIRN_OP_to_int32, "i32[2,3]", "i32", SHAPE},
    {FIRN_OP_to_float32, "i32[2,3]", "f32[2,3]", ACCEPTED},
    {FIRN_OP_to_float32, "i32[2,3]", "b16", SHAPE},
    {FIRN_OP_to_float32, "f32[2,3]", "f32", SHAPE},

    {FIRN_OP_gelu, "b16[2,3]", "b16[2,3]", .integers = {1}, ACCEPTED},
    {FIRN_OP_gelu, "b16[2,3]", "b16", .integers = {2}, ATTRIBUTE},
    {FIRN_OP_gelu_backward, "b16[2,3] f32[2,3]", "b16[2,3]", ACCEPTED},
    {FIRN_OP_gelu_backward, "b16[2,3] f32[3,2]", "b16", SHAPE},
    {FIRN_OP_gelu_backward, "b16[2,3] f32[2,3]", "b16", .integers = {2}, ATTRIBUTE},
    {FIRN_OP_relu, "f32[5]", "f32[5]", ACCEPTED},
    {FIRN_OP_relu, "i32[5]", "f32", SHAPE},
    {FIRN_OP_relu_backward, "f32[5] f32[5]", "f32[5]", ACCEPTED},
    {FIRN_OP_relu_backward, "f32[5] f32[4]", "f32", SHAPE},
    {FIRN_OP_tanh, "c16[5]", "c16[5]", ACCEPTED},
    {FIRN_OP_tanh, "c16[5]", "u08", SHAPE},
    {FIRN_OP_tanh_backward, "c16[5] c16[5]", "c16[5]", ACCEPTED},
    {FIRN_OP_tanh_backward, "c16[5] i64[5]", "c16", SHAPE},
    /* rotation, heads, rotated, rotary_dim, interleaved */
    {FIRN_OP_rotary_embedding, "b16[2,5,24]", "b16[2,5,24]", .integers = {2, 3, 2, 8, 1}, .reals = {10000}, ACCEPTED},
    {FIRN_OP_rotary_embedding, "b16[2,5,24]", "f32[2,5,24]", .integers = {0, 3, 3, 2, 0}, .reals = {1}, ACCEPTED},
    {FIRN_OP_rotary_embedding, "f32[5,24]", "b16[5,24]", .integers = {2, 1, 1, 24, 0}, .reals = {10000}, ACCEPTED},
    {FIRN_OP_rotary_embedding, "f32[5,24]", "f32", .integers = {4, 3, 2, 8, 1}, .reals = {10000}, ATTRIBUTE},
    {FIRN_OP_rotary_embedding, "f32[5,24]", "f32", .integers = {0, 0, 0, 8, 1}, .reals = {10000}, ATTRIBUTE},
    {FIRN_OP_rotary_embedding, "f32[5,24]", "f32", .integers = {0, 4294967296, 1, 8, 1}, .reals = {1}, ATTRIBUTE},
    {FIRN_OP_rotary_embedding, "f32[5,24]", "f32", .integers = {0, 3, 4, 8, 1}, .reals = {10000}, ATTRIBUTE},
    {FIRN_OP_rotary_embedding, "f32[5,24]", "f32", .integers = {0, 3, 0, 8, 1}, .reals = {10000}, ATTRIBUTE},
    {FIRN_OP_rotary_embedding, "f32[5,24]", "f32", .integers = {0, 3, 2, 7, 1}, .reals = {10000}, ATTRIBUTE},
    {FIRN_OP_rotary_embedding, "f32[5,24]", "f32", .integers = {0, 3, 2, 10, 1}, .reals = {10000}, ATTRIBUTE},
    {FIRN_OP_rotary_embedding, "f32[5,24]", "f32", .integers = {0, 3, 2, 0, 1}, .reals = {10000}, ATTRIBUTE},
    {FIRN_OP_rotary_embedding, "f32[5,24]", "f32", .integers = {0, 3, 2, 8, 2}, .reals = {10000}, ATTRIBUTE},
    {FIRN_OP_rotary_embedding, "f32[5,24]", "f32", .integers = {0, 3, 2, 8, 1}, .reals = {0.5f}, ATTRIBUTE},
    {FIRN_OP_rotary_embedding, "f32[5,24]", "f32", .integers = {0, 3, 2, 8, 1}, .reals = {NAN}, ATTRIBUTE},
    {FIRN_OP_rotary_embedding, "f32[5,24]", "f32", .integers = {0, 3, 2, 8, 1}, .reals = {INFINITY}, ATTRIBUTE},
    {FIRN_OP_rotary_embedding, "f32[5,24]", "f32", .integers = {0, 5, 2, 2, 1}, .reals = {10000}, SHAPE},
    {FIRN_OP_rotary_embedding, "f32[24]", "f32", .integers = {0, 3, 2, 8, 1}, .reals = {10000}, SHAPE},
    {FIRN_OP_rotary_embedding, "i32[5,24]", "f32", .integers = {0, 3, 2, 8, 1}, .reals = {10000}, SHAPE},
    {FIRN_OP_rotary_embedding, "f32[5,24]", "i32", .integers = {0, 3, 2, 8, 1}, .reals = {10000}, SHAPE},
    {FIRN_OP_rotary_embedding_backward, "f16[2,5,24]", "f16[2,5,24]", .integers = {1, 3, 2, 8, 1}, .reals = {10000},
     ACCEPTED},
    {FIRN_OP_rotary_embedding_backward, "f32[5,24]", "f32", .integers = {0, 3, 2, 9, 1}, .reals = {10000}, ATTRIBUTE},
    {FIRN_OP_rotary_embedding_backward, "f32[5,24]", "f32", .integers = {0, 5, 2, 2, 1}, .reals = {10000}, SHAPE},

    {FIRN_OP_dropout, "f32[2,3]", "f32[2,3]", .integers = {FIRN_RNG_ID_END - 1}, .reals = {0.1f}, ACCEPTED},
    {FIRN_OP_dropout, "f32[2,3]", "f32[2,3]", .reals = {0}, ACCEPTED},
    {FIRN_OP_dropout, "f32[2,3]", "f32", .reals = {1}, ATTRIBUTE},
    {FIRN_OP_dropout, "f32[2,3]", "f32", .reals = {-0.1f}, ATTRIBUTE},
    {FIRN_OP_dropout, "f32[2,3]", "f32", .reals = {NAN}, ATTRIBUTE},
    {FIRN_OP_dropout, "f32[2,3]", "f32", .integers = {-1}, ATTRIBUTE},
    {FIRN_OP_dropout, "f32[2,3]", "f32", .integers = {FIRN_RNG_ID_END}, ATTRIBUTE},

    {FIRN_OP_attention,
     "f32[2,5,12]",
     "f32[2,5,4] f32[2,2,5] f32[2,2,5] f32[2,2,16,5]",
     {2, 2, 1, 0, 3, 16},
     {0.5f, 0.1f},
     ACCEPTED},
    {FIRN_OP_attention,
     "b16[2,5,16]",
     "b16[2,5,8] f32[2,4,5] f32[2,4,5] f32[2,4,16,5]",
     {4, 2, 0, 1, 0, 16},
     {0.5f, 0},
     ACCEPTED},
    {FIRN_OP_attention, "f32[2,5,12]", "f32 f32 f32 f32", {2, 2, 1, 1, 0, 16}, {0.5f, 0}, ATTRIBUTE},
    {FIRN_OP_attention, "f32[2,5,12]", "f32 f32 f32 f32", {0, 2, 1, 0, 0, 16}, {0.5f, 0}, ATTRIBUTE},
    {FIRN_OP_attention, "f32[2,5,12]", "f32 f32 f32 f32", {2, 0, 1, 0, 0, 16}, {0.5f, 0}, ATTRIBUTE},
    {FIRN_OP_attention, "f32[2,5,21]", "f32 f32 f32 f32", {3, 2, 1, 0, 0, 16}, {0.5f, 0}, ATTRIBUTE},
    {FIRN_OP_attention, "f32[2,5,12]", "f32 f32 f32 f32", {2, 4, 1, 0, 0, 16}, {0.5f, 0}, ATTRIBUTE},
    {FIRN_OP_attention, "f32[2,5,12]", "f32 f32 f32 f32", {2, 2, 2, 0, 0, 16}, {0.5f, 0}, ATTRIBUTE},
    {FIRN_OP_attention, "f32[2,5,12]", "f32 f32 f32 f32", {2, 2, 1, 0, -1, 16}, {0.5f, 0}, ATTRIBUTE},
    {FIRN_OP_attention, "f32[2,5,12]", "f32 f32 f32 f32", {2, 2, 1, 0, 0, 16}, {0, 0}, ATTRIBUTE},
    {FIRN_OP_attention, "f32[2,5,12]", "f32 f32 f32 f32", {2, 2, 1, 0, 0, 16}, {0.5f, 1}, ATTRIBUTE},
    {FIRN_OP_attention, "f32[2,5,12]", "f32 f32 f32 f32", {2, 2, 1, 0, 0, 0}, {0.5f, 0}, ATTRIBUTE},
    {FIRN_OP_attention, "f32[2,5,12]", "f32 f32 f32 f32", {2, 2, 1, 0, 0, 2147483648}, {0.5f, 0}, ATTRIBUTE},
    {FIRN_OP_attention,
     "f32[2,5,12]",
     "f32[2,5,4] f32[2,2,5] f32[2,2,5] f32[2,2,2147483647,5]",
     {2, 2, 1, 0, 3, 2147483647},
     {0.5f, 0.1f},
     ACCEPTED},
    {FIRN_OP_attention, "f32[2,5,13]", "f32 f32 f32 f32", {2, 2, 1, 0, 0, 16}, {0.5f, 0}, SHAPE},
    {FIRN_OP_attention, "f32[2,5,4]", "f32 f32 f32 f32", {2, 2, 1, 0, 0, 16}, {0.5f, 0}, SHAPE},
    {FIRN_OP_attention, "f32[5,12]", "f32 f32 f32 f32", {2, 2, 1, 0, 0, 16}, {0.5f, 0}, SHAPE},
    {FIRN_OP_attention, "f32[2,5,12]", "f32 b16 f32 f32", {2, 2, 1, 0, 0, 16}, {0.5f, 0}, SHAPE},
    {FIRN_OP_attention, "f32[2,5,12]", "f32 f32 f32 f32", {UINT32_MAX, UINT32_MAX, 1, 0, 0, 16}, {0.5f, 0}, SHAPE},
    {FIRN_OP_attention_backward,
     "b16[2,5,8] b16[2,5,16] f32[2,4,5] f32[2,4,5]",
     "b16[2,5,16] f32[2,4,33,5]",
     {4, 2, 1, 1, 0, 16},
     {0.5f, 0},
     ACCEPTED},
    {FIRN_OP_attention_backward,
     "b16[2,5,8] b16[2,5,16] f32[2,4,5] f32[2,4,5]",
     "b16[2,5,16] f32[2,4,4294967295,5]",
     {4, 2, 1, 1, 0, 2147483647},
     {0.5f, 0},
     ACCEPTED},
    {FIRN_OP_attention_backward,
     "b16[2,5,8] b16[2,5,16] f32[2,4,5] f32[2,4,5]",
     "b16[2,5,16] f32[2,4,3,5]",
     {4, 2, 1, 1, 0, 1},
     {0.5f, 0},
     ACCEPTED},
    {FIRN_OP_attention_backward,
     "b16[2,5,8] b16[2,5,16] f32[2,4,5] f32[2,4,5]",
     "b16 f32",
     {4, 2, 1, 1, 0, 0},
     {0.5f, 0},
     ATTRIBUTE},
    {FIRN_OP_attention_backward,
     "f32[2,5,8] b16[2,5,16] f32[2,4,5] f32[2,4,5]",
     "b16 f32",
     {4, 2, 1, 0, 0, 16},
     {0.5f, 0},
     SHAPE},
    {FIRN_OP_attention_backward,
     "b16[2,5,6] b16[2,5,16] f32[2,4,5] f32[2,4,5]",
     "b16 f32",
     {4, 2, 1, 0, 0, 16},
     {0.5f, 0},
     SHAPE},
    {FIRN_OP_attention_backward,
     "b16[2,5,8] b16[2,5,16] f32[2,5,4] f32[2,4,5]",
     "b16 f32",
     {4, 2, 1, 0, 0, 16},
     {0.5f, 0},
     SHAPE},
    {FIRN_OP_attention_backward,
     "b16[2,5,8] b16[2,5,16] f32[2,4,5] f32[2,4,5]",
     "b16 b16",
     {4, 2, 1, 0, 0, 16},
     {0.5f, 0},
     SHAPE},
    {FIRN_OP_attention_backward,
     "b16[2,5,8] b16[2,5,16] f32[2,4,5] f32[2,4,5]",
     "b16 f32",
     {4, 3, 1, 0, 0, 16},
     {0.5f, 0},
     ATTRIBUTE},

    {FIRN_OP_cross_entropy, "f32[2,3,7] i32[2,3]", "f32[1] f32[2,3] f32[2,3]", ACCEPTED},
    {FIRN_OP_cross_entropy, "b16[6,7] i32[2,3]", "f32[1] f32[6] f32[6]", ACCEPTED},
    {FIRN_OP_cross_entropy, "f32[6,7] i32[7]", "f32 f32 f32", SHAPE},
    {FIRN_OP_cross_entropy, "f32[6,7] i64[6]", "f32 f32 f32", SHAPE},
    {FIRN_OP_cross_entropy, "f32[7] i32[1]", "f32 f32 f32", SHAPE},
    {FIRN_OP_cross_entropy, "f32[6,7] i32[6]", "b16 f32 f32", SHAPE},
    {FIRN_OP_cross_entropy_backward, "f32[1] b16[6,7] i32[2,3] f32[6] f32[6]", "b16[6,7]", ACCEPTED},
    {FIRN_OP_cross_entropy_backward, "f32[1] b16[6,7] i32[6] f32[6] f32[6]", "f32", SHAPE},
    {FIRN_OP_cross_entropy_backward, "f32[2] f32[6,7] i32[6] f32[6] f32[6]", "f32", SHAPE},
    {FIRN_OP_cross_entropy_backward, "f32[1] f32[6,7] i32[6] f32[5] f32[6]", "f32", SHAPE},
    {FIRN_OP_mean_squared_error, "b16[2,3] f32[2,3]", "f32[1]", ACCEPTED},
    {FIRN_OP_mean_squared_error, "f32[2,3] b16[2,3]", "f32", SHAPE},
    {FIRN_OP_mean_squared_error, "f32[2,3] f32[6]", "f32", SHAPE},
    {FIRN_OP_mean_squared_error_backward, "f32[1] b16[2,3] f32[2,3]", "f32[2,3]", ACCEPTED},
    {FIRN_OP_mean_squared_error_backward, "f32[1,1] b16[2,3] f32[2,3]", "f32", SHAPE},

    {FIRN_OP_loss_seed, "", "f32[1]", .reals = {0.25f}, ACCEPTED},
    {FIRN_OP_loss_seed, "f32[1]", "f32[1]", .reals = {1}, ACCEPTED},
    {FIRN_OP_loss_seed, "f32[2]", "f32", .reals = {1}, SHAPE},
    {FIRN_OP_loss_seed, "", "f32", .reals = {0}, ATTRIBUTE},
    {FIRN_OP_accumulate, "f32[2,3] b16[2,3]", "f32[2,3]", ACCEPTED},
    {FIRN_OP_accumulate, "b16[2,3] b16[2,3]", "f32", SHAPE},
    {FIRN_OP_accumulate, "f32[2,3] b16[3,2]", "f32", SHAPE},
    {FIRN_OP_sum_of_squares, "f32[2,3] f32[4]", "f32[4] f32[1,1]", .integers = {3}, ACCEPTED},
    {FIRN_OP_sum_of_squares, "b16[64,64] f32[4] f32[1]", "f32[4] f32[1,1]", .integers = {3}, ACCEPTED},
    {FIRN_OP_sum_of_squares, "f32[64,64,3,7] f32[4]", "f32[4] f32[1,21]", ACCEPTED},
    {FIRN_OP_sum_of_squares, "f32[4097] f32[4]", "f32[4] f32[1,2]", ACCEPTED},
    {FIRN_OP_sum_of_squares, "f32[4096,1048577] f32[4]", "f32[4] f32[2,1048576]", ACCEPTED},
    {FIRN_OP_sum_of_squares, "f32[2,3] f32[4]", "f32 f32", .integers = {4}, ATTRIBUTE},
    {FIRN_OP_sum_of_squares, "f32[2,3] f32[4]", "f32 f32", .integers = {-1}, ATTRIBUTE},
    {FIRN_OP_sum_of_squares, "f32[2,3] f32[2,2]", "f32 f32", SHAPE},
    {FIRN_OP_sum_of_squares, "i32[2,3] f32[4]", "f32 f32", SHAPE},
    {FIRN_OP_sum_of_squares, "f32[2,3] f32[4] f32[2]", "f32 f32", SHAPE},
    {FIRN_OP_sum_of_squares, "f32[2,3] f32[4]", "f32 b16", SHAPE},
    {FIRN_OP_gradient_norm, "f32[4]", "f32[1] i32[1]", ACCEPTED},
    {FIRN_OP_gradient_norm, "f32[2,2]", "f32 i32", SHAPE},
    {FIRN_OP_gradient_norm, "f32[4]", "f32 f32", SHAPE},
    /* Recurrent ops. */
    {FIRN_OP_lstm,
     "f32[3,2,20] f32[20,5]",
     "f32[3,2,5] f32[2,5] f32[2,5] f32[3,2,20] f32[3,2,5]",
     {0, 1},
     {0},
     ACCEPTED},
    {FIRN_OP_lstm,
     "b16[3,2,20] b16[20,5] b16[2,5] b16[2,5]",
     "b16[3,2,5] b16[2,5] f32[2,5] f32[1,2,20] f32[1,2,5]",
     {1, 0},
     {0},
     ACCEPTED},
    {FIRN_OP_lstm,
     "f32[3,2,20] f32[20,5] - f32[2,5]",
     "f32[3,2,5] f32[2,5] f32[2,5] f32[3,2,20] f32[3,2,5]",
     {0, 1},
     {0},
     ACCEPTED},
    {FIRN_OP_lstm, "f32[3,2,20] f32[20,5]", "f32 f32 f32 f32 f32", {2, 1}, {0}, ATTRIBUTE},
    {FIRN_OP_lstm, "f32[3,2,15] f32[15,5]", "f32 f32 f32 f32 f32", {0, 1}, {0}, SHAPE},
    {FIRN_OP_lstm, "f32[3,2,20] f32[20,4]", "f32 f32 f32 f32 f32", {0, 1}, {0}, SHAPE},
    {FIRN_OP_lstm, "f32[3,2,16] f32[20,5]", "f32 f32 f32 f32 f32", {0, 1}, {0}, SHAPE},
    {FIRN_OP_lstm, "f32[6,20] f32[20,5]", "f32 f32 f32 f32 f32", {0, 1}, {0}, SHAPE},
    {FIRN_OP_lstm, "f32[3,2,20] f32[20,5,1]", "f32 f32 f32 f32 f32", {0, 1}, {0}, SHAPE},
    {FIRN_OP_lstm, "f32[3,2,20] b16[20,5]", "f32 f32 f32 f32 f32", {0, 1}, {0}, SHAPE},
    {FIRN_OP_lstm, "f32[3,2,20] f32[20,5] f32[3,5]", "f32 f32 f32 f32 f32", {0, 1}, {0}, SHAPE},
    {FIRN_OP_lstm, "f32[3,2,20] f32[20,5] f32[2,5] f32[2,4]", "f32 f32 f32 f32 f32", {0, 1}, {0}, SHAPE},
    {FIRN_OP_lstm, "f32[3,2,20] f32[20,5] f32[1,2,5]", "f32 f32 f32 f32 f32", {0, 1}, {0}, SHAPE},
    {FIRN_OP_lstm, "f32[3,2,20] f32[20,5] b16[2,5]", "f32 f32 f32 f32 f32", {0, 1}, {0}, SHAPE},
    {FIRN_OP_lstm, "f32[1,1,4] f32[4,1073741825]", "f32 f32 f32 f32 f32", {0, 1}, {0}, SHAPE},
    {FIRN_OP_lstm, "f32[3,2,20] f32[20,5]", "b16 f32 f32 f32 f32", {0, 1}, {0}, SHAPE},
    {FIRN_OP_lstm_backward,
     "f32[20,5] f32[3,2,20] f32[3,2,5] f32[3,2,5] f32[2,5] f32[2,5] f32[2,5]",
     "f32[3,2,20] f32[2,5] f32[2,5] f32[2,2,5]",
     {0},
     {0},
     ACCEPTED},
    {FIRN_OP_lstm_backward,
     "b16[20,5] f32[3,2,20] f32[3,2,5] - - f32[2,5]",
     "b16[3,2,20] f32[2,5] b16[2,5] f32[2,2,5]",
     {1},
     {0},
     ACCEPTED},
    {FIRN_OP_lstm_backward, "f32[20,5] f32[3,2,20] f32[3,2,5]", "f32 f32 f32 f32", {2}, {0}, ATTRIBUTE},
    {FIRN_OP_lstm_backward, "f32[20,5] f32[3,2,20] f32[1,2,5]", "f32 f32 f32 f32", {0}, {0}, SHAPE},
    {FIRN_OP_lstm_backward, "f32[20,5] f32[3,2,16] f32[3,2,5]", "f32 f32 f32 f32", {0}, {0}, SHAPE},
    {FIRN_OP_lstm_backward, "f32[15,5] f32[3,2,20] f32[3,2,5]", "f32 f32 f32 f32", {0}, {0}, SHAPE},
    {FIRN_OP_lstm_backward, "f32[20,5] f32[3,2,20] f32[3,2,5] f32[3,3,5]", "f32 f32 f32 f32", {0}, {0}, SHAPE},
    {FIRN_OP_lstm_backward, "f32[20,5] f32[3,2,20] f32[3,2,5] b16[3,2,5]", "f32 f32 f32 f32", {0}, {0}, SHAPE},
    {FIRN_OP_lstm_backward, "f32[20,5] f32[3,2,20] f32[3,2,5] - f32[2,4]", "f32 f32 f32 f32", {0}, {0}, SHAPE},
    {FIRN_OP_lstm_backward, "f32[20,5] f32[3,2,20] f32[3,2,5] - - f32[3,5]", "f32 f32 f32 f32", {0}, {0}, SHAPE},
    {FIRN_OP_lstm_backward, "f32[20,5] f32[3,2,20] f32[3,2,5] - - - f32[5,2]", "f32 f32 f32 f32", {0}, {0}, SHAPE},
    {FIRN_OP_lstm_backward, "f32[20,5] f32[6,20] f32[3,2,5]", "f32 f32 f32 f32", {0}, {0}, SHAPE},
    {FIRN_OP_lstm_backward, "f32[100] f32[3,2,20] f32[3,2,5]", "f32 f32 f32 f32", {0}, {0}, SHAPE},
    {FIRN_OP_lstm_backward, "b16[20,5] b16[3,2,20] f32[3,2,5]", "b16 f32 f32 f32", {0}, {0}, SHAPE},
    {FIRN_OP_gru, "f32[3,2,15] f32[15,5]", "f32[3,2,5] f32[2,5] f32[3,2,20]", {1, 0, 1}, {0}, ACCEPTED},
    {FIRN_OP_gru,
     "b16[3,2,15] b16[15,5] f32[15] b16[2,5]",
     "b16[3,2,5] b16[2,5] f32[1,2,20]",
     {0, 1, 0},
     {0},
     ACCEPTED},
    {FIRN_OP_gru, "f32[3,2,15] f32[15,5] - f32[2,5]", "f32[3,2,5] f32[2,5] f32[3,2,20]", {0, 0, 1}, {0}, ACCEPTED},
    {FIRN_OP_gru, "f32[3,2,15] f32[15,5]", "f32 f32 f32", {2, 0, 1}, {0}, ATTRIBUTE},
    {FIRN_OP_gru, "f32[3,2,20] f32[20,5]", "f32 f32 f32", {1, 0, 1}, {0}, SHAPE},
    {FIRN_OP_gru, "f32[3,2,15] f32[15,4]", "f32 f32 f32", {1, 0, 1}, {0}, SHAPE},
    {FIRN_OP_gru, "f32[6,15] f32[15,5]", "f32 f32 f32", {1, 0, 1}, {0}, SHAPE},
    {FIRN_OP_gru, "f32[3,2,15] f32[15,5] f32[5]", "f32 f32 f32", {1, 0, 1}, {0}, SHAPE},
    {FIRN_OP_gru, "f32[3,2,15] f32[15,5] f32[1,15]", "f32 f32 f32", {1, 0, 1}, {0}, SHAPE},
    {FIRN_OP_gru, "f32[3,2,15] f32[15,5] - f32[3,5]", "f32 f32 f32", {1, 0, 1}, {0}, SHAPE},
    {FIRN_OP_gru, "f32[1,1,3221225475] f32[3221225475,1073741825]", "f32 f32 f32", {1, 0, 1}, {0}, SHAPE},
    {FIRN_OP_gru_backward,
     "f32[15,5] f32[3,2,20] f32[3,2,5] f32[3,2,5] f32[2,5] f32[2,5]",
     "f32[3,2,15] f32[3,2,15] f32[2,5] f32[2,2,5]",
     {1, 0},
     {0},
     ACCEPTED},
    {FIRN_OP_gru_backward,
     "b16[15,5] f32[3,2,20] b16[3,2,5] - b16[2,5]",
     "b16[3,2,15] b16[3,2,15] f32[2,5] f32[2,2,5]",
     {0, 1},
     {0},
     ACCEPTED},
    {FIRN_OP_gru_backward, "f32[15,5] f32[3,2,20] f32[3,2,5]", "f32 f32 f32 f32", {0, 2}, {0}, ATTRIBUTE},
    {FIRN_OP_gru_backward, "f32[20,5] f32[3,2,20] f32[3,2,5]", "f32 f32 f32 f32", {1, 0}, {0}, SHAPE},
    {FIRN_OP_gru_backward, "f32[15,5] f32[3,2,15] f32[3,2,5]", "f32 f32 f32 f32", {1, 0}, {0}, SHAPE},
    {FIRN_OP_gru_backward, "f32[15,5] f32[3,2,20] f32[2,2,5]", "f32 f32 f32 f32", {1, 0}, {0}, SHAPE},
    {FIRN_OP_gru_backward, "f32[15,5] f32[3,2,20] f32[3,2,5] f32[3,2,4]", "f32 f32 f32 f32", {1, 0}, {0}, SHAPE},
    {FIRN_OP_gru_backward, "f32[15,5] f32[3,2,20] f32[3,2,5] - f32[3,5]", "f32 f32 f32 f32", {1, 0}, {0}, SHAPE},
    {FIRN_OP_gru_backward, "f32[15,5] f32[3,2,20] f32[3,2,5] - - f32[2,5,1]", "f32 f32 f32 f32", {1, 0}, {0}, SHAPE},
    {FIRN_OP_gru_backward, "f32[15,5] f32[3,2,20] b16[3,2,5]", "f32 f32 f32 f32", {1, 0}, {0}, SHAPE},
    {FIRN_OP_rnn, "f32[3,2,5] f32[5,5]", "f32[3,2,5] f32[2,5] f32[2,5]", {0, 0}, {0}, ACCEPTED},
    {FIRN_OP_rnn, "b16[3,2,5] b16[5,5] b16[2,5]", "b16[3,2,5] b16[2,5] f32[2,5]", {1, 1}, {0}, ACCEPTED},
    {FIRN_OP_rnn, "f32[3,2,5] f32[5,5]", "f32 f32 f32", {2, 0}, {0}, ATTRIBUTE},
    {FIRN_OP_rnn, "f32[3,2,5] f32[5,4]", "f32 f32 f32", {0, 0}, {0}, SHAPE},
    {FIRN_OP_rnn, "f32[3,2,5] f32[4,5]", "f32 f32 f32", {0, 0}, {0}, SHAPE},
    {FIRN_OP_rnn, "f32[3,2,5] f32[5,5] f32[3,5]", "f32 f32 f32", {0, 0}, {0}, SHAPE},
    {FIRN_OP_rnn, "f32[6,5] f32[5,5]", "f32 f32 f32", {0, 0}, {0}, SHAPE},
    {FIRN_OP_rnn, "f32[3,2,5] b16[5,5]", "f32 f32 f32", {0, 0}, {0}, SHAPE},
    {FIRN_OP_rnn_backward,
     "f32[5,5] f32[3,2,5] f32[3,2,5] f32[2,5]",
     "f32[3,2,5] f32[2,5] f32[1,2,5]",
     {0, 0},
     {0},
     ACCEPTED},
    {FIRN_OP_rnn_backward, "b16[5,5] b16[3,2,5]", "b16[3,2,5] f32[2,5] f32[1,2,5]", {1, 1}, {0}, ACCEPTED},
    {FIRN_OP_rnn_backward, "f32[5,5] f32[3,2,5]", "f32 f32 f32", {0, 2}, {0}, ATTRIBUTE},
    {FIRN_OP_rnn_backward, "f32[5,4] f32[3,2,5]", "f32 f32 f32", {0, 0}, {0}, SHAPE},
    {FIRN_OP_rnn_backward, "f32[4,4] f32[3,2,5]", "f32 f32 f32", {0, 0}, {0}, SHAPE},
    {FIRN_OP_rnn_backward, "f32[5,5] f32[3,2,5] f32[3,2,4]", "f32 f32 f32", {0, 0}, {0}, SHAPE},
    {FIRN_OP_rnn_backward, "f32[5,5] f32[3,2,5] - f32[2,4]", "f32 f32 f32", {0, 0}, {0}, SHAPE},
    {FIRN_OP_rnn_backward, "f32[5,5] f32[6,5]", "f32 f32 f32", {0, 0}, {0}, SHAPE},
    {FIRN_OP_recurrent_backward_weight, "f32[3,2,20] f32[3,2,5]", "b16[20,5]", {0}, {0}, ACCEPTED},
    {FIRN_OP_recurrent_backward_weight, "b16[3,2,15] b16[3,2,5] b16[2,5] f32[3,2,20]", "f32[15,5]", {1}, {0}, ACCEPTED},
    {FIRN_OP_recurrent_backward_weight, "f32[1,1,1] f32[1,1,1] - f32[1,1,4]", "f32", {0}, {0}, SHAPE},
    {FIRN_OP_recurrent_backward_weight, "f32[3,2,20] f32[3,2,5]", "f32", {2}, {0}, ATTRIBUTE},
    {FIRN_OP_recurrent_backward_weight, "f32[3,2,19] f32[3,2,5]", "f32", {0}, {0}, SHAPE},
    {FIRN_OP_recurrent_backward_weight, "f32[2,2,20] f32[3,2,5]", "f32", {0}, {0}, SHAPE},
    {FIRN_OP_recurrent_backward_weight, "f32[3,1,20] f32[3,2,5]", "f32", {0}, {0}, SHAPE},
    {FIRN_OP_recurrent_backward_weight, "f32[3,2,20] f32[6,5]", "f32", {0}, {0}, SHAPE},
    {FIRN_OP_recurrent_backward_weight, "f32[6,20] f32[3,2,5]", "f32", {0}, {0}, SHAPE},
    {FIRN_OP_recurrent_backward_weight, "f32[3,2,20] b16[3,2,5]", "f32", {0}, {0}, SHAPE},
    {FIRN_OP_recurrent_backward_weight, "f32[3,2,20] f32[3,2,5] f32[3,5]", "f32", {0}, {0}, SHAPE},
    {FIRN_OP_recurrent_backward_weight, "f32[3,2,20] f32[3,2,5] - f32[3,2,20]", "f32", {0}, {0}, SHAPE},
    {FIRN_OP_recurrent_backward_weight, "f32[3,2,15] f32[3,2,5] - f32[1,2,20]", "f32", {0}, {0}, SHAPE},
    {FIRN_OP_recurrent_backward_weight, "f32[3,2,15] f32[3,2,5] - f32[3,2,15]", "f32", {0}, {0}, SHAPE},
    /* Convolutions: groups, then the pairs stride, dilation, before and after. */
    {FIRN_OP_conv, "f32[2,5,6,3] f32[4,3,2,3]", "b16[2,3,5,4]", {1, PAIR(1, 1), PAIR(1, 1), 0, 0}, {0}, ACCEPTED},
    {FIRN_OP_conv,
     "b16[2,5,6,3] b16[4,3,2,3] f32[4]",
     "f32[2,5,8,4]",
     {1, PAIR(1, 1), PAIR(1, 1), PAIR(1, 0), PAIR(1, 3)},
     {0},
     ACCEPTED},
    {FIRN_OP_conv, "f32[1,9,9,6] f32[4,2,3,3]", "f32[1,3,3,4]", {2, PAIR(3, 2), PAIR(2, 2), 0, 0}, {0}, ACCEPTED},
    {FIRN_OP_conv,
     "f32[1,1,1,1] f32[1,3,3,1]",
     "f32[1,1,1,1]",
     {1, PAIR(1, 1), PAIR(1, 1), PAIR(1, 1), PAIR(1, 1)},
     {0},
     ACCEPTED},
    {FIRN_OP_conv,
     "f32[1,4294967295,1,1] f32[1,1,1,1]",
     "f32[1,4294967295,1,1]",
     {1, PAIR(1, 1), PAIR(1, 1), 0, 0},
     {0},
     ACCEPTED},
    {FIRN_OP_conv, "f32[1,4294967295,1,1] f32[1,1,1,1]", "f32", {1, PAIR(1, 1), PAIR(1, 1), PAIR(1, 0), 0}, {0}, SHAPE},
    {FIRN_OP_conv,
     "f32[1,1,1,4294967295] f32[1,1,1,4294967295]",
     "f32[1,1,1,1]",
     {1, PAIR(1, 1), PAIR(1, 1), 0, 0},
     {0},
     ACCEPTED},
    {FIRN_OP_conv, "f32[1,1,1,2] f32[2,1,1,2147483649]", "f32", {2, PAIR(1, 1), PAIR(1, 1), 0, 0}, {0}, SHAPE},
    {FIRN_OP_conv, "f32[1,9,9,4] f32[4,2,3,3]", "f32", {2, PAIR(1, 1), PAIR(1, 1), 0, 0}, {0}, SHAPE},
    {FIRN_OP_conv, "f32[1,9,9,6] f32[3,2,3,3]", "f32", {2, PAIR(1, 1), PAIR(1, 1), 0, 0}, {0}, SHAPE},
    {FIRN_OP_conv, "f32[1,2,2,3] f32[4,3,3,3]", "f32", {1, PAIR(1, 1), PAIR(1, 1), 0, 0}, {0}, SHAPE},
    {FIRN_OP_conv, "f32[1,3,3,3] f32[4,3,3,3]", "f32", {1, PAIR(1, 1), PAIR(2, 1), 0, 0}, {0}, SHAPE},
    {FIRN_OP_conv, "f32[1,65538,1,1] f32[1,65536,1,1]", "f32", {1, PAIR(1, 1), PAIR(1, 1), 0, 0}, {0}, SHAPE},
    {FIRN_OP_conv, "f32[1,3,3,3] b16[4,3,3,3]", "f32", {1, PAIR(1, 1), PAIR(1, 1), 0, 0}, {0}, SHAPE},
    {FIRN_OP_conv, "f32[3,3,3] f32[4,3,3,3]", "f32", {1, PAIR(1, 1), PAIR(1, 1), 0, 0}, {0}, SHAPE},
    {FIRN_OP_conv, "f32[1,3,3,3] f32[4,3,3]", "f32", {1, PAIR(1, 1), PAIR(1, 1), 0, 0}, {0}, SHAPE},
    {FIRN_OP_conv, "f32[1,3,3,3] f32[4,3,3,3] f32[3]", "f32", {1, PAIR(1, 1), PAIR(1, 1), 0, 0}, {0}, SHAPE},
    {FIRN_OP_conv, "f32[1,3,3,3] f32[4,3,3,3]", "f32", {0, PAIR(1, 1), PAIR(1, 1), 0, 0}, {0}, ATTRIBUTE},
    {FIRN_OP_conv, "f32[1,3,3,3] f32[4,3,3,3]", "f32", {1, PAIR(1, 0), PAIR(1, 1), 0, 0}, {0}, ATTRIBUTE},
    {FIRN_OP_conv, "f32[1,3,3,3] f32[4,3,3,3]", "f32", {1, PAIR(1, 1), PAIR(0, 1), 0, 0}, {0}, ATTRIBUTE},
    {FIRN_OP_conv, "f32[1,3,3,3] f32[4,3,3,3]", "f32", {1, PAIR(1, 1), PAIR(1, 1), -1, 0}, {0}, ATTRIBUTE},
    {FIRN_OP_conv,
     "f32[1,3,3,3] f32[4,3,3,3]",
     "f32",
     {1, PAIR(1, 1), PAIR(1, 1), 0, (int64_t)1 << 32},
     {0},
     ATTRIBUTE},
    {FIRN_OP_conv_backward_input,
     "b16[2,3,5,4] b16[4,3,2,3]",
     "f32[2,5,6,3]",
     {1, PAIR(1, 1), PAIR(1, 1), 0, 0, 5, 6},
     {0},
     ACCEPTED},
    {FIRN_OP_conv_backward_input,
     "f32[1,3,3,4] f32[4,2,3,3]",
     "f32[1,10,10,6]",
     {2, PAIR(3, 2), PAIR(2, 2), 0, 0, 10, 10},
     {0},
     ACCEPTED},
    {FIRN_OP_conv_backward_input,
     "f32[2,3,5,4] f32[4,3,2,3]",
     "f32",
     {1, PAIR(1, 1), PAIR(1, 1), 0, 0, 6, 6},
     {0},
     SHAPE},
    {FIRN_OP_conv_backward_input,
     "f32[2,3,5,4] f32[4,3,2,3]",
     "f32",
     {1, PAIR(1, 1), PAIR(1, 1), 0, 0, 5, 5},
     {0},
     SHAPE},
    {FIRN_OP_conv_backward_input,
     "f32[2,3,5,4] f32[8,3,2,3]",
     "f32",
     {1, PAIR(1, 1), PAIR(1, 1), 0, 0, 5, 6},
     {0},
     SHAPE},
    {FIRN_OP_conv_backward_input,
     "f32[2,3,5,4] f32[4,3,2,3]",
     "f32",
     {3, PAIR(1, 1), PAIR(1, 1), 0, 0, 5, 6},
     {0},
     SHAPE},
    {FIRN_OP_conv_backward_input,
     "f32[1,1,1,4] f32[4,1,1,4294967295]",
     "f32",
     {2, PAIR(1, 1), PAIR(1, 1), 0, 0, 1, 1},
     {0},
     SHAPE},
    {FIRN_OP_conv_backward_input,
     "f32[2,3,5,4] f32[4,3,2,3]",
     "f32",
     {1, PAIR(1, 1), PAIR(1, 1), 0, 0, 0, 6},
     {0},
     ATTRIBUTE},
    {FIRN_OP_conv_backward_input, "f32[2,3,5,4] f32[4,3,2,3]", "f32", {1, 0, PAIR(1, 1), 0, 0, 5, 6}, {0}, ATTRIBUTE},
    {FIRN_OP_conv_backward_weight,
     "b16[2,3,5,4] b16[2,5,6,3]",
     "b16[4,3,2,3]",
     {1, PAIR(1, 1), PAIR(1, 1), 0, 0, PAIR(3, 2)},
     {0},
     ACCEPTED},
    {FIRN_OP_conv_backward_weight,
     "f32[1,3,3,4] f32[1,10,10,6]",
     "f32[4,2,3,3]",
     {2, PAIR(3, 2), PAIR(2, 2), 0, 0, PAIR(2, 3)},
     {0},
     ACCEPTED},
    {FIRN_OP_conv_backward_weight,
     "f32[2,3,5,4] f32[2,5,6,3]",
     "f32",
     {1, PAIR(1, 1), PAIR(1, 1), 0, 0, PAIR(2, 2)},
     {0},
     SHAPE},
    {FIRN_OP_conv_backward_weight,
     "f32[2,3,5,4] f32[1,5,6,3]",
     "f32",
     {1, PAIR(1, 1), PAIR(1, 1), 0, 0, PAIR(3, 2)},
     {0},
     SHAPE},
    {FIRN_OP_conv_backward_weight,
     "f32[2,3,5,4] f32[2,5,6,3]",
     "f32",
     {2, PAIR(1, 1), PAIR(1, 1), 0, 0, PAIR(3, 2)},
     {0},
     SHAPE},
    {FIRN_OP_conv_backward_weight,
     "f32[2,3,5,4] f32[2,5,6,3]",
     "f32",
     {1, PAIR(1, 1), PAIR(1, 1), 0, 0, PAIR(0, 2)},
     {0},
     ATTRIBUTE},
    /* Pools: kernel, stride, dilation, before and after. */
    {FIRN_OP_max_pool, "b16[2,5,6,3]", "b16[2,2,3,3]", {PAIR(2, 2), PAIR(2, 2), PAIR(1, 1), 0, 0}, {0}, ACCEPTED},
    {FIRN_OP_max_pool,
     "b16[1,1,1,3]",
     "f32[1,65535,1,3]",
     {PAIR(1, 65535), PAIR(1, 1), PAIR(1, 1), PAIR(65534, 65534), 0},
     {0},
     ACCEPTED},
    {FIRN_OP_max_pool, "f32[2,5,6,3]", "f32", {PAIR(6, 2), PAIR(2, 2), PAIR(1, 1), 0, 0}, {0}, SHAPE},
    {FIRN_OP_max_pool, "f32[5,6,3]", "f32", {PAIR(2, 2), PAIR(2, 2), PAIR(1, 1), 0, 0}, {0}, SHAPE},
    {FIRN_OP_max_pool, "f32[2,5,6,3]", "f32", {PAIR(0, 2), PAIR(2, 2), PAIR(1, 1), 0, 0}, {0}, ATTRIBUTE},
    {FIRN_OP_max_pool_backward,
     "f32[2,2,3,3] b16[2,5,6,3]",
     "b16[2,5,6,3]",
     {PAIR(2, 2), PAIR(2, 2), PAIR(1, 1), 0, 0},
     {0},
     ACCEPTED},
    {FIRN_OP_max_pool_backward,
     "f32[2,2,3,4] f32[2,5,6,3]",
     "f32",
     {PAIR(2, 2), PAIR(2, 2), PAIR(1, 1), 0, 0},
     {0},
     SHAPE},
    {FIRN_OP_max_pool_backward,
     "f32[2,3,3,3] f32[2,5,6,3]",
     "f32",
     {PAIR(2, 2), PAIR(2, 2), PAIR(1, 1), 0, 0},
     {0},
     SHAPE},
    {FIRN_OP_max_pool_backward,
     "f32[2,2,3,3] f32[2,5,6,3]",
     "f32",
     {PAIR(2, 2), PAIR(2, 2), PAIR(1, 1), 0, -1},
     {0},
     ATTRIBUTE},
    {FIRN_OP_average_pool,
     "b16[2,5,6,3]",
     "f32[2,2,3,3]",
     {PAIR(2, 2), PAIR(2, 2), PAIR(1, 1), 0, 0, 1},
     {0},
     ACCEPTED},
    {FIRN_OP_average_pool, "f32[2,5,6,3]", "f32", {PAIR(2, 2), PAIR(2, 2), PAIR(1, 1), 0, 0, 2}, {0}, ATTRIBUTE},
    {FIRN_OP_average_pool_backward,
     "f32[2,2,3,3]",
     "b16[2,5,6,3]",
     {PAIR(2, 2), PAIR(2, 2), PAIR(1, 1), 0, 0, 0, 5, 6},
     {0},
     ACCEPTED},
    {FIRN_OP_average_pool_backward,
     "f32[2,2,3,3]",
     "f32",
     {PAIR(2, 2), PAIR(2, 2), PAIR(1, 1), 0, 0, 0, 6, 6},
     {0},
     SHAPE},
    {FIRN_OP_average_pool_backward,
     "f32[2,3,3]",
     "f32",
     {PAIR(2, 2), PAIR(2, 2), PAIR(1, 1), 0, 0, 0, 5, 6},
     {0},
     SHAPE},
    {FIRN_OP_average_pool_backward,
     "f32[2,2,3,3]",
     "f32",
     {PAIR(2, 2), PAIR(2, 2), PAIR(1, 1), 0, 0, 0, 0, 6},
     {0},
     ATTRIBUTE},
    {FIRN_OP_concat, "b16[2,3]", "b16[2,3]", {0}, {0}, ACCEPTED},
    {FIRN_OP_concat, "f32[2,3] f32[4,3] f32[1,3]", "f32[7,3]", {0}, {0}, ACCEPTED},
    {FIRN_OP_concat, "f32[2,3,5] f32[2,1,5]", "f32[2,4,5]", {1}, {0}, ACCEPTED},
    {FIRN_OP_concat, "f16[2,3] f16[2,1]", "f16[2,4]", {1}, {0}, ACCEPTED},
    {FIRN_OP_concat, SIXTY_FOUR, "f32[64]", {0}, {0}, ACCEPTED},
    {FIRN_OP_concat, SIXTY_FOUR " f32[1]", "f32", {0}, {0}, OPERANDS},
    {FIRN_OP_concat, "", "f32", {0}, {0}, OPERANDS},
    {FIRN_OP_concat, "f32[2] - f32[2]", "f32", {0}, {0}, OPERANDS},
    {FIRN_OP_concat, "f32[2] f32[2] -", "f32", {0}, {0}, OPERANDS},
    {FIRN_OP_concat, "f32[2,3] f32[2,3]", "f32", {2}, {0}, ATTRIBUTE},
    {FIRN_OP_concat, "f32[2,3] f32[2,3]", "f32", {-1}, {0}, ATTRIBUTE},
    {FIRN_OP_concat, "f32[2,3] b16[2,3]", "f32", {0}, {0}, SHAPE},
    {FIRN_OP_concat, "f32[2,3] f32[2,3]", "b16", {0}, {0}, SHAPE},
    {FIRN_OP_concat, "i32[2,3] i32[2,3]", "i32", {0}, {0}, SHAPE},
    {FIRN_OP_concat, "f32[2,3] f32[2,4]", "f32", {0}, {0}, SHAPE},
    {FIRN_OP_concat, "f32[2,3] f32[2,3] f32[2,4]", "f32", {0}, {0}, SHAPE},
    {FIRN_OP_concat, "f32[2,3] f32[6]", "f32", {0}, {0}, SHAPE},
    {FIRN_OP_concat, "f32[2,3] f32[2,3,1]", "f32", {0}, {0}, SHAPE},
    {FIRN_OP_concat, "f32[4294967295] f32[1]", "f32", {0}, {0}, SHAPE},
    {FIRN_OP_concat, "f32[4294967294] f32[1]", "f32[4294967295]", {0}, {0}, ACCEPTED},
    {FIRN_OP_softmax_backward, "f32[2,3] b16[2,3]", "b16[2,3]", {0}, {0}, ACCEPTED},
    {FIRN_OP_softmax_backward, "f32[2,3] f32[3,2]", "f32", {0}, {0}, SHAPE},
    /* Axes as bits, and whether the dimensions stay. */
    {FIRN_OP_reduce_sum, "b16[2,3,4]", "f32[2,4]", {2, 0}, {0}, ACCEPTED},
    {FIRN_OP_reduce_sum, "f32[2,3,4]", "b16[1,3,1]", {5, 1}, {0}, ACCEPTED},
    {FIRN_OP_reduce_sum, "f32[2,3]", "f32[1]", {3, 0}, {0}, ACCEPTED},
    {FIRN_OP_reduce_sum, "f32[5]", "f32[1]", {1, 0}, {0}, ACCEPTED},
    {FIRN_OP_reduce_sum, "f32[1,2,1,2,1,2,1,2]", "f32[1,1,1,1,1,1,1,1]", {255, 1}, {0}, ACCEPTED},
    {FIRN_OP_reduce_sum, "f32[2,3]", "f32", {0, 0}, {0}, ATTRIBUTE},
    {FIRN_OP_reduce_sum, "f32[2,3]", "f32", {4, 0}, {0}, ATTRIBUTE},
    {FIRN_OP_reduce_sum, "f32[2,3]", "f32", {-1, 0}, {0}, ATTRIBUTE},
    {FIRN_OP_reduce_sum, "f32[2,3]", "f32", {INT64_MIN, 0}, {0}, ATTRIBUTE},
    {FIRN_OP_reduce_sum, "f32[2,3]", "f32", {1, 2}, {0}, ATTRIBUTE},
    {FIRN_OP_reduce_sum, "i32[2,3]", "f32", {1, 0}, {0}, SHAPE},
    {FIRN_OP_reduce_max, "b16[2,3,4]", "b16[3]", {5, 0}, {0}, ACCEPTED},
    {FIRN_OP_reduce_max, "b16[2,3,4]", "f32", {5, 0}, {0}, SHAPE},
    {FIRN_OP_reduce_max, "b16[2,3,4]", "b16", {8, 0}, {0}, ATTRIBUTE},
    {FIRN_OP_reduce_sum_backward, "f32[2,4]", "b16[2,3,4]", {2, -3, 4}, {0}, ACCEPTED},
    {FIRN_OP_reduce_sum_backward, "f32[2,1,4]", "f32[2,3,4]", {2, -3, 4}, {0}, ACCEPTED},
    {FIRN_OP_reduce_sum_backward, "f32[1]", "f32[4294967295]", {-4294967295}, {0}, ACCEPTED},
    {FIRN_OP_reduce_sum_backward, "f32[1]", "f32[2,2,2,2,2,2,2,2]", {-2, -2, -2, -2, -2, -2, -2, -2}, {0}, ACCEPTED},
    {FIRN_OP_reduce_sum_backward, "f32[1,4]", "f32", {2, -3, 4}, {0}, SHAPE},
    {FIRN_OP_reduce_sum_backward, "f32[2,3,4]", "f32", {2, -3, 4}, {0}, SHAPE},
    {FIRN_OP_reduce_sum_backward, "f32[2,4]", "f32", {2, 4}, {0}, ATTRIBUTE},
    {FIRN_OP_reduce_sum_backward, "f32[2,4]", "f32", {2, 0, -3, 4}, {0}, ATTRIBUTE},
    {FIRN_OP_reduce_sum_backward, "f32[2,4]", "f32", {0}, {0}, ATTRIBUTE},
    {FIRN_OP_reduce_sum_backward, "f32[1]", "f32", {-4294967296}, {0}, ATTRIBUTE},
    {FIRN_OP_reduce_sum_backward, "f32[1]", "f32", {INT64_MIN}, {0}, ATTRIBUTE},
    {FIRN_OP_reduce_sum_backward, "f32[1]", "f32", {INT64_MAX}, {0}, ATTRIBUTE},
    {FIRN_OP_reduce_sum_backward, "f32[1]", "f32", {-4294967295, -4294967295, -4294967295, -4294967295}, {0}, SHAPE},
    {FIRN_OP_reduce_max_backward, "f32[2,4] b16[2,3,4] b16[2,4]", "b16[2,3,4]", {2, 0}, {0}, ACCEPTED},
    {FIRN_OP_reduce_max_backward, "f32[2,1,4] f32[2,3,4] f32[2,1,4]", "f32[2,3,4]", {2, 1}, {0}, ACCEPTED},
    {FIRN_OP_reduce_max_backward, "f32[2,1,4] f32[2,3,4] f32[2,4]", "f32", {2, 1}, {0}, SHAPE},
    {FIRN_OP_reduce_max_backward, "f32[2,4] f32[2,3,4] f32[2,3]", "f32", {2, 0}, {0}, SHAPE},
    {FIRN_OP_reduce_max_backward, "f32[3,4] f32[2,3,4] f32[2,4]", "f32", {2, 0}, {0}, SHAPE},
    {FIRN_OP_reduce_max_backward, "f32[2,4] f32[2,3,4] f32[2,4]", "f32", {8, 0}, {0}, ATTRIBUTE},
    {FIRN_OP_arg_max, "b16[2,3,4]", "i32[2,4]", {1, 0}, {0}, ACCEPTED},
    {FIRN_OP_arg_max, "f32[5]", "i32[1]", {0, 1}, {0}, ACCEPTED},
    {FIRN_OP_arg_max, "f32[2147483647]", "i32[1]", {0, 1}, {0}, ACCEPTED},
    {FIRN_OP_arg_max, "f32[2147483648]", "i32", {0, 1}, {0}, SHAPE},
    {FIRN_OP_arg_max, "f32[5]", "f32", {0, 1}, {0}, SHAPE},
    {FIRN_OP_arg_max, "f32[5]", "i32", {1, 0}, {0}, ATTRIBUTE},
    {FIRN_OP_arg_max, "f32[5]", "i32", {-1, 0}, {0}, ATTRIBUTE},
    /* Matrices of batches, each turned or not. */
    {FIRN_OP_matmul, "f32[2,3] f32[3,4]", "b16[2,4]", {0, 0}, {0}, ACCEPTED},
    {FIRN_OP_matmul, "b16[5,6,2,3] b16[5,6,4,3]", "b16[5,6,2,4]", {0, 1}, {0}, ACCEPTED},
    {FIRN_OP_matmul, "f32[5,3,2] f32[5,3,4]", "f32[5,2,4]", {1, 0}, {0}, ACCEPTED},
    {FIRN_OP_matmul, "f32[5,3,2] f32[5,4,3]", "f32[5,2,4]", {1, 1}, {0}, ACCEPTED},
    {FIRN_OP_matmul, "f32[2,3] f32[2,4]", "f32", {0, 0}, {0}, SHAPE},
    {FIRN_OP_matmul, "f32[2,3] f32[3,4]", "f32", {1, 0}, {0}, SHAPE},
    {FIRN_OP_matmul, "f32[2,3] f32[3,4]", "f32", {0, 1}, {0}, SHAPE},
    {FIRN_OP_matmul, "f32[2,2,3] f32[3,4]", "f32", {0, 0}, {0}, SHAPE},
    {FIRN_OP_matmul, "f32[2,2,3] f32[1,3,4]", "f32", {0, 0}, {0}, SHAPE},
    {FIRN_OP_matmul, "f32[3] f32[3]", "f32", {0, 0}, {0}, SHAPE},
    {FIRN_OP_matmul, "f32[2,3] b16[3,4]", "f32", {0, 0}, {0}, SHAPE},
    {FIRN_OP_matmul, "f32[2,3] f32[3,4]", "f32", {2, 0}, {0}, ATTRIBUTE},
    {FIRN_OP_matmul, "f32[4294967295,1] f32[1,4294967295]", "f32", {0, 0}, {0}, SHAPE},
    {FIRN_OP_concat_int32, "i32[2,3] i32[2,1]", "i32[2,4]", {1}, {0}, ACCEPTED},
    {FIRN_OP_concat_int32, "i32[2,3] f32[2,1]", "i32", {1}, {0}, SHAPE},
    {FIRN_OP_concat_int32, "f32[2,3] f32[2,1]", "f32", {1}, {0}, SHAPE},
    {FIRN_OP_gradient_factors, "f32[1]", "f32[3]", {0}, {0}, ACCEPTED},
    {FIRN_OP_gradient_factors, "f32[1]", "f32[3]", {2}, {2}, ACCEPTED},
    {FIRN_OP_gradient_factors, "- f32[1]", "f32[3]", {1}, {2}, ACCEPTED},
    {FIRN_OP_gradient_factors, "f32[1] f32[1]", "f32[3]", {1}, {2}, ACCEPTED},
    {FIRN_OP_gradient_factors, "", "f32[3]", {2}, {2}, ACCEPTED},
    {FIRN_OP_gradient_factors, "", "f32[3]", {0}, {0}, ACCEPTED},
    {FIRN_OP_gradient_factors, "f32[1] -", "f32[3]", {0}, {0}, OPERANDS},
    {FIRN_OP_gradient_factors, "-", "f32[3]", {2}, {2}, OPERANDS},
    {FIRN_OP_gradient_factors, "- -", "f32[3]", {2}, {2}, OPERANDS},
    {FIRN_OP_gradient_factors, "f32[1]", "f32", {1}, {2}, OPERANDS},
    {FIRN_OP_gradient_factors, "f32[1] f32[1]", "f32", {2}, {2}, OPERANDS},
    {FIRN_OP_gradient_factors, "- f32[1]", "f32", {0}, {0}, OPERANDS},
    {FIRN_OP_gradient_factors, "f32[2]", "f32", {0}, {0}, SHAPE},
    {FIRN_OP_gradient_factors, "- f32[2]", "f32", {1}, {2}, SHAPE},
    {FIRN_OP_gradient_factors, "f32[1] i32[1]", "f32", {1}, {2}, SHAPE},
    {FIRN_OP_gradient_factors, "f32[1]", "b16", {0}, {0}, SHAPE},
    {FIRN_OP_gradient_factors, "f32[1]", "f32", {3}, {0}, ATTRIBUTE},
    {FIRN_OP_gradient_factors, "f32[1]", "f32", {-1}, {0}, ATTRIBUTE},
    {FIRN_OP_gradient_factors, "f32[1]", "f32", {0}, {1}, ATTRIBUTE},
    {FIRN_OP_gradient_factors, "- f32[1]", "f32", {1}, {0}, ATTRIBUTE},
    {FIRN_OP_gradient_factors, "- f32[1]", "f32", {1}, {INFINITY}, ATTRIBUTE},
    {FIRN_OP_decay_factors, "f32[1]", "f32[4]", {0}, {0}, ACCEPTED},
    {FIRN_OP_decay_factors, "f32[1] f32[3]", "f32[4]", {0}, {0}, ACCEPTED},
    {FIRN_OP_decay_factors, "f32[2]", "f32", {0}, {0}, SHAPE},
    {FIRN_OP_decay_factors, "i32[1]", "f32", {0}, {0}, SHAPE},
    {FIRN_OP_decay_factors, "f32[1] f32[4]", "f32", {0}, {0}, SHAPE},
    {FIRN_OP_decay_factors, "f32[1]", "b16", {0}, {0}, SHAPE},
    {FIRN_OP_sgd, "f32[2,3] f32[2,3] f32[1] f32[4]", "f32[2,3]", {0}, {0}, ACCEPTED},
    {FIRN_OP_sgd, "f32[2,3] f32[2,3] f32[1] f32[4]", "f32", {0}, {0.5f}, ATTRIBUTE},
    {FIRN_OP_sgd, "f32[2,3] f32[2,3] f32[1] f32[5]", "f32", {0}, {0}, SHAPE},
    {FIRN_OP_sgd_momentum, "f32[2] f32[2] f32[1] f32[2] f32[4]", "f32 f32", {0, 0}, {0.5f, 0, 0.5f}, ATTRIBUTE},
    {FIRN_OP_adamw,
     "f32[2] f32[2] f32[1] f32[2] f32[2] f32[1] f32[1] f32[4]",
     "f32 f32 f32",
     {1},
     {0.9f, 0.95f, 1e-8f, 0.5f},
     ATTRIBUTE},
    {FIRN_OP_adamw,
     "f32[2,3] f32[2,3] f32[1] f32[2,3] f32[2,3] f32[1] f32[1]",
     "f32[2,3] f32[2,3] f32[2,3]",
     {1},
     {0.9f, 0.95f, 1e-8f, 0.01f},
     ACCEPTED},
    {FIRN_OP_adamw,
     "f32[2,3] b16[2,3] f32[1] f32[2,3] f32[2,3] f32[1] f32[1] f32[3]",
     "f32[2,3] f32[2,3] f32[2,3]",
     {1},
     {0.9f, 0.95f, 1e-8f, 0},
     ACCEPTED},
    {FIRN_OP_adamw,
     "f32[2,3] f32[2,3] f32[1] b16[2,3] f32[2,3] f32[1] f32[1]",
     "f32 f32 f32",
     {1},
     {0.9f, 0.95f, 1e-8f, 0},
     SHAPE},
    {FIRN_OP_adamw,
     "f32[2,3] f32[2,3] f32[1] f32[2,3] f32[2,3] f32[1] f32[1] f32[2]",
     "f32 f32 f32",
     {1},
     {0.9f, 0.95f, 1e-8f, 0},
     SHAPE},
    {FIRN_OP_adamw,
     "f32[2,3] f32[2,3] f32[1] f32[2,3] f32[6] f32[1] f32[1]",
     "f32 f32 f32",
     {1},
     {0.9f, 0.95f, 1e-8f, 0},
     SHAPE},
    {FIRN_OP_adamw,
     "f32[2,3] f32[2,3] f32[2] f32[2,3] f32[2,3] f32[1] f32[1]",
     "f32 f32 f32",
     {1},
     {0.9f, 0.95f, 1e-8f, 0},
     SHAPE},
    {FIRN_OP_adamw,
     "f32[2] f32[2] f32[1] f32[2] f32[2] f32[1] f32[1]",
     "f32 f32 f32",
     {2},
     {0.9f, 0.95f, 1e-8f, 0},
     ATTRIBUTE},
    {FIRN_OP_adamw,
     "f32[2] f32[2] f32[1] f32[2] f32[2] f32[1] f32[1]",
     "f32 f32 f32",
     {1},
     {1, 0.95f, 1e-8f, 0},
     ATTRIBUTE},
    {FIRN_OP_adamw,
     "f32[2] f32[2] f32[1] f32[2] f32[2] f32[1] f32[1]",
     "f32 f32 f32",
     {1},
     {0.9f, 0.95f, 0, 0},
     ATTRIBUTE},
    {FIRN_OP_adamw,
     "f32[2] f32[2] f32[1] f32[2] f32[2] f32[1] f32[1]",
     "f32 f32 f32",
     {1},
     {0.9f, 0.95f, 1, -1},
     ATTRIBUTE},
    {FIRN_OP_sgd, "f32[2,3] f32[2,3] f32[1]", "f32[2,3]", {0}, {0.1f}, ACCEPTED},
    {FIRN_OP_sgd, "f32[2,3] b16[2,3] f32[1] f32[3]", "f32[2,3]", {0}, {0.1f}, ACCEPTED},
    {FIRN_OP_sgd, "f32[2,3] f32[2,3] f32[2]", "f32", {0}, {0}, SHAPE},
    {FIRN_OP_sgd, "f32[2,3] f32[3,2] f32[1]", "f32", {0}, {0}, SHAPE},
    {FIRN_OP_sgd, "b16[2,3] f32[2,3] f32[1]", "f32", {0}, {0}, SHAPE},
    {FIRN_OP_sgd, "f32[2,3] f32[2,3] f32[1] f32[1]", "f32", {0}, {0}, SHAPE},
    {FIRN_OP_sgd, "f32[2,3] f32[2,3] f32[1]", "f32", {2}, {0}, ATTRIBUTE},
    {FIRN_OP_sgd, "f32[2,3] f32[2,3] f32[1]", "f32", {0}, {-0.1f}, ATTRIBUTE},
    {FIRN_OP_sgd_momentum, "f32[2] f32[2] f32[1] f32[2]", "f32[2] f32[2]", {1, 0}, {0.9f, 0, 0}, ACCEPTED},
    {FIRN_OP_sgd_momentum, "f32[2] f16[2] f32[1] f32[2] f32[3]", "f32[2] f32[2]", {1, 0}, {0.9f, 0, 0}, ACCEPTED},
    {FIRN_OP_sgd_momentum, "f32[2] f32[2] f32[1] f32[3]", "f32 f32", {1, 0}, {0.9f, 0, 0}, SHAPE},
    {FIRN_OP_sgd_momentum, "f32[2] f32[2] f32[1] f32[2] f32[2]", "f32 f32", {1, 0}, {0.9f, 0, 0}, SHAPE},
    {FIRN_OP_sgd_momentum, "f32[2] f32[2] f32[1] f32[2]", "f32 f32", {1, 0}, {-0.9f, 0, 0}, ATTRIBUTE},
    {FIRN_OP_sgd_momentum, "f32[2] f32[2] f32[1] f32[2]", "f32 f32", {1, 0}, {0.9f, NAN, 0}, ATTRIBUTE},
#include "tests/unit/shapes_optimizers.def"
    {FIRN_OP_advance_power, "f32[1]", "f32[1]", .reals = {0.9f}, ACCEPTED},
    {FIRN_OP_advance_power, "f32[2]", "f32", .reals = {0.9f}, SHAPE},
    {FIRN_OP_advance_power, "f32[1]", "f32", .reals = {INFINITY}, ATTRIBUTE},
    {FIRN_OP_count, "i64[1]", "i64[1]", .integers = {1}, ACCEPTED},
    {FIRN_OP_count, "i32[1]", "i64", .integers = {1}, SHAPE},
    {FIRN_OP_count, "i64[1]", "i64", .integers = {0}, ATTRIBUTE},
    {FIRN_OP_count, "i64[1]", "i64", .integers = {INT64_C(1) << 31}, ATTRIBUTE},
    {FIRN_OP_loss_scale_update,
     "i32[1] f32[1] i64[1] i64[1] i64[1]",
     "f32[1] i64[1] i64[1] i64[1] i32[1]",
     {2000},
     {0x1p-14f, 0x1p15f, 0},
     ACCEPTED},
    {FIRN_OP_loss_scale_update, "i32[1] f32[1] i64[1] i64[1] i32[1]", "f32 i64 i64 i64 i32", {2000}, {1, 2, 0}, SHAPE},
    {FIRN_OP_loss_scale_update, "i32[1] f32[1] i64[1] i64[1] i64[1]", "f32 i64 i64 i64 i64", {2000}, {1, 2, 0}, SHAPE},
    {FIRN_OP_loss_scale_update, "i32[1] f32[1] i64[1] i64[1] i64[1]", "f32 i64 i64 i64 i32", {0}, {1, 2, 0}, ATTRIBUTE},
    {FIRN_OP_loss_scale_update, "i32[1] f32[1] i64[1] i64[1] i64[1]", "f32 i64 i64 i64 i32", {1}, {0, 2, 0}, ATTRIBUTE},
    {FIRN_OP_loss_scale_update, "i32[1] f32[1] i64[1] i64[1] i64[1]", "f32 i64 i64 i64 i32", {1}, {2, 1, 0}, ATTRIBUTE},
    {FIRN_OP_loss_scale_update,
     "i32[1] f32[1] i64[1] i64[1] i64[1]",
     "f32 i64 i64 i64 i32",
     {1},
     {1, 2, -1},
     ATTRIBUTE},
    {FIRN_OP_metric_mean, "f32[1] f32[2] i64[1]", "f32[2] i64[1]", ACCEPTED},
    {FIRN_OP_metric_mean, "f32[1] f32[1] i64[1]", "f32 i64", SHAPE},
    {FIRN_OP_metric_accuracy, "b16[2,3,7] i32[2,3] i64[1] i64[1]", "i64[1] i64[1]", ACCEPTED},
    {FIRN_OP_metric_accuracy, "b16[2,3,7] i32[2,4] i64[1] i64[1]", "i64 i64", SHAPE},

    {FIRN_OP_sigmoid, "b16[2,3]", "f32[2,3]", ACCEPTED},
    {FIRN_OP_sigmoid, "i32[2,3]", "f32", SHAPE},
    {FIRN_OP_sigmoid_backward, "b16[2,3] f32[2,3]", "f16[2,3]", ACCEPTED},
    {FIRN_OP_sigmoid_backward, "b16[2,3] f32[3,2]", "f16", SHAPE},
    {FIRN_OP_silu, "b16[7]", "b16[7]", ACCEPTED},
    {FIRN_OP_silu, "b16[7]", "i32", SHAPE},
    {FIRN_OP_silu_backward, "b16[7] b16[7]", "b16[7]", ACCEPTED},
    {FIRN_OP_silu_backward, "b16[7] i32[7]", "b16", SHAPE},
    {FIRN_OP_softplus, "b16[7]", "f32[7]", ACCEPTED},
    {FIRN_OP_softplus, "i64[7]", "f32", SHAPE},
    {FIRN_OP_softplus_backward, "f32[7] b16[7]", "b16[7]", ACCEPTED},
    {FIRN_OP_softplus_backward, "f32[7] b16[8]", "b16", SHAPE},
    {FIRN_OP_log_softmax, "b16[2,3,7]", "f32[2,3,7]", ACCEPTED},
    {FIRN_OP_log_softmax, "b16[7]", "f32", SHAPE},
    {FIRN_OP_softmax, "b16[2,3,7]", "f32[2,3,7]", ACCEPTED},
    {FIRN_OP_softmax, "b16[7]", "f32", SHAPE},
    {FIRN_OP_log_softmax_backward, "f32[2,7] f32[2,7]", "b16[2,7]", ACCEPTED},
    {FIRN_OP_log_softmax_backward, "f32[7] f32[7]", "b16", SHAPE},

    {FIRN_OP_l1_loss, "b16[2,3] f32[2,3]", "f32[1]", ACCEPTED},
    {FIRN_OP_l1_loss, "b16[2,3] b16[2,3]", "f32", SHAPE},
    {FIRN_OP_l1_loss_backward, "f32[1] b16[2,3] f32[2,3]", "b16[2,3]", ACCEPTED},
    {FIRN_OP_l1_loss_backward, "f32[2] b16[2,3] f32[2,3]", "b16", SHAPE},
    {FIRN_OP_huber_loss, "b16[2,3] f32[2,3]", "f32[1]", {1}, {0.5f}, ACCEPTED},
    {FIRN_OP_huber_loss, "b16[2,3] f32[2,4]", "f32", {1}, {0.5f}, SHAPE},
    {FIRN_OP_huber_loss, "b16[2,3] f32[2,3]", "f32", {2}, {0.5f}, ATTRIBUTE},
    {FIRN_OP_huber_loss, "b16[2,3] f32[2,3]", "f32", {0}, {0}, ATTRIBUTE},
    {FIRN_OP_huber_loss, "b16[2,3] f32[2,3]", "f32", {0}, {NAN}, ATTRIBUTE},
    {FIRN_OP_huber_loss_backward, "f32[1] b16[2,3] f32[2,3]", "b16[2,3]", {0}, {0.5f}, ACCEPTED},
    {FIRN_OP_huber_loss_backward, "f32[1] b16[2,3] f32[2,3]", "b16", {0}, {-1}, ATTRIBUTE},
    {FIRN_OP_binary_cross_entropy, "c16[2,3] f32[2,3]", "f32[1]", ACCEPTED},
    {FIRN_OP_binary_cross_entropy, "c16[2,3] i32[2,3]", "f32", SHAPE},
    {FIRN_OP_binary_cross_entropy_backward, "f32[1] c16[2,3] f32[2,3]", "c16[2,3]", ACCEPTED},
    {FIRN_OP_binary_cross_entropy_backward, "f32[1] c16[2,3] f32[3,2]", "c16", SHAPE},
    {FIRN_OP_kl_divergence, "f32[2,3] f32[2,3]", "f32[1]", .integers = {1, 0}, ACCEPTED},
    {FIRN_OP_kl_divergence, "f32[2,3] f32[2,3]", "f32", .integers = {2, 0}, ATTRIBUTE},
    {FIRN_OP_kl_divergence, "f32[2,3] f32[2,3]", "f32", .integers = {0, -1}, ATTRIBUTE},
    {FIRN_OP_kl_divergence_backward, "f32[1] f32[2,3] f32[2,3]", "f32[2,3]", .integers = {0, 1}, ACCEPTED},
    {FIRN_OP_kl_divergence_backward, "f32[1] f32[2,3] f32[2,3]", "f32", .integers = {0, 2}, ATTRIBUTE},
    {FIRN_OP_nll_loss, "f32[2,3,7] i32[2,3]", "f32[1]", ACCEPTED},
    {FIRN_OP_nll_loss, "f32[2,3,7] i32[2,4]", "f32", SHAPE},
    {FIRN_OP_nll_loss_backward, "f32[1] f32[2,3,7] i32[6]", "b16[2,3,7]", ACCEPTED},
    {FIRN_OP_nll_loss_backward, "f32[1] f32[2,3,7] f32[6]", "b16", SHAPE},

    {FIRN_OP_cross_entropy_weighted,
     "b16[2,3,7] i32[2,3]",
     "f32[1] f32[2,3] f32[2,3] f32[2,3] f32[1]",
     {-1, 0},
     {0, 1},
     ACCEPTED},
    {FIRN_OP_cross_entropy_weighted,
     "b16[6,7] i32[6] f32[2,3]",
     "f32[1] f32[6] f32[6] f32[6] f32[1]",
     {6, 1},
     {0.1f, 2},
     ACCEPTED},
    {FIRN_OP_cross_entropy_weighted, "b16[6,7] i32[6] f32[5]", "f32 f32 f32 f32 f32", {6, 1}, {0.1f, 2}, SHAPE},
    {FIRN_OP_cross_entropy_weighted, "b16[6,7] i32[6] b16[6]", "f32 f32 f32 f32 f32", {6, 1}, {0.1f, 2}, SHAPE},
    {FIRN_OP_cross_entropy_weighted, "b16[6,7] i32[6]", "f32 f32 f32 b16 f32", {6, 1}, {0.1f, 2}, SHAPE},
    {FIRN_OP_cross_entropy_weighted, "b16[6,7] i32[6]", "f32 f32 f32 f32 f32", {7, 1}, {0.1f, 2}, ATTRIBUTE},
    {FIRN_OP_cross_entropy_weighted, "b16[6,7] i32[6]", "f32 f32 f32 f32 f32", {-2, 1}, {0.1f, 2}, ATTRIBUTE},
    {FIRN_OP_cross_entropy_weighted, "b16[6,7] i32[6]", "f32 f32 f32 f32 f32", {0, 2}, {0.1f, 2}, ATTRIBUTE},
    {FIRN_OP_cross_entropy_weighted, "b16[6,7] i32[6]", "f32 f32 f32 f32 f32", {0, 1}, {1, 2}, ATTRIBUTE},
    {FIRN_OP_cross_entropy_weighted, "b16[6,7] i32[6]", "f32 f32 f32 f32 f32", {0, 1}, {0, 0}, ATTRIBUTE},
    {FIRN_OP_cross_entropy_weighted_backward,
     "f32[1] b16[2,3,7] i32[2,3] f32[2,3] f32[2,3] f32[1]",
     "b16[2,3,7]",
     {-1, 0},
     {0, 1},
     ACCEPTED},
    {FIRN_OP_cross_entropy_weighted_backward,
     "f32[1] b16[6,7] i32[6] f32[6] f32[6] f32[1] f32[6]",
     "b16[6,7]",
     {6, 0},
     {0, 1},
     ACCEPTED},
    {FIRN_OP_cross_entropy_weighted_backward,
     "f32[1] b16[6,7] i32[6] f32[6] f32[6] f32[1]",
     "f32",
     {6, 0},
     {0, 1},
     SHAPE},
    {FIRN_OP_cross_entropy_weighted_backward,
     "f32[1] b16[6,7] i32[6] f32[6] f32[6] f32[2]",
     "b16",
     {6, 0},
     {0, 1},
     SHAPE},
    {FIRN_OP_cross_entropy_weighted_backward,
     "f32[1] b16[6,7] i32[6] f32[6] f32[6] f32[1] f32[7]",
     "b16",
     {6, 0},
     {0, 1},
     SHAPE},
    {FIRN_OP_cross_entropy_weighted_backward,
     "f32[1] b16[6,7] i32[6] f32[6] f32[6] f32[1]",
     "b16",
     {7, 0},
     {0, 1},
     ATTRIBUTE},

    {FIRN_OP_metric_weighted_mean, "f32[1] i32[6] f32[1] f32[2] i64[1] f32[6]", "f32[2] i64[1]", {5}, {0.5f}, ACCEPTED},
    {FIRN_OP_metric_weighted_mean, "f32[1] i32[6] f32[1] f32[2] i64[1]", "f32[2] i64[1]", {-1}, {1}, ACCEPTED},
    {FIRN_OP_metric_weighted_mean, "f32[1] i32[6] f32[1] f32[1] i64[1]", "f32 i64", {-1}, {1}, SHAPE},
    {FIRN_OP_metric_weighted_mean, "f32[1] i32[6] f32[1] f32[2] i64[1] f32[5]", "f32 i64", {-1}, {1}, SHAPE},
    {FIRN_OP_metric_weighted_mean, "f32[1] i32[6] f32[1] f32[2] i64[1]", "f32 i64", {-2}, {1}, ATTRIBUTE},
    {FIRN_OP_metric_weighted_mean, "f32[1] i32[6] f32[1] f32[2] i64[1]", "f32 i64", {-1}, {0}, ATTRIBUTE},
    {FIRN_OP_metric_weighted_accuracy, "b16[6,7] i32[6] f32[2] i64[1] f32[6]", "f32[2] i64[1]", .integers = {6},
     ACCEPTED},
    {FIRN_OP_metric_weighted_accuracy, "b16[6,7] i32[6] i64[1] i64[1]", "f32 i64", .integers = {6}, SHAPE},
    {FIRN_OP_metric_weighted_accuracy, "b16[6,7] i32[6] f32[2] i64[1]", "f32 i64", .integers = {7}, ATTRIBUTE},
    {FIRN_OP_metric_confusion, "b16[6,7] i32[6] i64[7,8] i64[1]", "i64[7,8] i64[1]", .integers = {-1}, ACCEPTED},
    {FIRN_OP_metric_confusion, "b16[6,7] i32[6] i64[7,7] i64[1]", "i64 i64", .integers = {-1}, SHAPE},
    {FIRN_OP_metric_confusion, "b16[6,7] i32[6] i64[8,7] i64[1]", "i64 i64", .integers = {-1}, SHAPE},
    {FIRN_OP_metric_confusion, "b16[6,7] i32[6] i64[56] i64[1]", "i64 i64", .integers = {-1}, SHAPE},
    {FIRN_OP_metric_confusion, "b16[6,7] i32[6] f32[7,8] i64[1]", "i64 i64", .integers = {-1}, SHAPE},
    {FIRN_OP_metric_confusion, "b16[6,7] i32[6] i64[7,8] i64[1] f32[7]", "i64 i64", .integers = {-1}, SHAPE},
    {FIRN_OP_metric_confusion, "b16[6,7] i32[6] i64[7,8] i64[1]", "i64 i64", .integers = {9}, ATTRIBUTE},
    {FIRN_OP_metric_auc, "b16[6,7] f32[6,7] i64[2,199] i64[1]", "i64[2,199] i64[1]", ACCEPTED},
    {FIRN_OP_metric_auc, "b16[6,2] i32[6] i64[2,199] i64[1]", "i64[2,199] i64[1]", ACCEPTED},
    {FIRN_OP_metric_auc, "b16[6,3] i32[6] i64[2,199] i64[1]", "i64 i64", SHAPE},
    {FIRN_OP_metric_auc, "b16[6,2] i32[12] i64[2,199] i64[1]", "i64 i64", SHAPE},
    {FIRN_OP_metric_auc, "b16[6,7] f32[6,7] i64[2,198] i64[1]", "i64 i64", SHAPE},
    {FIRN_OP_reshape, "b16[2,3,4]", "b16[4,6]", {4, 6}, {0}, ACCEPTED},
    {FIRN_OP_reshape, "i32[6]", "i32[1,1,1,1,1,1,2,3]", {1, 1, 1, 1, 1, 1, 2, 3}, {0}, ACCEPTED},
    {FIRN_OP_reshape, "f32[1]", "f32[1]", {1}, {0}, ACCEPTED},
    {FIRN_OP_reshape, "f32[2,3]", "f32", {5}, {0}, SHAPE},
    {FIRN_OP_reshape, "f32[2,3]", "b16", {6}, {0}, SHAPE},
    {FIRN_OP_reshape, "i64[2,3]", "i64", {6}, {0}, SHAPE},
    {FIRN_OP_reshape, "f32[2,3]", "f32", {0}, {0}, ATTRIBUTE},
    {FIRN_OP_reshape, "f32[2,3]", "f32", {2, 0, 3}, {0}, ATTRIBUTE},
    {FIRN_OP_reshape, "f32[2,3]", "f32", {-6}, {0}, ATTRIBUTE},
    {FIRN_OP_reshape, "f32[2,3]", "f32", {INT64_C(1) << 32}, {0}, ATTRIBUTE},
    {FIRN_OP_reshape,
     "f32[2,3]",
     "f32",
     {UINT32_MAX, UINT32_MAX, UINT32_MAX, UINT32_MAX, UINT32_MAX, UINT32_MAX, UINT32_MAX, UINT32_MAX},
     {0},
     SHAPE},
    {FIRN_OP_transpose, "b16[2,3,4]", "b16[4,2,3]", {0x102}, {0}, ACCEPTED},
    {FIRN_OP_transpose, "i32[1,2,3,4,5,6,7,8]", "i32[8,7,6,5,4,3,2,1]", {0x01234567}, {0}, ACCEPTED},
    {FIRN_OP_transpose, "f32[7]", "f32[7]", {0}, {0}, ACCEPTED},
    {FIRN_OP_transpose, "f32[2,3]", "f32", {0x11}, {0}, ATTRIBUTE},
    {FIRN_OP_transpose, "f32[2,3]", "f32", {0x20}, {0}, ATTRIBUTE},
    {FIRN_OP_transpose, "f32[2,3]", "f32", {0x101}, {0}, ATTRIBUTE},
    {FIRN_OP_transpose, "f32[2,3]", "f32", {-1}, {0}, ATTRIBUTE},
    {FIRN_OP_transpose, "i64[2,3]", "i64", {0x01}, {0}, SHAPE},
    {FIRN_OP_slice, "b16[2,7,3]", "b16[2,4,3]", {1, 0, 2, 4}, {0}, ACCEPTED},
    {FIRN_OP_slice, "i32[7]", "i32[3]", {0, 6, -3, 3}, {0}, ACCEPTED},
    {FIRN_OP_slice, "f32[7]", "f32[1]", {0, 6, 2147483647, 1}, {0}, ACCEPTED},
    {FIRN_OP_slice, "f32[7]", "f32", {1, 0, 1, 1}, {0}, ATTRIBUTE},
    {FIRN_OP_slice, "f32[7]", "f32", {-1, 0, 1, 1}, {0}, ATTRIBUTE},
    {FIRN_OP_slice, "f32[7]", "f32", {0, 7, 1, 1}, {0}, ATTRIBUTE},
    {FIRN_OP_slice, "f32[7]", "f32", {0, -1, 1, 1}, {0}, ATTRIBUTE},
    {FIRN_OP_slice, "f32[7]", "f32", {0, 0, 0, 2}, {0}, ATTRIBUTE},
    {FIRN_OP_slice, "f32[7]", "f32", {0, 0, 1, 0}, {0}, ATTRIBUTE},
    {FIRN_OP_slice, "f32[7]", "f32", {0, 1, 2, 4}, {0}, ATTRIBUTE},
    {FIRN_OP_slice, "f32[7]", "f32", {0, 5, -2, 4}, {0}, ATTRIBUTE},
    {FIRN_OP_slice, "f32[7]", "f32", {0, 0, INT64_C(1) << 31, 2}, {0}, ATTRIBUTE},
    {FIRN_OP_slice, "f32[7]", "f32", {0, 0, 1, INT64_MAX}, {0}, ATTRIBUTE},
    {FIRN_OP_slice, "f32[7]", "b16", {0, 0, 1, 2}, {0}, SHAPE},
    {FIRN_OP_slice_backward, "b16[2,4,3]", "b16[2,7,3]", {1, 0, 2, 7}, {0}, ACCEPTED},
    {FIRN_OP_slice_backward, "f32[3]", "f32[7]", {0, 6, -3, 7}, {0}, ACCEPTED},
    {FIRN_OP_slice_backward, "f32[3]", "f32", {0, 6, -3, 6}, {0}, ATTRIBUTE},
    {FIRN_OP_slice_backward, "f32[3]", "f32", {0, 0, 1, 0}, {0}, ATTRIBUTE},
    {FIRN_OP_slice_backward, "f32[3]", "b16", {0, 0, 1, 3}, {0}, SHAPE},
    {FIRN_OP_slice_backward, "i32[3]", "i32", {0, 0, 1, 3}, {0}, SHAPE},
    {FIRN_OP_pad, "b16[2,3]", "b16[2,6]", {1, 1, 2}, {-1.5f}, ACCEPTED},
    {FIRN_OP_pad, "f32[2,3]", "f32[2,3]", {0, 0, 0}, {0}, ACCEPTED},
    {FIRN_OP_pad, "f32[2,3]", "f32", {2, 0, 0}, {0}, ATTRIBUTE},
    {FIRN_OP_pad, "f32[2,3]", "f32", {0, -1, 0}, {0}, ATTRIBUTE},
    {FIRN_OP_pad, "f32[2,3]", "f32", {0, 0, INT64_C(1) << 32}, {0}, ATTRIBUTE},
    {FIRN_OP_pad, "f32[2,3]", "f32", {0, UINT32_MAX, UINT32_MAX}, {0}, SHAPE},
    {FIRN_OP_pad, "f32[2,3]", "f32", {0, 1, 1}, {INFINITY}, ATTRIBUTE},
    {FIRN_OP_pad, "i32[2,3]", "i32", {0, 1, 1}, {0}, SHAPE},
    {FIRN_OP_expand, "b16[3,1]", "b16[2,3,4]", {2, 3, 4}, {0}, ACCEPTED},
    {FIRN_OP_expand, "i32[1]", "i32[7]", {7}, {0}, ACCEPTED},
    {FIRN_OP_expand, "f32[3]", "f32", {3, 1}, {0}, SHAPE},
    {FIRN_OP_expand, "f32[1,3]", "f32", {3}, {0}, SHAPE},
    {FIRN_OP_expand, "f32[3]", "f32", {0}, {0}, ATTRIBUTE},
    {FIRN_OP_expand, "i64[3]", "i64", {3}, {0}, SHAPE},
    {FIRN_OP_expand_backward, "b16[2,3,4]", "f32[3,1]", {3, 1}, {0}, ACCEPTED},
    {FIRN_OP_expand_backward, "f32[2,3,4]", "f32", {2, 4}, {0}, SHAPE},
    {FIRN_OP_expand_backward, "f32[2,3,4]", "f32", {0, 4}, {0}, ATTRIBUTE},
    {FIRN_OP_expand_backward, "i32[2,3]", "i32", {3}, {0}, SHAPE},
    {FIRN_OP_gather, "b16[2,5,3] i32[4,6]", "b16[2,4,6,3]", {1}, {0}, ACCEPTED},
    {FIRN_OP_gather, "i32[5] i32[1]", "i32[1]", {0}, {0}, ACCEPTED},
    {FIRN_OP_gather, "f32[5] i32[1]", "f32", {1}, {0}, ATTRIBUTE},
    {FIRN_OP_gather, "f32[5] f32[1]", "f32", {0}, {0}, SHAPE},
    {FIRN_OP_gather, "i64[5] i32[1]", "i64", {0}, {0}, SHAPE},
    {FIRN_OP_gather, "f32[1,1,1,1,5] i32[1,1,1,1,3]", "f32", {4}, {0}, SHAPE},
    {FIRN_OP_gather_backward, "b16[2,4,6,3] i32[4,6]", "f32[2,5,3]", {1, 5}, {0}, ACCEPTED},
    {FIRN_OP_gather_backward, "f32[2,4,6,3] i32[4,6]", "b16", {1, 5}, {0}, SHAPE},
    {FIRN_OP_gather_backward, "f32[2,4,6,3] i32[6,4]", "f32", {1, 5}, {0}, SHAPE},
    {FIRN_OP_gather_backward, "f32[4] i32[4,1]", "f32", {0, 5}, {0}, ATTRIBUTE},
    {FIRN_OP_gather_backward, "f32[4,6] i32[6]", "f32", {2, 5}, {0}, ATTRIBUTE},
    {FIRN_OP_gather_backward, "f32[4,6] i32[6]", "f32", {1, 0}, {0}, ATTRIBUTE},
    {FIRN_OP_gather_elements, "b16[2,5,3] i32[2,7,3]", "b16[2,7,3]", {1}, {0}, ACCEPTED},
    {FIRN_OP_gather_elements, "i32[5] i32[2]", "i32[2]", {0}, {0}, ACCEPTED},
    {FIRN_OP_gather_elements, "f32[2,5,3] i32[1,7,3]", "f32", {1}, {0}, SHAPE},
    {FIRN_OP_gather_elements, "f32[5] i32[2]", "f32", {-1}, {0}, ATTRIBUTE},
    {FIRN_OP_gather_elements, "f32[2,5] i32[5]", "f32", {1}, {0}, SHAPE},
    {FIRN_OP_gather_elements_backward, "b16[2,7,3] i32[2,7,3]", "f32[2,5,3]", {1, 5}, {0}, ACCEPTED},
    {FIRN_OP_gather_elements_backward, "f32[2,7] i32[2,6]", "f32", {1, 5}, {0}, SHAPE},
    {FIRN_OP_gather_elements_backward, "f32[2,7] i32[2,7]", "f32", {2, 5}, {0}, ATTRIBUTE},
    {FIRN_OP_scatter_nd, "b16[4,3] i32[5,1] b16[5,3]", "b16[4,3]", {1}, {0}, ACCEPTED},
    {FIRN_OP_scatter_nd, "i32[4,3] i32[5,2] i32[5]", "i32[4,3]", {0}, {0}, ACCEPTED},
    {FIRN_OP_scatter_nd, "f32[4,3] i32[2] f32[1]", "f32[4,3]", {0}, {0}, ACCEPTED},
    {FIRN_OP_scatter_nd, "i32[4,3] i32[5,2] i32[5]", "i32", {1}, {0}, SHAPE},
    {FIRN_OP_scatter_nd, "f32[4,3] i32[5,3] f32[5]", "f32", {0}, {0}, SHAPE},
    {FIRN_OP_scatter_nd, "f32[4,3] i32[5,1] f32[5]", "f32", {0}, {0}, SHAPE},
    {FIRN_OP_scatter_nd, "f32[4,3] i32[5,1] b16[5,3]", "f32", {0}, {0}, SHAPE},
    {FIRN_OP_scatter_nd, "f32[4,3] i32[5,1] f32[5,3]", "f32", {2}, {0}, ATTRIBUTE},
    {FIRN_OP_scatter_nd_backward, "b16[4,3] i32[5,1]", "b16[4,3] b16[5,3]", {0}, {0}, ACCEPTED},
    {FIRN_OP_scatter_nd_backward, "f32[4,3] i32[5,3]", "f32 f32", {0}, {0}, SHAPE},
    {FIRN_OP_scatter_nd_backward_updates, "b16[4,3] i32[5,1]", "b16[5,3]", {0}, {0}, ACCEPTED},
    {FIRN_OP_scatter_nd_backward_updates, "f32[4,3] i32[2]", "f32[1]", {0}, {0}, ACCEPTED},
    {FIRN_OP_scatter_nd_backward_updates, "f32[4,3] i32[5,3]", "f32", {0}, {0}, SHAPE},
    {FIRN_OP_cumulative_sum, "b16[2,3]", "f32[2,3]", {1, 0, 1}, {0}, ACCEPTED},
    {FIRN_OP_cumulative_sum, "f32[2,3]", "f32", {2, 0, 0}, {0}, ATTRIBUTE},
    {FIRN_OP_cumulative_sum, "f32[2,3]", "f32", {0, 2, 0}, {0}, ATTRIBUTE},
    {FIRN_OP_cumulative_sum, "i32[2,3]", "i32", {0, 0, 0}, {0}, SHAPE},
};

static void test_every_rule(void **state) {
    (void)state;
    int wrong = 0;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        wrong += !case_holds(&cases[i], i);
    assert_int_equal(wrong, 0);
}

/* Every rule has a case that it accepts and one that it refuses. */
static void test_every_op_has_cases(void **state) {
    (void)state;
    for (uint32_t op = 0; op < FIRN_OPS; op++) {
        int accepted = 0, refused = 0;
        for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
            accepted += cases[i].code == firn_op_at(op)->code && cases[i].error == FIRN_OK;
            refused += cases[i].code == firn_op_at(op)->code && cases[i].error != FIRN_OK;
        }
        if (accepted == 0 || refused == 0)
            fail_msg("%s: %d accepted, %d refused", firn_op_name(firn_op_at(op)), accepted, refused);
    }
}

/* --- the table -------------------------------------------------------------------------------------------------- */

static uint8_t words_of(const char *text) {
    uint8_t words = 0;
    for (; *text != '\0'; text++)
        words = (uint8_t)(words + (text[0] != ' ' && (text[1] == ' ' || text[1] == '\0')));
    return words;
}

/* The operands of an accepted case. */
typedef struct operands {
    uint8_t input_count, output_count;
    firn_shape inputs[ROOM], outputs[ROOM];
} operands;

static operands accepted(const shape_case *c) {
    operands made;
    made.input_count = read_shapes(c->inputs, made.inputs);
    made.output_count = read_shapes(c->outputs, made.outputs);
    return made;
}

/* In every case an output that updates an input has the input's shape, and no input is updated twice. */
static void test_changed_inputs(void **state) {
    (void)state;
    uint32_t changing = 0;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        if (cases[i].error != FIRN_OK)
            continue;
        const firn_op_info *info = firn_op_find(cases[i].code);
        const operands s = accepted(&cases[i]);
        uint64_t seen = 0;
        for (uint8_t j = 0; j < s.output_count; j++) {
            uint8_t input = firn_op_changed(info, j);
            if (input == FIRN_FRESH)
                continue;
            assert_true(input < s.input_count);
            assert_true(same_shape(&s.inputs[input], &s.outputs[j]));
            assert_int_equal(seen >> input & 1, 0);
            seen |= UINT64_C(1) << input;
            changing++;
        }
        if (seen != 0)
            assert_int_equal(info->in_place, 1u << firn_op_changed(info, 0));
    }
    assert_true(changing > 20);
}

/* Whether an op takes integers of any origin and size: it moves them, or its kernel limits them. */
static bool takes_any_integers(uint16_t code) {
    static const uint16_t codes[] = {FIRN_OP_loss_scale_update,
                                     FIRN_OP_metric_weighted_mean,
                                     FIRN_OP_metric_auc,
                                     FIRN_OP_to_float32,
                                     FIRN_OP_concat_int32,
                                     FIRN_OP_reshape,
                                     FIRN_OP_transpose,
                                     FIRN_OP_slice,
                                     FIRN_OP_expand,
                                     FIRN_OP_gather,
                                     FIRN_OP_gather_backward,
                                     FIRN_OP_gather_elements,
                                     FIRN_OP_gather_elements_backward,
                                     FIRN_OP_scatter_nd,
                                     FIRN_OP_scatter_nd_backward,
                                     FIRN_OP_scatter_nd_backward_updates};
    for (size_t i = 0; i < sizeof codes / sizeof codes[0]; i++)
        if (codes[i] == code)
            return true;
    return false;
}

/* Every other int32 operand is an index, which the runtime limits. */
static void test_index_operands(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        if (cases[i].error != FIRN_OK || takes_any_integers(cases[i].code))
            continue;
        const firn_op_info *info = firn_op_find(cases[i].code);
        const operands s = accepted(&cases[i]);
        for (uint8_t j = 0; j < s.input_count; j++) {
            if ((s.inputs[j].type == FIRN_INT32) != (info->index_operand == j))
                fail_msg("%s: input %u", firn_op_name(info), (unsigned)j);
        }
    }
}

static void test_table(void **state) {
    (void)state;
    assert_null(firn_op_find(0));
    assert_null(firn_op_find(UINT16_MAX));
    for (uint32_t i = 0; i < FIRN_OPS; i++) {
        const firn_op_info *info = firn_op_at(i);
        assert_ptr_equal(firn_op_find(info->code), info);
        assert_int_equal(info->integers, words_of(firn_op_words_of(info)->integers));
        assert_int_equal(info->reals, words_of(firn_op_words_of(info)->reals));
        assert_int_equal(info->inputs, words_of(firn_op_words_of(info)->inputs));
        assert_int_equal(info->outputs, words_of(firn_op_words_of(info)->outputs));
        assert_int_equal(info->reductions, words_of(firn_op_words_of(info)->reductions));
        assert_true(info->inputs_min <= info->inputs && info->inputs <= info->inputs_max);
        const bool repeats = info->code == FIRN_OP_concat || info->code == FIRN_OP_concat_int32;
        assert_int_equal(info->inputs_max, repeats ? FIRN_INPUTS_MAX : info->inputs);
        assert_true(info->outputs >= 1 && info->outputs <= FIRN_OUTPUTS_MAX);
        assert_true(info->integers <= FIRN_ATTRIBUTES_MAX && info->reals <= FIRN_ATTRIBUTES_MAX);
        assert_true(info->reductions <= FIRN_REDUCTIONS_MAX);
        assert_true(info->inputs >= 8 || info->in_place >> info->inputs == 0);
    }
    assert_int_equal(firn_op_find(FIRN_OP_attention)->integers, 6);
    assert_int_equal(firn_op_find(FIRN_OP_adamw)->reals, 4);
}

/* "op.output" of each output that the table marks as scratch, in the order of the table. */
static void test_scratch(void **state) {
    static const char expected[] = "batch_norm.partial batch_norm_backward.partial batch_norm_fixed_backward.partial "
                                   "attention.scratch attention_backward.scratch lstm_backward.carried "
                                   "gru_backward.carried rnn.sums rnn_backward.carried sum_of_squares.scratch "
                                   "lamb.parameter_sums lamb.update_sums adafactor.sums adafactor_factored.sums "
                                   "adafactor_factored.row_factors adafactor_factored.column_factors unit_norm.sums ";
    char found[sizeof expected + 256] = "";
    (void)state;
    for (uint32_t i = 0; i < FIRN_OPS; i++) {
        const firn_op_info *info = firn_op_at(i);
        const char *names = firn_op_words_of(info)->outputs;
        for (uint32_t j = 0; j < info->outputs; j++) {
            const int length = (int)strcspn(names, " ");
            if (firn_op_output(info, j)->scratch)
                snprintf(found + strlen(found), sizeof found - strlen(found), "%s.%.*s ", firn_op_name(info), length,
                         names);
            names += length + (names[length] == ' ');
        }
    }
    assert_string_equal(found, expected);
}

static void test_unknown_ops_and_counts(void **state) {
    (void)state;
    firn_op_signature unknown = {.code = 28};
    assert_int_equal(firn_op_infer(&unknown), FIRN_ERROR_OP_UNKNOWN);
    firn_op_signature many = {.code = FIRN_OP_relu, .input_count = UINT8_MAX, .output_count = 1};
    assert_int_equal(firn_op_infer(&many), FIRN_ERROR_OP_OPERANDS);
    firn_shape x = {.type = FIRN_FLOAT32, .rank = 1, .dims = {1}}, y = x;
    firn_op_signature attributes = {
        .code = FIRN_OP_relu, .input_count = 1, .output_count = 1, .integer_count = 1, .inputs = &x, .outputs = &y};
    assert_int_equal(firn_op_infer(&attributes), FIRN_ERROR_OP_ATTRIBUTE);
    firn_op_signature reals = attributes;
    reals.integer_count = 0;
    reals.real_count = UINT8_MAX;
    assert_int_equal(firn_op_infer(&reals), FIRN_ERROR_OP_ATTRIBUTE);
}

static void test_types(void **state) {
    (void)state;
    static const uint32_t bytes[] = {4, 2, 2, 2, 4, 8, 1, 2, 2, 1, 1, 0, 0};
    static const char *const names[] = {"float32", "float16", "bfloat16", "cbfloat16", "int32", "int64", "uint8",
                                        "uint16",  "int16",   "int8",     "bool",      "?",     "?"};
    for (uint8_t type = 0; type < sizeof bytes / sizeof bytes[0]; type++) {
        assert_int_equal(firn_type_bytes(type), bytes[type]);
        assert_string_equal(firn_type_name(type), names[type]);
        assert_int_equal(firn_type_is_half(type), type >= FIRN_FLOAT16 && type <= FIRN_CBFLOAT16);
    }
    assert_int_equal(firn_type_bytes(UINT8_MAX), 0);
}

static void test_sizes_do_not_wrap(void **state) {
    (void)state;
    uint64_t value = 7;
    firn_shape shape = {.type = FIRN_UINT8, .rank = 2, .dims = {1u << 31, 1u << 31}};
    assert_true(firn_shape_elements(&shape, &value));
    assert_true(value == UINT64_C(1) << 62);
    assert_true(firn_shape_bytes(&shape, &value));
    shape.type = FIRN_FLOAT16;
    assert_false(firn_shape_bytes(&shape, &value));
    shape.dims[1]++;
    assert_false(firn_shape_elements(&shape, &value));
    shape.dims[1] = 0;
    assert_false(firn_shape_elements(&shape, &value));
    shape = (firn_shape){.type = FIRN_FLOAT32, .rank = 0};
    assert_false(firn_shape_elements(&shape, &value));
    shape = (firn_shape){.type = FIRN_FLOAT32, .rank = 9, .dims = {1, 1, 1, 1, 1, 1, 1, 1}};
    assert_false(firn_shape_elements(&shape, &value));
    shape = (firn_shape){.type = FIRN_BOOL + 1, .rank = 1, .dims = {1}};
    assert_false(firn_shape_bytes(&shape, &value));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_rule),
        cmocka_unit_test(test_every_op_has_cases),
        cmocka_unit_test(test_changed_inputs),
        cmocka_unit_test(test_index_operands),
        cmocka_unit_test(test_table),
        cmocka_unit_test(test_scratch),
        cmocka_unit_test(test_unknown_ops_and_counts),
        cmocka_unit_test(test_types),
        cmocka_unit_test(test_sizes_do_not_wrap),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
