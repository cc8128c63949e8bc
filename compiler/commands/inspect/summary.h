/* What a person decides by, computed from a verified plan: its layers, what its data must be, what is decayed, in which
 * form its ops add up, and what is unusual about it. These are facts of the payload and the header; nothing that the
 * report of the plan only says is among them. */
#ifndef FIRNC_INSPECT_SUMMARY_H
#define FIRNC_INSPECT_SUMMARY_H

#include <stdbool.h>
#include <stdint.h>

#include "compiler/commands/inspect/fold.h"
#include "plan/container.h"
#include "plan/generated/reader.h"

struct firnc_report;

/* Parameters whose names have the same beginning: those of equal layers, or of one module. */
typedef struct firnc_summary_layers {
    const char *name;     /* "transformer.h", or "transformer.wte" */
    uint32_t count;       /* layers; 0: it is one module, and no list of layers */
    uint64_t elements;    /* of all of them, frozen ones included */
    uint64_t least, most; /* elements of the smallest and of the largest layer */
} firnc_summary_layers;

/* A parameter that the plan updates. */
typedef struct firnc_summary_update {
    uint32_t tensor;
    const char *op;
    float decay;
    bool scheduled; /* the decay of each step comes from a schedule, and not from `decay` */
} firnc_summary_update;

/* Ops whose reductions have one form. */
typedef struct firnc_summary_form {
    const char *text; /* "f32 to bfloat16" */
    uint32_t reductions;
} firnc_summary_form;

typedef struct firnc_summary {
    firnc_summary_layers *layers;
    firnc_summary_update *updates;
    firnc_summary_form *forms;
    uint32_t layer_count, update_count, form_count, parameter_tensors;
    uint32_t decayed;             /* of the updates */
    uint32_t half_types;          /* bit firn_type is set if a tensor has this half type */
    uint64_t sample_bytes;        /* of all streams */
    uint64_t batch_samples;       /* samples of a step */
    uint64_t run_samples;         /* that the run reads, repeated ones included; 0: as many as there are */
    uint64_t run_bytes;           /* their bytes, if none is read twice; UINT64_MAX: more than that */
    uint64_t data_bytes;          /* the same with the part of the data that the plan does not read, about */
    uint64_t least_bytes;         /* of a micro-batch, below which the plan is refused; without the other part */
    double first_rate, last_rate; /* of learning: of the first and of the last step */
    bool has_rate, has_last_rate;
    const char **unusual; /* sentences */
    uint32_t unusual_count;
} firnc_summary;

/* Computes the summary of a report whose totals are known. Its memory is from firnc_allocate. */
firnc_summary firnc_summarise(const struct firnc_report *report);

/* "chunked 64 in bfloat16, to bfloat16" */
const char *firnc_reduction_text(firn_fb_reduction reduction);

/* Whether a parameter is decayed in some step. */
bool firnc_summary_decays(const firnc_summary_update *update);

/* Folds the names of the updated parameters that are decayed, or of those that are not. Stores the groups and returns
 * their number; the members are indices among these parameters. */
uint32_t firnc_summary_fold(const firnc_summary *summary, firn_fb_plan plan, bool decayed, const firnc_folded **groups);

#endif
