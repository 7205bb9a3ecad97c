/* rocks_version.cc - which RocksDB is linked; declared in keyed_backend.h. */
#include <rocksdb/version.h>

#define TEXT_(x) #x
#define TEXT(x) TEXT_(x)

extern "C" const char *keyed_backend_rocksdb_version(void);
extern "C" const char *keyed_backend_rocksdb_version(void)
{
    return TEXT(ROCKSDB_MAJOR) "." TEXT(ROCKSDB_MINOR) "." TEXT(ROCKSDB_PATCH);
}
