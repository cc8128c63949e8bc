/* Images as the records of a plan (images.h): one file of decoded bytes in memory, and one of labels. The headers of
 * all images are compared first, so that most faults are found before the long work of decoding. */
#include <stdlib.h>
#include <string.h>

#include "plan/ops.h"
#include "runtime/targets/host/data_file.h"
#include "runtime/targets/host/images/images.h"
#include "runtime/targets/host/images/picture.h"
#include "runtime/targets/host/images/tree.h"

/* The form of one record. */
typedef struct form {
    uint32_t width, height, channels;
    bool planes;           /* channels are the first axis, and not the last */
    firn_host_shape shape; /* its extents */
} form;

/* Images that become records. */
typedef struct reading {
    const firn_host_wanted *wanted;
    const char *path;
    firn_host_tree tree;
    form form;
} reading;

/* --- the form of the records -------------------------------------------------------------------------------------- */

static bool is_channels(uint64_t extent) {
    return extent == 1 || extent == 3;
}

/* Takes the form from the extents of the plan's records. first: the size of the first image, which decides where the
 * channels could be either axis. Returns false if an image does not have such extents. */
static bool form_of_shape(form *form, const firn_host_shape *shape, const firn_host_picture *first) {
    const uint64_t *dims = shape->dims;
    for (uint32_t i = 0; i < shape->rank; i++)
        if (dims[i] > UINT32_MAX)
            return false;
    *form = (struct form){.shape = *shape, .channels = 1};
    if (shape->rank == 2) {
        form->height = (uint32_t)dims[0];
        form->width = (uint32_t)dims[1];
        return true;
    }
    const bool last = is_channels(dims[2]);
    form->planes = is_channels(dims[0]) && (!last || (dims[1] == first->height && dims[2] == first->width));
    form->channels = (uint32_t)(form->planes ? dims[0] : dims[2]);
    form->height = (uint32_t)(form->planes ? dims[1] : dims[0]);
    form->width = (uint32_t)(form->planes ? dims[2] : dims[1]);
    return last || form->planes;
}

/* Takes the form from the images: without a plan, or for one whose records are flat. */
static void form_of_images(form *form, const firn_host_picture *first, uint32_t channels) {
    *form = (struct form){.width = first->width,
                          .height = first->height,
                          .channels = channels,
                          .shape = {.rank = 3, .dims = {first->height, first->width, channels}}};
    if (channels == 1)
        form->shape = (firn_host_shape){.rank = 2, .dims = {first->height, first->width}};
}

/* Finds the form of the records. first: the first image, with the size that it is to have. colour: one of the images
 * has colours. */
static bool find_form(reading *r, const firn_host_picture *first, bool colour) {
    const firn_host_wanted *wanted = r->wanted;
    const firn_host_shape *shape = &wanted->shapes[0];
    const uint64_t elements = wanted->streams[0].record_elements;
    char dims[200];
    if (elements == 0) {
        form_of_images(&r->form, first, colour ? 3 : 1);
        return true;
    }
    if (shape->rank == 2 || shape->rank == 3) {
        if (form_of_shape(&r->form, shape, first))
            return true;
        return firn_host_fail(r->path,
                              "has images, and the plan reads records of %s, which are none of 1 or 3 channels; give "
                              "the images' size and channels by the recipe, or other data",
                              firn_host_dims_text(shape->dims, shape->rank, "[]", dims, sizeof dims));
    }
    form_of_images(&r->form, first, 1);
    const uint64_t pixels = (uint64_t)r->form.width * r->form.height;
    if (elements % pixels == 0 && is_channels(elements / pixels)) {
        form_of_images(&r->form, first, (uint32_t)(elements / pixels));
        return true;
    }
    return firn_host_fail(
        r->path,
        "has images of %lu x %lu pixels, and the plan reads %llu numbers of each record, which are none "
        "of 1 or 3 channels of that size; give --resize WIDTHxHEIGHT, or change the recipe",
        (unsigned long)r->form.width, (unsigned long)r->form.height, (unsigned long long)elements);
}

/* --- the headers -------------------------------------------------------------------------------------------------- */

/* Refuses an image that has another size than the records. */
static bool check_size(const reading *r, const char *path, const firn_host_picture *picture) {
    const form *form = &r->form;
    if (r->wanted->resize_width != 0 || (picture->width == form->width && picture->height == form->height))
        return true;
    return firn_host_fail(path, "is %lu pixels wide and %lu high, and %s %lu wide and %lu high; give --resize %lux%lu",
                          (unsigned long)picture->width, (unsigned long)picture->height,
                          r->wanted->streams[0].record_elements != 0 ? "the plan reads images" : "others are",
                          (unsigned long)form->width, (unsigned long)form->height, (unsigned long)form->width,
                          (unsigned long)form->height);
}

/* Reads all headers, and finds the form of the records. */
static bool read_headers(reading *r) {
    const firn_host_tree *tree = &r->tree;
    firn_host_picture *headers = firn_host_allocate(tree->count * sizeof *headers);
    bool read = true, colour = false;
    for (uint32_t i = 0; read && i < tree->count; i++) {
        read = firn_host_picture_read(&headers[i], tree->leaves[i].path, true);
        colour = colour || headers[i].channels == 3;
    }
    firn_host_picture first = headers[0];
    if (r->wanted->resize_width != 0) {
        first.width = r->wanted->resize_width;
        first.height = r->wanted->resize_height;
    }
    read = read && find_form(r, &first, colour);
    for (uint32_t i = 0; read && i < tree->count; i++)
        read = check_size(r, tree->leaves[i].path, &headers[i]);
    free(headers);
    const form *form = &r->form;
    if (!read || r->wanted->resize_width == 0 ||
        (form->width == r->wanted->resize_width && form->height == r->wanted->resize_height))
        return read;
    return firn_host_fail(r->path, "--resize says %lux%lu, and the plan reads images of %lux%lu; give that",
                          (unsigned long)r->wanted->resize_width, (unsigned long)r->wanted->resize_height,
                          (unsigned long)form->width, (unsigned long)form->height);
}

/* --- the pixels --------------------------------------------------------------------------------------------------- */

static bool is_grey(const uint8_t *pixel) {
    return pixel[0] == pixel[1] && pixel[1] == pixel[2];
}

/* Writes a picture as a record. A grey pixel has the same value in three channels, and the other way round. */
static bool put_pixels(const form *form, const firn_host_picture *picture, const char *path, uint8_t *record) {
    const size_t pixels = (size_t)form->width * form->height;
    const uint32_t from = picture->channels, to = form->channels;
    for (size_t i = 0; i < pixels; i++) {
        const uint8_t *pixel = picture->pixels + i * from;
        if (from == 3 && to == 1 && !is_grey(pixel))
            return firn_host_fail(path,
                                  "has colours, and the plan reads images of one channel; set image_channels: 3 in "
                                  "the model's recipe, or save it in grey, as `mogrify -colorspace Gray` does");
        for (uint32_t c = 0; c < to; c++)
            record[form->planes ? c * pixels + i : i * to + c] = pixel[from == 1 ? 0 : to == 1 ? 0 : c];
    }
    return true;
}

static bool hash_record(const uint8_t *record, size_t bytes, firn_host_image *image) {
    firn_sha256 hash;
    return firn_sha256_begin(&hash) == FIRN_OK && firn_sha256_update(&hash, record, bytes) == FIRN_OK &&
           firn_sha256_end(&hash, image->sha256) == FIRN_OK;
}

/* Decodes an image into its record. */
static bool read_record(const reading *r, const char *path, uint8_t *record, firn_host_image *image) {
    const form *form = &r->form;
    firn_host_picture picture;
    if (!firn_host_picture_read(&picture, path, false))
        return false;
    bool read = check_size(r, path, &picture); /* the file may have been replaced */
    if (read)
        firn_host_picture_resize(&picture, form->width, form->height);
    read = read && put_pixels(form, &picture, path, record) &&
           hash_record(record, (size_t)form->width * form->height * form->channels, image);
    free(picture.pixels);
    return read;
}

/* --- the files ---------------------------------------------------------------------------------------------------- */

/* Gives a file its contents, and what is known of them. */
static bool give(firn_host_file *file, uint8_t *memory, uint64_t bytes, const firn_data_layout *layout) {
    uint8_t digest[FIRN_HASH_BYTES];
    file->layout = *layout;
    file->layout.elements = firn_data_elements(layout);
    file->form = FIRN_HOST_FORM_IMAGES;
    firn_host_file_replace(file, memory, bytes);
    if (!firn_host_file_hash(file, digest))
        return false;
    memcpy(file->sha256, digest, sizeof file->sha256);
    return true;
}

/* Makes the file of labels, little-endian. */
static firn_host_file *make_labels(const firn_host_tree *tree, const char *path) {
    firn_host_file *file = firn_host_file_make(path);
    uint8_t *labels = firn_host_allocate((size_t)tree->count * 4);
    for (uint32_t i = 0; i < tree->count; i++)
        for (uint32_t b = 0; b < 4; b++)
            labels[(size_t)i * 4 + b] = (uint8_t)(tree->leaves[i].class >> 8 * b);
    const firn_data_layout layout = {
        .format = FIRN_DATA_NPY, .element = FIRN_INT32, .type = "<i4", .rank = 1, .dims = {tree->count}};
    if (give(file, labels, (uint64_t)tree->count * 4, &layout))
        return file;
    firn_host_file_close(file);
    return NULL;
}

/* Moves the names of classes and their counts from the tree into the file. */
static void move_classes(firn_host_file *file, firn_host_tree *tree) {
    file->images.classes = tree->classes;
    file->images.class_images = tree->class_images;
    file->images.class_count = tree->class_count;
    tree->classes = NULL;
    tree->class_images = NULL;
    tree->class_count = 0;
}

/* Decodes all images into the file. */
static bool read_images(reading *r, firn_host_file *file) {
    const form *form = &r->form;
    const uint64_t each = (uint64_t)form->width * form->height * form->channels, bytes = each * r->tree.count;
    if (!firn_host_file_fits(file, bytes, "has images of more than", "give fewer, or bring them to a smaller size"))
        return false;
    uint8_t *records = firn_host_allocate((size_t)bytes);
    firn_host_image_list *list = &file->images;
    list->images = firn_host_allocate(r->tree.count * sizeof *list->images);
    for (uint32_t i = 0; i < r->tree.count; i++) {
        list->images[i].name = firn_host_path(r->tree.leaves[i].path, "");
        list->count++;
        if (!read_record(r, list->images[i].name, records + i * each, &list->images[i])) {
            free(records);
            return false;
        }
    }
    firn_data_layout layout = {.format = FIRN_DATA_NPY, .element = FIRN_UINT8, .type = "|u1"};
    layout.rank = (uint8_t)(form->shape.rank + 1);
    layout.dims[0] = r->tree.count;
    for (uint32_t i = 0; i < form->shape.rank; i++)
        layout.dims[i + 1] = form->shape.dims[i];
    return give(file, records, bytes, &layout);
}

/* Refuses more class folders than the plan has classes. */
static bool check_classes(const reading *r) {
    const firn_host_wanted *wanted = r->wanted;
    const unsigned long limit = wanted->stream_count > 1 ? wanted->streams[1].limit - wanted->unclassed : 0;
    if (limit == 0 || r->tree.class_count <= limit)
        return true;
    return firn_host_fail(r->path, "has %lu class folders, and the plan has %lu class%s (%s); change the recipe",
                          (unsigned long)r->tree.class_count, limit, limit == 1 ? "" : "es",
                          firn_error_name(FIRN_ERROR_DATA_RANGE));
}

static bool read_all(reading *r, firn_host_records *records) {
    if (!check_classes(r) || !read_headers(r))
        return false;
    records->images = firn_host_file_make(r->path);
    if (!read_images(r, records->images))
        return false;
    records->labels = r->tree.class_count != 0 ? make_labels(&r->tree, r->path) : NULL;
    if (r->tree.class_count != 0 && records->labels == NULL)
        return false;
    move_classes(records->images, &r->tree);
    return true;
}

firn_host_images_result firn_host_images_read(firn_host_records *records, firn_host_stream *stream, const char *path,
                                              const firn_host_wanted *wanted) {
    reading r = {.wanted = wanted, .path = path};
    *records = (firn_host_records){0};
    firn_host_images_result result = firn_host_tree_read(&r.tree, stream, path);
    if (result == FIRN_HOST_IMAGES_READ && !read_all(&r, records)) {
        if (records->images != NULL)
            firn_host_file_close(records->images);
        *records = (firn_host_records){0};
        result = FIRN_HOST_IMAGES_REFUSED;
    }
    firn_host_tree_free(&r.tree);
    return result;
}
