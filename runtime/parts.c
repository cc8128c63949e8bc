/* All kinds of metrics, of samples and of data, divisors of batches, trees of micro-batches, initial weights, sharing,
 * and copies of plans: the tables of a build that leaves none out. A firmware's own tables take their place
 * (runtime/parts.h), so nothing else may be defined here. */
#include "runtime/parts.h"

static const firn_metric_part all_metrics[FIRN_METRIC_KINDS] = {
#define FIRN_METRIC(kind, rule, ...) [FIRN_FB_METRIC_KIND_##kind] = firn_metric_##rule,
#include "runtime/metrics.def"
#undef FIRN_METRIC
};
const firn_metric_part *const firn_metric_parts = all_metrics;

const firn_sharing_part *const firn_sharing = &firn_sharing_parameters;
const firn_batch_part *const firn_batch = &firn_batch_divisors;
const firn_loss_rule firn_loss_follows = firn_loss_follows_in_tree;
const firn_windows_part *const firn_windows = &firn_windows_of_segments;
const firn_data_part_rule firn_data_part = firn_part_of_data;
const firn_plan_copy firn_plan_copier = firn_copy_plan;
const firn_weights_rule firn_initial_weights = firn_copy_weights;
