/* The data of the emulated targets: the files `data` and, for records with labels, `labels`, as a source. Plain bytes,
 * IDX and .npy (format 1, row-major); nothing compressed. */
#ifndef FIRN_EMULATED_DATA_H
#define FIRN_EMULATED_DATA_H

#include <stdbool.h>

#include "runtime/firn.h"

#define DATA_STREAMS 2

typedef struct data {
    int files[DATA_STREAMS];
    uint32_t starts[DATA_STREAMS]; /* bytes before the first element */
    firn_segment segments[DATA_STREAMS];
    firn_stream streams[DATA_STREAMS];
    firn_source source; /* hand this to the runtime; it points into this struct */
} data;

/* Opens the files. records: the plan reads records, so a file's first extent counts them; else everything is one run
 * of elements. Returns NULL, or what is wrong in a few words. */
const char *data_open(data *opened, bool records);

#endif
