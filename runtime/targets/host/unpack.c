/* Unpacks gzip piece by piece, so that a file can be refused by the first bytes of its contents. A file may have
 * several members, as concatenation makes them; zeros may follow the last member. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <unistd.h>
#include <zlib.h>

#include "runtime/targets/host/host.h"

struct firn_host_packed {
    int descriptor;
    z_stream stream;
    bool ended; /* a member has ended, and no next one has begun */
    uint8_t input[65536];
};

firn_host_packed *firn_host_unpack_begin(int descriptor) {
    firn_host_packed *packed = firn_host_allocate(sizeof *packed);
    packed->descriptor = descriptor;
    if (lseek(descriptor, 0, SEEK_SET) == 0 && inflateInit2(&packed->stream, 15 + 16) == Z_OK) /* 16: gzip */
        return packed;
    free(packed);
    return NULL;
}

void firn_host_unpack_end(firn_host_packed *packed) {
    if (packed != NULL)
        inflateEnd(&packed->stream);
    free(packed);
}

/* Reads more of the file if all that was read is unpacked. Returns false with *fault set if it cannot be read. */
static bool refill(firn_host_packed *packed, const char **fault) {
    if (packed->stream.avail_in != 0)
        return true;
    const int64_t got = firn_host_read(packed->descriptor, packed->input, sizeof packed->input);
    if (got < 0)
        *fault = "cannot be read to its end";
    packed->stream.next_in = packed->input;
    packed->stream.avail_in = got > 0 ? (uInt)got : 0;
    return got >= 0;
}

/* Behind a member: skips zeros, and begins the next one. Returns true at the end of the file. */
static bool is_over(firn_host_packed *packed, const char **fault) {
    z_stream *stream = &packed->stream;
    while (refill(packed, fault) && stream->avail_in != 0 && *stream->next_in == 0) {
        stream->next_in++;
        stream->avail_in--;
    }
    if (*fault != NULL || stream->avail_in == 0)
        return true;
    if (*stream->next_in != 0x1f)
        *fault = "has bytes behind the gzip data that are not gzip; unpack it, and give what it should hold";
    packed->ended = inflateReset(stream) != Z_OK;
    return *fault != NULL;
}

int64_t firn_host_unpack(firn_host_packed *packed, void *bytes, uint32_t most, const char **fault) {
    z_stream *stream = &packed->stream;
    stream->next_out = bytes;
    stream->avail_out = most;
    *fault = NULL;
    while (stream->avail_out != 0) {
        if (packed->ended && is_over(packed, fault))
            break;
        if (!refill(packed, fault))
            break;
        const int status = inflate(stream, Z_NO_FLUSH);
        packed->ended = status == Z_STREAM_END;
        if (status == Z_BUF_ERROR && stream->avail_in == 0)
            *fault = "is a gzip file that was cut; get it again";
        else if (status != Z_OK && status != Z_STREAM_END)
            *fault = "is a damaged gzip file; get it again";
        if (*fault != NULL)
            break;
    }
    return *fault != NULL ? -1 : (int64_t)(most - stream->avail_out);
}
