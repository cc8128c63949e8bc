/* firnc sign and firnc attach, for secret keys that are kept away from firnc compile. `sign` makes the signature of an
 * unsigned plan, or with --digest prints the SHA-256 that a hardware module must sign; `attach` writes a signature into
 * the plan. */
#include <stdio.h>
#include <string.h>

#include "compiler/base/text.h"
#include "compiler/base/words.h"
#include "compiler/commands/commands.h"
#include "compiler/commands/options.h"
#include "compiler/emit/plan_file.h"
#include "compiler/emit/sign.h"
#include "plan/errors.h"
#include "plan/keys/file_kind.h"

/* Reads an unsigned plan and prepares it for signing: checks it and computes the digest. Returns the exit code. */
static int prepare(const char *name, firnc_bytes *file, firn_header *header, uint8_t digest[32]) {
    firnc_plan_file checked;
    if (!firnc_plan_read(name, file))
        return FIRNC_EXIT_WRONG;
    if (firn_header_decode(header, file->data, file->count) == FIRN_OK) {
        firnc_say(
            "firnc: %s: is signed already; use it as it is, or compile it with --unsigned to sign it with another "
            "key",
            name);
        return FIRNC_EXIT_REFUSED;
    }
    if (!firnc_plan_prepare(name, file, digest))
        return FIRNC_EXIT_REFUSED;
    int status = firnc_plan_check(file, NULL, 0, &checked);
    if (status != FIRN_OK) {
        firnc_plan_refuse(name, file, status);
        return FIRNC_EXIT_REFUSED;
    }
    *header = checked.header;
    return FIRNC_EXIT_OK;
}

typedef struct sign_request {
    const char *name, *key, *output;
    bool digest_only;
} sign_request;

/* Checks that the public key is the one whose hash the plan's header holds. */
static bool is_its_key(const sign_request *r, const firn_header *header, const uint8_t *public_key) {
    uint8_t hash[FIRN_HASH_BYTES];
    int status = firn_key_hash(public_key, hash);
    if (status == FIRN_OK && memcmp(hash, header->key_hash, sizeof hash) != 0)
        status = FIRN_ERROR_WRONG_KEY;
    if (status != FIRN_OK)
        firnc_say(
            "firnc: %s: is not the key that %s was compiled for (%s); give the secret half of the key of its --pub",
            r->key, r->name, firn_error_name(status));
    return status == FIRN_OK;
}

static int sign_with(const sign_request *r, const firn_header *header, const uint8_t digest[32]) {
    uint8_t signature[FIRN_SIGNATURE_BYTES];
    firnc_key key = {0};
    int status = FIRNC_EXIT_WRONG;
    if (firnc_key_read(r->key, &key)) {
        if (!is_its_key(r, header, key.public_key))
            status = FIRNC_EXIT_REFUSED;
        else if (firnc_sign(&key, digest, signature) && firnc_file_write(r->output, signature, sizeof signature))
            status = FIRNC_EXIT_OK;
    }
    firnc_wipe(&key, sizeof key);
    if (status == FIRNC_EXIT_OK)
        printf("%s: %u bytes\n", firnc_printable(r->output), (unsigned)sizeof signature);
    return status;
}

static const firn_option sign_options[] = {
    {.name = "--key",
     .value = "KEY",
     .text = "the secret key, whose public half the plan names",
     .kind = FIRN_OPTION_TEXT,
     .names = FIRN_NAMES_FILE,
     .place = offsetof(sign_request, key)},
    {.name = "--output",
     .brief = "-o",
     .value = "SIGNATURE",
     .text = "the file to write: 64 bytes, r then s",
     .kind = FIRN_OPTION_TEXT,
     .names = FIRN_NAMES_FILE,
     .place = offsetof(sign_request, output)},
    {.name = "--digest",
     .text = "print the SHA-256 that a hardware module is to sign",
     .kind = FIRN_OPTION_FLAG,
     .place = offsetof(sign_request, digest_only)},
};

static int sign_command(int argc, char **argv) {
    sign_request r = {0};
    if (!firnc_options_read(argc, argv, &firnc_command_sign, &r))
        return FIRNC_EXIT_USAGE;
    if (r.digest_only ? r.key != NULL || r.output != NULL : r.key == NULL || r.output == NULL)
        return firnc_usage("sign", "give --key and -o for the signature, or --digest alone");
    const char *const inputs[] = {r.name, r.key};
    if (r.digest_only && !firnc_has_output())
        return FIRNC_EXIT_WRONG;
    if (!r.digest_only && !firnc_output_is_free("sign", r.output, inputs, sizeof inputs / sizeof inputs[0]))
        return FIRNC_EXIT_USAGE;
    firnc_bytes file;
    firn_header header;
    uint8_t digest[32];
    int status = prepare(r.name, &file, &header, digest);
    if (status != FIRNC_EXIT_OK)
        return status;
    if (!r.digest_only)
        return sign_with(&r, &header, digest);
    puts(firnc_hex(digest, sizeof digest));
    return FIRNC_EXIT_OK;
}

const firnc_command firnc_command_sign = {
    .words = {.name = "sign",
              .group = "Keys and signatures",
              .summary = "sign a plan that was compiled without a key",
              .forms = {"PLAN --key KEY -o SIGNATURE", "PLAN --digest"},
              .text = "sign an unsigned plan, or print what a hardware module is to sign",
              .examples = {{"firnc sign unsigned.plan --key me.key.pem -o plan.signature",
                            "sign a plan on the machine that has the key"},
                           {"firnc sign unsigned.plan --digest", "print what a hardware module is to sign"}},
              .operand = {.value = "PLAN",
                          .kind = FIRN_OPTION_TEXT,
                          .names = FIRN_NAMES_FILE,
                          .place = offsetof(sign_request, name),
                          .least = 1},
              .tables = {{sign_options, sizeof sign_options / sizeof sign_options[0]}}},
    .run = sign_command,
};

typedef struct attach_request {
    const char *name, *signature, *pub, *output;
} attach_request;

static const firn_option attach_options[] = {
    {.name = "--signature",
     .value = "SIGNATURE",
     .text = "the signature: 64 bytes, r then s, or DER",
     .kind = FIRN_OPTION_TEXT,
     .names = FIRN_NAMES_FILE,
     .needed = FIRN_EVERY_COMMAND,
     .place = offsetof(attach_request, signature),
     .what = "the signature"},
    {.name = "--pub",
     .value = "PUB",
     .text = "the public key that it is checked with",
     .kind = FIRN_OPTION_TEXT,
     .names = FIRN_NAMES_FILE,
     .needed = FIRN_EVERY_COMMAND,
     .place = offsetof(attach_request, pub),
     .what = "the public key"},
    {.name = "--output",
     .brief = "-o",
     .value = "PLAN",
     .text = "the file to write",
     .kind = FIRN_OPTION_TEXT,
     .names = FIRN_NAMES_FILE,
     .needed = FIRN_EVERY_COMMAND,
     .place = offsetof(attach_request, output),
     .what = "the file to write"},
};

/* Whether a byte is an ASCII character that is printed, and no blank. */
static bool is_printed(uint8_t byte) {
    return byte > ' ' && byte <= '~';
}

/* No signature is longer than the head of a file. */
static uint64_t bytes_of_signature(const uint8_t *head, uint64_t count) {
    (void)head;
    return count;
}

/* What a file holds that is no signature of P-256, and what to do. */
static const char *other_signature(const firnc_bytes *bytes) {
    const firn_file_kind *kind = firn_file_kind_of(bytes->data, bytes->count);
    const uint8_t *at = bytes->data, *end = bytes->data + bytes->count;
    while (at < end && is_printed(*at))
        at++;
    if (bytes->count == 0)
        return "the file is empty; give 64 raw bytes, r then s, or DER";
    if (kind != NULL)
        return firnc_format("it begins like %s; give 64 raw bytes, r then s, or DER", kind->name);
    if (at > bytes->data && (at == end || *at == '\n' || *at == '\r'))
        return "it is text; decode it, with base64 -d or xxd -r -p, to 64 raw bytes, r then s, or DER";
    if (bytes->data[0] == 0x30)
        return "it is DER of other numbers; sign the digest with the P-256 key of --pub, not with RSA or another curve";
    return "give 64 raw bytes, r then s, or DER";
}

static int attach_command(int argc, char **argv) {
    attach_request r = {0};
    if (!firnc_options_read(argc, argv, &firnc_command_attach, &r))
        return FIRNC_EXIT_USAGE;
    const char *const inputs[] = {r.name, r.signature, r.pub};
    if (!firnc_output_is_free("attach", r.output, inputs, sizeof inputs / sizeof inputs[0]))
        return FIRNC_EXIT_USAGE;
    firnc_bytes file, bytes;
    firn_header header;
    uint8_t digest[32], signature[FIRN_SIGNATURE_BYTES], public_key[FIRN_PUBLIC_KEY_BYTES];
    int status = prepare(r.name, &file, &header, digest);
    if (status != FIRNC_EXIT_OK)
        return status;
    if (!firnc_public_key_read(r.pub, public_key) ||
        !firnc_file_read_part(r.signature, UINT64_MAX - 1, bytes_of_signature, &bytes))
        return FIRNC_EXIT_WRONG;
    if (!firnc_signature_decode(&bytes, signature)) {
        firnc_say("firnc: %s: not a signature of P-256: %s", r.signature, other_signature(&bytes));
        return FIRNC_EXIT_WRONG;
    }
    firnc_plan_attach(&file, signature);
    firnc_plan_file checked;
    int error = firnc_plan_check(&file, public_key, 0, &checked);
    if (error == FIRN_ERROR_SIGNATURE)
        firnc_say("firnc: %s: is not a signature of %s (%s); sign that very file again", r.signature, r.name,
                  firn_error_name(error));
    else if (error != FIRN_OK)
        firnc_plan_refuse(r.name, &file, error);
    if (error != FIRN_OK)
        return FIRNC_EXIT_REFUSED;
    if (!firnc_file_write(r.output, file.data, file.count))
        return FIRNC_EXIT_WRONG;
    printf("%s: %llu bytes\n", firnc_printable(r.output), (unsigned long long)file.count);
    firnc_print_hash("plan hash", checked.plan_hash);
    return FIRNC_EXIT_OK;
}

const firnc_command firnc_command_attach = {
    .words = {.name = "attach",
              .group = "Keys and signatures",
              .summary = "put a signature into an unsigned plan",
              .forms = {"PLAN --signature SIGNATURE --pub PUB -o PLAN"},
              .text = "put a signature that was made elsewhere into an unsigned plan",
              .examples = {{"firnc attach unsigned.plan --signature plan.signature --pub me.pub.pem -o signed.plan",
                            "put the signature into the plan"}},
              .operand = {.value = "PLAN",
                          .kind = FIRN_OPTION_TEXT,
                          .names = FIRN_NAMES_FILE,
                          .place = offsetof(attach_request, name),
                          .least = 1},
              .tables = {{attach_options, sizeof attach_options / sizeof attach_options[0]}}},
    .run = attach_command,
};
