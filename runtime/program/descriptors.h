/* What both programs do before anything else. */
#ifndef FIRN_PROGRAM_DESCRIPTORS_H
#define FIRN_PROGRAM_DESCRIPTORS_H

/* Opens the null device on each of the descriptors 0, 1 and 2 that is closed. A supervisor may start a program with
 * closed standard descriptors. The next file that the program opens then takes that number, and every message lands in
 * that file. */
void firn_program_open_descriptors(void);

#endif
