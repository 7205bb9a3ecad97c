/* fuzz_flink_prove.c - any bytes as a stream that `varve verify` is to prove: it comes to an end, with a fault, with
 * what nothing proves, or with neither. Input: a byte that says what the stream is, one with the number of key groups or list items,
 * an offset of 4 bytes for each, the stream. SSTs are RocksDB's to read, and not tried here. */
#include "checkpoint/flink/flink_prove.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define OFFSETS_MAX 16u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const enum flink_role roles[] = {FLINK_ROLE_KEYED_STREAM, FLINK_ROLE_KEYED_STREAM, FLINK_ROLE_OPERATOR_STATE,
                                            FLINK_ROLE_DB_PRIVATE, FLINK_ROLE_DB_PRIVATE};
    static const char *const names[] = {"", "", "", "MANIFEST-000005", "CURRENT"};
    struct flink_db_file manifest = {.local_name = {(const uint8_t *)"MANIFEST-000005", 15}};
    struct flink_incremental database = {.private_count = 1, .private = &manifest};
    struct flink_groups groups = {.stream = {.tag = FLINK_STREAM_BYTES}};
    struct flink_operator op = {.parallelism = 1, .max_parallelism = 128};
    struct flink_keyed keyed = {.tag = FLINK_KEYED_SAVEPOINT};
    int64_t offsets[OFFSETS_MAX];
    struct flink_list list = {.offsets = offsets};
    struct flink_operator_state lists = {.tag = 4, .list_count = 1, .lists = &list};
    struct flink_stream_use use = {.op = &op, .stream = &groups.stream};
    struct flink_proof proof;
    struct arena *arena;
    uint32_t count;

    if (size < 2)
        return 0;
    count = data[1] % (OFFSETS_MAX + 1);
    if (size < 2 + (size_t)count * 4)
        return 0;
    for (uint32_t i = 0; i < count; i++)
        offsets[i] = (int32_t)get_be32(data + 2 + (size_t)i * 4);
    groups.range = (struct flink_range){data[0] / 8, count};
    groups.offsets = offsets;
    groups.stream.data = bytes_of(data + 2 + (size_t)count * 4, size - 2 - (size_t)count * 4);
    groups.stream.size = (int64_t)groups.stream.data.len;
    groups.stream.path = bytes_of("", 0);
    list.offset_count = count;
    use.role = roles[data[0] % 5];
    use.local_name = bytes_of_str(names[data[0] % 5]);
    if (data[0] % 5 < 2) {
        keyed.groups = &groups;
        keyed.range = groups.range;
        keyed.tag = data[0] % 5 == 0 ? FLINK_KEYED_SAVEPOINT : FLINK_KEYED_GROUPS;
        op.max_parallelism = data[0] & 0x80 ? 4000 : 128;
    } else {
        keyed.incremental = &database;
    }
    use.keyed = &keyed;
    use.lists = &lists;
    arena = arena_new(0);
    flink_prove(fs_posix(), &use, flink_places_new(fs_posix(), NULL, "/nowhere", NULL, arena), arena, &proof);
    ASSERT(proof.fault == NULL || proof.fault[0] != '\0');
    arena_free(arena);
    return 0;
}
