/* ast.h - what the parser makes of a SQL text: plain trees in one arena, with positions for messages. */
#ifndef VARVE_JOB_SQL_AST_H
#define VARVE_JOB_SQL_AST_H

#include "job/type.h"

struct sql_pos {
    uint32_t line, column; /* from 1, column in code points */
    uint32_t offset;       /* bytes from the start of the text */
};

enum ast_expr_kind {
    EXPR_LITERAL,
    EXPR_COLUMN, /* [qualifier.]name */
    EXPR_STAR,   /* only in a select list and COUNT(*) */
    EXPR_UNARY,
    EXPR_BINARY,
    EXPR_IS,      /* IS [NOT] NULL / TRUE / FALSE / UNKNOWN / DISTINCT FROM */
    EXPR_BETWEEN, /* [NOT] [SYMMETRIC] */
    EXPR_IN,      /* [NOT] IN (list) */
    EXPR_LIKE,    /* [NOT] LIKE p [ESCAPE e]; SIMILAR TO is refused */
    EXPR_CASE,
    EXPR_CAST, /* also TRY_CAST */
    EXPR_CALL, /* function or aggregate */
    EXPR_INTERVAL,
};
enum literal_kind { LIT_NULL, LIT_BOOL, LIT_INT, LIT_DECIMAL, LIT_DOUBLE, LIT_STRING, LIT_BINARY, LIT_DATE, LIT_TIME, LIT_TIMESTAMP };
enum ast_op {
    OP_NEG, OP_POS, OP_NOT,                                        /* unary */
    OP_ADD, OP_SUB, OP_MUL, OP_DIV, OP_MOD, OP_CONCAT,             /* arithmetic, || */
    OP_EQ, OP_NE, OP_LT, OP_LE, OP_GT, OP_GE, OP_AND, OP_OR,
};
enum ast_is { IS_NULL, IS_TRUE, IS_FALSE, IS_UNKNOWN, IS_DISTINCT_FROM };

/* How deep a tree may be; the parser refuses more (RC_LIMIT), so that who walks a tree may recurse. */
#define SQL_EXPR_HEIGHT_MAX 400
#define SQL_QUERY_HEIGHT_MAX 32
#define SQL_TEXT_MAX (4u << 20) /* bytes of one script */

/* Calls with words inside come as plain argument lists:
 *   TRIM([BOTH|LEADING|TRAILING] [chars] FROM s)   unit = the word ("BOTH" by default), args: s [, chars]
 *   SUBSTRING(s FROM i [FOR n])                    args: s, i [, n]     (as SUBSTRING(s, i, n))
 *   OVERLAY(s PLACING r FROM i [FOR n])            args: s, r, i [, n]
 *   POSITION(x IN s)                               args: x, s
 *   EXTRACT(unit FROM t), FLOOR|CEIL(t TO unit)    unit, args: t
 *   TIMESTAMPADD|TIMESTAMPDIFF(unit, a, b)         unit, args: a, b
 *   CURRENT_DATE, CURRENT_TIME, CURRENT_TIMESTAMP, LOCALTIME, LOCALTIMESTAMP without ( ): a call without args */
struct ast_expr {
    enum ast_expr_kind kind;
    struct sql_pos pos;
    uint16_t height; /* 1 + that of the highest operand; at most SQL_EXPR_HEIGHT_MAX */
    enum literal_kind literal;
    enum ast_op op;
    enum ast_is is;
    bool negated;           /* IS NOT, NOT IN, NOT LIKE, NOT BETWEEN */
    bool symmetric;         /* BETWEEN SYMMETRIC */
    bool distinct;          /* COUNT(DISTINCT x) */
    bool try_cast;          /* TRY_CAST */
    bool quoted;            /* EXPR_COLUMN was written in backticks */
    const char *qualifier;  /* EXPR_COLUMN: table or alias; NULL */
    const char *name;       /* EXPR_COLUMN; EXPR_CALL: upper case; EXPR_CALL EXTRACT/FLOOR/CEIL TO unit: see `unit` */
    const char *text;       /* literal as written, unquoted (LIT_INT, LIT_DECIMAL, LIT_STRING ...) */
    size_t text_len;        /* a string may hold any byte but NUL is legal too */
    const char *unit;       /* upper case: YEAR MONTH DAY HOUR MINUTE SECOND ...; intervals "DAY TO SECOND" */
    uint8_t interval_precision; /* of the unit; 0 = default */
    struct type type;       /* CAST target */
    uint32_t arg_count;     /* operands in order; CASE: [operand,] when, then, when, then ..., [else] */
    struct ast_expr **args;
    bool case_operand, case_else; /* which optional parts a CASE has */
    struct ast_expr *filter;      /* aggregate: FILTER (WHERE ...) ; NULL */
};

struct ast_select_item {
    struct ast_expr *expr;
    const char *alias; /* NULL: none */
};

struct ast_option { /* 'key' = 'value' */
    struct sql_pos pos;
    const char *key, *value;
    bool is_ttl; /* of a hint STATE_TTL('table' = 'time') */
};
enum ast_from_kind { FROM_TABLE, FROM_SUBQUERY, FROM_TUMBLE, FROM_VALUES };
struct ast_query;
struct ast_from {
    enum ast_from_kind kind;
    struct sql_pos pos;
    const char *name;  /* FROM_TABLE; FROM_TUMBLE: the table's name */
    const char *alias; /* NULL: none */
    uint32_t alias_column_count;
    const char **alias_columns; /* AS t(a, b) */
    struct ast_query *query;    /* FROM_SUBQUERY; FROM_TUMBLE over a query */
    const char *time_column;    /* FROM_TUMBLE: DESCRIPTOR(ts) */
    struct sql_pos time_column_pos;
    uint32_t option_count;      /* FROM_TABLE, FROM_TUMBLE: options of a hint OPTIONS(...), over the table's own */
    struct ast_option *options;
    struct ast_expr *size, *offset; /* FROM_TUMBLE: intervals; offset NULL: none */
};
struct ast_query {
    struct sql_pos pos;
    uint16_t height; /* nesting of queries, at most SQL_QUERY_HEIGHT_MAX */
    bool distinct;
    uint32_t option_count; /* of hints OPTIONS(...), STATE_TTL(...) behind SELECT: for the aggregate of this query */
    struct ast_option *options;
    uint32_t item_count;
    struct ast_select_item *items;
    struct ast_from *from; /* NULL: no FROM */
    struct ast_expr *where, *having; /* NULL: none */
    uint32_t group_count;
    struct ast_expr **group_by;
    bool has_group_by;
    uint32_t values_rows, values_columns; /* VALUES (…), (…): row-major in `values`; from, items unused */
    struct ast_expr **values;
    struct ast_query *union_all; /* next branch of UNION ALL; NULL */
};

enum ast_column_kind { COLUMN_PHYSICAL, COLUMN_COMPUTED, COLUMN_METADATA };
struct ast_column {
    enum ast_column_kind kind;
    struct sql_pos pos;
    const char *name;
    struct type type;         /* physical */
    struct ast_expr *computed; /* COLUMN_COMPUTED */
    bool primary_key;
    const char *comment;
};
/* CREATE TABLE ... LIKE t (INCLUDING ALL ...): what is taken over from t. */
enum ast_like_feature { LIKE_CONSTRAINTS, LIKE_GENERATED, LIKE_METADATA, LIKE_OPTIONS, LIKE_PARTITIONS, LIKE_WATERMARKS, LIKE_FEATURES };
enum ast_like_rule { LIKE_DEFAULT, LIKE_INCLUDING, LIKE_EXCLUDING, LIKE_OVERWRITING };
struct ast_table {
    const char *name;
    const char *comment; /* NULL: none */
    bool temporary, if_not_exists;
    uint32_t column_count;
    struct ast_column *columns;
    const char *watermark_column; /* NULL: none */
    struct ast_expr *watermark;
    struct sql_pos watermark_pos;
    uint32_t primary_key_count;
    const char **primary_key;
    uint32_t partition_count;
    const char **partitioned_by;
    uint32_t option_count;
    struct ast_option *options;
    const char *like; /* CREATE TABLE … LIKE other; NULL */
    struct sql_pos like_pos;
    enum ast_like_rule like_all, like_rules[LIKE_FEATURES];
};
struct ast_insert {
    struct sql_pos pos, table_pos;
    const char *table;
    uint32_t column_count; /* INSERT INTO t (a, b); 0: all */
    const char **columns;
    bool overwrite;
    uint32_t option_count; /* of a hint OPTIONS(...) behind the table's name */
    struct ast_option *options;
    struct ast_query *query;
};

enum ast_statement_kind {
    STMT_SET, STMT_RESET, STMT_CREATE_TABLE, STMT_CREATE_VIEW, STMT_DROP_TABLE, STMT_DROP_VIEW,
    STMT_SHOW_TABLES, STMT_SHOW_VIEWS, STMT_SHOW_JOBS, STMT_SHOW_CREATE_TABLE, STMT_SHOW_CREATE_VIEW, STMT_DESCRIBE, STMT_EXPLAIN, STMT_INSERT,
    STMT_STATEMENT_SET, STMT_SELECT, STMT_STOP_JOB, STMT_DESCRIBE_JOB, STMT_QUIT, STMT_HELP,
};
struct ast_statement {
    enum ast_statement_kind kind;
    struct sql_pos pos;
    const char *text;            /* as written, without the semicolon */
    const char *source;          /* the whole text that positions refer to, for the line and caret of later messages */
    const char *key, *value;     /* SET / RESET; key NULL: all */
    const char *name;            /* DROP, DESCRIBE, SHOW CREATE, CREATE VIEW */
    bool if_exists, temporary, if_not_exists;
    struct ast_table *table;
    struct ast_query *query;     /* SELECT, CREATE VIEW */
    uint32_t view_column_count;  /* CREATE VIEW v (a, b) AS ... */
    const char **view_columns;
    const char *comment;         /* CREATE VIEW ... COMMENT */
    bool explain_changelog_mode; /* EXPLAIN CHANGELOG_MODE ... */
    uint32_t insert_count;       /* INSERT: 1; STATEMENT_SET and EXPLAIN of one: any */
    struct ast_insert **inserts;
    struct ast_statement *explained;
    const char *job_id;          /* STOP JOB, DESCRIBE JOB */
    bool with_savepoint, with_drain;
};

#endif
