/* The float32 product with AVX-512. A task is a rectangle of the output. For each block of terms it packs its rows of
 * the left factor once (they stay in the second cache), then panel after panel of 32 columns of the right one (which
 * stays in the first cache while all rows pass by). Its packed panels lie on the stack of the thread that runs it,
 * 224 KB, so this set is for hosts. See product.h for why the bits are those of the portable kernel. */
#include "runtime/kernels/x86/product.h"

#include "runtime/kernels/blocks.h"
#include "runtime/kernels/x86/pack.h"
#include "runtime/kernels/x86/tile.h"

enum {
    HEIGHT = FIRN_REGISTER_ROWS,
    WIDTH = FIRN_REGISTER_COLUMNS,
    DEPTH = 256,                 /* terms of a block */
    PANEL = FIRN_VECTOR * DEPTH, /* floats of a packed panel of rows */
    PANELS = 12,                 /* of rows, in one task */
    ROWS = PANELS * HEIGHT,
    SPILLING_PANELS = 6, /* where the sums of a task need the space of the others */
    SPILLING_ROWS = SPILLING_PANELS * HEIGHT,
    SPILLING_COLUMNS = 288,
    COLUMNS = 1024, /* of a task, at most */
    TASKS = 8,      /* wanted: a few for each thread */
    DIRECT_ROWS = 2 * HEIGHT,
    DIRECT_STEP = 256 /* floats between terms of an unpacked panel: beyond it each term is on another page */
};

/* Multiplications that take the time of one operation on an element (FIRN_GRAIN). */
enum { MULTIPLICATIONS = 16 };

_Static_assert(SPILLING_PANELS *HEIGHT *SPILLING_COLUMNS <= (PANELS - SPILLING_PANELS) * PANEL, "the sums fit");

/* Packed panels of one task. */
typedef struct scratch {
    _Alignas(64) float left[PANELS][PANEL];
    _Alignas(64) float right[WIDTH * DEPTH];
} scratch;

typedef struct work {
    const firn_linear *linear;
    bool spills; /* the output cannot hold float32 sums between blocks of terms */
    size_t row_blocks, column_blocks, rows, columns, depth; /* tasks, and their extents (the last may be smaller) */
} work;

static size_t ceiling(size_t a, size_t b) {
    return (a - 1) / b + 1;
}

/* --- a task ------------------------------------------------------------------------------------------------------- */

/* A rectangle of the output, and where it is in its terms. */
typedef struct rectangle {
    size_t row, rows, column, columns;
    size_t height; /* rows of its panels; the last may have fewer */
    size_t term, terms;
    bool first, last; /* block of terms */
} rectangle;

static void pack_rows(const work *work, const rectangle *r, scratch *scratch) {
    const firn_matrix left = firn_transposed(work->linear->product.left);
    for (size_t row = 0, panel = 0; row < r->rows; row += r->height, panel++)
        firn_vector_pack(scratch->left[panel], 1, &left, r->term, r->terms, r->row + row,
                         firn_smaller(r->height, r->rows - row));
}

/* A panel of float32 columns that few rows use, or that lies close together, is read where it is. */
static bool is_direct(const firn_matrix *right, size_t rows) {
    return right->type == FIRN_FLOAT32 && right->column_step == 1 &&
           (rows <= DIRECT_ROWS || right->row_step <= DIRECT_STEP);
}

static void place_columns(const work *work, const rectangle *r, size_t column, size_t columns, scratch *scratch,
                          firn_register_tile *t) {
    const firn_matrix *right = &work->linear->product.right;
    if (is_direct(right, r->rows)) {
        t->right = (const float *)right->data + right->first + r->term * right->row_step + column;
        t->right_step = right->row_step;
        return;
    }
    const size_t vectors = columns > FIRN_VECTOR ? 2 : 1;
    firn_vector_pack(scratch->right, vectors, right, r->term, r->terms, column, columns);
    t->right = scratch->right;
    t->right_step = vectors * FIRN_VECTOR;
}

/* One panel of columns against all rows of the rectangle. */
static void multiply_panel(const work *work, const rectangle *r, size_t column, scratch *scratch) {
    const firn_tensor *out = work->linear->out, *bias = work->linear->bias;
    const size_t width = work->linear->product.columns;
    float bias_values[WIDTH] = {0}, one_tile[HEIGHT * WIDTH];
    firn_register_tile t = {.left_row_step = 1,
                            .left_term_step = FIRN_VECTOR,
                            .columns = firn_smaller(WIDTH, r->column + r->columns - column),
                            .terms = r->terms,
                            .begins = r->first};
    place_columns(work, r, column, t.columns, scratch, &t);
    if (bias != NULL && r->last) {
        firn_widen(bias_values, bias->data, bias->type, column, t.columns);
        t.bias = bias_values;
    }
    for (size_t row = 0, panel = 0; row < r->rows; row += r->height, panel++) {
        const size_t rows = firn_smaller(r->height, r->rows - row), at = (r->row + row) * width + column;
        t.left = scratch->left[panel];
        t.rows = rows;
        if (out->type == FIRN_FLOAT32) {
            t.sums = (float *)out->data + at;
            t.sums_step = width;
        } else if (work->spills) {
            t.sums = scratch->left[SPILLING_PANELS] + row * SPILLING_COLUMNS + (column - r->column);
            t.sums_step = SPILLING_COLUMNS;
        } else {
            t.sums = one_tile;
            t.sums_step = WIDTH;
        }
        firn_register_tile_multiply(&t);
        if (out->type != FIRN_FLOAT32 && r->last)
            for (size_t i = 0; i < rows; i++)
                firn_narrow(out->data, out->type, at + i * width, t.sums + i * t.sums_step, t.columns);
    }
}

static void multiply_rectangle(const work *work, size_t number, scratch *scratch) {
    const firn_product *product = &work->linear->product;
    rectangle r = {.row = number / work->column_blocks * work->rows,
                   .column = number % work->column_blocks * work->columns};
    r.rows = firn_smaller(work->rows, product->rows - r.row);
    r.columns = firn_smaller(work->columns, product->columns - r.column);
    r.height = ceiling(r.rows, ceiling(r.rows, HEIGHT));
    for (r.term = 0; r.term < product->terms; r.term += r.terms) {
        r.terms = firn_smaller(work->depth, product->terms - r.term);
        r.first = r.term == 0;
        r.last = r.terms == product->terms - r.term;
        pack_rows(work, &r, scratch);
        for (size_t column = r.column; column < r.column + r.columns; column += WIDTH)
            multiply_panel(work, &r, column, scratch);
    }
}

static void multiply_rectangles(void *argument, size_t begin, size_t end) {
    scratch scratch;
    for (size_t number = begin; number < end; number++)
        multiply_rectangle(argument, number, &scratch);
}

/* --- the whole ---------------------------------------------------------------------------------------------------- */

/* Cuts the output into rectangles of one size: as large as the panels allow, in an even number of rows of them, and in
 * enough of them for several threads where there are some. No cut shows in a result. */
static work divide(const firn_linear *linear, size_t wanted) {
    const firn_product *product = &linear->product;
    work w = {.linear = linear, .spills = linear->out->type != FIRN_FLOAT32 && product->terms > DEPTH};
    const size_t most_rows = w.spills ? SPILLING_ROWS : ROWS;
    const size_t most_columns = w.spills ? SPILLING_COLUMNS : COLUMNS;
    w.depth = ceiling(product->terms, ceiling(product->terms, DEPTH));
    w.row_blocks = ceiling(product->rows, most_rows);
    if (wanted > 1 && w.row_blocks > 1)
        w.row_blocks += w.row_blocks % 2;
    w.rows = ceiling(product->rows, w.row_blocks);
    w.row_blocks = ceiling(product->rows, w.rows);
    w.column_blocks = ceiling(product->columns, most_columns);
    if (w.column_blocks < ceiling(wanted, w.row_blocks))
        w.column_blocks = ceiling(wanted, w.row_blocks);
    w.columns = ceiling(ceiling(product->columns, w.column_blocks), WIDTH) * WIDTH;
    w.column_blocks = ceiling(product->columns, w.columns);
    return w;
}

bool firn_avx512_can_multiply(const firn_product *product) {
    return product->present == FIRN_TERMS_ALL && product->reduction.kind == FIRN_REDUCTION_F32;
}

void firn_avx512_multiply(const firn_linear *linear, const firn_parallel *parallel) {
    const firn_product *product = &linear->product;
    const uint64_t cost = (uint64_t)product->rows * product->columns * product->terms / MULTIPLICATIONS;
    work w = divide(linear, firn_parallel_threads(parallel, cost) > 1 ? TASKS : 1);
    const size_t tasks = w.row_blocks * w.column_blocks;
    firn_parallel_run(parallel, tasks, cost / tasks + 1, multiply_rectangles, &w);
}
