/* Reads cases of the shape rules from text and varies them. */
#include "tests/unit/support_shapes.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plan/errors.h"
#include "plan/op_words.h"
#include "tests/unit/support_test.h"

/* --- text ------------------------------------------------------------------------------------------------------- */

static const char *const type_texts[] = {
    [FIRN_FLOAT32] = "f32", [FIRN_FLOAT16] = "f16", [FIRN_BFLOAT16] = "b16", [FIRN_CBFLOAT16] = "c16",
    [FIRN_INT32] = "i32",   [FIRN_INT64] = "i64",   [FIRN_UINT8] = "u08",
};
enum { TYPES = sizeof type_texts / sizeof type_texts[0] };

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
    uint8_t type = 0;
    while (type < TYPES && !skips(text, type_texts[type]))
        type++;
    if (type == TYPES)
        fail_msg("no type: %s", *text);
    return type;
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
    return *text == '\0' || strchr(";=|", *text) != NULL || strncmp(text, "->", 2) == 0;
}

static attribute_value read_value(const char **text, bool is_real) {
    char *end;
    attribute_value x = {0};
    if (is_real)
        x.real = strtof(*text, &end);
    else
        x.integer = strtoll(*text, &end, 0);
    assert_true(end > *text);
    if (!is_real && *end == ':')
        x.integer = x.integer << 16 | strtol(end + 1, &end, 10);
    *text = end;
    return x;
}

/* position: of the integers, then of the reals */
static void set_attribute(shape_case *c, uint32_t position, attribute_value x) {
    if (position < c->info->integers)
        c->integers[position] = x.integer;
    else
        c->reals[position - c->info->integers] = x.real;
}

/* Reads the attributes from one position to another, and the wrong values behind each. */
static void read_attributes(shape_line *line, const char **text, uint32_t from, uint32_t to) {
    const bool is_real = from == line->original.info->integers && from < to;
    for (uint32_t i = from; !at_end(*text); i++) {
        char mark;
        assert_true(i < to);
        set_attribute(&line->original, i, read_value(text, is_real));
        while ((mark = read_mark(text, "!~")) != '\0') {
            assert_true(line->wrong_count < sizeof line->wrong / sizeof line->wrong[0]);
            wrong_attribute *wrong = &line->wrong[line->wrong_count++];
            wrong->position = i;
            wrong->value = read_value(text, is_real);
            wrong->error = mark == '!' ? FIRN_ERROR_OP_ATTRIBUTE : FIRN_ERROR_OP_SHAPE;
        }
    }
}

static const firn_op_info *find_op(const char *name, size_t length) {
    for (uint32_t i = 0; i < FIRN_OPS; i++) {
        const firn_op_info *info = firn_op_at(i);
        if (strlen(firn_op_name(info)) == length && strncmp(firn_op_name(info), name, length) == 0)
            return info;
    }
    fail_msg("no op: %s", name);
    return NULL;
}

/* Reads the names of ops, which '/' separates. `which` counts ops, then alternatives: it chooses an op, and becomes the
 * number of the alternative. */
static const firn_op_info *read_op(const char **text, uint32_t *which) {
    const char *names[FIRN_OPS];
    uint32_t count = 0;
    do {
        *text += count > 0;
        names[count++] = *text;
        *text += strcspn(*text, "/ ");
    } while (**text == '/');
    const char *name = names[*which % count];
    *which /= count;
    return find_op(name, strcspn(name, "/ "));
}

static int read_error(const char **text) {
    const bool shape = skips(text, "SHAPE"), attribute = skips(text, "ATTRIBUTE");
    assert_true(shape || attribute || skips(text, "OPERANDS"));
    return shape ? FIRN_ERROR_OP_SHAPE : attribute ? FIRN_ERROR_OP_ATTRIBUTE : FIRN_ERROR_OP_OPERANDS;
}

bool shape_line_read(shape_line *line, const char *text, uint32_t which) {
    shape_case *c = &line->original;
    *line = (shape_line){.original = {.text = text, .change = "line", .outputs_known = true}};
    c->info = read_op(&text, &which);
    c->integer_count = c->info->integers;
    c->real_count = c->info->reals;
    for (; which > 0; which--) {
        text = strchr(text, '|');
        if (text == NULL)
            return false;
        text++;
    }
    for (; !at_end(text); c->input_count++) {
        assert_true(c->input_count < SHAPES_INPUTS);
        read_shape(&text, &c->inputs[c->input_count], &line->marks[c->input_count]);
    }
    text = strstr(text, "->");
    assert_non_null(text);
    text += strlen("->");
    for (; !at_end(text); c->output_count++) {
        shape_marks none;
        assert_true(c->output_count < SHAPES_OUTPUTS);
        read_shape(&text, &c->outputs[c->output_count], &none);
    }
    if (skips(&text, ";"))
        read_attributes(line, &text, 0, c->info->integers);
    if (skips(&text, ";"))
        read_attributes(line, &text, c->info->integers, (uint32_t)c->info->integers + c->info->reals);
    c->error = skips(&text, "=") ? read_error(&text) : FIRN_OK;
    assert_int_equal(*text, '\0');
    return true;
}

/* --- what the columns say of types and extents ------------------------------------------------------------------ */

static bool type_holds(const shape_case *c, const firn_operand *row, uint8_t type) {
    const bool real = type == FIRN_FLOAT32 || firn_type_is_half(type);
    if (row->type >= FIRN_TYPE_OF_INPUT)
        return type == c->inputs[row->type - FIRN_TYPE_OF_INPUT].type || (row->rounded && type == FIRN_FLOAT32);
    if (row->type == FIRN_TYPE_REAL)
        return real;
    if (row->type == FIRN_TYPE_OWN) /* no op whose rule checks the type takes another one */
        return real || type == FIRN_INT32;
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

/* Whether a letter has this value, which it gets if it has none yet. */
static bool letter_is(uint64_t *letter, uint64_t value) {
    if (*letter == 0)
        *letter = value;
    return *letter == value;
}

/* wanted: a number or a letter. */
static bool extent_is(uint64_t letters[FIRN_LETTERS], uint8_t wanted, uint32_t extent) {
    return wanted < FIRN_EXTENT_LETTER ? extent == wanted : letter_is(&letters[wanted - FIRN_EXTENT_LETTER], extent);
}

static bool extents_hold(const shape_case *c) {
    uint64_t l[FIRN_LETTERS] = {0}, leading = 0;
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
            holds = x->rank >= 2 && letter_is(&leading, product(x, x->rank - 1u)) &&
                    extent_is(l, row->a, x->dims[x->rank - 1]);
        else if (row->form == FIRN_FORM_ROW_VALUES)
            holds = letter_is(&leading, product(x, x->rank));
        else if (row->form == FIRN_FORM_VECTOR)
            holds = x->rank == 1 && (extent_is(l, row->a, x->dims[0]) || (row->b != 0 && x->dims[0] == row->b));
        else if (row->form == FIRN_FORM_MATRIX)
            holds = x->rank == 2 && extent_is(l, row->a, x->dims[0]) && extent_is(l, row->b, x->dims[1]);
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
enum { RULES = sizeof rules / sizeof rules[0] };

/* Whether one of the words is the rule of an op. Each word stands between two spaces. */
static bool has_rule(const firn_op_info *info, const char *words) {
    char word[64] = "";
    for (size_t i = 0; i < RULES; i++) {
        if (rules[i].code == info->code)
            snprintf(word, sizeof word, " %s ", rules[i].name);
    }
    return strstr(words, word) != NULL;
}

/* Rules that repeat an extent of 1; that want an extent to be divisible; that say which optional inputs an op may have
 * together; and that compare types, or an attribute with a type. */
static const char ones_are_repeated[] =
    " elementwise select repeated sum_to expand cross_attention cross_attention_backward ";
static const char extents_are_divided[] =
    " conv conv_backward_weight recurrent_backward_weight attention rotary_embedding ";
static const char inputs_are_related[] = " select gradient_norm gradient_factors concat accumulate_tree ";
static const char types_are_compared[] = " cast concat attention attention_backward cross_attention "
                                         "cross_attention_backward linear_cross_entropy scatter_nd metric_auc ";

static bool is_rule(const char *word, size_t length) {
    for (size_t i = 0; i < RULES; i++) {
        if (strlen(rules[i].name) == length && strncmp(rules[i].name, word, length) == 0)
            return true;
    }
    return false;
}

void shape_lists_check(void) {
    static const char *const lists[] = {ones_are_repeated, extents_are_divided, inputs_are_related, types_are_compared};
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++) {
        for (const char *word = lists[i] + 1; *word != '\0'; word += strcspn(word, " ") + 1) {
            if (!is_rule(word, strcspn(word, " ")))
                fail_msg("no rule: %s", word);
        }
    }
}

bool shape_rule_is_declared(const firn_op_info *info) {
    return has_rule(info, " declared ");
}

bool shape_case_is_of_rule(const shape_case *c) {
    if (c->error == FIRN_ERROR_OP_SHAPE)
        return types_hold(c) && extents_hold(c);
    const bool is_of_line = strcmp(c->change, "line") == 0;
    return is_of_line || (c->error == FIRN_ERROR_OP_ATTRIBUTE && strcmp(c->change, "range") != 0 &&
                          strcmp(c->change, "count") != 0 && strcmp(c->change, "decay") != 0);
}

/* --- variations ------------------------------------------------------------------------------------------------- */

typedef struct variation {
    const shape_line *line;
    const shape_case *valid; /* the line, or the line without some of its optional inputs */
    bool complete;           /* has all inputs of the line, so that all marks hold */
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

/* Makes each input absent, and each count one smaller and one larger. */
static void vary_counts(const variation *v) {
    const firn_op_info *info = v->valid->info;
    const int allowed = v->relates_inputs ? UNDECIDED : FIRN_OK;
    const uint8_t inputs = v->valid->input_count, outputs = v->valid->output_count;
    for (uint8_t i = 0; i < inputs; i++) {
        shape_case c = *v->valid;
        c.inputs[i] = (firn_shape){0};
        const bool may_be = firn_op_input(info, i)->optional && i + 1 < inputs;
        vary(v, &c, "absent", may_be ? allowed : FIRN_ERROR_OP_OPERANDS);
    }
    for (int k = inputs > 0 ? 0 : 1; k < 8; k++) {
        shape_case c = *v->valid;
        uint8_t *const counts[] = {&c.input_count, &c.output_count, &c.integer_count, &c.real_count};
        *counts[k % 4] = (uint8_t)(*counts[k % 4] + (k < 4 ? -1 : 1));
        c.inputs[inputs] = c.inputs[0];
        c.outputs[outputs] = c.outputs[0];
        const bool operands = c.input_count >= info->inputs_min && c.input_count <= info->inputs_max &&
                              c.output_count >= info->outputs_min && c.output_count <= info->outputs &&
                              (c.input_count == 0 || c.inputs[c.input_count - 1].rank > 0);
        const bool attributes = c.integer_count >= info->integers_min && c.integer_count <= info->integers &&
                                c.real_count >= info->reals_min && c.real_count <= info->reals;
        vary(v, &c, "count",
             !operands     ? FIRN_ERROR_OP_OPERANDS
             : !attributes ? FIRN_ERROR_OP_ATTRIBUTE
             : k == 0      ? allowed
                           : UNDECIDED);
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

/* Returns the error that the columns demand; `otherwise` if they hold and the op has a rule of its own. */
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

/* Gives each operand, and each pair of operands, other types. */
static void vary_types(const variation *v) {
    const uint32_t operands = v->valid->input_count + v->valid->output_count;
    for (uint32_t i = 0; i < operands; i++) {
        for (uint32_t t = 0; t < (operands - i) * TYPES * TYPES; t++) {
            shape_case c = *v->valid;
            firn_shape *const x = operand(&c, i), *const y = operand(&c, i + t / (TYPES * TYPES));
            const uint8_t type = (uint8_t)(t % TYPES), other = (uint8_t)(t / TYPES % TYPES);
            if (x->rank == 0 || y->rank == 0 || x->type == type || y->type == other || (x == y && type != other))
                continue;
            x->type = type;
            y->type = other;
            vary(v, &c, "type", judge(v, &c, v->compares_types ? UNDECIDED : FIRN_OK));
        }
    }
}

/* What an op with its own rule says of an extent with a mark, if it becomes smaller or larger. */
static int of_mark(char mark, bool larger) {
    if (mark == '*' || mark == (larger ? '>' : '<') || mark == (larger ? '+' : '-'))
        return FIRN_OK;
    return mark == '+' || mark == '-' ? FIRN_ERROR_OP_ATTRIBUTE : FIRN_ERROR_OP_SHAPE;
}

/* Marks of an optional input hold even where other inputs are absent. An input that is always there may be less
 * constrained then. */
static bool marks_hold(const variation *v, uint32_t input) {
    return v->complete || firn_op_input(v->valid->info, input)->optional;
}

static void vary_extent(const variation *v, uint8_t i, uint8_t d, uint32_t extent) {
    shape_case c = *v->valid;
    const uint32_t before = c.inputs[i].dims[d];
    if (extent == before)
        return;
    c.inputs[i].dims[d] = extent;
    c.outputs_known = false;
    const bool undecided = (extent == 1 && v->repeats_ones) || !marks_hold(v, i);
    vary(v, &c, "extent", judge(v, &c, undecided ? UNDECIDED : of_mark(v->line->marks[i].extents[d], extent > before)));
}

/* Makes each extent one larger, one smaller and 0. An extent that no other may replace becomes each extent of the
 * inputs, too. */
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

/* Gives an input other dimensions, with every type. */
static void vary_dimensions(const variation *v, uint8_t i, uint32_t rank, const uint32_t *dims) {
    const shape_case *valid = v->valid;
    const shape_marks none = {0}, *marks = &v->line->marks[i];
    firn_shape x = {.rank = (uint8_t)rank};
    for (uint32_t d = 0; d < rank && d < FIRN_RANK_MAX; d++)
        x.dims[d] = dims[d];
    if (rank == 0 || same_extents(&x, &valid->inputs[i]))
        return;
    const bool fixed = rank == valid->inputs[i].rank ? memcmp(marks, &none, sizeof none) == 0 : marks->rank == 0;
    const bool decided = firn_op_input(valid->info, i)->form == FIRN_FORM_OWN && fixed && marks_hold(v, i);
    for (x.type = 0; x.type < TYPES; x.type++) {
        shape_case c = *valid;
        c.inputs[i] = x;
        c.outputs_known = false;
        const bool typed = !v->compares_types || x.type == valid->inputs[i].type;
        vary(v, &c, "dimensions", judge(v, &c, decided && typed ? FIRN_ERROR_OP_SHAPE : UNDECIDED));
    }
}

/* Adds and removes a dimension at either end, reverses them, joins the first two or all of them, divides the first one,
 * and takes the dimensions of each other input. */
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

/* Values outside each range, and inside. The rules check the ranges that are not here. */
static const struct {
    firn_range range;
    const char *wrong, *right;
} ranges[] = {
    {FIRN_RANGE_FLAG, "-1 2 3", "0 1"},
    {FIRN_RANGE_TYPE, "-1 4 6", "0 1 2 3"},
    {FIRN_RANGE_EXTENT, "0 -1 4294967296", "1 4294967295"},
    {FIRN_RANGE_COUNT, "0 -1", "1 9223372036854775807"},
    {FIRN_RANGE_INT31, "0 -1 2147483648", "1 2147483647"},
    {FIRN_RANGE_LABEL, "-2 2147483648", "-1 2147483647"},
    {FIRN_RANGE_RNG_ID, "-1 4294967040", "0 4294967039"},
    {FIRN_RANGE_PAIR, "-1 4294967296", ""},
    {FIRN_RANGE_RATE, "-0.1 1 nan", "0 0.9"},
    {FIRN_RANGE_POSITIVE, "0 -1 nan inf", "1e-30 1e30"},
    {FIRN_RANGE_NOT_NEGATIVE, "-1 -0.1 nan inf", "0 1e30"},
    {FIRN_RANGE_FINITE, "nan inf -inf", "0 1e30 -1e30"},
    {FIRN_RANGE_DECAY, "-1 -0.1 nan inf", "0"},
};

static void vary_attribute(const variation *v, uint32_t position, attribute_value x, int error) {
    shape_case c = *v->valid;
    set_attribute(&c, position, x);
    vary(v, &c, "attribute", error);
}

/* An attribute outside its range is refused whatever the others are. Each subset of the others becomes 0. */
static void vary_out_of_range(const variation *v, uint32_t position, attribute_value x) {
    const uint32_t attributes = v->valid->info->integers + v->valid->info->reals;
    for (uint32_t zeros = 0; zeros < 1u << attributes; zeros++) {
        shape_case c = *v->valid;
        for (uint32_t i = 0; i < attributes; i++) {
            if ((zeros >> i & 1) != 0)
                set_attribute(&c, i, (attribute_value){0, 0});
        }
        set_attribute(&c, position, x);
        if ((zeros >> position & 1) == 0)
            vary(v, &c, "range", FIRN_ERROR_OP_ATTRIBUTE);
    }
}

static void vary_attributes(const variation *v) {
    const firn_op_info *info = v->valid->info;
    for (uint32_t i = 0; i < (uint32_t)info->integers + info->reals; i++) {
        for (size_t k = 0; k < sizeof ranges / sizeof ranges[0]; k++) {
            if (ranges[k].range != (firn_range)info->ranges[i])
                continue;
            for (const char *text = ranges[k].wrong; *text != '\0';)
                vary_out_of_range(v, i, read_value(&text, i >= info->integers));
            for (const char *text = ranges[k].right; *text != '\0';)
                vary_attribute(v, i, read_value(&text, i >= info->integers), v->declared ? FIRN_OK : UNDECIDED);
        }
    }
    for (uint32_t i = 0; v->complete && i < v->line->wrong_count; i++) {
        const wrong_attribute *wrong = &v->line->wrong[i];
        vary_attribute(v, wrong->position, wrong->value, wrong->error);
    }
}

/* Gives the weight decay as an attribute, among the factors, and as both, which is refused. */
static void vary_decay(const variation *v) {
    const firn_op_info *info = v->valid->info;
    for (uint32_t i = 0; i < info->reals; i++) {
        shape_case c = *v->valid;
        if (info->ranges[info->integers + i] != FIRN_RANGE_DECAY)
            continue;
        c.reals[i] = 0.1f;
        vary(v, &c, "decay", judge(v, &c, FIRN_OK));
        c = *v->valid;
        if (info->factors >= c.input_count)
            continue;
        c.inputs[info->factors].dims[0] = FIRN_FACTORS_AND_DECAY;
        vary(v, &c, "decay", judge(v, &c, FIRN_OK));
        c.reals[i] = 0;
        vary(v, &c, "decay", judge(v, &c, FIRN_OK));
    }
}

/* Returns the optional inputs that a line has, as bits. */
static uint64_t optional_inputs(const shape_case *valid) {
    uint64_t optional = 0;
    for (uint8_t i = 0; i < valid->info->inputs && i < valid->input_count; i++) {
        if (valid->inputs[i].rank > 0 && firn_op_input(valid->info, i)->optional)
            optional |= UINT64_C(1) << i;
    }
    return optional;
}

/* Makes the inputs in `absent` absent. */
static void leave_out(const shape_case *valid, uint64_t absent, shape_case *bare) {
    *bare = *valid;
    for (uint8_t i = 0; i < valid->input_count; i++) {
        if ((absent >> i & 1) != 0)
            bare->inputs[i] = (firn_shape){0};
    }
    while (bare->input_count > 0 && bare->inputs[bare->input_count - 1].rank == 0)
        bare->input_count--;
}

static void vary_all(const variation *v) {
    vary_counts(v);
    vary_attributes(v);
    vary_decay(v);
    vary_types(v);
    vary_extents(v);
    vary_ranks(v);
}

void shape_line_vary(const shape_line *line, shape_case_use *use, void *context) {
    const firn_op_info *info = line->original.info;
    shape_case bare;
    variation v = {.line = line,
                   .valid = &line->original,
                   .complete = true,
                   .use = use,
                   .context = context,
                   .declared = shape_rule_is_declared(info),
                   .compares_types = has_rule(info, types_are_compared),
                   .repeats_ones = has_rule(info, ones_are_repeated),
                   .divides_extents = has_rule(info, extents_are_divided),
                   .relates_inputs = has_rule(info, inputs_are_related)};
    vary_all(&v);
    v.valid = &bare;
    v.complete = false;
    const uint64_t optional = v.relates_inputs ? 0 : optional_inputs(&line->original);
    for (uint64_t absent = optional; absent != 0; absent = (absent - 1) & optional) { /* each set of them but none */
        leave_out(&line->original, absent, &bare);
        vary_all(&v);
    }
}
