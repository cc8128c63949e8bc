/* The option --logit-rows (compiler/commands/logit_rows.h). */
#include "compiler/commands/logit_rows.h"

/* In firnc_job.logit_rows the most that there can be stands for all rows, and 0 for no option. */
uint32_t firnc_logit_rows_of(bool given, uint32_t rows) {
    return !given ? 0 : rows == 0 ? UINT32_MAX : rows;
}

bool firnc_logits_are_divided(const firnc_graph *graph) {
    for (uint32_t i = 0; i < graph->node_count; i++)
        if (graph->nodes[i].code == FIRN_OP_linear_cross_entropy)
            return true;
    return false;
}

void firnc_logit_rows_warn(const char *recipe, uint32_t rows, bool eval) {
    const char *why = eval ? "an evaluation has whole logits"
                           : "the logits have no more rows than a block, which is whole chunks of POL, or are not "
                             "those of a trained layer without a bias that only a cross-entropy reads";
    if (rows != 0 && rows != UINT32_MAX)
        firnc_say("firnc: %s: warning: --logit-rows: %u changes nothing: %s; leave it out", recipe, (unsigned)rows,
                  why);
}
