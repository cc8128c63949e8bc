/* The one configuration of mbedTLS 2.28, on every target: SHA-256 and the checking of ECDSA P-256, in a lent pool.
 * Nothing that signs, draws random numbers, prints or uses the heap may be switched on here. */
#ifndef FIRN_PLAN_MBEDTLS_CONFIG_H
#define FIRN_PLAN_MBEDTLS_CONFIG_H

/* ecdsa.c wants both ASN.1 modules; what checks raw signatures calls neither, and the linker drops them. */
#define MBEDTLS_ASN1_PARSE_C
#define MBEDTLS_ASN1_WRITE_C
#define MBEDTLS_BIGNUM_C
#define MBEDTLS_ECDSA_C
#define MBEDTLS_ECP_C
#define MBEDTLS_ECP_DP_SECP256R1_ENABLED
#define MBEDTLS_SHA256_C

/* Reduction by the shape of the prime: three times faster. */
#define MBEDTLS_ECP_NIST_OPTIM
/* A check handles public data only, so there is nothing to blind. */
#define MBEDTLS_ECP_NO_INTERNAL_RNG

/* Small windows and no table that outlives a multiplication: the pool is what matters. */
#define MBEDTLS_ECP_FIXED_POINT_OPTIM 0
#define MBEDTLS_ECP_MAX_BITS          256
#define MBEDTLS_ECP_WINDOW_SIZE       2
#define MBEDTLS_MPI_MAX_SIZE          32
#define MBEDTLS_MPI_WINDOW_SIZE       1

/* All memory comes from the pool. library/platform.c is not compiled: plan/signature.c supplies mbedtls_calloc,
 * mbedtls_free and mbedtls_platform_set_calloc_free, so that no way to the heap exists. */
#define MBEDTLS_MEMORY_ALIGN_MULTIPLE 8
#define MBEDTLS_MEMORY_BUFFER_ALLOC_C
#define MBEDTLS_PLATFORM_C
#define MBEDTLS_PLATFORM_MEMORY
#define MBEDTLS_PLATFORM_NO_STD_FUNCTIONS
/* Called by the pool allocator when its own bookkeeping is corrupt, which no input can bring about. */
#define MBEDTLS_PLATFORM_EXIT_MACRO(status) __builtin_trap()

#include "mbedtls/check_config.h"

#endif
