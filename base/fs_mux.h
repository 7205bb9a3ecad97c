/* fs_mux.h - one file system of several: paths "<scheme>://..." go to the driver of that scheme, all others to the local
 * one.
 *
 * A driver is made at the first use of its scheme, so that who never uses it pays nothing. No hard link,
 * reflink or symbolic link leads from one to another (RC_NO_LINK: copy), nor a rename (RC_UNSUPPORTED).
 * Thread: drivers are added before the first use; then any.
 */
#ifndef VARVE_BASE_FS_MUX_H
#define VARVE_BASE_FS_MUX_H

#include "base/fs.h"

#define FS_MUX_DRIVERS_MAX 8

struct fs_driver_ops {
    enum rc (*make)(void *ctx, struct fs **out, struct err *); /* a failure is that of each call, until one works */
    void (*free)(struct fs *);
};
struct fs_mux; /* opaque */
struct fs_mux *fs_mux_new(struct fs *local); /* borrowed */
void fs_mux_free(struct fs_mux *mux);        /* drivers, too; no file of theirs may be open */
struct fs *fs_mux_fs(struct fs_mux *mux);    /* as long as the mux */
/* scheme, ops, ctx: borrowed as long as the mux. Several schemes may lead to one driver each. */
void fs_mux_add(struct fs_mux *mux, const char *scheme, const struct fs_driver_ops *ops, void *ctx);

#endif
