/* The one configuration of mbedTLS 2.28, for every target: SHA-256 and ECDSA P-256 verification, with memory from a
 * pool that the caller lends. Nothing that signs, draws random numbers, prints or uses the heap may be enabled here. */
#ifndef FIRN_PLAN_MBEDTLS_CONFIG_H
#define FIRN_PLAN_MBEDTLS_CONFIG_H

/* ecdsa.c requires both ASN.1 modules. Verifying raw signatures calls neither, so the linker drops them. */
#define MBEDTLS_ASN1_PARSE_C
#define MBEDTLS_ASN1_WRITE_C
#define MBEDTLS_BIGNUM_C
#define MBEDTLS_ECDSA_C
#define MBEDTLS_ECP_C
#define MBEDTLS_ECP_DP_SECP256R1_ENABLED
#define MBEDTLS_SHA256_C

/* Uses the special form of the prime for reduction: three times faster. */
#define MBEDTLS_ECP_NIST_OPTIM
/* Verification handles public data only, so no blinding is needed. */
#define MBEDTLS_ECP_NO_INTERNAL_RNG

/* Small windows, and no table that outlives a multiplication, to keep the pool small. */
#define MBEDTLS_ECP_FIXED_POINT_OPTIM 0
#define MBEDTLS_ECP_MAX_BITS          256
#define MBEDTLS_ECP_WINDOW_SIZE       2
#define MBEDTLS_MPI_MAX_SIZE          32
#define MBEDTLS_MPI_WINDOW_SIZE       1

/* All memory comes from the pool. library/platform.c is not compiled: plan/signature.c supplies mbedtls_calloc,
 * mbedtls_free and mbedtls_platform_set_calloc_free, so that the heap cannot be reached. */
#define MBEDTLS_MEMORY_ALIGN_MULTIPLE 8
#define MBEDTLS_MEMORY_BUFFER_ALLOC_C
#define MBEDTLS_PLATFORM_C
#define MBEDTLS_PLATFORM_MEMORY
#define MBEDTLS_PLATFORM_NO_STD_FUNCTIONS
/* Called by the pool allocator if its bookkeeping is corrupt, which no input can cause. */
#define MBEDTLS_PLATFORM_EXIT_MACRO(status) __builtin_trap()

#include "mbedtls/check_config.h"

#endif
