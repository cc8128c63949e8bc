/* The data of the emulated targets: the files `data` and, for records with labels, `labels`, as a source. */
#ifndef FIRN_EMULATED_DATA_H
#define FIRN_EMULATED_DATA_H

#include <stdbool.h>

#include "runtime/firn.h"
#include "runtime/targets/dataset.h"

#define FIRN_EMULATED_STREAMS 2

typedef struct firn_emulated_data {
    int handles[FIRN_EMULATED_STREAMS];
    firn_data_file files[FIRN_EMULATED_STREAMS];
    firn_data_layout layouts[FIRN_EMULATED_STREAMS];
    firn_segment segments[FIRN_EMULATED_STREAMS];
    firn_stream streams[FIRN_EMULATED_STREAMS];
    firn_source source; /* hand this to the runtime; it points into this struct */
} firn_emulated_data;

/* Opens the files. records: the plan reads records, so a file's first extent counts them; else everything is one run
 * of elements. FIRN_OK, or what firn_data_look found. */
int firn_emulated_data_open(firn_emulated_data *opened, bool records) FIRN_CHECK_RESULT;

#endif
