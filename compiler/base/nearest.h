/* What somebody may have meant who wrote a word that is not known. */
#ifndef FIRNC_NEAREST_H
#define FIRNC_NEAREST_H

/* The word of a list that is nearest to another by edit distance, case aside. The list ends with NULL and has a word.
 */
const char *firnc_nearest(const char *word, const char *const *words);

/* A letter of ASCII in its small form, any other character as it is. */
char firnc_small_letter(char c);

#endif
