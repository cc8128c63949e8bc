/* The rows of plan/ops.def, read: operands, attributes and reductions as plan/ops.def describes them, with every name
 * that one of them mentions looked up. */
#ifndef FIRN_GENERATE_OP_ROWS_H
#define FIRN_GENERATE_OP_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    OP_OPERANDS_MAX = 8,
    OP_ATTRIBUTES_MAX = 8,
    OP_REDUCTIONS_MAX = 4,
    OP_NAME_BYTES = 48,
    OP_TEXT_BYTES = 64,
    OP_NONE = 255
};

/* A row as it stands in the table. */
struct op_columns {
    const char *inputs, *outputs, *integers, *reals, *reductions, *reduced, *autocast, *pol, *begins;
    bool gathers, metric;
};

struct op_source {
    const char *name, *rule, *gradient, *cost, *documentation;
    unsigned code;
    struct op_columns columns;
};

enum op_form { FORM_OWN, FORM_ANY, FORM_LIKE, FORM_ROWS, FORM_ROW_VALUES, FORM_EXTENTS, FORM_SUMS };

/* What an extent must be: a letter of the row, counted from 0, or one of at most two numbers. */
struct op_extent {
    bool letter;
    unsigned value, other;
};

struct op_operand {
    char name[OP_NAME_BYTES];
    char text[OP_TEXT_BYTES]; /* type and extents as written, for the documentation */
    char type[OP_NAME_BYTES]; /* as written, without an index range; "" for an input that an output changes */
    unsigned type_of;         /* input whose type it has, or OP_NONE */
    enum op_form form;
    unsigned like; /* FORM_LIKE, FORM_SUMS: the input, counted from 0 */
    unsigned extent_count;
    struct op_extent extents[2]; /* FORM_ROWS: the last one; FORM_EXTENTS: all */
    bool optional, reusable;
    unsigned changed;          /* outputs: the input that it is, or OP_NONE */
    char range[OP_NAME_BYTES]; /* of indices: a letter or an integer attribute; "" for none */
};

struct op_attribute {
    char name[OP_NAME_BYTES], range[OP_NAME_BYTES];
};

struct op_row {
    const struct op_source *source;
    struct op_operand inputs[OP_OPERANDS_MAX], outputs[OP_OPERANDS_MAX];
    struct op_attribute integers[OP_ATTRIBUTES_MAX], reals[OP_ATTRIBUTES_MAX], reductions[OP_REDUCTIONS_MAX];
    unsigned input_count, inputs_min, output_count, integer_count, real_count, reduction_count;
    unsigned reduced, factors, typed, inner_flag; /* an input, an input, an integer, an integer; or OP_NONE */
    unsigned inner;                               /* reductions that are no tensor, the first ones */
    unsigned index_operand, index_table, index_from_end, index_attribute;
    char letters[OP_OPERANDS_MAX + 1]; /* N apart, in the order in which the inputs mention them */
};

/* Reads the table, and stops the program at the first row that is wrong. */
const struct op_row *read_ops(size_t *count);

#endif
