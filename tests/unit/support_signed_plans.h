/* Small signed plans for tests of the runtime, built by hand with support_builder.h.
 *
 *   bigram       a table of logits for each byte that may follow a byte, trained with SGD on windows of text; with
 *                dynamic loss scaling, accumulation over micro-batches, and a schedule
 *   bigram_eval  perplexity of the same model
 *   classifier   accuracy of a linear layer over records of bytes
 */
#ifndef FIRN_TESTS_SIGNED_PLANS_H
#define FIRN_TESTS_SIGNED_PLANS_H

#include "runtime/firn.h"
#include "tests/unit/support_builder.h"

enum { BIGRAM_VOCABULARY = 8, BIGRAM_WINDOW = 5, BIGRAM_SAMPLES = 2 };

/* Settings that tests vary. Start with a copy of support_settings. */
typedef struct signed_plan_settings {
    uint8_t sampler, part, epoch_end;
    uint32_t stride, held_out_per_mille, micro_batches;
    uint64_t steps, seed;
    float learning_rate, initial_scale, minimum_scale;
    float gradient_factor; /* if not 0, the gradient of the loss is multiplied by this to make it overflow */
    bool check_loss;
    uint8_t metric; /* bigram_eval: mean_loss or perplexity */
    uint32_t security_counter, image_id;
    const char *report;                     /* bytes of the report; NULL: the plan has none */
    uint16_t spoil_code;                    /* if not 0, replaces the code of the first op */
    void (*change)(firn_native_plan *plan); /* if not NULL, changes the plan before it is written */
    bool uniform;                           /* initial values of the table: uniform if true, else normal */
} signed_plan_settings;

extern const signed_plan_settings support_settings;

/* Builds a plan; asserts on failure. */
void support_bigram(signed_plan *plan, const signed_plan_settings *settings);
void support_bigram_eval(signed_plan *plan, const signed_plan_settings *settings);
void support_classifier(signed_plan *plan, const signed_plan_settings *settings);

/* An open instance with a block for each kind of region of the plans above. */
typedef struct opened {
    _Alignas(64) uint8_t parameters[512];
    _Alignas(64) uint8_t optimizer[512];
    _Alignas(64) uint8_t session[512];
    _Alignas(64) uint8_t arena[16384];
    _Alignas(64) uint8_t prepared[32768]; /* large enough for the plans above */
    firn_block blocks[FIRN_BLOCKS_MAX];   /* what the config refers to */
    firn firn;
} opened;

/* support_config returns a configuration with these blocks and the portable kernels, without a port; support_open calls
 * firn_open with it, with memory for decoded ops, and with a port. Without a header that can be read there are no
 * blocks. */
firn_config support_config(opened *opened, const signed_plan *plan);
int support_open(opened *opened, const signed_plan *plan, const firn_port *port);

/* Gives a config the blocks that a plan of these sizes needs. */
void support_blocks(opened *opened, const firn_sizes *sizes, firn_config *config);

/* A source of one stream of bytes in memory, in one or more segments. */
typedef struct bytes_source {
    const uint8_t *bytes;
    firn_segment segments[8];
    firn_stream streams[2];
    const uint8_t *labels;
    uint32_t fail_after; /* number of the read that fails, counted from 1; 0: none */
    uint32_t reads;
    firn_source source;
} bytes_source;

/* Provides text in segments of these lengths; a length of 0 ends the list. */
void support_text(bytes_source *source, const uint8_t *bytes, const uint64_t *lengths);
/* Provides records of `width` bytes each, with one label per record. */
void support_records(bytes_source *source, const uint8_t *features, const uint8_t *labels, uint32_t width,
                     uint64_t records);

/* Returns a tensor of the state, an output or an input of an open plan by name; asserts that it exists. */
firn_tensor_info support_tensor(const firn *firn, const char *name);

#endif
