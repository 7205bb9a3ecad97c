/* s3_upload.c - see s3_upload.h */
#include "base/s3_upload.h"

#include "base/arena.h"
#include "base/s3_answer.h"

#include <inttypes.h>
#include <stdio.h>

#define NUMBER_MAX 24
#define ETAG_MAX 256

static enum rc head(struct s3_client *c, const struct s3_name *name, const char *key_suffix,
                    struct http_answer *answer, struct err *err)
{
    struct s3_call call = {.method = "HEAD", .name = name, .key_suffix = key_suffix};

    return s3_do(c, &call, answer, err);
}

/* RC_OK or RC_NOT_FOUND; *writer_is: it carries that mark. */
static enum rc look(struct s3_client *c, const struct s3_name *name, const char *key_suffix,
                    const char *writer, bool *writer_is, struct err *err)
{
    struct http_answer answer = {0};
    struct err local = {0};
    const char *mark;
    enum rc rc = head(c, name, key_suffix, &answer, &local);

    *writer_is = false;
    if (rc == RC_OK && writer != NULL) {
        mark = http_answer_header(&answer, S3_WRITER_HEADER);
        *writer_is = mark != NULL && strcmp(mark, writer) == 0;
    }
    http_answer_release(&answer);
    return rc == RC_OK || rc == RC_NOT_FOUND ? rc : err_set(err, rc, "%s", local.msg);
}

static enum rc refuse_taken(const struct s3_name *name, const char *key_suffix, struct err *err)
{
    return err_set(err, RC_EXISTS, "s3://%s/%s%s: is there already", name->bucket, name->key,
                   key_suffix == NULL ? "" : key_suffix);
}

/* A look before: the only guard where the server keeps no condition. */
static enum rc check_free(struct s3_client *c, const struct s3_name *name, const char *key_suffix,
                          struct err *err)
{
    bool ours;
    enum rc rc = look(c, name, key_suffix, NULL, &ours, err);

    if (rc == RC_NOT_FOUND)
        return RC_OK;
    return rc == RC_OK ? refuse_taken(name, key_suffix, err) : rc;
}

/* Of a conditional write. */
static enum s3_condition_at place_of(const struct s3_call *call)
{
    return strcmp(call->method, "PUT") == 0 ? S3_AT_PUT : S3_AT_COMPLETE;
}

/* The answer to a conditional write that was not 2xx, in terms of what lies there now. */
static enum rc settle(struct s3_client *c, const struct s3_call *call,
                      const struct http_answer *answer, const char *writer, struct err *err)
{
    bool ours;
    enum rc rc;

    if (answer->status == 412)
        s3_client_learn_condition(c, place_of(call), S3_CONDITION_KEPT);
    rc = look(c, call->name, call->key_suffix, writer, &ours, err);
    if (rc == RC_OK)
        return ours ? RC_OK : refuse_taken(call->name, call->key_suffix, err);
    return rc == RC_NOT_FOUND ? s3_refused(c, call, answer, err) : rc;
}

/* A server that does not know the condition says so in one of these ways. */
static bool refuses_condition(const struct http_answer *answer)
{
    struct s3_problem problem;

    return answer->status == 501 ||
           (answer->status == 400 && s3_answer_problem(buf_bytes(&answer->body), &problem) &&
            strcmp(problem.code, "NotImplemented") == 0);
}

/* A write whose last header is the condition: sent without it, after a look, where the server keeps
 * none, and once more when another write to that key was under way (409). */
static enum rc send_new(struct s3_client *c, struct s3_call *call, const char *writer,
                        struct http_answer *answer, struct err *err)
{
    size_t header_count = call->header_count;

    for (uint32_t tries = 1;; tries++) {
        bool conditional = s3_client_condition(c, place_of(call)) != S3_CONDITION_IGNORED;

        if (!conditional)
            RETURN_IF_ERR(check_free(c, call->name, call->key_suffix, err));
        call->header_count = conditional ? header_count : header_count - 1;
        RETURN_IF_ERR(s3_send(c, call, answer, err));
        if (s3_succeeded(answer))
            return RC_OK;
        if (conditional && refuses_condition(answer)) {
            s3_client_learn_condition(c, place_of(call), S3_CONDITION_IGNORED);
            continue;
        }
        if (answer->status == 409 && s3_client_try_again(c, tries))
            continue;
        if (answer->status == 412 || answer->status == 409 || answer->status == 404)
            return settle(c, call, answer, writer, err);
        return s3_refused(c, call, answer, err);
    }
}

enum rc s3_put(struct s3_client *c, const struct s3_name *name, const char *key_suffix,
               struct bytes body, bool replace, struct err *err)
{
    char writer[S3_WRITER_LEN + 1];
    const struct http_header headers[] = {{S3_WRITER_HEADER, writer}, {"if-none-match", "*"}};
    struct http_answer answer = {0};
    struct s3_call call = {.method = "PUT",
                           .name = name,
                           .key_suffix = key_suffix,
                           .headers = headers,
                           .header_count = replace ? 1 : 2,
                           .body = body};
    enum rc rc;

    s3_client_writer(c, writer);
    if (replace) {
        rc = s3_do(c, &call, &answer, err);
    } else {
        if (s3_client_condition(c, S3_AT_PUT) == S3_CONDITION_UNKNOWN)
            GOTO_IF_ERR(check_free(c, name, key_suffix, err));
        rc = send_new(c, &call, writer, &answer, err);
    }
out:
    http_answer_release(&answer);
    return rc;
}

enum rc s3_probe_condition(struct s3_client *c, const struct s3_name *name, struct err *err)
{
    static const struct http_header condition = {"if-none-match", "*"};
    struct s3_call call = {
        .method = "PUT", .name = name, .key_suffix = "/", .headers = &condition, .header_count = 1};
    struct http_answer answer = {0};
    enum rc rc = s3_send(c, &call, &answer, err);

    if (rc == RC_OK && answer.status == 412)
        s3_client_learn_condition(c, S3_AT_PUT, S3_CONDITION_KEPT);
    else if (rc == RC_OK && (s3_succeeded(&answer) || refuses_condition(&answer)))
        s3_client_learn_condition(c, S3_AT_PUT, S3_CONDITION_IGNORED);
    http_answer_release(&answer);
    return rc;
}

/* ---- upload --------------------------------------------------------------------------------- */

enum upload_state { UPLOAD_OPEN, UPLOAD_FINISHED, UPLOAD_FAILED };

struct s3_upload {
    struct s3_client *client;
    struct s3_name name;
    enum upload_state state;
    char writer[S3_WRITER_LEN + 1];
    struct buf part; /* bytes not sent yet: at most one part */
    uint64_t bytes;
    char *id;          /* of the multipart upload; NULL: all is in `part` */
    struct buf listed; /* the parts that were sent, as XML */
    uint32_t part_count;
};

enum rc s3_upload_new(struct s3_client *c, const struct s3_name *name, struct s3_upload **out,
                      struct err *err)
{
    struct s3_upload *u;

    *out = NULL;
    if (s3_client_condition(c, S3_AT_PUT) != S3_CONDITION_KEPT)
        RETURN_IF_ERR(check_free(c, name, NULL, err));
    u = mem_calloc(1, sizeof *u);
    u->client = c;
    u->name = *name;
    s3_client_writer(c, u->writer);
    *out = u;
    return RC_OK;
}

static enum rc begin_multipart(struct s3_upload *u, struct err *err)
{
    const struct http_header header = {S3_WRITER_HEADER, u->writer};
    struct s3_call call = {.method = "POST",
                           .name = &u->name,
                           .query = "uploads=",
                           .headers = &header,
                           .header_count = 1};
    struct http_answer answer = {0};
    struct buf id = {0};
    enum rc rc;

    GOTO_IF_ERR(s3_do(u->client, &call, &answer, err));
    GOTO_IF_ERR(s3_answer_value(buf_bytes(&answer.body), "begin of a multipart upload",
                                "InitiateMultipartUploadResult", "UploadId", &id, err));
    u->id = mem_strdup(buf_cstr(&id));
out:
    buf_release(&id);
    http_answer_release(&answer);
    return rc;
}

/* "partNumber=7&uploadId=..", or without a number. */
static void put_part_query(struct buf *query, uint32_t number, const char *id)
{
    char text[NUMBER_MAX];

    if (number > 0) {
        snprintf(text, sizeof text, "%" PRIu32, number);
        s3_query_add(query, "partNumber", text);
    }
    s3_query_add(query, "uploadId", id);
    (void)buf_cstr(query);
}

static void list_part(struct buf *listed, uint32_t number, struct bytes etag)
{
    buf_printf(listed, "<Part><PartNumber>%" PRIu32 "</PartNumber><ETag>", number);
    for (size_t i = 0; i < etag.len; i++)
        switch (etag.data[i]) {
        case '&':
            buf_append_str(listed, "&amp;");
            break;
        case '<':
            buf_append_str(listed, "&lt;");
            break;
        default:
            buf_append_u8(listed, etag.data[i]);
        }
    buf_append_str(listed, "</ETag></Part>");
}

static enum rc check_part_count(const struct s3_upload *u, struct err *err)
{
    if (u->part_count < S3_PARTS_MAX)
        return RC_OK;
    return err_set(err, RC_LIMIT,
                   "s3://%s/%s: %d parts of %zu bytes are full, S3 takes no more: larger parts are "
                   "needed (varve.s3.part-size)",
                   u->name.bucket, u->name.key, S3_PARTS_MAX,
                   s3_client_config(u->client)->part_bytes);
}

static enum rc send_part(struct s3_upload *u, struct err *err)
{
    struct http_answer answer = {0};
    struct buf query = {0};
    struct s3_call call = {.method = "PUT", .name = &u->name, .body = buf_bytes(&u->part)};
    const char *etag;
    enum rc rc;

    if (u->id == NULL)
        GOTO_IF_ERR(begin_multipart(u, err));
    GOTO_IF_ERR(check_part_count(u, err));
    put_part_query(&query, u->part_count + 1, u->id);
    call.query = (const char *)query.data;
    GOTO_IF_ERR(s3_do(u->client, &call, &answer, err));
    etag = http_answer_header(&answer, "etag");
    if (etag == NULL || etag[0] == '\0' || strlen(etag) > ETAG_MAX)
        GOTO_IF_ERR(err_set(err, RC_CORRUPT,
                            "s3://%s/%s: the answer to part %" PRIu32 " has no ETag",
                            u->name.bucket, u->name.key, u->part_count + 1));
    list_part(&u->listed, ++u->part_count, bytes_of_str(etag));
    buf_clear(&u->part);
out:
    buf_release(&query);
    http_answer_release(&answer);
    return rc;
}

static enum rc check_open(const struct s3_upload *u, struct err *err)
{
    if (u->state == UPLOAD_OPEN)
        return RC_OK;
    if (u->state == UPLOAD_FINISHED)
        return err_set(err, RC_UNSUPPORTED,
                       "s3://%s/%s: an object on S3 is whole once it was synced: nothing can be "
                       "appended",
                       u->name.bucket, u->name.key);
    return err_set(err, RC_IO, "s3://%s/%s: an earlier write failed", u->name.bucket, u->name.key);
}

enum rc s3_upload_append(struct s3_upload *u, struct bytes data, struct err *err)
{
    size_t part_bytes = s3_client_config(u->client)->part_bytes;

    RETURN_IF_ERR(check_open(u, err));
    while (data.len > 0) {
        size_t room = part_bytes - u->part.len, len;

        if (room == 0) {
            enum rc rc = send_part(u, err);

            if (rc != RC_OK) {
                u->state = UPLOAD_FAILED;
                return rc;
            }
            room = part_bytes;
        }
        len = data.len < room ? data.len : room;
        buf_append(&u->part, data.data, len);
        data = bytes_of(data.data + len, data.len - len);
        u->bytes += len;
    }
    return RC_OK;
}

static enum rc put_whole(struct s3_upload *u, struct err *err)
{
    const struct http_header headers[] = {{S3_WRITER_HEADER, u->writer}, {"if-none-match", "*"}};
    struct s3_call call = {.method = "PUT",
                           .name = &u->name,
                           .headers = headers,
                           .header_count = 2,
                           .body = buf_bytes(&u->part)};
    struct http_answer answer = {0};
    enum rc rc = send_new(u->client, &call, u->writer, &answer, err);

    http_answer_release(&answer);
    return rc;
}

/* A completion that was carried out and whose answer was lost is answered with 404 when it comes
 * again: settled by the mark. */
static enum rc complete(struct s3_upload *u, struct err *err)
{
    static const struct http_header condition = {"if-none-match", "*"};
    struct buf query = {0}, body = {0}, etag = {0};
    struct http_answer answer = {0};
    struct s3_call call = {.method = "POST",
                           .name = &u->name,
                           .headers = &condition,
                           .header_count = 1,
                           .error_in_200 = true};
    enum rc rc;

    put_part_query(&query, 0, u->id);
    buf_printf(&body,
               "<CompleteMultipartUpload "
               "xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">%s"
               "</CompleteMultipartUpload>",
               buf_cstr(&u->listed));
    call.query = (const char *)query.data;
    call.body = buf_bytes(&body);
    GOTO_IF_ERR(send_new(u->client, &call, u->writer, &answer, err));
    if (s3_succeeded(&answer)) /* else settled: it is there */
        GOTO_IF_ERR(s3_answer_value(buf_bytes(&answer.body), "end of a multipart upload",
                                    "CompleteMultipartUploadResult", "ETag", &etag, err));
out:
    buf_release(&query);
    buf_release(&body);
    buf_release(&etag);
    http_answer_release(&answer);
    return rc;
}

enum rc s3_upload_finish(struct s3_upload *u, struct err *err)
{
    enum rc rc = RC_OK;

    if (u->state == UPLOAD_FINISHED)
        return RC_OK;
    RETURN_IF_ERR(check_open(u, err));
    u->state = UPLOAD_FAILED; /* until proven otherwise */
    if (u->id == NULL) {
        rc = put_whole(u, err);
    } else {
        if (u->part.len > 0)
            rc = send_part(u, err);
        if (rc == RC_OK)
            rc = complete(u, err);
    }
    if (rc == RC_OK)
        u->state = UPLOAD_FINISHED;
    return rc;
}

uint64_t s3_upload_bytes(const struct s3_upload *u)
{
    return u->bytes;
}

static enum rc abort_multipart(struct s3_client *c, const struct s3_name *name, const char *id,
                               struct err *err)
{
    struct http_answer answer = {0};
    struct err local = {0};
    struct buf query = {0};
    struct s3_call call = {.method = "DELETE", .name = name};
    enum rc rc;

    put_part_query(&query, 0, id);
    call.query = (const char *)query.data;
    rc = s3_do(c, &call, &answer, &local);
    buf_release(&query);
    http_answer_release(&answer);
    return rc == RC_OK || rc == RC_NOT_FOUND ? RC_OK : err_set(err, rc, "%s", local.msg);
}

void s3_upload_free(struct s3_upload *u)
{
    struct err trouble = {0};

    if (u == NULL)
        return;
    if (u->id != NULL && u->state != UPLOAD_FINISHED &&
        abort_multipart(u->client, &u->name, u->id, &trouble) != RC_OK)
        log_line(s3_client_env(u->client)->log, LOG_WARN,
                 "parts of an upload stay until its directory is opened again: %s", trouble.msg);
    mem_free(u->id);
    buf_release(&u->part);
    buf_release(&u->listed);
    mem_free(u);
}

/* ---- copies --------------------------------------------------------------------------------- */

static void put_source(struct buf *out, const struct s3_name *from)
{
    buf_printf(out, "/%s/", from->bucket);
    http_escape(out, bytes_of_str(from->key), "/");
    (void)buf_cstr(out);
}

static enum rc copy_whole(struct s3_client *c, const char *source, const struct s3_name *to,
                          struct err *err)
{
    const struct http_header header = {"x-amz-copy-source", source};
    struct s3_call call = {
        .method = "PUT", .name = to, .headers = &header, .header_count = 1, .error_in_200 = true};
    struct http_answer answer = {0};
    struct buf etag = {0};
    enum rc rc;

    GOTO_IF_ERR(s3_do(c, &call, &answer, err));
    GOTO_IF_ERR(
        s3_answer_value(buf_bytes(&answer.body), "copy", "CopyObjectResult", "ETag", &etag, err));
out:
    buf_release(&etag);
    http_answer_release(&answer);
    return rc;
}

/* Bytes first..last of the source as the next part. */
static enum rc copy_part(struct s3_upload *u, const char *source, uint64_t first, uint64_t last,
                         struct err *err)
{
    char range[2 * NUMBER_MAX + 8];
    const struct http_header headers[] = {{"x-amz-copy-source", source},
                                          {"x-amz-copy-source-range", range}};
    struct s3_call call = {.method = "PUT",
                           .name = &u->name,
                           .headers = headers,
                           .header_count = 2,
                           .error_in_200 = true};
    struct http_answer answer = {0};
    struct buf query = {0}, etag = {0};
    enum rc rc;

    GOTO_IF_ERR(check_part_count(u, err));
    snprintf(range, sizeof range, "bytes=%" PRIu64 "-%" PRIu64, first, last);
    put_part_query(&query, u->part_count + 1, u->id);
    call.query = (const char *)query.data;
    GOTO_IF_ERR(s3_do(u->client, &call, &answer, err));
    GOTO_IF_ERR(s3_answer_value(buf_bytes(&answer.body), "copy of a part", "CopyPartResult", "ETag",
                                &etag, err));
    list_part(&u->listed, ++u->part_count, buf_bytes(&etag));
out:
    buf_release(&query);
    buf_release(&etag);
    http_answer_release(&answer);
    return rc;
}

/* As an upload, so always of a new object: replacing such a large one is not needed. */
static enum rc copy_in_parts(struct s3_client *c, const char *source, const struct s3_name *to,
                             uint64_t bytes, struct err *err)
{
    uint64_t part = s3_client_config(c)->copy_part_bytes;
    struct s3_upload *u;
    enum rc rc;

    RETURN_IF_ERR(s3_upload_new(c, to, &u, err));
    GOTO_IF_ERR(begin_multipart(u, err));
    for (uint64_t at = 0; at < bytes; at += part)
        GOTO_IF_ERR(copy_part(u, source, at, (bytes - at < part ? bytes : at + part) - 1, err));
    GOTO_IF_ERR(complete(u, err));
    u->state = UPLOAD_FINISHED;
out:
    s3_upload_free(u);
    return rc;
}

enum rc s3_copy(struct s3_client *c, const struct s3_name *from, const struct s3_name *to,
                bool replace, struct err *err)
{
    struct http_answer answer = {0};
    struct buf source = {0};
    uint64_t bytes;
    enum rc rc;

    GOTO_IF_ERR(head(c, from, NULL, &answer, err));
    GOTO_IF_ERR(s3_length(from, &answer, &bytes, err));
    put_source(&source, from);
    if (bytes > s3_client_config(c)->copy_part_bytes) {
        rc = copy_in_parts(c, (const char *)source.data, to, bytes, err);
        goto out;
    }
    if (!replace)
        GOTO_IF_ERR(check_free(c, to, NULL, err));
    rc = copy_whole(c, (const char *)source.data, to, err);
out:
    buf_release(&source);
    http_answer_release(&answer);
    return rc;
}

/* ---- what a crash left ---------------------------------------------------------------------- */

struct leftover {
    char *key, *id;
};
struct leftovers {
    struct arena *arena;
    const char *dir; /* its key */
    int64_t before_wall_ms;
    struct leftover *items;
    size_t count, cap;
};

static enum rc note_upload(void *ctx, const struct s3_upload_line *line, struct err *err UNUSED)
{
    struct leftovers *l = ctx;
    size_t dir_len = strlen(l->dir);

    /* What a server lists besides the prefix is not ours. */
    if (line->begun_wall_ms >= l->before_wall_ms || strncmp(line->key, l->dir, dir_len) != 0 ||
        line->key[dir_len] != '/' || strlen(line->key) >= FS_PATH_MAX)
        return RC_OK;
    if (l->count == l->cap) {
        l->cap = l->cap == 0 ? 16 : l->cap * 2;
        l->items = mem_realloc(l->items, l->cap * sizeof *l->items);
    }
    l->items[l->count++] =
        (struct leftover){arena_strdup(l->arena, line->key), arena_strdup(l->arena, line->id)};
    return RC_OK;
}

static void uploads_query(struct buf *query, struct buf *prefix, struct buf *next_key,
                          struct buf *next_id)
{
    buf_clear(query);
    s3_query_add(query, "encoding-type", "url");
    if (next_key->len > 0)
        s3_query_add(query, "key-marker", buf_cstr(next_key));
    s3_query_add(query, "prefix", buf_cstr(prefix));
    if (next_key->len > 0)
        s3_query_add(query, "upload-id-marker", buf_cstr(next_id));
    s3_query_add(query, "uploads", "");
    (void)buf_cstr(query);
}

static void keep_marker(struct buf *last, const struct buf *next)
{
    buf_clear(last);
    buf_append(last, next->data, next->len);
}

static enum rc list_uploads(struct s3_client *c, const struct s3_name *dir, struct leftovers *l,
                            struct err *err)
{
    struct buf query = {0}, prefix = {0}, next_key = {0}, next_id = {0};
    struct buf last_key = {0}, last_id = {0};
    int order;
    struct s3_name bucket = *dir;
    struct http_answer answer = {0};
    struct s3_call call = {.method = "GET", .name = &bucket};
    enum rc rc;

    bucket.key[0] = '\0';
    buf_printf(&prefix, "%s/", dir->key);
    do {
        keep_marker(&last_key, &next_key);
        keep_marker(&last_id, &next_id);
        uploads_query(&query, &prefix, &next_key, &next_id);
        call.query = (const char *)query.data;
        GOTO_IF_ERR(s3_send(c, &call, &answer, err));
        if (answer.status == 501)
            goto out;
        if (!s3_succeeded(&answer))
            GOTO_IF_ERR(s3_refused(c, &call, &answer, err));
        GOTO_IF_ERR(s3_answer_uploads(buf_bytes(&answer.body), "list of multipart uploads",
                                      note_upload, l, &next_key, &next_id, err));
        order = bytes_cmp(buf_bytes(&next_key), buf_bytes(&last_key));
        if (order == 0)
            order = bytes_cmp(buf_bytes(&next_id), buf_bytes(&last_id));
        if (next_key.len > 0 && order <= 0)
            GOTO_IF_ERR(err_set(err, RC_CORRUPT,
                                "list uploads below s3://%s/%s: the server goes in circles",
                                dir->bucket, dir->key));
    } while (next_key.len > 0);
out:
    buf_release(&query);
    buf_release(&prefix);
    buf_release(&next_key);
    buf_release(&next_id);
    buf_release(&last_key);
    buf_release(&last_id);
    http_answer_release(&answer);
    return rc;
}

enum rc s3_drop_uploads(struct s3_client *c, const struct s3_name *dir, int64_t before_wall_ms,
                        size_t *dropped, struct err *err)
{
    struct leftovers l = {
        .arena = arena_new(4096), .dir = dir->key, .before_wall_ms = before_wall_ms};
    struct s3_name name = *dir;
    enum rc rc;

    *dropped = 0;
    GOTO_IF_ERR(list_uploads(c, dir, &l, err));
    for (size_t i = 0; i < l.count; i++) {
        memcpy(name.key, l.items[i].key, strlen(l.items[i].key) + 1);
        GOTO_IF_ERR(abort_multipart(c, &name, l.items[i].id, err));
        ++*dropped;
    }
out:
    mem_free(l.items);
    arena_free(l.arena);
    return rc;
}
