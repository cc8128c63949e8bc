/* Declarations shared by the files recipe_schedule*.c, which turn the schedules of a recipe into nodes. No other file
 * may include it. */
#ifndef FIRNC_RECIPE_SCHEDULE_PARTS_H
#define FIRNC_RECIPE_SCHEDULE_PARTS_H

#include "compiler/base/text.h"
#include "compiler/recipe/recipe_parts.h"

/* The state of reading one tree of schedules. Nodes, numbers and instructions are appended to the job's lists. */
typedef struct firnc_schedule_reader {
    firnc_job *job;
    bool weight_decay; /* reads weight decay classes (...WD), which have other names for some settings */
    double adjustment; /* the factor that ScalePerParamLR applies */
    bool *adjusted;    /* set to true if the tree has a ScalePerParam class */
    uint32_t depth;    /* number of lists of schedules around this one */
    bool older;        /* the tree is the optimizer's learning_rate */
    bool keep_steps;   /* disable_lr_steps_reset: the schedules of the list count the steps of the whole list */
    bool named;        /* the settings stand beside the class's name, as in the older layout */
} firnc_schedule_reader;

/* Properties of a tree that the tree around it needs. */
typedef struct firnc_schedule_traits {
    uint64_t length; /* steps; 0: no end */
    double initial;  /* initial value, by which ChainedScheduler divides */
} firnc_schedule_traits;

/* Reads a leaf class: fills nodes[index] and appends its numbers and instructions to the job's lists. `class` is the
 * index in the table of leaves (recipe_schedule_leaves.c). */
bool firnc_schedule_read_leaf(const firnc_schedule_reader *r, const firnc_tree *mapping, uint32_t class, uint32_t index,
                              firnc_schedule_traits *traits);

/* Appends the names of the leaf classes to `choices`, each with its index in the table of leaves. Returns how many
 * there are. */
uint32_t firnc_schedule_leaf_choices(firnc_choice *choices, bool weight_decay);

#define FIRNC_SCHEDULE_LEAVES 16

/* Appends the keys that every class accepts to a table of fields (recipe_schedule_room.c). Returns how many there
 * are. */
uint32_t firnc_schedule_common_fields(firnc_field *fields, const firnc_schedule_reader *r);

#define FIRNC_SCHEDULE_COMMON 3

/* The mapping of a leaf under the names of today (recipe_schedule_older.c). False after one message. */
bool firnc_schedule_rename(const firnc_tree *mapping, const firnc_tree **renamed);

/* Lets a node of a list, which begins at the step `start` of the list, count the steps of the list and not its own. */
bool firnc_schedule_keep_steps(const firnc_schedule_reader *r, const firnc_tree *entry, uint32_t index, uint64_t start);

/* The largest float32, and the largest value that a node may hold. */
#define FIRNC_SINGLE_MAX 0x1.fffffep+127

/* Append `count` nodes, a number or an instruction. On failure they write one line to stderr that points at `at` and
 * return false. */
bool firnc_schedule_add_nodes(const firnc_schedule_reader *r, const firnc_tree *at, uint32_t count, uint32_t *first);
bool firnc_schedule_add_number(const firnc_schedule_reader *r, const firnc_tree *at, double value);
bool firnc_schedule_add_instruction(const firnc_schedule_reader *r, const firnc_tree *at, uint16_t operation,
                                    double value);

/* Reads a lambda of LambdaLR, which is an expression of t such as "0.95 ** t", into instructions (expression.c). */
bool firnc_expression_read(const firnc_schedule_reader *r, const firnc_tree *text);

/* Reads a number of steps as a key of kind FIRNC_FIELD_LONG would be read. */
bool firnc_schedule_steps(const firnc_tree *node, double low, uint64_t *value);

#endif
