/* Reads what a library adds to the table of ops: checks each row, makes a gp_op of it, and keeps
 * the library loaded for good. */
#include <ctype.h>
#include <dlfcn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tensor/cost.h"
#include "tensor/device/stream/thread.h"
#include "tensor/ops/extension/extension.h"

_Static_assert((int)GPUSH_BOOL == GP_bool && (int)GPUSH_U8 == GP_u8 && (int)GPUSH_I8 == GP_i8 &&
                   (int)GPUSH_I16 == GP_i16 && (int)GPUSH_I32 == GP_i32 &&
                   (int)GPUSH_I64 == GP_i64 && (int)GPUSH_F16 == GP_f16 &&
                   (int)GPUSH_BF16 == GP_bf16 && (int)GPUSH_F32 == GP_f32 &&
                   (int)GPUSH_F64 == GP_f64 && GPUSH_F64 + 1 == GP_DTYPES,
               "gpush/op.h has the dtypes of dtype.def");
_Static_assert((int)GPUSH_MAX_DIMS == GP_MAX_DIM && (int)GPUSH_MAX_RESULTS == GP_MAX_OUT,
               "and the limits of tensors and calls");

/* The libraries that were added, the last first. */
typedef struct set {
    struct set *next;
    const gpush_library *library;
    int n;
    gp_extension ext[];
} set;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static set *sets;

/* Sets the message "library 'NAME': op 'OP': …" and returns false. */
static bool bad(const gp_extension *e, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static bool bad(const gp_extension *e, const char *format, ...) {
    char text[512];
    va_list ap;
    va_start(ap, format);
    vsnprintf(text, sizeof text, format, ap);
    va_end(ap);
    return gp_fail("library '%s': op '%s': %s", e->library, e->row.name ? e->row.name : "", text);
}

/* ---- the signature ---- */

/* The text as rows have it: one blank after a comma, and none before. NULL when memory is short. */
static char *canonical(const char *text) {
    char *out = malloc(2 * strlen(text) + 1), *to = out;
    for (; out && *text; text++) {
        bool after = to > out && (to[-1] == ' ' || to[-1] == ',');
        if (*text == ',' && to > out && to[-1] == ' ') to--;
        if (isspace((unsigned char)*text)) {
            if (to > out && !after) *to++ = ' ';
            continue;
        }
        if (to > out && to[-1] == ',') *to++ = ' ';
        *to++ = *text;
    }
    if (out && to > out && to[-1] == ' ') to--;
    if (out) *to = 0;
    return out;
}

static bool is_tensor(const gp_param *p) {
    return p->type == GP_SIG_tensor || p->type == GP_SIG_operand;
}
static bool is_list(const gp_param *p) {
    return p->type == GP_SIG_tensors || p->type == GP_SIG_varargs;
}

/* Whether values of p's type are in calls as the library reads them. */
static bool is_known(const gp_param *p) {
    static const uint8_t others[] = {GP_SIG_number, GP_SIG_int,  GP_SIG_float, GP_SIG_bool,
                                     GP_SIG_dim,    GP_SIG_dims, GP_SIG_shape, GP_SIG_ints,
                                     GP_SIG_str,    GP_SIG_dtype};
    return is_tensor(p) || is_list(p) || memchr(others, p->type, sizeof others);
}

#define TYPES                                                                                      \
    "(expected tensor, operand, tensors, varargs, number, int, float, bool, dim, dims, shape, "    \
    "ints, str or dtype)"

/* One parameter: its type, and where `!` may stand. */
static bool check_parameter(const gp_extension *e, int i) {
    const gp_param *p = &e->sig.p[i];
    if (!is_known(p))
        return bad(e, "the type of '%s' is one that libraries do not get " TYPES, p->name);
    for (int k = 0; k < i; k++)
        if (!strcmp(p->name, e->sig.p[k].name)) return bad(e, "'%s' is there twice", p->name);
    if (!p->written) return true;
    if (is_tensor(p) && (i || e->results != 1))
        return bad(e, "`!` is for the first tensor of an op with one result, not for '%s'",
                   p->name);
    if (is_list(p) && i && !e->sig.p[i - 1].written)
        return bad(e, "lists that are written come first, and so does '%s'", p->name);
    return is_tensor(p) || is_list(p) || bad(e, "'%s' is no tensor, which `!` is for", p->name);
}

static bool read_signature(gp_extension *e) {
    int tensors = 0, lists = 0;
    e->op.sig = e->row.signature ? canonical(e->row.signature) : NULL;
    if (!e->op.sig) return bad(e, e->row.signature ? "out of memory" : "it has no signature");
    if (!gp_sig_parse(e->op.sig, &e->sig))
        return bad(e, "%s%s", gp_error(), strstr(gp_error(), "unknown type") ? " " TYPES : "");
    for (int i = 0; i < e->sig.n; i++) {
        if (!check_parameter(e, i)) return false;
        tensors += is_tensor(&e->sig.p[i]), lists += is_list(&e->sig.p[i]);
    }
    if (!tensors && !lists)
        return bad(e, "its signature '%s' has no tensor: the device would not be known", e->op.sig);
    if (tensors > GP_MAX_TMP)
        return bad(e, "%d tensors are more than %d: take a list of them", tensors, GP_MAX_TMP);
    return true;
}

/* Without a shape rule the operands come first, and all are given. */
static bool read_operands(gp_extension *e) {
    int n = 0;
    if (e->row.shape || !e->results) return true;
    while (n < e->sig.n && is_tensor(&e->sig.p[n])) n++;
    for (int i = 0; i < e->sig.n; i++) {
        const gp_param *p = &e->sig.p[i];
        if ((i >= n && (is_tensor(p) || is_list(p))) || (i < n && (p->optional || p->has_default)))
            return bad(e,
                       "without a shape rule tensors are operands: they come first, no list is "
                       "among them, and all are given, which does not hold for '%s'",
                       p->name);
    }
    if (!n) return bad(e, "without a shape rule its first argument is an operand");
    e->operands = n;
    return true;
}

/* ---- a row ---- */

static bool read_name(gp_extension *e, bool (*taken)(void *, const char *), void *ctx) {
    const char *name = e->row.name;
    size_t n = name ? strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_") : 0;
    if (!n || name[n] || n > 40 || !islower((unsigned char)*name) || name[n - 1] == '_')
        return bad(e, "a name has small letters, digits and _ (at most 40), and begins with a "
                      "letter and does not end in _");
    if (!strncmp(name, "linalg_", 7) || !strncmp(name, "fft_", 4))
        return bad(e, "linalg and fft are gpush's own");
    for (const set *s = sets; s; s = s->next)
        for (int i = 0; i < s->n; i++)
            if (!strcmp(name, s->ext[i].op.name))
                return bad(e, "the name is taken: library '%s' has it", s->ext[i].library);
    if (gp_op_find(name) || taken(ctx, name)) return bad(e, "the name is taken: gpush has it");
    return (e->op.name = strdup(name)) || bad(e, "out of memory");
}

/* The dtypes: operands that are integers become floats where the op takes no others. */
static bool read_dtypes(gp_extension *e) {
    uint32_t set;
    if (!gp_dtype_set(e->row.dtypes ? e->row.dtypes : "all", &set))
        return bad(e, "its dtypes: %s", gp_error());
    e->op.types = e->op.accepts = set;
    if (!e->operands || (set & (GP_SET_INT | GP_SET_BOOL))) return true;
    e->op.types |= GP_T_TOFLOAT;
    if (set & GP_BIT(GP_f32)) e->op.accepts |= GP_SET_INT | GP_SET_BOOL;
    return true;
}

static bool read_rule(gp_extension *e) {
    static const struct {
        const char *text, *rule;
    } saves[] = {{"x", "*"}, {"y", "y"}, {"", ""}, {"xy", "*y"}};
    const char *text = e->row.saves && !e->row.derivative ? e->row.saves : "xy";
    if (e->row.gradient && e->row.derivative) return bad(e, "it has a gradient and a derivative");
    bool writes = is_list(&e->sig.p[0]) && e->sig.p[0].written;
    if (writes && (e->row.gradient || e->row.derivative))
        return bad(e, "an op that writes its arguments has no gradient");
    e->rule = (gp_rule){.fn = writes ? NULL : vjp_extension.fn};
    for (size_t i = 0; i < sizeof saves / sizeof *saves; i++)
        if (!strcmp(text, saves[i].text)) e->rule.saves = saves[i].rule;
    if (!e->rule.saves) return bad(e, "saves is '%s' (expected x, y, xy or nothing)", text);
    if (!writes && !e->row.gradient && !e->row.derivative) e->op.rule = &gp_rule_missing;
    return true;
}

/* Copies the row of the size that the library knows; what a newer header has is refused where it is
 * used. */
static bool copy_row(gp_extension *e, const gpush_library *library, size_t i) {
    const char *from = (const char *)library->ops + i * library->op_size;
    size_t n = library->op_size < sizeof e->row ? library->op_size : sizeof e->row;
    memcpy(&e->row, from, n);
    for (; n < library->op_size; n++)
        if (from[n])
            return bad(e, "it uses fields of gpush/op.h that this gpush does not have: it needs a "
                          "newer one");
    return true;
}

static bool read_row(gp_extension *e, bool (*taken)(void *, const char *), void *ctx) {
    const gpush_op *row = &e->row;
    e->results = row->results == GPUSH_NO_RESULTS ? 0 : row->results ? row->results : 1;
    if (!read_name(e, taken, ctx)) return false;
    if (e->results < 0 || e->results > GP_MAX_OUT)
        return bad(e, "%d results (expected 1 to %d)", e->results, GP_MAX_OUT);
    if (!row->cpu && !row->cuda) return bad(e, "it has no kernel");
    if (!row->help || !*row->help) return bad(e, "it has no help");
    if (!(e->op.help = strdup(row->help))) return bad(e, "out of memory");
    return read_signature(e) && read_operands(e) && read_dtypes(e) && read_rule(e);
}

/* ---- derivatives: when all rows are read ---- */

static const gp_op *find(const set *s, const char *name) {
    for (int i = 0; i < s->n; i++)
        if (!strcmp(s->ext[i].op.name, name)) return &s->ext[i].op;
    return gp_op_find(name);
}

/* The op called derivative: whether its parameters can be the gradients, the arguments and the
 * results, and how many results it has. */
static bool read_derivative(gp_extension *e, const set *s) {
    int tensors = 0, n = e->results;
    gp_sig sig;
    if (!e->row.derivative) return true;
    const gp_op *d = find(s, e->row.derivative);
    if (!d) return bad(e, "its derivative '%s' is no op", e->row.derivative);
    if (!gp_sig_parse(d->sig, &sig)) return bad(e, "%s", gp_error());
    bool fits = sig.n == 2 * n + e->sig.n;
    for (int i = 0; fits && i < sig.n; i++)
        fits = i < n || i >= n + e->sig.n ? is_tensor(&sig.p[i])
                                          : sig.p[i].type == e->sig.p[i - n].type;
    for (int i = 0; i < e->sig.n; i++) {
        tensors += is_tensor(&e->sig.p[i]);
        if (is_list(&e->sig.p[i])) return bad(e, "lists of tensors have no derivative");
    }
    if (!fits)
        return bad(e,
                   "its derivative takes (%s), not %d gradient%s, the arguments (%s) and %d "
                   "result%s",
                   d->sig, n, n == 1 ? "" : "s", e->op.sig, n, n == 1 ? "" : "s");
    if (d->id != e->op.id ? tensors != 1 : gp_extension_of(d)->results != tensors)
        return bad(e, "its derivative gives another number of results than the %d tensor%s in '%s'",
                   tensors, tensors == 1 ? "" : "s", e->op.sig);
    e->derivative = d;
    return true;
}

/* ---- a library ---- */

static bool check_library(const gpush_library *library) {
    if (library->abi != GPUSH_ABI)
        return gp_fail("library '%s' was made for version %u of gpush/op.h, and this gpush has "
                       "version %d: build it again with this gpush's header",
                       library->name, library->abi, GPUSH_ABI);
    if (library->n < 1 || library->n > 256)
        return gp_fail("library '%s' has %zu ops (expected 1 to 256)", library->name, library->n);
    return true;
}

/* Keeps the library that holds it loaded: its functions are in the table for good. */
static bool pin(const gpush_library *library) {
    Dl_info info;
    if (!dladdr(library, &info) || !info.dli_fname) return true; /* of the program itself */
    return dlopen(info.dli_fname, RTLD_NOW | RTLD_NOLOAD | RTLD_NODELETE) ||
           gp_fail("library '%s': %s", library->name, dlerror());
}

static void drop(set *s) {
    for (int i = 0; i < s->n; i++) {
        free((char *)s->ext[i].op.name);
        free((char *)s->ext[i].op.sig);
        free((char *)s->ext[i].op.help);
    }
    free(s);
}

static bool read_rows(set *s, bool (*taken)(void *, const char *), void *ctx) {
    for (int i = 0; i < s->n; i++) {
        gp_extension *e = &s->ext[i];
        e->library = s->library->name;
        e->op = *GP_OP(extension);
        e->op.name = e->op.sig = e->op.help = NULL;
        e->op.rule = &e->rule, e->op.known = &e->known;
        e->op.cost.family = GP_FAMILY_none;
        atomic_init(&e->known.sig, &e->sig);
        if (!copy_row(e, s->library, (size_t)i) || !read_row(e, taken, ctx)) return false;
        for (int k = 0; k < i; k++)
            if (!strcmp(e->op.name, s->ext[k].op.name)) return bad(e, "the name is there twice");
    }
    for (int i = 0; i < s->n; i++)
        if (!read_derivative(&s->ext[i], s)) return false;
    return true;
}

static set *add(const gpush_library *library, bool (*taken)(void *, const char *), void *ctx) {
    for (set *s = sets; s; s = s->next)
        if (s->library == library) return s;
    if (!check_library(library)) return NULL;
    set *s = calloc(1, sizeof *s + library->n * sizeof *s->ext);
    if (!s) return gp_fail_null("library '%s': out of memory", library->name);
    s->library = library;
    s->n = (int)library->n;
    if (!read_rows(s, taken, ctx) || !pin(library) ||
        !gp_op_add(&s->ext[0].op, sizeof *s->ext, s->n))
        return drop(s), NULL;
    s->next = sets;
    sets = s;
    return s;
}

const gp_extension *gp_extension_add(const gpush_library *library,
                                     bool (*taken)(void *ctx, const char *name), void *ctx,
                                     int *n) {
    gp_lock(&lock);
    const set *s = add(library, taken, ctx);
    gp_unlock(&lock);
    if (s) *n = s->n;
    return s ? s->ext : NULL;
}
