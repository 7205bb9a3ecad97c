/* connector.c - see connector.h. */
#include "job/sql/connector.h"

#include "job/config.h"
#include "job/sql/connector_priv.h"
#include "job/sql/secret.h"
#include "job/sql/sql_error.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#define PARALLELISM_MAX 1024
#define DATAGEN_LENGTH_MAX (64u << 20)

enum { USE_SOURCE = 1, USE_SINK = 2, USE_BOTH = 3 };
enum value_kind {
    VALUE_TEXT,
    VALUE_LONG,
    VALUE_REAL,
    VALUE_DURATION,
    VALUE_SIZE,
    VALUE_BOOL,
    VALUE_WORD,
    VALUE_REFUSED,
    VALUE_FALSE
};
/* An option of a connector. VALUE_WORD: one of `text`, separated by |. VALUE_REFUSED, VALUE_FALSE
 * (only false is taken): `text` is the reason. */
struct option_def {
    const char *key;
    enum value_kind kind;
    int64_t least, most;
    const char *text;
};
struct connector {
    const char *name;
    int use;
    bool has_format;
    const struct option_def *options;
    size_t option_count;
};

#define NO_COMMIT "partition commit is not built; files become visible at each checkpoint"
#define NO_COMPACTION "compaction of part files is not built"
static const struct option_def common_options[] = {
    {"connector", VALUE_TEXT, 0, 0, NULL},
    {"varve.uid", VALUE_TEXT, 0, 0, NULL},
};
static const struct option_def datagen_options[] = {
    {"rows-per-second", VALUE_LONG, 0, INT64_MAX, NULL},
    {"number-of-rows", VALUE_LONG, 0, INT64_MAX, NULL},
    {"scan.parallelism", VALUE_LONG, 1, PARALLELISM_MAX, NULL},
    {"varve.seed", VALUE_LONG, 0, INT64_MAX, NULL},
};
static const struct option_def filesystem_options[] = {
    {"path", VALUE_TEXT, 0, 0, NULL},
    {"format", VALUE_TEXT, 0, 0, NULL},
    {"source.monitor-interval", VALUE_DURATION, 1, INT64_MAX, NULL},
    {"varve.rows-per-second", VALUE_LONG, 1, INT64_MAX, NULL}, /* slows a source down, for trials */
    {"source.path.regex-pattern", VALUE_REFUSED, 0, 0, "choose files by their folder"},
    {"source.report-statistics", VALUE_REFUSED, 0, 0, "there is no cost-based optimizer"},
    {"scan.parallelism", VALUE_LONG, 1, PARALLELISM_MAX, NULL},
    {"partition.default-name", VALUE_TEXT, 0, 0, NULL},
    {"sink.rolling-policy.file-size", VALUE_SIZE, 1, INT64_MAX, NULL},
    {"sink.rolling-policy.rollover-interval", VALUE_DURATION, 1, INT64_MAX, NULL},
    {"sink.rolling-policy.inactivity-interval", VALUE_DURATION, 1, INT64_MAX, NULL},
    {"sink.rolling-policy.check-interval", VALUE_DURATION, 1, INT64_MAX, NULL},
    {"sink.parallelism", VALUE_LONG, 1, PARALLELISM_MAX, NULL},
    {"auto-compaction", VALUE_FALSE, 0, 0, NO_COMPACTION},
    {"compaction.file-size", VALUE_REFUSED, 0, 0, NO_COMPACTION},
    {"compaction.parallelism", VALUE_REFUSED, 0, 0, NO_COMPACTION},
    {"sink.shuffle-by-partition.enable", VALUE_FALSE, 0, 0, "rows are not shuffled by partition"},
    {"sink.partition-commit.trigger", VALUE_REFUSED, 0, 0, NO_COMMIT},
    {"sink.partition-commit.delay", VALUE_REFUSED, 0, 0, NO_COMMIT},
    {"sink.partition-commit.watermark-time-zone", VALUE_REFUSED, 0, 0, NO_COMMIT},
    {"sink.partition-commit.policy.kind", VALUE_REFUSED, 0, 0, NO_COMMIT},
    {"sink.partition-commit.policy.class", VALUE_REFUSED, 0, 0, NO_COMMIT},
    {"sink.partition-commit.success-file.name", VALUE_REFUSED, 0, 0, NO_COMMIT},
    {"partition.time-extractor.kind", VALUE_REFUSED, 0, 0, NO_COMMIT},
    {"partition.time-extractor.class", VALUE_REFUSED, 0, 0, NO_COMMIT},
    {"partition.time-extractor.timestamp-pattern", VALUE_REFUSED, 0, 0, NO_COMMIT},
    {"partition.time-extractor.timestamp-formatter", VALUE_REFUSED, 0, 0, NO_COMMIT},
};
static const struct option_def print_options[] = {
    {"print-identifier", VALUE_TEXT, 0, 0, NULL},
    {"standard-error", VALUE_BOOL, 0, 0, NULL},
    {"sink.parallelism", VALUE_LONG, 1, PARALLELISM_MAX, NULL},
};
static const struct option_def blackhole_options[] = {
    {"sink.parallelism", VALUE_LONG, 1, PARALLELISM_MAX, NULL},
};
#define NO_JDBC_SOURCE "reading tables of a database is not built"
static const struct option_def jdbc_options[] = {
    {"url", VALUE_TEXT, 0, 0, NULL},
    {"table-name", VALUE_TEXT, 0, 0, NULL},
    {"username", VALUE_TEXT, 0, 0, NULL},
    {"password", VALUE_TEXT, 0, 0, NULL},
    {"driver", VALUE_TEXT, 0, 0, NULL},
    {"connection.max-retry-timeout", VALUE_DURATION, 1000, INT64_MAX / NS_PER_MS / 2, NULL},
    {"sink.buffer-flush.max-rows", VALUE_LONG, 1, UINT32_MAX / 2, NULL},
    {"sink.buffer-flush.interval", VALUE_REFUSED, 0, 0, "rows leave when their checkpoint is complete"},
    {"sink.max-retries", VALUE_LONG, 0, 1000, NULL},
    {"sink.parallelism", VALUE_LONG, 1, PARALLELISM_MAX, NULL},
    {"varve.sink.log.max-size", VALUE_SIZE, 1 << 16, INT64_MAX, NULL},
    {"varve.sink.marks-table", VALUE_TEXT, 0, 0, NULL},
    {"varve.sink.repeat-rows", VALUE_BOOL, 0, 0, NULL},
    {"compatible-mode", VALUE_REFUSED, 0, 0, "the database is PostgreSQL"},
    {"filter.handling.policy", VALUE_REFUSED, 0, 0, NO_JDBC_SOURCE},
    {"scan.partition.column", VALUE_REFUSED, 0, 0, NO_JDBC_SOURCE},
    {"scan.partition.num", VALUE_REFUSED, 0, 0, NO_JDBC_SOURCE},
    {"scan.partition.lower-bound", VALUE_REFUSED, 0, 0, NO_JDBC_SOURCE},
    {"scan.partition.upper-bound", VALUE_REFUSED, 0, 0, NO_JDBC_SOURCE},
    {"scan.fetch-size", VALUE_REFUSED, 0, 0, NO_JDBC_SOURCE},
    {"scan.auto-commit", VALUE_REFUSED, 0, 0, NO_JDBC_SOURCE},
    {"lookup.cache", VALUE_REFUSED, 0, 0, NO_JDBC_SOURCE},
    {"lookup.cache.max-rows", VALUE_REFUSED, 0, 0, NO_JDBC_SOURCE},
    {"lookup.cache.ttl", VALUE_REFUSED, 0, 0, NO_JDBC_SOURCE},
    {"lookup.max-retries", VALUE_REFUSED, 0, 0, NO_JDBC_SOURCE},
};
static const struct connector connectors[] = {
    {"datagen", USE_SOURCE, false, datagen_options, ARRAY_LEN(datagen_options)},
    {"filesystem", USE_BOTH, true, filesystem_options, ARRAY_LEN(filesystem_options)},
    {"print", USE_SINK, false, print_options, ARRAY_LEN(print_options)},
    {"blackhole", USE_SINK, false, blackhole_options, ARRAY_LEN(blackhole_options)},
    {"jdbc", USE_SINK, false, jdbc_options, ARRAY_LEN(jdbc_options)},
};
#define CONNECTORS "datagen, filesystem, print, blackhole and jdbc"
static const char *const other_connectors[] = {"kafka",
                                               "upsert-kafka",
                                               "elasticsearch-7",
                                               "kinesis",
                                               "hbase-2.2",
                                               "mongodb",
                                               "pulsar",
                                               "faker",
                                               "opensearch",
                                               "firehose",
                                               "dynamodb",
                                               "python-input-format"};

/* ---- one option ------------------------------------------------------------------------------ */

static const struct ast_option *find(const struct connector_table *t, const char *key)
{
    for (uint32_t i = 0; i < t->option_count; i++)
        if (strcmp(t->options[i].key, key) == 0)
            return &t->options[i];
    return NULL;
}

static const char *text_of(const struct connector_table *t, const char *key, const char *otherwise)
{
    const struct ast_option *o = find(t, key);

    return o == NULL ? otherwise : o->value;
}

static enum rc bad(const struct connector_table *t, const struct ast_option *o, enum rc rc,
                   const char *reason, struct err *err)
{
    return sql_error_at(err, rc, t->text, o->pos, "table %s: option '%s' = '%s': %s", t->name,
                        o->key, secret_key(o->key) ? SECRET_SHOWN : o->value, reason);
}

enum rc connector_option_bad(const struct connector_table *t, const struct ast_option *o, enum rc rc,
                             const char *reason, struct err *err)
{
    return bad(t, o, rc, reason, err);
}

const struct ast_option *connector_option(const struct connector_table *t, const char *key)
{
    return find(t, key);
}

static bool parse_long(const char *text, int64_t *out)
{
    char *end;

    errno = 0;
    *out = strtoll(text, &end, 10);
    return errno == 0 && end != text && *end == '\0' && *text != ' ';
}

static bool parse_real(const char *text, double *out)
{
    char *end;

    errno = 0;
    *out = strtod(text, &end);
    return errno == 0 && end != text && *end == '\0' && *text != ' ';
}

/* The value of a numeric, boolean or word option as a number; checks its range. */
static enum rc read_value(const struct connector_table *t, const struct option_def *def,
                          const struct ast_option *o, int64_t *out, struct err *err)
{
    struct err why = {0};
    uint64_t size;
    bool yes;
    char range[128];

    *out = 0;
    switch (def->kind) {
    case VALUE_TEXT:
    case VALUE_REAL:
    case VALUE_WORD:
        return RC_OK;
    case VALUE_LONG:
        if (!parse_long(o->value, out))
            return bad(t, o, RC_INVALID, "must be a whole number", err);
        break;
    case VALUE_DURATION:
        if (duration_parse(o->value, out, &why) != RC_OK)
            return bad(t, o, RC_INVALID, why.msg, err);
        break;
    case VALUE_SIZE:
        if (memory_size_parse(o->value, &size, &why) != RC_OK)
            return bad(t, o, RC_INVALID, why.msg, err);
        *out = size > INT64_MAX ? INT64_MAX : (int64_t)size;
        break;
    case VALUE_BOOL:
    case VALUE_FALSE:
        if (bool_parse(o->value, &yes, &why) != RC_OK)
            return bad(t, o, RC_INVALID, why.msg, err);
        *out = yes;
        return yes && def->kind == VALUE_FALSE ? bad(t, o, RC_UNSUPPORTED, def->text, err) : RC_OK;
    case VALUE_REFUSED:
        return bad(t, o, RC_UNSUPPORTED, def->text, err);
    }
    if (*out < def->least || *out > def->most) {
        snprintf(range, sizeof range,
                 def->most == INT64_MAX ? "must be at least %lld" : "must be between %lld and %lld",
                 (long long)def->least, (long long)def->most);
        return bad(t, o, RC_INVALID, range, err);
    }
    return RC_OK;
}

/* The number of a known option that may be left out. Its value was checked by check_options. */
static int64_t number_of(const struct connector_table *t, const struct connector *c,
                         const char *key, int64_t otherwise)
{
    const struct ast_option *o = find(t, key);
    int64_t value = otherwise;
    struct err ignored = {0};

    if (o == NULL)
        return otherwise;
    for (size_t i = 0; i < c->option_count; i++)
        if (strcmp(c->options[i].key, key) == 0 &&
            read_value(t, &c->options[i], o, &value, &ignored) == RC_OK)
            return value;
    return otherwise;
}

/* Of a table whose connector is known to be there. */
int64_t connector_option_number(const struct connector_table *t, const char *key, int64_t otherwise)
{
    const char *name = text_of(t, "connector", "");
    size_t i = 0;

    while (strcmp(connectors[i].name, name) != 0)
        i++;
    return number_of(t, &connectors[i], key, otherwise);
}

/* ---- which options a table may have ---------------------------------------------------------- */

static enum rc connector_of(const struct connector_table *t, const struct connector **out,
                            struct err *err)
{
    const struct ast_option *o = find(t, "connector");
    const char *names[ARRAY_LEN(connectors)];
    char hint[SQL_HINT_MAX];

    if (o == NULL)
        return sql_error_at(err, RC_INVALID, t->text, t->pos,
                            "table %s: the option 'connector' is missing", t->name);
    for (size_t i = 0; i < ARRAY_LEN(connectors); i++) {
        names[i] = connectors[i].name;
        if (strcmp(o->value, names[i]) == 0) {
            *out = &connectors[i];
            return RC_OK;
        }
    }
    for (size_t i = 0; i < ARRAY_LEN(other_connectors); i++)
        if (strcmp(o->value, other_connectors[i]) == 0)
            return bad(t, o, RC_UNSUPPORTED,
                       "varve has the connectors " CONNECTORS, err);
    return sql_error_at(err, RC_INVALID, t->text, o->pos,
                        "table %s: there is no connector '%s'; varve has " CONNECTORS "%s",
                        t->name, o->value,
                        sql_nearest_hint(hint, o->value, names, ARRAY_LEN(names)));
}

static bool starts_with(const char *text, const char *prefix)
{
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

static const char *const field_words[] = {"kind",  "min", "max",       "max-past", "length",
                                          "start", "end", "null-rate", "var-len"};

/* Column and word of 'fields.<column>.<word>'; false: there is no such column or word. */
static bool split_field_key(const struct connector_table *t, const char *key, uint32_t *column,
                            const char **word)
{
    for (uint32_t i = 0; i < t->schema->field_count; i++) {
        size_t len = strlen(t->schema->fields[i].name);

        if (strncmp(key + 7, t->schema->fields[i].name, len) != 0 || key[7 + len] != '.')
            continue;
        *column = i;
        *word = key + 7 + len + 1;
        for (size_t w = 0; w < ARRAY_LEN(field_words); w++)
            if (strcmp(*word, field_words[w]) == 0)
                return true;
    }
    return false;
}

static enum rc unknown(const struct connector_table *t, const struct connector *c,
                       const struct ast_option *o, struct err *err)
{
    const char *keys[ARRAY_LEN(filesystem_options) + ARRAY_LEN(common_options)]; /* the most */
    size_t count = 0;
    char hint[SQL_HINT_MAX];
    uint32_t column;
    const char *word;

    if (starts_with(o->key, "fields.") && strcmp(c->name, "datagen") == 0 &&
        !split_field_key(t, o->key, &column, &word)) {
        const char *last = strrchr(o->key, '.') + 1;

        return sql_error_at(err, RC_INVALID, t->text, o->pos,
                            "table %s: '%s' is not 'fields.<column>.<option>' with a column of the "
                            "table and one of kind, "
                            "min, max, max-past, length, start, end, null-rate%s",
                            t->name, o->key,
                            sql_nearest_hint(hint, last, field_words, ARRAY_LEN(field_words)));
    }
    for (size_t i = 0; i < c->option_count; i++)
        if (c->options[i].kind != VALUE_REFUSED)
            keys[count++] = c->options[i].key;
    for (size_t i = 0; i < ARRAY_LEN(common_options); i++)
        keys[count++] = common_options[i].key;
    return sql_error_at(err, RC_INVALID, t->text, o->pos,
                        "table %s: connector '%s' has no option '%s'%s", t->name, c->name, o->key,
                        sql_nearest_hint(hint, o->key, keys, count));
}

static const struct option_def *def_of(const struct connector *c, const char *key)
{
    for (size_t i = 0; i < c->option_count; i++)
        if (strcmp(c->options[i].key, key) == 0)
            return &c->options[i];
    for (size_t i = 0; i < ARRAY_LEN(common_options); i++)
        if (strcmp(common_options[i].key, key) == 0)
            return &common_options[i];
    return NULL;
}

/* Options of the format: its own keys and the rule for bad rows. */
static bool is_format_key(const char *format, const char *key)
{
    size_t len = strlen(format);

    return strcmp(key, "varve.bad-rows") == 0 ||
           (strncmp(key, format, len) == 0 && key[len] == '.');
}

static enum rc read_format(struct arena *arena, const struct connector_table *t,
                           const struct format **format, const struct format_options **options,
                           struct err *err)
{
    const struct ast_option *o = find(t, "format"), *first = NULL;
    const char **keys = ARENA_ARRAY(arena, t->option_count, const char *);
    const char **values = ARENA_ARRAY(arena, t->option_count, const char *);
    struct format_options *read = ARENA_NEW(arena, struct format_options);
    struct err why = {0};
    size_t count = 0;
    enum rc rc;

    if (o == NULL)
        return sql_error_at(err, RC_INVALID, t->text, t->pos,
                            "table %s: the option 'format' is missing", t->name);
    *format = format_find(o->value);
    if (*format == NULL) {
        static const char *const known[] = {"avro",          "parquet",    "orc",     "raw",
                                            "debezium-json", "canal-json", "protobuf"};

        for (size_t i = 0; i < ARRAY_LEN(known); i++)
            if (strcmp(known[i], o->value) == 0)
                return bad(t, o, RC_UNSUPPORTED, "varve has the formats csv and json", err);
        return bad(t, o, RC_INVALID, "there is no such format; varve has csv and json", err);
    }
    for (uint32_t i = 0; i < t->option_count; i++)
        if (is_format_key(o->value, t->options[i].key)) {
            first = first == NULL ? &t->options[i] : first;
            keys[count] = arena_strdup(arena, t->options[i].key);
            values[count++] = arena_strdup(arena, t->options[i].value);
        }
    rc = (*format)->options(arena, count, keys, values, read, &why);
    if (rc != RC_OK) {
        for (size_t i = 0; i < count; i++)
            if (strstr(why.msg, keys[i]) != NULL)
                first = find(t, keys[i]);
        return sql_error_at(err, rc, t->text, first != NULL ? first->pos : o->pos, "table %s: %s",
                            t->name, why.msg);
    }
    read->time_zone = arena_strdup(arena, t->time_zone);
    *options = read;
    return RC_OK;
}

static enum rc check_options(const struct connector_table *t, const struct connector *c,
                             struct err *err)
{
    const char *format = text_of(t, "format", "");

    for (uint32_t i = 0; i < t->option_count; i++) {
        const struct ast_option *o = &t->options[i];
        const struct option_def *def = def_of(c, o->key);
        uint32_t column;
        const char *word;
        int64_t value;

        for (uint32_t j = 0; j < i; j++)
            if (strcmp(t->options[j].key, o->key) == 0)
                return bad(t, o, RC_INVALID, "the option is given twice", err);
        if (def != NULL)
            RETURN_IF_ERR(read_value(t, def, o, &value, err));
        else if (!(c->has_format && is_format_key(format, o->key)) &&
                 !(strcmp(c->name, "datagen") == 0 && starts_with(o->key, "fields.") &&
                   split_field_key(t, o->key, &column, &word)))
            return unknown(t, c, o, err);
    }
    return RC_OK;
}

/* ---- datagen --------------------------------------------------------------------------------- */

static void default_field(struct type type, struct datagen_field *f)
{
    *f = (struct datagen_field){.kind = DATAGEN_RANDOM, .length = 100};
    if (type_is_varlen(type.kind) && type.length != TYPE_LENGTH_MAX)
        f->length = (uint32_t)type.length;
}

static enum rc read_bound(const struct connector_table *t, const struct ast_option *o,
                          struct type type, bool *has, int64_t *whole, double *real,
                          struct err *err)
{
    *has = true;
    if (type_is_integer(type.kind)) {
        if (!parse_long(o->value, whole))
            return bad(t, o, RC_INVALID, "must be a whole number", err);
        *real = (double)*whole;
    } else if (type_is_numeric(type.kind)) {
        if (!parse_real(o->value, real))
            return bad(t, o, RC_INVALID, "must be a number", err);
    } else {
        return bad(t, o, RC_INVALID, "only numbers have bounds", err);
    }
    return RC_OK;
}

static enum rc read_field(const struct connector_table *t, const struct ast_option *o,
                          struct type type, const char *word, struct datagen_field *f,
                          struct err *err)
{
    int64_t n = 0;
    double real;

    if (strcmp(word, "kind") == 0) {
        if (strcmp(o->value, "random") != 0 && strcmp(o->value, "sequence") != 0)
            return bad(t, o, RC_INVALID, "must be random or sequence", err);
        f->kind = strcmp(o->value, "sequence") == 0 ? DATAGEN_SEQUENCE : DATAGEN_RANDOM;
        if (f->kind == DATAGEN_SEQUENCE && !type_is_numeric(type.kind) && !type_is_text(type.kind))
            return bad(t, o, RC_INVALID, "sequences are for numbers and text", err);
        return RC_OK;
    }
    if (strcmp(word, "min") == 0)
        return read_bound(t, o, type, &f->has_min, &f->min, &f->min_real, err);
    if (strcmp(word, "max") == 0)
        return read_bound(t, o, type, &f->has_max, &f->max, &f->max_real, err);
    if (strcmp(word, "start") == 0 || strcmp(word, "end") == 0) {
        if (!parse_long(o->value, word[0] == 's' ? &f->start : &f->end))
            return bad(t, o, RC_INVALID, "must be a whole number", err);
        return RC_OK;
    }
    if (strcmp(word, "length") == 0) {
        if (!type_is_varlen(type.kind) || (type.length != TYPE_LENGTH_MAX))
            return bad(t, o, RC_INVALID, "the length is for STRING and BYTES; other types have one",
                       err);
        if (!parse_long(o->value, &n) || n < 1 || n > DATAGEN_LENGTH_MAX)
            return bad(t, o, RC_INVALID, "must be between 1 and 67108864", err);
        f->length = (uint32_t)n;
        return RC_OK;
    }
    if (strcmp(word, "max-past") == 0) {
        struct err why = {0};

        if (!type_is_timestamp(type.kind))
            return bad(t, o, RC_INVALID, "only timestamps have it", err);
        return duration_parse(o->value, &f->max_past_ms, &why) == RC_OK
                   ? RC_OK
                   : bad(t, o, RC_INVALID, why.msg, err);
    }
    if (strcmp(word, "null-rate") == 0) {
        if (!parse_real(o->value, &real) || !(real >= 0 && real <= 1))
            return bad(t, o, RC_INVALID, "must be between 0 and 1", err);
        f->null_rate = real;
        return RC_OK;
    }
    return bad(t, o, RC_UNSUPPORTED, "text of varying length is not built", err);
}

/* Rules between the options of one field. */
static enum rc check_field(const struct connector_table *t, uint32_t column,
                           const struct datagen_field *f, struct err *err)
{
    const char *name = t->schema->fields[column].name;
    struct type type = t->schema->fields[column].type;
    char start[512], end[512];

    snprintf(start, sizeof start, "fields.%s.start", name);
    snprintf(end, sizeof end, "fields.%s.end", name);
    if (f->kind == DATAGEN_SEQUENCE && (find(t, start) == NULL || find(t, end) == NULL))
        return sql_error_at(err, RC_INVALID, t->text, t->pos,
                            "table %s: the sequence %s needs '%s' and '%s'", t->name, name, start,
                            end);
    if (f->kind == DATAGEN_SEQUENCE && f->start > f->end)
        return bad(t, find(t, end), RC_INVALID, "a sequence cannot end before it starts", err);
    if (f->kind == DATAGEN_RANDOM && (find(t, start) != NULL || find(t, end) != NULL))
        return bad(t, find(t, start) != NULL ? find(t, start) : find(t, end), RC_INVALID,
                   "start and end are for kind = sequence", err);
    if (f->has_min && f->has_max &&
        (type_is_integer(type.kind) ? f->min > f->max : f->min_real > f->max_real))
        return sql_error_at(err, RC_INVALID, t->text, t->pos,
                            "table %s: column %s: min is above max", t->name, name);
    if (f->null_rate > 0 && !type.nullable)
        return sql_error_at(err, RC_INVALID, t->text, t->pos,
                            "table %s: column %s is NOT NULL, so its null-rate must be 0", t->name,
                            name);
    return RC_OK;
}

static struct source *make_datagen(const void *config)
{
    return datagen_source_new(config);
}
static struct source *make_file(const void *config)
{
    return file_source_new(config);
}

static enum rc datagen_of(struct arena *arena, const struct connector_table *t,
                          const struct connector *c, struct connector_source *out, struct err *err)
{
    struct datagen_config *config = ARENA_NEW(arena, struct datagen_config);
    const struct schema *schema = t->schema;

    config->schema = schema_copy(arena, schema);
    config->fields = ARENA_ARRAY(arena, schema->field_count, struct datagen_field);
    config->number_of_rows = number_of(t, c, "number-of-rows", -1);
    config->seed = (uint64_t)number_of(t, c, "varve.seed", 0);
    out->bounded = config->number_of_rows >= 0;
    for (uint32_t i = 0; i < schema->field_count; i++)
        default_field(schema->fields[i].type, &config->fields[i]);
    for (uint32_t i = 0; i < t->option_count; i++) {
        uint32_t column;
        const char *word;

        if (starts_with(t->options[i].key, "fields.") &&
            split_field_key(t, t->options[i].key, &column, &word))
            RETURN_IF_ERR(read_field(t, &t->options[i], schema->fields[column].type, word,
                                     &config->fields[column], err));
    }
    for (uint32_t i = 0; i < schema->field_count; i++) {
        RETURN_IF_ERR(check_field(t, i, &config->fields[i], err));
        out->bounded |= config->fields[i].kind == DATAGEN_SEQUENCE;
    }
    out->spec.make = make_datagen;
    out->spec.config = config;
    out->spec.output = config->schema;
    out->spec.rows_per_second = number_of(t, c, "rows-per-second", 10000);
    return RC_OK;
}

/* ---- filesystem ------------------------------------------------------------------------------ */

static enum rc read_path(struct arena *arena, const struct connector_table *t, const char **out,
                         struct err *err)
{
    const struct ast_option *o = find(t, "path");
    char path[FS_PATH_MAX];
    struct err why = {0};
    enum rc rc;

    if (o == NULL || o->value[0] == '\0')
        return sql_error_at(err, RC_INVALID, t->text, o == NULL ? t->pos : o->pos,
                            "table %s: the option 'path' is missing", t->name);
    rc = path_from_uri(path, sizeof path, o->value, &why);
    if (rc == RC_OK && path_is_remote(path))
        rc = err_set(&why, RC_UNSUPPORTED, "%s: the files of a table are local; checkpoints and savepoints may be remote",
                     o->value);
    if (rc != RC_OK)
        return bad(t, o, rc, why.msg, err);
    *out = arena_strdup(arena, path);
    return RC_OK;
}

static enum rc file_source_of(struct arena *arena, const struct connector_table *t,
                              const struct connector *c, struct connector_source *out,
                              struct err *err)
{
    struct file_source_config *config = ARENA_NEW(arena, struct file_source_config);

    if (t->partition_count > 0)
        return sql_error_at(
            err, RC_UNSUPPORTED, t->text, t->pos,
            "table %s is PARTITIONED BY: reading partition columns from folder names is not built",
            t->name);
    RETURN_IF_ERR(read_path(arena, t, &config->path, err));
    RETURN_IF_ERR(read_format(arena, t, &config->format, &config->format_options, err));
    config->schema = schema_copy(arena, t->schema);
    config->listing = ARENA_NEW(arena, struct file_listing);
    file_listing_init(config->listing);
    config->monitor_interval_ms = number_of(t, c, "source.monitor-interval", 0);
    out->bounded = config->monitor_interval_ms == 0;
    out->spec.rows_per_second = number_of(t, c, "varve.rows-per-second", 0);
    out->spec.make = make_file;
    out->spec.config = config;
    out->spec.output = config->schema;
    return RC_OK;
}

static enum rc file_sink_of(struct arena *arena, const struct connector_table *t,
                            const struct connector *c, struct sink_spec *spec, struct err *err)
{
    spec->kind = SINK_FILES;
    RETURN_IF_ERR(read_path(arena, t, &spec->path, err));
    RETURN_IF_ERR(read_format(arena, t, &spec->format, &spec->format_options, err));
    if (t->partition_count > 0 && t->partition_count == t->schema->field_count)
        return sql_error_at(err, RC_INVALID, t->text, t->pos,
                            "table %s: all columns are partition columns, none is left to write",
                            t->name);
    spec->partition_count = t->partition_count;
    spec->partition_columns =
        arena_copy(arena, t->partition_columns, t->partition_count * sizeof *t->partition_columns);
    spec->partition_default_name =
        arena_strdup(arena, text_of(t, "partition.default-name", "__DEFAULT_PARTITION__"));
    spec->roll_size_bytes = (uint64_t)number_of(t, c, "sink.rolling-policy.file-size", 128 << 20);
    spec->roll_age_ms = number_of(t, c, "sink.rolling-policy.rollover-interval", 30 * 60 * 1000);
    spec->roll_idle_ms = number_of(t, c, "sink.rolling-policy.inactivity-interval", 30 * 60 * 1000);
    spec->roll_check_ms = number_of(t, c, "sink.rolling-policy.check-interval", 60 * 1000);
    /* As in Flink, where csv is a bulk format for the file sink (a part ends at each checkpoint)
     * and json is not. */
    spec->roll_on_checkpoint = strcmp(spec->format->name, "csv") == 0;
    return RC_OK;
}

/* ---- entry points ---------------------------------------------------------------------------- */

enum rc connector_source_of(struct arena *arena, const struct connector_table *t,
                            struct connector_source *out, struct err *err)
{
    const struct connector *c;

    *out = (struct connector_source){0};
    RETURN_IF_ERR(connector_of(t, &c, err));
    RETURN_IF_ERR(check_options(t, c, err));
    if ((c->use & USE_SOURCE) == 0)
        return sql_error_at(err, RC_INVALID, t->text, t->pos,
                            "table %s: connector '%s' is a sink, it cannot be read", t->name,
                            c->name);
    out->spec.table_name = arena_strdup(arena, t->name);
    out->uid = arena_strdup(arena, text_of(t, "varve.uid", ""));
    out->connector = c->name;
    out->parallelism = (uint32_t)number_of(t, c, "scan.parallelism", 0);
    return c->has_format ? file_source_of(arena, t, c, out, err)
                         : datagen_of(arena, t, c, out, err);
}

enum rc connector_sink_of(struct arena *arena, const struct connector_table *t,
                          struct connector_sink *out, struct err *err)
{
    const struct connector *c;

    *out = (struct connector_sink){0};
    RETURN_IF_ERR(connector_of(t, &c, err));
    RETURN_IF_ERR(check_options(t, c, err));
    if ((c->use & USE_SINK) == 0)
        return sql_error_at(err, RC_INVALID, t->text, t->pos,
                            "table %s: connector '%s' is a source, it cannot be written to",
                            t->name, c->name);
    out->spec.table_name = arena_strdup(arena, t->name);
    out->spec.input = schema_copy(arena, t->schema);
    out->uid = arena_strdup(arena, text_of(t, "varve.uid", ""));
    out->connector = c->name;
    out->parallelism = (uint32_t)number_of(t, c, "sink.parallelism", 0);
    out->append_only = c->has_format;
    out->needs_update_before = strcmp(c->name, "blackhole") != 0;
    if (c->has_format)
        return file_sink_of(arena, t, c, &out->spec, err);
    if (strcmp(c->name, "jdbc") == 0)
        return connector_jdbc_sink(arena, t, out, err);
    out->spec.kind = strcmp(c->name, "print") == 0 ? SINK_PRINT : SINK_BLACKHOLE;
    out->spec.print_identifier = arena_strdup(arena, text_of(t, "print-identifier", ""));
    out->spec.print_to_stderr = number_of(t, c, "standard-error", 0) != 0;
    return RC_OK;
}

enum rc connector_check(const struct connector_table *t, struct err *err)
{
    struct arena *arena = arena_new(0);
    const struct connector *c;
    struct connector_source source;
    struct connector_sink sink;
    enum rc rc;

    GOTO_IF_ERR(connector_of(t, &c, err));
    if ((c->use & USE_SINK) != 0)
        GOTO_IF_ERR(connector_sink_of(arena, t, &sink, err));
    if ((c->use & USE_SOURCE) != 0 && t->partition_count == 0)
        GOTO_IF_ERR(connector_source_of(arena, t, &source, err));
    if ((c->use & USE_SINK) == 0 && t->partition_count > 0)
        rc = sql_error_at(err, RC_INVALID, t->text, t->pos,
                          "table %s: connector '%s' has no partitions", t->name, c->name);
out:
    arena_free(arena);
    return rc;
}
