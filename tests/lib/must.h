/* must.h - what is asserted of every row: ck_assert writes to a pipe each time, which is too slow
 * for that. */
#ifndef VARVE_TESTS_LIB_MUST_H
#define VARVE_TESTS_LIB_MUST_H

#include "tests/lib/check_ext.h"

#define MUST(cond, ...)                                                                            \
    do {                                                                                           \
        if (!(cond))                                                                               \
            ck_abort_msg(__VA_ARGS__);                                                             \
    } while (0)

#endif
