/* Expressions of the step t in a recipe, in Python's syntax: + - * / ** < <= > >=, parentheses, pi and a few functions.
 * A recursive-descent parser, with one function for each level of precedence, translates them into the instructions
 * that schedules/ evaluates. Nothing is computed here. */
#include <stdlib.h>
#include <string.h>

#include "compiler/recipe/recipe_schedule_parts.h"
#include "schedules/schedule_expression.h"

#define DEPTH_MAX        32
#define INSTRUCTIONS_MAX 256

typedef struct parser {
    const firnc_schedule_reader *reader;
    const firnc_tree *node; /* for error messages */
    const char *at;         /* the rest of the text */
    uint32_t first;         /* index of the expression's first instruction */
    uint32_t depth;
} parser;

static const struct {
    const char *name;
    uint16_t operation;
} functions[] = {
    {"exp", FIRN_SCHEDULE_EXP},     {"log", FIRN_SCHEDULE_LOG},       {"sqrt", FIRN_SCHEDULE_SQUARE_ROOT},
    {"sin", FIRN_SCHEDULE_SINE},    {"cos", FIRN_SCHEDULE_COSINE_OF}, {"floor", FIRN_SCHEDULE_FLOOR},
    {"min", FIRN_SCHEDULE_MINIMUM}, {"max", FIRN_SCHEDULE_MAXIMUM},   {"pow", FIRN_SCHEDULE_POWER},
    {"where", FIRN_SCHEDULE_WHERE},
};

/* Reports what is wrong at the current position, as in "'+ 1' stands where ...". Always returns false. */
static bool fail(const parser *p, const char *what) {
    const char *mend = strchr(what, ';') != NULL ? "" : "; mend it there";
    if (*p->at == '\0')
        return firnc_tree_fail(p->node, "the expression ends where %s%s", what, mend);
    return firnc_tree_fail(p->node, "'%.20s' stands where %s%s", p->at, what, mend);
}

static void skip_blanks(parser *p) {
    while (*p->at == ' ' || *p->at == '\t' || *p->at == '\n')
        p->at++;
}

/* Skips blanks and consumes `word` if it comes next; returns whether it did. */
static bool take(parser *p, const char *word) {
    skip_blanks(p);
    size_t length = strlen(word);
    if (strncmp(p->at, word, length) != 0)
        return false;
    p->at += length;
    return true;
}

static bool emit(parser *p, uint16_t operation, double value) {
    if (p->reader->job->schedule.instruction_count - p->first == INSTRUCTIONS_MAX)
        return firnc_tree_fail(p->node, "needs more than %d operations; write a table instead", INSTRUCTIONS_MAX);
    return firnc_schedule_add_instruction(p->reader, p->node, operation, value);
}

static bool is_letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

static bool read_comparison(parser *p);

/* --- the levels, from the tightest to the loosest ----------------------------------------------------------------- */

static bool read_number(parser *p) {
    const char *end = p->at;
    while (is_digit(*end) || *end == '.')
        end++;
    if (*end == 'e' || *end == 'E') {
        const char *exponent = end + (end[1] == '-' || end[1] == '+' ? 2 : 1);
        if (is_digit(*exponent))
            for (end = exponent; is_digit(*end);)
                end++;
    }
    char *stop = NULL;
    double value = strtod(p->at, &stop);
    if (stop != end || is_letter(*end) || !(value <= 3.4028234663852886e38))
        return fail(p, "a number of at most 3.4e38 should; write one such as 0.5 or 1e-3");
    const size_t digit = strcspn(p->at, "123456789eE"); /* the first that is not 0, or the exponent */
    if (value == 0 && p->at + digit < end && is_digit(p->at[digit]))
        return fail(p, "a number that binary64 does not make 0 should; write one of at least 1e-307, or 0");
    p->at = end;
    return emit(p, FIRN_SCHEDULE_NUMBER, value);
}

static bool read_arguments(parser *p, uint16_t operation) {
    uint32_t wanted = firn_schedule_operands(operation);
    if (!take(p, "("))
        return fail(p, "the function's arguments should; write them in parentheses");
    for (uint32_t i = 0; i < wanted; i++) {
        if (i > 0 && !take(p, ","))
            return fail(p, "a further argument should; add it after a comma");
        if (!read_comparison(p))
            return false;
    }
    if (take(p, ")"))
        return emit(p, operation, 0);
    return fail(p, *p->at == ',' ? "the function's arguments should end; remove those that are too many"
                                 : "the function's arguments should end; add a parenthesis");
}

/* t, pi or a function. */
static bool read_name(parser *p) {
    size_t length = 0;
    while (is_letter(p->at[length]) || is_digit(p->at[length]))
        length++;
    for (size_t i = 0; i < sizeof functions / sizeof functions[0]; i++) {
        if (strlen(functions[i].name) == length && strncmp(functions[i].name, p->at, length) == 0) {
            p->at += length;
            return read_arguments(p, functions[i].operation);
        }
    }
    bool step = length == 1 && *p->at == 't', pi = length == 2 && strncmp(p->at, "pi", 2) == 0;
    if (!step && !pi)
        return fail(p, "one of t, pi, exp, log, sqrt, sin, cos, floor, min, max, pow, where should");
    p->at += length;
    return step ? emit(p, FIRN_SCHEDULE_STEP, 0) : emit(p, FIRN_SCHEDULE_NUMBER, 0x1.921fb54442d18p+1);
}

static bool read_atom(parser *p) {
    if (take(p, "(")) {
        if (!read_comparison(p))
            return false;
        return take(p, ")") || fail(p, "a parenthesis should be closed");
    }
    skip_blanks(p);
    if (is_digit(*p->at) || *p->at == '.')
        return read_number(p);
    if (is_letter(*p->at))
        return read_name(p);
    return fail(p, "a number, t or a function should");
}

/* A sign binds looser than a power to its right and tighter than one to its left: -2 ** -t is -(2 ** (-t)). */
static bool read_factor(parser *p) {
    bool negative = take(p, "-");
    bool good = false;
    if (p->depth == DEPTH_MAX)
        return firnc_tree_fail(p->node, "is nested deeper than %d; write a table instead", DEPTH_MAX);
    p->depth++;
    if (negative || take(p, "+"))
        good = read_factor(p) && (!negative || emit(p, FIRN_SCHEDULE_NEGATE, 0));
    else
        good = read_atom(p) && (!take(p, "**") || (read_factor(p) && emit(p, FIRN_SCHEDULE_POWER, 0)));
    p->depth--;
    return good;
}

/* A binary operator of one level; its operands belong to the next tighter level. */
typedef struct infix {
    const char *word;
    uint16_t operation;
} infix;

/* Consumes one of a level's operators if one comes next; otherwise returns NULL. */
static const infix *take_operator(parser *p, const infix *operators, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (take(p, operators[i].word))
            return &operators[i];
    return NULL;
}

/* Reads operands joined by the operators of one level, which associate from left to right. */
static bool read_level(parser *p, bool (*operand)(parser *p), const infix *operators, size_t count) {
    if (!operand(p))
        return false;
    for (const infix *next; (next = take_operator(p, operators, count)) != NULL;)
        if (!operand(p) || !emit(p, next->operation, 0))
            return false;
    return true;
}

static bool read_term(parser *p) {
    static const infix operators[] = {{"*", FIRN_SCHEDULE_MULTIPLY}, {"/", FIRN_SCHEDULE_DIVIDE}};
    return read_level(p, read_factor, operators, 2);
}

static bool read_sum(parser *p) {
    static const infix operators[] = {{"+", FIRN_SCHEDULE_ADD}, {"-", FIRN_SCHEDULE_SUBTRACT}};
    return read_level(p, read_term, operators, 2);
}

/* The longer operators come first in the table, because "<" is also a prefix of "<=". */
static bool read_comparison(parser *p) {
    static const infix operators[] = {{"<=", FIRN_SCHEDULE_LESS_OR_EQUAL},
                                      {">=", FIRN_SCHEDULE_GREATER_OR_EQUAL},
                                      {"<", FIRN_SCHEDULE_LESS},
                                      {">", FIRN_SCHEDULE_GREATER}};
    if (!read_sum(p))
        return false;
    const infix *next = take_operator(p, operators, sizeof operators / sizeof operators[0]);
    return next == NULL || (read_sum(p) && emit(p, next->operation, 0));
}

bool firnc_expression_read(const firnc_schedule_reader *r, const firnc_tree *text) {
    uint32_t first = r->job->schedule.instruction_count;
    parser p = {.reader = r, .node = text, .at = text->text, .first = first};
    if (!read_comparison(&p))
        return false;
    skip_blanks(&p);
    if (*p.at != '\0')
        return fail(&p, "the expression should end");
    if (!firn_schedule_expression_check(r->job->schedule.instructions + first,
                                        r->job->schedule.instruction_count - first))
        return firnc_tree_fail(text, "needs more than %d numbers at once; write it with fewer parentheses",
                               FIRN_SCHEDULE_STACK);
    return true;
}
