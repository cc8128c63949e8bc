/* The ops of a plan (runtime/report/report.h): phase, layer, extents, multiply-adds, bytes, and what became of the POL
 * that was asked for. */
#include <cjson/cJSON.h>
#include <string.h>

#include "plan/costs/costs.h"
#include "plan/generated/words.h"
#include "plan/op_words.h"
#include "runtime/report/report.h"

enum { LISTED_MOST = 6000 }; /* of more ops the first are listed, and the others counted */

static firn_fb_tensor tensor_of(const report_plan *plan, uint32_t index) {
    return firn_fb_plan_tensors_at(plan->plan, index);
}

/* The bytes of all operands of an op. */
static uint64_t bytes_of(const report_plan *plan, firn_fb_op op) {
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < firn_fb_op_inputs_count(op); i++)
        if (firn_fb_op_inputs_at(op, i) != FIRN_ABSENT)
            bytes += firn_tensor_bytes(tensor_of(plan, firn_fb_op_inputs_at(op, i)));
    for (uint32_t i = 0; i < firn_fb_op_outputs_count(op); i++)
        bytes += firn_tensor_bytes(tensor_of(plan, firn_fb_op_outputs_at(op, i)));
    return bytes;
}

static void put_extents(FILE *to, firn_fb_tensor tensor) {
    fprintf(to, "\"%s[", firn_type_name(firn_fb_tensor_type(tensor)));
    for (uint32_t d = 0; d < firn_fb_tensor_dims_count(tensor); d++)
        fprintf(to, "%s%lu", d == 0 ? "" : ",", (unsigned long)firn_fb_tensor_dims_at(tensor, d));
    fputs("]\"", to);
}

/* The type that POL selects beside reductions; FIRN_FLOAT32 where there is none. */
static const char *inner_of(const report_plan *plan, firn_fb_op op, uint8_t *type) {
    const firn_op_info *info = firn_op_find(firn_fb_op_code(op));
    *type = FIRN_FLOAT32;
    if (info->pol == FIRN_POL_attention) {
        if (firn_fb_op_integers_at(op, FIRN_ATTENTION_HALF_SOFTMAX) != 0)
            *type = firn_fb_tensor_type(tensor_of(plan, firn_fb_op_inputs_at(op, info->reduced)));
        return "softmax";
    }
    if (info->pol == FIRN_POL_norm) {
        *type = (uint8_t)firn_fb_op_integers_at(op, info->typed);
        return "affine";
    }
    if (info->pol == FIRN_POL_rotation) {
        *type = (uint8_t)firn_fb_op_integers_at(op, FIRN_ROTARY_EMBEDDING_ROTATION);
        return "rotation";
    }
    return NULL;
}

/* What a sum is computed in: "f32", "chunked 64 bfloat16". */
static void put_reductions(FILE *to, const report_plan *plan, firn_fb_op op) {
    uint8_t type;
    const char *inner = inner_of(plan, op, &type), *separator = "";
    fputc('[', to);
    for (uint32_t i = 0; i < firn_fb_op_reductions_count(op); i++) {
        const firn_fb_reduction reduction = firn_fb_op_reductions_at(op, i);
        fprintf(to, "%s\"%s", separator, firn_fb_reduction_kind_word(reduction.kind));
        if (reduction.kind != FIRN_FB_REDUCTION_KIND_F32)
            fprintf(to, " %lu %s", (unsigned long)reduction.chunk, firn_type_name(reduction.accumulator));
        fputc('"', to);
        separator = ",";
    }
    if (inner != NULL)
        fprintf(to, "%s\"%s %s\"", separator, inner, firn_type_name(type));
    fputc(']', to);
}

/* The level that begins at a place of what the report says of an op, and who asked for it: "[1,"pattern"]"; null. */
static void put_level(FILE *to, const cJSON *said, int place) {
    const double level = cJSON_GetNumberValue(cJSON_GetArrayItem(said, place)); /* NaN if it is none */
    const char *origin = cJSON_GetStringValue(cJSON_GetArrayItem(said, place + 1));
    if (!(level >= 0 && level <= 255) || origin == NULL) {
        fputs("null", to);
        return;
    }
    fprintf(to, "[%.0f,", level);
    report_put_text(to, origin);
    fputc(']', to);
}

/* The last layer that was written, which a row need not repeat. */
typedef struct writer {
    FILE *to;
    const report_plan *plan;
    const cJSON *said; /* of the next op */
    const char *layer;
    uint32_t listed, left;
} writer;

/* [phase, op, layer (0: that of the row before), extents of the first output, multiply-adds, bytes, level, level of the
 * forward direction of an op of both, reductions] */
static void put_op(writer *w, uint32_t phase, firn_fb_op op) {
    const char *layer = cJSON_GetStringValue(cJSON_GetArrayItem(w->said, 0));
    layer = layer != NULL ? layer : "";
    fprintf(w->to, "%s[%lu,\"%s\",", w->listed == 0 ? "" : ",", (unsigned long)phase,
            firn_op_name(firn_op_find(firn_fb_op_code(op))));
    if (w->layer != NULL && strcmp(w->layer, layer) == 0)
        fputc('0', w->to);
    else
        report_put_text(w->to, layer);
    w->layer = layer;
    fputc(',', w->to);
    put_extents(w->to, tensor_of(w->plan, firn_fb_op_outputs_at(op, 0)));
    fprintf(w->to, ",%llu,%llu,", (unsigned long long)firn_op_cost(w->plan->plan, op),
            (unsigned long long)bytes_of(w->plan, op));
    put_level(w->to, w->said, 1);
    fputc(',', w->to);
    put_level(w->to, w->said, 3);
    fputc(',', w->to);
    put_reductions(w->to, w->plan, op);
    fputc(']', w->to);
    w->listed++;
}

static void put_phases(FILE *to, const report_plan *plan) {
    for (uint32_t p = 0; p < firn_fb_plan_phases_count(plan->plan); p++) {
        const firn_fb_phase phase = firn_fb_plan_phases_at(plan->plan, p);
        const uint8_t kind = firn_fb_phase_kind(phase);
        const bool repeated = kind == FIRN_FB_PHASE_KIND_MICRO_BATCH || kind == FIRN_FB_PHASE_KIND_COUNT;
        fprintf(to, "%s[\"%s\",%lu,%lu]", p == 0 ? "" : ",", firn_fb_phase_kind_word(kind),
                (unsigned long)firn_fb_phase_ops_count(phase),
                (unsigned long)(repeated ? firn_fb_plan_micro_batches(plan->plan) : 1));
    }
}

/* The parameters by name: [name, elements]. */
static void put_parameters(FILE *to, const report_plan *plan) {
    const char *separator = "";
    for (uint32_t i = 0, listed = 0; i < firn_fb_plan_tensors_count(plan->plan) && listed < LISTED_MOST; i++) {
        const firn_fb_tensor tensor = tensor_of(plan, i);
        const uint8_t role = firn_fb_tensor_role(tensor);
        if ((role != FIRN_FB_ROLE_PARAMETER && role != FIRN_FB_ROLE_FROZEN) ||
            firn_fb_tensor_base(tensor) != FIRN_ABSENT)
            continue;
        fprintf(to, "%s[", separator);
        separator = ",";
        report_put_text(to, firn_fb_tensor_name(tensor));
        fprintf(to, ",%llu]", (unsigned long long)firn_tensor_elements(tensor));
        listed++;
    }
}

void report_ops_put(FILE *to, const report_plan *plan) {
    writer w = {
        .to = to, .plan = plan, .said = cJSON_GetArrayItem(cJSON_GetObjectItemCaseSensitive(plan->said, "ops"), 0)};
    fputs("{\"phases\":[", to);
    put_phases(to, plan);
    fputs("],\"parameters\":[", to);
    put_parameters(to, plan);
    fputs("],\"list\":[", to);
    for (uint32_t p = 0; p < firn_fb_plan_phases_count(plan->plan); p++) {
        const firn_fb_phase phase = firn_fb_plan_phases_at(plan->plan, p);
        for (uint32_t i = 0; i < firn_fb_phase_ops_count(phase); i++) {
            if (w.listed < LISTED_MOST)
                put_op(&w, p, firn_fb_phase_ops_at(phase, i));
            else
                w.left++;
            w.said = w.said != NULL ? w.said->next : NULL;
        }
    }
    fprintf(to, "],\"left\":%lu}", (unsigned long)w.left);
}
