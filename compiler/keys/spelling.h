/* Faults of a recipe's text that a user can mend: bytes that are no UTF-8, characters that look like blanks, and what
 * the YAML library finds. Only tree.c uses this. */
#ifndef FIRNC_SPELLING_H
#define FIRNC_SPELLING_H

#include <stdint.h>

/* Returns the first fault of the bytes of a file, with a remedy, and sets its line; NULL if there is none. Characters
 * that only look like ASCII are accepted in comments and between quotes. */
const char *firnc_spelling_fault(const uint8_t *bytes, uint64_t count, uint32_t *line);

/* The fault that the YAML library found in a line, in words for users, with a remedy. `began` is the line where the
 * value began that it was reading; it may be 0. */
const char *firnc_yaml_fault(const char *problem, const uint8_t *bytes, uint64_t count, uint32_t line, uint32_t began);

#endif
