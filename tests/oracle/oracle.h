/* The differential oracle of mutate.c. */
#ifndef FIRN_TESTS_ORACLE_H
#define FIRN_TESTS_ORACLE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Returns 1 if the C++ verifier of flatbuffers accepts the buffer, else 0. */
int oracle_accepts(const uint8_t *buffer, size_t bytes);

#ifdef __cplusplus
}
#endif
#endif
