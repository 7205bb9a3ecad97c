/* links: backend */
/* rocks_digest.c - one line "family entries digest" for each column family of a RocksDB directory, read through our cover.
 *
 *     rocks_digest DIR */
#include "backend/rocks.h"

#include "tests/conformance/entries.h"

#include <stdio.h>

static enum rc print_family(struct rocks_cf *cf, struct err *err)
{
    struct rocks_iter *it = rocks_iter_new(cf, (struct bytes){0}, (struct bytes){0});
    struct entries e = entries_none();
    struct bytes key, value;
    enum rc rc;

    while (rocks_iter_next(it, &key, &value, &rc, err))
        entries_add(&e, key, value);
    rocks_iter_free(it);
    if (rc == RC_OK)
        printf("%s %llu %016llx\n", rocks_cf_name(cf), (unsigned long long)e.count,
               (unsigned long long)e.digest);
    return rc;
}

int main(int argc, char **argv)
{
    struct rocks_config config = {.read_only = true, .block_cache_bytes = 8u << 20,
                                  .write_buffer_bytes = 1u << 20, .max_open_files = -1};
    struct rocks_db *db = NULL;
    struct err err = {0};
    enum rc rc;

    if (argc != 2) {
        fprintf(stderr, "usage: rocks_digest DIR\n");
        return 2;
    }
    config.dir = argv[1];
    rc = rocks_open(&config, &db, &err);
    for (size_t i = 0; rc == RC_OK && i < rocks_cf_count(db); i++)
        rc = print_family(rocks_cf_at(db, i), &err);
    if (rc == RC_OK)
        rocks_close(db);
    else
        fprintf(stderr, "rocks_digest: %s\n", err.msg);
    return rc == RC_OK ? 0 : 1;
}
