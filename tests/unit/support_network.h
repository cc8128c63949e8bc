/* A small network built by hand, logits = b relu(a x) + c over records of NETWORK_WIDTH numbers and a label, in plans
 * that have what firnc does not write yet: views, buffers, frozen weights, derived copies, several regions of a kind.
 * The plan is in `network` until builder_finish writes it, so that a test can still change it. */
#ifndef FIRN_TESTS_NETWORK_H
#define FIRN_TESTS_NETWORK_H

#include "tests/unit/support_builder.h"

enum { NETWORK_WIDTH = 8, NETWORK_HIDDEN = 8, NETWORK_CLASSES = 4, NETWORK_SAMPLES = 4 };

/* What a plan of this network has beyond the plain one. */
typedef struct network_form {
    uint8_t mode;
    bool unlabelled;  /* eval: no loss and no metric */
    bool regions;     /* several of parameters and arenas, one of each slow */
    bool buffers;     /* the batches counted, and a running mean of the features */
    bool frozen;      /* a is read in place from the constants, and a trained adapter beside it */
    uint8_t type;     /* of the frozen weight */
    bool wide;        /* derive: the frozen weight in float32 */
    bool flip;        /* one bit of the frozen weight differs */
    bool views;       /* a and b are slices of one parameter; hidden, logits and labels are used in other shapes */
    bool clip;        /* by norm, without a loss scale */
    float limit;      /* of the norm */
    float scale;      /* if not 0, dynamic loss scaling begins with it */
    bool half_weight; /* derive: a in bfloat16 */
    uint8_t weights;  /* type of the initial values of a */
    uint32_t micro_batches;
    uint64_t steps;
    const char *buffer_name;
    firn_fb_reduction reduction; /* of the product with the frozen weight */
} network_form;

extern const network_form network_plain; /* a training with none of it */
network_form network_evaluated(network_form has);

extern builder network;

/* The tensors of the network; those a plan has not are 0. */
typedef struct network_tensors {
    int cursor, global_step, optimizer_step, count, sum, scale, skipped, overflows, since;
    int a, b, c, ab, adapter, frozen, batches, running;
    int x, labels, hidden, hidden_of_b, logits, logits_of_loss, labels_of_loss, loss, max, sums;
    int a_used, b_used, rate, tenth;
    int total_a, total_b, total_c, total_ab, total_mean;
} network_tensors;
extern network_tensors network_at;

/* Initial values. network_half: bits; of any half type, all are finite. */
extern float network_a[NETWORK_HIDDEN * NETWORK_WIDTH], network_b[NETWORK_CLASSES * NETWORK_HIDDEN];
extern uint16_t network_half[NETWORK_HIDDEN * NETWORK_WIDTH];
extern const uint32_t network_one[]; /* dimensions of a scalar */

/* Fills the initial values. a has the values of network_half in a type. */
void network_make_weights(uint8_t type);

/* Builds everything but the file. The parts of it follow. */
void network_describe(const network_form *has);
void network_add_state(const network_form *has);
void network_add_inputs(const network_form *has);
void network_add_forward(const network_form *has);
void network_add_evaluation(const network_form *has);

int network_activation(const uint32_t *dims);
void network_accumulate(int total, int part);
void network_count(int counter);

#endif
