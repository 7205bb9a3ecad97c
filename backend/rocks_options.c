/* The options of our databases, all of them, and the caches that databases share. */
#include "backend/rocks_intake_shim.h"
#include "backend/rocks_priv.h"
#include "base/arena.h"

#define MIB (1u << 20)
#define ARENA_BYTES (64u << 10) /* a memtable of a few rows takes it: there is one a state */
#define WRITE_BUFFER_OVERSHOOT 14 /* tenths: what a flush under way still holds */

/* ---- errors ---------------------------------------------------------------------------------- */

/* Where RocksDB drops what the system said and guesses. It opens CURRENT a second time when the first
 * time failed, to see whether direct I/O is to blame, which no database here asks for; and takes a
 * directory that cannot be looked at for something else. */
static const char *true_words(const char *text)
{
    static const char incompatible[] = "Invalid argument: Found options incompatible with filesystem: ";

    if (strstr(text, "Direct I/O is not supported by the specified DB") != NULL)
        return "IO error: CURRENT could not be opened the first time, but a moment later; the "
               "system's reason was not kept";
    if (strstr(text, "exists but is not a directory") != NULL)
        return "IO error: its directory is there, and none, or cannot be looked at; the system's "
               "reason was not kept";
    return strncmp(text, incompatible, sizeof incompatible - 1) == 0
               ? text + sizeof incompatible - 1
               : text;
}

/* The system's error that RocksDB names by its number alone; 0: none. */
static int bare_errno(const char *text)
{
    static const char words[] = "Unexpected error(";
    const char *at = strstr(text, words);
    int number = 0;

    for (at = at == NULL ? "" : at + sizeof words - 1; *at >= '0' && *at <= '9' && number < 1000; at++)
        number = 10 * number + (*at - '0');
    return number;
}

enum rc rocks_take_error(char *text, struct err *err, const char *doing)
{
    char reason[128];
    enum rc rc;

    if (text == NULL)
        return RC_OK;
    rc = strncmp(text, "Corruption", 10) == 0 ? RC_CORRUPT : RC_IO;
    if (bare_errno(text) == 0)
        err_set(err, rc, "rocksdb: %s: %s", doing, true_words(text));
    else
        err_set(err, rc, "rocksdb: %s: %s: %s", doing,
                strerror_r(bare_errno(text), reason, sizeof reason), text);
    rocksdb_free(text);
    return rc;
}

/* ---- shared caches --------------------------------------------------------------------------- */

struct rocks_shared *rocks_shared_new(uint64_t block_bytes, uint64_t write_buffer_bytes)
{
    struct rocks_shared *s = mem_calloc(1, sizeof *s);

    s->write_buffer_bytes = write_buffer_bytes;
    s->cache = rocksdb_cache_create_hyper_clock(block_bytes + write_buffer_bytes, 0);
    s->write_buffers = rocksdb_write_buffer_manager_create_with_cache(
        write_buffer_bytes * 10 / WRITE_BUFFER_OVERSHOOT, s->cache, false);
    return s;
}

void rocks_shared_free(struct rocks_shared *s)
{
    if (s == NULL)
        return;
    rocksdb_write_buffer_manager_destroy(s->write_buffers);
    rocksdb_cache_destroy(s->cache);
    mem_free(s);
}

void rocks_shared_use(struct rocks_shared *s, struct rocks_shared_use *out)
{
    *out = (struct rocks_shared_use){
        .cache_bytes = rocksdb_cache_get_usage(s->cache),
        .write_buffer_bytes = rocksdb_write_buffer_manager_memory_usage(s->write_buffers),
    };
}

/* ---- options --------------------------------------------------------------------------------- */

static void make_table_options(struct rocks_db *db)
{
    rocksdb_block_based_table_options_t *t = rocksdb_block_based_options_create();

    rocksdb_block_based_options_set_format_version(t, 5);
    rocksdb_block_based_options_set_checksum(t, 4); /* kXXH3 */
    rocksdb_block_based_options_set_block_size(t, 8192);
    rocksdb_block_based_options_set_filter_policy(t, rocksdb_filterpolicy_create_bloom_full(10));
    rocksdb_block_based_options_set_whole_key_filtering(t, 1);
    rocksdb_block_based_options_set_block_cache(t, db->shared->cache);
    rocksdb_block_based_options_set_cache_index_and_filter_blocks(t, 1);
    rocksdb_block_based_options_set_cache_index_and_filter_blocks_with_high_priority(t, 1);
    rocksdb_block_based_options_set_pin_l0_filter_and_index_blocks_in_cache(t, 0);
    db->table = t;
}

static uint64_t clamp(uint64_t v, uint64_t least, uint64_t most)
{
    return v < least ? least : v > most ? most : v;
}

/* Open tables are a cache in shards, each of which holds at least one: with RocksDB's own number a
 * database that may have 24 files open has 64. */
static int table_shard_bits(int max_open_files)
{
    int bits = 0;

    while (bits < 6 && (max_open_files < 0 || max_open_files >> (bits + 1) >= 64))
        bits++;
    return bits;
}

/* Set, never defaulted, whatever decides the bytes of a file. */
void rocks_options_make(struct rocks_db *db, const struct rocks_config *config)
{
    rocksdb_options_t *o = rocksdb_options_create();
    uint64_t file_bytes = config->file_bytes == 0 ? ROCKS_FILE_BYTES : config->file_bytes;

    db->own_shared = config->shared != NULL ? NULL
                                            : rocks_shared_new(config->block_cache_bytes,
                                                               config->write_buffer_bytes);
    db->shared = config->shared != NULL ? config->shared : db->own_shared;
    make_table_options(db);
    db->env = shim_scratch_env_new(o);
    ASSERT(db->env != NULL);
    rocksdb_options_set_create_if_missing(o, config->create);
    rocksdb_options_set_error_if_exists(o, config->create);
    rocksdb_options_set_paranoid_checks(o, 1);
    rocksdb_options_set_block_based_table_factory(o, db->table);
    rocksdb_options_set_merge_operator(o, rocks_merge_lists()); /* takes it over */
    db->trouble = shim_trouble_new(o);
    ASSERT(db->trouble != NULL);
    db->filters = shim_filters_new();
    ASSERT(db->filters != NULL);
    shim_filters_install(db->filters, o);
    rocksdb_options_set_compression(o, rocksdb_lz4_compression);
    rocksdb_options_set_bottommost_compression(o, rocksdb_lz4_compression);
    rocksdb_options_set_level_compaction_dynamic_level_bytes(o, 0);
    rocksdb_options_set_compaction_style(o, rocksdb_level_compaction);
    rocksdb_options_set_num_levels(o, 7);
    rocksdb_options_set_level0_file_num_compaction_trigger(o, 4);
    rocksdb_options_set_level0_slowdown_writes_trigger(o, 20);
    rocksdb_options_set_level0_stop_writes_trigger(o, 36);
    rocksdb_options_set_target_file_size_base(o, file_bytes);
    rocksdb_options_set_max_bytes_for_level_base(o, 4 * file_bytes);
    rocksdb_options_set_disable_auto_compactions(o, 1); /* until rocks_compact */
    rocksdb_options_set_write_buffer_manager(o, db->shared->write_buffers);
    rocksdb_options_set_write_buffer_size(
        o, (size_t)clamp(db->shared->write_buffer_bytes / 2, 64u << 10, 64 * MIB));
    rocksdb_options_set_arena_block_size(o, ARENA_BYTES);
    rocksdb_options_set_max_write_buffer_number(o, 2);
    rocksdb_options_set_max_open_files(o, config->max_open_files);
    rocksdb_options_set_table_cache_numshardbits(o, table_shard_bits(config->max_open_files));
    rocksdb_options_set_max_background_jobs(o, 1 + (config->compactions == 0 ? 1 : (int)config->compactions));
    rocksdb_options_set_periodic_compaction_seconds(o, 0);
    rocksdb_options_set_enable_blob_files(o, 0);
    rocksdb_options_set_stats_dump_period_sec(o, 0);
    rocksdb_options_set_stats_persist_period_sec(o, 0);
    rocksdb_options_set_keep_log_file_num(o, 1);
    rocksdb_options_set_max_manifest_file_size(o, 4 * MIB); /* each checkpoint copies it */
    rocksdb_options_set_info_log_level(o, 2);               /* warnings */
    rocksdb_options_set_use_fsync(o, 0);
    if (config->key_group_count != 0) {
        char *error = NULL;

        shim_options_cut_at_groups(o, keygroup_prefix_len(config->key_group_count),
                                   config->key_group_count, keygroup_cut_bytes, &error);
        ASSERT(error == NULL); /* memory is gone */
    }
    db->options = o;
    db->totals = rocksdb_options_create_copy(o);
    rocksdb_options_set_merge_operator(db->totals, rocks_merge_totals());
    db->scan = rocksdb_readoptions_create();
    rocksdb_readoptions_set_verify_checksums(db->scan, 1);
    rocksdb_readoptions_set_fill_cache(db->scan, 0);
    db->write = rocksdb_writeoptions_create();
    rocksdb_writeoptions_disable_WAL(db->write, 1);
    db->getter = shim_getter_new();
    ASSERT(db->getter != NULL);
}

void rocks_options_free(struct rocks_db *db)
{
    shim_getter_free(db->getter);
    rocksdb_writeoptions_destroy(db->write);
    rocksdb_readoptions_destroy(db->scan);
    rocksdb_options_destroy(db->totals);
    rocksdb_options_destroy(db->options);
    rocksdb_block_based_options_destroy(db->table);
    rocks_shared_free(db->own_shared);
    shim_filters_free(db->filters);
    shim_trouble_free(db->trouble);
    shim_scratch_env_free(db->env);
}

const rocksdb_options_t *rocks_options_of(const struct rocks_db *db, const char *family)
{
    bool totals = db->is_totals.of != NULL && db->is_totals.of(db->is_totals.ctx, family);

    return totals ? db->totals : db->options;
}
