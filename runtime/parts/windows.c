/* Samples that are windows of elements, one every `stride` elements of a segment: how many there are, and where each
 * begins. A firmware whose plans sample records is linked without this file. Nothing here reads an element. */
#include "plan/divide.h"
#include "runtime/instance.h"
#include "runtime/parts.h"

/* The windows of a part of a segment. */
static uint64_t windows_of(firn_fb_sampler sampler, firn_span part) {
    const uint32_t window = firn_fb_sampler_window(sampler), stride = firn_fb_sampler_stride(sampler);
    return part.length < window || stride == 0 ? 0 : firn_divide(part.length - window, stride, NULL) + 1;
}

static uint64_t count(const firn_instance *instance, const firn_stream *stream, firn_data_part_rule part_of) {
    const firn_fb_sampler sampler = firn_fb_plan_sampler(instance->plan);
    uint64_t windows = 0;
    for (uint32_t i = 0; i < stream->segment_count; i++)
        windows += windows_of(sampler, part_of(instance, stream->segments[i].elements));
    return windows;
}

static uint64_t place(const firn_instance *instance, const firn_stream *stream, firn_data_part_rule part_of,
                      uint64_t index) {
    const firn_fb_sampler sampler = firn_fb_plan_sampler(instance->plan);
    uint64_t before = 0; /* elements of the segments before this one */
    for (uint32_t i = 0; i < stream->segment_count; i++) {
        const firn_span part = part_of(instance, stream->segments[i].elements);
        const uint64_t windows = windows_of(sampler, part);
        if (index < windows)
            return before + part.first + index * firn_fb_sampler_stride(sampler);
        index -= windows;
        before += stream->segments[i].elements;
    }
    return before; /* not reached: index is less than the sum of the windows */
}

const firn_windows_part firn_windows_of_segments = {count, place};
