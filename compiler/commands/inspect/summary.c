/* The summary of a plan (compiler/commands/inspect/summary.h). */
#include "compiler/commands/inspect/summary.h"

#include <string.h>

#include "compiler/base/words.h"
#include "compiler/commands/inspect/report.h"
#include "compiler/graph/ir.h"
#include "plan/bytes.h"
#include "plan/costs/costs.h"
#include "plan/generated/words.h"
#include "plan/op_words.h"
#include "plan/schedule_list.h"

/* A product that is at most UINT64_MAX. */
static uint64_t times(uint64_t a, uint64_t b) {
    uint64_t product;
    return __builtin_mul_overflow(a, b, &product) ? UINT64_MAX : product;
}

static uint64_t plus(uint64_t a, uint64_t b) {
    uint64_t sum;
    return __builtin_add_overflow(a, b, &sum) ? UINT64_MAX : sum;
}

/* --- layers ------------------------------------------------------------------------------------------------------- */

/* The elements of one layer, for the least and the most of its list. */
typedef struct layer {
    uint64_t number, elements;
    uint32_t list;
} layer;

static bool is_of_layers(firn_fb_tensor tensor) {
    const uint8_t role = firn_fb_tensor_role(tensor);
    return (role == FIRN_FB_ROLE_PARAMETER || role == FIRN_FB_ROLE_FROZEN) &&
           firn_fb_tensor_base(tensor) == FIRN_ABSENT;
}

/* The name of the list or module that a parameter belongs to; *listed is false for a module. */
static const char *list_of(const char *name, uint64_t *number, bool *listed) {
    const uint64_t stack = firnc_fold_stack(name, number);
    const char *dot = strrchr(name, '.');
    *listed = stack < strlen(name);
    if (*listed)
        return firnc_format("%.*s", (int)stack, name);
    return dot != NULL ? firnc_format("%.*s", (int)(dot - name), name) : name;
}

/* The position of a list by its name, which is added if it is new. Most parameters belong to the list of the one
 * before.
 */
static uint32_t find_list(firnc_summary *summary, uint32_t *capacity, const char *name) {
    for (uint32_t i = summary->layer_count; i-- > 0;)
        if (strcmp(summary->layers[i].name, name) == 0)
            return i;
    summary->layers = firnc_grown(summary->layers, summary->layer_count, capacity, sizeof *summary->layers);
    summary->layers[summary->layer_count] = (firnc_summary_layers){.name = name};
    return summary->layer_count++;
}

static void count_layer(layer **layers, uint32_t *count, uint32_t *capacity, layer next) {
    for (uint32_t i = *count; i-- > 0;)
        if ((*layers)[i].list == next.list && (*layers)[i].number == next.number) {
            (*layers)[i].elements += next.elements;
            return;
        }
    *layers = firnc_grown(*layers, *count, capacity, sizeof **layers);
    (*layers)[(*count)++] = next;
}

static void find_layers(firnc_summary *summary, firn_fb_plan plan) {
    layer *layers = NULL;
    uint32_t count = 0, capacity = 0, lists = 0;
    for (uint32_t i = 0; i < firn_fb_plan_tensors_count(plan); i++) {
        const firn_fb_tensor tensor = firn_fb_plan_tensors_at(plan, i);
        layer next = {.elements = firn_tensor_elements(tensor)};
        bool listed;
        if (!is_of_layers(tensor))
            continue;
        summary->parameter_tensors++;
        next.list = find_list(summary, &lists, list_of(firn_fb_tensor_name(tensor), &next.number, &listed));
        summary->layers[next.list].elements += next.elements;
        if (listed)
            count_layer(&layers, &count, &capacity, next);
    }
    for (uint32_t i = 0; i < count; i++) {
        firnc_summary_layers *list = &summary->layers[layers[i].list];
        list->least = list->count == 0 || layers[i].elements < list->least ? layers[i].elements : list->least;
        list->most = layers[i].elements > list->most ? layers[i].elements : list->most;
        list->count++;
    }
}

/* --- ops ---------------------------------------------------------------------------------------------------------- */

const char *firnc_reduction_text(firn_fb_reduction reduction) {
    if (reduction.kind == FIRN_FB_REDUCTION_KIND_F32)
        return firnc_format("f32 to %s", firn_type_name(reduction.output));
    return firnc_format("%s %u in %s, to %s", firn_fb_reduction_kind_word(reduction.kind), (unsigned)reduction.chunk,
                        firn_type_name(reduction.accumulator), firn_type_name(reduction.output));
}

/* The position of "weight_decay" among the reals of an op; -1 if it has none. */
static int decay_of(const firn_op_info *info) {
    const char *names = firn_op_words_of(info)->reals, *name;
    for (int i = 0; *(name = firnc_next_word(&names)) != '\0'; i++)
        if (strcmp(name, "weight_decay") == 0)
            return i;
    return -1;
}

/* Whether the factors of an op that updates hold the weight decay of the step: float32[4]. They are its last operand,
 * which it may be without. */
static bool is_scheduled(firn_fb_plan plan, const firn_op_info *info, firn_fb_op op) {
    const uint32_t inputs = firn_fb_op_inputs_count(op);
    const uint32_t last = inputs == info->inputs && inputs > 0 ? firn_fb_op_inputs_at(op, inputs - 1) : FIRN_ABSENT;
    return last != FIRN_ABSENT && firn_tensor_elements(firn_fb_plan_tensors_at(plan, last)) == 4;
}

static void take_update(firnc_summary *summary, uint32_t *capacity, firn_fb_plan plan, firn_fb_op op) {
    const firn_op_info *info = firn_op_find(firn_fb_op_code(op));
    const uint32_t tensor = firn_fb_op_outputs_count(op) > 0 ? firn_fb_op_outputs_at(op, 0) : FIRN_ABSENT;
    if (tensor == FIRN_ABSENT || firn_fb_tensor_role(firn_fb_plan_tensors_at(plan, tensor)) != FIRN_FB_ROLE_PARAMETER)
        return;
    const int decay = decay_of(info);
    if (decay < 0 || (uint32_t)decay >= firn_fb_op_reals_count(op))
        return;
    summary->updates = firnc_grown(summary->updates, summary->update_count, capacity, sizeof *summary->updates);
    firnc_summary_update *update = &summary->updates[summary->update_count++];
    *update = (firnc_summary_update){.tensor = tensor,
                                     .op = firn_op_name(info),
                                     .decay = firn_fb_op_reals_at(op, (uint32_t)decay),
                                     .scheduled = is_scheduled(plan, info, op)};
    summary->decayed += firnc_summary_decays(update);
}

static void count_form(firnc_summary *summary, uint32_t *capacity, const char *text) {
    for (uint32_t i = 0; i < summary->form_count; i++)
        if (strcmp(summary->forms[i].text, text) == 0) {
            summary->forms[i].reductions++;
            return;
        }
    summary->forms = firnc_grown(summary->forms, summary->form_count, capacity, sizeof *summary->forms);
    summary->forms[summary->form_count++] = (firnc_summary_form){.text = text, .reductions = 1};
}

static void find_ops(firnc_summary *summary, firn_fb_plan plan) {
    uint32_t updates = 0, forms = 0;
    for (uint32_t p = 0; p < firn_fb_plan_phases_count(plan); p++) {
        const firn_fb_phase phase = firn_fb_plan_phases_at(plan, p);
        for (uint32_t i = 0; i < firn_fb_phase_ops_count(phase); i++) {
            const firn_fb_op op = firn_fb_phase_ops_at(phase, i);
            take_update(summary, &updates, plan, op);
            for (uint32_t j = 0; j < firn_fb_op_reductions_count(op); j++)
                count_form(summary, &forms, firnc_reduction_text(firn_fb_op_reductions_at(op, j)));
        }
    }
    for (uint32_t i = 0; i < firn_fb_plan_tensors_count(plan); i++) {
        const uint8_t type = firn_fb_tensor_type(firn_fb_plan_tensors_at(plan, i));
        summary->half_types |= firn_type_is_half(type) ? 1u << type : 0;
    }
}

bool firnc_summary_decays(const firnc_summary_update *update) {
    return update->scheduled || update->decay != 0;
}

uint32_t firnc_summary_fold(const firnc_summary *summary, firn_fb_plan plan, bool decayed,
                            const firnc_folded **groups) {
    firnc_fold_item *items = firnc_allocate((uint64_t)summary->update_count * sizeof *items);
    uint32_t count = 0;
    for (uint32_t i = 0; i < summary->update_count; i++)
        if (firnc_summary_decays(&summary->updates[i]) == decayed)
            items[count++] = (firnc_fold_item){
                .name = firn_fb_tensor_name(firn_fb_plan_tensors_at(plan, summary->updates[i].tensor)), .same = ""};
    return firnc_fold(items, count, groups);
}

/* "transformer.h.[0-11].norm.weight, transformer.ln_f.bias and 2 more": some of those that are not decayed. */
static const char *not_decayed(const firnc_summary *summary, firn_fb_plan plan) {
    enum { NAMES_SHOWN = 6 };
    const firnc_folded *groups;
    const uint32_t count = firnc_summary_fold(summary, plan, false, &groups);
    const char *text = "";
    for (uint32_t i = 0; i < count && i < NAMES_SHOWN; i++)
        text = firnc_format("%s%s%s", text, i > 0 ? ", " : "", groups[i].name);
    return count > NAMES_SHOWN ? firnc_format("%s and %u more", text, (unsigned)(count - NAMES_SHOWN)) : text;
}

/* --- data --------------------------------------------------------------------------------------------------------- */

/* Bytes of a sample of records: each stream once, though several inputs may read it. */
static uint64_t record_bytes(firn_fb_plan plan, uint32_t samples) {
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < firn_fb_plan_inputs_count(plan); i++) {
        const firn_fb_input input = firn_fb_plan_inputs_at(plan, i);
        bool first = true;
        for (uint32_t j = 0; j < i; j++)
            first = first && firn_fb_input_stream(firn_fb_plan_inputs_at(plan, j)) != firn_fb_input_stream(input);
        const firn_fb_tensor tensor = firn_fb_plan_tensors_at(plan, firn_fb_input_tensor(input));
        if (first)
            bytes = plus(bytes,
                         times(firn_tensor_elements(tensor) / samples, firn_type_bytes(firn_fb_input_element(input))));
    }
    return bytes;
}

/* The bytes of samples that follow each other. */
static uint64_t bytes_of(firn_fb_plan plan, uint64_t sample_bytes, uint64_t samples) {
    const firn_fb_sampler sampler = firn_fb_plan_sampler(plan);
    if (firn_fb_sampler_unit(sampler) == FIRN_FB_SAMPLE_UNIT_RECORD || samples == 0)
        return times(samples, sample_bytes);
    const uint64_t element = firn_type_bytes(firn_fb_input_element(firn_fb_plan_inputs_at(plan, 0)));
    return plus(times(times(samples - 1, firn_fb_sampler_stride(sampler)), element), sample_bytes);
}

/* Bytes of all data of which so many are in the part that is read. */
static uint64_t with_other_part(firn_fb_sampler sampler, uint64_t bytes) {
    const uint64_t held_out = firn_fb_sampler_held_out_per_mille(sampler);
    const uint8_t part = firn_fb_sampler_part(sampler);
    const uint64_t share = part == FIRN_FB_DATA_PART_ALL     ? 1000
                           : part == FIRN_FB_DATA_PART_TRAIN ? 1000 - held_out
                                                             : held_out;
    if (share == 0 || share >= 1000)
        return bytes;
    return plus(times(bytes / share, 1000), (bytes % share * 1000 + share - 1) / share);
}

static void find_data(firnc_summary *summary, firn_fb_plan plan) {
    const firn_fb_sampler sampler = firn_fb_plan_sampler(plan);
    const uint32_t samples = firn_fb_sampler_samples(sampler);
    if (firn_fb_plan_inputs_count(plan) == 0 || samples == 0)
        return; /* a decode plan, whose tokens are no data */
    const bool windows = firn_fb_sampler_unit(sampler) == FIRN_FB_SAMPLE_UNIT_WINDOW;
    summary->sample_bytes = windows ? times(firn_fb_sampler_window(sampler),
                                            firn_type_bytes(firn_fb_input_element(firn_fb_plan_inputs_at(plan, 0))))
                                    : record_bytes(plan, samples);
    summary->batch_samples = times(samples, firn_fb_plan_micro_batches(plan));
    summary->run_samples = times(summary->batch_samples, firn_fb_plan_steps(plan));
    summary->run_bytes = bytes_of(plan, summary->sample_bytes, summary->run_samples);
    summary->data_bytes = with_other_part(sampler, summary->run_bytes);
    const bool is_short = firn_fb_sampler_epoch_end(sampler) == FIRN_FB_EPOCH_END_SHORT;
    summary->least_bytes = bytes_of(plan, summary->sample_bytes, is_short ? 1 : samples);
}

static void find_rates(firnc_summary *summary, firn_fb_plan plan) {
    const firn_schedule_list list = firn_plan_schedule_list(plan);
    const uint64_t steps = firn_fb_plan_steps(plan);
    for (uint32_t i = 0; i < firn_fb_plan_schedules_count(plan); i++) {
        const firn_fb_schedule schedule = firn_fb_plan_schedules_at(plan, i);
        if (firn_fb_schedule_tensor(schedule) != firn_fb_plan_learning_rate(plan))
            continue;
        summary->has_rate = true;
        summary->first_rate = (double)firn_schedule_value(&list, firn_fb_schedule_root(schedule), 0);
        summary->has_last_rate = steps > 0;
        if (steps > 0)
            summary->last_rate = (double)firn_schedule_value(&list, firn_fb_schedule_root(schedule), steps - 1);
    }
}

/* --- what is unusual ---------------------------------------------------------------------------------------------- */

static void add(firnc_summary *summary, uint32_t *capacity, const char *sentence) {
    summary->unusual = firnc_grown(summary->unusual, summary->unusual_count, capacity, sizeof *summary->unusual);
    summary->unusual[summary->unusual_count++] = sentence;
}

static bool has_op(firn_fb_plan plan, uint16_t code) {
    for (uint32_t p = 0; p < firn_fb_plan_phases_count(plan); p++) {
        const firn_fb_phase phase = firn_fb_plan_phases_at(plan, p);
        for (uint32_t i = 0; i < firn_fb_phase_ops_count(phase); i++)
            if (firn_fb_op_code(firn_fb_phase_ops_at(phase, i)) == code)
                return true;
    }
    return false;
}

static void find_unusual_training(firnc_summary *summary, uint32_t *capacity, const firnc_report *report) {
    const firn_fb_plan plan = report->plan;
    const firn_fb_sampler sampler = firn_fb_plan_sampler(plan);
    const uint32_t narrow = (1u << FIRN_FLOAT16) | (1u << FIRN_CBFLOAT16);
    const uint32_t plain = summary->update_count - summary->decayed;
    if (report->frozen > 0)
        add(summary, capacity,
            firnc_format("%s parameters are frozen, and %s are trained", firnc_grouped(report->frozen),
                         firnc_grouped(report->parameters)));
    if (summary->update_count > 0 && summary->decayed == 0)
        add(summary, capacity, "no parameter is decayed");
    else if (plain > 0)
        add(summary, capacity,
            firnc_format("%u of %u tensors are not decayed: %s", (unsigned)plain, (unsigned)summary->update_count,
                         not_decayed(summary, plan)));
    if (has_op(plan, FIRN_OP_loss_scale_update))
        add(summary, capacity, "steps whose gradients are not finite are skipped, and halve the loss scale");
    else if ((summary->half_types & narrow) != 0 && firn_fb_plan_loss_scale(plan) == FIRN_ABSENT)
        add(summary, capacity, "the loss is not scaled: gradients in the half type that are too small for it become 0");
    if (!firn_fb_plan_check_loss(plan))
        add(summary, capacity, "the run goes on after a loss that is not finite");
    if (firn_fb_plan_steps(plan) == 0)
        add(summary, capacity, "the run has no end");
    if (firn_fb_sampler_kind(sampler) == FIRN_FB_SAMPLER_KIND_SEQUENTIAL &&
        firn_fb_sampler_pushed(sampler) == FIRN_ABSENT)
        add(summary, capacity, "samples are read in sequence, and not shuffled");
    if (firn_fb_sampler_epoch_end(sampler) == FIRN_FB_EPOCH_END_STOP)
        add(summary, capacity, "the run ends with the data, if that is before its last step");
}

static void find_unusual(firnc_summary *summary, const firnc_report *report) {
    const firn_header *header = &report->header;
    uint32_t capacity = 0, narrow = 0;
    if (header->mode == FIRN_MODE_TRAIN)
        find_unusual_training(summary, &capacity, report);
    for (uint32_t i = 0; i < summary->form_count; i++)
        narrow += strncmp(summary->forms[i].text, "chunked", strlen("chunked")) == 0 ? summary->forms[i].reductions : 0;
    if (narrow > 0)
        add(summary, &capacity, firnc_format("%u sums are added up in a half type, by chunks", (unsigned)narrow));
    if (!firn_is_zero(header->vendor, 0, sizeof header->vendor) ||
        !firn_is_zero(header->class_id, 0, sizeof header->class_id))
        add(summary, &capacity, "it is for devices of one vendor or class, and others refuse it");
}

firnc_summary firnc_summarise(const firnc_report *report) {
    firnc_summary summary = {0};
    find_layers(&summary, report->plan);
    find_ops(&summary, report->plan);
    find_data(&summary, report->plan);
    if (report->header.mode == FIRN_MODE_TRAIN)
        find_rates(&summary, report->plan);
    find_unusual(&summary, report);
    return summary;
}
