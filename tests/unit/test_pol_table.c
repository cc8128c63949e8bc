/* Tests the meaning of each POL level (compiler/passes/pol_meaning.h) for every class, level, type, target, lowering
 * and request of the model, and that the table of POL in compiler/PRECISION.md agrees with it.
 *
 *     build/tests/test_pol_table            runs the tests
 *     build/tests/test_pol_table --print    prints the table, which replaces the one between the page's two markers */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "compiler/base/files.h"
#include "compiler/base/text.h"
#include "compiler/passes/pol_meaning.h"

#define BEGIN "<!-- begin: build/tests/test_pol_table --print -->\n"
#define END   "<!-- end -->\n"

static const firn_type halves[] = {FIRN_FLOAT16, FIRN_BFLOAT16, FIRN_CBFLOAT16};
#define HALF_COUNT (sizeof halves / sizeof halves[0])

/* --- all combinations --------------------------------------------------------------------------------------------- */

static firnc_pol_meaning emulated(firn_pol_class pol, uint8_t level, firn_type type, firn_type half) {
    return firnc_pol_meaning_of(&(firnc_pol_question){.pol = pol,
                                                      .level = level,
                                                      .type = (uint8_t)type,
                                                      .half = (uint8_t)half,
                                                      .target = firnc_target_find("portable"),
                                                      .emulate = true});
}

static void assert_sums(firnc_pol_meaning meaning, firn_type type, uint32_t chunk) {
    assert_int_equal(meaning.reduction, chunk != 0 ? FIRN_REDUCTION_CHUNKED : FIRN_REDUCTION_F32);
    assert_int_equal(meaning.accumulator, chunk != 0 ? type : FIRN_FLOAT32);
    assert_int_equal(meaning.chunk, chunk);
}

static void products(void **state) {
    (void)state;
    static const uint32_t chunks[FIRNC_POL_LEVELS] = {0, 64, 128};
    for (uint8_t level = 0; level < FIRNC_POL_LEVELS; level++) {
        for (size_t i = 0; i < HALF_COUNT; i++)
            assert_sums(emulated(FIRN_POL_product, level, halves[i], halves[i]), halves[i], chunks[level]);
        assert_sums(emulated(FIRN_POL_product, level, FIRN_FLOAT32, FIRN_FLOAT32), FIRN_FLOAT32, 0);
    }
}

static void attention(void **state) {
    (void)state;
    static const uint32_t chunks[FIRNC_POL_LEVELS] = {0, 0, 128};
    for (uint8_t level = 0; level < FIRNC_POL_LEVELS; level++) {
        for (size_t i = 0; i < HALF_COUNT; i++) {
            firnc_pol_meaning meaning = emulated(FIRN_POL_attention, level, halves[i], halves[i]);
            assert_sums(meaning, halves[i], chunks[level]);
            bool half = level == 2 || (level == 1 && halves[i] == FIRN_CBFLOAT16);
            assert_int_equal(meaning.softmax, half ? halves[i] : FIRN_FLOAT32);
        }
        firnc_pol_meaning single = emulated(FIRN_POL_attention, level, FIRN_FLOAT32, FIRN_FLOAT32);
        assert_sums(single, FIRN_FLOAT32, 0);
        assert_int_equal(single.softmax, FIRN_FLOAT32);
    }
}

/* The input may have the half type or be float32; a layer that is kept in float32 has no half type. */
static void norm_and_rotation(void **state) {
    (void)state;
    for (uint8_t level = 0; level < FIRNC_POL_LEVELS; level++) {
        for (size_t i = 0; i < HALF_COUNT; i++) {
            const firn_type inputs[] = {halves[i], FIRN_FLOAT32};
            for (size_t j = 0; j < 2; j++) {
                firn_type output = level == 0 ? inputs[j] : halves[i];
                assert_int_equal(emulated(FIRN_POL_norm, level, inputs[j], halves[i]).output, output);
                firnc_pol_meaning rotation = emulated(FIRN_POL_rotation, level, inputs[j], halves[i]);
                assert_int_equal(rotation.output, output);
                assert_int_equal(rotation.rotation, level == 0 ? FIRN_FLOAT32 : halves[i]);
            }
        }
        assert_int_equal(emulated(FIRN_POL_norm, level, FIRN_FLOAT32, FIRN_FLOAT32).output, FIRN_FLOAT32);
        assert_int_equal(emulated(FIRN_POL_rotation, level, FIRN_FLOAT32, FIRN_FLOAT32).rotation, FIRN_FLOAT32);
    }
}

static void assert_same(firnc_pol_meaning a, firnc_pol_meaning b) {
    assert_int_equal(a.reduction, b.reduction);
    assert_int_equal(a.accumulator, b.accumulator);
    assert_int_equal(a.chunk, b.chunk);
    assert_int_equal(a.softmax, b.softmax);
    assert_int_equal(a.output, b.output);
    assert_int_equal(a.rotation, b.rotation);
}

/* With native lowering, the sums and the softmax are those of `emulate` for types that the target multiplies, else
 * those of level 0. Layer norm and the rotary embedding do not depend on the target. A request of the model changes
 * only the softmax. */
static void expect_target(firnc_pol_question question) {
    firnc_pol_meaning expected = emulated(question.pol, question.level, question.type, question.half);
    if (!question.emulate && !firnc_target_multiplies(question.target, question.type)) {
        firnc_pol_meaning at_0 = emulated(question.pol, 0, question.type, question.half);
        expected.reduction = at_0.reduction;
        expected.accumulator = at_0.accumulator;
        expected.chunk = at_0.chunk;
        expected.softmax = at_0.softmax;
    }
    if (question.half_softmax_requested)
        expected.softmax = question.type;
    assert_same(firnc_pol_meaning_of(&question), expected);
}

static void targets_lowerings_and_requests(void **state) {
    (void)state;
    static const firn_pol_class classes[] = {FIRN_POL_product, FIRN_POL_attention, FIRN_POL_norm, FIRN_POL_rotation};
    static const firn_type types[] = {FIRN_FLOAT32, FIRN_FLOAT16, FIRN_BFLOAT16, FIRN_CBFLOAT16};
    uint32_t native = 0;
    for (uint32_t t = 0; firnc_target_at(t) != NULL; t++)
        for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
            native += firnc_target_multiplies(firnc_target_at(t), (uint8_t)types[i]);
            for (unsigned rest = 0; rest < 4 * 3 * 2 * 2; rest++)
                expect_target((firnc_pol_question){.pol = classes[rest % 4],
                                                   .level = (uint8_t)(rest / 4 % 3),
                                                   .type = (uint8_t)types[i],
                                                   .half = (uint8_t)types[i],
                                                   .target = firnc_target_at(t),
                                                   .emulate = rest / 12 % 2 == 1,
                                                   .half_softmax_requested = rest / 24 == 1});
        }
    assert_int_equal(native, 2); /* both outcomes have occurred: two targets multiply float16 */
}

/* --- the documented table ----------------------------------------------------------------------------------------- */

/* Returns the element type of one kind of POL decision, at a level and for a half type. */
typedef uint8_t (*type_of_answer)(uint8_t level, firn_type half);

static uint8_t softmax_type(uint8_t level, firn_type half) {
    return emulated(FIRN_POL_attention, level, half, half).softmax;
}

static uint8_t norm_type(uint8_t level, firn_type half) {
    return emulated(FIRN_POL_norm, level, FIRN_FLOAT32, half).output;
}

static uint8_t rotation_type(uint8_t level, firn_type half) {
    return emulated(FIRN_POL_rotation, level, FIRN_FLOAT32, half).rotation;
}

/* Returns "float32", "half type", or float32 followed by the half types for which the answer differs. */
static const char *type_words(type_of_answer answer, uint8_t level) {
    const char *text = "float32";
    size_t count = 0;
    for (size_t i = 0; i < HALF_COUNT; i++) {
        if (answer(level, halves[i]) == halves[i]) {
            text = firnc_format("%s; %s: half type", text, firn_type_name((uint8_t)halves[i]));
            count++;
        }
    }
    return count == HALF_COUNT ? "half type" : text;
}

static const char *sum_words(firn_pol_class pol, uint8_t level) {
    uint32_t chunk = emulated(pol, level, halves[0], halves[0]).chunk;
    for (size_t i = 1; i < HALF_COUNT; i++)
        assert_int_equal(emulated(pol, level, halves[i], halves[i]).chunk, chunk); /* all half types have the same
                                                                                    * chunk, as one table cell describes
                                                                                    * them */
    return chunk == 0 ? "float32" : firnc_format("chunks of %u in the half type, totals in float32", (unsigned)chunk);
}

/* At level 0 the output of layer norm has the type of its input, float32 or half. */
static const char *norm_words(uint8_t level) {
    const char *words = type_words(norm_type, level);
    return strcmp(words, "float32") == 0 ? "type of the input" : words;
}

static const char *printed_table(void) {
    const char *text = "| level | products | attention | softmax of attention | output and affine part of layer and "
                       "RMS norm | rotary embedding |\n| --- | --- | --- | --- | --- | --- |\n";
    for (uint8_t level = 0; level < FIRNC_POL_LEVELS; level++)
        text = firnc_format("%s| %u | %s | %s | %s | %s | %s |\n", text, (unsigned)level,
                            sum_words(FIRN_POL_product, level), sum_words(FIRN_POL_attention, level),
                            type_words(softmax_type, level), norm_words(level), type_words(rotation_type, level));
    return text;
}

static void the_page_has_the_table(void **state) {
    (void)state;
    firnc_bytes page;
    assert_true(firnc_file_read("compiler/PRECISION.md", 1 << 20, &page));
    const char *begin = strstr((const char *)page.data, BEGIN);
    assert_non_null(begin);
    begin += strlen(BEGIN);
    const char *end = strstr(begin, END);
    assert_non_null(end);
    assert_string_equal(firnc_format("%.*s", (int)(end - begin), begin), printed_table());
}

int main(int argc, char **argv) {
    if (argc == 2 && strcmp(argv[1], "--print") == 0) {
        fputs(printed_table(), stdout);
        return 0;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(products),
        cmocka_unit_test(attention),
        cmocka_unit_test(norm_and_rotation),
        cmocka_unit_test(targets_lowerings_and_requests),
        cmocka_unit_test(the_page_has_the_table),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
