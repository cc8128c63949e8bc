/* firn generate: runs a decode plan over a checkpoint's parameters, prints a prompt and the tokens that follow it. A
 * model of bytes reads and prints text, any other the ids of tokens, as numbers. Each token is printed as soon as it is
 * chosen. */
#define _POSIX_C_SOURCE 200809L
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/cli/cli.h"
#include "runtime/decode/decode.h"
#include "runtime/decode/sampling.h"

typedef struct text {
    cli_session *session;
    firn_decoder decoder;
    bool bytes;      /* ids are bytes of text */
    uint32_t limit;  /* ids are below it */
    int32_t *prompt; /* ids */
    size_t count;    /* of the prompt */
    uint32_t *room;  /* of firn_sample */
    void *chunk;     /* ids of a step, in the type of the plan */
    bool printed;    /* an id has been printed: the next one follows a space */
} text;

/* --- the prompt --- */

static int refuse_prompt(const text *t, const char *what) {
    firn_host_fail(t->session->options->command, "--prompt: %s", what);
    return CLI_USAGE;
}

/* A model of bytes: each byte of the prompt is a token. */
static int read_bytes(text *t, const char *prompt) {
    t->count = strlen(prompt);
    for (size_t i = 0; i < t->count; i++) {
        t->prompt[i] = (unsigned char)prompt[i];
        if ((uint32_t)t->prompt[i] < t->limit)
            continue;
        char what[128];
        snprintf(what, sizeof what, "byte %llu is %ld, and the model has the bytes 0 to %lu; leave it out",
                 (unsigned long long)i, (long)t->prompt[i], (unsigned long)(t->limit - 1));
        return refuse_prompt(t, what);
    }
    return CLI_OK;
}

/* Other models: numbers, between which are spaces, commas or line ends. */
static int read_ids(text *t, const char *prompt) {
    static const char between[] = " ,\t\n";
    for (const char *at = prompt + strspn(prompt, between); *at != 0; at += strspn(at, between)) {
        char *end = NULL;
        const unsigned long long id = *at >= '0' && *at <= '9' ? strtoull(at, &end, 10) : UINT64_MAX;
        if (id >= t->limit || (*end != 0 && strchr(between, *end) == NULL)) {
            char what[160];
            snprintf(what, sizeof what,
                     "the model reads the ids of tokens, and \"%.*s\" is none; write numbers from 0 to %lu",
                     (int)(strcspn(at, between) < 40 ? strcspn(at, between) : 40), at, (unsigned long)(t->limit - 1));
            return refuse_prompt(t, what);
        }
        t->prompt[t->count++] = (int32_t)id;
        at = end;
    }
    return CLI_OK;
}

static int read_prompt(text *t) {
    const char *prompt = t->session->options->prompt;
    t->prompt = firn_host_allocate((strlen(prompt) + 1) * sizeof *t->prompt);
    const int status = t->bytes ? read_bytes(t, prompt) : read_ids(t, prompt);
    if (status != CLI_OK)
        return status;
    if (t->count == 0)
        return refuse_prompt(t, "has no token; write at least one");
    if (t->count <= t->decoder.context)
        return CLI_OK;
    char what[128];
    snprintf(what, sizeof what, "has %llu tokens, and the model's context is %lu; shorten it",
             (unsigned long long)t->count, (unsigned long)t->decoder.context);
    return refuse_prompt(t, what);
}

/* --- steps --- */

/* Takes tokens; `logits` are then the scores behind the last of them. */
static int take(text *t, const int32_t *ids, uint32_t count, const float **logits) {
    memset(t->chunk, 0, (size_t)t->decoder.chunk * sizeof *ids);
    for (uint32_t i = 0; i < count; i++) {
        if (t->bytes)
            ((uint8_t *)t->chunk)[i] = (uint8_t)ids[i];
        else
            ((int32_t *)t->chunk)[i] = ids[i];
    }
    int error = firn_decode(&t->decoder, t->chunk, count, logits);
    if (error == FIRN_OK)
        error = cli_session_confirm(t->session);
    return error == FIRN_OK ? CLI_OK : cli_error(t->session, error);
}

static int take_prompt(text *t, const float **logits) {
    int status = CLI_OK;
    for (size_t at = 0; status == CLI_OK && at < t->count && !cli_signals_came();) {
        const size_t left = t->count - at;
        const uint32_t count = left < t->decoder.chunk ? (uint32_t)left : t->decoder.chunk;
        status = take(t, t->prompt + at, count, logits);
        at += count;
    }
    return status;
}

static int print_token(text *t, int32_t id) {
    if (t->bytes)
        putchar(id);
    else
        printf("%s%ld", t->printed ? " " : "", (long)id);
    t->printed = true;
    return cli_flush();
}

/* Whether there is no NaN among the scores. If there is one the parameters are at fault, and what would be drawn means
 * nothing. */
static bool are_numbers(const text *t, const float *logits) {
    bool numbers = true;
    for (uint32_t i = 0; i < t->decoder.classes; i++)
        numbers = numbers && logits[i] == logits[i];
    return numbers;
}

static int choose(const text *t, const float *logits, int32_t *id) {
    uint32_t chosen = 0;
    if (!are_numbers(t, logits)) {
        firn_host_fail(t->session->options->checkpoint,
                       "the scores of token %lu hold NaN: a parameter is not finite or too large; use an earlier "
                       "checkpoint",
                       (unsigned long)firn_decoder_length(&t->decoder));
        return CLI_NUMBERS;
    }
    const int error = firn_sample(logits, t->decoder.classes, &t->session->options->sampling,
                                  firn_decoder_length(&t->decoder), t->room, &chosen);
    *id = (int32_t)chosen;
    return error == FIRN_OK ? CLI_OK : cli_error(t->session, error);
}

/* Without --tokens the end of the context is what was asked for. */
static void note_end(const text *t, uint64_t tokens) {
    if (!t->session->options->quiet && t->session->options->tokens != UINT64_MAX)
        firn_host_note("ends after %llu of %llu tokens: the model's context of %lu tokens is full",
                       (unsigned long long)tokens, (unsigned long long)t->session->options->tokens,
                       (unsigned long)t->decoder.context);
}

/* Prints the tokens that follow, as many as are asked for and the context has room for. */
static int follow(text *t, const float *logits) {
    const cli_options *options = t->session->options;
    uint64_t tokens = 0;
    int32_t id;
    int status = CLI_OK;
    while (tokens < options->tokens && !cli_signals_came()) {
        status = choose(t, logits, &id);
        if (status == CLI_OK)
            status = print_token(t, id);
        if (status != CLI_OK || ++tokens == options->tokens)
            break;
        if (firn_decoder_length(&t->decoder) == t->decoder.context) {
            note_end(t, tokens);
            break;
        }
        status = take(t, &id, 1, &logits);
        if (status != CLI_OK)
            break;
    }
    return status;
}

static int run(text *t) {
    const float *logits = NULL;
    int status = CLI_OK;
    for (size_t i = 0; status == CLI_OK && i < t->count; i++)
        status = print_token(t, t->prompt[i]);
    if (status == CLI_OK)
        status = take_prompt(t, &logits);
    if (status == CLI_OK && !cli_signals_came())
        status = follow(t, logits);
    putchar('\n');
    if (status == CLI_OK)
        status = cli_flush();
    return status == CLI_OK && cli_signals_came() ? CLI_INTERRUPTED : status;
}

/* --- the command --- */

static int generate(text *t) {
    firn_stream_info ids;
    int error = firn_decoder_begin(&t->decoder, &t->session->firn);
    if (error == FIRN_OK)
        error = firn_stream_at(&t->session->firn, 0, &ids);
    if (error == FIRN_ERROR_WRONG_MODE) {
        firn_host_fail(t->session->options->file,
                       "is no decode plan (%s); compile it with firnc compile --mode eval --decode",
                       firn_error_name(error));
        return CLI_REFUSED;
    }
    if (error != FIRN_OK)
        return cli_error(t->session, error);
    t->bytes = ids.element == FIRN_UINT8;
    t->limit = ids.limit;
    int status = read_prompt(t);
    if (status == CLI_OK)
        status = cli_restore(t->session);
    if (status != CLI_OK)
        return status;
    cli_tokenizer_note_training(t->session);
    t->room = firn_host_allocate(2 * (size_t)t->decoder.classes * sizeof *t->room);
    t->chunk = firn_host_allocate((size_t)t->decoder.chunk * sizeof(int32_t));
    /* Nothing has to be saved, so a reader that has seen enough ends the run as it ends any filter. */
    struct sigaction pipe;
    sigaction(SIGPIPE, NULL, &pipe);
    cli_signals_catch();
    sigaction(SIGPIPE, &pipe, NULL);
    return run(t);
}

int cli_generate(const cli_options *options) {
    static cli_session session;
    static text text;
    text.session = &session;
    int status = cli_session_begin_alone(&session, options);
    if (status == CLI_OK)
        status = generate(&text);
    free(text.prompt);
    free(text.room);
    free(text.chunk);
    cli_session_end(&session);
    return status;
}
