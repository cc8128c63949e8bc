/* Tests SHA-256, the key hash and the verification of signatures: the public vectors of RFC 6979, A.2.5 (P-256 with
 * SHA-256), and every way of damaging them. */
#include <string.h>

#include <mbedtls/sha256.h>

#include "plan/errors.h"
#include "plan/signature.h"
#include "tests/unit/support_test.h"

#define KEY_X    "60FED4BA255A9D31C961EB74C6356D68C049B8923B61FA6CE669622E60F29FB6"
#define KEY_Y    "7903FE1008B8BC99A41AE9E95628BC64F2F1B20C2D7E9F5177A3C294D4462299"
#define SAMPLE_R "EFD48B2AACB6A8FD1140DD9CD45E81D69D2C877B56AAF991C34D0EA84EAF3716"
#define SAMPLE_S "F7CB1C942D657C41D436C7A1B6E29F65F3E900DBB9AFF4064DC4AB2F843ACDA8"
#define TEST_R   "F1ABB023518351CD71D881567B1EA663ED3EFCF6C5132B354F28D3B0B7D38367"
#define TEST_S   "019F4113742A2B14BD25926B49C649155F267E60D3814B4C0CC84250E46F0083"
/* Constants of the curve: its generator, used as a valid key that did not sign anything here, its order and its prime.
 */
#define OTHER_X "6B17D1F2E12C4247F8BCE6E563A440F277037D812DEB33A0F4A13945D898C296"
#define OTHER_Y "4FE342E2FE1A7F9B8EE7EB4A7C0F9E162BCE33576B315ECECBB6406837BF51F5"
#define ORDER   "FFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551"
#define PRIME   "FFFFFFFF00000001000000000000000000000000FFFFFFFFFFFFFFFFFFFFFFFF"
#define ZERO    "0000000000000000000000000000000000000000000000000000000000000000"

static uint8_t key[FIRN_PUBLIC_KEY_BYTES], signature[64], digest[32];

static uint8_t nibble(char c) {
    return (uint8_t)(c <= '9' ? c - '0' : c - 'A' + 10);
}

static void read_hex(uint8_t *bytes, const char *hex) {
    for (size_t i = 0; i < 32; i++)
        bytes[i] = (uint8_t)(nibble(hex[2 * i]) << 4 | nibble(hex[2 * i + 1]));
}

static void expect_hex(const uint8_t bytes[32], const char *hex) {
    uint8_t wanted[32];
    read_hex(wanted, hex);
    assert_memory_equal(bytes, wanted, 32);
}

/* Computes a = a - b, big-endian, modulo 2^256. */
static void subtract(uint8_t *a, const uint8_t *b) {
    int borrow = 0;
    for (size_t i = 32; i-- > 0;) {
        int value = a[i] - b[i] - borrow;
        borrow = value < 0 ? 1 : 0;
        a[i] = (uint8_t)value;
    }
}

BEFORE_EACH {
    read_hex(key, KEY_X);
    read_hex(key + 32, KEY_Y);
    read_hex(signature, SAMPLE_R);
    read_hex(signature + 32, SAMPLE_S);
    assert_int_equal(firn_sha256_of("sample", 6, digest), FIRN_OK);
}

static int check(void) {
    const firn_alive alive = {0};
    firn_trail trail = {0};
    return firn_signature_check(key, digest, signature, &alive, &trail);
}

/* Compares the hash of this build, which may use special CPU instructions, with the other build of
 * mbedTLS, the one that signs, which has none. */
TEST(sha256_is_another_librarys) {
    uint8_t bytes[2000], hash[32], expected[32];
    uint32_t random = 1;
    for (size_t i = 0; i < sizeof bytes; i++) {
        random = random * 1664525u + 1013904223u;
        bytes[i] = (uint8_t)(random >> 24);
    }
    for (size_t first = 0; first < 17; first++)
        for (size_t count = 0; count + first <= sizeof bytes; count += 1 + count / 16) {
            assert_int_equal(firn_sha256_of(bytes + first, count, hash), FIRN_OK);
            assert_int_equal(mbedtls_sha256(bytes + first, count, expected, 0), 0);
            assert_memory_equal(hash, expected, sizeof hash);
        }
}

TEST(sha256_vectors) {
    uint8_t hash[32];
    firn_sha256 running = {{0}};
    static uint8_t million[1000000];
    assert_int_equal(firn_sha256_of("", 0, hash), FIRN_OK);
    expect_hex(hash, "E3B0C44298FC1C149AFBF4C8996FB92427AE41E4649B934CA495991B7852B855");
    assert_int_equal(firn_sha256_of("abc", 3, hash), FIRN_OK);
    expect_hex(hash, "BA7816BF8F01CFEA414140DE5DAE2223B00361A396177A9CB410FF61F20015AD");
    memset(million, 'a', sizeof million);
    for (size_t piece = 1; piece < 200000; piece = 3 * piece + 1) {
        assert_int_equal(firn_sha256_begin(&running), FIRN_OK);
        for (size_t at = 0; at < sizeof million; at += piece)
            assert_int_equal(
                firn_sha256_update(&running, million + at, sizeof million - at < piece ? sizeof million - at : piece),
                FIRN_OK);
        assert_int_equal(firn_sha256_end(&running, hash), FIRN_OK);
        expect_hex(hash, "CDC76E5C9914FB9281A1C7E284D73E67F1809A48A497200E046D39CCC7112CD0");
    }
}

TEST(key_hash_is_that_of_the_uncompressed_point) {
    uint8_t point[65] = {0x04}, wanted[32], hash[32];
    memcpy(point + 1, key, sizeof key);
    assert_int_equal(firn_sha256_of(point, sizeof point, wanted), FIRN_OK);
    assert_int_equal(firn_key_hash(key, hash), FIRN_OK);
    assert_memory_equal(hash, wanted, sizeof hash);
}

TEST(public_vectors) {
    assert_int_equal(check(), FIRN_OK);
    read_hex(signature, TEST_R);
    read_hex(signature + 32, TEST_S);
    assert_int_equal(check(), FIRN_ERROR_SIGNATURE);
    assert_int_equal(firn_sha256_of("test", 4, digest), FIRN_OK);
    assert_int_equal(check(), FIRN_OK);
}

/* A second valid signature (r, n - s) exists for the same digest, which is why a signature must not serve as an
 * identity. */
TEST(the_mirrored_signature_is_good_too) {
    uint8_t mirrored[32];
    read_hex(mirrored, ORDER);
    subtract(mirrored, signature + 32);
    memcpy(signature + 32, mirrored, 32);
    assert_int_equal(check(), FIRN_OK);
}

TEST(every_bit_of_signature_and_digest_counts) {
    for (unsigned bit = 0; bit < 512; bit++) {
        signature[bit / 8] ^= (uint8_t)(1u << bit % 8);
        assert_int_equal(check(), FIRN_ERROR_SIGNATURE);
        signature[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
    for (unsigned bit = 0; bit < 256; bit++) {
        digest[bit / 8] ^= (uint8_t)(1u << bit % 8);
        assert_int_equal(check(), FIRN_ERROR_SIGNATURE);
        digest[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
    assert_int_equal(check(), FIRN_OK);
}

TEST(r_and_s_out_of_range) {
    static const char *const bad[] = {ZERO, ORDER, PRIME,
                                      "FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF"};
    for (size_t r = 0; r < 5; r++)
        for (size_t s = 0; s < 5; s++) {
            if (r == 4 && s == 4)
                continue;
            read_hex(signature, r == 4 ? SAMPLE_R : bad[r]);
            read_hex(signature + 32, s == 4 ? SAMPLE_S : bad[s]);
            assert_int_equal(check(), FIRN_ERROR_SIGNATURE);
        }
}

TEST(another_key) {
    uint8_t negative[32];
    read_hex(negative, PRIME);
    subtract(negative, key + 32);
    memcpy(key + 32, negative, 32); /* a point on the curve, too */
    assert_int_equal(check(), FIRN_ERROR_SIGNATURE);
    read_hex(key, OTHER_X);
    read_hex(key + 32, OTHER_Y);
    assert_int_equal(check(), FIRN_ERROR_SIGNATURE);
}

TEST(a_key_that_is_not_on_the_curve) {
    for (unsigned bit = 0; bit < 512; bit++) {
        key[bit / 8] ^= (uint8_t)(1u << bit % 8);
        assert_int_equal(check(), FIRN_ERROR_KEY);
        key[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
    read_hex(key, ZERO);
    assert_int_equal(check(), FIRN_ERROR_KEY);
    read_hex(key + 32, ZERO);
    assert_int_equal(check(), FIRN_ERROR_KEY);
    read_hex(key, PRIME);
    assert_int_equal(check(), FIRN_ERROR_KEY);
}
