/* The standard descriptors of both programs. */
#ifndef FIRN_PROGRAM_DESCRIPTORS_H
#define FIRN_PROGRAM_DESCRIPTORS_H

#include <stdbool.h>

/* Opens the null device on each of the descriptors 0, 1 and 2 that is closed. A supervisor may start a program with
 * closed standard descriptors. The next file that the program opens then takes that number, and every message lands in
 * that file. */
void firn_program_open_descriptors(void);

/* Whether standard output is open, or was when firn_program_open_descriptors was called. A command whose whole result
 * is what it prints fails without it. */
bool firn_program_has_output(void);

/* Whether standard error is a terminal on which a line can be replaced: not where TERM is "dumb", as in an editor. */
bool firn_program_has_terminal(void);

#endif
