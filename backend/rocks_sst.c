/* rocks_sst.c - see rocks_sst.h */
#include "backend/rocks_sst.h"

#include "backend/rocks_priv.h"
#include "backend/rocks_sst_shim.h"

enum rc rocks_sst_check(const char *path, struct bytes lower, struct bytes upper, uint64_t *entries,
                        struct err *err)
{
    char *error = NULL;

    shim_sst_check(path, (struct shim_slice){lower.data, lower.len},
                   (struct shim_slice){upper.data, upper.len}, entries, &error);
    return rocks_take_error(error, err, "look into it");
}

enum rc rocks_sst_check_bytes(struct bytes file, uint64_t *entries, struct err *err)
{
    char *error = NULL;

    shim_sst_check_bytes((struct shim_slice){file.data, file.len}, entries, &error);
    return rocks_take_error(error, err, "look into it");
}
