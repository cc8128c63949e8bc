/* Finds every place in a plan's FlatBuffers part where a value is stored. It uses the tables of the verifier, so fields
 * that are added to the schema later are covered too. */
#ifndef FIRN_TESTS_SPOTS_H
#define FIRN_TESTS_SPOTS_H

#include <stdint.h>

/* Rewrites the plan so that every scalar is stored, including defaults, and each table has its own vtable: each value
 * can then be changed in place without affecting another. Returns heap memory. */
uint8_t *spots_expand(const uint8_t *plan, uint32_t bytes, uint32_t *expanded_bytes);

typedef struct spot {
    uint32_t at;
    uint8_t bytes;       /* 1, 2, 4 or 8 */
    uint8_t table;       /* row in firn_fb_tables */
    uint16_t field;      /* field id in that table */
    uint8_t only_absent; /* the spot is a field's entry in a vtable, for which only 0 (field absent) is a meaningful
                          * change */
} spot;

/* Finds scalars, members of structs, elements and lengths of vectors, and the vtable entries of strings, vectors and
 * tables. Returns their number; at most `capacity` are stored. */
uint32_t spots_find(const uint8_t *plan, spot *spots, uint32_t capacity);

/* Returns the number of variants to try in place of `value`. If variant is less than that, sets *changed to that
 * variant: 0, 1, the largest value, the sign bit, neighbours of `value`, and so on; else leaves *changed as it is. */
uint32_t spots_variant(const spot *spot, uint64_t value, uint32_t variant, uint64_t *changed);

uint64_t spots_load(const uint8_t *plan, const spot *spot);
void spots_store(uint8_t *plan, const spot *spot, uint64_t value);

#endif
