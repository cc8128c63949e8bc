/* Frames: their header and CRC, and the payload of answers. What a frame asks for is not handled here. */
#include "plan/slots/frame.h"

#include "plan/bytes.h"
#include "plan/slots/layout.h"

enum { AT_KIND = 2, AT_RESERVED = 3, AT_SEQUENCE = 4, AT_LENGTH = 8, AT_LENGTH_AGAIN = 10 };

uint32_t firn_frame_bytes(const firn_frame *frame) {
    return FIRN_FRAME_HEADER_BYTES + frame->length + FIRN_FRAME_CRC_BYTES;
}

/* The CRC covers what follows the two bytes that every frame begins with. */
static uint32_t crc_of(const uint8_t *buffer, uint32_t length) {
    return firn_crc32(0, buffer + AT_KIND, FIRN_FRAME_HEADER_BYTES - AT_KIND + length);
}

firn_frame_found firn_frame_find(const uint8_t *buffer, uint32_t filled, uint32_t most, firn_frame *frame) {
    if ((filled > 0 && buffer[0] != FIRN_FRAME_FIRST) || (filled > 1 && buffer[1] != FIRN_FRAME_SECOND))
        return FIRN_FRAME_BAD;
    if (filled < FIRN_FRAME_HEADER_BYTES)
        return FIRN_FRAME_WANTING;
    *frame = (firn_frame){.kind = buffer[AT_KIND],
                          .sequence = firn_load32(buffer + AT_SEQUENCE),
                          .length = (uint16_t)firn_load16(buffer + AT_LENGTH)};
    /* The length is there twice, the second time inverted, so that a damaged one does not wait for bytes to come. */
    if (buffer[AT_RESERVED] != 0 || (frame->length ^ firn_load16(buffer + AT_LENGTH_AGAIN)) != 0xffffu ||
        firn_frame_bytes(frame) > most)
        return FIRN_FRAME_BAD;
    if (filled < firn_frame_bytes(frame))
        return FIRN_FRAME_WANTING;
    const uint32_t crc = firn_load32(buffer + FIRN_FRAME_HEADER_BYTES + frame->length);
    return crc == crc_of(buffer, frame->length) ? FIRN_FRAME_GOOD : FIRN_FRAME_BAD;
}

void firn_frame_close(uint8_t *buffer, const firn_frame *frame) {
    buffer[0] = FIRN_FRAME_FIRST;
    buffer[1] = FIRN_FRAME_SECOND;
    buffer[AT_KIND] = frame->kind;
    buffer[AT_RESERVED] = 0;
    firn_store32(buffer + AT_SEQUENCE, frame->sequence);
    firn_store32(buffer + AT_LENGTH, frame->length | ((uint32_t)frame->length ^ 0xffffu) << 16);
    firn_store32(buffer + FIRN_FRAME_HEADER_BYTES + frame->length, crc_of(buffer, frame->length));
}

void firn_frame_answer_encode(const firn_frame_answer *answer, uint8_t bytes[FIRN_FRAME_ANSWER_BYTES]) {
    firn_store32(bytes, (uint32_t)answer->status);
    firn_store32(bytes + 4, answer->committed);
    firn_store64(bytes + 8, answer->offset);
    firn_store64(bytes + 16, answer->capacity);
    firn_store32(bytes + 24, answer->part);
}

void firn_frame_answer_decode(firn_frame_answer *answer, const uint8_t bytes[FIRN_FRAME_ANSWER_BYTES]) {
    *answer = (firn_frame_answer){.status = (int32_t)firn_load32(bytes),
                                  .committed = firn_load32(bytes + 4),
                                  .offset = firn_load64(bytes + 8),
                                  .capacity = firn_load64(bytes + 16),
                                  .part = firn_load32(bytes + 24)};
}
