/* Block storage of the emulated targets, in files of the host: one slot, the file `checkpoint`, which a record replaces
 * when it is complete; or two slots like flash, the files `slot.0` and `slot.1`, which are erased before they are
 * written. */
#ifndef FIRN_EMULATED_CHECKPOINT_H
#define FIRN_EMULATED_CHECKPOINT_H

#include "runtime/firn.h"

typedef struct firn_emulated_checkpoint {
    int writing; /* handle of the record being written, or -1 */
} firn_emulated_checkpoint;

/* Bytes of each of the two slots. */
#define FIRN_EMULATED_SLOT_BYTES (UINT64_C(16) << 20)

/* The storage of one slot and of two. The context of both is a firn_emulated_checkpoint with writing = -1. */
extern const firn_storage firn_emulated_storage, firn_emulated_slots;

#endif
