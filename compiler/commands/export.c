/* Collects what plans need (compiler/commands/export.h) and writes it as tables. Each table has the name and the type
 * of one that the library has with everything in it: a firmware that defines these is linked with what they name. */
#define _POSIX_C_SOURCE 200809L /* open_memstream */

#include "compiler/commands/export.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/base/files.h"
#include "compiler/commands/commands.h"
#include "compiler/emit/plan_file.h"
#include "plan/errors.h"
#include "plan/op_words.h"
#include "runtime/parts.h"

typedef struct needs {
    bool ops[FIRN_OPS]; /* in the order of plan/ops.def */
    bool schedules[FIRN_SCHEDULE_KINDS];
    bool initialisers[FIRN_INITIALISE_RULES];
    bool halves[FIRN_HALF_TYPES];
    bool metrics[FIRN_METRIC_KINDS];
    bool tiles;    /* of linear layers */
    bool products; /* of matrices, with flushed sums */
    bool images;   /* convolutions with flushed sums */
    bool outputs;  /* that an application reads */
    bool rings;    /* of pushed samples */
    bool sharing;  /* of parameters, which a plan that evaluates may do */
    bool windows;  /* as samples */
    bool part;     /* of the data, instead of all */
    bool weights;  /* as initial values */
    bool batch;    /* of losses, whose divisor the phase count finds */
    firnc_export_wishes wishes;
} needs;

/* --- what a plan needs -------------------------------------------------------------------------------------------- */

static void need_op(needs *n, firn_fb_op op) {
    for (uint32_t i = 0; i < FIRN_OPS; i++)
        n->ops[i] = n->ops[i] || firn_op_at(i)->code == firn_fb_op_code(op);
    for (uint32_t i = 0; i < firn_fb_op_reductions_count(op); i++) {
        const uint8_t kind = firn_fb_op_reductions_at(op, i).kind;
        n->tiles = n->tiles || kind != FIRN_FB_REDUCTION_KIND_F32;
        if (firn_reduction_is_flushed(kind))
            *(firn_op_is_convolution(firn_fb_op_code(op)) ? &n->images : &n->products) = true;
    }
}

static void need_type(needs *n, uint8_t type) {
    if (firn_type_is_half(type))
        n->halves[type - FIRN_FLOAT16] = n->tiles = true;
}

static void need_ops(needs *n, firn_fb_plan plan) {
    for (uint32_t p = 0; p < firn_fb_plan_phases_count(plan); p++) {
        const firn_fb_phase phase = firn_fb_plan_phases_at(plan, p);
        n->batch = n->batch || firn_fb_phase_kind(phase) == FIRN_FB_PHASE_KIND_COUNT;
        for (uint32_t i = 0; i < firn_fb_phase_ops_count(phase); i++)
            need_op(n, firn_fb_phase_ops_at(phase, i));
    }
}

static void need_samples(needs *n, firn_fb_sampler sampler) {
    n->windows = n->windows || firn_fb_sampler_unit(sampler) == FIRN_FB_SAMPLE_UNIT_WINDOW;
    n->part = n->part || firn_fb_sampler_part(sampler) != FIRN_FB_DATA_PART_ALL;
}

static void need_parts(needs *n, firn_fb_plan plan) {
    need_ops(n, plan);
    need_samples(n, firn_fb_plan_sampler(plan));
    n->outputs = n->outputs || firn_fb_plan_outputs_count(plan) != 0;
    n->rings = n->rings || firn_fb_sampler_pushed(firn_fb_plan_sampler(plan)) != FIRN_ABSENT;
    for (uint32_t i = 0; i < firn_fb_plan_tensors_count(plan); i++)
        need_type(n, firn_fb_tensor_type(firn_fb_plan_tensors_at(plan, i)));
    for (uint32_t i = 0; i < firn_fb_plan_schedule_nodes_count(plan); i++)
        n->schedules[firn_fb_plan_schedule_nodes_at(plan, i).kind] = true;
    for (uint32_t i = 0; i < firn_fb_plan_metrics_count(plan); i++)
        n->metrics[firn_fb_metric_kind(firn_fb_plan_metrics_at(plan, i))] = true;
    for (uint32_t i = 0; i < firn_fb_plan_initialisers_count(plan); i++) {
        const firn_fb_initialiser initialiser = firn_fb_plan_initialisers_at(plan, i);
        const uint8_t rule = firn_fb_initialiser_rule(initialiser);
        need_type(n, firn_fb_initialiser_element(initialiser));
        if (rule != FIRN_FB_INITIALISER_RULE_CONSTANT && rule != FIRN_FB_INITIALISER_RULE_WEIGHTS)
            n->initialisers[rule - 1] = true;
        n->weights = n->weights || rule == FIRN_FB_INITIALISER_RULE_WEIGHTS;
    }
}

static int read_plan(needs *n, const char *name) {
    firnc_bytes bytes;
    firnc_plan_file checked;
    if (!firnc_plan_read(name, &bytes))
        return FIRNC_EXIT_WRONG;
    const int error = firnc_plan_check(&bytes, NULL, 0, &checked);
    if (error != FIRN_OK) {
        firnc_plan_refuse(name, &bytes, error);
        return FIRNC_EXIT_REFUSED;
    }
    need_parts(n, checked.plan);
    n->sharing = n->sharing || checked.header.mode == FIRN_MODE_EVAL;
    return FIRNC_EXIT_OK;
}

/* --- the tables --------------------------------------------------------------------------------------------------- */

/* The shape rule of each op, as plan/ops.def names it. */
static const char *const shape_rules[FIRN_OPS] = {
#define FIRN_OP(name, code, rule, ...) #rule,
#include "plan/ops.def"
#undef FIRN_OP
};

static const char *const initialisers[FIRN_INITIALISE_RULES] = {
    [FIRN_FB_INITIALISER_RULE_NORMAL - 1] = "firn_initialise_normal",
    [FIRN_FB_INITIALISER_RULE_UNIFORM - 1] = "firn_initialise_uniform",
    [FIRN_FB_INITIALISER_RULE_TRUNCATED_NORMAL - 1] = "firn_initialise_truncated_normal"};

static const char *const halves[FIRN_HALF_TYPES] = {"&firn_half_part_float16", "&firn_half_part_bfloat16",
                                                    "&firn_half_part_cbfloat16"};

static const char *const metrics[FIRN_METRIC_KINDS] = {
#define FIRN_METRIC(kind, rule, ...) [FIRN_FB_METRIC_KIND_##kind] = "firn_metric_" #rule,
#include "runtime/metrics.def"
#undef FIRN_METRIC
};

static void write_ops(FILE *out, const needs *n) {
    fputs("\nconst firn_op_part firn_op_parts[] = {\n", out);
    for (uint32_t i = 0; i < FIRN_OPS; i++)
        if (n->ops[i])
            fprintf(out, "    {&firn_op_row_%s, firn_shape_%s},\n", firn_op_name(firn_op_at(i)), shape_rules[i]);
    fputs("};\n"
          "const uint16_t firn_op_part_count = sizeof firn_op_parts / sizeof firn_op_parts[0];\n\n"
          "const firn_kernel_part firn_kernel_parts[] = {\n",
          out);
    for (uint32_t i = 0; i < FIRN_OPS; i++)
        if (n->ops[i])
            fprintf(out, "    {%u, firn_kernel_%s},\n", (unsigned)firn_op_at(i)->code, firn_op_name(firn_op_at(i)));
    fputs("};\nconst uint16_t firn_kernel_part_count = sizeof firn_kernel_parts / sizeof firn_kernel_parts[0];\n", out);
    fprintf(out, "const firn_task_body firn_linear_in_tiles = %s;\n", n->tiles ? "firn_linear_tiles" : "0");
    fprintf(out, "const firn_product_part firn_product_flushed = %s;\n",
            n->products ? "firn_product_tile_flushed" : "0");
    fprintf(out, "const firn_sums_part *const firn_sums_flushed = %s;\n", n->images ? "&firn_sums_part_flushed" : "0");
    fprintf(out, "const bool firn_has_threads = %s;\n", n->wishes.threads ? "true" : "false");
}

static bool any(const bool *needed, uint32_t count) {
    bool found = false;
    for (uint32_t i = 0; i < count; i++)
        found = found || needed[i];
    return found;
}

static void write_schedules(FILE *out, const needs *n) {
    const bool more = any(n->schedules + FIRN_SCHEDULE_CONSTANT + 1, FIRN_SCHEDULE_KINDS - FIRN_SCHEDULE_CONSTANT - 1);
    if (more) {
        fputs("\nstatic const firn_schedule_part *const schedules[FIRN_SCHEDULE_KINDS] = {\n", out);
        for (uint16_t kind = FIRN_SCHEDULE_CONSTANT + 1; kind < FIRN_SCHEDULE_KINDS; kind++)
            if (n->schedules[kind])
                fprintf(out, "    [%u] = &firn_schedule_part_%s,\n", (unsigned)kind, firn_schedule_name(kind));
        fputs("};", out);
    }
    fprintf(out, "\nconst firn_schedule_part *const *const firn_schedule_parts = %s;\n", more ? "schedules" : "0");
    fprintf(out, "const firn_schedule_tree_part firn_schedule_trees = {%s};\n",
            more ? "firn_schedule_rounded, firn_schedule_is_in_tree" : "0, 0");
}

/* A table of functions or addresses by number, with 0 for what is not needed. */
static void write_list(FILE *out, const char *declaration, const bool *needed, const char *const *names,
                       uint32_t count) {
    fprintf(out, "\n%s = {\n", declaration);
    for (uint32_t i = 0; i < count; i++)
        fprintf(out, "    %s,\n", needed[i] ? names[i] : "0");
    fputs("};\n", out);
}

/* The same as a table of its own and a pointer to it, which is 0 if the plans need none of its entries. */
static void write_optional_list(FILE *out, const char *type, const char *table, const char *name, const bool *needed,
                                const char *const *names, uint32_t count) {
    char declaration[128];
    (void)snprintf(declaration, sizeof declaration, "static const %s %s[]", type, name);
    if (any(needed, count))
        write_list(out, declaration, needed, names, count);
    fprintf(out, "\nconst %s *const %s = %s;\n", type, table, any(needed, count) ? name : "0");
}

/* Whether the plans have an op that begins its output so. */
static bool begins(const needs *n, firn_begins how) {
    bool found = false;
    for (uint32_t i = 0; i < FIRN_OPS; i++)
        found = found || (n->ops[i] && firn_op_at(i)->begins == how);
    return found;
}

/* The semantic rules. Those of a tensor that is gathered are for ops that fill it element by element, and those
 * of a tree for the op that adds it up. */
static void write_rules(FILE *out, const needs *n) {
    const bool gathered = begins(n, FIRN_BEGINS_partial), tree = begins(n, FIRN_BEGINS_last);
    fprintf(out,
            "\nconst firn_rule_parts firn_semantics_parts = {.metric = %s, .output = %s, .rings = %s, .gathered = %s, "
            ".batch = %s, .tree = %s};\n",
            any(n->metrics, FIRN_METRIC_KINDS) ? "firn_semantics_check_metric" : "0",
            n->outputs ? "firn_semantics_is_output" : "0", n->rings ? "firn_semantics_are_rings" : "0",
            gathered ? "firn_semantics_is_gathered" : "0", n->batch ? "firn_semantics_counts_batch" : "0",
            tree ? "firn_semantics_is_tree" : "0");
}

static void write_parts(FILE *out, const needs *n, uint32_t plans) {
    fprintf(
        out,
        "/* The parts of libfirn that %s needs. Written by firnc export; do not change. Compile it with the library's\n"
        " * headers and the options of the library, and link it before libfirn.a. */\n"
        "#include \"runtime/parts.h\"\n",
        plans == 1 ? "a plan" : "a set of plans");
    write_ops(out, n);
    write_schedules(out, n);
    write_list(out, "const firn_initialise_rule firn_initialise_rules[FIRN_INITIALISE_RULES]", n->initialisers,
               initialisers, FIRN_INITIALISE_RULES);
    write_optional_list(out, "firn_half_part *const", "firn_half_parts", "halves", n->halves, halves, FIRN_HALF_TYPES);
    fprintf(out, "\nconst firn_sharing_part *const firn_sharing = %s;\n",
            n->sharing ? "&firn_sharing_parameters" : "0");
    fprintf(out, "const firn_batch_part *const firn_batch = %s;\n", n->batch ? "&firn_batch_divisors" : "0");
    fprintf(out, "const firn_loss_rule firn_loss_follows = %s;\n",
            begins(n, FIRN_BEGINS_last) ? "firn_loss_follows_in_tree" : "0");
    fprintf(out, "const firn_windows_part *const firn_windows = %s;\n", n->windows ? "&firn_windows_of_segments" : "0");
    fprintf(out, "const firn_data_part_rule firn_data_part = %s;\n", n->part ? "firn_part_of_data" : "firn_all_data");
    fprintf(out, "const firn_weights_rule firn_initial_weights = %s;\n", n->weights ? "firn_copy_weights" : "0");
    fprintf(out, "const firn_plan_copy firn_plan_copier = %s;\n", n->wishes.copy_plan ? "firn_copy_plan" : "0");
    write_rules(out, n);
    write_optional_list(out, "firn_metric_part", "firn_metric_parts", "metrics", n->metrics, metrics,
                        FIRN_METRIC_KINDS);
}

int firnc_export_parts_text(const char *const *plans, uint32_t count, firnc_export_wishes wishes, firnc_bytes *c) {
    needs n = {.wishes = wishes};
    int status = FIRNC_EXIT_OK;
    for (uint32_t i = 0; i < count && status == FIRNC_EXIT_OK; i++)
        status = read_plan(&n, plans[i]);
    if (status != FIRNC_EXIT_OK)
        return status;
    char *text = NULL;
    size_t bytes = 0;
    FILE *memory = open_memstream(&text, &bytes);
    if (memory != NULL)
        write_parts(memory, &n, count);
    if (memory == NULL || fclose(memory) != 0) {
        firnc_say("firnc: memory: %s", strerror(errno));
        status = FIRNC_EXIT_WRONG;
    } else {
        *c = (firnc_bytes){(uint8_t *)firnc_format("%s", text), bytes};
    }
    free(text);
    return status;
}

int firnc_export_parts(const char *const *plans, uint32_t count, firnc_export_wishes wishes, const char *output) {
    firnc_bytes c;
    const int status = firnc_export_parts_text(plans, count, wishes, &c);
    return status != FIRNC_EXIT_OK ? status : firnc_export_write(output, c.data, c.count);
}
