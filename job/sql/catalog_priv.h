/* catalog_priv.h - between catalog.c (keeping entries) and catalog_table.c (making them). */
#ifndef VARVE_JOB_SQL_CATALOG_PRIV_H
#define VARVE_JOB_SQL_CATALOG_PRIV_H

#include "job/sql/catalog.h"

struct owned_entry {
    struct catalog_entry entry; /* first: an entry's address is its owner's */
    struct arena *arena;        /* this struct lies in it */
    _Atomic uint32_t references;
};
struct owned_entry *entry_new(void);
/* *skip: it exists and IF NOT EXISTS was said. */
MUST_USE enum rc catalog_check_new(struct catalog *c, const struct ast_statement *s, bool *skip,
                                   struct err *err);
/* Takes the entry, whatever the code. */
MUST_USE enum rc catalog_add(struct catalog *c, struct owned_entry *o, struct err *err);

#endif
