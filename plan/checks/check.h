/* The whole chain of checks that a plan must pass before any part of it is used, in a fixed order (FORMAT.md). The
 * runtime and firnc use the same chain. The payload may not be read before the signature has been verified.
 * Freestanding. */
#ifndef FIRN_PLAN_CHECK_H
#define FIRN_PLAN_CHECK_H

#include <stddef.h>
#include <stdint.h>

#include "plan/container.h"
#include "plan/device.h"
#include "plan/generated/reader.h"
#include "plan/signature.h"

/* Public keys that follow each other, 64 bytes each, X then Y. The one whose hash a header names is used. */
typedef struct firn_keys {
    const uint8_t *list;
    uint32_t count;   /* 1 to FIRN_KEYS_MAX */
    uint32_t revoked; /* bit i: key i has been revoked */
} firn_keys;

/* The bits of a mask of revoked keys. */
#define FIRN_KEYS_MAX 32u

/* The mark of a request: neither zeros nor erased flash look like it. */
enum { FIRN_CHECK_REQUEST = 0x5d3c96e1 };

/* A plan and the conditions it is checked against. */
typedef struct firn_check_request {
    /* FIRN_CHECK_REQUEST, without which no plan passes: where a disturbance has spoiled a pointer to the request, the
     * zeros that may be there do not count as a device without identity or counter. */
    uint32_t mark;
    const uint8_t *file; /* the file, with its report or without it; aligned to 64 */
    uint64_t file_bytes;
    firn_keys keys;
    const firn_identity *identity; /* NULL: not compared */
    void *pool;                    /* for the semantic check; zeroed after it; aligned to 16 */
    uint64_t pool_bytes;           /* at least firn_check_pool_bytes of the plan's counts, else POOL_TOO_SMALL */
    firn_alive life;               /* its context is also passed to the functions below, which may be NULL */
    int (*revoked_keys)(void *context, uint32_t *mask); /* reads what the device has revoked beside keys.revoked */
    int (*counter)(void *context, uint32_t *value);     /* reads the device's security counter; NULL: there is none */
} firn_check_request;

/* The results of a check; complete only if it returned FIRN_OK. */
typedef struct firn_checked {
    firn_header header;
    firn_fb_plan plan;
    uint8_t plan_hash[FIRN_HASH_BYTES];
    uint32_t device_counter; /* value of the device's security counter; 0 if there is none */
} firn_checked;

/* Bytes of the pool with which a plan with these counts can be checked; a multiple of 16. */
uint64_t firn_check_pool_bytes(const firn_counts *counts);

/* Returns FIRN_OK, or the error of the first check that failed. The report of the plan is not read. */
int firn_check(const firn_check_request *request, firn_checked *checked) __attribute__((warn_unused_result));

/* The same for a caller that keeps the results in places of its own: on a microcontroller a header is a large part of
 * the stack. All of them are written, whatever is returned. The trail is complete if every check was made and passed,
 * even if the device was disturbed while it ran; the status alone does not say that. */
int firn_check_into(const firn_check_request *request, firn_header *header, firn_fb_plan *plan,
                    uint8_t plan_hash[FIRN_HASH_BYTES], uint32_t *device_counter, firn_trail *trail)
    __attribute__((warn_unused_result));

/* The checks that need no more of the plan than its header and its signature, which lie at `file`: everything before
 * the run hash. For a device that receives a plan. Begins the trail. */
int firn_check_header(const firn_check_request *request, firn_header *header, uint8_t plan_hash[FIRN_HASH_BYTES],
                      firn_trail *trail) __attribute__((warn_unused_result));

/* Compares the security counter of a header that has been checked with the device's. */
int firn_check_counter(const firn_check_request *request, uint32_t *device_counter, firn_trail *trail)
    __attribute__((warn_unused_result));

/* The same as firn_check without key, signature, identity and counter, for signed and unsigned plans that firnc
 * inspects and does not run. The runtime may not call it. */
int firn_check_untrusted(const firn_check_request *request, firn_checked *checked) __attribute__((warn_unused_result));

/* Compares the report behind the payload with its hash in a header that has been checked. For tools; a device never
 * reads a report. Returns FIRN_OK, REPORT if there is none or if it differs, or HASH. */
int firn_check_report(const firn_check_request *request, const firn_header *header) __attribute__((warn_unused_result));

#endif
