/* The order of the axes in the records of an array. A record is read as its elements follow each other in the file, so
 * an image whose channels are the last axis in the file and the first in the plan would be read as other pixels, with
 * as many elements and without an error. */
#include <string.h>

#include "runtime/targets/host/host.h"

enum { AXES_MOST = 8 };

/* Copies the extents other than 1 and returns their number. */
static uint32_t without_ones(const uint64_t *dims, uint32_t rank, uint64_t kept[AXES_MOST]) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < rank && i < AXES_MOST; i++)
        if (dims[i] != 1)
            kept[count++] = dims[i];
    return count;
}

bool firn_host_axes_fit(const firn_data_layout *layout, const firn_host_shape *wanted) {
    uint64_t there[AXES_MOST] = {0}, want[AXES_MOST] = {0};
    if (wanted->rank == 0 || layout->rank == 0)
        return true;
    const uint32_t rank = layout->rank - 1;
    const uint32_t axes = without_ones(layout->dims + 1, rank, there),
                   want_axes = without_ones(wanted->dims, wanted->rank, want);
    if (axes < 2 || want_axes < 2) /* flat */
        return true;
    if (axes != want_axes)
        return rank != wanted->rank;
    return memcmp(there, want, axes * sizeof *there) == 0;
}

/* Finds for each wanted extent the first unused axis of the array that has it, which keeps the order of axes with equal
 * extents. An extent of 1 may be absent, and axes of 1 that are left come last. Returns false if the extents are
 * others. */
static bool find_order(const firn_data_layout *layout, const firn_host_shape *wanted, uint64_t order[AXES_MOST]) {
    bool used[AXES_MOST] = {true}; /* axis 0 counts the records */
    uint32_t count = 0;
    order[count++] = 0;
    for (uint32_t i = 0; i < wanted->rank; i++) {
        uint32_t axis = 1;
        while (axis < layout->rank && (used[axis] || layout->dims[axis] != wanted->dims[i]))
            axis++;
        if (axis == layout->rank && wanted->dims[i] != 1)
            return false;
        if (axis == layout->rank)
            continue;
        used[axis] = true;
        order[count++] = axis;
    }
    for (uint32_t axis = 1; axis < layout->rank; axis++) {
        if (used[axis])
            continue;
        if (layout->dims[axis] != 1)
            return false;
        order[count++] = axis;
    }
    return true;
}

void firn_host_axes_mend(const firn_data_layout *layout, const firn_host_shape *wanted, char *text, size_t size) {
    uint64_t order[AXES_MOST];
    char list[200];
    if (find_order(layout, wanted, order)) {
        snprintf(text, size, "numpy.ascontiguousarray(x.transpose%s)",
                 firn_host_dims_text(order, layout->rank, "()", list, sizeof list));
        return;
    }
    firn_host_dims_text(wanted->dims, wanted->rank, "()", list, sizeof list);
    snprintf(text, size, "x.reshape(-1, %s if the elements of a record follow each other in that order", list + 1);
}

const char *firn_host_dims_text(const uint64_t *dims, uint32_t rank, const char *brackets, char *text, size_t size) {
    size_t length = (size_t)snprintf(text, size, "%c", brackets[0]);
    for (uint32_t i = 0; i < rank && i < AXES_MOST && length < size; i++)
        length +=
            (size_t)snprintf(text + length, size - length, "%s%llu", i == 0 ? "" : ", ", (unsigned long long)dims[i]);
    const bool tuple = rank == 1 && brackets[0] == '(';
    if (length < size)
        snprintf(text + length, size - length, "%s%c", tuple ? "," : rank > AXES_MOST ? ", ..." : "", brackets[1]);
    return text;
}
