/* SHA-256 and signature verification. Except for one x86 function, this is the only file of plan and runtime that may
 * include mbedTLS. Every status starts as a failure and becomes a success in one place only; every return code of
 * mbedTLS is checked. */
#include "plan/signature.h"

#include <stdbool.h>
#include <string.h>

#include "mbedtls/ecdsa.h"
#include "mbedtls/memory_buffer_alloc.h"
#include "mbedtls/platform.h"
#include "mbedtls/sha256.h"

#include "plan/errors.h"

#define COORDINATE_BYTES 32u
#define POINT_BYTES      65u /* 0x04 X Y */

/* --- SHA-256 ---------------------------------------------------------------------------------------------------------
 */

_Static_assert(sizeof(mbedtls_sha256_context) <= sizeof(firn_sha256), "the context must fit");
_Static_assert(_Alignof(mbedtls_sha256_context) <= _Alignof(firn_sha256), "the context must be aligned");

static mbedtls_sha256_context *context_of(firn_sha256 *hash) {
    return (mbedtls_sha256_context *)(void *)hash->opaque;
}

int firn_sha256_begin(firn_sha256 *hash) {
    mbedtls_sha256_init(context_of(hash));
    return mbedtls_sha256_starts_ret(context_of(hash), 0) == 0 ? FIRN_OK : FIRN_ERROR_HASH;
}

int firn_sha256_update(firn_sha256 *hash, const void *bytes, size_t count) {
    return mbedtls_sha256_update_ret(context_of(hash), bytes, count) == 0 ? FIRN_OK : FIRN_ERROR_HASH;
}

int firn_sha256_end(firn_sha256 *hash, uint8_t digest[32]) {
    int status = mbedtls_sha256_finish_ret(context_of(hash), digest) == 0 ? FIRN_OK : FIRN_ERROR_HASH;
    mbedtls_sha256_free(context_of(hash));
    return status;
}

int firn_sha256_of(const void *bytes, size_t count, uint8_t digest[32]) {
    firn_sha256 hash = {{0}};
    int status = firn_sha256_begin(&hash);
    if (status == FIRN_OK)
        status = firn_sha256_update(&hash, bytes, count);
    if (status == FIRN_OK)
        status = firn_sha256_end(&hash, digest);
    return status;
}

int firn_sha256_of_many(const uint8_t *bytes, uint64_t count, const firn_alive *alive, uint8_t digest[32]) {
    firn_sha256 hash;
    int status = firn_sha256_begin(&hash);
    for (uint64_t at = 0; status == FIRN_OK && at < count;) {
        uint64_t left = count - at;
        size_t piece = left < FIRN_ALIVE_BYTES ? (size_t)left : FIRN_ALIVE_BYTES;
        status = firn_sha256_update(&hash, bytes + at, piece);
        at += piece;
        if (alive->alive != NULL)
            alive->alive(alive->context);
    }
    return status == FIRN_OK ? firn_sha256_end(&hash, digest) : status;
}

static void make_point(const uint8_t public_key[FIRN_PUBLIC_KEY_BYTES], uint8_t point[POINT_BYTES]) {
    point[0] = 0x04;
    memcpy(point + 1, public_key, FIRN_PUBLIC_KEY_BYTES);
}

int firn_key_hash(const uint8_t public_key[FIRN_PUBLIC_KEY_BYTES], uint8_t hash[32]) {
    uint8_t point[POINT_BYTES];
    make_point(public_key, point);
    return firn_sha256_of(point, sizeof point, hash);
}

/* --- the pool --------------------------------------------------------------------------------------------------------
 */

/* mbedTLS allocates through functions without a context argument, so their state is static. It is the only data in plan
 * and runtime that is written and outlives a call. It is set during a check, under the port's lock. */
static struct {
    void *(*take)(size_t count, size_t size); /* NULL: no pool is attached, and allocation fails */
    void (*give)(void *memory);
    const firn_alive *alive;
    bool exhausted;
} pool_state;

/* Replaces the function of mbedTLS's platform.c. The pool allocator registers its functions here when it is
 * attached. */
int mbedtls_platform_set_calloc_free(void *(*calloc_func)(size_t, size_t), void (*free_func)(void *)) {
    pool_state.take = calloc_func;
    pool_state.give = free_func;
    return 0;
}

/* A check makes thousands of allocations, so the alive function is called from here. */
void *mbedtls_calloc(size_t n, size_t size) {
    if (pool_state.alive != NULL && pool_state.alive->alive != NULL)
        pool_state.alive->alive(pool_state.alive->context);
    void *memory = pool_state.take == NULL ? NULL : pool_state.take(n, size);
    if (memory == NULL)
        pool_state.exhausted = true;
    return memory;
}

void mbedtls_free(void *ptr) {
    if (pool_state.give != NULL)
        pool_state.give(ptr);
}

static void attach_pool(void *pool, size_t bytes, const firn_alive *alive) {
    mbedtls_memory_buffer_alloc_init(pool, bytes);
    pool_state.alive = alive;
    pool_state.exhausted = false;
}

static void detach_pool(void *pool, size_t bytes) {
    mbedtls_memory_buffer_alloc_free();
    memset(&pool_state, 0, sizeof pool_state);
    memset(pool, 0, bytes);
}

/* --- ECDSA P-256 -----------------------------------------------------------------------------------------------------
 */

typedef struct check {
    mbedtls_ecp_group group;
    mbedtls_ecp_point key;
    mbedtls_mpi r, s;
} check;

/* mbedTLS accepts points that are not on the curve; mbedtls_ecp_check_pubkey refuses them. */
static int read_key(check *c, const uint8_t public_key[FIRN_PUBLIC_KEY_BYTES]) {
    uint8_t point[POINT_BYTES];
    make_point(public_key, point);
    if (mbedtls_ecp_group_load(&c->group, MBEDTLS_ECP_DP_SECP256R1) != 0 ||
        mbedtls_ecp_point_read_binary(&c->group, &c->key, point, sizeof point) != 0 ||
        mbedtls_ecp_check_pubkey(&c->group, &c->key) != 0)
        return FIRN_ERROR_KEY;
    return FIRN_OK;
}

static int check_signature(check *c, const uint8_t digest[32], const uint8_t signature[64]) {
    int status = FIRN_ERROR_SIGNATURE;
    if (mbedtls_mpi_read_binary(&c->r, signature, COORDINATE_BYTES) == 0 &&
        mbedtls_mpi_read_binary(&c->s, signature + COORDINATE_BYTES, COORDINATE_BYTES) == 0 &&
        mbedtls_ecdsa_verify(&c->group, digest, 32, &c->key, &c->r, &c->s) == 0)
        status = FIRN_OK;
    return status;
}

int firn_signature_check(const uint8_t public_key[FIRN_PUBLIC_KEY_BYTES], const uint8_t digest[32],
                         const uint8_t signature[64], void *pool, size_t pool_bytes, const firn_alive *alive) {
    check c;
    attach_pool(pool, pool_bytes, alive);
    mbedtls_ecp_group_init(&c.group);
    mbedtls_ecp_point_init(&c.key);
    mbedtls_mpi_init(&c.r);
    mbedtls_mpi_init(&c.s);

    int status = read_key(&c, public_key);
    if (status == FIRN_OK)
        status = check_signature(&c, digest, signature);
    if (pool_state.exhausted)
        status = FIRN_ERROR_POOL_TOO_SMALL;

    mbedtls_mpi_free(&c.s);
    mbedtls_mpi_free(&c.r);
    mbedtls_ecp_point_free(&c.key);
    mbedtls_ecp_group_free(&c.group);
    detach_pool(pool, pool_bytes);
    return status;
}
