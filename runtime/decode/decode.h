/* Text from a language model: a decode plan (firnc compile --decode) takes tokens and gives scores for the token that
 * follows, and firn_sample chooses one by them. The keys and values of earlier tokens are in the session, so each token
 * costs one step however many came before it.
 *
 *     firn_open, firn_restore                     as for every plan (runtime/firn.h); firnc says which checkpoint fits
 *     firn_decoder_begin(&decoder, &firn)
 *     firn_decode(&decoder, ids, count, &logits)  for the prompt, at most decoder.chunk tokens at a time
 *     firn_sample(logits, ..., &id)               then firn_decode of that token, and so on
 *     firn_eval_restart(&firn)                    before another text
 *
 * plan/NUMERICS.md ("cached_attention", "Choosing a token") defines every bit, so the same plan, parameters, prompt and
 * seed give the same text on every machine. No function allocates. */
#ifndef FIRN_DECODE_H
#define FIRN_DECODE_H

#include "runtime/firn.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct firn_decoder {
    firn *firn;       /* an open instance, which must stay where it is */
    uint32_t chunk;   /* tokens that a step takes at most */
    uint32_t context; /* tokens that a session holds at most */
    uint32_t classes; /* scores of a token; ids are below it */
    uint8_t element;  /* of an id: ElementType uint8 or int32, as firn_stream_at gives it */
    uint32_t length;  /* position of the session's length in the list of tensors */
} firn_decoder;

/* Looks at the plan of an open instance. WRONG_MODE if it is no decode plan, NOT_OPEN without a plan. */
int firn_decoder_begin(firn_decoder *decoder, firn *instance) FIRN_CHECK_RESULT;

/* Returns how many tokens the session has taken. */
uint32_t firn_decoder_length(const firn_decoder *decoder);

/* Takes the next `count` tokens, from 1 to decoder->chunk. ids points to decoder->chunk elements of the type
 * decoder->element, of which those from number `count` on only fill the chunk up: any id, such as 0. *logits becomes
 * the address of decoder->classes scores for the token behind the last one, valid until the next step of this instance.
 *
 * DATA_END if the session has no room for `count` more; the state is unchanged then: take fewer, or begin again.
 * ARGUMENT for another count, DATA_RANGE for an id that the model does not have; else the errors of firn_eval_step. */
int firn_decode(firn_decoder *decoder, const void *ids, uint32_t count, const float **logits) FIRN_CHECK_RESULT;

#ifdef __cplusplus
}
#endif
#endif
