/* text_width.h - terminal columns that a UTF-8 text takes: 2 for East Asian wide characters and
 * most emoji, 0 for combining marks and joiners, 1 else. Pure; any thread. */
#ifndef VARVE_JOB_SQL_TEXT_WIDTH_H
#define VARVE_JOB_SQL_TEXT_WIDTH_H

#include "base/bytes.h"

/* Decodes the code point at `at` (< len) and returns its byte length; a byte that is not valid
 * UTF-8 gives U+FFFD and 1. */
size_t utf8_next(struct bytes text, size_t at, uint32_t *code_point);
/* Offset of the first byte that is not valid UTF-8; text.len when all is. */
size_t utf8_invalid_at(struct bytes text);
uint32_t code_point_width(uint32_t code_point);
size_t text_width(struct bytes text);

#endif
