/* The client of pytorch.py, a child process that answers questions line by line. It is started once. Without Python or
 * PyTorch, or after the child has ended or hangs, every question counts as unanswered. */
#define _POSIX_C_SOURCE 200809L
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/bench/bench.h"

#define SCRIPT "tests/bench/pytorch.py"
/* Seconds beyond its limit after which the child counts as hanging: it looks at the limit between two operations. */
#define PATIENCE 60.0
#define START    120.0 /* seconds that the import of PyTorch may take */
#define ROUND    300.0 /* the same for one measurement of what has been prepared */

static FILE *questions;
static int answers = -1;
static pid_t child;
static char about[512];

const char *bench_torch_name(unsigned way) {
    static const char *const names[] = {
        [BENCH_EAGER] = "eager",
        [BENCH_COMPILED] = "compiled",
        [BENCH_BFLOAT16] = "bf16",
        [BENCH_BFLOAT16_COMPILED] = "bf16_compiled",
        [BENCH_CHANNELS_LAST] = "channels_last",
        [BENCH_CHANNELS_LAST_COMPILED] = "channels_last_compiled",
        [BENCH_BFLOAT16_LAST] = "bf16_channels_last",
        [BENCH_BFLOAT16_LAST_COMPILED] = "bf16_channels_last_compiled",
    };
    return names[way];
}

const char *bench_torch_about(void) {
    return about[0] == '{' ? about : NULL;
}

static void run_python(int input, int output) {
    char threads[16];
    bench_format(threads, sizeof threads, "%u", bench_settings.threads);
    if (dup2(input, STDIN_FILENO) < 0 || dup2(output, STDOUT_FILENO) < 0)
        _exit(126);
    execlp(bench_settings.python, bench_settings.python, "-W", "ignore", SCRIPT, threads, (char *)NULL);
    _exit(127);
}

/* Reads one line, without its end. Returns false, and ends the child, if none comes in time. */
static bool read_answer(char *line, size_t size, double seconds) {
    const double end = bench_seconds() + seconds;
    size_t length = 0;
    char byte = 0;
    while (answers >= 0 && byte != '\n') {
        struct pollfd ready = {.fd = answers, .events = POLLIN};
        const double left = end - bench_seconds();
        if (left <= 0.0 || poll(&ready, 1, (int)(1e3 * left) + 1) <= 0 || read(answers, &byte, 1) != 1) {
            bench_torch_end();
            break;
        }
        if (length + 1 < size && byte != '\n')
            line[length++] = byte;
    }
    line[length] = 0;
    return byte == '\n';
}

static void say_that_it_is_missing(void) {
    fprintf(stderr, "bench: no PyTorch for %s%s%s: its columns stay empty\n", bench_settings.python,
            about[0] != 0 ? ": " : "", about);
}

void bench_torch_begin(void) {
    int to_child[2], from_child[2];
    if (bench_settings.torches == 0 || pipe(to_child) != 0 || pipe(from_child) != 0)
        return;
    signal(SIGPIPE, SIG_IGN);
    child = fork();
    if (child == 0) {
        close(to_child[1]);
        close(from_child[0]);
        run_python(to_child[0], from_child[1]);
    }
    close(to_child[0]);
    close(from_child[1]);
    questions = fdopen(to_child[1], "w");
    answers = from_child[0];
    if (child < 0 || questions == NULL || !read_answer(about, sizeof about, START) || about[0] != '{') {
        bench_torch_end();
        say_that_it_is_missing();
    }
}

/* PyTorch's threads keep busy-waiting for a while after their work. */
static void let_threads_rest(void) {
    nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
}

/* Returns the number that the child answers with; 0 if it answers with anything else, which is left in `answer`. */
static double ask(char *answer, size_t size, double limit, const char *verb, unsigned way, const char *question) {
    char *end;
    answer[0] = 0;
    if (questions == NULL)
        return 0.0;
    if (fprintf(questions, "%s %.0f %s %s\n", verb, fmax(limit, 1.0), bench_torch_name(way), question) < 0 ||
        fflush(questions) != 0 || !read_answer(answer, size, limit + PATIENCE)) {
        bench_format(answer, size, "the process ended or hangs");
        fprintf(stderr, "bench: torch %s, %s: %s\n", bench_torch_name(way), question, answer);
        bench_torch_end();
        return 0.0;
    }
    let_threads_rest();
    const double seconds = strtod(answer, &end);
    return end != answer && seconds > 0.0 ? seconds : 0.0;
}

double bench_torch_prepare(unsigned way, const char *question, double limit, char *why, size_t size) {
    char answer[512];
    const double seconds = ask(answer, sizeof answer, limit, "prepare", way, question);
    if (seconds <= 0.0)
        bench_format(why, size, "%.*s", (int)size - 1, strncmp(answer, "none ", 5) == 0 ? answer + 5 : answer);
    return seconds;
}

double bench_torch(unsigned way, const char *question) {
    char answer[512];
    const double seconds = ask(answer, sizeof answer, ROUND, "measure", way, question);
    if (seconds <= 0.0 && questions != NULL)
        fprintf(stderr, "bench: torch %s, %s: %s\n", bench_torch_name(way), question, answer);
    return seconds;
}

void bench_torch_end(void) {
    if (questions != NULL)
        fclose(questions);
    if (answers >= 0)
        close(answers);
    if (child > 0) {
        kill(child, SIGTERM);
        waitpid(child, NULL, 0);
    }
    questions = NULL;
    answers = -1;
    child = 0;
}
