/* What no image may have, whatever its form (picture.h): too many pixels, and an orientation. */
#include <string.h>

#include "runtime/targets/host/host.h"
#include "runtime/targets/host/images/picture.h"

#define PIXELS_MOST (UINT64_C(1) << 28)

enum { ORIENTATION_TAG = 0x0112, ENTRY_BYTES = 12 };

bool firn_host_picture_check_size(const char *path, uint32_t width, uint32_t height) {
    if (width != 0 && height != 0 && (uint64_t)width * height <= PIXELS_MOST)
        return true;
    return firn_host_fail(path,
                          "is an image of %lu x %lu pixels, and those of 1 to %llu pixels are read; save it smaller",
                          (unsigned long)width, (unsigned long)height, (unsigned long long)PIXELS_MOST);
}

/* --- orientation -------------------------------------------------------------------------------------------------- */

static uint32_t number(const uint8_t *bytes, uint32_t count, bool little) {
    uint32_t value = 0;
    for (uint32_t i = 0; i < count; i++)
        value = value << 8 | bytes[little ? count - 1 - i : i];
    return value;
}

/* Finds the orientation in Exif metadata, which are a TIFF file: 1 is upright, and so is what cannot be understood. */
static uint32_t orientation_of(const uint8_t *exif, size_t count) {
    if (count < 8 || (memcmp(exif, "II*\0", 4) != 0 && memcmp(exif, "MM\0*", 4) != 0))
        return 1;
    const bool little = exif[0] == 'I';
    const size_t at = number(exif + 4, 4, little);
    if (at > count || count - at < 2)
        return 1;
    const uint32_t entries = number(exif + at, 2, little);
    for (uint32_t i = 0; i < entries && i < (count - at - 2) / ENTRY_BYTES; i++) {
        const uint8_t *entry = exif + at + 2 + (size_t)i * ENTRY_BYTES;
        const uint32_t value = number(entry + 8, 2, little);
        if (number(entry, 2, little) == ORIENTATION_TAG)
            return value >= 1 && value <= 8 ? value : 1;
    }
    return 1;
}

bool firn_host_picture_check_orientation(const char *path, const uint8_t *exif, size_t count) {
    const uint32_t orientation = orientation_of(exif, count);
    if (orientation == 1)
        return true;
    return firn_host_fail(path,
                          "is stored turned or mirrored (Exif orientation %lu), and its pixels would be read as they "
                          "are stored; save it upright, as `mogrify -auto-orient` does",
                          (unsigned long)orientation);
}
