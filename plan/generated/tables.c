/* What the schema says, as data for plan/checks/verifier.c. Freestanding.
 * Written by plan/generate from plan/plan.fbs; change that file instead. */
/* clang-format off */
#include "plan/generated/tables.h"

#include "plan/generated/reader.h"

const uint8_t firn_schema_hash[32] = {
    0x20, 0x6e, 0x0c, 0x27, 0x6a, 0xa3, 0x61, 0xbc, 0xfe, 0x86, 0x2e, 0xb9, 0xb8, 0x86, 0xf4, 0x7c,
    0x85, 0x66, 0xec, 0x69, 0x7f, 0x8f, 0x36, 0x1a, 0x29, 0x66, 0x6e, 0x82, 0x5c, 0xc4, 0x22, 0xe9,
};

const firn_fb_field_rule firn_fb_fields[] = {
    /* --- Initialiser */
    /* rule */ {FIRN_FB_KIND_INLINE, 0, 0, 0},
    /* element */ {FIRN_FB_KIND_INLINE, 0, 1, 0},
    /* rng_id */ {FIRN_FB_KIND_INLINE, 0, 2, 0},
    /* a */ {FIRN_FB_KIND_INLINE, 0, 3, 0},
    /* b */ {FIRN_FB_KIND_INLINE, 0, 3, 0},
    /* integer */ {FIRN_FB_KIND_INLINE, 0, 4, 0},
    /* weights */ {FIRN_FB_KIND_INLINE, 0, 5, 0},
    /* low */ {FIRN_FB_KIND_INLINE, 0, 3, 0},
    /* high */ {FIRN_FB_KIND_INLINE, 0, 3, 0},
    /* --- Input */
    /* name */ {FIRN_FB_KIND_STRING, FIRN_FB_FLAG_REQUIRED | FIRN_FB_FLAG_ASCII, 0, 0},
    /* tensor */ {FIRN_FB_KIND_INLINE, 0, 2, 0},
    /* stream */ {FIRN_FB_KIND_INLINE, 0, 6, 0},
    /* element */ {FIRN_FB_KIND_INLINE, 0, 1, 0},
    /* advance */ {FIRN_FB_KIND_INLINE, 0, 2, 0},
    /* limit */ {FIRN_FB_KIND_INLINE, 0, 2, 0},
    /* scale */ {FIRN_FB_KIND_INLINE, 0, 3, 1},
    /* shift */ {FIRN_FB_KIND_INLINE, 0, 3, 0},
    /* label */ {FIRN_FB_KIND_INLINE, 0, 7, 0},
    /* ring */ {FIRN_FB_KIND_INLINE, 0, 2, 2},
    /* --- Metric */
    /* kind */ {FIRN_FB_KIND_INLINE, 0, 8, 0},
    /* sum */ {FIRN_FB_KIND_INLINE, 0, 2, 0},
    /* count */ {FIRN_FB_KIND_INLINE, 0, 2, 0},
    /* beta */ {FIRN_FB_KIND_INLINE, 0, 3, 0},
    /* ignore_classes */ {FIRN_FB_KIND_INLINE_VECTOR, 0, 2, 1},
    /* --- Op */
    /* code */ {FIRN_FB_KIND_INLINE, 0, 9, 0},
    /* inputs */ {FIRN_FB_KIND_INLINE_VECTOR, 0, 2, 1},
    /* outputs */ {FIRN_FB_KIND_INLINE_VECTOR, FIRN_FB_FLAG_REQUIRED, 2, 1},
    /* integers */ {FIRN_FB_KIND_INLINE_VECTOR, 0, 4, 2},
    /* reals */ {FIRN_FB_KIND_INLINE_VECTOR, 0, 3, 2},
    /* reductions */ {FIRN_FB_KIND_INLINE_VECTOR, 0, 10, 3},
    /* --- Output */
    /* name */ {FIRN_FB_KIND_STRING, FIRN_FB_FLAG_REQUIRED | FIRN_FB_FLAG_ASCII, 0, 0},
    /* tensor */ {FIRN_FB_KIND_INLINE, 0, 2, 0},
    /* --- Phase */
    /* kind */ {FIRN_FB_KIND_INLINE, 0, 11, 0},
    /* ops */ {FIRN_FB_KIND_TABLE_VECTOR, FIRN_FB_FLAG_REQUIRED, 3, 4},
    /* --- Plan */
    /* numerics_version */ {FIRN_FB_KIND_INLINE, 0, 2, 0},
    /* micro_batch_order */ {FIRN_FB_KIND_INLINE, 0, 12, 0},
    /* check_loss */ {FIRN_FB_KIND_INLINE, 0, 7, 3},
    /* micro_batches */ {FIRN_FB_KIND_INLINE, 0, 2, 3},
    /* seed */ {FIRN_FB_KIND_INLINE, 0, 5, 0},
    /* steps */ {FIRN_FB_KIND_INLINE, 0, 5, 0},
    /* tensors */ {FIRN_FB_KIND_TABLE_VECTOR, FIRN_FB_FLAG_REQUIRED, 9, 4},
    /* state_tensors */ {FIRN_FB_KIND_INLINE, 0, 2, 0},
    /* phases */ {FIRN_FB_KIND_TABLE_VECTOR, FIRN_FB_FLAG_REQUIRED, 5, 5},
    /* inputs */ {FIRN_FB_KIND_TABLE_VECTOR, FIRN_FB_FLAG_REQUIRED, 1, 1},
    /* outputs */ {FIRN_FB_KIND_TABLE_VECTOR, 0, 4, 1},
    /* sampler */ {FIRN_FB_KIND_TABLE, FIRN_FB_FLAG_REQUIRED, 7, 0},
    /* schedule_nodes */ {FIRN_FB_KIND_INLINE_VECTOR, 0, 13, 6},
    /* schedules */ {FIRN_FB_KIND_TABLE_VECTOR, 0, 8, 1},
    /* initialisers */ {FIRN_FB_KIND_TABLE_VECTOR, FIRN_FB_FLAG_REQUIRED, 0, 4},
    /* metrics */ {FIRN_FB_KIND_TABLE_VECTOR, 0, 2, 7},
    /* loss */ {FIRN_FB_KIND_INLINE, 0, 2, 2},
    /* learning_rate */ {FIRN_FB_KIND_INLINE, 0, 2, 2},
    /* loss_scale */ {FIRN_FB_KIND_INLINE, 0, 2, 2},
    /* global_step */ {FIRN_FB_KIND_INLINE, 0, 2, 2},
    /* optimizer_step */ {FIRN_FB_KIND_INLINE, 0, 2, 2},
    /* finite */ {FIRN_FB_KIND_INLINE, 0, 2, 2},
    /* at_floor */ {FIRN_FB_KIND_INLINE, 0, 2, 2},
    /* gradient_norm */ {FIRN_FB_KIND_INLINE, 0, 2, 2},
    /* schedule_numbers */ {FIRN_FB_KIND_INLINE_VECTOR, 0, 14, 4},
    /* schedule_instructions */ {FIRN_FB_KIND_INLINE_VECTOR, 0, 15, 4},
    /* origin */ {FIRN_FB_KIND_INLINE_VECTOR, 0, 6, 8},
    /* losses_added */ {FIRN_FB_KIND_INLINE, 0, 7, 0},
    /* tokenizer */ {FIRN_FB_KIND_INLINE_VECTOR, 0, 6, 8},
    /* --- Sampler */
    /* kind */ {FIRN_FB_KIND_INLINE, 0, 16, 0},
    /* unit */ {FIRN_FB_KIND_INLINE, 0, 17, 0},
    /* part */ {FIRN_FB_KIND_INLINE, 0, 18, 0},
    /* epoch_end */ {FIRN_FB_KIND_INLINE, 0, 19, 0},
    /* window */ {FIRN_FB_KIND_INLINE, 0, 2, 0},
    /* stride */ {FIRN_FB_KIND_INLINE, 0, 2, 0},
    /* samples */ {FIRN_FB_KIND_INLINE, 0, 2, 0},
    /* held_out_per_mille */ {FIRN_FB_KIND_INLINE, 0, 2, 0},
    /* seed */ {FIRN_FB_KIND_INLINE, 0, 5, 0},
    /* cursor */ {FIRN_FB_KIND_INLINE, 0, 2, 0},
    /* pushed */ {FIRN_FB_KIND_INLINE, 0, 2, 2},
    /* counted */ {FIRN_FB_KIND_INLINE, 0, 2, 2},
    /* --- Schedule */
    /* root */ {FIRN_FB_KIND_INLINE, 0, 2, 0},
    /* tensor */ {FIRN_FB_KIND_INLINE, 0, 2, 0},
    /* --- Tensor */
    /* type */ {FIRN_FB_KIND_INLINE, 0, 1, 0},
    /* role */ {FIRN_FB_KIND_INLINE, 0, 20, 0},
    /* region */ {FIRN_FB_KIND_INLINE, 0, 6, 0},
    /* offset */ {FIRN_FB_KIND_INLINE, 0, 5, 0},
    /* dims */ {FIRN_FB_KIND_INLINE_VECTOR, FIRN_FB_FLAG_REQUIRED, 2, 2},
    /* first */ {FIRN_FB_KIND_INLINE, 0, 2, 0},
    /* last */ {FIRN_FB_KIND_INLINE, 0, 2, 0},
    /* name */ {FIRN_FB_KIND_STRING, FIRN_FB_FLAG_ASCII, 0, 0},
    /* base */ {FIRN_FB_KIND_INLINE, 0, 2, 2},
};

const uint16_t firn_fb_limits[] = {199, 63, 7, 3, 65535, 6, 1023, 15, 31};

const uint64_t firn_fb_absents[] = {UINT64_C(0x0), UINT64_C(0x3f800000), UINT64_C(0xffffffff), UINT64_C(0x1)};

const firn_fb_table_rule firn_fb_tables[] = {
    /* Initialiser */ {0, 9},
    /* Input */ {9, 10},
    /* Metric */ {19, 5},
    /* Op */ {24, 6},
    /* Output */ {30, 2},
    /* Phase */ {32, 2},
    /* Plan */ {34, 29},
    /* Sampler */ {63, 12},
    /* Schedule */ {75, 2},
    /* Tensor */ {77, 9},
};

const firn_fb_inline_rule firn_fb_inlines[] = {
    /* InitialiserRule */ {1, 1, 0, 1},
    /* ElementType */ {1, 1, 1, 1},
    /* uint32 */ {4, 4, 2, 0},
    /* float, finite */ {4, 4, 2, 1},
    /* int64 */ {8, 8, 3, 0},
    /* uint64 */ {8, 8, 3, 0},
    /* uint8 */ {1, 1, 3, 0},
    /* bool */ {1, 1, 3, 1},
    /* MetricKind */ {1, 1, 4, 1},
    /* uint16 */ {2, 2, 5, 0},
    /* Reduction */ {16, 4, 5, 3},
    /* PhaseKind */ {1, 1, 8, 1},
    /* MicroBatchOrder */ {1, 1, 9, 1},
    /* ScheduleNode */ {72, 8, 10, 5},
    /* ScheduleNumber */ {8, 8, 15, 1},
    /* ScheduleInstruction */ {16, 8, 16, 2},
    /* SamplerKind */ {1, 1, 18, 1},
    /* SampleUnit */ {1, 1, 19, 1},
    /* DataPart */ {1, 1, 20, 1},
    /* EpochEnd */ {1, 1, 21, 1},
    /* Role */ {1, 1, 22, 1},
};

const firn_fb_check firn_fb_checks[] = {
    {0, FIRN_FB_CHECK_BYTE, 4},
    {0, FIRN_FB_CHECK_BYTE, 10},
    {0, FIRN_FB_CHECK_FLOAT, 0},
    {0, FIRN_FB_CHECK_BYTE, 1},
    {0, FIRN_FB_CHECK_BYTE, 10},
    {0, FIRN_FB_CHECK_BYTE, 3},
    {1, FIRN_FB_CHECK_BYTE, 10},
    {2, FIRN_FB_CHECK_BYTE, 10},
    {0, FIRN_FB_CHECK_BYTE, 6},
    {0, FIRN_FB_CHECK_BYTE, 1},
    {0, FIRN_FB_CHECK_SHORT, 15},
    {32, FIRN_FB_CHECK_DOUBLE, 0},
    {40, FIRN_FB_CHECK_DOUBLE, 0},
    {48, FIRN_FB_CHECK_DOUBLE, 0},
    {56, FIRN_FB_CHECK_DOUBLE, 0},
    {0, FIRN_FB_CHECK_DOUBLE, 0},
    {0, FIRN_FB_CHECK_SHORT, 20},
    {8, FIRN_FB_CHECK_DOUBLE, 0},
    {0, FIRN_FB_CHECK_BYTE, 1},
    {0, FIRN_FB_CHECK_BYTE, 1},
    {0, FIRN_FB_CHECK_BYTE, 2},
    {0, FIRN_FB_CHECK_BYTE, 2},
    {0, FIRN_FB_CHECK_BYTE, 12},
};
