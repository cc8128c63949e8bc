/* Search for the nearest word by edit distance (compiler/base/nearest.h). */
#include "compiler/base/nearest.h"

#include <string.h>

#define WORD_MAX 64 /* characters that are compared */

char firnc_small_letter(char c) {
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static size_t least(size_t a, size_t b) {
    return a < b ? a : b;
}

/* Number of edits that turn one word into the other, ignoring case. An edit inserts, removes or replaces one character,
 * or swaps two neighbours. */
static size_t distance(const char *a, const char *b) {
    size_t length_a = least(strlen(a), WORD_MAX), length_b = least(strlen(b), WORD_MAX);
    size_t rows[3][WORD_MAX + 1]; /* of the table over the prefixes of a and b; row i is in rows[i % 3] */
    for (size_t i = 0; i <= length_a; i++) {
        size_t *row = rows[i % 3], *above = rows[(i + 2) % 3], *before_above = rows[(i + 1) % 3];
        for (size_t j = 0; j <= length_b; j++) {
            if (i == 0 || j == 0) {
                row[j] = i + j;
                continue;
            }
            char x = firnc_small_letter(a[i - 1]), y = firnc_small_letter(b[j - 1]);
            row[j] = least(above[j - 1] + (x == y ? 0 : 1), least(above[j], row[j - 1]) + 1);
            if (i > 1 && j > 1 && x == firnc_small_letter(b[j - 2]) && y == firnc_small_letter(a[i - 2]))
                row[j] = least(row[j], before_above[j - 2] + 1);
        }
    }
    return rows[length_a % 3][length_b];
}

const char *firnc_nearest(const char *word, const char *const *words) {
    const char *best = words[0];
    for (; *words != NULL; words++)
        if (distance(word, *words) < distance(word, best))
            best = *words;
    return best;
}
