/* column_print.c - values of columns as text (see batch.h). Text that the print sink, query results
 * and messages share. */
#include "job/datetime.h"
#include "job/decimal.h"
#include "job/number.h"

static void print_binary(struct bytes b, struct buf *out)
{
    buf_append_u8(out, '[');
    for (size_t i = 0; i < b.len; i++) {
        if (i > 0)
            buf_append(out, ", ", 2);
        number_print_int((int8_t)b.data[i], out); /* as Java shows its bytes */
    }
    buf_append_u8(out, ']');
}

void column_print(const struct column *c, uint32_t row, struct buf *out)
{
    struct bytes b;

    if (c->type.kind == TYPE_NULL || !column_present(c, row)) {
        buf_append_str(out, "null");
        return;
    }
    switch (c->type.kind) {
    case TYPE_NULL:
        break;
    case TYPE_BOOLEAN:
        buf_append_str(out, bit_get(c->values, row) ? "true" : "false");
        break;
    case TYPE_TINYINT:
    case TYPE_SMALLINT:
    case TYPE_INT:
    case TYPE_BIGINT:
        number_print_int(column_int(c, row), out);
        break;
    case TYPE_FLOAT:
        number_print_float(((const float *)c->values)[row], out);
        break;
    case TYPE_DOUBLE:
        number_print_double(((const double *)c->values)[row], out);
        break;
    case TYPE_DECIMAL:
        decimal_print(((const int128 *)c->values)[row], c->type.scale, out);
        break;
    case TYPE_CHAR:
    case TYPE_VARCHAR:
        b = column_bytes(c, row);
        buf_append(out, b.data, b.len);
        break;
    case TYPE_BINARY:
    case TYPE_VARBINARY:
        print_binary(column_bytes(c, row), out);
        break;
    case TYPE_DATE:
        date_print(column_int(c, row), out);
        break;
    case TYPE_TIME:
        time_print((int32_t)column_int(c, row), c->type.precision, out);
        break;
    case TYPE_TIMESTAMP:
        timestamp_print(column_int(c, row), c->type.precision, out);
        break;
    case TYPE_TIMESTAMP_LTZ: /* an instant: shown in UTC, and saying so */
        timestamp_print(column_int(c, row), c->type.precision, out);
        buf_append_u8(out, 'Z');
        break;
    case TYPE_INTERVAL_DAY:
        interval_day_print(column_int(c, row), out);
        break;
    case TYPE_INTERVAL_YEAR:
        interval_year_print((int32_t)column_int(c, row), out);
        break;
    }
}
