/* lexer.h - SQL text -> tokens. Made by re2c from lexer.re.
 *
 * Re-entrant; the text is borrowed and must be valid UTF-8 without byte 0, ended by a NUL (parser.c
 * sees to both). Token texts lie in the arena: names without backticks, strings without quotes and
 * with '' made one. Comments (-- and slash-star) are skipped; a hint (slash-star-plus) gives
 * HINT_BEGIN .. HINT_END.
 */
#ifndef VARVE_JOB_SQL_LEXER_H
#define VARVE_JOB_SQL_LEXER_H

#include "job/sql/ast.h"

struct sql_token {
    int kind; /* TK_* of grammar.h; 0 at the end */
    struct sql_pos pos;
    uint32_t end; /* offset behind the token */
    const char *text;
    uint32_t len;
    bool quoted; /* a name in backticks */
};
struct lexer {
    struct arena *arena;
    const char *text, *cursor;
    uint32_t line, column; /* of `mark` */
    const char *mark;      /* up to where line and column are counted */
    bool in_hint;
};
void lexer_init(struct lexer *lx, struct arena *arena, const char *text);
/* RC_INVALID with the position in *out and a message without it. */
MUST_USE enum rc lexer_next(struct lexer *lx, struct sql_token *out, struct err *err);
/* The same for what stands behind SET and RESET, where keys and values need no quotes: TK_SETTING,
 * TK_STRING, TK_EQ, TK_SEMI. */
MUST_USE enum rc lexer_next_setting(struct lexer *lx, struct sql_token *out, struct err *err);
/* Token kind of a keyword in any case; TK_IDENT when it is none. */
int lexer_keyword(const char *word, size_t len);
/* The keyword of a token kind, upper case; NULL when the kind is no keyword. */
const char *lexer_keyword_of(int kind);

#endif
