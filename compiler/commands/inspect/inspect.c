/* firnc inspect: checks a plan as the runtime would, except for the signature, and computes its totals. What is printed
 * of them is made in document.c, screen.c and text.c. */
#include "compiler/commands/inspect/inspect.h"

#include <cjson/cJSON.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/base/files.h"
#include "compiler/base/placement.h"
#include "compiler/base/text.h"
#include "compiler/commands/inspect/report.h"
#include "compiler/commands/report_read.h"
#include "compiler/emit/plan_file.h"
#include "compiler/graph/ir.h"
#include "plan/checkpoint/record.h"
#include "plan/costs/costs.h"
#include "plan/errors.h"
#include "plan/identity.h"
#include "plan/op_words.h"

/* Program unit of the storage on our targets, in bytes; a larger unit makes checkpoints larger. */
#define PROGRAM_UNIT 16u

/* Larger than any region, so that offsets in two arenas differ. */
#define ARENA_APART (UINT64_C(1) << 59)

static void count_ops(firnc_report *report) {
    for (uint32_t p = 0; p < firn_fb_plan_phases_count(report->plan); p++) {
        firn_fb_phase phase = firn_fb_plan_phases_at(report->plan, p);
        const uint8_t kind = firn_fb_phase_kind(phase);
        const bool repeated = kind == FIRN_FB_PHASE_KIND_MICRO_BATCH || kind == FIRN_FB_PHASE_KIND_COUNT;
        uint64_t times = repeated ? firn_fb_plan_micro_batches(report->plan) : 1;
        for (uint32_t i = 0; i < firn_fb_phase_ops_count(phase); i++)
            report->multiply_adds += times * firn_op_cost(report->plan, firn_fb_phase_ops_at(phase, i));
    }
}

/* Marks the operands of an op that are float32 in place of the type of another one. */
static void mark_rounded(firn_fb_plan plan, firn_fb_op op, bool *rounded) {
    const firn_op_info *info = firn_op_find(firn_fb_op_code(op));
    for (uint32_t i = 0; i < info->inputs && i < firn_fb_op_inputs_count(op); i++) {
        const firn_operand *operand = firn_op_input(info, i);
        if (!operand->rounded)
            continue;
        const uint32_t tensor = firn_fb_op_inputs_at(op, i);
        const uint32_t other = firn_fb_op_inputs_at(op, (uint32_t)operand->type - FIRN_TYPE_OF_INPUT);
        if (firn_fb_tensor_type(firn_fb_plan_tensors_at(plan, tensor)) !=
            firn_fb_tensor_type(firn_fb_plan_tensors_at(plan, other)))
            rounded[tensor] = true;
    }
}

static void count_rounded(firnc_report *report) {
    const firn_fb_plan plan = report->plan;
    bool *rounded = firnc_allocate(firn_fb_plan_tensors_count(plan) * sizeof *rounded);
    for (uint32_t p = 0; p < firn_fb_plan_phases_count(plan); p++) {
        const firn_fb_phase phase = firn_fb_plan_phases_at(plan, p);
        for (uint32_t i = 0; i < firn_fb_phase_ops_count(phase); i++)
            mark_rounded(plan, firn_fb_phase_ops_at(phase, i), rounded);
    }
    for (uint32_t i = 0; i < firn_fb_plan_tensors_count(plan); i++)
        if (rounded[i])
            report->rounded += firn_tensor_elements(firn_fb_plan_tensors_at(plan, i));
}

typedef struct placed_tensor {
    firnc_block buffer;
    uint32_t index;
} placed_tensor;

static int by_place_and_time(const void *a, const void *b) {
    const firnc_block *x = &((const placed_tensor *)a)->buffer, *y = &((const placed_tensor *)b)->buffer;
    if (x->offset != y->offset)
        return x->offset < y->offset ? -1 : 1;
    if (x->bytes != y->bytes)
        return x->bytes < y->bytes ? -1 : 1;
    return (x->first > y->first) - (x->first < y->first);
}

/* Returns the first op at which the most bytes are live. */
static uint32_t find_peak(const firnc_block *buffers, uint32_t count, uint32_t ops) {
    uint64_t *changes = firnc_allocate(((uint64_t)ops + 1) * sizeof *changes), live = 0, most = 0;
    uint32_t peak = 0;
    for (uint32_t i = 0; i < count; i++) {
        changes[buffers[i].first < ops ? buffers[i].first : ops] += buffers[i].bytes;
        changes[buffers[i].last < ops ? buffers[i].last + 1 : ops] -= buffers[i].bytes;
    }
    for (uint32_t i = 0; i < ops; i++) {
        live += changes[i];
        peak = live > most ? i : peak;
        most = live > most ? live : most;
    }
    return peak;
}

/* Merges tensors that reuse each other's bytes in place into one buffer: they have the same offset and size, and the
 * next is first used in the op that uses the previous one last. */
static void find_live_bytes(firnc_report *report) {
    uint32_t tensors = firn_fb_plan_tensors_count(report->plan), count = 0;
    placed_tensor *placed = firnc_allocate(tensors * sizeof *placed);
    for (uint32_t i = firn_fb_plan_state_tensors(report->plan); i < tensors; i++) {
        firn_fb_tensor tensor = firn_fb_plan_tensors_at(report->plan, i);
        uint8_t region = firn_fb_tensor_region(tensor);
        if (firn_region_is_arena(report->header.region_kinds[region]) && firn_fb_tensor_base(tensor) == FIRN_ABSENT)
            placed[count++].buffer = (firnc_block){.bytes = (firn_tensor_bytes(tensor) + 15) / 16 * 16,
                                                   .first = firn_fb_tensor_first(tensor),
                                                   .last = firn_fb_tensor_last(tensor),
                                                   .offset = ARENA_APART * region + firn_fb_tensor_offset(tensor)};
    }
    qsort(placed, count, sizeof *placed, by_place_and_time);
    firnc_block *buffers = firnc_allocate(count * sizeof *buffers);
    uint32_t made = 0;
    for (uint32_t i = 0; i < count; i++) {
        const firnc_block *next = &placed[i].buffer;
        firnc_block *last = made > 0 ? &buffers[made - 1] : NULL;
        if (last != NULL && last->offset == next->offset && last->bytes == next->bytes && next->first <= last->last)
            last->last = next->last > last->last ? next->last : last->last;
        else
            buffers[made++] = *next;
    }
    report->live_bytes = firnc_lower_bound(buffers, made);
    report->peak_op = find_peak(buffers, made, report->header.counts.ops);
}

/* Counts the initial values that the plan holds, in place of a rule that gives them. */
static void count_initial(firnc_report *report) {
    for (uint32_t i = 0; i < firn_fb_plan_initialisers_count(report->plan); i++) {
        const firn_fb_tensor tensor = firn_fb_plan_tensors_at(report->plan, i);
        const firn_fb_initialiser initialiser = firn_fb_plan_initialisers_at(report->plan, i);
        if (firn_fb_initialiser_rule(initialiser) == FIRN_FB_INITIALISER_RULE_WEIGHTS)
            report->initial[!firn_is_of_model(firn_fb_tensor_role(tensor))] +=
                firn_tensor_elements(tensor) * firn_type_bytes(firn_fb_initialiser_element(initialiser));
    }
}

static void count_frozen(firnc_report *report) {
    for (uint32_t i = 0; i < firn_fb_plan_tensors_count(report->plan); i++) {
        firn_fb_tensor tensor = firn_fb_plan_tensors_at(report->plan, i);
        if (firn_fb_tensor_role(tensor) == FIRN_FB_ROLE_FROZEN && firn_fb_tensor_base(tensor) == FIRN_ABSENT)
            report->frozen += firn_tensor_elements(tensor);
    }
}

static void measure_state(firnc_report *report) {
    for (uint32_t i = 0; i < firn_fb_plan_state_tensors(report->plan); i++) {
        firn_fb_tensor tensor = firn_fb_plan_tensors_at(report->plan, i);
        if (firn_fb_tensor_role(tensor) == FIRN_FB_ROLE_PARAMETER)
            report->parameters += firn_tensor_elements(tensor);
    }
    count_frozen(report);
    count_initial(report);
    firn_record record = {0};
    firn_record_set_regions(&record, &report->header);
    report->checkpoint_bytes =
        firn_record_commit_offset(firn_record_directory_bytes(report->plan), record.state_bytes, PROGRAM_UNIT) +
        firn_record_commit_bytes(PROGRAM_UNIT);
}

static void find_arena(firnc_report *report) {
    const firn_header *header = &report->header;
    const uint64_t pool = firn_check_pool_bytes(&header->counts);
    for (uint32_t i = 0; i < header->region_count; i++) {
        const uint64_t bytes = header->region_bytes[i];
        if (!firn_region_is_arena(header->region_kinds[i]))
            continue;
        report->arena_block_bytes += report->arena_bytes == 0 && bytes < pool ? pool : bytes;
        report->arena_bytes += bytes;
    }
    find_live_bytes(report);
}

/* cJSON allocates with firnc_allocate, which never fails, so no item of the document can be missing. */
static void print(const firnc_report *report, uint32_t parts) {
    firnc_inspect_memory(true);
    cJSON *document = firnc_inspect_document(report);
    if (parts == FIRNC_INSPECT_JSON)
        firnc_inspect_print_json(document);
    if ((parts & FIRNC_INSPECT_SCREEN) != 0)
        firnc_inspect_print_screen(report, document, true);
    firnc_inspect_print_text(document, parts);
    firnc_inspect_memory(false);
}

int firnc_report_make(firnc_report *report, const char *file, const firnc_bytes *bytes) {
    firnc_plan_file checked;
    const firn_alive silent = {NULL, NULL};
    *report = (firnc_report){.file = file};
    int status = firnc_plan_check(bytes, NULL, 0, &checked);
    if (status != FIRN_OK)
        return status;
    report->header = checked.header;
    report->plan = checked.plan;
    memcpy(report->plan_hash, checked.plan_hash, sizeof report->plan_hash);
    status = firn_model_hash(report->plan, &report->header, bytes->data, &silent, report->model_hash);
    if (status != FIRN_OK)
        return status;
    report->said = firnc_report_of(bytes, &report->header);
    report->cut_off = bytes->count < report->header.total_bytes;
    count_ops(report);
    measure_state(report);
    find_arena(report);
    count_rounded(report);
    report->summary = firnc_summarise(report);
    return FIRN_OK;
}

int firnc_inspect(const char *file, uint32_t parts) {
    firnc_report report;
    firnc_bytes bytes;
    if (!firnc_plan_read(file, &bytes))
        return 1;
    const int status = firnc_report_make(&report, file, &bytes);
    if (status != FIRN_OK) {
        firnc_plan_refuse(file, &bytes, status);
        return 3;
    }
    print(&report, parts);
    cJSON_Delete(report.said);
    return 0;
}
