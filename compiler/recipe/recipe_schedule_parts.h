/* What the files recipe_schedule*.c share: schedules of a recipe on their way into nodes. Nobody else includes it. */
#ifndef FIRNC_RECIPE_SCHEDULE_PARTS_H
#define FIRNC_RECIPE_SCHEDULE_PARTS_H

#include "compiler/base/text.h"
#include "compiler/recipe/recipe_parts.h"

/* One tree that is being read. Nodes, numbers and instructions go to the end of the recipe's lists. */
typedef struct firnc_schedule_reader {
    firnc_job *job;
    bool weight_decay; /* the key: a twin ...WD with names of its own for some settings */
    double adjustment; /* what ScalePerParamLR multiplies with */
    bool *adjusted;    /* set when there is one */
    uint32_t depth;    /* lists of schedules around this one */
    bool older;        /* the tree is the optimizer's learning_rate */
    bool named;        /* the settings of this class stand beside its name, as in the older layout */
} firnc_schedule_reader;

/* What a tree says of itself to the one around it. */
typedef struct firnc_schedule_traits {
    uint64_t length; /* steps, 0 for no end */
    double initial;  /* what it counts as its first value: ChainedScheduler divides by it */
} firnc_schedule_traits;

/* A class that stands at a leaf: its settings become nodes[index], its lists go behind those of the recipe. `class` is
 * its place in the table of leaves (recipe_schedule_leaves.c). */
bool firnc_schedule_read_leaf(const firnc_schedule_reader *r, const firnc_tree *mapping, uint32_t class, uint32_t index,
                              firnc_schedule_traits *traits);

/* Classes: the leaves' names for a key, each with its place in the table, appended to a list. */
uint32_t firnc_schedule_leaf_choices(firnc_choice *choices, bool weight_decay);

#define FIRNC_SCHEDULE_LEAVES 16

/* Keys that every class takes (recipe_schedule_room.c), appended to a table of fields. */
uint32_t firnc_schedule_common_fields(firnc_field *fields, const firnc_schedule_reader *r);

#define FIRNC_SCHEDULE_COMMON 3

/* The largest float32: what a node may hold. */
#define FIRNC_SINGLE_MAX 0x1.fffffep+127

/* Room for count nodes, or for count numbers or instructions; false after one line on stderr that blames `at`. */
bool firnc_schedule_add_nodes(const firnc_schedule_reader *r, const firnc_tree *at, uint32_t count, uint32_t *first);
bool firnc_schedule_add_number(const firnc_schedule_reader *r, const firnc_tree *at, double value);
bool firnc_schedule_add_instruction(const firnc_schedule_reader *r, const firnc_tree *at, uint16_t operation,
                                    double value);

/* lambda of LambdaLR, an expression of t such as "0.95 ** t": its instructions (expression.c). */
bool firnc_expression_read(const firnc_schedule_reader *r, const firnc_tree *text);

/* The same key as FIELD_LONG has: steps. */
bool firnc_schedule_steps(const firnc_tree *node, double low, uint64_t *value);

#endif
