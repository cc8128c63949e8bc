/* Writes the plans of this folder that firnc does not write: a small network (tests/unit/support_network.h) with views,
 * derived copies, buffers, frozen weights and several regions of a kind. For make.sh.
 *
 *     network_plans KEY FOLDER */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "compiler/emit/sign.h"
#include "tests/unit/support_network.h"

/* Replaces the key of the tests, which anybody can sign with. */
static void sign(signed_plan *plan, const firnc_key *key) {
    firn_header header;
    uint8_t digest[32];
    assert_int_equal(firn_header_decode(&header, plan->file, plan->bytes), 0);
    assert_int_equal(firn_key_hash(key->public_key, header.key_hash), 0);
    firn_header_encode(&header, plan->file);
    assert_int_equal(firn_sha256_of(plan->file, FIRN_HEADER_BYTES, digest), 0);
    assert_true(firnc_sign(key, digest, plan->file + FIRN_HEADER_BYTES));
}

static void write_plan(const char *folder, const char *name, const network_form *has, const firnc_key *key) {
    static signed_plan plan;
    char path[4096];
    network_describe(has);
    builder_finish(&network, NULL, &plan);
    sign(&plan, key);
    snprintf(path, sizeof path, "%s/%s.plan", folder, name);
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(plan.file, 1, (size_t)plan.bytes, file), plan.bytes);
    assert_int_equal(fclose(file), 0);
}

int main(int argc, char **argv) {
    firnc_key key;
    if (argc != 3 || !firnc_key_read(argv[1], &key))
        return 2;
    network_make_weights(FIRN_BFLOAT16);
    network_form views = network_plain, frozen = network_plain, scaled = network_plain, derived;
    views.views = true;
    frozen.frozen = frozen.buffers = true;
    scaled.regions = scaled.buffers = scaled.clip = true;
    scaled.scale = 1024.0f;
    derived = network_evaluated(scaled);
    derived.half_weight = true;
    write_plan(argv[2], "views_train", &views, &key);
    write_plan(argv[2], "scaled_train", &scaled, &key);
    write_plan(argv[2], "scaled_eval", &derived, &key); /* computes with a copy of a weight in bfloat16 */
    write_plan(argv[2], "frozen_train", &frozen, &key);
    frozen = network_evaluated(frozen);
    write_plan(argv[2], "frozen_eval", &frozen, &key);
    firnc_wipe(&key, sizeof key);
    return 0;
}
