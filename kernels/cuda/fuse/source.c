/* Writes programs as CUDA C++: a struct of the steps, each the text of its row, and the kernels
 * that run it (program.cuh). Values are kept as they would be in memory, and converted as the
 * kernels of single ops convert them: the results have the same bits. */
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/common/power.h"
#include "kernels/cuda/fuse/fuse.h"
#include "tensor/device/plugin_api.h"
#include "tensor/fuse/source.h"

const char *const gp_fused_names[GP_FUSED_KERNELS] = {
    "gp_fused_elements", "gp_fused_vectors",     "gp_fused_parts",         "gp_fused_rows",
    "gp_fused_columns",  "gp_fused_rows_single", "gp_fused_columns_single"};

/* Of a program: compiling more takes seconds. A chain of 40, the longest that is planned, has a
 * derivative of 160 where its ops have two operands. */
enum { STEPS = 160 };

typedef struct writer {
    FILE *f;
    const gp_program *p;
    uint64_t *number;
    int n, most;
    const char *why; /* NULL: all could be written */
} writer;

/* ---- formulas of rows ---- */

static gp_power power_of(const gp_step *s) {
    gp_call c = {.op = s->op, .compute = s->compute, .nargs = s->nargs};
    memcpy(c.arg, s->arg, s->nargs * sizeof *c.arg);
    return s->op->kind == GP_GRAD ? GP_POWER_ANY : gp_power_of(&c);
}

/* As binary.cu chooses the kernel of a power. */
static gp_step_text text_of(const gp_step *s) {
    const gp_op *op = s->op;
    switch (power_of(s)) {
    case GP_POWER_SQUARE: op = GP_OP(square); break;
    case GP_POWER_SQRT: op = GP_OP(sqrt); break;
    case GP_POWER_RSQRT: op = GP_OP(rsqrt); break;
    case GP_POWER_RECIPROCAL: op = GP_OP(reciprocal); break;
    default: break;
    }
    return (gp_step_text){op->vars, op->formula};
}

static bool mentions(const char *formula, char name) {
    for (const char *p = formula, *end; *p; p = end) {
        for (end = p; isalnum((unsigned char)*end) || *end == '_' || *end == '.';) end++;
        if (end == p + 1 && *p == name) return true;
        if (end == p) end++;
    }
    return false;
}

/* ---- types ---- */

static const char *const types[GP_DTYPES] = {
#define DTYPE(name, ctype, kind) [GP_##name] = #ctype,
#include "tensor/dtype.def"
};

gp_dtype gp_fused_compute(gp_dtype dt) {
    if (dt == GP_f16 || dt == GP_bf16) return GP_f32;
    return gp_is_float(dt) || dt == GP_i64 ? dt : GP_i32;
}

static gp_dtype dtype_of(const writer *w, int v) {
    const gp_program *p = w->p;
    return (gp_dtype)(v < p->ninputs ? p->dtype[v] : p->step[v - p->ninputs].dtype);
}

/* ---- numbers ---- */

static int add_bits(writer *w, uint64_t bits) {
    for (int i = 0; i < w->n; i++)
        if (w->number[i] == bits) return i; /* a derivative repeats those of its forward */
    if (w->n == w->most) w->why = "it has too many numbers";
    else w->number[w->n++] = bits;
    return w->n - 1;
}

static int add_number(writer *w, gp_dtype dt, gp_scalar s) {
    uint64_t bits = 0;
    gp_scalar_store(dt, &bits, s);
    return add_bits(w, bits);
}

/* Parameters are clamped to an integer type's range, where operands wrap. */
static int add_parameter(writer *w, gp_dtype dt, gp_scalar s) {
    int64_t most = dt == GP_i32 ? INT32_MAX : INT64_MAX,
            least = dt == GP_i32 ? INT32_MIN : INT64_MIN;
    if (!gp_is_float(dt)) {
        int64_t i = !s.is_float                     ? s.i
                    : s.f > -0x1p63 && s.f < 0x1p63 ? (int64_t)s.f
                    : s.f >= 0                      ? INT64_MAX
                    : s.f != s.f                    ? 0
                                                    : INT64_MIN;
        s = (gp_scalar){.i = i > most ? most : i < least ? least : i};
    }
    return add_number(w, dt, s);
}

/* ---- steps ---- */

/* Operand i of s as a value of type T, which the enclosing scope defines. */
static void write_operand(writer *w, const gp_step *s, int i, gp_dtype type) {
    const gp_value *v = &s->arg[i];
    if (v->kind != GP_TENSOR)
        fprintf(w->f, "gp_number_at<T>(args, %d)", add_number(w, type, gp_value_scalar(v)));
    else fprintf(w->f, "gp_load_as<T>(&v%d, (gp_dtype)%d)", (int)v->i, (int)dtype_of(w, (int)v->i));
}

static void write_formula(writer *w, const gp_step *s, int to) {
    gp_step_text t = text_of(s);
    gp_dtype type = gp_fused_compute((gp_dtype)s->compute);
    bool parameters = s->op->kind == GP_PARAM || s->op->kind == GP_GRAD;
    int fault = s->op->fault;
    if (power_of(s) == GP_POWER_ANY && (fault == GP_FAULT_CHANCE || (fault && !gp_is_float(type))))
        w->why = "a step may fail";
    fprintf(w->f, "{ typedef %s T;", types[type]);
    for (int i = 0; t.vars[i]; i++) {
        if (!mentions(t.formula, t.vars[i])) continue;
        fprintf(w->f, " const gp_num<T> %c = ", t.vars[i]);
        write_operand(w, s, i, type);
        fputc(';', w->f);
    }
    for (int i = 0; parameters && i < 4; i++) {
        if (!mentions(t.formula, "pqrn"[i]) || (i == 3 && s->op->kind != GP_GRAD)) continue;
        int at = add_parameter(w, type, gp_step_parameter(s, i == 3 ? 0 : i));
        fprintf(w->f, " const gp_num<T> %c = gp_number_at<T>(args, %d);", "pqrn"[i], at);
    }
    bool lowest = s->op->lowest_bit && s->compute == GP_bool;
    fprintf(w->f, " gp_num<T> to = (%s); ", t.formula);
    if (lowest) fprintf(w->f, "v%d = (int64_t)to.v & 1; }\n", to);
    else fprintf(w->f, "gp_store_as<T>(&v%d, (gp_dtype)%d, to.v); }\n", to, (int)s->dtype);
}

/* The value of operand i converted as where, and to, do: through a type that loses nothing. */
static void write_converted(writer *w, const gp_step *s, int i, gp_dtype via, int to) {
    gp_dtype dt = (gp_dtype)s->dtype;
    const gp_value *v = &s->arg[i];
    if (v->kind != GP_TENSOR)
        fprintf(w->f, "v%d = gp_number_at<%s>(args, %d);", to, types[dt],
                add_number(w, dt, gp_value_scalar(v)));
    else if (dtype_of(w, (int)v->i) == dt) fprintf(w->f, "v%d = v%d;", to, (int)v->i);
    else
        fprintf(w->f, "gp_store_as<%s>(&v%d, (gp_dtype)%d, gp_load_as<%s>(&v%d, (gp_dtype)%d));",
                types[via], to, (int)dt, types[via], (int)v->i, (int)dtype_of(w, (int)v->i));
}

static void write_convert(writer *w, const gp_step *s, int to) {
    gp_dtype dt = (gp_dtype)s->dtype, from = dt;
    if (s->arg[0].kind == GP_TENSOR) from = dtype_of(w, (int)s->arg[0].i);
    gp_dtype via = dt == GP_f64 && gp_is_float(from) ? GP_f64 : gp_fused_compute(from);
    write_converted(w, s, 0, via, to);
    fputc('\n', w->f);
}

static void write_where(writer *w, const gp_step *s, int to) {
    gp_dtype via = gp_fused_compute((gp_dtype)s->dtype);
    if (s->arg[0].kind != GP_TENSOR) {
        w->why = "its mask is a number";
        return;
    }
    fprintf(w->f, "if (v%d) { ", (int)s->arg[0].i);
    write_converted(w, s, 1, via, to);
    fprintf(w->f, " } else { ");
    write_converted(w, s, 2, via, to);
    fprintf(w->f, " }\n");
}

static void write_drop(writer *w, const gp_step *s, int to) {
    gp_dtype type = s->dtype == GP_f64 ? GP_f64 : GP_f32;
    double p = s->arg[2].i ? s->arg[1].f : 0;
    int at = add_number(w, GP_f32, (gp_scalar){.is_float = true, .f = p});
    int scale = add_number(w, type, (gp_scalar){.is_float = true, .f = 1 / (1 - p)});
    fprintf(w->f, "{ typedef %s T; gp_store_as<T>(&v%d, (gp_dtype)%d, gp_drop<T>(args, ",
            types[type], to, (int)s->dtype);
    write_operand(w, s, 0, type);
    fprintf(w->f, ", gp_number_at<float>(args, %d), gp_number_at<T>(args, %d), %d, at)); }\n", at,
            scale, s->random);
}

static void write_step(writer *w, int k) {
    const gp_step *s = &w->p->step[k];
    int to = w->p->ninputs + k;
    fprintf(w->f, "        %s v%d; ", types[s->dtype], to);
    switch ((gp_fuse_form)s->op->fuses) {
    case GP_FUSE_NONE: write_formula(w, s, to); break;
    case GP_FUSE_CONVERT: write_convert(w, s, to); break;
    case GP_FUSE_WHERE: write_where(w, s, to); break;
    case GP_FUSE_DROP: write_drop(w, s, to); break;
    }
}

/* ---- the struct ---- */

static void write_members(writer *w) {
    const gp_program *p = w->p;
    for (int v = 0; v < p->ninputs; v++)
        fprintf(w->f, "    gp_operand<%s, V> m%d;\n", types[p->dtype[v]], v);
    for (int i = 0; i < p->nout; i++)
        fprintf(w->f, "    gp_vector<%s, V> w%d;\n", types[dtype_of(w, p->out[i])], i);
    fprintf(w->f, "    __device__ inline void load(const gp_fused &args, const int64_t *off) {\n");
    for (int v = 0; v < p->ninputs; v++)
        fprintf(w->f, "        m%d.load(args.l.data[%d] + off[%d], args.one[%d]);\n", v, v + 1,
                v + 1, v);
    fprintf(w->f,
            "    }\n    __device__ inline void load_one(const gp_fused &args, const int64_t *off, "
            "int lane) {\n");
    for (int v = 0; v < p->ninputs; v++)
        fprintf(w->f, "        m%d.load_one(args.l.data[%d] + off[%d], lane);\n", v, v + 1, v + 1);
    fprintf(w->f, "    }\n");
}

static void write_results(writer *w) {
    const gp_program *p = w->p;
    fprintf(w->f, "    __device__ inline void store(const gp_fused &args, uint64_t at) {\n");
    for (int i = 0; i < p->nout; i++)
        fprintf(w->f, "        *(gp_vector<%s, V> *)(args.out[%d] + at * sizeof(%s)) = w%d;\n",
                types[dtype_of(w, p->out[i])], i, types[dtype_of(w, p->out[i])], i);
    fprintf(w->f,
            "    }\n    __device__ inline %s first(int lane) const { return w0.v[lane]; }\n};\n",
            types[dtype_of(w, p->out[0])]);
}

static void write_program(writer *w) {
    const gp_program *p = w->p;
    fprintf(w->f, "template <int V> struct program {\n");
    write_members(w);
    fprintf(w->f, "    __device__ inline void step(const gp_fused &args, int lane, uint64_t at) {\n"
                  "        int fault = 0;\n");
    for (int v = 0; v < p->ninputs; v++)
        fprintf(w->f, "        const %s v%d = m%d.each.v[lane];\n", types[p->dtype[v]], v, v);
    for (int k = 0; k < p->nsteps; k++) write_step(w, k);
    for (int i = 0; i < p->nout; i++) fprintf(w->f, "        w%d.v[lane] = v%d;\n", i, p->out[i]);
    fprintf(w->f, "        (void)fault;\n    }\n");
    write_results(w);
}

/* ---- kernels ---- */

#define KERNEL "extern \"C\" __global__ void __launch_bounds__(GP_THREADS) "

/* Vectors of `many` elements of the inputs that a thread reads before it uses the first: what
 * the registers hold. */
static int vectors_ahead(const gp_program *p, int many) {
    int bytes = 0;
    for (int v = 0; v < p->ninputs; v++) bytes += many * gp_dtype_sizes[p->dtype[v]];
    return bytes <= 32 ? 4 : bytes <= 64 ? 2 : 1;
}

static void write_source(writer *w, gp_fused_kernel k, const char *way, int many) {
    const gp_fold *f = &w->p->fold;
    gp_dtype value = dtype_of(w, w->p->out[0]), type = gp_fused_compute((gp_dtype)f->compute);
    fprintf(w->f,
            KERNEL "%s(gp_reduction a, gp_fused f) {\n    gp_reduce_%s<reducer>(a, "
                   "gp_program_source<program, %s, %s, %d, %d, %d>{f});\n}\n",
            gp_fused_names[k], way, types[type], types[value], (int)value, many,
            vectors_ahead(w->p, many));
}

/* Vectors where the kernels of single reductions have them: their order of sums is the same. */
static void write_reduction(writer *w) {
    const gp_fold *f = &w->p->fold;
    gp_dtype value = dtype_of(w, w->p->out[0]), type = gp_fused_compute((gp_dtype)f->compute);
    fprintf(w->f,
            "FORMULAS(value, %s, %s, %s, %s, %s)\ntypedef by_formulas<formulas_%s_value> "
            "reducer;\n",
            types[type], f->op->name, f->op->start, f->op->formula, f->op->finish, f->op->name);
    bool vectors = gp_is_float(type) && (value == type || value == GP_f16 || value == GP_bf16);
    int many = 16 / (int)gp_dtype_sizes[value];
    fprintf(w->f, KERNEL "%s(gp_reduction a, int parts) { gp_reduce_parts<reducer>(a, parts); }\n",
            gp_fused_names[GP_FUSED_PARTS]);
    if (vectors) write_source(w, GP_FUSED_ROWS, "rows", many);
    if (vectors) write_source(w, GP_FUSED_COLUMNS, "columns", many);
    write_source(w, GP_FUSED_ROWS_SINGLE, "rows", 1);
    write_source(w, GP_FUSED_COLUMNS_SINGLE, "columns", 1);
}

static void write_kernels(writer *w) {
    if (w->p->fold.op) {
        write_reduction(w);
        return;
    }
    fprintf(w->f, KERNEL "%s(gp_fused a) { gp_run_program<program, 1>(a); }\n",
            gp_fused_names[GP_FUSED_ELEMENTS]);
    fprintf(w->f, KERNEL "%s(gp_fused a) { gp_run_program<program, GP_FUSED_VECTOR>(a); }\n",
            gp_fused_names[GP_FUSED_VECTORS]);
}

char *gp_fused_source(const gp_program *p, uint64_t *number, int most, int *nnumbers,
                      const char **why) {
    char *text = NULL;
    size_t size;
    writer w = {.p = p, .number = number, .most = most};
    *why = "it has too many steps";
    if (p->nsteps > STEPS) return NULL;
    *why = "out of memory";
    if (!(w.f = open_memstream(&text, &size))) return NULL;
    fprintf(w.f, "#include \"kernels/cuda/fuse/program.cuh\"\n");
    if (p->fold.op) fprintf(w.f, "#include \"kernels/cuda/reduce/formulas.cuh\"\n");
    write_program(&w);
    write_kernels(&w);
    bool bad = ferror(w.f);
    if (!fclose(w.f) && !bad && !w.why) return *nnumbers = w.n, text;
    if (w.why) *why = w.why;
    free(text);
    return NULL;
}
