/* number.h - integers and floating point numbers as text: parsing within bounds, Java's spelling of
 * doubles.
 *
 * Parsers take exactly the text given, with blanks (bytes up to 0x20) around it allowed; they write
 * no message when err is NULL, so that a caller who turns bad text into null pays nothing for it. A
 * message quotes at most the first bytes of the text. The decimal point is always '.': the process
 * must leave LC_NUMERIC at "C". Thread: any.
 */
#ifndef VARVE_JOB_NUMBER_H
#define VARVE_JOB_NUMBER_H

#include "base/bytes.h"

/* [+-]digits, nothing else. RC_INVALID "'1x' is not a number" or "'300' does not fit: -128..127".
 */
MUST_USE enum rc number_parse_int(struct bytes text, int64_t min, int64_t max, int64_t *out,
                                  struct err *err);
/* [+-]digits[.digits][e[+-]digits], NaN, [+-]Infinity. Too large becomes Infinity, too small 0, as
 * Java has it. */
MUST_USE enum rc number_parse_double(struct bytes text, double *out, struct err *err);

/* Shortest text that reads back as the same number, in the shape of Java's Double.toString and
 * Float.toString: "1.0", "-0.0", "1.0E10", "4.9E-324", "NaN", "-Infinity". */
void number_print_double(double v, struct buf *out);
void number_print_float(float v, struct buf *out);
void number_print_int(int64_t v, struct buf *out);

/* At most 40 bytes of `text` in quotes, for messages; what is no printable ASCII or UTF-8 shows as
 * '?'. */
#define TEXT_QUOTE_MAX 64
const char *text_quote(struct bytes text, char out[TEXT_QUOTE_MAX]);

#endif
