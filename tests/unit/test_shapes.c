/* Tests the op table and the shape rules (tests/unit/shapes.cases). tests/unit/support_shapes.h explains the lines of
 * that file, and derives further cases from the valid ones. Runs from the root of the repository. */
#include <stdio.h>
#include <string.h>

#include "plan/errors.h"
#include "plan/op_words.h"
#include "plan/shapes/infer.h"
#include "tests/unit/support_cases.h"
#include "tests/unit/support_shapes.h"
#include "tests/unit/support_test.h"

/* --- every case ------------------------------------------------------------------------------------------------- */

static bool same_shape(const firn_shape *a, const firn_shape *b) {
    return a->type == b->type && a->rank == b->rank && memcmp(a->dims, b->dims, sizeof a->dims) == 0;
}

/* Whether firn_op_infer returns what the case expects, and fills in the expected extents. */
static bool case_holds(const shape_case *c) {
    firn_shape outputs[SHAPES_OUTPUTS];
    firn_op_signature signature = {.code = c->info->code,
                                   .input_count = c->input_count,
                                   .output_count = c->output_count,
                                   .integer_count = c->integer_count,
                                   .real_count = c->real_count,
                                   .inputs = c->inputs,
                                   .outputs = outputs};
    memset(outputs, 0xff, sizeof outputs); /* the rule sets rank and all dims */
    for (uint8_t i = 0; i < c->output_count; i++)
        outputs[i].type = c->outputs[i].type;
    memcpy(signature.integers, c->integers, sizeof c->integers);
    memcpy(signature.reals, c->reals, sizeof c->reals);
    const int error = firn_op_infer(&signature);
    bool holds = error == c->error;
    for (uint8_t i = 0; holds && error == FIRN_OK && c->outputs_known && i < c->output_count; i++)
        holds = same_shape(&outputs[i], &c->outputs[i]);
    return holds;
}

/* Prints a case that does not hold: its line, what was changed, and the inputs and attributes with the change. */
static void print_case(const shape_case *c) {
    print_message("%s\n  %s is not %s:", c->text, c->change, firn_error_name(c->error));
    for (uint32_t i = 0; i < c->input_count; i++) {
        print_message(" %s", firn_type_name(c->inputs[i].type));
        for (uint8_t d = 0; d < c->inputs[i].rank && d < FIRN_RANK_MAX; d++)
            print_message("%c%u", d == 0 ? '[' : ',', (unsigned)c->inputs[i].dims[d]);
    }
    for (uint8_t i = 0; i < c->info->integers; i++)
        print_message("; %lld", (long long)c->integers[i]);
    for (uint8_t i = 0; i < c->info->reals; i++)
        print_message("; %g", (double)c->reals[i]);
    print_message("\n");
}

/* Checks that an output which updates an input has the input's shape, and that no input is updated twice. Returns the
 * number of updates. */
static uint32_t check_changed_inputs(const shape_case *c) {
    uint32_t changing = 0;
    uint64_t seen = 0;
    for (uint8_t j = 0; j < c->output_count; j++) {
        const uint8_t input = firn_op_changed(c->info, j);
        if (input == FIRN_FRESH)
            continue;
        assert_true(input < c->input_count);
        assert_true(same_shape(&c->inputs[input], &c->outputs[j]));
        assert_int_equal(seen >> input & 1, 0);
        seen |= UINT64_C(1) << input;
        changing++;
    }
    if (seen != 0)
        assert_int_equal(c->info->in_place, 1u << firn_op_changed(c->info, 0));
    return changing;
}

/* Ops that take integers of any origin and size: they move them, or their kernels limit them. */
static const char any_integers[] =
    " loss_scale_update advance batch_rows batch_weights metric_weighted_mean metric_row_mean metric_auc to_float32 "
    "concat_int32 reshape "
    "transpose slice expand gather gather_backward gather_elements gather_elements_backward scatter_nd "
    "scatter_nd_backward scatter_nd_backward_updates ";

/* Whether an operand says which samples count: the last one of a metric, which came later. */
static bool says_which_count(const shape_case *c, uint8_t j) {
    return c->info->metric && j + 1 == c->info->inputs_max && firn_op_input(c->info, j)->optional;
}

/* Checks that every other int32 operand is an index, which the runtime limits. */
static void check_index_operands(const shape_case *c) {
    char name[64];
    snprintf(name, sizeof name, " %s ", firn_op_name(c->info));
    for (uint8_t j = 0; j < c->input_count && strstr(any_integers, name) == NULL; j++) {
        const bool is_index = c->inputs[j].rank > 0 && c->inputs[j].type == FIRN_INT32 && !says_which_count(c, j);
        if (is_index != (c->info->index_operand == j))
            fail_msg("%s: input %u", c->text, (unsigned)j);
    }
}

enum { CODES = 512 }; /* op codes are below it */
typedef struct tally {
    uint32_t accepted[CODES], refused[CODES], all, wrong, changing;
} tally;

static void check_case(const shape_case *c, void *context) {
    tally *t = context;
    assert_true(c->info->code < CODES);
    if (c->error == FIRN_OK)
        t->accepted[c->info->code]++;
    else if (shape_rule_is_declared(c->info) || shape_case_is_of_rule(c))
        t->refused[c->info->code]++;
    t->all++;
    if (!case_holds(c) && t->wrong++ < 20)
        print_case(c);
    if (c->error == FIRN_OK && c->outputs_known) {
        t->changing += check_changed_inputs(c);
        check_index_operands(c);
    }
}

/* Checks the cases of a line, and those that follow from them. */
static void check_line(char *text, void *context) {
    static shape_line line;
    for (uint32_t n = 0; shape_line_read(&line, text, n); n++) {
        check_case(&line.original, context);
        if (line.original.error == FIRN_OK)
            shape_line_vary(&line, check_case, context);
    }
}

enum { CASES_LEAST = 540000 }; /* somewhat fewer than there are */

/* Every rule has a case that it accepts and one that it refuses. Where an op has a rule of its own, what the columns of
 * the table refuse does not count. */
TEST(test_every_rule) {
    static tally t;
    support_cases_read("tests/unit/shapes.cases", check_line, &t);
    print_message("%u cases\n", (unsigned)t.all);
    assert_int_equal(t.wrong, 0);
    assert_true(t.all >= CASES_LEAST);
    assert_true(t.changing > 20);
    for (uint32_t op = 0; op < FIRN_OPS; op++) {
        const firn_op_info *info = firn_op_at(op);
        const bool only_infers = info->code == FIRN_OP_linear_backward_weight; /* its rule refuses nothing */
        if (t.accepted[info->code] == 0 || (t.refused[info->code] == 0) != only_infers)
            fail_msg("%s: no case", firn_op_name(info));
    }
}

/* The lists that tell ops and rules from others have no word that is none. */
TEST(test_lists_of_names) {
    shape_lists_check();
    for (const char *word = any_integers + 1; *word != '\0'; word += strcspn(word, " ") + 1) {
        const size_t length = strcspn(word, " ");
        uint32_t i = 0;
        while (i < FIRN_OPS && (strlen(firn_op_name(firn_op_at(i))) != length ||
                                strncmp(firn_op_name(firn_op_at(i)), word, length) != 0))
            i++;
        if (i == FIRN_OPS)
            fail_msg("no op: %s", word);
    }
}

/* --- the table -------------------------------------------------------------------------------------------------- */

static uint8_t words_of(const char *text) {
    uint8_t words = 0;
    for (; *text != '\0'; text++)
        words = (uint8_t)(words + (text[0] != ' ' && (text[1] == ' ' || text[1] == '\0')));
    return words;
}

TEST(test_table) {
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
TEST(test_scratch) {
    static const char expected[] =
        "batch_norm.partial batch_norm_backward.partial batch_norm_fixed_backward.partial "
        "attention.scratch attention_backward.scratch cross_attention.scratch "
        "cross_attention_backward.scratch cached_attention.scratch lstm_backward.carried "
        "gru_backward.carried rnn.sums rnn_backward.carried linear_cross_entropy.logits "
        "linear_cross_entropy.values sum_of_squares.scratch "
        "largest_magnitude.scratch sum_of_scaled_squares.scratch "
        "lamb.parameter_sums lamb.update_sums adafactor.sums adafactor_factored.sums "
        "adafactor_factored.row_factors adafactor_factored.column_factors unit_norm.sums scaled_unit_norm.sums ";
    char found[sizeof expected + 256] = "";
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

TEST(test_unknown_ops_and_counts) {
    firn_op_signature unknown = {.code = 1};
    while (firn_op_find(unknown.code) != NULL)
        unknown.code++;
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

TEST(test_types) {
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

TEST(test_sizes_do_not_wrap) {
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
