/* The table of POL (compiler/passes/pol_meaning.h). Rows are the classes of the pol column of plan/ops.def, columns are
 * levels. */
#include "compiler/passes/pol_meaning.h"

#define TYPE(type) (1U << (type))
#define HALF_TYPES (TYPE(FIRN_FLOAT16) | TYPE(FIRN_BFLOAT16) | TYPE(FIRN_CBFLOAT16))

typedef struct entry {
    uint32_t chunk;   /* terms that a dot product of half types adds up in the half type; 0: it adds up in float32 */
    uint32_t softmax; /* bit firn_type is set if scores and probabilities of operands in that half type have it too */
    bool half;        /* output, affine part and rotation have the half type */
} entry;

static const entry entries[][FIRNC_POL_LEVELS] = {
    [FIRN_POL_product] = {{.chunk = 0}, {.chunk = 64}, {.chunk = 128}},
    /* At level 1 the reference uses a half softmax for GPT-2 in cbfloat16. */
    [FIRN_POL_attention] = {{.chunk = 0},
                            {.chunk = 0, .softmax = TYPE(FIRN_CBFLOAT16)},
                            {.chunk = 128, .softmax = HALF_TYPES}},
    [FIRN_POL_norm] = {{.half = false}, {.half = true}, {.half = true}},
    [FIRN_POL_rotation] = {{.half = false}, {.half = true}, {.half = true}},
};

/* A level permits lower precision and does not demand it: dot products and softmax leave float32 only for half types
 * that the target multiplies natively, or with emulate. */
static bool is_licensed(const firnc_pol_question *q) {
    return firn_type_is_half(q->type) && (q->emulate || firnc_target_multiplies(q->target, q->type));
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
    }
    /* A request of the model does not depend on the target. */
    if (q->half_softmax_requested ? firn_type_is_half(q->type) : (e->softmax & TYPE(q->type)) != 0 && is_licensed(q))
        meaning.softmax = q->type;
    return meaning;
}
