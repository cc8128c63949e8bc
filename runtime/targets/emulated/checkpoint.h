/* Block storage of the emulated targets: the file `checkpoint`. A record is written to `checkpoint.new` and takes the
 * old one's place when it is complete. */
#ifndef FIRN_EMULATED_CHECKPOINT_H
#define FIRN_EMULATED_CHECKPOINT_H

#include "runtime/firn.h"

typedef struct firn_emulated_checkpoint {
    int writing; /* file of the record that is being written, or -1 */
} firn_emulated_checkpoint;

/* The storage; its context is one of these with writing -1. */
extern const firn_storage firn_emulated_storage;

#endif
