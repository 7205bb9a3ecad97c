/* s3_lease.h - where the leases of remote_lease.h lie on S3: an object, its ETag the version,
 * conditional writes.
 *
 * Where the server does not keep conditions, a look before each write takes their place: good
 * enough against mistakes, which is all that a lease guards against. Thread: any. */
#ifndef VARVE_BASE_S3_LEASE_H
#define VARVE_BASE_S3_LEASE_H

#include "base/remote_lease.h"

/* ctx is a struct s3_client. */
extern const struct lease_store_ops s3_lease_store;

#endif
