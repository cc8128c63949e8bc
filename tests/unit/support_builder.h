/* Builds small plans by hand, without the compiler, and signs them with a key made here. Begin a builder, add tensors,
 * ops and phases, set what else the plan has in builder.plan, and finish it. */
#ifndef FIRN_TESTS_BUILDER_H
#define FIRN_TESTS_BUILDER_H

#include "plan/container.h"
#include "plan/generated/writer.h"
#include "plan/ops.h"

typedef struct signed_plan {
    _Alignas(64) uint8_t file[16384];
    uint64_t bytes;
    uint8_t key[64]; /* public key: X, then Y */
} signed_plan;

/* Signs a plan again after a change: updates the hashes of payload, report and key, then the signature. A report that
 * was cut off keeps its hash. second: with the other key. */
void support_sign(signed_plan *plan, bool second);
/* Signs the header as it is. */
void support_sign_bytes(signed_plan *plan);

enum { BUILDER_TENSORS = 96, BUILDER_OPS = 48, BUILDER_LIST = 64, BUILDER_CONSTANTS = 2048 };

/* Regions that every builder begins with; those without tensors are left out. builder_region adds others. */
enum { BUILDER_PARAMETERS, BUILDER_OPTIMIZER, BUILDER_SESSION, BUILDER_ARENA, BUILDER_REGIONS };

/* In the lists of operands: the end, and an input that is absent. */
enum { BUILDER_END = -1, BUILDER_ABSENT = -2 };

/* The plan is written from these lists. Zero it with builder_begin; it contains pointers into itself, so it must not be
 * copied. */
typedef struct builder {
    firn_native_plan plan;
    firn_header header; /* its fields about the content are filled in by builder_finish */
    const char *report; /* NULL: none */
    firn_native_tensor tensors[BUILDER_TENSORS];
    uint32_t dims[BUILDER_TENSORS][4];
    firn_native_phase phases[6];
    firn_native_op ops[BUILDER_OPS];
    uint32_t operands[BUILDER_OPS][2][BUILDER_LIST];
    int64_t integers[BUILDER_OPS][FIRN_ATTRIBUTES_MAX];
    float reals[BUILDER_OPS][FIRN_ATTRIBUTES_MAX];
    firn_fb_reduction reductions[BUILDER_OPS];
    uint32_t op_count;
    firn_native_input inputs[4];
    firn_native_output outputs[4];
    firn_native_sampler sampler;
    firn_fb_schedule_node nodes[3];
    firn_native_schedule schedule;
    firn_native_initialiser initialisers[BUILDER_TENSORS];
    firn_native_metric metric;
    uint8_t kinds[FIRN_REGIONS_MAX]; /* of regions, in the order in which they were added */
    uint64_t bytes[FIRN_REGIONS_MAX];
    uint32_t region_count;
    uint8_t constants[BUILDER_CONSTANTS], weights[BUILDER_CONSTANTS]; /* of the constant region; behind it */
    uint64_t weights_bytes;
} builder;

/* An empty plan of this mode. The sampler reads nothing yet, and no field names a tensor. */
void builder_begin(builder *b, uint8_t mode);

/* Adds a region and returns its number for the functions below. */
int builder_region(builder *b, uint8_t kind);

/* Adds a tensor with dimensions ended by 0. It lives throughout. */
uint32_t builder_tensor(builder *b, int region, uint8_t type, uint8_t role, const uint32_t *dims);
uint32_t builder_arena(builder *b, uint8_t type, uint8_t role, const uint32_t *dims);
uint32_t builder_scalar(builder *b, uint8_t type, uint8_t role);

/* Tensors of the state must be added before all others, in the order of their names. They begin as zeros; change
 * b->initialisers for other values. */
uint32_t builder_state(builder *b, int region, const char *name, uint8_t type, uint8_t role, const uint32_t *dims);
uint32_t builder_counter(builder *b, int region, const char *name);

/* Adds a tensor in the plan's constants with these contents: a frozen weight with a name, or a constant without one.
 * `region` must be the only constant one. */
uint32_t builder_constant(builder *b, int region, const char *name, uint8_t type, const uint32_t *dims,
                          const void *contents);

/* Lets a tensor of the state begin with weights of a type from the constants. */
void builder_weights(builder *b, uint32_t tensor, uint8_t element, const void *weights, uint64_t bytes);

/* Adds a view of a tensor, with an offset in bytes. */
uint32_t builder_view(builder *b, uint32_t base, uint64_t offset, const uint32_t *dims);

/* Adds an op with lists of operands ended by BUILDER_END, then its attributes and reduction, in order. */
firn_native_op *builder_op(builder *b, uint16_t code, const int *inputs, const int *outputs);
void builder_integer(builder *b, firn_native_op *op, int64_t value);
void builder_real(builder *b, firn_native_op *op, float value);
void builder_reduction(builder *b, firn_native_op *op, firn_fb_reduction reduction);

/* Defines a phase of all ops added since the previous phase. */
void builder_phase(builder *b, uint8_t kind);

/* Adds an output; all of them can be read with support_tensor. */
void builder_output(builder *b, const char *name, int tensor);

/* Writes the payload, puts the file together, and signs it. `change`, if not NULL, changes the plan before it is
 * written. */
void builder_finish(builder *b, void (*change)(firn_native_plan *plan), signed_plan *plan);

#endif
