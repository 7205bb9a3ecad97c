/* thread.c - see thread.h */
#include "base/thread.h"

#include "base/arena.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#define NS_PER_SECOND 1000000000LL

/* A pthread call of ours that fails is a broken promise: a mutex not initialised, held, not held.
 */
#define MUST(call) ASSERT((call) == 0)

void mutex_init(struct mutex *m)
{
    MUST(pthread_mutex_init(&m->m, NULL));
}

void mutex_release(struct mutex *m)
{
    MUST(pthread_mutex_destroy(&m->m));
}

void mutex_lock(struct mutex *m) NO_THREAD_SAFETY
{
    MUST(pthread_mutex_lock(&m->m));
}

void mutex_unlock(struct mutex *m) NO_THREAD_SAFETY
{
    MUST(pthread_mutex_unlock(&m->m));
}

void cond_init(struct cond *c)
{
    pthread_condattr_t attr;

    MUST(pthread_condattr_init(&attr));
    MUST(pthread_condattr_setclock(&attr, CLOCK_MONOTONIC));
    MUST(pthread_cond_init(&c->c, &attr));
    MUST(pthread_condattr_destroy(&attr));
}

void cond_release(struct cond *c)
{
    MUST(pthread_cond_destroy(&c->c));
}

void cond_signal(struct cond *c)
{
    MUST(pthread_cond_signal(&c->c));
}

void cond_broadcast(struct cond *c)
{
    MUST(pthread_cond_broadcast(&c->c));
}

void cond_wait(struct cond *c, struct mutex *m)
{
    MUST(pthread_cond_wait(&c->c, &m->m));
}

bool cond_wait_ns(struct cond *c, struct mutex *m, int64_t duration_ns)
{
    struct timespec until;
    int64_t ns;
    int failed;

    if (duration_ns < 0) {
        cond_wait(c, m);
        return true;
    }
    MUST(clock_gettime(CLOCK_MONOTONIC, &until));
    ns = until.tv_nsec + duration_ns % NS_PER_SECOND;
    until.tv_sec += (time_t)(duration_ns / NS_PER_SECOND + ns / NS_PER_SECOND);
    until.tv_nsec = ns % NS_PER_SECOND;
    failed = pthread_cond_timedwait(&c->c, &m->m, &until);
    ASSERT(failed == 0 || failed == ETIMEDOUT);
    return failed == 0;
}

struct thread {
    pthread_t id;
    char name[16];
    void (*run)(void *arg);
    void *arg;
};

static void *thread_main(void *p)
{
    struct thread *t = p;

    pthread_setname_np(pthread_self(), t->name);
    t->run(t->arg);
    return NULL;
}

struct thread *thread_start(const char *name, void (*run)(void *arg), void *arg)
{
    struct thread *t = mem_alloc(sizeof *t);
    sigset_t all, before;

    ASSERT(strlen(name) < sizeof t->name);
    *t = (struct thread){.run = run, .arg = arg};
    memcpy(t->name, name, strlen(name));
    /* Signals are for the main thread; but a fault must still kill, with a core. */
    sigfillset(&all);
    sigdelset(&all, SIGSEGV);
    sigdelset(&all, SIGBUS);
    sigdelset(&all, SIGFPE);
    sigdelset(&all, SIGILL);
    sigdelset(&all, SIGABRT);
    sigdelset(&all, SIGTRAP);
    MUST(pthread_sigmask(SIG_SETMASK, &all, &before));
    MUST(pthread_create(&t->id, NULL, thread_main, t));
    MUST(pthread_sigmask(SIG_SETMASK, &before, NULL));
    return t;
}

void thread_join(struct thread *t)
{
    MUST(pthread_join(t->id, NULL));
    mem_free(t);
}

uint32_t thread_core_count(void)
{
    long cores = sysconf(_SC_NPROCESSORS_ONLN);

    return cores < 1 ? 1 : (uint32_t)cores;
}
