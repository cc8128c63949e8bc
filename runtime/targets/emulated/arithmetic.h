/* A checksum for each arithmetic operation of the processor, over many operands: two machines that print the same lines
 * compute the same bits. Only for the runner. */
#ifndef FIRN_EMULATED_ARITHMETIC_H
#define FIRN_EMULATED_ARITHMETIC_H

/* Prints one line for each operation. */
void firn_emulated_arithmetic(void);

#endif
