/* Reads the elements of tensors that are in a file beside the model. The model's file may come from anywhere, so such a
 * file is read only if it really lies in the folder of the model, whatever its name or a link says. */
#define _XOPEN_SOURCE 700 /* realpath, pread */

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "compiler/base/files.h"
#include "compiler/base/landing.h"
#include "compiler/onnx/import.h"

#ifndef PATH_MAX
#    define PATH_MAX 4096
#endif

/* A whole number of an entry; false if it is none. */
static bool read_whole(const char *text, uint64_t *number) {
    *number = 0;
    if (*text == '\0')
        return false;
    for (; *text != '\0'; text++) {
        if (*text < '0' || *text > '9' || *number > (UINT64_MAX - 9) / 10)
            return false;
        *number = *number * 10 + (uint64_t)(*text - '0');
    }
    return true;
}

/* A relative name without a step out of its folder. */
static bool is_inside(const char *name) {
    if (name[0] == '\0' || name[0] == '/' || strchr(name, '\\') != NULL)
        return false;
    for (const char *part = name; part != NULL; part = strchr(part, '/')) {
        part += *part == '/';
        const size_t length = strcspn(part, "/");
        if (length == 0 || (length <= 2 && strncmp(part, "..", length) == 0))
            return false;
    }
    return true;
}

/* The name of a file in the model's folder, if that is where it really is; else NULL. */
static const char *find_inside(const char *model, const char *name) {
    const char *slash = strrchr(model, '/');
    const char *folder = slash == NULL ? "." : firnc_format("%.*s", (int)(slash - model + 1), model);
    char real_folder[PATH_MAX], real_file[PATH_MAX];
    struct stat status;
    const char *path = firnc_format("%s/%s", folder, name);
    if (realpath(folder, real_folder) == NULL || realpath(path, real_file) == NULL)
        return NULL;
    const size_t length = strlen(real_folder);
    if (strncmp(real_file, real_folder, length) != 0 || (real_file[length] != '/' && length > 1) ||
        stat(real_file, &status) != 0 || !S_ISREG(status.st_mode))
        return NULL;
    return firnc_format("%s", real_file);
}

bool firnc_onnx_read_external(firnc_onnx_importer *im, const FirncOnnx__Tensor *from, const char *name, uint64_t bytes,
                              firnc_onnx_bytes *to) {
    const char *location = NULL;
    uint64_t offset = 0, length = bytes;
    for (size_t i = 0; i < from->n_external_data; i++) {
        const FirncOnnx__Entry *entry = from->external_data[i];
        const char *key = firnc_onnx_or_empty(entry->key), *value = firnc_onnx_or_empty(entry->value);
        bool good = true;
        if (strcmp(key, "location") == 0)
            location = value;
        else if (strcmp(key, "offset") == 0)
            good = read_whole(value, &offset);
        else if (strcmp(key, "length") == 0)
            good = read_whole(value, &length);
        if (!good)
            return firnc_onnx_fail(im, "tensor %s: the %s of its data is no number; export the model again", name, key);
    }
    if (location == NULL || !is_inside(location))
        return firnc_onnx_fail(im,
                               "tensor %s: its data is in \"%s\", and only files in the model's folder are read; put "
                               "the file there, and export the model again",
                               name, location == NULL ? "" : location);
    const char *path = find_inside(im->file, location);
    if (path == NULL)
        return firnc_onnx_fail(
            im,
            "tensor %s: its data is in \"%s\", which is no file in the model's folder; copy it there, under this name",
            name, location);
    if (length != bytes)
        return firnc_onnx_fail(im,
                               "tensor %s: its data has %llu bytes, and its elements take %llu; export the model again",
                               name, (unsigned long long)length, (unsigned long long)bytes);
    uint64_t size = 0, done = 0;
    const int file = firnc_file_open(path, &size);
    const bool there = file >= 0 && size >= bytes && size - bytes >= offset;
    if (there) {
        const firnc_input_state before = firnc_input_look(file);
        firnc_hold_file(file);
        uint8_t *data = firnc_allocate(bytes + 1);
        firnc_let_go_file(file);
        while (done < bytes) {
            const ssize_t got = pread(file, data + done, (size_t)(bytes - done), (off_t)(offset + done));
            if (got <= 0)
                break;
            done += (uint64_t)got;
        }
        *to = (firnc_onnx_bytes){data, bytes};
        firnc_file_remember(file);
        if (!firnc_input_unchanged(file, path, &before)) {
            close(file);
            return false;
        }
    }
    if (file >= 0)
        close(file);
    return (there && done == bytes) ||
           firnc_onnx_fail(im,
                           "tensor %s: its data is not in \"%s\", which is too short or cannot be read; copy that file "
                           "again, or export the model again",
                           name, location);
}
