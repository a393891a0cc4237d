/* safetensors files: 8 bytes that hold the length of a JSON header, the header (for each name a
 * dtype, a shape and the range of its bytes), and the data without gaps. */
#include "tensor/io/safetensors.h"

#include <errno.h>
#include <jansson.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "tensor/memory/alloc.h"
#include "tensor/base/error.h"
#include "tensor/io/file.h"
#include "tensor/op.h"

#define LOAD "safetensors.load"
#define SAVE "safetensors.save"
#define METADATA "__metadata__"

static const struct {
    const char *name;
    gp_dtype dtype;
} dtypes[] = {{"F64", GP_f64}, {"F32", GP_f32},  {"F16", GP_f16}, {"BF16", GP_bf16},
              {"I64", GP_i64}, {"I32", GP_i32},  {"I16", GP_i16}, {"I8", GP_i8},
              {"U8", GP_u8},   {"BOOL", GP_bool}};
enum { DTYPES = sizeof dtypes / sizeof *dtypes };
_Static_assert(DTYPES == (int)GP_DTYPES, "a name in files for each dtype");
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
               "the format is little-endian, and data is mapped as it is");

bool gp_safetensors_add_text(gp_safetensors *s, const char *key, const char *value) {
    size_t n = 2 * (size_t)s->ntexts;
    char **text = realloc(s->text, (n + 2) * sizeof *text);
    if (!text) return gp_fail("safetensors: out of memory");
    s->text = text;
    text[n] = strdup(key);
    text[n + 1] = strdup(value);
    s->ntexts++;
    return (text[n] && text[n + 1]) || gp_fail("safetensors: out of memory");
}

void gp_safetensors_free(gp_safetensors *s) {
    gp_npz_free(&s->tensors);
    for (int i = 0; i < 2 * s->ntexts; i++) free(s->text[i]);
    free(s->text);
    *s = (gp_safetensors){0};
}

/* ---- reading ---- */

/* A mapped file: every tensor in it, and the reader, hold a reference. */
typedef struct mapping {
    atomic_int refs;
    char *p;
    size_t size;
} mapping;

static void unmap(mapping *m) {
    if (atomic_fetch_sub(&m->refs, 1) > 1) return;
    munmap(m->p, m->size);
    free(m);
}

static void release(gp_storage *st) { unmap(st->owner); }

/* A file being read: data are the bytes after the header. */
typedef struct source {
    const char *file;
    mapping *map;
    char *data;
    uint64_t bytes;
} source;

/* An entry of the header: one tensor. */
typedef struct entry {
    const char *name;
    gp_dtype dtype;
    gp_shape shape;
    uint64_t begin, end;
} entry;

__attribute__((format(printf, 3, 4))) static bool bad(const source *s, const char *name,
                                                      const char *fmt, ...) {
    char text[400];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    if (name) return gp_fail(LOAD ": %s: tensor '%s': %s", s->file, name, text);
    return gp_fail(LOAD ": %s: %s", s->file, text);
}

/* The format's dtype names; only those that gpush has are read. */
static bool read_dtype(const source *s, const json_t *info, entry *e) {
    const char *text = json_string_value(json_object_get(info, "dtype"));
    if (!text) return bad(s, e->name, "expected a dtype such as \"F32\" in the header");
    for (int i = 0; i < DTYPES; i++)
        if (!strcmp(dtypes[i].name, text)) return e->dtype = dtypes[i].dtype, true;
    return bad(s, e->name,
               "%.20s is not a dtype here (expected F64 F32 F16 BF16 I64 I32 I16 I8 U8 "
               "or BOOL)",
               text);
}

/* Sizes of 0 or more; their product is checked by read_entry. */
static bool read_shape(const source *s, const json_t *info, entry *e) {
    const json_t *shape = json_object_get(info, "shape");
    size_t n = json_array_size(shape);
    if (!json_is_array(shape)) return bad(s, e->name, "expected a list as shape in the header");
    if (n > GP_MAX_DIM) return bad(s, e->name, "%zu dims (expected at most %d)", n, GP_MAX_DIM);
    e->shape.ndim = (int)n;
    for (size_t i = 0; i < n; i++) {
        const json_t *d = json_array_get(shape, i);
        e->shape.dim[i] = json_integer_value(d);
        if (!json_is_integer(d) || e->shape.dim[i] < 0)
            return bad(s, e->name, "dim %zu of its shape is not an integer of 0 or more", i + 1);
    }
    return true;
}

/* Reads both offsets; they lie within the data, which is checked before anything there is read. */
static bool read_offsets(const source *s, const json_t *info, entry *e) {
    const json_t *at = json_object_get(info, "data_offsets");
    const json_t *begin = json_array_get(at, 0), *end = json_array_get(at, 1);
    if (json_array_size(at) != 2 || !json_is_integer(begin) || !json_is_integer(end))
        return bad(s, e->name, "expected two numbers as data_offsets in the header");
    long long b = json_integer_value(begin), z = json_integer_value(end);
    if (b < 0 || z < b || (uint64_t)z > s->bytes)
        return bad(s, e->name,
                   "data_offsets %lld to %lld are out of range: %llu bytes of data "
                   "follow the header",
                   b, z, (unsigned long long)s->bytes);
    e->begin = (uint64_t)b, e->end = (uint64_t)z;
    return true;
}

/* Reads an entry, whose shape and dtype must need exactly its bytes: nothing of the file is
 * trusted. */
static bool read_entry(const source *s, const char *name, const json_t *info, entry *e) {
    int64_t numel, bytes;
    char text[160];
    e->name = name;
    if (!json_is_object(info)) return bad(s, name, "expected {dtype, shape, data_offsets}");
    if (!read_dtype(s, info, e) || !read_shape(s, info, e) || !read_offsets(s, info, e))
        return false;
    if (!gp_shape_numel(&e->shape, &numel) ||
        __builtin_mul_overflow(numel, (int64_t)gp_dtype_size(e->dtype), &bytes))
        return bad(s, name, "shape %s has too many elements",
                   gp_shape_text(&e->shape, text, sizeof text));
    return (uint64_t)bytes == e->end - e->begin ||
           bad(s, name, "%s %s needs %lld bytes, data_offsets give it %llu",
               gp_dtype_name(e->dtype), gp_shape_text(&e->shape, text, sizeof text),
               (long long)bytes, (unsigned long long)(e->end - e->begin));
}

static int by_offset(const void *a, const void *b) {
    const entry *p = a, *q = b;
    if (p->begin != q->begin) return p->begin < q->begin ? -1 : 1;
    return (p->end > q->end) - (p->end < q->end);
}

/* Checks that the entries fill the data from end to end: nothing overlaps, nothing is hidden
 * between them. */
static bool check_cover(const source *s, entry *e, size_t n) {
    uint64_t at = 0;
    qsort(e, n, sizeof *e, by_offset);
    for (size_t i = 0; i < n; i++) {
        if (e[i].begin < at)
            return bad(s, e[i].name, "its data overlaps that of '%.80s'", e[i - 1].name);
        if (e[i].begin > at)
            return bad(s, e[i].name, "%llu bytes before its data belong to no tensor",
                       (unsigned long long)(e[i].begin - at));
        at = e[i].end;
    }
    return at == s->bytes || bad(s, NULL, "%llu bytes at the end belong to no tensor",
                                 (unsigned long long)(s->bytes - at));
}

/* Turns bytes other than 0 and 1 into 1: they would not be bools. The file stays as it is. */
static void only_bools(gp_tensor *t) {
    uint8_t *p = (uint8_t *)t->a.data;
    for (int64_t i = 0; i < t->a.numel; i++)
        if (p[i] > 1) p[i] = 1;
}

/* The tensor of an entry: in the mapping where its bytes are aligned, else a copy. It holds a
 * reference to the mapping. */
static gp_tensor *make(const source *s, const entry *e) {
    char *p = s->data + e->begin;
    size_t bytes = (size_t)(e->end - e->begin);
    gp_tensor *t;
    if (bytes == 0 || (uintptr_t)p % gp_dtype_size(e->dtype)) {
        t = gp_tensor_new_host(e->dtype, &e->shape);
        if (t && bytes) memcpy(t->a.data, p, bytes);
    } else {
        gp_storage *st = gp_storage_foreign(gp_device_cpu(), p, bytes, release, s->map);
        if (!st) return NULL;
        atomic_fetch_add(&s->map->refs, 1);
        t = gp_tensor_wrap(st, e->dtype, &e->shape);
    }
    if (t && e->dtype == GP_bool) only_bools(t);
    return t;
}

/* A table of texts by name; anything else is not a safetensors file. */
static bool read_metadata(const source *s, const json_t *texts, gp_safetensors *out) {
    const char *key;
    json_t *value;
    if (!json_is_object(texts)) return bad(s, NULL, METADATA " is not a table of strings");
    json_object_foreach((json_t *)texts, key, value) {
        if (!json_is_string(value))
            return bad(s, NULL, "'%.80s' in " METADATA " is not a string", key);
        if (!gp_safetensors_add_text(out, key, json_string_value(value))) return false;
    }
    return true;
}

/* All entries are checked before the first tensor is made; e has space for them. */
static bool read_entries(const source *s, json_t *root, entry *e, gp_safetensors *out) {
    const char *name;
    json_t *info;
    size_t n = 0;
    json_object_foreach(root, name, info) {
        if (strcmp(name, METADATA)) {
            if (!read_entry(s, name, info, &e[n++])) return false;
        } else if (!read_metadata(s, info, out)) {
            return false;
        }
    }
    if (!check_cover(s, e, n)) return false;
    for (size_t i = 0; i < n; i++) {
        gp_tensor *t = make(s, &e[i]);
        if (!t || !gp_npz_add(&out->tensors, e[i].name, t)) return false;
    }
    return true;
}

/* Reads length, JSON and entries. Jansson reports positions in the header, which begins at byte 8
 * of the file. */
static bool read_header(source *s, gp_safetensors *out) {
    uint64_t n = 0;
    json_error_t err;
    for (int i = 0; i < 8; i++) n |= (uint64_t)(uint8_t)s->map->p[i] << 8 * i;
    if (n > GP_SAFETENSORS_HEADER || (s->map->size > 8 && s->map->p[8] != '{'))
        return gp_file_other(LOAD, s->file, s->map->p,
                             s->map->size < GP_FILE_START ? s->map->size : GP_FILE_START,
                             "a safetensors file");
    if (n > s->map->size - 8)
        return bad(s, NULL, "the file ends after %llu of %llu bytes of the header",
                   (unsigned long long)(s->map->size - 8), (unsigned long long)n);
    s->data = s->map->p + 8 + n;
    s->bytes = s->map->size - 8 - n;
    if (n == 0) return bad(s, NULL, "the header is empty (expected '{')");
    json_t *root = json_loadb(s->map->p + 8, n, JSON_REJECT_DUPLICATES, &err);
    if (!root)
        return bad(s, NULL, "byte %d of the file: the header is not JSON: %s", 8 + err.position,
                   err.text);
    entry *e = malloc((json_object_size(root) + 1) * sizeof *e);
    bool ok = e ? read_entries(s, root, e, out) : gp_fail(LOAD ": out of memory");
    free(e);
    json_decref(root);
    return ok;
}

/* Maps the file privately: writes in place make copies of pages and never reach it. One
 * reference. */
static mapping *map_file(const char *file) {
    uint64_t size;
    FILE *f = gp_file_open(LOAD, file, &size);
    if (!f) return NULL;
    mapping *m = NULL;
    void *p = MAP_FAILED;
    if (size == 0) gp_file_other(LOAD, file, "", 0, "a safetensors file");
    else if (size < 8)
        gp_fail(LOAD ": %s has %llu bytes (expected 8 for the length of a header, and the header)",
                file, (unsigned long long)size);
    else if (!(m = malloc(sizeof *m))) gp_fail(LOAD ": out of memory");
    else p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_NORESERVE, fileno(f), 0);
    if (m && p == MAP_FAILED) {
        gp_fail(LOAD ": cannot map %s: %s", file, strerror(errno));
        free(m), m = NULL;
    }
    fclose(f);
    if (!m) return NULL;
    atomic_init(&m->refs, 1);
    m->p = p;
    m->size = size;
    return m;
}

bool gp_safetensors_load(const char *file, gp_safetensors *out) {
    source s = {.file = file, .map = map_file(file)};
    if (!s.map) return false;
    bool ok = read_header(&s, out);
    unmap(s.map);
    return ok;
}

/* ---- writing ---- */

static const char *dtype_name(gp_dtype dt) {
    int i = 0;
    while (dtypes[i].dtype != dt) i++;
    return dtypes[i].name;
}

static size_t bytes_of(const gp_tensor *t) {
    return (size_t)t->a.numel * gp_dtype_size((gp_dtype)t->a.dtype);
}

/* Larger elements first, so that all are aligned; then by name. */
typedef struct item {
    const char *name;
    gp_tensor *t;
} item;

static int by_size(const void *a, const void *b) {
    const item *p = a, *q = b;
    size_t m = gp_dtype_size((gp_dtype)p->t->a.dtype), n = gp_dtype_size((gp_dtype)q->t->a.dtype);
    return m != n ? (m < n) - (m > n) : strcmp(p->name, q->name);
}

/* Adds it to the header at offset *at, which moves past it; root takes over what is made. */
static bool add_header(json_t *root, const item *it, uint64_t *at) {
    json_t *shape = json_array();
    for (int i = 0; i < it->t->a.ndim; i++)
        json_array_append_new(shape, json_integer(it->t->a.dim[i]));
    uint64_t end = *at + bytes_of(it->t);
    json_t *info = json_pack("{s:s, s:o, s:[I, I]}", "dtype", dtype_name((gp_dtype)it->t->a.dtype),
                             "shape", shape, "data_offsets", (json_int_t)*at, (json_int_t)end);
    *at = end;
    return !json_object_set_new(root, it->name, info) ||
           gp_fail(SAVE ": '%.80s' cannot be the name of a tensor (expected UTF-8)", it->name);
}

/* The header of all items, which write_file then writes in the same order; a new reference, NULL
 * with a message. */
static json_t *make_header(const gp_safetensors *s, const item *items) {
    json_t *root = json_object(), *texts = s->ntexts ? json_object() : NULL;
    uint64_t at = 0;
    bool ok = true;
    if (texts) json_object_set_new(root, METADATA, texts);
    for (int i = 0; ok && i < s->ntexts; i++)
        if (json_object_set_new(texts, s->text[2 * i], json_string(s->text[2 * i + 1])))
            ok = gp_fail(SAVE ": metadata '%.80s' is not UTF-8 text", s->text[2 * i]);
    for (int i = 0; ok && i < s->tensors.n; i++) {
        if (!strcmp(items[i].name, METADATA))
            ok = gp_fail(SAVE ": '" METADATA "' cannot be the name of a tensor");
        else ok = add_header(root, &items[i], &at);
    }
    if (ok) return root;
    json_decref(root);
    return NULL;
}

/* Writes the header, padded with blanks to a multiple of 8 bytes. */
static void write_header(FILE *f, const char *text) {
    size_t n = strlen(text), all = (n + 7) / 8 * 8;
    for (int i = 0; i < 8; i++) fputc((int)(all >> 8 * i & 255), f);
    fwrite(text, 1, n, f);
    for (; n < all; n++) fputc(' ', f);
}

/* Writes a temporary, which is renamed to the file when it is complete. */
static bool write_file(const char *file, const char *header, const item *items, int n) {
    gp_outfile o;
    if (!gp_outfile_begin(&o, SAVE, file)) return false;
    write_header(o.f, header);
    for (int i = 0; i < n && !ferror(o.f); i++) {
        gp_tensor *t = gp_to_host(items[i].t, GP_WHY_copy, SAVE);
        if (!t) return gp_outfile_cancel(&o), false;
        bool ok = gp_outfile_write(&o, t->a.data, bytes_of(t));
        gp_tensor_unref(t);
        if (!ok) return gp_outfile_cancel(&o), false;
    }
    return gp_outfile_commit(&o, true);
}

bool gp_safetensors_save(const char *file, const gp_safetensors *s) {
    int n = s->tensors.n;
    item *items = malloc((size_t)(n + 1) * sizeof *items);
    if (!items) return gp_fail(SAVE ": out of memory");
    for (int i = 0; i < n; i++) items[i] = (item){s->tensors.name[i], s->tensors.t[i]};
    qsort(items, (size_t)n, sizeof *items, by_size);
    json_t *root = make_header(s, items);
    char *text = root ? json_dumps(root, JSON_COMPACT) : NULL;
    bool ok = text && write_file(file, text, items, n);
    free(text);
    json_decref(root);
    free(items);
    return ok;
}
