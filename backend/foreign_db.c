/* foreign_db.c - see foreign_db.h */
#include "backend/foreign_db.h"

#include "backend/key_codec.h"
#include "backend/rocks_backend_priv.h"
#include "backend/rocks_sst.h"

#include <stdio.h>

#define OPEN_FILES 64
#define BLOCK_CACHE_BYTES (8u << 20)
#define WRITE_BUFFER_BYTES (1u << 20) /* RocksDB wants some, though nothing is written */

struct foreign_db {
    struct rocks_db *db;
    char *dir;
    char **proven; /* local names */
    size_t proven_count;
    foreign_name_fn *name_of; /* NULL: local names are shown */
    const void *name_ctx;
};
/* A scan goes piece by piece, the first of one key group, each next of twice as many: files are
 * proven when they are come to, and the first entries of a large database are there at once. */
struct foreign_scan {
    struct foreign_db *db;
    struct rocks_cf *cf;
    struct rocks_iter *it; /* of the piece at hand; NULL: nothing is left */
    struct key_group_range rest; /* behind it */
    uint32_t prefix_len, piece_groups;
};

enum rc foreign_db_open(const char *dir, struct foreign_db **out, struct err *err)
{
    struct rocks_config config = {.dir = dir,
                                  .read_only = true,
                                  .block_cache_bytes = BLOCK_CACHE_BYTES,
                                  .write_buffer_bytes = WRITE_BUFFER_BYTES,
                                  .max_open_files = OPEN_FILES};
    struct foreign_db *db = mem_calloc(1, sizeof *db);
    enum rc rc = rocks_open(&config, &db->db, err);

    db->dir = mem_strdup(dir);
    if (rc != RC_OK) {
        foreign_db_close(db);
        return rc;
    }
    *out = db;
    return RC_OK;
}

void foreign_db_close(struct foreign_db *db)
{
    if (db == NULL)
        return;
    rocks_close(db->db);
    for (size_t i = 0; i < db->proven_count; i++)
        mem_free(db->proven[i]);
    mem_free(db->proven);
    mem_free(db->dir);
    mem_free(db);
}

void foreign_db_name_files(struct foreign_db *db, foreign_name_fn *fn, const void *ctx)
{
    db->name_of = fn;
    db->name_ctx = ctx;
}

enum rc foreign_db_size(struct foreign_db *db, const char *family, struct foreign_size *out,
                        struct err *err)
{
    struct rocks_cf *cf = rocks_cf_find(db->db, family);
    struct rocks_size size;

    *out = (struct foreign_size){0};
    if (cf == NULL)
        return RC_OK;
    RETURN_IF_ERR(rocks_cf_size(cf, true, &size, err));
    *out = (struct foreign_size){size.rows, size.key_bytes, size.value_bytes};
    return RC_OK;
}

/* ---- proof (C13) ----------------------------------------------------------------------------- */

struct proof {
    struct foreign_db *db;
    struct rocks_bounds bounds;
};

static bool is_proven(const struct foreign_db *db, const char *name)
{
    for (size_t i = 0; i < db->proven_count; i++)
        if (strcmp(db->proven[i], name) == 0)
            return true;
    return false;
}

static enum rc prove_file(void *ctx, const struct rocks_file *f, struct err *err)
{
    const struct proof *p = ctx;
    struct foreign_db *db = p->db;
    const char *shown = NULL;
    char path[FS_PATH_MAX];
    uint64_t entries;
    enum rc rc;

    if (rocks_file_place(f, p->bounds) == ROCKS_OUTSIDE || is_proven(db, f->name))
        return RC_OK;
    RETURN_IF_ERR(path_join(path, sizeof path, db->dir, f->name, err));
    rc = rocks_sst_check(path, (struct bytes){0}, (struct bytes){0}, &entries, err);
    if (rc != RC_OK) {
        shown = db->name_of == NULL ? NULL : db->name_of(db->name_ctx, f->name);
        return err_wrap(err, rc, "%s (%s)", shown == NULL ? path : shown, f->name);
    }
    db->proven = mem_realloc(db->proven, (db->proven_count + 1) * sizeof *db->proven);
    db->proven[db->proven_count++] = mem_strdup(f->name);
    return RC_OK;
}

/* ---- where a key lies ------------------------------------------------------------------------ */

struct holders {
    struct bytes key;
    char *name; /* of the last that was found */
    uint32_t count;
};

static enum rc note_holder(void *ctx, const struct rocks_file *f, struct err *err UNUSED)
{
    struct holders *h = ctx;

    if (bytes_cmp(h->key, f->first) < 0 || bytes_cmp(h->key, f->last) > 0)
        return RC_OK;
    h->count++;
    snprintf(h->name, FOREIGN_NAME_MAX, "%s", f->name);
    return RC_OK;
}

bool foreign_db_file_of(struct foreign_db *db, const char *family, struct bytes key,
                        char name[FOREIGN_NAME_MAX])
{
    struct rocks_cf *cf = rocks_cf_find(db->db, family);
    struct holders h = {.key = key, .name = name};
    struct err ignored = {0};

    return cf != NULL && rocks_cf_files(cf, note_holder, &h, &ignored) == RC_OK && h.count == 1;
}

/* ---- scans ----------------------------------------------------------------------------------- */

static enum rc begin(struct foreign_scan *s, struct rocks_bounds bounds, struct err *err)
{
    struct proof p = {.db = s->db, .bounds = bounds};

    rocks_iter_free(s->it);
    s->it = NULL;
    RETURN_IF_ERR(rocks_cf_files(s->cf, prove_file, &p, err));
    s->it = rocks_iter_new(s->cf, bounds.lower, bounds.upper);
    return RC_OK;
}

/* One prefix is one piece. */
static enum rc begin_prefix(struct foreign_scan *s, struct bytes prefix, struct err *err)
{
    struct buf end = {0};
    enum rc rc;

    key_prefix_end(prefix, &end);
    rc = begin(s, (struct rocks_bounds){prefix, buf_bytes(&end)}, err);
    buf_release(&end);
    return rc;
}

static enum rc begin_piece(struct foreign_scan *s, struct err *err)
{
    struct key_group_range piece = s->rest;
    struct rocks_bounds bounds;
    uint8_t room[4] = {0};

    if (piece.last - piece.first >= s->piece_groups)
        piece.last = piece.first + s->piece_groups - 1;
    s->rest.first = piece.last + 1;
    s->piece_groups *= 2;
    bounds = rocks_bounds_of(piece, s->prefix_len, room);
    if (piece.first == 0)
        bounds.lower.len = 0; /* also what is too short for a key group */
    return begin(s, bounds, err);
}

enum rc foreign_scan_open(struct foreign_db *db, const char *family, struct key_group_range groups,
                          uint32_t prefix_len, struct bytes prefix, struct foreign_scan **out,
                          struct err *err)
{
    struct foreign_scan *s = mem_calloc(1, sizeof *s);
    enum rc rc = RC_OK;

    *s = (struct foreign_scan){.db = db,
                               .cf = rocks_cf_find(db->db, family),
                               .rest = groups,
                               .prefix_len = prefix_len,
                               .piece_groups = 1};
    if (s->cf == NULL || groups.first > groups.last)
        s->rest = (struct key_group_range){1, 0};
    else if (prefix.len > 0) {
        s->rest = (struct key_group_range){1, 0};
        rc = begin_prefix(s, prefix, err);
    } else {
        rc = begin_piece(s, err);
    }
    if (rc != RC_OK) {
        foreign_scan_close(s);
        return rc;
    }
    *out = s;
    return RC_OK;
}

/* RocksDB may read the beginning of the file behind a piece, which was not come to yet: then the
 * proof says what the file is called where it came from. */
static enum rc name_fault(struct foreign_scan *s, enum rc rc, const struct err *why, struct err *err)
{
    struct proof all = {.db = s->db};

    RETURN_IF_ERR(rocks_cf_files(s->cf, prove_file, &all, err));
    return err_set(err, rc, "%s", why->msg);
}

enum rc foreign_scan_next(struct foreign_scan *s, struct bytes *key, struct bytes *value,
                          struct err *err)
{
    struct err why = {0};
    enum rc rc = RC_OK;

    while (s->it != NULL && !rocks_iter_next(s->it, key, value, &rc, &why)) {
        if (rc != RC_OK)
            return name_fault(s, rc, &why, err);
        rocks_iter_free(s->it);
        s->it = NULL;
        if (s->rest.first <= s->rest.last)
            RETURN_IF_ERR(begin_piece(s, err));
    }
    if (s->it == NULL)
        *key = *value = (struct bytes){0};
    return RC_OK;
}

void foreign_scan_close(struct foreign_scan *s)
{
    if (s == NULL)
        return;
    rocks_iter_free(s->it);
    mem_free(s);
}
