/* The parsed rows of plan/ops.def: operands, attributes and reductions as plan/ops.def describes them, with all
 * references to names resolved. */
#ifndef FIRN_GENERATE_OP_ROWS_H
#define FIRN_GENERATE_OP_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The limits are those of plan/ops.h, as tests/unit/test_plan_flatc.c checks: the generator cannot include that file,
 * because it includes generated code. */
enum {
    OP_OPERANDS_MAX = 64,
    OP_REUSABLE_MAX = 8, /* firn_op_info has a bit for each */
    OP_ATTRIBUTES_MAX = 8,
    OP_REDUCTIONS_MAX = 4,
    OP_LETTERS_MAX = 8,
    OP_EXTENT_MAX = 239, /* larger values of a byte mean letters */
    OP_NAME_BYTES = 48,
    OP_TEXT_BYTES = 64,
    OP_NONE = 255
};

/* The columns of a row as they are written in the table. */
struct op_columns {
    const char *inputs, *outputs, *integers, *reals, *reductions, *reduced, *autocast, *pol, *begins;
    bool gathers, metric, buffers;
    unsigned since;
};

struct op_source {
    const char *name, *rule, *gradient, *cost, *documentation;
    unsigned code;
    struct op_columns columns;
};

enum op_form { FORM_OWN, FORM_ANY, FORM_LIKE, FORM_ROWS, FORM_ROW_VALUES, FORM_EXTENTS, FORM_SUMS };

/* A requirement on an extent: the index of a letter of the row, or one of at most two numbers. */
struct op_extent {
    bool letter;
    unsigned value, other;
};

struct op_operand {
    char name[OP_NAME_BYTES];
    char text[OP_TEXT_BYTES]; /* type and extents as written, for the documentation */
    char type[OP_NAME_BYTES]; /* as written, without an index range; "" for an input that an output changes */
    unsigned type_of;         /* index of the input whose type it has, or OP_NONE */
    enum op_form form;
    unsigned like; /* FORM_LIKE, FORM_SUMS: index of the input */
    unsigned extent_count;
    struct op_extent extents[2]; /* FORM_ROWS: the last one; FORM_EXTENTS: all */
    bool optional, reusable, repeats, scratch;
    bool rounded;              /* "@x|float32^1": also float32, rounded to the type of x as it is read */
    unsigned since;            /* minor version in which it came; 0: with the row */
    unsigned changed;          /* outputs: index of the input that it changes, or OP_NONE */
    char range[OP_NAME_BYTES]; /* operands that hold indices: a letter or an integer attribute; otherwise "" */
};

struct op_attribute {
    char name[OP_NAME_BYTES], range[OP_NAME_BYTES];
    char initial[OP_NAME_BYTES]; /* the default as it is written, or "" */
    unsigned since;              /* as of an operand; not 0 if and only if there is a default */
};

struct op_row {
    const struct op_source *source;
    struct op_operand inputs[OP_OPERANDS_MAX], outputs[OP_OPERANDS_MAX];
    struct op_attribute integers[OP_ATTRIBUTES_MAX], reals[OP_ATTRIBUTES_MAX], reductions[OP_REDUCTIONS_MAX];
    unsigned input_count, inputs_min, inputs_max, output_count, integer_count, real_count, reduction_count;
    unsigned outputs_min, integers_min, reals_min; /* those that came with the row */
    unsigned reduced, factors, typed, inner_flag;  /* an input, an input, an integer, an integer; or OP_NONE */
    unsigned inner;                                /* number of leading reductions that are not tensors */
    unsigned index_operand, index_table, index_from_end, index_attribute;
    char letters[OP_LETTERS_MAX + 1]; /* without N, in the order of their first use in the inputs */
};

/* Parses the table. Stops the program at the first row with an error. */
const struct op_row *read_ops(size_t *count);

#endif
