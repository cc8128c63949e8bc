/* Every place of a plan's FlatBuffers part where a value lies, found by the tables of the verifier, so that a field
 * that the schema gets later is found too. */
#ifndef FIRN_TESTS_SPOTS_H
#define FIRN_TESTS_SPOTS_H

#include <stdint.h>

/* The same plan with every scalar written out, defaults too, and a vtable for each table: then each value can be
 * changed in place and alone. From the heap. */
uint8_t *spots_expand(const uint8_t *plan, uint32_t bytes, uint32_t *expanded_bytes);

typedef struct spot {
    uint32_t at;
    uint8_t bytes;       /* 1, 2, 4 or 8 */
    uint8_t table;       /* row of firn_fb_tables */
    uint16_t field;      /* id in that table */
    uint8_t only_absent; /* the place of a field in a vtable: only 0 (the field is left out) makes sense */
} spot;

/* Scalars, members of structs, elements and lengths of vectors, and the places of strings, vectors and tables in their
 * vtables. Returns how many there are; those beyond capacity are not stored. */
uint32_t spots_find(const uint8_t *plan, spot *spots, uint32_t capacity);

/* Value number `variant` to be tried where `value` stands: 0, 1, the largest, the sign bit, what stands beside it, ...
 * Returns the number of variants when variant is beyond them, with *changed left alone. */
uint32_t spots_variant(const spot *spot, uint64_t value, uint32_t variant, uint64_t *changed);

uint64_t spots_load(const uint8_t *plan, const spot *spot);
void spots_store(uint8_t *plan, const spot *spot, uint64_t value);

#endif
