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
 *     ENTRY = ENTRY         copies an entry of a list, and ENTRY <-> ENTRY exchanges two; none of regions
 *     NAME                  runs a named edit; NAME(X) runs it with X in place of each $
 *
 *     view NAME of T [before T] {EDITS}               adds a view of all of tensor T
 *     tensor NAME [like T] [before T] {EDITS}         adds a tensor that lasts, or a copy of T behind all of the arena
 *     state NAME before T {EDITS}                     adds a tensor to the state, with an initialiser that is all zero
 *     op NAME (CODE | like O) (in PHASE | before O) {EDITS}   adds an op; lifetimes and phases behind it move on
 *     phase KIND                                      adds a phase without ops before the others
 *     remove T                                        removes a tensor
 *     lifetimes                                       lets activations and scratch live from their first op to their
 *                                                     last one, and inputs from op 0
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

/* Returns the plan `train` or `eval` of support_plan.edits, to be freed with free(). Runs from the root of the
 * repository, like support_edits_read. */
support_plan *support_edits_plan(bool train);

/* Changes a plan. Each value with alternatives takes the one of this number, or the last. Returns the most alternatives
 * that a value has. Fails the test at a word that it does not know. */
uint32_t support_edits_apply(support_plan *plan, const char *edits, uint32_t alternative);

/* Reads a file of support_cases.h. `let NAME: EDITS` names edits for all that follows. Every other line is HEAD: EDITS,
 * or HEAD alone, with which `run` is called. */
void support_edits_read(const char *name, void (*run)(const char *head, const char *edits));

#endif
