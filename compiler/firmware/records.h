/* The records that a firmware has in flash: the first ones of the user's data files, or zeros, as .npy files, which
 * firn reads too. */
#ifndef FIRNC_RECORDS_H
#define FIRNC_RECORDS_H

#include <stdbool.h>
#include <stdint.h>

#include "compiler/firmware/device.h"

enum { FIRNC_NPY_HEADER_BYTES = 128 };

/* What is asked for. */
typedef struct firnc_records_wanted {
    const char *files[FIRNC_DEVICE_STREAMS]; /* of data, labels and weights; the first NULL: zeros */
    uint64_t records;                        /* 0: all that the files have */
    const char *key;                         /* the name of the public key, which messages repeat */
} firnc_records_wanted;

typedef struct firnc_records {
    uint64_t count;                        /* of each stream; elements, if the plan reads windows */
    firnc_bytes npy[FIRNC_DEVICE_STREAMS]; /* the files; empty behind the last stream of the plan */
} firnc_records;

/* The name of a stream's file without .npy, such as "data". */
const char *firnc_records_name(uint32_t stream);
/* The option that names the user's file of a stream: --data, --labels or --sample-weights. */
const char *firnc_records_option(uint32_t stream);

/* Reads the records. They must be of the type and the length that the plan reads, in range, enough for a batch of each
 * plan, and fit into the board's flash beside the plans. Returns the exit code, after one line on stderr if it is not
 * 0. */
int firnc_records_read(firnc_records *records, const firnc_device *device, const firnc_records_wanted *wanted,
                       const firnc_board *board);

#endif
