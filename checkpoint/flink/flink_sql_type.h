/* flink_sql_type.h - what a SQL type in a state's description is in Flink: the serializer that its
 * values are written with, as bytes of a versioned snapshot.
 *
 * A ROW is RowDataSerializer with the LogicalType of each field, which Flink writes as Java objects;
 * other types are those of InternalSerializers. Pure; thread: any.
 * After: InternalSerializers, RowDataSerializerSnapshot (flink-table-runtime), LogicalType and what
 * extends it (flink-table-common).
 */
#ifndef VARVE_CHECKPOINT_FLINK_FLINK_SQL_TYPE_H
#define VARVE_CHECKPOINT_FLINK_FLINK_SQL_TYPE_H

#include "base/arena.h"

/* Of "ROW<`k` STRING, `d` DECIMAL(10, 2)>", "BIGINT", "VOID". RC_UNSUPPORTED: a type that is none of
 * the table in flink_sql_type.c. */
MUST_USE enum rc flink_put_sql_type(const char *type, struct buf *out, struct err *err);
/* Snapshots of serializers that hold others, which `inner` are, appended. */
void flink_put_snapshot_of_ttl(struct bytes inner, struct buf *out);
void flink_put_snapshot_of_list(struct bytes element, struct buf *out);
void flink_put_snapshot_of_map(struct bytes key, struct bytes value, struct buf *out);
void flink_put_snapshot_of_timer(struct bytes key, struct bytes namespace, struct buf *out);
void flink_put_snapshot_of_bytes(struct buf *out); /* byte[] */
/* A serializer record: its version, then the snapshot. */
void flink_put_record(struct bytes snapshot, struct buf *out);

#endif
