/* The rings pass. In: a graph whose inputs are final. Out: for a job whose samples are pushed, the ring of each stream
 * and the count of what was pushed, in a region of their own. No op reads them: the runtime fills the inputs from them.
 * Every region is complete then, and a plan that needs an enormous amount of memory is warned of. */
#include "compiler/passes/passes.h"
#include "plan/bytes.h"

#define ALIGNMENT 16
#define ENORMOUS  ((uint64_t)1 << 40) /* bytes; a larger plan is most likely a mistake */

/* Adds a tensor at the end of the region. */
static firnc_value add(firnc_graph *graph, const char *name, firn_shape shape) {
    const firnc_value value = firnc_value_new(graph, name, FIRNC_ROLE_RING, shape);
    firnc_value_info *info = &graph->values[value];
    uint64_t bytes = 0;
    (void)firn_shape_bytes(&shape, &bytes); /* the caller has checked that they can be counted */
    info->persistent = true;
    info->region = FIRNC_IN_RING;
    info->offset = graph->region_bytes[FIRNC_IN_RING];
    info->first = 0;
    info->last = FIRNC_NONE;
    graph->region_bytes[FIRNC_IN_RING] += firn_round_up(bytes, ALIGNMENT);
    return value;
}

/* A ring holds records in the shape of a sample, or single elements where samples are windows. */
static firn_shape shape_of(const firnc_job *job, const firnc_value_info *input) {
    firn_shape shape = {.type = (uint8_t)input->source->element, .rank = 1};
    if (job->data.window == 0) {
        shape = input->shape;
        shape.type = (uint8_t)input->source->element;
    }
    shape.dims[0] = job->data.ring;
    return shape;
}

/* Warns only: such a plan is valid, but most likely a number in the job has a digit too many. */
static void warn_when_enormous(const firnc_compilation *compilation) {
    const firnc_job *job = compilation->job;
    const uint64_t state = firnc_state_bytes(compilation->graph);
    const uint64_t arena = compilation->graph->region_bytes[FIRNC_IN_ARENA];
    const uint64_t ring = compilation->graph->region_bytes[FIRNC_IN_RING];
    if (state <= ENORMOUS && arena <= ENORMOUS - state && ring <= ENORMOUS - state - arena)
        return;
    const firnc_place *place = arena > state ? &job->places.samples : &job->places.size;
    const char *of_ring = "";
    if (ring != 0)
        of_ring = firnc_format(" and %llu of rings", (unsigned long long)ring);
    if (ring > arena && ring > state)
        place = &job->places.ring;
    firnc_job_warn(job, place,
                   "the plan needs %llu bytes of state, %llu of arena%s, more than 1 TiB; make this smaller",
                   (unsigned long long)state, (unsigned long long)arena, of_ring);
}

static bool add_rings(firnc_compilation *compilation) {
    firnc_graph *graph = compilation->graph;
    const firnc_job *job = compilation->job;
    const uint32_t values = graph->value_count;
    for (firnc_value i = 0; i < values; i++) {
        const firnc_value_info *input = &graph->values[i];
        if (input->source == NULL || input->source->stream != graph->ring_count)
            continue;
        uint64_t bytes;
        const firn_shape shape = shape_of(job, input);
        if (!firn_shape_bytes(&shape, &bytes))
            return firnc_job_fail(job, &job->places.ring,
                                  "the ring of %s has more bytes than a plan can; make it smaller", input->name);
        const char *name = firnc_format("ring.%s", input->name);
        graph->rings[graph->ring_count++] = add(graph, name, shape);
    }
    graph->pushed = add(graph, "ring.pushed", firnc_scalar(FIRN_INT64));
    return true;
}

bool firnc_add_rings(firnc_compilation *compilation) {
    if (compilation->job->data.ring != 0 && !add_rings(compilation))
        return false;
    warn_when_enormous(compilation);
    return true;
}
