/* All parts that a firmware may leave out (plan/parts.h says how): what the file includes that `firnc export PLAN --c`
 * writes. That file is compiled with the library's headers and linked before libfirn.a. */
#ifndef FIRN_RUNTIME_PARTS_H
#define FIRN_RUNTIME_PARTS_H

#include "plan/generated/reader.h"
#include "plan/parts.h"
#include "runtime/kernels/parts.h"
#include "runtime/numerics/half_parts.h"
#include "schedules/parts.h"

struct firn_instance;

/* The use of another instance's parameters; NULL: not in this build. All functions are given an open owner. */
typedef struct firn_sharing_part {
    /* Whether a block does not overlap the owner's state or its arenas, which hold what it has derived. */
    bool (*is_apart)(const struct firn_instance *owner, const void *block, uint64_t bytes);
    /* Whether a checked instance may use them. Returns FIRN_OK, WRONG_MODE or OTHER_OWNER. */
    int (*check)(const struct firn_instance *instance, const struct firn_instance *owner);
    /* The block of the owner that takes the place of a region, or NULL. */
    const uint8_t *(*block)(const struct firn_instance *instance, const struct firn_instance *owner, uint32_t region);
} firn_sharing_part;
extern const firn_sharing_part firn_sharing_parameters;
extern const firn_sharing_part *const firn_sharing;

/* Returns the value of a metric that has counted at least one row. */
typedef float (*firn_metric_part)(const struct firn_instance *instance, firn_fb_metric metric);
float firn_metric_mean(const struct firn_instance *instance, firn_fb_metric metric);
float firn_metric_perplexity(const struct firn_instance *instance, firn_fb_metric metric);
float firn_metric_accuracy(const struct firn_instance *instance, firn_fb_metric metric);
float firn_metric_confusion(const struct firn_instance *instance, firn_fb_metric metric);
float firn_metric_area(const struct firn_instance *instance, firn_fb_metric metric);

/* By MetricKind; NULL: not in this build. */
enum { FIRN_METRIC_KINDS = FIRN_FB_METRIC_KIND_MEAN_SQUARED_ERROR + 1 };
extern const firn_metric_part firn_metric_parts[FIRN_METRIC_KINDS];

#endif
