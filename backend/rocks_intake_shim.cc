/* How a file is cut: it is imported, alone, into a family of a scratch database, and compacted
 * there within its level, by a partitioner that ends a file at each bound and a filter that skips
 * what lies outside. A file that spans all keys lies below it, so that nothing counts as the
 * oldest entry of its key: sequence numbers, deletions and operands stay as they are. What is cut
 * out gets a name of its own, and the family is dropped. */
#include "backend/rocks_intake_shim.h"

#include "rocksdb/compaction_filter.h"
#include "rocksdb/db.h"
#include "rocksdb/metadata.h"
#include "rocksdb/sst_file_writer.h"
#include "rocksdb/sst_partitioner.h"
#include "rocksdb/table_properties.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <new>
#include <string>
#include <vector>

namespace
{
using rocksdb::ColumnFamilyHandle;
using rocksdb::ExportImportFilesMetaData;
using rocksdb::LiveFileMetaData;
using rocksdb::Slice;
using rocksdb::SstFileMetaData;
using rocksdb::SstPartitioner;
using rocksdb::SstPartitionerFactory;
using rocksdb::Status;

struct db_mirror {
    rocksdb::DB *rep;
};
struct cf_mirror { /* made here, deleted by the library: the same size */
    ColumnFamilyHandle *rep;
    bool immortal;
};
struct options_mirror {
    rocksdb::Options rep;
};

rocksdb::DB *db_of(void *db)
{
    return static_cast<db_mirror *>(db)->rep;
}
ColumnFamilyHandle *cf_of(void *cf)
{
    return static_cast<cf_mirror *>(cf)->rep;
}
const rocksdb::Options &options_of(const void *options)
{
    return static_cast<const options_mirror *>(options)->rep;
}

void report(const char *text, char **error)
{
    if (*error == nullptr)
        *error = strdup(text);
}
bool report(const Status &s, char **error)
{
    if (!s.ok())
        report(s.ToString().c_str(), error);
    return s.ok();
}

std::string string_of(shim_slice s)
{
    return std::string(reinterpret_cast<const char *>(s.data), s.len);
}
shim_slice slice_of(const std::string &s)
{
    return shim_slice{reinterpret_cast<const uint8_t *>(s.data()), s.size()};
}

/* A range deletion that ends at the last key, which the file does not hold: the highest sequence
 * number. */
bool last_is_open(const SstFileMetaData &f)
{
    const size_t n = f.largest.size();

    if (n < 8)
        return false;
    for (size_t i = n - 7; i < n; i++) {
        if (static_cast<unsigned char>(f.largest[i]) != 0xFF)
            return false;
    }
    return true;
}

/* ---- ends of files --------------------------------------------------------------------------- */

class group_partitioner : public SstPartitioner
{
  public:
    using cut_fn = uint64_t (*)(uint32_t, uint32_t, uint32_t);

    group_partitioner(uint32_t prefix_len, uint32_t count, cut_fn cut)
        : prefix_len_(prefix_len), count_(count), cut_(cut)
    {
    }
    const char *Name() const override { return "VarveGroupPartitioner"; }
    rocksdb::PartitionerResult ShouldPartition(const rocksdb::PartitionerRequest &r) override
    {
        const uint32_t before = group(*r.prev_user_key), after = group(*r.current_user_key);

        return before != after && r.current_output_file_size >= cut_(before, after, count_)
                   ? rocksdb::kRequired
                   : rocksdb::kNotRequired;
    }
    bool CanDoTrivialMove(const Slice &, const Slice &) override { return true; }

  private:
    uint32_t group(const Slice &key) const
    {
        uint32_t g = 0;

        for (uint32_t i = 0; i < prefix_len_ && i < key.size(); i++)
            g = g << 8 | static_cast<unsigned char>(key[i]);
        return g;
    }
    const uint32_t prefix_len_, count_;
    const cut_fn cut_;
};

class group_partitioner_factory : public SstPartitionerFactory
{
  public:
    group_partitioner_factory(uint32_t prefix_len, uint32_t count, group_partitioner::cut_fn cut)
        : prefix_len_(prefix_len), count_(count), cut_(cut)
    {
    }
    const char *Name() const override { return "VarveGroupPartitionerFactory"; }
    std::unique_ptr<SstPartitioner>
    CreatePartitioner(const SstPartitioner::Context &) const override
    {
        return std::make_unique<group_partitioner>(prefix_len_, count_, cut_);
    }

  private:
    const uint32_t prefix_len_, count_;
    const group_partitioner::cut_fn cut_;
};

/* ---- cutting --------------------------------------------------------------------------------- */

struct bounds {
    std::string lower, upper; /* empty: none */

    int side(const Slice &key) const
    {
        if (key.compare(lower) < 0)
            return -1;
        return !upper.empty() && key.compare(upper) >= 0 ? 1 : 0;
    }
    bool hold(const SstFileMetaData &f) const
    {
        if (side(f.smallestkey) != 0)
            return false;
        return side(f.largestkey) == 0 || (last_is_open(f) && f.largestkey == upper);
    }
    bool miss(const SstFileMetaData &f) const
    {
        return side(f.smallestkey) > 0 || side(f.largestkey) < 0 ||
               (last_is_open(f) && f.largestkey == lower);
    }
};

class bounds_partitioner : public SstPartitioner
{
  public:
    explicit bounds_partitioner(const bounds &b) : bounds_(b) {}
    const char *Name() const override { return "VarveBoundsPartitioner"; }
    rocksdb::PartitionerResult ShouldPartition(const rocksdb::PartitionerRequest &r) override
    {
        return bounds_.side(*r.prev_user_key) != bounds_.side(*r.current_user_key)
                   ? rocksdb::kRequired
                   : rocksdb::kNotRequired;
    }
    bool CanDoTrivialMove(const Slice &, const Slice &) override { return false; }

  private:
    const bounds &bounds_;
};

class bounds_partitioner_factory : public SstPartitionerFactory
{
  public:
    explicit bounds_partitioner_factory(const bounds &b) : bounds_(b) {}
    const char *Name() const override { return "VarveBoundsPartitionerFactory"; }
    std::unique_ptr<SstPartitioner>
    CreatePartitioner(const SstPartitioner::Context &) const override
    {
        return std::make_unique<bounds_partitioner>(bounds_);
    }

  private:
    const bounds bounds_;
};

/* Deletions are not shown to a filter: those outside end in files of their own. */
class bounds_filter : public rocksdb::CompactionFilter
{
  public:
    explicit bounds_filter(const bounds &b) : bounds_(b) {}
    const char *Name() const override { return "VarveBoundsFilter"; }
    Decision FilterV2(int, const Slice &key, ValueType, const Slice &, std::string *,
                      std::string *skip_until) const override
    {
        const int side = bounds_.side(key);

        if (side == 0)
            return Decision::kKeep;
        *skip_until = side < 0 ? bounds_.lower : past_all;
        return Decision::kRemoveAndSkipUntil;
    }
    /* Keys begin with a group, which is below 0x8000. */
    static constexpr const char *past_all = "\xff\xff\xff\xff";

  private:
    const bounds bounds_;
};
constexpr int CUT_LEVEL = 1, BELOW_LEVEL = 6;

/* What an import needs to know of a file. */
LiveFileMetaData description(const SstFileMetaData &f, int level)
{
    LiveFileMetaData d;

    static_cast<SstFileMetaData &>(d) = f;
    d.level = level;
    return d;
}

bool find_file(rocksdb::DB *db, ColumnFamilyHandle *cf, const char *name, LiveFileMetaData *out)
{
    rocksdb::ColumnFamilyMetaData meta;

    db->GetColumnFamilyMetaData(cf, &meta);
    for (const auto &level : meta.levels) {
        for (const auto &f : level.files) {
            if (f.relative_filename == name) {
                *out = description(f, level.level);
                return true;
            }
        }
    }
    return false;
}
} // namespace

struct shim_cutter {
    rocksdb::Options options;
    std::string dir;
    std::unique_ptr<rocksdb::DB> db;
    std::vector<std::unique_ptr<bounds_filter>> filters; /* one a cut; must outlive its family */
    LiveFileMetaData below;
};
struct shim_intake {
    ExportImportFilesMetaData files;
};

void shim_options_cut_at_groups(void *options, uint32_t prefix_len, uint32_t key_group_count,
                                uint64_t (*cut_bytes)(uint32_t, uint32_t, uint32_t), char **error)
try {
    static_cast<options_mirror *>(options)->rep.sst_partitioner_factory =
        std::make_shared<group_partitioner_factory>(prefix_len, key_group_count, cut_bytes);
} catch (const std::bad_alloc &) {
    report("IO error: out of memory", error);
}

void shim_files(void *db, void *cf, shim_file_fn *fn, void *ctx, char **error)
try {
    rocksdb::ColumnFamilyMetaData meta;

    db_of(db)->GetColumnFamilyMetaData(cf_of(cf), &meta);
    for (const auto &level : meta.levels) {
        for (const auto &f : level.files) {
            const shim_file out = {f.relative_filename.c_str(), f.size, slice_of(f.smallestkey),
                                   slice_of(f.largestkey), last_is_open(f)};

            fn(ctx, &out);
        }
    }
} catch (const std::bad_alloc &) {
    report("IO error: out of memory", error);
}

void shim_level_rows(void *db, void *cf, int all_levels, shim_rows *out, char **error)
try {
    rocksdb::ColumnFamilyMetaData meta;
    rocksdb::TablePropertiesCollection all;

    *out = shim_rows{0, 0, 0};
    db_of(db)->GetColumnFamilyMetaData(cf_of(cf), &meta);
    if (!report(db_of(db)->GetPropertiesOfAllTables(cf_of(cf), &all), error))
        return;
    for (const auto &level : meta.levels) {
        shim_rows sum = {0, 0, 0};

        for (const auto &f : level.files) {
            const auto found = all.find(f.directory + "/" + f.relative_filename);

            if (found == all.end())
                continue; /* compacted meanwhile */
            const rocksdb::TableProperties &p = *found->second;
            const uint64_t live = p.num_entries - std::min(p.num_deletions, p.num_entries);

            sum.rows += live;
            sum.key_bytes += p.raw_key_size - std::min(8 * p.num_entries, p.raw_key_size);
            sum.value_bytes += p.raw_value_size;
        }
        if (all_levels)
            *out = shim_rows{out->rows + sum.rows, out->key_bytes + sum.key_bytes,
                             out->value_bytes + sum.value_bytes};
        else if (sum.rows > out->rows)
            *out = sum;
    }
} catch (const std::bad_alloc &) {
    report("IO error: out of memory", error);
}

shim_cutter *shim_cutter_new(const void *options, const char *dir)
try {
    auto c = std::make_unique<shim_cutter>();

    c->options = options_of(options);
    c->options.create_if_missing = true;
    c->options.error_if_exists = true;
    c->options.disable_auto_compactions = true;
    c->options.compaction_filter = nullptr;
    c->options.compaction_filter_factory = nullptr;
    c->options.sst_partitioner_factory = nullptr;
    c->dir = dir;
    return c.release();
} catch (const std::bad_alloc &) {
    return nullptr;
}

void shim_cutter_free(shim_cutter *c)
{
    delete c;
}

/* The database, and the file that lies below all others. */
static bool cutter_open(shim_cutter *c, char **error)
{
    rocksdb::DB *db = nullptr;
    rocksdb::SstFileWriter writer(rocksdb::EnvOptions(), c->options);

    if (!report(rocksdb::DB::Open(c->options, c->dir, &db), error))
        return false;
    c->db.reset(db);
    if (!report(writer.Open(c->dir + "/below"), error) ||
        !report(writer.Put(Slice("\0", 1), Slice()), error) ||
        !report(writer.Put(Slice(bounds_filter::past_all), Slice()), error) ||
        !report(writer.Finish(), error))
        return false;
    c->below.db_path = c->dir;
    c->below.name = "below";
    c->below.level = BELOW_LEVEL;
    return true;
}

/* A second name of a file, in the cutter's directory; the description follows it. */
static bool link_file(shim_cutter *c, LiveFileMetaData *f, const std::string &name, char **error)
{
    const std::string from = f->db_path + "/" + f->name;

    f->db_path = c->dir;
    f->name = "/" + name;
    return report(c->options.env->LinkFile(from, c->dir + f->name), error);
}

using scratch_family = std::unique_ptr<ColumnFamilyHandle>;

/* A family that holds a copy of the file, above the one that spans all. */
static scratch_family family_of(shim_cutter *c, const std::string &name, const void *like,
                                const LiveFileMetaData &file, const bounds &b, char **error)
{
    rocksdb::ColumnFamilyOptions options = c->options;
    rocksdb::ImportColumnFamilyOptions move;
    ExportImportFilesMetaData files;
    ColumnFamilyHandle *cf = nullptr;

    files.files = {c->below, file}; /* the links go with the import, the files stay */
    if (!link_file(c, &files.files[0], name + "-below", error) ||
        !link_file(c, &files.files[1], name + "-file", error))
        return nullptr;
    files.files.back().level = CUT_LEVEL;
    files.db_comparator_name = c->options.comparator->Name();
    move.move_files = true;
    c->filters.push_back(std::make_unique<bounds_filter>(b));
    options.compaction_filter = c->filters.back().get();
    options.merge_operator = options_of(like).merge_operator;
    options.sst_partitioner_factory = std::make_shared<bounds_partitioner_factory>(b);
    report(c->db->CreateColumnFamilyWithImport(options, name, move, files, &cf), error);
    return scratch_family(cf);
}

shim_intake *shim_intake_new(void)
{
    return new (std::nothrow) shim_intake;
}

void shim_intake_free(shim_intake *in)
{
    delete in;
}

size_t shim_intake_count(const shim_intake *in)
{
    return in->files.files.size();
}

void shim_intake_keep(shim_intake *in, size_t count)
{
    while (in->files.files.size() > count)
        in->files.files.pop_back();
}

void shim_intake_add(shim_intake *in, void *db, void *cf, const char *name, char **error)
try {
    LiveFileMetaData f;

    if (find_file(db_of(db), cf_of(cf), name, &f))
        in->files.files.push_back(f);
    else
        report("Corruption: no such file in the family", error);
} catch (const std::bad_alloc &) {
    report("IO error: out of memory", error);
}

/* Cuts the one file of the family in place; its new files that lie inside become the intake's.
 * false: one lies across a bound, or an error. */
static bool cut_and_take(shim_intake *in, shim_cutter *c, ColumnFamilyHandle *family,
                         const LiveFileMetaData &file, const bounds &b, char **error)
{
    rocksdb::ColumnFamilyMetaData meta;

    c->db->GetColumnFamilyMetaData(family, &meta);
    if (!report(c->db->CompactFiles(rocksdb::CompactionOptions(), family,
                                    {meta.levels[CUT_LEVEL].files[0].name}, CUT_LEVEL),
                error))
        return false;
    c->db->GetColumnFamilyMetaData(family, &meta);
    for (const auto &f : meta.levels[CUT_LEVEL].files) {
        if (b.miss(f))
            continue;
        if (!b.hold(f))
            return false;
        LiveFileMetaData part = description(f, file.level);

        part.epoch_number = file.epoch_number; /* orders level 0 */
        if (!link_file(c, &part, "part" + f.relative_filename, error))
            return false;
        in->files.files.push_back(part);
    }
    return true;
}

int shim_intake_cut(shim_intake *in, shim_cutter *cutter, void *db, void *cf, const void *options,
                    const char *name, shim_slice lower, shim_slice upper, char **error)
try {
    const bounds b = {string_of(lower), string_of(upper)};
    const size_t before = shim_intake_count(in);
    LiveFileMetaData file;

    if (!find_file(db_of(db), cf_of(cf), name, &file)) {
        report("Corruption: no such file in the family", error);
        return 0;
    }
    if (cutter->db == nullptr && !cutter_open(cutter, error))
        return 0;
    const scratch_family family =
        family_of(cutter, "f" + std::to_string(cutter->filters.size()), options, file, b, error);
    if (*error != nullptr)
        return 0;
    bool done = cut_and_take(in, cutter, family.get(), file, b, error);
    done = report(cutter->db->DropColumnFamily(family.get()), error) && done;
    if (!done)
        shim_intake_keep(in, before);
    return done;
} catch (const std::bad_alloc &) {
    report("IO error: out of memory", error);
    return 0;
}

void *shim_intake_end(shim_intake *in, void *db, const void *options, const char *cf_name,
                      char **error)
try {
    rocksdb::ColumnFamilyOptions cf_options = options_of(options);
    rocksdb::ImportColumnFamilyOptions move;
    auto out = std::make_unique<cf_mirror>();

    move.move_files = true;
    in->files.db_comparator_name = cf_options.comparator->Name();
    if (!report(db_of(db)->CreateColumnFamilyWithImport(cf_options, cf_name, move, in->files,
                                                        &out->rep),
                error)) {
        delete out->rep;
        return nullptr;
    }
    return out.release();
} catch (const std::bad_alloc &) {
    report("IO error: out of memory", error);
    return nullptr;
}
