/* Reads public keys: PEM with a SubjectPublicKeyInfo of an uncompressed P-256 point, which always begins with the same
 * bytes. The parser accepts exactly this form; the check of a signature finds out whether the point is on the curve. */
#include <string.h>
#include <unistd.h>

#include "runtime/targets/host/host.h"

/* SEQUENCE { SEQUENCE { id-ecPublicKey, prime256v1 }, BIT STRING { 0x04, X, Y } } up to and including 0x04. */
static const uint8_t prefix[27] = {0x30, 0x59, 0x30, 0x13, 0x06, 0x07, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01, 0x06,
                                   0x08, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x03, 0x01, 0x07, 0x03, 0x42, 0x00, 0x04};

#define KEY_BYTES (sizeof prefix + FIRN_PUBLIC_KEY_BYTES) /* 91, a multiple of 3 and 1 */

/* Value of a base64 digit, or -1. */
static int digit(char c) {
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const char *at = c == 0 ? NULL : strchr(digits, c);
    return at == NULL ? -1 : (int)(at - digits);
}

/* Returns the length of `word` if the text begins with it, else 0. */
static size_t begins(const char *text, size_t length, const char *word) {
    size_t size = strlen(word);
    return length >= size && memcmp(text, word, size) == 0 ? size : 0;
}

bool firn_host_key_parse(uint8_t key[FIRN_PUBLIC_KEY_BYTES], const char *text, size_t length) {
    static const char first[] = "-----BEGIN PUBLIC KEY-----", last[] = "-----END PUBLIC KEY-----";
    uint8_t der[KEY_BYTES];
    size_t at = begins(text, length, first), count = 0;
    uint32_t bits = 0, held = 0;
    if (at == 0)
        return false;
    for (; at < length && text[at] != '-' && text[at] != '='; at++) {
        if (text[at] == '\n' || text[at] == '\r')
            continue;
        int value = digit(text[at]);
        if (value < 0 || count == KEY_BYTES)
            return false;
        bits = bits << 6 | (uint32_t)value;
        held += 6;
        if (held >= 8) {
            held -= 8;
            der[count++] = (uint8_t)(bits >> held);
        }
    }
    /* 91 bytes leave four bits over, which must be zero, and two padding characters. */
    if (count != KEY_BYTES || held != 4 || (bits & 15) != 0 || begins(text + at, length - at, "==") == 0)
        return false;
    at += 2;
    while (at < length && (text[at] == '\n' || text[at] == '\r'))
        at++;
    size_t closing = begins(text + at, length - at, last);
    if (closing == 0 || memcmp(der, prefix, sizeof prefix) != 0)
        return false;
    for (at += closing; at < length; at++)
        if (text[at] != '\n' && text[at] != '\r')
            return false;
    memcpy(key, der + sizeof prefix, FIRN_PUBLIC_KEY_BYTES);
    return true;
}

bool firn_host_key_load(uint8_t key[FIRN_PUBLIC_KEY_BYTES], const char *path) {
    char text[512];
    uint64_t bytes;
    int file = firn_host_open(path, true, &bytes);
    if (file < 0)
        return false;
    int64_t length = firn_host_read(file, text, sizeof text);
    close(file);
    bool whole = length >= 0 && (size_t)length < sizeof text;
    if (!whole || !firn_host_key_parse(key, text, (size_t)length))
        return firn_host_fail(path, "is not a P-256 public key in PEM; give the NAME.pub.pem that firnc keygen wrote");
    return true;
}
