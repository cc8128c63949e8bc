/* The operations for which compilers have C operators on registers of x86. Kernels call these functions instead,
 * because on other machines a register type is a structure (neon.h). Only vector.h may include this file. */
#ifndef FIRN_KERNELS_VECTOR_OPERATORS_H
#define FIRN_KERNELS_VECTOR_OPERATORS_H

static inline firn_vector firn_vector_subtract(firn_vector a, firn_vector b) {
    return a - b;
}

static inline firn_vector firn_vector_divide(firn_vector a, firn_vector b) {
    return a / b;
}

/* x with its sign changed, also of a NaN. */
static inline firn_vector firn_vector_negative(firn_vector x) {
    return -x;
}

/* The bits of each lane as an integer, and the lanes with these bits. */
static inline firn_words firn_vector_bits(firn_vector x) {
    return (firn_words)x;
}

static inline firn_vector firn_vector_from_bits(firn_words bits) {
    return (firn_vector)bits;
}

static inline firn_words firn_words_fill(uint32_t word) {
    return word - (firn_words){0};
}

static inline firn_words firn_words_add(firn_words a, firn_words b) {
    return a + b;
}

static inline firn_words firn_words_subtract(firn_words a, firn_words b) {
    return a - b;
}

static inline firn_words firn_words_and(firn_words a, firn_words b) {
    return a & b;
}

static inline firn_words firn_words_or(firn_words a, firn_words b) {
    return a | b;
}

static inline firn_words firn_words_xor(firn_words a, firn_words b) {
    return a ^ b;
}

/* Shift by `by` bits, 1 to 31, a constant after inlining; zeros take the free places. */
static inline firn_words firn_words_left(firn_words x, int by) {
    return x << by;
}

static inline firn_words firn_words_right(firn_words x, int by) {
    return x >> by;
}

static inline firn_mask firn_mask_and(firn_mask a, firn_mask b) {
    return a & b;
}

static inline firn_mask firn_mask_or(firn_mask a, firn_mask b) {
    return a | b;
}

#endif
