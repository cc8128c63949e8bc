/* Sums of products in scalar registers: plan/NUMERICS.md, "Reductions". Each sum adds its terms in ascending order, one
 * fused multiply-add each. Both factors are read where they lie. Freestanding. */
#include "runtime/kernels/quads.h"

/* Four lanes of a strip. Lanes beyond the last one that exists repeat it: their sums are computed and never used. */
typedef struct four {
    const float *lane[4];
    size_t step; /* to the next term */
} four;

static size_t smaller(size_t a, size_t b) {
    return a < b ? a : b;
}

static inline four four_lanes(const firn_strip *strip, size_t lanes) {
    const float *first = strip->at;
    const size_t last = lanes - 1, step = strip->lane_step;
    return (four){
        {first, first + smaller(1, last) * step, first + smaller(2, last) * step, first + smaller(3, last) * step},
        strip->term_step};
}

/* How a loop walks through four lanes. */
typedef enum walk {
    WALK_ANY,   /* any steps */
    WALK_TERMS, /* the terms of a lane are adjacent */
    WALK_LANES  /* the lanes of a term are adjacent */
} walk;

static walk walk_of(const firn_strip *strip) {
    if (strip->term_step == 1)
        return WALK_TERMS;
    return strip->lane_step == 1 ? WALK_LANES : WALK_ANY;
}

/* Returns the element of lane 1, 2 or 3 at the current term. */
static inline float lane_element(const float *first, const float *lane, int number, walk walk) {
    return walk == WALK_LANES ? first[number] : *lane;
}

/* Returns its argument; the compiler cannot tell, so it derives the addresses of a quad from this one each time instead
 * of keeping all sixteen on the stack. */
static inline float *opaque(float *at) {
#ifndef __clang_analyzer__ /* clang's analyzer knows no assembly, and would lose the sums here */
    __asm__("" : "+r"(at));
#endif
    return at;
}

/* Four by four sums. Both walks are constants after inlining. Written without arrays, which the compiler would keep in
 * memory. */
static inline __attribute__((always_inline)) firn_nan_watch four_by_four(float *sums, size_t step, bool begins,
                                                                         const four *left, walk left_walk,
                                                                         const four *right, walk right_walk,
                                                                         size_t terms, firn_nan_watch watch) {
    const size_t left_step = left_walk == WALK_TERMS ? 1 : left->step;
    const size_t right_step = right_walk == WALK_TERMS ? 1 : right->step;
    const float *l0 = left->lane[0], *l1 = left->lane[1], *l2 = left->lane[2], *l3 = left->lane[3];
    const float *r0 = right->lane[0], *r1 = right->lane[1], *r2 = right->lane[2], *r3 = right->lane[3];
    float s00 = 0, s01 = 0, s02 = 0, s03 = 0;
    float s10 = 0, s11 = 0, s12 = 0, s13 = 0;
    float s20 = 0, s21 = 0, s22 = 0, s23 = 0;
    float s30 = 0, s31 = 0, s32 = 0, s33 = 0;
    float *row0 = opaque(sums), *row1 = row0 + step, *row2 = row1 + step, *row3 = row2 + step;
    if (!begins) {
        s00 = row0[0], s01 = row0[1], s02 = row0[2], s03 = row0[3];
        s10 = row1[0], s11 = row1[1], s12 = row1[2], s13 = row1[3];
        s20 = row2[0], s21 = row2[1], s22 = row2[2], s23 = row2[3];
        s30 = row3[0], s31 = row3[1], s32 = row3[2], s33 = row3[3];
    }
    for (; terms > 0; terms--) {
        const float x0 = *l0, x1 = lane_element(l0, l1, 1, left_walk), x2 = lane_element(l0, l2, 2, left_walk),
                    x3 = lane_element(l0, l3, 3, left_walk);
        const float y0 = *r0, y1 = lane_element(r0, r1, 1, right_walk), y2 = lane_element(r0, r2, 2, right_walk),
                    y3 = lane_element(r0, r3, 3, right_walk);
        s00 = firn_fma(x0, y0, s00), s01 = firn_fma(x0, y1, s01);
        s02 = firn_fma(x0, y2, s02), s03 = firn_fma(x0, y3, s03);
        s10 = firn_fma(x1, y0, s10), s11 = firn_fma(x1, y1, s11);
        s12 = firn_fma(x1, y2, s12), s13 = firn_fma(x1, y3, s13);
        s20 = firn_fma(x2, y0, s20), s21 = firn_fma(x2, y1, s21);
        s22 = firn_fma(x2, y2, s22), s23 = firn_fma(x2, y3, s23);
        s30 = firn_fma(x3, y0, s30), s31 = firn_fma(x3, y1, s31);
        s32 = firn_fma(x3, y2, s32), s33 = firn_fma(x3, y3, s33);
        l0 += left_step, l1 += left_step, l2 += left_step, l3 += left_step;
        r0 += right_step, r1 += right_step, r2 += right_step, r3 += right_step;
    }
    row0[0] = s00, row0[1] = s01, row0[2] = s02, row0[3] = s03;
    row1[0] = s10, row1[1] = s11, row1[2] = s12, row1[3] = s13;
    row2[0] = s20, row2[1] = s21, row2[2] = s22, row2[3] = s23;
    row3[0] = s30, row3[1] = s31, row3[2] = s32, row3[3] = s33;
    watch = firn_watch_four(watch, s00, s01, s02, s03);
    watch = firn_watch_four(watch, s10, s11, s12, s13);
    watch = firn_watch_four(watch, s20, s21, s22, s23);
    watch = firn_watch_four(watch, s30, s31, s32, s33);
    return watch;
}

/* Any steps. Not inlined, because optimised for size it serves all cases, and else only rare ones. */
static __attribute__((noinline)) firn_nan_watch any_four_by_four(float *sums, size_t step, bool begins,
                                                                 const four *left, const four *right, size_t terms) {
    return four_by_four(sums, step, begins, left, WALK_ANY, right, WALK_ANY, terms, 0);
}

/* All quads of four rows and four columns that exist, side by side. Inlined like four_by_four. */
static inline __attribute__((always_inline)) firn_nan_watch whole_quads(const firn_quads *quads, size_t columns,
                                                                        float *sums, size_t step, bool begins,
                                                                        walk left_walk, walk right_walk) {
    const four left = four_lanes(&quads->left, 4);
    const size_t lane_step = quads->right.lane_step;
    const float *at = quads->right.at;
    firn_nan_watch watch = 0;
    for (; columns >= 4; columns -= 4, sums += 4, at += 4 * lane_step) {
        const four right = {{at, at + lane_step, at + 2 * lane_step, at + 3 * lane_step}, quads->right.term_step};
        if (left_walk == WALK_ANY)
            watch += any_four_by_four(sums, step, begins, &left, &right, quads->terms);
        else
            watch = four_by_four(sums, step, begins, &left, left_walk, &right, right_walk, quads->terms, watch);
    }
    return watch;
}

/* Four terms of one lane of one factor and of four lanes of the other, all adjacent; each pointer is advanced. Arm
 * cores load four terms with one instruction, which compilers do not find. */
static inline void four_terms(const float **l, const float *r[4], float s[4]) {
#if FIRN_ARM_SCALAR_FMA
    __asm__("vldmia %[l]!, {s0-s3}\n\t"
            "vldmia %[r0]!, {s4-s7}\n\tvldmia %[r1]!, {s8-s11}\n\t"
            "vfma.f32 %[a], s0, s4\n\tvfma.f32 %[b], s0, s8\n\t"
            "vfma.f32 %[a], s1, s5\n\tvfma.f32 %[b], s1, s9\n\t"
            "vfma.f32 %[a], s2, s6\n\tvfma.f32 %[b], s2, s10\n\t"
            "vfma.f32 %[a], s3, s7\n\tvfma.f32 %[b], s3, s11\n\t"
            "vldmia %[r2]!, {s4-s7}\n\tvldmia %[r3]!, {s8-s11}\n\t"
            "vfma.f32 %[c], s0, s4\n\tvfma.f32 %[d], s0, s8\n\t"
            "vfma.f32 %[c], s1, s5\n\tvfma.f32 %[d], s1, s9\n\t"
            "vfma.f32 %[c], s2, s6\n\tvfma.f32 %[d], s2, s10\n\t"
            "vfma.f32 %[c], s3, s7\n\tvfma.f32 %[d], s3, s11"
            : [a] "+t"(s[0]), [b] "+t"(s[1]), [c] "+t"(s[2]), [d] "+t"(s[3]), [l] "+r"(*l), [r0] "+r"(r[0]),
              [r1] "+r"(r[1]), [r2] "+r"(r[2]), [r3] "+r"(r[3])
            :
            : "s0", "s1", "s2", "s3", "s4", "s5", "s6", "s7", "s8", "s9", "s10", "s11", "memory");
#else
    for (size_t i = 0; i < 4; i++) {
        const float x = (*l)[i];
        s[0] = firn_fma(x, r[0][i], s[0]), s[1] = firn_fma(x, r[1][i], s[1]);
        s[2] = firn_fma(x, r[2][i], s[2]), s[3] = firn_fma(x, r[3][i], s[3]);
    }
    *l += 4, r[0] += 4, r[1] += 4, r[2] += 4, r[3] += 4;
#endif
}

/* One lane of one factor and four of the other, whose sums lie `step` apart. Inlined with constant steps to the next
 * term. */
static inline __attribute__((always_inline)) firn_nan_watch one_by_four(float *sums, size_t step, bool begins,
                                                                        const float *l, size_t one_step,
                                                                        const four *others, size_t others_step,
                                                                        size_t terms) {
    const float *r[4] = {others->lane[0], others->lane[1], others->lane[2], others->lane[3]};
    float s[4] = {0};
    if (!begins)
        s[0] = sums[0], s[1] = sums[step], s[2] = sums[2 * step], s[3] = sums[3 * step];
    for (; FIRN_WRITTEN_OUT && one_step == 1 && others_step == 1 && terms >= 4; terms -= 4)
        four_terms(&l, r, s);
    for (; terms > 0; terms--) {
        const float x = *l;
        s[0] = firn_fma(x, *r[0], s[0]), s[1] = firn_fma(x, *r[1], s[1]);
        s[2] = firn_fma(x, *r[2], s[2]), s[3] = firn_fma(x, *r[3], s[3]);
        l += one_step;
        r[0] += others_step, r[1] += others_step, r[2] += others_step, r[3] += others_step;
    }
    sums[0] = s[0], sums[step] = s[1], sums[2 * step] = s[2], sums[3 * step] = s[3];
    return firn_watch_four(0, s[0], s[1], s[2], s[3]);
}

/* Any steps; not inlined either. */
static __attribute__((noinline)) firn_nan_watch
any_one_by_four(float *sums, size_t step, bool begins, const firn_strip *one, const four *others, size_t terms) {
    return one_by_four(sums, step, begins, one->at, one->term_step, others, others->step, terms);
}

static void copy(float *to, size_t to_step, const float *from, size_t from_step, size_t rows, size_t columns) {
    for (size_t row = 0; row < rows; row++)
        for (size_t column = 0; column < columns; column++)
            to[row * to_step + column] = from[row * from_step + column];
}

/* A quad at the edge: fewer than four rows or columns exist. Its sums are computed on the stack. */
static firn_nan_watch edge_quad(const firn_quads *quads, size_t rows, size_t columns, float *sums, size_t step,
                                bool begins) {
    enum { SPARE = 4 };
    float spare[SPARE * SPARE];
    firn_nan_watch watch;
    const four left = four_lanes(&quads->left, rows), right = four_lanes(&quads->right, columns);
    if (!begins) {
        for (size_t i = 0; i < (size_t)SPARE * SPARE; i++)
            spare[i] = 0;
        copy(spare, SPARE, sums, step, rows, columns);
    }
    if (rows == 1)
        watch = any_one_by_four(spare, 1, begins, &quads->left, &right, quads->terms);
    else if (columns == 1)
        watch = any_one_by_four(spare, SPARE, begins, &quads->right, &left, quads->terms);
    else
        watch = any_four_by_four(spare, SPARE, begins, &left, &right, quads->terms);
    copy(sums, step, spare, SPARE, rows, columns);
    return watch;
}

/* One row, and as many whole quads of columns as exist. */
static firn_nan_watch one_row(const firn_quads *quads, size_t columns, float *sums, bool begins) {
    const size_t lane_step = quads->right.lane_step;
    const float *at = quads->right.at;
    firn_nan_watch watch = 0;
    for (; columns >= 4; columns -= 4, sums += 4, at += 4 * lane_step) {
        const four right = {{at, at + lane_step, at + 2 * lane_step, at + 3 * lane_step}, quads->right.term_step};
        if (quads->left.term_step == 1 && right.step == 1)
            watch += one_by_four(sums, 1, begins, quads->left.at, 1, &right, 1, quads->terms);
        else
            watch += any_one_by_four(sums, 1, begins, &quads->left, &right, quads->terms);
    }
    return watch;
}

/* Four products of a row, each a sum that begins with +0: a product that is rounded to zero has the sign of the sum. */
static inline void row_of_products(float *sums, float x, float y0, float y1, float y2, float y3) {
    const float s0 = firn_fma(x, y0, 0.0f), s1 = firn_fma(x, y1, 0.0f);
    const float s2 = firn_fma(x, y2, 0.0f), s3 = firn_fma(x, y3, 0.0f);
    sums[0] = s0, sums[1] = s1, sums[2] = s2, sums[3] = s3;
}

/* One term of four rows, and as many whole quads of columns as exist. A product of two finite numbers is not NaN, so
 * the factors are watched instead of the many sums. */
static firn_nan_watch one_term(const firn_quads *quads, size_t columns, float *sums, size_t step) {
    const four left = four_lanes(&quads->left, 4);
    const float x0 = *left.lane[0], x1 = *left.lane[1], x2 = *left.lane[2], x3 = *left.lane[3];
    const size_t lane_step = quads->right.lane_step;
    const float *at = quads->right.at;
    firn_nan_watch watch = firn_watch_finite(firn_watch_finite(0, x0, x1), x2, x3);
    for (; columns >= 4; columns -= 4, sums += 4, at += 4 * lane_step) {
        const float y0 = at[0], y1 = at[lane_step], y2 = at[2 * lane_step], y3 = at[3 * lane_step];
        watch = firn_watch_finite(firn_watch_finite(watch, y0, y1), y2, y3);
        row_of_products(sums, x0, y0, y1, y2, y3);
        row_of_products(sums + step, x1, y0, y1, y2, y3);
        row_of_products(sums + 2 * step, x2, y0, y1, y2, y3);
        row_of_products(sums + 3 * step, x3, y0, y1, y2, y3);
    }
    return watch;
}

static firn_nan_watch four_rows(const firn_quads *quads, size_t columns, float *sums, size_t step, bool begins) {
    const walk left = walk_of(&quads->left), right = walk_of(&quads->right);
    if (begins && quads->terms == 1)
        return one_term(quads, columns, sums, step);
    if (left == WALK_TERMS && right == WALK_TERMS)
        return whole_quads(quads, columns, sums, step, begins, WALK_TERMS, WALK_TERMS);
    if (left == WALK_TERMS && right == WALK_LANES)
        return whole_quads(quads, columns, sums, step, begins, WALK_TERMS, WALK_LANES);
    if (left == WALK_LANES && right == WALK_LANES)
        return whole_quads(quads, columns, sums, step, begins, WALK_LANES, WALK_LANES);
    return whole_quads(quads, columns, sums, step, begins, WALK_ANY, WALK_ANY);
}

/* The same sums, each in the same order, one after the other: about a tenth of the code. */
static firn_nan_watch one_by_one(const firn_quads *quads, size_t rows, size_t columns, float *sums, size_t step,
                                 bool begins) {
    firn_nan_watch watch = 0;
    for (size_t row = 0; row < rows; row++)
        for (size_t column = 0; column < columns; column++) {
            const float *left = quads->left.at + row * quads->left.lane_step,
                        *right = quads->right.at + column * quads->right.lane_step;
            float *at = sums + row * step + column, sum = begins ? 0.0f : *at;
            for (size_t term = 0; term < quads->terms; term++) {
                sum = firn_fma(*left, *right, sum);
                left += quads->left.term_step;
                right += quads->right.term_step;
            }
            *at = sum;
            watch = firn_watch(watch, sum);
        }
    return watch;
}

firn_nan_watch firn_quads_add(const firn_quads *quads, size_t rows, size_t columns, float *sums, size_t step,
                              bool begins) {
    if (FIRN_SMALL)
        return one_by_one(quads, rows, columns, sums, step, begins);
    size_t whole = 0; /* columns of whole quads */
    firn_nan_watch watch = 0;
    if (rows == 1 || rows == 4) {
        whole = columns / 4 * 4;
        watch = rows == 1 ? one_row(quads, whole, sums, begins) : four_rows(quads, whole, sums, step, begins);
    }
    for (; whole < columns; whole += 4) {
        firn_quads edge = *quads;
        edge.right.at += whole * edge.right.lane_step;
        watch += edge_quad(&edge, rows, smaller(4, columns - whole), sums + whole, step, begins);
    }
    return watch;
}
