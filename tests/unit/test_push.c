/* Tests samples that are pushed: what the ring holds is drawn as from a source with the same samples; too few of them,
 * a wrong one or a wrong call change nothing; a run that was saved goes on once the same samples are in the ring again.
 */
#include <stdlib.h>
#include <string.h>

#include "tests/unit/support_compiled_plans.h"
#include "tests/unit/support_test.h"

#define FIT "trainer.fit.train_dataloader."

static const char *const images_recipe = "compiler/recipes/small_mlp.yaml";
static const char *const text_recipe = "compiler/recipes/small_gpt2.yaml";

static compiled_plan pushed_plan, read_plan;
static compiled_run pushed, other;

/* --- plans -------------------------------------------------------------------------------------------------------- */

/* Makes a plan whose samples are pushed into a ring of so many and, of the same recipe, one that reads a source. */
static void make_plans(const char *recipe, const char *ring, const char *shuffle) {
    const char *settings[] = {FIT "held_out_per_mille=0", shuffle, FIT "source=push", ring};
    compiled_plan_make(&pushed_plan, recipe, FIRNC_TRAIN, settings, 4);
    compiled_plan_make(&read_plan, recipe, FIRNC_TRAIN, settings, 2);
    assert_int_equal(compiled_run_open(&pushed, &pushed_plan, 0), FIRN_OK);
    assert_int_equal(compiled_run_open(&other, &read_plan, 0), FIRN_OK);
    assert_int_equal(firn_initialise(&pushed.firn), FIRN_OK);
    assert_int_equal(firn_initialise(&other.firn), FIRN_OK);
}

static void free_plans(void) {
    compiled_run_close(&pushed);
    compiled_run_close(&other);
    compiled_plan_free(&pushed_plan);
    compiled_plan_free(&read_plan);
}

/* --- pushing and stepping ----------------------------------------------------------------------------------------- */

static uint32_t length_of(const firn_source *source, uint32_t stream) {
    uint64_t elements = 0;
    for (uint32_t i = 0; i < source->streams[stream].segment_count; i++)
        elements += source->streams[stream].segments[i].elements;
    return (uint32_t)(elements / source->streams[stream].record_elements);
}

/* Pushes records from number `first` on of the data, which repeats, `at_once` in one call. */
static void push(compiled_run *run, uint32_t first, uint32_t count, uint32_t at_once) {
    const firn_source *source = compiled_source(run);
    for (uint32_t done = 0; done < count; done += at_once) {
        const uint32_t now = count - done < at_once ? count - done : at_once;
        uint8_t *records[2] = {NULL, NULL};
        for (uint32_t s = 0; s < source->stream_count; s++) {
            const uint32_t bytes = source->streams[s].record_elements;
            records[s] = malloc((size_t)now * bytes); /* of just these bytes, for the sanitizers */
            assert_non_null(records[s]);
            for (uint32_t i = 0; i < now; i++)
                assert_int_equal(source->read(NULL, s, (uint64_t)((first + done + i) % length_of(source, s)) * bytes,
                                              bytes, records[s] + (size_t)i * bytes),
                                 0);
        }
        assert_int_equal(firn_push(&run->firn, (const void *const *)records, source->stream_count, now), FIRN_OK);
        free(records[0]);
        free(records[1]);
    }
}

static void step(compiled_run *run, const firn_source *source) {
    firn_step_report report;
    assert_int_equal(firn_train_step(&run->firn, source, &report), FIRN_OK);
}

static void assert_same_state(const compiled_run *a, const compiled_run *b) {
    uint8_t first[32], second[32];
    assert_int_equal(firn_digest(&a->firn, first), FIRN_OK);
    assert_int_equal(firn_digest(&b->firn, second), FIRN_OK);
    assert_memory_equal(first, second, 32);
}

/* A source with records [first, first + count) of the data, as one segment for each stream. */
typedef struct part {
    firn_source source;
    firn_stream streams[2];
    firn_segment segments[2];
    const firn_source *whole;
    uint64_t first;
} part;

static int read_part(void *context, uint32_t stream, uint64_t first, uint32_t count, void *elements) {
    const part *part = context;
    const firn_stream *of = &part->whole->streams[stream];
    const uint64_t length = (uint64_t)length_of(part->whole, stream) * of->record_elements;
    for (uint32_t i = 0; i < count; i++)
        assert_int_equal(part->whole->read(NULL, stream, (part->first * of->record_elements + first + i) % length, 1,
                                           (uint8_t *)elements + i),
                         0);
    return 0;
}

static const firn_source *part_of(part *part, const firn_source *whole, uint64_t first, uint64_t count) {
    *part = (struct part){.whole = whole, .first = first};
    for (uint32_t s = 0; s < whole->stream_count; s++) {
        part->segments[s].elements = count * whole->streams[s].record_elements;
        part->streams[s] = whole->streams[s];
        part->streams[s].segments = &part->segments[s];
        part->streams[s].segment_count = 1;
    }
    part->source = (firn_source){part, part->streams, whole->stream_count, read_part};
    return &part->source;
}

/* --- the tests ---------------------------------------------------------------------------------------------------- */

/* In each step the newest that the ring holds are drawn as from a source with just these. */
static void drawn_as_from_a_source(const char *recipe, const char *ring, const char *shuffle, uint32_t per_step,
                                   uint32_t at_once) {
    part window;
    firn_info info;
    make_plans(recipe, ring, shuffle);
    assert_int_equal(firn_describe(&pushed.firn, &info), FIRN_OK);
    for (uint32_t t = 0, total = 0; t < 9; t++) {
        const uint32_t now = t == 0 && per_step < 60 ? 60 : per_step;
        push(&pushed, total, now, at_once);
        total += now;
        const uint32_t held = total < info.ring ? total : info.ring;
        step(&pushed, NULL);
        step(&other, part_of(&window, compiled_source(&other), total - held, held));
        assert_same_state(&pushed, &other);
    }
    free_plans();
}

TEST(records_are_drawn_from_the_ring) {
    drawn_as_from_a_source(images_recipe, FIT "ring=70", FIT "shuffle=true", 8, 3);
    drawn_as_from_a_source(images_recipe, FIT "ring=70", FIT "shuffle=false", 7, 7);
    drawn_as_from_a_source(images_recipe, FIT "ring=8", FIT "shuffle=false", 8, 8);
    drawn_as_from_a_source(images_recipe, FIT "ring=13", FIT "shuffle=true", 40, 40); /* more at once than it holds */
}

TEST(windows_are_drawn_from_the_ring) {
    drawn_as_from_a_source(text_recipe, FIT "ring=151", FIT "shuffle=true", 64, 10);
    drawn_as_from_a_source(text_recipe, FIT "ring=60", FIT "shuffle=false", 17, 17);
    drawn_as_from_a_source(text_recipe, FIT "ring=100", FIT "shuffle=true", 500, 500);
}

/* A step without enough samples changes nothing, however often it is tried. */
TEST(too_few_change_nothing) {
    firn_step_report report;
    part window;
    make_plans(images_recipe, FIT "ring=32", FIT "shuffle=true");
    assert_int_equal(firn_train_step(&pushed.firn, NULL, &report), FIRN_ERROR_NOT_ENOUGH_PUSHED);
    push(&pushed, 0, 3, 1);
    for (int i = 0; i < 3; i++)
        assert_int_equal(firn_train_step(&pushed.firn, NULL, &report), FIRN_ERROR_NOT_ENOUGH_PUSHED);
    assert_same_state(&pushed, &other);
    push(&pushed, 3, 1, 1); /* now a micro-batch, which the step takes twice */
    step(&pushed, NULL);
    step(&other, part_of(&window, compiled_source(&other), 0, 4));
    assert_same_state(&pushed, &other);
    free_plans();
}

/* A label above its limit is refused with all that was pushed with it. */
TEST(a_wrong_sample_is_not_taken) {
    static const uint8_t image[2 * 784];
    static const uint8_t wrong[] = {3, 10}, right[] = {9};
    const void *const streams[] = {image, wrong}, *const good[] = {image, right};
    firn_step_report report;
    make_plans(images_recipe, FIT "ring=4", FIT "shuffle=true");
    push(&pushed, 0, 3, 3);
    assert_int_equal(firn_push(&pushed.firn, streams, 2, 2), FIRN_ERROR_DATA_RANGE);
    assert_int_equal(firn_train_step(&pushed.firn, NULL, &report), FIRN_ERROR_NOT_ENOUGH_PUSHED);
    assert_int_equal(firn_push(&pushed.firn, good, 2, 1), FIRN_OK);
    step(&pushed, NULL);
    free_plans();
}

TEST(a_negative_label_is_not_taken) {
    const char *settings[] = {FIT "held_out_per_mille=0", FIT "label_type=int32", FIT "source=push", FIT "ring=4"};
    static const uint8_t image[784];
    static const int32_t labels[] = {-1, INT32_MIN, 10, 9};
    compiled_plan_make(&pushed_plan, images_recipe, FIRNC_TRAIN, settings, 4);
    assert_int_equal(compiled_run_open(&pushed, &pushed_plan, 0), FIRN_OK);
    for (uint32_t i = 0; i < 4; i++) {
        const void *const streams[] = {image, &labels[i]};
        assert_int_equal(firn_push(&pushed.firn, streams, 2, 1), i < 3 ? FIRN_ERROR_DATA_RANGE : FIRN_OK);
    }
    compiled_run_close(&pushed);
    compiled_plan_free(&pushed_plan);
}

TEST(wrong_calls_are_refused) {
    static const uint8_t image[784], label[1];
    const void *const streams[] = {image, label, image}, *const half[] = {image, NULL};
    firn_step_report report;
    firn_stream_info stream;
    firn_info info;
    firn closed = {{0}};
    make_plans(images_recipe, FIT "ring=9", FIT "shuffle=true");
    assert_int_equal(firn_push(&closed, streams, 2, 1), FIRN_ERROR_NOT_OPEN);
    assert_int_equal(firn_push(&other.firn, streams, 2, 1), FIRN_ERROR_NO_RING);
    assert_int_equal(firn_push(&pushed.firn, NULL, 2, 1), FIRN_ERROR_ARGUMENT);
    assert_int_equal(firn_push(&pushed.firn, half, 2, 1), FIRN_ERROR_ARGUMENT);
    assert_int_equal(firn_push(&pushed.firn, streams, 1, 1), FIRN_ERROR_ARGUMENT);
    assert_int_equal(firn_push(&pushed.firn, streams, 3, 1), FIRN_ERROR_ARGUMENT);
    assert_int_equal(firn_push(&pushed.firn, streams, 2, 0), FIRN_OK);
    assert_int_equal(firn_train_step(&pushed.firn, compiled_source(&pushed), &report), FIRN_ERROR_ARGUMENT);
    assert_int_equal(firn_train_step(&other.firn, NULL, &report), FIRN_ERROR_ARGUMENT);
    assert_int_equal(firn_describe(&pushed.firn, &info), FIRN_OK);
    assert_int_equal(info.ring, 9);
    assert_int_equal(firn_stream_at(&pushed.firn, 0, &stream), FIRN_OK);
    assert_int_equal(stream.record_elements, 784);
    assert_int_equal(stream.element, FIRN_UINT8);
    assert_int_equal(firn_stream_at(&pushed.firn, 2, &stream), FIRN_ERROR_ARGUMENT);
    assert_int_equal(firn_describe(&other.firn, &info), FIRN_OK);
    assert_int_equal(info.ring, 0);
    free_plans();
}

/* The ring is neither saved nor restored. With the same samples in it the run goes on as if there had been no reset. */
TEST(a_run_goes_on_after_a_reset) {
    compiled_run after;
    firn_step_report report;
    make_plans(images_recipe, FIT "ring=21", FIT "shuffle=true");
    uint32_t total = 0;
    for (int t = 0; t < 5; t++, total += 8) {
        push(&pushed, total, 8, 8);
        step(&pushed, NULL);
    }
    assert_int_equal(firn_save(&pushed.firn), FIRN_OK);
    assert_int_equal(compiled_run_open(&after, &pushed_plan, 0), FIRN_OK);
    after.port.record = pushed.port.record;
    after.port.stored = pushed.port.stored;
    assert_int_equal(firn_restore(&after.firn, NULL), FIRN_OK);
    assert_int_equal(firn_train_step(&after.firn, NULL, &report), FIRN_ERROR_NOT_ENOUGH_PUSHED);
    assert_same_state(&after, &pushed);
    push(&after, total - 21, 21, 5);
    /* restoring leaves what was pushed */
    assert_int_equal(firn_restore(&after.firn, NULL), FIRN_OK);
    for (int t = 0; t < 3; t++, total += 8) {
        push(&after, total, 8, 8);
        push(&pushed, total, 8, 8);
        step(&after, NULL);
        step(&pushed, NULL);
        assert_same_state(&after, &pushed);
    }
    after.port.record = NULL;
    compiled_run_close(&after);
    free_plans();
}

/* An evaluation reads what its own ring holds once. */
TEST(an_evaluation_reads_its_ring) {
    const char *settings[] = {"trainer.validate.val_dataloader.source=push", "trainer.validate.val_dataloader.ring=20",
                              "trainer.validate.val_dataloader.held_out_per_mille=0"};
    uint64_t left;
    compiled_plan_make(&pushed_plan, images_recipe, FIRNC_EVAL, settings, 3);
    assert_int_equal(compiled_run_open(&pushed, &pushed_plan, 0), FIRN_OK);
    assert_int_equal(firn_initialise(&pushed.firn), FIRN_OK);
    push(&pushed, 0, 50, 25);
    assert_int_equal(firn_eval_step(&pushed.firn, NULL), FIRN_OK);
    assert_int_equal(firn_eval_step(&pushed.firn, NULL), FIRN_OK);
    assert_int_equal(firn_eval_step(&pushed.firn, NULL), FIRN_ERROR_DATA_END);
    assert_int_equal(firn_eval_left(&pushed.firn, NULL, &left), FIRN_OK);
    assert_int_equal(left, 4);
    assert_int_equal(firn_initialise(&pushed.firn), FIRN_OK);
    assert_int_equal(firn_eval_step(&pushed.firn, NULL), FIRN_OK); /* the ring is still there */
    compiled_run_close(&pushed);
    compiled_plan_free(&pushed_plan);
}
