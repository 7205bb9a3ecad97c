/* config.c - see config.h. The table, its checks, the layers.
 * After: Configuration, ConfigOption, CheckpointCoordinatorConfiguration (flink). */
#include "job/config.h"

#include "job/number.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>

static const struct option table[OPTION_COUNT] = {
#define OPTION(id, key, aliases, type, def, allowed, doc) {key, aliases, type, def, allowed, doc},
#include "job/config_options.def"
#undef OPTION
};

/* What one layer says of one option. */
struct setting {
    char *text; /* owned; NULL: nothing */
    int rank;   /* 0: by its key, i: by its i-th alias */
};
struct config {
    struct setting layers[CONFIG_LAYER_COUNT][OPTION_COUNT]; /* CONFIG_DEFAULT stays empty */
};

const struct option *option_at(enum option_id id)
{
    ASSERT(id < OPTION_COUNT);
    return &table[id];
}

/* ---- words separated by '|' ------------------------------------------------------------------ */

/* The next word of *list into out; false at the end. */
static bool next_word(const char **list, char *out, size_t cap)
{
    size_t len = strcspn(*list, "|");

    if (**list == '\0')
        return false;
    ASSERT(len < cap);
    memcpy(out, *list, len);
    out[len] = '\0';
    *list += len + ((*list)[len] == '|');
    return true;
}

/* Letter case and '-' against '_' do not matter. */
static bool same_word(const char *a, const char *b)
{
    for (; *a != '\0' && *b != '\0'; a++, b++) {
        int x = *a == '-' ? '_' : tolower((unsigned char)*a);
        int y = *b == '-' ? '_' : tolower((unsigned char)*b);

        if (x != y)
            return false;
    }
    return *a == *b;
}

/* ---- keys ------------------------------------------------------------------------------------ */

#define KEY_MAX 128

/* 0: the key itself, i: the i-th alias, -1: neither. */
static int key_rank(const struct option *o, const char *key)
{
    const char *list = o->aliases;
    char alias[KEY_MAX];

    if (strcmp(o->key, key) == 0)
        return 0;
    for (int rank = 1; next_word(&list, alias, sizeof alias); rank++)
        if (strcmp(alias, key) == 0)
            return rank;
    return -1;
}

static bool find_ranked(const char *key, enum option_id *id, int *rank)
{
    for (unsigned i = 0; i < OPTION_COUNT; i++) {
        *rank = key_rank(&table[i], key);
        if (*rank >= 0) {
            *id = (enum option_id)i;
            return true;
        }
    }
    return false;
}

bool option_find(const char *key, enum option_id *id)
{
    int rank;

    return find_ranked(key, id, &rank);
}

/* Insertions, deletions, replacements and swaps of neighbours between two keys, letter case aside.
 */
static unsigned edit_distance(const char *a, const char *b)
{
    unsigned rows[3][KEY_MAX + 1];
    unsigned *before = rows[0], *last = rows[1], *now = rows[2];
    size_t b_len = strlen(b);

    ASSERT(b_len < KEY_MAX);
    for (unsigned j = 0; j <= b_len; j++)
        last[j] = j;
    for (unsigned i = 1; a[i - 1] != '\0'; i++) {
        unsigned *spare = before;

        now[0] = i;
        for (unsigned j = 1; j <= b_len; j++) {
            bool same = tolower((unsigned char)a[i - 1]) == tolower((unsigned char)b[j - 1]);
            unsigned best = last[j - 1] + (same ? 0 : 1);

            if (last[j] + 1 < best)
                best = last[j] + 1;
            if (now[j - 1] + 1 < best)
                best = now[j - 1] + 1;
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
                before[j - 2] + 1 < best)
                best = before[j - 2] + 1;
            now[j] = best;
        }
        before = last;
        last = now;
        now = spare;
    }
    return last[b_len];
}

const char *option_nearest(const char *key)
{
    char word[KEY_MAX], cut[KEY_MAX];
    unsigned least = UINT32_MAX;
    const char *nearest = table[0].key;

    snprintf(cut, sizeof cut, "%s", key); /* longer ones are far from everything */
    for (unsigned i = 0; i < OPTION_COUNT; i++) {
        const char *list = table[i].aliases;
        unsigned distance = edit_distance(cut, table[i].key);

        while (next_word(&list, word, sizeof word)) {
            unsigned other = edit_distance(cut, word);

            distance = other < distance ? other : distance;
        }
        if (distance < least) {
            least = distance;
            nearest = table[i].key;
        }
    }
    return nearest;
}

/* ---- values ---------------------------------------------------------------------------------- */

/* A value that is a number of some kind, comparable. */
union value {
    bool b;
    int64_t i; /* int, long, ms, bytes, index of a word */
    double d;
};

static enum rc fail_word(const struct option *o, const char *text, struct err *err)
{
    const char *list = o->allowed;
    struct buf words = {0};
    char word[KEY_MAX];

    while (next_word(&list, word, sizeof word))
        if (word[0] != '!')
            buf_printf(&words, "%s%s", words.len > 0 ? ", " : "", word);
    err_set(err, RC_INVALID, "\"%.60s\" is none of %s", text, buf_cstr(&words));
    buf_release(&words);
    return RC_INVALID;
}

static enum rc parse_word(const struct option *o, const char *text, union value *v, struct err *err)
{
    const char *list = o->allowed;
    char word[KEY_MAX];

    for (v->i = 0; next_word(&list, word, sizeof word); v->i++) {
        if (word[0] == '!' && same_word(word + 1, text))
            return err_set(err, RC_UNSUPPORTED, "%s is not built", word + 1);
        if (same_word(word, text))
            return RC_OK;
    }
    return fail_word(o, text, err);
}

/* The text as the option's type, its range not looked at. */
static enum rc parse_value(const struct option *o, const char *text, union value *v,
                           struct err *err)
{
    uint64_t size_bytes;

    *v = (union value){0};
    switch (o->type) {
    case OPTION_BOOL:
        return bool_parse(text, &v->b, err);
    case OPTION_INT:
        return number_parse_int(bytes_of_str(text), INT32_MIN, INT32_MAX, &v->i, err);
    case OPTION_LONG:
        return number_parse_int(bytes_of_str(text), INT64_MIN, INT64_MAX, &v->i, err);
    case OPTION_DOUBLE:
        RETURN_IF_ERR(number_parse_double(bytes_of_str(text), &v->d, err));
        if (!(v->d >= -1e300 && v->d <= 1e300))
            return err_set(err, RC_INVALID, "\"%.60s\" is not a finite number", text);
        return RC_OK;
    case OPTION_STRING:
    case OPTION_SECRET:
        return RC_OK;
    case OPTION_DURATION:
        return duration_parse(text, &v->i, err);
    case OPTION_MEMORY:
        RETURN_IF_ERR(memory_size_parse(text, &size_bytes, err));
        v->i = (int64_t)size_bytes;
        return RC_OK;
    case OPTION_ENUM:
        return parse_word(o, text, v, err);
    }
    return RC_OK;
}

static bool same_value(const struct option *o, const char *a, const char *b)
{
    union value x, y;

    if (o->type == OPTION_STRING)
        return strcmp(a, b) == 0;
    if (parse_value(o, a, &x, NULL) != RC_OK || parse_value(o, b, &y, NULL) != RC_OK)
        return false;
    if (o->type == OPTION_BOOL)
        return x.b == y.b;
    return o->type == OPTION_DOUBLE ? x.d >= y.d && x.d <= y.d : x.i == y.i;
}

/* One side of "min..max". */
static bool beyond(const struct option *o, union value v, const char *bound, bool is_max)
{
    union value limit;

    if (bound[0] == '\0')
        return false;
    ASSERT(parse_value(o, bound, &limit, NULL) == RC_OK);
    if (o->type == OPTION_DOUBLE)
        return is_max ? v.d > limit.d : v.d < limit.d;
    return is_max ? v.i > limit.i : v.i < limit.i;
}

static enum rc check_range(const struct option *o, const char *text, union value v, struct err *err)
{
    const char *dots = strstr(o->allowed, "..");
    char min[32], max[32];

    if (dots == NULL)
        return RC_OK;
    snprintf(min, sizeof min, "%.*s", (int)(dots - o->allowed), o->allowed);
    snprintf(max, sizeof max, "%s", dots + 2);
    if (!beyond(o, v, min, false) && !beyond(o, v, max, true))
        return RC_OK;
    if (max[0] == '\0')
        return err_set(err, RC_INVALID, "\"%.60s\" is too small: at least %s%s", text, min,
                       o->type == OPTION_DURATION ? " ms" : "");
    return err_set(err, RC_INVALID, "\"%.60s\" is out of range: %s to %s", text, min, max);
}

static enum rc check_value(const struct option *o, const char *text, struct err *err)
{
    union value v;

    if (strlen(text) >= FS_PATH_MAX)
        return err_set(err, RC_LIMIT, "a value of %zu bytes: at most %d", strlen(text),
                       FS_PATH_MAX - 1);
    RETURN_IF_ERR(parse_value(o, text, &v, err));
    if (o->type == OPTION_ENUM)
        return RC_OK;
    if (o->allowed[0] == '=') {
        if (o->default_text != NULL && same_value(o, text, o->default_text))
            return RC_OK;
        return err_set(err, RC_UNSUPPORTED, "\"%.60s\": %s (only the default%s%s is accepted)",
                       text, o->allowed + 1, o->default_text == NULL ? ", none," : " ",
                       o->default_text == NULL ? "" : o->default_text);
    }
    return check_range(o, text, v, err);
}

/* ---- layers ---------------------------------------------------------------------------------- */

struct config *config_new(void)
{
    return mem_calloc(1, sizeof(struct config));
}

static void clear(struct setting *s)
{
    mem_free(s->text);
    *s = (struct setting){0};
}

void config_free(struct config *c)
{
    if (c == NULL)
        return;
    for (unsigned l = 0; l < CONFIG_LAYER_COUNT; l++)
        for (unsigned i = 0; i < OPTION_COUNT; i++)
            clear(&c->layers[l][i]);
    mem_free(c);
}

struct config *config_copy(const struct config *c)
{
    struct config *copy = config_new();

    for (unsigned l = 0; l < CONFIG_LAYER_COUNT; l++)
        for (unsigned i = 0; i < OPTION_COUNT; i++)
            if (c->layers[l][i].text != NULL)
                copy->layers[l][i] =
                    (struct setting){mem_strdup(c->layers[l][i].text), c->layers[l][i].rank};
    return copy;
}

void config_swap(struct config *a, struct config *b)
{
    struct config *held = mem_alloc(sizeof *held);

    *held = *a;
    *a = *b;
    *b = *held;
    mem_free(held);
}

const char *config_layer_name(enum config_layer layer)
{
    static const char *const names[CONFIG_LAYER_COUNT] = {"default", "file", "-D", "SET"};

    ASSERT(layer < CONFIG_LAYER_COUNT);
    return names[layer];
}

static enum rc fail_unknown(const char *key, struct err *err)
{
    return err_set(err, RC_INVALID, "unknown option \"%.120s\"; the nearest known one is \"%s\"",
                   key, option_nearest(key));
}

/* Options of the remote file systems, which all jobs share. */
static bool is_of_process(const struct option *o)
{
    return strncmp(o->key, "varve.remote.", 13) == 0 || strncmp(o->key, "varve.hdfs.", 11) == 0 ||
           strncmp(o->key, "varve.s3.", 9) == 0 || strncmp(o->key, "s3.", 3) == 0;
}

enum rc config_set(struct config *c, enum config_layer layer, const char *key, const char *value,
                   struct err *err)
{
    enum option_id id;
    struct setting *s;
    int rank;
    enum rc rc;

    ASSERT(layer > CONFIG_DEFAULT && layer < CONFIG_LAYER_COUNT);
    if (!find_ranked(key, &id, &rank))
        return fail_unknown(key, err);
    if (layer == CONFIG_SET && is_of_process(&table[id]))
        return err_set(err, RC_INVALID, "%s holds for the whole process: give it with -D or in a configuration file",
                       key);
    rc = check_value(&table[id], value, err);
    if (rc != RC_OK)
        return err_wrap(err, rc, "%s", key);
    s = &c->layers[layer][id];
    if (s->text != NULL && s->rank < rank && layer != CONFIG_SET)
        return RC_OK; /* the new key, or an alias before this one, wins */
    clear(s);
    *s = (struct setting){mem_strdup(value), rank};
    return RC_OK;
}

enum rc config_set_pair(struct config *c, enum config_layer layer, const char *pair,
                        struct err *err)
{
    const char *equals = strchr(pair, '=');
    char *key;
    enum rc rc;

    if (equals == NULL || equals == pair)
        return err_set(err, RC_INVALID, "\"%.120s\" is not key=value", pair);
    key = mem_strdup(pair);
    key[equals - pair] = '\0';
    rc = config_set(c, layer, key, equals + 1, err);
    mem_free(key);
    return rc;
}

enum rc config_reset(struct config *c, const char *key, struct err *err)
{
    enum option_id id;

    if (!option_find(key, &id))
        return fail_unknown(key, err);
    clear(&c->layers[CONFIG_SET][id]);
    return RC_OK;
}

void config_reset_all(struct config *c)
{
    for (unsigned i = 0; i < OPTION_COUNT; i++)
        clear(&c->layers[CONFIG_SET][i]);
}

/* ---- getters --------------------------------------------------------------------------------- */

enum config_layer config_source(const struct config *c, enum option_id id)
{
    ASSERT(id < OPTION_COUNT);
    for (unsigned l = CONFIG_LAYER_COUNT - 1; l > CONFIG_DEFAULT; l--)
        if (c->layers[l][id].text != NULL)
            return (enum config_layer)l;
    return CONFIG_DEFAULT;
}

const char *config_string(const struct config *c, enum option_id id)
{
    enum config_layer layer = config_source(c, id);

    return layer == CONFIG_DEFAULT ? table[id].default_text : c->layers[layer][id].text;
}

bool config_has(const struct config *c, enum option_id id)
{
    return config_string(c, id) != NULL;
}

static union value value_of(const struct config *c, enum option_id id, enum option_type type)
{
    const char *text = config_string(c, id);
    union value v;

    ASSERT(table[id].type == type);
    ASSERT(text != NULL);
    ASSERT(parse_value(&table[id], text, &v, NULL) == RC_OK);
    return v;
}

bool config_bool(const struct config *c, enum option_id id)
{
    return value_of(c, id, OPTION_BOOL).b;
}
int32_t config_int(const struct config *c, enum option_id id)
{
    return (int32_t)value_of(c, id, OPTION_INT).i;
}
int64_t config_long(const struct config *c, enum option_id id)
{
    return value_of(c, id, OPTION_LONG).i;
}
double config_double(const struct config *c, enum option_id id)
{
    return value_of(c, id, OPTION_DOUBLE).d;
}
int64_t config_duration_ms(const struct config *c, enum option_id id)
{
    return value_of(c, id, OPTION_DURATION).i;
}
uint64_t config_bytes(const struct config *c, enum option_id id)
{
    return (uint64_t)value_of(c, id, OPTION_MEMORY).i;
}
int config_enum(const struct config *c, enum option_id id)
{
    return (int)value_of(c, id, OPTION_ENUM).i;
}

static int by_key(const void *a, const void *b)
{
    return strcmp(table[*(const unsigned *)a].key, table[*(const unsigned *)b].key);
}

void config_list(const struct config *c, bool only_set, config_list_fn *fn, void *ctx)
{
    unsigned order[OPTION_COUNT];

    for (unsigned i = 0; i < OPTION_COUNT; i++)
        order[i] = i;
    qsort(order, OPTION_COUNT, sizeof order[0], by_key);
    for (unsigned i = 0; i < OPTION_COUNT; i++) {
        enum option_id id = (enum option_id)order[i];
        enum config_layer source = config_source(c, id);

        if (config_has(c, id) && !(only_set && source == CONFIG_DEFAULT))
            fn(ctx, &table[id],
               table[id].type == OPTION_SECRET ? CONFIG_HIDDEN : config_string(c, id), source);
    }
}

/* ---- rules between options, and groups of them ----------------------------------------------- */

int config_storage(const struct config *c)
{
    if (config_has(c, OPT_CP_STORAGE))
        return config_enum(c, OPT_CP_STORAGE);
    return config_has(c, OPT_CP_DIR) ? STORAGE_FILESYSTEM : STORAGE_JOBMANAGER;
}

bool config_unaligned(const struct config *c)
{
    return config_bool(c, OPT_CP_UNALIGNED) && config_enum(c, OPT_CP_MODE) == MODE_EXACTLY_ONCE;
}

static enum rc need_dir(const struct config *c, enum option_id id, struct err *err)
{
    return err_set(err, RC_INVALID, "%s = %s needs %s", table[id].key, config_string(c, id),
                   table[OPT_CP_DIR].key);
}

static enum rc check_backlog_interval(const struct config *c, struct err *err)
{
    int64_t backlog_ms = config_duration_ms(c, OPT_CP_BACKLOG_INTERVAL);

    if (!config_has(c, OPT_CP_INTERVAL))
        return err_set(err, RC_INVALID, "%s needs %s", table[OPT_CP_BACKLOG_INTERVAL].key,
                       table[OPT_CP_INTERVAL].key);
    if (backlog_ms == 0 || backlog_ms >= config_duration_ms(c, OPT_CP_INTERVAL))
        return RC_OK;
    return err_set(err, RC_INVALID, "%s = %s is less than %s = %s (0: no checkpoints meanwhile)",
                   table[OPT_CP_BACKLOG_INTERVAL].key, config_string(c, OPT_CP_BACKLOG_INTERVAL),
                   table[OPT_CP_INTERVAL].key, config_string(c, OPT_CP_INTERVAL));
}

enum rc config_check(const struct config *c, struct err *err)
{
    if (config_storage(c) == STORAGE_FILESYSTEM && !config_has(c, OPT_CP_DIR))
        return need_dir(c, OPT_CP_STORAGE, err);
    if (config_enum(c, OPT_CP_RETENTION) != RETAIN_NONE && !config_has(c, OPT_CP_DIR))
        return need_dir(c, OPT_CP_RETENTION, err);
    if (config_unaligned(c) && config_int(c, OPT_CP_MAX_CONCURRENT) > 1)
        return err_set(err, RC_INVALID, "%s = true allows one checkpoint at a time: %s = %d must be 1",
                       table[OPT_CP_UNALIGNED].key, table[OPT_CP_MAX_CONCURRENT].key,
                       config_int(c, OPT_CP_MAX_CONCURRENT));
    if (config_has(c, OPT_CP_BACKLOG_INTERVAL))
        RETURN_IF_ERR(check_backlog_interval(c, err));
    if (config_has(c, OPT_MAX_PARALLELISM) &&
        config_int(c, OPT_PARALLELISM) > config_int(c, OPT_MAX_PARALLELISM))
        return err_set(err, RC_INVALID, "%s = %d exceeds %s = %d", table[OPT_PARALLELISM].key,
                       config_int(c, OPT_PARALLELISM), table[OPT_MAX_PARALLELISM].key,
                       config_int(c, OPT_MAX_PARALLELISM));
    if (config_duration_ms(c, OPT_RESTART_EXP_INITIAL) > config_duration_ms(c, OPT_RESTART_EXP_MAX))
        return err_set(err, RC_INVALID, "%s = %s exceeds %s = %s",
                       table[OPT_RESTART_EXP_INITIAL].key,
                       config_string(c, OPT_RESTART_EXP_INITIAL), table[OPT_RESTART_EXP_MAX].key,
                       config_string(c, OPT_RESTART_EXP_MAX));
    if (config_bool(c, OPT_MINI_BATCH) && (config_duration_ms(c, OPT_MINI_BATCH_LATENCY) == 0 ||
                                           config_long(c, OPT_MINI_BATCH_SIZE) <= 0))
        return err_set(err, RC_INVALID, "%s needs a latency (%s) and a size (%s) above 0",
                       table[OPT_MINI_BATCH].key, table[OPT_MINI_BATCH_LATENCY].key,
                       table[OPT_MINI_BATCH_SIZE].key);
    return RC_OK;
}

void config_coordinator(const struct config *c, struct coordinator_config *out)
{
    bool periodic = config_has(c, OPT_CP_INTERVAL);

    *out = (struct coordinator_config){
        .interval_ms = periodic ? config_duration_ms(c, OPT_CP_INTERVAL) : 0,
        .timeout_ms = config_duration_ms(c, OPT_CP_TIMEOUT),
        .min_pause_ms = config_duration_ms(c, OPT_CP_MIN_PAUSE),
        .tolerable_failures =
            periodic ? (uint32_t)config_int(c, OPT_CP_TOLERABLE_FAILURES) : COORDINATOR_UNLIMITED,
        .max_concurrent = (uint32_t)config_int(c, OPT_CP_MAX_CONCURRENT),
        .num_retained = (uint32_t)config_int(c, OPT_CP_NUM_RETAINED),
        .retention = (enum checkpoint_retention)config_enum(c, OPT_CP_RETENTION),
        .exactly_once = config_enum(c, OPT_CP_MODE) == MODE_EXACTLY_ONCE,
        .unaligned = config_unaligned(c),
        .aligned_timeout_ms = config_duration_ms(c, OPT_CP_UNALIGNED_TIMEOUT),
        .after_tasks_finish = config_bool(c, OPT_CP_AFTER_FINISH),
        .final_checkpoint = periodic && config_bool(c, OPT_CP_AFTER_FINISH),
        .savepoint_dir = config_string(c, OPT_SAVEPOINT_DIR),
        .first_id = 1,
        .history_size = (uint32_t)config_int(c, OPT_HISTORY_SIZE),
    };
    if (periodic && out->interval_ms < out->min_pause_ms)
        out->interval_ms = out->min_pause_ms;
    out->interval_during_backlog_ms = out->interval_ms;
    if (config_has(c, OPT_CP_BACKLOG_INTERVAL))
        out->interval_during_backlog_ms = config_duration_ms(c, OPT_CP_BACKLOG_INTERVAL);
    if (out->interval_during_backlog_ms != 0 && out->interval_during_backlog_ms < out->interval_ms)
        out->interval_during_backlog_ms = out->interval_ms; /* which the pause has made longer */
}

void config_restart(const struct config *c, struct restart_config *out)
{
    *out = (struct restart_config){
        .fixed_attempts = config_int(c, OPT_RESTART_FIXED_ATTEMPTS),
        .fixed_delay_ms = config_duration_ms(c, OPT_RESTART_FIXED_DELAY),
        .rate_max_failures = config_int(c, OPT_RESTART_RATE_MAX),
        .rate_interval_ms = config_duration_ms(c, OPT_RESTART_RATE_INTERVAL),
        .rate_delay_ms = config_duration_ms(c, OPT_RESTART_RATE_DELAY),
        .exp_initial_ms = config_duration_ms(c, OPT_RESTART_EXP_INITIAL),
        .exp_max_ms = config_duration_ms(c, OPT_RESTART_EXP_MAX),
        .exp_reset_ms = config_duration_ms(c, OPT_RESTART_EXP_RESET),
        .exp_attempts = config_int(c, OPT_RESTART_EXP_ATTEMPTS),
        .exp_multiplier = config_double(c, OPT_RESTART_EXP_MULTIPLIER),
        .exp_jitter = config_double(c, OPT_RESTART_EXP_JITTER),
    };
    if (!config_has(c, OPT_RESTART_STRATEGY)) {
        out->kind =
            config_has(c, OPT_CP_INTERVAL) ? RESTART_KIND_EXPONENTIAL_DELAY : RESTART_KIND_NONE;
        return;
    }
    switch (config_enum(c, OPT_RESTART_STRATEGY)) {
    case RESTART_FIXED_DELAY:
        out->kind = RESTART_KIND_FIXED_DELAY;
        break;
    case RESTART_FAILURE_RATE:
        out->kind = RESTART_KIND_FAILURE_RATE;
        break;
    case RESTART_EXPONENTIAL_DELAY:
        out->kind = RESTART_KIND_EXPONENTIAL_DELAY;
        break;
    default:
        out->kind = RESTART_KIND_NONE;
    }
}
