/* Suggestions for unknown words in messages. */
#ifndef FIRNC_NEAREST_H
#define FIRNC_NEAREST_H

#include <stdbool.h>

/* The word of a list that the author of an unknown word probably meant; NULL if no word of the list is near. The list
 * ends with NULL. Case, '_', '-' and '.' are ignored. In this order:
 *   1. an equal word, or one a few letters away (a typing mistake);
 *   2. the word that the table of synonyms has for the name of another library;
 *   3. the shortest word with all parts of the unknown word, or the longest one whose parts the unknown word has:
 *      CosineDecayLR for CosineLR. A part is what '_', '-', '.' or a capital letter sets apart;
 *   4. a word with the same first letter that differs in less than half of its letters. */
const char *firnc_nearest(const char *word, const char *const *words);

/* Whether a word of at least four letters is another one but for one edit, or two in at least seven letters: a typing
 * mistake and no word with another meaning. */
bool firnc_is_misspelt(const char *word, const char *meant);

/* "the nearest known one is X"; if none is near, "known are X, Y, Z", with at most the first 16 words of the list. */
const char *firnc_nearest_text(const char *word, const char *const *words);

/* An ASCII letter in lower case; any other character unchanged. */
char firnc_small_letter(char c);

#endif
