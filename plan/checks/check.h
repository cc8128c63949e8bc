/* The whole chain of checks that a plan must pass before any part of it is used, in a fixed order (FORMAT.md). The
 * runtime and firnc use the same chain. The payload may not be read before the signature has been verified.
 * Freestanding. */
#ifndef FIRN_PLAN_CHECK_H
#define FIRN_PLAN_CHECK_H

#include <stddef.h>
#include <stdint.h>

#include "plan/container.h"
#include "plan/generated/reader.h"
#include "plan/signature.h"

/* Every long loop calls `alive` at least once for this many bytes. */
#define FIRN_ALIVE_BYTES 65536u

/* A plan and the conditions it is checked against. */
typedef struct firn_check_request {
    const uint8_t *file; /* the whole file, aligned to 64 */
    uint64_t file_bytes;
    const uint8_t *public_key; /* 64 bytes, X then Y */
    uint64_t state_bytes;      /* sizes of the available blocks; the header may not ask for more */
    uint64_t arena_bytes;      /* UINT64_MAX if nothing will be run */
    void *pool;                /* for the signature check and the semantic check, which zero it; aligned to 16 */
    uint64_t pool_bytes;       /* only as much of the pool as the header asks for is used */
    void *context;             /* passed to the functions below; any of them may be NULL */
    void (*alive)(void *context);
    void (*lock)(void *context); /* held during the signature check */
    void (*unlock)(void *context);
    int (*counter)(void *context, uint32_t *value); /* reads the device's security counter; NULL: there is none */
} firn_check_request;

/* The results of a check; complete only if it returned FIRN_OK. */
typedef struct firn_checked {
    firn_header header;
    firn_fb_plan plan;
    uint8_t plan_hash[FIRN_HASH_BYTES];
    uint32_t device_counter; /* value of the device's security counter; 0 if there is none */
} firn_checked;

/* Returns FIRN_OK, or the error of the first check that failed. */
int firn_check(const firn_check_request *request, firn_checked *checked) __attribute__((warn_unused_result));

/* The same without key, signature and counter, for signed and unsigned plans that firnc inspects and does not run. The
 * runtime may not call it. */
int firn_check_untrusted(const firn_check_request *request, firn_checked *checked) __attribute__((warn_unused_result));

#endif
