/* firnc inspect, the text form: a page that describes the plan, its memory map and its ops, and ends with the totals
 * that decide whether it fits a device. All of it comes from the document that --json prints (inspect_document.c). */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/base/text.h"
#include "compiler/commands/inspect_report.h"
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

/* An integer with grouped digits, as in "1,234,567". */
static const char *grouped(const cJSON *object, const char *name) {
    const char *digits = firnc_format("%" PRIu64, number(object, name));
    size_t length = strlen(digits);
    char *result = firnc_allocate(2 * length + 1), *out = result;
    for (size_t i = 0; i < length; i++) {
        if (i > 0 && (length - i) % 3 == 0)
            *out++ = ',';
        *out++ = digits[i];
    }
    return result;
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

static void print_memory(const cJSON *root) {
    const cJSON *tensor;
    heading("memory map (names outside the state are said)");
    printf("  %-10s %12s %12s  %-12s %-15s %s\n", "region", "offset", "bytes", "live in ops", "role", "tensor");
    cJSON_ArrayForEach(tensor, item(root, "tensors")) {
        printf("  %-10s %12s %12s  %-12s %-15s %s %s\n", text(tensor, "region"), grouped(tensor, "offset"),
               grouped(tensor, "bytes"), lifetime(tensor), text(tensor, "role"), firnc_printable(text(tensor, "name")),
               shape(tensor));
    }
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

static void print_pol(const cJSON *op) {
    const cJSON *pol = item(op, "pol"), *forward = item(op, "forward_pol");
    if (pol != NULL && forward != NULL)
        printf("  POL forward %s, backward %s", pol_words(forward), pol_words(pol));
    else if (pol != NULL)
        printf("  POL %s", pol_words(pol));
}

/* linear_cross_entropy is the one op of both directions: its first reduction gives the logits, the others gradients. */
static void print_reductions(const cJSON *op) {
    const bool both = is(op, "op", "linear_cross_entropy");
    const cJSON *reduction, *first = cJSON_GetArrayItem(item(op, "reductions"), 0);
    const char *separator = " ->";
    cJSON_ArrayForEach(reduction, item(op, "reductions")) {
        const char *direction = !both ? "" : reduction == first ? "forward " : "backward ";
        printf("%s %s%s", separator, direction, cJSON_GetStringValue(reduction));
        separator = ";";
    }
}

static void print_op(const cJSON *op, unsigned place) {
    printf("  %5u  %-26s %s", place, text(op, "op"), firnc_printable(text(op, "layer")));
    print_pol(op);
    print_reductions(op);
    if (item(op, "softmax") != NULL)
        printf("; softmax in %s", is(op, "softmax", "float32") ? "float32" : "the half type");
    if (item(op, "affine") != NULL)
        printf(" -> affine in %s", text(op, "affine"));
    if (item(op, "rotation") != NULL)
        printf(" -> rotation in %s", rotation(op));
    if (number(op, "multiply_adds") > 0)
        printf(", %s multiply-adds", grouped(op, "multiply_adds"));
    putchar('\n');
}

static void print_ops(const cJSON *root) {
    const cJSON *phase, *op;
    unsigned place = 0;
    heading("ops (said: layer, POL asked, and who asked -> what it became: the reductions)");
    cJSON_ArrayForEach(phase, item(root, "phases")) {
        printf("  phase %s\n", text(phase, "kind"));
        cJSON_ArrayForEach(op, item(phase, "ops")) {
            print_op(op, place++);
        }
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

void firnc_inspect_print_text(const cJSON *document) {
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
    print_memory(document);
    print_ops(document);
    print_totals(item(document, "totals"));
}
