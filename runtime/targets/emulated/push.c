/* Pushes data record by record (push.h). */
#include "runtime/targets/emulated/push.h"

#include "runtime/targets/emulated/data.h"

static uint8_t *records[FIRN_EMULATED_STREAMS]; /* one of each stream */
static firn_stream_info streams[FIRN_EMULATED_STREAMS];
static firn_info info;

/* Returns how many records (of windows: elements) make up the batches of so many steps. */
static uint64_t records_of_steps(uint64_t steps) {
    const uint64_t samples = steps * info.micro_batches * info.samples;
    return info.window == 0 || samples == 0 ? samples : info.window + (samples - 1) * info.stride;
}

/* Pushes the records [first, end) of data that begins again at its end. */
static int push(firn *instance, const firn_source *source, uint64_t first, uint64_t end) {
    const uint64_t length = source->streams[0].segments[0].elements / source->streams[0].record_elements;
    int error = FIRN_OK;
    for (; error == FIRN_OK && first < end; first++) {
        for (uint32_t i = 0; error == FIRN_OK && i < info.streams; i++)
            error = source->read(source->context, i, first % length * streams[i].record_elements,
                                 streams[i].record_elements, records[i]);
        if (error == FIRN_OK)
            error = firn_push(instance, (const void *const *)records, info.streams, 1);
    }
    return error;
}

int firn_emulated_push_begin(firn_pool *left, firn *instance, const firn_source *source, uint64_t steps) {
    int error = firn_describe(instance, &info);
    if (error != FIRN_OK || info.ring == 0)
        return error;
    if (info.streams > source->stream_count)
        return FIRN_ERROR_DATA_TYPE;
    for (uint32_t i = 0; i < info.streams; i++) {
        error = firn_stream_at(instance, i, &streams[i]);
        if (error == FIRN_OK && (streams[i].element != source->streams[i].element ||
                                 streams[i].record_elements != source->streams[i].record_elements))
            error = FIRN_ERROR_DATA_TYPE;
        if (error != FIRN_OK)
            return error;
        records[i] = firn_pool_take(left, (uint64_t)streams[i].record_elements * sizeof(uint32_t));
        if (records[i] == NULL)
            return FIRN_ERROR_BLOCK_TOO_SMALL;
    }
    const uint64_t end = records_of_steps(steps);
    return push(instance, source, end < info.ring ? 0 : end - info.ring, end);
}

int firn_emulated_push_batch(firn *instance, const firn_source *source, uint64_t steps) {
    return info.ring == 0 ? FIRN_OK : push(instance, source, records_of_steps(steps), records_of_steps(steps + 1));
}
