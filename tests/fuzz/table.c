/* Fuzzes tables: arbitrary bytes as a .csv file, with and without names, whose target is a column by name or by
 * number. */
#include "plan/ops.h"
#include "tests/fuzz/readers.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const struct {
        const char *columns, *target;
        firn_host_header header;
        uint8_t element;
        bool named; /* columns are found by names alone */
    } ways[] = {
        {NULL, NULL, FIRN_HOST_HEADER_UNKNOWN, FIRN_FLOAT32, false},
        {NULL, "class", FIRN_HOST_HEADER_UNKNOWN, FIRN_FLOAT32, false},
        {"2,1", "3", FIRN_HOST_HEADER_NO, FIRN_INT32, false},
        {"a,2", "class", FIRN_HOST_HEADER_YES, FIRN_UINT8, false},
        {NULL, NULL, FIRN_HOST_HEADER_UNKNOWN, FIRN_FLOAT32, true},
    };
    static char b[] = "b", a[] = "a", class[] = "class";
    static char *features[] = {b, a}, *targets[] = {class};
    static const firn_host_names by_name = {features, 2}, target = {targets, 1};
    for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++) {
        const firn_host_wanted wanted = {
            .records = true,
            .stream_count = ways[i].target != NULL || ways[i].named ? 2 : 1,
            .streams = {{.element = ways[i].element, .record_elements = 2},
                        {.element = FIRN_INT32, .record_elements = 1}},
            .columns = ways[i].columns,
            .target = ways[i].target,
            .header = ways[i].header,
            .features = ways[i].named ? &by_name : NULL,
            .targets = ways[i].named ? &target : NULL,
        };
        fuzz_file(data, size, ".csv");
        fuzz_columns(&wanted);
        fuzz_read(&wanted);
    }
    return 0;
}
