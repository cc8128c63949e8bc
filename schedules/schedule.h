/* Schedules: every learning-rate schedule as a closed form of the optimizer step. Shared by the compiler (to check,
 * freeze and print) and the runtime (to evaluate). Freestanding; binary64 with + - * / and our own functions, so the
 * same bits everywhere. No recursion, no state: a value is a function of the nodes and the step alone. */
#ifndef FIRN_SCHEDULE_H
#define FIRN_SCHEDULE_H

#include <stdint.h>

/* ScheduleKind in plan.fbs. t is the step local to the node.
 *   constant    initial
 *   linear      initial * (total - t)/total + final * t/total; final from t = total on
 *   cosine      initial * c + final * s, s = sin^2(pi/2 t/total) and c = 1 - s, or, where t is at least half of total,
 *               c = sin^2(pi/2 (total - t)/total) and s = 1 - c; final from t = total on
 *   sequential  the last child whose start <= t, at t - start */
typedef enum firn_schedule_kind {
    FIRN_SCHEDULE_CONSTANT = 0,
    FIRN_SCHEDULE_LINEAR = 1,
    FIRN_SCHEDULE_COSINE = 2,
    FIRN_SCHEDULE_SEQUENTIAL = 3
} firn_schedule_kind;

/* The bytes of struct ScheduleNode in plan.fbs, little-endian, used in place. */
typedef struct firn_schedule_node {
    uint16_t kind;        /* firn_schedule_kind */
    uint16_t child_count; /* sequential: at least 1; else 0 */
    uint32_t first_child; /* sequential: index of the first child, greater than the node's own; else 0 */
    uint64_t total;       /* steps; linear, cosine: at least 1; constant: 0 for no end; sequential: for reports */
    uint64_t start;       /* child of a sequential: the parent's step at which it begins, ascending from 0; else 0 */
    uint64_t auxiliary;   /* 0 */
    double initial;       /* in the range of binary32; sequential: 0 */
    double final;         /* linear, cosine: in the range of binary32; else 0 */
    double rate;          /* 0 */
    double power;         /* 0 */
} firn_schedule_node;

_Static_assert(sizeof(firn_schedule_node) == 64, "struct ScheduleNode is 64 bytes");

#define FIRN_SCHEDULE_DEPTH 8

/* Checks a whole list: kinds, children inside the list and after their parent, no child shared, depth, starts
 * ascending from 0, values in range, unused fields +0. Returns 0, or 1 + the index of the first node at fault. */
uint32_t firn_schedule_check(const firn_schedule_node *nodes, uint32_t count);

/* The value of the tree under nodes[root] at a step, in binary64 and rounded once to binary32. The list has been
 * checked. */
double firn_schedule_exact(const firn_schedule_node *nodes, uint32_t root, uint64_t step);
float firn_schedule_value(const firn_schedule_node *nodes, uint32_t root, uint64_t step);

/* "ConstantLR" and so on; "?" for an unknown kind. */
const char *firn_schedule_name(uint16_t kind);

#endif
