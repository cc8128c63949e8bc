/* Reads one image file (picture.h): recognises it by its contents, and refuses what no decoder should be asked for. */
#define _GNU_SOURCE
#include "runtime/targets/host/images/picture.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/targets/host/host.h"

#define FILE_BYTES_MOST (UINT64_C(1) << 30)

static firn_host_picture_form form_of(const uint8_t *head, size_t count) {
    static const uint8_t png[] = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n'}, jpeg[] = {0xff, 0xd8, 0xff};
    if (count >= sizeof png && memcmp(head, png, sizeof png) == 0)
        return FIRN_HOST_PICTURE_PNG;
    return count >= sizeof jpeg && memcmp(head, jpeg, sizeof jpeg) == 0 ? FIRN_HOST_PICTURE_JPEG
                                                                        : FIRN_HOST_PICTURE_NONE;
}

firn_host_picture_form firn_host_picture_form_of(const char *path) {
    uint8_t head[8];
    const int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (file < 0)
        return FIRN_HOST_PICTURE_NONE;
    const int64_t count = firn_host_read(file, head, sizeof head);
    close(file);
    return count < 0 ? FIRN_HOST_PICTURE_NONE : form_of(head, (size_t)count);
}

/* Reads all of a file into memory, which the caller frees. */
static uint8_t *load(const char *path, size_t *count) {
    uint64_t bytes;
    const int file = firn_host_open(path, true, &bytes);
    if (file < 0)
        return NULL;
    if (bytes > FILE_BYTES_MOST) {
        close(file);
        firn_host_fail(path, "has %llu bytes, and images of at most %llu are read; save it smaller",
                       (unsigned long long)bytes, (unsigned long long)FILE_BYTES_MOST);
        return NULL;
    }
    uint8_t *contents = firn_host_allocate((size_t)bytes + 1);
    const bool whole = firn_host_read(file, contents, (size_t)bytes) == (int64_t)bytes;
    close(file);
    *count = (size_t)bytes;
    if (whole)
        return contents;
    free(contents);
    firn_host_fail(path, "cannot be read to its end; run again where nobody changes it, or look at the disk");
    return NULL;
}

bool firn_host_picture_read(firn_host_picture *picture, const char *path, bool only_header) {
    size_t count;
    uint8_t *bytes = load(path, &count);
    bool read = false;
    *picture = (firn_host_picture){0};
    if (bytes == NULL)
        return false;
    switch (form_of(bytes, count)) {
    case FIRN_HOST_PICTURE_PNG:
        read = firn_host_png_read(picture, path, bytes, count, only_header);
        break;
    case FIRN_HOST_PICTURE_JPEG:
        read = firn_host_jpeg_read(picture, path, bytes, count, only_header);
        break;
    default:
        firn_host_fail(path, "is no PNG or JPEG image, and the other files are; move it to another folder");
    }
    free(bytes);
    return read;
}
