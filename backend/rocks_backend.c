#include "backend/keyed_core.h"
#include "backend/rocks_restore.h"

enum rc rocks_backend_open(const struct keyed_backend_config *config, struct keyed_backend **out,
                           struct err *err)
{
    (void)out;
    return err_set(err, RC_UNSUPPORTED, "%s: rocksdb comes next", config->name);
}

enum rc rocks_restore_read(const struct env *env, const char *scratch_dir,
                           const struct keyed_handle *h, struct key_group_range range,
                           keyed_stream_fn *fn, void *ctx, struct err *err)
{
    (void)env, (void)scratch_dir, (void)h, (void)range, (void)fn, (void)ctx;
    return err_set(err, RC_UNSUPPORTED, "rocksdb comes next");
}
