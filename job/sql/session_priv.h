/* session_priv.h - inside of a session: its fields, results made of text. */
#ifndef VARVE_JOB_SQL_SESSION_PRIV_H
#define VARVE_JOB_SQL_SESSION_PRIV_H

#include "base/thread.h"
#include "job/sql/catalog.h"
#include "job/sql/session.h"

struct session {
    const struct env *env;
    struct dispatcher *dispatcher;
    struct config *config;
    struct catalog *catalog;
    struct session_options options;
    struct mutex mutex;
    struct job *waits_for; /* guarded by mutex */
    struct submitted {
        char text_id[OPERATOR_ID_LEN + 1]; /* fingerprint of the first of that text */
        uint32_t count;
    } *submitted; /* INSERTs by text: of one text each is a job of its own (job_restore.occurrence) */
    size_t submitted_count;
    struct arena *arena;
    const char **fingerprints; /* of all of them, in order */
    size_t fingerprint_count;
};
#define SUBMITTED_MAX 4096u /* beyond it each counts as the first of its text */

/* One row with one STRING column; one row a line of text. */
MUST_USE enum rc session_one_row(const struct result_handler *h, struct statement_result *result,
                                 const char *column, const char *text, struct err *err);
MUST_USE enum rc session_text_rows(const struct result_handler *h, struct statement_result *result,
                                   const char *column, const char *lines, struct err *err);
MUST_USE enum rc session_show_settings(struct session *s, const struct result_handler *h,
                                       struct statement_result *result, struct err *err);
MUST_USE enum rc session_show_names(struct session *s, bool views_only,
                                    const struct result_handler *h, struct statement_result *result,
                                    struct err *err);
/* job_id NULL: all. */
MUST_USE enum rc session_show_jobs(struct session *s, const char *job_id,
                                   const struct result_handler *h, struct statement_result *result,
                                   struct err *err);
MUST_USE enum rc session_show_create(struct session *s, const struct ast_statement *st,
                                     const struct result_handler *h,
                                     struct statement_result *result, struct err *err);
MUST_USE enum rc session_describe(struct session *s, const struct ast_statement *st,
                                  const struct result_handler *h, struct statement_result *result,
                                  struct err *err);
MUST_USE enum rc session_stop_job(struct session *s, const struct ast_statement *st,
                                  const struct result_handler *h, struct statement_result *result,
                                  struct err *err);

#endif
