/* Schedules: learning rates and weight decays as closed forms of the optimizer step. Used by the compiler (to check,
 * freeze and print them) and by the runtime (to evaluate them). Freestanding. Computes in binary64 with + - * / and the
 * functions of schedule_elementary.h, and so gives the same bits on every machine. No recursion and no state: a value
 * depends only on the list and the step. SCHEDULES.md gives the node for each class of a recipe. */
#ifndef FIRN_SCHEDULE_H
#define FIRN_SCHEDULE_H

#include <stdbool.h>
#include <stdint.h>

/* clang-format off */
/* ScheduleKind in plan.fbs; NUMERICS.md, "Schedules", defines the value of each kind at step t of the node. Fields that
 * are not listed for a kind are zero. Numbers are within the range of binary32, except for knots and milestones.
 *
 *   constant             initial; total: its length in reports, 0 for no end
 *   linear               initial, final, total
 *   cosine               initial, final, total
 *   sequential           children, each with its start
 *   polynomial           initial, final, total, power >= 0
 *   exponential          initial, rate >= 0, total: rate^(t/total);  mode staircase
 *   inverse_time         initial, rate >= 0, power >= 0, total: 1/(1 + rate * t^power/total);  mode staircase
 *   inverse_square_root  initial, rate: a factor, total: the last step before it falls
 *   cosine_periodic      initial, final, total: half a period;  mode restart: a whole one
 *   multi_step           initial, rate >= 0; milestones: numbers from auxiliary on, total of them
 *   piecewise            numbers from auxiliary on: total milestones, then total + 1 values
 *   table                numbers from auxiliary on: total values, one for each step; the last one stays
 *   expression           instructions from auxiliary on, total of them
 *   cyclic               initial, final, total: steps up, auxiliary: steps down;  mode halving or decaying (rate >= 0)
 *   one_cycle            initial, final: the peak, rate: the end value, total: steps, power: the knot of the peak;
 *                        modes linear and three_phase
 *   product              children; initial: a factor, final: a divisor other than 0 */
/* clang-format on */
typedef enum firn_schedule_kind {
    FIRN_SCHEDULE_CONSTANT = 0,
    FIRN_SCHEDULE_LINEAR = 1,
    FIRN_SCHEDULE_COSINE = 2,
    FIRN_SCHEDULE_SEQUENTIAL = 3,
    FIRN_SCHEDULE_POLYNOMIAL = 4,
    FIRN_SCHEDULE_EXPONENTIAL = 5,
    FIRN_SCHEDULE_INVERSE_TIME = 6,
    FIRN_SCHEDULE_INVERSE_SQUARE_ROOT = 7,
    FIRN_SCHEDULE_COSINE_PERIODIC = 8,
    FIRN_SCHEDULE_MULTI_STEP = 9,
    FIRN_SCHEDULE_PIECEWISE = 10,
    FIRN_SCHEDULE_TABLE = 11,
    FIRN_SCHEDULE_EXPRESSION = 12,
    FIRN_SCHEDULE_CYCLIC = 13,
    FIRN_SCHEDULE_ONE_CYCLE = 14,
    FIRN_SCHEDULE_PRODUCT = 15
} firn_schedule_kind;

#define FIRN_SCHEDULE_KINDS 16

/* Modes; 0 is the plain form of a kind. */
enum {
    FIRN_SCHEDULE_STAIRCASE = 1,  /* exponential, inverse_time */
    FIRN_SCHEDULE_RESTART = 1,    /* cosine_periodic */
    FIRN_SCHEDULE_HALVING = 1,    /* cyclic */
    FIRN_SCHEDULE_DECAYING = 2,   /* cyclic */
    FIRN_SCHEDULE_STRAIGHT = 1,   /* one_cycle: linear pieces; bit, may be combined with the next */
    FIRN_SCHEDULE_THREE_PHASE = 2 /* one_cycle: returns to initial before the end; bit */
};

/* The bytes of struct ScheduleNode in plan.fbs, little-endian, used in place. */
typedef struct firn_schedule_node {
    uint16_t kind;        /* firn_schedule_kind */
    uint16_t mode;        /* as listed above */
    uint16_t first_child; /* index of the first child, greater than the node's own; children are consecutive */
    uint16_t child_count;
    uint64_t total;
    uint64_t start; /* child of a sequential: the step of the parent at which it starts, ascending from 0; else 0 */
    uint64_t auxiliary;
    double initial;
    double final;
    double rate;
    double power;
    uint64_t reserved; /* 0 */
} firn_schedule_node;

_Static_assert(sizeof(firn_schedule_node) == 72, "struct ScheduleNode is 72 bytes");

/* ScheduleOperation in plan.fbs: the operation of an instruction in an expression. It pops its operands from a stack,
 * the last operand being on top, and pushes one result. */
typedef enum firn_schedule_operation {
    FIRN_SCHEDULE_NUMBER = 0, /* pushes the value of the instruction */
    FIRN_SCHEDULE_STEP = 1,   /* pushes t */
    FIRN_SCHEDULE_ADD = 2,
    FIRN_SCHEDULE_SUBTRACT = 3,
    FIRN_SCHEDULE_MULTIPLY = 4,
    FIRN_SCHEDULE_DIVIDE = 5,
    FIRN_SCHEDULE_NEGATE = 6,
    FIRN_SCHEDULE_POWER = 7,
    FIRN_SCHEDULE_MINIMUM = 8,
    FIRN_SCHEDULE_MAXIMUM = 9,
    FIRN_SCHEDULE_LESS = 10, /* 1 or 0, like the next three */
    FIRN_SCHEDULE_LESS_OR_EQUAL = 11,
    FIRN_SCHEDULE_GREATER = 12,
    FIRN_SCHEDULE_GREATER_OR_EQUAL = 13,
    FIRN_SCHEDULE_WHERE = 14, /* condition, a, b: a where the condition is not 0, else b */
    FIRN_SCHEDULE_EXP = 15,
    FIRN_SCHEDULE_LOG = 16,
    FIRN_SCHEDULE_SQUARE_ROOT = 17,
    FIRN_SCHEDULE_SINE = 18,
    FIRN_SCHEDULE_COSINE_OF = 19,
    FIRN_SCHEDULE_FLOOR = 20
} firn_schedule_operation;

#define FIRN_SCHEDULE_OPERATIONS 21

/* The bytes of struct ScheduleInstruction in plan.fbs. */
typedef struct firn_schedule_instruction {
    uint16_t operation; /* firn_schedule_operation */
    uint16_t reserved_low;
    uint32_t reserved_high;
    double value; /* number: within the range of binary32; else +0 */
} firn_schedule_instruction;

_Static_assert(sizeof(firn_schedule_instruction) == 16, "struct ScheduleInstruction is 16 bytes");

/* The lists that all schedules of a plan share. */
typedef struct firn_schedule_list {
    const firn_schedule_node *nodes;
    const double *numbers;
    const firn_schedule_instruction *instructions;
    uint32_t node_count, number_count, instruction_count;
} firn_schedule_list;

#define FIRN_SCHEDULE_DEPTH 20 /* maximum number of nodes on the path from a root to a leaf */
#define FIRN_SCHEDULE_STACK 16 /* maximum number of values on an expression's stack */

/* Checks a whole list: kinds, children within the list and after their parent, no shared child, depth, starts ascending
 * from 0, values in range, ranges of numbers and instructions within their lists, unused fields +0. Returns 0, or 1 +
 * the index of the first faulty node. */
uint32_t firn_schedule_check(const firn_schedule_list *list);

/* The value at a step of the tree whose root is nodes[root]: in binary64, and rounded once to binary32 with a canonical
 * NaN. The list has been checked. */
double firn_schedule_exact(const firn_schedule_list *list, uint32_t root, uint64_t step);
float firn_schedule_value(const firn_schedule_list *list, uint32_t root, uint64_t step);

/* Whether this build can evaluate a kind; a firmware may have fewer than there are. */
bool firn_schedule_is_linked(uint16_t kind);

/* "constant" and so on; "?" for an unknown kind. */
const char *firn_schedule_name(uint16_t kind);

#endif
