/* npz files: a zip archive with one npy file per array. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zip.h>

#include "tensor/error.h"
#include "tensor/io/file.h"
#include "tensor/io/npy.h"
#include "tensor/op.h"

enum { PIECE = 1 << 20 }; /* bytes between looks whether Ctrl-C came */

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

/* libzip's own message: a zip error code and errno. */
static bool zip_fail(const char *op, const char *file, int code) {
    zip_error_t e;
    zip_error_init_with_code(&e, code);
    gp_fail("%s: %s: %s", op, file, zip_error_strerror(&e));
    zip_error_fini(&e);
    return false;
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

/* The rest of the entry, which makes libzip compare the checksum. */
static bool read_rest(gp_npy_source *s) {
    char skipped[4096];
    zip_int64_t n;
    while ((n = zip_fread(s->from, skipped, sizeof skipped)) > 0) continue;
    return n == 0 || gp_fail("%s: %s, entry '%s': the data does not match its checksum", s->op,
                             s->file, s->entry);
}

/* The entry st of za as npy. NULL with a message that names it. */
static gp_tensor *read_array(zip_t *za, const zip_stat_t *st, gp_npy_source *s) {
    zip_file_t *f = zip_fopen_index(za, st->index, 0);
    if (!f)
        return gp_fail_null("%s: %s, entry '%s': %s", s->op, s->file, s->entry, zip_strerror(za));
    s->from = f;
    gp_tensor *t = gp_npy_read(s);
    if (t && !read_rest(s)) gp_tensor_unref(t), t = NULL;
    zip_fclose(f);
    return t;
}

/* Entry i, under its name without .npy; entries of other kinds are an error. */
static bool load_entry(zip_t *za, zip_uint64_t i, const char *file, gp_npz *out) {
    zip_stat_t st;
    const zip_uint64_t all = ZIP_STAT_NAME | ZIP_STAT_SIZE | ZIP_STAT_COMP_SIZE;
    if (zip_stat_index(za, i, 0, &st) || (st.valid & all) != all)
        return gp_fail("npz.load: %s: entry %llu: %s", file, (unsigned long long)i + 1,
                       zip_strerror(za));
    size_t n = strlen(st.name);
    if (n >= 8 && !strcmp(st.name + n - 8, "data.pkl"))
        return gp_fail("npz.load: %s is PyTorch's (.pt), which holds code and is not read: " GP_CONVERT_PT, file);
    if (n < 4 || strcmp(st.name + n - 4, ".npy"))
        return gp_fail("npz.load: %s: entry '%s' is not an npy file", file, st.name);
    /* Deflate does not pack tighter than 1032 : 1; an entry that says so is refused before memory
     * is asked for. */
    if (st.size / 1032 > st.comp_size + 1)
        return gp_fail("npz.load: %s, entry '%s': %llu bytes cannot come from %llu", file, st.name,
                       (unsigned long long)st.size, (unsigned long long)st.comp_size);
    gp_npy_source s = {
        .op = "npz.load", .file = file, .entry = st.name, .size = st.size, .read = read_entry};
    gp_tensor *t = read_array(za, &st, &s);
    if (!t) return false;
    char *name = strndup(st.name, n - 4);
    if (!name) return gp_tensor_unref(t), gp_fail("npz.load: out of memory");
    bool ok = gp_npz_add(out, name, t);
    free(name);
    return ok;
}

bool gp_npz_load(const char *file, gp_npz *out) {
    int code;
    uint64_t size;
    FILE *f = gp_file_open("npz.load", file, &size); /* for its messages */
    if (!f) return false;
    char start[2] = {0};
    bool pickled = fread(start, 1, 2, f) == 2 && !gp_file_no_pickle("npz.load", file, start);
    fclose(f);
    if (pickled) return false;
    zip_t *za = zip_open(file, ZIP_RDONLY, &code);
    if (!za) return zip_fail("npz.load", file, code);
    zip_int64_t n = zip_get_num_entries(za, 0);
    bool ok = true;
    for (zip_int64_t i = 0; ok && i < n; i++) ok = load_entry(za, (zip_uint64_t)i, file, out);
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
        memcpy(entry, name, n);
        memcpy(entry + n, ".npy", 5);
        i = zip_file_add(za, entry, src, ZIP_FL_ENC_UTF_8);
    }
    free(entry);
    if (i < 0) {
        zip_source_free(src);
        return gp_fail("npz.save: name '%s': %s", name, zip_strerror(za));
    }
    /* 1980-01-01: the same arrays give the same bytes. */
    zip_file_set_dostime(za, (zip_uint64_t)i, 0, 1 << 5 | 1, 0);
    zip_int32_t method = deflate ? ZIP_CM_DEFLATE : ZIP_CM_STORE;
    return !zip_set_file_compression(za, (zip_uint64_t)i, method, 0) ||
           gp_fail("npz.save: name '%s': %s", name, zip_strerror(za));
}

static int stopped(zip_t *za, void *unused) {
    (void)za, (void)unused;
    return gp_file_stopped("npz.save");
}

/* Adds all arrays and writes the archive; libzip writes to a temporary beside file and renames. */
static bool write_all(zip_t *za, const char *file, const gp_npz *z, char (*head)[GP_NPY_HEADER],
                      gp_tensor **flat, bool deflate) {
    bool ok = true;
    for (int i = 0; ok && i < z->n; i++) {
        size_t n = gp_npy_header("npz.save", z->t[i], head[i]);
        ok = n && (flat[i] = gp_contiguous(z->t[i])) &&
             add_entry(za, z->name[i], flat[i], head[i], n, deflate);
    }
    zip_register_cancel_callback_with_state(za, stopped, NULL, NULL);
    if (ok && zip_close(za)) ok = !gp_file_stopped("npz.save") && gp_fail("npz.save: cannot write %s: %s", file, zip_strerror(za));
    if (!ok) zip_discard(za);
    return ok;
}

bool gp_npz_save(const char *file, const gp_npz *z, bool deflate) {
    char target[PATH_MAX];
    int mode, code;
    if (z->n == 0) return gp_fail("npz.save: no tensors to write to %s", file);
    if (!gp_file_target("npz.save", file, target, &mode)) return false;
    if (mode == -2) return gp_fail("npz.save: %s is not a regular file", file);
    zip_t *za = zip_open(target, ZIP_CREATE | ZIP_TRUNCATE, &code);
    if (!za) return zip_fail("npz.save", file, code);
    char(*head)[GP_NPY_HEADER] = malloc((size_t)z->n * sizeof *head);
    gp_tensor **flat = calloc((size_t)z->n, sizeof *flat);
    bool ok = false;
    if (head && flat) {
        ok = write_all(za, file, z, head, flat, deflate);
        for (int i = 0; i < z->n; i++) gp_tensor_unref(flat[i]);
    } else {
        zip_discard(za);
        gp_fail("npz.save: out of memory");
    }
    free(head);
    free(flat);
    return ok;
}
