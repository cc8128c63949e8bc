/* Tests the parser of command lines (runtime/manual) on a table of its own, which has every kind of option: what is
 * stored, what is refused with which message, and what help a line asks for. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "runtime/manual/manual.h"
#include "runtime/manual/nearest.h"
#include "tests/unit/support_capture.h"
#include "tests/unit/support_test.h"

enum { LIST_MOST = 3, WORDS_MOST = 64 };

typedef struct request {
    const char *first; /* nothing is stored at offset 0 by accident */
    const char *file, *text, *any, *word, *stream, *folder;
    const char *list[LIST_MOST];
    const char *const *operands;
    uint32_t list_count, operand_count, narrow, pair;
    uint64_t wide;
    bool flag, quiet, wide_given;
} request;

static const char *read_pair(void *into, const char *value) {
    ((request *)into)->pair = (uint32_t)strlen(value);
    return strcmp(value, "bad") == 0 ? "is no pair; write 1x2" : NULL;
}

static const firn_option options[] = {
    {.name = "--file",
     .brief = "-f",
     .value = "FILE",
     .text = "a file",
     .kind = FIRN_OPTION_TEXT,
     .names = FIRN_NAMES_FILE,
     .place = offsetof(request, file)},
    {.name = "--text",
     .old = "--words",
     .value = "TEXT",
     .text = "a text",
     .place = offsetof(request, text),
     .kind = FIRN_OPTION_TEXT},
    {.name = "--any",
     .value = "TEXT",
     .text = "any text",
     .kind = FIRN_OPTION_ANY_TEXT,
     .place = offsetof(request, any)},
    {.name = "--word",
     .value = "red|green|blue",
     .text = "a colour",
     .kind = FIRN_OPTION_WORD,
     .place = offsetof(request, word)},
    {.name = "--stream",
     .value = "FILE",
     .text = "a stream",
     .kind = FIRN_OPTION_TEXT,
     .names = FIRN_NAMES_STREAM,
     .place = offsetof(request, stream)},
    {.name = "--folder",
     .value = "DIR",
     .text = "a folder",
     .kind = FIRN_OPTION_TEXT,
     .names = FIRN_NAMES_FOLDER,
     .place = offsetof(request, folder)},
    {.name = "--list",
     .value = "TEXT",
     .text = "a list",
     .kind = FIRN_OPTION_LIST,
     .place = offsetof(request, list),
     .count = offsetof(request, list_count),
     .most = LIST_MOST,
     .mend = "write a shorter list"},
    {.name = "--narrow",
     .value = "N",
     .text = "32 bits",
     .kind = FIRN_OPTION_NUMBER32,
     .place = offsetof(request, narrow),
     .least = 2,
     .most = 7,
     .what = "a number of things"},
    {.name = "--wide",
     .value = "N",
     .text = "64 bits",
     .kind = FIRN_OPTION_NUMBER,
     .place = offsetof(request, wide),
     .given = offsetof(request, wide_given),
     .most = UINT64_MAX},
    {.name = "--pair", .value = "AxB", .text = "a pair", .kind = FIRN_OPTION_READ, .read = read_pair},
    {.name = "--flag", .text = "a flag", .kind = FIRN_OPTION_FLAG, .place = offsetof(request, flag)},
    {.name = "--quiet", .brief = "-q", .text = "no notes", .kind = FIRN_OPTION_FLAG, .place = offsetof(request, quiet)},
    {.name = "--only-two",
     .text = "of the second command",
     .kind = FIRN_OPTION_FLAG,
     .place = offsetof(request, flag),
     .commands = 2},
};

static const firn_option more[] = {
    {.name = "--key",
     .value = "KEY",
     .text = "a key",
     .kind = FIRN_OPTION_TEXT,
     .place = offsetof(request, file),
     .needed = FIRN_EVERY_COMMAND,
     .what = "the key"},
};

static const firn_command commands[] = {
    {.name = "one",
     .group = "First",
     .summary = "do one",
     .forms = {"FILE [options]"},
     .text = "does one thing",
     .bit = 1,
     .operand = {.value = "FILE",
                 .kind = FIRN_OPTION_TEXT,
                 .names = FIRN_NAMES_FILE,
                 .place = offsetof(request, first),
                 .least = 1,
                 .unless = "--text"},
     .tables = {{options, sizeof options / sizeof *options}}},
    {.name = "two",
     .group = "Second",
     .summary = "do two",
     .forms = {"[FILE]..."},
     .text = "does two things",
     .bit = 2,
     .operand = {.value = "FILE",
                 .kind = FIRN_OPTION_WORDS,
                 .place = offsetof(request, operands),
                 .count = offsetof(request, operand_count)},
     .tables = {{options, sizeof options / sizeof *options}, {more, 1}}},
    {.name = "three", .group = "Second", .summary = "do three", .forms = {""}, .text = "takes nothing", .bit = 4},
};

static const firn_command *command_at(uint32_t position) {
    return position < sizeof commands / sizeof *commands ? &commands[position] : NULL;
}

static char said[1024];
static uint32_t lines;

static void say(const char *line) {
    lines++;
    snprintf(said, sizeof said, "%s", line);
}

static const char *const other[] = {"elsewhere", NULL};
static const firn_manual manual = {.program = "prog",
                                   .version = "1.2",
                                   .text = "does things",
                                   .more = "More.",
                                   .see_also = "others",
                                   .other = other,
                                   .command_at = command_at,
                                   .say = say};

/* Cuts a line at its blanks, of which a word may have none; '_' stands for an empty word. Returns their number. */
static int cut(const char *line, char *words[WORDS_MOST]) {
    static char text[512];
    int count = 0;
    snprintf(text, sizeof text, "%s", line);
    for (char *word = strtok(text, " "); word != NULL; word = strtok(NULL, " "))
        words[count++] = strcmp(word, "_") == 0 ? word + 1 : word;
    return count;
}

static bool read_line(uint32_t command, const char *line, request *r) {
    static char *words[WORDS_MOST]; /* to which WORDS points */
    const int count = cut(line, words);
    *r = (request){0};
    lines = 0;
    said[0] = '\0';
    return firn_options_read(&manual, &commands[command], count, words, r);
}

/* Expects a line that is read without a message. */
static void reads(uint32_t command, const char *line, request *r) {
    if (!read_line(command, line, r) || lines != 0)
        fail_msg("%s: %s", line, said);
}

static void refuses(uint32_t command, const char *line, const char *message) {
    request r;
    if (read_line(command, line, &r) || lines != 1 || strcmp(said, message) != 0)
        fail_msg("%s: %u lines, %s", line, (unsigned)lines, said);
}

TEST(each_kind_is_stored) {
    request r;
    reads(0, "a --file b --text c --any _ --word green --list x --list y --narrow 7 --wide 0x10 --pair abc --flag", &r);
    assert_string_equal(r.first, "a");
    assert_string_equal(r.file, "b");
    assert_string_equal(r.text, "c");
    assert_string_equal(r.any, "");
    assert_string_equal(r.word, "green");
    assert_int_equal(r.list_count, 2);
    assert_string_equal(r.list[1], "y");
    assert_int_equal(r.narrow, 7);
    assert_int_equal(r.wide, 16);
    assert_int_equal(r.pair, 3);
    assert_true(r.flag && r.wide_given && !r.quiet);
    reads(0, "-f=b a --text=c=d --word=blue --wide=18446744073709551615", &r);
    assert_string_equal(r.file, "b");
    assert_string_equal(r.text, "c=d");
    assert_true(r.wide == UINT64_MAX);
    reads(0, "a", &r);
    assert_true(r.file == NULL && r.list_count == 0 && !r.wide_given && !r.flag);
    reads(0, "a --flag --flag -q -q", &r); /* a flag may be repeated */
    reads(0, "--text -f a", &r);           /* a value may begin like an option */
    assert_string_equal(r.text, "-f");
    reads(0, "-- -a", &r);
    assert_string_equal(r.first, "-a");
    reads(0, "a --stream -", &r);
    assert_string_equal(r.stream, "-");
    reads(0, "a --text -", &r);
    reads(0, "--text b", &r); /* in place of the operand */
    assert_null(r.first);
    reads(2, "", &r);
}

TEST(operands_are_in_their_order) {
    request r;
    reads(1, "a --flag b --key k - -- --flag -- c", &r);
    assert_int_equal(r.operand_count, 6);
    static const char *const expected[] = {"a", "b", "-", "--flag", "--", "c"};
    for (uint32_t i = 0; i < r.operand_count; i++)
        assert_string_equal(r.operands[i], expected[i]);
    reads(1, "--key k", &r);
    assert_int_equal(r.operand_count, 0);
}

TEST(what_is_wrong_has_one_line) {
    static const struct {
        uint32_t command;
        const char *line, *message;
    } cases[] = {
        {0, "a --unlike", "prog one: --unlike: unknown option; `prog help one` lists the options"},
        {0, "a --fil b", "prog one: --fil: unknown option; did you mean --file?"},
        {0, "a --fil=b", "prog one: --fil=b: unknown option; did you mean --file?"},
        {0, "a --word5", "prog one: --word5: unknown option; did you mean --word?"},
        {0, "a --wordz", "prog one: --wordz: unknown option; did you mean --word?"},
        {0, "a --only-two", "prog one: --only-two: unknown option; `prog help one` lists the options"},
        {2, "--flag",
         "prog three: --flag: unknown option; three has no options: leave it out, or write -- in front of a "
         "name that begins so"},
        {2, "a", "prog three: a: one word too many; leave it out"},
        {0, "a --flag=1", "prog one: --flag: takes no value; leave out =1"},
        {0, "a --flag=", "prog one: --flag: takes no value; leave out ="},
        {0, "a --text", "prog one: --text: its value is missing; write --text TEXT"},
        {0, "a -f", "prog one: -f: its value is missing; write -f FILE"},
        {0, "a --text _", "prog one: --text: its value is empty; write --text TEXT, or leave it out"},
        {0, "a --list=", "prog one: --list: its value is empty; write --list TEXT, or leave it out"},
        {0, "a --text b --text c", "prog one: --text: is given twice; leave one out"},
        {0, "a --text b --words c", "prog one: --words: is given twice; leave one out"},
        {0, "a --any _ --any _", "prog one: --any: is given twice; leave one out"},
        {0, "a --list 1 --list 2 --list 3 --list 4",
         "prog one: --list: is given more than 3 times; write a shorter list"},
        {0, "a --word yellow", "prog one: --word: yellow is not known; write red, green or blue"},
        {0, "a --word re", "prog one: --word: re is not known; write red, green or blue"},
        {0, "a --word red|green", "prog one: --word: red|green is not known; write red, green or blue"},
        {0, "a --narrow 1", "prog one: --narrow: 1 is not a number of things; write one from 2 to 7"},
        {0, "a --narrow 8", "prog one: --narrow: 8 is not a number of things; write one from 2 to 7"},
        {0, "a --narrow 0x", "prog one: --narrow: 0x is not a number of things; write one from 2 to 7"},
        {0, "a --narrow -3", "prog one: --narrow: -3 is not a number of things; write one from 2 to 7"},
        {0, "a --narrow 3.0", "prog one: --narrow: 3.0 is not a number of things; write one from 2 to 7"},
        {0, "a --narrow 4294967298", "prog one: --narrow: 4294967298 is not a number of things; write one from 2 to 7"},
        {0, "a --wide 18446744073709551616",
         "prog one: --wide: 18446744073709551616 is not a number; write one from 0"},
        {0, "a --wide 0x10000000000000000", "prog one: --wide: 0x10000000000000000 is not a number; write one from 0"},
        {0, "a --pair bad", "prog one: --pair: bad is no pair; write 1x2"},
        {0, "a --file -",
         "prog one: --file: takes no standard input or output; write the name of a file, ./- for one that is called "
         "so"},
        {0, "a --folder=-",
         "prog one: --folder: takes no standard input or output; write the name of a folder, ./- for one that is "
         "called so"},
        {0, "-",
         "prog one: FILE: takes no standard input or output; write the name of a file, ./- for one that is called so"},
        {0, "a b", "prog one: b: one word too many, the FILE is a; leave it out"},
        {0, "_", "prog one: an empty name in place of a FILE; write a name"},
        {0, "", "prog one: needs a FILE; `prog help one` shows the command line"},
        {0, "--flag", "prog one: needs a FILE; `prog help one` shows the command line"},
        {1, "", "prog two: needs --key KEY, the key; `prog help two` shows the command line"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        refuses(cases[i].command, cases[i].line, cases[i].message);
}

TEST(an_old_name_is_noted_but_if_quiet) {
    request r;
    assert_true(read_line(0, "a --words b", &r) && lines == 1);
    assert_string_equal(said, "prog one: note: --words is called --text now; the old name works as before");
    assert_string_equal(r.text, "b");
    assert_true(read_line(0, "a --words b --quiet", &r) && lines == 0);
    assert_true(read_line(0, "a -q --words=b", &r) && lines == 0);
    assert_false(read_line(0, "--words b --fil c", &r)); /* a fault has one line and no note */
    assert_int_equal(lines, 1);
}

/* Opens a line. Returns what was printed. */
static const char *opens(const firn_manual *of, const char *line, firn_line expected, const firn_command **command) {
    static char printed[16384];
    char *words[WORDS_MOST];
    const int count = cut(line, words);
    lines = 0;
    said[0] = '\0';
    support_capture_begin(STDOUT_FILENO);
    const firn_line found = firn_line_open(of, count, words, command);
    fflush(stdout);
    support_capture_end(printed, sizeof printed);
    if (found != expected)
        fail_msg("%s: %d, %s", line, (int)found, said);
    return printed;
}

TEST(a_line_asks_for_a_command_or_for_help) {
    static const char *const help[] = {"one --help", "one -h", "one a --text b -h", "one --unknown --help", "help one"};
    static const char *const none[] = {"one --text --help", "one --text -h a", "one -- --help", "one a"};
    const firn_command *command;
    for (size_t i = 0; i < sizeof help / sizeof *help; i++)
        if (strncmp(opens(&manual, help[i], FIRN_LINE_DONE, &command),
                    "  prog one FILE [options]\n    does one thing\n", 45) != 0)
            fail_msg("%s", help[i]);
    for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
        assert_string_equal(opens(&manual, none[i], FIRN_LINE_COMMAND, &command), "");
        assert_ptr_equal(command, &commands[0]);
    }
    const char *shown = opens(&manual, "--version", FIRN_LINE_DONE, &command);
    assert_string_equal(shown, "prog 1.2\n");
    shown = opens(&manual, "help", FIRN_LINE_DONE, &command);
    assert_string_equal(
        shown, "prog 1.2: does things\n`prog help COMMAND` shows its options and examples, `prog help --all` all.\n"
               "First\n  one              do one\nSecond\n  two              do two\n  three            do three\n"
               "More\n  help             say more of a command, with examples\n");
    static char again[1024];
    snprintf(again, sizeof again, "%s", shown);
    assert_string_equal(opens(&manual, "-h", FIRN_LINE_DONE, &command), again);
    assert_string_equal(opens(&manual, "", FIRN_LINE_WRONG, &command), again);
    assert_string_equal(said, "prog: the command is missing; `prog help COMMAND` shows what each takes");
}

TEST(an_unknown_command_is_refused) {
    static const char *const cases[][2] = {
        {"ones", "prog: ones: unknown command; did you mean one?"},
        {"help ones", "prog: ones: unknown command; did you mean one?"},
        {"nothing", "prog: nothing: unknown command; `prog help` lists the commands"},
        {"elsewhere", "prog: elsewhere: is a command of others; write others elsewhere"},
        {"--flag one", "prog: --flag: there is no command in front of it; `prog help` lists the commands"},
        {"help one two", "prog help: two: one word too many, the COMMAND is one; leave it out"},
        {"help --completion tcsh", "prog help: --completion: tcsh is not known; write bash, zsh or fish"},
    };
    const firn_command *command;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_string_equal(opens(&manual, cases[i][0], FIRN_LINE_WRONG, &command), "");
        assert_string_equal(said, cases[i][1]);
        assert_int_equal(lines, 1);
    }
}

/* As in all processes of firn-mpi but one. */
TEST(a_program_that_says_nothing_prints_nothing) {
    static const char *const done[] = {
        "help", "--help", "one --help", "--version", "help --all", "help --man", "help --completion bash"};
    static const char *const wrong[] = {"", "ones", "help ones"};
    firn_manual silent = manual;
    const firn_command *command;
    request r = {0};
    silent.say = NULL;
    for (size_t i = 0; i < sizeof done / sizeof *done; i++)
        assert_string_equal(opens(&silent, done[i], FIRN_LINE_DONE, &command), "");
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_string_equal(opens(&silent, wrong[i], FIRN_LINE_WRONG, &command), "");
    assert_false(firn_options_read(&silent, &commands[0], 0, NULL, &r));
}

/* A message is cut where its words are longer than its room. */
TEST(long_words_are_cut) {
    static char word[20000];
    char *words[] = {word, (char[]){"b"}};
    request r = {0};
    memset(word, 'x', sizeof word - 1);
    lines = 0;
    assert_false(firn_options_read(&manual, &commands[0], 2, words, &r));
    assert_true(lines == 1 && strncmp(said, "prog one: b: one word too many, the FILE is xxx", 47) == 0);
    word[0] = word[1] = '-';
    assert_false(firn_options_read(&manual, &commands[0], 1, words, &r));
    assert_true(strncmp(said, "prog one: --xxx", 15) == 0);
    word[2] = '=';
    assert_false(firn_options_read(&manual, &commands[0], 1, words, &r));
}

TEST(near_words_are_found) {
    static const char *const words[] = {"--checkpoint", "--checkpoint-every", "--data", "CosineDecayLR", "x", NULL};
    static const struct {
        const char *word, *meant; /* NULL: none is near */
        size_t rank;
    } cases[] = {
        {"--checkpoint", "--checkpoint", FIRN_NEAR_TYPING},
        {"CHECK_POINT", "--checkpoint", FIRN_NEAR_TYPING},
        {"--chekcpoint", "--checkpoint", FIRN_NEAR_TYPING + 1},
        {"--dat", "--data", FIRN_NEAR_TYPING + 1},
        {"CosineLR", "CosineDecayLR", FIRN_NEAR_PARTS + 13},
        {"every", "--checkpoint-every", FIRN_NEAR_PARTS + 15},
        {"quite", NULL, FIRN_FAR},
        {"", NULL, FIRN_FAR},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        size_t rank;
        const char *found = firn_nearest(cases[i].word, words, &rank);
        if (rank != cases[i].rank || (found == NULL) != (cases[i].meant == NULL) ||
            (found != NULL && strcmp(found, cases[i].meant) != 0))
            fail_msg("%s: %s at %zu", cases[i].word, found != NULL ? found : "none", rank);
    }
    assert_int_equal(firn_word_distance("abcd", "abdc"), 1);
    assert_int_equal(firn_word_distance("", "abc"), 3);
    assert_int_equal(firn_word_distance("kitten", "sitting"), 3);
}
