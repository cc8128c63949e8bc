/* What plans are checked against on this device: the keys, the identity and the counter of a config and its port, the
 * same for a plan that is opened and for one that is received. */
#include "runtime/instance.h"

void firn_request_of(const firn_config *config, firn_check_request *request) {
    const firn_port *port = config->port;
    *request = (firn_check_request){.mark = FIRN_CHECK_REQUEST, .identity = config->identity};
    request->keys.list = config->public_key;
    request->keys.count = 1 + config->more_keys;
    request->keys.revoked = config->revoked_keys;
    if (port == NULL)
        return;
    request->life = (firn_alive){.context = port->context, .alive = port->alive};
    request->revoked_keys = port->revoked_keys;
    if (port->counter != NULL)
        request->counter = port->counter->read;
}
