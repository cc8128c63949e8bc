/* Declarations shared by the files of firnc inspect: a verified plan with its totals, the document made from it, and
 * the text page made from the document. */
#ifndef FIRNC_INSPECT_REPORT_H
#define FIRNC_INSPECT_REPORT_H

#include <cjson/cJSON.h>
#include <stdbool.h>

#include "compiler/base/files.h"
#include "compiler/commands/inspect/summary.h"
#include "plan/container.h"
#include "plan/generated/reader.h"

typedef struct firnc_report {
    const char *file;
    firn_header header;
    firn_fb_plan plan;
    cJSON *said;  /* the report of the plan, or NULL */
    bool cut_off; /* the plan was signed with a report that the file does not have */
    uint8_t plan_hash[FIRN_HASH_BYTES], model_hash[FIRN_HASH_BYTES];
    uint64_t parameters;        /* elements of all parameters that are trained */
    uint64_t initial[2];        /* bytes of initial values in the plan: of the model, and of the optimizer */
    uint64_t frozen;            /* elements of all frozen weights */
    uint64_t rounded;           /* elements of the weights that products round as they read them */
    uint64_t multiply_adds;     /* in the products of one step, over all micro-batches */
    uint64_t arena_bytes;       /* of all arenas */
    uint64_t arena_block_bytes; /* the same, of which the first is at least the verification pool */
    uint64_t live_bytes;        /* bytes; lower bound of any arena layout for this order of ops */
    uint32_t peak_op;           /* number of the first op, over all phases, at which these are in use */
    uint64_t checkpoint_bytes;  /* size of a checkpoint if storage has 16-byte program units */
    firnc_summary summary;
} firnc_report;

/* Reads, decodes and verifies a plan except for its signature, and computes the totals and the summary. `file` is its
 * name. Returns FIRN_OK or an error of the library, without a message. The caller deletes report->said. */
int firnc_report_make(firnc_report *report, const char *file, const firnc_bytes *bytes);

/* Whether cJSON is to allocate with firnc_allocate, which never fails, and to free nothing. What was allocated before
 * must be freed after it is set back. */
void firnc_inspect_memory(bool compilers);

/* Prints a document as JSON whose numbers are exact and whose texts are UTF-8; changes it for that. */
void firnc_inspect_print_json(cJSON *document);

/* Makes the document with everything that firnc inspect reports about the plan. It is allocated with firnc_allocate. */
cJSON *firnc_inspect_document(const firnc_report *report);

/* The settings of a schedule node, from its fields: "cosine from 0.001 to 0.0001 in 900 steps" */
const char *firnc_schedule_text(firn_fb_schedule_node node);

/* Prints the parts of the document that `parts` names, FIRNC_INSPECT_*, as text. */
void firnc_inspect_print_text(const cJSON *document, uint32_t parts);

/* Prints one screen that a person decides by, at most 40 lines of 100 characters. `file` false: the plan is in no file,
 * and what only a file has is left out. */
void firnc_inspect_print_screen(const firnc_report *report, const cJSON *document, bool file);

#endif
