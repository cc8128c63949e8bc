/* Cases of the shape rules (plan/shapes/infer.h) as text, and the cases that follow from a valid one.
 *
 * A line of text is one case: `op inputs -> outputs; integers; reals = ERROR`. The fields behind the outputs may be
 * missing, and a line without an error is a valid case. `exp/log` in place of an op: the line holds for both. The
 * other parts of a line are:
 *
 *   f32[2,3]   a tensor: float32 of 2 rows and 3 columns. The other types are f16, b16 (bfloat16), c16 (cbfloat16),
 * i32, i64 and u08. The outputs of a refused case have only types.
 *   -          an optional input that is absent
 *   2:1        an attribute of range `pair`: 2 rows, 1 column
 *
 * Marks in a valid line say what the columns of plan/ops.def leave to the op's own rule:
 *
 *   4*         the extent may be smaller or larger
 *   4<   4>    it may be smaller, or may be larger; the shapes are wrong if it is not
 *   4-   4+    the same, but an attribute is out of range if it is not
 *   [2,3]*     the op accepts some other numbers of dimensions
 *   5!6!-1     the attribute is 5; with 6 or -1 the op is refused because of its attributes
 *   0~1        the attribute is 0; with 1 the op is refused because of its shapes */
#ifndef FIRN_TESTS_SUPPORT_SHAPES_H
#define FIRN_TESTS_SUPPORT_SHAPES_H

#include "plan/ops.h"

/* One input more than an op may have, and more outputs than any op has. */
enum { SHAPES_INPUTS = FIRN_INPUTS_MAX + 1, SHAPES_OUTPUTS = 8 };

typedef struct shape_case {
    const char *text;   /* the line that the case is or follows from */
    const char *change; /* how it follows: "type", for example; NULL for the line itself */
    const firn_op_info *info;
    uint8_t input_count, output_count, integer_count, real_count;
    int64_t integers[FIRN_ATTRIBUTES_MAX];
    float reals[FIRN_ATTRIBUTES_MAX];
    int error;          /* what firn_op_infer must return */
    bool outputs_known; /* outputs have the extents that it must fill in, if the error is FIRN_OK */
    firn_shape outputs[SHAPES_OUTPUTS];
    firn_shape inputs[SHAPES_INPUTS];
} shape_case;

typedef struct shape_marks {
    char extents[FIRN_RANK_MAX]; /* a mark of the list above, or 0 */
    char rank;                   /* '*' or 0 */
} shape_marks;

/* A wrong value of an attribute; position: of the integers, then of the reals. */
typedef struct wrong_attribute {
    uint32_t position;
    int64_t integer;
    float real;
    int error;
} wrong_attribute;

typedef struct shape_line {
    shape_case original;
    shape_marks marks[SHAPES_INPUTS];
    uint32_t wrong_count;
    wrong_attribute wrong[16];
} shape_line;

/* Reads a line for op number `which` of those that it names; false if it names fewer. */
bool shape_line_read(shape_line *line, const char *text, uint32_t which);

typedef void shape_case_use(const shape_case *c, void *context);

/* Calls `use` with every case that follows from a valid line by one change, which for types and attributes may be two.
 * The expected error comes from the columns of plan/ops.def and from the marks, never from plan/shapes:
 *
 *   OPERANDS   an operand is missing, absent though it is not optional, or too many
 *   ATTRIBUTE  an attribute is missing, too many, outside the range of its column, or a value behind `!`
 *   SHAPE      a type or an extent violates a column; an attribute has a value behind `~`
 *   SHAPE      an extent or a number of dimensions has no mark, and the op has a rule of its own
 *   OK         the columns hold, and the op has no rule of its own or a mark allows the change
 *
 * A change is left out where neither the columns nor a mark decide. */
void shape_line_vary(const shape_line *line, shape_case_use *use, void *context);

#endif
