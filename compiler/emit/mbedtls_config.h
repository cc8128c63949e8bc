/* The configuration of mbedTLS 3.6 for compiler/emit/sign.c, on the host: ECDSA on P-256 with deterministic nonces,
 * keys in PEM and DER, and random numbers from the system. Nothing that a plan's check uses may be configured here. */
#ifndef FIRNC_MBEDTLS_CONFIG_H
#define FIRNC_MBEDTLS_CONFIG_H

#define MBEDTLS_ASN1_PARSE_C
#define MBEDTLS_ASN1_WRITE_C
#define MBEDTLS_BASE64_C
#define MBEDTLS_BIGNUM_C
#define MBEDTLS_ECDSA_C
#define MBEDTLS_ECDSA_DETERMINISTIC
#define MBEDTLS_ECP_C
#define MBEDTLS_ECP_DP_SECP256R1_ENABLED
#define MBEDTLS_ECP_NIST_OPTIM
#define MBEDTLS_ENTROPY_C
#define MBEDTLS_ENTROPY_FORCE_SHA256
#define MBEDTLS_HMAC_DRBG_C
#define MBEDTLS_MD_C
#define MBEDTLS_OID_C
#define MBEDTLS_PEM_PARSE_C
#define MBEDTLS_PEM_WRITE_C
#define MBEDTLS_PK_C
#define MBEDTLS_PK_PARSE_C
#define MBEDTLS_PK_PARSE_EC_EXTENDED /* a curve given by its parameters instead of its name */
#define MBEDTLS_PK_WRITE_C
#define MBEDTLS_SHA256_C

#endif
