/* The name of each enumerator as the schema writes it, and "?" for a value that the enumeration does not have.
 * Written by plan/generate from plan/plan.fbs; change that file instead. */
/* clang-format off */
#ifndef FIRN_PLAN_GENERATED_WORDS_H
#define FIRN_PLAN_GENERATED_WORDS_H

#include <stdint.h>

const char *firn_fb_clipping_word(uint8_t value);
const char *firn_fb_data_part_word(uint8_t value);
const char *firn_fb_element_type_word(uint8_t value);
const char *firn_fb_epoch_end_word(uint8_t value);
const char *firn_fb_initialiser_rule_word(uint8_t value);
const char *firn_fb_metric_kind_word(uint8_t value);
const char *firn_fb_micro_batch_order_word(uint8_t value);
const char *firn_fb_mode_word(uint8_t value);
const char *firn_fb_phase_kind_word(uint8_t value);
const char *firn_fb_reduction_kind_word(uint8_t value);
const char *firn_fb_region_kind_word(uint8_t value);
const char *firn_fb_role_word(uint8_t value);
const char *firn_fb_sample_unit_word(uint8_t value);
const char *firn_fb_sampler_kind_word(uint8_t value);
const char *firn_fb_schedule_kind_word(uint16_t value);
const char *firn_fb_schedule_operation_word(uint16_t value);

#endif
