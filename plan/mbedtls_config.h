/* The one configuration of mbedTLS 3.6 for checking plans, for every target: SHA-256, and ECDSA on P-256 with p256-m.
 * Nothing that signs, draws random numbers, prints or uses the heap may be enabled here. Firmware is built with
 * MBEDTLS_SHA256_SMALLER in addition. */
#ifndef FIRN_PLAN_MBEDTLS_CONFIG_H
#define FIRN_PLAN_MBEDTLS_CONFIG_H

#define MBEDTLS_SHA256_C

/* library/platform_util.c, which names the heap, is not compiled: plan/signature.c supplies its one function that is
 * needed. */
#define MBEDTLS_PLATFORM_ZEROIZE_ALT

#define MBEDTLS_PSA_P256M_DRIVER_ENABLED
/* Multiplies with the core's own 64-bit product, although its time may depend on the factors: a check handles public
 * data only. */
#define MUL64_IS_CONSTANT_TIME

#endif
