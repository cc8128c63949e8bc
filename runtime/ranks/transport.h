/* How the ranks of a run send bytes to each other: what runtime/ranks asks of MPI, or of a test. */
#ifndef FIRN_RANKS_TRANSPORT_H
#define FIRN_RANKS_TRANSPORT_H

#include <stdint.h>

/* Bytes for a rank, or from it. Two messages between the same ranks arrive in the order in which they were sent. */
typedef struct firn_ranks_message {
    uint32_t peer;
    void *bytes; /* only read where it is sent */
    uint64_t count;
} firn_ranks_message;

/* A list of messages; `space` is what the list has room for. */
typedef struct firn_ranks_messages {
    firn_ranks_message *list;
    uint32_t count, space;
} firn_ranks_messages;

typedef struct firn_ranks_transport {
    void *context;
    uint32_t rank, size; /* this rank, from 0; their number, at least 1 */
    /* Sends some messages and receives others, and returns when the bytes of both are free to be used again. What one
     * rank sends another must receive with the same lengths. It does not return if a rank has died. */
    void (*exchange)(void *context, const firn_ranks_messages *sends, const firn_ranks_messages *receives);
} firn_ranks_transport;

#endif
