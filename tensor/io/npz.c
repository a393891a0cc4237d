/* npz files: a zip archive with one npy file per array. Reading checks the entries' names and the
 * sum of their unpacked sizes before anything is unpacked, since a small file may unpack to a large
 * one. Writing passes the tensors' memory to libzip without a copy, into a temporary file that
 * replaces the old one only when it is complete. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zip.h>

#include "tensor/base/error.h"
#include "tensor/io/file.h"
#include "tensor/io/npy.h"
#include "tensor/op.h"

enum { PIECE = 1 << 20 }; /* bytes between checks for Ctrl-C */

bool gp_npz_add(gp_npz *z, const char *name, gp_tensor *t) {
    size_t n = (size_t)z->n + 1;
    char *copy = strdup(name);
    char **names = realloc(z->name, n * sizeof *names);
    if (names) z->name = names;
    gp_tensor **ts = realloc(z->t, n * sizeof *ts);
    if (ts) z->t = ts;
    if (!copy || !names || !ts) {
        free(copy);
        gp_tensor_unref(t);
        return gp_fail("npz: out of memory");
    }
    z->name[z->n] = copy;
    z->t[z->n++] = t;
    return true;
}

void gp_npz_free(gp_npz *z) {
    for (int i = 0; i < z->n; i++) {
        free(z->name[i]);
        gp_tensor_unref(z->t[i]);
    }
    free(z->name);
    free(z->t);
    *z = (gp_npz){0};
}

/* libzip's text, and the system's with it. */
static const char *zip_text(zip_error_t *e) {
    return zip_error_code_zip(e) == ZIP_ER_MEMORY ? "out of memory" : zip_error_strerror(e);
}

static bool zip_fail(const char *op, const char *file, zip_error_t *e) {
    if (zip_error_code_zip(e) == ZIP_ER_NOZIP || zip_error_code_zip(e) == ZIP_ER_INCONS)
        return gp_fail("%s: %s is cut off or damaged: the zip archive's list of entries, at its "
                       "end, is invalid",
                       op, file);
    return gp_fail("%s: cannot read %s: %s", op, file, zip_text(e));
}

/* A gp_npy_source's read, from the entry that libzip has open. */
static int64_t read_entry(void *from, void *to, uint64_t bytes) {
    uint64_t done = 0;
    while (done < bytes) {
        if (gp_file_stopped("npz.load")) return errno = EINTR, -1;
        uint64_t most = bytes - done < PIECE ? bytes - done : PIECE;
        zip_int64_t n = zip_fread(from, (char *)to + done, most);
        if (n < 0) return errno = EIO, -1;
        if (n == 0) break;
        done += (uint64_t)n;
    }
    return (int64_t)done;
}

static const char *why_entry(void *from) {
    zip_error_t *e = zip_file_get_error(from);
    if (zip_error_code_zip(e) == ZIP_ER_CRC) return "the data does not match its checksum";
    return zip_text(e);
}

/* Reads the entry st of za as npy. NULL with a message that names it. */
static gp_tensor *read_array(zip_t *za, const zip_stat_t *st, gp_npy_source *s) {
    zip_file_t *f = zip_fopen_index(za, st->index, 0);
    if (!f)
        return gp_fail_null("%s: %s, entry '%s': %s", s->op, s->file, s->entry,
                            zip_text(zip_get_error(za)));
    s->from = f;
    gp_tensor *t = gp_npy_read(s);
    zip_fclose(f);
    if (t && s->at != s->size) {
        gp_fail("%s: %s, entry '%s': it has %llu bytes, where the archive's list says %llu", s->op,
                s->file, s->entry, (unsigned long long)s->at, (unsigned long long)s->size);
        gp_tensor_unref(t), t = NULL;
    }
    return t;
}

static int by_name(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Whether no name is there twice: the second array would replace the first. */
static bool distinct(const gp_npz *z, const char *file) {
    char **sorted = malloc(((size_t)z->n + 1) * sizeof *sorted);
    if (!sorted) return gp_fail("npz.load: out of memory");
    for (int i = 0; i < z->n; i++) sorted[i] = z->name[i];
    qsort(sorted, (size_t)z->n, sizeof *sorted, by_name);
    bool ok = true;
    for (int i = 1; ok && i < z->n; i++)
        if (!strcmp(sorted[i - 1], sorted[i]))
            ok = gp_fail("npz.load: %s has two entries '%s.npy' (expected one of each name)", file,
                         sorted[i]);
    free(sorted);
    return ok;
}

/* Whether what all n entries unpack to is within the limit. Arrays that are not larger than their
 * file cost no more than it: they are fine. */
static bool affordable(zip_t *za, zip_int64_t n, const char *file, uint64_t size, uint64_t most) {
    uint64_t all = 0;
    zip_stat_t st;
    for (zip_int64_t i = 0; i < n; i++)
        if (!zip_stat_index(za, (zip_uint64_t)i, 0, &st) && st.valid & ZIP_STAT_SIZE &&
            __builtin_add_overflow(all, st.size, &all))
            all = UINT64_MAX;
    return all <= most || all <= size ||
           gp_fail("npz.load: %s has %llu bytes and unpacks to %llu (limit %llu; option max_bytes "
                   "sets it)",
                   file, (unsigned long long)size, (unsigned long long)all,
                   (unsigned long long)most);
}

/* Reads entry i, under its name without .npy; entries of other kinds are an error. */
static bool load_entry(zip_t *za, zip_uint64_t i, const char *file, gp_npz *out) {
    zip_stat_t st;
    const zip_uint64_t all = ZIP_STAT_NAME | ZIP_STAT_SIZE | ZIP_STAT_COMP_SIZE;
    if (zip_stat_index(za, i, 0, &st) || (st.valid & all) != all)
        return gp_fail("npz.load: %s: entry %llu: %s", file, (unsigned long long)i + 1,
                       zip_strerror(za));
    size_t n = strlen(st.name);
    if (n >= 8 && !strcmp(st.name + n - 8, "data.pkl"))
        return gp_fail(
            "npz.load: %s is PyTorch's (.pt), which holds code and is not read: " GP_CONVERT_PT,
            file);
    if (n < 4 || strcmp(st.name + n - 4, ".npy"))
        return gp_fail("npz.load: %s: entry '%s' is not an npy file", file, st.name);
    /* Deflate packs at most 1032 : 1; an entry that claims more is refused before memory is
     * allocated. */
    if (st.size / 1032 > st.comp_size + 1)
        return gp_fail("npz.load: %s, entry '%s': %llu bytes cannot come from %llu", file, st.name,
                       (unsigned long long)st.size, (unsigned long long)st.comp_size);
    gp_npy_source s = {.op = "npz.load",
                       .file = file,
                       .entry = st.name,
                       .size = st.size,
                       .read = read_entry,
                       .why = why_entry};
    gp_tensor *t = read_array(za, &st, &s);
    if (!t) return false;
    char *name = strndup(st.name, n - 4);
    if (!name) return gp_tensor_unref(t), gp_fail("npz.load: out of memory");
    bool ok = gp_npz_add(out, name, t);
    free(name);
    return ok;
}

/* The archive in f, which it takes over; NULL with a message. */
static zip_t *open_archive(const char *file, FILE *f) {
    zip_error_t e;
    zip_error_init(&e);
    zip_source_t *src = zip_source_filep_create(f, 0, -1, &e);
    zip_t *za = src ? zip_open_from_source(src, ZIP_RDONLY, &e) : NULL;
    if (!za) zip_fail("npz.load", file, &e);
    if (!za && src) zip_source_free(src);
    if (!src) fclose(f);
    zip_error_fini(&e);
    return za;
}

bool gp_npz_load(const char *file, uint64_t most, gp_npz *out) {
    uint64_t size;
    FILE *f = gp_file_begin("npz.load", file, "PK", "an npz file", &size);
    zip_t *za = f ? open_archive(file, f) : NULL;
    if (!za) return false;
    zip_int64_t n = zip_get_num_entries(za, 0);
    bool ok = affordable(za, n, file, size, most);
    for (zip_int64_t i = 0; ok && i < n; i++) ok = load_entry(za, (zip_uint64_t)i, file, out);
    ok = ok && distinct(out, file);
    zip_discard(za);
    return ok;
}

/* Adds t to the archive without copying its data: t (contiguous) and head stay until the archive is
 * closed. */
static bool add_entry(zip_t *za, const char *name, gp_tensor *t, char head[GP_NPY_HEADER],
                      size_t nhead, bool deflate) {
    size_t bytes = (size_t)t->a.numel * gp_dtype_size((gp_dtype)t->a.dtype), n = strlen(name);
    zip_buffer_fragment_t parts[2] = {{(zip_uint8_t *)head, nhead},
                                      {(zip_uint8_t *)t->a.data, bytes}};
    zip_source_t *src = zip_source_buffer_fragment(za, parts, bytes ? 2 : 1, 0);
    char *entry = malloc(n + 5);
    zip_int64_t i = -1;
    if (src && entry) {
        snprintf(entry, n + 5, "%s.npy", name);
        i = zip_file_add(za, entry, src, ZIP_FL_ENC_UTF_8);
    }
    bool memory = src && entry;
    free(entry);
    if (i < 0) {
        zip_source_free(src);
        return gp_fail("npz.save: name '%s': %s", name,
                       memory ? zip_text(zip_get_error(za)) : "out of memory");
    }
    /* 1980-01-01: the same arrays give the same bytes. */
    zip_file_set_dostime(za, (zip_uint64_t)i, 0, 1 << 5 | 1, 0);
    zip_int32_t method = deflate ? ZIP_CM_DEFLATE : ZIP_CM_STORE;
    return !zip_set_file_compression(za, (zip_uint64_t)i, method, 0) ||
           gp_fail("npz.save: name '%s': %s", name, zip_text(zip_get_error(za)));
}

static int stopped(zip_t *za, void *unused) {
    (void)za, (void)unused;
    return gp_file_stopped("npz.save");
}

/* Fails with the system's error where libzip met one. */
static bool unwritable(const char *file, zip_error_t *e) {
    if (zip_error_system_type(e) == ZIP_ET_SYS && zip_error_code_system(e))
        return errno = zip_error_code_system(e), gp_file_unwritable("npz.save", file);
    return gp_fail("npz.save: cannot write %s: %s", file, zip_text(e));
}

/* What libzip writes goes into the file itself: by name it would write a temporary of its own. */
typedef struct sink {
    FILE *f;
    zip_error_t error;
} sink;

static zip_int64_t sink_failed(sink *to) {
    zip_error_set(&to->error, ZIP_ER_WRITE, errno);
    return -1;
}

/* A zip_source_callback for an empty file that is written. */
static zip_int64_t write_to(void *state, void *data, zip_uint64_t n, zip_source_cmd_t cmd) {
    sink *to = state;
    zip_source_args_seek_t *seek = data;
    zip_stat_t *st = data;
    zip_int64_t at;
    switch (cmd) {
    case ZIP_SOURCE_SUPPORTS: return ZIP_SOURCE_SUPPORTS_WRITABLE;
    case ZIP_SOURCE_ERROR: return zip_error_to_data(&to->error, data, n);
    case ZIP_SOURCE_STAT:
        zip_stat_init(st);
        st->valid = ZIP_STAT_SIZE;
        return st->size = 0, sizeof *st;
    case ZIP_SOURCE_WRITE: return fwrite(data, 1, n, to->f) == n ? (zip_int64_t)n : sink_failed(to);
    case ZIP_SOURCE_SEEK_WRITE:
        return fseeko(to->f, seek->offset, seek->whence) ? sink_failed(to) : 0;
    case ZIP_SOURCE_TELL_WRITE: at = ftello(to->f); return at < 0 ? sink_failed(to) : at;
    default: return 0; /* nothing to begin, to end or to read */
    }
}

/* Adds all arrays and writes the archive. */
static bool write_all(zip_t *za, const char *file, const gp_npz *z, char (*head)[GP_NPY_HEADER],
                      gp_tensor **flat, bool deflate) {
    bool ok = true;
    for (int i = 0; ok && i < z->n; i++) {
        size_t n = gp_npy_header("npz.save", z->t[i], head[i]);
        ok = n && (flat[i] = gp_to_host(z->t[i], GP_WHY_copy, "npz.save")) &&
             add_entry(za, z->name[i], flat[i], head[i], n, deflate);
    }
    zip_register_cancel_callback_with_state(za, stopped, NULL, NULL);
    if (ok && zip_close(za))
        ok = !gp_file_stopped("npz.save") && unwritable(file, zip_get_error(za));
    if (!ok) zip_discard(za);
    return ok;
}

/* An empty archive that is written to `to`; NULL with a message. */
static zip_t *new_archive(sink *to, const char *file) {
    zip_error_t e;
    zip_error_init(&e);
    zip_source_t *src = zip_source_function_create(write_to, to, &e);
    zip_t *za = src ? zip_open_from_source(src, ZIP_CREATE | ZIP_TRUNCATE, &e) : NULL;
    if (!za) {
        zip_source_free(src);
        unwritable(file, &e);
    }
    zip_error_fini(&e);
    return za;
}

/* Writes the archive to o->f. */
static bool write_archive(const gp_outfile *o, const gp_npz *z, bool deflate) {
    sink to = {.f = o->f};
    zip_error_init(&to.error);
    zip_t *za = new_archive(&to, o->file);
    if (!za) return false;
    char(*head)[GP_NPY_HEADER] = malloc((size_t)z->n * sizeof *head);
    gp_tensor **flat = calloc((size_t)z->n, sizeof *flat);
    bool ok = false;
    if (head && flat) {
        ok = write_all(za, o->file, z, head, flat, deflate);
        for (int i = 0; i < z->n; i++) gp_tensor_unref(flat[i]);
    } else {
        zip_discard(za);
        gp_fail("npz.save: out of memory");
    }
    free(head);
    free(flat);
    return ok;
}

bool gp_npz_save(const char *file, const gp_npz *z, bool deflate) {
    gp_outfile o;
    if (z->n == 0) return gp_fail("npz.save: no tensors to write to %s", file);
    if (!gp_outfile_begin(&o, "npz.save", file)) return false;
    bool ok = o.temporary[0] || gp_fail("npz.save: %s is not a regular file", file);
    if (ok && write_archive(&o, z, deflate)) return gp_outfile_commit(&o, true);
    gp_outfile_cancel(&o);
    return false;
}
