/* Keys and signing with Debian's mbedTLS. Every signature made here is checked with the separate build of mbedTLS that
 * checks plans (plan/signature.c). This file must not depend on what the digest covers. */
#include "compiler/emit/sign.h"

#include <string.h>

#include <mbedtls/asn1.h>
#include <mbedtls/ctr_drbg.h>
#include <mbedtls/ecdsa.h>
#include <mbedtls/entropy.h>
#include <mbedtls/pk.h>
#include <mbedtls/platform_util.h>

#include "compiler/base/text.h"
#include "plan/container.h"
#include "plan/errors.h"

#define KEY_FILE_MAX 16384
#define PEM_MAX      2048
#define HALF_BYTES   32 /* bytes of a coordinate, of the secret, of r and of s */

void firnc_wipe(void *bytes, uint64_t count) {
    mbedtls_platform_zeroize(bytes, count);
}

/* --- random numbers ----------------------------------------------------------------------------------------------- */

typedef struct generator {
    mbedtls_entropy_context entropy;
    mbedtls_ctr_drbg_context drbg;
} generator;

static void generator_free(generator *random) {
    mbedtls_ctr_drbg_free(&random->drbg);
    mbedtls_entropy_free(&random->entropy);
}

static bool generator_start(generator *random) {
    mbedtls_entropy_init(&random->entropy);
    mbedtls_ctr_drbg_init(&random->drbg);
    if (mbedtls_ctr_drbg_seed(&random->drbg, mbedtls_entropy_func, &random->entropy, NULL, 0) == 0)
        return true;
    generator_free(random);
    firnc_say("firnc: the system gives no random numbers; check /dev/urandom");
    return false;
}

/* --- keys to and from mbedTLS ------------------------------------------------------------------------------------- */

/* Writes the coordinates X and Y, the form in which a device stores the key. */
static bool export_public(const mbedtls_ecp_point *point, uint8_t public_key[FIRN_PUBLIC_KEY_BYTES]) {
    return mbedtls_mpi_write_binary(&point->X, public_key, HALF_BYTES) == 0 &&
           mbedtls_mpi_write_binary(&point->Y, public_key + HALF_BYTES, HALF_BYTES) == 0;
}

static bool export_key(const mbedtls_ecp_keypair *pair, firnc_key *key) {
    return mbedtls_mpi_write_binary(&pair->d, key->secret, HALF_BYTES) == 0 && export_public(&pair->Q, key->public_key);
}

static bool import_key(const firnc_key *key, mbedtls_ecp_keypair *pair) {
    return mbedtls_ecp_group_load(&pair->grp, MBEDTLS_ECP_DP_SECP256R1) == 0 &&
           mbedtls_mpi_read_binary(&pair->d, key->secret, HALF_BYTES) == 0 &&
           mbedtls_mpi_read_binary(&pair->Q.X, key->public_key, HALF_BYTES) == 0 &&
           mbedtls_mpi_read_binary(&pair->Q.Y, key->public_key + HALF_BYTES, HALF_BYTES) == 0 &&
           mbedtls_mpi_lset(&pair->Q.Z, 1) == 0 && mbedtls_ecp_check_privkey(&pair->grp, &pair->d) == 0 &&
           mbedtls_ecp_check_pubkey(&pair->grp, &pair->Q) == 0;
}

bool firnc_key_generate(firnc_key *key) {
    generator random;
    if (!generator_start(&random))
        return false;
    mbedtls_ecp_keypair pair;
    mbedtls_ecp_keypair_init(&pair);
    bool good = mbedtls_ecp_gen_key(MBEDTLS_ECP_DP_SECP256R1, &pair, mbedtls_ctr_drbg_random, &random.drbg) == 0 &&
                export_key(&pair, key);
    mbedtls_ecp_keypair_free(&pair);
    generator_free(&random);
    if (!good)
        firnc_say("firnc: mbedTLS made no key; check that the machine has memory left");
    return good;
}

bool firnc_key_encode(const firnc_key *key, firnc_bytes *private_pem, firnc_bytes *public_pem) {
    *private_pem = (firnc_bytes){.data = firnc_allocate(PEM_MAX)};
    *public_pem = (firnc_bytes){.data = firnc_allocate(PEM_MAX)};
    mbedtls_pk_context pk;
    mbedtls_pk_init(&pk);
    bool good = mbedtls_pk_setup(&pk, mbedtls_pk_info_from_type(MBEDTLS_PK_ECKEY)) == 0 &&
                import_key(key, mbedtls_pk_ec(pk)) && mbedtls_pk_write_key_pem(&pk, private_pem->data, PEM_MAX) == 0 &&
                mbedtls_pk_write_pubkey_pem(&pk, public_pem->data, PEM_MAX) == 0;
    mbedtls_pk_free(&pk);
    private_pem->count = strlen((const char *)private_pem->data);
    public_pem->count = strlen((const char *)public_pem->data);
    if (!good)
        firnc_say("firnc: mbedTLS did not encode the key; check that the machine has memory left");
    return good;
}

/* Returns the key pair of a parsed key; NULL after one message if it is not on the curve P-256. */
static mbedtls_ecp_keypair *p256(const char *file, const mbedtls_pk_context *pk, const char *mend) {
    mbedtls_ecp_keypair *pair = mbedtls_pk_can_do(pk, MBEDTLS_PK_ECKEY) ? mbedtls_pk_ec(*pk) : NULL;
    if (pair != NULL && pair->grp.id == MBEDTLS_ECP_DP_SECP256R1)
        return pair;
    firnc_say("firnc: %s: not a key of the curve P-256; %s", file, mend);
    return NULL;
}

/* Tries PEM, for which mbedTLS counts the terminating zero byte, then DER, which has none. */
static bool parse_private(mbedtls_pk_context *pk, const firnc_bytes *bytes) {
    return mbedtls_pk_parse_key(pk, bytes->data, bytes->count + 1, NULL, 0) == 0 ||
           mbedtls_pk_parse_key(pk, bytes->data, bytes->count, NULL, 0) == 0;
}

/* Accepts only PEM, as the host runner does. */
static bool parse_public(mbedtls_pk_context *pk, const firnc_bytes *bytes) {
    static const char first[] = "-----BEGIN PUBLIC KEY-----";
    return strncmp((const char *)bytes->data, first, strlen(first)) == 0 &&
           mbedtls_pk_parse_public_key(pk, bytes->data, bytes->count + 1) == 0;
}

bool firnc_key_read(const char *file, firnc_key *key) {
    static const char mend[] = "give the .key.pem that firnc keygen made, without a password";
    firnc_bytes bytes;
    if (!firnc_file_read(file, KEY_FILE_MAX, &bytes))
        return false;
    mbedtls_pk_context pk;
    mbedtls_pk_init(&pk);
    bool good = parse_private(&pk, &bytes);
    if (!good) {
        firnc_say("firnc: %s: not a private key; %s", file, mend);
    } else {
        const mbedtls_ecp_keypair *pair = p256(file, &pk, mend);
        good = pair != NULL && export_key(pair, key);
    }
    mbedtls_pk_free(&pk);
    firnc_wipe(bytes.data, bytes.count);
    return good;
}

bool firnc_public_key_read(const char *file, uint8_t public_key[FIRN_PUBLIC_KEY_BYTES]) {
    static const char mend[] = "give the .pub.pem that firnc keygen made";
    firnc_bytes bytes;
    if (!firnc_file_read(file, KEY_FILE_MAX, &bytes))
        return false;
    mbedtls_pk_context pk;
    mbedtls_pk_init(&pk);
    bool good = parse_public(&pk, &bytes);
    if (!good) {
        firnc_say("firnc: %s: not a public key in PEM; %s", file, mend);
    } else {
        const mbedtls_ecp_keypair *pair = p256(file, &pk, mend);
        good = pair != NULL && export_public(&pair->Q, public_key);
    }
    mbedtls_pk_free(&pk);
    return good;
}

/* --- signatures --------------------------------------------------------------------------------------------------- */

/* The random numbers only blind the computation; the signature does not depend on them. */
static bool make_signature(mbedtls_ecp_keypair *pair, const uint8_t digest[32], uint8_t signature[64],
                           generator *random) {
    mbedtls_mpi r, s;
    mbedtls_mpi_init(&r);
    mbedtls_mpi_init(&s);
    bool good = mbedtls_ecdsa_sign_det_ext(&pair->grp, &r, &s, &pair->d, digest, 32, MBEDTLS_MD_SHA256,
                                           mbedtls_ctr_drbg_random, &random->drbg) == 0 &&
                mbedtls_mpi_write_binary(&r, signature, HALF_BYTES) == 0 &&
                mbedtls_mpi_write_binary(&s, signature + HALF_BYTES, HALF_BYTES) == 0;
    mbedtls_mpi_free(&s);
    mbedtls_mpi_free(&r);
    return good;
}

bool firnc_sign(const firnc_key *key, const uint8_t digest[32], uint8_t signature[64]) {
    generator random;
    if (!generator_start(&random))
        return false;
    mbedtls_ecp_keypair pair;
    mbedtls_ecp_keypair_init(&pair);
    bool good = import_key(key, &pair) && make_signature(&pair, digest, signature, &random);
    mbedtls_ecp_keypair_free(&pair);
    generator_free(&random);
    int status = FIRN_ERROR_SIGNATURE;
    if (good)
        status = firn_signature_check(key->public_key, digest, signature, firnc_allocate(FIRN_POOL_BYTES_MAX),
                                      FIRN_POOL_BYTES_MAX, NULL);
    if (status != FIRN_OK)
        firnc_say("firnc: the signature that was made does not hold: %s; check the key and the machine's memory",
                  firn_error_text(status));
    return status == FIRN_OK;
}

/* Accepts SEQUENCE { INTEGER r, INTEGER s } without trailing bytes. */
static bool decode_der(const firnc_bytes *bytes, uint8_t signature[64]) {
    uint8_t *at = bytes->data;
    const uint8_t *end = bytes->data + bytes->count;
    size_t length;
    mbedtls_mpi r, s;
    mbedtls_mpi_init(&r);
    mbedtls_mpi_init(&s);
    bool good = mbedtls_asn1_get_tag(&at, end, &length, MBEDTLS_ASN1_CONSTRUCTED | MBEDTLS_ASN1_SEQUENCE) == 0 &&
                length == (size_t)(end - at) && mbedtls_asn1_get_mpi(&at, end, &r) == 0 &&
                mbedtls_asn1_get_mpi(&at, end, &s) == 0 && at == end &&
                mbedtls_mpi_write_binary(&r, signature, HALF_BYTES) == 0 &&
                mbedtls_mpi_write_binary(&s, signature + HALF_BYTES, HALF_BYTES) == 0;
    mbedtls_mpi_free(&s);
    mbedtls_mpi_free(&r);
    return good;
}

bool firnc_signature_decode(const firnc_bytes *bytes, uint8_t signature[64]) {
    if (bytes->count == FIRN_SIGNATURE_BYTES) {
        memcpy(signature, bytes->data, FIRN_SIGNATURE_BYTES);
        return true;
    }
    return decode_der(bytes, signature);
}
