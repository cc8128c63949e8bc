/* The data of the emulated targets: the files `data` and, for records with labels, `labels`, as a source. */
#ifndef FIRN_EMULATED_DATA_H
#define FIRN_EMULATED_DATA_H

#include <stdbool.h>

#include "runtime/firn.h"
#include "runtime/targets/dataset.h"

#define DATA_STREAMS 2

typedef struct data {
    int handles[DATA_STREAMS];
    firn_data_file files[DATA_STREAMS];
    firn_data_layout layouts[DATA_STREAMS];
    firn_segment segments[DATA_STREAMS];
    firn_stream streams[DATA_STREAMS];
    firn_source source; /* hand this to the runtime; it points into this struct */
} data;

/* Opens the files. records: the plan reads records, so a file's first extent counts them; else everything is one run
 * of elements. FIRN_OK, or what firn_data_look found. */
int data_open(data *opened, bool records) FIRN_CHECK_RESULT;

#endif
