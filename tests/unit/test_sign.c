/* Tests keys, signatures and sealed plans: the test vector of RFC 6979, PEM files, and every check of firnc verify. */
#define _XOPEN_SOURCE 700

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "compiler/commands/commands.h"
#include "compiler/commands/report_read.h"
#include "compiler/emit/plan_file.h"
#include "compiler/emit/sign.h"
#include "plan/errors.h"
#include "tests/unit/support_recipes.h"
#include "tests/unit/support_test.h"

static char folder[] = P_tmpdir "/firn-sign-XXXXXX";

BEFORE_ALL {
    assert_non_null(mkdtemp(folder));
}

static const char *inside(const char *name) {
    return firnc_format("%s/%s", folder, name);
}

AFTER_ALL {
    static const char *const names[] = {"k.key.pem", "k.pub.pem", "raw", "der", "half.pub.pem", "plan"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        (void)unlink(inside(names[i]));
    assert_int_equal(rmdir(folder), 0);
}

static void hexadecimal(const char *text, uint8_t *bytes) {
    for (size_t i = 0; text[2 * i] != '\0'; i++) {
        const char pair[] = {text[2 * i], text[2 * i + 1], '\0'};
        bytes[i] = (uint8_t)strtoul(pair, NULL, 16);
    }
}

/* RFC 6979, A.2.5: the key, and its signature with SHA-256 of "sample". */
static firnc_key known_key(void) {
    firnc_key key;
    hexadecimal("c9afa9d845ba75166b5c215767b1d6934e50c3db36e89b127b8a622b120f6721", key.secret);
    hexadecimal("60fed4ba255a9d31c961eb74c6356d68c049b8923b61fa6ce669622e60f29fb6"
                "7903fe1008b8bc99a41ae9e95628bc64f2f1b20c2d7e9f5177a3c294d4462299",
                key.public_key);
    return key;
}

TEST(a_signature_is_that_of_rfc_6979) {
    uint8_t expected[64], signature[64], digest[32];
    hexadecimal("efd48b2aacb6a8fd1140dd9cd45e81d69d2c877b56aaf991c34d0ea84eaf3716"
                "f7cb1c942d657c41d436c7a1b6e29f65f3e900dbb9aff4064dc4ab2f843acda8",
                expected);
    firnc_key key = known_key();
    assert_int_equal(firn_sha256_of("sample", 6, digest), FIRN_OK);
    assert_true(firnc_sign(&key, digest, signature));
    assert_memory_equal(signature, expected, sizeof signature);
}

TEST(a_key_that_is_not_one_signs_nothing) {
    uint8_t signature[64], digest[32] = {1};
    firnc_key key = known_key();
    key.public_key[0] ^= 1; /* not on the curve */
    assert_false(firnc_sign(&key, digest, signature));
    key = known_key();
    memset(key.secret, 0, sizeof key.secret);
    assert_false(firnc_sign(&key, digest, signature));
    firnc_key other;
    assert_true(firnc_key_generate(&other));
    key = known_key();
    memcpy(key.public_key, other.public_key, sizeof key.public_key); /* the public key of another pair */
    assert_false(firnc_sign(&key, digest, signature));
}

/* --- keygen ------------------------------------------------------------------------------------------------------- */

static int keygen(const char *name) {
    char *argv[] = {(char *)(uintptr_t) "keygen", (char *)(uintptr_t)name, NULL};
    return firnc_keygen_command(2, argv);
}

TEST(keygen_writes_a_pair_and_never_over_one) {
    firnc_key key;
    uint8_t public_key[FIRN_PUBLIC_KEY_BYTES];
    assert_int_equal(keygen(inside("k")), FIRNC_EXIT_OK);
    struct stat status;
    assert_int_equal(stat(inside("k.key.pem"), &status), 0);
    assert_int_equal(status.st_mode & 0777, 0600);
    assert_true(firnc_key_read(inside("k.key.pem"), &key));
    assert_true(firnc_public_key_read(inside("k.pub.pem"), public_key));
    assert_memory_equal(key.public_key, public_key, sizeof public_key);

    firnc_bytes before, after;
    assert_true(firnc_file_read(inside("k.key.pem"), 4096, &before));
    assert_int_equal(keygen(inside("k")), FIRNC_EXIT_WRONG);
    assert_true(firnc_file_read(inside("k.key.pem"), 4096, &after));
    assert_int_equal(before.count, after.count);
    assert_memory_equal(before.data, after.data, before.count);

    /* If only the public key file exists, the command fails and leaves no private key behind. */
    assert_true(firnc_file_write(inside("half.pub.pem"), "x", 1));
    assert_int_equal(keygen(inside("half")), FIRNC_EXIT_WRONG);
    assert_int_not_equal(access(inside("half.key.pem"), F_OK), 0);
}

/* firn reads only PEM, so firnc verify must refuse other formats, too. */
TEST(a_public_key_is_pem) {
    static const uint8_t prefix[] = {0x30, 0x59, 0x30, 0x13, 0x06, 0x07, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01, 0x06,
                                     0x08, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x03, 0x01, 0x07, 0x03, 0x42, 0x00, 0x04};
    firnc_key key = known_key();
    uint8_t public_key[FIRN_PUBLIC_KEY_BYTES], der[sizeof prefix + FIRN_PUBLIC_KEY_BYTES];
    assert_true(firnc_public_key_read(inside("k.pub.pem"), public_key));
    assert_true(firnc_file_write(inside("raw"), key.public_key, sizeof key.public_key));
    assert_false(firnc_public_key_read(inside("raw"), public_key));
    memcpy(der, prefix, sizeof prefix);
    memcpy(der + sizeof prefix, key.public_key, sizeof key.public_key);
    assert_true(firnc_file_write(inside("der"), der, sizeof der));
    assert_false(firnc_public_key_read(inside("der"), public_key));
    assert_false(firnc_public_key_read(inside("k.key.pem"), public_key));
    assert_false(firnc_key_read(inside("k.pub.pem"), &key));
    assert_false(firnc_key_read(inside("nothing"), &key));
}

TEST(der_becomes_raw) {
    /* SEQUENCE { INTEGER r, INTEGER s }. The first bit of r is set, so DER puts a zero byte before it; s begins with
     * two zero bytes, which DER omits. */
    static const uint8_t before_r[] = {0x30, 0x43, 0x02, 0x21, 0x00}, before_s[] = {0x02, 0x1e};
    uint8_t raw[64], expected[64] = {0}, der[5 + 32 + 2 + 30];
    memset(expected, 0x95, 32);
    memset(expected + 34, 0x17, 30);
    memcpy(der, before_r, 5);
    memcpy(der + 5, expected, 32);
    memcpy(der + 37, before_s, 2);
    memcpy(der + 39, expected + 34, 30);
    assert_true(firnc_signature_decode(&(firnc_bytes){.data = der, .count = sizeof der}, raw));
    assert_memory_equal(raw, expected, sizeof raw);
    for (uint64_t count = 0; count < sizeof der; count++)
        if (count != 64)
            assert_false(firnc_signature_decode(&(firnc_bytes){.data = der, .count = count}, raw));
}

/* --- sealed plans ------------------------------------------------------------------------------------------------- */

/* Returns an unsigned plan of a small model, for the known key. */
static firnc_bytes sealed(uint32_t security_counter) {
    static test_recipe recipe;
    recipe = test_mlp_recipe();
    recipe.job.security_counter = security_counter;
    firnc_compilation compilation = test_compilation_through(&recipe, firnc_lower);
    return test_seal(&compilation, known_key().public_key);
}

static firnc_bytes signed_plan(uint32_t security_counter) {
    firnc_bytes file = sealed(security_counter);
    uint8_t digest[32], signature[64];
    firnc_key key = known_key();
    assert_true(firnc_plan_prepare("plan", &file, digest));
    assert_true(firnc_sign(&key, digest, signature));
    firnc_plan_attach(&file, signature);
    return file;
}

static int check(const firnc_bytes *file, uint32_t counter) {
    firnc_plan_file checked;
    firnc_key key = known_key();
    return firnc_plan_check(file, key.public_key, counter, &checked);
}

TEST(a_signed_plan_passes) {
    firnc_bytes file = signed_plan(4), again = signed_plan(4);
    assert_int_equal(file.count, again.count);
    assert_memory_equal(file.data, again.data, file.count);
    assert_int_equal(check(&file, 0), FIRN_OK);
    assert_int_equal(check(&file, 4), FIRN_OK);
    assert_int_equal(check(&file, 5), FIRN_ERROR_SECURITY_COUNTER);
}

static void expect_model(const firnc_bytes *file, const firn_header *header, const char *model) {
    cJSON *report = firnc_report_of(file, header);
    assert_string_equal(cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(report, "model")), model);
    cJSON_Delete(report);
}

TEST(an_unsigned_plan_is_only_looked_at) {
    firnc_bytes file = sealed(0);
    firnc_plan_file checked;
    assert_int_equal(check(&file, 0), FIRN_ERROR_UNSIGNED);
    assert_int_equal(firnc_plan_check(&file, NULL, 0, &checked), FIRN_OK);
    expect_model(&file, &checked.header, "mlp");
}

TEST(another_key_is_told_from_a_bad_signature) {
    firnc_bytes file = signed_plan(0);
    firnc_plan_file checked;
    firnc_key other;
    assert_true(firnc_key_generate(&other));
    assert_int_equal(firnc_plan_check(&file, other.public_key, 0, &checked), FIRN_ERROR_WRONG_KEY);
    file.data[FIRN_PAYLOAD_OFFSET - 1] ^= 1;
    assert_int_equal(check(&file, 0), FIRN_ERROR_SIGNATURE);
}

TEST(a_plan_that_was_touched_is_refused) {
    firnc_bytes file = signed_plan(0);
    for (uint64_t i = 0; i < file.count; i += i < FIRN_HEADER_BYTES ? 16 : 997) {
        file.data[i] ^= 0x10;
        assert_int_not_equal(check(&file, 0), FIRN_OK);
        file.data[i] ^= 0x10;
    }
    firnc_bytes shorter = file;
    shorter.count--;
    assert_int_equal(check(&shorter, 0), FIRN_ERROR_TRUNCATED);
    assert_int_equal(check(&file, 0), FIRN_OK);
}

TEST(the_run_hash_must_be_that_of_the_payload) {
    firnc_bytes file = signed_plan(0);
    firn_header header;
    assert_int_equal(firn_header_decode(&header, file.data, file.count), FIRN_OK);
    header.run_hash[0] ^= 1;
    firn_header_encode(&header, file.data);
    uint8_t digest[32], signature[64];
    firnc_key key = known_key();
    assert_int_equal(firn_sha256_of(file.data, FIRN_HEADER_BYTES, digest), FIRN_OK);
    assert_true(firnc_sign(&key, digest, signature));
    firnc_plan_attach(&file, signature);
    assert_int_equal(check(&file, 0), FIRN_ERROR_RUN_HASH);
}

/* --- files -------------------------------------------------------------------------------------------------------- */

TEST(a_file_is_replaced_whole_or_not_at_all) {
    firnc_bytes bytes;
    assert_true(firnc_file_write(inside("plan"), "old", 3));
    assert_true(firnc_file_write(inside("plan"), "newer", 5));
    assert_true(firnc_file_read(inside("plan"), 100, &bytes));
    assert_int_equal(bytes.count, 5);
    assert_memory_equal(bytes.data, "newer", 5);
    assert_false(firnc_file_read(inside("plan"), 4, &bytes));
    assert_false(firnc_file_write(folder, "x", 1));
    assert_false(firnc_file_write("/dev/null", "x", 1));
    assert_false(firnc_file_write(inside("missing/plan"), "x", 1));
    struct stat status;
    assert_int_equal(stat("/dev/null", &status), 0);
    assert_true(S_ISCHR(status.st_mode));
}
