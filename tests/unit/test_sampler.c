/* Tests which samples a plan draws, in which order, and how their elements become tensors: compares the inputs that
 * each eval step leaves in the arena with a list that the test computes in the simplest way. */
#include <stdlib.h>
#include <string.h>

#include "runtime/instance.h"
#include "runtime/numerics/numerics.h"
#include "tests/unit/support_signed_plans.h"
#include "tests/unit/support_test.h"

enum { TEXT = 400, PLACES_MAX = 1024 };

static uint8_t text[TEXT];
static signed_plan plan;
static opened one;
static uint32_t plan_counted; /* index of the tensor that says which samples count */

BEFORE_ALL {
    uint32_t random = 12345;
    for (uint32_t i = 0; i < TEXT; i++) {
        random = random * 1664525u + 1013904223u;
        text[i] = (uint8_t)(random >> 24) % BIGRAM_VOCABULARY;
    }
}

/* --- the plain list --- */

typedef struct places {
    uint32_t at[PLACES_MAX]; /* index of the first element of each window of the part */
    uint32_t count;
} places;

static places list_windows(const signed_plan_settings *settings, const uint64_t *lengths) {
    places list = {.count = 0};
    uint32_t before = 0;
    for (uint32_t s = 0; lengths[s] != 0; s++) {
        uint32_t length = (uint32_t)lengths[s], tail = length * settings->held_out_per_mille / 1000;
        uint32_t begin = settings->part == FIRN_FB_DATA_PART_HELD_OUT ? length - tail : 0;
        uint32_t end = settings->part == FIRN_FB_DATA_PART_TRAIN ? length - tail : length;
        for (uint32_t at = begin; at + BIGRAM_WINDOW <= end; at += settings->stride)
            list.at[list.count++] = before + at;
        before += length;
    }
    return list;
}

static uint32_t place_of_draw(const signed_plan_settings *settings, const places *list, uint64_t draw) {
    uint64_t epoch = draw / list->count, index = draw % list->count;
    if (settings->sampler == FIRN_FB_SAMPLER_KIND_PERMUTATION)
        index = firn_permute(settings->seed, epoch, list->count, index);
    return list->at[index];
}

/* --- comparing --- */

static void begin(const signed_plan_settings *settings) {
    support_bigram_eval(&plan, settings);
    assert_int_equal(support_open(&one, &plan, NULL), FIRN_OK);
    assert_int_equal(firn_initialise(&one.firn), FIRN_OK);
}

static void expect_batch(const signed_plan_settings *settings, const places *list, uint64_t cursor) {
    const int32_t *ids = support_tensor(&one.firn, "input_ids").data;
    const int32_t *labels = support_tensor(&one.firn, "labels").data;
    for (uint32_t s = 0; s < BIGRAM_SAMPLES; s++) {
        uint32_t at = place_of_draw(settings, list, cursor + s);
        for (uint32_t t = 0; t < BIGRAM_WINDOW - 1; t++) {
            assert_int_equal(ids[s * (BIGRAM_WINDOW - 1) + t], text[at + t]);
            assert_int_equal(labels[s * (BIGRAM_WINDOW - 1) + t], text[at + t + 1]);
        }
    }
}

/* Runs to the end, or at most `most` steps; returns the number of steps. */
static uint32_t expect_all(const signed_plan_settings *settings, const uint64_t *lengths, uint32_t most) {
    bytes_source source;
    support_text(&source, text, lengths);
    const places list = list_windows(settings, lengths);
    begin(settings);
    uint32_t steps = 0;
    int status = FIRN_OK;
    while (steps < most && (status = firn_eval_step(&one.firn, &source.source)) == FIRN_OK) {
        expect_batch(settings, &list, (uint64_t)steps * BIGRAM_SAMPLES);
        steps++;
    }
    if (steps < most)
        assert_int_equal(status, FIRN_ERROR_DATA_END);
    return steps;
}

static const uint64_t segments[] = {101, 3, 40, 5, 63, 4, 90, 0};

/* --- tests --- */

TEST(every_sampler_draws_what_it_should) {
    for (uint32_t turn = 0; turn < 2 * 3 * 3 * 4; turn++) {
        static const uint32_t strides[] = {1, 4, 7}, per_mille[] = {0, 1, 100, 999};
        signed_plan_settings settings = support_settings;
        settings.sampler = (uint8_t)(turn % 2);
        settings.part = (uint8_t)(turn / 2 % 3);
        settings.stride = strides[turn / 6 % 3];
        settings.held_out_per_mille = per_mille[turn / 18];
        settings.steps = 0;
        const places list = list_windows(&settings, segments);
        bytes_source source;
        support_text(&source, text, segments);
        if (list.count < BIGRAM_SAMPLES) {
            begin(&settings);
            assert_int_equal(firn_eval_step(&one.firn, &source.source), FIRN_ERROR_DATA_TOO_SHORT);
            continue;
        }
        assert_int_equal(expect_all(&settings, segments, UINT32_MAX), list.count / BIGRAM_SAMPLES);
    }
}

TEST(train_and_held_out_share_nothing) {
    signed_plan_settings settings = support_settings;
    settings.held_out_per_mille = 200;
    settings.stride = 1;
    settings.part = FIRN_FB_DATA_PART_TRAIN;
    const places trained = list_windows(&settings, segments);
    settings.part = FIRN_FB_DATA_PART_HELD_OUT;
    const places held = list_windows(&settings, segments);
    assert_true(held.count > 0);
    for (uint32_t i = 0; i < trained.count; i++)
        for (uint32_t j = 0; j < held.count; j++)
            assert_true(trained.at[i] + BIGRAM_WINDOW <= held.at[j] || held.at[j] + BIGRAM_WINDOW <= trained.at[i]);
}

TEST(wrapping_starts_another_epoch) {
    static const uint64_t lengths[] = {21, 0};
    signed_plan_settings settings = support_settings;
    settings.stride = 3;
    settings.steps = 100;
    assert_int_equal(list_windows(&settings, lengths).count, 6);
    for (uint8_t sampler = 0; sampler < 2; sampler++) {
        settings.sampler = sampler;
        assert_int_equal(expect_all(&settings, lengths, 1000), 100);
    }
    static const uint64_t seven[] = {24, 0}; /* a number of windows that batches of two do not divide */
    assert_int_equal(list_windows(&settings, seven).count, 7);
    assert_int_equal(expect_all(&settings, seven, 1000), 100);
}

TEST(stopping_ends_with_the_epoch) {
    static const uint64_t seven[] = {24, 0};
    signed_plan_settings settings = support_settings;
    settings.stride = 3;
    settings.steps = 100;
    settings.epoch_end = FIRN_FB_EPOCH_END_STOP;
    assert_int_equal(expect_all(&settings, seven, 1000), 3);
}

TEST(a_permutation_draws_each_once) {
    for (uint64_t count = 1; count < 300; count += 7)
        for (uint64_t epoch = 0; epoch < 3; epoch++) {
            bool seen[300] = {false};
            for (uint64_t index = 0; index < count; index++) {
                uint64_t image = firn_permute(9, epoch, count, index);
                assert_true(image < count && !seen[image]);
                seen[image] = true;
            }
        }
}

TEST(records_become_tensors) {
    enum { RECORDS = 10 };
    uint8_t features[3 * RECORDS], labels[RECORDS];
    for (uint32_t i = 0; i < sizeof features; i++)
        features[i] = (uint8_t)(i * 8);
    for (uint32_t i = 0; i < sizeof labels; i++)
        labels[i] = (uint8_t)(i % 4);
    signed_plan_settings settings = support_settings;
    settings.sampler = FIRN_FB_SAMPLER_KIND_SEQUENTIAL;
    settings.part = FIRN_FB_DATA_PART_HELD_OUT;
    settings.held_out_per_mille = 450; /* the last four are held out */
    settings.steps = 0;
    support_classifier(&plan, &settings);
    assert_int_equal(support_open(&one, &plan, NULL), FIRN_OK);
    assert_int_equal(firn_initialise(&one.firn), FIRN_OK);
    bytes_source source;
    support_records(&source, features, labels, 3, RECORDS);
    firn_sample_counts counts;
    assert_int_equal(firn_count_samples(&one.firn, &source.source, &counts), FIRN_OK);
    assert_int_equal(counts.all, RECORDS);
    assert_int_equal(counts.part, 4);
    assert_int_equal(counts.held_out, 4);
    assert_int_equal(firn_count_samples(&one.firn, NULL, &counts), FIRN_ERROR_ARGUMENT);
    for (uint32_t step = 0; step < 2; step++) {
        assert_int_equal(firn_eval_step(&one.firn, &source.source), FIRN_OK);
        const float *x = support_tensor(&one.firn, "features").data;
        const int32_t *y = support_tensor(&one.firn, "labels").data;
        for (uint32_t i = 0; i < BIGRAM_SAMPLES; i++) {
            uint32_t record = 6 + step * BIGRAM_SAMPLES + i;
            assert_int_equal(y[i], labels[record]);
            for (uint32_t c = 0; c < 3; c++)
                assert_float_equal(x[3 * i + c], (float)features[3 * record + c] * 0.5f - 1.0f, 0);
        }
    }
    assert_int_equal(firn_eval_step(&one.firn, &source.source), FIRN_ERROR_DATA_END);
}

/* Expects the records of a batch that begins with draw `first`: in the place of those beyond the last of `count` draws
 * the last one, and which of them count. */
static void expect_short_batch(const signed_plan_settings *settings, const uint8_t *labels, uint32_t count,
                               uint32_t first) {
    const int32_t *y = support_tensor(&one.firn, "labels").data;
    firn_tensor_info counted;
    assert_int_equal(firn_tensor_at(&one.firn, plan_counted, &counted), FIRN_OK);
    for (uint32_t i = 0; i < BIGRAM_SAMPLES; i++) {
        uint64_t draw = first + i < count ? first + i : count - 1;
        if (settings->sampler == FIRN_FB_SAMPLER_KIND_PERMUTATION)
            draw = firn_permute(settings->seed, 0, count, draw);
        assert_int_equal(y[i], labels[draw]);
        assert_int_equal(((const int32_t *)counted.data)[i], first + i < count);
    }
}

/* The last batch is filled with its last sample, of which the metric counts those of the data alone; the evaluation
 * ends when each sample was drawn, or after the plan's steps. */
TEST(a_short_batch_counts_the_data_alone) {
    enum { MOST = 3 * BIGRAM_SAMPLES };
    uint8_t features[3 * MOST] = {0}, labels[MOST];
    for (uint32_t i = 0; i < MOST; i++)
        labels[i] = (uint8_t)(i % 4);
    for (uint32_t turn = 0; turn < 2 * 2 * MOST; turn++) {
        const uint32_t count = 1 + turn / 4, all = (count - 1) / BIGRAM_SAMPLES + 1;
        signed_plan_settings settings = support_settings;
        settings.epoch_end = FIRN_FB_EPOCH_END_SHORT;
        settings.sampler = (uint8_t)(turn % 2);
        settings.steps = turn / 2 % 2 * 2;
        support_classifier(&plan, &settings);
        assert_int_equal(support_open(&one, &plan, NULL), FIRN_OK);
        assert_int_equal(firn_initialise(&one.firn), FIRN_OK);
        plan_counted = firn_fb_sampler_counted(firn_fb_plan_sampler(((const firn_instance *)&one.firn)->plan));
        bytes_source source;
        support_records(&source, features, labels, 3, count);
        uint32_t rows;
        uint64_t left, steps;
        assert_int_equal(firn_eval_rows(&one.firn, &rows), FIRN_ERROR_NO_RESULT);
        const uint32_t wanted = settings.steps != 0 && all > 2 ? 2 : all;
        for (uint32_t step = 0; step < wanted; step++) {
            const uint32_t first = step * BIGRAM_SAMPLES;
            assert_int_equal(firn_eval_step(&one.firn, &source.source), FIRN_OK);
            expect_short_batch(&settings, labels, count, first);
            assert_int_equal(firn_eval_rows(&one.firn, &rows), FIRN_OK);
            assert_int_equal(rows, count - first < BIGRAM_SAMPLES ? count - first : BIGRAM_SAMPLES);
        }
        assert_int_equal(firn_eval_step(&one.firn, &source.source), FIRN_ERROR_DATA_END);
        assert_int_equal(firn_progress(&one.firn, &steps), FIRN_OK);
        assert_int_equal(steps, wanted);
        assert_int_equal(firn_eval_left(&one.firn, &source.source, &left), FIRN_OK);
        assert_int_equal(left, wanted == all ? 0 : count - wanted * BIGRAM_SAMPLES);
        const int64_t *counts = support_tensor(&one.firn, "metric.count").data;
        assert_int_equal(*counts, count - left);
    }
}

static void scale_without_end(firn_native_plan *changed) {
    firn_native_input *input = (firn_native_input *)(uintptr_t)&changed->inputs[0];
    input->scale = __builtin_inff();
}

static void shift_that_is_no_number(firn_native_plan *changed) {
    firn_native_input *input = (firn_native_input *)(uintptr_t)&changed->inputs[0];
    input->shift = __builtin_nanf("");
}

/* What is computed of a byte is therefore no NaN, and sample.c looks for none. */
TEST(scales_and_shifts_are_finite) {
    signed_plan_settings settings = support_settings;
    settings.change = scale_without_end;
    support_classifier(&plan, &settings);
    assert_int_equal(support_open(&one, &plan, NULL), FIRN_ERROR_SCHEMA_VALUE);
    settings.change = shift_that_is_no_number;
    support_classifier(&plan, &settings);
    assert_int_equal(support_open(&one, &plan, NULL), FIRN_ERROR_SCHEMA_VALUE);
}

TEST(streams_must_fit) {
    uint8_t features[30] = {0}, labels[10] = {0};
    support_classifier(&plan, &support_settings);
    assert_int_equal(support_open(&one, &plan, NULL), FIRN_OK);
    assert_int_equal(firn_initialise(&one.firn), FIRN_OK);
    bytes_source source;
    support_records(&source, features, labels, 3, 10);
    source.source.stream_count = 1;
    assert_int_equal(firn_eval_step(&one.firn, &source.source), FIRN_ERROR_DATA_TYPE);
    support_records(&source, features, labels, 2, 10);
    assert_int_equal(firn_eval_step(&one.firn, &source.source), FIRN_ERROR_DATA_TYPE);
    support_records(&source, features, labels, 3, 10);
    source.segments[1].elements = 9; /* fewer labels than features */
    assert_int_equal(firn_eval_step(&one.firn, &source.source), FIRN_ERROR_DATA_TYPE);
    support_records(&source, features, labels, 3, 10);
    source.segments[0].elements = 29; /* half a record */
    assert_int_equal(firn_eval_step(&one.firn, &source.source), FIRN_ERROR_DATA_TYPE);
    support_records(&source, features, labels, 3, 10);
    source.segments[0].elements = UINT64_MAX;
    assert_int_equal(firn_eval_step(&one.firn, &source.source), FIRN_ERROR_SOURCE);
    support_records(&source, features, labels, 3, 1);
    assert_int_equal(firn_eval_step(&one.firn, &source.source), FIRN_ERROR_DATA_TOO_SHORT);
    support_records(&source, features, labels, 3, 10);
    source.streams[0].segment_count = 0;
    assert_int_equal(firn_eval_step(&one.firn, &source.source), FIRN_ERROR_ARGUMENT);
    support_records(&source, features, labels, 3, 10);
    assert_int_equal(firn_eval_step(&one.firn, &source.source), FIRN_OK);
}

/* --- batches --- */

/* A data set of which each element tells its position; floats have every kind of NaN among them. */
static uint32_t word_at(uint64_t element) {
    const uint32_t word = (uint32_t)element * 2654435761u;
    return element % 5 == 3 ? word | 0x7f800000u : word;
}

static int read_words(void *context, uint32_t stream, uint64_t first, uint32_t count, void *elements) {
    const firn_stream *streams = context;
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t word = word_at(first + i);
        if (stream == 1)
            ((uint8_t *)elements)[i] = (uint8_t)((first + i) % 4);
        else if (streams[0].element == FIRN_FB_ELEMENT_TYPE_UINT8)
            ((uint8_t *)elements)[i] = (uint8_t)(word >> 24);
        else
            memcpy((uint8_t *)elements + (size_t)4 * i, &word, sizeof word);
    }
    return FIRN_OK;
}

/* Runs two ranges of the tasks, the last first. */
static void run_backwards(void *context, size_t tasks, firn_task_body body, void *argument) {
    (void)context;
    body(argument, tasks / 2, tasks);
    body(argument, 0, tasks / 2);
}

typedef struct batch_case {
    uint32_t samples, elements;
    uint64_t records, cursor;
    float shift;
    bool floats, divided;
} batch_case;

/* Returns the open instance with two inputs in the place of its own. */
static firn_instance instance_with(const batch_case *at, void *x, void *labels) {
    firn_instance instance = *firn_instance_of(&one.firn);
    instance.bound.samples = at->samples;
    instance.inputs[0] =
        (firn_bound_input){.data = x,
                           .elements = at->elements,
                           .record = at->elements,
                           .element = at->floats ? FIRN_FB_ELEMENT_TYPE_FLOAT32 : FIRN_FB_ELEMENT_TYPE_UINT8,
                           .scale = 0.375f,
                           .shift = at->shift};
    instance.inputs[1] = (firn_bound_input){
        .data = labels, .elements = 1, .record = 1, .limit = 4, .stream = 1, .element = FIRN_FB_ELEMENT_TYPE_UINT8};
    instance.parallel = (firn_parallel){.run = at->divided ? run_backwards : NULL, .threads = 2};
    return instance;
}

static void check_batch(const batch_case *at) {
    const firn_stream streams[] = {{.element = at->floats ? FIRN_FB_ELEMENT_TYPE_FLOAT32 : FIRN_FB_ELEMENT_TYPE_UINT8},
                                   {.element = 0}};
    const firn_source source = {.context = (void *)(uintptr_t)streams, .streams = streams, .read = read_words};
    const firn_samples samples = {.source = &source, .count = at->records, .first = 3};
    uint32_t *x = malloc((size_t)4 * at->samples * at->elements);
    int32_t *labels = malloc((size_t)4 * at->samples);
    const firn_instance instance = instance_with(at, x, labels);
    assert_int_equal(firn_samples_fill(&instance, &samples, at->cursor), FIRN_OK);
    for (uint32_t s = 0; s < at->samples; s++) {
        const uint64_t draw = at->cursor + s, record = 3 + firn_permute(support_settings.seed, draw / at->records,
                                                                        at->records, draw % at->records);
        assert_int_equal(labels[s], record % 4);
        for (uint32_t i = 0; i < at->elements; i++) {
            const uint32_t word = word_at(record * at->elements + i);
            const float scaled = firn_fma((float)(word >> 24), 0.375f, at->shift);
            const float expected = at->floats ? firn_canonical(firn_from_bits(word)) : scaled;
            if (x[(size_t)s * at->elements + i] != firn_bits(expected))
                fail_msg("sample %u of %u, element %u of %u", s, at->samples, i, at->elements);
        }
    }
    free(x);
    free(labels);
}

/* One sample and many, of which the last batches have their bytes in their own rows or in common; around a piece and
 * more than a batch's bytes; from an epoch to the next ones; in one thread and in two. */
TEST(batches_have_what_single_draws_have) {
    static const uint32_t samples[] = {1, 7, 8, 17, 100, 300}, elements[] = {1, 255, 256, 257, 784, 70000};
    signed_plan_settings settings = support_settings;
    settings.sampler = FIRN_FB_SAMPLER_KIND_PERMUTATION;
    support_classifier(&plan, &settings);
    assert_int_equal(support_open(&one, &plan, NULL), FIRN_OK);
    for (size_t s = 0; s < sizeof samples / sizeof samples[0]; s++)
        for (size_t e = 0; e < sizeof elements / sizeof elements[0]; e++)
            for (uint32_t kind = 0; kind < 4 && samples[s] * elements[e] < 2000000; kind++)
                check_batch(&(batch_case){.samples = samples[s],
                                          .elements = elements[e],
                                          .records = kind == 0 ? 1000 : 37,
                                          .cursor = 30,
                                          .shift = kind == 3 ? -0.3f : 0.0f,
                                          .floats = kind == 2,
                                          .divided = kind % 2 == 1});
}

/* A source of zeros with one fault: an element of a stream that cannot be read, or that is 4. */
typedef struct faulty {
    uint32_t stream;
    uint64_t element;
    int error; /* FIRN_OK: it is 4 */
} faulty;

static int read_faulty(void *context, uint32_t stream, uint64_t first, uint32_t count, void *elements) {
    const faulty *fault = context;
    memset(elements, 0, count);
    if (stream != fault->stream || fault->element < first || fault->element - first >= count)
        return FIRN_OK;
    ((uint8_t *)elements)[fault->element - first] = 4;
    return fault->error;
}

/* The first record, some in between and the last one, in one thread and in two; the records are drawn in their order or
 * permuted. */
TEST(faults_end_a_batch_with_their_error) {
    enum { SAMPLES = 300, ELEMENTS = 784 };
    static float x[SAMPLES * ELEMENTS];
    static int32_t labels[SAMPLES];
    signed_plan_settings settings = support_settings;
    for (int permuted = 0; permuted < 2; permuted++) {
        settings.sampler = permuted != 0 ? FIRN_FB_SAMPLER_KIND_PERMUTATION : FIRN_FB_SAMPLER_KIND_SEQUENTIAL;
        support_classifier(&plan, &settings);
        assert_int_equal(support_open(&one, &plan, NULL), FIRN_OK);
        for (uint32_t record = 0; record < SAMPLES; record = record < 280 ? record + 23 : record + 1) {
            const batch_case at = {.samples = SAMPLES, .elements = ELEMENTS, .divided = record % 2 == 0};
            const firn_instance instance = instance_with(&at, x, labels);
            faulty fault = {0, (uint64_t)record * ELEMENTS + record, FIRN_ERROR_SOURCE};
            const firn_source source = {.context = &fault, .read = read_faulty};
            const firn_samples drawn = {.source = &source, .count = SAMPLES};
            assert_int_equal(firn_samples_fill(&instance, &drawn, 0), FIRN_ERROR_SOURCE);
            fault = (faulty){1, record, FIRN_ERROR_SOURCE};
            assert_int_equal(firn_samples_fill(&instance, &drawn, 0), FIRN_ERROR_SOURCE);
            fault.error = FIRN_OK;
            assert_int_equal(firn_samples_fill(&instance, &drawn, 0), FIRN_ERROR_DATA_RANGE);
            fault.stream = 2; /* there is none */
            assert_int_equal(firn_samples_fill(&instance, &drawn, 0), FIRN_OK);
        }
    }
}
