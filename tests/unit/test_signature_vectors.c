/* Signatures at the edges of ECDSA on P-256: those of tests/golden/signatures.py, whose verdicts come from a verifier
 * of its own, and the published list of Wycheproof. None may be accepted that does not hold, or refused that does. */
#include <stdio.h>
#include <string.h>

#include "compiler/emit/sign.h"
#include "plan/errors.h"
#include "plan/signature.h"
#include "tests/unit/support_test.h"

enum { LINE_MAX_BYTES = 16384, SIGNATURE_MAX = 8192 };

static uint8_t key[FIRN_PUBLIC_KEY_BYTES];
static unsigned accepted, refused;

/* Reads a hexadecimal number; "-" stands for no bytes. Returns how many bytes it has. */
static size_t read_hex(const char *word, uint8_t *bytes, size_t most) {
    size_t count = 0;
    for (; word[0] != '-' && word[0] != '\0'; word += 2, count++) {
        unsigned byte;
        assert_true(count < most);
        assert_int_equal(sscanf(word, "%2x", &byte), 1);
        bytes[count] = (uint8_t)byte;
    }
    return count;
}

static const char *next_word(void) {
    const char *word = strtok(NULL, " \n");
    assert_non_null(word);
    return word;
}

static void read_key(void) {
    assert_int_equal(read_hex(next_word(), key, 32), 32);
    assert_int_equal(read_hex(next_word(), key + 32, 32), 32);
}

static int check_as_device(const uint8_t digest[32], const uint8_t signature[64]) {
    const firn_alive alive = {0};
    firn_trail trail = {0};
    const uint32_t passed = firn_trail_next(0, FIRN_TRAIL_SIGNATURE, 0);
    const int status = firn_signature_check(key, digest, signature, &alive, &trail);
    assert_int_equal(trail.first == passed && trail.second == passed, status == FIRN_OK);
    return status;
}

/* Returns what a device says of a raw signature, and SIGNATURE for one of another length, which a plan cannot hold. */
static int check_raw(const uint8_t digest[32], const uint8_t *signature, size_t count) {
    return count == 64 ? check_as_device(digest, signature) : FIRN_ERROR_SIGNATURE;
}

/* Returns what a device says of a DER signature that firnc attaches; SIGNATURE if firnc does not take it. */
static int check_der(const uint8_t digest[32], uint8_t *signature, size_t count) {
    uint8_t raw[64];
    const firnc_bytes bytes = {.data = signature, .count = count};
    return firnc_signature_decode(&bytes, raw) ? check_as_device(digest, raw) : FIRN_ERROR_SIGNATURE;
}

static void check_case(const char *kind) {
    uint8_t digest[32], signature[SIGNATURE_MAX];
    assert_int_equal(read_hex(next_word(), digest, sizeof digest), sizeof digest);
    const char *hex = next_word(), *verdict = next_word();
    const size_t count = read_hex(hex, signature, sizeof signature);
    const int status =
        strcmp(kind, "der") == 0 ? check_der(digest, signature, count) : check_raw(digest, signature, count);
    const int expected = strcmp(verdict, "ok") == 0    ? FIRN_OK
                         : strcmp(verdict, "key") == 0 ? FIRN_ERROR_KEY
                                                       : FIRN_ERROR_SIGNATURE;
    if (status != expected)
        print_error("%s instead of %s: %s\n", firn_error_name(status), verdict, hex);
    assert_int_equal(status, expected);
    accepted += status == FIRN_OK;
    refused += status != FIRN_OK;
}

static void check_file(const char *name) {
    char line[LINE_MAX_BYTES];
    FILE *file = fopen(name, "r");
    assert_non_null(file);
    accepted = refused = 0;
    while (fgets(line, sizeof line, file) != NULL) {
        const char *kind = strtok(line, " \n");
        if (kind == NULL || kind[0] == '#')
            continue;
        if (strcmp(kind, "key") == 0)
            read_key();
        else
            check_case(kind);
    }
    assert_int_equal(ferror(file), 0);
    fclose(file);
    print_message("%s: %u accepted, %u refused, as they should be\n", name, accepted, refused);
}

TEST(edges) {
    check_file("tests/golden/signatures.golden");
    assert_true(accepted > 500 && refused > 500);
}

TEST(the_published_list) {
    check_file("tests/golden/signatures_reference.golden");
    assert_int_equal(accepted, 173 + 174);
    assert_int_equal(refused, 89 + 310);
}
