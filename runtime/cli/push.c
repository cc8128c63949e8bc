/* Rehearses a plan whose samples are pushed: what a device would push comes from the data files, in their order and
 * from the beginning again at their end. A training gets one more batch before each step, an evaluation all of the
 * data. */
#include <stdlib.h>

#include "runtime/cli/cli.h"

#define RECORDS_AT_ONCE 4096u

static uint64_t records_of(const cli_session *session, uint32_t stream) {
    return firn_host_data_elements(&session->data.files[stream]) / session->data.streams[stream].record_elements;
}

/* Checks the files as the library checks a source that it reads itself. */
static int check_files(const cli_session *session) {
    const firn_source *source = &session->data.source;
    for (uint32_t i = 0; i < session->info.streams; i++) {
        firn_stream_info wanted;
        if (i >= source->stream_count)
            return FIRN_ERROR_DATA_TYPE;
        const firn_stream *stream = &source->streams[i];
        if (firn_stream_at(&session->firn, i, &wanted) != FIRN_OK || stream->element != wanted.element ||
            stream->record_elements != wanted.record_elements || records_of(session, i) != records_of(session, 0))
            return FIRN_ERROR_DATA_TYPE;
    }
    return records_of(session, 0) == 0 ? FIRN_ERROR_DATA_TOO_SHORT : FIRN_OK;
}

/* Pushes records that follow each other in the files. */
static int push_run(cli_session *session, uint64_t first, uint32_t count) {
    const firn_source *source = &session->data.source;
    void *records[FIRN_HOST_STREAMS] = {NULL};
    int error = FIRN_OK;
    for (uint32_t i = 0; error == FIRN_OK && i < session->info.streams; i++) {
        const firn_stream *stream = &source->streams[i];
        const uint64_t elements = (uint64_t)count * stream->record_elements;
        records[i] = firn_host_allocate((size_t)(elements * firn_type_bytes(stream->element)));
        error = elements > UINT32_MAX
                    ? FIRN_ERROR_DATA_TYPE
                    : source->read(source->context, i, first * stream->record_elements, (uint32_t)elements, records[i]);
    }
    if (error == FIRN_OK)
        error = firn_push(&session->firn, (const void *const *)records, session->info.streams, count);
    for (uint32_t i = 0; i < session->info.streams; i++)
        free(records[i]);
    return error;
}

/* Pushes the records from number `first` up to `end`, of files that begin again at their end. */
static int push(cli_session *session, uint64_t first, uint64_t end) {
    const uint64_t records = records_of(session, 0);
    int error = FIRN_OK;
    while (error == FIRN_OK && first < end) {
        uint64_t count = end - first, left = records - first % records;
        count = count < left ? count : left;
        count = count < RECORDS_AT_ONCE ? count : RECORDS_AT_ONCE;
        error = push_run(session, first % records, (uint32_t)count);
        first += count;
    }
    return error;
}

/* Returns how many records (of windows: elements) make up the batches of so many steps. */
static uint64_t records_of_steps(const firn_info *info, uint64_t steps) {
    const uint64_t samples = steps * info->micro_batches * info->samples;
    if (info->window == 0 || samples == 0)
        return samples;
    return info->window + (samples - 1) * info->stride;
}

int cli_push_begin(cli_session *session, uint64_t steps) {
    if (session->info.ring == 0)
        return CLI_OK;
    int error = session->info.streams > FIRN_HOST_STREAMS ? FIRN_ERROR_DATA_TYPE : check_files(session);
    const uint64_t end = session->info.eval ? records_of(session, 0) : records_of_steps(&session->info, steps);
    if (error == FIRN_OK)
        error = push(session, end < session->info.ring ? 0 : end - session->info.ring, end);
    return error == FIRN_OK ? CLI_OK : cli_error(session, error);
}

int cli_push_batch(cli_session *session, uint64_t steps) {
    const firn_info *info = &session->info;
    return info->ring == 0 ? FIRN_OK : push(session, records_of_steps(info, steps), records_of_steps(info, steps + 1));
}

const firn_source *cli_source(const cli_session *session) {
    return session->info.ring == 0 ? &session->source : NULL;
}
