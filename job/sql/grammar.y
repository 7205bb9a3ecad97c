/* grammar.y - Flink's SQL as far as varve has it, by lemon. Actions only call the builders of
 * parser_priv.h.
 *
 * What Flink has and varve has not (JOIN, ORDER BY, OVER ...) is a syntax error here; parser.c turns
 * it into an RC_UNSUPPORTED that names the thing. Words in %fallback may also be names. */
%include {
#include "job/sql/parser_priv.h"

#include <assert.h>
}
%name sql_grammar
%token_prefix TK_
%token_type {struct sql_token}
%default_type {struct sql_list *}
%extra_argument {struct sql_parse *p}
%stack_size 1500
%stack_overflow { parse_too_deep(p); }
%syntax_error { (void)yymajor; parse_syntax_error(p, &TOKEN); }
%parse_accept { (void)p; }
%destructor input { (void)p; }
%parse_failure { (void)p; }

%fallback IDENT BEGIN BOTH CHANGELOG_MODE COMMENT CONSTRAINT DESC DESCRIBE DESCRIPTOR DRAIN
    ENFORCED EXCLUDING EXECUTE EXIT EXPLAIN EXTENDED FILTER HELP IF INCLUDING JOB JOBS KEY LEADING
    LOCAL METADATA OVERWRITE OVERWRITING PARTITIONED PLACING PLAN PRECISION QUIT RESET SAVEPOINT
    SHOW STATEMENT STOP SYMMETRIC TABLES TEMPORARY TRAILING VIEW VIEWS VIRTUAL WATERMARK WITHOUT
    ZONE OVERLAY POSITION SUBSTRING TRIM FLOOR CEIL TIMESTAMPADD TIMESTAMPDIFF EXTRACT.

%left OR.
%left AND.
%right NOT.
%nonassoc IS.
%left PLUS MINUS.
%left STAR SLASH PERCENT CONCAT.
%right SIGN.
%nonassoc ONE_UNIT.
%nonassoc TO.

/* Never part of a rule: known, so that the message can name them. */
%token CROSS DEFAULT EXCEPT EXISTS FETCH FULL INNER INTERSECT JOIN LATERAL LIMIT MATCH_RECOGNIZE
    MINUS_WORD NATURAL OFFSET ON ORDER OVER QUALIFY RBRACKET LBRACKET SIMILAR TABLESAMPLE UNNEST
    WINDOW.

input ::= statements.
statements ::= .
statements ::= statements SEMI.
statements ::= statements statement(S) SEMI(E). { parse_statement_end(p, S, &E); }

%type statement {struct ast_statement *}
%type query_statement {struct ast_statement *}
statement(A) ::= SET(T). { A = parse_statement(p, STMT_SET, &T); }
statement(A) ::= SET(T) setting(K) EQ setting(V). {
    A = parse_statement(p, STMT_SET, &T);
    A->key = parse_text(p, &K);
    A->value = parse_text(p, &V);
}
statement(A) ::= RESET(T). { A = parse_statement(p, STMT_RESET, &T); }
statement(A) ::= RESET(T) setting(K). {
    A = parse_statement(p, STMT_RESET, &T);
    A->key = parse_text(p, &K);
}
%type setting {struct sql_token}
setting(A) ::= SETTING(T). { A = T; }
setting(A) ::= STRING(T). { A = T; }

statement(A) ::= CREATE(T) temporary(M) TABLE if_not_exists(N) table_name(X) columns(C) comment(D)
                 partitioned(R) with(W) like(L). {
    A = parse_create_table(p, &T, &(struct table_parts){M, N, &X, C, D, R, W, L});
}
statement ::= CREATE temporary TABLE if_not_exists table_name columns comment partitioned with like
              AS(T). {
    parse_unsupported(p, &T, "CREATE TABLE ... AS SELECT: create the table, then INSERT INTO it");
}
statement(A) ::= CREATE(T) temporary(M) VIEW if_not_exists(N) table_name(X) column_names(C)
                 comment(D) AS query(Q). {
    A = parse_create_view(p, &T, M, N, &X, C, D, Q);
}
statement(A) ::= DROP(T) temporary(M) TABLE if_exists(E) table_name(X). {
    A = parse_statement(p, STMT_DROP_TABLE, &T);
    A->temporary = M;
    A->if_exists = E;
    A->name = X.text;
}
statement(A) ::= DROP(T) temporary(M) VIEW if_exists(E) table_name(X). {
    A = parse_statement(p, STMT_DROP_VIEW, &T);
    A->temporary = M;
    A->if_exists = E;
    A->name = X.text;
}
statement(A) ::= SHOW(T) TABLES. { A = parse_statement(p, STMT_SHOW_TABLES, &T); }
statement(A) ::= SHOW(T) VIEWS. { A = parse_statement(p, STMT_SHOW_VIEWS, &T); }
statement(A) ::= SHOW(T) JOBS. { A = parse_statement(p, STMT_SHOW_JOBS, &T); }
statement(A) ::= SHOW(T) CREATE TABLE table_name(X). {
    A = parse_statement(p, STMT_SHOW_CREATE_TABLE, &T);
    A->name = X.text;
}
statement(A) ::= SHOW(T) CREATE VIEW table_name(X). {
    A = parse_statement(p, STMT_SHOW_CREATE_VIEW, &T);
    A->name = X.text;
}
statement(A) ::= describe(T) JOB STRING(S). {
    A = parse_statement(p, STMT_DESCRIBE_JOB, &T);
    A->job_id = parse_text(p, &S);
}
statement(A) ::= describe(T) table_name(X). {
    A = parse_statement(p, STMT_DESCRIBE, &T);
    A->name = X.text;
}
%type describe {struct sql_token}
describe(A) ::= DESCRIBE(T). { A = T; }
describe(A) ::= DESC(T). { A = T; }
describe(A) ::= DESCRIBE(T) EXTENDED. { A = T; }
describe(A) ::= DESC(T) EXTENDED. { A = T; }
statement(A) ::= EXPLAIN(T) explain_detail(D) query_statement(S). {
    A = parse_statement(p, STMT_EXPLAIN, &T);
    A->explain_changelog_mode = D;
    A->explained = S;
}
statement(A) ::= EXPLAIN(T) explain_detail(D) STATEMENT(B) SET BEGIN inserts(L) END(E). {
    A = parse_statement(p, STMT_EXPLAIN, &T);
    A->explain_changelog_mode = D;
    A->explained = parse_statement_set(p, &B, L);
    parse_statement_text(p, A->explained, E.end);
}
%type explain_detail {bool}
explain_detail(A) ::= . { A = false; }
explain_detail(A) ::= PLAN FOR. { A = false; }
explain_detail(A) ::= CHANGELOG_MODE. { A = true; }
statement(A) ::= query_statement(S). { A = S; }
query_statement(A) ::= insert(I). { A = parse_insert_statement(p, I); }
query_statement(A) ::= query(Q). { A = parse_select_statement(p, Q); }
statement(A) ::= EXECUTE(T) query_statement(S). {
    A = S;
    A->pos = T.pos;
}
statement(A) ::= EXECUTE(T) STATEMENT SET BEGIN inserts(L) END. {
    A = parse_statement_set(p, &T, L);
}
statement(A) ::= BEGIN(T) STATEMENT SET SEMI inserts(L) END. { A = parse_statement_set(p, &T, L); }
inserts(A) ::= insert(I) SEMI. { A = parse_list(p, NULL, I); }
inserts(A) ::= inserts(L) insert(I) SEMI. { A = parse_list(p, L, I); }
statement(A) ::= STOP(T) JOB STRING(S) stop_how(H). {
    A = parse_statement(p, STMT_STOP_JOB, &T);
    A->job_id = parse_text(p, &S);
    A->with_savepoint = H >= 1;
    A->with_drain = H == 2;
}
%type stop_how {int}
stop_how(A) ::= . { A = 0; }
stop_how(A) ::= WITH SAVEPOINT. { A = 1; }
stop_how(A) ::= WITH SAVEPOINT WITH DRAIN. { A = 2; }
statement(A) ::= QUIT(T). { A = parse_statement(p, STMT_QUIT, &T); }
statement(A) ::= EXIT(T). { A = parse_statement(p, STMT_QUIT, &T); }
statement(A) ::= HELP(T). { A = parse_statement(p, STMT_HELP, &T); }

/* ---- CREATE TABLE ---- */
%type temporary {bool}
temporary(A) ::= . { A = false; }
temporary(A) ::= TEMPORARY. { A = true; }
%type if_not_exists {bool}
if_not_exists(A) ::= . { A = false; }
if_not_exists(A) ::= IF NOT EXISTS. { A = true; }
%type if_exists {bool}
if_exists(A) ::= . { A = false; }
if_exists(A) ::= IF EXISTS. { A = true; }
/* Text of STRING, NULL without. */
%type comment {const char *}
comment(A) ::= . { A = NULL; }
comment(A) ::= COMMENT STRING(S). { A = parse_text(p, &S); }
partitioned(A) ::= . { A = NULL; }
partitioned(A) ::= PARTITIONED BY LP names(N) RP. { A = N; }
with(A) ::= . { A = NULL; }
with(A) ::= WITH LP options(O) RP. { A = O; }
column_names(A) ::= . { A = NULL; }
column_names(A) ::= LP names(N) RP. { A = N; }
names(A) ::= name(N). { A = parse_list(p, NULL, parse_text(p, &N)); }
names(A) ::= names(L) COMMA name(N). { A = parse_list(p, L, parse_text(p, &N)); }
options(A) ::= option(O). { A = parse_list(p, NULL, O); }
options(A) ::= options(L) COMMA option(O). { A = parse_list(p, L, O); }
%type option {struct ast_option *}
option(A) ::= STRING(K) EQ STRING(V). { A = parse_option(p, &K, &V); }

%type like {struct like_parts *}
like(A) ::= . { A = NULL; }
like(A) ::= LIKE table_name(T). { A = parse_like(p, &T); }
like(A) ::= LIKE table_name(T) LP like_rules(L) RP. {
    A = L;
    A->name = T;
}
%type like_rules {struct like_parts *}
like_rules(A) ::= . { A = parse_like(p, NULL); }
like_rules(A) ::= like_rules(L) like_word(W) ALL. {
    A = L;
    A->all = W;
}
like_rules(A) ::= like_rules(L) like_word(W) name(N). {
    A = L;
    parse_like_rule(p, A, W, &N);
}
%type like_word {enum ast_like_rule}
like_word(A) ::= INCLUDING. { A = LIKE_INCLUDING; }
like_word(A) ::= EXCLUDING. { A = LIKE_EXCLUDING; }
like_word(A) ::= OVERWRITING. { A = LIKE_OVERWRITING; }

%type columns {struct column_parts *}
%type column_list {struct column_parts *}
columns(A) ::= . { A = parse_columns(p); }
columns(A) ::= LP column_list(L) RP. { A = L; }
columns(A) ::= LP RP. { A = parse_columns(p); }
column_list(A) ::= column(C). {
    A = parse_columns(p);
    parse_column_add(p, A, C);
}
column_list(A) ::= table_part(X). {
    A = parse_columns(p);
    parse_table_part_add(p, A, X);
}
column_list(A) ::= column_list(L) COMMA column(C). {
    A = L;
    parse_column_add(p, A, C);
}
column_list(A) ::= column_list(L) COMMA table_part(X). {
    A = L;
    parse_table_part_add(p, A, X);
}
%type column {struct ast_column *}
column(A) ::= name(N) data_type(T) column_key(K) comment(C). {
    A = parse_column(p, COLUMN_PHYSICAL, &N, C);
    A->type = T;
    A->primary_key = K;
}
column(A) ::= name(N) AS expr(E) comment(C). {
    A = parse_column(p, COLUMN_COMPUTED, &N, C);
    A->computed = E;
}
column(A) ::= name(N) data_type(T) METADATA metadata_from virtual comment(C). {
    A = parse_column(p, COLUMN_METADATA, &N, C);
    A->type = T;
}
metadata_from ::= .
metadata_from ::= FROM STRING.
virtual ::= .
virtual ::= VIRTUAL.
%type column_key {bool}
column_key(A) ::= . { A = false; }
column_key(A) ::= PRIMARY KEY NOT ENFORCED. { A = true; }
column_key(A) ::= PRIMARY(T) KEY. {
    A = true;
    parse_unsupported(p, &T, "an enforced PRIMARY KEY: write PRIMARY KEY NOT ENFORCED");
}
%type table_part {struct table_part}
table_part(A) ::= WATERMARK FOR name(N) AS expr(E). {
    A = (struct table_part){.token = N, .watermark = E};
}
table_part(A) ::= PRIMARY(T) KEY LP names(L) RP NOT ENFORCED. {
    A = (struct table_part){.token = T, .key = L};
}
table_part(A) ::= CONSTRAINT name PRIMARY(T) KEY LP names(L) RP NOT ENFORCED. {
    A = (struct table_part){.token = T, .key = L};
}
table_part(A) ::= PRIMARY(T) KEY LP names(L) RP. {
    A = (struct table_part){.token = T, .key = L};
    parse_unsupported(p, &T, "an enforced PRIMARY KEY: write PRIMARY KEY (...) NOT ENFORCED");
}

%type data_type {struct type}
data_type(A) ::= base_type(T). { A = T; }
data_type(A) ::= base_type(T) NULL. { A = T; }
data_type(A) ::= base_type(T) NOT NULL. {
    A = T;
    A.nullable = false;
}
%type base_type {struct type}
base_type(A) ::= IDENT(N). { A = parse_type(p, &N, NULL, NULL); }
base_type(A) ::= IDENT(N) PRECISION. { A = parse_type_double_precision(p, &N); }
base_type(A) ::= IDENT(N) LP INTEGER(L) RP. { A = parse_type(p, &N, &L, NULL); }
base_type(A) ::= IDENT(N) LP INTEGER(L) COMMA INTEGER(S) RP. { A = parse_type(p, &N, &L, &S); }
base_type(A) ::= IDENT(N) LT. { A = parse_type(p, &N, NULL, NULL); }
base_type(A) ::= DATE. { A = type_of(TYPE_DATE); }
base_type(A) ::= TIME(T) precision(N). { A = parse_type_time(p, TYPE_TIME, &T, N); }
base_type(A) ::= TIME(T) precision(N) WITHOUT TIME ZONE. {
    A = parse_type_time(p, TYPE_TIME, &T, N);
}
base_type(A) ::= TIMESTAMP(T) precision(N). { A = parse_type_time(p, TYPE_TIMESTAMP, &T, N); }
base_type(A) ::= TIMESTAMP(T) precision(N) WITHOUT TIME ZONE. {
    A = parse_type_time(p, TYPE_TIMESTAMP, &T, N);
}
base_type(A) ::= TIMESTAMP(T) precision(N) WITH LOCAL TIME ZONE. {
    A = parse_type_time(p, TYPE_TIMESTAMP_LTZ, &T, N);
}
base_type(A) ::= TIMESTAMP(T) precision WITH TIME ZONE. {
    A = type_of(TYPE_TIMESTAMP_LTZ);
    parse_unsupported(p, &T, "TIMESTAMP WITH TIME ZONE: use TIMESTAMP_LTZ");
}
base_type(A) ::= INTERVAL(T). {
    A = type_of(TYPE_INTERVAL_DAY);
    parse_unsupported(p, &T, "a column or CAST of type INTERVAL");
}
%type precision {struct sql_token}
precision(A) ::= . { A = (struct sql_token){0}; }
precision(A) ::= LP INTEGER(N) RP. { A = N; }

/* ---- names ---- */
%type name {struct sql_token}
name(A) ::= IDENT(T). { A = T; }
%type table_name {struct sql_token}
table_name(A) ::= name(N). { A = N; }
table_name(A) ::= name(D) DOT name(N). { A = parse_table_name(p, NULL, &D, &N); }
table_name(A) ::= name(C) DOT name(D) DOT name(N). { A = parse_table_name(p, &C, &D, &N); }

/* ---- INSERT and queries ---- */
%type insert {struct ast_insert *}
insert(A) ::= INSERT(T) into(O) table_name(N) hint(H) query(Q). {
    A = parse_insert(p, &T, O, &N, H, NULL, Q);
}
insert(A) ::= INSERT(T) into(O) table_name(N) hint(H) LP names(C) RP query(Q). {
    A = parse_insert(p, &T, O, &N, H, C, Q);
}
%type into {bool}
into(A) ::= INTO. { A = false; }
into(A) ::= OVERWRITE. { A = true; }
hint(A) ::= . { A = NULL; }
hint(A) ::= HINT_BEGIN hints(H) HINT_END. { A = H; }
hints(A) ::= IDENT(N) LP options(O) RP. { A = parse_hint(p, NULL, &N, O); }
hints(A) ::= IDENT(N) LP names RP. { A = parse_hint(p, NULL, &N, NULL); }
hints(A) ::= hints(L) COMMA IDENT(N) LP options(O) RP. { A = parse_hint(p, L, &N, O); }
hints(A) ::= hints(L) COMMA IDENT(N) LP names RP. { A = parse_hint(p, L, &N, NULL); }

%type query {struct ast_query *}
%type query_term {struct ast_query *}
query(A) ::= query_term(Q). { A = Q; }
query(A) ::= query(L) UNION ALL query_term(R). { A = parse_union(p, L, R); }
query_term(A) ::= select(Q). { A = Q; }
query_term(A) ::= LP query(Q) RP. { A = Q; }
query_term(A) ::= VALUES(T) rows(R). { A = parse_values(p, &T, R); }
rows(A) ::= row(R). { A = parse_list(p, NULL, R); }
rows(A) ::= rows(L) COMMA row(R). { A = parse_list(p, L, R); }
row(A) ::= LP exprs(L) RP. { A = L; }

%type select {struct ast_query *}
select(A) ::= SELECT(T) hint(O) distinct(D) items(I) from(F) where(W) group(G) having(H). {
    A = parse_select(p, &(struct select_parts){&T, O, D, I, F, W, &G, H});
}
%type distinct {bool}
distinct(A) ::= . { A = false; }
distinct(A) ::= ALL. { A = false; }
distinct(A) ::= DISTINCT. { A = true; }
items(A) ::= item(I). { A = parse_list(p, NULL, I); }
items(A) ::= items(L) COMMA item(I). { A = parse_list(p, L, I); }
%type item {struct ast_select_item *}
item(A) ::= expr(E). { A = parse_item(p, E, NULL); }
item(A) ::= expr(E) AS name(N). { A = parse_item(p, E, &N); }
item(A) ::= expr(E) name(N). { A = parse_item(p, E, &N); }
item(A) ::= STAR(T). { A = parse_item(p, parse_star(p, &T, NULL), NULL); }
item(A) ::= name(Q) DOT STAR. { A = parse_item(p, parse_star(p, &Q, &Q), NULL); }

%type from {struct ast_from *}
%type from_item {struct ast_from *}
from(A) ::= . { A = NULL; }
from(A) ::= FROM from_item(F). { A = F; }
from(A) ::= FROM from_item(F) COMMA(T). {
    A = F;
    parse_unsupported(p, &T, "a join (several tables in FROM)");
}
from_item(A) ::= table_name(N) hint(H) alias(X). { A = parse_from_table(p, &N, H, &X); }
from_item(A) ::= LP(T) query(Q) RP alias(X). { A = parse_from_query(p, &T, Q, &X); }
from_item(A) ::= TABLE LP IDENT(F) LP tvf_args(L) RP RP alias(X). {
    A = parse_from_window(p, &F, L, &X);
}
%type alias {struct alias_parts}
alias(A) ::= . { A = (struct alias_parts){0}; }
alias(A) ::= name(N). { A = (struct alias_parts){parse_text(p, &N), NULL}; }
alias(A) ::= AS name(N). { A = (struct alias_parts){parse_text(p, &N), NULL}; }
alias(A) ::= name(N) LP names(L) RP. { A = (struct alias_parts){parse_text(p, &N), L}; }
alias(A) ::= AS name(N) LP names(L) RP. { A = (struct alias_parts){parse_text(p, &N), L}; }
tvf_args(A) ::= tvf_arg(X). { A = parse_list(p, NULL, X); }
tvf_args(A) ::= tvf_args(L) COMMA tvf_arg(X). { A = parse_list(p, L, X); }
%type tvf_arg {struct tvf_arg *}
%type tvf_value {struct tvf_arg *}
tvf_arg(A) ::= tvf_value(V). { A = V; }
tvf_arg(A) ::= IDENT(N) ARROW tvf_value(V). {
    A = V;
    A->name = N.text;
}
tvf_value(A) ::= TABLE(T) table_name(N) hint(H). { A = parse_tvf_table(p, &T, &N, H); }
tvf_value(A) ::= LP(T) query(Q) RP. { A = parse_tvf_query(p, &T, Q); }
tvf_value(A) ::= DESCRIPTOR LP name(N) RP. { A = parse_tvf_column(p, &N); }
tvf_value(A) ::= expr(E). { A = parse_tvf_expr(p, E); }

%type where {struct ast_expr *}
where(A) ::= . { A = NULL; }
where(A) ::= WHERE expr(E). { A = E; }
%type group {struct group_parts}
group(A) ::= . { A = (struct group_parts){false, NULL}; }
group(A) ::= GROUP BY exprs(L). { A = (struct group_parts){true, L}; }
group(A) ::= GROUP BY LP RP. { A = (struct group_parts){true, NULL}; }
%type having {struct ast_expr *}
having(A) ::= . { A = NULL; }
having(A) ::= HAVING expr(E). { A = E; }

/* ---- expressions: conditions over values ---- */
exprs(A) ::= expr(E). { A = parse_list(p, NULL, E); }
exprs(A) ::= exprs(L) COMMA expr(E). { A = parse_list(p, L, E); }
%type expr {struct ast_expr *}
%type value {struct ast_expr *}
%type primary {struct ast_expr *}
%type call {struct ast_expr *}
expr(A) ::= value(V). { A = V; }
expr(A) ::= expr(L) OR(T) expr(R). { A = parse_binary(p, OP_OR, &T, L, R); }
expr(A) ::= expr(L) AND(T) expr(R). { A = parse_binary(p, OP_AND, &T, L, R); }
expr(A) ::= NOT(T) expr(E). { A = parse_unary(p, OP_NOT, &T, E); }
expr(A) ::= expr(E) IS(T) not(N) is_what(W). { A = parse_is(p, &T, E, N, W, NULL); } [IS]
expr(A) ::= expr(E) IS(T) not(N) DISTINCT FROM value(V). [IS] {
    A = parse_is(p, &T, E, N, IS_DISTINCT_FROM, V);
}
expr(A) ::= value(L) comparison(O) value(R). { A = parse_binary(p, O.op, &O.token, L, R); }
expr(A) ::= value(E) not(N) BETWEEN(T) symmetric(S) value(X) AND value(Y). {
    A = parse_between(p, &T, E, N, S, X, Y);
}
expr(A) ::= value(E) not(N) IN(T) LP exprs(L) RP. { A = parse_in(p, &T, E, N, L); }
expr(A) ::= value(E) not(N) LIKE(T) value(X). { A = parse_like_expr(p, &T, E, N, X, NULL); }
expr(A) ::= value(E) not(N) LIKE(T) value(X) ESCAPE value(Y). {
    A = parse_like_expr(p, &T, E, N, X, Y);
}
%type not {bool}
not(A) ::= . { A = false; }
not(A) ::= NOT. { A = true; }
%type symmetric {bool}
symmetric(A) ::= . { A = false; }
symmetric(A) ::= SYMMETRIC. { A = true; }
%type is_what {enum ast_is}
is_what(A) ::= NULL. { A = IS_NULL; }
is_what(A) ::= TRUE. { A = IS_TRUE; }
is_what(A) ::= FALSE. { A = IS_FALSE; }
is_what(A) ::= UNKNOWN. { A = IS_UNKNOWN; }
%type comparison {struct comparison_parts}
comparison(A) ::= EQ(T). { A = (struct comparison_parts){OP_EQ, T}; }
comparison(A) ::= NE(T). { A = (struct comparison_parts){OP_NE, T}; }
comparison(A) ::= LT(T). { A = (struct comparison_parts){OP_LT, T}; }
comparison(A) ::= LE(T). { A = (struct comparison_parts){OP_LE, T}; }
comparison(A) ::= GT(T). { A = (struct comparison_parts){OP_GT, T}; }
comparison(A) ::= GE(T). { A = (struct comparison_parts){OP_GE, T}; }

value(A) ::= primary(E). { A = E; }
value(A) ::= value(L) PLUS(T) value(R). { A = parse_binary(p, OP_ADD, &T, L, R); }
value(A) ::= value(L) MINUS(T) value(R). { A = parse_binary(p, OP_SUB, &T, L, R); }
value(A) ::= value(L) STAR(T) value(R). { A = parse_binary(p, OP_MUL, &T, L, R); }
value(A) ::= value(L) SLASH(T) value(R). { A = parse_binary(p, OP_DIV, &T, L, R); }
value(A) ::= value(L) PERCENT(T) value(R). { A = parse_binary(p, OP_MOD, &T, L, R); }
value(A) ::= value(L) CONCAT(T) value(R). { A = parse_binary(p, OP_CONCAT, &T, L, R); }
value(A) ::= MINUS(T) value(E). { A = parse_unary(p, OP_NEG, &T, E); } [SIGN]
value(A) ::= PLUS(T) value(E). { A = parse_unary(p, OP_POS, &T, E); } [SIGN]

primary(A) ::= LP expr(E) RP. { A = E; }
primary(A) ::= NULL(T). { A = parse_literal(p, LIT_NULL, &T); }
primary(A) ::= TRUE(T). { A = parse_literal(p, LIT_BOOL, &T); }
primary(A) ::= FALSE(T). { A = parse_literal(p, LIT_BOOL, &T); }
primary(A) ::= INTEGER(T). { A = parse_literal(p, LIT_INT, &T); }
primary(A) ::= DECIMAL(T). { A = parse_literal(p, LIT_DECIMAL, &T); }
primary(A) ::= DOUBLE(T). { A = parse_literal(p, LIT_DOUBLE, &T); }
primary(A) ::= STRING(T). { A = parse_literal(p, LIT_STRING, &T); }
primary(A) ::= BINARY(T). { A = parse_literal(p, LIT_BINARY, &T); }
primary(A) ::= DATE STRING(T). { A = parse_literal(p, LIT_DATE, &T); }
primary(A) ::= TIME STRING(T). { A = parse_literal(p, LIT_TIME, &T); }
primary(A) ::= TIMESTAMP STRING(T). { A = parse_literal(p, LIT_TIMESTAMP, &T); }
primary(A) ::= INTERVAL(I) sign(N) STRING(T) interval_unit(U). {
    A = parse_interval(p, &I, N, &T, &U);
}
%type sign {bool}
sign(A) ::= . { A = false; }
sign(A) ::= MINUS. { A = true; }
sign(A) ::= PLUS. { A = false; }
%type interval_unit {struct unit_parts}
interval_unit(A) ::= IDENT(U) precision(N). [ONE_UNIT] { A = (struct unit_parts){U, N, {0}, {0}}; }
interval_unit(A) ::= IDENT(U) precision(N) TO IDENT(V) precision(M). {
    A = (struct unit_parts){U, N, V, M};
}
primary(A) ::= name(N). { A = parse_column_ref(p, NULL, &N); }
primary(A) ::= name(Q) DOT name(N). { A = parse_column_ref(p, &Q, &N); }
primary(A) ::= name(Q) DOT name DOT(T) name. {
    A = parse_column_ref(p, NULL, &Q);
    parse_unsupported(p, &T, "fields of a ROW");
}
primary(A) ::= CASE(T) when_list(W) else(E) END. { A = parse_case(p, &T, NULL, W, E); }
primary(A) ::= CASE(T) expr(O) when_list(W) else(E) END. { A = parse_case(p, &T, O, W, E); }
when_list(A) ::= WHEN expr(W) THEN expr(T). { A = parse_list(p, parse_list(p, NULL, W), T); }
when_list(A) ::= when_list(L) WHEN expr(W) THEN expr(T). {
    A = parse_list(p, parse_list(p, L, W), T);
}
%type else {struct ast_expr *}
else(A) ::= . { A = NULL; }
else(A) ::= ELSE expr(E). { A = E; }
primary(A) ::= CAST(T) LP expr(E) AS data_type(Y) RP. { A = parse_cast(p, &T, false, E, Y); }
primary(A) ::= TRY_CAST(T) LP expr(E) AS data_type(Y) RP. { A = parse_cast(p, &T, true, E, Y); }
primary(A) ::= call(C). { A = C; }
primary(A) ::= call(C) FILTER LP WHERE expr(E) RP. { A = parse_filter(p, C, E); }

call(A) ::= IDENT(F) LP RP. { A = parse_call(p, &F, false, NULL); }
call(A) ::= IDENT(F) LP exprs(L) RP. { A = parse_call(p, &F, false, L); }
call(A) ::= IDENT(F) LP ALL exprs(L) RP. { A = parse_call(p, &F, false, L); }
call(A) ::= IDENT(F) LP DISTINCT exprs(L) RP. { A = parse_call(p, &F, true, L); }
call(A) ::= IDENT(F) LP STAR(T) RP. {
    A = parse_call(p, &F, false, parse_list(p, NULL, parse_star(p, &T, NULL)));
}
call(A) ::= LEFT(F) LP exprs(L) RP. { A = parse_call(p, &F, false, L); }
call(A) ::= RIGHT(F) LP exprs(L) RP. { A = parse_call(p, &F, false, L); }
call(A) ::= FLOOR(F) LP exprs(L) RP. { A = parse_call(p, &F, false, L); }
call(A) ::= CEIL(F) LP exprs(L) RP. { A = parse_call(p, &F, false, L); }
call(A) ::= FLOOR(F) LP expr(E) TO IDENT(U) RP. {
    A = parse_unit_call(p, &F, &U, parse_list(p, NULL, E));
}
call(A) ::= CEIL(F) LP expr(E) TO IDENT(U) RP. {
    A = parse_unit_call(p, &F, &U, parse_list(p, NULL, E));
}
call(A) ::= EXTRACT(F) LP IDENT(U) FROM expr(E) RP. {
    A = parse_unit_call(p, &F, &U, parse_list(p, NULL, E));
}
call(A) ::= TIMESTAMPADD(F) LP IDENT(U) COMMA exprs(L) RP. { A = parse_unit_call(p, &F, &U, L); }
call(A) ::= TIMESTAMPDIFF(F) LP IDENT(U) COMMA exprs(L) RP. { A = parse_unit_call(p, &F, &U, L); }
call(A) ::= POSITION(F) LP value(X) IN value(S) RP. {
    A = parse_call(p, &F, false, parse_list(p, parse_list(p, NULL, X), S));
}
call(A) ::= SUBSTRING(F) LP exprs(L) RP. { A = parse_call(p, &F, false, L); }
call(A) ::= SUBSTRING(F) LP expr(S) FROM expr(I) for(N) RP. {
    A = parse_call(p, &F, false, parse_list_if(p, parse_list(p, parse_list(p, NULL, S), I), N));
}
call(A) ::= OVERLAY(F) LP expr(S) PLACING expr(R) FROM expr(I) for(N) RP. {
    struct sql_list *args = parse_list(p, parse_list(p, parse_list(p, NULL, S), R), I);

    A = parse_call(p, &F, false, parse_list_if(p, args, N));
}
%type for {struct ast_expr *}
for(A) ::= . { A = NULL; }
for(A) ::= FOR expr(E). { A = E; }
call(A) ::= TRIM(F) LP expr(S) RP. { A = parse_trim(p, &F, NULL, NULL, S); }
call(A) ::= TRIM(F) LP expr(C) FROM expr(S) RP. { A = parse_trim(p, &F, NULL, C, S); }
call(A) ::= TRIM(F) LP trim_side(D) expr(C) FROM expr(S) RP. { A = parse_trim(p, &F, &D, C, S); }
call(A) ::= TRIM(F) LP trim_side(D) FROM expr(S) RP. { A = parse_trim(p, &F, &D, NULL, S); }
%type trim_side {struct sql_token}
trim_side(A) ::= BOTH(T). { A = T; }
trim_side(A) ::= LEADING(T). { A = T; }
trim_side(A) ::= TRAILING(T). { A = T; }

%code {
#define EMPTY_RULES_MAX 64 /* by so many places the stack may grow before a token is shifted */

/* Which tokens could have followed: replays the automaton over a copy of the stack, so that default
 * reductions hide nothing. Fallbacks do not count: a keyword is named only where it is meant. */
static bool accepts(const YYACTIONTYPE *states, size_t depth, YYCODETYPE token, YYACTIONTYPE *work)
{
    size_t start_depth = depth;

    memcpy(work, states, depth * sizeof *work);
    for (;;) {
        YYACTIONTYPE action = work[depth - 1];

        if (action <= YY_MAX_SHIFT) {
            int i = yy_shift_ofst[action] + token;

            action = yy_lookahead[i] == token ? yy_action[i] : yy_default[action];
        }
        if (action == YY_ERROR_ACTION)
            return false;
        if (action == YY_ACCEPT_ACTION || action < YY_MIN_REDUCE)
            return action != YY_NO_ACTION;
        depth -= (size_t)-yyRuleInfoNRhs[action - YY_MIN_REDUCE];
        work[depth] = yy_find_reduce_action(work[depth - 1], yyRuleInfoLhs[action - YY_MIN_REDUCE]);
        if (work[depth] > YY_MAX_SHIFT && work[depth] <= YY_MAX_SHIFTREDUCE)
            work[depth] = (YYACTIONTYPE)(work[depth] + YY_MIN_REDUCE - YY_MIN_SHIFTREDUCE);
        depth++;
        ASSERT(depth < start_depth + EMPTY_RULES_MAX);
    }
}

size_t grammar_token_count(void) { return YYNTOKEN; }

void grammar_expected(const void *parser, bool *out)
{
    const yyParser *yy = parser;
    size_t depth = (size_t)(yy->yytos - yy->yystack) + 1;
    YYACTIONTYPE *states = mem_alloc(2 * (depth + EMPTY_RULES_MAX) * sizeof *states);

    for (size_t i = 0; i < depth; i++)
        states[i] = yy->yystack[i].stateno;
    out[0] = false;
    for (int token = 1; token < (int)YYNTOKEN; token++)
        out[token] = accepts(states, depth, (YYCODETYPE)token, states + depth + EMPTY_RULES_MAX);
    mem_free(states);
}
}
