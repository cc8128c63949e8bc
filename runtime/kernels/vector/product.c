/* The float32 product in vectors; see product.h. The output is divided into pieces. For each block of terms, a piece
 * packs its columns of the right factor once, as panels. There are two orders of its register tiles:
 *
 * - If the left factor is read in place, the panels stay in the L2 cache. One row of tiles after the other is
 * multiplied by all panels, and its part of the left factor stays in the L1 cache meanwhile.
 * - If the left factor is packed, more columns than fit into L2 are worth it where there is an L3 cache, because the
 *   left factor is packed again for each piece. Then as many rows are packed as stay in L2, a group, and each panel is
 *   multiplied by the whole group before the next.
 *
 * A float32 factor is not packed if its terms are close together in memory. If a product has few rows, the factors
 * exchange their roles and the weight becomes the left factor. */
#include "runtime/kernels/vector/product.h"

#include "runtime/kernels/blocks.h"
#include "runtime/kernels/reduce/matmul.h"
#include "runtime/kernels/vector/engine/tile.h"
#include "runtime/kernels/vector/pack.h"
#include "runtime/kernels/vector/pieces.h"
#include "runtime/kernels/vector/tile.h"
#include "runtime/kernels/vector/token/row.h"

/* out[row][column] = sum over all terms of left[row][term] * right[term][column] (+ bias[column]), rounded once. */
typedef struct multiplication {
    firn_matrix left, right;
    size_t rows, columns, terms;
    uint8_t kind;            /* of the reduction */
    const firn_tensor *bias; /* one value for each column, or NULL */
    void *out;               /* element (row, column) at row * out_step + column */
    uint8_t out_type;
    size_t out_step;
    bool flipped;   /* rows and columns are exchanged, also for the bias and in the output */
    bool continues; /* sums continue from what the output, float32, has */
} multiplication;

enum {
    HEIGHT = FIRN_REGISTER_ROWS,
    WIDTH = FIRN_REGISTER_COLUMNS,
    DEPTH = FIRN_PRODUCT_TERMS, /* in a block */
    COLUMNS = 1152,             /* of a piece, at most */
    RIGHT = FIRN_PACKED_FLOATS, /* of the packed panels of a piece */
    NEAR_RIGHT = FIRN_NEAR_FLOATS,
    GROUP = 64 * 1024, /* floats of a group of rows, if the panels do not stay in L2 */
    SUMS = 256 * 1024, /* floats of a piece's sums that wait for the next block of terms */
    CACHE_LINE = 64,
    STRIPS = 4,    /* row tiles of a group otherwise, if rows are consecutive */
    LEFT_GAP = 16, /* floats between rows of the widened left factor, so that rows do not share cache lines */
    DIRECT_ROWS = 2 * HEIGHT,
    NEAR_STEP = 64,      /* floats between terms read in place; if larger, their lines evict each other from L1 */
    DIRECT_STEP = 256,   /* the same where terms or uses are few; if larger, each term is on another page */
    FEW = 64,            /* terms whose lines L1 holds at any step; uses for which packing does not pay */
    SUMS_ROWS = 504,     /* rows of a piece whose sums wait: whole tiles */
    FLIPPED_ROWS = 64,   /* with more rows, packing a panel pays */
    FLIPPED_COLUMNS = 4, /* for each row; with fewer columns, packing costs less than transposing the output */
    HANDFUL = 32,        /* multiplications for which plain loops are faster */
    CHOICES = 8          /* numbers of row pieces, and of column pieces, that are tried */
};

/* Times on an AVX2 machine, in multiply-adds of a register. */
enum {
    PACK_RIGHT = 10,  /* to pack a term of a panel whose columns are consecutive */
    PACK_TURNED = 17, /* to pack a term of a panel whose terms are consecutive */
    PACK_FAR = 40,    /* to pack a term of a panel that comes from memory, in either direction */
    PACK_LEFT = 3,    /* to pack a term of a row of tiles */
    PACK_STRIP = 18,  /* the same if each term is far from the last */
    BEGIN_ROW = 960   /* to begin a row of tiles: its part of the output is not in the cache */
};

/* Offsets of the parts of a slot, in floats. */
typedef struct layout {
    size_t right; /* [panel][term][WIDTH, or FIRN_VECTOR] */
    size_t left;  /* [row][term], or [strip][term][FIRN_VECTOR] */
    size_t sums;  /* [tile][row][WIDTH] */
    size_t bias;
    size_t end;
} layout;

/* The division of a product. It does not affect the result. */
typedef struct cut {
    const multiplication *product;
    size_t depth;
    bool waits;           /* sums wait in the slot, because the output cannot hold them */
    size_t rows, columns; /* of a piece; the last may have fewer */
    size_t row_pieces, column_pieces;
    layout at;
} cut;

/* A piece, and the current block of its terms. */
typedef struct piece {
    const cut *cut;
    float *slot;
    size_t row, rows, column, columns;
    size_t height; /* rows of a tile; the last may have fewer */
    size_t term, terms;
    bool first, last; /* the first or the last block of terms */
} piece;

/* --- factors ------------------------------------------------------------------------------------------------------ */

/* Returns true if terms are better read in place, each of them a step from the last and used so many times. */
static bool is_near(size_t step, size_t terms, size_t uses) {
    return step <= NEAR_STEP || (step <= DIRECT_STEP && firn_smaller(terms, uses) <= FEW);
}

/* float32 columns that only few rows use, or whose terms are close together, are read in place, in whole registers. */
static bool is_right_direct(const piece *p, size_t columns) {
    const firn_matrix *right = &p->cut->product->right;
    return right->type == FIRN_FLOAT32 && right->column_step == 1 && columns % FIRN_VECTOR == 0 &&
           (p->rows <= DIRECT_ROWS || is_near(right->row_step, p->cut->product->terms, p->rows));
}

static bool is_left_direct(const multiplication *product) {
    const firn_matrix *left = &product->left;
    return left->type == FIRN_FLOAT32 && is_near(left->column_step, product->terms, product->columns);
}

/* Returns the floats that a packed row of tiles takes. */
static size_t packed_tile(const cut *c) {
    return c->product->left.column_step == 1 ? HEIGHT * (c->depth + LEFT_GAP) : FIRN_VECTOR * c->depth;
}

/* Returns the number of row tiles in a group. */
static size_t group_of(const cut *c) {
    const bool is_right_near = c->columns * c->depth <= NEAR_RIGHT;
    if (is_left_direct(c->product) || (is_right_near && c->product->left.column_step == 1))
        return 1;
    return is_right_near ? STRIPS : firn_ceiling(GROUP, packed_tile(c));
}

static size_t panel_vectors(size_t columns) {
    return columns > FIRN_VECTOR ? 2 : 1;
}

static void pack_right(const piece *p) {
    const firn_matrix *right = &p->cut->product->right;
    const size_t panels = p->columns / WIDTH, rest = p->columns % WIDTH;
    float *out = p->slot + p->cut->at.right;
    if (panels > 0 && !is_right_direct(p, WIDTH))
        firn_vector_pack_panels(out, right, p->term, p->terms, p->column, panels);
    if (rest > 0 && !is_right_direct(p, rest))
        firn_vector_pack(out + panels * WIDTH * p->terms, panel_vectors(rest), right, p->term, p->terms,
                         p->column + panels * WIDTH, rest);
}

static void place_right(const piece *p, size_t column, firn_register_tile *tile) {
    const firn_matrix *right = &p->cut->product->right;
    if (is_right_direct(p, tile->columns)) {
        tile->right = (const float *)right->data + right->first + p->term * right->row_step + p->column + column;
        tile->right_step = right->row_step;
    } else {
        tile->right = p->slot + p->cut->at.right + column * p->terms;
        tile->right_step = panel_vectors(tile->columns) * FIRN_VECTOR;
    }
}

/* Places the left factor of the first tile of a group. Returns the floats from one tile's to the next one's. */
static size_t place_left(const piece *p, size_t row, size_t rows, firn_register_tile *tile) {
    const firn_matrix *left = &p->cut->product->left;
    if (is_left_direct(p->cut->product)) {
        tile->left = (const float *)left->data + left->first + row * left->row_step + p->term * left->column_step;
        tile->left_row_step = left->row_step;
        tile->left_term_step = (ptrdiff_t)left->column_step;
        return p->height * left->row_step;
    }
    float *packed = p->slot + p->cut->at.left;
    tile->left = packed;
    if (left->column_step == 1) {
        tile->left_row_step = p->terms + LEFT_GAP;
        tile->left_term_step = 1;
        firn_vector_widen_rows(packed, tile->left_row_step, left, row, rows, p->term, p->terms);
        return p->height * tile->left_row_step;
    }
    const firn_matrix lanes = firn_transposed(*left);
    firn_vector_pack_strips(packed, &lanes, p->term, p->terms, row, p->height, rows);
    tile->left_row_step = 1;
    tile->left_term_step = FIRN_VECTOR;
    return p->terms * FIRN_VECTOR;
}

/* --- a piece ------------------------------------------------------------------------------------------------------ */

/* Prefetches the next tile's sums while the current tile is computed. */
static void prefetch_sums(const firn_register_tile *tile, const float *sums) {
    for (size_t row = 0; row < tile->rows; row++)
        for (size_t column = 0; column < WIDTH; column += CACHE_LINE / sizeof(float))
            firn_prefetch_near(sums + row * tile->sums_step + column);
}

/* Returns true if the output can hold the sums without conversion. */
static bool is_out_direct(const multiplication *product) {
    return product->out_type == FIRN_FLOAT32 && !product->flipped;
}

/* Returns the floats from the sums of one tile to those of the tile below. */
static size_t next_sums(const piece *p) {
    if (is_out_direct(p->cut->product))
        return p->height * p->cut->product->out_step;
    return p->cut->waits ? p->height * p->cut->columns : 0;
}

static float *place_sums(const piece *p, size_t row, size_t column, float *one_tile) {
    const multiplication *product = p->cut->product;
    if (is_out_direct(product))
        return (float *)product->out + (p->row + row) * product->out_step + p->column + column;
    return p->cut->waits ? p->slot + p->cut->at.sums + row * p->cut->columns + column * p->height : one_tile;
}

/* Computes one tile: `row` and `column` are those of the piece. */
static void multiply_tile(const piece *p, size_t row, size_t column, const firn_register_tile *tile) {
    const multiplication *product = p->cut->product;
    if (product->kind == FIRN_REDUCTION_F32)
        firn_register_tile_multiply(tile);
    else
        firn_engine_tile_multiply(product->kind, tile);
    if (!is_out_direct(product) && !product->flipped && p->last)
        firn_vector_narrow_rows(product->out, product->out_type,
                                (p->row + row) * product->out_step + p->column + column, product->out_step, tile->sums,
                                WIDTH, tile->rows, tile->columns);
}

/* Multiplies a group of rows by all panels. */
static void multiply_group(const piece *p, size_t row, size_t rows, const float *bias) {
    const bool is_direct = is_out_direct(p->cut->product);
    _Alignas(CACHE_LINE) float one_tile[HEIGHT * WIDTH];
    firn_register_tile tile = {.runs = 1,
                               .terms = p->terms,
                               .begins = p->first && !p->cut->product->continues,
                               .sums_step = is_direct ? p->cut->product->out_step : (size_t)WIDTH};
    const size_t left_step = place_left(p, p->row + row, rows, &tile);
    const float *const left = tile.left;
    const size_t sums_step = next_sums(p);
    for (size_t column = 0; column < p->columns; column += WIDTH) {
        tile.columns = firn_smaller(WIDTH, p->columns - column);
        tile.bias = bias != NULL && p->last ? bias + column : NULL;
        place_right(p, column, &tile);
        tile.left = left;
        tile.sums = place_sums(p, row, column, one_tile);
        for (size_t inside = 0; inside < rows; inside += p->height) {
            tile.rows = firn_smaller(p->height, rows - inside);
            if (inside + p->height < rows)
                prefetch_sums(&tile, tile.sums + sums_step);
            else if (column + WIDTH < p->columns)
                prefetch_sums(&tile, place_sums(p, row, column + WIDTH, one_tile));
            multiply_tile(p, row + inside, column, &tile);
            tile.left += left_step;
            tile.sums += sums_step;
        }
    }
}

/* Stores the finished sums of a flipped piece, rows as columns, one register at a time. */
static void write_flipped(const piece *p) {
    const multiplication *product = p->cut->product;
    const firn_tensor *bias = product->bias;
    float one_bias[FIRN_VECTOR] = {0};
    for (size_t row = 0; row < p->rows; row += FIRN_VECTOR) {
        const size_t rows = firn_smaller(FIRN_VECTOR, p->rows - row);
        if (bias != NULL)
            firn_widen(one_bias, bias->data, bias->type, p->row + row, rows);
        const float *sums[FIRN_VECTOR];
        for (size_t i = 0; i < rows; i++) {
            const size_t inside = (row + i) % p->height;
            sums[i] = place_sums(p, row + i - inside, 0, NULL) + inside * WIDTH;
        }
        for (size_t column = 0; column < p->columns; column += WIDTH) {
            firn_vector_narrow_columns(product->out, product->out_type,
                                       (p->column + column) * product->out_step + p->row + row, product->out_step, sums,
                                       rows, firn_smaller(WIDTH, p->columns - column), bias != NULL ? one_bias : NULL);
            for (size_t i = 0; i < rows; i++)
                sums[i] += WIDTH * p->height;
        }
    }
}

/* Returns the bias of the piece's columns in float32. */
static const float *widen_bias(const piece *p) {
    const firn_tensor *bias = p->cut->product->bias;
    if (bias == NULL || p->cut->product->flipped)
        return NULL;
    float *values = p->slot + p->cut->at.bias;
    firn_widen(values, bias->data, bias->type, p->column, p->columns);
    return values;
}

static void multiply_piece(void *argument, size_t number, void *slot_of_thread) {
    const cut *cut = argument;
    const multiplication *product = cut->product;
    piece p = {.cut = cut,
               .slot = slot_of_thread,
               .row = number % cut->row_pieces * cut->rows,
               .column = number / cut->row_pieces * cut->columns};
    p.rows = firn_smaller(cut->rows, product->rows - p.row);
    p.columns = firn_smaller(cut->columns, product->columns - p.column);
    p.height = firn_ceiling(p.rows, firn_ceiling(p.rows, HEIGHT));
    const float *bias = widen_bias(&p);
    const size_t group = group_of(cut) * p.height;
    for (p.term = 0; p.term < product->terms; p.term += p.terms) {
        p.terms = firn_smaller(cut->depth, product->terms - p.term);
        p.first = p.term == 0;
        p.last = p.terms == product->terms - p.term;
        pack_right(&p);
        for (size_t row = 0; row < p.rows; row += group)
            multiply_group(&p, row, firn_smaller(group, p.rows - row), bias);
    }
    if (product->flipped)
        write_flipped(&p);
}

/* --- the whole ---------------------------------------------------------------------------------------------------- */

static void set_pieces(cut *c, size_t row_pieces, size_t column_pieces) {
    c->rows = firn_ceiling(c->product->rows, row_pieces);
    c->columns = firn_ceiling(firn_ceiling(c->product->columns, column_pieces), WIDTH) * WIDTH;
    c->row_pieces = firn_ceiling(c->product->rows, c->rows);
    c->column_pieces = firn_ceiling(c->product->columns, c->columns);
}

/* Estimates the time with this many threads, in fused multiply-adds of a register for each term. Pieces run in rounds,
 * each piece packs its own factors, and in the last round some threads are idle. */
static size_t estimate(const cut *c, size_t threads) {
    const size_t tiles = firn_ceiling(c->rows, HEIGHT), panels = firn_ceiling(c->columns, WIDTH);
    const bool is_cached = c->product->columns * c->product->terms <= NEAR_RIGHT;
    const size_t pack_near = c->product->right.column_step == 1 ? PACK_RIGHT : PACK_TURNED;
    const size_t pack_right = is_cached ? pack_near : PACK_FAR;
    const size_t pack_left = is_cached || is_left_direct(c->product) ? PACK_LEFT : PACK_STRIP;
    const size_t begin_row = pack_left + BEGIN_ROW / c->depth;
    const size_t piece = tiles * panels * 2 * HEIGHT + pack_right * panels + begin_row * tiles;
    return firn_ceiling(c->row_pieces * c->column_pieces, threads) * piece + piece / 32;
}

/* Terms in a block: whole blocks of a matrix engine. */
static size_t depth_of(const multiplication *product) {
    const size_t depth = firn_ceiling(product->terms, firn_ceiling(product->terms, DEPTH));
    return product->kind == FIRN_REDUCTION_F32 ? depth : firn_ceiling(depth, FIRN_ENGINE_BLOCK) * FIRN_ENGINE_BLOCK;
}

_Static_assert((int)DEPTH % (int)FIRN_ENGINE_BLOCK == 0, "a block of terms may be whole blocks of a matrix engine");

/* Divides the output into pieces that fit a slot and keep all threads busy. */
static cut divide(const multiplication *product, size_t threads) {
    cut best = {.product = product,
                .depth = depth_of(product),
                .waits = product->flipped || (product->out_type != FIRN_FLOAT32 && product->terms > DEPTH)};
    const size_t packed = is_left_direct(product) ? NEAR_RIGHT : RIGHT;
    const size_t fitting = firn_smaller(COLUMNS, packed / best.depth / WIDTH * WIDTH);
    const size_t widest = best.waits ? firn_smaller(fitting, (size_t)SUMS / SUMS_ROWS / WIDTH * WIDTH) : fitting;
    const size_t column_pieces = firn_ceiling(product->columns, widest);
    const size_t row_pieces = best.waits ? firn_ceiling(product->rows, SUMS_ROWS) : 1;
    set_pieces(&best, row_pieces, column_pieces);
    if (threads <= 1)
        return best;
    size_t least = estimate(&best, threads);
    for (size_t r = row_pieces; r < row_pieces + CHOICES; r++)
        for (size_t c = column_pieces; c < column_pieces + CHOICES; c++) {
            cut other = best;
            set_pieces(&other, r, c);
            const size_t time = estimate(&other, threads);
            if (time < least) {
                best = other;
                least = time;
            }
        }
    return best;
}

/* Places the parts of a slot, each at the start of a cache line. */
static void lay_out(cut *c) {
    enum { LINE = CACHE_LINE / sizeof(float) };
    const bool has_bias = c->product->bias != NULL && !c->product->flipped;
    c->at.right = 0;
    c->at.left = firn_round_up(c->columns * c->depth, LINE);
    c->at.sums = c->at.left + firn_round_up(is_left_direct(c->product) ? 0 : group_of(c) * packed_tile(c), LINE);
    c->at.bias = c->at.sums + (c->waits ? firn_round_up(firn_round_up(c->rows, HEIGHT) * c->columns, LINE) : 0);
    c->at.end = c->at.bias + (has_bias ? firn_round_up(c->columns, LINE) : 0);
}

static uint64_t cost_of(const multiplication *product) {
    return (uint64_t)product->rows * product->columns * product->terms / FIRN_MULTIPLICATIONS;
}

/* Divides the product for the threads of a call and lays out the slot. */
static cut cut_for(const multiplication *product, const firn_kernel_call *call) {
    cut c = divide(product, firn_parallel_threads(&call->parallel, cost_of(product)));
    lay_out(&c);
    return c;
}

static size_t slot_bytes(const cut *c) {
    return c->at.end * sizeof(float);
}

/* --- linear layers ------------------------------------------------------------------------------------------------ */

/* With few rows it does not pay to pack a right factor whose terms are consecutive. As a left factor it is read in
 * place, and only the few rows are packed, as columns. The comparison is in multiply-adds of a register, for WIDTH
 * columns and one term. */
static bool is_better_flipped(const firn_product *product) {
    return product->right.column_step != 1 && product->rows <= FLIPPED_ROWS && product->columns >= WIDTH &&
           product->columns >= FLIPPED_COLUMNS * product->rows &&
           firn_ceiling(product->rows, FIRN_VECTOR) * WIDTH < 2 * product->rows + PACK_TURNED;
}

static multiplication flip(multiplication product) {
    const firn_matrix left = product.left;
    const size_t rows = product.rows;
    product.left = firn_transposed(product.right);
    product.right = firn_transposed(left);
    product.rows = product.columns;
    product.columns = rows;
    product.flipped = true;
    return product;
}

/* Returns true for a product with so few multiplications that dividing and packing would take longer. */
static bool is_handful(uint16_t op, const firn_linear *linear) {
    const firn_product *product = &linear->product;
    return op != FIRN_KERNEL_ADD_WEIGHT && product->rows <= HANDFUL && product->columns <= HANDFUL &&
           product->terms <= HANDFUL && product->rows * product->columns * product->terms <= HANDFUL &&
           product->left.type == FIRN_FLOAT32 && product->right.type == FIRN_FLOAT32 &&
           linear->out->type == FIRN_FLOAT32 && (linear->bias == NULL || linear->bias->type == FIRN_FLOAT32);
}

static float sum_of_terms(const firn_product *product, size_t row, size_t column) {
    const firn_matrix *a = &product->left, *b = &product->right;
    const float *left = (const float *)a->data + a->first + row * a->row_step;
    const float *right = (const float *)b->data + b->first + column * b->column_step;
    float sum = 0.0f;
    for (size_t term = 0; term < product->terms; term++)
        sum = firn_fma(left[term * a->column_step], right[term * b->row_step], sum);
    return sum;
}

static void multiply_handful(const firn_linear *linear) {
    const firn_product *product = &linear->product;
    float *out = linear->out->data;
    for (size_t row = 0; row < product->rows; row++)
        for (size_t column = 0; column < product->columns; column++) {
            float sum = sum_of_terms(product, row, column);
            if (linear->bias != NULL)
                sum += ((const float *)linear->bias->data)[column];
            out[row * product->columns + column] = firn_canonical(sum);
        }
}

static multiplication multiplication_of(const firn_linear *linear) {
    const firn_product *product = &linear->product;
    const multiplication it = {.left = product->left,
                               .right = product->right,
                               .rows = product->rows,
                               .columns = product->columns,
                               .terms = product->terms,
                               .kind = product->reduction.kind,
                               .bias = linear->bias,
                               .out = linear->out->data,
                               .out_type = linear->out->type,
                               .out_step = product->columns};
    return is_better_flipped(product) ? flip(it) : it;
}

static void multiply(uint16_t op, const firn_kernel_call *call) {
    firn_linear linear;
    firn_linear_of(&linear, op, call);
    if (is_handful(op, &linear)) {
        multiply_handful(&linear);
        return;
    }
    if (firn_row_is_alone(op, &linear)) {
        firn_row_multiply(call, &linear);
        return;
    }
    multiplication it = multiplication_of(&linear); /* of a gradient of a weight, never flipped */
    it.continues = op == FIRN_KERNEL_ADD_WEIGHT;
    cut c = cut_for(&it, call);
    firn_pieces_run(call, slot_bytes(&c), c.row_pieces * c.column_pieces, cost_of(&it), multiply_piece, &c);
}

uint64_t firn_vector_linear_scratch(uint16_t op, const firn_kernel_call *call) {
    firn_linear linear;
    firn_linear_of(&linear, op, call);
    if (is_handful(op, &linear))
        return 0;
    if (firn_row_is_alone(op, &linear))
        return firn_row_scratch(&linear);
    const multiplication it = multiplication_of(&linear);
    const cut c = cut_for(&it, call);
    return slot_bytes(&c);
}

void firn_vector_linear(const firn_kernel_call *call) {
    multiply(FIRN_OP_linear, call);
}

void firn_vector_linear_backward_input(const firn_kernel_call *call) {
    multiply(FIRN_OP_linear_backward_input, call);
}

void firn_vector_linear_backward_weight(const firn_kernel_call *call) {
    multiply(FIRN_OP_linear_backward_weight, call);
}

void firn_vector_linear_backward_weight_rows(const firn_kernel_call *call) {
    multiply(FIRN_OP_linear_backward_weight_rows, call);
}

void firn_vector_add_weight(const firn_kernel_call *call) {
    multiply(FIRN_KERNEL_ADD_WEIGHT, call);
}

/* --- products of batches ------------------------------------------------------------------------------------------ */

/* All batches have the division of the first one. A piece is a piece of one batch. */
typedef struct batches {
    const firn_matmul *matmul;
    cut cut;
    size_t pieces; /* of a batch */
} batches;

static void multiply_batch_piece(void *argument, size_t number, void *slot_of_thread) {
    const batches *all = argument;
    firn_linear linear;
    firn_tensor out;
    firn_matmul_batch(all->matmul, number / all->pieces, &linear, &out);
    const multiplication it = multiplication_of(&linear);
    cut c = all->cut;
    c.product = &it;
    multiply_piece(&c, number % all->pieces, slot_of_thread);
}

static uint64_t cost_of_batches(const multiplication *first, size_t count) {
    return (uint64_t)count * first->rows * first->columns * first->terms / FIRN_MULTIPLICATIONS;
}

/* Divides a batch only where there are too few of them to keep all threads busy. */
static cut cut_of_batch(const multiplication *first, const firn_kernel_call *call, size_t count) {
    const size_t threads = firn_parallel_threads(&call->parallel, cost_of_batches(first, count));
    cut c = divide(first, count >= 4 * threads ? 1 : threads);
    lay_out(&c);
    return c;
}

uint64_t firn_vector_matmul_scratch(uint16_t op, const firn_kernel_call *call) {
    firn_matmul matmul;
    firn_linear linear;
    firn_tensor out;
    firn_matmul_of(&matmul, call);
    firn_matmul_batch(&matmul, 0, &linear, &out);
    if (is_handful(op, &linear))
        return 0;
    if (firn_row_is_alone(op, &linear))
        return firn_row_scratch(&linear);
    const multiplication it = multiplication_of(&linear);
    const cut c = cut_of_batch(&it, call, matmul.batches);
    return slot_bytes(&c);
}

void firn_vector_matmul(const firn_kernel_call *call) {
    firn_matmul matmul;
    firn_linear linear;
    firn_tensor out;
    firn_matmul_of(&matmul, call);
    firn_matmul_batch(&matmul, 0, &linear, &out);
    if (is_handful(FIRN_OP_matmul, &linear)) {
        for (size_t batch = 0; batch < matmul.batches; batch++) {
            firn_matmul_batch(&matmul, batch, &linear, &out);
            multiply_handful(&linear);
        }
        return;
    }
    const multiplication it = multiplication_of(&linear);
    batches all = {.matmul = &matmul, .cut = cut_of_batch(&it, call, matmul.batches)};
    all.pieces = all.cut.row_pieces * all.cut.column_pieces;
    firn_pieces_run(call, slot_bytes(&all.cut), matmul.batches * all.pieces, cost_of_batches(&it, matmul.batches),
                    multiply_batch_piece, &all);
}
