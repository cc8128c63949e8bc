/* Block storage of the emulated targets: the file `checkpoint`. A record is written to `checkpoint.new` and replaces
 * the old one when it is complete. */
#ifndef FIRN_EMULATED_CHECKPOINT_H
#define FIRN_EMULATED_CHECKPOINT_H

#include "runtime/firn.h"

typedef struct firn_emulated_checkpoint {
    int writing; /* handle of the record being written, or -1 */
} firn_emulated_checkpoint;

/* The storage. Its context is a slot with writing = -1. */
extern const firn_storage firn_emulated_storage;

#endif
