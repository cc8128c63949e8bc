/* Finds an array in a .npz file, which is a zip file of .npy files: by the directory at its end, in which no number is
 * trusted. The array itself is unpacked like gzip (unpack.c). */
#include <stdlib.h>
#include <string.h>

#include "plan/bytes.h"
#include "runtime/targets/host/data_file.h"

enum {
    END_BYTES = 22,       /* of the end of the directory, without a comment */
    COMMENT_MOST = 65535, /* bytes of the comment behind it */
    LOCATOR_BYTES = 20,   /* of zip64, before the end */
    END64_BYTES = 56,     /* of the end of zip64 */
    ENTRY_BYTES = 46,     /* of an entry of the directory, without its name */
    LOCAL_BYTES = 30,     /* of the header before a member, without its name */
    DIRECTORY_MOST = 1 << 24,
    NAMES_IN_MESSAGE = 8,
    DEFLATED = 8,
    ENCRYPTED = 1
};

#define END_MAGIC     UINT32_C(0x06054b50)
#define LOCATOR_MAGIC UINT32_C(0x07064b50)
#define END64_MAGIC   UINT32_C(0x06064b50)
#define ENTRY_MAGIC   UINT32_C(0x02014b50)
#define LOCAL_MAGIC   UINT32_C(0x04034b50)

/* The directory of an archive. */
typedef struct directory {
    uint64_t offset, bytes;
    uint8_t *entries;
} directory;

/* An entry of the directory. */
typedef struct entry {
    const char *name; /* not terminated */
    uint32_t name_bytes;
    uint32_t flags, method;
    uint64_t header; /* where the header before the member lies */
    firn_host_member member;
} entry;

static bool read_at(const firn_host_file *file, uint64_t offset, void *bytes, uint32_t count) {
    return offset <= file->file.bytes && file->file.bytes - offset >= count &&
           file->file.read(file->file.context, offset, bytes, count) == FIRN_OK;
}

bool firn_host_archive_is(const firn_host_file *file) {
    uint8_t magic[4];
    return read_at(file, 0, magic, sizeof magic) &&
           (firn_load32(magic) == LOCAL_MAGIC || firn_load32(magic) == END_MAGIC);
}

static bool refuse_damaged(const firn_host_file *file) {
    return firn_host_fail(file->name, "is a zip file that was cut or is damaged; get it again");
}

/* --- the directory --- */

/* Takes the place of the directory from zip64, if the end has no room for it. */
static bool find_directory64(const firn_host_file *file, uint64_t end, directory *found) {
    uint8_t locator[LOCATOR_BYTES], end64[END64_BYTES];
    if (end < LOCATOR_BYTES || !read_at(file, end - LOCATOR_BYTES, locator, sizeof locator) ||
        firn_load32(locator) != LOCATOR_MAGIC || !read_at(file, firn_load64(locator + 8), end64, sizeof end64) ||
        firn_load32(end64) != END64_MAGIC)
        return false;
    found->bytes = firn_load64(end64 + 40);
    found->offset = firn_load64(end64 + 48);
    return true;
}

/* Finds the directory by the end of it, which lies at the end of the file before a comment. */
static bool find_directory(const firn_host_file *file, directory *found) {
    const uint64_t bytes = file->file.bytes, most = END_BYTES + COMMENT_MOST;
    const uint32_t count = bytes < most ? (uint32_t)bytes : (uint32_t)most;
    uint8_t *tail = firn_host_allocate(count);
    bool there = read_at(file, bytes - count, tail, count);
    uint32_t at = count < END_BYTES ? 0 : count - END_BYTES + 1;
    while (
        there && at > 0 &&
        !(firn_load32(tail + at - 1) == END_MAGIC && firn_load16(tail + at - 1 + 20) == count - (at - 1) - END_BYTES))
        at--;
    there = there && at > 0;
    if (there) {
        const uint8_t *end = tail + at - 1;
        found->bytes = firn_load32(end + 12);
        found->offset = firn_load32(end + 16);
        if (found->offset == UINT32_MAX || found->bytes == UINT32_MAX || firn_load16(end + 10) == UINT16_MAX)
            there = find_directory64(file, bytes - count + (at - 1), found);
    }
    free(tail);
    return there && found->bytes <= DIRECTORY_MOST;
}

static bool read_directory(const firn_host_file *file, directory *directory) {
    if (!find_directory(file, directory))
        return false;
    directory->entries = firn_host_allocate((size_t)directory->bytes);
    return read_at(file, directory->offset, directory->entries, (uint32_t)directory->bytes);
}

/* Replaces the numbers of an entry that have no room in it by those of its zip64 field. */
static bool widen(entry *entry, const uint8_t *extra, uint32_t bytes) {
    uint64_t *const wide[] = {&entry->member.bytes, &entry->member.packed_bytes, &entry->header};
    while (bytes >= 4) {
        const uint32_t id = firn_load16(extra), length = firn_load16(extra + 2);
        uint32_t at = 0;
        if (length > bytes - 4)
            return false;
        for (size_t i = 0; id == 1 && i < sizeof wide / sizeof *wide; i++) {
            if (*wide[i] != UINT32_MAX)
                continue;
            if (length - at < 8u)
                return false;
            *wide[i] = firn_load64(extra + 4 + at);
            at += 8;
        }
        extra += 4 + length;
        bytes -= 4u + length;
    }
    return true;
}

/* Reads the entry at *at and advances *at past it. */
static bool read_entry(const directory *directory, uint64_t *at, entry *entry) {
    const uint8_t *bytes = directory->entries + *at;
    const uint64_t left = directory->bytes - *at;
    if (left < ENTRY_BYTES || firn_load32(bytes) != ENTRY_MAGIC)
        return false;
    const uint32_t extra = firn_load16(bytes + 30), comment = firn_load16(bytes + 32);
    *entry = (struct entry){
        .name = (const char *)bytes + ENTRY_BYTES,
        .name_bytes = firn_load16(bytes + 28),
        .flags = firn_load16(bytes + 8),
        .method = firn_load16(bytes + 10),
        .header = firn_load32(bytes + 42),
        .member = {.packed_bytes = firn_load32(bytes + 20),
                   .bytes = firn_load32(bytes + 24),
                   .crc32 = firn_load32(bytes + 16)},
    };
    const uint64_t whole = (uint64_t)ENTRY_BYTES + entry->name_bytes + extra + comment;
    if (whole > left || !widen(entry, bytes + ENTRY_BYTES + entry->name_bytes, extra))
        return false;
    *at += whole;
    return true;
}

/* --- the array --- */

/* Returns the length of the name of an array without its ending, or 0 if the member is none. */
static uint32_t array_name_bytes(const entry *entry) {
    const bool ends = entry->name_bytes > 4 && memcmp(entry->name + entry->name_bytes - 4, ".npy", 4) == 0;
    return ends ? entry->name_bytes - 4 : 0;
}

static bool has_name(const entry *entry, const char *name) {
    const size_t length = strlen(name);
    return (length == entry->name_bytes || length == array_name_bytes(entry)) && memcmp(entry->name, name, length) == 0;
}

/* What a look through the directory found. */
typedef struct found {
    uint32_t arrays, matches; /* arrays, and those of the wanted name */
    entry entry;              /* the last match */
    entry shown[NAMES_IN_MESSAGE];
    uint32_t shown_count;
    bool more;       /* there are other names */
    char names[400]; /* of `shown` */
    size_t length;
} found;

static bool is_shown(const found *found, const entry *entry) {
    for (uint32_t i = 0; i < found->shown_count; i++)
        if (found->shown[i].name_bytes == entry->name_bytes &&
            memcmp(found->shown[i].name, entry->name, entry->name_bytes) == 0)
            return true;
    return false;
}

/* Adds a name to those of a message, each of them once. */
static void show(found *found, const entry *entry) {
    if (is_shown(found, entry))
        return;
    if (found->shown_count == NAMES_IN_MESSAGE) {
        found->more = true;
        return;
    }
    if (found->length < sizeof found->names)
        found->length +=
            (size_t)snprintf(found->names + found->length, sizeof found->names - found->length, "%s%.*s",
                             found->shown_count == 0 ? "" : ", ", (int)array_name_bytes(entry), entry->name);
    found->shown[found->shown_count++] = *entry;
}

static bool look_through(const directory *directory, const char *name, found *found) {
    for (uint64_t at = 0; at < directory->bytes;) {
        entry entry;
        if (!read_entry(directory, &at, &entry))
            return false;
        if (array_name_bytes(&entry) == 0)
            continue;
        found->arrays++;
        show(found, &entry);
        if (name != NULL && !has_name(&entry, name))
            continue;
        found->matches++;
        found->entry = entry;
    }
    return true;
}

static bool refuse_choice(const firn_host_file *file, const found *found, const char *name) {
    const char *more = found->more ? ", ..." : "";
    const char *both = file->shared ? ", which holds for --data and --eval-data: both need an array of this name" : "";
    if (found->arrays == 0)
        return firn_host_fail(file->name, "is zip (also .npz, .pt, .docx) without an array (.npy) in it: unpack it "
                                          "first, or save its arrays by numpy.savez");
    if (name != NULL && found->matches == 0)
        return firn_host_fail(file->name, "has no array of the name %s; name one of %s%s by --member%s", name,
                              found->names, more, both);
    if (name != NULL || found->shown_count == 1)
        return firn_host_fail(file->name, "has %lu arrays of the name %s; save it again by numpy.savez",
                              (unsigned long)found->matches, name != NULL ? name : found->names);
    return firn_host_fail(file->name, "has %lu arrays: name one of %s%s by --member%s", (unsigned long)found->arrays,
                          found->names, more, both);
}

/* Finds where the bytes of a member begin. The header before a member has its own name and extra field, whose lengths
 * may differ from those in the directory. */
static bool place_member(const firn_host_file *file, entry *entry) {
    uint8_t header[LOCAL_BYTES];
    firn_host_member *member = &entry->member;
    if (!read_at(file, entry->header, header, sizeof header) || firn_load32(header) != LOCAL_MAGIC)
        return false;
    member->offset = entry->header + LOCAL_BYTES + firn_load16(header + 26) + firn_load16(header + 28);
    member->deflated = entry->method == DEFLATED;
    return member->offset <= file->file.bytes && file->file.bytes - member->offset >= member->packed_bytes;
}

bool firn_host_archive_find(const firn_host_file *file, const char *name, firn_host_member *member) {
    directory directory = {0};
    found found = {0};
    bool good = read_directory(file, &directory) && look_through(&directory, name, &found);
    if (!good)
        (void)refuse_damaged(file);
    else if (found.matches != 1)
        good = refuse_choice(file, &found, name);
    else if ((found.entry.flags & ENCRYPTED) != 0 || (found.entry.method != 0 && found.entry.method != DEFLATED))
        good =
            firn_host_fail(file->name, "is a zip file that is %s; save it again by numpy.savez",
                           (found.entry.flags & ENCRYPTED) != 0 ? "encrypted" : "packed in another way than deflate");
    else if (!place_member(file, &found.entry))
        good = refuse_damaged(file);
    *member = found.entry.member;
    free(directory.entries);
    return good;
}
