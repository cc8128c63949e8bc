/* What the files of the generator share: it stops at the first fault. */
#ifndef FIRN_GENERATE_PROGRAM_H
#define FIRN_GENERATE_PROGRAM_H

#include <stddef.h>

/* The binary schema, for messages; before it is known, the name of the program. */
extern const char *input_name;

/* Prints the input, a place and a mend, and ends the program. */
void refuse(const char *place, const char *mend) __attribute__((noreturn));

/* Zeroed; never NULL. */
void *allocate(size_t count, size_t size);

#endif
