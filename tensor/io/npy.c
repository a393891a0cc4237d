/* npy files: a small, strict parser of the header, reading and writing. The header is the literal
 * of a Python dict with three keys, and only that much of Python is read; anything else is an error
 * with its offset. Data in Fortran order becomes a view with reversed dims. Types that gpush does
 * not have (complex, strings, structures) are refused with what to save instead. */
#include "tensor/io/npy.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tensor/base/error.h"
#include "tensor/io/file.h"
#include "tensor/op.h"

enum { MAGIC = 6, MOST_HEADER = 1 << 16 };
/* Each dim is a comma, a blank and at most 19 digits; the rest of the header is shorter than 128.
 */
_Static_assert(128 + GP_MAX_DIM * 21 + 64 <= GP_NPY_HEADER, "any tensor's header has room");
_Static_assert(GP_NPY_HEADER % 64 == 0 && GP_NPY_HEADER <= UINT16_MAX,
               "version 1.0 stores the padded length in two bytes");

/* Fails with a message that begins with file, entry and offset. */
__attribute__((format(printf, 3, 4))) static bool bad(const gp_npy_source *s, uint64_t at,
                                                      const char *fmt, ...) {
    char text[400];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    if (s->entry)
        return gp_fail("%s: %s, entry '%s', byte %llu: %s", s->op, s->file, s->entry,
                       (unsigned long long)at, text);
    return gp_fail("%s: %s, byte %llu: %s", s->op, s->file, (unsigned long long)at, text);
}

/* Reports that the source could not be read; what: the part of the file. */
static bool unreadable(const gp_npy_source *s, const char *what) {
    if (errno == EINTR) return gp_fail("%s: interrupted", s->op);
    return bad(s, s->at, "cannot read %s: %s", what, s->why(s->from));
}

/* Reads all of the bytes, or fails with a message that names them. */
static bool need(gp_npy_source *s, void *to, uint64_t bytes, const char *what) {
    int64_t n = s->read(s->from, to, bytes);
    if (n < 0) return unreadable(s, what);
    if ((uint64_t)n < bytes)
        return bad(s, s->at, "the %s ends after %llu of %llu bytes of %s",
                   s->entry ? "entry" : "file", (unsigned long long)n, (unsigned long long)bytes,
                   what);
    s->at += bytes;
    return true;
}

/* A header while it is read: p walks over text, whose first byte is byte `base` of the file. */
typedef struct header_reader {
    const gp_npy_source *s;
    const char *text, *p;
    uint64_t base;
} header_reader;

typedef struct header {
    bool seen_descr, seen_order, seen_shape;
    bool fortran, swap;
    gp_dtype dtype;
    gp_shape shape;
} header;

/* Fails with what is found at p instead, as printable text. */
static bool expected(const header_reader *h, const char *what) {
    char got[24];
    size_t n = 0;
    for (; n < 16 && h->p[n]; n++) got[n] = h->p[n] < ' ' || h->p[n] > '~' ? '?' : h->p[n];
    got[n] = 0;
    return bad(h->s, h->base + (uint64_t)(h->p - h->text), "expected %s in the header, got '%s'",
               what, got);
}

static void space(header_reader *h) {
    while (*h->p == ' ' || *h->p == '\n' || *h->p == '\t' || *h->p == '\r') h->p++;
}

static bool accept(header_reader *h, char c) {
    space(h);
    if (*h->p != c) return false;
    h->p++;
    return true;
}

static bool must(header_reader *h, char c) {
    char what[4] = {'\'', c, '\'', 0};
    return accept(h, c) || expected(h, what);
}

static bool word(header_reader *h, const char *w) {
    space(h);
    size_t n = strlen(w);
    if (strncmp(h->p, w, n)) return false;
    h->p += n;
    return true;
}

/* A quoted string without escapes. */
static bool string(header_reader *h, char *out, size_t size, const char *what) {
    space(h);
    char quote = *h->p;
    if (quote != '\'' && quote != '"') return expected(h, what);
    const char *end = strchr(h->p + 1, quote);
    if (!end || (size_t)(end - h->p) > size || memchr(h->p, '\\', (size_t)(end - h->p)))
        return expected(h, what);
    size_t n = (size_t)(end - h->p - 1);
    memcpy(out, h->p + 1, n);
    out[n] = 0;
    h->p = end + 1;
    return true;
}

static const struct {
    const char *code; /* without the byte order */
    gp_dtype dtype;
} codes[] = {{"f8", GP_f64}, {"f4", GP_f32}, {"f2", GP_f16}, {"i8", GP_i64}, {"i4", GP_i32},
             {"i2", GP_i16}, {"i1", GP_i8},  {"u1", GP_u8},  {"b1", GP_bool}};

/* Why a NumPy type is not read, and what to save instead; c: its letter. */
static const char *other_type(char c) {
    switch (c) {
    case 'u':
        return "unsigned integers of more than 8 bits are not a dtype here; save .astype('int64')";
    case 'c': return "complex numbers are not a dtype here; save .real and .imag";
    case 'f': return "floats wider than 64 bits are not a dtype here; save with .astype('float64')";
    case 'O': return "Python objects are not read: such a file holds code";
    case 'U':
    case 'S':
    case 'a': return "text is not a dtype here";
    case 'M':
    case 'm': return "dates and times are not a dtype here; save with .astype('int64')";
    case 'V': return "structured types are not a dtype here; save each field on its own";
    default: return "expected one of f8 f4 f2 i8 i4 i2 i1 u1 b1 with < > | or =";
    }
}

/* '<f4' and the like; lists and tuples there are structured types. */
static bool parse_descr(header_reader *h, header *out) {
    char text[32];
    space(h);
    uint64_t at = h->base + (uint64_t)(h->p - h->text);
    if (*h->p == '[' || *h->p == '(') return bad(h->s, at, "%s", other_type('V'));
    if (!string(h, text, sizeof text, "a type such as '<f4'")) return false;
    const char *code = strchr("<>|=", text[0]) && text[0] ? text + 1 : text;
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++) {
        if (strcmp(code, codes[i].code)) continue;
        out->dtype = codes[i].dtype;
        out->swap = (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? '>' : '<') == text[0];
        return out->seen_descr = true;
    }
    for (char *c = text; *c; c++)
        if (*c < ' ' || *c > '~') *c = '?';
    return bad(h->s, at, "type '%s': %s", text, other_type(*code));
}

/* One size: digits, with the L that Python 2 wrote. */
static bool parse_dim(header_reader *h, int64_t *out) {
    space(h);
    if (*h->p < '0' || *h->p > '9') return expected(h, "a size (0 or more)");
    int64_t n = 0;
    for (; *h->p >= '0' && *h->p <= '9'; h->p++)
        if (__builtin_mul_overflow(n, 10, &n) || __builtin_add_overflow(n, *h->p - '0', &n))
            return expected(h, "a size below 2^63");
    if (*h->p == 'L') h->p++;
    *out = n;
    return true;
}

/* (), (3,), (2, 3): a Python tuple. */
static bool parse_shape(header_reader *h, header *out) {
    gp_shape *s = &out->shape;
    if (!must(h, '(')) return false;
    for (s->ndim = 0; !accept(h, ')');) {
        if (s->ndim == GP_MAX_DIM) return expected(h, "at most 8 dims");
        if (!parse_dim(h, &s->dim[s->ndim++])) return false;
        bool comma = accept(h, ',');
        if (comma) continue;
        if (s->ndim == 1) return must(h, ','); /* (3) is a number in Python, not a shape */
        if (!accept(h, ')')) return expected(h, "',' or ')'");
        break;
    }
    return out->seen_shape = true;
}

/* One key with its value; each of the three may come once, in any order. */
static bool parse_entry(header_reader *h, header *out) {
    char key[32];
    if (!string(h, key, sizeof key, "'descr', 'fortran_order' or 'shape'") || !must(h, ':'))
        return false;
    if (!strcmp(key, "descr") && !out->seen_descr) return parse_descr(h, out);
    if (!strcmp(key, "shape") && !out->seen_shape) return parse_shape(h, out);
    if (strcmp(key, "fortran_order") || out->seen_order)
        return expected(h, "each of descr, fortran_order and shape once");
    out->fortran = word(h, "True");
    if (!out->fortran && !word(h, "False")) return expected(h, "True or False");
    return out->seen_order = true;
}

/* The Python dict literal that is the header, and nothing after it: no more of Python is read. */
static bool parse_header(header_reader *h, header *out) {
    if (!must(h, '{')) return false;
    while (!accept(h, '}')) {
        if (!parse_entry(h, out)) return false;
        if (accept(h, ',')) continue;
        if (!accept(h, '}')) return expected(h, "',' or '}'");
        break;
    }
    space(h);
    if (*h->p) return expected(h, "nothing after '}'");
    if (!out->seen_descr) return expected(h, "descr");
    if (!out->seen_order) return expected(h, "fortran_order");
    return out->seen_shape || expected(h, "shape");
}

/* Reads the magic bytes, version, length and text of the header. */
static bool read_header(gp_npy_source *s, header *out) {
    unsigned char start[MAGIC + 2], count[4] = {0};
    if (!need(s, start, sizeof start, "the magic number and version")) return false;
    if (memcmp(start, "\x93NUMPY", MAGIC))
        return bad(s, 0, "not an npy file (it begins with other bytes than \\x93NUMPY)");
    if (start[MAGIC] < 1 || start[MAGIC] > 3 || start[MAGIC + 1] != 0)
        return bad(s, MAGIC, "format version %d.%d (expected 1.0, 2.0 or 3.0)", start[MAGIC],
                   start[MAGIC + 1]);
    if (!need(s, count, start[MAGIC] == 1 ? 2 : 4, "the header's length")) return false;
    uint32_t n =
        count[0] | (uint32_t)count[1] << 8 | (uint32_t)count[2] << 16 | (uint32_t)count[3] << 24;
    if (n > MOST_HEADER)
        return bad(s, s->at, "a header of %u bytes (expected at most %d)", n, MOST_HEADER);
    char *text = malloc(n + 1);
    if (!text) return gp_fail("%s: out of memory", s->op);
    header_reader h = {.s = s, .text = text, .p = text, .base = s->at};
    bool ok = need(s, text, n, "the header");
    text[n] = 0;
    if (ok && strlen(text) < n) ok = bad(s, h.base + strlen(text), "a zero byte in the header");
    ok = ok && parse_header(&h, out);
    free(text);
    return ok;
}

static void swap_bytes(char *p, int64_t n, size_t size) {
    for (int64_t i = 0; i < n; i++, p += size)
        for (size_t a = 0, b = size - 1; a < b; a++, b--) {
            char c = p[a];
            p[a] = p[b], p[b] = c;
        }
}

/* t, whose memory is in Fortran order, viewed with the dims of the file. Takes over t. */
static gp_tensor *reversed(gp_tensor *t, const gp_shape *shape) {
    int64_t stride[GP_MAX_DIM], step = 1;
    for (int i = 0; i < shape->ndim; i++) {
        stride[i] = step;
        step *= shape->dim[i] > 0 ? shape->dim[i] : 1;
    }
    gp_tensor *v = gp_tensor_view(t, shape, stride, 0);
    gp_tensor_unref(t);
    return v;
}

static gp_tensor *read_array(gp_npy_source *s) {
    header h = {0};
    int64_t numel, bytes;
    if (!read_header(s, &h)) return NULL;
    size_t size = gp_dtype_size(h.dtype);
    if (!gp_shape_numel(&h.shape, &numel) || __builtin_mul_overflow(numel, (int64_t)size, &bytes)) {
        char text[200];
        gp_shape_text(&h.shape, text, sizeof text);
        return bad(s, s->at, "shape %s has too many elements", text), NULL;
    }
    if ((uint64_t)bytes > s->size - s->at) {
        char text[200];
        bad(s, s->at, "%llu bytes of data follow, but %s %s needs %lld",
            (unsigned long long)(s->size - s->at), gp_dtype_name(h.dtype),
            gp_shape_text(&h.shape, text, sizeof text), (long long)bytes);
        return NULL;
    }
    gp_tensor *t = gp_tensor_new_host(h.dtype, &h.shape);
    if (!t) return NULL;
    if (bytes && !need(s, t->a.data, (uint64_t)bytes, "the data")) return gp_tensor_unref(t), NULL;
    if (h.swap && size > 1) swap_bytes(t->a.data, numel, size);
    if (h.dtype == GP_bool)
        for (int64_t i = 0; i < numel; i++) t->a.data[i] = t->a.data[i] != 0;
    return h.fortran && h.shape.ndim > 1 ? reversed(t, &h.shape) : t;
}

/* Checks that nothing follows the data. An archive checks its last bytes only when read to the
 * end. */
static bool ends(gp_npy_source *s) {
    char more;
    int64_t n = s->read(s->from, &more, 1);
    if (n < 0) return unreadable(s, "the end");
    return n == 0 || bad(s, s->at, "more bytes follow the data (expected one array, and the end)");
}

gp_tensor *gp_npy_read(gp_npy_source *s) {
    gp_tensor *t = read_array(s);
    if (t && !ends(s)) gp_tensor_unref(t), t = NULL;
    return t;
}

static const char *why_file(void *from) { return (void)from, strerror(errno); }

static int64_t read_file(void *from, void *to, uint64_t bytes) {
    errno = 0;
    size_t n = gp_file_read(from, to, bytes);
    return n < bytes && (ferror((FILE *)from) || errno == EINTR) ? -1 : (int64_t)n;
}

gp_tensor *gp_npy_load(const char *file) {
    gp_npy_source s = {.op = "npy.load", .file = file, .read = read_file, .why = why_file};
    gp_tensor *t = NULL;
    FILE *f = s.from = gp_file_begin(s.op, file, "\x93NUMPY", "an npy file", &s.size);
    if (f) t = gp_npy_read(&s);
    if (f) fclose(f);
    return t;
}

size_t gp_npy_header(const char *op, const gp_tensor *t, char buf[GP_NPY_HEADER]) {
    enum { START = MAGIC + 4 };
    const char *code = NULL;
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++)
        if (codes[i].dtype == t->a.dtype) code = codes[i].code;
    if (!code) {
        const char *dtype = gp_dtype_name((gp_dtype)t->a.dtype);
        return gp_fail("%s: npy has no dtype %s; save x:to('f32')", op, dtype), 0;
    }
    char order = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? '<' : '>';
    if (gp_dtype_size((gp_dtype)t->a.dtype) == 1) order = '|';
    int n = START + snprintf(buf + START, GP_NPY_HEADER - START,
                             "{'descr': '%c%s', 'fortran_order': False, 'shape': (", order, code);
    for (int i = 0; i < t->a.ndim; i++)
        n += snprintf(buf + n, GP_NPY_HEADER - (size_t)n,
                      i == 0 && t->a.ndim == 1 ? "%lld,"
                      : i                      ? ", %lld"
                                               : "%lld",
                      (long long)t->a.dim[i]);
    n += snprintf(buf + n, GP_NPY_HEADER - (size_t)n, "), }");
    size_t total = ((size_t)n + 1 + 63) / 64 *
                   64; /* data starts on a multiple of 64; the header ends in a newline */
    memset(buf + n, ' ', total - (size_t)n);
    buf[total - 1] = '\n';
    memcpy(buf, "\x93NUMPY\x01\x00", MAGIC + 2);
    buf[MAGIC + 2] = (char)((total - START) & 0xff);
    buf[MAGIC + 3] = (char)((total - START) >> 8);
    return total;
}

bool gp_npy_save(const char *file, gp_tensor *x) {
    char head[GP_NPY_HEADER];
    gp_outfile o;
    size_t n = gp_npy_header("npy.save", x, head);
    if (!n) return false;
    gp_tensor *t = gp_to_host(x, GP_WHY_copy, "npy.save");
    if (!t) return false;
    bool ok = gp_outfile_begin(&o, "npy.save", file);
    if (ok) {
        size_t bytes = (size_t)t->a.numel * gp_dtype_size((gp_dtype)t->a.dtype);
        ok = gp_outfile_write(&o, head, n) && gp_outfile_write(&o, t->a.data, bytes);
        if (ok) ok = gp_outfile_commit(&o, true);
        else gp_outfile_cancel(&o);
    }
    gp_tensor_unref(t);
    return ok;
}
