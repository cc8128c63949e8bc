/* All parts that a firmware may leave out (plan/parts.h says how): what the file includes that `firnc export PLAN --c`
 * writes. That file is compiled with the library's headers and linked before libfirn.a. */
#ifndef FIRN_RUNTIME_PARTS_H
#define FIRN_RUNTIME_PARTS_H

#include "plan/generated/reader.h"
#include "plan/parts.h"
#include "runtime/kernels/parts.h"
#include "runtime/numerics/half_parts.h"
#include "schedules/parts.h"

struct firn_bound_input;
struct firn_check_request;
struct firn_config;
struct firn_extent;
struct firn_header;
struct firn_instance;
struct firn_samples;
struct firn_span;
struct firn_stream;

/* Returns the part of `length` elements or records that a plan reads. */
typedef struct firn_span (*firn_data_part_rule)(const struct firn_instance *instance, uint64_t length);
struct firn_span firn_all_data(const struct firn_instance *instance, uint64_t length);
struct firn_span firn_part_of_data(const struct firn_instance *instance, uint64_t length);
struct firn_span firn_held_out_data(const struct firn_instance *instance, uint64_t length);
extern const firn_data_part_rule firn_data_part; /* firn_all_data: every plan of this build reads all */

/* Samples that are windows of the segments of a stream; NULL: not in this build. */
typedef struct firn_windows_part {
    /* The windows in the part of the data that the plan reads. */
    uint64_t (*count)(const struct firn_instance *instance, const struct firn_stream *stream,
                      firn_data_part_rule part_of);
    /* The first element of a window. */
    uint64_t (*place)(const struct firn_instance *instance, const struct firn_stream *stream,
                      firn_data_part_rule part_of, uint64_t index);
} firn_windows_part;
extern const firn_windows_part firn_windows_of_segments;
extern const firn_windows_part *const firn_windows;

typedef int (*firn_samples_filler)(const struct firn_instance *instance, const struct firn_samples *samples,
                                   uint64_t cursor);

/* The divisor of a whole batch, which the phase `count` finds before the first micro-batch; NULL: not in this build. */
typedef struct firn_batch_part {
    /* Runs the phase for each micro-batch of a step, the first of which begins with draw number `cursor`. `fill` is
     * firn_samples_fill. Returns FIRN_OK, or an error of `fill`; the state is only read. */
    int (*count)(struct firn_instance *instance, const struct firn_samples *samples, firn_samples_filler fill,
                 uint64_t global_step, uint64_t cursor);
    /* Whether an op of the phase reads an input. */
    bool (*reads)(const struct firn_instance *instance, const struct firn_bound_input *input);
} firn_batch_part;
extern const firn_batch_part firn_batch_divisors;
extern const firn_batch_part *const firn_batch;

/* Whether micro-batch number `micro` leaves no loss, because the plan adds them as a tree and others follow; NULL: this
 * build does not have the op that adds them, and opens no such plan. */
typedef bool (*firn_loss_rule)(firn_fb_plan plan, uint32_t micro);
extern const firn_loss_rule firn_loss_follows;
bool firn_loss_follows_in_tree(firn_fb_plan plan, uint32_t micro);

/* The use of another instance's parameters; NULL: not in this build. Both functions are given an open owner. */
typedef struct firn_sharing_part {
    /* Whether memory does not overlap what the owner runs from: its plan, its blocks, its workspace, its ops. */
    bool (*is_apart)(const struct firn_instance *owner, const struct firn_extent *memory);
    /* Gives a checked instance the parameters of its owner, for which it has no blocks. Returns FIRN_OK, WRONG_MODE or
     * OTHER_OWNER. */
    int (*take)(struct firn_instance *instance);
} firn_sharing_part;
extern const firn_sharing_part firn_sharing_parameters;
extern const firn_sharing_part *const firn_sharing;

/* Copies the file of a request into the block of the config for it, and decodes its header. The copy becomes the file.
 * NULL: not in this build. */
typedef int (*firn_plan_copy)(const struct firn_config *config, struct firn_header *header,
                              struct firn_check_request *request);
int firn_copy_plan(const struct firn_config *config, struct firn_header *header, struct firn_check_request *request);
extern const firn_plan_copy firn_plan_copier;

/* Gives a tensor of parameters its initial values, which the plan has as constants. */
typedef void (*firn_weights_rule)(const struct firn_instance *instance, firn_fb_initialiser initialiser,
                                  const firn_tensor *tensor);
void firn_copy_weights(const struct firn_instance *instance, firn_fb_initialiser initialiser,
                       const firn_tensor *tensor);
extern const firn_weights_rule firn_initial_weights; /* NULL: not in this build */

/* Returns the value of a metric that has counted at least one row. */
typedef float (*firn_metric_part)(const struct firn_instance *instance, firn_fb_metric metric);
float firn_metric_mean(const struct firn_instance *instance, firn_fb_metric metric);
float firn_metric_perplexity(const struct firn_instance *instance, firn_fb_metric metric);
float firn_metric_accuracy(const struct firn_instance *instance, firn_fb_metric metric);
float firn_metric_confusion(const struct firn_instance *instance, firn_fb_metric metric);
float firn_metric_area(const struct firn_instance *instance, firn_fb_metric metric);

/* By MetricKind; NULL: not in this build. Without any of them there is no table. */
enum { FIRN_METRIC_KINDS = FIRN_FB_METRIC_KIND_MEAN_SQUARED_ERROR + 1 };
extern const firn_metric_part *const firn_metric_parts;

#endif
