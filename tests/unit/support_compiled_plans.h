/* Real plans: compiled from recipes, changed as a test likes, signed again, and opened and run in blocks of exactly the
 * size that they ask for, each from the heap, so that the sanitizers see one byte beyond. */
#ifndef FIRN_TESTS_COMPILED_PLANS_H
#define FIRN_TESTS_COMPILED_PLANS_H

#include "compiler/base/files.h"
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

/* Compiles, seals and signs; a fault is an assertion. settings are those of --set, settings_count of them. */
void compiled_plan_make(compiled_plan *plan, const char *recipe, firnc_mode mode, const char *const *settings,
                        uint32_t settings_count);
void compiled_plan_copy(compiled_plan *copy, const compiled_plan *plan);
void compiled_plan_free(compiled_plan *plan);

firn_header compiled_plan_header(const compiled_plan *plan);
void compiled_plan_set_header(compiled_plan *plan, const firn_header *header);

/* Puts another FlatBuffers part into a plan without constants, and what it says of mode and blocks into the header. */
void compiled_plan_replace(compiled_plan *plan, const uint8_t *flatbuffers, uint32_t bytes);
/* Mode and sizes of state and arena in the header become those of the payload, where a header can hold them and the
 * blocks of this file too. The
 * payload has passed the FlatBuffers rules. */
void compiled_plan_fit_header(compiled_plan *plan);

/* The run hash of the payload into the header, then the signature. */
void compiled_plan_sign(compiled_plan *plan);
/* The signature alone, over the header as it is. second: by a key that is not compiled_key. */
void compiled_plan_sign_bytes(compiled_plan *plan, bool second);

/* Storage in memory that grows, and a security counter; each instance has a port of its own. */
typedef struct compiled_port {
    firn_port port;
    uint32_t counter;
    uint64_t stored, capacity;
    uint8_t *record;
} compiled_port;

/* An instance with its blocks. */
typedef struct compiled_run {
    firn firn;
    void *state, *arena, *workspace, *prepared;
    compiled_port port;
} compiled_run;

/* firn_open. Blocks are never larger than COMPILED_BLOCK_MAX, whatever the header asks for. */
#define COMPILED_BLOCK_MAX (UINT64_C(1) << 24)
int compiled_run_open(compiled_run *run, const compiled_plan *plan, uint32_t stored_counter);
/* Opens bytes in place, without copying them. */
int compiled_run_open_bytes(compiled_run *run, const uint8_t *file, uint64_t bytes);
void compiled_run_close(compiled_run *run);

/* Initialises, takes two steps, digests, saves, restores. Returns the first error of a step, or FIRN_OK; every other
 * error is an assertion. */
int compiled_run_steps(compiled_run *run);

/* Text for a plan of windows, images for one of records. */
const firn_source *compiled_source(const compiled_run *run);

#endif
