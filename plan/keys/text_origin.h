/* Says whether a training's text was made by the tokenizer that a plan names, of which a checkpoint has only the
 * preprocessing hash (plan/FORMAT.md). That also covers the length of the training's sequences, which may be another
 * than that of the plan: a decode plan has chunks. Host only. */
#ifndef FIRN_PLAN_KEYS_TEXT_ORIGIN_H
#define FIRN_PLAN_KEYS_TEXT_ORIGIN_H

#include "plan/container.h"
#include "plan/generated/reader.h"

typedef enum firn_text_origin {
    FIRN_TEXT_NOT_COMPARED, /* the plan names no tokenizer, or the hash is not known */
    FIRN_TEXT_SAME,
    FIRN_TEXT_UNNAMED, /* the training's plan named no tokenizer */
    FIRN_TEXT_OTHER    /* it named another one, or its tokens were of another type or range */
} firn_text_origin;

/* plan: a plan that has been checked. hash: the preprocessing hash of a record. */
firn_text_origin firn_text_origin_of(firn_fb_plan plan, const uint8_t hash[FIRN_HASH_BYTES]);

#endif
