/* fuzz_sql.c - SQL text from anywhere: lexer, grammar, catalog and planner; nothing is executed. */
#include "job/sql/ast_util.h"
#include "job/sql/parser.h"
#include "job/sql/plan.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void statement(const struct plan_context *ctx, struct config *config,
                      const struct ast_statement *s, struct arena *arena)
{
    struct err err = {0};
    struct buf text = {0};
    const struct schema *schema;
    enum rc rc = RC_OK;

    switch (s->kind) {
    case STMT_SET:
        if (s->key != NULL)
            rc = config_set(config, CONFIG_SET, s->key, s->value, &err);
        break;
    case STMT_CREATE_TABLE:
        rc = catalog_create_table(ctx->catalog, s, config, &err);
        if (rc == RC_OK) {
            const struct catalog_entry *e = catalog_find(ctx->catalog, s->name);

            catalog_print(e, &text);
            catalog_release(e);
        }
        break;
    case STMT_CREATE_VIEW:
        rc = plan_view(ctx, s->query, s->view_column_count, s->view_columns, s->source, arena,
                       &schema, &err);
        if (rc == RC_OK)
            rc = catalog_create_view(ctx->catalog, s, &err);
        break;
    case STMT_DROP_TABLE:
    case STMT_DROP_VIEW:
        rc = catalog_drop(ctx->catalog, s->name, s->kind == STMT_DROP_VIEW, s->if_exists, &err);
        break;
    case STMT_INSERT:
    case STMT_STATEMENT_SET:
    case STMT_SELECT:
        rc = plan_explain(ctx, s, true, &text, &err);
        break;
    default:
        break;
    }
    if ((rc == RC_OK) != (err.msg[0] == '\0'))
        __builtin_trap(); /* an error without a message, or the reverse */
    buf_release(&text);
}

static const char *const tables =
    "CREATE TABLE t (k STRING, v INT, d DECIMAL(10, 2), f DOUBLE, b BOOLEAN, ts TIMESTAMP(3), "
    "WATERMARK FOR ts AS ts) WITH ('connector' = 'datagen', "
    "'number-of-rows' = '5'); CREATE TABLE p (k STRING, n BIGINT) WITH ('connector' = 'print');";

static void script(const struct plan_context *ctx, struct config *config, struct arena *arena,
                   struct bytes text)
{
    struct ast_script s;
    struct err err = {0};

    if (sql_parse_script(arena, text, &s, &err) != RC_OK) {
        if (err.msg[0] == '\0')
            __builtin_trap();
        return;
    }
    for (uint32_t i = 0; i < s.count && i < 20; i++)
        statement(ctx, config, s.statements[i], arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct env env = {.fs = fs_posix(), .clock = clock_posix()};
    struct arena *arena = arena_new(0);
    struct config *config = config_new();
    struct catalog *catalog = catalog_new();
    struct plan_context ctx = {catalog, config, &env};

    script(&ctx, config, arena, bytes_of_str(tables));
    script(&ctx, config, arena, bytes_of(data, size));
    (void)sql_complete_statements(bytes_of(data, size));
    catalog_free(catalog);
    config_free(config);
    arena_free(arena);
    return 0;
}
