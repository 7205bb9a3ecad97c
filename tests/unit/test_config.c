/* links: job */
/* Configuration: the table, layers, YAML, the rules between options. */
#include "job/config.h"
#include "tests/lib/check_ext.h"

/* ---- the table ------------------------------------------------------------------------------- */

/* Else a getter would abort on a default nobody ever set, or two options would share a name. */
START_TEST(every_row_of_the_table_is_sound)
{
    const struct option *o = option_at((enum option_id)_i);
    struct config *c = config_new();
    struct err err = {0};
    enum option_id id;

    ck_assert_uint_gt(strlen(o->doc), 0);
    ck_assert(option_find(o->key, &id));
    ck_assert_int_eq((int)id, _i);
    if (o->default_text != NULL) {
        ck_assert_ok(config_set(c, CONFIG_COMMAND_LINE, o->key, o->default_text, &err));
        switch (o->type) {
        case OPTION_BOOL:
            config_bool(c, id);
            break;
        case OPTION_INT:
            config_int(c, id);
            break;
        case OPTION_LONG:
            config_long(c, id);
            break;
        case OPTION_DOUBLE:
            config_double(c, id);
            break;
        case OPTION_STRING:
        case OPTION_SECRET:
            ck_assert_ptr_nonnull(config_string(c, id));
            break;
        case OPTION_DURATION:
            config_duration_ms(c, id);
            break;
        case OPTION_MEMORY:
            config_bytes(c, id);
            break;
        case OPTION_ENUM:
            config_enum(c, id);
            break;
        }
    }
    if (o->aliases[0] != '\0') {
        char *aliases = mem_strdup(o->aliases), *rest = aliases, *alias;

        while ((alias = strsep(&rest, "|")) != NULL) {
            ck_assert_msg(option_find(alias, &id) && (int)id == _i, "%s", alias);
        }
        mem_free(aliases);
    }
    config_free(c);
}
END_TEST

START_TEST(words_stand_in_the_order_of_the_enums)
{
    struct config *c = config_new();
    struct err err = {0};

    ck_assert_ok(config_set(c, CONFIG_SET,
                            "execution.checkpointing.externalized-checkpoint-retention",
                            "retain-on-cancellation", &err));
    ck_assert_int_eq(config_enum(c, OPT_CP_RETENTION), RETAIN_ON_CANCELLATION);
    ck_assert_ok(config_set(c, CONFIG_SET, "execution.checkpointing.mode", "at_least_once", &err));
    ck_assert_int_eq(config_enum(c, OPT_CP_MODE), MODE_AT_LEAST_ONCE);
    ck_assert_ok(config_set(c, CONFIG_SET, "state.backend", "RocksDB", &err));
    ck_assert_int_eq(config_enum(c, OPT_BACKEND_TYPE), BACKEND_TYPE_ROCKSDB);
    ck_assert_ok(config_set(c, CONFIG_SET, "execution.runtime-mode", "batch", &err));
    ck_assert_int_eq(config_enum(c, OPT_RUNTIME_MODE), RUNTIME_BATCH);
    ck_assert_ok(config_set(c, CONFIG_SET, "restart-strategy", "exponential-delay", &err));
    ck_assert_int_eq(config_enum(c, OPT_RESTART_STRATEGY), RESTART_EXPONENTIAL_DELAY);
    ck_assert_ok(config_set(c, CONFIG_SET, "sql-client.execution.result-mode", "tableau", &err));
    ck_assert_int_eq(config_enum(c, OPT_SQL_RESULT_MODE), RESULT_TABLEAU);
    ck_assert_ok(config_set(c, CONFIG_SET, "execution.checkpointing.storage", "filesystem", &err));
    ck_assert_int_eq(config_enum(c, OPT_CP_STORAGE), STORAGE_FILESYSTEM);
    config_free(c);
}
END_TEST

/* ---- what is refused ------------------------------------------------------------------------- */

static const struct {
    const char *key, *value;
    enum rc rc;
    const char *part; /* of the message */
} refused[] = {
    {"execution.checkpointing.intervall", "1s", RC_INVALID, "\"execution.checkpointing.interval\""},
    {"state.backend.typ", "rocksdb", RC_INVALID, "\"state.backend.type\""},
    {"Parallelism.Default", "2", RC_INVALID, "\"parallelism.default\""},
    {"restart-strategy.fixed-delay.atempts", "3", RC_INVALID, "fixed-delay.attempts"},
    {"execution.checkpointing.interval", "soon", RC_INVALID, "\"soon\" is not a duration"},
    {"execution.checkpointing.interval", "9 ms", RC_INVALID, "at least 10 ms"},
    {"execution.checkpointing.timeout", "1", RC_INVALID, "at least 10 ms"},
    {"execution.checkpointing.num-retained", "0", RC_INVALID, "1 to 10000"},
    {"execution.checkpointing.num-retained", "two", RC_INVALID, "'two'"},
    {"execution.checkpointing.num-retained", "99999999999", RC_INVALID, "does not fit"},
    {"execution.checkpointing.data-inline-threshold", "2mb", RC_INVALID, "0 to 1mb"},
    {"execution.checkpointing.mode", "TWICE", RC_INVALID, "EXACTLY_ONCE, AT_LEAST_ONCE"},
    {"execution.checkpointing.incremental", "yes", RC_INVALID, "neither true nor false"},
    {"restart-strategy.exponential-delay.jitter-factor", "1.5", RC_INVALID, "0 to 1"},
    {"restart-strategy.exponential-delay.backoff-multiplier", "NaN", RC_INVALID, "finite"},
    {"execution.checkpointing.unaligned.forced", "true", RC_UNSUPPORTED, "no custom partitioning"},
    {"execution.checkpointing.aligned-checkpoint-timeout", "soon", RC_INVALID, "soon"},
    {"execution.checkpointing.max-concurrent-checkpoints", "9", RC_INVALID, "1 to 8"},
    {"execution.checkpointing.max-concurrent-checkpoints", "0", RC_INVALID, "1 to 8"},
    {"execution.checkpointing.file-merging.enabled", "true", RC_UNSUPPORTED, "merging"},
    {"state.changelog.enabled", "true", RC_UNSUPPORTED, "changelog"},
    {"state.backend.type", "forst", RC_UNSUPPORTED, "forst is not built"},
    {"execution.state-recovery.claim-mode", "LEGACY", RC_UNSUPPORTED, "LEGACY"},
};
START_TEST(bad_setting_is_refused_with_key_value_and_what_is_allowed)
{
    struct config *c = config_new();
    struct err err = {0};

    ck_assert_rc_msg(config_set(c, CONFIG_SET, refused[_i].key, refused[_i].value, &err),
                     refused[_i].rc, refused[_i].part);
    for (unsigned i = 0; i < OPTION_COUNT; i++)
        ck_assert_int_eq(config_source(c, (enum option_id)i), CONFIG_DEFAULT);
    config_free(c);
}
END_TEST

static const char *const defaults_of_the_unbuilt[][2] = {
    {"execution.checkpointing.unaligned.forced", "false"},
    {"execution.checkpointing.cleaner.parallel-mode", "TRUE"},
    {"state.backend.rocksdb.memory.write-buffer-ratio", "0.50"},
};
START_TEST(default_of_what_is_not_built_is_accepted)
{
    struct config *c = config_new();
    struct err err = {0};

    ck_assert_ok(config_set(c, CONFIG_SET, defaults_of_the_unbuilt[_i][0],
                            defaults_of_the_unbuilt[_i][1], &err));
    config_free(c);
}
END_TEST

START_TEST(pair_is_cut_at_its_first_equals_sign)
{
    struct config *c = config_new();
    struct err err = {0};

    ck_assert_ok(config_set_pair(c, CONFIG_COMMAND_LINE, "pipeline.name=a=b", &err));
    ck_assert_str_eq(config_string(c, OPT_JOB_NAME), "a=b");
    ck_assert_rc_msg(config_set_pair(c, CONFIG_COMMAND_LINE, "pipeline.name", &err), RC_INVALID,
                     "key=value");
    ck_assert_rc_msg(config_set_pair(c, CONFIG_COMMAND_LINE, "=x", &err), RC_INVALID, "key=value");
    config_free(c);
}
END_TEST

/* ---- layers ---------------------------------------------------------------------------------- */

START_TEST(later_layer_wins_and_reset_shows_the_one_below)
{
    struct config *c = config_new(), *copy;
    struct err err = {0};

    ck_assert_int_eq(config_int(c, OPT_PARALLELISM), 1);
    ck_assert_ok(config_set(c, CONFIG_SET, "parallelism.default", "4", &err));
    ck_assert_ok(config_set(c, CONFIG_COMMAND_LINE, "parallelism.default", "3", &err));
    ck_assert_ok(config_set(c, CONFIG_FILE, "parallelism.default", "2", &err));
    ck_assert_int_eq(config_int(c, OPT_PARALLELISM), 4);
    copy = config_copy(c);
    ck_assert_ok(config_reset(c, "parallelism.default", &err));
    ck_assert_int_eq(config_int(c, OPT_PARALLELISM), 3);
    ck_assert_str_eq(config_layer_name(config_source(c, OPT_PARALLELISM)), "-D");
    ck_assert_int_eq(config_int(copy, OPT_PARALLELISM), 4);
    config_reset_all(copy);
    ck_assert_int_eq(config_int(copy, OPT_PARALLELISM), 3);
    ck_assert_rc_msg(config_reset(c, "parallelism", &err), RC_INVALID, "parallelism.default");
    config_free(copy);
    config_free(c);
}
END_TEST

START_TEST(new_key_wins_over_its_alias_within_a_layer)
{
    struct config *c = config_new();
    struct err err = {0};

    ck_assert_ok(config_set(c, CONFIG_FILE, "execution.checkpointing.dir", "/new", &err));
    ck_assert_ok(config_set(c, CONFIG_FILE, "state.checkpoints.dir", "/old", &err));
    ck_assert_str_eq(config_string(c, OPT_CP_DIR), "/new");
    ck_assert_ok(
        config_set(c, CONFIG_COMMAND_LINE, "state.backend.fs.checkpointdir", "/older", &err));
    ck_assert_ok(config_set(c, CONFIG_COMMAND_LINE, "state.checkpoints.dir", "/old", &err));
    ck_assert_str_eq(config_string(c, OPT_CP_DIR), "/old");
    ck_assert_ok(config_set(c, CONFIG_SET, "execution.checkpointing.dir", "/a", &err));
    ck_assert_ok(config_set(c, CONFIG_SET, "state.checkpoints.dir", "/b",
                            &err)); /* a session goes on in time */
    ck_assert_str_eq(config_string(c, OPT_CP_DIR), "/b");
    config_free(c);
}
END_TEST

static void note_pair(void *ctx, const struct option *o, const char *value,
                      enum config_layer source)
{
    buf_printf(ctx, "%s=%s (%s);", o->key, value, config_layer_name(source));
}

START_TEST(list_shows_what_was_set_in_key_order_with_its_source)
{
    struct config *c = config_new();
    struct buf seen = {0};
    struct err err = {0};

    ck_assert_ok(config_set(c, CONFIG_SET, "table.dml-sync", "true", &err));
    ck_assert_ok(config_set(c, CONFIG_FILE, "parallelism.default", "2", &err));
    config_list(c, true, note_pair, &seen);
    ck_assert_str_eq(buf_cstr(&seen), "parallelism.default=2 (file);table.dml-sync=true (SET);");
    buf_clear(&seen);
    config_list(c, false, note_pair, &seen);
    ck_assert_ptr_nonnull(
        strstr(buf_cstr(&seen), "execution.checkpointing.timeout=10 min (default);"));
    ck_assert_ptr_null(strstr(buf_cstr(&seen), "pipeline.name")); /* no value, no line */
    buf_release(&seen);
    config_free(c);
}
END_TEST

/* Lists go to terminals, into REST answers and into _metadata. */
START_TEST(secret_is_set_but_never_listed)
{
    struct config *c = config_new();
    struct buf seen = {0};
    struct err err = {0};

    ck_assert_ok(config_set(c, CONFIG_COMMAND_LINE, "s3.secret-key", "do not tell", &err));
    ck_assert_str_eq(config_string(c, OPT_S3_SECRET_KEY), "do not tell");
    config_list(c, true, note_pair, &seen);
    ck_assert_str_eq(buf_cstr(&seen), "s3.secret-key=****** (-D);");
    buf_release(&seen);
    config_free(c);
}
END_TEST

/* ---- YAML ------------------------------------------------------------------------------------ */

START_TEST(nested_maps_and_dotted_keys_mean_the_same)
{
    struct config *c = config_new();
    struct err err = {0};
    const char *text = "# a comment\n"
                       "execution:\n"
                       "  checkpointing:\n"
                       "    interval: 3 min\n"
                       "    externalized-checkpoint-retention: RETAIN_ON_CANCELLATION\n"
                       "    dir: 'file:///tmp/a b'\n"
                       "execution.checkpointing.timeout: \"1 h\"\n"
                       "state.backend: {type: rocksdb}\n"
                       "parallelism.default: 7\n"
                       "restart-strategy:\n"
                       "  type: fixed-delay\n"
                       "  fixed-delay: {attempts: 3, delay: 10 s}\n"
                       "pipeline.name: [a, b]\n";

    ck_assert_ok(config_load_yaml(c, bytes_of_str(text), "config.yaml", &err));
    ck_assert_int_eq(config_duration_ms(c, OPT_CP_INTERVAL), 180000);
    ck_assert_int_eq(config_enum(c, OPT_CP_RETENTION), RETAIN_ON_CANCELLATION);
    ck_assert_str_eq(config_string(c, OPT_CP_DIR), "file:///tmp/a b");
    ck_assert_int_eq(config_duration_ms(c, OPT_CP_TIMEOUT), 3600000);
    ck_assert_int_eq(config_enum(c, OPT_BACKEND_TYPE), BACKEND_TYPE_ROCKSDB);
    ck_assert_int_eq(config_int(c, OPT_PARALLELISM), 7);
    ck_assert_int_eq(config_int(c, OPT_RESTART_FIXED_ATTEMPTS), 3);
    ck_assert_str_eq(config_string(c, OPT_JOB_NAME), "a;b");
    ck_assert_int_eq(config_source(c, OPT_PARALLELISM), CONFIG_FILE);
    config_free(c);
}
END_TEST

START_TEST(empty_file_changes_nothing)
{
    struct config *c = config_new();
    struct err err = {0};

    ck_assert_ok(config_load_yaml(c, bytes_of_str(""), "x", &err));
    ck_assert_ok(config_load_yaml(c, bytes_of_str("# only a comment\n"), "x", &err));
    ck_assert_ok(config_load_yaml(c, bytes_of_str("---\n"), "x", &err));
    ck_assert_int_eq(config_source(c, OPT_PARALLELISM), CONFIG_DEFAULT);
    config_free(c);
}
END_TEST

static const struct {
    const char *text, *part;
} bad_yaml[] = {
    {"parallelism.default: 2\nexecution:\n  checkpointing:\n    intervall: 1s\n",
     "c.yaml:4: unknown option"},
    {"parallelism.default: 2\nparallelism.default: 3\n",
     "c.yaml:2: parallelism.default was already set in line 1"},
    {"parallelism.default: 2\nparallelism: {default: 3}\n",
     "c.yaml:2: parallelism.default was already"},
    {"parallelism.default: x\n", "c.yaml:1: parallelism.default: 'x'"},
    {"\nparallelism.default:\n", "c.yaml:2: parallelism.default has no value"},
    {"a: [\n", "c.yaml:2:"},
    {"just text\n", "c.yaml:1: keys and values"},
    {"- a\n- b\n", "c.yaml:1: keys and values"},
    {"a: &x 1\nb: *x\n", "c.yaml:1: unknown option"},
    {"pipeline.name: &x 1\nparallelism.default: *x\n", "c.yaml:2: aliases"},
    {"pipeline.name: a\n---\npipeline.name: b\n", "c.yaml:2: a second document"},
    {"? [a, b]\n: c\n", "c.yaml:1: a key must be plain text"},
    {"pipeline.name: [a, [b]]\n", "c.yaml:1: a list may hold plain values only"},
    {"pipeline.name: \"a\\0b\"\n", "c.yaml:1: a NUL character"},
    {"a: {b: {c: {d: {e: {f: {g: {h: {i: {j: {k: {l: {m: {n: {o: {p: {q: {r: {s: {t: {u: {v: {w: "
     "{x: {y: {z: {a: "
     "{b: {c: {d: {e: {f: {g: {h: 1}}}}}}}}}}}}}}}}}}}}}}}}}}}}}}}}}}}\n",
     "more than 32 levels"},
};
START_TEST(bad_yaml_is_refused_with_its_line_and_changes_nothing)
{
    struct config *c = config_new();
    struct err err = {0};
    enum rc rc = config_load_yaml(c, bytes_of_str(bad_yaml[_i].text), "c.yaml", &err);

    ck_assert_msg(rc == RC_INVALID || rc == RC_LIMIT, "%s", rc_name(rc));
    ck_assert_msg(strstr(err.msg, bad_yaml[_i].part) != NULL, "\"%s\" lacks \"%s\"", err.msg,
                  bad_yaml[_i].part);
    for (unsigned i = 0; i < OPTION_COUNT; i++)
        ck_assert_int_eq(config_source(c, (enum option_id)i), CONFIG_DEFAULT);
    config_free(c);
}
END_TEST

/* ---- groups and rules ------------------------------------------------------------------------ */

START_TEST(defaults_give_the_references_coordinator)
{
    struct coordinator_config k;
    struct restart_config r;
    struct config *c = config_new();
    struct err err = {0};

    ck_assert_ok(config_check(c, &err));
    config_coordinator(c, &k);
    config_restart(c, &r);
    ck_assert_int_eq(k.interval_ms, 0);
    ck_assert_int_eq(k.timeout_ms, 600000);
    ck_assert_uint_eq(k.tolerable_failures, COORDINATOR_UNLIMITED);
    ck_assert_uint_eq(k.num_retained, 1);
    ck_assert_int_eq(k.retention, RETAIN_NONE);
    ck_assert(k.exactly_once && k.after_tasks_finish);
    ck_assert_int_eq(r.kind, RESTART_KIND_NONE);
    ck_assert_int_eq(config_storage(c), STORAGE_JOBMANAGER);

    ck_assert_ok(config_set(c, CONFIG_SET, "execution.checkpointing.interval", "1s", &err));
    ck_assert_ok(config_set(c, CONFIG_SET, "execution.checkpointing.min-pause", "5s", &err));
    ck_assert_ok(config_set(c, CONFIG_SET, "execution.checkpointing.dir", "/tmp/x", &err));
    ck_assert_ok(config_check(c, &err));
    config_coordinator(c, &k);
    config_restart(c, &r);
    ck_assert_int_eq(k.interval_ms, 5000); /* raised to the pause */
    ck_assert_uint_eq(k.tolerable_failures, 0);
    ck_assert_int_eq(r.kind, RESTART_KIND_EXPONENTIAL_DELAY);
    ck_assert_int_eq(config_storage(c), STORAGE_FILESYSTEM);
    ck_assert_ok(config_set(c, CONFIG_SET, "restart-strategy", "off", &err));
    config_restart(c, &r);
    ck_assert_int_eq(r.kind, RESTART_KIND_NONE);
    config_free(c);
}
END_TEST

/* As the reference has it: AT_LEAST_ONCE ignores unaligned checkpoints, so nothing about them is wrong then. */
START_TEST(unaligned_checkpoints_need_exactly_once)
{
    struct coordinator_config k;
    struct config *c = config_new();
    struct err err = {0};

    ck_assert_ok(config_set(c, CONFIG_SET, "execution.checkpointing.unaligned", "true", &err));
    ck_assert_ok(config_set(c, CONFIG_SET, "execution.checkpointing.alignment-timeout", "3 s", &err));
    ck_assert_ok(config_check(c, &err));
    config_coordinator(c, &k);
    ck_assert(k.unaligned && k.aligned_timeout_ms == 3000);
    ck_assert_ok(config_set(c, CONFIG_SET, "execution.checkpointing.mode", "AT_LEAST_ONCE", &err));
    ck_assert_ok(config_set(c, CONFIG_SET, "execution.checkpointing.max-concurrent-checkpoints", "2", &err));
    ck_assert_ok(config_check(c, &err));
    config_coordinator(c, &k);
    ck_assert(!k.unaligned && !config_unaligned(c));
    config_free(c);
}
END_TEST

static const struct {
    const char *pairs[3];
    const char *part;
} broken_rules[] = {
    {{"execution.checkpointing.storage=filesystem"}, "needs execution.checkpointing.dir"},
    {{"execution.checkpointing.externalized-checkpoint-retention=RETAIN_ON_CANCELLATION"},
     "needs execution.checkpointing.dir"},
    {{"parallelism.default=5", "pipeline.max-parallelism=4"},
     "exceeds pipeline.max-parallelism = 4"},
    {{"execution.checkpointing.unaligned.enabled=true", "execution.checkpointing.max-concurrent-checkpoints=2"},
     "max-concurrent-checkpoints = 2 must be 1"},
    {{"restart-strategy.exponential-delay.initial-backoff=2 min"}, "max-backoff = 1 min"},
    {{"table.exec.mini-batch.enabled=true", "table.exec.mini-batch.size=100"}, "allow-latency"},
};
START_TEST(options_that_contradict_each_other_are_refused)
{
    struct config *c = config_new();
    struct err err = {0};

    for (size_t i = 0; i < 3 && broken_rules[_i].pairs[i] != NULL; i++)
        ck_assert_ok(config_set_pair(c, CONFIG_SET, broken_rules[_i].pairs[i], &err));
    ck_assert_rc_msg(config_check(c, &err), RC_INVALID, broken_rules[_i].part);
    config_free(c);
}
END_TEST

/* All jobs of a process share the drivers. */
START_TEST(options_of_remote_files_are_not_a_jobs)
{
    struct config *c = config_new();
    struct err err = {0};

    ck_assert_rc_msg(config_set(c, CONFIG_SET, "varve.remote.tries", "3", &err), RC_INVALID,
                     "whole process");
    ck_assert_ok(config_set(c, CONFIG_COMMAND_LINE, "varve.remote.tries", "3", &err));
    ck_assert_int_eq(config_int(c, OPT_REMOTE_TRIES), 3);
    config_free(c);
}
END_TEST

TEST_MAIN("config", {
    tcase_add_loop_test(tc, every_row_of_the_table_is_sound, 0, OPTION_COUNT);
    tcase_add_test(tc, options_of_remote_files_are_not_a_jobs);
    tcase_add_test(tc, words_stand_in_the_order_of_the_enums);
    tcase_add_loop_test(tc, bad_setting_is_refused_with_key_value_and_what_is_allowed, 0,
                        ARRAY_LEN(refused));
    tcase_add_loop_test(tc, default_of_what_is_not_built_is_accepted, 0,
                        ARRAY_LEN(defaults_of_the_unbuilt));
    tcase_add_test(tc, pair_is_cut_at_its_first_equals_sign);
    tcase_add_test(tc, later_layer_wins_and_reset_shows_the_one_below);
    tcase_add_test(tc, new_key_wins_over_its_alias_within_a_layer);
    tcase_add_test(tc, list_shows_what_was_set_in_key_order_with_its_source);
    tcase_add_test(tc, secret_is_set_but_never_listed);
    tcase_add_test(tc, nested_maps_and_dotted_keys_mean_the_same);
    tcase_add_test(tc, empty_file_changes_nothing);
    tcase_add_loop_test(tc, bad_yaml_is_refused_with_its_line_and_changes_nothing, 0,
                        ARRAY_LEN(bad_yaml));
    tcase_add_test(tc, defaults_give_the_references_coordinator);
          tcase_add_test(tc, unaligned_checkpoints_need_exactly_once);
    tcase_add_loop_test(tc, options_that_contradict_each_other_are_refused, 0,
                        ARRAY_LEN(broken_rules));
})
