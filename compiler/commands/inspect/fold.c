/* Folding of names (compiler/commands/inspect/fold.h): items are sorted by their names without the numbers, so that the
 * work grows with n log n. */
#include "compiler/commands/inspect/fold.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/base/text.h"

enum {
    NUMBER_DIGITS = 9, /* longer numbers are part of the name, and must be equal */
    RANGES_SHOWN = 4
};

static bool divides(char c) {
    return c == '.' || c == '/' || c == '\0';
}

/* The length of the number at `at` of a name; 0 if there is none. */
static size_t number_at(const char *name, const char *at) {
    const size_t digits = strspn(at, "0123456789");
    const bool whole = (at == name || divides(at[-1])) && divides(at[digits]);
    return whole && digits <= NUMBER_DIGITS ? digits : 0;
}

/* The first number at `from` or behind it; NULL if there is none. */
static const char *next_number(const char *name, const char *from, size_t *digits) {
    for (const char *at = from; *at != '\0'; at++)
        if (isdigit((unsigned char)*at) && (*digits = number_at(name, at)) > 0)
            return at;
    return NULL;
}

uint64_t firnc_fold_stack(const char *name, uint64_t *number) {
    size_t digits;
    const char *at = next_number(name, name, &digits);
    *number = at != NULL ? strtoull(at, NULL, 10) : 0;
    if (at == NULL)
        return strlen(name);
    return at == name ? 0 : (uint64_t)(at - name) - 1;
}

/* --- groups ------------------------------------------------------------------------------------------------------- */

typedef struct sorted_item {
    const char *pattern; /* items with equal patterns are a group */
    uint32_t index;
} sorted_item;

/* The name with 0 for each number, behind its length, and then what else must be equal. Because of the length, names
 * with any bytes in them have equal patterns only if they are equal apart from the numbers. */
static const char *pattern_of(const firnc_fold_item *item) {
    firnc_growing_text name = {0};
    const char *from = item->name, *at;
    size_t digits;
    for (; (at = next_number(item->name, from, &digits)) != NULL; from = at + digits) {
        firnc_text_add(&name, from, (uint64_t)(at - from));
        firnc_text_add(&name, "0", 1);
    }
    firnc_text_add(&name, from, strlen(from));
    return firnc_format("%llu %s%s", (unsigned long long)name.length, name.text, item->same);
}

static int by_pattern(const void *a, const void *b) {
    const sorted_item *x = a, *y = b;
    const int order = strcmp(x->pattern, y->pattern);
    return order != 0 ? order : (x->index > y->index) - (x->index < y->index);
}

static int by_index(const void *a, const void *b) {
    const firnc_folded *x = a, *y = b;
    return (x->members[0] > y->members[0]) - (x->members[0] < y->members[0]);
}

static int by_value(const void *a, const void *b) {
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* "7" for numbers that are all equal, otherwise "[0-3,5]". Sorts them. */
static const char *ranges(uint64_t *numbers, uint32_t count) {
    const char *text = "";
    uint32_t shown = 0;
    qsort(numbers, count, sizeof *numbers, by_value);
    if (numbers[0] == numbers[count - 1])
        return firnc_format("%llu", (unsigned long long)numbers[0]);
    for (uint32_t i = 0, next; i < count; i = next) {
        for (next = i + 1; next < count && numbers[next] <= numbers[next - 1] + 1; next++)
            ;
        const char *comma = i > 0 ? "," : "";
        if (shown++ == RANGES_SHOWN)
            return firnc_format("[%s,...,%llu]", text, (unsigned long long)numbers[count - 1]);
        text = numbers[i] == numbers[next - 1]
                   ? firnc_format("%s%s%llu", text, comma, (unsigned long long)numbers[i])
                   : firnc_format("%s%s%llu-%llu", text, comma, (unsigned long long)numbers[i],
                                  (unsigned long long)numbers[next - 1]);
    }
    return firnc_format("[%s]", text);
}

/* The numbers number `position` of the members' names. */
static uint64_t *numbers_at(const firnc_fold_item *items, const firnc_folded *group, uint32_t position) {
    uint64_t *numbers = firnc_allocate(group->count * sizeof *numbers);
    for (uint32_t i = 0; i < group->count; i++) {
        const char *name = items[group->members[i]].name, *at = name;
        size_t digits = 0;
        for (uint32_t p = 0; p <= position; p++)
            at = next_number(name, at + digits, &digits);
        numbers[i] = strtoull(at, NULL, 10);
    }
    return numbers;
}

static const char *name_of(const firnc_fold_item *items, const firnc_folded *group) {
    const char *first = items[group->members[0]].name, *from = first, *at;
    firnc_growing_text text = {0};
    size_t digits;
    if (group->count == 1)
        return first;
    for (uint32_t p = 0; (at = next_number(first, from, &digits)) != NULL; from = at + digits, p++) {
        const char *number = ranges(numbers_at(items, group, p), group->count);
        firnc_text_add(&text, from, (uint64_t)(at - from));
        firnc_text_add(&text, number, strlen(number));
    }
    firnc_text_add(&text, from, strlen(from));
    return text.text;
}

uint32_t firnc_fold(const firnc_fold_item *items, uint32_t count, const firnc_folded **groups) {
    sorted_item *sorted = firnc_allocate((uint64_t)count * sizeof *sorted);
    uint32_t *members = firnc_allocate((uint64_t)count * sizeof *members), made = 0;
    firnc_folded *list = firnc_allocate((uint64_t)count * sizeof *list);
    for (uint32_t i = 0; i < count; i++)
        sorted[i] = (sorted_item){.pattern = pattern_of(&items[i]), .index = i};
    qsort(sorted, count, sizeof *sorted, by_pattern);
    for (uint32_t i = 0; i < count; i++) {
        members[i] = sorted[i].index;
        if (i == 0 || strcmp(sorted[i].pattern, sorted[i - 1].pattern) != 0)
            list[made++].members = &members[i];
        list[made - 1].count++;
    }
    qsort(list, made, sizeof *list, by_index);
    for (uint32_t i = 0; i < made; i++)
        list[i].name = name_of(items, &list[i]);
    *groups = list;
    return made;
}
