/* input_file.c - see input_file.h */
#include "job/source/input_file.h"

#include "base/arena.h"
#include "base/hash.h"
#include "job/source/decompress.h"

#define RAW_BYTES (128u << 10)  /* compressed bytes read at a time */
#define SKIP_BYTES (256u << 10) /* decompressed bytes thrown away at a time on a seek */

struct input_file {
    struct fs_file *file;
    struct decompressor *decompressor; /* NULL: plain */
    uint64_t raw_offset;               /* next byte to read from the disk */
    uint8_t *raw;                      /* compressed bytes not taken yet: raw[raw_from..raw_to) */
    size_t raw_from, raw_to;
    bool raw_end;
    bool done;
    uint8_t head[FILE_HEAD_BYTES_MAX];
    uint32_t head_len;
};

enum rc input_file_open(struct fs *fs, const char *path, struct input_file **out, struct err *err)
{
    struct input_file *f = mem_calloc(1, sizeof *f);
    enum compression compression;
    size_t got = 0;
    enum rc rc;

    *out = NULL;
    GOTO_IF_ERR(fs_open_read(fs, path, &f->file, err));
    GOTO_IF_ERR(fs_read_at(f->file, 0, f->head, sizeof f->head, &got, err));
    f->head_len = (uint32_t)got;
    GOTO_IF_ERR(compression_of(path, bytes_of(f->head, got), &compression, err));
    if (compression != COMPRESSION_NONE) {
        f->decompressor = decompressor_new(compression);
        f->raw = mem_alloc(RAW_BYTES);
    }
    *out = f;
    f = NULL;
out:
    input_file_close(f);
    return rc;
}

void input_file_close(struct input_file *f)
{
    if (f == NULL)
        return;
    fs_abandon(&f->file);
    decompressor_free(f->decompressor);
    mem_free(f->raw);
    mem_free(f);
}

struct file_head input_file_head(const struct input_file *f)
{
    return (struct file_head){f->head_len, hash64(bytes_of(f->head, f->head_len))};
}

static enum rc check_length(const struct input_file *f, uint64_t offset, struct err *err)
{
    uint64_t size;

    RETURN_IF_ERR(fs_size(f->file, &size, err));
    if (size < offset)
        return err_set(err, RC_CORRUPT, "%s: was read up to byte %llu, but has only %llu bytes now",
                       f->file->path, (unsigned long long)offset, (unsigned long long)size);
    return RC_OK;
}

enum rc input_file_check(const struct input_file *f, struct file_head head, uint64_t offset,
                         struct err *err)
{
    if (f->decompressor == NULL)
        RETURN_IF_ERR(check_length(f, offset, err));
    if (head.len == 0 ||
        (head.len <= f->head_len && hash64(bytes_of(f->head, head.len)) == head.hash))
        return RC_OK;
    return err_set(err, RC_CORRUPT,
                   "%s: is not the file that was read before: its first %u bytes differ",
                   f->file->path, head.len);
}

enum rc input_file_seek(struct input_file *f, uint64_t offset, struct err *err)
{
    uint64_t at = 0, raw;
    bool at_end = false;
    uint8_t *thrown;
    enum rc rc = RC_OK;

    if (f->decompressor == NULL) {
        RETURN_IF_ERR(check_length(f, offset, err));
        f->raw_offset = offset;
        return RC_OK;
    }
    thrown = mem_alloc(SKIP_BYTES);
    while (at < offset && !at_end) {
        uint64_t left = offset - at;
        size_t got;

        GOTO_IF_ERR(input_file_read(f, thrown, left < SKIP_BYTES ? (size_t)left : SKIP_BYTES, &got,
                                    &at_end, &raw, err));
        at += got;
    }
    if (at < offset)
        rc = err_set(err, RC_CORRUPT,
                     "%s: was read up to byte %llu of its content, which has only %llu bytes now",
                     f->file->path, (unsigned long long)offset, (unsigned long long)at);
out:
    mem_free(thrown);
    return rc;
}

static enum rc read_compressed(struct input_file *f, uint8_t *out, size_t cap, size_t *got,
                               uint64_t *raw, struct err *err)
{
    while (*got == 0 && !f->done) {
        size_t used, len;
        enum rc rc;

        if (f->raw_from == f->raw_to && !f->raw_end) {
            RETURN_IF_ERR(fs_read_at(f->file, f->raw_offset, f->raw, RAW_BYTES, &len, err));
            f->raw_from = 0;
            f->raw_to = len;
            f->raw_offset += len;
            f->raw_end = len < RAW_BYTES;
            *raw += len;
        }
        rc = decompressor_run(f->decompressor,
                              bytes_of(f->raw + f->raw_from, f->raw_to - f->raw_from), f->raw_end,
                              &used, out, cap, got, &f->done, err);
        if (rc != RC_OK)
            return err_wrap(err, rc, "%s", f->file->path);
        f->raw_from += used;
    }
    return RC_OK;
}

enum rc input_file_read(struct input_file *f, uint8_t *out, size_t cap, size_t *got, bool *at_end,
                        uint64_t *raw, struct err *err)
{
    *got = 0;
    *raw = 0;
    if (f->decompressor != NULL) {
        RETURN_IF_ERR(read_compressed(f, out, cap, got, raw, err));
    } else {
        RETURN_IF_ERR(fs_read_at(f->file, f->raw_offset, out, cap, got, err));
        f->raw_offset += *got;
        f->done = *got < cap;
        *raw = *got;
    }
    *at_end = f->done;
    return RC_OK;
}
