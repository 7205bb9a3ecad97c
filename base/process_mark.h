/* process_mark.h - names a process in a way that another one, perhaps on another machine or in
 * another container, can read: is it one of here, and is it gone? Thread: any. */
#ifndef VARVE_BASE_PROCESS_MARK_H
#define VARVE_BASE_PROCESS_MARK_H

#include "base/bytes.h"

#define PROCESS_MARK_MAX 64
/* Of this process: "<16 hex>-<pid>-<start>": a digest of the machine's boot id and of the name
 * space of process ids, the id, the time at which it started, in ticks since the boot. "" where
 * /proc does not tell. */
void process_mark(char out[PROCESS_MARK_MAX]);
/* true: that process ran on this machine, since this boot, in this name space, and is gone for
 * certain. false: it runs, or is not of here, or the text is no mark. */
bool process_is_gone(const char *mark);

#endif
