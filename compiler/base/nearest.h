/* Suggestions for unknown words in messages. */
#ifndef FIRNC_NEAREST_H
#define FIRNC_NEAREST_H

/* The word of a list with the smallest edit distance to another, ignoring case; the first of equals. The list ends with
 * NULL and is not empty. */
const char *firnc_nearest(const char *word, const char *const *words);

/* An ASCII letter in lower case; any other character unchanged. */
char firnc_small_letter(char c);

#endif
