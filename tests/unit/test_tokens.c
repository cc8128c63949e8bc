/* Tokenizers below the command: UTF-8 and NFC, the words of the patterns, and that no id depends on the pieces in which
 * a text is encoded. The ids themselves are compared with the reference's by tests/end_to_end/tokens.sh. */
#include <string.h>

#include "compiler/base/files.h"
#include "compiler/base/words.h"
#include "compiler/tokens/tokenizer.h"
#include "plan/container.h"
#include "plan/errors.h"
#include "plan/signature.h"
#include "tests/unit/support_test.h"

#define FOLDER "tests/golden/tokens/"

TEST(characters_are_read_from_both_sides) {
    static const struct {
        const char *bytes;
        uint32_t code, length;
    } rows[] = {
        {"a", 'a', 1},
        {"\xC3\xA9", 0xE9, 2},
        {"\xE4\xB8\x96", 0x4E16, 3},
        {"\xF0\x9F\x8F\x94", 0x1F3D4, 4},
        {"\xF4\x8F\xBF\xBF", 0x10FFFF, 4},
        {"\xC0\x80", FIRNC_UNICODE_COUNT + 0xC0, 1},         /* too long a form */
        {"\xED\xA0\x80", FIRNC_UNICODE_COUNT + 0xED, 1},     /* a surrogate */
        {"\xF4\x90\x80\x80", FIRNC_UNICODE_COUNT + 0xF4, 1}, /* beyond the last character */
        {"\xE4\xB8", FIRNC_UNICODE_COUNT + 0xE4, 1},         /* cut off */
        {"\x80", FIRNC_UNICODE_COUNT + 0x80, 1},
        {"\xC1\xBF", FIRNC_UNICODE_COUNT + 0xC1, 1}, /* the forms before and behind each end */
        {"\xC2\x80", 0x80, 2},
        {"\xDF\xBF", 0x7FF, 2},
        {"\xE0\x9F\xBF", FIRNC_UNICODE_COUNT + 0xE0, 1},
        {"\xE0\xA0\x80", 0x800, 3},
        {"\xED\x9F\xBF", 0xD7FF, 3},
        {"\xED\xBF\xBF", FIRNC_UNICODE_COUNT + 0xED, 1},
        {"\xEE\x80\x80", 0xE000, 3},
        {"\xEF\xBF\xBF", 0xFFFF, 3},
        {"\xF0\x8F\xBF\xBF", FIRNC_UNICODE_COUNT + 0xF0, 1},
        {"\xF0\x90\x80\x80", 0x10000, 4},
        {"\xF5\x80\x80\x80", FIRNC_UNICODE_COUNT + 0xF5, 1},
        {"\xFF", FIRNC_UNICODE_COUNT + 0xFF, 1},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const uint8_t *bytes = (const uint8_t *)rows[i].bytes;
        const size_t count = strlen(rows[i].bytes);
        uint32_t length;
        uint8_t written[FIRNC_UTF8_MAX];
        assert_int_equal(firnc_utf8_read(bytes, count, &length), rows[i].code);
        assert_int_equal(length, rows[i].length);
        assert_int_equal(firnc_utf8_write(rows[i].code, written), length);
        assert_memory_equal(written, bytes, length);
        if (rows[i].code < FIRNC_UNICODE_COUNT)
            assert_int_equal(firnc_utf8_read_back(bytes, count, &length), rows[i].code);
        else
            assert_int_equal(firnc_utf8_read_back(bytes, count, &length), FIRNC_UNICODE_COUNT + bytes[count - 1]);
    }
    assert_int_equal(firnc_utf8_unfinished((const uint8_t *)"a\xF0\x9F\x8F", 4), 3);
    assert_int_equal(firnc_utf8_unfinished((const uint8_t *)"a\xC3", 2), 1);
    assert_int_equal(firnc_utf8_unfinished((const uint8_t *)"a\xC3\xA9", 3), 0);
    assert_int_equal(firnc_utf8_unfinished((const uint8_t *)"\x80\x80\x80\x80", 4), 0);
}

static void add_table(firn_sha256 *hash, const void *rows, uint32_t count, size_t row_bytes) {
    assert_int_equal(firn_sha256_update(hash, rows, count * row_bytes), FIRN_OK);
}

/* Every number of the tables, whatever version of Unicode the Python of this machine has. Tables of another version
 * have another hash. */
TEST(tables_are_those_of_their_version) {
    firn_sha256 hash;
    uint8_t digest[FIRN_HASH_BYTES];
    assert_int_equal(firn_sha256_begin(&hash), FIRN_OK);
    add_table(&hash, firnc_unicode_properties, firnc_unicode_properties_count, sizeof(firnc_unicode_range));
    add_table(&hash, firnc_unicode_orders, firnc_unicode_orders_count, sizeof(firnc_unicode_range));
    add_table(&hash, firnc_unicode_decompositions, firnc_unicode_decompositions_count, sizeof(firnc_unicode_triple));
    add_table(&hash, firnc_unicode_compositions, firnc_unicode_compositions_count, sizeof(firnc_unicode_triple));
    assert_int_equal(firn_sha256_end(&hash, digest), FIRN_OK);
    assert_string_equal(firnc_unicode_version, "14.0.0");
    assert_string_equal(firnc_hex(digest, sizeof digest),
                        "74e450b079de68ba3970de446b93a3495e1628513d48571afbdc98b1a544b84c");
}

TEST(nfc_composes) {
    static const struct {
        const char *text, *normal;
    } rows[] = {
        {"", ""},
        {"plain", "plain"},
        {"e\xCC\x81", "\xC3\xA9"},
        {"\xC3\xA9\xCC\xA3", "\xE1\xBA\xB9\xCC\x81"}, /* the mark below comes first */
        {"xe\xCC\x81y", "x\xC3\xA9y"},
        {"\xCC\x81", "\xCC\x81"},                                 /* a mark at the beginning */
        {"\xE2\x84\xAB", "\xC3\x85"},                             /* the sign of Angstrom */
        {"\xE0\xA4\x95\xE0\xA4\xBC", "\xE0\xA4\x95\xE0\xA4\xBC"}, /* excluded from composition */
        {"\xE0\xA5\x98", "\xE0\xA4\x95\xE0\xA4\xBC"},
        {"\xE1\x84\x80\xE1\x85\xA1\xE1\x86\xA8", "\xEA\xB0\x81"}, /* Hangul of three letters */
        {"\xEA\xB0\x80\xE1\x86\xA8", "\xEA\xB0\x81"},
        {"e\xFF\xCC\x81", "e\xFF\xCC\x81"}, /* a byte that is no UTF-8 stays where it is */
    };
    firnc_nfc scratch = {0};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        firnc_growing_text normal = {0};
        firnc_nfc_add(&normal, (const uint8_t *)rows[i].text, strlen(rows[i].text), &scratch);
        assert_string_equal(normal.text, rows[i].normal);
    }
}

/* `words`: the lengths of the words, in order. */
static void check_words(firnc_pattern pattern, const char *text, const char *words) {
    size_t at = 0;
    for (; *words != '\0'; words++) {
        const size_t length = firnc_pattern_word(pattern, (const uint8_t *)text + at, strlen(text) - at);
        assert_int_equal(length, *words - '0');
        at += length;
    }
    assert_int_equal(at, strlen(text));
}

TEST(patterns_cut_words) {
    check_words(FIRNC_PATTERN_GPT2, "it's a", "222");
    check_words(FIRNC_PATTERN_GPT2, "it'S a", "2112");
    check_words(FIRNC_PATTERN_LLAMA3, "it'S a", "222");
    check_words(FIRNC_PATTERN_LLAMA3, "it'\xC5\xBF a", "232"); /* a long s */
    check_words(FIRNC_PATTERN_GPT2, "we're'll'l", "23311");
    check_words(FIRNC_PATTERN_GPT2, "a  b", "112");
    check_words(FIRNC_PATTERN_GPT2, "a \n\n b  ", "1322");
    check_words(FIRNC_PATTERN_LLAMA3, "a \n\n b  ", "1322");
    check_words(FIRNC_PATTERN_LLAMA3, "a!\n\nb", "131");
    check_words(FIRNC_PATTERN_GPT2, "a!\n\nb", "11111");
    check_words(FIRNC_PATTERN_GPT2, " 12345 !?x", "631");
    check_words(FIRNC_PATTERN_LLAMA3, " 12345 !?x", "13231");
    check_words(FIRNC_PATTERN_QWEN2, " 123 (x", "111121");
    check_words(FIRNC_PATTERN_LLAMA3, "(x)\ty", "212");
    assert_int_equal(firnc_pattern_find("\\w+"), FIRNC_PATTERN_NONE);
    assert_int_equal(firnc_pattern_gap((const uint8_t *)"a b!! ", 6), 3);
    assert_int_equal(firnc_pattern_gap((const uint8_t *)"!! !!", 5), 0);
}

TEST(added_tokens_are_found) {
    static const uint8_t text[] = "x<a> <ab><a";
    firnc_added tokens[] = {{.text = text + 1, .length = 3, .id = 1, .single_word = true},
                            {.text = text + 5, .length = 4, .id = 2, .left = true},
                            {.text = text + 1, .length = 2, .id = 3}};
    firnc_added_list list = {.tokens = tokens, .count = 3};
    firnc_added_list none = {0};
    firnc_added_sort(&none);
    firnc_added_sort(&list);
    firnc_added_search search = {.text = text, .length = sizeof text - 1, .last = true};
    firnc_added_match match;
    assert_true(firnc_added_find(&list, &search, &match)); /* <a> touches x, so that the longest is passed over */
    assert_int_equal(match.id, 2);
    assert_int_equal(match.begin, 4); /* with the space before it */
    assert_int_equal(match.end, 9);
    assert_true(firnc_added_find(&list, &search, &match));
    assert_int_equal(match.id, 3);
    assert_false(firnc_added_find(&list, &search, &match));
    assert_int_equal(match.begin, sizeof text - 1);
    search = (firnc_added_search){.text = text, .length = 4}; /* more text may follow: nothing is decided yet */
    assert_false(firnc_added_find(&list, &search, &match));
    assert_int_equal(match.begin, 1);
}

static firnc_tokenizer tokenizer;
static firnc_encoder whole, pieces;

/* Compares the ids of a text with those that it has in pieces of 1 to 59 bytes. */
static void check_pieces(const char *name, const uint8_t *text, size_t count) {
    assert_true(firnc_tokenizer_read(&tokenizer, firnc_format(FOLDER "%s.json", name)));
    firnc_encoder_begin(&whole, &tokenizer, "text", false);
    whole.ids.count = 0;
    assert_true(firnc_encoder_add(&whole, text, count) && firnc_encoder_end(&whole));
    for (size_t piece = 1; piece < 60; piece++) {
        firnc_encoder_begin(&pieces, &tokenizer, "text", false);
        pieces.piece = piece;
        pieces.ids.count = 0;
        assert_true(firnc_encoder_add(&pieces, text, count) && firnc_encoder_end(&pieces));
        assert_int_equal(pieces.ids.count, whole.ids.count);
        assert_memory_equal(pieces.ids.ids, whole.ids.ids, whole.ids.count * sizeof *whole.ids.ids);
    }
}

TEST(pieces_change_no_id) {
    static const char *const names[] = {"bytes", "llama3", "qwen2", "llama2", "metaspace"};
    firnc_bytes text;
    assert_true(firnc_file_read(FOLDER "text.txt", 1 << 20, &text));
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        check_pieces(names[i], text.data, text.count);
}

/* Tokens that are passed over because a word touches them: what they cover is not searched again, and the character
 * before them is seen whole, although a piece may end anywhere. */
/* Normalises a text in pieces of `piece` characters. */
static void normalize_in_pieces(const firnc_tokenizer *by, const char *text, size_t piece, firnc_growing_text *to) {
    firnc_normal_state states[FIRNC_TOKENIZER_STEPS_MAX] = {{{0}, false}};
    firnc_nfc nfc = {0};
    const size_t count = strlen(text);
    for (size_t at = 0, end; at < count; at = end) {
        uint32_t length;
        end = at;
        for (size_t i = 0; i < piece && end < count; i++, end += length)
            (void)firnc_utf8_read((const uint8_t *)text + end, count - end, &length);
        firnc_normalize(by, (const uint8_t *)text + at, end - at, end == count, states, &nfc, to);
    }
    for (uint32_t i = 0; i < by->normal_count; i++)
        assert_true(states[i].held.length == 0 && !states[i].begun);
}

/* Patterns of several characters, and NFC behind other steps, in pieces of any length. */
TEST(normalizers_work_in_pieces) {
    static const firnc_normal_step nfc = {FIRNC_NORMAL_NFC, NULL, NULL}, prepend = {FIRNC_NORMAL_PREPEND, NULL, "_"},
                                   several = {FIRNC_NORMAL_REPLACE, "aab", "x"},
                                   accent = {FIRNC_NORMAL_REPLACE, "#", "\xCC\x81"},
                                   nothing = {FIRNC_NORMAL_REPLACE, "--", ""},
                                   circle = {FIRNC_NORMAL_REPLACE, "\xC3\xA9", "a"};
    static const struct {
        const firnc_normal_step *steps[4];
        const char *text, *normalized;
    } rows[] = {
        {{&several}, "aaab aab aa aabaab aa", "ax x aa xx aa"},
        {{&accent, &nfc},
         "e# e## x#e",
         "\xC3\xA9 \xC3\xA9\xCC\x81 x\xCC\x81"
         "e"},
        {{&accent, &nfc, &circle, &several}, "e#e#b e#ab#", "x x\xCC\x81"},
        {{&prepend, &nothing}, "---a--", "_-a"},
        {{&nothing, &prepend}, "--", ""},
        {{&nothing, &prepend}, "--a", "_a"},
        {{&nfc, &several}, "aabe\xCC\x81", "x\xC3\xA9"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        firnc_tokenizer by = {0};
        while (by.normal_count < 4 && rows[i].steps[by.normal_count] != NULL) {
            by.normal[by.normal_count] = *rows[i].steps[by.normal_count];
            by.normal_count++;
        }
        for (size_t piece = 1; piece < 30; piece++) {
            firnc_growing_text text = {0};
            firnc_text_add(&text, "", 0);
            normalize_in_pieces(&by, rows[i].text, piece, &text);
            assert_string_equal(text.text, rows[i].normalized);
        }
    }
}

TEST(passed_tokens_stay_passed) {
    static const uint8_t text[] = "a_    < \xE1\x86\xA8<|e|> <|e|a <|e|>";
    static const uint32_t wanted[] = {2, 3, 1, 1, 8, 4, 1, 0, 0, 0, 4, 5, 6, 5, 7, 1, 4, 5, 6, 5, 2, 1, 9, 7};
    check_pieces("overlap", text, sizeof text - 1);
    assert_int_equal(whole.ids.count, sizeof wanted / sizeof wanted[0]);
    assert_memory_equal(whole.ids.ids, wanted, sizeof wanted);
}

/* A word of a megabyte takes n log n steps; with a quadratic number of them this test would not end. */
TEST(a_long_word_is_encoded) {
    enum { BYTES = 1 << 20 };
    static uint8_t text[BYTES];
    memset(text, ' ', sizeof text);
    assert_true(firnc_tokenizer_read(&tokenizer, FOLDER "llama2.json"));
    firnc_encoder_begin(&whole, &tokenizer, "text", false);
    whole.ids.count = 0;
    assert_true(firnc_encoder_add(&whole, text, sizeof text) && firnc_encoder_end(&whole));
    assert_in_range(whole.ids.count, 1, BYTES);
}
