/* Tests the meaning of each POL level (compiler/passes/pol_meaning.h) for every class, level, type, target, lowering
 * and request of the model, and that the tables of POL and of targets in compiler/PRECISION.md agree with it.
 *
 *     build/tests/test_pol_table              runs the tests
 *     build/tests/test_pol_table --print      prints the table of POL, for the page
 *     build/tests/test_pol_table --targets    prints that of targets
 *
 * A printed table replaces the one between the page's markers. */
#include <stdio.h>
#include <string.h>

#include "compiler/base/files.h"
#include "compiler/base/text.h"
#include "compiler/passes/pol_meaning.h"
#include "plan/generated/words.h"
#include "tests/unit/support_test.h"

#define END "<!-- end -->\n"

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

TEST(products) {
    static const uint32_t chunks[FIRNC_POL_LEVELS] = {0, 64, 128};
    for (uint8_t level = 0; level < FIRNC_POL_LEVELS; level++) {
        for (size_t i = 0; i < HALF_COUNT; i++)
            assert_sums(emulated(FIRN_POL_product, level, halves[i], halves[i]), halves[i], chunks[level]);
        assert_sums(emulated(FIRN_POL_product, level, FIRN_FLOAT32, FIRN_FLOAT32), FIRN_FLOAT32, 0);
    }
}

TEST(attention) {
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
TEST(norm_and_rotation) {
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
 * those of level 0, in the order of the target's engine where it has one for the type. Layer norm and the rotary
 * embedding do not depend on the target. A request of the model changes only the softmax. */
static void expect_target(firnc_pol_question question) {
    firnc_pol_meaning expected = emulated(question.pol, question.level, question.type, question.half);
    const firnc_engine *engine = firnc_target_engine(question.target, question.type);
    if (!question.emulate && !firnc_target_multiplies(question.target, question.type)) {
        firnc_pol_meaning at_0 = emulated(question.pol, 0, question.type, question.half);
        expected.reduction = at_0.reduction;
        expected.accumulator = at_0.accumulator;
        expected.chunk = at_0.chunk;
        expected.softmax = at_0.softmax;
        if (engine != NULL &&
            (question.pol == FIRN_POL_product || (question.pol == FIRN_POL_attention && question.level > 0))) {
            expected.reduction = engine->reduction;
            expected.chunk = engine->terms;
        }
    }
    if (question.half_softmax_requested)
        expected.softmax = question.type;
    assert_same(firnc_pol_meaning_of(&question), expected);
}

TEST(targets_lowerings_and_requests) {
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

/* The sums of the targets with an engine, written out. */
TEST(engines) {
    static const struct {
        const char *target;
        uint8_t kind;
        uint32_t chunk;
    } cases[] = {{"amx-bf16", FIRN_REDUCTION_EVEN_ODD_BLOCKS, 32}, {"avx512-bf16", FIRN_REDUCTION_PAIRS, 2}};
    static const firn_pol_class classes[] = {FIRN_POL_product, FIRN_POL_attention};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        for (unsigned rest = 0; rest < 2 * FIRNC_POL_LEVELS * 2; rest++) {
            firnc_pol_question question = {.pol = classes[rest % 2],
                                           .level = (uint8_t)(rest / 2 % FIRNC_POL_LEVELS),
                                           .type = FIRN_BFLOAT16,
                                           .half = FIRN_BFLOAT16,
                                           .target = firnc_target_find(cases[i].target),
                                           .half_softmax_requested = rest / 2 / FIRNC_POL_LEVELS == 1};
            firnc_pol_meaning meaning = firnc_pol_meaning_of(&question);
            const bool taken = question.pol == FIRN_POL_product || question.level > 0;
            assert_int_equal(meaning.reduction, taken ? cases[i].kind : FIRN_REDUCTION_F32);
            assert_int_equal(meaning.chunk, taken ? cases[i].chunk : 0);
            assert_int_equal(meaning.accumulator, FIRN_FLOAT32);
            assert_int_equal(meaning.softmax, question.half_softmax_requested ? FIRN_BFLOAT16 : FIRN_FLOAT32);
            question.type = question.half = FIRN_FLOAT32; /* a layer that is kept in float32 */
            question.half_softmax_requested = false;
            meaning = firnc_pol_meaning_of(&question);
            assert_sums(meaning, FIRN_FLOAT32, 0);
            assert_int_equal(meaning.softmax, FIRN_FLOAT32);
        }
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

/* --- the documented table of targets ------------------------------------------------------------------------------ */

static firnc_pol_meaning native(const firnc_target *target, firn_pol_class pol, uint8_t level, firn_type half) {
    return firnc_pol_meaning_of(&(firnc_pol_question){
        .pol = pol, .level = level, .type = (uint8_t)half, .half = (uint8_t)half, .target = target});
}

static const char *native_words(const firnc_pol_meaning *meaning) {
    switch (meaning->reduction) {
    case FIRN_REDUCTION_F32:
        return "float32";
    case FIRN_REDUCTION_CHUNKED:
        return firnc_format("chunks of %u", (unsigned)meaning->chunk);
    default:
        return firnc_format("%s of %u, in float32", firn_fb_reduction_kind_word(meaning->reduction),
                            (unsigned)meaning->chunk);
    }
}

static const char *target_row(const firnc_target *target, uint8_t level, firn_type half) {
    const firnc_pol_meaning products = native(target, FIRN_POL_product, level, half),
                            attention = native(target, FIRN_POL_attention, level, half);
    if (products.reduction == FIRN_REDUCTION_F32 && attention.reduction == FIRN_REDUCTION_F32)
        return "";
    return firnc_format("| `%s` | %s | %u | %s | %s | %s |\n", target->name, firn_type_name((uint8_t)half),
                        (unsigned)level, native_words(&products), native_words(&attention),
                        attention.softmax == half ? "half type" : "float32");
}

static const char *printed_targets(void) {
    const char *text = "| target | half type | level | products | attention | softmax of attention |\n"
                       "| --- | --- | --- | --- | --- | --- |\n";
    for (uint32_t t = 0; firnc_target_at(t) != NULL; t++)
        for (size_t i = 0; i < HALF_COUNT; i++)
            for (uint8_t level = 0; level < FIRNC_POL_LEVELS; level++)
                text = firnc_format("%s%s", text, target_row(firnc_target_at(t), level, halves[i]));
    return text;
}

/* --- the page ----------------------------------------------------------------------------------------------------- */

static void assert_page_has(const char *option, const char *table) {
    firnc_bytes page;
    assert_true(firnc_file_read("compiler/PRECISION.md", 1 << 20, &page));
    const char *mark = firnc_format("<!-- begin: build/tests/test_pol_table %s -->\n", option);
    const char *begin = strstr((const char *)page.data, mark);
    assert_non_null(begin);
    begin += strlen(mark);
    const char *end = strstr(begin, END);
    assert_non_null(end);
    assert_string_equal(firnc_format("%.*s", (int)(end - begin), begin), table);
}

TEST(the_page_has_the_tables) {
    assert_page_has("--print", printed_table());
    assert_page_has("--targets", printed_targets());
}

int main(int argc, char **argv) {
    if (argc == 2 && strcmp(argv[1], "--print") == 0) {
        fputs(printed_table(), stdout);
        return 0;
    }
    if (argc == 2 && strcmp(argv[1], "--targets") == 0) {
        fputs(printed_targets(), stdout);
        return 0;
    }
    return support_test_run();
}
