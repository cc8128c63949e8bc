/* What the schema says, as data for plan/checks/verifier.c. Freestanding.
 * Written by plan/generate from plan/plan.fbs; change that file instead. */
/* clang-format off */
#ifndef FIRN_PLAN_GENERATED_TABLES_H
#define FIRN_PLAN_GENERATED_TABLES_H

#include "plan/checks/verifier.h"

enum { FIRN_FB_ROOT = 6, FIRN_FB_DEPTH = 3, FIRN_FB_IDENTIFIER = 0x4e524946 };

extern const firn_fb_field_rule firn_fb_fields[];
extern const firn_fb_table_rule firn_fb_tables[];
extern const uint16_t firn_fb_limits[];
extern const uint64_t firn_fb_absents[];
extern const firn_fb_inline_rule firn_fb_inlines[];
extern const firn_fb_check firn_fb_checks[];

#endif
