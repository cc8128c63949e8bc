/* Small graphs for support_small_plans.h that have the ops which no recipe of a language model or of dense layers has:
 * each is one network whose plan trains with a mean squared error. */
#ifndef FIRN_TESTS_SMALL_GRAPHS_H
#define FIRN_TESTS_SMALL_GRAPHS_H

#include "compiler/firnc.h"

enum { SMALL_SAMPLES = 2 };

typedef struct small_graph {
    const char *name;
    firnc_graph *(*build)(void);
} small_graph;

/* Ends with a row whose build is NULL. */
extern const small_graph small_graphs[];

#endif
