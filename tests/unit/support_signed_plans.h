/* Small plans built by hand, without the compiler, and signed with a key made here: what the runtime is tested with.
 *
 *   bigram       a table of logits for each byte that may follow a byte, trained with SGD on windows of text; with
 *                dynamic loss scaling, accumulation over micro-batches, and a schedule
 *   bigram_eval  perplexity of the same model
 *   classifier   accuracy of a linear layer over records of bytes
 */
#ifndef FIRN_TESTS_SIGNED_PLANS_H
#define FIRN_TESTS_SIGNED_PLANS_H

#include "plan/container.h"
#include "plan/generated/writer.h"
#include "runtime/firn.h"

enum { BIGRAM_VOCABULARY = 8, BIGRAM_WINDOW = 5, BIGRAM_SAMPLES = 2 };

/* What a test may turn. Begin with support_settings. */
typedef struct signed_plan_settings {
    uint8_t sampler, part, epoch_end;
    uint32_t stride, held_out_per_mille, micro_batches;
    uint64_t steps, seed;
    float learning_rate, initial_scale, minimum_scale;
    float gradient_factor; /* not 0: the gradient of the loss is multiplied by this, to make it overflow */
    bool check_loss;
    uint8_t metric; /* bigram_eval: mean_loss or perplexity */
    uint32_t security_counter;
    uint16_t spoil_code; /* not 0: the code of the first op becomes this */
    bool uniform;        /* the table's initial values: uniform, else normal */
} signed_plan_settings;

extern const signed_plan_settings support_settings;

typedef struct signed_plan {
    _Alignas(64) uint8_t file[8192];
    uint64_t bytes;
    uint8_t key[64]; /* public, X then Y */
} signed_plan;

/* Fills in a plan; a fault is an assertion. */
void support_bigram(signed_plan *plan, const signed_plan_settings *settings);
void support_bigram_eval(signed_plan *plan, const signed_plan_settings *settings);
void support_classifier(signed_plan *plan, const signed_plan_settings *settings);

/* Signs a plan again after a change: hashes of payload and key, then the signature. second: with another key. */
void support_sign(signed_plan *plan, bool second);
/* The same, leaving the header's run hash alone. */
void support_sign_bytes(signed_plan *plan);

/* An open instance with blocks of its own. */
typedef struct opened {
    _Alignas(64) uint8_t state[2048];
    _Alignas(64) uint8_t arena[16384];
    _Alignas(64) uint8_t prepared[32768]; /* enough for the plans above */
    firn firn;
} opened;

/* These blocks and the portable kernels, without a port; and firn_open with that, memory for decoded ops and a port. */
firn_config support_config(opened *opened, const signed_plan *plan);
int support_open(opened *opened, const signed_plan *plan, const firn_port *port);

/* A source of one stream of bytes in memory, of one segment or several. */
typedef struct bytes_source {
    const uint8_t *bytes;
    firn_segment segments[8];
    firn_stream streams[2];
    const uint8_t *labels;
    uint32_t fail_after; /* the read of this number fails (1: the first); 0: none */
    uint32_t reads;
    firn_source source;
} bytes_source;

/* Text in segments of these lengths, ended by 0. */
void support_text(bytes_source *source, const uint8_t *bytes, const uint64_t *lengths);
/* Records of `width` bytes each, with a label each. */
void support_records(bytes_source *source, const uint8_t *features, const uint8_t *labels, uint32_t width,
                     uint64_t records);

/* A tensor of an open plan by name; an assertion when there is none. */
firn_tensor_info support_tensor(const firn *firn, const char *name);

#endif
