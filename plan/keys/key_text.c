/* Reads public keys in PEM, and describes files that hold no key of the wanted kind (plan/keys/key_text.h). The reader
 * takes a SubjectPublicKeyInfo of an uncompressed P-256 point, which always begins with the same bytes; the check of a
 * signature finds out whether the point is on the curve. Other keys are recognised by the label of PEM and by the
 * object identifiers in their bytes; the structure around those is not read. */
#include "plan/keys/key_text.h"

#include <stdint.h>
#include <string.h>

#include "plan/keys/file_kind.h"

#define DER_MAX 2048 /* bytes of a key that are looked at */

/* Remedies. */
#define PAIR_PUBLIC  "make a pair with firnc keygen NAME and give its NAME.pub.pem"
#define PAIR_PRIVATE "make a pair with firnc keygen NAME and give its NAME.key.pem"
#define REWRITE      "openssl pkey -pubin -in FILE -pubout -out NAME.pub.pem writes the key by itself"

/* --- the one form of a public key --------------------------------------------------------------------------------- */

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

/* What has been decoded of a text in base64. */
typedef struct decoded {
    uint32_t bits, held; /* held: how many of the lowest bits are not in a byte yet */
    size_t count;        /* bytes */
} decoded;

/* Adds a digit, which may complete a byte. */
static void add_digit(decoded *d, int value, uint8_t *bytes) {
    d->bits = d->bits << 6 | (uint32_t)value;
    d->held += 6;
    if (d->held >= 8) {
        d->held -= 8;
        bytes[d->count++] = (uint8_t)(d->bits >> d->held);
    }
}

/* Returns the length of `word` if the text begins with it, else 0. */
static size_t length_of(const char *text, size_t length, const char *word) {
    size_t size = strlen(word);
    return length >= size && memcmp(text, word, size) == 0 ? size : 0;
}

bool firn_key_text_parse(uint8_t key[FIRN_PUBLIC_KEY_BYTES], const char *text, size_t length) {
    static const char first[] = "-----BEGIN PUBLIC KEY-----", last[] = "-----END PUBLIC KEY-----";
    uint8_t der[KEY_BYTES];
    size_t at = length_of(text, length, first);
    decoded d = {0};
    if (at == 0)
        return false;
    for (; at < length && text[at] != '-' && text[at] != '='; at++) {
        if (text[at] == '\n' || text[at] == '\r')
            continue;
        int value = digit(text[at]);
        if (value < 0 || d.count == KEY_BYTES)
            return false;
        add_digit(&d, value, der);
    }
    /* 91 bytes leave four bits over, which must be zero, and two padding characters. */
    if (d.count != KEY_BYTES || d.held != 4 || (d.bits & 15) != 0 || length_of(text + at, length - at, "==") == 0)
        return false;
    at += 2;
    while (at < length && (text[at] == '\n' || text[at] == '\r'))
        at++;
    size_t closing = length_of(text + at, length - at, last);
    if (closing == 0 || memcmp(der, prefix, sizeof prefix) != 0)
        return false;
    for (at += closing; at < length; at++)
        if (text[at] != '\n' && text[at] != '\r')
            return false;
    memcpy(key, der + sizeof prefix, FIRN_PUBLIC_KEY_BYTES);
    return true;
}

/* --- bytes -------------------------------------------------------------------------------------------------------- */

/* The first place of some bytes in others, or NULL. */
static const uint8_t *find(const uint8_t *in, size_t count, const void *what, size_t length) {
    for (size_t i = 0; length <= count && i <= count - length; i++)
        if (memcmp(in + i, what, length) == 0)
            return in + i;
    return NULL;
}

static bool begins(const uint8_t *bytes, size_t count, const char *with) {
    return count >= strlen(with) && memcmp(bytes, with, strlen(with)) == 0;
}

static const uint8_t *find_text(const uint8_t *in, size_t count, const char *text) {
    return find(in, count, text, strlen(text));
}

/* Decodes base64 up to the next '-', ignoring every other character. Returns the number of bytes. */
static size_t decode(const uint8_t *text, size_t count, uint8_t der[DER_MAX]) {
    decoded d = {0};
    for (size_t i = 0; i < count && text[i] != '-' && d.count < DER_MAX; i++) {
        const int value = digit((char)text[i]);
        if (value >= 0)
            add_digit(&d, value, der);
    }
    return d.count;
}

/* --- algorithms --------------------------------------------------------------------------------------------------- */

enum { OTHER, P256, EXPLICIT };

/* Encoded object identifiers, each with its tag and length; the first that occurs in a key counts. A curve so comes
 * before an identifier that keys of several curves have. */
static const struct {
    const char *encoded;
    size_t length;
    int kind;
    const char *of;
} algorithms[] = {
    {"\x06\x08\x2a\x86\x48\xce\x3d\x03\x01\x07", 10, P256, " of the curve P-256"},
    {"\x06\x05\x2b\x81\x04\x00\x22", 7, OTHER, " of the curve P-384"},
    {"\x06\x05\x2b\x81\x04\x00\x23", 7, OTHER, " of the curve P-521"},
    {"\x06\x05\x2b\x81\x04\x00\x21", 7, OTHER, " of the curve P-224"},
    {"\x06\x05\x2b\x81\x04\x00\x0a", 7, OTHER, " of the curve secp256k1"},
    {"\x06\x08\x2a\x86\x48\xce\x3d\x03\x01", 9, OTHER, " of the curve P-192 or another early one"},
    {"\x06\x09\x2b\x24\x03\x03\x02\x08\x01\x01", 10, OTHER, " of a Brainpool curve"},
    {"\x06\x08\x2a\x81\x1c\xcf\x55\x01\x82\x2d", 10, OTHER, " of the curve SM2"},
    {"\x06\x03\x2b\x65\x70", 5, OTHER, " of Ed25519"},
    {"\x06\x03\x2b\x65\x71", 5, OTHER, " of Ed448"},
    {"\x06\x03\x2b\x65\x6e", 5, OTHER, " of X25519, which cannot sign"},
    {"\x06\x03\x2b\x65\x6f", 5, OTHER, " of X448, which cannot sign"},
    {"\x06\x07\x2a\x86\x48\xce\x3d\x01\x01", 9, EXPLICIT, " of a curve that is given by its numbers and not by name"},
    {"\x06\x09\x2a\x86\x48\x86\xf7\x0d\x01\x01", 10, OTHER, " of RSA"},
    {"\x06\x07\x2a\x86\x48\xce\x38\x04\x01", 9, OTHER, " of DSA"},
    {"\x06\x09\x2a\x86\x48\x86\xf7\x0d\x01\x03\x01", 11, OTHER, " of Diffie-Hellman, which cannot sign"},
};

typedef struct algorithm {
    int kind;
    const char *of;
} algorithm;

static algorithm algorithm_of(const uint8_t *der, size_t count) {
    for (size_t i = 0; i < sizeof algorithms / sizeof algorithms[0]; i++)
        if (find(der, count, algorithms[i].encoded, algorithms[i].length) != NULL)
            return (algorithm){algorithms[i].kind, algorithms[i].of};
    return (algorithm){OTHER, ""};
}

/* Whether the BIT STRING of a public key holds a compressed point: one coordinate and a byte 2 or 3. */
static bool is_compressed(const uint8_t *der, size_t count) {
    return find(der, count, "\x03\x22\x00\x02", 4) != NULL || find(der, count, "\x03\x22\x00\x03", 4) != NULL;
}

/* --- descriptions ------------------------------------------------------------------------------------------------- */

/* A description of something that no command makes a key of: the remedy is to make a new pair. */
static firn_key_text new_pair(const char *form, const char *of, bool is_private) {
    return (firn_key_text){form, of, is_private ? PAIR_PRIVATE : PAIR_PUBLIC};
}

/* A public key where a public key is wanted: of another kind, in another form, or with other text around it. */
static firn_key_text public_key(const uint8_t *der, size_t der_count, bool alone, bool is_der) {
    const algorithm a = algorithm_of(der, der_count);
    const char *form = is_der ? "a public key in DER" : "a public key";
    if (a.kind == EXPLICIT)
        return (firn_key_text){form, a.of,
                               "openssl ec -pubin -in FILE -param_enc named_curve -pubout -out NAME.pub.pem names it, "
                               "if it is P-256"};
    if (a.kind != P256)
        return new_pair(form, a.of, false);
    if (is_compressed(der, der_count))
        return (firn_key_text){form, " of the curve P-256 as a compressed point",
                               is_der ? "openssl ec -pubin -inform DER -in FILE -conv_form uncompressed -pubout -out "
                                        "NAME.pub.pem writes it whole"
                                      : "openssl ec -pubin -in FILE -conv_form uncompressed -pubout -out NAME.pub.pem "
                                        "writes it whole"};
    if (is_der)
        return (firn_key_text){form, a.of,
                               "openssl pkey -pubin -inform DER -in FILE -pubout -out NAME.pub.pem writes PEM"};
    if (!alone)
        return (firn_key_text){"a public key of the curve P-256", " with other text around it", REWRITE};
    return (firn_key_text){"a public key of the curve P-256", " that is damaged",
                           "give the file that firnc keygen wrote"};
}

/* A private key: its public half is wanted, or the key is of another kind, or damaged. */
static firn_key_text private_key(const uint8_t *der, size_t der_count, bool is_der, bool is_private) {
    const algorithm a = algorithm_of(der, der_count);
    const char *form = is_der ? "a private key in DER" : "a private key";
    if (is_private && a.kind == P256)
        return (firn_key_text){form, " of the curve P-256 that is damaged", "give the file that firnc keygen wrote"};
    if (is_private || a.kind != P256)
        return new_pair(form, a.of, is_private);
    return (firn_key_text){form, a.of,
                           is_der ? "openssl pkey -inform DER -in FILE -pubout -out NAME.pub.pem writes its public half"
                                  : "give the NAME.pub.pem beside it, or write it with openssl pkey -in FILE -pubout "
                                    "-out NAME.pub.pem"};
}

static firn_key_text certificate(const uint8_t *der, size_t count, bool is_der, bool is_private) {
    const algorithm a = algorithm_of(der, count);
    if (is_private || a.kind != P256)
        return new_pair("a certificate", a.of, is_private);
    return (firn_key_text){"a certificate", a.of,
                           is_der
                               ? "openssl x509 -inform DER -in FILE -pubkey -noout >NAME.pub.pem writes its public key"
                               : "openssl x509 -in FILE -pubkey -noout >NAME.pub.pem writes its public key"};
}

/* A public key where a private key is wanted. */
static firn_key_text public_half(const uint8_t *der, size_t count) {
    return (firn_key_text){"a public key", algorithm_of(der, count).of,
                           "plans are signed with the secret half, the NAME.key.pem that firnc keygen wrote"};
}

/* --- PEM ---------------------------------------------------------------------------------------------------------- */

/* Describes the key whose label begins at `label`, behind "-----BEGIN ". */
static firn_key_text in_pem(const uint8_t *text, size_t count, const uint8_t *label, bool is_private) {
    static const char mark[] = "-----BEGIN ", last[] = "-----END ";
    const size_t left = count - (size_t)(label - text);
    const uint8_t *line = memchr(label, '\n', left), *end = find_text(label, left, last);
    uint8_t der[DER_MAX];
    const size_t body = line == NULL ? 0 : count - (size_t)(line - text),
                 der_count = line == NULL ? 0 : decode(line, body, der);
    const uint8_t *second = find_text(label, left, mark);
    if (end == NULL)
        return new_pair("the beginning of a key in PEM", " without its end (-----END)", is_private);
    if (find_text(label, left, "ENCRYPTED") != NULL)
        return (firn_key_text){"a private key", " with a password",
                               is_private ? "openssl pkey -in FILE -out NAME.key.pem takes the password off"
                                          : "openssl pkey -in FILE -pubout -out NAME.pub.pem writes its public half"};
    if (begins(label, left, "CERTIFICATE REQUEST"))
        return new_pair("a request for a certificate", "", is_private);
    if (begins(label, left, "CERTIFICATE") || begins(label, left, "X509 ") || begins(label, left, "TRUSTED CERT"))
        return certificate(der, der_count, false, is_private);
    if (begins(label, left, "OPENSSH PRIVATE KEY")) {
        if (find_text(der, der_count, "nistp256") == NULL)
            return new_pair("a private key of OpenSSH", " that is none of the curve P-256", is_private);
        return (firn_key_text){"a private key", " in OpenSSH's own form",
                               is_private ? "ssh-keygen -p -N '' -m PEM -f FILE turns the file, or a copy, into PEM"
                                          : "ssh-keygen -e -m PKCS8 -f FILE >NAME.pub.pem writes its public half"};
    }
    if (begins(label, left, "RSA "))
        return new_pair(begins(label, left, "RSA PUBLIC") ? "a public key" : "a private key", " of RSA", is_private);
    if (begins(label, left, "DSA "))
        return new_pair("a private key", " of DSA", is_private);
    if (begins(label, left, "PRIVATE KEY") || begins(label, left, "EC PRIVATE KEY"))
        return private_key(der, der_count, false, is_private);
    if (begins(label, left, "EC PARAMETERS") && second != NULL)
        return in_pem(text, count, second + strlen(mark), is_private);
    if (!begins(label, left, "PUBLIC KEY"))
        return new_pair("PEM", " of something that is no key", is_private);
    if (is_private)
        return public_half(der, der_count);
    if (second != NULL)
        return (firn_key_text){"several keys", "", "give each a file of its own"};
    const uint8_t *behind = end + strlen(last) + strlen("PUBLIC KEY-----");
    bool alone = label == text + strlen(mark) && find(line, (size_t)(end - line), " ", 1) == NULL;
    for (; behind < text + count; behind++)
        alone = alone && (*behind == '\n' || *behind == '\r');
    return public_key(der, der_count, alone, false);
}

/* --- other files -------------------------------------------------------------------------------------------------- */

/* DER begins with SEQUENCE. What comes first inside tells a public key, which has an algorithm, from a private one,
 * which has a version. */
static firn_key_text in_der(const uint8_t *bytes, size_t count, bool is_private) {
    const size_t header = count > 1 && bytes[1] == 0x82 ? 4 : count > 1 && bytes[1] == 0x81 ? 3 : 2;
    const size_t looked = count < DER_MAX ? count : DER_MAX;
    if (header + 4 >= count || algorithm_of(bytes, looked).of[0] == '\0')
        return new_pair("no key that is known", "", is_private);
    if (bytes[header] == 0x02)
        return private_key(bytes, looked, true, is_private);
    if (find(bytes, looked < 64 ? looked : 64, "\xa0\x03\x02\x01", 4) != NULL)
        return certificate(bytes, looked, true, is_private);
    return is_private ? public_half(bytes, looked) : public_key(bytes, looked, true, true);
}

static firn_key_text in_openssh(const uint8_t *bytes, size_t count, bool is_private) {
    if (begins(bytes, count, "ecdsa-sha2-nistp256") && !is_private)
        return (firn_key_text){"a public key of the curve P-256", " in a line of OpenSSH",
                               "ssh-keygen -e -m PKCS8 -f FILE >NAME.pub.pem writes PEM"};
    return new_pair("a public key", " in a line of OpenSSH", is_private);
}

firn_key_text firn_key_text_of(const void *file, size_t count, bool is_private) {
    static const char mark[] = "-----BEGIN ";
    const uint8_t *bytes = file, *first = find_text(bytes, count, mark);
    if (count == 0)
        return new_pair("nothing", "", is_private);
    if (first != NULL)
        return in_pem(bytes, count, first + strlen(mark), is_private);
    if (bytes[0] == 0x30)
        return in_der(bytes, count, is_private);
    if (begins(bytes, count, "ssh-") || begins(bytes, count, "ecdsa-sha2-") || begins(bytes, count, "sk-"))
        return in_openssh(bytes, count, is_private);
    if (begins(bytes, count, "---- BEGIN SSH2"))
        return new_pair("a public key", " in the form of RFC 4716", is_private);
    if (begins(bytes, count, "PuTTY-User-Key-File"))
        return new_pair("a key", " in the form of PuTTY", is_private);
    if (bytes[0] == '{')
        return new_pair("JSON", ", perhaps a key in the form of JWK", is_private);
    if (begins(bytes, count, "\xff\xfe") || begins(bytes, count, "\xfe\xff"))
        return (firn_key_text){"text in UTF-16", "", "save it as ASCII"};
    const firn_file_kind *kind = firn_file_kind_of(bytes, count);
    return new_pair(kind != NULL ? kind->name : "no key", "", is_private);
}
