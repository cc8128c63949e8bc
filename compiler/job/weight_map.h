/* How the tensors of a weights file become the parameters of a model, and the other way round: a list of rules, which a
 * recipe gives (weight_map) and which each model has for the files that others write of it. compiler/weights follows
 * them; this header only says what they are. */
#ifndef FIRNC_WEIGHT_MAP_H
#define FIRNC_WEIGHT_MAP_H

#include <stdbool.h>
#include <stdint.h>

#include "compiler/base/text.h"
#include "plan/ops.h"

#define FIRNC_WEIGHT_TENSORS_MAX 8

typedef enum firnc_weight_rule_kind {
    FIRNC_WEIGHT_TAKEN,   /* the parameters are made from tensors */
    FIRNC_WEIGHT_IGNORED, /* tensors[0] is a pattern ('*' any characters, '?' one) of tensors that are left out */
    FIRNC_WEIGHT_COPY,    /* tensors[0] holds the values of the parameter once more: it is compared and left out */
    /* The first row of tensors[0], if the file has this tensor, is added to each row of the parameter. firnc weights
     * writes the rows of the original file less its first row; without an original file, sizes[0] rows of zeros. */
    FIRNC_WEIGHT_ADDED,
    FIRNC_WEIGHT_CONSTANT /* tensors[0] is no parameter, and the model has its elements: it is compared and written */
} firnc_weight_rule_kind;

/* A tensor of the model that is no parameter, such as a table of positions. */
typedef struct firnc_weight_constant {
    const float *reals;
    const int64_t *wholes; /* the elements, if they are whole numbers; otherwise `reals` has them */
    uint64_t count;
    uint8_t rank;
    uint64_t dims[FIRN_RANK_MAX];
    bool read; /* the plan depends on it */
} firnc_weight_constant;

/* The extents of a tensor in the file, if they are not those of its parameter. */
typedef enum firnc_weight_extents {
    FIRNC_WEIGHT_LIKE_PARAMETER,
    FIRNC_WEIGHT_VECTOR, /* one dimension with all elements */
    FIRNC_WEIGHT_NUMBER  /* none: the parameter has one element */
} firnc_weight_extents;

#define FIRNC_WEIGHT_REST UINT32_MAX /* the extent that is left, in a shape */

/* Of FIRNC_WEIGHT_TAKEN: the tensors are joined one behind the other along `axis`; then a matrix is transposed; then
 * the axes are put in another order. What results has the elements of the parameter. In the other direction the
 * parameter is put in order, transposed and cut. */
typedef struct firnc_weight_rule {
    firnc_weight_rule_kind kind;
    const char *parameter; /* a pattern, in which '*' stands for any characters; otherwise a name */
    /* Names in the file, each with as many '*' as the pattern, or none; they stand for what those of the pattern do.
     * The first NULL ends the list. */
    const char *tensors[FIRNC_WEIGHT_TENSORS_MAX];
    uint32_t sizes[FIRNC_WEIGHT_TENSORS_MAX]; /* the extent of each along the axis; all 0: equal extents */
    uint32_t axis;                            /* of the tensors, below FIRN_RANK_MAX */
    bool transpose;                           /* rows and columns of a matrix are exchanged; a vector stays as it is */
    /* Axis i of the parameter is axis order[i] of what is joined; order_count 0: all stay where they are. */
    uint8_t order[FIRN_RANK_MAX], order_count;
    /* With an order: what is joined has the parameter's shape, and is looked at in this one while the axes change, for
     * instance as the heads of which its rows are those. One extent may be FIRNC_WEIGHT_REST. */
    uint32_t shape[FIRN_RANK_MAX];
    uint8_t shape_count;
    /* Copies: of a table that the output layer shares, so a model whose output layer has its own has no such copy. */
    bool ties;
    bool written;                          /* copies: firnc weights writes the copy */
    firnc_weight_extents extents;          /* with one tensor, without `transpose` and `order` */
    const firnc_weight_constant *constant; /* of FIRNC_WEIGHT_CONSTANT */
    firnc_place place;                     /* for messages; zero for the rules of a model */
} firnc_weight_rule;

/* Rules in the order in which they are tried. */
typedef struct firnc_weight_map {
    const firnc_weight_rule *rules;
    uint32_t count;
} firnc_weight_map;

#endif
