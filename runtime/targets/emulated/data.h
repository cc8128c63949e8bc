/* The data of the emulated targets as a source: the file `data` and, for records with labels, the file `labels`. */
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
    firn_source source; /* pass this to the runtime; it points into this struct */
} firn_emulated_data;

/* Opens the files. records: the plan reads records, so a file's first extent is the number of records; otherwise all
 * elements form one sequence. Returns FIRN_OK or the error of firn_data_look. */
int firn_emulated_data_open(firn_emulated_data *opened, bool records) FIRN_CHECK_RESULT;

#endif
