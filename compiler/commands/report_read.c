/* The report of a plan as a tree (compiler/commands/report_read.h). Nothing is checked here but that it is JSON. */
#include "compiler/commands/report_read.h"

cJSON *firnc_report_of(const firnc_bytes *file, const firn_header *header) {
    const uint64_t begin = firn_header_payload_end(header);
    if (file->count <= begin)
        return NULL;
    cJSON *report = cJSON_ParseWithLength((const char *)file->data + begin, (size_t)(file->count - begin));
    if (cJSON_IsObject(report))
        return report;
    cJSON_Delete(report);
    return NULL;
}

const char *firnc_report_name(const cJSON *report, const char *list, uint32_t index) {
    return cJSON_GetStringValue(cJSON_GetArrayItem(cJSON_GetObjectItemCaseSensitive(report, list), (int)index));
}
