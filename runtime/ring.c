/* Samples that the application pushes: the ring that holds the newest of them, and the source that the sampler reads
 * them from. A program is linked with this file only if it calls firn_push (instance.h). Nothing else of an instance is
 * written here, and no sample is converted: the ring has the elements as they were pushed. */
#include <string.h>

#include "runtime/instance.h"

/* The ring of one stream. */
typedef struct ring {
    uint8_t *data;
    uint64_t length;       /* records that it holds; of windows: elements */
    uint64_t record_bytes; /* of one of them */
    uint32_t record_elements, element_bytes;
} ring;

/* Returns the ring of a stream; length 0 if the plan has no such stream. */
static ring ring_of(const firn_instance *instance, uint32_t stream) {
    for (uint32_t i = 0; i < instance->bound.inputs; i++) {
        const firn_fb_input input = firn_fb_plan_inputs_at(instance->plan, i);
        if (firn_fb_input_stream(input) != stream)
            continue;
        const firn_tensor tensor = firn_instance_tensor(instance, firn_fb_input_ring(input));
        const uint32_t bytes = firn_type_bytes(tensor.type);
        const uint64_t record = (uint64_t)tensor.elements / tensor.dims[0];
        return (ring){.data = tensor.data,
                      .length = tensor.dims[0],
                      .record_bytes = record * bytes,
                      .record_elements = (uint32_t)record,
                      .element_bytes = bytes};
    }
    return (ring){0};
}

/* --- pushing --- */

/* Copies records into the ring, the first of them being number `number`, over the oldest. Of more than it holds only
 * the last are kept. */
static void put(const ring *ring, uint64_t number, const uint8_t *records, uint64_t count) {
    const uint64_t lost = count > ring->length ? count - ring->length : 0;
    const uint64_t kept = count - lost, slot = (number + lost) % ring->length;
    const uint64_t before_end = ring->length - slot < kept ? ring->length - slot : kept;
    records += lost * ring->record_bytes;
    memcpy(ring->data + slot * ring->record_bytes, records, (size_t)(before_end * ring->record_bytes));
    memcpy(ring->data, records + before_end * ring->record_bytes, (size_t)((kept - before_end) * ring->record_bytes));
}

/* Whether an element, little-endian, is below a limit of at most 2^31 - 1 and not negative. */
static bool in_range(uint8_t type, const uint8_t *element, uint32_t limit) {
    uint32_t value = 0;
    memcpy(&value, element, firn_type_bytes(type));
    const bool negative = (type == FIRN_FB_ELEMENT_TYPE_INT8 && value > INT8_MAX) ||
                          (type == FIRN_FB_ELEMENT_TYPE_INT16 && value > INT16_MAX);
    return !negative && value < limit;
}

/* Checks the integers of all streams against the plan's limits, so that no element in a ring can stop a step. */
static int check_elements(const firn_instance *instance, const void *const *streams, uint32_t count) {
    for (uint32_t i = 0; i < instance->bound.inputs; i++) {
        firn_bound_input room;
        const firn_bound_input *input = firn_bound_input_at(instance, i, &room);
        const uint64_t elements = (uint64_t)input->record * count;
        const uint8_t *at = streams[input->stream];
        for (uint64_t e = 0; input->limit != 0 && e < elements; e++, at += firn_type_bytes(input->element))
            if (!in_range(input->element, at, input->limit))
                return FIRN_ERROR_DATA_RANGE;
    }
    return FIRN_OK;
}

static int check_streams(const firn_instance *instance, const void *const *streams, uint32_t stream_count) {
    if (streams == NULL || ring_of(instance, stream_count).length != 0)
        return FIRN_ERROR_ARGUMENT;
    for (uint32_t i = 0; i < stream_count; i++)
        if (streams[i] == NULL || ring_of(instance, i).length == 0)
            return FIRN_ERROR_ARGUMENT;
    return FIRN_OK;
}

int firn_push(firn *instance, const void *const *streams, uint32_t stream_count, uint32_t count) {
    firn_instance *self = firn_instance_of(instance);
    if (self == NULL)
        return FIRN_ERROR_NOT_OPEN;
    if (self->bound.pushed == NULL)
        return FIRN_ERROR_NO_RING;
    int status = check_streams(self, streams, stream_count);
    if (status == FIRN_OK)
        status = check_elements(self, streams, count);
    if (status != FIRN_OK)
        return status;
    const uint64_t number = (uint64_t)*self->bound.pushed;
    for (uint32_t i = 0; i < stream_count; i++) {
        const ring ring = ring_of(self, i);
        put(&ring, number, streams[i], count);
    }
    *self->bound.pushed = (int64_t)(number + count);
    return FIRN_OK;
}

/* --- drawing --- */

/* Copies elements of the window of the ring: element 0 is the first of the oldest record. */
static int read_window(void *context, uint32_t stream, uint64_t first, uint32_t count, void *elements) {
    const firn_samples *samples = context;
    const ring ring = ring_of(samples->instance, stream);
    const uint64_t bytes = ring.length * ring.record_bytes, wanted = (uint64_t)count * ring.element_bytes;
    const uint64_t oldest = samples->oldest % ring.length * ring.record_bytes;
    const uint64_t at = (oldest + first * ring.element_bytes) % bytes;
    const uint64_t before_end = bytes - at < wanted ? bytes - at : wanted;
    memcpy(elements, ring.data + at, (size_t)before_end);
    memcpy((uint8_t *)elements + before_end, ring.data, (size_t)(wanted - before_end));
    return FIRN_OK;
}

void firn_ring_begin(const firn_instance *instance, firn_samples *samples) {
    const ring first = ring_of(instance, 0);
    const uint64_t pushed = (uint64_t)*instance->bound.pushed;
    const uint64_t held = pushed < first.length ? pushed : first.length;
    const uint32_t record = first.record_elements;
    samples->instance = instance;
    samples->oldest = pushed - held;
    samples->segment = (firn_segment){held * record};
    samples->stream = (firn_stream){.record_elements = record, .segments = &samples->segment, .segment_count = 1};
    samples->window =
        (firn_source){.context = samples, .streams = &samples->stream, .stream_count = 1, .read = read_window};
    samples->source = &samples->window;
}
