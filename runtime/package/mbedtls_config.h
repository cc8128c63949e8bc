/* The configuration of mbedTLS for builds whose tools cannot link the signature check into one object and hide the
 * names in it (Makefile, "signature.o"): every name that would be seen gets a prefix instead, so that the program may
 * have an mbedTLS of its own.
 * The smaller SHA-256 is chosen, as in every firmware. Nothing else may be configured here. */
#ifndef FIRN_PACKAGE_MBEDTLS_CONFIG_H
#define FIRN_PACKAGE_MBEDTLS_CONFIG_H

#include "plan/mbedtls_config.h"

#define MBEDTLS_SHA256_SMALLER

#define mbedtls_internal_sha256_process firn_mbedtls_internal_sha256_process
#define mbedtls_platform_zeroize        firn_mbedtls_platform_zeroize
#define mbedtls_sha256                  firn_mbedtls_sha256
#define mbedtls_sha256_clone            firn_mbedtls_sha256_clone
#define mbedtls_sha256_finish           firn_mbedtls_sha256_finish
#define mbedtls_sha256_free             firn_mbedtls_sha256_free
#define mbedtls_sha256_init             firn_mbedtls_sha256_init
#define mbedtls_sha256_starts           firn_mbedtls_sha256_starts
#define mbedtls_sha256_update           firn_mbedtls_sha256_update
#define p256_ecdh_shared_secret         firn_p256_ecdh_shared_secret
#define p256_ecdsa_sign                 firn_p256_ecdsa_sign
#define p256_ecdsa_verify               firn_p256_ecdsa_verify
#define p256_gen_keypair                firn_p256_gen_keypair
#define p256_generate_random            firn_p256_generate_random
#define p256_public_from_private        firn_p256_public_from_private
#define p256_validate_privkey           firn_p256_validate_privkey
#define p256_validate_pubkey            firn_p256_validate_pubkey
#define psa_generate_random             firn_psa_generate_random

#endif
