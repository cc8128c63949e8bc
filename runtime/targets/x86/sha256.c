/* SHA-256 with the x86 SHA instructions, as the replacement that mbedTLS allows with MBEDTLS_SHA256_PROCESS_ALT: it
 * processes one block of 64 bytes. A CPU without them uses mbedTLS's own function. The plan's signature depends on this
 * hash, so the computation must be complete and exact. */
#include <cpuid.h>
#include <immintrin.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "mbedtls/sha256.h"

/* mbedTLS's own function, compiled under this name. */
int portable_sha256_process(mbedtls_sha256_context *context, const unsigned char data[64]);

/* The first 32 bits of the fractional parts of the cube roots of the first 64 primes. */
static const _Alignas(16) uint32_t constants[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

/* The result is cached, because CPUID is slow under a hypervisor. Threads that compute it at the same time get the same
 * result. */
static bool has_instructions(void) {
    enum { UNKNOWN, ABSENT, PRESENT };
    static atomic_int known = UNKNOWN;
    int found = atomic_load_explicit(&known, memory_order_relaxed);
    if (found == UNKNOWN) {
        unsigned a, b, c, d;
        bool there =
            __builtin_cpu_supports("sse4.1") && __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 && (b & bit_SHA) != 0;
        found = there ? PRESENT : ABSENT;
        atomic_store_explicit(&known, found, memory_order_relaxed);
    }
    return found == PRESENT;
}

/* The instructions keep the state as a, b, e, f and c, d, g, h. There are sixteen groups of four rounds; each group
 * also prepares message words for later groups. */
__attribute__((target("sha,sse4.1"))) static void process(uint32_t state[8], const unsigned char *data) {
    const __m128i big_endian = _mm_set_epi8(12, 13, 14, 15, 8, 9, 10, 11, 4, 5, 6, 7, 0, 1, 2, 3);
    const __m128i dcba = _mm_loadu_si128((const __m128i *)(const void *)state);
    const __m128i hgfe = _mm_loadu_si128((const __m128i *)(const void *)(state + 4));
    const __m128i cdab = _mm_shuffle_epi32(dcba, 0xb1), efgh = _mm_shuffle_epi32(hgfe, 0x1b);
    const __m128i abef_before = _mm_alignr_epi8(cdab, efgh, 8), cdgh_before = _mm_blend_epi16(efgh, cdab, 0xf0);
    __m128i abef = abef_before, cdgh = cdgh_before, words[4];
    for (size_t i = 0; i < 4; i++)
        words[i] = _mm_shuffle_epi8(_mm_loadu_si128((const __m128i *)(const void *)(data + 16 * i)), big_endian);
#pragma GCC unroll 16
    for (size_t i = 0; i < 16; i++) {
        const __m128i four =
            _mm_add_epi32(words[i % 4], _mm_load_si128((const __m128i *)(const void *)&constants[4 * i]));
        cdgh = _mm_sha256rnds2_epu32(cdgh, abef, four);
        abef = _mm_sha256rnds2_epu32(abef, cdgh, _mm_shuffle_epi32(four, 0x0e));
        const __m128i middle = _mm_alignr_epi8(words[(i + 3) % 4], words[(i + 2) % 4], 4);
        const __m128i begun = _mm_add_epi32(_mm_sha256msg1_epu32(words[i % 4], words[(i + 1) % 4]), middle);
        words[i % 4] = _mm_sha256msg2_epu32(begun, words[(i + 3) % 4]);
    }
    const __m128i feba = _mm_shuffle_epi32(_mm_add_epi32(abef, abef_before), 0x1b);
    const __m128i dchg = _mm_shuffle_epi32(_mm_add_epi32(cdgh, cdgh_before), 0xb1);
    _mm_storeu_si128((__m128i *)(void *)state, _mm_blend_epi16(feba, dchg, 0xf0));
    _mm_storeu_si128((__m128i *)(void *)(state + 4), _mm_alignr_epi8(dchg, feba, 8));
}

int mbedtls_internal_sha256_process(mbedtls_sha256_context *ctx, const unsigned char data[64]) {
    if (!has_instructions())
        return portable_sha256_process(ctx, data);
    process(ctx->MBEDTLS_PRIVATE(state), data);
    return 0;
}
