/* Tries the lengths that the sequences of a training may have had (plan/keys/text_origin.h). This file must say the
 * same of an input as firn_preprocessing_hash in plan/identity.c does. */
#include "plan/keys/text_origin.h"

#include <stdbool.h>
#include <string.h>

#include "plan/bytes.h"
#include "plan/errors.h"
#include "plan/signature.h"

enum { NUMBERS = 8, AT_LENGTH = 4 * NUMBERS, AT_TOKENIZER = AT_LENGTH + 4, LONGEST = 1 << 16 };

/* What the hash of text is made of: the numbers of the input, the length of its sequences, the tokenizer. */
typedef struct text {
    uint8_t bytes[AT_TOKENIZER + FIRN_HASH_BYTES];
} text;

static uint32_t bits_of(float x) {
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

/* False if the plan names no tokenizer, or its first input is no batch of sequences. */
static bool describe(firn_fb_plan plan, text *t) {
    if (firn_fb_plan_tokenizer_count(plan) != FIRN_HASH_BYTES || firn_fb_plan_inputs_count(plan) == 0)
        return false;
    const firn_fb_input input = firn_fb_plan_inputs_at(plan, 0);
    const firn_fb_tensor tensor = firn_fb_plan_tensors_at(plan, firn_fb_input_tensor(input));
    const uint32_t numbers[NUMBERS] = {firn_fb_input_stream(input),         firn_fb_input_element(input),
                                       firn_fb_input_advance(input),        firn_fb_input_limit(input),
                                       bits_of(firn_fb_input_scale(input)), bits_of(firn_fb_input_shift(input)),
                                       firn_fb_tensor_type(tensor),         firn_fb_tensor_dims_count(tensor)};
    for (uint32_t i = 0; i < NUMBERS; i++)
        firn_store32(t->bytes + (size_t)4 * i, numbers[i]);
    memcpy(t->bytes + AT_TOKENIZER, firn_fb_plan_tokenizer_data(plan), FIRN_HASH_BYTES);
    return firn_fb_tensor_dims_count(tensor) == 2;
}

static bool has_hash(const text *t, size_t count, const uint8_t hash[FIRN_HASH_BYTES]) {
    uint8_t digest[FIRN_HASH_BYTES];
    return firn_sha256_of(t->bytes, count, digest) == FIRN_OK && memcmp(digest, hash, sizeof digest) == 0;
}

firn_text_origin firn_text_origin_of(firn_fb_plan plan, const uint8_t hash[FIRN_HASH_BYTES]) {
    static const uint8_t unknown[FIRN_HASH_BYTES];
    text t;
    if (memcmp(hash, unknown, sizeof unknown) == 0 || !describe(plan, &t))
        return FIRN_TEXT_NOT_COMPARED;
    for (uint32_t length = 1; length <= LONGEST; length++) {
        firn_store32(t.bytes + AT_LENGTH, length);
        if (has_hash(&t, sizeof t.bytes, hash))
            return FIRN_TEXT_SAME;
        if (has_hash(&t, AT_TOKENIZER, hash))
            return FIRN_TEXT_UNNAMED;
    }
    return FIRN_TEXT_OTHER;
}
