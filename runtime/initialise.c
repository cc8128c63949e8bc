/* The plan's initial values. Random ones depend on the plan's seed, the initialiser's rng_id and the element's index
 * alone, so threads split the elements as they like. */
#include <string.h>

#include "runtime/float_environment.h"
#include "runtime/instance.h"
#include "runtime/numerics/numerics.h"

/* Elements of one task. */
#define TASK 4096u

typedef struct fill {
    float *out;
    size_t elements;
    uint8_t rule; /* InitialiserRule */
    float a, b;
    firn_rng rng;
} fill;

static float value_at(const fill *fill, size_t i) {
    switch (fill->rule) {
    case FIRN_FB_INITIALISER_RULE_NORMAL:
        return firn_fma(fill->b, firn_random_normal(&fill->rng, i), fill->a);
    case FIRN_FB_INITIALISER_RULE_UNIFORM:
        return firn_fma(fill->b - fill->a, firn_random_uniform(&fill->rng, i), fill->a);
    default:
        return fill->a;
    }
}

static void fill_tasks(void *argument, size_t begin, size_t end) {
    const fill *job = argument;
    size_t last = end * TASK < job->elements ? end * TASK : job->elements;
    for (size_t i = begin * TASK; i < last; i++)
        job->out[i] = value_at(job, i);
}

static void fill_floats(const firn_instance *instance, firn_fb_initialiser initialiser, const firn_tensor *tensor) {
    fill job = {.out = tensor->data,
                .elements = tensor->elements,
                .rule = firn_fb_initialiser_rule(initialiser),
                .a = firn_fb_initialiser_a(initialiser),
                .b = firn_fb_initialiser_b(initialiser),
                .rng = {.seed = firn_fb_plan_seed(instance->plan),
                        .rng_id = firn_fb_initialiser_rng_id(initialiser),
                        .global_step = 0,
                        .micro_step = 0}};
    firn_parallel parallel = firn_instance_parallel(instance);
    firn_parallel_run(&parallel, (tensor->elements + (TASK - 1)) / TASK, 32 * TASK, fill_tasks, &job);
}

/* Counters. The value is a whole number, checked at load. */
static void fill_integers(int64_t value, const firn_tensor *tensor) {
    uint8_t *out = tensor->data;
    for (size_t i = 0; i < tensor->elements; i++)
        memcpy(out + i * sizeof value, &value, sizeof value);
}

static void apply(const firn_instance *instance, firn_fb_initialiser initialiser) {
    firn_tensor tensor = firn_instance_tensor(instance, firn_fb_initialiser_tensor(initialiser));
    if (firn_fb_initialiser_rule(initialiser) == FIRN_FB_INITIALISER_RULE_WEIGHTS) {
        const uint8_t *weights = instance->file + instance->header.constants_offset;
        memcpy(tensor.data, weights + (size_t)firn_fb_initialiser_weights(initialiser),
               tensor.elements * firn_type_bytes(tensor.type));
    } else if (tensor.type == FIRN_FLOAT32) {
        fill_floats(instance, initialiser, &tensor);
    } else {
        fill_integers((int64_t)firn_fb_initialiser_a(initialiser), &tensor);
    }
}

static bool is_parameter(const firn_instance *instance, firn_fb_initialiser initialiser) {
    firn_fb_tensor tensor = firn_fb_plan_tensors_at(instance->plan, firn_fb_initialiser_tensor(initialiser));
    return firn_fb_tensor_role(tensor) == FIRN_FB_ROLE_PARAMETER;
}

void firn_initialise_state(const firn_instance *instance, bool with_parameters) {
    uint32_t before = firn_float_begin();
    memset(instance->state, 0, (size_t)instance->header.state_bytes);
    for (uint32_t i = 0; i < firn_fb_plan_initialisers_count(instance->plan); i++) {
        firn_fb_initialiser initialiser = firn_fb_plan_initialisers_at(instance->plan, i);
        if (with_parameters || !is_parameter(instance, initialiser))
            apply(instance, initialiser);
        firn_instance_alive(instance);
    }
    firn_float_end(before);
}

int firn_initialise(firn *instance) {
    firn_instance *self = firn_instance_of(instance);
    if (self == NULL)
        return FIRN_ERROR_NOT_OPEN;
    self->condition = FIRN_CONDITION_EMPTY;
    firn_initialise_state(self, true);
    self->sequence = 0;
    self->condition = FIRN_CONDITION_READY;
    return FIRN_OK;
}
