/* firnc key FILE: what key a file holds, its hash, and whether it signed a plan. Nothing of a secret is ever printed,
 * not even a hash of it: the hash is that of the public half, which plans name. */
#define _POSIX_C_SOURCE 200809L

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "compiler/base/words.h"
#include "compiler/commands/commands.h"
#include "compiler/commands/options.h"
#include "compiler/emit/plan_file.h"
#include "compiler/emit/sign.h"
#include "plan/errors.h"

typedef struct request {
    const char *name;
    firnc_texts plans;
} request;

static const firn_option options[] = {
    {.name = "--plan",
     .value = "PLAN",
     .text = "say whether this key signed the plan, and exit with 3 if not; may be given again",
     .kind = FIRN_OPTION_LIST,
     .names = FIRN_NAMES_FILE,
     .place = offsetof(request, plans.text),
     .count = offsetof(request, plans.count),
     .most = FIRNC_TEXTS_MAX,
     .mend = "ask about the others by another call"},
};

/* Warns of a secret that others than the owner of the file may read. */
static void warn_of_readers(const char *name) {
    struct stat status;
    if (stat(name, &status) == 0 && (status.st_mode & (S_IRGRP | S_IROTH)) != 0)
        firnc_say(
            "firnc: %s: warning: holds a secret that %s can read (mode %04o); take that from them by chmod 600, and "
            "make a new key if somebody may have read it",
            name, (status.st_mode & S_IROTH) != 0 ? "everybody" : "its group", (unsigned)status.st_mode & 07777);
}

/* Prints what the key is, and what it is for. */
static bool say_key(const char *name, const firnc_key_identity *key, uint8_t hash[FIRN_HASH_BYTES]) {
    static const char *const words[] = {
        [FIRNC_KEY_SECRET] = "a secret key that signs plans (--key)",
        [FIRNC_KEY_PUBLIC] = "a public key that verifies plans (--pub)",
        [FIRNC_KEY_DEVICE] =
            "32 bytes, taken as the secret key of a device: it authenticates checkpoints (--device-key)"};
    if (key->kind == FIRNC_KEY_DEVICE) {
        printf("%s: %s\n", firnc_printable(name), words[key->kind]);
        return true;
    }
    const int error = firn_key_hash(key->public_key, hash);
    if (error != FIRN_OK) {
        firnc_say("firnc: %s: %s (%s); try again", name, firn_error_text(error), firn_error_name(error));
        return false;
    }
    printf("%s: %s, ECDSA P-256, in %s\n", firnc_printable(name), words[key->kind], key->is_der ? "DER" : "PEM");
    firnc_print_hash("key hash", hash);
    printf("%s\n", key->kind == FIRNC_KEY_SECRET
                       ? "devices run what it signs if they have its public half; plans name it by this hash, which is "
                         "that of the public half"
                       : "it verifies the plans that name this hash (firnc inspect PLAN prints it), and is no secret");
    return true;
}

/* Says whether the key signed a plan. Returns the exit code. */
static int say_plan(const char *key_name, const firnc_key_identity *key, const uint8_t hash[FIRN_HASH_BYTES],
                    const char *plan) {
    firnc_bytes file;
    firnc_plan_file checked;
    if (!firnc_plan_read(plan, &file))
        return FIRNC_EXIT_WRONG;
    int error = firnc_plan_check(&file, NULL, 0, &checked);
    const bool named = error == FIRN_OK && memcmp(checked.header.key_hash, hash, FIRN_HASH_BYTES) == 0;
    if (error == FIRN_OK && !named) {
        firnc_say("firnc: %s: %s by another key than %s: the plan names the key %s; give that one", plan,
                  checked.header.algorithm == FIRN_ALGORITHM_NONE ? "is to be signed" : "is signed", key_name,
                  firnc_hex(checked.header.key_hash, FIRN_HASH_BYTES));
        return FIRNC_EXIT_REFUSED;
    }
    if (named && checked.header.algorithm == FIRN_ALGORITHM_NONE) {
        firnc_say("firnc: %s: is for this key and not signed yet; sign it by firnc sign and firnc attach", plan);
        return FIRNC_EXIT_REFUSED;
    }
    if (error == FIRN_OK)
        error = firnc_plan_check(&file, key->public_key, 0, &checked);
    if (error != FIRN_OK) {
        firnc_plan_refuse(plan, &file, error);
        return FIRNC_EXIT_REFUSED;
    }
    printf("%s: signed by this key\n", firnc_printable(plan));
    return FIRNC_EXIT_OK;
}

static int key_command(int argc, char **argv) {
    if (!firnc_has_output())
        return FIRNC_EXIT_WRONG;
    request r = {0};
    if (!firnc_options_read(argc, argv, &firnc_command_key, &r))
        return FIRNC_EXIT_USAGE;
    firnc_key_identity key;
    uint8_t hash[FIRN_HASH_BYTES] = {0};
    if (!firnc_key_identify(r.name, &key))
        return FIRNC_EXIT_WRONG;
    if (key.kind == FIRNC_KEY_DEVICE && r.plans.count > 0)
        return firnc_usage("key", "--plan: a device key signs no plan; give the key that firnc keygen made");
    if (!say_key(r.name, &key, hash))
        return FIRNC_EXIT_WRONG;
    if (key.kind != FIRNC_KEY_PUBLIC)
        warn_of_readers(r.name);
    int status = FIRNC_EXIT_OK;
    for (uint32_t i = 0; i < r.plans.count; i++) {
        const int next = say_plan(r.name, &key, hash, r.plans.text[i]);
        status = next > status ? next : status;
    }
    return status;
}

const firnc_command firnc_command_key = {
    .words = {.name = "key",
              .group = "Keys and signatures",
              .summary = "say what key a file holds",
              .forms = {"FILE [--plan PLAN]..."},
              .text = "say what key a file holds: secret or public, its hash, and whether it signed a plan",
              .examples = {{"firnc key me.pub.pem", "say what key a file holds, and its hash"},
                           {"firnc key me.pub.pem --plan plans/train.plan", "say whether it signed a plan, too"}},
              .operand = {.value = "FILE",
                          .kind = FIRN_OPTION_TEXT,
                          .names = FIRN_NAMES_FILE,
                          .place = offsetof(request, name),
                          .least = 1},
              .tables = {{options, sizeof options / sizeof options[0]}}},
    .run = key_command,
};
