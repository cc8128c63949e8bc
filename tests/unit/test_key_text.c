/* Tests what files that hold no key of the wanted kind are called, and what is advised, for each form and each of the
 * two kinds that may be wanted (plan/keys/key_text.h). The keys are made here: a label, an identifier, and base64. What
 * programs of keys write is tested in tests/end_to_end/signing.sh. */
#include <stdio.h>
#include <string.h>

#include "plan/keys/key_text.h"
#include "tests/unit/support_test.h"

#define P256     "\x06\x08\x2a\x86\x48\xce\x3d\x03\x01\x07"
#define SM2      "\x06\x08\x2a\x81\x1c\xcf\x55\x01\x82\x2d"
#define EXPLICIT "\x06\x07\x2a\x86\x48\xce\x3d\x01\x01"

#define PAIR_PUBLIC  "make a pair with firnc keygen NAME and give its NAME.pub.pem"
#define PAIR_PRIVATE "make a pair with firnc keygen NAME and give its NAME.key.pem"
#define KEYGEN_WROTE "give the file that firnc keygen wrote"
#define SECRET_HALF  "plans are signed with the secret half, the NAME.key.pem that firnc keygen wrote"

typedef struct said {
    const char *form, *of, *remedy; /* remedy NULL: to make a pair */
} said;

static void expect(const char *what, const char *file, size_t count, bool is_private, const said *wanted) {
    const firn_key_text got = firn_key_text_of(file, count, is_private);
    const char *remedy = wanted->remedy != NULL ? wanted->remedy : is_private ? PAIR_PRIVATE : PAIR_PUBLIC;
    if (strcmp(got.form, wanted->form) != 0 || strcmp(got.of, wanted->of) != 0 || strcmp(got.remedy, remedy) != 0)
        fail_msg("%s as a %s key: \"%s\", \"%s\", \"%s\"", what, is_private ? "private" : "public", got.form, got.of,
                 got.remedy);
}

/* --- PEM ---------------------------------------------------------------------------------------------------------- */

/* Appends these bytes in base64, in lines of 64 digits. */
static size_t encode(char *text, const uint8_t *bytes, size_t count) {
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    size_t length = 0;
    for (size_t i = 0; i < count; i += 3) {
        const uint32_t bits = (uint32_t)bytes[i] << 16 | (i + 1 < count ? (uint32_t)bytes[i + 1] << 8 : 0) |
                              (i + 2 < count ? bytes[i + 2] : 0);
        for (size_t d = 0; d < 4; d++)
            text[length++] = d <= count - i ? digits[bits >> (18 - 6 * d) & 63] : '=';
        if (i % 48 == 45)
            text[length++] = '\n';
    }
    text[length++] = '\n';
    return length;
}

/* A key in PEM: text before it, its label, an identifier behind `lead` other bytes, more bytes, text behind it. */
static size_t pem(char *text, const char *before, const char *label, const char *identifier, size_t lead,
                  const char *more, size_t more_count, const char *behind) {
    uint8_t der[256] = {0x30, 0x10};
    size_t count = 2 + lead;
    memset(der + 2, 0x11, lead);
    memcpy(der + count, identifier, strlen(identifier));
    count += strlen(identifier);
    memcpy(der + count, more, more_count);
    count += more_count;
    size_t length = (size_t)sprintf(text, "%s-----BEGIN %s-----\n", before, label);
    length += encode(text + length, der, count);
    return length + (size_t)sprintf(text + length, "-----END %s-----\n%s", label, behind);
}

typedef struct pem_row {
    const char *before, *label, *identifier, *more, *behind;
    said as_public, as_private;
} pem_row;

TEST(keys_in_pem) {
    static const char compressed[] = "\x03\x22\x00\x03", other_compressed[] = "\x03\x22\x00\x02";
    static const char dss[] = "\x06\x07\x2a\x86\x48\xce\x38\x04\x01", nistp256[] = "ecdsa-sha2-nistp256";
    static const char whole[] =
        "openssl ec -pubin -in FILE -conv_form uncompressed -pubout -out NAME.pub.pem writes it "
        "whole";
    static const char rewrite[] = "openssl pkey -pubin -in FILE -pubout -out NAME.pub.pem writes the key by itself";
    static const char half[] = "give the NAME.pub.pem beside it, or write it with openssl pkey -in FILE -pubout -out "
                               "NAME.pub.pem";
    static const pem_row rows[] = {
        {"",
         "PUBLIC KEY",
         P256,
         "",
         "",
         {"a public key of the curve P-256", " that is damaged", KEYGEN_WROTE},
         {"a public key", " of the curve P-256", SECRET_HALF}},
        {"",
         "PUBLIC KEY",
         P256,
         "",
         "\r\n\n",
         {"a public key of the curve P-256", " that is damaged", KEYGEN_WROTE},
         {"a public key", " of the curve P-256", SECRET_HALF}},
        {"# mine\n",
         "PUBLIC KEY",
         P256,
         "",
         "",
         {"a public key of the curve P-256", " with other text around it", rewrite},
         {"a public key", " of the curve P-256", SECRET_HALF}},
        {"",
         "PUBLIC KEY",
         P256,
         "",
         "mine",
         {"a public key of the curve P-256", " with other text around it", rewrite},
         {"a public key", " of the curve P-256", SECRET_HALF}},
        {"",
         "PUBLIC KEY",
         P256,
         compressed,
         "",
         {"a public key", " of the curve P-256 as a compressed point", whole},
         {"a public key", " of the curve P-256", SECRET_HALF}},
        {"",
         "PUBLIC KEY",
         P256,
         other_compressed,
         "",
         {"a public key", " of the curve P-256 as a compressed point", whole},
         {"a public key", " of the curve P-256", SECRET_HALF}},
        {"",
         "PUBLIC KEY",
         SM2,
         "",
         "",
         {"a public key", " of the curve SM2", NULL},
         {"a public key", " of the curve SM2", SECRET_HALF}},
        {"",
         "PUBLIC KEY",
         EXPLICIT,
         "",
         "",
         {"a public key", " of a curve that is given by its numbers and not by name",
          "openssl ec -pubin -in FILE -param_enc named_curve -pubout -out NAME.pub.pem names it, if it is P-256"},
         {"a public key", " of a curve that is given by its numbers and not by name", SECRET_HALF}},
        {"", "PUBLIC KEY", "", "", "", {"a public key", "", NULL}, {"a public key", "", SECRET_HALF}},
        {"",
         "PUBLIC KEY",
         P256,
         "",
         "-----BEGIN PUBLIC KEY-----\n",
         {"several keys", "", "give each a file of its own"},
         {"a public key", " of the curve P-256", SECRET_HALF}},
        {"",
         "PRIVATE KEY",
         P256,
         "",
         "",
         {"a private key", " of the curve P-256", half},
         {"a private key", " of the curve P-256 that is damaged", KEYGEN_WROTE}},
        {"",
         "EC PRIVATE KEY",
         SM2,
         "",
         "",
         {"a private key", " of the curve SM2", NULL},
         {"a private key", " of the curve SM2", NULL}},
        {"-----BEGIN EC PARAMETERS-----\nBggqhkjOPQMBBw==\n-----END EC PARAMETERS-----\n",
         "EC PRIVATE KEY",
         P256,
         "",
         "",
         {"a private key", " of the curve P-256", half},
         {"a private key", " of the curve P-256 that is damaged", KEYGEN_WROTE}},
        {"",
         "EC PARAMETERS",
         P256,
         "",
         "",
         {"PEM", " of something that is no key", NULL},
         {"PEM", " of something that is no key", NULL}},
        {"",
         "ENCRYPTED PRIVATE KEY",
         P256,
         "",
         "",
         {"a private key", " with a password",
          "openssl pkey -in FILE -pubout -out NAME.pub.pem writes its public half"},
         {"a private key", " with a password", "openssl pkey -in FILE -out NAME.key.pem takes the password off"}},
        {"",
         "CERTIFICATE REQUEST",
         P256,
         "",
         "",
         {"a request for a certificate", "", NULL},
         {"a request for a certificate", "", NULL}},
        {"",
         "CERTIFICATE",
         P256,
         "",
         "",
         {"a certificate", " of the curve P-256",
          "openssl x509 -in FILE -pubkey -noout >NAME.pub.pem writes its public key"},
         {"a certificate", " of the curve P-256", NULL}},
        {"",
         "X509 CERTIFICATE",
         SM2,
         "",
         "",
         {"a certificate", " of the curve SM2", NULL},
         {"a certificate", " of the curve SM2", NULL}},
        {"",
         "TRUSTED CERTIFICATE",
         P256,
         "",
         "",
         {"a certificate", " of the curve P-256",
          "openssl x509 -in FILE -pubkey -noout >NAME.pub.pem writes its public key"},
         {"a certificate", " of the curve P-256", NULL}},
        {"",
         "OPENSSH PRIVATE KEY",
         "",
         "",
         "",
         {"a private key of OpenSSH", " that is none of the curve P-256", NULL},
         {"a private key of OpenSSH", " that is none of the curve P-256", NULL}},
        {"",
         "OPENSSH PRIVATE KEY",
         "",
         nistp256,
         "",
         {"a private key", " in OpenSSH's own form",
          "ssh-keygen -e -m PKCS8 -f FILE >NAME.pub.pem writes its public half"},
         {"a private key", " in OpenSSH's own form",
          "ssh-keygen -p -N '' -m PEM -f FILE turns the file, or a copy, into PEM"}},
        {"", "RSA PRIVATE KEY", "", "", "", {"a private key", " of RSA", NULL}, {"a private key", " of RSA", NULL}},
        {"", "RSA PUBLIC KEY", "", "", "", {"a public key", " of RSA", NULL}, {"a public key", " of RSA", NULL}},
        {"", "DSA PRIVATE KEY", dss, "", "", {"a private key", " of DSA", NULL}, {"a private key", " of DSA", NULL}},
        {"",
         "PGP MESSAGE",
         "",
         "",
         "",
         {"PEM", " of something that is no key", NULL},
         {"PEM", " of something that is no key", NULL}},
    };
    char text[1024];
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const pem_row *row = &rows[i];
        /* compressed points have a zero byte in the middle */
        const size_t more = row->more == compressed || row->more == other_compressed ? 4 : strlen(row->more);
        for (size_t lead = 0; lead < 3; lead++) {
            const size_t count =
                pem(text, row->before, row->label, row->identifier, lead, row->more, more, row->behind);
            expect(row->label, text, count, false, &row->as_public);
            expect(row->label, text, count, true, &row->as_private);
        }
    }
}

/* --- DER ---------------------------------------------------------------------------------------------------------- */

typedef struct der_row {
    const char *bytes;
    size_t count;
    said as_public, as_private;
} der_row;

#define DER(text) text, sizeof(text) - 1

TEST(keys_in_der) {
    static const char whole[] =
        "openssl ec -pubin -inform DER -in FILE -conv_form uncompressed -pubout -out NAME.pub.pem "
        "writes it whole";
    static const char pem_of[] = "openssl pkey -pubin -inform DER -in FILE -pubout -out NAME.pub.pem writes PEM";
    static const char half[] = "openssl pkey -inform DER -in FILE -pubout -out NAME.pub.pem writes its public half";
    static const char x509[] = "openssl x509 -inform DER -in FILE -pubkey -noout >NAME.pub.pem writes its public key";
    static const said nothing = {"no key that is known", "", NULL};
    const der_row rows[] = {
        {DER("\x30\x20\x30\x10" P256 "\x03\x42"),
         {"a public key in DER", " of the curve P-256", pem_of},
         {"a public key", " of the curve P-256", SECRET_HALF}},
        {DER("\x30\x20\x30\x10" P256 "\x03\x22\x00\x02"),
         {"a public key in DER", " of the curve P-256 as a compressed point", whole},
         {"a public key", " of the curve P-256", SECRET_HALF}},
        {DER("\x30\x20\x02\x01" P256),
         {"a private key in DER", " of the curve P-256", half},
         {"a private key in DER", " of the curve P-256 that is damaged", KEYGEN_WROTE}},
        {DER("\x30\x20\x02\x01" SM2),
         {"a private key in DER", " of the curve SM2", NULL},
         {"a private key in DER", " of the curve SM2", NULL}},
        {DER("\x30\x81\x90\x02\x01" P256),
         {"a private key in DER", " of the curve P-256", half},
         {"a private key in DER", " of the curve P-256 that is damaged", KEYGEN_WROTE}},
        {DER("\x30\x82\x01\x90\x02\x01" P256),
         {"a private key in DER", " of the curve P-256", half},
         {"a private key in DER", " of the curve P-256 that is damaged", KEYGEN_WROTE}},
        {DER("\x30\x20\x30\x10\xa0\x03\x02\x01" P256),
         {"a certificate", " of the curve P-256", x509},
         {"a certificate", " of the curve P-256", NULL}},
        {DER("\x30\x20\x30\x10\xa0\x03\x02\x01" SM2),
         {"a certificate", " of the curve SM2", NULL},
         {"a certificate", " of the curve SM2", NULL}},
        {DER("\x30\x20\x30\x10" SM2),
         {"a public key in DER", " of the curve SM2", NULL},
         {"a public key", " of the curve SM2", SECRET_HALF}},
        {DER("\x30\x20\x30\x10\x01\x02\x03\x04\x05\x06\x07\x08"), nothing, nothing}, /* without an identifier */
        {DER("\x30\x05"), nothing, nothing},
        {DER("\x30"), nothing, nothing},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char name[32];
        snprintf(name, sizeof name, "row %zu", i);
        expect(name, rows[i].bytes, rows[i].count, false, &rows[i].as_public);
        expect(name, rows[i].bytes, rows[i].count, true, &rows[i].as_private);
    }
}

/* --- other files -------------------------------------------------------------------------------------------------- */

TEST(other_files) {
    static const said ssh = {"a public key", " in a line of OpenSSH", NULL};
    const struct {
        const char *text;
        size_t count;
        said as_public, as_private;
    } rows[] = {
        {DER(""), {"nothing", "", NULL}, {"nothing", "", NULL}},
        {DER("ecdsa-sha2-nistp256 AAAA"),
         {"a public key of the curve P-256", " in a line of OpenSSH",
          "ssh-keygen -e -m PKCS8 -f FILE >NAME.pub.pem writes PEM"},
         ssh},
        {DER("ecdsa-sha2-nistp384 AAAA"), ssh, ssh},
        {DER("ssh-ed25519 AAAA"), ssh, ssh},
        {DER("sk-ssh-ed25519@openssh.com AAAA"), ssh, ssh},
        {DER("---- BEGIN SSH2 PUBLIC KEY ----\n"),
         {"a public key", " in the form of RFC 4716", NULL},
         {"a public key", " in the form of RFC 4716", NULL}},
        {DER("PuTTY-User-Key-File-3: ecdsa-sha2-nistp256\n"),
         {"a key", " in the form of PuTTY", NULL},
         {"a key", " in the form of PuTTY", NULL}},
        {DER("{\"kty\": \"EC\"}"),
         {"JSON", ", perhaps a key in the form of JWK", NULL},
         {"JSON", ", perhaps a key in the form of JWK", NULL}},
        {DER("\xff\xfe-\0-\0"), {"text in UTF-16", "", "save it as ASCII"}, {"text in UTF-16", "", "save it as ASCII"}},
        {DER("\xfe\xff\0-\0-"), {"text in UTF-16", "", "save it as ASCII"}, {"text in UTF-16", "", "save it as ASCII"}},
        {DER("-----BEGIN PUBLIC KEY-----\nMFkw\n"),
         {"the beginning of a key in PEM", " without its end (-----END)", NULL},
         {"the beginning of a key in PEM", " without its end (-----END)", NULL}},
        {DER("-----BEGIN PUBLIC KEY-----"),
         {"the beginning of a key in PEM", " without its end (-----END)", NULL},
         {"the beginning of a key in PEM", " without its end (-----END)", NULL}},
        {DER("hello\n"), {"no key", "", NULL}, {"no key", "", NULL}},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        expect(rows[i].text, rows[i].text, rows[i].count, false, &rows[i].as_public);
        expect(rows[i].text, rows[i].text, rows[i].count, true, &rows[i].as_private);
    }
}
