/* The functions of string.h that firmware and mbedTLS use. */
#ifndef FIRN_RV32_STRING_H
#define FIRN_RV32_STRING_H

#include <stddef.h>

void *memcpy(void *restrict to, const void *restrict from, size_t count);
void *memmove(void *to, const void *from, size_t count);
void *memset(void *to, int value, size_t count);
int memcmp(const void *a, const void *b, size_t count);

size_t strlen(const char *text);
int strcmp(const char *a, const char *b);
int strncmp(const char *a, const char *b, size_t count);
size_t strspn(const char *text, const char *set);
size_t strcspn(const char *text, const char *set);

#endif
