/* The columns of the table of ops. Freestanding.
 * Written by plan/generate from plan/ops.def; change that file instead. */
/* clang-format off */
#include "plan/parts.h"

static const firn_operand operands_0[] = {
    {.type = FIRN_TYPE_REAL, .form = FIRN_FORM_ANY, .changed = FIRN_FRESH},
    {.type = FIRN_TYPE_REAL, .form = FIRN_FORM_LIKE, .a = 0, .changed = FIRN_FRESH},
};
const firn_op_info firn_op_row_cast = {
    .code = 1, .operands = operands_0, .inputs = 1, .inputs_min = 1, .inputs_max = 1,
    .outputs = 1, .integers = 0, .reals = 0, .reductions = 0, .in_place = 0, .autocast = FIRN_AUTOCAST_fixed,
    .outputs_min = 1, .integers_min = 0, .reals_min = 0,
    .pol = FIRN_POL_none, .cost = FIRN_COST_none, .begins = FIRN_BEGINS_nothing, .gathers = 0, .metric = 0, .buffers = 0,
    .reduced = 255, .inner = 0, .inner_flag = 255, .typed = 255, .factors = 255,
    .index_operand = 255, .index_table = 255, .index_from_end = 0, .index_attribute = 255};

static const firn_operand operands_1[] = {
    {.type = FIRN_TYPE_REAL, .form = FIRN_FORM_ROWS, .a = FIRN_EXTENT_LETTER + 0, .changed = FIRN_FRESH},
    {.type = FIRN_TYPE_OF_INPUT + 0, .form = FIRN_FORM_OWN, .changed = FIRN_FRESH, .rounded = true},
    {.type = FIRN_TYPE_REAL, .form = FIRN_FORM_OWN, .changed = FIRN_FRESH, .optional = true},
    {.type = FIRN_TYPE_REAL, .form = FIRN_FORM_OWN, .changed = FIRN_FRESH},
};
static const uint8_t ranges_0[] = {
    FIRN_RANGE_FLAG,
};
const firn_op_info firn_op_row_linear = {
    .code = 2, .operands = operands_1, .ranges = ranges_0, .inputs = 3, .inputs_min = 2, .inputs_max = 3,
    .outputs = 1, .integers = 1, .reals = 0, .reductions = 1, .in_place = 0, .autocast = FIRN_AUTOCAST_half,
    .outputs_min = 1, .integers_min = 1, .reals_min = 0,
    .pol = FIRN_POL_product, .cost = FIRN_COST_product, .begins = FIRN_BEGINS_nothing, .gathers = 0, .metric = 0, .buffers = 0,
    .reduced = 0, .inner = 0, .inner_flag = 255, .typed = 255, .factors = 255,
    .index_operand = 255, .index_table = 255, .index_from_end = 0, .index_attribute = 255};

static const firn_operand operands_2[] = {
    {.type = FIRN_TYPE_REAL, .form = FIRN_FORM_ROWS, .a = FIRN_EXTENT_LETTER + 0, .changed = FIRN_FRESH},
    {.type = FIRN_TYPE_OF_INPUT + 0, .form = FIRN_FORM_OWN, .changed = FIRN_FRESH, .rounded = true},
    {.type = FIRN_TYPE_REAL, .form = FIRN_FORM_OWN, .changed = FIRN_FRESH},
};
const firn_op_info firn_op_row_linear_backward_input = {
    .code = 3, .operands = operands_2, .ranges = ranges_0, .inputs = 2, .inputs_min = 2, .inputs_max = 2,
    .outputs = 1, .integers = 1, .reals = 0, .reductions = 1, .in_place = 0, .autocast = FIRN_AUTOCAST_fixed,
    .outputs_min = 1, .integers_min = 1, .reals_min = 0,
    .pol = FIRN_POL_product, .cost = FIRN_COST_product, .begins = FIRN_BEGINS_nothing, .gathers = 0, .metric = 0, .buffers = 0,
    .reduced = 0, .inner = 0, .inner_flag = 255, .typed = 255, .factors = 255,
    .index_operand = 255, .index_table = 255, .index_from_end = 0, .index_attribute = 255};

static const firn_operand operands_3[] = {
    {.type = FIRN_TYPE_REAL, .form = FIRN_FORM_ROWS, .a = FIRN_EXTENT_LETTER + 0, .changed = FIRN_FRESH},
    {.type = FIRN_TYPE_OF_INPUT + 0, .form = FIRN_FORM_ROWS, .a = FIRN_EXTENT_LETTER + 1, .changed = FIRN_FRESH},
    {.type = FIRN_TYPE_REAL, .form = FIRN_FORM_OWN, .changed = FIRN_FRESH},
};
const firn_op_info firn_op_row_linear_backward_weight = {
    .code = 4, .operands = operands_3, .ranges = ranges_0, .inputs = 2, .inputs_min = 2, .inputs_max = 2,
    .outputs = 1, .integers = 1, .reals = 0, .reductions = 1, .in_place = 0, .autocast = FIRN_AUTOCAST_fixed,
    .outputs_min = 1, .integers_min = 1, .reals_min = 0,
    .pol = FIRN_POL_product, .cost = FIRN_COST_product_of_weight, .begins = FIRN_BEGINS_nothing, .gathers = 0, .metric = 0, .buffers = 0,
    .reduced = 0, .inner = 0, .inner_flag = 255, .typed = 255, .factors = 255,
    .index_operand = 255, .index_table = 255, .index_from_end = 0, .index_attribute = 255};

static const uint8_t ranges_1[] = {
    FIRN_RANGE_FLAG,
    FIRN_RANGE_OWN,
    FIRN_RANGE_OWN,
};
const firn_op_info firn_op_row_linear_backward_weight_rows = {
    .code = 148, .operands = operands_3, .ranges = ranges_1, .inputs = 2, .inputs_min = 2, .inputs_max = 2,
    .outputs = 1, .integers = 3, .reals = 0, .reductions = 1, .in_place = 0, .autocast = FIRN_AUTOCAST_fixed,
    .outputs_min = 1, .integers_min = 3, .reals_min = 0,
    .pol = FIRN_POL_product, .cost = FIRN_COST_product_of_weight, .begins = FIRN_BEGINS_nothing, .gathers = 0, .metric = 0, .buffers = 0,
    .reduced = 0, .inner = 0, .inner_flag = 255, .typed = 255, .factors = 255,
    .index_operand = 255, .index_table = 255, .index_from_end = 0, .index_attribute = 255};

static const firn_operand operands_4[] = {
    {.type = FIRN_TYPE_REAL, .form = FIRN_FORM_ANY, .changed = FIRN_FRESH},
    {.type = FIRN_TYPE_REAL, .form = FIRN_FORM_OWN, .changed = FIRN_FRESH},
};
static const uint8_t ranges_2[] = {
    FIRN_RANGE_OWN,
};
const firn_op_info firn_op_row_sum_leading = {
    .code = 5, .operands = operands_4, .ranges = ranges_2, .inputs = 1, .inputs_min = 1, .inputs_max = 1,
    .outputs = 1, .integers = 1, .reals = 0, .reductions = 0, .in_place = 0, .autocast = FIRN_AUTOCAST_fixed,
    .outputs_min = 1, .integers_min = 1, .reals_min = 0,
    .pol = FIRN_POL_none, .cost = FIRN_COST_none, .begins = FIRN_BEGINS_nothing, .gathers = 0, .metric = 0, .buffers = 0,
    .reduced = 255, .inner = 0, .inner_flag = 255, .typed = 255, .factors = 255,
    .index_operand = 255, .index_table = 255, .index_from_end = 0, .index_attribute = 255};

static const firn_operand operands_5[] = {
    {.type = FIRN_INT32, .form = FIRN_FORM_ANY, .changed = FIRN_FRESH},
    {.type = FIRN_FLOAT32, .form = FIRN_FORM_MATRIX, .a = FIRN_EXTENT_LETTER + 0, .b = FIRN_EXTENT_LETTER + 1, .changed = FIRN_FRESH},
    {.type = FIRN_TYPE_REAL, .form = FIRN_FORM_OWN, .changed = FIRN_FRESH},
};
const firn_op_info firn_op_row_embedding = {
    .code = 6, .operands = operands_5, .inputs = 2, .inputs_min = 2, .inputs_max = 2,
    .outputs = 1, .integers = 0, .reals = 0, .reductions = 0, .in_place = 0, .autocast = FIRN_AUTOCAST_embedding,
    .outputs_min = 1, .integers_min = 0, .reals_min = 0,
    .pol = FIRN_POL_none, .cost = FIRN_COST_none, .begins = FIRN_BEGINS_nothing, .gathers = 0, .metric = 0, .buffers = 0,
    .reduced = 255, .inner = 0, .inner_flag = 255, .typed = 255, .factors = 255,
    .index_operand = 0, .index_table = 1, .index_from_end = 2, .index_attribute = 255};

static const firn_operand operands_6[] = {
    {.type = FIRN_INT32, .form = FIRN_FORM_ROW_VALUES, .changed = FIRN_FRESH},
    {.type = FIRN_TYPE_REAL, .form = FIRN_FORM_ROWS, .a = FIRN_EXTENT_LETTER + 0, .changed = FIRN_FRESH},
    {.type = FIRN_FLOAT32, .form = FIRN_FORM_OWN, .changed = FIRN_FRESH, .optional = true},
    {.type = FIRN_FLOAT32, .form = FIRN_FORM_OWN, .changed = FIRN_FRESH},
};
static const uint8_t ranges_3[] = {
    FIRN_RANGE_EXTENT,
};
const firn_op_info firn_op_row_embedding_backward = {
    .code = 7, .operands = operands_6, .ranges = ranges_3, .inputs = 3, .inputs_min = 2, .inputs_max = 3,
    .outputs = 1, .integers = 1, .reals = 0, .reductions = 0, .in_place = 4, .autocast = FIRN_AUTOCAST_fixed,
    .outputs_min = 1, .integers_min = 1, .reals_min = 0,
    .pol = FIRN_POL_none, .cost = FIRN_COST_none, .begins = FIRN_BEGINS_nothing, .gathers = 0, .metric = 0, .buffers = 0,
    .reduced = 255, .inner = 0, .inner_flag = 255, .typed = 255, .factors = 255,
    .index_operand = 0, .index_table = 255, .index_from_end = 0, .index_attribute = 0};

static const firn_operand operands_7[] = {
    {.type = FIRN_FLOAT32, .form = FIRN_FORM_MATRIX, .a = FIRN_EXTENT_LETTER + 0, .b = FIRN_EXTENT_LETTER + 1, .changed = FIRN_FRESH},
    {.type = FIRN_INT64, .form = FIRN_FORM_VECTOR, .a = 1, .b = 1, .changed = FIRN_FRESH, .optional = true},
    {.type = FIRN_TYPE_REAL, .form = FIRN_FORM_OWN, .changed = FIRN_FRESH},
};
const firn_op_info firn_op_row_leading_rows = {
    .code = 8, .operands = operands_7, .ranges = ranges_2, .inputs = 2, .inputs_min = 1, .inputs_max = 2,
    .outputs = 1, .integers = 1, .reals = 0, .reductions = 0, .in_place = 0, .autocast = FIRN_AUTOCAST_embedding,
    .outputs_min = 1, .integers_min = 1, .reals_min = 0,
    .pol = FIRN_POL_none, .cost = FIRN_COST_none, .begins = FIRN_BEGINS_nothing, .gathers = 0, .metric = 0, .buffers = 0,
    .reduced = 255, .inner = 0, .inner_flag = 255, .typed = 255, .factors = 255,
    .index_operand = 255, .index_table = 255, .index_from_end = 0, .index_attribute = 255};

static const firn_operand operands_8[] = {
    {.type = FIRN_TYPE_REAL, .form = FIRN_FORM_MATRIX, .a = FIRN_EXTENT_LETTER + 0, .b = FIRN_EXTENT_LETTER + 1, .changed = FIRN_FRESH},
    {.type = FIRN_FLOAT32, .form = FIRN_FORM_OWN, .changed = FIRN_FRESH},
};
const firn_op_info firn_op_row_leading_rows_backward = {
    .code = 9, .operands = operands_8, .ranges = ranges_2, .inputs = 1, .inputs_min = 1, .inputs_max = 1,
    .outputs = 1, .integers = 1, .reals = 0, .reductions = 0, .in_place = 0, .autocast = FIRN_AUTOCAST_fixed,
    .outputs_min = 1, .integers_min = 1, .reals_min = 0,
    .pol = FIRN_POL_none, .cost = FIRN_COST_none, .begins = FIRN_BEGINS_nothing, .gathers = 0, .metric = 0, .buffers = 0,
    .reduced = 255, .inner = 0, .inner_flag = 255, .typed = 255, .factors = 255,
    .index_operand = 255, .index_table = 255, .index_from_end = 0, .index_attribute = 255};

static const firn_operand operands_9[] = {
    {.type = FIRN_TYPE_REAL, .form = FIRN_FORM_ANY, .changed = FIRN_FRESH},
    {.type = FIRN_TYPE_REAL, .form = FIRN_FORM_OWN, .changed = FIRN_FRESH},
    {.type = FIRN_TYPE_REAL, .form = FIRN_FORM_LIKE, .a = 0, .changed = FIRN_FRESH},
};
const firn_op_info firn_op_row_add = {
    .code = 10, .operands = operands_9, .inputs = 2, .inputs_min = 2, .inputs_max = 2,
    .outputs = 1, .integers = 0, .reals = 0, .reductions = 0, .in_place = 3, .autocast = FIRN_AUTOCAST_promote,
    .outputs_min = 1, .integers_min = 0, .reals_min = 0,
    .pol = FIRN_POL_none, .cost = FIRN_COST_none, .begins = FIRN_BEGINS_nothing, .gathers = 0, .metric = 0, .buffers = 0,
    .reduced = 255, .inner = 0, .inner_flag = 255, .typed = 255, .factors = 255,
    .index_operand = 255, .index_table = 255, .index_from_end = 0, .index_attribute = 255};

const firn_op_info firn_op_row_multiply = {
    .code = 146, .operands = operands_9, .inputs = 2, .inputs_min = 2, .inputs_max = 2,
    .outputs = 1, .integers = 0, .reals = 0, .reductions = 0, .in_place = 3, .autocast = FIRN_AUTOCAST_promote,
    .outputs_min = 1, .integers_min = 0, .reals_min = 0,
    .pol = FIRN_POL_none, .cost = FIRN_COST_none, .begins = FIRN_BEGINS_nothing, .gathers = 0, .metric = 0, .buffers = 0,
    .reduced = 255, .inner = 0, .inner_flag = 255, .typed = 255, .factors = 255,
    .index_operand = 255, .index_table = 255, .index_from_end = 0, .index_attribute = 255};

static const firn_operand operands_10[] = {
    {.type = FIRN_TYPE_REAL, .form = FIRN_FORM_OWN, .changed = FIRN_FRESH},
    {.type = FIRN_TYPE_OF_INPUT + 0, .form = FIRN_FORM_OWN, .changed = FIRN_FRESH},
};
const firn_op_info firn_op_row_concat = {
    .code = 147, .operands = operands_10, .ranges = ranges_2, .inputs = 1, .inputs_min = 1, .inputs_max = 64,
    .outputs = 1, .integers = 1, .reals = 0, .reductions = 0, .in_place = 0, .autocast = FIRN_AUTOCAST_follow,
    .outputs_min = 1, .integers_min = 1, .reals_min = 0,
    .pol = FIRN_POL_none, .cost = FIRN_COST_none, .begins = FIRN_BEGINS_nothing, .gathers = 0, .metric = 0, .buffers = 0,
    .reduced = 255, .inner = 0, .inner_flag = 255, .typed = 255, .factors = 255,
    .index_operand = 255, .index_table = 255, .index_from_end = 0, .index_attribute = 255};

static const firn_operand operands_11[] = {
    {.type = FIRN_TYPE_OWN, .form = FIRN_FORM_OWN, .changed = FIRN_FRESH},
    {.type = FIRN_TYPE_OF_INPUT + 0, .form = FIRN_FORM_OWN, .changed = FIRN_FRESH},
};
static const uint8_t ranges_4[] = {
    FIRN_RANGE_OWN,
    FIRN_RANGE_OWN,
    FIRN_RANGE_OWN,
    FIRN_RANGE_OWN,
    FIRN_RANGE_OWN,
    FIRN_RANGE_OWN,
    FIRN_RANGE_OWN,
    FIRN_RANGE_OWN,
};
const firn_op_info firn_op_row_reshape = {
    .code = 200, .operands = operands_11, .ranges = ranges_4, .inputs = 1, .inputs_min = 1, .inputs_max = 1,
    .outputs = 1, .integers = 8, .reals = 0, .reductions = 0, .in_place = 0, .autocast = FIRN_AUTOCAST_follow,
    .outputs_min = 1, .integers_min = 8, .reals_min = 0,
    .pol = FIRN_POL_none, .cost = FIRN_COST_none, .begins = FIRN_BEGINS_nothing, .gathers = 0, .metric = 0, .buffers = 0,
    .reduced = 255, .inner = 0, .inner_flag = 255, .typed = 255, .factors = 255,
    .index_operand = 255, .index_table = 255, .index_from_end = 0, .index_attribute = 255};

const firn_op_info firn_op_row_transpose = {
    .code = 201, .operands = operands_11, .ranges = ranges_2, .inputs = 1, .inputs_min = 1, .inputs_max = 1,
    .outputs = 1, .integers = 1, .reals = 0, .reductions = 0, .in_place = 0, .autocast = FIRN_AUTOCAST_follow,
    .outputs_min = 1, .integers_min = 1, .reals_min = 0,
    .pol = FIRN_POL_none, .cost = FIRN_COST_none, .begins = FIRN_BEGINS_nothing, .gathers = 0, .metric = 0, .buffers = 0,
    .reduced = 255, .inner = 0, .inner_flag = 255, .typed = 255, .factors = 255,
    .index_operand = 255, .index_table = 255, .index_from_end = 0, .index_attribute = 255};

static const uint8_t ranges_5[] = {
    FIRN_RANGE_OWN,
    FIRN_RANGE_OWN,
    FIRN_RANGE_OWN,
    FIRN_RANGE_OWN,
};
const firn_op_info firn_op_row_slice = {
    .code = 202, .operands = operands_11, .ranges = ranges_5, .inputs = 1, .inputs_min = 1, .inputs_max = 1,
    .outputs = 1, .integers = 4, .reals = 0, .reductions = 0, .in_place = 0, .autocast = FIRN_AUTOCAST_follow,
    .outputs_min = 1, .integers_min = 4, .reals_min = 0,
    .pol = FIRN_POL_none, .cost = FIRN_COST_none, .begins = FIRN_BEGINS_nothing, .gathers = 0, .metric = 0, .buffers = 0,
    .reduced = 255, .inner = 0, .inner_flag = 255, .typed = 255, .factors = 255,
    .index_operand = 255, .index_table = 255, .index_from_end = 0, .index_attribute = 255};

static const uint8_t ranges_6[] = {
    FIRN_RANGE_OWN,
    FIRN_RANGE_OWN,
    FIRN_RANGE_OWN,
    FIRN_RANGE_EXTENT,
};
const firn_op_info firn_op_row_slice_backward = {
    .code = 203, .operands = operands_10, .ranges = ranges_6, .inputs = 1, .inputs_min = 1, .inputs_max = 1,
    .outputs = 1, .integers = 4, .reals = 0, .reductions = 0, .in_place = 0, .autocast = FIRN_AUTOCAST_fixed,
    .outputs_min = 1, .integers_min = 4, .reals_min = 0,
    .pol = FIRN_POL_none, .cost = FIRN_COST_none, .begins = FIRN_BEGINS_nothing, .gathers = 0, .metric = 0, .buffers = 0,
    .reduced = 255, .inner = 0, .inner_flag = 255, .typed = 255, .factors = 255,
    .index_operand = 255, .index_table = 255, .index_from_end = 0, .index_attribute = 255};

static const uint8_t ranges_7[] = {
    FIRN_RANGE_OWN,
    FIRN_RANGE_OWN,
    FIRN_RANGE_OWN,
    FIRN_RANGE_FINITE,
};
const firn_op_info firn_op_row_pad = {
    .code = 204, .operands = operands_10, .ranges = ranges_7, .inputs = 1, .inputs_min = 1, .inputs_max = 1,
    .outputs = 1, .integers = 3, .reals = 1, .reductions = 0, .in_place = 0, .autocast = FIRN_AUTOCAST_follow,
    .outputs_min = 1, .integers_min = 3, .reals_min = 1,
    .pol = FIRN_POL_none, .cost = FIRN_COST_none, .begins = FIRN_BEGINS_nothing, .gathers = 0, .metric = 0, .buffers = 0,
    .reduced = 255, .inner = 0, .inner_flag = 255, .typed = 255, .factors = 255,
    .index_operand = 255, .index_table = 255, .index_from_end = 0, .index_attribute = 255};

const firn_op_info firn_op_row_expand = {
    .code = 205, .operands = operands_11, .ranges = ranges_4, .inputs = 1, .inputs_min = 1, .inputs_max = 1,
    .outputs = 1, .integers = 8, .reals = 0, .reductions = 0, .in_place = 0, .autocast = FIRN_AUTOCAST_follow,
    .outputs_min = 1, .integers_min = 8, .reals_min = 0,
    .pol = FIRN_POL_none, .cost = FIRN_COST_none, .begins = FIRN_BEGINS_nothing, .gathers = 0, .metric = 0, .buffers = 0,
    .reduced = 255, .inner = 0, .inner_flag = 255, .typed = 255, .factors = 255,
    .index_operand = 255, .index_table = 255, .index_from_end = 0, .index_attribute = 255};

static const firn_operand operands_12[] = {
    {.type = FIRN_TYPE_OWN, .form = FIRN_FORM_OWN, .changed = FIRN_FRESH},
    {.type = FIRN_INT32, .form = FIRN_FORM_OWN, .changed = FIRN_FRESH},
    {.type = FIRN_TYPE_OF_INPUT + 0, .form = FIRN_FORM_OWN, .changed = FIRN_FRESH},
};
const firn_op_info firn_op_row_gather = {
    .code = 207, .operands = operands_12, .ranges = ranges_2, .inputs = 2, .inputs_min = 2, .inputs_max = 2,
    .outputs = 1, .integers = 1, .reals = 0, .reductions = 0, .in_place = 0, .autocast = FIRN_AUTOCAST_follow,
    .outputs_min = 1, .integers_min = 1, .reals_min = 0,
    .pol = FIRN_POL_none, .cost = FIRN_COST_none, .begins = FIRN_BEGINS_nothing, .gathers = 0, .metric = 0, .buffers = 0,
    .reduced = 255, .inner = 0, .inner_flag = 255, .typed = 255, .factors = 255,
    .index_operand = 255, .index_table = 255, .index_from_end = 0, .index_attribute = 255};

static const firn_operand operands_13[] = {
    {.type = FIRN_TYPE_REAL, .form = FIRN_FORM_OWN, .changed = FIRN_FRESH},
    {.type = FIRN_INT32, .form = FIRN_FORM_OWN, .changed = FIRN_FRESH},
    {.type = FIRN_FLOAT32, .form = FIRN_FORM_OWN, .changed = FIRN_FRESH},
};
static const uint8_t ranges_8[] = {
    FIRN_RANGE_OWN,
    FIRN_RANGE_EXTENT,
};
const firn_op_info firn_op_row_gather_backward = {
    .code = 208, .operands = operands_13, .ranges = ranges_8, .inputs = 2, .inputs_min = 2, .inputs_max = 2,
    .outputs = 1, .integers = 2, .reals = 0, .reductions = 0, .in_place = 0, .autocast = FIRN_AUTOCAST_fixed,
    .outputs_min = 1, .integers_min = 2, .reals_min = 0,
    .pol = FIRN_POL_none, .cost = FIRN_COST_none, .begins = FIRN_BEGINS_nothing, .gathers = 0, .metric = 0, .buffers = 0,
    .reduced = 255, .inner = 0, .inner_flag = 255, .typed = 255, .factors = 255,
    .index_operand = 255, .index_table = 255, .index_from_end = 0, .index_attribute = 255};

const firn_op_info firn_op_row_gather_elements = {
    .code = 209, .operands = operands_12, .ranges = ranges_2, .inputs = 2, .inputs_min = 2, .inputs_max = 2,
    .outputs = 1, .integers = 1, .reals = 0, .reductions = 0, .in_place = 0, .autocast = FIRN_AUTOCAST_follow,
    .outputs_min = 1, .integers_min = 1, .reals_min = 0,
    .pol = FIRN_POL_none, .cost = FIRN_COST_none, .begins = FIRN_BEGINS_nothing, .gathers = 0, .metric = 0, .buffers = 0,
    .reduced = 255, .inner = 0, .inner_flag = 255, .typed = 255, .factors = 255,
    .index_operand = 255, .index_table = 255, .index_from_end = 0, .index_attribute = 255};

static const firn_operand operands_14[] = {
    {.type = FIRN_TYPE_REAL, .form = FIRN_FORM_OWN, .changed = FIRN_FRESH},
    {.type = FIRN_INT32, .form = FIRN_FORM_LIKE, .a = 0, .changed = FIRN_FRESH},
    {.type = FIRN_FLOAT32, .form = FIRN_FORM_OWN, .changed = FIRN_FRESH},
};
const firn_op_info firn_op_row_gather_elements_backward = {
    .code = 210, .operands = operands_14, .ranges = ranges_8, .inputs = 2, .inputs_min = 2, .inputs_max = 2,
    .outputs = 1, .integers = 2, .reals = 0, .reductions = 0, .in_place = 0, .autocast = FIRN_AUTOCAST_fixed,
    .outputs_min = 1, .integers_min = 2, .reals_min = 0,
    .pol = FIRN_POL_none, .cost = FIRN_COST_none, .begins = FIRN_BEGINS_nothing, .gathers = 0, .metric = 0, .buffers = 0,
    .reduced = 255, .inner = 0, .inner_flag = 255, .typed = 255, .factors = 255,
    .index_operand = 255, .index_table = 255, .index_from_end = 0, .index_attribute = 255};

static const firn_operand operands_15[] = {
    {.type = FIRN_TYPE_OWN, .form = FIRN_FORM_OWN, .changed = FIRN_FRESH},
    {.type = FIRN_INT32, .form = FIRN_FORM_OWN, .changed = FIRN_FRESH},
    {.type = FIRN_TYPE_OF_INPUT + 0, .form = FIRN_FORM_OWN, .changed = FIRN_FRESH},
    {.type = FIRN_TYPE_OF_INPUT + 0, .form = FIRN_FORM_LIKE, .a = 0, .changed = FIRN_FRESH},
};
const firn_op_info firn_op_row_scatter_nd = {
    .code = 211, .operands = operands_15, .ranges = ranges_0, .inputs = 3, .inputs_min = 3, .inputs_max = 3,
    .outputs = 1, .integers = 1, .reals = 0, .reductions = 0, .in_place = 1, .autocast = FIRN_AUTOCAST_follow,
    .outputs_min = 1, .integers_min = 1, .reals_min = 0,
    .pol = FIRN_POL_none, .cost = FIRN_COST_none, .begins = FIRN_BEGINS_nothing, .gathers = 0, .metric = 0, .buffers = 0,
    .reduced = 255, .inner = 0, .inner_flag = 255, .typed = 255, .factors = 255,
    .index_operand = 255, .index_table = 255, .index_from_end = 0, .index_attribute = 255};

static const firn_operand operands_16[] = {
    {.type = FIRN_TYPE_REAL, .form = FIRN_FORM_OWN, .changed = FIRN_FRESH},
    {.type = FIRN_INT32, .form = FIRN_FORM_OWN, .changed = FIRN_FRESH},
    {.type = FIRN_TYPE_OF_INPUT + 0, .form = FIRN_FORM_LIKE, .a = 0, .changed = FIRN_FRESH},
    {.type = FIRN_TYPE_OF_INPUT + 0, .form = FIRN_FORM_OWN, .changed = FIRN_FRESH},
};
const firn_op_info firn_op_row_scatter_nd_backward = {
    .code = 212, .operands = operands_16, .inputs = 2, .inputs_min = 2, .inputs_max = 2,
    .outputs = 2, .integers = 0, .reals = 0, .reductions = 0, .in_place = 1, .autocast = FIRN_AUTOCAST_fixed,
    .outputs_min = 2, .integers_min = 0, .reals_min = 0,
    .pol = FIRN_POL_none, .cost = FIRN_COST_none, .begins = FIRN_BEGINS_nothing, .gathers = 0, .metric = 0, .buffers = 0,
    .reduced = 255, .inner = 0, .inner_flag = 255, .typed = 255, .factors = 255,
    .index_operand = 255, .index_table = 255, .index_from_end = 0, .index_attribute = 255};

static const firn_operand operands_17[] = {
    {.type = FIRN_TYPE_REAL, .form = FIRN_FORM_OWN, .changed = FIRN_FRESH},
    {.type = FIRN_INT32, .form = FIRN_FORM_OWN, .changed = FIRN_FRESH},
    {.type = FIRN_TYPE_OF_INPUT + 0, .form = FIRN_FORM_OWN, .changed = FIRN_FRESH},
};
const firn_op_info firn_op_row_scatter_nd_backward_updates = {
    .code = 213, .operands = operands_17, .inputs = 2, .inputs_min = 2, .inputs_max = 2,
    .outputs = 1, .integers = 0, .reals = 0, .reductions = 0, .in_place = 0, .autocast = FIRN_AUTOCAST_fixed,
    .outputs_min = 1, .integers_min = 0, .reals_min = 0,
    .pol = FIRN_POL_none, .cost = FIRN_COST_none, .begins = FIRN_BEGINS_nothing, .gathers = 0, .metric = 0, .buffers = 0,
    .reduced = 255, .inner = 0, .inner_flag = 255, .typed = 255, .factors = 255,
    .index_operand = 255, .index_table = 255, .index_from_end = 0, .index_attribute = 255};

static const uint8_t ranges_9[] = {
    FIRN_RANGE_OWN,
    FIRN_RANGE_FLAG,
    FIRN_RANGE_FLAG,
};
const firn_op_info firn_op_row_cumulative_sum = {
    .code = 214, .operands = operands_0, .ranges = ranges_9, .inputs = 1, .inputs_min = 1, .inputs_max = 1,
    .outputs = 1, .integers = 3, .reals = 0, .reductions = 0, .in_place = 1, .autocast = FIRN_AUTOCAST_follow,
    .outputs_min = 1, .integers_min = 3, .reals_min = 0,
    .pol = FIRN_POL_none, .cost = FIRN_COST_none, .begins = FIRN_BEGINS_nothing, .gathers = 0, .metric = 0, .buffers = 0,
    .reduced = 255, .inner = 0, .inner_flag = 255, .typed = 255, .factors = 255,
    .index_operand = 255, .index_table = 255, .index_from_end = 0, .index_attribute = 255};

static const firn_operand operands_18[] = {
    {.type = FIRN_INT32, .form = FIRN_FORM_OWN, .changed = FIRN_FRESH},
    {.type = FIRN_TYPE_OF_INPUT + 0, .form = FIRN_FORM_OWN, .changed = FIRN_FRESH},
};
const firn_op_info firn_op_row_concat_int32 = {
    .code = 215, .operands = operands_18, .ranges = ranges_2, .inputs = 1, .inputs_min = 1, .inputs_max = 64,
    .outputs = 1, .integers = 1, .reals = 0, .reductions = 0, .in_place = 0, .autocast = FIRN_AUTOCAST_follow,
    .outputs_min = 1, .integers_min = 1, .reals_min = 0,
    .pol = FIRN_POL_none, .cost = FIRN_COST_none, .begins = FIRN_BEGINS_nothing, .gathers = 0, .metric = 0, .buffers = 0,
    .reduced = 255, .inner = 0, .inner_flag = 255, .typed = 255, .factors = 255,
    .index_operand = 255, .index_table = 255, .index_from_end = 0, .index_attribute = 255};

static const firn_operand operands_19[] = {
    {.type = FIRN_TYPE_REAL, .form = FIRN_FORM_ROWS, .a = FIRN_EXTENT_LETTER + 0, .changed = FIRN_FRESH},
    {.type = FIRN_FLOAT32, .form = FIRN_FORM_VECTOR, .a = FIRN_EXTENT_LETTER + 0, .b = 0, .changed = FIRN_FRESH},
    {.type = FIRN_FLOAT32, .form = FIRN_FORM_VECTOR, .a = FIRN_EXTENT_LETTER + 0, .b = 0, .changed = FIRN_FRESH},
    {.type = FIRN_TYPE_REAL, .form = FIRN_FORM_LIKE, .a = 0, .changed = FIRN_FRESH},
    {.type = FIRN_FLOAT32, .form = FIRN_FORM_ROW_VALUES, .changed = FIRN_FRESH},
    {.type = FIRN_FLOAT32, .form = FIRN_FORM_ROW_VALUES, .changed = FIRN_FRESH},
};
static const uint8_t ranges_10[] = {
    FIRN_RANGE_TYPE,
    FIRN_RANGE_POSITIVE,
};
const firn_op_info firn_op_row_layer_norm = {
    .code = 11, .operands = operands_19, .ranges = ranges_10, .inputs = 3, .inputs_min = 3, .inputs_max = 3,
    .outputs = 3, .integers = 1, .reals = 1, .reductions = 0, .in_place = 0, .autocast = FIRN_AUTOCAST_norm,
    .outputs_min = 3, .integers_min = 1, .reals_min = 1,
    .pol = FIRN_POL_norm, .cost = FIRN_COST_none, .begins = FIRN_BEGINS_nothing, .gathers = 0, .metric = 0, .buffers = 0,
    .reduced = 255, .inner = 0, .inner_flag = 255, .typed = 0, .factors = 255,
    .index_operand = 255, .index_table = 255, .index_from_end = 0, .index_attribute = 255};

static const firn_operand operands_20[] = {
    {.type = FIRN_TYPE_REAL, .form = FIRN_FORM_LIKE, .a = 1, .changed = FIRN_FRESH},
    {.type = FIRN_TYPE_REAL, .form = FIRN_FORM_ROWS, .a = FIRN_EXTENT_LETTER + 0, .changed = FIRN_FRESH},
    {.type = FIRN_FLOAT32, .form = FIRN_FORM_VECTOR, .a = FIRN_EXTENT_LETTER + 0, .b = 0, .changed = FIRN_FRESH},
    {.type = FIRN_FLOAT32, .form = FIRN_FORM_ROW_VALUES, .changed = FIRN_FRESH},
    {.type = FIRN_FLOAT32, .form = FIRN_FORM_ROW_VALUES, .changed = FIRN_FRESH},
    {.type = FIRN_TYPE_REAL, .form = FIRN_FORM_LIKE, .a = 1, .changed = FIRN_FRESH},
};
static const uint8_t ranges_11[] = {
    FIRN_RANGE_TYPE,
};
const firn_op_info firn_op_row_layer_norm_backward = {
    .code = 12, .operands = operands_20, .ranges = ranges_11, .inputs = 5, .inputs_min = 5, .inputs_max = 5,
    .outputs = 1, .integers = 1, .reals = 0, .reductions = 0, .in_place = 0, .autocast = FIRN_AUTOCAST_fixed,
    .outputs_min = 1, .integers_min = 1, .reals_min = 0,
    .pol = FIRN_POL_none, .cost = FIRN_COST_none, .begins = FIRN_BEGINS_nothing, .gathers = 0, .metric = 0, .buffers = 0,
    .reduced = 255, .inner = 0, .inner_flag = 255, .typed = 0, .factors = 255,
    .index_operand = 255, .index_table = 255, .index_from_end = 0, .index_attribute = 255};

static const firn_operand operands_21[] = {
    {.type = FIRN_TYPE_REAL, .form = FIRN_FORM_LIKE, .a = 1, .changed = FIRN_FRESH},
    {.type = FIRN_TYPE_REAL, .form = FIRN_FORM_ROWS, .a = FIRN_EXTENT_LETTER + 0, .changed = FIRN_FRESH},
    {.type = FIRN_FLOAT32, .form = FIRN_FORM_ROW_VALUES, .changed = FIRN_FRESH},
    {.type = FIRN_FLOAT32, .form = FIRN_FORM_ROW_VALUES, .changed = FIRN_FRESH},
    {.type = FIRN_TYPE_REAL, .form = FIRN_FORM_VECTOR, .a = FIRN_EXTENT_LETTER + 0, .b = 0, .changed = FIRN_FRESH},
    {.type = FIRN_TYPE_REAL, .form = FIRN_FORM_VECTOR, .a = FIRN_EXTENT_LETTER + 0, .b = 0, .changed = FIRN_FRESH},
};
const firn_op_info firn_op_row_layer_norm_backward_affine = {
    .code = 13, .operands = operands_21, .ranges = ranges_11, .inputs = 4, .inputs_min = 4, .inputs_max = 4,
    .outputs = 2, .integers = 1, .reals = 0, .reductions = 0, .in_place = 0, .autocast = FIRN_AUTOCAST_fixed,
    .outputs_min = 2, .integers_min = 1, .reals_min = 0,
    .pol = FIRN_POL_none, .cost = FIRN_COST_none, .begins = FIRN_BEGINS_nothing, .gathers = 0, .metric = 0, .buffers = 0,
    .reduced = 255, .inner = 0, .inner_flag = 255, .typed = 0, .factors = 255,
    .index_operand = 255, .index_table = 255, .index_from_end = 0, .index_attribute = 255};

static const firn_operand operands_22[] = {
    {.type = FIRN_TYPE_REAL, .form = FIRN_FORM_ROWS, .a = FIRN_EXTENT_LETTER + 0, .changed = FIRN_FRESH},
    {.type = FIRN_FLOAT32, .form = FIRN_FORM_VECTOR, .a = FIRN_EXTENT_LETTER + 0, .b = 0, .changed = FIRN_FRESH},
    {.type = FIRN_TYPE_REAL, .form = FIRN_FORM_LIKE, .a = 0, .changed = FIRN_FRESH},
    {.type = FIRN_FLOAT32, .form = FIRN_FORM_ROW_VALUES, .changed = FIRN_FRESH},
};
const firn_op_info firn_op_row_rms_norm = {
    .code = 150, .operands = operands_22, .ranges = ranges_10, .inputs = 2, .inputs_min = 2, .inputs_max = 2,
    .outputs = 2, .integers = 1, .reals = 1, .reductions = 0, .in_place = 0, .autocast = FIRN_AUTOCAST_norm,
    .outputs_min = 2, .integers_min = 1, .reals_min = 1,
    .pol = FIRN_POL_norm, .cost = FIRN_COST_none, .begins = FIRN_BEGINS_nothing, .gathers = 0, .metric = 0, .buffers = 0,
    .reduced = 255, .inner = 0, .inner_flag = 255, .typed = 0, .factors = 255,
    .index_operand = 255, .index_table = 255, .index_from_end = 0, .index_attribute = 255};

static const firn_operand operands_23[] = {
    {.type = FIRN_TYPE_REAL, .form = FIRN_FORM_LIKE, .a = 1, .changed = FIRN_FRESH},
    {.type = FIRN_TYPE_REAL, .form = FIRN_FORM_ROWS, .a = FIRN_EXTENT_LETTER + 0, .changed = FIRN_FRESH},
    {.type = FIRN_FLOAT32, .form = FIRN_FORM_VECTOR, .a = FIRN_EXTENT_LETTER + 0, .b = 0, .changed = FIRN_FRESH},
    {.type = FIRN_FLOAT32, .form = FIRN_FORM_ROW_VALUES, .changed = FIRN_FRESH},
    {.type = FIRN_TYPE_REAL, .form = FIRN_FORM_LIKE, .a = 1, .changed = FIRN_FRESH},
};
const firn_op_info firn_op_row_rms_norm_backward = {
    .code = 151, .operands = operands_23, .ranges = ranges_11, .inputs = 4, .inputs_min = 4, .inputs_max = 4,
    .outputs = 1, .integers = 1, .reals = 0, .reductions = 0, .in_place = 0, .autocast = FIRN_AUTOCAST_fixed,
    .outputs_min = 1, .integers_min = 1, .reals_min = 0,
    .pol = FIRN_POL_none, .cost = FIRN_COST_none, .begins = FIRN_BEGINS_nothing, .gathers = 0, .metric = 0, .buffers = 0,
    .reduced = 255, .inner = 0, .inner_flag = 255, .typed = 0, .factors = 255,
    .index_operand = 255, .index_table = 255, .index_from_end = 0, .index_attribute = 255};

static const firn_operand operands_24[] = {
    {.type = FIRN_TYPE_REAL, .form = FIRN_FORM_LIKE, .a = 1, .changed = FIRN_FRESH},
    {.type = FIRN_TYPE_REAL, .form = FIRN_FORM_ROWS, .a = FIRN_EXTENT_LETTER + 0, .changed = FIRN_FRESH},
    {.type = FIRN_FLOAT32, .form = FIRN_FORM_ROW_VALUES, .changed = FIRN_FRESH},
    {.type = FIRN_TYPE_REAL, .form = FIRN_FORM_VECTOR, .a = FIRN_EXTENT_LETTER + 0, .b = 0, .changed = FIRN_FRESH},
};
const firn_op_info firn_op_row_rms_norm_backward_gain = {
    .code = 152, .operands = operands_24, .ranges = ranges_11, .inputs = 3, .inputs_min = 3, .inputs_max = 3,
    .outputs = 1, .integers = 1, .reals = 0, .reductions = 0, .in_place = 0, .autocast = FIRN_AUTOCAST_fixed,
    .outputs_min = 1, .integers_min = 1, .reals_min = 0,
    .pol = FIRN_POL_none, .cost = FIRN_COST_none, .begins = FIRN_BEGINS_nothing, .gathers = 0, .metric = 0, .buffers = 0,
    .reduced = 255, .inner = 0, .inner_flag = 255, .typed = 0, .factors = 255,
    .index_operand = 255, .index_table = 255, .index_from_end = 0, .index_attribute = 255};

static const firn_operand operands_25[] = {
    {.type = FIRN_TYPE_REAL, .form = FIRN_FORM_ROWS, .a = FIRN_EXTENT_LETTER + 0, .changed = FIRN_FRESH},
    {.type = FIRN_FLOAT32, .form = FIRN_FORM_VECTOR, .a = FIRN_EXTENT_LETTER + 0, .b = 0, .changed = FIRN_FRESH},
    {.type = FIRN_FLOAT32, .form = FIRN_FORM_VECTOR, .a = FIRN_EXTENT_LETTER + 0, .b = 0, .changed = FIRN_FRESH},
    {.type = FIRN_TYPE_REAL, .form = FIRN_FORM_LIKE, .a = 0, .changed = FIRN_FRESH},
    {.type = FIRN_FLOAT32, .form = FIRN_FORM_VECTOR, .a = FIRN_EXTENT_LETTER + 0, .b = 0, .changed = FIRN_FRESH},
    {.type = FIRN_FLOAT32, .form = FIRN_FORM_VECTOR, .a = FIRN_EXTENT_LETTER + 0, .b = 0, .changed = FIRN_FRESH},
    {.type = FIRN_FLOAT32, .form = FIRN_FORM_VECTOR, .a = FIRN_EXTENT_LETTER + 0, .b = 0, .changed = FIRN_FRESH},
    {.type = FIRN_FLOAT32, .form = FIRN_FORM_OWN, .changed = FIRN_FRESH, .scratch = true},
};
static const uint8_t ranges_12[] = {
    FIRN_RANGE_POSITIVE,
};
const firn_op_info firn_op_row_batch_norm = {
    .code = 246, .operands = operands_25, .ranges = ranges_12, .inputs = 3, .inputs_min = 3, .inputs_max = 3,
    .outputs = 5, .integers = 0, .reals = 1, .reductions = 0, .in_place = 1, .autocast = FIRN_AUTOCAST_follow,
    .outputs_min = 5, .integers_min = 0, .reals_min = 1,
    .pol = FIRN_POL_none, .cost = FIRN_COST_none, .begins = FIRN_BEGINS_nothing, .gathers = 0, .metric = 0, .buffers = 0,
    .reduced = 255, .inner = 0, .inner_flag = 255, .typed = 255, .factors = 255,
    .index_operand = 255, .index_table = 255, .index_from_end = 0, .index_attribute = 255};

static const firn_operand operands_26[] = {
    {.type = FIRN_TYPE_REAL, .form = FIRN_FORM_LIKE, .a = 1, .changed = FIRN_FRESH},
    {.type = FIRN_TYPE_REAL, .form = FIRN_FORM_ROWS, .a = FIRN_EXTENT_LETTER + 0, .changed = FIRN_FRESH},
    {.type = FIRN_FLOAT32, .form = FIRN_FORM_VECTOR, .a = FIRN_EXTENT_LETTER + 0, .b = 0, .changed = FIRN_FRESH},
    {.type = FIRN_FLOAT32, .form = FIRN_FORM_VECTOR, .a = FIRN_EXTENT_LETTER + 0, .b = 0, .changed = FIRN_FRESH},
    {.type = FIRN_FLOAT32, .form = FIRN_FORM_VECTOR, .a = FIRN_EXTENT_LETTER + 0, .b = 0, .changed = FIRN_FRESH},
    {.type = FIRN_TYPE_REAL, .form = FIRN_FORM_LIKE, .a = 1, .changed = FIRN_FRESH},
    {.type = FIRN_FLOAT32, .form = FIRN_FORM_VECTOR, .a = FIRN_EXTENT_LETTER + 0, .b = 0, .changed = FIRN_FRESH},
    {.type = FIRN_FLOAT32, .form = FIRN_FORM_VECTOR, .a = FIRN_EXTENT_LETTER + 0, .b = 0, .changed = FIRN_FRESH},
    {.type = FIRN_FLOAT32, .form = FIRN_FORM_OWN, .changed = FIRN_FRESH, .scratch = true},
};
const firn_op_info firn_op_row_batch_norm_backward = {
    .code = 247, .operands = operands_26, .inputs = 5, .inputs_min = 5, .inputs_max = 5,
    .outputs = 4, .integers = 0, .reals = 0, .reductions = 0, .in_place = 3, .autocast = FIRN_AUTOCAST_fixed,
    .outputs_min = 4, .integers_min = 0, .reals_min = 0,
    .pol = FIRN_POL_none, .cost = FIRN_COST_none, .begins = FIRN_BEGINS_nothing, .gathers = 0, .metric = 0, .buffers = 0,
    .reduced = 255, .inner = 0, .inner_flag = 255, .typed = 255, .factors = 255,
    .index_operand = 255, .index_table = 255, .index_from_end = 0, .index_attribute = 255};

static const firn_operand operands_27[] = {
    {.type = FIRN_TYPE_REAL, .form = FIRN_FORM_ROWS, .a = FIRN_EXTENT_LETTER + 0, .changed = FIRN_FRESH},
    {.type = FIRN_FLOAT32, .form = FIRN_FORM_VECTOR, .a = FIRN_EXTENT_LETTER + 0, .b = 0, .changed = FIRN_FRESH},
    {.type = FIRN_FLOAT32, .form = FIRN_FORM_VECTOR, .a = FIRN_EXTENT_LETTER + 0, .b = 0, .changed = FIRN_FRESH},
    {.type = FIRN_FLOAT32, .form = FIRN_FORM_VECTOR, .a = FIRN_EXTENT_LETTER + 0, .b = 0, .changed = FIRN_FRESH},
    {.type = FIRN_FLOAT32, .form = FIRN_FORM_VECTOR, .a = FIRN_EXTENT_LETTER + 0, .b = 0, .changed = FIRN_FRESH},
    {.type = FIRN_TYPE_REAL, .form = FIRN_FORM_LIKE, .a = 0, .changed = FIRN_FRESH},
};
const firn_op_info firn_op_row_batch_norm_fixed = {
    .code = 248, .operands = operands_27, .ranges = ranges_12, .inputs = 5, .inputs_min = 5, .inputs_max = 5,
    .outputs = 1, .integers = 0, .reals = 1, .reductions = 0, .in_place = 1, .autocast = FIRN_AUTOCAST_follow,
    .outputs_min = 1, .integers_min = 0, .reals_min = 1,
    .pol = FIRN_POL_none, .cost = FIRN_COST_none, .begins = FIRN_BEGINS_nothing, .gathers = 0, .metric = 0, .buffers = 0,
    .reduced = 255, .inner = 0, .inner_flag = 255, .typed = 255, .factors = 255,
    .index_operand = 255, .index_table = 255, .index_from_end = 0, .index_attribute = 255};

const firn_op_info firn_op_row_batch_norm_fixed_backward = {
    .code = 249, .operands = operands_26, .ranges = ranges_12, .inputs = 5, .inputs_min = 5, .inputs_max = 5,
    .outputs = 4, .integers = 0, .reals = 1, .reductions = 0, .in_place = 3, .autocast = FIRN_AUTOCAST_fixed,
    .outputs_min = 4, .integers_min = 0, .reals_min = 1,
    .pol = FIRN_POL_none, .cost = FIRN_COST_none, .begins = FIRN_BEGINS_nothing, .gathers = 0, .metric = 0, .buffers = 0,
    .reduced = 255, .inner = 0, .inner_flag = 255, .typed = 255, .factors = 255,
    .index_operand = 255, .index_table = 255, .index_from_end = 0, .index_attribute = 255};

static const firn_operand operands_28[] = {
    {.type = FIRN_FLOAT32, .form = FIRN_FORM_MATRIX, .a = 2, .b = FIRN_EXTENT_LETTER + 0, .changed = FIRN_FRESH},
    {.type = FIRN_FLOAT32, .form = FIRN_FORM_VECTOR, .a = FIRN_EXTENT_LETTER + 0, .b = 0, .changed = FIRN_FRESH},
    {.type = FIRN_FLOAT32, .form = FIRN_FORM_VECTOR, .a = FIRN_EXTENT_LETTER + 0, .b = 0, .changed = FIRN_FRESH},
    {.type = FIRN_FLOAT32, .form = FIRN_FORM_VECTOR, .a = FIRN_EXTENT_LETTER + 0, .b = 0, .changed = FIRN_FRESH},
    {.type = FIRN_FLOAT32, .form = FIRN_FORM_VECTOR, .a = FIRN_EXTENT_LETTER + 0, .b = 0, .changed = FIRN_FRESH},
    {.type = FIRN_TYPE_OF_INPUT + 0, .form = FIRN_FORM_LIKE, .a = 0, .changed = 0},
};
static const uint8_t ranges_13[] = {
    FIRN_RANGE_OWN,
    FIRN_RANGE_NOT_NEGATIVE,
};
const firn_op_info firn_op_row_running_statistics = {
    .code = 250, .operands = operands_28, .ranges = ranges_13, .inputs = 5, .inputs_min = 5, .inputs_max = 5,
    .outputs = 1, .integers = 1, .reals = 1, .reductions = 0, .in_place = 1, .autocast = FIRN_AUTOCAST_fixed,
    .outputs_min = 1, .integers_min = 1, .reals_min = 1,
    .pol = FIRN_POL_none, .cost = FIRN_COST_none, .begins = FIRN_BEGINS_first, .gathers = 0, .metric = 0, .buffers = 0,
    .reduced = 255, .inner = 0, .inner_flag = 255, .typed = 255, .factors = 255,
    .index_operand = 255, .index_table = 255, .index_from_end = 0, .index_attribute = 255};

static const firn_operand operands_29[] = {
    {.type = FIRN_FLOAT32, .form = FIRN_FORM_VECTOR, .a = FIRN_EXTENT_LETTER + 0, .b = 0, .changed = FIRN_FRESH},
    {.type = FIRN_FLOAT32, .form = FIRN_FORM_VECTOR, .a = FIRN_EXTENT_LETTER + 0, .b = 0, .changed = FIRN_FRESH},
    {.type = FIRN_FLOAT32, .form = FIRN_FORM_MATRIX, .a = 2, .b = FIRN_EXTENT_LETTER + 0, .changed = FIRN_FRESH},
    {.type = FIRN_TYPE_OF_INPUT + 0, .form = FIRN_FORM_LIKE, .a = 0, .changed = 0},
    {.type = FIRN_TYPE_OF_INPUT + 1, .form = FIRN_FORM_LIKE, .a = 1, .changed = 1},
};
const firn_op_info firn_op_row_store_statistics = {
    .code = 251, .operands = operands_29, .inputs = 3, .inputs_min = 3, .inputs_max = 3,
    .outputs = 2, .integers = 0, .reals = 0, .reductions = 0, .in_place = 1, .autocast = FIRN_AUTOCAST_fixed,
    .outputs_min = 2, .integers_min = 0, .reals_min = 0,
    .pol = FIRN_POL_none, .cost = FIRN_COST_none, .begins = FIRN_BEGINS_nothing, .gathers = 0, .metric = 0, .buffers = 1,
    .reduced = 255, .inner = 0, .inner_flag = 255, .typed = 255, .factors = 255,
    .index_operand = 255, .index_table = 255, .index_from_end = 0, .index_attribute = 255};

const firn_op_info firn_op_row_gelu = {
    .code = 14, .operands = operands_0, .ranges = ranges_0, .inputs = 1, .inputs_min = 1, .inputs_max = 1,
    .outputs = 1, .integers = 1, .reals = 0, .reductions = 0, .in_place = 1, .autocast = FIRN_AUTOCAST_follow,
    .outputs_min = 1, .integers_min = 1, .reals_min = 0,
    .pol = FIRN_POL_none, .cost = FIRN_COST_none, .begins = FIRN_BEGINS_nothing, .gathers = 0, .metric = 0, .buffers = 0,
    .reduced = 255, .inner = 0, .inner_flag = 255, .typed = 255, .factors = 255,
    .index_operand = 255, .index_table = 255, .index_from_end = 0, .index_attribute = 255};

static const firn_operand operands_30[] = {
    {.type = FIRN_TYPE_REAL, .form = FIRN_FORM_ANY, .changed = FIRN_FRESH},
    {.type = FIRN_TYPE_REAL, .form = FIRN_FORM_LIKE, .a = 0, .changed = FIRN_FRESH},
    {.type = FIRN_TYPE_REAL, .form = FIRN_FORM_LIKE, .a = 0, .changed = FIRN_FRESH},
};
const firn_op_info firn_op_row_gelu_backward = {
    .code = 15, .operands = operands_30, .ranges = ranges_0, .inputs = 2, .inputs_min = 2, .inputs_max = 2,
    .outputs = 1, .integers = 1, .reals = 0, .reductions = 0, .in_place = 3, .autocast = FIRN_AUTOCAST_fixed,
    .outputs_min = 1, .integers_min = 1, .reals_min = 0,
    .pol = FIRN_POL_none, .cost = FIRN_COST_none, .begins = FIRN_BEGINS_nothing, .gathers = 0, .metric = 0, .buffers = 0,
    .reduced = 255, .inner = 0, .inner_flag = 255, .typed = 255, .factors = 255,
    .index_operand = 255, .index_table = 255, .index_from_end = 0, .index_attribute = 255};

const firn_op_info firn_op_row_relu = {
    .code = 16, .operands = operands_0, .inputs = 1, .inputs_min = 1, .inputs_max = 1,
    .outputs = 1, .integers = 0, .reals = 0, .reductions = 0, .in_place = 1, .autocast = FIRN_AUTOCAST_follow,
    .outputs_min = 1, .integers_min = 0, .reals_min = 0,
    .pol = FIRN_POL_none, .cost = FIRN_COST_none, .begins = FIRN_BEGINS_nothing, .gathers = 0, .metric = 0, .buffers = 0,
    .reduced = 255, .inner = 0, .inner_flag = 255, .typed = 255, .factors = 255,
    .index_operand = 255, .index_table = 255, .index_from_end = 0, .index_attribute = 255};

const firn_op_info firn_op_row_relu_backward = {
    .code = 17, .operands = operands_30, .inputs = 2, .inputs_min = 2, .inputs_max = 2,
    .outputs = 1, .integers = 0, .reals = 0, .reductions = 0, .in_place = 3, .autocast = FIRN_AUTOCAST_fixed,
    .outputs_min = 1, .integers_min = 0, .reals_min = 0,
    .pol = FIRN_POL_none, .cost = FIRN_COST_none, .begins = FIRN_BEGINS_nothing, .gathers = 0, .metric = 0, .buffers = 0,
    .reduced = 255, .inner = 0, .inner_flag = 255, .typed = 255, .factors = 255,
    .index_operand = 255, .index_table = 255, .index_from_end = 0, .index_attribute = 255};

const firn_op_info firn_op_row_tanh = {
    .code = 18, .operands = operands_0, .inputs = 1, .inputs_min = 1, .inputs_max = 1,
    .outputs = 1, .integers = 0, .reals = 0, .reductions = 0, .in_place = 1, .autocast = FIRN_AUTOCAST_follow,
    .outputs_min = 1, .integers_min = 0, .reals_min = 0,
    .pol = FIRN_POL_none, .cost = FIRN_COST_none, .begins = FIRN_BEGINS_nothing, .gathers = 0, .metric = 0, .buffers = 0,
    .reduced = 255, .inner = 0, .inner_flag = 255, .typed = 255, .factors = 255,
    .index_operand = 255, .index_table = 255, .index_from_end = 0, .index_attribute = 255};

const firn_op_info firn_op_row_tanh_backward = {
    .code = 19, .operands = operands_30, .inputs = 2, .inputs_min = 2, .inputs_max = 2,
    .outputs = 1, .integers = 0, .reals = 0, .reductions = 0, .in_place = 3, .autocast = FIRN_AUTOCAST_fixed,
    .outputs_min = 1, .integers_min = 0, .reals_min = 0,
    .pol = FIRN_POL_none, .cost = FIRN_COST_none, .begins = FIRN_BEGINS_nothing, .gathers = 0, .metric = 0, .buffers = 0,
    .reduced = 255, .inner = 0, .inner_flag = 255, .typed = 255, .factors = 255,
    .index_operand = 255, .index_table = 255, .index_from_end = 0, .index_attribute = 255};

static const uint8_t ranges_14[] = {
    FIRN_RANGE_RNG_ID,
    FIRN_RANGE_RATE,
};
const firn_op_info firn_op_row_dropout = {
    .code = 20, .operands = operands_0, .ranges = ranges_14, .inputs = 1, .inputs_min = 1, .inputs_max = 1,
    .outputs = 1, .integers = 1, .reals = 1, .reductions = 0, .in_place = 1, .autocast = FIRN_AUTOCAST_follow,
    .outputs_min = 1, .integers_min = 1, .reals_min = 1,
    .pol = FIRN_POL_none, .cost = FIRN_COST_none, .begins = FIRN_BEGINS_nothing, .gathers = 0, .metric = 0, .buffers = 0,
    .reduced = 255, .inner = 0, .inner_flag = 255, .typed = 255, .factors = 255,
    .index_operand = 255, .index_table = 255, .index_from_end = 0, .index_attribute = 255};

const firn_op_info firn_op_row_sigmoid = {
    .code = 120, .operands = operands_0, .inputs = 1, .inputs_min = 1, .inputs_max = 1,
    .outputs = 1, .integers = 0, .reals = 0, .reductions = 0, .in_place = 1, .autocast = FIRN_AUTOCAST_follow,
    .outputs_min = 1, .integers_min = 0, .reals_min = 0,
    .pol = FIRN_POL_none, .cost = FIRN_COST_none, .begins = FIRN_BEGINS_nothing, .gathers = 0, .metric = 0, .buffers = 0,
    .reduced = 255, .inner = 0, .inner_flag = 255, .typed = 255, .factors = 255,
    .index_operand = 255, .index_table = 255, .index_from_end = 0, .index_attribute = 255};

const firn_op_info firn_op_row_sigmoid_backward = {
    .code = 121, .operands = operands_30, .inputs = 2, .inputs_min = 2, .inputs_max = 2,
    .outputs = 1, .integers = 0, .reals = 0, .reductions = 0, .in_place = 3, .autocast = FIRN_AUTOCAST_fixed,
    .outputs_min = 1, .integers_min = 0, .reals_min = 0,
    .pol = FIRN_POL_none, .cost = FIRN_COST_none, .begins = FIRN_BEGINS_nothing, .gathers = 0, .metric = 0, .buffers = 0,
    .reduced = 255, .inner = 0, .inner_flag = 255, .typed = 255, .factors = 255,
    .index_operand = 255, .index_table = 255, .index_from_end = 0, .index_attribute = 255};

const firn_op_info firn_op_row_silu = {
    .code = 122, .operands = operands_0, .inputs = 1, .inputs_min = 1, .inputs_max = 1,
    .outputs = 1, .integers = 0, .reals = 0, .reductions = 0, .in_place = 1, .autocast = FIRN_AUTOCAST_follow,
    .outputs_min = 1, .integers_min = 0, .reals_min = 0,
    .pol = FIRN_POL_none, .cost = FIRN_COST_none, .begins = FIRN_BEGINS_nothing, .gathers = 0, .metric = 0, .buffers = 0,
    .reduced = 255, .inner = 0, .inner_flag = 255, .typed = 255, .factors = 255,
    .index_operand = 255, .index_table = 255, .index_from_end = 0, .index_attribute = 255};

const firn_op_info firn_op_row_silu_backward = {
    .code = 123, .operands = operands_30, .inputs = 2, .inputs_min = 2, .inputs_max = 2,
    .outputs = 1, .integers = 0, .reals = 0, .reductions = 0, .in_place = 3, .autocast = FIRN_AUTOCAST_fixed,
    .outputs_min = 1, .integers_min = 0, .reals_min = 0,
    .pol = FIRN_POL_none, .cost = FIRN_COST_none, .begins = FIRN_BEGINS_nothing, .gathers = 0, .metric = 0, .buffers = 0,
    .reduced = 255, .inner = 0, .inner_flag = 255, .typed = 255, .factors = 255,
    .index_operand = 255, .index_table = 255, .index_from_end = 0, .index_attribute = 255};

const firn_op_info firn_op_row_softplus = {
    .code = 124, .operands = operands_0, .inputs = 1, .inputs_min = 1, .inputs_max = 1,
    .outputs = 1, .integers = 0, .reals = 0, .reductions = 0, .in_place = 1, .autocast = FIRN_AUTOCAST_single,
    .outputs_min = 1, .integers_min = 0, .reals_min = 0,
    .pol = FIRN_POL_none, .cost = FIRN_COST_none, .begins = FIRN_BEGINS_nothing, .gathers = 0, .metric = 0, .buffers = 0,
    .reduced = 255, .inner = 0, .inner_flag = 255, .typed = 255, .factors = 255,
    .index_operand = 255, .index_table = 255, .index_from_end = 0, .index_attribute = 255};

const firn_op_info firn_op_row_softplus_backward = {
    .code = 125, .operands = operands_30, .inputs = 2, .inputs_min = 2, .inputs_max = 2,
    .outputs = 1, .integers = 0, .reals = 0, .reductions = 0, .in_place = 3, .autocast = FIRN_AUTOCAST_fixed,
    .outputs_min = 1, .integers_min = 0, .reals_min = 0,
    .pol = FIRN_POL_none, .cost = FIRN_COST_none, .begins = FIRN_BEGINS_nothing, .gathers = 0, .metric = 0, .buffers = 0,
    .reduced = 255, .inner = 0, .inner_flag = 255, .typed = 255, .factors = 255,
    .index_operand = 255, .index_table = 255, .index_from_end = 0, .index_attribute = 255};

static const firn_operand operands_31[] = {
    {.type = FIRN_TYPE_REAL, .form = FIRN_FORM_ROWS, .a = FIRN_EXTENT_LETTER + 0, .changed = FIRN_FRESH},
    {.type = FIRN_TYPE_REAL, .form = FIRN_FORM_LIKE, .a = 0, .changed = FIRN_FRESH},
};
const firn_op_info firn_op_row_log_softmax = {
    .code = 126, .operands = operands_31, .inputs = 1, .inputs_min = 1, .inputs_max = 1,
    .outputs = 1, .integers = 0, .reals = 0, .reductions = 0, .in_place = 1, .autocast = FIRN_AUTOCAST_single,
    .outputs_min = 1, .integers_min = 0, .reals_min = 0,
    .pol = FIRN_POL_none, .cost = FIRN_COST_none, .begins = FIRN_BEGINS_nothing, .gathers = 0, .metric = 0, .buffers = 0,
    .reduced = 255, .inner = 0, .inner_flag = 255, .typed = 255, .factors = 255,
    .index_operand = 255, .index_table = 255, .index_from_end = 0, .index_attribute = 255};

const firn_op_info firn_op_row_softmax = {
    .code = 149, .operands = operands_31, .inputs = 1, .inputs_min = 1, .inputs_max = 1,
    .outputs = 1, .integers = 0, .reals = 0, .reductions = 0, .in_place = 1, .autocast = FIRN_AUTOCAST_single,
    .outputs_min = 1, .integers_min = 0, .reals_min = 0,
    .pol = FIRN_POL_none, .cost = FIRN_COST_none, .begins = FIRN_BEGINS_nothing, .gathers = 0, .metric = 0, .buffers = 0,
    .reduced = 255, .inner = 0, .inner_flag = 255, .typed = 255, .factors = 255,
    .index_operand = 255, .index_table = 255, .index_from_end = 0, .index_attribute = 255};

static const firn_operand operands_32[] = {
    {.type = FIRN_TYPE_REAL, .form = FIRN_FORM_ROWS, .a = FIRN_EXTENT_LETTER + 0, .changed = FIRN_FRESH},
    {.type = FIRN_TYPE_REAL, .form = FIRN_FORM_LIKE, .a = 0, .changed = FIRN_FRESH},
    {.type = FIRN_TYPE_REAL, .form = FIRN_FORM_LIKE, .a = 0, .changed = FIRN_FRESH},
};
const firn_op_info firn_op_row_log_softmax_backward = {
    .code = 127, .operands = operands_32, .inputs = 2, .inputs_min = 2, .inputs_max = 2,
    .outputs = 1, .integers = 0, .reals = 0, .reductions = 0, .in_place = 3, .autocast = FIRN_AUTOCAST_fixed,
    .outputs_min = 1, .integers_min = 0, .reals_min = 0,
    .pol = FIRN_POL_none, .cost = FIRN_COST_none, .begins = FIRN_BEGINS_nothing, .gathers = 0, .metric = 0, .buffers = 0,
    .reduced = 255, .inner = 0, .inner_flag = 255, .typed = 255, .factors = 255,
    .index_operand = 255, .index_table = 255, .index_from_end = 0, .index_attribute = 255};

const firn_op_info firn_op_row_softmax_backward = {
    .code = 225, .operands = operands_32, .inputs = 2, .inputs_min = 2, .inputs_max = 2,
    .outputs = 1, .integers = 0, .reals = 0, .reductions = 0, .in_place = 3, .autocast = FIRN_AUTOCAST_fixed,
    .outputs_min = 1, .integers_min = 0, .reals_min = 0,
    .pol = FIRN_POL_none, .cost = FIRN_COST_none, .begins = FIRN_BEGINS_nothing, .gathers = 0, .metric = 0, .buffers = 0,
    .reduced = 255, .inner = 0, .inner_flag = 255, .typed = 255, .factors = 255,
    .index_operand = 255, .index_table = 255, .index_from_end = 0, .index_attribute = 255};

static const uint8_t ranges_15[] = {
    FIRN_RANGE_OWN,
    FIRN_RANGE_FLAG,
};
const firn_op_info firn_op_row_reduce_sum = {
    .code = 220, .operands = operands_4, .ranges = ranges_15, .inputs = 1, .inputs_min = 1, .inputs_max = 1,
    .outputs = 1, .integers = 2, .reals = 0, .reductions = 0, .in_place = 0, .autocast = FIRN_AUTOCAST_single,
    .outputs_min = 1, .integers_min = 2, .reals_min = 0,
    .pol = FIRN_POL_none, .cost = FIRN_COST_none, .begins = FIRN_BEGINS_nothing, .gathers = 0, .metric = 0, .buffers = 0,
    .reduced = 255, .inner = 0, .inner_flag = 255, .typed = 255, .factors = 255,
    .index_operand = 255, .index_table = 255, .index_from_end = 0, .index_attribute = 255};

static const firn_operand operands_33[] = {
    {.type = FIRN_TYPE_REAL, .form = FIRN_FORM_OWN, .changed = FIRN_FRESH},
    {.type = FIRN_TYPE_REAL, .form = FIRN_FORM_OWN, .changed = FIRN_FRESH},
};
const firn_op_info firn_op_row_reduce_sum_backward = {
    .code = 221, .operands = operands_33, .ranges = ranges_4, .inputs = 1, .inputs_min = 1, .inputs_max = 1,
    .outputs = 1, .integers = 8, .reals = 0, .reductions = 0, .in_place = 0, .autocast = FIRN_AUTOCAST_fixed,
    .outputs_min = 1, .integers_min = 8, .reals_min = 0,
    .pol = FIRN_POL_none, .cost = FIRN_COST_none, .begins = FIRN_BEGINS_nothing, .gathers = 0, .metric = 0, .buffers = 0,
    .reduced = 255, .inner = 0, .inner_flag = 255, .typed = 255, .factors = 255,
    .index_operand = 255, .index_table = 255, .index_from_end = 0, .index_attribute = 255};

static const firn_operand operands_34[] = {
    {.type = FIRN_TYPE_REAL, .form = FIRN_FORM_ANY, .changed = FIRN_FRESH},
    {.type = FIRN_TYPE_OF_INPUT + 0, .form = FIRN_FORM_OWN, .changed = FIRN_FRESH},
};
const firn_op_info firn_op_row_reduce_max = {
    .code = 222, .operands = operands_34, .ranges = ranges_15, .inputs = 1, .inputs_min = 1, .inputs_max = 1,
    .outputs = 1, .integers = 2, .reals = 0, .reductions = 0, .in_place = 0, .autocast = FIRN_AUTOCAST_follow,
    .outputs_min = 1, .integers_min = 2, .reals_min = 0,
    .pol = FIRN_POL_none, .cost = FIRN_COST_none, .begins = FIRN_BEGINS_nothing, .gathers = 0, .metric = 0, .buffers = 0,
    .reduced = 255, .inner = 0, .inner_flag = 255, .typed = 255, .factors = 255,
    .index_operand = 255, .index_table = 255, .index_from_end = 0, .index_attribute = 255};

static const firn_operand operands_35[] = {
    {.type = FIRN_TYPE_REAL, .form = FIRN_FORM_OWN, .changed = FIRN_FRESH},
    {.type = FIRN_TYPE_REAL, .form = FIRN_FORM_ANY, .changed = FIRN_FRESH},
    {.type = FIRN_TYPE_REAL, .form = FIRN_FORM_OWN, .changed = FIRN_FRESH},
    {.type = FIRN_TYPE_REAL, .form = FIRN_FORM_LIKE, .a = 1, .changed = FIRN_FRESH},
};
const firn_op_info firn_op_row_reduce_max_backward = {
    .code = 223, .operands = operands_35, .ranges = ranges_15, .inputs = 3, .inputs_min = 3, .inputs_max = 3,
    .outputs = 1, .integers = 2, .reals = 0, .reductions = 0, .in_place = 0, .autocast = FIRN_AUTOCAST_fixed,
    .outputs_min = 1, .integers_min = 2, .reals_min = 0,
    .pol = FIRN_POL_none, .cost = FIRN_COST_none, .begins = FIRN_BEGINS_nothing, .gathers = 0, .metric = 0, .buffers = 0,
    .reduced = 255, .inner = 0, .inner_flag = 255, .typed = 255, .factors = 255,
    .index_operand = 255, .index_table = 255, .index_from_end = 0, .index_attribute = 255};

static const firn_operand operands_36[] = {
    {.type = FIRN_TYPE_REAL, .form = FIRN_FORM_ANY, .changed = FIRN_FRESH},
    {.type = FIRN_INT32, .form = FIRN_FORM_OWN, .changed = FIRN_FRESH},
};
const firn_op_info firn_op_row_arg_max = {
    .code = 224, .operands = operands_36, .ranges = ranges_15, .inputs = 1, .inputs_min = 1, .inputs_max = 1,
    .outputs = 1, .integers = 2, .reals = 0, .reductions = 0, .in_place = 0, .autocast = FIRN_AUTOCAST_single,
    .outputs_min = 1, .integers_min = 2, .reals_min = 0,
    .pol = FIRN_POL_none, .cost = FIRN_COST_none, .begins = FIRN_BEGINS_nothing, .gathers = 0, .metric = 0, .buffers = 0,
    .reduced = 255, .inner = 0, .inner_flag = 255, .typed = 255, .factors = 255,
    .index_operand = 255, .index_table = 255, .index_from_end = 0, .index_attribute = 255};

static const firn_operand operands_37[] = {
    {.type = FIRN_TYPE_REAL, .form = FIRN_FORM_ROWS, .a = FIRN_EXTENT_LETTER + 0, .changed = FIRN_FRESH},
    {.type = FIRN_INT32, .form = FIRN_FORM_OWN, .changed = FIRN_FRESH},
};
static const uint8_t ranges_16[] = {
    FIRN_RANGE_EXTENT,
    FIRN_RANGE_FLAG,
};
const firn_op_info firn_op_row_top_k = {
    .code = 270, .operands = operands_37, .ranges = ranges_16, .inputs = 1, .inputs_min = 1, .inputs_max = 1,
    .outputs = 1, .integers = 2, .reals = 0, .reductions = 0, .in_place = 0, .autocast = FIRN_AUTOCAST_single,
    .outputs_min = 1, .integers_min = 2, .reals_min = 0,
    .pol = FIRN_POL_none, .cost = FIRN_COST_none, .begins = FIRN_BEGINS_nothing, .gathers = 0, .metric = 0, .buffers = 0,
    .reduced = 255, .inner = 0, .inner_flag = 255, .typed = 255, .factors = 255,
    .index_operand = 255, .index_table = 255, .index_from_end = 0, .index_attribute = 255};

static const firn_operand operands_38[] = {
    {.type = FIRN_TYPE_REAL, .form = FIRN_FORM_OWN, .changed = FIRN_FRESH},
    {.type = FIRN_TYPE_OF_INPUT + 0, .form = FIRN_FORM_OWN, .changed = FIRN_FRESH},
    {.type = FIRN_TYPE_REAL, .form = FIRN_FORM_OWN, .changed = FIRN_FRESH},
};
static const uint8_t ranges_17[] = {
    FIRN_RANGE_FLAG,
    FIRN_RANGE_FLAG,
};
const firn_op_info firn_op_row_matmul = {
    .code = 226, .operands = operands_38, .ranges = ranges_17, .inputs = 2, .inputs_min = 2, .inputs_max = 2,
    .outputs = 1, .integers = 2, .reals = 0, .reductions = 1, .in_place = 0, .autocast = FIRN_AUTOCAST_half,
    .outputs_min = 1, .integers_min = 2, .reals_min = 0,
    .pol = FIRN_POL_product, .cost = FIRN_COST_matmul, .begins = FIRN_BEGINS_nothing, .gathers = 0, .metric = 0, .buffers = 0,
    .reduced = 0, .inner = 0, .inner_flag = 255, .typed = 255, .factors = 255,
    .index_operand = 255, .index_table = 255, .index_from_end = 0, .index_attribute = 255};

static const firn_operand operands_39[] = {
    {.type = FIRN_TYPE_REAL, .form = FIRN_FORM_ANY, .changed = FIRN_FRESH},
    {.type = FIRN_TYPE_REAL, .form = FIRN_FORM_ANY, .changed = FIRN_FRESH},
    {.type = FIRN_TYPE_REAL, .form = FIRN_FORM_OWN, .changed = FIRN_FRESH},
};
const firn_op_info firn_op_row_broadcast_add = {
    .code = 168, .operands = operands_39, .inputs = 2, .inputs_min = 2, .inputs_max = 2,
    .outputs = 1, .integers = 0, .reals = 0, .reductions = 0, .in_place = 3, .autocast = FIRN_AUTOCAST_promote,
    .outputs_min = 1, .integers_min = 0, .reals_min = 0,
    .pol = FIRN_POL_none, .cost = FIRN_COST_none, .begins = FIRN_BEGINS_nothing, .gathers = 0, .metric = 0, .buffers = 0,
    .reduced = 255, .inner = 0, .inner_flag = 255, .typed = 255, .factors = 255,
    .index_operand = 255, .index_table = 255, .index_from_end = 0, .index_attribute = 255};

const firn_op_info firn_op_row_broadcast_multiply = {
    .code = 169, .operands = operands_39, .inputs = 2, .inputs_min = 2, .inputs_max = 2,
    .outputs = 1, .integers = 0, .reals = 0, .reductions = 0, .in_place = 3, .autocast = FIRN_AUTOCAST_promote,
    .outputs_min = 1, .integers_min = 0, .reals_min = 0,
    .pol = FIRN_POL_none, .cost = FIRN_COST_none, .begins = FIRN_BEGINS_nothing, .gathers = 0, .metric = 0, .buffers = 0,
    .reduced = 255, .inner = 0, .inner_flag = 255, .typed = 255, .factors = 255,
    .index_operand = 255, .index_table = 255, .index_from_end = 0, .index_attribute = 255};

const firn_op_info firn_op_row_subtract = {
    .code = 170, .operands = operands_39, .inputs = 2, .inputs_min = 2, .inputs_max = 2,
    .outputs = 1, .integers = 0, .reals = 0, .reductions = 0, .in_place = 3, .autocast = FIRN_AUTOCAST_promote,
    .outputs_min = 1, .integers_min = 0, .reals_min = 0,
    .pol = FIRN_POL_none, .cost = FIRN_COST_none, .begins = FIRN_BEGINS_nothing, .gathers = 0, .metric = 0, .buffers = 0,
    .reduced = 255, .inner = 0, .inner_flag = 255, .typed = 255, .factors = 255,
    .index_operand = 255, .index_table = 255, .index_from_end = 0, .index_attribute = 255};

const firn_op_info firn_op_row_divide = {
    .code = 171, .operands = operands_39, .inputs = 2, .inputs_min = 2, .inputs_max = 2,
    .outputs = 1, .integers = 0, .reals = 0, .reductions = 0, .in_place = 3, .autocast = FIRN_AUTOCAST_promote,
    .outputs_min = 1, .integers_min = 0, .reals_min = 0,
    .pol = FIRN_POL_none, .cost = FIRN_COST_none, .begins = FIRN_BEGINS_nothing, .gathers = 0, .metric = 0, .buffers = 0,
    .reduced = 255, .inner = 0, .inner_flag = 255, .typed = 255, .factors = 255,
    .index_operand = 255, .index_table = 255, .index_from_end = 0, .index_attribute = 255};

const firn_op_info firn_op_row_minimum = {
    .code = 172, .operands = operands_39, .inputs = 2, .inputs_min = 2, .inputs_max = 2,
    .outputs = 1, .integers = 0, .reals = 0, .reductions = 0, .in_place = 3, .autocast = FIRN_AUTOCAST_promote,
    .outputs_min = 1, .integers_min = 0, .reals_min = 0,
    .pol = FIRN_POL_none, .cost = FIRN_COST_none, .begins = FIRN_BEGINS_nothing, .gathers = 0, .metric = 0, .buffers = 0,
    .reduced = 255, .inner = 0, .inner_flag = 255, .typed = 255, .factors = 255,
    .index_operand = 255, .index_table = 255, .index_from_end = 0, .index_attribute = 255};

const firn_op_info firn_op_row_maximum = {
    .code = 173, .operands = operands_39, .inputs = 2, .inputs_min = 2, .inputs_max = 2,
    .outputs = 1, .integers = 0, .reals = 0, .reductions = 0, .in_place = 3, .autocast = FIRN_AUTOCAST_promote,
    .outputs_min = 1, .integers_min = 0, .reals_min = 0,
    .pol = FIRN_POL_none, .cost = FIRN_COST_none, .begins = FIRN_BEGINS_nothing, .gathers = 0, .metric = 0, .buffers = 0,
    .reduced = 255, .inner = 0, .inner_flag = 255, .typed = 255, .factors = 255,
    .index_operand = 255, .index_table = 255, .index_from_end = 0, .index_attribute = 255};

static const firn_operand operands_40[] = {
    {.type = FIRN_TYPE_REAL, .form = FIRN_FORM_ANY, .changed = FIRN_FRESH},
    {.type = FIRN_TYPE_REAL, .form = FIRN_FORM_ANY, .changed = FIRN_FRESH, .optional = true},
    {.type = FIRN_TYPE_REAL, .form = FIRN_FORM_ANY, .changed = FIRN_FRESH, .optional = true},
    {.type = FIRN_TYPE_REAL, .form = FIRN_FORM_OWN, .changed = FIRN_FRESH},
};
const firn_op_info firn_op_row_select = {
    .code = 174, .operands = operands_40, .inputs = 3, .inputs_min = 1, .inputs_max = 3,
    .outputs = 1, .integers = 0, .reals = 0, .reductions = 0, .in_place = 7, .autocast = FIRN_AUTOCAST_promote,
    .outputs_min = 1, .integers_min = 0, .reals_min = 0,
    .pol = FIRN_POL_none, .cost = FIRN_COST_none, .begins = FIRN_BEGINS_nothing, .gathers = 0, .metric = 0, .buffers = 0,
    .reduced = 255, .inner = 0, .inner_flag = 255, .typed = 255, .factors = 255,
    .index_operand = 255, .index_table = 255, .index_from_end = 0, .index_attribute = 255};

static const firn_operand operands_41[] = {
    {.type = FIRN_TYPE_REAL, .form = FIRN_FORM_ANY, .changed = FIRN_FRESH},
    {.type = FIRN_TYPE_REAL, .form = FIRN_FORM_ANY, .changed = FIRN_FRESH},
    {.type = FIRN_FLOAT32, .form = FIRN_FORM_OWN, .changed = FIRN_FRESH},
};
const firn_op_info firn_op_row_less = {
    .code = 175, .operands = operands_41, .inputs = 2, .inputs_min = 2, .inputs_max = 2,
    .outputs = 1, .integers = 0, .reals = 0, .reductions = 0, .in_place = 3, .autocast = FIRN_AUTOCAST_single,
    .outputs_min = 1, .integers_min = 0, .reals_min = 0,
    .pol = FIRN_POL_none, .cost = FIRN_COST_none, .begins = FIRN_BEGINS_nothing, .gathers = 0, .metric = 0, .buffers = 0,
    .reduced = 255, .inner = 0, .inner_flag = 255, .typed = 255, .factors = 255,
    .index_operand = 255, .index_table = 255, .index_from_end = 0, .index_attribute = 255};

const firn_op_info firn_op_row_less_or_equal = {
    .code = 176, .operands = operands_41, .inputs = 2, .inputs_min = 2, .inputs_max = 2,
    .outputs = 1, .integers = 0, .reals = 0, .reductions = 0, .in_place = 3, .autocast = FIRN_AUTOCAST_single,
    .outputs_min = 1, .integers_min = 0, .reals_min = 0,
    .pol = FIRN_POL_none, .cost = FIRN_COST_none, .begins = FIRN_BEGINS_nothing, .gathers = 0, .metric = 0, .buffers = 0,
    .reduced = 255, .inner = 0, .inner_flag = 255, .typed = 255, .factors = 255,
    .index_operand = 255, .index_table = 255, .index_from_end = 0, .index_attribute = 255};

const firn_op_info firn_op_row_equal = {
    .code = 177, .operands = operands_41, .inputs = 2, .inputs_min = 2, .inputs_max = 2,
    .outputs = 1, .integers = 0, .reals = 0, .reductions = 0, .in_place = 3, .autocast = FIRN_AUTOCAST_single,
    .outputs_min = 1, .integers_min = 0, .reals_min = 0,
    .pol = FIRN_POL_none, .cost = FIRN_COST_none, .begins = FIRN_BEGINS_nothing, .gathers = 0, .metric = 0, .buffers = 0,
    .reduced = 255, .inner = 0, .inner_flag = 255, .typed = 255, .factors = 255,
    .index_operand = 255, .index_table = 255, .index_from_end = 0, .index_attribute = 255};

static const firn_operand operands_42[] = {
    {.type = FIRN_TYPE_REAL, .form = FIRN_FORM_ANY, .changed = FIRN_FRESH},
    {.type = FIRN_TYPE_REAL, .form = FIRN_FORM_OWN, .changed = FIRN_FRESH},
    {.type = FIRN_TYPE_REAL, .form = FIRN_FORM_OWN, .changed = FIRN_FRESH},
    {.type = FIRN_TYPE_REAL, .form = FIRN_FORM_LIKE, .a = 0, .changed = FIRN_FRESH},
};
const firn_op_info firn_op_row_larger_share = {
    .code = 178, .operands = operands_42, .inputs = 3, .inputs_min = 3, .inputs_max = 3,
    .outputs = 1, .integers = 0, .reals = 0, .reductions = 0, .in_place = 7, .autocast = FIRN_AUTOCAST_fixed,
    .outputs_min = 1, .integers_min = 0, .reals_min = 0,
    .pol = FIRN_POL_none, .cost = FIRN_COST_none, .begins = FIRN_BEGINS_nothing, .gathers = 0, .metric = 0, .buffers = 0,
    .reduced = 255, .inner = 0, .inner_flag = 255, .typed = 255, .factors = 255,
    .index_operand = 255, .index_table = 255, .index_from_end = 0, .index_attribute = 255};

const firn_op_info firn_op_row_sum_to = {
    .code = 179, .operands = operands_4, .ranges = ranges_4, .inputs = 1, .inputs_min = 1, .inputs_max = 1,
    .outputs = 1, .integers = 8, .reals = 0, .reductions = 0, .in_place = 0, .autocast = FIRN_AUTOCAST_fixed,
    .outputs_min = 1, .integers_min = 8, .reals_min = 0,
    .pol = FIRN_POL_none, .cost = FIRN_COST_none, .begins = FIRN_BEGINS_nothing, .gathers = 0, .metric = 0, .buffers = 0,
    .reduced = 255, .inner = 0, .inner_flag = 255, .typed = 255, .factors = 255,
    .index_operand = 255, .index_table = 255, .index_from_end = 0, .index_attribute = 255};

const firn_op_info firn_op_row_exp = {
    .code = 180, .operands = operands_0, .inputs = 1, .inputs_min = 1, .inputs_max = 1,
    .outputs = 1, .integers = 0, .reals = 0, .reductions = 0, .in_place = 1, .autocast = FIRN_AUTOCAST_single,
    .outputs_min = 1, .integers_min = 0, .reals_min = 0,
    .pol = FIRN_POL_none, .cost = FIRN_COST_none, .begins = FIRN_BEGINS_nothing, .gathers = 0, .metric = 0, .buffers = 0,
    .reduced = 255, .inner = 0, .inner_flag = 255, .typed = 255, .factors = 255,
    .index_operand = 255, .index_table = 255, .index_from_end = 0, .index_attribute = 255};

const firn_op_info firn_op_row_log = {
    .code = 181, .operands = operands_0, .inputs = 1, .inputs_min = 1, .inputs_max = 1,
    .outputs = 1, .integers = 0, .reals = 0, .reductions = 0, .in_place = 1, .autocast = FIRN_AUTOCAST_single,
    .outputs_min = 1, .integers_min = 0, .reals_min = 0,
    .pol = FIRN_POL_none, .cost = FIRN_COST_none, .begins = FIRN_BEGINS_nothing, .gathers = 0, .metric = 0, .buffers = 0,
    .reduced = 255, .inner = 0, .inner_flag = 255, .typed = 255, .factors = 255,
    .index_operand = 255, .index_table = 255, .index_from_end = 0, .index_attribute = 255};

const firn_op_info firn_op_row_sqrt = {
    .code = 182, .operands = operands_0, .inputs = 1, .inputs_min = 1, .inputs_max = 1,
    .outputs = 1, .integers = 0, .reals = 0, .reductions = 0, .in_place = 1, .autocast = FIRN_AUTOCAST_follow,
    .outputs_min = 1, .integers_min = 0, .reals_min = 0,
    .pol = FIRN_POL_none, .cost = FIRN_COST_none, .begins = FIRN_BEGINS_nothing, .gathers = 0, .metric = 0, .buffers = 0,
    .reduced = 255, .inner = 0, .inner_flag = 255, .typed = 255, .factors = 255,
    .index_operand = 255, .index_table = 255, .index_from_end = 0, .index_attribute = 255};

const firn_op_info firn_op_row_reciprocal = {
    .code = 183, .operands = operands_0, .inputs = 1, .inputs_min = 1, .inputs_max = 1,
    .outputs = 1, .integers = 0, .reals = 0, .reductions = 0, .in_place = 1, .autocast = FIRN_AUTOCAST_single,
    .outputs_min = 1, .integers_min = 0, .reals_min = 0,
    .pol = FIRN_POL_none, .cost = FIRN_COST_none, .begins = FIRN_BEGINS_nothing, .gathers = 0, .metric = 0, .buffers = 0,
    .reduced = 255, .inner = 0, .inner_flag = 255, .typed = 255, .factors = 255,
    .index_operand = 255, .index_table = 255, .index_from_end = 0, .index_attribute = 255};

const firn_op_info firn_op_row_erf = {
    .code = 184, .operands = operands_0, .inputs = 1, .inputs_min = 1, .inputs_max = 1,
    .outputs = 1, .integers = 0, .reals = 0, .reductions = 0, .in_place = 1, .autocast = FIRN_AUTOCAST_follow,
    .outputs_min = 1, .integers_min = 0, .reals_min = 0,
    .pol = FIRN_POL_none, .cost = FIRN_COST_none, .begins = FIRN_BEGINS_nothing, .gathers = 0, .metric = 0, .buffers = 0,
    .reduced = 255, .inner = 0, .inner_flag = 255, .typed = 255, .factors = 255,
    .index_operand = 255, .index_table = 255, .index_from_end = 0, .index_attribute = 255};

const firn_op_info firn_op_row_erf_backward = {
    .code = 185, .operands = operands_30, .inputs = 2, .inputs_min = 2, .inputs_max = 2,
    .outputs = 1, .integers = 0, .reals = 0, .reductions = 0, .in_place = 3, .autocast = FIRN_AUTOCAST_fixed,
    .outputs_min = 1, .integers_min = 0, .reals_min = 0,
    .pol = FIRN_POL_none, .cost = FIRN_COST_none, .begins = FIRN_BEGINS_nothing, .gathers = 0, .metric = 0, .buffers = 0,
    .reduced = 255, .inner = 0, .inner_flag = 255, .typed = 255, .factors = 255,
    .index_operand = 255, .index_table = 255, .index_from_end = 0, .index_attribute = 255};

const firn_op_info firn_op_row_abs = {
    .code = 186, .operands = operands_0, .inputs = 1, .inputs_min = 1, .inputs_max = 1,
    .outputs = 1, .integers = 0, .reals = 0, .reductions = 0, .in_place = 1, .autocast = FIRN_AUTOCAST_follow,
    .outputs_min = 1, .integers_min = 0, .reals_min = 0,
    .pol = FIRN_POL_none, .cost = FIRN_COST_none, .begins = FIRN_BEGINS_nothing, .gathers = 0, .metric = 0, .buffers = 0,
    .reduced = 255, .inner = 0, .inner_flag = 255, .typed = 255, .factors = 255,
    .index_operand = 255, .index_table = 255, .index_from_end = 0, .index_attribute = 255};

static const uint8_t ranges_18[] = {
    FIRN_RANGE_FINITE,
    FIRN_RANGE_FINITE,
};
const firn_op_info firn_op_row_clip = {
    .code = 187, .operands = operands_0, .ranges = ranges_18, .inputs = 1, .inputs_min = 1, .inputs_max = 1,
    .outputs = 1, .integers = 0, .reals = 2, .reductions = 0, .in_place = 1, .autocast = FIRN_AUTOCAST_follow,
    .outputs_min = 1, .integers_min = 0, .reals_min = 2,
    .pol = FIRN_POL_none, .cost = FIRN_COST_none, .begins = FIRN_BEGINS_nothing, .gathers = 0, .metric = 0, .buffers = 0,
    .reduced = 255, .inner = 0, .inner_flag = 255, .typed = 255, .factors = 255,
    .index_operand = 255, .index_table = 255, .index_from_end = 0, .index_attribute = 255};

const firn_op_info firn_op_row_clip_backward = {
    .code = 188, .operands = operands_30, .ranges = ranges_18, .inputs = 2, .inputs_min = 2, .inputs_max = 2,
    .outputs = 1, .integers = 0, .reals = 2, .reductions = 0, .in_place = 3, .autocast = FIRN_AUTOCAST_fixed,
    .outputs_min = 1, .integers_min = 0, .reals_min = 2,
    .pol = FIRN_POL_none, .cost = FIRN_COST_none, .begins = FIRN_BEGINS_nothing, .gathers = 0, .metric = 0, .buffers = 0,
    .reduced = 255, .inner = 0, .inner_flag = 255, .typed = 255, .factors = 255,
    .index_operand = 255, .index_table = 255, .index_from_end = 0, .index_attribute = 255};

const firn_op_info firn_op_row_affine = {
    .code = 189, .operands = operands_0, .ranges = ranges_18, .inputs = 1, .inputs_min = 1, .inputs_max = 1,
    .outputs = 1, .integers = 0, .reals = 2, .reductions = 0, .in_place = 1, .autocast = FIRN_AUTOCAST_follow,
    .outputs_min = 1, .integers_min = 0, .reals_min = 2,
    .pol = FIRN_POL_none, .cost = FIRN_COST_none, .begins = FIRN_BEGINS_nothing, .gathers = 0, .metric = 0, .buffers = 0,
    .reduced = 255, .inner = 0, .inner_flag = 255, .typed = 255, .factors = 255,
    .index_operand = 255, .index_table = 255, .index_from_end = 0, .index_attribute = 255};

static const uint8_t ranges_19[] = {
    FIRN_RANGE_FINITE,
};
const firn_op_info firn_op_row_leaky_relu = {
    .code = 190, .operands = operands_0, .ranges = ranges_19, .inputs = 1, .inputs_min = 1, .inputs_max = 1,
    .outputs = 1, .integers = 0, .reals = 1, .reductions = 0, .in_place = 1, .autocast = FIRN_AUTOCAST_follow,
    .outputs_min = 1, .integers_min = 0, .reals_min = 1,
    .pol = FIRN_POL_none, .cost = FIRN_COST_none, .begins = FIRN_BEGINS_nothing, .gathers = 0, .metric = 0, .buffers = 0,
    .reduced = 255, .inner = 0, .inner_flag = 255, .typed = 255, .factors = 255,
    .index_operand = 255, .index_table = 255, .index_from_end = 0, .index_attribute = 255};

const firn_op_info firn_op_row_leaky_relu_backward = {
    .code = 191, .operands = operands_30, .ranges = ranges_19, .inputs = 2, .inputs_min = 2, .inputs_max = 2,
    .outputs = 1, .integers = 0, .reals = 1, .reductions = 0, .in_place = 3, .autocast = FIRN_AUTOCAST_fixed,
    .outputs_min = 1, .integers_min = 0, .reals_min = 1,
    .pol = FIRN_POL_none, .cost = FIRN_COST_none, .begins = FIRN_BEGINS_nothing, .gathers = 0, .metric = 0, .buffers = 0,
    .reduced = 255, .inner = 0, .inner_flag = 255, .typed = 255, .factors = 255,
    .index_operand = 255, .index_table = 255, .index_from_end = 0, .index_attribute = 255};

const firn_op_info firn_op_row_elu = {
    .code = 192, .operands = operands_0, .ranges = ranges_19, .inputs = 1, .inputs_min = 1, .inputs_max = 1,
    .outputs = 1, .integers = 0, .reals = 1, .reductions = 0, .in_place = 1, .autocast = FIRN_AUTOCAST_follow,
    .outputs_min = 1, .integers_min = 0, .reals_min = 1,
    .pol = FIRN_POL_none, .cost = FIRN_COST_none, .begins = FIRN_BEGINS_nothing, .gathers = 0, .metric = 0, .buffers = 0,
    .reduced = 255, .inner = 0, .inner_flag = 255, .typed = 255, .factors = 255,
    .index_operand = 255, .index_table = 255, .index_from_end = 0, .index_attribute = 255};

const firn_op_info firn_op_row_elu_backward = {
    .code = 193, .operands = operands_30, .ranges = ranges_19, .inputs = 2, .inputs_min = 2, .inputs_max = 2,
    .outputs = 1, .integers = 0, .reals = 1, .reductions = 0, .in_place = 3, .autocast = FIRN_AUTOCAST_fixed,
    .outputs_min = 1, .integers_min = 0, .reals_min = 1,
    .pol = FIRN_POL_none, .cost = FIRN_COST_none, .begins = FIRN_BEGINS_nothing, .gathers = 0, .metric = 0, .buffers = 0,
    .reduced = 255, .inner = 0, .inner_flag = 255, .typed = 255, .factors = 255,
    .index_operand = 255, .index_table = 255, .index_from_end = 0, .index_attribute = 255};

const firn_op_info firn_op_row_power = {
    .code = 194, .operands = operands_39, .inputs = 2, .inputs_min = 2, .inputs_max = 2,
    .outputs = 1, .integers = 0, .reals = 0, .reductions = 0, .in_place = 3, .autocast = FIRN_AUTOCAST_single,
    .outputs_min = 1, .integers_min = 0, .reals_min = 0,
    .pol = FIRN_POL_none, .cost = FIRN_COST_none, .begins = FIRN_BEGINS_nothing, .gathers = 0, .metric = 0, .buffers = 0,
    .reduced = 255, .inner = 0, .inner_flag = 255, .typed = 255, .factors = 255,
    .index_operand = 255, .index_table = 255, .index_from_end = 0, .index_attribute = 255};

const firn_op_info firn_op_row_power_backward = {
    .code = 195, .operands = operands_42, .inputs = 3, .inputs_min = 3, .inputs_max = 3,
    .outputs = 1, .integers = 0, .reals = 0, .reductions = 0, .in_place = 7, .autocast = FIRN_AUTOCAST_fixed,
    .outputs_min = 1, .integers_min = 0, .reals_min = 0,
    .pol = FIRN_POL_none, .cost = FIRN_COST_none, .begins = FIRN_BEGINS_nothing, .gathers = 0, .metric = 0, .buffers = 0,
    .reduced = 255, .inner = 0, .inner_flag = 255, .typed = 255, .factors = 255,
    .index_operand = 255, .index_table = 255, .index_from_end = 0, .index_attribute = 255};

static const firn_operand operands_43[] = {
    {.type = FIRN_TYPE_REAL, .form = FIRN_FORM_ANY, .changed = FIRN_FRESH},
    {.type = FIRN_INT32, .form = FIRN_FORM_LIKE, .a = 0, .changed = FIRN_FRESH},
};
const firn_op_info firn_op_row_to_int32 = {
    .code = 196, .operands = operands_43, .inputs = 1, .inputs_min = 1, .inputs_max = 1,
    .outputs = 1, .integers = 0, .reals = 0, .reductions = 0, .in_place = 0, .autocast = FIRN_AUTOCAST_single,
    .outputs_min = 1, .integers_min = 0, .reals_min = 0,
    .pol = FIRN_POL_none, .cost = FIRN_COST_none, .begins = FIRN_BEGINS_nothing, .gathers = 0, .metric = 0, .buffers = 0,
    .reduced = 255, .inner = 0, .inner_flag = 255, .typed = 255, .factors = 255,
    .index_operand = 255, .index_table = 255, .index_from_end = 0, .index_attribute = 255};

static const firn_operand operands_44[] = {
    {.type = FIRN_INT32, .form = FIRN_FORM_ANY, .changed = FIRN_FRESH},
    {.type = FIRN_FLOAT32, .form = FIRN_FORM_LIKE, .a = 0, .changed = FIRN_FRESH},
};
const firn_op_info firn_op_row_to_float32 = {
    .code = 197, .operands = operands_44, .inputs = 1, .inputs_min = 1, .inputs_max = 1,
    .outputs = 1, .integers = 0, .reals = 0, .reductions = 0, .in_place = 0, .autocast = FIRN_AUTOCAST_single,
    .outputs_min = 1, .integers_min = 0, .reals_min = 0,
    .pol = FIRN_POL_none, .cost = FIRN_COST_none, .begins = FIRN_BEGINS_nothing, .gathers = 0, .metric = 0, .buffers = 0,
    .reduced = 255, .inner = 0, .inner_flag = 255, .typed = 255, .factors = 255,
    .index_operand = 255, .index_table = 255, .index_from_end = 0, .index_attribute = 255};

const firn_op_info firn_op_row_sign = {
    .code = 198, .operands = operands_0, .inputs = 1, .inputs_min = 1, .inputs_max = 1,
    .outputs = 1, .integers = 0, .reals = 0, .reductions = 0, .in_place = 1, .autocast = FIRN_AUTOCAST_follow,
    .outputs_min = 1, .integers_min = 0, .reals_min = 0,
    .pol = FIRN_POL_none, .cost = FIRN_COST_none, .begins = FIRN_BEGINS_nothing, .gathers = 0, .metric = 0, .buffers = 0,
    .reduced = 255, .inner = 0, .inner_flag = 255, .typed = 255, .factors = 255,
    .index_operand = 255, .index_table = 255, .index_from_end = 0, .index_attribute = 255};

const firn_op_info firn_op_row_floor = {
    .code = 199, .operands = operands_0, .inputs = 1, .inputs_min = 1, .inputs_max = 1,
    .outputs = 1, .integers = 0, .reals = 0, .reductions = 0, .in_place = 1, .autocast = FIRN_AUTOCAST_follow,
    .outputs_min = 1, .integers_min = 0, .reals_min = 0,
    .pol = FIRN_POL_none, .cost = FIRN_COST_none, .begins = FIRN_BEGINS_nothing, .gathers = 0, .metric = 0, .buffers = 0,
    .reduced = 255, .inner = 0, .inner_flag = 255, .typed = 255, .factors = 255,
    .index_operand = 255, .index_table = 255, .index_from_end = 0, .index_attribute = 255};

const firn_op_info firn_op_row_sin = {
    .code = 263, .operands = operands_0, .inputs = 1, .inputs_min = 1, .inputs_max = 1,
    .outputs = 1, .integers = 0, .reals = 0, .reductions = 0, .in_place = 1, .autocast = FIRN_AUTOCAST_single,
    .outputs_min = 1, .integers_min = 0, .reals_min = 0,
    .pol = FIRN_POL_none, .cost = FIRN_COST_none, .begins = FIRN_BEGINS_nothing, .gathers = 0, .metric = 0, .buffers = 0,
    .reduced = 255, .inner = 0, .inner_flag = 255, .typed = 255, .factors = 255,
    .index_operand = 255, .index_table = 255, .index_from_end = 0, .index_attribute = 255};

const firn_op_info firn_op_row_cos = {
    .code = 264, .operands = operands_0, .inputs = 1, .inputs_min = 1, .inputs_max = 1,
    .outputs = 1, .integers = 0, .reals = 0, .reductions = 0, .in_place = 1, .autocast = FIRN_AUTOCAST_single,
    .outputs_min = 1, .integers_min = 0, .reals_min = 0,
    .pol = FIRN_POL_none, .cost = FIRN_COST_none, .begins = FIRN_BEGINS_nothing, .gathers = 0, .metric = 0, .buffers = 0,
    .reduced = 255, .inner = 0, .inner_flag = 255, .typed = 255, .factors = 255,
    .index_operand = 255, .index_table = 255, .index_from_end = 0, .index_attribute = 255};

const firn_op_info firn_op_row_atan = {
    .code = 265, .operands = operands_0, .inputs = 1, .inputs_min = 1, .inputs_max = 1,
    .outputs = 1, .integers = 0, .reals = 0, .reductions = 0, .in_place = 1, .autocast = FIRN_AUTOCAST_single,
    .outputs_min = 1, .integers_min = 0, .reals_min = 0,
    .pol = FIRN_POL_none, .cost = FIRN_COST_none, .begins = FIRN_BEGINS_nothing, .gathers = 0, .metric = 0, .buffers = 0,
    .reduced = 255, .inner = 0, .inner_flag = 255, .typed = 255, .factors = 255,
    .index_operand = 255, .index_table = 255, .index_from_end = 0, .index_attribute = 255};

const firn_op_info firn_op_row_log_one_plus = {
    .code = 266, .operands = operands_0, .inputs = 1, .inputs_min = 1, .inputs_max = 1,
    .outputs = 1, .integers = 0, .reals = 0, .reductions = 0, .in_place = 1, .autocast = FIRN_AUTOCAST_single,
    .outputs_min = 1, .integers_min = 0, .reals_min = 0,
    .pol = FIRN_POL_none, .cost = FIRN_COST_none, .begins = FIRN_BEGINS_nothing, .gathers = 0, .metric = 0, .buffers = 0,
    .reduced = 255, .inner = 0, .inner_flag = 255, .typed = 255, .factors = 255,
    .index_operand = 255, .index_table = 255, .index_from_end = 0, .index_attribute = 255};

const firn_op_info firn_op_row_round = {
    .code = 267, .operands = operands_0, .inputs = 1, .inputs_min = 1, .inputs_max = 1,
    .outputs = 1, .integers = 0, .reals = 0, .reductions = 0, .in_place = 1, .autocast = FIRN_AUTOCAST_follow,
    .outputs_min = 1, .integers_min = 0, .reals_min = 0,
    .pol = FIRN_POL_none, .cost = FIRN_COST_none, .begins = FIRN_BEGINS_nothing, .gathers = 0, .metric = 0, .buffers = 0,
    .reduced = 255, .inner = 0, .inner_flag = 255, .typed = 255, .factors = 255,
    .index_operand = 255, .index_table = 255, .index_from_end = 0, .index_attribute = 255};

static const firn_operand operands_45[] = {
    {.type = FIRN_TYPE_REAL, .form = FIRN_FORM_ANY, .changed = FIRN_FRESH},
    {.type = FIRN_FLOAT32, .form = FIRN_FORM_OWN, .changed = FIRN_FRESH},
    {.type = FIRN_FLOAT32, .form = FIRN_FORM_OWN, .changed = FIRN_FRESH},
    {.type = FIRN_TYPE_REAL, .form = FIRN_FORM_LIKE, .a = 0, .changed = FIRN_FRESH},
};
const firn_op_info firn_op_row_fake_quantize = {
    .code = 268, .operands = operands_45, .ranges = ranges_18, .inputs = 3, .inputs_min = 3, .inputs_max = 3,
    .outputs = 1, .integers = 0, .reals = 2, .reductions = 0, .in_place = 1, .autocast = FIRN_AUTOCAST_follow,
    .outputs_min = 1, .integers_min = 0, .reals_min = 2,
    .pol = FIRN_POL_none, .cost = FIRN_COST_none, .begins = FIRN_BEGINS_nothing, .gathers = 0, .metric = 0, .buffers = 0,
    .reduced = 255, .inner = 0, .inner_flag = 255, .typed = 255, .factors = 255,
    .index_operand = 255, .index_table = 255, .index_from_end = 0, .index_attribute = 255};

static const firn_operand operands_46[] = {
    {.type = FIRN_TYPE_REAL, .form = FIRN_FORM_ANY, .changed = FIRN_FRESH},
    {.type = FIRN_TYPE_REAL, .form = FIRN_FORM_LIKE, .a = 0, .changed = FIRN_FRESH},
    {.type = FIRN_FLOAT32, .form = FIRN_FORM_OWN, .changed = FIRN_FRESH},
    {.type = FIRN_FLOAT32, .form = FIRN_FORM_OWN, .changed = FIRN_FRESH},
    {.type = FIRN_TYPE_REAL, .form = FIRN_FORM_LIKE, .a = 0, .changed = FIRN_FRESH},
};
const firn_op_info firn_op_row_fake_quantize_backward = {
    .code = 269, .operands = operands_46, .ranges = ranges_18, .inputs = 4, .inputs_min = 4, .inputs_max = 4,
    .outputs = 1, .integers = 0, .reals = 2, .reductions = 0, .in_place = 3, .autocast = FIRN_AUTOCAST_fixed,
    .outputs_min = 1, .integers_min = 0, .reals_min = 2,
    .pol = FIRN_POL_none, .cost = FIRN_COST_none, .begins = FIRN_BEGINS_nothing, .gathers = 0, .metric = 0, .buffers = 0,
    .reduced = 255, .inner = 0, .inner_flag = 255, .typed = 255, .factors = 255,
    .index_operand = 255, .index_table = 255, .index_from_end = 0, .index_attribute = 255};

static const firn_operand operands_47[] = {
    {.type = FIRN_TYPE_REAL, .form = FIRN_FORM_ANY, .changed = FIRN_FRESH},
    {.type = FIRN_FLOAT32, .form = FIRN_FORM_LIKE, .a = 0, .changed = FIRN_FRESH},
};
static const uint8_t ranges_20[] = {
    FIRN_RANGE_RNG_ID,
};
const firn_op_info firn_op_row_random_uniform = {
    .code = 271, .operands = operands_47, .ranges = ranges_20, .inputs = 1, .inputs_min = 1, .inputs_max = 1,
    .outputs = 1, .integers = 1, .reals = 0, .reductions = 0, .in_place = 0, .autocast = FIRN_AUTOCAST_single,
    .outputs_min = 1, .integers_min = 1, .reals_min = 0,
    .pol = FIRN_POL_none, .cost = FIRN_COST_none, .begins = FIRN_BEGINS_nothing, .gathers = 0, .metric = 0, .buffers = 0,
    .reduced = 255, .inner = 0, .inner_flag = 255, .typed = 255, .factors = 255,
    .index_operand = 255, .index_table = 255, .index_from_end = 0, .index_attribute = 255};

const firn_op_info firn_op_row_random_normal = {
    .code = 272, .operands = operands_47, .ranges = ranges_20, .inputs = 1, .inputs_min = 1, .inputs_max = 1,
    .outputs = 1, .integers = 1, .reals = 0, .reductions = 0, .in_place = 0, .autocast = FIRN_AUTOCAST_single,
    .outputs_min = 1, .integers_min = 1, .reals_min = 0,
    .pol = FIRN_POL_none, .cost = FIRN_COST_none, .begins = FIRN_BEGINS_nothing, .gathers = 0, .metric = 0, .buffers = 0,
    .reduced = 255, .inner = 0, .inner_flag = 255, .typed = 255, .factors = 255,
    .index_operand = 255, .index_table = 255, .index_from_end = 0, .index_attribute = 255};

static const firn_operand operands_48[] = {
    {.type = FIRN_TYPE_REAL, .form = FIRN_FORM_OWN, .changed = FIRN_FRESH},
    {.type = FIRN_TYPE_OF_INPUT + 0, .form = FIRN_FORM_OWN, .changed = FIRN_FRESH},
    {.type = FIRN_TYPE_REAL, .form = FIRN_FORM_OWN, .changed = FIRN_FRESH, .optional = true},
    {.type = FIRN_TYPE_REAL, .form = FIRN_FORM_OWN, .changed = FIRN_FRESH},
};
static const uint8_t ranges_21[] = {
    FIRN_RANGE_EXTENT,
    FIRN_RANGE_PAIR,
    FIRN_RANGE_PAIR,
    FIRN_RANGE_PAIR,
    FIRN_RANGE_PAIR,
};
const firn_op_info firn_op_row_conv = {
    .code = 160, .operands = operands_48, .ranges = ranges_21, .inputs = 3, .inputs_min = 2, .inputs_max = 3,
    .outputs = 1, .integers = 5, .reals = 0, .reductions = 1, .in_place = 0, .autocast = FIRN_AUTOCAST_half,
    .outputs_min = 1, .integers_min = 5, .reals_min = 0,
    .pol = FIRN_POL_product, .cost = FIRN_COST_convolution, .begins = FIRN_BEGINS_nothing, .gathers = 0, .metric = 0, .buffers = 0,
    .reduced = 0, .inner = 0, .inner_flag = 255, .typed = 255, .factors = 255,
    .index_operand = 255, .index_table = 255, .index_from_end = 0, .index_attribute = 255};

static const uint8_t ranges_22[] = {
    FIRN_RANGE_EXTENT,
    FIRN_RANGE_PAIR,
    FIRN_RANGE_PAIR,
    FIRN_RANGE_PAIR,
    FIRN_RANGE_PAIR,
    FIRN_RANGE_EXTENT,
    FIRN_RANGE_EXTENT,
};
const firn_op_info firn_op_row_conv_backward_input = {
    .code = 161, .operands = operands_38, .ranges = ranges_22, .inputs = 2, .inputs_min = 2, .inputs_max = 2,
    .outputs = 1, .integers = 7, .reals = 0, .reductions = 1, .in_place = 0, .autocast = FIRN_AUTOCAST_fixed,
    .outputs_min = 1, .integers_min = 7, .reals_min = 0,
    .pol = FIRN_POL_product, .cost = FIRN_COST_convolution_of_input, .begins = FIRN_BEGINS_nothing, .gathers = 0, .metric = 0, .buffers = 0,
    .reduced = 0, .inner = 0, .inner_flag = 255, .typed = 255, .factors = 255,
    .index_operand = 255, .index_table = 255, .index_from_end = 0, .index_attribute = 255};

static const uint8_t ranges_23[] = {
    FIRN_RANGE_EXTENT,
    FIRN_RANGE_PAIR,
    FIRN_RANGE_PAIR,
    FIRN_RANGE_PAIR,
    FIRN_RANGE_PAIR,
    FIRN_RANGE_PAIR,
};
const firn_op_info firn_op_row_conv_backward_weight = {
    .code = 162, .operands = operands_38, .ranges = ranges_23, .inputs = 2, .inputs_min = 2, .inputs_max = 2,
    .outputs = 1, .integers = 6, .reals = 0, .reductions = 1, .in_place = 0, .autocast = FIRN_AUTOCAST_fixed,
    .outputs_min = 1, .integers_min = 6, .reals_min = 0,
    .pol = FIRN_POL_product, .cost = FIRN_COST_convolution_of_weight, .begins = FIRN_BEGINS_nothing, .gathers = 0, .metric = 0, .buffers = 0,
    .reduced = 0, .inner = 0, .inner_flag = 255, .typed = 255, .factors = 255,
    .index_operand = 255, .index_table = 255, .index_from_end = 0, .index_attribute = 255};

static const uint8_t ranges_24[] = {
    FIRN_RANGE_PAIR,
    FIRN_RANGE_PAIR,
    FIRN_RANGE_PAIR,
    FIRN_RANGE_PAIR,
    FIRN_RANGE_PAIR,
};
const firn_op_info firn_op_row_max_pool = {
    .code = 163, .operands = operands_33, .ranges = ranges_24, .inputs = 1, .inputs_min = 1, .inputs_max = 1,
    .outputs = 1, .integers = 5, .reals = 0, .reductions = 0, .in_place = 0, .autocast = FIRN_AUTOCAST_follow,
    .outputs_min = 1, .integers_min = 5, .reals_min = 0,
    .pol = FIRN_POL_none, .cost = FIRN_COST_none, .begins = FIRN_BEGINS_nothing, .gathers = 0, .metric = 0, .buffers = 0,
    .reduced = 255, .inner = 0, .inner_flag = 255, .typed = 255, .factors = 255,
    .index_operand = 255, .index_table = 255, .index_from_end = 0, .index_attribute = 255};

static const firn_operand operands_49[] = {
    {.type = FIRN_TYPE_REAL, .form = FIRN_FORM_OWN, .changed = FIRN_FRESH},
    {.type = FIRN_TYPE_REAL, .form = FIRN_FORM_OWN, .changed = FIRN_FRESH},
    {.type = FIRN_TYPE_REAL, .form = FIRN_FORM_LIKE, .a = 1, .changed = FIRN_FRESH},
};
const firn_op_info firn_op_row_max_pool_backward = {
    .code = 164, .operands = operands_49, .ranges = ranges_24, .inputs = 2, .inputs_min = 2, .inputs_max = 2,
    .outputs = 1, .integers = 5, .reals = 0, .reductions = 0, .in_place = 0, .autocast = FIRN_AUTOCAST_fixed,
    .outputs_min = 1, .integers_min = 5, .reals_min = 0,
    .pol = FIRN_POL_none, .cost = FIRN_COST_none, .begins = FIRN_BEGINS_nothing, .gathers = 0, .metric = 0, .buffers = 0,
    .reduced = 255, .inner = 0, .inner_flag = 255, .typed = 255, .factors = 255,
    .index_operand = 255, .index_table = 255, .index_from_end = 0, .index_attribute = 255};

static const uint8_t ranges_25[] = {
    FIRN_RANGE_PAIR,
    FIRN_RANGE_PAIR,
    FIRN_RANGE_PAIR,
    FIRN_RANGE_PAIR,
    FIRN_RANGE_PAIR,
    FIRN_RANGE_FLAG,
};
const firn_op_info firn_op_row_average_pool = {
    .code = 165, .operands = operands_33, .ranges = ranges_25, .inputs = 1, .inputs_min = 1, .inputs_max = 1,
    .outputs = 1, .integers = 6, .reals = 0, .reductions = 0, .in_place = 0, .autocast = FIRN_AUTOCAST_follow,
    .outputs_min = 1, .integers_min = 6, .reals_min = 0,
    .pol = FIRN_POL_none, .cost = FIRN_COST_none, .begins = FIRN_BEGINS_nothing, .gathers = 0, .metric = 0, .buffers = 0,
    .reduced = 255, .inner = 0, .inner_flag = 255, .typed = 255, .factors = 255,
    .index_operand = 255, .index_table = 255, .index_from_end = 0, .index_attribute = 255};

static const uint8_t ranges_26[] = {
    FIRN_RANGE_PAIR,
    FIRN_RANGE_PAIR,
    FIRN_RANGE_PAIR,
    FIRN_RANGE_PAIR,
    FIRN_RANGE_PAIR,
    FIRN_RANGE_FLAG,
    FIRN_RANGE_EXTENT,
    FIRN_RANGE_EXTENT,
};
const firn_op_info firn_op_row_average_pool_backward = {
    .code = 166, .operands = operands_33, .ranges = ranges_26, .inputs = 1, .inputs_min = 1, .inputs_max = 1,
    .outputs = 1, .integers = 8, .reals = 0, .reductions = 0, .in_place = 0, .autocast = FIRN_AUTOCAST_fixed,
    .outputs_min = 1, .integers_min = 8, .reals_min = 0,
    .pol = FIRN_POL_none, .cost = FIRN_COST_none, .begins = FIRN_BEGINS_nothing, .gathers = 0, .metric = 0, .buffers = 0,
    .reduced = 255, .inner = 0, .inner_flag = 255, .typed = 255, .factors = 255,
    .index_operand = 255, .index_table = 255, .index_from_end = 0, .index_attribute = 255};

static const firn_operand operands_50[] = {
    {.type = FIRN_TYPE_REAL, .form = FIRN_FORM_OWN, .changed = FIRN_FRESH},
    {.type = FIRN_FLOAT32, .form = FIRN_FORM_OWN, .changed = FIRN_FRESH, .optional = true},
    {.type = FIRN_TYPE_REAL, .form = FIRN_FORM_OWN, .changed = FIRN_FRESH},
    {.type = FIRN_FLOAT32, .form = FIRN_FORM_OWN, .changed = FIRN_FRESH},
    {.type = FIRN_FLOAT32, .form = FIRN_FORM_OWN, .changed = FIRN_FRESH},
    {.type = FIRN_FLOAT32, .form = FIRN_FORM_OWN, .changed = FIRN_FRESH, .scratch = true},
};
static const uint8_t ranges_27[] = {
    FIRN_RANGE_EXTENT,
    FIRN_RANGE_OWN,
    FIRN_RANGE_FLAG,
    FIRN_RANGE_FLAG,
    FIRN_RANGE_RNG_ID,
    FIRN_RANGE_INT31,
    FIRN_RANGE_POSITIVE,
    FIRN_RANGE_RATE,
};
const firn_op_info firn_op_row_attention = {
    .code = 21, .operands = operands_50, .ranges = ranges_27, .inputs = 2, .inputs_min = 1, .inputs_max = 2,
    .outputs = 4, .integers = 6, .reals = 2, .reductions = 2, .in_place = 0, .autocast = FIRN_AUTOCAST_half,
    .outputs_min = 4, .integers_min = 6, .reals_min = 2,
    .pol = FIRN_POL_attention, .cost = FIRN_COST_attention, .begins = FIRN_BEGINS_nothing, .gathers = 0, .metric = 0, .buffers = 0,
    .reduced = 0, .inner = 1, .inner_flag = 3, .typed = 255, .factors = 255,
    .index_operand = 255, .index_table = 255, .index_from_end = 0, .index_attribute = 255};

static const firn_operand operands_51[] = {
    {.type = FIRN_TYPE_OF_INPUT + 1, .form = FIRN_FORM_OWN, .changed = FIRN_FRESH},
    {.type = FIRN_TYPE_REAL, .form = FIRN_FORM_OWN, .changed = FIRN_FRESH},
    {.type = FIRN_FLOAT32, .form = FIRN_FORM_OWN, .changed = FIRN_FRESH},
    {.type = FIRN_FLOAT32, .form = FIRN_FORM_OWN, .changed = FIRN_FRESH},
    {.type = FIRN_FLOAT32, .form = FIRN_FORM_OWN, .changed = FIRN_FRESH, .optional = true},
    {.type = FIRN_TYPE_REAL, .form = FIRN_FORM_LIKE, .a = 1, .changed = FIRN_FRESH},
    {.type = FIRN_FLOAT32, .form = FIRN_FORM_OWN, .changed = FIRN_FRESH, .scratch = true},
};
const firn_op_info firn_op_row_attention_backward = {
    .code = 22, .operands = operands_51, .ranges = ranges_27, .inputs = 5, .inputs_min = 4, .inputs_max = 5,
    .outputs = 2, .integers = 6, .reals = 2, .reductions = 3, .in_place = 0, .autocast = FIRN_AUTOCAST_fixed,
    .outputs_min = 2, .integers_min = 6, .reals_min = 2,
    .pol = FIRN_POL_attention, .cost = FIRN_COST_attention_backward, .begins = FIRN_BEGINS_nothing, .gathers = 0, .metric = 0, .buffers = 0,
    .reduced = 1, .inner = 1, .inner_flag = 3, .typed = 255, .factors = 255,
    .index_operand = 255, .index_table = 255, .index_from_end = 0, .index_attribute = 255};

static const firn_operand operands_52[] = {
    {.type = FIRN_TYPE_REAL, .form = FIRN_FORM_OWN, .changed = FIRN_FRESH},
    {.type = FIRN_TYPE_OF_INPUT + 0, .form = FIRN_FORM_OWN, .changed = FIRN_FRESH},
    {.type = FIRN_TYPE_OF_INPUT + 0, .form = FIRN_FORM_OWN, .changed = FIRN_FRESH},
    {.type = FIRN_FLOAT32, .form = FIRN_FORM_OWN, .changed = FIRN_FRESH, .optional = true},
    {.type = FIRN_FLOAT32, .form = FIRN_FORM_OWN, .changed = FIRN_FRESH, .optional = true},
    {.type = FIRN_TYPE_REAL, .form = FIRN_FORM_OWN, .changed = FIRN_FRESH},
    {.type = FIRN_FLOAT32, .form = FIRN_FORM_OWN, .changed = FIRN_FRESH},
    {.type = FIRN_FLOAT32, .form = FIRN_FORM_OWN, .changed = FIRN_FRESH},
    {.type = FIRN_FLOAT32, .form = FIRN_FORM_OWN, .changed = FIRN_FRESH, .scratch = true},
};
const firn_op_info firn_op_row_cross_attention = {
    .code = 227, .operands = operands_52, .ranges = ranges_27, .inputs = 5, .inputs_min = 3, .inputs_max = 5,
    .outputs = 4, .integers = 6, .reals = 2, .reductions = 2, .in_place = 0, .autocast = FIRN_AUTOCAST_half,
    .outputs_min = 4, .integers_min = 6, .reals_min = 2,
    .pol = FIRN_POL_attention, .cost = FIRN_COST_cross_attention, .begins = FIRN_BEGINS_nothing, .gathers = 0, .metric = 0, .buffers = 0,
    .reduced = 0, .inner = 1, .inner_flag = 3, .typed = 255, .factors = 255,
    .index_operand = 255, .index_table = 255, .index_from_end = 0, .index_attribute = 255};

static const firn_operand operands_53[] = {
    {.type = FIRN_TYPE_OF_INPUT + 1, .form = FIRN_FORM_OWN, .changed = FIRN_FRESH},
    {.type = FIRN_TYPE_REAL, .form = FIRN_FORM_OWN, .changed = FIRN_FRESH},
    {.type = FIRN_TYPE_OF_INPUT + 1, .form = FIRN_FORM_OWN, .changed = FIRN_FRESH},
    {.type = FIRN_TYPE_OF_INPUT + 1, .form = FIRN_FORM_OWN, .changed = FIRN_FRESH},
    {.type = FIRN_FLOAT32, .form = FIRN_FORM_OWN, .changed = FIRN_FRESH},
    {.type = FIRN_FLOAT32, .form = FIRN_FORM_OWN, .changed = FIRN_FRESH},
    {.type = FIRN_FLOAT32, .form = FIRN_FORM_OWN, .changed = FIRN_FRESH, .optional = true},
    {.type = FIRN_FLOAT32, .form = FIRN_FORM_OWN, .changed = FIRN_FRESH, .optional = true},
    {.type = FIRN_TYPE_REAL, .form = FIRN_FORM_LIKE, .a = 1, .changed = FIRN_FRESH},
    {.type = FIRN_TYPE_REAL, .form = FIRN_FORM_LIKE, .a = 2, .changed = FIRN_FRESH},
    {.type = FIRN_TYPE_REAL, .form = FIRN_FORM_LIKE, .a = 3, .changed = FIRN_FRESH},
    {.type = FIRN_FLOAT32, .form = FIRN_FORM_OWN, .changed = FIRN_FRESH, .scratch = true},
};
const firn_op_info firn_op_row_cross_attention_backward = {
    .code = 228, .operands = operands_53, .ranges = ranges_27, .inputs = 8, .inputs_min = 6, .inputs_max = 8,
    .outputs = 4, .integers = 6, .reals = 2, .reductions = 3, .in_place = 0, .autocast = FIRN_AUTOCAST_fixed,
    .outputs_min = 4, .integers_min = 6, .reals_min = 2,
    .pol = FIRN_POL_attention, .cost = FIRN_COST_cross_attention_backward, .begins = FIRN_BEGINS_nothing, .gathers = 0, .metric = 0, .buffers = 0,
    .reduced = 1, .inner = 1, .inner_flag = 3, .typed = 255, .factors = 255,
    .index_operand = 255, .index_table = 255, .index_from_end = 0, .index_attribute = 255};

static const firn_operand operands_54[] = {
    {.type = FIRN_TYPE_REAL, .form = FIRN_FORM_OWN, .changed = FIRN_FRESH},
    {.type = FIRN_TYPE_OF_INPUT + 0, .form = FIRN_FORM_OWN, .changed = FIRN_FRESH},
    {.type = FIRN_INT64, .form = FIRN_FORM_VECTOR, .a = 1, .b = 1, .changed = FIRN_FRESH},
    {.type = FIRN_FLOAT32, .form = FIRN_FORM_OWN, .changed = FIRN_FRESH, .optional = true},
    {.type = FIRN_TYPE_OF_INPUT + 1, .form = FIRN_FORM_LIKE, .a = 1, .changed = 1},
    {.type = FIRN_TYPE_OF_INPUT + 0, .form = FIRN_FORM_OWN, .changed = FIRN_FRESH},
    {.type = FIRN_FLOAT32, .form = FIRN_FORM_OWN, .changed = FIRN_FRESH, .scratch = true},
};
static const uint8_t ranges_28[] = {
    FIRN_RANGE_EXTENT,
    FIRN_RANGE_OWN,
    FIRN_RANGE_FLAG,
    FIRN_RANGE_POSITIVE,
};
const firn_op_info firn_op_row_cached_attention = {
    .code = 276, .operands = operands_54, .ranges = ranges_28, .inputs = 4, .inputs_min = 3, .inputs_max = 4,
    .outputs = 3, .integers = 3, .reals = 1, .reductions = 2, .in_place = 2, .autocast = FIRN_AUTOCAST_fixed,
    .outputs_min = 3, .integers_min = 3, .reals_min = 1,
    .pol = FIRN_POL_attention, .cost = FIRN_COST_cached_attention, .begins = FIRN_BEGINS_nothing, .gathers = 0, .metric = 0, .buffers = 0,
    .reduced = 0, .inner = 1, .inner_flag = 2, .typed = 255, .factors = 255,
    .index_operand = 255, .index_table = 255, .index_from_end = 0, .index_attribute = 255};

static const firn_operand operands_55[] = {
    {.type = FIRN_INT64, .form = FIRN_FORM_VECTOR, .a = 1, .b = 1, .changed = FIRN_FRESH},
    {.type = FIRN_INT32, .form = FIRN_FORM_VECTOR, .a = 1, .b = 1, .changed = FIRN_FRESH},
    {.type = FIRN_TYPE_OF_INPUT + 0, .form = FIRN_FORM_LIKE, .a = 0, .changed = 0},
};
const firn_op_info firn_op_row_advance = {
    .code = 277, .operands = operands_55, .ranges = ranges_3, .inputs = 2, .inputs_min = 2, .inputs_max = 2,
    .outputs = 1, .integers = 1, .reals = 0, .reductions = 0, .in_place = 1, .autocast = FIRN_AUTOCAST_fixed,
    .outputs_min = 1, .integers_min = 1, .reals_min = 0,
    .pol = FIRN_POL_none, .cost = FIRN_COST_none, .begins = FIRN_BEGINS_nothing, .gathers = 0, .metric = 0, .buffers = 0,
    .reduced = 255, .inner = 0, .inner_flag = 255, .typed = 255, .factors = 255,
    .index_operand = 255, .index_table = 255, .index_from_end = 0, .index_attribute = 255};

static const firn_operand operands_56[] = {
    {.type = FIRN_TYPE_REAL, .form = FIRN_FORM_ROWS, .a = FIRN_EXTENT_LETTER + 0, .changed = FIRN_FRESH},
    {.type = FIRN_INT64, .form = FIRN_FORM_VECTOR, .a = 1, .b = 1, .changed = FIRN_FRESH, .optional = true},
    {.type = FIRN_TYPE_REAL, .form = FIRN_FORM_LIKE, .a = 0, .changed = FIRN_FRESH},
};
static const uint8_t ranges_29[] = {
    FIRN_RANGE_TYPE,
    FIRN_RANGE_EXTENT,
    FIRN_RANGE_OWN,
    FIRN_RANGE_OWN,
    FIRN_RANGE_FLAG,
    FIRN_RANGE_OWN,
};
const firn_op_info firn_op_row_rotary_embedding = {
    .code = 144, .operands = operands_56, .ranges = ranges_29, .inputs = 2, .inputs_min = 1, .inputs_max = 2,
    .outputs = 1, .integers = 5, .reals = 1, .reductions = 0, .in_place = 1, .autocast = FIRN_AUTOCAST_norm,
    .outputs_min = 1, .integers_min = 5, .reals_min = 1,
    .pol = FIRN_POL_rotation, .cost = FIRN_COST_none, .begins = FIRN_BEGINS_nothing, .gathers = 0, .metric = 0, .buffers = 0,
    .reduced = 255, .inner = 0, .inner_flag = 255, .typed = 0, .factors = 255,
    .index_operand = 255, .index_table = 255, .index_from_end = 0, .index_attribute = 255};

const firn_op_info firn_op_row_rotary_embedding_backward = {
    .code = 145, .operands = operands_31, .ranges = ranges_29, .inputs = 1, .inputs_min = 1, .inputs_max = 1,
    .outputs = 1, .integers = 5, .reals = 1, .reductions = 0, .in_place = 1, .autocast = FIRN_AUTOCAST_fixed,
    .outputs_min = 1, .integers_min = 5, .reals_min = 1,
    .pol = FIRN_POL_rotation, .cost = FIRN_COST_none, .begins = FIRN_BEGINS_nothing, .gathers = 0, .metric = 0, .buffers = 0,
    .reduced = 255, .inner = 0, .inner_flag = 255, .typed = 0, .factors = 255,
    .index_operand = 255, .index_table = 255, .index_from_end = 0, .index_attribute = 255};

static const firn_operand operands_57[] = {
    {.type = FIRN_TYPE_REAL, .form = FIRN_FORM_OWN, .changed = FIRN_FRESH},
    {.type = FIRN_TYPE_OF_INPUT + 0, .form = FIRN_FORM_OWN, .changed = FIRN_FRESH},
    {.type = FIRN_TYPE_OF_INPUT + 0, .form = FIRN_FORM_OWN, .changed = FIRN_FRESH, .optional = true},
    {.type = FIRN_TYPE_OF_INPUT + 0, .form = FIRN_FORM_OWN, .changed = FIRN_FRESH, .optional = true},
    {.type = FIRN_TYPE_OF_INPUT + 0, .form = FIRN_FORM_OWN, .changed = FIRN_FRESH},
    {.type = FIRN_TYPE_OF_INPUT + 0, .form = FIRN_FORM_OWN, .changed = FIRN_FRESH},
    {.type = FIRN_FLOAT32, .form = FIRN_FORM_OWN, .changed = FIRN_FRESH},
    {.type = FIRN_FLOAT32, .form = FIRN_FORM_OWN, .changed = FIRN_FRESH},
    {.type = FIRN_FLOAT32, .form = FIRN_FORM_OWN, .changed = FIRN_FRESH},
};
const firn_op_info firn_op_row_lstm = {
    .code = 236, .operands = operands_57, .ranges = ranges_17, .inputs = 4, .inputs_min = 2, .inputs_max = 4,
    .outputs = 5, .integers = 2, .reals = 0, .reductions = 1, .in_place = 0, .autocast = FIRN_AUTOCAST_half,
    .outputs_min = 5, .integers_min = 2, .reals_min = 0,
    .pol = FIRN_POL_product, .cost = FIRN_COST_product, .begins = FIRN_BEGINS_nothing, .gathers = 0, .metric = 0, .buffers = 0,
    .reduced = 0, .inner = 0, .inner_flag = 255, .typed = 255, .factors = 255,
    .index_operand = 255, .index_table = 255, .index_from_end = 0, .index_attribute = 255};

static const firn_operand operands_58[] = {
    {.type = FIRN_TYPE_REAL, .form = FIRN_FORM_OWN, .changed = FIRN_FRESH},
    {.type = FIRN_FLOAT32, .form = FIRN_FORM_OWN, .changed = FIRN_FRESH},
    {.type = FIRN_FLOAT32, .form = FIRN_FORM_OWN, .changed = FIRN_FRESH},
    {.type = FIRN_TYPE_OF_INPUT + 0, .form = FIRN_FORM_OWN, .changed = FIRN_FRESH, .optional = true},
    {.type = FIRN_TYPE_OF_INPUT + 0, .form = FIRN_FORM_OWN, .changed = FIRN_FRESH, .optional = true},
    {.type = FIRN_FLOAT32, .form = FIRN_FORM_OWN, .changed = FIRN_FRESH, .optional = true},
    {.type = FIRN_TYPE_OF_INPUT + 0, .form = FIRN_FORM_OWN, .changed = FIRN_FRESH, .optional = true},
    {.type = FIRN_TYPE_OF_INPUT + 0, .form = FIRN_FORM_OWN, .changed = FIRN_FRESH},
    {.type = FIRN_TYPE_REAL, .form = FIRN_FORM_OWN, .changed = FIRN_FRESH},
    {.type = FIRN_TYPE_REAL, .form = FIRN_FORM_OWN, .changed = FIRN_FRESH},
    {.type = FIRN_FLOAT32, .form = FIRN_FORM_OWN, .changed = FIRN_FRESH, .scratch = true},
};
const firn_op_info firn_op_row_lstm_backward = {
    .code = 237, .operands = operands_58, .ranges = ranges_0, .inputs = 7, .inputs_min = 3, .inputs_max = 7,
    .outputs = 4, .integers = 1, .reals = 0, .reductions = 1, .in_place = 2, .autocast = FIRN_AUTOCAST_fixed,
    .outputs_min = 4, .integers_min = 1, .reals_min = 0,
    .pol = FIRN_POL_product, .cost = FIRN_COST_product, .begins = FIRN_BEGINS_nothing, .gathers = 0, .metric = 0, .buffers = 0,
    .reduced = 0, .inner = 0, .inner_flag = 255, .typed = 255, .factors = 255,
    .index_operand = 255, .index_table = 255, .index_from_end = 0, .index_attribute = 255};

static const firn_operand operands_59[] = {
    {.type = FIRN_TYPE_REAL, .form = FIRN_FORM_OWN, .changed = FIRN_FRESH},
    {.type = FIRN_TYPE_OF_INPUT + 0, .form = FIRN_FORM_OWN, .changed = FIRN_FRESH},
    {.type = FIRN_TYPE_REAL, .form = FIRN_FORM_OWN, .changed = FIRN_FRESH, .optional = true},
    {.type = FIRN_TYPE_OF_INPUT + 0, .form = FIRN_FORM_OWN, .changed = FIRN_FRESH, .optional = true},
    {.type = FIRN_TYPE_OF_INPUT + 0, .form = FIRN_FORM_OWN, .changed = FIRN_FRESH},
    {.type = FIRN_TYPE_OF_INPUT + 0, .form = FIRN_FORM_OWN, .changed = FIRN_FRESH},
    {.type = FIRN_FLOAT32, .form = FIRN_FORM_OWN, .changed = FIRN_FRESH},
};
static const uint8_t ranges_30[] = {
    FIRN_RANGE_FLAG,
    FIRN_RANGE_FLAG,
    FIRN_RANGE_FLAG,
};
const firn_op_info firn_op_row_gru = {
    .code = 238, .operands = operands_59, .ranges = ranges_30, .inputs = 4, .inputs_min = 2, .inputs_max = 4,
    .outputs = 3, .integers = 3, .reals = 0, .reductions = 1, .in_place = 0, .autocast = FIRN_AUTOCAST_half,
    .outputs_min = 3, .integers_min = 3, .reals_min = 0,
    .pol = FIRN_POL_product, .cost = FIRN_COST_product, .begins = FIRN_BEGINS_nothing, .gathers = 0, .metric = 0, .buffers = 0,
    .reduced = 0, .inner = 0, .inner_flag = 255, .typed = 255, .factors = 255,
    .index_operand = 255, .index_table = 255, .index_from_end = 0, .index_attribute = 255};

static const firn_operand operands_60[] = {
    {.type = FIRN_TYPE_REAL, .form = FIRN_FORM_OWN, .changed = FIRN_FRESH},
    {.type = FIRN_FLOAT32, .form = FIRN_FORM_OWN, .changed = FIRN_FRESH},
    {.type = FIRN_TYPE_OF_INPUT + 0, .form = FIRN_FORM_OWN, .changed = FIRN_FRESH},
    {.type = FIRN_TYPE_OF_INPUT + 0, .form = FIRN_FORM_OWN, .changed = FIRN_FRESH, .optional = true},
    {.type = FIRN_TYPE_OF_INPUT + 0, .form = FIRN_FORM_OWN, .changed = FIRN_FRESH, .optional = true},
    {.type = FIRN_TYPE_OF_INPUT + 0, .form = FIRN_FORM_OWN, .changed = FIRN_FRESH, .optional = true},
    {.type = FIRN_TYPE_OF_INPUT + 0, .form = FIRN_FORM_OWN, .changed = FIRN_FRESH},
    {.type = FIRN_TYPE_OF_INPUT + 0, .form = FIRN_FORM_OWN, .changed = FIRN_FRESH},
    {.type = FIRN_TYPE_REAL, .form = FIRN_FORM_OWN, .changed = FIRN_FRESH},
    {.type = FIRN_FLOAT32, .form = FIRN_FORM_OWN, .changed = FIRN_FRESH, .scratch = true},
};
const firn_op_info firn_op_row_gru_backward = {
    .code = 239, .operands = operands_60, .ranges = ranges_17, .inputs = 6, .inputs_min = 3, .inputs_max = 6,
    .outputs = 4, .integers = 2, .reals = 0, .reductions = 1, .in_place = 0, .autocast = FIRN_AUTOCAST_fixed,
    .outputs_min = 4, .integers_min = 2, .reals_min = 0,
    .pol = FIRN_POL_product, .cost = FIRN_COST_product, .begins = FIRN_BEGINS_nothing, .gathers = 0, .metric = 0, .buffers = 0,
    .reduced = 0, .inner = 0, .inner_flag = 255, .typed = 255, .factors = 255,
    .index_operand = 255, .index_table = 255, .index_from_end = 0, .index_attribute = 255};

static const firn_operand operands_61[] = {
    {.type = FIRN_TYPE_REAL, .form = FIRN_FORM_OWN, .changed = FIRN_FRESH},
    {.type = FIRN_TYPE_OF_INPUT + 0, .form = FIRN_FORM_OWN, .changed = FIRN_FRESH},
    {.type = FIRN_TYPE_OF_INPUT + 0, .form = FIRN_FORM_OWN, .changed = FIRN_FRESH, .optional = true},
    {.type = FIRN_TYPE_OF_INPUT + 0, .form = FIRN_FORM_OWN, .changed = FIRN_FRESH},
    {.type = FIRN_TYPE_OF_INPUT + 0, .form = FIRN_FORM_OWN, .changed = FIRN_FRESH},
    {.type = FIRN_FLOAT32, .form = FIRN_FORM_OWN, .changed = FIRN_FRESH, .scratch = true},
};
const firn_op_info firn_op_row_rnn = {
    .code = 240, .operands = operands_61, .ranges = ranges_17, .inputs = 3, .inputs_min = 2, .inputs_max = 3,
    .outputs = 3, .integers = 2, .reals = 0, .reductions = 1, .in_place = 0, .autocast = FIRN_AUTOCAST_half,
    .outputs_min = 3, .integers_min = 2, .reals_min = 0,
    .pol = FIRN_POL_product, .cost = FIRN_COST_product, .begins = FIRN_BEGINS_nothing, .gathers = 0, .metric = 0, .buffers = 0,
    .reduced = 0, .inner = 0, .inner_flag = 255, .typed = 255, .factors = 255,
    .index_operand = 255, .index_table = 255, .index_from_end = 0, .index_attribute = 255};

static const firn_operand operands_62[] = {
    {.type = FIRN_TYPE_REAL, .form = FIRN_FORM_OWN, .changed = FIRN_FRESH},
    {.type = FIRN_TYPE_OF_INPUT + 0, .form = FIRN_FORM_OWN, .changed = FIRN_FRESH},
    {.type = FIRN_TYPE_OF_INPUT + 0, .form = FIRN_FORM_OWN, .changed = FIRN_FRESH, .optional = true},
    {.type = FIRN_TYPE_OF_INPUT + 0, .form = FIRN_FORM_OWN, .changed = FIRN_FRESH, .optional = true},
    {.type = FIRN_TYPE_OF_INPUT + 0, .form = FIRN_FORM_OWN, .changed = FIRN_FRESH},
    {.type = FIRN_TYPE_REAL, .form = FIRN_FORM_OWN, .changed = FIRN_FRESH},
    {.type = FIRN_FLOAT32, .form = FIRN_FORM_OWN, .changed = FIRN_FRESH, .scratch = true},
};
const firn_op_info firn_op_row_rnn_backward = {
    .code = 241, .operands = operands_62, .ranges = ranges_17, .inputs = 4, .inputs_min = 2, .inputs_max = 4,
    .outputs = 3, .integers = 2, .reals = 0, .reductions = 1, .in_place = 0, .autocast = FIRN_AUTOCAST_fixed,
    .outputs_min = 3, .integers_min = 2, .reals_min = 0,
    .pol = FIRN_POL_product, .cost = FIRN_COST_product, .begins = FIRN_BEGINS_nothing, .gathers = 0, .metric = 0, .buffers = 0,
    .reduced = 0, .inner = 0, .inner_flag = 255, .typed = 255, .factors = 255,
    .index_operand = 255, .index_table = 255, .index_from_end = 0, .index_attribute = 255};

static const firn_operand operands_63[] = {
    {.type = FIRN_TYPE_REAL, .form = FIRN_FORM_OWN, .changed = FIRN_FRESH},
    {.type = FIRN_TYPE_OF_INPUT + 0, .form = FIRN_FORM_OWN, .changed = FIRN_FRESH},
    {.type = FIRN_TYPE_OF_INPUT + 0, .form = FIRN_FORM_OWN, .changed = FIRN_FRESH, .optional = true},
    {.type = FIRN_FLOAT32, .form = FIRN_FORM_OWN, .changed = FIRN_FRESH, .optional = true},
    {.type = FIRN_TYPE_REAL, .form = FIRN_FORM_OWN, .changed = FIRN_FRESH},
};
const firn_op_info firn_op_row_recurrent_backward_weight = {
    .code = 242, .operands = operands_63, .ranges = ranges_0, .inputs = 4, .inputs_min = 2, .inputs_max = 4,
    .outputs = 1, .integers = 1, .reals = 0, .reductions = 1, .in_place = 0, .autocast = FIRN_AUTOCAST_fixed,
    .outputs_min = 1, .integers_min = 1, .reals_min = 0,
    .pol = FIRN_POL_product, .cost = FIRN_COST_product_of_weight, .begins = FIRN_BEGINS_nothing, .gathers = 0, .metric = 0, .buffers = 0,
    .reduced = 0, .inner = 0, .inner_flag = 255, .typed = 255, .factors = 255,
    .index_operand = 255, .index_table = 255, .index_from_end = 0, .index_attribute = 255};

static const firn_operand operands_64[] = {
    {.type = FIRN_TYPE_REAL, .form = FIRN_FORM_ROWS, .a = FIRN_EXTENT_LETTER + 0, .changed = FIRN_FRESH},
    {.type = FIRN_INT32, .form = FIRN_FORM_ROW_VALUES, .changed = FIRN_FRESH},
    {.type = FIRN_FLOAT32, .form = FIRN_FORM_VECTOR, .a = 1, .b = 1, .changed = FIRN_FRESH},
    {.type = FIRN_FLOAT32, .form = FIRN_FORM_ROW_VALUES, .changed = FIRN_FRESH},
    {.type = FIRN_FLOAT32, .form = FIRN_FORM_ROW_VALUES, .changed = FIRN_FRESH},
};
const firn_op_info firn_op_row_cross_entropy = {
    .code = 23, .operands = operands_64, .inputs = 2, .inputs_min = 2, .inputs_max = 2,
    .outputs = 3, .integers = 0, .reals = 0, .reductions = 0, .in_place = 0, .autocast = FIRN_AUTOCAST_single,
    .outputs_min = 3, .integers_min = 0, .reals_min = 0,
    .pol = FIRN_POL_none, .cost = FIRN_COST_none, .begins = FIRN_BEGINS_nothing, .gathers = 0, .metric = 0, .buffers = 0,
    .reduced = 255, .inner = 0, .inner_flag = 255, .typed = 255, .factors = 255,
    .index_operand = 1, .index_table = 0, .index_from_end = 1, .index_attribute = 255};

static const firn_operand operands_65[] = {
    {.type = FIRN_FLOAT32, .form = FIRN_FORM_VECTOR, .a = 1, .b = 1, .changed = FIRN_FRESH},
    {.type = FIRN_TYPE_REAL, .form = FIRN_FORM_ROWS, .a = FIRN_EXTENT_LETTER + 0, .changed = FIRN_FRESH},
    {.type = FIRN_INT32, .form = FIRN_FORM_ROW_VALUES, .changed = FIRN_FRESH},
    {.type = FIRN_FLOAT32, .form = FIRN_FORM_ROW_VALUES, .changed = FIRN_FRESH},
    {.type = FIRN_FLOAT32, .form = FIRN_FORM_ROW_VALUES, .changed = FIRN_FRESH},
    {.type = FIRN_TYPE_OF_INPUT + 1, .form = FIRN_FORM_LIKE, .a = 1, .changed = FIRN_FRESH},
};
const firn_op_info firn_op_row_cross_entropy_backward = {
    .code = 24, .operands = operands_65, .inputs = 5, .inputs_min = 5, .inputs_max = 5,
    .outputs = 1, .integers = 0, .reals = 0, .reductions = 0, .in_place = 2, .autocast = FIRN_AUTOCAST_fixed,
    .outputs_min = 1, .integers_min = 0, .reals_min = 0,
    .pol = FIRN_POL_none, .cost = FIRN_COST_none, .begins = FIRN_BEGINS_nothing, .gathers = 0, .metric = 0, .buffers = 0,
    .reduced = 255, .inner = 0, .inner_flag = 255, .typed = 255, .factors = 255,
    .index_operand = 2, .index_table = 1, .index_from_end = 1, .index_attribute = 255};

static const firn_operand operands_66[] = {
    {.type = FIRN_TYPE_REAL, .form = FIRN_FORM_ROWS, .a = FIRN_EXTENT_LETTER + 0, .changed = FIRN_FRESH},
    {.type = FIRN_INT32, .form = FIRN_FORM_ROW_VALUES, .changed = FIRN_FRESH},
    {.type = FIRN_FLOAT32, .form = FIRN_FORM_ROW_VALUES, .changed = FIRN_FRESH, .optional = true},
    {.type = FIRN_FLOAT32, .form = FIRN_FORM_VECTOR, .a = 1, .b = 1, .changed = FIRN_FRESH, .optional = true},
    {.type = FIRN_FLOAT32, .form = FIRN_FORM_VECTOR, .a = 1, .b = 1, .changed = FIRN_FRESH},
    {.type = FIRN_FLOAT32, .form = FIRN_FORM_ROW_VALUES, .changed = FIRN_FRESH},
    {.type = FIRN_FLOAT32, .form = FIRN_FORM_ROW_VALUES, .changed = FIRN_FRESH},
    {.type = FIRN_FLOAT32, .form = FIRN_FORM_ROW_VALUES, .changed = FIRN_FRESH},
    {.type = FIRN_FLOAT32, .form = FIRN_FORM_VECTOR, .a = 1, .b = 1, .changed = FIRN_FRESH},
};
static const uint8_t ranges_31[] = {
    FIRN_RANGE_LABEL,
    FIRN_RANGE_FLAG,
    FIRN_RANGE_RATE,
    FIRN_RANGE_POSITIVE,
};
const firn_op_info firn_op_row_cross_entropy_weighted = {
    .code = 138, .operands = operands_66, .ranges = ranges_31, .inputs = 4, .inputs_min = 2, .inputs_max = 4,
    .outputs = 5, .integers = 2, .reals = 2, .reductions = 0, .in_place = 0, .autocast = FIRN_AUTOCAST_single,
    .outputs_min = 5, .integers_min = 2, .reals_min = 2,
    .pol = FIRN_POL_none, .cost = FIRN_COST_none, .begins = FIRN_BEGINS_nothing, .gathers = 0, .metric = 0, .buffers = 0,
    .reduced = 255, .inner = 0, .inner_flag = 255, .typed = 255, .factors = 255,
    .index_operand = 1, .index_table = 0, .index_from_end = 1, .index_attribute = 255};

static const firn_operand operands_67[] = {
    {.type = FIRN_FLOAT32, .form = FIRN_FORM_VECTOR, .a = 1, .b = 1, .changed = FIRN_FRESH},
    {.type = FIRN_TYPE_REAL, .form = FIRN_FORM_ROWS, .a = FIRN_EXTENT_LETTER + 0, .changed = FIRN_FRESH},
    {.type = FIRN_INT32, .form = FIRN_FORM_ROW_VALUES, .changed = FIRN_FRESH},
    {.type = FIRN_FLOAT32, .form = FIRN_FORM_ROW_VALUES, .changed = FIRN_FRESH},
    {.type = FIRN_FLOAT32, .form = FIRN_FORM_ROW_VALUES, .changed = FIRN_FRESH},
    {.type = FIRN_FLOAT32, .form = FIRN_FORM_VECTOR, .a = 1, .b = 1, .changed = FIRN_FRESH},
    {.type = FIRN_FLOAT32, .form = FIRN_FORM_ROW_VALUES, .changed = FIRN_FRESH, .optional = true},
    {.type = FIRN_TYPE_OF_INPUT + 1, .form = FIRN_FORM_LIKE, .a = 1, .changed = FIRN_FRESH},
};
const firn_op_info firn_op_row_cross_entropy_weighted_backward = {
    .code = 139, .operands = operands_67, .ranges = ranges_31, .inputs = 7, .inputs_min = 6, .inputs_max = 7,
    .outputs = 1, .integers = 2, .reals = 2, .reductions = 0, .in_place = 2, .autocast = FIRN_AUTOCAST_fixed,
    .outputs_min = 1, .integers_min = 2, .reals_min = 2,
    .pol = FIRN_POL_none, .cost = FIRN_COST_none, .begins = FIRN_BEGINS_nothing, .gathers = 0, .metric = 0, .buffers = 0,
    .reduced = 255, .inner = 0, .inner_flag = 255, .typed = 255, .factors = 255,
    .index_operand = 2, .index_table = 1, .index_from_end = 1, .index_attribute = 255};

static const firn_operand operands_68[] = {
    {.type = FIRN_TYPE_REAL, .form = FIRN_FORM_ROWS, .a = FIRN_EXTENT_LETTER + 0, .changed = FIRN_FRESH},
    {.type = FIRN_TYPE_OF_INPUT + 0, .form = FIRN_FORM_OWN, .changed = FIRN_FRESH, .rounded = true},
    {.type = FIRN_INT32, .form = FIRN_FORM_ROW_VALUES, .changed = FIRN_FRESH},
    {.type = FIRN_FLOAT32, .form = FIRN_FORM_VECTOR, .a = 1, .b = 1, .changed = FIRN_FRESH},
    {.type = FIRN_FLOAT32, .form = FIRN_FORM_ROW_VALUES, .changed = FIRN_FRESH, .optional = true},
    {.type = FIRN_FLOAT32, .form = FIRN_FORM_VECTOR, .a = 1, .b = 1, .changed = FIRN_FRESH, .optional = true},
    {.type = FIRN_FLOAT32, .form = FIRN_FORM_OWN, .changed = FIRN_FRESH},
    {.type = FIRN_FLOAT32, .form = FIRN_FORM_VECTOR, .a = 1, .b = 1, .changed = FIRN_FRESH},
    {.type = FIRN_TYPE_OF_INPUT + 0, .form = FIRN_FORM_LIKE, .a = 0, .changed = FIRN_FRESH},
    {.type = FIRN_TYPE_OF_INPUT + 0, .form = FIRN_FORM_OWN, .changed = FIRN_FRESH, .scratch = true},
    {.type = FIRN_FLOAT32, .form = FIRN_FORM_OWN, .changed = FIRN_FRESH, .scratch = true},
};
static const uint8_t ranges_32[] = {
    FIRN_RANGE_FLAG,
    FIRN_RANGE_EXTENT,
    FIRN_RANGE_OWN,
    FIRN_RANGE_FLAG,
    FIRN_RANGE_FLAG,
    FIRN_RANGE_LABEL,
    FIRN_RANGE_FLAG,
    FIRN_RANGE_RATE,
    FIRN_RANGE_POSITIVE,
};
const firn_op_info firn_op_row_linear_cross_entropy = {
    .code = 252, .operands = operands_68, .ranges = ranges_32, .inputs = 6, .inputs_min = 4, .inputs_max = 6,
    .outputs = 5, .integers = 7, .reals = 2, .reductions = 3, .in_place = 0, .autocast = FIRN_AUTOCAST_fixed,
    .outputs_min = 5, .integers_min = 7, .reals_min = 2,
    .pol = FIRN_POL_product, .cost = FIRN_COST_products_of_loss, .begins = FIRN_BEGINS_nothing, .gathers = 0, .metric = 0, .buffers = 0,
    .reduced = 0, .inner = 2, .inner_flag = 3, .typed = 255, .factors = 255,
    .index_operand = 2, .index_table = 255, .index_from_end = 0, .index_attribute = 1};

static const firn_operand operands_69[] = {
    {.type = FIRN_INT32, .form = FIRN_FORM_ROW_VALUES, .changed = FIRN_FRESH},
    {.type = FIRN_INT64, .form = FIRN_FORM_VECTOR, .a = 1, .b = 1, .changed = FIRN_FRESH},
    {.type = FIRN_TYPE_OF_INPUT + 1, .form = FIRN_FORM_LIKE, .a = 1, .changed = 1},
    {.type = FIRN_FLOAT32, .form = FIRN_FORM_VECTOR, .a = 1, .b = 1, .changed = FIRN_FRESH},
};
static const uint8_t ranges_33[] = {
    FIRN_RANGE_LABEL,
};
const firn_op_info firn_op_row_batch_rows = {
    .code = 253, .operands = operands_69, .ranges = ranges_33, .inputs = 2, .inputs_min = 2, .inputs_max = 2,
    .outputs = 2, .integers = 1, .reals = 0, .reductions = 0, .in_place = 2, .autocast = FIRN_AUTOCAST_fixed,
    .outputs_min = 2, .integers_min = 1, .reals_min = 0,
    .pol = FIRN_POL_none, .cost = FIRN_COST_none, .begins = FIRN_BEGINS_first, .gathers = 0, .metric = 0, .buffers = 0,
    .reduced = 255, .inner = 0, .inner_flag = 255, .typed = 255, .factors = 255,
    .index_operand = 255, .index_table = 255, .index_from_end = 0, .index_attribute = 255};

static const firn_operand operands_70[] = {
    {.type = FIRN_INT32, .form = FIRN_FORM_ROW_VALUES, .changed = FIRN_FRESH},
    {.type = FIRN_FLOAT32, .form = FIRN_FORM_ROW_VALUES, .changed = FIRN_FRESH},
    {.type = FIRN_FLOAT32, .form = FIRN_FORM_VECTOR, .a = 2, .b = 2, .changed = FIRN_FRESH},
    {.type = FIRN_TYPE_OF_INPUT + 2, .form = FIRN_FORM_LIKE, .a = 2, .changed = 2},
    {.type = FIRN_FLOAT32, .form = FIRN_FORM_VECTOR, .a = 1, .b = 1, .changed = FIRN_FRESH},
};
const firn_op_info firn_op_row_batch_weights = {
    .code = 254, .operands = operands_70, .ranges = ranges_33, .inputs = 3, .inputs_min = 3, .inputs_max = 3,
    .outputs = 2, .integers = 1, .reals = 0, .reductions = 0, .in_place = 4, .autocast = FIRN_AUTOCAST_fixed,
    .outputs_min = 2, .integers_min = 1, .reals_min = 0,
    .pol = FIRN_POL_none, .cost = FIRN_COST_none, .begins = FIRN_BEGINS_first, .gathers = 0, .metric = 0, .buffers = 0,
    .reduced = 255, .inner = 0, .inner_flag = 255, .typed = 255, .factors = 255,
    .index_operand = 255, .index_table = 255, .index_from_end = 0, .index_attribute = 255};

static const firn_operand operands_71[] = {
    {.type = FIRN_TYPE_REAL, .form = FIRN_FORM_ROWS, .a = FIRN_EXTENT_LETTER + 0, .changed = FIRN_FRESH},
    {.type = FIRN_INT32, .form = FIRN_FORM_ROW_VALUES, .changed = FIRN_FRESH},
    {.type = FIRN_FLOAT32, .form = FIRN_FORM_VECTOR, .a = 1, .b = 1, .changed = FIRN_FRESH},
};
const firn_op_info firn_op_row_nll_loss = {
    .code = 136, .operands = operands_71, .inputs = 2, .inputs_min = 2, .inputs_max = 2,
    .outputs = 1, .integers = 0, .reals = 0, .reductions = 0, .in_place = 0, .autocast = FIRN_AUTOCAST_single,
    .outputs_min = 1, .integers_min = 0, .reals_min = 0,
    .pol = FIRN_POL_none, .cost = FIRN_COST_none, .begins = FIRN_BEGINS_nothing, .gathers = 0, .metric = 0, .buffers = 0,
    .reduced = 255, .inner = 0, .inner_flag = 255, .typed = 255, .factors = 255,
    .index_operand = 1, .index_table = 0, .index_from_end = 1, .index_attribute = 255};

static const firn_operand operands_72[] = {
    {.type = FIRN_FLOAT32, .form = FIRN_FORM_VECTOR, .a = 1, .b = 1, .changed = FIRN_FRESH},
    {.type = FIRN_TYPE_REAL, .form = FIRN_FORM_ROWS, .a = FIRN_EXTENT_LETTER + 0, .changed = FIRN_FRESH},
    {.type = FIRN_INT32, .form = FIRN_FORM_ROW_VALUES, .changed = FIRN_FRESH},
    {.type = FIRN_TYPE_REAL, .form = FIRN_FORM_LIKE, .a = 1, .changed = FIRN_FRESH},
};
const firn_op_info firn_op_row_nll_loss_backward = {
    .code = 137, .operands = operands_72, .inputs = 3, .inputs_min = 3, .inputs_max = 3,
    .outputs = 1, .integers = 0, .reals = 0, .reductions = 0, .in_place = 2, .autocast = FIRN_AUTOCAST_fixed,
    .outputs_min = 1, .integers_min = 0, .reals_min = 0,
    .pol = FIRN_POL_none, .cost = FIRN_COST_none, .begins = FIRN_BEGINS_nothing, .gathers = 0, .metric = 0, .buffers = 0,
    .reduced = 255, .inner = 0, .inner_flag = 255, .typed = 255, .factors = 255,
    .index_operand = 2, .index_table = 1, .index_from_end = 1, .index_attribute = 255};

static const firn_operand operands_73[] = {
    {.type = FIRN_TYPE_REAL, .form = FIRN_FORM_ANY, .changed = FIRN_FRESH},
    {.type = FIRN_FLOAT32, .form = FIRN_FORM_LIKE, .a = 0, .changed = FIRN_FRESH},
    {.type = FIRN_FLOAT32, .form = FIRN_FORM_VECTOR, .a = 1, .b = 1, .changed = FIRN_FRESH},
};
const firn_op_info firn_op_row_mean_squared_error = {
    .code = 25, .operands = operands_73, .inputs = 2, .inputs_min = 2, .inputs_max = 2,
    .outputs = 1, .integers = 0, .reals = 0, .reductions = 0, .in_place = 0, .autocast = FIRN_AUTOCAST_single,
    .outputs_min = 1, .integers_min = 0, .reals_min = 0,
    .pol = FIRN_POL_none, .cost = FIRN_COST_none, .begins = FIRN_BEGINS_nothing, .gathers = 0, .metric = 0, .buffers = 0,
    .reduced = 255, .inner = 0, .inner_flag = 255, .typed = 255, .factors = 255,
    .index_operand = 255, .index_table = 255, .index_from_end = 0, .index_attribute = 255};

static const firn_operand operands_74[] = {
    {.type = FIRN_FLOAT32, .form = FIRN_FORM_VECTOR, .a = 1, .b = 1, .changed = FIRN_FRESH},
    {.type = FIRN_TYPE_REAL, .form = FIRN_FORM_ANY, .changed = FIRN_FRESH},
    {.type = FIRN_FLOAT32, .form = FIRN_FORM_LIKE, .a = 1, .changed = FIRN_FRESH},
    {.type = FIRN_TYPE_REAL, .form = FIRN_FORM_LIKE, .a = 1, .changed = FIRN_FRESH},
};
const firn_op_info firn_op_row_mean_squared_error_backward = {
    .code = 26, .operands = operands_74, .inputs = 3, .inputs_min = 3, .inputs_max = 3,
    .outputs = 1, .integers = 0, .reals = 0, .reductions = 0, .in_place = 2, .autocast = FIRN_AUTOCAST_fixed,
    .outputs_min = 1, .integers_min = 0, .reals_min = 0,
    .pol = FIRN_POL_none, .cost = FIRN_COST_none, .begins = FIRN_BEGINS_nothing, .gathers = 0, .metric = 0, .buffers = 0,
    .reduced = 255, .inner = 0, .inner_flag = 255, .typed = 255, .factors = 255,
    .index_operand = 255, .index_table = 255, .index_from_end = 0, .index_attribute = 255};

const firn_op_info firn_op_row_l1_loss = {
    .code = 128, .operands = operands_73, .inputs = 2, .inputs_min = 2, .inputs_max = 2,
    .outputs = 1, .integers = 0, .reals = 0, .reductions = 0, .in_place = 0, .autocast = FIRN_AUTOCAST_single,
    .outputs_min = 1, .integers_min = 0, .reals_min = 0,
    .pol = FIRN_POL_none, .cost = FIRN_COST_none, .begins = FIRN_BEGINS_nothing, .gathers = 0, .metric = 0, .buffers = 0,
    .reduced = 255, .inner = 0, .inner_flag = 255, .typed = 255, .factors = 255,
    .index_operand = 255, .index_table = 255, .index_from_end = 0, .index_attribute = 255};

const firn_op_info firn_op_row_l1_loss_backward = {
    .code = 129, .operands = operands_74, .inputs = 3, .inputs_min = 3, .inputs_max = 3,
    .outputs = 1, .integers = 0, .reals = 0, .reductions = 0, .in_place = 2, .autocast = FIRN_AUTOCAST_fixed,
    .outputs_min = 1, .integers_min = 0, .reals_min = 0,
    .pol = FIRN_POL_none, .cost = FIRN_COST_none, .begins = FIRN_BEGINS_nothing, .gathers = 0, .metric = 0, .buffers = 0,
    .reduced = 255, .inner = 0, .inner_flag = 255, .typed = 255, .factors = 255,
    .index_operand = 255, .index_table = 255, .index_from_end = 0, .index_attribute = 255};

static const uint8_t ranges_34[] = {
    FIRN_RANGE_FLAG,
    FIRN_RANGE_POSITIVE,
};
const firn_op_info firn_op_row_huber_loss = {
    .code = 130, .operands = operands_73, .ranges = ranges_34, .inputs = 2, .inputs_min = 2, .inputs_max = 2,
    .outputs = 1, .integers = 1, .reals = 1, .reductions = 0, .in_place = 0, .autocast = FIRN_AUTOCAST_single,
    .outputs_min = 1, .integers_min = 1, .reals_min = 1,
    .pol = FIRN_POL_none, .cost = FIRN_COST_none, .begins = FIRN_BEGINS_nothing, .gathers = 0, .metric = 0, .buffers = 0,
    .reduced = 255, .inner = 0, .inner_flag = 255, .typed = 255, .factors = 255,
    .index_operand = 255, .index_table = 255, .index_from_end = 0, .index_attribute = 255};

const firn_op_info firn_op_row_huber_loss_backward = {
    .code = 131, .operands = operands_74, .ranges = ranges_34, .inputs = 3, .inputs_min = 3, .inputs_max = 3,
    .outputs = 1, .integers = 1, .reals = 1, .reductions = 0, .in_place = 2, .autocast = FIRN_AUTOCAST_fixed,
    .outputs_min = 1, .integers_min = 1, .reals_min = 1,
    .pol = FIRN_POL_none, .cost = FIRN_COST_none, .begins = FIRN_BEGINS_nothing, .gathers = 0, .metric = 0, .buffers = 0,
    .reduced = 255, .inner = 0, .inner_flag = 255, .typed = 255, .factors = 255,
    .index_operand = 255, .index_table = 255, .index_from_end = 0, .index_attribute = 255};

const firn_op_info firn_op_row_binary_cross_entropy = {
    .code = 132, .operands = operands_73, .inputs = 2, .inputs_min = 2, .inputs_max = 2,
    .outputs = 1, .integers = 0, .reals = 0, .reductions = 0, .in_place = 0, .autocast = FIRN_AUTOCAST_single,
    .outputs_min = 1, .integers_min = 0, .reals_min = 0,
    .pol = FIRN_POL_none, .cost = FIRN_COST_none, .begins = FIRN_BEGINS_nothing, .gathers = 0, .metric = 0, .buffers = 0,
    .reduced = 255, .inner = 0, .inner_flag = 255, .typed = 255, .factors = 255,
    .index_operand = 255, .index_table = 255, .index_from_end = 0, .index_attribute = 255};

const firn_op_info firn_op_row_binary_cross_entropy_backward = {
    .code = 133, .operands = operands_74, .inputs = 3, .inputs_min = 3, .inputs_max = 3,
    .outputs = 1, .integers = 0, .reals = 0, .reductions = 0, .in_place = 2, .autocast = FIRN_AUTOCAST_fixed,
    .outputs_min = 1, .integers_min = 0, .reals_min = 0,
    .pol = FIRN_POL_none, .cost = FIRN_COST_none, .begins = FIRN_BEGINS_nothing, .gathers = 0, .metric = 0, .buffers = 0,
    .reduced = 255, .inner = 0, .inner_flag = 255, .typed = 255, .factors = 255,
    .index_operand = 255, .index_table = 255, .index_from_end = 0, .index_attribute = 255};

const firn_op_info firn_op_row_kl_divergence = {
    .code = 134, .operands = operands_73, .ranges = ranges_17, .inputs = 2, .inputs_min = 2, .inputs_max = 2,
    .outputs = 1, .integers = 2, .reals = 0, .reductions = 0, .in_place = 0, .autocast = FIRN_AUTOCAST_single,
    .outputs_min = 1, .integers_min = 2, .reals_min = 0,
    .pol = FIRN_POL_none, .cost = FIRN_COST_none, .begins = FIRN_BEGINS_nothing, .gathers = 0, .metric = 0, .buffers = 0,
    .reduced = 255, .inner = 0, .inner_flag = 255, .typed = 255, .factors = 255,
    .index_operand = 255, .index_table = 255, .index_from_end = 0, .index_attribute = 255};

const firn_op_info firn_op_row_kl_divergence_backward = {
    .code = 135, .operands = operands_74, .ranges = ranges_17, .inputs = 3, .inputs_min = 3, .inputs_max = 3,
    .outputs = 1, .integers = 2, .reals = 0, .reductions = 0, .in_place = 2, .autocast = FIRN_AUTOCAST_fixed,
    .outputs_min = 1, .integers_min = 2, .reals_min = 0,
    .pol = FIRN_POL_none, .cost = FIRN_COST_none, .begins = FIRN_BEGINS_nothing, .gathers = 0, .metric = 0, .buffers = 0,
    .reduced = 255, .inner = 0, .inner_flag = 255, .typed = 255, .factors = 255,
    .index_operand = 255, .index_table = 255, .index_from_end = 0, .index_attribute = 255};

static const firn_operand operands_75[] = {
    {.type = FIRN_TYPE_REAL, .form = FIRN_FORM_ANY, .changed = FIRN_FRESH},
    {.type = FIRN_FLOAT32, .form = FIRN_FORM_LIKE, .a = 0, .changed = FIRN_FRESH},
    {.type = FIRN_FLOAT32, .form = FIRN_FORM_OWN, .changed = FIRN_FRESH},
};
static const uint8_t ranges_35[] = {
    FIRN_RANGE_OWN,
    FIRN_RANGE_EXTENT,
    FIRN_RANGE_FLAG,
    FIRN_RANGE_FLAG,
    FIRN_RANGE_FLAG,
    FIRN_RANGE_OWN,
};
const firn_op_info firn_op_row_sample_loss = {
    .code = 275, .operands = operands_75, .ranges = ranges_35, .inputs = 2, .inputs_min = 2, .inputs_max = 2,
    .outputs = 1, .integers = 5, .reals = 1, .reductions = 0, .in_place = 0, .autocast = FIRN_AUTOCAST_fixed,
    .outputs_min = 1, .integers_min = 5, .reals_min = 1,
    .pol = FIRN_POL_none, .cost = FIRN_COST_none, .begins = FIRN_BEGINS_nothing, .gathers = 0, .metric = 0, .buffers = 0,
    .reduced = 255, .inner = 0, .inner_flag = 255, .typed = 255, .factors = 255,
    .index_operand = 255, .index_table = 255, .index_from_end = 0, .index_attribute = 255};

static const firn_operand operands_76[] = {
    {.type = FIRN_FLOAT32, .form = FIRN_FORM_VECTOR, .a = 1, .b = 1, .changed = FIRN_FRESH, .optional = true},
    {.type = FIRN_FLOAT32, .form = FIRN_FORM_VECTOR, .a = 1, .b = 1, .changed = FIRN_FRESH},
};
const firn_op_info firn_op_row_loss_seed = {
    .code = 27, .operands = operands_76, .ranges = ranges_12, .inputs = 1, .inputs_min = 0, .inputs_max = 1,
    .outputs = 1, .integers = 0, .reals = 1, .reductions = 0, .in_place = 0, .autocast = FIRN_AUTOCAST_fixed,
    .outputs_min = 1, .integers_min = 0, .reals_min = 1,
    .pol = FIRN_POL_none, .cost = FIRN_COST_none, .begins = FIRN_BEGINS_nothing, .gathers = 0, .metric = 0, .buffers = 0,
    .reduced = 255, .inner = 0, .inner_flag = 255, .typed = 255, .factors = 255,
    .index_operand = 255, .index_table = 255, .index_from_end = 0, .index_attribute = 255};

static const firn_operand operands_77[] = {
    {.type = FIRN_FLOAT32, .form = FIRN_FORM_ANY, .changed = FIRN_FRESH},
    {.type = FIRN_TYPE_REAL, .form = FIRN_FORM_LIKE, .a = 0, .changed = FIRN_FRESH},
    {.type = FIRN_TYPE_OF_INPUT + 0, .form = FIRN_FORM_LIKE, .a = 0, .changed = 0},
};
const firn_op_info firn_op_row_accumulate = {
    .code = 29, .operands = operands_77, .inputs = 2, .inputs_min = 2, .inputs_max = 2,
    .outputs = 1, .integers = 0, .reals = 0, .reductions = 0, .in_place = 1, .autocast = FIRN_AUTOCAST_fixed,
    .outputs_min = 1, .integers_min = 0, .reals_min = 0,
    .pol = FIRN_POL_none, .cost = FIRN_COST_none, .begins = FIRN_BEGINS_first, .gathers = 0, .metric = 0, .buffers = 0,
    .reduced = 255, .inner = 0, .inner_flag = 255, .typed = 255, .factors = 255,
    .index_operand = 255, .index_table = 255, .index_from_end = 0, .index_attribute = 255};

static const firn_operand operands_78[] = {
    {.type = FIRN_FLOAT32, .form = FIRN_FORM_ANY, .changed = FIRN_FRESH},
    {.type = FIRN_TYPE_REAL, .form = FIRN_FORM_LIKE, .a = 0, .changed = FIRN_FRESH},
    {.type = FIRN_FLOAT32, .form = FIRN_FORM_OWN, .changed = FIRN_FRESH, .optional = true},
    {.type = FIRN_TYPE_OF_INPUT + 0, .form = FIRN_FORM_LIKE, .a = 0, .changed = 0},
    {.type = FIRN_TYPE_OF_INPUT + 2, .form = FIRN_FORM_LIKE, .a = 2, .changed = 2},
};
static const uint8_t ranges_36[] = {
    FIRN_RANGE_INT31,
};
const firn_op_info firn_op_row_accumulate_tree = {
    .code = 278, .operands = operands_78, .ranges = ranges_36, .inputs = 3, .inputs_min = 2, .inputs_max = 3,
    .outputs = 2, .integers = 1, .reals = 0, .reductions = 0, .in_place = 1, .autocast = FIRN_AUTOCAST_fixed,
    .outputs_min = 1, .integers_min = 1, .reals_min = 0,
    .pol = FIRN_POL_none, .cost = FIRN_COST_none, .begins = FIRN_BEGINS_last, .gathers = 0, .metric = 0, .buffers = 0,
    .reduced = 255, .inner = 0, .inner_flag = 255, .typed = 255, .factors = 255,
    .index_operand = 255, .index_table = 255, .index_from_end = 0, .index_attribute = 255};

static const firn_operand operands_79[] = {
    {.type = FIRN_TYPE_REAL, .form = FIRN_FORM_ANY, .changed = FIRN_FRESH},
    {.type = FIRN_FLOAT32, .form = FIRN_FORM_VECTOR, .a = FIRN_EXTENT_LETTER + 0, .b = 0, .changed = FIRN_FRESH},
    {.type = FIRN_FLOAT32, .form = FIRN_FORM_VECTOR, .a = 1, .b = 1, .changed = FIRN_FRESH, .optional = true},
    {.type = FIRN_TYPE_OF_INPUT + 1, .form = FIRN_FORM_LIKE, .a = 1, .changed = 1},
    {.type = FIRN_FLOAT32, .form = FIRN_FORM_SUMS, .a = 0, .changed = FIRN_FRESH, .scratch = true},
};
const firn_op_info firn_op_row_sum_of_squares = {
    .code = 31, .operands = operands_79, .ranges = ranges_2, .inputs = 3, .inputs_min = 2, .inputs_max = 3,
    .outputs = 2, .integers = 1, .reals = 0, .reductions = 0, .in_place = 2, .autocast = FIRN_AUTOCAST_fixed,
    .outputs_min = 2, .integers_min = 1, .reals_min = 0,
    .pol = FIRN_POL_none, .cost = FIRN_COST_none, .begins = FIRN_BEGINS_partial, .gathers = 0, .metric = 0, .buffers = 0,
    .reduced = 255, .inner = 0, .inner_flag = 255, .typed = 255, .factors = 255,
    .index_operand = 255, .index_table = 255, .index_from_end = 0, .index_attribute = 255};

static const firn_operand operands_80[] = {
    {.type = FIRN_TYPE_REAL, .form = FIRN_FORM_ANY, .changed = FIRN_FRESH},
    {.type = FIRN_FLOAT32, .form = FIRN_FORM_VECTOR, .a = FIRN_EXTENT_LETTER + 0, .b = 0, .changed = FIRN_FRESH},
    {.type = FIRN_TYPE_OF_INPUT + 1, .form = FIRN_FORM_LIKE, .a = 1, .changed = 1},
    {.type = FIRN_FLOAT32, .form = FIRN_FORM_SUMS, .a = 0, .changed = FIRN_FRESH, .scratch = true},
};
const firn_op_info firn_op_row_largest_magnitude = {
    .code = 260, .operands = operands_80, .ranges = ranges_2, .inputs = 2, .inputs_min = 2, .inputs_max = 2,
    .outputs = 2, .integers = 1, .reals = 0, .reductions = 0, .in_place = 2, .autocast = FIRN_AUTOCAST_fixed,
    .outputs_min = 2, .integers_min = 1, .reals_min = 0,
    .pol = FIRN_POL_none, .cost = FIRN_COST_none, .begins = FIRN_BEGINS_partial, .gathers = 0, .metric = 0, .buffers = 0,
    .reduced = 255, .inner = 0, .inner_flag = 255, .typed = 255, .factors = 255,
    .index_operand = 255, .index_table = 255, .index_from_end = 0, .index_attribute = 255};

static const firn_operand operands_81[] = {
    {.type = FIRN_FLOAT32, .form = FIRN_FORM_VECTOR, .a = FIRN_EXTENT_LETTER + 0, .b = 0, .changed = FIRN_FRESH},
    {.type = FIRN_FLOAT32, .form = FIRN_FORM_VECTOR, .a = 1, .b = 1, .changed = FIRN_FRESH},
};
const firn_op_info firn_op_row_gradient_magnitude = {
    .code = 261, .operands = operands_81, .inputs = 1, .inputs_min = 1, .inputs_max = 1,
    .outputs = 1, .integers = 0, .reals = 0, .reductions = 0, .in_place = 0, .autocast = FIRN_AUTOCAST_fixed,
    .outputs_min = 1, .integers_min = 0, .reals_min = 0,
    .pol = FIRN_POL_none, .cost = FIRN_COST_none, .begins = FIRN_BEGINS_nothing, .gathers = 1, .metric = 0, .buffers = 0,
    .reduced = 255, .inner = 0, .inner_flag = 255, .typed = 255, .factors = 255,
    .index_operand = 255, .index_table = 255, .index_from_end = 0, .index_attribute = 255};

static const firn_operand operands_82[] = {
    {.type = FIRN_TYPE_REAL, .form = FIRN_FORM_ANY, .changed = FIRN_FRESH},
    {.type = FIRN_FLOAT32, .form = FIRN_FORM_VECTOR, .a = FIRN_EXTENT_LETTER + 0, .b = 0, .changed = FIRN_FRESH},
    {.type = FIRN_FLOAT32, .form = FIRN_FORM_VECTOR, .a = 1, .b = 1, .changed = FIRN_FRESH},
    {.type = FIRN_FLOAT32, .form = FIRN_FORM_VECTOR, .a = 1, .b = 1, .changed = FIRN_FRESH, .optional = true},
    {.type = FIRN_TYPE_OF_INPUT + 1, .form = FIRN_FORM_LIKE, .a = 1, .changed = 1},
    {.type = FIRN_FLOAT32, .form = FIRN_FORM_SUMS, .a = 0, .changed = FIRN_FRESH, .scratch = true},
};
const firn_op_info firn_op_row_sum_of_scaled_squares = {
    .code = 262, .operands = operands_82, .ranges = ranges_2, .inputs = 4, .inputs_min = 3, .inputs_max = 4,
    .outputs = 2, .integers = 1, .reals = 0, .reductions = 0, .in_place = 2, .autocast = FIRN_AUTOCAST_fixed,
    .outputs_min = 2, .integers_min = 1, .reals_min = 0,
    .pol = FIRN_POL_none, .cost = FIRN_COST_none, .begins = FIRN_BEGINS_partial, .gathers = 0, .metric = 0, .buffers = 0,
    .reduced = 255, .inner = 0, .inner_flag = 255, .typed = 255, .factors = 255,
    .index_operand = 255, .index_table = 255, .index_from_end = 0, .index_attribute = 255};

static const firn_operand operands_83[] = {
    {.type = FIRN_FLOAT32, .form = FIRN_FORM_VECTOR, .a = FIRN_EXTENT_LETTER + 0, .b = 0, .changed = FIRN_FRESH},
    {.type = FIRN_FLOAT32, .form = FIRN_FORM_VECTOR, .a = 1, .b = 1, .changed = FIRN_FRESH, .optional = true},
    {.type = FIRN_FLOAT32, .form = FIRN_FORM_VECTOR, .a = 1, .b = 1, .changed = FIRN_FRESH, .optional = true},
    {.type = FIRN_FLOAT32, .form = FIRN_FORM_VECTOR, .a = 1, .b = 1, .changed = FIRN_FRESH},
    {.type = FIRN_INT32, .form = FIRN_FORM_VECTOR, .a = 1, .b = 1, .changed = FIRN_FRESH},
    {.type = FIRN_FLOAT32, .form = FIRN_FORM_VECTOR, .a = 1, .b = 1, .changed = FIRN_FRESH},
};
const firn_op_info firn_op_row_gradient_norm = {
    .code = 32, .operands = operands_83, .inputs = 3, .inputs_min = 1, .inputs_max = 3,
    .outputs = 3, .integers = 0, .reals = 0, .reductions = 0, .in_place = 0, .autocast = FIRN_AUTOCAST_fixed,
    .outputs_min = 2, .integers_min = 0, .reals_min = 0,
    .pol = FIRN_POL_none, .cost = FIRN_COST_none, .begins = FIRN_BEGINS_nothing, .gathers = 1, .metric = 0, .buffers = 0,
    .reduced = 255, .inner = 0, .inner_flag = 255, .typed = 255, .factors = 255,
    .index_operand = 255, .index_table = 255, .index_from_end = 0, .index_attribute = 255};

static const firn_operand operands_84[] = {
    {.type = FIRN_FLOAT32, .form = FIRN_FORM_VECTOR, .a = 1, .b = 1, .changed = FIRN_FRESH, .optional = true},
    {.type = FIRN_FLOAT32, .form = FIRN_FORM_VECTOR, .a = 1, .b = 1, .changed = FIRN_FRESH, .optional = true},
    {.type = FIRN_FLOAT32, .form = FIRN_FORM_VECTOR, .a = 1, .b = 1, .changed = FIRN_FRESH, .optional = true},
    {.type = FIRN_FLOAT32, .form = FIRN_FORM_VECTOR, .a = 1, .b = 1, .changed = FIRN_FRESH, .optional = true},
    {.type = FIRN_FLOAT32, .form = FIRN_FORM_VECTOR, .a = 3, .b = 3, .changed = FIRN_FRESH},
};
static const uint8_t ranges_37[] = {
    FIRN_RANGE_OWN,
    FIRN_RANGE_OWN,
};
const firn_op_info firn_op_row_gradient_factors = {
    .code = 44, .operands = operands_84, .ranges = ranges_37, .inputs = 4, .inputs_min = 0, .inputs_max = 4,
    .outputs = 1, .integers = 1, .reals = 1, .reductions = 0, .in_place = 0, .autocast = FIRN_AUTOCAST_fixed,
    .outputs_min = 1, .integers_min = 1, .reals_min = 1,
    .pol = FIRN_POL_none, .cost = FIRN_COST_none, .begins = FIRN_BEGINS_nothing, .gathers = 0, .metric = 0, .buffers = 0,
    .reduced = 255, .inner = 0, .inner_flag = 255, .typed = 255, .factors = 255,
    .index_operand = 255, .index_table = 255, .index_from_end = 0, .index_attribute = 255};

static const firn_operand operands_85[] = {
    {.type = FIRN_FLOAT32, .form = FIRN_FORM_VECTOR, .a = 1, .b = 1, .changed = FIRN_FRESH},
    {.type = FIRN_FLOAT32, .form = FIRN_FORM_VECTOR, .a = 3, .b = 3, .changed = FIRN_FRESH, .optional = true},
    {.type = FIRN_FLOAT32, .form = FIRN_FORM_VECTOR, .a = 4, .b = 4, .changed = FIRN_FRESH},
};
const firn_op_info firn_op_row_decay_factors = {
    .code = 60, .operands = operands_85, .inputs = 2, .inputs_min = 1, .inputs_max = 2,
    .outputs = 1, .integers = 0, .reals = 0, .reductions = 0, .in_place = 0, .autocast = FIRN_AUTOCAST_fixed,
    .outputs_min = 1, .integers_min = 0, .reals_min = 0,
    .pol = FIRN_POL_none, .cost = FIRN_COST_none, .begins = FIRN_BEGINS_nothing, .gathers = 0, .metric = 0, .buffers = 0,
    .reduced = 255, .inner = 0, .inner_flag = 255, .typed = 255, .factors = 1,
    .index_operand = 255, .index_table = 255, .index_from_end = 0, .index_attribute = 255};

static const firn_operand operands_86[] = {
    {.type = FIRN_FLOAT32, .form = FIRN_FORM_ANY, .changed = FIRN_FRESH},
    {.type = FIRN_TYPE_REAL, .form = FIRN_FORM_LIKE, .a = 0, .changed = FIRN_FRESH},
    {.type = FIRN_FLOAT32, .form = FIRN_FORM_VECTOR, .a = 1, .b = 1, .changed = FIRN_FRESH},
    {.type = FIRN_FLOAT32, .form = FIRN_FORM_LIKE, .a = 0, .changed = FIRN_FRESH},
    {.type = FIRN_FLOAT32, .form = FIRN_FORM_LIKE, .a = 0, .changed = FIRN_FRESH},
    {.type = FIRN_FLOAT32, .form = FIRN_FORM_VECTOR, .a = 1, .b = 1, .changed = FIRN_FRESH},
    {.type = FIRN_FLOAT32, .form = FIRN_FORM_VECTOR, .a = 1, .b = 1, .changed = FIRN_FRESH},
    {.type = FIRN_FLOAT32, .form = FIRN_FORM_VECTOR, .a = 3, .b = 4, .changed = FIRN_FRESH, .optional = true},
    {.type = FIRN_TYPE_OF_INPUT + 0, .form = FIRN_FORM_LIKE, .a = 0, .changed = 0},
    {.type = FIRN_TYPE_OF_INPUT + 3, .form = FIRN_FORM_LIKE, .a = 3, .changed = 3},
    {.type = FIRN_TYPE_OF_INPUT + 4, .form = FIRN_FORM_LIKE, .a = 4, .changed = 4},
};
static const uint8_t ranges_38[] = {
    FIRN_RANGE_FLAG,
    FIRN_RANGE_RATE,
    FIRN_RANGE_RATE,
    FIRN_RANGE_POSITIVE,
    FIRN_RANGE_DECAY,
};
const firn_op_info firn_op_row_adamw = {
    .code = 36, .operands = operands_86, .ranges = ranges_38, .inputs = 8, .inputs_min = 7, .inputs_max = 8,
    .outputs = 3, .integers = 1, .reals = 4, .reductions = 0, .in_place = 1, .autocast = FIRN_AUTOCAST_fixed,
    .outputs_min = 3, .integers_min = 1, .reals_min = 4,
    .pol = FIRN_POL_none, .cost = FIRN_COST_none, .begins = FIRN_BEGINS_nothing, .gathers = 0, .metric = 0, .buffers = 0,
    .reduced = 255, .inner = 0, .inner_flag = 255, .typed = 255, .factors = 7,
    .index_operand = 255, .index_table = 255, .index_from_end = 0, .index_attribute = 255};

static const firn_operand operands_87[] = {
    {.type = FIRN_FLOAT32, .form = FIRN_FORM_ANY, .changed = FIRN_FRESH},
    {.type = FIRN_TYPE_REAL, .form = FIRN_FORM_LIKE, .a = 0, .changed = FIRN_FRESH},
    {.type = FIRN_FLOAT32, .form = FIRN_FORM_VECTOR, .a = 1, .b = 1, .changed = FIRN_FRESH},
    {.type = FIRN_FLOAT32, .form = FIRN_FORM_VECTOR, .a = 3, .b = 4, .changed = FIRN_FRESH, .optional = true},
    {.type = FIRN_TYPE_OF_INPUT + 0, .form = FIRN_FORM_LIKE, .a = 0, .changed = 0},
};
static const uint8_t ranges_39[] = {
    FIRN_RANGE_FLAG,
    FIRN_RANGE_DECAY,
};
const firn_op_info firn_op_row_sgd = {
    .code = 37, .operands = operands_87, .ranges = ranges_39, .inputs = 4, .inputs_min = 3, .inputs_max = 4,
    .outputs = 1, .integers = 1, .reals = 1, .reductions = 0, .in_place = 1, .autocast = FIRN_AUTOCAST_fixed,
    .outputs_min = 1, .integers_min = 1, .reals_min = 1,
    .pol = FIRN_POL_none, .cost = FIRN_COST_none, .begins = FIRN_BEGINS_nothing, .gathers = 0, .metric = 0, .buffers = 0,
    .reduced = 255, .inner = 0, .inner_flag = 255, .typed = 255, .factors = 3,
    .index_operand = 255, .index_table = 255, .index_from_end = 0, .index_attribute = 255};

static const firn_operand operands_88[] = {
    {.type = FIRN_FLOAT32, .form = FIRN_FORM_ANY, .changed = FIRN_FRESH},
    {.type = FIRN_TYPE_REAL, .form = FIRN_FORM_LIKE, .a = 0, .changed = FIRN_FRESH},
    {.type = FIRN_FLOAT32, .form = FIRN_FORM_VECTOR, .a = 1, .b = 1, .changed = FIRN_FRESH},
    {.type = FIRN_FLOAT32, .form = FIRN_FORM_LIKE, .a = 0, .changed = FIRN_FRESH},
    {.type = FIRN_FLOAT32, .form = FIRN_FORM_VECTOR, .a = 3, .b = 4, .changed = FIRN_FRESH, .optional = true},
    {.type = FIRN_TYPE_OF_INPUT + 0, .form = FIRN_FORM_LIKE, .a = 0, .changed = 0},
    {.type = FIRN_TYPE_OF_INPUT + 3, .form = FIRN_FORM_LIKE, .a = 3, .changed = 3},
};
static const uint8_t ranges_40[] = {
    FIRN_RANGE_FLAG,
    FIRN_RANGE_FLAG,
    FIRN_RANGE_NOT_NEGATIVE,
    FIRN_RANGE_FINITE,
    FIRN_RANGE_DECAY,
};
const firn_op_info firn_op_row_sgd_momentum = {
    .code = 43, .operands = operands_88, .ranges = ranges_40, .inputs = 5, .inputs_min = 4, .inputs_max = 5,
    .outputs = 2, .integers = 2, .reals = 3, .reductions = 0, .in_place = 1, .autocast = FIRN_AUTOCAST_fixed,
    .outputs_min = 2, .integers_min = 2, .reals_min = 3,
    .pol = FIRN_POL_none, .cost = FIRN_COST_none, .begins = FIRN_BEGINS_nothing, .gathers = 0, .metric = 0, .buffers = 0,
    .reduced = 255, .inner = 0, .inner_flag = 255, .typed = 255, .factors = 4,
    .index_operand = 255, .index_table = 255, .index_from_end = 0, .index_attribute = 255};

static const firn_operand operands_89[] = {
    {.type = FIRN_FLOAT32, .form = FIRN_FORM_ANY, .changed = FIRN_FRESH},
    {.type = FIRN_TYPE_REAL, .form = FIRN_FORM_LIKE, .a = 0, .changed = FIRN_FRESH},
    {.type = FIRN_FLOAT32, .form = FIRN_FORM_VECTOR, .a = 1, .b = 1, .changed = FIRN_FRESH},
    {.type = FIRN_FLOAT32, .form = FIRN_FORM_LIKE, .a = 0, .changed = FIRN_FRESH},
    {.type = FIRN_FLOAT32, .form = FIRN_FORM_LIKE, .a = 0, .changed = FIRN_FRESH},
    {.type = FIRN_INT64, .form = FIRN_FORM_VECTOR, .a = 1, .b = 1, .changed = FIRN_FRESH},
    {.type = FIRN_FLOAT32, .form = FIRN_FORM_VECTOR, .a = 3, .b = 4, .changed = FIRN_FRESH, .optional = true},
    {.type = FIRN_TYPE_OF_INPUT + 0, .form = FIRN_FORM_LIKE, .a = 0, .changed = 0},
    {.type = FIRN_TYPE_OF_INPUT + 3, .form = FIRN_FORM_LIKE, .a = 3, .changed = 3},
    {.type = FIRN_TYPE_OF_INPUT + 4, .form = FIRN_FORM_LIKE, .a = 4, .changed = 4},
};
static const uint8_t ranges_41[] = {
    FIRN_RANGE_RATE,
    FIRN_RANGE_RATE,
    FIRN_RANGE_POSITIVE,
    FIRN_RANGE_DECAY,
};
const firn_op_info firn_op_row_adam = {
    .code = 65, .operands = operands_89, .ranges = ranges_41, .inputs = 7, .inputs_min = 6, .inputs_max = 7,
    .outputs = 3, .integers = 0, .reals = 4, .reductions = 0, .in_place = 1, .autocast = FIRN_AUTOCAST_fixed,
    .outputs_min = 3, .integers_min = 0, .reals_min = 4,
    .pol = FIRN_POL_none, .cost = FIRN_COST_none, .begins = FIRN_BEGINS_nothing, .gathers = 0, .metric = 0, .buffers = 0,
    .reduced = 255, .inner = 0, .inner_flag = 255, .typed = 255, .factors = 6,
    .index_operand = 255, .index_table = 255, .index_from_end = 0, .index_attribute = 255};

static const firn_operand operands_90[] = {
    {.type = FIRN_FLOAT32, .form = FIRN_FORM_ANY, .changed = FIRN_FRESH},
    {.type = FIRN_TYPE_REAL, .form = FIRN_FORM_LIKE, .a = 0, .changed = FIRN_FRESH},
    {.type = FIRN_FLOAT32, .form = FIRN_FORM_VECTOR, .a = 1, .b = 1, .changed = FIRN_FRESH},
    {.type = FIRN_FLOAT32, .form = FIRN_FORM_LIKE, .a = 0, .changed = FIRN_FRESH},
    {.type = FIRN_FLOAT32, .form = FIRN_FORM_LIKE, .a = 0, .changed = FIRN_FRESH},
    {.type = FIRN_FLOAT32, .form = FIRN_FORM_LIKE, .a = 0, .changed = FIRN_FRESH},
    {.type = FIRN_INT64, .form = FIRN_FORM_VECTOR, .a = 1, .b = 1, .changed = FIRN_FRESH},
    {.type = FIRN_FLOAT32, .form = FIRN_FORM_VECTOR, .a = 3, .b = 4, .changed = FIRN_FRESH, .optional = true},
    {.type = FIRN_TYPE_OF_INPUT + 0, .form = FIRN_FORM_LIKE, .a = 0, .changed = 0},
    {.type = FIRN_TYPE_OF_INPUT + 3, .form = FIRN_FORM_LIKE, .a = 3, .changed = 3},
    {.type = FIRN_TYPE_OF_INPUT + 4, .form = FIRN_FORM_LIKE, .a = 4, .changed = 4},
    {.type = FIRN_TYPE_OF_INPUT + 5, .form = FIRN_FORM_LIKE, .a = 5, .changed = 5},
};
static const uint8_t ranges_42[] = {
    FIRN_RANGE_FLAG,
    FIRN_RANGE_FLAG,
    FIRN_RANGE_RATE,
    FIRN_RANGE_RATE,
    FIRN_RANGE_POSITIVE,
    FIRN_RANGE_DECAY,
};
const firn_op_info firn_op_row_adam_amsgrad = {
    .code = 66, .operands = operands_90, .ranges = ranges_42, .inputs = 8, .inputs_min = 7, .inputs_max = 8,
    .outputs = 4, .integers = 2, .reals = 4, .reductions = 0, .in_place = 1, .autocast = FIRN_AUTOCAST_fixed,
    .outputs_min = 4, .integers_min = 2, .reals_min = 4,
    .pol = FIRN_POL_none, .cost = FIRN_COST_none, .begins = FIRN_BEGINS_nothing, .gathers = 0, .metric = 0, .buffers = 0,
    .reduced = 255, .inner = 0, .inner_flag = 255, .typed = 255, .factors = 7,
    .index_operand = 255, .index_table = 255, .index_from_end = 0, .index_attribute = 255};

const firn_op_info firn_op_row_radam = {
    .code = 67, .operands = operands_89, .ranges = ranges_41, .inputs = 7, .inputs_min = 6, .inputs_max = 7,
    .outputs = 3, .integers = 0, .reals = 4, .reductions = 0, .in_place = 1, .autocast = FIRN_AUTOCAST_fixed,
    .outputs_min = 3, .integers_min = 0, .reals_min = 4,
    .pol = FIRN_POL_none, .cost = FIRN_COST_none, .begins = FIRN_BEGINS_nothing, .gathers = 0, .metric = 0, .buffers = 0,
    .reduced = 255, .inner = 0, .inner_flag = 255, .typed = 255, .factors = 6,
    .index_operand = 255, .index_table = 255, .index_from_end = 0, .index_attribute = 255};

static const firn_operand operands_91[] = {
    {.type = FIRN_FLOAT32, .form = FIRN_FORM_ANY, .changed = FIRN_FRESH},
    {.type = FIRN_TYPE_REAL, .form = FIRN_FORM_LIKE, .a = 0, .changed = FIRN_FRESH},
    {.type = FIRN_FLOAT32, .form = FIRN_FORM_VECTOR, .a = 1, .b = 1, .changed = FIRN_FRESH},
    {.type = FIRN_FLOAT32, .form = FIRN_FORM_LIKE, .a = 0, .changed = FIRN_FRESH},
    {.type = FIRN_FLOAT32, .form = FIRN_FORM_LIKE, .a = 0, .changed = FIRN_FRESH},
    {.type = FIRN_FLOAT32, .form = FIRN_FORM_VECTOR, .a = 1, .b = 1, .changed = FIRN_FRESH},
    {.type = FIRN_INT64, .form = FIRN_FORM_VECTOR, .a = 1, .b = 1, .changed = FIRN_FRESH},
    {.type = FIRN_FLOAT32, .form = FIRN_FORM_VECTOR, .a = 3, .b = 4, .changed = FIRN_FRESH, .optional = true},
    {.type = FIRN_TYPE_OF_INPUT + 0, .form = FIRN_FORM_LIKE, .a = 0, .changed = 0},
    {.type = FIRN_TYPE_OF_INPUT + 3, .form = FIRN_FORM_LIKE, .a = 3, .changed = 3},
    {.type = FIRN_TYPE_OF_INPUT + 4, .form = FIRN_FORM_LIKE, .a = 4, .changed = 4},
    {.type = FIRN_TYPE_OF_INPUT + 5, .form = FIRN_FORM_LIKE, .a = 5, .changed = 5},
};
static const uint8_t ranges_43[] = {
    FIRN_RANGE_RATE,
    FIRN_RANGE_RATE,
    FIRN_RANGE_POSITIVE,
    FIRN_RANGE_DECAY,
    FIRN_RANGE_NOT_NEGATIVE,
};
const firn_op_info firn_op_row_nadam = {
    .code = 68, .operands = operands_91, .ranges = ranges_43, .inputs = 8, .inputs_min = 7, .inputs_max = 8,
    .outputs = 4, .integers = 0, .reals = 5, .reductions = 0, .in_place = 1, .autocast = FIRN_AUTOCAST_fixed,
    .outputs_min = 4, .integers_min = 0, .reals_min = 5,
    .pol = FIRN_POL_none, .cost = FIRN_COST_none, .begins = FIRN_BEGINS_nothing, .gathers = 0, .metric = 0, .buffers = 0,
    .reduced = 255, .inner = 0, .inner_flag = 255, .typed = 255, .factors = 7,
    .index_operand = 255, .index_table = 255, .index_from_end = 0, .index_attribute = 255};

const firn_op_info firn_op_row_adamax = {
    .code = 69, .operands = operands_89, .ranges = ranges_38, .inputs = 7, .inputs_min = 6, .inputs_max = 7,
    .outputs = 3, .integers = 1, .reals = 4, .reductions = 0, .in_place = 1, .autocast = FIRN_AUTOCAST_fixed,
    .outputs_min = 3, .integers_min = 1, .reals_min = 4,
    .pol = FIRN_POL_none, .cost = FIRN_COST_none, .begins = FIRN_BEGINS_nothing, .gathers = 0, .metric = 0, .buffers = 0,
    .reduced = 255, .inner = 0, .inner_flag = 255, .typed = 255, .factors = 6,
    .index_operand = 255, .index_table = 255, .index_from_end = 0, .index_attribute = 255};

static const firn_operand operands_92[] = {
    {.type = FIRN_FLOAT32, .form = FIRN_FORM_ANY, .changed = FIRN_FRESH},
    {.type = FIRN_TYPE_REAL, .form = FIRN_FORM_LIKE, .a = 0, .changed = FIRN_FRESH},
    {.type = FIRN_FLOAT32, .form = FIRN_FORM_VECTOR, .a = 1, .b = 1, .changed = FIRN_FRESH},
    {.type = FIRN_FLOAT32, .form = FIRN_FORM_LIKE, .a = 0, .changed = FIRN_FRESH},
    {.type = FIRN_FLOAT32, .form = FIRN_FORM_LIKE, .a = 0, .changed = FIRN_FRESH},
    {.type = FIRN_FLOAT32, .form = FIRN_FORM_VECTOR, .a = 3, .b = 4, .changed = FIRN_FRESH, .optional = true},
    {.type = FIRN_TYPE_OF_INPUT + 0, .form = FIRN_FORM_LIKE, .a = 0, .changed = 0},
    {.type = FIRN_TYPE_OF_INPUT + 3, .form = FIRN_FORM_LIKE, .a = 3, .changed = 3},
    {.type = FIRN_TYPE_OF_INPUT + 4, .form = FIRN_FORM_LIKE, .a = 4, .changed = 4},
    {.type = FIRN_FLOAT32, .form = FIRN_FORM_SUMS, .a = 0, .changed = FIRN_FRESH, .scratch = true},
    {.type = FIRN_FLOAT32, .form = FIRN_FORM_SUMS, .a = 0, .changed = FIRN_FRESH, .scratch = true},
};
const firn_op_info firn_op_row_lamb = {
    .code = 70, .operands = operands_92, .ranges = ranges_38, .inputs = 6, .inputs_min = 5, .inputs_max = 6,
    .outputs = 5, .integers = 1, .reals = 4, .reductions = 0, .in_place = 1, .autocast = FIRN_AUTOCAST_fixed,
    .outputs_min = 5, .integers_min = 1, .reals_min = 4,
    .pol = FIRN_POL_none, .cost = FIRN_COST_none, .begins = FIRN_BEGINS_nothing, .gathers = 0, .metric = 0, .buffers = 0,
    .reduced = 255, .inner = 0, .inner_flag = 255, .typed = 255, .factors = 5,
    .index_operand = 255, .index_table = 255, .index_from_end = 0, .index_attribute = 255};

static const uint8_t ranges_44[] = {
    FIRN_RANGE_RATE,
    FIRN_RANGE_RATE,
    FIRN_RANGE_DECAY,
};
const firn_op_info firn_op_row_lion = {
    .code = 71, .operands = operands_88, .ranges = ranges_44, .inputs = 5, .inputs_min = 4, .inputs_max = 5,
    .outputs = 2, .integers = 0, .reals = 3, .reductions = 0, .in_place = 1, .autocast = FIRN_AUTOCAST_fixed,
    .outputs_min = 2, .integers_min = 0, .reals_min = 3,
    .pol = FIRN_POL_none, .cost = FIRN_COST_none, .begins = FIRN_BEGINS_nothing, .gathers = 0, .metric = 0, .buffers = 0,
    .reduced = 255, .inner = 0, .inner_flag = 255, .typed = 255, .factors = 4,
    .index_operand = 255, .index_table = 255, .index_from_end = 0, .index_attribute = 255};

static const uint8_t ranges_45[] = {
    FIRN_RANGE_RATE,
    FIRN_RANGE_POSITIVE,
    FIRN_RANGE_DECAY,
};
const firn_op_info firn_op_row_rmsprop = {
    .code = 72, .operands = operands_88, .ranges = ranges_45, .inputs = 5, .inputs_min = 4, .inputs_max = 5,
    .outputs = 2, .integers = 0, .reals = 3, .reductions = 0, .in_place = 1, .autocast = FIRN_AUTOCAST_fixed,
    .outputs_min = 2, .integers_min = 0, .reals_min = 3,
    .pol = FIRN_POL_none, .cost = FIRN_COST_none, .begins = FIRN_BEGINS_nothing, .gathers = 0, .metric = 0, .buffers = 0,
    .reduced = 255, .inner = 0, .inner_flag = 255, .typed = 255, .factors = 4,
    .index_operand = 255, .index_table = 255, .index_from_end = 0, .index_attribute = 255};

static const firn_operand operands_93[] = {
    {.type = FIRN_FLOAT32, .form = FIRN_FORM_ANY, .changed = FIRN_FRESH},
    {.type = FIRN_TYPE_REAL, .form = FIRN_FORM_LIKE, .a = 0, .changed = FIRN_FRESH},
    {.type = FIRN_FLOAT32, .form = FIRN_FORM_VECTOR, .a = 1, .b = 1, .changed = FIRN_FRESH},
    {.type = FIRN_FLOAT32, .form = FIRN_FORM_LIKE, .a = 0, .changed = FIRN_FRESH},
    {.type = FIRN_FLOAT32, .form = FIRN_FORM_LIKE, .a = 0, .changed = FIRN_FRESH},
    {.type = FIRN_FLOAT32, .form = FIRN_FORM_VECTOR, .a = 3, .b = 4, .changed = FIRN_FRESH, .optional = true},
    {.type = FIRN_TYPE_OF_INPUT + 0, .form = FIRN_FORM_LIKE, .a = 0, .changed = 0},
    {.type = FIRN_TYPE_OF_INPUT + 3, .form = FIRN_FORM_LIKE, .a = 3, .changed = 3},
    {.type = FIRN_TYPE_OF_INPUT + 4, .form = FIRN_FORM_LIKE, .a = 4, .changed = 4},
};
static const uint8_t ranges_46[] = {
    FIRN_RANGE_RATE,
    FIRN_RANGE_POSITIVE,
    FIRN_RANGE_DECAY,
    FIRN_RANGE_NOT_NEGATIVE,
};
const firn_op_info firn_op_row_rmsprop_momentum = {
    .code = 73, .operands = operands_93, .ranges = ranges_46, .inputs = 6, .inputs_min = 5, .inputs_max = 6,
    .outputs = 3, .integers = 0, .reals = 4, .reductions = 0, .in_place = 1, .autocast = FIRN_AUTOCAST_fixed,
    .outputs_min = 3, .integers_min = 0, .reals_min = 4,
    .pol = FIRN_POL_none, .cost = FIRN_COST_none, .begins = FIRN_BEGINS_nothing, .gathers = 0, .metric = 0, .buffers = 0,
    .reduced = 255, .inner = 0, .inner_flag = 255, .typed = 255, .factors = 5,
    .index_operand = 255, .index_table = 255, .index_from_end = 0, .index_attribute = 255};

const firn_op_info firn_op_row_rmsprop_centered = {
    .code = 74, .operands = operands_93, .ranges = ranges_45, .inputs = 6, .inputs_min = 5, .inputs_max = 6,
    .outputs = 3, .integers = 0, .reals = 3, .reductions = 0, .in_place = 1, .autocast = FIRN_AUTOCAST_fixed,
    .outputs_min = 3, .integers_min = 0, .reals_min = 3,
    .pol = FIRN_POL_none, .cost = FIRN_COST_none, .begins = FIRN_BEGINS_nothing, .gathers = 0, .metric = 0, .buffers = 0,
    .reduced = 255, .inner = 0, .inner_flag = 255, .typed = 255, .factors = 5,
    .index_operand = 255, .index_table = 255, .index_from_end = 0, .index_attribute = 255};

static const firn_operand operands_94[] = {
    {.type = FIRN_FLOAT32, .form = FIRN_FORM_ANY, .changed = FIRN_FRESH},
    {.type = FIRN_TYPE_REAL, .form = FIRN_FORM_LIKE, .a = 0, .changed = FIRN_FRESH},
    {.type = FIRN_FLOAT32, .form = FIRN_FORM_VECTOR, .a = 1, .b = 1, .changed = FIRN_FRESH},
    {.type = FIRN_FLOAT32, .form = FIRN_FORM_LIKE, .a = 0, .changed = FIRN_FRESH},
    {.type = FIRN_FLOAT32, .form = FIRN_FORM_LIKE, .a = 0, .changed = FIRN_FRESH},
    {.type = FIRN_FLOAT32, .form = FIRN_FORM_LIKE, .a = 0, .changed = FIRN_FRESH},
    {.type = FIRN_FLOAT32, .form = FIRN_FORM_VECTOR, .a = 3, .b = 4, .changed = FIRN_FRESH, .optional = true},
    {.type = FIRN_TYPE_OF_INPUT + 0, .form = FIRN_FORM_LIKE, .a = 0, .changed = 0},
    {.type = FIRN_TYPE_OF_INPUT + 3, .form = FIRN_FORM_LIKE, .a = 3, .changed = 3},
    {.type = FIRN_TYPE_OF_INPUT + 4, .form = FIRN_FORM_LIKE, .a = 4, .changed = 4},
    {.type = FIRN_TYPE_OF_INPUT + 5, .form = FIRN_FORM_LIKE, .a = 5, .changed = 5},
};
const firn_op_info firn_op_row_rmsprop_centered_momentum = {
    .code = 75, .operands = operands_94, .ranges = ranges_46, .inputs = 7, .inputs_min = 6, .inputs_max = 7,
    .outputs = 4, .integers = 0, .reals = 4, .reductions = 0, .in_place = 1, .autocast = FIRN_AUTOCAST_fixed,
    .outputs_min = 4, .integers_min = 0, .reals_min = 4,
    .pol = FIRN_POL_none, .cost = FIRN_COST_none, .begins = FIRN_BEGINS_nothing, .gathers = 0, .metric = 0, .buffers = 0,
    .reduced = 255, .inner = 0, .inner_flag = 255, .typed = 255, .factors = 6,
    .index_operand = 255, .index_table = 255, .index_from_end = 0, .index_attribute = 255};

static const uint8_t ranges_47[] = {
    FIRN_RANGE_POSITIVE,
    FIRN_RANGE_POSITIVE,
    FIRN_RANGE_NOT_NEGATIVE,
    FIRN_RANGE_POSITIVE,
};
const firn_op_info firn_op_row_rprop = {
    .code = 76, .operands = operands_89, .ranges = ranges_47, .inputs = 7, .inputs_min = 6, .inputs_max = 7,
    .outputs = 3, .integers = 0, .reals = 4, .reductions = 0, .in_place = 1, .autocast = FIRN_AUTOCAST_fixed,
    .outputs_min = 3, .integers_min = 0, .reals_min = 4,
    .pol = FIRN_POL_none, .cost = FIRN_COST_none, .begins = FIRN_BEGINS_nothing, .gathers = 0, .metric = 0, .buffers = 0,
    .reduced = 255, .inner = 0, .inner_flag = 255, .typed = 255, .factors = 6,
    .index_operand = 255, .index_table = 255, .index_from_end = 0, .index_attribute = 255};

static const firn_operand operands_95[] = {
    {.type = FIRN_FLOAT32, .form = FIRN_FORM_ANY, .changed = FIRN_FRESH},
    {.type = FIRN_TYPE_REAL, .form = FIRN_FORM_LIKE, .a = 0, .changed = FIRN_FRESH},
    {.type = FIRN_FLOAT32, .form = FIRN_FORM_VECTOR, .a = 1, .b = 1, .changed = FIRN_FRESH},
    {.type = FIRN_FLOAT32, .form = FIRN_FORM_LIKE, .a = 0, .changed = FIRN_FRESH},
    {.type = FIRN_INT64, .form = FIRN_FORM_VECTOR, .a = 1, .b = 1, .changed = FIRN_FRESH},
    {.type = FIRN_FLOAT32, .form = FIRN_FORM_VECTOR, .a = 3, .b = 4, .changed = FIRN_FRESH, .optional = true},
    {.type = FIRN_TYPE_OF_INPUT + 0, .form = FIRN_FORM_LIKE, .a = 0, .changed = 0},
    {.type = FIRN_TYPE_OF_INPUT + 3, .form = FIRN_FORM_LIKE, .a = 3, .changed = 3},
};
static const uint8_t ranges_48[] = {
    FIRN_RANGE_FLAG,
    FIRN_RANGE_NOT_NEGATIVE,
    FIRN_RANGE_POSITIVE,
    FIRN_RANGE_DECAY,
};
const firn_op_info firn_op_row_adagrad = {
    .code = 77, .operands = operands_95, .ranges = ranges_48, .inputs = 6, .inputs_min = 5, .inputs_max = 6,
    .outputs = 2, .integers = 1, .reals = 3, .reductions = 0, .in_place = 1, .autocast = FIRN_AUTOCAST_fixed,
    .outputs_min = 2, .integers_min = 1, .reals_min = 3,
    .pol = FIRN_POL_none, .cost = FIRN_COST_none, .begins = FIRN_BEGINS_nothing, .gathers = 0, .metric = 0, .buffers = 0,
    .reduced = 255, .inner = 0, .inner_flag = 255, .typed = 255, .factors = 5,
    .index_operand = 255, .index_table = 255, .index_from_end = 0, .index_attribute = 255};

static const uint8_t ranges_49[] = {
    FIRN_RANGE_FLAG,
    FIRN_RANGE_RATE,
    FIRN_RANGE_POSITIVE,
    FIRN_RANGE_DECAY,
};
const firn_op_info firn_op_row_adadelta = {
    .code = 78, .operands = operands_93, .ranges = ranges_49, .inputs = 6, .inputs_min = 5, .inputs_max = 6,
    .outputs = 3, .integers = 1, .reals = 3, .reductions = 0, .in_place = 1, .autocast = FIRN_AUTOCAST_fixed,
    .outputs_min = 3, .integers_min = 1, .reals_min = 3,
    .pol = FIRN_POL_none, .cost = FIRN_COST_none, .begins = FIRN_BEGINS_nothing, .gathers = 0, .metric = 0, .buffers = 0,
    .reduced = 255, .inner = 0, .inner_flag = 255, .typed = 255, .factors = 5,
    .index_operand = 255, .index_table = 255, .index_from_end = 0, .index_attribute = 255};

static const uint8_t ranges_50[] = {
    FIRN_RANGE_FLAG,
    FIRN_RANGE_NOT_NEGATIVE,
    FIRN_RANGE_NOT_NEGATIVE,
    FIRN_RANGE_NOT_NEGATIVE,
    FIRN_RANGE_DECAY,
};
const firn_op_info firn_op_row_asgd = {
    .code = 79, .operands = operands_95, .ranges = ranges_50, .inputs = 6, .inputs_min = 5, .inputs_max = 6,
    .outputs = 2, .integers = 1, .reals = 4, .reductions = 0, .in_place = 1, .autocast = FIRN_AUTOCAST_fixed,
    .outputs_min = 2, .integers_min = 1, .reals_min = 4,
    .pol = FIRN_POL_none, .cost = FIRN_COST_none, .begins = FIRN_BEGINS_nothing, .gathers = 0, .metric = 0, .buffers = 0,
    .reduced = 255, .inner = 0, .inner_flag = 255, .typed = 255, .factors = 5,
    .index_operand = 255, .index_table = 255, .index_from_end = 0, .index_attribute = 255};

static const firn_operand operands_96[] = {
    {.type = FIRN_FLOAT32, .form = FIRN_FORM_ANY, .changed = FIRN_FRESH},
    {.type = FIRN_TYPE_REAL, .form = FIRN_FORM_LIKE, .a = 0, .changed = FIRN_FRESH},
    {.type = FIRN_FLOAT32, .form = FIRN_FORM_VECTOR, .a = 1, .b = 1, .changed = FIRN_FRESH},
    {.type = FIRN_FLOAT32, .form = FIRN_FORM_LIKE, .a = 0, .changed = FIRN_FRESH},
    {.type = FIRN_INT64, .form = FIRN_FORM_VECTOR, .a = 1, .b = 1, .changed = FIRN_FRESH},
    {.type = FIRN_FLOAT32, .form = FIRN_FORM_VECTOR, .a = 3, .b = 4, .changed = FIRN_FRESH, .optional = true},
    {.type = FIRN_TYPE_OF_INPUT + 0, .form = FIRN_FORM_LIKE, .a = 0, .changed = 0},
    {.type = FIRN_TYPE_OF_INPUT + 3, .form = FIRN_FORM_LIKE, .a = 3, .changed = 3},
    {.type = FIRN_FLOAT32, .form = FIRN_FORM_SUMS, .a = 0, .changed = FIRN_FRESH, .scratch = true},
};
static const uint8_t ranges_51[] = {
    FIRN_RANGE_FLAG,
    FIRN_RANGE_POSITIVE,
    FIRN_RANGE_NOT_NEGATIVE,
    FIRN_RANGE_POSITIVE,
    FIRN_RANGE_OWN,
    FIRN_RANGE_DECAY,
};
const firn_op_info firn_op_row_adafactor = {
    .code = 80, .operands = operands_96, .ranges = ranges_51, .inputs = 6, .inputs_min = 5, .inputs_max = 6,
    .outputs = 3, .integers = 1, .reals = 5, .reductions = 0, .in_place = 1, .autocast = FIRN_AUTOCAST_fixed,
    .outputs_min = 3, .integers_min = 1, .reals_min = 5,
    .pol = FIRN_POL_none, .cost = FIRN_COST_none, .begins = FIRN_BEGINS_nothing, .gathers = 0, .metric = 0, .buffers = 0,
    .reduced = 255, .inner = 0, .inner_flag = 255, .typed = 255, .factors = 5,
    .index_operand = 255, .index_table = 255, .index_from_end = 0, .index_attribute = 255};

static const firn_operand operands_97[] = {
    {.type = FIRN_FLOAT32, .form = FIRN_FORM_ANY, .changed = FIRN_FRESH},
    {.type = FIRN_TYPE_REAL, .form = FIRN_FORM_LIKE, .a = 0, .changed = FIRN_FRESH},
    {.type = FIRN_FLOAT32, .form = FIRN_FORM_VECTOR, .a = 1, .b = 1, .changed = FIRN_FRESH},
    {.type = FIRN_FLOAT32, .form = FIRN_FORM_OWN, .changed = FIRN_FRESH},
    {.type = FIRN_FLOAT32, .form = FIRN_FORM_OWN, .changed = FIRN_FRESH},
    {.type = FIRN_INT64, .form = FIRN_FORM_VECTOR, .a = 1, .b = 1, .changed = FIRN_FRESH},
    {.type = FIRN_FLOAT32, .form = FIRN_FORM_VECTOR, .a = 3, .b = 4, .changed = FIRN_FRESH, .optional = true},
    {.type = FIRN_TYPE_OF_INPUT + 0, .form = FIRN_FORM_LIKE, .a = 0, .changed = 0},
    {.type = FIRN_TYPE_OF_INPUT + 3, .form = FIRN_FORM_LIKE, .a = 3, .changed = 3},
    {.type = FIRN_TYPE_OF_INPUT + 4, .form = FIRN_FORM_LIKE, .a = 4, .changed = 4},
    {.type = FIRN_FLOAT32, .form = FIRN_FORM_SUMS, .a = 0, .changed = FIRN_FRESH, .scratch = true},
    {.type = FIRN_FLOAT32, .form = FIRN_FORM_LIKE, .a = 3, .changed = FIRN_FRESH, .scratch = true},
    {.type = FIRN_FLOAT32, .form = FIRN_FORM_LIKE, .a = 4, .changed = FIRN_FRESH, .scratch = true},
};
const firn_op_info firn_op_row_adafactor_factored = {
    .code = 81, .operands = operands_97, .ranges = ranges_51, .inputs = 7, .inputs_min = 6, .inputs_max = 7,
    .outputs = 6, .integers = 1, .reals = 5, .reductions = 0, .in_place = 1, .autocast = FIRN_AUTOCAST_fixed,
    .outputs_min = 6, .integers_min = 1, .reals_min = 5,
    .pol = FIRN_POL_none, .cost = FIRN_COST_none, .begins = FIRN_BEGINS_nothing, .gathers = 0, .metric = 0, .buffers = 0,
    .reduced = 255, .inner = 0, .inner_flag = 255, .typed = 255, .factors = 6,
    .index_operand = 255, .index_table = 255, .index_from_end = 0, .index_attribute = 255};

static const firn_operand operands_98[] = {
    {.type = FIRN_FLOAT32, .form = FIRN_FORM_ANY, .changed = FIRN_FRESH},
    {.type = FIRN_TYPE_REAL, .form = FIRN_FORM_LIKE, .a = 0, .changed = FIRN_FRESH},
    {.type = FIRN_FLOAT32, .form = FIRN_FORM_VECTOR, .a = 3, .b = 4, .changed = FIRN_FRESH, .optional = true},
    {.type = FIRN_TYPE_OF_INPUT + 0, .form = FIRN_FORM_LIKE, .a = 0, .changed = 0},
    {.type = FIRN_FLOAT32, .form = FIRN_FORM_LIKE, .a = 0, .changed = FIRN_FRESH},
};
static const uint8_t ranges_52[] = {
    FIRN_RANGE_FLAG,
    FIRN_RANGE_RATE,
};
const firn_op_info firn_op_row_muon_direction = {
    .code = 82, .operands = operands_98, .ranges = ranges_52, .inputs = 3, .inputs_min = 2, .inputs_max = 3,
    .outputs = 2, .integers = 1, .reals = 1, .reductions = 0, .in_place = 1, .autocast = FIRN_AUTOCAST_fixed,
    .outputs_min = 2, .integers_min = 1, .reals_min = 1,
    .pol = FIRN_POL_none, .cost = FIRN_COST_none, .begins = FIRN_BEGINS_nothing, .gathers = 0, .metric = 0, .buffers = 0,
    .reduced = 255, .inner = 0, .inner_flag = 255, .typed = 255, .factors = 2,
    .index_operand = 255, .index_table = 255, .index_from_end = 0, .index_attribute = 255};

static const firn_operand operands_99[] = {
    {.type = FIRN_FLOAT32, .form = FIRN_FORM_ANY, .changed = FIRN_FRESH},
    {.type = FIRN_FLOAT32, .form = FIRN_FORM_LIKE, .a = 0, .changed = FIRN_FRESH},
    {.type = FIRN_FLOAT32, .form = FIRN_FORM_SUMS, .a = 0, .changed = FIRN_FRESH, .scratch = true},
};
const firn_op_info firn_op_row_unit_norm = {
    .code = 83, .operands = operands_99, .ranges = ranges_12, .inputs = 1, .inputs_min = 1, .inputs_max = 1,
    .outputs = 2, .integers = 0, .reals = 1, .reductions = 0, .in_place = 1, .autocast = FIRN_AUTOCAST_fixed,
    .outputs_min = 2, .integers_min = 0, .reals_min = 1,
    .pol = FIRN_POL_none, .cost = FIRN_COST_none, .begins = FIRN_BEGINS_nothing, .gathers = 0, .metric = 0, .buffers = 0,
    .reduced = 255, .inner = 0, .inner_flag = 255, .typed = 255, .factors = 255,
    .index_operand = 255, .index_table = 255, .index_from_end = 0, .index_attribute = 255};

const firn_op_info firn_op_row_scaled_unit_norm = {
    .code = 273, .operands = operands_99, .ranges = ranges_12, .inputs = 1, .inputs_min = 1, .inputs_max = 1,
    .outputs = 2, .integers = 0, .reals = 1, .reductions = 0, .in_place = 1, .autocast = FIRN_AUTOCAST_fixed,
    .outputs_min = 2, .integers_min = 0, .reals_min = 1,
    .pol = FIRN_POL_none, .cost = FIRN_COST_none, .begins = FIRN_BEGINS_nothing, .gathers = 0, .metric = 0, .buffers = 0,
    .reduced = 255, .inner = 0, .inner_flag = 255, .typed = 255, .factors = 255,
    .index_operand = 255, .index_table = 255, .index_from_end = 0, .index_attribute = 255};

static const firn_operand operands_100[] = {
    {.type = FIRN_FLOAT32, .form = FIRN_FORM_ANY, .changed = FIRN_FRESH},
    {.type = FIRN_FLOAT32, .form = FIRN_FORM_LIKE, .a = 0, .changed = FIRN_FRESH},
    {.type = FIRN_FLOAT32, .form = FIRN_FORM_LIKE, .a = 0, .changed = FIRN_FRESH},
};
const firn_op_info firn_op_row_weighted_sum = {
    .code = 84, .operands = operands_100, .ranges = ranges_18, .inputs = 2, .inputs_min = 2, .inputs_max = 2,
    .outputs = 1, .integers = 0, .reals = 2, .reductions = 0, .in_place = 3, .autocast = FIRN_AUTOCAST_fixed,
    .outputs_min = 1, .integers_min = 0, .reals_min = 2,
    .pol = FIRN_POL_none, .cost = FIRN_COST_none, .begins = FIRN_BEGINS_nothing, .gathers = 0, .metric = 0, .buffers = 0,
    .reduced = 255, .inner = 0, .inner_flag = 255, .typed = 255, .factors = 255,
    .index_operand = 255, .index_table = 255, .index_from_end = 0, .index_attribute = 255};

static const firn_operand operands_101[] = {
    {.type = FIRN_FLOAT32, .form = FIRN_FORM_ANY, .changed = FIRN_FRESH},
    {.type = FIRN_FLOAT32, .form = FIRN_FORM_LIKE, .a = 0, .changed = FIRN_FRESH},
    {.type = FIRN_FLOAT32, .form = FIRN_FORM_VECTOR, .a = 1, .b = 1, .changed = FIRN_FRESH},
    {.type = FIRN_FLOAT32, .form = FIRN_FORM_VECTOR, .a = 4, .b = 4, .changed = FIRN_FRESH, .optional = true},
    {.type = FIRN_TYPE_OF_INPUT + 0, .form = FIRN_FORM_LIKE, .a = 0, .changed = 0},
};
static const uint8_t ranges_53[] = {
    FIRN_RANGE_POSITIVE,
    FIRN_RANGE_DECAY,
};
const firn_op_info firn_op_row_muon_step = {
    .code = 85, .operands = operands_101, .ranges = ranges_53, .inputs = 4, .inputs_min = 3, .inputs_max = 4,
    .outputs = 1, .integers = 0, .reals = 2, .reductions = 0, .in_place = 1, .autocast = FIRN_AUTOCAST_fixed,
    .outputs_min = 1, .integers_min = 0, .reals_min = 2,
    .pol = FIRN_POL_none, .cost = FIRN_COST_none, .begins = FIRN_BEGINS_nothing, .gathers = 0, .metric = 0, .buffers = 0,
    .reduced = 255, .inner = 0, .inner_flag = 255, .typed = 255, .factors = 3,
    .index_operand = 255, .index_table = 255, .index_from_end = 0, .index_attribute = 255};

static const firn_operand operands_102[] = {
    {.type = FIRN_FLOAT32, .form = FIRN_FORM_VECTOR, .a = 1, .b = 1, .changed = FIRN_FRESH},
    {.type = FIRN_TYPE_OF_INPUT + 0, .form = FIRN_FORM_LIKE, .a = 0, .changed = 0},
};
const firn_op_info firn_op_row_advance_power = {
    .code = 38, .operands = operands_102, .ranges = ranges_19, .inputs = 1, .inputs_min = 1, .inputs_max = 1,
    .outputs = 1, .integers = 0, .reals = 1, .reductions = 0, .in_place = 1, .autocast = FIRN_AUTOCAST_fixed,
    .outputs_min = 1, .integers_min = 0, .reals_min = 1,
    .pol = FIRN_POL_none, .cost = FIRN_COST_none, .begins = FIRN_BEGINS_nothing, .gathers = 0, .metric = 0, .buffers = 0,
    .reduced = 255, .inner = 0, .inner_flag = 255, .typed = 255, .factors = 255,
    .index_operand = 255, .index_table = 255, .index_from_end = 0, .index_attribute = 255};

static const firn_operand operands_103[] = {
    {.type = FIRN_INT64, .form = FIRN_FORM_VECTOR, .a = 1, .b = 1, .changed = FIRN_FRESH},
    {.type = FIRN_TYPE_OF_INPUT + 0, .form = FIRN_FORM_LIKE, .a = 0, .changed = 0},
};
const firn_op_info firn_op_row_count = {
    .code = 39, .operands = operands_103, .ranges = ranges_36, .inputs = 1, .inputs_min = 1, .inputs_max = 1,
    .outputs = 1, .integers = 1, .reals = 0, .reductions = 0, .in_place = 1, .autocast = FIRN_AUTOCAST_fixed,
    .outputs_min = 1, .integers_min = 1, .reals_min = 0,
    .pol = FIRN_POL_none, .cost = FIRN_COST_none, .begins = FIRN_BEGINS_nothing, .gathers = 0, .metric = 0, .buffers = 0,
    .reduced = 255, .inner = 0, .inner_flag = 255, .typed = 255, .factors = 255,
    .index_operand = 255, .index_table = 255, .index_from_end = 0, .index_attribute = 255};

static const firn_operand operands_104[] = {
    {.type = FIRN_INT32, .form = FIRN_FORM_VECTOR, .a = 1, .b = 1, .changed = FIRN_FRESH},
    {.type = FIRN_FLOAT32, .form = FIRN_FORM_VECTOR, .a = 1, .b = 1, .changed = FIRN_FRESH},
    {.type = FIRN_INT64, .form = FIRN_FORM_VECTOR, .a = 1, .b = 1, .changed = FIRN_FRESH},
    {.type = FIRN_INT64, .form = FIRN_FORM_VECTOR, .a = 1, .b = 1, .changed = FIRN_FRESH},
    {.type = FIRN_INT64, .form = FIRN_FORM_VECTOR, .a = 1, .b = 1, .changed = FIRN_FRESH},
    {.type = FIRN_TYPE_OF_INPUT + 1, .form = FIRN_FORM_LIKE, .a = 1, .changed = 1},
    {.type = FIRN_TYPE_OF_INPUT + 2, .form = FIRN_FORM_LIKE, .a = 2, .changed = 2},
    {.type = FIRN_TYPE_OF_INPUT + 3, .form = FIRN_FORM_LIKE, .a = 3, .changed = 3},
    {.type = FIRN_TYPE_OF_INPUT + 4, .form = FIRN_FORM_LIKE, .a = 4, .changed = 4},
    {.type = FIRN_INT32, .form = FIRN_FORM_VECTOR, .a = 1, .b = 1, .changed = FIRN_FRESH},
};
static const uint8_t ranges_54[] = {
    FIRN_RANGE_COUNT,
    FIRN_RANGE_POSITIVE,
    FIRN_RANGE_FINITE,
    FIRN_RANGE_NOT_NEGATIVE,
};
const firn_op_info firn_op_row_loss_scale_update = {
    .code = 40, .operands = operands_104, .ranges = ranges_54, .inputs = 5, .inputs_min = 5, .inputs_max = 5,
    .outputs = 5, .integers = 1, .reals = 3, .reductions = 0, .in_place = 2, .autocast = FIRN_AUTOCAST_fixed,
    .outputs_min = 5, .integers_min = 1, .reals_min = 3,
    .pol = FIRN_POL_none, .cost = FIRN_COST_none, .begins = FIRN_BEGINS_nothing, .gathers = 0, .metric = 0, .buffers = 0,
    .reduced = 255, .inner = 0, .inner_flag = 255, .typed = 255, .factors = 255,
    .index_operand = 255, .index_table = 255, .index_from_end = 0, .index_attribute = 255};

static const firn_operand operands_105[] = {
    {.type = FIRN_FLOAT32, .form = FIRN_FORM_VECTOR, .a = 1, .b = 1, .changed = FIRN_FRESH},
    {.type = FIRN_FLOAT32, .form = FIRN_FORM_VECTOR, .a = 2, .b = 2, .changed = FIRN_FRESH},
    {.type = FIRN_INT64, .form = FIRN_FORM_VECTOR, .a = 1, .b = 1, .changed = FIRN_FRESH},
    {.type = FIRN_TYPE_OF_INPUT + 1, .form = FIRN_FORM_LIKE, .a = 1, .changed = 1},
    {.type = FIRN_TYPE_OF_INPUT + 2, .form = FIRN_FORM_LIKE, .a = 2, .changed = 2},
};
const firn_op_info firn_op_row_metric_mean = {
    .code = 41, .operands = operands_105, .inputs = 3, .inputs_min = 3, .inputs_max = 3,
    .outputs = 2, .integers = 0, .reals = 0, .reductions = 0, .in_place = 2, .autocast = FIRN_AUTOCAST_fixed,
    .outputs_min = 2, .integers_min = 0, .reals_min = 0,
    .pol = FIRN_POL_none, .cost = FIRN_COST_none, .begins = FIRN_BEGINS_nothing, .gathers = 0, .metric = 1, .buffers = 0,
    .reduced = 255, .inner = 0, .inner_flag = 255, .typed = 255, .factors = 255,
    .index_operand = 255, .index_table = 255, .index_from_end = 0, .index_attribute = 255};

static const firn_operand operands_106[] = {
    {.type = FIRN_TYPE_REAL, .form = FIRN_FORM_ROWS, .a = FIRN_EXTENT_LETTER + 0, .changed = FIRN_FRESH},
    {.type = FIRN_INT32, .form = FIRN_FORM_ROW_VALUES, .changed = FIRN_FRESH},
    {.type = FIRN_INT64, .form = FIRN_FORM_VECTOR, .a = 1, .b = 1, .changed = FIRN_FRESH},
    {.type = FIRN_INT64, .form = FIRN_FORM_VECTOR, .a = 1, .b = 1, .changed = FIRN_FRESH},
    {.type = FIRN_INT32, .form = FIRN_FORM_OWN, .changed = FIRN_FRESH, .optional = true},
    {.type = FIRN_TYPE_OF_INPUT + 2, .form = FIRN_FORM_LIKE, .a = 2, .changed = 2},
    {.type = FIRN_TYPE_OF_INPUT + 3, .form = FIRN_FORM_LIKE, .a = 3, .changed = 3},
};
const firn_op_info firn_op_row_metric_accuracy = {
    .code = 42, .operands = operands_106, .inputs = 5, .inputs_min = 4, .inputs_max = 5,
    .outputs = 2, .integers = 0, .reals = 0, .reductions = 0, .in_place = 4, .autocast = FIRN_AUTOCAST_fixed,
    .outputs_min = 2, .integers_min = 0, .reals_min = 0,
    .pol = FIRN_POL_none, .cost = FIRN_COST_none, .begins = FIRN_BEGINS_nothing, .gathers = 0, .metric = 1, .buffers = 0,
    .reduced = 255, .inner = 0, .inner_flag = 255, .typed = 255, .factors = 255,
    .index_operand = 1, .index_table = 0, .index_from_end = 1, .index_attribute = 255};

static const firn_operand operands_107[] = {
    {.type = FIRN_FLOAT32, .form = FIRN_FORM_VECTOR, .a = 1, .b = 1, .changed = FIRN_FRESH},
    {.type = FIRN_INT32, .form = FIRN_FORM_ROW_VALUES, .changed = FIRN_FRESH},
    {.type = FIRN_FLOAT32, .form = FIRN_FORM_VECTOR, .a = 1, .b = 1, .changed = FIRN_FRESH},
    {.type = FIRN_FLOAT32, .form = FIRN_FORM_VECTOR, .a = 2, .b = 2, .changed = FIRN_FRESH},
    {.type = FIRN_INT64, .form = FIRN_FORM_VECTOR, .a = 1, .b = 1, .changed = FIRN_FRESH},
    {.type = FIRN_FLOAT32, .form = FIRN_FORM_ROW_VALUES, .changed = FIRN_FRESH, .optional = true},
    {.type = FIRN_TYPE_OF_INPUT + 3, .form = FIRN_FORM_LIKE, .a = 3, .changed = 3},
    {.type = FIRN_TYPE_OF_INPUT + 4, .form = FIRN_FORM_LIKE, .a = 4, .changed = 4},
};
static const uint8_t ranges_55[] = {
    FIRN_RANGE_LABEL,
    FIRN_RANGE_POSITIVE,
};
const firn_op_info firn_op_row_metric_weighted_mean = {
    .code = 140, .operands = operands_107, .ranges = ranges_55, .inputs = 6, .inputs_min = 5, .inputs_max = 6,
    .outputs = 2, .integers = 1, .reals = 1, .reductions = 0, .in_place = 8, .autocast = FIRN_AUTOCAST_fixed,
    .outputs_min = 2, .integers_min = 1, .reals_min = 1,
    .pol = FIRN_POL_none, .cost = FIRN_COST_none, .begins = FIRN_BEGINS_nothing, .gathers = 0, .metric = 1, .buffers = 0,
    .reduced = 255, .inner = 0, .inner_flag = 255, .typed = 255, .factors = 255,
    .index_operand = 255, .index_table = 255, .index_from_end = 0, .index_attribute = 255};

static const firn_operand operands_108[] = {
    {.type = FIRN_TYPE_REAL, .form = FIRN_FORM_ROWS, .a = FIRN_EXTENT_LETTER + 0, .changed = FIRN_FRESH},
    {.type = FIRN_INT32, .form = FIRN_FORM_ROW_VALUES, .changed = FIRN_FRESH},
    {.type = FIRN_FLOAT32, .form = FIRN_FORM_VECTOR, .a = 2, .b = 2, .changed = FIRN_FRESH},
    {.type = FIRN_INT64, .form = FIRN_FORM_VECTOR, .a = 1, .b = 1, .changed = FIRN_FRESH},
    {.type = FIRN_FLOAT32, .form = FIRN_FORM_ROW_VALUES, .changed = FIRN_FRESH, .optional = true},
    {.type = FIRN_INT32, .form = FIRN_FORM_OWN, .changed = FIRN_FRESH, .optional = true},
    {.type = FIRN_TYPE_OF_INPUT + 2, .form = FIRN_FORM_LIKE, .a = 2, .changed = 2},
    {.type = FIRN_TYPE_OF_INPUT + 3, .form = FIRN_FORM_LIKE, .a = 3, .changed = 3},
};
const firn_op_info firn_op_row_metric_weighted_accuracy = {
    .code = 141, .operands = operands_108, .ranges = ranges_33, .inputs = 6, .inputs_min = 4, .inputs_max = 6,
    .outputs = 2, .integers = 1, .reals = 0, .reductions = 0, .in_place = 4, .autocast = FIRN_AUTOCAST_fixed,
    .outputs_min = 2, .integers_min = 1, .reals_min = 0,
    .pol = FIRN_POL_none, .cost = FIRN_COST_none, .begins = FIRN_BEGINS_nothing, .gathers = 0, .metric = 1, .buffers = 0,
    .reduced = 255, .inner = 0, .inner_flag = 255, .typed = 255, .factors = 255,
    .index_operand = 1, .index_table = 0, .index_from_end = 1, .index_attribute = 255};

static const firn_operand operands_109[] = {
    {.type = FIRN_TYPE_REAL, .form = FIRN_FORM_ROWS, .a = FIRN_EXTENT_LETTER + 0, .changed = FIRN_FRESH},
    {.type = FIRN_INT32, .form = FIRN_FORM_ROW_VALUES, .changed = FIRN_FRESH},
    {.type = FIRN_INT64, .form = FIRN_FORM_OWN, .changed = FIRN_FRESH},
    {.type = FIRN_INT64, .form = FIRN_FORM_VECTOR, .a = 1, .b = 1, .changed = FIRN_FRESH},
    {.type = FIRN_FLOAT32, .form = FIRN_FORM_ROW_VALUES, .changed = FIRN_FRESH, .optional = true},
    {.type = FIRN_INT32, .form = FIRN_FORM_OWN, .changed = FIRN_FRESH, .optional = true},
    {.type = FIRN_TYPE_OF_INPUT + 2, .form = FIRN_FORM_LIKE, .a = 2, .changed = 2},
    {.type = FIRN_TYPE_OF_INPUT + 3, .form = FIRN_FORM_LIKE, .a = 3, .changed = 3},
};
const firn_op_info firn_op_row_metric_confusion = {
    .code = 142, .operands = operands_109, .ranges = ranges_33, .inputs = 6, .inputs_min = 4, .inputs_max = 6,
    .outputs = 2, .integers = 1, .reals = 0, .reductions = 0, .in_place = 4, .autocast = FIRN_AUTOCAST_fixed,
    .outputs_min = 2, .integers_min = 1, .reals_min = 0,
    .pol = FIRN_POL_none, .cost = FIRN_COST_none, .begins = FIRN_BEGINS_nothing, .gathers = 0, .metric = 1, .buffers = 0,
    .reduced = 255, .inner = 0, .inner_flag = 255, .typed = 255, .factors = 255,
    .index_operand = 1, .index_table = 0, .index_from_end = 1, .index_attribute = 255};

static const firn_operand operands_110[] = {
    {.type = FIRN_TYPE_REAL, .form = FIRN_FORM_ANY, .changed = FIRN_FRESH},
    {.type = FIRN_TYPE_OWN, .form = FIRN_FORM_OWN, .changed = FIRN_FRESH},
    {.type = FIRN_INT64, .form = FIRN_FORM_MATRIX, .a = 2, .b = 199, .changed = FIRN_FRESH},
    {.type = FIRN_INT64, .form = FIRN_FORM_VECTOR, .a = 1, .b = 1, .changed = FIRN_FRESH},
    {.type = FIRN_INT32, .form = FIRN_FORM_OWN, .changed = FIRN_FRESH, .optional = true},
    {.type = FIRN_TYPE_OF_INPUT + 2, .form = FIRN_FORM_LIKE, .a = 2, .changed = 2},
    {.type = FIRN_TYPE_OF_INPUT + 3, .form = FIRN_FORM_LIKE, .a = 3, .changed = 3},
};
const firn_op_info firn_op_row_metric_auc = {
    .code = 143, .operands = operands_110, .inputs = 5, .inputs_min = 4, .inputs_max = 5,
    .outputs = 2, .integers = 0, .reals = 0, .reductions = 0, .in_place = 4, .autocast = FIRN_AUTOCAST_fixed,
    .outputs_min = 2, .integers_min = 0, .reals_min = 0,
    .pol = FIRN_POL_none, .cost = FIRN_COST_none, .begins = FIRN_BEGINS_nothing, .gathers = 0, .metric = 1, .buffers = 0,
    .reduced = 255, .inner = 0, .inner_flag = 255, .typed = 255, .factors = 255,
    .index_operand = 255, .index_table = 255, .index_from_end = 0, .index_attribute = 255};

static const firn_operand operands_111[] = {
    {.type = FIRN_FLOAT32, .form = FIRN_FORM_ROW_VALUES, .changed = FIRN_FRESH},
    {.type = FIRN_FLOAT32, .form = FIRN_FORM_VECTOR, .a = 2, .b = 2, .changed = FIRN_FRESH},
    {.type = FIRN_INT64, .form = FIRN_FORM_VECTOR, .a = 1, .b = 1, .changed = FIRN_FRESH},
    {.type = FIRN_INT32, .form = FIRN_FORM_OWN, .changed = FIRN_FRESH},
    {.type = FIRN_INT32, .form = FIRN_FORM_ROW_VALUES, .changed = FIRN_FRESH, .optional = true},
    {.type = FIRN_FLOAT32, .form = FIRN_FORM_ROW_VALUES, .changed = FIRN_FRESH, .optional = true},
    {.type = FIRN_TYPE_OF_INPUT + 1, .form = FIRN_FORM_LIKE, .a = 1, .changed = 1},
    {.type = FIRN_TYPE_OF_INPUT + 2, .form = FIRN_FORM_LIKE, .a = 2, .changed = 2},
};
const firn_op_info firn_op_row_metric_row_mean = {
    .code = 274, .operands = operands_111, .ranges = ranges_33, .inputs = 6, .inputs_min = 4, .inputs_max = 6,
    .outputs = 2, .integers = 1, .reals = 0, .reductions = 0, .in_place = 2, .autocast = FIRN_AUTOCAST_fixed,
    .outputs_min = 2, .integers_min = 1, .reals_min = 0,
    .pol = FIRN_POL_none, .cost = FIRN_COST_none, .begins = FIRN_BEGINS_nothing, .gathers = 0, .metric = 1, .buffers = 0,
    .reduced = 255, .inner = 0, .inner_flag = 255, .typed = 255, .factors = 255,
    .index_operand = 255, .index_table = 255, .index_from_end = 0, .index_attribute = 255};

const firn_op_default firn_op_defaults[] = {
    {.code = 0}, /* the end */
};
