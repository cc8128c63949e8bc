/* One image: what its header says, and its pixels as bytes. For the files of this folder. Each function that returns
 * bool prints one line before it returns false. */
#ifndef FIRN_HOST_PICTURE_H
#define FIRN_HOST_PICTURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct firn_host_picture {
    uint32_t width, height;
    uint32_t channels; /* 1: grey; 3: red, green, blue */
    uint8_t *pixels;   /* rows of pixels of channels; allocated. NULL: only the header was read */
} firn_host_picture;

typedef enum firn_host_picture_form {
    FIRN_HOST_PICTURE_NONE,
    FIRN_HOST_PICTURE_PNG,
    FIRN_HOST_PICTURE_JPEG
} firn_host_picture_form;

/* --- picture.c ---------------------------------------------------------------------------------------------------- */

/* Returns what a regular file is by its first bytes, whatever its name; NONE also for a file that cannot be read. */
firn_host_picture_form firn_host_picture_form_of(const char *path);
/* Reads an image file, or only its header. Free the pixels if it returns true. */
bool firn_host_picture_read(firn_host_picture *picture, const char *path, bool only_header);

/* --- limits.c ----------------------------------------------------------------------------------------------------- */

/* Refuses an image with more pixels than are read. */
bool firn_host_picture_check_size(const char *path, uint32_t width, uint32_t height);
/* Refuses an image that is stored turned or mirrored. exif: the metadata from "II" or "MM" on. */
bool firn_host_picture_check_orientation(const char *path, const uint8_t *exif, size_t count);

/* --- png.c, jpeg.c ------------------------------------------------------------------------------------------------ */

bool firn_host_png_read(firn_host_picture *picture, const char *path, const uint8_t *bytes, size_t count,
                        bool only_header);
bool firn_host_jpeg_read(firn_host_picture *picture, const char *path, const uint8_t *bytes, size_t count,
                         bool only_header);

/* --- resize.c ----------------------------------------------------------------------------------------------------- */

/* Brings a picture to another size by the average over the area of each new pixel, in integers. */
void firn_host_picture_resize(firn_host_picture *picture, uint32_t width, uint32_t height);

#endif
