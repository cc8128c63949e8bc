/* Lists of names (host.h): of columns, and of classes. */
#include <stdio.h>
#include <stdlib.h>

#include "runtime/targets/host/host.h"

void firn_host_names_free(firn_host_names *names) {
    for (uint32_t i = 0; i < names->count; i++)
        free(names->list[i]);
    free(names->list);
    *names = (firn_host_names){0};
}

void firn_host_names_copy(firn_host_names *to, const firn_host_names *from) {
    to->list = firn_host_allocate((from->count + 1) * sizeof *to->list);
    for (to->count = 0; to->count < from->count; to->count++)
        to->list[to->count] = firn_host_path(from->list[to->count], "");
}

void firn_host_names_say(const firn_host_names *names, char *text, size_t size) {
    enum { SHOWN = 5 };
    size_t at = 0;
    text[0] = 0;
    for (uint32_t i = 0; i < names->count && i < SHOWN && at < size; i++)
        at += (size_t)snprintf(text + at, size - at, "%s%.40s", i == 0 ? "" : ", ", names->list[i]);
    if (names->count > SHOWN && at < size)
        snprintf(text + at, size - at, ", ...");
}
