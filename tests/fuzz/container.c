/* Fuzzes the header of a plan: arbitrary bytes as a file. What a decoded header says must be within its file. */
#include <stdlib.h>
#include <string.h>

#include "plan/container.h"
#include "tests/fuzz/fuzz.h"

static void check_header(const firn_header *header, size_t size) {
    const uint64_t end = firn_header_payload_end(header);
    FUZZ_HOLDS(end <= size && end >= FIRN_PAYLOAD_OFFSET + header->flatbuffers_bytes);
    FUZZ_HOLDS(header->region_count >= 2 && header->region_count <= FIRN_REGIONS_MAX);
    for (uint32_t i = 0; i < header->region_count; i++)
        if (firn_region_is_constant(header->region_kinds[i]))
            FUZZ_HOLDS(firn_header_constant_offset(header, i) + header->region_bytes[i] <= header->constants_bytes);
    FUZZ_HOLDS(firn_header_state_bytes(header) > 0);
}

/* A header that was decoded is the one that was encoded. */
static void check_again(const firn_header *header, const uint8_t *file) {
    uint8_t bytes[FIRN_HEADER_BYTES];
    firn_header_encode(header, bytes);
    FUZZ_HOLDS(memcmp(bytes, file, sizeof bytes) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    uint8_t *file = fuzz_copy(data, size);
    firn_header header;
    firn_sizes sizes;
    firn_version needed;
    const int status = firn_header_decode(&header, file, size);
    if (status == FIRN_OK) {
        check_header(&header, size);
        check_again(&header, file);
    }
    FUZZ_HOLDS((firn_plan_sizes(file, size, &sizes) == FIRN_OK) == (status == FIRN_OK));
    (void)!firn_plan_needs(file, size, &needed);
    if (firn_header_decode_unsigned(&header, file, size) == FIRN_OK) {
        FUZZ_HOLDS(status != FIRN_OK);
        check_header(&header, size);
    }
    free(file);
    return 0;
}
