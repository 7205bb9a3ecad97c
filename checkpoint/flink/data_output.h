/* data_output.h - what Java's DataInputStream reads: the other side of data_input.h. Thread: any.
 * After: java.io.DataOutput. */
#ifndef VARVE_CHECKPOINT_FLINK_DATA_OUTPUT_H
#define VARVE_CHECKPOINT_FLINK_DATA_OUTPUT_H

#include "base/bytes.h"

/* writeUTF: 16 bits of length, then modified UTF-8. text: as data_utf gives it, UTF-8 or half of a
 * surrogate pair in three bytes. false: more than 65535 bytes; nothing is appended. */
MUST_USE bool data_put_utf(struct buf *out, struct bytes text);

#endif
