/* Payload, container, signature, checks, file: the steps behind the passes, each of which has a file of its own. */
#include "compiler/emit/freeze.h"

#include <string.h>

#include "compiler/emit/plan_file.h"
#include "plan/errors.h"

/* Signs a sealed plan in memory. */
static bool sign(const char *output, const firnc_key *key, firnc_bytes *file, uint8_t digest[FIRN_HASH_BYTES]) {
    uint8_t signature[FIRN_SIGNATURE_BYTES];
    if (!firnc_plan_prepare(output, file, digest) || !firnc_sign(key, digest, signature))
        return false;
    firnc_plan_attach(file, signature);
    return true;
}

/* A compiler that writes what its own runtime refuses has a bug: better found here than on a device. */
static bool check(const firnc_compilation *compilation, const firnc_bytes *file, const uint8_t *public_key,
                  firnc_plan_file *checked) {
    int status = firnc_plan_check(file, public_key, 0, checked);
    return status == FIRN_OK ||
           firnc_fail(compilation, "the plan that was made does not pass its checks: %s (%s); this is a bug of firnc",
                      firn_error_text(status), firn_error_name(status));
}

bool firnc_freeze(const firnc_compilation *compilation, const firnc_key *key, bool with_signature, const char *output,
                  firnc_frozen *frozen) {
    firnc_payload payload;
    firnc_bytes file;
    firnc_plan_file checked;
    *frozen = (firnc_frozen){0};
    if (!firnc_write_payload(compilation, &payload) || !firnc_plan_seal(compilation, &payload, key->public_key, &file))
        return false;
    if (with_signature && !sign(output, key, &file, frozen->plan_hash))
        return false;
    if (!check(compilation, &file, with_signature ? key->public_key : NULL, &checked) ||
        !firnc_file_write(output, file.data, file.count))
        return false;
    frozen->bytes = file.count;
    memcpy(frozen->run_hash, checked.header.run_hash, sizeof frozen->run_hash);
    return true;
}
