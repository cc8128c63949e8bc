/* Mutants of a plan: plans that are valid FlatBuffers and nearly legal, but whose meaning was changed. For tests of the
 * rules that a plan must obey. A seed and a number give the same mutant on every machine. */
#ifndef FIRN_TESTS_MUTANTS_H
#define FIRN_TESTS_MUTANTS_H

#include "plan/container.h"
#include "tests/unit/support_native_plan.h"

/* The parts of a mutant: its changes, then the repairs that make more of the mutants legal, such as new lifetimes. */
enum { MUTANT_CHANGES = 4, MUTANT_REPAIRS = 8, MUTANT_PARTS = MUTANT_CHANGES + MUTANT_REPAIRS };

typedef struct mutant {
    native_plan native;
    firn_header header; /* its mode and regions may be changed, too */
    char changes[3000]; /* what was changed, a line for each part */
    uint32_t parts;     /* bit i: part i did something */
} mutant;

/* Makes a mutant. left_out: bit i set leaves part i out; the other parts draw the same random numbers. */
void mutant_make(mutant *mutant, firn_fb_plan original, const firn_header *header, uint64_t seed, uint64_t number,
                 uint32_t left_out);
void mutant_free(mutant *mutant);

#endif
