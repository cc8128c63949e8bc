/* Reads cases of the shape rules from text and varies them. */
#include "tests/unit/support_shapes.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "plan/errors.h"
#include "plan/op_words.h"

/* --- text ------------------------------------------------------------------------------------------------------- */

static const struct {
    const char *text;
    uint8_t type;
} types[] = {
    {"f32", FIRN_FLOAT32}, {"f16", FIRN_FLOAT16}, {"b16", FIRN_BFLOAT16}, {"c16", FIRN_CBFLOAT16},
    {"i32", FIRN_INT32},   {"i64", FIRN_INT64},   {"u08", FIRN_UINT8},
};
enum { TYPES = sizeof types / sizeof types[0] };

static const struct {
    const char *text;
    int error;
} errors[] = {
    {"SHAPE", FIRN_ERROR_OP_SHAPE}, {"ATTRIBUTE", FIRN_ERROR_OP_ATTRIBUTE}, {"OPERANDS", FIRN_ERROR_OP_OPERANDS}};

/* Whether the text goes on with a word, which is then skipped. */
static bool skips(const char **text, const char *word) {
    *text += strspn(*text, " ");
    if (strncmp(*text, word, strlen(word)) != 0)
        return false;
    *text += strlen(word);
    return true;
}

static char read_mark(const char **text, const char *marks) {
    return **text != '\0' && strchr(marks, **text) != NULL ? *(*text)++ : '\0';
}

static uint8_t read_type(const char **text) {
    for (size_t i = 0; i < TYPES; i++) {
        if (skips(text, types[i].text))
            return types[i].type;
    }
    fail_msg("no type: %s", *text);
    return 0;
}

/* Reads one tensor. Extents beyond the largest rank are counted only. */
static void read_shape(const char **text, firn_shape *shape, shape_marks *marks) {
    *shape = (firn_shape){0};
    *marks = (shape_marks){0};
    if (skips(text, "-"))
        return;
    shape->type = read_type(text);
    while (**text == '[' || **text == ',') {
        char *end;
        const unsigned long extent = strtoul(*text + 1, &end, 10);
        assert_true(end > *text + 1);
        *text = end;
        const char mark = read_mark(text, "*<>-+");
        if (shape->rank < FIRN_RANK_MAX) {
            shape->dims[shape->rank] = (uint32_t)extent;
            marks->extents[shape->rank] = mark;
        }
        shape->rank++;
    }
    if (shape->rank > 0) {
        assert_true(skips(text, "]"));
        marks->rank = read_mark(text, "*");
    }
}

static bool at_end(const char *text) {
    text += strspn(text, " ");
    return *text == '\0' || *text == ';' || *text == '=' || strncmp(text, "->", 2) == 0;
}

static int64_t read_integer(const char **text) {
    char *end;
    const long long number = strtoll(*text, &end, 0);
    assert_true(end > *text);
    *text = end;
    if (**text != ':')
        return number;
    const unsigned long columns = strtoul(*text + 1, &end, 10);
    *text = end;
    return (int64_t)number << 16 | (int64_t)columns;
}

static float read_real(const char **text) {
    char *end;
    const float number = strtof(*text, &end);
    assert_true(end > *text);
    *text = end;
    return number;
}

/* Reads the wrong values behind an attribute. */
static void read_wrong(shape_line *line, const char **text, uint32_t position, bool is_real) {
    char mark;
    while ((mark = read_mark(text, "!~")) != '\0') {
        assert_true(line->wrong_count < sizeof line->wrong / sizeof line->wrong[0]);
        wrong_attribute *wrong = &line->wrong[line->wrong_count++];
        *wrong = (wrong_attribute){.position = position,
                                   .error = mark == '!' ? FIRN_ERROR_OP_ATTRIBUTE : FIRN_ERROR_OP_SHAPE};
        if (is_real)
            wrong->real = read_real(text);
        else
            wrong->integer = read_integer(text);
    }
}

static const firn_op_info *find_op(const char *name, size_t length) {
    for (uint32_t i = 0; i < FIRN_OPS; i++) {
        const char *other = firn_op_name(firn_op_at(i));
        if (strlen(other) == length && strncmp(other, name, length) == 0)
            return firn_op_at(i);
    }
    fail_msg("no op: %s", name);
    return NULL;
}

/* Reads the names of ops, which '/' separates, and finds op number `which`; NULL if there are fewer. */
static const firn_op_info *read_op(const char **text, uint32_t which) {
    const firn_op_info *found = NULL;
    for (uint32_t i = 0;; i++) {
        const size_t length = strcspn(*text, "/ ");
        if (i == which)
            found = find_op(*text, length);
        *text += length;
        if (**text != '/')
            return found;
        (*text)++;
    }
}

static int read_error(const char **text) {
    for (size_t i = 0; i < sizeof errors / sizeof errors[0]; i++) {
        if (skips(text, errors[i].text))
            return errors[i].error;
    }
    fail_msg("no error: %s", *text);
    return FIRN_OK;
}

bool shape_line_read(shape_line *line, const char *text, uint32_t which) {
    shape_case *c = &line->original;
    *line = (shape_line){.original = {.text = text, .outputs_known = true}};
    c->info = read_op(&text, which);
    if (c->info == NULL)
        return false;
    c->integer_count = c->info->integers;
    c->real_count = c->info->reals;
    for (; !at_end(text); c->input_count++) {
        assert_true(c->input_count < SHAPES_INPUTS);
        read_shape(&text, &c->inputs[c->input_count], &line->marks[c->input_count]);
    }
    assert_true(skips(&text, "->"));
    for (; !at_end(text); c->output_count++) {
        shape_marks none;
        assert_true(c->output_count < SHAPES_OUTPUTS);
        read_shape(&text, &c->outputs[c->output_count], &none);
    }
    if (skips(&text, ";")) {
        for (uint32_t i = 0; !at_end(text); i++) {
            assert_true(i < c->info->integers);
            c->integers[i] = read_integer(&text);
            read_wrong(line, &text, i, false);
        }
    }
    if (skips(&text, ";")) {
        for (uint32_t i = 0; !at_end(text); i++) {
            assert_true(i < c->info->reals);
            c->reals[i] = read_real(&text);
            read_wrong(line, &text, c->info->integers + i, true);
        }
    }
    c->error = skips(&text, "=") ? read_error(&text) : FIRN_OK;
    assert_int_equal(*text, '\0');
    return true;
}

/* --- what the columns say of types and extents ------------------------------------------------------------------ */

static bool is_real(uint8_t type) {
    return type == FIRN_FLOAT32 || type == FIRN_FLOAT16 || type == FIRN_BFLOAT16 || type == FIRN_CBFLOAT16;
}

static bool type_holds(const shape_case *c, const firn_operand *row, uint8_t type) {
    if (row->type >= FIRN_TYPE_OF_INPUT)
        return type == c->inputs[row->type - FIRN_TYPE_OF_INPUT].type || (row->rounded && type == FIRN_FLOAT32);
    if (row->type == FIRN_TYPE_REAL)
        return is_real(type);
    if (row->type == FIRN_TYPE_OWN) /* no op takes other types, as the rules of such operands say */
        return is_real(type) || type == FIRN_INT32;
    return type == row->type;
}

static bool types_hold(const shape_case *c) {
    for (uint8_t i = 0; i < c->input_count; i++) {
        if (c->inputs[i].rank > 0 && !type_holds(c, firn_op_input(c->info, i), c->inputs[i].type))
            return false;
    }
    for (uint8_t i = 0; i < c->output_count; i++) {
        if (!type_holds(c, firn_op_output(c->info, i), c->outputs[i].type))
            return false;
    }
    return true;
}

static uint64_t product(const firn_shape *shape, uint32_t count) {
    uint64_t product = 1;
    for (uint32_t d = 0; d < count; d++)
        product *= shape->dims[d];
    return product;
}

static bool same_extents(const firn_shape *a, const firn_shape *b) {
    return a->rank == b->rank && memcmp(a->dims, b->dims, sizeof a->dims) == 0;
}

/* The values of the letters of a row, 0 where a letter has none yet; N is the last one. */
typedef struct letters {
    uint64_t values[FIRN_LETTERS + 1];
} letters;

static bool letter_is(letters *l, uint32_t letter, uint64_t value) {
    if (l->values[letter] == 0)
        l->values[letter] = value;
    return l->values[letter] == value;
}

/* wanted: a number or a letter. */
static bool extent_is(letters *l, uint8_t wanted, uint32_t extent) {
    return wanted < FIRN_EXTENT_LETTER ? extent == wanted : letter_is(l, wanted - FIRN_EXTENT_LETTER, extent);
}

static bool extents_hold(const shape_case *c) {
    letters l = {0};
    for (uint8_t i = 0; i < c->input_count; i++) {
        const firn_operand *row = firn_op_input(c->info, i);
        const firn_shape *x = &c->inputs[i];
        bool holds = true;
        if (x->rank == 0)
            continue;
        if (x->rank > FIRN_RANK_MAX || product(x, x->rank) == 0)
            return false;
        if (row->form == FIRN_FORM_LIKE)
            holds = same_extents(x, &c->inputs[row->a]);
        else if (row->form == FIRN_FORM_ROWS)
            holds = x->rank >= 2 && letter_is(&l, FIRN_LETTERS, product(x, x->rank - 1u)) &&
                    extent_is(&l, row->a, x->dims[x->rank - 1]);
        else if (row->form == FIRN_FORM_ROW_VALUES)
            holds = letter_is(&l, FIRN_LETTERS, product(x, x->rank));
        else if (row->form == FIRN_FORM_VECTOR)
            holds = x->rank == 1 && (extent_is(&l, row->a, x->dims[0]) || (row->b != 0 && x->dims[0] == row->b));
        else if (row->form == FIRN_FORM_MATRIX)
            holds = x->rank == 2 && extent_is(&l, row->a, x->dims[0]) && extent_is(&l, row->b, x->dims[1]);
        if (!holds)
            return false;
    }
    return true;
}

/* --- what the op's own rule adds -------------------------------------------------------------------------------- */

static const struct {
    uint16_t code;
    const char *name;
} rules[] = {
#define FIRN_OP(name, code, rule, ...) {code, #rule},
#include "plan/ops.def"
#undef FIRN_OP
};

/* Whether one of the words is the rule of an op. */
static bool has_rule(const firn_op_info *info, const char *words) {
    for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++) {
        if (rules[i].code != info->code)
            continue;
        const size_t length = strlen(rules[i].name);
        for (const char *at = words; (at = strstr(at, rules[i].name)) != NULL; at += length) {
            if ((at == words || at[-1] == ' ') && (at[length] == ' ' || at[length] == '\0'))
                return true;
        }
        return false;
    }
    return false;
}

/* These rules repeat an extent of 1. */
static const char ones_are_repeated[] = "elementwise select repeated sum_to expand cross_attention "
                                        "cross_attention_backward";

/* These rules ask of an extent that another number divides it. */
static const char extents_are_divided[] = "conv conv_backward_weight recurrent_backward_weight attention "
                                          "rotary_embedding";

/* These rules say which optional inputs an op may have together; concat joins what there is. */
static const char inputs_are_related[] = "select gradient_norm gradient_factors concat";

/* These rules compare types, or an attribute with a type. */
static const char types_are_compared[] = "cast concat attention attention_backward cross_attention "
                                         "cross_attention_backward linear_cross_entropy scatter_nd metric_auc";

/* --- variations ------------------------------------------------------------------------------------------------- */

typedef struct variation {
    const shape_line *line;
    const shape_case *valid; /* the line without its marks */
    shape_case_use *use;
    void *context;
    bool declared, compares_types, repeats_ones, divides_extents, relates_inputs; /* what the op's rule does */
} variation;

enum { UNDECIDED = 1 }; /* no error has this value */

static void vary(const variation *v, shape_case *changed, const char *change, int error) {
    if (error == UNDECIDED)
        return;
    changed->change = change;
    changed->error = error;
    v->use(changed, v->context);
}

static void vary_counts(const variation *v) {
    const firn_op_info *info = v->valid->info;
    const int allowed = v->relates_inputs ? UNDECIDED : FIRN_OK;
    for (uint8_t i = 0; i < v->valid->input_count; i++) {
        const bool last = i + 1 == v->valid->input_count, optional = firn_op_input(info, i)->optional;
        shape_case c = *v->valid;
        c.inputs[i] = (firn_shape){0};
        vary(v, &c, "absent", optional && !last ? allowed : FIRN_ERROR_OP_OPERANDS);
    }
    shape_case fewer = *v->valid, more = *v->valid;
    if (fewer.input_count > 0) {
        fewer.input_count--;
        const bool complete = fewer.input_count >= info->inputs_min;
        const bool ends = fewer.input_count == 0 || fewer.inputs[fewer.input_count - 1].rank > 0;
        vary(v, &fewer, "input missing", complete && ends ? allowed : FIRN_ERROR_OP_OPERANDS);
    }
    if (++more.input_count > info->inputs_max) {
        more.inputs[more.input_count - 1] = more.inputs[0];
        vary(v, &more, "input too many", FIRN_ERROR_OP_OPERANDS);
    }
    fewer = more = *v->valid;
    if (--fewer.output_count < info->outputs_min)
        vary(v, &fewer, "output missing", FIRN_ERROR_OP_OPERANDS);
    if (++more.output_count > info->outputs) {
        more.outputs[more.output_count - 1] = more.outputs[0];
        vary(v, &more, "output too many", FIRN_ERROR_OP_OPERANDS);
    }
}

/* Whether the weight decay comes twice: as an attribute and among the factors. */
static bool decays_twice(const shape_case *c) {
    const uint8_t factors = c->info->factors;
    if (factors >= c->input_count || c->inputs[factors].rank != 1 || c->inputs[factors].dims[0] != 4)
        return false;
    for (uint8_t i = 0; i < c->info->reals; i++) {
        if (c->info->ranges[c->info->integers + i] == FIRN_RANGE_DECAY && c->reals[i] != 0)
            return true;
    }
    return false;
}

/* `otherwise`: what holds for an op with its own rule if the columns hold. */
static int judge(const variation *v, const shape_case *c, int otherwise) {
    if (!types_hold(c) || !extents_hold(c))
        return FIRN_ERROR_OP_SHAPE;
    if (decays_twice(c))
        return FIRN_ERROR_OP_ATTRIBUTE;
    return v->declared ? FIRN_OK : otherwise;
}

static firn_shape *operand(shape_case *c, uint32_t i) {
    return i < c->input_count ? &c->inputs[i] : &c->outputs[i - c->input_count];
}

/* Another type for each operand, and other types for each pair of operands. */
static void vary_types(const variation *v) {
    const int otherwise = v->compares_types ? UNDECIDED : FIRN_OK;
    const uint32_t operands = v->valid->input_count + v->valid->output_count;
    shape_case c = *v->valid;
    for (uint32_t i = 0; i < operands; i++) {
        for (uint32_t j = i; j < operands; j++) {
            firn_shape *const first = operand(&c, i), *const second = operand(&c, j);
            const uint8_t types_before[] = {first->type, second->type};
            for (uint32_t t = 0; first->rank > 0 && second->rank > 0 && t < TYPES * TYPES; t++) {
                first->type = types[t / TYPES].type;
                second->type = types[t % TYPES].type;
                const bool other = second->type != types_before[1] && (i == j || first->type != types_before[0]);
                if (other && (i != j || t < TYPES))
                    vary(v, &c, "type", judge(v, &c, otherwise));
            }
            first->type = types_before[0];
            second->type = types_before[1];
        }
    }
}

/* What an op with its own rule says of an extent with a mark, if it is smaller or larger. */
static const struct {
    char mark;
    int smaller, larger;
} extent_marks[] = {
    {'*', FIRN_OK, FIRN_OK},
    {'<', FIRN_OK, FIRN_ERROR_OP_SHAPE},
    {'>', FIRN_ERROR_OP_SHAPE, FIRN_OK},
    {'-', FIRN_OK, FIRN_ERROR_OP_ATTRIBUTE},
    {'+', FIRN_ERROR_OP_ATTRIBUTE, FIRN_OK},
};

static int of_mark(char mark, bool larger) {
    for (size_t i = 0; i < sizeof extent_marks / sizeof extent_marks[0]; i++) {
        if (extent_marks[i].mark == mark)
            return larger ? extent_marks[i].larger : extent_marks[i].smaller;
    }
    return FIRN_ERROR_OP_SHAPE;
}

static void vary_extent(const variation *v, uint8_t i, uint8_t d, uint32_t extent) {
    shape_case c = *v->valid;
    const uint32_t before = c.inputs[i].dims[d];
    if (extent == before)
        return;
    c.inputs[i].dims[d] = extent;
    c.outputs_known = false;
    const bool undecided = extent == 1 && v->repeats_ones;
    vary(v, &c, "extent", judge(v, &c, undecided ? UNDECIDED : of_mark(v->line->marks[i].extents[d], extent > before)));
}

/* One more, one less and none along each dimension; each other extent of the case as well, if all of them are wrong. */
static void vary_extents(const variation *v) {
    const shape_case *c = v->valid;
    for (uint8_t i = 0; i < c->input_count; i++) {
        for (uint8_t d = 0; d < c->inputs[i].rank; d++) {
            vary_extent(v, i, d, c->inputs[i].dims[d] + 1);
            vary_extent(v, i, d, c->inputs[i].dims[d] - 1);
            vary_extent(v, i, d, 0);
            const bool all_wrong = v->line->marks[i].extents[d] == '\0' && !v->repeats_ones && !v->divides_extents;
            for (uint8_t j = 0; all_wrong && j < c->input_count; j++) {
                for (uint8_t e = 0; e < c->inputs[j].rank; e++)
                    vary_extent(v, i, d, c->inputs[j].dims[e]);
            }
        }
    }
}

/* Other dimensions, with every type. */
static void vary_dimensions(const variation *v, uint8_t i, uint32_t rank, const uint32_t *dims) {
    const shape_case *valid = v->valid;
    const shape_marks none = {0}, *marks = &v->line->marks[i];
    firn_shape x = {.rank = (uint8_t)rank};
    for (uint32_t d = 0; d < rank && d < FIRN_RANK_MAX; d++)
        x.dims[d] = dims[d];
    if (rank == 0 || same_extents(&x, &valid->inputs[i]))
        return;
    const bool fixed = rank == valid->inputs[i].rank ? memcmp(marks, &none, sizeof none) == 0 : marks->rank == 0;
    const bool decided = firn_op_input(valid->info, i)->form == FIRN_FORM_OWN && fixed;
    for (size_t t = 0; t < TYPES; t++) {
        shape_case c = *valid;
        x.type = types[t].type;
        c.inputs[i] = x;
        c.outputs_known = false;
        const bool typed = !v->compares_types || x.type == valid->inputs[i].type;
        vary(v, &c, "dimensions", judge(v, &c, decided && typed ? FIRN_ERROR_OP_SHAPE : UNDECIDED));
    }
}

/* A dimension more or less at either end, all in the opposite order, the first two or all joined into one, the first
 * one divided, and the dimensions of each other input. */
static void vary_ranks(const variation *v) {
    for (uint8_t i = 0; i < v->valid->input_count; i++) {
        const firn_shape *x = &v->valid->inputs[i];
        uint32_t longer[FIRN_RANK_MAX + 2] = {1}, turned[FIRN_RANK_MAX] = {0}; /* 1, the extents, 1 */
        uint32_t *const dims = &longer[1];
        if (x->rank == 0)
            continue;
        memcpy(dims, x->dims, x->rank * sizeof dims[0]);
        dims[x->rank] = 1;
        for (uint32_t d = 0; d < x->rank; d++)
            turned[d] = dims[x->rank - 1 - d];
        vary_dimensions(v, i, x->rank + 1u, longer);
        vary_dimensions(v, i, x->rank + 1u, dims);
        vary_dimensions(v, i, x->rank - 1u, dims);
        vary_dimensions(v, i, x->rank - 1u, dims + 1);
        vary_dimensions(v, i, x->rank, turned);
        vary_dimensions(v, i, 1, (const uint32_t[]){(uint32_t)product(x, x->rank)});
        for (uint8_t j = 0; j < v->valid->input_count; j++)
            vary_dimensions(v, i, v->valid->inputs[j].rank, v->valid->inputs[j].dims);
        if (dims[0] % 2 == 0) {
            longer[0] = 2;
            dims[0] /= 2;
            vary_dimensions(v, i, x->rank + 1u, longer);
            dims[0] *= 2;
        }
        dims[1] *= dims[0];
        if (x->rank >= 2)
            vary_dimensions(v, i, x->rank - 1u, dims + 1);
    }
}

/* Values outside the ranges, and inside. */
static const struct {
    firn_range range;
    uint8_t wrong_count, right_count;
    int64_t wrong[3], right[4];
} integer_ranges[] = {
    {FIRN_RANGE_FLAG, 3, 2, {-1, 2, 3}, {0, 1}},
    {FIRN_RANGE_TYPE, 3, 4, {-1, 4, 6}, {0, 1, 2, 3}},
    {FIRN_RANGE_EXTENT, 3, 2, {0, -1, INT64_C(1) << 32}, {1, UINT32_MAX}},
    {FIRN_RANGE_COUNT, 2, 2, {0, -1}, {1, INT64_MAX}},
    {FIRN_RANGE_INT31, 3, 2, {0, -1, INT64_C(1) << 31}, {1, INT32_MAX}},
    {FIRN_RANGE_LABEL, 2, 2, {-2, INT64_C(1) << 31}, {-1, INT32_MAX}},
    {FIRN_RANGE_RNG_ID, 2, 2, {-1, FIRN_RNG_ID_END}, {0, FIRN_RNG_ID_END - 1}},
    {FIRN_RANGE_PAIR, 2, 0, {-1, INT64_C(1) << 32}, {0}},
};

static const struct {
    firn_range range;
    uint8_t wrong_count, right_count;
    float wrong[5], right[3];
} real_ranges[] = {
    {FIRN_RANGE_RATE, 3, 2, {-0.1f, 1, NAN}, {0, 0.9f}},
    {FIRN_RANGE_POSITIVE, 4, 2, {0, -1, NAN, INFINITY}, {1e-30f, 1e30f}},
    {FIRN_RANGE_NOT_NEGATIVE, 4, 2, {-1, -0.1f, NAN, INFINITY}, {0, 1e30f}},
    {FIRN_RANGE_FINITE, 3, 3, {NAN, INFINITY, -INFINITY}, {0, 1e30f, -1e30f}},
    {FIRN_RANGE_DECAY, 4, 1, {-1, -0.1f, NAN, INFINITY}, {0}},
};

/* An attribute of any position: the integers, then the reals. */
typedef struct value {
    int64_t integer;
    float real;
} value;

static void set_attribute(shape_case *c, uint32_t position, value x) {
    if (position < c->info->integers)
        c->integers[position] = x.integer;
    else
        c->reals[position - c->info->integers] = x.real;
}

static void vary_attribute(const variation *v, uint32_t position, value x, int error) {
    shape_case c = *v->valid;
    set_attribute(&c, position, x);
    vary(v, &c, "attribute", error);
}

/* A value outside its range is refused with any other attributes, of which some are 0 here. */
static void vary_out_of_range(const variation *v, uint32_t position, value x) {
    const uint32_t attributes = v->valid->info->integers + v->valid->info->reals;
    for (uint32_t zeros = 0; zeros < 1u << attributes; zeros++) {
        shape_case c = *v->valid;
        for (uint32_t i = 0; i < attributes; i++) {
            if ((zeros >> i & 1) != 0)
                set_attribute(&c, i, (value){0, 0});
        }
        set_attribute(&c, position, x);
        if ((zeros >> position & 1) == 0)
            vary(v, &c, "attribute", FIRN_ERROR_OP_ATTRIBUTE);
    }
}

static void vary_attributes(const variation *v) {
    const firn_op_info *info = v->valid->info;
    const int right = v->declared ? FIRN_OK : UNDECIDED;
    for (uint32_t i = 0; i < info->integers; i++) {
        for (size_t k = 0; k < sizeof integer_ranges / sizeof integer_ranges[0]; k++) {
            for (size_t n = 0; integer_ranges[k].range == info->ranges[i] && n < integer_ranges[k].wrong_count; n++)
                vary_out_of_range(v, i, (value){.integer = integer_ranges[k].wrong[n]});
            for (size_t n = 0; integer_ranges[k].range == info->ranges[i] && n < integer_ranges[k].right_count; n++)
                vary_attribute(v, i, (value){.integer = integer_ranges[k].right[n]}, right);
        }
    }
    for (uint32_t i = info->integers; i < info->integers + info->reals; i++) {
        for (size_t k = 0; k < sizeof real_ranges / sizeof real_ranges[0]; k++) {
            for (size_t n = 0; real_ranges[k].range == info->ranges[i] && n < real_ranges[k].wrong_count; n++)
                vary_out_of_range(v, i, (value){.real = real_ranges[k].wrong[n]});
            for (size_t n = 0; real_ranges[k].range == info->ranges[i] && n < real_ranges[k].right_count; n++)
                vary_attribute(v, i, (value){.real = real_ranges[k].right[n]}, right);
        }
        shape_case c = *v->valid;
        c.reals[i - info->integers] = 0.1f;
        if (info->ranges[i] == FIRN_RANGE_DECAY)
            vary(v, &c, "decay", judge(v, &c, UNDECIDED));
    }
    for (uint32_t i = 0; i < v->line->wrong_count; i++) {
        const wrong_attribute *wrong = &v->line->wrong[i];
        vary_attribute(v, wrong->position, (value){wrong->integer, wrong->real}, wrong->error);
    }
}

static void vary_attribute_counts(const variation *v) {
    for (int k = 0; k < 4; k++) {
        shape_case c = *v->valid;
        c.integer_count = (uint8_t)(c.integer_count + (k == 0) - (k == 1));
        c.real_count = (uint8_t)(c.real_count + (k == 2) - (k == 3));
        if (c.integer_count < c.info->integers_min || c.integer_count > c.info->integers ||
            c.real_count < c.info->reals_min || c.real_count > c.info->reals)
            vary(v, &c, "attributes", FIRN_ERROR_OP_ATTRIBUTE);
    }
}

void shape_line_vary(const shape_line *line, shape_case_use *use, void *context) {
    const firn_op_info *info = line->original.info;
    const variation v = {.line = line,
                         .valid = &line->original,
                         .use = use,
                         .context = context,
                         .declared = has_rule(info, "declared"),
                         .compares_types = has_rule(info, types_are_compared),
                         .repeats_ones = has_rule(info, ones_are_repeated),
                         .divides_extents = has_rule(info, extents_are_divided),
                         .relates_inputs = has_rule(info, inputs_are_related)};
    vary_counts(&v);
    vary_attribute_counts(&v);
    vary_attributes(&v);
    vary_types(&v);
    vary_extents(&v);
    vary_ranks(&v);
}
