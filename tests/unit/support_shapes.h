/* Cases of the shape rules (plan/shapes/infer.h) as text, and the cases that follow from a valid one.
 *
 * A line of text is a case: `op inputs -> outputs; integers; reals = ERROR`. Attributes that are left out are 0. A line
 * without an error is a valid case. A line such as `exp/log f32[2] | f32[3] -> ...` stands for four cases, one for each
 * op and each list of inputs. The other parts of a line are:
 *
 *   f32[2,3]   a float32 tensor of these extents; other types are f16, b16 (bfloat16), c16 (cbfloat16), i32, i64, u08
 *   f32        an output of a refused case, which has no extents
 *   -          an absent input
 *   2:1        an attribute of range `pair`: 2 rows, 1 column
 *
 * Marks in a valid line say what the columns of plan/ops.def leave to the op's own rule:
 *
 *   4*         this extent may be smaller or larger
 *   4<   4>    it may be smaller; it may be larger. The other direction makes the shapes wrong.
 *   4-   4+    it may be smaller; it may be larger. The other direction puts an attribute out of range.
 *   [2,3]*     the number of dimensions may differ
 *   5!6!-1     this attribute is 5; 6 and -1 are out of range
 *   0~1        this attribute is 0; 1 makes the shapes wrong */
#ifndef FIRN_TESTS_SUPPORT_SHAPES_H
#define FIRN_TESTS_SUPPORT_SHAPES_H

#include "plan/ops.h"

/* One input more than an op may have, and more outputs than any op has. */
enum { SHAPES_INPUTS = FIRN_INPUTS_MAX + 1, SHAPES_OUTPUTS = 8 };

typedef struct shape_case {
    const char *text;   /* the line that the case is or follows from */
    const char *change; /* what was changed: "type", for example, or "line" */
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

/* An attribute has one of them. */
typedef struct attribute_value {
    int64_t integer;
    float real;
} attribute_value;

typedef struct wrong_attribute {
    uint32_t position; /* of the integers, then of the reals */
    attribute_value value;
    int error;
} wrong_attribute;

typedef struct shape_line {
    shape_case original;
    shape_marks marks[SHAPES_INPUTS];
    uint32_t wrong_count;
    wrong_attribute wrong[16];
} shape_line;

/* Reads case number `which` of a line; false if the line has fewer. */
bool shape_line_read(shape_line *line, const char *text, uint32_t which);

/* Returns whether the op's rule is `declared`, which checks nothing. */
bool shape_rule_is_declared(const firn_op_info *info);

/* Returns whether the op's own rule refuses a case that is not valid, rather than a column of plan/ops.def, such as an
 * operand's type or an attribute's range. */
bool shape_case_is_of_rule(const shape_case *c);

/* Fails the test if a word of the lists of rules in support_shapes.c is no rule of plan/ops.def. */
void shape_lists_check(void);

typedef void shape_case_use(const shape_case *c, void *context);

/* Calls `use` with every case that follows from a valid line, with all of its optional inputs or only some, by one
 * change. A change is a count, one or two types, an attribute, one extent, or the dimensions and type of one input. The
 * expected error comes from the columns of plan/ops.def and from the marks, never from plan/shapes:
 *
 *   OPERANDS   an operand is missing, absent but not optional, or too many
 *   ATTRIBUTE  an attribute is missing, too many, outside the range of its column, or a value behind `!`
 *   SHAPE      a type or an extent violates a column, or an attribute has a value behind `~`
 *   SHAPE      the op has a rule of its own, and no mark allows the other extent or number of dimensions
 *   OK         the columns hold, and the op has no rule of its own or a mark allows the change
 *
 * Changes that neither the columns nor a mark decide are left out. */
void shape_line_vary(const shape_line *line, shape_case_use *use, void *context);

#endif
