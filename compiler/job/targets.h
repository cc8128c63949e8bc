/* The targets of --target: the capabilities of a machine that decide how POL is lowered. A target affects only which
 * ops the compiler chooses; it never changes the meaning of a plan. host.h chooses the target for a machine. */
#ifndef FIRNC_TARGETS_H
#define FIRNC_TARGETS_H

#include <stdbool.h>
#include <stdint.h>

#include "compiler/job/precision.h"

/* An instruction that multiplies two half types and adds the products up in float32, in an order of its own. */
typedef struct firnc_engine {
    uint8_t reduction; /* the order: a kind of reduction; FIRN_REDUCTION_F32: there is no such instruction */
    uint8_t type;      /* the half type */
    uint32_t terms;    /* that one instruction adds to each sum: the chunk of the reduction */
} firnc_engine;

typedef struct firnc_target {
    const char *name;
    uint32_t native_halves; /* bit firn_type is set if one instruction multiplies and adds in that half type */
    firnc_engine engine;
} firnc_target;

/* NULL for an unknown name. */
const firnc_target *firnc_target_find(const char *name);

/* The target at a position, NULL after the last. */
const firnc_target *firnc_target_at(uint32_t position);

/* The names of all targets with commas between them, for messages. */
const char *firnc_target_names(void);

/* Why a target gives a precision the sums that `portable` gives it; NULL if it does not, and for `portable`. */
const char *firnc_target_idle(const firnc_target *target, const firnc_precision *precision);

/* True if sums of products of a half type may be added in that type. */
bool firnc_target_multiplies(const firnc_target *target, uint8_t type);

/* The engine for products of a type; NULL if there is none. */
const firnc_engine *firnc_target_engine(const firnc_target *target, uint8_t type);

#endif
