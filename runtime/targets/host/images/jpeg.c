/* Decodes JPEG by libjpeg: with the slow integer inverse transform, chroma repeated and not interpolated, and without
 * smoothing of blocks, so that libjpeg and libjpeg-turbo give the same bytes. */
#include "runtime/targets/host/host.h"
#include "runtime/targets/host/images/picture.h"

#ifndef FIRN_JPEG

bool firn_host_jpeg_read(firn_host_picture *picture, const char *path, const uint8_t *bytes, size_t count,
                         bool only_header) {
    (void)picture;
    (void)bytes;
    (void)count;
    (void)only_header;
    return firn_host_fail(path, "is a JPEG image, and this firn was built without libjpeg; install the package "
                                "libjpeg62-turbo-dev and build firn again");
}

#else

#    include <stdio.h>

#    include <jpeglib.h>
#    include <setjmp.h>
#    include <stdlib.h>
#    include <string.h>

enum {
    SCANS_MOST = 200, /* a hostile file has many, each of which takes as long as the whole image */
    EXIF_MARKER = JPEG_APP0 + 1,
    MARKER_BYTES = 0xffff
};

/* A file while it is decoded. Behind setjmp nothing else is kept in variables. */
typedef struct reading {
    struct jpeg_decompress_struct jpeg;
    struct jpeg_error_mgr errors;
    struct jpeg_progress_mgr progress;
    jmp_buf way_out;
    const char *path;
    uint8_t *pixels;
    char fault[JMSG_LENGTH_MAX];
} reading;

static void stop(j_common_ptr jpeg) {
    reading *r = jpeg->client_data;
    jpeg->err->format_message(jpeg, r->fault);
    longjmp(r->way_out, 1);
}

/* libjpeg goes on after a warning, with grey in place of what is missing. */
static void take_message(j_common_ptr jpeg, int level) {
    if (level < 0)
        stop(jpeg);
}

static void take_progress(j_common_ptr jpeg) {
    reading *r = jpeg->client_data;
    if (r->jpeg.input_scan_number <= SCANS_MOST)
        return;
    snprintf(r->fault, sizeof r->fault, "more than %d scans", SCANS_MOST);
    longjmp(r->way_out, 1);
}

static bool check_orientation(const reading *r) {
    static const char begin[] = "Exif\0"; /* and the zero behind it */
    for (jpeg_saved_marker_ptr marker = r->jpeg.marker_list; marker != NULL; marker = marker->next)
        if (marker->marker == EXIF_MARKER && marker->data_length > sizeof begin &&
            memcmp(marker->data, begin, sizeof begin) == 0 &&
            !firn_host_picture_check_orientation(r->path, marker->data + sizeof begin,
                                                 marker->data_length - sizeof begin))
            return false;
    return true;
}

static bool read_header(reading *r, const uint8_t *bytes, size_t count) {
    jpeg_mem_src(&r->jpeg, bytes, count);
    jpeg_save_markers(&r->jpeg, EXIF_MARKER, MARKER_BYTES);
    jpeg_read_header(&r->jpeg, TRUE);
    const J_COLOR_SPACE colours = r->jpeg.jpeg_color_space;
    if (colours == JCS_CMYK || colours == JCS_YCCK)
        return firn_host_fail(r->path,
                              "is a JPEG image of four inks (CMYK), whose colours are not known; save it as RGB, as "
                              "`mogrify -colorspace sRGB` does");
    if (colours != JCS_GRAYSCALE && colours != JCS_YCbCr && colours != JCS_RGB)
        return firn_host_fail(r->path, "is a JPEG image of %d channels without a meaning; save it as RGB",
                              r->jpeg.num_components);
    return firn_host_picture_check_size(r->path, r->jpeg.image_width, r->jpeg.image_height) && check_orientation(r);
}

static bool read_pixels(reading *r) {
    struct jpeg_decompress_struct *jpeg = &r->jpeg;
    jpeg->out_color_space = jpeg->jpeg_color_space == JCS_GRAYSCALE ? JCS_GRAYSCALE : JCS_RGB;
    jpeg->dct_method = JDCT_ISLOW;
    jpeg->do_fancy_upsampling = FALSE;
    jpeg->do_block_smoothing = FALSE;
    jpeg_start_decompress(jpeg);
    const size_t row = (size_t)jpeg->output_width * (size_t)jpeg->output_components;
    r->pixels = firn_host_allocate(row * jpeg->output_height);
    while (jpeg->output_scanline < jpeg->output_height) {
        JSAMPROW at = r->pixels + jpeg->output_scanline * row;
        jpeg_read_scanlines(jpeg, &at, 1);
    }
    jpeg_finish_decompress(jpeg);
    return true;
}

static bool read_guarded(reading *r, const uint8_t *bytes, size_t count, bool only_header) {
    if (setjmp(r->way_out) != 0)
        return firn_host_fail(r->path,
                              "is a JPEG image that is cut, damaged or of a kind that is not read (%s); save or "
                              "copy it again",
                              r->fault);
    jpeg_create_decompress(&r->jpeg);
    r->jpeg.client_data = r;
    r->jpeg.progress = &r->progress;
    return read_header(r, bytes, count) && (only_header || read_pixels(r));
}

bool firn_host_jpeg_read(firn_host_picture *picture, const char *path, const uint8_t *bytes, size_t count,
                         bool only_header) {
    reading r = {.path = path, .progress.progress_monitor = take_progress};
    r.jpeg.err = jpeg_std_error(&r.errors);
    r.jpeg.client_data = &r;
    r.errors.error_exit = stop;
    r.errors.emit_message = take_message;
    const bool read = read_guarded(&r, bytes, count, only_header);
    if (read)
        *picture = (firn_host_picture){r.jpeg.image_width, r.jpeg.image_height,
                                       r.jpeg.jpeg_color_space == JCS_GRAYSCALE ? 1 : 3, r.pixels};
    else
        free(r.pixels);
    jpeg_destroy_decompress(&r.jpeg);
    return read;
}

#endif
