/* What the files of firnc inspect share: a verified plan with its totals, the document made from it, and the page made
 * from the document. */
#ifndef FIRNC_INSPECT_REPORT_H
#define FIRNC_INSPECT_REPORT_H

#include <cjson/cJSON.h>

#include "plan/container.h"
#include "plan/generated/reader.h"

typedef struct firnc_report {
    const char *file;
    firn_header header;
    firn_fb_plan plan;
    uint8_t plan_hash[FIRN_HASH_BYTES], model_hash[FIRN_HASH_BYTES];
    uint32_t ops;              /* of all phases */
    uint64_t parameters;       /* elements of all parameters */
    uint64_t multiply_adds;    /* of the products of one step, all micro-batches together */
    uint64_t plan_arena_bytes; /* without the verification pool */
    uint64_t live_bytes;       /* no arrangement of the arena is smaller for this order */
    uint64_t checkpoint_bytes; /* of a checkpoint where storage is programmed in units of 16 */
} firnc_report;

/* Everything that firnc inspect says of the plan. */
cJSON *firnc_inspect_document(const firnc_report *report);

/* Prints the page for people, from such a document. */
void firnc_inspect_print_text(const cJSON *document);

#endif
