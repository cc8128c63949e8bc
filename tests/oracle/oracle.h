/* The differential oracle of mutate.c. */
#ifndef FIRN_TESTS_ORACLE_H
#define FIRN_TESTS_ORACLE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* 1 when the C++ verifier of flatbuffers accepts the buffer, 0 when it does not. */
int oracle_accepts(const uint8_t *buffer, size_t bytes);

#ifdef __cplusplus
}
#endif
#endif
