/* firn flash: sends a plan to a device over a line, by the protocol of runtime/UPDATE.md. The device decides
 * everything: what it lacks, whether the plan may run there, and when it is complete. A transfer that breaks off is
 * repeated by calling firn flash again. */
#define _POSIX_C_SOURCE 200809L
#include <string.h>
#include <unistd.h>

#include "plan/bytes.h"
#include "plan/slots/frame.h"
#include "runtime/cli/cli.h"
#include "runtime/program/descriptors.h"

#define BAUD_DEFAULT     115200u
#define PATIENCE_DEFAULT 30u  /* seconds without an answer, or without progress, after which it is given up */
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
    uint64_t shown;
    double shown_at;
} transfer;

static double patience(const transfer *t) {
    return t->options->timeout != 0 ? t->options->timeout : PATIENCE_DEFAULT;
}

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
                (unsigned)(all == 0 ? 100 : done * 100 / all));
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

/* Errors that are about the plan, and not about the device, its flash or the transfer; also those of the same ranges
 * that a newer device may have. */
static bool is_about_plan(int error) {
    return error == FIRN_ERROR_UNCONFIRMED || error == FIRN_ERROR_STORAGE_FULL ||
           (error <= FIRN_ERROR_TRUNCATED && error > FIRN_ERROR_CHECKPOINT_MISSING);
}

/* Prints why a plan was refused, here or by the device. */
static int refused(transfer *t, const char *who, int error) {
    const char *mend = "flash again, or get the plan again from where it came";
    for (size_t i = 0; i < sizeof mends / sizeof *mends; i++)
        if (mends[i].error == error)
            mend = mends[i].mend;
    end_line(t);
    firn_host_fail(t->options->file, "%s%s (%s); %s", who, firn_error_text(error), firn_error_name(error), mend);
    return is_about_plan(error) ? CLI_REFUSED : CLI_FILE;
}

/* Prints what a device has answered that no device of this protocol answers. */
static int strayed(transfer *t, const char *what) {
    end_line(t);
    firn_host_fail(t->options->port,
                   "the device %s; it may have another version of the protocol, or something else answers: look which "
                   "program it runs",
                   what);
    return CLI_FILE;
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

/* The largest part of a plan that fits into `frame`. */
enum { PART_MAX = FRAME_MAX - FIRN_FRAME_HEADER_BYTES - FIRN_FRAME_DATA_HEADER - FIRN_FRAME_CRC_BYTES };
_Static_assert(PART_MAX + FIRN_FRAME_DATA_HEADER <= UINT16_MAX, "a frame says how long it is in 16 bits");

/* Sends a frame, whose payload is in place, until it is answered. Each answer says how large the next part may be. */
static int ask(transfer *t, uint8_t kind, uint32_t length) {
    const double begun = cli_seconds();
    const double again = kind == FIRN_FRAME_BEGIN || kind == FIRN_FRAME_COMMIT ? LONG_SECONDS : AGAIN_SECONDS;
    const firn_frame frame = {.kind = kind, .sequence = ++t->sequence, .length = (uint16_t)length};
    firn_frame_close(t->frame, &frame);
    bool answered = false;
    while (!answered && cli_seconds() - begun < patience(t)) {
        const double left = patience(t) - (cli_seconds() - begun);
        if (!firn_host_line_send(&t->line, t->frame, firn_frame_bytes(&frame), left) ||
            !wait_for_answer(t, kind, cli_seconds() + (left < again ? left : again), &answered))
            return CLI_FILE;
    }
    if (answered && (t->answer.part == 0 || t->answer.part > PART_MAX))
        return strayed(t, "takes parts of a size that no frame has");
    if (answered)
        return CLI_OK;
    end_line(t);
    firn_host_fail(t->options->port,
                   "no answer for %u seconds; look whether the device is on and its program receives updates, and "
                   "flash again: it goes on where it was",
                   (unsigned)patience(t));
    return CLI_FILE;
}

static int stands_still(transfer *t) {
    end_line(t);
    firn_host_fail(t->options->port,
                   "no progress for %u seconds, though the device answers; start the device again, and flash again",
                   (unsigned)patience(t));
    return CLI_FILE;
}

static uint8_t *payload_of(transfer *t) {
    return t->frame + FIRN_FRAME_HEADER_BYTES;
}

static int say_hello(transfer *t) {
    int status = ask(t, FIRN_FRAME_HELLO, 0);
    if (status != CLI_OK)
        return status;
    if (t->answer.status != FIRN_OK)
        return strayed(t, "answers a greeting with an error");
    return t->plan.count > t->answer.capacity ? refused(t, "", FIRN_ERROR_STORAGE_FULL) : CLI_OK;
}

/* True if the answer says that the device has the plan. */
static bool is_complete(const transfer *t) {
    return t->answer.committed == 1 && t->answer.offset == t->plan.count;
}

static int begin(transfer *t) {
    firn_store64(payload_of(t), t->plan.count);
    memcpy(payload_of(t) + FIRN_FRAME_DATA_HEADER, t->plan.bytes, FIRN_PAYLOAD_OFFSET);
    int status = ask(t, FIRN_FRAME_BEGIN, FIRN_FRAME_BEGIN_BYTES);
    if (status == CLI_OK && t->answer.status != FIRN_OK)
        return refused(t, "the device refuses it: ", t->answer.status);
    if (status == CLI_OK && (t->answer.committed != 0 ? !is_complete(t) : t->answer.offset > t->plan.count))
        return strayed(t, "contradicts itself about how much of the plan it has");
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

/* Sends what the device lacks. *again becomes true if the device has forgotten the transfer, because it was started
 * again. A device that answers but gets no further than it was is given up like one that does not answer. */
static int send_rest(transfer *t, bool *again) {
    uint64_t reached = t->answer.offset;
    double advanced = cli_seconds();
    *again = false;
    while (t->answer.offset < t->plan.count) {
        const int status = send_part(t);
        *again = status == CLI_OK && t->answer.status == FIRN_ERROR_NO_UPDATE;
        if (status != CLI_OK || *again)
            return status;
        if (t->answer.status != FIRN_OK)
            return refused(t, "the device could not take it: ", t->answer.status);
        if (t->answer.offset > t->plan.count)
            return strayed(t, "says that it has more than was sent");
        if (t->answer.offset > reached) {
            reached = t->answer.offset;
            advanced = cli_seconds();
        } else if (cli_seconds() - advanced >= patience(t)) {
            return stands_still(t);
        }
        show(t);
    }
    return CLI_OK;
}

/* Lets the device check and commit the plan; *again as above. */
static int commit(transfer *t, bool *again) {
    const int status = ask(t, FIRN_FRAME_COMMIT, 0);
    *again = status == CLI_OK && t->answer.status == FIRN_ERROR_NO_UPDATE;
    if (status != CLI_OK || *again)
        return status;
    if (t->answer.status != FIRN_OK)
        return refused(t, "the device refuses it: ", t->answer.status);
    return is_complete(t) ? CLI_OK : strayed(t, "commits the plan and says that it does not have it");
}

static int send_plan(transfer *t) {
    int status = say_hello(t);
    bool again = true;
    for (int i = 0; status == CLI_OK && again && i < BEGINNINGS; i++) {
        status = begin(t);
        if (status != CLI_OK)
            break;
        if (is_complete(t)) {
            if (!t->options->quiet)
                firn_host_note("%s: the device has this plan already", t->options->file);
            return CLI_OK;
        }
        if (t->answer.offset != 0 && !t->options->quiet)
            firn_host_note("the device has %llu bytes of it already", (unsigned long long)t->answer.offset);
        status = send_rest(t, &again);
        if (status == CLI_OK && !again)
            status = commit(t, &again);
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
    if (!firn_is_plan(t->plan.bytes, t->plan.count))
        return cli_refuse_no_plan(t->options->file, &t->plan);
    const int error = firn_header_decode(&header, t->plan.bytes, t->plan.count);
    return error == FIRN_OK ? CLI_OK : refused(t, "", error);
}

int cli_flash(const cli_options *options) {
    static transfer t;
    t = (transfer){.options = options, .terminal = firn_program_has_terminal(), .line = {.file = -1}};
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
