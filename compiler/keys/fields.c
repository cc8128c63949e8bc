/* Reads mappings by tables of keys (compiler/keys/fields.h). The tables are in recipe.c and its neighbours; this file
 * must not depend on the meaning of a key. */
#include "compiler/keys/fields.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/base/nearest.h"
#include "compiler/base/text.h"

/* --- numbers ------------------------------------------------------------------------------------------------------ */

static const char *skip_digits(const char *text) {
    while (*text >= '0' && *text <= '9')
        text++;
    return text;
}

static const char *skip_sign(const char *text) {
    return *text == '-' || *text == '+' ? text + 1 : text;
}

static bool is_whole(const firnc_tree *node) {
    if (node->kind != FIRNC_SCALAR || !node->plain)
        return false;
    const char *digits = skip_sign(node->text), *end = skip_digits(digits);
    return end > digits && *end == '\0';
}

/* Refuses a whole number that begins with a 0: YAML 1.1 reads 010 as 8, and YAML 1.2 as 10. */
static bool check_leading_zero(const firnc_tree *node) {
    const char *digits = skip_sign(node->text), *first = digits + strspn(digits, "0");
    if (!is_whole(node) || digits[0] != '0' || digits[1] == '\0')
        return true;
    return firnc_tree_fail(node, "%s begins with a 0, and some readers of YAML take it for octal; write %s%s",
                           node->text, node->text[0] == '-' ? "-" : "", *first == '\0' ? "0" : first);
}

/* A decimal number, with or without a fraction and an exponent. Hexadecimal, inf and nan are refused. */
static bool is_number(const firnc_tree *node) {
    if (node->kind != FIRNC_SCALAR || !node->plain)
        return false;
    const char *start = skip_sign(node->text), *end = skip_digits(start);
    bool digits = end > start;
    if (*end == '.') {
        start = end + 1;
        end = skip_digits(start);
        digits = digits || end > start;
    }
    if (digits && (*end == 'e' || *end == 'E')) {
        start = skip_sign(end + 1);
        end = skip_digits(start);
        digits = end > start;
    }
    return digits && *end == '\0';
}

static const char *value_text(const firnc_tree *node) {
    static const char *const kinds[] = {NULL, "a list", "a mapping"};
    if (node->kind != FIRNC_SCALAR)
        return kinds[node->kind];
    return firnc_format(node->plain ? "%.60s" : "\"%.60s\"", node->text);
}

const char *firnc_number_text(double value) {
    const char *text = firnc_format("%.6g", value);
    for (int digits = 7; digits <= 17 && strtod(text, NULL) != value; digits++)
        text = firnc_format("%.*g", digits, value);
    return text;
}

const char *firnc_single_text(float value) {
    const char *text = firnc_format("%.6g", (double)value);
    for (int digits = 7; digits <= 9 && strtof(text, NULL) != value; digits++)
        text = firnc_format("%.*g", digits, (double)value);
    return text;
}

static bool is_whole_field(const firnc_field *field) {
    return field->kind == FIRNC_FIELD_WHOLE || field->kind == FIRNC_FIELD_LONG;
}

/* The upper end of a field's range in the form that the field accepts. Without one it is that of the type. */
static const char *high_text(const firnc_field *field) {
    if (field->kind == FIRNC_FIELD_WHOLE && field->high == 0)
        return firnc_format("%u", (unsigned)UINT32_MAX);
    if (field->kind == FIRNC_FIELD_LONG && field->high == 0)
        return firnc_format("%llu", (unsigned long long)UINT64_MAX);
    if (field->high == 0)
        return "3.4e38";
    return is_whole_field(field) ? firnc_format("%.0f", field->high) : firnc_number_text(field->high);
}

static const char *low_text(const firnc_field *field) {
    return is_whole_field(field) ? firnc_format("%.0f", field->low) : firnc_number_text(field->low);
}

/* "a whole number of at least 1 and at most 65536" */
static const char *range_text(const firnc_field *field) {
    if (field->low == field->high && field->high != 0)
        return low_text(field);
    return firnc_format("%s %s %s and %s %s", is_whole_field(field) ? "a whole number" : "a number",
                        field->above_low ? "above" : "of at least", low_text(field),
                        field->below_high ? "below" : "at most", high_text(field));
}

/* The decimal form of a number in another notation, such as 0o17, 0x1f or 1_000. NULL if the text is no such number. */
static const char *decimal_text(const firnc_tree *node, const firnc_field *field) {
    const char *text = node->text, *digits = skip_sign(text);
    char plain[32], *end;
    size_t length = 0;
    if (node->kind != FIRNC_SCALAR || strlen(text) >= sizeof plain)
        return NULL;
    for (const char *c = text; *c != '\0'; c++)
        if (*c != '_')
            plain[length++] = *c;
    plain[length] = '\0';
    if (digits[0] == '0' && (digits[1] == 'o' || digits[1] == 'O') && digits[2] != '\0') {
        const unsigned long long value = strtoull(digits + 2, &end, 8);
        return *end == '\0' ? firnc_format("%s%llu", text[0] == '-' ? "-" : "", value) : NULL;
    }
    const double value = strtod(plain, &end); /* hexadecimal, too */
    if (length == 0 || *end != '\0' || value - value != 0 || skip_sign(plain)[0] > '9')
        return NULL;
    if (!is_whole_field(field))
        return firnc_number_text(value);
    return value < 1e18 && value > -1e18 && value == (double)(long long)value ? firnc_format("%.0f", value) : NULL;
}

static bool in_range(double value, const firnc_field *field) {
    if (field->above_low ? !(value > field->low) : !(value >= field->low))
        return false;
    return field->high == 0 || (field->below_high ? value < field->high : value <= field->high);
}

/* What to write instead of a value that is not written as a number: the number that was meant, or the range. */
static const char *mend_number(const firnc_tree *node, const firnc_field *field) {
    const char *decimal = node->kind == FIRNC_SCALAR ? decimal_text(node, field) : NULL;
    if (decimal == NULL || !in_range(strtod(decimal, NULL), field))
        return range_text(field);
    return node->plain ? decimal : firnc_format("%s, without quotes", decimal);
}

static bool fail_number(const firnc_tree *node, const firnc_field *field, const char *fault) {
    if (field->only != NULL)
        return firnc_tree_fail(node, "%s %s; %s", value_text(node), fault, field->only);
    return firnc_tree_fail(node, "%s %s; write %s", value_text(node), fault, range_text(field));
}

bool firnc_field_whole(const firnc_tree *node, const firnc_field *field, uint64_t *value) {
    if (!is_whole(node))
        return firnc_tree_fail(node, "%s is not a whole number; write %s", value_text(node), mend_number(node, field));
    if (!check_leading_zero(node))
        return false;
    uint64_t most = field->kind == FIRNC_FIELD_WHOLE ? UINT32_MAX : UINT64_MAX;
    bool negative = node->text[0] == '-';
    errno = 0;
    *value = strtoull(skip_sign(node->text), NULL, 10);
    if (errno != 0 || (negative && *value != 0) || *value > most || !in_range((double)*value, field))
        return fail_number(node, field, negative && *value != 0 ? "is negative" : "is out of range");
    return true;
}

/* --- numbers that float32 changes --------------------------------------------------------------------------------- */

#define LEAST_NORMAL 1.1754943508222875e-38 /* 2^-126: below it a float32 has fewer than 24 bits */
#define CHANGE_MAX   1e-6                   /* of the value; decimals that float32 rounds change by 6e-8 at most */

/* Refuses a number that float32 changes by more than rounding does: it becomes infinite, or 0 or another number of
 * fewer than 24 bits below 2^-126. What a plan computes is float32, whatever the number was read as. */
static bool check_in_single(const firnc_tree *node, const firnc_field *field, double exact) {
    const float single = strtof(node->text, NULL);
    const double size = exact < 0 ? -exact : exact, change = (double)single - exact;
    if (single - single != 0)
        return fail_number(node, field, "is out of range");
    if (size < LEAST_NORMAL && (change > CHANGE_MAX * size || -change > CHANGE_MAX * size))
        return firnc_tree_fail(node, "%s becomes %s in float32; write a number of %s1.2e-38%s", value_text(node),
                               firnc_single_text(single + 0.0F), exact < 0 ? "at most -" : "at least ",
                               in_range(0, field) ? ", or 0" : "");
    return true;
}

bool firnc_field_number(const firnc_tree *node, const firnc_field *field, double *value) {
    if (!is_number(node))
        return firnc_tree_fail(node, "%s is not a number; write %s", value_text(node), mend_number(node, field));
    if (!check_leading_zero(node))
        return false;
    *value = strtod(node->text, NULL);
    if (*value - *value != 0 || !in_range(*value, field))
        return fail_number(node, field, "is out of range");
    return check_in_single(node, field, *value);
}

/* The float32 next to an end that a range excludes, on its inner side. */
static const char *inner_text(const firnc_field *field, bool high) {
    const float end = (float)(high ? field->high : field->low);
    return firnc_single_text(nextafterf(end, high ? (float)field->low : INFINITY));
}

/* Rounds once, from the text. Rounding is monotonic, so a value in the range stays within the rounded ends; only a
 * value that rounds to an excluded end has to be refused here. */
bool firnc_field_single(const firnc_tree *node, const firnc_field *field, float *value) {
    double exact;
    if (!firnc_field_number(node, field, &exact))
        return false;
    *value = strtof(node->text, NULL);
    const bool below = field->above_low && *value <= (float)field->low;
    const bool above = field->below_high && *value >= (float)field->high;
    if (below || above)
        return firnc_tree_fail(node, "%s becomes %s in float32, and that is not allowed; write %s or %s",
                               value_text(node), firnc_single_text(*value), inner_text(field, above),
                               above ? "less" : "more");
    return true;
}

/* --- words -------------------------------------------------------------------------------------------------------- */

/* Words that YAML 1.1 and other languages have for true and false, in pairs. */
static const char *const flag_words[] = {"false", "true", "no", "yes", "off", "on", "n", "y", "0", "1"};

bool firnc_field_flag(const firnc_tree *node, bool *value) {
    static const char *const words[] = {"false", "False", "FALSE", "true", "True", "TRUE"};
    for (size_t i = 0; node->kind == FIRNC_SCALAR && node->plain && i < sizeof words / sizeof words[0]; i++)
        if (strcmp(node->text, words[i]) == 0) {
            *value = i >= 3;
            return true;
        }
    for (size_t i = 0; node->kind == FIRNC_SCALAR && i < sizeof flag_words / sizeof flag_words[0]; i++)
        if (firnc_same_word(node->text, flag_words[i]))
            return firnc_tree_fail(node, "%s is not true or false; write %s%s", value_text(node), flag_words[i % 2],
                                   node->plain ? "" : ", without quotes");
    return firnc_tree_fail(node, "%s is not true or false; write one of the two", value_text(node));
}

const char *firnc_choices_text(const firnc_choice *choices) {
    const char *text = choices->word;
    while ((++choices)->word != NULL)
        text = firnc_format("%s, %s", text, choices->word);
    return text;
}

/* The words of a list of choices; NULL ends it. */
static const char *const *words_of(const firnc_choice *choices, uint32_t *count) {
    *count = 0;
    while (choices[*count].word != NULL)
        ++*count;
    const char **words = firnc_allocate((*count + UINT64_C(1)) * sizeof *words);
    for (uint32_t i = 0; i < *count; i++)
        words[i] = choices[i].word;
    return words;
}

bool firnc_field_choice(const firnc_tree *node, const firnc_choice *choices, int *value) {
    for (const firnc_choice *choice = choices; node->kind == FIRNC_SCALAR && choice->word != NULL; choice++)
        if (strcmp(node->text, choice->word) == 0) {
            *value = choice->value;
            return true;
        }
    uint32_t count;
    const char *const *words = words_of(choices, &count);
    const char *nearest = node->kind == FIRNC_SCALAR && count > 1 ? firnc_nearest(node->text, words) : NULL;
    return firnc_tree_fail(node, "%s is not one of the choices; write one of %s%s%s", value_text(node),
                           firnc_choices_text(choices), nearest == NULL ? "" : ": the nearest one is ",
                           nearest == NULL ? "" : nearest);
}

/* Compares two words, ignoring case; `suffix` may be missing at the end of the first. */
static bool same_class(const char *word, const char *class, const char *suffix) {
    while (*word != '\0' && firnc_small_letter(*word) == firnc_small_letter(*class)) {
        word++;
        class ++;
    }
    return *word == '\0' && (*class == '\0' || strcmp(class, suffix) == 0);
}

#define CHOICES_TOLD 8

/* "write one of A, B", or, if there are many classes, the one that was probably meant. */
static const char *mend_choice(const char *word, const firnc_choice *classes) {
    uint32_t count;
    const char *const *words = words_of(classes, &count);
    if (count <= CHOICES_TOLD)
        return firnc_format("write one of %s", firnc_choices_text(classes));
    return firnc_nearest_text(word, words);
}

/* The class that a word names, or NULL. */
static const firnc_choice *class_of(const char *word, const firnc_choice *classes, const char *suffix) {
    for (const firnc_choice *choice = classes; choice->word != NULL; choice++)
        if (same_class(word, choice->word, suffix))
            return choice;
    return NULL;
}

bool firnc_class_find(const firnc_tree *node, const char *word, const firnc_choice *classes, const char *suffix,
                      int *class) {
    const firnc_choice *choice = class_of(word, classes, suffix);
    if (choice == NULL)
        return firnc_tree_fail(node, "is not known to Firn; %s", mend_choice(word, classes));
    *class = choice->value;
    return true;
}

/* Why a node is no mapping of one class, and what to write. */
static const char *class_fault(const firnc_tree *node, const firnc_choice *classes, const char *suffix,
                               const char *what) {
    const firnc_tree *of = NULL, *second = NULL, *named = NULL, *setting = NULL;
    if (node->kind == FIRNC_SCALAR && class_of(node->text, classes, suffix) != NULL)
        return firnc_format("%.60s is a word without settings; write {%.60s: {}}", node->text, node->text);
    for (const firnc_tree *child = node->kind == FIRNC_MAPPING ? node->first : NULL; child != NULL;
         child = child->next) {
        if (class_of(child->key, classes, suffix) == NULL) {
            setting = child;
            if (child->kind == FIRNC_SCALAR && class_of(child->text, classes, suffix) != NULL)
                named = child;
        } else if (of == NULL) {
            of = child;
        } else if (second == NULL) {
            second = child;
        }
    }
    if (second != NULL)
        return firnc_format("one %s only; there are %.60s and %.60s; remove one of them%s", what, of->key, second->key,
                            node->key == NULL ? ", or put each into an entry of its own, after a dash" : "");
    if (of != NULL && setting != NULL)
        return firnc_format("%.60s stands beside %.60s; put it below %.60s, with more blanks before it", setting->key,
                            of->key, of->key);
    if (named != NULL)
        return firnc_format("the name of the %s is its key; write {%.60s: {...}} instead of %.60s: %.60s", what,
                            named->text, named->key, named->text);
    return firnc_format("names no %s; write one as a key, such as %s, and its settings below it", what, classes->word);
}

const firnc_tree *firnc_class_read(const firnc_tree *node, const firnc_choice *classes, const char *suffix,
                                   const char *what, int *class) {
    if (node->kind != FIRNC_MAPPING || firnc_tree_count(node) != 1) {
        firnc_tree_fail(node, "%s", class_fault(node, classes, suffix, what));
        return NULL;
    }
    return firnc_class_find(node->first, node->first->key, classes, suffix, class) ? node->first : NULL;
}

static bool read_fixed(const firnc_tree *node, const char *only) {
    if (node->kind == FIRNC_SCALAR && firnc_same_word(node->text, only))
        return true;
    return firnc_tree_fail(node, "%s is not supported; write %s or leave the key out", value_text(node), only);
}

/* --- mappings ----------------------------------------------------------------------------------------------------- */

/* Notes an ignored key; in a mapping, of each key by itself. */
static void note_ignored(const firnc_tree *node, const firnc_field *field) {
    if (firnc_idle_loses_nothing(node, field->usual))
        return;
    if (node->kind != FIRNC_MAPPING) {
        firnc_idle_note(node, field->only);
        return;
    }
    for (const firnc_tree *child = node->first; child != NULL; child = child->next)
        note_ignored(child, field);
}

static bool read_value(const firnc_tree *node, const firnc_field *field, void *structure) {
    void *to = (char *)structure + field->offset;
    uint64_t whole = 0;
    switch (field->kind) {
    case FIRNC_FIELD_FLAG:
        return firnc_field_flag(node, to);
    case FIRNC_FIELD_WHOLE:
        if (!firnc_field_whole(node, field, &whole))
            return false;
        *(uint32_t *)to = (uint32_t)whole;
        return true;
    case FIRNC_FIELD_LONG:
        return firnc_field_whole(node, field, to);
    case FIRNC_FIELD_SINGLE:
        return firnc_field_single(node, field, to);
    case FIRNC_FIELD_DOUBLE:
        return firnc_field_number(node, field, to);
    case FIRNC_FIELD_CHOICE:
        return firnc_field_choice(node, field->choices, to);
    case FIRNC_FIELD_FIXED:
        return read_fixed(node, field->only);
    case FIRNC_FIELD_NESTED:
        return node->kind == FIRNC_MAPPING ||
               firnc_tree_fail(node, "%s is not a mapping; put keys below it", value_text(node));
    case FIRNC_FIELD_ENTRIES:
        return node->kind == FIRNC_LIST ||
               (node->kind == FIRNC_SCALAR
                    ? firnc_tree_fail(node, "%s is not a list; write %s", value_text(node),
                                      field->only != NULL ? field->only : firnc_format("[%.60s]", node->text))
                    : firnc_tree_fail(node, "a mapping is not a list; put entries below it, each after a dash"));
    case FIRNC_FIELD_REFUSED:
        return firnc_tree_fail(node, "is not supported; %s", field->only);
    case FIRNC_FIELD_ELSEWHERE:
        return firnc_tree_fail(node, "does not stand here; write it below %s", field->only);
    case FIRNC_FIELD_IGNORED:
        note_ignored(node, field);
        return true;
    case FIRNC_FIELD_OTHER:
        break;
    }
    return true;
}

static bool has_effect(const firnc_field *field) {
    return field->kind != FIRNC_FIELD_IGNORED && field->kind != FIRNC_FIELD_REFUSED &&
           field->kind != FIRNC_FIELD_ELSEWHERE;
}

/* Keys without effect come last, so that a message that lists keys begins with the useful ones. Keys of other places
 * are suggested, and not listed. */
static bool fail_unknown(const firnc_tree *child, const firnc_field *fields, uint32_t count) {
    const char **words = firnc_allocate((count + UINT64_C(1)) * sizeof *words);
    const char **own = firnc_allocate((count + UINT64_C(1)) * sizeof *own);
    uint32_t filled = 0, own_filled = 0;
    for (int useless = 0; useless < 2; useless++)
        for (uint32_t i = 0; i < count; i++)
            if (has_effect(&fields[i]) == (useless == 0)) {
                words[filled++] = fields[i].key;
                if (fields[i].kind != FIRNC_FIELD_ELSEWHERE)
                    own[own_filled++] = fields[i].key;
            }
    const char *nearest = firnc_nearest(child->key, words);
    for (uint32_t i = 0; nearest != NULL && i < count; i++)
        if (fields[i].kind == FIRNC_FIELD_ELSEWHERE && strcmp(fields[i].key, nearest) == 0)
            return firnc_tree_fail(child, "unknown key; if it is %s, write that below %s", nearest, fields[i].only);
    return firnc_tree_fail(child, "unknown key; %s", firnc_nearest_text(child->key, own));
}

static bool read_child(const firnc_tree *child, const firnc_field *fields, uint32_t count, void *structure) {
    for (uint32_t i = 0; i < count; i++)
        if (strcmp(child->key, fields[i].key) == 0)
            return firnc_tree_is_null(child) || read_value(child, &fields[i], structure);
    return fail_unknown(child, fields, count);
}

bool firnc_fields_read(const firnc_tree *mapping, const firnc_field *fields, uint32_t count, void *structure) {
    uint64_t nothing = 0;
    if (structure == NULL)
        structure = &nothing;
    if (mapping->kind != FIRNC_MAPPING)
        return firnc_tree_fail(mapping, "%s is not a mapping; put keys below it", value_text(mapping));
    for (const firnc_tree *child = mapping->first; child != NULL; child = child->next)
        if (!read_child(child, fields, count, structure))
            return false;
    for (uint32_t i = 0; i < count; i++)
        if (fields[i].required && firnc_tree_child(mapping, fields[i].key) == NULL)
            return firnc_tree_fail(mapping, "%s is missing; add it", fields[i].key);
    return true;
}
