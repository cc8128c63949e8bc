/* The table of POL (compiler/passes/pol_meaning.h). Rows are the classes of the pol column of plan/ops.def, columns are
 * levels. */
#include "compiler/passes/pol_meaning.h"

#include <stddef.h>

#define TYPE(type) (1U << (type))
#define HALF_TYPES (TYPE(FIRN_FLOAT16) | TYPE(FIRN_BFLOAT16) | TYPE(FIRN_CBFLOAT16))

typedef struct entry {
    uint32_t chunk;   /* terms that a dot product of half types adds up in the half type; 0: it adds up in float32 */
    bool engine;      /* a sum in float32 is in the order of the target's engine, if it has one for the half type */
    uint32_t softmax; /* bit firn_type is set if scores and probabilities of operands in that half type have it too */
    bool half;        /* output, affine part and rotation have the half type */
} entry;

static const entry entries[][FIRNC_POL_LEVELS] = {
    [FIRN_POL_product] = {{.engine = true}, {.chunk = 64, .engine = true}, {.chunk = 128, .engine = true}},
    /* At level 1 the reference uses a half softmax for GPT-2 in cbfloat16. In the blocks of an engine a term that the
     * mask excludes takes part with a probability of +0, so level 0, in whose sums it is absent, does not permit it. */
    [FIRN_POL_attention] = {{.chunk = 0},
                            {.engine = true, .softmax = TYPE(FIRN_CBFLOAT16)},
                            {.chunk = 128, .engine = true, .softmax = HALF_TYPES}},
    [FIRN_POL_norm] = {{.half = false}, {.half = true}, {.half = true}},
    [FIRN_POL_rotation] = {{.half = false}, {.half = true}, {.half = true}},
};

/* A level permits lower precision and does not demand it: the sums of dot products and the softmax leave float32 only
 * for half types that the target multiplies natively, or with emulate. */
static bool is_licensed(const firnc_pol_question *q) {
    return firn_type_is_half(q->type) && (q->emulate || firnc_target_multiplies(q->target, q->type));
}

/* The engine that computes the sums, or NULL. `emulate` stands for machines with half-precision accumulators, whose
 * sums are float32 where they are not chunked; so it never takes an engine. */
static const firnc_engine *engine_of(const firnc_pol_question *q, const entry *e) {
    return e->engine && !q->emulate ? firnc_target_engine(q->target, q->type) : NULL;
}

firnc_pol_meaning firnc_pol_meaning_of(const firnc_pol_question *q) {
    const entry *e = &entries[q->pol][q->level];
    firnc_pol_meaning meaning = {.reduction = FIRN_REDUCTION_F32,
                                 .accumulator = FIRN_FLOAT32,
                                 .softmax = FIRN_FLOAT32,
                                 .output = e->half ? q->half : q->type,
                                 .rotation = e->half ? q->half : (uint8_t)FIRN_FLOAT32};
    if (e->chunk != 0 && is_licensed(q)) {
        meaning.reduction = FIRN_REDUCTION_CHUNKED;
        meaning.accumulator = q->type;
        meaning.chunk = e->chunk;
    } else if (engine_of(q, e) != NULL) {
        meaning.reduction = engine_of(q, e)->reduction;
        meaning.chunk = engine_of(q, e)->terms;
    }
    /* A request of the model does not depend on the target. */
    if (q->half_softmax_requested ? firn_type_is_half(q->type) : (e->softmax & TYPE(q->type)) != 0 && is_licensed(q))
        meaning.softmax = q->type;
    return meaning;
}
