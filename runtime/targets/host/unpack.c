/* Unpacks gzip and members of zip files piece by piece, so that a file can be refused by the first bytes of its
 * contents. A gzip file may have several members, as concatenation makes them; zeros may follow the last member. */
#define _GNU_SOURCE
#define _FILE_OFFSET_BITS 64
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "runtime/targets/host/host.h"

typedef enum packing { GZIP, DEFLATED, STORED } packing;

struct firn_host_packed {
    int descriptor;
    packing packing;
    z_stream stream;
    bool ended;              /* gzip: a member has ended, and no next one has begun; else: all is unpacked */
    uint64_t left;           /* packed bytes that are not read yet */
    firn_host_member member; /* of a zip file */
    uint64_t unpacked;       /* of it, so far */
    uint32_t crc32;
    uint8_t input[65536];
};

static firn_host_packed *begin(int descriptor, packing packing, uint64_t offset, uint64_t left) {
    firn_host_packed *packed = firn_host_allocate(sizeof *packed);
    packed->descriptor = descriptor;
    packed->packing = packing;
    packed->left = left;
    /* 16: gzip; a negative number: no header */
    if (lseek(descriptor, (off_t)offset, SEEK_SET) >= 0 &&
        inflateInit2(&packed->stream, packing == GZIP ? 15 + 16 : -15) == Z_OK)
        return packed;
    free(packed);
    return NULL;
}

firn_host_packed *firn_host_unpack_begin(int descriptor) {
    return begin(descriptor, GZIP, 0, UINT64_MAX);
}

firn_host_packed *firn_host_unpack_member(int descriptor, const firn_host_member *member) {
    firn_host_packed *packed =
        begin(descriptor, member->deflated ? DEFLATED : STORED, member->offset, member->packed_bytes);
    if (packed != NULL)
        packed->member = *member;
    return packed;
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
    const size_t most = packed->left < sizeof packed->input ? (size_t)packed->left : sizeof packed->input;
    const int64_t got = firn_host_read(packed->descriptor, packed->input, most);
    packed->left -= got > 0 ? (uint64_t)got : 0;
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

static int64_t unpack_gzip(firn_host_packed *packed, void *bytes, uint32_t most, const char **fault) {
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

/* --- members of zip files --- */

static const char damaged[] = "is a damaged zip file; get it again";

/* Copies what is stored as it is. */
static uint32_t copy_stored(firn_host_packed *packed, uint8_t *bytes, uint32_t most, const char **fault) {
    uint32_t count = 0;
    while (count < most && refill(packed, fault) && packed->stream.avail_in != 0) {
        const uint32_t there = packed->stream.avail_in, piece = there < most - count ? there : most - count;
        memcpy(bytes + count, packed->stream.next_in, piece);
        packed->stream.next_in += piece;
        packed->stream.avail_in -= piece;
        count += piece;
    }
    packed->ended = count < most;
    return count;
}

static uint32_t inflate_member(firn_host_packed *packed, uint8_t *bytes, uint32_t most, const char **fault) {
    z_stream *stream = &packed->stream;
    stream->next_out = bytes;
    stream->avail_out = most;
    while (stream->avail_out != 0 && !packed->ended && refill(packed, fault)) {
        const int status = inflate(stream, Z_NO_FLUSH);
        packed->ended = status == Z_STREAM_END;
        if (status == Z_OK || status == Z_STREAM_END)
            continue;
        *fault = damaged;
        break;
    }
    return most - stream->avail_out;
}

static int64_t unpack_member(firn_host_packed *packed, uint8_t *bytes, uint32_t most, const char **fault) {
    const firn_host_member *member = &packed->member;
    *fault = NULL;
    const uint32_t count = packed->ended               ? 0
                           : packed->packing == STORED ? copy_stored(packed, bytes, most, fault)
                                                       : inflate_member(packed, bytes, most, fault);
    packed->unpacked += count;
    packed->crc32 = (uint32_t)crc32(packed->crc32, bytes, count);
    const bool whole = packed->unpacked == member->bytes && packed->crc32 == member->crc32 && packed->left == 0 &&
                       packed->stream.avail_in == 0;
    if (*fault == NULL && (packed->unpacked > member->bytes || (count < most && !whole)))
        *fault = damaged;
    return *fault != NULL ? -1 : (int64_t)count;
}

int64_t firn_host_unpack(firn_host_packed *packed, void *bytes, uint32_t most, const char **fault) {
    return packed->packing == GZIP ? unpack_gzip(packed, bytes, most, fault)
                                   : unpack_member(packed, bytes, most, fault);
}
