/* totals_fit.h - the states of a grouping operator that a snapshot has, against the calls that its query has now: by name and meaning.
 *
 * A call is its function, argument, DISTINCT and FILTER over columns of tables, as its fields are named (accumulator.h); aliases and
 * the order of calls do not matter. Of each call either everything is taken over - fields, text state, distinct state - or nothing:
 *     the same call                      kept; its fields are copied to where they lie now
 *     a new call                         starts empty, in old groups too, and the start says so
 *     a call that is gone                dropped, and the start says so
 *     the same over another type         integers among each other: kept, and each value must fit; else refused, or with
 *                                        allow_non_restored it starts empty
 * Refused whatever is allowed, since results would be wrong: another key; a call that is new over an input that takes rows back (rows
 * that it never counted may be taken back); an input that takes rows back now and did not, or the other way round.
 * Pure; any thread. */
#ifndef VARVE_JOB_OPERATOR_TOTALS_FIT_H
#define VARVE_JOB_OPERATOR_TOTALS_FIT_H

#include "job/operator/keyed_totals.h"
#include "job/operator/state_fit.h"

/* `config` must live as long as the request's arena. */
MUST_USE enum rc totals_fit(const struct fit_request *r, const struct totals_config *config,
                            struct state_fit *out, struct err *err);

#endif
