/* Tests firn flash against devices that misbehave: it must end, and may not report what the device did not confirm. The
 * device is a child process behind a socket, which answers every frame as its case says. */
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "plan/bytes.h"
#include "plan/slots/frame.h"
#include "runtime/cli/cli.h"
#include "tests/unit/support_capture.h"
#include "tests/unit/support_signed_plans.h"
#include "tests/unit/support_test.h"

enum { PART = 256, OTHER = 3 };

#define WHOLE UINT64_MAX

/* What a device does; all zero: it takes the plan. */
typedef struct behaviour {
    int32_t hello_status, begin_status, data_status, commit_status;
    uint64_t begin_offset; /* WHOLE: the length of the plan */
    uint32_t begin_committed;
    bool silent; /* from the second frame on */
    bool stands_still, goes_back, gains, forgets_to_commit;
    uint32_t part, later_part; /* in the answer to hello, and in the others; 0: PART */
    bool no_part;              /* in the others */
} behaviour;

static char folder[64], port[128], file[128];
static signed_plan plan;

BEFORE_ALL {
    snprintf(folder, sizeof folder, "%s/firn-flash-XXXXXX", P_tmpdir);
    assert_non_null(mkdtemp(folder));
    snprintf(port, sizeof port, "%s/port", folder);
    snprintf(file, sizeof file, "%s/plan", folder);
    support_bigram(&plan, &support_settings);
    FILE *to = fopen(file, "wb");
    assert_true(to != NULL && fwrite(plan.file, 1, plan.bytes, to) == plan.bytes && fclose(to) == 0);
}

AFTER_ALL {
    assert_true(unlink(file) == 0 && unlink(port) == 0 && rmdir(folder) == 0);
}

/* The answer to a frame; *offset is how much of the plan the device has. */
static firn_frame_answer answer_of(const behaviour *b, uint8_t kind, const uint8_t *payload, uint32_t length,
                                   uint64_t *offset) {
    firn_frame_answer answer = {.capacity = UINT64_C(1) << 20, .part = b->later_part != 0 ? b->later_part : PART};
    if (b->no_part)
        answer.part = 0;
    switch (kind) {
    case FIRN_FRAME_HELLO:
        answer.part = b->part != 0 ? b->part : PART;
        answer.status = b->hello_status;
        return answer;
    case FIRN_FRAME_BEGIN:
        answer.status = b->begin_status;
        answer.committed = b->begin_committed;
        *offset = b->begin_offset != WHOLE ? b->begin_offset : plan.bytes;
        break;
    case FIRN_FRAME_DATA:
        answer.status = b->data_status;
        if (!b->stands_still)
            *offset = firn_load64(payload) + length - FIRN_FRAME_DATA_HEADER;
        if (b->goes_back && *offset > 2 * PART)
            *offset = 0;
        if (b->gains)
            *offset = plan.bytes + 1;
        break;
    default:
        answer.status = b->commit_status;
        answer.committed = !b->forgets_to_commit;
    }
    answer.offset = *offset;
    return answer;
}

/* Answers frames until the line is closed. */
static void serve(int line, const behaviour *b) {
    static uint8_t received[0x10000], sent[FIRN_FRAME_HEADER_BYTES + FIRN_FRAME_ANSWER_BYTES + FIRN_FRAME_CRC_BYTES];
    uint32_t filled = 0;
    uint64_t offset = 0;
    for (ssize_t count; (count = read(line, received + filled, sizeof received - filled)) > 0;) {
        firn_frame frame;
        filled += (uint32_t)count;
        while (firn_frame_find(received, filled, sizeof received, &frame) == FIRN_FRAME_GOOD) {
            const firn_frame_answer answer =
                answer_of(b, frame.kind, received + FIRN_FRAME_HEADER_BYTES, frame.length, &offset);
            filled -= firn_frame_bytes(&frame);
            memmove(received, received + firn_frame_bytes(&frame), filled);
            frame.kind |= FIRN_FRAME_ANSWER;
            frame.length = FIRN_FRAME_ANSWER_BYTES;
            firn_frame_answer_encode(&answer, sent + FIRN_FRAME_HEADER_BYTES);
            firn_frame_close(sent, &frame);
            if (b->silent && frame.kind != (FIRN_FRAME_HELLO | FIRN_FRAME_ANSWER))
                continue;
            if (write(line, sent, sizeof sent) != sizeof sent)
                return;
        }
    }
}

/* Starts a device behind `port`. */
static pid_t start(const behaviour *b) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    memcpy(address.sun_path, port, strlen(port) + 1);
    unlink(port);
    const int listening = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(listening >= 0 && bind(listening, (const struct sockaddr *)&address, sizeof address) == 0 &&
                listen(listening, 1) == 0);
    const pid_t device = fork();
    assert_true(device >= 0);
    if (device == 0) {
        const int line = accept(listening, NULL, NULL);
        signal(SIGPIPE, SIG_IGN);
        if (line >= 0)
            serve(line, b);
        _exit(0);
    }
    close(listening);
    return device;
}

/* Runs firn flash against such a device; returns its exit code, and leaves what it printed in `said`. */
static int flash(const behaviour *b, char *said, size_t most) {
    const pid_t device = start(b);
    const cli_options options = {.command = "flash", .file = file, .port = port, .timeout = 1};
    support_capture_begin(STDERR_FILENO);
    const int status = cli_flash(&options);
    support_capture_end(said, most);
    assert_int_equal(waitpid(device, NULL, 0), device);
    return status;
}

TEST(what_a_device_answers_is_not_taken_on_trust) {
    static const struct {
        behaviour device;
        const char *said;
        int status;
    } cases[] = {
        {{0}, "the device has it, and tries it at its next start", CLI_OK},
        {{.begin_offset = 2 * PART}, "512 bytes of it already", CLI_OK},
        {{.stands_still = true}, "no progress for 1 seconds", CLI_FILE},
        {{.goes_back = true}, "no progress for 1 seconds", CLI_FILE},
        {{.forgets_to_commit = true}, "says that it does not have it", CLI_FILE},
        {{.begin_offset = UINT64_C(1) << 63}, "contradicts itself", CLI_FILE},
        {{.begin_committed = 1}, "contradicts itself", CLI_FILE},
        {{.begin_committed = OTHER}, "contradicts itself", CLI_FILE},
        {{.gains = true}, "more than was sent", CLI_FILE},
        {{.part = 65520}, "parts of a size that no frame has", CLI_FILE},
        {{.later_part = UINT32_MAX}, "parts of a size that no frame has", CLI_FILE},
        {{.no_part = true}, "parts of a size that no frame has", CLI_FILE},
        {{.hello_status = -99}, "a greeting with an error", CLI_FILE},
        {{.data_status = FIRN_ERROR_NO_UPDATE}, "starts again and again", CLI_FILE},
        {{.commit_status = FIRN_ERROR_NO_UPDATE}, "starts again and again", CLI_FILE},
        {{.data_status = FIRN_ERROR_STORAGE}, "could not take it", CLI_FILE},
        {{.data_status = FIRN_ERROR_ARGUMENT}, "could not take it", CLI_FILE},
        {{.begin_status = OTHER}, "an unknown error", CLI_FILE},
        {{.begin_status = FIRN_ERROR_UNCONFIRMED}, "UNCONFIRMED", CLI_REFUSED},
        {{.begin_status = FIRN_ERROR_STORAGE_FULL}, "STORAGE_FULL", CLI_REFUSED},
        {{.begin_status = FIRN_ERROR_OLDER_PLAN}, "OLDER_PLAN", CLI_REFUSED},
        {{.commit_status = FIRN_ERROR_RUN_HASH}, "RUN_HASH", CLI_REFUSED},
        {{.begin_offset = WHOLE, .begin_committed = 1}, "the device has this plan already", CLI_OK},
        {{.begin_status = FIRN_ERROR_UNCONFIRMED, .begin_offset = WHOLE, .begin_committed = 1},
         "refuses it",
         CLI_REFUSED},
        {{.silent = true}, "no answer for 1 seconds", CLI_FILE},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char said[4096];
        const int status = flash(&cases[i].device, said, sizeof said);
        if (status != cases[i].status || strstr(said, cases[i].said) == NULL)
            fail_msg("case %zu: exit %d, %s", i, status, said);
        const char *message = strstr(said, "firn: ");
        if (message != NULL && strstr(message + 1, "firn: ") != NULL)
            fail_msg("case %zu: more than one message: %s", i, said);
    }
}
