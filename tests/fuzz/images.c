/* Fuzzes images: arbitrary bytes as PNG or JPEG, brought to a small size as records of a plan, and described. */
#include "runtime/targets/host/images/images.h"
#include "plan/ops.h"
#include "tests/fuzz/readers.h"

enum { SIDES_MOST = 512 };

/* Whether a PNG file announces a size that takes no long. That of JPEG stands anywhere. */
static bool is_small(const uint8_t *data, size_t size) {
    if (size < 24 || data[0] != 0x89)
        return true;
    const uint32_t width = (uint32_t)data[18] << 8 | data[19], height = (uint32_t)data[22] << 8 | data[23];
    return data[16] == 0 && data[17] == 0 && data[20] == 0 && data[21] == 0 && width <= SIDES_MOST &&
           height <= SIDES_MOST;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const firn_host_wanted grey = {.records = true,
                                   .stream_count = 1,
                                   .streams = {{.element = FIRN_UINT8, .record_elements = 35}},
                                   .shapes = {{.rank = 3, .dims = {7, 5, 1}}},
                                   .read_images = firn_host_images_read,
                                   .resize_width = 5,
                                   .resize_height = 7},
                           planes = {.records = true,
                                     .stream_count = 1,
                                     .streams = {{.element = FIRN_FLOAT32, .record_elements = 12}},
                                     .shapes = {{.rank = 3, .dims = {3, 2, 2}}},
                                     .read_images = firn_host_images_read,
                                     .resize_width = 2,
                                     .resize_height = 2},
                           looks = {.records = true,
                                    .only_looks = true,
                                    .stream_count = 1,
                                    .read_images = firn_host_images_read};
    if (!is_small(data, size))
        return 0;
    fuzz_file(data, size, ".png");
    fuzz_read(&grey);
    fuzz_file(data, size, ".png");
    fuzz_read(&planes);
    fuzz_file(data, size, ".png");
    fuzz_read(&looks);
    return 0;
}
