/* s3_reader.h - reads one object by ranges, with what is read ahead kept: who reads on in small
 * pieces makes a request for each 64 KiB, then 256 KiB, up to 8 MiB; who jumps starts at 64 KiB
 * again.
 *
 * All ranges are of one version of the object: one that is replaced meanwhile is an error. Thread:
 * one at a time.
 */
#ifndef VARVE_BASE_S3_READER_H
#define VARVE_BASE_S3_READER_H

#include "base/s3_client.h"

struct s3_reader; /* opaque */
/* One request, which brings the first bytes. RC_NOT_FOUND. */
MUST_USE enum rc s3_reader_open(struct s3_client *c, const struct s3_name *name,
                                struct s3_reader **out, struct err *err);
uint64_t s3_reader_bytes(const struct s3_reader *r); /* of the object */
/* *got < len only at its end. */
MUST_USE enum rc s3_reader_read(struct s3_reader *r, uint64_t offset, void *out, size_t len,
                                size_t *got, struct err *err);
void s3_reader_free(struct s3_reader *r);

#endif
