/* Block storage of the emulated targets: the file `checkpoint`. A record is written to `checkpoint.new` and takes the
 * old one's place when it is complete. */
#ifndef FIRN_EMULATED_CHECKPOINT_H
#define FIRN_EMULATED_CHECKPOINT_H

#include "runtime/firn.h"

typedef struct checkpoint {
    int writing; /* file of the record that is being written, or -1 */
} checkpoint;

/* The storage; its context is a checkpoint with writing -1. */
extern const firn_storage checkpoint_storage;

#endif
