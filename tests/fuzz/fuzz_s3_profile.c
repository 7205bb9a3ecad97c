/* fuzz_s3_profile.c - any bytes as ~/.aws/credentials, and as a LOCK that is a lease: read or not. */
#include "base/remote_lease.h"
#include "job/s3_options.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena *arena = arena_new(0);
    char by[PROCESS_MARK_MAX];
    struct s3_profile profile;
    struct buf again = {0};
    int64_t ttl_ms, ttl_again;
    uint64_t id, id_again;

    (void)!s3_profile_find(bytes_of(data, size), "default", arena, &profile);
    if (lease_parse(bytes_of(data, size), &id, &ttl_ms, by)) {
        (void)!process_is_gone(by);
        lease_format(&again, bytes_of(data, 0), id, ttl_ms, by);
        ASSERT(lease_parse(buf_bytes(&again), &id_again, &ttl_again, by));
        ASSERT(id_again == id && ttl_again == ttl_ms);
    }
    buf_release(&again);
    arena_free(arena);
    return 0;
}
