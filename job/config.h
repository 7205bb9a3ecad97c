/* config.h - every option: Flink's key, aliases, type, default, what is accepted, one line of
 * documentation.
 *
 * There is ONE table, config_options.def; the enum below, parsing, checks, SET without arguments
 * and docs come from it. An unknown key is RC_INVALID and names the nearest known one; a bad value
 * names key, value and what is allowed; a value that Flink has and varve cannot do (yet) is
 * RC_UNSUPPORTED with the reason. Nothing is accepted and ignored.
 *
 * A struct config holds layers, a later one wins: defaults < file < command line (-D) < SET. An
 * alias sets the option it stands for; in one layer the new key wins over its aliases, whatever the
 * order (as in Flink), except with SET, where the later one wins. Thread: one at a time; copy it
 * (config_copy) for another.
 */
#ifndef VARVE_JOB_CONFIG_H
#define VARVE_JOB_CONFIG_H

#include "base/arena.h"
#include "base/fs.h"
#include "base/units.h"
#include "checkpoint/coordinator.h"
#include "checkpoint/restart_strategy.h"

enum option_type {
    OPTION_BOOL, /* true | false */
    OPTION_INT,  /* 32 bits */
    OPTION_LONG, /* 64 bits */
    OPTION_DOUBLE,
    OPTION_STRING,
    OPTION_SECRET,   /* text that is never shown: lists have CONFIG_HIDDEN in its place */
    OPTION_DURATION, /* "500 ms", "10s", "1 min", "1h", "PT10S"; a bare number = ms */
    OPTION_MEMORY,   /* "20kb", "32 mb"; a bare number = bytes */
    OPTION_ENUM, /* one of the words in `allowed`, letter case and '-' against '_' do not matter */
};
enum option_id {
#define OPTION(id, key, aliases, type, def, allowed, doc) OPT_##id,
#include "job/config_options.def"
#undef OPTION
    OPTION_COUNT
};
/* One row of the table; static. */
struct option {
    const char *key;
    const char *aliases; /* separated by '|'; "" for none */
    enum option_type type;
    const char *default_text; /* NULL: none; the getters then assert config_has */
    /* OPTION_ENUM: words separated by '|', a word after '!' is known and refused:
     * "aligned|!unaligned". numbers, durations and sizes: "min..max", each may be absent;
     * "=reason": only the default is accepted, the text says why */
    const char *allowed;
    const char *doc;
};
const struct option *option_at(enum option_id id);
/* By key or alias; false: unknown. */
bool option_find(const char *key, enum option_id *id);
/* The known key nearest to `key` (edit distance), never NULL. */
const char *option_nearest(const char *key);

enum config_layer {
    CONFIG_DEFAULT,
    CONFIG_FILE,
    CONFIG_COMMAND_LINE,
    CONFIG_SET,
    CONFIG_LAYER_COUNT
};
const char *config_layer_name(enum config_layer layer); /* "default", "file", "-D", "SET" */

struct config;                   /* opaque */
struct config *config_new(void); /* all defaults */
struct config *config_copy(const struct config *c);
void config_free(struct config *c);
void config_swap(struct config *a, struct config *b); /* exchange all that they hold */

/* Check and set in one layer (not CONFIG_DEFAULT). RC_INVALID, RC_UNSUPPORTED: nothing changes. */
MUST_USE enum rc config_set(struct config *c, enum config_layer layer, const char *key,
                            const char *value, struct err *err);
/* "key=value" of -D. */
MUST_USE enum rc config_set_pair(struct config *c, enum config_layer layer, const char *pair,
                                 struct err *err);
/* RESET 'key': forget what SET did; the layers below show again. */
MUST_USE enum rc config_reset(struct config *c, const char *key, struct err *err);
void config_reset_all(struct config *c); /* RESET */
/* Load YAML text into the file layer: nested maps and dotted keys; lists become "a;b". Messages
 * carry "<what>:<line>". On an error nothing changes. */
MUST_USE enum rc config_load_yaml(struct config *c, struct bytes text, const char *what,
                                  struct err *err);
#define CONFIG_FILE_BYTES_MAX (1024u * 1024u)
MUST_USE enum rc config_load_file(struct config *c, struct fs *fs, const char *path,
                                  struct err *err);
/* Rules between options (Flink's CheckpointCoordinatorConfiguration and ours): call once before a
 * job starts. */
MUST_USE enum rc config_check(const struct config *c, struct err *err);

/* Has a value: set in some layer or a default. */
bool config_has(const struct config *c, enum option_id id);
/* Where the value comes from. */
enum config_layer config_source(const struct config *c, enum option_id id);
/* Typed getters: the type must be the table's and a value must be there (asserted). Strings hold
 * until the next change. */
bool config_bool(const struct config *c, enum option_id id);
int32_t config_int(const struct config *c, enum option_id id);
int64_t config_long(const struct config *c, enum option_id id);
double config_double(const struct config *c, enum option_id id);
const char *config_string(const struct config *c,
                          enum option_id id); /* any type, as it was written; NULL: no value */
int64_t config_duration_ms(const struct config *c, enum option_id id);
uint64_t config_bytes(const struct config *c, enum option_id id);
/* Index of the word in the table's `allowed`, to be compared with the enums below. */
int config_enum(const struct config *c, enum option_id id);

#define CONFIG_HIDDEN "******" /* as Flink shows it */
/* Each option with a value (or only those set above the defaults), in key order; secrets hidden. */
typedef void config_list_fn(void *ctx, const struct option *option, const char *value,
                            enum config_layer source);
void config_list(const struct config *c, bool only_set, config_list_fn *fn, void *ctx);

/* The words of enum options, in the order of the table (claim mode: enum claim_mode in
 * job/runtime/supervisor.h; retention: enum checkpoint_retention in checkpoint/completed.h). */
enum { MODE_EXACTLY_ONCE, MODE_AT_LEAST_ONCE };
enum { STORAGE_JOBMANAGER, STORAGE_FILESYSTEM };
enum { BACKEND_TYPE_HASHMAP, BACKEND_TYPE_ROCKSDB };
enum { RUNTIME_STREAMING, RUNTIME_BATCH, RUNTIME_AUTOMATIC };
enum { BLIND_AUTO, BLIND_OFF };
enum {
    RESTART_NONE,
    RESTART_OFF,
    RESTART_DISABLE,
    RESTART_FIXED_DELAY,
    RESTART_FAILURE_RATE,
    RESTART_EXPONENTIAL_DELAY
};
enum { RESULT_TABLE, RESULT_CHANGELOG, RESULT_TABLEAU };

/* STORAGE_*: as set, else filesystem when a checkpoint directory is set, else jobmanager. */
int config_storage(const struct config *c);
/* Whether barriers may overtake: execution.checkpointing.unaligned.enabled, which AT_LEAST_ONCE ignores. */
bool config_unaligned(const struct config *c);
/* The options of one noun, gathered. The strings hold until the next change of c; first_id, rng,
 * topology are the caller's to fill. */
void config_coordinator(const struct config *c, struct coordinator_config *out);
/* restart-strategy.*; without a type: exponential-delay when checkpoints are periodic, else none.
 */
void config_restart(const struct config *c, struct restart_config *out);

#endif
