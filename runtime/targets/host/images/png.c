/* Decodes PNG by libpng to 8 bits in each channel. No colours are converted: gamma and profiles have no effect. */
#include "runtime/targets/host/host.h"
#include "runtime/targets/host/images/picture.h"

#ifndef FIRN_PNG

bool firn_host_png_read(firn_host_picture *picture, const char *path, const uint8_t *bytes, size_t count,
                        bool only_header) {
    (void)picture;
    (void)bytes;
    (void)count;
    (void)only_header;
    return firn_host_fail(path,
                          "is a PNG image, and this firn was built without libpng; install the package libpng-dev "
                          "and build firn again");
}

#else

#    include <png.h>
#    include <stdlib.h>
#    include <string.h>

enum { MOST_FOR_A_BYTE = 1032 }; /* one byte of deflate becomes at most so many */

/* A file while it is decoded. Behind setjmp nothing else is kept in variables. */
typedef struct reading {
    const char *path;
    const uint8_t *bytes;
    size_t count, at;
    png_structp png;
    png_infop info;
    uint32_t width, height, channels; /* of the decoded pixels: 1 to 4, with alpha as the last of 2 and 4 */
    uint8_t *pixels;
    png_bytep *rows;
    char fault[100];
} reading;

static void stop(png_structp png, png_const_charp fault) {
    reading *r = png_get_error_ptr(png);
    snprintf(r->fault, sizeof r->fault, "%s", fault);
    png_longjmp(png, 1);
}

static void ignore(png_structp png, png_const_charp warning) {
    (void)png;
    (void)warning;
}

static void give_bytes(png_structp png, png_bytep to, size_t count) {
    reading *r = png_get_io_ptr(png);
    if (r->count - r->at < count)
        png_error(png, "it ends too early");
    memcpy(to, r->bytes + r->at, count);
    r->at += count;
}

/* Reads the header, and asks for bytes of grey or of colours in place of palettes and packed bits. */
static bool read_header(reading *r) {
    png_set_read_fn(r->png, r, give_bytes);
    png_read_info(r->png, r->info);
    r->width = png_get_image_width(r->png, r->info);
    r->height = png_get_image_height(r->png, r->info);
    if (!firn_host_picture_check_size(r->path, r->width, r->height))
        return false;
    if (png_get_bit_depth(r->png, r->info) == 16)
        return firn_host_fail(r->path,
                              "has 16 bits in each channel, and images are read as bytes; save it with 8 bits, as "
                              "`mogrify -depth 8` does");
    if ((uint64_t)png_get_rowbytes(r->png, r->info) * r->height / MOST_FOR_A_BYTE > r->count)
        return firn_host_fail(r->path,
                              "is a PNG image that was cut: %lu x %lu pixels cannot be in %zu bytes; copy it again",
                              (unsigned long)r->width, (unsigned long)r->height, r->count);
    png_set_expand(r->png);
    (void)png_set_interlace_handling(r->png);
    png_read_update_info(r->png, r->info);
    r->channels = png_get_channels(r->png, r->info);
    return true;
}

static bool read_pixels(reading *r) {
    const size_t row = (size_t)r->width * r->channels;
    png_bytep exif;
    png_uint_32 count = 0;
    r->pixels = firn_host_allocate(row * r->height);
    r->rows = firn_host_allocate(r->height * sizeof *r->rows);
    for (uint32_t y = 0; y < r->height; y++)
        r->rows[y] = r->pixels + y * row;
    png_read_image(r->png, r->rows);
    png_read_end(r->png, r->info);
    return png_get_eXIf_1(r->png, r->info, &count, &exif) == 0 ||
           firn_host_picture_check_orientation(r->path, exif, count);
}

static bool read_guarded(reading *r, bool only_header) {
    if (setjmp(png_jmpbuf(r->png)) != 0)
        return firn_host_fail(r->path, "is a PNG image that is cut or damaged (%s); copy it again", r->fault);
    return read_header(r) && (only_header || read_pixels(r));
}

/* Removes an alpha channel that hides nothing. */
static bool remove_alpha(reading *r) {
    const uint32_t kept = r->channels - 1;
    if (r->channels % 2 != 0)
        return true;
    for (size_t i = 0; i < (size_t)r->width * r->height; i++) {
        if (r->pixels[i * r->channels + kept] != 255)
            return firn_host_fail(r->path, "has transparent pixels, whose colour is not known; save it without, as "
                                           "`mogrify -background white -alpha remove` does");
        memmove(r->pixels + i * kept, r->pixels + i * r->channels, kept);
    }
    return true;
}

bool firn_host_png_read(firn_host_picture *picture, const char *path, const uint8_t *bytes, size_t count,
                        bool only_header) {
    reading r = {.path = path, .bytes = bytes, .count = count};
    r.png = png_create_read_struct(PNG_LIBPNG_VER_STRING, &r, stop, ignore);
    r.info = r.png != NULL ? png_create_info_struct(r.png) : NULL;
    bool read =
        r.info != NULL ? read_guarded(&r, only_header) : firn_host_fail(path, "libpng does not begin; %s", r.fault);
    read = read && (only_header || remove_alpha(&r));
    png_destroy_read_struct(&r.png, &r.info, NULL);
    free(r.rows);
    if (read)
        *picture = (firn_host_picture){r.width, r.height, r.channels < 3 ? 1 : 3, r.pixels};
    else
        free(r.pixels);
    return read;
}

#endif
