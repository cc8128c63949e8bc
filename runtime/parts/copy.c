/* The copy of a plan in memory that another could change (firn_config.copy_plan): no byte of the original is read
 * twice. A firmware that does not ask for it (firnc export --copy-plan) is linked without this file. */
#include <string.h>

#include "runtime/instance.h"
#include "runtime/parts.h"

static void copy_bytes(const firn_check_request *request, uint8_t *to, const uint8_t *from, uint64_t count) {
    while (count != 0) {
        const size_t part = count < FIRN_ALIVE_BYTES ? (size_t)count : FIRN_ALIVE_BYTES;
        memcpy(to, from, part);
        to += part, from += part, count -= part;
        if (request->life.alive != NULL)
            request->life.alive(request->life.context);
    }
}

int firn_copy_plan(const firn_config *config, firn_header *header, firn_check_request *request) {
    const uint64_t bytes = request->file_bytes;
    uint8_t *copy = config->copy_plan;
    if (config->copy_plan_bytes < FIRN_PAYLOAD_OFFSET)
        return FIRN_ERROR_BLOCK_TOO_SMALL;
    copy_bytes(request, copy, request->file, bytes < FIRN_PAYLOAD_OFFSET ? bytes : FIRN_PAYLOAD_OFFSET);
    const int status = firn_header_decode(header, copy, bytes);
    if (status != FIRN_OK)
        return status;
    const uint64_t end = firn_header_payload_end(header);
    if (config->copy_plan_bytes < end)
        return FIRN_ERROR_BLOCK_TOO_SMALL;
    copy_bytes(request, copy + FIRN_PAYLOAD_OFFSET, request->file + FIRN_PAYLOAD_OFFSET, end - FIRN_PAYLOAD_OFFSET);
    request->file = copy;
    request->file_bytes = end;
    return FIRN_OK;
}
