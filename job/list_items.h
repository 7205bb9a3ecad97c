/* list_items.h - what the items of operators' list states mean, in plain words.
 *
 * How far a source has read, which part files wait for their checkpoint. For reports alone:
 * restores decode for themselves. Thread: any. */
#ifndef VARVE_JOB_LIST_ITEMS_H
#define VARVE_JOB_LIST_ITEMS_H

#include "base/json.h"

/* {"what": "file position", "path": .., "offset": ..}; NULL: no list of ours, or damaged. */
json_t *list_item_describe(const char *list_name, struct bytes item);

#endif
