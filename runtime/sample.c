/* The sampler and the inputs: which sample each draw selects, and how its elements become tensors. A source is not
 * trusted: its types, lengths and values are checked here and only here. Only input tensors are written, and what one
 * of them is cast to. */
#define FIRN_FB_INLINE /* plan/access.h */
#include <string.h>

#include "plan/divide.h"
#include "runtime/instance.h"
#include "runtime/numerics/numerics.h"
#include "runtime/parts.h"

/* Elements that are converted at once. */
#define PIECE 256u

/* Of a build with vectors: samples that are read before they are converted, at most, and draws whose places are
 * computed in one task. A task computes its draws in the lanes of registers, of which some are idle towards its end: it
 * must have many draws. */
#define BATCH 256u
#define DRAWS 64u

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
    const uint32_t least = firn_samples_may_be_short(instance) ? 1 : instance->bound.samples;
    if (samples->count >= least)
        return FIRN_OK;
    return pushed ? FIRN_ERROR_NOT_ENOUGH_PUSHED : FIRN_ERROR_DATA_TOO_SHORT;
}

uint64_t firn_samples_in(const firn_instance *instance, const firn_source *source,
                         firn_span (*part_of)(const firn_instance *instance, uint64_t length)) {
    if (has_windows(instance))
        return firn_windows->count(instance, source->streams, part_of);
    uint64_t records = 0;
    (void)!count_records(&source->streams[0], &records);
    return part_of(instance, records).length;
}

/* --- where a sample lies --- */

/* Returns the position of sample number `index` of the part: its record, or its first element in stream 0. */
static uint64_t place_of(const firn_instance *instance, const firn_samples *samples, uint64_t index) {
    return has_windows(instance) ? firn_windows->place(instance, samples->source->streams, firn_data_part, index)
                                 : samples->first + index;
}

/* Returns the position of the sample that draw number `draw` selects. In a batch that may be short, the last sample of
 * the data stands in the place of those that are missing. */
static uint64_t place_of_draw(const firn_instance *instance, const firn_samples *samples, uint64_t draw) {
    const firn_fb_sampler sampler = firn_fb_plan_sampler(instance->plan);
    uint64_t index;
    if (firn_samples_may_be_short(instance) && draw >= samples->count)
        draw = samples->count - 1;
    const uint64_t epoch = firn_divide(draw, samples->count, &index);
    if (firn_fb_sampler_kind(sampler) == FIRN_FB_SAMPLER_KIND_PERMUTATION)
        index = firn_permute(firn_fb_sampler_seed(sampler), epoch, samples->count, index);
    return place_of(instance, samples, index);
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

/* Whether these loops convert an input. */
static bool has_loop(const firn_bound_input *input) {
    return !FIRN_SMALL && input->limit == 0 &&
           (input->element == FIRN_FB_ELEMENT_TYPE_FLOAT32 || input->element == FIRN_FB_ELEMENT_TYPE_UINT8);
}

static void convert_in_loop(const firn_bound_input *input, const uint8_t *elements, uint32_t count, void *out) {
    if (input->element == FIRN_FB_ELEMENT_TYPE_FLOAT32)
        copy_floats(elements, count, out);
    else
        firn_scale_bytes(elements, count, input->scale, input->shift, out);
}

static int convert(const firn_bound_input *input, const uint8_t *elements, uint32_t count, void *out) {
    if (!has_loop(input))
        return convert_each(input, elements, count, out);
    convert_in_loop(input, elements, count, out);
    return FIRN_OK;
}

static uint8_t *row_of(const firn_bound_input *input, size_t sample) {
    return input->data + 4 * input->elements * sample;
}

/* Copies the elements of one sample to its position in the input tensor. */
static int fill_sample(const firn_bound_input *input, const firn_source *source, uint64_t first, uint32_t sample) {
    _Alignas(8) uint8_t elements[4 * PIECE];
    uint8_t *out = row_of(input, sample);
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

/* --- batches ------------------------------------------------------------------------------------------------------ */

/* With vectors, samples are drawn, read and converted by the batch: threads share all but the reading, and a tensor is
 * written from its beginning to its end, which CPUs prefetch. Bytes that are read lie at the end of the tensor, in the
 * same place for each batch so that they stay in a cache; or, of a batch whose rows lie there, each sample's at the end
 * of its row. Floats are read to where they belong.
 *
 * Where the first op of a step casts an input of bytes to a half type, and nothing else reads the input, threads write
 * what the op would: the floats between, four times as many bytes as the sample has, would leave the caches and return.
 * The bytes then lie at the beginning of the input. */

enum { BATCH_ELEMENTS = 128 * 1024 }; /* of the first input, at most, unless a sample has more */

typedef struct batch {
    const firn_instance *instance;
    const firn_samples *samples;
    const firn_tensor *cast;    /* operands of the cast of an input, or NULL */
    firn_kernel scale, permute; /* FIRN_KERNEL_SCALE and FIRN_KERNEL_PERMUTE, or NULL */
    uint64_t draw;              /* number of the first */
    uint32_t first, count;      /* samples of the micro-batch */
    uint64_t places[BATCH];     /* of the samples */
} batch;

static bool is_converted_later(const firn_bound_input *input) {
    return has_loop(input) && input->elements >= PIECE && input->elements <= UINT32_MAX;
}

/* Whether an input is cast as it is read. */
static bool is_cast(const batch *b, const firn_bound_input *input) {
    return b->cast != NULL && b->cast[FIRN_CAST_IN_X].data == input->data;
}

/* Returns the phase that reads the inputs. */
static uint8_t reading_phase(const firn_instance *instance) {
    return instance->header.mode == FIRN_MODE_TRAIN ? FIRN_FB_PHASE_KIND_MICRO_BATCH : FIRN_FB_PHASE_KIND_EVALUATE;
}

/* Whether an input is left as it is, because the phase count runs and does not read it. */
static bool is_left(const firn_instance *instance, const firn_bound_input *input) {
    return firn_batch != NULL && instance->counting && !firn_batch->reads(instance, input);
}

/* Returns the operands of the cast that is taken out of the phase; NULL: there is none, or the phase count runs. */
static const firn_tensor *taken_cast(const firn_instance *instance) {
    if (!instance->casts_input || instance->counting)
        return NULL;
    return instance->prepared[instance->bound.phases[reading_phase(instance)].first - 1].operands;
}

/* Returns the samples of a batch. */
static uint32_t batch_of(const firn_instance *instance) {
    firn_bound_input room;
    const size_t most = BATCH_ELEMENTS / firn_bound_input_at(instance, 0, &room)->elements;
    return most < 1 ? 1 : most < BATCH ? (uint32_t)most : BATCH;
}

/* Replaces the numbers of draws of one epoch, which begin with `numbers`, by those of the samples. */
static void permute(const batch *b, uint64_t epoch, uint64_t *numbers, size_t length) {
    const uint64_t seed = firn_fb_sampler_seed(firn_fb_plan_sampler(b->instance->plan)), count = b->samples->count;
    if (b->permute == NULL) {
        firn_permute_many(seed, epoch, count, numbers, length);
        return;
    }
    const firn_tensor out = {.data = numbers, .elements = length, .type = FIRN_INT64};
    const int64_t integers[] = {[FIRN_PERMUTE_SEED] = (int64_t)seed,
                                [FIRN_PERMUTE_EPOCH] = (int64_t)epoch,
                                [FIRN_PERMUTE_COUNT] = (int64_t)count};
    const firn_kernel_call call = {.outputs = &out, .output_count = 1, .integers = integers};
    b->permute(&call);
}

/* Replaces the numbers of the draws of a task by their places. */
static void find_places(void *argument, size_t begin, size_t end) {
    batch *b = argument;
    const firn_fb_sampler sampler = firn_fb_plan_sampler(b->instance->plan);
    const uint32_t last = end * DRAWS < b->count ? (uint32_t)end * DRAWS : b->count;
    for (uint32_t i = (uint32_t)begin * DRAWS, next; i < last; i = next) { /* the draws of one epoch */
        uint64_t index;
        if (b->draw + i >= b->samples->count && firn_samples_may_be_short(b->instance)) {
            next = i + 1;
            b->places[i] = place_of_draw(b->instance, b->samples, b->draw + i);
            continue;
        }
        const uint64_t epoch = firn_divide(b->draw + i, b->samples->count, &index), left = b->samples->count - index;
        next = last - i < left ? last : i + (uint32_t)left;
        for (uint32_t j = i; j < next; j++)
            b->places[j] = index + (j - i);
        if (firn_fb_sampler_kind(sampler) == FIRN_FB_SAMPLER_KIND_PERMUTATION)
            permute(b, epoch, b->places + i, next - i);
        for (uint32_t j = i; j < next; j++)
            b->places[j] = place_of(b->instance, b->samples, b->places[j]);
    }
}

/* Where the elements of sample i of the batch lie until they are converted. */
static uint8_t *read_elements_of(const batch *b, const firn_bound_input *input, size_t i) {
    const size_t bytes = input->elements * firn_type_bytes(input->element);
    if (is_cast(b, input))
        return input->data + i * bytes;
    uint8_t *end = row_of(input, b->instance->bound.samples), *common = end - b->count * bytes;
    const bool is_apart = bytes < 4 * input->elements && row_of(input, b->first + b->count) <= common;
    return is_apart ? common + i * bytes : row_of(input, b->first + i + 1) - bytes;
}

static int read_sample(const batch *b, const firn_bound_input *input, uint32_t i) {
    const firn_source *source = b->samples->source;
    const uint64_t first = b->places[i] * input->record + input->advance;
    if (!is_converted_later(input))
        return fill_sample(input, source, first, b->first + i);
    const int status =
        source->read(source->context, input->stream, first, (uint32_t)input->elements, read_elements_of(b, input, i));
    return status == 0 ? FIRN_OK : FIRN_ERROR_SOURCE;
}

static int read_samples(const batch *b, const firn_bound_input *input) {
    int status = FIRN_OK;
    for (uint32_t i = 0; i < b->count && status == FIRN_OK; i++)
        status = read_sample(b, input, i);
    return status;
}

typedef struct conversion {
    const batch *batch;
    const firn_bound_input *input;
} conversion;

/* A piece is copied before its place is written; what it overwrites besides was copied before it. */
static void convert_samples(void *argument, size_t begin, size_t end) {
    const conversion *c = argument;
    const size_t bytes = firn_type_bytes(c->input->element);
    _Alignas(8) uint8_t elements[4 * PIECE];
    for (size_t i = begin; i < end; i++) {
        const uint8_t *in = read_elements_of(c->batch, c->input, i);
        uint8_t *out = row_of(c->input, c->batch->first + i);
        for (size_t left = c->input->elements; left != 0;) {
            const uint32_t piece = left < PIECE ? (uint32_t)left : PIECE;
            memcpy(elements, in, piece * bytes);
            convert_in_loop(c->input, elements, piece, out);
            in += piece * bytes;
            out += (size_t)4 * piece;
            left -= piece;
        }
    }
}

/* Writes what an input is cast to. */
static void cast_samples(void *argument, size_t begin, size_t end) {
    const conversion *c = argument;
    const firn_tensor *cast = &c->batch->cast[1 + FIRN_CAST_OUT_Y];
    const size_t width = c->input->elements, first = c->batch->first + begin;
    const firn_tensor in = {.data = read_elements_of(c->batch, c->input, begin),
                            .elements = (end - begin) * width,
                            .type = FIRN_UINT8},
                      out = {.data = (uint8_t *)cast->data + first * width * firn_type_bytes(cast->type),
                             .elements = in.elements,
                             .type = cast->type};
    const float reals[] = {[FIRN_SCALE_SCALE] = c->input->scale, [FIRN_SCALE_SHIFT] = c->input->shift};
    const firn_kernel_call call = {.inputs = &in, .input_count = 1, .outputs = &out, .output_count = 1, .reals = reals};
    c->batch->scale(&call);
}

static int fill_batch(batch *b) {
    enum { COST_OF_DRAW = 500 };
    const firn_parallel *parallel = &b->instance->parallel;
    firn_parallel_run(parallel, (b->count - 1) / DRAWS + 1, (uint64_t)COST_OF_DRAW * DRAWS, find_places, b);
    for (uint32_t i = 0; i < b->instance->bound.inputs; i++) {
        firn_bound_input room;
        conversion c = {b, firn_bound_input_at(b->instance, i, &room)};
        if (is_left(b->instance, c.input))
            continue;
        const int status = read_samples(b, c.input);
        if (status != FIRN_OK)
            return status;
        if (is_converted_later(c.input))
            firn_parallel_run(parallel, b->count, c.input->elements,
                              is_cast(b, c.input) ? cast_samples : convert_samples, &c);
    }
    return FIRN_OK;
}

/* --- a micro-batch ------------------------------------------------------------------------------------------------ */

/* Fills the inputs with consecutive draws, one after the other. */
static int fill_each(const firn_instance *instance, const firn_samples *samples, uint64_t cursor) {
    for (uint32_t s = 0; s < instance->bound.samples; s++) {
        const uint64_t place = place_of_draw(instance, samples, cursor + s);
        for (uint32_t i = 0; i < instance->bound.inputs; i++) {
            firn_bound_input room;
            const firn_bound_input *input = firn_bound_input_at(instance, i, &room);
            if (is_left(instance, input))
                continue;
            const int status = fill_sample(input, samples->source, place * input->record + input->advance, s);
            if (status != FIRN_OK)
                return status;
        }
    }
    return FIRN_OK;
}

static int fill_batches(const firn_instance *instance, const firn_samples *samples, uint64_t cursor) {
    const uint32_t wanted = instance->bound.samples, most = batch_of(instance);
    batch b = {.instance = instance,
               .samples = samples,
               .cast = taken_cast(instance),
               .scale = instance->kernels->find(FIRN_KERNEL_SCALE, NULL).run,
               .permute = instance->kernels->find(FIRN_KERNEL_PERMUTE, NULL).run};
    int status = FIRN_OK;
    for (; b.first < wanted && status == FIRN_OK; b.first += b.count) {
        b.count = wanted - b.first < most ? wanted - b.first : most;
        b.draw = cursor + b.first;
        status = fill_batch(&b);
    }
    return status;
}

/* Whether samples are filled by the batch. For few that does not pay. */
static bool is_filled_in_batches(const firn_instance *instance) {
    enum { FEW = 8 };
    return FIRN_VECTORS && instance->bound.samples >= FEW && instance->bound.inputs > 0;
}

int firn_samples_fill(const firn_instance *instance, const firn_samples *samples, uint64_t cursor) {
    const uint32_t wanted = instance->bound.samples;
    if (instance->bound.epoch_end == FIRN_FB_EPOCH_END_STOP && cursor > samples->count - wanted)
        return FIRN_ERROR_DATA_END; /* the single epoch has no batch more */
    return is_filled_in_batches(instance) ? fill_batches(instance, samples, cursor)
                                          : fill_each(instance, samples, cursor);
}

/* --- casts -------------------------------------------------------------------------------------------------------- */

/* Number of the last op in the lifetime of a tensor; UINT32_MAX: it outlives a step. */
static uint32_t last_of(const firn_instance *instance, uint32_t tensor) {
    return firn_fb_tensor_last(firn_fb_plan_tensors_at(instance->plan, tensor));
}

static uint32_t tensor_of_input(const firn_instance *instance, uint32_t i) {
    return firn_fb_input_tensor(firn_fb_plan_inputs_at(instance->plan, i));
}

/* Whether no input ends before an op. One that nothing reads may, and what the op writes may then lie there. */
static bool inputs_live_until(const firn_instance *instance, uint32_t number) {
    bool live = true;
    for (uint32_t i = 0; i < instance->bound.inputs; i++)
        live &= last_of(instance, tensor_of_input(instance, i)) >= number;
    return live;
}

/* Whether an input of bytes, which is converted by the batch, has this tensor. */
static bool is_input_of_bytes(const firn_instance *instance, uint32_t tensor) {
    bool is = false;
    for (uint32_t i = 0; i < instance->bound.inputs && i < FIRN_BOUND_INPUTS; i++)
        is |= tensor_of_input(instance, i) == tensor && is_converted_later(&instance->inputs[i]) &&
              instance->inputs[i].element == FIRN_FB_ELEMENT_TYPE_UINT8;
    return is;
}

/* Returns whether the sampler may write what an op, the first of the phase that reads the inputs, would write. Of a
 * plan that was checked this holds for a cast of an input whose lifetime ends there: ops of derive read no input, so
 * the op is its only reader. When inputs are filled, only they and tensors that outlive a step have contents, and the
 * result of the op shares bytes with neither. A result that itself outlives the step is left to the op, because it may
 * be an output, which a step that fails for its source does not change. */
static bool may_take(const firn_instance *instance, firn_fb_op op, uint32_t number) {
    if (firn_fb_op_code(op) != FIRN_OP_cast)
        return false;
    const uint32_t from = firn_fb_op_inputs_at(op, FIRN_CAST_IN_X), to = firn_fb_op_outputs_at(op, FIRN_CAST_OUT_Y);
    return is_input_of_bytes(instance, from) && last_of(instance, from) == number &&
           last_of(instance, to) != UINT32_MAX && inputs_live_until(instance, number);
}

void firn_samples_bind(firn_instance *instance) {
#ifdef FIRN_CHECK
    return; /* each op runs, so that the traces of two kernel sets have the same lines */
#endif
    firn_bound_phase *phase = &instance->bound.phases[reading_phase(instance)];
    if (phase->count == 0 || instance->prepared == NULL || !is_filled_in_batches(instance) ||
        instance->kernels->find(FIRN_KERNEL_SCALE, NULL).run == NULL)
        return;
    const firn_fb_op first = {firn_fb_follow(phase->ops)};
    if (!may_take(instance, first, phase->first))
        return;
    instance->casts_input = true;
    phase->ops += sizeof(uint32_t);
    phase->first++;
    phase->count--;
}
