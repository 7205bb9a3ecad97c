/* log.h - one-line key=value log: an event and pairs.
 *
 *     2026-11-29T19:00:00.123Z INFO checkpoint completed id=42 duration_ms=118 new_bytes=5242880
 *
 * Log where an error is handled, once; who returns it stays silent. Nothing per record. Goes to
 * stderr or a file. Thread: any; a line is written whole.
 */
#ifndef VARVE_BASE_LOG_H
#define VARVE_BASE_LOG_H

#include "base/clock.h"

enum log_level { LOG_DEBUG, LOG_INFO, LOG_WARN, LOG_ERROR, LOG_OFF };
struct log; /* opaque */
/* fd is borrowed; clock gives the time stamps. */
struct log *log_new(int fd, enum log_level least, struct clock *clock);
/* To a file, made if absent, appended to; each line is one write. */
MUST_USE enum rc log_open(const char *path, enum log_level least, struct clock *clock, struct log **out, struct err *err);
void log_free(struct log *log);
/* fmt carries the event and its pairs; log may be NULL (dropped). Control characters and line ends in
 * the result are written as \xNN. */
void log_line(struct log *log, enum log_level level, const char *fmt, ...) PRINTF_LIKE(3, 4);

#endif
