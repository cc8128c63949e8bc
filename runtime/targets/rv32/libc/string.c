/* The C library of the firmware for RISC-V: what it uses of string.h, one byte at a time, in place of a package of more
 * than 100 MB. The functions are weak, so that those of runtime/targets/memory, which are faster, take their places
 * where they are linked. Compiled with -ffreestanding and -fno-tree-loop-distribute-patterns, as those are. */
#include <stdbool.h>
#include <stdint.h>

#include "runtime/targets/rv32/libc/include/string.h"

#define WEAK __attribute__((weak))

WEAK void *memcpy(void *restrict to, const void *restrict from, size_t count) {
    uint8_t *out = to;
    for (const uint8_t *in = from; count > 0; count--)
        *out++ = *in++;
    return to;
}

/* Begins with the last byte where `to` lies behind `from`, whose bytes may overlap it. */
WEAK void *memmove(void *to, const void *from, size_t count) {
    uint8_t *out = to;
    const uint8_t *in = from;
    if (out > in) {
        while (count-- > 0)
            out[count] = in[count];
    } else {
        for (; count > 0; count--)
            *out++ = *in++;
    }
    return to;
}

WEAK void *memset(void *to, int value, size_t count) {
    for (uint8_t *out = to; count > 0; count--)
        *out++ = (uint8_t)value;
    return to;
}

WEAK int memcmp(const void *a, const void *b, size_t count) {
    const uint8_t *left = a, *right = b;
    for (; count > 0; count--, left++, right++)
        if (*left != *right)
            return *left - *right;
    return 0;
}

WEAK size_t strlen(const char *text) {
    size_t count = 0;
    while (text[count] != '\0')
        count++;
    return count;
}

WEAK int strncmp(const char *a, const char *b, size_t count) {
    for (; count > 0; count--, a++, b++)
        if (*a != *b || *a == '\0')
            return (uint8_t)*a - (uint8_t)*b;
    return 0;
}

WEAK int strcmp(const char *a, const char *b) {
    for (; *a == *b && *a != '\0'; a++)
        b++;
    return (uint8_t)*a - (uint8_t)*b;
}

static bool is_in(const char *set, char wanted) {
    while (*set != '\0' && *set != wanted)
        set++;
    return *set != '\0';
}

WEAK size_t strspn(const char *text, const char *set) {
    size_t count = 0;
    while (text[count] != '\0' && is_in(set, text[count]))
        count++;
    return count;
}

WEAK size_t strcspn(const char *text, const char *set) {
    size_t count = 0;
    while (text[count] != '\0' && !is_in(set, text[count]))
        count++;
    return count;
}
