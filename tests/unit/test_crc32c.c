/* links: base */
#include "base/crc32c.h"

#include "tests/lib/check_ext.h"

/* RFC 3720, B.4; and the usual check value. */
START_TEST(known_values_come_out)
{
    uint8_t bytes[32] = {0};

    ck_assert_uint_eq(crc32c(0, bytes_of_str("123456789")), 0xE3069283u);
    ck_assert_uint_eq(crc32c(0, bytes_of(bytes, 32)), 0x8A9136AAu);
    memset(bytes, 0xFF, sizeof bytes);
    ck_assert_uint_eq(crc32c(0, bytes_of(bytes, 32)), 0x62A8AB43u);
    for (uint8_t i = 0; i < 32; i++)
        bytes[i] = i;
    ck_assert_uint_eq(crc32c(0, bytes_of(bytes, 32)), 0x46DD794Eu);
}
END_TEST

START_TEST(parts_go_on_from_each_other)
{
    uint8_t bytes[100];

    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (uint8_t)(i * 37);
    for (size_t cut = 0; cut <= sizeof bytes; cut++)
        ck_assert_uint_eq(crc32c(crc32c(0, bytes_of(bytes, cut)),
                                 bytes_of(bytes + cut, sizeof bytes - cut)),
                          crc32c(0, bytes_of(bytes, sizeof bytes)));
}
END_TEST

TEST_MAIN("crc32c", tcase_add_test(tc, known_values_come_out);
          tcase_add_test(tc, parts_go_on_from_each_other);)
