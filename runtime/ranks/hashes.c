/* Hashes of a state that is shared: what all ranks have of it, which they compare, and the digest of all of it, for
 * which the other ranks send rank 0 what they have piece by piece. */
#define FIRN_FB_INLINE /* plan/access.h */
#include <string.h>

#include "plan/identity.h"
#include "runtime/ranks/internal.h"

/* --- comparing ---------------------------------------------------------------------------------------------------- */

/* A hash, and whether everything so far could be hashed. */
typedef struct hashing {
    const firn_ranks *ranks;
    firn_sha256 hash;
    bool good;
} hashing;

static void hash_tensor(void *argument, uint32_t index) {
    hashing *h = argument;
    const firn_tensor tensor = firn_instance_tensor(h->ranks->instance, index);
    h->good =
        h->good && firn_sha256_update(&h->hash, tensor.data, tensor.elements * firn_type_bytes(tensor.type)) == FIRN_OK;
}

/* Hashes what this rank has in common with the others. */
static int hash_common(const firn_ranks *ranks, uint8_t digest[FIRN_HASH_BYTES]) {
    const firn_instance *instance = ranks->instance;
    hashing h = {.ranks = ranks};
    if (!ranks->has_units)
        return firn_digest(ranks->firn, digest);
    h.good = firn_sha256_begin(&h.hash) == FIRN_OK;
    for (uint32_t i = 0; i < instance->header.region_count; i++)
        if (firn_ranks_is_common(ranks, i))
            h.good = h.good && firn_sha256_update(&h.hash, instance->blocks[i],
                                                  (size_t)instance->header.region_bytes[i]) == FIRN_OK;
    firn_ranks_for_common_tensors(ranks, hash_tensor, &h);
    return h.good ? firn_sha256_end(&h.hash, digest) : FIRN_ERROR_HASH;
}

int firn_ranks_verify(firn_ranks *ranks, uint32_t *rank) {
    const uint32_t size = ranks->transport->size, own = ranks->transport->rank;
    uint8_t digest[FIRN_HASH_BYTES] = {0}, *digests = (uint8_t *)ranks->received;
    *rank = UINT32_MAX;
    const int error = hash_common(ranks, digest);
    for (uint32_t i = 0; i < size; i++) {
        if (i == own)
            continue;
        firn_ranks_send(ranks, i, digest, sizeof digest, FIRN_RANKS_NUMBERS);
        firn_ranks_receive(ranks, i, digests + i * sizeof digest, sizeof digest);
    }
    firn_ranks_exchange(ranks);
    memcpy(digests + own * sizeof digest, digest, sizeof digest);
    for (uint32_t i = size; i-- > 1;)
        if (memcmp(digests, digests + i * sizeof digest, sizeof digest) != 0)
            *rank = i;
    return error;
}

/* --- the digest --------------------------------------------------------------------------------------------------- */

static void add(hashing *h, const uint8_t *bytes, uint64_t count) {
    for (uint64_t at = 0; at < count && h->good; at += FIRN_ALIVE_BYTES) {
        const uint64_t piece = count - at < FIRN_ALIVE_BYTES ? count - at : FIRN_ALIVE_BYTES;
        h->good = firn_sha256_update(&h->hash, bytes + at, (size_t)piece) == FIRN_OK;
        firn_instance_alive(h->ranks->instance);
    }
}

/* Adds what a rank other than 0 has of a tensor: that rank sends it, and rank 0 hashes it. */
static void add_from(firn_ranks *ranks, hashing *h, uint32_t rank, uint8_t *bytes, uint64_t count) {
    const uint32_t own = ranks->transport->rank;
    const uint64_t most = ranks->chunk * sizeof(float);
    for (uint64_t at = 0; at < count && (own == 0 || own == rank); at += most) {
        const uint64_t piece = count - at < most ? count - at : most;
        if (own == 0)
            firn_ranks_receive(ranks, rank, ranks->received, piece);
        else
            firn_ranks_send(ranks, 0, bytes + at, piece, FIRN_RANKS_STATE);
        firn_ranks_exchange(ranks);
        if (own == 0)
            add(h, (const uint8_t *)ranks->received, piece);
    }
}

/* Adds the contents of a tensor. Of a unit each rank has a part, and the parts follow each other as the ranks do. */
static void add_tensor(firn_ranks *ranks, hashing *h, uint32_t index) {
    const firn_ranks_state *state = firn_ranks_state_at(ranks, index);
    const firn_tensor tensor = firn_instance_tensor(ranks->instance, index);
    if (state == NULL && ranks->transport->rank == 0)
        add(h, tensor.data, tensor.elements * firn_type_bytes(tensor.type));
    for (uint32_t rank = 0; rank < ranks->transport->size && state != NULL; rank++) {
        uint64_t count;
        uint8_t *bytes = firn_ranks_state_bytes(state, firn_ranks_state_part(ranks, state, rank), &count);
        if (rank != 0)
            add_from(ranks, h, rank, bytes, count);
        else if (ranks->transport->rank == 0)
            add(h, bytes, count);
    }
}

int firn_ranks_digest(firn_ranks *ranks, uint8_t digest[FIRN_HASH_BYTES]) {
    const firn_instance *instance = ranks->instance;
    if (!ranks->has_units)
        return ranks->transport->rank == 0 ? firn_digest(ranks->firn, digest) : FIRN_OK;
    const int condition = firn_instance_condition(instance);
    if (condition != FIRN_OK)
        return condition;
    hashing h = {.ranks = ranks};
    h.good = firn_sha256_begin(&h.hash) == FIRN_OK;
    for (uint32_t i = 0; i < firn_fb_plan_state_tensors(instance->plan); i++) {
        h.good = h.good && firn_tensor_hash(&h.hash, firn_fb_plan_tensors_at(instance->plan, i)) == FIRN_OK;
        add_tensor(ranks, &h, i);
    }
    return h.good ? firn_sha256_end(&h.hash, digest) : FIRN_ERROR_HASH;
}
