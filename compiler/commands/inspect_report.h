/* Declarations shared by the files of firnc inspect: a verified plan with its totals, the document made from it, and
 * the text page made from the document. */
#ifndef FIRNC_INSPECT_REPORT_H
#define FIRNC_INSPECT_REPORT_H

#include <cjson/cJSON.h>
#include <stdbool.h>

#include "plan/container.h"
#include "plan/generated/reader.h"

typedef struct firnc_report {
    const char *file;
    firn_header header;
    firn_fb_plan plan;
    const cJSON *said; /* the report of the plan, or NULL */
    bool cut_off;      /* the plan was signed with a report that the file does not have */
    uint8_t plan_hash[FIRN_HASH_BYTES], model_hash[FIRN_HASH_BYTES];
    uint64_t parameters;        /* elements of all parameters that are trained */
    uint64_t initial[2];        /* bytes of initial values in the plan: of the model, and of the optimizer */
    uint64_t frozen;            /* elements of all frozen weights */
    uint64_t rounded;           /* elements of the weights that products round as they read them */
    uint64_t multiply_adds;     /* in the products of one step, over all micro-batches */
    uint64_t arena_bytes;       /* of all arenas */
    uint64_t arena_block_bytes; /* the same, of which the first is at least the verification pool */
    uint64_t live_bytes;        /* bytes; lower bound of any arena layout for this order of ops */
    uint64_t checkpoint_bytes;  /* size of a checkpoint if storage has 16-byte program units */
} firnc_report;

/* Makes the document with everything that firnc inspect reports about the plan. It is allocated with firnc_allocate. */
cJSON *firnc_inspect_document(const firnc_report *report);

/* Prints the document as a page of text. */
void firnc_inspect_print_text(const cJSON *document);

#endif
