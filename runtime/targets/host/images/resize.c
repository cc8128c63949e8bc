/* Brings a picture to another size (picture.h). The filter is the average over the area that a new pixel covers: exact
 * in integers, so that every machine gets the same bytes. Proportions are not kept. */
#include <stdlib.h>

#include "runtime/targets/host/host.h"
#include "runtime/targets/host/images/picture.h"

/* Returns how much of [from, from + length) lies in [first, first + side). */
static uint64_t overlap(uint64_t from, uint64_t length, uint64_t first, uint64_t side) {
    const uint64_t begin = from > first ? from : first;
    const uint64_t end = from + length < first + side ? from + length : first + side;
    return end - begin;
}

/* Averages one channel over the area of a new pixel. One old pixel is width x height units large, a new one old width x
 * old height. */
static uint8_t average(const firn_host_picture *old, uint32_t width, uint32_t height, uint32_t x, uint32_t y,
                       uint32_t channel) {
    const uint64_t left = (uint64_t)x * old->width, top = (uint64_t)y * old->height;
    const uint64_t area = (uint64_t)old->width * old->height;
    uint64_t sum = 0;
    for (uint64_t v = top / height; v * height < top + old->height; v++)
        for (uint64_t u = left / width; u * width < left + old->width; u++)
            sum += overlap(v * height, height, top, old->height) * overlap(u * width, width, left, old->width) *
                   old->pixels[(v * old->width + u) * old->channels + channel];
    return (uint8_t)((2 * sum + area) / (2 * area));
}

void firn_host_picture_resize(firn_host_picture *picture, uint32_t width, uint32_t height) {
    const uint32_t channels = picture->channels;
    if ((picture->width == width && picture->height == height) || picture->width == 0 || picture->height == 0)
        return;
    uint8_t *pixels = firn_host_allocate((size_t)width * height * channels), *to = pixels;
    for (uint32_t y = 0; y < height; y++)
        for (uint32_t x = 0; x < width; x++)
            for (uint32_t c = 0; c < channels; c++)
                *to++ = average(picture, width, height, x, y, c);
    free(picture->pixels);
    *picture = (firn_host_picture){width, height, channels, pixels};
}
