/* rocks_intake_shim.h - SST files of a family: which there are, and those of other databases for a
 * new one, as plain C functions; for rocks.c and its parts (rocks_priv.h) only.
 *
 * Conventions of rocks_shim.h: `db`, `cf` and `options` are the C API's handles, *error becomes a
 * malloc'ed text, no exception leaves a function. */
#ifndef VARVE_BACKEND_ROCKS_INTAKE_SHIM_H
#define VARVE_BACKEND_ROCKS_INTAKE_SHIM_H

#include "backend/rocks_shim.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Compactions of families with these options end a file where cut_bytes says so: it is asked for
 * each pair of neighbours whose groups differ how many bytes suffice. */
void shim_options_cut_at_groups(void *options, uint32_t prefix_len, uint32_t key_group_count,
                                uint64_t (*cut_bytes)(uint32_t before, uint32_t after,
                                                      uint32_t key_group_count),
                                char **error);

struct shim_file { /* user keys; last_open: `last` itself is not in it */
    const char *name;
    uint64_t size_bytes;
    struct shim_slice first, last;
    int last_open;
};
typedef void shim_file_fn(void *ctx, const struct shim_file *f);
/* The SST files of a family, the newest level first. */
void shim_files(void *db, void *cf, shim_file_fn *fn, void *ctx, char **error);

struct shim_rows {
    uint64_t rows, key_bytes, value_bytes;
};
/* What files say of themselves, deletions left out: those of the level that has most, or all. */
void shim_level_rows(void *db, void *cf, int all_levels, struct shim_rows *out, char **error);

struct shim_cutter; /* a scratch database in which files are cut */
struct shim_cutter *shim_cutter_new(const void *options, const char *dir); /* NULL: no memory */
void shim_cutter_free(struct shim_cutter *c);

struct shim_intake;                        /* files for one family */
struct shim_intake *shim_intake_new(void); /* NULL: no memory */
void shim_intake_free(struct shim_intake *in);
size_t shim_intake_count(const struct shim_intake *in);
void shim_intake_keep(struct shim_intake *in, size_t count); /* forgets the later ones */
/* The file of `cf` as it is. */
void shim_intake_add(struct shim_intake *in, void *db, void *cf, const char *name, char **error);
/* Its entries with lower <= key < upper (empty: no bound), with their sequence numbers, in a new
 * file of the cutter, if there are any. 0: a range deletion lies across a bound, nothing is added.
 * options: the family's, for its merge operator. */
int shim_intake_cut(struct shim_intake *in, struct shim_cutter *cutter, void *db, void *cf,
                    const void *options, const char *name, struct shim_slice lower, struct shim_slice upper,
                    char **error);
/* Makes the family of them: they are moved into the database by hard link. A
 * rocksdb_column_family_handle_t. */
void *shim_intake_end(struct shim_intake *in, void *db, const void *options, const char *cf_name,
                      char **error);

#ifdef __cplusplus
}
#endif

#endif
