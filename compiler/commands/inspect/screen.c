/* firnc inspect, one screen (compiler/commands/inspect/report.h): what a person decides by, in at most 40 lines of 100
 * characters. Each label has a limit of lines; what does not fit ends with dots, and the parts have it in full. What
 * the report of the plan only says is marked so. */
#include <stdio.h>
#include <string.h>

#include "compiler/base/words.h"
#include "compiler/commands/inspect/report.h"
#include "compiler/graph/ir.h"
#include "plan/costs/costs.h"
#include "plan/generated/version.h"
#include "plan/generated/words.h"

enum {
    SCREEN_COLUMNS = 100,
    LABEL_COLUMNS = 12,
    TEXT_COLUMNS = SCREEN_COLUMNS - LABEL_COLUMNS,
    SCREEN_LINES = 40 /* what is unusual takes those that the others leave; they leave some */
};

/* --- lines -------------------------------------------------------------------------------------------------------- */

/* The bytes of a text that go on a line: up to the last space that fits, or as many as fit. */
static size_t line_of(const char *text) {
    const size_t length = strlen(text);
    if (length <= TEXT_COLUMNS)
        return length;
    for (size_t i = TEXT_COLUMNS; i > TEXT_COLUMNS / 2; i--)
        if (text[i] == ' ')
            return i;
    return TEXT_COLUMNS;
}

/* A screen, and how many of its lines are used. */
typedef struct screen {
    const firnc_report *report;
    const cJSON *document;
    unsigned lines;
} screen;

/* Prints a text, which is printable ASCII, behind a label on at most `most` lines. */
static void put(screen *to, const char *label, const char *text, unsigned most) {
    unsigned lines = 0;
    while (*text != '\0' && lines < most) {
        const size_t length = line_of(text);
        const bool cut = lines + 1 == most && text[length] != '\0';
        printf("%-*s%.*s%s\n", LABEL_COLUMNS, lines == 0 ? label : "",
               (int)(cut && length > TEXT_COLUMNS - 4 ? TEXT_COLUMNS - 4 : length), text, cut ? " ..." : "");
        text += length + strspn(text + length, " ");
        lines++;
    }
    to->lines += lines;
}

/* --- what the report says ----------------------------------------------------------------------------------------- */

static const cJSON *said_item(const firnc_report *report, const char *name) {
    return cJSON_GetObjectItemCaseSensitive(report->said, name);
}

/* A text of the report, printable; NULL if it does not say it. */
static const char *said(const firnc_report *report, const char *name) {
    const char *text = cJSON_GetStringValue(said_item(report, name));
    return text != NULL ? firnc_printable(text) : NULL;
}

/* What the report says of an op: its layer, and the level of POL with who asked for it. "" where it does not. */
static const cJSON *said_of_op(const firnc_report *report, uint32_t op) {
    return cJSON_GetArrayItem(said_item(report, "ops"), (int)op);
}

/* --- the labels --------------------------------------------------------------------------------------------------- */

static const char *s(uint64_t count) {
    return count == 1 ? "" : "s";
}

static void put_plan(screen *to) {
    const firnc_report *report = to->report;
    const firn_header *header = &report->header;
    put(to, "plan",
        firnc_format("%s, %s bytes%s", firnc_printable(report->file), firnc_grouped(header->total_bytes),
                     report->cut_off ? " as signed; its report was cut off" : ""),
        2);
    put(to, "", firnc_format("plan hash %s", firnc_hex(report->plan_hash, FIRN_HASH_BYTES)), 1);
    put(to, "signed",
        header->algorithm == FIRN_ALGORITHM_NONE ? "not yet: unsigned, and nothing runs this plan"
                                                 : firnc_format("by the key %s; not checked here (firnc verify)",
                                                                firnc_hex(header->key_hash, FIRN_HASH_BYTES)),
        2);
}

static void put_format(screen *to) {
    const firnc_report *report = to->report;
    const firn_header *header = &report->header;
    const char *compiler = said(report, "compiler"), *target = said(report, "target");
    put(to, "format",
        firnc_format("%u.%u (this firnc has %u.%u), plan version %u, image id %u, security counter %u%s%s%s%s",
                     (unsigned)header->format_major, (unsigned)header->needs_minor, (unsigned)header->format_major,
                     FIRN_FORMAT_MINOR, (unsigned)header->plan_version, (unsigned)header->image_id,
                     (unsigned)header->security_counter, compiler != NULL ? "; said: frozen by " : "",
                     compiler != NULL ? compiler : "", target != NULL ? " for target " : "",
                     target != NULL ? target : ""),
        2);
}

static void put_model(screen *to) {
    const firnc_report *report = to->report;
    const char *model = said(report, "model");
    const uint32_t tensors = report->summary.parameter_tensors;
    const bool trains = report->header.mode == FIRN_MODE_TRAIN;
    const char *frozen = report->frozen > 0 ? firnc_format(", %s frozen", firnc_grouped(report->frozen)) : "";
    put(to,
        trains                                         ? "trains"
        : firn_fb_plan_metrics_count(report->plan) > 0 ? "evaluates"
                                                       : "predicts",
        firnc_format("%s%s%s parameter%s%s%s in %u tensor%s", model != NULL ? model : "a model that is not said",
                     model != NULL ? " (said), " : ", ", firnc_grouped(report->parameters), s(report->parameters),
                     trains && report->frozen > 0 ? " trained" : "", frozen, (unsigned)tensors, s(tensors)),
        2);
}

static void put_layers(screen *to) {
    const firnc_report *report = to->report;
    const firnc_summary *summary = &report->summary;
    firnc_growing_text text = {0};
    for (uint32_t i = 0; i < summary->layer_count; i++) {
        const firnc_summary_layers *list = &summary->layers[i];
        const char *name = firnc_printable(list->name), *separator = i > 0 ? "; " : "", *part;
        if (list->count == 0)
            part = firnc_format("%s%s %s", separator, name, firnc_grouped(list->elements));
        else if (list->least == list->most)
            part = firnc_format("%s%u x %s with %s%s", separator, (unsigned)list->count, name,
                                firnc_grouped(list->most), list->count > 1 ? " each" : "");
        else
            part = firnc_format("%s%u x %s with %s to %s", separator, (unsigned)list->count, name,
                                firnc_grouped(list->least), firnc_grouped(list->most));
        firnc_text_add(&text, part, strlen(part));
    }
    if (text.length > 0)
        put(to, "layers", text.text, 3);
}

static void put_memory(screen *to) {
    const firnc_report *report = to->report;
    const firn_header *header = &report->header;
    const uint64_t state = firn_header_state_bytes(header);
    const cJSON *op = said_of_op(report, report->peak_op);
    const char *layer = cJSON_GetStringValue(cJSON_GetArrayItem(op, 0)), *regions = "";
    for (uint32_t i = 0; i < header->region_count; i++)
        regions =
            firnc_format("%s%s%s %s", regions, i > 0 ? ", " : "", firn_fb_region_kind_word(header->region_kinds[i]),
                         firnc_grouped(header->region_bytes[i]));
    put(to, "memory",
        firnc_format("%s bytes: state %s, arena %s", firnc_grouped(state + report->arena_block_bytes),
                     firnc_grouped(state), firnc_grouped(report->arena_block_bytes)),
        1);
    put(to, "", firnc_format("by region: %s", regions), 2);
    put(to, "",
        firnc_format("peak of the arena in op %u%s%s: %s live at once", (unsigned)report->peak_op,
                     layer != NULL ? ", said: " : "", layer != NULL ? firnc_printable(layer) : "",
                     firnc_grouped(report->live_bytes)),
        2);
    put(to, "flash",
        firnc_format("plan %s (of these its report %s, which may be cut off), checkpoint %s",
                     firnc_grouped(header->total_bytes), firnc_grouped(header->report_bytes),
                     firnc_grouped(report->checkpoint_bytes)),
        2);
}

/* "records", or "windows of 17, stride 16" */
static const char *unit_of(firn_fb_sampler sampler) {
    if (firn_fb_sampler_unit(sampler) == FIRN_FB_SAMPLE_UNIT_RECORD)
        return "records";
    return firnc_format("windows of %u elements, stride %u", (unsigned)firn_fb_sampler_window(sampler),
                        (unsigned)firn_fb_sampler_stride(sampler));
}

static void put_inputs(screen *to) {
    const firnc_report *report = to->report;
    const firn_fb_plan plan = report->plan;
    const char *text = "";
    for (uint32_t i = 0; i < firn_fb_plan_inputs_count(plan); i++) {
        const firn_fb_input input = firn_fb_plan_inputs_at(plan, i);
        const firn_shape shape = firn_tensor_shape(firn_fb_plan_tensors_at(plan, firn_fb_input_tensor(input)));
        text = firnc_format("%s%s%s%s %s from %s", text, i > 0 ? ", " : "", firn_fb_input_label(input) ? "label " : "",
                            firnc_printable(firn_fb_input_name(input)), firnc_shape_text(&shape),
                            firn_type_name(firn_fb_input_element(input)));
    }
    for (uint32_t i = 0; i < firn_fb_plan_outputs_count(plan); i++) {
        const firn_fb_output output = firn_fb_plan_outputs_at(plan, i);
        const firn_shape shape = firn_tensor_shape(firn_fb_plan_tensors_at(plan, firn_fb_output_tensor(output)));
        text = firnc_format("%s%soutput %s %s", text, *text != '\0' ? ", " : "",
                            firnc_printable(firn_fb_output_name(output)), firnc_shape_text(&shape));
    }
    put(to, "", text, 2);
}

/* "the run reads 160 samples: 2,561 bytes, of about 2,846 with the other part if none is read twice; refused below 33
 * bytes" */
static const char *needs(const firnc_report *report) {
    const firnc_summary *summary = &report->summary;
    const char *least = firnc_format("refused below %s bytes", firnc_grouped(summary->least_bytes));
    if (summary->run_samples == 0)
        return firnc_format("the run reads all samples there are; %s", least);
    const char *whole = summary->data_bytes != summary->run_bytes
                            ? firnc_format(", of about %s with the other part", firnc_grouped(summary->data_bytes))
                            : "";
    return firnc_format("the run reads %s sample%s: %s bytes%s if none is read twice; %s",
                        firnc_grouped(summary->run_samples), s(summary->run_samples), firnc_grouped(summary->run_bytes),
                        whole, least);
}

static void put_data(screen *to) {
    const firnc_report *report = to->report;
    const firn_fb_sampler sampler = firn_fb_plan_sampler(report->plan);
    const bool permuted = firn_fb_sampler_kind(sampler) == FIRN_FB_SAMPLER_KIND_PERMUTATION;
    if (report->summary.batch_samples == 0) {
        put(to, "data", "none: it takes tokens one after the other (firn generate)", 1);
        return;
    }
    put(to, "data",
        firnc_format("%s, %s bytes each; %s; part %s, %u per mille held out; at the end %s", unit_of(sampler),
                     firnc_grouped(report->summary.sample_bytes),
                     firn_fb_sampler_pushed(sampler) != FIRN_ABSENT ? "pushed"
                     : permuted                                     ? "permuted"
                                                                    : "in sequence",
                     firn_fb_data_part_word(firn_fb_sampler_part(sampler)),
                     (unsigned)firn_fb_sampler_held_out_per_mille(sampler),
                     firn_fb_epoch_end_word(firn_fb_sampler_epoch_end(sampler))),
        2);
    put_inputs(to);
    put(to, "", needs(report), 2);
}

static void put_steps(screen *to) {
    const firnc_report *report = to->report;
    const uint64_t steps = firn_fb_plan_steps(report->plan);
    const uint32_t batches = firn_fb_plan_micro_batches(report->plan);
    const uint32_t samples = firn_fb_sampler_samples(firn_fb_plan_sampler(report->plan));
    const char *length = steps > 0                                ? firnc_grouped(steps)
                         : report->header.mode == FIRN_MODE_TRAIN ? "no end"
                                                                  : "as many as the data have batches";
    put(to, "steps",
        firnc_format("%s; a step has %u micro-batch%s of %u sample%s and %s multiply-adds in products", length,
                     (unsigned)batches, batches == 1 ? "" : "es", (unsigned)samples, s(samples),
                     firnc_grouped(report->multiply_adds)),
        2);
}

/* The schedule of learning rates in words: its root, or the schedules that a sequence has. */
static const char *rate_text(firn_fb_plan plan) {
    enum { CHILDREN_SHOWN = 4 };
    uint32_t root = 0;
    for (uint32_t i = 0; i < firn_fb_plan_schedules_count(plan); i++)
        if (firn_fb_schedule_tensor(firn_fb_plan_schedules_at(plan, i)) == firn_fb_plan_learning_rate(plan))
            root = firn_fb_schedule_root(firn_fb_plan_schedules_at(plan, i));
    const firn_fb_schedule_node node = firn_fb_plan_schedule_nodes_at(plan, root);
    if (node.kind != FIRN_FB_SCHEDULE_KIND_SEQUENTIAL)
        return firnc_schedule_text(node);
    const char *text = "";
    for (uint32_t i = 0; i < node.child_count && i < CHILDREN_SHOWN; i++)
        text = firnc_format("%s%s%s", text, i > 0 ? ", then " : "",
                            firnc_schedule_text(firn_fb_plan_schedule_nodes_at(plan, node.first_child + i)));
    return node.child_count > CHILDREN_SHOWN
               ? firnc_format("%s, and %u more", text, (unsigned)(node.child_count - CHILDREN_SHOWN))
               : text;
}

static void put_schedule(screen *to) {
    const firnc_report *report = to->report;
    const firnc_summary *summary = &report->summary;
    if (!summary->has_rate)
        return;
    put(to, "rate", rate_text(report->plan), 2);
    put(to, "",
        summary->has_last_rate
            ? firnc_format("%.6g in the first step, %.6g in the last", summary->first_rate, summary->last_rate)
            : firnc_format("%.6g in the first step", summary->first_rate),
        1);
}

/* "28 by adamw" for each op that updates parameters. */
static const char *optimizers(const firnc_summary *summary) {
    const char *text = "";
    for (uint32_t i = 0; i < summary->update_count; i++) {
        uint32_t count = 0;
        bool first = true;
        for (uint32_t j = 0; j < summary->update_count; j++) {
            const bool same = summary->updates[j].op == summary->updates[i].op;
            first = first && !(same && j < i);
            count += same;
        }
        if (first)
            text =
                firnc_format("%s%s%u by %s", text, *text != '\0' ? ", " : "", (unsigned)count, summary->updates[i].op);
        if (count == summary->update_count)
            break;
    }
    return text;
}

static void put_optimizer(screen *to) {
    const firnc_report *report = to->report;
    const firnc_summary *summary = &report->summary;
    const cJSON *threshold = cJSON_GetObjectItemCaseSensitive(to->document, "clip_threshold");
    const char *clipping = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(to->document, "clipping"));
    const char *scaling = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(to->document, "loss_scaling"));
    if (report->header.mode != FIRN_MODE_TRAIN)
        return;
    put(to, "optimizer",
        firnc_format("tensors: %s; %u of %u decayed; clipping %s%s; loss scaling %s", optimizers(summary),
                     (unsigned)summary->decayed, (unsigned)summary->update_count, clipping,
                     strcmp(clipping, "none") != 0 ? firnc_format(" at %.6g", cJSON_GetNumberValue(threshold)) : "",
                     scaling),
        2);
}

/* "0 (rule) x 6, 1 (global) x 31": the levels that the report says were asked for; "" if it does not. */
static const char *levels(const firnc_report *report) {
    enum { KINDS = 12 };
    struct {
        const char *origin;
        double level;
        unsigned count;
    } kinds[KINDS] = {{0}};
    unsigned made = 0;
    const cJSON *op;
    const char *text = "";
    cJSON_ArrayForEach(op, said_item(report, "ops")) {
        const double level = cJSON_GetNumberValue(cJSON_GetArrayItem(op, 1));
        const char *origin = cJSON_GetStringValue(cJSON_GetArrayItem(op, 2));
        unsigned i = 0;
        if (!(level >= 0 && level <= 255) || origin == NULL)
            continue;
        while (i < made && (kinds[i].level < level || kinds[i].level > level || strcmp(kinds[i].origin, origin) != 0))
            i++;
        if (i == KINDS)
            continue;
        if (i == made) {
            kinds[made].origin = origin;
            kinds[made].level = level;
            kinds[made++].count = 0;
        }
        kinds[i].count++;
    }
    for (unsigned i = 0; i < made; i++)
        text = firnc_format("%s%s%u x %.0f (%s)", text, i > 0 ? ", " : "", kinds[i].count, kinds[i].level,
                            firnc_printable(kinds[i].origin));
    return text;
}

static void put_precision(screen *to) {
    const firnc_report *report = to->report;
    const firnc_summary *summary = &report->summary;
    const char *halves = "", *forms = "", *asked = levels(report), *lowering = said(report, "pol_lowering");
    for (uint8_t type = 0; type < 32; type++)
        if ((summary->half_types >> type & 1) != 0)
            halves = firnc_format("%s and %s", halves, firn_type_name(type));
    for (uint32_t i = 0; i < summary->form_count; i++)
        forms = firnc_format("%s%s%u x %s", forms, i > 0 ? "; " : "", (unsigned)summary->forms[i].reductions,
                             summary->forms[i].text);
    put(to, "precision", firnc_format("float32%s; sums: %s", halves, *forms != '\0' ? forms : "none"), 2);
    if (*asked != '\0')
        put(to, "", firnc_format("said: POL asked: %s; lowering %s", asked, lowering != NULL ? lowering : "not said"),
            2);
}

/* What does not fit on the screen is counted. */
static void put_unusual(screen *to) {
    const firnc_summary *summary = &to->report->summary;
    if (summary->unusual_count == 0)
        put(to, "unusual", "nothing", 1);
    for (uint32_t i = 0; i < summary->unusual_count; i++) {
        const unsigned left = SCREEN_LINES - 1 - to->lines, later = summary->unusual_count - i - 1;
        if (left == 1 && later > 0) {
            put(to, i == 0 ? "unusual" : "", firnc_format("and %u things more (--json)", (unsigned)later + 1), 1);
            return;
        }
        put(to, i == 0 ? "unusual" : "", summary->unusual[i], left > later + 3 ? 3 : left > later ? left - later : 1);
    }
}

void firnc_inspect_print_screen(const firnc_report *report, const cJSON *document, bool file) {
    screen to = {.report = report, .document = document};
    if (file)
        put_plan(&to);
    put_format(&to);
    put_model(&to);
    put_layers(&to);
    put_memory(&to);
    put_data(&to);
    put_steps(&to);
    put_schedule(&to);
    put_optimizer(&to);
    put_precision(&to);
    put_unusual(&to);
    if (file)
        put(&to, "more", "--schedule, --memory, --tensors, --ops: these parts; --all: all of them in full; --json", 1);
}
