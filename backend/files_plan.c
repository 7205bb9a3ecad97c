#include "backend/files_plan.h"

#define FILES_LEAST 24u /* of a database: RocksDB itself wants 20, and some are open beside its tables */
#define FILES_MOST (1u << 20)

uint64_t files_plan_least(uint64_t reserve, uint32_t databases)
{
    return reserve + (uint64_t)databases * FILES_LEAST;
}

int files_plan_each(uint64_t most, uint64_t reserve, uint32_t databases, int wanted)
{
    uint64_t each = (most - reserve) / databases;

    if (each > FILES_MOST)
        each = FILES_MOST;
    return wanted >= 0 && (uint64_t)wanted < each ? wanted : (int)each;
}
