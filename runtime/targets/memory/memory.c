/* memcpy, memmove and memset for firmware, four words at a time, in place of those of a C library that was built for
 * size and moves single bytes. Not for hosts, whose libraries are faster. Compiled with -ffreestanding and
 * -fno-tree-loop-distribute-patterns, so that the compiler does not replace these loops by calls of the same
 * functions. */
#include <stddef.h>
#include <stdint.h>

void *memcpy(void *restrict to, const void *restrict from, size_t count);
void *memmove(void *to, const void *from, size_t count);
void *memset(void *to, int value, size_t count);

/* Four bytes of objects of any type. */
typedef uint32_t __attribute__((may_alias)) word;

enum { WORD = sizeof(word), GROUP = 4 * WORD };

static size_t misaligned(const void *at) {
    return (uintptr_t)at % WORD;
}

/* Begins with the first byte. A group is read before it is written, so `out` may lie in front of an overlapping `in`.
 */
static void copy_upwards(uint8_t *out, const uint8_t *in, size_t count) {
    if (misaligned(out) == misaligned(in)) {
        for (; count > 0 && misaligned(out) != 0; count--)
            *out++ = *in++;
        word *words = (word *)(void *)out;
        const word *from = (const word *)(const void *)in;
        for (; count >= GROUP; count -= GROUP, words += 4, from += 4) {
            const word a = from[0], b = from[1], c = from[2], d = from[3];
            words[0] = a, words[1] = b, words[2] = c, words[3] = d;
        }
        for (; count >= WORD; count -= WORD)
            *words++ = *from++;
        out = (uint8_t *)words;
        in = (const uint8_t *)from;
    }
    for (; count > 0; count--)
        *out++ = *in++;
}

void *memcpy(void *restrict to, const void *restrict from, size_t count) {
    copy_upwards(to, from, count);
    return to;
}

/* Begins with the last byte, for an overlap in which `out` lies behind `in`. */
static void copy_downwards(uint8_t *out, const uint8_t *in, size_t count) {
    for (; count > 0; count--)
        out[count - 1] = in[count - 1];
}

void *memmove(void *to, const void *from, size_t count) {
    if ((uintptr_t)to - (uintptr_t)from < count)
        copy_downwards(to, from, count);
    else
        copy_upwards(to, from, count);
    return to;
}

void *memset(void *to, int value, size_t count) {
    uint8_t *out = to;
    const uint8_t byte = (uint8_t)value;
    for (; count > 0 && misaligned(out) != 0; count--)
        *out++ = byte;
    const word filled = UINT32_C(0x01010101) * byte;
    word *words = (word *)(void *)out;
    for (; count >= GROUP; count -= GROUP, words += 4)
        words[0] = filled, words[1] = filled, words[2] = filled, words[3] = filled;
    for (; count >= WORD; count -= WORD)
        *words++ = filled;
    for (out = (uint8_t *)words; count > 0; count--)
        *out++ = byte;
    return to;
}
