/* RocksDB is linked uninstrumented: the thread sanitizer sees its memory come and go and its calls of
 * memcpy, but not the atomics that order them (a block put into the block cache by one thread and
 * read by another, or a constant made at its first use, is a race to it). What a thread does between
 * these two calls is not looked at. Nothing without that sanitizer. */
#ifndef VARVE_BACKEND_ROCKS_QUIET_H
#define VARVE_BACKEND_ROCKS_QUIET_H

#if !defined(__SANITIZE_THREAD__) && defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define __SANITIZE_THREAD__ 1
#endif
#endif

#if defined(__SANITIZE_THREAD__)
void __tsan_ignore_thread_begin(void);
void __tsan_ignore_thread_end(void);
#endif

static inline void rocks_quiet_begin(void)
{
#if defined(__SANITIZE_THREAD__)
    __tsan_ignore_thread_begin();
#endif
}

static inline void rocks_quiet_end(void)
{
#if defined(__SANITIZE_THREAD__)
    __tsan_ignore_thread_end();
#endif
}

#endif
