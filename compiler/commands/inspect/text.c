/* firnc inspect, the parts as text, and all of them as one page, which ends with the totals that decide whether the
 * plan fits a device. All of it comes from the document that --json prints (document.c). */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/base/words.h"
#include "compiler/commands/inspect/fold.h"
#include "compiler/commands/inspect/inspect.h"
#include "compiler/commands/inspect/report.h"
#include "plan/generated/operands.h"

/* --- items of the document ---------------------------------------------------------------------------------------- */

static const cJSON *item(const cJSON *object, const char *name) {
    return cJSON_GetObjectItemCaseSensitive(object, name);
}

static const char *text(const cJSON *object, const char *name) {
    return cJSON_GetStringValue(item(object, name));
}

static uint64_t number(const cJSON *object, const char *name) {
    return (uint64_t)cJSON_GetNumberValue(item(object, name));
}

/* The element of `list` at the index that the object's member `name` holds. */
static const cJSON *element(const cJSON *list, const cJSON *object, const char *name) {
    return cJSON_GetArrayItem(list, (int)number(object, name));
}

static bool is(const cJSON *object, const char *name, const char *word) {
    return strcmp(text(object, name), word) == 0;
}

/* --- how values are written --------------------------------------------------------------------------------------- */

static const char *grouped(const cJSON *object, const char *name) {
    return firnc_grouped(number(object, name));
}

/* The shortest decimal number that reads back as the same float. */
static const char *real(const cJSON *object, const char *name) {
    float value = (float)cJSON_GetNumberValue(item(object, name));
    const char *digits = "";
    for (int count = 6; count <= 9; count++) {
        digits = firnc_format("%.*g", count, (double)value);
        if (strtof(digits, NULL) == value)
            break;
    }
    return digits;
}

/* "float32[2,3]" */
static const char *shape(const cJSON *tensor) {
    const char *dims = "";
    const cJSON *dim;
    cJSON_ArrayForEach(dim, item(tensor, "dims")) {
        dims = firnc_format("%s%s%" PRIu64, dims, *dims == '\0' ? "" : ",", (uint64_t)cJSON_GetNumberValue(dim));
    }
    return firnc_format("%s[%s]", text(tensor, "type"), dims);
}

static void line(const char *label, const char *content) {
    printf("%-20s %s\n", label, content);
}

static void heading(const char *content) {
    printf("\n%s\n", content);
}

/* A text of the report; "not said" without it. */
static const char *said(const cJSON *root, const char *name) {
    const char *content = text(item(root, "said"), name);
    return content != NULL ? firnc_printable(content) : "not said";
}

/* --- the page ----------------------------------------------------------------------------------------------------- */

static void print_identities(const cJSON *root) {
    line("plan", firnc_format("%s, %s bytes%s", firnc_printable(text(root, "file")),
                              grouped(item(root, "totals"), "plan_bytes"),
                              item(root, "report_cut_off") != NULL ? " as signed; its report was cut off" : ""));
    line("signature", is(root, "signature", "unsigned") ? "unsigned: nothing runs this plan"
                                                        : "ECDSA P-256, not checked here (firnc verify)");
    line("plan hash", text(root, "plan_hash"));
    line("run hash", text(root, "run_hash"));
    line("model hash", text(root, "model_hash"));
    line("key hash", text(root, "key_hash"));
    line("schema hash", text(root, "schema_hash"));
    line("format", text(root, "format"));
    line("plan version",
         firnc_format("%" PRIu64 ", image id %" PRIu64 ", security counter %" PRIu64, number(root, "plan_version"),
                      number(root, "image_id"), number(root, "security_counter")));
    line("vendor, class", firnc_format("%s, %s", text(root, "vendor"), text(root, "class")));
}

static void print_run(const cJSON *root) {
    bool eval = is(root, "mode", "eval");
    line("mode", text(root, "mode"));
    const char *endless = eval ? "every whole batch of the data" : "no end";
    line("parameters", grouped(item(root, "totals"), "parameters"));
    if (number(item(root, "totals"), "frozen_weights") > 0)
        line("frozen weights", grouped(item(root, "totals"), "frozen_weights"));
    line("numerics", grouped(root, "numerics_version"));
    line("steps", number(root, "steps") == 0 ? endless : grouped(root, "steps"));
    if (item(root, "origin") != NULL)
        line("continues run", text(root, "origin"));
    if (item(root, "tokenizer") != NULL)
        line("tokenizer", text(root, "tokenizer"));
    const cJSON *totals = item(root, "totals"), *origin = item(item(root, "said"), "origin");
    if (number(totals, "initial_model_bytes") + number(totals, "initial_optimizer_bytes") > 0)
        line("initial values",
             firnc_format("%s bytes of the model, %s of the optimizer", grouped(totals, "initial_model_bytes"),
                          grouped(totals, "initial_optimizer_bytes")));
    if (origin != NULL)
        line("said: from", firnc_format("step %s of that run, sample %s of its data", grouped(origin, "step"),
                                        grouped(origin, "cursor")));
    line("micro-batches",
         firnc_format("%" PRIu64 " of %" PRIu64 " samples%s", number(root, "micro_batches"),
                      number(item(root, "sampler"), "samples"),
                      strcmp(text(root, "micro_batch_order"), "tree") == 0 ? ", added as a tree" : ""));
    if (cJSON_IsTrue(item(root, "losses_added")))
        line("loss of a step", "of the whole batch: the losses of its micro-batches are added");
    line("seed", text(root, "seed"));
    line("loss check", cJSON_IsTrue(item(root, "check_loss")) ? "stops when the loss is not finite" : "off");
}

/* What the report of the plan says of the run, each line marked: nothing that runs follows from it. */
static void print_said(const cJSON *root) {
    line("said: model", said(root, "model"));
    line("said: frozen by", firnc_format("%s for target %s, POL lowering %s", said(root, "compiler"),
                                         said(root, "target"), said(root, "pol_lowering")));
}

/* " as x * 0.0039 + 0.5", if the elements of an input are scaled or shifted. */
static const char *conversion(const cJSON *input) {
    if (cJSON_GetNumberValue(item(input, "scale")) == 1 && cJSON_GetNumberValue(item(input, "shift")) == 0)
        return "";
    return firnc_format(" as x * %s + %s", real(input, "scale"), real(input, "shift"));
}

static void print_data(const cJSON *root) {
    const cJSON *sampler = item(root, "sampler"), *input;
    const char *unit = "records", *order = "in sequence";
    if (is(sampler, "unit", "window"))
        unit = firnc_format("windows of %" PRIu64 ", stride %" PRIu64, number(sampler, "window"),
                            number(sampler, "stride"));
    if (is(sampler, "kind", "permutation"))
        order = firnc_format("permuted with seed %s", text(sampler, "seed"));
    line("data",
         firnc_format("%s, %s, part %s (%" PRIu64 " per mille held out), at the end %s", unit, order,
                      text(sampler, "part"), number(sampler, "held_out_per_mille"), text(sampler, "epoch_end")));
    cJSON_ArrayForEach(input, item(root, "inputs")) {
        line(cJSON_IsTrue(item(input, "label")) ? "  label" : "  input",
             firnc_format("%s %s from %s of stream %" PRIu64 "%s", firnc_printable(text(input, "name")),
                          shape(element(item(root, "tensors"), input, "tensor")), text(input, "element"),
                          number(input, "stream"), conversion(input)));
        if (cJSON_IsNumber(item(input, "ring")))
            line("    pushed", firnc_format("the newest in %s", shape(element(item(root, "tensors"), input, "ring"))));
    }
    const cJSON *output;
    cJSON_ArrayForEach(output, item(root, "outputs")) {
        line("  output", firnc_format("%s %s", firnc_printable(text(output, "name")),
                                      shape(element(item(root, "tensors"), output, "tensor"))));
    }
}

/* The name of a schedule, as the report has it. */
static const char *schedule_name(const cJSON *root, uint64_t index) {
    const char *name = cJSON_GetStringValue(cJSON_GetArrayItem(item(item(root, "said"), "schedules"), (int)index));
    return name != NULL ? firnc_printable(name) : firnc_format("%" PRIu64, index);
}

/* The weight decay of a group: "0.01", or the name of its schedule. */
static const char *decay(const cJSON *root, const cJSON *group) {
    if (item(group, "decay_schedule") == NULL)
        return real(group, "weight_decay");
    return firnc_format("by schedule %s", schedule_name(root, number(group, "decay_schedule")));
}

/* The attributes of the first op with this name; NULL if the plan has none. */
static const cJSON *find_attributes(const cJSON *root, const char *name) {
    const cJSON *phase, *op;
    cJSON_ArrayForEach(phase, item(root, "phases")) {
        cJSON_ArrayForEach(op, item(phase, "ops")) {
            if (is(op, "op", name))
                return item(op, "attributes");
        }
    }
    return NULL;
}

/* "dynamic, from 6.10352e-05 to 32768, doubled after more than 2000 steps, overflow tolerance 0" */
static const char *scaling(const cJSON *root) {
    const cJSON *update = find_attributes(root, "loss_scale_update");
    if (item(root, "initial_loss_scale") == NULL)
        return text(root, "loss_scaling");
    if (update == NULL)
        return firnc_format("%s, %s", text(root, "loss_scaling"), real(root, "initial_loss_scale"));
    return firnc_format("%s, first %s, from %s to %s, doubled after more than %" PRIu64 " steps, overflow tolerance %s",
                        text(root, "loss_scaling"), real(root, "initial_loss_scale"), real(update, "minimum"),
                        real(update, "maximum"), number(update, "steps_per_increase"),
                        real(update, "overflow_tolerance"));
}

/* Whether a number of the report can be printed as a count. */
static bool is_count(const cJSON *object, const char *name) {
    const cJSON *count = item(object, name);
    return cJSON_IsNumber(count) && cJSON_GetNumberValue(count) >= 0 && cJSON_GetNumberValue(count) <= 1e9;
}

/* Whether all that is printed of a group is there and of its type: the report is only text. */
static bool is_group(const cJSON *group) {
    const bool has_decay = item(group, "decay_schedule") != NULL ? is_count(group, "decay_schedule")
                                                                 : cJSON_IsNumber(item(group, "weight_decay"));
    return text(group, "name") != NULL && text(group, "optimizer") != NULL && is_count(group, "parameters") &&
           has_decay;
}

typedef struct tally {
    const char *name;
    unsigned count;
} tally;

/* Counts an op under its name, of the `*names` that there are so far. */
static void count_op(tally *tallies, unsigned *names, const char *name) {
    unsigned i = 0;
    while (i < *names && strcmp(tallies[i].name, name) != 0)
        i++;
    if (i == *names)
        tallies[(*names)++] = (tally){.name = name};
    tallies[i].count++;
}

/* "4 adamw": the ops of the update phase by name, in the order of the first of each. */
static void print_updates(const cJSON *root) {
    tally tallies[FIRN_OPS];
    const cJSON *phase, *op;
    unsigned names = 0;
    cJSON_ArrayForEach(phase, item(root, "phases")) {
        if (!is(phase, "kind", "update"))
            continue;
        cJSON_ArrayForEach(op, item(phase, "ops")) {
            count_op(tallies, &names, text(op, "op"));
        }
    }
    for (unsigned i = 0; i < names; i++)
        line("update", firnc_format("%u of op %s", tallies[i].count, tallies[i].name));
}

/* How often the recipe wants the state saved and evaluated, the patterns of the parameters that it freezes, and forms
 * of fine-tuning.
 */
static void print_said_run(const cJSON *report) {
    const cJSON *pattern, *steps = item(report, "checkpoint_steps");
    if (cJSON_IsNumber(steps) && cJSON_GetNumberValue(steps) >= 1)
        line("said: checkpoint", firnc_format("every %.0f steps", cJSON_GetNumberValue(steps)));
    if (cJSON_IsTrue(item(report, "save_initial_checkpoint")))
        line("said: checkpoint", "before the first step");
    const cJSON *evaluations = item(report, "eval_frequency");
    if (cJSON_IsNumber(evaluations) && cJSON_GetNumberValue(evaluations) >= 1)
        line("said: evaluation", firnc_format("every %.0f steps", cJSON_GetNumberValue(evaluations)));
    cJSON_ArrayForEach(pattern, item(report, "frozen")) {
        if (cJSON_IsString(pattern))
            line("said: frozen", firnc_printable(cJSON_GetStringValue(pattern)));
    }
    cJSON_ArrayForEach(pattern, item(report, "fine_tuning")) {
        if (cJSON_IsString(pattern))
            line("said: tuned", firnc_printable(cJSON_GetStringValue(pattern)));
    }
}

/* "1000 records, 100 per mille held out; columns: age, area": of which data the recipe has the statistics. */
static void print_statistics(const cJSON *statistics) {
    enum { NAMES_SHOWN = 8 };
    const cJSON *name;
    const char *names = "";
    unsigned count = 0;
    const cJSON *records = item(statistics, "records"), *held_out = item(statistics, "held_out_per_mille");
    if (!cJSON_IsNumber(records) || !cJSON_IsNumber(held_out) || text(statistics, "data") == NULL)
        return;
    line("said: statistics",
         firnc_format("of %.0f records, %.0f per mille held out, data %s", cJSON_GetNumberValue(records),
                      cJSON_GetNumberValue(held_out), firnc_printable(text(statistics, "data"))));
    cJSON_ArrayForEach(name, item(statistics, "columns")) {
        if (cJSON_IsString(name) && count++ < NAMES_SHOWN)
            names = firnc_format("%s%s%s", names, count == 1 ? "" : ", ", firnc_printable(cJSON_GetStringValue(name)));
    }
    if (count > 0)
        line("said: columns", firnc_format("%u: %s%s", count, names, count > NAMES_SHOWN ? ", ..." : ""));
}

static void print_optimizer(const cJSON *root) {
    const cJSON *group;
    print_updates(root);
    cJSON_ArrayForEach(group, item(item(root, "said"), "groups")) {
        if (is_group(group))
            line("said: group",
                 firnc_format("%s: %s, %" PRIu64 " tensors, weight decay %s", firnc_printable(text(group, "name")),
                              firnc_printable(text(group, "optimizer")), number(group, "parameters"),
                              decay(root, group)));
    }
    line("said: early update", said(root, "early_update"));
    print_said_run(item(root, "said"));
    line("loss scaling", scaling(root));
    const char *threshold = "";
    if (!is(root, "clipping", "none"))
        threshold = firnc_format(" at %s", real(root, "clip_threshold"));
    line("clipping", firnc_format("%s%s", text(root, "clipping"), threshold));
}

static void print_metrics(const cJSON *root) {
    const cJSON *metric, *class;
    cJSON_ArrayForEach(metric, item(root, "metrics")) {
        const char *content = text(metric, "kind"), *separator = ", without class";
        if (cJSON_GetNumberValue(item(metric, "beta")) != 0)
            content = firnc_format("%s, beta %.9g", content, cJSON_GetNumberValue(item(metric, "beta")));
        cJSON_ArrayForEach(class, item(metric, "ignore_classes")) {
            content = firnc_format("%s%s %" PRIu64, content, separator, (uint64_t)cJSON_GetNumberValue(class));
            separator = ",";
        }
        line("metric", content);
    }
}

static void print_schedules(const cJSON *root) {
    const cJSON *schedule, *node;
    unsigned count = 0, place = 0;
    if (cJSON_GetArraySize(item(root, "schedules")) == 0)
        return;
    heading("schedule nodes (children after their parent)");
    cJSON_ArrayForEach(schedule, item(root, "schedules")) {
        printf("  %s is node %" PRIu64 "\n", schedule_name(root, place++), number(schedule, "root"));
    }
    cJSON_ArrayForEach(node, item(root, "schedule_nodes")) {
        uint64_t first = number(node, "first_child"), children = number(node, "child_count");
        printf("  %3u  from step %-8" PRIu64 " %s", count++, number(node, "start"), text(node, "text"));
        if (children > 0)
            printf(", nodes %" PRIu64 " to %" PRIu64, first, first + children - 1);
        putchar('\n');
    }
}

static const char *lifetime(const cJSON *tensor) {
    if (number(tensor, "last") == UINT32_MAX)
        return "always";
    return firnc_format("%" PRIu64 "..%" PRIu64, number(tensor, "first"), number(tensor, "last"));
}

/* The regions in the order in which an application gives their blocks. */
static void print_regions(const cJSON *root) {
    const cJSON *region;
    heading("regions");
    cJSON_ArrayForEach(region, item(root, "regions")) {
        printf("  %-18s %12s bytes\n", text(region, "kind"), grouped(region, "bytes"));
    }
}

/* "decoder.[0-11].weight float32[2,3]" */
static const char *named(const char *name, const cJSON *tensor) {
    return firnc_format("%s %s", firnc_printable(name), shape(tensor));
}

static void print_tensors(const cJSON *root) {
    const cJSON *tensor;
    heading("memory map (names outside the state are said)");
    printf("  %-10s %12s %12s  %-12s %-15s %s\n", "region", "offset", "bytes", "live in ops", "role", "tensor");
    cJSON_ArrayForEach(tensor, item(root, "tensors")) {
        printf("  %-10s %12s %12s  %-12s %-15s %s\n", text(tensor, "region"), grouped(tensor, "offset"),
               grouped(tensor, "bytes"), lifetime(tensor), text(tensor, "role"), named(text(tensor, "name"), tensor));
    }
}

/* The elements of a list of the document, for access by index. */
static const cJSON **elements_of(const cJSON *list, uint32_t *count) {
    const cJSON **elements = firnc_allocate((uint64_t)cJSON_GetArraySize(list) * sizeof *elements), *next;
    *count = 0;
    cJSON_ArrayForEach(next, list) {
        elements[(*count)++] = next;
    }
    return elements;
}

/* Folds tensors of one shape, role and region. */
static uint32_t fold_tensors(const cJSON *const *tensors, uint32_t count, const firnc_folded **groups) {
    firnc_fold_item *items = firnc_allocate((uint64_t)count * sizeof *items);
    for (uint32_t i = 0; i < count; i++)
        items[i] =
            (firnc_fold_item){.name = text(tensors[i], "name"),
                              .same = firnc_format("%s %s %s %d", text(tensors[i], "region"), text(tensors[i], "role"),
                                                   shape(tensors[i]), item(tensors[i], "base") != NULL)};
    return firnc_fold(items, count, groups);
}

static void print_folded_tensors(const cJSON *root) {
    uint32_t count;
    const cJSON **tensors = elements_of(item(root, "tensors"), &count);
    const firnc_folded *groups;
    const uint32_t made = fold_tensors(tensors, count, &groups);
    heading("tensors (those of equal layers in one line; --unfolded: each with its place; names outside the state are "
            "said)");
    printf("  %-10s %5s %13s %14s  %-15s %s\n", "region", "count", "bytes each", "bytes", "role", "tensor");
    for (uint32_t i = 0; i < made; i++) {
        const cJSON *tensor = tensors[groups[i].members[0]];
        printf("  %-10s %5u %13s %14s  %-15s %s%s\n", text(tensor, "region"), (unsigned)groups[i].count,
               grouped(tensor, "bytes"), firnc_grouped(groups[i].count * number(tensor, "bytes")), text(tensor, "role"),
               named(groups[i].name, tensor), item(tensor, "base") != NULL ? ", a view: its bytes are another's" : "");
    }
}

/* --- what is live at the peak ------------------------------------------------------------------------------------- */

/* Whether a tensor has bytes of an arena at an op. */
static bool is_live(const cJSON *tensor, uint64_t op) {
    return strncmp(text(tensor, "region"), "arena", strlen("arena")) == 0 && item(tensor, "base") == NULL &&
           number(tensor, "first") <= op && op <= number(tensor, "last");
}

/* Whether a tensor hands its bytes at an op to one of `tensors`, which begins there. */
static bool hands_on(const cJSON *tensor, uint64_t op, const cJSON *const *tensors, uint32_t count) {
    if (number(tensor, "last") != op || number(tensor, "first") == op)
        return false;
    for (uint32_t i = 0; i < count; i++)
        if (number(tensors[i], "first") == op && number(tensors[i], "offset") == number(tensor, "offset") &&
            is(tensors[i], "region", text(tensor, "region")))
            return true;
    return false;
}

/* The op of a number over all phases; NULL if there are fewer. */
static const cJSON *op_at(const cJSON *root, uint64_t place) {
    const cJSON *phase;
    cJSON_ArrayForEach(phase, item(root, "phases")) {
        const uint64_t count = (uint64_t)cJSON_GetArraySize(item(phase, "ops"));
        if (place < count)
            return cJSON_GetArrayItem(item(phase, "ops"), (int)place);
        place -= count;
    }
    return NULL;
}

typedef struct live_group {
    uint64_t bytes;
    uint32_t group;
} live_group;

static int by_bytes(const void *a, const void *b) {
    const live_group *x = a, *y = b;
    return x->bytes != y->bytes ? (x->bytes < y->bytes) - (x->bytes > y->bytes)
                                : (x->group > y->group) - (x->group < y->group);
}

static void print_live(const cJSON *const *live, uint32_t count) {
    enum { GROUPS_SHOWN = 12 };
    const firnc_folded *groups;
    const uint32_t made = fold_tensors(live, count, &groups);
    live_group *order = firnc_allocate((uint64_t)made * sizeof *order);
    for (uint32_t i = 0; i < made; i++)
        order[i] = (live_group){.bytes = groups[i].count * number(live[groups[i].members[0]], "bytes"), .group = i};
    qsort(order, made, sizeof *order, by_bytes);
    for (uint32_t i = 0; i < made && i < GROUPS_SHOWN; i++) {
        const firnc_folded *group = &groups[order[i].group];
        printf("  %14s bytes  %5u x %s\n", firnc_grouped(order[i].bytes), (unsigned)group->count,
               named(group->name, live[group->members[0]]));
    }
    if (made > GROUPS_SHOWN)
        printf("  and %u more\n", (unsigned)(made - GROUPS_SHOWN));
}

static void print_peak(const cJSON *root) {
    const uint64_t peak = number(item(root, "summary"), "peak_op");
    const cJSON *op = op_at(root, peak);
    uint32_t count, kept = 0, shown = 0;
    const cJSON **tensors = elements_of(item(root, "tensors"), &count);
    if (op == NULL)
        return;
    heading(firnc_format("in the arena at its peak, op %" PRIu64 ", %s%s%s (names are said)", peak, text(op, "op"),
                         *text(op, "layer") != '\0' ? " of " : "", firnc_printable(text(op, "layer"))));
    for (uint32_t i = 0; i < count; i++)
        if (is_live(tensors[i], peak))
            tensors[kept++] = tensors[i];
    for (uint32_t i = 0; i < kept; i++)
        if (!hands_on(tensors[i], peak, &tensors[i + 1], kept - i - 1) && !hands_on(tensors[i], peak, tensors, shown))
            tensors[shown++] = tensors[i];
    print_live(tensors, shown);
}

/* "float16: 6 elements of each of 4 heads (of 6), interleaved, base 10000"; half-split: an element turns with the one
 * half the elements on */
static const char *rotation(const cJSON *op) {
    const cJSON *attributes = item(op, "attributes");
    return firnc_format(
        "%s: %" PRIu64 " elements of each of %" PRIu64 " heads (of %" PRIu64 ")%s, base %s", text(op, "rotation"),
        number(attributes, "rotary_dim"), number(attributes, "rotated"), number(attributes, "heads"),
        number(attributes, "interleaved") != 0 ? ", interleaved" : ", half-split", real(attributes, "base"));
}

/* "1 (pattern)" */
static const char *pol_words(const cJSON *pol) {
    return firnc_format("%" PRIu64 " (%s)", number(pol, "level"), firnc_printable(text(pol, "origin")));
}

static const char *pol_text(const cJSON *op) {
    const cJSON *pol = item(op, "pol"), *forward = item(op, "forward_pol");
    if (pol != NULL && forward != NULL)
        return firnc_format("  POL forward %s, backward %s", pol_words(forward), pol_words(pol));
    return pol != NULL ? firnc_format("  POL %s", pol_words(pol)) : "";
}

/* linear_cross_entropy is the one op of both directions: its first reduction gives the logits, the others gradients. */
static const char *reductions_text(const cJSON *op) {
    const bool both = is(op, "op", "linear_cross_entropy");
    const cJSON *reduction, *first = cJSON_GetArrayItem(item(op, "reductions"), 0);
    const char *separator = " ->", *all = "";
    cJSON_ArrayForEach(reduction, item(op, "reductions")) {
        const char *direction = !both ? "" : reduction == first ? "forward " : "backward ";
        all = firnc_format("%s%s %s%s", all, separator, direction, cJSON_GetStringValue(reduction));
        separator = ";";
    }
    return all;
}

/* What an op became, as a line has it behind the layer. */
static const char *became(const cJSON *op) {
    const char *all = firnc_format("%s%s", pol_text(op), reductions_text(op));
    if (item(op, "softmax") != NULL)
        all = firnc_format("%s; softmax in %s", all, is(op, "softmax", "float32") ? "float32" : "the half type");
    if (item(op, "affine") != NULL)
        all = firnc_format("%s -> affine in %s", all, text(op, "affine"));
    if (item(op, "rotation") != NULL)
        all = firnc_format("%s -> rotation in %s", all, rotation(op));
    if (number(op, "multiply_adds") > 0)
        all = firnc_format("%s, %s multiply-adds", all, grouped(op, "multiply_adds"));
    return all;
}

static void print_ops(const cJSON *root) {
    const cJSON *phase, *op;
    unsigned place = 0;
    heading("ops (said: layer, POL asked, and who asked -> what it became: the reductions)");
    cJSON_ArrayForEach(phase, item(root, "phases")) {
        printf("  phase %s\n", text(phase, "kind"));
        cJSON_ArrayForEach(op, item(phase, "ops")) {
            printf("  %5u  %-26s %s%s\n", place++, text(op, "op"), firnc_printable(text(op, "layer")), became(op));
        }
    }
}

/* Folds the ops of a phase that have one name, one form and layers that differ only in numbers. */
static void print_folded_phase(const cJSON *phase) {
    uint32_t count;
    const cJSON **ops = elements_of(item(phase, "ops"), &count);
    firnc_fold_item *items = firnc_allocate((uint64_t)count * sizeof *items);
    const firnc_folded *groups;
    for (uint32_t i = 0; i < count; i++)
        items[i] = (firnc_fold_item){.name = text(ops[i], "layer"),
                                     .same = firnc_format("%s%s", text(ops[i], "op"), became(ops[i]))};
    const uint32_t made = firnc_fold(items, count, &groups);
    printf("  phase %s\n", text(phase, "kind"));
    for (uint32_t i = 0; i < made; i++) {
        const cJSON *op = ops[groups[i].members[0]];
        printf("  %5u x %-26s %s%s%s\n", (unsigned)groups[i].count, text(op, "op"), firnc_printable(groups[i].name),
               became(op), groups[i].count > 1 && number(op, "multiply_adds") > 0 ? " each" : "");
    }
}

static void print_folded_ops(const cJSON *root) {
    const cJSON *phase;
    heading(
        "ops (said: layer, POL asked, and who asked -> what it became: the reductions; those of equal layers in one "
        "line, where the first is; --unfolded: each)");
    cJSON_ArrayForEach(phase, item(root, "phases")) {
        print_folded_phase(phase);
    }
}

/* "9 f32, 31 even_odd_blocks": how many reductions of each kind there are. */
static const char *reduction_counts(const cJSON *counts) {
    const char *words = "";
    const cJSON *count;
    cJSON_ArrayForEach(count, counts) {
        words = firnc_format("%s%s%s %s", words, words[0] == '\0' ? "" : ", ", grouped(counts, count->string),
                             count->string);
    }
    return words[0] == '\0' ? "none" : words;
}

/* The last lines: the figures that matter for a device. */
static void print_totals(const cJSON *totals) {
    heading("totals");
    line("  ops", grouped(totals, "ops"));
    line("  reductions", reduction_counts(item(totals, "reductions")));
    if (number(totals, "rounded_weights") > 0)
        line("  rounded weights", firnc_format("%s elements, which products read as float32: no half copy of them",
                                               grouped(totals, "rounded_weights")));
    line("  cost of a step", firnc_format("%s multiply-adds in products", grouped(totals, "multiply_adds")));
    line("  flash",
         firnc_format("%s bytes of plan (%s of them its report, which a device may leave out), and %s for one "
                      "checkpoint; code comes on top",
                      grouped(totals, "plan_bytes"), grouped(totals, "report_bytes"),
                      grouped(totals, "checkpoint_bytes")));
    line("  state", firnc_format("%s bytes", grouped(totals, "state_bytes")));
    line("  arena", firnc_format("%s bytes; the plan uses %s, and %s live at once", grouped(totals, "arena_bytes"),
                                 grouped(totals, "plan_arena_bytes"), grouped(totals, "live_bytes")));
    line("  workspace", firnc_format("%s bytes with the portable kernels", grouped(totals, "workspace_bytes")));
    line("  verification pool", firnc_format("%s bytes, lent from the arena", grouped(totals, "pool_bytes")));
}

static void print_table(const cJSON *document) {
    print_identities(document);
    print_said(document);
    print_run(document);
    print_statistics(item(item(document, "said"), "statistics"));
    print_data(document);
    print_metrics(document);
    if (is(document, "mode", "train"))
        print_optimizer(document);
    print_schedules(document);
    print_regions(document);
    print_tensors(document);
    print_ops(document);
    print_totals(item(document, "totals"));
}

/* The names of the tensors of a list of indices, folded, in lines of their own. */
static void print_names(const cJSON *root, const char *label, const char *list) {
    uint32_t count, named_count = 0;
    const cJSON **tensors = elements_of(item(root, "tensors"), &count), *index;
    firnc_fold_item *items = firnc_allocate((uint64_t)count * sizeof *items);
    const firnc_folded *groups;
    cJSON_ArrayForEach(index, item(item(root, "summary"), list)) {
        items[named_count++] =
            (firnc_fold_item){.name = text(tensors[(uint32_t)cJSON_GetNumberValue(index)], "name"), .same = ""};
    }
    const uint32_t made = firnc_fold(items, named_count, &groups);
    for (uint32_t i = 0; i < made; i++)
        line(i == 0 ? label : "", firnc_printable(groups[i].name));
    if (made == 0)
        line(label, "none");
}

static void print_run_part(const cJSON *root) {
    print_run(root);
    print_metrics(root);
    if (is(root, "mode", "train")) {
        print_optimizer(root);
        print_names(root, "decayed", "decayed");
        print_names(root, "not decayed", "not_decayed");
    }
    print_schedules(root);
}

void firnc_inspect_print_text(const cJSON *document, uint32_t parts) {
    const bool unfolded = (parts & FIRNC_INSPECT_UNFOLDED) != 0;
    if ((parts & FIRNC_INSPECT_TABLE) != 0)
        print_table(document);
    if ((parts & FIRNC_INSPECT_SCHEDULE) != 0)
        print_run_part(document);
    if ((parts & FIRNC_INSPECT_MEMORY) != 0) {
        print_regions(document);
        print_peak(document);
        print_totals(item(document, "totals"));
    }
    if ((parts & FIRNC_INSPECT_TENSORS) != 0 && unfolded)
        print_tensors(document);
    else if ((parts & FIRNC_INSPECT_TENSORS) != 0)
        print_folded_tensors(document);
    if ((parts & FIRNC_INSPECT_OPS) != 0 && unfolded)
        print_ops(document);
    else if ((parts & FIRNC_INSPECT_OPS) != 0)
        print_folded_ops(document);
}
