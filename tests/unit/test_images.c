/* Tests images as records of each form that a plan may have: the axes of their channels, grey and colours, and types.
 * The images are those of tests/fuzz/corpus/images; data_images.sh tests folders of them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "plan/ops.h"
#include "runtime/targets/host/images/images.h"
#include "tests/unit/support_capture.h"

#define COLOUR "tests/fuzz/corpus/images/colour.png"
#define GREY   "tests/fuzz/corpus/images/grey.png"

enum { WIDTH = 12, HEIGHT = 10, PIXELS = WIDTH * HEIGHT, ELEMENTS = 3 * PIXELS };

static firn_host_data data;
static char said[500];

/* Opens an image as records with these extents; what is said is kept. */
static bool open_image(const char *path, uint8_t element, const firn_host_shape *shape, uint32_t side) {
    firn_host_wanted wanted = {.records = true,
                               .stream_count = 1,
                               .streams = {{.element = element, .record_elements = 1}},
                               .shapes = {*shape},
                               .read_images = firn_host_images_read,
                               .resize_width = side,
                               .resize_height = side};
    for (uint32_t i = 0; i < shape->rank; i++)
        wanted.streams[0].record_elements *= (uint32_t)shape->dims[i];
    support_capture_begin(STDERR_FILENO);
    const bool opened = firn_host_data_open(&data, &wanted, &path, 1, NULL, NULL);
    (void)support_capture_end(said, sizeof said);
    return opened;
}

/* The value of a channel of colour.png. */
static uint8_t colour_at(uint32_t x, uint32_t y, uint32_t channel) {
    return (uint8_t)(channel == 0 ? x * 21 : channel == 1 ? y * 25 : (x + y) * 11);
}

static void expect_colours(bool planes) {
    static uint8_t bytes[ELEMENTS];
    assert_int_equal(data.source.read(data.source.context, 0, 0, ELEMENTS, bytes), FIRN_OK);
    for (uint32_t y = 0; y < HEIGHT; y++)
        for (uint32_t x = 0; x < WIDTH; x++)
            for (uint32_t c = 0; c < 3; c++) {
                const uint32_t pixel = y * WIDTH + x;
                assert_int_equal(bytes[planes ? c * PIXELS + pixel : pixel * 3 + c], colour_at(x, y, c));
            }
}

static void channels_are_the_last_axis_or_the_first(void **state) {
    (void)state;
    static const struct {
        firn_host_shape shape;
        bool planes;
    } forms[] = {{{3, {HEIGHT, WIDTH, 3}}, false}, {{3, {3, HEIGHT, WIDTH}}, true}, {{1, {ELEMENTS}}, false}};
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        assert_true(open_image(COLOUR, FIRN_UINT8, &forms[i].shape, 0));
        expect_colours(forms[i].planes);
        firn_host_data_close(&data);
    }
}

/* [3, 3, 3] is either; what the size of the image fits decides, and else the last axis. */
static void an_axis_that_could_be_either_is_decided_by_the_size(void **state) {
    (void)state;
    const firn_host_shape last = {3, {1, WIDTH, 3}}, both = {3, {3, 3, 3}};
    assert_false(open_image(COLOUR, FIRN_UINT8, &last, 0));
    assert_non_null(strstr(said, "the plan reads images 12 wide and 1 high"));
    firn_host_data_close(&data);
    assert_true(open_image(COLOUR, FIRN_UINT8, &both, 3));
    firn_host_data_close(&data);
}

static void grey_becomes_colours_and_not_the_other_way_round(void **state) {
    (void)state;
    const firn_host_shape grey = {3, {HEIGHT, WIDTH, 1}}, flat = {2, {HEIGHT, WIDTH}}, planes = {3, {3, HEIGHT, WIDTH}};
    uint8_t bytes[ELEMENTS];
    float one;
    assert_true(open_image(GREY, FIRN_UINT8, &planes, 0));
    assert_int_equal(data.source.read(data.source.context, 0, 0, ELEMENTS, bytes), FIRN_OK);
    assert_memory_equal(bytes, bytes + PIXELS, PIXELS);
    assert_memory_equal(bytes, bytes + 2 * PIXELS, PIXELS);
    firn_host_data_close(&data);
    assert_true(open_image(GREY, FIRN_FLOAT32, &flat, 0));
    assert_int_equal(data.source.read(data.source.context, 0, WIDTH + 2, 1, &one), FIRN_OK);
    assert_true(one == 2 * 17 + 11);
    firn_host_data_close(&data);
    assert_false(open_image(COLOUR, FIRN_UINT8, &grey, 0));
    assert_non_null(strstr(said, "has colours, and the plan reads images of one channel"));
    firn_host_data_close(&data);
}

static void other_channels_are_refused(void **state) {
    (void)state;
    const firn_host_shape two = {3, {HEIGHT, WIDTH, 2}}, four = {3, {4, HEIGHT, WIDTH}}, flat = {1, {ELEMENTS + 1}};
    assert_false(open_image(COLOUR, FIRN_UINT8, &two, 0));
    assert_non_null(strstr(said, "the plan reads records of [10, 12, 2], which are none of 1 or 3 channels"));
    firn_host_data_close(&data);
    assert_false(open_image(COLOUR, FIRN_UINT8, &four, 0));
    firn_host_data_close(&data);
    assert_false(open_image(COLOUR, FIRN_UINT8, &flat, 0));
    assert_non_null(strstr(said, "the plan reads 361 numbers of each record"));
    firn_host_data_close(&data);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(channels_are_the_last_axis_or_the_first),
        cmocka_unit_test(an_axis_that_could_be_either_is_decided_by_the_size),
        cmocka_unit_test(grey_becomes_colours_and_not_the_other_way_round),
        cmocka_unit_test(other_channels_are_refused),
    };
    const firn_host_shape colours = {3, {HEIGHT, WIDTH, 3}};
    firn_host_messages_to(firn_host_print_message, NULL);
    const bool decodes = open_image(COLOUR, FIRN_UINT8, &colours, 0);
    firn_host_data_close(&data);
    if (!decodes && strstr(said, "built without libpng") != NULL) {
        puts("built without libpng");
        return 0;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
