/* The contents of one data file (data_file.h): opens it, unpacks it, and reads it through its descriptor instead of
 * mapping it, so that a file truncated during a run causes an error and not a fault. */
#define _GNU_SOURCE
#define _FILE_OFFSET_BITS 64
#include "runtime/targets/host/data_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define PIECE_BYTES 65536u

/* Descriptors reserved for other uses: log, checkpoint, folders. */
#define SPARE_DESCRIPTORS 32u

/* --- one file --- */

/* Reads until the bytes are there, the file ends or the read fails; returns how many bytes are missing. */
static uint32_t read_once(firn_host_file *file, uint64_t offset, uint8_t *to, uint32_t count) {
    while (count > 0) {
        ssize_t got = pread(file->descriptor, to, count, (off_t)offset);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            firn_host_watch_fail(&file->watch, errno);
        if (got <= 0)
            break;
        to += got;
        count -= (uint32_t)got;
        offset += (uint64_t)got;
    }
    return count;
}

/* If the watch had to hash the file again during a read, the bytes may be of other contents, so the read is repeated.
 */
static int read_descriptor(void *context, uint64_t offset, void *bytes, uint32_t count) {
    firn_host_file *file = context;
    uint64_t renewals;
    do {
        renewals = file->watch.renewals;
        const uint32_t missing = read_once(file, offset, bytes, count);
        if (firn_host_watch_look(&file->watch) && missing > 0 && file->watch.renewals == renewals)
            firn_host_watch_fail(&file->watch, EIO); /* the file ends before its length */
    } while (!file->watch.faulty && file->watch.renewals != renewals);
    return file->watch.faulty ? FIRN_ERROR_SOURCE : FIRN_OK;
}

static int read_memory(void *context, uint64_t offset, void *bytes, uint32_t count) {
    const firn_host_file *file = context;
    memcpy(bytes, file->memory + offset, count);
    return FIRN_OK;
}

static bool is_gzip(const firn_host_file *file) {
    uint8_t magic[3];
    return file->file.bytes >= sizeof magic && read_descriptor((void *)(uintptr_t)file, 0, magic, sizeof magic) == 0 &&
           magic[0] == 0x1f && magic[1] == 0x8b && magic[2] == 8;
}

/* --- unpacking --- */

bool firn_host_file_fits(const firn_host_file *file, uint64_t bytes, const char *what, const char *mend) {
    const uint64_t there = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
    if (bytes <= there)
        return true;
    return firn_host_fail(file->name, "%s %llu bytes, the memory of this machine; %s", what, (unsigned long long)there,
                          mend);
}

/* Makes room for one more piece. A file that does not fit into the memory of this machine is refused before the system
 * ends the program. */
static bool make_space(firn_host_file *file, uint64_t most) {
    if (file->space - file->file.bytes >= PIECE_BYTES)
        return true;
    if (!firn_host_file_fits(file, file->file.bytes, "unpacks to more than",
                             "unpack it into a file, which is not read into memory"))
        return false;
    const uint64_t twice = 2 * file->space;
    file->space = (twice < most ? twice : most) + PIECE_BYTES;
    file->memory = firn_host_grow(file->memory, (size_t)file->space);
    return true;
}

/* Closes a file whose contents are in memory. */
static void end_reading(firn_host_file *file) {
    firn_host_unpack_end(file->packed);
    file->packed = NULL;
    if (file->descriptor >= 0)
        close(file->descriptor);
    file->descriptor = -1;
    firn_host_watch_end(&file->watch);
}

bool firn_host_file_unpack(firn_host_file *file, uint64_t most) {
    while (file->packed != NULL && file->file.bytes < most) {
        if (!make_space(file, most))
            return false;
        const uint64_t left = most - file->file.bytes;
        const uint32_t piece = left < PIECE_BYTES ? (uint32_t)left : PIECE_BYTES;
        const char *fault;
        const int64_t got = firn_host_unpack(file->packed, file->memory + file->file.bytes, piece, &fault);
        if (got < 0)
            return firn_host_fail(file->name, "%s", fault);
        file->file.bytes += (uint64_t)got;
        if (got == piece)
            continue;
        end_reading(file);
    }
    return true;
}

firn_host_file *firn_host_file_make(const char *name) {
    firn_host_file *file = firn_host_allocate(sizeof *file);
    file->name = firn_host_path(name, "");
    file->descriptor = -1;
    firn_host_watch_end(&file->watch);
    return file;
}

void firn_host_file_replace(firn_host_file *file, uint8_t *memory, uint64_t bytes) {
    end_reading(file);
    free(file->memory);
    file->replaced = true;
    file->memory = memory;
    file->space = bytes;
    file->file = (firn_data_file){.context = file, .bytes = bytes, .read = read_memory};
}

/* Begins to unpack a gzip file, or an array of a zip file. */
static bool begin_unpacking(firn_host_file *file, const firn_host_member *member) {
    file->gzip = member == NULL;
    file->packed_bytes = member != NULL ? member->packed_bytes : file->file.bytes;
    file->packed =
        member != NULL ? firn_host_unpack_member(file->descriptor, member) : firn_host_unpack_begin(file->descriptor);
    if (file->packed == NULL)
        return firn_host_fail(file->name, "cannot be unpacked, for want of memory; free some, or unpack it first");
    file->file = (firn_data_file){.context = file, .read = read_memory};
    return firn_host_file_unpack(file, PIECE_BYTES);
}

static void free_images(firn_host_image_list *list) {
    for (uint32_t i = 0; i < list->count; i++)
        free(list->images[i].name);
    for (uint32_t i = 0; i < list->class_count; i++)
        free(list->classes[i]);
    free(list->images);
    free(list->classes);
    free(list->class_images);
}

void firn_host_file_close(firn_host_file *file) {
    if (file->descriptor >= 0)
        close(file->descriptor);
    firn_host_unpack_end(file->packed);
    free_images(&file->images);
    firn_host_names_free(&file->classes);
    free(file->memory);
    free(file->name);
    free(file);
}

/* Raises the soft limit of descriptors to the hard limit before they run out, because each file of a stream stays
 * open. */
static void make_room(int descriptor) {
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || (rlim_t)descriptor + SPARE_DESCRIPTORS < limit.rlim_cur)
        return;
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
}

static bool open_contents(firn_host_file *file, bool follow, const char *name) {
    firn_host_member member;
    uint64_t bytes;
    file->descriptor = firn_host_open(file->name, follow, &bytes);
    if (file->descriptor < 0)
        return false;
    make_room(file->descriptor);
    firn_host_watch_begin(&file->watch, file->descriptor);
    file->file = (firn_data_file){.context = file, .bytes = bytes, .read = read_descriptor};
    file->archived = firn_host_archive_is(file);
    if (file->archived)
        return firn_host_archive_find(file, name, &member) && begin_unpacking(file, &member);
    if (name != NULL && is_gzip(file))
        return firn_host_fail(file->name, "is packed with gzip, and --member names an array of a .npz file; if it is "
                                          "one, unpack it first");
    if (name != NULL)
        return firn_host_fail(file->name, "is no .npz file, of which --member names an array; %s",
                              file->shared ? "--member holds for --data and --eval-data: give both as .npz files"
                                           : "leave out --member");
    return !is_gzip(file) || begin_unpacking(file, NULL);
}

firn_host_file *firn_host_file_open(const char *path, bool follow, const firn_host_wanted *wanted, uint32_t stream) {
    firn_host_file *file = firn_host_allocate(sizeof *file);
    file->name = firn_host_path(path, "");
    file->shared = wanted->shared;
    if (open_contents(file, follow, wanted->members[stream]))
        return file;
    firn_host_file_close(file);
    return NULL;
}

bool firn_host_file_has_ending(const firn_host_file *file, const char *ending) {
    return firn_host_has_ending(file->name, ending);
}

bool firn_host_file_refuse_read(const firn_host_file *file) {
    char fault[200] = "cannot be read to its end";
    (void)firn_host_watch_fault(&file->watch, fault, sizeof fault);
    return firn_host_fail(file->name, "%s", fault);
}

bool firn_host_file_hash(firn_host_file *file, uint8_t digest[FIRN_HASH_BYTES]) {
    static uint8_t bytes[PIECE_BYTES];
    firn_sha256 hash;
    bool hashed = firn_sha256_begin(&hash) == FIRN_OK;
    for (uint64_t at = 0; hashed && at < file->file.bytes;) {
        uint64_t left = file->file.bytes - at;
        uint32_t piece = left < PIECE_BYTES ? (uint32_t)left : PIECE_BYTES;
        hashed = file->file.read(file->file.context, at, bytes, piece) == 0 &&
                 firn_sha256_update(&hash, bytes, piece) == FIRN_OK;
        at += piece;
    }
    if (hashed && firn_sha256_end(&hash, digest) == FIRN_OK) {
        if (!file->replaced)
            memcpy(file->sha256, digest, FIRN_HASH_BYTES);
        firn_host_watch_hashed(&file->watch, digest);
        return true;
    }
    return firn_host_file_refuse_read(file);
}

/* Small data are read often, and a read from a file costs two system calls. */
bool firn_host_file_keep(firn_host_file *file, uint64_t *room) {
    const uint64_t bytes = file->file.bytes;
    uint8_t *memory = file->descriptor >= 0 && bytes <= *room ? malloc((size_t)bytes + 1) : NULL;
    if (memory == NULL)
        return true;
    file->memory = memory;
    if (file->file.read(file->file.context, 0, memory, (uint32_t)bytes) != FIRN_OK)
        return firn_host_file_refuse_read(file);
    file->file.read = read_memory;
    *room -= bytes;
    return true;
}

/* --- what is known of a file --- */

const char *firn_host_file_name(const firn_host_file *file) {
    return file->name;
}

const firn_data_layout *firn_host_file_layout(const firn_host_file *file) {
    return &file->layout;
}

const firn_host_image_list *firn_host_file_images(const firn_host_file *file) {
    return file->images.count != 0 ? &file->images : NULL;
}

const firn_file_kind *firn_host_file_kind(const firn_host_file *file) {
    uint8_t head[FIRN_FILE_KIND_BYTES];
    const uint32_t count = file->file.bytes < sizeof head ? (uint32_t)file->file.bytes : (uint32_t)sizeof head;
    if (file->layout.format != FIRN_DATA_RAW || file->file.read(file->file.context, 0, head, count) != FIRN_OK)
        return NULL;
    return firn_file_kind_of(head, count);
}
