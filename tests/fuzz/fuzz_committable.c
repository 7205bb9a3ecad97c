/* fuzz_committable.c - any bytes as an item of a file sink: decoded or refused with a message, and
 * what is decoded encodes to the same bytes and never leads out of its directory. Also hidden
 * names. */
#include "sink/committable.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_part(const struct part_record *p)
{
    ASSERT(p->base[0] == '/' && strstr(p->base, "//") == NULL && strstr(p->base, "/../") == NULL);
    ASSERT(bucket_path_valid(bytes_of_str(p->bucket)));
    ASSERT(strchr(p->name, '/') == NULL && p->name[0] != '.' && p->name[0] != '\0');
    ASSERT(strchr(p->temp_name, '/') == NULL && p->temp_name[0] == '.' &&
           strcmp(p->temp_name, "..") != 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena *arena = arena_new(0);
    struct sink_item item;
    struct err err = {0};
    enum rc rc = committable_decode(bytes_of(data, size), arena, "fuzz", &item, &err);
    char uuid[UUID_LEN + 1];
    uint32_t subtask;
    uint64_t counter;

    if (rc == RC_OK) {
        struct bytes again = committable_encode(&item, arena);

        /* A varint may be longer than needed; else there is one spelling only. */
        ASSERT(again.len <= size);
        if (again.len == size)
            ASSERT(bytes_eq(again, bytes_of(data, size)));
        if (item.kind != ITEM_WRITER)
            check_part(&item.part);
    } else {
        ASSERT(err.rc == rc && err.msg[0] != '\0');
    }
    if (part_temp_name_parse(arena_strndup(arena, (const char *)data, size), uuid, &subtask,
                             &counter)) {
        char name[PART_NAME_MAX];

        part_name_make(uuid, subtask, counter, name);
        ASSERT(size > strlen(name) && memcmp(data + 1, name, strlen(name)) == 0);
    }
    arena_free(arena);
    return 0;
}
