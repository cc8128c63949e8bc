/* The option --logit-rows (compiler/commands/logit_rows.h). */
#include "compiler/commands/logit_rows.h"

#include "compiler/commands/options.h"

/* In firnc_job.logit_rows the most that there can be stands for all rows, and 0 for no option. */
bool firnc_logit_rows_read(const char *command, const char *text, uint32_t *rows) {
    uint64_t given = 0;
    *rows = 0;
    if (text == NULL)
        return true;
    if (!firnc_number_read(text, UINT32_MAX - 1, &given)) {
        firnc_usage(command, "--logit-rows: %s is not a number of rows; write one, or 0 for all", text);
        return false;
    }
    *rows = given == 0 ? UINT32_MAX : (uint32_t)given;
    return true;
}

bool firnc_logits_are_divided(const firnc_graph *graph) {
    for (uint32_t i = 0; i < graph->node_count; i++)
        if (graph->nodes[i].code == FIRN_OP_linear_cross_entropy)
            return true;
    return false;
}

void firnc_logit_rows_warn(const char *recipe, const char *text, uint32_t rows, bool eval) {
    const char *why = eval ? "an evaluation has whole logits"
                           : "the logits have no more rows than a block, which is whole chunks of POL, or are not "
                             "those of a trained layer without a bias that only a cross-entropy reads";
    if (rows != 0 && rows != UINT32_MAX)
        firnc_say("firnc: %s: warning: --logit-rows: %s changes nothing: %s; leave it out", recipe, text, why);
}
