/* session.h - executes SQL statements one at a time: holds settings and catalog, submits jobs,
 * streams results.
 *
 * Used by `varve run`, `varve sql` and a SQL gateway. A caller parses a text (parser.h) and gives
 * the statements one by one. Thread: one at a time; session_interrupt from any.
 */
#ifndef VARVE_JOB_SQL_SESSION_H
#define VARVE_JOB_SQL_SESSION_H

#include "job/runtime/dispatcher.h"
#include "job/sql/ast.h"

enum result_kind {
    RESULT_OK,    /* done, nothing to show: CREATE, DROP, SET key, STOP JOB ... */
    RESULT_ROWS,  /* a table of rows: SHOW, DESCRIBE, EXPLAIN, SET alone, STOP JOB WITH SAVEPOINT */
    RESULT_QUERY, /* rows of a SELECT, from a job */
    RESULT_JOB, /* INSERT or a statement set: a job was submitted (with table.dml-sync it has ended,
                   and well) */
    RESULT_EXIT, /* QUIT, EXIT */
    RESULT_HELP,
};
struct statement_result {
    enum result_kind kind;
    bool updating;               /* RESULT_QUERY: rows may be -U, +U, -D */
    bool batch;                  /* RESULT_QUERY: final rows only */
    char job_id[JOB_ID_LEN + 1]; /* RESULT_JOB, RESULT_QUERY: of the job; else "" */
    uint64_t row_count;          /* rows given to the handler */
    bool would_not_start;        /* of a dry run: its report says why */
    const char *time_zone; /* table.local-time-zone, for TIMESTAMP_LTZ; borrowed from the session
                              until its next statement */
};
/* What a client does with results; a NULL function is not called. */
struct result_handler {
    void *ctx;
    /* Before the rows; the schema is borrowed for the whole of session_execute. `result` has all
     * but row_count. */
    enum rc (*begin)(void *ctx, const struct schema *schema, const struct statement_result *result,
                     struct err *err);
    /* The batch is borrowed for the call. Rows of a SELECT come on a task's thread, one call at a
     * time, none after session_execute returned; an error ends the job. */
    enum rc (*rows)(void *ctx, const struct batch *batch, struct err *err);
    /* Waits until the job has ended; called on the caller's thread for a SELECT and with
     * table.dml-sync. It may cancel the job (Ctrl-C). NULL: waits for ever. */
    void (*wait)(void *ctx, struct job *job);
};
struct session_options {
    bool names_shared; /* with resume: several INSERTs of the script make jobs of one name */
    bool resume;  /* --resume: INSERT goes on from the newest checkpoint of its job's name */
    bool dry_run; /* --dry-run: INSERT checks everything and starts nothing; the report is its
                     result (RESULT_ROWS, one column) */
    bool dry_run_json; /* the report is one JSON object */
    /* A snapshot of Flink's: INSERT starts nothing; its result (RESULT_ROWS, one column) is a mapping
     * of that to its job (flink_draft.h). NULL: none. */
    const char *draft_of;
    /* Non-NULL: INSERT and SELECT ask this before a job starts; a plain RC_OK lets it. For a server
     * that limits its jobs. */
    enum rc (*may_submit)(void *ctx, const struct graph *graph, struct err *err);
    void *may_submit_ctx;
};

struct session; /* opaque */
/* env and dispatcher are borrowed; config is copied: SET changes the copy only. Restore path, claim
 * mode and -n come from its options execution.state-recovery.*, for every INSERT until they are
 * RESET, as in Flink. */
struct session *session_new(const struct env *env, struct dispatcher *dispatcher,
                            const struct config *config, const struct session_options *options);
void session_free(struct session *s); /* its jobs go on */
const struct config *session_config(const struct session *s);
/* Executes one statement. On an error nothing of it has happened, except that a job may have run
 * (RC_STATE, or the job's own code: it failed or was cancelled while waited for). Messages about
 * SQL carry line and caret. */
MUST_USE enum rc session_execute(struct session *s, const struct ast_statement *statement,
                                 const struct result_handler *handler,
                                 struct statement_result *result, struct err *err);
/* Cancels the job that session_execute waits for, if any. Any thread. */
void session_interrupt(struct session *s);
/* Names of tables and views that begin with `prefix`, for completion; each call of fn gets one. */
void session_complete(struct session *s, const char *prefix,
                      void (*fn)(void *ctx, const char *name), void *ctx);
/* HELP: the statements that varve has, one a line. */
const char *session_help(void);

#endif
