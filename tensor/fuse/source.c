/* Writes programs as C. Formulas are the text of their rows: variables are numbers of the compute
 * type, which the loop's operands are converted to as the loops of single ops convert them. */
#include "tensor/fuse/source.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STEPS = 48 }; /* of a loop: beyond that registers are spilled, and compiling takes long */

typedef struct writer {
    FILE *f;
    const gp_program *p;
    const gp_loops_rules *rules;
    int first, end; /* steps of the loop */
} writer;

/* ---- types ---- */

/* NULL: the 16-bit floats, which steps convert from and to. */
static const char *const types[GP_DTYPES] = {
    [GP_bool] = "uint8_t", [GP_u8] = "uint8_t",  [GP_i8] = "int8_t", [GP_i16] = "int16_t",
    [GP_i32] = "int32_t",  [GP_i64] = "int64_t", [GP_f32] = "float", [GP_f64] = "double"};

/* The type in which a formula is computed. */
static gp_dtype computed(const gp_step *s) {
    gp_dtype dt = (gp_dtype)s->compute;
    if (dt == GP_f16 || dt == GP_bf16) return GP_f32;
    return gp_is_float(dt) || dt == GP_i64 ? dt : GP_i32;
}

static gp_dtype dtype_of(const gp_program *p, int v) {
    return (gp_dtype)(v < p->ninputs ? p->dtype[v] : p->step[v - p->ninputs].dtype);
}

/* Whether C's conversion is that of the loops: a float becomes an integer in a way of its own. */
static bool converts(gp_dtype from, gp_dtype to) {
    if (!types[from] || !types[to]) return false;
    return from == to || to == GP_bool || !gp_is_float(from) || gp_is_float(to);
}

/* The type in which operand i is wanted. */
static gp_dtype wanted(const gp_step *s, int i) {
    if (s->op->fuses == GP_FUSE_WHERE && !i) return GP_bool;
    return s->op->fuses ? (gp_dtype)s->dtype : computed(s);
}

/* ---- which steps ---- */

static bool listed(const char *const *names, const char *at, size_t n) {
    for (; *names; names++)
        if (strlen(*names) == n && !memcmp(*names, at, n)) return true;
    return false;
}

/* The end of the number that begins at p. */
static const char *number_end(const char *p, bool *whole) {
    *whole = true;
    for (; isalnum((unsigned char)*p) || *p == '.'; p++) {
        *whole &= isdigit((unsigned char)*p) != 0;
        if (tolower((unsigned char)*p) == 'e' && (p[1] == '-' || p[1] == '+')) p++;
    }
    return p;
}

static const char *name_end(const char *p) {
    while (isalnum((unsigned char)*p) || *p == '_') p++;
    return p;
}

/* Whether a formula has no names but its variables and what the rules allow for floats. */
static bool known_names(const gp_loops_rules *r, gp_step_text t, bool floats) {
    bool whole;
    for (const char *p = t.formula, *end; *p; p = end) {
        end = p + 1;
        if (isdigit((unsigned char)*p)) {
            end = number_end(p, &whole);
        } else if (isalpha((unsigned char)*p)) {
            end = name_end(p);
            bool variable = end - p == 1 && (strchr(t.vars, *p) || strchr("pqrn", *p));
            if (!variable && !(floats && listed(r->functions, p, (size_t)(end - p)))) return false;
        }
    }
    return true;
}

static bool formula_fits(const gp_loops_rules *r, const gp_step *s) {
    gp_dtype type = computed(s);
    bool truth = s->op->types & GP_T_BOOL, floats = gp_is_float(type);
    bool parameters = s->op->kind == GP_PARAM || s->op->kind == GP_GRAD;
    if (s->dtype != (truth ? GP_bool : type) || (parameters && !floats) ||
        s->op->fault == GP_FAULT_CHANCE || (s->op->fault && !floats))
        return false;
    gp_step_text t = r->text(s);
    return t.formula && (int)strlen(t.vars) <= s->nin && known_names(r, t, floats);
}

static bool step_fits(const gp_program *p, const gp_loops_rules *r, const gp_step *s) {
    for (int i = 0; i < s->nin; i++)
        if (s->arg[i].kind == GP_TENSOR ? !converts(dtype_of(p, (int)s->arg[i].i), wanted(s, i))
                                        : wanted(s, i) == GP_bool)
            return false;
    switch ((gp_fuse_form)s->op->fuses) {
    case GP_FUSE_NONE: return formula_fits(r, s);
    case GP_FUSE_CONVERT:
    case GP_FUSE_WHERE: return types[s->dtype] != NULL;
    case GP_FUSE_DROP: return false;
    }
    return false;
}

static void find_loops(gp_loops *s, const gp_program *p, const gp_loops_rules *r) {
    s->nloops = 0;
    for (int k = 0, end; k<p->nsteps; k = end> k ? end : k + 1) {
        for (end = k; end < p->nsteps && end - k < STEPS && step_fits(p, r, &p->step[end]);) end++;
        if (end - k < 2) continue; /* the step's own loop is as good */
        s->first[s->nloops] = (int16_t)k;
        s->end[s->nloops++] = (int16_t)end;
    }
}

bool gp_loops_leaves(const gp_program *p, int v, int end) {
    for (int i = 0; i < p->nout; i++)
        if (p->out[i] == v) return true;
    for (int k = end; k < p->nsteps; k++)
        for (int i = 0; i < p->step[k].nargs; i++)
            if (p->step[k].arg[i].kind == GP_TENSOR && p->step[k].arg[i].i == v) return true;
    return false;
}

/* ---- text ---- */

gp_scalar gp_step_parameter(const gp_step *s, int i) {
    const gp_value *v = &s->arg[s->nin + i];
    if (s->nin + i >= s->nargs || v->kind == GP_NONE)
        return (gp_scalar){.is_float = true, .f = i ? INFINITY : -INFINITY};
    if (v->kind == GP_FLOAT || v->is_float) return (gp_scalar){.is_float = true, .f = v->f};
    return (gp_scalar){.i = v->i};
}

/* A formula of f32 has constants of f32, where C would compute in double. */
static void write_formula(const writer *w, const char *formula, bool f32) {
    bool whole;
    for (const char *p = formula, *end; *p; p = end) {
        bool number = isdigit((unsigned char)*p) != 0;
        end = number ? number_end(p, &whole) : isalpha((unsigned char)*p) ? name_end(p) : p + 1;
        fprintf(w->f, "%.*s%s", (int)(end - p), p, number && f32 && !whole ? "f" : "");
    }
}

/* By its bits, as no decimal is exact in every locale. */
static void write_parameter(const writer *w, char name, gp_dtype dt, gp_scalar v) {
    double d = v.is_float ? v.f : (double)v.i;
    float f = v.is_float ? (float)v.f : (float)v.i;
    uint64_t bits = 0;
    uint32_t half;
    memcpy(&bits, &d, sizeof bits);
    memcpy(&half, &f, sizeof half);
    if (dt == GP_f32) fprintf(w->f, " const float %c = gp_f32(0x%" PRIx32 "u);", name, half);
    else fprintf(w->f, " const double %c = gp_f64(0x%" PRIx64 "ull);", name, bits);
}

/* Its first number's place among all of the program. */
static int numbers_before(const gp_program *p, int step) {
    int n = 0;
    for (int k = 0; k < step; k++)
        for (int i = 0; i < p->step[k].nin; i++) n += p->step[k].arg[i].kind != GP_TENSOR;
    return n;
}

/* Operand i of step k, in the type that it is wanted in. */
static void write_operand(const writer *w, int k, int i) {
    const gp_step *s = &w->p->step[k];
    gp_dtype to = wanted(s, i);
    int v = (int)s->arg[i].i;
    if (s->arg[i].kind != GP_TENSOR) {
        int at = numbers_before(w->p, k);
        for (int j = 0; j < i; j++) at += s->arg[j].kind != GP_TENSOR;
        fprintf(w->f, "c%d", at);
        return;
    }
    bool truth = dtype_of(w->p, v) == GP_bool || to == GP_bool;
    fprintf(w->f, "(%s)(v%d%s)", types[to], v, truth ? " != 0" : "");
}

static void write_step(const writer *w, int k) {
    const gp_step *s = &w->p->step[k];
    const char *type = types[s->dtype];
    fprintf(w->f, "        %s v%d; {", type, w->p->ninputs + k);
    if (s->op->fuses) {
        bool where = s->op->fuses == GP_FUSE_WHERE;
        for (int i = 0; i < 1 + 2 * where; i++) {
            fprintf(w->f, " const %s o%d = ", types[wanted(s, i)], i);
            write_operand(w, k, i);
            fprintf(w->f, ";");
        }
        fprintf(w->f, " v%d = %s; }\n", w->p->ninputs + k, where ? "o0 ? o1 : o2" : "o0");
        return;
    }
    gp_step_text t = w->rules->text(s);
    gp_dtype in = computed(s);
    for (int i = 0; t.vars[i]; i++) {
        fprintf(w->f, " const %s %c = ", types[in], t.vars[i]);
        write_operand(w, k, i);
        fprintf(w->f, ";");
    }
    if (s->op->kind == GP_PARAM || s->op->kind == GP_GRAD) {
        for (int i = 0; i < 3; i++) write_parameter(w, "pqr"[i], in, gp_step_parameter(s, i));
        if (s->op->kind == GP_GRAD) fprintf(w->f, " const %s n = p;", types[in]);
    }
    fprintf(w->f, " v%d = (%s)(", w->p->ninputs + k, type);
    write_formula(w, t.formula, in == GP_f32);
    fprintf(w->f, "); }\n");
}

/* Whether a step of the loop reads value v. */
static bool reads(const writer *w, int v) {
    for (int k = w->first; k < w->end; k++)
        for (int i = 0; i < w->p->step[k].nin; i++)
            if (w->p->step[k].arg[i].kind == GP_TENSOR && w->p->step[k].arg[i].i == v) return true;
    return false;
}

static void write_pointers(const writer *w) {
    const gp_program *p = w->p;
    for (int v = 0; v < p->ninputs + w->first; v++)
        if (reads(w, v))
            fprintf(w->f, "    const %s *in%d = (const void *)at[%d];\n", types[dtype_of(p, v)], v,
                    v);
    for (int k = w->first; k < w->end; k++)
        if (gp_loops_leaves(p, p->ninputs + k, w->end))
            fprintf(w->f, "    %s *restrict out%d = (void *)at[%d];\n", types[p->step[k].dtype],
                    p->ninputs + k, p->ninputs + k);
    for (int k = w->first, c = numbers_before(p, k); k < w->end; k++)
        for (int i = 0; i < p->step[k].nin; i++) {
            if (p->step[k].arg[i].kind == GP_TENSOR) continue;
            const char *type = types[wanted(&p->step[k], i)];
            fprintf(w->f, "    const %s c%d = *(const %s *)(numbers + %" PRId64 ");\n", type, c,
                    type, c * w->rules->number_step);
            c++;
        }
}

static void write_loop(const writer *w, int number) {
    const gp_program *p = w->p;
    fprintf(w->f, "void gp_loop_%d(long first, long end, char *const *at, const char *numbers) {\n",
            number);
    write_pointers(w);
    fprintf(w->f, "#pragma omp simd\n    for (long i = first; i < end; i++) {\n");
    for (int v = 0; v < p->ninputs + w->first; v++)
        if (reads(w, v))
            fprintf(w->f, "        const %s v%d = in%d[i];\n", types[dtype_of(p, v)], v, v);
    for (int k = w->first; k < w->end; k++) write_step(w, k);
    for (int k = w->first; k < w->end; k++)
        if (gp_loops_leaves(p, p->ninputs + k, w->end))
            fprintf(w->f, "        out%d[i] = v%d;\n", p->ninputs + k, p->ninputs + k);
    fprintf(w->f, "    }\n}\n");
}

bool gp_loops_write(gp_loops *s, const gp_program *p, const gp_loops_rules *rules) {
    size_t size;
    s->text = NULL;
    find_loops(s, p, rules);
    if (!s->nloops) return true;
    writer w = {.f = open_memstream(&s->text, &size), .p = p, .rules = rules};
    if (!w.f) return gp_fail("fuse: out of memory");
    for (int i = 0; i < s->nloops; i++) {
        w.first = s->first[i], w.end = s->end[i];
        write_loop(&w, i);
    }
    bool bad = ferror(w.f);
    if (!fclose(w.f) && !bad && s->text) return true;
    free(s->text);
    s->text = NULL;
    return gp_fail("fuse: out of memory");
}
