/* rocks_sst_shim.cc - see rocks_sst_shim.h. What the file's blocks hold is looked at as it lies
 * there, deletions and operands included: an iterator over a database would merge them. */
#include "backend/rocks_sst_shim.h"

#include "rocksdb/env.h"
#include "rocksdb/options.h"
#include "rocksdb/sst_file_reader.h"

#include <cstring>
#include <memory>
#include <new>
#include <string>

namespace
{
using rocksdb::Slice;
using rocksdb::Status;

constexpr size_t TRAILER = 8; /* of an internal key: sequence number and type, little-endian */

Slice slice_of(const shim_slice &s)
{
    return s.len == 0 ? Slice() : Slice(reinterpret_cast<const char *>(s.data), s.len);
}

uint64_t trailer_of(const Slice &key)
{
    uint64_t v = 0;

    for (size_t i = 0; i < TRAILER; i++)
        v |= static_cast<uint64_t>(static_cast<uint8_t>(key[key.size() - TRAILER + i])) << (8 * i);
    return v;
}

Slice user_key(const Slice &key)
{
    return Slice(key.data(), key.size() - TRAILER);
}

/* User keys ascend; of one key the newest entry comes first. */
bool in_order(const std::string &before, const Slice &key)
{
    int c = before.empty() ? -1 : user_key(before).compare(user_key(key));

    return c < 0 || (c == 0 && trailer_of(before) > trailer_of(key));
}

Status check_entries(rocksdb::SstFileReader *reader, const Slice &lower, const Slice &upper,
                     uint64_t *entries)
{
    std::unique_ptr<rocksdb::Iterator> it = reader->NewTableIterator();
    std::string before;

    if (!it)
        return Status::Corruption("no iterator over its entries");
    for (it->SeekToFirst(); it->Valid(); it->Next()) {
        Slice key = it->key();

        if (key.size() < TRAILER)
            return Status::Corruption("a key without a sequence number");
        if (!in_order(before, key))
            return Status::Corruption("its keys are out of order");
        if (user_key(key).compare(lower) < 0 ||
            (!upper.empty() && user_key(key).compare(upper) >= 0))
            return Status::Corruption("a key outside the key groups of its handle");
        before.assign(key.data(), key.size());
        ++*entries;
    }
    return it->status();
}

Status check(const rocksdb::Options &options, const char *path, const Slice &lower,
             const Slice &upper, uint64_t *entries)
{
    rocksdb::SstFileReader reader{options};
    rocksdb::ReadOptions read;
    Status s = reader.Open(path);

    read.fill_cache = false;
    read.readahead_size = 1 << 20;
    if (s.ok())
        s = reader.VerifyChecksum(read);
    if (s.ok())
        s = check_entries(&reader, lower, upper, entries);
    if (s.ok()) {
        auto said = reader.GetTableProperties();

        if (!said || said->num_entries - said->num_range_deletions != *entries)
            s = Status::Corruption("it holds " + std::to_string(*entries) +
                                   " entries, not as many as it says");
    }
    return s;
}
} // namespace

void shim_sst_check(const char *path, struct shim_slice lower, struct shim_slice upper,
                    uint64_t *entries, char **error)
try {
    Status s;

    *entries = 0;
    s = check(rocksdb::Options(), path, slice_of(lower), slice_of(upper), entries);
    if (!s.ok() && *error == nullptr)
        *error = strdup(s.ToString().c_str());
} catch (const std::bad_alloc &) {
    if (*error == nullptr)
        *error = strdup("IO error: out of memory");
}

void shim_sst_check_bytes(struct shim_slice file, uint64_t *entries, char **error)
try {
    static const char name[] = "/file.sst";
    std::unique_ptr<rocksdb::Env> env(rocksdb::NewMemEnv(rocksdb::Env::Default()));
    rocksdb::Options options;
    Status s = rocksdb::WriteStringToFile(env.get(), slice_of(file), name);

    *entries = 0;
    options.env = env.get();
    if (s.ok())
        s = check(options, name, Slice(), Slice(), entries);
    if (!s.ok() && *error == nullptr)
        *error = strdup(s.ToString().c_str());
} catch (const std::bad_alloc &) {
    if (*error == nullptr)
        *error = strdup("IO error: out of memory");
}
