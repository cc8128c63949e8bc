/* The samples at the end of the data that are fewer than a batch, as a source of one whole batch: what is missing
 * repeats the last sample, and what is computed for it is not written. For predictions of plans that leave such samples
 * out, where a row depends on its own sample only. A plan whose last batch may be short needs no such source: the
 * library fills its last batch. */
#include <stdlib.h>
#include <string.h>

#include "runtime/cli/cli.h"

static uint64_t windows_of(const firn_info *info, const firn_segment *segment) {
    return segment->elements < info->window ? 0 : (segment->elements - info->window) / info->stride + 1;
}

/* Returns the number of samples of the data. */
static uint64_t samples_of(const cli_session *session) {
    const firn_stream *first = &session->data.source.streams[0];
    uint64_t samples = 0;
    if (session->info.window == 0)
        return firn_host_data_elements(&session->data.files[0]) / first->record_elements;
    for (uint32_t i = 0; i < first->segment_count; i++)
        samples += windows_of(&session->info, &first->segments[i]);
    return samples;
}

/* Returns the record of a sample, or the first element of its window. */
static uint64_t place_of(const cli_session *session, uint64_t sample) {
    const firn_stream *first = &session->data.source.streams[0];
    uint64_t before = 0;
    if (session->info.window == 0)
        return sample;
    for (uint32_t i = 0; i < first->segment_count; i++) {
        const uint64_t windows = windows_of(&session->info, &first->segments[i]);
        if (sample < windows)
            break;
        sample -= windows;
        before += first->segments[i].elements;
    }
    return before + sample * session->info.stride;
}

/* Each sample of the batch lies at a place of its own in the data. */
static int read_batch(void *context, uint32_t stream, uint64_t first, uint32_t count, void *elements) {
    const cli_last_batch *batch = context;
    const firn_source *data = &batch->session->data.source;
    const uint32_t window = batch->session->info.window;
    const uint64_t length = window != 0 ? window : data->streams[stream].record_elements;
    const uint32_t bytes = firn_type_bytes(data->streams[stream].element);
    int error = FIRN_OK;
    while (error == FIRN_OK && count > 0) {
        const uint64_t left = length - first % length, unit = window != 0 ? 1 : length;
        const uint32_t now = count < left ? count : (uint32_t)left;
        const uint64_t at = batch->places[first / length] * unit + first % length;
        error = data->read(data->context, stream, at, now, elements);
        elements = (uint8_t *)elements + (size_t)now * bytes;
        first += now;
        count -= now;
    }
    return error;
}

bool cli_last_batch_is_filled(const cli_session *session) {
    const firn_info *info = &session->info;
    const bool predicts = !info->metric || strcmp(session->options->command, "predict") == 0;
    return predicts && info->eval && info->all_data && info->steps == 0 && info->ring == 0 && !info->short_batch;
}

void cli_last_batch_begin(cli_last_batch *batch, const cli_session *session, uint64_t left) {
    const firn_source *data = &session->data.source;
    const uint32_t samples = session->info.samples, window = session->info.window;
    const uint64_t first = samples_of(session) - left;
    *batch = (cli_last_batch){.session = session};
    batch->places = firn_host_allocate(samples * sizeof *batch->places);
    batch->segments = firn_host_allocate((samples + (size_t)FIRN_HOST_STREAMS) * sizeof *batch->segments);
    for (uint32_t i = 0; i < samples; i++)
        batch->places[i] = place_of(session, first + (i < left ? i : left - 1));
    for (uint32_t i = 0; i < samples; i++) /* a window leaves no segment, so each has one of its own */
        batch->segments[i].elements = window;
    for (uint32_t i = 0; i < data->stream_count; i++) {
        batch->streams[i] = data->streams[i];
        if (window == 0)
            batch->segments[i].elements = (uint64_t)samples * data->streams[i].record_elements;
        batch->streams[i].segments = window == 0 ? &batch->segments[i] : batch->segments;
        batch->streams[i].segment_count = window == 0 ? 1 : samples;
    }
    batch->source = (firn_source){batch, batch->streams, data->stream_count, read_batch};
}

void cli_last_batch_end(cli_last_batch *batch) {
    free(batch->places);
    free(batch->segments);
}
