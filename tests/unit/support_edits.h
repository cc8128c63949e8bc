/* Edits of the plans of support_plan.h, written as text, so that a case of a test is one line:
 *
 *     tensors[dweight].first = 3; tensors[dweight].last += 1; ops[linear].inputs[bias] = absent
 *
 * Edits are separated by semicolons. White space and line breaks are ignored.
 *
 *     PATH = VALUE          sets a field; += and -= add and subtract, modulo the range of the field
 *     LIST = [VALUE, ...]   sets all elements of a list of numbers, such as dims or inputs
 *     LIST.count = VALUE    sets the length alone; elements that a longer list gains keep what the memory has
 *     LIST += NAME {EDITS}  appends an entry that is all zero and then edited; NAME may be left out
 *     ENTRY = {EDITS}       clears an entry, then edits it; ENTRY {EDITS} keeps the other fields
 *     ENTRY = ENTRY         copies an entry of a list, and ENTRY <-> ENTRY exchanges two
 *     NAME                  runs a named edit; NAME(X) runs it with X in place of each $
 *
 *     view NAME of T [before T] {EDITS}               adds a view of all of tensor T
 *     tensor NAME [like T] [before T] {EDITS}         adds a tensor that lasts, or a copy of T behind all of the arena
 *     state NAME before T {EDITS}                     adds a tensor to the state, with an initialiser that is all zero
 *     op NAME (CODE | like O) (in PHASE | before O) {EDITS}   adds an op; lifetimes and phases behind it move on
 *     phase KIND                                      adds a phase without ops before the others
 *     remove T                                        removes a tensor
 *
 * The names and kinds of all fields are in one table in support_edits.c. An index is a number or a name: of tensors,
 * ops and regions those below or those that an edit gave, of phases their kind, of operands and attributes the name
 * that plan/ops.def gives. Names move with what they name when something is added or removed. A value is a sum of
 * numbers (12, 0x1p-149, 2^62), names (tensors, ops, words of the schema, op codes, by the kind of the field), "text",
 * other fields, and true, false, absent, ever, none. `a | b | c` in place of a value gives alternatives, each of which
 * is a case; the edits run once for each of them. */
#ifndef FIRN_TESTS_SUPPORT_EDITS_H
#define FIRN_TESTS_SUPPORT_EDITS_H

#include "tests/unit/support_plan.h"

#define SUPPORT_EDITS_POOL (1u << 15)

/* A plan with the names that edits know. It contains pointers into itself. */
typedef struct support_edits {
    support_plan plan;
    const char *tensors[SUPPORT_TENSORS], *ops[SUPPORT_OPS], *regions[FIRN_REGIONS_MAX]; /* NULL: no name */
    const char *text, *at;                                                               /* the edits, the next one */
    uint32_t alternative, alternatives; /* the chosen one; how many the edits have, at least 1 */
    size_t used;
    _Alignas(8) uint8_t pool[SUPPORT_EDITS_POOL]; /* lists and texts of edits */
} support_edits;

/* Returns the train plan or the eval plan, to be freed with free(). */
support_edits *support_edits_begin(bool train);

/* Defines a named edit; both texts must stay. */
void support_edits_define(const char *name, const char *edits);

/* Changes the plan. Each value with alternatives takes the one of this number, or the last. Returns the most
 * alternatives that a value has. Fails the test at a word that it does not know. */
uint32_t support_edits_apply(support_edits *e, const char *edits, uint32_t alternative);

#endif
