/* The files in a folder of data, and their order. */
#define _GNU_SOURCE
#define _FILE_OFFSET_BITS 64
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "runtime/targets/host/data_file.h"

/* --- order --- */

static bool is_digit(char character) {
    return character >= '0' && character <= '9';
}

/* Skips zeros before another digit. */
static const char *skip_zeros(const char *text) {
    while (text[0] == '0' && is_digit(text[1]))
        text++;
    return text;
}

static size_t digits_of(const char *text) {
    size_t count = 0;
    while (is_digit(text[count]))
        count++;
    return count;
}

int firn_host_folder_order(const char *a, const char *b, bool natural) {
    const char *p = a, *q = b;
    while (natural && *p != 0 && *q != 0) {
        if (!is_digit(*p) || !is_digit(*q)) {
            if (*p != *q)
                return (int)(unsigned char)*p - (int)(unsigned char)*q;
            p++;
            q++;
            continue;
        }
        p = skip_zeros(p);
        q = skip_zeros(q);
        const size_t first = digits_of(p), second = digits_of(q);
        if (first != second)
            return first < second ? -1 : 1;
        const int order = memcmp(p, q, first);
        if (order != 0)
            return order;
        p += first;
        q += first;
    }
    /* One ends, or they differ in zeros only. */
    return natural && *p != *q ? (int)(unsigned char)*p - (int)(unsigned char)*q : strcmp(a, b);
}

/* --- what is in it --- */

static int by_name(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static int by_nature(const void *a, const void *b) {
    return firn_host_folder_order(*(char *const *)a, *(char *const *)b, true);
}

void firn_host_folder_leave_out(firn_host_stream *stream, const char *folder, const char *name, const char *why) {
    char *path = firn_host_path(folder, name), *said = firn_host_path(path, why);
    stream->left = firn_host_grow(stream->left, (stream->left_count + 1) * sizeof(char *));
    stream->left[stream->left_count++] = said;
    free(path);
}

const char *firn_host_folder_why_left_out(const char *entry, int folder) {
    struct stat status;
    if (fstatat(folder, entry, &status, AT_SYMLINK_NOFOLLOW) != 0)
        return " (cannot be read)";
    if (entry[0] == '.')
        return " (hidden)";
    const size_t length = strlen(entry), end = strlen(FIRN_HOST_TOKENIZER_NOTE);
    if (length > end && strcmp(entry + length - end, FIRN_HOST_TOKENIZER_NOTE) == 0)
        return " (says which tokenizer made the tokens)";
    if (S_ISREG(status.st_mode))
        return NULL;
    return S_ISLNK(status.st_mode)    ? " (a symbolic link)"
           : S_ISDIR(status.st_mode)  ? " (a folder)"
           : S_ISFIFO(status.st_mode) ? " (a pipe)"
           : S_ISSOCK(status.st_mode) ? " (a socket)"
                                      : " (a device)";
}

const char *firn_host_folder_next(DIR *folder) {
    const struct dirent *entry;
    do {
        errno = 0;
        entry = readdir(folder);
    } while (entry != NULL && (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0));
    return entry != NULL ? entry->d_name : NULL;
}

void firn_host_folder_sort_left(firn_host_stream *stream, uint32_t first) {
    if (stream->left_count > first)
        qsort(stream->left + first, stream->left_count - first, sizeof *stream->left, by_name);
}

/* Refuses a folder of which the first `count` names were read. */
static char **refuse_folder(const char *path, int error, char **names, size_t *count) {
    firn_host_fail(path, "cannot be read: %s", strerror(error));
    for (size_t i = 0; i < *count; i++)
        free(names[i]);
    free(names);
    *count = 0;
    return NULL;
}

/* Refuses a folder of which no file is read. first: the index of what was left out of it first. */
static void refuse_empty(firn_host_stream *stream, uint32_t first, const char *path) {
    const uint32_t left = stream->left_count - first;
    if (left == 0)
        firn_host_fail(path, "is a folder with no file in it; give one with files");
    else
        firn_host_fail(path, "has no file that is read: %s is left out%s; give the files by name", stream->left[first],
                       left > 1 ? ", like all else" : "");
}

char **firn_host_folder_list(firn_host_stream *stream, const char *path, const char *folder, size_t *count) {
    DIR *opened = opendir(path);
    const uint32_t first_left = stream->left_count;
    char **names = NULL;
    *count = 0;
    if (opened == NULL)
        return refuse_folder(path, errno, names, count);
    for (const char *name = firn_host_folder_next(opened); name != NULL; name = firn_host_folder_next(opened)) {
        const char *why = firn_host_folder_why_left_out(name, dirfd(opened));
        if (why != NULL) {
            firn_host_folder_leave_out(stream, folder, name, why);
            continue;
        }
        names = firn_host_grow(names, (*count + 1) * sizeof(void *));
        names[(*count)++] = firn_host_path(name, "");
    }
    const int error = errno;
    closedir(opened);
    firn_host_folder_sort_left(stream, first_left);
    if (error != 0)
        return refuse_folder(path, error, names, count);
    if (*count == 0)
        refuse_empty(stream, first_left, path);
    else
        qsort(names, *count, sizeof *names, by_nature);
    return names;
}
