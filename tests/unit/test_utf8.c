/* UTF-8: every character there and back, and everything that is none. */
#include <string.h>

#include "runtime/text/utf8.h"
#include "tests/unit/support_test.h"

static bool is_character(uint32_t code) {
    return code != 0 && code <= 0x10ffff && (code < 0xd800 || code > 0xdfff);
}

TEST(every_character_comes_back) {
    for (uint32_t code = 1; code <= 0x10ffff; code++) {
        char text[FIRN_UTF8_MOST + 1] = {0};
        const size_t bytes = firn_utf8_encode(text, code);
        assert_int_equal(bytes, code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4);
        uint32_t found = 0;
        assert_int_equal(firn_utf8_decode(text, &found), is_character(code) ? bytes : 0);
        assert_true(!is_character(code) || found == code);
        assert_int_equal(firn_utf8_is(text), is_character(code));
    }
}

/* Each first byte with each second one, and third and fourth bytes at the ends of their ranges: what is read is what
 * encodes to the same bytes. */
TEST(nothing_else_is_a_character) {
    static const unsigned char ends[] = {0, 0x7f, 0x80, 0xbf, 0xc0, 0xff};
    enum { ENDS = sizeof ends / sizeof *ends };
    for (unsigned first = 0; first < 256; first++)
        for (unsigned second = 0; second < 256; second++)
            for (unsigned others = 0; others < ENDS * ENDS; others++) {
                const char text[] = {(char)first, (char)second, (char)ends[others / ENDS], (char)ends[others % ENDS],
                                     0};
                char again[FIRN_UTF8_MOST];
                uint32_t code = 0xfffd;
                const size_t bytes = firn_utf8_decode(text, &code);
                if (bytes == 0)
                    continue;
                assert_true(is_character(code));
                assert_int_equal(firn_utf8_encode(again, code), bytes);
                assert_memory_equal(again, text, bytes);
            }
}

TEST(a_text_ends_at_its_zero) {
    uint32_t code = 7;
    assert_int_equal(firn_utf8_decode("", &code), 0);
    assert_int_equal(code, 7);
    assert_true(firn_utf8_is(""));
    assert_true(firn_utf8_is("K\xc3\xa4se \xe2\x82\xac \xf0\x9f\x90\x84"));
    static const char *const cut[] = {"\xc3",     "a\xe2\x82",    "\xf0\x9f\x90",    "\x80",
                                      "\xc0\xaf", "\xed\xa0\x80", "\xf5\x80\x80\x80"};
    for (size_t i = 0; i < sizeof cut / sizeof *cut; i++)
        assert_false(firn_utf8_is(cut[i]));
}
