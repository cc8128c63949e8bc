/* firnc keygen NAME: writes a P-256 key pair as NAME.key.pem, which only its owner may read, and NAME.pub.pem. An
 * existing file is never overwritten. */
#define _POSIX_C_SOURCE 200809L

#include <stdio.h>
#include <unistd.h>

#include "compiler/commands/commands.h"
#include "compiler/commands/options.h"
#include "compiler/emit/sign.h"
#include "compiler/graph/ir.h"

static bool write_pair(const char *name, const firnc_bytes *private_pem, const firnc_bytes *public_pem) {
    const char *key_name = firnc_format("%s.key.pem", name), *pub_name = firnc_format("%s.pub.pem", name);
    if (!firnc_file_create(key_name, private_pem->data, private_pem->count, 0600))
        return false;
    if (!firnc_file_create(pub_name, public_pem->data, public_pem->count, 0644)) {
        unlink(key_name); /* the secret key just written is useless without its public half */
        return false;
    }
    printf("%s (keep it secret), %s\n", firnc_printable(key_name), firnc_printable(pub_name));
    return true;
}

typedef struct keygen_request {
    const char *name;
} keygen_request;

int firnc_keygen_command(int argc, char **argv) {
    keygen_request r = {0};
    if (!firnc_options_read(argc, argv, &firnc_command_keygen, &r))
        return FIRNC_EXIT_USAGE;
    firnc_key key = {0};
    firnc_bytes private_pem = {0}, public_pem = {0};
    bool good = firnc_key_generate(&key) && firnc_key_encode(&key, &private_pem, &public_pem) &&
                write_pair(r.name, &private_pem, &public_pem);
    firnc_wipe(&key, sizeof key);
    if (private_pem.data != NULL)
        firnc_wipe(private_pem.data, private_pem.count);
    return good ? FIRNC_EXIT_OK : FIRNC_EXIT_WRONG;
}

const firnc_command firnc_command_keygen = {
    .words =
        {.name = "keygen",
         .group = "Keys and signatures",
         .summary = "make a pair of keys",
         .forms = {"NAME"},
         .text = "make a pair of keys: NAME.key.pem, which is secret, and NAME.pub.pem; neither is ever overwritten",
         .examples = {{"firnc keygen me",
                       "make me.key.pem, which signs plans, and me.pub.pem, which devices and firn have"}},
         .operand = {.value = "NAME", .kind = FIRN_OPTION_TEXT, .place = offsetof(keygen_request, name), .least = 1}},
    .run = firnc_keygen_command,
};
