/* firnc tokens: encodes texts to token ids, counts them, and decodes ids. What a tokenizer is and how it encodes is in
 * compiler/tokens; this file reads texts and writes ids, and the reverse. */
#define _POSIX_C_SOURCE 200809L

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "compiler/base/files.h"
#include "compiler/base/landing.h"
#include "compiler/base/text.h"
#include "compiler/commands/commands.h"
#include "compiler/commands/options.h"
#include "compiler/job/tokenizer.h"
#include "compiler/tokens/ids_file.h"
#include "compiler/tokens/tokenizer.h"
#include "plan/keys/file_kind.h"
#include "runtime/program/descriptors.h"

#define BLOCK_BYTES      ((uint64_t)1 << 16)
#define TERMINAL_SECONDS 0.2

typedef struct request {
    const char *tokenizer, *vocabulary, *merges, *output, *text;
    bool decode, count, special, plain;
    const char *const *names; /* words of the command line */
    uint32_t name_count;
} request;

static const firn_option options[] = {
    {.name = "--tokenizer",
     .value = "FILE",
     .text = "a tokenizer.json: what firnc reads of it is in compiler/tokens/TOKENS.md",
     .kind = FIRN_OPTION_TEXT,
     .names = FIRN_NAMES_FILE,
     .place = offsetof(request, tokenizer)},
    {.name = "--vocabulary",
     .value = "FILE",
     .text = "instead of it, with --merges: the vocab.json of a tokenizer like GPT-2's",
     .kind = FIRN_OPTION_TEXT,
     .names = FIRN_NAMES_FILE,
     .place = offsetof(request, vocabulary)},
    {.name = "--merges",
     .value = "FILE",
     .text = "its merges.txt",
     .kind = FIRN_OPTION_TEXT,
     .names = FIRN_NAMES_FILE,
     .place = offsetof(request, merges)},
    {.name = "--output",
     .brief = "-o",
     .value = "FILE",
     .text = "write the ids there: an array of NumPy if the name ends in .npy, else raw; - prints them as numbers, as "
             "firn generate --prompt takes them; with --to-text the text, - prints it",
     .kind = FIRN_OPTION_TEXT,
     .names = FIRN_NAMES_STREAM,
     .place = offsetof(request, output)},
    {.name = "--text",
     .value = "TEXT",
     .text = "encode this text instead of files",
     .kind = FIRN_OPTION_TEXT,
     .place = offsetof(request, text)},
    {.name = "--special",
     .text = "put the tokens around each text that post_processor adds, such as <s>; else none are",
     .kind = FIRN_OPTION_FLAG,
     .place = offsetof(request, special)},
    {.name = "--no-special-in-text",
     .text = "take <|endoftext|> and other special tokens inside a text for plain text",
     .kind = FIRN_OPTION_FLAG,
     .place = offsetof(request, plain)},
    {.name = "--count",
     .text = "print how many tokens each text has, and write nothing",
     .kind = FIRN_OPTION_FLAG,
     .place = offsetof(request, count)},
    {.name = "--to-text",
     .old = "--decode",
     .text = "the reverse: the file has ids, and its text goes to -o or to standard output; - reads numbers from "
             "standard input, as firn generate prints them",
     .kind = FIRN_OPTION_FLAG,
     .place = offsetof(request, decode)},
};

/* Whether standard input is one of the inputs. */
static bool reads_stream(const request *r) {
    for (uint32_t i = 0; i < r->name_count; i++)
        if (firnc_ids_is_stream(r->names[i]))
            return true;
    return false;
}

/* Whether the output is a file, and no standard output. */
static bool writes_file(const request *r) {
    return r->output != NULL && !firnc_ids_is_stream(r->output);
}

/* --- signals ------------------------------------------------------------------------------------------------------ */

static volatile sig_atomic_t interrupted;

static void note_signal(int signal_number) {
    (void)signal_number;
    interrupted = 1;
}

/* From here on a signal ends the command between two blocks, so that no half file is left behind, and a message says
 * what is missing. A signal that was ignored when the program began stays ignored. A read of standard input may wait
 * for ever, so a signal interrupts it; where no file is written then, signals end the command at once. */
static void watch_signals(const request *r) {
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
    const bool streams = reads_stream(r);
    if (streams && !writes_file(r))
        return;
    for (size_t i = 0; i < sizeof signals / sizeof signals[0]; i++) {
        struct sigaction action;
        if (sigaction(signals[i], NULL, &action) != 0 || action.sa_handler == SIG_IGN)
            continue;
        action.sa_handler = note_signal;
        action.sa_flags = streams ? 0 : SA_RESTART;
        sigaction(signals[i], &action, NULL);
    }
}

/* --- progress ----------------------------------------------------------------------------------------------------- */

typedef struct progress {
    bool terminal, open;
    double began, shown;
    uint64_t done, all; /* bytes */
} progress;

static double seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Erases the line, if one is shown. */
static void progress_end(progress *p) {
    if (p->open)
        fputs("\r\033[K", stderr);
    p->open = false;
}

/* Writes a message where the line was. */
static void say_over_progress(void *context, const char *line) {
    progress_end(context);
    fprintf(stderr, "%s\n", line);
}

/* shown: false where no line is shown, also on a terminal */
static void progress_begin(progress *p, uint64_t all, bool shown) {
    *p = (progress){.terminal = shown && firn_program_has_terminal(), .all = all, .began = seconds()};
    p->shown = p->began;
    firnc_messages_to(say_over_progress, p);
}

static void progress_add(progress *p, uint64_t bytes) {
    p->done += bytes;
    const double now = p->terminal ? seconds() : 0;
    if (!p->terminal || now - p->shown < TERMINAL_SECONDS)
        return;
    fprintf(stderr, "%.1f of %.1f MB  %.1f MB/s\033[K\r", 1e-6 * (double)p->done, 1e-6 * (double)p->all,
            1e-6 * (double)p->done / (now - p->began));
    fflush(stderr);
    p->shown = now;
    p->open = true;
}

/* --- encoding ----------------------------------------------------------------------------------------------------- */

typedef struct encoding {
    firnc_tokenizer tokenizer;
    firnc_encoder encoder;
    firnc_ids_writer writer;
    bool writes;            /* else it only counts */
    uint64_t bytes, tokens; /* of the present text */
    progress progress;
} encoding;

/* Hands on what is encoded. */
static bool flush(encoding *e) {
    const bool good = !e->writes || firnc_ids_write(&e->writer, &e->encoder.ids);
    e->tokens += e->encoder.ids.count;
    e->encoder.ids.count = 0;
    return good;
}

static void add_ids(firnc_ids *to, const firnc_ids *from) {
    for (uint32_t i = 0; i < from->count; i++)
        firnc_ids_add(to, from->ids[i]);
}

/* Files that are known to be no text would become tokens without a meaning. The mark that some editors put before UTF-8
 * is a character like any other, as in the reference, and hardly meant. */
static bool is_text(const char *name, const uint8_t *head, uint64_t count) {
    const firn_file_kind *kind =
        firn_file_kind_of(head, (size_t)(count < FIRN_FILE_KIND_BYTES ? count : FIRN_FILE_KIND_BYTES));
    if (count >= 3 && memcmp(head, "\xEF\xBB\xBF", 3) == 0)
        firnc_say(
            "firnc: %s: warning: begins with a byte order mark, U+FEFF, which becomes tokens, too; remove its first "
            "3 bytes, as by tail -c +4",
            name);
    if (kind == NULL || kind->use == FIRN_FILE_KEY)
        return true;
    firnc_say("firnc: %s: is %s and no text in UTF-8; give the text that it has", name, kind->name);
    return false;
}

/* Where a text comes from. */
typedef struct source {
    const char *name; /* for messages */
    int file;
    const char *text; /* NULL: it is read from the file */
    firnc_input_state before;
} source;

static bool open_source(source *from, const char *name) {
    uint64_t size;
    const bool stream = firnc_ids_is_stream(name);
    *from = (source){.name = stream ? "standard input" : name};
    from->file = stream ? STDIN_FILENO : firnc_input_open(name, &size);
    if (from->file < 0)
        return false;
    if (!stream) {
        firnc_hold_file(from->file);
        from->before = firnc_input_look(from->file);
    }
    return true;
}

/* Reads a block of standard input, less at its end or after a signal. */
static bool read_stream(uint8_t *block, uint64_t *count) {
    ssize_t got = 1;
    for (*count = 0; *count < BLOCK_BYTES && got != 0 && interrupted == 0;) {
        got = read(STDIN_FILENO, block + *count, BLOCK_BYTES - *count);
        if (got < 0 && errno != EINTR) {
            firnc_say("firnc: standard input: cannot be read: %s; check where it comes from", strerror(errno));
            return false;
        }
        *count += got > 0 ? (uint64_t)got : 0;
    }
    return true;
}

/* Sets the next bytes of a text; fewer than BLOCK_BYTES are the last. */
static bool read_block(source *from, uint8_t *block, uint64_t *count) {
    if (from->text == NULL)
        return from->file == STDIN_FILENO ? read_stream(block, count)
                                          : firnc_input_read(from->file, from->name, block, BLOCK_BYTES, count);
    *count = strnlen(from->text, BLOCK_BYTES);
    memcpy(block, from->text, (size_t)*count);
    from->text += *count;
    return true;
}

static bool close_source(const source *from) {
    if (from->file == STDIN_FILENO)
        return true;
    const bool good = interrupted != 0 || firnc_input_unchanged(from->file, from->name, &from->before);
    firnc_let_go_file(from->file);
    close(from->file);
    return good;
}

static bool encode_blocks(encoding *e, source *from) {
    static uint8_t block[BLOCK_BYTES];
    uint64_t count;
    do {
        if (!read_block(from, block, &count) || (e->bytes == 0 && !is_text(from->name, block, count)) ||
            !firnc_encoder_add(&e->encoder, block, (size_t)count) || !flush(e))
            return false;
        e->bytes += count;
        progress_add(&e->progress, count);
    } while (count == sizeof block && interrupted == 0 && !ferror(stdout));
    return true;
}

static bool encode_text(encoding *e, const request *r, source *from) {
    const char *name = from->name;
    e->bytes = e->tokens = 0;
    firnc_encoder_begin(&e->encoder, &e->tokenizer, name, r->plain);
    if (r->special)
        add_ids(&e->encoder.ids, &e->tokenizer.before);
    bool good = encode_blocks(e, from);
    good = close_source(from) && good && (interrupted != 0 || firnc_encoder_end(&e->encoder));
    if (r->special)
        add_ids(&e->encoder.ids, &e->tokenizer.after);
    good = good && flush(e);
    if (good && e->encoder.invalid > 0 && interrupted == 0)
        firnc_say("firnc: %s: warning: is no UTF-8: %llu bytes, the first at byte %llu, are encoded as they are; check "
                  "that it is the text that is meant",
                  name, (unsigned long long)e->encoder.invalid, (unsigned long long)e->encoder.invalid_at);
    return good;
}

static bool encode_source(encoding *e, const request *r, source *from) {
    const bool good = encode_text(e, r, from);
    if (!good || (r->count && interrupted == 0))
        progress_end(&e->progress);
    if (good && r->count && interrupted == 0)
        printf("%s: %llu tokens, %llu bytes\n", firnc_printable(from->name), (unsigned long long)e->tokens,
               (unsigned long long)e->bytes);
    return good;
}

/* Encodes all texts, and sets the number of tokens. */
static bool encode_all(encoding *e, const request *r, uint64_t *tokens) {
    source from = {.name = "--text", .file = STDIN_FILENO, .text = r->text};
    bool good = r->text == NULL || encode_source(e, r, &from);
    *tokens = r->text != NULL ? e->tokens : 0;
    for (uint32_t i = 0; good && i < r->name_count && interrupted == 0; i++) {
        good = open_source(&from, r->names[i]) && encode_source(e, r, &from);
        *tokens += e->tokens;
    }
    progress_end(&e->progress);
    return good;
}

/* Opens each text once, so that a wrong name is known before hours of work, and adds up their sizes. */
static bool check_texts(const request *r, uint64_t *bytes) {
    *bytes = 0;
    for (uint32_t i = 0; i < r->name_count; i++) {
        uint64_t size;
        if (firnc_ids_is_stream(r->names[i]))
            continue;
        const int file = firnc_input_open(r->names[i], &size);
        if (file < 0)
            return false;
        close(file);
        *bytes += size;
    }
    return true;
}

/* "; with A, B before and C behind each text", for the tokens that --special adds; "" without it. */
static const char *special_text(const firnc_tokenizer *tokenizer, bool special) {
    const firnc_ids *const lists[] = {&tokenizer->before, &tokenizer->after};
    static const char *const places[] = {"before", "behind"};
    const char *text = "";
    for (uint32_t i = 0; special && i < 2; i++) {
        const char *names = "";
        for (uint32_t j = 0; j < lists[i]->count; j++)
            names = firnc_format("%s%s%s", names, j > 0 ? ", " : "",
                                 (const char *)tokenizer->bpe.vocabulary.tokens[lists[i]->ids[j]].text);
        if (lists[i]->count > 0)
            text = firnc_format("%s%s%s %s", text, text[0] == '\0' ? "; with " : " and ", names, places[i]);
    }
    return text[0] != '\0' ? firnc_printable(firnc_format("%s each text", text)) : "";
}

/* Says what an interruption leaves. */
static int end_interrupted(const request *r) {
    if (writes_file(r))
        firnc_say("firnc tokens: interrupted; %s is not written", r->output);
    else
        firnc_say("firnc tokens: interrupted; %s",
                  r->count ? "not all texts are counted" : "what was printed is incomplete");
    return FIRNC_EXIT_INTERRUPTED;
}

/* Ends the file, and notes the tokenizer beside it. The note is beside the ids themselves, not beside a link to them.
 */
static bool end_ids(encoding *e, const request *r) {
    uint8_t identity[FIRNC_IDENTITY_BYTES];
    if (!writes_file(r))
        return firnc_ids_write_end(&e->writer, NULL);
    if (!firnc_tokenizer_identity(r->tokenizer != NULL ? r->tokenizer : r->vocabulary, r->merges, identity)) {
        firnc_output_abandon(&e->writer.output);
        return false;
    }
    const firnc_file note = firnc_tokenizer_note(e->writer.output.target, identity);
    return firnc_ids_write_end(&e->writer, &note);
}

static int write_ids(encoding *e, const request *r) {
    const uint32_t vocabulary = e->tokenizer.bpe.vocabulary.count;
    uint64_t tokens;
    if (!firnc_ids_write_begin(&e->writer, r->output, vocabulary))
        return FIRNC_EXIT_WRONG;
    e->writes = true;
    const bool good = encode_all(e, r, &tokens);
    if (good && interrupted == 0 && tokens > 0) {
        if (!end_ids(e, r))
            return FIRNC_EXIT_WRONG;
        if (!writes_file(r))
            return FIRNC_EXIT_OK;
        printf("%s: %llu tokens, %s, of a vocabulary of %u%s\n", firnc_printable(r->output), (unsigned long long)tokens,
               firnc_ids_type(&e->writer), (unsigned)vocabulary, special_text(&e->tokenizer, r->special));
        return FIRNC_EXIT_OK;
    }
    if (writes_file(r))
        firnc_output_abandon(&e->writer.output);
    if (good && interrupted != 0)
        return end_interrupted(r);
    if (good)
        firnc_say("firnc: %s: has no tokens, because the text is empty; give another",
                  r->text != NULL                    ? "--text"
                  : firnc_ids_is_stream(r->names[0]) ? "standard input"
                                                     : r->names[0]);
    return FIRNC_EXIT_WRONG;
}

static int encode(encoding *e, const request *r) {
    uint64_t bytes, tokens;
    const char *unread = e->tokenizer.unread_processor;
    if (r->special && (unread != NULL || e->tokenizer.before.count + e->tokenizer.after.count == 0)) {
        firnc_say("firnc: %s: --special: %s; leave out --special", e->tokenizer.name,
                  unread != NULL ? firnc_format("post_processor is %s, and firnc reads one TemplateProcessing", unread)
                                 : "no post_processor adds tokens to a text");
        return FIRNC_EXIT_WRONG;
    }
    if (!check_texts(r, &bytes))
        return FIRNC_EXIT_WRONG;
    progress_begin(&e->progress, bytes, !reads_stream(r) && !firnc_ids_is_stream(r->output));
    watch_signals(r);
    if (!r->count)
        return write_ids(e, r);
    if (!encode_all(e, r, &tokens))
        return FIRNC_EXIT_WRONG;
    if (interrupted != 0)
        return end_interrupted(r);
    if (r->name_count > 1)
        printf("%llu tokens in all\n", (unsigned long long)tokens);
    return FIRNC_EXIT_OK;
}

/* --- decoding ----------------------------------------------------------------------------------------------------- */

/* Writes the text to the output, or to standard output; main sees whether that failed. What follows the ids of a stream
 * that somebody watches must not wait in a buffer. */
static bool put_text(firnc_output *output, firnc_decoder *decoder) {
    bool good = true;
    if (output != NULL)
        good = firnc_output_add(output, decoder->text.text, decoder->text.length);
    else if (decoder->text.length > 0)
        fwrite(decoder->text.text, 1, (size_t)decoder->text.length, stdout);
    if (output == NULL)
        fflush(stdout);
    decoder->text.length = 0;
    return good;
}

static bool decode_blocks(firnc_ids_reader *reader, firnc_decoder *decoder, firnc_output *output) {
    firnc_ids ids = {0};
    bool good = true;
    do {
        good = firnc_ids_read(reader, &ids);
        for (uint32_t i = 0; i < ids.count; i++)
            firnc_decoder_add(decoder, ids.ids[i]);
        good = (ids.count == 0 || put_text(output, decoder)) && good;
    } while (good && ids.count > 0 && interrupted == 0 && !ferror(stdout));
    if (good && reader->read == 0 && interrupted == 0)
        firnc_say("firnc: %s: has no ids, so there is no text; check what should have written them", reader->name);
    return good && (reader->read > 0 || interrupted != 0);
}

static int decode(const firnc_tokenizer *tokenizer, const request *r) {
    firnc_ids_reader reader;
    firnc_decoder decoder;
    firnc_output file = {0}, *output = writes_file(r) ? &file : NULL;
    if (!firnc_ids_read_begin(&reader, r->names[0], tokenizer->bpe.vocabulary.count))
        return FIRNC_EXIT_WRONG;
    watch_signals(r);
    firnc_decoder_begin(&decoder, tokenizer);
    if (output != NULL && !firnc_output_begin(output, r->output)) {
        firnc_ids_read_end(&reader);
        return FIRNC_EXIT_WRONG;
    }
    const bool good = decode_blocks(&reader, &decoder, output);
    firnc_ids_read_end(&reader);
    if (good && interrupted == 0)
        return output == NULL || firnc_output_end(output, NULL, 0) ? FIRNC_EXIT_OK : FIRNC_EXIT_WRONG;
    if (output != NULL)
        firnc_output_abandon(output);
    return good ? end_interrupted(r) : FIRNC_EXIT_WRONG;
}

/* --- the command -------------------------------------------------------------------------------------------------- */

/* Returns FIRNC_EXIT_OK if the inputs fit the other options. */
static int check_inputs(const request *r) {
    uint32_t streams = 0;
    for (uint32_t i = 0; i < r->name_count; i++)
        streams += firnc_ids_is_stream(r->names[i]);
    if (r->decode && r->text != NULL)
        return firnc_usage("tokens", "--text: is a text and no ids; leave out --to-text, or give ids as --to-text -");
    if (r->text != NULL && r->name_count > 0)
        return firnc_usage("tokens", "--text: encodes this text alone; leave out it or %s", r->names[0]);
    if (r->decode && r->name_count > 1)
        return firnc_usage("tokens", "--to-text: takes one file of ids; leave out %s", r->names[1]);
    if (streams > 1)
        return firnc_usage("tokens", "-: standard input can be read once; leave out the second -");
    return FIRNC_EXIT_OK;
}

/* Returns FIRNC_EXIT_OK if the output is no file that is read. */
static int check_output(const request *r) {
    const char *const others[] = {r->tokenizer, r->vocabulary, r->merges};
    const char *const outputs[] = {r->output, firnc_tokenizer_note_name(r->output)};
    for (uint32_t i = 0; i < (r->decode ? 1 : 2); i++)
        if (!firnc_output_is_free("tokens", outputs[i], r->names, r->name_count) ||
            !firnc_output_is_free("tokens", outputs[i], others, sizeof others / sizeof others[0]))
            return FIRNC_EXIT_USAGE;
    return FIRNC_EXIT_OK;
}

/* Returns FIRNC_EXIT_OK if the options fit each other. */
static int check(const request *r) {
    if ((r->tokenizer != NULL) == (r->vocabulary != NULL || r->merges != NULL) ||
        (r->vocabulary != NULL) != (r->merges != NULL))
        return firnc_usage("tokens",
                           "the tokenizer is missing or not one; give --tokenizer, or --vocabulary and --merges");
    if (r->decode && (r->count || r->special || r->plain))
        return firnc_usage("tokens", "--to-text: not with --count, --special or --no-special-in-text; leave one out");
    const int status = check_inputs(r);
    if (status != FIRNC_EXIT_OK)
        return status;
    if (r->count && r->output != NULL)
        return firnc_usage("tokens", "--count: writes nothing; leave out -o");
    if (!r->decode && !r->count && r->output == NULL)
        return firnc_usage("tokens", "-o: the name of the output is missing; add -o train.bin, -o - to print the ids, "
                                     "or --count");
    if (writes_file(r))
        return check_output(r);
    return firnc_has_output() ? FIRNC_EXIT_OK : FIRNC_EXIT_WRONG;
}

static int tokens_command(int argc, char **argv) {
    request r = {0};
    encoding *e = firnc_allocate(sizeof *e);
    if (!firnc_options_read(argc, argv, &firnc_command_tokens, &r))
        return FIRNC_EXIT_USAGE;
    const int status = check(&r);
    if (status != FIRNC_EXIT_OK)
        return status;
    const bool read = r.tokenizer != NULL ? firnc_tokenizer_read(&e->tokenizer, r.tokenizer)
                                          : firnc_tokenizer_read_pair(&e->tokenizer, r.vocabulary, r.merges);
    if (!read)
        return FIRNC_EXIT_WRONG;
    return r.decode ? decode(&e->tokenizer, &r) : encode(e, &r);
}

const firnc_command firnc_command_tokens = {
    .words = {.name = "tokens",
              .group = "Weights and text",
              .summary = "encode texts to token ids, and decode them",
              .forms = {"TEXT... --tokenizer FILE -o FILE [options]",
                        "TEXT... --vocabulary FILE --merges FILE -o FILE [options]", "TEXT... --tokenizer FILE --count",
                        "--text TEXT --tokenizer FILE -o -", "--to-text FILE --tokenizer FILE [-o FILE]"},
              .text = "encode texts to the ids of a tokenizer's tokens, and decode them",
              .more =
                  "An array (-o train.npy) is of int32, as firn train --data takes it. Raw ids are uint16 if the "
                  "vocabulary has at most 65,536 tokens, else int32, little-endian. Beside them train.npy.tokenizer "
                  "says by which tokenizer they were made. Texts are UTF-8 and are encoded one behind the other; the "
                  "text - is standard input. Letters, numbers and NFC are those of Unicode 14.0.0.",
              .examples = {{"firnc tokens text.txt --tokenizer tokenizer.json -o text.bin",
                            "encode a text to ids, for firn train --data"},
                           {"firnc tokens text.txt --tokenizer tokenizer.json --count", "print how many tokens it has"},
                           {"firnc tokens --text 'The plan' --tokenizer tokenizer.json -o - | firnc tokens --to-text - "
                            "--tokenizer tokenizer.json",
                            "print ids, and read them from standard input"}},
              .operand = {.value = "TEXT",
                          .kind = FIRN_OPTION_WORDS,
                          .least = 1,
                          .unless = "--text",
                          .names = FIRN_NAMES_STREAM,
                          .place = offsetof(request, names),
                          .count = offsetof(request, name_count)},
              .tables = {{options, sizeof options / sizeof options[0]}}},
    .run = tokens_command,
};
