/* Compares the streams of the data with those that an open plan reads, for the message about an error that the library
 * has found. Nothing is refused here. */
#include <stdio.h>

#include "runtime/cli/cli.h"

static const char *const stream_options[FIRN_HOST_STREAMS] = {"--data", "--labels", "--weights"};

static const char *file_of(const cli_options *options, uint32_t stream) {
    const char *const files[FIRN_HOST_STREAMS] = {options->data[0], options->labels, options->weights};
    return files[stream];
}

const char *cli_stream_at_fault(const cli_session *session, char *text, size_t size) {
    const firn_source *source = &session->data.source;
    for (uint32_t i = 0; i < session->info.streams && i < FIRN_HOST_STREAMS; i++) {
        firn_stream_info wanted;
        if (firn_stream_at(&session->firn, i, &wanted) != FIRN_OK)
            continue;
        const char *type = firn_type_name(wanted.element);
        if (i >= source->stream_count) {
            snprintf(text, size, "the plan also reads %lu %s of each record; give them by %s",
                     (unsigned long)wanted.record_elements, type, stream_options[i]);
            return file_of(session->options, 0);
        }
        const firn_stream *stream = &source->streams[i];
        if (stream->element == wanted.element && stream->record_elements == wanted.record_elements)
            continue;
        if (session->info.window != 0)
            snprintf(text, size, "it has %s, and the plan reads %s; give %s, or compile with another token_type",
                     firn_type_name(stream->element), type,
                     wanted.element == FIRN_UINT8 ? "bytes" : "an .npy array of such tokens");
        else
            snprintf(text, size,
                     "%s has %lu %s in each record, and the plan reads %lu %s; convert it, or change the recipe",
                     stream_options[i], (unsigned long)stream->record_elements, firn_type_name(stream->element),
                     (unsigned long)wanted.record_elements, type);
        return file_of(session->options, i);
    }
    return NULL;
}
