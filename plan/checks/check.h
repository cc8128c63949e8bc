/* The whole chain of checks that a plan passes before anything of it is used, in its one order (FORMAT.md): used by the
 * runtime and by firnc alike. Nothing of the payload is read before the signature holds. Freestanding. */
#ifndef FIRN_PLAN_CHECK_H
#define FIRN_PLAN_CHECK_H

#include <stddef.h>
#include <stdint.h>

#include "plan/container.h"
#include "plan/generated/reader.h"
#include "plan/signature.h"

/* Every long loop shows life at least once for so many bytes. */
#define FIRN_ALIVE_BYTES 65536u

/* What a plan is checked against. */
typedef struct firn_check_request {
    const uint8_t *file; /* the whole file, at a multiple of 64 */
    uint64_t file_bytes;
    const uint8_t *public_key; /* 64 bytes, X then Y */
    uint64_t state_bytes;      /* of the blocks that are there, which the header's must not exceed; */
    uint64_t arena_bytes;      /* UINT64_MAX where nothing is going to run */
    void *pool;                /* for the signature check and the semantic one, which leave it zero; aligned to 16 */
    uint64_t pool_bytes;       /* as much of it as the header asks for is used */
    void *context;             /* handed to the functions below, each of which may be NULL */
    void (*alive)(void *context);
    void (*lock)(void *context); /* around the signature check */
    void (*unlock)(void *context);
    int (*counter)(void *context, uint32_t *value); /* the device's security counter; NULL: there is none */
} firn_check_request;

/* What was found; complete only when the check returned FIRN_OK. */
typedef struct firn_checked {
    firn_header header;
    firn_fb_plan plan;
    uint8_t plan_hash[FIRN_HASH_BYTES];
    uint32_t device_counter; /* what the device's security counter is; 0 where there is none */
} firn_checked;

/* FIRN_OK, or the error of the first check that did not hold. */
int firn_check(const firn_check_request *request, firn_checked *checked) __attribute__((warn_unused_result));

/* The same without key, signature and counter, for plans that are signed or not: what firnc looks at and does not run.
 * The runtime may not call it. */
int firn_check_untrusted(const firn_check_request *request, firn_checked *checked) __attribute__((warn_unused_result));

#endif
