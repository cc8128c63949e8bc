/* The frames of the update protocol (runtime/UPDATE.md), for both ends. Freestanding. */
#ifndef FIRN_PLAN_SLOTS_FRAME_H
#define FIRN_PLAN_SLOTS_FRAME_H

#include <stdint.h>

#include "plan/container.h"

#define FIRN_FRAME_HEADER_BYTES 12u
#define FIRN_FRAME_CRC_BYTES    4u
#define FIRN_FRAME_FIRST        0xf1u
#define FIRN_FRAME_SECOND       0x26u

/* Kinds of frames. An answer has the kind of the frame it answers and this bit. */
enum {
    FIRN_FRAME_HELLO = 1,
    FIRN_FRAME_BEGIN = 2,
    FIRN_FRAME_DATA = 3,
    FIRN_FRAME_COMMIT = 4,
    FIRN_FRAME_ANSWER = 0x80
};

/* Payloads. */
#define FIRN_FRAME_BEGIN_BYTES  (8u + FIRN_PAYLOAD_OFFSET) /* u64 bytes of the plan, header, signature */
#define FIRN_FRAME_DATA_HEADER  8u                         /* u64 offset; the part of the plan follows */
#define FIRN_FRAME_ANSWER_BYTES 28u

/* Payload of an answer. */
typedef struct firn_frame_answer {
    int32_t status;     /* firn_error */
    uint32_t committed; /* 1: the slot has the plan, complete */
    uint64_t offset;    /* bytes of the plan that are in the slot */
    uint64_t capacity;  /* bytes that a plan may have */
    uint32_t part;      /* largest part of a plan in a frame */
} firn_frame_answer;

typedef struct firn_frame {
    uint8_t kind;
    uint32_t sequence; /* the sender's; an answer repeats it */
    uint16_t length;   /* of the payload */
} firn_frame;

/* What the beginning of a buffer is. */
typedef enum firn_frame_found {
    FIRN_FRAME_WANTING, /* more bytes are needed to tell */
    FIRN_FRAME_GOOD,    /* a frame, *frame; its payload lies behind its header */
    FIRN_FRAME_BAD      /* no frame begins here */
} firn_frame_found;

/* Looks for a frame at the beginning of a buffer of which `filled` bytes have come; a frame longer than `most` bytes is
 * none. */
firn_frame_found firn_frame_find(const uint8_t *buffer, uint32_t filled, uint32_t most, firn_frame *frame);

/* Bytes of a frame with header and CRC. */
uint32_t firn_frame_bytes(const firn_frame *frame);

/* Writes header and CRC around a payload that lies at buffer + FIRN_FRAME_HEADER_BYTES. */
void firn_frame_close(uint8_t *buffer, const firn_frame *frame);

void firn_frame_answer_encode(const firn_frame_answer *answer, uint8_t bytes[FIRN_FRAME_ANSWER_BYTES]);
void firn_frame_answer_decode(firn_frame_answer *answer, const uint8_t bytes[FIRN_FRAME_ANSWER_BYTES]);

#endif
