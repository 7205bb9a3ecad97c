/* csv_priv.h - what the two halves of the CSV format share. */
#ifndef VARVE_JOB_FORMAT_CSV_PRIV_H
#define VARVE_JOB_FORMAT_CSV_PRIV_H

#include "job/format/format.h"

struct encoder *csv_encoder_new(const struct schema *schema, const struct format_options *options,
                                const bool *skip);

#endif
