/* s3_answer.c - see s3_answer.h: expat walks, a function of each answer takes what it knows by the
 * element's path, "ListBucketResult/Contents/Key". */
#include "base/s3_answer.h"

#include "base/arena.h"
#include "base/s3_date.h"

#include <expat.h>

#define PATH_MAX_BYTES 512

/* ---- walk ----------------------------------------------------------------------------------- */

/* Called at the end of each element, with its own text. */
typedef enum rc element_fn(void *ctx, const char *path, struct bytes text, struct err *err);

struct walk {
    XML_Parser parser;
    const char *what, *root; /* root NULL: any */
    element_fn *fn;
    void *ctx;
    char path[PATH_MAX_BYTES];
    size_t path_len;
    uint32_t depth;
    struct buf text;
    enum rc rc;
    struct err *err;
};

static void stop(struct walk *w, enum rc rc)
{
    w->rc = rc;
    XML_StopParser(w->parser, XML_FALSE);
}

static void on_start(void *ctx, const XML_Char *name, const XML_Char **attributes UNUSED)
{
    struct walk *w = ctx;
    size_t len = strlen(name);

    if (w->depth == 0 && w->root != NULL && strcmp(name, w->root) != 0) {
        stop(w, err_set(w->err, RC_CORRUPT, "%s: the answer is a <%.64s>, not a <%s>", w->what,
                        name, w->root));
        return;
    }
    if (w->depth == S3_ANSWER_DEPTH_MAX || len + 2 > sizeof w->path - w->path_len) {
        stop(w, err_set(w->err, RC_LIMIT,
                        "%s: the answer's <%.64s> lies deeper than %d elements or %d bytes of "
                        "names",
                        w->what, name, S3_ANSWER_DEPTH_MAX, PATH_MAX_BYTES));
        return;
    }
    if (w->depth++ > 0)
        w->path[w->path_len++] = '/';
    memcpy(w->path + w->path_len, name, len + 1);
    w->path_len += len;
    buf_clear(&w->text);
}

/* Once stopped, expat still tells the end of an empty element, which on_start has not noted. */
static void on_end(void *ctx, const XML_Char *name)
{
    struct walk *w = ctx;
    enum rc rc;

    if (w->rc != RC_OK)
        return;
    rc = w->fn(w->ctx, w->path, buf_bytes(&w->text), w->err);
    buf_clear(&w->text);
    w->path_len -= strlen(name);
    if (--w->depth > 0)
        w->path_len--;
    w->path[w->path_len] = '\0';
    if (rc != RC_OK)
        stop(w, rc);
}

static void on_text(void *ctx, const XML_Char *text, int len)
{
    struct walk *w = ctx;

    if (w->rc != RC_OK)
        return;
    if (w->text.len + (size_t)len > S3_ANSWER_TEXT_MAX)
        stop(w, err_set(w->err, RC_LIMIT, "%s: %s of the answer is longer than %d bytes", w->what,
                        w->path, S3_ANSWER_TEXT_MAX));
    else
        buf_append(&w->text, text, (size_t)len);
}

static void on_doctype(void *ctx, const XML_Char *name UNUSED, const XML_Char *system UNUSED,
                       const XML_Char *public UNUSED, int has_internal UNUSED)
{
    struct walk *w = ctx;

    stop(w, err_set(w->err, RC_CORRUPT, "%s: the answer has a document type", w->what));
}

/* A server that takes long sends white space first. */
static struct bytes skip_space(struct bytes b)
{
    while (b.len > 0 && memchr(" \t\r\n", b.data[0], 4) != NULL)
        b = bytes_of(b.data + 1, b.len - 1);
    return b;
}

static enum rc walk(struct bytes body, const char *what, const char *root, element_fn *fn,
                    void *ctx, struct err *err)
{
    static const XML_Memory_Handling_Suite memory = {mem_alloc, mem_realloc, mem_free};
    struct walk w = {.what = what, .root = root, .fn = fn, .ctx = ctx, .err = err};

    body = skip_space(body);
    if (body.len > S3_ANSWER_BYTES_MAX)
        return err_set(err, RC_LIMIT, "%s: %zu bytes of answer, the limit is %zu", what, body.len,
                       S3_ANSWER_BYTES_MAX);
    w.parser = XML_ParserCreate_MM("UTF-8", &memory, NULL);
    ASSERT(w.parser != NULL);
    XML_SetUserData(w.parser, &w);
    XML_SetElementHandler(w.parser, on_start, on_end);
    XML_SetCharacterDataHandler(w.parser, on_text);
    XML_SetStartDoctypeDeclHandler(w.parser, on_doctype);
    if (XML_Parse(w.parser, body.len == 0 ? "" : (const char *)body.data, (int)body.len,
                  XML_TRUE) == XML_STATUS_ERROR &&
        w.rc == RC_OK)
        w.rc = err_set(err, RC_CORRUPT, "%s: the answer is no XML: line %lu: %s", what,
                       (unsigned long)XML_GetCurrentLineNumber(w.parser),
                       XML_ErrorString(XML_GetErrorCode(w.parser)));
    XML_ParserFree(w.parser);
    buf_release(&w.text);
    return w.rc;
}

/* ---- text ----------------------------------------------------------------------------------- */

static enum rc take_number(struct bytes text, const char *what, const char *path, uint64_t *out,
                           struct err *err)
{
    uint64_t v = 0;

    for (size_t i = 0; i < text.len; i++) {
        uint64_t digit = (uint64_t)text.data[i] - '0';

        if (digit > 9 || v > (UINT64_MAX - digit) / 10) {
            text.len = 0;
            break;
        }
        v = v * 10 + digit;
    }
    if (text.len == 0)
        return err_set(err, RC_CORRUPT, "%s: %s of the answer is no number", what, path);
    *out = v;
    return RC_OK;
}

static enum rc take_time(struct bytes text, const char *what, const char *path, int64_t *wall_ms,
                         struct err *err)
{
    if (s3_date_parse(text, wall_ms))
        return RC_OK;
    return err_set(err, RC_CORRUPT, "%s: %s of the answer is no time", what, path);
}

static int hex_digit(uint8_t c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* A key with encoding-type=url: %XX, and '+' for a space. Appended. */
static enum rc take_key(struct bytes text, const char *what, const char *path, struct buf *out,
                        struct err *err)
{
    for (size_t i = 0; i < text.len; i++) {
        uint8_t c = text.data[i];

        if (c == '%') {
            int high = i + 2 < text.len ? hex_digit(text.data[i + 1]) : -1;
            int low = i + 2 < text.len ? hex_digit(text.data[i + 2]) : -1;

            if (high < 0 || low < 0 || high + low == 0)
                return err_set(err, RC_CORRUPT, "%s: %s of the answer has a wrong %%XX", what,
                               path);
            c = (uint8_t)(high * 16 + low);
            i += 2;
        } else if (c == '+') {
            c = ' ';
        }
        buf_append_u8(out, c);
    }
    return RC_OK;
}

/* ---- errors --------------------------------------------------------------------------------- */

static void put_printable(char *out, size_t cap, struct bytes text)
{
    size_t len = 0;

    for (; len < text.len && len + 1 < cap; len++)
        out[len] = text.data[len] >= 0x20 && text.data[len] < 0x7f ? (char)text.data[len] : '?';
    out[len] = '\0';
}

static enum rc problem_element(void *ctx, const char *path, struct bytes text,
                               struct err *err UNUSED)
{
    struct s3_problem *p = ctx;

    if (strcmp(path, "Error/Code") == 0)
        put_printable(p->code, sizeof p->code, text);
    else if (strcmp(path, "Error/Message") == 0)
        put_printable(p->message, sizeof p->message, text);
    return RC_OK;
}

bool s3_answer_problem(struct bytes body, struct s3_problem *out)
{
    *out = (struct s3_problem){.code = ""};
    return walk(body, "error", "Error", problem_element, out, NULL) == RC_OK;
}

/* ---- lists ---------------------------------------------------------------------------------- */

struct list {
    const char *what;
    s3_entry_fn *fn;
    void *ctx;
    struct buf key, *next;
    struct s3_entry entry;
    bool truncated;
};

static enum rc end_entry(struct list *l, const char *path, bool is_prefix, struct err *err)
{
    enum rc rc;

    if (l->key.len == 0)
        return err_set(err, RC_CORRUPT, "%s: %s of the answer has no key", l->what, path);
    l->entry.key = buf_cstr(&l->key);
    l->entry.is_prefix = is_prefix;
    rc = l->fn(l->ctx, &l->entry, err);
    l->entry = (struct s3_entry){.key = NULL};
    buf_clear(&l->key);
    return rc;
}

static enum rc list_element(void *ctx, const char *path, struct bytes text, struct err *err)
{
    struct list *l = ctx;

    if (strcmp(path, "ListBucketResult/Contents/Key") == 0 ||
        strcmp(path, "ListBucketResult/CommonPrefixes/Prefix") == 0)
        return take_key(text, l->what, path, &l->key, err);
    if (strcmp(path, "ListBucketResult/Contents/Size") == 0)
        return take_number(text, l->what, path, &l->entry.size_bytes, err);
    if (strcmp(path, "ListBucketResult/Contents/LastModified") == 0)
        return take_time(text, l->what, path, &l->entry.mtime_wall_ms, err);
    if (strcmp(path, "ListBucketResult/Contents") == 0)
        return end_entry(l, path, false, err);
    if (strcmp(path, "ListBucketResult/CommonPrefixes") == 0)
        return end_entry(l, path, true, err);
    if (strcmp(path, "ListBucketResult/NextContinuationToken") == 0)
        buf_append(l->next, text.data, text.len);
    else if (strcmp(path, "ListBucketResult/IsTruncated") == 0)
        l->truncated = bytes_eq(text, bytes_of_str("true"));
    return RC_OK;
}

/* A list that ends early without a word is what must not happen: files would look deleted. */
static enum rc check_next(const char *what, bool truncated, struct buf *next, struct err *err)
{
    if (!truncated)
        buf_clear(next);
    else if (next->len == 0)
        return err_set(err, RC_CORRUPT, "%s: the answer is cut, and does not say how to go on",
                       what);
    return RC_OK;
}

enum rc s3_answer_list(struct bytes body, const char *what, s3_entry_fn *fn, void *ctx,
                       struct buf *next, struct err *err)
{
    struct list l = {.what = what, .fn = fn, .ctx = ctx, .next = next};
    enum rc rc;

    buf_clear(next);
    rc = walk(body, what, "ListBucketResult", list_element, &l, err);
    buf_release(&l.key);
    return rc == RC_OK ? check_next(what, l.truncated, next, err) : rc;
}

struct uploads {
    const char *what;
    s3_upload_fn *fn;
    void *ctx;
    struct buf key, id, *next_key, *next_id;
    int64_t begun_wall_ms;
    bool truncated;
};

static enum rc end_upload(struct uploads *u, const char *path, struct err *err)
{
    struct s3_upload_line upload = {.begun_wall_ms = u->begun_wall_ms};
    enum rc rc;

    if (u->key.len == 0 || u->id.len == 0)
        return err_set(err, RC_CORRUPT, "%s: %s of the answer has no key or no id", u->what, path);
    upload.key = buf_cstr(&u->key);
    upload.id = buf_cstr(&u->id);
    rc = u->fn(u->ctx, &upload, err);
    buf_clear(&u->key);
    buf_clear(&u->id);
    u->begun_wall_ms = 0;
    return rc;
}

static enum rc uploads_element(void *ctx, const char *path, struct bytes text, struct err *err)
{
    struct uploads *u = ctx;

    if (strcmp(path, "ListMultipartUploadsResult/Upload/Key") == 0)
        return take_key(text, u->what, path, &u->key, err);
    if (strcmp(path, "ListMultipartUploadsResult/NextKeyMarker") == 0)
        return take_key(text, u->what, path, u->next_key, err);
    if (strcmp(path, "ListMultipartUploadsResult/Upload/Initiated") == 0)
        return take_time(text, u->what, path, &u->begun_wall_ms, err);
    if (strcmp(path, "ListMultipartUploadsResult/Upload") == 0)
        return end_upload(u, path, err);
    if (strcmp(path, "ListMultipartUploadsResult/Upload/UploadId") == 0)
        buf_append(&u->id, text.data, text.len);
    else if (strcmp(path, "ListMultipartUploadsResult/NextUploadIdMarker") == 0)
        buf_append(u->next_id, text.data, text.len);
    else if (strcmp(path, "ListMultipartUploadsResult/IsTruncated") == 0)
        u->truncated = bytes_eq(text, bytes_of_str("true"));
    return RC_OK;
}

enum rc s3_answer_uploads(struct bytes body, const char *what, s3_upload_fn *fn, void *ctx,
                          struct buf *next_key, struct buf *next_id, struct err *err)
{
    struct uploads u = {
        .what = what, .fn = fn, .ctx = ctx, .next_key = next_key, .next_id = next_id};
    enum rc rc;

    buf_clear(next_key);
    buf_clear(next_id);
    rc = walk(body, what, "ListMultipartUploadsResult", uploads_element, &u, err);
    buf_release(&u.key);
    buf_release(&u.id);
    return rc == RC_OK ? check_next(what, u.truncated, next_key, err) : rc;
}

/* ---- one value ------------------------------------------------------------------------------ */

struct value {
    const char *root, *element;
    struct buf *out;
    bool found;
};

static enum rc value_element(void *ctx, const char *path, struct bytes text, struct err *err UNUSED)
{
    struct value *v = ctx;
    size_t root_len = strlen(v->root);

    /* The walk has checked the root. */
    if (!v->found && strlen(path) > root_len && strcmp(path + root_len + 1, v->element) == 0) {
        v->found = true;
        buf_append(v->out, text.data, text.len);
    }
    return RC_OK;
}

enum rc s3_answer_value(struct bytes body, const char *what, const char *root, const char *element,
                        struct buf *out, struct err *err)
{
    struct value v = {.root = root, .element = element, .out = out};

    RETURN_IF_ERR(walk(body, what, root, value_element, &v, err));
    if (!v.found)
        return err_set(err, RC_CORRUPT, "%s: the answer has no <%s>", what, element);
    return RC_OK;
}
