/* varve.h - run varve's jobs inside a program of one's own: the public C API of libvarve.
 *
 *     vv_error error;
 *     vv_session *s = vv_session_new(NULL, 0, &error);
 *     vv_execute(s, "CREATE TABLE ...; INSERT INTO ... SELECT ...;", NULL, NULL, &error);
 *     vv_job *job = vv_job_newest(s);
 *     vv_job_wait(job, -1);
 *     vv_job_free(job);
 *     vv_session_free(s);
 *
 * A session holds settings, tables and its jobs, which run on threads of their own. Functions on
 * one session are called from one thread at a time; functions on a job from any thread. The library
 * installs no signal handlers and writes nothing to standard output; what it has to say goes to
 * standard error, warnings and worse. Strings that are returned belong to the object they come from
 * and hold until it is freed, unless said otherwise. Examples: examples/embed.c. */
#ifndef VARVE_H
#define VARVE_H

#include "varve_common.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct vv_session vv_session;
typedef struct vv_job vv_job;

/* NULL: *error says why. Everywhere error may be NULL. */
VV_API vv_session *vv_session_new(const vv_option *options, size_t count, vv_error *error);
/* Suspends the jobs that still run (nothing is committed or deleted: they can go on from their last
 * checkpoint) and waits for that. Frees also the vv_jobs of the session that are not freed yet.
 * NULL is a no-op. */
VV_API void vv_session_free(vv_session *session);

/* One row of a result: `count` values as text, NULL for null; kind "+I", "-U", "+U" or "-D". Names
 * of the columns come once with each call. Everything is borrowed for the call. May be called on
 * another thread, but never twice at one time. Anything but 0 ends the statement with VV_CANCELLED.
 */
typedef int vv_row_fn(void *ctx, const char *kind, size_t count, const char *const *names,
                      const char *const *values);
/* Executes the statements of a SQL text one by one and stops at the first error. INSERT starts a
 * job and does not wait for it; SELECT waits until its rows are there. rows may be NULL. */
VV_API vv_code vv_execute(vv_session *session, const char *sql, vv_row_fn *rows, void *ctx,
                          vv_error *error);

/* The job that this session's last INSERT or statement set started; NULL: none. To be freed with
 * vv_job_free. */
VV_API vv_job *vv_job_newest(vv_session *session);
/* By id (32 hex digits); NULL: this session has no such job. To be freed. */
VV_API vv_job *vv_job_find(vv_session *session, const char *id);
VV_API void vv_job_free(vv_job *job); /* the job goes on; NULL is a no-op */

VV_API const char *vv_job_id(const vv_job *job);
VV_API const char *vv_job_name(const vv_job *job);
/* Flink's word: "RUNNING", "FINISHED", "FAILED", "CANCELED", "SUSPENDED" ... Static. */
VV_API const char *vv_job_state(vv_job *job);
/* Waits for the end; timeout_ms < 0: for ever. VV_OK: it finished (or was suspended); VV_TIMEOUT:
 * it still runs; VV_CANCELLED; VV_STATE or the failure's own code: it failed, the message says why.
 */
VV_API vv_code vv_job_wait(vv_job *job, int64_t timeout_ms, vv_error *error);
/* Ends the job; execution.checkpointing.externalized-checkpoint-retention decides about its
 * checkpoints. Does not wait. */
VV_API void vv_job_cancel(vv_job *job);
/* Ends the job so that it can go on from its last checkpoint, whatever the retention. Does not
 * wait. */
VV_API void vv_job_suspend(vv_job *job);
/* A savepoint into `directory` (NULL: execution.checkpointing.savepoint-dir), whose path goes to
 * path (cap bytes). Waits for it. */
VV_API vv_code vv_job_savepoint(vv_job *job, const char *directory, char *path, size_t cap,
                                vv_error *error);
/* The same, and the job ends with it. drain != 0: windows are closed first. */
VV_API vv_code vv_job_stop(vv_job *job, const char *directory, int drain, char *path, size_t cap,
                           vv_error *error);

#ifdef __cplusplus
}
#endif

#endif
