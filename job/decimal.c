/* decimal.c - see decimal.h
 *
 * Products and scaled numerators have up to 2 * 38 + 77 digits; they are held as sign and magnitude
 * in a few 64-bit limbs. What fits 128 bits, nearly always, takes the short way. */
#include "job/decimal.h"

#include "job/number.h"

#include <math.h>
#include <stdlib.h>

typedef unsigned __int128 uint128;

#define LIMBS 8 /* 512 bits: 10^154 */
struct wide {
    uint64_t limb[LIMBS]; /* least significant first */
};

static const uint64_t pow10_64[20] = {1ull,
                                      10ull,
                                      100ull,
                                      1000ull,
                                      10000ull,
                                      100000ull,
                                      1000000ull,
                                      10000000ull,
                                      100000000ull,
                                      1000000000ull,
                                      10000000000ull,
                                      100000000000ull,
                                      1000000000000ull,
                                      10000000000000ull,
                                      100000000000000ull,
                                      1000000000000000ull,
                                      10000000000000000ull,
                                      100000000000000000ull,
                                      1000000000000000000ull,
                                      10000000000000000000ull};

int128 decimal_pow10(uint32_t exponent)
{
    ASSERT(exponent <= DECIMAL_PRECISION_MAX);
    if (exponent < 20)
        return (int128)pow10_64[exponent];
    return (int128)pow10_64[19] * (int128)pow10_64[exponent - 19];
}

static uint128 magnitude(int128 v)
{
    return v < 0 ? 0 - (uint128)v : (uint128)v;
}

bool decimal_fits(int128 v, uint32_t precision)
{
    return magnitude(v) < (uint128)decimal_pow10(precision);
}

/* ---- wide numbers ---------------------------------------------------------------------------- */

static bool wide_mul64(struct wide *w, uint64_t m)
{
    uint64_t carry = 0;

    for (int i = 0; i < LIMBS; i++) {
        uint128 p = (uint128)w->limb[i] * m + carry;

        w->limb[i] = (uint64_t)p;
        carry = (uint64_t)(p >> 64);
    }
    return carry == 0;
}

static bool wide_mul_pow10(struct wide *w, uint32_t exponent)
{
    for (; exponent > 19; exponent -= 19) {
        if (!wide_mul64(w, pow10_64[19]))
            return false;
    }
    return wide_mul64(w, pow10_64[exponent]);
}

static struct wide wide_of(uint128 v)
{
    return (struct wide){{(uint64_t)v, (uint64_t)(v >> 64)}};
}

static struct wide wide_product(uint128 a, uint128 b)
{
    struct wide low = wide_of(a), high = wide_of(a), r;
    uint64_t carry = 0;

    wide_mul64(&low, (uint64_t)b);
    wide_mul64(&high, (uint64_t)(b >> 64));
    r.limb[0] = low.limb[0];
    for (int i = 1; i < LIMBS; i++) {
        uint128 s = (uint128)low.limb[i] + high.limb[i - 1] + carry;

        r.limb[i] = (uint64_t)s;
        carry = (uint64_t)(s >> 64);
    }
    return r;
}

static bool wide_fits128(const struct wide *w)
{
    for (int i = 2; i < LIMBS; i++) {
        if (w->limb[i] != 0)
            return false;
    }
    return true;
}

/* w / d and remainder, d < 2^127; false when the quotient needs more than 127 bits. */
static bool wide_div(const struct wide *w, uint128 d, uint128 *quotient, uint128 *rest)
{
    uint128 q = 0, r = 0;

    if (wide_fits128(w)) {
        uint128 n = ((uint128)w->limb[1] << 64) | w->limb[0];

        *quotient = n / d;
        *rest = n % d;
        return *quotient >> 127 == 0;
    }
    for (int i = LIMBS * 64 - 1; i >= 0; i--) {
        if (q >> 126 != 0)
            return false;
        r = (r << 1) | ((w->limb[i / 64] >> (i % 64)) & 1);
        q <<= 1;
        if (r >= d) {
            r -= d;
            q |= 1;
        }
    }
    *quotient = q;
    *rest = r;
    return true;
}

/* w / d rounded half up, with sign, when it has at most `precision` digits. */
static bool round_quotient(const struct wide *w, uint128 d, bool negative, uint32_t precision,
                           int128 *out)
{
    uint128 q, r;

    if (!wide_div(w, d, &q, &r))
        return false;
    if (r >= d - r)
        q++;
    if (q >= (uint128)decimal_pow10(precision))
        return false;
    *out = negative ? -(int128)q : (int128)q;
    return true;
}

/* w / 10^drop rounded half up; drop may pass 38. */
static bool round_pow10(struct wide *w, uint32_t drop, bool negative, uint32_t precision,
                        int128 *out)
{
    /* Cutting the surplus digits first loses nothing: they could only decide a tie, and a tie goes
     * up anyway. */
    while (drop > DECIMAL_PRECISION_MAX) {
        uint64_t rest = 0;

        for (int i = LIMBS - 1; i >= 0; i--) {
            uint128 part = ((uint128)rest << 64) | w->limb[i];

            w->limb[i] = (uint64_t)(part / 10);
            rest = (uint64_t)(part % 10);
        }
        drop--;
    }
    return round_quotient(w, (uint128)decimal_pow10(drop), negative, precision, out);
}

/* ---- arithmetic ------------------------------------------------------------------------------ */

bool decimal_rescale(int128 v, uint32_t from_scale, uint32_t precision, uint32_t scale, int128 *out)
{
    uint128 m = magnitude(v);

    if (scale >= from_scale) {
        uint32_t up = scale - from_scale;

        /* 10^precision / 10^up is the bound before scaling. */
        if (up > precision ? m != 0 : m >= (uint128)decimal_pow10(precision - up))
            return false;
        *out = m == 0 ? 0 : v * decimal_pow10(up);
        return true;
    } else {
        uint128 d = (uint128)decimal_pow10(from_scale - scale), q = m / d, r = m % d;

        if (r >= d - r)
            q++;
        if (q >= (uint128)decimal_pow10(precision))
            return false;
        *out = v < 0 ? -(int128)q : (int128)q;
        return true;
    }
}

/* Sum of a * 10^up_a and b * 10^up_b by wide numbers, then to the result's scale. */
static bool add_wide(int128 a, uint32_t sa, int128 b, uint32_t sb, uint32_t precision,
                     uint32_t scale, int128 *out)
{
    uint32_t s = sa > sb ? sa : sb;
    struct wide x = wide_of(magnitude(a)), y = wide_of(magnitude(b)), sum;
    bool negative = a < 0, differ = (a < 0) != (b < 0), y_larger = false;
    uint64_t carry = 0;

    if (!wide_mul_pow10(&x, s - sa) || !wide_mul_pow10(&y, s - sb))
        return false;
    for (int i = LIMBS - 1; differ && i >= 0; i--) {
        if (x.limb[i] != y.limb[i]) {
            y_larger = y.limb[i] > x.limb[i];
            break;
        }
    }
    if (y_larger) {
        struct wide t = x;

        x = y;
        y = t;
        negative = b < 0;
    }
    for (int i = 0; i < LIMBS; i++) {
        if (differ) {
            uint128 d = (uint128)x.limb[i] - y.limb[i] - carry;

            sum.limb[i] = (uint64_t)d;
            carry = (uint64_t)(d >> 64) & 1;
        } else {
            uint128 d = (uint128)x.limb[i] + y.limb[i] + carry;

            sum.limb[i] = (uint64_t)d;
            carry = (uint64_t)(d >> 64);
        }
    }
    if (scale >= s)
        return wide_mul_pow10(&sum, scale - s) && round_quotient(&sum, 1, negative, precision, out);
    return round_pow10(&sum, s - scale, negative, precision, out);
}

bool decimal_add(int128 a, uint32_t sa, int128 b, uint32_t sb, uint32_t precision, uint32_t scale,
                 int128 *out)
{
    if (sa == sb && sa == scale) { /* both below 10^38: the sum fits 128 bits */
        *out = a + b;
        return decimal_fits(*out, precision);
    }
    return add_wide(a, sa, b, sb, precision, scale, out);
}

bool decimal_sub(int128 a, uint32_t sa, int128 b, uint32_t sb, uint32_t precision, uint32_t scale,
                 int128 *out)
{
    return decimal_add(a, sa, -b, sb, precision, scale, out);
}

bool decimal_mul(int128 a, uint32_t sa, int128 b, uint32_t sb, uint32_t precision, uint32_t scale,
                 int128 *out)
{
    bool negative = (a < 0) != (b < 0);
    struct wide p;
    int128 small;

    if (sa + sb == scale && a == (int64_t)a && b == (int64_t)b) { /* nearly always */
        *out = a * b;
        return decimal_fits(*out, precision);
    }
    if (sa + sb == scale && !__builtin_mul_overflow(a, b, &small)) {
        *out = small;
        return decimal_fits(small, precision);
    }
    p = wide_product(magnitude(a), magnitude(b));
    if (scale >= sa + sb)
        return wide_mul_pow10(&p, scale - sa - sb) &&
               round_quotient(&p, 1, negative, precision, out);
    return round_pow10(&p, sa + sb - scale, negative, precision, out);
}

bool decimal_div(int128 a, uint32_t sa, int128 b, uint32_t sb, uint32_t precision, uint32_t scale,
                 int128 *out)
{
    bool negative = (a < 0) != (b < 0);
    struct wide n = wide_of(magnitude(a));

    if (b == 0)
        return false;
    /* a/10^sa / (b/10^sb) * 10^scale = a * 10^(scale + sb - sa) / b */
    if (scale + sb >= sa) {
        return wide_mul_pow10(&n, scale + sb - sa) &&
               round_quotient(&n, magnitude(b), negative, precision, out);
    } else {
        struct wide d = wide_of(magnitude(b));
        uint128 divisor;

        if (!wide_mul_pow10(&d, sa - scale - sb))
            return false;
        if (!wide_fits128(&d)) { /* far above |a| < 10^38 */
            *out = 0;
            return true;
        }
        divisor = ((uint128)d.limb[1] << 64) | d.limb[0];
        if (divisor >> 127 != 0) { /* the quotient is below one */
            *out = 2 * magnitude(a) < divisor ? 0 : negative ? -1 : 1;
            return true;
        }
        return round_quotient(&n, divisor, negative, precision, out);
    }
}

bool decimal_mod(int128 a, uint32_t sa, int128 b, uint32_t sb, uint32_t precision, uint32_t scale,
                 int128 *out)
{
    uint32_t s = sa > sb ? sa : sb;
    struct wide x = wide_of(magnitude(a)), y = wide_of(magnitude(b));
    uint128 r, d;

    if (b == 0 || !wide_mul_pow10(&x, s - sa) || !wide_mul_pow10(&y, s - sb))
        return false;
    if (!wide_fits128(&y) || y.limb[1] >> 63 != 0) {
        /* |b| scaled is past 2^127, so a was not scaled (s == sb > sa would scale a instead). */
        return decimal_rescale(a, sa, precision, scale, out);
    }
    d = ((uint128)y.limb[1] << 64) | y.limb[0];
    /* Only the rest matters; the quotient may be wide, so take the rest limb by limb. */
    if (wide_fits128(&x)) {
        r = (((uint128)x.limb[1] << 64) | x.limb[0]) % d;
    } else {
        r = 0;
        for (int i = LIMBS * 64 - 1; i >= 0; i--) {
            r = (r << 1) | ((x.limb[i / 64] >> (i % 64)) & 1);
            if (r >= d)
                r -= d;
        }
    }
    return decimal_rescale(a < 0 ? -(int128)r : (int128)r, s, precision, scale, out);
}

int decimal_cmp(int128 a, uint32_t sa, int128 b, uint32_t sb)
{
    struct wide x, y;
    uint32_t s = sa > sb ? sa : sb;
    int order = 0;

    if (sa == sb || (a < 0) != (b < 0))
        return a < b ? -1 : a > b;
    x = wide_of(magnitude(a));
    y = wide_of(magnitude(b));
    ASSERT(wide_mul_pow10(&x, s - sa) && wide_mul_pow10(&y, s - sb)); /* 76 digits at most */
    for (int i = LIMBS - 1; i >= 0 && order == 0; i--)
        order = x.limb[i] < y.limb[i] ? -1 : x.limb[i] > y.limb[i];
    return a < 0 ? -order : order;
}

int128 decimal_integer(int128 v, uint32_t scale)
{
    return v / decimal_pow10(scale);
}

int128 decimal_floor(int128 v, uint32_t scale)
{
    int128 d = decimal_pow10(scale);

    return v / d - (v % d < 0);
}

int128 decimal_ceil(int128 v, uint32_t scale)
{
    int128 d = decimal_pow10(scale);

    return v / d + (v % d > 0);
}

/* ---- text ------------------------------------------------------------------------------------ */

struct decimal_text {
    bool negative;
    struct bytes whole, fraction; /* digits before and after the point */
    int64_t exponent; /* cut to +-100000, which no text of fewer digits can make up for */
};

#define EXPONENT_MAX 100000

static size_t digits_at(struct bytes t, size_t at)
{
    size_t n = 0;

    while (at + n < t.len && t.data[at + n] >= '0' && t.data[at + n] <= '9')
        n++;
    return n;
}

static bool split_text(struct bytes t, struct decimal_text *d)
{
    size_t i = 0;

    *d = (struct decimal_text){0};
    while (t.len > 0 && t.data[t.len - 1] <= 0x20)
        t.len--;
    while (i < t.len && t.data[i] <= 0x20)
        i++;
    if (i < t.len && (t.data[i] == '-' || t.data[i] == '+'))
        d->negative = t.data[i++] == '-';
    d->whole = bytes_of(t.data + i, digits_at(t, i));
    i += d->whole.len;
    if (i < t.len && t.data[i] == '.') {
        i++;
        d->fraction = bytes_of(t.data + i, digits_at(t, i));
        i += d->fraction.len;
    }
    if (d->whole.len + d->fraction.len == 0)
        return false;
    if (i < t.len && (t.data[i] | 0x20) == 'e') {
        bool minus = false;
        size_t n;

        i++;
        if (i < t.len && (t.data[i] == '-' || t.data[i] == '+'))
            minus = t.data[i++] == '-';
        n = digits_at(t, i);
        if (n == 0)
            return false;
        for (size_t k = 0; k < n; k++) {
            d->exponent = d->exponent * 10 + (t.data[i + k] - '0');
            if (d->exponent > EXPONENT_MAX)
                d->exponent = EXPONENT_MAX;
        }
        if (minus)
            d->exponent = -d->exponent;
        i += n;
    }
    return i == t.len;
}

/* k-th digit of the text, the point left out. */
static uint32_t digit_of(const struct decimal_text *d, size_t k)
{
    return k < d->whole.len ? d->whole.data[k] - '0' : d->fraction.data[k - d->whole.len] - '0';
}

enum rc decimal_parse(struct bytes text, uint32_t precision, uint32_t scale, int128 *out,
                      struct err *err)
{
    struct decimal_text d;
    char quoted[TEXT_QUOTE_MAX];
    uint128 v = 0, bound = (uint128)decimal_pow10(precision);
    size_t count;
    int64_t keep;

    if (!split_text(text, &d)) {
        if (err == NULL)
            return RC_INVALID;
        return err_set(err, RC_INVALID, "%s is not a number", text_quote(text, quoted));
    }
    count = d.whole.len + d.fraction.len;
    keep = (int64_t)d.whole.len + d.exponent + scale; /* so many digits make the unscaled number */
    for (int64_t i = 0; i < keep && v < bound; i++) {
        if (i >= (int64_t)count && v == 0)
            break;
        v = v * 10 + (i < (int64_t)count ? digit_of(&d, (size_t)i) : 0);
    }
    if (v < bound && keep >= 0 && keep < (int64_t)count && digit_of(&d, (size_t)keep) >= 5)
        v++;
    if (v >= bound) {
        if (err == NULL)
            return RC_INVALID;
        return err_set(err, RC_INVALID, "%s does not fit DECIMAL(%u, %u)", text_quote(text, quoted),
                       precision, scale);
    }
    *out = d.negative ? -(int128)v : (int128)v;
    return RC_OK;
}

/* The longest: sign, 38 digits, a zero before the point, the point. */
#define TEXT_MAX 48

/* Writes to the end of `text`; the index of the first byte. */
static size_t print_back(int128 v, uint32_t scale, char text[TEXT_MAX])
{
    size_t at = TEXT_MAX;
    uint128 m = magnitude(v);
    uint32_t written = 0;

    while (m != 0 || written <= scale) {
        if (written == scale && scale > 0)
            text[--at] = '.';
        text[--at] = (char)('0' + (uint32_t)(m % 10));
        m /= 10;
        written++;
    }
    if (v < 0)
        text[--at] = '-';
    return at;
}

void decimal_print(int128 v, uint32_t scale, struct buf *out)
{
    char text[TEXT_MAX];
    size_t at = print_back(v, scale, text);

    buf_append(out, text + at, TEXT_MAX - at);
}

/* ---- doubles --------------------------------------------------------------------------------- */

double decimal_to_double(int128 v, uint32_t scale)
{
    char text[TEXT_MAX];
    size_t at;
    double d;

    if (scale <= 22 && magnitude(v) < (uint128)1 << 53) /* both exact: one rounding */
        return (double)(int64_t)v / (double)decimal_pow10(scale);
    at = print_back(v, scale, text);
    return number_parse_double(bytes_of(text + at, TEXT_MAX - at), &d, NULL) == RC_OK ? d : NAN;
}

bool decimal_from_double(double v, uint32_t precision, uint32_t scale, int128 *out)
{
    uint8_t room[64]; /* a double's text has at most 24 bytes: it never grows out of this */
    struct buf text = {room, 0, sizeof room};

    if (!isfinite(v))
        return false;
    number_print_double(v, &text);
    return decimal_parse(buf_bytes(&text), precision, scale, out, NULL) == RC_OK;
}
