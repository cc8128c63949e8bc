/* The semantic rules that a firmware may leave out (plan/parts.h), in a build that leaves none out; nothing else may be
 * defined here. */
#include "plan/parts.h"

const firn_rule_parts firn_semantics_parts = {.metric = firn_semantics_check_metric,
                                              .output = firn_semantics_is_output,
                                              .rings = firn_semantics_are_rings,
                                              .gathered = firn_semantics_is_gathered,
                                              .batch = firn_semantics_counts_batch,
                                              .tree = firn_semantics_is_tree};
