/* Says text by a decode plan, as a device does (generate.h): one token in each step. */
#include "runtime/targets/emulated/generate.h"

#include "plan/ops.h"
#include "runtime/decode/decode.h"
#include "runtime/decode/sampling.h"
#include "runtime/targets/emulated/system.h"

static void print_byte(uint32_t id) {
    const char text[] = {(char)id, '\0'};
    firn_system_print(text);
}

/* Takes one token, whatever the chunk of the plan is. */
static int take(firn_decoder *decoder, uint8_t *chunk, uint32_t id, const float **logits) {
    chunk[0] = (uint8_t)id;
    print_byte(id);
    return firn_decode(decoder, chunk, 1, logits);
}

static int take_prompt(firn_decoder *decoder, uint8_t *chunk, const firn_source *source, const float **logits) {
    int error = FIRN_OK;
    for (uint64_t i = 0; error == FIRN_OK && i < source->streams[0].segments[0].elements; i++) {
        uint8_t id = 0;
        error = source->read(source->context, 0, i, 1, &id);
        if (error == FIRN_OK)
            error = take(decoder, chunk, id, logits);
    }
    return error;
}

int firn_emulated_generate(firn_pool *left, firn *instance, const firn_source *source, uint64_t tokens) {
    static const firn_sampling sampling = {.temperature = 1, .top_p = 1, .seed = 1};
    const float *logits = NULL;
    firn_decoder decoder;
    int error = firn_decoder_begin(&decoder, instance);
    if (error != FIRN_OK || decoder.element != FIRN_UINT8 || source->streams[0].element != FIRN_UINT8)
        return error != FIRN_OK ? error : FIRN_ERROR_DATA_TYPE;
    uint32_t *room = firn_pool_take(left, 2 * sizeof *room * (uint64_t)decoder.classes);
    uint8_t *chunk = firn_pool_take(left, decoder.chunk);
    if (room == NULL || chunk == NULL)
        return FIRN_ERROR_BLOCK_TOO_SMALL;
    for (uint32_t i = 0; i < decoder.chunk; i++)
        chunk[i] = 0;
    error = take_prompt(&decoder, chunk, source, &logits);
    while (error == FIRN_OK && tokens-- > 0) {
        uint32_t id = 0;
        const uint32_t length = firn_decoder_length(&decoder);
        error = firn_sample(logits, decoder.classes, &sampling, length, room, &id);
        if (error != FIRN_OK || tokens == 0 || length == decoder.context) {
            print_byte(id);
            break;
        }
        error = take(&decoder, chunk, id, &logits);
    }
    firn_system_print("\n");
    return error;
}
