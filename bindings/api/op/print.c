/* Tensors as text: aligned columns in Lua's braces; only the edges of large ones, in one copy. The
 * elements to be shown are gathered first, so that a device is waited for once. One form serves
 * them all: fixed digits, or scientific where those would hide the smallest element or be too long.
 * Decimals are the fewest that show every element to the precision asked for. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "bindings/bind.h"
#include "bindings/args/function.h"
#include "bindings/module.h"
#include "profile/show/fit.h"

/* gpush.printoptions. */
static struct {
    int precision;     /* digits after the decimal point, at most */
    int64_t threshold; /* tensors with more elements show only their edges */
    int64_t edgeitems; /* elements at each end of a dim */
    int linewidth;     /* columns */
} opt = {4, 1000, 3, 80};
static bool chosen; /* linewidth, by the user */

static int line_width(void) {
    int columns = chosen ? 0 : gp_fit_columns();
    return columns > 0 && columns < opt.linewidth ? columns : opt.linewidth;
}

enum { TEXT = 400 }; /* longest element: %.60f of the largest double */

typedef enum form { WHOLE, TRUTH, FIXED, SCIENTIFIC } form;

/* The text of one tensor while it is written. */
typedef struct page {
    luaL_Buffer b;
    const char *data; /* shown elements in host memory, row-major */
    gp_dtype dtype;
    int64_t count;      /* of shown elements */
    const gp_array *of; /* the tensor itself, for its dims */
    int64_t edge;       /* elements shown at each end of a dim; 0: all */
    form form;
    int decimals, width;
    int column;   /* column of the next character, from 0 */
    int64_t next; /* element to write next */
} page;

/* ---- one element ---- */

/* Writes u in decimal, with a sign; returns the length, without a final zero byte. */
static int whole_text(uint64_t u, bool negative, char *buf) {
    char tmp[24];
    int n = 0, at = 0;
    do tmp[n++] = (char)('0' + u % 10);
    while (u /= 10);
    if (negative) buf[at++] = '-';
    while (n) buf[at++] = tmp[--n];
    return at;
}

/* Writes v with `decimals` digits after the decimal point, rounded as by printf. Where v *
 * 10^decimals is exact (24 or 53 bits of v and 2.33 bits for each digit in a 64-bit mantissa),
 * rounding it gives the right digits, and printf's big numbers are not needed. */
static int fixed_text(gp_dtype dt, double v, int decimals, char *buf) {
    static const long double power[] = {1,    1e1L, 1e2L, 1e3L, 1e4L, 1e5L,
                                        1e6L, 1e7L, 1e8L, 1e9L, 1e10L};
    if (decimals > (dt == GP_f64 ? 4 : 10) || fabs(v) >= 1e8)
        return snprintf(buf, TEXT, "%.*f", decimals, v);
    uint64_t q = (uint64_t)rintl(fabsl((long double)v) * power[decimals]);
    uint64_t unit = (uint64_t)power[decimals];
    int n = whole_text(q / unit, signbit(v), buf);
    if (decimals == 0) return n;
    buf[n] = '.';
    uint64_t rest = q % unit;
    for (int i = decimals; i > 0; i--, rest /= 10) buf[n + i] = (char)('0' + rest % 10);
    return n + 1 + decimals;
}

/* Writes element i of the shown ones, in the page's form, to buf of TEXT bytes; returns the
 * length. */
static int element_text(const page *p, int64_t i, char *buf) {
    gp_scalar s = gp_scalar_load(p->dtype, p->data + i * (int64_t)gp_dtype_size(p->dtype));
    const char *word = NULL;
    if (p->form == TRUTH) word = s.i ? "true" : "false";
    else if (p->form == WHOLE)
        return whole_text(s.i < 0 ? 0 - (uint64_t)s.i : (uint64_t)s.i, s.i < 0, buf);
    else if (isnan(s.f)) word = "nan";
    else if (isinf(s.f)) word = s.f < 0 ? "-inf" : "inf";
    else if (p->form == SCIENTIFIC) return snprintf(buf, TEXT, "%.*e", p->decimals, s.f);
    else return fixed_text(p->dtype, s.f, p->decimals, buf);
    strcpy(buf, word);
    return (int)strlen(word);
}

/* ---- the form of all elements ---- */

/* The most decimals that any element needs, at least 1 (0 if the precision is 0). */
static int decimals_needed(page *p) {
    char buf[TEXT];
    int most = opt.precision < 1 ? opt.precision : 1;
    p->decimals = opt.precision;
    for (int64_t i = 0; i < p->count && most < opt.precision; i++) {
        int n = element_text(p, i, buf), d = opt.precision;
        if (buf[n - 1] > '9') continue; /* nan, inf */
        while (d > most && buf[n - 1] == '0') n--, d--;
        if (d > most) most = d;
    }
    return most;
}

/* Chooses scientific form where fixed digits would not show the smallest element or would be too
 * long: from 1e8 up, or below 10^-precision. */
static void choose_float_form(page *p) {
    double most = 0, least = INFINITY;
    for (int64_t i = 0; i < p->count; i++) {
        double v = fabs(gp_scalar_load(p->dtype, p->data + i * (int64_t)gp_dtype_size(p->dtype)).f);
        if (!isfinite(v) || v == 0) continue;
        if (v > most) most = v;
        if (v < least) least = v;
    }
    p->form = most >= 1e8 || least < pow(10, -opt.precision) ? SCIENTIFIC : FIXED;
    p->decimals = p->form == SCIENTIFIC ? opt.precision : decimals_needed(p);
}

/* Chooses form, decimals and width for all shown elements, so that columns align. */
static void choose_form(page *p) {
    char buf[TEXT];
    if (p->dtype == GP_bool) p->form = TRUTH;
    else if (!gp_is_float(p->dtype)) p->form = WHOLE;
    else choose_float_form(p);
    for (int64_t i = 0; i < p->count; i++) {
        int n = element_text(p, i, buf);
        if (n > p->width) p->width = n;
    }
}

/* ---- layout ---- */

static void append(page *p, const char *s, int n) {
    luaL_addlstring(&p->b, s, (size_t)n);
    p->column += n;
}

static void newline(page *p, int indent) {
    luaL_addchar(&p->b, '\n');
    for (int i = 0; i < indent; i++) luaL_addchar(&p->b, ' ');
    p->column = indent;
}

static void pad(page *p, int n) {
    for (int i = 0; i < n; i++) append(p, " ", 1);
}

/* Starts an item of n characters: a comma, and a new line where it would not fit. */
static void item(page *p, int n, bool first, int indent) {
    if (first) return;
    append(p, ",", 1);
    if (p->column + 1 + n >= line_width()) newline(p, indent);
    else append(p, " ", 1);
}

/* Whether the middle elements of dim d are left out. */
static bool cut(const page *p, int d) { return p->edge && p->of->dim[d] > 2 * p->edge; }

/* Writes the elements of the last dim, in order: next counts them. */
static void row(page *p, int indent) {
    char buf[TEXT];
    int d = p->of->ndim - 1;
    bool dots = cut(p, d);
    int64_t n = dots ? 2 * p->edge : p->of->dim[d];
    for (int64_t i = 0; i < n; i++) {
        if (dots && i == p->edge) item(p, 3, false, indent), append(p, "...", 3);
        int len = element_text(p, p->next++, buf);
        item(p, p->width, i == 0, indent);
        pad(p, p->width - len);
        append(p, buf, len);
    }
}

/* Writes dim d and those inside it. One line end separates blocks, and one more for each further
 * dim, as in NumPy. */
static void block(page *p, int d) {
    int indent = p->column + 1, inner = p->of->ndim - 1 - d;
    bool dots = cut(p, d);
    int64_t n = dots ? 2 * p->edge : p->of->dim[d];
    append(p, "{", 1);
    if (inner == 0) row(p, indent);
    for (int64_t i = 0; inner && i < n; i++) {
        if (i) append(p, ",", 1);
        for (int k = 1; i && k < inner; k++) luaL_addchar(&p->b, '\n');
        if (i) newline(p, indent);
        if (dots && i == p->edge) {
            append(p, "...,", 4);
            for (int k = 1; k < inner; k++) luaL_addchar(&p->b, '\n');
            newline(p, indent);
        }
        block(p, d + 1);
    }
    append(p, "}", 1);
}

/* Writes dtype, shape and device after the elements. */
static void label(page *p, gp_tensor *t) {
    char what[200], text[240];
    int n = snprintf(text, sizeof text, "%s %s%s)", gp_tensor_text(t, what, sizeof what),
                     gp_tensor_device(t)->name, t->requires_grad ? " requires_grad" : "");
    append(p, ",", 1);
    if (p->column + 1 + n > line_width()) newline(p, 7);
    else append(p, " ", 1);
    append(p, text, n);
}

/* ---- the elements shown ---- */

/* t with dim d split into two: the first e elements and the last e. Takes over t. */
static gp_tensor *split(gp_tensor *t, int d, int64_t e) {
    gp_shape s = {.ndim = t->a.ndim + 1};
    int64_t stride[GP_MAX_DIM];
    for (int i = 0, j = 0; i < s.ndim; i++) {
        s.dim[i] = i == d ? 2 : i == d + 1 ? e : t->a.dim[j];
        stride[i] = i == d ? (t->a.dim[j] - e) * t->a.stride[j] : t->a.stride[j];
        if (i != d) j++;
    }
    gp_tensor *v = gp_tensor_view(t, &s, stride, 0);
    gp_tensor_unref(t);
    return v;
}

/* t's elements as outer x n x inner. Takes over t. */
static gp_tensor *as_three(gp_tensor *t, int64_t n, int64_t inner) {
    gp_tensor *flat = gp_contiguous(t);
    gp_tensor_unref(t);
    if (!flat) return NULL;
    gp_shape s = {.ndim = 3, .dim = {flat->a.numel / (n * inner), n, inner}};
    int64_t stride[GP_MAX_DIM];
    gp_shape_strides(&s, stride);
    gp_tensor *v = gp_tensor_view(flat, &s, stride, 0);
    gp_tensor_unref(flat);
    return v;
}

/* The shown elements of x in row-major order, on its device: one view where the dims suffice, else
 * a copy for each abbreviated dim. */
static gp_tensor *edges(gp_tensor *x, int64_t e) {
    int cuts = 0;
    int64_t inner = 1;
    for (int d = 0; d < x->a.ndim; d++) cuts += x->a.dim[d] > 2 * e;
    bool one = x->a.ndim + cuts <= GP_MAX_DIM;
    gp_tensor *t = gp_tensor_ref(x);
    for (int d = x->a.ndim - 1; t && d >= 0; d--) {
        bool is_cut = x->a.dim[d] > 2 * e;
        if (is_cut && !one) t = as_three(t, x->a.dim[d], inner);
        if (is_cut && t) t = split(t, one ? d : 1, e);
        inner *= is_cut ? 2 * e : x->a.dim[d];
    }
    return t;
}

/* The number of elements to show at each end of a dim, or 0 for all; fewer than asked for where
 * many dims would make the text too long. */
static int64_t choose_edge(const gp_array *a) {
    if (a->numel <= opt.threshold) return 0;
    double most = opt.threshold > 1000 ? (double)opt.threshold : 1000;
    for (int64_t e = opt.edgeitems;; e--) {
        double shown = 1;
        bool any = false;
        for (int d = 0; d < a->ndim; d++) {
            bool is_cut = a->dim[d] > 2 * e;
            any = any || is_cut;
            shown *= is_cut ? 2 * (double)e : (double)a->dim[d];
        }
        if (e == 1 || shown <= most) return any ? e : 0;
    }
}

/* Pushes t as text, reading only what is shown, in one recorded wait. */
static void push_text(lua_State *L, gp_tensor *t, gp_why why, const char *what) {
    page p = {.of = &t->a, .dtype = (gp_dtype)t->a.dtype, .edge = choose_edge(&t->a)};
    int top = lua_gettop(L);
    const gp_tensor *shown = t;
    gp_lua_enter(L);
    if (p.edge) gp_lua_push(L, edges(t, p.edge));
    if (t->a.numel) shown = gp_lua_host(L, p.edge ? gp_lua_totensor(L, -1) : t, why, what);
    p.data = shown->a.data;
    p.count = shown->a.numel;
    choose_form(&p);
    luaL_buffinit(L, &p.b);
    append(&p, "tensor(", 7);
    if (p.of->ndim == 0) {
        char buf[TEXT];
        append(&p, buf, element_text(&p, 0, buf));
    } else if (p.count == 0) {
        append(&p, "{}", 2);
    } else {
        block(&p, 0);
    }
    label(&p, t);
    luaL_pushresult(&p.b);
    lua_insert(L, top + 1);
    lua_settop(L, top + 1);
}

int gp_lua_tostring(lua_State *L) {
    push_text(L, gp_lua_check(L, 1, "tostring"), GP_WHY_print, "print");
    return 1;
}

/* ---- options ---- */

/* The integer at idx, `now` if it is absent. */
static int64_t option(lua_State *L, int idx, const char *name, int64_t now, int64_t least,
                      int64_t most) {
    lua_Integer v = luaL_optinteger(L, idx, now);
    if (v < least || v > most)
        return luaL_error(L, "printoptions: option '%s': expected an integer from %I to %I, got %I",
                          name, (LUAI_UACINT)least, (LUAI_UACINT)most, (LUAI_UACINT)v);
    return v;
}

/* printoptions{precision=4, threshold=1000, edgeitems=3, linewidth=80} sets the given ones; returns
 * the options. */
static int l_printoptions(lua_State *L) {
    int64_t precision = option(L, 1, "precision", opt.precision, 0, 20);
    int64_t threshold = option(L, 2, "threshold", opt.threshold, 0, INT64_MAX);
    int64_t edgeitems = option(L, 3, "edgeitems", opt.edgeitems, 1, 1000000);
    int64_t linewidth = option(L, 4, "linewidth", opt.linewidth, 1, 1000000);
    opt.precision = (int)precision, opt.threshold = threshold;
    opt.edgeitems = edgeitems, opt.linewidth = (int)linewidth;
    if (!lua_isnoneornil(L, 4)) chosen = true;
    lua_createtable(L, 0, 4);
    lua_pushinteger(L, opt.precision), lua_setfield(L, -2, "precision");
    lua_pushinteger(L, opt.threshold), lua_setfield(L, -2, "threshold");
    lua_pushinteger(L, opt.edgeitems), lua_setfield(L, -2, "edgeitems");
    lua_pushinteger(L, opt.linewidth), lua_setfield(L, -2, "linewidth");
    return 1;
}

void gp_lua_open_print(lua_State *L) {
    static const gp_lua_function functions[] = {
        {"printoptions", "int? precision, int? threshold, int? edgeitems, int? linewidth",
         l_printoptions},
        {NULL, NULL, NULL}};
    gp_lua_set_functions(L, functions);
}
