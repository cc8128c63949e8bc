/* The list of passes. Each pass has one entry function; emit/freeze.c does what follows the passes. */
#include "compiler/passes/driver.h"

#include <string.h>

static const struct {
    const char *name;
    firnc_pass run;
    bool eval; /* also runs for an eval plan */
} passes[] = {
    {"build", firnc_check_built, true},
    {"shapes", firnc_infer_shapes, true},
    {"adapt", firnc_add_adapters, true},
    {"freeze", firnc_freeze, true},
    {"pol", firnc_resolve_pol, true},
    {"autocast", firnc_autocast, true},
    {"decode", firnc_decode_tokens, true},
    {"autodiff", firnc_differentiate, false},
    {"outputs", firnc_add_outputs, true},
    {"training", firnc_add_training, true},
    {"fuse", firnc_fuse, true},
    {"logits", firnc_block_logits, false},
    {"copies", firnc_leave_out_copies, true},
    {"early", firnc_update_early, false},
    {"views", firnc_make_views, true},
    {"order", firnc_order, true},
    {"memory", firnc_plan_memory, true},
    {"rings", firnc_add_rings, true},
    {"lower", firnc_lower, true},
};

enum { PASS_COUNT = sizeof passes / sizeof passes[0] };

bool firnc_pass_exists(const char *name) {
    for (uint32_t i = 0; i < PASS_COUNT; i++)
        if (strcmp(passes[i].name, name) == 0)
            return true;
    return false;
}

const char *firnc_pass_names(void) {
    const char *text = passes[0].name;
    for (uint32_t i = 1; i < PASS_COUNT; i++)
        text = firnc_format("%s, %s", text, passes[i].name);
    return text;
}

bool firnc_run_passes(firnc_compilation *compilation, const char *dump_after) {
    const bool eval = compilation->job->mode == FIRNC_EVAL;
    for (uint32_t i = 0; i < PASS_COUNT; i++) {
        if ((!eval || passes[i].eval) && !passes[i].run(compilation))
            return false;
        if (dump_after != NULL && strcmp(dump_after, passes[i].name) == 0)
            firnc_dump(compilation->graph);
    }
    return true;
}
