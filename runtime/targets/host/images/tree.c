/* Finds the images in folders (tree.h). Class folders take turns in the order of records, each by the number of its
 * images, because the last records may be held out: sorted by class, these would be of the last class alone. */
#define _GNU_SOURCE
#define _FILE_OFFSET_BITS 64
#include "runtime/targets/host/images/tree.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/targets/host/data_file.h"
#include "runtime/targets/host/images/picture.h"

enum { LEAVES_MOST = 1 << 30 };

/* --- what is in one folder ---------------------------------------------------------------------------------------- */

typedef struct names {
    char **list;
    uint32_t count;
} names;

/* The entries of a folder. Files and folders are in natural order. */
typedef struct listing {
    char *path; /* with a slash */
    names files, folders, left;
    names why; /* of each that is left out */
} listing;

static void add(names *to, const char *name) {
    to->list = firn_host_grow(to->list, (to->count + 1) * sizeof *to->list);
    to->list[to->count++] = firn_host_path(name, "");
}

static void free_names(names *list) {
    for (uint32_t i = 0; i < list->count; i++)
        free(list->list[i]);
    free(list->list);
    *list = (names){0};
}

static void free_listing(listing *l) {
    free(l->path);
    free_names(&l->files);
    free_names(&l->folders);
    free_names(&l->left);
    free_names(&l->why);
}

static int by_nature(const void *a, const void *b) {
    return firn_host_folder_order(*(char *const *)a, *(char *const *)b, true);
}

static void sort(names *list) {
    if (list->count != 0)
        qsort(list->list, list->count, sizeof *list->list, by_nature);
}

static bool is_folder(const char *name, int folder) {
    struct stat status;
    return name[0] != '.' && fstatat(folder, name, &status, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(status.st_mode);
}

/* Lists a folder. Returns false with errno set if it cannot be read. Free the listing whatever is returned. */
static bool list(listing *l, const char *path) {
    DIR *opened = opendir(path);
    *l = (listing){.path = firn_host_path(path, path[strlen(path) - 1] == '/' ? "" : "/")};
    if (opened == NULL)
        return false;
    for (const char *name = firn_host_folder_next(opened); name != NULL; name = firn_host_folder_next(opened)) {
        const char *why = firn_host_folder_why_left_out(name, dirfd(opened));
        if (is_folder(name, dirfd(opened))) {
            add(&l->folders, name);
        } else if (why == NULL) {
            add(&l->files, name);
        } else {
            add(&l->left, name);
            add(&l->why, why);
        }
    }
    const int error = errno;
    closedir(opened);
    sort(&l->files);
    sort(&l->folders);
    errno = error;
    return error == 0;
}

static char *path_in(const listing *l, const char *name) {
    return firn_host_path(l->path, name);
}

static void note_left(const listing *l, firn_host_stream *stream) {
    for (uint32_t i = 0; i < l->left.count; i++)
        firn_host_folder_leave_out(stream, l->path, l->left.list[i], l->why.list[i]);
}

static void note_all(const listing *l, const names *list, const char *why, firn_host_stream *stream) {
    for (uint32_t i = 0; i < list->count; i++)
        firn_host_folder_leave_out(stream, l->path, list->list[i], why);
}

/* --- what a folder is --------------------------------------------------------------------------------------------- */

/* Returns the first file that is an image, or NULL. */
static const char *first_image(const listing *l) {
    for (uint32_t i = 0; i < l->files.count; i++) {
        char *path = path_in(l, l->files.list[i]);
        const bool image = firn_host_picture_form_of(path) != FIRN_HOST_PICTURE_NONE;
        free(path);
        if (image)
            return l->files.list[i];
    }
    return NULL;
}

/* Returns true if a folder has an image, or one of its folders does. */
static bool has_images(const char *path) {
    listing l, below;
    bool has = list(&l, path) && first_image(&l) != NULL;
    for (uint32_t i = 0; !has && i < l.folders.count; i++) {
        char *inner = path_in(&l, l.folders.list[i]);
        has = list(&below, inner) && first_image(&below) != NULL;
        free_listing(&below);
        free(inner);
    }
    free_listing(&l);
    return has;
}

/* Returns the first folder that has images, or NULL. */
static const char *first_folder(const listing *l) {
    for (uint32_t i = 0; i < l->folders.count; i++) {
        char *path = path_in(l, l->folders.list[i]);
        const bool has = has_images(path);
        free(path);
        if (has)
            return l->folders.list[i];
    }
    return NULL;
}

/* Returns true if the bytes begin an array of NumPy or of IDX. */
static bool begins_array(const uint8_t *head, int64_t count) {
    const firn_file_kind *kind = count >= 4 ? firn_file_kind_of(head, (size_t)count) : NULL;
    const bool idx = count >= 4 && head[0] == 0 && head[1] == 0 && head[2] >= 8 && head[2] <= 14;
    return idx || (kind != NULL && kind->use == FIRN_FILE_NPY);
}

/* Returns true if a file that is packed by gzip, or is not, begins an array. */
static bool is_array(int descriptor) {
    uint8_t head[FIRN_FILE_KIND_BYTES];
    const int64_t count = firn_host_read(descriptor, head, sizeof head);
    const bool gzip = count >= 2 && head[0] == 0x1f && head[1] == 0x8b;
    if (!gzip)
        return begins_array(head, count);
    const char *fault;
    firn_host_packed *packed = firn_host_unpack_begin(descriptor);
    const int64_t unpacked = packed != NULL ? firn_host_unpack(packed, head, sizeof head, &fault) : -1;
    firn_host_unpack_end(packed);
    return begins_array(head, unpacked);
}

/* Returns true if a file is data by itself, which a folder of class folders beside it does not change: a table or an
 * array. Documents and archives beside class folders, as a licence or the download, are not. */
static bool is_data(const char *path) {
    static const char *const endings[] = {".csv", ".csv.gz", ".npz"};
    const size_t length = strlen(path);
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++)
        if (length > strlen(endings[i]) && strcmp(path + length - strlen(endings[i]), endings[i]) == 0)
            return true;
    const int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    const bool array = descriptor >= 0 && is_array(descriptor);
    if (descriptor >= 0)
        close(descriptor);
    return array;
}

static bool has_data(const listing *l) {
    bool has = false;
    for (uint32_t i = 0; !has && i < l->files.count; i++) {
        char *path = path_in(l, l->files.list[i]);
        has = is_data(path);
        free(path);
    }
    return has;
}

/* --- the images --------------------------------------------------------------------------------------------------- */

static bool add_leaf(firn_host_tree *tree, char *path, uint32_t class) {
    if (tree->count == LEAVES_MOST)
        return firn_host_fail(path, "is one of more than %d images; give fewer", LEAVES_MOST);
    if ((tree->count & (tree->count - 1)) == 0) /* room for twice as many */
        tree->leaves =
            firn_host_grow(tree->leaves, (tree->count == 0 ? 1 : 2 * (size_t)tree->count) * sizeof *tree->leaves);
    tree->leaves[tree->count++] = (firn_host_leaf){.path = path, .class = class};
    return true;
}

static bool add_leaves(firn_host_tree *tree, const listing *l, uint32_t class) {
    const uint32_t first = tree->count;
    for (uint32_t i = 0; i < l->files.count; i++)
        if (!add_leaf(tree, path_in(l, l->files.list[i]), class))
            return false;
    for (uint32_t i = first; i < tree->count; i++) {
        tree->leaves[i].place = i - first;
        tree->leaves[i].many = tree->count - first;
    }
    return true;
}

/* Orders images by the fraction of their class that is before their middle, and images at the same fraction by class.
 */
static int by_turn(const void *a, const void *b) {
    const firn_host_leaf *p = a, *q = b;
    const uint64_t first = (2 * p->place + 1) * q->many, second = (2 * q->place + 1) * p->many;
    return first != second ? (first < second ? -1 : 1) : p->class < q->class ? -1 : p->class > q->class;
}

static bool has_control(const char *name) {
    for (; *name != 0; name++)
        if ((unsigned char)*name < 0x20 || *name == 0x7f)
            return true;
    return false;
}

/* Adds a class folder. above: the folder that it is in. */
static bool add_class(firn_host_tree *tree, firn_host_stream *stream, const listing *above, const char *name) {
    char *path = path_in(above, name);
    listing l;
    bool added = list(&l, path) || firn_host_fail(path, "cannot be read: %s", strerror(errno));
    if (added && has_control(name))
        added = firn_host_fail(path, "is a class folder whose name has a control character; rename it");
    if (added && l.folders.count != 0 && first_image(&l) == NULL)
        added = firn_host_fail(path,
                               "has no image, but folders, such as %.100s; give the folder in which the folders are "
                               "the classes by itself",
                               l.folders.list[0]);
    if (added && l.folders.count != 0)
        added =
            firn_host_fail(path, "has a folder in it, %.100s, and a class folder holds images alone; move that away",
                           l.folders.list[0]);
    if (added && l.files.count == 0)
        added = firn_host_fail(path, "is a class folder without an image; put images into it, or remove it");
    if (added) {
        const uint32_t class = tree->class_count++;
        tree->classes = firn_host_grow(tree->classes, tree->class_count * sizeof *tree->classes);
        tree->class_images = firn_host_grow(tree->class_images, tree->class_count * sizeof *tree->class_images);
        tree->classes[class] = firn_host_path(name, "");
        tree->class_images[class] = l.files.count;
        note_left(&l, stream);
        added = add_leaves(tree, &l, class);
    }
    free_listing(&l);
    free(path);
    return added;
}

static bool add_classes(firn_host_tree *tree, firn_host_stream *stream, const listing *l) {
    for (uint32_t i = 0; i < l->folders.count; i++)
        if (!add_class(tree, stream, l, l->folders.list[i]))
            return false;
    qsort(tree->leaves, tree->count, sizeof *tree->leaves, by_turn);
    note_left(l, stream);
    note_all(l, &l->files, " (beside class folders)", stream);
    return true;
}

static bool add_flat(firn_host_tree *tree, firn_host_stream *stream, const listing *l, const char *image) {
    const char *inner = first_folder(l);
    if (inner != NULL)
        return firn_host_fail(l->path,
                              "has images, such as %.100s, beside folders of images, such as %.100s; move either "
                              "away",
                              image, inner);
    note_left(l, stream);
    note_all(l, &l->folders, " (a folder)", stream);
    return add_leaves(tree, l, 0);
}

static firn_host_images_result result_of(bool read) {
    return read ? FIRN_HOST_IMAGES_READ : FIRN_HOST_IMAGES_REFUSED;
}

firn_host_images_result firn_host_tree_read(firn_host_tree *tree, firn_host_stream *stream, const char *path) {
    listing l;
    struct stat status;
    const uint32_t first_left = stream->left_count;
    firn_host_images_result result = FIRN_HOST_IMAGES_NONE;
    *tree = (firn_host_tree){0};
    if (stat(path, &status) != 0)
        return result;
    if (S_ISREG(status.st_mode)) {
        if (firn_host_picture_form_of(path) == FIRN_HOST_PICTURE_NONE)
            return result;
        return result_of(add_leaf(tree, firn_host_path(path, ""), 0));
    }
    if (!S_ISDIR(status.st_mode))
        return result;
    if (list(&l, path)) {
        const char *image = first_image(&l);
        if (image != NULL)
            result = result_of(add_flat(tree, stream, &l, image));
        else if (first_folder(&l) != NULL && !has_data(&l))
            result = result_of(add_classes(tree, stream, &l));
    } else {
        result = result_of(firn_host_fail(path, "cannot be read: %s", strerror(errno)));
    }
    firn_host_folder_sort_left(stream, first_left);
    free_listing(&l);
    return result;
}

void firn_host_tree_free(firn_host_tree *tree) {
    for (uint32_t i = 0; i < tree->count; i++)
        free(tree->leaves[i].path);
    for (uint32_t i = 0; i < tree->class_count; i++)
        free(tree->classes[i]);
    free(tree->leaves);
    free(tree->classes);
    free(tree->class_images);
    *tree = (firn_host_tree){0};
}
