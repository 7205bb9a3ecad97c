/* links: job */
/* test_s3_options.c - where server and keys of s3:// come from. */
#include "job/s3_options.h"

#include "tests/lib/check_ext.h"
#include "tests/lib/sim_fs.h"

/* "NAME=value" lines, NULL at the end. */
static const char *const *environment;

static const char *env(const char *name)
{
    size_t len = strlen(name);

    for (const char *const *e = environment; *e != NULL; e++)
        if (strncmp(*e, name, len) == 0 && (*e)[len] == '=')
            return *e + len + 1;
    return NULL;
}

static const char profiles[] = "# keys\n[default]\naws_access_key_id = D\r\n"
                               "aws_secret_access_key=secret of D=\nregion = eu-west-1\n"
                               "; more\n[ work ]\naws_access_key_id=W\n"
                               "aws_secret_access_key=sW\naws_session_token=tW\nother=x\n"
                               "[half]\naws_access_key_id=H\n[empty]\n";

static const struct {
    const char *options[4][2];
    const char *environment[6];
    const char *want; /* endpoint region access secret token path-style, or a part of the message */
    enum rc rc;
} cases[] = {
    {{{NULL}}, {"HOME=/none"}, "- us-east-1 - - - 0", RC_OK},
    {{{NULL}}, {NULL}, "- us-east-1 - - - 0", RC_OK},
    {{{NULL}}, {"HOME=/home"}, "- eu-west-1 D secret of D= - 0", RC_OK},
    {{{NULL}}, {"HOME=/home", "AWS_PROFILE=work"}, "- us-east-1 W sW tW 0", RC_OK},
    {{{NULL}}, {"HOME=/home", "AWS_PROFILE=half"}, "aws_secret_access_key is not", RC_INVALID},
    {{{NULL}}, {"HOME=/home", "AWS_PROFILE=nobody"}, "no profile [nobody]", RC_INVALID},
    {{{NULL}}, {"HOME=/none", "AWS_PROFILE=work"}, "/none/.aws/credentials", RC_NOT_FOUND},
    {{{NULL}},
     {"AWS_SHARED_CREDENTIALS_FILE=/home/.aws/credentials"},
     "- eu-west-1 D secret of D= - 0",
     RC_OK},
    {{{NULL}},
     {"HOME=/home", "AWS_ACCESS_KEY_ID=E", "AWS_SECRET_ACCESS_KEY=sE", "AWS_SESSION_TOKEN=tE",
      "AWS_REGION=r"},
     "- r E sE tE 0",
     RC_OK},
    {{{NULL}}, {"HOME=/home", "AWS_ACCESS_KEY_ID=E"}, "AWS_SECRET_ACCESS_KEY is not", RC_INVALID},
    {{{"s3.access-key", "O"}, {"s3.secret-key", "sO"}, {"s3.region", "o"}},
     {"HOME=/home", "AWS_ACCESS_KEY_ID=E", "AWS_SECRET_ACCESS_KEY=sE", "AWS_SESSION_TOKEN=tE",
      "AWS_REGION=r"},
     "- o O sO - 0", /* not with the token of another key */
     RC_OK},
    {{{"s3.access-key", "O"}},
     {"AWS_SECRET_ACCESS_KEY=sE"},
     "s3.access-key is set and s3.secret-key is not",
     RC_INVALID},
    {{{"s3.endpoint", "http://h:9"}, {"s3.path-style-access", "true"}},
     {"AWS_ENDPOINT_URL=http://e", "AWS_DEFAULT_REGION=d"},
     "http://h:9 d - - - 1",
     RC_OK},
    {{{NULL}},
     {"AWS_ENDPOINT_URL=http://e", "AWS_ENDPOINT_URL_S3=http://s"},
     "http://s us-east-1 - - - 0",
     RC_OK},
};

static const char *shown(const char *s)
{
    return s == NULL ? "-" : s;
}

START_TEST(server_and_keys_come_from_the_first_place_that_has_them)
{
    struct fs *fs = sim_fs_new(NULL);
    struct arena *arena = arena_new(0);
    struct config *c = config_new();
    struct s3_config got;
    struct err err = {0};
    struct fs_file *f;
    char text[512];
    enum rc rc;

    environment = cases[_i].environment;
    ck_assert_ok(fs_mkdirs(fs, "/home/.aws", &err));
    ck_assert_ok(fs_create(fs, "/home/.aws/credentials", &f, &err));
    ck_assert_ok(fs_append(f, bytes_of_str(profiles), &err));
    ck_assert_ok(fs_close(&f, &err));
    for (int i = 0; cases[_i].options[i][0] != NULL; i++)
        ck_assert_ok(config_set(c, CONFIG_COMMAND_LINE, cases[_i].options[i][0],
                                cases[_i].options[i][1], &err));
    rc = s3_options(c, fs, env, arena, &got, &err);
    if (cases[_i].rc != RC_OK) {
        ck_assert_rc_msg(rc, cases[_i].rc, cases[_i].want);
    } else {
        ck_assert_ok(rc);
        snprintf(text, sizeof text, "%s %s %s %s %s %d", shown(got.endpoint), got.region,
                 shown(got.credentials.access_key), shown(got.credentials.secret_key),
                 shown(got.credentials.session_token), got.path_style);
        ck_assert_str_eq(text, cases[_i].want);
        ck_assert_uint_eq(got.part_bytes, 8 << 20);
    }
    config_free(c);
    arena_free(arena);
    sim_fs_free(fs);
}
END_TEST

START_TEST(cut_profile_is_read_as_far_as_it_goes)
{
    struct arena *arena = arena_new(0);
    struct s3_profile p;

    for (size_t len = 0; len < sizeof profiles; len++) {
        char *copy = malloc(len == 0 ? 1 : len); /* so that a byte too far is seen */

        memcpy(copy, profiles, len);
        s3_profile_find(bytes_of(copy, len), "work", arena, &p);
        free(copy);
    }
    arena_free(arena);
}
END_TEST

TEST_MAIN("s3_options",
          tcase_add_loop_test(tc, server_and_keys_come_from_the_first_place_that_has_them, 0,
                              (int)ARRAY_LEN(cases));
          tcase_add_test(tc, cut_profile_is_read_as_far_as_it_goes))
