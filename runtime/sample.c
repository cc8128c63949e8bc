/* The sampler and the inputs: which sample each draw selects, and how its elements become tensors. A source is not
 * trusted: its types, lengths and values are checked here and only here. Only input tensors are written. */
#include <string.h>

#include "plan/divide.h"
#include "runtime/instance.h"
#include "runtime/numerics/numerics.h"

/* Elements that are converted at once. */
#define PIECE 256u

/* --- the part of the data that the plan reads --- */

/* floor(elements * per_mille / 1000), without overflow. */
static uint64_t held_out(uint64_t elements, uint32_t per_mille) {
    uint64_t rest;
    const uint64_t thousands = firn_divide(elements, 1000, &rest);
    return thousands * per_mille + (uint32_t)rest * per_mille / 1000;
}

/* A part of a segment: its first element and its length. */
typedef struct span {
    uint64_t first, length;
} span;

static span part_of(const firn_bound_sampler *sampler, uint64_t elements) {
    uint64_t tail = held_out(elements, sampler->held_out_per_mille);
    switch (sampler->part) {
    case FIRN_FB_DATA_PART_TRAIN:
        return (span){0, elements - tail};
    case FIRN_FB_DATA_PART_HELD_OUT:
        return (span){elements - tail, tail};
    default:
        return (span){0, elements};
    }
}

static uint64_t windows_of(const firn_bound_sampler *sampler, uint64_t length) {
    uint64_t window = sampler->window, stride = sampler->stride;
    return length < window || stride == 0 ? 0 : firn_divide(length - window, stride, NULL) + 1;
}

/* Sums the elements of all segments. Returns false if the sum exceeds the possible number of elements. */
static bool stream_elements(const firn_stream *stream, uint64_t *elements) {
    *elements = 0;
    for (uint32_t i = 0; i < stream->segment_count; i++) {
        if (stream->segments[i].elements > (UINT64_C(1) << 62) - *elements)
            return false;
        *elements += stream->segments[i].elements;
    }
    return true;
}

/* --- checking a source --- */

static int check_input(const firn_source *source, const firn_bound_input *input, uint64_t record) {
    if (input->stream >= source->stream_count)
        return FIRN_ERROR_DATA_TYPE;
    const firn_stream *stream = &source->streams[input->stream];
    if (stream->element != input->element)
        return FIRN_ERROR_DATA_TYPE;
    return stream->record_elements == record ? FIRN_OK : FIRN_ERROR_DATA_TYPE;
}

static int check_stream(const firn_stream *stream) {
    if (stream->segments == NULL || stream->segment_count == 0 || stream->record_elements == 0)
        return FIRN_ERROR_ARGUMENT;
    uint64_t elements;
    if (!stream_elements(stream, &elements))
        return FIRN_ERROR_SOURCE;
    uint64_t rest;
    firn_divide(elements, stream->record_elements, &rest);
    return rest == 0 ? FIRN_OK : FIRN_ERROR_DATA_TYPE;
}

static int check_source(const firn_instance *instance, const firn_source *source) {
    if (source == NULL || source->streams == NULL || source->stream_count == 0 || source->read == NULL)
        return FIRN_ERROR_ARGUMENT;
    for (uint32_t i = 0; i < source->stream_count; i++) {
        int status = check_stream(&source->streams[i]);
        if (status != FIRN_OK)
            return status;
    }
    for (uint32_t i = 0; i < firn_fb_plan_inputs_count(instance->plan); i++) {
        const firn_bound_input input = firn_bind_input(instance, i);
        uint64_t record = instance->bound.sampler.records ? input.elements : 1;
        int status = check_input(source, &input, record);
        if (status != FIRN_OK)
            return status;
    }
    return FIRN_OK;
}

static uint64_t stream_records(const firn_stream *stream) {
    uint64_t elements = 0;
    (void)stream_elements(stream, &elements); /* it cannot fail: the stream has been checked */
    return firn_divide(elements, stream->record_elements, NULL);
}

/* Counts the samples of the part: records of stream 0, or windows of its segments. */
static uint64_t count_samples(const firn_bound_sampler *sampler, const firn_source *source) {
    if (sampler->records)
        return part_of(sampler, stream_records(&source->streams[0])).length;
    uint64_t count = 0;
    for (uint32_t i = 0; i < source->streams[0].segment_count; i++)
        count += windows_of(sampler, part_of(sampler, source->streams[0].segments[i].elements).length);
    return count;
}

int firn_samples_begin(const firn_instance *instance, const firn_source *source, firn_samples *samples) {
    *samples = (firn_samples){.source = source};
    const bool pushed = instance->bound.pushed != NULL;
    if (pushed && source != NULL)
        return FIRN_ERROR_ARGUMENT;
    if (pushed)
        firn_ring_begin(instance, samples);
    int status = pushed ? FIRN_OK : check_source(instance, source);
    if (status != FIRN_OK)
        return status;
    const firn_bound_sampler *sampler = &instance->bound.sampler;
    if (sampler->records && !pushed) /* every stream has the same number of records */
        for (uint32_t i = 1; i < source->stream_count; i++)
            if (stream_records(&source->streams[i]) != stream_records(&source->streams[0]))
                return FIRN_ERROR_DATA_TYPE;
    samples->count = count_samples(sampler, samples->source);
    if (samples->count >= sampler->samples)
        return FIRN_OK;
    return pushed ? FIRN_ERROR_NOT_ENOUGH_PUSHED : FIRN_ERROR_DATA_TOO_SHORT;
}

/* --- where a sample lies --- */

/* Returns the position of sample `index` of the part: its first element in stream 0 (window) or its record. */
static uint64_t place_of(const firn_bound_sampler *sampler, const firn_samples *samples, uint64_t index) {
    const firn_stream *stream = &samples->source->streams[0];
    if (sampler->records)
        return part_of(sampler, stream_records(stream)).first + index;
    uint64_t before = 0; /* elements of the segments before this one */
    for (uint32_t i = 0; i < stream->segment_count; i++) {
        span part = part_of(sampler, stream->segments[i].elements);
        uint64_t windows = windows_of(sampler, part.length);
        if (index < windows)
            return before + part.first + index * sampler->stride;
        index -= windows;
        before += stream->segments[i].elements;
    }
    return before; /* not reached: index is less than the sum of the windows */
}

/* Returns the position of the sample that draw number `draw` selects. */
static uint64_t place_of_draw(const firn_bound_sampler *sampler, const firn_samples *samples, uint64_t draw) {
    uint64_t index;
    const uint64_t epoch = firn_divide(draw, samples->count, &index);
    if (sampler->kind == FIRN_FB_SAMPLER_KIND_PERMUTATION)
        index = firn_permute(sampler->seed, epoch, samples->count, index);
    return place_of(sampler, samples, index);
}

/* --- from elements to tensors --- */

/* Returns element i, little-endian, of an integer type or bool. */
static int32_t integer_at(uint8_t type, const uint8_t *elements, uint32_t i) {
    uint16_t half;
    int32_t value;
    switch (type) {
    case FIRN_FB_ELEMENT_TYPE_INT8:
        return elements[i] < 0x80 ? elements[i] : elements[i] - 0x100;
    case FIRN_FB_ELEMENT_TYPE_UINT16:
    case FIRN_FB_ELEMENT_TYPE_INT16:
        memcpy(&half, elements + (size_t)2 * i, sizeof half);
        return type == FIRN_FB_ELEMENT_TYPE_UINT16 || half < 0x8000 ? half : half - 0x10000;
    case FIRN_FB_ELEMENT_TYPE_INT32:
        memcpy(&value, elements + (size_t)4 * i, sizeof value);
        return value;
    default:
        return elements[i];
    }
}

/* Copies integers and checks them against the plan's limit. */
static int convert_integers(const firn_bound_input *input, const uint8_t *elements, uint32_t count, int32_t *out) {
    for (uint32_t i = 0; i < count; i++) {
        const int32_t value = integer_at(input->element, elements, i);
        if (value < 0 || (uint32_t)value >= input->limit)
            return FIRN_ERROR_DATA_RANGE;
        out[i] = value;
    }
    return FIRN_OK;
}

static void copy_floats(const uint8_t *elements, uint32_t count, float *restrict out) {
    firn_nan_watch watch = 0;
    memcpy(out, elements, count * sizeof *out);
    for (uint32_t i = 0; i < count; i++)
        watch = firn_watch(watch, out[i]);
    if (firn_may_have_nan(watch))
        firn_canonical_many(out, count);
}

/* Computes fma(element, scale, shift). If the shift is 0 only the product rounds, so a multiplication gives the same
 * bits and saves a call on hosts where fma is a function. */
static void scale_bytes(const firn_bound_input *input, const uint8_t *elements, uint32_t count, float *restrict out) {
    const float scale = input->scale, shift = input->shift;
    firn_nan_watch watch = 0;
    if (shift == 0)
        for (uint32_t i = 0; i < count; i++) {
            out[i] = (float)elements[i] * scale + shift;
            watch = firn_watch(watch, out[i]);
        }
    else
        for (uint32_t i = 0; i < count; i++) {
            out[i] = firn_fma((float)elements[i], scale, shift);
            watch = firn_watch(watch, out[i]);
        }
    if (firn_may_have_nan(watch))
        firn_canonical_many(out, count);
}

/* The same for the other integer types, which float32 holds exactly. */
static void scale_integers(const firn_bound_input *input, const uint8_t *elements, uint32_t count, float *out) {
    for (uint32_t i = 0; i < count; i++)
        out[i] = firn_canonical(firn_fma((float)integer_at(input->element, elements, i), input->scale, input->shift));
}

static int convert(const firn_bound_input *input, const uint8_t *elements, uint32_t count, void *out) {
    if (input->limit != 0)
        return convert_integers(input, elements, count, out);
    if (input->element == FIRN_FB_ELEMENT_TYPE_FLOAT32)
        copy_floats(elements, count, out);
    else if (input->element == FIRN_FB_ELEMENT_TYPE_UINT8)
        scale_bytes(input, elements, count, out);
    else
        scale_integers(input, elements, count, out);
    return FIRN_OK;
}

/* Copies the elements of one sample to its position in the input tensor. */
static int fill_sample(const firn_bound_input *input, const firn_source *source, uint64_t first, uint32_t sample) {
    _Alignas(16) uint8_t elements[4 * PIECE];
    uint64_t count = input->elements;
    uint8_t *out = input->data + (size_t)(4 * count * sample);
    for (uint64_t at = 0; at < count;) {
        uint32_t piece = count - at < PIECE ? (uint32_t)(count - at) : PIECE;
        if (source->read(source->context, input->stream, first + at, piece, elements) != 0)
            return FIRN_ERROR_SOURCE;
        int status = convert(input, elements, piece, out + (size_t)(4 * at));
        if (status != FIRN_OK)
            return status;
        at += piece;
    }
    return FIRN_OK;
}

/* Returns true if the draws [cursor, cursor + samples) lie in the single epoch of a plan that stops at its end. */
static bool epoch_has(const firn_samples *samples, uint64_t cursor, uint32_t wanted) {
    return cursor <= samples->count && samples->count - cursor >= wanted;
}

int firn_samples_fill(const firn_instance *instance, const firn_samples *samples, uint64_t cursor) {
    const firn_bound_sampler *sampler = &instance->bound.sampler;
    uint32_t wanted = sampler->samples;
    if (sampler->stops && !epoch_has(samples, cursor, wanted))
        return FIRN_ERROR_DATA_END;
    for (uint32_t s = 0; s < wanted; s++) {
        const uint64_t place = place_of_draw(sampler, samples, cursor + s);
        for (uint32_t i = 0; i < firn_fb_plan_inputs_count(instance->plan); i++) {
            const firn_bound_input input = firn_bind_input(instance, i);
            const uint64_t unit = sampler->records ? input.elements : 1;
            int status = fill_sample(&input, samples->source, place * unit + input.advance, s);
            if (status != FIRN_OK)
                return status;
        }
    }
    return FIRN_OK;
}
