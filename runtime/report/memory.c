/* The memory of a plan over its ops (runtime/report/report.h): each tensor with its place and its lifetime, and how
 * many bytes of the arenas are live in each op. */
#include <cjson/cJSON.h>
#include <stdlib.h>
#include <string.h>

#include "plan/costs/costs.h"
#include "plan/generated/words.h"
#include "runtime/report/report.h"

/* Of more tensors the largest are listed, and the others counted. Live bytes are thinned to so many buckets. */
enum { LISTED_MOST = 3000, LIVE_BUCKETS = 1024, ALIGNMENT = 16 };

/* A tensor that is no view. */
typedef struct placed {
    firn_fb_tensor tensor;
    const char *name; /* what the plan or its report call it, or "" */
    uint64_t bytes, offset;
    uint32_t first, last; /* of the ops that it is live in */
    uint8_t region;
} placed;

/* The tensors of a plan. Returns their number; the caller frees the list. */
static uint32_t place_all(const report_plan *plan, placed **list) {
    const uint32_t tensors = firn_fb_plan_tensors_count(plan->plan);
    const cJSON *unnamed = cJSON_GetArrayItem(cJSON_GetObjectItemCaseSensitive(plan->said, "tensors"), 0);
    uint32_t count = 0;
    *list = firn_host_allocate(tensors * sizeof **list);
    for (uint32_t i = 0; i < tensors; i++) {
        const firn_fb_tensor tensor = firn_fb_plan_tensors_at(plan->plan, i);
        const char *name = firn_fb_tensor_name(tensor);
        if (name[0] == 0 && unnamed != NULL) {
            name = cJSON_IsString(unnamed) ? unnamed->valuestring : name;
            unnamed = unnamed->next;
        }
        if (firn_fb_tensor_base(tensor) != FIRN_ABSENT)
            continue;
        (*list)[count++] = (placed){.tensor = tensor,
                                    .name = name,
                                    .bytes = firn_tensor_bytes(tensor),
                                    .offset = firn_fb_tensor_offset(tensor),
                                    .first = firn_fb_tensor_first(tensor),
                                    .last = firn_fb_tensor_last(tensor),
                                    .region = firn_fb_tensor_region(tensor)};
    }
    return count;
}

static bool is_in_arena(const report_plan *plan, const placed *p) {
    return firn_region_is_arena(plan->header.region_kinds[p->region]);
}

/* --- live bytes --- */

static int by_place_and_time(const void *a, const void *b) {
    const placed *x = a, *y = b;
    if (x->region != y->region)
        return x->region < y->region ? -1 : 1;
    if (x->offset != y->offset)
        return x->offset < y->offset ? -1 : 1;
    if (x->bytes != y->bytes)
        return x->bytes < y->bytes ? -1 : 1;
    return (x->first > y->first) - (x->first < y->first);
}

/* Whether the second tensor takes the bytes of the first in the op that uses the first one last. */
static bool replaces(const placed *first, const placed *second) {
    return first->region == second->region && first->offset == second->offset && first->bytes == second->bytes &&
           second->first <= first->last;
}

/* Adds the bytes of all tensors of the arenas to the ops in which they are live; bytes that are reused in place count
 * once. changes: of each op, against the op before it. The list is sorted for it. */
static void add_live(const report_plan *plan, placed *list, uint32_t count, int64_t *changes, uint32_t ops) {
    qsort(list, count, sizeof *list, by_place_and_time);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t last = list[i].last;
        const placed *begin = &list[i];
        while (i + 1 < count && replaces(&list[i], &list[i + 1])) {
            i++;
            last = list[i].last > last ? list[i].last : last;
        }
        if (!is_in_arena(plan, begin) || begin->first >= ops)
            continue;
        const int64_t bytes = (int64_t)((begin->bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT);
        changes[begin->first] += bytes;
        if (last < ops)
            changes[last + 1] -= bytes;
    }
}

static void put_live(FILE *to, const report_plan *plan, placed *list, uint32_t count) {
    const uint32_t ops = plan->header.counts.ops;
    int64_t *changes = firn_host_allocate(((size_t)ops + 2) * sizeof *changes), live = 0, most = 0;
    uint32_t peak = 0;
    report_series series;
    report_series_begin(&series, LIVE_BUCKETS);
    add_live(plan, list, count, changes, ops);
    for (uint32_t op = 0; op < ops; op++) {
        live += changes[op];
        peak = live > most ? op : peak;
        most = live > most ? live : most;
        report_series_add(&series, op, (double)live);
    }
    fprintf(to, ",\"ops\":%lu,\"peak\":%lu,\"peakBytes\":%lld,\"live\":", (unsigned long)ops, (unsigned long)peak,
            (long long)most);
    report_series_put(to, &series, 15);
    report_series_free(&series);
    free(changes);
}

/* --- the list --- */

static int by_size(const void *a, const void *b) {
    const placed *x = a, *y = b;
    return x->bytes != y->bytes ? (x->bytes < y->bytes ? 1 : -1) : by_place_and_time(a, b);
}

static void put_tensor(FILE *to, const placed *p) {
    fprintf(to, "[%u,%llu,%llu,%lu,%lu,\"%s\",", (unsigned)p->region, (unsigned long long)p->offset,
            (unsigned long long)p->bytes, (unsigned long)p->first, (unsigned long)p->last,
            firn_fb_role_word(firn_fb_tensor_role(p->tensor)));
    report_put_text(to, p->name);
    fprintf(to, ",\"%s[", firn_type_name(firn_fb_tensor_type(p->tensor)));
    for (uint32_t d = 0; d < firn_fb_tensor_dims_count(p->tensor); d++)
        fprintf(to, "%s%lu", d == 0 ? "" : ",", (unsigned long)firn_fb_tensor_dims_at(p->tensor, d));
    fputs("]\"]", to);
}

void report_memory_put(FILE *to, const report_plan *plan) {
    placed *list;
    uint32_t count = place_all(plan, &list);
    uint64_t left_bytes = 0;
    fputs("{\"regions\":[", to);
    for (uint32_t i = 0; i < plan->header.region_count; i++)
        fprintf(to, "%s[\"%s\",%llu]", i == 0 ? "" : ",", firn_fb_region_kind_word(plan->header.region_kinds[i]),
                (unsigned long long)plan->header.region_bytes[i]);
    fputc(']', to);
    put_live(to, plan, list, count);
    qsort(list, count, sizeof *list, by_size);
    fputs(",\"tensors\":[", to);
    for (uint32_t i = 0; i < count; i++) {
        if (i >= LISTED_MOST) {
            left_bytes += list[i].bytes;
            continue;
        }
        fputs(i == 0 ? "" : ",", to);
        put_tensor(to, &list[i]);
    }
    fprintf(to, "],\"left\":%lu,\"leftBytes\":%llu}", (unsigned long)(count > LISTED_MOST ? count - LISTED_MOST : 0),
            (unsigned long long)left_bytes);
    free(list);
}
