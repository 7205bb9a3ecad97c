/* The C API's handles are mirrored: their first member is the C++ object. That holds for the one
 * version this is built against. Compiled with -fno-rtti, as the library is. */
#include "backend/rocks_shim.h"

#include "rocksdb/compaction_filter.h"
#include "rocksdb/db.h"
#include "rocksdb/env.h"
#include "rocksdb/file_system.h"
#include "rocksdb/listener.h"
#include "rocksdb/options.h"
#include "rocksdb/version.h"

#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <string>
#include <vector>

static_assert(ROCKSDB_MAJOR == 9 && ROCKSDB_MINOR == 10, "the mirrored structs are those of 9.10");

namespace
{
using rocksdb::Slice;
using rocksdb::Status;

struct db_mirror {
    rocksdb::DB *rep;
};
struct cf_mirror {
    rocksdb::ColumnFamilyHandle *rep;
};

struct options_mirror {
    rocksdb::Options rep;
};

struct env_mirror {
    rocksdb::Env *rep;
    bool is_default;
};

/* ---- a file system for what need not last ---------------------------------------------------- */

using rocksdb::FileOptions;
using rocksdb::IODebugContext;
using rocksdb::IOOptions;
using rocksdb::IOStatus;

class scratch_file : public rocksdb::FSWritableFileOwnerWrapper
{
  public:
    using FSWritableFileOwnerWrapper::FSWritableFileOwnerWrapper;
    IOStatus Sync(const IOOptions &, IODebugContext *) override { return IOStatus::OK(); }
    IOStatus Fsync(const IOOptions &, IODebugContext *) override { return IOStatus::OK(); }
    IOStatus RangeSync(uint64_t, uint64_t, const IOOptions &, IODebugContext *) override
    {
        return IOStatus::OK();
    }
};

/* Only ever synced, so it need not be open: a family costs no file. */
class scratch_dir : public rocksdb::FSDirectory
{
  public:
    IOStatus Fsync(const IOOptions &, IODebugContext *) override { return IOStatus::OK(); }
    IOStatus Close(const IOOptions &, IODebugContext *) override { return IOStatus::OK(); }
};

class scratch_fs : public rocksdb::FileSystemWrapper
{
  public:
    scratch_fs() : FileSystemWrapper(rocksdb::FileSystem::Default()) {}
    static const char *kClassName() { return "VarveScratchFileSystem"; }
    const char *Name() const override { return kClassName(); }

    IOStatus NewWritableFile(const std::string &name, const FileOptions &options,
                             std::unique_ptr<rocksdb::FSWritableFile> *out,
                             IODebugContext *dbg) override
    {
        if (is_options_file(name))
            return IOStatus::NotSupported("no file of options is kept");
        return wrap(target()->NewWritableFile(name, options, out, dbg), out);
    }
    IOStatus ReopenWritableFile(const std::string &name, const FileOptions &options,
                                std::unique_ptr<rocksdb::FSWritableFile> *out,
                                IODebugContext *dbg) override
    {
        return wrap(target()->ReopenWritableFile(name, options, out, dbg), out);
    }
    IOStatus ReuseWritableFile(const std::string &name, const std::string &old_name,
                               const FileOptions &options,
                               std::unique_ptr<rocksdb::FSWritableFile> *out,
                               IODebugContext *dbg) override
    {
        return wrap(target()->ReuseWritableFile(name, old_name, options, out, dbg), out);
    }
    IOStatus NewDirectory(const std::string &, const IOOptions &,
                          std::unique_ptr<rocksdb::FSDirectory> *out, IODebugContext *) override
    {
        out->reset(new scratch_dir());
        return IOStatus::OK();
    }

  private:
    /* Whenever a family is made or changed RocksDB writes down the options of all, and reads them
     * again: of 180 families 160 ms each time. Nobody reads them later. */
    static bool is_options_file(const std::string &path)
    {
        return path.compare(path.rfind('/') + 1, 8, "OPTIONS-") == 0;
    }
    static IOStatus wrap(IOStatus s, std::unique_ptr<rocksdb::FSWritableFile> *out)
    {
        if (s.ok())
            out->reset(new scratch_file(std::move(*out)));
        return s;
    }
};

/* ---- what compactions leave out -------------------------------------------------------------- */

using rocksdb::CompactionFilter;

class filter : public CompactionFilter
{
  public:
    explicit filter(const shim_filter &f) : f_(f), moment_(f.begin(f.ctx)) {}
    const char *Name() const override { return "VarveFilter"; }
    Decision FilterV2(int, const Slice &, ValueType type, const Slice &value,
                      std::string *new_value, std::string *) const override
    try {
        if (type != ValueType::kValue && type != ValueType::kMergeOperand)
            return Decision::kKeep;
        new_value->clear();
        switch (f_.look(f_.ctx, moment_,
                        shim_slice{reinterpret_cast<const uint8_t *>(value.data()), value.size()},
                        emit, new_value)) {
        case SHIM_REMOVE:
            return Decision::kRemove;
        case SHIM_CHANGE:
            return Decision::kChangeValue;
        default:
            return Decision::kKeep;
        }
    } catch (const std::bad_alloc &) {
        return Decision::kKeep; /* the next one will do it */
    }

  private:
    static void emit(void *out, const uint8_t *data, size_t len)
    {
        static_cast<std::string *>(out)->append(reinterpret_cast<const char *>(data), len);
    }
    shim_filter f_;
    int64_t moment_;
};

class filter_factory : public rocksdb::CompactionFilterFactory
{
  public:
    const char *Name() const override { return "VarveFilterFactory"; }
    std::unique_ptr<CompactionFilter>
    CreateCompactionFilter(const CompactionFilter::Context &context) override
    try {
        std::lock_guard<std::mutex> lock(mutex_);
        auto it = filters_.find(context.column_family_id);

        if (it == filters_.end())
            return nullptr;
        return std::make_unique<filter>(it->second);
    } catch (const std::bad_alloc &) {
        return nullptr;
    }
    void set(uint32_t cf_id, const shim_filter &f)
    {
        std::lock_guard<std::mutex> lock(mutex_);

        filters_[cf_id] = f;
    }

  private:
    std::mutex mutex_;
    std::map<uint32_t, shim_filter> filters_;
};

rocksdb::DB *db_of(void *db)
{
    return static_cast<db_mirror *>(db)->rep;
}
rocksdb::ColumnFamilyHandle *cf_of(void *cf)
{
    return static_cast<cf_mirror *>(cf)->rep;
}

void report(const char *text, char **error)
{
    if (*error == nullptr)
        *error = strdup(text);
}

void report(const Status &s, char **error)
{
    if (!s.ok())
        report(s.ToString().c_str(), error);
}
} // namespace

struct shim_getter {
    std::vector<Slice> keys;
    std::vector<rocksdb::PinnableSlice> values;
    std::vector<Status> statuses;
};

void *shim_scratch_env_new(void *options)
try {
    auto env = std::make_unique<env_mirror>();

    env->rep = rocksdb::NewCompositeEnv(std::make_shared<scratch_fs>()).release();
    env->is_default = false;
    static_cast<options_mirror *>(options)->rep.env = env->rep;
    static_cast<options_mirror *>(options)->rep.fail_if_options_file_error = false;
    return env.release();
} catch (const std::bad_alloc &) {
    return nullptr;
}

void shim_scratch_env_free(void *env)
{
    if (env == nullptr)
        return;
    delete static_cast<env_mirror *>(env)->rep;
    delete static_cast<env_mirror *>(env);
}

shim_getter *shim_getter_new(void)
{
    return new (std::nothrow) shim_getter;
}

void shim_getter_free(shim_getter *g)
{
    delete g;
}

void shim_getter_reset(shim_getter *g)
{
    for (auto &v : g->values)
        v.Reset();
}

void shim_multi_get(shim_getter *g, void *db, void *cf, const shim_slice *keys, size_t count,
                    shim_slice *values, char **error)
try {
    rocksdb::ReadOptions options;

    shim_getter_reset(g);
    if (g->values.size() < count) {
        g->values = std::vector<rocksdb::PinnableSlice>(count); /* not movable: made anew */
        g->keys.resize(count);
        g->statuses.resize(count);
    }
    for (size_t i = 0; i < count; i++)
        g->keys[i] = Slice(reinterpret_cast<const char *>(keys[i].data), keys[i].len);
    db_of(db)->MultiGet(options, cf_of(cf), count, g->keys.data(), g->values.data(),
                        g->statuses.data(), true);
    for (size_t i = 0; i < count; i++) {
        values[i] = shim_slice{nullptr, 0};
        if (g->statuses[i].ok())
            values[i] = shim_slice{reinterpret_cast<const uint8_t *>(g->values[i].data()),
                                   g->values[i].size()};
        else if (!g->statuses[i].IsNotFound())
            report(g->statuses[i], error);
    }
} catch (const std::bad_alloc &) {
    report("IO error: out of memory", error);
}

void shim_ingest(void *db, void *cf, const char *const *paths, size_t count, char **error)
try {
    rocksdb::IngestExternalFileArg arg;

    arg.column_family = cf_of(cf);
    for (size_t i = 0; i < count; i++)
        arg.external_files.push_back(paths[i]);
    arg.options.move_files = true;
    arg.options.failed_move_fall_back_to_copy = false; /* a silent copy across file systems */
    arg.options.write_global_seqno = false;
    report(db_of(db)->IngestExternalFiles({arg}), error);
} catch (const std::bad_alloc &) {
    report("IO error: out of memory", error);
}

struct shim_filters {
    std::shared_ptr<filter_factory> factory;
};

shim_filters *shim_filters_new(void)
try {
    return new shim_filters{std::make_shared<filter_factory>()};
} catch (const std::bad_alloc &) {
    return nullptr;
}

void shim_filters_free(shim_filters *f)
{
    delete f;
}

void shim_filters_install(shim_filters *f, void *options)
{
    static_cast<options_mirror *>(options)->rep.compaction_filter_factory = f->factory;
}

void shim_filters_set(shim_filters *f, uint32_t cf_id, const shim_filter *filter, char **error)
try {
    f->factory->set(cf_id, *filter);
} catch (const std::bad_alloc &) {
    report("IO error: out of memory", error);
}

void shim_compact_range(void *db, void *cf, const shim_slice *lower, const shim_slice *upper,
                        char **error)
try {
    rocksdb::CompactRangeOptions options;
    Slice first(reinterpret_cast<const char *>(lower->data), lower->len);
    Slice last(reinterpret_cast<const char *>(upper->data), upper->len);

    options.exclusive_manual_compaction = false;
    options.bottommost_level_compaction = rocksdb::BottommostLevelCompaction::kForceOptimized;
    report(db_of(db)->CompactRange(options, cf_of(cf), &first, &last), error);
} catch (const std::bad_alloc &) {
    report("IO error: out of memory", error);
}

void shim_stop_compact_range(void *db)
{
    db_of(db)->DisableManualCompaction();
}

void shim_verify(void *db, char **error)
try {
    report(db_of(db)->VerifyChecksum(), error);
} catch (const std::bad_alloc &) {
    report("IO error: out of memory", error);
}

/* Keeps the first error; the database goes on telling of its consequences. */
class first_trouble : public rocksdb::EventListener
{
  public:
    void OnBackgroundError(rocksdb::BackgroundErrorReason, Status *status) override
    {
        std::lock_guard<std::mutex> guard(mutex_);

        if (text_.empty() && !status->ok())
            text_ = status->ToString();
    }
    bool tell(char *out, size_t cap)
    {
        std::lock_guard<std::mutex> guard(mutex_);

        snprintf(out, cap, "%s", text_.c_str());
        return !text_.empty();
    }

  private:
    std::mutex mutex_;
    std::string text_;
};

struct shim_trouble {
    std::shared_ptr<first_trouble> listener;
};

shim_trouble *shim_trouble_new(void *options)
try {
    auto *t = new shim_trouble{std::make_shared<first_trouble>()};

    static_cast<options_mirror *>(options)->rep.listeners.push_back(t->listener);
    return t;
} catch (const std::bad_alloc &) {
    return nullptr;
}

void shim_trouble_free(shim_trouble *t)
{
    delete t;
}

int shim_trouble_tell(shim_trouble *t, char *out, size_t cap)
try {
    return t->listener->tell(out, cap) ? 1 : 0;
} catch (const std::exception &) {
    return 0;
}

int shim_background_errors(void *db, uint64_t *count)
try {
    return db_of(db)->GetIntProperty(rocksdb::DB::Properties::kBackgroundErrors, count) ? 0 : -1;
} catch (const std::bad_alloc &) {
    return -1;
}

int shim_compactions(void *db, void *cf, struct shim_compactions *out)
try {
    std::map<std::string, std::string> stats;
    rocksdb::ColumnFamilyMetaData meta;
    size_t deepest = 0;

    out->count = out->deepest_count = out->written_bytes = 0;
    if (!db_of(db)->GetMapProperty(cf_of(cf), rocksdb::DB::Properties::kCFStats, &stats))
        return -1;
    db_of(db)->GetColumnFamilyMetaData(cf_of(cf), &meta);
    for (const auto &level : meta.levels)
        deepest = level.files.empty() ? deepest : static_cast<size_t>(level.level);
    for (size_t level = 1; level < meta.levels.size();
         level++) { /* what wrote level 0 are flushes */
        std::string of = "compaction.L" + std::to_string(level);
        uint64_t count =
            static_cast<uint64_t>(std::strtod(stats[of + ".CompCount"].c_str(), nullptr));

        out->count += count;
        if (level > deepest && count > 0) { /* counted, its files not installed yet */
            deepest = level;
            out->deepest_count = 0;
        }
        out->deepest_count += level == deepest ? count : 0;
        out->written_bytes += static_cast<uint64_t>(
            std::strtod(stats[of + ".WriteGB"].c_str(), nullptr) * 1073741824.0);
    }
    return 0;
} catch (const std::bad_alloc &) {
    return -1;
}
