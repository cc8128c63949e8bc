/* The model hash of an instance, by which a checkpoint and an owner are told from those of another model. Only
 * firn_open computes it, and only in a program that asks for it. */
#include "plan/identity.h"
#include "runtime/instance.h"

int firn_instance_hash_model(firn_instance *instance) {
    firn_alive alive = {0};
    if (instance->port != NULL)
        alive = (firn_alive){.context = instance->port->context, .alive = instance->port->alive};
    return firn_model_hash(instance->plan, &instance->header, instance->file, &alive, instance->model_hash);
}

const uint8_t *firn_instance_model_hash(const firn_instance *instance) {
    return instance->model_hash;
}
