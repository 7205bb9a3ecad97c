/* text_width.c - see text_width.h. Ranges after Unicode 15's East_Asian_Width (W, F) and combining
 * marks, in blocks. */
#include "job/sql/text_width.h"

struct range {
    uint32_t first, last;
};
static const struct range zero_width[] = {
    {0x0300, 0x036F}, {0x0483, 0x0489}, {0x0591, 0x05BD}, {0x0610, 0x061A}, {0x064B, 0x065F},
    {0x06D6, 0x06DC}, {0x0900, 0x0902}, {0x093C, 0x093C}, {0x0E34, 0x0E3A}, {0x0E47, 0x0E4E},
    {0x1AB0, 0x1AFF}, {0x1DC0, 0x1DFF}, {0x200B, 0x200F}, {0x202A, 0x202E}, {0x2060, 0x2064},
    {0x20D0, 0x20FF}, {0xFE00, 0xFE0F}, {0xFE20, 0xFE2F}, {0xFEFF, 0xFEFF}, {0xE0100, 0xE01EF},
};
static const struct range double_width[] = {
    {0x1100, 0x115F},   {0x231A, 0x231B},   {0x2329, 0x232A},   {0x23E9, 0x23EC},
    {0x25FD, 0x25FE},   {0x2614, 0x2615},   {0x2648, 0x2653},   {0x26AA, 0x26AB},
    {0x26BD, 0x26BE},   {0x26C4, 0x26C5},   {0x2705, 0x2705},   {0x270A, 0x270B},
    {0x2728, 0x2728},   {0x2753, 0x2755},   {0x2795, 0x2797},   {0x2B1B, 0x2B1C},
    {0x2E80, 0x303E},   {0x3041, 0x33FF},   {0x3400, 0x4DBF},   {0x4E00, 0x9FFF},
    {0xA000, 0xA4CF},   {0xA960, 0xA97C},   {0xAC00, 0xD7A3},   {0xF900, 0xFAFF},
    {0xFE30, 0xFE6F},   {0xFF00, 0xFF60},   {0xFFE0, 0xFFE6},   {0x16FE0, 0x18AFF},
    {0x1B000, 0x1B2FF}, {0x1F004, 0x1F004}, {0x1F0CF, 0x1F0CF}, {0x1F18E, 0x1F18E},
    {0x1F191, 0x1F19A}, {0x1F200, 0x1F320}, {0x1F32D, 0x1F64F}, {0x1F680, 0x1F6FF},
    {0x1F7E0, 0x1F7EB}, {0x1F900, 0x1F9FF}, {0x1FA70, 0x1FAFF}, {0x20000, 0x3FFFD},
};

static bool within(const struct range *ranges, size_t count, uint32_t code_point)
{
    size_t low = 0, high = count;

    while (low < high) {
        size_t mid = (low + high) / 2;

        if (code_point > ranges[mid].last)
            low = mid + 1;
        else
            high = mid;
    }
    return low < count && code_point >= ranges[low].first;
}

size_t utf8_next(struct bytes text, size_t at, uint32_t *code_point)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    const uint8_t *p = text.data + at;
    size_t left = text.len - at, len;
    uint32_t c = p[0];

    *code_point = c;
    if (c < 0x80)
        return 1;
    *code_point = 0xFFFD;
    len = c >= 0xF0 ? 4 : c >= 0xE0 ? 3 : 2;
    if (c < 0xC2 || c > 0xF4 || left < len)
        return 1;
    c &= 0x7Fu >> len;
    for (size_t i = 1; i < len; i++) {
        if ((p[i] & 0xC0) != 0x80)
            return 1;
        c = c << 6 | (p[i] & 0x3Fu);
    }
    if (c < least[len] || c > 0x10FFFF || (c >= 0xD800 && c <= 0xDFFF))
        return 1;
    *code_point = c;
    return len;
}

size_t utf8_invalid_at(struct bytes text)
{
    for (size_t at = 0; at < text.len;) {
        uint32_t c;
        size_t len = utf8_next(text, at, &c);

        if (len == 1 && text.data[at] >= 0x80)
            return at;
        at += len;
    }
    return text.len;
}

uint32_t code_point_width(uint32_t code_point)
{
    if (code_point < 0x300)
        return 1;
    if (within(zero_width, ARRAY_LEN(zero_width), code_point))
        return 0;
    return within(double_width, ARRAY_LEN(double_width), code_point) ? 2 : 1;
}

size_t text_width(struct bytes text)
{
    size_t width = 0;

    for (size_t at = 0; at < text.len;) {
        uint32_t c;

        at += utf8_next(text, at, &c);
        width += code_point_width(c);
    }
    return width;
}
