/* note.c - see note.h */
#include "checkpoint/note.h"

#include "base/hash.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

/* ---- lines ---------------------------------------------------------------------------------- */

void note_put(struct buf *out, const char *key, const char *value)
{
    buf_printf(out, "%s=", key);
    for (const char *p = value; *p != '\0'; p++) {
        if (*p == '\n' || *p == '\\')
            buf_append_u8(out, '\\');
        buf_append_u8(out, *p == '\n' ? 'n' : (uint8_t)*p);
    }
    buf_append_u8(out, '\n');
}

void note_put_number(struct buf *out, const char *key, uint64_t value)
{
    buf_printf(out, "%s=%" PRIu64 "\n", key, value);
}

/* In place of each escape what it stands for; false: no such escape, or a NUL. */
static bool unescape(struct bytes in, char *out)
{
    for (size_t i = 0; i < in.len; i++) {
        char c = (char)in.data[i];

        if (c == '\\') {
            if (++i == in.len || (in.data[i] != 'n' && in.data[i] != '\\'))
                return false;
            c = in.data[i] == 'n' ? '\n' : '\\';
        }
        if (c == '\0')
            return false;
        *out++ = c;
    }
    *out = '\0';
    return true;
}

bool note_take(struct note *n, const char *key, const char **value)
{
    size_t key_len = strlen(key);
    const uint8_t *end;
    struct bytes raw;
    char *text;

    if (n->left.len <= key_len || memcmp(n->left.data, key, key_len) != 0 ||
        n->left.data[key_len] != '=')
        return false;
    raw = bytes_of(n->left.data + key_len + 1, n->left.len - key_len - 1);
    end = raw.len == 0 ? NULL : memchr(raw.data, '\n', raw.len);
    if (end == NULL)
        return false;
    raw.len = (size_t)(end - raw.data);
    text = arena_alloc(n->arena, raw.len + 1);
    if (!unescape(raw, text))
        return false;
    *value = text;
    n->left = bytes_of(end + 1, n->left.len - key_len - 1 - raw.len - 1);
    return true;
}

bool note_take_number(struct note *n, const char *key, uint64_t max, uint64_t *value)
{
    struct note before = *n;
    const char *text;
    uint64_t v = 0;

    if (!note_take(n, key, &text))
        return false;
    for (const char *p = text; *p != '\0'; p++) {
        uint64_t digit = (uint64_t)(*p - '0');

        if (*p < '0' || *p > '9' || digit > max || v > (max - digit) / 10) {
            *n = before;
            return false;
        }
        v = v * 10 + digit;
    }
    if (text[0] == '\0') {
        *n = before;
        return false;
    }
    *value = v;
    return true;
}

bool note_is_empty(const struct note *n)
{
    return n->left.len == 0;
}

/* ---- the first line -------------------------------------------------------------------------- */

#define CHECK "check="
#define CHECK_BYTES (sizeof CHECK - 1 + DIGEST_HEX_LEN + 1)

static void put_check(struct bytes content, struct buf *out)
{
    char hex[DIGEST_HEX_LEN + 1];

    digest_hex(digest_of(content), hex);
    buf_printf(out, CHECK "%s\n", hex);
}

/* Takes the line off *text, if there is one. false: it is malformed, or says otherwise. */
static bool take_check(struct bytes *text)
{
    char hex[DIGEST_HEX_LEN + 1];
    struct digest128 said;

    if (!bytes_start_with(*text, bytes_of_str(CHECK)))
        return true;
    if (text->len < CHECK_BYTES || text->data[CHECK_BYTES - 1] != '\n')
        return false;
    memcpy(hex, text->data + sizeof CHECK - 1, DIGEST_HEX_LEN);
    hex[DIGEST_HEX_LEN] = '\0';
    *text = bytes_of(text->data + CHECK_BYTES, text->len - CHECK_BYTES);
    return digest_parse(hex, &said) && digest_eq(said, digest_of(*text));
}

/* ---- files ---------------------------------------------------------------------------------- */

enum rc note_write(struct fs *fs, const char *dir, const char *name, struct bytes content,
                   struct err *err)
{
    char temp_path[FS_PATH_MAX], temp[128];
    struct err local = {0};
    struct buf text = {0};
    enum rc rc;

    if (content.len > NOTE_BYTES_MAX)
        return err_set(err, RC_LIMIT, "%s/%s: %zu bytes, the limit is %u", dir, name, content.len,
                       NOTE_BYTES_MAX);
    snprintf(temp, sizeof temp, "._%s.tmp", name);
    RETURN_IF_ERR(path_join(temp_path, sizeof temp_path, dir, temp, err));
    rc = fs_unlink(fs, temp_path, &local); /* of a process that died */
    if (rc != RC_OK && rc != RC_NOT_FOUND)
        return err_set(err, rc, "%s", local.msg);
    put_check(content, &text);
    buf_append(&text, content.data, content.len);
    rc = fs_publish(fs, dir, temp, name, buf_bytes(&text), FS_PUBLISH_REPLACE, err);
    buf_release(&text);
    return rc;
}

enum rc note_read(struct fs *fs, const char *dir, const char *name, struct arena *arena,
                  struct note *out, struct err *err)
{
    char path[FS_PATH_MAX];
    struct err local = {0};
    struct buf text = {0};
    struct bytes content;
    enum rc rc;

    GOTO_IF_ERR(path_join(path, sizeof path, dir, name, err));
    rc = fs_read_all(fs, path, NOTE_BYTES_MAX + CHECK_BYTES, &text, &local);
    if (rc == RC_IO && local.os_errno == EISDIR)
        rc = RC_CORRUPT; /* will not pass */
    if (rc != RC_OK)
        GOTO_IF_ERR(err_set(err, rc, "%s", local.msg));
    content = buf_bytes(&text);
    if (!take_check(&content))
        GOTO_IF_ERR(err_set(err, RC_CORRUPT, "%s: digest differs from that of its first line", path));
    *out = (struct note){arena_bytes_copy(arena, content), arena};
out:
    buf_release(&text);
    return rc;
}

enum rc note_remove(struct fs *fs, const char *dir, const char *name, struct err *err)
{
    char path[FS_PATH_MAX];
    struct err local = {0};
    enum rc rc;

    RETURN_IF_ERR(path_join(path, sizeof path, dir, name, err));
    rc = fs_unlink(fs, path, &local);
    if (rc == RC_NOT_FOUND)
        return RC_OK;
    if (rc != RC_OK)
        return err_set(err, rc, "%s", local.msg);
    return fs_sync_dir(fs, dir, err);
}
