/* thread.h - mutex, condition, thread; annotated for clang's -Wthread-safety. Errors abort: they are
 * broken promises of ours. */
#ifndef VARVE_BASE_THREAD_H
#define VARVE_BASE_THREAD_H

#include "base/status.h"

#include <pthread.h>

#if defined(__clang__)
#define THREAD_ATTR(x) __attribute__((x))
#else
#define THREAD_ATTR(x)
#endif
/* For the reader: in C, clang cannot resolve a sibling member here. REQUIRES on functions is checked. */
#define GUARDED_BY(m)
#define REQUIRES(m) THREAD_ATTR(requires_capability(m))
#define NO_THREAD_SAFETY THREAD_ATTR(no_thread_safety_analysis)

struct THREAD_ATTR(capability("mutex")) mutex {
    pthread_mutex_t m;
};
struct cond {
    pthread_cond_t c; /* on CLOCK_MONOTONIC */
};
void mutex_init(struct mutex *m);
void mutex_release(struct mutex *m);
void mutex_lock(struct mutex *m) THREAD_ATTR(acquire_capability(*m));
void mutex_unlock(struct mutex *m) THREAD_ATTR(release_capability(*m));
void cond_init(struct cond *c);
void cond_release(struct cond *c);
void cond_signal(struct cond *c);
void cond_broadcast(struct cond *c);
void cond_wait(struct cond *c, struct mutex *m) REQUIRES(*m);
/* false on timeout; duration_ns < 0 waits for ever. */
bool cond_wait_ns(struct cond *c, struct mutex *m, int64_t duration_ns) REQUIRES(*m);

struct thread;
/* name: at most 15 bytes, seen in top and gdb. Signals are blocked in it (faults apart): they go to
 * the main thread. */
struct thread *thread_start(const char *name, void (*run)(void *arg), void *arg);
void thread_join(struct thread *t); /* and frees */
uint32_t thread_core_count(void);   /* that are online; at least 1 */

#endif
