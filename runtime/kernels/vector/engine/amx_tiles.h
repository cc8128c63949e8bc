/* The tiles of AMX and the operations that amx.c needs. Compiled for AMX-BF16, they are single instructions; their
 * arguments name tiles in the instruction itself, so they are macros. Compiled without, they are the plain C of
 * model.h. Every tile has 16 rows of 16 words of 32 bits. x86 only. */
#ifndef FIRN_KERNELS_VECTOR_ENGINE_AMX_TILES_H
#define FIRN_KERNELS_VECTOR_ENGINE_AMX_TILES_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { FIRN_AMX_TILES = 8, FIRN_AMX_ROWS = 16, FIRN_AMX_WORDS = 16 };

/* The second name is clang 14's. */
#if (defined(__AMX_BF16__) || defined(__AMXBF16__)) && defined(__x86_64__)

#    include <immintrin.h>

/* As the processor reads it: Intel 64 and IA-32 Architectures Software Developer's Manual, LDTILECFG. */
typedef struct firn_amx_configuration {
    uint8_t palette, first_row, unused[14];
    uint16_t row_bytes[16];
    uint8_t rows[16];
} firn_amx_configuration;

/* A constant, because _tile_loadconfig of gcc 12 says that it reads eight bytes: a compiler may leave out what
 * writes the others. */
static inline void firn_amx_begin(void) {
    enum { BYTES = FIRN_AMX_WORDS * sizeof(uint32_t), HIGH = FIRN_AMX_ROWS };
    static const firn_amx_configuration all = {.palette = 1,
                                               .row_bytes = {BYTES, BYTES, BYTES, BYTES, BYTES, BYTES, BYTES, BYTES},
                                               .rows = {HIGH, HIGH, HIGH, HIGH, HIGH, HIGH, HIGH, HIGH}};
    _Static_assert(sizeof all == 64 && FIRN_AMX_TILES == 8, "what the processor reads, and every tile");
    _tile_loadconfig(&all);
}

static inline void firn_amx_end(void) {
    _tile_release();
}

#    define firn_amx_zero(tile)              _tile_zero(tile)
#    define firn_amx_load(tile, from, bytes) _tile_loadd(tile, from, bytes)
/* The same for what is not to be kept in the L1 cache. */
#    define firn_amx_stream(tile, from, bytes)   _tile_stream_loadd(tile, from, bytes)
#    define firn_amx_store(tile, to, bytes)      _tile_stored(tile, to, bytes)
#    define firn_amx_multiply(sums, left, right) _tile_dpbf16ps(sums, left, right)

#else

#    include "runtime/kernels/vector/engine/model.h"

typedef uint32_t firn_amx_tile[FIRN_AMX_ROWS][FIRN_AMX_WORDS];

static _Thread_local firn_amx_tile firn_amx_tiles[FIRN_AMX_TILES];

static inline void firn_amx_begin(void) {
    memset(firn_amx_tiles, 0, sizeof firn_amx_tiles);
}

static inline void firn_amx_end(void) {}

static inline void firn_amx_zero(unsigned tile) {
    memset(firn_amx_tiles[tile], 0, sizeof firn_amx_tiles[tile]);
}

static inline void firn_amx_load(unsigned tile, const void *from, size_t bytes) {
    for (size_t row = 0; row < FIRN_AMX_ROWS; row++)
        memcpy(firn_amx_tiles[tile][row], (const uint8_t *)from + row * bytes, sizeof firn_amx_tiles[tile][row]);
}

static inline void firn_amx_stream(unsigned tile, const void *from, size_t bytes) {
    firn_amx_load(tile, from, bytes);
}

static inline void firn_amx_store(unsigned tile, void *to, size_t bytes) {
    for (size_t row = 0; row < FIRN_AMX_ROWS; row++)
        memcpy((uint8_t *)to + row * bytes, firn_amx_tiles[tile][row], sizeof firn_amx_tiles[tile][row]);
}

static inline void firn_amx_multiply(unsigned sums, unsigned left, unsigned right) {
    for (size_t row = 0; row < FIRN_AMX_ROWS; row++)
        for (size_t column = 0; column < FIRN_AMX_WORDS; column++) {
            uint32_t *sum = &firn_amx_tiles[sums][row][column];
            *sum = firn_bits(firn_model_block(firn_from_bits(*sum), firn_amx_tiles[left][row],
                                              &firn_amx_tiles[right][0][column], FIRN_AMX_WORDS));
        }
}

#endif

#endif
