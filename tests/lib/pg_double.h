/* pg_double.h - a target with transactions in memory, in place of PostgreSQL (sink/pg_client.h).
 *
 * Its table has rows of one number ("17\n": counted), or with a key, of key and value
 * ("U\t3\t17\n", "D\t3\t17\n": the last one holds). A call can fail, before or after it took
 * effect; or the process dies with it: then every call fails, and the disk is down. */
#ifndef VARVE_TESTS_LIB_PG_DOUBLE_H
#define VARVE_TESTS_LIB_PG_DOUBLE_H

#include "sink/pg_client.h"

#define PG_DOUBLE_ROWS 512
#define PG_DOUBLE_MARKS 256

struct pg_double {
    uint16_t seen[PG_DOUBLE_ROWS];  /* rows without a key: how often each is there */
    uint32_t value[PG_DOUBLE_ROWS]; /* by key; 0: absent */
    struct {
        char writer[80];
        struct pg_mark mark;
    } marks[PG_DOUBLE_MARKS];
    size_t mark_count;
    uint64_t calls, commits, flushes, connects;
    /* Call number fail_at fails with fail_rc, fail_times times. */
    uint64_t fail_at;
    uint32_t fail_times;
    enum rc fail_rc;
    bool fail_late;       /* it has taken effect */
    struct fs *dies_with; /* the process dies with that call: this sim_fs goes down; NULL: it does not */
    bool dead;
    char table[64], columns[64]; /* of the last log that came */
    const char *check_fault;     /* NULL: every table fits */
};
void pg_double_init(struct pg_double *d); /* never fails */
/* The process was started again. */
void pg_double_revive(struct pg_double *d);
struct pg_client *pg_double_client(struct pg_double *d);

#endif
