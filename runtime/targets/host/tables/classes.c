/* Classes that the texts of a column name (table.h). A table gives each text the index at which it first met it; when
 * all tables are read, the texts are numbered in natural order, as class folders are, so that neither the order of the
 * rows nor that of the files changes the number of a class. */
#include <stdlib.h>
#include <string.h>

#include "plan/ops.h"
#include "runtime/targets/host/table.h"

/* --- one table ---------------------------------------------------------------------------------------------------- */

/* Returns the position of a name among the sorted ones, or that at which it belongs. */
static uint32_t position_of(const firn_host_classes *classes, const char *name) {
    uint32_t low = 0, high = classes->names.count;
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        if (strcmp(classes->names.list[classes->sorted[middle]], name) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

uint32_t firn_host_classes_index(firn_host_classes *classes, const char *name, uint32_t most) {
    firn_host_names *names = &classes->names;
    const uint32_t at = position_of(classes, name);
    if (at < names->count && strcmp(names->list[classes->sorted[at]], name) == 0)
        return classes->sorted[at];
    if (names->count >= most)
        return FIRN_HOST_NO_CLASS;
    names->list = firn_host_grow(names->list, (names->count + 1) * sizeof *names->list);
    classes->sorted = firn_host_grow(classes->sorted, (names->count + 1) * sizeof *classes->sorted);
    memmove(classes->sorted + at + 1, classes->sorted + at, (names->count - at) * sizeof *classes->sorted);
    classes->sorted[at] = names->count;
    names->list[names->count] = firn_host_path(name, "");
    return names->count++;
}

void firn_host_classes_free(firn_host_classes *classes) {
    firn_host_names_free(&classes->names);
    free(classes->sorted);
    *classes = (firn_host_classes){0};
}

/* --- all tables --------------------------------------------------------------------------------------------------- */

static int by_nature(const void *a, const void *b) {
    return firn_host_folder_order(*(char *const *)a, *(char *const *)b, true);
}

/* Collects the names of all files once, in natural order. */
static void collect(const firn_host_stream *stream, firn_host_names *names) {
    firn_host_classes all = {0};
    for (uint32_t i = 0; i < stream->count; i++)
        for (uint32_t j = 0; j < stream->files[i]->classes.count; j++)
            (void)firn_host_classes_index(&all, stream->files[i]->classes.list[j], UINT32_MAX);
    *names = all.names;
    all.names = (firn_host_names){0};
    firn_host_classes_free(&all);
    qsort(names->list, names->count, sizeof *names->list, by_nature);
}

static uint32_t load(const uint8_t *element, uint32_t width) {
    uint32_t value = 0;
    memcpy(&value, element, width); /* a host of firn is little-endian */
    return value;
}

/* Gives the labels of a file, which are indices of its own names, the numbers of `names`. */
static void number_file(firn_host_file *file, const firn_host_names *names) {
    const uint32_t width = firn_type_bytes(file->layout.element);
    uint32_t *number = firn_host_allocate(file->classes.count * sizeof *number);
    for (uint32_t i = 0; i < file->classes.count; i++)
        while (strcmp(names->list[number[i]], file->classes.list[i]) != 0)
            number[i]++;
    for (uint64_t at = 0; at < file->layout.elements; at++)
        memcpy(file->memory + at * width, &number[load(file->memory + at * width, width)], width);
    free(number);
}

/* Refuses names beside numbers: whether a number means the class of that index or is a name is not known. */
static bool refuse_mixture(const firn_host_stream *stream) {
    const firn_host_file *named = NULL, *numbered = NULL;
    for (uint32_t i = 0; i < stream->count; i++) {
        const firn_host_file *file = stream->files[i];
        named = named == NULL && file->classes.count != 0 ? file : named;
        numbered = numbered == NULL && file->classes.count == 0 ? file : numbered;
    }
    return named != NULL && numbered != NULL &&
           !firn_host_fail(numbered->name,
                           "has classes as numbers, and %s has them as names, such as %.60s (%s); give all classes as "
                           "numbers or all as names",
                           named->name, named->classes.list[0], firn_error_name(FIRN_ERROR_DATA_TYPE));
}

bool firn_host_classes_join(firn_host_data *data, const firn_host_wanted *wanted) {
    firn_host_stream *stream = &data->files[1];
    const firn_stream_info *info = &wanted->streams[1];
    const uint32_t limit = info->limit - (info->limit != 0 && wanted->unclassed);
    char list[300];
    if (refuse_mixture(stream))
        return false;
    if (stream->count == 0 || stream->files[0]->classes.count == 0)
        return true;
    if (firn_host_classes_known(wanted)) { /* the labels are indices of these names already */
        firn_host_names_copy(&data->classes, wanted->classes);
        return true;
    }
    collect(stream, &data->classes);
    firn_host_names_say(&data->classes, list, sizeof list);
    if (limit != 0 && data->classes.count > limit)
        return firn_host_fail(
            stream->files[0]->name,
            "and the other tables have %lu classes (%s), and the plan has %lu (%s); change the recipe",
            (unsigned long)data->classes.count, list, (unsigned long)limit, firn_error_name(FIRN_ERROR_DATA_RANGE));
    for (uint32_t i = 0; i < stream->count; i++)
        number_file(stream->files[i], &data->classes);
    return true;
}

bool firn_host_classes_known(const firn_host_wanted *wanted) {
    return wanted->classes != NULL && wanted->classes->count != 0;
}
