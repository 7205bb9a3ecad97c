/* connector_jdbc.c - 'connector' = 'jdbc': a table of PostgreSQL as a sink, in the options of
 * Flink's connector. Nothing is connected here. See sink/wal_sink.h. */
#include "job/sql/connector_priv.h"
#include "job/sql/sql_error.h"
#include "sink/pg_client.h"

#include <stdio.h>
#include <stdlib.h>

#define URL_START "jdbc:postgresql:"
#define URL_FORM "the form is jdbc:postgresql://host:port/database"
#define PORT_DEFAULT 5432
#define RETRY_DEFAULT_MS 60000
#define MAX_ROWS_DEFAULT 1000000
#define RETRIES_DEFAULT 3
#define LOG_SIZE_DEFAULT (16LL << 30)
#define PEER_TIMEOUT_MS 30000 /* of one that does not answer, however long it is retried */

/* ---- url ------------------------------------------------------------------------------------- */

static int hex_digit(char c)
{
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

/* With %xx decoded; NULL: a bad one, or %00. */
static const char *decoded(struct arena *arena, const char *text, size_t len)
{
    char *out = arena_strndup(arena, text, len);
    size_t to = 0;

    for (size_t i = 0; i < len; i++) {
        int high = 0, low = 0;

        if (text[i] != '%') {
            out[to++] = text[i];
            continue;
        }
        if (i + 2 >= len || (high = hex_digit(text[i + 1])) < 0 ||
            (low = hex_digit(text[i + 2])) < 0 || high + low == 0)
            return NULL;
        out[to++] = (char)(high * 16 + low);
        i += 2;
    }
    out[to] = '\0';
    return out;
}

/* "host", "host:port", "[::1]:port"; empty: this machine. */
static const char *take_host(struct arena *arena, const char *text, size_t len,
                             struct pg_config *out)
{
    const char *port = NULL;
    size_t host_len = len;
    unsigned long number;
    char *end;

    if (memchr(text, ',', len) != NULL)
        return "one host: several are not supported";
    if (len > 0 && text[0] == '[') {
        const char *close = memchr(text, ']', len);

        if (close == NULL)
            return URL_FORM;
        host_len = (size_t)(close - text) - 1;
        port = host_len + 2 < len ? close + 1 : NULL;
        text++;
    } else {
        port = memchr(text, ':', len);
        host_len = port == NULL ? len : (size_t)(port - text);
    }
    out->host = host_len == 0 ? "localhost" : arena_strndup(arena, text, host_len);
    out->port = PORT_DEFAULT;
    if (port == NULL)
        return NULL;
    number = port[0] == ':' && port[1] >= '0' && port[1] <= '9' ? strtoul(port + 1, &end, 10) : 0;
    if (number == 0 || number > UINT16_MAX || (*end != '/' && *end != '\0'))
        return "the port is a number from 1 to 65535";
    out->port = (uint16_t)number;
    return NULL;
}

/* What stands behind '?'. NULL: good. */
static const char *take_parameter(struct arena *arena, const char *text, size_t len,
                                  struct pg_config *out)
{
    static const char *const modes[] = {"disable", "allow",     "prefer",
                                        "require", "verify-ca", "verify-full"};
    const char *pair = arena_strndup(arena, text, len), *equals = strchr(pair, '=');

    if (strcmp(pair, "ssl=true") == 0) {
        out->sslmode = "verify-full"; /* as the driver has it */
        return NULL;
    }
    if (strncmp(pair, "password=", 9) == 0)
        return "the password is given by the option 'password'";
    if (strncmp(pair, "user=", 5) == 0)
        return "the user is given by the option 'username'";
    if (strncmp(pair, "sslmode=", 8) == 0)
        for (size_t i = 0; i < ARRAY_LEN(modes); i++)
            if (strcmp(equals + 1, modes[i]) == 0) {
                out->sslmode = modes[i];
                return NULL;
            }
    return "of the driver's parameters varve takes sslmode and ssl=true";
}

static const char *take_url(struct arena *arena, const char *url, struct pg_config *out)
{
    const char *at = url + strlen(URL_START), *slash, *query;
    const char *wrong = NULL;

    if (strncmp(url, URL_START, strlen(URL_START)) != 0)
        return "varve writes to PostgreSQL; " URL_FORM;
    query = at + strcspn(at, "?");
    *out = (struct pg_config){.host = "localhost", .port = PORT_DEFAULT};
    if (strncmp(at, "//", 2) == 0) {
        at += 2;
        slash = memchr(at, '/', (size_t)(query - at));
        if (slash == NULL)
            return URL_FORM;
        wrong = take_host(arena, at, (size_t)(slash - at), out);
        at = slash + 1;
    }
    out->database = decoded(arena, at, (size_t)(query - at));
    if (wrong == NULL && (out->database == NULL || out->database[0] == '\0'))
        wrong = URL_FORM;
    while (*query != '\0' && wrong == NULL) {
        size_t len = strcspn(++query, "&");

        if (len > 0)
            wrong = take_parameter(arena, query, len, out);
        query += len;
    }
    return wrong;
}

/* ---- columns --------------------------------------------------------------------------------- */

/* Types of PostgreSQL that take all values of one of ours; NULL: none does. */
static const char *taken_by(enum type_kind kind)
{
    switch (kind) {
    case TYPE_BOOLEAN:
        return " bool ";
    case TYPE_TINYINT:
    case TYPE_SMALLINT:
        return " int2 int4 int8 numeric ";
    case TYPE_INT:
        return " int4 int8 numeric ";
    case TYPE_BIGINT:
        return " int8 numeric ";
    case TYPE_FLOAT:
        return " float4 float8 ";
    case TYPE_DOUBLE:
        return " float8 ";
    case TYPE_DECIMAL:
        return " numeric ";
    case TYPE_CHAR:
    case TYPE_VARCHAR:
        return " text varchar bpchar citext json jsonb uuid xml inet cidr enum ";
    case TYPE_BINARY:
    case TYPE_VARBINARY:
        return " bytea ";
    case TYPE_DATE:
        return " date ";
    case TYPE_TIME:
        return " time ";
    case TYPE_TIMESTAMP:
        return " timestamp ";
    case TYPE_TIMESTAMP_LTZ:
        return " timestamptz ";
    case TYPE_NULL:
    case TYPE_INTERVAL_DAY:
    case TYPE_INTERVAL_YEAR:
        break;
    }
    return NULL;
}

static uint32_t digits_of(struct type type)
{
    switch (type.kind) {
    case TYPE_TINYINT:
        return 3;
    case TYPE_SMALLINT:
        return 5;
    case TYPE_INT:
        return 10;
    case TYPE_BIGINT:
        return 19;
    case TYPE_DECIMAL:
        return (uint32_t)(type.precision - type.scale);
    default:
        return 0;
    }
}

static enum rc columns_of(struct arena *arena, const struct connector_table *t,
                          struct pg_table *out, struct err *err)
{
    struct pg_column *columns = ARENA_ARRAY(arena, t->schema->field_count, struct pg_column);

    if (t->schema->field_count > LOG_COLUMNS_MAX)
        return sql_error_at(err, RC_LIMIT, t->text, t->pos, "table %s: a table has at most %u columns",
                            t->name, LOG_COLUMNS_MAX);
    for (uint32_t i = 0; i < t->schema->field_count; i++) {
        struct type type = t->schema->fields[i].type;

        columns[i] = (struct pg_column){
            .name = arena_strdup(arena, t->schema->fields[i].name),
            .type = type_str(arena, type, false),
            .taken = taken_by(type.kind),
            .nullable = type.nullable,
            .digits = digits_of(type),
            .fraction = type.kind == TYPE_DECIMAL ? type.scale
                        : type.kind == TYPE_TIME || type_is_timestamp(type.kind) ? type.precision
                                                                                 : 0,
        };
        if (columns[i].taken == NULL)
            return sql_error_at(err, RC_UNSUPPORTED, t->text, t->pos,
                                "table %s: column %s: %s has no type in PostgreSQL here", t->name,
                                columns[i].name, columns[i].type);
    }
    out->column_count = t->schema->field_count;
    out->columns = columns;
    out->key_count = t->key_count;
    out->key = arena_copy(arena, t->key, t->key_count * sizeof *t->key);
    return RC_OK;
}

/* ---- the sink -------------------------------------------------------------------------------- */

static enum rc need(const struct connector_table *t, const char *key, const char **out,
                    struct err *err)
{
    const struct ast_option *o = connector_option(t, key);

    if (o == NULL || o->value[0] == '\0')
        return sql_error_at(err, RC_INVALID, t->text, o == NULL ? t->pos : o->pos,
                            "table %s: the option '%s' is missing", t->name, key);
    *out = o->value;
    return RC_OK;
}

static const char *text_or_null(struct arena *arena, const struct connector_table *t,
                                const char *key)
{
    const struct ast_option *o = connector_option(t, key);

    return o == NULL ? NULL : arena_strdup(arena, o->value);
}

static enum rc server_of(struct arena *arena, const struct connector_table *t,
                         struct pg_config *out, struct err *err)
{
    const struct ast_option *driver = connector_option(t, "driver");
    const char *url = NULL, *wrong;

    RETURN_IF_ERR(need(t, "url", &url, err));
    wrong = take_url(arena, url, out);
    if (wrong != NULL) /* not with its value: a password may stand in it */
        return sql_error_at(err, RC_INVALID, NULL, connector_option(t, "url")->pos,
                            "table %s: option 'url': %s", t->name, wrong);
    if (driver != NULL && strcmp(driver->value, "org.postgresql.Driver") != 0)
        return connector_option_bad(t, driver, RC_UNSUPPORTED,
                                    "varve writes to PostgreSQL alone: org.postgresql.Driver", err);
    out->user = text_or_null(arena, t, "username");
    out->password = text_or_null(arena, t, "password");
    out->marks_table = text_or_null(arena, t, "varve.sink.marks-table");
    if (out->marks_table == NULL)
        out->marks_table = "varve_committed";
    return RC_OK;
}

enum rc connector_jdbc_sink(struct arena *arena, const struct connector_table *t,
                            struct connector_sink *out, struct err *err)
{
    struct pg_config *server = ARENA_NEW(arena, struct pg_config);
    struct pg_table *table = ARENA_NEW(arena, struct pg_table);
    struct sink_spec *spec = &out->spec;
    const char *name = NULL;

    RETURN_IF_ERR(server_of(arena, t, server, err));
    RETURN_IF_ERR(need(t, "table-name", &name, err));
    if (t->partition_count > 0)
        return sql_error_at(err, RC_INVALID, t->text, t->pos,
                            "table %s: connector 'jdbc' has no partitions", t->name);
    table->name = arena_strdup(arena, name);
    RETURN_IF_ERR(columns_of(arena, t, table, err));
    spec->kind = SINK_POSTGRES;
    spec->server = server;
    spec->table = table;
    spec->connect = pg_client_new;
    spec->retry_ms = connector_option_number(t, "connection.max-retry-timeout", RETRY_DEFAULT_MS);
    server->timeout_ms = spec->retry_ms < PEER_TIMEOUT_MS ? spec->retry_ms : PEER_TIMEOUT_MS;
    spec->batch_rows =
        (uint32_t)connector_option_number(t, "sink.buffer-flush.max-rows", MAX_ROWS_DEFAULT);
    spec->tries = (uint32_t)connector_option_number(t, "sink.max-retries", RETRIES_DEFAULT);
    spec->log_bytes_max =
        (uint64_t)connector_option_number(t, "varve.sink.log.max-size", LOG_SIZE_DEFAULT);
    spec->repeat_rows = connector_option_number(t, "varve.sink.repeat-rows", 0) != 0;
    out->append_only = t->key_count == 0;
    out->needs_update_before = false;
    return RC_OK;
}
