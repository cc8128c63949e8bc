/* Keys and signing with mbedTLS. Every signature made here is checked with the code that checks plans
 * (plan/signature.c), which computes with p256-m instead. This file must not depend on what the digest covers. */
#include "compiler/emit/sign.h"

#include <string.h>

#include <mbedtls/asn1.h>
#include <mbedtls/asn1write.h>
#include <mbedtls/ecdsa.h>
#include <mbedtls/entropy.h>
#include <mbedtls/hmac_drbg.h>
#include <mbedtls/pk.h>
#include <mbedtls/platform_util.h>

#include "compiler/base/text.h"
#include "plan/container.h"
#include "plan/errors.h"
#include "plan/keys/key_text.h"

#define PEM_MAX      2048
#define SEQUENCE_MAX 72 /* bytes of the longest DER of two numbers of 32 bytes */
#define HALF_BYTES   32 /* bytes of r and of s */

void firnc_wipe(void *bytes, uint64_t count) {
    mbedtls_platform_zeroize(bytes, count);
}

/* --- random numbers ----------------------------------------------------------------------------------------------- */

typedef struct generator {
    mbedtls_entropy_context entropy;
    mbedtls_hmac_drbg_context drbg;
} generator;

static void generator_free(generator *random) {
    mbedtls_hmac_drbg_free(&random->drbg);
    mbedtls_entropy_free(&random->entropy);
}

static bool generator_start(generator *random) {
    mbedtls_entropy_init(&random->entropy);
    mbedtls_hmac_drbg_init(&random->drbg);
    if (mbedtls_hmac_drbg_seed(&random->drbg, mbedtls_md_info_from_type(MBEDTLS_MD_SHA256), mbedtls_entropy_func,
                               &random->entropy, NULL, 0) == 0)
        return true;
    generator_free(random);
    firnc_say("firnc: the system gives no random numbers; check /dev/urandom");
    return false;
}

/* --- keys to and from mbedTLS ------------------------------------------------------------------------------------- */

/* Writes the coordinates X and Y, the form in which a device stores the key. */
static bool export_public(const mbedtls_ecp_keypair *pair, uint8_t public_key[FIRN_PUBLIC_KEY_BYTES]) {
    uint8_t point[1 + FIRN_PUBLIC_KEY_BYTES];
    size_t count;
    if (mbedtls_ecp_write_public_key(pair, MBEDTLS_ECP_PF_UNCOMPRESSED, &count, point, sizeof point) != 0 ||
        count != sizeof point)
        return false;
    memcpy(public_key, point + 1, FIRN_PUBLIC_KEY_BYTES);
    return true;
}

static bool export_key(const mbedtls_ecp_keypair *pair, firnc_key *key) {
    size_t count;
    return mbedtls_ecp_write_key_ext(pair, &count, key->secret, sizeof key->secret) == 0 &&
           count == sizeof key->secret && export_public(pair, key->public_key);
}

/* Takes a public key that is a point of the curve. */
static bool import_public(const mbedtls_ecp_group *group, const uint8_t public_key[FIRN_PUBLIC_KEY_BYTES],
                          mbedtls_ecp_keypair *pair) {
    uint8_t bytes[1 + FIRN_PUBLIC_KEY_BYTES] = {0x04};
    memcpy(bytes + 1, public_key, FIRN_PUBLIC_KEY_BYTES);
    mbedtls_ecp_point point;
    mbedtls_ecp_point_init(&point);
    bool good = mbedtls_ecp_point_read_binary(group, &point, bytes, sizeof bytes) == 0 &&
                mbedtls_ecp_check_pubkey(group, &point) == 0 &&
                mbedtls_ecp_set_public_key(MBEDTLS_ECP_DP_SECP256R1, pair, &point) == 0;
    mbedtls_ecp_point_free(&point);
    return good;
}

/* Takes a key whose secret is in the range of the curve. */
static bool import_key(const firnc_key *key, mbedtls_ecp_keypair *pair) {
    mbedtls_ecp_group group;
    mbedtls_ecp_group_init(&group);
    bool good = mbedtls_ecp_group_load(&group, MBEDTLS_ECP_DP_SECP256R1) == 0 &&
                mbedtls_ecp_read_key(MBEDTLS_ECP_DP_SECP256R1, pair, key->secret, sizeof key->secret) == 0 &&
                import_public(&group, key->public_key, pair);
    mbedtls_ecp_group_free(&group);
    return good;
}

bool firnc_key_generate(firnc_key *key) {
    generator random;
    if (!generator_start(&random))
        return false;
    mbedtls_ecp_keypair pair;
    mbedtls_ecp_keypair_init(&pair);
    bool good = mbedtls_ecp_gen_key(MBEDTLS_ECP_DP_SECP256R1, &pair, mbedtls_hmac_drbg_random, &random.drbg) == 0 &&
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

/* Returns the key pair of a parsed key; NULL if it is not on the curve P-256. */
static mbedtls_ecp_keypair *p256(const mbedtls_pk_context *pk) {
    mbedtls_ecp_keypair *pair = mbedtls_pk_can_do(pk, MBEDTLS_PK_ECKEY) ? mbedtls_pk_ec(*pk) : NULL;
    const bool good = pair != NULL && mbedtls_ecp_keypair_get_group_id(pair) == MBEDTLS_ECP_DP_SECP256R1;
    return good ? pair : NULL;
}

/* Says what a file holds instead of the key that is wanted. */
static void tell_kind(const char *file, const firnc_bytes *bytes, bool is_private) {
    const firn_key_text text = firn_key_text_of(bytes->data, bytes->count, is_private);
    firnc_say("firnc: %s: holds %s%s, and %s; %s", file, text.form, text.of,
              is_private ? FIRN_KEY_WANTED_PRIVATE : FIRN_KEY_WANTED_PUBLIC, text.remedy);
}

/* Tries PEM, for which mbedTLS counts the terminating zero byte, then DER, which has none. A file without the public
 * key is complete, too: mbedTLS computes the public key, blinded with random numbers. */
static bool parse_private(mbedtls_pk_context *pk, const firnc_bytes *bytes, generator *random) {
    return mbedtls_pk_parse_key(pk, bytes->data, bytes->count + 1, NULL, 0, mbedtls_hmac_drbg_random, &random->drbg) ==
               0 ||
           mbedtls_pk_parse_key(pk, bytes->data, bytes->count, NULL, 0, mbedtls_hmac_drbg_random, &random->drbg) == 0;
}

/* Accepts only the form that the host runner does; mbedTLS checks that the point is on the curve. */
static bool parse_public(mbedtls_pk_context *pk, const firnc_bytes *bytes) {
    uint8_t key[FIRN_PUBLIC_KEY_BYTES];
    return firn_key_text_parse(key, (const char *)bytes->data, bytes->count) &&
           mbedtls_pk_parse_public_key(pk, bytes->data, bytes->count + 1) == 0;
}

/* Of a file with zero bytes that is not DER, the head is enough to say what it is. */
static uint64_t bytes_of_key(const uint8_t *head, uint64_t count) {
    return head[0] != 0x30 && memchr(head, 0, count) != NULL ? count : UINT64_MAX;
}

bool firnc_key_read(const char *file, firnc_key *key) {
    firnc_bytes bytes;
    generator random;
    if (!firnc_file_read_part(file, FIRN_KEY_FILE_MAX, bytes_of_key, &bytes))
        return false;
    if (!generator_start(&random)) {
        firnc_wipe(bytes.data, bytes.count);
        return false;
    }
    mbedtls_pk_context pk;
    mbedtls_pk_init(&pk);
    const mbedtls_ecp_keypair *pair = parse_private(&pk, &bytes, &random) ? p256(&pk) : NULL;
    const bool good = pair != NULL && export_key(pair, key);
    if (!good)
        tell_kind(file, &bytes, true);
    mbedtls_pk_free(&pk);
    generator_free(&random);
    firnc_wipe(bytes.data, bytes.count);
    return good;
}

bool firnc_public_key_read(const char *file, uint8_t public_key[FIRN_PUBLIC_KEY_BYTES]) {
    firnc_bytes bytes;
    if (!firnc_file_read_part(file, FIRN_KEY_FILE_MAX, bytes_of_key, &bytes))
        return false;
    mbedtls_pk_context pk;
    mbedtls_pk_init(&pk);
    const mbedtls_ecp_keypair *pair = parse_public(&pk, &bytes) ? p256(&pk) : NULL;
    const bool good = pair != NULL && export_public(pair, public_key);
    if (!good)
        tell_kind(file, &bytes, false);
    mbedtls_pk_free(&pk);
    return good;
}

#define DEVICE_KEY_BYTES 32

/* Says what a file holds that is no key of Firn: with the remedy for a secret key if it begins like one. */
static void tell_no_key(const char *file, const firnc_bytes *bytes) {
    const bool is_private = strstr((const char *)bytes->data, "PRIVATE KEY-----") != NULL;
    const firn_key_text text = firn_key_text_of(bytes->data, bytes->count, is_private);
    const bool is_none = strncmp(text.form, "no key", strlen("no key")) == 0;
    firnc_say(
        "firnc: %s: holds %s%s%s takes P-256, public in PEM or secret in PEM or DER without a password, and the %d "
        "bytes of firn train --device-key; %s",
        file, text.form, text.of, is_none ? ": Firn" : ", which Firn takes as no key: it", DEVICE_KEY_BYTES,
        text.remedy);
}

static bool identify(const firnc_bytes *bytes, generator *random, firnc_key_identity *identity) {
    mbedtls_pk_context pk;
    mbedtls_pk_init(&pk);
    const mbedtls_ecp_keypair *pair = parse_private(&pk, bytes, random) ? p256(&pk) : NULL;
    identity->kind = FIRNC_KEY_SECRET;
    if (pair == NULL) {
        mbedtls_pk_free(&pk);
        mbedtls_pk_init(&pk);
        pair = parse_public(&pk, bytes) ? p256(&pk) : NULL;
        identity->kind = FIRNC_KEY_PUBLIC;
    }
    const bool good = pair != NULL && export_public(pair, identity->public_key);
    mbedtls_pk_free(&pk);
    return good;
}

bool firnc_key_identify(const char *file, firnc_key_identity *identity) {
    firnc_bytes bytes;
    generator random;
    *identity = (firnc_key_identity){.kind = FIRNC_KEY_DEVICE};
    if (!firnc_file_read_part(file, FIRN_KEY_FILE_MAX, bytes_of_key, &bytes))
        return false;
    bool good = bytes.count == DEVICE_KEY_BYTES;
    const bool started = !good && generator_start(&random);
    if (started) {
        identity->is_der = bytes.count > 0 && bytes.data[0] == 0x30;
        good = identify(&bytes, &random, identity);
        generator_free(&random);
        if (!good)
            tell_no_key(file, &bytes);
    }
    firnc_wipe(bytes.data, bytes.count);
    return good;
}

/* --- signatures --------------------------------------------------------------------------------------------------- */

/* The random numbers only blind the computation; the signature does not depend on them. */
static bool make_signature(const mbedtls_ecp_keypair *pair, const uint8_t digest[32], uint8_t signature[64],
                           generator *random) {
    mbedtls_ecp_group group;
    mbedtls_mpi secret, r, s;
    mbedtls_ecp_group_init(&group);
    mbedtls_mpi_init(&secret);
    mbedtls_mpi_init(&r);
    mbedtls_mpi_init(&s);
    bool good = mbedtls_ecp_export(pair, &group, &secret, NULL) == 0 &&
                mbedtls_ecdsa_sign_det_ext(&group, &r, &s, &secret, digest, 32, MBEDTLS_MD_SHA256,
                                           mbedtls_hmac_drbg_random, &random->drbg) == 0 &&
                mbedtls_mpi_write_binary(&r, signature, HALF_BYTES) == 0 &&
                mbedtls_mpi_write_binary(&s, signature + HALF_BYTES, HALF_BYTES) == 0;
    mbedtls_mpi_free(&s);
    mbedtls_mpi_free(&r);
    mbedtls_mpi_free(&secret);
    mbedtls_ecp_group_free(&group);
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
    const firn_alive alive = {0};
    firn_trail trail = {0};
    int status = FIRN_ERROR_SIGNATURE;
    if (good)
        status = firn_signature_check(key->public_key, digest, signature, &alive, &trail);
    if (status != FIRN_OK)
        firnc_say("firnc: the signature that was made does not hold: %s; check the key and the machine's memory",
                  firn_error_text(status));
    return status == FIRN_OK;
}

/* Returns true if bytes are the one DER encoding of r and s. mbedTLS also reads others: longer lengths, more zeros, and
 * negative numbers as if they were not. */
static bool is_encoding_of(const firnc_bytes *bytes, const mbedtls_mpi *r, const mbedtls_mpi *s) {
    uint8_t encoded[SEQUENCE_MAX], *at = encoded + sizeof encoded;
    const int s_bytes = mbedtls_asn1_write_mpi(&at, encoded, s);
    const int r_bytes = s_bytes < 0 ? s_bytes : mbedtls_asn1_write_mpi(&at, encoded, r);
    if (r_bytes < 0 || mbedtls_asn1_write_len(&at, encoded, (size_t)r_bytes + (size_t)s_bytes) < 0 ||
        mbedtls_asn1_write_tag(&at, encoded, MBEDTLS_ASN1_CONSTRUCTED | MBEDTLS_ASN1_SEQUENCE) < 0)
        return false;
    const size_t count = (size_t)(encoded + sizeof encoded - at);
    return count == bytes->count && memcmp(at, bytes->data, count) == 0;
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
                mbedtls_asn1_get_mpi(&at, end, &s) == 0 && at == end && is_encoding_of(bytes, &r, &s) &&
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
