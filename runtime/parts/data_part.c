/* The part of the data that a plan reads: all, what is trained on, or the end of each segment, which is held out for
 * evaluations. A firmware whose plans read all data is linked with firn_all_data alone. */
#include "plan/divide.h"
#include "runtime/instance.h"
#include "runtime/parts.h"

firn_span firn_all_data(const firn_instance *instance, uint64_t length) {
    (void)instance;
    return (firn_span){0, length};
}

/* floor(length * per_mille / 1000), without overflow. */
static uint64_t held_out(uint64_t length, uint32_t per_mille) {
    uint64_t rest;
    const uint64_t thousands = firn_divide(length, 1000, &rest);
    return thousands * per_mille + (uint32_t)rest * per_mille / 1000;
}

firn_span firn_held_out_data(const firn_instance *instance, uint64_t length) {
    const firn_fb_sampler sampler = firn_fb_plan_sampler(instance->plan);
    const uint64_t tail = held_out(length, firn_fb_sampler_held_out_per_mille(sampler));
    return (firn_span){length - tail, tail};
}

firn_span firn_part_of_data(const firn_instance *instance, uint64_t length) {
    const firn_fb_sampler sampler = firn_fb_plan_sampler(instance->plan);
    const uint8_t part = firn_fb_sampler_part(sampler);
    if (part == FIRN_FB_DATA_PART_ALL)
        return (firn_span){0, length};
    const uint64_t tail = held_out(length, firn_fb_sampler_held_out_per_mille(sampler));
    return part == FIRN_FB_DATA_PART_TRAIN ? (firn_span){0, length - tail} : (firn_span){length - tail, tail};
}
