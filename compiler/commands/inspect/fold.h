/* Folds names that differ only in numbers, such as those of equal layers, into one: "h.0.norm" and "h.1.norm" become
 * "h.[0-1].norm". For pages that people read; programs get every name. */
#ifndef FIRNC_FOLD_H
#define FIRNC_FOLD_H

#include <stdint.h>

typedef struct firnc_fold_item {
    const char *name;
    const char *same; /* what else must be equal, as text; not NULL */
} firnc_fold_item;

typedef struct firnc_folded {
    const char *name;        /* allocated with firnc_allocate */
    const uint32_t *members; /* indices of the items, ascending */
    uint32_t count;          /* of the members, at least 1 */
} firnc_folded;

/* Folds `count` items. Stores the groups, in the order of their first items, and returns their number. Only a number
 * that stands between dots or slashes, or at an end of the name, may differ. */
uint32_t firnc_fold(const firnc_fold_item *items, uint32_t count, const firnc_folded **groups);

/* The bytes of a name before its first such number, without the dot or slash between them; the length of the name if it
 * has none. Stores the number. */
uint64_t firnc_fold_stack(const char *name, uint64_t *number);

#endif
