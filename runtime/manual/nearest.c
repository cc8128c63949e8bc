/* How near words are to each other (runtime/manual/nearest.h). */
#include "runtime/manual/nearest.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define PARTS_MAX 16
#define WORDS_MAX 8192 /* words of a list that are compared; a model may have more names */

/* --- words -------------------------------------------------------------------------------------------------------- */

char firn_small_letter(char c) {
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static bool is_capital(char c) {
    return c >= 'A' && c <= 'Z';
}

static bool separates(char c) {
    return c == '_' || c == '-' || c == '.' || c == ' ';
}

void firn_word_normalise(const char *word, char into[FIRN_WORD_MAX + 1]) {
    size_t length = 0;
    for (; *word != '\0' && length < FIRN_WORD_MAX; word++)
        if (!separates(*word))
            into[length++] = firn_small_letter(*word);
    into[length] = '\0';
}

static size_t least(size_t a, size_t b) {
    return a < b ? a : b;
}

static size_t most(size_t a, size_t b) {
    return a > b ? a : b;
}

size_t firn_word_distance(const char *a, const char *b) {
    size_t length_a = strlen(a), length_b = strlen(b);
    size_t rows[3][FIRN_WORD_MAX + 1]; /* of the table over the prefixes of a and b; row i is in rows[i % 3] */
    for (size_t i = 0; i <= length_a; i++) {
        size_t *row = rows[i % 3], *above = rows[(i + 2) % 3], *before_above = rows[(i + 1) % 3];
        for (size_t j = 0; j <= length_b; j++) {
            if (i == 0 || j == 0) {
                row[j] = i + j;
                continue;
            }
            row[j] = least(above[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1), least(above[j], row[j - 1]) + 1);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                row[j] = least(row[j], before_above[j - 2] + 1);
        }
    }
    return rows[length_a % 3][length_b];
}

/* --- parts -------------------------------------------------------------------------------------------------------- */

typedef struct parts {
    char text[PARTS_MAX][FIRN_WORD_MAX + 1]; /* in small letters */
    uint32_t count;
} parts;

/* Splits a word at separators, and before a capital letter that does not follow a capital letter: "MaxPoolLR" is max,
 * pool, lr. */
static void split(const char *word, parts *p) {
    size_t length = 0;
    p->count = 0;
    for (const char *c = word; *c != '\0' && p->count < PARTS_MAX; c++) {
        const bool begins = separates(*c) || (is_capital(*c) && c > word && !is_capital(c[-1]));
        if (begins && length > 0) {
            p->text[p->count++][length] = '\0';
            length = 0;
        }
        if (!separates(*c) && length < FIRN_WORD_MAX && p->count < PARTS_MAX)
            p->text[p->count][length++] = firn_small_letter(*c);
    }
    if (length > 0 && p->count < PARTS_MAX)
        p->text[p->count++][length] = '\0';
}

/* Whether each part of `few` is a part of `many`, or is at least three letters long and begins one. */
static bool has_parts(const parts *many, const parts *few) {
    for (uint32_t i = 0; i < few->count; i++) {
        const size_t length = strlen(few->text[i]);
        bool found = false;
        for (uint32_t j = 0; j < many->count; j++)
            found = found || strcmp(many->text[j], few->text[i]) == 0 ||
                    (length >= 3 && strncmp(many->text[j], few->text[i], length) == 0);
        if (!found)
            return false;
    }
    return few->count > 0;
}

/* --- the search --------------------------------------------------------------------------------------------------- */

/* How far a word is from a candidate of the list; smaller is nearer. */
static size_t rank_of(const char *word, const parts *word_parts, const char *candidate) {
    char a[FIRN_WORD_MAX + 1], b[FIRN_WORD_MAX + 1];
    parts candidate_parts;
    firn_word_normalise(word, a);
    firn_word_normalise(candidate, b);
    split(candidate, &candidate_parts);
    const size_t edits = firn_word_distance(a, b), length_a = strlen(a), length_b = strlen(b),
                 longer = most(length_a, length_b);
    if (edits <= longer / 4)
        return FIRN_NEAR_TYPING + edits;
    if (length_a >= 3 && (has_parts(&candidate_parts, word_parts) || strncmp(b, a, length_a) == 0))
        return FIRN_NEAR_PARTS + length_b;
    if (length_b >= 3 && candidate_parts.count > 1 && has_parts(word_parts, &candidate_parts))
        return FIRN_NEAR_PARTS + FIRN_WORD_MAX + length_a - least(length_a, length_b);
    if (longer >= 3 && a[0] == b[0] && 2 * edits < longer)
        return FIRN_NEAR_LETTERS + edits;
    return FIRN_FAR;
}

const char *firn_nearest(const char *word, const char *const *words, size_t *rank) {
    const char *best = NULL;
    parts word_parts;
    *rank = FIRN_FAR;
    split(word, &word_parts);
    for (uint32_t i = 0; i < WORDS_MAX && words[i] != NULL; i++) {
        const size_t found = rank_of(word, &word_parts, words[i]);
        if (found < *rank) {
            *rank = found;
            best = words[i];
        }
    }
    return best;
}
