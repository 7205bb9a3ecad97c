/* rocks_priv.h - what lies behind rocks.h; for rocks.c, rocks_merge.c and rocks_intake.c only. The pointers are
 * handles of rocksdb/c.h. */
#ifndef VARVE_BACKEND_ROCKS_PRIV_H
#define VARVE_BACKEND_ROCKS_PRIV_H

#include "backend/rocks.h"

void *rocks_raw_db(const struct rocks_db *db);
void *rocks_raw_cf(const struct rocks_cf *cf);
const void *rocks_raw_options(const struct rocks_db *db, const char *family); /* of one to be made */
const void *rocks_raw_cf_options(const struct rocks_cf *cf);
struct rocks_db *rocks_db_of(const struct rocks_cf *cf);
/* A family that was made below; takes the handle. */
struct rocks_cf *rocks_cf_adopt_take(struct rocks_db *db, const char *name, void *handle);
/* Consumes the text that RocksDB malloc'ed; NULL is RC_OK. */
MUST_USE enum rc rocks_take_error(char *text, struct err *err, const char *doing);

/* rocks_merge.c; new, for who sets it in options. */
struct rocksdb_mergeoperator_t *rocks_merge_lists(void);
struct rocksdb_mergeoperator_t *rocks_merge_totals(void);

#endif
