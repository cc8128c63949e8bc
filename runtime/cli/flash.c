/* firn flash: sends a plan to a device over a line, by the protocol of runtime/UPDATE.md. The device decides
 * everything: what it lacks, whether the plan may run there, and when it is complete. A transfer that breaks off is
 * repeated by calling firn flash again. */
#define _POSIX_C_SOURCE 200809L
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "plan/bytes.h"
#include "plan/slots/frame.h"
#include "runtime/cli/cli.h"

#define BAUD_DEFAULT     115200u
#define PATIENCE_DEFAULT 30u  /* seconds without an answer, after which it is given up */
#define AGAIN_SECONDS    2.0  /* without an answer, after which a frame is sent again */
#define LONG_SECONDS     10.0 /* the same for frames that let the device check a signature, erase, or hash */
#define BEGINNINGS       5    /* times that a transfer is begun again because the device has forgotten it */
#define PLAIN_LINES      10

/* Bytes of the longest frame and of the buffer for answers. */
enum { FRAME_MAX = 0x10000 };

typedef struct transfer {
    const cli_options *options;
    firn_host_plan plan;
    firn_host_line line;
    uint32_t sequence;
    uint8_t frame[FRAME_MAX], received[FRAME_MAX];
    uint32_t filled; /* bytes in `received` */
    firn_frame_answer answer;
    bool terminal, open; /* as in cli_progress */
    uint64_t resumed, shown;
    double shown_at;
} transfer;

/* --- messages --- */

static void end_line(transfer *t) {
    if (t->open)
        fputs("\n", stderr);
    t->open = false;
}

static void show(transfer *t) {
    const uint64_t done = t->answer.offset, all = t->plan.count;
    if (t->options->quiet)
        return;
    if (t->terminal) {
        const double now = cli_seconds();
        if (done != all && now - t->shown_at < 0.2)
            return;
        fprintf(stderr, "\r%llu of %llu bytes, %u%%\033[K", (unsigned long long)done, (unsigned long long)all,
                (unsigned)(done * 100 / all));
        fflush(stderr);
        t->shown_at = now;
        t->open = true;
    } else if (done == all || done >= t->shown + all / PLAIN_LINES) {
        fprintf(stderr, "%llu of %llu bytes\n", (unsigned long long)done, (unsigned long long)all);
        t->shown = done;
    }
}

static const struct {
    int error;
    const char *mend;
} mends[] = {
    {FIRN_ERROR_UNSIGNED, "sign it by `firnc sign` and `firnc attach`"},
    {FIRN_ERROR_WRONG_KEY, "sign it with a key that the device has"},
    {FIRN_ERROR_KEY_REVOKED, "sign it with a key that the device still accepts"},
    {FIRN_ERROR_OTHER_DEVICE, "give the plan for this device"},
    {FIRN_ERROR_OTHER_IMAGE, "give the plan with the device's image id"},
    {FIRN_ERROR_SECURITY_COUNTER, "compile it with a --security-counter that is not below the device's"},
    {FIRN_ERROR_OLDER_PLAN, "compile it with a higher --plan-version"},
    {FIRN_ERROR_UNCONFIRMED, "let the device run a step, then flash again"},
    {FIRN_ERROR_STORAGE_FULL, "its slot is too small for this plan; compile a smaller one, or cut off its report"},
    {FIRN_ERROR_FORMAT_VERSION, "compile it with the firnc of the device's version"},
};

/* Prints why a plan was refused, here or by the device. */
static int refused(transfer *t, const char *who, int error) {
    const char *mend = "flash again, or get the plan again from where it came";
    for (size_t i = 0; i < sizeof mends / sizeof *mends; i++)
        if (mends[i].error == error)
            mend = mends[i].mend;
    end_line(t);
    firn_host_fail(t->options->file, "%s%s (%s); %s", who, firn_error_text(error), firn_error_name(error), mend);
    return error <= FIRN_ERROR_STORAGE && error != FIRN_ERROR_STORAGE_FULL ? CLI_FILE : CLI_REFUSED;
}

/* --- frames --- */

/* Takes the frames in the buffer; returns true if the answer to this frame was there. Anything else, such as what the
 * device prints when it boots, is passed over. */
static bool take_answer(transfer *t, uint8_t kind) {
    for (;;) {
        firn_frame frame;
        const firn_frame_found found = firn_frame_find(t->received, t->filled, FRAME_MAX, &frame);
        if (found == FIRN_FRAME_WANTING)
            return false;
        const bool mine = found == FIRN_FRAME_GOOD && frame.kind == (kind | FIRN_FRAME_ANSWER) &&
                          frame.sequence == t->sequence && frame.length >= FIRN_FRAME_ANSWER_BYTES;
        if (mine)
            firn_frame_answer_decode(&t->answer, t->received + FIRN_FRAME_HEADER_BYTES);
        const uint32_t gone = found == FIRN_FRAME_GOOD ? firn_frame_bytes(&frame) : 1;
        t->filled -= gone;
        memmove(t->received, t->received + gone, t->filled);
        if (mine)
            return true;
    }
}

/* Receives until the answer is there or the time is over. Returns false if the line failed. */
static bool wait_for_answer(transfer *t, uint8_t kind, double until, bool *answered) {
    *answered = take_answer(t, kind);
    while (!*answered && cli_seconds() < until) {
        size_t count;
        if (!firn_host_line_receive(&t->line, t->received + t->filled, FRAME_MAX - t->filled, until - cli_seconds(),
                                    &count))
            return false;
        t->filled += (uint32_t)count;
        *answered = take_answer(t, kind);
    }
    return true;
}

/* Sends a frame, whose payload is in place, until it is answered. */
static int ask(transfer *t, uint8_t kind, uint32_t length) {
    const double begun = cli_seconds();
    const double patience = t->options->timeout != 0 ? t->options->timeout : PATIENCE_DEFAULT;
    const double again = kind == FIRN_FRAME_BEGIN || kind == FIRN_FRAME_COMMIT ? LONG_SECONDS : AGAIN_SECONDS;
    const firn_frame frame = {.kind = kind, .sequence = ++t->sequence, .length = (uint16_t)length};
    firn_frame_close(t->frame, &frame);
    bool answered = false;
    while (!answered && cli_seconds() - begun < patience) {
        const double left = patience - (cli_seconds() - begun);
        if (!firn_host_line_send(&t->line, t->frame, firn_frame_bytes(&frame), left) ||
            !wait_for_answer(t, kind, cli_seconds() + (left < again ? left : again), &answered))
            return CLI_FILE;
    }
    if (answered)
        return CLI_OK;
    end_line(t);
    firn_host_fail(t->options->port,
                   "no answer for %u seconds; look whether the device is on and its program receives updates, and "
                   "flash again: it goes on where it was",
                   (unsigned)patience);
    return CLI_FILE;
}

static uint8_t *payload_of(transfer *t) {
    return t->frame + FIRN_FRAME_HEADER_BYTES;
}

static int say_hello(transfer *t) {
    int status = ask(t, FIRN_FRAME_HELLO, 0);
    if (status != CLI_OK)
        return status;
    const uint32_t room = 0xffff - FIRN_FRAME_DATA_HEADER;
    if (t->answer.part == 0 || t->answer.part > room) {
        firn_host_fail(t->options->port, "the device takes parts of %lu bytes, which no frame has",
                       (unsigned long)t->answer.part);
        return CLI_FILE;
    }
    return t->plan.count > t->answer.capacity ? refused(t, "", FIRN_ERROR_STORAGE_FULL) : CLI_OK;
}

static int begin(transfer *t) {
    firn_store64(payload_of(t), t->plan.count);
    memcpy(payload_of(t) + FIRN_FRAME_DATA_HEADER, t->plan.bytes, FIRN_PAYLOAD_OFFSET);
    int status = ask(t, FIRN_FRAME_BEGIN, FIRN_FRAME_BEGIN_BYTES);
    if (status == CLI_OK && t->answer.status != FIRN_OK)
        return refused(t, "the device refuses it: ", t->answer.status);
    t->shown = t->answer.offset;
    return status;
}

static int send_part(transfer *t) {
    const uint64_t offset = t->answer.offset, left = t->plan.count - offset;
    const uint32_t part = left < t->answer.part ? (uint32_t)left : t->answer.part;
    firn_store64(payload_of(t), offset);
    memcpy(payload_of(t) + FIRN_FRAME_DATA_HEADER, (const uint8_t *)t->plan.bytes + offset, part);
    return ask(t, FIRN_FRAME_DATA, FIRN_FRAME_DATA_HEADER + part);
}

/* Sends what the device lacks, then lets it check and commit the plan. *again becomes true if the device has forgotten
 * the transfer, because it was started again. */
static int send_rest(transfer *t, bool *again) {
    int status = CLI_OK;
    *again = false;
    while (status == CLI_OK && t->answer.offset < t->plan.count) {
        status = send_part(t);
        *again = status == CLI_OK && t->answer.status == FIRN_ERROR_NO_UPDATE;
        if (status != CLI_OK || *again)
            return status;
        if (t->answer.status != FIRN_OK)
            return refused(t, "the device could not take it: ", t->answer.status);
        if (t->answer.offset > t->plan.count)
            return refused(t, "the device has more than was sent: ", FIRN_ERROR_TRAILING_BYTES);
        show(t);
    }
    status = ask(t, FIRN_FRAME_COMMIT, 0);
    *again = status == CLI_OK && t->answer.status == FIRN_ERROR_NO_UPDATE;
    if (status == CLI_OK && !*again && t->answer.status != FIRN_OK)
        return refused(t, "the device refuses it: ", t->answer.status);
    return status;
}

static int send_plan(transfer *t) {
    int status = say_hello(t);
    bool again = true;
    for (int i = 0; status == CLI_OK && again && i < BEGINNINGS; i++) {
        status = begin(t);
        if (status != CLI_OK)
            break;
        if (t->answer.committed != 0) {
            if (!t->options->quiet)
                firn_host_note("%s: the device has this plan already", t->options->file);
            return CLI_OK;
        }
        if (t->answer.offset != 0 && !t->options->quiet)
            firn_host_note("the device has %llu bytes of it already", (unsigned long long)t->answer.offset);
        status = send_rest(t, &again);
    }
    end_line(t);
    if (status == CLI_OK && again)
        return refused(t, "the device starts again and again: ", FIRN_ERROR_NO_UPDATE);
    if (status == CLI_OK && !t->options->quiet)
        firn_host_note("%s: the device has it, and tries it at its next start", t->options->file);
    return status;
}

/* A plan that no device could accept is refused before the line is opened. */
static int load(transfer *t) {
    firn_header header;
    if (!firn_host_plan_load(&t->plan, t->options->file))
        return CLI_FILE;
    const int error = firn_header_decode(&header, t->plan.bytes, t->plan.count);
    return error == FIRN_OK ? CLI_OK : refused(t, "", error);
}

int cli_flash(const cli_options *options) {
    static transfer t;
    t = (transfer){.options = options, .terminal = isatty(STDERR_FILENO) == 1, .line = {.file = -1}};
    /* Answers to an earlier call are told apart by their sequence. */
    t.sequence = (uint32_t)getpid() << 16 ^ (uint32_t)(cli_seconds() * 1000);
    int status = load(&t);
    if (status == CLI_OK)
        status = firn_host_line_open(&t.line, options->port, options->baud != 0 ? options->baud : BAUD_DEFAULT)
                     ? send_plan(&t)
                     : CLI_FILE;
    firn_host_line_close(&t.line);
    firn_host_plan_unload(&t.plan);
    return status;
}
