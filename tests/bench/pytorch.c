/* The client of pytorch.py, a child process that answers questions line by line. Without Python or PyTorch every
 * question counts as unanswered. */
#define _POSIX_C_SOURCE 200809L
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/bench/bench.h"

#define SCRIPT "tests/bench/pytorch.py"

static FILE *questions, *answers;
static pid_t child;
static char version[64] = "no torch";

static void run_python(int input, int output) {
    char threads[16];
    bench_format(threads, sizeof threads, "%u", bench_settings.threads);
    if (dup2(input, STDIN_FILENO) < 0 || dup2(output, STDOUT_FILENO) < 0)
        _exit(126);
    execlp(bench_settings.python, bench_settings.python, "-W", "ignore", SCRIPT, threads, (char *)NULL);
    _exit(127);
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
    answers = fdopen(from_child[0], "r");
    char line[sizeof version];
    if (child < 0 || questions == NULL || answers == NULL || fgets(line, sizeof line, answers) == NULL) {
        bench_torch_end();
        return;
    }
    line[strcspn(line, "\n")] = 0;
    memcpy(version, line, sizeof version);
}

const char *bench_torch_version(void) {
    return version;
}

/* PyTorch's threads keep busy-waiting for a while after their work. */
static void let_threads_rest(void) {
    nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
}

double bench_torch(unsigned variant, const char *question) {
    static const char *const names[] = {"eager",         "compiled",      "bf16",
                                        "bf16_compiled", "channels_last", "channels_last_compiled"};
    char answer[512], *end;
    if (questions == NULL || (bench_settings.torches >> variant & 1u) == 0)
        return 0.0;
    if (fprintf(questions, "%s %s\n", names[variant], question) < 0 || fflush(questions) != 0 ||
        fgets(answer, sizeof answer, answers) == NULL)
        return 0.0;
    let_threads_rest();
    const double seconds = strtod(answer, &end);
    if (end != answer && seconds > 0.0)
        return seconds;
    if (strncmp(answer, "none failed before", 18) != 0)
        fprintf(stderr, "bench: torch %s, %s: %s", names[variant], question, answer);
    return 0.0;
}

void bench_torch_end(void) {
    if (questions != NULL)
        fclose(questions);
    if (answers != NULL)
        fclose(answers);
    if (child > 0)
        waitpid(child, NULL, 0);
    questions = answers = NULL;
    child = 0;
}
