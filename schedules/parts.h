/* The kinds of schedules that a firmware may leave out, as a table; plan/parts.h says how. Freestanding. */
#ifndef FIRN_SCHEDULES_PARTS_H
#define FIRN_SCHEDULES_PARTS_H

#include "schedules/schedule.h"

/* The fields that a kind uses; all others must be zero. */
enum {
    FIRN_SCHEDULE_USES_TOTAL = 1, /* must be at least 1 */
    FIRN_SCHEDULE_USES_AUXILIARY = 2,
    FIRN_SCHEDULE_USES_INITIAL = 4,
    FIRN_SCHEDULE_USES_FINAL = 8,
    FIRN_SCHEDULE_USES_RATE = 16,
    FIRN_SCHEDULE_USES_POWER = 32,
    FIRN_SCHEDULE_USES_CHILDREN = 64,
    FIRN_SCHEDULE_MAY_HAVE_TOTAL = 128
};

/* A kind: the fields it uses, the number of its modes, its other rules (NULL: none), and the value of a node at a step
 * (NULL: the node has children, and the walk over the tree computes it). */
typedef struct firn_schedule_part {
    uint8_t uses, modes;
    bool (*check)(const firn_schedule_list *list, const firn_schedule_node *node);
    double (*value)(const firn_schedule_list *list, const firn_schedule_node *node, uint64_t t);
} firn_schedule_part;

/* The parts, one for each kind but constant, which every build has and which needs no arithmetic in binary64. */
#define FIRN_SCHEDULE_PART(kind) extern const firn_schedule_part firn_schedule_part_##kind;
FIRN_SCHEDULE_PART(linear)
FIRN_SCHEDULE_PART(cosine)
FIRN_SCHEDULE_PART(sequential)
FIRN_SCHEDULE_PART(polynomial)
FIRN_SCHEDULE_PART(exponential)
FIRN_SCHEDULE_PART(inverse_time)
FIRN_SCHEDULE_PART(inverse_square_root)
FIRN_SCHEDULE_PART(cosine_periodic)
FIRN_SCHEDULE_PART(multi_step)
FIRN_SCHEDULE_PART(piecewise)
FIRN_SCHEDULE_PART(table)
FIRN_SCHEDULE_PART(expression)
FIRN_SCHEDULE_PART(cyclic)
FIRN_SCHEDULE_PART(one_cycle)
FIRN_SCHEDULE_PART(product)
#undef FIRN_SCHEDULE_PART

/* By kind; NULL: constant, or not in this build. One that has only constant has no table. */
extern const firn_schedule_part *const *const firn_schedule_parts;

/* Trees: the value of one, rounded, and whether nodes[i] has a place in one that is allowed (schedule_trees.c). Both
 * are NULL in a build that has only constant. */
typedef struct firn_schedule_tree_part {
    float (*value)(const firn_schedule_list *list, uint32_t root, uint64_t step);
    bool (*check)(const firn_schedule_list *list, uint32_t i);
} firn_schedule_tree_part;
float firn_schedule_rounded(const firn_schedule_list *list, uint32_t root, uint64_t step);
bool firn_schedule_is_in_tree(const firn_schedule_list *list, uint32_t i);
extern const firn_schedule_tree_part firn_schedule_trees;

/* Whether a number is within the range of binary32; and if it is not used, whether it is +0 bit by bit. */
bool firn_schedule_is_single(double value);
bool firn_schedule_is_number(double value, bool used);

#endif
