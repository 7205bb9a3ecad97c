/* flink_windows.h - which windows are open in a state of Flink's: what varve's window operator keeps in a
 * union list beside its groups, so that each window fires once (job/operator/window.c). Flink has
 * timers for that. Thread: one owner. */
#ifndef VARVE_CHECKPOINT_FLINK_FLINK_WINDOWS_H
#define VARVE_CHECKPOINT_FLINK_FLINK_WINDOWS_H

#include "backend/state_handle.h"

#define OPEN_WINDOWS_LIST "open-windows"
#define WINDOW_WATERMARK_LIST "watermark" /* items: i64, big-endian, in Flink's SQL, too */
#define OPEN_WINDOWS_MAX (1u << 20)

struct open_windows { /* `= {0}` */
    size_t count, cap;
    int64_t *ends; /* rising, each once */
};
void open_windows_release(struct open_windows *w);
/* The end of a window; RC_LIMIT. */
MUST_USE enum rc open_windows_note(struct open_windows *w, int64_t end, struct err *err);
/* Adds the list to a subtask's, in `arena`. */
void open_windows_put(const struct open_windows *w, struct arena *arena, struct subtask_state *to);

#endif
