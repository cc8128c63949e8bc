/* The plans of a firmware as its device sees them: they are verified and opened by the library itself, in this process.
 */
#ifndef FIRNC_DEVICE_H
#define FIRNC_DEVICE_H

#include <stdbool.h>
#include <stdint.h>

#include "compiler/base/files.h"
#include "compiler/firmware/board.h"
#include "runtime/firn.h"

enum { FIRNC_DEVICE_STREAMS = 3 }; /* data, labels, weights */

typedef struct firnc_device_plan {
    const char *name;
    firnc_bytes image; /* without the report */
    firn_sizes sizes;
    firn_info info;
    uint32_t metrics;
    bool shares; /* the parameters of the other plan, in place */
    firn *instance;
} firnc_device_plan;

typedef struct firnc_device {
    firnc_device_plan train, eval; /* eval.name: NULL if there is none */
    uint32_t streams;
    firn_stream_info stream[FIRNC_DEVICE_STREAMS];
} firnc_device;

/* Opens a train plan and, unless the name is NULL, an eval plan of the same model, whose signatures must be of the key.
 * Their blocks must fit into the board's RAM. Returns the exit code, after one line on stderr if it is not 0. */
int firnc_device_open(firnc_device *device, const char *train, const char *eval, const uint8_t *public_key,
                      const firnc_board *board);

/* The bytes of a block that the plan has for itself: 0 for one that is shared, or lies in the plan. */
uint64_t firnc_device_block_bytes(const firnc_device_plan *plan, uint32_t block);

#endif
