/* Runs work of the compiler and clears up behind it (compiler/base/perform.h). */
#define _XOPEN_SOURCE 700

#include "compiler/base/perform.h"

#include <pthread.h>
#include <signal.h>

#include "compiler/base/files.h"

static pthread_mutex_t compiler;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static bool ready;

static void make_lock(void) {
    pthread_mutexattr_t attributes;
    ready = pthread_mutexattr_init(&attributes) == 0 &&
            pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_ERRORCHECK) == 0 &&
            pthread_mutex_init(&compiler, &attributes) == 0;
}

/* A function of its own, so that no variable of the caller lives in a register across setjmp. */
static firnc_outcome run(bool (*work)(void *argument), void *argument) {
    jmp_buf landing;
    firnc_landing_to(&landing);
    const int ended_early = setjmp(landing);
    if (ended_early != 0)
        return (firnc_outcome)ended_early;
    return work(argument) ? FIRNC_DONE : FIRNC_WRONG;
}

/* bytes: how many more were needed; 0: that is not known */
static void say_memory(uint64_t bytes) {
    if (bytes == 0)
        firnc_say("firnc: out of memory; use a smaller model or a larger machine");
    else
        firnc_say("firnc: out of memory: %llu bytes more are needed; use a smaller model or a larger machine",
                  (unsigned long long)bytes);
}

firnc_outcome firnc_perform(bool (*work)(void *argument), void *argument, firnc_message message, void *context) {
    pthread_once(&once, make_lock);
    if (!ready) {
        firnc_say_to(message, context,
                     "firnc: out of memory: the lock of the compiler cannot be made; free some, and start anew");
        return FIRNC_MEMORY;
    }
    if (pthread_mutex_lock(&compiler) != 0) {
        firnc_say_to(message, context,
                     "firnc: the compiler is called from within its own work; call it after firnc_perform has "
                     "returned");
        return FIRNC_BUSY;
    }
    sigset_t signals;
    pthread_sigmask(SIG_SETMASK, NULL, &signals);
    const firnc_mark mark = firnc_memory_mark();
    firnc_messages_to(message, context);
    const firnc_outcome outcome = run(work, argument);
    firnc_landing_to(NULL);
    firnc_release_held();
    firnc_memory_release(mark);
    firnc_files_forget();
    firnc_messages_to(message, context); /* the work may have set another, which it was ended in */
    if (outcome == FIRNC_MEMORY)
        say_memory(firnc_bytes_needed());
    firnc_messages_to(NULL, NULL);
    pthread_sigmask(SIG_SETMASK, &signals, NULL);
    pthread_mutex_unlock(&compiler);
    return outcome;
}
