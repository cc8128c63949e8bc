/* Seals changed plans, and runs them in every way in which the runtime may run a plan. What a test knows of the
 * container and of firn_config stands here. */
#ifndef FIRN_TESTS_SEALED_RUNS_H
#define FIRN_TESTS_SEALED_RUNS_H

#include "tests/unit/support_compiled_plans.h"
#include "tests/unit/support_native_plan.h"

/* The FlatBuffers part of a plan. */
firn_fb_plan sealed_payload(const compiled_plan *plan);

/* Makes a signed plan of changed structs: the constants and the report of `from`, and of `header` everything that does
 * not follow from the structs. False if the structs cannot be written, or if the FlatBuffers rules refuse what was
 * written. */
bool sealed_plan_make(compiled_plan *plan, const compiled_plan *from, const native_plan *native,
                      const firn_header *header);

/* The result of all checks of a plan, without the signature. */
int sealed_plan_check(const compiled_plan *plan);

/* A way to run a plan. */
typedef struct sealed_way {
    const char *kernels;
    uint32_t threads;
    uint8_t poison; /* arenas and workspace hold this byte when a run begins; unless it is 0, others when each step
                       begins, as if the run had been restored there */
    bool prepared;  /* ops are decoded once */
} sealed_way;

/* Everything that a run reports, as lines of text: errors, losses, norms, outputs, digests, the metric. */
typedef struct sealed_outcome {
    char text[8000];
} sealed_outcome;

/* Opens a plan, initialises it, and takes SEALED_STEPS steps on data made for the plan. Returns the status of
 * firn_open; the outcome is empty if it is an error. */
enum { SEALED_STEPS = 3 };
int sealed_plan_run(const compiled_plan *plan, const sealed_way *way, sealed_outcome *outcome);

/* While this is false, firn_open takes every signature for valid, which makes it 20 times as fast. A program that uses
 * this must be linked with -Wl,--wrap=firn_signature_check. */
extern bool sealed_signatures_are_checked;

#endif
