/* Real plans: compiled from recipes, changed by a test, signed again, opened and run. Each memory block is a heap block
 * of exactly the size that the plan requires, so that the sanitizers detect an access one byte beyond it. */
#ifndef FIRN_TESTS_COMPILED_PLANS_H
#define FIRN_TESTS_COMPILED_PLANS_H

#include "compiler/base/files.h"
#include "compiler/passes/passes.h"
#include "compiler/recipe/recipe.h"
#include "plan/container.h"
#include "runtime/firn.h"

typedef struct compiled_plan {
    const char *name;
    uint8_t *file; /* aligned to 64, from the heap */
    uint64_t bytes;
} compiled_plan;

/* The key of RFC 6979, A.2.5. */
extern const uint8_t compiled_key[64];
firnc_bytes compiled_key_pem(void);

/* Runs the passes on a graph, seals and signs the plan; asserts on failure. */
void compiled_plan_freeze(compiled_plan *plan, const char *name, firnc_compilation *compilation);
/* The same for a recipe. settings: settings_count settings as for --set. */
void compiled_plan_make(compiled_plan *plan, const char *recipe, firnc_mode mode, const char *const *settings,
                        uint32_t settings_count);
void compiled_plan_copy(compiled_plan *copy, const compiled_plan *plan);
void compiled_plan_free(compiled_plan *plan);

firn_header compiled_plan_header(const compiled_plan *plan);
void compiled_plan_set_header(compiled_plan *plan, const firn_header *header);

/* Replaces the FlatBuffers part of a plan without constants. The plan has no report afterwards. */
void compiled_plan_replace(compiled_plan *plan, const uint8_t *flatbuffers, uint32_t bytes);
/* Sets mode and counts in the header to those of the payload, if the header can hold them. The payload must have passed
 * the FlatBuffers rules. */
void compiled_plan_fit_header(compiled_plan *plan);

/* Cuts the report off, as an application with little room may do. The signature still holds. */
void compiled_plan_cut_report(compiled_plan *plan);

/* Updates the run hash and, if the report is there, its hash in the header, and signs. */
void compiled_plan_sign(compiled_plan *plan);
/* Signs the header as it is. second: sign with a key other than compiled_key. */
void compiled_plan_sign_bytes(compiled_plan *plan, bool second);

/* Storage in growing memory, and a security counter. Each instance has a separate port. */
typedef struct compiled_port {
    firn_port port;
    uint32_t counter;
    uint64_t stored, capacity;
    uint8_t *record;
} compiled_port;

/* An instance with its blocks. */
typedef struct compiled_run {
    firn firn;
    firn_block blocks[FIRN_BLOCKS_MAX];
    void *workspace, *prepared;
    compiled_port port;
} compiled_run;

/* Calls firn_open. Blocks are at most COMPILED_BLOCK_MAX bytes, even if the header asks for more. */
#define COMPILED_BLOCK_MAX (UINT64_C(1) << 24)
int compiled_run_open(compiled_run *run, const compiled_plan *plan, uint32_t stored_counter);
/* Opens the given bytes in place, without copying them. */
int compiled_run_open_bytes(compiled_run *run, const uint8_t *file, uint64_t bytes);
/* Opens a plan that uses the parameters of another open instance. */
int compiled_run_open_shared(compiled_run *run, const compiled_plan *plan, const compiled_run *owner);
/* Empties *run and gives it the blocks that a config needs, which has its plan and its owner. No other field of *run is
 * set. */
void compiled_run_blocks(compiled_run *run, firn_config *config);
void compiled_run_close(compiled_run *run);

/* Initialises, takes two steps, computes the digest, saves and restores. Returns the first error of a step, or FIRN_OK;
 * asserts on every other error. */
int compiled_run_steps(compiled_run *run);

/* Returns text for a plan that samples windows, images for one that samples records. */
const firn_source *compiled_source(const compiled_run *run);

#endif
