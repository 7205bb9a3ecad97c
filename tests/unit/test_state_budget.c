#include "job/runtime/state_budget.h"
#include "tests/lib/check_ext.h"

/* A source and a keyed operator of that parallelism, as the planner makes them. */
static struct operator_spec ops[] = {{.name = "Source", .is_source = true, .stateful = true},
                                     {.name = "GroupAggregate", .stateful = true, .keyed = true, .state_count = 1}};

static enum rc divide(uint32_t parallelism, const char *key, const char *value, uint64_t open_files,
                      struct state_budget *out, struct err *err)
{
    struct graph_vertex vertices[] = {{.name = "a", .parallelism = 1, .operator_count = 1, .operators = ops},
                                      {.name = "b", .parallelism = parallelism, .operator_count = 1, .operators = ops + 1}};
    struct graph g = {.job_name = "x", .vertex_count = 2, .vertices = vertices};
    struct config *c = config_new();
    enum rc rc = config_set(c, CONFIG_SET, "state.backend.type", "rocksdb", err);

    if (rc == RC_OK)
        rc = config_set(c, CONFIG_SET, "taskmanager.numberOfTaskSlots", "2", err);
    if (rc == RC_OK && key != NULL)
        rc = config_set(c, CONFIG_SET, key, value, err);
    if (rc == RC_OK)
        rc = state_budget_make(c, &g, open_files, out, err);
    config_free(c);
    return rc;
}

static const struct {
    const char *what, *key, *value;
    uint32_t parallelism;
    uint64_t open_files, total_mb;
    int files;
    const char *error; /* NULL: fits */
} cases[] = {
    {"defaults", NULL, NULL, 2, UINT64_MAX, 256, 1 << 20, NULL},
    {"all slots together", "state.backend.rocksdb.memory.fixed-per-slot", "100mb", 3, UINT64_MAX, 300, 1 << 20, NULL},
    {"too little memory", "taskmanager.memory.managed.size", "16mb", 5, UINT64_MAX, 0, 0,
     "taskmanager.memory.managed.size: 5 subtasks with keyed state need at least 18 mb together, it gives 16 mb"},
    {"just enough a slot", "state.backend.rocksdb.memory.fixed-per-slot", "16mb", 1, UINT64_MAX, 16, 1 << 20, NULL},
    {"1024 files", NULL, NULL, 2, 1024, 256, (1024 - 64 - 12) / 2, NULL},
    {"128 files are enough for two", NULL, NULL, 2, 128, 256, 26, NULL},
    {"and not for three", NULL, NULL, 3, 128, 0, 0,
     "may have 128 open files (ulimit -n); 4 tasks, 3 of them with keyed state in RocksDB, need at least 152"},
    {"the option, when it is less", "state.backend.rocksdb.files.open", "40", 2, 1024, 256, 40, NULL},
    {"and not when it is more", "state.backend.rocksdb.files.open", "4000", 2, 1024, 256, 474, NULL},
    {"no state in RocksDB, no limit", "state.backend.type", "hashmap", 100, 10, 0, 0, NULL},
};

/* A start that cannot go well is refused with the number that is needed, before anything is made. */
START_TEST(memory_and_files_are_divided_or_refused)
{
    struct state_budget b;
    struct err err = {0};
    enum rc rc = divide(cases[_i].parallelism, cases[_i].key, cases[_i].value, cases[_i].open_files, &b, &err);

    if (cases[_i].error != NULL) {
        ck_assert_rc_msg(rc, RC_INVALID, cases[_i].error);
        return;
    }
    ck_assert_msg(rc == RC_OK, "%s: %s", cases[_i].what, err.msg);
    ck_assert_uint_eq(b.memory.total_bytes >> 20, cases[_i].total_mb);
    ck_assert_int_eq(b.files, cases[_i].files);
    ck_assert_int_eq(b.limited, cases[_i].total_mb != 0);
    if (b.limited)
        ck_assert_uint_eq(b.memory.subtasks, cases[_i].parallelism);
}
END_TEST

TEST_MAIN("state_budget", tcase_add_loop_test(tc, memory_and_files_are_divided_or_refused, 0, ARRAY_LEN(cases)))
