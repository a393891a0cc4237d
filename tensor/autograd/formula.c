/* Reads derivative columns of ops.def as text: composes the same formula of recorded ops, so that
 * it has a derivative of its own. */
#include "tensor/autograd/formula.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A value while the text is read: a number or a tensor (GP_NUMBER, GP_TENSOR). Undefined after a
 * failure, or in a part that is only skipped. */
typedef struct branch {
    gp_value cond; /* a tensor: the branch is taken … */
    bool taken;    /* … where it is this */
    struct branch *outer;
} branch;

typedef struct reader {
    gp_vjp *v;
    const gp_formula_vars *vars;
    const char *at;
    branch *in;
    int depth; /* above 0: in the branch of ?: that is not taken */
} reader;

static gp_value number(double f) { return (gp_value){.kind = GP_NUMBER, .is_float = true, .f = f}; }

static gp_value any(reader *r);

static void spaces(reader *r) {
    while (*r->at == ' ') r->at++;
}

/* Whether `what` comes next; if so, reads it. */
static bool accept(reader *r, const char *what) {
    spaces(r);
    size_t n = strlen(what);
    if (strncmp(r->at, what, n)) return false;
    r->at += n;
    return true;
}

static gp_value call_op(reader *r, const gp_op *op, const gp_value *arg, int n) {
    gp_call c;
    if (r->v->failed || r->depth) return number(0);
    gp_call_begin(&c, op);
    for (int i = 0; i < n; i++) {
        bool whole =
            arg[i].kind == GP_NUMBER && fabs(arg[i].f) < 0x1p53 && arg[i].f == floor(arg[i].f);
        if (whole) gp_call_number(&c, (gp_scalar){.i = (int64_t)arg[i].f});
        else c.arg[c.nargs++] = arg[i];
    }
    gp_tensor *t = gp_keep(r->v, gp_call_one(&c));
    return t ? (gp_value){.kind = GP_TENSOR, .t = t} : number(0);
}

/* The number as a tensor of g's dtype, for an op that takes no number in that argument. */
static gp_value as_tensor(reader *r, gp_value x) {
    gp_tensor *g = r->vars->value[0].t;
    gp_call c;
    if (x.kind == GP_TENSOR || r->v->failed || r->depth) return x;
    gp_call_begin(&c, GP_OP(full));
    gp_call_ints(&c, &(int64_t){0}, 0);
    gp_call_number(&c, (gp_scalar){.is_float = true, .f = x.f});
    c.arg[c.nargs++] = (gp_value){.kind = GP_DTYPE, .i = g->a.dtype};
    c.arg[c.nargs++] = (gp_value){.kind = GP_DEVICE, .dev = g->storage->dev};
    gp_tensor *t = gp_keep(r->v, gp_call_one(&c));
    return t ? (gp_value){.kind = GP_TENSOR, .t = t} : number(0);
}

/* ---- operators ---- */

static double add(double a, double b) { return a + b; }
static double sub(double a, double b) { return a - b; }
static double mul(double a, double b) { return a * b; }
static double quotient(double a, double b) { return a / b; }
static double lt(double a, double b) { return a < b; }
static double le(double a, double b) { return a <= b; }
static double gt(double a, double b) { return a > b; }
static double ge(double a, double b) { return a >= b; }
static double eq(double a, double b) { return a == b; }
static double ne(double a, double b) { return a != b; }
static double and (double a, double b) { return a && b; }
static double or (double a, double b) { return a || b; }

/* By precedence, the lowest first; where one is the prefix of another, the longer first. */
static const struct operator{
    const char *text;
    int level;
    const gp_op *op;
    double (*of_numbers)(double, double);
}
operators[] = {
    {"||", 0, GP_OP(logical_or), or }, {"&&", 1, GP_OP(logical_and), and},
    {"==", 2, GP_OP(eq), eq},          {"!=", 2, GP_OP(ne), ne},
    {"<=", 3, GP_OP(le), le},          {">=", 3, GP_OP(ge), ge},
    {"<", 3, GP_OP(lt), lt},           {">", 3, GP_OP(gt), gt},
    {"+", 4, GP_OP(add), add},         {"-", 4, GP_OP(sub), sub},
    {"*", 5, GP_OP(mul), mul},         {"/", 5, GP_OP(div), quotient},
};
enum { OPERATORS = sizeof operators / sizeof *operators, LEVELS = 6 };

static gp_value combine(reader *r, const struct operator* o, gp_value a, gp_value b) {
    if (a.kind == GP_NUMBER && b.kind == GP_NUMBER) return number(o->of_numbers(a.f, b.f));
    return call_op(r, o->op, (gp_value[]){a, b}, 2);
}

/* ---- names and functions ---- */

/* Length of the name at s, 0 if there is none. */
static size_t name_at(const char *s) {
    size_t n = 0;
    if (!isalpha((unsigned char)*s)) return 0;
    while (isalnum((unsigned char)s[n]) || s[n] == '_') n++;
    return n;
}

static const gp_op *function(const char *s, size_t n) {
    char name[32];
    if (n >= sizeof name) return NULL;
    snprintf(name, sizeof name, "%.*s", (int)n, s);
    return gp_op_find(name);
}

/* Applies the op called name to the arguments read. */
static gp_value call(reader *r, const char *name, size_t n) {
    gp_value arg[3];
    int count = 0;
    bool tensor = false;
    do {
        arg[count] = any(r);
        tensor |= arg[count++].kind == GP_TENSOR;
    } while (count < 3 && accept(r, ","));
    accept(r, ")");
    if (!tensor) arg[0] = as_tensor(r, arg[0]);
    return call_op(r, function(name, n), arg, count);
}

/* x within a branch: 1 where that is not taken, or an infinity there, times the gradient 0, is
 * NaN. So is g's own gradient where its factor is infinite, hence g is no exception. */
static gp_value safe(reader *r, gp_value x, const branch *b) {
    if (!b || x.kind != GP_TENSOR) return x;
    x = safe(r, x, b->outer);
    gp_value one = number(1);
    return call_op(r, GP_OP(where), (gp_value[]){b->cond, b->taken ? x : one, b->taken ? one : x},
                   3);
}

static gp_value named(reader *r, const char *name, size_t n) {
    const gp_formula_vars *vars = r->vars;
    for (int i = 0; n == 1 && i < vars->n; i++)
        if (vars->name[i] == *name) return safe(r, vars->value[i], r->in);
    if (n == 8 && !strncmp(name, "INFINITY", n)) return number(INFINITY);
    gp_fail("the formula's '%.*s' is undefined", (int)n, name);
    return r->v->failed = true, number(0);
}

static gp_value primary(reader *r) {
    if (accept(r, "(")) {
        gp_value x = any(r);
        accept(r, ")");
        return x;
    }
    if (accept(r, "-")) {
        gp_value x = primary(r);
        return x.kind == GP_NUMBER ? number(-x.f) : call_op(r, GP_OP(neg), &x, 1);
    }
    spaces(r);
    const char *name = r->at;
    size_t n = name_at(name);
    if (!n) {
        char *end;
        double f = strtod(r->at, &end);
        r->v->failed |= end == r->at;
        r->at = end;
        return number(f);
    }
    r->at += n;
    return accept(r, "(") ? call(r, name, n) : named(r, name, n);
}

static gp_value binary(reader *r, int level) {
    if (level == LEVELS) return primary(r);
    gp_value a = binary(r, level + 1);
    for (int i = 0; i < OPERATORS; i++) {
        const struct operator* o = & operators[i];
        if (o->level != level || !accept(r, o->text)) continue;
        a = combine(r, o, a, binary(r, level + 1));
        i = -1; /* look for another operator of this level */
    }
    return a;
}

/* Reads a branch of ?:, and only skips it where the condition is a number that selects the
 * other. */
static gp_value read_branch(reader *r, gp_value cond, bool taken) {
    branch b = {cond, taken, r->in};
    bool skip = cond.kind == GP_NUMBER && (cond.f != 0) != taken;
    if (cond.kind == GP_TENSOR) r->in = &b;
    r->depth += skip;
    gp_value x = any(r);
    r->depth -= skip;
    r->in = b.outer;
    return x;
}

static gp_value any(reader *r) {
    gp_value cond = binary(r, 0);
    if (!accept(r, "?")) return cond;
    gp_value yes = read_branch(r, cond, true);
    accept(r, ":");
    gp_value no = read_branch(r, cond, false);
    if (cond.kind == GP_NUMBER) return cond.f != 0 ? yes : no;
    return call_op(r, GP_OP(where), (gp_value[]){cond, yes, no}, 3);
}

void gp_formula_set(gp_formula_vars *vars, char name, gp_value value) {
    if (value.kind != GP_TENSOR)
        value =
            (gp_value){.kind = GP_NUMBER,
                       .is_float = true,
                       .f = value.kind == GP_FLOAT || value.is_float ? value.f : (double)value.i};
    vars->name[vars->n] = name;
    vars->value[vars->n++] = value;
}

bool gp_formula_composes(const char *text) {
    for (size_t n; *text; text += n ? n : 1) {
        n = name_at(text);
        if (n && text[n] == '(' && !function(text, n)) return false;
    }
    return true;
}

gp_tensor *gp_formula(gp_vjp *v, const char *text, const gp_formula_vars *vars) {
    reader r = {.v = v, .vars = vars, .at = text};
    gp_value x = any(&r);
    spaces(&r);
    if (!v->failed && *r.at) {
        v->failed = true;
        return gp_fail_null("the formula '%s' cannot be read from '%s' on", text, r.at);
    }
    if (v->failed) return NULL;
    return x.kind == GP_TENSOR ? x.t : gp_do(v, GP_OP(fill), "tn", vars->value[0].t, x.f);
}
