/* The steps of a decode plan. Such a plan is an eval plan whose samples are pushed, one record of tokens and of their
 * number for each step, and whose session holds a length and the keys and values of the tokens before; this file finds
 * these tensors and counts the room that is left, and leaves the rest to firn_push and firn_eval_step. */
#include "runtime/decode/decode.h"

#include <string.h>

#include "plan/generated/reader.h"
#include "plan/ops.h"

/* Finds the session's length, and how many tokens its caches hold. Returns false if the plan has none. */
static bool find_session(firn_decoder *decoder) {
    firn_tensor_info tensor;
    bool length = false, caches = false;
    for (uint32_t i = 0; firn_tensor_at(decoder->firn, i, &tensor) == FIRN_OK; i++) {
        if (tensor.role != FIRN_FB_ROLE_CACHE)
            continue;
        if (tensor.type == FIRN_INT64 && tensor.rank == 1 && tensor.dims[0] == 1) {
            decoder->length = i;
            length = true;
        } else if (tensor.rank == 3 && (!caches || tensor.dims[1] < decoder->context)) {
            decoder->context = tensor.dims[1];
            caches = true;
        }
    }
    return length && caches;
}

int firn_decoder_begin(firn_decoder *decoder, firn *instance) {
    firn_info info;
    firn_stream_info ids;
    firn_tensor_info logits;
    if (decoder == NULL)
        return FIRN_ERROR_ARGUMENT;
    *decoder = (firn_decoder){.firn = instance};
    const int error = firn_describe(instance, &info);
    if (error != FIRN_OK)
        return error;
    if (!info.eval || info.ring != 1 || info.streams != 2 || info.samples != 1 || !find_session(decoder) ||
        firn_stream_at(instance, 0, &ids) != FIRN_OK || firn_output_at(instance, 0, &logits) != FIRN_OK ||
        logits.type != FIRN_FLOAT32 || logits.rank != 3 || logits.dims[1] != ids.record_elements)
        return FIRN_ERROR_WRONG_MODE;
    decoder->chunk = ids.record_elements;
    decoder->element = ids.element;
    decoder->classes = logits.dims[2];
    return FIRN_OK;
}

uint32_t firn_decoder_length(const firn_decoder *decoder) {
    firn_tensor_info tensor;
    int64_t length = 0;
    if (firn_tensor_at(decoder->firn, decoder->length, &tensor) == FIRN_OK)
        memcpy(&length, tensor.data, sizeof length);
    return length < 0 || length > decoder->context ? decoder->context : (uint32_t)length;
}

int firn_decode(firn_decoder *decoder, const void *ids, uint32_t count, const float **logits) {
    firn_tensor_info output;
    if (decoder == NULL || ids == NULL || logits == NULL || count == 0 || count > decoder->chunk)
        return FIRN_ERROR_ARGUMENT;
    *logits = NULL;
    uint64_t steps;
    int error = firn_progress(decoder->firn, &steps);
    if (error == FIRN_OK && count > decoder->context - firn_decoder_length(decoder))
        error = FIRN_ERROR_DATA_END;
    const int32_t number = (int32_t)count;
    const void *const streams[] = {ids, &number};
    if (error == FIRN_OK)
        error = firn_push(decoder->firn, streams, 2, 1);
    if (error == FIRN_OK)
        error = firn_eval_step(decoder->firn, NULL);
    if (error == FIRN_OK)
        error = firn_output_at(decoder->firn, 0, &output);
    if (error == FIRN_OK)
        *logits = (const float *)output.data + (size_t)(count - 1) * decoder->classes;
    return error;
}
