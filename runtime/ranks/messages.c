/* The messages of all files of this folder, whose bytes are counted here. */
#include <stdlib.h>

#include "runtime/ranks/internal.h"

/* Other ranks wait for the message, so that a rank without memory for it must end. */
static void append(firn_ranks_messages *messages, uint32_t peer, void *bytes, uint64_t count) {
    if (count == 0)
        return;
    if (messages->count == messages->space) {
        messages->space = 2 * messages->space + 64;
        messages->list = realloc(messages->list, messages->space * sizeof *messages->list);
        if (messages->list == NULL)
            abort();
    }
    messages->list[messages->count++] = (firn_ranks_message){peer, bytes, count};
}

void firn_ranks_send(firn_ranks *ranks, uint32_t peer, const void *bytes, uint64_t count, firn_ranks_cause cause) {
    append(&ranks->out, peer, (void *)(uintptr_t)bytes, count);
    ranks->volume.sent[cause] += count;
}

void firn_ranks_receive(firn_ranks *ranks, uint32_t peer, void *bytes, uint64_t count) {
    append(&ranks->in, peer, bytes, count);
}

void firn_ranks_exchange(firn_ranks *ranks) {
    ranks->transport->exchange(ranks->transport->context, &ranks->out, &ranks->in);
    ranks->out.count = ranks->in.count = 0;
}
