/* Linear layers in tiles: a part that a firmware without half types leaves out (runtime/kernels/parts.h). Freestanding.
 */
#include "runtime/kernels/blocks.h"
#include "runtime/kernels/linear.h"
#include "runtime/kernels/parts.h"

static void add_bias(firn_tile *tile, const firn_tensor *bias) {
    float values[FIRN_TILE_COLUMNS];
    firn_widen(values, bias->data, bias->type, tile->column, tile->columns);
    for (size_t row = 0; row < tile->rows; row++)
        for (size_t column = 0; column < tile->columns; column++)
            tile->values[row][column] += values[column];
}

void firn_linear_tiles(void *linear, size_t begin, size_t end) {
    const firn_linear *job = linear;
    const size_t columns = job->product.columns;
    const uint8_t type = job->out->type;
    void *out = job->out->data;
    firn_tile tile;
    for (size_t number = begin; number < end; number++) {
        firn_product_tile(&job->product, number, &tile);
        if (job->bias != NULL)
            add_bias(&tile, job->bias);
        size_t at = tile.row * columns + tile.column;
        for (size_t row = 0; row < tile.rows; row++, at += columns)
            firn_narrow(out, type, at, tile.values[row], tile.columns);
    }
}
