/* s3_date.h - times as S3 spells them, in XML answers and in signatures, and wall-clock
 * milliseconds. Pure. Thread: any. */
#ifndef VARVE_BASE_S3_DATE_H
#define VARVE_BASE_S3_DATE_H

#include "base/bytes.h"

/* "2009-10-12T17:50:30.000Z", of XML answers; the fraction may be absent. false: it is no such
 * time. */
MUST_USE bool s3_date_parse(struct bytes text, int64_t *wall_ms);

#define S3_DATE_BASIC_LEN 16
/* "20130524T000000Z"; years 1970 to 9999. */
void s3_date_basic(int64_t wall_ms, char out[S3_DATE_BASIC_LEN + 1]);

#endif
