/* The checkpoint of an older run, with which a new run begins (firnc compile --continue): its tensors by name. The file
 * is untrusted: everything in it is checked before anything is used. What its tensors become is decided elsewhere
 * (compiler/emit/continue.h). */
#ifndef FIRNC_WEIGHTS_OLDER_RUN_H
#define FIRNC_WEIGHTS_OLDER_RUN_H

#include "compiler/base/files.h"
#include "plan/checkpoint/record.h"

/* A tensor of the state. */
typedef struct firnc_older_tensor {
    const char *name;
    firn_shape shape; /* float32 or int64 */
    uint8_t role;
    const uint8_t *bytes; /* its elements, not aligned */
} firnc_older_tensor;

typedef struct firnc_older_run {
    const char *file; /* its name, for messages */
    firn_record header;
    const firnc_older_tensor *tensors; /* sorted by the bytes of their names, none of which is there twice */
    uint32_t count;
} firnc_older_run;

/* Reads one record, as firn train --checkpoint writes it, or a dump of one slot of flash. Its SHA-256 is compared; a
 * code of a device key is not, and a note says so. False after one message. */
bool firnc_older_run_read(firnc_older_run *run, const char *file);

/* Checks the bytes of a record and lists its tensors. Returns FIRN_OK or an error of a checkpoint. The bytes must stay
 * where they are. Part of firnc_older_run_read. */
int firnc_older_run_parse(firnc_older_run *run, const firnc_bytes *bytes);

/* NULL if no tensor has this name. */
const firnc_older_tensor *firnc_older_run_find(const firnc_older_run *run, const char *name);

#endif
