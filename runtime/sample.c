/* The sampler and the inputs: which sample each draw selects, and how its elements become tensors. A source is not
 * trusted: its types, lengths and values are checked here and only here. Only input tensors are written. */
#define FIRN_FB_INLINE /* plan/access.h */
#include <string.h>

#include "plan/divide.h"
#include "runtime/instance.h"
#include "runtime/numerics/numerics.h"
#include "runtime/parts.h"

/* Elements that are converted at once. */
#define PIECE 256u

/* --- checking a source --- */

/* Counts the records of a stream. */
static int count_records(const firn_stream *stream, uint64_t *records) {
    if (stream->segments == NULL || stream->segment_count == 0 || stream->record_elements == 0)
        return FIRN_ERROR_ARGUMENT;
    uint64_t elements = 0, rest;
    for (uint32_t i = 0; i < stream->segment_count; i++) {
        if (stream->segments[i].elements > (UINT64_C(1) << 62) - elements)
            return FIRN_ERROR_SOURCE;
        elements += stream->segments[i].elements;
    }
    *records = firn_divide(elements, stream->record_elements, &rest);
    return rest == 0 ? FIRN_OK : FIRN_ERROR_DATA_TYPE;
}

/* Counts the records of stream 0. Where a sample is a record, every stream has the same number of them. */
static int check_streams(const firn_source *source, bool same, uint64_t *records) {
    for (uint32_t i = 0; i < source->stream_count; i++) {
        uint64_t count;
        const int status = count_records(&source->streams[i], &count);
        if (status != FIRN_OK)
            return status;
        if (i == 0)
            *records = count;
        else if (same && count != *records)
            return FIRN_ERROR_DATA_TYPE;
    }
    return FIRN_OK;
}

/* Checks a source, and counts the records of stream 0. */
static int check_source(const firn_instance *instance, const firn_source *source, uint64_t *records) {
    if (source == NULL || source->streams == NULL || source->stream_count == 0 || source->read == NULL)
        return FIRN_ERROR_ARGUMENT;
    const int status = check_streams(source, instance->bound.records, records);
    if (status != FIRN_OK)
        return status;
    for (uint32_t i = 0; i < instance->bound.inputs; i++) {
        firn_bound_input room;
        const firn_bound_input *input = firn_bound_input_at(instance, i, &room);
        if (input->stream >= source->stream_count)
            return FIRN_ERROR_DATA_TYPE;
        const firn_stream *stream = &source->streams[input->stream];
        if (stream->element != input->element || stream->record_elements != input->record)
            return FIRN_ERROR_DATA_TYPE;
    }
    return FIRN_OK;
}

/* Whether samples are windows of the segments. A build without windows opens no plan that has them. */
static bool has_windows(const firn_instance *instance) {
    return firn_windows != NULL && !instance->bound.records;
}

/* Counts the samples of the part: of the records of stream 0, or windows of its segments. */
static void count_samples(const firn_instance *instance, uint64_t records, firn_samples *samples) {
    if (has_windows(instance)) {
        samples->count = firn_windows->count(instance, samples->source->streams, firn_data_part);
        return;
    }
    const firn_span part = firn_data_part(instance, records);
    samples->first = part.first;
    samples->count = part.length;
}

int firn_samples_begin(const firn_instance *instance, const firn_source *source, firn_samples *samples) {
    const bool pushed = instance->bound.pushed != NULL;
    uint64_t records = 0;
    if (pushed && source != NULL)
        return FIRN_ERROR_ARGUMENT;
    samples->source = source;
    if (pushed)
        firn_ring_begin(instance, samples);
    const int status =
        pushed ? count_records(samples->source->streams, &records) : check_source(instance, source, &records);
    if (status != FIRN_OK)
        return status;
    count_samples(instance, records, samples);
    if (samples->count >= instance->bound.samples)
        return FIRN_OK;
    return pushed ? FIRN_ERROR_NOT_ENOUGH_PUSHED : FIRN_ERROR_DATA_TOO_SHORT;
}

/* --- where a sample lies --- */

/* Returns the position of the sample that draw number `draw` selects: its record, or its first element in stream 0. */
static uint64_t place_of_draw(const firn_instance *instance, const firn_samples *samples, uint64_t draw) {
    const firn_fb_sampler sampler = firn_fb_plan_sampler(instance->plan);
    uint64_t index;
    const uint64_t epoch = firn_divide(draw, samples->count, &index);
    if (firn_fb_sampler_kind(sampler) == FIRN_FB_SAMPLER_KIND_PERMUTATION)
        index = firn_permute(firn_fb_sampler_seed(sampler), epoch, samples->count, index);
    return has_windows(instance) ? firn_windows->place(instance, samples->source->streams, firn_data_part, index)
                                 : samples->first + index;
}

/* --- from elements to tensors --- */

/* Returns element i, little-endian, of an integer type or bool. */
static int32_t integer_at(uint8_t type, const uint8_t *elements, uint32_t i) {
    int8_t byte;
    int16_t half;
    uint16_t unsigned_half;
    int32_t value;
    switch (type) {
    case FIRN_FB_ELEMENT_TYPE_INT8:
        memcpy(&byte, elements + i, sizeof byte);
        return byte;
    case FIRN_FB_ELEMENT_TYPE_UINT16:
        memcpy(&unsigned_half, elements + (size_t)2 * i, sizeof unsigned_half);
        return unsigned_half;
    case FIRN_FB_ELEMENT_TYPE_INT16:
        memcpy(&half, elements + (size_t)2 * i, sizeof half);
        return half;
    case FIRN_FB_ELEMENT_TYPE_INT32:
        memcpy(&value, elements + (size_t)4 * i, sizeof value);
        return value;
    default:
        return elements[i];
    }
}

/* Converts elements of any type: an integer below the plan's limit, a float32, or fma(element, scale, shift), as
 * float32 holds the other types exactly. */
static int convert_each(const firn_bound_input *input, const uint8_t *elements, uint32_t count, uint8_t *out) {
    for (uint32_t i = 0; i < count; i++, out += 4) {
        const int32_t integer = integer_at(input->element, elements, i);
        float real;
        if (input->limit != 0) {
            if (integer < 0 || (uint32_t)integer >= input->limit)
                return FIRN_ERROR_DATA_RANGE;
            memcpy(out, &integer, sizeof integer);
            continue;
        }
        if (input->element == FIRN_FB_ELEMENT_TYPE_FLOAT32)
            memcpy(&real, elements + (size_t)4 * i, sizeof real);
        else
            real = firn_fma((float)integer, input->scale, input->shift);
        real = firn_canonical(real);
        memcpy(out, &real, sizeof real);
    }
    return FIRN_OK;
}

/* The same for types that most data has, in loops for vectors. */

static void copy_floats(const uint8_t *elements, uint32_t count, float *restrict out) {
    firn_nan_watch watch = 0;
    memcpy(out, elements, count * sizeof *out);
    for (uint32_t i = 0; i < count; i++)
        watch = firn_watch(watch, out[i]);
    if (firn_may_have_nan(watch))
        firn_canonical_many(out, count);
}

/* Computes fma(element, scale, shift). If the shift is 0 only the product rounds, so a multiplication gives the same
 * bits and saves a call on hosts where fma is a function. Scale and shift are finite, as the schema demands, so no
 * result is a NaN, also where one overflows. */
static void scale_bytes(const firn_bound_input *input, const uint8_t *elements, uint32_t count, float *restrict out) {
    const float scale = input->scale, shift = input->shift;
    if (shift == 0)
        for (uint32_t i = 0; i < count; i++)
            out[i] = (float)elements[i] * scale + shift;
    else
        for (uint32_t i = 0; i < count; i++)
            out[i] = firn_fma((float)elements[i], scale, shift);
}

static int convert(const firn_bound_input *input, const uint8_t *elements, uint32_t count, void *out) {
    if (FIRN_SMALL || input->limit != 0 ||
        (input->element != FIRN_FB_ELEMENT_TYPE_FLOAT32 && input->element != FIRN_FB_ELEMENT_TYPE_UINT8))
        return convert_each(input, elements, count, out);
    if (input->element == FIRN_FB_ELEMENT_TYPE_FLOAT32)
        copy_floats(elements, count, out);
    else
        scale_bytes(input, elements, count, out);
    return FIRN_OK;
}

/* Copies the elements of one sample to its position in the input tensor. */
static int fill_sample(const firn_bound_input *input, const firn_source *source, uint64_t first, uint32_t sample) {
    _Alignas(8) uint8_t elements[4 * PIECE];
    uint8_t *out = input->data + 4 * input->elements * sample;
    for (size_t left = input->elements; left != 0;) {
        const uint32_t piece = left < PIECE ? (uint32_t)left : PIECE;
        if (source->read(source->context, input->stream, first, piece, elements) != 0)
            return FIRN_ERROR_SOURCE;
        const int status = convert(input, elements, piece, out);
        if (status != FIRN_OK)
            return status;
        first += piece;
        out += (size_t)4 * piece;
        left -= piece;
    }
    return FIRN_OK;
}

int firn_samples_fill(const firn_instance *instance, const firn_samples *samples, uint64_t cursor) {
    const uint32_t wanted = instance->bound.samples;
    const bool stops = firn_fb_sampler_epoch_end(firn_fb_plan_sampler(instance->plan)) == FIRN_FB_EPOCH_END_STOP;
    if (stops && cursor > samples->count - wanted) /* the single epoch has no batch more */
        return FIRN_ERROR_DATA_END;
    for (uint32_t s = 0; s < wanted; s++) {
        const uint64_t place = place_of_draw(instance, samples, cursor + s);
        for (uint32_t i = 0; i < instance->bound.inputs; i++) {
            firn_bound_input room;
            const firn_bound_input *input = firn_bound_input_at(instance, i, &room);
            const int status = fill_sample(input, samples->source, place * input->record + input->advance, s);
            if (status != FIRN_OK)
                return status;
        }
    }
    return FIRN_OK;
}
