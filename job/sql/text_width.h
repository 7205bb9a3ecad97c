/* text_width.h - terminal columns that a UTF-8 text takes: 2 for East Asian wide characters and
 * most emoji, 0 for combining marks and joiners, 1 else. Pure; any thread. */
#ifndef VARVE_JOB_SQL_TEXT_WIDTH_H
#define VARVE_JOB_SQL_TEXT_WIDTH_H

#include "base/utf8.h"

uint32_t code_point_width(uint32_t code_point);
size_t text_width(struct bytes text);

#endif
