/* decimal.h - DECIMAL(p, s): an unscaled 128-bit integer with at most 38 digits; its scale belongs
 * to the type.
 *
 * Every operation computes exactly and rounds once, HALF_UP (away from zero at one half), to the
 * scale of the result; where the result needs more digits than asked for, it says so and never
 * wraps. Flink 2.3 gives null there: varve fails, see docs/REFERENCE.md. Thread: any; no
 * allocation.
 */
#ifndef VARVE_JOB_DECIMAL_H
#define VARVE_JOB_DECIMAL_H

#include "job/batch.h"

#define DECIMAL_PRECISION_MAX 38

int128 decimal_pow10(uint32_t exponent); /* 0..38 */
/* |v| < 10^precision */
bool decimal_fits(int128 v, uint32_t precision);

/* [+-]digits[.digits][e[+-]digits] with blanks around it, rounded to `scale`. RC_INVALID "'x' is
 * not a number" or "'123.4' does not fit DECIMAL(3, 1)"; err may be NULL. */
MUST_USE enum rc decimal_parse(struct bytes text, uint32_t precision, uint32_t scale, int128 *out,
                               struct err *err);
void decimal_print(int128 v, uint32_t scale, struct buf *out); /* plain: "-0.50" */

/* The following return false when the result does not fit 10^precision (or for division by zero:
 * ask first). */
MUST_USE bool decimal_rescale(int128 v, uint32_t from_scale, uint32_t precision, uint32_t scale,
                              int128 *out);
/* a (scale sa) op b (scale sb) to DECIMAL(precision, scale). */
MUST_USE bool decimal_add(int128 a, uint32_t sa, int128 b, uint32_t sb, uint32_t precision,
                          uint32_t scale, int128 *out);
MUST_USE bool decimal_sub(int128 a, uint32_t sa, int128 b, uint32_t sb, uint32_t precision,
                          uint32_t scale, int128 *out);
MUST_USE bool decimal_mul(int128 a, uint32_t sa, int128 b, uint32_t sb, uint32_t precision,
                          uint32_t scale, int128 *out);
MUST_USE bool decimal_div(int128 a, uint32_t sa, int128 b, uint32_t sb, uint32_t precision,
                          uint32_t scale, int128 *out);
/* Remainder with the sign of a. */
MUST_USE bool decimal_mod(int128 a, uint32_t sa, int128 b, uint32_t sb, uint32_t precision,
                          uint32_t scale, int128 *out);
int decimal_cmp(int128 a, uint32_t sa, int128 b, uint32_t sb); /* <0, 0, >0: exact, any scales */

/* To an integer value, scale kept at 0: towards minus or plus infinity, or towards zero. */
int128 decimal_floor(int128 v, uint32_t scale);
int128 decimal_ceil(int128 v, uint32_t scale);
int128 decimal_integer(int128 v, uint32_t scale);

double decimal_to_double(int128 v, uint32_t scale); /* nearest */
/* The number as its shortest text has it (as Java's BigDecimal.valueOf), rounded. False: NaN,
 * infinite, or does not fit. */
MUST_USE bool decimal_from_double(double v, uint32_t precision, uint32_t scale, int128 *out);

#endif
