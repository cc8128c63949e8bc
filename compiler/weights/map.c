/* The names of a parameter in a weights file (compiler/weights/map.h). */
#include "compiler/weights/map.h"

#include <string.h>

#define STARS_MAX FIRNC_NAME_MAX

const firnc_weight_parameter *firnc_weight_parameters(const firnc_graph *graph, uint32_t *count) {
    firnc_value *values;
    *count = firnc_sorted_values(graph, firnc_is_weight, &values);
    firnc_weight_parameter *parameters = firnc_allocate((*count + UINT64_C(1)) * sizeof *parameters);
    for (uint32_t i = 0; i < *count; i++) {
        const firnc_value_info *value = &graph->values[values[i]];
        parameters[i] = (firnc_weight_parameter){value->name, value->shape, value->adapter};
        parameters[i].shape.type = FIRN_FLOAT32; /* a frozen weight may be stored in another */
    }
    return parameters;
}

uint64_t firnc_weight_elements(const firnc_weight_parameter *parameter) {
    uint64_t elements = 0;
    (void)firn_shape_elements(&parameter->shape, &elements);
    return elements;
}

/* --- names -------------------------------------------------------------------------------------------------------- */

/* What a '*' of a pattern stands for. */
typedef struct part {
    const char *text;
    size_t bytes;
} part;

/* Matches a name with a pattern; sets what each '*' stands for, and their number. Each takes as little as it can, but
 * for the last. */
static bool match(const char *pattern, const char *name, part *parts, uint32_t *count) {
    const char *resume = NULL;
    *count = 0;
    while (*name != '\0' || *pattern != '\0') {
        if (*pattern == '*' && *count < STARS_MAX) {
            pattern++;
            parts[(*count)++] = (part){name, 0};
            resume = pattern;
        } else if (*pattern == *name) {
            pattern++;
            name++;
        } else if (resume != NULL && parts[*count - 1].text[parts[*count - 1].bytes] != '\0') {
            part *last = &parts[*count - 1];
            last->bytes++;
            pattern = resume;
            name = last->text + last->bytes;
        } else {
            return false;
        }
    }
    return true;
}

/* A name with each '*' replaced. */
static const char *filled(const char *name, const part *parts, uint32_t count) {
    firnc_growing_text text = {0};
    firnc_text_add(&text, "", 0);
    for (uint32_t star = 0; *name != '\0'; name++)
        if (*name == '*' && star < count) {
            firnc_text_add(&text, parts[star].text, parts[star].bytes);
            star++;
        } else {
            firnc_text_add(&text, name, 1);
        }
    return text.text;
}

uint32_t firnc_weight_names(const firnc_weight_rule *rule, const char *parameter,
                            const char *names[FIRNC_WEIGHT_TENSORS_MAX]) {
    part parts[STARS_MAX];
    uint32_t stars, count = 0;
    if (rule->kind != FIRNC_WEIGHT_TAKEN || !match(rule->parameter, parameter, parts, &stars))
        return 0;
    for (; count < FIRNC_WEIGHT_TENSORS_MAX && rule->tensors[count] != NULL; count++)
        names[count] = filled(rule->tensors[count], parts, stars);
    return count;
}
