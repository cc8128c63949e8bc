/* Declarations shared by all files of the generator, which stops at the first error. */
#ifndef FIRN_GENERATE_PROGRAM_H
#define FIRN_GENERATE_PROGRAM_H

#include <stddef.h>

/* The file that is being read, for messages; the name of the program until the command line has been read. */
extern const char *input_name;

/* Prints the input's name, the place of the error and how to mend it, then ends the program. */
void refuse(const char *place, const char *mend) __attribute__((noreturn));

/* Returns zeroed memory, never NULL. */
void *allocate(size_t count, size_t size);

#endif
