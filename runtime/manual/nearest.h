/* Search for the word that was meant. */
#ifndef FIRN_NEAREST_H
#define FIRN_NEAREST_H

#include <stddef.h>

enum {
    FIRN_WORD_MAX = 64,   /* characters that are compared */
    FIRN_NEAR_TYPING = 0, /* where the ranges of ranks begin, nearest first */
    FIRN_NEAR_PARTS = 100,
    FIRN_NEAR_LETTERS = 1000,
    FIRN_FAR = 10000 /* the rank where no word is near */
};

/* The word of a list, which ends with NULL, that the author of an unknown word probably meant; NULL if none is near.
 * *rank is how far it is. Case, '_', '-', '.' and ' ' are ignored. In this order:
 *   1. an equal word, or one a few letters away (a typing mistake);
 *   2. the shortest word with all parts of the unknown word, or the longest one whose parts the unknown word has:
 *      CosineDecayLR for CosineLR. A part is what '_', '-', '.' or a capital letter sets apart;
 *   3. a word with the same first letter that differs in less than half of its letters. */
const char *firn_nearest(const char *word, const char *const *words, size_t *rank);

/* Writes a word in small letters and without separators; at most FIRN_WORD_MAX characters are kept. */
void firn_word_normalise(const char *word, char into[FIRN_WORD_MAX + 1]);

/* Number of edits that turn one normalised word into the other. An edit inserts, removes or replaces one character, or
 * swaps two neighbours. */
size_t firn_word_distance(const char *a, const char *b);

/* An ASCII letter in lower case; any other character unchanged. */
char firn_small_letter(char c);

#endif
