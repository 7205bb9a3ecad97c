/* fuzz_inspect.c - a readable _metadata with any names, sizes and times in it is shown in every form.
 *
 * The bytes are a protobuf message; it is put into a valid frame by way of decoding what can be
 * decoded. JSON must parse again, and no page may hold a tag that a name brought in. */
#include "base/json.h"
#include "checkpoint/inspect.h"
#include "checkpoint/layout.h"
#include "job/list_items.h"
#include "tests/fuzz/framed_metadata.h"
#include "tests/lib/sim_clock.h"
#include "tests/lib/sim_fs.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static enum rc to_buf(void *ctx, struct bytes piece, struct err *err UNUSED)
{
    buf_append(ctx, piece.data, piece.len);
    return RC_OK;
}

static void show(const struct env *env, const char *path, enum inspect_form form)
{
    struct inspect_options how = {.form = form, .files = true, .describe = list_item_describe};
    struct err err = {0};
    struct buf out = {0};
    json_t *value = NULL;
    bool damaged;

    ASSERT(inspect_path(env, path, &how, to_buf, &out, &damaged, &err) == RC_OK);
    if (form == INSPECT_JSON)
        ASSERT(json_parse(buf_bytes(&out), SIZE_MAX, &value, &err) == RC_OK);
    if (form == INSPECT_HTML)
        ASSERT(strstr(buf_cstr(&out), "<script") == NULL);
    json_decref(value);
    buf_release(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct sim_clock clock;
    struct buf file = {0};
    struct fs_file *f;
    struct err err = {0};
    struct env env = {0};
    struct fs *fs;

    sim_clock_init(&clock, 1700000000000);
    fs = sim_fs_new(&clock.clock);
    env = (struct env){.fs = fs, .clock = &clock.clock};
    framed_metadata(bytes_of(data, size), &file);
    ASSERT(fs_mkdirs(fs, "/j/chk-1", &err) == RC_OK);
    ASSERT(fs_create(fs, "/j/chk-1/_metadata", &f, &err) == RC_OK);
    ASSERT(fs_append(f, buf_bytes(&file), &err) == RC_OK);
    ASSERT(fs_close(&f, &err) == RC_OK);
    for (enum inspect_form form = INSPECT_TEXT; form <= INSPECT_HTML; form++) {
        show(&env, "/j", form);
        show(&env, "/j/chk-1", form);
    }
    sim_fs_free(fs);
    buf_release(&file);
    return 0;
}
