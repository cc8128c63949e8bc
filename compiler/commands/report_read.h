/* Reads the report of a plan. It is signed, but it is only text: whatever it says, the plan does what its payload says.
 */
#ifndef FIRNC_REPORT_READ_H
#define FIRNC_REPORT_READ_H

#include <cjson/cJSON.h>

#include "compiler/base/files.h"
#include "plan/container.h"

/* Parses the report of a plan that has been checked. NULL if the file was cut off before it, or if it is not a JSON
 * object. The caller frees it with cJSON_Delete. */
cJSON *firnc_report_of(const firnc_bytes *file, const firn_header *header);

/* The text at an index of a list of the report; NULL without report, list or text. */
const char *firnc_report_name(const cJSON *report, const char *list, uint32_t index);

#endif
