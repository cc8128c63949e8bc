/* The header of the .npy files that firn writes, in version 1.0 of the format. */
#include <string.h>

#include "plan/ops.h"
#include "runtime/cli/cli.h"

static const char *descr_of(uint8_t type) {
    switch (type) {
    case FIRN_FLOAT32:
        return "<f4";
    case FIRN_INT32:
        return "<i4";
    case FIRN_INT16:
        return "<i2";
    case FIRN_UINT16:
        return "<u2";
    case FIRN_INT8:
        return "|i1";
    case FIRN_BOOL:
        return "|b1";
    default:
        return "|u1";
    }
}

bool cli_npy_put_header(const firn_host_replacement *file, uint8_t type, uint64_t rows, const uint64_t *dims,
                        uint32_t dim_count) {
    static const uint8_t magic[] = {0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0};
    char header[CLI_NPY_HEADER_BYTES];
    memset(header, ' ', sizeof header);
    memcpy(header, magic, sizeof magic);
    header[8] = (char)((sizeof header - 10) & 0xff);
    header[9] = (char)((sizeof header - 10) >> 8);
    int length =
        10 + snprintf(header + 10, sizeof header - 10, "{'descr': '%s', 'fortran_order': False, 'shape': (%llu",
                      descr_of(type), (unsigned long long)rows);
    for (uint32_t d = 0; d < dim_count; d++)
        length += snprintf(header + length, sizeof header - (size_t)length, ", %llu", (unsigned long long)dims[d]);
    length += snprintf(header + length, sizeof header - (size_t)length, ",), }");
    header[length] = ' '; /* in place of the zero that ends the text */
    header[sizeof header - 1] = '\n';
    return firn_host_replace_write(file, 0, header, sizeof header);
}
